/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: key look-up with bounds that cannot overflow; gather and scatter from any offset; atomics.
 * How: nic_mem_* called directly; random lists of pieces against one flat copy (the seed is
 * printed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static void checks(void **state)
{
	static const struct {
		const char *name;
		uint64_t va, len;
		uint32_t access;
		enum nic_mem verdict;
	} rows[] = {
	    {"all of it", 0x1000, 0x100, 0, NIC_MEM_OK},
	    {"nothing at its start", 0x1000, 0, 0, NIC_MEM_OK},
	    {"nothing at its end", 0x1100, 0, 0, NIC_MEM_OK},
	    {"nothing behind its end", 0x1101, 0, 0, NIC_MEM_RANGE},
	    {"last byte", 0x10ff, 1, 0, NIC_MEM_OK},
	    {"one over", 0x10ff, 2, 0, NIC_MEM_RANGE},
	    {"one before", 0xfff, 1, 0, NIC_MEM_RANGE},
	    {"length over", 0x1000, 0x101, 0, NIC_MEM_RANGE},
	    {"sum wraps", 0x1080, UINT64_MAX - 0x7f, 0, NIC_MEM_RANGE},
	    {"sum wraps to its start", 0x1001, UINT64_MAX, 0, NIC_MEM_RANGE},
	    {"top of memory", UINT64_MAX, 1, 0, NIC_MEM_RANGE},
	    {"a right it has", 0x1000, 1, NIC_ACCESS_REMOTE_READ_F, NIC_MEM_OK},
	    {"a right it lacks", 0x1000, 1, NIC_ACCESS_LOCAL_WRITE_F, NIC_MEM_RIGHTS},
	};
	struct fake_world *w = fake_world_new(NULL);
	struct nic_mkey_attr attr = {.pdn = w->sides[0].pdn,
				     .access = NIC_ACCESS_REMOTE_READ_F,
				     .va = 0x1000,
				     .len_bytes = 0x100,
				     .host_va = 0x5000};
	struct nic *nic = w->nics[0];
	uint32_t key, pdn;
	struct nic_place place;

	(void)state;
	assert_int_equal(nic_mkey_create(nic, &attr, &key), 0);
	assert_int_equal(nic_pd_create(nic, &pdn), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row: %s\n", rows[i].name);
		assert_int_equal(nic_mem_check(nic, attr.pdn, key, rows[i].va, rows[i].len,
					       rows[i].access, &place),
				 rows[i].verdict);
		if (rows[i].verdict == NIC_MEM_OK)
			assert_int_equal(place.host_va, rows[i].va + 0x4000);
	}
	assert_int_equal(nic_mem_check(nic, pdn, key, 0x1000, 1, 0, &place), NIC_MEM_KEY);
	assert_int_equal(nic_mem_check(nic, attr.pdn, key ^ 0x80, 0x1000, 1, 0, &place),
			 NIC_MEM_KEY);
	assert_int_equal(nic_mem_check(nic, attr.pdn, key + 0x100, 0x1000, 1, 0, &place),
			 NIC_MEM_KEY);
	assert_int_equal(nic_mem_check(nic, attr.pdn, UINT32_MAX, 0x1000, 1, 0, &place),
			 NIC_MEM_KEY);
	assert_int_equal(nic_mkey_destroy(nic, key), 0);
	assert_int_equal(nic_mem_check(nic, attr.pdn, key, 0x1000, 1, 0, &place), NIC_MEM_KEY);
	fake_world_free(w);
}

/* Random pieces, some empty, some inline; stretches at random offsets, forwards and backwards. */
static void gather_and_scatter(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct fake_region r = fake_region(w, 0, 65536, BED_LOCAL);
	uint32_t pdn = w->sides[0].pdn;
	struct base_prng prng;
	uint8_t *mem = fake_mem(w, r.va);
	static uint8_t flat[65536], got[65536];

	(void)state;
	print_message("seed 2\n");
	base_prng_seed(&prng, 2);
	for (int i = 0; i < 500; i++) {
		struct nic_wqe wqe = {0};
		uint32_t total = 0;

		base_prng_fill(&prng, mem, 65536);
		base_prng_fill(&prng, wqe.raw, sizeof(wqe.raw));
		for (wqe.piece_count = 0; wqe.piece_count < 8; wqe.piece_count++) {
			struct nic_piece *p = &wqe.pieces[wqe.piece_count];
			bool is_inline = base_prng_below(&prng, 4) == 0;

			p->len_bytes = (uint32_t)base_prng_below(&prng, is_inline ? 100 : 3000);
			p->lkey = r.key;
			p->va = is_inline
				    ? base_prng_below(&prng, 900)
				    : r.va + 8192u * wqe.piece_count + base_prng_below(&prng, 5000);
			wqe.inline_mask |= (uint64_t)is_inline << wqe.piece_count;
			memcpy(flat + total, is_inline ? wqe.raw + p->va : mem + (p->va - r.va),
			       p->len_bytes);
			total += p->len_bytes;
		}
		for (int k = 0; k < 30; k++) {
			uint32_t off = (uint32_t)base_prng_range(&prng, 0, total);
			uint32_t n = (uint32_t)base_prng_range(&prng, 0, total - off);

			assert_int_equal(nic_mem_gather(w->nics[0], pdn, &wqe, off, got, n),
					 NIC_MEM_OK);
			assert_memory_equal(got, flat + off, n);
		}
		assert_int_equal(nic_mem_gather(w->nics[0], pdn, &wqe, total, got, 1),
				 NIC_MEM_SHORT);
		assert_int_equal(nic_mem_gather(w->nics[0], pdn, &wqe, 0, got, total + 1),
				 NIC_MEM_SHORT);
		if (wqe.inline_mask)
			continue;
		/* What is scattered in stretches is gathered again. */
		base_prng_fill(&prng, flat, total);
		for (uint32_t off = 0; off < total;) {
			uint32_t n = (uint32_t)base_prng_range(&prng, 1, total - off);

			assert_int_equal(nic_mem_scatter(w->nics[0], pdn, &wqe, off, flat + off, n),
					 NIC_MEM_OK);
			off += n;
		}
		assert_int_equal(nic_mem_gather(w->nics[0], pdn, &wqe, 0, got, total), NIC_MEM_OK);
		assert_memory_equal(got, flat, total);
	}
	fake_world_free(w);
}

/* Fetch and add under an application that changes the value between our look and our exchange. */
static bool (*plain_cas)(void *, uint64_t, uint64_t, uint64_t, uint64_t *);
static int disturbances;
static struct fake_world *disturbed;
static uint64_t disturbed_va;

static bool disturbing_cas(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	if (disturbances-- > 0)
		*(uint64_t *)fake_mem(disturbed, disturbed_va) += 1000;
	return plain_cas(ctx, va, compare, swap, old);
}

static void add_under_disturbance(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	uint64_t va = fake_alloc(w, 8), old;
	const struct nic_place place = {.host_va = va};
	const struct nic_atomic add = {
	    .swap_add = 7, .opcode = WQE_OP_ATOMIC_FA, .len_bytes = sizeof(old)};

	(void)state;
	disturbed = w;
	disturbed_va = va;
	plain_cas = w->envs[0].mem_cas64;
	w->envs[0].mem_cas64 = disturbing_cas;
	disturbances = 3;
	assert_true(nic_mem_atomic_at(w->nics[0], &add, &place, &old));
	assert_int_equal(old, 3000);
	assert_int_equal(*(uint64_t *)fake_mem(w, va), 3007);
	/* It gives up in the end, and says so. */
	disturbances = 1 << 20;
	assert_false(nic_mem_atomic_at(w->nics[0], &add, &place, &old));
	fake_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(checks),
	    cmocka_unit_test(gather_and_scatter),
	    cmocka_unit_test(add_under_disturbance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
