/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wqe.c - entries of send and receive rings: copied once into private memory, then checked, then
 * used.
 *
 * Reserved bits, and the index and queue pair number that an entry repeats, are ignored, as
 * hardware does.
 */
#include "nic/nic_trace.h"

#include "abi/mlx5_umr.h"

#define FAULT_NONE   ((struct nic_fault){0})
#define FAULT_QP_OP  ((struct nic_fault){CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE})
#define FAULT_LENGTH ((struct nic_fault){CQE_SYND_LOCAL_LENGTH, CQE_VENDOR_NONE})

/* Blocks [index, index + count) of qp's send ring, which may wrap. */
static bool copy_blocks(struct nic *nic, const struct nic_qp *qp, uint16_t index, uint32_t count,
			uint8_t *dst)
{
	uint32_t slot = index & qp->sq_mask;
	uint32_t to_end = (uint32_t)qp->sq_mask + 1 - slot;
	uint32_t first = count < to_end ? count : to_end;

	if (!nic_mem_read(nic, dst, qp->sq_va + (uint64_t)slot * WQE_BB_BYTES,
			  first * WQE_BB_BYTES))
		return false;
	return count == first || nic_mem_read(nic, dst + first * WQE_BB_BYTES, qp->sq_va,
					      (count - first) * WQE_BB_BYTES);
}

static void add_piece(struct nic_wqe *wqe, uint64_t va, uint32_t len_bytes, uint32_t lkey)
{
	ASSERT(wqe->piece_count < NIC_PIECES_MAX);
	wqe->pieces[wqe->piece_count++] = (struct nic_piece){va, len_bytes, lkey};
	wqe->len_bytes += len_bytes;
}

/* [mlx5dv.h mlx5_wqe_data_seg]; a count of 0 is 2^31. */
static void add_data(struct nic_wqe *wqe, const uint8_t *seg, uint32_t count)
{
	add_piece(wqe, be64_load(seg + 8), count ? count : 1u << 31, be32_load(seg + 4));
}

/* The data and inline segments from byte `at` to byte `end` of raw. */
HOT bool decode_data(struct nic_wqe *wqe, uint32_t at, uint32_t end)
{
	uint32_t word_bytes = sizeof(struct wqe_inline_seg);

	while (at < end) {
		uint32_t word = be32_load(wqe->raw + at);
		uint32_t count = word & WQE_BYTE_COUNT_MASK;

		if (!(word & WQE_INLINE_F)) {
			add_data(wqe, wqe->raw + at, count);
			at += WQE_UNIT_BYTES;
			continue;
		}
		if (count > end - at - word_bytes)
			return false;
		wqe->inline_mask |= 1ull << wqe->piece_count;
		add_piece(wqe, at + word_bytes, count, 0);
		at += wqe_inline_units(count) * WQE_UNIT_BYTES;
	}
	return true;
}

static void decode_raddr(struct nic_wqe *wqe, uint32_t at)
{
	const uint8_t *seg = wqe->raw + at;

	wqe->raddr = be64_load(seg);
	wqe->rkey = be32_load(seg + 8);
}

/* [mlx5dv.h mlx5_wqe_atomic_seg], and with masks [ucx-mlx5]; head_bytes has looked at opmod. */
static void decode_atomic(struct nic_wqe *wqe, uint32_t at)
{
	const uint8_t *seg = wqe->raw + at + sizeof(struct wqe_raddr_seg);
	bool is_small = wqe->raw[0] == WQE_OPMOD_ATOMIC_32;
	struct nic_atomic *atomic = &wqe->atomic;

	*atomic = (struct nic_atomic){
	    .swap_add = be64_load(seg),
	    .compare = be64_load(seg + 8),
	    .opcode = wqe->opcode,
	    .len_bytes = sizeof(uint64_t),
	};
	if (wqe->opcode == WQE_OP_ATOMIC_CS || wqe->opcode == WQE_OP_ATOMIC_FA)
		return;
	if (is_small) {
		atomic->len_bytes = sizeof(uint32_t);
		atomic->swap_add = be32_load(seg);
		atomic->compare = be32_load(seg + 4);
		atomic->swap_mask = be32_load(seg + 8);
		atomic->compare_mask = be32_load(seg + 12);
	} else if (wqe->opcode == WQE_OP_ATOMIC_MASKED_CS) {
		atomic->swap_mask = be64_load(seg + 16);
		atomic->compare_mask = be64_load(seg + 24);
	}
	if (wqe->opcode == WQE_OP_ATOMIC_MASKED_FA) {
		atomic->swap_mask = atomic->compare; /* the boundary */
		atomic->compare = atomic->compare_mask = 0;
	}
}

/* The types whose entries say more of where they go than their queue pair does. */
#define ADDRESSED (1u << NIC_QP_UD | 1u << NIC_QP_DCI | 1u << NIC_QP_RAW | 1u << NIC_QP_XRC_INI)

/* What stands between ctrl and the segments of the opcode: the SRQ at an XRC target, or where a
 * datagram or a request of a DC initiator goes. */
static COLD uint32_t address_bytes(const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	if (qp->type == NIC_QP_UD || qp->type == NIC_QP_DCI)
		return nic_ud_address_bytes(wqe->raw + sizeof(struct wqe_ctrl_seg));
	if (qp->type == NIC_QP_RAW)
		return nic_raw_segment_bytes(wqe->raw + sizeof(struct wqe_ctrl_seg));
	return sizeof(struct wqe_xrc_seg);
}

/* The frame's first bytes, if they stand in the segment. */
static void decode_frame(struct nic_wqe *wqe, uint32_t at)
{
	uint32_t len =
	    be16_load(wqe->raw + at + offsetof(struct wqe_eth_seg, inline_hdr_bytes));

	if (len == 0)
		return;
	wqe->inline_mask |= 1;
	add_piece(wqe, at + offsetof(struct wqe_eth_seg, inline_hdr), len, 0);
}

/* false: it leads nowhere. */
static COLD bool decode_address(const struct nic *nic, const struct nic_qp *qp, struct nic_wqe *wqe)
{
	const uint8_t *seg = wqe->raw + sizeof(struct wqe_ctrl_seg);

	if (qp->type == NIC_QP_UD)
		return nic_ud_address(nic, wqe, seg);
	if (qp->type == NIC_QP_DCI)
		return nic_dci_address(nic, wqe, seg);
	if (qp->type == NIC_QP_RAW) {
		decode_frame(wqe, sizeof(struct wqe_ctrl_seg));
		return true;
	}
	wqe->srqn = be32_load(seg) & ROCE_QPN_MASK;
	return true;
}

/* Bytes of ctrl and the segments of the opcode; 0: one that we do not execute. */
static uint32_t head_bytes(const struct nic_wqe *wqe)
{
	uint32_t address = sizeof(struct wqe_ctrl_seg) + sizeof(struct wqe_raddr_seg);
	uint8_t opmod = wqe->raw[0];

	switch (wqe->opcode) {
	case WQE_OP_NOP:
	case WQE_OP_SEND:
	case WQE_OP_SEND_IMM:
	case WQE_OP_SEND_INVAL:
	case WQE_OP_UMR:
	case WQE_OP_SET_PSV:
		return sizeof(struct wqe_ctrl_seg);
	case WQE_OP_WRITE:
	case WQE_OP_WRITE_IMM:
	case WQE_OP_READ:
		return address;
	case WQE_OP_ATOMIC_CS:
	case WQE_OP_ATOMIC_FA:
		return address + sizeof(struct wqe_atomic_seg);
	case WQE_OP_ATOMIC_MASKED_CS:
	case WQE_OP_ATOMIC_MASKED_FA:
		if (opmod == WQE_OPMOD_ATOMIC_64 && wqe->opcode == WQE_OP_ATOMIC_MASKED_CS)
			return address + sizeof(struct wqe_masked_cs64_seg);
		if (opmod == WQE_OPMOD_ATOMIC_64 || opmod == WQE_OPMOD_ATOMIC_32)
			return address + sizeof(struct wqe_masked_fa64_seg);
		break;
	case WQE_OP_MMO:
		if (opmod == WQE_OPMOD_MMO_DMA)
			return sizeof(struct wqe_ctrl_seg) + sizeof(struct wqe_mmo_seg);
		break;
	}
	return 0;
}

static void start(struct nic_wqe *wqe)
{
	wqe->owner = 0;
	wqe->len_bytes = 0;
	wqe->inline_mask = 0;
	wqe->piece_count = 0;
	wqe->at_piece = 0;
	wqe->at_piece_off = 0;
	wqe->at_off = 0;
}

/* An entry that sends nothing. */
static COLD struct nic_fault decode_local(struct nic_wqe *wqe, uint32_t head, uint32_t bytes)
{
	wqe->raw_bytes = bytes;
	if (wqe->opcode != WQE_OP_MMO)
		return FAULT_NONE;
	if (head > bytes || !decode_data(wqe, head, bytes) || wqe->inline_mask)
		return FAULT_QP_OP;
	if (wqe->piece_count != 2 || wqe->pieces[0].len_bytes != wqe->pieces[1].len_bytes)
		return FAULT_QP_OP;
	wqe->len_bytes = wqe->pieces[0].len_bytes;
	return FAULT_NONE;
}

static struct nic_fault decode(const struct nic *nic, const struct nic_qp *qp, struct nic_wqe *wqe,
			       uint32_t bytes)
{
	uint32_t head = head_bytes(wqe);
	uint32_t address = ADDRESSED >> qp->type & 1 ? address_bytes(qp, wqe) : 0;
	uint32_t at = sizeof(struct wqe_ctrl_seg) + address;

	if (head == 0)
		return FAULT_QP_OP;
	if (nic_opcode_local(wqe->opcode))
		return decode_local(wqe, head, bytes);
	if (head + address > bytes)
		return FAULT_QP_OP;
	if (address != 0 && !decode_address(nic, qp, wqe))
		return FAULT_QP_OP;
	if (head > sizeof(struct wqe_ctrl_seg))
		decode_raddr(wqe, at);
	if (head > sizeof(struct wqe_ctrl_seg) + sizeof(struct wqe_raddr_seg))
		decode_atomic(wqe, at);
	if (!decode_data(wqe, head + address, bytes))
		return FAULT_QP_OP;
	if (wqe->len_bytes > 1ull << nic->config.message_max_bytes_log2)
		return FAULT_LENGTH;
	if (wqe->opcode == WQE_OP_READ && wqe->inline_mask)
		return FAULT_QP_OP;
	if (head > sizeof(struct wqe_ctrl_seg) + sizeof(struct wqe_raddr_seg) &&
	    (wqe->inline_mask || wqe->len_bytes != wqe->atomic.len_bytes))
		return FAULT_LENGTH;
	return FAULT_NONE;
}

struct nic_fault nic_wqe_fetch_send(struct nic *nic, const struct nic_qp *qp, uint16_t index,
				    struct nic_wqe *wqe)
{
	uint16_t posted = (uint16_t)(qp->sq_pi - index);
	uint32_t units;
	uint32_t count;

	ASSERT(posted != 0);
	start(wqe);
	wqe->opcode = WQE_OP_NOP;
	wqe->wqebb_count = posted;
	if (!copy_blocks(nic, qp, index, 1, wqe->raw)) {
		wqe->raw[7] = 0; /* nothing of it is there */
		return FAULT_QP_OP;
	}
	/* ctrl [mlx5dv.h mlx5_wqe_ctrl_seg] */
	wqe->opcode = wqe->raw[3];
	wqe->fm_ce_se = wqe->raw[11];
	wqe->imm = be32_load(wqe->raw + 12);
	units = wqe->raw[7] & WQE_DS_MAX;
	count = wqe_bb_count(units);
	if (units == 0 || count > posted)
		return FAULT_QP_OP;
	wqe->wqebb_count = (uint16_t)count;
	if (count > 1 &&
	    !copy_blocks(nic, qp, (uint16_t)(index + 1), count - 1, wqe->raw + WQE_BB_BYTES))
		return FAULT_QP_OP;
	return decode(nic, qp, wqe, units * WQE_UNIT_BYTES);
}

struct nic_wqe *nic_wqe_copy_again(struct nic *nic, const struct nic_qp *qp,
				   const struct nic_op *op, uint32_t n, struct nic_wqe *wqe)
{
	struct nic_fault fault = nic_wqe_fetch_send(nic, qp, op->wqe_index, wqe);

	if (fault.syndrome != 0 || wqe->opcode != op->opcode || wqe->len_bytes != op->len_bytes ||
	    wqe->wqebb_count != op->wqebb_count)
		return NULL;
	wqe->owner = nic_wqe_owner(qp, n);
	return wqe;
}

/* The pieces of a receive, from byte `at` of raw to byte `end`. */
HOT void decode_receive(struct nic_wqe *wqe, uint32_t at, uint32_t end)
{
	for (; at < end; at += WQE_UNIT_BYTES) {
		uint32_t count = be32_load(wqe->raw + at) & WQE_BYTE_COUNT_MASK;

		if (be32_load(wqe->raw + at + 4) == WQE_LKEY_INVALID)
			break;
		add_data(wqe, wqe->raw + at, count);
	}
}

/* The entry of an SRQ that qp holds; if it holds none, the one at the head is taken. */
static COLD bool fetch_shared(struct nic *nic, struct nic_qp *qp)
{
	struct nic_wqe *wqe = &nic->rx_wqe;
	struct nic_srq *srq = &nic->srqs[qp->srqn];
	uint16_t index = qp->rx_held ? qp->rx_index : srq->head;
	uint64_t owner = nic_wqe_owner(qp, index);

	if (qp->rx_held && wqe->owner == owner)
		return true;
	start(wqe);
	if (index >= srq->wqe_count ||
	    !nic_mem_read(nic, wqe->raw, srq->buf_va + ((uint64_t)index << srq->size_log2),
			  1u << srq->size_log2)) {
		nic_srq_fail(nic, srq);
		return false;
	}
	if (!qp->rx_held) {
		qp->rx_held = true;
		qp->rx_index = index;
		nic_srq_took(
		    nic, srq,
		    be16_load(wqe->raw + offsetof(struct wqe_srq_next_seg, next_wqe_index)));
	}
	decode_receive(wqe, sizeof(struct wqe_srq_next_seg), 1u << srq->size_log2);
	wqe->owner = owner;
	if (nic_tracing(nic))
		nic_trace_receive(nic, qp, index, sizeof(struct wqe_srq_next_seg),
				  1u << srq->size_log2);
	return true;
}

bool nic_wqe_fetch_receive(struct nic *nic, struct nic_qp *qp)
{
	struct nic_wqe *wqe = &nic->rx_wqe;
	uint32_t slot = qp->rq_ci & (qp->rq_count - 1);
	uint32_t size_bytes = 1u << qp->rq_size_log2;
	uint64_t owner = nic_wqe_owner(qp, qp->rq_ci);
	uint32_t at = qp->rq_signed ? sizeof(struct wqe_receive_sig_seg) : 0;

	if (qp->srqn != 0)
		return fetch_shared(nic, qp);
	if (wqe->owner == owner && qp->rx_kind != ROCE_KIND_UNKNOWN)
		return true;
	start(wqe);
	if (!nic_mem_read(nic, wqe->raw, qp->rq_va + ((uint64_t)slot << qp->rq_size_log2),
			  size_bytes))
		return false;
	decode_receive(wqe, at, size_bytes);
	wqe->owner = owner;
	if (nic_tracing(nic))
		nic_trace_receive(nic, qp, qp->rq_ci, at, size_bytes);
	return true;
}

static void forget(struct nic_wqe *wqe, const struct nic_qp *qp)
{
	if (wqe->owner >> 32 == qp->index + 1)
		wqe->owner = 0;
}

void nic_wqe_forget(struct nic *nic, const struct nic_qp *qp)
{
	forget(&nic->tx_wqe, qp);
	forget(&nic->resp_wqe, qp);
	forget(&nic->rx_wqe, qp);
}
