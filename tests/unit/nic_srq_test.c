/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what shared receive queues do, with lists that are right, bent and hostile.
 * How: two NICs of tests/support/fake_nic.h; queue pairs on NIC 1 share a queue of fake_srq.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/errno.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/fake_srq.h"
#include "tests/support/nic_bed.h"

enum { COUNT = 8, SLOT = 4096 };

/* A world in which NIC 1 has an SRQ, two regions, and as many pairs as a test connects. */
struct shared {
	struct bed b; /* its pair is the first that uses the queue */
	struct fake_srq srq;
};

static struct shared shared_open(const struct fake_opts *opts)
{
	struct fake_opts o = opts ? *opts : (struct fake_opts){0};
	struct shared s = {.b.w = fake_world_new(NULL)};

	fake_srq_make(s.b.w, 1, COUNT, 0, NULL, &s.srq);
	o.srqn = s.srq.srqn;
	fake_pair_connect(s.b.w, &s.b.pair, &o);
	s.b.src = fake_region(s.b.w, 0, 1 << 20, BED_LOCAL);
	s.b.dst = fake_region(s.b.w, 1, 1 << 20, BED_ALL);
	for (uint32_t i = 0; i < 1 << 20; i++)
		bed_src(&s.b)[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	return s;
}

static void shared_close(struct shared *s)
{
	bed_close(&s->b);
}

static struct fake_piece slot(const struct shared *s, uint32_t i, uint32_t len)
{
	return (struct fake_piece){s->b.dst.va + (uint64_t)i * SLOT, len, s->b.dst.key};
}

static void post(struct shared *s, struct fake_qp *qp, enum wqe_opcode opcode, uint32_t len)
{
	struct fake_wr wr = bed_wr(&s->b, opcode, len);

	fake_post(qp, &wr);
	fake_ring(qp);
}

static void send(struct shared *s, uint32_t len)
{
	post(s, &s->b.pair.a, WQE_OP_SEND, len);
	fake_settle(s->b.w);
}

static uint32_t limit_of(struct shared *s)
{
	uint32_t limit;

	assert_int_equal(nic_srq_query(s->b.w->nics[1], s->srq.srqn, &limit), 0);
	return limit;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void refused_attributes(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic *nic = w->nics[1];
	struct fake_cq cq;
	struct nic_srq_attr good = {.pdn = w->sides[1].pdn,
				    .buf_va = FAKE_BASE_VA,
				    .db_va = FAKE_BASE_VA,
				    .wqe_count = 32768,
				    .wqe_size_log2 = 5};
	uint32_t srqn, xrcdn;

	(void)state;
	fake_cq_make(w, 1, 4, &cq);
	assert_int_equal(nic_xrcd_create(nic, &xrcdn), 0);
	for (int i = 0; i < 10; i++) {
		struct nic_srq_attr attr = good;

		if (i == 0)
			attr.pdn = 0;
		else if (i == 1)
			attr.db_va = FAKE_BASE_VA + 4;
		else if (i == 2)
			attr.wqe_count = 0;
		else if (i == 3)
			attr.wqe_count = 24;
		else if (i == 4)
			attr.wqe_count = 65536;
		else if (i == 5)
			attr.wqe_size_log2 = 4;
		else if (i == 6)
			attr.wqe_size_log2 = 11;
		else if (i == 7)
			attr.cqn = cq.cqn; /* and no domain */
		else if (i == 8)
			attr.xrcdn = xrcdn; /* and no completion queue */
		else
			attr.xrcdn = xrcdn + 1, attr.cqn = cq.cqn;
		assert_int_equal(nic_srq_create(nic, &attr, &srqn), -EINVAL);
	}
	assert_int_equal(nic_srq_create(nic, &good, &srqn), 0);
	assert_int_equal(nic_srq_destroy(nic, srqn + 1), -EINVAL);
	assert_int_equal(nic_srq_arm(nic, srqn + 1, 0), -EINVAL);
	assert_int_equal(nic_srq_arm(nic, srqn, 32769), -EINVAL);
	assert_int_equal(nic_srq_destroy(nic, srqn), 0);
	assert_int_equal(nic_srq_destroy(nic, srqn), -EINVAL);
	nic_check(nic);
	fake_world_free(w);
}

/* Numbers run out, and come back; basic and XRC queues have the same. */
static void one_number_space(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct fake_srq srqs[64];
	struct fake_cq cq;
	struct nic_srq_attr attr;
	uint32_t xrcdn, srqn;

	(void)state;
	fake_cq_make(w, 1, 4, &cq);
	assert_int_equal(nic_xrcd_create(w->nics[1], &xrcdn), 0);
	for (uint32_t i = 0; i < 64; i++) {
		fake_srq_make(w, 1, 2, i % 2 ? xrcdn : 0, i % 2 ? &cq : NULL, &srqs[i]);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(srqs[i].srqn, srqs[k].srqn);
	}
	attr = (struct nic_srq_attr){.pdn = w->sides[1].pdn, .wqe_count = 2, .wqe_size_log2 = 5};
	assert_int_equal(nic_srq_create(w->nics[1], &attr, &srqn), -ENOMEM);
	assert_int_equal(nic_srq_destroy(w->nics[1], srqs[5].srqn), 0);
	assert_int_equal(nic_srq_create(w->nics[1], &attr, &srqn), 0);
	assert_int_equal(srqn, srqs[5].srqn);
	nic_check(w->nics[1]);
	fake_world_free(w);
}

static void busy_while_used(void **state)
{
	struct shared s = shared_open(NULL);
	struct nic *nic = s.b.w->nics[1];

	(void)state;
	assert_int_equal(nic_srq_destroy(nic, s.srq.srqn), -EBUSY);
	assert_int_equal(nic_qp_destroy(nic, s.b.pair.b.qpn), 0);
	assert_int_equal(nic_pd_destroy(nic, s.b.w->sides[1].pdn), -EBUSY);
	assert_int_equal(nic_srq_destroy(nic, s.srq.srqn), 0);
	nic_check(nic);
	shared_close(&s);
}

/* A queue pair has a ring of its own or an SRQ, and that is a basic one. */
static void queue_pair_with_the_wrong_queue(void **state)
{
	struct shared s = shared_open(NULL);
	struct nic *nic = s.b.w->nics[1];
	struct nic_qp_attr attr = {.type = NIC_QP_RC,
				   .pdn = s.b.w->sides[1].pdn,
				   .cqn_send = s.b.pair.b.send_cq.cqn,
				   .cqn_recv = s.b.pair.b.recv_cq.cqn,
				   .srqn = s.srq.srqn,
				   .rq_wqe_count = 4,
				   .rq_wqe_size_log2 = 4};
	struct fake_srq xrc;
	uint32_t xrcdn, qpn;

	(void)state;
	assert_int_equal(nic_xrcd_create(nic, &xrcdn), 0);
	fake_srq_make(s.b.w, 1, 4, xrcdn, &s.b.pair.b.recv_cq, &xrc);
	assert_int_equal(nic_qp_create(nic, &attr, &qpn), -EINVAL);
	attr.rq_wqe_count = 0;
	attr.srqn = xrc.srqn;
	assert_int_equal(nic_qp_create(nic, &attr, &qpn), -EINVAL);
	attr.srqn = 63;
	assert_int_equal(nic_qp_create(nic, &attr, &qpn), -EINVAL);
	attr.srqn = s.srq.srqn;
	attr.xrcdn = xrcdn;
	assert_int_equal(nic_qp_create(nic, &attr, &qpn), -EINVAL);
	attr.xrcdn = 0;
	assert_int_equal(nic_qp_create(nic, &attr, &qpn), 0);
	nic_check(nic);
	shared_close(&s);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Entries are taken along the list, from 0 on, and a completion has the index of its own. */
static void entries_follow_the_list(void **state)
{
	static const uint16_t order[COUNT] = {0, 5, 2, 7, 1, 6, 3, 4};
	struct shared s = shared_open(NULL);

	(void)state;
	for (int i = 0; i < COUNT; i++)
		fake_srq_link(&s.srq, order[i], order[(i + 1) % COUNT]);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(fake_srq_post(&s.srq, slot(&s, order[i], 64)), order[i]);
	for (uint32_t i = 0; i < COUNT; i++) {
		send(&s, 10 + i);
		expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, order[i], 10 + i);
		assert_memory_equal(bed_dst(&s.b) + order[i] * SLOT, bed_src(&s.b), 10 + i);
		assert_int_equal(bed_dst(&s.b)[order[i] * SLOT + 10 + i], 0);
	}
	shared_close(&s);
}

/* Round and round, more often than a 16-bit count goes; entries come back as they are freed. */
static void counts_wrap(void **state)
{
	struct shared s = shared_open(NULL);

	(void)state;
	for (uint32_t i = 0; i < 70000; i++) {
		struct fake_cqe cqe;

		fake_srq_post(&s.srq, slot(&s, i % COUNT, 8));
		post(&s, &s.b.pair.a, WQE_OP_SEND, 4);
		while (s.b.w->queue_count)
			fake_deliver(s.b.w, 0);
		assert_int_equal(fake_poll(&s.b.pair.b.recv_cq, &cqe), 1);
		assert_int_equal(cqe.opcode, CQE_RESP_SEND);
		assert_int_equal(cqe.wqe_counter, i % COUNT);
		assert_int_equal(fake_poll(&s.b.pair.a.send_cq, &cqe), 1);
	}
	shared_close(&s);
}

/* Empty: RNR, and what is posted meanwhile is taken by the retry. */
static void empty_queue_is_not_ready(void **state)
{
	struct shared s = shared_open(NULL);

	(void)state;
	post(&s, &s.b.pair.a, WQE_OP_SEND, 8);
	fake_deliver(s.b.w, 0);
	expect_answer(&s.b, 0x20 | 12, 0x100);
	fake_settle(s.b.w);
	expect_none(&s.b.pair.a.send_cq);
	fake_srq_post(&s.srq, slot(&s, 0, 64));
	fake_advance(s.b.w, 640000);
	fake_settle(s.b.w);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
	expect_done(&s.b.pair.a.send_cq, CQE_REQ, 0, 8);
	shared_close(&s);
}

/* Of a WRITE with immediate data the last packet takes an entry; a plain one takes none. */
static void write_with_immediate_takes_an_entry(void **state)
{
	struct shared s = shared_open(NULL);

	(void)state;
	fake_srq_link(&s.srq, 0, 4);
	fake_srq_post(&s.srq, slot(&s, 9, 64));
	fake_srq_post(&s.srq, slot(&s, 10, 64));
	post(&s, &s.b.pair.a, WQE_OP_WRITE, 3000);
	post(&s, &s.b.pair.a, WQE_OP_WRITE_IMM, 3000);
	post(&s, &s.b.pair.a, WQE_OP_WRITE_IMM, 0);
	fake_settle(s.b.w);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_WR_IMM, 0, 3000);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_WR_IMM, 4, 0);
	expect_none(&s.b.pair.b.recv_cq);
	shared_close(&s);
}

/* A duplicate takes nothing, nor does a packet out of turn. */
static void only_a_message_in_turn_takes_an_entry(void **state)
{
	struct shared s = shared_open(NULL);

	(void)state;
	fake_srq_post(&s.srq, slot(&s, 0, 64));
	fake_srq_post(&s.srq, slot(&s, 1, 64));
	post(&s, &s.b.pair.a, WQE_OP_SEND, 8);
	fake_deliver_copy(s.b.w, 0);
	fake_deliver(s.b.w, 0);
	post(&s, &s.b.pair.a, WQE_OP_SEND, 9);
	post(&s, &s.b.pair.a, WQE_OP_SEND, 10);
	fake_deliver(s.b.w, s.b.w->queue_count - 1);
	fake_settle(s.b.w);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 1, 9);
	expect_none(&s.b.pair.b.recv_cq);
	shared_close(&s);
}

/* ---- several queue pairs ----------------------------------------------------------------------
 */

/* Two long messages come in packet by packet, in turn: each goes on in the entry that it took. */
static void messages_of_two_queue_pairs_interleave(void **state)
{
	struct shared s = shared_open(NULL);
	struct fake_opts o = {.srqn = s.srq.srqn};
	struct fake_pair other;

	(void)state;
	fake_pair_connect(s.b.w, &other, &o);
	fake_srq_post(&s.srq, slot(&s, 0, 4000));
	fake_srq_post(&s.srq, slot(&s, 1, 4000));
	post(&s, &s.b.pair.a, WQE_OP_SEND, 3000);
	post(&s, &other.a, WQE_OP_SEND, 2500);
	assert_int_equal(s.b.w->queue_count, 6);
	fake_deliver(s.b.w, 3); /* the other's first comes first */
	fake_deliver(s.b.w, 0);
	fake_deliver(s.b.w, 2);
	fake_deliver(s.b.w, 0);
	fake_settle(s.b.w);
	expect_done(&other.b.recv_cq, CQE_RESP_SEND, 0, 2500);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 1, 3000);
	assert_memory_equal(bed_dst(&s.b), bed_src(&s.b), 2500);
	assert_memory_equal(bed_dst(&s.b) + SLOT, bed_src(&s.b), 3000);
	assert_int_equal(bed_dst(&s.b)[2500], 0);
	assert_int_equal(bed_dst(&s.b)[SLOT + 3000], 0);
	shared_close(&s);
}

/* Keys of receives are looked for in the SRQ's domain, keys of requests in the queue pair's. */
static void domains(void **state)
{
	struct shared s = shared_open(NULL);
	struct fake_world *w = s.b.w;
	uint32_t own = w->sides[1].pdn;
	struct fake_pair pair;
	struct fake_region theirs;
	struct fake_wr wr;

	(void)state;
	assert_int_equal(nic_pd_create(w->nics[1], &w->sides[1].pdn), 0);
	fake_pair_connect(w, &pair, &(struct fake_opts){.srqn = s.srq.srqn});
	theirs = fake_region(w, 1, 4096, BED_ALL);
	w->sides[1].pdn = own;
	fake_srq_post(&s.srq, slot(&s, 0, 64));
	post(&s, &pair.a, WQE_OP_SEND, 8);
	fake_settle(w);
	expect_done(&pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
	wr = bed_wr(&s.b, WQE_OP_WRITE, 8);
	wr.remote_va = theirs.va;
	wr.rkey = theirs.key;
	fake_post(&pair.a, &wr);
	fake_ring(&pair.a);
	fake_settle(w);
	expect_done(&pair.a.send_cq, CQE_REQ, 0, 8);
	expect_done(&pair.a.send_cq, CQE_REQ, 1, 8);
	/* The other way round: both are refused. */
	fake_srq_post(&s.srq, (struct fake_piece){theirs.va, 64, theirs.key});
	post(&s, &pair.a, WQE_OP_SEND, 8);
	fake_settle(w);
	expect_error(&pair.b.recv_cq, CQE_RESP_ERR, 1, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	shared_close(&s);
}

/* ---- the limit ------------------------------------------------------------------------------- */

/* Told once, when fewer than the limit are left; then it is not armed any more. */
static void limit_is_told_once(void **state)
{
	struct shared s = shared_open(NULL);
	struct nic *nic = s.b.w->nics[1];

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		fake_srq_post(&s.srq, slot(&s, i, 64));
	assert_int_equal(nic_srq_arm(nic, s.srq.srqn, 4), 0);
	send(&s, 8);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_LIMIT), 0);
	assert_int_equal(limit_of(&s), 4);
	send(&s, 8);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_LIMIT), 1);
	assert_int_equal(limit_of(&s), 0);
	send(&s, 8);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_LIMIT), 1);
	assert_int_equal(s.b.w->events[s.b.w->event_count - 1].cookie, 0x5e1f);
	assert_int_equal(s.b.w->events[s.b.w->event_count - 1].number, s.srq.srqn);
	shared_close(&s);
}

/* What was posted since the record was last read counts. Arming below the limit tells at once. */
static void limit_sees_what_is_posted(void **state)
{
	struct shared s = shared_open(NULL);
	struct nic *nic = s.b.w->nics[1];

	(void)state;
	fake_srq_post(&s.srq, slot(&s, 0, 64));
	fake_srq_post(&s.srq, slot(&s, 1, 64));
	assert_int_equal(nic_srq_arm(nic, s.srq.srqn, 2), 0);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_LIMIT), 0);
	fake_srq_post(&s.srq, slot(&s, 2, 64));
	send(&s, 8);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_LIMIT), 0);
	assert_int_equal(nic_srq_arm(nic, s.srq.srqn, 0), 0);
	send(&s, 8);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_LIMIT), 0);
	assert_int_equal(nic_srq_arm(nic, s.srq.srqn, 2), 0);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_LIMIT), 1);
	assert_int_equal(limit_of(&s), 0);
	shared_close(&s);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/*
 * A queue that makes no sense: one event, its queue pairs go to error when they need an entry, and
 * those that do not are left alone.
 */
static void broken_queue(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct shared s = shared_open(NULL);
		struct fake_pair other;

		print_message("row %d\n", i);
		fake_pair_connect(s.b.w, &other, &(struct fake_opts){.srqn = s.srq.srqn});
		fake_srq_link(&s.srq, 0, i == 0 ? COUNT : i == 1 ? 0xffff : 1);
		fake_srq_post(&s.srq, slot(&s, 0, 64));
		send(&s, 8);
		expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
		expect_done(&s.b.pair.a.send_cq, CQE_REQ, 0, 8);
		if (i < 2)
			fake_srq_count(&s.srq, 2);
		else if (i == 2)
			fake_srq_count(&s.srq, COUNT + 2);
		else if (i == 3)
			fake_fault(s.b.w, s.srq.db_va, 4);
		else {
			fake_srq_post(&s.srq, slot(&s, 1, 64));
			fake_fault(s.b.w, s.srq.buf_va + 64, 64);
		}
		assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_ERROR), 0);
		send(&s, 8);
		assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_ERROR), 1);
		assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_QP_FATAL), 1);
		expect_error(&s.b.pair.a.send_cq, CQE_REQ_ERR, 1, CQE_SYND_REMOTE_OP, 0);
		expect_none(&s.b.pair.b.recv_cq);
		post(&s, &other.a, WQE_OP_WRITE, 8);
		fake_settle(s.b.w);
		expect_done(&other.a.send_cq, CQE_REQ, 0, 8);
		assert_int_equal(fake_qp_state(&other.b), NIC_QP_RTS);
		fake_fault_none(s.b.w);
		post(&s, &other.a, WQE_OP_SEND, 8);
		fake_settle(s.b.w);
		assert_int_equal(fake_qp_state(&other.b), NIC_QP_ERR);
		assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_ERROR), 1);
		shared_close(&s);
	}
}

/* An entry that names itself gives as many receives as were posted, and no more. */
static void self_loop_is_bounded(void **state)
{
	struct shared s = shared_open(&(struct fake_opts){.rnr_retry = UINT32_MAX});

	(void)state;
	fake_srq_link(&s.srq, 0, 0);
	fake_srq_post(&s.srq, slot(&s, 0, 64));
	fake_srq_count(&s.srq, 3);
	for (int i = 0; i < 3; i++) {
		send(&s, 8);
		expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
		expect_done(&s.b.pair.a.send_cq, CQE_REQ, (uint16_t)i, 8);
	}
	send(&s, 8);
	expect_error(&s.b.pair.a.send_cq, CQE_REQ_ERR, 3, CQE_SYND_RNR_RETRY_EXC,
		     CQE_VENDOR_RNR_RETRY_EXC);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_SRQ_ERROR), 0);
	shared_close(&s);
}

/* ---- the error state of a queue pair --------------------------------------------------------- */

/* Nothing is given back: the entry of a message that is half in is flushed, the others stay for
 * others; then comes the last event. */
static void error_state_flushes_what_is_held(void **state)
{
	struct shared s = shared_open(NULL);
	struct fake_pair other;

	(void)state;
	fake_pair_connect(s.b.w, &other, &(struct fake_opts){.srqn = s.srq.srqn});
	fake_srq_post(&s.srq, slot(&s, 0, 4000));
	fake_srq_post(&s.srq, slot(&s, 1, 4000));
	post(&s, &s.b.pair.a, WQE_OP_SEND, 3000);
	fake_deliver(s.b.w, 0);
	assert_int_equal(fake_qp_set_state(&s.b.pair.b, NIC_QP_ERR), 0);
	fake_run(s.b.w, 1);
	expect_error(&s.b.pair.b.recv_cq, CQE_RESP_ERR, 0, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	expect_none(&s.b.pair.b.recv_cq);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_QP_LAST_WQE), 1);
	while (s.b.w->queue_count)
		fake_drop(s.b.w, 0);
	post(&s, &other.a, WQE_OP_SEND, 8);
	fake_settle(s.b.w);
	expect_done(&other.b.recv_cq, CQE_RESP_SEND, 1, 8);
	shared_close(&s);
}

/* Once for each time that it gets there, from whichever state, and never without an SRQ. */
static void last_wqe_event(void **state)
{
	struct shared s = shared_open(NULL);
	struct fake_qp qp;

	(void)state;
	assert_int_equal(fake_qp_set_state(&s.b.pair.b, NIC_QP_ERR), 0);
	assert_int_equal(fake_qp_set_state(&s.b.pair.b, NIC_QP_ERR), 0);
	fake_run(s.b.w, 1);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_QP_LAST_WQE), 1);
	assert_int_equal(fake_qp_set_state(&s.b.pair.b, NIC_QP_RESET), 0);
	assert_int_equal(fake_qp_set_state(&s.b.pair.b, NIC_QP_ERR), 0);
	fake_run(s.b.w, 1);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_QP_LAST_WQE), 2);
	assert_int_equal(fake_qp_set_state(&s.b.pair.a, NIC_QP_ERR), 0);
	fake_qp_make(s.b.w, 0, NULL, &qp);
	assert_int_equal(fake_qp_set_state(&qp, NIC_QP_ERR), 0);
	fake_run(s.b.w, 0);
	assert_int_equal(fake_events(s.b.w, 0, NIC_EVENT_QP_LAST_WQE), 0);
	shared_close(&s);
}

/* Reset and destroy in the middle of a message: the entry is gone, the queue goes on. */
static void reset_drops_what_is_held(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct shared s = shared_open(NULL);
		struct fake_pair other;

		fake_pair_connect(s.b.w, &other, &(struct fake_opts){.srqn = s.srq.srqn});
		fake_srq_post(&s.srq, slot(&s, 0, 4000));
		fake_srq_post(&s.srq, slot(&s, 1, 4000));
		post(&s, &s.b.pair.a, WQE_OP_SEND, 3000);
		fake_deliver(s.b.w, 0);
		if (i == 0)
			assert_int_equal(fake_qp_set_state(&s.b.pair.b, NIC_QP_RESET), 0);
		else
			assert_int_equal(nic_qp_destroy(s.b.w->nics[1], s.b.pair.b.qpn), 0);
		fake_settle(s.b.w);
		expect_none(&s.b.pair.b.recv_cq);
		post(&s, &other.a, WQE_OP_SEND, 8);
		fake_settle(s.b.w);
		expect_done(&other.b.recv_cq, CQE_RESP_SEND, 1, 8);
		shared_close(&s);
	}
}

/* A message that is too long fails the entry that it took. */
static void too_long_a_message(void **state)
{
	struct shared s = shared_open(NULL);

	(void)state;
	fake_srq_link(&s.srq, 0, 3);
	fake_srq_post(&s.srq, slot(&s, 0, 64));
	fake_srq_post(&s.srq, slot(&s, 1, 2000));
	send(&s, 64);
	send(&s, 2001);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 64);
	expect_error(&s.b.pair.b.recv_cq, CQE_RESP_ERR, 3, CQE_SYND_LOCAL_LENGTH, 0);
	expect_none(&s.b.pair.b.recv_cq);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_QP_LAST_WQE), 1);
	assert_int_equal(fake_events(s.b.w, 1, NIC_EVENT_QP_REQ_ERR), 1);
	shared_close(&s);
}

/* ---- UC and UD --------------------------------------------------------------------------------
 */

/* The last entry is as good as the others; a datagram that is too long takes none away. */
static void datagrams(void **state)
{
	struct shared s = shared_open(&(struct fake_opts){.type = NIC_QP_UD});
	struct fake_address to = fake_to(&s.b.pair.b);
	static const uint32_t lens[] = {100, 24, 100, 25};

	(void)state;
	fake_srq_link(&s.srq, 0, 5);
	fake_srq_post(&s.srq, slot(&s, 0, 140));
	fake_srq_post(&s.srq, slot(&s, 1, 64));
	for (int i = 0; i < 4; i++) {
		struct fake_wr wr = bed_wr(&s.b, WQE_OP_SEND, lens[i]);

		/* The third does not fit, and leaves its receive to the next. */
		if (i == 2)
			fake_srq_post(&s.srq, slot(&s, 2, 64));
		wr.to = &to;
		wr.pieces[0].len = i == 3 ? 24 : lens[i];
		fake_post(&s.b.pair.a, &wr);
		fake_ring(&s.b.pair.a);
		fake_settle(s.b.w);
	}
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 140);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 5, 64);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 6, 64);
	expect_none(&s.b.pair.b.recv_cq);
	assert_memory_equal(bed_dst(&s.b) + 2 * SLOT + 40, bed_src(&s.b), 24);
	assert_int_equal(nic_counters(s.b.w->nics[1])->rx_drop_message, 1);
	shared_close(&s);
}

/* Of a message that breaks off the next one gets the entry. */
static void unreliable_messages(void **state)
{
	struct shared s = shared_open(&(struct fake_opts){.type = NIC_QP_UC});

	(void)state;
	fake_srq_post(&s.srq, slot(&s, 0, 4000));
	post(&s, &s.b.pair.a, WQE_OP_SEND, 3000);
	fake_deliver(s.b.w, 0);
	fake_drop(s.b.w, 0);
	fake_deliver(s.b.w, 0);
	post(&s, &s.b.pair.a, WQE_OP_SEND, 2000);
	post(&s, &s.b.pair.a, WQE_OP_SEND, 10);
	fake_settle(s.b.w);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 2000);
	expect_none(&s.b.pair.b.recv_cq);
	fake_srq_post(&s.srq, slot(&s, 1, 64));
	post(&s, &s.b.pair.a, WQE_OP_WRITE_IMM, 10);
	fake_settle(s.b.w);
	expect_done(&s.b.pair.b.recv_cq, CQE_RESP_WR_IMM, 1, 10);
	shared_close(&s);
}

/* CQE version 0 finds the queue by its number in receive completions, and only there. */
static void completions_of_version_0(void **state)
{
	struct shared s = shared_open(NULL);
	struct fake_world *w = s.b.w;
	struct nic_qp_attr attr = {.type = NIC_QP_RC,
				   .pdn = w->sides[1].pdn,
				   .cqn_send = s.b.pair.b.send_cq.cqn,
				   .cqn_recv = s.b.pair.b.recv_cq.cqn,
				   .db_va = fake_alloc(w, 64),
				   .srqn = s.srq.srqn,
				   .cqe_srqn = true};
	struct fake_qp a, b = {.world = w, .nic = 1};
	struct fake_cqe cqe;

	(void)state;
	fake_srq_post(&s.srq, slot(&s, 0, 64));
	fake_qp_make(w, 0, NULL, &a);
	assert_int_equal(nic_qp_create(w->nics[1], &attr, &b.qpn), 0);
	fake_qp_ready(&a, b.qpn, false, NULL);
	fake_qp_ready(&b, a.qpn, true, NULL);
	post(&s, &a, WQE_OP_SEND, 8);
	fake_settle(w);
	assert_int_equal(fake_poll(&s.b.pair.b.recv_cq, &cqe), 1);
	assert_int_equal(cqe.user_index, s.srq.srqn);
	assert_int_equal(cqe.qpn, b.qpn);
	shared_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(refused_attributes),
	    cmocka_unit_test(one_number_space),
	    cmocka_unit_test(busy_while_used),
	    cmocka_unit_test(queue_pair_with_the_wrong_queue),
	    cmocka_unit_test(entries_follow_the_list),
	    cmocka_unit_test(counts_wrap),
	    cmocka_unit_test(empty_queue_is_not_ready),
	    cmocka_unit_test(write_with_immediate_takes_an_entry),
	    cmocka_unit_test(only_a_message_in_turn_takes_an_entry),
	    cmocka_unit_test(messages_of_two_queue_pairs_interleave),
	    cmocka_unit_test(domains),
	    cmocka_unit_test(limit_is_told_once),
	    cmocka_unit_test(limit_sees_what_is_posted),
	    cmocka_unit_test(broken_queue),
	    cmocka_unit_test(self_loop_is_bounded),
	    cmocka_unit_test(error_state_flushes_what_is_held),
	    cmocka_unit_test(last_wqe_event),
	    cmocka_unit_test(reset_drops_what_is_held),
	    cmocka_unit_test(too_long_a_message),
	    cmocka_unit_test(datagrams),
	    cmocka_unit_test(unreliable_messages),
	    cmocka_unit_test(completions_of_version_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
