/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * req.c - the requester: entries of the send ring become operations, operations become packets.
 *
 * op_cur is the operation being sent and psn_send the next packet in it. Going back after a loss is
 * nothing more than moving both to the oldest operation: the packets are then made again, from the
 * entry as it stands in the ring. A packet is a function of (operation, PSN), so a retransmission
 * may start in the middle of a message; a READ that starts there asks for what is missing.
 */
#include "nic/nic_trace.h"

enum { PACED_ACK_EVERY = 4 };

/* Bytes of op before the packet with this PSN. */
static uint32_t offset_of(const struct nic_qp *qp, const struct nic_op *op, uint32_t psn)
{
	return ((psn - op->psn) & PSN_MASK) << qp->mtu_log2;
}

/* ---- window ---------------------------------------------------------------------------------- */

static uint32_t under_way(const struct nic_qp *qp)
{
	return (qp->psn_send - qp->psn_una) & PSN_MASK;
}

/*
 * Whether what is under way leaves room on the path for the packet at psn_send. Part of a READ is
 * half a window, and waits until no more than that is under way: so two parts of it are at most.
 * With a single READ allowed, it waits for all before it. Not inline: most have no window.
 */
static __attribute__((noinline)) bool window_has_room(const struct nic *nic,
						      const struct nic_qp *qp)
{
	const struct nic_op *op;

	if (qp->paced && nic_flow_waits(nic, qp))
		return false;
	if (qp->probing)
		return under_way(qp) == 0;
	if (qp->op_cur == qp->op_head)
		return under_way(qp) < qp->window_psns;
	op = nic_op_at(nic, qp, qp->op_cur);
	if (op->opcode != WQE_OP_READ || op->psn_count <= 1)
		return under_way(qp) < qp->window_psns;
	if (qp->psn_send != op->psn && qp->params.rd_atomic == 1)
		return under_way(qp) == 0;
	return under_way(qp) <= qp->read_psns;
}

/* Likewise; most paths have no window. */
HOT bool window_open(const struct nic *nic, const struct nic_qp *qp)
{
	return qp->window_psns == 0 || window_has_room(nic, qp);
}

/* The same before a packet: if it must wait for its turn, the queue pair is told when that is. */
HOT bool may_go(struct nic *nic, struct nic_qp *qp)
{
	return qp->window_psns == 0 ||
	       (window_has_room(nic, qp) && (!qp->paced || nic_flow_gate(nic, qp)));
}

/* Whether the last packet that the window lets go shall be answered, or one every now and then:
 * more often where a flow lives by answers. */
static bool asks_now(const struct nic_qp *qp, uint32_t psn)
{
	return under_way(qp) + 1 >= qp->window_psns ||
	       (qp->paced && (qp->window_psns < 2 * PACED_ACK_EVERY ||
			      psn % PACED_ACK_EVERY == PACED_ACK_EVERY - 1));
}

/* Packets of the piece of a READ that starts at packet `index`. Pieces end at the same places
 * however often they are asked for: a responder remembers whole requests. */
static uint32_t read_piece(const struct nic_qp *qp, const struct nic_op *op, uint32_t index)
{
	uint32_t left = op->psn_count - index;
	uint32_t piece;

	if (qp->read_psns == 0)
		return left;
	piece = qp->read_psns - index % qp->read_psns;
	return piece < left ? piece : left;
}

/* ---- doorbell -------------------------------------------------------------------------------- */

bool nic_req_has_work(const struct nic *nic, const struct nic_qp *qp)
{
	if (qp->rnr_waiting || !window_open(nic, qp))
		return false;
	if (qp->op_cur != qp->op_head)
		return true;
	return qp->state == NIC_QP_RTS && qp->sq_next != qp->sq_pi && !qp->sq_halted &&
	       !qp->sq_stalled;
}

void nic_req_kick(struct nic *nic, struct nic_qp *qp)
{
	uint32_t word;

	if (qp->sq_count == 0)
		return;
	if (!nic_mem_load_be32(nic, qp->db_va + 4 * DB_SEND, &word) ||
	    (uint16_t)(word - qp->sq_next) > qp->sq_count) {
		/* The record is gone, or says that more is posted than the ring holds. */
		nic_qp_error(nic, qp);
		nic_qp_event(nic, qp, NIC_EVENT_QP_FATAL);
		return;
	}
	qp->sq_pi = (uint16_t)word;
	nic->qp_watch[qp->watch].sq_seen = qp->sq_pi;
	if (nic_req_has_work(nic, qp))
		nic_ready(nic, qp);
}

/* ---- starting an operation ------------------------------------------------------------------- */

uint32_t nic_req_psn_count(const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	uint64_t mtu_bytes = 1ull << qp->mtu_log2;

	if (nic_opcode_local(wqe->opcode))
		return 0;
	if (wqe->len_bytes <= mtu_bytes)
		return 1;
	return (uint32_t)((wqe->len_bytes + mtu_bytes - 1) >> qp->mtu_log2);
}

/* What is wrong with an entry that could be read, before anything of it is on the wire. */
static struct nic_fault check_entry(const struct nic *nic, const struct nic_qp *qp,
				    const struct nic_wqe *wqe)
{
	enum nic_mem verdict;

	if (nic_opcode_reads(wqe->opcode) && qp->params.rd_atomic == 0)
		return (struct nic_fault){CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE};
	verdict = nic_mem_check_list(nic, qp->pdn, wqe);
	return verdict == NIC_MEM_OK ? (struct nic_fault){0} : nic_mem_fault(verdict);
}

uint8_t nic_req_flags(const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	uint8_t flags = 0;

	if (qp->sq_signal_all || (wqe->fm_ce_se & WQE_CE_ALWAYS))
		flags |= NIC_OP_SIGNAL_F;
	if (wqe->fm_ce_se & WQE_SOLICITED_F)
		flags |= NIC_OP_SOLICITED_F;
	return flags;
}

/* READs and atomics at once. A READ in pieces has two of its own under way at the peer. */
static uint32_t rd_limit(const struct nic_qp *qp)
{
	uint32_t limit = qp->params.rd_atomic;

	return qp->read_psns != 0 && limit > 1 ? limit - 1 : limit;
}

/* Whether the entry has to wait until an earlier operation completes. */
static bool must_wait(const struct nic_qp *qp, const struct nic_wqe *wqe, const struct nic_op *op)
{
	bool fence = wqe->fm_ce_se & WQE_FM_MASK;

	if (fence && qp->rd_used != 0)
		return true;
	if (nic_op_reads(op) && qp->rd_used >= rd_limit(qp))
		return true;
	return ((qp->psn_next - qp->psn_una) & PSN_MASK) + op->psn_count > NIC_PSN_WINDOW;
}

static void record(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	*nic_op_at(nic, qp, qp->op_head) = *op;
	qp->op_head++;
	qp->sq_next = (uint16_t)(qp->sq_next + op->wqebb_count);
	qp->psn_next = psn_add(qp->psn_next, (int32_t)op->psn_count);
	if (nic_op_reads(op) && op->psn_count != 0)
		qp->rd_used++;
}

/* Whether an entry that sends nothing has to wait. */
static bool local_waits(const struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	return wqe->opcode == WQE_OP_UMR && qp->op_tail != qp->op_head &&
	       nic_umr_waits(nic, qp, wqe);
}

/* Such an entry is done now, or begun. */
static void run_local(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe,
		      struct nic_op *op)
{
	if (wqe->opcode == WQE_OP_UMR) {
		op->fault = nic_umr_run(nic, qp, wqe);
	} else if (wqe->opcode == WQE_OP_SET_PSV) {
		op->fault = nic_psv_set(nic, qp, wqe);
	} else if (wqe->opcode == WQE_OP_MMO) {
		op->fault = nic_mmo_start(nic, qp, wqe);
		op->flags |= NIC_OP_BUSY_F;
	}
	if (op->fault.syndrome != 0) {
		op->flags = NIC_OP_FAILED_F;
		qp->sq_halted = true;
	}
}

/* What DC has to say of an entry before it starts; false: it waits. An entry of a stream that has
 * failed is neither good nor bad. */
static COLD bool start_dc(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe,
			  struct nic_fault *fault, bool *flushed)
{
	bool good = fault->syndrome == 0;

	if (nic_dci_waits(qp, wqe, good))
		return false;
	*flushed = nic_dci_is_flushed(qp, wqe);
	nic_dci_start(nic, qp, wqe, good && !*flushed);
	if (*flushed)
		*fault = (struct nic_fault){0};
	return true;
}

/* The next entry, as the operation op_head, if it may start now. Its copy is in nic->tx_wqe. */
static bool start_operation(struct nic *nic, struct nic_qp *qp)
{
	struct nic_wqe *wqe = &nic->tx_wqe;
	struct nic_fault fault;
	struct nic_op op;
	bool flushed = false;

	if (qp->state != NIC_QP_RTS || qp->sq_next == qp->sq_pi || qp->sq_halted || qp->sq_stalled)
		return false;
	if (qp->op_head - qp->op_tail == NIC_OPS) {
		qp->sq_stalled = true;
		return false;
	}
	fault = nic_wqe_fetch_send(nic, qp, qp->sq_next, wqe);
	if (qp->type == NIC_QP_DCI && !start_dc(nic, qp, wqe, &fault, &flushed)) {
		qp->sq_stalled = true;
		return false;
	}
	if (fault.syndrome == 0 && !flushed)
		fault = check_entry(nic, qp, wqe);
	op = (struct nic_op){
	    .psn = qp->psn_next,
	    .len_bytes = (uint32_t)wqe->len_bytes,
	    .wqe_index = qp->sq_next,
	    .wqebb_count = wqe->wqebb_count,
	    .opcode = wqe->opcode,
	    .fault = fault,
	};
	if (fault.syndrome != 0) {
		op.flags = NIC_OP_FAILED_F;
		qp->sq_halted = true;
	} else if (flushed) {
		op.flags = NIC_OP_FLUSHED_F;
	} else {
		op.flags = nic_req_flags(qp, wqe);
		op.psn_count = nic_req_psn_count(qp, wqe);
		if (must_wait(qp, wqe, &op) || (op.psn_count == 0 && local_waits(nic, qp, wqe))) {
			qp->sq_stalled = true;
			return false;
		}
		if (op.psn_count == 0)
			run_local(nic, qp, wqe, &op);
		wqe->owner = nic_wqe_owner(qp, qp->op_head);
	}
	if (nic_tracing(nic))
		nic_trace_send(nic, qp, qp->sq_next, wqe, op.fault);
	record(nic, qp, &op);
	return true;
}

/* ---- packets --------------------------------------------------------------------------------- */

enum sent {
	SENT,    /* and psn_send has moved on */
	BLOCKED, /* no room */
	FAILED,  /* the operation now carries a fault */
};

/* An operation that cannot be sent (any further): it fails when its turn to complete comes. */
static enum sent fail_operation(struct nic *nic, struct nic_qp *qp, struct nic_op *op,
				struct nic_fault fault)
{
	op->flags |= NIC_OP_FAILED_F;
	op->fault = fault;
	qp->sq_halted = true;
	nic_comp_advance(nic, qp);
	return FAILED;
}

/* Its entry cannot be read any more, or is another one. */
static enum sent fail_changed(struct nic *nic, struct nic_qp *qp, struct nic_op *op)
{
	struct nic_fault fault = {CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE};

	nic_trace_fail(nic, qp, op, fault, TRACE_BY_CHANGED);
	return fail_operation(nic, qp, op, fault);
}

/* [IBTA1 table 38]: columns by place (enum roce_place). */
#define ROW(first, middle, last, only)                                               \
	{                                                                            \
		[ROCE_FIRST] = ROCE_OP_RC_##first, [ROCE_LAST] = ROCE_OP_RC_##last,  \
		[ROCE_MIDDLE] = ROCE_OP_RC_##middle, [ROCE_ONLY] = ROCE_OP_RC_##only \
	}
const uint8_t nic_req_opcodes[WQE_OP_SEND_IMM + 1][4] = {
    [WQE_OP_SEND] = ROW(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY),
    [WQE_OP_SEND_IMM] = ROW(SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM, SEND_ONLY_IMM),
    [WQE_OP_SEND_INVAL] = ROW(SEND_FIRST, SEND_MIDDLE, SEND_LAST_INV, SEND_ONLY_INV),
    [WQE_OP_WRITE] = ROW(WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY),
    [WQE_OP_WRITE_IMM] = ROW(WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_ONLY_IMM),
};

/* XRC: the SRQ that the request is for, right after the BTH. DC: whose it is and for whom. */
HOT void store_own_header(uint8_t *bth, const struct nic_qp *qp,
			  const struct roce_opcode_info *info, uint32_t srqn)
{
	if (!(info->headers & (ROCE_H_XRCETH | ROCE_H_DCETH)))
		return;
	if (info->headers & ROCE_H_XRCETH)
		be32_store(bth + ROCE_BTH_BYTES, srqn);
	else
		nic_dci_store(qp, bth + ROCE_BTH_BYTES);
}

void nic_req_store_reth(uint8_t *bth, const struct roce_opcode_info *info, uint64_t va,
			uint32_t rkey, uint32_t len_bytes)
{
	uint8_t *reth = bth + info->reth_off;

	be64_store(reth + ROCE_RETH_VA_OFF, va);
	be32_store(reth + ROCE_RETH_RKEY_OFF, rkey);
	be32_store(reth + ROCE_RETH_LEN_OFF, len_bytes);
}

/* From its BTH on, of the packet of op at psn_send. */
static uint32_t message_bytes(const struct nic_qp *qp, const struct nic_op *op)
{
	uint32_t left = op->len_bytes - offset_of(qp, op, qp->psn_send);

	return ROCE_BTH_BYTES + (left < 1u << qp->mtu_log2 ? left : 1u << qp->mtu_log2);
}

/* PSNs [psn_send, psn_send + count) go again; of a message: op. */
static COLD void sent_again(struct nic *nic, struct nic_qp *qp, uint32_t count,
			    const struct nic_op *op)
{
	if (qp->probing)
		qp->probe_psns = count;
	if (qp->told_lost && !qp->rtt_timed)
		nic_rtt_start(nic, qp, qp->psn_send);
	nic->counters.retransmits++;
	qp->counters.retransmits++;
	if (qp->networked)
		nic_flow_resent(nic, qp, qp->psn_send);
	if (qp->paced && op)
		nic_flow_sent(nic, qp, message_bytes(qp, op));
}

/* Likewise, for the first time, over a network. */
static COLD void sent_first(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	if (!qp->rtt_timed)
		nic_rtt_start(nic, qp, qp->psn_send);
	if (qp->paced && op)
		nic_flow_message(nic, qp, qp->psn_send, message_bytes(qp, op));
}

/* PSNs [psn_send, psn_send + count) are on their way; op: as above. */
HOT void sent(struct nic *nic, struct nic_qp *qp, uint32_t count, const struct nic_op *op)
{
	uint32_t before = (qp->psn_high - qp->psn_send) & PSN_MASK;

	if (before != 0)
		sent_again(nic, qp, count, op);
	else if (qp->window_psns != 0)
		sent_first(nic, qp, op);
	qp->psn_send = psn_add(qp->psn_send, (int32_t)count);
	if (before < count)
		qp->psn_high = qp->psn_send;
	if (qp->deadline_ns == NIC_TIME_NEVER && qp->timeout_ns != 0)
		nic_timer_start(nic, qp);
}

static enum sent send_message(struct nic *nic, struct nic_qp *qp, struct nic_op *op,
			      struct nic_wqe *wqe)
{
	uint32_t psn = qp->psn_send;
	uint32_t off = offset_of(qp, op, psn);
	uint32_t left = op->len_bytes - off;
	uint32_t n = left < 1u << qp->mtu_log2 ? left : 1u << qp->mtu_log2;
	enum roce_place place = nic_req_place(op, psn);
	uint8_t opcode = nic_req_opcodes[op->opcode][place] | qp->transport;
	const struct roce_opcode_info *info = &roce_opcodes[opcode];
	bool ack_req = (place & ROCE_LAST) || (psn & (NIC_ACK_EVERY - 1)) == NIC_ACK_EVERY - 1 ||
		       (qp->window_psns != 0 && asks_now(qp, psn)) || qp->probing;
	bool se = (op->flags & NIC_OP_SOLICITED_F) && (place & ROCE_LAST);
	enum nic_mem verdict;
	uint8_t *bth;

	bth = nic_tx_open(nic, qp, opcode, se ? ROCE_BTH_SE_F : 0, ack_req, psn, n);
	if (!bth)
		return BLOCKED;
	store_own_header(bth, qp, info, wqe->srqn);
	if (info->reth_off)
		nic_req_store_reth(bth, info, wqe->raddr, wqe->rkey, op->len_bytes);
	/* Either is the last header. */
	if (info->headers & (ROCE_H_IMM | ROCE_H_IETH))
		be32_store(bth + info->header_bytes - ROCE_IMM_BYTES, wqe->imm);
	verdict = nic_mem_gather(nic, qp->pdn, wqe, off, bth + info->header_bytes, n);
	if (verdict != NIC_MEM_OK) {
		nic_tx_drop(nic);
		nic_trace_gather(nic, qp, op, wqe, verdict);
		return fail_operation(nic, qp, op, nic_mem_fault(verdict));
	}
	nic_tx_close(nic, qp, bth, n);
	sent(nic, qp, 1, op);
	return SENT;
}

static enum sent send_read(struct nic *nic, struct nic_qp *qp, const struct nic_op *op,
			   const struct nic_wqe *wqe)
{
	uint8_t opcode = ROCE_OP_RC_READ_REQ | qp->transport;
	const struct roce_opcode_info *info = &roce_opcodes[opcode];
	uint32_t off = offset_of(qp, op, qp->psn_send);
	uint32_t left = op->len_bytes - off;
	uint64_t piece_bytes;
	uint32_t piece;
	uint8_t *bth = nic_tx_open(nic, qp, opcode, 0, true, qp->psn_send, 0);

	if (!bth)
		return BLOCKED;
	piece = read_piece(qp, op, off >> qp->mtu_log2);
	piece_bytes = (uint64_t)piece << qp->mtu_log2;
	store_own_header(bth, qp, info, wqe->srqn);
	nic_req_store_reth(bth, info, wqe->raddr + off, wqe->rkey,
			   left < piece_bytes ? left : (uint32_t)piece_bytes);
	nic_tx_close(nic, qp, bth, 0);
	sent(nic, qp, piece, NULL);
	return SENT;
}

static uint8_t atomic_opcode(const struct nic_atomic *atomic)
{
	bool is_small = atomic->len_bytes == sizeof(uint32_t);

	switch (atomic->opcode) {
	case WQE_OP_ATOMIC_CS:
		return ROCE_OP_RC_CMP_SWAP;
	case WQE_OP_ATOMIC_FA:
		return ROCE_OP_RC_FETCH_ADD;
	case WQE_OP_ATOMIC_MASKED_CS:
		return is_small ? ROCE_OP_RC_MASKED_CS_4 : ROCE_OP_RC_MASKED_CS_8;
	case WQE_OP_ATOMIC_MASKED_FA:
		return is_small ? ROCE_OP_RC_MASKED_FA_4 : ROCE_OP_RC_MASKED_FA_8;
	}
	UNREACHABLE();
}

static enum sent send_atomic(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe)
{
	const struct nic_atomic *atomic = &wqe->atomic;
	uint8_t opcode = atomic_opcode(atomic) | qp->transport;
	const struct roce_opcode_info *info = &roce_opcodes[opcode];
	uint32_t masks = info->payload == ROCE_PAYLOAD_MASKS ? ROCE_MASKS_BYTES : 0;
	uint8_t *bth = nic_tx_open(nic, qp, opcode, 0, true, qp->psn_send, masks);
	uint8_t *eth;

	if (!bth)
		return BLOCKED;
	store_own_header(bth, qp, info, wqe->srqn);
	eth = bth + info->atomic_off;
	be64_store(eth + ROCE_ATOMIC_VA_OFF, wqe->raddr);
	be32_store(eth + ROCE_ATOMIC_RKEY_OFF, wqe->rkey);
	be64_store(eth + ROCE_ATOMIC_SWAP_ADD_OFF, atomic->swap_add);
	be64_store(eth + ROCE_ATOMIC_COMPARE_OFF,
		   atomic->opcode == WQE_OP_ATOMIC_FA ? 0 : atomic->compare);
	if (masks != 0) {
		be64_store(bth + info->header_bytes, atomic->swap_mask);
		be64_store(bth + info->header_bytes + 8, atomic->compare_mask);
	}
	nic_tx_close(nic, qp, bth, masks);
	sent(nic, qp, 1, NULL);
	return SENT;
}

/* The packet of op_cur at psn_send. */
static enum sent send_packet(struct nic *nic, struct nic_qp *qp, struct nic_op *op)
{
	struct nic_wqe *wqe = nic_wqe_again(nic, qp, op, qp->op_cur, &nic->tx_wqe);

	if (!wqe)
		return fail_changed(nic, qp, op);
	switch (op->opcode) {
	case WQE_OP_SEND:
	case WQE_OP_SEND_IMM:
	case WQE_OP_SEND_INVAL:
	case WQE_OP_WRITE:
	case WQE_OP_WRITE_IMM:
		return send_message(nic, qp, op, wqe);
	case WQE_OP_READ:
		return send_read(nic, qp, op, wqe);
	case WQE_OP_ATOMIC_CS:
	case WQE_OP_ATOMIC_FA:
	case WQE_OP_ATOMIC_MASKED_CS:
	case WQE_OP_ATOMIC_MASKED_FA:
		return send_atomic(nic, qp, wqe);
	}
	UNREACHABLE();
}

static bool fully_sent(const struct nic_qp *qp, const struct nic_op *op)
{
	return ((qp->psn_send - op->psn) & PSN_MASK) >= op->psn_count;
}

/* ---- a turn ---------------------------------------------------------------------------------- */

void nic_req_go_back(struct nic *nic, struct nic_qp *qp)
{
	qp->op_cur = qp->op_tail;
	qp->psn_send = qp->psn_una;
	qp->went_back = true;
	qp->told_lost = false;
	qp->rtt_timed = false; /* an answer may be to either copy */
	if (nic_req_has_work(nic, qp))
		nic_ready(nic, qp);
}

enum next {
	NEXT_NONE,  /* nothing to do now */
	NEXT_SEND,  /* op_cur has a packet to send */
	NEXT_AGAIN, /* look again: op_cur has moved on */
};

/* An MMO: another part of it, then what is behind it. */
static enum next go_on_copying(struct nic *nic, struct nic_qp *qp)
{
	struct nic_op *op = nic_op_at(nic, qp, qp->op_cur);
	const struct nic_wqe *wqe = nic_wqe_again(nic, qp, op, qp->op_cur, &nic->tx_wqe);
	struct nic_fault fault = {CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE};
	bool done = true;

	if (wqe)
		fault = nic_mmo_run(nic, qp, wqe, &done);
	if (!done && fault.syndrome == 0)
		return NEXT_AGAIN;
	op->flags &= (uint8_t)~NIC_OP_BUSY_F;
	if (fault.syndrome == 0)
		return NEXT_AGAIN;
	fail_operation(nic, qp, op, fault);
	return qp->state == NIC_QP_ERR ? NEXT_NONE : NEXT_AGAIN;
}

/* Past op_cur, which has nothing (more) to send. A failed one is never sent, nor is any after it.
 */
static enum next skip_operation(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	bool failed = op->flags & NIC_OP_FAILED_F;

	if (op->flags & NIC_OP_BUSY_F)
		return go_on_copying(nic, qp);
	qp->op_cur = failed ? qp->op_head : qp->op_cur + 1;
	if (!failed && op->psn_count != 0)
		return NEXT_AGAIN;
	/* It may complete at once. A ring full of such entries uses up a budget, too. */
	nic->left_bytes -= CQE_BYTES;
	nic_comp_advance(nic, qp);
	return qp->state == NIC_QP_ERR ? NEXT_NONE : NEXT_AGAIN;
}

static enum next next_operation(struct nic *nic, struct nic_qp *qp)
{
	const struct nic_op *op;

	if (qp->rnr_waiting || (qp->op_cur == qp->op_head && !start_operation(nic, qp)))
		return NEXT_NONE;
	op = nic_op_at(nic, qp, qp->op_cur);
	if (!(op->flags & NIC_OP_FAILED_F) && !fully_sent(qp, op))
		return may_go(nic, qp) ? NEXT_SEND : NEXT_NONE;
	return skip_operation(nic, qp, op);
}

enum nic_turn nic_req_run(struct nic *nic, struct nic_qp *qp)
{
	if (qp->state != NIC_QP_RTS && qp->state != NIC_QP_SQD)
		return NIC_TURN_DONE;
	for (int i = 0; i < NIC_VISIT_PACKETS;) {
		enum next next = next_operation(nic, qp);
		struct nic_op *op;

		if (next == NEXT_NONE)
			return NIC_TURN_DONE;
		if (nic->left_packets == 0 || nic->left_bytes <= 0)
			return NIC_TURN_AGAIN;
		if (next == NEXT_AGAIN)
			continue;
		op = nic_op_at(nic, qp, qp->op_cur);
		switch (send_packet(nic, qp, op)) {
		case SENT:
			qp->op_cur += fully_sent(qp, op);
			i++;
			break;
		case BLOCKED:
			return NIC_TURN_BLOCKED;
		case FAILED:
			return NIC_TURN_AGAIN;
		}
	}
	return nic_req_has_work(nic, qp) ? NIC_TURN_AGAIN : NIC_TURN_DONE;
}
