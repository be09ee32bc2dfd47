/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.h - what the programs that the scripts run have in common: a line for each clause, the
 * count of those that are not so, and an end where nothing can be tried.
 */
#ifndef RIG5_RUN_EXPECT_H
#define RIG5_RUN_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

static int failures;

static inline void expect(const char *clause, int got, int wanted)
{
	printf("%s: %s, %d\n", got == wanted ? "ok" : "FAILED", clause, got);
	failures += got != wanted;
}

static inline void *need(void *made, const char *what)
{
	if (made)
		return made;
	perror(what);
	exit(2);
}

#endif
