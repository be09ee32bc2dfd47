/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.c - a verb in words: its name, the objects that it names, what is special to it, and the
 * number of what it made.
 *
 * Nothing here is checked, and what cannot be read is left out: the handler reads it for itself.
 */
#include "kern/trace.h"

#include <string.h>

/* ---- names ------------------------------------------------------------------------------------
 */

static const struct {
	uint16_t object;
	uint16_t method;
	const char *name;
} methods[] = {
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, "QUERY_PORT"},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, "GET_CONTEXT"},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, "QUERY_GID_TABLE"},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, "QUERY_GID_ENTRY"},
    {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, "QUERY_CONTEXT"},
    {UVERBS_OBJECT_DEVICE, UV_METHOD_QUERY_PORT_SPEED, "QUERY_PORT_SPEED"},
    {UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, "MLX5_QUERY_PORT"},
    {UVERBS_OBJECT_DEVICE, UV_MLX5_METHOD_DATA_DIRECT_PATH, "MLX5_DATA_DIRECT_PATH"},
    {UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, "QUERY_PD"},
    {UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, "DEALLOC_PD"},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, "ADVISE_MR"},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, "QUERY_MR"},
    {UVERBS_OBJECT_MR, UV_METHOD_REG_MR, "REG_MR"},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, "REG_DM_MR"},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, "DEREG_MR"},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, "REG_DMABUF_MR"},
    {UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, "DEALLOC_MW"},
    {UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, "ALLOC_DM"},
    {UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, "FREE_DM"},
    {UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, "QUERY_DM"},
    {UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, "DESTROY_AH"},
    {UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY, "DESTROY_FLOW"},
    {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, "CREATE_CQ"},
    {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, "DESTROY_CQ"},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, "CREATE_SRQ"},
    {UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, "CREATE_WQ"},
    {UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, "DESTROY_WQ"},
    {UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, "DESTROY_RWQ_IND_TBL"},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, "DESTROY_SRQ"},
    {UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, "CLOSE_XRCD"},
    {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, "CREATE_QP"},
    {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, "DESTROY_QP"},
    {UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, "ALLOC_ASYNC_EVENT"},
    {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, "DEVX_OTHER"},
    {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, "DEVX_QUERY_UAR"},
    {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, "DEVX_QUERY_EQN"},
    {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, "DEVX_SUBSCRIBE_EVENT"},
    {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, "DEVX_OBJ_CREATE"},
    {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, "DEVX_OBJ_DESTROY"},
    {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, "DEVX_OBJ_MODIFY"},
    {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, "DEVX_OBJ_QUERY"},
    {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, "DEVX_OBJ_ASYNC_QUERY"},
    {MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, "DEVX_UMEM_REG"},
    {MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, "DEVX_UMEM_DEREG"},
    {MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
     "DEVX_ALLOC_ASYNC_CMD"},
    {MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
     "DEVX_ALLOC_ASYNC_EVENT"},
    {MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, "ALLOC_VAR"},
    {MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, "FREE_VAR"},
    {MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, "ALLOC_PP"},
    {MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY, "FREE_PP"},
    {MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, "ALLOC_UAR"},
    {MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, "FREE_UAR"},
};

static const struct {
	uint32_t command;
	const char *name;
} commands[] = {
    {IB_USER_VERBS_CMD_QUERY_DEVICE, "QUERY_DEVICE"},
    {IB_USER_VERBS_CMD_QUERY_PORT, "QUERY_PORT"},
    {IB_USER_VERBS_CMD_ALLOC_PD, "ALLOC_PD"},
    {IB_USER_VERBS_CMD_CREATE_AH, "CREATE_AH"},
    {IB_USER_VERBS_CMD_REG_MR, "REG_MR"},
    {IB_USER_VERBS_CMD_REREG_MR, "REREG_MR"},
    {IB_USER_VERBS_CMD_ALLOC_MW, "ALLOC_MW"},
    {IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, "CREATE_COMP_CHANNEL"},
    {IB_USER_VERBS_CMD_RESIZE_CQ, "RESIZE_CQ"},
    {IB_USER_VERBS_CMD_MODIFY_SRQ, "MODIFY_SRQ"},
    {IB_USER_VERBS_CMD_QUERY_SRQ, "QUERY_SRQ"},
    {IB_USER_VERBS_CMD_OPEN_XRCD, "OPEN_XRCD"},
    {IB_USER_VERBS_CMD_OPEN_QP, "OPEN_QP"},
    {IB_USER_VERBS_CMD_QUERY_QP, "QUERY_QP"},
    {IB_USER_VERBS_CMD_MODIFY_QP, "MODIFY_QP"},
    {IB_USER_VERBS_CMD_ATTACH_MCAST, "ATTACH_MCAST"},
    {IB_USER_VERBS_CMD_DETACH_MCAST, "DETACH_MCAST"},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), "QUERY_DEVICE_EX"},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), "MODIFY_QP_EX"},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_FLOW), "CREATE_FLOW"},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ), "MODIFY_WQ"},
    {UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), "CREATE_RWQ_IND_TBL"},
};

/* What the number of an object is called. */
static const char *type_name(enum kern_object_type type)
{
	switch (type) {
	case KERN_PD:
		return "pdn";
	case KERN_CQ:
		return "cqn";
	case KERN_QP:
		return "qpn";
	case KERN_MR:
	case KERN_MW:
		return "key";
	case KERN_AH:
		return "ah";
	case KERN_UAR:
		return "uar";
	case KERN_UMEM:
		return "umem";
	case KERN_DEVX_OBJ:
		return "obj";
	case KERN_VAR:
		return "var";
	case KERN_PP:
		return "pp";
	case KERN_DM:
		return "dm";
	case KERN_SRQ:
		return "srqn";
	case KERN_XRCD:
		return "xrcdn";
	case KERN_FLOW:
		return "flow";
	case KERN_WQ:
		return "wqn";
	case KERN_RWQ_TABLE:
		return "rqtn";
	case KERN_FREE:
		break;
	}
	return "object";
}

static const char *state_name(uint64_t state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : NULL;
}

static const char *qp_type_name(uint64_t type)
{
	switch (type) {
	case IB_UVERBS_QPT_RC:
		return "RC";
	case IB_UVERBS_QPT_UC:
		return "UC";
	case IB_UVERBS_QPT_UD:
		return "UD";
	case IB_UVERBS_QPT_RAW_PACKET:
		return "RAW_PACKET";
	case IB_UVERBS_QPT_XRC_INI:
		return "XRC_INI";
	case IB_UVERBS_QPT_XRC_TGT:
		return "XRC_TGT";
	case IB_UVERBS_QPT_DRIVER:
		return "DRIVER";
	}
	return NULL;
}

/* ---- fields -----------------------------------------------------------------------------------
 */

static void add_dec(struct trace_verb *verb, const char *name, uint64_t value)
{
	trace_verb_add(verb, &(struct trace_field){.name = name, .value = value});
}

static void add_hex(struct trace_verb *verb, const char *name, uint64_t value)
{
	trace_verb_add(verb, &(struct trace_field){.name = name, .value = value, .is_hex = true});
}

/* Words for value, or value where there are none. */
static void add_word(struct trace_verb *verb, const char *name, const char *word, uint64_t value)
{
	trace_verb_add(verb, &(struct trace_field){.name = name, .word = word, .value = value});
}

static void add_object(struct trace_verb *verb, const char *name, const struct kern_object *object)
{
	add_hex(verb, name ? name : type_name(object->type), object->number);
}

/* The object of a command of the older interface, by its handle. */
static void add_handle(struct kern_call *call, struct trace_verb *verb, uint32_t handle)
{
	struct kern_object *object;

	if (!kern_object_find(call->file, handle, KERN_ANY, &object))
		add_object(verb, NULL, object);
	else
		add_hex(verb, "handle", handle);
}

static void add_create_qp(struct kern_call *call, struct trace_verb *verb)
{
	struct ib_uverbs_qp_cap cap;
	uint64_t type;

	if (!kern_call_const(call, UVERBS_ATTR_CREATE_QP_TYPE, UINT64_MAX, &type))
		add_word(verb, "type", qp_type_name(type), type);
	if (kern_call_read(call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap)))
		return;
	add_dec(verb, "send_wr", cap.max_send_wr);
	add_dec(verb, "recv_wr", cap.max_recv_wr);
	add_dec(verb, "send_sge", cap.max_send_sge);
	add_dec(verb, "recv_sge", cap.max_recv_sge);
	add_dec(verb, "inline", cap.max_inline_data);
}

static void add_create_cq(struct kern_call *call, struct trace_verb *verb)
{
	uint32_t cqe;

	if (!kern_call_read(call, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe)))
		add_dec(verb, "cqe", cqe);
}

/* Regions as later releases make them. */
static void add_reg_mr_ioctl(struct kern_call *call, struct trace_verb *verb)
{
	uint64_t value;

	if (!kern_call_read(call, UV_ATTR_REG_MR_ADDR, &value, sizeof(value)))
		add_hex(verb, "addr", value);
	if (!kern_call_read(call, UV_ATTR_REG_MR_LENGTH, &value, sizeof(value)))
		add_dec(verb, "len", value);
	if (!kern_call_read(call, UV_ATTR_REG_MR_IOVA, &value, sizeof(value)))
		add_hex(verb, "iova", value);
	if (!kern_call_read(call, UV_ATTR_REG_MR_ACCESS_FLAGS, &value, sizeof(value)))
		add_hex(verb, "access", value);
}

static void add_devx(struct kern_call *call, struct trace_verb *verb, uint16_t id)
{
	uint8_t head[8];

	/* opcode:16, as in every command [mlx5_cmd.h] */
	if (!kern_call_read(call, id, head, sizeof(head)))
		add_hex(verb, "opcode", (uint64_t)head[0] << 8 | head[1]);
}

/* ---- commands of the older interface ----------------------------------------------------------
 */

static void add_reg_mr(struct kern_call *call, struct trace_verb *verb)
{
	struct ib_uverbs_reg_mr req;

	if (kern_call_read(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req)))
		return;
	add_handle(call, verb, req.pd_handle);
	add_hex(verb, "addr", req.start);
	add_dec(verb, "len", req.length);
	add_hex(verb, "iova", req.hca_va);
	add_hex(verb, "access", req.access_flags);
}

/* What modifies a queue pair has all its attributes; those that are set are shown. */
static void add_modify_qp(struct kern_call *call, struct trace_verb *verb)
{
	struct ib_uverbs_modify_qp req;

	if (kern_call_read(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req)))
		return;
	add_handle(call, verb, req.qp_handle);
	if (req.attr_mask & UV_QP_STATE)
		add_word(verb, "state", state_name(req.qp_state), req.qp_state);
	if (req.attr_mask & UV_QP_DEST_QPN)
		add_hex(verb, "dest_qpn", req.dest_qp_num);
	if (req.attr_mask & UV_QP_ACCESS_FLAGS)
		add_hex(verb, "access", req.qp_access_flags);
	if (req.attr_mask & UV_QP_PATH_MTU)
		add_dec(verb, "mtu", uv_mtu_bytes(req.path_mtu));
	if (req.attr_mask & UV_QP_RQ_PSN)
		add_hex(verb, "rq_psn", req.rq_psn);
	if (req.attr_mask & UV_QP_SQ_PSN)
		add_hex(verb, "sq_psn", req.sq_psn);
	if (req.attr_mask & UV_QP_TIMEOUT)
		add_dec(verb, "timeout", req.timeout);
	if (req.attr_mask & UV_QP_RETRY_CNT)
		add_dec(verb, "retry", req.retry_cnt);
	if (req.attr_mask & UV_QP_RNR_RETRY)
		add_dec(verb, "rnr_retry", req.rnr_retry);
	if (req.attr_mask & UV_QP_MAX_QP_RD_ATOMIC)
		add_dec(verb, "rd_atomic", req.max_rd_atomic);
	if (req.attr_mask & UV_QP_MAX_DEST_RD_ATOMIC)
		add_dec(verb, "dest_rd_atomic", req.max_dest_rd_atomic);
	if (req.attr_mask & UV_QP_QKEY)
		add_hex(verb, "qkey", req.qkey);
	add_hex(verb, "mask", req.attr_mask);
}

/* Of the other commands, what they begin with: the response's address, then a handle. */
static void add_command(struct kern_call *call, struct trace_verb *verb, uint32_t command)
{
	struct ib_uverbs_query_srq head;

	switch (command) {
	case IB_USER_VERBS_CMD_REG_MR:
		add_reg_mr(call, verb);
		return;
	case IB_USER_VERBS_CMD_MODIFY_QP:
	case UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP):
		add_modify_qp(call, verb);
		return;
	case IB_USER_VERBS_CMD_REREG_MR:
	case IB_USER_VERBS_CMD_ALLOC_MW:
	case IB_USER_VERBS_CMD_RESIZE_CQ:
	case IB_USER_VERBS_CMD_QUERY_SRQ:
	case IB_USER_VERBS_CMD_QUERY_QP:
		if (!kern_call_read(call, UVERBS_ATTR_CORE_IN, &head, sizeof(head)))
			add_handle(call, verb, head.srq_handle);
		return;
	}
}

static void asked_command(struct kern_call *call, struct trace_verb *verb)
{
	static const char unknown[] = "INVOKE_WRITE";
	uint64_t command;

	verb->name = unknown;
	if (kern_call_const(call, UVERBS_ATTR_WRITE_CMD, UINT32_MAX, &command))
		return;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].command == command)
			verb->name = commands[i].name;
	if (verb->name == unknown)
		add_hex(verb, "command", command);
	add_command(call, verb, (uint32_t)command);
}

/* ---- any verb ---------------------------------------------------------------------------------
 */

static const char *method_name(uint16_t object, uint16_t method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].object == object && methods[i].method == method)
			return methods[i].name;
	return NULL;
}

/* Two of a kind need names of their own. */
static const char *object_name(const struct trace_verb *verb, uint16_t id)
{
	if (verb->object != UVERBS_OBJECT_QP || verb->method != UVERBS_METHOD_QP_CREATE)
		return NULL;
	if (id == UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE)
		return "send_cq";
	return id == UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE ? "recv_cq" : NULL;
}

static void asked_objects(struct kern_call *call, struct trace_verb *verb)
{
	for (unsigned int i = 0; i < call->method->attr_count; i++)
		if (call->attrs[i].present && call->attrs[i].object)
			add_object(verb, object_name(verb, call->method->attrs[i].id),
				   call->attrs[i].object);
}

static bool is(const struct trace_verb *verb, uint16_t object, uint16_t method)
{
	return verb->object == object && verb->method == method;
}

void kern_trace_asked(struct kern_call *call, struct trace_verb *verb)
{
	if (is(verb, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)) {
		asked_command(call, verb);
		return;
	}
	verb->name = method_name(verb->object, verb->method);
	asked_objects(call, verb);
	if (is(verb, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE))
		add_create_qp(call, verb);
	else if (is(verb, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE))
		add_create_cq(call, verb);
	else if (is(verb, UVERBS_OBJECT_MR, UV_METHOD_REG_MR))
		add_reg_mr_ioctl(call, verb);
	else if (is(verb, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER))
		add_devx(call, verb, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	else if (is(verb, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE))
		add_devx(call, verb, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
	else if (is(verb, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY))
		add_devx(call, verb, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN);
	else if (is(verb, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY))
		add_devx(call, verb, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN);
}

void kern_trace_done(struct kern_call *call, struct trace_verb *verb, int result)
{
	verb->asked = verb->count;
	verb->result = result;
	if (result == 0 && call->new_object)
		add_object(verb, NULL, call->new_object);
	call->kern->env.trace(call->kern->env.ctx, verb);
}
