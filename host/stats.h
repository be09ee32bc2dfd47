/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - answers who asks what this process's NIC has counted (host/stats_ask.h), and leaves it
 * with the port at the end.
 *
 * On an abstract datagram socket of the port's thread; nothing is done until somebody asks. Who
 * asks is told by the kernel: processes of this user and root get an answer, others none. An answer
 * holds the NIC's lock for some microseconds, at most for a look at 1,024 queue pairs.
 */
#ifndef HOST_STATS_H
#define HOST_STATS_H

struct host_port;

/* host_stats_open - the socket, for poll(2): in the table of the calling thread. -errno. */
int host_stats_open(void);
/* host_stats_answer - takes the requests that have come, a bounded number. Not under the lock. */
void host_stats_answer(struct host_port *port, int fd);
/*
 * host_stats_enter - at the end of a process that does not leave the port, what the NIC has counted
 * becomes the port's. host_stats_leave - it does now, before the socket is closed. A process that
 * is killed takes it along.
 */
void host_stats_enter(struct host_port *port);
void host_stats_leave(struct host_port *port);

#endif
