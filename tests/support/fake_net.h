/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_net.h - the world of fake_nic.h with links in its wire: each takes time, has a queue, and
 * may mark. Time moves from one arrival or deadline to the next.
 *
 *   w->alien = true, w->window_bytes = ...;    before connecting: the path is a network
 *   struct fake_net net = {.w = w, .count = 1, .links = {{.rate_bps = ..., .delay_ns = ...}}};
 *   fake_net_run(&net, w->now_ns + 10000000, app, ctx);
 */
#ifndef TESTS_SUPPORT_FAKE_NET_H
#define TESTS_SUPPORT_FAKE_NET_H

#include "tests/support/fake_nic.h"

enum { FAKE_LINKS_MAX = 8 };

struct fake_link {
	uint64_t rate_bps;         /* 0: no queue */
	uint64_t delay_ns;         /* besides */
	uint32_t mark_above_bytes; /* what then waits behind the packet that leaves; 0: never */

	/* Filled in. */
	uint64_t busy_until_ns;
	uint64_t packets, bytes, marks; /* bytes: from the BTH on */
	uint64_t queue_bytes_ns;        /* for the mean queue */
	uint64_t queue_max_bytes;
};

struct fake_net {
	struct fake_world *w;
	uint32_t count;
	struct fake_link links[FAKE_LINKS_MAX];
	/* Which link a packet takes; NULL: the first, if NIC 0 sent it, else the last. */
	uint32_t (*link_of)(const struct fake_packet *packet);
};

/* fake_mark - packet i of the wire, which says ECT, is marked. */
void fake_mark(struct fake_world *w, size_t i);

/* fake_net_run - lets time pass until until_ns. app, if not NULL, is called whenever something has
 * happened: it may poll and post. */
void fake_net_run(struct fake_net *net, uint64_t until_ns, void (*app)(void *ctx), void *ctx);

#endif
