/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: a flow of the whole NIC keeps to what its path carries. Marks lead to notifications, they
 * lower the pace, the queue stays short and the link busy; round trips do the same without marks;
 * datagrams and DC do it per destination; losses, timeouts and repeated packets reach the
 * algorithm. How: two NICs of tests/support/fake_nic.h over the links of tests/support/fake_net.h,
 * in virtual time.
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
	WINDOW_BYTES = 512 << 10,
	MESSAGE_BYTES = 32768,
	DEPTH = 16, /* messages posted at once */
	MARK_BYTES = 20000,
	DELAY_NS = 4000,
};

#define LINE_BPS 40000000000ull
#define NECK_BPS 10000000000ull
#define MS       1000000ull

static struct nic_config config_of(enum nic_cc_algorithm algorithm)
{
	return (struct nic_config){
	    .qp_count_max = 4096,
	    .cq_count_max = 64,
	    .mkey_count_max = 64,
	    .pd_count_max = 4,
	    .mtu_max_bytes = 4096,
	    .rd_atomic_max = 16,
	    .message_max_bytes_log2 = 31,
	    .cc_algorithm = (uint8_t)algorithm,
	    .cc_params = &nic_cc_paper,
	    .line_rate_bps = LINE_BPS,
	};
}

/* A connected pair, and who keeps its send queue full. */
struct load {
	struct bed b;
	struct fake_net net;
	enum wqe_opcode opcode;
	uint64_t posted;
	uint64_t done_bytes;
};

/* With these parameters; NULL: the paper's. */
static struct load open_load_with(const struct nic_cc_params *params, enum nic_qp_type type,
				  enum nic_cc_algorithm algorithm, uint32_t mark_above_bytes,
				  enum wqe_opcode opcode)
{
	const struct fake_opts opts = {.type = type};
	struct nic_config config = config_of(algorithm);
	struct load load = {.opcode = opcode};
	struct bed *b = &load.b;

	if (params)
		config.cc_params = params;
	b->w = fake_world_new(&config);
	b->w->alien = true;
	b->w->window_bytes = WINDOW_BYTES;
	fake_pair_connect(b->w, &b->pair, &opts);
	b->src = fake_region(b->w, 0, 1 << 20, BED_LOCAL);
	b->dst = fake_region(b->w, 1, 1 << 20, BED_ALL);
	load.net = (struct fake_net){
	    .w = b->w,
	    .count = 2,
	    .links = {{.rate_bps = NECK_BPS,
		       .delay_ns = DELAY_NS,
		       .mark_above_bytes = mark_above_bytes},
		      {.delay_ns = DELAY_NS}},
	};
	/* Of READs the data comes the other way. */
	if (opcode == WQE_OP_READ) {
		load.net.links[1] = load.net.links[0];
		load.net.links[0] = (struct fake_link){.delay_ns = DELAY_NS};
	}
	return load;
}

static struct load open_load_of(enum nic_qp_type type, enum nic_cc_algorithm algorithm,
				uint32_t mark_above_bytes, enum wqe_opcode opcode)
{
	return open_load_with(NULL, type, algorithm, mark_above_bytes, opcode);
}

static struct load open_load(enum nic_cc_algorithm algorithm, uint32_t mark_above_bytes,
			     enum wqe_opcode opcode)
{
	return open_load_of(NIC_QP_RC, algorithm, mark_above_bytes, opcode);
}

static void feed(void *ctx)
{
	struct load *load = (struct load *)ctx;
	uint64_t before = load->posted;
	struct fake_cqe cqe;

	while (fake_poll(&load->b.pair.a.send_cq, &cqe) == 1) {
		assert_int_equal(cqe.opcode, CQE_REQ);
		load->done_bytes += MESSAGE_BYTES;
	}
	while (load->posted - load->done_bytes / MESSAGE_BYTES < DEPTH) {
		struct fake_wr wr = bed_wr(&load->b, load->opcode, MESSAGE_BYTES);

		fake_post(&load->b.pair.a, &wr);
		load->posted++;
	}
	if (load->posted != before)
		fake_ring(&load->b.pair.a);
}

/* Bits that were carried in the last part of the time, of those that could have been. */
static double used(struct load *load, uint64_t skip_ns, uint64_t ns)
{
	uint64_t before;

	feed(load);
	fake_net_run(&load->net, load->b.w->now_ns + skip_ns, feed, load);
	before = load->done_bytes;
	for (uint32_t i = 0; i < load->net.count; i++)
		load->net.links[i].queue_max_bytes = load->net.links[i].queue_bytes_ns = 0;
	fake_net_run(&load->net, load->b.w->now_ns + ns, feed, load);
	return (double)(load->done_bytes - before) * 8e9 / (double)ns / (double)NECK_BPS;
}

static struct nic_flow_stats flow_of(const struct fake_qp *qp)
{
	struct nic_flow_stats stats;

	assert_int_equal(
	    nic_qp_flow_stats(qp->world->nics[qp->nic], qp->qpn, qp->world->now_ns, &stats), 0);
	return stats;
}

static const struct nic_counters *counters(const struct load *load, uint32_t nic)
{
	return nic_counters(load->b.w->nics[nic]);
}

/* In a network that loses nothing. What is under way is not settled yet. */
static void expect_invariants(const struct load *load, const struct fake_link *neck)
{
	const struct nic_counters *a = counters(load, 0), *b = counters(load, 1);
	uint64_t told =
	    a->rp_cnp_handled + a->rp_cnp_ignored + b->rp_cnp_handled + b->rp_cnp_ignored;
	uint64_t sent = a->np_cnp_sent + b->np_cnp_sent;
	uint64_t marked = a->np_ecn_marked_roce_packets + b->np_ecn_marked_roce_packets;

	assert_true(a->np_cnp_sent <= a->np_ecn_marked_roce_packets);
	assert_true(b->np_cnp_sent <= b->np_ecn_marked_roce_packets);
	assert_in_range(told, sent - (sent != 0), sent);
	assert_in_range(marked, neck->marks > 600 ? neck->marks - 600 : 0, neck->marks);
}

static void close_load(struct load *load)
{
	fake_world_free(load->b.w);
}

/* Without an algorithm the whole window stands in the queue. */
static void no_algorithm(void **state)
{
	struct load load = open_load(NIC_CC_NONE, MARK_BYTES, WQE_OP_WRITE);
	double share = used(&load, 2 * MS, 5 * MS);

	(void)state;
	assert_true(share > 0.9);
	assert_true(load.net.links[0].queue_max_bytes > WINDOW_BYTES / 2);
	assert_int_equal(load.net.links[0].marks, 0);
	assert_int_equal(counters(&load, 1)->np_cnp_sent, 0);
	assert_false(flow_of(&load.b.pair.a).paced);
	close_load(&load);
}

static void marks_lower_the_pace(void **state)
{
	struct load load = open_load(NIC_CC_DCQCN, MARK_BYTES, WQE_OP_WRITE);
	double share = used(&load, 5 * MS, 20 * MS);
	struct nic_flow_stats stats = flow_of(&load.b.pair.a);

	(void)state;
	if (share < 0.75)
		fail_msg("%.2f of the link", share);
	if (load.net.links[0].queue_max_bytes > 8 * MARK_BYTES)
		fail_msg("%u bytes queued", (unsigned int)load.net.links[0].queue_max_bytes);
	assert_true(stats.paced);
	assert_in_range(stats.rate_bps, NECK_BPS / 2, NECK_BPS * 3 / 2);
	assert_true(stats.counters.cnps_handled > 5);
	assert_true(stats.counters.waits > 100);
	assert_int_equal(stats.counters.cnps_handled, counters(&load, 0)->rp_cnp_handled);
	assert_int_equal(flow_of(&load.b.pair.b).counters.marks,
			 counters(&load, 1)->np_ecn_marked_roce_packets);
	assert_true(stats.rtt_ns >= 2 * DELAY_NS);
	expect_invariants(&load, &load.net.links[0]);
	assert_int_equal(counters(&load, 0)->retransmits, 0);
	close_load(&load);
}

/* Of a READ the responder sends, and slows down. */
static void reads_are_paced(void **state)
{
	struct load load = open_load(NIC_CC_DCQCN, MARK_BYTES, WQE_OP_READ);
	double share = used(&load, 5 * MS, 20 * MS);
	struct nic_flow_stats stats = flow_of(&load.b.pair.b);

	(void)state;
	if (share < 0.75)
		fail_msg("%.2f of the link", share);
	if (load.net.links[1].queue_max_bytes > 8 * MARK_BYTES)
		fail_msg("%u bytes queued", (unsigned int)load.net.links[1].queue_max_bytes);
	assert_true(stats.paced);
	assert_true(stats.counters.cnps_handled > 5);
	assert_int_equal(flow_of(&load.b.pair.a).counters.cnps_handled, 0);
	expect_invariants(&load, &load.net.links[1]);
	close_load(&load);
}

/* Nothing is marked: the delay alone holds it. */
static void round_trips_hold_the_window(void **state)
{
	struct load load = open_load(NIC_CC_RTT, 0, WQE_OP_WRITE);
	double share = used(&load, 10 * MS, 20 * MS);
	struct nic_flow_stats stats = flow_of(&load.b.pair.a);

	(void)state;
	if (share < 0.9)
		fail_msg("%.2f of the link", share);
	assert_true(stats.paced);
	/* 25 us, a hop, and what flow scaling adds. */
	if (stats.rtt_ns < 24000 || stats.rtt_ns > 40000)
		fail_msg("a round trip of %u ns", (unsigned int)stats.rtt_ns);
	if (load.net.links[0].queue_max_bytes > 50000)
		fail_msg("%u bytes queued", (unsigned int)load.net.links[0].queue_max_bytes);
	assert_int_equal(stats.counters.cnps_handled, 0);
	close_load(&load);
}

/* So does one of which more is under way than a flow keeps times of, from its first packet on. */
static void a_long_window_is_measured(void **state)
{
	struct nic_cc_params params = nic_cc_paper;
	struct load load;

	(void)state;
	params.cap_ns = 1000000; /* more than the path's own bound */
	load = open_load_with(&params, NIC_QP_RC, NIC_CC_RTT, 0, WQE_OP_WRITE);
	assert_true(nic_qp_find(load.b.w->nics[0], load.b.pair.a.qpn)->window_psns >=
		    2 * NIC_STAMPS);
	assert_true(used(&load, 10 * MS, 20 * MS) > 0.9);
	if (load.net.links[0].queue_max_bytes > 50000)
		fail_msg("%u bytes queued", (unsigned int)load.net.links[0].queue_max_bytes);
	close_load(&load);
}

/* Nobody acknowledges the data of a READ, and nothing of UC: there probes tell the round trip. */
static void probes_hold_the_rate(void **state)
{
	static const struct {
		enum nic_qp_type type;
		enum wqe_opcode opcode;
		uint32_t link; /* that is the bottleneck */
	} rows[] = {{NIC_QP_RC, WQE_OP_READ, 1}, {NIC_QP_UC, WQE_OP_WRITE, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct load load =
		    open_load_of(rows[i].type, NIC_CC_RTT, MARK_BYTES, rows[i].opcode);
		struct fake_qp *sender = rows[i].link ? &load.b.pair.b : &load.b.pair.a;
		double share = used(&load, 5 * MS, 20 * MS);
		const struct fake_link *neck = &load.net.links[rows[i].link];
		struct nic_flow_stats stats = flow_of(sender);

		print_message("row %zu: %.2f of the link, %u bytes queued\n", i, share,
			      (unsigned int)neck->queue_max_bytes);
		assert_true(share > 0.75);
		assert_true(neck->queue_max_bytes < WINDOW_BYTES / 4);
		assert_int_equal(stats.algorithm, NIC_CC_RTT);
		assert_true(stats.rtt_ns >= 2 * DELAY_NS);
		assert_in_range(stats.rate_bps, NECK_BPS / 2, NECK_BPS * 3 / 2);
		assert_true(stats.counters.probes_answered > 10);
		close_load(&load);
	}
}

/* As long as nobody complains nobody waits. */
static void never_told_never_paced(void **state)
{
	struct load load = open_load(NIC_CC_DCQCN, 0, WQE_OP_WRITE);
	double share = used(&load, 2 * MS, 5 * MS);

	(void)state;
	assert_true(share > 0.9);
	assert_false(flow_of(&load.b.pair.a).paced);
	assert_int_equal(flow_of(&load.b.pair.a).rate_bps, LINE_BPS);
	assert_int_equal(flow_of(&load.b.pair.a).counters.waits, 0);
	close_load(&load);
}

/* What is sent again counts, and the algorithm hears why. */
static void losses_are_told(void **state)
{
	struct load load = open_load(NIC_CC_RTT, 0, WQE_OP_WRITE);
	struct bed *b = &load.b;
	uint16_t index = bed_post(b, WQE_OP_WRITE, 4096);
	struct nic_flow_stats before = flow_of(&b->pair.a), after;

	(void)state;
	fake_net_run(&load.net, b->w->now_ns + 1, NULL, NULL);
	fake_drop(b->w, 0);
	fake_net_run(&load.net, b->w->now_ns + MS, NULL, NULL);
	after = flow_of(&b->pair.a);
	assert_int_equal(after.counters.losses, 1);
	assert_true(after.counters.retransmits != 0);
	assert_true(after.window_packets < before.window_packets);
	expect_done(&b->pair.a.send_cq, CQE_REQ, index, 4096);
	/* Silence for the whole timeout, for some times. */
	bed_post(b, WQE_OP_WRITE, 1024);
	for (int i = 0; i < 3; i++) {
		while (b->w->queue_count != 0)
			fake_drop(b->w, 0);
		for (int probes = 0; flow_of(&b->pair.a).counters.timeouts == (uint64_t)i;
		     probes++) {
			assert_true(probes < 100);
			while (b->w->queue_count != 0)
				fake_drop(b->w, 0);
			fake_advance(b->w, nic_deadline_ns(b->w->nics[0]) - b->w->now_ns);
		}
	}
	assert_int_equal(flow_of(&b->pair.a).window_packets, 1);
	close_load(&load);
}

/* Drivers say with each step what was agreed on. Once it is, that changes nothing: neither the pace
 * nor what the path itself bears. */
static void agreed_on_again(void **state)
{
	struct nic_qp_params again = {.set = NIC_QP_SET_ECE_F};
	struct load load = open_load(NIC_CC_RTT, 0, WQE_OP_WRITE);
	struct nic *nic = load.b.w->nics[0];
	const struct nic_qp *qp = nic_qp_find(nic, load.b.pair.a.qpn);
	struct nic_flow_stats before;

	(void)state;
	(void)used(&load, 2 * MS, 2 * MS);
	before = flow_of(&load.b.pair.a);
	assert_true(before.rate_bps < LINE_BPS);
	assert_in_range(qp->window_psns, 1, (WINDOW_BYTES >> qp->mtu_log2) - 1);
	again.ece = nic->ece_offer;
	assert_int_equal(nic_qp_modify(nic, qp->number, &again, load.b.w->now_ns), 0);
	assert_int_equal(flow_of(&load.b.pair.a).rate_bps, before.rate_bps);
	assert_int_equal(nic->cong.flows[qp->index].window_psns, WINDOW_BYTES >> qp->mtu_log2);
	close_load(&load);
}

/* In disorder, too, a paced flow completes all, and in order. */
static void chance_while_paced(void **state)
{
	struct load load = open_load(NIC_CC_DCQCN, 4000, WQE_OP_WRITE);
	struct base_prng prng;

	(void)state;
	base_prng_seed(&prng, 5);
	feed(&load);
	for (int i = 0; i < 3000; i++) {
		struct fake_world *w = load.b.w;

		fake_net_run(&load.net, w->now_ns + 2000, feed, &load);
		if (w->queue_count != 0 && base_prng_chance(&prng, 20000))
			fake_drop(w, base_prng_below(&prng, w->queue_count));
	}
	assert_true(load.done_bytes > 20 * MESSAGE_BYTES);
	assert_true(counters(&load, 0)->retransmits != 0);
	assert_true(flow_of(&load.b.pair.a).counters.cnps_handled != 0);
	close_load(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_algorithm),           cmocka_unit_test(marks_lower_the_pace),
	    cmocka_unit_test(reads_are_paced),        cmocka_unit_test(round_trips_hold_the_window),
	    cmocka_unit_test(reads_are_paced),        cmocka_unit_test(a_long_window_is_measured),
	    cmocka_unit_test(never_told_never_paced), cmocka_unit_test(losses_are_told),
	    cmocka_unit_test(probes_hold_the_rate),   cmocka_unit_test(agreed_on_again),
	    cmocka_unit_test(chance_while_paced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
