/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: entries are copied once, decoded as the format says, and no bytes in a ring can do harm.
 * How: nic_wqe_* called directly on rings of chosen and of random bytes (the seed is printed).
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

static struct nic_qp *qp_a(struct bed *b)
{
	return nic_qp_find(b->w->nics[0], b->pair.a.qpn);
}

/* Every segment of an entry with all of them. */
static void decodes_an_atomic(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_ATOMIC_CS, 8);
	struct nic_qp *qp = qp_a(&b);
	struct nic_wqe wqe;
	struct nic_fault fault;

	(void)state;
	wr.swap_add = 0x0102030405060708;
	wr.compare = 0x1112131415161718;
	wr.fence = WQE_FM_FENCE;
	fake_post(&b.pair.a, &wr);
	qp->sq_pi = 1;
	fault = nic_wqe_fetch_send(b.w->nics[0], qp, 0, &wqe);
	assert_int_equal(fault.syndrome, 0);
	assert_int_equal(wqe.opcode, WQE_OP_ATOMIC_CS);
	assert_int_equal(wqe.fm_ce_se, WQE_FM_FENCE | WQE_CE_ALWAYS);
	assert_int_equal(wqe.raddr, b.dst.va);
	assert_int_equal(wqe.rkey, b.dst.key);
	assert_int_equal(wqe.atomic.swap_add, wr.swap_add);
	assert_int_equal(wqe.atomic.compare, wr.compare);
	assert_int_equal(wqe.piece_count, 1);
	assert_int_equal(wqe.pieces[0].lkey, b.src.key);
	assert_int_equal(wqe.wqebb_count, 1);
	bed_close(&b);
}

/* Several inline segments and data segments in one entry, in their order. */
static void mixed_segments(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic_qp *qp = qp_a(&b);
	uint8_t *ring = fake_mem(b.w, b.pair.a.sq_va);
	struct nic_wqe wqe;

	(void)state;
	ring[3] = WQE_OP_SEND;
	ring[7] = 6;
	be32_store(ring + 16, WQE_INLINE_F | 13);
	be32_store(ring + 48, 100);
	be32_store(ring + 52, 0x777);
	be64_store(ring + 56, 0xabc);
	be32_store(ring + 64, WQE_INLINE_F);
	be32_store(ring + 80, WQE_INLINE_F | 12);
	qp->sq_pi = 2;
	assert_int_equal(nic_wqe_fetch_send(b.w->nics[0], qp, 0, &wqe).syndrome, 0);
	assert_int_equal(wqe.piece_count, 4);
	assert_int_equal(wqe.inline_mask, 0xd);
	assert_int_equal(wqe.len_bytes, 125);
	assert_int_equal(wqe.pieces[0].va, 20);
	assert_int_equal(wqe.pieces[1].va, 0xabc);
	assert_int_equal(wqe.pieces[3].va, 84);
	assert_int_equal(wqe.wqebb_count, 2);
	bed_close(&b);
}

/* What ring bytes can make of an entry is bounded, whatever they are. */
static void random_rings(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic_qp *qp = qp_a(&b);
	uint8_t *ring = fake_mem(b.w, b.pair.a.sq_va);
	struct base_prng prng;

	(void)state;
	print_message("seed 3\n");
	base_prng_seed(&prng, 3);
	for (int i = 0; i < 20000; i++) {
		uint16_t index = (uint16_t)base_prng_u64(&prng);
		uint16_t posted = (uint16_t)base_prng_range(&prng, 1, 64);
		static const uint8_t opcodes[] = {0, 8, 9, 10, 11, 16, 17, 18};
		uint8_t *ctrl = ring + (index & 63) * 64;
		struct nic_wqe wqe;
		struct nic_fault fault;
		uint64_t total = 0;

		base_prng_fill(&prng, ring, 64 * 64);
		if (base_prng_below(&prng, 4) != 0)
			ctrl[3] = opcodes[base_prng_below(&prng, 8)];
		qp->sq_pi = (uint16_t)(index + posted);
		fault = nic_wqe_fetch_send(b.w->nics[0], qp, index, &wqe);
		assert_in_range(wqe.wqebb_count, 1, posted);
		assert_true(wqe.piece_count <= NIC_PIECES_MAX);
		for (uint32_t k = 0; k < wqe.piece_count; k++) {
			total += wqe.pieces[k].len_bytes;
			if (wqe.inline_mask >> k & 1)
				assert_true(wqe.pieces[k].va + wqe.pieces[k].len_bytes <=
					    NIC_WQE_BYTES_MAX);
		}
		if (fault.syndrome == 0)
			assert_true(total == wqe.len_bytes && total <= 1ull << 31);
	}
	qp->sq_pi = 0;
	bed_close(&b);
}

/* The same with the whole NIC behind it: random entries on live queue pairs, until each one dies.
 */
static void random_entries_run(void **state)
{
	struct bed b = bed_open(NULL);
	struct base_prng prng;

	(void)state;
	print_message("seed 4\n");
	base_prng_seed(&prng, 4);
	for (int i = 0; i < 300; i++) {
		struct fake_pair pair;
		uint8_t *ring;

		b.w->event_count = 0;
		b.w->mem_used -= i == 0 ? 0 : b.w->mem_used - (4 << 20);
		b.w->mem_used = 4 << 20;
		fake_pair_connect(b.w, &pair, NULL);
		ring = fake_mem(b.w, pair.a.sq_va);
		base_prng_fill(&prng, ring, 64 * 64);
		for (int k = 0; k < 64; k++) {
			static const uint8_t opcodes[] = {0, 8, 9, 10, 11, 16, 17, 18};

			ring[k * 64 + 3] = opcodes[base_prng_below(&prng, 8)];
			ring[k * 64 + 7] = (uint8_t)base_prng_range(&prng, 1, 4);
			for (int seg = 16; seg < 64; seg += 16)
				if (base_prng_below(&prng, 2))
					be32_store(ring + k * 64 + seg,
						   WQE_INLINE_F |
						       (uint32_t)base_prng_below(&prng, 20));
		}
		be32_store((uint8_t *)fake_mem(b.w, pair.a.db_va) + 4, 64);
		nic_scan(b.w->nics[0], b.w->now_ns);
		for (int k = 0; k < 30; k++) {
			fake_settle(b.w);
			fake_advance(b.w, 4096ull << 14);
		}
		assert_int_equal(nic_qp_destroy(b.w->nics[0], pair.a.qpn), 0);
		assert_int_equal(nic_qp_destroy(b.w->nics[1], pair.b.qpn), 0);
		assert_int_equal(nic_cq_destroy(b.w->nics[0], pair.a.send_cq.cqn), 0);
		assert_int_equal(nic_cq_destroy(b.w->nics[0], pair.a.recv_cq.cqn), 0);
		assert_int_equal(nic_cq_destroy(b.w->nics[1], pair.b.send_cq.cqn), 0);
		assert_int_equal(nic_cq_destroy(b.w->nics[1], pair.b.recv_cq.cqn), 0);
	}
	bed_close(&b);
}

/* A copy is used while it is its operation's, and made anew when it is not, or was forgotten. */
static void copies_have_an_owner(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct nic *nic = b.w->nics[0];
	struct nic_qp *qp = qp_a(&b);
	struct nic_wqe wqe = {0};
	const struct nic_op *op;

	(void)state;
	b.w->room = 1;
	bed_post(&b, WQE_OP_WRITE, 1000);
	op = nic_op_at(nic, qp, 0);
	assert_ptr_equal(nic_wqe_again(nic, qp, op, 0, &wqe), &wqe);
	assert_int_equal(wqe.len_bytes, 1000);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.sq_va) + 32, 999);
	assert_ptr_equal(nic_wqe_again(nic, qp, op, 0, &wqe), &wqe);
	assert_null(nic_wqe_again(nic, qp, op, 1, &wqe));
	assert_non_null(nic_wqe_again(nic, qp, op, 0, &nic->tx_wqe));
	nic_wqe_forget(nic, qp);
	assert_null(nic_wqe_again(nic, qp, op, 0, &nic->tx_wqe));
	bed_close(&b);
}

/* A signed receive: what stands first is no piece, whatever it holds. */
static void signed_receives(void **state)
{
	struct bed b = bed_open(NULL);
	const struct fake_piece pieces[] = {{0x1234, 77, 0xdead}, {b.dst.va, 100, b.dst.key}};

	(void)state;
	nic_qp_find(b.w->nics[1], b.pair.b.qpn)->rq_signed = true;
	for (uint16_t i = 0; i < 40; i++) {
		fake_receive(&b.pair.b, pieces, 2);
		bed_post(&b, WQE_OP_SEND, 100);
		fake_settle(b.w);
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, i, 100);
	}
	assert_memory_equal(bed_dst(&b), bed_src(&b), 100);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(decodes_an_atomic),    cmocka_unit_test(mixed_segments),
	    cmocka_unit_test(random_rings),         cmocka_unit_test(random_entries_run),
	    cmocka_unit_test(copies_have_an_owner), cmocka_unit_test(signed_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
