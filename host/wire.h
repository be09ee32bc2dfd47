/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h - which way a packet goes: over the local wire to the processes of this port, over UDP to
 * other hosts, or nowhere.
 *
 * A path whose GID (on InfiniBand: LID) is this port's own is local. An InfiniBand port has no
 * other way. What goes to a multicast group (queue pair 0xffffff) goes to every member of this port
 * that listens, and over UDP to other ports. One owner at a time (the port's lock).
 */
#ifndef HOST_WIRE_H
#define HOST_WIRE_H

#include "host/local.h"
#include "host/udp.h"
#include "nic/nic.h"

enum host_way { HOST_WAY_NONE, HOST_WAY_LOCAL, HOST_WAY_UDP, HOST_WAY_GROUP };

struct host_wire {
	struct host_local *local;
	struct host_udp *udp;
	uint8_t gid[16];
	uint16_t lid; /* 0: Ethernet */
	enum host_way open; /* of the open reservation */
	uint64_t now_ns;    /* of the pass */
	/* Of a reservation for a group. */
	struct nic_path path;
	uint8_t *room; /* over UDP, or what is below */
	size_t len;
	bool over_udp;
	uint8_t bytes[SHM_PACKET_BYTES_MAX];
};

/* host_wire_is_here - whether path leads to this very port. */
bool host_wire_is_here(const struct host_wire *wire, const struct nic_path *path);

/* As nic_env.tx_reserve, _commit and _cancel. */
uint8_t *host_wire_reserve(struct host_wire *wire, const struct nic_path *path, uint32_t dqpn,
			   size_t len);
void host_wire_commit(struct host_wire *wire);
void host_wire_cancel(struct host_wire *wire);

/* host_wire_corrupt - commits the packet with that bit turned: its ICRC is then wrong, so the
 * receiver drops it. The local wire has no ICRC; there it is not delivered. */
void host_wire_corrupt(struct host_wire *wire, uint32_t bit);

#endif
