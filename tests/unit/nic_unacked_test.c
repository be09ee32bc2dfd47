/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what UC and UD queue pairs send, when that completes, and what stops their send queue.
 * How: two NICs of tests/support/fake_nic.h, whose wire the test holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static struct bed open_type(enum nic_qp_type type)
{
	return bed_open(&(struct fake_opts){.type = type});
}

static uint16_t post(struct bed *b, const struct fake_wr *wr)
{
	uint16_t index = fake_post(&b->pair.a, wr);

	fake_ring(&b->pair.a);
	return index;
}

/* A datagram of len bytes to pair.b. */
static uint16_t post_datagram(struct bed *b, enum wqe_opcode opcode, uint32_t len)
{
	struct fake_address to = fake_to(&b->pair.b);
	struct fake_wr wr = bed_wr(b, opcode, len);

	wr.to = &to;
	return post(b, &wr);
}

/* ---- what is sent ---------------------------------------------------------------------------- */

/* A message of UC is cut at the path's MTU; nothing of it asks for an acknowledgement; it is
 * complete as soon as it is sent. */
static void uc_is_segmented_and_complete_when_sent(void **state)
{
	static const uint8_t opcodes[] = {
	    ROCE_OP_UC_SEND_FIRST,     ROCE_OP_UC_SEND_MIDDLE,  ROCE_OP_UC_SEND_LAST_IMM,
	    ROCE_OP_UC_WRITE_FIRST,    ROCE_OP_UC_WRITE_MIDDLE, ROCE_OP_UC_WRITE_LAST,
	    ROCE_OP_UC_WRITE_ONLY_IMM,
	};
	struct bed b = open_type(NIC_QP_UC);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND_IMM, 2500);

	(void)state;
	wr.imm = 0x1234;
	post(&b, &wr);
	bed_post(&b, WQE_OP_WRITE, 2048 + 1);
	bed_post(&b, WQE_OP_WRITE_IMM, 0);
	assert_int_equal(b.w->queue_count, 7);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 2500);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 2049);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 2, 0);
	for (uint32_t i = 0; i < 7; i++) {
		struct roce_pkt pkt = fake_pkt(b.w, i);

		assert_int_equal(pkt.opcode, opcodes[i]);
		assert_int_equal(pkt.psn, 0x100 + i);
		assert_int_equal(pkt.dqpn, b.pair.b.qpn);
		assert_false(pkt.ack_req);
	}
	assert_int_equal(fake_pkt(b.w, 2).imm, 0x1234);
	assert_int_equal(fake_pkt(b.w, 3).reth.len_bytes, 2049);
	assert_memory_equal(fake_pkt(b.w, 1).payload, bed_src(&b) + 1024, 1024);
	bed_close(&b);
}

/* Nothing is sent a second time, and no timer runs. */
static void nothing_is_sent_again(void **state)
{
	struct bed b = open_type(NIC_QP_UC);

	(void)state;
	bed_post(&b, WQE_OP_SEND, 100);
	fake_drop(b.w, 0);
	assert_int_equal(nic_deadline_ns(b.w->nics[0]), NIC_TIME_NEVER);
	fake_advance(b.w, 10000000000);
	assert_int_equal(b.w->queue_count, 0);
	bed_close(&b);
}

/* A datagram carries its key and its sender; bit 31 of an entry's key means the queue pair's. */
static void datagrams_have_a_deth(void **state)
{
	struct bed b = open_type(NIC_QP_UD);
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND_IMM, 5);

	(void)state;
	to.qkey = 0x22222222;
	wr.to = &to;
	wr.imm = 77;
	wr.solicited = true;
	post(&b, &wr);
	to.qkey = 0x80000001;
	wr.opcode = WQE_OP_SEND;
	post(&b, &wr);
	assert_int_equal(fake_pkt(b.w, 0).opcode, ROCE_OP_UD_SEND_ONLY_IMM);
	assert_int_equal(fake_pkt(b.w, 0).deth.qkey, 0x22222222);
	assert_int_equal(fake_pkt(b.w, 0).deth.src_qpn, b.pair.a.qpn);
	assert_int_equal(fake_pkt(b.w, 0).dqpn, b.pair.b.qpn);
	assert_int_equal(fake_pkt(b.w, 0).psn, 0x100);
	assert_int_equal(fake_pkt(b.w, 0).imm, 77);
	assert_int_equal(fake_pkt(b.w, 0).pad_bytes, 3);
	assert_true(fake_pkt(b.w, 0).se);
	assert_int_equal(fake_pkt(b.w, 1).opcode, ROCE_OP_UD_SEND_ONLY);
	assert_int_equal(fake_pkt(b.w, 1).deth.qkey, FAKE_QKEY);
	assert_int_equal(fake_pkt(b.w, 1).psn, 0x101);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 5);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 2, 5);
	bed_close(&b);
}

/* Each datagram goes where its own entry says, also when two queue pairs take turns on a full wire
 * and entries are read again. */
static void each_datagram_has_its_own_way(void **state)
{
	struct bed b = open_type(NIC_QP_UD);
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 8);
	struct fake_qp other;

	(void)state;
	fake_qp_make(b.w, 0, &(struct fake_opts){.type = NIC_QP_UD}, &other);
	fake_qp_ready(&other, 0, false, &(struct fake_opts){.type = NIC_QP_UD});
	b.w->room = 0;
	wr.to = &to;
	for (uint32_t i = 0; i < 6; i++) {
		to.dqpn = b.pair.b.qpn + i;
		to.grh_gid_fl = i;
		to.tclass = (uint8_t)(i << 2);
		fake_post(i & 1 ? &other : &b.pair.a, &wr);
	}
	fake_ring(&b.pair.a);
	fake_ring(&other);
	assert_int_equal(b.w->queue_count, 0);
	b.w->room = 6;
	fake_run(b.w, 0);
	assert_int_equal(b.w->queue_count, 6);
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t n = b.w->queue[i]->dqpn - b.pair.b.qpn;

		assert_int_equal(fake_pkt(b.w, i).dqpn, b.pair.b.qpn + n);
		assert_int_equal(b.w->queue[i]->path.flow_label, n);
		assert_int_equal(b.w->queue[i]->path.traffic_class, n << 2);
		assert_int_equal(fake_pkt(b.w, i).deth.src_qpn, n & 1 ? other.qpn : b.pair.a.qpn);
	}
	bed_close(&b);
}

/* Sixteen datagrams and one entry without a packet, unsignalled but for the last. */
static void unsignalled_entries_complete_silently(void **state)
{
	struct bed b = open_type(NIC_QP_UD);
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 8);

	(void)state;
	wr.to = &to;
	wr.signal = false;
	for (int i = 0; i < 15; i++)
		fake_post(&b.pair.a, &wr);
	fake_post(&b.pair.a, &(struct fake_wr){.opcode = WQE_OP_NOP});
	wr.signal = true;
	post(&b, &wr);
	assert_int_equal(b.w->queue_count, 16);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 31, 8);
	expect_none(&b.pair.a.send_cq);
	bed_close(&b);
}

static void inline_and_lists(void **state)
{
	struct bed b = open_type(NIC_QP_UD);
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = {.opcode = WQE_OP_SEND,
			     .signal = true,
			     .to = &to,
			     .inline_data = "the quick brown fox jumps over the lazy dog",
			     .inline_bytes = 43};

	(void)state;
	post(&b, &wr);
	assert_memory_equal(fake_pkt(b.w, 0).payload, wr.inline_data, 43);
	assert_int_equal(fake_pkt(b.w, 0).payload_bytes, 43);
	wr = bed_wr(&b, WQE_OP_SEND, 100);
	wr.to = &to;
	wr.pieces[1] = (struct fake_piece){b.src.va + 500, 60, b.src.key};
	wr.piece_count = 2;
	post(&b, &wr);
	assert_int_equal(fake_pkt(b.w, 1).payload_bytes, 160);
	assert_memory_equal(fake_pkt(b.w, 1).payload, bed_src(&b), 100);
	assert_memory_equal(fake_pkt(b.w, 1).payload + 100, bed_src(&b) + 500, 60);
	bed_close(&b);
}

/* ---- what fails ------------------------------------------------------------------------------ */

/* A datagram of the port's MTU goes; one byte more is a local length error. */
static void a_datagram_is_one_packet(void **state)
{
	struct bed b = open_type(NIC_QP_UD);

	(void)state;
	post_datagram(&b, WQE_OP_SEND, 4096);
	assert_int_equal(b.w->queue_count, 1);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 4096);
	post_datagram(&b, WQE_OP_SEND, 4097);
	assert_int_equal(b.w->queue_count, 1);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 2, CQE_SYND_LOCAL_LENGTH, CQE_VENDOR_NONE);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_SQE);
	bed_close(&b);
}

/* Each fault stops the send queue: what is behind it is flushed, what is posted later, too; the
 * receives stay. Then it works again. */
static void a_fault_stops_the_send_queue_alone(void **state)
{
	struct bed b = open_type(NIC_QP_UC);
	struct fake_wr bad = bed_wr(&b, WQE_OP_SEND, 100);
	struct roce_pkt pkt = {.opcode = ROCE_OP_UC_SEND_ONLY,
			       .psn = 0x200,
			       .pkey = 0xffff,
			       .payload = bed_src(&b),
			       .payload_bytes = 8};
	struct fake_region in = fake_region(b.w, 0, 64, BED_LOCAL);
	struct fake_piece piece = {in.va, 64, in.key};

	(void)state;
	/* Of three receives the NIC has taken one, and knows of the others. */
	for (int i = 0; i < 3; i++)
		fake_receive(&b.pair.a, &piece, 1);
	pkt.dqpn = b.pair.a.qpn;
	fake_send(b.w, 0, &pkt);
	expect_done(&b.pair.a.recv_cq, CQE_RESP_SEND, 0, 8);
	bad.pieces[0].key ^= 1;
	fake_post(&b.pair.a, &bad);
	bed_post(&b, WQE_OP_SEND, 100);
	assert_int_equal(b.w->queue_count, 0);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_SQE);
	expect_none(&b.pair.a.recv_cq);
	bed_post(&b, WQE_OP_SEND, 100);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 2, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	/* It still receives. */
	pkt.psn++;
	fake_send(b.w, 0, &pkt);
	expect_done(&b.pair.a.recv_cq, CQE_RESP_SEND, 1, 8);
	/* What is posted and not rung when it is to send again is flushed, too. */
	fake_post(&b.pair.a, &bad);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4 * DB_SEND, b.pair.a.sq_pi);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RTS), 0);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 3, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	bed_post(&b, WQE_OP_SEND, 100);
	assert_int_equal(b.w->queue_count, 1);
	expect_packet(&b, ROCE_OP_UC_SEND_ONLY, 0x100);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 4, 100);
	bed_close(&b);
}

/* A message of UC whose memory goes away half way: what is sent is sent, the rest never is. */
static void a_message_may_break_half_way(void **state)
{
	struct bed b = open_type(NIC_QP_UC);

	(void)state;
	fake_fault(b.w, b.src.va + 2048, 1024);
	bed_post(&b, WQE_OP_WRITE, 4096);
	assert_int_equal(b.w->queue_count, 2);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_PROT, CQE_VENDOR_NONE);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_SQE);
	fake_fault_none(b.w);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RTS), 0);
	bed_post(&b, WQE_OP_WRITE, 8);
	assert_int_equal(fake_pkt(b.w, 2).psn, 0x102);
	bed_close(&b);
}

struct refused {
	const char *name;
	enum nic_qp_type type;
	enum wqe_opcode opcode;
	bool compact;
	uint32_t sgid_index;
};

/* Operations that the service does not have, and addresses that lead nowhere. */
static void local_operation_errors(void **state)
{
	static const struct refused rows[] = {
	    {"READ on UC", NIC_QP_UC, WQE_OP_READ, false, 0},
	    {"atomic on UC", NIC_QP_UC, WQE_OP_ATOMIC_FA, false, 0},
	    {"WRITE on UD", NIC_QP_UD, WQE_OP_WRITE, false, 0},
	    {"READ on UD", NIC_QP_UD, WQE_OP_READ, false, 0},
	    {"no global address", NIC_QP_UD, WQE_OP_SEND, true, 0},
	    {"empty GID entry", NIC_QP_UD, WQE_OP_SEND, false, 1},
	    {"beyond the GID table", NIC_QP_UD, WQE_OP_SEND, false, NIC_GID_COUNT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = open_type(rows[i].type);
		struct fake_address to = fake_to(&b.pair.b);
		struct fake_wr wr = bed_wr(&b, rows[i].opcode, 8);

		print_message("%s\n", rows[i].name);
		to.compact = rows[i].compact;
		to.grh_gid_fl = rows[i].sgid_index << WQE_AV_SGID_INDEX_SHIFT;
		wr.to = rows[i].type == NIC_QP_UD ? &to : NULL;
		post(&b, &wr);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_QP_OP,
			     CQE_VENDOR_NONE);
		assert_int_equal(b.w->queue_count, 0);
		assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_SQE);
		bed_close(&b);
	}
}

/* An entry that is cut off before its address ends. */
static void an_address_may_be_cut_off(void **state)
{
	(void)state;
	for (uint8_t units = 1; units <= 3; units++) {
		struct bed b = open_type(NIC_QP_UD);
		struct fake_address to = fake_to(&b.pair.b);

		fake_post(&b.pair.a, &(struct fake_wr){.opcode = WQE_OP_SEND, .to = &to});
		((uint8_t *)fake_mem(b.w, b.pair.a.sq_va))[7] = units;
		fake_ring(&b.pair.a);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_QP_OP,
			     CQE_VENDOR_NONE);
		bed_close(&b);
	}
}

/* ---- a wire without room --------------------------------------------------------------------- */

/* Who does not take packets for half a second loses them; when he takes some again, all is well. */
static void a_blocked_wire_loses_packets_in_the_end(void **state)
{
	struct bed b = open_type(NIC_QP_UD);

	(void)state;
	b.w->room = 0;
	post_datagram(&b, WQE_OP_SEND, 8);
	expect_none(&b.pair.a.send_cq);
	fake_advance(b.w, 499999999);
	expect_none(&b.pair.a.send_cq);
	fake_advance(b.w, 1);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	post_datagram(&b, WQE_OP_SEND, 9);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 2, 9);
	assert_int_equal(nic_counters(b.w->nics[0])->tx_drop_late, 2);
	b.w->room = 1;
	post_datagram(&b, WQE_OP_SEND, 10);
	assert_int_equal(b.w->queue_count, 1);
	assert_int_equal(fake_pkt(b.w, 0).payload_bytes, 10);
	assert_int_equal(fake_pkt(b.w, 0).psn, 0x102);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 4, 10);
	/* Time starts afresh, whenever there was room. */
	post_datagram(&b, WQE_OP_SEND, 11);
	fake_advance(b.w, 300000000);
	fake_drop(b.w, 0);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 6, 11);
	post_datagram(&b, WQE_OP_SEND, 12);
	fake_advance(b.w, 499999999);
	expect_none(&b.pair.a.send_cq);
	fake_advance(b.w, 1);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 8, 12);
	bed_close(&b);
}

/* To a group, too: it has not left the port, and no counter says that it has. */
static void what_is_lost_was_not_sent(void **state)
{
	struct bed b = open_type(NIC_QP_UD);
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 8);
	uint64_t counters[STATS_COUNT];

	(void)state;
	to.dqpn = ROCE_QPN_MASK;
	to.rgid[0] = 0xff;
	wr.to = &to;
	b.w->room = 0;
	post(&b, &wr);
	fake_advance(b.w, 500000000);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	nic_stats(b.w->nics[0], counters);
	assert_int_equal(counters[STATS_port_xmit_discards], 1);
	assert_int_equal(counters[STATS_port_xmit_packets], 0);
	assert_int_equal(counters[STATS_multicast_xmit_packets], 0);
	assert_int_equal(counters[STATS_unicast_xmit_packets], 0);
	b.w->room = 1;
	post(&b, &wr);
	nic_stats(b.w->nics[0], counters);
	assert_int_equal(counters[STATS_multicast_xmit_packets], 1);
	assert_int_equal(counters[STATS_unicast_xmit_packets], 0);
	bed_close(&b);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void draining_ends_the_message_that_is_being_sent(void **state)
{
	struct bed b = open_type(NIC_QP_UC);

	(void)state;
	b.w->room = 1;
	bed_post(&b, WQE_OP_WRITE, 3000);
	bed_post(&b, WQE_OP_WRITE, 8);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_SQD), 0);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_SQ_DRAINED), 0);
	b.w->room = 100;
	fake_run(b.w, 0);
	assert_int_equal(b.w->queue_count, 3);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 3000);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_SQ_DRAINED), 1);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RTS), 0);
	fake_run(b.w, 0);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 8);
	bed_close(&b);
}

static void the_error_state_flushes_both_rings(void **state)
{
	struct bed b = open_type(NIC_QP_UD);
	struct fake_region in = fake_region(b.w, 0, 64, BED_LOCAL);
	struct fake_piece piece = {in.va, 64, in.key};

	(void)state;
	fake_receive(&b.pair.a, &piece, 1);
	b.w->room = 0;
	post_datagram(&b, WQE_OP_SEND, 8);
	post_datagram(&b, WQE_OP_SEND, 8);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
	fake_run(b.w, 0);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 2, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	expect_error(&b.pair.a.recv_cq, CQE_RESP_ERR, 0, CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH);
	bed_close(&b);
}

/* A query shows nothing of where the last datagram went. */
static void a_datagram_queue_pair_has_no_peer(void **state)
{
	struct bed b = open_type(NIC_QP_UD);
	struct nic_qp_params params;
	static const uint8_t none[16];

	(void)state;
	post_datagram(&b, WQE_OP_SEND, 8);
	assert_int_equal(nic_qp_query(b.w->nics[0], b.pair.a.qpn, &params), 0);
	assert_int_equal(params.dest_qpn, 0);
	assert_memory_equal(params.path.dgid, none, 16);
	assert_int_equal(params.qkey, FAKE_QKEY);
	assert_int_equal(params.sq_psn, 0x101);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(uc_is_segmented_and_complete_when_sent),
	    cmocka_unit_test(nothing_is_sent_again),
	    cmocka_unit_test(datagrams_have_a_deth),
	    cmocka_unit_test(each_datagram_has_its_own_way),
	    cmocka_unit_test(unsignalled_entries_complete_silently),
	    cmocka_unit_test(inline_and_lists),
	    cmocka_unit_test(a_datagram_is_one_packet),
	    cmocka_unit_test(a_fault_stops_the_send_queue_alone),
	    cmocka_unit_test(a_message_may_break_half_way),
	    cmocka_unit_test(local_operation_errors),
	    cmocka_unit_test(an_address_may_be_cut_off),
	    cmocka_unit_test(a_blocked_wire_loses_packets_in_the_end),
	    cmocka_unit_test(what_is_lost_was_not_sent),
	    cmocka_unit_test(draining_ends_the_message_that_is_being_sent),
	    cmocka_unit_test(the_error_state_flushes_both_rings),
	    cmocka_unit_test(a_datagram_queue_pair_has_no_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
