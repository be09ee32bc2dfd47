/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h - whether an address and a path can be: for queue pairs that connect, and for address
 * handles. Pure but for this thread's message.
 */
#ifndef LIB_PATH_H
#define LIB_PATH_H

#include "lib/lib.h"

enum {
	LIB_HOP_LIMIT = 64,
	LIB_LID_UNICAST_MAX = 0xbfff, /* above are multicast's [linux ib_mad.h] */
	LIB_LID_MAX = 0xfffe,         /* above is the permissive one */
	LIB_SERVICE_LEVEL_MAX = 15,
	LIB_PRIORITY_MAX = 7, /* what an Ethernet frame has room for */
};

/* lib_gid_unicast - a GID that one port may have. */
bool lib_gid_unicast(const uint8_t gid[static 16]);

/*
 * lib_address_check - whether a port on this link may send to address: 0, or -EINVAL for call.
 * many: groups too.
 */
int lib_address_check(const struct lib_port *port, const struct rig_address *address, bool many,
		      const char *call);
int lib_path_check(const struct lib_port *port, const struct rig_path *path, const char *call);

/* lib_path_source - whether there is an address to send from: 0, or -EADDRNOTAVAIL for call. */
int lib_path_source(const struct rig_nic *nic, const struct rig_path *path, const char *call);

/* lib_path_sgid_index - the index of that address in the port's table. */
static inline uint8_t lib_path_sgid_index(const struct lib_port *port, const struct rig_path *path)
{
	return path->gid_index_set ? path->gid_index : (uint8_t)port->gid_index;
}

static inline uint8_t lib_path_hop_limit(const struct rig_path *path)
{
	return path->hop_limit ? path->hop_limit : LIB_HOP_LIMIT;
}

/* lib_path_tclass - the traffic class byte; its ECN bits are the NIC's. */
static inline uint8_t lib_path_tclass(const struct rig_path *path)
{
	return (uint8_t)(path->dscp << 2);
}

#endif
