/* SPDX-License-Identifier: BSD-2-Clause */
/* base_assert_test.c - what an assertion does when it holds and when it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/assert.h"

/* Shows that a false ASSERT and UNREACHABLE reach base_panic, and a true ASSERT does not.
 * By cmocka's expectation of a failed assertion, which the test's base_panic raises. */
static void false_assert_panics(void **state)
{
	volatile int one = 1;

	(void)state;
	ASSERT(one == 1);
	DEBUG_ASSERT(one == 1);
	expect_assert_failure(ASSERT(one == 2));
	expect_assert_failure(UNREACHABLE());
}

/* Shows that ASSERT evaluates its expression once, and is one expression itself.
 * By a side effect inside it, in an unbraced if. */
static void assert_evaluates_once(void **state)
{
	volatile int count = 0;

	(void)state;
	if (count == 0)
		ASSERT(++count == 1);
	else
		fail();
	assert_int_equal(count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_assert_panics),
		cmocka_unit_test(assert_evaluates_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
