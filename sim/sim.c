/* SPDX-License-Identifier: BSD-2-Clause */
/* sim.c - one simulated world. */
#include "sim/sim.h"

#include "sim/load.h"
#include "sim/messages.h"

#include <stdlib.h>
#include <string.h>

#define STALL_NS 5000000000ull /* far longer than all retries of any timeout used */

enum {
	EVENTS_MAX = 50000000,
};

static void count_link(struct sim_result *result, const struct sim_link *link)
{
	result->packet_count += link->sent_count;
	result->dropped_count += link->cut_count + link->fault.counts[FAULT_DROP];
	result->duplicated_count += link->fault.counts[FAULT_DUPLICATE];
	result->reordered_count += link->fault.counts[FAULT_REORDER];
	result->corrupted_count += link->fault.counts[FAULT_CORRUPT];
}

void sim_count_node(struct sim_result *result, const struct sim_node *node)
{
	const struct nic_counters *counters = nic_counters(node->nic);

	count_link(result, &node->out);
	count_link(result, &node->loop);
	result->retransmit_count += counters->retransmits;
	result->rnr_count += counters->rx_rnr;
}

void sim_finish(struct sim_result *result, const struct sim_world *world)
{
	result->ok = !world->failed;
	memcpy(result->failure, world->failure, sizeof(result->failure));
	result->digest = world->digest;
	result->virtual_ns = world->now_ns;
	result->event_count = world->event_count;
}

static void loop(struct sim_load *load)
{
	struct sim_world *world = load->world;

	while (!sim_load_done(load) && sim_world_step(world)) {
		if (world->now_ns - load->progress_ns > STALL_NS)
			sim_fail(world, "nothing has completed for %llu s",
				 STALL_NS / 1000000000ull);
		if (world->event_count > EVENTS_MAX)
			sim_fail(world, "no end after %u events", EVENTS_MAX);
	}
	if (!world->failed && !sim_load_done(load))
		sim_fail(world, "nothing is left to happen, and entries are not complete");
}

void sim_run(const struct sim_config *config, struct sim_result *result)
{
	struct sim_world world;
	struct sim_load *load;

	if (config->messages) {
		sim_messages_run(config, result);
		return;
	}
	load = (struct sim_load *)calloc(1, sizeof(*load));
	if (!load)
		abort();
	memset(result, 0, sizeof(*result));
	sim_world_open(&world, config->seed, config->trace);
	sim_load_open(load, &world, config, result);
	loop(load);
	if (!world.failed)
		sim_load_finish(load);
	for (int i = 0; i < 2; i++)
		sim_count_node(result, &load->nodes[i]);
	sim_finish(result, &world);
	sim_load_close(load);
	sim_world_close(&world);
	free(load);
}

static const struct {
	const char *name;
	const char *words;
} sabotages[SIM_SABOTAGE_COUNT] = {
#define SIM_SABOTAGE_ROW(token, words) {#token, words},
	SIM_SABOTAGES(SIM_SABOTAGE_ROW)
#undef SIM_SABOTAGE_ROW
};

const char *sim_sabotage_name(enum sim_sabotage sabotage)
{
	return sabotages[sabotage].name;
}

const char *sim_sabotage_words(enum sim_sabotage sabotage)
{
	return sabotages[sabotage].words;
}

void sim_replay_command(const struct sim_config *config, char *buf, size_t size)
{
	char ops[32] = "", sabotage[48] = "", flags[96];

	if (config->op_count != 0)
		snprintf(ops, sizeof(ops), " --ops %u", config->op_count);
	if (config->sabotage != SIM_SABOTAGE_NONE)
		snprintf(sabotage, sizeof(sabotage), " --sabotage %s",
			 sim_sabotage_name(config->sabotage));
	snprintf(flags, sizeof(flags), "%s%s%s", config->messages ? " --messages" : "", ops,
		 sabotage);
	snprintf(buf, size, flags[0] ? "make sim SEED=%llu SIMFLAGS='%s'" : "make sim SEED=%llu",
		 (unsigned long long)config->seed, flags + (flags[0] == ' '));
}
