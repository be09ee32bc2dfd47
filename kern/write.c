/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write.c - the commands of the older write() interface, as INVOKE_WRITE carries them.
 *
 * Libraries that speak ioctl send these without the eight-byte header, but with the response
 * address first, and expect the response in CORE_OUT. A command that does not exist here gets
 * -EOPNOTSUPP, one whose buffers are too short -ENOSPC: libibverbs tells by that answer that the
 * method is there [uverbs.md 3].
 */
#include "kern/state.h"

static const struct kern_write_cmd commands[] = {
    {IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(struct ib_uverbs_query_device),
     sizeof(struct ib_uverbs_query_device_resp), kern_write_query_device},
    {IB_USER_VERBS_CMD_QUERY_PORT, sizeof(struct ib_uverbs_query_port),
     sizeof(struct ib_uverbs_query_port_resp), kern_write_query_port},
    {IB_USER_VERBS_CMD_ALLOC_PD, sizeof(struct ib_uverbs_alloc_pd),
     sizeof(struct ib_uverbs_alloc_pd_resp), kern_write_alloc_pd},
    {IB_USER_VERBS_CMD_CREATE_AH, sizeof(struct ib_uverbs_create_ah),
     sizeof(struct ib_uverbs_create_ah_resp), kern_write_create_ah},
    {IB_USER_VERBS_CMD_REG_MR, sizeof(struct ib_uverbs_reg_mr),
     sizeof(struct ib_uverbs_reg_mr_resp), kern_write_reg_mr},
    {IB_USER_VERBS_CMD_REREG_MR, sizeof(struct ib_uverbs_rereg_mr),
     sizeof(struct ib_uverbs_rereg_mr_resp), kern_write_rereg_mr},
    {IB_USER_VERBS_CMD_ALLOC_MW, sizeof(struct ib_uverbs_alloc_mw),
     sizeof(struct ib_uverbs_alloc_mw_resp), kern_write_alloc_mw},
    {IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, sizeof(struct ib_uverbs_create_comp_channel),
     sizeof(struct ib_uverbs_create_comp_channel_resp), kern_write_create_comp_channel},
    {IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq),
     sizeof(struct ib_uverbs_resize_cq_resp), kern_write_resize_cq},
    {IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0, kern_write_modify_srq},
    {IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(struct ib_uverbs_query_srq),
     sizeof(struct ib_uverbs_query_srq_resp), kern_write_query_srq},
    {IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(struct ib_uverbs_open_xrcd),
     sizeof(struct ib_uverbs_open_xrcd_resp), kern_write_open_xrcd},
    {IB_USER_VERBS_CMD_OPEN_QP, sizeof(struct ib_uverbs_open_qp),
     sizeof(struct ib_uverbs_create_qp_resp), kern_write_open_qp},
    {IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp),
     sizeof(struct ib_uverbs_query_qp_resp), kern_write_query_qp},
    {IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0, kern_write_modify_qp},
    {IB_USER_VERBS_CMD_ATTACH_MCAST, sizeof(struct ib_uverbs_attach_mcast), 0,
     kern_write_attach_mcast},
    {IB_USER_VERBS_CMD_DETACH_MCAST, sizeof(struct ib_uverbs_detach_mcast), 0,
     kern_write_detach_mcast},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), sizeof(struct ib_uverbs_ex_query_device),
     offsetof(struct ib_uverbs_ex_query_device_resp, odp_caps), kern_write_query_device_ex},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), sizeof(struct ib_uverbs_modify_qp),
     sizeof(struct ib_uverbs_ex_modify_qp_resp), kern_write_modify_qp_ex},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_FLOW), sizeof(struct ib_uverbs_create_flow),
     sizeof(struct ib_uverbs_create_flow_resp), kern_write_create_flow},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ), sizeof(struct ib_uverbs_ex_modify_wq), 0,
     kern_write_modify_wq},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL),
     sizeof(struct ib_uverbs_ex_create_rwq_ind_table),
     sizeof(struct ib_uverbs_ex_create_rwq_ind_table_resp), kern_write_create_rwq_table},
};

int kern_invoke_write(struct kern_call *call)
{
	uint64_t cmd;
	int error = kern_call_const(call, UVERBS_ATTR_WRITE_CMD, UINT32_MAX, &cmd);

	if (error)
		return error;
	if (cmd & ~(uint64_t)UV_WRITE_EX(IB_USER_VERBS_CMD_COMMAND_MASK))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].cmd != cmd)
			continue;
		if (kern_call_len(call, UVERBS_ATTR_CORE_IN) < commands[i].req_bytes ||
		    kern_call_len(call, UVERBS_ATTR_CORE_OUT) < commands[i].resp_bytes)
			return -ENOSPC;
		return commands[i].handler(call);
	}
	return -EOPNOTSUPP;
}
