/* SPDX-License-Identifier: BSD-2-Clause */
/* path.c - whether an address and a path can be. */
#include "lib/path.h"

#include "abi/roce.h"

#include <string.h>

enum {
	DSCP_MAX = 63,
	FLOW_LABEL_MAX = 0xfffff,
};

static bool gid_set(const uint8_t gid[static 16])
{
	static const uint8_t none[16];

	return memcmp(gid, none, sizeof(none)) != 0;
}

bool lib_gid_unicast(const uint8_t gid[static 16])
{
	return gid_set(gid) && !roce_gid_is_multicast(gid);
}

static int lid_check(uint16_t lid, bool many, const char *call)
{
	if (lid == 0 || lid > (many ? LIB_LID_MAX : LIB_LID_UNICAST_MAX))
		return lib_fail(EINVAL, "%s: the peer's LID, 0x%x, is no port's%s", call, lid,
				many ? " and no group's" : "");
	return 0;
}

/* group_check - an InfiniBand group goes by its LID and its GID [IBTA1 9.4.1]. */
static int group_check(const struct rig_address *address, const char *call)
{
	if (address->lid > LIB_LID_UNICAST_MAX && !roce_gid_is_multicast(address->gid))
		return lib_fail(EINVAL, "%s: LID 0x%x is a group's, and its GID is not there", call,
				address->lid);
	return 0;
}

int lib_address_check(const struct lib_port *port, const struct rig_address *address, bool many,
		      const char *call)
{
	if (address->link != port->link)
		return lib_fail(EINVAL, "%s: the peer's address is of the other link layer", call);
	if (port->link == RIG_LINK_INFINIBAND) {
		int err = lid_check(address->lid, many, call);

		return err ? err : group_check(address, call);
	}
	if (!(many ? gid_set(address->gid) : lib_gid_unicast(address->gid)))
		return lib_fail(EINVAL, "%s: the peer's GID is no host's%s", call,
				many ? " and no group's" : "");
	if (address->lid != 0)
		return lib_fail(EINVAL, "%s: an Ethernet address with a LID, 0x%x", call,
				address->lid);
	return 0;
}

int lib_path_check(const struct lib_port *port, const struct rig_path *path, const char *call)
{
	uint8_t level_max =
	    port->link == RIG_LINK_ETHERNET ? LIB_PRIORITY_MAX : LIB_SERVICE_LEVEL_MAX;

	if (path->dscp > DSCP_MAX || path->flow_label > FLOW_LABEL_MAX)
		return lib_fail(EINVAL, "%s: DSCP %u, flow label 0x%x; at most %u and 0x%x", call,
				path->dscp, path->flow_label, DSCP_MAX, FLOW_LABEL_MAX);
	if (path->service_level > level_max)
		return lib_fail(EINVAL, "%s: service level %u; at most %u", call,
				path->service_level, level_max);
	if (path->gid_index_set && path->gid_index >= port->gid_count)
		return lib_fail(EINVAL, "%s: GID index %u; the port has %u", call, path->gid_index,
				port->gid_count);
	return 0;
}

int lib_path_source(const struct rig_nic *nic, const struct rig_path *path, const char *call)
{
	if (nic->port.link == RIG_LINK_INFINIBAND || path->gid_index_set ||
	    gid_set(nic->port.address.gid))
		return 0;
	return lib_fail(EADDRNOTAVAIL,
			"%s: port %d of %s has no RoCE v2 address: give its network device an IP"
			" address",
			call, LIB_PORT, nic->name);
}
