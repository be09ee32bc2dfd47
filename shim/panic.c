/* SPDX-License-Identifier: BSD-2-Clause */
/* panic.c - how a program with the shim in it dies of a bug of ours: a line on stderr, SIGABRT. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void base_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "rig5 run: %s:%d: broken expectation: %s\n", file, line, expr);
	abort();
}
