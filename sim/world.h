/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/world.h - a world in virtual time: an event queue, one source of chance, a digest of what
 * happened.
 *
 * A run is decided by its seed: events at the same time run in the order in which they were made,
 * and nothing looks at a clock. Everything notable is noted: it goes into the digest, and onto a
 * line of the trace if there is one.
 *
 * Threads: none. Failure: the first sim_fail is kept; whoever loops over sim_world_step then stops.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SIM_NEVER UINT64_MAX

typedef void sim_handler(void *ctx, uint64_t arg);

struct sim_event {
	uint64_t at_ns;
	uint64_t order;
	sim_handler *handler;
	void *ctx;
	uint64_t arg;
};

struct sim_world {
	uint64_t now_ns;
	uint64_t digest;
	uint64_t event_count;
	struct base_prng prng;
	struct sim_event *heap;
	uint32_t heap_count;
	uint32_t heap_cap;
	FILE *trace; /* the caller's; NULL: none */
	bool failed;
	char failure[512];
};

void sim_world_open(struct sim_world *world, uint64_t seed, FILE *trace);
void sim_world_close(struct sim_world *world);

/* sim_world_at - handler(ctx, arg) will run at at_ns, which is not in the past. */
void sim_world_at(struct sim_world *world, uint64_t at_ns, sim_handler *handler, void *ctx,
		  uint64_t arg);

/* sim_world_step - runs the next event; false: there is none, or the world has failed. */
bool sim_world_step(struct sim_world *world);

/* sim_fail - what should hold does not. */
void sim_fail(struct sim_world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* sim_note - `who` did `what`, with up to three numbers; zeroes are printed too. */
void sim_note(struct sim_world *world, const char *who, const char *what, uint64_t a, uint64_t b,
	      uint64_t c);

/* sim_note_packet - the same for a packet from its BTH on. */
void sim_note_packet(struct sim_world *world, const char *who, const char *what, const uint8_t *bth,
		     size_t len_bytes);

/* Chance: below gives [0, bound), range both ends, ppm a true in so many of a million. */
static inline uint64_t sim_below(struct sim_world *world, uint64_t bound)
{
	return base_prng_below(&world->prng, bound);
}

static inline uint64_t sim_range(struct sim_world *world, uint64_t low, uint64_t high)
{
	return base_prng_range(&world->prng, low, high);
}

static inline bool sim_chance(struct sim_world *world, uint32_t ppm)
{
	return base_prng_chance(&world->prng, ppm);
}

#endif
