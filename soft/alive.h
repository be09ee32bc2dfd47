/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/alive.h - whether this is the process that something was made in, or a child of fork.
 *
 * A page that the kernel empties in children, also in those of a raw clone(2).
 */
#ifndef SOFT_ALIVE_H
#define SOFT_ALIVE_H

#include <stdbool.h>

struct soft_alive {
	char *page; /* NULL: never marked */
};

/* soft_alive_mark - from here on children are told from this process. 0 or -errno. */
int soft_alive_mark(struct soft_alive *alive);
/* soft_alive_forked - true in a child of the process that marked it. */
bool soft_alive_forked(const struct soft_alive *alive);
/* soft_alive_renew - the child takes its parent's place. */
void soft_alive_renew(struct soft_alive *alive);

#endif
