/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/bottleneck.h - a switch's port in virtual time: one queue without end in order of arrival, a
 * rate, and marks. And the senders that share it, each a context of nic/cc with a packet always
 * ready: no memory, no packets' bytes.
 *
 * A packet leaves its sender, takes delay_ns to the queue, waits, and is at its receiver when it
 * has left the queue. The acknowledgement, and the notification if it was marked and one is due,
 * take delay_ns back. Marks are decided when a packet leaves, by what it leaves behind.
 *
 * Ownership: all structures are the caller's, and outlive the world's events.
 */
#ifndef SIM_BOTTLENECK_H
#define SIM_BOTTLENECK_H

#include "nic/cc/cc.h"
#include "sim/world.h"

struct sim_bottleneck_config {
	uint64_t rate_bps;
	/* Marked are none up to kmin, all over kmax, and pmax_ppm of a million just below it;
	 * kmax_bytes 0: none at all. */
	uint64_t kmin_bytes;
	uint64_t kmax_bytes;
	uint32_t pmax_ppm;
};

struct sim_flow;

struct sim_queued {
	struct sim_flow *flow;
	uint64_t sent_ns;
	uint32_t bytes;
	bool probe;
};

struct sim_bottleneck {
	struct sim_world *world;
	struct sim_bottleneck_config config;
	struct sim_queued *ring;
	uint32_t ring_count; /* slots, a power of two */
	uint32_t head;
	uint32_t tail;
	uint64_t queued_bytes;
	uint64_t peak_bytes;
	uint64_t marked_count;
};

/* A sender's link, which the flows of one sender share. */
struct sim_sender {
	uint64_t rate_bps;
	uint64_t free_ns;
};

struct sim_flow_config {
	enum nic_cc_algorithm algorithm;
	const struct nic_cc_params *params;
	uint32_t packet_bytes;
	uint64_t delay_ns; /* half of the base round trip */
	uint64_t start_ns;
	bool acked;                    /* each packet is acknowledged */
	bool probed;                   /* none is; probes go along instead, as with datagrams */
	uint64_t first_rate_bps;       /* until the first notification; 0: the line's */
	uint32_t first_window_packets; /* of NIC_CC_RTT; 0: the algorithm\'s */
};

struct sim_flow {
	struct sim_world *world;
	struct sim_bottleneck *bottleneck;
	struct sim_sender *sender;
	struct sim_flow_config config;
	struct nic_cc cc;
	struct nic_cnp_limiter limiter;
	uint64_t wake_ns; /* the earliest event under way that makes it try again */
	uint64_t delivered_bytes;
	uint64_t sent_count; /* packets of data */
	uint64_t cnp_count;
	uint64_t ignored_cnp_count;
	uint64_t rtt_count; /* samples, and their sum */
	uint64_t rtt_sum_ns;
	uint64_t rtt_last_ns;
	uint64_t probe_sent_count; /* of data, when the last probe left */
	uint64_t probe_unsampled;  /* of data, between that probe and the one before it */
	uint64_t probe_ns;
	bool probe_out;
	void *ctx;
	void (*sampled)(void *ctx, struct sim_flow *flow, uint64_t rtt_ns); /* NULL: nobody asks */
};

/* sim_bottleneck_open - the rest of *bottleneck, which has its world and config; close frees. */
void sim_bottleneck_open(struct sim_bottleneck *bottleneck);
void sim_bottleneck_close(struct sim_bottleneck *bottleneck);

/* sim_flow_open - the rest of *flow, which has its world, bottleneck, sender and config, all else
 * zero; it starts by itself. */
void sim_flow_open(struct sim_flow *flow);

/* sim_flow_remap - the flow goes on under another algorithm, as a new one. */
void sim_flow_remap(struct sim_flow *flow, enum nic_cc_algorithm algorithm);

#endif
