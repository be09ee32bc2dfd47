/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp.c - queue pairs: create, destroy. What they are set to is in qp_modify.c.
 */
#include "kern/state.h"

#include "base/assert.h"
#include "base/ring.h"

enum {
	/* mlx5: a user index of this value means "none" [linux mlx5_ib.h]. */
	UIDX_MASK = 0xffffff,
	UIDX_NONE = 0xffffff,
	RQ_WQE_SHIFT_MAX = 32,
	SQ_WQEBB_LOG2 = 6,
};

struct qp_args {
	enum nic_qp_type type;
	struct ib_uverbs_qp_cap cap;
	uint64_t user_handle;
	uint32_t flags;
	struct kern_object *pd;
	struct kern_object *send_cq;
	struct kern_object *recv_cq; /* NULL: XRC has none; of a DC initiator it is not used */
	struct kern_object *srq;
	struct kern_object *xrcd;
	struct mlx5_ib_create_qp driver;
	uint32_t rq_wqe_count;
};

/* The driver's own types: its flags say which [linux mlx5 get_qp_type]. */
static int read_dc_type(struct kern_call *call, enum nic_qp_type *nic_type)
{
	struct mlx5_ib_create_qp driver;
	uint32_t flags;

	if (kern_call_read(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver)))
		return -EINVAL;
	flags = driver.flags & (MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_TYPE_DCT);
	if (flags != MLX5_QP_FLAG_TYPE_DCI && flags != MLX5_QP_FLAG_TYPE_DCT)
		return -EINVAL;
	*nic_type = flags == MLX5_QP_FLAG_TYPE_DCI ? NIC_QP_DCI : NIC_QP_DCT;
	return 0;
}

/* [linux uverbs_std_types_qp.c]: which types exist, and which of them this device has. */
static int read_type(struct kern_call *call, enum nic_qp_type *nic_type)
{
	uint64_t type;
	int error = kern_call_const(call, UVERBS_ATTR_CREATE_QP_TYPE, UINT32_MAX, &type);

	if (error)
		return error;
	switch (type) {
	case IB_UVERBS_QPT_RC:
		*nic_type = NIC_QP_RC;
		return 0;
	case IB_UVERBS_QPT_XRC_INI:
		*nic_type = NIC_QP_XRC_INI;
		return 0;
	case IB_UVERBS_QPT_XRC_TGT:
		*nic_type = NIC_QP_XRC_TGT;
		return 0;
	case IB_UVERBS_QPT_UC:
		*nic_type = NIC_QP_UC;
		return 0;
	case IB_UVERBS_QPT_UD:
		*nic_type = NIC_QP_UD;
		return 0;
	case IB_UVERBS_QPT_DRIVER:
		return read_dc_type(call, nic_type);
	case IB_UVERBS_QPT_RAW_PACKET:
		*nic_type = NIC_QP_RAW;
		return call->kern->config.link_infiniband ? -EOPNOTSUPP : 0;
	default:
		return -EINVAL;
	}
}

/* An XRC target has a domain and nothing else. */
static int read_target_objects(const struct qp_args *args)
{
	if (args->pd || args->send_cq || args->recv_cq)
		return -EINVAL;
	return args->xrcd ? 0 : -ENOENT;
}

/* Only targets have a domain; an XRC initiator receives nothing, so that a queue for it is left
 * aside. */
static int read_other_objects(struct qp_args *args)
{
	bool ini = args->type == NIC_QP_XRC_INI;

	if (args->xrcd || (args->srq && ini) || (!args->srq && args->type == NIC_QP_DCT))
		return -EINVAL;
	if (ini)
		args->recv_cq = NULL;
	return args->pd && args->send_cq && (args->recv_cq || ini) ? 0 : -ENOENT;
}

static int read_objects(struct kern_call *call, struct qp_args *args)
{
	args->pd = kern_call_object(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	args->send_cq = kern_call_object(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	args->recv_cq = kern_call_object(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
	args->srq = kern_call_object(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	args->xrcd = kern_call_object(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE);
	return args->type == NIC_QP_XRC_TGT ? read_target_objects(args) : read_other_objects(args);
}

/* A queue pair's SRQ is of its kind. A target is told by each request which one to use. */
static int check_srq(struct qp_args *args)
{
	bool tgt = args->type == NIC_QP_XRC_TGT;

	if (args->srq && (args->srq->uses[KERN_USE_XRCD] != NULL) != tgt)
		return -EINVAL;
	if (tgt)
		args->srq = NULL;
	return 0;
}

static int read_core_part(struct kern_call *call, struct qp_args *args)
{
	const uint32_t flags_known =
	    IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_UVERBS_QP_CREATE_SCATTER_FCS |
	    IB_UVERBS_QP_CREATE_CVLAN_STRIPPING | IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING |
	    IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	int error;

	error = kern_call_read(call, UVERBS_ATTR_CREATE_QP_CAP, &args->cap, sizeof(args->cap));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &args->user_handle,
				       sizeof(args->user_handle));
	if (!error)
		error = read_type(call, &args->type);
	if (!error)
		error = read_objects(call, args);
	if (!error)
		error =
		    kern_call_flags(call, UVERBS_ATTR_CREATE_QP_FLAGS, flags_known, &args->flags);
	if (error)
		return error;
	/* The other flags are for raw packets. */
	if (args->flags & ~(uint32_t)(IB_UVERBS_QP_CREATE_SQ_SIG_ALL |
				      IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK))
		return -EINVAL;
	if (kern_call_attr(call, UVERBS_ATTR_CREATE_QP_SOURCE_QPN))
		return -EINVAL;
	return check_srq(args);
}

/* Scatter to CQE is a permission, which this device never uses. Signatures of entries are there and
 * not checked: nothing between the application and this device can damage one. */
static int check_driver_flags(const struct kern_call *call, enum nic_qp_type type,
			      const struct mlx5_ib_create_qp *driver)
{
	const uint32_t flags_known = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |
				     MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_BFREG_INDEX |
				     MLX5_QP_FLAG_UAR_PAGE_INDEX;
	uint32_t flags = driver->flags;

	if (type == NIC_QP_DCI)
		flags &= ~(uint32_t)(MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_DCI_STREAM);
	/* A target never rings. */
	if (type == NIC_QP_DCT)
		return flags & ~(uint32_t)(MLX5_QP_FLAG_TYPE_DCT | MLX5_QP_FLAG_SCATTER_CQE)
			   ? -EINVAL
			   : 0;
	if (flags & ~flags_known)
		return -EINVAL;
	return kern_bfreg_check(call->file, driver);
}

static int check_streams(enum nic_qp_type type, const struct mlx5_ib_create_qp *driver)
{
	if (type != NIC_QP_DCI || !(driver->flags & MLX5_QP_FLAG_DCI_STREAM))
		return 0;
	return driver->dci_streams.log_num_concurent > KERN_DCI_STREAMS_LOG2_MAX ||
		       driver->dci_streams.log_num_errored > KERN_DCI_STREAMS_FAILED_LOG2_MAX
		   ? -EINVAL
		   : 0;
}

/* No receives of its own: XRC, DC, and who has an SRQ. */
static void leave_out_receives(struct qp_args *args)
{
	bool is_xrc = args->type == NIC_QP_XRC_INI || args->type == NIC_QP_XRC_TGT;
	bool is_dc = args->type == NIC_QP_DCI || args->type == NIC_QP_DCT;

	if (is_xrc || is_dc || args->srq)
		args->cap.max_recv_wr = args->cap.max_recv_sge = 0;
}

/* [linux mlx5 set_rq_size, set_user_buf_size] */
static int check_sizes(struct qp_args *args)
{
	const struct mlx5_ib_create_qp *driver = &args->driver;

	if (args->cap.max_recv_wr > KERN_WQEBB_COUNT_MAX)
		return -EINVAL;
	leave_out_receives(args);
	if (args->cap.max_recv_wr != 0) {
		if (driver->rq_wqe_shift > RQ_WQE_SHIFT_MAX ||
		    driver->rq_wqe_count > KERN_WQEBB_COUNT_MAX)
			return -EINVAL;
		args->rq_wqe_count = driver->rq_wqe_count;
	}
	if (driver->sq_wqe_count != 0 && !ring_is_power_of_two(driver->sq_wqe_count))
		return -EINVAL;
	return driver->sq_wqe_count > KERN_WQEBB_COUNT_MAX ? -EINVAL : 0;
}

static int read_driver_part(struct kern_call *call, struct qp_args *args)
{
	struct mlx5_ib_create_qp *driver = &args->driver;
	size_t len = kern_call_len(call, UVERBS_ATTR_UHW_IN);
	int error;

	if (len < offsetof(struct mlx5_ib_create_qp, ece_options))
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, driver, sizeof(*driver));
	if (error)
		return error == -EFAULT ? error : -EINVAL;
	error = check_driver_flags(call, args->type, driver);
	if (!error)
		error = check_streams(args->type, driver);
	if (error)
		return error;
	if (call->file->cqe_version != 0 &&
	    (driver->uidx == UIDX_NONE || driver->uidx & ~(uint32_t)UIDX_MASK))
		return -EINVAL;
	return check_sizes(args);
}

static int create_target_in_nic(struct kern_object *qp, const struct qp_args *args)
{
	struct nic_qp_attr attr = {
	    .type = NIC_QP_XRC_TGT,
	    .xrcdn = args->xrcd->number,
	    .cookie = kern_object_handle(qp),
	};

	return nic_qp_create(qp->file->kern->nic, &attr, &qp->number);
}

/* A target has no ring and no record. */
static int create_dct_in_nic(struct kern_object *qp, const struct qp_args *args)
{
	struct nic_qp_attr attr = {
	    .type = NIC_QP_DCT,
	    .pdn = args->pd->number,
	    .cqn_send = args->send_cq->number,
	    .cqn_recv = args->recv_cq->number,
	    .srqn = args->srq->number,
	    .dc_key = args->driver.access_key,
	    .user_index = qp->file->cqe_version ? args->driver.uidx : 0,
	    .cqe_srqn = qp->file->cqe_version == 0,
	    .ece = args->driver.ece_options,
	    .cookie = kern_object_handle(qp),
	};

	return nic_qp_create(qp->file->kern->nic, &attr, &qp->number);
}

static uint16_t streams_failed_max(const struct mlx5_ib_create_qp *driver)
{
	return driver->flags & MLX5_QP_FLAG_DCI_STREAM
		   ? (uint16_t)(1u << driver->dci_streams.log_num_errored)
		   : 0;
}

static int create_in_nic(struct kern_object *qp, const struct qp_args *args)
{
	struct kern *kern = qp->file->kern;
	const struct mlx5_ib_create_qp *driver = &args->driver;
	bool dci = args->type == NIC_QP_DCI;
	uint64_t sq_bytes = (uint64_t)driver->sq_wqe_count << SQ_WQEBB_LOG2;
	uint64_t buf_bytes = (uint64_t)args->rq_wqe_count << driver->rq_wqe_shift;
	struct nic_qp_attr attr = {
	    .type = args->type,
	    .pdn = args->pd->number,
	    .cqn_send = args->send_cq->number,
	    .cqn_recv = args->recv_cq && !dci ? args->recv_cq->number : 0,
	    .buf_va = driver->buf_addr,
	    .db_va = driver->db_addr,
	    .sq_wqebb_count = driver->sq_wqe_count,
	    .rq_wqe_count = args->rq_wqe_count,
	    .rq_wqe_size_log2 = driver->rq_wqe_shift,
	    .srqn = args->srq && !dci ? args->srq->number : 0,
	    .stream_failed_max = dci ? streams_failed_max(driver) : 0,
	    /* Version 0 completions carry no user index: the driver looks for the number. */
	    .user_index = qp->file->cqe_version ? driver->uidx : 0,
	    .cqe_srqn = qp->file->cqe_version == 0,
	    .sq_signal_all = args->flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL,
	    .own_multicast_blocked = args->flags & IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
	    .rq_signed = driver->flags & MLX5_QP_FLAG_SIGNATURE,
	    .ece = driver->ece_options,
	    .cookie = kern_object_handle(qp),
	};

	/* Only of raw packets the two rings are apart. */
	if (args->type == NIC_QP_RAW)
		attr.sq_buf_va = driver->sq_buf_addr;
	else
		buf_bytes += sq_bytes;
	if (args->type == NIC_QP_RAW && sq_bytes != 0 &&
	    !kern->env.user_probe(kern->env.ctx, attr.sq_buf_va, sq_bytes, false))
		return -EFAULT;
	if (buf_bytes != 0 && !kern->env.user_probe(kern->env.ctx, attr.buf_va, buf_bytes, false))
		return -EFAULT;
	if (!kern->env.user_probe(kern->env.ctx, attr.db_va, DB_RECORD_BYTES, false))
		return -EFAULT;
	return nic_qp_create(kern->nic, &attr, &qp->number);
}

static void fill_object(struct kern_call *call, struct kern_object *qp, const struct qp_args *args)
{
	qp->user_handle = args->user_handle;
	qp->qp_type = args->type;
	qp->cap = args->cap;
	qp->rq_wqe_count = args->rq_wqe_count;
	qp->sq_signal_all = args->flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	qp->next_open = kern_object_handle(qp);
	if (args->type != NIC_QP_XRC_TGT && args->type != NIC_QP_DCT)
		kern_bfreg_take(qp, &args->driver);
	kern_call_async(call, UVERBS_ATTR_CREATE_QP_EVENT_FD, qp);
	if (args->pd)
		kern_object_use(qp, KERN_USE_PD, args->pd);
	if (args->send_cq)
		kern_object_use(qp, KERN_USE_SEND_CQ, args->send_cq);
	if (args->recv_cq)
		kern_object_use(qp, KERN_USE_RECV_CQ, args->recv_cq);
	if (args->srq)
		kern_object_use(qp, KERN_USE_SRQ, args->srq);
	if (args->xrcd)
		kern_object_use(qp, KERN_USE_XRCD, args->xrcd);
}

static int write_response(struct kern_call *call, const struct kern_object *qp)
{
	struct mlx5_ib_create_qp_resp resp = {.bfreg_index = kern_bfreg_answer(qp)};
	/* A target is told its number when it is ready [linux mlx5_ib_modify_dct]. */
	uint32_t number = qp->qp_type == NIC_QP_DCT ? 0 : qp->number;
	struct nic_qp_params params;
	int error = nic_qp_query(call->kern->nic, qp->number, &params);

	ASSERT(!error);
	resp.ece_options = params.ece;
	error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));

	/* The capabilities go back as they came: the driver computed them [uverbs.md 3.4]. */
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &qp->cap,
					sizeof(qp->cap));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &number,
					sizeof(number));
	return error;
}

static int create_of_type(struct kern_object *qp, const struct qp_args *args)
{
	if (args->type == NIC_QP_XRC_TGT)
		return create_target_in_nic(qp, args);
	return args->type == NIC_QP_DCT ? create_dct_in_nic(qp, args) : create_in_nic(qp, args);
}

int kern_qp_create(struct kern_call *call)
{
	struct qp_args args = {.rq_wqe_count = 0};
	struct kern_object *qp;
	bool is_target;
	int error;

	if (kern_call_object(call, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE))
		return kern_rss_qp_create(call);
	error = read_core_part(call, &args);
	is_target = args.type == NIC_QP_XRC_TGT;

	/* A target has no driver's part: it has nothing that the driver could see. */
	if (is_target)
		leave_out_receives(&args);
	else if (!error)
		error = read_driver_part(call, &args);
	if (error)
		return error;
	qp = kern_object_create(call->file, KERN_QP);
	if (!qp)
		return -ENOMEM;
	error = create_of_type(qp, &args);
	if (error) {
		kern_object_drop(qp);
		return error;
	}
	fill_object(call, qp, &args);
	call->new_object = qp;
	return write_response(call, qp);
}

int kern_qp_destroy(struct kern_call *call)
{
	struct kern_destroyed events;
	struct ib_uverbs_destroy_qp_resp resp;
	struct kern_object *qp = call->attrs[0].object;
	int error;

	/* Who attached it has to detach it first [linux uverbs_free_qp]. */
	if (nic_mcast_count(call->kern->nic, qp->number) != 0)
		return -EBUSY;
	error = kern_object_destroy(qp, &events);
	if (error)
		return error;
	resp.events_reported = events.async_events;
	return kern_call_write(call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}
