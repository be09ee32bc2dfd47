/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what atomics of 4 and 8 bytes do to memory, with masks and without, and that they do it
 * over the wire, once, whatever is lost. How: rows against nic_atomic_at; then entries as UCX
 * writes them [ucx-mlx5], between two NICs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static const struct {
	const char *name;
	uint8_t opcode;
	uint8_t len;
	uint64_t before;
	struct nic_atomic atomic;
	uint64_t after;
} rows[] = {
    {"add", WQE_OP_ATOMIC_FA, 8, UINT64_MAX, {.swap_add = 2}, 1},
    {"swap, equal", WQE_OP_ATOMIC_CS, 8, 5, {.compare = 5, .swap_add = 9}, 9},
    {"swap, not equal", WQE_OP_ATOMIC_CS, 8, 6, {.compare = 5, .swap_add = 9}, 6},
    {"masked swap of all",
     WQE_OP_ATOMIC_MASKED_CS,
     8,
     6,
     {.swap_add = 9, .swap_mask = UINT64_MAX},
     9},
    {"masked swap, part compared, part swapped",
     WQE_OP_ATOMIC_MASKED_CS,
     8,
     0x1122334455667788,
     {.compare = 0x88, .compare_mask = 0xff, .swap_add = UINT64_MAX, .swap_mask = 0xff00},
     0x112233445566ff88},
    {"masked swap, the part differs",
     WQE_OP_ATOMIC_MASKED_CS,
     8,
     0x1122334455667788,
     {.compare = 0x89, .compare_mask = 0xff, .swap_mask = UINT64_MAX},
     0x1122334455667788},
    {"masked add, no boundary", WQE_OP_ATOMIC_MASKED_FA, 8, 0xff, {.swap_add = 1}, 0x100},
    {"masked add, boundary at bit 7",
     WQE_OP_ATOMIC_MASKED_FA,
     8,
     0xff,
     {.swap_add = 0x101, .swap_mask = 0x80},
     0x100},
    {"masked add, all boundaries: exclusive or",
     WQE_OP_ATOMIC_MASKED_FA,
     8,
     0x00ff,
     {.swap_add = 0x0ff0, .swap_mask = UINT64_MAX},
     0x0f0f},
    {"masked add, a carry is lost at the top field's end",
     WQE_OP_ATOMIC_MASKED_FA,
     8,
     UINT64_MAX,
     {.swap_add = 1ull << 32, .swap_mask = 1ull << 31},
     0xffffffff},
    {"4 bytes, add", WQE_OP_ATOMIC_MASKED_FA, 4, UINT32_MAX, {.swap_add = 2}, 1},
    {"4 bytes, swap",
     WQE_OP_ATOMIC_MASKED_CS,
     4,
     7,
     {.compare = 7, .compare_mask = UINT32_MAX, .swap_add = 0xdeadbeef, .swap_mask = UINT32_MAX},
     0xdeadbeef},
};

static void values(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	uint64_t va = fake_alloc(w, 16), old;
	uint8_t *mem = fake_mem(w, va);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t off = 0; off <= 8u - rows[i].len; off += 4) {
			struct nic_atomic atomic = rows[i].atomic;
			uint64_t now = 0;

			print_message("row: %s at %u\n", rows[i].name, off);
			atomic.opcode = rows[i].opcode;
			atomic.len_bytes = rows[i].len;
			memset(mem, 0x5a, 16);
			memcpy(mem + off, &rows[i].before, rows[i].len);
			assert_true(nic_atomic_at(w->nics[0], &atomic, va + off, &old));
			assert_int_equal(old, rows[i].before);
			memcpy(&now, mem + off, rows[i].len);
			assert_int_equal(now, rows[i].after);
			/* And nothing beside it. */
			for (uint32_t b = 0; b < 16; b++)
				if (b < off || b >= off + rows[i].len)
					assert_int_equal(mem[b], 0x5a);
		}
	}
	fake_world_free(w);
}

/* ---- over the wire --------------------------------------------------------------------------- */

struct masked {
	uint8_t bytes[16 + 32 + 16];
	uint32_t used;
};

/* raddr, the operands, one data segment; small: 4-byte values. */
static struct masked entry(const struct bed *b, bool small, const uint64_t *operands, int count)
{
	struct masked m = {.used = 16};
	uint32_t len = small ? 4 : 8;

	be64_store(m.bytes, b->dst.va + 8);
	be32_store(m.bytes + 8, b->dst.key);
	for (int i = 0; i < count; i++) {
		if (small)
			be32_store(m.bytes + m.used, (uint32_t)operands[i]);
		else
			be64_store(m.bytes + m.used, operands[i]);
		m.used += len;
	}
	m.used = (m.used + 15) & ~15u;
	be32_store(m.bytes + m.used, len);
	be32_store(m.bytes + m.used + 4, b->src.key);
	be64_store(m.bytes + m.used + 8, b->src.va);
	m.used += 16;
	return m;
}

static uint16_t post(struct bed *b, uint8_t opcode, bool small, const struct masked *m)
{
	uint32_t opmod = small ? WQE_OPMOD_ATOMIC_32 : WQE_OPMOD_ATOMIC_64;
	uint16_t index = fake_post_raw(&b->pair.a, opmod << 8 | opcode, 0, m->bytes, m->used);

	fake_ring(&b->pair.a);
	return index;
}

/* An 8-byte result is the host's integer, a 4-byte one big-endian [ucx-mlx5]. */
static void masked_add_of_8_bytes(void **state)
{
	struct bed b = bed_open(NULL);
	const uint64_t operands[] = {0x0101010101010101, 0x8080808080808080};
	struct masked m = entry(&b, false, operands, 2);
	const uint64_t before = 0xff01ff01ff01ff01;

	(void)state;
	memcpy(bed_dst(&b) + 8, &before, 8);
	post(&b, WQE_OP_ATOMIC_MASKED_FA, false, &m);
	expect_packet(&b, ROCE_OP_RC_MASKED_FA_8, 0x100);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	assert_int_equal(*(uint64_t *)(void *)(bed_dst(&b) + 8), 0x0002000200020002);
	assert_int_equal(*(uint64_t *)(void *)bed_src(&b), before);
	bed_close(&b);
}

static void masked_swap_of_8_bytes(void **state)
{
	struct bed b = bed_open(NULL);
	/* swap, compare, swap mask, compare mask: two units, the second wraps at the ring's end */
	const uint64_t operands[] = {0xaaaa, 0x11, 0xff00, 0xff};
	struct masked m = entry(&b, false, operands, 4);

	(void)state;
	for (int i = 0; i < 40; i++) {
		const uint64_t before = 0x2200 | (i & 1 ? 0x11 : 0x12);
		uint16_t index;

		memcpy(bed_dst(&b) + 8, &before, 8);
		index = post(&b, WQE_OP_ATOMIC_MASKED_CS, false, &m);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, 8);
		assert_int_equal(*(uint64_t *)(void *)(bed_dst(&b) + 8), i & 1 ? 0xaa11 : 0x2212);
		assert_int_equal(*(uint64_t *)(void *)bed_src(&b), before);
	}
	bed_close(&b);
}

static void masked_of_4_bytes(void **state)
{
	struct bed b = bed_open(NULL);
	const uint64_t add[] = {5, 0}, swap[] = {0x77, 12, 0xff, 0xffffffff};
	struct masked m = entry(&b, true, add, 2);
	uint32_t before = 7;

	(void)state;
	be64_store(m.bytes, b.dst.va + 12);
	memset(bed_dst(&b), 0x33, 24);
	memcpy(bed_dst(&b) + 12, &before, 4);
	post(&b, WQE_OP_ATOMIC_MASKED_FA, true, &m);
	expect_packet(&b, ROCE_OP_RC_MASKED_FA_4, 0x100);
	/* The response is lost, the request comes again: it is added once. */
	fake_deliver(b.w, 0);
	fake_drop(b.w, 0);
	fake_advance(b.w, 70000000);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 4);
	assert_int_equal(*(uint32_t *)(void *)(bed_dst(&b) + 12), 12);
	assert_int_equal(be32_load(bed_src(&b)), 7);
	m = entry(&b, true, swap, 4);
	be64_store(m.bytes, b.dst.va + 12);
	post(&b, WQE_OP_ATOMIC_MASKED_CS, true, &m);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 4);
	assert_int_equal(*(uint32_t *)(void *)(bed_dst(&b) + 12), 0x77);
	assert_int_equal(be32_load(bed_src(&b)), 12);
	assert_int_equal(bed_dst(&b)[11], 0x33);
	assert_int_equal(bed_dst(&b)[16], 0x33);
	bed_close(&b);
}

static void masked_refused(void **state)
{
	enum { MISALIGNED, NO_RIGHT, BAD_OPMOD, BAD_LENGTH, ROWS };
	const uint64_t operands[] = {1, 0};

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct bed b = bed_open(NULL);
		struct masked m = entry(&b, row != BAD_LENGTH, operands, 2);
		uint32_t opmod = row == BAD_OPMOD ? 10 : WQE_OPMOD_ATOMIC_32;
		uint8_t syndrome = CQE_SYND_REMOTE_INVAL_REQ, vendor = CQE_VENDOR_REMOTE_INVAL_REQ;

		print_message("row %d\n", row);
		if (row == MISALIGNED)
			be64_store(m.bytes, b.dst.va + 2);
		if (row == NO_RIGHT) {
			struct fake_region r = fake_region(b.w, 1, 64, BED_LOCAL);

			be64_store(m.bytes, r.va);
			be32_store(m.bytes + 8, r.key);
			syndrome = CQE_SYND_REMOTE_ACCESS;
			vendor = CQE_VENDOR_REMOTE_ACCESS;
		}
		if (row >= BAD_OPMOD) {
			syndrome = row == BAD_OPMOD ? CQE_SYND_LOCAL_QP_OP : CQE_SYND_LOCAL_LENGTH;
			vendor = CQE_VENDOR_NONE;
		}
		fake_post_raw(&b.pair.a, opmod << 8 | WQE_OP_ATOMIC_MASKED_FA, 0, m.bytes, m.used);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, syndrome, vendor);
		bed_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values),
	    cmocka_unit_test(masked_add_of_8_bytes),
	    cmocka_unit_test(masked_swap_of_8_bytes),
	    cmocka_unit_test(masked_of_4_bytes),
	    cmocka_unit_test(masked_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
