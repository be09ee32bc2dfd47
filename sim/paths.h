/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/paths.h - one sender of datagrams with two destinations: behind one bottleneck, which marks,
 * and behind another, which only delays. Three other senders at each have the same algorithm as it
 * has for that place. What is under way is known by probes alone.
 */
#ifndef SIM_PATHS_H
#define SIM_PATHS_H

#include "sim/bottleneck.h"

enum {
	SIM_PATHS_MARKS,
	SIM_PATHS_DELAYS,
	SIM_PATHS_PLACES,
	SIM_PATHS_FLOWS = 4, /* at each place; the first is that of the sender with two */
};

struct sim_paths {
	struct sim_world world;
	struct sim_bottleneck places[SIM_PATHS_PLACES];
	struct sim_sender common; /* twice as fast as a bottleneck: it carries both shares */
	struct sim_sender others[SIM_PATHS_PLACES][SIM_PATHS_FLOWS];
	struct sim_flow flows[SIM_PATHS_PLACES][SIM_PATHS_FLOWS];
};

/* sim_paths_open - bottlenecks of 40 Gb/s, NIC_CC_DCQCN where marks are and NIC_CC_RTT where not.
 */
void sim_paths_open(struct sim_paths *paths, const struct nic_cc_params *params);
void sim_paths_close(struct sim_paths *paths);

void sim_paths_run_to(struct sim_paths *paths, uint64_t until_ns);

/* sim_paths_swap - the algorithms change places. */
void sim_paths_swap(struct sim_paths *paths);

#endif
