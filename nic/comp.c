/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comp.c - what comes back to a requester: acknowledgements, responses, refusals, and silence.
 *
 * psn_una is the only measure of progress. It moves over SENDs and WRITEs when they are
 * acknowledged, which a later response does too, and over READs and atomics only when their data is
 * in. Whatever names a PSN that is not outstanding is a ghost, and is dropped.
 */
#include "nic/nic_trace.h"

#define FAULT(synd, vend) ((struct nic_fault){CQE_SYND_##synd, CQE_VENDOR_##vend})

/* ---- completing operations ------------------------------------------------------------------- */

static void complete(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	struct nic_done done;

	qp->op_tail++;
	qp->sq_stalled = false;
	if (nic_op_reads(op))
		qp->rd_used--;
	if (!(op->flags & NIC_OP_SIGNAL_F))
		return;
	done = (struct nic_done){
	    .opcode = CQE_REQ,
	    .send_opcode = op->opcode,
	    .wqe_counter = op->wqe_index,
	    .byte_cnt = op->len_bytes,
	    .user_index = qp->user_index,
	};
	nic_cq_done(nic, qp, qp->cqn_send, &done);
}

void nic_comp_complete(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	complete(nic, qp, op);
}

/* The oldest operation fails, and the queue pair with it [IBTA1 9.9]. */
static void fail(struct nic *nic, struct nic_qp *qp, struct nic_fault fault)
{
	const struct nic_op *op = nic_op_at(nic, qp, qp->op_tail);

	ASSERT(qp->op_tail != qp->op_head);
	qp->op_tail++;
	if (qp->op_cur - qp->op_tail > NIC_OPS)
		qp->op_cur = qp->op_tail;
	nic_cq_error(nic, qp, qp->cqn_send, CQE_REQ_ERR, op->opcode, op->wqe_index, fault);
	if (qp->type == NIC_QP_DCI)
		nic_dci_fail(nic, qp);
	else
		nic_qp_error(nic, qp);
}

/* The same, told of. */
static void fail_by(struct nic *nic, struct nic_qp *qp, struct nic_fault fault,
		    enum trace_reason reason)
{
	nic_trace_fail(nic, qp, nic_op_at(nic, qp, qp->op_tail), fault, reason);
	fail(nic, qp, fault);
}

void nic_comp_advance(struct nic *nic, struct nic_qp *qp)
{
	while (qp->op_tail != qp->op_head && qp->state != NIC_QP_ERR) {
		const struct nic_op *op = nic_op_at(nic, qp, qp->op_tail);

		if (op->flags & (NIC_OP_FAILED_F | NIC_OP_BUSY_F | NIC_OP_FLUSHED_F)) {
			if (op->flags & NIC_OP_BUSY_F)
				break;
			if (op->flags & NIC_OP_FLUSHED_F) {
				nic_qp_flush_op(nic, qp);
				qp->sq_stalled = false;
				continue;
			}
			fail(nic, qp, op->fault);
			return;
		}
		if (op->psn_count != 0)
			break;
		complete(nic, qp, op);
	}
	if (qp->op_cur - qp->op_tail > NIC_OPS)
		qp->op_cur = qp->op_tail;
	nic_qp_drained(nic, qp);
}

/* ---- progress -------------------------------------------------------------------------------- */

static bool outstanding(const struct nic_qp *qp, uint32_t psn)
{
	return psn_in(psn, qp->psn_una, (qp->psn_high - qp->psn_una) & PSN_MASK);
}

/* psn_una has moved: retries start afresh, and what was to be sent again may not be needed. */
static void progress(struct nic *nic, struct nic_qp *qp)
{
	uint32_t in_flight = (qp->psn_high - qp->psn_una) & PSN_MASK;

	if (qp->state == NIC_QP_ERR)
		return;
	qp->retry_left = qp->params.retry_count;
	qp->rnr_left = qp->params.rnr_retry;
	qp->went_back = false;
	if (qp->window_psns != 0)
		nic_rtt_progress(nic, qp);
	if (((qp->psn_high - qp->psn_send) & PSN_MASK) > in_flight) {
		qp->psn_send = qp->psn_una;
		qp->op_cur = qp->op_tail;
	}
	if (!qp->rnr_waiting) {
		if (in_flight != 0 && qp->timeout_ns != 0)
			nic_timer_start(nic, qp);
		else
			nic_timer_set(nic, qp, NIC_TIME_NEVER);
	}
	nic_comp_advance(nic, qp);
	if (qp->state != NIC_QP_ERR && nic_req_has_work(nic, qp))
		nic_ready(nic, qp);
}

/*
 * Everything before PSN `upto` is acknowledged; moves psn_una there. false: it stopped at a READ or
 * atomic whose response has not come, and so must have been lost.
 */
static bool acknowledge(struct nic *nic, struct nic_qp *qp, uint32_t upto)
{
	bool moved = false;
	bool whole = true;

	while (qp->psn_una != upto && qp->state != NIC_QP_ERR) {
		const struct nic_op *op = nic_op_at(nic, qp, qp->op_tail);
		uint32_t got = (upto - qp->psn_una) & PSN_MASK;
		uint32_t left = (op->psn + op->psn_count - qp->psn_una) & PSN_MASK;

		ASSERT(qp->op_tail != qp->op_head);
		whole = !nic_op_reads(op);
		if (!whole)
			break;
		moved = true;
		qp->psn_una = psn_add(qp->psn_una, (int32_t)(got < left ? got : left));
		if (got < left)
			break;
		complete(nic, qp, op);
		nic_comp_advance(nic, qp);
	}
	if (moved)
		progress(nic, qp);
	return whole;
}

/* ---- retrying -------------------------------------------------------------------------------- */

/* Sends again from psn_una on, or gives up. */
static void retry(struct nic *nic, struct nic_qp *qp)
{
	if (qp->retry_left == 0) {
		fail_by(nic, qp, FAULT(RETRY_EXC, RETRY_EXC), TRACE_BY_NO_ANSWER);
		return;
	}
	qp->retry_left--;
	qp->probing = false;
	qp->deadline_ns = NIC_TIME_NEVER;
	nic_req_go_back(nic, qp);
}

/* A sign of loss. Many packets may bring the same sign; one going back answers them all. */
static void loss(struct nic *nic, struct nic_qp *qp)
{
	if (qp->state == NIC_QP_ERR || qp->went_back || qp->rnr_waiting)
		return;
	if (qp->networked)
		nic_flow_lost(nic, qp);
	retry(nic, qp);
	qp->told_lost = true;
}

/* An answer names a packet behind a READ or atomic whose own answer has not come. */
static COLD void implied_loss(struct nic *nic, struct nic_qp *qp)
{
	nic->counters.implied_naks++;
	loss(nic, qp);
}

/* Sends the oldest packet once more, alone: its answer says how far the responder is. One that
 * still waits for its turn is not asked for again. */
static void probe(struct nic *nic, struct nic_qp *qp)
{
	bool rtt_timed = qp->rtt_timed && qp->rtt_psn != qp->psn_una;

	if (qp->probing && qp->psn_send == qp->psn_una) {
		nic_rtt_wait(nic, qp);
		return;
	}
	nic->counters.ack_probes++;
	nic_rtt_probe(nic, qp);
	nic_req_go_back(nic, qp);
	qp->rtt_timed = rtt_timed;
}

void nic_comp_expire(struct nic *nic, struct nic_qp *qp)
{
	if (!nic_qp_acked(qp)) {
		nic_unacked_expire(nic, qp);
		return;
	}
	if (qp->rnr_waiting) {
		qp->rnr_waiting = false;
		if (nic_req_has_work(nic, qp))
			nic_ready(nic, qp);
		return;
	}
	if (qp->psn_una == qp->psn_high)
		return;
	if (nic->now_ns < qp->wait_from_ns + nic_rtt_timeout_ns(qp)) {
		probe(nic, qp);
		return;
	}
	if (nic->env->tx_untaken(nic->env->ctx, &qp->params.path, qp->params.dest_qpn)) {
		/* The peer has not seen it yet: a stopped process, not a loss. */
		nic->counters.ack_timeouts_untaken++;
		nic_timer_start(nic, qp);
		return;
	}
	nic->counters.ack_timeouts++;
	qp->counters.ack_timeouts++;
	if (qp->networked)
		nic_flow_timed_out(nic, qp);
	if (qp->retry_left != 0)
		nic_trace_retry(nic, qp);
	else
		nic->counters.ack_timeouts_last++;
	retry(nic, qp);
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

static void rnr(struct nic *nic, struct nic_qp *qp, uint32_t psn, uint8_t code)
{
	nic->counters.rx_rnr++;
	qp->counters.rnr_naks++;
	nic_trace_nak(nic, qp, true, (uint8_t)(ROCE_SYNDROME_RNR | code), psn);
	if (!acknowledge(nic, qp, psn)) {
		implied_loss(nic, qp);
		return;
	}
	if (qp->state == NIC_QP_ERR || qp->rnr_waiting)
		return;
	if (qp->params.rnr_retry != 7) {
		if (qp->rnr_left == 0) {
			fail_by(nic, qp, FAULT(RNR_RETRY_EXC, RNR_RETRY_EXC),
				TRACE_BY_NEVER_RECEIVE);
			return;
		}
		qp->rnr_left--;
	}
	/* It does answer. */
	qp->retry_left = qp->params.retry_count;
	qp->rnr_waiting = true;
	qp->probing = false;
	nic_req_go_back(nic, qp);
	nic_timer_set(nic, qp, nic->now_ns + roce_rnr_timer_ns(code));
}

static void refused(struct nic *nic, struct nic_qp *qp, uint32_t psn, struct nic_fault fault)
{
	bool whole = acknowledge(nic, qp, psn);
	const struct nic_op *op = nic_op_at(nic, qp, qp->op_tail);

	if (qp->state == NIC_QP_ERR)
		return;
	/* A response before it is missing, unless it is that very READ that is refused half way. */
	if (!whole && !psn_in(psn, op->psn, op->psn_count))
		implied_loss(nic, qp);
	else
		fail_by(nic, qp, fault, TRACE_BY_REFUSED);
}

static void nak(struct nic *nic, struct nic_qp *qp, uint32_t psn, uint8_t syndrome)
{
	nic->counters.rx_nak++;
	nic_trace_nak(nic, qp, true, syndrome, psn);
	switch (syndrome) {
	case ROCE_NAK_PSN_SEQUENCE:
		nic->counters.rx_nak_sequence++;
		qp->counters.sequence_naks++;
		acknowledge(nic, qp, psn);
		loss(nic, qp);
		return;
	case ROCE_NAK_INVALID_REQUEST:
		refused(nic, qp, psn, FAULT(REMOTE_INVAL_REQ, REMOTE_INVAL_REQ));
		return;
	case ROCE_NAK_REMOTE_ACCESS:
		refused(nic, qp, psn, FAULT(REMOTE_ACCESS, REMOTE_ACCESS));
		return;
	case ROCE_NAK_REMOTE_OPERATION:
		refused(nic, qp, psn, FAULT(REMOTE_OP, NONE));
		return;
	}
	nic->counters.rx_drop_ack++;
}

static void rx_ack(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	uint8_t syndrome = pkt->header[pkt->info->aeth_off + ROCE_AETH_SYNDROME_OFF];

	switch (roce_aeth_kind(syndrome)) {
	case ROCE_AETH_ACK:
		if (!acknowledge(nic, qp, psn_add(pkt->psn, 1)))
			implied_loss(nic, qp);
		return;
	case ROCE_AETH_RNR:
		rnr(nic, qp, pkt->psn, syndrome & ROCE_AETH_VALUE_MASK);
		return;
	case ROCE_AETH_NAK:
		nak(nic, qp, pkt->psn, syndrome);
		return;
	case ROCE_AETH_RESERVED:
		nic->counters.rx_drop_ack++;
		return;
	}
	UNREACHABLE();
}

/* ---- responses ------------------------------------------------------------------------------- */

/* The oldest operation, if this response is its next one; else NULL, and what that means is done.
 */
static const struct nic_op *answered(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	const struct nic_op *op;

	if (!acknowledge(nic, qp, pkt->psn)) {
		implied_loss(nic, qp);
		return NULL;
	}
	if (qp->state == NIC_QP_ERR)
		return NULL;
	op = nic_op_at(nic, qp, qp->op_tail);
	ASSERT(qp->op_tail != qp->op_head);
	if ((pkt->info->kind == ROCE_KIND_READ_RESP) == (op->opcode == WQE_OP_READ) &&
	    nic_op_reads(op))
		return op;
	nic->counters.rx_drop_ack++;
	return NULL;
}

/* Puts n bytes at byte off of the oldest operation's pieces. */
static bool deliver(struct nic *nic, struct nic_qp *qp, const struct nic_op *op, uint32_t off,
		    const uint8_t *src, uint32_t n)
{
	struct nic_wqe *wqe = nic_wqe_again(nic, qp, op, qp->op_tail, &nic->resp_wqe);
	enum nic_mem verdict;

	if (!wqe) {
		fail_by(nic, qp, FAULT(LOCAL_QP_OP, NONE), TRACE_BY_CHANGED);
		return false;
	}
	verdict = nic_mem_scatter(nic, qp->pdn, wqe, off, src, n);
	if (verdict == NIC_MEM_OK)
		return true;
	nic_trace_scatter(nic, qp, op, wqe, off, n, verdict);
	fail(nic, qp, nic_mem_fault(verdict));
	return false;
}

static void response_taken(struct nic *nic, struct nic_qp *qp, const struct nic_op *op)
{
	qp->psn_una = psn_add(qp->psn_una, 1);
	if (qp->psn_una == psn_add(op->psn, (int32_t)op->psn_count))
		complete(nic, qp, op);
	progress(nic, qp);
}

static void rx_read_response(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	const struct nic_op *op = answered(nic, qp, pkt);
	uint32_t mtu_bytes = 1u << qp->mtu_log2;
	uint32_t index, off, left;
	bool last, ends;

	if (!op)
		return;
	index = (pkt->psn - op->psn) & PSN_MASK;
	off = index << qp->mtu_log2;
	left = op->len_bytes - off;
	last = index + 1 == op->psn_count;
	/* A READ that is asked for in pieces is answered in pieces. */
	ends = roce_opcode_ends(pkt->opcode);
	if ((last && !ends) || (ends && !last && qp->read_psns == 0) ||
	    pkt->payload_bytes != (left < mtu_bytes ? left : mtu_bytes)) {
		fail_by(nic, qp, FAULT(BAD_RESP, NONE), TRACE_BY_RESPONSE);
		return;
	}
	if (deliver(nic, qp, op, off, pkt->payload, pkt->payload_bytes))
		response_taken(nic, qp, op);
}

/* The value arrives as an integer and is stored as the host's; one of 4 bytes as it came
 * [ucx-mlx5]. */
static void rx_atomic_response(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	const struct nic_op *op = answered(nic, qp, pkt);
	const uint8_t *eth = pkt->header + pkt->info->atomic_ack_off;
	uint64_t value;

	if (!op)
		return;
	value = be64_load(eth);
	if (deliver(nic, qp, op, 0,
		    op->len_bytes == sizeof(value) ? (const uint8_t *)&value : eth + 4,
		    op->len_bytes))
		response_taken(nic, qp, op);
}

void nic_comp_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	if (!outstanding(qp, pkt->psn)) {
		nic->counters.rx_drop_ack++;
		return;
	}
	if (pkt->info->kind == ROCE_KIND_ACK)
		rx_ack(nic, qp, pkt);
	else if (pkt->info->kind == ROCE_KIND_READ_RESP)
		rx_read_response(nic, qp, pkt);
	else
		rx_atomic_response(nic, qp, pkt);
}
