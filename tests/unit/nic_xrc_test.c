/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what XRC initiators send and what XRC targets do with it, right requests and wrong ones.
 * How: two NICs of tests/support/fake_nic.h, the initiator on NIC 0 and the target on NIC 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/errno.h>
#include <string.h>

#include "base/be.h"
#include "nic/nic_priv.h"
#include "tests/support/fake_srq.h"
#include "tests/support/nic_bed.h"

struct xrc {
	struct bed b;
	struct fake_xrc x;
};

static struct xrc xrc_open(const struct fake_opts *opts)
{
	struct xrc t = {.b.w = fake_world_new(NULL)};

	fake_xrc_connect(t.b.w, &t.x, opts);
	t.b.pair = t.x.pair;
	t.b.src = fake_region(t.b.w, 0, 1 << 20, BED_LOCAL);
	t.b.dst = fake_region(t.b.w, 1, 1 << 20, BED_ALL);
	for (uint32_t i = 0; i < 1 << 20; i++)
		bed_src(&t.b)[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	return t;
}

static void xrc_close(struct xrc *t)
{
	bed_close(&t->b);
}

static void post_to(struct xrc *t, uint32_t srqn, enum wqe_opcode opcode, uint32_t len)
{
	struct fake_wr wr = bed_wr(&t->b, opcode, len);

	wr.srqn = srqn;
	wr.imm = 0x1234;
	wr.swap_add = 5;
	fake_post(&t->b.pair.a, &wr);
	fake_ring(&t->b.pair.a);
}

static void post(struct xrc *t, enum wqe_opcode opcode, uint32_t len)
{
	post_to(t, t->x.srq.srqn, opcode, len);
}

static uint16_t receive(struct xrc *t, struct fake_srq *srq, uint64_t off, uint32_t len)
{
	return fake_srq_post(srq, (struct fake_piece){t->b.dst.va + off, len, t->b.dst.key});
}

/* ---- what works ------------------------------------------------------------------------------ */

/* Every operation, with its bytes; requests name the SRQ, answers do not. */
static void every_operation(void **state)
{
	static const struct {
		enum wqe_opcode opcode;
		uint32_t len;
		uint8_t first;
		uint8_t cqe; /* at the SRQ's queue; 0: none */
	} rows[] = {
	    {WQE_OP_SEND, 0, ROCE_OP_XRC_SEND_ONLY, CQE_RESP_SEND},
	    {WQE_OP_SEND, 3000, ROCE_OP_XRC_SEND_FIRST, CQE_RESP_SEND},
	    {WQE_OP_SEND_IMM, 1025, ROCE_OP_XRC_SEND_FIRST, CQE_RESP_SEND_IMM},
	    {WQE_OP_WRITE, 3000, ROCE_OP_XRC_WRITE_FIRST, 0},
	    {WQE_OP_WRITE_IMM, 7, ROCE_OP_XRC_WRITE_ONLY_IMM, CQE_RESP_WR_IMM},
	    {WQE_OP_READ, 3000, ROCE_OP_XRC_READ_REQ, 0},
	    {WQE_OP_ATOMIC_FA, 8, ROCE_OP_XRC_FETCH_ADD, 0},
	    {WQE_OP_ATOMIC_CS, 8, ROCE_OP_XRC_CMP_SWAP, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct xrc t = xrc_open(NULL);
		bool reads = rows[i].opcode == WQE_OP_READ;
		bool atomic = rows[i].len == 8;
		struct fake_cqe cqe;

		print_message("row %zu\n", i);
		receive(&t, &t.x.srq, 0, 4000);
		if (reads)
			memset(bed_dst(&t.b), 0x5a, 3000);
		post(&t, rows[i].opcode, rows[i].len);
		assert_int_equal(fake_pkt(t.b.w, 0).opcode, rows[i].first);
		for (size_t k = 0; k < t.b.w->queue_count; k++) {
			assert_int_equal(fake_pkt(t.b.w, k).srqn, t.x.srq.srqn);
			assert_int_equal(fake_pkt(t.b.w, k).opcode & ROCE_TRANSPORT_MASK, 0xa0);
		}
		fake_settle(t.b.w);
		expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, rows[i].len);
		assert_int_equal(fake_poll(&t.x.cq, &cqe), rows[i].cqe != 0);
		if (rows[i].cqe) {
			assert_int_equal(cqe.opcode, rows[i].cqe);
			assert_int_equal(cqe.byte_cnt, rows[i].len);
			assert_int_equal(cqe.user_index, FAKE_SRQ_USER_INDEX);
			assert_int_equal(cqe.qpn, t.b.pair.b.qpn);
			assert_int_equal(cqe.wqe_counter, 0);
		}
		if (reads)
			for (int k = 0; k < 3000; k++)
				assert_int_equal(bed_src(&t.b)[k], 0x5a);
		else if (!atomic)
			assert_memory_equal(bed_dst(&t.b), bed_src(&t.b), rows[i].len);
		xrc_close(&t);
	}
}

/* Fetch and add changes the value by what the entry says, from behind the XRC segment. */
static void atomic_values(void **state)
{
	struct xrc t = xrc_open(NULL);
	uint64_t value = 40, got;

	(void)state;
	memcpy(bed_dst(&t.b), &value, sizeof(value));
	post(&t, WQE_OP_ATOMIC_FA, 8);
	fake_settle(t.b.w);
	memcpy(&got, bed_dst(&t.b), sizeof(got));
	assert_int_equal(got, 45);
	memcpy(&got, bed_src(&t.b), sizeof(got));
	assert_int_equal(got, 40);
	/* A duplicate of it gets the old value again, and changes nothing. */
	post(&t, WQE_OP_ATOMIC_FA, 8);
	fake_deliver_copy(t.b.w, 0);
	fake_settle(t.b.w);
	memcpy(&got, bed_dst(&t.b), sizeof(got));
	assert_int_equal(got, 50);
	xrc_close(&t);
}

/* Two queues of the domain, by turns, on one queue pair: each completes on its own. */
static void requests_choose_their_queue(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct fake_srq second;
	struct fake_cq cq;

	(void)state;
	fake_cq_make(t.b.w, 1, 8, &cq);
	fake_srq_make(t.b.w, 1, 8, t.x.xrcdn, &cq, &second);
	for (int i = 0; i < 3; i++) {
		receive(&t, &t.x.srq, 0, 64);
		receive(&t, &second, 4096, 2000);
		post_to(&t, second.srqn, WQE_OP_SEND, 1500);
		post(&t, WQE_OP_SEND, 9);
	}
	fake_settle(t.b.w);
	for (uint16_t i = 0; i < 3; i++) {
		expect_done(&t.x.cq, CQE_RESP_SEND, i, 9);
		expect_done(&cq, CQE_RESP_SEND, i, 1500);
	}
	assert_memory_equal(bed_dst(&t.b) + 4096, bed_src(&t.b), 1500);
	xrc_close(&t);
}

/* Two initiators, each with a target of its own, share one queue of the domain. */
static void targets_share_a_queue(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct fake_opts o = {.xrcdn = t.x.xrcdn};
	struct fake_pair first = t.b.pair;
	struct fake_pair other;
	struct fake_cqe cqe;

	(void)state;
	o.type = NIC_QP_XRC_INI;
	fake_qp_make(t.b.w, 0, &o, &other.a);
	o.type = NIC_QP_XRC_TGT;
	fake_qp_make(t.b.w, 1, &o, &other.b);
	fake_qp_ready(&other.a, other.b.qpn, false, &o);
	fake_qp_ready(&other.b, other.a.qpn, true, &o);
	receive(&t, &t.x.srq, 0, 4000);
	receive(&t, &t.x.srq, 4096, 4000);
	post(&t, WQE_OP_SEND, 2000);
	t.b.pair = other;
	post(&t, WQE_OP_SEND, 2001);
	fake_deliver(t.b.w, 2);
	fake_settle(t.b.w);
	assert_int_equal(fake_poll(&t.x.cq, &cqe), 1);
	assert_int_equal(cqe.qpn, first.b.qpn);
	assert_int_equal(cqe.wqe_counter, 1);
	assert_int_equal(fake_poll(&t.x.cq, &cqe), 1);
	assert_int_equal(cqe.qpn, other.b.qpn);
	assert_int_equal(cqe.wqe_counter, 0);
	assert_memory_equal(bed_dst(&t.b), bed_src(&t.b), 2001);
	assert_memory_equal(bed_dst(&t.b) + 4096, bed_src(&t.b), 2000);
	xrc_close(&t);
}

/* A READ is answered from the domain of the queue that it named, whatever comes meanwhile. */
static void domain_of_each_request(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct fake_world *w = t.b.w;
	struct fake_srq theirs;
	struct fake_region region;
	struct fake_wr wr;
	uint32_t own = w->sides[1].pdn;

	(void)state;
	assert_int_equal(nic_pd_create(w->nics[1], &w->sides[1].pdn), 0);
	fake_srq_make(w, 1, 4, t.x.xrcdn, &t.x.cq, &theirs);
	region = fake_region(w, 1, 8192, BED_ALL);
	w->sides[1].pdn = own;
	memset(fake_mem(w, region.va), 0x77, 3000);
	wr = bed_wr(&t.b, WQE_OP_READ, 3000);
	wr.srqn = theirs.srqn;
	wr.remote_va = region.va;
	wr.rkey = region.key;
	fake_post(&t.b.pair.a, &wr);
	post(&t, WQE_OP_WRITE, 100);
	/* The answer waits for room until the WRITE to the other queue is done. */
	w->room = w->queue_count - 1;
	fake_deliver(w, 0);
	w->room = 0;
	fake_deliver(w, 0);
	w->room = SIZE_MAX;
	fake_run(w, 1);
	fake_settle(w);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 3000);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 1, 100);
	assert_int_equal(bed_src(&t.b)[2999], 0x77);
	/* The same region by the other queue is out of bounds. */
	wr.srqn = t.x.srq.srqn;
	fake_post(&t.b.pair.a, &wr);
	fake_ring(&t.b.pair.a);
	fake_settle(w);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 2, CQE_SYND_REMOTE_ACCESS,
		     CQE_VENDOR_REMOTE_ACCESS);
	xrc_close(&t);
}

static void not_ready_and_then_ready(void **state)
{
	struct xrc t = xrc_open(NULL);

	(void)state;
	post(&t, WQE_OP_SEND, 8);
	fake_deliver(t.b.w, 0);
	expect_packet(&t.b, ROCE_OP_XRC_ACK, 0x100);
	assert_int_equal(fake_pkt(t.b.w, 0).aeth.syndrome, 0x20 | 12);
	fake_settle(t.b.w);
	receive(&t, &t.x.srq, 0, 64);
	fake_advance(t.b.w, 640000);
	fake_settle(t.b.w);
	expect_done(&t.x.cq, CQE_RESP_SEND, 0, 8);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 8);
	xrc_close(&t);
}

/* Lost packets, both ways, are sent again as for RC. */
static void loss(void **state)
{
	struct xrc t = xrc_open(NULL);

	(void)state;
	receive(&t, &t.x.srq, 0, 4000);
	post(&t, WQE_OP_SEND, 3000);
	fake_drop(t.b.w, 1);
	fake_settle(t.b.w);
	expect_done(&t.x.cq, CQE_RESP_SEND, 0, 3000);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 3000);
	post(&t, WQE_OP_READ, 3000);
	fake_deliver(t.b.w, 0);
	fake_drop(t.b.w, 1);
	fake_settle(t.b.w);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 1, 3000);
	assert_memory_equal(bed_src(&t.b), bed_dst(&t.b), 3000);
	xrc_close(&t);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* No such queue, a basic one, one of another domain: NAK invalid request, whatever is asked. */
static void wrong_queue(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		struct xrc t = xrc_open(NULL);
		struct fake_srq srq;
		uint32_t srqn = i % 4 == 0 ? 63 : i % 4 == 1 ? 0xffffff : 0;
		uint32_t xrcdn = 0;

		if (i % 4 == 2)
			fake_srq_make(t.b.w, 1, 4, 0, NULL, &srq);
		if (i % 4 == 3) {
			assert_int_equal(nic_xrcd_create(t.b.w->nics[1], &xrcdn), 0);
			fake_srq_make(t.b.w, 1, 4, xrcdn, &t.x.cq, &srq);
		}
		if (i % 4 >= 2) {
			receive(&t, &srq, 0, 64);
			srqn = srq.srqn;
		}
		receive(&t, &t.x.srq, 0, 64);
		post_to(&t, srqn, i < 4 ? WQE_OP_SEND : WQE_OP_READ, 8);
		fake_settle(t.b.w);
		expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_REMOTE_INVAL_REQ,
			     CQE_VENDOR_REMOTE_INVAL_REQ);
		expect_none(&t.x.cq);
		assert_int_equal(fake_qp_state(&t.b.pair.b), NIC_QP_ERR);
		assert_int_equal(fake_events(t.b.w, 1, NIC_EVENT_QP_REQ_ERR), 1);
		assert_int_equal(fake_events(t.b.w, 1, NIC_EVENT_QP_LAST_WQE), 1);
		xrc_close(&t);
	}
}

static struct roce_pkt request(const struct xrc *t, uint8_t opcode, uint32_t psn, uint32_t srqn)
{
	static uint8_t bytes[1024];

	return (struct roce_pkt){.opcode = opcode,
				 .psn = psn,
				 .pkey = 0xffff,
				 .ack_req = true,
				 .dqpn = t->b.pair.b.qpn,
				 .srqn = srqn,
				 .payload = bytes,
				 .payload_bytes = 1024};
}

/* In the middle of a message another queue of the domain is named. */
static void message_changes_its_queue(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct fake_srq second;
	struct roce_pkt pkt;

	(void)state;
	fake_srq_make(t.b.w, 1, 8, t.x.xrcdn, &t.x.cq, &second);
	receive(&t, &t.x.srq, 0, 4000);
	receive(&t, &second, 0, 4000);
	pkt = request(&t, ROCE_OP_XRC_SEND_FIRST, 0x100, t.x.srq.srqn);
	fake_send(t.b.w, 1, &pkt);
	pkt = request(&t, ROCE_OP_XRC_SEND_MIDDLE, 0x101, second.srqn);
	fake_send(t.b.w, 1, &pkt);
	expect_packet(&t.b, ROCE_OP_XRC_ACK, 0x100);
	fake_drop(t.b.w, 0);
	expect_packet(&t.b, ROCE_OP_XRC_ACK, 0x101);
	assert_int_equal(fake_pkt(t.b.w, 0).aeth.syndrome, 0x61);
	expect_error(&t.x.cq, CQE_RESP_ERR, 0, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	expect_none(&t.x.cq);
	xrc_close(&t);
}

/* Duplicates and packets out of turn name what they like: the message goes on. */
static void only_what_is_in_turn_counts(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct roce_pkt pkt;

	(void)state;
	receive(&t, &t.x.srq, 0, 4000);
	pkt = request(&t, ROCE_OP_XRC_SEND_FIRST, 0x100, t.x.srq.srqn);
	fake_send(t.b.w, 1, &pkt);
	for (uint32_t psn = 0xff; psn <= 0x102; psn++) {
		pkt = request(&t, ROCE_OP_XRC_SEND_MIDDLE, psn, 63);
		if (psn != 0x101)
			fake_send(t.b.w, 1, &pkt);
	}
	assert_int_equal(fake_qp_state(&t.b.pair.b), NIC_QP_RTS);
	pkt = request(&t, ROCE_OP_XRC_SEND_LAST, 0x101, t.x.srq.srqn);
	fake_send(t.b.w, 1, &pkt);
	expect_done(&t.x.cq, CQE_RESP_SEND, 0, 2048);
	xrc_close(&t);
}

/* What is not for this half or this transport is dropped: requests to an initiator, answers to a
 * target, RC to either, and XRC to RC. */
static void dropped(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct fake_world *w = t.b.w;
	struct fake_pair rc;
	struct roce_pkt pkt;
	uint64_t before = nic_counters(w->nics[1])->rx_drop_qpn;

	(void)state;
	fake_pair_connect(w, &rc, NULL);
	receive(&t, &t.x.srq, 0, 4000);
	pkt = request(&t, ROCE_OP_RC_SEND_FIRST, 0x100, 0);
	fake_send(w, 1, &pkt);
	pkt = request(&t, ROCE_OP_XRC_ACK, 0x100, 0);
	pkt.payload_bytes = 0;
	fake_send(w, 1, &pkt);
	pkt = request(&t, ROCE_OP_XRC_SEND_FIRST, 0x100, t.x.srq.srqn);
	pkt.dqpn = rc.b.qpn;
	fake_send(w, 1, &pkt);
	assert_int_equal(nic_counters(w->nics[1])->rx_drop_qpn, before + 3);
	pkt.dqpn = t.b.pair.a.qpn;
	pkt.psn = 0x200;
	fake_send(w, 0, &pkt);
	assert_int_equal(nic_counters(w->nics[0])->rx_drop_qpn, 1);
	assert_int_equal(w->queue_count, 0);
	expect_none(&t.x.cq);
	xrc_close(&t);
}

/* An entry whose XRC segment is cut off. */
static void entry_without_its_segment(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct fake_wr wr = {.opcode = WQE_OP_SEND, .signal = true};
	uint64_t qpn_ds = t.b.pair.a.sq_va + 4;

	(void)state;
	fake_post(&t.b.pair.a, &wr);
	be32_store(fake_mem(t.b.w, qpn_ds), t.b.pair.a.qpn << 8 | 1);
	fake_ring(&t.b.pair.a);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_QP_OP, 0);
	xrc_close(&t);
}

static void attributes(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct nic *nic = t.b.w->nics[1];
	struct nic_qp_attr ini = {.type = NIC_QP_XRC_INI,
				  .pdn = t.b.w->sides[1].pdn,
				  .cqn_send = t.x.cq.cqn,
				  .sq_wqebb_count = 4};
	struct nic_qp_attr tgt = {.type = NIC_QP_XRC_TGT, .xrcdn = t.x.xrcdn};
	uint32_t qpn;

	(void)state;
	assert_int_equal(nic_qp_create(nic, &ini, &qpn), 0);
	assert_int_equal(nic_qp_create(nic, &tgt, &qpn), 0);
	for (int i = 0; i < 10; i++) {
		struct nic_qp_attr attr = i < 5 ? ini : tgt;

		if (i == 0)
			attr.xrcdn = t.x.xrcdn;
		else if (i == 1)
			attr.srqn = t.x.srq.srqn;
		else if (i == 2)
			attr.rq_wqe_count = 4, attr.rq_wqe_size_log2 = 4;
		else if (i == 3)
			attr.cqn_recv = t.x.cq.cqn;
		else if (i == 4)
			attr.cqn_send = 0;
		else if (i == 5)
			attr.xrcdn = 0;
		else if (i == 6)
			attr.sq_wqebb_count = 4;
		else if (i == 7)
			attr.pdn = t.b.w->sides[1].pdn;
		else if (i == 8)
			attr.cqn_send = t.x.cq.cqn;
		else
			attr.srqn = t.x.srq.srqn;
		print_message("row %d\n", i);
		assert_int_equal(nic_qp_create(nic, &attr, &qpn), -EINVAL);
	}
	nic_check(nic);
	xrc_close(&t);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void busy_domains(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct nic *nic = t.b.w->nics[1];

	(void)state;
	assert_int_equal(nic_xrcd_destroy(nic, t.x.xrcdn), -EBUSY);
	assert_int_equal(nic_cq_destroy(nic, t.x.cq.cqn), -EBUSY);
	assert_int_equal(nic_srq_destroy(nic, t.x.srq.srqn), 0);
	assert_int_equal(nic_cq_destroy(nic, t.x.cq.cqn), 0);
	assert_int_equal(nic_xrcd_destroy(nic, t.x.xrcdn), -EBUSY);
	assert_int_equal(nic_qp_destroy(nic, t.b.pair.b.qpn), 0);
	assert_int_equal(nic_xrcd_destroy(nic, t.x.xrcdn), 0);
	assert_int_equal(nic_xrcd_destroy(nic, t.x.xrcdn), -EINVAL);
	nic_check(nic);
	xrc_close(&t);
}

/* The queue goes in the middle of a message: the target holds nothing of it any more, and what
 * comes next is refused. Its row is given to another queue, which is not mistaken for it. */
static void queue_goes_under_a_message(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct nic *nic = t.b.w->nics[1];
	struct fake_cq cq;
	struct fake_srq next;

	(void)state;
	receive(&t, &t.x.srq, 0, 4000);
	post(&t, WQE_OP_SEND, 3000);
	fake_deliver(t.b.w, 0);
	assert_int_equal(nic_srq_destroy(nic, t.x.srq.srqn), 0);
	nic_check(nic);
	fake_cq_make(t.b.w, 1, 4, &cq);
	fake_srq_make(t.b.w, 1, 2, t.x.xrcdn, &cq, &next);
	assert_int_equal(next.srqn, t.x.srq.srqn);
	receive(&t, &next, 0, 4000);
	fake_settle(t.b.w);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_REMOTE_INVAL_REQ,
		     CQE_VENDOR_REMOTE_INVAL_REQ);
	expect_none(&t.x.cq);
	expect_none(&cq);
	xrc_close(&t);
}

/* The queue's completion queue overruns: it is of no use any more, nor is who completes to it. */
static void completion_queue_overruns(void **state)
{
	struct xrc t = xrc_open(NULL);
	struct fake_srq srq;
	struct fake_cq cq;

	(void)state;
	fake_cq_make(t.b.w, 1, 0, &cq);
	fake_srq_make(t.b.w, 1, 4, t.x.xrcdn, &cq, &srq);
	for (int i = 0; i < 2; i++) {
		receive(&t, &srq, 0, 64);
		post_to(&t, srq.srqn, WQE_OP_SEND, 8);
	}
	fake_settle(t.b.w);
	assert_int_equal(fake_events(t.b.w, 1, NIC_EVENT_CQ_ERROR), 1);
	assert_int_equal(fake_events(t.b.w, 1, NIC_EVENT_SRQ_ERROR), 1);
	assert_int_equal(fake_qp_state(&t.b.pair.b), NIC_QP_ERR);
	xrc_close(&t);
}

/* A scan looks at no record of a target, which has none. */
static void target_is_not_scanned(void **state)
{
	struct xrc t = xrc_open(NULL);

	(void)state;
	fake_fault(t.b.w, t.b.pair.b.db_va, 8);
	nic_scan(t.b.w->nics[1], t.b.w->now_ns);
	assert_int_equal(nic_counters(t.b.w->nics[1])->db_fault, 0);
	assert_int_equal(fake_qp_state(&t.b.pair.b), NIC_QP_RTS);
	xrc_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_operation),
	    cmocka_unit_test(atomic_values),
	    cmocka_unit_test(requests_choose_their_queue),
	    cmocka_unit_test(targets_share_a_queue),
	    cmocka_unit_test(domain_of_each_request),
	    cmocka_unit_test(not_ready_and_then_ready),
	    cmocka_unit_test(loss),
	    cmocka_unit_test(wrong_queue),
	    cmocka_unit_test(message_changes_its_queue),
	    cmocka_unit_test(only_what_is_in_turn_counts),
	    cmocka_unit_test(dropped),
	    cmocka_unit_test(entry_without_its_segment),
	    cmocka_unit_test(attributes),
	    cmocka_unit_test(busy_domains),
	    cmocka_unit_test(queue_goes_under_a_message),
	    cmocka_unit_test(completion_queue_overruns),
	    cmocka_unit_test(target_is_not_scanned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
