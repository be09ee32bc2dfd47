/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/fault.h - the swarm: each seed has a random subset of faults at random rates.
 *
 * A world that always has every fault never gets deep into what only one of them shows.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "sim/link.h"

struct sim_faults {
	struct sim_link_config link; /* of both directions */
	/* Of a million entries posted, how many are ... */
	uint32_t bad_rkey_ppm;
	uint32_t bad_lkey_ppm;
	uint32_t too_long_ppm;	   /* sends longer than the peer's receives */
	uint32_t deregister_ppm;   /* accompanied by the end of the region the peer may access */
	uint32_t local_ppm;	   /* likewise, of the region of one's own buffers */
	uint32_t pause_ppm;	   /* followed by a pause: send queue drained, then ready again */
	uint32_t forbid_percent;   /* connections that do not allow all their peer may want */
	uint32_t kill_ppm;	   /* followed by the end of the queue pair: error, or destroyed */
	uint32_t cut_ppm;	   /* followed by a cut of the cable, for a while */
	uint32_t stingy_ppm;	   /* times a receive is not posted when it could be */
	uint32_t lost_ring_ppm;	   /* doorbells that are not rung: a scan has to find the record */
};

/* sim_faults_choose - the faults of this world. */
void sim_faults_choose(struct sim_world *world, struct sim_faults *faults);

#endif
