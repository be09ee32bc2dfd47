/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: how entries of send queues bind windows, give keys their pieces and invalidate them, who
 * may use such a key for what, and what is refused. How: two NICs of tests/support/fake_nic.h,
 * entries as libmlx5 writes them (tests/support/umr.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"
#include "tests/support/umr.h"

#define RW (UMR_ACCESS_REMOTE_READ_F | UMR_ACCESS_REMOTE_WRITE_F)

static uint32_t make(struct bed *b, uint32_t nic, struct nic_mkey_attr attr)
{
	uint32_t key;

	attr.pdn = b->w->sides[nic].pdn;
	assert_int_equal(nic_mkey_create(b->w->nics[nic], &attr, &key), 0);
	return key;
}

/* A region of side 1 that windows may be bound to. */
static uint32_t bindable(struct bed *b, uint32_t access)
{
	return make(b, 1,
		    (struct nic_mkey_attr){.access = access | NIC_ACCESS_BIND_F,
					   .va = b->dst.va,
					   .host_va = b->dst.va,
					   .len_bytes = 4096});
}

static uint32_t window(struct bed *b, bool type_2)
{
	return make(b, 1,
		    (struct nic_mkey_attr){.kind = type_2 ? NIC_MKEY_WINDOW_2 : NIC_MKEY_WINDOW_1});
}

/* A key of side `nic` that may be given pieces. */
static uint32_t klm_key(struct bed *b, uint32_t nic, bool remote_invalidate)
{
	return make(b, nic,
		    (struct nic_mkey_attr){.kind = NIC_MKEY_KLM,
					   .klm_count_max = 4,
					   .free = true,
					   .umr = true,
					   .remote_invalidate = remote_invalidate,
					   .tag_given = true});
}

static void expect_umr(struct fake_qp *qp, const struct umr_wr *wr, bool good)
{
	uint16_t index = umr_do(qp, wr);

	if (good)
		expect_done(&qp->send_cq, CQE_REQ, index, 0);
	else
		expect_error(&qp->send_cq, CQE_REQ_ERR, index, CQE_SYND_MW_BIND, CQE_VENDOR_NONE);
}

/* A message of side 0 to an address and key of side 1. */
static void expect_remote(struct bed *b, enum wqe_opcode opcode, uint64_t va, uint32_t key,
			  uint32_t len, bool good)
{
	struct fake_wr wr = bed_wr(b, opcode, len);
	uint16_t index;

	wr.remote_va = va;
	wr.rkey = key;
	index = fake_post(&b->pair.a, &wr);
	fake_ring(&b->pair.a);
	fake_settle(b->w);
	if (good)
		expect_done(&b->pair.a.send_cq, CQE_REQ, index, len);
	else
		expect_error(&b->pair.a.send_cq, CQE_REQ_ERR, index, CQE_SYND_REMOTE_ACCESS,
			     CQE_VENDOR_REMOTE_ACCESS);
}

/* ---- windows --------------------------------------------------------------------------------- */

static void window_moves_data(void **state)
{
	(void)state;
	for (int type_2 = 0; type_2 < 2; type_2++) {
		struct bed b = bed_open(NULL);
		struct fake_piece where = {b.dst.va + 64, 256, bindable(&b, BED_LOCAL)};
		uint32_t mw = window(&b, type_2), key = (mw & ~0xffu) | 0x77;
		struct umr_wr bind = umr_bind(&b.pair.b, mw, key, type_2, where, RW);

		expect_umr(&b.pair.b, &bind, true);
		/* Through a region that peers may not touch themselves. */
		expect_remote(&b, WQE_OP_WRITE, where.va, key, 256, true);
		assert_memory_equal(bed_dst(&b) + 64, bed_src(&b), 256);
		memset(bed_src(&b), 0, 256);
		expect_remote(&b, WQE_OP_READ, where.va + 8, key, 100, true);
		assert_memory_equal(bed_src(&b), bed_dst(&b) + 72, 100);
		bed_close(&b);
	}
}

static void window_has_bounds_and_rights(void **state)
{
	const struct {
		const char *name;
		enum wqe_opcode opcode;
		int64_t off;
		uint32_t len;
		uint8_t access;
		uint32_t key_xor;
		bool good;
	} rows[] = {
	    {"whole", WQE_OP_WRITE, 0, 256, RW, 0, true},
	    {"starts before", WQE_OP_WRITE, -1, 2, RW, 0, false},
	    {"ends behind", WQE_OP_WRITE, 255, 2, RW, 0, false},
	    {"another tag", WQE_OP_WRITE, 0, 1, RW, 0x80, false},
	    {"write, read only", WQE_OP_WRITE, 0, 1, UMR_ACCESS_REMOTE_READ_F, 0, false},
	    {"read, read only", WQE_OP_READ, 0, 1, UMR_ACCESS_REMOTE_READ_F, 0, true},
	    {"read, write only", WQE_OP_READ, 0, 1, UMR_ACCESS_REMOTE_WRITE_F, 0, false},
	    {"atomic without the right", WQE_OP_ATOMIC_FA, 0, 8, RW, 0, false},
	    {"atomic", WQE_OP_ATOMIC_FA, 0, 8, UMR_ACCESS_REMOTE_ATOMIC_F, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(NULL);
		struct fake_piece where = {b.dst.va + 64, 256, bindable(&b, BED_LOCAL)};
		uint32_t mw = window(&b, true), key = (mw & ~0xffu) | 0x77;
		struct umr_wr bind = umr_bind(&b.pair.b, mw, key, true, where, rows[i].access);

		print_message("row: %s\n", rows[i].name);
		expect_umr(&b.pair.b, &bind, true);
		expect_remote(&b, rows[i].opcode, where.va + (uint64_t)rows[i].off,
			      key ^ rows[i].key_xor, rows[i].len, rows[i].good);
		bed_close(&b);
	}
}

static void zero_based_window(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_piece where = {b.dst.va + 64, 256, bindable(&b, BED_LOCAL)};
	uint32_t mw = window(&b, true);
	struct umr_wr bind = umr_bind(&b.pair.b, mw, mw, true, where, RW);

	(void)state;
	bind.start = 0;
	expect_umr(&b.pair.b, &bind, true);
	expect_remote(&b, WQE_OP_WRITE, 16, mw, 240, true);
	assert_memory_equal(bed_dst(&b) + 80, bed_src(&b), 240);
	expect_remote(&b, WQE_OP_WRITE, where.va, mw, 1, false);
	bed_close(&b);
}

/* [IBTA1 10.6.7.2.2] Type 2 belongs to the queue pair that bound it, type 1 to the domain. */
static void window_on_another_queue_pair(void **state)
{
	(void)state;
	for (int type_2 = 0; type_2 < 2; type_2++) {
		struct bed b = bed_open(NULL);
		struct fake_pair other;
		struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
		uint32_t mw = window(&b, type_2);
		struct umr_wr bind = umr_bind(&b.pair.b, mw, mw, type_2, where, RW);

		fake_pair_connect(b.w, &other, NULL);
		expect_umr(&b.pair.b, &bind, true);
		b.pair = other;
		expect_remote(&b, WQE_OP_WRITE, where.va, mw, 8, !type_2);
		bed_close(&b);
	}
}

static void bind_refused(void **state)
{
	enum { NO_BIND, READ_ONLY, OUTSIDE, BAD_KEY, ALIEN, OTHER_QP, TWICE, NO_PIECE, ROWS };

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct bed b = bed_open(NULL);
		struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
		uint32_t mw = window(&b, true);
		struct umr_wr bind;
		uint32_t pdn;

		print_message("row %d\n", row);
		if (row == NO_BIND)
			where.key = b.dst.key;
		if (row == READ_ONLY)
			where.key = bindable(&b, 0);
		if (row == OUTSIDE)
			where.va += 4096 - 255;
		if (row == BAD_KEY)
			where.key ^= 1;
		if (row == ALIEN) {
			struct nic_mkey_attr attr = {.access = BED_LOCAL | NIC_ACCESS_BIND_F,
						     .va = b.dst.va,
						     .host_va = b.dst.va,
						     .len_bytes = 4096};

			assert_int_equal(nic_pd_create(b.w->nics[1], &pdn), 0);
			attr.pdn = pdn;
			assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &where.key), 0);
		}
		bind = umr_bind(&b.pair.b, mw, mw, true, where, RW);
		if (row == OTHER_QP)
			bind.qpn++;
		if (row == TWICE)
			expect_umr(&b.pair.b, &bind, true);
		if (row == NO_PIECE)
			bind.piece_count = 0;
		expect_umr(&b.pair.b, &bind, false);
		assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_ERR);
		bed_close(&b);
	}
}

/* Type 1 is bound again at once, its old key is no good any more; a length of 0 ends it. */
static void window_type_1_bound_again(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
	uint32_t mw = window(&b, false);
	struct umr_wr bind = umr_bind(&b.pair.b, mw, mw + 1, false, where, RW);
	struct umr_wr end = {.key = mw + 2,
			     .flags = UMR_INLINE_F | UMR_OFFSET_F,
			     .mask = UMR_MASK_FREE | UMR_MASK_TAG,
			     .free = UMR_MKEY_FREE_F,
			     .qpn = UMR_QPN_ANY,
			     .tag = (uint8_t)(mw + 3)};

	(void)state;
	expect_umr(&b.pair.b, &bind, true);
	bind.key = mw + 1;
	bind.tag++;
	expect_umr(&b.pair.b, &bind, true);
	expect_remote(&b, WQE_OP_WRITE, where.va, mw + 2, 8, true);
	expect_umr(&b.pair.b, &end, true);
	expect_remote(&b, WQE_OP_WRITE, where.va, mw + 2, 8, false);
	assert_int_equal(nic_mkey_destroy(b.w->nics[1], mw), 0);
	bed_close(&b);
}

/* A window is no lkey. */
static void window_is_remote_only(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
	uint32_t mw = window(&b, false);
	struct umr_wr bind = umr_bind(&b.pair.b, mw, mw, false, where, RW);
	struct fake_wr wr = {
	    .opcode = WQE_OP_SEND, .pieces = {{where.va, 8, mw}}, .piece_count = 1};
	uint16_t index;

	(void)state;
	expect_umr(&b.pair.b, &bind, true);
	index = fake_post(&b.pair.b, &wr);
	fake_ring(&b.pair.b);
	expect_error(&b.pair.b.send_cq, CQE_REQ_ERR, index, CQE_SYND_LOCAL_PROT,
		     CQE_VENDOR_LKEY_BAD);
	bed_close(&b);
}

/* ---- invalidate ------------------------------------------------------------------------------ */

static void local_invalidate(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
	uint32_t mw = window(&b, true);
	struct umr_wr bind = umr_bind(&b.pair.b, mw, mw, true, where, RW);
	struct umr_wr inv = umr_local_inv(mw);

	(void)state;
	expect_umr(&b.pair.b, &bind, true);
	expect_umr(&b.pair.b, &inv, true);
	/* Free it is again, and may be bound. */
	expect_umr(&b.pair.b, &bind, true);
	expect_umr(&b.pair.b, &inv, true);
	expect_remote(&b, WQE_OP_WRITE, where.va, mw, 8, false);
	bed_close(&b);
}

static void local_invalidate_refused(void **state)
{
	enum { UNBOUND, OLD_KEY, REGION, UNKNOWN, ROWS };

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct bed b = bed_open(NULL);
		struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
		uint32_t mw = window(&b, true);
		struct umr_wr bind = umr_bind(&b.pair.b, mw, mw ^ 1, true, where, RW);
		struct umr_wr inv = umr_local_inv(mw);

		print_message("row %d\n", row);
		if (row == OLD_KEY)
			expect_umr(&b.pair.b, &bind, true);
		if (row == REGION)
			inv.key = b.dst.key;
		if (row == UNKNOWN)
			inv.key = 0xffffff00;
		expect_umr(&b.pair.b, &inv, false);
		bed_close(&b);
	}
}

/* SEND with invalidate: the window is gone when the receive completes, which names it. */
static void remote_invalidate(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
	uint32_t mw = window(&b, true);
	struct umr_wr bind = umr_bind(&b.pair.b, mw, mw, true, where, RW);
	struct fake_wr send = bed_wr(&b, WQE_OP_SEND_INVAL, 3000);
	struct fake_cqe cqe;

	(void)state;
	expect_umr(&b.pair.b, &bind, true);
	bed_receive(&b, 4000);
	send.imm = mw;
	fake_post(&b.pair.a, &send);
	fake_ring(&b.pair.a);
	assert_int_equal(fake_pkt(b.w, 0).opcode, ROCE_OP_RC_SEND_FIRST);
	assert_int_equal(fake_pkt(b.w, 2).opcode, ROCE_OP_RC_SEND_LAST_INV);
	assert_int_equal(fake_pkt(b.w, 2).inv_rkey, mw);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 3000);
	assert_int_equal(fake_poll(&b.pair.b.recv_cq, &cqe), 1);
	assert_int_equal(cqe.opcode, CQE_RESP_SEND_INV);
	assert_int_equal(cqe.imm, mw);
	assert_int_equal(cqe.byte_cnt, 3000);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 3000);
	expect_remote(&b, WQE_OP_WRITE, where.va, mw, 8, false);
	bed_close(&b);
}

static void remote_invalidate_refused(void **state)
{
	enum { REGION, TYPE_1, FREE, OTHER_QP, KLM_NOT_ALLOWED, ROWS };

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct bed b = bed_open(NULL);
		struct fake_pair other;
		struct fake_piece where = {b.dst.va, 256, bindable(&b, BED_LOCAL)};
		uint32_t mw = window(&b, row != TYPE_1);
		struct umr_wr bind = umr_bind(&b.pair.b, mw, mw, row != TYPE_1, where, RW);
		struct fake_wr send = bed_wr(&b, WQE_OP_SEND_INVAL, 8);

		print_message("row %d\n", row);
		if (row == KLM_NOT_ALLOWED) {
			mw = klm_key(&b, 1, false);
			bind = umr_list(mw, RW, &where, 1);
		}
		fake_pair_connect(b.w, &other, NULL);
		if (row != FREE)
			expect_umr(row == OTHER_QP ? &other.b : &b.pair.b,
				   &(struct umr_wr){.key = bind.key,
						    .flags = bind.flags,
						    .mask = bind.mask,
						    .access = bind.access,
						    .qpn = row == OTHER_QP ? other.b.qpn : bind.qpn,
						    .tag = bind.tag,
						    .start = bind.start,
						    .len = bind.len,
						    .pieces = {where},
						    .piece_count = 1},
				   true);
		bed_receive(&b, 64);
		send.imm = row == REGION ? where.key : mw;
		fake_post(&b.pair.a, &send);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_REMOTE_ACCESS,
			     CQE_VENDOR_REMOTE_ACCESS);
		expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 0, CQE_SYND_WR_FLUSH,
			     CQE_VENDOR_FLUSH);
		bed_close(&b);
	}
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Both ends through lists: three pieces gathered, two scattered. */
static void list_at_both_ends(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_piece from[] = {{b.src.va + 5, 1000, b.src.key},
				    {b.src.va + 3000, 1, b.src.key},
				    {b.src.va + 4001, 1999, b.src.key}};
	struct fake_piece to[] = {{b.dst.va + 7, 1500, b.dst.key},
				  {b.dst.va + 2000, 1500, b.dst.key}};
	uint32_t src = klm_key(&b, 0, false), dst = klm_key(&b, 1, false);
	struct umr_wr src_list = umr_list(src, UMR_ACCESS_LOCAL_WRITE_F, from, 3);
	struct umr_wr dst_list = umr_list(dst, UMR_ACCESS_LOCAL_WRITE_F, to, 2);
	struct fake_piece receive = {0, 3000, dst};
	struct fake_wr wr = {
	    .opcode = WQE_OP_SEND, .signal = true, .pieces = {{0, 3000, src}}, .piece_count = 1};
	uint8_t expected[3000];

	(void)state;
	expect_umr(&b.pair.a, &src_list, true);
	expect_umr(&b.pair.b, &dst_list, true);
	memcpy(expected, bed_src(&b) + 5, 1000);
	memcpy(expected + 1000, bed_src(&b) + 3000, 1);
	memcpy(expected + 1001, bed_src(&b) + 4001, 1999);
	fake_receive(&b.pair.b, &receive, 1);
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 3000);
	assert_memory_equal(bed_dst(&b) + 7, expected, 1500);
	assert_memory_equal(bed_dst(&b) + 2000, expected + 1500, 1500);
	assert_int_equal(bed_dst(&b)[1507], 0);
	bed_close(&b);
}

static void strided_list(void **state)
{
	struct bed b = bed_open(NULL);
	uint32_t dst = klm_key(&b, 1, false);
	struct fake_piece pieces[] = {{b.dst.va, 8, b.dst.key}, {b.dst.va + 64, 4, b.dst.key}};
	struct umr_wr list = umr_list(dst, RW, pieces, 2);

	(void)state;
	list.repeat = 3;
	list.strides[0] = 10;
	list.strides[1] = 5;
	list.len = 36;
	expect_umr(&b.pair.b, &list, true);
	expect_remote(&b, WQE_OP_WRITE, 0, dst, 36, true);
	for (uint32_t round = 0; round < 3; round++) {
		const uint8_t *sent = bed_src(&b) + (size_t)round * 12;

		assert_memory_equal(bed_dst(&b) + round * 10, sent, 8);
		assert_memory_equal(bed_dst(&b) + 64 + round * 5, sent + 8, 4);
	}
	assert_int_equal(bed_dst(&b)[8], 0);
	assert_int_equal(bed_dst(&b)[28], 0);
	assert_int_equal(bed_dst(&b)[68], 0);
	expect_remote(&b, WQE_OP_READ, 30, dst, 6, true);
	assert_memory_equal(bed_src(&b), bed_dst(&b) + 26, 2);
	assert_memory_equal(bed_src(&b) + 2, bed_dst(&b) + 74, 4);
	expect_remote(&b, WQE_OP_WRITE, 0, dst, 37, false);
	bed_close(&b);
}

/* The pieces lie in memory instead of the entry. */
static void list_from_memory(void **state)
{
	struct bed b = bed_open(NULL);
	uint32_t dst = klm_key(&b, 1, false);
	struct fake_piece pieces[] = {{b.dst.va + 100, 10, b.dst.key}, {b.dst.va, 10, b.dst.key}};
	struct umr_wr list = umr_list(dst, RW, pieces, 2);

	(void)state;
	list.flags = 0;
	list.list_va = b.dst.va + 4096;
	list.list_key = b.dst.key;
	expect_umr(&b.pair.b, &list, true);
	expect_remote(&b, WQE_OP_WRITE, 5, dst, 10, true);
	assert_memory_equal(bed_dst(&b) + 105, bed_src(&b), 5);
	assert_memory_equal(bed_dst(&b), bed_src(&b) + 5, 5);
	list.list_key ^= 1;
	expect_umr(&b.pair.b, &list, false);
	bed_close(&b);
}

/* A list whose reading failed half way is gone: a later entry that makes the key good again without
 * giving it pieces gives it no bytes. Once the pieces that had been read were used together with
 * the sums of the old ones, and so led to bytes that no piece ever had. */
static void half_a_list_is_none(void **state)
{
	struct bed b = bed_open(NULL);
	uint32_t dst = klm_key(&b, 1, false);
	struct fake_piece pieces[] = {{b.dst.va + 256, 64, b.dst.key},
				      {b.dst.va + 512, 64, b.dst.key}};
	struct umr_wr list = umr_list(dst, RW, pieces, 2);
	uint8_t none[64] = {0};
	struct fake_pair other;

	(void)state;
	fake_pair_connect(b.w, &other, NULL);
	expect_umr(&b.pair.b, &list, true);
	/* The second piece would lie behind the region. */
	list.flags = 0;
	list.list_va = b.dst.va + b.dst.len - 64;
	list.list_key = make(&b, 1,
			     (struct nic_mkey_attr){.va = list.list_va,
						    .host_va = list.list_va,
						    .len_bytes = WQE_UNIT_BYTES});
	expect_umr(&other.b, &list, false);
	list = (struct umr_wr){.key = dst, .flags = UMR_INLINE_F, .mask = UMR_MASK_FREE};
	expect_umr(&b.pair.b, &list, true);
	expect_remote(&b, WQE_OP_WRITE, 0, dst, 64, false);
	assert_memory_equal(bed_dst(&b) + 512 - 64, none, 64);
	bed_close(&b);
}

/* KSM: each entry covers 2^n bytes from the key's start on, wherever that is. */
static void ksm_counts_from_its_start(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic_klm klms[] = {{b.dst.va + 512, b.dst.key, 0},
				 {b.dst.va, b.dst.key, 0},
				 {b.dst.va + 256, b.dst.key, 0}};
	uint32_t key = make(&b, 1,
			    (struct nic_mkey_attr){.kind = NIC_MKEY_KSM,
						   .access = BED_ALL,
						   .va = 0x1008,
						   .len_bytes = 768,
						   .klms = klms,
						   .klm_count = 3,
						   .entity_log2 = 8});

	(void)state;
	expect_remote(&b, WQE_OP_WRITE, 0x1008, key, 768, true);
	assert_memory_equal(bed_dst(&b) + 512, bed_src(&b), 256);
	assert_memory_equal(bed_dst(&b), bed_src(&b) + 256, 256);
	assert_memory_equal(bed_dst(&b) + 256, bed_src(&b) + 512, 256);
	expect_remote(&b, WQE_OP_ATOMIC_FA, 0x1108, key, 8, true);
	expect_remote(&b, WQE_OP_WRITE, 0x1008, key, 769, false);
	bed_close(&b);
}

/* An atomic whose bytes lie in two pieces is refused. */
static void atomic_across_pieces(void **state)
{
	struct bed b = bed_open(NULL);
	uint32_t dst = klm_key(&b, 1, false);
	struct fake_piece pieces[] = {{b.dst.va, 12, b.dst.key}, {b.dst.va + 64, 12, b.dst.key}};
	struct umr_wr list = umr_list(dst, UMR_ACCESS_REMOTE_ATOMIC_F, pieces, 2);

	(void)state;
	expect_umr(&b.pair.b, &list, true);
	expect_remote(&b, WQE_OP_ATOMIC_FA, 0, dst, 8, true);
	expect_remote(&b, WQE_OP_ATOMIC_FA, 8, dst, 8, false);
	bed_close(&b);
}

/* Keys may lead to keys, NIC_DEPTH_MAX deep; a key that leads to itself is refused, not followed.
 */
static void lists_of_lists(void **state)
{
	(void)state;
	for (uint32_t depth = 1; depth <= NIC_DEPTH_MAX + 2; depth++) {
		struct bed b = bed_open(NULL);
		struct nic_klm klm = {b.dst.va, b.dst.key, 64};
		uint32_t key = 0;

		for (uint32_t i = 0; i < depth && depth <= NIC_DEPTH_MAX + 1; i++) {
			key = make(&b, 1,
				   (struct nic_mkey_attr){.kind = NIC_MKEY_KLM,
							  .access = BED_ALL,
							  .len_bytes = 64,
							  .klms = &klm,
							  .klm_count = 1});
			klm = (struct nic_klm){0, key, 64};
		}
		if (depth == NIC_DEPTH_MAX + 2) {
			struct umr_wr list;

			key = klm_key(&b, 1, false);
			list = umr_list(key, RW, &(struct fake_piece){0, 64, key}, 1);
			expect_umr(&b.pair.b, &list, true);
		}
		expect_remote(&b, WQE_OP_WRITE, 0, key, 64, depth <= NIC_DEPTH_MAX);
		bed_close(&b);
	}
}

/* The key beneath must be there, have the bytes, and local write for what is written. */
static void keys_beneath(void **state)
{
	enum { GONE, SHORT, READ_ONLY, READ_ONLY_READ, ROWS };

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct bed b = bed_open(NULL);
		struct fake_piece pieces[] = {{b.dst.va, 64, b.dst.key},
					      {b.dst.va + 64, 64, bindable(&b, BED_LOCAL)}};
		uint32_t key = klm_key(&b, 1, false);
		bool reads = row == READ_ONLY_READ;
		struct umr_wr list;

		print_message("row %d\n", row);
		if (row == SHORT)
			pieces[1].va = b.dst.va + 4096 - 63;
		if (row == READ_ONLY || reads)
			pieces[1].key = bindable(&b, NIC_ACCESS_REMOTE_READ_F);
		list = umr_list(key, RW, pieces, 2);
		expect_umr(&b.pair.b, &list, true);
		if (row == GONE)
			assert_int_equal(nic_mkey_destroy(b.w->nics[1], pieces[1].key), 0);
		expect_remote(&b, reads ? WQE_OP_READ : WQE_OP_WRITE, 0, key, 128, reads);
		if (!reads) /* and nothing of the packet is written */
			assert_int_equal(bed_dst(&b)[0], 0);
		bed_close(&b);
	}
}

static void list_refused(void **state)
{
	enum { TOO_LONG, NOT_UMR, UNKNOWN_MASK, WRAPS, CUT, STRIDES_CUT, ROWS };

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct bed b = bed_open(NULL);
		struct fake_piece pieces[5] = {{b.dst.va, 64, b.dst.key}};
		uint32_t key = klm_key(&b, 1, false);
		struct umr_wr list = umr_list(key, RW, pieces, row == TOO_LONG ? 5 : 1);

		print_message("row %d\n", row);
		if (row == NOT_UMR)
			list.key = b.dst.key;
		if (row == UNKNOWN_MASK)
			list.mask |= 1 << 7;
		if (row == WRAPS) {
			list.mask |= UMR_MASK_START;
			list.start = UINT64_MAX - 8;
		}
		if (row == STRIDES_CUT) {
			/* It says 4 entries follow, and has room for 3. */
			list.repeat = 1;
			list.piece_count = 3;
		}
		if (row == CUT || row == STRIDES_CUT) {
			uint16_t index = umr_post(&b.pair.b, &list);
			uint8_t *wqe =
			    (uint8_t *)fake_mem(b.w, b.pair.b.sq_va) + index * WQE_BB_BYTES;

			if (row == CUT)
				wqe[7] = 9; /* ctrl.ds: ends after one unit of pieces */
			else
				wqe[128 + 15] = 4; /* entry_count */
			fake_ring(&b.pair.b);
			expect_error(&b.pair.b.send_cq, CQE_REQ_ERR, index, CQE_SYND_MW_BIND,
				     CQE_VENDOR_NONE);
		} else {
			expect_umr(&b.pair.b, &list, false);
		}
		bed_close(&b);
	}
}

/* A key in use is changed only when all before it is complete: it may be sent again. */
static void change_waits(void **state)
{
	struct bed b = bed_open(NULL);
	uint32_t key = klm_key(&b, 0, false);
	struct fake_piece piece = {b.src.va, 64, b.src.key};
	struct umr_wr list = umr_list(key, UMR_ACCESS_LOCAL_WRITE_F, &piece, 1);
	struct umr_wr inv = umr_local_inv(key);
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 64);

	(void)state;
	expect_umr(&b.pair.a, &list, true);
	wr.pieces[0] = (struct fake_piece){0, 64, key};
	fake_post(&b.pair.a, &wr);
	umr_post(&b.pair.a, &inv);
	fake_ring(&b.pair.a);
	assert_int_equal(b.w->queue_count, 1);
	fake_drop(b.w, 0);
	fake_advance(b.w, 70000000); /* the acknowledgement timeout */
	assert_int_equal(b.w->queue_count, 1);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 3, 64);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 4, 0);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 64);
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 6, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(window_moves_data),
	    cmocka_unit_test(window_has_bounds_and_rights),
	    cmocka_unit_test(zero_based_window),
	    cmocka_unit_test(window_on_another_queue_pair),
	    cmocka_unit_test(bind_refused),
	    cmocka_unit_test(window_type_1_bound_again),
	    cmocka_unit_test(window_is_remote_only),
	    cmocka_unit_test(local_invalidate),
	    cmocka_unit_test(local_invalidate_refused),
	    cmocka_unit_test(remote_invalidate),
	    cmocka_unit_test(remote_invalidate_refused),
	    cmocka_unit_test(list_at_both_ends),
	    cmocka_unit_test(strided_list),
	    cmocka_unit_test(list_from_memory),
	    cmocka_unit_test(half_a_list_is_none),
	    cmocka_unit_test(ksm_counts_from_its_start),
	    cmocka_unit_test(atomic_across_pieces),
	    cmocka_unit_test(lists_of_lists),
	    cmocka_unit_test(keys_beneath),
	    cmocka_unit_test(list_refused),
	    cmocka_unit_test(change_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
