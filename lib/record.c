/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - doorbell records, one cache line each, in pages of their own.
 *
 * A record shares its page with other records only: no application data is within the NIC's reach
 * here, and no two queues write one cache line.
 */
#include "lib/lib.h"

#include <string.h>

enum { RECORDS_PER_PAGE = LIB_PAGE_BYTES / DB_RECORD_STRIDE_BYTES };

/* In the place of a page's first record. */
struct lib_record_page {
	struct lib_record_page *next;
	uint64_t free_mask; /* bit i: record i is free */
};

_Static_assert(RECORDS_PER_PAGE == 64, "a page's records fit one mask");
_Static_assert(sizeof(struct lib_record_page) <= DB_RECORD_STRIDE_BYTES, "one record's place");

static struct lib_record_page *page_add(struct rig_nic *nic)
{
	struct lib_record_page *page = lib_ring_alloc(LIB_PAGE_BYTES);

	if (!page)
		return NULL;
	page->free_mask = ~1ull;
	page->next = nic->records;
	nic->records = page;
	return page;
}

struct be32 *lib_record_alloc(struct rig_nic *nic)
{
	struct lib_record_page *page = nic->records;
	struct be32 *record;
	unsigned int index;

	while (page && page->free_mask == 0)
		page = page->next;
	if (!page)
		page = page_add(nic);
	if (!page)
		return NULL;
	index = (unsigned int)__builtin_ctzll(page->free_mask);
	page->free_mask &= page->free_mask - 1;
	record = (struct be32 *)(void *)((char *)page + index * DB_RECORD_STRIDE_BYTES);
	memset(record, 0, DB_RECORD_BYTES);
	return record;
}

void lib_record_free(struct be32 *record)
{
	size_t offset = (uintptr_t)record & (LIB_PAGE_BYTES - 1);
	struct lib_record_page *page = (void *)((char *)record - offset);

	page->free_mask |= 1ull << (offset / DB_RECORD_STRIDE_BYTES);
}

void lib_record_free_all(struct rig_nic *nic)
{
	struct lib_record_page *next;

	for (struct lib_record_page *page = nic->records; page; page = next) {
		next = page->next;
		lib_ring_free(page, LIB_PAGE_BYTES);
	}
	nic->records = NULL;
}
