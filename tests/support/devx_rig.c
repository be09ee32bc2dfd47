/* SPDX-License-Identifier: BSD-2-Clause */
/* devx_rig.c - see devx_rig.h. */
#include "tests/support/devx_rig.h"

#include "base/ring.h"

#include <string.h>

void devx_in(struct devx *devx, enum cmd_opcode opcode, uint16_t in_len, uint16_t out_len)
{
	memset(devx->in, 0, sizeof(devx->in));
	memset(devx->out, 0, sizeof(devx->out));
	cmd_set(devx->in, CMD_OPCODE, opcode);
	devx->in_len = in_len;
	devx->out_len = out_len;
}

/* Adds both mailboxes, runs the call, and copies the answer back. */
static int run(struct kern_rig *rig, struct devx *devx, uint16_t in_attr, uint16_t out_attr)
{
	uint8_t *out;
	int error;

	rig_in(rig, in_attr, devx->in, devx->in_len);
	out = rig_out(rig, out_attr, devx->out_len);
	error = rig_run(rig);
	memcpy(devx->out, out, devx->out_len);
	return error;
}

int devx_other(struct kern_rig *rig, struct devx *devx)
{
	rig_call(rig, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER);
	return run(rig, devx, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
}

int devx_create(struct kern_rig *rig, struct devx *devx)
{
	int error;

	rig_call(rig, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0, 0);
	error = run(rig, devx, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
		    MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	if (!error)
		devx->handle = (uint32_t)rig_data(rig, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	return error;
}

int devx_modify(struct kern_rig *rig, struct devx *devx)
{
	rig_call(rig, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, devx->handle, 0);
	return run(rig, devx, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
		   MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
}

int devx_query(struct kern_rig *rig, struct devx *devx)
{
	rig_call(rig, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, devx->handle, 0);
	return run(rig, devx, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
		   MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT);
}

int devx_async_query(struct kern_rig *rig, struct devx *devx, int fd, uint64_t wr_id)
{
	rig_call(rig, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, devx->handle, 0);
	rig_in(rig, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, devx->in, devx->in_len);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, (uint64_t)fd, 0);
	rig_in64(rig, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, wr_id);
	rig_in64(rig, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, devx->out_len);
	return rig_run(rig);
}

int devx_destroy(struct kern_rig *rig, uint32_t handle)
{
	return rig_destroy(rig, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
			   MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle);
}

int devx_umem(struct kern_rig *rig, const void *memory, uint64_t len, uint32_t access,
	      uint32_t *handle, uint32_t *id)
{
	uint32_t *out;
	int error;

	rig_call(rig, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0, 0);
	rig_in64(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, rig_va(memory));
	rig_in64(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, len);
	rig_in32(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, access);
	out = rig_out(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, sizeof(*out));
	error = rig_run(rig);
	if (!error) {
		*handle = (uint32_t)rig_data(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
		*id = *out;
	}
	return error;
}

int devx_umem_destroy(struct kern_rig *rig, uint32_t handle)
{
	return rig_destroy(rig, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG,
			   MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, handle);
}

int devx_cmd_channel(struct kern_rig *rig, int *fd)
{
	int error;

	rig_call(rig, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, 0, 0);
	error = rig_run(rig);
	if (!error)
		*fd = (int)rig_data(rig, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE);
	return error;
}

int devx_event_channel(struct kern_rig *rig, uint32_t flags, int *fd)
{
	int error;

	rig_call(rig, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, 0, 0);
	rig_in32(rig, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, flags);
	error = rig_run(rig);
	if (!error)
		*fd = (int)rig_data(rig, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE);
	return error;
}

int devx_subscribe(struct kern_rig *rig, int fd, uint32_t handle, const uint16_t *events,
		   unsigned int count, uint64_t cookie)
{
	rig_call(rig, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
	rig_attr(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, (uint64_t)fd, 0);
	if (handle != UINT32_MAX)
		rig_attr(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, handle, 0);
	rig_in(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, events,
	       (uint16_t)(count * sizeof(*events)));
	rig_in64(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, cookie);
	return rig_run(rig);
}

int devx_cq(struct kern_rig *rig, uint32_t uar_page, uint32_t log_size, struct devx_cq *cq)
{
	struct devx devx;
	uint8_t *cqc = devx.in + CMD_CQ_CQC;
	size_t bytes = (size_t)64 << log_size;
	uint32_t ring_id, record_id;
	int error;

	cq->ring = rig_alloc(rig, bytes);
	cq->record = rig_alloc(rig, 64);
	memset(cq->ring, 0xf0, bytes);
	error = devx_umem(rig, cq->ring, bytes, 1, &cq->ring_umem, &ring_id);
	if (!error)
		error = devx_umem(rig, cq->record, 64, 1, &cq->record_umem, &record_id);
	if (error)
		return error;
	devx_in(&devx, CMD_CREATE_CQ, CMD_CQ_CREATE_BYTES, 16);
	cmd_set(cqc, CMD_CQC_LOG_SIZE, log_size);
	cmd_set(cqc, CMD_CQC_UAR, uar_page);
	cmd_set(cqc, CMD_CQC_EQN, 1);
	cmd_set(cqc, CMD_CQC_DBR_UMEM, record_id);
	cmd_set(devx.in, CMD_CQ_UMEM_ID, ring_id);
	error = devx_create(rig, &devx);
	cq->handle = devx.handle;
	cq->number = devx_number(&devx);
	return error;
}

int devx_qp(struct kern_rig *rig, uint32_t uar_page, uint32_t pdn, uint32_t cqn, struct devx_qp *qp)
{
	struct devx devx;
	uint8_t *qpc = devx.in + CMD_QP_QPC;
	size_t bytes = (size_t)qp->rq_count * 16 + (size_t)qp->sq_count * 64;
	uint32_t ring_id, record_id;
	int error;

	qp->ring = rig_alloc(rig, bytes);
	qp->record = rig_alloc(rig, 64);
	error = devx_umem(rig, qp->ring, bytes, 0, &qp->ring_umem, &ring_id);
	if (!error)
		error = devx_umem(rig, qp->record, 64, 0, &qp->record_umem, &record_id);
	if (error)
		return error;
	devx_in(&devx, CMD_CREATE_QP, CMD_QP_CREATE_BYTES, 16);
	cmd_set(qpc, CMD_QPC_PD, pdn);
	cmd_set(qpc, CMD_QPC_LOG_RQ_SIZE, ring_log2_ceil(qp->rq_count));
	cmd_set(qpc, CMD_QPC_LOG_SQ_SIZE, ring_log2_ceil(qp->sq_count));
	cmd_set(qpc, CMD_QPC_UAR, uar_page);
	cmd_set(qpc, CMD_QPC_USER_INDEX, 0xffffff);
	cmd_set(qpc, CMD_QPC_CQN_SEND, cqn);
	cmd_set(qpc, CMD_QPC_CQN_RECV, cqn);
	cmd_set(qpc, CMD_QPC_DBR_UMEM_ID, record_id);
	cmd_set(devx.in, CMD_QP_WQ_UMEM_ID, ring_id);
	cmd_set(devx.in, CMD_QP_ECE, qp->ece);
	error = devx_create(rig, &devx);
	qp->ece = cmd_get(devx.out, CMD_OUT_ECE);
	qp->handle = devx.handle;
	qp->number = devx_number(&devx);
	return error;
}

static void edge(struct devx *devx, enum cmd_opcode opcode, uint32_t handle, uint32_t qpn)
{
	devx_in(devx, opcode, CMD_QP_CREATE_BYTES, 16);
	devx->handle = handle;
	cmd_set(devx->in, CMD_NUMBER, qpn);
}

int devx_connect(struct kern_rig *rig, uint32_t handle, uint32_t qpn, uint32_t dest_qpn,
		 const uint8_t gid[static 16])
{
	struct devx devx;
	uint8_t *qpc = devx.in + CMD_QP_QPC;
	uint8_t *ads = qpc + CMD_QPC_PATH;
	int error;

	edge(&devx, CMD_RST2INIT_QP, handle, qpn);
	cmd_set(qpc, CMD_QPC_RWE, 1);
	cmd_set(ads, CMD_ADS_PORT, 1);
	error = devx_modify(rig, &devx);
	if (error)
		return error;
	edge(&devx, CMD_INIT2RTR_QP, handle, qpn);
	cmd_set(qpc, CMD_QPC_MTU, UV_MTU_1024);
	cmd_set(qpc, CMD_QPC_REMOTE_QPN, dest_qpn);
	cmd_set(qpc, CMD_QPC_LOG_RRA_MAX, 2);
	cmd_set(qpc, CMD_QPC_MIN_RNR_NAK, 12);
	cmd_set(qpc, CMD_QPC_RRE, 1);
	cmd_set(devx.in, CMD_QP_OPT_MASK, CMD_QP_OPT_RRE);
	cmd_set(ads, CMD_ADS_HOP_LIMIT, 64);
	cmd_set(ads, CMD_ADS_DSCP, 26);
	memcpy(ads + CMD_ADS_DGID, gid, 16);
	error = devx_modify(rig, &devx);
	if (error)
		return error;
	edge(&devx, CMD_RTR2RTS_QP, handle, qpn);
	cmd_set(qpc, CMD_QPC_RETRY_COUNT, 7);
	cmd_set(qpc, CMD_QPC_RNR_RETRY, 7);
	cmd_set(qpc, CMD_QPC_LOG_SRA_MAX, 2);
	cmd_set(ads, CMD_ADS_ACK_TIMEOUT, 14);
	return devx_modify(rig, &devx);
}
