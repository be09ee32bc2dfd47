/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5_uapi.h - mlx5's private part of the user verbs ABI: payloads and mmap offsets.
 *
 * The structures are the kernel's own. On core methods they travel as UVERBS_ATTR_UHW_IN and
 * UVERBS_ATTR_UHW_OUT; mlx5's own methods have numbers from 0x1000.
 *
 * An mmap offset on the verbs file is a page number: command:8 at bit 8, index:8 at bit 0, more of
 * the index at bit 16. UAR objects get theirs from the kernel, from command 9 on.
 *
 * Source: [uapi mlx5-abi.h, mlx5_user_ioctl_cmds.h, mlx5_user_ioctl_verbs.h]; offsets: [rdma-core
 * mlx5], [linux mlx5_ib].
 */
#ifndef ABI_MLX5_UAPI_H
#define ABI_MLX5_UAPI_H

#include "base/be.h"

#include <stddef.h>

#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

enum {
	UV_MLX5_PAGE_BYTES_LOG2 = 12,
	UV_MLX5_MMAP_CMD_SHIFT = 8,
	UV_MLX5_MMAP_CMD_MASK = 0xff,
	UV_MLX5_MMAP_INDEX_MASK = 0xff,
	UV_MLX5_MMAP_INDEX_HIGH_SHIFT = 16,
	UV_MLX5_MMAP_OBJECT_CMD_FIRST = 9, /* commands of the offsets that the kernel hands out */
	UV_MLX5_MMAP_OBJECT_CMD_LAST = 255,
};

/* uv_mlx5_mmap_offset - the mmap offset of `cmd` (enum mlx5_ib_mmap_cmd or above) and index. */
static inline uint64_t uv_mlx5_mmap_offset(unsigned int cmd, uint32_t index)
{
	uint64_t page = (uint64_t)(index >> 8) << UV_MLX5_MMAP_INDEX_HIGH_SHIFT |
			(uint64_t)cmd << UV_MLX5_MMAP_CMD_SHIFT |
			(index & UV_MLX5_MMAP_INDEX_MASK);

	return page << UV_MLX5_PAGE_BYTES_LOG2;
}

/* uv_mlx5_mmap_cmd, uv_mlx5_mmap_index - the parts of an offset. */
static inline unsigned int uv_mlx5_mmap_cmd(uint64_t offset)
{
	return offset >> UV_MLX5_PAGE_BYTES_LOG2 >> UV_MLX5_MMAP_CMD_SHIFT & UV_MLX5_MMAP_CMD_MASK;
}

static inline uint64_t uv_mlx5_mmap_index(uint64_t offset)
{
	uint64_t page = offset >> UV_MLX5_PAGE_BYTES_LOG2;

	return page >> UV_MLX5_MMAP_INDEX_HIGH_SHIFT << 8 | (page & UV_MLX5_MMAP_INDEX_MASK);
}

/* What the headers of Linux 6.1 do not have yet [rdma-core v64.0, its kernel-headers]; in the
 * comments, the release of rdma-core that first asks for it. */
enum {
	UV_MLX5_ATTR_CREATE_CQ_UAR_INDEX = 0x1002, /* 53 */
	UV_MLX5_METHOD_DATA_DIRECT_PATH = 0x1001,  /* of UVERBS_OBJECT_DEVICE; 54 */
	UV_MLX5_ATTR_DATA_DIRECT_PATH = 0x1000,
	UV_MLX5_ATTR_REG_DMABUF_MR_ACCESS_FLAGS = 0x1000, /* 54 */
};

_Static_assert(sizeof(struct mlx5_ib_alloc_ucontext_req_v2) == 32, "GET_CONTEXT");
_Static_assert(sizeof(struct mlx5_ib_alloc_ucontext_resp) == 72, "GET_CONTEXT answer");
_Static_assert(sizeof(struct mlx5_ib_alloc_pd_resp) == 4, "ALLOC_PD answer");
_Static_assert(sizeof(struct mlx5_ib_create_cq) == 32, "CQ create");
_Static_assert(sizeof(struct mlx5_ib_create_cq_resp) == 8, "CQ create answer");
_Static_assert(sizeof(struct mlx5_ib_create_srq) == 32, "SRQ create");
_Static_assert(sizeof(struct mlx5_ib_create_srq_resp) == 8, "SRQ create answer");
_Static_assert(sizeof(struct mlx5_ib_create_qp) == 56, "QP create");
_Static_assert(sizeof(struct mlx5_ib_create_qp_resp) >= 32, "QP create answer");
_Static_assert(sizeof(struct mlx5_ib_modify_qp) == 16, "QP modify");
_Static_assert(sizeof(struct mlx5_ib_query_device_resp) == 104, "QUERY_DEVICE answer");
_Static_assert(sizeof(struct mlx5_ib_resize_cq) == 16, "RESIZE_CQ");

#endif
