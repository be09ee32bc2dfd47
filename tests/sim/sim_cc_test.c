/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: flows under congestion control share a bottleneck of 40 Gb/s as the reference model's do:
 * how fairly, with what queue, what peak when all start at once, what delay, and how fast unequal
 * ones meet.
 * How: sim/contest.h in virtual time; the model's figures from tests/golden/cc, or its formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "nic/cc/cc_priv.h"
#include "sim/contest.h"

#define US 1000ull
#define MS 1000000ull

enum {
	SEEDS = 3,
	GAP_SEEDS = 40,         /* single runs scatter by 7 Gb/s, */
	MODEL_SCATTER_GBPS = 4, /* and the model's figure is the mean of five */
};

static struct sim_contest_result run(const struct sim_contest_config *config)
{
	struct sim_contest *contest = sim_contest_new(config);
	struct sim_contest_result result;

	assert_non_null(contest);
	sim_contest_run(contest, &result);
	sim_contest_free(contest);
	return result;
}

static void expect_within(const char *what, double got, double expected, double part)
{
	if (got >= expected * (1 - part) && got <= expected * (1 + part))
		return;
	fail_msg("%s is %g, which is not within %g %% of %g", what, got, part * 100, expected);
}

static void expect_at_least(const char *what, double got, double least)
{
	if (got < least)
		fail_msg("%s is %g, less than %g", what, got, least);
}

/* ---- DCQCN ------------------------------------------------------------------------------------
 */

/* The model's figures for so many flows: the mean over its seeds. */
static void model_steady(uint32_t flows, double *queue_kb, double *cnps)
{
	char path[512], line[256];
	uint32_t rows = 0;
	FILE *file;

	*queue_kb = *cnps = 0;
	snprintf(path, sizeof(path), "%s/tests/golden/cc/steady.csv", getenv("RIG5_SOURCE_DIR"));
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		double queue, cnp;
		unsigned n;

		if (sscanf(line, "%u,%*u,%lf,%*f,%*f,%*f,%*f,%*f,%lf", &n, &queue, &cnp) != 3 ||
		    n != flows)
			continue;
		*queue_kb += queue;
		*cnps += cnp;
		rows++;
	}
	fclose(file);
	assert_int_equal(rows, SEEDS);
	*queue_kb /= SEEDS;
	*cnps /= SEEDS;
}

static void dcqcn_shares_fairly(void **state)
{
	static const uint32_t counts[] = {2, 4, 8, 10, 16};
	struct nic_cc_params params = sim_model_params();

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct sim_contest_config config =
		    sim_contest_of_model(counts[i], &params, 100 * MS);
		double queue_kb = 0, cnps = 0, model_kb, model_cnps;

		for (config.seed = 1; config.seed <= SEEDS; config.seed++) {
			struct sim_contest_result r = run(&config);

			expect_at_least("Jain's index", r.jain, 0.99);
			expect_at_least("the utilization", r.utilization, 0.99);
			queue_kb += r.queue_mean_bytes / 1000 / SEEDS;
			cnps += r.cnps_per_flow_ms / SEEDS;
		}
		model_steady(counts[i], &model_kb, &model_cnps);
		print_message("%u flows: queue %.1f KB (model %.1f), %.2f CNPs (%.2f)\n", counts[i],
			      queue_kb, model_kb, cnps, model_cnps);
		expect_within("the mean queue in KB", queue_kb, model_kb, 0.25);
		expect_within("the rate of notifications", cnps, model_cnps, 0.25);
	}
}

/* (N - 1) windows and a packet: all but one sender's windows wait at once. */
static void the_cap_bounds_incast(void **state)
{
	static const uint32_t counts[] = {2, 8, 16};
	static const struct nic_cc_params *const profiles[] = {&nic_cc_paper, &nic_cc_vendor};

	(void)state;
	for (size_t p = 0; p < 2; p++) {
		for (size_t i = 0; i < 3; i++) {
			struct sim_contest_config config =
			    sim_contest_of_model(counts[i], profiles[p], 30 * MS);
			struct sim_contest_result r;

			config.flow.acked = true;
			config.measure_ns = 5 * MS;
			r = run(&config);
			print_message("%s %u to 1: peak %.0f KB, jain %.4f\n",
				      p == 0 ? "paper" : "vendor", counts[i],
				      (double)r.queue_peak_bytes / 1000, r.jain);
			expect_within("the peak", (double)r.queue_peak_bytes,
				      ((counts[i] - 1) * 40 + 1) * SIM_MODEL_PACKET_BYTES, 0.1);
			expect_at_least("Jain's index", r.jain, p == 0 ? 0.98 : 0.9);
		}
	}
}

/* Without a cap: the queue passes kmax, grows for a round trip and half a round of marks, and then
 * each notification halves all rates, until they are the line's. */
static double uncapped_peak_bytes(uint32_t flows)
{
	double line = SIM_MODEL_LINE_BPS / 8e9, queue = 200000; /* bytes a nanosecond, and kmax */
	double rate = flows * line / 2;

	queue +=
	    (flows - 1) * line * (SIM_MODEL_RTT_NS + flows * SIM_MODEL_PACKET_BYTES / line / 2);
	for (; rate > line; rate /= 2)
		queue += (rate - line) * 50000;
	return queue;
}

static void incast_without_a_cap(void **state)
{
	struct nic_cc_params params = sim_model_params();
	struct sim_contest_config config = sim_contest_of_model(16, &params, 10 * MS);
	struct sim_contest_result r = run(&config);

	(void)state;
	print_message("16 to 1 without a cap: peak %.0f KB\n", (double)r.queue_peak_bytes / 1000);
	expect_within("the peak", (double)r.queue_peak_bytes, uncapped_peak_bytes(16), 0.1);
}

struct gap {
	double gbps[61]; /* between two flows, each millisecond */
};

static void note_gap(void *ctx, struct sim_contest *contest, uint64_t at_ns)
{
	struct gap *gap = (struct gap *)ctx;
	double rates[2];

	if (at_ns % MS != 0 || at_ns / MS > 60)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t first = contest->flows[i].config.first_rate_bps;

		rates[i] = (double)(first != 0 ? first : contest->flows[i].cc.rate_bps);
	}
	gap->gbps[at_ns / MS] += (rates[0] - rates[1]) / 1e9 / GAP_SEEDS;
}

static double model_gap(uint32_t at_ms)
{
	char path[512], line[256];
	double gap = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/golden/cc/conv.csv", getenv("RIG5_SOURCE_DIR"));
	file = fopen(path, "r");
	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		unsigned ms;

		found = sscanf(line, "dcqcn,%u,%lf", &ms, &gap) == 2 && ms == at_ms;
	}
	fclose(file);
	assert_true(found);
	return gap;
}

static void unequal_flows_meet(void **state)
{
	struct nic_cc_params params = sim_model_params();
	struct sim_contest_config config = sim_contest_of_model(2, &params, 60 * MS);
	struct gap gap = {{0}};

	(void)state;
	for (config.seed = 1; config.seed <= GAP_SEEDS; config.seed++) {
		struct sim_contest *contest = sim_contest_new(&config);
		struct sim_contest_result r;

		contest->flows[1].config.first_rate_bps = 5000000000;
		contest->ctx = &gap;
		contest->sampled = note_gap;
		sim_contest_run(contest, &r);
		sim_contest_free(contest);
	}
	for (uint32_t i = 0; i <= 5; i++) {
		print_message("apart by %.1f Gb/s at %u ms (model %.1f)\n", gap.gbps[10 * i],
			      10 * i, model_gap(10 * i));
		assert_true(gap.gbps[10 * i] < model_gap(10 * i) + MODEL_SCATTER_GBPS);
		assert_true(gap.gbps[10 * i] > model_gap(10 * i) - MODEL_SCATTER_GBPS);
	}
}

/* ---- Swift ------------------------------------------------------------------------------------
 */

/* The window at which the round trip is the target: w packets of each flow at the line's rate. */
static double equilibrium_ns(uint32_t flows, uint32_t packet_bytes)
{
	const struct nic_cc_rtt_params *p = &nic_cc_paper.rtt;
	double window = 1, target_ns = 0;

	for (int i = 0; i < 500; i++) {
		target_ns = p->base_target_ns + p->hop_target_ns +
			    swift_scaling_ns(p, (uint32_t)(window * 65536));
		window = window / 2 +
			 SIM_MODEL_LINE_BPS * target_ns * 1e-9 / (8.0 * flows * packet_bytes) / 2;
	}
	return target_ns;
}

static void swift_holds_its_target(void **state)
{
	(void)state;
	for (uint32_t flows = 2; flows <= 16; flows++) {
		struct sim_contest_config config =
		    sim_contest_of_model(flows, &nic_cc_paper, 20 * MS);
		struct sim_contest_result r;

		config.flow.algorithm = NIC_CC_RTT;
		config.flow.acked = true;
		config.start_apart_ns = 613;
		r = run(&config);
		print_message("%u flows: %.2f us for %.2f, jain %.4f, used %.4f\n", flows,
			      r.rtt_mean_ns / 1000,
			      equilibrium_ns(flows, SIM_MODEL_PACKET_BYTES) / 1000, r.jain,
			      r.utilization);
		expect_within("the delay", r.rtt_mean_ns,
			      equilibrium_ns(flows, SIM_MODEL_PACKET_BYTES), 0.05);
		expect_at_least("Jain's index", r.jain, 0.99);
		expect_at_least("the utilization", r.utilization, 0.99);
	}
}

struct windows {
	uint32_t q16[2][201]; /* each 100 us */
};

static void note_windows(void *ctx, struct sim_contest *contest, uint64_t at_ns)
{
	struct windows *windows = (struct windows *)ctx;

	for (uint32_t i = 0; i < 2; i++)
		windows->q16[i][at_ns / (100 * US)] = contest->flows[i].cc.rtt.window_q16;
}

/* Unequal windows meet in some milliseconds: the smaller one has the longer target. */
static void unequal_windows_meet(void **state)
{
	struct sim_contest_config config = sim_contest_of_model(2, &nic_cc_paper, 20 * MS);
	struct sim_contest *contest;
	struct sim_contest_result r;
	struct windows w;
	static const uint32_t at[] = {10, 20, 50, 100, 200}; /* of 100 us */
	double apart[5];

	(void)state;
	config.flow.algorithm = NIC_CC_RTT;
	config.flow.acked = true;
	contest = sim_contest_new(&config);
	contest->flows[0].config.first_window_packets = 128;
	contest->flows[1].config.first_window_packets = 4;
	contest->ctx = &w;
	contest->sampled = note_windows;
	sim_contest_run(contest, &r);
	sim_contest_free(contest);
	for (uint32_t i = 0; i < 5; i++)
		apart[i] = ((double)w.q16[0][at[i]] - w.q16[1][at[i]]) / 65536;
	print_message("windows apart by %.1f at 1 ms, %.1f at 2, %.1f at 5, %.1f at 10\n", apart[0],
		      apart[1], apart[2], apart[3]);
	expect_within("how far they are apart at 1 ms", apart[0], 57, 0.25);
	assert_true(apart[1] < 10);
	for (uint32_t i = 2; i < 5; i++)
		assert_true(apart[i] < 2 && apart[i] > -2);
}

/* 512 flows of which each has a fifth of a packet in a round trip: the pace alone holds them. */
static void below_one_packet(void **state)
{
	struct sim_contest_config config = sim_contest_of_model(512, &nic_cc_paper, 40 * MS);
	struct sim_contest_result r;

	(void)state;
	config.flow.algorithm = NIC_CC_RTT;
	config.flow.acked = true;
	config.flow.packet_bytes = 4096;
	r = run(&config);
	print_message("512 flows: %.1f us for %.1f, jain %.3f, used %.3f\n", r.rtt_mean_ns / 1000,
		      equilibrium_ns(512, 4096) / 1000, r.jain, r.utilization);
	expect_within("the delay", r.rtt_mean_ns, equilibrium_ns(512, 4096), 0.35);
	expect_at_least("the utilization", r.utilization, 0.97);
	expect_at_least("Jain's index", r.jain, 0.7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dcqcn_shares_fairly),    cmocka_unit_test(the_cap_bounds_incast),
	    cmocka_unit_test(incast_without_a_cap),   cmocka_unit_test(unequal_flows_meet),
	    cmocka_unit_test(swift_holds_its_target), cmocka_unit_test(unequal_windows_meet),
	    cmocka_unit_test(below_one_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
