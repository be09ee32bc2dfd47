/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: doorbells, scans, turns: who is served, in what order, and within what budget.
 * How: nic.h's calls on the world of tests/support/fake_nic.h.
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

static uint64_t word_of(uint16_t index, uint32_t qpn)
{
	struct wqe_ctrl_seg ctrl = {.opmod_idx_opcode = wqe_ctrl_op(0, index, WQE_OP_WRITE),
				    .qpn_ds = wqe_ctrl_qpn_ds(qpn, 3)};
	uint64_t word;

	memcpy(&word, &ctrl, sizeof(word));
	return word;
}

/* [cases 6] What counts is the record: a register ahead of it is told once, and not obeyed. */
static void register_ahead_of_its_record(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);
	struct nic *nic = b.w->nics[0];

	(void)state;
	fake_post(&b.pair.a, &wr);
	fake_post(&b.pair.a, &wr);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4, 1);
	nic_doorbell(nic, word_of(1, b.pair.a.qpn), b.w->now_ns);
	fake_run(b.w, 0);
	assert_int_equal(b.w->queue_count, 1);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_DB_AHEAD), 1);
	nic_doorbell(nic, word_of(1, b.pair.a.qpn), b.w->now_ns);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_DB_AHEAD), 1);
	assert_int_equal(nic_counters(nic)->db_ahead, 1);
	/* The record catches up: nothing was lost by it. */
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4, 2);
	nic_doorbell(nic, word_of(1, b.pair.a.qpn), b.w->now_ns);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 8);
	bed_close(&b);
}

/* Words that name nobody, or somebody who is not ready to send, do nothing. */
static void doorbells_of_nonsense(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_qp qp;

	(void)state;
	fake_qp_make(b.w, 0, NULL, &qp);
	be32_store((uint8_t *)fake_mem(b.w, qp.db_va) + 4, 5);
	nic_doorbell(b.w->nics[0], 0, b.w->now_ns);
	nic_doorbell(b.w->nics[0], UINT64_MAX, b.w->now_ns);
	nic_doorbell(b.w->nics[0], word_of(9, qp.qpn), b.w->now_ns);
	for (uint32_t shift = 0; shift < 64; shift++)
		nic_doorbell(b.w->nics[0], 0x123456789abcdefull << shift, b.w->now_ns);
	fake_run(b.w, 0);
	assert_int_equal(b.w->queue_count, 0);
	assert_int_equal(b.w->event_count, 0);
	bed_close(&b);
}

/* A scan finds posts without any doorbell, and arms; a scan of nothing new does nothing. */
static void scan_finds_posts_and_arms(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

	(void)state;
	fake_post(&b.pair.a, &wr);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4, 1);
	fake_arm(&b.pair.a.send_cq, false);
	nic_scan(b.w->nics[0], b.w->now_ns);
	assert_int_equal(fake_run(b.w, 0), NIC_IDLE);
	nic_scan(b.w->nics[0], b.w->now_ns);
	assert_int_equal(b.w->queue_count, 1);
	fake_settle(b.w);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_CQ_COMPLETION), 1);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	bed_close(&b);
}

/* Counts what a scan reads. */
static uint32_t loads;
static bool (*open_load32)(void *, uint64_t, uint32_t *);

static bool count_load32(void *ctx, uint64_t va, uint32_t *value)
{
	loads++;
	return open_load32(ctx, va, value);
}

enum { SOME_PAIRS = 40, SOME = 7 };

/* Calls of nic_scan_some until something was sent or told; each reads no more than it may. */
static uint32_t parts_until_found(struct fake_world *w)
{
	size_t events = w->event_count;
	uint32_t calls = 0;

	while (w->queue_count == 0 && w->event_count == events) {
		loads = 0;
		nic_scan_some(w->nics[0], SOME, w->now_ns);
		assert_true(loads <= SOME + 1); /* what has moved is read once more */
		fake_run(w, 0);
		assert_true(++calls < 1000);
	}
	while (w->queue_count != 0)
		fake_drop(w, 0);
	return calls;
}

/* A scan in parts finds every post and every arm within one lap, and a part reads that much only;
 * a destroy costs another lap at most. */
static void scan_in_parts(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_pair pairs[SOME_PAIRS];
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);
	uint32_t records = 3 * (SOME_PAIRS + 1); /* one queue pair, two completion queues each */
	uint32_t lap = (records + SOME - 1) / SOME;

	(void)state;
	for (int i = 0; i < SOME_PAIRS; i++)
		fake_pair_connect(b.w, &pairs[i], NULL);
	nic_scan(b.w->nics[0], b.w->now_ns);
	open_load32 = b.w->envs[0].mem_load32;
	b.w->envs[0].mem_load32 = count_load32;
	for (int i = 0; i < SOME_PAIRS; i++) {
		struct fake_qp *qp = &pairs[i * 23 % SOME_PAIRS].a;

		fake_post(qp, &wr);
		be32_store((uint8_t *)fake_mem(b.w, qp->db_va) + 4, 1);
		assert_true(parts_until_found(b.w) <= lap);
		fake_arm(&qp->recv_cq, false);
		for (uint32_t part = 0; part < lap; part++)
			nic_scan_some(b.w->nics[0], SOME, b.w->now_ns);
		assert_true(b.w->nics[0]->cqs[qp->recv_cq.cqn].armed);
	}
	for (int i = 0; i < SOME_PAIRS - 1; i++) {
		struct fake_qp *last = &pairs[SOME_PAIRS - 1].a;

		fake_post(last, &wr);
		be32_store((uint8_t *)fake_mem(b.w, last->db_va) + 4, (uint32_t)i + 2);
		nic_scan_some(b.w->nics[0], SOME, b.w->now_ns);
		assert_int_equal(nic_qp_destroy(b.w->nics[0], pairs[i].a.qpn), 0);
		if (fake_run(b.w, 0) == NIC_IDLE && b.w->queue_count == 0)
			assert_true(parts_until_found(b.w) <= 2 * lap);
		while (b.w->queue_count != 0)
			fake_drop(b.w, 0);
	}
	b.w->envs[0].mem_load32 = open_load32;
	bed_close(&b);
}

/* A budget ends a run after that many packets or bytes, give or take one packet. */
static void budget(void **state)
{
	static const struct {
		const char *name;
		struct nic_budget budget;
		size_t packets;
	} rows[] = {
	    {"packets", {5, 1 << 20}, 5},
	    {"bytes", {64, 4096}, 4},
	    {"bytes, give or take one", {64, 4097}, 5},
	    {"one packet", {1, 1}, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(NULL);
		struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 100000);

		print_message("row: %s\n", rows[i].name);
		fake_post(&b.pair.a, &wr);
		be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4, 1);
		nic_scan(b.w->nics[0], b.w->now_ns);
		assert_int_equal(nic_run(b.w->nics[0], &rows[i].budget, b.w->now_ns), NIC_BUSY);
		assert_int_equal(b.w->queue_count, rows[i].packets);
		nic_check(b.w->nics[0]);
		bed_close(&b);
	}
}

/* Rings full of entries without packets, and their flush, are bounded by the budget as well. */
static void budget_of_what_has_no_packets(void **state)
{
	struct nic_budget budget = {.packets = 64, .bytes = 10 * CQE_BYTES};
	struct bed b = bed_open(&(struct fake_opts){.sq_count = 256, .cq_count_log2 = 10});

	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct nic_cq *cq = nic_cq_find(b.w->nics[0], b.pair.a.send_cq.cqn);
		struct fake_wr wr = bed_wr(&b, WQE_OP_NOP, 0);
		uint32_t before = cq->pi;
		int runs = 1;

		if (flush)
			assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
		for (int i = 0; i < 200; i++)
			fake_post(&b.pair.a, &wr);
		be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4, b.pair.a.sq_pi);
		nic_scan(b.w->nics[0], b.w->now_ns);
		while (nic_run(b.w->nics[0], &budget, b.w->now_ns) == NIC_BUSY) {
			assert_in_range(cq->pi - before, 1, 11);
			before = cq->pi;
			runs++;
			nic_check(b.w->nics[0]);
		}
		assert_in_range(runs, 19, 22);
	}
	bed_close(&b);
}

/* Turns: two long messages of two queue pairs share the wire, no more than a turn apart. */
static void turns_are_fair(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct fake_pair pairs[3];
	struct fake_region src = fake_region(w, 0, 1 << 20, BED_LOCAL);
	struct fake_region dst = fake_region(w, 1, 1 << 20, BED_ALL);
	int sent[3] = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fake_wr wr = {.opcode = WQE_OP_WRITE,
				     .piece_count = 1,
				     .remote_va = dst.va,
				     .rkey = dst.key,
				     .pieces = {{src.va, 200000, src.key}}};

		fake_pair_connect(w, &pairs[i], NULL);
		fake_post(&pairs[i].a, &wr);
		be32_store((uint8_t *)fake_mem(w, pairs[i].a.db_va) + 4, 1);
	}
	nic_scan(w->nics[0], w->now_ns);
	fake_run(w, 0);
	for (size_t i = 0; i < 300; i++) {
		for (int k = 0; k < 3; k++)
			sent[k] += w->queue[i]->dqpn == pairs[k].b.qpn;
		for (int k = 0; k < 3; k++)
			assert_true(sent[k] <= sent[(k + 1) % 3] + NIC_VISIT_PACKETS);
	}
	fake_world_free(w);
}

/* A queue pair whose peer's wire is full does not hold up the others, and says so at the end. */
static uint32_t full_for;
static uint8_t *(*open_reserve)(void *, const struct nic_path *, uint32_t, size_t);

static uint8_t *reserve_but_one(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len)
{
	return dqpn == full_for ? NULL : open_reserve(ctx, path, dqpn, len);
}

static void one_full_wire_holds_up_nobody(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_pair other;
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 100000);

	(void)state;
	fake_pair_connect(b.w, &other, NULL);
	open_reserve = b.w->envs[0].tx_reserve;
	full_for = b.pair.b.qpn;
	b.w->envs[0].tx_reserve = reserve_but_one;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	assert_int_equal(b.w->queue_count, 0);
	fake_post(&other.a, &wr);
	fake_ring(&other.a);
	assert_int_equal(b.w->queue_count, 98);
	assert_int_equal(fake_run(b.w, 0), NIC_BLOCKED);
	b.w->envs[0].tx_reserve = open_reserve;
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 100000);
	expect_done(&other.a.send_cq, CQE_REQ, 0, 100000);
	bed_close(&b);
}

/* As requester and as responder at once, over one queue pair connected to itself. */
static void loopback(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_region here = fake_region(b.w, 0, 65536, BED_ALL);
	struct fake_opts opts = {.psn_b = 0x100};
	struct fake_qp qp;
	struct fake_wr wr = {.opcode = WQE_OP_WRITE, .signal = true, .piece_count = 1};

	(void)state;
	fake_qp_make(b.w, 0, NULL, &qp);
	fake_qp_ready(&qp, qp.qpn, false, &opts);
	wr.pieces[0] = (struct fake_piece){b.src.va, 30000, b.src.key};
	wr.remote_va = here.va;
	wr.rkey = here.key;
	fake_post(&qp, &wr);
	wr.opcode = WQE_OP_READ;
	wr.pieces[0].va += 30000;
	fake_post(&qp, &wr);
	fake_ring(&qp);
	fake_settle(b.w);
	expect_done(&qp.send_cq, CQE_REQ, 0, 30000);
	expect_done(&qp.send_cq, CQE_REQ, 1, 30000);
	assert_memory_equal(fake_mem(b.w, here.va), bed_src(&b), 30000);
	assert_memory_equal(bed_src(&b) + 30000, bed_src(&b), 30000);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(register_ahead_of_its_record),
	    cmocka_unit_test(doorbells_of_nonsense),
	    cmocka_unit_test(scan_finds_posts_and_arms),
	    cmocka_unit_test(scan_in_parts),
	    cmocka_unit_test(budget),
	    cmocka_unit_test(budget_of_what_has_no_packets),
	    cmocka_unit_test(turns_are_fair),
	    cmocka_unit_test(one_full_wire_holds_up_nobody),
	    cmocka_unit_test(loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
