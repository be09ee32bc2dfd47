/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/contest.h - flows of one kind at one bottleneck, and figures of how they share it.
 *
 * sim_contest_open makes the flows; what differs between them is changed in flows[i].config before
 * sim_contest_run, which measures from measure_ns to end_ns.
 */
#ifndef SIM_CONTEST_H
#define SIM_CONTEST_H

#include "sim/bottleneck.h"

enum {
	SIM_CONTEST_FLOWS_MAX = 1024,
};

struct sim_contest_config {
	uint64_t seed;
	uint32_t flow_count;
	struct sim_flow_config flow;
	uint64_t start_apart_ns; /* the next flow starts so much later */
	struct sim_bottleneck_config bottleneck;
	uint64_t sample_ns; /* how often the queue is looked at */
	uint64_t measure_ns;
	uint64_t end_ns;
};

struct sim_contest_result {
	double jain;        /* 1: all flows got the same; 1 / flow_count: one got all */
	double utilization; /* of the bottleneck */
	double queue_mean_bytes;
	uint64_t queue_p5_bytes;
	uint64_t queue_p50_bytes;
	uint64_t queue_p95_bytes;
	uint64_t queue_peak_bytes; /* from the start */
	double cnps_per_flow_ms;   /* from the start */
	double rtt_mean_ns;
	uint64_t rtt_p50_ns; /* in steps of 10 */
	uint64_t rtt_p99_ns;
};

struct sim_contest {
	struct sim_contest_config config;
	struct sim_world world;
	struct sim_bottleneck bottleneck;
	struct sim_sender senders[SIM_CONTEST_FLOWS_MAX];
	struct sim_flow flows[SIM_CONTEST_FLOWS_MAX];
	uint64_t delivered_before[SIM_CONTEST_FLOWS_MAX]; /* when measuring began */
	uint64_t *queue_samples;
	uint32_t queue_sample_count;
	uint32_t *rtt_histogram;
	uint64_t rtt_count;
	double rtt_sum_ns;
	void *ctx;
	/* NULL, or called each sample_ns from 0 on, also before measuring. */
	void (*sampled)(void *ctx, struct sim_contest *contest, uint64_t at_ns);
};

/* The reference model's [congestion]: packets of 1000 bytes, 8 us there and back, 40 Gb/s, RED from
 * 5 to 200 kB with at most 1 %. */
enum {
	SIM_MODEL_PACKET_BYTES = 1000,
	SIM_MODEL_RTT_NS = 8000,
};
#define SIM_MODEL_LINE_BPS 40000000000ull

/* sim_contest_of_model - a contest as the model has it, measured in its second half. *params stays
 * the caller's. sim_model_params - the paper's, without a bound on what is under way. */
struct sim_contest_config sim_contest_of_model(uint32_t flows, const struct nic_cc_params *params,
					       uint64_t end_ns);
struct nic_cc_params sim_model_params(void);

/* sim_contest_new - with its flows; NULL: no memory. sim_contest_free ends it. */
struct sim_contest *sim_contest_new(const struct sim_contest_config *config);
void sim_contest_free(struct sim_contest *contest);

/* sim_contest_run - to the end, once. */
void sim_contest_run(struct sim_contest *contest, struct sim_contest_result *result);

/* sim_jain - the index of count shares; 0 if all are 0. */
double sim_jain(const double *shares, uint32_t count);

#endif
