/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: to destinations that live by round trips, probes go with the data, one at a time, and are
 * answered in another class; what they measure holds the pace; who never answers gets DCQCN; two
 * destinations of one queue pair keep to their own algorithm, and swap with their mappings. How:
 * two NICs of tests/support/fake_nic.h over the links of tests/support/fake_net.h, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/nic_priv.h"
#include "tests/support/fake_net.h"
#include "tests/support/nic_bed.h"

enum {
	DATAGRAM_BYTES = 1024,
	DEPTH = 4, /* datagrams posted to each destination at once */
	DELAY_NS = 4000,
	MARK_BYTES = 20000,
};

#define LINE_BPS 40000000000ull
#define NECK_BPS 5000000000ull
#define MS       1000000ull

static const struct nic_config base = {
    .qp_count_max = 4096,
    .cq_count_max = 64,
    .mkey_count_max = 64,
    .pd_count_max = 4,
    .mtu_max_bytes = 1024,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
    .cc_params = &nic_cc_paper,
    .line_rate_bps = LINE_BPS,
};

/* NIC 0 sends to two addresses of NIC 1, each behind a link of its own. */
struct two {
	struct bed b;
	struct fake_net net;
	struct fake_address to[2];
	uint32_t mapping[2];
	uint64_t posted;
	uint64_t done;
};

static uint32_t link_of(const struct fake_packet *packet)
{
	if (packet->from != 0)
		return 2;
	return packet->path.dgid[15] == 2 ? 0 : 1;
}

static void gid_of(uint8_t gid[static 16], uint8_t last)
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	gid[12] = 127;
	gid[15] = last;
}

static struct two open_two(enum nic_cc_algorithm algorithm)
{
	static const struct fake_opts ud = {.type = NIC_QP_UD, .mtu_bytes = 1024, .sq_count = 64};
	struct nic_config config = base;
	struct two two;
	uint8_t gid[16];

	config.cc_algorithm = (uint8_t)algorithm;
	two = (struct two){.b.w = fake_world_new(&config)};
	two.b.w->alien = true;
	two.b.w->window_bytes = 1 << 19;
	gid_of(gid, 1);
	nic_gid_set(two.b.w->nics[0], 0, gid);
	for (uint8_t i = 0; i < 2; i++) {
		gid_of(gid, (uint8_t)(2 + i));
		nic_gid_set(two.b.w->nics[1], i, gid);
	}
	fake_pair_connect(two.b.w, &two.b.pair, &ud);
	two.b.src = fake_region(two.b.w, 0, 8192, BED_LOCAL);
	two.b.dst = fake_region(two.b.w, 1, 8192, BED_LOCAL);
	for (uint8_t i = 0; i < 2; i++) {
		two.to[i] = fake_to(&two.b.pair.b);
		two.to[i].rgid[15] = (uint8_t)(2 + i);
	}
	two.net = (struct fake_net){
	    .w = two.b.w,
	    .count = 3,
	    .link_of = link_of,
	    .links = {{.rate_bps = NECK_BPS, .delay_ns = DELAY_NS, .mark_above_bytes = MARK_BYTES},
		      {.rate_bps = NECK_BPS, .delay_ns = DELAY_NS},
		      {.delay_ns = DELAY_NS}},
	};
	return two;
}

static struct nic_dest_key key_of(const struct two *two, uint32_t i)
{
	struct nic_dest_key key = {.sl = 0};

	memcpy(key.dgid, two->to[i].rgid, 16);
	return key;
}

static struct nic_flow_stats stats_of(const struct two *two, uint32_t i)
{
	struct nic_dest_key want = key_of(two, i), key;
	struct nic_flow_stats stats;
	uint32_t cursor = 0;

	while (nic_dest_next(two->b.w->nics[0], &cursor, two->b.w->now_ns, &key, &stats))
		if (memcmp(&key, &want, sizeof(key)) == 0)
			return stats;
	fail_msg("no such destination");
	return stats;
}

static void map(struct two *two, uint32_t i, enum nic_cc_algorithm algorithm)
{
	struct nic_dest_key key = key_of(two, i);

	if (two->mapping[i] != 0)
		assert_int_equal(
		    nic_dest_unmap(two->b.w->nics[0], two->mapping[i], two->b.w->now_ns), 0);
	assert_int_equal(
	    nic_dest_map(two->b.w->nics[0], &key, algorithm, two->b.w->now_ns, &two->mapping[i]),
	    0);
}

/* One to each in turn: the queue pair's order is kept. */
static void feed(void *ctx)
{
	struct two *two = (struct two *)ctx;
	uint64_t before = two->posted;
	struct fake_cqe cqe;

	while (fake_poll(&two->b.pair.a.send_cq, &cqe) == 1)
		two->done++;
	while (two->posted - two->done < 2 * DEPTH) {
		struct fake_wr wr = bed_wr(&two->b, WQE_OP_SEND, DATAGRAM_BYTES);

		wr.to = &two->to[two->posted++ % 2];
		fake_post(&two->b.pair.a, &wr);
	}
	if (two->posted != before)
		fake_ring(&two->b.pair.a);
}

static void run(struct two *two, uint64_t ns)
{
	for (uint32_t i = 0; i < 2; i++)
		two->net.links[i].queue_max_bytes = two->net.links[i].packets = 0;
	fake_net_run(&two->net, two->b.w->now_ns + ns, feed, two);
}

static void close_two(struct two *two)
{
	fake_world_free(two->b.w);
}

/* What goes out, and what comes back. */
static void the_packets(void **state)
{
	struct two two = open_two(NIC_CC_RTT);
	struct fake_wr wr = bed_wr(&two.b, WQE_OP_SEND, 100);
	struct fake_world *w = two.b.w;
	const uint8_t *payload;

	(void)state;
	two.to[0].tclass = 0x6b;
	wr.to = &two.to[0];
	for (int i = 0; i < 3; i++)
		fake_post(&two.b.pair.a, &wr);
	fake_ring(&two.b.pair.a);
	while (w->queue_count != 4)
		fake_advance(w, nic_deadline_ns(w->nics[0]) > w->now_ns
				    ? nic_deadline_ns(w->nics[0]) - w->now_ns
				    : 1);
	for (size_t i = 0; i < 4; i++)
		if (w->queue[i]->bytes[0] == ROCE_OP_PROBE) {
			struct fake_packet *probe = w->queue[i];

			assert_int_equal(probe->len_bytes, 52);
			assert_int_equal(nic_traffic_class(&probe->path, 52),
					 0x68 | ROCE_ECN_ECT_0);
			assert_int_equal(probe->dqpn, two.b.pair.b.qpn);
			fake_advance(w, 3000);
			fake_deliver(w, i);
		}
	assert_int_equal(stats_of(&two, 0).counters.probes_sent, 1);
	assert_int_equal(w->queue_count, 4);
	assert_int_equal(w->queue[3]->bytes[0], ROCE_OP_PROBE_ANSWER);
	assert_int_equal(w->queue[3]->dqpn, two.b.pair.a.qpn);
	assert_int_equal(nic_traffic_class(&w->queue[3]->path, 52), 48 << 2);
	payload = w->queue[3]->bytes + ROCE_BTH_BYTES;
	assert_int_equal(payload[0], ROCE_PROBE_VERSION);
	assert_true(be64_load(payload + ROCE_PROBE_T2_OFF) >=
		    be64_load(payload + ROCE_PROBE_T1_OFF) + 3000);
	fake_advance(w, 2000);
	/* One that nobody asked for, and one whose number is another, are dropped. */
	be32_store(w->queue[3]->bytes + ROCE_BTH_BYTES + ROCE_PROBE_NUMBER_OFF, 77);
	fake_deliver_copy(w, 3);
	assert_int_equal(stats_of(&two, 0).counters.probes_answered, 0);
	be32_store(w->queue[3]->bytes + ROCE_BTH_BYTES + ROCE_PROBE_NUMBER_OFF, 1);
	fake_deliver_copy(w, 3);
	fake_deliver(w, 3);
	assert_int_equal(stats_of(&two, 0).counters.probes_answered, 1);
	assert_true(stats_of(&two, 0).rtt_ns >= 5000);
	assert_true(stats_of(&two, 0).rtt_ns < 6000);
	close_two(&two);
}

static bool is_probe_to(const struct fake_packet *packet, const struct fake_address *to)
{
	return packet->bytes[0] == ROCE_OP_PROBE && packet->path.dgid[15] == to->rgid[15];
}

/* Time passes, and what was sent is lost, but for probes to `keep`, which stay in the queue. */
static void lose_all(struct two *two, uint64_t ns, const struct fake_address *keep)
{
	struct fake_world *w = two->b.w;

	for (uint64_t end_ns = w->now_ns + ns; w->now_ns < end_ns;) {
		feed(two);
		for (size_t i = 0; i < w->queue_count;)
			if (keep && is_probe_to(w->queue[i], keep))
				i++;
			else
				fake_drop(w, i);
		fake_advance(w, MS / 4);
	}
}

/* A process that has to be woken may take a tenth of a second, and has not even lost a packet. */
static void nobody_answers(void **state)
{
	struct two two = open_two(NIC_CC_RTT);

	(void)state;
	lose_all(&two, 100 * MS, NULL);
	assert_int_equal(stats_of(&two, 0).algorithm, NIC_CC_RTT);
	assert_true(stats_of(&two, 0).paced);
	lose_all(&two, 400 * MS, NULL);
	assert_int_equal(stats_of(&two, 0).counters.probes_sent, 5);
	assert_int_equal(stats_of(&two, 0).counters.losses, 5);
	assert_false(stats_of(&two, 0).paced);
	assert_int_equal(stats_of(&two, 0).algorithm, NIC_CC_DCQCN);
	close_two(&two);
}

/* To the last one, it is taken, once. */
static void an_answer_comes_late(void **state)
{
	struct two two = open_two(NIC_CC_RTT);
	struct fake_world *w = two.b.w;

	(void)state;
	lose_all(&two, 500 * MS, &two.to[1]);
	assert_int_equal(w->queue_count, 5);
	fake_deliver(w, 4);
	for (int i = 0; i < 4; i++)
		fake_drop(w, 0);
	for (uint32_t number = 4; number <= 5; number++) {
		assert_int_equal(stats_of(&two, 1).algorithm, NIC_CC_DCQCN);
		be32_store(w->queue[0]->bytes + ROCE_BTH_BYTES + ROCE_PROBE_NUMBER_OFF, number);
		fake_deliver_copy(w, 0);
	}
	assert_int_equal(stats_of(&two, 1).algorithm, NIC_CC_RTT);
	fake_deliver(w, 0);
	assert_int_equal(stats_of(&two, 1).counters.probes_answered, 1);
	lose_all(&two, MS / 2, NULL);
	assert_int_equal(stats_of(&two, 1).counters.probes_sent, 6);
	assert_int_equal(stats_of(&two, 0).algorithm, NIC_CC_DCQCN);
	close_two(&two);
}

/* One marks, one only delays. */
static void two_algorithms(void **state)
{
	struct two two = open_two(NIC_CC_NONE);

	(void)state;
	map(&two, 0, NIC_CC_DCQCN);
	map(&two, 1, NIC_CC_RTT);
	feed(&two);
	run(&two, 10 * MS);
	run(&two, 20 * MS);
	for (uint32_t i = 0; i < 2; i++) {
		double share = (double)two.net.links[i].packets * (DATAGRAM_BYTES + 20) * 8e9 /
			       (20.0 * MS) / (double)NECK_BPS;

		if (share < 0.7)
			fail_msg("%.2f of link %u", share, i);
		if (two.net.links[i].queue_max_bytes > 8 * MARK_BYTES)
			fail_msg("%u bytes queued at %u",
				 (unsigned int)two.net.links[i].queue_max_bytes, i);
	}
	assert_true(stats_of(&two, 0).counters.cnps_handled != 0);
	assert_int_equal(stats_of(&two, 0).counters.probes_sent, 0);
	assert_true(stats_of(&two, 1).counters.probes_answered > 100);
	assert_int_equal(stats_of(&two, 1).counters.cnps_handled, 0);
	/* Swapped: now the marks are for the one that lives by delays. */
	two.net.links[1].mark_above_bytes = MARK_BYTES;
	two.net.links[0].mark_above_bytes = 0;
	map(&two, 0, NIC_CC_RTT);
	map(&two, 1, NIC_CC_DCQCN);
	run(&two, 20 * MS);
	assert_true(stats_of(&two, 0).counters.probes_answered > 100);
	assert_true(stats_of(&two, 1).counters.cnps_handled != 0);
	close_two(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_packets),
	    cmocka_unit_test(nobody_answers),
	    cmocka_unit_test(an_answer_comes_late),
	    cmocka_unit_test(two_algorithms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
