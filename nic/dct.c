/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dct.c - targets of dynamically connected queue pairs: which responder a request is for, and the
 * life of responders. What they do with it is in resp.c. See dc.h.
 */
#include "nic/nic_trace.h"

#include <linux/errno.h>

enum {
	DCRS_OF_TARGET_MAX = 4096,
	EVICTIONS_TRIED = 8,
	HOP_LIMIT = 64,
	DSCP_MASK = 0xfc,
	SPORT_MASK = 0x3fff,
};

/* After so long no copy of a packet is left on the way. */
#define LIFETIME_NS 10000000000u

static struct nic_qp *row_of(const struct nic *nic, const struct nic_dcr *dcr)
{
	return &nic->qps[nic->config.qp_count_max + (uint32_t)(dcr - nic->dcrs)];
}

static struct nic_dcr *dcr_of(const struct nic *nic, const struct nic_qp *row)
{
	return &nic->dcrs[row->index - nic->config.qp_count_max];
}

static uint32_t place_of(const struct nic *nic, const struct nic_dcr *dcr)
{
	return (uint32_t)(dcr - nic->dcrs) + 1;
}

static struct nic_dcr *at(const struct nic *nic, uint32_t place)
{
	return place == 0 ? NULL : &nic->dcrs[place - 1];
}

/* ---- the table ------------------------------------------------------------------------------- */

static uint32_t *bucket(const struct nic *nic, uint32_t target, uint32_t initiator,
			const uint8_t *sgid)
{
	uint64_t hash = (uint64_t)target << 32 | initiator;

	hash = (hash ^ be64_load(sgid)) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 29 ^ be64_load(sgid + 8)) * 0x9e3779b97f4a7c15;
	return &nic->dcr_buckets[(hash >> 40) % nic->config.dc_responder_count_max];
}

static struct nic_dcr *find(const struct nic *nic, const struct nic_qp *dct, uint32_t initiator,
			    const uint8_t *sgid)
{
	struct nic_dcr *dcr = at(nic, *bucket(nic, dct->index, initiator, sgid));

	while (dcr && (dcr->target != dct->index || dcr->initiator != initiator ||
		       memcmp(dcr->sgid, sgid, sizeof(dcr->sgid)) != 0))
		dcr = at(nic, dcr->next);
	return dcr;
}

static void list_in(const struct nic *nic, struct nic_qp *dct, struct nic_dcr *dcr)
{
	struct nic_dcr *second = at(nic, dct->dc.newest);

	dcr->newer = 0;
	dcr->older = dct->dc.newest;
	dct->dc.newest = place_of(nic, dcr);
	if (second)
		second->newer = dct->dc.newest;
	else
		dct->dc.oldest = dct->dc.newest;
}

static void list_out(const struct nic *nic, struct nic_qp *dct, const struct nic_dcr *dcr)
{
	struct nic_dcr *newer = at(nic, dcr->newer);
	struct nic_dcr *older = at(nic, dcr->older);

	if (newer)
		newer->older = dcr->older;
	else
		dct->dc.newest = dcr->older;
	if (older)
		older->newer = dcr->newer;
	else
		dct->dc.oldest = dcr->newer;
}

static void hash_in(const struct nic *nic, struct nic_dcr *dcr)
{
	uint32_t *head = bucket(nic, dcr->target, dcr->initiator, dcr->sgid);

	dcr->next = *head;
	*head = place_of(nic, dcr);
}

static void hash_out(const struct nic *nic, const struct nic_dcr *dcr)
{
	uint32_t *link = bucket(nic, dcr->target, dcr->initiator, dcr->sgid);

	while (at(nic, *link) != dcr)
		link = &at(nic, *link)->next;
	*link = dcr->next;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Everything that a responder has of its target; what the row's last use left in the ready list
 * stays. An entry of the SRQ that it holds is the next message's. */
static void fill_row(const struct nic *nic, struct nic_qp *row, const struct nic_qp *dct)
{
	struct nic_qp last = {.ready_next = row->ready_next, .is_ready = row->is_ready};

	if (row->live) {
		last.rx_held = row->rx_held;
		last.rx_index = row->rx_index;
	}
	*row = last;
	row->live = true;
	row->index = (uint32_t)(row - nic->qps);
	row->type = NIC_QP_DCT;
	row->transport = ROCE_DC << ROCE_TRANSPORT_SHIFT;
	row->mtu_log2 = dct->mtu_log2;
	row->comm_est = true;
	row->number = dct->number;
	row->pdn = row->pdn_resp = dct->pdn;
	row->pdn_recv = dct->pdn_recv;
	row->srqn = dct->srqn;
	row->cqn_recv = dct->cqn_recv;
	row->user_index_recv = dct->user_index_recv;
	row->heap_pos = NIC_HEAP_NONE;
	row->heap_ns = row->deadline_ns = NIC_TIME_NEVER;
	row->params.access = dct->params.access;
	row->params.min_rnr_timer = dct->params.min_rnr_timer;
	row->params.dest_rd_atomic = (uint8_t)nic->config.rd_atomic_max;
}

/* Who waits for the data of a READ has nothing to say. */
static bool is_silent(const struct nic *nic, const struct nic_dcr *dcr)
{
	return nic->now_ns - dcr->used_ns >= LIFETIME_NS && row_of(nic, dcr)->res_due == 0;
}

/* The one that has been silent for longest may have to go: its row, with what it holds, is the next
 * initiator's. */
static struct nic_dcr *evict(const struct nic *nic, struct nic_qp *dct)
{
	for (int i = 0; i < EVICTIONS_TRIED && dct->dc.oldest != 0; i++) {
		struct nic_dcr *dcr = at(nic, dct->dc.oldest);

		list_out(nic, dct, dcr);
		if (is_silent(nic, dcr)) {
			hash_out(nic, dcr);
			dct->dc.dcr_count--;
			return dcr;
		}
		list_in(nic, dct, dcr);
	}
	return NULL;
}

static void end_row(struct nic *nic, struct nic_qp *row)
{
	nic_turn_leave(nic, row);
	nic_wqe_forget(nic, row);
	row->live = false;
	row->state = NIC_QP_ERR;
	row->takes = 0;
	row->rx_held = row->ack_due = row->last_words = false;
	row->res_due = 0;
	row->nak_due = 0;
}

/* The one that has been silent for longest goes, and what its row holds is row's. */
static void inherit(struct nic *nic, struct nic_qp *dct, struct nic_dcr *dcr, struct nic_qp *row)
{
	struct nic_qp *silent = row_of(nic, dcr);

	row->rx_held = silent->rx_held;
	row->rx_index = silent->rx_index;
	hash_out(nic, dcr);
	nic_slot_give(&nic->dcr_slots, place_of(nic, dcr) - 1);
	dct->dc.dcr_count--;
	end_row(nic, silent);
}

bool nic_dct_find_receive(struct nic *nic, struct nic_qp *responder)
{
	struct nic_qp *dct = &nic->qps[dcr_of(nic, responder)->target];

	for (int i = 0; i < EVICTIONS_TRIED && !responder->rx_held; i++) {
		struct nic_dcr *dcr = at(nic, dct->dc.oldest);

		list_out(nic, dct, dcr);
		if (is_silent(nic, dcr))
			inherit(nic, dct, dcr, responder);
		else
			list_in(nic, dct, dcr);
	}
	return responder->rx_held;
}

/* All places are taken: one of any target has been silent for long. What holds an entry of its own
 * target's SRQ has nobody to leave it to. */
static struct nic_dcr *evict_any(struct nic *nic)
{
	for (int i = 0; i < EVICTIONS_TRIED; i++) {
		struct nic_dcr *dcr = &nic->dcrs[nic->dcr_hand];
		struct nic_qp *row = row_of(nic, dcr);
		struct nic_qp *dct = &nic->qps[dcr->target];

		nic->dcr_hand = (nic->dcr_hand + 1) % nic->config.dc_responder_count_max;
		if (!row->live || row->rx_held || !is_silent(nic, dcr))
			continue;
		list_out(nic, dct, dcr);
		hash_out(nic, dcr);
		dct->dc.dcr_count--;
		end_row(nic, row);
		return dcr;
	}
	return NULL;
}

/* A place for one more of dct's; NULL: there is none now. */
static struct nic_dcr *take_place(struct nic *nic, struct nic_qp *dct)
{
	bool may_grow = dct->dc.dcr_count < DCRS_OF_TARGET_MAX;
	struct nic_dcr *dcr;
	uint32_t index;

	if (may_grow && nic_slot_take(&nic->dcr_slots, 0, &index))
		return &nic->dcrs[index];
	dcr = evict(nic, dct);
	return !dcr && may_grow ? evict_any(nic) : dcr;
}

static struct nic_dcr *add(struct nic *nic, struct nic_qp *dct, uint32_t initiator,
			   const uint8_t *sgid)
{
	struct nic_dcr *dcr = take_place(nic, dct);

	if (!dcr)
		return NULL;
	*dcr = (struct nic_dcr){.initiator = initiator, .target = dct->index};
	memcpy(dcr->sgid, sgid, sizeof(dcr->sgid));
	hash_in(nic, dcr);
	list_in(nic, dct, dcr);
	dct->dc.dcr_count++;
	fill_row(nic, row_of(nic, dcr), dct);
	return dcr;
}

void nic_dct_release(struct nic *nic, struct nic_qp *dct, bool flush)
{
	struct nic_dcr *dcr;

	while ((dcr = at(nic, dct->dc.oldest)) != NULL) {
		struct nic_qp *row = row_of(nic, dcr);

		list_out(nic, dct, dcr);
		hash_out(nic, dcr);
		nic_slot_give(&nic->dcr_slots, place_of(nic, dcr) - 1);
		dct->dc.dcr_count--;
		if (flush && row->rx_held)
			nic_qp_flush_held(nic, row);
		end_row(nic, row);
	}
	ASSERT(dct->dc.dcr_count == 0);
}

void nic_dct_answer_last(struct nic *nic, struct nic_qp *dct)
{
	for (struct nic_dcr *dcr = at(nic, dct->dc.oldest); dcr; dcr = at(nic, dcr->newer)) {
		row_of(nic, dcr)->paced = false;
		nic_qp_answer_last(nic, row_of(nic, dcr));
	}
}

void nic_dct_answered(struct nic *nic, struct nic_qp *responder)
{
	struct stats_qp_counters *dct;

	if (!nic_is_dcr(nic, responder) || !responder->live)
		return;
	dct = &nic->qps[dcr_of(nic, responder)->target].counters;
	dct->tx_packets += responder->counters.tx_packets;
	dct->tx_payload_bytes += responder->counters.tx_payload_bytes;
	responder->counters.tx_packets = responder->counters.tx_payload_bytes = 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* The way back. */
static struct nic_path path_to(const struct nic *nic, const struct nic_qp *dct, uint32_t initiator,
			       const struct nic_rx *rx)
{
	struct nic_path path = {
	    .hop_limit = HOP_LIMIT, .slid = nic->config.lid, .dlid = nic->config.lid};

	if (rx->sgid) {
		path = nic_way_back(nic, dct, rx);
		path.traffic_class = rx->traffic_class & DSCP_MASK;
	}
	path.udp_sport = (uint16_t)(ROCE_UDP_SPORT_MIN | (initiator & SPORT_MASK));
	if (!rx->sgid && nic->config.lid == 0) {
		memcpy(path.dgid, nic->gids[0], sizeof(path.dgid));
		memcpy(path.sgid, nic->gids[0], sizeof(path.sgid));
	}
	return path;
}

/* What the one before has left undone its initiator has given up. */
static void begin(struct nic *nic, struct nic_qp *dct, struct nic_dcr *dcr, uint64_t session,
		  uint32_t first_psn, const struct nic_rx *rx)
{
	struct nic_qp *row = row_of(nic, dcr);

	dcr->session = session;
	list_out(nic, dct, dcr);
	list_in(nic, dct, dcr);
	row->state = NIC_QP_RTR;
	row->takes = NIC_TAKES_REQUESTS_F;
	row->epsn = first_psn;
	row->ack_psn = psn_add(first_psn, -1);
	row->msn = row->ack_msn = 0;
	row->rx_kind = ROCE_KIND_UNKNOWN;
	row->nak_sent = row->ack_due = row->last_words = false;
	row->nak_due = 0;
	row->rx_off = 0;
	row->res_head = 0;
	row->res_due = row->res_again = 0;
	row->params.path = path_to(nic, dct, dcr->initiator, rx);
	row->params.dest_qpn = dcr->initiator;
	nic_turn_leave(nic, row);
	row->paced = rx->sgid && nic->env->tx_window_bytes &&
		     nic->env->tx_window_bytes(nic->env->ctx, &row->params.path) != 0;
}

/* An initiator that there is no room for now. There is nothing of it to remember the answer in: one
 * at a time is told to come again, the others try again in silence. */
static void refuse(struct nic *nic, struct nic_qp *dct, uint32_t initiator, uint32_t psn,
		   const struct nic_rx *rx)
{
	nic->counters.dc_refused++;
	nic_trace_deny(nic, dct, ROCE_SYNDROME_RNR, TRACE_BY_DC_INITIATORS);
	if (dct->nak_due != 0)
		return;
	dct->params.path = path_to(nic, dct, initiator, rx);
	dct->params.dest_qpn = initiator;
	nic_resp_owe_nak(nic, dct, (uint8_t)(ROCE_SYNDROME_RNR | dct->params.min_rnr_timer), psn);
}

static bool is_older(uint64_t session, uint64_t than)
{
	uint64_t ahead = (than - session) & ROCE_DC_SESSION_MASK;

	return ahead != 0 && ahead <= ROCE_DC_SESSION_MASK / 2;
}

/* The responder of the session that the request is of; NULL: it is late, or refused. */
static struct nic_qp *responder_of(struct nic *nic, struct nic_qp *dct, const uint8_t *dceth,
				   const struct nic_rx *rx)
{
	static const uint8_t here[16];
	const uint8_t *sgid = rx->sgid ? rx->sgid : here;
	uint64_t session = be64_load(dceth + ROCE_DCETH_SESSION_OFF) >> 16;
	uint32_t initiator = be24_load(dceth + ROCE_DCETH_INITIATOR_OFF);
	uint32_t first_psn = be24_load(dceth + ROCE_DCETH_FIRST_PSN_OFF);
	struct nic_dcr *dcr = find(nic, dct, initiator, sgid);
	bool fresh = !dcr;

	if (fresh)
		dcr = add(nic, dct, initiator, sgid);
	if (!dcr) {
		refuse(nic, dct, initiator, first_psn, rx);
		return NULL;
	}
	if (!fresh && is_older(session, dcr->session) && nic->now_ns - dcr->used_ns < LIFETIME_NS) {
		nic->counters.rx_duplicate++;
		return NULL;
	}
	if (fresh || session != dcr->session)
		begin(nic, dct, dcr, session, first_psn, rx);
	dcr->used_ns = nic->now_ns;
	return row_of(nic, dcr);
}

void nic_dct_rx(struct nic *nic, struct nic_qp *dct, const struct nic_pkt *pkt,
		const struct nic_rx *rx)
{
	const uint8_t *dceth = pkt->header + ROCE_BTH_BYTES;
	struct nic_qp *row;

	if (be64_load(dceth + ROCE_DCETH_KEY_OFF) != dct->dc.key) {
		nic->counters.rx_drop_dckey++;
		nic_trace_deny(nic, dct, 0, TRACE_BY_DC_KEY);
		return;
	}
	/* InfiniBand has no wire to other ports. */
	if (rx->sgid && nic->config.lid != 0) {
		nic->counters.rx_drop_address++;
		return;
	}
	row = responder_of(nic, dct, dceth, rx);
	if (!row)
		return;
	if (nic->env->packet)
		nic->env->packet(nic->env->ctx, false, &row->params.path, rx->bth, rx->len_bytes);
	/* It has ended with a NAK. */
	if (row->state == NIC_QP_ERR) {
		nic->counters.rx_drop_state++;
		return;
	}
	if ((rx->traffic_class & ROCE_ECN_MASK) == ROCE_ECN_CE)
		nic_cnp_marked_datagram(nic, dct, pkt, rx, row->params.dest_qpn);
	dct->counters.rx_packets++;
	dct->counters.rx_payload_bytes += pkt->payload_bytes;
	nic->now_qp = row;
	nic->now_responds = true;
	nic_resp_rx(nic, row, pkt);
}

void nic_dct_die(struct nic *nic, struct nic_qp *responder, uint8_t syndrome, uint32_t psn)
{
	nic_resp_owe_nak(nic, responder, syndrome, psn);
	responder->last_words = true;
	responder->state = NIC_QP_ERR;
	responder->takes = 0;
	responder->rx_kind = ROCE_KIND_UNKNOWN;
}

/* An initiator has a send ring, a target an SRQ [rdma-core mlx5dv_create_qp]. */
bool nic_dc_objects_ok(const struct nic *nic, const struct nic_qp_attr *attr)
{
	const struct nic_srq *srq = nic_srq_find(nic, attr->srqn);

	if (attr->xrcdn != 0 || attr->rq_wqe_count != 0 || !nic_pd_find(nic, attr->pdn) ||
	    !nic_cq_find(nic, attr->cqn_send))
		return false;
	if (attr->type == NIC_QP_DCI)
		return attr->srqn == 0 && attr->cqn_recv == 0 &&
		       attr->stream_failed_max <= NIC_STREAMS_FAILED_MAX;
	return srq && srq->xrcdn == 0 && attr->sq_wqebb_count == 0 &&
	       nic_cq_find(nic, attr->cqn_recv) && nic->config.dc_responder_count_max != 0;
}

/* ---- control --------------------------------------------------------------------------------- */

int nic_dct_drain(struct nic *nic, uint32_t qpn)
{
	struct nic_qp *dct = nic_qp_find(nic, qpn);

	if (!dct || dct->type != NIC_QP_DCT)
		return -EINVAL;
	nic_dct_answer_last(nic, dct);
	nic_dct_release(nic, dct, true);
	dct->dc.drained = true;
	dct->takes = 0;
	return 0;
}

bool nic_dct_is_drained(const struct nic *nic, uint32_t qpn)
{
	const struct nic_qp *dct = nic_qp_find(nic, qpn);

	return dct && dct->type == NIC_QP_DCT && dct->dc.drained;
}

void nic_dct_check(const struct nic *nic, const struct nic_qp *dct)
{
	uint32_t count = 0;

	for (struct nic_dcr *dcr = at(nic, dct->dc.newest); dcr; dcr = at(nic, dcr->older)) {
		const struct nic_qp *row = row_of(nic, dcr);

		count++;
		ASSERT(row->live && row->number == dct->number && row->srqn == dct->srqn);
		ASSERT(find(nic, dct, dcr->initiator, dcr->sgid) == dcr);
		ASSERT(dcr->older != 0 || dct->dc.oldest == place_of(nic, dcr));
		ASSERT(row->is_ready || row->turn.dest != 0 || !nic_answer_due(row));
		ASSERT(row->state == NIC_QP_RTR || !nic_answer_due(row) || row->last_words);
	}
	ASSERT(count == dct->dc.dcr_count && count <= DCRS_OF_TARGET_MAX);
}
