/* SPDX-License-Identifier: BSD-2-Clause */
/* base_prng_test.c - the seeded generator: known values, bounds, repeatability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/prng.h"

/* Shows that the generator is xoshiro256** seeded by splitmix64.
 * By the first outputs for the state 1, 2, 3, 4, and splitmix64's first words for seed 0, which
 * other implementations publish. */
static void known_values(void **state)
{
	static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
	struct base_prng prng = {{1, 2, 3, 4}};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_true(base_prng_u64(&prng) == expected[i]);
	base_prng_seed(&prng, 0);
	assert_true(prng.s[0] == 0xe220a8397b1dcdaf);
	assert_true(prng.s[1] == 0x6e789e6aa1b965f4);
}

/* Shows that one seed gives one stream, and that another seed gives another.
 * By filling odd-sized buffers from two generators of each. */
static void seeds_repeat(void **state)
{
	struct base_prng a, b, c;
	uint8_t x[37], y[37], z[37];

	(void)state;
	base_prng_seed(&a, 42);
	base_prng_seed(&b, 42);
	base_prng_seed(&c, 43);
	base_prng_fill(&a, x, sizeof(x));
	base_prng_fill(&b, y, sizeof(y));
	base_prng_fill(&c, z, sizeof(z));
	assert_memory_equal(x, y, sizeof(x));
	assert_memory_not_equal(x, z, sizeof(x));
}

/* Shows that bounded numbers stay in their bounds and reach both ends; no bound, no number.
 * By many draws from small ranges (seed 1, fixed). */
static void bounds_hold(void **state)
{
	struct base_prng prng;
	unsigned int seen[6] = {0};

	(void)state;
	base_prng_seed(&prng, 1);
	for (int i = 0; i < 6000; i++)
		seen[base_prng_below(&prng, 6)]++;
	for (int i = 0; i < 6; i++)
		assert_in_range(seen[i], 800, 1200);
	for (int i = 0; i < 1000; i++)
		assert_in_range(base_prng_range(&prng, 10, 12), 10, 12);
	assert_int_equal(base_prng_below(&prng, 0), 0);
	assert_int_equal(base_prng_below(&prng, 1), 0);
	assert_int_equal(base_prng_range(&prng, 5, 5), 5);
	base_prng_range(&prng, 0, UINT64_MAX);
	expect_assert_failure(base_prng_range(&prng, 2, 1));
}

/* Shows that chances come out at their rate, never at 0 and always at a million.
 * By counting draws (seed 1, fixed). */
static void chances_hold(void **state)
{
	struct base_prng prng;
	int hits = 0;

	(void)state;
	base_prng_seed(&prng, 1);
	for (int i = 0; i < 10000; i++) {
		hits += base_prng_chance(&prng, 50000);
		assert_false(base_prng_chance(&prng, 0));
		assert_true(base_prng_chance(&prng, 1000000));
	}
	assert_in_range(hits, 420, 580);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(seeds_repeat),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(chances_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
