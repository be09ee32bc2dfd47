/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - who gets a turn, and why: doorbells, scans of doorbell records, and the turns themselves.
 */
#include "nic/nic_priv.h"

/* ---- noticing work --------------------------------------------------------------------------- */

/* A queue pair in error flushes what is posted to it later, too; if only its send queue is, only
 * what it is to send. */
static void look_flush(struct nic *nic, struct nic_qp *qp)
{
	uint32_t send = qp->sq_pi;
	uint32_t recv = qp->rq_pi;
	bool receives = qp->rq_count != 0 && qp->state == NIC_QP_ERR;

	if ((qp->sq_count != 0 && !nic_mem_load_be32(nic, qp->db_va + 4 * DB_SEND, &send)) ||
	    (receives && !nic_mem_load_be32(nic, qp->db_va + 4 * DB_RECV, &recv))) {
		nic->qp_watch[qp->watch].look = NIC_LOOK_NOT;
		return;
	}
	if ((uint16_t)(send - qp->sq_next) <= qp->sq_count)
		qp->sq_pi = (uint16_t)send;
	if ((uint16_t)(recv - qp->rq_ci) <= qp->rq_count)
		qp->rq_pi = (uint16_t)recv;
	if (qp->sq_pi != qp->sq_next || (receives && qp->rq_pi != qp->rq_ci))
		nic_ready(nic, qp);
}

static void look(struct nic *nic, const struct nic_qp_watch *watch)
{
	struct nic_qp *qp = &nic->qps[watch->index];

	switch ((enum nic_look)watch->look) {
	case NIC_LOOK_NOT:
		return;
	case NIC_LOOK_SQ:
		nic_req_kick(nic, qp);
		return;
	case NIC_LOOK_FLUSH:
		look_flush(nic, qp);
		return;
	}
	UNREACHABLE();
}

/* A register names an entry that the record does not have: an application's bug, told once. */
static void check_ahead(struct nic *nic, struct nic_qp *qp, uint16_t index)
{
	if (qp->db_ahead || qp->state != NIC_QP_RTS || counter16_diff(index, qp->sq_pi) < 0)
		return;
	qp->db_ahead = true;
	nic->counters.db_ahead++;
	nic_qp_event(nic, qp, NIC_EVENT_DB_AHEAD);
}

void nic_doorbell(struct nic *nic, uint64_t word, uint64_t now_ns)
{
	/* opmod:8 index:16 opcode:8 qpn:24 ds:8 */
	uint64_t ctrl = be64_to((struct be64){word});
	struct nic_qp *qp = nic_qp_find(nic, (uint32_t)ctrl >> 8);

	nic->now_ns = now_ns;
	if (!qp)
		return;
	look(nic, &nic->qp_watch[qp->watch]);
	check_ahead(nic, qp, (uint16_t)(ctrl >> 40));
}

static void scan_qp(struct nic *nic, const struct nic_qp_watch *watch)
{
	uint32_t word;

	/* The common case, without touching the queue pair. */
	if (watch->look == NIC_LOOK_SQ &&
	    nic_mem_load_be32(nic, watch->db_va + 4 * DB_SEND, &word) &&
	    (uint16_t)word == watch->sq_seen)
		return;
	look(nic, watch);
}

void nic_scan(struct nic *nic, uint64_t now_ns)
{
	nic->now_ns = now_ns;
	for (uint32_t i = 0; i < nic->qp_watch_count; i++)
		scan_qp(nic, &nic->qp_watch[i]);
	nic_cq_scan(nic, now_ns);
}

/* One record, and the next one's place. Queue pairs come first, then completion queues. */
static uint32_t scan_at(struct nic *nic, uint32_t at)
{
	if (at < nic->qp_watch_count)
		scan_qp(nic, &nic->qp_watch[at]);
	else
		nic_cq_look(nic, &nic->cq_watch[at - nic->qp_watch_count]);
	return at + 1;
}

/*
 * A destroy puts the last record of its kind into the freed place, and every place of a completion
 * queue moves with the number of queue pairs: what moves behind the cursor waits for another lap.
 */
void nic_scan_some(struct nic *nic, uint32_t record_count, uint64_t now_ns)
{
	uint32_t total = nic->qp_watch_count + nic->cq_watch_count;

	nic->now_ns = now_ns;
	if (record_count > total)
		record_count = total;
	for (; record_count != 0; record_count--) {
		if (nic->scan_at >= total)
			nic->scan_at = 0;
		nic->scan_at = scan_at(nic, nic->scan_at);
	}
}

/* ---- turns ----------------------------------------------------------------------------------- */

static struct nic_qp *take_ready(struct nic *nic)
{
	struct nic_qp *qp = &nic->qps[nic->ready_head];

	ASSERT(nic->ready_count != 0 && qp->is_ready);
	nic->ready_head = qp->ready_next;
	nic->ready_count--;
	qp->is_ready = false;
	return qp;
}

/* Most who are asked only answer: nic_req_run is not troubled for them. */
HOT bool has_requests(const struct nic_qp *qp)
{
	return qp->op_cur != qp->op_head || qp->sq_next != qp->sq_pi;
}

/*
 * What it owes as responder comes first: a peer waits for it. The list is not told of a reset or a
 * destroy; such a queue pair has nothing to do.
 */
static enum nic_turn turn(struct nic *nic, struct nic_qp *qp)
{
	enum nic_turn as_responder = NIC_TURN_DONE;
	enum nic_turn as_requester;

	nic->now_qp = qp;
	nic->now_responds = false;
	if (nic_answer_due(qp))
		as_responder = nic_answer_run(nic, qp);
	if (qp->state == NIC_QP_ERR) {
		as_requester = nic_qp_flush(nic, qp);
		/* Completions wait for no room on the wire, even if a NAK does. */
		if (as_requester == NIC_TURN_AGAIN)
			return NIC_TURN_AGAIN;
	} else if (as_responder == NIC_TURN_BLOCKED) {
		return NIC_TURN_BLOCKED;
	} else if (nic_qp_acked(qp)) {
		as_requester = has_requests(qp) ? nic_req_run(nic, qp) : NIC_TURN_DONE;
	} else {
		as_requester = nic_unacked_run(nic, qp);
	}
	return as_responder > as_requester ? as_responder : as_requester;
}

/* Queue pairs whose turn to send has come, and notes, as far as there is room. */
static COLD void run_congestion(struct nic *nic)
{
	nic_alarm_expire(nic);
	nic_notes_run(nic);
}

enum nic_more nic_run(struct nic *nic, const struct nic_budget *budget, uint64_t now_ns)
{
	uint32_t blocked = 0;

	nic->now_ns = now_ns;
	nic->left_packets = budget->packets;
	nic->left_bytes = budget->bytes;
	nic_timer_expire(nic);
	if (nic->cong.work_count != 0)
		run_congestion(nic);
	while (nic->ready_count != 0) {
		struct nic_qp *qp;

		if (nic->left_packets == 0 || nic->left_bytes <= 0)
			return NIC_BUSY;
		if (blocked == nic->ready_count)
			return NIC_BLOCKED;
		qp = take_ready(nic);
		switch (turn(nic, qp)) {
		case NIC_TURN_DONE:
			blocked = 0;
			continue;
		case NIC_TURN_AGAIN:
			blocked = 0;
			break;
		case NIC_TURN_BLOCKED:
			blocked++;
			break;
		}
		nic_ready(nic, qp);
	}
	return nic->cong.note_count != 0 ? NIC_BLOCKED : NIC_IDLE;
}
