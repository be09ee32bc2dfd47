/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.c - see idle.h.
 */
#include "tests/support/idle.h"

#include <sys/resource.h>
#include <time.h>

enum { TRIES = 10 };

static uint64_t us_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;
}

static struct idle_cost so_far(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (struct idle_cost){
	    .cpu_us = us_of(&use.ru_utime) + us_of(&use.ru_stime),
	    .switches = (uint64_t)use.ru_nvcsw,
	};
}

struct idle_cost idle_stretch(unsigned int ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	struct idle_cost before = so_far(), after;

	nanosleep(&time, NULL);
	after = so_far();
	return (struct idle_cost){
	    .cpu_us = after.cpu_us - before.cpu_us,
	    .switches = after.switches - before.switches,
	};
}

struct idle_cost idle_cost(unsigned int ms, struct idle_cost most)
{
	struct idle_cost cost = idle_stretch(ms);

	for (int i = 1; i < TRIES && (cost.cpu_us > most.cpu_us || cost.switches > most.switches);
	     i++)
		cost = idle_stretch(ms);
	return cost;
}
