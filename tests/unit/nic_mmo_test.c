/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: an entry that copies memory copies it all, in parts as large as a turn's budget, before
 * what is behind it; and what it refuses. How: one NIC of tests/support/fake_nic.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "abi/mlx5_umr.h"
#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

enum { MMO_BYTES = 48, MMO_OPCODE = WQE_OPMOD_MMO_DMA << 8 | WQE_OP_MMO };

static void put_data(uint8_t *seg, struct fake_piece piece)
{
	be32_store(seg, piece.len);
	be32_store(seg + 4, piece.key);
	be64_store(seg + 8, piece.va);
}

static uint16_t post(struct bed *b, struct fake_piece from, struct fake_piece to)
{
	uint8_t bytes[MMO_BYTES] = {0};

	put_data(bytes + 16, from);
	put_data(bytes + 32, to);
	return fake_post_raw(&b->pair.a, MMO_OPCODE, 0, bytes, sizeof(bytes));
}

static void copies(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_region to = fake_region(b.w, 0, 1 << 20, BED_LOCAL);
	const uint32_t lengths[] = {1, 4096, 4097, 600001};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t n = lengths[i];
		uint16_t index = post(&b, (struct fake_piece){b.src.va + 3, n, b.src.key},
				      (struct fake_piece){to.va + 1, n, to.key});
		uint8_t *dst = fake_mem(b.w, to.va);

		memset(dst, 0, 1 << 20);
		fake_ring(&b.pair.a);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, n);
		assert_memory_equal(dst + 1, bed_src(&b) + 3, n);
		assert_int_equal(dst[0], 0);
		assert_int_equal(dst[1 + n], 0);
		assert_int_equal(b.w->queue_count, 0);
	}
	bed_close(&b);
}

/* A turn copies what its budget allows; the entry behind waits, and finds all of it copied. */
static void copies_in_parts(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_region to = fake_region(b.w, 0, 1 << 20, BED_LOCAL);
	struct nic_budget budget = {16, 65536};
	struct fake_wr write = bed_wr(&b, WQE_OP_WRITE, 16);
	int turns = 0;

	(void)state;
	post(&b, (struct fake_piece){b.src.va, 300000, b.src.key},
	     (struct fake_piece){to.va, 300000, to.key});
	write.pieces[0] = (struct fake_piece){to.va + 299984, 16, to.key};
	fake_post(&b.pair.a, &write);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4 * DB_SEND, b.pair.a.sq_pi);
	nic_scan(b.w->nics[0], b.w->now_ns);
	while (nic_run(b.w->nics[0], &budget, b.w->now_ns) == NIC_BUSY) {
		turns++;
		assert_in_range(turns, 1, 10);
		nic_check(b.w->nics[0]);
	}
	assert_in_range(turns, 4, 5);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 300000);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 16);
	assert_memory_equal(bed_dst(&b), bed_src(&b) + 299984, 16);
	bed_close(&b);
}

/* 0 is 2^31 bytes. */
static void copies_2_gib(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic_mkey_attr attr = {.pdn = b.w->sides[0].pdn,
				     .access = BED_LOCAL,
				     .va = FAKE_VOID_VA,
				     .host_va = FAKE_VOID_VA,
				     .len_bytes = 1ull << 31};
	uint32_t key;

	(void)state;
	assert_int_equal(nic_mkey_create(b.w->nics[0], &attr, &key), 0);
	post(&b, (struct fake_piece){FAKE_VOID_VA, 0, key},
	     (struct fake_piece){FAKE_VOID_VA, 0, key});
	fake_ring(&b.pair.a);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 1u << 31);
	assert_int_equal(b.w->void_written_bytes, 1ull << 31);
	bed_close(&b);
}

static void refused(void **state)
{
	enum { READ_ONLY, SHORT_FROM, SHORT_TO, UNEQUAL, FAULTS_HALF_WAY, BAD_OPMOD, ROWS };

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct bed b = bed_open(NULL);
		struct fake_region to =
		    fake_region(b.w, 0, 1 << 20, row == READ_ONLY ? 0 : BED_LOCAL);
		struct fake_piece a = {b.src.va, 9000, b.src.key}, z = {to.va, 9000, to.key};
		uint8_t syndrome = CQE_SYND_LOCAL_PROT, vendor = CQE_VENDOR_NONE;
		uint8_t *wqe = fake_mem(b.w, b.pair.a.sq_va);

		print_message("row %d\n", row);
		if (row == READ_ONLY)
			vendor = CQE_VENDOR_LOCAL_WRITE_DENIED;
		if (row == SHORT_FROM)
			a.va += (1 << 20) - 8999;
		if (row == SHORT_TO)
			z.va += (1 << 20) - 8999;
		if (row == SHORT_FROM || row == SHORT_TO)
			vendor = CQE_VENDOR_LKEY_RANGE;
		if (row == UNEQUAL)
			z.len++;
		if (row == UNEQUAL || row == BAD_OPMOD)
			syndrome = CQE_SYND_LOCAL_QP_OP;
		if (row == FAULTS_HALF_WAY)
			fake_fault(b.w, to.va + 8192, 1);
		post(&b, a, z);
		if (row == BAD_OPMOD)
			wqe[0] = 2;
		fake_ring(&b.pair.a);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, syndrome, vendor);
		assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_ERR);
		bed_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies),
	    cmocka_unit_test(copies_in_parts),
	    cmocka_unit_test(copies_2_gib),
	    cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
