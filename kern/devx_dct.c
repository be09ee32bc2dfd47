/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_dct.c - targets of dynamically connected queue pairs by command: CREATE_DCT makes one that
 * is ready at once, DRAIN_DCT ends its service, QUERY_DCT says what it was made with.
 */
#include "kern/devx.h"

#include "base/assert.h"

#include <string.h>

enum {
	DCTC = CMD_DCT_DCTC,
	HOP_LIMIT_DEFAULT = 64,
};

static enum cmd_status refuse_at(struct kern_cmd *cmd, enum cmd_status status,
				 struct cmd_field field)
{
	return kern_cmd_refuse(cmd, status, (uint32_t)DCTC + field.word);
}

static enum cmd_status read_named(struct kern_cmd *cmd, const uint8_t *dctc,
				  struct nic_qp_attr *attr, struct kern_object **uses)
{
	const struct kern_file *file = cmd->call->file;

	attr->pdn = cmd_get(dctc, CMD_DCTC_PD);
	attr->cqn_send = attr->cqn_recv = cmd_get(dctc, CMD_DCTC_CQN);
	attr->srqn = cmd_get(dctc, CMD_DCTC_SRQN);
	uses[KERN_USE_PD] = kern_devx_named(file, KERN_PD, CMD_ALLOC_PD, attr->pdn);
	uses[KERN_USE_RECV_CQ] = kern_devx_named(file, KERN_CQ, CMD_CREATE_CQ, attr->cqn_recv);
	uses[KERN_USE_SRQ] = kern_devx_named(file, KERN_SRQ, CMD_CREATE_RMP, attr->srqn);
	if (!uses[KERN_USE_PD])
		return refuse_at(cmd, CMD_BAD_RES, CMD_DCTC_PD);
	if (!uses[KERN_USE_RECV_CQ])
		return refuse_at(cmd, CMD_BAD_RES, CMD_DCTC_CQN);
	if (!uses[KERN_USE_SRQ])
		return refuse_at(cmd, CMD_BAD_RES, CMD_DCTC_SRQN);
	return CMD_OK;
}

/* What an initiator that it answers may ask, and how; where answers go each initiator says. */
static enum cmd_status read_params(struct kern_cmd *cmd, const uint8_t *dctc,
				   struct nic_qp_params *params)
{
	const struct kern_config *config = &cmd->call->kern->config;
	const uint8_t *sgid;

	*params = (struct nic_qp_params){
	    .access = (cmd_get(dctc, CMD_DCTC_RRE) ? NIC_ACCESS_REMOTE_READ_F : 0) |
		      (cmd_get(dctc, CMD_DCTC_RWE) ? NIC_ACCESS_REMOTE_WRITE_F : 0) |
		      (cmd_get(dctc, CMD_DCTC_RAE) ? NIC_ACCESS_REMOTE_ATOMIC_F : 0),
	    .min_rnr_timer = (uint8_t)cmd_get(dctc, CMD_DCTC_MIN_RNR_NAK),
	    .mtu_bytes = uv_mtu_bytes(cmd_get(dctc, CMD_DCTC_MTU)),
	    .port = (uint8_t)cmd_get(dctc, CMD_DCTC_PORT),
	    .pkey_index = (uint16_t)cmd_get(dctc, CMD_DCTC_PKEY_INDEX),
	    .path = {.hop_limit = HOP_LIMIT_DEFAULT,
		     .sgid_index = (uint8_t)cmd_get(dctc, CMD_DCTC_SGID_INDEX)},
	};
	if (params->mtu_bytes == 0 || params->mtu_bytes > config->mtu_bytes)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_DCTC_MTU);
	if (params->port != KERN_PORT)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_DCTC_PORT);
	if (config->link_infiniband) {
		params->path.slid = params->path.dlid = config->lid;
		return CMD_OK;
	}
	if (kern_gid(cmd->call->kern, params->path.sgid_index, &sgid))
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_DCTC_SGID_INDEX);
	memcpy(params->path.sgid, sgid, sizeof(params->path.sgid));
	memcpy(params->path.dgid, sgid, sizeof(params->path.dgid));
	return CMD_OK;
}

/* From nothing to ready; what was begun is undone. */
static int make(struct kern_cmd *cmd, const struct nic_qp_attr *attr, struct nic_qp_params *params,
		uint32_t *dctn)
{
	struct nic *nic = cmd->call->kern->nic;
	int error = nic_qp_create(nic, attr, dctn);

	if (error)
		return error;
	params->state = NIC_QP_INIT;
	params->set = NIC_QP_SET_STATE_F | NIC_QP_SET_ACCESS_F | NIC_QP_SET_PORT_F |
		      NIC_QP_SET_PKEY_INDEX_F;
	error = nic_qp_modify(nic, *dctn, params, cmd->call->now_ns);
	params->state = NIC_QP_RTR;
	params->set = NIC_QP_SET_STATE_F | NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F |
		      NIC_QP_SET_MIN_RNR_TIMER_F;
	if (!error)
		error = nic_qp_modify(nic, *dctn, params, cmd->call->now_ns);
	if (error)
		nic_qp_destroy(nic, *dctn);
	return error;
}

enum cmd_status kern_cmd_create_dct(struct kern_cmd *cmd)
{
	const uint8_t *dctc = cmd->in + DCTC;
	struct kern_object *uses[KERN_USES_MAX] = {NULL};
	struct nic_qp_params params;
	struct nic_qp_attr attr = {
	    .type = NIC_QP_DCT,
	    .dc_key = be64_load(dctc + CMD_DCTC_KEY),
	    .user_index = cmd_get(dctc, CMD_DCTC_USER_INDEX),
	    .cookie = kern_object_handle(cmd->object),
	};
	enum cmd_status status = read_named(cmd, dctc, &attr, uses);
	uint32_t dctn;

	if (status == CMD_OK)
		status = read_params(cmd, dctc, &params);
	if (status == CMD_OK)
		status = kern_cmd_result(cmd, make(cmd, &attr, &params, &dctn), DCTC);
	if (status != CMD_OK)
		return status;
	for (unsigned int i = 0; i < KERN_USES_MAX; i++)
		if (uses[i])
			kern_object_use(cmd->object, i, uses[i]);
	return kern_cmd_made(cmd, dctn);
}

enum cmd_status kern_cmd_drain_dct(struct kern_cmd *cmd)
{
	return kern_cmd_result(cmd, nic_dct_drain(cmd->call->kern->nic, cmd->object->number), 0);
}

static uint32_t number_used(const struct kern_object *dct, unsigned int place)
{
	return dct->uses[place] ? dct->uses[place]->number : 0;
}

enum cmd_status kern_cmd_query_dct(struct kern_cmd *cmd)
{
	const struct nic *nic = cmd->call->kern->nic;
	const struct kern_object *dct = cmd->object;
	uint8_t *dctc = cmd->out + DCTC;
	struct nic_qp_params params;
	struct nic_qp_attr made;
	int error = nic_qp_query(nic, dct->number, &params);

	if (!error)
		error = nic_qp_made(nic, dct->number, &made);
	ASSERT(!error);
	cmd_set(dctc, CMD_DCTC_STATE,
		nic_dct_is_drained(nic, dct->number) ? CMD_DCTC_STATE_DRAINED
						     : CMD_DCTC_STATE_ACTIVE);
	cmd_set(dctc, CMD_DCTC_USER_INDEX, made.user_index);
	cmd_set(dctc, CMD_DCTC_CQN, number_used(dct, KERN_USE_RECV_CQ));
	cmd_set(dctc, CMD_DCTC_RRE, !!(params.access & NIC_ACCESS_REMOTE_READ_F));
	cmd_set(dctc, CMD_DCTC_RWE, !!(params.access & NIC_ACCESS_REMOTE_WRITE_F));
	cmd_set(dctc, CMD_DCTC_RAE, !!(params.access & NIC_ACCESS_REMOTE_ATOMIC_F));
	cmd_set(dctc, CMD_DCTC_MIN_RNR_NAK, params.min_rnr_timer);
	cmd_set(dctc, CMD_DCTC_SRQN, number_used(dct, KERN_USE_SRQ));
	cmd_set(dctc, CMD_DCTC_PD, number_used(dct, KERN_USE_PD));
	be64_store(dctc + CMD_DCTC_KEY, made.dc_key);
	cmd_set(dctc, CMD_DCTC_MTU, kern_mtu_code(params.mtu_bytes));
	cmd_set(dctc, CMD_DCTC_PORT, params.port);
	return CMD_OK;
}
