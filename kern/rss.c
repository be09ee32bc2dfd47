/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.c - frames spread over receive queues: work queues (WQ), indirection tables of them, and raw
 * packet queue pairs that have a hash and a table instead of queues.
 *
 * To the nic a work queue is a raw packet queue pair without a send ring. What is checked, and in
 * which order: [linux uverbs_std_types_wq.c, uverbs_cmd.c ib_uverbs_ex_modify_wq and
 * ib_uverbs_ex_create_rwq_ind_table, mlx5 mlx5_ib_create_wq and create_rss_raw_qp_tir].
 */
#include "kern/state.h"

#include "base/assert.h"
#include "base/ring.h"
#include "nic/nic_rss.h"

#include <string.h>

enum {
	WQE_SHIFT_MIN = 4,
	WQE_SHIFT_MAX = 9,
	/* Of the request for a table: what is before its handles, and all of it. */
	WORDS_BEFORE = sizeof(struct ib_uverbs_ex_create_rwq_ind_table) / sizeof(uint32_t),
	TABLE_WORDS_MAX = WORDS_BEFORE + (1 << NIC_RQT_LOG2_MAX),
	HASH_FIELDS = MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4 | MLX5_RX_HASH_SRC_IPV6 |
		      MLX5_RX_HASH_DST_IPV6 | MLX5_RX_HASH_SRC_PORT_TCP |
		      MLX5_RX_HASH_DST_PORT_TCP | MLX5_RX_HASH_SRC_PORT_UDP |
		      MLX5_RX_HASH_DST_PORT_UDP,
};

_Static_assert((unsigned int)NIC_HASH_SRC_IPV4_F == MLX5_RX_HASH_SRC_IPV4 &&
		   (unsigned int)NIC_HASH_DST_IPV6_F == MLX5_RX_HASH_DST_IPV6 &&
		   (unsigned int)NIC_HASH_SRC_TCP_F == MLX5_RX_HASH_SRC_PORT_TCP &&
		   (unsigned int)NIC_HASH_DST_UDP_F == MLX5_RX_HASH_DST_PORT_UDP &&
		   (NIC_HASH_IPV4 | NIC_HASH_IPV6 | NIC_HASH_TCP | NIC_HASH_UDP) == HASH_FIELDS,
	       "the nic's fields are mlx5's");

void kern_rss_caps(const struct kern *kern, struct ib_uverbs_ex_query_device_resp *resp)
{
	if (kern->config.link_infiniband)
		return;
	resp->rss_caps.supported_qpts = 1u << IB_UVERBS_QPT_RAW_PACKET;
	resp->rss_caps.max_rwq_indirection_tables = NIC_RQTS_MAX;
	resp->rss_caps.max_rwq_indirection_table_size = 1u << NIC_RQT_LOG2_MAX;
	resp->max_wq_type_rq = kern->config.limits.qp_count_max;
}

void kern_rss_mlx5_caps(const struct kern *kern, struct mlx5_ib_rss_caps *caps)
{
	if (kern->config.link_infiniband)
		return;
	caps->rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ;
	caps->rx_hash_fields_mask = HASH_FIELDS;
}

/* ---- work queues -------------------------------------------------------------------------------
 */

struct wq_args {
	struct kern_object *pd;
	struct kern_object *cq;
	uint64_t user_handle;
	uint32_t max_wr;
	uint32_t max_sge;
	struct mlx5_ib_create_wq driver;
};

static int read_wq_core_part(struct kern_call *call, struct wq_args *args)
{
	const uint32_t flags_known =
	    IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING | IB_UVERBS_WQ_FLAGS_SCATTER_FCS |
	    IB_UVERBS_WQ_FLAGS_DELAY_DROP | IB_UVERBS_WQ_FLAGS_PCI_WRITE_END_PADDING;
	uint64_t type = 0;
	uint32_t flags = 0;
	int error;

	args->pd = kern_call_object(call, UVERBS_ATTR_CREATE_WQ_PD_HANDLE);
	args->cq = kern_call_object(call, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE);
	error = kern_call_flags(call, UVERBS_ATTR_CREATE_WQ_FLAGS, flags_known, &flags);
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_WQ_MAX_SGE, &args->max_sge,
				       sizeof(args->max_sge));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_WQ_MAX_WR, &args->max_wr,
				       sizeof(args->max_wr));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, &args->user_handle,
				       sizeof(args->user_handle));
	if (!error)
		error = kern_call_const(call, UVERBS_ATTR_CREATE_WQ_TYPE, UINT32_MAX, &type);
	if (error)
		return error;
	if (type != IB_UVERBS_WQT_RQ)
		return -EINVAL;
	if (!args->cq)
		return -ENOENT;
	return flags || call->kern->config.link_infiniband ? -EOPNOTSUPP : 0;
}

static int read_wq_driver_part(struct kern_call *call, struct wq_args *args)
{
	struct mlx5_ib_create_wq *driver = &args->driver;
	size_t len = kern_call_len(call, UVERBS_ATTR_UHW_IN);
	size_t out = kern_call_len(call, UVERBS_ATTR_UHW_OUT);
	int error;

	if ((out != 0 && out < sizeof(struct mlx5_ib_create_wq_resp)) ||
	    len < offsetof(struct mlx5_ib_create_wq, single_wqe_log_num_of_strides))
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, driver, sizeof(*driver));
	if (error)
		return error;
	if (driver->comp_mask) /* packets that share an entry: there are none */
		return -EOPNOTSUPP;
	if (args->max_wr > KERN_WQEBB_COUNT_MAX || driver->rq_wqe_count > KERN_WQEBB_COUNT_MAX ||
	    !ring_is_power_of_two(driver->rq_wqe_count) || driver->rq_wqe_shift < WQE_SHIFT_MIN ||
	    driver->rq_wqe_shift > WQE_SHIFT_MAX)
		return -EINVAL;
	return 0;
}

static int create_wq_in_nic(struct kern_object *wq, const struct wq_args *args)
{
	struct kern *kern = wq->file->kern;
	const struct mlx5_ib_create_wq *driver = &args->driver;
	struct nic_qp_attr attr = {
	    .type = NIC_QP_RAW,
	    .pdn = args->pd->number,
	    .cqn_send = args->cq->number,
	    .cqn_recv = args->cq->number,
	    .buf_va = driver->buf_addr,
	    .db_va = driver->db_addr,
	    .rq_wqe_count = driver->rq_wqe_count,
	    .rq_wqe_size_log2 = driver->rq_wqe_shift,
	    .user_index = wq->file->cqe_version ? driver->user_index : 0,
	    .rq_signed = driver->flags & MLX5_WQ_FLAG_SIGNATURE,
	    .cookie = kern_object_handle(wq),
	};

	if (!kern->env.user_probe(kern->env.ctx, attr.buf_va,
				  (uint64_t)attr.rq_wqe_count << attr.rq_wqe_size_log2, false) ||
	    !kern->env.user_probe(kern->env.ctx, attr.db_va, DB_RECORD_BYTES, false))
		return -EFAULT;
	return nic_qp_create(kern->nic, &attr, &wq->number);
}

static int write_wq_response(struct kern_call *call, const struct kern_object *wq)
{
	struct mlx5_ib_create_wq_resp resp = {
	    .response_length = offsetof(struct mlx5_ib_create_wq_resp, reserved)};
	int error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));

	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &wq->max_wr,
					sizeof(wq->max_wr));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &wq->max_sge,
					sizeof(wq->max_sge));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &wq->number,
					sizeof(wq->number));
	return error;
}

int kern_wq_create(struct kern_call *call)
{
	struct wq_args args = {.pd = NULL};
	struct kern_object *wq;
	int error = read_wq_core_part(call, &args);

	if (!error)
		error = read_wq_driver_part(call, &args);
	if (error)
		return error;
	wq = kern_object_create(call->file, KERN_WQ);
	if (!wq)
		return -ENOMEM;
	error = create_wq_in_nic(wq, &args);
	if (error) {
		kern_object_drop(wq);
		return error;
	}
	wq->user_handle = args.user_handle;
	wq->max_wr = args.max_wr;
	wq->max_sge = args.max_sge;
	kern_call_async(call, UVERBS_ATTR_CREATE_WQ_EVENT_FD, wq);
	kern_object_use(wq, KERN_USE_PD, args.pd);
	kern_object_use(wq, KERN_USE_RECV_CQ, args.cq);
	call->new_object = wq;
	return write_wq_response(call, wq);
}

int kern_wq_destroy(struct kern_call *call)
{
	struct kern_destroyed events;
	int error = kern_object_destroy(call->attrs[0].object, &events);

	if (error)
		return error;
	return kern_call_write(call, UVERBS_ATTR_DESTROY_WQ_RESP, &events.async_events,
			       sizeof(events.async_events));
}

uint32_t kern_wq_state(const struct kern_object *wq)
{
	struct nic_qp_params params;
	int error = nic_qp_query(wq->file->kern->nic, wq->number, &params);

	ASSERT(!error);
	if (params.state == NIC_QP_RESET)
		return UV_WQS_RESET;
	return params.state == NIC_QP_ERR ? UV_WQS_ERR : UV_WQS_RDY;
}

static void wq_enter(const struct kern_object *wq, enum nic_qp_state state, uint32_t set)
{
	struct kern *kern = wq->file->kern;
	struct nic_qp_params params = {
	    .set = NIC_QP_SET_STATE_F | set, .state = state, .port = KERN_PORT};
	int error = nic_qp_modify(kern->nic, wq->number, &params, kern->now_ns);

	ASSERT(!error);
}

/* A queue that was not ready can only be reset or made so. */
int kern_wq_move(const struct kern_object *wq, uint32_t to)
{
	uint32_t from = kern_wq_state(wq);

	switch (to) {
	case UV_WQS_RESET:
		wq_enter(wq, NIC_QP_RESET, 0);
		return 0;
	case UV_WQS_RDY:
		if (from == UV_WQS_ERR)
			return -EINVAL;
		if (from == UV_WQS_RDY)
			return 0;
		wq_enter(wq, NIC_QP_INIT, NIC_QP_SET_PORT_F);
		wq_enter(wq, NIC_QP_RTR, 0);
		return 0;
	default:
		if (from == UV_WQS_RESET)
			return -EINVAL;
		wq_enter(wq, NIC_QP_ERR, 0);
		return 0;
	}
}

static int check_modify_driver_part(struct kern_call *call)
{
	struct mlx5_ib_modify_wq driver;
	int error;

	if (kern_call_len(call, UVERBS_ATTR_UHW_IN) < sizeof(driver))
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	if (error)
		return error;
	return driver.comp_mask || driver.reserved ? -EOPNOTSUPP : 0;
}

int kern_write_modify_wq(struct kern_call *call)
{
	struct ib_uverbs_ex_modify_wq req;
	struct kern_object *wq;
	uint32_t state;
	int error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (error)
		return error;
	if (req.attr_mask == 0 || req.attr_mask & ~(uint32_t)UV_WQ_ATTRS)
		return -EINVAL;
	if (kern_object_find(call->file, req.wq_handle, KERN_WQ, &wq))
		return -EINVAL;
	state = kern_wq_state(wq);
	if (req.attr_mask & UV_WQ_CUR_STATE && req.curr_wq_state != state)
		return -EINVAL;
	if (req.attr_mask & UV_WQ_STATE && req.wq_state > UV_WQS_ERR)
		return -EINVAL;
	error = check_modify_driver_part(call);
	if (error)
		return error;
	if (req.attr_mask & UV_WQ_FLAGS && req.flags_mask)
		return -EOPNOTSUPP;
	return req.attr_mask & UV_WQ_STATE ? kern_wq_move(wq, req.wq_state) : 0;
}

/* ---- tables ------------------------------------------------------------------------------------
 */

/* The object of an entry: its handle is the queue's cookie. */
static struct kern_object *wq_at(const struct kern *kern, uint32_t rqtn, uint32_t index)
{
	uint32_t number = nic_rqt_entry(kern->nic, rqtn, index);
	uint64_t handle;

	if (number == 0 || nic_qp_cookie(kern->nic, number, &handle))
		return NULL;
	return &kern->objects[handle];
}

void kern_rqt_hold(const struct kern *kern, uint32_t rqtn)
{
	struct kern_object *wq;

	for (uint32_t i = 0; (wq = wq_at(kern, rqtn, i)); i++)
		wq->users++;
}

void kern_rqt_release(const struct kern *kern, uint32_t rqtn)
{
	struct kern_object *wq;

	for (uint32_t i = 0; (wq = wq_at(kern, rqtn, i)); i++)
		wq->users--;
}

int kern_rwq_table_destroy(struct kern *kern, const struct kern_object *table)
{
	int error;

	kern_rqt_release(kern, table->number);
	error = nic_rqt_destroy(kern->nic, table->number);
	ASSERT(!error); /* whoever uses it uses the object */
	return 0;
}

static int make_table(struct kern_call *call, const uint32_t *handles, uint32_t size_log2)
{
	struct kern *kern = call->kern;
	uint32_t numbers[1 << NIC_RQT_LOG2_MAX];
	struct kern_object *table, *wq;
	int error;

	for (uint32_t i = 0; i < 1u << size_log2; i++) {
		if (kern_object_find(call->file, handles[i], KERN_WQ, &wq))
			return -EINVAL;
		numbers[i] = wq->number;
	}
	table = kern_object_create(call->file, KERN_RWQ_TABLE);
	if (!table)
		return -ENOMEM;
	error = nic_rqt_create(kern->nic, numbers, size_log2, &table->number);
	if (error) {
		kern_object_drop(table);
		return error;
	}
	kern_rqt_hold(kern, table->number);
	call->new_object = table;
	return 0;
}

int kern_write_create_rwq_table(struct kern_call *call)
{
	struct ib_uverbs_ex_create_rwq_ind_table req;
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {.response_length = sizeof(resp)};
	struct mlx5_ib_create_rwq_ind_tbl_resp driver = {
	    .response_length = offsetof(struct mlx5_ib_create_rwq_ind_tbl_resp, reserved)};
	uint32_t words[TABLE_WORDS_MAX];
	size_t len = kern_call_len(call, UVERBS_ATTR_CORE_IN);
	size_t out = kern_call_len(call, UVERBS_ATTR_UHW_OUT);
	int error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, words, sizeof(words));

	if (error)
		return error;
	memcpy(&req, words, sizeof(req));
	if (req.comp_mask || call->kern->config.link_infiniband)
		return -EOPNOTSUPP;
	if (req.log_ind_tbl_size > NIC_RQT_LOG2_MAX)
		return -EINVAL;
	if (len < sizeof(req) + (sizeof(uint32_t) << req.log_ind_tbl_size))
		return -ENOSPC;
	for (size_t i = WORDS_BEFORE + (1u << req.log_ind_tbl_size); i < TABLE_WORDS_MAX; i++)
		if (words[i] != 0)
			return -EOPNOTSUPP;
	if (out != 0 && out < sizeof(driver))
		return -EINVAL;
	error = make_table(call, words + WORDS_BEFORE, req.log_ind_tbl_size);
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	if (error)
		return error;
	resp.ind_tbl_handle = kern_object_handle(call->new_object);
	resp.ind_tbl_num = call->new_object->number;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- queue pairs with a hash -------------------------------------------------------------------
 */

static int check_rss_core_part(struct kern_call *call, struct ib_uverbs_qp_cap *cap,
			       uint64_t *user_handle)
{
	uint64_t type;
	uint32_t flags;
	int error = kern_call_read(call, UVERBS_ATTR_CREATE_QP_CAP, cap, sizeof(*cap));

	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, user_handle,
				       sizeof(*user_handle));
	if (!error)
		error = kern_call_const(call, UVERBS_ATTR_CREATE_QP_TYPE, UINT32_MAX, &type);
	if (error)
		return error;
	if (type != IB_UVERBS_QPT_RAW_PACKET)
		return -EINVAL;
	if (!kern_call_object(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE))
		return -ENOENT;
	if (cap->max_recv_wr || cap->max_recv_sge ||
	    kern_call_attr(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE) ||
	    kern_call_attr(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) ||
	    kern_call_attr(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE) ||
	    kern_call_attr(call, UVERBS_ATTR_CREATE_QP_SOURCE_QPN))
		return -EINVAL;
	if (cap->max_send_wr) /* it only receives */
		return -EOPNOTSUPP;
	return kern_call_flags(call, UVERBS_ATTR_CREATE_QP_FLAGS, IB_UVERBS_QP_CREATE_SQ_SIG_ALL,
			       &flags);
}

/* Of each pair of protocols one. Without a field there is nothing to choose by. */
static int check_fields(const struct mlx5_ib_create_qp_rss *driver, bool one_entry)
{
	uint64_t fields = driver->rx_hash_fields_mask;

	if (fields & ~(uint64_t)HASH_FIELDS)
		return -EOPNOTSUPP;
	if (((fields & NIC_HASH_IPV4) && (fields & NIC_HASH_IPV6)) ||
	    ((fields & NIC_HASH_TCP) && (fields & NIC_HASH_UDP)))
		return -EINVAL;
	return fields == 0 && !one_entry ? -EINVAL : 0;
}

static int read_rss_driver_part(struct kern_call *call, uint32_t rqtn, struct nic_tir_attr *attr)
{
	struct mlx5_ib_create_qp_rss driver;
	uint8_t reserved = 0;
	int error;

	if (kern_call_len(call, UVERBS_ATTR_UHW_IN) < sizeof(driver))
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	if (error)
		return error;
	for (size_t i = 0; i < sizeof(driver.reserved); i++)
		reserved |= driver.reserved[i];
	if (driver.comp_mask || reserved)
		return -EOPNOTSUPP;
	if (driver.flags) /* tunnels, and frames to itself */
		return -EOPNOTSUPP;
	if (driver.rx_hash_function != MLX5_RX_HASH_FUNC_TOEPLITZ)
		return -EOPNOTSUPP;
	if (driver.rx_key_len != NIC_HASH_KEY_BYTES)
		return -EINVAL;
	error = check_fields(&driver, nic_rqt_entry(call->kern->nic, rqtn, 1) == 0);
	if (error)
		return error;
	attr->rqtn = rqtn;
	attr->fields = (uint32_t)driver.rx_hash_fields_mask;
	memcpy(attr->key, driver.rx_hash_key, sizeof(attr->key));
	return 0;
}

static int write_rss_response(struct kern_call *call, const struct kern_object *qp)
{
	struct mlx5_ib_create_qp_resp resp = {.comp_mask = 0};
	int error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));

	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &qp->cap,
					sizeof(qp->cap));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->number,
					sizeof(qp->number));
	return error;
}

/* Its number is 0, as with mlx5: nothing is sent to it or from it. */
int kern_rss_qp_create(struct kern_call *call)
{
	struct kern_object *table = kern_call_object(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE);
	struct nic_tir_attr attr;
	struct ib_uverbs_qp_cap cap;
	struct kern_object *qp;
	uint64_t user_handle;
	int error = check_rss_core_part(call, &cap, &user_handle);

	if (!error)
		error = read_rss_driver_part(call, table->number, &attr);
	if (error)
		return error;
	qp = kern_object_create(call->file, KERN_QP);
	if (!qp)
		return -ENOMEM;
	error = nic_tir_create(call->kern->nic, &attr, &qp->tirn);
	if (error) {
		kern_object_drop(qp);
		return error;
	}
	qp->user_handle = user_handle;
	qp->qp_type = NIC_QP_RAW;
	qp->cap = cap;
	qp->next_open = kern_object_handle(qp);
	kern_call_async(call, UVERBS_ATTR_CREATE_QP_EVENT_FD, qp);
	kern_object_use(qp, KERN_USE_PD, kern_call_object(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE));
	kern_object_use(qp, KERN_USE_TABLE, table);
	call->new_object = qp;
	return write_rss_response(call, qp);
}
