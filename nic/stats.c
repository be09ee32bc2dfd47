/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.c - what the NIC has counted, by the names that Linux gives it: docs/SOURCES.md says what
 * of ours each one is.
 */
#include "nic/nic_priv.h"

#include <linux/errno.h>

/* Places of the table that one call looks at. */
enum { LOOKS_MAX = 1024 };

static void take_requester(const struct nic_counters *c, uint64_t v[static STATS_COUNT])
{
	v[STATS_rnr_nak_retry_err] = c->rx_rnr - c->req_rnr_exceeded;
	v[STATS_packet_seq_err] = c->rx_nak_sequence;
	v[STATS_implied_nak_seq_err] = c->implied_naks;
	v[STATS_local_ack_timeout_err] = c->ack_timeouts - c->ack_timeouts_last;
	v[STATS_req_cqe_error] = c->req_cqe_error + c->req_cqe_flush;
	v[STATS_req_cqe_flush_error] = c->req_cqe_flush;
	v[STATS_req_remote_invalid_request] = c->req_remote_invalid;
	v[STATS_req_remote_access_errors] = c->req_remote_access;
	v[STATS_req_transport_retries_exceeded] = c->req_retries_exceeded;
	v[STATS_req_rnr_retries_exceeded] = c->req_rnr_exceeded;
	v[STATS_roce_adp_retrans] = c->ack_probes;
	v[STATS_rp_cnp_ignored] = c->rp_cnp_ignored;
	v[STATS_rp_cnp_handled] = c->rp_cnp_handled;
}

static void take_responder(const struct nic_counters *c, uint64_t v[static STATS_COUNT])
{
	v[STATS_rx_write_requests] = c->rx_write_requests;
	v[STATS_rx_read_requests] = c->rx_read_requests;
	v[STATS_rx_atomic_requests] = c->rx_atomic_requests;
	v[STATS_out_of_buffer] = c->rx_no_receive;
	v[STATS_out_of_sequence] = c->rx_out_of_sequence;
	v[STATS_duplicate_request] = c->rx_duplicate;
	v[STATS_resp_local_length_error] = c->resp_local_length;
	v[STATS_resp_cqe_error] = c->resp_cqe_error + c->resp_cqe_flush;
	v[STATS_resp_cqe_flush_error] = c->resp_cqe_flush;
	v[STATS_resp_remote_access_errors] = c->tx_nak_access;
	v[STATS_np_ecn_marked_roce_packets] = c->np_ecn_marked_roce_packets;
	v[STATS_np_cnp_sent] = c->np_cnp_sent;
}

/* Those of the wire are its own to count. */
static void take_port(const struct nic_counters *c, const struct nic_wire_counters *wire,
		      uint64_t v[static STATS_COUNT])
{
	v[STATS_rx_icrc_encapsulated] = wire->rx_icrc;
	v[STATS_port_xmit_data] = c->tx_bytes / 4;
	v[STATS_port_xmit_packets] = c->tx_packets;
	v[STATS_port_rcv_data] = c->rx_bytes / 4;
	v[STATS_port_rcv_packets] = c->rx_packets;
	v[STATS_port_rcv_errors] = c->rx_drop_malformed + wire->rx_malformed + wire->rx_icrc;
	v[STATS_port_xmit_discards] = c->tx_drop_late + wire->tx_discards;
	v[STATS_multicast_xmit_packets] = c->tx_multicast;
	v[STATS_multicast_rcv_packets] = c->rx_multicast;
	v[STATS_unicast_xmit_packets] = c->tx_packets - c->tx_multicast;
	v[STATS_unicast_rcv_packets] = c->rx_packets - c->rx_multicast;
}

void nic_stats(const struct nic *nic, uint64_t counters[static STATS_COUNT])
{
	struct nic_wire_counters wire = {0};

	if (nic->env->wire_counters)
		nic->env->wire_counters(nic->env->ctx, &wire);
	take_requester(&nic->counters, counters);
	take_responder(&nic->counters, counters);
	take_port(&nic->counters, &wire, counters);
}

static uint8_t type_of(enum nic_qp_type type)
{
	switch (type) {
	case NIC_QP_RC:
		return STATS_TYPE_RC;
	case NIC_QP_UC:
		return STATS_TYPE_UC;
	case NIC_QP_UD:
		return STATS_TYPE_UD;
	case NIC_QP_XRC_INI:
		return STATS_TYPE_XRC_INI;
	case NIC_QP_XRC_TGT:
		return STATS_TYPE_XRC_TGT;
	case NIC_QP_DCI:
		return STATS_TYPE_DCI;
	case NIC_QP_DCT:
		return STATS_TYPE_DCT;
	case NIC_QP_RAW:
		return STATS_TYPE_RAW;
	}
	return STATS_TYPE_OTHER;
}

static uint8_t state_of(enum nic_qp_state state)
{
	switch (state) {
	case NIC_QP_RESET:
		return STATS_STATE_RESET;
	case NIC_QP_INIT:
		return STATS_STATE_INIT;
	case NIC_QP_RTR:
		return STATS_STATE_RTR;
	case NIC_QP_RTS:
		return STATS_STATE_RTS;
	case NIC_QP_SQD:
		return STATS_STATE_SQD;
	case NIC_QP_SQE:
		return STATS_STATE_SQE;
	case NIC_QP_ERR:
		return STATS_STATE_ERR;
	case NIC_QP_STATE_COUNT:
		break;
	}
	return STATS_STATE_OTHER;
}

/* Whether it has a peer: params.path and dest_qpn of a datagram queue pair are those of an entry.
 */
static bool is_connected(const struct nic_qp *qp)
{
	return (qp->type == NIC_QP_RC || qp->type == NIC_QP_UC || qp->type == NIC_QP_XRC_INI ||
		qp->type == NIC_QP_XRC_TGT) &&
	       qp->state != NIC_QP_RESET && qp->state != NIC_QP_INIT;
}

static void flow_of_cc(const struct nic_flow_stats *stats, struct stats_flow *flow)
{
	const struct nic_flow_counters *c = &stats->counters;

	flow->has_cc = true;
	flow->algorithm = (uint8_t)stats->algorithm;
	flow->mapped = stats->mapped;
	flow->paced = stats->paced;
	flow->window_packets = stats->window_packets;
	flow->rate_bps = stats->rate_bps;
	flow->rtt_ns = stats->rtt_ns;
#define X(name) flow->cc.name = c->name;
	STATS_CC_COUNTERS(X)
#undef X
}

static void flow_of_qp(struct nic *nic, const struct nic_qp *qp, uint64_t now_ns,
		       struct stats_flow *flow)
{
	struct nic_flow_stats stats;

	*flow = (struct stats_flow){
	    .qpn = qp->number,
	    .type = type_of((enum nic_qp_type)qp->type),
	    .state = state_of((enum nic_qp_state)qp->state),
	    .qp = qp->counters,
	};
	if (!is_connected(qp))
		return;
	if (nic_qp_flow_stats(nic, qp->number, now_ns, &stats) == 0)
		flow_of_cc(&stats, flow);
	flow->dest_qpn = qp->params.dest_qpn;
	flow->sl = qp->params.path.sl;
	flow->sgid_index = qp->params.path.sgid_index;
	flow->dlid = qp->params.path.dlid;
	memcpy(flow->dgid, qp->params.path.dgid, sizeof(flow->dgid));
}

static void flow_of_dest(const struct nic_dest_key *key, const struct nic_flow_stats *stats,
			 struct stats_flow *flow)
{
	*flow =
	    (struct stats_flow){.sl = key->sl, .sgid_index = key->sgid_index, .dlid = key->dlid};
	memcpy(flow->dgid, key->dgid, sizeof(flow->dgid));
	flow_of_cc(stats, flow);
	flow->qp.tx_packets = stats->counters.tx_packets;
}

/* Queue pairs from row *row on; whether all have been looked at. */
static bool look_at_qps(struct nic *nic, uint32_t *row, struct stats_flow *flows,
			uint32_t count_max, uint64_t now_ns, uint32_t *count)
{
	for (uint32_t i = 0; i < LOOKS_MAX && *count < count_max; i++) {
		if (*row >= nic->qp_slots.fresh)
			return true;
		if (nic->qps[*row].live)
			flow_of_qp(nic, &nic->qps[*row], now_ns, &flows[(*count)++]);
		(*row)++;
	}
	return *row >= nic->qp_slots.fresh;
}

uint32_t nic_stats_flows(struct nic *nic, uint32_t *from, struct stats_flow *flows,
			 uint32_t count_max, uint64_t now_ns)
{
	struct nic_flow_stats stats;
	struct nic_dest_key key;
	uint32_t count = 0, cursor;

	if (*from < STATS_DEST_FIRST) {
		if (look_at_qps(nic, from, flows, count_max, now_ns, &count))
			*from = STATS_DEST_FIRST;
		return count;
	}
	cursor = *from - STATS_DEST_FIRST;
	while (count < count_max && nic_dest_next(nic, &cursor, now_ns, &key, &stats))
		flow_of_dest(&key, &stats, &flows[count++]);
	*from = count == count_max ? STATS_DEST_FIRST + cursor : 0;
	return count;
}

int nic_stats_qp(struct nic *nic, uint32_t qpn, uint64_t now_ns, struct stats_flow *flow)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp)
		return -EINVAL;
	flow_of_qp(nic, qp, now_ns, flow);
	return 0;
}
