/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port.c - the state of a NIC's port, and which of its addresses the NIC goes by.
 *
 * On Ethernet that is the first RoCE v2 entry of the GID table that maps an IPv4 address, else the
 * first RoCE v2 one: routers and peers configured by name know the IPv4 address, and link-local
 * ones do not route (nccl#426, perftest#44).
 */
#include "lib/lib.h"
#include "lib/uioctl.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t ipv4_mapped[12] = {[10] = 0xff, [11] = 0xff};

/* width_lanes - lanes of a link [IBTA1 PortInfo LinkWidthActive]. */
static uint32_t width_lanes(uint8_t width)
{
	switch (width) {
	case 1:
		return 1;
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	}
	return 0;
}

/* rate_bps - a link's nominal speed; 0 if its speed is none we know [IBTA1 LinkSpeedActive]. */
static uint64_t rate_bps(uint8_t width, uint8_t speed)
{
	static const struct {
		uint8_t speed;
		uint64_t lane_bps;
	} lanes[] = {
		{1, 2500000000ull},   {2, 5000000000ull},   {4, 10000000000ull},
		{8, 10000000000ull},  {16, 14000000000ull}, {32, 25000000000ull},
		{64, 50000000000ull}, {128, 100000000000ull},
	};

	for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
		if (lanes[i].speed == speed)
			return lanes[i].lane_bps * width_lanes(width);
	return 0;
}

static int port_query(struct rig_nic *nic, const char *call,
		      struct ib_uverbs_query_port_resp_ex *resp)
{
	struct lib_cmd cmd;
	int err;

	memset(resp, 0, sizeof(*resp));
	lib_cmd_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	lib_cmd_in_const(&cmd, UVERBS_ATTR_QUERY_PORT_PORT_NUM, LIB_PORT);
	lib_cmd_out(&cmd, UVERBS_ATTR_QUERY_PORT_RESP, resp, sizeof(*resp));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return lib_fail_reason(err, "%s: %s: the state of port %d", call, nic->name,
				       LIB_PORT);
	return 0;
}

/* gid_better - whether entry is to be preferred to best (NULL: none yet). */
static bool gid_better(const struct ib_uverbs_gid_entry *entry,
		       const struct ib_uverbs_gid_entry *best)
{
	bool mapped, best_mapped;

	if (entry->gid_type != IB_UVERBS_GID_TYPE_ROCE_V2 || entry->port_num != LIB_PORT)
		return false;
	if (!best)
		return true;
	mapped = memcmp(entry->gid, ipv4_mapped, sizeof(ipv4_mapped)) == 0;
	best_mapped = memcmp(best->gid, ipv4_mapped, sizeof(ipv4_mapped)) == 0;
	if (mapped != best_mapped)
		return mapped;
	return entry->gid_index < best->gid_index;
}

/* gid_choose - sets port's address; leaves it zero where the table has none that will do. */
static int gid_choose(struct rig_nic *nic, const char *call, struct lib_port *port)
{
	struct ib_uverbs_gid_entry *entries, *best = NULL;
	uint64_t count = 0;
	struct lib_cmd cmd;
	size_t room = port->gid_count ? port->gid_count : 1;
	int err;

	/* An attribute's length has 16 bits. */
	if (room > UINT16_MAX / sizeof(*entries))
		room = UINT16_MAX / sizeof(*entries);
	entries = calloc(room, sizeof(*entries));
	if (!entries)
		return lib_fail(ENOMEM, "%s: no memory for the GID table of %s", call, nic->name);
	lib_cmd_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
	lib_cmd_in_const(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof(*entries));
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0);
	lib_cmd_out(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, entries,
		    room * sizeof(*entries));
	lib_cmd_out(&cmd, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count, sizeof(count));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err) {
		free(entries);
		return lib_fail_reason(err, "%s: the GID table of %s", call, nic->name);
	}
	for (uint64_t i = 0; i < count && i < room; i++)
		if (gid_better(&entries[i], best))
			best = &entries[i];
	if (best) {
		memcpy(port->address.gid, best->gid, sizeof(port->address.gid));
		port->gid_index = best->gid_index;
	}
	free(entries);
	return 0;
}

int lib_port_refresh(struct rig_nic *nic, const char *call)
{
	struct ib_uverbs_query_port_resp_ex resp;
	const struct ib_uverbs_query_port_resp *legacy = &resp.legacy_resp;
	struct lib_port port = {0};
	int err = port_query(nic, call, &resp);

	if (err)
		return err;
	port.active = legacy->state == UV_PORT_ACTIVE;
	port.link = legacy->link_layer == UV_LINK_LAYER_ETHERNET ? RIG_LINK_ETHERNET :
								   RIG_LINK_INFINIBAND;
	port.mtu_bytes = uv_mtu_bytes(legacy->active_mtu);
	port.message_max_bytes = legacy->max_msg_sz;
	port.gid_count = legacy->gid_tbl_len;
	port.rate_bps = rate_bps(legacy->active_width, legacy->active_speed);
	port.address.link = port.link;
	if (port.link == RIG_LINK_INFINIBAND)
		port.address.lid = legacy->lid;
	else
		err = gid_choose(nic, call, &port);
	if (!err)
		nic->port = port;
	return err;
}
