/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uar.c - register pages: who has which, where to map them, and reading what was written there.
 *
 * A page is a hint, not a queue: a register holds the last word written, and the words lie in
 * memory that the application can write as it likes. The nic checks every word against doorbell
 * records.
 */
#include "kern/state.h"

#include "abi/mlx5_db.h"
#include "base/assert.h"

#include <string.h>

static uint64_t *page_words(const struct kern *kern, uint32_t page)
{
	return (uint64_t *)kern->config.device_pages + (size_t)page * (DB_UAR_BYTES / 8);
}

/* A free page, or KERN_NONE. Never page 0: programs take that number for none [rdma-core
 * mlx5_base.py]. */
static uint32_t find_free(struct kern *kern)
{
	uint32_t count = kern->register_page_count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t page = (kern->page_next + i) % count;

		if (page != 0 && !kern->pages[page].file) {
			kern->page_next = (page + 1) % count;
			return page;
		}
	}
	return KERN_NONE;
}

static void page_take(struct kern *kern, uint32_t page, struct kern_file *file, bool watched)
{
	struct kern_page *entry = &kern->pages[page];

	/* An earlier owner may have left words behind, or still be writing. */
	memset(page_words(kern, page), 0, DB_UAR_BYTES);
	entry->file = file;
	entry->live_at = KERN_NONE;
	if (!watched)
		return; /* nobody looks at what is written there */
	entry->live_at = kern->page_live_count;
	kern->page_live[kern->page_live_count++] = (uint16_t)page;
}

void kern_uar_free(struct kern *kern, uint32_t page)
{
	struct kern_page *entry = &kern->pages[page];
	uint16_t moved;

	ASSERT(entry->file);
	entry->file = NULL;
	if (entry->live_at == KERN_NONE)
		return;
	ASSERT(kern->page_live[entry->live_at] == page);
	moved = kern->page_live[--kern->page_live_count];
	kern->page_live[entry->live_at] = moved;
	kern->pages[moved].live_at = entry->live_at;
}

/* Whether the page is the context's, register or not. */
static bool is_of(const struct kern_file *file, uint64_t page)
{
	const struct kern *kern = file->kern;

	return page < kern->register_page_count && kern->pages[page].file == file;
}

bool kern_page_is_of(const struct kern_file *file, uint64_t page)
{
	return is_of(file, page) && file->kern->pages[page].live_at != KERN_NONE;
}

/* Offsets that the kernel hands out start behind those that drivers make up [uverbs.md 3.3]. */
static uint64_t page_offset(uint32_t page)
{
	return uv_mlx5_mmap_offset(UV_MLX5_MMAP_OBJECT_CMD_FIRST, page);
}

uint32_t kern_page_take(struct kern_file *file)
{
	uint32_t page = find_free(file->kern);

	if (page != KERN_NONE)
		page_take(file->kern, page, file, true);
	return page;
}

/* Pages in a row, for what is no register; KERN_NONE: there are not so many. */
uint32_t kern_pages_take(struct kern_file *file, uint32_t count)
{
	struct kern *kern = file->kern;
	uint32_t free_count = 0;

	for (uint32_t page = 1; page < kern->register_page_count; page++) {
		free_count = kern->pages[page].file ? 0 : free_count + 1;
		if (free_count < count)
			continue;
		for (uint32_t i = 0; i < count; i++)
			page_take(kern, page - i, file, false);
		return page - count + 1;
	}
	return KERN_NONE;
}

void kern_pages_free(struct kern *kern, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		kern_uar_free(kern, first + i);
}

/* A page for an object of this type, and what the application maps it by: three attributes in
 * order, offset, length and page number. */
static int alloc_page(struct kern_call *call, enum kern_object_type type, uint16_t first_attr)
{
	struct kern_object *uar;
	uint64_t offset;
	uint32_t page, len = DB_UAR_BYTES;
	int error;

	page = find_free(call->kern);
	if (page == KERN_NONE)
		return -ENOMEM;
	uar = kern_object_create(call->file, type);
	if (!uar)
		return -ENOMEM;
	uar->number = page;
	page_take(call->kern, page, call->file, type == KERN_UAR);
	call->new_object = uar;
	offset = page_offset(page);
	error = kern_call_write(call, first_attr, &offset, sizeof(offset));
	if (!error)
		error = kern_call_write(call, first_attr + 1, &len, sizeof(len));
	if (!error)
		error = kern_call_write(call, first_attr + 2, &page, sizeof(page));
	return error;
}

int kern_uar_alloc(struct kern_call *call)
{
	uint64_t type;
	int error = kern_call_const(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, INT32_MAX, &type);

	if (error)
		return error;
	if (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return -EOPNOTSUPP;
	return alloc_page(call, KERN_UAR, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET);
}

/* A page of doorbells for an emulated virtio device; there are none to ring it for. */
int kern_var_alloc(struct kern_call *call)
{
	return alloc_page(call, KERN_VAR, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET);
}

/* Offsets that drivers make up. */
static int driver_mmap(struct kern_file *file, uint64_t offset_bytes, uint32_t *page)
{
	unsigned int cmd = uv_mlx5_mmap_cmd(offset_bytes);
	uint64_t index = uv_mlx5_mmap_index(offset_bytes);

	if (offset_bytes != uv_mlx5_mmap_offset(cmd, (uint32_t)index))
		return -EINVAL;
	switch (cmd) {
	case MLX5_IB_MMAP_REGULAR_PAGE:
	case MLX5_IB_MMAP_WC_PAGE:
	case MLX5_IB_MMAP_NC_PAGE:
	case MLX5_IB_MMAP_ALLOC_WC:
		return kern_bfreg_mmap(file, cmd, index, page);
	default:
		return -EINVAL;
	}
}

int kern_mmap(struct kern_file *file, uint64_t offset_bytes, uint64_t len_bytes, bool writable,
	      uint32_t *page, uint32_t *page_count)
{
	uint64_t index = uv_mlx5_mmap_index(offset_bytes);
	unsigned int cmd = uv_mlx5_mmap_cmd(offset_bytes);

	if (!file->context)
		return -EINVAL;
	if (cmd == MLX5_IB_MMAP_DEVICE_MEM)
		return kern_dm_mmap(file, offset_bytes, len_bytes, page, page_count);
	if (len_bytes != DB_UAR_BYTES)
		return -EINVAL;
	*page_count = 1;
	if (cmd == MLX5_IB_MMAP_CORE_CLOCK || cmd == MLX5_IB_MMAP_CLOCK_INFO)
		return kern_clock_mmap(file->kern, offset_bytes, writable, page);
	if (cmd < UV_MLX5_MMAP_OBJECT_CMD_FIRST)
		return driver_mmap(file, offset_bytes, page);
	if (!is_of(file, index) || offset_bytes != page_offset((uint32_t)index))
		return -EINVAL;
	*page = (uint32_t)index;
	return 0;
}

/* ---- registers --------------------------------------------------------------------------------
 */

/* The word at an offset of the page, which is zero afterwards. A plain load first: an exchange
 * would take the cache line away from the application each time. */
static uint64_t take_word(uint64_t *words, unsigned int offset_bytes)
{
	uint64_t *word = words + offset_bytes / 8;

	if (__atomic_load_n(word, __ATOMIC_RELAXED) == 0)
		return 0;
	return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
}

static void notice_page(struct kern *kern, uint32_t page, uint64_t now_ns)
{
	static const uint16_t doorbells[] = {DB_UAR_BF0, DB_UAR_BF0 + DB_UAR_BF_HALF_BYTES,
					     DB_UAR_BF1, DB_UAR_BF1 + DB_UAR_BF_HALF_BYTES};
	uint64_t *words = page_words(kern, page);
	uint64_t word = take_word(words, DB_UAR_CQ);

	if (word != 0)
		nic_cq_arm(kern->nic, be64_load(&word) & 0xffffff, now_ns);
	for (unsigned int i = 0; i < sizeof(doorbells) / sizeof(doorbells[0]); i++) {
		word = take_word(words, doorbells[i]);
		if (word != 0)
			nic_doorbell(kern->nic, word, now_ns);
	}
}

void kern_notice(struct kern *kern, uint64_t now_ns)
{
	/* Both halves at once, or a reader might see one of them before it wraps. */
	__atomic_store_n(kern->clock_word, be64_from(now_ns).raw, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < kern->page_live_count; i++)
		notice_page(kern, kern->page_live[i], now_ns);
}
