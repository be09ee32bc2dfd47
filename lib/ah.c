/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ah.c - address handles: where a datagram goes, as the address vector of its entry has it.
 *
 * On Ethernet the kernel resolves the destination's MAC address: it makes a handle of its own for
 * that. On InfiniBand the address vector says all, and the kernel is not asked [rdma-core mlx5].
 */
#include "lib/path.h"
#include "lib/uioctl.h"

#include <string.h>
#include <sys/random.h>

enum {
	SOURCE_PORT_FIRST = 0xc000, /* of RoCE v2: the upper quarter of UDP's [IBTA1 annex 17] */
	FLOW_LOW_BITS = 14,
};

/* source_port - a flow label's, its upper bits folded into the lower ones [rdma-core verbs.h]. */
static uint16_t source_port(uint32_t flow_label)
{
	uint32_t low_mask = (1u << FLOW_LOW_BITS) - 1;

	if (!flow_label && getrandom(&flow_label, sizeof(flow_label), 0) != sizeof(flow_label))
		flow_label = 0; /* any will do */
	flow_label ^= flow_label >> FLOW_LOW_BITS & (0xfffff >> FLOW_LOW_BITS);
	return (uint16_t)(SOURCE_PORT_FIRST | (flow_label & low_mask));
}

static void av_set_route(struct wqe_av *av, const struct lib_port *port,
			 const struct rig_address *address, const struct rig_path *path)
{
	uint32_t sgid_index = lib_path_sgid_index(port, path);
	uint32_t present = port->link == RIG_LINK_INFINIBAND; /* reserved on Ethernet */

	av->tclass = lib_path_tclass(path);
	av->hop_limit = lib_path_hop_limit(path);
	av->grh_gid_fl = be32_from(present << WQE_AV_GRH_SHIFT |
				   sgid_index << WQE_AV_SGID_INDEX_SHIFT | path->flow_label);
	memcpy(av->rgid, address->gid, sizeof(av->rgid));
}

/* av_set - the address vector but for the MAC address, the queue pair and its key. */
static void av_set(struct wqe_av *av, const struct lib_port *port,
		   const struct rig_address *address, const struct rig_path *path)
{
	static const uint8_t no_gid[16];

	if (port->link == RIG_LINK_ETHERNET) {
		av->rlid = be16_from(source_port(path->flow_label));
		av->stat_rate_sl = (uint8_t)(path->service_level << 1);
	} else {
		av->rlid = be16_from(address->lid);
		av->stat_rate_sl = path->service_level;
	}
	if (port->link == RIG_LINK_ETHERNET || memcmp(address->gid, no_gid, sizeof(no_gid)) != 0)
		av_set_route(av, port, address, path);
}

/* mac_resolve - asks the kernel for the MAC address; the handle it made goes into ah. */
static int mac_resolve(struct rig_ah *ah, const struct rig_address *address,
		       const struct rig_path *path)
{
	const struct rig_nic *nic = ah->shell.nic;
	struct ib_uverbs_create_ah in = {0};
	struct ib_uverbs_create_ah_resp out = {0};
	struct mlx5_ib_create_ah_resp mlx5 = {0};
	struct lib_cmd cmd;
	int err;

	in.response = (uintptr_t)&out;
	in.user_handle = (uintptr_t)ah;
	in.pd_handle = nic->pd_handle;
	in.attr.port_num = LIB_PORT;
	in.attr.is_global = 1;
	in.attr.sl = path->service_level;
	in.attr.grh.sgid_index = lib_path_sgid_index(&nic->port, path);
	in.attr.grh.hop_limit = ah->av.hop_limit;
	in.attr.grh.traffic_class = ah->av.tclass;
	in.attr.grh.flow_label = path->flow_label;
	memcpy(in.attr.grh.dgid, address->gid, sizeof(in.attr.grh.dgid));
	lib_cmd_init_write(&cmd, IB_USER_VERBS_CMD_CREATE_AH, &in, sizeof(in), &out, sizeof(out));
	lib_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return lib_fail_reason(err, "rig_ah_create: the kernel cannot resolve the address");
	ah->handle = out.ah_handle;
	memcpy(ah->av.rmac, mlx5.dmac, sizeof(ah->av.rmac));
	return 0;
}

/* ah_make - a handle of nic, which is locked; address and path can be. */
static int ah_make(struct rig_nic *nic, const struct rig_address *address,
		   const struct rig_path *path, struct rig_ah **ah)
{
	struct lib_shell *shell = lib_pool_take(&nic->pool_ah);
	struct rig_ah *made;
	int err = 0;

	if (!shell)
		return lib_fail(ENOMEM, "rig_ah_create: no memory");
	made = lib_ah_of(shell);
	shell->nic = nic;
	av_set(&made->av, &nic->port, address, path);
	if (nic->port.link == RIG_LINK_ETHERNET)
		err = mac_resolve(made, address, path);
	if (err) {
		lib_pool_give(&nic->pool_ah, shell);
		return err;
	}
	lib_list_add(&nic->ahs, shell);
	shell->live = LIB_LIVE_AH;
	*ah = made;
	return 0;
}

int rig_ah_create(struct rig_nic *nic, const struct rig_address *address,
		  const struct rig_path *path, struct rig_ah **ah)
{
	static const struct rig_path defaults;
	int err;

	path = path ? path : &defaults;
	if (!address || !ah)
		return lib_fail(EINVAL, "rig_ah_create: address %p, handle %p",
				(const void *)address, (void *)ah);
	err = lib_nic_lock(nic, "rig_ah_create");
	if (err)
		return err;
	err = lib_port_refresh(nic, "rig_ah_create");
	err = err ? err : lib_address_check(&nic->port, address, true, "rig_ah_create");
	err = err ? err : lib_path_check(&nic->port, path, "rig_ah_create");
	err = err ? err : lib_path_source(nic, path, "rig_ah_create");
	err = err ? err : ah_make(nic, address, path, ah);
	lib_nic_unlock(nic);
	return err;
}

int lib_ah_destroy(struct rig_ah *ah)
{
	struct rig_nic *nic = ah->shell.nic;
	int err = 0;

	if (nic->port.link == RIG_LINK_ETHERNET)
		err = lib_destroy(nic->os, nic->fd, UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY,
				  UVERBS_ATTR_DESTROY_AH_HANDLE, ah->handle);
	if (err && nic->shell.live == LIB_LIVE_NIC)
		return lib_fail_reason(err, "rig_ah_destroy");
	lib_ah_unmap(ah);
	lib_list_remove(&nic->ahs, &ah->shell);
	lib_pool_give(&nic->pool_ah, &ah->shell);
	return 0;
}

int rig_ah_destroy(struct rig_ah *ah)
{
	struct rig_nic *nic;
	int err;

	if (!ah || ah->shell.live != LIB_LIVE_AH)
		return lib_handle_error(ah, "rig_ah_destroy");
	nic = ah->shell.nic;
	err = lib_nic_lock(nic, "rig_ah_destroy");
	if (err)
		return err;
	err = lib_ah_destroy(ah);
	lib_nic_unlock(nic);
	return err;
}
