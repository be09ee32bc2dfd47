/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/kept.h - descriptors that the software NIC keeps for itself in the application's table.
 *
 * They have high numbers, out of the way of programs that count on low ones. Who stands in front of
 * close(2) asks soft_kept_has, so that a program that closes all it has does not close ours.
 * Threads: any; soft_kept_has also in a signal handler.
 */
#ifndef SOFT_KEPT_H
#define SOFT_KEPT_H

#include <stdbool.h>

/* soft_kept_take - keeps fd, under another number if that can be; returns the number. fd < 0 is
 * returned as it is. */
int soft_kept_take(int fd);
/* soft_kept_close - closes it, and no longer keeps it. */
void soft_kept_close(int fd);
bool soft_kept_has(int fd);

enum { SOFT_KEPT_LAST = 16383 }; /* the highest number that is told from others */

#endif
