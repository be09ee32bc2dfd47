/* SPDX-License-Identifier: BSD-2-Clause */
/* contest.c - how flows share a bottleneck, in figures. */
#include "sim/contest.h"

#include "base/assert.h"

#include <stdlib.h>

enum {
	RTT_STEP_NS = 10,
	RTT_STEPS = 200000, /* the last stands for all above */
};

double sim_jain(const double *shares, uint32_t count)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < count; i++) {
		sum += shares[i];
		squares += shares[i] * shares[i];
	}
	return squares > 0 ? sum * sum / (count * squares) : 0;
}

struct sim_contest_config sim_contest_of_model(uint32_t flows, const struct nic_cc_params *params,
					       uint64_t end_ns)
{
	return (struct sim_contest_config){
	    .seed = 1,
	    .flow_count = flows,
	    .flow = {.algorithm = NIC_CC_DCQCN,
		     .params = params,
		     .packet_bytes = SIM_MODEL_PACKET_BYTES,
		     .delay_ns = SIM_MODEL_RTT_NS / 2},
	    .start_apart_ns = 37, /* out of step */
	    .bottleneck = {.rate_bps = SIM_MODEL_LINE_BPS,
			   .kmin_bytes = 5000,
			   .kmax_bytes = 200000,
			   .pmax_ppm = 10000},
	    .sample_ns = 100000,
	    .measure_ns = end_ns / 2,
	    .end_ns = end_ns,
	};
}

struct nic_cc_params sim_model_params(void)
{
	struct nic_cc_params params = nic_cc_paper;

	params.cap_ns = 0;
	return params;
}

struct sim_contest *sim_contest_new(const struct sim_contest_config *config)
{
	struct sim_contest *c = (struct sim_contest *)calloc(1, sizeof(*c));
	uint64_t samples = config->end_ns / config->sample_ns + 1;

	ASSERT(config->flow_count >= 1);
	ASSERT(config->flow_count <= SIM_CONTEST_FLOWS_MAX);
	if (c == NULL)
		return NULL;
	c->config = *config;
	c->queue_samples = (uint64_t *)calloc(samples, sizeof(*c->queue_samples));
	c->rtt_histogram = (uint32_t *)calloc(RTT_STEPS, sizeof(*c->rtt_histogram));
	if (c->queue_samples == NULL || c->rtt_histogram == NULL) {
		free(c->queue_samples);
		free(c->rtt_histogram);
		free(c);
		return NULL;
	}
	sim_world_open(&c->world, config->seed, NULL);
	c->bottleneck.world = &c->world;
	c->bottleneck.config = config->bottleneck;
	sim_bottleneck_open(&c->bottleneck);
	for (uint32_t i = 0; i < config->flow_count; i++) {
		c->senders[i].rate_bps = config->bottleneck.rate_bps;
		c->flows[i] = (struct sim_flow){.world = &c->world,
						.bottleneck = &c->bottleneck,
						.sender = &c->senders[i],
						.config = config->flow};
		c->flows[i].config.start_ns += i * config->start_apart_ns;
	}
	return c;
}

void sim_contest_free(struct sim_contest *contest)
{
	sim_bottleneck_close(&contest->bottleneck);
	sim_world_close(&contest->world);
	free(contest->queue_samples);
	free(contest->rtt_histogram);
	free(contest);
}

static void count_rtt(void *ctx, struct sim_flow *flow, uint64_t rtt_ns)
{
	struct sim_contest *c = (struct sim_contest *)ctx;
	uint64_t step = rtt_ns / RTT_STEP_NS;

	(void)flow;
	if (c->world.now_ns < c->config.measure_ns)
		return;
	c->rtt_histogram[step < RTT_STEPS ? step : RTT_STEPS - 1]++;
	c->rtt_count++;
	c->rtt_sum_ns += (double)rtt_ns;
}

static void look(void *ctx, uint64_t at_ns)
{
	struct sim_contest *c = (struct sim_contest *)ctx;

	if (c->sampled != NULL)
		c->sampled(c->ctx, c, at_ns);
	if (at_ns == c->config.measure_ns)
		for (uint32_t i = 0; i < c->config.flow_count; i++)
			c->delivered_before[i] = c->flows[i].delivered_bytes;
	if (at_ns >= c->config.measure_ns)
		c->queue_samples[c->queue_sample_count++] = c->bottleneck.queued_bytes;
	if (at_ns < c->config.end_ns)
		sim_world_at(&c->world, c->world.now_ns + c->config.sample_ns, look, c,
			     at_ns + c->config.sample_ns);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t rtt_percentile(const struct sim_contest *c, uint32_t percent)
{
	uint64_t left = c->rtt_count * percent / 100, step = 0;

	while (step < RTT_STEPS - 1 && left >= c->rtt_histogram[step])
		left -= c->rtt_histogram[step++];
	return step * RTT_STEP_NS;
}

static void sum_up(struct sim_contest *c, struct sim_contest_result *r)
{
	double shares[SIM_CONTEST_FLOWS_MAX], bytes = 0, cnps = 0;
	double seconds = (double)(c->config.end_ns - c->config.measure_ns) * 1e-9;
	uint32_t count = c->config.flow_count, samples = c->queue_sample_count;

	*r = (struct sim_contest_result){.queue_peak_bytes = c->bottleneck.peak_bytes};
	for (uint32_t i = 0; i < count; i++) {
		shares[i] = (double)(c->flows[i].delivered_bytes - c->delivered_before[i]);
		bytes += shares[i];
		cnps += (double)c->flows[i].cnp_count;
	}
	r->jain = sim_jain(shares, count);
	r->utilization = bytes * 8 / seconds / (double)c->config.bottleneck.rate_bps;
	r->cnps_per_flow_ms = cnps / count / ((double)c->config.end_ns * 1e-6);
	qsort(c->queue_samples, samples, sizeof(*c->queue_samples), by_size);
	for (uint32_t i = 0; i < samples; i++)
		r->queue_mean_bytes += (double)c->queue_samples[i] / samples;
	r->queue_p5_bytes = c->queue_samples[samples / 20];
	r->queue_p50_bytes = c->queue_samples[samples / 2];
	r->queue_p95_bytes = c->queue_samples[samples * 19 / 20];
	if (c->rtt_count != 0)
		r->rtt_mean_ns = c->rtt_sum_ns / (double)c->rtt_count;
	r->rtt_p50_ns = rtt_percentile(c, 50);
	r->rtt_p99_ns = rtt_percentile(c, 99);
}

void sim_contest_run(struct sim_contest *contest, struct sim_contest_result *result)
{
	uint64_t end_ns = contest->world.now_ns + contest->config.end_ns;

	for (uint32_t i = 0; i < contest->config.flow_count; i++) {
		contest->flows[i].ctx = contest;
		contest->flows[i].sampled = count_rtt;
		sim_flow_open(&contest->flows[i]);
	}
	sim_world_at(&contest->world, contest->world.now_ns, look, contest, 0);
	while (contest->world.now_ns <= end_ns && sim_world_step(&contest->world))
		;
	sum_up(contest, result);
}
