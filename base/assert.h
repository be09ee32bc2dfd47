/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * assert.h - checks of our own reasoning; never of bytes that someone else wrote.
 *
 * ASSERT stays in release builds. DEBUG_ASSERT is for the driver library's data path only and is
 * compiled, but not run, when NDEBUG is set. UNREACHABLE follows a switch that handles every value.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

/*
 * base_panic - reports the broken expectation and ends the process; it does not return.
 *
 * base declares it and does not define it: each program's outermost layer says how it dies.
 */
_Noreturn void base_panic(const char *file, int line, const char *expr);

#define ASSERT(expr) \
	(__builtin_expect(!(expr), 0) ? base_panic(__FILE__, __LINE__, #expr) : (void)0)

#define UNREACHABLE() base_panic(__FILE__, __LINE__, "unreachable")

#ifdef NDEBUG
#define DEBUG_ASSERT(expr) ((void)sizeof(!(expr)))
#else
#define DEBUG_ASSERT(expr) ASSERT(expr)
#endif

#endif
