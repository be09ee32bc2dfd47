/* SPDX-License-Identifier: BSD-2-Clause */
/* join.h - becoming a member of a port: find it or found it, and take a slot [own table]. */
#ifndef HOST_JOIN_H
#define HOST_JOIN_H

#include "host/door.h"
#include "host/registry.h"

#include <stddef.h>

/*
 * host_join - joins the port at address (an IP address of this machine or the name of one of its
 * interfaces; NULL: this user's port on loopback), or founds it. Blocks for at most some 2 seconds.
 * 0 with a claimed *registry and the *door to answer at; or -errno with a sentence in why, as
 * host_port_join.
 */
int host_join(const char *address, struct host_registry *registry, struct host_door *door,
	      char *why, size_t why_size);

/* host_leave - undoes it. */
void host_leave(struct host_registry *registry, struct host_door *door);

#endif
