/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what dynamically connected initiators send and what targets do with it: right requests and
 * wrong ones, one target after the other, loss and late copies.
 * How: two NICs of tests/support/fake_nic.h, initiators on NIC 0 and targets on NIC 1.
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
#include "tests/support/fake_dc.h"
#include "tests/support/nic_bed.h"

enum { MS = 1000000 };

#define LIFETIME_NS 10000000000ull

struct dc {
	struct bed b; /* pair.a is the initiator; pair.b is not used */
	struct fake_dct dct;
};

static struct dc dc_open_on(const struct nic_config *config, const struct fake_opts *opts)
{
	struct dc t = {.b.w = fake_world_new(config)};

	fake_dct_make(t.b.w, opts, &t.dct);
	fake_dci_make(t.b.w, opts, &t.b.pair.a);
	t.b.src = fake_region(t.b.w, 0, 1 << 20, BED_LOCAL);
	t.b.dst = fake_region(t.b.w, 1, 1 << 20, BED_ALL);
	for (uint32_t i = 0; i < 1 << 20; i++)
		bed_src(&t.b)[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	return t;
}

static struct dc dc_open(const struct fake_opts *opts)
{
	return dc_open_on(NULL, opts);
}

static void dc_close(struct dc *t)
{
	bed_close(&t->b);
}

static struct fake_wr wr_to(const struct dc *t, const struct fake_dct *dct, enum wqe_opcode opcode,
			    uint32_t len)
{
	struct fake_wr wr = bed_wr(&t->b, opcode, len);

	wr.to = &dct->to;
	wr.imm = 0x1234;
	wr.swap_add = 5;
	return wr;
}

static uint16_t post_to(struct dc *t, struct fake_qp *dci, const struct fake_dct *dct,
			enum wqe_opcode opcode, uint32_t len)
{
	struct fake_wr wr = wr_to(t, dct, opcode, len);
	uint16_t index = fake_post(dci, &wr);

	fake_ring(dci);
	return index;
}

static uint16_t post(struct dc *t, enum wqe_opcode opcode, uint32_t len)
{
	return post_to(t, &t->b.pair.a, &t->dct, opcode, len);
}

static uint16_t receive(struct dc *t, struct fake_dct *dct, uint64_t off, uint32_t len)
{
	return fake_srq_post(&dct->srq, (struct fake_piece){t->b.dst.va + off, len, t->b.dst.key});
}

static void expect_flushed(struct fake_cq *cq, uint16_t index)
{
	expect_error(cq, CQE_REQ_ERR, index, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
}

/* Time goes by until nothing is under way, in steps short enough for each timer. */
static void settle_for(struct dc *t, uint64_t ns)
{
	for (uint64_t i = 0; i < ns; i += 10 * MS) {
		fake_advance(t->b.w, 10 * MS);
		fake_settle(t->b.w);
	}
}

/* ---- what works ------------------------------------------------------------------------------ */

/* Every operation, with its bytes; requests carry the key and the initiator, answers do not. */
static void every_operation(void **state)
{
	static const struct {
		enum wqe_opcode opcode;
		uint32_t len;
		uint8_t first;
		uint8_t cqe; /* of the target; 0: none */
	} rows[] = {
	    {WQE_OP_SEND, 0, ROCE_OP_DC_SEND_ONLY, CQE_RESP_SEND},
	    {WQE_OP_SEND, 3000, ROCE_OP_DC_SEND_FIRST, CQE_RESP_SEND},
	    {WQE_OP_SEND_IMM, 1025, ROCE_OP_DC_SEND_FIRST, CQE_RESP_SEND_IMM},
	    {WQE_OP_WRITE, 3000, ROCE_OP_DC_WRITE_FIRST, 0},
	    {WQE_OP_WRITE_IMM, 7, ROCE_OP_DC_WRITE_ONLY_IMM, CQE_RESP_WR_IMM},
	    {WQE_OP_READ, 3000, ROCE_OP_DC_READ_REQ, 0},
	    {WQE_OP_ATOMIC_FA, 8, ROCE_OP_DC_FETCH_ADD, 0},
	    {WQE_OP_ATOMIC_CS, 8, ROCE_OP_DC_CMP_SWAP, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dc t = dc_open(NULL);
		bool reads = rows[i].opcode == WQE_OP_READ;
		struct fake_cqe cqe;

		print_message("row %zu\n", i);
		receive(&t, &t.dct, 0, 4000);
		if (reads)
			memset(bed_dst(&t.b), 0x5a, 3000);
		post(&t, rows[i].opcode, rows[i].len);
		assert_int_equal(fake_pkt(t.b.w, 0).opcode, rows[i].first);
		for (size_t k = 0; k < t.b.w->queue_count; k++) {
			struct roce_pkt pkt = fake_pkt(t.b.w, k);

			assert_int_equal(pkt.dqpn, t.dct.qp.qpn);
			assert_true(pkt.dceth.key == FAKE_DC_KEY);
			assert_int_equal(pkt.dceth.initiator, t.b.pair.a.qpn);
			assert_int_equal(pkt.dceth.first_psn, 0x100);
		}
		fake_settle(t.b.w);
		expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, rows[i].len);
		assert_int_equal(fake_poll(&t.dct.qp.recv_cq, &cqe), rows[i].cqe != 0);
		if (rows[i].cqe) {
			assert_int_equal(cqe.opcode, rows[i].cqe);
			assert_int_equal(cqe.byte_cnt, rows[i].len);
			assert_int_equal(cqe.user_index, 0x701);
			assert_int_equal(cqe.qpn, t.dct.qp.qpn);
			assert_int_equal(cqe.flags_rqpn, t.b.pair.a.qpn);
			assert_int_equal(cqe.wqe_counter, 0);
		}
		if (reads)
			for (int k = 0; k < 3000; k++)
				assert_int_equal(bed_src(&t.b)[k], 0x5a);
		else if (rows[i].len != 8)
			assert_memory_equal(bed_dst(&t.b), bed_src(&t.b), rows[i].len);
		dc_close(&t);
	}
}

/* An entry for another target waits until all before it is answered; then a new session begins. */
static void targets_take_turns(void **state)
{
	struct dc t = dc_open(NULL);
	struct fake_dct other;
	uint64_t session;

	(void)state;
	fake_dct_make(t.b.w, &(struct fake_opts){.dc_key = 0x99}, &other);
	receive(&t, &t.dct, 0, 64);
	receive(&t, &t.dct, 64, 64);
	receive(&t, &other, 4096, 2000);
	post(&t, WQE_OP_SEND, 9);
	post(&t, WQE_OP_SEND, 10);
	post_to(&t, &t.b.pair.a, &other, WQE_OP_SEND, 1500);
	/* The first two are one session; the third is not sent yet. */
	assert_int_equal(t.b.w->queue_count, 2);
	session = fake_pkt(t.b.w, 0).dceth.session;
	assert_true(fake_pkt(t.b.w, 1).dceth.session == session);
	fake_deliver(t.b.w, 0);
	fake_deliver(t.b.w, 1); /* the first ACK */
	assert_int_equal(t.b.w->queue_count, 1);
	fake_deliver(t.b.w, 0);
	fake_deliver(t.b.w, 0);
	assert_int_equal(fake_pkt(t.b.w, 0).dqpn, other.qp.qpn);
	assert_true(fake_pkt(t.b.w, 0).dceth.session > session);
	assert_int_equal(fake_pkt(t.b.w, 0).dceth.first_psn, 0x102);
	assert_true(fake_pkt(t.b.w, 0).dceth.key == 0x99);
	fake_settle(t.b.w);
	for (uint16_t i = 0; i < 2; i++)
		expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, i, 9 + i);
	expect_done(&other.qp.recv_cq, CQE_RESP_SEND, 0, 1500);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 9);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 2, 10);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 4, 1500);
	assert_memory_equal(bed_dst(&t.b) + 4096, bed_src(&t.b), 1500);
	dc_close(&t);
}

/* Two initiators send messages of several packets at once: each fills a receive of its own. */
static void initiators_share_a_target(void **state)
{
	struct dc t = dc_open(NULL);
	struct fake_qp second;
	struct fake_cqe cqe;

	(void)state;
	fake_dci_make(t.b.w, NULL, &second);
	receive(&t, &t.dct, 0, 4000);
	receive(&t, &t.dct, 4096, 4000);
	post(&t, WQE_OP_SEND, 3000);
	post_to(&t, &second, &t.dct, WQE_OP_SEND, 2500);
	fake_deliver(t.b.w, 3); /* the second's first packet, then the first's */
	fake_settle(t.b.w);
	assert_int_equal(fake_poll(&t.dct.qp.recv_cq, &cqe), 1);
	assert_int_equal(cqe.flags_rqpn, t.b.pair.a.qpn);
	assert_int_equal(cqe.wqe_counter, 1);
	assert_int_equal(fake_poll(&t.dct.qp.recv_cq, &cqe), 1);
	assert_int_equal(cqe.flags_rqpn, second.qpn);
	assert_int_equal(cqe.wqe_counter, 0);
	assert_memory_equal(bed_dst(&t.b), bed_src(&t.b), 2500);
	assert_memory_equal(bed_dst(&t.b) + 4096, bed_src(&t.b), 3000);
	dc_close(&t);
}

/* On two hosts a request is answered to where it came from. */
static void answers_go_back_over_a_network(void **state)
{
	struct dc t = {.b.w = fake_world_new(NULL)};
	uint8_t gid[16];

	(void)state;
	t.b.w->alien = true;
	fake_dct_make(t.b.w, NULL, &t.dct);
	fake_dci_make(t.b.w, NULL, &t.b.pair.a);
	t.b.src = fake_region(t.b.w, 0, 1 << 20, BED_LOCAL);
	t.b.dst = fake_region(t.b.w, 1, 1 << 20, BED_ALL);
	post(&t, WQE_OP_WRITE, 3000);
	fake_deliver(t.b.w, 2);
	fake_deliver(t.b.w, 0);
	fake_deliver(t.b.w, 0);
	fake_gid(t.b.w, gid, 0);
	assert_memory_equal(t.b.w->queue[0]->path.dgid, gid, 16);
	fake_gid(t.b.w, gid, 1);
	assert_memory_equal(t.b.w->queue[0]->path.sgid, gid, 16);
	fake_settle(t.b.w);
	settle_for(&t, 100 * MS);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 3000);
	dc_close(&t);
}

/* What a target's responders send is the target's, whoever they answer. */
static void answers_are_counted(void **state)
{
	struct dc t = dc_open(NULL);
	struct fake_qp second;
	struct stats_flow flow;

	(void)state;
	fake_dci_make(t.b.w, NULL, &second);
	post(&t, WQE_OP_READ, 3000);
	fake_settle(t.b.w);
	post_to(&t, &second, &t.dct, WQE_OP_WRITE, 8);
	fake_settle(t.b.w);
	assert_int_equal(nic_stats_qp(t.b.w->nics[1], t.dct.qp.qpn, t.b.w->now_ns, &flow), 0);
	assert_int_equal(flow.qp.rx_packets, 2);
	assert_int_equal(flow.qp.rx_payload_bytes, 8);
	assert_int_equal(flow.qp.tx_packets, 4);
	assert_int_equal(flow.qp.tx_payload_bytes, 3000);
	dc_close(&t);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Who does not have the key gets no answer; nothing is touched, not even for another's session. */
static void wrong_key(void **state)
{
	struct dc t = dc_open(&(struct fake_opts){.retry_count = 1});
	struct fake_dct lied = t.dct;

	(void)state;
	lied.to.dc_key ^= 1ull << 63;
	receive(&t, &t.dct, 0, 64);
	post_to(&t, &t.b.pair.a, &lied, WQE_OP_WRITE, 64);
	fake_settle(t.b.w);
	settle_for(&t, 300 * MS);
	assert_int_equal(nic_counters(t.b.w->nics[1])->rx_drop_dckey, 2);
	assert_int_equal(bed_dst(&t.b)[0], 0);
	expect_none(&t.dct.qp.recv_cq);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_RETRY_EXC, CQE_VENDOR_RETRY_EXC);
	assert_int_equal(fake_qp_state(&t.b.pair.a), NIC_QP_ERR);
	dc_close(&t);
}

/* A target that is not ready, or not there, does not answer either. */
static void no_target(void **state)
{
	struct dc t = dc_open(&(struct fake_opts){.retry_count = 1});

	(void)state;
	assert_int_equal(nic_dct_drain(t.b.w->nics[1], t.dct.qp.qpn), 0);
	assert_true(nic_dct_is_drained(t.b.w->nics[1], t.dct.qp.qpn));
	post(&t, WQE_OP_WRITE, 64);
	settle_for(&t, 300 * MS);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_RETRY_EXC, CQE_VENDOR_RETRY_EXC);
	assert_int_equal(bed_dst(&t.b)[0], 0);
	dc_close(&t);
}

/* Each refusal ends the initiator with its status, and nobody else: the target and another
 * initiator go on. */
static void refusals(void **state)
{
	static const struct {
		enum wqe_opcode opcode;
		uint32_t len, receive_len, access;
		uint8_t syndrome, vendor, target; /* target: syndrome of its receive, 0: none */
		bool bad_key;
	} rows[] = {
	    {WQE_OP_WRITE, 8, 64, 0, CQE_SYND_REMOTE_ACCESS, CQE_VENDOR_REMOTE_ACCESS, 0, true},
	    {WQE_OP_READ, 8, 64, 0, CQE_SYND_REMOTE_ACCESS, CQE_VENDOR_REMOTE_ACCESS, 0, true},
	    {WQE_OP_WRITE, 8, 64, UINT32_MAX, CQE_SYND_REMOTE_INVAL_REQ,
	     CQE_VENDOR_REMOTE_INVAL_REQ, 0, false},
	    {WQE_OP_ATOMIC_FA, 8, 64, UINT32_MAX, CQE_SYND_REMOTE_INVAL_REQ,
	     CQE_VENDOR_REMOTE_INVAL_REQ, 0, false},
	    {WQE_OP_SEND, 2000, 1500, 0, CQE_SYND_REMOTE_INVAL_REQ, CQE_VENDOR_REMOTE_INVAL_REQ,
	     CQE_SYND_LOCAL_LENGTH, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dc t = dc_open(&(struct fake_opts){.access = rows[i].access});
		struct fake_qp second;
		struct fake_wr wr = wr_to(&t, &t.dct, rows[i].opcode, rows[i].len);
		struct fake_cqe cqe;

		print_message("row %zu\n", i);
		fake_dci_make(t.b.w, NULL, &second);
		receive(&t, &t.dct, 0, rows[i].receive_len);
		receive(&t, &t.dct, 4096, 64);
		wr.rkey ^= rows[i].bad_key ? 1u << 31 : 0;
		fake_post(&t.b.pair.a, &wr);
		post(&t, WQE_OP_SEND, 1); /* behind it: never carried out */
		fake_settle(t.b.w);
		expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, rows[i].syndrome, rows[i].vendor);
		assert_int_equal(fake_poll(&t.b.pair.a.send_cq, &cqe), 1);
		assert_int_equal(cqe.syndrome, CQE_SYND_WR_FLUSH);
		assert_int_equal(fake_poll(&t.dct.qp.recv_cq, &cqe), rows[i].target != 0);
		if (rows[i].target)
			assert_int_equal(cqe.syndrome, rows[i].target);
		assert_int_equal(fake_qp_state(&t.dct.qp), NIC_QP_RTR);
		assert_int_equal(t.b.w->event_count, 0);
		post_to(&t, &second, &t.dct, WQE_OP_SEND, 7);
		fake_settle(t.b.w);
		expect_done(&second.send_cq, CQE_REQ, 0, 7);
		/* It works again, too, after a reset: with a session of its own. */
		assert_int_equal(fake_qp_set_state(&t.b.pair.a, NIC_QP_RESET), 0);
		dc_close(&t);
	}
}

/* Without a receive the initiator waits and tries again; a receive comes, or does not. */
static void receiver_not_ready(void **state)
{
	struct dc t = dc_open(&(struct fake_opts){.rnr_retry = 2});

	(void)state;
	post(&t, WQE_OP_SEND, 5);
	fake_settle(t.b.w);
	expect_none(&t.b.pair.a.send_cq);
	receive(&t, &t.dct, 0, 64);
	fake_advance(t.b.w, MS);
	fake_settle(t.b.w);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 5);
	expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, 0, 5);
	post(&t, WQE_OP_SEND, 5);
	settle_for(&t, 100 * MS);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 2, CQE_SYND_RNR_RETRY_EXC,
		     CQE_VENDOR_RNR_RETRY_EXC);
	dc_close(&t);
}

/* ---- loss and late copies -------------------------------------------------------------------- */

/* Whichever packet is lost, request or answer, the message arrives once. */
static void one_packet_lost(void **state)
{
	(void)state;
	for (size_t lost = 0; lost < 4; lost++) {
		struct dc t = dc_open(NULL);
		struct fake_cqe cqe;

		receive(&t, &t.dct, 0, 4000);
		receive(&t, &t.dct, 4096, 4000);
		post(&t, WQE_OP_SEND, 3000);
		for (size_t i = 0; t.b.w->queue_count != 0; i++) {
			if (i == lost)
				fake_drop(t.b.w, 0);
			else
				fake_deliver(t.b.w, 0);
		}
		settle_for(&t, 500 * MS);
		expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 3000);
		expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, 0, 3000);
		assert_int_equal(fake_poll(&t.dct.qp.recv_cq, &cqe), 0);
		assert_memory_equal(bed_dst(&t.b), bed_src(&t.b), 3000);
		dc_close(&t);
	}
}

/* Everything but the oldest packet, which stays. */
static void settle_rest(struct fake_world *w)
{
	while (w->queue_count > 1)
		fake_deliver(w, 1);
}

/* A copy of a request of an earlier session comes when a later one has begun, or none: it is not
 * carried out again. */
static void late_copies(void **state)
{
	struct dc t = dc_open(NULL);
	struct fake_dct other;
	uint64_t value;

	(void)state;
	fake_dct_make(t.b.w, NULL, &other);
	receive(&t, &t.dct, 4096, 64);
	receive(&t, &other, 4096, 64);
	post(&t, WQE_OP_ATOMIC_FA, 8);
	fake_deliver_copy(t.b.w, 0); /* the copy stays at 0 */
	settle_rest(t.b.w);
	post_to(&t, &t.b.pair.a, &other, WQE_OP_SEND, 1);
	settle_rest(t.b.w);
	fake_deliver_copy(t.b.w, 0);
	settle_rest(t.b.w);
	post(&t, WQE_OP_SEND, 2);
	settle_rest(t.b.w);
	fake_deliver_copy(t.b.w, 0);
	assert_int_equal(t.b.w->queue_count, 1); /* it is not even answered */
	memcpy(&value, bed_dst(&t.b), sizeof(value));
	assert_int_equal(value, 5);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 8);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 2, 1);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 4, 2);
	expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, 0, 2);
	expect_none(&t.dct.qp.recv_cq);
	assert_int_equal(nic_counters(t.b.w->nics[1])->rx_duplicate, 2);
	dc_close(&t);
}

/* An initiator that gives up in the middle of a message leaves its receive to its next message. */
static void abandoned_message(void **state)
{
	struct dc t = dc_open(&(struct fake_opts){.retry_count = UINT32_MAX});

	(void)state;
	receive(&t, &t.dct, 0, 4000);
	post(&t, WQE_OP_SEND, 3000);
	fake_deliver(t.b.w, 0);
	while (t.b.w->queue_count != 0)
		fake_drop(t.b.w, 0);
	fake_advance(t.b.w, 100 * MS);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_RETRY_EXC, CQE_VENDOR_RETRY_EXC);
	assert_int_equal(fake_qp_set_state(&t.b.pair.a, NIC_QP_RESET), 0);
	t.b.pair.a.sq_pi = 0;
	be32_store((uint8_t *)fake_mem(t.b.w, t.b.pair.a.db_va) + 4 * DB_SEND, 0);
	fake_dci_ready(&t.b.pair.a, NULL);
	post(&t, WQE_OP_SEND, 1200);
	fake_settle(t.b.w);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 1200);
	expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, 0, 1200);
	dc_close(&t);
}

/* ---- the bound ------------------------------------------------------------------------------- */

static const struct nic_config two_responders = {
    .qp_count_max = 4096,
    .cq_count_max = 64,
    .mkey_count_max = 64,
    .pd_count_max = 8,
    .srq_count_max = 8,
    .dc_responder_count_max = 2,
    .mtu_max_bytes = 4096,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
};

/* More initiators than there are responders: those that are not known wait until one has been
 * silent for long; what it held is theirs. */
static void too_many_initiators(void **state)
{
	struct dc t = dc_open_on(&two_responders, NULL);
	struct fake_qp second, third;

	(void)state;
	fake_dci_make(t.b.w, NULL, &second);
	fake_dci_make(t.b.w, NULL, &third);
	receive(&t, &t.dct, 0, 4000);
	receive(&t, &t.dct, 4096, 64);
	/* Half a message, which is never finished. */
	post(&t, WQE_OP_SEND, 3000);
	fake_deliver(t.b.w, 0);
	while (t.b.w->queue_count != 0)
		fake_drop(t.b.w, 0);
	assert_int_equal(nic_qp_destroy(t.b.w->nics[0], t.b.pair.a.qpn), 0);
	post_to(&t, &second, &t.dct, WQE_OP_WRITE, 8);
	fake_settle(t.b.w);
	expect_done(&second.send_cq, CQE_REQ, 0, 8);
	post_to(&t, &third, &t.dct, WQE_OP_SEND, 3);
	fake_settle(t.b.w);
	expect_none(&third.send_cq);
	assert_true(nic_counters(t.b.w->nics[1])->dc_refused != 0);
	for (uint64_t ns = 0; ns < LIFETIME_NS; ns += 100 * MS) {
		fake_advance(t.b.w, 100 * MS);
		fake_settle(t.b.w);
	}
	expect_done(&third.send_cq, CQE_REQ, 0, 3);
	expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, 0, 3);
	dc_close(&t);
}

/* One target has had all responders. What has been silent for long makes room for who asks another
 * target, too; but an entry of the first one's SRQ stays where it is. */
static void another_targets_responders(void **state)
{
	struct dc t = dc_open_on(&two_responders, NULL);
	struct fake_qp second, third;
	struct fake_dct other;

	(void)state;
	fake_dct_make(t.b.w, NULL, &other);
	fake_dci_make(t.b.w, NULL, &second);
	fake_dci_make(t.b.w, NULL, &third);
	receive(&t, &t.dct, 0, 4000);
	/* Half a message holds an entry; a whole one does not. */
	post(&t, WQE_OP_SEND, 3000);
	fake_deliver(t.b.w, 0);
	while (t.b.w->queue_count != 0)
		fake_drop(t.b.w, 0);
	assert_int_equal(nic_qp_destroy(t.b.w->nics[0], t.b.pair.a.qpn), 0);
	post_to(&t, &second, &t.dct, WQE_OP_WRITE, 8);
	fake_settle(t.b.w);
	expect_done(&second.send_cq, CQE_REQ, 0, 8);
	fake_advance(t.b.w, LIFETIME_NS);
	receive(&t, &other, 4096, 64);
	post_to(&t, &third, &other, WQE_OP_SEND, 3);
	fake_settle(t.b.w);
	expect_done(&third.send_cq, CQE_REQ, 0, 3);
	expect_done(&other.qp.recv_cq, CQE_RESP_SEND, 0, 3);
	expect_none(&t.dct.qp.recv_cq);
	nic_check(t.b.w->nics[1]);
	/* Of the two that are there now one has just been heard of, and one holds that entry. */
	post_to(&t, &second, &other, WQE_OP_WRITE, 8);
	fake_settle(t.b.w);
	expect_none(&second.send_cq);
	/* It comes back with its target's end. */
	assert_int_equal(nic_qp_destroy(t.b.w->nics[1], t.dct.qp.qpn), 0);
	expect_error(&t.dct.qp.recv_cq, CQE_RESP_ERR, 0, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	settle_for(&t, 20 * MS);
	expect_done(&second.send_cq, CQE_REQ, 2, 8);
	nic_check(t.b.w->nics[1]);
	dc_close(&t);
}

/* A READ whose data has found no room on the way for long is answered all the same, however many
 * others would like its responder. */
static void a_long_read(void **state)
{
	struct dc t = dc_open_on(&two_responders, NULL);
	struct fake_qp others[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		fake_dci_make(t.b.w, NULL, &others[i]);
	post(&t, WQE_OP_READ, 3000);
	t.b.w->room = 0;
	t.b.w->untaken = true;
	fake_deliver(t.b.w, 0);
	fake_advance(t.b.w, LIFETIME_NS);
	for (int i = 0; i < 2; i++) {
		t.b.w->room = 1;
		post_to(&t, &others[i], &t.dct, WQE_OP_WRITE, 8);
		t.b.w->room = 0;
		while (t.b.w->queue_count != 0)
			fake_deliver(t.b.w, 0);
	}
	t.b.w->room = SIZE_MAX;
	t.b.w->untaken = false;
	settle_for(&t, 100 * MS);
	expect_done(&t.b.pair.a.send_cq, CQE_REQ, 0, 3000);
	dc_close(&t);
}

/* An initiator that has died in the middle of a message does not keep the receive: whoever finds
 * none gets it, once the dead one has been silent for long. */
static void a_dead_initiators_receive(void **state)
{
	struct dc t = dc_open(NULL);
	struct fake_qp second, third;

	(void)state;
	fake_dci_make(t.b.w, NULL, &second);
	fake_dci_make(t.b.w, NULL, &third);
	receive(&t, &t.dct, 0, 4000);
	post_to(&t, &second, &t.dct, WQE_OP_WRITE, 8);
	fake_settle(t.b.w);
	expect_done(&second.send_cq, CQE_REQ, 0, 8);
	post(&t, WQE_OP_SEND, 3000);
	fake_deliver(t.b.w, 0);
	while (t.b.w->queue_count != 0)
		fake_drop(t.b.w, 0);
	assert_int_equal(nic_qp_destroy(t.b.w->nics[0], t.b.pair.a.qpn), 0);
	/* One that is known, and one that is not. */
	post_to(&t, &second, &t.dct, WQE_OP_SEND, 5);
	settle_for(&t, LIFETIME_NS - 100 * MS);
	expect_none(&t.dct.qp.recv_cq);
	settle_for(&t, 200 * MS);
	expect_done(&second.send_cq, CQE_REQ, 2, 5);
	expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, 0, 5);
	post_to(&t, &third, &t.dct, WQE_OP_SEND, 3);
	settle_for(&t, 100 * MS);
	expect_none(&third.send_cq);
	receive(&t, &t.dct, 64, 64);
	settle_for(&t, 100 * MS);
	expect_done(&third.send_cq, CQE_REQ, 0, 3);
	expect_done(&t.dct.qp.recv_cq, CQE_RESP_SEND, 1, 3);
	nic_check(t.b.w->nics[1]);
	dc_close(&t);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void post_stream(struct dc *t, uint16_t stream, bool bad)
{
	struct fake_wr wr = wr_to(t, &t->dct, WQE_OP_SEND, 8);

	wr.stream = stream;
	if (bad)
		wr.pieces[0].key ^= 1u << 31;
	fake_post(&t->b.pair.a, &wr);
}

/* What fails stops its own stream; with as many as agreed the queue pair; a stream that is reset
 * works again. */
static void streams(void **state)
{
	struct dc t = dc_open(&(struct fake_opts){.stream_failed_max = 3});
	struct fake_qp *dci = &t.b.pair.a;
	struct nic *nic = t.b.w->nics[0];

	(void)state;
	for (int i = 0; i < 10; i++)
		receive(&t, &t.dct, 0, 64);
	post_stream(&t, 0, false);
	post_stream(&t, 1, true);
	post_stream(&t, 1, false);
	post_stream(&t, 2, false);
	fake_ring(dci);
	fake_settle(t.b.w);
	expect_done(&dci->send_cq, CQE_REQ, 0, 8);
	expect_error(&dci->send_cq, CQE_REQ_ERR, 2, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	expect_flushed(&dci->send_cq, 4);
	expect_done(&dci->send_cq, CQE_REQ, 6, 8);
	assert_int_equal(fake_qp_state(dci), NIC_QP_RTS);

	assert_int_equal(nic_dci_reset_stream(nic, dci->qpn, 0, t.b.w->now_ns), -EINVAL);
	assert_int_equal(nic_dci_reset_stream(nic, dci->qpn, 8, t.b.w->now_ns), -EINVAL);
	assert_int_equal(nic_dci_reset_stream(nic, dci->qpn, 1, t.b.w->now_ns), 0);
	assert_int_equal(nic_dci_reset_stream(nic, dci->qpn, 1, t.b.w->now_ns), -EINVAL);
	post_stream(&t, 1, false);
	fake_ring(dci);
	fake_settle(t.b.w);
	expect_done(&dci->send_cq, CQE_REQ, 8, 8);

	post_stream(&t, 3, true);
	post_stream(&t, 4, true);
	post_stream(&t, 3, false);
	fake_ring(dci);
	fake_settle(t.b.w);
	expect_error(&dci->send_cq, CQE_REQ_ERR, 10, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	expect_error(&dci->send_cq, CQE_REQ_ERR, 12, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	expect_flushed(&dci->send_cq, 14);
	assert_int_equal(fake_qp_state(dci), NIC_QP_RTS);
	post_stream(&t, 0xffff, true);
	post_stream(&t, 0, false);
	fake_ring(dci);
	fake_settle(t.b.w);
	expect_error(&dci->send_cq, CQE_REQ_ERR, 16, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	expect_flushed(&dci->send_cq, 18);
	assert_int_equal(fake_qp_state(dci), NIC_QP_ERR);
	dc_close(&t);
}

/* A refusal by the peer with more under way: what is behind it of its stream is flushed, another
 * stream's entry is carried out. */
static void stream_refused(void **state)
{
	struct dc t = dc_open(&(struct fake_opts){.stream_failed_max = 2});
	struct fake_qp *dci = &t.b.pair.a;
	struct fake_wr wr = wr_to(&t, &t.dct, WQE_OP_READ, 8);

	(void)state;
	receive(&t, &t.dct, 0, 64);
	receive(&t, &t.dct, 64, 64);
	wr.rkey ^= 1u << 31;
	fake_post(dci, &wr);
	wr.rkey ^= 1u << 31;
	fake_post(dci, &wr);
	post_stream(&t, 1, false);
	fake_ring(dci);
	assert_int_equal(t.b.w->queue_count, 2);
	fake_settle(t.b.w);
	expect_error(&dci->send_cq, CQE_REQ_ERR, 0, CQE_SYND_REMOTE_ACCESS,
		     CQE_VENDOR_REMOTE_ACCESS);
	expect_flushed(&dci->send_cq, 2);
	expect_done(&dci->send_cq, CQE_REQ, 4, 8);
	assert_int_equal(fake_qp_state(dci), NIC_QP_RTS);
	dc_close(&t);
}

/* What a target held that is in error, or drained, is flushed, and it serves nobody. */
static void a_target_ends(void **state)
{
	(void)state;
	for (int drained = 0; drained < 2; drained++) {
		struct dc t = dc_open(&(struct fake_opts){.retry_count = UINT32_MAX});
		struct fake_cq *cq = &t.dct.qp.recv_cq, *send_cq = &t.b.pair.a.send_cq;
		struct nic *nic = t.b.w->nics[1];

		receive(&t, &t.dct, 0, 4000);
		post(&t, WQE_OP_SEND, 3000);
		fake_deliver(t.b.w, 0);
		assert_int_equal(drained ? nic_dct_drain(nic, t.dct.qp.qpn)
					 : fake_qp_set_state(&t.dct.qp, NIC_QP_ERR), 0);
		fake_settle(t.b.w);
		expect_error(cq, CQE_RESP_ERR, 0, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
		fake_advance(t.b.w, 100 * MS);
		expect_error(send_cq, CQE_REQ_ERR, 0, CQE_SYND_RETRY_EXC, CQE_VENDOR_RETRY_EXC);
		assert_int_equal(fake_qp_set_state(&t.dct.qp, NIC_QP_RESET), 0);
		assert_int_equal(nic_qp_destroy(nic, t.dct.qp.qpn), 0);
		assert_int_equal(nic_srq_destroy(nic, t.dct.srq.srqn), 0);
		nic_check(nic);
		dc_close(&t);
	}
}

/* What each type is made of. */
static void create_checks(void **state)
{
	struct dc t = dc_open(NULL);
	struct nic *nic = t.b.w->nics[1];
	struct nic_qp_attr target = {.type = NIC_QP_DCT,
				     .pdn = t.b.w->sides[1].pdn,
				     .cqn_send = t.dct.qp.send_cq.cqn,
				     .cqn_recv = t.dct.qp.recv_cq.cqn};
	struct nic_qp_attr initiator = {.type = NIC_QP_DCI,
					.pdn = t.b.w->sides[1].pdn,
					.cqn_send = t.dct.qp.send_cq.cqn,
					.sq_wqebb_count = 4,
					.stream_failed_max = NIC_STREAMS_FAILED_MAX + 1};
	uint32_t qpn;

	(void)state;
	assert_int_equal(nic_qp_create(nic, &target, &qpn), -EINVAL);
	target.srqn = t.dct.srq.srqn;
	assert_int_equal(nic_qp_create(nic, &target, &qpn), 0);
	assert_int_equal(nic_qp_create(nic, &initiator, &qpn), -EINVAL);
	initiator.stream_failed_max--;
	assert_int_equal(nic_qp_create(nic, &initiator, &qpn), 0);
	initiator.srqn = t.dct.srq.srqn;
	assert_int_equal(nic_qp_create(nic, &initiator, &qpn), -EINVAL);
	dc_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_operation),
	    cmocka_unit_test(targets_take_turns),
	    cmocka_unit_test(initiators_share_a_target),
	    cmocka_unit_test(answers_go_back_over_a_network),
	    cmocka_unit_test(answers_are_counted),
	    cmocka_unit_test(wrong_key),
	    cmocka_unit_test(no_target),
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(receiver_not_ready),
	    cmocka_unit_test(one_packet_lost),
	    cmocka_unit_test(late_copies),
	    cmocka_unit_test(abandoned_message),
	    cmocka_unit_test(too_many_initiators),
	    cmocka_unit_test(another_targets_responders),
	    cmocka_unit_test(a_long_read),
	    cmocka_unit_test(a_dead_initiators_receive),
	    cmocka_unit_test(streams),
	    cmocka_unit_test(stream_refused),
	    cmocka_unit_test(a_target_ends),
	    cmocka_unit_test(create_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
