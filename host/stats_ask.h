/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats_ask.h - asks the processes of this machine (of this network namespace) that have the
 * software NIC open what they have counted. The answering half is host/stats.h.
 *
 * Any process may ask: it needs no port. Only processes of the same user answer, and root gets
 * answers from all; who an answer is from the kernel says. What does not pass stats_reply_check is
 * not an answer. Asking costs system calls, and the other process one pass of its NIC.
 */
#ifndef HOST_STATS_ASK_H
#define HOST_STATS_ASK_H

#include "abi/stats.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HOST_STATS_NAME_BYTES = 64, /* of a socket's name, with a NUL */
	HOST_STATS_NAMES_MAX = 256,
};

struct host_stats_names {
	uint32_t count;
	char names[HOST_STATS_NAMES_MAX][HOST_STATS_NAME_BYTES];
};

/* host_stats_find - the sockets on which processes of this user answer; as root, those of all users
 * if everybody. 0 or -errno. */
int host_stats_find(struct host_stats_names *names, bool everybody);

struct host_stats_answer {
	const char *name; /* as it was asked */
	uint32_t pid;
	uint32_t uid;
	const struct stats_reply *reply;
};

/* How many of those that were asked did not answer: there is no such socket any more; it is there,
 * but time was over; or what came was no answer, or another user's. */
struct host_stats_missed {
	uint32_t gone;
	uint32_t silent;
	uint32_t refused;
};

/*
 * host_stats_ask - asks each of the names for its counters and for the flows from number `from` on,
 * and calls each for each answer. Waits for timeout_ms at most, all in all. 0, or -errno if nobody
 * could be asked.
 */
int host_stats_ask(const char (*names)[HOST_STATS_NAME_BYTES], uint32_t count, uint32_t from,
		   int timeout_ms, void (*each)(void *ctx, const struct host_stats_answer *answer),
		   void *ctx, struct host_stats_missed *missed);

/*
 * host_stats_total - what all processes of this user on the port with that GID have counted, those
 * that have left it too; not what one had counted that was killed. Zeroes: nobody is there. 0 or
 * -errno.
 */
int host_stats_total(const uint8_t gid[static 16], int timeout_ms,
		     uint64_t total[static STATS_COUNT]);

#endif
