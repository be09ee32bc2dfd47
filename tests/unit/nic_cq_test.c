/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: completion entries (owner bit, 64 and 128 bytes), overrun, and that no event is ever lost.
 * How: two NICs of tests/support/fake_nic.h; every interleaving of poll, arm, look and completion.
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

/* ---- create ---------------------------------------------------------------------------------- */

static void create_and_destroy(void **state)
{
	static const struct {
		const char *name;
		struct nic_cq_attr attr;
		int err;
	} rows[] = {
	    {"good", {FAKE_BASE_VA, FAKE_BASE_VA + 4096, 4, 64, false, 0, false}, 0},
	    {"128 bytes", {FAKE_BASE_VA, FAKE_BASE_VA + 4096, 4, 128, false, 0, false}, 0},
	    {"one entry", {FAKE_BASE_VA, FAKE_BASE_VA + 4096, 0, 64, false, 0, false}, 0},
	    {"largest", {FAKE_BASE_VA, FAKE_BASE_VA + 4096, 22, 64, false, 0, false}, 0},
	    {"too large", {FAKE_BASE_VA, FAKE_BASE_VA + 4096, 23, 64, false, 0, false}, -EINVAL},
	    {"odd size", {FAKE_BASE_VA, FAKE_BASE_VA + 4096, 4, 96, false, 0, false}, -EINVAL},
	    {"ring not aligned",
	     {FAKE_BASE_VA + 8, FAKE_BASE_VA + 4096, 4, 64, false, 0, false},
	     -EINVAL},
	    {"record not aligned",
	     {FAKE_BASE_VA, FAKE_BASE_VA + 4100, 4, 64, false, 0, false},
	     -EINVAL},
	    {"record not there", {FAKE_BASE_VA, 4096, 4, 64, false, 0, false}, -EFAULT},
	};
	struct fake_world *w = fake_world_new(NULL);
	uint32_t cqn = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row: %s\n", rows[i].name);
		assert_int_equal(nic_cq_create(w->nics[0], &rows[i].attr, &cqn), rows[i].err);
		nic_check(w->nics[0]);
		if (rows[i].err)
			continue;
		assert_int_equal(be32_load((uint8_t *)fake_mem(w, rows[i].attr.db_va) + 4),
				 UINT32_MAX);
		assert_int_equal(nic_cq_destroy(w->nics[0], cqn), 0);
		assert_int_equal(nic_cq_destroy(w->nics[0], cqn), -EINVAL);
	}
	assert_int_equal(nic_cq_destroy(w->nics[0], 0), -EINVAL);
	assert_int_equal(nic_cq_destroy(w->nics[0], 0xffffff), -EINVAL);
	fake_world_free(w);
}

/* A queue in use cannot be destroyed; then it can. */
static void busy_while_used(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	assert_int_equal(nic_cq_destroy(b.w->nics[0], b.pair.a.send_cq.cqn), -EBUSY);
	assert_int_equal(nic_qp_destroy(b.w->nics[0], b.pair.a.qpn), 0);
	assert_int_equal(nic_cq_destroy(b.w->nics[0], b.pair.a.send_cq.cqn), 0);
	assert_int_equal(nic_cq_destroy(b.w->nics[0], b.pair.a.recv_cq.cqn), 0);
	bed_close(&b);
}

static void table_runs_full(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_cq_attr attr = {.cqe_size_bytes = 64, .cqe_count_log2 = 1};
	uint32_t cqns[1024], cqn;

	(void)state;
	attr.buf_va = fake_alloc(w, 128);
	attr.db_va = fake_alloc(w, 64);
	for (int i = 0; i < 1024; i++)
		assert_int_equal(nic_cq_create(w->nics[0], &attr, &cqns[i]), 0);
	assert_int_equal(nic_cq_create(w->nics[0], &attr, &cqn), -ENOMEM);
	for (int i = 0; i < 1024; i += 3)
		assert_int_equal(nic_cq_destroy(w->nics[0], cqns[i]), 0);
	nic_check(w->nics[0]);
	for (int i = 0; i < 1024; i += 3)
		assert_int_equal(nic_cq_create(w->nics[0], &attr, &cqns[i]), 0);
	nic_check(w->nics[0]);
	fake_world_free(w);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Many laps of a small ring: the owner bit turns at each. */
static void owner_bit_over_many_laps(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 2});

	(void)state;
	for (uint16_t i = 0; i < 1000; i++) {
		bed_post(&b, WQE_OP_NOP, 0);
		expect_done(&b.pair.a.send_cq, CQE_REQ, i, 0);
		expect_none(&b.pair.a.send_cq);
	}
	bed_close(&b);
}

/* [cases 4] The 24-bit consumer index wraps while the ring is in use, armed and nearly full. */
static void consumer_index_wraps(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 2});
	struct nic_cq *cq = nic_cq_find(b.w->nics[0], b.pair.a.send_cq.cqn);

	(void)state;
	b.pair.a.send_cq.ci = cq->pi = cq->ci = 0x1000000 - 6;
	be32_store(fake_mem(b.w, cq->db_va), 0x1000000 - 6);
	for (uint32_t i = 0; i < 4; i++)
		((struct cqe64 *)fake_mem(b.w, cq->buf_va))[i].op_own = 0xf0 | (i < 2);
	for (uint16_t i = 0; i < 32; i += 4) {
		for (int k = 0; k < 4; k++)
			bed_post(&b, WQE_OP_NOP, 0);
		for (uint16_t k = 0; k < 4; k++)
			expect_done(&b.pair.a.send_cq, CQE_REQ, i + k, 0);
		fake_arm(&b.pair.a.send_cq, false);
		nic_cq_scan(b.w->nics[0], b.w->now_ns);
	}
	/* Every arm but the last met a completion. */
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_CQ_COMPLETION), 7);
	bed_close(&b);
}

/* 128-byte entries: the completion is the second half. */
static void wide_entries(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_cq_attr attr = {.cqe_count_log2 = 2, .cqe_size_bytes = 128, .cookie = 9};
	struct nic *nic = w->nics[0];
	struct nic_qp qp = {.number = 0x123};
	struct nic_done done = {.opcode = CQE_REQ,
				.wqe_counter = 5,
				.send_opcode = WQE_OP_SEND,
				.user_index = 0x77};
	uint8_t *ring;
	uint32_t cqn;

	(void)state;
	attr.buf_va = fake_alloc(w, 512);
	attr.db_va = fake_alloc(w, 64);
	ring = fake_mem(w, attr.buf_va);
	memset(ring, 0xf0, 512);
	assert_int_equal(nic_cq_create(nic, &attr, &cqn), 0);
	nic_cq_done(nic, &qp, cqn, &done);
	nic_cq_done(nic, &qp, cqn, &done);
	for (int i = 0; i < 64; i++)
		assert_int_equal(ring[i], 0xf0);
	assert_int_equal(cqe_qpn((struct cqe64 *)(ring + 64)), 0x123);
	assert_int_equal(be32_to(((struct cqe64 *)(ring + 192))->srqn_uidx), 0x77);
	assert_int_equal(ring[127], 0);
	assert_int_equal(ring[255], 0);
	assert_int_equal(ring[383], 0xf0);
	fake_world_free(w);
}

/* Padded: the first half of an entry is written, too, and before the owner bit. */
static void padded_entries(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_cq_attr attr = {.cqe_count_log2 = 1, .cqe_size_bytes = 128, .padded = true};
	struct nic_qp qp = {.number = 0x123};
	struct nic_done done = {.opcode = CQE_REQ};
	uint8_t *ring;
	uint32_t cqn;

	(void)state;
	attr.buf_va = fake_alloc(w, 256);
	attr.db_va = fake_alloc(w, 64);
	ring = fake_mem(w, attr.buf_va);
	memset(ring, 0xf0, 256);
	assert_int_equal(nic_cq_create(w->nics[0], &attr, &cqn), 0);
	nic_cq_done(w->nics[0], &qp, cqn, &done);
	for (int i = 0; i < 64; i++)
		assert_int_equal(ring[i], 0);
	assert_int_equal(cqe_qpn((struct cqe64 *)(ring + 64)), 0x123);
	assert_int_equal(ring[128], 0xf0);
	attr.cqe_size_bytes = 64;
	assert_int_equal(nic_cq_create(w->nics[0], &attr, &cqn), -EINVAL);
	fake_world_free(w);
}

/* ---- resize ---------------------------------------------------------------------------------- */

/* What a driver does with the old ring: its entries move one place on in the new one, until the
 * entry that ends it. Returns how many moved. */
static uint32_t move_entries(struct fake_cq *cq, uint64_t buf_va, uint32_t count_log2)
{
	struct cqe64 *from = fake_mem(cq->world, cq->buf_va);
	struct cqe64 *to = fake_mem(cq->world, buf_va);
	uint32_t i = cq->ci;

	for (;; i++) {
		const struct cqe64 *old = &from[i & ((1u << cq->count_log2) - 1)];
		struct cqe64 *moved = &to[(i + 1) & ((1u << count_log2) - 1)];

		assert_int_equal(old->op_own & 1, i >> cq->count_log2 & 1);
		if (old->op_own >> 4 == CQE_RESIZE_CQ)
			break;
		*moved = *old;
		moved->op_own = (uint8_t)((old->op_own & ~1u) | ((i + 1) >> count_log2 & 1));
	}
	cq->buf_va = buf_va;
	cq->count_log2 = count_log2;
	return i - cq->ci++;
}

static uint64_t fresh_ring(struct fake_world *w, uint32_t count_log2)
{
	uint64_t va = fake_alloc(w, (size_t)64 << count_log2);

	memset(fake_mem(w, va), CQE_OP_OWN_INIT, (size_t)64 << count_log2);
	return va;
}

/* Up, down and the same size, at every fill and place of the ring: nothing is lost or comes twice,
 * and an event that was armed for comes. */
static void resize_keeps_entries(void **state)
{
	(void)state;
	for (uint32_t to_log2 = 1; to_log2 <= 5; to_log2++) {
		for (uint32_t row = 0; row < 3 * 8; row++) {
			struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 3});
			struct fake_cq *cq = &b.pair.a.send_cq;
			uint32_t polled = row / 8 * 4, unpolled = row % 8;
			uint64_t ring = fresh_ring(b.w, to_log2);
			uint16_t n = 0;

			for (; n < polled; n++) {
				bed_post(&b, WQE_OP_NOP, 0);
				expect_done(cq, CQE_REQ, n, 0);
			}
			for (uint32_t i = 0; i < unpolled; i++)
				bed_post(&b, WQE_OP_NOP, 0);
			if (unpolled > 1u << to_log2) {
				assert_int_equal(
				    nic_cq_resize(b.w->nics[0], cq->cqn, ring, to_log2), -EINVAL);
			} else {
				assert_int_equal(
				    nic_cq_resize(b.w->nics[0], cq->cqn, ring, to_log2), 0);
				assert_int_equal(move_entries(cq, ring, to_log2), unpolled);
			}
			for (uint32_t i = 0; i < unpolled; i++)
				expect_done(cq, CQE_REQ, n++, 0);
			expect_none(cq);
			fake_arm(cq, false);
			nic_cq_scan(b.w->nics[0], b.w->now_ns);
			assert_int_equal(b.w->event_count, 0);
			for (int i = 0; i < 20; i++) {
				bed_post(&b, WQE_OP_NOP, 0);
				expect_done(cq, CQE_REQ, n++, 0);
			}
			assert_int_equal(fake_events(b.w, 0, NIC_EVENT_CQ_COMPLETION), 1);
			nic_check(b.w->nics[0]);
			bed_close(&b);
		}
	}
}

static void resize_refused(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 3});
	struct fake_cq *cq = &b.pair.a.send_cq;
	uint64_t ring = fresh_ring(b.w, 4);
	struct nic *nic = b.w->nics[0];

	(void)state;
	assert_int_equal(nic_cq_resize(nic, 0xffff, ring, 4), -EINVAL);
	assert_int_equal(nic_cq_resize(nic, cq->cqn, ring + 8, 4), -EINVAL);
	assert_int_equal(nic_cq_resize(nic, cq->cqn, ring, 23), -EINVAL);
	/* A full ring has no room for the entry that ends it. */
	for (int i = 0; i < 8; i++)
		bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(nic_cq_resize(nic, cq->cqn, ring, 4), -EINVAL);
	for (uint16_t i = 0; i < 8; i++)
		expect_done(cq, CQE_REQ, i, 0);
	fake_fault(b.w, cq->buf_va, 512);
	assert_int_equal(nic_cq_resize(nic, cq->cqn, ring, 4), -EFAULT);
	fake_fault(b.w, cq->db_va, 8);
	assert_int_equal(nic_cq_resize(nic, cq->cqn, ring, 4), -EFAULT);
	bed_close(&b);
}

/* ---- overrun --------------------------------------------------------------------------------- */

/* [cases 8] One entry too many: an error event of the queue, its queue pairs in error, no hang. */
static void overrun(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 3});

	(void)state;
	for (int i = 0; i < 8; i++)
		bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(b.w->event_count, 0);
	bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_CQ_ERROR), 1);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_FATAL), 1);
	assert_int_equal(b.w->event_count, 2);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_ERR);
	assert_int_equal(nic_counters(b.w->nics[0])->cq_overrun, 1);
	/* The eight that fitted are intact. */
	for (uint16_t i = 0; i < 8; i++)
		expect_done(&b.pair.a.send_cq, CQE_REQ, i, 0);
	expect_none(&b.pair.a.send_cq);
	bed_close(&b);
}

/* A consumer index is read when the ring looks full, and then there is room. */
static void consumer_index_makes_room(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 3});

	(void)state;
	for (uint16_t i = 0; i < 100; i += 5) {
		for (int k = 0; k < 5; k++)
			bed_post(&b, WQE_OP_NOP, 0);
		for (uint16_t k = 0; k < 5; k++)
			expect_done(&b.pair.a.send_cq, CQE_REQ, i + k, 0);
	}
	assert_int_equal(b.w->event_count, 0);
	bed_close(&b);
}

/* A queue that ignores overrun never looks at the consumer index [ucx-mlx5]. */
static void overrun_ignored(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 2});

	(void)state;
	nic_cq_find(b.w->nics[0], b.pair.a.send_cq.cqn)->overrun_ignored = true;
	fake_fault(b.w, b.pair.a.send_cq.db_va, 4);
	for (int i = 0; i < 20; i++)
		bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(b.w->event_count, 0);
	assert_int_equal(nic_cq_find(b.w->nics[0], b.pair.a.send_cq.cqn)->pi, 20);
	bed_close(&b);
}

/* A ring, or a record, that is gone: the same end as an overrun. */
static void ring_is_gone(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bed b = bed_open(&(struct fake_opts){.cq_count_log2 = 2});
		struct fake_cq *cq = &b.pair.a.send_cq;

		fake_fault(b.w, i == 0 ? cq->buf_va : cq->db_va, 64);
		for (int k = 0; k < 5; k++)
			bed_post(&b, WQE_OP_NOP, 0);
		assert_int_equal(fake_events(b.w, 0, NIC_EVENT_CQ_ERROR), 1);
		assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_ERR);
		bed_close(&b);
	}
}

/* ---- arm ------------------------------------------------------------------------------------- */

static void look(struct bed *b)
{
	nic_cq_scan(b->w->nics[0], b->w->now_ns);
}

/*
 * [cases 10] The application: polls until nothing is there, arms, polls once more or not. The NIC:
 * writes a completion at one moment, looks at the arm word at two. At every interleaving the
 * application ends up with the completion polled or an event.
 */
static void no_event_is_lost(void **state)
{
	enum { POLL, ARM, WRITE, LOOK1, LOOK2, STEPS };
	int order[STEPS];

	(void)state;
	for (int code = 0; code < 3125; code++) {
		int rest = code, used = 0;
		bool polled = false;
		struct fake_cqe cqe;
		struct bed b;

		for (int i = 0; i < STEPS; i++, rest /= STEPS) {
			order[i] = rest % STEPS;
			used |= 1 << order[i];
		}
		if (used != (1 << STEPS) - 1)
			continue;
		/* The application's own steps come in order. */
		int poll_at = 0, arm_at = 0;
		for (int i = 0; i < STEPS; i++) {
			poll_at = order[i] == POLL ? i : poll_at;
			arm_at = order[i] == ARM ? i : arm_at;
		}
		if (poll_at > arm_at)
			continue;
		b = bed_open(NULL);
		for (int i = 0; i < STEPS; i++) {
			if (order[i] == POLL)
				polled = fake_poll(&b.pair.a.send_cq, &cqe) == 1;
			else if (order[i] == ARM)
				fake_arm(&b.pair.a.send_cq, false);
			else if (order[i] == WRITE)
				bed_post(&b, WQE_OP_NOP, 0);
			else
				look(&b);
		}
		look(&b);
		if (fake_events(b.w, 0, NIC_EVENT_CQ_COMPLETION) != (polled ? 0 : 1)) {
			print_message("order %d %d %d %d %d\n", order[0], order[1], order[2],
				      order[3], order[4]);
			fail();
		}
		bed_close(&b);
	}
}

/* One event for each arm, and none without. */
static void one_event_per_arm(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_cqe cqe;

	(void)state;
	look(&b);
	bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(b.w->event_count, 0);
	assert_int_equal(fake_poll(&b.pair.a.send_cq, &cqe), 1);
	fake_arm(&b.pair.a.send_cq, false);
	look(&b);
	look(&b);
	assert_int_equal(b.w->event_count, 0);
	bed_post(&b, WQE_OP_NOP, 0);
	bed_post(&b, WQE_OP_NOP, 0);
	look(&b);
	assert_int_equal(b.w->event_count, 1);
	assert_int_equal(b.w->events[0].number, b.pair.a.send_cq.cqn);
	/* Armed again with one left to poll: at once. */
	assert_int_equal(fake_poll(&b.pair.a.send_cq, &cqe), 1);
	fake_arm(&b.pair.a.send_cq, false);
	nic_cq_arm(b.w->nics[0], b.pair.a.send_cq.cqn, b.w->now_ns);
	assert_int_equal(b.w->event_count, 2);
	nic_cq_arm(b.w->nics[0], 0xffffffff, b.w->now_ns);
	bed_close(&b);
}

/*
 * What an event was for is no news: an application may take the event, arm, and then poll, as
 * perftest does with -e, and gets one event for each completion. What came after the event is.
 */
static void no_second_event_for_a_completion(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	fake_arm(&b.pair.a.send_cq, false);
	look(&b);
	bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(b.w->event_count, 1);
	fake_arm(&b.pair.a.send_cq, false);
	look(&b);
	assert_int_equal(b.w->event_count, 1);
	bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(b.w->event_count, 2);
	bed_post(&b, WQE_OP_NOP, 0);
	fake_arm(&b.pair.a.send_cq, false);
	look(&b);
	assert_int_equal(b.w->event_count, 3);
	bed_close(&b);
}

/* The very first arm of a fresh queue is the word 0, as zeroed memory is: it counts all the same.
 */
static void first_arm_is_seen(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	fake_arm(&b.pair.a.send_cq, false);
	assert_int_equal(be32_load((uint8_t *)fake_mem(b.w, b.pair.a.send_cq.db_va) + 4), 0);
	look(&b);
	bed_post(&b, WQE_OP_NOP, 0);
	assert_int_equal(b.w->event_count, 1);
	bed_close(&b);
}

/* Solicited only: a plain completion does not fire, a solicited one and an error do, early or late.
 */
static void solicited_only(void **state)
{
	static const struct {
		const char *name;
		bool solicited, error, looked_first;
		size_t events;
	} rows[] = {
	    {"plain", false, false, true, 0},    {"plain, looked late", false, false, false, 0},
	    {"solicited", true, false, true, 1}, {"solicited, looked late", true, false, false, 1},
	    {"error", false, true, true, 1},     {"error, looked late", false, true, false, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(NULL);
		struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 8);

		print_message("row: %s\n", rows[i].name);
		bed_receive(&b, rows[i].error ? 4 : 8);
		fake_arm(&b.pair.b.recv_cq, true);
		if (rows[i].looked_first)
			nic_cq_scan(b.w->nics[1], b.w->now_ns);
		wr.solicited = rows[i].solicited;
		fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		nic_cq_scan(b.w->nics[1], b.w->now_ns);
		assert_int_equal(fake_events(b.w, 1, NIC_EVENT_CQ_COMPLETION), rows[i].events);
		bed_close(&b);
	}
}

/* A record that goes away only costs its events. */
static void arm_word_is_gone(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	fake_fault(b.w, b.pair.a.send_cq.db_va, 8);
	look(&b);
	look(&b);
	assert_int_equal(b.w->event_count, 0);
	assert_int_equal(nic_counters(b.w->nics[0])->db_fault, 2);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(create_and_destroy),
	    cmocka_unit_test(busy_while_used),
	    cmocka_unit_test(table_runs_full),
	    cmocka_unit_test(owner_bit_over_many_laps),
	    cmocka_unit_test(consumer_index_wraps),
	    cmocka_unit_test(wide_entries),
	    cmocka_unit_test(padded_entries),
	    cmocka_unit_test(resize_keeps_entries),
	    cmocka_unit_test(resize_refused),
	    cmocka_unit_test(overrun),
	    cmocka_unit_test(consumer_index_makes_room),
	    cmocka_unit_test(overrun_ignored),
	    cmocka_unit_test(ring_is_gone),
	    cmocka_unit_test(no_event_is_lost),
	    cmocka_unit_test(one_event_per_arm),
	    cmocka_unit_test(no_second_event_for_a_completion),
	    cmocka_unit_test(first_arm_is_seen),
	    cmocka_unit_test(solicited_only),
	    cmocka_unit_test(arm_word_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
