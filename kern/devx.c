/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx.c - firmware commands from applications: which there are, who may send them, and the
 * methods that carry them.
 *
 * Linux's driver looks at a command's opcode and at the object that it names, and passes the rest
 * on to the firmware [linux mlx5 devx.c]. The classes of commands, and so what is -EINVAL, are
 * those of that file; a command that it passes on and that is not offered here is answered as by
 * a firmware which does not know it.
 */
#include "kern/devx.h"

#include "base/assert.h"
#include "nic/nic_cong.h"

#include <string.h>

enum cmd_class {
	CLASS_GENERAL, /* names no object */
	CLASS_ANYBODY, /* the same, for contexts without DevX, too */
	CLASS_CREATE,
	CLASS_MODIFY,
	CLASS_QUERY,
};

struct command {
	uint16_t opcode;
	uint8_t cls;      /* enum cmd_class */
	uint16_t creator; /* MODIFY, QUERY: the command that makes such objects */
	uint16_t in_bytes;
	uint16_t out_bytes;
	enum cmd_status (*run)(struct kern_cmd *cmd); /* NULL: not offered */
};

enum {
	QP_EDGE_BYTES = CMD_QP_QPC + CMD_QPC_BYTES,
	QP_QUERY_OUT_BYTES = CMD_QP_QPC + CMD_QPC_BYTES,
	CAP_OUT_BYTES = CMD_HEADER_BYTES + CMD_CAP_BYTES,
	VPORT_OUT_BYTES = CMD_HEADER_BYTES + CMD_VPORT_CONTEXT_BYTES,
	CQ_IN_BYTES = CMD_CQ_UMEM_OFFSET + 16,
	CQ_QUERY_OUT_BYTES = CMD_CQ_CQC + CMD_CQC_BYTES,
	MKEY_IN_BYTES = CMD_MKEY_UMEM_OFFSET + 8,
	DCT_BYTES = CMD_DCT_DCTC + CMD_DCTC_BYTES,
	QP_IN_BYTES = CMD_QP_WQ_UMEM_OFFSET + 12,
	RQ_BYTES = CMD_RSS_CONTEXT + CMD_RQC_WQ + CMD_WQ_UMEM_OFFSET + 8,
	RQT_IN_BYTES_MIN = CMD_RSS_CONTEXT + CMD_RQTC_LIST + 4, /* a table of one */
	TIR_IN_BYTES = CMD_RSS_CONTEXT + 0x58,
};

#define GENERAL(opcode_, out_, run_)                                                           \
	{                                                                                      \
		.opcode = (opcode_), .cls = CLASS_GENERAL, .in_bytes = 8, .out_bytes = (out_), \
		.run = (run_)                                                                  \
	}
#define ANYBODY(opcode_, out_, run_)                                                     \
	{                                                                                \
		.opcode = (opcode_), .cls = CLASS_ANYBODY, .in_bytes = CMD_HEADER_BYTES, \
		.out_bytes = (out_), .run = (run_)                                       \
	}
#define CREATE(opcode_, in_, run_)                                           \
	{                                                                    \
		.opcode = (opcode_), .cls = CLASS_CREATE, .in_bytes = (in_), \
		.out_bytes = CMD_HEADER_BYTES, .run = (run_)                 \
	}
#define CREATE_REFUSED(opcode_) CREATE(opcode_, CMD_HEADER_BYTES, NULL)
#define MODIFY(opcode_, creator_, in_, run_)                                     \
	{                                                                        \
		.opcode = (opcode_), .cls = CLASS_MODIFY, .creator = (creator_), \
		.in_bytes = (in_), .out_bytes = CMD_HEADER_BYTES, .run = (run_)  \
	}
#define QUERY(opcode_, creator_, out_, run_)                                     \
	{                                                                        \
		.opcode = (opcode_), .cls = CLASS_QUERY, .creator = (creator_),  \
		.in_bytes = CMD_HEADER_BYTES, .out_bytes = (out_), .run = (run_) \
	}

static const struct command commands[] = {
    ANYBODY(CMD_QUERY_HCA_CAP, CAP_OUT_BYTES, kern_cmd_query_hca_cap),
    ANYBODY(CMD_QUERY_HCA_VPORT_CONTEXT, VPORT_OUT_BYTES, kern_cmd_query_hca_vport_context),
    ANYBODY(CMD_QUERY_ESW_VPORT_CONTEXT, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_NOP, CMD_HEADER_BYTES, kern_cmd_nop),
    GENERAL(CMD_QUERY_LAG, CMD_HEADER_BYTES, kern_cmd_query_lag),
    GENERAL(CMD_QUERY_ADAPTER, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_ISSI, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_VPORT_STATE, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_NIC_VPORT_CONTEXT, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_ROCE_ADDRESS, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_VNIC_ENV, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_VPORT_COUNTER, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_GET_DROPPED_PACKET_LOG, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_CONG_STATUS, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_CONG_PARAMS, CMD_HEADER_BYTES, NULL),
    GENERAL(CMD_QUERY_CONG_STATISTICS, CMD_HEADER_BYTES, NULL),
    CREATE(CMD_CREATE_CQ, CQ_IN_BYTES, kern_cmd_create_cq),
    QUERY(CMD_QUERY_CQ, CMD_CREATE_CQ, CQ_QUERY_OUT_BYTES, kern_cmd_query_cq),
    MODIFY(CMD_MODIFY_CQ, CMD_CREATE_CQ, CMD_HEADER_BYTES, NULL),
    CREATE(CMD_CREATE_QP, QP_IN_BYTES, kern_cmd_create_qp),
    MODIFY(CMD_RST2INIT_QP, CMD_CREATE_QP, QP_EDGE_BYTES, kern_cmd_modify_qp),
    MODIFY(CMD_INIT2INIT_QP, CMD_CREATE_QP, QP_EDGE_BYTES, kern_cmd_modify_qp),
    MODIFY(CMD_INIT2RTR_QP, CMD_CREATE_QP, QP_EDGE_BYTES, kern_cmd_modify_qp),
    MODIFY(CMD_RTR2RTS_QP, CMD_CREATE_QP, QP_EDGE_BYTES, kern_cmd_modify_qp),
    MODIFY(CMD_RTS2RTS_QP, CMD_CREATE_QP, QP_EDGE_BYTES, kern_cmd_modify_qp),
    MODIFY(CMD_SQERR2RTS_QP, CMD_CREATE_QP, QP_EDGE_BYTES, kern_cmd_modify_qp),
    MODIFY(CMD_2ERR_QP, CMD_CREATE_QP, CMD_HEADER_BYTES, kern_cmd_modify_qp),
    MODIFY(CMD_2RST_QP, CMD_CREATE_QP, CMD_HEADER_BYTES, kern_cmd_modify_qp),
    QUERY(CMD_QUERY_QP, CMD_CREATE_QP, QP_QUERY_OUT_BYTES, kern_cmd_query_qp),
    CREATE(CMD_CREATE_DCT, DCT_BYTES, kern_cmd_create_dct),
    MODIFY(CMD_DRAIN_DCT, CMD_CREATE_DCT, CMD_HEADER_BYTES, kern_cmd_drain_dct),
    QUERY(CMD_QUERY_DCT, CMD_CREATE_DCT, DCT_BYTES, kern_cmd_query_dct),
    CREATE(CMD_CREATE_MKEY, MKEY_IN_BYTES, kern_cmd_create_mkey),
    CREATE(CMD_CREATE_RMP, CMD_RMP_IN_BYTES, kern_cmd_create_rmp),
    CREATE(CMD_CREATE_RQ, RQ_BYTES, kern_cmd_create_rq),
    MODIFY(CMD_MODIFY_RQ, CMD_CREATE_RQ, RQ_BYTES, kern_cmd_modify_rq),
    QUERY(CMD_QUERY_RQ, CMD_CREATE_RQ, RQ_BYTES, kern_cmd_query_rq),
    CREATE(CMD_CREATE_RQT, RQT_IN_BYTES_MIN, kern_cmd_create_rqt),
    MODIFY(CMD_MODIFY_RQT, CMD_CREATE_RQT, RQT_IN_BYTES_MIN, kern_cmd_modify_rqt),
    QUERY(CMD_QUERY_RQT, CMD_CREATE_RQT, CMD_HEADER_BYTES, NULL),
    CREATE(CMD_CREATE_TIR, TIR_IN_BYTES, kern_cmd_create_tir),
    MODIFY(CMD_MODIFY_TIR, CMD_CREATE_TIR, CMD_HEADER_BYTES, NULL),
    QUERY(CMD_QUERY_TIR, CMD_CREATE_TIR, CMD_HEADER_BYTES, NULL),
    CREATE(CMD_ALLOC_PD, CMD_HEADER_BYTES, kern_cmd_alloc_pd),
    CREATE(CMD_ALLOC_TRANSPORT_DOMAIN, CMD_HEADER_BYTES, kern_cmd_alloc_number),
    CREATE(CMD_CREATE_GENERAL_OBJECT, CMD_HEADER_BYTES, kern_cmd_create_general),
    MODIFY(CMD_MODIFY_GENERAL_OBJECT, CMD_CREATE_GENERAL_OBJECT, CMD_HEADER_BYTES, NULL),
    QUERY(CMD_QUERY_GENERAL_OBJECT, CMD_CREATE_GENERAL_OBJECT, CMD_HEADER_BYTES, NULL),
    {.opcode = CMD_CREATE_PSV,
     .cls = CLASS_CREATE,
     .in_bytes = CMD_HEADER_BYTES,
     .out_bytes = CMD_PSV_OUT_BYTES,
     .run = kern_cmd_create_psv},
    CREATE_REFUSED(CMD_CREATE_SRQ),
    CREATE_REFUSED(CMD_CREATE_XRC_SRQ),
    CREATE_REFUSED(CMD_CREATE_XRQ),
    CREATE_REFUSED(CMD_ALLOC_XRCD),
    CREATE_REFUSED(CMD_CREATE_SQ),
    CREATE_REFUSED(CMD_CREATE_TIS),
    CREATE_REFUSED(CMD_ALLOC_Q_COUNTER),
    CREATE_REFUSED(CMD_ATTACH_TO_MCG),
    CREATE_REFUSED(CMD_CREATE_SCHEDULING_ELEMENT),
    CREATE_REFUSED(CMD_ADD_VXLAN_UDP_DPORT),
    CREATE_REFUSED(CMD_SET_L2_TABLE_ENTRY),
    CREATE_REFUSED(CMD_CREATE_FLOW_TABLE),
    CREATE_REFUSED(CMD_CREATE_FLOW_GROUP),
    CREATE_REFUSED(CMD_SET_FLOW_TABLE_ENTRY),
    CREATE_REFUSED(CMD_ALLOC_FLOW_COUNTER),
    CREATE_REFUSED(CMD_ALLOC_PACKET_REFORMAT),
    CREATE_REFUSED(CMD_ALLOC_MODIFY_HEADER),
};

static const struct command *find(uint32_t opcode)
{
	/* A range of general commands, none of which is offered. */
	static const struct command unknown = {.cls = CLASS_GENERAL};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].opcode == opcode)
			return &commands[i];
	return opcode >= CMD_GENERAL_FIRST && opcode < CMD_GENERAL_END ? &unknown : NULL;
}

/* ---- running one ----------------------------------------------------------------------------- */

enum cmd_status kern_cmd_refuse(struct kern_cmd *cmd, enum cmd_status status, uint32_t at)
{
	ASSERT(status != CMD_OK);
	cmd_set(cmd->out, CMD_OUT_SYNDROME, KERN_CMD_SYNDROME + at);
	return status;
}

enum cmd_status kern_cmd_result(struct kern_cmd *cmd, int error, uint32_t at)
{
	switch (error) {
	case 0:
		return CMD_OK;
	case -ENOMEM:
	case -ENOSPC:
	case -EMFILE:
		return kern_cmd_refuse(cmd, CMD_NO_RES, at);
	case -EBUSY:
		return kern_cmd_refuse(cmd, CMD_RES_BUSY, at);
	default:
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, at);
	}
}

enum cmd_status kern_cmd_made(struct kern_cmd *cmd, uint32_t number)
{
	cmd->object->number = number;
	cmd_set(cmd->out, CMD_OBJ_ID, number);
	return CMD_OK;
}

struct kern_object *kern_devx_named(const struct kern_file *file, enum kern_object_type type,
				    enum cmd_opcode opcode, uint32_t number)
{
	struct kern *kern = file->kern;

	for (uint32_t slot = file->newest; slot != KERN_NONE; slot = kern->objects[slot].older) {
		struct kern_object *object = &kern->objects[slot];
		bool fits = object->type == type ||
			    (object->type == KERN_DEVX_OBJ && object->devx_opcode == opcode);

		if (fits && object->number == number)
			return object;
	}
	return NULL;
}

/* The command into kern->mailbox_in, followed by zeroes. */
static int read_command(struct kern_call *call, uint16_t attr, struct kern_cmd *cmd)
{
	size_t len = kern_call_len(call, attr);
	size_t room = len < KERN_CMD_PAD_BYTES ? KERN_CMD_PAD_BYTES : len;

	ASSERT(room <= KERN_MAILBOX_BYTES);
	*cmd = (struct kern_cmd){.call = call, .in = call->kern->mailbox_in, .in_len = len};
	return kern_call_read(call, attr, call->kern->mailbox_in, room);
}

/* The answer is in cmd->out, out_len bytes or more of it: 0; -EREMOTEIO; or -EOPNOTSUPP for a
 * command of which the NIC has nothing. A card says that one by its status alone; but programs,
 * rdma-core's own tests among them, know by the error to do without. */
static int run(const struct command *command, struct kern_cmd *cmd, uint8_t *out, size_t out_len)
{
	size_t len = command->out_bytes > CMD_HEADER_BYTES ? command->out_bytes : CMD_HEADER_BYTES;
	enum cmd_status status;

	cmd->out = out;
	memset(out, 0, out_len > len ? out_len : len);
	if (!command->run)
		status = kern_cmd_refuse(cmd, CMD_BAD_OP, 0);
	else if (cmd->in_len < command->in_bytes)
		status = kern_cmd_refuse(cmd, CMD_BAD_INP_LEN, (uint32_t)cmd->in_len);
	else
		status = command->run(cmd);
	cmd_set(out, CMD_OUT_STATUS, status);
	if (status == CMD_OK)
		return 0;
	return command->run || command->cls != CLASS_CREATE ? -EREMOTEIO : -EOPNOTSUPP;
}

/* Runs a command, and gives its answer to the application whatever it is. */
static int run_and_answer(const struct command *command, struct kern_cmd *cmd, uint16_t out_attr)
{
	uint8_t *out = cmd->call->kern->mailbox_out;
	int error = run(command, cmd, out, 0);
	size_t len = command->out_bytes > CMD_HEADER_BYTES ? command->out_bytes : CMD_HEADER_BYTES;
	int fault = kern_call_write_whole(cmd->call, out_attr, out, len);

	return fault ? fault : error;
}

/* ---- general commands ------------------------------------------------------------------------ */

int kern_devx_other(struct kern_call *call)
{
	const struct command *command;
	struct kern_cmd cmd;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = read_command(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, &cmd);
	if (error)
		return error;
	command = find(cmd_get(cmd.in, CMD_OPCODE));
	if (!command || (command->cls != CLASS_ANYBODY && !call->file->devx))
		return -EINVAL;
	if (command->cls != CLASS_ANYBODY && command->cls != CLASS_GENERAL)
		return -EINVAL;
	return run_and_answer(command, &cmd, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
}

/* The page of what a driver without register page objects calls its dynamic register. */
int kern_devx_query_uar(struct kern_call *call)
{
	uint32_t index, page;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_read(call, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, &index, sizeof(index));
	if (error)
		return error;
	error = kern_bfreg_dynamic(call->file, index, &page);
	if (error)
		return error;
	return kern_call_write(call, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &page, sizeof(page));
}

int kern_devx_query_eqn(struct kern_call *call)
{
	uint32_t vector, eqn = KERN_EQN;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_read(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, &vector, sizeof(vector));
	if (error)
		return error;
	if (vector >= KERN_COMP_VECTOR_COUNT)
		return -ENOENT;
	return kern_call_write(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

/* ---- objects --------------------------------------------------------------------------------- */

int kern_devx_obj_create(struct kern_call *call)
{
	const struct command *command;
	struct kern_object *object;
	struct kern_cmd cmd;
	int error = read_command(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, &cmd);

	if (error)
		return error;
	command = find(cmd_get(cmd.in, CMD_OPCODE));
	if (!call->file->devx || cmd_get(cmd.in, CMD_TUNNEL) != 0)
		return -EINVAL;
	if (!command || command->cls != CLASS_CREATE)
		return -EINVAL;
	object = kern_object_create(call->file, KERN_DEVX_OBJ);
	if (!object)
		return -ENOMEM;
	object->devx_opcode = command->opcode;
	if (command->opcode == CMD_CREATE_GENERAL_OBJECT)
		object->devx_type = (uint16_t)cmd_get(cmd.in, CMD_OBJ_TYPE);
	cmd.object = object;
	error = run(command, &cmd, call->kern->mailbox_out, 0);
	if (error)
		kern_object_drop(object);
	else
		call->new_object = object;
	if (kern_call_write_whole(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, cmd.out,
				  command->out_bytes))
		return -EFAULT;
	return error;
}

/* Which command would have made an object that the verbs made; 0: none that a command names. */
static uint32_t creator_of(const struct kern_object *object)
{
	if (object->type == KERN_DEVX_OBJ)
		return object->devx_opcode;
	if (object->type == KERN_CQ)
		return CMD_CREATE_CQ;
	if (object->type == KERN_SRQ)
		return object->uses[KERN_USE_XRCD] ? CMD_CREATE_XRC_SRQ : CMD_CREATE_RMP;
	if (object->type == KERN_WQ)
		return CMD_CREATE_RQ;
	if (object->type == KERN_RWQ_TABLE)
		return CMD_CREATE_RQT;
	if (object->type == KERN_QP && object->qp_type == NIC_QP_DCT)
		return CMD_CREATE_DCT;
	return object->type == KERN_QP ? CMD_CREATE_QP : 0;
}

/* Whether the command names the object that the handle does. */
static bool names(const struct command *command, const struct kern_cmd *cmd)
{
	const struct kern_object *object = cmd->object;

	if (command->creator != creator_of(object))
		return false;
	if (command->creator == CMD_CREATE_GENERAL_OBJECT)
		return cmd_get(cmd->in, CMD_OBJ_TYPE) == object->devx_type &&
		       cmd_get(cmd->in, CMD_OBJ_ID) == object->number;
	return cmd_get(cmd->in, CMD_NUMBER) == object->number;
}

/* Reads the command and finds it; 0, or what Linux's driver says by itself. */
static int take_command(struct kern_call *call, uint16_t handle_attr, uint16_t in_attr,
			enum cmd_class cls, struct kern_cmd *cmd, const struct command **command)
{
	int error = read_command(call, in_attr, cmd);

	if (error)
		return error;
	cmd->object = kern_call_object(call, handle_attr);
	*command = find(cmd_get(cmd->in, CMD_OPCODE));
	if (!call->file->devx || !*command || (*command)->cls != cls)
		return -EINVAL;
	if (cls != CLASS_MODIFY && cls != CLASS_QUERY)
		UNREACHABLE();
	return names(*command, cmd) ? 0 : -EINVAL;
}

int kern_devx_obj_modify(struct kern_call *call)
{
	const struct command *command;
	struct kern_cmd cmd;
	int error = take_command(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE,
				 MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, CLASS_MODIFY, &cmd, &command);

	return error ? error : run_and_answer(command, &cmd, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
}

int kern_devx_obj_query(struct kern_call *call)
{
	const struct command *command;
	struct kern_cmd cmd;
	int error = take_command(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE,
				 MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, CLASS_QUERY, &cmd, &command);

	return error ? error : run_and_answer(command, &cmd, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT);
}

/* The answer goes to a channel, behind the caller's wr_id. It is there at once: this firmware does
 * not take its time. */
int kern_devx_obj_async_query(struct kern_call *call)
{
	const struct kern_env *env = &call->kern->env;
	const struct command *command;
	uint8_t *record = call->kern->mailbox_out;
	struct kern_cmd cmd;
	uint64_t out_len;
	int error =
	    take_command(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE,
			 MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, CLASS_QUERY, &cmd, &command);

	if (!error)
		error = kern_call_const(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, UINT16_MAX,
					&out_len);
	if (error)
		return error;
	(void)run(command, &cmd, record + sizeof(uint64_t), out_len);
	error =
	    kern_call_read(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, record, sizeof(uint64_t));
	if (error)
		return error;
	env->channel_send(env->ctx, kern_call_channel(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD),
			  record, sizeof(uint64_t) + out_len);
	return 0;
}

int kern_devx_destroy(struct kern *kern, const struct kern_object *object)
{
	switch (object->devx_opcode) {
	case CMD_CREATE_CQ:
		return nic_cq_destroy(kern->nic, object->number);
	case CMD_CREATE_MKEY:
		return nic_mkey_destroy(kern->nic, object->key);
	case CMD_CREATE_PSV:
		return nic_psv_destroy(kern->nic, object->number);
	case CMD_CREATE_RMP:
		return nic_srq_destroy(kern->nic, object->number);
	case CMD_CREATE_RQT:
		return kern_rwq_table_destroy(kern, object);
	case CMD_CREATE_TIR:
		return kern_devx_tir_destroy(kern, object);
	case CMD_CREATE_DCT:
	case CMD_CREATE_QP:
	case CMD_CREATE_RQ:
		return nic_qp_destroy(kern->nic, object->number);
	case CMD_ALLOC_PD:
		return nic_pd_destroy(kern->nic, object->number);
	case CMD_ALLOC_TRANSPORT_DOMAIN:
		return 0;
	case CMD_CREATE_GENERAL_OBJECT:
		if (object->devx_type == CMD_OBJ_AV_QP_MAPPING)
			return nic_dest_unmap(kern->nic, object->number, kern->now_ns);
		ASSERT(object->devx_type == CMD_OBJ_RESERVED_QPN);
		nic_qpn_release(kern->nic, object->number);
		return 0;
	}
	UNREACHABLE();
}
