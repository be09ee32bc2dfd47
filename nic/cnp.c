/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cnp.c - congestion notification packets [RoCEv2 A17.9.3]: a marked packet is answered by one, at
 * once, and then at most by one in an interval; one that comes slows the flow that it names.
 *
 * A notification has the number of the queue pair that is to slow down, and no sequence: nobody
 * acknowledges or repeats it. It is never marked itself, so that none is answered by another.
 */
#include "nic/nic_trace.h"

enum {
	CNP_BYTES = ROCE_BTH_BYTES + ROCE_CNP_PAYLOAD_BYTES,
	CNP_DSCP = 48, /* the cards' default [dcqcn-params] */
	HOP_LIMIT_DEFAULT = 64,
};

/* ---- notes: packets out that belong to no sequence ------------------------------------------- */

struct nic_note *nic_note_add(struct nic *nic)
{
	struct nic_cong *cong = &nic->cong;

	if (cong->note_count == NIC_NOTES_MAX)
		return NULL;
	cong->work_count++;
	return &cong->notes[(cong->note_first + cong->note_count++) % NIC_NOTES_MAX];
}

static bool note_send(struct nic *nic, const struct nic_note *note)
{
	const struct nic_env *env = nic->env;
	uint8_t *bth = env->tx_reserve(env->ctx, &note->path, note->dqpn, note->len_bytes);

	if (!bth)
		return false;
	memcpy(bth, note->bytes, note->len_bytes);
	if (note->bytes[ROCE_BTH_OPCODE_OFF] == ROCE_OP_PROBE_ANSWER)
		be64_store(bth + ROCE_BTH_BYTES + ROCE_PROBE_T3_OFF, nic->now_ns);
	if (env->packet)
		env->packet(env->ctx, true, &note->path, bth, note->len_bytes);
	env->tx_commit(env->ctx);
	nic->counters.tx_packets++;
	nic->counters.tx_bytes += note->len_bytes;
	nic->counters.np_cnp_sent += note->bytes[ROCE_BTH_OPCODE_OFF] == ROCE_OP_CNP;
	if (note->flow)
		note->flow->counters.cnps_sent++;
	return true;
}

void nic_notes_run(struct nic *nic)
{
	struct nic_cong *cong = &nic->cong;

	while (cong->note_count != 0) {
		if (!note_send(nic, &cong->notes[cong->note_first]))
			return;
		cong->note_first = (cong->note_first + 1) % NIC_NOTES_MAX;
		cong->note_count--;
		cong->work_count--;
	}
}

void nic_notes_forget(struct nic *nic, const struct nic_flow *flow)
{
	struct nic_cong *cong = &nic->cong;

	for (uint32_t i = 0; i < cong->note_count; i++) {
		struct nic_note *note = &cong->notes[(cong->note_first + i) % NIC_NOTES_MAX];

		if (note->flow == flow)
			note->flow = NULL;
	}
}

/* ---- notification point ---------------------------------------------------------------------- */

/* To queue pair dqpn at the other end of *path, about a packet with that P_Key. */
static void notify(struct nic *nic, struct nic_flow *flow, const struct nic_path *path,
		   uint32_t dqpn, uint16_t pkey)
{
	uint64_t interval_ns = nic->cong.params->dcqcn.min_time_between_cnps_us * 1000ull;
	struct nic_note *note;

	flow->counters.marks++;
	if (nic->cong.note_count == NIC_NOTES_MAX ||
	    !nic_cnp_due(&flow->limiter, interval_ns, nic->now_ns))
		return;
	note = nic_note_add(nic);
	*note =
	    (struct nic_note){.path = *path, .dqpn = dqpn, .len_bytes = CNP_BYTES, .flow = flow};
	note->path.traffic_class = CNP_DSCP << 2;
	note->path.ecn = ROCE_ECN_NOT_ECT;
	note->bytes[ROCE_BTH_OPCODE_OFF] = ROCE_OP_CNP;
	be16_store(note->bytes + ROCE_BTH_PKEY_OFF, pkey);
	be32_store(note->bytes + ROCE_BTH_ECN_OFF, (uint32_t)ROCE_BTH_BECN_F << 24 | dqpn);
}

void nic_cnp_marked(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	nic->counters.np_ecn_marked_roce_packets++;
	notify(nic, nic_flow_of(nic, qp), &qp->params.path, qp->params.dest_qpn,
	       be16_load(pkt->header + ROCE_BTH_PKEY_OFF));
}

/* The way back to where a datagram came from. Its service level is what its class says. */
struct nic_path nic_way_back(const struct nic *nic, const struct nic_qp *qp,
			     const struct nic_rx *rx)
{
	const uint8_t *own = rx->dgid ? rx->dgid : nic->gids[0];
	struct nic_path path = {.hop_limit = HOP_LIMIT_DEFAULT,
				.sl = rx->traffic_class >> 5,
				.udp_sport = (uint16_t)(qp->number | ROCE_UDP_SPORT_MIN)};

	memcpy(path.dgid, rx->sgid, sizeof(path.dgid));
	memcpy(path.sgid, own, sizeof(path.sgid));
	for (uint8_t i = 0; i < NIC_GID_COUNT; i++)
		if ((nic->gid_live >> i & 1) && memcmp(nic->gids[i], own, 16) == 0) {
			path.sgid_index = i;
			break;
		}
	return path;
}

/* One source and service level is one flow, whichever of our queue pairs it sends to. */
void nic_cnp_marked_datagram(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
			     const struct nic_rx *rx, uint32_t source_qpn)
{
	struct nic_dest_key key;
	struct nic_dest *dest;
	struct nic_path path;

	nic->counters.np_ecn_marked_roce_packets++;
	if (!rx->sgid || (rx->dgid && roce_gid_is_multicast(rx->dgid)))
		return;
	path = nic_way_back(nic, qp, rx);
	key = nic_dest_key_of(&path);
	dest = nic_dest_get(nic, &key);
	if (!dest)
		return;
	dest->used_ns = nic->now_ns;
	notify(nic, &dest->flow, &path, source_qpn, be16_load(pkt->header + ROCE_BTH_PKEY_OFF));
}

/* ---- reaction point -------------------------------------------------------------------------- */

/* Whether it is from where qp's packets go. */
static bool from_peer(const struct nic_qp *qp, const struct nic_rx *rx)
{
	return rx->sgid && memcmp(rx->sgid, qp->params.path.dgid, 16) == 0;
}

/* What it may name: a queue pair that sends, or answers. */
static bool sends(const struct nic_qp *qp)
{
	return qp->state == NIC_QP_RTR || qp->state == NIC_QP_RTS || qp->state == NIC_QP_SQD;
}

void nic_cnp_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx)
{
	struct nic_qp *qp = nic_qp_find(nic, be24_load(pkt->header + ROCE_BTH_DQPN_OFF));
	bool handled = false;

	if (pkt->opcode != ROCE_OP_CNP || pkt->payload_bytes != ROCE_CNP_PAYLOAD_BYTES) {
		nic->counters.rx_drop_malformed++;
		return;
	}
	if (!qp || !sends(qp)) {
		nic_trace_drop(nic, pkt->header, qp ? TRACE_BY_QP_STATE : TRACE_BY_NO_QP);
	} else if (qp->type == NIC_QP_UD || qp->type == NIC_QP_DCI || qp->type == NIC_QP_DCT) {
		handled = nic_dest_notified(nic, rx);
	} else if (from_peer(qp, rx)) {
		if (nic->env->packet)
			nic->env->packet(nic->env->ctx, false, &qp->params.path, rx->bth,
					 rx->len_bytes);
		handled = nic_flow_notified(nic, qp);
	} else {
		nic_trace_drop(nic, pkt->header, TRACE_BY_ADDRESS);
	}
	nic->counters.rp_cnp_handled += handled;
	nic->counters.rp_cnp_ignored += !handled;
}
