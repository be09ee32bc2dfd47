/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr.c - protection domains, regions of host memory and of dma-bufs.
 */
#include "kern/state.h"

#include "base/assert.h"

#include <string.h>

enum {
	PAGE_BYTES = 4096,
	ACCESS_DMABUF = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
			IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC |
			IB_UVERBS_ACCESS_RELAXED_ORDERING,
	ACCESS_WRITABLE = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
			  IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND,
};

int kern_write_alloc_pd(struct kern_call *call)
{
	struct ib_uverbs_alloc_pd req;
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp uhw;
	struct kern_object *pd;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	if (!call->file->context)
		return -EINVAL;
	if (kern_call_len(call, UVERBS_ATTR_UHW_OUT) < sizeof(uhw))
		return -EFAULT;
	pd = kern_object_create(call->file, KERN_PD);
	if (!pd)
		return -ENOMEM;
	error = nic_pd_create(call->kern->nic, &pd->number);
	if (error) {
		kern_object_drop(pd);
		return error;
	}
	call->new_object = pd;
	uhw.pdn = pd->number;
	error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &uhw, sizeof(uhw));
	if (error)
		return error;
	resp.pd_handle = kern_object_handle(pd);
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- regions ----------------------------------------------------------------------------------
 */

/* [linux ib_check_mr_access] */
int kern_check_access(uint32_t access)
{
	if (access & (IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_REMOTE_WRITE) &&
	    !(access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (access & ~(uint32_t)UV_ACCESS_SUPPORTED)
		return -EINVAL;
	return 0;
}

/* All addresses that this process has, or will have [linux mlx5 create_user_odp_mr]. */
static bool is_implicit(const struct ib_uverbs_reg_mr *req)
{
	return req->access_flags & IB_UVERBS_ACCESS_ON_DEMAND && req->start == 0 &&
	       req->length == UINT64_MAX;
}

/* The range as the kernel would pin it: -EINVAL if it wraps, -EFAULT if it is not there. */
static int check_range(const struct kern *kern, const struct ib_uverbs_reg_mr *req)
{
	uint64_t end = req->start + req->length;

	if (is_implicit(req))
		return req->hca_va == 0 ? 0 : -EINVAL;
	if ((req->start & (PAGE_BYTES - 1)) != (req->hca_va & (PAGE_BYTES - 1)))
		return -EINVAL;
	if (req->length == 0 || end < req->start || end > UINT64_MAX - (PAGE_BYTES - 1))
		return -EINVAL;
	if (req->hca_va + req->length < req->hca_va)
		return -EINVAL;
	/* On demand: what is there counts when it is used. It does for all regions, as nothing is
	 * pinned; but a card would pin the others, so they are there now. */
	if (req->access_flags & IB_UVERBS_ACCESS_ON_DEMAND)
		return 0;
	if (!kern->env.user_probe(kern->env.ctx, req->start, req->length,
				  req->access_flags & ACCESS_WRITABLE))
		return -EFAULT;
	return 0;
}

uint32_t kern_nic_access(uint32_t access)
{
	uint32_t nic = 0;

	if (access & IB_UVERBS_ACCESS_LOCAL_WRITE)
		nic |= NIC_ACCESS_LOCAL_WRITE_F;
	if (access & IB_UVERBS_ACCESS_REMOTE_WRITE)
		nic |= NIC_ACCESS_REMOTE_WRITE_F;
	if (access & IB_UVERBS_ACCESS_REMOTE_READ)
		nic |= NIC_ACCESS_REMOTE_READ_F;
	if (access & IB_UVERBS_ACCESS_REMOTE_ATOMIC)
		nic |= NIC_ACCESS_REMOTE_ATOMIC_F;
	if (access & IB_UVERBS_ACCESS_MW_BIND)
		nic |= NIC_ACCESS_BIND_F;
	return nic;
}

int kern_create_region(struct kern_call *call, struct nic_mkey_attr *attr, struct kern_object *pd)
{
	struct kern *kern = call->kern;
	struct kern_object *mr = kern_object_create(call->file, KERN_MR);
	int error;

	if (!mr)
		return -ENOMEM;
	attr->pdn = pd->number;
	error = nic_mkey_create(kern->nic, attr, &mr->number);
	if (error) {
		kern_object_drop(mr);
		return error;
	}
	mr->len_bytes = attr->len_bytes;
	mr->iova = attr->va;
	kern_object_use(mr, 0, pd);
	call->new_object = mr;
	return 0;
}

/* A region of host memory, as asked for but for the domain. */
static int create_host_region(struct kern_call *call, const struct ib_uverbs_reg_mr *req,
			      struct kern_object *pd)
{
	struct nic_mkey_attr attr = {
	    .access = kern_nic_access(req->access_flags),
	    .va = req->hca_va,
	    .len_bytes = req->length,
	    .host_va = req->start,
	};
	int error = check_range(call->kern, req);

	if (!error)
		error = kern_create_region(call, &attr, pd);
	if (!error)
		call->new_object->access = req->access_flags;
	return error;
}

int kern_write_reg_mr(struct kern_call *call)
{
	struct ib_uverbs_reg_mr req;
	struct ib_uverbs_reg_mr_resp resp;
	struct kern_object *pd;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	error = kern_check_access(req.access_flags);
	if (error)
		return error;
	if (kern_object_find(call->file, req.pd_handle, KERN_PD, &pd))
		return -EINVAL;
	error = create_host_region(call, &req, pd);
	if (error)
		return error;
	resp = (struct ib_uverbs_reg_mr_resp){
	    .mr_handle = kern_object_handle(call->new_object),
	    .lkey = call->new_object->number,
	    .rkey = call->new_object->number,
	};
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- a region changes -------------------------------------------------------------------------
 */

static void fill_place(struct nic_mkey_attr *attr, const struct ib_uverbs_rereg_mr *req)
{
	attr->va = req->hca_va;
	attr->len_bytes = req->length;
	attr->host_va = req->start;
}

/* The checks of [linux ib_uverbs_rereg_mr] on the request alone, in its order. */
static int check_rereg(const struct ib_uverbs_rereg_mr *req)
{
	if (!req->flags)
		return -EINVAL;
	if (req->flags & ~(uint32_t)UV_REREG_SUPPORTED)
		return -EOPNOTSUPP;
	if (req->flags & UV_REREG_TRANSLATION &&
	    (req->start & (PAGE_BYTES - 1)) != (req->hca_va & (PAGE_BYTES - 1)))
		return -EINVAL;
	return 0;
}

/* What is asked for, beside the region as it is; *pd its domain in the end. */
static int read_change(struct kern_call *call, const struct ib_uverbs_rereg_mr *req,
		       const struct kern_object *mr, struct nic_mkey_attr *attr,
		       struct kern_object **pd)
{
	uint32_t access = mr->access;
	struct ib_uverbs_reg_mr place = {
	    .start = req->start, .length = req->length, .hca_va = req->hca_va};
	int error;

	if (mr->is_dm)
		return -EINVAL;
	if (req->flags & UV_REREG_ACCESS) {
		error = kern_check_access(req->access_flags);
		if (error)
			return error;
		access = req->access_flags;
	}
	*pd = mr->uses[0];
	if (req->flags & UV_REREG_PD) {
		error = kern_object_find(call->file, req->pd_handle, KERN_PD, pd);
		if (error)
			return error;
	}
	place.access_flags = access;
	error = req->flags & UV_REREG_TRANSLATION ? check_range(call->kern, &place) : 0;
	*attr = (struct nic_mkey_attr){.pdn = (*pd)->number, .access = kern_nic_access(access)};
	fill_place(attr, req);
	return error;
}

static uint32_t nic_set(uint32_t flags)
{
	return (flags & UV_REREG_TRANSLATION ? NIC_MKEY_SET_PLACE_F : 0) |
	       (flags & UV_REREG_PD ? NIC_MKEY_SET_PD_F : 0) |
	       (flags & UV_REREG_ACCESS ? NIC_MKEY_SET_ACCESS_F : 0);
}

/* What the nic has done already. A dma-buf whose region went elsewhere is let go. */
static void note_change(struct kern *kern, struct kern_object *mr,
			const struct ib_uverbs_rereg_mr *req, struct kern_object *pd)
{
	if (req->flags & UV_REREG_ACCESS)
		mr->access = req->access_flags;
	if (req->flags & UV_REREG_TRANSLATION) {
		mr->iova = req->hca_va;
		mr->len_bytes = req->length;
		if (mr->is_dmabuf)
			kern->env.dmabuf_unmap(kern->env.ctx, mr->host_va);
		mr->is_dmabuf = false;
	}
	if (mr->uses[0] != pd)
		kern_object_use_newer(mr, 0, pd);
}

int kern_write_rereg_mr(struct kern_call *call)
{
	struct ib_uverbs_rereg_mr req;
	struct ib_uverbs_rereg_mr_resp resp;
	struct kern_object *mr, *pd;
	struct nic_mkey_attr attr;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (!error)
		error = check_rereg(&req);
	if (!error)
		error = kern_object_find(call->file, req.mr_handle, KERN_MR, &mr);
	if (!error)
		error = read_change(call, &req, mr, &attr, &pd);
	if (!error)
		error = nic_mkey_modify(call->kern->nic, mr->number, &attr, nic_set(req.flags));
	if (error)
		return error;
	note_change(call->kern, mr, &req, pd);
	resp = (struct ib_uverbs_rereg_mr_resp){.lkey = mr->number, .rkey = mr->number};
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- regions of dma-bufs ------------------------------------------------------------------------
 */

struct dmabuf_req {
	uint64_t offset; /* in the buffer; without one, an address */
	uint64_t length;
	uint64_t iova;
	uint32_t access;
	int fd;
};

/* The checks of [linux uverbs_std_types_mr.c UVERBS_METHOD_REG_DMABUF_MR], in its order. */
static int read_dmabuf_req(struct kern_call *call, struct dmabuf_req *req)
{
	int error;

	if (!call->kern->env.dmabuf_map)
		return -EOPNOTSUPP;
	error = kern_call_read(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &req->offset, 8);
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &req->length, 8);
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &req->iova, 8);
	if (error)
		return error;
	if ((req->offset ^ req->iova) & (PAGE_BYTES - 1))
		return -EINVAL;
	req->fd = (int)kern_call_attr(call, UVERBS_ATTR_REG_DMABUF_MR_FD)->data;
	error = kern_call_flags(call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, ACCESS_DMABUF,
				&req->access);
	return error ? error : kern_check_access(req->access);
}

/* mlx5's own flags: all of them ask for a way to the memory that is not there. */
static int read_driver_access(struct kern_call *call)
{
	uint32_t none;

	return kern_call_flags(call, UV_MLX5_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 0, &none);
}

/* The region of what is mapped at host_va. */
static int create_mapped_region(struct kern_call *call, const struct dmabuf_req *req,
				struct kern_object *pd, uint64_t host_va)
{
	struct nic_mkey_attr attr = {
	    .access = kern_nic_access(req->access),
	    .va = req->iova,
	    .len_bytes = req->length,
	    .host_va = host_va,
	    .synced = true,
	};
	int error = kern_create_region(call, &attr, pd);

	if (error)
		return error;
	call->new_object->access = req->access;
	call->new_object->is_dmabuf = true;
	call->new_object->host_va = host_va;
	return 0;
}

/* First what ib_umem_dmabuf_get refuses before it looks at the buffer. */
static int create_dmabuf_region(struct kern_call *call, const struct dmabuf_req *req,
				struct kern_object *pd)
{
	const struct kern_env *env = &call->kern->env;
	uint64_t host_va;
	int error;

	if (req->length == 0 || req->offset + req->length < req->offset ||
	    req->iova + req->length < req->iova)
		return -EINVAL;
	error = env->dmabuf_map(env->ctx, req->fd, req->offset, req->length,
				req->access & ACCESS_WRITABLE, &host_va);
	if (error)
		return error;
	error = create_mapped_region(call, req, pd, host_va);
	if (error)
		env->dmabuf_unmap(env->ctx, host_va);
	return error;
}

/* The new region's keys, into two attributes. */
static int write_keys(struct kern_call *call, uint16_t lkey_attr, uint16_t rkey_attr)
{
	uint32_t key = call->new_object->number;
	int error = kern_call_write(call, lkey_attr, &key, sizeof(key));

	return error ? error : kern_call_write(call, rkey_attr, &key, sizeof(key));
}

int kern_reg_dmabuf_mr(struct kern_call *call)
{
	struct dmabuf_req req;
	int error = read_dmabuf_req(call, &req);

	if (!error)
		error = read_driver_access(call);
	if (!error)
		error = create_dmabuf_region(
		    call, &req, kern_call_object(call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE));
	if (error)
		return error;
	return write_keys(call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY,
			  UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY);
}

/* ---- regions of either --------------------------------------------------------------------------
 */

/* Bytes of an optional attribute; 0 if it is not there. */
static int read_optional(struct kern_call *call, uint16_t id, uint64_t *value)
{
	*value = 0;
	return kern_call_attr(call, id) ? kern_call_read(call, id, value, sizeof(*value)) : 0;
}

/* Where the memory is: an address, or a descriptor and an offset, and the pages fit the iova. */
static int check_place(struct kern_call *call, uint64_t place, uint64_t iova)
{
	bool has_addr = kern_call_attr(call, UV_ATTR_REG_MR_ADDR);
	bool has_fd = kern_call_attr(call, UV_ATTR_REG_MR_FD);
	bool has_offset = kern_call_attr(call, UV_ATTR_REG_MR_FD_OFFSET);

	if (has_fd && !call->kern->env.dmabuf_map)
		return -EOPNOTSUPP;
	if (has_offset != has_fd || has_addr == has_fd)
		return -EINVAL;
	return (place ^ iova) & (PAGE_BYTES - 1) ? -EINVAL : 0;
}

/* UVERBS_METHOD_REG_MR of later kernels: the checks, in its order [linux uverbs_std_types_mr.c]. */
static int read_reg_mr(struct kern_call *call, struct dmabuf_req *req)
{
	const struct kern_attr *fd = kern_call_attr(call, UV_ATTR_REG_MR_FD);
	int error = kern_call_read(call, UV_ATTR_REG_MR_IOVA, &req->iova, sizeof(req->iova));

	if (!error)
		error =
		    kern_call_read(call, UV_ATTR_REG_MR_LENGTH, &req->length, sizeof(req->length));
	if (!error)
		error = read_optional(call, fd ? UV_ATTR_REG_MR_FD_OFFSET : UV_ATTR_REG_MR_ADDR,
				      &req->offset);
	if (error)
		return error;
	req->fd = fd ? (int)fd->data : -1;
	error = check_place(call, req->offset, req->iova);
	if (!error)
		error = kern_call_flags(call, UV_ATTR_REG_MR_ACCESS_FLAGS,
					fd ? ACCESS_DMABUF : UV_ACCESS_SUPPORTED, &req->access);
	return error ? error : kern_check_access(req->access);
}

int kern_reg_mr(struct kern_call *call)
{
	struct kern_object *pd = kern_call_object(call, UV_ATTR_REG_MR_PD_HANDLE);
	struct dmabuf_req req;
	struct ib_uverbs_reg_mr host;
	int error = read_reg_mr(call, &req);

	if (error)
		return error;
	host = (struct ib_uverbs_reg_mr){.start = req.offset,
					 .length = req.length,
					 .hca_va = req.iova,
					 .access_flags = req.access};
	if (kern_call_attr(call, UV_ATTR_REG_MR_FD))
		error = create_dmabuf_region(call, &req, pd);
	else
		error = create_host_region(call, &host, pd);
	if (error)
		return error;
	return write_keys(call, UV_ATTR_REG_MR_RESP_LKEY, UV_ATTR_REG_MR_RESP_RKEY);
}

int kern_mr_destroy(struct kern *kern, const struct kern_object *mr)
{
	int error = nic_mkey_destroy(kern->nic, mr->number);

	if (!error && mr->is_dmabuf)
		kern->env.dmabuf_unmap(kern->env.ctx, mr->host_va);
	return error;
}
