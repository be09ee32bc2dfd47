/* SPDX-License-Identifier: BSD-2-Clause */
/* fake_srq.c - see fake_srq.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/mlx5_db.h"
#include "base/be.h"
#include "tests/support/fake_srq.h"

static uint8_t *entry(struct fake_srq *srq, uint16_t index)
{
	return (uint8_t *)fake_mem(srq->world, srq->buf_va) + ((size_t)index << srq->size_log2);
}

void fake_srq_make(struct fake_world *w, uint32_t nic, uint32_t count, uint32_t xrcdn,
		   const struct fake_cq *cq, struct fake_srq *srq)
{
	struct nic_srq_attr attr;

	*srq = (struct fake_srq){.world = w, .nic = nic, .count = count, .size_log2 = 6};
	srq->buf_va = fake_alloc(w, (size_t)count << srq->size_log2);
	srq->db_va = fake_alloc(w, DB_RECORD_BYTES);
	for (uint16_t i = 0; i < count; i++)
		fake_srq_link(srq, i, (uint16_t)((i + 1) % count));
	attr = (struct nic_srq_attr){
	    .pdn = w->sides[nic].pdn,
	    .buf_va = srq->buf_va,
	    .db_va = srq->db_va,
	    .wqe_count = count,
	    .wqe_size_log2 = srq->size_log2,
	    .xrcdn = xrcdn,
	    .cqn = cq ? cq->cqn : 0,
	    .user_index = FAKE_SRQ_USER_INDEX,
	    .cookie = 0x5e1f,
	};
	assert_int_equal(nic_srq_create(w->nics[nic], &attr, &srq->srqn), 0);
}

void fake_srq_link(struct fake_srq *srq, uint16_t index, uint16_t next)
{
	be16_store(entry(srq, index) + offsetof(struct wqe_srq_next_seg, next_wqe_index), next);
}

void fake_srq_fill(struct fake_srq *srq, uint16_t index, const struct fake_piece *pieces,
		   uint32_t count)
{
	uint8_t *at = entry(srq, index) + sizeof(struct wqe_srq_next_seg);
	uint8_t *end = entry(srq, index) + (1u << srq->size_log2);

	for (uint32_t i = 0; i < count; i++, at += WQE_UNIT_BYTES) {
		assert_true(at < end);
		be32_store(at, pieces[i].len);
		be32_store(at + 4, pieces[i].key);
		be64_store(at + 8, pieces[i].va);
	}
	if (at < end) {
		be32_store(at, 0);
		be32_store(at + 4, WQE_LKEY_INVALID);
	}
}

void fake_srq_count(struct fake_srq *srq, uint16_t posted)
{
	be32_store((uint8_t *)fake_mem(srq->world, srq->db_va) + 4 * DB_SRQ, posted);
}

uint16_t fake_srq_post(struct fake_srq *srq, struct fake_piece piece)
{
	uint16_t index = srq->head;

	fake_srq_fill(srq, index, &piece, piece.len != 0);
	srq->head =
	    be16_load(entry(srq, index) + offsetof(struct wqe_srq_next_seg, next_wqe_index));
	fake_srq_count(srq, ++srq->posted);
	return index;
}

void fake_xrc_connect(struct fake_world *w, struct fake_xrc *xrc, const struct fake_opts *opts)
{
	struct fake_opts o = opts ? *opts : (struct fake_opts){0};

	assert_int_equal(nic_xrcd_create(w->nics[1], &xrc->xrcdn), 0);
	fake_cq_make(w, 1, 8, &xrc->cq);
	fake_srq_make(w, 1, 16, xrc->xrcdn, &xrc->cq, &xrc->srq);
	o.xrcdn = xrc->xrcdn;
	o.type = NIC_QP_XRC_INI;
	fake_qp_make(w, 0, &o, &xrc->pair.a);
	o.type = NIC_QP_XRC_TGT;
	fake_qp_make(w, 1, &o, &xrc->pair.b);
	fake_qp_ready(&xrc->pair.a, xrc->pair.b.qpn, false, &o);
	fake_qp_ready(&xrc->pair.b, xrc->pair.a.qpn, true, &o);
}
