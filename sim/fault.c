/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - which faults a world has. */
#include "sim/fault.h"

enum {
	FIVE_PERCENT_PPM = 50000,
};

/* A rate that is 0 in half the worlds. */
static uint32_t maybe(struct sim_world *world, uint32_t max_ppm)
{
	return sim_chance(world, 500000) ? 0 : (uint32_t)sim_range(world, 1, max_ppm);
}

static void choose_link(struct sim_world *world, struct sim_link_config *link)
{
	/* Half the worlds have the four faults of the issue at 5 % each, a quarter any, one none */
	uint64_t kind = sim_below(world, 4);

	link->delay_ns = sim_range(world, 200, 1ull << sim_range(world, 8, 16));
	link->rate_bps = 1000000000ull << sim_below(world, 8);
	link->queue_ns_max = sim_range(world, 2, 40) * 4200 * 8000000000ull / link->rate_bps;
	link->late_ns_max = sim_range(world, 1, link->delay_ns + 20000);
	if (kind == 0)
		return;
	for (int i = 0; i < FAULT_KIND_COUNT; i++)
		link->fault.ppm[i] = kind == 1 ? maybe(world, 100000) : FIVE_PERCENT_PPM;
	link->fault.behind_max = (uint32_t)sim_range(world, 1, FAULT_BEHIND_MAX);
}

void sim_faults_choose(struct sim_world *world, struct sim_faults *faults)
{
	*faults = (struct sim_faults){0};
	choose_link(world, &faults->link);
	faults->stingy_ppm = maybe(world, 900000);
	faults->lost_ring_ppm = maybe(world, 500000);
	faults->pause_ppm = maybe(world, 100000);
	if (sim_chance(world, 400000))
		return;
	faults->bad_rkey_ppm = maybe(world, 10000);
	faults->bad_lkey_ppm = maybe(world, 10000);
	faults->too_long_ppm = maybe(world, 10000);
	faults->deregister_ppm = maybe(world, 10000);
	faults->local_ppm = maybe(world, 10000);
	faults->forbid_percent = maybe(world, 40);
	faults->kill_ppm = maybe(world, 10000);
	faults->cut_ppm = maybe(world, 10000);
}
