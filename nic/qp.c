/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp.c - queue pairs: create and destroy, modify. Which state may follow which is in edge.c; the
 * error state is in qp_error.c.
 */
#include "nic/nic_priv.h"
#include "nic/rss.h"
#include "nic/rule.h"

#include <linux/errno.h>

enum {
	FRAME_BYTES_LOG2 = 13, /* a frame is one packet, and longer than the port's MTU */
	WQEBB_COUNT_MAX = 32768,
	RQ_COUNT_MAX = 32768,
	RQ_SIZE_LOG2_MIN = 4,
	RQ_SIZE_LOG2_MAX = 9,
	MTU_MIN_BYTES = 256,
	RETRY_MAX = 7,
	CODE_MAX = 31, /* of a timeout or an RNR timer */
};

#define SET(name) NIC_QP_SET_##name##_F

/* ---- create and destroy ---------------------------------------------------------------------- */

/* One more block of numbers from the port, and its rows. */
static int add_block(struct nic *nic)
{
	uint32_t block;
	int err;

	if (nic->block_count == nic->config.qp_count_max >> NIC_BLOCK_LOG2)
		return -ENOMEM;
	err = nic->env->qpn_block(nic->env->ctx, &block);
	if (err < 0)
		return err;
	ASSERT(block < 1u << (24 - NIC_BLOCK_LOG2) && nic->block_slot[block] == 0);
	nic->block_of[nic->block_count] = block;
	nic->block_slot[block] = (uint8_t)++nic->block_count;
	nic->qp_slots.limit += NIC_BLOCK;
	return 0;
}

static uint32_t number_of(const struct nic *nic, uint32_t index)
{
	return nic->block_of[index >> NIC_BLOCK_LOG2] << NIC_BLOCK_LOG2 | (index & (NIC_BLOCK - 1));
}

/* Numbers 0 and 1 are management's, 0xffffff is multicast's: their rows are left out for good. */
static int take_row(struct nic *nic, uint32_t *index)
{
	uint32_t number;

	do {
		struct nic_slots *slots = &nic->qp_slots;
		bool rested = slots->free_count > NIC_QPS_SPARE;
		int err = 0;

		if (!rested && slots->fresh == slots->limit)
			err = add_block(nic);
		if (!nic_slot_take(slots, NIC_QPS_SPARE, index))
			return err;
		number = number_of(nic, *index);
	} while (number < 2 || number == ROCE_QPN_MASK);
	return 0;
}

/* What each type has: [IBTA1 10.3], and for XRC [linux ib_create_xrc_qp, create_qp]. */
static bool objects_ok(const struct nic *nic, const struct nic_qp_attr *attr)
{
	const struct nic_srq *srq;

	switch (attr->type) {
	case NIC_QP_RC:
	case NIC_QP_UC:
	case NIC_QP_UD:
	case NIC_QP_RAW:
		srq = nic_srq_find(nic, attr->srqn);
		if (attr->srqn != 0 && (!srq || srq->xrcdn != 0 || attr->rq_wqe_count != 0))
			return false;
		return attr->xrcdn == 0 && nic_pd_find(nic, attr->pdn) &&
		       nic_cq_find(nic, attr->cqn_send) && nic_cq_find(nic, attr->cqn_recv);
	case NIC_QP_XRC_INI:
		return attr->xrcdn == 0 && attr->srqn == 0 && attr->rq_wqe_count == 0 &&
		       attr->cqn_recv == 0 && nic_pd_find(nic, attr->pdn) &&
		       nic_cq_find(nic, attr->cqn_send);
	case NIC_QP_XRC_TGT:
		return nic_xrcd_find(nic, attr->xrcdn) && attr->srqn == 0 &&
		       attr->sq_wqebb_count == 0 && attr->rq_wqe_count == 0 && attr->pdn == 0 &&
		       attr->cqn_send == 0 && attr->cqn_recv == 0;
	case NIC_QP_DCI:
	case NIC_QP_DCT:
		return nic_dc_objects_ok(nic, attr);
	}
	return false;
}

static bool attr_ok(const struct nic *nic, const struct nic_qp_attr *attr)
{
	uint32_t sq = attr->sq_wqebb_count;
	uint32_t rq = attr->rq_wqe_count;

	if (attr->db_va % DB_RECORD_BYTES != 0)
		return false;
	if (sq != 0 && (!ring_is_power_of_two(sq) || sq > WQEBB_COUNT_MAX))
		return false;
	if (rq != 0 && (!ring_is_power_of_two(rq) || rq > RQ_COUNT_MAX ||
			attr->rq_wqe_size_log2 < RQ_SIZE_LOG2_MIN ||
			attr->rq_wqe_size_log2 > RQ_SIZE_LOG2_MAX))
		return false;
	return objects_ok(nic, attr);
}

/* Requests are taken once the peer is known, answers while something may be asked [IBTA1 10.3.1].
 * Each half of XRC and of DC is only a requester or only a responder. */
void nic_qp_set_state(struct nic_qp *qp, enum nic_qp_state state)
{
	bool asks = state == NIC_QP_RTS || state == NIC_QP_SQD;
	bool answers = asks || state == NIC_QP_RTR || state == NIC_QP_SQE;

	qp->state = (uint8_t)state;
	qp->takes = 0;
	if (qp->type == NIC_QP_RAW)
		return; /* nothing is sent to its number */
	if (asks && qp->type != NIC_QP_XRC_TGT && qp->type != NIC_QP_DCT)
		qp->takes |= NIC_TAKES_ANSWERS_F;
	if (answers && qp->type != NIC_QP_XRC_INI && qp->type != NIC_QP_DCI && !qp->dc.drained)
		qp->takes |= NIC_TAKES_REQUESTS_F;
}

/* Everything that a reset forgets: all but scheduling, identity and attributes. */
static void clear_transport(struct nic *nic, struct nic_qp *qp)
{
	nic_timer_remove(nic, qp);
	nic_flow_end(nic, qp);
	nic_wqe_forget(nic, qp);
	qp->sq_halted = qp->sq_stalled = qp->rnr_waiting = qp->went_back = false;
	nic_rtt_forget(qp);
	qp->db_ahead = qp->sqd_event = qp->overdue = qp->sig_drain = false;
	qp->rd_used = 0;
	qp->sq_pi = qp->sq_next = 0;
	qp->op_head = qp->op_cur = qp->op_tail = 0;
	qp->psn_una = qp->psn_send = qp->psn_next = qp->psn_high = 0;
	qp->epsn = qp->msn = 0;
	qp->ack_psn = qp->ack_msn = 0;
	qp->rx_kind = ROCE_KIND_UNKNOWN;
	qp->nak_sent = qp->ack_due = qp->last_words = qp->comm_est = false;
	qp->nak_due = 0;
	qp->rx_held = qp->last_wqe = false;
	qp->rq_pi = qp->rq_ci = 0;
	qp->rx_off = 0;
	qp->res_head = 0;
	qp->res_due = 0;
	qp->dc.failed_count = 0;
	qp->dc.settling = qp->dc.drained = false;
}

/*
 * What was done for the peer is acknowledged before the queue pair goes: a card would have done so
 * by the time its driver hears of the request. An owner who has seen the last message come in may
 * leave at once, and its peer still completes.
 */
void nic_qp_answer_last(struct nic *nic, struct nic_qp *qp)
{
	if (qp->type == NIC_QP_DCT && !nic_is_dcr(nic, qp))
		nic_dct_answer_last(nic, qp);
	if (!nic_answer_due(qp))
		return;
	nic->left_packets = NIC_VISIT_PACKETS;
	nic->left_bytes = (int64_t)NIC_VISIT_PACKETS * ROCE_MTU_MAX_BYTES;
	nic->now_qp = qp;
	nic_answer_run(nic, qp);
}

void nic_qp_look_at(struct nic *nic, const struct nic_qp *qp, enum nic_look look)
{
	nic->qp_watch[qp->watch].look = (uint8_t)look;
	nic->qp_watch[qp->watch].sq_seen = qp->sq_pi;
}

static uint8_t transport_of(enum nic_qp_type type)
{
	switch (type) {
	case NIC_QP_RC:
		return ROCE_RC << ROCE_TRANSPORT_SHIFT;
	case NIC_QP_UC:
		return ROCE_UC << ROCE_TRANSPORT_SHIFT;
	case NIC_QP_UD:
		return ROCE_UD << ROCE_TRANSPORT_SHIFT;
	case NIC_QP_XRC_INI:
	case NIC_QP_XRC_TGT:
		return ROCE_XRC << ROCE_TRANSPORT_SHIFT;
	case NIC_QP_DCI:
	case NIC_QP_DCT:
		return ROCE_DC << ROCE_TRANSPORT_SHIFT;
	case NIC_QP_RAW:
		return ROCE_FRAME << ROCE_TRANSPORT_SHIFT;
	}
	UNREACHABLE();
}

/* Where receives come from and complete to. */
static void fill_receive(const struct nic *nic, struct nic_qp *qp, const struct nic_qp_attr *attr)
{
	qp->srqn = attr->srqn;
	qp->cqn_recv = attr->cqn_recv;
	qp->pdn_recv = qp->pdn_resp = attr->pdn;
	qp->user_index_recv = attr->user_index;
	if (attr->srqn == 0)
		return;
	qp->pdn_recv = nic->srqs[attr->srqn].pdn;
	if (attr->cqe_srqn)
		qp->user_index_recv = attr->srqn;
}

static void fill(const struct nic *nic, struct nic_qp *qp, const struct nic_qp_attr *attr)
{
	qp->type = (uint8_t)attr->type;
	qp->transport = transport_of(attr->type);
	qp->xrcdn = attr->xrcdn;
	fill_receive(nic, qp, attr);
	qp->rq_va = attr->buf_va;
	qp->sq_va = attr->buf_va + ((uint64_t)attr->rq_wqe_count << attr->rq_wqe_size_log2);
	if (attr->sq_buf_va != 0)
		qp->sq_va = attr->sq_buf_va;
	qp->db_va = attr->db_va;
	qp->sq_count = attr->sq_wqebb_count;
	qp->sq_mask = (uint16_t)(attr->sq_wqebb_count - 1);
	qp->rq_count = attr->rq_wqe_count;
	qp->rq_size_log2 = (uint8_t)attr->rq_wqe_size_log2;
	qp->rq_signed = attr->rq_signed;
	qp->pdn = attr->pdn;
	qp->cqn_send = attr->cqn_send;
	qp->user_index = attr->user_index;
	qp->sq_signal_all = attr->sq_signal_all;
	qp->cookie = attr->cookie;
	qp->dc = (struct nic_dc){.key = attr->dc_key,
				 .failed_max = (uint8_t)attr->stream_failed_max};
	nic_qp_set_state(qp, NIC_QP_RESET);
	qp->params = (struct nic_qp_params){.state = NIC_QP_RESET};
	qp->own_multicast_blocked = attr->own_multicast_blocked;
	nic_ece_create(nic, qp, attr->ece);
	/* A datagram is as long as the port's packets; the others are told their path's. */
	qp->mtu_log2 = 8;
	if (attr->type == NIC_QP_UD)
		qp->mtu_log2 = (uint8_t)ring_log2_ceil(nic->config.mtu_max_bytes);
	if (attr->type == NIC_QP_RAW)
		qp->mtu_log2 = FRAME_BYTES_LOG2;
}

/* Adds to the use counts of what qp uses. An XRC target holds nothing of the SRQ that it last
 * served; what is not there has row 0, whose count nobody reads. */
static void count_uses(struct nic *nic, const struct nic_qp *qp, int by)
{
	nic->xrcds[qp->xrcdn].users += (uint32_t)by;
	if (qp->type == NIC_QP_XRC_TGT)
		return;
	nic->pds[qp->pdn].users += (uint32_t)by;
	nic->cqs[qp->cqn_send].users += (uint32_t)by;
	nic->cqs[qp->cqn_recv].users += (uint32_t)by;
	nic->srqs[qp->srqn].users += (uint32_t)by;
}

int nic_qp_create(struct nic *nic, const struct nic_qp_attr *attr, uint32_t *qpn)
{
	struct nic_qp *qp;
	uint32_t index;
	int err;

	if (!attr_ok(nic, attr))
		return -EINVAL;
	err = take_row(nic, &index);
	if (err < 0)
		return err;
	qp = &nic->qps[index];
	qp->index = index;
	qp->flow_made = qp->networked = qp->paced = false;
	qp->turn = (struct nic_standing){0};
	qp->number = number_of(nic, index);
	qp->heap_pos = NIC_HEAP_NONE;
	qp->counters = (struct stats_qp_counters){0};
	fill(nic, qp, attr);
	clear_transport(nic, qp);
	qp->live = true;
	count_uses(nic, qp, 1);
	qp->watch = nic->qp_watch_count++;
	nic->qp_watch[qp->watch] = (struct nic_qp_watch){.db_va = qp->db_va, .index = index};
	*qpn = qp->number;
	return 0;
}

int nic_qp_destroy(struct nic *nic, uint32_t qpn)
{
	struct nic_qp *qp = nic_qp_find(nic, qpn);
	struct nic_qp_watch *last;

	if (!qp)
		return -EINVAL;
	if (qp->type == NIC_QP_RAW && nic_rss_uses(nic, qpn))
		return -EBUSY;
	nic_mcast_forget(nic, qpn);
	nic_rule_forget(nic, qpn);
	nic_qp_answer_last(nic, qp);
	nic_dct_release(nic, qp, true);
	/* In error since just now, its turn to flush is still to come. */
	if (qp->state == NIC_QP_ERR && qp->rx_held)
		nic_qp_flush_held(nic, qp);
	clear_transport(nic, qp);
	last = &nic->qp_watch[--nic->qp_watch_count];
	nic->qp_watch[qp->watch] = *last;
	nic->qps[last->index].watch = qp->watch;
	count_uses(nic, qp, -1);
	nic_qp_set_state(qp, NIC_QP_RESET);
	qp->live = false;
	nic_slot_give(&nic->qp_slots, qp->index);
	return 0;
}

int nic_qpn_reserve(struct nic *nic, uint32_t *qpn)
{
	uint32_t index;
	int err = take_row(nic, &index);

	if (err < 0)
		return err;
	ASSERT(!nic->qps[index].live);
	*qpn = number_of(nic, index);
	return 0;
}

void nic_qpn_release(struct nic *nic, uint32_t qpn)
{
	uint32_t slot = nic->block_slot[qpn >> NIC_BLOCK_LOG2];
	uint32_t index = (slot - 1) << NIC_BLOCK_LOG2 | (qpn & (NIC_BLOCK - 1));

	ASSERT(slot != 0 && !nic->qps[index].live);
	nic_slot_give(&nic->qp_slots, index);
}

int nic_qp_cookie(const struct nic *nic, uint32_t qpn, uint64_t *cookie)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp)
		return -EINVAL;
	*cookie = qp->cookie;
	return 0;
}

void nic_qp_set_cookie(struct nic *nic, uint32_t qpn, uint64_t cookie)
{
	struct nic_qp *qp = nic_qp_find(nic, qpn);

	ASSERT(qp);
	qp->cookie = cookie;
}

/* ---- modify and query ------------------------------------------------------------------------ */

static bool path_values_ok(const struct nic *nic, const struct nic_qp_params *p)
{
	if ((p->set & SET(PORT)) && p->port != 1)
		return false;
	if ((p->set & SET(PKEY_INDEX)) && p->pkey_index != 0)
		return false;
	return !(p->set & SET(MTU)) ||
	       (ring_is_power_of_two(p->mtu_bytes) && p->mtu_bytes >= MTU_MIN_BYTES &&
		p->mtu_bytes <= nic->config.mtu_max_bytes);
}

static bool values_ok(const struct nic *nic, const struct nic_qp_params *p)
{
	uint32_t rights =
	    NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F;

	if (!path_values_ok(nic, p))
		return false;
	if ((p->set & SET(ACCESS)) && (p->access & ~(rights | NIC_ACCESS_LOCAL_WRITE_F)))
		return false;
	if (((p->set & SET(TIMEOUT)) && p->timeout > CODE_MAX) ||
	    ((p->set & SET(MIN_RNR_TIMER)) && p->min_rnr_timer > CODE_MAX))
		return false;
	if (((p->set & SET(RETRY)) && p->retry_count > RETRY_MAX) ||
	    ((p->set & SET(RNR_RETRY)) && p->rnr_retry > RETRY_MAX))
		return false;
	return !((p->set & SET(RD_ATOMIC)) && p->rd_atomic > nic->config.rd_atomic_max) &&
	       !((p->set & SET(DEST_RD_ATOMIC)) && p->dest_rd_atomic > nic->config.rd_atomic_max);
}

/* On InfiniBand a GID is only there if the path has a global route: two that are zero are equal. */
bool nic_path_leads_here(const struct nic_path *path)
{
	if (path->slid != 0 && path->dlid != path->slid)
		return false;
	return memcmp(path->dgid, path->sgid, sizeof(path->sgid)) == 0;
}

#define COPY(bit, field)                         \
	do {                                     \
		if (from->set & SET(bit))        \
			to->field = from->field; \
	} while (0)

static void copy_params(struct nic_qp_params *to, const struct nic_qp_params *from)
{
	COPY(ACCESS, access);
	COPY(PATH, path);
	COPY(MTU, mtu_bytes);
	COPY(TIMEOUT, timeout);
	COPY(RETRY, retry_count);
	COPY(RNR_RETRY, rnr_retry);
	COPY(MIN_RNR_TIMER, min_rnr_timer);
	COPY(RD_ATOMIC, rd_atomic);
	COPY(DEST_RD_ATOMIC, dest_rd_atomic);
	COPY(PORT, port);
	COPY(PKEY_INDEX, pkey_index);
	COPY(RQ_PSN, rq_psn);
	COPY(SQ_PSN, sq_psn);
	COPY(DEST_QPN, dest_qpn);
	COPY(QKEY, qkey);
	COPY(UDP_SPORT, path.udp_sport);
}

static void apply_params(struct nic_qp *qp, const struct nic_qp_params *p)
{
	struct nic_qp_params *to = &qp->params;

	copy_params(to, p);
	to->rq_psn &= PSN_MASK;
	to->sq_psn &= PSN_MASK;
	to->dest_qpn &= ROCE_QPN_MASK;
	if (p->set & SET(PATH))
		qp->peer_is_here = nic_path_leads_here(&to->path);
	if (p->set & SET(MTU))
		qp->mtu_log2 = (uint8_t)ring_log2_ceil(to->mtu_bytes);
	if (p->set & SET(TIMEOUT))
		qp->timeout_ns = roce_ack_timeout_ns(to->timeout);
	if (p->set & (SET(PATH) | SET(TIMEOUT)))
		nic_rtt_forget(qp);
	if (p->set & SET(RETRY))
		qp->retry_left = to->retry_count;
	if (p->set & SET(RNR_RETRY))
		qp->rnr_left = to->rnr_retry;
	if (p->set & SET(RQ_PSN)) {
		qp->epsn = to->rq_psn;
		qp->ack_psn = psn_add(qp->epsn, -1);
	}
	if (p->set & SET(SQ_PSN))
		qp->psn_una = qp->psn_send = qp->psn_next = qp->psn_high = to->sq_psn;
}

static void qp_to_reset(struct nic *nic, struct nic_qp *qp)
{
	nic_qp_answer_last(nic, qp);
	nic_dct_release(nic, qp, false);
	clear_transport(nic, qp);
	qp->params = (struct nic_qp_params){.state = NIC_QP_RESET};
	qp->networked = false;
	nic_qp_set_state(qp, NIC_QP_RESET);
	nic_ece_begin(nic, qp);
	nic_qp_look_at(nic, qp, NIC_LOOK_NOT);
}

/* What was posted before the send queue is to work again is flushed, however much it is. */
static void flush_sends(struct nic *nic, struct nic_qp *qp)
{
	uint32_t word;

	if (nic_mem_load_be32(nic, qp->db_va + 4 * DB_SEND, &word) &&
	    (uint16_t)(word - qp->sq_next) <= qp->sq_count)
		qp->sq_pi = (uint16_t)word;
	do
		nic->left_bytes = NIC_VISIT_FLUSHES * CQE_BYTES;
	while (qp->state == NIC_QP_SQE && nic_qp_flush(nic, qp) == NIC_TURN_AGAIN);
}

void nic_qp_work(struct nic *nic, struct nic_qp *qp)
{
	nic_qp_set_state(qp, NIC_QP_RTS);
	/* Without a send ring there is no record to look at. */
	nic_qp_look_at(nic, qp, qp->sq_count != 0 ? NIC_LOOK_SQ : NIC_LOOK_NOT);
	nic_req_kick(nic, qp);
	if (nic_req_has_work(nic, qp))
		nic_ready(nic, qp);
}

static void qp_to_rts(struct nic *nic, struct nic_qp *qp)
{
	ASSERT(qp->state == NIC_QP_RTR || qp->state == NIC_QP_RTS || qp->state == NIC_QP_SQD ||
	       qp->state == NIC_QP_SQE);
	if (qp->state == NIC_QP_SQE) {
		flush_sends(nic, qp);
		/* Its completion queue may have overflowed meanwhile. */
		if (qp->state != NIC_QP_SQE)
			return;
	}
	nic_qp_work(nic, qp);
}

static void qp_to_sqd_from_rts(struct nic *nic, struct nic_qp *qp)
{
	ASSERT(qp->state == NIC_QP_RTS);
	nic_qp_set_state(qp, NIC_QP_SQD);
	qp->sqd_event = true;
	nic_qp_drained(nic, qp);
}

bool nic_qp_sq_is_drained(const struct nic *nic, uint32_t qpn)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	return qp && qp->op_tail == qp->op_head;
}

uint16_t nic_qp_sq_index(const struct nic *nic, uint32_t qpn)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	return qp ? qp->sq_next : 0;
}

int nic_qp_made(const struct nic *nic, uint32_t qpn, struct nic_qp_attr *attr)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp)
		return -EINVAL;
	*attr = (struct nic_qp_attr){.type = qp->type,
				     .sq_wqebb_count = qp->sq_count,
				     .rq_wqe_count = qp->rq_count,
				     .rq_wqe_size_log2 = qp->rq_size_log2,
				     .dc_key = qp->type == NIC_QP_DCT ? qp->dc.key : 0,
				     .user_index = qp->user_index};
	return 0;
}

int nic_qp_drain_on_sig_error(struct nic *nic, uint32_t qpn, bool drain)
{
	struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp || !nic_qp_acked(qp))
		return -EINVAL;
	qp->sig_drain = drain;
	return 0;
}

/* The entry that is being sent still is, and all before it; none is begun. */
void nic_qp_stop(struct nic_qp *qp)
{
	if (!qp->sig_drain || qp->state != NIC_QP_RTS)
		return;
	nic_qp_set_state(qp, NIC_QP_SQD);
	qp->sqd_event = true;
}

static void enter(struct nic *nic, struct nic_qp *qp, enum nic_qp_state to)
{
	switch (to) {
	case NIC_QP_RESET:
		qp_to_reset(nic, qp);
		return;
	case NIC_QP_INIT:
	case NIC_QP_RTR:
		nic_qp_set_state(qp, to);
		return;
	case NIC_QP_RTS:
		qp_to_rts(nic, qp);
		return;
	case NIC_QP_SQD:
		if (qp->state == NIC_QP_RTS)
			qp_to_sqd_from_rts(nic, qp);
		return;
	case NIC_QP_ERR:
		nic_qp_answer_last(nic, qp);
		nic_qp_error(nic, qp);
		return;
	case NIC_QP_SQE:
	case NIC_QP_STATE_COUNT:
		break;
	}
	UNREACHABLE();
}

int nic_qp_modify(struct nic *nic, uint32_t qpn, const struct nic_qp_params *params,
		  uint64_t now_ns)
{
	struct nic_qp *qp = nic_qp_find(nic, qpn);
	enum nic_qp_state from, to;
	uint8_t algorithm;

	if (!qp)
		return -EINVAL;
	nic->now_ns = now_ns;
	nic_dci_settle(nic, qp);
	from = (enum nic_qp_state)qp->state;
	to = params->set & SET(STATE) ? params->state : from;
	if ((params->set & SET(CUR_STATE)) && params->cur_state != from)
		return -EINVAL;
	if ((uint32_t)to >= NIC_QP_STATE_COUNT ||
	    !nic_qp_edge_ok((enum nic_qp_type)qp->type, from, to, params->set) ||
	    !values_ok(nic, params))
		return -EINVAL;
	apply_params(qp, params);
	algorithm = qp->cc_algorithm;
	if (params->set & SET(ECE))
		nic_ece_set(nic, qp, params->ece);
	if ((params->set & (SET(PATH) | SET(MTU) | SET(TIMEOUT))) || algorithm != qp->cc_algorithm)
		nic_flow_begin(nic, qp);
	enter(nic, qp, to);
	return 0;
}

int nic_qp_query(const struct nic *nic, uint32_t qpn, struct nic_qp_params *params)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp)
		return -EINVAL;
	*params = qp->params;
	params->set = 0;
	params->ece = qp->ece;
	if (qp->type == NIC_QP_UD || qp->type == NIC_QP_DCI || qp->type == NIC_QP_DCT ||
	    qp->type == NIC_QP_RAW) {
		params->path = (struct nic_path){.hop_limit = 0};
		params->dest_qpn = 0;
	}
	params->state = params->cur_state =
	    qp->dc.settling ? NIC_QP_RTS : (enum nic_qp_state)qp->state;
	/* Once in use, what comes next rather than what was set. */
	if (qp->state != NIC_QP_RESET && qp->state != NIC_QP_INIT) {
		params->rq_psn = qp->epsn;
		params->sq_psn = qp->psn_next;
	}
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

void nic_qp_event(struct nic *nic, const struct nic_qp *qp, enum nic_event_kind kind)
{
	struct nic_event ev = {.kind = kind, .number = qp->number, .cookie = qp->cookie};

	nic->env->event(nic->env->ctx, &ev);
}

void nic_qp_drained(struct nic *nic, struct nic_qp *qp)
{
	if (qp->state != NIC_QP_SQD || !qp->sqd_event || qp->op_tail != qp->op_head)
		return;
	qp->sqd_event = false;
	nic_qp_event(nic, qp, NIC_EVENT_QP_SQ_DRAINED);
}
