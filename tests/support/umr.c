/* SPDX-License-Identifier: BSD-2-Clause */
/* umr.c - see umr.h. Layouts and flags: [rdma-core mlx5 qp.c]. */
#include "tests/support/umr.h"

#include <string.h>

enum {
	CONTEXT_OFF = sizeof(struct wqe_umr_ctrl_seg),
	PIECES_OFF = CONTEXT_OFF + sizeof(struct wqe_mkey_seg),
};

#define ACCESS_MASK                                                            \
	(UMR_MASK_LOCAL_WRITE | UMR_MASK_REMOTE_READ | UMR_MASK_REMOTE_WRITE | \
	 UMR_MASK_REMOTE_ATOMIC)

static uint32_t put_pieces(const struct umr_wr *wr, uint8_t *at)
{
	uint32_t units = 0;
	uint32_t round = 0;

	if (wr->repeat != 0) {
		struct wqe_strided_seg block = {
		    .op = be32_from(UMR_STRIDED),
		    .repeat = be32_from(wr->repeat),
		    .entry_count = be16_from((uint16_t)wr->piece_count),
		};

		for (uint32_t i = 0; i < wr->piece_count; i++)
			round += wr->pieces[i].len;
		block.byte_count = be32_from(round);
		memcpy(at, &block, sizeof(block));
		units++;
	}
	for (uint32_t i = 0; i < wr->piece_count; i++, units++) {
		const struct fake_piece *p = &wr->pieces[i];
		struct wqe_klm_seg klm = {be32_from(p->len), be32_from(p->key), be64_from(p->va)};
		struct wqe_strided_entry entry = {be16_from(wr->strides[i]),
						  be16_from((uint16_t)p->len), be32_from(p->key),
						  be64_from(p->va)};

		memcpy(at + units * WQE_UNIT_BYTES,
		       wr->repeat ? (const void *)&entry : (const void *)&klm, WQE_UNIT_BYTES);
	}
	return (units + 3) & ~3u;
}

uint16_t umr_post(struct fake_qp *qp, const struct umr_wr *wr)
{
	uint8_t bytes[PIECES_OFF + 20 * WQE_UNIT_BYTES] = {0};
	uint8_t pieces[16 * WQE_UNIT_BYTES] = {0};
	uint32_t units = put_pieces(wr, pieces);
	struct wqe_umr_ctrl_seg ctrl = {.flags = wr->flags,
					.klm_octowords = be16_from((uint16_t)units),
					.mask = be64_from(wr->mask)};
	struct wqe_mkey_seg context = {.free = wr->free,
				       .access = wr->access,
				       .qpn_tag = be32_from(wr->qpn << 8 | wr->tag),
				       .flags_pd = be32_from(wr->flags_pd),
				       .start = be64_from(wr->start),
				       .len = be64_from(wr->len)};
	uint32_t used = PIECES_OFF + units * WQE_UNIT_BYTES;

	memcpy(bytes, &ctrl, sizeof(ctrl));
	memcpy(bytes + CONTEXT_OFF, &context, sizeof(context));
	memcpy(bytes + PIECES_OFF, pieces, units * WQE_UNIT_BYTES);
	if (wr->bsf) {
		ctrl.offset_or_bsf = be16_from(sizeof(*wr->bsf) / WQE_UNIT_BYTES);
		memcpy(bytes, &ctrl, sizeof(ctrl));
		memcpy(bytes + used, wr->bsf, sizeof(*wr->bsf));
		used += sizeof(*wr->bsf);
	}
	if (wr->list_va) {
		struct wqe_data_seg data = {be32_from(units * WQE_UNIT_BYTES),
					    be32_from(wr->list_key), be64_from(wr->list_va)};

		memcpy(fake_mem(qp->world, wr->list_va), pieces, units * WQE_UNIT_BYTES);
		memcpy(bytes + PIECES_OFF, &data, sizeof(data));
		used = PIECES_OFF + sizeof(data);
	}
	return fake_post_raw(qp, WQE_OP_UMR, wr->key, bytes, used);
}

uint16_t umr_do(struct fake_qp *qp, const struct umr_wr *wr)
{
	uint16_t index = umr_post(qp, wr);

	fake_ring(qp);
	fake_settle(qp->world);
	return index;
}

struct umr_wr umr_bind(const struct fake_qp *qp, uint32_t old_key, uint32_t new_key, bool type_2,
		       struct fake_piece where, uint8_t access)
{
	struct umr_wr wr = {.key = old_key,
			    .flags = UMR_INLINE_F | UMR_OFFSET_F,
			    .mask = UMR_MASK_FREE | UMR_MASK_TAG | UMR_MASK_LEN | UMR_MASK_START |
				    ACCESS_MASK,
			    .access = access,
			    .qpn = UMR_QPN_ANY,
			    .tag = (uint8_t)new_key,
			    .start = where.va,
			    .len = where.len,
			    .pieces = {where},
			    .piece_count = 1};

	if (type_2) {
		wr.flags |= UMR_CHECK_FREE_F;
		wr.mask |= UMR_MASK_QPN;
		wr.qpn = qp->qpn;
	}
	return wr;
}

struct umr_wr umr_local_inv(uint32_t key)
{
	return (struct umr_wr){.key = key,
			       .flags = UMR_INLINE_F | UMR_OFFSET_F | UMR_CHECK_QPN_F,
			       .mask = UMR_MASK_FREE | UMR_MASK_TAG | UMR_MASK_QPN,
			       .free = UMR_MKEY_FREE_F,
			       .qpn = UMR_QPN_ANY};
}

struct umr_wr umr_list(uint32_t key, uint8_t access, const struct fake_piece *pieces,
		       uint32_t count)
{
	struct umr_wr wr = {.key = key,
			    .flags = UMR_INLINE_F,
			    .mask = UMR_MASK_FREE | UMR_MASK_TAG | UMR_MASK_LEN | ACCESS_MASK,
			    .access = access,
			    .qpn = UMR_QPN_ANY,
			    .tag = (uint8_t)key,
			    .piece_count = count};

	for (uint32_t i = 0; i < count; i++) {
		wr.pieces[i] = pieces[i];
		wr.len += pieces[i].len;
	}
	return wr;
}
