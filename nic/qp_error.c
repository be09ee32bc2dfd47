/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp_error.c - the error states of queue pairs, and the flushing of what is left on their rings.
 */
#include "nic/nic_priv.h"

/* What is posted up to now, and later, is flushed. Counters that make no sense flush nothing. */
static void read_counters(struct nic *nic, struct nic_qp *qp)
{
	uint32_t word;

	if (qp->sq_count != 0 && nic_mem_load_be32(nic, qp->db_va + 4 * DB_SEND, &word) &&
	    (uint16_t)(word - qp->sq_next) <= qp->sq_count)
		qp->sq_pi = (uint16_t)word;
	if (qp->rq_count != 0 && nic_mem_load_be32(nic, qp->db_va + 4 * DB_RECV, &word) &&
	    (uint16_t)(word - qp->rq_ci) <= qp->rq_count)
		qp->rq_pi = (uint16_t)word;
}

void nic_qp_error(struct nic *nic, struct nic_qp *qp)
{
	bool was_reset = qp->state == NIC_QP_RESET;

	if (qp->state == NIC_QP_ERR)
		return;
	nic_timer_remove(nic, qp);
	nic_flow_end(nic, qp);
	nic_qp_set_state(qp, NIC_QP_ERR);
	qp->rnr_waiting = false;
	qp->rx_kind = ROCE_KIND_UNKNOWN;
	if (!qp->last_words) {
		qp->res_due = 0;
		qp->nak_due = 0;
		qp->ack_due = false;
	}
	nic_dct_release(nic, qp, true);
	if (qp->srqn != 0 || qp->type == NIC_QP_XRC_TGT) {
		qp->last_wqe = true;
		nic_ready(nic, qp);
	}
	/* The records may be what the last use left: the driver clears them after a reset. */
	if (was_reset)
		return;
	read_counters(nic, qp);
	nic_qp_look_at(nic, qp, NIC_LOOK_FLUSH);
	nic_ready(nic, qp);
}

void nic_qp_sq_error(struct nic *nic, struct nic_qp *qp)
{
	nic_timer_remove(nic, qp);
	nic_qp_set_state(qp, NIC_QP_SQE);
	nic_qp_look_at(nic, qp, NIC_LOOK_FLUSH);
	nic_ready(nic, qp);
}

void nic_qp_error_of_cq(struct nic *nic, uint32_t cqn)
{
	for (uint32_t i = 0; i < nic->qp_watch_count; i++) {
		struct nic_qp *qp = &nic->qps[nic->qp_watch[i].index];

		if ((qp->cqn_send != cqn && qp->cqn_recv != cqn) || qp->state == NIC_QP_RESET ||
		    (qp->state == NIC_QP_ERR && !qp->dc.settling))
			continue;
		qp->dc.settling = false;
		nic_qp_error(nic, qp);
		nic_qp_event(nic, qp, NIC_EVENT_QP_FATAL);
	}
}

static void flush_send(struct nic *nic, const struct nic_qp *qp, uint8_t opcode, uint16_t index)
{
	struct nic_fault fault = {CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH};

	nic_cq_error(nic, qp, qp->cqn_send, CQE_REQ_ERR, opcode, index, fault);
}

void nic_qp_flush_op(struct nic *nic, struct nic_qp *qp)
{
	const struct nic_op *op = nic_op_at(nic, qp, qp->op_tail);

	qp->op_tail++;
	if (qp->op_cur - qp->op_tail > NIC_OPS)
		qp->op_cur = qp->op_tail;
	flush_send(nic, qp, op->opcode, op->wqe_index);
}

/* An entry that never began: only its length is of interest, and only if it can be read. */
static void flush_entry(struct nic *nic, struct nic_qp *qp)
{
	uint16_t index = qp->sq_next;
	uint16_t posted = (uint16_t)(qp->sq_pi - index);
	uint64_t va = qp->sq_va + (uint64_t)(index & qp->sq_mask) * WQE_BB_BYTES;
	uint8_t ctrl[sizeof(struct wqe_ctrl_seg)];
	uint32_t count = 0;

	if (nic_mem_read(nic, ctrl, va, sizeof(ctrl)))
		count = wqe_bb_count(ctrl[7] & WQE_DS_MAX);
	else
		ctrl[3] = WQE_OP_NOP;
	if (count == 0 || count > posted)
		count = posted;
	qp->sq_next = (uint16_t)(index + count);
	flush_send(nic, qp, ctrl[3], index);
}

static void flush_receive(struct nic *nic, struct nic_qp *qp)
{
	struct nic_fault fault = {CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH};

	nic_cq_error(nic, qp, qp->cqn_recv, CQE_RESP_ERR, 0, qp->rq_ci++, fault);
}

/* What a queue pair has taken from an SRQ it does not give back. */
void nic_qp_flush_held(struct nic *nic, struct nic_qp *qp)
{
	struct nic_fault fault = {CQE_SYND_WR_FLUSH, CQE_VENDOR_FLUSH};

	qp->rx_held = false;
	nic_cq_error(nic, qp, qp->cqn_recv, CQE_RESP_ERR, 0, qp->rx_index, fault);
}

/* The owner may now free what the entries of the SRQ name, as far as this queue pair goes
 * [IBTA1 11.6.3]. */
static void tell_last_wqe(struct nic *nic, struct nic_qp *qp)
{
	qp->last_wqe = false;
	nic_qp_event(nic, qp, NIC_EVENT_QP_LAST_WQE);
}

/* nic_qp_flush - completes some of what is left on the rings of a queue pair in error; on the send
 * ring, if only that is. */
enum nic_turn nic_qp_flush(struct nic *nic, struct nic_qp *qp)
{
	ASSERT(qp->state == NIC_QP_ERR || qp->state == NIC_QP_SQE);
	for (int i = 0; i < NIC_VISIT_FLUSHES && nic->left_bytes > 0 && qp->state != NIC_QP_RTS;
	     i++) {
		nic->left_bytes -= CQE_BYTES;
		if (qp->op_tail != qp->op_head)
			nic_qp_flush_op(nic, qp);
		else if (qp->dc.settling)
			nic_dci_settled(nic, qp);
		else if (qp->sq_next != qp->sq_pi)
			flush_entry(nic, qp);
		else if (qp->state == NIC_QP_SQE)
			return NIC_TURN_DONE;
		else if (qp->rq_ci != qp->rq_pi)
			flush_receive(nic, qp);
		else if (qp->rx_held && !nic_is_dcr(nic, qp))
			nic_qp_flush_held(nic, qp);
		else if (qp->last_wqe)
			tell_last_wqe(nic, qp);
		else
			return NIC_TURN_DONE;
	}
	return NIC_TURN_AGAIN;
}
