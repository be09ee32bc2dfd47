/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow.c - the flow of a connected queue pair: what its algorithm is told and asked.
 *
 * The algorithm's window narrows window_psns, which bounds what is under way anyway; its pace is
 * kept by asking before each packet. Both only while the flow is paced: DCQCN's is not before the
 * first notification and after it has recovered, that of the round trip always is.
 *
 * Acknowledgements carry no time. When each packet left is kept, of those sent once [RFC 6298:
 * Karn]; an acknowledgement that names a packet was sent because of it, or of a newer one that went
 * before it, so their difference is a round trip.
 */
#include "nic/nic_priv.h"

#include <linux/errno.h>

void nic_flow_start(const struct nic *nic, struct nic_flow *flow, enum nic_cc_algorithm algorithm,
		    uint32_t mtu_bytes, uint64_t ack_timeout_ns)
{
	/* What is under way is bounded here, and not counted there. */
	struct nic_cc_flow made = {
	    .line_rate_bps = nic->cong.line_rate_bps,
	    .mtu_bytes = mtu_bytes,
	    .ack_timeout_ns = ack_timeout_ns,
	};

	flow->algorithm = (uint8_t)algorithm;
	flow->mtu_bytes = mtu_bytes;
	flow->ack_timeout_ns = ack_timeout_ns;
	flow->probe = (struct nic_probe){.number = flow->probe.number};
	nic_cc_init(&flow->cc, algorithm, nic->cong.params, &made, nic->now_ns);
}

void nic_flow_use(const struct nic *nic, struct nic_flow *flow, enum nic_cc_algorithm algorithm)
{
	uint8_t chosen = flow->algorithm;
	struct nic_probe probe = flow->probe;

	nic_flow_start(nic, flow, algorithm, flow->mtu_bytes, flow->ack_timeout_ns);
	flow->algorithm = chosen;
	flow->probe = probe;
}

struct nic_flow *nic_flow_of(const struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *flow = &nic->cong.flows[qp->index];

	if (!qp->flow_made) {
		*flow = (struct nic_flow){.alarm_ns = NIC_CC_NEVER, .dest = NIC_DEST_NONE};
		nic_flow_start(nic, flow, NIC_CC_NONE, 1u << qp->mtu_log2, 0);
		qp->flow_made = true;
	}
	return flow;
}

/* Where the algorithm is: of an initiator of DC, with all others that have this destination. */
static struct nic_flow *ruling(const struct nic *nic, struct nic_flow *own)
{
	return own->dest == NIC_DEST_NONE ? own : &nic->cong.dests[own->dest].flow;
}

/* What follows from what the algorithm has come to. One that others use, too, is always asked. */
static void update(const struct nic *nic, struct nic_qp *qp, struct nic_flow *own)
{
	const struct nic_flow *flow = ruling(nic, own);
	uint32_t window = own->window_psns;

	qp->paced = flow->cc.paced || (flow != own && flow->algorithm != NIC_CC_NONE);
	if (flow->cc.paced && flow->cc.window_packets < window)
		window = flow->cc.window_packets;
	if (nic_qp_acked(qp))
		qp->window_psns = window;
}

/* ---- its life -------------------------------------------------------------------------------- */

/* The path's bound in packets. A READ is asked for by halves of it, so that the next half is on
 * its way while one comes in. */
static void set_window(const struct nic *nic, struct nic_qp *qp)
{
	/* An initiator of DC leads nowhere before its first entry, a datagram queue pair never. */
	bool leads = qp->type == NIC_QP_DCI ? qp->params.dest_qpn != 0 : qp->type != NIC_QP_UD;
	uint32_t bytes = 0;

	if (nic->env->tx_window_bytes && leads)
		bytes = nic->env->tx_window_bytes(nic->env->ctx, &qp->params.path);
	qp->networked = bytes != 0;
	/* What nobody acknowledges is not under way for any time. */
	if (!nic_qp_acked(qp))
		bytes = 0;
	qp->window_psns = bytes >> qp->mtu_log2;
	if (bytes != 0 && qp->window_psns < 2)
		qp->window_psns = 2;
	qp->read_psns = qp->window_psns / 2;
}

/* Its rate is remembered as if it had been used until now. */
static void leave_dest(struct nic *nic, struct nic_qp *qp, struct nic_flow *own)
{
	struct nic_dest *dest;

	nic_turn_leave(nic, qp);
	if (own->dest == NIC_DEST_NONE)
		return;
	dest = &nic->cong.dests[own->dest];
	dest->users--;
	dest->used_ns = nic->now_ns;
	own->dest = NIC_DEST_NONE;
}

/* Without room for another destination it is as if there were no algorithm. */
static void enter_dest(struct nic *nic, const struct nic_qp *qp, struct nic_flow *own)
{
	struct nic_dest_key key = nic_dest_key_of(&qp->params.path);
	struct nic_dest *dest = nic_dest_get(nic, &key);

	nic_flow_start(nic, own, NIC_CC_NONE, 1u << qp->mtu_log2, 0);
	if (!dest)
		return;
	dest->users++;
	own->dest = (uint16_t)(dest - nic->cong.dests);
}

/* Who has an algorithm can be told. */
static void set_ecn(const struct nic *nic, struct nic_qp *qp, struct nic_flow *own)
{
	bool tells = ruling(nic, own)->algorithm != NIC_CC_NONE;

	qp->params.path.ecn = tells ? ROCE_ECN_ECT_0 : ROCE_ECN_NOT_ECT;
}

void nic_flow_begin(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *own;

	set_window(nic, qp);
	qp->params.path.ecn = ROCE_ECN_NOT_ECT;
	qp->paced = false;
	if (qp->type == NIC_QP_DCI && qp->flow_made)
		leave_dest(nic, qp, &nic->cong.flows[qp->index]);
	if (!qp->networked || qp->type == NIC_QP_DCT)
		return;
	own = nic_flow_of(nic, qp);
	own->window_psns = qp->window_psns;
	own->acked_psn = qp->psn_una;
	memset(own->stamps, 0, sizeof(own->stamps));
	if (qp->type == NIC_QP_DCI)
		enter_dest(nic, qp, own);
	else
		nic_flow_start(nic, own, (enum nic_cc_algorithm)qp->cc_algorithm,
			       1u << qp->mtu_log2, nic_qp_acked(qp) ? qp->timeout_ns : 0);
	set_ecn(nic, qp, own);
	update(nic, qp, own);
}

void nic_flow_follow(struct nic *nic, uint16_t dest)
{
	for (uint32_t i = 0; i < nic->qp_watch_count; i++) {
		struct nic_qp *qp = &nic->qps[nic->qp_watch[i].index];
		struct nic_flow *own = &nic->cong.flows[qp->index];

		if (qp->type != NIC_QP_DCI || !qp->flow_made || own->dest != dest)
			continue;
		set_ecn(nic, qp, own);
		update(nic, qp, own);
		/* More may be under way now. */
		if (nic_req_has_work(nic, qp))
			nic_ready(nic, qp);
	}
}

void nic_flow_end(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *own;

	nic_turn_leave(nic, qp);
	qp->paced = false;
	if (!qp->flow_made)
		return;
	own = &nic->cong.flows[qp->index];
	nic_alarm_cancel(nic, qp);
	nic_notes_forget(nic, own);
	if (qp->type == NIC_QP_DCI)
		leave_dest(nic, qp, own);
}

/* ---- before and after a packet --------------------------------------------------------------- */

bool nic_flow_gate(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *own = nic_flow_of(nic, qp);
	struct nic_flow *flow = ruling(nic, own);
	uint64_t at_ns;

	if (flow != own) {
		update(nic, qp, own);
		return nic_turn_take(nic, qp, &nic->cong.dests[own->dest]);
	}
	at_ns = nic_cc_may_send(&flow->cc, nic->now_ns);
	update(nic, qp, own);
	if (at_ns == 0 || at_ns <= nic->now_ns)
		return true;
	flow->counters.waits += own->alarm_ns == NIC_CC_NEVER;
	nic_alarm_set(nic, qp, at_ns);
	return false;
}

void nic_flow_sent(struct nic *nic, struct nic_qp *qp, uint32_t len_bytes)
{
	struct nic_flow *own = nic_flow_of(nic, qp);
	struct nic_flow *flow = ruling(nic, own);

	flow->counters.tx_packets++;
	nic_cc_on_send(&flow->cc, len_bytes, nic->now_ns);
	if (flow != own)
		nic_turn_sent(nic, &nic->cong.dests[own->dest]);
	update(nic, qp, own);
}

/* Acknowledgements of requests of its own are the better measure. */
void nic_flow_unacked(struct nic *nic, struct nic_qp *qp, uint32_t len_bytes)
{
	struct nic_flow *own = nic_flow_of(nic, qp);

	nic_flow_sent(nic, qp, len_bytes);
	if (own->algorithm != NIC_CC_RTT || (nic_cc_rtt_ns(&own->cc) != 0 && !own->probe.answered))
		return;
	nic_probe_sent(nic, qp, own, len_bytes);
	update(nic, qp, own);
}

void nic_flow_probed(struct nic *nic, struct nic_qp *qp)
{
	update(nic, qp, nic_flow_of(nic, qp));
}

/* ---- what comes back ------------------------------------------------------------------------- */

bool nic_flow_waits(const struct nic *nic, const struct nic_qp *qp)
{
	uint64_t alarm_ns = nic->cong.flows[qp->index].alarm_ns;

	return qp->turn.dest != 0 || (alarm_ns != NIC_CC_NEVER && alarm_ns > nic->now_ns);
}

void nic_flow_message(struct nic *nic, struct nic_qp *qp, uint32_t psn, uint32_t len_bytes)
{
	struct nic_stamp *stamp = &nic_flow_of(nic, qp)->stamps[psn % NIC_STAMPS];

	/* With more under way than there is room for, who is waited for keeps its own. */
	if (!(stamp->psn & NIC_STAMP_F) || psn_diff(stamp->psn & PSN_MASK, qp->psn_una) < 0)
		*stamp =
		    (struct nic_stamp){.psn = psn | NIC_STAMP_F, .at_ns = (uint32_t)nic->now_ns};
	nic_flow_sent(nic, qp, len_bytes);
}

void nic_flow_resent(struct nic *nic, struct nic_qp *qp, uint32_t psn)
{
	struct nic_flow *own = nic_flow_of(nic, qp);

	if (own->stamps[psn % NIC_STAMPS].psn == (psn | NIC_STAMP_F))
		own->stamps[psn % NIC_STAMPS].psn = 0;
	ruling(nic, own)->counters.retransmits++;
}

void nic_flow_acked(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *own = nic_flow_of(nic, qp);
	struct nic_flow *flow = ruling(nic, own);
	uint32_t newest = psn_add(qp->psn_una, -1);
	struct nic_stamp *stamp = &own->stamps[newest % NIC_STAMPS];
	uint32_t packets = (qp->psn_una - own->acked_psn) & PSN_MASK;
	uint32_t rtt_ns = 0;

	own->acked_psn = qp->psn_una;
	if (stamp->psn == (newest | NIC_STAMP_F)) {
		rtt_ns = (uint32_t)nic->now_ns - stamp->at_ns;
		stamp->psn = 0;
	}
	if (rtt_ns != 0 && flow->cc.algorithm != flow->algorithm && flow == own)
		nic_flow_use(nic, own, (enum nic_cc_algorithm)own->algorithm);
	nic_cc_on_ack(&flow->cc, rtt_ns, packets, 0, nic->now_ns);
	if (flow == own && qp->psn_una == qp->psn_next && qp->sq_next == qp->sq_pi)
		nic_cc_on_idle(&flow->cc, nic->now_ns);
	update(nic, qp, own);
}

void nic_flow_lost(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *own = nic_flow_of(nic, qp);
	struct nic_flow *flow = ruling(nic, own);

	flow->counters.losses++;
	nic_cc_on_loss(&flow->cc, nic->now_ns);
	update(nic, qp, own);
}

void nic_flow_timed_out(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *own = nic_flow_of(nic, qp);
	struct nic_flow *flow = ruling(nic, own);

	flow->counters.timeouts++;
	nic_cc_on_timeout(&flow->cc, nic->now_ns);
	update(nic, qp, own);
}

bool nic_flow_notified(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *own = nic_flow_of(nic, qp);
	bool handled = qp->networked && nic_cc_on_cnp(&own->cc, nic->now_ns);

	own->counters.cnps_handled += handled;
	own->counters.cnps_ignored += !handled;
	own->acked_psn = qp->psn_una;
	update(nic, qp, own);
	return handled;
}

/* ---- seeing it ------------------------------------------------------------------------------- */

void nic_flow_stats_of(const struct nic *nic, struct nic_flow *flow, struct nic_flow_stats *stats)
{
	nic_cc_expire(&flow->cc, nic->now_ns);
	*stats = (struct nic_flow_stats){
	    .algorithm = (enum nic_cc_algorithm)flow->cc.algorithm,
	    .paced = flow->cc.paced,
	    .rate_bps = nic_cc_rate_bps(&flow->cc),
	    .rtt_ns = nic_cc_rtt_ns(&flow->cc),
	    .window_packets = nic_cc_window_packets(&flow->cc),
	    .counters = flow->counters,
	};
}

int nic_qp_flow_stats(struct nic *nic, uint32_t qpn, uint64_t now_ns, struct nic_flow_stats *stats)
{
	struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp || qp->type == NIC_QP_UD || qp->type == NIC_QP_RAW || qp->type == NIC_QP_DCI ||
	    qp->type == NIC_QP_DCT)
		return -EINVAL;
	nic->now_ns = now_ns;
	/* Who has none is not given one by being looked at. */
	if (qp->flow_made)
		nic_flow_stats_of(nic, nic_flow_of(nic, qp), stats);
	else
		*stats = (struct nic_flow_stats){.algorithm = NIC_CC_NONE,
						 .rate_bps = nic->cong.line_rate_bps,
						 .window_packets = UINT32_MAX};
	/* Measured anyway, to know when silence is one [rtt.c]. */
	if (stats->rtt_ns == 0)
		stats->rtt_ns = qp->srtt_ns;
	return 0;
}
