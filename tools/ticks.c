/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/ticks.c - the time stamp counter where it runs evenly, else the monotonic clock. */
#include <stdbool.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "tools/progress.h"
#include "tools/ticks.h"

static double ticks_per_us;
static bool use_tsc;

/* The counter runs at one speed in every power state [AMD64 APM vol. 3, CPUID Fn8000_0007 EDX bit
 * 8]. */
static bool tsc_is_even(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
	return false;
#endif
}

uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	if (use_tsc)
		return __rdtsc();
#endif
	return progress_now_ns();
}

void ticks_start(void)
{
	uint64_t start_ns, start_ticks, end_ns;

	if (ticks_per_us > 0)
		return;
	use_tsc = tsc_is_even();
	start_ns = progress_now_ns();
	start_ticks = ticks_now();
	do
		end_ns = progress_now_ns();
	while (end_ns - start_ns < 10000000);
	ticks_per_us = (double)(ticks_now() - start_ticks) / ((double)(end_ns - start_ns) / 1e3);
}

double ticks_to_us(uint64_t ticks)
{
	return (double)ticks / ticks_per_us;
}
