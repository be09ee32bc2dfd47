/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: creation and numbers, the state machine with its attributes, drain, reset, error and
 * flushes. How: tables of attributes and edges against nic.h's calls, on the world of
 * tests/support/fake_nic.h.
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

#define TIMEOUT_NS (4096ull << 14)
#define SET(name)  NIC_QP_SET_##name##_F

/* ---- create ---------------------------------------------------------------------------------- */

static void create_checks_attributes(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];
	const struct nic_qp_attr good = {.pdn = b.w->sides[0].pdn,
					 .cqn_send = b.pair.a.send_cq.cqn,
					 .cqn_recv = b.pair.a.recv_cq.cqn,
					 .buf_va = FAKE_BASE_VA,
					 .db_va = FAKE_BASE_VA,
					 .sq_wqebb_count = 4,
					 .rq_wqe_count = 4,
					 .rq_wqe_size_log2 = 4};
	struct nic_qp_attr bad[12];
	uint32_t qpn;

	(void)state;
	for (int i = 0; i < 12; i++)
		bad[i] = good;
	bad[0].pdn = 63;
	bad[1].cqn_send = 0;
	bad[2].cqn_recv = 0xffffffff;
	bad[3].sq_wqebb_count = 3;
	bad[4].sq_wqebb_count = 65536;
	bad[5].rq_wqe_count = 5;
	bad[6].rq_wqe_count = 65536;
	bad[7].rq_wqe_size_log2 = 3;
	bad[8].rq_wqe_size_log2 = 10;
	bad[9].db_va += 4;
	bad[10].type = (enum nic_qp_type)(NIC_QP_RAW + 1);
	bad[11].pdn = UINT32_MAX;
	for (int i = 0; i < 12; i++) {
		print_message("row: %d\n", i);
		assert_int_equal(nic_qp_create(nic, &bad[i], &qpn), -EINVAL);
	}
	assert_int_equal(nic_qp_create(nic, &good, &qpn), 0);
	assert_int_equal(nic_pd_destroy(nic, good.pdn), -EBUSY);
	assert_int_equal(nic_qp_destroy(nic, qpn), 0);
	assert_int_equal(nic_qp_destroy(nic, qpn), -EINVAL);
	nic_check(nic);
	bed_close(&b);
}

/* Numbers come in blocks; a freed number rests; the last one is followed by -ENOMEM, not by a
 * crash. */
static void numbers(void **state)
{
	struct nic_config config = {.qp_count_max = 8192,
				    .cq_count_max = 4,
				    .mkey_count_max = 4,
				    .pd_count_max = 4,
				    .mtu_max_bytes = 4096,
				    .rd_atomic_max = 16,
				    .message_max_bytes_log2 = 31};
	struct fake_world *w = fake_world_new(&config);
	struct nic_qp_attr attr = {.pdn = w->sides[0].pdn, .db_va = FAKE_BASE_VA};
	struct fake_cq cq;
	uint32_t qpn, first, last = 0;

	(void)state;
	fake_cq_make(w, 0, 4, &cq);
	attr.cqn_send = attr.cqn_recv = cq.cqn;
	assert_int_equal(nic_qp_create(w->nics[0], &attr, &first), 0);
	assert_int_equal(w->blocks_given, 1);
	assert_int_equal(nic_qp_destroy(w->nics[0], first), 0);
	assert_int_equal(nic_qp_create(w->nics[0], &attr, &qpn), 0);
	assert_int_not_equal(qpn, first);
	for (int i = 0; i < 8191; i++)
		assert_int_equal(nic_qp_create(w->nics[0], &attr, &last), 0);
	assert_int_equal(last, first);
	assert_int_equal(w->blocks_given, 2);
	assert_int_equal(nic_qp_create(w->nics[0], &attr, &qpn), -ENOMEM);
	nic_check(w->nics[0]);
	fake_world_free(w);
}

/* Numbers 0, 1 and 0xffffff are never a queue pair's, whatever block the port gives. */
static int first_block(void *ctx, uint32_t *block)
{
	(void)ctx;
	*block = 0;
	return 0;
}

static int last_block(void *ctx, uint32_t *block)
{
	(void)ctx;
	*block = 0xfff;
	return 0;
}

static int no_block(void *ctx, uint32_t *block)
{
	(void)ctx;
	(void)block;
	return -EUSERS;
}

static void reserved_numbers(void **state)
{
	int (*const blocks[])(void *, uint32_t *) = {first_block, last_block};

	(void)state;
	for (int row = 0; row < 2; row++) {
		struct fake_world *w = fake_world_new(NULL);
		struct nic_qp_attr attr = {.pdn = w->sides[0].pdn, .db_va = FAKE_BASE_VA};
		struct fake_cq cq;
		uint32_t qpn, count = 0;

		w->envs[0].qpn_block = blocks[row];
		fake_cq_make(w, 0, 4, &cq);
		attr.cqn_send = attr.cqn_recv = cq.cqn;
		while (nic_qp_create(w->nics[0], &attr, &qpn) == 0) {
			assert_true(qpn > 1 && qpn < 0xffffff);
			count++;
		}
		assert_int_equal(count, row == 0 ? 4094 : 4095);
		fake_world_free(w);
	}
}

static void no_numbers_left(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_qp_attr attr = {.pdn = w->sides[0].pdn, .db_va = FAKE_BASE_VA};
	struct fake_cq cq;
	uint32_t qpn;

	(void)state;
	w->envs[0].qpn_block = no_block;
	fake_cq_make(w, 0, 4, &cq);
	attr.cqn_send = attr.cqn_recv = cq.cqn;
	assert_int_equal(nic_qp_create(w->nics[0], &attr, &qpn), -EUSERS);
	nic_check(w->nics[0]);
	fake_world_free(w);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* [linux ib_modify_qp_is_ok] written again, by hand: letters for states, what each edge needs. */
static void edges(void **state)
{
	static const uint32_t to_init = SET(PKEY_INDEX) | SET(PORT) | SET(ACCESS);
	static const uint32_t to_rtr = SET(PATH) | SET(MTU) | SET(DEST_QPN) | SET(RQ_PSN) |
				       SET(DEST_RD_ATOMIC) | SET(MIN_RNR_TIMER);
	static const uint32_t to_rts =
	    SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(SQ_PSN) | SET(RD_ATOMIC);
	static const char *const allowed[NIC_QP_STATE_COUNT] = {
	    [NIC_QP_RESET] = "RIxxxxE", [NIC_QP_INIT] = "RITxxxE", [NIC_QP_RTR] = "RxxSxxE",
	    [NIC_QP_RTS] = "RxxSDxE",   [NIC_QP_SQD] = "RxxSDxE",  [NIC_QP_SQE] = "RxxSxxE",
	    [NIC_QP_ERR] = "RxxxxxE",
	};

	(void)state;
	for (int from = 0; from < NIC_QP_STATE_COUNT; from++) {
		for (int to = 0; to < NIC_QP_STATE_COUNT; to++) {
			uint32_t need = 0;

			if (from == NIC_QP_RESET && to == NIC_QP_INIT)
				need = to_init;
			else if (from == NIC_QP_INIT && to == NIC_QP_RTR)
				need = to_rtr;
			else if (from == NIC_QP_RTR && to == NIC_QP_RTS)
				need = to_rts;
			print_message("row: %d to %d\n", from, to);
			assert_int_equal(nic_qp_edge_ok(NIC_QP_RC, (enum nic_qp_state)from,
							(enum nic_qp_state)to, need | SET(STATE)),
					 allowed[from][to] != 'x');
			/* Each attribute that is needed is needed. */
			for (uint32_t bits = need; bits != 0; bits &= bits - 1)
				assert_false(nic_qp_edge_ok(NIC_QP_RC, (enum nic_qp_state)from,
							    (enum nic_qp_state)to,
							    (need & ~(bits & -bits)) | SET(STATE)));
			if (to == NIC_QP_RESET || to == NIC_QP_ERR)
				for (uint32_t bit = 1; bit <= SET(CUR_STATE); bit <<= 1)
					assert_false(nic_qp_edge_ok(
							 NIC_QP_RC, (enum nic_qp_state)from,
							 (enum nic_qp_state)to, SET(STATE) | bit) &&
						     bit != SET(STATE));
		}
	}
	assert_true(
	    nic_qp_edge_ok(NIC_QP_RC, NIC_QP_RTS, NIC_QP_RTS, SET(ACCESS) | SET(MIN_RNR_TIMER)));
	assert_false(nic_qp_edge_ok(NIC_QP_RC, NIC_QP_RTS, NIC_QP_RTS, SET(TIMEOUT)));
	assert_true(nic_qp_edge_ok(NIC_QP_RC, NIC_QP_SQD, NIC_QP_SQD, SET(TIMEOUT) | SET(PATH)));
	assert_false(nic_qp_edge_ok(NIC_QP_RC, NIC_QP_SQD, NIC_QP_SQD, SET(MTU)));
}

/* Shows what the halves of XRC need to get going: the initiator no responder's attributes, the
 * target no requester's, and that neither takes the other's. By [linux qp_state_table], by hand. */
static void xrc_edges(void **state)
{
	static const uint32_t both = SET(PATH) | SET(MTU) | SET(DEST_QPN) | SET(RQ_PSN);
	static const uint32_t responder = SET(DEST_RD_ATOMIC) | SET(MIN_RNR_TIMER);
	static const uint32_t requester = SET(RETRY) | SET(RNR_RETRY) | SET(RD_ATOMIC);

	(void)state;
	assert_true(nic_qp_edge_ok(NIC_QP_XRC_INI, NIC_QP_INIT, NIC_QP_RTR, both));
	assert_false(nic_qp_edge_ok(NIC_QP_XRC_INI, NIC_QP_INIT, NIC_QP_RTR, both | responder));
	assert_true(nic_qp_edge_ok(NIC_QP_XRC_TGT, NIC_QP_INIT, NIC_QP_RTR, both | responder));
	assert_false(nic_qp_edge_ok(NIC_QP_XRC_TGT, NIC_QP_INIT, NIC_QP_RTR, both));
	assert_true(nic_qp_edge_ok(NIC_QP_XRC_INI, NIC_QP_RTR, NIC_QP_RTS,
				   SET(TIMEOUT) | SET(SQ_PSN) | requester));
	assert_false(
	    nic_qp_edge_ok(NIC_QP_XRC_INI, NIC_QP_RTR, NIC_QP_RTS, SET(TIMEOUT) | SET(SQ_PSN)));
	assert_true(nic_qp_edge_ok(NIC_QP_XRC_TGT, NIC_QP_RTR, NIC_QP_RTS,
				   SET(TIMEOUT) | SET(SQ_PSN) | SET(MIN_RNR_TIMER)));
	assert_false(nic_qp_edge_ok(NIC_QP_XRC_TGT, NIC_QP_RTR, NIC_QP_RTS,
				    SET(TIMEOUT) | SET(SQ_PSN) | requester));
	assert_false(nic_qp_edge_ok(NIC_QP_XRC_INI, NIC_QP_RTS, NIC_QP_RTS, SET(MIN_RNR_TIMER)));
	assert_false(nic_qp_edge_ok(NIC_QP_XRC_TGT, NIC_QP_SQD, NIC_QP_SQD, SET(RETRY)));
	assert_false(nic_qp_edge_ok(NIC_QP_XRC_INI, NIC_QP_SQD, NIC_QP_SQD, SET(DEST_RD_ATOMIC)));
}

/* A value out of range is refused, and nothing is changed by it. */
static void values(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_qp qp;
	struct nic_qp_params p = {.set = SET(STATE) | SET(PKEY_INDEX) | SET(PORT) | SET(ACCESS),
				  .state = NIC_QP_INIT,
				  .port = 1},
			     q;
	struct nic *nic = b.w->nics[0];

	(void)state;
	fake_qp_make(b.w, 0, NULL, &qp);
	p.port = 2;
	assert_int_equal(nic_qp_modify(nic, qp.qpn, &p, 0), -EINVAL);
	p.port = 1;
	p.pkey_index = 1;
	assert_int_equal(nic_qp_modify(nic, qp.qpn, &p, 0), -EINVAL);
	p.pkey_index = 0;
	p.access = 1 << 9;
	assert_int_equal(nic_qp_modify(nic, qp.qpn, &p, 0), -EINVAL);
	assert_int_equal(fake_qp_state(&qp), NIC_QP_RESET);
	p.access = BED_ALL;
	assert_int_equal(nic_qp_modify(nic, qp.qpn, &p, 0), 0);
	p = (struct nic_qp_params){.set = SET(STATE) | SET(PATH) | SET(MTU) | SET(DEST_QPN) |
					  SET(RQ_PSN) | SET(DEST_RD_ATOMIC) | SET(MIN_RNR_TIMER),
				   .state = NIC_QP_RTR,
				   .mtu_bytes = 1024,
				   .dest_rd_atomic = 16};
	struct nic_qp_params bad[5] = {p, p, p, p, p};

	bad[0].mtu_bytes = 8192;
	bad[1].mtu_bytes = 128;
	bad[2].mtu_bytes = 1000;
	bad[3].dest_rd_atomic = 17;
	bad[4].min_rnr_timer = 32;
	for (int i = 0; i < 5; i++)
		assert_int_equal(nic_qp_modify(nic, qp.qpn, &bad[i], 0), -EINVAL);
	assert_int_equal(nic_qp_query(nic, qp.qpn, &q), 0);
	assert_int_equal(q.state, NIC_QP_INIT);
	assert_int_equal(q.mtu_bytes, 0);
	p.rq_psn = 0xff123456;
	assert_int_equal(nic_qp_modify(nic, qp.qpn, &p, 0), 0);
	assert_int_equal(nic_qp_query(nic, qp.qpn, &q), 0);
	assert_int_equal(q.rq_psn, 0x123456);
	p.set = SET(STATE) | SET(CUR_STATE);
	p.state = NIC_QP_ERR;
	p.cur_state = NIC_QP_RTS;
	assert_int_equal(nic_qp_modify(nic, qp.qpn, &p, 0), -EINVAL);
	p.set = SET(STATE);
	p.state = NIC_QP_STATE_COUNT;
	assert_int_equal(nic_qp_modify(nic, qp.qpn, &p, 0), -EINVAL);
	assert_int_equal(nic_qp_modify(nic, 0x555555, &p, 0), -EINVAL);
	assert_int_equal(nic_qp_query(nic, 0x555555, &q), -EINVAL);
	bed_close(&b);
}

/* ---- error and flush ------------------------------------------------------------------------- */

/* To error by request: what is in flight, what was not begun, and all receives are flushed, in
 * order. */
static void flush_in_order(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.sq_count = 256, .rq_count = 128});
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 0);

	(void)state;
	for (int i = 0; i < 100; i++)
		bed_receive(&b, 8);
	wr.signal = false;
	wr.inline_data = "0123456789012345678901234567890123456789";
	wr.inline_bytes = 40;
	for (uint16_t i = 0; i < 100; i++)
		assert_int_equal(fake_post(&b.pair.a, &wr), 2 * i);
	b.w->room = 3;
	fake_ring(&b.pair.a);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
	assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_ERR), 0);
	fake_run(b.w, 0);
	fake_run(b.w, 1);
	for (uint16_t i = 0; i < 100; i++) {
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 2 * i, 0x05, 0xf5);
		expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, i, 0x05, 0xf5);
	}
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(nic_counters(b.w->nics[0])->req_cqe_flush, 100);
	assert_int_equal(nic_counters(b.w->nics[1])->resp_cqe_flush, 100);
	/* What is posted later is flushed too, entries and receives. */
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 200, 0x05, 0xf5);
	bed_receive(&b, 8);
	nic_scan(b.w->nics[1], b.w->now_ns);
	fake_run(b.w, 1);
	expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 100, 0x05, 0xf5);
	bed_close(&b);
}

/* Flush completions stop at the doorbell record's value, whatever is in the ring. */
static void flush_stops_at_the_record(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

	(void)state;
	for (int i = 0; i < 10; i++)
		fake_post(&b.pair.a, &wr);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4 * DB_SEND, 4);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
	fake_run(b.w, 0);
	for (uint16_t i = 0; i < 4; i++)
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, i, 0x05, 0xf5);
	expect_none(&b.pair.a.send_cq);
	bed_close(&b);
}

/* Flushing rings of nonsense, or that are gone, ends. */
static void flush_of_nonsense(void **state)
{
	static const char *const rows[] = {"lengths of zero", "ring is gone", "records are gone",
					   "records of nonsense", "lengths over what is posted"};

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct bed b = bed_open(NULL);
		struct fake_cqe cqe;
		int count = 0;

		print_message("row: %s\n", rows[i]);
		be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4 * DB_SEND,
			   i == 3 ? 1000 : 10);
		be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4 * DB_RECV,
			   i == 3 ? 1000 : 10);
		if (i == 1)
			fake_fault(b.w, b.pair.a.rq_va, 16 * 64 + 64 * 64);
		else if (i == 2)
			fake_fault(b.w, b.pair.a.db_va, 8);
		else if (i == 4)
			((uint8_t *)fake_mem(b.w, b.pair.a.sq_va))[7] = 63;
		assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
		fake_run(b.w, 0);
		nic_scan(b.w->nics[0], b.w->now_ns);
		fake_run(b.w, 0);
		while (fake_poll(&b.pair.a.send_cq, &cqe))
			count++;
		assert_int_equal(count, i == 2 || i == 3 ? 0 : 1);
		bed_close(&b);
	}
}

/* ---- drain ----------------------------------------------------------------------------------- */

/* SQD: what is in flight completes, nothing new starts, one event; back in RTS the rest goes. */
static void drain(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	b.w->room = 2;
	bed_post(&b, WQE_OP_WRITE, 1000);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_SQD), 0);
	bed_post(&b, WQE_OP_WRITE, 8);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_SQ_DRAINED), 0);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 1000);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_SQ_DRAINED), 1);
	/* It still responds. */
	struct roce_pkt pkt = {.opcode = ROCE_OP_RC_WRITE_ONLY,
			       .psn = 0x200,
			       .pkey = 0xffff,
			       .dqpn = b.pair.a.qpn,
			       .ack_req = true};
	fake_send(b.w, 0, &pkt);
	expect_packet(&b, ROCE_OP_RC_ACK, 0x200);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_SQD), 0);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RTS), 0);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 8);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_SQ_DRAINED), 1);
	/* With nothing in flight it is drained at once. */
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_SQD), 0);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_SQ_DRAINED), 2);
	bed_close(&b);
}

/* ---- reset ----------------------------------------------------------------------------------- */

/*
 * [cases 16] Reset forgets all, records are not looked at, and the queue pair works again with new
 * PSNs; packets of its former life are dropped or refused, and never mistaken.
 */
static void reset_and_again(void **state)
{
	struct fake_opts again = {.psn_a = 0x800000, .psn_b = 0x900000};
	struct bed b = bed_open(NULL);

	(void)state;
	for (int i = 0; i < 5; i++)
		bed_post(&b, WQE_OP_READ, 3000);
	for (int i = 0; i < 3; i++)
		fake_deliver(b.w, 0);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RESET), 0);
	nic_scan(b.w->nics[0], b.w->now_ns);
	assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_RESET), 0);
	fake_advance(b.w, 10 * TIMEOUT_NS);
	/* The driver's part of a reset. */
	memset(fake_mem(b.w, b.pair.a.db_va), 0, 8);
	memset(fake_mem(b.w, b.pair.b.db_va), 0, 8);
	b.pair.a.sq_pi = b.pair.b.rq_pi = 0;
	fake_qp_ready(&b.pair.a, b.pair.b.qpn, false, &again);
	fake_qp_ready(&b.pair.b, b.pair.a.qpn, true, &again);
	bed_post(&b, WQE_OP_WRITE, 100);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 100);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_RTS);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
	bed_close(&b);
}

/* A copy of an entry that was made before a reset is not used for the one that comes after it. */
static void reset_forgets_copies(void **state)
{
	struct fake_opts again = {.mtu_bytes = 256, .psn_a = 0x800000, .psn_b = 0x900000};
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct fake_wr wr = bed_wr(&b, WQE_OP_READ, 600);

	(void)state;
	memset(bed_src(&b), 1, 4096);
	bed_post(&b, WQE_OP_READ, 600);
	fake_deliver(b.w, 0);
	fake_deliver(b.w, 0);
	while (b.w->queue_count)
		fake_drop(b.w, 0);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RESET), 0);
	assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_RESET), 0);
	memset(fake_mem(b.w, b.pair.a.db_va), 0, 8);
	b.pair.a.sq_pi = 0;
	fake_qp_ready(&b.pair.a, b.pair.b.qpn, false, &again);
	fake_qp_ready(&b.pair.b, b.pair.a.qpn, true, &again);
	wr.pieces[0].va += 2000;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 600);
	assert_int_equal(bed_src(&b)[0], 0);
	assert_int_equal(bed_src(&b)[256], 1);
	assert_int_equal(bed_src(&b)[2000], 0);
	assert_int_equal(bed_src(&b)[2599], 0);
	assert_int_equal(bed_src(&b)[2600], 1);
	bed_close(&b);
}

/* From reset to error nothing is flushed: the records are what the last use left. */
static void reset_to_error_flushes_nothing(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RESET), 0);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
	nic_scan(b.w->nics[0], b.w->now_ns);
	fake_run(b.w, 0);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RESET), 0);
	bed_close(&b);
}

/* Destroy in the middle of everything: no packet, no completion, no memory of it afterwards. */
static void destroy_in_the_middle(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256, .retry_count = 1});

	(void)state;
	b.w->room = 3;
	bed_post(&b, WQE_OP_WRITE, 5000);
	bed_post(&b, WQE_OP_READ, 5000);
	assert_int_equal(nic_qp_destroy(b.w->nics[0], b.pair.a.qpn), 0);
	nic_check(b.w->nics[0]);
	b.w->room = 100;
	fake_advance(b.w, 1);
	assert_int_equal(b.w->queue_count, 3);
	fake_settle(b.w);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(nic_deadline_ns(b.w->nics[0]), UINT64_MAX);
	/* The peer of a destroyed queue pair runs out of retries. */
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 0);
	fake_post(&b.pair.b, &wr);
	fake_ring(&b.pair.b);
	for (int i = 0; i < 2; i++) {
		fake_settle(b.w);
		fake_advance(b.w, TIMEOUT_NS);
	}
	expect_error(&b.pair.b.send_cq, CQE_REQ_ERR, 0, 0x15, 0x81);
	bed_close(&b);
}

/* Those that are left are still watched, whichever goes first. */
static void destroy_in_any_order(void **state)
{
	(void)state;
	for (uint32_t gone = 0; gone < 3; gone++) {
		struct fake_world *w = fake_world_new(NULL);
		struct fake_pair pairs[3];
		struct fake_cqe cqe;

		for (int i = 0; i < 3; i++)
			fake_pair_connect(w, &pairs[i], NULL);
		assert_int_equal(nic_qp_destroy(w->nics[0], pairs[gone].a.qpn), 0);
		nic_check(w->nics[0]);
		for (uint32_t i = 0; i < 3; i++) {
			struct fake_wr wr = {.opcode = WQE_OP_NOP, .signal = true};

			fake_post(&pairs[i].a, &wr);
			be32_store((uint8_t *)fake_mem(w, pairs[i].a.db_va) + 4 * DB_SEND, 1);
		}
		nic_scan(w->nics[0], w->now_ns);
		fake_run(w, 0);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(fake_poll(&pairs[i].a.send_cq, &cqe), i != gone);
		fake_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(create_checks_attributes),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(reserved_numbers),
	    cmocka_unit_test(no_numbers_left),
	    cmocka_unit_test(edges),
	    cmocka_unit_test(xrc_edges),
	    cmocka_unit_test(values),
	    cmocka_unit_test(flush_in_order),
	    cmocka_unit_test(flush_stops_at_the_record),
	    cmocka_unit_test(flush_of_nonsense),
	    cmocka_unit_test(drain),
	    cmocka_unit_test(reset_and_again),
	    cmocka_unit_test(reset_forgets_copies),
	    cmocka_unit_test(reset_to_error_flushes_nothing),
	    cmocka_unit_test(destroy_in_the_middle),
	    cmocka_unit_test(destroy_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
