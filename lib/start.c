/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c - queue pairs that have no one peer: their way from reset to ready to send, and the
 * multicast groups that they are members of.
 */
#include "lib/path.h"
#include "lib/uioctl.h"

#include "abi/roce.h"

#include <string.h>

static int datagram_to_init(const struct rig_qp *qp, const struct rig_start *start)
{
	struct ib_uverbs_modify_qp in = {0};

	in.attr_mask = UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_QKEY;
	in.port_num = LIB_PORT;
	in.qkey = start->qkey;
	return lib_qp_modify(qp, &in, UV_QPS_INIT);
}

static int datagram_to_rts(const struct rig_qp *qp)
{
	struct ib_uverbs_modify_qp in = {0};

	in.attr_mask = UV_QP_SQ_PSN;
	in.sq_psn = qp->psn;
	return lib_qp_modify(qp, &in, UV_QPS_RTS);
}

/* start_kernel - walks the three edges; back to reset if one is refused. */
static int start_kernel(const struct rig_qp *qp, const struct rig_start *start, uint32_t *ece)
{
	struct ib_uverbs_modify_qp reset = {0}, receive = {0};
	const char *step = "init";
	int err = datagram_to_init(qp, start);

	if (!err) {
		step = "ready to receive";
		err = lib_qp_modify_ece(qp, &receive, UV_QPS_RTR, ece);
	}
	if (!err) {
		step = "ready to send";
		err = datagram_to_rts(qp);
	}
	if (!err)
		return 0;
	lib_qp_modify(qp, &reset, UV_QPS_RESET);
	return lib_fail_reason(err, "rig_qp_start: the kernel refused the step to %s", step);
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
	err = start_kernel(qp, start, &ece);
	if (err)
		return err;
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
