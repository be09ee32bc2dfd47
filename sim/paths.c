/* SPDX-License-Identifier: BSD-2-Clause */
/* paths.c - two destinations. */
#include "sim/paths.h"

#include <string.h>

enum {
	PACKET_BYTES = 1000,
	DELAY_NS = 4000,
	APART_NS = 613,
};

#define LINE_BPS 40000000000ull

void sim_paths_open(struct sim_paths *paths, const struct nic_cc_params *params)
{
	memset(paths, 0, sizeof(*paths));
	sim_world_open(&paths->world, 1, NULL);
	paths->common.rate_bps = 2 * LINE_BPS;
	for (int place = 0; place < SIM_PATHS_PLACES; place++) {
		struct sim_bottleneck *b = &paths->places[place];
		bool marks = place == SIM_PATHS_MARKS;

		b->world = &paths->world;
		b->config.rate_bps = LINE_BPS;
		b->config.kmin_bytes = 5000;
		b->config.kmax_bytes = marks ? 200000 : 0;
		b->config.pmax_ppm = 10000;
		sim_bottleneck_open(b);
		for (uint32_t i = 0; i < SIM_PATHS_FLOWS; i++) {
			struct sim_flow *flow = &paths->flows[place][i];

			paths->others[place][i].rate_bps = LINE_BPS;
			flow->world = &paths->world;
			flow->bottleneck = b;
			flow->sender = i == 0 ? &paths->common : &paths->others[place][i];
			flow->config = (struct sim_flow_config){
			    .algorithm = marks ? NIC_CC_DCQCN : NIC_CC_RTT,
			    .params = params,
			    .packet_bytes = PACKET_BYTES,
			    .delay_ns = DELAY_NS,
			    .start_ns = i * APART_NS,
			    .probed = true,
			};
			sim_flow_open(flow);
		}
	}
}

void sim_paths_close(struct sim_paths *paths)
{
	for (int place = 0; place < SIM_PATHS_PLACES; place++)
		sim_bottleneck_close(&paths->places[place]);
	sim_world_close(&paths->world);
}

void sim_paths_run_to(struct sim_paths *paths, uint64_t until_ns)
{
	while (paths->world.now_ns < until_ns && sim_world_step(&paths->world))
		;
}

void sim_paths_swap(struct sim_paths *paths)
{
	for (int place = 0; place < SIM_PATHS_PLACES; place++) {
		bool marked = paths->flows[place][0].config.algorithm == NIC_CC_DCQCN;

		for (uint32_t i = 0; i < SIM_PATHS_FLOWS; i++)
			sim_flow_remap(&paths->flows[place][i], marked ? NIC_CC_RTT : NIC_CC_DCQCN);
	}
}
