/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_general.c - commands about the port, and objects that are little more than a number.
 */
#include "abi/mlx5_wqe.h"
#include "abi/roce.h"
#include "kern/devx.h"
#include "nic/nic_cong.h"

#include <string.h>

enum cmd_status kern_cmd_nop(struct kern_cmd *cmd)
{
	(void)cmd;
	return CMD_OK;
}

/* One port, not bonded with another: all zero says so. */
enum cmd_status kern_cmd_query_lag(struct kern_cmd *cmd)
{
	(void)cmd;
	return CMD_OK;
}

/* The InfiniBand port as the subnet manager set it up; an Ethernet port has no such thing. */
enum cmd_status kern_cmd_query_hca_vport_context(struct kern_cmd *cmd)
{
	const struct kern_config *config = &cmd->call->kern->config;
	uint8_t *context = cmd->out + CMD_HEADER_BYTES;

	if (!config->link_infiniband)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, 0);
	if (cmd_get(cmd->in, CMD_VPORT_IN_OTHER) || cmd_get(cmd->in, CMD_VPORT_IN_PORT) > KERN_PORT)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_VPORT_IN_PORT.word);
	cmd_set(context, CMD_VPORT_PHYSICAL, UV_PORT_PHYS_LINK_UP);
	cmd_set(context, CMD_VPORT_STATE, UV_PORT_ACTIVE);
	cmd_set(context, CMD_VPORT_VSTATE, UV_PORT_ACTIVE);
	be64_store(context + CMD_VPORT_SYSTEM_GUID, config->node_guid);
	be64_store(context + CMD_VPORT_PORT_GUID, config->node_guid);
	be64_store(context + CMD_VPORT_NODE_GUID, config->node_guid);
	cmd_set(context, CMD_VPORT_LID, config->lid);
	cmd_set(context, CMD_VPORT_SM_LID, config->lid);
	return CMD_OK;
}

enum cmd_status kern_cmd_alloc_pd(struct kern_cmd *cmd)
{
	uint32_t pdn;
	enum cmd_status status = kern_cmd_result(cmd, nic_pd_create(cmd->call->kern->nic, &pdn), 0);

	return status == CMD_OK ? kern_cmd_made(cmd, pdn) : status;
}

/* Transport domains: a number that nothing here refers to. */
enum cmd_status kern_cmd_alloc_number(struct kern_cmd *cmd)
{
	return kern_cmd_made(cmd, kern_object_handle(cmd->object));
}

/* Queue pair numbers for programs that speak for others: no queue pair gets such a number while the
 * object lives. One a command: CMD_CAP_GENERAL_2 says so. */
static enum cmd_status reserve_qpn(struct kern_cmd *cmd)
{
	uint32_t qpn;
	enum cmd_status status;

	if (cmd_get(cmd->in, CMD_OBJ_LOG_RANGE) != 0)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_OBJ_LOG_RANGE.word);
	status = kern_cmd_result(cmd, nic_qpn_reserve(cmd->call->kern->nic, &qpn), 0);
	return status == CMD_OK ? kern_cmd_made(cmd, qpn) : status;
}

/*
 * A destination gets the congestion control that the queue pair has now, whatever becomes of that.
 * The queue pair may be of any context: only its algorithm is taken from it.
 */
static enum cmd_status map_address(struct kern_cmd *cmd)
{
	static const uint8_t none[16];
	const struct kern *kern = cmd->call->kern;
	const uint8_t *rgid = cmd->in + CMD_MAP_AV + offsetof(struct wqe_av, rgid);
	uint32_t word = be32_load(cmd->in + CMD_MAP_AV + offsetof(struct wqe_av, grh_gid_fl));
	uint8_t sl = cmd->in[CMD_MAP_AV + offsetof(struct wqe_av, stat_rate_sl)] & 0xf;
	struct nic_dest_key key = {.sgid_index = (uint8_t)(word >> WQE_AV_SGID_INDEX_SHIFT),
				   .sl = kern->config.link_infiniband ? sl : sl >> 1};
	enum nic_cc_algorithm algorithm;
	enum cmd_status status;
	const uint8_t *sgid;
	uint32_t qpn = cmd_get(cmd->in, CMD_MAP_QPN);
	uint32_t mapping;

	if (cmd->in_len < CMD_MAP_IN_BYTES)
		return kern_cmd_refuse(cmd, CMD_BAD_INP_LEN, (uint32_t)cmd->in_len);
	if (kern_gid(kern, key.sgid_index, &sgid) || memcmp(rgid, none, sizeof(none)) == 0)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_MAP_AV);
	if (qpn > ROCE_QPN_MASK || nic_qp_algorithm(kern->nic, qpn, &algorithm))
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_MAP_QPN.word);
	memcpy(key.dgid, rgid, sizeof(key.dgid));
	status = kern_cmd_result(
	    cmd, nic_dest_map(kern->nic, &key, algorithm, cmd->call->now_ns, &mapping), 0);
	return status == CMD_OK ? kern_cmd_made(cmd, mapping) : status;
}

enum cmd_status kern_cmd_create_general(struct kern_cmd *cmd)
{
	if (cmd->object->devx_type == CMD_OBJ_RESERVED_QPN)
		return reserve_qpn(cmd);
	if (cmd->object->devx_type == CMD_OBJ_AV_QP_MAPPING && !cmd->call->kern->config.ah_map_off)
		return map_address(cmd);
	return kern_cmd_refuse(cmd, CMD_BAD_OP, CMD_OBJ_TYPE.word);
}
