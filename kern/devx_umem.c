/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_umem.c - umems: application memory that commands name by number and offset, for the rings
 * and doorbell records of the objects that they make.
 *
 * A umem's number is its handle plus one, so that 0 names none. Its pages are not pinned: an
 * application that unmaps them gets what it gets with any ring, a fault that the nic survives.
 */
#include "kern/devx.h"

#include "base/assert.h"
#include "base/ring.h"

enum {
	PAGE_BYTES_LOG2 = 12,
	PAGE_BYTES = 1 << PAGE_BYTES_LOG2,
	RING_ALIGN = 64,
};

/* Whether a page size that the caller allows suits the device: one of 4096 bytes up to the umem's
 * length, rounded up [linux mlx5 devx.c]. */
static bool page_size_fits(uint64_t allowed, uint64_t len_bytes)
{
	unsigned int largest = ring_log2_ceil(len_bytes);
	uint64_t fits;

	if (largest < PAGE_BYTES_LOG2)
		largest = PAGE_BYTES_LOG2;
	fits = largest >= 63 ? UINT64_MAX : (UINT64_C(1) << (largest + 1)) - 1;
	return allowed & fits & ~(uint64_t)(PAGE_BYTES - 1);
}

static int read_args(struct kern_call *call, uint64_t *addr, uint64_t *len_bytes, uint32_t *access)
{
	const uint32_t known = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
			       IB_UVERBS_ACCESS_REMOTE_READ;
	uint64_t page_sizes = ~(uint64_t)(PAGE_BYTES - 1);
	int error = kern_call_read(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, addr, sizeof(*addr));

	if (!error)
		error = kern_call_read(call, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, len_bytes,
				       sizeof(*len_bytes));
	if (!error)
		error = kern_call_flags(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, known, access);
	if (error)
		return error;
	if (*access & IB_UVERBS_ACCESS_REMOTE_WRITE && !(*access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (kern_call_attr(call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP)) {
		error = kern_call_const(call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, UINT64_MAX,
					&page_sizes);
		if (error)
			return error;
	}
	if (*len_bytes == 0 || *addr + *len_bytes < *addr ||
	    *addr + *len_bytes > UINT64_MAX - (PAGE_BYTES - 1))
		return -EINVAL;
	return page_size_fits(page_sizes, *len_bytes) ? 0 : -EINVAL;
}

int kern_devx_umem_reg(struct kern_call *call)
{
	const struct kern_env *env = &call->kern->env;
	uint64_t addr, len_bytes;
	uint32_t access, id;
	struct kern_object *umem;
	bool writable;
	int error;

	if (!call->file->devx)
		return -EINVAL;
	error = read_args(call, &addr, &len_bytes, &access);
	if (error)
		return error;
	writable = access & IB_UVERBS_ACCESS_LOCAL_WRITE;
	if (!env->user_probe(env->ctx, addr, len_bytes, writable))
		return -EFAULT;
	umem = kern_object_create(call->file, KERN_UMEM);
	if (!umem)
		return -ENOMEM;
	umem->host_va = addr;
	umem->len_bytes = len_bytes;
	umem->is_writable = writable;
	call->new_object = umem;
	id = kern_object_handle(umem) + 1;
	umem->number = id;
	return kern_call_write(call, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &id, sizeof(id));
}

struct kern_object *kern_devx_umem_at(struct kern_file *file, uint32_t id, uint64_t offset,
				      uint64_t len_bytes, bool writable, uint64_t *va)
{
	const struct kern_env *env = &file->kern->env;
	struct kern_object *umem;

	if (id == 0 || kern_object_find(file, id - 1, KERN_UMEM, &umem))
		return NULL;
	if (offset > umem->len_bytes || len_bytes > umem->len_bytes - offset)
		return NULL;
	if (len_bytes != 0 &&
	    !env->user_probe(env->ctx, umem->host_va + offset, len_bytes, writable))
		return NULL;
	*va = umem->host_va + offset;
	return umem;
}

enum cmd_status kern_devx_wq_memory(struct kern_cmd *cmd, uint32_t wq, uint32_t wqe_count,
				    uint32_t wqe_size_log2, struct kern_object **uses,
				    uint64_t *buf_va, uint64_t *db_va)
{
	struct kern_file *file = cmd->call->file;
	const uint8_t *context = cmd->in + wq;

	uses[KERN_USE_RING] = kern_devx_umem_at(
	    file, cmd_get(context, CMD_WQ_UMEM_ID), be64_load(context + CMD_WQ_UMEM_OFFSET),
	    (uint64_t)wqe_count << wqe_size_log2, false, buf_va);
	if (!uses[KERN_USE_RING])
		return kern_cmd_refuse(cmd, CMD_BAD_RES, wq + CMD_WQ_UMEM_ID.word);
	if (*buf_va % RING_ALIGN != 0)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, wq + CMD_WQ_UMEM_OFFSET);
	uses[KERN_USE_RECORD] = kern_devx_umem_at(file, cmd_get(context, CMD_WQ_DBR_UMEM_ID),
						  be64_load(context + CMD_WQ_DBR_OFFSET),
						  DB_RECORD_BYTES, false, db_va);
	if (!uses[KERN_USE_RECORD])
		return kern_cmd_refuse(cmd, CMD_BAD_RES, wq + CMD_WQ_DBR_UMEM_ID.word);
	return CMD_OK;
}
