/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.c - completion queues.
 */
#include "kern/state.h"

#include "base/assert.h"
#include "base/ring.h"

struct cq_args {
	uint32_t cqe; /* as asked for: one less than the ring has */
	uint32_t flags;
	uint64_t user_handle;
	struct mlx5_ib_create_cq driver;
	uint32_t uar_page; /* where it is armed */
	bool has_uar_page;
};

/* [linux mlx5 create_cq_user]; compressed completions and those in the time of day are not
 * offered. */
static int check_driver_part(struct kern_call *call, const struct cq_args *args)
{
	const struct mlx5_ib_create_cq *driver = &args->driver;
	const uint32_t flags_known = MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD |
				     MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
				     MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;

	if (driver->flags & ~flags_known)
		return -EINVAL;
	if ((driver->cqe_size != 64 && driver->cqe_size != 128) || driver->reserved0 ||
	    driver->reserved1)
		return -EINVAL;
	/* A context with registers of its own arms in the page of the first. */
	if (args->has_uar_page ? !kern_page_is_of(call->file, args->uar_page)
			       : call->file->bfreg_count == 0)
		return -EINVAL;
	if (driver->flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD && driver->cqe_size != 128)
		return -EOPNOTSUPP;
	if (driver->cqe_comp_en || driver->flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS)
		return -EOPNOTSUPP;
	return 0;
}

/* The page's number is in the driver's part, or is an attribute of its own if it is too large. */
static int read_uar_page(struct kern_call *call, struct cq_args *args)
{
	args->has_uar_page = args->driver.flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
	args->uar_page = args->driver.uar_page_index;
	if (!kern_call_attr(call, UV_MLX5_ATTR_CREATE_CQ_UAR_INDEX))
		return 0;
	args->has_uar_page = true;
	return kern_call_read(call, UV_MLX5_ATTR_CREATE_CQ_UAR_INDEX, &args->uar_page,
			      sizeof(args->uar_page));
}

static int read_args(struct kern_call *call, struct cq_args *args)
{
	const uint32_t flags_known =
	    IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	uint32_t vector;
	int error;

	error = kern_call_read(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector, sizeof(vector));
	if (!error)
		error =
		    kern_call_read(call, UVERBS_ATTR_CREATE_CQ_CQE, &args->cqe, sizeof(args->cqe));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &args->user_handle,
				       sizeof(args->user_handle));
	if (!error)
		error =
		    kern_call_flags(call, UVERBS_ATTR_CREATE_CQ_FLAGS, flags_known, &args->flags);
	if (error)
		return error;
	if (vector >= KERN_COMP_VECTOR_COUNT)
		return -EINVAL;
	if (args->cqe == 0 || args->cqe > (1u << KERN_CQE_COUNT_LOG2_MAX) - 1)
		return -EINVAL;
	if (kern_call_len(call, UVERBS_ATTR_UHW_IN) < offsetof(struct mlx5_ib_create_cq, flags))
		return -EINVAL;
	error = kern_call_read(call, UVERBS_ATTR_UHW_IN, &args->driver, sizeof(args->driver));
	if (!error)
		error = read_uar_page(call, args);
	return error ? error : check_driver_part(call, args);
}

static int create_in_nic(struct kern_object *cq, const struct cq_args *args)
{
	struct kern *kern = cq->file->kern;
	struct nic_cq_attr attr = {
	    .buf_va = args->driver.buf_addr,
	    .db_va = args->driver.db_addr,
	    .cqe_count_log2 = ring_log2_ceil((uint64_t)args->cqe + 1),
	    .cqe_size_bytes = args->driver.cqe_size,
	    .overrun_ignored = args->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN,
	    .padded = args->driver.flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD,
	    .cookie = kern_object_handle(cq),
	};
	uint64_t ring_bytes = (uint64_t)attr.cqe_size_bytes << attr.cqe_count_log2;

	if (!kern->env.user_probe(kern->env.ctx, attr.buf_va, ring_bytes, true) ||
	    !kern->env.user_probe(kern->env.ctx, attr.db_va, DB_RECORD_BYTES, true))
		return -EFAULT;
	return nic_cq_create(kern->nic, &attr, &cq->number);
}

static int write_response(struct kern_call *call, const struct kern_object *cq, uint32_t cqe)
{
	uint32_t cqe_got = (uint32_t)ring_round_up((uint64_t)cqe + 1) - 1;
	int error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &cq->number, sizeof(cq->number));

	return error ? error
		     : kern_call_write(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe_got,
				       sizeof(cqe_got));
}

int kern_cq_create(struct kern_call *call)
{
	struct cq_args args;
	struct kern_object *cq;
	int error = read_args(call, &args);

	if (error)
		return error;
	if (kern_call_len(call, UVERBS_ATTR_UHW_OUT) < sizeof(uint32_t))
		return -EFAULT;
	cq = kern_object_create(call->file, KERN_CQ);
	if (!cq)
		return -ENOMEM;
	error = create_in_nic(cq, &args);
	if (error) {
		kern_object_drop(cq);
		return error;
	}
	cq->user_handle = args.user_handle;
	cq->comp = kern_call_channel(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	cq->cqe_count = (uint32_t)ring_round_up((uint64_t)args.cqe + 1);
	cq->cqe_size_bytes = args.driver.cqe_size;
	kern_channel_get(cq->comp);
	kern_call_async(call, UVERBS_ATTR_CREATE_CQ_EVENT_FD, cq);
	call->new_object = cq;
	return write_response(call, cq, args.cqe);
}

/* [linux mlx5_ib_resize_cq]; entries keep their size. */
static int resize(struct kern_call *call, struct kern_object *cq, uint32_t cqe)
{
	struct kern *kern = call->kern;
	struct mlx5_ib_resize_cq driver;
	uint32_t cqe_count;
	int error;

	if (cqe == 0 || cqe > (1u << KERN_CQE_COUNT_LOG2_MAX) - 1)
		return -EINVAL;
	cqe_count = (uint32_t)ring_round_up((uint64_t)cqe + 1);
	if (cqe_count == cq->cqe_count)
		return 0;
	if (kern_call_len(call, UVERBS_ATTR_UHW_IN) < sizeof(driver))
		return -EFAULT;
	error = kern_call_read(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	if (error)
		return error;
	if (driver.reserved0 || driver.reserved1 || driver.cqe_size != cq->cqe_size_bytes)
		return -EINVAL;
	if (!kern->env.user_probe(kern->env.ctx, driver.buf_addr,
				  (uint64_t)cqe_count * cq->cqe_size_bytes, true))
		return -EFAULT;
	error = nic_cq_resize(kern->nic, cq->number, driver.buf_addr, ring_log2_ceil(cqe_count));
	if (!error)
		cq->cqe_count = cqe_count;
	return error;
}

int kern_write_resize_cq(struct kern_call *call)
{
	struct ib_uverbs_resize_cq req;
	struct ib_uverbs_resize_cq_resp resp = {.cqe = 0};
	struct kern_object *cq;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	if (kern_object_find(call->file, req.cq_handle, KERN_CQ, &cq))
		return -EINVAL;
	error = resize(call, cq, req.cqe);
	if (error)
		return error;
	resp.cqe = cq->cqe_count - 1;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

int kern_cq_destroy(struct kern_call *call)
{
	struct kern_destroyed events;
	struct ib_uverbs_destroy_cq_resp resp;
	int error = kern_object_destroy(call->attrs[0].object, &events);

	if (error)
		return error;
	resp.comp_events_reported = events.comp_events;
	resp.async_events_reported = events.async_events;
	return kern_call_write(call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}
