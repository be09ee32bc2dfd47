/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what a UC responder does with messages, whole and broken.
 * How: two NICs of tests/support/fake_nic.h; the test forges, drops and doubles packets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static uint8_t bytes[8192];

static struct bed open_uc(void)
{
	return bed_open(&(struct fake_opts){.type = NIC_QP_UC});
}

static uint64_t dropped(struct bed *b)
{
	return nic_counters(b->w->nics[1])->rx_drop_message;
}

/* A packet to pair.b, as pair.a would send it. */
static struct roce_pkt packet(const struct bed *b, uint8_t opcode, uint32_t psn, uint32_t len)
{
	memset(bytes, (int)psn, sizeof(bytes));
	return (struct roce_pkt){.opcode = opcode,
				 .psn = psn,
				 .pkey = 0xffff,
				 .dqpn = b->pair.b.qpn,
				 .payload = bytes,
				 .payload_bytes = len,
				 .pad_bytes = (uint8_t)roce_pad_bytes(len),
				 .reth = {b->dst.va, b->dst.key, len}};
}

static void send_packet(struct bed *b, uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct roce_pkt pkt = packet(b, opcode, psn, len);

	fake_send(b->w, 1, &pkt);
	assert_int_equal(b->w->queue_count, 0); /* never an answer */
	assert_int_equal(fake_qp_state(&b->pair.b), NIC_QP_RTS);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void messages_arrive(void **state)
{
	struct bed b = open_uc();
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND_IMM, 3000);

	(void)state;
	bed_receive(&b, 4096);
	wr.imm = 9;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND_IMM, 0, 3000);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 3000);
	memset(bed_dst(&b), 0, 3000);
	bed_post(&b, WQE_OP_WRITE, 2500);
	fake_settle(b.w);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 2500);
	expect_none(&b.pair.b.recv_cq);
	bed_receive(&b, 0);
	bed_post(&b, WQE_OP_WRITE_IMM, 10);
	fake_settle(b.w);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_WR_IMM, 1, 10);
	assert_int_equal(dropped(&b), 0);
	bed_close(&b);
}

/* Ready to receive is enough; the first packet is told of. */
static void the_first_packet_is_an_event(void **state)
{
	struct bed b = {.w = fake_world_new(NULL)};
	struct fake_opts opts = {.type = NIC_QP_UC};
	struct nic_qp_params p = {
	    .set = NIC_QP_SET_STATE_F | NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F |
		   NIC_QP_SET_ACCESS_F,
	    .state = NIC_QP_INIT,
	    .port = 1,
	};
	struct roce_pkt pkt;

	(void)state;
	fake_qp_make(b.w, 1, &opts, &b.pair.b);
	assert_int_equal(nic_qp_modify(b.w->nics[1], b.pair.b.qpn, &p, b.w->now_ns), 0);
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F |
		NIC_QP_SET_RQ_PSN_F;
	p.state = NIC_QP_RTR;
	p.mtu_bytes = 1024;
	assert_int_equal(nic_qp_modify(b.w->nics[1], b.pair.b.qpn, &p, b.w->now_ns), 0);
	pkt = packet(&b, ROCE_OP_UC_SEND_ONLY, 0, 8);
	fake_send(b.w, 1, &pkt);
	fake_send(b.w, 1, &pkt);
	assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_COMM_EST), 1);
	bed_close(&b);
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* A SEND of three packets loses one of them, in turn. The next message takes its receive. */
static void a_lost_packet_loses_its_message(void **state)
{
	(void)state;
	for (uint32_t lost = 0; lost < 3; lost++) {
		struct bed b = open_uc();

		bed_receive(&b, 4096);
		bed_post(&b, WQE_OP_SEND, 3000);
		fake_drop(b.w, lost);
		fake_settle(b.w);
		expect_none(&b.pair.b.recv_cq);
		bed_post(&b, WQE_OP_SEND, 2000);
		fake_settle(b.w);
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 2000);
		expect_none(&b.pair.b.recv_cq);
		assert_memory_equal(bed_dst(&b), bed_src(&b), 2000);
		/* Without its first packet, a message never began. */
		assert_int_equal(dropped(&b), lost == 0 ? 0 : 1);
		assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
		bed_close(&b);
	}
}

/* Whole messages may be lost without a trace, and sequence numbers may start anywhere. */
static void any_message_may_start_anew(void **state)
{
	static const uint32_t psns[] = {0x200, 0x50, 0xffffff, 0};
	struct bed b = open_uc();

	(void)state;
	for (uint16_t i = 0; i < 4; i++) {
		bed_receive(&b, 64);
		send_packet(&b, ROCE_OP_UC_SEND_ONLY, psns[i], 8);
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, i, 8);
	}
	assert_int_equal(nic_counters(b.w->nics[1])->rx_out_of_sequence, 3);
	bed_close(&b);
}

/* The end of a SEND ends no WRITE. */
static void a_message_is_of_one_kind(void **state)
{
	struct bed b = open_uc();
	struct roce_pkt first = packet(&b, ROCE_OP_UC_WRITE_FIRST, 0x100, 1024);

	(void)state;
	bed_receive(&b, 4096);
	first.reth.len_bytes = 1032;
	fake_send(b.w, 1, &first);
	send_packet(&b, ROCE_OP_UC_SEND_LAST, 0x101, 8);
	expect_none(&b.pair.b.recv_cq);
	assert_int_equal(dropped(&b), 1);
	send_packet(&b, ROCE_OP_UC_WRITE_LAST, 0x102, 8);
	assert_int_equal(bed_dst(&b)[1024], 0);
	bed_close(&b);
}

/* A packet that comes twice breaks the message it is in: its second copy is not the one expected.
 */
static void a_doubled_packet_breaks_its_message(void **state)
{
	struct bed b = open_uc();

	(void)state;
	bed_receive(&b, 4096);
	send_packet(&b, ROCE_OP_UC_SEND_FIRST, 0x100, 1024);
	send_packet(&b, ROCE_OP_UC_SEND_MIDDLE, 0x101, 1024);
	send_packet(&b, ROCE_OP_UC_SEND_MIDDLE, 0x101, 1024);
	send_packet(&b, ROCE_OP_UC_SEND_LAST, 0x102, 8);
	expect_none(&b.pair.b.recv_cq);
	assert_int_equal(dropped(&b), 1);
	send_packet(&b, ROCE_OP_UC_SEND_ONLY, 0x103, 8);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
	bed_close(&b);
}

struct broken {
	const char *name;
	uint8_t opcodes[3]; /* the message; 0 is none */
	uint32_t lens[3];
	uint32_t drops;
};

/* Sequences of opcodes and lengths that are none, each on a queue pair of its own. */
static void broken_messages_are_dropped(void **state)
{
	static const struct broken rows[] = {
	    {"MIDDLE alone", {ROCE_OP_UC_SEND_MIDDLE}, {1024}, 0},
	    {"LAST alone", {ROCE_OP_UC_SEND_LAST}, {8}, 0},
	    {"WRITE LAST alone", {ROCE_OP_UC_WRITE_LAST}, {8}, 0},
	    {"FIRST in a message", {ROCE_OP_UC_SEND_FIRST, ROCE_OP_UC_SEND_FIRST}, {1024, 1024}, 1},
	    {"WRITE LAST in a SEND", {ROCE_OP_UC_SEND_FIRST, ROCE_OP_UC_WRITE_LAST}, {1024, 8}, 1},
	    {"short FIRST", {ROCE_OP_UC_SEND_FIRST, ROCE_OP_UC_SEND_LAST}, {1000, 8}, 1},
	    {"long ONLY", {ROCE_OP_UC_SEND_ONLY}, {1028}, 1},
	    {"empty LAST", {ROCE_OP_UC_SEND_FIRST, ROCE_OP_UC_SEND_LAST}, {1024, 0}, 1},
	    {"longer than its receive",
	     {ROCE_OP_UC_SEND_FIRST, ROCE_OP_UC_SEND_MIDDLE, ROCE_OP_UC_SEND_LAST},
	     {1024, 1024, 8},
	     1},
	    {"WRITE longer than announced", {ROCE_OP_UC_WRITE_FIRST}, {1024}, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = open_uc();

		print_message("%s\n", rows[i].name);
		bed_receive(&b, 2048);
		for (uint32_t n = 0; n < 3 && rows[i].opcodes[n] != 0; n++)
			send_packet(&b, rows[i].opcodes[n], 0x100 + n, rows[i].lens[n]);
		expect_none(&b.pair.b.recv_cq);
		assert_int_equal(dropped(&b), rows[i].drops);
		send_packet(&b, ROCE_OP_UC_SEND_ONLY, 0x103, 12);
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 12);
		bed_close(&b);
	}
}

/* No receive: the message is lost, all of it, even if one is posted before its end. */
static void without_a_receive_the_message_is_lost(void **state)
{
	struct bed b = open_uc();

	(void)state;
	send_packet(&b, ROCE_OP_UC_SEND_FIRST, 0x100, 1024);
	bed_receive(&b, 4096);
	send_packet(&b, ROCE_OP_UC_SEND_LAST, 0x101, 8);
	expect_none(&b.pair.b.recv_cq);
	assert_int_equal(dropped(&b), 1);
	send_packet(&b, ROCE_OP_UC_SEND_ONLY, 0x102, 8);
	expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
	/* A WRITE is there, but what it was to say is not. */
	send_packet(&b, ROCE_OP_UC_WRITE_ONLY_IMM, 0x103, 8);
	expect_none(&b.pair.b.recv_cq);
	assert_int_equal(dropped(&b), 2);
	bed_close(&b);
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* What the key or the queue pair does not allow changes nothing, and nobody is told. */
static void a_forbidden_write_is_dropped(void **state)
{
	struct bed b = open_uc();
	struct fake_region local = fake_region(b.w, 1, 4096, BED_LOCAL);
	struct roce_pkt pkt = packet(&b, ROCE_OP_UC_WRITE_ONLY, 0x100, 8);
	struct nic_qp_params p = {.set = NIC_QP_SET_ACCESS_F};

	(void)state;
	pkt.reth.va = local.va;
	pkt.reth.rkey = local.key;
	fake_send(b.w, 1, &pkt);
	pkt.reth.rkey = b.dst.key ^ 1;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(dropped(&b), 2);
	assert_int_equal(*(uint8_t *)fake_mem(b.w, local.va), 0);
	assert_int_equal(nic_qp_modify(b.w->nics[1], b.pair.b.qpn, &p, b.w->now_ns), 0);
	send_packet(&b, ROCE_OP_UC_WRITE_ONLY, 0x101, 8);
	assert_int_equal(dropped(&b), 3);
	assert_int_equal(bed_dst(&b)[0], 0);
	assert_int_equal(b.w->queue_count, 0);
	assert_int_equal(b.w->event_count, 0);
	bed_close(&b);
}

/* A region that goes away in the middle of a WRITE. */
static void a_region_may_go_half_way(void **state)
{
	struct bed b = open_uc();

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 3000);
	fake_deliver(b.w, 0);
	assert_int_equal(nic_mkey_destroy(b.w->nics[1], b.dst.key), 0);
	fake_settle(b.w);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 1024);
	assert_int_equal(bed_dst(&b)[1024], 0);
	assert_int_equal(dropped(&b), 1);
	bed_close(&b);
}

/* A receive whose own key is wrong is the application's fault: it completes with that error, and
 * the queue pair is in error. */
static void a_bad_receive_ends_the_queue_pair(void **state)
{
	struct bed b = open_uc();
	struct fake_piece piece = {b.dst.va, 64, b.dst.key ^ 1};
	struct roce_pkt pkt = packet(&b, ROCE_OP_UC_SEND_ONLY, 0x100, 8);

	(void)state;
	fake_receive(&b.pair.b, &piece, 1);
	fake_send(b.w, 1, &pkt);
	expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 0, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_ERR);
	assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_FATAL), 1);
	assert_int_equal(b.w->queue_count, 0);
	bed_close(&b);
}

/* Packets of other services, and of strangers, are not for it. */
static void only_its_peer_and_its_service(void **state)
{
	static const uint8_t opcodes[] = {ROCE_OP_RC_SEND_ONLY, ROCE_OP_UD_SEND_ONLY,
					  ROCE_OP_RC_ACK};
	struct bed b = {.w = fake_world_new(NULL)};
	struct fake_opts opts = {.type = NIC_QP_UC};

	(void)state;
	b.w->alien = true;
	fake_pair_connect(b.w, &b.pair, &opts);
	b.dst = fake_region(b.w, 1, 4096, BED_ALL);
	bed_receive(&b, 64);
	for (size_t i = 0; i < 3; i++)
		send_packet(&b, opcodes[i], 0x100, opcodes[i] == ROCE_OP_RC_ACK ? 0 : 8);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_qpn, 3);
	send_packet(&b, ROCE_OP_UC_SEND_ONLY, 0x100, 8);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_address, 1);
	expect_none(&b.pair.b.recv_cq);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(messages_arrive),
	    cmocka_unit_test(the_first_packet_is_an_event),
	    cmocka_unit_test(a_lost_packet_loses_its_message),
	    cmocka_unit_test(any_message_may_start_anew),
	    cmocka_unit_test(a_message_is_of_one_kind),
	    cmocka_unit_test(a_doubled_packet_breaks_its_message),
	    cmocka_unit_test(broken_messages_are_dropped),
	    cmocka_unit_test(without_a_receive_the_message_is_lost),
	    cmocka_unit_test(a_forbidden_write_is_dropped),
	    cmocka_unit_test(a_region_may_go_half_way),
	    cmocka_unit_test(a_bad_receive_ends_the_queue_pair),
	    cmocka_unit_test(only_its_peer_and_its_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
