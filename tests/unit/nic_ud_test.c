/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: where a datagram's address vector leads, what a receiver is shown, and which datagrams it
 * never sees. How: two NICs of tests/support/fake_nic.h, on one port, on two hosts, on InfiniBand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "abi/roce_frame.h"
#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static const struct fake_opts ud = {.type = NIC_QP_UD};
static const struct nic_config infiniband = {
    .qp_count_max = 4096,
    .cq_count_max = 64,
    .mkey_count_max = 64,
    .pd_count_max = 4,
    .mtu_max_bytes = 2048,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
    .lid = 5,
};

static struct bed open_world(struct fake_world *w, bool alien)
{
	struct bed b = {.w = w};

	w->alien = alien;
	fake_pair_connect(w, &b.pair, &ud);
	b.src = fake_region(w, 0, 8192, BED_LOCAL);
	b.dst = fake_region(w, 1, 8192, BED_LOCAL);
	for (uint32_t i = 0; i < 8192; i++)
		bed_src(&b)[i] = (uint8_t)(i * 7 + 1);
	memset(bed_dst(&b), 0xee, 8192);
	return b;
}

static struct bed open_ud(void)
{
	return open_world(fake_world_new(NULL), false);
}

static void send_to(struct bed *b, const struct fake_address *to, uint32_t len)
{
	struct fake_wr wr = bed_wr(b, WQE_OP_SEND, len);

	wr.to = to;
	fake_post(&b->pair.a, &wr);
	fake_ring(&b->pair.a);
	fake_settle(b->w);
}

static struct fake_cqe received(struct bed *b)
{
	struct fake_cqe cqe;

	assert_int_equal(fake_poll(&b->pair.b.recv_cq, &cqe), 1);
	return cqe;
}

/* ---- what the receiver is shown -------------------------------------------------------------- */

/* IPv4: 20 bytes of nothing, a header as it could have been, and the data behind. */
static void ipv4_header(void **state)
{
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.b);
	static const uint8_t zero[20];
	struct roce_frame frame;
	struct fake_cqe cqe;
	uint8_t *grh = bed_dst(&b);
	uint8_t packet[20 + 8 + 12 + 8 + 100 + 4];

	(void)state;
	to.tclass = 0x48 | 3;
	to.hop_limit = 17;
	bed_receive(&b, 200);
	send_to(&b, &to, 100);
	cqe = received(&b);
	assert_int_equal(cqe.opcode, CQE_RESP_SEND);
	assert_int_equal(cqe.byte_cnt, 140);
	assert_int_equal(cqe.flags_rqpn, 0x1a000000 | b.pair.a.qpn);
	assert_int_equal(cqe.slid, 0);
	assert_int_equal(cqe.wqe_counter, 0);
	assert_memory_equal(grh, zero, 20);
	assert_memory_equal(grh + 40, bed_src(&b), 100);
	/* The codec takes it for a real one. */
	memset(packet, 0, sizeof(packet));
	memcpy(packet, grh + 20, 20);
	be16_store(packet + 22, ROCE_UDP_PORT);
	be16_store(packet + 24, sizeof(packet) - 20);
	assert_int_equal(roce_frame_decode_ip(&frame, packet, sizeof(packet)), ROCE_FRAME_OK);
	assert_int_equal(frame.traffic_class, 0x48);
	assert_int_equal(frame.hop_limit, 17);
	assert_int_equal(frame.bth_bytes, 12 + 8 + 100);
	assert_memory_equal(frame.dst, to.rgid, 16);
	assert_memory_equal(frame.src, to.rgid, 16);
	bed_close(&b);
}

/* Over a network, what it was is known of the addresses and the traffic class. */
static void ipv4_header_from_elsewhere(void **state)
{
	struct bed b = open_world(fake_world_new(NULL), true);
	struct fake_address to = fake_to(&b.pair.b);
	uint8_t sgid[16];

	(void)state;
	bed_receive(&b, 200);
	send_to(&b, &to, 8);
	assert_int_equal(received(&b).flags_rqpn, 0x1a000000 | b.pair.a.qpn);
	fake_gid(b.w, sgid, 0);
	assert_memory_equal(bed_dst(&b) + 32, sgid + 12, 4);
	assert_memory_equal(bed_dst(&b) + 36, to.rgid + 12, 4);
	bed_close(&b);
}

static void ipv6_header(void **state)
{
	static const uint8_t gid[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 9};
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.b);
	uint8_t *grh = bed_dst(&b);

	(void)state;
	nic_gid_set(b.w->nics[0], 3, gid);
	memcpy(to.rgid, gid, 16);
	to.grh_gid_fl = 3 << WQE_AV_SGID_INDEX_SHIFT | 0x12345;
	to.tclass = 0x20;
	to.hop_limit = 2;
	bed_receive(&b, 200);
	send_to(&b, &to, 50);
	assert_int_equal(received(&b).flags_rqpn, 0x19000000 | b.pair.a.qpn);
	assert_int_equal(be32_load(grh), 0x62012345);
	assert_int_equal(be16_load(grh + 4), 8 + 12 + 8 + 52 + 4);
	assert_int_equal(grh[6], 17);
	assert_int_equal(grh[7], 2);
	assert_memory_equal(grh + 8, gid, 16);
	assert_memory_equal(grh + 24, gid, 16);
	/* An entry that is taken back leads nowhere. */
	nic_gid_set(b.w->nics[0], 3, NULL);
	send_to(&b, &to, 50);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_SQE);
	bed_close(&b);
}

/* InfiniBand: without a global route the first 40 bytes are left alone; with one, a GRH. */
static void infiniband_lids(void **state)
{
	struct bed b = open_world(fake_world_new(&infiniband), false);
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_cqe cqe;

	(void)state;
	to.compact = true;
	to.rlid = 5;
	to.stat_rate_sl = 3 << 4 | 6;
	bed_receive(&b, 200);
	send_to(&b, &to, 100);
	cqe = received(&b);
	assert_int_equal(cqe.byte_cnt, 140);
	assert_int_equal(cqe.flags_rqpn, 0x06000000 | b.pair.a.qpn);
	assert_int_equal(cqe.slid, 5);
	assert_int_equal(bed_dst(&b)[0], 0xee);
	assert_int_equal(bed_dst(&b)[39], 0xee);
	assert_memory_equal(bed_dst(&b) + 40, bed_src(&b), 100);
	to.compact = false;
	bed_receive(&b, 200);
	send_to(&b, &to, 100);
	assert_int_equal(received(&b).flags_rqpn, 0x06000000 | b.pair.a.qpn);
	to.grh_gid_fl = 1u << WQE_AV_GRH_SHIFT;
	bed_receive(&b, 200);
	send_to(&b, &to, 100);
	assert_int_equal(received(&b).flags_rqpn, 0x16000000 | b.pair.a.qpn);
	assert_int_equal(be16_load(bed_dst(&b) + 4), 12 + 8 + 100 + 4);
	assert_int_equal(bed_dst(&b)[6], 0x1b);
	assert_memory_equal(bed_dst(&b) + 24, to.rgid, 16);
	bed_close(&b);
}

/* A peer's LID, and path bits that a port with one LID does not have. */
static void infiniband_paths(void **state)
{
	struct bed b = open_world(fake_world_new(&infiniband), false);
	struct fake_address to = {.compact = true, .rlid = 77, .dqpn = 1};
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 8);

	(void)state;
	wr.to = &to;
	fake_post(&b.pair.a, &wr);
	((uint8_t *)fake_mem(b.w, b.pair.a.sq_va))[16 + 13] = 0x7f; /* fl_mlid */
	fake_ring(&b.pair.a);
	assert_int_equal(b.w->queue[0]->path.dlid, 77);
	assert_int_equal(b.w->queue[0]->path.slid, 5);
	assert_true(b.w->queue[0]->path.datagram);
	bed_close(&b);
}

/* RoCE: the source port that the entry names, and its priority. */
static void ethernet_paths(void **state)
{
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 8);

	(void)state;
	to.rlid = 0xc123;
	to.stat_rate_sl = 5 << 1;
	to.tclass = 0xff;
	to.hop_limit = 9;
	wr.to = &to;
	fake_post(&b.pair.a, &wr);
	to.rlid = 0;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	assert_int_equal(b.w->queue[0]->path.udp_sport, 0xc123);
	assert_int_equal(b.w->queue[0]->path.sl, 5);
	assert_int_equal(b.w->queue[0]->path.traffic_class, 0xfc);
	assert_int_equal(b.w->queue[0]->path.hop_limit, 9);
	assert_int_equal(b.w->queue[1]->path.udp_sport, 0xc000);
	assert_int_equal(b.w->queue[0]->path.slid, 0);
	bed_close(&b);
}

/* To itself, too. */
static void to_itself(void **state)
{
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.a);
	struct fake_region in = fake_region(b.w, 0, 200, BED_LOCAL);
	struct fake_piece piece = {in.va, 200, in.key};
	struct fake_cqe cqe;

	(void)state;
	fake_receive(&b.pair.a, &piece, 1);
	send_to(&b, &to, 10);
	assert_int_equal(fake_poll(&b.pair.a.recv_cq, &cqe), 1);
	assert_int_equal(cqe.flags_rqpn & 0xffffff, b.pair.a.qpn);
	assert_memory_equal((uint8_t *)fake_mem(b.w, in.va) + 40, bed_src(&b), 10);
	bed_close(&b);
}

/* Immediate data, and a receive of several pieces that cut through the first 40 bytes. */
static void immediate_data_and_pieces(void **state)
{
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND_IMM, 100);
	struct fake_piece pieces[] = {{b.dst.va, 33, b.dst.key},
				      {b.dst.va + 1000, 12, b.dst.key},
				      {b.dst.va + 2000, 95, b.dst.key}};
	struct fake_cqe cqe;

	(void)state;
	wr.to = &to;
	wr.imm = 0xabcd;
	fake_receive(&b.pair.b, pieces, 3);
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	cqe = received(&b);
	assert_int_equal(cqe.opcode, CQE_RESP_SEND_IMM);
	assert_int_equal(cqe.imm, 0xabcd);
	assert_memory_equal(bed_dst(&b) + 1007, bed_src(&b), 5);
	assert_memory_equal(bed_dst(&b) + 2000, bed_src(&b) + 5, 95);
	assert_int_equal(bed_dst(&b)[33], 0xee);
	bed_close(&b);
}

/* ---- what it never sees ---------------------------------------------------------------------- */

/* A wrong key, no receive, one that is too short by a byte: lost, and the receive is the next
 * one's. The largest datagram fits exactly. */
static void datagrams_are_lost_silently(void **state)
{
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.b);
	const struct nic_counters *counters = nic_counters(b.w->nics[1]);

	(void)state;
	send_to(&b, &to, 8);
	assert_int_equal(counters->rx_drop_message, 1);
	bed_receive(&b, 40 + 99);
	send_to(&b, &to, 100);
	assert_int_equal(counters->rx_drop_message, 2);
	assert_int_equal(bed_dst(&b)[0], 0xee);
	to.qkey = FAKE_QKEY + 1;
	send_to(&b, &to, 8);
	assert_int_equal(counters->rx_drop_qkey, 1);
	expect_none(&b.pair.b.recv_cq);
	to.qkey = FAKE_QKEY;
	send_to(&b, &to, 99);
	assert_int_equal(received(&b).byte_cnt, 139);
	bed_receive(&b, 40 + 4096);
	send_to(&b, &to, 4096);
	assert_int_equal(received(&b).byte_cnt, 4136);
	assert_memory_equal(bed_dst(&b) + 40, bed_src(&b), 4096);
	bed_receive(&b, 40);
	send_to(&b, &to, 0);
	assert_int_equal(received(&b).byte_cnt, 40);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
	assert_int_equal(b.w->event_count, 0);
	bed_close(&b);
}

/* Its key can be changed while it is in use. */
static void the_key_can_be_changed(void **state)
{
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.b);
	struct nic_qp_params p = {.set = NIC_QP_SET_QKEY_F, .qkey = 0x99};

	(void)state;
	assert_int_equal(nic_qp_modify(b.w->nics[1], b.pair.b.qpn, &p, b.w->now_ns), 0);
	bed_receive(&b, 100);
	send_to(&b, &to, 8);
	expect_none(&b.pair.b.recv_cq);
	to.qkey = 0x99;
	send_to(&b, &to, 8);
	assert_int_equal(received(&b).byte_cnt, 48);
	bed_close(&b);
}

struct stranger {
	const char *name;
	uint8_t opcode;
	uint16_t pkey;
	uint32_t len;
};

/* Packets that no datagram queue pair takes; one longer than the port's MTU, too. */
static void strangers(void **state)
{
	static const struct stranger rows[] = {
	    {"RC", ROCE_OP_RC_SEND_ONLY, 0xffff, 8},
	    {"UC", ROCE_OP_UC_SEND_ONLY, 0xffff, 8},
	    {"partition", ROCE_OP_UD_SEND_ONLY, 0x1234, 8},
	    {"MTU", ROCE_OP_UD_SEND_ONLY, 0xffff, 2052},
	};
	struct bed b = open_world(fake_world_new(&infiniband), false);

	(void)state;
	bed_receive(&b, 4096);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_pkt pkt = {.opcode = rows[i].opcode,
				       .pkey = rows[i].pkey,
				       .dqpn = b.pair.b.qpn,
				       .payload = bed_src(&b),
				       .payload_bytes = rows[i].len,
				       .deth = {FAKE_QKEY, 9}};

		print_message("%s\n", rows[i].name);
		fake_send(b.w, 1, &pkt);
		expect_none(&b.pair.b.recv_cq);
	}
	bed_close(&b);
}

/* Not before it is ready to receive; still while its send queue drains or is in error. */
static void states_that_take_datagrams(void **state)
{
	struct bed b = open_ud();
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr bad = {.opcode = WQE_OP_READ, .to = &to};

	(void)state;
	bed_receive(&b, 100);
	bed_receive(&b, 100);
	assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_SQD), 0);
	send_to(&b, &to, 8);
	assert_int_equal(received(&b).byte_cnt, 48);
	assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_RTS), 0);
	fake_post(&b.pair.b, &bad);
	fake_ring(&b.pair.b);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_SQE);
	send_to(&b, &to, 9);
	assert_int_equal(received(&b).byte_cnt, 49);
	assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_ERR), 0);
	send_to(&b, &to, 8);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_state, 1);
	bed_close(&b);
}

/* A receive with a wrong key is the application's fault. */
static void a_bad_receive_ends_the_queue_pair(void **state)
{
	(void)state;
	for (uint32_t bad = 0; bad < 2; bad++) {
		struct bed b = open_ud();
		struct fake_address to = fake_to(&b.pair.b);
		struct fake_piece pieces[] = {{b.dst.va, 40, b.dst.key},
					      {b.dst.va + 64, 64, b.dst.key}};

		pieces[bad].key ^= 1;
		fake_receive(&b.pair.b, pieces, 2);
		send_to(&b, &to, 8);
		expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 0, CQE_SYND_LOCAL_PROT,
			     CQE_VENDOR_LKEY_BAD);
		assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_ERR);
		assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_FATAL), 1);
		bed_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ipv4_header),
	    cmocka_unit_test(ipv4_header_from_elsewhere),
	    cmocka_unit_test(ipv6_header),
	    cmocka_unit_test(infiniband_lids),
	    cmocka_unit_test(infiniband_paths),
	    cmocka_unit_test(ethernet_paths),
	    cmocka_unit_test(to_itself),
	    cmocka_unit_test(immediate_data_and_pieces),
	    cmocka_unit_test(datagrams_are_lost_silently),
	    cmocka_unit_test(the_key_can_be_changed),
	    cmocka_unit_test(strangers),
	    cmocka_unit_test(states_that_take_datagrams),
	    cmocka_unit_test(a_bad_receive_ends_the_queue_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
