/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/alive.h - whether this is the process that something was made in, or a child of fork.
 *
 * A page that the kernel empties in children, also in those of a raw clone(2). Any thread may ask,
 * also while another marks.
 */
#ifndef SOFT_ALIVE_H
#define SOFT_ALIVE_H

#include <stdbool.h>

struct soft_alive {
	_Atomic(_Atomic char *) page; /* NULL: never marked */
};

/* soft_alive_mark - from here on children are told from this process. 0 or -errno. Under a lock. */
int soft_alive_mark(struct soft_alive *alive);
/* soft_alive_forked - true in a child of the process that marked it. */
bool soft_alive_forked(const struct soft_alive *alive);
/*
 * soft_alive_inherit - in a child, once and by one of its threads: true, and until that thread has
 * called soft_alive_renew, with which the child takes its parent's place, the others wait in here.
 */
bool soft_alive_inherit(struct soft_alive *alive);
void soft_alive_renew(struct soft_alive *alive);

#endif
