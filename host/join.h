/* SPDX-License-Identifier: BSD-2-Clause */
/* join.h - becoming a member of a port: find it or found it, and take a slot [own table]. */
#ifndef HOST_JOIN_H
#define HOST_JOIN_H

#include "host/door.h"
#include "host/registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which port. Ethernet: address is an IP address of this machine; NULL: this user's port on
 * loopback. InfiniBand: lid; 0: this user's port. */
struct host_join_to {
	const char *address;
	bool infiniband;
	uint16_t lid;
};

/*
 * host_join - joins that port, or founds it. Blocks for at most some 2 seconds.
 * 0 with a claimed *registry and the *door to answer at; or -errno with a sentence in why, as
 * host_port_join.
 */
int host_join(const struct host_join_to *to, struct host_registry *registry, struct host_door *door,
	      char *why, size_t why_size);

/* host_leave - undoes it. */
void host_leave(struct host_registry *registry, struct host_door *door);

#endif
