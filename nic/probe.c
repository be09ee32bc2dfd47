/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - round trips of what nobody acknowledges (datagrams, UC, the data of READs), for an
 * algorithm that lives by them. Where there are acknowledgements they tell it [flow.c].
 *
 * A probe takes the way of the data, with its addresses, class and port; the answer that of
 * notifications, so that the queue of the way back is not measured. One is under way at a time, and
 * only while something is sent. An answer that does not come in time is a sign of congestion. A
 * destination that never answers does not know probes: it gets DCQCN, which needs none. But its
 * host may only be slow to wake, so the first answers are waited for longer and longer; and when
 * the last one comes after all, the flow has its own algorithm again.
 *
 * Not the probes of rtt.c, which are packets of a queue pair's own sequence, sent again.
 */
#include "nic/nic_trace.h"

enum {
	PROBE_PACKET_BYTES = ROCE_BTH_BYTES + ROCE_PROBE_BYTES,
	EVERY_PACKETS = 8, /* at most, or a round trip */
	MISSES_MAX = 5,    /* in a row, of who has never answered: 341 ms, as it is fourfold */
	MISS_SHIFT = 2,    /* each time */
	DSCP_ANSWER = 48,
	TURN_NS_MAX = 1000000000,
};

#define PATIENCE_NS 1000000u /* at least */

/* ---- asking ---------------------------------------------------------------------------------- */

static struct nic_note *begin(struct nic *nic, const struct nic_path *path, uint32_t dqpn,
			      uint8_t opcode)
{
	struct nic_note *note = nic_note_add(nic);

	if (!note)
		return NULL;
	*note = (struct nic_note){.path = *path, .dqpn = dqpn, .len_bytes = PROBE_PACKET_BYTES};
	note->bytes[ROCE_BTH_OPCODE_OFF] = opcode;
	be16_store(note->bytes + ROCE_BTH_PKEY_OFF, ROCE_PKEY_DEFAULT);
	be32_store(note->bytes + ROCE_BTH_ECN_OFF, dqpn);
	return note;
}

static void ask(struct nic *nic, const struct nic_qp *qp, struct nic_flow *flow)
{
	struct nic_probe *probe = &flow->probe;
	struct nic_note *note = begin(nic, &qp->params.path, qp->params.dest_qpn, ROCE_OP_PROBE);
	uint8_t *payload;

	if (!note)
		return;
	payload = note->bytes + ROCE_BTH_BYTES;
	payload[0] = ROCE_PROBE_VERSION;
	be32_store(payload + ROCE_PROBE_QPN_OFF, qp->number);
	be32_store(payload + ROCE_PROBE_NUMBER_OFF, ++probe->number);
	be64_store(payload + ROCE_PROBE_T1_OFF, nic->now_ns);
	probe->asked = true;
	probe->late = false;
	probe->asked_ns = nic->now_ns;
	probe->asked_for = probe->packets;
	probe->packets = probe->bytes = 0;
	flow->counters.probes_sent++;
}

void nic_probe_sent(struct nic *nic, const struct nic_qp *qp, struct nic_flow *flow,
		    uint32_t len_bytes)
{
	struct nic_probe *probe = &flow->probe;
	uint32_t window = nic_cc_window_packets(&flow->cc);
	uint64_t rtt_ns = nic_cc_rtt_ns(&flow->cc);

	probe->packets++;
	probe->bytes += len_bytes;
	nic_probe_look(nic, flow);
	if (flow->cc.algorithm != NIC_CC_RTT || probe->asked)
		return;
	if (window > EVERY_PACKETS)
		window = EVERY_PACKETS;
	if (probe->bytes >= window * flow->mtu_bytes || rtt_ns == 0 ||
	    nic->now_ns - probe->answered_ns >= rtt_ns)
		ask(nic, qp, flow);
}

/* ---- answers --------------------------------------------------------------------------------- */

void nic_probe_look(struct nic *nic, struct nic_flow *flow)
{
	uint64_t patience_ns = 4 * nic_cc_rtt_ns(&flow->cc);
	struct nic_probe *probe = &flow->probe;

	if (patience_ns < PATIENCE_NS)
		patience_ns = PATIENCE_NS;
	if (!probe->answered)
		patience_ns <<= MISS_SHIFT * probe->misses;
	if (!probe->asked || nic->now_ns - probe->asked_ns < patience_ns)
		return;
	probe->asked = false;
	probe->late = true;
	probe->misses += probe->misses < MISSES_MAX;
	flow->counters.losses++;
	if (probe->misses == MISSES_MAX && !probe->answered)
		nic_flow_use(nic, flow, NIC_CC_DCQCN); /* it does not know how */
	else
		nic_cc_on_timeout(&flow->cc, nic->now_ns);
}

/* How long it was there, as it says. */
static uint64_t turn_of(const uint8_t *payload, uint64_t rtt_ns)
{
	uint64_t turn_ns =
	    be64_load(payload + ROCE_PROBE_T3_OFF) - be64_load(payload + ROCE_PROBE_T2_OFF);

	return turn_ns < rtt_ns && turn_ns < TURN_NS_MAX ? turn_ns : 0;
}

static void answered(struct nic *nic, struct nic_flow *flow, const uint8_t *payload)
{
	struct nic_probe *probe = &flow->probe;
	uint64_t rtt_ns = nic->now_ns - probe->asked_ns;

	flow->counters.probes_answered++;
	probe->answered = true;
	probe->misses = 0;
	probe->answered_ns = nic->now_ns;
	if (probe->late) {
		probe->late = false;
		if (flow->cc.algorithm != flow->algorithm)
			nic_flow_use(nic, flow, (enum nic_cc_algorithm)flow->algorithm);
		return;
	}
	probe->asked = false;
	nic_cc_on_ack(&flow->cc, rtt_ns, probe->asked_for, turn_of(payload, rtt_ns), nic->now_ns);
}

/* Whether the flow has asked this. The number is a guess for others. */
static bool has_asked(const struct nic_flow *flow, uint32_t number)
{
	return (flow->probe.asked || flow->probe.late) && flow->probe.number == number;
}

/* The destination that asked this of who answers. */
static struct nic_dest *dest_that_asked(const struct nic *nic, const struct nic_rx *rx,
					uint32_t number)
{
	for (uint32_t i = 0; i < NIC_GID_COUNT * NIC_SL_COUNT; i++) {
		struct nic_dest_key key = {.sgid_index = (uint8_t)(i / NIC_SL_COUNT),
					   .sl = i % NIC_SL_COUNT};
		struct nic_dest *dest;

		if (!(nic->gid_live >> key.sgid_index & 1))
			continue;
		memcpy(key.dgid, rx->sgid, sizeof(key.dgid));
		dest = nic_dest_find(nic, &key);
		if (dest && has_asked(&dest->flow, number))
			return dest;
	}
	return NULL;
}

static void answer(struct nic *nic, const struct nic_qp *qp, const uint8_t *payload,
		   const struct nic_rx *rx)
{
	struct nic_path path = nic_way_back(nic, qp, rx);
	uint32_t dqpn = be32_load(payload + ROCE_PROBE_QPN_OFF) & ROCE_QPN_MASK;
	struct nic_note *note;

	path.traffic_class = DSCP_ANSWER << 2;
	note = begin(nic, &path, dqpn, ROCE_OP_PROBE_ANSWER);
	if (!note)
		return;
	memcpy(note->bytes + ROCE_BTH_BYTES, payload, ROCE_PROBE_BYTES);
	be64_store(note->bytes + ROCE_BTH_BYTES + ROCE_PROBE_T2_OFF, nic->now_ns);
}

/* An answer for qp; false: it has not asked. */
static bool rx_answer(struct nic *nic, struct nic_qp *qp, const uint8_t *payload,
		      const struct nic_rx *rx)
{
	uint32_t number = be32_load(payload + ROCE_PROBE_NUMBER_OFF);
	struct nic_dest *dest;

	if (qp->type == NIC_QP_UD || qp->type == NIC_QP_DCT) {
		dest = dest_that_asked(nic, rx, number);
		if (!dest)
			return false;
		answered(nic, &dest->flow, payload);
		dest->paced = dest->flow.cc.paced;
		return true;
	}
	if (!qp->networked || memcmp(rx->sgid, qp->params.path.dgid, 16) != 0 ||
	    !has_asked(nic_flow_of(nic, qp), number))
		return false;
	answered(nic, nic_flow_of(nic, qp), payload);
	nic_flow_probed(nic, qp);
	return true;
}

void nic_probe_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx)
{
	struct nic_qp *qp = nic_qp_find(nic, be24_load(pkt->header + ROCE_BTH_DQPN_OFF));
	uint8_t payload[ROCE_PROBE_BYTES];

	if (pkt->payload_bytes != ROCE_PROBE_BYTES) {
		nic->counters.rx_drop_malformed++;
		return;
	}
	memcpy(payload, pkt->payload, sizeof(payload));
	if (!qp || !rx->sgid || payload[0] != ROCE_PROBE_VERSION) {
		nic->counters.rx_drop_qpn++;
		nic_trace_drop(nic, pkt->header, TRACE_BY_NO_QP);
		return;
	}
	if (pkt->opcode == ROCE_OP_PROBE) {
		if (qp->takes != 0)
			answer(nic, qp, payload, rx);
		return;
	}
	nic->counters.rx_drop_ack += !rx_answer(nic, qp, payload, rx);
}
