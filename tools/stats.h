/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/stats.h - what `rig5 stats` has found, and how it is shown. */
#ifndef TOOLS_STATS_H
#define TOOLS_STATS_H

#include <stdint.h>

#include "host/stats_ask.h"

/* A NIC of a process. */
struct stats_nic {
	char name[HOST_STATS_NAME_BYTES]; /* of its socket */
	uint32_t pid;
	char program[32];
	struct stats_reply reply; /* the first answer; its flows are those below */
	struct stats_flow *flows;
	uint32_t flow_count;
};

struct stats_view {
	struct stats_nic *nics;
	uint32_t count;
	struct host_stats_missed missed;
};

/* stats_print_table - for people. before: an earlier view, for what happened in between; or NULL.
 * stats_print_json - one line. */
void stats_print_table(const struct stats_view *view, const struct stats_view *before);
void stats_print_json(const struct stats_view *view);

#endif
