/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * panic.c - how a test program dies of a broken ASSERT: cmocka records a failure of the test that
 * runs, or sees the assertion it expected (expect_assert_failure).
 *
 * Weak: a test that links the library, or has its own base_panic, gets that one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/assert.h"

__attribute__((weak)) void base_panic(const char *file, int line, const char *expr)
{
	mock_assert(0, expr, file, line);
	abort();
}
