/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.c - address handles mapped to a queue pair: what is sent to such a place has the congestion
 * control that the queue pair has agreed on.
 *
 * The mapping is an object of the firmware, AV_QP_MAPPING, made by a command that the kernel passes
 * on (DevX). It lives as long as the handle.
 */
#include "lib/lib.h"
#include "lib/uioctl.h"

#include "abi/mlx5_cmd.h"

#include <string.h>

enum {
	CAPS_OP_MOD = CMD_CAP_GENERAL << CMD_CAP_SHIFT | 1, /* as they are now */
	CAPS_OUT_BYTES = CMD_HEADER_BYTES + CMD_CAP_BYTES,
	CAP_GENERAL_OBJECTS = 0x80, /* 64 bits, one for each type */
};

/* maps_offered - whether the NIC has such objects. A kernel that does not say has none. */
static bool maps_offered(const struct rig_nic *nic)
{
	uint8_t in[CMD_HEADER_BYTES] = {0};
	uint8_t out[CAPS_OUT_BYTES] = {0};
	struct lib_cmd cmd;

	if (!nic->devx)
		return false;
	cmd_set(in, CMD_OPCODE, CMD_QUERY_HCA_CAP);
	cmd_set(in, CMD_OP_MOD, CAPS_OP_MOD);
	lib_cmd_init(&cmd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER);
	lib_cmd_in(&cmd, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, in, sizeof(in));
	lib_cmd_out(&cmd, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, out, sizeof(out));
	if (lib_cmd_run(&cmd, nic->os, nic->fd))
		return false;
	return be64_load(out + CMD_HEADER_BYTES + CAP_GENERAL_OBJECTS) >> CMD_OBJ_AV_QP_MAPPING & 1;
}

/* global_route - whether the handle has one, as it always has on Ethernet. */
static bool global_route(const struct rig_ah *ah)
{
	return ah->shell.nic->port.link == RIG_LINK_ETHERNET ||
	       be32_to(ah->av.grh_gid_fl) >> WQE_AV_GRH_SHIFT & 1;
}

static int map_create(struct rig_ah *ah, uint32_t qp_num)
{
	const struct rig_nic *nic = ah->shell.nic;
	uint8_t in[CMD_MAP_IN_BYTES] = {0};
	uint8_t out[CMD_HEADER_BYTES] = {0};
	uint32_t route = be32_to(ah->av.grh_gid_fl) & 0xff << WQE_AV_SGID_INDEX_SHIFT;
	struct wqe_av av = {.stat_rate_sl = ah->av.stat_rate_sl & 0xf,
			    .grh_gid_fl = be32_from(route)};
	struct lib_cmd cmd;
	int err;

	memcpy(av.rgid, ah->av.rgid, sizeof(av.rgid));
	memcpy(in + CMD_MAP_AV, &av, sizeof(av));
	cmd_set(in, CMD_OPCODE, CMD_CREATE_GENERAL_OBJECT);
	cmd_set(in, CMD_OBJ_TYPE, CMD_OBJ_AV_QP_MAPPING);
	cmd_set(in, CMD_MAP_QPN, qp_num);
	lib_cmd_init(&cmd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	lib_cmd_out_handle(&cmd, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	lib_cmd_in(&cmd, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in, sizeof(in));
	lib_cmd_out(&cmd, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (!err) {
		ah->mapping = lib_cmd_handle(&cmd, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
		ah->mapped = true;
		return 0;
	}
	return lib_devx_fail(nic, err, out, "rig_ah_map_to_qp", qp_num);
}

int rig_ah_map_to_qp(struct rig_ah *ah, uint32_t qp_num)
{
	struct rig_nic *nic;
	int err;

	if (!ah || ah->shell.live != LIB_LIVE_AH)
		return lib_handle_error(ah, "rig_ah_map_to_qp");
	nic = ah->shell.nic;
	err = lib_nic_lock(nic, "rig_ah_map_to_qp");
	if (err)
		return err;
	if (ah->mapped)
		err = 0;
	else if (!global_route(ah))
		err = lib_fail(EOPNOTSUPP,
			       "rig_ah_map_to_qp: the handle has a LID and no global route");
	else if (!maps_offered(nic))
		err = lib_fail(EOPNOTSUPP, "rig_ah_map_to_qp: %s does not map address handles",
			       nic->name);
	else
		err = map_create(ah, qp_num);
	lib_nic_unlock(nic);
	return err;
}

void lib_ah_unmap(struct rig_ah *ah)
{
	const struct rig_nic *nic = ah->shell.nic;

	if (ah->mapped)
		lib_destroy(nic->os, nic->fd, MLX5_IB_OBJECT_DEVX_OBJ,
			    MLX5_IB_METHOD_DEVX_OBJ_DESTROY, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE,
			    ah->mapping);
	ah->mapped = false;
}
