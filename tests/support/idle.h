/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.h - what this process costs while it has nothing to do.
 */
#ifndef TESTS_SUPPORT_IDLE_H
#define TESTS_SUPPORT_IDLE_H

#include <stdint.h>

/* Of all threads. */
struct idle_cost {
	uint64_t cpu_us;
	uint64_t switches; /* voluntary */
};

/*
 * idle_cost - sleeps for ms, and returns what that cost; again, ten times at most, if it was more
 * than most. A machine that does much else charges a process for interrupts now and then; an engine
 * that looks from time to time does so each time.
 */
struct idle_cost idle_cost(unsigned int ms, struct idle_cost most);
/* idle_stretch - once. */
struct idle_cost idle_stretch(unsigned int ms);

#endif
