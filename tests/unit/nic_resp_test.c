/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what a responder does with each request, in and out of sequence, and what it answers.
 * How: two NICs of tests/support/fake_nic.h; the test forges, doubles, reorders and drops packets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

/* ---- sequence -------------------------------------------------------------------------------- */

/* A gap: one NAK, however many packets come behind it, until the missing one does. */
static void gap_gets_one_nak(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	for (int i = 0; i < 3; i++)
		bed_post(&b, WQE_OP_WRITE, 8);
	fake_drop(b.w, 0);
	fake_deliver(b.w, 0);
	fake_deliver(b.w, 0);
	assert_int_equal(b.w->queue_count, 1);
	expect_answer(&b, 0x60, 0x100);
	fake_deliver(b.w, 0);
	assert_int_equal(b.w->queue_count, 3);
	fake_settle(b.w);
	for (uint16_t i = 0; i < 3; i++)
		expect_done(&b.pair.a.send_cq, CQE_REQ, i, 8);
	assert_int_equal(nic_counters(b.w->nics[1])->tx_nak_sequence, 1);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_out_of_sequence, 2);
	bed_close(&b);
}

/* Duplicates of WRITEs and SENDs are acknowledged, with the newest PSN, and not done again. */
static void duplicates_are_acknowledged(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	bed_receive(&b, 100);
	memset(bed_payload, 1, 100);
	bed_send_request(&b, ROCE_OP_RC_SEND_ONLY, 0x100, 100);
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x101, 8);
	memset(bed_payload, 2, 100);
	while (b.w->queue_count)
		fake_drop(b.w, 0);
	bed_send_request(&b, ROCE_OP_RC_SEND_ONLY, 0x100, 100);
	expect_answer(&b, 0x1f, 0x101);
	fake_drop(b.w, 0);
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x101, 8);
	expect_answer(&b, 0x1f, 0x101);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 100);
	expect_none(&b.pair.b.recv_cq);
	for (int i = 0; i < 100; i++)
		assert_int_equal(bed_dst(&b)[i], 1);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_duplicate, 2);
	bed_close(&b);
}

/* ---- form ------------------------------------------------------------------------------------ */

/* Sequences of packets that no requester may send: NAK invalid request, error, silence. */
static void invalid_requests(void **state)
{
	static const struct {
		const char *name;
		struct {
			uint8_t opcode;
			uint32_t len;
			uint32_t reth_len; /* 0: len */
		} packets[2];
	} rows[] = {
	    {"middle without first", {{ROCE_OP_RC_SEND_MIDDLE, 1024, 0}}},
	    {"last without first", {{ROCE_OP_RC_WRITE_LAST, 8, 0}}},
	    {"only inside a message",
	     {{ROCE_OP_RC_WRITE_FIRST, 1024, 2000}, {ROCE_OP_RC_SEND_ONLY, 8, 0}}},
	    {"read inside a message",
	     {{ROCE_OP_RC_SEND_FIRST, 1024, 0}, {ROCE_OP_RC_READ_REQ, 0, 8}}},
	    {"other kind's middle",
	     {{ROCE_OP_RC_WRITE_FIRST, 1024, 4000}, {ROCE_OP_RC_SEND_MIDDLE, 1024, 0}}},
	    {"first that is short", {{ROCE_OP_RC_WRITE_FIRST, 1020, 4000}}},
	    {"first over the MTU", {{ROCE_OP_RC_SEND_FIRST, 2048, 0}}},
	    {"only over the MTU", {{ROCE_OP_RC_SEND_ONLY, 1028, 0}}},
	    {"last without bytes",
	     {{ROCE_OP_RC_WRITE_FIRST, 1024, 2000}, {ROCE_OP_RC_WRITE_LAST, 0, 0}}},
	    {"less than announced", {{ROCE_OP_RC_WRITE_ONLY, 8, 12}}},
	    {"more than announced", {{ROCE_OP_RC_WRITE_ONLY, 12, 8}}},
	    {"last before all is in",
	     {{ROCE_OP_RC_WRITE_FIRST, 1024, 2000}, {ROCE_OP_RC_WRITE_LAST, 8, 0}}},
	    {"first of a short message", {{ROCE_OP_RC_WRITE_FIRST, 1024, 1024}}},
	    {"write over 2^31", {{ROCE_OP_RC_WRITE_FIRST, 1024, 0x80000001}}},
	    {"read over 2^31", {{ROCE_OP_RC_READ_REQ, 0, 0x80000001}}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(NULL);
		bool two = rows[i].packets[1].opcode != 0;

		print_message("row: %s\n", rows[i].name);
		bed_receive(&b, 8192);
		for (uint32_t k = 0; k < 1u + two; k++) {
			struct roce_pkt pkt = bed_request(&b, rows[i].packets[k].opcode, 0x100 + k,
							  rows[i].packets[k].len);

			if (rows[i].packets[k].reth_len)
				pkt.reth.len_bytes = rows[i].packets[k].reth_len;
			pkt.ack_req = false;
			fake_send(b.w, 1, &pkt);
		}
		assert_int_equal(b.w->queue_count, 1);
		expect_answer(&b, 0x61, 0x100 + two);
		assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_ERR);
		assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_REQ_ERR), 1);
		bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x100 + two, 8);
		assert_int_equal(b.w->queue_count, 1);
		bed_close(&b);
	}
}

/* [cases 15] Path MTUs that differ: what fits both passes, the first packet over the smaller is
 * refused. */
static void mtus_that_differ(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 1024, .mtu_b_bytes = 512});

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 512);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 512);
	bed_post(&b, WQE_OP_WRITE, 513);
	fake_settle(b.w);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x12, 0x8a);
	bed_close(&b);
	b = bed_open(&(struct fake_opts){.mtu_bytes = 512, .mtu_b_bytes = 1024});
	bed_post(&b, WQE_OP_WRITE, 512);
	bed_post(&b, WQE_OP_WRITE, 513);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 512);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x12, 0x8a);
	bed_close(&b);
}

/* ---- receives -------------------------------------------------------------------------------- */

/* A receive of several pieces, the last of them short of the ring's entry: lkey 0x100 ends the
 * list. */
static void receive_is_scattered(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct fake_piece pieces[3];
	uint8_t *dst = bed_dst(&b);

	(void)state;
	pieces[0] = (struct fake_piece){b.dst.va + 1000, 300, b.dst.key};
	pieces[1] = (struct fake_piece){b.dst.va, 1, b.dst.key};
	pieces[2] = (struct fake_piece){b.dst.va + 2000, 400, b.dst.key};
	fake_receive(&b.pair.b, pieces, 3);
	bed_post(&b, WQE_OP_SEND, 600);
	fake_settle(b.w);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 600);
	assert_memory_equal(dst + 1000, bed_src(&b), 300);
	assert_int_equal(dst[1300], 0);
	assert_int_equal(dst[0], bed_src(&b)[300]);
	assert_memory_equal(dst + 2000, bed_src(&b) + 301, 299);
	assert_int_equal(dst[2299], 0);
	bed_close(&b);
}

/* A bad piece fails its receive only if bytes get to it. */
static void bad_piece_matters_when_it_is_reached(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_piece pieces[2];

	(void)state;
	pieces[0] = (struct fake_piece){b.dst.va, 100, b.dst.key};
	pieces[1] = (struct fake_piece){b.dst.va, 100, b.dst.key ^ 1};
	fake_receive(&b.pair.b, pieces, 2);
	fake_receive(&b.pair.b, pieces, 2);
	bed_post(&b, WQE_OP_SEND, 100);
	fake_settle(b.w);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 100);
	bed_post(&b, WQE_OP_SEND, 101);
	fake_settle(b.w);
	expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 1, 0x04, 0x52);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 100);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x14, 0);
	bed_close(&b);
}

/* Without a receive ring a SEND finds no receive; READs and WRITEs work. */
static void no_receive_ring(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.rq_count = UINT32_MAX, .rnr_retry = 1});

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	bed_post(&b, WQE_OP_SEND, 8);
	fake_settle(b.w);
	fake_advance(b.w, 640000);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x16, 0x87);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
	bed_close(&b);
}

/* A receive counter that is gone, or says more than the ring holds. */
static void bad_receive_counter(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bed b = bed_open(NULL);

		bed_receive(&b, 8);
		if (i == 0)
			be32_store(fake_mem(b.w, b.pair.b.db_va), 17);
		else if (i == 1)
			fake_fault(b.w, b.pair.b.db_va, 4);
		else
			fake_fault(b.w, b.pair.b.rq_va, 4);
		bed_post(&b, WQE_OP_SEND, 8);
		fake_settle(b.w);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x14, 0);
		assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_FATAL), 1);
		bed_close(&b);
	}
}

/* Immediate data with SEND and WRITE; the latter takes a receive and only counts its bytes. */
static void immediate_data(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE_IMM, 600);
	struct fake_cqe cqe;

	(void)state;
	bed_receive(&b, 1);
	bed_receive(&b, 300);
	wr.imm = 0xcafe0001;
	fake_post(&b.pair.a, &wr);
	wr = bed_wr(&b, WQE_OP_SEND_IMM, 300);
	wr.imm = 0xcafe0002;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	assert_int_equal(fake_poll(&b.pair.b.recv_cq, &cqe), 1);
	assert_int_equal(cqe.opcode, CQE_RESP_WR_IMM);
	assert_int_equal(cqe.imm, 0xcafe0001);
	assert_int_equal(cqe.byte_cnt, 600);
	assert_int_equal(cqe.user_index, 0x701);
	assert_int_equal(cqe.qpn, b.pair.b.qpn);
	assert_int_equal(fake_poll(&b.pair.b.recv_cq, &cqe), 1);
	assert_int_equal(cqe.opcode, CQE_RESP_SEND_IMM);
	assert_int_equal(cqe.imm, 0xcafe0002);
	assert_int_equal(cqe.byte_cnt, 300);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 600);
	bed_close(&b);
}

/* ---- READs and atomics ----------------------------------------------------------------------- */

/* [cases 11] A READ asked for again gives the same bytes, whole, from the middle, or a part of it.
 */
static void duplicate_reads(void **state)
{
	static const struct {
		const char *name;
		uint32_t first; /* packet */
		uint32_t len;
		uint32_t answers;
		uint8_t opcode;
	} rows[] = {
	    {"whole", 0, 1000, 4, ROCE_OP_RC_READ_RESP_FIRST},
	    {"from the second", 1, 744, 3, ROCE_OP_RC_READ_RESP_FIRST},
	    {"last only", 3, 232, 1, ROCE_OP_RC_READ_RESP_ONLY},
	    {"two in the middle", 1, 512, 2, ROCE_OP_RC_READ_RESP_FIRST},
	    {"more than there was", 1, 745, 0, 0},
	};
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	memcpy(bed_dst(&b), bed_src(&b), 1000);
	struct roce_pkt pkt = bed_request(&b, ROCE_OP_RC_READ_REQ, 0x100, 0);
	pkt.reth.len_bytes = 1000;
	fake_send(b.w, 1, &pkt);
	/* Something newer, so that it is really a duplicate of an older one. */
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x104, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t off = rows[i].first * 256;

		print_message("row: %s\n", rows[i].name);
		while (b.w->queue_count)
			fake_drop(b.w, 0);
		pkt.psn = 0x100 + rows[i].first;
		pkt.reth.va = b.dst.va + off;
		pkt.reth.len_bytes = rows[i].len;
		fake_send(b.w, 1, &pkt);
		assert_int_equal(b.w->queue_count, rows[i].answers);
		for (uint32_t k = 0; k < rows[i].answers; k++) {
			struct roce_pkt r = fake_pkt(b.w, k);

			assert_int_equal(r.psn, 0x100 + rows[i].first + k);
			assert_memory_equal(r.payload, bed_src(&b) + off + k * 256,
					    r.payload_bytes);
			if (k == 0)
				assert_int_equal(r.opcode, rows[i].opcode);
		}
	}
	bed_close(&b);
}

/* Several repetitions of one READ before any is answered: one answer, with all that was asked for.
 */
static void repetitions_join(void **state)
{
	static const struct {
		const char *name;
		uint32_t first[2], len[2];
		uint32_t answer_first, answers;
	} rows[] = {
	    {"from the middle, then whole", {1, 0}, {744, 1000}, 0, 4},
	    {"whole, then from the middle", {0, 2}, {1000, 488}, 0, 4},
	    {"a part, then all from there", {1, 1}, {512, 744}, 1, 3},
	    {"the same twice", {1, 1}, {744, 744}, 1, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
		struct roce_pkt pkt = bed_request(&b, ROCE_OP_RC_READ_REQ, 0x100, 0);

		print_message("row: %s\n", rows[i].name);
		pkt.reth.len_bytes = 1000;
		fake_send(b.w, 1, &pkt);
		while (b.w->queue_count)
			fake_drop(b.w, 0);
		b.w->room = 0;
		for (int k = 0; k < 2; k++) {
			pkt.psn = 0x100 + rows[i].first[k];
			pkt.reth.va = b.dst.va + 256 * rows[i].first[k];
			pkt.reth.len_bytes = rows[i].len[k];
			fake_send(b.w, 1, &pkt);
		}
		b.w->room = 10;
		fake_advance(b.w, 1);
		assert_int_equal(b.w->queue_count, rows[i].answers);
		assert_int_equal(fake_pkt(b.w, 0).psn, 0x100 + rows[i].answer_first);
		assert_int_equal(fake_pkt(b.w, rows[i].answers - 1).opcode,
				 ROCE_OP_RC_READ_RESP_LAST);
		bed_close(&b);
	}
}

/* A duplicate READ that names other memory than the original is not answered. */
static void duplicate_read_that_lies(void **state)
{
	struct bed b = bed_open(NULL);
	struct roce_pkt pkt = bed_request(&b, ROCE_OP_RC_READ_REQ, 0x100, 0);

	(void)state;
	pkt.reth.len_bytes = 8;
	fake_send(b.w, 1, &pkt);
	fake_drop(b.w, 0);
	pkt.reth.va += 8;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(b.w->queue_count, 0);
	pkt.reth.va -= 8;
	pkt.reth.rkey ^= 1;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(b.w->queue_count, 0);
	/* An atomic with that PSN is none either. */
	bed_send_request(&b, ROCE_OP_RC_FETCH_ADD, 0x100, 0);
	assert_int_equal(b.w->queue_count, 0);
	bed_close(&b);
}

/* An atomic's address is aligned as the peer names it, and as it lies in our memory: both count. */
static void atomics_are_aligned_twice(void **state)
{
	(void)state;
	for (uint32_t off = 0; off < 8; off += 4) {
		struct bed b = bed_open(NULL);
		struct nic_mkey_attr attr = {.pdn = b.w->sides[1].pdn,
					     .access = BED_ALL,
					     .va = 0x1000,
					     .len_bytes = 64,
					     .host_va = b.dst.va + 4};
		struct roce_pkt pkt = bed_request(&b, ROCE_OP_RC_FETCH_ADD, 0x100, 0);

		pkt.atomic.va = 0x1000 + off;
		assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &pkt.atomic.rkey), 0);
		fake_send(b.w, 1, &pkt);
		expect_answer(&b, 0x61, 0x100);
		bed_close(&b);
	}
}

/* [cases 17] More READs at once than the responder agreed to serve: NAK invalid request. */
static void too_many_reads(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.dest_rd_atomic = 2});
	struct roce_pkt pkt = bed_request(&b, ROCE_OP_RC_READ_REQ, 0x100, 0);

	(void)state;
	pkt.reth.len_bytes = 8;
	b.w->room = 0;
	for (uint32_t i = 0; i < 3; i++) {
		pkt.psn = 0x100 + i;
		fake_send(b.w, 1, &pkt);
	}
	b.w->room = 10;
	fake_advance(b.w, 1);
	/* The two that were agreed on are served. */
	assert_int_equal(b.w->queue_count, 3);
	expect_packet(&b, ROCE_OP_RC_READ_RESP_ONLY, 0x100);
	fake_drop(b.w, 0);
	expect_packet(&b, ROCE_OP_RC_READ_RESP_ONLY, 0x101);
	fake_drop(b.w, 0);
	expect_answer(&b, 0x61, 0x102);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_ERR);
	bed_close(&b);
}

/* Atomics take the same places as READs; the one over the limit changes nothing. */
static void too_many_atomics(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.dest_rd_atomic = 2});
	uint64_t value;

	(void)state;
	b.w->room = 0;
	for (uint32_t i = 0; i < 3; i++)
		bed_send_request(&b, ROCE_OP_RC_FETCH_ADD, 0x100 + i, 0);
	memcpy(&value, bed_dst(&b), sizeof(value));
	assert_int_equal(value, 2);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_ERR);
	bed_close(&b);
}

/* [cases 13] A region that goes away between the packets of a WRITE: what is in memory is a prefix
 * of whole packets. */
static void region_goes_between_packets_of_a_write(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 2000);
	fake_deliver(b.w, 0);
	fake_deliver(b.w, 0);
	assert_int_equal(nic_mkey_destroy(b.w->nics[1], b.dst.key), 0);
	fake_settle(b.w);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x13, 0x88);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 512);
	assert_int_equal(bed_dst(&b)[512], 0);
	bed_close(&b);
}

/* [cases 2] 2^31 bytes go through, with their PSNs: WRITE with the largest packets. */
static void largest_message(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 4096});
	struct nic_mkey_attr attr = {.va = FAKE_VOID_VA,
				     .host_va = FAKE_VOID_VA,
				     .len_bytes = 1ull << 33,
				     .access = BED_ALL};
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 0);
	uint32_t lkey, rkey;

	(void)state;
	attr.pdn = b.w->sides[0].pdn;
	assert_int_equal(nic_mkey_create(b.w->nics[0], &attr, &lkey), 0);
	attr.pdn = b.w->sides[1].pdn;
	assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &rkey), 0);
	wr.piece_count = 1;
	wr.pieces[0] = (struct fake_piece){FAKE_VOID_VA, 0, lkey};
	wr.remote_va = FAKE_VOID_VA;
	wr.rkey = rkey;
	b.w->room = 64;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 1u << 31);
	assert_int_equal(b.w->void_written_bytes, 1ull << 31);
	assert_int_equal(nic_qp_find(b.w->nics[1], b.pair.b.qpn)->epsn, 0x100 + (1 << 19));
	bed_close(&b);
}

/* 2^31 bytes in 256-byte packets are 2^23 PSNs, half of all: nothing may be sent beyond them. */
static void largest_message_fills_the_window(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct nic_mkey_attr attr = {.va = FAKE_VOID_VA,
				     .host_va = FAKE_VOID_VA,
				     .len_bytes = 1ull << 33,
				     .access = BED_ALL};
	struct fake_wr wr = bed_wr(&b, WQE_OP_READ, 0);
	struct nic_qp *qp;

	(void)state;
	attr.pdn = b.w->sides[0].pdn;
	assert_int_equal(nic_mkey_create(b.w->nics[0], &attr, &wr.pieces[0].key), 0);
	attr.pdn = b.w->sides[1].pdn;
	assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &wr.rkey), 0);
	wr.piece_count = 1;
	wr.pieces[0].va = wr.remote_va = FAKE_VOID_VA;
	wr.pieces[0].len = 0;
	b.w->room = 64;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	bed_post(&b, WQE_OP_WRITE, 8);
	assert_int_equal(b.w->queue_count, 1);
	assert_int_equal(fake_pkt(b.w, 0).reth.len_bytes, 1u << 31);
	fake_deliver_copy(b.w, 0);
	qp = nic_qp_find(b.w->nics[1], b.pair.b.qpn);
	assert_int_equal(qp->epsn, 0x100 + (1 << 23));
	/* The same request again is a duplicate, although it is half the PSNs away. */
	fake_deliver(b.w, 0);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_duplicate, 1);
	/* It begins anew: the 63 responses that were on the wire come twice. */
	for (int i = 0; i < 63 + 1000; i++)
		fake_deliver(b.w, 0);
	assert_int_equal(b.w->void_written_bytes, 256 * 1000);
	expect_none(&b.pair.a.send_cq);
	bed_close(&b);
}

/* A queue pair in error is silent; so is one that is in reset or not there. */
static void dead_queue_pairs_are_silent(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bed b = bed_open(NULL);

		if (i == 0)
			assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_ERR), 0);
		else if (i == 1)
			assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_RESET), 0);
		else
			assert_int_equal(nic_qp_destroy(b.w->nics[1], b.pair.b.qpn), 0);
		bed_post(&b, WQE_OP_WRITE, 8);
		fake_settle(b.w);
		assert_int_equal(b.w->queue_count, 0);
		assert_int_equal(b.w->sent_packets, 1);
		bed_close(&b);
	}
}

/* Communication established: told once, at the first packet of a queue pair that only receives. */
static void first_packet_is_told(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_qp qp;

	(void)state;
	fake_qp_make(b.w, 1, NULL, &qp);
	fake_qp_ready(&qp, b.pair.a.qpn, true, NULL);
	nic_qp_find(b.w->nics[1], qp.qpn)->state = NIC_QP_RTR;
	b.pair.b.qpn = qp.qpn;
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x100, 8);
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x101, 8);
	assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_COMM_EST), 1);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gap_gets_one_nak),
	    cmocka_unit_test(duplicates_are_acknowledged),
	    cmocka_unit_test(invalid_requests),
	    cmocka_unit_test(mtus_that_differ),
	    cmocka_unit_test(receive_is_scattered),
	    cmocka_unit_test(bad_piece_matters_when_it_is_reached),
	    cmocka_unit_test(no_receive_ring),
	    cmocka_unit_test(bad_receive_counter),
	    cmocka_unit_test(immediate_data),
	    cmocka_unit_test(duplicate_reads),
	    cmocka_unit_test(repetitions_join),
	    cmocka_unit_test(duplicate_read_that_lies),
	    cmocka_unit_test(atomics_are_aligned_twice),
	    cmocka_unit_test(too_many_reads),
	    cmocka_unit_test(too_many_atomics),
	    cmocka_unit_test(region_goes_between_packets_of_a_write),
	    cmocka_unit_test(largest_message),
	    cmocka_unit_test(largest_message_fills_the_window),
	    cmocka_unit_test(dead_queue_pairs_are_silent),
	    cmocka_unit_test(first_packet_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
