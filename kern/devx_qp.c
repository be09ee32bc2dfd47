/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_qp.c - queue pairs by command: CREATE_QP, the edges between states, QUERY_QP.
 *
 * An edge's command says everything that the edge needs in the queue pair context, and marks in a
 * mask what it changes beyond that. Commands may name queue pairs that the verbs made, too.
 */
#include "kern/devx.h"

#include "base/assert.h"
#include "base/ring.h"

#include <string.h>

enum {
	QPC = CMD_QP_QPC,
	SQ_WQEBB_LOG2 = 6,
	RQ_STRIDE_LOG2_MIN = 4,
	RING_ALIGN = 64,
	PM_STATE_MIGRATED = 3,
};

/* ---- create ---------------------------------------------------------------------------------- */

static enum cmd_status refuse_at(struct kern_cmd *cmd, enum cmd_status status,
				 struct cmd_field field)
{
	return kern_cmd_refuse(cmd, status, (uint32_t)QPC + field.word);
}

static enum cmd_status read_type(struct kern_cmd *cmd, const uint8_t *qpc, struct nic_qp_attr *attr)
{
	uint32_t type = cmd_get(qpc, CMD_QPC_TYPE);

	if (type != CMD_QPC_RC && type != CMD_QPC_DCI)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_QPC_TYPE);
	attr->type = type == CMD_QPC_DCI ? NIC_QP_DCI : NIC_QP_RC;
	if (cmd_get(qpc, CMD_QPC_PACING_INDEX) != 0)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_QPC_PACING_INDEX);
	if (!kern_page_is_of(cmd->call->file, cmd_get(qpc, CMD_QPC_UAR)))
		return refuse_at(cmd, CMD_BAD_RES, CMD_QPC_UAR);
	attr->user_index = cmd_get(qpc, CMD_QPC_USER_INDEX);
	return CMD_OK;
}

static enum cmd_status read_named(struct kern_cmd *cmd, const uint8_t *qpc,
				  struct nic_qp_attr *attr, struct kern_object **uses)
{
	const struct kern_file *file = cmd->call->file;
	bool dci = attr->type == NIC_QP_DCI;

	attr->pdn = cmd_get(qpc, CMD_QPC_PD);
	attr->cqn_send = cmd_get(qpc, CMD_QPC_CQN_SEND);
	/* An initiator has none, whatever is named. */
	attr->cqn_recv = dci ? 0 : cmd_get(qpc, CMD_QPC_CQN_RECV);
	uses[KERN_USE_PD] = kern_devx_named(file, KERN_PD, CMD_ALLOC_PD, attr->pdn);
	uses[KERN_USE_SEND_CQ] = kern_devx_named(file, KERN_CQ, CMD_CREATE_CQ, attr->cqn_send);
	if (!dci)
		uses[KERN_USE_RECV_CQ] =
		    kern_devx_named(file, KERN_CQ, CMD_CREATE_CQ, attr->cqn_recv);
	if (!uses[KERN_USE_PD])
		return refuse_at(cmd, CMD_BAD_RES, CMD_QPC_PD);
	if (!uses[KERN_USE_SEND_CQ])
		return refuse_at(cmd, CMD_BAD_RES, CMD_QPC_CQN_SEND);
	if (!uses[KERN_USE_RECV_CQ] && !dci)
		return refuse_at(cmd, CMD_BAD_RES, CMD_QPC_CQN_RECV);
	return CMD_OK;
}

/* A context has no bit that says whether there are streams: more than one at once does, or more
 * than one that may fail. */
static enum cmd_status read_streams(struct kern_cmd *cmd, const uint8_t *qpc,
				    struct nic_qp_attr *attr)
{
	uint32_t running_log2 = cmd_get(qpc, CMD_QPC_LOG_STREAMS);
	uint32_t failed_log2 = cmd_get(qpc, CMD_QPC_LOG_FAILED);

	if (running_log2 > KERN_DCI_STREAMS_LOG2_MAX)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_QPC_LOG_STREAMS);
	if (failed_log2 > KERN_DCI_STREAMS_FAILED_LOG2_MAX)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_QPC_LOG_FAILED);
	if (running_log2 != 0 || failed_log2 != 0)
		attr->stream_failed_max = (uint16_t)(1u << failed_log2);
	return CMD_OK;
}

static enum cmd_status read_sizes(struct kern_cmd *cmd, const uint8_t *qpc,
				  struct nic_qp_attr *attr, struct kern_object **uses)
{
	const struct kern_file *file = cmd->call->file;

	if (!cmd_get(qpc, CMD_QPC_NO_SQ))
		attr->sq_wqebb_count = 1u << cmd_get(qpc, CMD_QPC_LOG_SQ_SIZE);
	if (attr->type == NIC_QP_DCI)
		return read_streams(cmd, qpc, attr);
	switch (cmd_get(qpc, CMD_QPC_RQ_TYPE)) {
	case CMD_QPC_RQ_OWN:
		attr->rq_wqe_count = 1u << cmd_get(qpc, CMD_QPC_LOG_RQ_SIZE);
		attr->rq_wqe_size_log2 = RQ_STRIDE_LOG2_MIN + cmd_get(qpc, CMD_QPC_LOG_RQ_STRIDE);
		break;
	case CMD_QPC_RQ_SHARED:
		attr->srqn = cmd_get(qpc, CMD_QPC_SRQN);
		uses[KERN_USE_SRQ] = kern_devx_named(file, KERN_SRQ, CMD_CREATE_RMP, attr->srqn);
		if (!uses[KERN_USE_SRQ])
			return refuse_at(cmd, CMD_BAD_RES, CMD_QPC_SRQN);
		break;
	case CMD_QPC_RQ_NONE:
		break;
	default:
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_QPC_RQ_TYPE);
	}
	return CMD_OK;
}

/* The rings, receives first, and the doorbell record. */
static enum cmd_status find_memory(struct kern_cmd *cmd, const uint8_t *qpc,
				   struct nic_qp_attr *attr, struct kern_object **uses)
{
	struct kern_file *file = cmd->call->file;
	uint64_t offset = be64_load(cmd->in + CMD_QP_WQ_UMEM_OFFSET);
	uint64_t bytes = ((uint64_t)attr->rq_wqe_count << attr->rq_wqe_size_log2) +
			 ((uint64_t)attr->sq_wqebb_count << SQ_WQEBB_LOG2);

	uses[KERN_USE_RING] = kern_devx_umem_at(file, cmd_get(cmd->in, CMD_QP_WQ_UMEM_ID), offset,
						bytes, false, &attr->buf_va);
	if (!uses[KERN_USE_RING])
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_QP_WQ_UMEM_ID.word);
	if (attr->buf_va % RING_ALIGN != 0)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_QP_WQ_UMEM_OFFSET);
	uses[KERN_USE_RECORD] = kern_devx_umem_at(file, cmd_get(qpc, CMD_QPC_DBR_UMEM_ID),
						  be64_load(qpc + CMD_QPC_DBR_OFFSET),
						  DB_RECORD_BYTES, false, &attr->db_va);
	if (!uses[KERN_USE_RECORD])
		return refuse_at(cmd, CMD_BAD_RES, CMD_QPC_DBR_UMEM_ID);
	return CMD_OK;
}

/* Whatever was asked for, the answer says what the queue pair has now. */
static void answer_ece(struct kern_cmd *cmd, uint32_t qpn)
{
	struct nic_qp_params params;
	int error = nic_qp_query(cmd->call->kern->nic, qpn, &params);

	ASSERT(!error);
	cmd_set(cmd->out, CMD_OUT_ECE, params.ece);
}

enum cmd_status kern_cmd_create_qp(struct kern_cmd *cmd)
{
	const uint8_t *qpc = cmd->in + QPC;
	struct nic_qp_attr attr = {.cookie = kern_object_handle(cmd->object),
				   .ece = cmd_get(cmd->in, CMD_QP_ECE)};
	struct kern_object *uses[KERN_USES_MAX] = {NULL};
	enum cmd_status status = read_type(cmd, qpc, &attr);
	uint32_t qpn;

	if (status == CMD_OK)
		status = read_named(cmd, qpc, &attr, uses);
	if (status == CMD_OK)
		status = read_sizes(cmd, qpc, &attr, uses);
	if (status == CMD_OK)
		status = find_memory(cmd, qpc, &attr, uses);
	if (status == CMD_OK)
		status =
		    kern_cmd_result(cmd, nic_qp_create(cmd->call->kern->nic, &attr, &qpn), QPC);
	if (status != CMD_OK)
		return status;
	for (unsigned int i = 0; i < KERN_USES_MAX; i++)
		if (uses[i])
			kern_object_use(cmd->object, i, uses[i]);
	answer_ece(cmd, qpn);
	return kern_cmd_made(cmd, qpn);
}

/* ---- edges ----------------------------------------------------------------------------------- */

struct edge {
	uint16_t opcode;
	uint8_t from; /* enum nic_qp_state; STATE_COUNT: any */
	uint8_t to;
	uint32_t set;      /* NIC_QP_SET_*_F that the command always has */
	uint32_t optional; /* CMD_QP_OPT_* that it may mark */
};

#define SET(name) NIC_QP_SET_##name##_F

enum { OPT_ACCESS = CMD_QP_OPT_RRE | CMD_QP_OPT_RWE | CMD_QP_OPT_RAE };

static const struct edge edges[] = {
    {CMD_RST2INIT_QP, NIC_QP_RESET, NIC_QP_INIT, SET(PKEY_INDEX) | SET(PORT) | SET(ACCESS), 0},
    {CMD_INIT2INIT_QP, NIC_QP_INIT, NIC_QP_INIT, 0,
     OPT_ACCESS | CMD_QP_OPT_PKEY_INDEX | CMD_QP_OPT_PORT | CMD_QP_OPT_DRAIN_SIGERR},
    {CMD_INIT2RTR_QP, NIC_QP_INIT, NIC_QP_RTR,
     SET(PATH) | SET(MTU) | SET(DEST_QPN) | SET(RQ_PSN) | SET(DEST_RD_ATOMIC) | SET(MIN_RNR_TIMER),
     OPT_ACCESS | CMD_QP_OPT_PKEY_INDEX},
    {CMD_RTR2RTS_QP, NIC_QP_RTR, NIC_QP_RTS,
     SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(SQ_PSN) | SET(RD_ATOMIC),
     OPT_ACCESS | CMD_QP_OPT_RNR_TIMEOUT},
    {CMD_RTS2RTS_QP, NIC_QP_RTS, NIC_QP_RTS, 0, OPT_ACCESS | CMD_QP_OPT_RNR_TIMEOUT},
    {CMD_SQERR2RTS_QP, NIC_QP_SQE, NIC_QP_RTS, 0, 0},
    {CMD_2ERR_QP, NIC_QP_STATE_COUNT, NIC_QP_ERR, 0, 0},
    {CMD_2RST_QP, NIC_QP_STATE_COUNT, NIC_QP_RESET, 0, 0},
};

static const struct edge *edge_of(uint32_t opcode)
{
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (edges[i].opcode == opcode)
			return &edges[i];
	UNREACHABLE();
}

static uint32_t access_from(const uint8_t *qpc)
{
	return (cmd_get(qpc, CMD_QPC_RRE) ? NIC_ACCESS_REMOTE_READ_F : 0) |
	       (cmd_get(qpc, CMD_QPC_RWE) ? NIC_ACCESS_REMOTE_WRITE_F : 0) |
	       (cmd_get(qpc, CMD_QPC_RAE) ? NIC_ACCESS_REMOTE_ATOMIC_F : 0);
}

static uint32_t access_marked(uint32_t mask)
{
	return (mask & CMD_QP_OPT_RRE ? NIC_ACCESS_REMOTE_READ_F : 0) |
	       (mask & CMD_QP_OPT_RWE ? NIC_ACCESS_REMOTE_WRITE_F : 0) |
	       (mask & CMD_QP_OPT_RAE ? NIC_ACCESS_REMOTE_ATOMIC_F : 0);
}

/* [linux mlx5_set_path]: on Ethernet the DSCP has a field of its own. */
static int path_from(const struct kern *kern, const uint8_t *ads, struct nic_path *path)
{
	bool ib = kern->config.link_infiniband;
	uint32_t dscp = cmd_get(ads, CMD_ADS_DSCP);
	const uint8_t *sgid;
	int error;

	*path = (struct nic_path){.sl = (uint8_t)cmd_get(ads, ib ? CMD_ADS_SL : CMD_ADS_ETH_PRIO)};
	if (ib) {
		path->slid = kern->config.lid;
		path->dlid = (uint16_t)cmd_get(ads, CMD_ADS_RLID);
		if (!cmd_get(ads, CMD_ADS_GRH))
			return 0;
	}
	error = kern_gid(kern, cmd_get(ads, CMD_ADS_SGID_INDEX), &sgid);
	if (error)
		return error;
	memcpy(path->sgid, sgid, sizeof(path->sgid));
	memcpy(path->dgid, ads + CMD_ADS_DGID, sizeof(path->dgid));
	path->sgid_index = (uint8_t)cmd_get(ads, CMD_ADS_SGID_INDEX);
	path->hop_limit = (uint8_t)cmd_get(ads, CMD_ADS_HOP_LIMIT);
	path->flow_label = cmd_get(ads, CMD_ADS_FLOW_LABEL);
	path->traffic_class =
	    (uint8_t)(dscp && !ib ? dscp << 2 : cmd_get(ads, CMD_ADS_TCLASS) & 0xfc);
	return 0;
}

/* Everything that a context can say; what counts is in params->set. */
static void params_from(const uint8_t *qpc, struct nic_qp_params *params)
{
	const uint8_t *ads = qpc + CMD_QPC_PATH;

	params->mtu_bytes = uv_mtu_bytes(cmd_get(qpc, CMD_QPC_MTU));
	params->timeout = (uint8_t)cmd_get(ads, CMD_ADS_ACK_TIMEOUT);
	params->retry_count = (uint8_t)cmd_get(qpc, CMD_QPC_RETRY_COUNT);
	params->rnr_retry = (uint8_t)cmd_get(qpc, CMD_QPC_RNR_RETRY);
	params->min_rnr_timer = (uint8_t)cmd_get(qpc, CMD_QPC_MIN_RNR_NAK);
	params->rd_atomic = (uint8_t)(1u << cmd_get(qpc, CMD_QPC_LOG_SRA_MAX));
	params->dest_rd_atomic = (uint8_t)(1u << cmd_get(qpc, CMD_QPC_LOG_RRA_MAX));
	params->port = (uint8_t)cmd_get(ads, CMD_ADS_PORT);
	params->pkey_index = (uint16_t)cmd_get(ads, CMD_ADS_PKEY_INDEX);
	params->rq_psn = cmd_get(qpc, CMD_QPC_RECV_PSN);
	params->sq_psn = cmd_get(qpc, CMD_QPC_SEND_PSN);
	params->dest_qpn = cmd_get(qpc, CMD_QPC_REMOTE_QPN);
}

/* 0: the peer has said nothing. */
static void read_ece(const struct kern_cmd *cmd, struct nic_qp_params *params)
{
	params->ece = cmd_get(cmd->in, CMD_QP_ECE);
	if (params->ece != 0)
		params->set |= SET(ECE);
}

/* The rights that the edge leaves the queue pair with, and what else the mask adds. */
static void mark_optional(const uint8_t *qpc, uint32_t mask, uint32_t access_now,
			  struct nic_qp_params *params)
{
	uint32_t marked = params->set & SET(ACCESS) ? ~0u : access_marked(mask);

	params->access = (access_now & ~marked) | (access_from(qpc) & marked);
	if (mask & OPT_ACCESS)
		params->set |= SET(ACCESS);
	if (mask & CMD_QP_OPT_PKEY_INDEX)
		params->set |= SET(PKEY_INDEX);
	if (mask & CMD_QP_OPT_PORT)
		params->set |= SET(PORT);
	if (mask & CMD_QP_OPT_RNR_TIMEOUT)
		params->set |= SET(MIN_RNR_TIMER);
}

/* The parameters beyond the 32 bits of the first mask; that of a stream is in an extension of the
 * context [rdma-core mlx5 _mlx5dv_modify_dci_stream_channel_id]. */
static enum cmd_status read_high_mask(struct kern_cmd *cmd, const struct edge *edge,
				      struct nic_qp_params *params, bool *reset_stream)
{
	uint64_t mask = 0;

	if (edge->opcode == CMD_RTS2RTS_QP && cmd->in_len >= CMD_QP_OPT_MASK_HIGH + sizeof(mask))
		mask = be64_load(cmd->in + CMD_QP_OPT_MASK_HIGH);
	if (mask & ~(uint64_t)(CMD_QP_OPT_HIGH_UDP_SPORT | CMD_QP_OPT_HIGH_DCI_STREAM))
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_QP_OPT_MASK_HIGH);
	if ((mask & CMD_QP_OPT_HIGH_DCI_STREAM) &&
	    (!cmd_get(cmd->in, CMD_QP_EXTENDED) || cmd->in_len < CMD_QP_EXT_STREAM + 2))
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_QP_OPT_MASK_HIGH);
	*reset_stream = mask & CMD_QP_OPT_HIGH_DCI_STREAM;
	if (!(mask & CMD_QP_OPT_HIGH_UDP_SPORT))
		return CMD_OK;
	params->path.udp_sport = (uint16_t)cmd_get(cmd->in + QPC + CMD_QPC_PATH, CMD_ADS_UDP_SPORT);
	if (params->path.udp_sport < KERN_UDP_SPORT_FIRST)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_ADS_UDP_SPORT);
	params->set |= SET(UDP_SPORT);
	return CMD_OK;
}

static enum cmd_status read_path(struct kern_cmd *cmd, struct nic_qp_params *params)
{
	const uint8_t *ads = cmd->in + QPC + CMD_QPC_PATH;
	uint16_t sport = (uint16_t)cmd_get(ads, CMD_ADS_UDP_SPORT);

	if (!(params->set & SET(PATH)))
		return CMD_OK;
	if (path_from(cmd->call->kern, ads, &params->path))
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_ADS_SGID_INDEX);
	if (sport < KERN_UDP_SPORT_FIRST)
		sport =
		    kern_udp_sport(params->path.flow_label, cmd->object->number, params->dest_qpn);
	params->path.udp_sport = sport;
	return CMD_OK;
}

/* What an initiator has of what an edge sets: nothing of a peer, and nothing as a responder. */
static void leave_out(const struct nic *nic, uint32_t qpn, struct nic_qp_params *params)
{
	static const uint32_t sets[NIC_QP_STATE_COUNT] = {
	    [NIC_QP_INIT] = SET(PKEY_INDEX) | SET(PORT),
	    [NIC_QP_RTR] = SET(PATH) | SET(MTU) | SET(PKEY_INDEX),
	    [NIC_QP_RTS] = SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(SQ_PSN) |
			   SET(RD_ATOMIC) | SET(MIN_RNR_TIMER),
	};
	struct nic_qp_attr made;
	int error = nic_qp_made(nic, qpn, &made);

	ASSERT(!error);
	if (made.type == NIC_QP_DCI)
		params->set &= sets[params->state] | SET(STATE) | SET(ECE);
}

enum cmd_status kern_cmd_modify_qp(struct kern_cmd *cmd)
{
	struct nic *nic = cmd->call->kern->nic;
	const struct edge *edge = edge_of(cmd_get(cmd->in, CMD_OPCODE));
	uint32_t mask = cmd_get(cmd->in, CMD_QP_OPT_MASK) & ~(uint32_t)CMD_QP_OPT_PM_STATE;
	struct nic_qp_params now,
	    params = {.set = edge->set | SET(STATE), .state = (enum nic_qp_state)edge->to};
	bool reset_stream = false;
	enum cmd_status status;
	int error = nic_qp_query(nic, cmd->object->number, &now);

	ASSERT(!error);
	if (edge->from != NIC_QP_STATE_COUNT && edge->from != now.state)
		return kern_cmd_refuse(cmd, CMD_BAD_QP_STATE, 0);
	if (edge->to != NIC_QP_ERR && edge->to != NIC_QP_RESET) {
		if (mask & ~edge->optional)
			return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_QP_OPT_MASK.word);
		params_from(cmd->in + QPC, &params);
		read_ece(cmd, &params);
		mark_optional(cmd->in + QPC, mask, now.access, &params);
		status = read_path(cmd, &params);
		if (status == CMD_OK)
			status = read_high_mask(cmd, edge, &params, &reset_stream);
		if (status != CMD_OK)
			return status;
		leave_out(nic, cmd->object->number, &params);
	}
	error = nic_qp_modify(nic, cmd->object->number, &params, cmd->call->now_ns);
	if (!error && (mask & CMD_QP_OPT_DRAIN_SIGERR))
		error = nic_qp_drain_on_sig_error(nic, cmd->object->number,
						  cmd_get(cmd->in + QPC, CMD_QPC_DRAIN_SIGERR));
	if (!error && reset_stream)
		error =
		    nic_dci_reset_stream(nic, cmd->object->number,
					 be16_load(cmd->in + CMD_QP_EXT_STREAM), cmd->call->now_ns);
	answer_ece(cmd, cmd->object->number);
	return kern_cmd_result(cmd, error, QPC);
}

/* ---- query ----------------------------------------------------------------------------------- */

static const uint8_t qpc_state[NIC_QP_STATE_COUNT] = {
    [NIC_QP_RESET] = CMD_QPC_STATE_RST, [NIC_QP_INIT] = CMD_QPC_STATE_INIT,
    [NIC_QP_RTR] = CMD_QPC_STATE_RTR,   [NIC_QP_RTS] = CMD_QPC_STATE_RTS,
    [NIC_QP_SQD] = CMD_QPC_STATE_SQD,   [NIC_QP_SQE] = CMD_QPC_STATE_SQER,
    [NIC_QP_ERR] = CMD_QPC_STATE_ERR,
};

static void path_to(const struct nic_qp_params *params, bool ib, uint8_t *ads)
{
	static const uint8_t none[16];
	const struct nic_path *path = &params->path;

	cmd_set(ads, CMD_ADS_PKEY_INDEX, params->pkey_index);
	cmd_set(ads, CMD_ADS_GRH, ib && memcmp(path->sgid, none, sizeof(none)) != 0);
	cmd_set(ads, CMD_ADS_RLID, path->dlid);
	cmd_set(ads, CMD_ADS_ACK_TIMEOUT, params->timeout);
	cmd_set(ads, CMD_ADS_SGID_INDEX, path->sgid_index);
	cmd_set(ads, CMD_ADS_HOP_LIMIT, path->hop_limit);
	cmd_set(ads, CMD_ADS_TCLASS, path->traffic_class);
	cmd_set(ads, CMD_ADS_FLOW_LABEL, path->flow_label);
	memcpy(ads + CMD_ADS_DGID, path->dgid, sizeof(path->dgid));
	cmd_set(ads, CMD_ADS_PORT, params->port);
	if (ib) {
		cmd_set(ads, CMD_ADS_SL, path->sl);
		return;
	}
	cmd_set(ads, CMD_ADS_ETH_PRIO, path->sl);
	cmd_set(ads, CMD_ADS_DSCP, path->traffic_class >> 2);
	cmd_set(ads, CMD_ADS_UDP_SPORT, path->udp_sport);
}

static uint32_t log2_of_reads(uint8_t count)
{
	return count ? ring_log2_ceil(count) : 0;
}

static void params_to(const struct nic_qp_params *params, uint8_t *qpc)
{
	cmd_set(qpc, CMD_QPC_STATE_NOW, qpc_state[params->state]);
	cmd_set(qpc, CMD_QPC_PM_STATE, PM_STATE_MIGRATED);
	cmd_set(qpc, CMD_QPC_MTU, kern_mtu_code(params->mtu_bytes));
	cmd_set(qpc, CMD_QPC_REMOTE_QPN, params->dest_qpn);
	cmd_set(qpc, CMD_QPC_LOG_SRA_MAX, log2_of_reads(params->rd_atomic));
	cmd_set(qpc, CMD_QPC_LOG_RRA_MAX, log2_of_reads(params->dest_rd_atomic));
	cmd_set(qpc, CMD_QPC_RETRY_COUNT, params->retry_count);
	cmd_set(qpc, CMD_QPC_RNR_RETRY, params->rnr_retry);
	cmd_set(qpc, CMD_QPC_SEND_PSN, params->sq_psn);
	cmd_set(qpc, CMD_QPC_RECV_PSN, params->rq_psn);
	cmd_set(qpc, CMD_QPC_MIN_RNR_NAK, params->min_rnr_timer);
	cmd_set(qpc, CMD_QPC_RRE, !!(params->access & NIC_ACCESS_REMOTE_READ_F));
	cmd_set(qpc, CMD_QPC_RWE, !!(params->access & NIC_ACCESS_REMOTE_WRITE_F));
	cmd_set(qpc, CMD_QPC_RAE, !!(params->access & NIC_ACCESS_REMOTE_ATOMIC_F));
}

/* What it was made with. */
static void made_to(const struct kern_object *qp, const struct nic_qp_attr *made, uint8_t *qpc)
{
	bool own = made->rq_wqe_count != 0;

	cmd_set(qpc, CMD_QPC_RQ_TYPE,
		own                      ? CMD_QPC_RQ_OWN
		: qp->uses[KERN_USE_SRQ] ? CMD_QPC_RQ_SHARED
					 : CMD_QPC_RQ_NONE);
	if (own) {
		cmd_set(qpc, CMD_QPC_LOG_RQ_SIZE, ring_log2_ceil(made->rq_wqe_count));
		cmd_set(qpc, CMD_QPC_LOG_RQ_STRIDE, made->rq_wqe_size_log2 - RQ_STRIDE_LOG2_MIN);
	}
	cmd_set(qpc, CMD_QPC_NO_SQ, made->sq_wqebb_count == 0);
	if (made->sq_wqebb_count != 0)
		cmd_set(qpc, CMD_QPC_LOG_SQ_SIZE, ring_log2_ceil(made->sq_wqebb_count));
	cmd_set(qpc, CMD_QPC_USER_INDEX, made->user_index);
}

/* An XRC target has neither domain nor completion queues: 0. */
static uint32_t number_used(const struct kern_object *qp, unsigned int place)
{
	return qp->uses[place] ? qp->uses[place]->number : 0;
}

enum cmd_status kern_cmd_query_qp(struct kern_cmd *cmd)
{
	const struct kern *kern = cmd->call->kern;
	const struct kern_object *qp = cmd->object;
	uint8_t *qpc = cmd->out + QPC;
	struct nic_qp_params params;
	struct nic_qp_attr made;
	int error = nic_qp_query(kern->nic, qp->number, &params);

	if (!error)
		error = nic_qp_made(kern->nic, qp->number, &made);
	ASSERT(!error);
	cmd_set(cmd->out, CMD_QP_ECE, params.ece);
	made_to(qp, &made, qpc);
	params_to(&params, qpc);
	if (params.state == NIC_QP_SQD && nic_qp_sq_is_drained(kern->nic, qp->number))
		cmd_set(qpc, CMD_QPC_STATE_NOW, CMD_QPC_STATE_SQDRAINED);
	cmd_set(qpc, CMD_QPC_SQ_COUNTER, nic_qp_sq_index(kern->nic, qp->number));
	path_to(&params, kern->config.link_infiniband, qpc + CMD_QPC_PATH);
	cmd_set(qpc, CMD_QPC_PD, number_used(qp, KERN_USE_PD));
	cmd_set(qpc, CMD_QPC_CQN_SEND, number_used(qp, KERN_USE_SEND_CQ));
	cmd_set(qpc, CMD_QPC_CQN_RECV, number_used(qp, KERN_USE_RECV_CQ));
	cmd_set(qpc, CMD_QPC_SRQN, number_used(qp, KERN_USE_SRQ));
	return CMD_OK;
}
