/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unacked.c - the requester of UC, UD and raw packet queue pairs, whose packets nobody
 * acknowledges.
 *
 * One operation at a time: an entry of the send ring is copied, checked, and sent packet by packet;
 * with its last packet it is complete. Nothing is ever sent again, so psn_una, psn_send and
 * psn_high are one. All errors are local, and stop the send queue alone: state SQE [IBTA1 10.3.1].
 *
 * A wire that has no room is waited for, but not for ever: a stopped process must not stop its
 * peers. After the lifetime, as in a switch whose way out is blocked [IBTA1 HOQLife],
 * packets are lost until there is room again.
 */
#include "nic/nic_trace.h"

#define LIFETIME_NS 500000000u

/* ---- starting an operation ------------------------------------------------------------------- */

static bool opcode_ok(const struct nic_qp *qp, uint8_t opcode)
{
	switch (opcode) {
	case WQE_OP_NOP:
	case WQE_OP_SEND:
		return true;
	case WQE_OP_SEND_IMM:
		return qp->type != NIC_QP_RAW;
	case WQE_OP_WRITE:
	case WQE_OP_WRITE_IMM:
	case WQE_OP_UMR:
		return qp->type == NIC_QP_UC;
	}
	return false;
}

static struct nic_fault check_entry(const struct nic *nic, const struct nic_qp *qp,
				    const struct nic_wqe *wqe)
{
	enum nic_mem verdict;

	if (!opcode_ok(qp, wqe->opcode))
		return (struct nic_fault){CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE};
	/* A datagram is one packet. */
	if (qp->type == NIC_QP_UD && wqe->len_bytes > 1ull << qp->mtu_log2)
		return (struct nic_fault){CQE_SYND_LOCAL_LENGTH, CQE_VENDOR_NONE};
	if (qp->type == NIC_QP_RAW && wqe->opcode != WQE_OP_NOP &&
	    !nic_raw_length_ok(nic, wqe->len_bytes))
		return (struct nic_fault){CQE_SYND_LOCAL_LENGTH, CQE_VENDOR_NONE};
	verdict = nic_mem_check_list(nic, qp->pdn, wqe);
	return verdict == NIC_MEM_OK ? (struct nic_fault){0} : nic_mem_fault(verdict);
}

/* The oldest operation cannot be sent, or no further; nor can what is behind it. */
static void fail(struct nic *nic, struct nic_qp *qp, struct nic_fault fault)
{
	const struct nic_op *op = nic_op_at(nic, qp, qp->op_tail);

	qp->op_tail = qp->op_cur = qp->op_head;
	qp->psn_next = qp->psn_send;
	nic_qp_sq_error(nic, qp);
	nic_cq_error(nic, qp, qp->cqn_send, CQE_REQ_ERR, op->opcode, op->wqe_index, fault);
}

/* The next entry, as the operation op_tail. Its copy is in nic->tx_wqe. */
static bool start(struct nic *nic, struct nic_qp *qp)
{
	struct nic_wqe *wqe = &nic->tx_wqe;
	struct nic_fault fault;
	struct nic_op op;

	if (qp->state != NIC_QP_RTS || qp->sq_next == qp->sq_pi)
		return false;
	fault = nic_wqe_fetch_send(nic, qp, qp->sq_next, wqe);
	if (fault.syndrome == 0)
		fault = check_entry(nic, qp, wqe);
	op = (struct nic_op){
	    .psn = qp->psn_next,
	    .len_bytes = (uint32_t)wqe->len_bytes,
	    .wqe_index = qp->sq_next,
	    .wqebb_count = wqe->wqebb_count,
	    .opcode = wqe->opcode,
	};
	if (fault.syndrome == 0) {
		op.flags = nic_req_flags(qp, wqe);
		op.psn_count = nic_req_psn_count(qp, wqe);
		wqe->owner = nic_wqe_owner(qp, qp->op_head);
		if (wqe->opcode == WQE_OP_UMR)
			fault = nic_umr_run(nic, qp, wqe);
	}
	if (nic_tracing(nic))
		nic_trace_send(nic, qp, qp->sq_next, wqe, fault);
	*nic_op_at(nic, qp, qp->op_head++) = op;
	qp->sq_next = (uint16_t)(qp->sq_next + op.wqebb_count);
	qp->psn_next = psn_add(qp->psn_next, (int32_t)op.psn_count);
	if (fault.syndrome != 0)
		fail(nic, qp, fault);
	return fault.syndrome == 0;
}

/* ---- packets --------------------------------------------------------------------------------- */

enum sent {
	SENT,
	BLOCKED, /* no room */
	PACED,   /* it is not its turn */
	FAILED,
};

static void store_deth(const struct nic_qp *qp, uint8_t *deth, uint32_t qkey)
{
	be32_store(deth + ROCE_DETH_QKEY_OFF, qkey & WQE_AV_QKEY_OF_QP_F ? qp->params.qkey : qkey);
	be32_store(deth + ROCE_DETH_SRC_QPN_OFF - 1, qp->number);
}

/* The wire has no room for a packet: it waits, or its time is over and it is lost. */
static enum sent no_room(struct nic *nic, struct nic_qp *qp)
{
	if (qp->overdue) {
		nic->counters.tx_drop_late++;
		nic->left_packets--;
		return SENT;
	}
	if (qp->deadline_ns == NIC_TIME_NEVER)
		nic_timer_set(nic, qp, nic->now_ns + LIFETIME_NS);
	return BLOCKED;
}

static enum sent make_packet(struct nic *nic, struct nic_qp *qp, const struct nic_op *op,
			     struct nic_wqe *wqe)
{
	uint32_t psn = qp->psn_send;
	uint32_t off = ((psn - op->psn) & PSN_MASK) << qp->mtu_log2;
	uint32_t left = op->len_bytes - off;
	uint32_t n = left < 1u << qp->mtu_log2 ? left : 1u << qp->mtu_log2;
	enum roce_place place = nic_req_place(op, psn);
	uint8_t opcode = nic_req_opcodes[op->opcode][place] | qp->transport;
	const struct roce_opcode_info *info = &roce_opcodes[opcode];
	bool se = (op->flags & NIC_OP_SOLICITED_F) && (place & ROCE_LAST);
	enum nic_mem verdict;
	uint8_t *bth = nic_tx_open(nic, qp, opcode, se ? ROCE_BTH_SE_F : 0, false, psn, n);

	if (!bth)
		return no_room(nic, qp);
	qp->overdue = false;
	qp->deadline_ns = NIC_TIME_NEVER;
	if (info->headers & ROCE_H_DETH)
		store_deth(qp, bth + ROCE_BTH_BYTES, wqe->qkey);
	if (info->reth_off)
		nic_req_store_reth(bth, info, wqe->raddr, wqe->rkey, op->len_bytes);
	if (info->imm_off)
		be32_store(bth + info->imm_off, wqe->imm);
	verdict = nic_mem_gather(nic, qp->pdn, wqe, off, bth + info->header_bytes, n);
	if (verdict != NIC_MEM_OK) {
		nic_tx_drop(nic);
		nic_trace_gather(nic, qp, op, wqe, verdict);
		fail(nic, qp, nic_mem_fault(verdict));
		return FAILED;
	}
	nic_tx_close(nic, qp, bth, n);
	nic->counters.tx_multicast += qp->params.dest_qpn == ROCE_QPN_MASK && qp->type == NIC_QP_UD;
	return SENT;
}

/* Where an entry of a datagram queue pair leads: whether it leaves this port. */
static bool leaves(const struct nic_path *path)
{
	return path->slid == 0 && memcmp(path->dgid, path->sgid, sizeof(path->sgid)) != 0;
}

/* Whether the flow that the packet belongs to lets it go now. */
HOT bool may_go(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe)
{
	if (qp->type == NIC_QP_UC)
		return !qp->paced || nic_flow_gate(nic, qp);
	if (qp->type == NIC_QP_RAW) {
		nic_raw_address(qp);
		return true;
	}
	qp->params.path = wqe->path;
	qp->params.dest_qpn = wqe->dqpn;
	qp->paced = false;
	return !leaves(&wqe->path) || nic_dest_gate(nic, qp);
}

static COLD void paced_sent(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	uint32_t len_bytes =
	    op->len_bytes < 1u << qp->mtu_log2 ? op->len_bytes : 1u << qp->mtu_log2;

	if (qp->type == NIC_QP_UC)
		nic_flow_unacked(nic, qp, len_bytes + ROCE_BTH_BYTES);
	else
		nic_dest_sent(nic, qp, len_bytes + ROCE_BTH_BYTES + ROCE_DETH_BYTES);
}

static enum sent send_packet(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	static const struct nic_fault changed = {CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE};
	struct nic_wqe *wqe = nic_wqe_again(nic, qp, op, qp->op_tail, &nic->tx_wqe);
	enum sent sent;

	if (!wqe) {
		nic_trace_fail(nic, qp, op, changed, TRACE_BY_CHANGED);
		fail(nic, qp, changed);
		return FAILED;
	}
	if (!may_go(nic, qp, wqe))
		return PACED;
	sent = make_packet(nic, qp, op, wqe);
	if (sent == SENT && qp->paced)
		paced_sent(nic, qp, op);
	if (sent == SENT)
		qp->psn_una = qp->psn_high = qp->psn_send = psn_add(qp->psn_send, 1);
	return sent;
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static void complete(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	nic_comp_complete(nic, qp, op);
	qp->op_cur = qp->op_tail;
	/* A ring full of entries without packets uses up a budget, too. */
	nic->left_bytes -= CQE_BYTES;
	nic_qp_drained(nic, qp);
}

enum nic_turn nic_unacked_run(struct nic *nic, struct nic_qp *qp)
{
	if (qp->state == NIC_QP_SQE)
		return nic_qp_flush(nic, qp);
	if (qp->state != NIC_QP_RTS && qp->state != NIC_QP_SQD)
		return NIC_TURN_DONE;
	for (int i = 0; i < NIC_VISIT_PACKETS; i++) {
		const struct nic_op *op;

		if (nic->left_packets == 0 || nic->left_bytes <= 0)
			return NIC_TURN_AGAIN;
		if (qp->op_tail == qp->op_head && !start(nic, qp))
			return NIC_TURN_DONE;
		op = nic_op_at(nic, qp, qp->op_tail);
		if (op->psn_count != 0) {
			enum sent sent = send_packet(nic, qp, op);

			if (sent == BLOCKED)
				return NIC_TURN_BLOCKED;
			if (sent == PACED)
				return NIC_TURN_DONE;
			if (sent == FAILED)
				return NIC_TURN_AGAIN;
		}
		if (qp->psn_send == psn_add(op->psn, (int32_t)op->psn_count))
			complete(nic, qp, op);
	}
	return nic_req_has_work(nic, qp) ? NIC_TURN_AGAIN : NIC_TURN_DONE;
}

void nic_unacked_expire(struct nic *nic, struct nic_qp *qp)
{
	qp->overdue = true;
	nic_ready(nic, qp);
}
