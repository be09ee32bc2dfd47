/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c - queue pairs that have no one peer: their way from reset to ready to send, and the
 * multicast groups that they are members of.
 */
#include "lib/path.h"
#include "lib/uioctl.h"

#include "abi/roce.h"

#include <string.h>

/* The attributes of each step are those that it requires, and no others [linux mlx5 qp.c]. */
static int to_init(const struct rig_qp *qp, const struct rig_start *start)
{
	struct ib_uverbs_modify_qp in = {0};

	in.attr_mask = UV_QP_PKEY_INDEX | UV_QP_PORT;
	in.port_num = LIB_PORT;
	if (qp->transport == RIG_UD) {
		in.attr_mask |= UV_QP_QKEY;
		in.qkey = start->qkey;
	}
	return lib_qp_modify(qp, &in, UV_QPS_INIT);
}

static int to_rtr(const struct rig_qp *qp, uint32_t *ece)
{
	struct ib_uverbs_modify_qp in = {0};

	if (qp->transport == RIG_DC_INITIATOR) {
		in.attr_mask = UV_QP_PATH_MTU;
		in.path_mtu = lib_mtu_code(qp->shell.nic->port.mtu_bytes);
	}
	return lib_qp_modify_ece(qp, &in, UV_QPS_RTR, ece);
}

static int to_rts(const struct rig_qp *qp)
{
	struct ib_uverbs_modify_qp in = {0};

	in.attr_mask = UV_QP_SQ_PSN;
	in.sq_psn = qp->psn;
	if (qp->transport == RIG_DC_INITIATOR)
		lib_retries_set(qp, &in);
	return lib_qp_modify(qp, &in, UV_QPS_RTS);
}

/* start_sender - walks the three edges; back to reset if one is refused. */
static int start_sender(const struct rig_qp *qp, const struct rig_start *start, uint32_t *ece)
{
	struct ib_uverbs_modify_qp reset = {0};
	const char *step = "init";
	int err = to_init(qp, start);

	if (!err) {
		step = "ready to receive";
		err = to_rtr(qp, ece);
	}
	if (!err) {
		step = "ready to send";
		err = to_rts(qp);
	}
	if (!err)
		return 0;
	lib_qp_modify(qp, &reset, UV_QPS_RESET);
	return lib_fail_reason(err, "rig_qp_start: the kernel refused the step to %s", step);
}

static int target_to_init(const struct rig_qp *qp, const struct rig_start *start)
{
	struct ib_uverbs_modify_qp in = {0};
	uint32_t ece = 0, none;

	in.attr_mask = UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS_FLAGS;
	in.port_num = LIB_PORT;
	in.qp_access_flags = (uint8_t)lib_access_flags(start->access);
	return lib_qp_modify_target(qp, &in, UV_QPS_INIT, &ece, &none);
}

static int target_to_rtr(struct rig_qp *qp, const struct rig_path *path, uint32_t *ece)
{
	const struct lib_port *port = &qp->shell.nic->port;
	struct ib_uverbs_modify_qp in = {0};

	in.attr_mask = UV_QP_AV | UV_QP_PATH_MTU | UV_QP_MIN_RNR_TIMER;
	in.path_mtu = lib_mtu_code(port->mtu_bytes);
	in.min_rnr_timer = LIB_RNR_TIMER;
	in.dest.port_num = LIB_PORT;
	in.dest.sl = path->service_level;
	if (port->link == RIG_LINK_ETHERNET) {
		in.dest.is_global = 1;
		in.dest.sgid_index = lib_path_sgid_index(port, path);
		in.dest.hop_limit = lib_path_hop_limit(path);
		in.dest.traffic_class = lib_path_tclass(path);
		in.dest.flow_label = path->flow_label;
	}
	return lib_qp_modify_target(qp, &in, UV_QPS_RTR, ece, &qp->number);
}

/*
 * start_target - two edges, the second of which answers with the number. Nobody polls meanwhile:
 * the first completion finds it.
 */
static int start_target(struct rig_qp *qp, const struct rig_start *start, uint32_t *ece)
{
	int err;

	if ((unsigned int)start->access > RIG_REMOTE_ALL)
		return lib_fail(EINVAL, "rig_qp_start: access %d", (int)start->access);
	err = lib_path_check(&qp->shell.nic->port, &start->path, "rig_qp_start");
	err = err ? err : lib_path_source(qp->shell.nic, &start->path, "rig_qp_start");
	if (err)
		return err;
	err = target_to_init(qp, start);
	if (err)
		return lib_fail_reason(err, "rig_qp_start: the kernel refused the step to init");
	lib_cq_stop(qp->srq->cq);
	err = target_to_rtr(qp, &start->path, ece);
	lib_cq_go(qp->srq->cq);
	if (err)
		return lib_fail_reason(err, "rig_qp_start: the kernel refused the step to ready to"
					    " receive");
	return 0;
}

/* start_checked - the NIC is locked. */
static int start_checked(struct rig_qp *qp, const struct rig_start *start)
{
	struct rig_nic *nic = qp->shell.nic;
	uint32_t ece = qp->ece_peer;
	int err;

	if (qp->transport == RIG_RC)
		return lib_fail(EINVAL,
				"rig_qp_start: queue pair 0x%x needs a peer: rig_qp_connect is for"
				" it",
				qp->number);
	if (qp->connected)
		return lib_fail(EINVAL, "rig_qp_start: queue pair 0x%x was started already",
				qp->number);
	err = lib_port_refresh(nic, "rig_qp_start");
	if (err)
		return err;
	if (!nic->port.active)
		return lib_fail(ENETDOWN, "rig_qp_start: port %d of %s is down", LIB_PORT,
				nic->name);
	err = qp->transport == RIG_DC_TARGET ? start_target(qp, start, &ece)
					     : start_sender(qp, start, &ece);
	if (err)
		return err;
	if (qp->transport == RIG_UD)
		qp->message_max_bytes = nic->port.mtu_bytes;
	lib_qp_ready(qp, ece);
	return 0;
}

/* qp_lock - locks the NIC of a live qp: 0, or the error of call. */
static int qp_lock(struct rig_qp *qp, const char *call)
{
	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, call);
	return lib_nic_lock(qp->shell.nic, call);
}

int rig_qp_start(struct rig_qp *qp, const struct rig_start *start)
{
	int err;

	if (!start)
		return lib_fail(EINVAL, "rig_qp_start: no struct rig_start");
	err = qp_lock(qp, "rig_qp_start");
	if (err)
		return err;
	err = start_checked(qp, start);
	lib_nic_unlock(qp->shell.nic);
	return err;
}

/* ---- multicast ------------------------------------------------------------------------------- */

static int group_check(const struct rig_qp *qp, const struct rig_address *group, const char *call)
{
	int err = lib_address_check(&qp->shell.nic->port, group, true, call);

	if (err)
		return err;
	if (!roce_gid_is_multicast(group->gid))
		return lib_fail(EINVAL, "%s: the address is no multicast group's", call);
	if (qp->transport != RIG_UD)
		return lib_fail(EINVAL, "%s: queue pair 0x%x takes no datagrams", call, qp->number);
	return 0;
}

/* change_group - both commands have the same fields. */
static int change_group(struct rig_qp *qp, const struct rig_address *group, uint32_t write_cmd,
			const char *call)
{
	struct ib_uverbs_attach_mcast in = {0};
	const struct rig_nic *nic;
	struct lib_cmd cmd;
	int err;

	if (!group)
		return lib_fail(EINVAL, "%s: no group", call);
	err = qp_lock(qp, call);
	if (err)
		return err;
	nic = qp->shell.nic;
	err = group_check(qp, group, call);
	if (err)
		goto out;
	memcpy(in.gid, group->gid, sizeof(in.gid));
	in.mlid = group->lid;
	in.qp_handle = qp->handle;
	lib_cmd_init_write(&cmd, write_cmd, &in, sizeof(in), NULL, 0);
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		err = lib_fail_reason(err, "%s: the kernel refused", call);
out:
	lib_nic_unlock(qp->shell.nic);
	return err;
}

int rig_qp_attach(struct rig_qp *qp, const struct rig_address *group)
{
	return change_group(qp, group, IB_USER_VERBS_CMD_ATTACH_MCAST, "rig_qp_attach");
}

int rig_qp_detach(struct rig_qp *qp, const struct rig_address *group)
{
	return change_group(qp, group, IB_USER_VERBS_CMD_DETACH_MCAST, "rig_qp_detach");
}
