/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that the simulation's checks can fail: each thing that is broken on purpose is noticed.
 * By running worlds with one sabotage each; a world where it had no occasion does not count. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sim/sim.h"

enum {
	SEEDS = 10,
};

static bool happened(uint64_t seed, bool messages, enum sim_sabotage sabotage, bool *noticed)
{
	struct sim_config config = {.seed = seed, .sabotage = sabotage, .messages = messages};
	struct sim_result result;

	sim_run(&config, &result);
	*noticed = !result.ok;
	if (result.sabotaged && result.ok)
		printf("seed %llu: not noticed\n", (unsigned long long)seed);
	if (result.sabotaged && !result.ok)
		printf("seed %llu: %s\n", (unsigned long long)seed, result.failure);
	return result.sabotaged;
}

/* least: in how many of a hundred worlds it has to be noticed. Some harm is none: a cut after which
 * nothing was to be sent, a lost event of a queue that the death of a connection has polled. */
static void expect_noticed_in(bool messages, enum sim_sabotage sabotage, int least)
{
	int occasions = 0, caught = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		bool noticed;

		if (!happened(seed, messages, sabotage, &noticed))
			continue;
		occasions++;
		caught += noticed;
	}
	printf("noticed in %d of %d worlds\n", caught, occasions);
	assert_true(occasions >= SEEDS / 3);
	assert_true(caught * 100 >= least * occasions);
}

static void expect_noticed(enum sim_sabotage sabotage, int least)
{
	expect_noticed_in(false, sabotage, least);
}

static void without_sabotage_nothing_is_noticed(void **state)
{
	bool noticed;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		assert_false(happened(seed, false, SIM_SABOTAGE_NONE, &noticed));
		assert_false(noticed);
		assert_false(happened(seed, true, SIM_SABOTAGE_NONE, &noticed));
		assert_false(noticed);
	}
}

static void changed_byte_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_FLIP_BYTE, 100);
}

static void doubled_completion_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_CQE_TWICE, 100);
}

static void lost_completion_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_CQE_LOST, 100);
}

static void wrong_length_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_CQE_LENGTH, 100);
}

static void wild_write_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_WILD_WRITE, 100);
}

static void atomic_done_twice_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_ATOMIC_AGAIN, 90);
}

static void lost_event_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_EVENT_LOST, 60);
}

static void failure_without_a_cause_is_noticed(void **state)
{
	(void)state;
	expect_noticed(SIM_SABOTAGE_SILENT_CUT, 75);
}

/* Of UC, UD and shared receive queues. */
static void sabotage_of_messages_is_noticed(void **state)
{
	static const enum sim_sabotage sabotages[] = {
		SIM_SABOTAGE_FLIP_BYTE, SIM_SABOTAGE_CQE_TWICE, SIM_SABOTAGE_CQE_LOST,
		SIM_SABOTAGE_CQE_LENGTH, SIM_SABOTAGE_WILD_WRITE};

	(void)state;
	for (size_t i = 0; i < sizeof(sabotages) / sizeof(sabotages[0]); i++)
		expect_noticed_in(true, sabotages[i], 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_sabotage_nothing_is_noticed),
		cmocka_unit_test(changed_byte_is_noticed),
		cmocka_unit_test(doubled_completion_is_noticed),
		cmocka_unit_test(lost_completion_is_noticed),
		cmocka_unit_test(wrong_length_is_noticed),
		cmocka_unit_test(wild_write_is_noticed),
		cmocka_unit_test(atomic_done_twice_is_noticed),
		cmocka_unit_test(lost_event_is_noticed),
		cmocka_unit_test(failure_without_a_cause_is_noticed),
		cmocka_unit_test(sabotage_of_messages_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
