/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/sim.h - one simulated world from a seed: two software NICs, a cable with faults, random
 * programs, and a model that checks every byte and every completion.
 *
 * Everything follows from the seed (and the source): the same seed gives the same digest and, with
 * a trace, the same text.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a test breaks on purpose, so that the check is seen to fail. */
#define SIM_SABOTAGES(X)                                                                           \
	X(NONE, "none")                                                                            \
	X(FLIP_BYTE, "a byte of each payload changes, and the ICRC does not tell")                 \
	X(CQE_TWICE, "a completion is seen twice")                                                 \
	X(CQE_LOST, "a completion is not seen")                                                    \
	X(CQE_LENGTH, "a completion says one byte more")                                           \
	X(WILD_WRITE, "a byte changes that nobody may touch")                                      \
	X(ATOMIC_AGAIN, "an atomic is done once more")                                             \
	X(EVENT_LOST, "a completion event does not arrive")                                        \
	X(SILENT_CUT, "packets vanish and nobody counts them")

enum sim_sabotage {
#define SIM_SABOTAGE_ENUM(token, words) SIM_SABOTAGE_##token,
	SIM_SABOTAGES(SIM_SABOTAGE_ENUM)
#undef SIM_SABOTAGE_ENUM
	SIM_SABOTAGE_COUNT
};

struct sim_config {
	uint64_t seed;
	uint32_t op_count; /* entries that each end of each connection posts; 0: the seed says */
	enum sim_sabotage sabotage;
	bool messages; /* the world of sim/messages.h */
	FILE *trace; /* one line an event; NULL: none */
};

struct sim_result {
	bool ok;
	bool sabotaged; /* the sabotage was done */
	char failure[512]; /* what was wrong, "" if nothing */
	uint64_t digest;
	uint64_t virtual_ns;
	uint64_t event_count;
	uint64_t op_count;
	uint64_t message_count;
	uint64_t packet_count;
	uint64_t dropped_count;
	uint64_t duplicated_count;
	uint64_t reordered_count;
	uint64_t corrupted_count;
	uint64_t retransmit_count;
	uint64_t rnr_count;
	uint64_t death_count; /* connections that failed or were killed, and were made again */
};

/* sim_run - the world of config->seed, to its end or its first failure. */
void sim_run(const struct sim_config *config, struct sim_result *result);

struct sim_node;
struct sim_world;
/* For worlds: adds what a node's NIC and cables counted; takes what the world ended with. */
void sim_count_node(struct sim_result *result, const struct sim_node *node);
void sim_finish(struct sim_result *result, const struct sim_world *world);

/* sim_sabotage_name - "CQE_TWICE", ...; sim_sabotage_words says what it does. */
const char *sim_sabotage_name(enum sim_sabotage sabotage);
const char *sim_sabotage_words(enum sim_sabotage sabotage);

/* sim_replay_command - the command that shows the failure again. */
void sim_replay_command(const struct sim_config *config, char *buf, size_t size);

#endif
