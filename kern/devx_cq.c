/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_cq.c - completion queues by command: CREATE_CQ, QUERY_CQ.
 *
 * Ring and doorbell record lie in umems. The doorbell register that the command names has to be
 * one of the context's: others could arm the queue through it.
 */
#include "kern/devx.h"

#include "base/ring.h"

static const uint32_t cqe_bytes[] = {64, 128};

enum { CQE_SIZE_COUNT = sizeof(cqe_bytes) / sizeof(cqe_bytes[0]) };

static enum cmd_status check_context(struct kern_cmd *cmd, const uint8_t *cqc)
{
	if (cmd_get(cqc, CMD_CQC_CQE_SIZE) >= CQE_SIZE_COUNT || cmd_get(cqc, CMD_CQC_COMPRESSED))
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_CQ_CQC);
	if (cmd_get(cqc, CMD_CQC_LOG_SIZE) > KERN_CQE_COUNT_LOG2_MAX)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_CQ_CQC + CMD_CQC_LOG_SIZE.word);
	if (!kern_page_is_of(cmd->call->file, cmd_get(cqc, CMD_CQC_UAR)))
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_CQ_CQC + CMD_CQC_UAR.word);
	if (cmd_get(cqc, CMD_CQC_EQN) != KERN_EQN)
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_CQ_CQC + CMD_CQC_EQN.word);
	return CMD_OK;
}

enum cmd_status kern_cmd_create_cq(struct kern_cmd *cmd)
{
	struct kern_file *file = cmd->call->file;
	const uint8_t *cqc = cmd->in + CMD_CQ_CQC;
	struct nic_cq_attr attr = {.cookie = kern_object_handle(cmd->object)};
	struct kern_object *ring, *record;
	enum cmd_status status = check_context(cmd, cqc);
	uint32_t cqn;

	if (status != CMD_OK)
		return status;
	attr.cqe_count_log2 = cmd_get(cqc, CMD_CQC_LOG_SIZE);
	attr.cqe_size_bytes = cqe_bytes[cmd_get(cqc, CMD_CQC_CQE_SIZE)];
	attr.overrun_ignored = cmd_get(cqc, CMD_CQC_OVERRUN);
	ring = kern_devx_umem_at(
	    file, cmd_get(cmd->in, CMD_CQ_UMEM_ID), be64_load(cmd->in + CMD_CQ_UMEM_OFFSET),
	    (uint64_t)attr.cqe_size_bytes << attr.cqe_count_log2, true, &attr.buf_va);
	if (!ring)
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_CQ_UMEM_ID.word);
	record = kern_devx_umem_at(file, cmd_get(cqc, CMD_CQC_DBR_UMEM),
				   be64_load(cqc + CMD_CQC_DBR_OFFSET), DB_RECORD_BYTES, true,
				   &attr.db_va);
	if (!record)
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_CQ_CQC + CMD_CQC_DBR_UMEM.word);
	status = kern_cmd_result(cmd, nic_cq_create(cmd->call->kern->nic, &attr, &cqn), CMD_CQ_CQC);
	if (status != CMD_OK)
		return status;
	kern_object_use(cmd->object, KERN_USE_RING, ring);
	kern_object_use(cmd->object, KERN_USE_RECORD, record);
	cmd->object->cqe_count = 1u << attr.cqe_count_log2;
	cmd->object->cqe_size_bytes = attr.cqe_size_bytes;
	return kern_cmd_made(cmd, cqn);
}

enum cmd_status kern_cmd_query_cq(struct kern_cmd *cmd)
{
	uint8_t *cqc = cmd->out + CMD_CQ_CQC;

	cmd_set(cqc, CMD_CQC_LOG_SIZE, ring_log2_ceil(cmd->object->cqe_count));
	cmd_set(cqc, CMD_CQC_CQE_SIZE, cmd->object->cqe_size_bytes == cqe_bytes[1]);
	cmd_set(cqc, CMD_CQC_EQN, KERN_EQN);
	return CMD_OK;
}
