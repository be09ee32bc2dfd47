/* SPDX-License-Identifier: BSD-2-Clause */
/* driver.c - rings, records and completions as a program on libmlx5 uses them. */
#include "sim/driver.h"

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "base/assert.h"
#include "base/ring.h"

#include <string.h>

static void store_be32(struct sim_memory *memory, uint64_t va, uint32_t value)
{
	uint8_t *at = sim_memory_at(memory, va, sizeof(value));

	ASSERT(at);
	be32_store(at, value);
}

/* ---- completion queues ---- */

int sim_cq_create(struct sim_cq *cq, struct nic *nic, struct sim_memory *memory,
		  uint32_t cqe_count_log2, uint32_t cqe_size_bytes, bool overrun_ignored)
{
	size_t ring_bytes = (size_t)cqe_size_bytes << cqe_count_log2;
	struct nic_cq_attr attr = {
		.cqe_count_log2 = cqe_count_log2,
		.cqe_size_bytes = cqe_size_bytes,
		.overrun_ignored = overrun_ignored,
	};
	uint8_t *ring;

	attr.buf_va = sim_memory_take(memory, ring_bytes, 4096);
	attr.db_va = sim_memory_take(memory, DB_RECORD_BYTES, DB_RECORD_STRIDE_BYTES);
	*cq = (struct sim_cq){
		.memory = memory,
		.buf_va = attr.buf_va,
		.db_va = attr.db_va,
		.cqe_count_log2 = cqe_count_log2,
		.cqe_size_bytes = cqe_size_bytes,
	};
	ring = sim_memory_at(memory, attr.buf_va, ring_bytes);
	ASSERT(ring);
	for (size_t end = cqe_size_bytes; end <= ring_bytes; end += cqe_size_bytes)
		ring[end - 1] = CQE_OP_OWN_INIT;
	return nic_cq_create(nic, &attr, &cq->cqn);
}

static void take_apart(const uint8_t *bytes, struct sim_cqe *out)
{
	struct cqe64 cqe;
	struct cqe_err64 error;

	memcpy(&cqe, bytes, sizeof(cqe));
	memcpy(&error, bytes, sizeof(error));
	*out = (struct sim_cqe){
		.opcode = cqe_opcode_of(cqe.op_own),
		.solicited = (cqe.op_own & CQE_SOLICITED_F) != 0,
		.qpn = cqe_qpn(&cqe),
		.user_index = be32_to(cqe.srqn_uidx),
		.wqe_counter = be16_to(cqe.wqe_counter),
		.send_opcode = cqe_send_opcode(&cqe),
	};
	if (cqe_is_error(cqe.op_own)) {
		out->syndrome = error.syndrome;
		out->vendor_syndrome = error.vendor_syndrome;
		return;
	}
	out->peer_qpn = be32_to(cqe.flags_rqpn) & 0xffffff;
	out->imm = be32_to(cqe.imm_inval_pkey);
	out->len_bytes = be32_to(cqe.byte_cnt);
}

bool sim_cq_poll(struct sim_cq *cq, struct sim_cqe *cqe)
{
	uint32_t slot = ring_index(cq->consumer, cq->cqe_count_log2);
	uint64_t va = cq->buf_va + (uint64_t)slot * cq->cqe_size_bytes;
	const uint8_t *bytes;
	uint8_t op_own;

	va += cq->cqe_size_bytes - CQE_BYTES;
	bytes = sim_memory_at(cq->memory, va, CQE_BYTES);
	ASSERT(bytes);
	op_own = bytes[CQE_BYTES - 1];
	if (cqe_opcode_of(op_own) == CQE_INVALID ||
	    cqe_owner_of(op_own) != ring_lap(cq->consumer, cq->cqe_count_log2))
		return false;
	take_apart(bytes, cqe);
	cq->consumer++;
	return true;
}

void sim_cq_consume(struct sim_cq *cq)
{
	store_be32(cq->memory, cq->db_va, cq->consumer & DB_CQ_INDEX_MASK);
}

void sim_cq_arm(struct sim_cq *cq, bool solicited_only)
{
	uint32_t cmd = solicited_only ? DB_CQ_CMD_SOLICITED : DB_CQ_CMD_ANY;
	struct be32 word = db_cq_arm_word(cq->arm_sn, cmd, cq->consumer);

	cq->arm_sn++;
	store_be32(cq->memory, cq->db_va + 4, be32_to(word));
}

/* ---- queue pairs ---- */

int sim_qp_create(struct sim_qp *qp, struct nic *nic, struct sim_memory *memory,
		  struct nic_qp_attr *attr)
{
	size_t rq_bytes = (size_t)attr->rq_wqe_count << attr->rq_wqe_size_log2;
	size_t sq_bytes = (size_t)attr->sq_wqebb_count * WQE_BB_BYTES;

	attr->buf_va = sim_memory_take(memory, rq_bytes + sq_bytes, 4096);
	attr->db_va = sim_memory_take(memory, DB_RECORD_BYTES, DB_RECORD_STRIDE_BYTES);
	*qp = (struct sim_qp){
		.memory = memory,
		.rq_va = attr->buf_va,
		.sq_va = attr->buf_va + rq_bytes,
		.db_va = attr->db_va,
		.sq_wqebb_count = attr->sq_wqebb_count,
		.rq_wqe_count = attr->rq_wqe_count,
		.rq_wqe_size_log2 = attr->rq_wqe_size_log2,
	};
	return nic_qp_create(nic, attr, &qp->qpn);
}

void sim_qp_restart(struct sim_qp *qp)
{
	qp->sq_wqebb_posted = 0;
	qp->rq_posted = 0;
	qp->register_word = 0;
	store_be32(qp->memory, qp->db_va, 0);
	store_be32(qp->memory, qp->db_va + 4, 0);
}

static bool has_raddr(enum wqe_opcode opcode)
{
	return opcode == WQE_OP_WRITE || opcode == WQE_OP_WRITE_IMM || opcode == WQE_OP_READ ||
	       opcode == WQE_OP_ATOMIC_CS || opcode == WQE_OP_ATOMIC_FA;
}

static bool has_atomic(enum wqe_opcode opcode)
{
	return opcode == WQE_OP_ATOMIC_CS || opcode == WQE_OP_ATOMIC_FA;
}

/* Writes bytes at *offset of the send ring's byte stream, round its end, and moves *offset. */
static void put(struct sim_qp *qp, uint64_t *offset, const void *src, size_t len_bytes)
{
	uint64_t ring_bytes = (uint64_t)qp->sq_wqebb_count * WQE_BB_BYTES;
	const uint8_t *from = (const uint8_t *)src;
	uint8_t *ring = sim_memory_at(qp->memory, qp->sq_va, ring_bytes);

	ASSERT(ring);
	for (size_t i = 0; i < len_bytes; i++)
		ring[(*offset + i) % ring_bytes] = from[i];
	*offset += len_bytes;
}

static struct wqe_data_seg data_seg(const struct sim_piece *piece)
{
	return (struct wqe_data_seg){
		.byte_count = be32_from(piece->len_bytes),
		.lkey = be32_from(piece->lkey),
		.va = be64_from(piece->va),
	};
}

uint32_t sim_qp_units(const struct sim_wqe *wqe)
{
	uint32_t units = 1;

	units += wqe->to ? sizeof(*wqe->to) / WQE_UNIT_BYTES : 0;
	units += has_raddr(wqe->opcode) ? 1 : 0;
	units += has_atomic(wqe->opcode) ? 1 : 0;
	if (wqe->is_inline)
		return units + wqe_inline_units(wqe->inline_len_bytes);
	return units + wqe->piece_count;
}

static void put_payload(struct sim_qp *qp, uint64_t *offset, const struct sim_wqe *wqe)
{
	struct wqe_inline_seg inl = {be32_from(WQE_INLINE_F | wqe->inline_len_bytes)};

	if (wqe->is_inline) {
		put(qp, offset, &inl, sizeof(inl));
		put(qp, offset, wqe->inline_bytes, wqe->inline_len_bytes);
		return;
	}
	for (uint32_t i = 0; i < wqe->piece_count; i++) {
		struct wqe_data_seg seg = data_seg(&wqe->pieces[i]);

		put(qp, offset, &seg, sizeof(seg));
	}
}

uint16_t sim_qp_post(struct sim_qp *qp, const struct sim_wqe *wqe)
{
	uint16_t index = (uint16_t)qp->sq_wqebb_posted;
	uint64_t offset = (uint64_t)qp->sq_wqebb_posted * WQE_BB_BYTES;
	uint32_t units = sim_qp_units(wqe);
	struct wqe_ctrl_seg ctrl = {
		.opmod_idx_opcode = wqe_ctrl_op(0, index, wqe->opcode),
		.qpn_ds = wqe_ctrl_qpn_ds(qp->qpn, units),
		.fm_ce_se = (uint8_t)((wqe->signal ? WQE_CE_ALWAYS : 0) |
				      (wqe->fence ? WQE_FM_FENCE : 0) |
				      (wqe->solicited ? WQE_SOLICITED_F : 0)),
		.imm = be32_from(wqe->imm),
	};
	struct wqe_raddr_seg raddr = {be64_from(wqe->remote_va), be32_from(wqe->rkey), {0}};
	struct wqe_atomic_seg atomic = {be64_from(wqe->swap_add), be64_from(wqe->compare)};

	put(qp, &offset, &ctrl, sizeof(ctrl));
	if (wqe->to)
		put(qp, &offset, wqe->to, sizeof(*wqe->to));
	if (has_raddr(wqe->opcode))
		put(qp, &offset, &raddr, sizeof(raddr));
	if (has_atomic(wqe->opcode))
		put(qp, &offset, &atomic, sizeof(atomic));
	put_payload(qp, &offset, wqe);
	qp->sq_wqebb_posted += wqe_bb_count(units);
	memcpy(&qp->register_word, &ctrl, sizeof(qp->register_word));
	return index;
}

void sim_qp_store_record(struct sim_qp *qp)
{
	store_be32(qp->memory, qp->db_va + 4, qp->sq_wqebb_posted & 0xffff);
}

/* A list of pieces in the room_bytes at `at`, ended if it is shorter. */
static void put_receive(uint8_t *at, size_t room_bytes, const struct sim_piece *pieces,
			uint32_t piece_count)
{
	struct sim_piece end = {.lkey = WQE_LKEY_INVALID};

	ASSERT(at);
	ASSERT(piece_count * WQE_UNIT_BYTES <= room_bytes);
	for (uint32_t i = 0; i * WQE_UNIT_BYTES < room_bytes; i++) {
		struct wqe_data_seg seg = data_seg(i < piece_count ? &pieces[i] : &end);

		memcpy(at + (size_t)i * WQE_UNIT_BYTES, &seg, sizeof(seg));
	}
}

void sim_qp_receive(struct sim_qp *qp, const struct sim_piece *pieces, uint32_t piece_count)
{
	uint32_t slot = qp->rq_posted & (qp->rq_wqe_count - 1);
	uint64_t va = qp->rq_va + ((uint64_t)slot << qp->rq_wqe_size_log2);
	size_t wqe_bytes = (size_t)1 << qp->rq_wqe_size_log2;

	put_receive(sim_memory_at(qp->memory, va, wqe_bytes), wqe_bytes, pieces, piece_count);
	qp->rq_posted++;
	store_be32(qp->memory, qp->db_va, qp->rq_posted & 0xffff);
}

/* ---- shared receive queues ---- */

static uint8_t *srq_entry(struct sim_srq *srq, uint16_t index)
{
	return sim_memory_at(srq->memory, srq->buf_va + ((uint64_t)index << srq->wqe_size_log2),
			     (size_t)1 << srq->wqe_size_log2);
}

static struct be16 *srq_next(struct sim_srq *srq, uint16_t index)
{
	return &((struct wqe_srq_next_seg *)srq_entry(srq, index))->next_wqe_index;
}

int sim_srq_create(struct sim_srq *srq, struct nic *nic, struct sim_memory *memory,
		   struct nic_srq_attr *attr)
{
	attr->buf_va =
		sim_memory_take(memory, (size_t)attr->wqe_count << attr->wqe_size_log2, 4096);
	attr->db_va = sim_memory_take(memory, DB_RECORD_BYTES, DB_RECORD_STRIDE_BYTES);
	*srq = (struct sim_srq){
		.memory = memory,
		.buf_va = attr->buf_va,
		.db_va = attr->db_va,
		.wqe_count = attr->wqe_count,
		.wqe_size_log2 = attr->wqe_size_log2,
		.tail = (uint16_t)(attr->wqe_count - 1),
	};
	for (uint16_t i = 0; i < srq->wqe_count; i++)
		*srq_next(srq, i) = be16_from((uint16_t)((i + 1u) % srq->wqe_count));
	return nic_srq_create(nic, attr, &srq->srqn);
}

int sim_srq_receive(struct sim_srq *srq, const struct sim_piece *piece)
{
	uint16_t index = srq->head;
	size_t room_bytes = ((size_t)1 << srq->wqe_size_log2) - sizeof(struct wqe_srq_next_seg);

	if (index == srq->tail)
		return -1;
	put_receive(srq_entry(srq, index) + sizeof(struct wqe_srq_next_seg), room_bytes, piece, 1);
	srq->head = be16_to(*srq_next(srq, index));
	srq->posted++;
	store_be32(srq->memory, srq->db_va, srq->posted & 0xffff);
	return index;
}

void sim_srq_free(struct sim_srq *srq, uint16_t index)
{
	*srq_next(srq, srq->tail) = be16_from(index);
	srq->tail = index;
}
