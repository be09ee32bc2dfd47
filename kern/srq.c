/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srq.c - shared receive queues, basic and XRC.
 *
 * The order of checks is that of [linux uverbs_std_types_srq.c] and of its mlx5 driver [linux mlx5
 * srq.c]. The limit that a create request carries is not armed, as that driver does not.
 */
#include "kern/state.h"

#include "base/ring.h"

enum {
	WQE_BYTES_MIN = 32,
	SGE_BYTES = 16,
	NEXT_SEG_BYTES = 16,
	UIDX_NONE = 0xffffff, /* mlx5: a user index of this value means "none" [linux mlx5_ib.h] */
};

struct srq_args {
	uint64_t type;
	uint64_t user_handle;
	uint32_t max_wr;
	uint32_t max_sge;
	struct kern_object *pd;
	struct kern_object *cq;   /* XRC only */
	struct kern_object *xrcd; /* likewise */
	struct mlx5_ib_create_srq driver;
};

static int check_type(struct kern_call *call, struct srq_args *args)
{
	bool has_cq = args->type == IB_UVERBS_SRQT_XRC || args->type == IB_UVERBS_SRQT_TM;
	struct kern_object *cq = kern_call_object(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE);
	struct kern_object *xrcd = kern_call_object(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE);

	if (has_cq && !cq)
		return -ENOENT;
	switch (args->type) {
	case IB_UVERBS_SRQT_BASIC:
		return 0;
	case IB_UVERBS_SRQT_XRC:
		args->cq = cq;
		args->xrcd = xrcd;
		return xrcd ? 0 : -ENOENT;
	case IB_UVERBS_SRQT_TM:
		return -EOPNOTSUPP; /* tag matching is not offered */
	default:
		return -EINVAL;
	}
}

static int read_core_part(struct kern_call *call, struct srq_args *args)
{
	uint32_t limit;
	int error;

	args->pd = kern_call_object(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE);
	error = kern_call_read(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &args->max_sge,
			       sizeof(args->max_sge));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &args->max_wr,
				       sizeof(args->max_wr));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_SRQ_LIMIT, &limit, sizeof(limit));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &args->user_handle,
				       sizeof(args->user_handle));
	if (!error)
		error = kern_call_const(call, UVERBS_ATTR_CREATE_SRQ_TYPE, UINT32_MAX, &args->type);
	if (!error)
		error = check_type(call, args);
	if (error)
		return error;
	if (args->max_wr >= KERN_SRQ_WQE_COUNT_MAX ||
	    args->max_sge > KERN_WQE_RECV_BYTES_MAX / SGE_BYTES)
		return -EINVAL;
	return 0;
}

/* Signatures of entries are not offered. */
static int read_driver_part(struct kern_call *call, struct srq_args *args)
{
	struct mlx5_ib_create_srq *driver = &args->driver;
	size_t len = kern_call_len(call, UVERBS_ATTR_UHW_IN);
	int error;

	if (len < offsetof(struct mlx5_ib_create_srq, reserved0))
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, driver, sizeof(*driver));
	if (error)
		return error == -EFAULT ? error : -EINVAL;
	if (driver->reserved0 || driver->reserved1 || driver->flags)
		return -EINVAL;
	if (args->type != IB_UVERBS_SRQT_BASIC && call->file->cqe_version != 0 &&
	    driver->uidx >= UIDX_NONE)
		return -EINVAL;
	return 0;
}

static int create_in_nic(struct kern_object *srq, const struct srq_args *args)
{
	struct kern *kern = srq->file->kern;
	uint32_t wqe_bytes = NEXT_SEG_BYTES + args->max_sge * SGE_BYTES;
	struct nic_srq_attr attr = {
	    .pdn = args->pd->number,
	    .buf_va = args->driver.buf_addr,
	    .db_va = args->driver.db_addr,
	    .wqe_count = (uint32_t)ring_round_up(args->max_wr + 1),
	    .wqe_size_log2 = ring_log2_ceil(wqe_bytes > WQE_BYTES_MIN ? wqe_bytes : WQE_BYTES_MIN),
	    .xrcdn = args->xrcd ? args->xrcd->number : 0,
	    .cqn = args->cq ? args->cq->number : 0,
	    .user_index = args->driver.uidx,
	    .cqe_srqn = srq->file->cqe_version == 0,
	    .cookie = kern_object_handle(srq),
	};

	srq->max_wr = attr.wqe_count - 1;
	srq->max_sge = args->max_sge;
	if (!kern->env.user_probe(kern->env.ctx, attr.buf_va,
				  (uint64_t)attr.wqe_count << attr.wqe_size_log2, false) ||
	    !kern->env.user_probe(kern->env.ctx, attr.db_va, DB_RECORD_BYTES, false))
		return -EFAULT;
	return nic_srq_create(kern->nic, &attr, &srq->number);
}

static int write_response(struct kern_call *call, const struct kern_object *srq)
{
	int error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &srq->number, sizeof(srq->number));

	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->max_wr,
					sizeof(srq->max_wr));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->max_sge,
					sizeof(srq->max_sge));
	if (!error && srq->uses[KERN_USE_XRCD])
		error = kern_call_write(call, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srq->number,
					sizeof(srq->number));
	return error;
}

int kern_srq_create(struct kern_call *call)
{
	struct srq_args args = {.cq = NULL};
	struct kern_object *srq;
	int error = read_core_part(call, &args);

	if (!error)
		error = read_driver_part(call, &args);
	if (error)
		return error;
	srq = kern_object_create(call->file, KERN_SRQ);
	if (!srq)
		return -ENOMEM;
	error = create_in_nic(srq, &args);
	if (error) {
		kern_object_drop(srq);
		return error;
	}
	srq->user_handle = args.user_handle;
	kern_call_async(call, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, srq);
	kern_object_use(srq, KERN_USE_PD, args.pd);
	if (args.xrcd) {
		kern_object_use(srq, KERN_USE_SEND_CQ, args.cq);
		kern_object_use(srq, KERN_USE_XRCD, args.xrcd);
	}
	call->new_object = srq;
	return write_response(call, srq);
}

int kern_srq_destroy(struct kern_call *call)
{
	struct kern_destroyed events;
	struct ib_uverbs_destroy_srq_resp resp;
	int error = kern_object_destroy(call->attrs[0].object, &events);

	if (error)
		return error;
	resp.events_reported = events.async_events;
	return kern_call_write(call, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}

/* Rings keep their size, as with mlx5; what else the mask has is not looked at [linux]. */
int kern_write_modify_srq(struct kern_call *call)
{
	struct ib_uverbs_modify_srq req;
	struct kern_object *srq;
	int error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (error)
		return error;
	if (kern_object_find(call->file, req.srq_handle, KERN_SRQ, &srq))
		return -EINVAL;
	if (req.attr_mask & UV_SRQ_MAX_WR)
		return -EINVAL;
	if (!(req.attr_mask & UV_SRQ_LIMIT))
		return 0;
	if (req.srq_limit > srq->max_wr)
		return -EINVAL;
	return nic_srq_arm(call->kern->nic, srq->number, req.srq_limit);
}

int kern_write_query_srq(struct kern_call *call)
{
	struct ib_uverbs_query_srq req;
	struct ib_uverbs_query_srq_resp resp = {0};
	struct kern_object *srq;
	int error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (error)
		return error;
	if (kern_object_find(call->file, req.srq_handle, KERN_SRQ, &srq))
		return -EINVAL;
	resp.max_wr = srq->max_wr;
	resp.max_sge = srq->max_sge;
	error = nic_srq_query(call->kern->nic, srq->number, &resp.srq_limit);
	if (error)
		return error;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}
