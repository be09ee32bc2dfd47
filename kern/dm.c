/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dm.c - device memory: pages of the device that a program may map, and regions over them.
 *
 * A card has some memory of its own (MEMIC), nearer to its engines than the host's. Here it lies
 * among the register pages, is as near as any memory, and behaves as documented. The operations on
 * load and store that some cards have there are not offered.
 */
#include "kern/state.h"

#include "base/assert.h"

enum {
	DM_BYTES_MAX = 256 * 1024,
	DM_ALIGN_LOG2_MAX = UV_MLX5_PAGE_BYTES_LOG2,
};

static uint32_t page_count_of(uint64_t len_bytes)
{
	return (uint32_t)((len_bytes + DB_UAR_BYTES - 1) / DB_UAR_BYTES);
}

/* Never more than a quarter of the device's pages: registers are what they are for. */
uint64_t kern_dm_bytes_max(const struct kern *kern)
{
	uint64_t quarter = (uint64_t)kern->register_page_count / 4 * DB_UAR_BYTES;

	return quarter < DM_BYTES_MAX ? quarter : DM_BYTES_MAX;
}

/* [linux mlx5_cmd_alloc_memic], and which of all kinds of device memory there is. */
static int read_request(struct kern_call *call, uint64_t *len_bytes)
{
	uint32_t align_log2;
	uint64_t type = MLX5_IB_UAPI_DM_TYPE_MEMIC;
	int error;

	error = kern_call_read(call, UVERBS_ATTR_ALLOC_DM_LENGTH, len_bytes, sizeof(*len_bytes));
	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &align_log2,
				       sizeof(align_log2));
	if (!error && kern_call_attr(call, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE))
		error = kern_call_const(call, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, UINT32_MAX, &type);
	if (error)
		return error;
	if (type != MLX5_IB_UAPI_DM_TYPE_MEMIC)
		return -EOPNOTSUPP;
	if (*len_bytes == 0 || align_log2 > DM_ALIGN_LOG2_MAX)
		return -EINVAL;
	return *len_bytes > kern_dm_bytes_max(call->kern) ? -ENOMEM : 0;
}

/* Where the application maps it: a page, and the offset in it, which is 0. */
static int write_place(struct kern_call *call, uint16_t offset_attr, uint16_t page_attr,
		       const struct kern_object *dm)
{
	uint16_t page = (uint16_t)dm->number;
	uint64_t offset = 0;
	int error = kern_call_write(call, offset_attr, &offset, sizeof(offset));

	return error ? error : kern_call_write(call, page_attr, &page, sizeof(page));
}

int kern_dm_alloc(struct kern_call *call)
{
	struct kern_object *dm;
	uint64_t len_bytes;
	uint32_t page;
	int error = read_request(call, &len_bytes);

	if (error)
		return error;
	page = kern_pages_take(call->file, page_count_of(len_bytes));
	if (page == KERN_NONE)
		return -ENOMEM;
	dm = kern_object_create(call->file, KERN_DM);
	if (!dm) {
		kern_pages_free(call->kern, page, page_count_of(len_bytes));
		return -ENOMEM;
	}
	dm->number = page;
	dm->len_bytes = len_bytes;
	call->new_object = dm;
	return write_place(call, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
			   MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, dm);
}

void kern_dm_free(struct kern *kern, const struct kern_object *dm)
{
	kern_pages_free(kern, dm->number, page_count_of(dm->len_bytes));
}

int kern_dm_query(struct kern_call *call)
{
	const struct kern_object *dm = kern_call_object(call, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE);
	int error = write_place(call, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET,
				MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, dm);

	return error ? error
		     : kern_call_write(call, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &dm->len_bytes,
				       sizeof(dm->len_bytes));
}

static const struct kern_object *dm_at(const struct kern_file *file, uint64_t page)
{
	const struct kern_object *objects = file->kern->objects;

	for (uint32_t slot = file->newest; slot != KERN_NONE; slot = objects[slot].older)
		if (objects[slot].type == KERN_DM && objects[slot].number == page)
			return &objects[slot];
	return NULL;
}

int kern_dm_mmap(struct kern_file *file, uint64_t offset_bytes, uint64_t len_bytes, uint32_t *page,
		 uint32_t *page_count)
{
	uint64_t index = uv_mlx5_mmap_index(offset_bytes);
	const struct kern_object *dm = dm_at(file, index);

	if (!dm || len_bytes != (uint64_t)page_count_of(dm->len_bytes) * DB_UAR_BYTES)
		return -EINVAL;
	if (offset_bytes != uv_mlx5_mmap_offset(MLX5_IB_MMAP_DEVICE_MEM, (uint32_t)index))
		return -EINVAL;
	*page = dm->number;
	*page_count = page_count_of(dm->len_bytes);
	return 0;
}

/* ---- regions ----------------------------------------------------------------------------------
 */

struct dm_region {
	uint64_t offset;
	uint64_t length;
	uint32_t access;
};

/* The checks of [linux uverbs_std_types_mr.c UVERBS_METHOD_DM_MR_REG], in its order. */
static int read_region(struct kern_call *call, const struct kern_object *dm, struct dm_region *req)
{
	int error = kern_call_read(call, UVERBS_ATTR_REG_DM_MR_OFFSET, &req->offset, 8);

	if (!error)
		error = kern_call_read(call, UVERBS_ATTR_REG_DM_MR_LENGTH, &req->length, 8);
	if (!error)
		error = kern_call_flags(call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS,
					UV_ACCESS_SUPPORTED, &req->access);
	if (error)
		return error;
	if (!(req->access & IB_UVERBS_ACCESS_ZERO_BASED))
		return -EINVAL;
	error = kern_check_access(req->access);
	if (error)
		return error;
	if (req->offset > dm->len_bytes || req->length > dm->len_bytes - req->offset)
		return -EINVAL;
	/* [linux mlx5_ib_reg_dm_mr] */
	return req->access & ~(uint32_t)UV_ACCESS_DM ? -EINVAL : 0;
}

int kern_dm_reg_mr(struct kern_call *call)
{
	struct kern_object *dm = kern_call_object(call, UVERBS_ATTR_REG_DM_MR_DM_HANDLE);
	const uint8_t *pages = call->kern->config.device_pages;
	struct nic_mkey_attr attr;
	struct dm_region req;
	uint32_t key;
	int error = read_region(call, dm, &req);

	if (error)
		return error;
	attr = (struct nic_mkey_attr){
	    .access = kern_nic_access(req.access),
	    .len_bytes = req.length,
	    .host_va = (uintptr_t)(pages + (size_t)dm->number * DB_UAR_BYTES) + req.offset,
	};
	error = kern_create_region(call, &attr,
				   kern_call_object(call, UVERBS_ATTR_REG_DM_MR_PD_HANDLE));
	if (error)
		return error;
	call->new_object->is_dm = true;
	call->new_object->access = req.access;
	kern_object_use(call->new_object, 1, dm);
	key = call->new_object->number;
	error = kern_call_write(call, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &key, sizeof(key));
	if (error)
		return error;
	return kern_call_write(call, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &key, sizeof(key));
}
