/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c - CLOCK_MONOTONIC in nanoseconds, and readings of it that are kept for a microsecond. */
#include "host/clock.h"

#include <time.h>

/* 2,048 ticks of a cycle counter: 0.4 to 1 microsecond on machines of 2 to 5 GHz. */
enum { FRESH_TICKS = 2048 };

uint64_t host_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t host_clock_now(struct host_clock *clock)
{
#if defined(__x86_64__)
	uint64_t ticks = __builtin_ia32_rdtsc();

	if (clock->now_ns != 0 && ticks - clock->ticks < FRESH_TICKS)
		return clock->now_ns;
	clock->ticks = ticks;
#endif
	clock->now_ns = host_now_ns();
	return clock->now_ns;
}
