/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.c - the choice between the local wire and UDP. */
#include "host/wire.h"

#include <string.h>

bool host_wire_is_here(const struct host_wire *wire, const struct nic_path *path)
{
	if (wire->lid != 0)
		return path->dlid == wire->lid;
	return memcmp(path->dgid, wire->gid, 16) == 0;
}

static enum host_way way_to(const struct host_wire *wire, const struct nic_path *path)
{
	if (host_wire_is_here(wire, path))
		return HOST_WAY_LOCAL;
	return wire->udp->up ? HOST_WAY_UDP : HOST_WAY_NONE;
}

uint8_t *host_wire_reserve(struct host_wire *wire, const struct nic_path *path, uint32_t dqpn,
			   size_t len)
{
	wire->open = way_to(wire, path);
	switch (wire->open) {
	case HOST_WAY_LOCAL:
		return host_local_reserve(wire->local, dqpn, len);
	case HOST_WAY_UDP:
		return host_udp_reserve(wire->udp, path, dqpn, len);
	case HOST_WAY_NONE:
		break;
	}
	return host_local_void(wire->local);
}

void host_wire_commit(struct host_wire *wire)
{
	if (wire->open == HOST_WAY_UDP)
		host_udp_commit(wire->udp, -1);
	else
		host_local_commit(wire->local);
}

void host_wire_cancel(struct host_wire *wire)
{
	if (wire->open == HOST_WAY_UDP)
		host_udp_cancel(wire->udp);
	else
		host_local_cancel(wire->local);
}

void host_wire_corrupt(struct host_wire *wire, uint32_t bit)
{
	if (wire->open == HOST_WAY_UDP)
		host_udp_commit(wire->udp, (int32_t)bit);
	else
		host_local_cancel(wire->local);
}
