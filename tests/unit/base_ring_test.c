/* SPDX-License-Identifier: BSD-2-Clause */
/* base_ring_test.c - ring arithmetic, 16-bit counters and PSNs, around their wraps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/ring.h"

/* Shows powers of two: test, logarithm and rounding, at both ends of the range.
 * By a table. */
static void powers_of_two(void **state)
{
	static const struct {
		const char *name;
		uint64_t count;
		bool is;
		unsigned int log2;
	} rows[] = {
		{"zero", 0, false, 0},
		{"one", 1, true, 0},
		{"two", 2, true, 1},
		{"three", 3, false, 2},
		{"four", 4, true, 2},
		{"five", 5, false, 3},
		{"largest ring", 1u << 22, true, 22},
		{"one more", (1u << 22) + 1, false, 23},
		{"top bit", (uint64_t)1 << 63, true, 63},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (ring_is_power_of_two(rows[i].count) != rows[i].is ||
		    ring_log2_ceil(rows[i].count) != rows[i].log2 ||
		    ring_round_up(rows[i].count) != (uint64_t)1 << rows[i].log2)
			fail_msg("%s", rows[i].name);
	}
}

/* Shows that positions fold into slots and laps also where the 32-bit counter wraps.
 * By walking a ring of eight over the wrap. */
static void positions_fold(void **state)
{
	uint32_t start = UINT32_MAX - 11;

	(void)state;
	for (uint32_t i = 0; i < 24; i++) {
		assert_int_equal(ring_index(start + i, 3), (4 + i) % 8);
		assert_int_equal(ring_lap(start + i, 3), (i + 4) / 8 % 2 == 1 ? 1 : 0);
		assert_int_equal(ring_used(start + i, start), i);
	}
	assert_int_equal(ring_index(5, 0), 0);
}

/* Shows the sign of differences of 16-bit counters and PSNs, modulo their ranges.
 * By a table of pairs, of which each is also tried the other way round. */
static void differences_wrap(void **state)
{
	static const struct {
		const char *name;
		uint32_t a, b;
		int32_t diff;
	} rows[] = {
		{"equal", 7, 7, 0},
		{"one ahead", 8, 7, 1},
		{"over the wrap", 0, 0xffffff, 1},
		{"far over the wrap", 0x10, 0xfffff0, 0x20},
		{"largest", 0x7fffff, 0, 0x7fffff},
		{"high bits ignored", 0xff000002, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (psn_diff(rows[i].a, rows[i].b) != rows[i].diff ||
		    psn_diff(rows[i].b, rows[i].a) != -rows[i].diff ||
		    psn_add(rows[i].b, rows[i].diff) != (rows[i].a & PSN_MASK) ||
		    psn_add(rows[i].a, -rows[i].diff) != (rows[i].b & PSN_MASK))
			fail_msg("%s", rows[i].name);
	}
	assert_int_equal(psn_diff(0x800000, 0), -0x800000);
	assert_int_equal(counter16_diff(0, 0xffff), 1);
	assert_int_equal(counter16_diff(0xffff, 0), -1);
	assert_int_equal(counter16_diff(0x8000, 0), -32768);
}

/* Shows which PSNs lie in a window, also one over the wrap and an empty one.
 * By trying the numbers just outside and just inside. */
static void windows_wrap(void **state)
{
	(void)state;
	assert_false(psn_in(0xfffffd, 0xfffffe, 4));
	assert_true(psn_in(0xfffffe, 0xfffffe, 4));
	assert_true(psn_in(1, 0xfffffe, 4));
	assert_false(psn_in(2, 0xfffffe, 4));
	assert_false(psn_in(5, 5, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(powers_of_two),
		cmocka_unit_test(positions_fold),
		cmocka_unit_test(differences_wrap),
		cmocka_unit_test(windows_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
