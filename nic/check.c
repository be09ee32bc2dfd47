/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c - nic_check(): the core's own invariants, for tests to assert after every step. What an
 * application or a peer wrote is never an invariant.
 */
#include "nic/rss.h"
#include "nic/sig.h"

static void check_requester(const struct nic *nic, const struct nic_qp *qp)
{
	uint32_t in_flight = (qp->psn_high - qp->psn_una) & PSN_MASK;
	uint32_t started = (qp->psn_next - qp->psn_una) & PSN_MASK;
	uint32_t again = (qp->psn_send - qp->psn_una) & PSN_MASK;
	uint32_t psn = qp->psn_una;
	uint32_t reads = 0;

	ASSERT(qp->op_head - qp->op_tail <= NIC_OPS);
	ASSERT(qp->op_cur - qp->op_tail <= qp->op_head - qp->op_tail);
	ASSERT(started <= NIC_PSN_WINDOW);
	ASSERT(in_flight <= started);
	ASSERT(again <= in_flight);
	ASSERT((uint16_t)(qp->sq_pi - qp->sq_next) <= qp->sq_count);
	for (uint32_t n = qp->op_tail; n != qp->op_head; n++) {
		const struct nic_op *op = nic_op_at(nic, qp, n);

		/* Operations follow one another without a gap; only the first may be part done. */
		if (n == qp->op_tail)
			ASSERT(((psn - op->psn) & PSN_MASK) <= op->psn_count);
		else
			ASSERT(op->psn == psn);
		psn = psn_add(op->psn, (int32_t)op->psn_count);
		reads += nic_op_reads(op) && op->psn_count != 0;
	}
	ASSERT(psn == qp->psn_next);
	ASSERT(reads == qp->rd_used);
	ASSERT(reads <= NIC_RES);
}

static void check_responder(const struct nic_qp *qp)
{
	ASSERT((uint16_t)(qp->rq_pi - qp->rq_ci) <= qp->rq_count);
	ASSERT(!qp->rx_held || qp->srqn != 0);
	ASSERT(qp->epsn <= PSN_MASK && qp->msn <= ROCE_MSN_MASK);
	for (uint32_t slot = 0; slot < NIC_RES; slot++) {
		const struct nic_res *res = &qp->res[slot];

		if (!(qp->res_due >> slot & 1))
			continue;
		ASSERT(slot < qp->res_head);
		ASSERT(res->run_start <= res->run_next && res->run_next < res->run_end);
		ASSERT(res->run_end <= res->psn_count);
	}
}

/* Nothing of what is not acknowledged is under way. */
static void check_unacked(const struct nic_qp *qp)
{
	ASSERT(qp->psn_una == qp->psn_send && qp->psn_high == qp->psn_send);
	ASSERT(qp->op_head - qp->op_tail <= 1 && qp->op_cur == qp->op_tail);
	ASSERT(qp->window_psns == 0 && qp->res_head == 0 && !qp->ack_due && qp->nak_due == 0);
}

static bool has_alarm(const struct nic *nic, const struct nic_qp *qp)
{
	return qp->turn.dest != 0 ||
	       (qp->flow_made && nic->cong.flows[qp->index].alarm_ns != NIC_CC_NEVER);
}

static void check_qp(const struct nic *nic, const struct nic_qp *qp)
{
	bool output = qp->res_due || qp->nak_due || qp->ack_due;

	ASSERT(nic_qp_find(nic, qp->number) == qp);
	ASSERT(qp->state < NIC_QP_STATE_COUNT);
	ASSERT(qp->state != NIC_QP_SQE || !nic_qp_acked(qp));
	ASSERT(!qp->rnr_waiting || qp->deadline_ns != NIC_TIME_NEVER);
	ASSERT(qp->deadline_ns == NIC_TIME_NEVER || qp->heap_pos != NIC_HEAP_NONE);
	ASSERT(qp->heap_ns <= qp->deadline_ns);
	if (!nic_qp_acked(qp))
		check_unacked(qp);
	nic_dct_check(nic, qp);
	ASSERT(!qp->dc.settling || (qp->state == NIC_QP_ERR && qp->is_ready));
	if (qp->state != NIC_QP_ERR) {
		check_requester(nic, qp);
		check_responder(qp);
		ASSERT(!qp->last_words);
		/* Work never sits without a turn, now or at a time that is known. */
		ASSERT(qp->is_ready || has_alarm(nic, qp) ||
		       (!output && !nic_req_has_work(nic, qp)));
	} else {
		ASSERT(qp->last_words || !output);
		ASSERT(!has_alarm(nic, qp));
		ASSERT(qp->deadline_ns == NIC_TIME_NEVER);
	}
}

static void check_ready(const struct nic *nic)
{
	uint32_t index = nic->ready_head;

	for (uint32_t i = 0; i < nic->ready_count; i++) {
		ASSERT(nic->qps[index].is_ready);
		ASSERT(i + 1 < nic->ready_count || index == nic->ready_tail);
		index = nic->qps[index].ready_next;
	}
}

static void check_heap(const struct nic *nic)
{
	for (uint32_t pos = 0; pos < nic->heap_count; pos++) {
		const struct nic_qp *qp = &nic->qps[nic->heap[pos]];

		ASSERT(qp->heap_pos == pos && qp->live);
		ASSERT(qp->heap_ns != NIC_TIME_NEVER);
		ASSERT(pos == 0 || nic->qps[nic->heap[(pos - 1) / 2]].heap_ns <= qp->heap_ns);
	}
}

static const struct nic_flow *alarmed(const struct nic *nic, uint32_t pos)
{
	uint32_t index = nic->cong.alarms[pos];

	if (index >= nic->config.qp_count_max)
		return &nic->cong.dests[index - nic->config.qp_count_max].flow;
	ASSERT(nic->qps[index].live && nic->qps[index].flow_made);
	return &nic->cong.flows[index];
}

/* Those who wait for their turn, and notes: and nothing else is work. */
static void check_alarms(const struct nic *nic)
{
	const struct nic_cong *cong = &nic->cong;

	ASSERT(cong->work_count == cong->alarm_count + cong->note_count);
	for (uint32_t pos = 0; pos < cong->alarm_count; pos++) {
		const struct nic_flow *flow = alarmed(nic, pos);

		ASSERT(flow->alarm_pos == pos && flow->alarm_ns != NIC_CC_NEVER);
		ASSERT(pos == 0 || alarmed(nic, (pos - 1) / 2)->alarm_ns <= flow->alarm_ns);
	}
	for (uint32_t i = 0; i < cong->dest_fresh; i++)
		nic_turn_check(nic, &cong->dests[i]);
}

/* How often live objects use one of each kind. */
struct uses {
	uint64_t pd, xrcd, cq, srq;
};

static struct uses uses_by_qps(const struct nic *nic)
{
	struct uses uses = {0};

	for (uint32_t i = 0; i < nic->qp_watch_count; i++) {
		const struct nic_qp *qp = &nic->qps[nic->qp_watch[i].index];

		uses.xrcd += qp->xrcdn != 0;
		if (qp->type == NIC_QP_XRC_TGT)
			continue;
		uses.pd++;
		uses.cq += 1 + (qp->cqn_recv != 0);
		uses.srq += qp->srqn != 0;
	}
	return uses;
}

static void check_srqs(const struct nic *nic, struct uses *uses, uint64_t *srq_users)
{
	for (uint32_t i = 1; i < nic->srq_slots.fresh; i++) {
		const struct nic_srq *srq = &nic->srqs[i];

		if (!srq->live)
			continue;
		ASSERT(srq->number == i);
		ASSERT((uint16_t)(srq->pi - srq->ci) <= srq->wqe_count);
		ASSERT(srq->limit <= srq->wqe_count && (srq->limit == 0 || !srq->failed));
		*srq_users += srq->users;
		uses->pd++;
		uses->xrcd += srq->xrcdn != 0;
		uses->cq += srq->xrcdn != 0;
	}
}

static uint64_t users_of(const struct nic_pd *pds, const struct nic_slots *slots)
{
	uint64_t users = 0;

	for (uint32_t i = 1; i < slots->fresh; i++)
		users += pds[i].live ? pds[i].users : 0;
	return users;
}

/* Every use of a queue or domain is counted, and nothing else is. */
static void check_users(const struct nic *nic)
{
	struct uses uses = uses_by_qps(nic);
	uint64_t cq_users = 0;
	uint64_t srq_users = 0;

	check_srqs(nic, &uses, &srq_users);
	for (uint32_t i = 0; i < nic->cq_watch_count; i++) {
		const struct nic_cq *cq = &nic->cqs[nic->cq_watch[i].cqn];

		ASSERT(cq->live && cq->watch == i);
		cq_users += cq->users;
	}
	for (uint32_t i = NIC_MKEY_FIRST; i < nic->mkey_slots.fresh; i++)
		uses.pd += nic->mkeys[i].state != NIC_MKEY_NONE;
	for (uint32_t i = 1; i < nic->psv_slots.fresh; i++)
		uses.pd += nic->psvs[i].live;
	ASSERT(cq_users == uses.cq);
	ASSERT(srq_users == uses.srq);
	ASSERT(users_of(nic->pds, &nic->pd_slots) == uses.pd);
	ASSERT(users_of(nic->xrcds, &nic->xrcd_slots) == uses.xrcd);
}

static void check_attachments(const struct nic *nic)
{
	ASSERT(nic->attachment_count <= NIC_ATTACHMENTS_MAX);
	for (uint32_t i = 0; i < nic->attachment_count; i++) {
		const struct nic_qp *qp = nic_qp_find(nic, nic->attachments[i].qpn);

		ASSERT(qp && qp->type == NIC_QP_UD);
	}
}

void nic_check(const struct nic *nic)
{
	for (uint32_t i = 0; i < nic->qp_watch_count; i++) {
		const struct nic_qp *qp = &nic->qps[nic->qp_watch[i].index];

		ASSERT(qp->live && qp->watch == i);
		check_qp(nic, qp);
	}
	check_attachments(nic);
	nic_rss_check(nic);
	check_ready(nic);
	check_heap(nic);
	check_alarms(nic);
	check_users(nic);
}
