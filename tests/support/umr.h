/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * umr.h - entries that change memory keys, as libmlx5 writes them: binding a window, giving a key
 * its pieces, invalidating.
 */
#ifndef TESTS_SUPPORT_UMR_H
#define TESTS_SUPPORT_UMR_H

#include "abi/mlx5_umr.h"
#include "tests/support/fake_nic.h"

enum { UMR_PIECES_MAX = 8 };

struct umr_wr {
	uint32_t key; /* as it is now: the entry's imm */
	uint8_t flags;
	uint64_t mask;
	uint8_t free;
	uint8_t access; /* UMR_ACCESS_*_F */
	uint32_t qpn;
	uint8_t tag;
	uint64_t start;
	uint64_t len;
	struct fake_piece pieces[UMR_PIECES_MAX];
	uint32_t piece_count; /* padded to a multiple of 4 with empty ones */
	uint32_t repeat;      /* not 0: the pieces are strided, and so much apart */
	uint16_t strides[UMR_PIECES_MAX];
	uint64_t list_va; /* not 0: the pieces lie there, in a region with list_key */
	uint32_t list_key;
	uint32_t flags_pd;             /* UMR_PD_*_F */
	const struct wqe_bsf_seg *bsf; /* signature attributes behind the pieces, or NULL */
};

/* Writes it to the send ring; returns its index. */
uint16_t umr_post(struct fake_qp *qp, const struct umr_wr *wr);
/* The same, rings, and lets everything settle. */
uint16_t umr_do(struct fake_qp *qp, const struct umr_wr *wr);

/* What libmlx5 posts for ibv_bind_mw and IBV_WR_BIND_MW, length not 0. new_key is what the window's
 * key will be. */
struct umr_wr umr_bind(const struct fake_qp *qp, uint32_t old_key, uint32_t new_key, bool type_2,
		       struct fake_piece where, uint8_t access);
/* IBV_WR_LOCAL_INV. */
struct umr_wr umr_local_inv(uint32_t key);
/* mlx5dv_wr_mr_list. */
struct umr_wr umr_list(uint32_t key, uint8_t access, const struct fake_piece *pieces,
		       uint32_t count);

#endif
