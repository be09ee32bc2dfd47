/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_rss.c - receive queues (RQ), tables of them (RQT), and what chooses an entry of a table by a
 * hash (TIR), by command. They are what work queues, indirection tables and queue pairs with a hash
 * are to the verbs [rss.c], and each may name what the other made.
 *
 * A field that asks for something which the NIC has not is refused. A TIR of one queue (direct) is
 * one of a table of one, which is its own.
 */
#include "kern/devx.h"

#include "base/assert.h"
#include "base/ring.h"
#include "nic/nic_rss.h"

#include <string.h>

enum {
	CONTEXT = CMD_RSS_CONTEXT,
	WQ = CONTEXT + CMD_RQC_WQ,
	TIME_REAL = 2, /* CMD_RQC_TIME: from here on a real time clock's */
};

static enum cmd_status refuse_at(struct kern_cmd *cmd, enum cmd_status status,
				 struct cmd_field field)
{
	return kern_cmd_refuse(cmd, status, (uint32_t)CONTEXT + field.word);
}

/* The first of the fields that is not 0 is refused. */
static enum cmd_status want_zero(struct kern_cmd *cmd, const struct cmd_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (cmd_get(cmd->in + CONTEXT, fields[i]) != 0)
			return refuse_at(cmd, CMD_BAD_PARAM, fields[i]);
	return CMD_OK;
}

static bool no_frames(const struct kern_cmd *cmd)
{
	return cmd->call->kern->config.link_infiniband;
}

/* ---- receive queues -------------------------------------------------------------------------- */

static enum cmd_status check_rqc(struct kern_cmd *cmd)
{
	const struct cmd_field zero[] = {CMD_RQC_RESERVED_KEY, CMD_RQC_DELAY_DROP, CMD_RQC_FCS,
					 CMD_RQC_MEMORY,       CMD_RQC_STATE,      CMD_RQC_HAIRPIN,
					 CMD_RQC_COUNTERS};
	const uint8_t *rqc = cmd->in + CONTEXT;
	enum cmd_status status = want_zero(cmd, zero, sizeof(zero) / sizeof(zero[0]));

	if (status != CMD_OK)
		return status;
	if (!cmd_get(rqc, CMD_RQC_KEEP_VLAN))
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_RQC_KEEP_VLAN);
	if (cmd_get(rqc, CMD_RQC_TIME) >= TIME_REAL)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_RQC_TIME);
	if (cmd_get(cmd->in + WQ, CMD_WQ_TYPE) != CMD_WQ_CYCLIC)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, WQ);
	return CMD_OK;
}

static enum cmd_status read_rq_named(struct kern_cmd *cmd, struct nic_qp_attr *attr,
				     struct kern_object **uses)
{
	const struct kern_file *file = cmd->call->file;
	uint32_t cqn = cmd_get(cmd->in + CONTEXT, CMD_RQC_CQN);

	attr->pdn = cmd_get(cmd->in + WQ, CMD_WQ_PD);
	attr->cqn_send = attr->cqn_recv = cqn;
	uses[KERN_USE_PD] = kern_devx_named(file, KERN_PD, CMD_ALLOC_PD, attr->pdn);
	uses[KERN_USE_RECV_CQ] = kern_devx_named(file, KERN_CQ, CMD_CREATE_CQ, cqn);
	if (!uses[KERN_USE_PD])
		return kern_cmd_refuse(cmd, CMD_BAD_RES, WQ + CMD_WQ_PD.word);
	if (!uses[KERN_USE_RECV_CQ])
		return refuse_at(cmd, CMD_BAD_RES, CMD_RQC_CQN);
	return CMD_OK;
}

enum cmd_status kern_cmd_create_rq(struct kern_cmd *cmd)
{
	const uint8_t *wq = cmd->in + WQ;
	struct kern_object *uses[KERN_USES_MAX] = {NULL};
	struct nic_qp_attr attr = {
	    .type = NIC_QP_RAW,
	    .rq_wqe_count = 1u << cmd_get(wq, CMD_WQ_LOG_SIZE),
	    .rq_wqe_size_log2 = cmd_get(wq, CMD_WQ_LOG_STRIDE),
	    .rq_signed = cmd_get(wq, CMD_WQ_SIGNATURE),
	    .user_index = cmd_get(cmd->in + CONTEXT, CMD_RQC_USER_INDEX),
	    .cookie = kern_object_handle(cmd->object),
	};
	enum cmd_status status;
	uint32_t rqn;

	if (no_frames(cmd))
		return kern_cmd_refuse(cmd, CMD_BAD_OP, 0);
	status = check_rqc(cmd);
	if (status == CMD_OK)
		status = read_rq_named(cmd, &attr, uses);
	if (status == CMD_OK && attr.rq_wqe_count > KERN_WQEBB_COUNT_MAX)
		status = kern_cmd_refuse(cmd, CMD_BAD_PARAM, WQ + CMD_WQ_LOG_SIZE.word);
	if (status == CMD_OK)
		status = kern_devx_wq_memory(cmd, WQ, attr.rq_wqe_count, attr.rq_wqe_size_log2,
					     uses, &attr.buf_va, &attr.db_va);
	if (status == CMD_OK)
		status = kern_cmd_result(cmd, nic_qp_create(cmd->call->kern->nic, &attr, &rqn), WQ);
	if (status != CMD_OK)
		return status;
	for (unsigned int i = 0; i < KERN_USES_MAX; i++)
		if (uses[i])
			kern_object_use(cmd->object, i, uses[i]);
	return kern_cmd_made(cmd, rqn);
}

static const uint32_t wq_states[] = {
    [CMD_RQC_STATE_RST] = UV_WQS_RESET,
    [CMD_RQC_STATE_RDY] = UV_WQS_RDY,
    [CMD_RQC_STATE_ERR] = UV_WQS_ERR,
};

/* The command says both states, the one that the queue is in and the one that it is to get. */
enum cmd_status kern_cmd_modify_rq(struct kern_cmd *cmd)
{
	uint32_t from = cmd_get(cmd->in, CMD_RQ_STATE);
	uint32_t to = cmd_get(cmd->in + CONTEXT, CMD_RQC_STATE);
	uint32_t now = kern_wq_state(cmd->object);

	if (be64_load(cmd->in + CMD_RSS_MODIFY_MASK) != 0)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_RSS_MODIFY_MASK);
	if (from > CMD_RQC_STATE_ERR || (from == CMD_RQC_STATE_ERR - 1))
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_RQ_STATE.word);
	if (to > CMD_RQC_STATE_ERR || to == CMD_RQC_STATE_ERR - 1)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_RQC_STATE);
	if (wq_states[from] != now)
		return kern_cmd_refuse(cmd, CMD_BAD_RES_STATE, CMD_RQ_STATE.word);
	return kern_cmd_result(cmd, kern_wq_move(cmd->object, wq_states[to]), CONTEXT);
}

enum cmd_status kern_cmd_query_rq(struct kern_cmd *cmd)
{
	static const uint8_t states[] = {[UV_WQS_RESET] = CMD_RQC_STATE_RST,
					 [UV_WQS_RDY] = CMD_RQC_STATE_RDY,
					 [UV_WQS_ERR] = CMD_RQC_STATE_ERR};
	const struct kern_object *rq = cmd->object;
	uint8_t *rqc = cmd->out + CONTEXT, *wq = cmd->out + WQ;
	struct nic_qp_attr made;
	int error = nic_qp_made(cmd->call->kern->nic, rq->number, &made);

	ASSERT(!error);
	cmd_set(rqc, CMD_RQC_KEEP_VLAN, 1);
	cmd_set(rqc, CMD_RQC_FLUSH, 1);
	cmd_set(rqc, CMD_RQC_STATE, states[kern_wq_state(rq)]);
	cmd_set(rqc, CMD_RQC_USER_INDEX, made.user_index);
	cmd_set(rqc, CMD_RQC_CQN, rq->uses[KERN_USE_RECV_CQ]->number);
	cmd_set(wq, CMD_WQ_TYPE, CMD_WQ_CYCLIC);
	cmd_set(wq, CMD_WQ_PD, rq->uses[KERN_USE_PD]->number);
	cmd_set(wq, CMD_WQ_LOG_STRIDE, made.rq_wqe_size_log2);
	cmd_set(wq, CMD_WQ_LOG_SIZE, ring_log2_ceil(made.rq_wqe_count));
	return CMD_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The table's queues, each of the caller's context. */
static enum cmd_status read_list(struct kern_cmd *cmd, uint32_t *numbers, uint32_t *size_log2)
{
	const uint8_t *rqtc = cmd->in + CONTEXT;
	uint32_t count = cmd_get(rqtc, CMD_RQTC_SIZE);

	if (cmd_get(rqtc, CMD_RQTC_QUEUE_TYPE) != 0)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_RQTC_QUEUE_TYPE);
	if (count > 1u << NIC_RQT_LOG2_MAX || !ring_is_power_of_two(count))
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_RQTC_SIZE);
	if (cmd->in_len < CONTEXT + CMD_RQTC_LIST + sizeof(uint32_t) * count)
		return kern_cmd_refuse(cmd, CMD_BAD_INP_LEN, (uint32_t)cmd->in_len);
	for (uint32_t i = 0; i < count; i++) {
		struct cmd_field field = CMD_FIELD((uint16_t)(CMD_RQTC_LIST + 4 * i), 0, 24);

		numbers[i] = cmd_get(rqtc, field);
		if (!kern_devx_named(cmd->call->file, KERN_WQ, CMD_CREATE_RQ, numbers[i]))
			return refuse_at(cmd, CMD_BAD_RES, field);
	}
	*size_log2 = ring_log2_ceil(count);
	return CMD_OK;
}

/* A table may be longer later on, up to what it says. */
enum cmd_status kern_cmd_create_rqt(struct kern_cmd *cmd)
{
	uint32_t numbers[1 << NIC_RQT_LOG2_MAX], size_log2, rqtn;
	uint32_t most = cmd_get(cmd->in + CONTEXT, CMD_RQTC_MAX_SIZE);
	enum cmd_status status;

	if (no_frames(cmd))
		return kern_cmd_refuse(cmd, CMD_BAD_OP, 0);
	status = read_list(cmd, numbers, &size_log2);
	if (status != CMD_OK)
		return status;
	if (most < 1u << size_log2 || most > 1u << NIC_RQT_LOG2_MAX)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_RQTC_MAX_SIZE);
	status = kern_cmd_result(
	    cmd, nic_rqt_create(cmd->call->kern->nic, numbers, size_log2, &rqtn), CONTEXT);
	if (status != CMD_OK)
		return status;
	cmd->object->max_wr = most;
	kern_rqt_hold(cmd->call->kern, rqtn);
	return kern_cmd_made(cmd, rqtn);
}

enum cmd_status kern_cmd_modify_rqt(struct kern_cmd *cmd)
{
	struct kern *kern = cmd->call->kern;
	uint32_t numbers[1 << NIC_RQT_LOG2_MAX], size_log2;
	uint32_t rqtn = cmd->object->number;
	uint32_t most = cmd->object->max_wr ? cmd->object->max_wr : nic_rqt_size(kern->nic, rqtn);
	enum cmd_status status;
	int error;

	if (be64_load(cmd->in + CMD_RSS_MODIFY_MASK) != CMD_RQT_CHANGE_LIST)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_RSS_MODIFY_MASK);
	status = read_list(cmd, numbers, &size_log2);
	if (status != CMD_OK)
		return status;
	if (1u << size_log2 > most)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_RQTC_SIZE);
	kern_rqt_release(kern, rqtn);
	error = nic_rqt_set(kern->nic, rqtn, numbers, size_log2);
	kern_rqt_hold(kern, rqtn);
	return kern_cmd_result(cmd, error, CONTEXT);
}

/* ---- what leads to them ---------------------------------------------------------------------- */

static uint32_t fields_of(const uint8_t *tirc)
{
	uint32_t chosen = cmd_get(tirc, CMD_TIRC_FIELDS), fields = 0;
	bool ipv6 = cmd_get(tirc, CMD_TIRC_IPV6), udp = cmd_get(tirc, CMD_TIRC_UDP);

	if (chosen & CMD_TIRC_SRC_IP)
		fields |= ipv6 ? NIC_HASH_SRC_IPV6_F : NIC_HASH_SRC_IPV4_F;
	if (chosen & CMD_TIRC_DST_IP)
		fields |= ipv6 ? NIC_HASH_DST_IPV6_F : NIC_HASH_DST_IPV4_F;
	if (chosen & CMD_TIRC_SRC_PORT)
		fields |= udp ? NIC_HASH_SRC_UDP_F : NIC_HASH_SRC_TCP_F;
	if (chosen & CMD_TIRC_DST_PORT)
		fields |= udp ? NIC_HASH_DST_UDP_F : NIC_HASH_DST_TCP_F;
	return fields;
}

/* A table of more than one queue needs a hash; one queue can do without. */
static enum cmd_status check_hash(struct kern_cmd *cmd, bool one_queue)
{
	const uint32_t fields_known =
	    CMD_TIRC_SRC_IP | CMD_TIRC_DST_IP | CMD_TIRC_SRC_PORT | CMD_TIRC_DST_PORT;
	const uint8_t *tirc = cmd->in + CONTEXT;
	uint32_t hash = cmd_get(tirc, CMD_TIRC_HASH);

	if (hash != CMD_TIRC_HASH_TOEPLITZ && (hash != CMD_TIRC_HASH_NONE || !one_queue))
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_TIRC_HASH);
	if (cmd_get(tirc, CMD_TIRC_FIELDS) & ~fields_known)
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_TIRC_FIELDS);
	return CMD_OK;
}

/* What it leads to: a table, or the queue that it gets one of. */
static enum cmd_status find_target(struct kern_cmd *cmd, struct kern_object **target)
{
	const struct kern_file *file = cmd->call->file;
	const uint8_t *tirc = cmd->in + CONTEXT;

	switch (cmd_get(tirc, CMD_TIRC_KIND)) {
	case CMD_TIRC_DIRECT:
		*target =
		    kern_devx_named(file, KERN_WQ, CMD_CREATE_RQ, cmd_get(tirc, CMD_TIRC_RQN));
		return *target ? check_hash(cmd, true) : refuse_at(cmd, CMD_BAD_RES, CMD_TIRC_RQN);
	case CMD_TIRC_INDIRECT:
		*target = kern_devx_named(file, KERN_RWQ_TABLE, CMD_CREATE_RQT,
					  cmd_get(tirc, CMD_TIRC_RQTN));
		if (!*target)
			return refuse_at(cmd, CMD_BAD_RES, CMD_TIRC_RQTN);
		return check_hash(cmd, nic_rqt_size(cmd->call->kern->nic, (*target)->number) == 1);
	default:
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_TIRC_KIND);
	}
}

static int make_tir(struct kern_cmd *cmd, const struct kern_object *target, uint32_t *tirn)
{
	struct nic *nic = cmd->call->kern->nic;
	const uint8_t *tirc = cmd->in + CONTEXT;
	struct nic_tir_attr attr = {.rqtn = target->number, .fields = fields_of(tirc)};
	bool direct = cmd_get(tirc, CMD_TIRC_KIND) == CMD_TIRC_DIRECT;
	int error = 0;

	memcpy(attr.key, tirc + CMD_TIRC_KEY, sizeof(attr.key));
	if (direct)
		error = nic_rqt_create(nic, &target->number, 0, &attr.rqtn);
	if (error)
		return error;
	error = nic_tir_create(nic, &attr, tirn);
	if (direct && error)
		(void)nic_rqt_destroy(nic, attr.rqtn);
	else if (direct)
		cmd->object->own_rqtn = attr.rqtn;
	return error;
}

enum cmd_status kern_cmd_create_tir(struct kern_cmd *cmd)
{
	const struct cmd_field zero[] = {CMD_TIRC_TLS,      CMD_TIRC_MERGE,   CMD_TIRC_SYMMETRIC,
					 CMD_TIRC_TUNNELED, CMD_TIRC_NOT_OWN, CMD_TIRC_INNER};
	struct kern_object *domain, *target = NULL;
	uint32_t tirn, td = cmd_get(cmd->in + CONTEXT, CMD_TIRC_DOMAIN);
	enum cmd_status status;

	if (no_frames(cmd))
		return kern_cmd_refuse(cmd, CMD_BAD_OP, 0);
	status = want_zero(cmd, zero, sizeof(zero) / sizeof(zero[0]));
	if (status == CMD_OK)
		status = find_target(cmd, &target);
	if (status != CMD_OK)
		return status;
	domain = kern_devx_named(cmd->call->file, KERN_FREE, CMD_ALLOC_TRANSPORT_DOMAIN, td);
	if (!domain && td != 0) /* 0: of none, as rdma-core's tests ask */
		return refuse_at(cmd, CMD_BAD_RES, CMD_TIRC_DOMAIN);
	status = kern_cmd_result(cmd, make_tir(cmd, target, &tirn), CONTEXT);
	if (status != CMD_OK)
		return status;
	if (domain)
		kern_object_use(cmd->object, KERN_USE_PD, domain);
	kern_object_use(cmd->object, KERN_USE_TABLE, target);
	return kern_cmd_made(cmd, tirn);
}

int kern_devx_tir_destroy(struct kern *kern, const struct kern_object *tir)
{
	int error = nic_tir_destroy(kern->nic, tir->number);

	if (!error && tir->own_rqtn != 0)
		error = nic_rqt_destroy(kern->nic, tir->own_rqtn);
	ASSERT(!error); /* whoever leads to it uses the object */
	return 0;
}
