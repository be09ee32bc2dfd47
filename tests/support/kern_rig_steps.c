/* SPDX-License-Identifier: BSD-2-Clause */
/* kern_rig_steps.c - the steps of kern_rig.h: objects made, set and destroyed as libmlx5 does. */
#include "tests/support/kern_rig.h"

#include "base/assert.h"

#include <string.h>

int rig_context(struct kern_rig *rig)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
	    .total_num_bfregs = 16,
	    .num_low_latency_bfregs = 4,
	    .flags = MLX5_IB_ALLOC_UCTX_DEVX,
	    .max_cqe_version = 1,
	    .lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};

	rig_call(rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	rig_out(rig, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4);
	rig_out(rig, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_alloc_ucontext_resp));
	return rig_run(rig);
}

int rig_pd(struct kern_rig *rig, uint32_t *handle)
{
	struct ib_uverbs_alloc_pd req = {.response = 0};
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp uhw;
	int error = rig_write(rig, IB_USER_VERBS_CMD_ALLOC_PD, &req, sizeof(req), &resp,
			      sizeof(resp), &uhw, sizeof(uhw));

	if (!error)
		*handle = resp.pd_handle;
	return error;
}

int rig_mr(struct kern_rig *rig, uint32_t pd, void *memory, uint64_t len, uint32_t access,
	   struct ib_uverbs_reg_mr_resp *resp)
{
	struct ib_uverbs_reg_mr req = {
	    .start = rig_va(memory),
	    .length = len,
	    .hca_va = rig_va(memory),
	    .pd_handle = pd,
	    .access_flags = access,
	};

	return rig_write(rig, IB_USER_VERBS_CMD_REG_MR, &req, sizeof(req), resp, sizeof(*resp),
			 NULL, 0);
}

int rig_uar(struct kern_rig *rig, uint32_t *handle, uint32_t *page)
{
	uint32_t *page_id;
	int error;

	rig_call(rig, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	rig_attr(rig, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0, 0);
	rig_in64(rig, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	rig_out(rig, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, 8);
	rig_out(rig, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, 4);
	page_id = rig_out(rig, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, 4);
	error = rig_run(rig);
	if (!error) {
		*handle = (uint32_t)rig_data(rig, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
		*page = *page_id;
	}
	return error;
}

int rig_comp_channel(struct kern_rig *rig, int *fd)
{
	struct ib_uverbs_create_comp_channel req = {.response = 0};
	struct ib_uverbs_create_comp_channel_resp resp;
	int error = rig_write(rig, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &req, sizeof(req), &resp,
			      sizeof(resp), NULL, 0);

	if (!error)
		*fd = (int)resp.fd;
	return error;
}

int rig_async(struct kern_rig *rig, int *fd)
{
	int error;

	rig_call(rig, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	rig_attr(rig, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0, 0);
	error = rig_run(rig);
	if (!error)
		*fd = (int)rig_data(rig, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	return error;
}

int rig_cq(struct kern_rig *rig, struct rig_cq *cq)
{
	struct mlx5_ib_create_cq driver = {
	    .cqe_size = 64,
	    .flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
	    .uar_page_index = (uint16_t)cq->uar_page,
	};
	uint32_t *cqe, *number;
	int error;

	if (!cq->ring)
		cq->ring = rig_alloc(rig, 64 * 1024);
	if (!cq->record)
		cq->record = rig_alloc(rig, 8);
	for (unsigned int i = 0; i < 1024; i++)
		cq->ring[64 * i + 63] = 0xf0;
	driver.buf_addr = rig_va(cq->ring);
	driver.db_addr = rig_va(cq->record);
	rig_call(rig, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, cq->user_handle);
	rig_in32(rig, UVERBS_ATTR_CREATE_CQ_CQE, cq->cqe);
	rig_in32(rig, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	rig_in32(rig, UVERBS_ATTR_CREATE_CQ_FLAGS, 0);
	if (cq->comp_fd >= 0)
		rig_attr(rig, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, (uint64_t)cq->comp_fd, 0);
	cqe = rig_out(rig, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	number = rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_cq_resp));
	error = rig_run(rig);
	if (!error) {
		cq->handle = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_CQ_HANDLE);
		cq->cqe = *cqe;
		cq->number = *number;
	}
	return error;
}

int rig_destroy_cq(struct kern_rig *rig, uint32_t handle, struct ib_uverbs_destroy_cq_resp *resp)
{
	void *out;
	int error;

	rig_call(rig, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_CQ_HANDLE, handle, 0);
	out = rig_out(rig, UVERBS_ATTR_DESTROY_CQ_RESP, sizeof(*resp));
	error = rig_run(rig);
	if (!error && resp)
		memcpy(resp, out, sizeof(*resp));
	return error;
}

int rig_qp(struct kern_rig *rig, struct rig_qp *qp)
{
	struct ib_uverbs_qp_cap cap = {.max_send_wr = qp->sq_count,
				       .max_recv_wr = qp->rq_count,
				       .max_send_sge = 1,
				       .max_recv_sge = 1,
				       .max_inline_data = 28};
	struct mlx5_ib_create_qp driver = {
	    .sq_wqe_count = qp->sq_count,
	    .rq_wqe_count = qp->rq_count,
	    .rq_wqe_shift = 4,
	    .flags = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_UAR_PAGE_INDEX,
	    .uidx = 77,
	    .bfreg_index = qp->uar_page,
	    .ece_options = qp->ece_options,
	};
	struct mlx5_ib_create_qp_resp *resp;
	uint32_t *number;
	int error;

	if (!qp->ring)
		qp->ring = rig_alloc(rig, 16 * qp->rq_count + 64 * qp->sq_count + 64);
	if (!qp->record)
		qp->record = rig_alloc(rig, 8);
	driver.buf_addr = rig_va(qp->ring);
	driver.db_addr = rig_va(qp->record);
	if (qp->type == IB_UVERBS_QPT_RAW_PACKET)
		driver.sq_buf_addr = driver.buf_addr + 16 * qp->rq_count;
	rig_call(rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_PD_HANDLE, qp->pd, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, qp->send_cq, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, qp->recv_cq, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_USER_HANDLE, qp->user_handle);
	rig_in(rig, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_TYPE, qp->type ? qp->type : IB_UVERBS_QPT_RC);
	rig_in32(rig, UVERBS_ATTR_CREATE_QP_FLAGS, 0);
	rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap));
	number = rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	resp = rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(*resp));
	error = rig_run(rig);
	if (!error) {
		qp->handle = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_QP_HANDLE);
		qp->number = *number;
		qp->ece_options = resp->ece_options;
	}
	return error;
}

int rig_destroy_qp(struct kern_rig *rig, uint32_t handle, uint32_t *events)
{
	struct ib_uverbs_destroy_qp_resp *out;
	int error;

	rig_call(rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_QP_HANDLE, handle, 0);
	out = rig_out(rig, UVERBS_ATTR_DESTROY_QP_RESP, sizeof(*out));
	error = rig_run(rig);
	if (!error && events)
		*events = out->events_reported;
	return error;
}

int rig_modify(struct kern_rig *rig, struct ib_uverbs_modify_qp *req)
{
	return rig_write(rig, IB_USER_VERBS_CMD_MODIFY_QP, req, sizeof(*req), NULL, 0, NULL, 0);
}

int rig_connect(struct kern_rig *rig, const struct rig_qp *qp, uint32_t dest_qpn)
{
	struct ib_uverbs_modify_qp init = {
	    .qp_handle = qp->handle,
	    .attr_mask = 0x39,
	    .qp_state = UV_QPS_INIT,
	    .port_num = 1,
	    .qp_access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
			       IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC,
	};
	struct ib_uverbs_modify_qp rtr = {
	    .qp_handle = qp->handle,
	    .attr_mask = 0x129181,
	    .qp_state = UV_QPS_RTR,
	    .path_mtu = UV_MTU_1024,
	    .dest_qp_num = dest_qpn,
	    .rq_psn = 0x123456,
	    .max_dest_rd_atomic = 1,
	    .min_rnr_timer = 12,
	    .dest = {.is_global = 1, .port_num = 1, .hop_limit = 1, .traffic_class = 0x6b},
	};
	struct ib_uverbs_modify_qp rts = {
	    .qp_handle = qp->handle,
	    .attr_mask = 0x12e01,
	    .qp_state = UV_QPS_RTS,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .sq_psn = 0x123456,
	    .max_rd_atomic = 1,
	};
	int error = rig_modify(rig, &init);

	memcpy(rtr.dest.dgid, rig->config.gids[0], 16);
	if (!error)
		error = rig_modify(rig, &rtr);
	return error ? error : rig_modify(rig, &rts);
}

int rig_query(struct kern_rig *rig, uint32_t handle, struct ib_uverbs_query_qp_resp *resp)
{
	struct ib_uverbs_query_qp req = {.qp_handle = handle};

	return rig_write(rig, IB_USER_VERBS_CMD_QUERY_QP, &req, sizeof(req), resp, sizeof(*resp),
			 NULL, 0);
}

int rig_destroy(struct kern_rig *rig, uint16_t object, uint16_t method, uint16_t id,
		uint32_t handle)
{
	rig_call(rig, object, method);
	rig_attr(rig, id, handle, 0);
	return rig_run(rig);
}

int rig_qp_of(struct kern_rig *rig, uint32_t pd, const struct rig_cq *cq, struct rig_qp *qp)
{
	*qp = (struct rig_qp){.pd = pd,
			      .send_cq = cq->handle,
			      .recv_cq = cq->handle,
			      .uar_page = cq->uar_page,
			      .sq_count = 8,
			      .rq_count = 16};
	return rig_qp(rig, qp);
}

int rig_begin(struct kern_rig *rig, bool infiniband, uint32_t *pd, uint32_t *page,
	      struct rig_cq *cq)
{
	uint32_t uar;
	int fd, error;

	if (infiniband)
		kern_rig_open_infiniband(rig);
	else
		kern_rig_open(rig);
	error = rig_context(rig);
	if (!error)
		error = rig_async(rig, &fd);
	if (!error)
		error = rig_pd(rig, pd);
	if (!error)
		error = rig_uar(rig, &uar, page);
	if (error)
		return error;
	*cq = (struct rig_cq){.cqe = 15, .comp_fd = -1, .uar_page = *page};
	return rig_cq(rig, cq);
}
