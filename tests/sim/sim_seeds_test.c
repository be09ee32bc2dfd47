/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that two NICs under random work and faults keep every byte and every completion right.
 * By simulated worlds of hundreds of seeds, and of those seeds that once failed;
  * see sim/oracle.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/assert.h"
#include "sim/sim.h"

enum {
	SEED_FIRST = 100000,
	SEED_COUNT = 300,
	MESSAGES_COUNT = 150,
};

static struct sim_config config;

/* An ASSERT of the NIC's: says which world it was before it ends the program. */
_Noreturn void base_panic(const char *file, int line, const char *expr)
{
	char command[128];

	sim_replay_command(&config, command, sizeof(command));
	fprintf(stderr, "%s:%d: broken: %s\nagain: %s\n", file, line, expr, command);
	abort();
}

static void run(uint64_t seed, bool messages, struct sim_result *total)
{
	struct sim_result result;
	char command[128];

	config = (struct sim_config){.seed = seed, .messages = messages};
	sim_run(&config, &result);
	sim_replay_command(&config, command, sizeof(command));
	if (!result.ok)
		fail_msg("seed %llu: %s\nagain: %s", (unsigned long long)seed, result.failure,
			 command);
	total->op_count += result.op_count;
	total->message_count += result.message_count;
	total->packet_count += result.packet_count;
	total->dropped_count += result.dropped_count;
	total->duplicated_count += result.duplicated_count;
	total->reordered_count += result.reordered_count;
	total->corrupted_count += result.corrupted_count;
	total->retransmit_count += result.retransmit_count;
	total->rnr_count += result.rnr_count;
	total->death_count += result.death_count;
}

static void hundreds_of_seeds(void **state)
{
	struct sim_result total = {0};

	(void)state;
	printf("seeds %d to %d\n", SEED_FIRST, SEED_FIRST + SEED_COUNT - 1);
	for (int i = 0; i < SEED_COUNT; i++)
		run(SEED_FIRST + (uint64_t)i, false, &total);
	/* The worlds had what they are for. */
	assert_true(total.op_count > 100ull * SEED_COUNT);
	assert_true(total.message_count > 20ull * SEED_COUNT);
	assert_true(total.dropped_count > total.packet_count / 50);
	assert_true(total.duplicated_count > total.packet_count / 50);
	assert_true(total.reordered_count > total.packet_count / 50);
	assert_true(total.corrupted_count > total.packet_count / 50);
	assert_true(total.retransmit_count != 0 && total.rnr_count != 0);
	assert_true(total.death_count > SEED_COUNT / 4);
}

/* UC, UD and shared receive queues: they too had what they are for, and not all was lost. */
static void hundreds_of_seeds_of_messages(void **state)
{
	struct sim_result total = {0};

	(void)state;
	for (int i = 0; i < MESSAGES_COUNT; i++)
		run(SEED_FIRST + (uint64_t)i, true, &total);
	assert_true(total.op_count > 300ull * MESSAGES_COUNT);
	assert_true(total.message_count > 100ull * MESSAGES_COUNT);
	assert_true(total.dropped_count > total.packet_count / 100);
	assert_true(total.duplicated_count > total.packet_count / 100);
	assert_true(total.reordered_count > total.packet_count / 100);
	assert_true(total.corrupted_count > total.packet_count / 100);
	assert_true(total.retransmit_count != 0 && total.rnr_count != 0);
}

/* Seeds that once failed, and what was wrong. A change of sim/ makes other worlds of them: what
 * they showed has a packet history too. */
static void seeds_that_once_failed(void **state)
{
	static const uint64_t seeds[] = {
		116,	/* a late copy of a READ counted against the responder's limit */
		20,	/* the model missed that unsignalled entries end in silence */
		16,	/* the programs' first sleep had no length */
		900870, /* a packet of an earlier life had a number of the next one's */
	};
	struct sim_result total = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		run(seeds[i], false, &total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_that_once_failed),
		cmocka_unit_test(hundreds_of_seeds),
		cmocka_unit_test(hundreds_of_seeds_of_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
