/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/fluid.h - a DCQCN sender of which each bit leaves at its time, as equations have it: the byte
 * counter's events come between packets, when the bytes are full.
 */
#ifndef SIM_FLUID_H
#define SIM_FLUID_H

#include "nic/cc/cc.h"

struct sim_fluid {
	struct nic_cc cc;
	uint64_t now_ns;
	unsigned __int128 sent; /* bits * 10^9 since the last event or cut */
	uint32_t cut_count;
};

/* sim_fluid_open - a flow on a line of its own, at time 0. *params must outlive it. */
void sim_fluid_open(struct sim_fluid *fluid, const struct nic_cc_params *params,
		    uint64_t line_rate_bps);

/* sim_fluid_run_to - all that is due by until_ns. sim_fluid_cnp - a notification comes now. */
void sim_fluid_run_to(struct sim_fluid *fluid, uint64_t until_ns);
void sim_fluid_cnp(struct sim_fluid *fluid);

#endif
