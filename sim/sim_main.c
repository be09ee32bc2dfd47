/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_main.c - the program `sim`: runs simulated worlds by seed, and shows one event by event.
 */
#include "sim/sim.h"

#include "base/assert.h"

#include <getopt.h>
#include <stdlib.h>
#include <strings.h>

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
	fputs("usage: sim [--seed N] [--count N] [--ops N] [--messages] [--sabotage NAME] "
	      "[--trace]\n"
	      "Two software NICs in virtual time, random work, faults; a model checks every byte.\n"
	      "  --seed N    the world to run (1)\n"
	      "  --count N   that many worlds, of seeds from N on (1)\n"
	      "  --ops N     entries that each end posts (the seed says)\n"
	      "  --messages  datagrams, unreliable connections and shared receive queues\n"
	      "  --trace     one line an event: virtual nanoseconds, who, what, numbers\n"
	      "  --sabotage  something to break on purpose, which the model has to notice:\n",
	      out);
	for (int i = 1; i < SIM_SABOTAGE_COUNT; i++)
		fprintf(out, "              %-13s %s\n", sim_sabotage_name((enum sim_sabotage)i),
			sim_sabotage_words((enum sim_sabotage)i));
	return status;
}

static bool set_sabotage(const char *name)
{
	for (int i = 0; i < SIM_SABOTAGE_COUNT; i++) {
		if (strcasecmp(name, sim_sabotage_name((enum sim_sabotage)i)) == 0) {
			config.sabotage = (enum sim_sabotage)i;
			return true;
		}
	}
	fprintf(stderr, "sim: no sabotage is called %s\n", name);
	return false;
}

/* Whether text is a whole number; else says so. */
static bool number(const char *option, const char *text, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 0);
	if (end != text && *end == '\0')
		return true;
	fprintf(stderr, "sim: --%s: %s is not a number\n", option, text);
	return false;
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

/* Takes the options; -1: go on, else the status to end with. */
static int parse(int argc, char **argv, uint64_t *count)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},	    {"count", required_argument, NULL, 'c'},
		{"ops", required_argument, NULL, 'o'},	    {"trace", no_argument, NULL, 't'},
		{"sabotage", required_argument, NULL, 'b'}, {"help", no_argument, NULL, 'h'},
		{"messages", no_argument, NULL, 'm'},
		{NULL, 0, NULL, 0},
	};
	uint64_t ops = 0;
	bool ok = true;
	int option;

	while (ok && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			ok = number("seed", optarg, &config.seed);
		else if (option == 'c')
			ok = number("count", optarg, count);
		else if (option == 'o')
			ok = number("ops", optarg, &ops);
		else if (option == 'b')
			ok = set_sabotage(optarg);
		else if (option == 't')
			config.trace = stdout;
		else if (option == 'm')
			config.messages = true;
		else
			return usage(option == 'h' ? stdout : stderr, option == 'h' ? 0 : 2);
	}
	config.op_count = (uint32_t)ops;
	return ok ? -1 : 2;
}

int main(int argc, char **argv)
{
	uint64_t count = 1;
	bool ok = true;
	int status = parse(argc, argv, &count);

	if (status >= 0)
		return status;
	for (; count != 0; count--, config.seed++)
		ok = run_one() && ok;
	return ok ? 0 : 1;
}
