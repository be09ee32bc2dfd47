/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_rmp.c - receive memory pools by command: a shared receive queue whose ring and doorbell
 * record lie in umems.
 */
#include "kern/devx.h"

enum cmd_status kern_cmd_create_rmp(struct kern_cmd *cmd)
{
	struct kern_file *file = cmd->call->file;
	const uint8_t *wq = cmd->in + CMD_RMP_WQ;
	uint32_t type = cmd_get(wq, CMD_WQ_TYPE);
	struct nic_srq_attr attr = {
	    .wqe_count = 1u << (cmd_get(wq, CMD_WQ_LOG_SIZE) & 0x1f),
	    .wqe_size_log2 = cmd_get(wq, CMD_WQ_LOG_STRIDE),
	    .cyclic = type == CMD_WQ_CYCLIC,
	    .cookie = kern_object_handle(cmd->object),
	};
	struct kern_object *pd, *uses[KERN_USES_MAX] = {NULL};
	enum cmd_status status;
	uint32_t rmpn;

	if (type != CMD_WQ_LIST && type != CMD_WQ_CYCLIC)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_RMP_WQ);
	pd = kern_devx_named(file, KERN_PD, CMD_ALLOC_PD, cmd_get(wq, CMD_WQ_PD));
	if (!pd)
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_RMP_WQ + CMD_WQ_PD.word);
	attr.pdn = pd->number;
	status = kern_devx_wq_memory(cmd, CMD_RMP_WQ, attr.wqe_count, attr.wqe_size_log2, uses,
				     &attr.buf_va, &attr.db_va);
	if (status != CMD_OK)
		return status;
	status =
	    kern_cmd_result(cmd, nic_srq_create(cmd->call->kern->nic, &attr, &rmpn), CMD_RMP_WQ);
	if (status != CMD_OK)
		return status;
	kern_object_use(cmd->object, KERN_USE_PD, pd);
	kern_object_use(cmd->object, KERN_USE_RING, uses[KERN_USE_RING]);
	kern_object_use(cmd->object, KERN_USE_RECORD, uses[KERN_USE_RECORD]);
	return kern_cmd_made(cmd, rmpn);
}
