/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: whole Ethernet frames leave raw packet queue pairs, stay on their port, and come to those
 * for which a rule says so, and to nobody else. How: two NICs of tests/support/fake_nic.h, raw
 * packet queue pairs on both, and frames that differ in one field from what a rule wants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "nic/nic_priv.h"
#include "tests/support/golden_wqe.h"
#include "tests/support/nic_bed.h"

enum { ETH_BYTES = 14, MTU_BYTES = 4096, ROOM_BYTES = 8192 };

struct raw {
	struct bed b;
	struct fake_qp third; /* on NIC 1 */
};

static int move(struct fake_qp *qp, enum nic_qp_state state, uint32_t set)
{
	struct nic_qp_params p = {.set = NIC_QP_SET_STATE_F | set, .state = state, .port = 1};

	return nic_qp_modify(qp->world->nics[qp->nic], qp->qpn, &p, qp->world->now_ns);
}

static void ready(struct fake_qp *qp)
{
	assert_int_equal(move(qp, NIC_QP_INIT, NIC_QP_SET_PORT_F), 0);
	assert_int_equal(move(qp, NIC_QP_RTR, 0), 0);
	assert_int_equal(move(qp, NIC_QP_RTS, 0), 0);
}

static struct raw raw_open(void)
{
	const struct fake_opts opts = {.type = NIC_QP_RAW};
	struct raw t = {.b.w = fake_world_new(NULL)};

	fake_qp_make(t.b.w, 0, &opts, &t.b.pair.a);
	fake_qp_make(t.b.w, 1, &opts, &t.b.pair.b);
	fake_qp_make(t.b.w, 1, &opts, &t.third);
	ready(&t.b.pair.a);
	ready(&t.b.pair.b);
	ready(&t.third);
	t.b.src = fake_region(t.b.w, 0, ROOM_BYTES, BED_LOCAL);
	t.b.dst = fake_region(t.b.w, 1, ROOM_BYTES, BED_LOCAL);
	return t;
}

/* A UDP datagram over IPv4 of that many bytes, at the start of src. */
static void make_udp(struct raw *t, uint32_t len)
{
	static const uint8_t head[] = {0x01, 0x50, 0x56, 0x19, 0x20, 0xa7, 0x24, 0x8a, 0x07, 0xa5,
				       0x28, 0xc8, 0x08, 0x00, 0x45, 0x28, 0,    0,    0,    0,
				       0x40, 0,    64,   17,   0,    0,    1,    1,    1,    1,
				       2,    2,    2,    2,    0x04, 0xd2, 0x16, 0x2e};
	uint8_t *at = bed_src(&t->b);

	for (uint32_t i = 0; i < len; i++)
		at[i] = (uint8_t)(i * 7 + 3);
	memcpy(at, head, len < sizeof(head) ? len : sizeof(head));
}

/* Posts the first inlined bytes of src in the entry's segment, the rest by address. */
static uint16_t post(struct raw *t, uint32_t len, uint32_t inlined)
{
	uint8_t entry[160] = {0};
	uint32_t eth = nic_raw_segment_bytes(
	    (const uint8_t[16]){[12] = (uint8_t)(inlined >> 8), [13] = (uint8_t)inlined});
	uint16_t index;

	be16_store(entry + 12, (uint16_t)inlined);
	memcpy(entry + 14, bed_src(&t->b), inlined);
	be32_store(entry + eth, len - inlined);
	be32_store(entry + eth + 4, t->b.src.key);
	be64_store(entry + eth + 8, t->b.src.va + inlined);
	index = fake_post_raw(&t->b.pair.a, WQE_OP_SEND, 0, entry, eth + (len != inlined ? 16 : 0));
	fake_ring(&t->b.pair.a);
	return index;
}

static struct nic_rule to(const struct fake_qp *qp)
{
	return (struct nic_rule){.qpn = qp->qpn};
}

static uint32_t rule(struct raw *t, const struct nic_rule *rule)
{
	uint32_t number;

	assert_int_equal(nic_rule_create(t->b.w->nics[1], rule, &number), 0);
	return number;
}

static void receive(struct raw *t, struct fake_qp *qp, uint32_t off, uint32_t len)
{
	struct fake_piece piece = {t->b.dst.va + off, len, t->b.dst.key};

	fake_receive(qp, &piece, 1);
}

static void send(struct raw *t, uint32_t len)
{
	uint16_t index = post(t, len, 0);

	fake_settle(t->b.w);
	expect_done(&t->b.pair.a.send_cq, CQE_REQ, index, len);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* As what they are: packets, to no group, of a queue pair that has a name for its type. */
static void frames_are_counted(void **state)
{
	struct raw t = raw_open();
	struct stats_flow flow;
	uint64_t counters[STATS_COUNT];

	(void)state;
	make_udp(&t, 100);
	send(&t, 100);
	nic_stats(t.b.w->nics[0], counters);
	assert_int_equal(counters[STATS_unicast_xmit_packets], 1);
	assert_int_equal(counters[STATS_multicast_xmit_packets], 0);
	assert_int_equal(nic_stats_qp(t.b.w->nics[0], t.b.pair.a.qpn, 1, &flow), 0);
	assert_string_equal(stats_type_text(flow.type), "RAW");
	assert_int_equal(flow.qp.tx_packets, 1);
	bed_close(&t.b);
}

/* Which frames found no receive is counted as of datagrams; not those that found a short one, nor
 * those for which no rule has a queue pair. */
static void frames_without_receive_are_counted(void **state)
{
	struct raw t = raw_open();
	struct nic_rule b = to(&t.b.pair.b), third = to(&t.third);
	uint64_t counters[STATS_COUNT];

	(void)state;
	make_udp(&t, 100);
	send(&t, 100);
	nic_stats(t.b.w->nics[1], counters);
	assert_int_equal(counters[STATS_out_of_buffer], 0);
	rule(&t, &b);
	rule(&t, &third);
	receive(&t, &t.third, 0, 99);
	send(&t, 100);
	nic_stats(t.b.w->nics[1], counters);
	assert_int_equal(counters[STATS_out_of_buffer], 1);
	assert_int_equal(nic_counters(t.b.w->nics[1])->rx_drop_message, 2);
	bed_close(&t.b);
}

/* Of each length, with a part in the entry and without; the longest has two VLAN tags. */
static void frames_arrive(void **state)
{
	static const struct {
		uint32_t len, inlined;
	} rows[] = {{14, 0},
		    {14, 14},
		    {15, 2},
		    {60, 18},
		    {100, 40},
		    {1500, 0},
		    {MTU_BYTES + ETH_BYTES + 8, 18}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct raw t = raw_open();
		struct nic_rule all = to(&t.b.pair.b);
		uint16_t index;

		rule(&t, &all);
		make_udp(&t, rows[i].len);
		receive(&t, &t.b.pair.b, 0, ROOM_BYTES);
		index = post(&t, rows[i].len, rows[i].inlined);
		assert_int_equal(fake_pkt(t.b.w, 0).opcode, ROCE_OP_FRAME);
		fake_settle(t.b.w);
		expect_done(&t.b.pair.a.send_cq, CQE_REQ, index, rows[i].len);
		expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 0, rows[i].len);
		assert_memory_equal(bed_dst(&t.b), bed_src(&t.b), rows[i].len);
		assert_int_equal(bed_dst(&t.b)[rows[i].len], 0);
		bed_close(&t.b);
	}
}

/* What is to arrive for an operation that libmlx5 was asked for. */
static uint32_t frame_of(struct raw *t, const struct wqe_op *op, uint8_t *frame)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < op->piece_count; i++)
		for (uint32_t k = 0; k < op->len_bytes[i]; k++, len++)
			frame[len] = op->flags & OP_INLINE_F ? op_inline_byte(len)
							     : bed_src(&t->b)[1024 * i + k];
	return len;
}

/* libmlx5's entry with our numbers for those that were recorded. */
static uint16_t post_recorded(struct raw *t, const struct golden_wqe *golden)
{
	uint8_t entry[GOLDEN_BYTES_MAX] = {0};
	const struct wqe_op *op = golden->op;
	uint16_t index;

	memcpy(entry, golden->raw, golden->bytes);
	be32_store(entry + 4, t->b.pair.a.qpn << 8 | golden->raw[7]);
	for (uint32_t i = 0; i < op->piece_count && !(op->flags & OP_INLINE_F); i++) {
		uint8_t *piece = entry + 32 + 16 * i;

		assert_int_equal(be32_load(piece + 4), OP_LKEY + i);
		be32_store(piece + 4, t->b.src.key);
		be64_store(piece + 8, t->b.src.va + 1024 * i);
	}
	index = fake_put_blocks(&t->b.pair.a, entry, golden->bytes);
	fake_ring(&t->b.pair.a);
	return index;
}

static void arrives(const struct golden_wqe *golden)
{
	struct raw t = raw_open();
	struct nic_rule all = to(&t.b.pair.b);
	uint8_t frame[ROOM_BYTES];
	uint32_t len;
	uint16_t index;

	rule(&t, &all);
	make_udp(&t, ROOM_BYTES);
	len = frame_of(&t, golden->op, frame);
	receive(&t, &t.b.pair.b, 0, ROOM_BYTES);
	index = post_recorded(&t, golden);
	fake_settle(t.b.w);
	if (golden->op->flags & OP_SIGNAL_F)
		expect_done(&t.b.pair.a.send_cq, CQE_REQ, index, len);
	expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 0, len);
	assert_memory_equal(bed_dst(&t.b), frame, len);
	bed_close(&t.b);
}

/* Each that was recorded, through both of libmlx5's APIs. */
static void entries_of_libmlx5(void **state)
{
	size_t count, frames = 0;
	struct golden_wqe *golden = golden_wqes(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (golden[i].transport != OP_RAW)
			continue;
		arrives(&golden[i]);
		frames++;
	}
	assert_int_equal(frames, 2 * WQE_FRAMES);
	free(golden);
}

/* Too short, too long; and operations that there are none of. */
static void bad_entries(void **state)
{
	static const uint32_t lens[] = {13, MTU_BYTES + ETH_BYTES + 9};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct raw t = raw_open();
		uint16_t index = post(&t, lens[i], 0);

		expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, index, CQE_SYND_LOCAL_LENGTH,
			     CQE_VENDOR_NONE);
		assert_int_equal(fake_qp_state(&t.b.pair.a), NIC_QP_SQE);
		assert_int_equal(move(&t.b.pair.a, NIC_QP_RTS, 0), 0);
		bed_close(&t.b);
	}
	for (int imm = 0; imm < 2; imm++) {
		struct raw t = raw_open();
		static const uint8_t segment[32];

		fake_post_raw(&t.b.pair.a, imm ? WQE_OP_SEND_IMM : WQE_OP_WRITE, 0, segment, 32);
		fake_ring(&t.b.pair.a);
		expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_QP_OP,
			     CQE_VENDOR_NONE);
		bed_close(&t.b);
	}
}

/* The segment says that more stands in it than the entry has. */
static void bad_segment(void **state)
{
	struct raw t = raw_open();
	uint8_t segment[32] = {[12] = 0xff, [13] = 0xff};

	(void)state;
	fake_post_raw(&t.b.pair.a, WQE_OP_SEND, 0, segment, 32);
	fake_ring(&t.b.pair.a);
	expect_error(&t.b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE);
	bed_close(&t.b);
}

/* No rule, no receive, or a short one: lost; the receive is the next one's. */
static void frames_are_lost(void **state)
{
	struct raw t = raw_open();
	struct nic_rule all = to(&t.b.pair.b);
	uint32_t number;

	(void)state;
	make_udp(&t, 200);
	receive(&t, &t.b.pair.b, 0, 199);
	send(&t, 200);
	expect_none(&t.b.pair.b.recv_cq);
	number = rule(&t, &all);
	send(&t, 200);
	expect_none(&t.b.pair.b.recv_cq);
	send(&t, 199);
	expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 199);
	send(&t, 100);
	expect_none(&t.b.pair.b.recv_cq);
	receive(&t, &t.b.pair.b, 0, 200);
	assert_int_equal(nic_rule_destroy(t.b.w->nics[1], number), 0);
	send(&t, 100);
	expect_none(&t.b.pair.b.recv_cq);
	/* From another port none is taken, whatever it says. */
	rule(&t, &all);
	t.b.w->alien = true;
	send(&t, 100);
	expect_none(&t.b.pair.b.recv_cq);
	bed_close(&t.b);
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* What differs in one byte from what a rule names does not fit; without that byte in its mask it
 * does. */
static void every_field_counts(void **state)
{
	static const struct {
		size_t field;
		uint32_t at; /* in the frame */
	} rows[] = {
	    {offsetof(struct nic_frame, dst_mac), 0},
	    {offsetof(struct nic_frame, dst_mac) + 5, 5},
	    {offsetof(struct nic_frame, src_mac), 6},
	    {offsetof(struct nic_frame, ether_type) + 1, 13},
	    {offsetof(struct nic_frame, tos), 15},
	    {offsetof(struct nic_frame, ttl), 22},
	    {offsetof(struct nic_frame, proto), 23},
	    {offsetof(struct nic_frame, src_ip), 26},
	    {offsetof(struct nic_frame, dst_ip) + 3, 33},
	    {offsetof(struct nic_frame, src_port), 34},
	    {offsetof(struct nic_frame, dst_port) + 1, 37},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct raw t = raw_open();
		struct nic_rule r = to(&t.b.pair.b);
		uint8_t *frame = bed_src(&t.b);

		print_message("row %zu\n", i);
		make_udp(&t, 100);
		((uint8_t *)&r.value)[rows[i].field] = frame[rows[i].at];
		((uint8_t *)&r.mask)[rows[i].field] = 0xff;
		rule(&t, &r);
		receive(&t, &t.b.pair.b, 0, 1000);
		receive(&t, &t.b.pair.b, 0, 1000);
		frame[rows[i].at] ^= 2;
		send(&t, 100);
		expect_none(&t.b.pair.b.recv_cq);
		frame[rows[i].at] ^= 2;
		send(&t, 100);
		expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 100);
		/* Another byte is of no account. */
		frame[rows[i].at == 6 ? 7 : 6] ^= 2;
		send(&t, 100);
		expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 1, 100);
		bed_close(&t.b);
	}
}

static void vlan_and_ipv6(void **state)
{
	struct raw t = raw_open();
	struct nic_rule r = to(&t.b.pair.b);
	uint8_t *frame = bed_src(&t.b);

	(void)state;
	memset(frame, 0, 200);
	be16_store(frame + 12, 0x8100);
	be16_store(frame + 14, 0xac0c);
	be16_store(frame + 16, 0x86dd);
	be32_store(frame + 18, 0x61234567);
	frame[24] = 6;  /* TCP */
	frame[25] = 61; /* hops */
	frame[26] = 0xa0;
	frame[57] = 0xb9;
	be16_store(frame + 58, 1234);
	be16_store(frame + 60, 5678);
	memset(&r.mask, 0xff, sizeof(r.mask));
	memset(r.mask.dst_mac, 0, sizeof(r.mask.dst_mac) + sizeof(r.mask.src_mac));
	be16_store(r.value.vlan_tag, 0xac0c);
	be16_store(r.value.ether_type, 0x86dd);
	r.value.ip_version = 6;
	r.value.src_ip[0] = 0xa0;
	r.value.dst_ip[15] = 0xb9;
	be32_store(r.value.flow_label, 0x34567);
	r.value.proto = 6;
	r.value.tos = 0x12;
	r.value.ttl = 61;
	be16_store(r.value.src_port, 1234);
	be16_store(r.value.dst_port, 5678);
	r.value.has_ports = 1;
	rule(&t, &r);
	receive(&t, &t.b.pair.b, 0, 1000);
	send(&t, 200);
	expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 200);
	/* Cut off within the ports it has none. */
	receive(&t, &t.b.pair.b, 0, 1000);
	send(&t, 61);
	expect_none(&t.b.pair.b.recv_cq);
	bed_close(&t.b);
}

/* The lowest priority is obeyed, by each of its queue pairs once. */
static void priorities(void **state)
{
	struct raw t = raw_open();
	struct nic_rule b = to(&t.b.pair.b), third = to(&t.third);
	uint32_t first;

	(void)state;
	make_udp(&t, 100);
	for (int i = 0; i < 4; i++) {
		receive(&t, &t.b.pair.b, 0, 1000);
		receive(&t, &t.third, 1000, 1000);
	}
	b.priority = 7;
	third.priority = 8;
	first = rule(&t, &b);
	rule(&t, &third);
	send(&t, 100);
	expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 0, 100);
	expect_none(&t.third.recv_cq);
	b.priority = 8;
	rule(&t, &b);
	rule(&t, &b);
	assert_int_equal(nic_rule_destroy(t.b.w->nics[1], first), 0);
	send(&t, 100);
	expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, 1, 100);
	expect_done(&t.third.recv_cq, CQE_RESP_SEND, 0, 100);
	expect_none(&t.b.pair.b.recv_cq);
	assert_memory_equal(bed_dst(&t.b) + 1000, bed_src(&t.b), 100);
	bed_close(&t.b);
}

static void limits(void **state)
{
	struct raw t = raw_open();
	struct fake_qp rc;
	struct nic *nic = t.b.w->nics[1];
	struct nic_rule r = to(&t.b.pair.b);
	uint32_t number = 0;

	(void)state;
	for (uint32_t i = 0; i < NIC_RULES_MAX; i++)
		assert_int_equal(nic_rule_create(nic, &r, &number), 0);
	assert_int_equal(t.b.w->groups_joined[1], 1);
	assert_int_equal(nic_rule_create(nic, &r, &number), -ENOMEM);
	assert_int_equal(nic_rule_destroy(nic, NIC_RULES_MAX), -EINVAL);
	/* They go with their queue pair. */
	assert_int_equal(nic_qp_destroy(nic, t.b.pair.b.qpn), 0);
	assert_int_equal(t.b.w->groups_joined[1], 0);
	assert_int_equal(nic_rule_destroy(nic, 0), -EINVAL);
	assert_int_equal(nic_rule_create(nic, &r, &number), -EINVAL);
	fake_qp_make(t.b.w, 1, &(struct fake_opts){0}, &rc);
	r = to(&rc);
	assert_int_equal(nic_rule_create(nic, &r, &number), -EINVAL);
	bed_close(&t.b);
}

/* Any bytes as a frame: nothing outside of it is read (the sanitizers see to that). */
static void any_frame(void **state)
{
	struct raw t = raw_open();
	struct nic_rule all = to(&t.b.pair.b);
	struct base_prng prng;

	(void)state;
	base_prng_seed(&prng, 4);
	rule(&t, &all);
	for (int i = 0; i < 3000; i++) {
		static const uint16_t types[] = {0x0800, 0x86dd, 0x8100, 0x88a8};
		uint32_t len = 14 + (uint32_t)base_prng_below(&prng, 120);
		uint8_t *frame = bed_src(&t.b);

		base_prng_fill(&prng, frame, len);
		be16_store(frame + 12, types[i % 4]);
		frame[14] = (uint8_t)(i % 8 < 4 ? 0x40 + i % 16 : 0x60);
		receive(&t, &t.b.pair.b, 0, 1000);
		send(&t, len);
		expect_done(&t.b.pair.b.recv_cq, CQE_RESP_SEND, (uint16_t)i, len);
	}
	bed_close(&t.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frames_are_counted),
	    cmocka_unit_test(frames_without_receive_are_counted), cmocka_unit_test(frames_arrive),
	    cmocka_unit_test(entries_of_libmlx5), cmocka_unit_test(bad_entries),
	    cmocka_unit_test(bad_segment),        cmocka_unit_test(frames_are_lost),
	    cmocka_unit_test(every_field_counts), cmocka_unit_test(vlan_and_ipv6),
	    cmocka_unit_test(priorities),         cmocka_unit_test(limits),
	    cmocka_unit_test(any_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
