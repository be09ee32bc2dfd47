/* SPDX-License-Identifier: BSD-2-Clause */
/* fluid.c - a sender without packets. */
#include "sim/fluid.h"

#define NS_S 1000000000ull

enum {
	MTU_BYTES = 1000, /* of no account */
};

void sim_fluid_open(struct sim_fluid *fluid, const struct nic_cc_params *params,
		    uint64_t line_rate_bps)
{
	struct nic_cc_flow flow = {.line_rate_bps = line_rate_bps, .mtu_bytes = MTU_BYTES};

	*fluid = (struct sim_fluid){0};
	nic_cc_init(&fluid->cc, NIC_CC_DCQCN, params, &flow, 0);
}

static unsigned __int128 full(const struct sim_fluid *fluid)
{
	return (unsigned __int128)fluid->cc.params->dcqcn.rpg_byte_reset_bytes * 8 * NS_S;
}

static void note_cut(struct sim_fluid *fluid)
{
	if (fluid->cc.dcqcn.cut_count != fluid->cut_count)
		fluid->sent = 0;
	fluid->cut_count = fluid->cc.dcqcn.cut_count;
}

void sim_fluid_run_to(struct sim_fluid *fluid, uint64_t until_ns)
{
	while (fluid->cc.dcqcn.active) {
		uint64_t rate = fluid->cc.rate_bps, timer_ns = nic_cc_deadline(&fluid->cc);
		uint64_t full_ns =
		    fluid->now_ns + (uint64_t)((full(fluid) - fluid->sent + rate - 1) / rate);
		uint64_t at_ns = timer_ns < full_ns ? timer_ns : full_ns;

		if (at_ns > until_ns)
			break;
		fluid->sent += (unsigned __int128)rate * (at_ns - fluid->now_ns);
		fluid->now_ns = at_ns;
		nic_cc_expire(&fluid->cc, at_ns);
		note_cut(fluid);
		if (full_ns < timer_ns) {
			fluid->sent -= full(fluid);
			nic_cc_on_send(&fluid->cc,
				       (uint32_t)fluid->cc.params->dcqcn.rpg_byte_reset_bytes,
				       at_ns);
		}
	}
	fluid->sent += (unsigned __int128)fluid->cc.rate_bps * (until_ns - fluid->now_ns);
	fluid->now_ns = until_ns;
}

void sim_fluid_cnp(struct sim_fluid *fluid)
{
	nic_cc_on_cnp(&fluid->cc, fluid->now_ns);
	note_cut(fluid);
}
