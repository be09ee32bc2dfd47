/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.c - the choice between the local wire and UDP. */
#include "host/wire.h"

#include "abi/roce.h"
#include "base/assert.h"

#include <string.h>

bool host_wire_is_here(const struct host_wire *wire, const struct nic_path *path)
{
	if (wire->lid != 0)
		return path->dlid == wire->lid;
	return memcmp(path->dgid, wire->gid, 16) == 0;
}

static enum host_way way_to(const struct host_wire *wire, const struct nic_path *path,
			    uint32_t dqpn)
{
	if (dqpn == ROCE_QPN_MASK)
		return path->datagram && roce_gid_is_multicast(path->dgid) ? HOST_WAY_GROUP
									  : HOST_WAY_NONE;
	if (host_wire_is_here(wire, path))
		return HOST_WAY_LOCAL;
	return wire->udp->up ? HOST_WAY_UDP : HOST_WAY_NONE;
}

/* Room where the packet is made for all who get it: the UDP wire's, if it goes there. */
static uint8_t *group_reserve(struct host_wire *wire, const struct nic_path *path, uint32_t dqpn,
			      size_t len)
{
	struct nic_path to = *path;

	ASSERT(len <= sizeof(wire->bytes));
	if (!host_local_group_room(wire->local, wire->now_ns))
		return NULL;
	wire->path = *path;
	wire->len = len;
	wire->over_udp = wire->udp->up && !roce_gid_is_frames(path->dgid);
	wire->room = wire->bytes;
	if (wire->over_udp) {
		host_udp_group_ip(wire->udp->ipv4, path->dgid, to.dgid);
		wire->room = host_udp_reserve(wire->udp, &to, dqpn, len);
	}
	return wire->room;
}

/* corrupt_bit: -1, or for UDP only. */
static void group_commit(struct host_wire *wire, int32_t corrupt_bit)
{
	if (corrupt_bit < 0)
		host_local_group_send(wire->local, &wire->path, wire->room, wire->len);
	if (wire->over_udp)
		host_udp_commit(wire->udp, corrupt_bit);
}

uint8_t *host_wire_reserve(struct host_wire *wire, const struct nic_path *path, uint32_t dqpn,
			   size_t len)
{
	wire->open = way_to(wire, path, dqpn);
	switch (wire->open) {
	case HOST_WAY_LOCAL:
		return host_local_reserve(wire->local, path, dqpn, len);
	case HOST_WAY_UDP:
		return host_udp_reserve(wire->udp, path, dqpn, len);
	case HOST_WAY_GROUP:
		return group_reserve(wire, path, dqpn, len);
	case HOST_WAY_NONE:
		break;
	}
	return host_local_void(wire->local);
}

void host_wire_commit(struct host_wire *wire)
{
	if (wire->open == HOST_WAY_UDP)
		host_udp_commit(wire->udp, -1);
	else if (wire->open == HOST_WAY_GROUP)
		group_commit(wire, -1);
	else
		host_local_commit(wire->local);
}

void host_wire_cancel(struct host_wire *wire)
{
	if (wire->open == HOST_WAY_UDP || (wire->open == HOST_WAY_GROUP && wire->over_udp))
		host_udp_cancel(wire->udp);
	else if (wire->open != HOST_WAY_GROUP)
		host_local_cancel(wire->local);
}

void host_wire_corrupt(struct host_wire *wire, uint32_t bit)
{
	if (wire->open == HOST_WAY_UDP)
		host_udp_commit(wire->udp, (int32_t)bit);
	else if (wire->open == HOST_WAY_GROUP)
		group_commit(wire, (int32_t)bit);
	else
		host_local_cancel(wire->local);
}
