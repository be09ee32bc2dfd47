/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures_main.c - the program `figures`: what the flows of nic/cc do in virtual time, as lines
 * "figure,series,x,y" for scripts/figures.py, which plots them beside the reference model's.
 */
#include "sim/contest.h"
#include "sim/fluid.h"
#include "sim/paths.h"

#include "base/assert.h"
#include "nic/cc/cc_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define US 1000ull
#define MS 1000000ull

enum {
	SEEDS = 3,
	GAP_SEEDS = 40,
	GAP_MS = 50,
	MODEL_CAP_PACKETS = 40,
};

_Noreturn void base_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "%s:%d: broken: %s\n", file, line, expr);
	abort();
}

static void point(const char *figure, const char *series, double x, double y)
{
	printf("%s,%s,%.6g,%.6g\n", figure, series, x, y);
}

/* ---- one flow ---------------------------------------------------------------------------------
 */

static void recovery(const char *figure, const struct nic_cc_params *params, uint64_t line_bps,
		     uint64_t cnp_every_us, uint64_t until_us, uint64_t step_us)
{
	struct sim_fluid f;
	uint32_t cnps = 0;

	sim_fluid_open(&f, params, line_bps);
	for (uint64_t us = 0; us <= until_us; us += step_us) {
		for (; cnps < 10 && cnps * cnp_every_us <= us; cnps++) {
			sim_fluid_run_to(&f, cnps * cnp_every_us * US);
			sim_fluid_cnp(&f);
		}
		sim_fluid_run_to(&f, us * US);
		point(figure, "rig5", (double)us / 1000, (double)f.cc.rate_bps / 1e9);
	}
}

/* ---- many flows -------------------------------------------------------------------------------
 */

static struct nic_cc_params uncapped;

struct watch {
	const char *figure;
	double gap_gbps[GAP_MS + 1];
};

static struct sim_contest_result run(const struct sim_contest_config *config, struct watch *watch,
				     void (*sampled)(void *, struct sim_contest *, uint64_t))
{
	struct sim_contest *contest = sim_contest_new(config);
	struct sim_contest_result result;

	if (contest == NULL)
		abort();
	contest->ctx = watch;
	contest->sampled = sampled;
	sim_contest_run(contest, &result);
	sim_contest_free(contest);
	return result;
}

static void print_queue(void *ctx, struct sim_contest *contest, uint64_t at_ns)
{
	const struct watch *watch = (const struct watch *)ctx;

	if (at_ns <= 30 * MS)
		point(watch->figure, "rig5", (double)at_ns / 1e6,
		      (double)contest->bottleneck.queued_bytes / 1000);
}

static void steady(void)
{
	static const uint32_t counts[] = {2, 4, 8, 10, 16};

	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct sim_contest_config config =
		    sim_contest_of_model(counts[i], &uncapped, 100 * MS);
		double queue_kb = 0, jain = 1, used = 1;

		for (config.seed = 1; config.seed <= SEEDS; config.seed++) {
			struct watch watch = {.figure = counts[i] == 2 ? "queue_2" : "queue_16"};
			bool shown = config.seed == 1 && (counts[i] == 2 || counts[i] == 16);
			struct sim_contest_result r =
			    run(&config, &watch, shown ? print_queue : NULL);

			queue_kb += r.queue_mean_bytes / 1000 / SEEDS;
			jain = r.jain < jain ? r.jain : jain;
			used = r.utilization < used ? r.utilization : used;
		}
		point("steady", "rig5", counts[i], queue_kb);
		point("jain", "rig5", counts[i], jain);
		point("utilization", "rig5", counts[i], used);
	}
}

static void incast(void)
{
	static const uint32_t counts[] = {2, 4, 8, 16};

	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct sim_contest_config config =
		    sim_contest_of_model(counts[i], &uncapped, 5 * MS);
		struct sim_contest_result r = run(&config, NULL, NULL);

		point("incast", "rig5 without a cap", counts[i], (double)r.queue_peak_bytes / 1000);
		config.flow.params = &nic_cc_paper;
		config.flow.acked = true;
		r = run(&config, NULL, NULL);
		point("incast", "rig5", counts[i], (double)r.queue_peak_bytes / 1000);
		point("incast", "formula", counts[i], (counts[i] - 1) * MODEL_CAP_PACKETS + 1);
	}
}

static void add_gap(void *ctx, struct sim_contest *contest, uint64_t at_ns)
{
	struct watch *watch = (struct watch *)ctx;
	double rates[2];

	if (at_ns % MS != 0 || at_ns > GAP_MS * MS)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t first_bps = contest->flows[i].config.first_rate_bps;

		rates[i] = (double)(first_bps != 0 ? first_bps : contest->flows[i].cc.rate_bps);
	}
	watch->gap_gbps[at_ns / MS] += (rates[0] - rates[1]) / 1e9 / GAP_SEEDS;
}

static void converge(void)
{
	struct sim_contest_config config = sim_contest_of_model(2, &uncapped, GAP_MS * MS);
	struct watch watch = {0};

	for (config.seed = 1; config.seed <= GAP_SEEDS; config.seed++) {
		struct sim_contest *contest = sim_contest_new(&config);
		struct sim_contest_result r;

		if (contest == NULL)
			abort();
		contest->flows[1].config.first_rate_bps = 5000000000;
		contest->ctx = &watch;
		contest->sampled = add_gap;
		sim_contest_run(contest, &r);
		sim_contest_free(contest);
	}
	for (uint32_t ms = 0; ms <= GAP_MS; ms++)
		point("converge", "rig5", ms, watch.gap_gbps[ms]);
}

/* ---- Swift ------------------------------------------------------------------------------------
 */

/* The target at which the windows of so many flows fill the line for just that long. */
static double target_us(uint32_t flows)
{
	const struct nic_cc_rtt_params *p = &nic_cc_paper.rtt;
	double window = 1, target_ns = 0;

	for (int i = 0; i < 500; i++) {
		target_ns = p->base_target_ns + p->hop_target_ns +
			    swift_scaling_ns(p, (uint32_t)(window * 65536));
		window = window / 2 + SIM_MODEL_LINE_BPS * target_ns * 1e-9 /
					  (8.0 * flows * SIM_MODEL_PACKET_BYTES) / 2;
	}
	return target_ns / 1000;
}

static void swift(void)
{
	for (uint32_t flows = 2; flows <= 16; flows++) {
		struct sim_contest_config config =
		    sim_contest_of_model(flows, &nic_cc_paper, 20 * MS);
		struct sim_contest_result r;

		config.flow.algorithm = NIC_CC_RTT;
		config.flow.acked = true;
		config.start_apart_ns = 613;
		r = run(&config, NULL, NULL);
		point("swift", "rig5", flows, r.rtt_mean_ns / 1000);
		point("swift", "target", flows, target_us(flows));
	}
}

/* ---- two destinations -------------------------------------------------------------------------
 */

static void paths(void)
{
	static const char *const names[SIM_PATHS_PLACES] = {"marks", "delays"};
	uint64_t before[SIM_PATHS_PLACES] = {0};
	struct sim_paths p;

	sim_paths_open(&p, &nic_cc_paper);
	for (uint32_t ms = 1; ms <= 180; ms++) {
		double queue_kb[SIM_PATHS_PLACES] = {0};

		if (ms == 61 || ms == 121)
			sim_paths_swap(&p);
		for (uint32_t look = 1; look <= 20; look++) {
			sim_paths_run_to(&p, (ms - 1) * MS + look * 50 * US);
			for (int i = 0; i < SIM_PATHS_PLACES; i++)
				queue_kb[i] += (double)p.places[i].queued_bytes / 1000 / 20;
		}
		for (int i = 0; i < SIM_PATHS_PLACES; i++) {
			uint64_t bytes = p.flows[i][0].delivered_bytes;

			point("paths_rate", names[i], ms, (double)(bytes - before[i]) * 8 / 1e6);
			/* What a packet would wait now, and the way. */
			point("paths_delay", names[i], ms, queue_kb[i] / 5 + 8);
			before[i] = bytes;
		}
	}
	sim_paths_close(&p);
}

int main(void)
{
	uncapped = sim_model_params();
	recovery("recovery_paper", &nic_cc_paper, SIM_MODEL_LINE_BPS, 50, 45000, 500);
	recovery("recovery_vendor", &nic_cc_vendor, 100000000000, 4, 1500, 50);
	steady();
	incast();
	converge();
	swift();
	paths();
	return 0;
}
