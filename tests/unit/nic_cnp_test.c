/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: a marked packet is answered by a notification, the first at once, then one in an interval
 * at most; it is the packet of the specification, to the byte; what comes slows the flow that it
 * names and nothing else, and what makes no sense is counted and dropped. How: nic.h's calls on
 * two NICs of tests/support/fake_nic.h, a network between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/roce_frame.h"
#include "nic/nic_priv.h"
#include "tests/support/fake_net.h"
#include "tests/support/nic_bed.h"

enum {
	WINDOW_BYTES = 65536,
	INTERVAL_NS = 4000, /* min_time_between_cnps_us of the vendor's profile */
	CNP_BYTES = 28,
};

#define LINE_BPS 40000000000ull

static const struct nic_config dcqcn = {
    .qp_count_max = 4096,
    .cq_count_max = 64,
    .mkey_count_max = 64,
    .pd_count_max = 4,
    .mtu_max_bytes = 4096,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
    .cc_algorithm = NIC_CC_DCQCN,
    .line_rate_bps = LINE_BPS,
};

static struct bed open_net(const struct nic_config *config, const struct fake_opts *opts)
{
	struct bed b = {.w = fake_world_new(config)};
	uint8_t gid[16];

	b.w->alien = true;
	b.w->window_bytes = WINDOW_BYTES;
	for (uint32_t i = 0; i < FAKE_NICS; i++) {
		fake_gid(b.w, gid, i);
		nic_gid_set(b.w->nics[i], 0, gid);
	}
	fake_pair_connect(b.w, &b.pair, opts);
	b.src = fake_region(b.w, 0, 1 << 20, BED_LOCAL);
	b.dst = fake_region(b.w, 1, 1 << 20, BED_ALL);
	return b;
}

static const struct nic_counters *counters(const struct bed *b, uint32_t nic)
{
	return nic_counters(b->w->nics[nic]);
}

static struct nic_flow_stats flow_of(const struct bed *b, const struct fake_qp *qp)
{
	struct nic_flow_stats stats;

	assert_int_equal(nic_qp_flow_stats(b->w->nics[qp->nic], qp->qpn, b->w->now_ns, &stats), 0);
	return stats;
}

/* Packet 0 of the wire, marked, delivered. */
static void deliver_marked(struct bed *b)
{
	fake_mark(b->w, 0);
	fake_deliver(b->w, 0);
}

static bool is_cnp(const struct fake_packet *packet)
{
	return packet->bytes[ROCE_BTH_OPCODE_OFF] == ROCE_OP_CNP;
}

static uint32_t cnps_waiting(const struct bed *b)
{
	uint32_t count = 0;

	for (size_t i = 0; i < b->w->queue_count; i++)
		count += is_cnp(b->w->queue[i]);
	return count;
}

/* ---- the packet ------------------------------------------------------------------------------ */

static size_t from_hex(uint8_t *bytes, const char *hex)
{
	size_t n = 0;

	for (; *hex; hex++) {
		int digit = *hex <= '9' ? *hex - '0' : *hex - 'a' + 10;

		if (*hex == ' ')
			continue;
		bytes[n / 2] = (uint8_t)(bytes[n / 2] << 4 | digit);
		n++;
	}
	return n / 2;
}

/*: as scapy makes it. 192.168.0.7 tells 192.168.0.8, queue pair 0xd2. */
static const char reference[] =
    "45c0003c000040004011b891c0a80007c0a80008 c00012b700280000 8100ffff400000d200000000"
    "00000000000000000000000000000000 43fd07f8";

static void the_reference_packet(void **state)
{
	static const uint8_t own[16] = {[10] = 0xff, 0xff, 192, 168, 0, 7};
	static const uint8_t peer[16] = {[10] = 0xff, 0xff, 192, 168, 0, 8};
	struct bed b = open_net(&dcqcn, NULL);
	struct nic_path *path = &nic_qp_find(b.w->nics[1], b.pair.b.qpn)->params.path;
	struct fake_packet *packet;
	struct roce_frame frame;
	uint8_t want[128] = {0}, got[128];
	size_t bytes;

	(void)state;
	memcpy(path->sgid, own, 16);
	memcpy(path->dgid, peer, 16);
	path->udp_sport = 49152;
	path->traffic_class = 26 << 2;
	nic_qp_find(b.w->nics[1], b.pair.b.qpn)->params.dest_qpn = 0xd2;
	bed_post(&b, WQE_OP_WRITE, 1024);
	memcpy(b.w->queue[0]->path.sgid, peer, 16);
	memcpy(b.w->queue[0]->path.dgid, own, 16);
	deliver_marked(&b);
	packet = b.w->queue[0];
	assert_int_equal(packet->len_bytes, CNP_BYTES);
	assert_int_equal(packet->dqpn, 0xd2);
	frame = (struct roce_frame){
	    .ip_version = 4,
	    .traffic_class = nic_traffic_class(&packet->path, packet->len_bytes),
	    .hop_limit = 64,
	    .dont_fragment = true,
	    .udp_sport = packet->path.udp_sport,
	    .bth = packet->bytes,
	    .bth_bytes = packet->len_bytes,
	};
	memcpy(frame.src, packet->path.sgid, 16);
	memcpy(frame.dst, packet->path.dgid, 16);
	bytes = roce_frame_encode(got, sizeof(got), &frame);
	assert_int_equal(bytes, from_hex(want, reference));
	assert_memory_equal(got, want, bytes);
	fake_world_free(b.w);
}

/* ---- the notification point ------------------------------------------------------------------ */

static void first_at_once_then_rarely(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);
	struct nic_flow_stats stats;

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8 * 1024);
	assert_int_equal(b.w->queue_count, 8);
	deliver_marked(&b);
	assert_int_equal(cnps_waiting(&b), 1);
	deliver_marked(&b);
	fake_advance(b.w, INTERVAL_NS - 1);
	deliver_marked(&b);
	assert_int_equal(cnps_waiting(&b), 1);
	fake_advance(b.w, 1);
	deliver_marked(&b);
	assert_int_equal(cnps_waiting(&b), 2);
	fake_deliver(b.w, 0); /* not marked */
	assert_int_equal(counters(&b, 1)->np_ecn_marked_roce_packets, 4);
	assert_int_equal(counters(&b, 1)->np_cnp_sent, 2);
	stats = flow_of(&b, &b.pair.b);
	assert_int_equal(stats.counters.marks, 4);
	assert_int_equal(stats.counters.cnps_sent, 2);
	fake_settle(b.w);
	assert_int_equal(counters(&b, 0)->rp_cnp_handled, 2);
	assert_int_equal(flow_of(&b, &b.pair.a).counters.cnps_handled, 2);
	fake_world_free(b.w);
}

/* It waits for room on the wire, and is counted when it goes. */
static void no_room(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8 * 1024);
	b.w->room = 0;
	deliver_marked(&b);
	assert_int_equal(cnps_waiting(&b), 0);
	assert_int_equal(counters(&b, 1)->np_cnp_sent, 0);
	assert_int_equal(fake_run(b.w, 1), NIC_BLOCKED);
	b.w->room = SIZE_MAX;
	fake_advance(b.w, 1);
	assert_int_equal(cnps_waiting(&b), 1);
	assert_int_equal(counters(&b, 1)->np_cnp_sent, 1);
	fake_world_free(b.w);
}

/* A queue pair's notification waits and the queue pair goes: the notification still does. */
static void destroyed_meanwhile(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8 * 1024);
	b.w->room = 0;
	deliver_marked(&b);
	b.w->room = SIZE_MAX;
	assert_int_equal(nic_qp_destroy(b.w->nics[1], b.pair.b.qpn), 0);
	fake_run(b.w, 1);
	assert_int_equal(cnps_waiting(&b), 1);
	fake_world_free(b.w);
}

/* Acknowledgements and notifications say Not-ECT, so nothing marks them. */
static void not_ect(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);
	bool ack = false, cnp = false;

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 1024);
	assert_int_equal(nic_traffic_class(&b.w->queue[0]->path, b.w->queue[0]->len_bytes) & 3,
			 ROCE_ECN_ECT_0);
	deliver_marked(&b);
	for (size_t i = 0; i < b.w->queue_count; i++) {
		const struct fake_packet *packet = b.w->queue[i];

		assert_int_equal(nic_traffic_class(&packet->path, packet->len_bytes) & 3,
				 ROCE_ECN_NOT_ECT);
		cnp |= is_cnp(packet);
		ack |= packet->bytes[ROCE_BTH_OPCODE_OFF] == ROCE_OP_RC_ACK;
	}
	assert_true(ack && cnp);
	fake_world_free(b.w);
}

/* Without an algorithm nothing may be marked; what is marked all the same is told of. */
static void without_an_algorithm(void **state)
{
	struct nic_config config = dcqcn;
	struct bed b;

	(void)state;
	config.cc_algorithm = NIC_CC_NONE;
	b = open_net(&config, NULL);
	bed_post(&b, WQE_OP_WRITE, 1024);
	assert_int_equal(b.w->queue[0]->path.ecn, ROCE_ECN_NOT_ECT);
	b.w->queue[0]->path.ecn = ROCE_ECN_CE;
	fake_settle(b.w);
	assert_int_equal(counters(&b, 1)->np_cnp_sent, 1);
	assert_int_equal(counters(&b, 0)->rp_cnp_handled, 0);
	assert_int_equal(counters(&b, 0)->rp_cnp_ignored, 1);
	assert_int_equal(flow_of(&b, &b.pair.a).counters.cnps_ignored, 1);
	assert_false(flow_of(&b, &b.pair.a).paced);
	fake_world_free(b.w);
}

/* ---- the reaction point ---------------------------------------------------------------------- */

static struct roce_pkt a_cnp(uint32_t dqpn)
{
	static const uint8_t zeroes[16];

	return (struct roce_pkt){.opcode = ROCE_OP_CNP,
				 .pkey = ROCE_PKEY_DEFAULT,
				 .dqpn = dqpn,
				 .payload = zeroes,
				 .payload_bytes = sizeof(zeroes)};
}

/* As fake_send, from that address. */
static void send_from(struct bed *b, const struct roce_pkt *pkt, const uint8_t *sgid)
{
	uint8_t bytes[64], dgid[16];
	size_t head = roce_pkt_encode_headers(bytes, sizeof(bytes), pkt);
	struct nic_rx rx = {.bth = bytes, .sgid = sgid, .dgid = dgid};

	assert_true(head != 0);
	fake_gid(b->w, dgid, 0);
	memcpy(bytes + head, pkt->payload, pkt->payload_bytes);
	rx.len_bytes = head + pkt->payload_bytes;
	nic_rx(b->w->nics[0], &rx, b->w->now_ns);
	nic_check(b->w->nics[0]);
	fake_run(b->w, 0);
}

static void halves_the_rate(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);
	struct roce_pkt cnp = a_cnp(b.pair.a.qpn);
	struct nic_flow_stats stats = flow_of(&b, &b.pair.a);
	uint64_t one_ns = (1024 + 28) * 8ull * 1000000000 / (LINE_BPS / 2);
	uint8_t peer[16];

	(void)state;
	fake_gid(b.w, peer, 1);
	assert_false(stats.paced);
	assert_int_equal(stats.rate_bps, LINE_BPS);
	send_from(&b, &cnp, peer);
	stats = flow_of(&b, &b.pair.a);
	assert_true(stats.paced);
	assert_int_equal(stats.rate_bps, LINE_BPS / 2);
	/* One packet, and the next when the first has left at that rate. */
	bed_post(&b, WQE_OP_WRITE, 4 * 1024);
	assert_int_equal(b.w->queue_count, 1);
	assert_in_range(nic_deadline_ns(b.w->nics[0]) - b.w->now_ns, one_ns - 5, one_ns + 5);
	fake_advance(b.w, one_ns / 2);
	assert_int_equal(b.w->queue_count, 1);
	fake_advance(b.w, one_ns / 2 + 5);
	assert_int_equal(b.w->queue_count, 2);
	assert_true(flow_of(&b, &b.pair.a).counters.waits != 0);
	fake_world_free(b.w);
}

/* Counted and dropped, never refused, and no sequence number moves. */
static void makes_no_sense(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);
	struct roce_pkt cnp = a_cnp(0x100fff);
	uint8_t peer[16];

	(void)state;
	fake_gid(b.w, peer, 1);
	send_from(&b, &cnp, peer);
	assert_int_equal(counters(&b, 0)->rp_cnp_ignored, 1);
	cnp.dqpn = b.pair.a.qpn;
	send_from(&b, &cnp, NULL);
	assert_int_equal(counters(&b, 0)->rp_cnp_ignored, 2);
	peer[15] ^= 0xff;
	send_from(&b, &cnp, peer);
	assert_int_equal(counters(&b, 0)->rp_cnp_ignored, 3);
	peer[15] ^= 0xff;
	cnp.payload_bytes = 12;
	send_from(&b, &cnp, peer);
	assert_int_equal(counters(&b, 0)->rx_drop_malformed, 1);
	assert_int_equal(counters(&b, 0)->rp_cnp_ignored, 3);
	cnp = a_cnp(b.pair.a.qpn);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
	send_from(&b, &cnp, peer);
	assert_int_equal(counters(&b, 0)->rp_cnp_ignored, 4);
	assert_int_equal(counters(&b, 0)->rp_cnp_handled, 0);
	assert_int_equal(b.w->queue_count, 0);
	fake_world_free(b.w);
}

static void moves_no_sequence(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);
	struct roce_pkt cnp = a_cnp(b.pair.a.qpn);
	uint8_t peer[16];
	uint16_t index;

	(void)state;
	fake_gid(b.w, peer, 1);
	index = bed_post(&b, WQE_OP_WRITE, 2048);
	cnp.psn = 0x101;
	send_from(&b, &cnp, peer);
	assert_int_equal(counters(&b, 0)->rp_cnp_handled, 1);
	expect_none(&b.pair.a.send_cq);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, index, 2048);
	assert_int_equal(counters(&b, 0)->retransmits, 0);
	fake_world_free(b.w);
}

/* What a reset or an error leaves paces nothing, and wakes nobody. */
static void forgotten(void **state)
{
	struct bed b = open_net(&dcqcn, NULL);
	struct roce_pkt cnp = a_cnp(b.pair.a.qpn);
	uint8_t peer[16];

	(void)state;
	fake_gid(b.w, peer, 1);
	for (int i = 0; i < 4; i++, fake_advance(b.w, INTERVAL_NS))
		send_from(&b, &cnp, peer);
	bed_post(&b, WQE_OP_WRITE, 8192);
	assert_true(b.w->nics[0]->cong.alarm_count == 1);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_ERR), 0);
	assert_true(b.w->nics[0]->cong.alarm_count == 0);
	assert_true(b.w->nics[0]->cong.work_count == 0);
	assert_int_equal(nic_deadline_ns(b.w->nics[0]), UINT64_MAX);
	fake_world_free(b.w);
}

/* How many packets of a long write go to the local wire at once. */
static size_t goes_at_once(enum nic_cc_algorithm algorithm)
{
	struct nic_config config = dcqcn;
	struct nic_flow_stats stats;
	struct bed b;
	size_t count;

	config.cc_algorithm = (uint8_t)algorithm;
	config.line_rate_bps = LINE_BPS / 1000; /* a pace of this would hold it */
	b = (struct bed){.w = fake_world_new(&config)};
	fake_pair_connect(b.w, &b.pair, NULL);
	b.src = fake_region(b.w, 0, 1 << 20, BED_LOCAL);
	b.dst = fake_region(b.w, 1, 1 << 20, BED_ALL);
	bed_post(&b, WQE_OP_WRITE, 256 * 1024);
	count = b.w->queue_count;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(b.w->queue[i]->path.ecn, ROCE_ECN_NOT_ECT);
	fake_settle(b.w);
	stats = flow_of(&b, &b.pair.a);
	assert_false(stats.paced);
	assert_int_equal(stats.counters.waits, 0);
	assert_int_equal(counters(&b, 0)->np_cnp_sent + counters(&b, 1)->np_cnp_sent, 0);
	fake_world_free(b.w);
	return count;
}

/* The local wire: nothing says that it may be marked, no notification is for it, and no algorithm
 * holds it. */
static void the_local_wire(void **state)
{
	size_t count = goes_at_once(NIC_CC_NONE);

	(void)state;
	assert_true(count > 1);
	assert_int_equal(goes_at_once(NIC_CC_DCQCN), count);
	assert_int_equal(goes_at_once(NIC_CC_RTT), count);
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static const struct fake_opts ud = {.type = NIC_QP_UD};

static void datagram(struct bed *b, const struct fake_address *to)
{
	struct fake_wr wr = bed_wr(b, WQE_OP_SEND, 512);

	wr.to = to;
	fake_post(&b->pair.a, &wr);
	fake_ring(&b->pair.a);
}

/* The destination of NIC nic that it has of the other, at that service level. */
static struct nic_flow_stats dest_of(struct bed *b, uint32_t nic, uint8_t sl)
{
	struct nic_dest_key key;
	struct nic_flow_stats stats;
	uint32_t cursor = 0;
	uint8_t gid[16];

	fake_gid(b->w, gid, 1 - nic);
	while (nic_dest_next(b->w->nics[nic], &cursor, b->w->now_ns, &key, &stats))
		if (key.sl == sl && memcmp(key.dgid, gid, 16) == 0)
			return stats;
	fail_msg("no such destination");
	return stats;
}

static void datagrams(void **state)
{
	struct bed b = open_net(&dcqcn, &ud);
	struct fake_address to = fake_to(&b.pair.b);

	(void)state;
	to.tclass = 3 << 5;
	to.stat_rate_sl = 3 << 1;
	for (int i = 0; i < 8; i++)
		bed_receive(&b, 1024);
	datagram(&b, &to);
	datagram(&b, &to);
	assert_int_equal(b.w->queue_count, 2);
	deliver_marked(&b);
	deliver_marked(&b);
	assert_int_equal(cnps_waiting(&b), 1);
	assert_int_equal(be24_load(b.w->queue[0]->bytes + ROCE_BTH_DQPN_OFF), b.pair.a.qpn);
	assert_int_equal(b.w->queue[0]->path.traffic_class, 48 << 2);
	assert_int_equal(counters(&b, 1)->np_ecn_marked_roce_packets, 2);
	assert_int_equal(dest_of(&b, 1, 3).counters.marks, 2);
	assert_int_equal(dest_of(&b, 1, 3).counters.cnps_sent, 1);
	/* Another service level is another flow, with a notification of its own. */
	to.tclass = 5 << 5;
	to.stat_rate_sl = 5 << 1;
	datagram(&b, &to);
	fake_mark(b.w, 1);
	fake_deliver(b.w, 1);
	assert_int_equal(cnps_waiting(&b), 2);
	fake_settle(b.w);
	assert_int_equal(counters(&b, 0)->rp_cnp_handled, 2);
	assert_true(dest_of(&b, 0, 3).paced);
	assert_true(dest_of(&b, 0, 3).rate_bps < LINE_BPS);
	fake_world_free(b.w);
}

/* A datagram queue pair's packets to a slowed destination wait; to another they would not. */
static void a_destination_is_paced(void **state)
{
	struct bed b = open_net(&dcqcn, &ud);
	struct fake_address to = fake_to(&b.pair.b);
	struct roce_pkt cnp = a_cnp(b.pair.a.qpn);
	uint8_t peer[16];

	(void)state;
	fake_gid(b.w, peer, 1);
	send_from(&b, &cnp, peer);
	assert_int_equal(counters(&b, 0)->rp_cnp_ignored, 1); /* nothing was sent there */
	datagram(&b, &to);
	for (int i = 0; i < 3; i++, fake_advance(b.w, INTERVAL_NS))
		send_from(&b, &cnp, peer);
	assert_int_equal(counters(&b, 0)->rp_cnp_handled, 3);
	assert_int_equal(b.w->queue_count, 1);
	datagram(&b, &to);
	datagram(&b, &to);
	datagram(&b, &to);
	assert_int_equal(b.w->queue_count, 2);
	to.rgid[15] = 77;
	while (b.w->queue_count != 4)
		fake_advance(b.w, nic_deadline_ns(b.w->nics[0]) - b.w->now_ns);
	assert_true(dest_of(&b, 0, 0).counters.waits != 0);
	datagram(&b, &to);
	assert_int_equal(b.w->queue_count, 5);
	fake_world_free(b.w);
}

static void multicast(void **state)
{
	static const uint8_t group[16] = {0xff, 0x12, [15] = 9};
	struct bed b = open_net(&dcqcn, &ud);
	struct fake_address to = fake_to(&b.pair.b);

	(void)state;
	assert_int_equal(nic_mcast_attach(b.w->nics[1], b.pair.b.qpn, group, 0), 0);
	bed_receive(&b, 1024);
	memcpy(to.rgid, group, 16);
	to.dqpn = ROCE_QPN_MASK;
	datagram(&b, &to);
	assert_int_equal(b.w->queue[0]->path.ecn, ROCE_ECN_NOT_ECT);
	b.w->queue[0]->path.ecn = ROCE_ECN_CE;
	fake_deliver(b.w, 0);
	assert_int_equal(counters(&b, 1)->rx_multicast, 1);
	assert_int_equal(counters(&b, 1)->np_ecn_marked_roce_packets, 1);
	assert_int_equal(b.w->queue_count, 0);
	fake_world_free(b.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_reference_packet),
	    cmocka_unit_test(first_at_once_then_rarely),
	    cmocka_unit_test(no_room),
	    cmocka_unit_test(destroyed_meanwhile),
	    cmocka_unit_test(not_ect),
	    cmocka_unit_test(without_an_algorithm),
	    cmocka_unit_test(halves_the_rate),
	    cmocka_unit_test(makes_no_sense),
	    cmocka_unit_test(moves_no_sequence),
	    cmocka_unit_test(forgotten),
	    cmocka_unit_test(the_local_wire),
	    cmocka_unit_test(datagrams),
	    cmocka_unit_test(a_destination_is_paced),
	    cmocka_unit_test(multicast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
