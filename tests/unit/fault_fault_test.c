/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault/fault: verdicts come as often as configured, the same for the same seed, and by number and
 * time where a rule says so; judged over 100,000 packets.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fault/fault.h"

#include <string.h>

enum { PACKETS = 100000, LEN_BYTES = 60 };

static bool verdict_has(const struct fault_verdict *verdict, enum fault_kind kind)
{
	switch (kind) {
	case FAULT_DROP:
		return verdict->drop;
	case FAULT_DUPLICATE:
		return verdict->duplicate;
	case FAULT_REORDER:
		return verdict->behind > 0;
	case FAULT_CORRUPT:
		return verdict->corrupt;
	case FAULT_KIND_COUNT:
		break;
	}
	return false;
}

/* 5 % of each kind alone: between 4.7 and 5.3 % of the packets get that verdict, and no other. */
static void test_rates(void **state)
{
	(void)state;
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
		struct fault_config config = {.seed = 3};
		uint32_t count[FAULT_KIND_COUNT] = {0};
		struct fault fault;

		config.ppm[kind] = 50000;
		fault_init(&fault, &config);
		for (int i = 0; i < PACKETS; i++) {
			struct fault_verdict verdict = fault_judge(&fault, LEN_BYTES, 0);

			for (int k = 0; k < FAULT_KIND_COUNT; k++)
				count[k] += verdict_has(&verdict, (enum fault_kind)k);
			assert_true(verdict.behind <= 3);
			assert_true(verdict.corrupt_bit < 8 * LEN_BYTES);
		}
		for (int k = 0; k < FAULT_KIND_COUNT; k++) {
			uint32_t low = k == kind ? 4700 : 0, high = k == kind ? 5300 : 0;

			if (count[k] < low || count[k] > high || fault.counts[k] != count[k])
				fail_msg("%s only: %u of %s",
					 fault_kind_name((enum fault_kind)kind), count[k],
					 fault_kind_name((enum fault_kind)k));
		}
	}
}

/* One seed, one stream; another seed, another; and a chance changes no other kind's packets. */
static void test_seeds(void **state)
{
	struct fault_config config = {.seed = 9, .ppm = {100000, 100000, 100000, 100000}};
	struct fault_config other_seed = config, other_chance = config;
	struct fault a, b, c, d;
	uint32_t differ = 0;

	(void)state;
	other_seed.seed = 10;
	other_chance.ppm[FAULT_DUPLICATE] = 0;
	fault_init(&a, &config);
	fault_init(&b, &config);
	fault_init(&c, &other_seed);
	fault_init(&d, &other_chance);
	for (int i = 0; i < 1000; i++) {
		struct fault_verdict va = fault_judge(&a, LEN_BYTES, 0);
		struct fault_verdict vb = fault_judge(&b, LEN_BYTES, 0);
		struct fault_verdict vc = fault_judge(&c, LEN_BYTES, 0);
		struct fault_verdict vd = fault_judge(&d, LEN_BYTES, 0);

		assert_true(va.drop == vb.drop && va.duplicate == vb.duplicate);
		assert_true(va.behind == vb.behind && va.corrupt_bit == vb.corrupt_bit);
		differ += va.drop != vc.drop;
		assert_true(va.drop == vd.drop && va.behind == vd.behind);
		assert_true(va.corrupt == vd.corrupt && va.corrupt_bit == vd.corrupt_bit);
	}
	assert_true(differ > 50);
}

static void test_rules(void **state)
{
	struct fault_config config;
	struct fault fault;
	size_t wrong;

	(void)state;
	assert_true(fault_parse(&config, "drop@3,drop@10/5,duplicate@4", &wrong));
	fault_init(&fault, &config);
	for (uint64_t number = 1; number <= 40; number++) {
		struct fault_verdict verdict = fault_judge(&fault, LEN_BYTES, number);
		bool drop = number == 3 || (number >= 10 && number % 5 == 0);

		assert_int_equal(verdict.drop, drop);
		assert_int_equal(verdict.duplicate, number == 4);
		assert_false(verdict.corrupt);
	}
}

/* A window counts from the first packet, whatever the clock says then. */
static void test_window(void **state)
{
	struct fault_config config;
	struct fault fault;
	size_t wrong;

	(void)state;
	assert_true(fault_parse(&config, "drop=100%,from=2us,until=1ms", &wrong));
	fault_init(&fault, &config);
	assert_false(fault_judge(&fault, LEN_BYTES, 5000000).drop);
	assert_false(fault_judge(&fault, LEN_BYTES, 5001999).drop);
	assert_true(fault_judge(&fault, LEN_BYTES, 5002000).drop);
	assert_true(fault_judge(&fault, LEN_BYTES, 5999999).drop);
	assert_false(fault_judge(&fault, LEN_BYTES, 6000000).drop);
}

/* Each packet as late as the wire is long, and by chance up to the jitter more; who is dropped is
 * the same without. */
static void test_delays(void **state)
{
	struct fault_config fixed, varied, none;
	struct fault a, b, c;
	uint64_t least_ns = UINT64_MAX, most_ns = 0;
	size_t wrong;

	(void)state;
	assert_true(fault_parse(&fixed, "drop=10%,delay=200us", &wrong));
	assert_true(fault_parse(&varied, "drop=10%,delay=200us,jitter=50us", &wrong));
	assert_true(fault_parse(&none, "drop=10%", &wrong));
	fault_init(&a, &fixed);
	fault_init(&b, &varied);
	fault_init(&c, &none);
	for (int i = 0; i < 10000; i++) {
		struct fault_verdict va = fault_judge(&a, LEN_BYTES, 0);
		struct fault_verdict vb = fault_judge(&b, LEN_BYTES, 0);
		struct fault_verdict vc = fault_judge(&c, LEN_BYTES, 0);

		assert_true(va.drop == vb.drop && va.drop == vc.drop);
		if (va.drop)
			continue;
		assert_int_equal(va.delay_ns, 200000);
		assert_int_equal(vc.delay_ns, 0);
		assert_in_range(vb.delay_ns, 200000, 250000);
		least_ns = vb.delay_ns < least_ns ? vb.delay_ns : least_ns;
		most_ns = vb.delay_ns > most_ns ? vb.delay_ns : most_ns;
	}
	assert_true(least_ns < 201000 && most_ns > 249000);
}

/* 1000 bytes take a microsecond; four of them wait at most. */
static void test_bottleneck(void **state)
{
	struct fault_config config;
	struct fault fault;
	size_t wrong;

	(void)state;
	assert_true(fault_parse(&config, "rate=1GB/s,queue=4kB,mark=2kB", &wrong));
	assert_int_equal(config.rate_bytes_per_s, 1000000000);
	fault_init(&fault, &config);
	for (uint64_t i = 0; i < 4; i++) {
		struct fault_verdict verdict = fault_judge(&fault, 1000, 5000);

		assert_false(verdict.drop);
		assert_int_equal(verdict.delay_ns, 1000 * (i + 1));
		assert_int_equal(verdict.mark, i == 3);
	}
	assert_true(fault_judge(&fault, 1000, 5000).drop);
	assert_int_equal(fault.overflows, 1);
	assert_int_equal(fault.counts[FAULT_DROP], 0);
	/* Two have left. */
	assert_int_equal(fault_judge(&fault, 1000, 7000).delay_ns, 3000);
	assert_int_equal(fault_judge(&fault, 1000, 1000000).delay_ns, 1000);
	assert_int_equal(fault.marks, 1);
}

/* What a mark hits does not change what else is hit, and a packet that is larger than the queue
 * passes one that is empty. */
static void test_marks(void **state)
{
	struct fault_config plain, marking;
	struct fault a, b;
	uint32_t marks = 0;
	size_t wrong;

	(void)state;
	assert_true(fault_parse(&plain, "drop=10%,duplicate=10%", &wrong));
	assert_true(fault_parse(&marking, "drop=10%,duplicate=10%,mark=20%", &wrong));
	fault_init(&a, &plain);
	fault_init(&b, &marking);
	for (int i = 0; i < 10000; i++) {
		struct fault_verdict one = fault_judge(&a, 100, 0);
		struct fault_verdict two = fault_judge(&b, 100, 0);

		assert_int_equal(one.drop, two.drop);
		assert_int_equal(one.duplicate, two.duplicate);
		assert_false(one.mark);
		marks += two.mark;
	}
	assert_in_range(marks, 1700, 1900);
	assert_true(fault_parse(&plain, "rate=1kB/s,queue=10B", &wrong));
	fault_init(&a, &plain);
	assert_false(fault_judge(&a, 100, 0).drop);
	assert_true(fault_judge(&a, 1, 0).drop);
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		bool good;
		size_t wrong;
		uint32_t drop_ppm;
		uint64_t seed;
	} cases[] = {
	    {"", true, 0, 0, 1},
	    {"drop=5%", true, 0, 50000, 1},
	    {"drop=5%,seed=18446744073709551615", true, 0, 50000, UINT64_MAX},
	    {"seed=7,drop=0.25%", true, 0, 2500, 7},
	    {"drop=100%", true, 0, 1000000, 1},
	    {"drop=123ppm", true, 0, 123, 1},
	    {"drop=0.00001%", true, 0, 0, 1},
	    {"drop=1%,corrupt=2%,reorder=3%,duplicate=4%,behind=16", true, 0, 10000, 1},
	    {"drop", false, 0, 0, 0},
	    {"drop=", false, 0, 0, 0},
	    {"drop=5", false, 0, 0, 0},
	    {"drop=101%", false, 0, 0, 0},
	    {"drop=100.1%", false, 0, 0, 0},
	    {"drop=1000001ppm", false, 0, 0, 0},
	    {"seed=1,drip=5%", false, 7, 0, 0},
	    {"seed=1 ,drop=5%", false, 0, 0, 0},
	    {"seed=18446744073709551616", false, 0, 0, 0},
	    {"drop@0", false, 0, 0, 0},
	    {"drop@1/0", false, 0, 0, 0},
	    {"from=5", false, 0, 0, 0},
	    {"until=99999999999999s", false, 0, 0, 0},
	    {"behind=17", false, 0, 0, 0},
	    {"drop=5%,delay=10s,jitter=10s", true, 0, 50000, 1},
	    {"delay=5", false, 0, 0, 0},
	    {"seed=2,delay=10001ms", false, 7, 0, 0},
	    {"jitter=11s", false, 0, 0, 0},
	    {"rate=10Gb/s,queue=200kB,mark=50kB", true, 0, 0, 1},
	    {"rate=1.25GB/s,mark=0.5%,drop=1%", true, 0, 10000, 1},
	    {"rate=10", false, 0, 0, 0},
	    {"rate=10GB", false, 0, 0, 0},
	    {"rate=0MB/s", false, 0, 0, 0},
	    {"rate=1001GB/s", false, 0, 0, 0},
	    {"seed=3,mark=101%", false, 7, 0, 0},
	    {"mark=5", false, 0, 0, 0},
	    {"queue=0.4B", false, 0, 0, 0},
	    {"mark@3", false, 0, 0, 0},
	    {"drop@1,drop@1,drop@1,drop@1,drop@1,drop@1,drop@1,drop@1,drop@1,drop@1,drop@1,drop@1,"
	     "drop@1,drop@1,drop@1,drop@1,drop@1",
	     false, 112, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault_config config;
		size_t wrong = 0;
		bool good = fault_parse(&config, cases[i].text, &wrong);

		if (good != cases[i].good || (!good && wrong != cases[i].wrong))
			fail_msg("'%s': %d at %zu", cases[i].text, good, wrong);
		if (good &&
		    (config.ppm[FAULT_DROP] != cases[i].drop_ppm || config.seed != cases[i].seed))
			fail_msg("'%s': %u ppm", cases[i].text, config.ppm[FAULT_DROP]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rates), cmocka_unit_test(test_seeds),
	    cmocka_unit_test(test_rules), cmocka_unit_test(test_window),
	    cmocka_unit_test(test_delays), cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_bottleneck), cmocka_unit_test(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
