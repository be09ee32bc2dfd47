/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5_umr.h - send queue entries that change memory keys (UMR), set signatures, or copy memory.
 *
 *   UMR      ctrl 16, its imm the key | umr_ctrl 48 | mkey context 64 |
 *            pieces, 16 each, padded to 64 | signature attributes 64
 *   SET_PSV  ctrl 16 | set_psv 16
 *   MMO      ctrl 16 | metadata 16 | source, destination: data 16 each
 *
 * Pieces are either KLMs, or one strided block and its entries; the strided block is told by its
 * second word, where a KLM has its key. Without UMR_INLINE_F one data segment stands in their place
 * and says where they lie.
 *
 * Source: [mlx5dv.h], [rdma-core mlx5]; layouts that mlx5dv.h has are checked by tests/abi.
 */
#ifndef ABI_MLX5_UMR_H
#define ABI_MLX5_UMR_H

#include "base/be.h"

#include <stddef.h>

/* umr_ctrl.flags */
enum {
	UMR_INLINE_F = 1 << 7,
	UMR_CHECK_FREE_F = 1 << 5, /* the key must be free */
	UMR_OFFSET_F = 1 << 4, /* offset_or_bsf is where in the key's list the pieces go */
	UMR_CHECK_QPN_F = 1 << 3, /* the key must be this queue pair's */
};

/* umr_ctrl.mask: the fields of the context that are taken over. */
#define UMR_MASK_LEN           (1ull << 0)
#define UMR_MASK_START         (1ull << 6)
#define UMR_MASK_SIG_ERR       (1ull << 9)
#define UMR_MASK_BSF           (1ull << 12)
#define UMR_MASK_TAG           (1ull << 13)
#define UMR_MASK_QPN           (1ull << 14)
#define UMR_MASK_LOCAL_READ    (1ull << 17)
#define UMR_MASK_LOCAL_WRITE   (1ull << 18)
#define UMR_MASK_REMOTE_READ   (1ull << 19)
#define UMR_MASK_REMOTE_WRITE  (1ull << 20)
#define UMR_MASK_REMOTE_ATOMIC (1ull << 21)
#define UMR_MASK_FREE          (1ull << 29)

struct wqe_umr_ctrl_seg {
	uint8_t flags;
	uint8_t reserved0[3];
	struct be16 klm_octowords; /* 16-byte units of pieces */
	struct be16 offset_or_bsf; /* UMR_OFFSET_F: in units of 16 bytes; else units of signature */
	struct be64 mask;
	uint8_t reserved1[32];
};

enum {
	UMR_MKEY_FREE_F = 1 << 6, /* wqe_mkey_seg.free */
	UMR_ACCESS_LOCAL_READ_F = 1 << 2, /* wqe_mkey_seg.access */
	UMR_ACCESS_LOCAL_WRITE_F = 1 << 3,
	UMR_ACCESS_REMOTE_READ_F = 1 << 4,
	UMR_ACCESS_REMOTE_WRITE_F = 1 << 5,
	UMR_ACCESS_REMOTE_ATOMIC_F = 1 << 6,
	UMR_STRIDED = 0x400, /* wqe_strided_seg.op */
};
#define UMR_PD_BSF_F (1u << 30)           /* wqe_mkey_seg.flags_pd: the signature counts */
#define UMR_PD_SIG_ERR_F (1u << 26) /* likewise: lowest bit of the count of errors seen */
#define UMR_QPN_ANY 0xffffffu

struct wqe_mkey_seg {
	uint8_t free;
	uint8_t reserved1;
	uint8_t access;
	uint8_t sf;
	struct be32 qpn_tag; /* queue pair:24, UMR_QPN_ANY for any | the key's lowest bits:8 */
	struct be32 reserved2;
	struct be32 flags_pd;
	struct be64 start;
	struct be64 len;
	struct be32 bsf_octowords;
	struct be32 reserved3[4];
	struct be32 translation_octowords;
	uint8_t reserved4[3];
	uint8_t log_page_size;
	struct be32 reserved5;
};

struct wqe_klm_seg {
	struct be32 byte_count;
	struct be32 key;
	struct be64 va;
};

struct wqe_strided_seg {
	struct be32 byte_count; /* of one round */
	struct be32 op;
	struct be32 repeat; /* rounds */
	struct be16 reserved;
	struct be16 entry_count;
};

struct wqe_strided_entry {
	struct be16 stride; /* from one round's start to the next one's */
	struct be16 byte_count;
	struct be32 key;
	struct be64 va;
};

struct wqe_set_psv_seg {
	struct be32 psv;
	struct be16 syndrome;
	uint8_t reserved[2];
	struct be64 signature;
};

enum { WQE_OPMOD_MMO_DMA = 1 };

struct wqe_mmo_seg {
	struct be32 control;
	struct be32 lkey; /* of memory that the device may write to; a copy does not need it */
	struct be64 va;
};

_Static_assert(sizeof(struct wqe_umr_ctrl_seg) == 48, "umr_ctrl is three units");
_Static_assert(sizeof(struct wqe_mkey_seg) == 64, "mkey context is four units");
_Static_assert(sizeof(struct wqe_klm_seg) == 16, "a piece is one unit");
_Static_assert(sizeof(struct wqe_strided_seg) == 16, "a strided block is one unit");
_Static_assert(sizeof(struct wqe_strided_entry) == 16, "its entries likewise");
_Static_assert(sizeof(struct wqe_set_psv_seg) == 16, "set_psv is one unit");
_Static_assert(sizeof(struct wqe_mmo_seg) == 16, "metadata is one unit");

#endif
