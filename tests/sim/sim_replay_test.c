/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that a seed run twice gives the same trace, and that another seed gives another one.
 * By comparing the text of whole traces, byte for byte, and the digests with and without a trace */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sim/sim.h"

static char *trace_of(uint64_t seed, bool messages, struct sim_result *result)
{
	struct sim_config config = {.seed = seed, .messages = messages};
	char *text = NULL;
	size_t len_bytes = 0;

	config.trace = open_memstream(&text, &len_bytes);
	assert_non_null(config.trace);
	sim_run(&config, result);
	fclose(config.trace);
	assert_true(len_bytes > 10000);
	return text;
}

static void same_seed_gives_the_same_trace(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sim_result first, second, bare;
		struct sim_config config = {.seed = seed, .messages = seed > 10};
		char *a = trace_of(seed, config.messages, &first);
		char *b = trace_of(seed, config.messages, &second);

		printf("seed %llu\n", (unsigned long long)seed);
		assert_string_equal(a, b);
		assert_true(first.ok);
		assert_true(first.digest == second.digest);
		assert_true(first.virtual_ns == second.virtual_ns);
		sim_run(&config, &bare);
		assert_true(bare.digest == first.digest);
		free(a);
		free(b);
	}
}

static void another_seed_gives_another_trace(void **state)
{
	struct sim_result first, second;
	char *a = trace_of(1, false, &first);
	char *b = trace_of(2, false, &second);

	(void)state;
	assert_true(first.digest != second.digest);
	assert_true(strcmp(a, b) != 0);
	free(a);
	free(b);
}

static void trace_shows_packets_and_completions(void **state)
{
	static const char *const words[] = {" tx RC_", " post ", " cqe ", "psn 0x"};
	struct sim_result result;
	char *text = trace_of(2, false, &result);

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_non_null(strstr(text, words[i]));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_seed_gives_the_same_trace),
		cmocka_unit_test(another_seed_gives_another_trace),
		cmocka_unit_test(trace_shows_packets_and_completions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
