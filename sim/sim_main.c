/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_main.c - the program `sim`: runs simulated worlds by seed, and shows one event by event.
 */
#include "sim/sim.h"

#include "base/assert.h"

#include <getopt.h>
#include <stdlib.h>

static struct sim_config config = {.seed = 1};

_Noreturn void base_panic(const char *file, int line, const char *expr)
{
	char command[128];

	sim_replay_command(&config, command, sizeof(command));
	fprintf(stderr, "%s:%d: broken: %s\nagain: %s\n", file, line, expr, command);
	abort();
}

static int usage(FILE *out, int status)
{
	fputs("usage: sim [--seed N] [--count N] [--ops N] [--trace]\n"
	      "Two software NICs in virtual time, random work, faults; a model checks every byte.\n"
	      "  --seed N    the world to run (1)\n"
	      "  --count N   that many worlds, of seeds from N on (1)\n"
	      "  --ops N     entries that each end posts (60)\n"
	      "  --trace     one line an event: virtual nanoseconds, who, what, numbers\n",
	      out);
	return status;
}

static void print(const struct sim_result *r)
{
	printf("seed %llu: %s, digest %016llx, %llu entries, %llu messages, %llu packets "
	       "(%llu dropped, %llu doubled, %llu late, %llu corrupt, %llu again), %llu rnr, "
	       "%llu deaths, %.3f virtual ms\n",
	       (unsigned long long)config.seed, r->ok ? "ok" : "FAILED",
	       (unsigned long long)r->digest, (unsigned long long)r->op_count,
	       (unsigned long long)r->message_count, (unsigned long long)r->packet_count,
	       (unsigned long long)r->dropped_count, (unsigned long long)r->duplicated_count,
	       (unsigned long long)r->reordered_count, (unsigned long long)r->corrupted_count,
	       (unsigned long long)r->retransmit_count, (unsigned long long)r->rnr_count,
	       (unsigned long long)r->death_count, (double)r->virtual_ns / 1e6);
}

static bool run_one(void)
{
	struct sim_result result;
	char command[128];

	sim_run(&config, &result);
	print(&result);
	if (result.ok)
		return true;
	sim_replay_command(&config, command, sizeof(command));
	printf("%s\nagain: %s\n", result.failure, command);
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'}, {"count", required_argument, NULL, 'c'},
		{"ops", required_argument, NULL, 'o'},	{"trace", no_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},	{NULL, 0, NULL, 0},
	};
	uint64_t count = 1;
	bool ok = true;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			config.seed = strtoull(optarg, NULL, 0);
		else if (option == 'c')
			count = strtoull(optarg, NULL, 0);
		else if (option == 'o')
			config.op_count = (uint32_t)strtoul(optarg, NULL, 0);
		else if (option == 't')
			config.trace = stdout;
		else
			return usage(option == 'h' ? stdout : stderr, option == 'h' ? 0 : 2);
	}
	for (; count != 0; count--, config.seed++)
		ok = run_one() && ok;
	return ok ? 0 : 1;
}
