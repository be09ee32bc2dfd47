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

/* Signature attributes of a key: what stands behind each block of data, in memory and on the wire
 * [rdma-core mlx5 wqe.h]. */
struct wqe_bsf_inline { /* T10-DIF of one side */
	struct be16 valid_refresh; /* BSF_INLINE_VALID_F */
	struct be16 app_tag;
	struct be32 ref_tag;
	uint8_t type; /* BSF_T10_CRC or BSF_T10_CSUM */
	uint8_t repeat_seed; /* BSF_SEED_F: the guard starts with ones */
	uint8_t reserved[3];
	uint8_t flags; /* BSF_INC_REF_F, BSF_*_ESCAPE */
	struct be16 app_mask;
};

struct wqe_bsf_seg {
	uint8_t size_sbs; /* BSF_SAME_F */
	uint8_t check_mask; /* bit: a byte of the signature that must be right */
	uint8_t wire; /* BSF_SAME_F: bit: a byte that is copied; else the block's size */
	uint8_t mem; /* the block's size, 1 to 6 */
	struct be32 raw_data_size;
	struct be32 wire_psv; /* BSF_CRC* at bit 24 | where its seed is:24 */
	struct be32 mem_psv;
	struct be32 extended[4];
	struct wqe_bsf_inline wire_inline;
	struct wqe_bsf_inline mem_inline;
};

enum {
	BSF_SAME_F = 1 << 4, /* both sides have the same blocks and type */
	BSF_CRC_SHIFT = 24,
	BSF_CRC_MASK = 0xf0,
	BSF_CRC32 = 0x20,
	BSF_CRC32C = 0x40,
	BSF_CRC64_XP10 = 0x50,
	BSF_PSV_MASK = 0xffffff,
	BSF_INLINE_VALID_F = 1 << 15,
	BSF_T10_CRC = 1,
	BSF_T10_CSUM = 2,
	BSF_SEED_F = 1 << 3,
	BSF_INC_REF_F = 1 << 6,
	BSF_APP_ESCAPE_F = 1,
	BSF_APP_REF_ESCAPE_F = 2,
	BSF_BLOCK_SIZES = 7, /* of the field's values */
};

_Static_assert(sizeof(struct wqe_bsf_inline) == 16, "one unit");
_Static_assert(sizeof(struct wqe_bsf_seg) == 64, "signature attributes are four units");

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
