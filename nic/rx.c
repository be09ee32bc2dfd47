/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rx.c - packets in: form, address, queue pair; then to its requester or its responder.
 *
 * The wire's memory may be written by the peer while we look: headers are copied once, and only the
 * copy is read.
 */
#include "nic/nic_trace.h"

/* Bytes [off, off + len_bytes) of the headers, each of them once. */
HOT void copy_header(struct nic_pkt *pkt, const uint8_t *bth, uint32_t off, uint32_t len_bytes)
{
	memcpy(pkt->header + off, bth + off, len_bytes);
	/* From here on the compiler may not go back to bth for what it has copied. */
	__asm__ volatile("" : : "r"(pkt->header) : "memory");
}

/* What is behind the BTH. Most packets have nothing there, or one word: immediate data, an AETH. */
HOT void copy_extended(struct nic_pkt *pkt, const uint8_t *bth)
{
	uint32_t len_bytes = pkt->info->header_bytes - ROCE_BTH_BYTES;

	if (len_bytes == 4)
		copy_header(pkt, bth, ROCE_BTH_BYTES, 4);
	else if (len_bytes != 0)
		copy_header(pkt, bth, ROCE_BTH_BYTES, len_bytes);
}

/* false: malformed [IBTA1 9.6]. Lengths that depend on the path MTU are left to the queue pair.
 */
static bool decode(struct nic_pkt *pkt, const struct nic_rx *rx)
{
	const uint8_t *bth = pkt->header;
	uint32_t pad, word;

	if (rx->len_bytes < ROCE_BTH_BYTES || rx->len_bytes % 4 != 0 ||
	    rx->len_bytes > ROCE_HEADERS_MAX_BYTES + ROCE_MTU_MAX_BYTES)
		return false;
	copy_header(pkt, rx->bth, 0, ROCE_BTH_BYTES);
	pkt->opcode = bth[ROCE_BTH_OPCODE_OFF];
	pkt->info = &roce_opcodes[pkt->opcode];
	if (pkt->info->kind == ROCE_KIND_UNKNOWN || rx->len_bytes < pkt->info->header_bytes ||
	    (bth[ROCE_BTH_FLAGS_OFF] & ROCE_BTH_TVER_MASK) != 0)
		return false;
	copy_extended(pkt, rx->bth);
	pad = bth[ROCE_BTH_FLAGS_OFF] >> ROCE_BTH_PAD_SHIFT & ROCE_BTH_PAD_MASK;
	pkt->payload_bytes = (uint32_t)rx->len_bytes - pkt->info->header_bytes;
	if (pad > pkt->payload_bytes)
		return false;
	pkt->payload_bytes -= pad;
	if (pkt->info->payload == ROCE_PAYLOAD_NONE && pkt->payload_bytes != 0)
		return false;
	pkt->payload = rx->bth + pkt->info->header_bytes;
	pkt->se = bth[ROCE_BTH_FLAGS_OFF] & ROCE_BTH_SE_F;
	word = be32_load(bth + ROCE_BTH_ACK_OFF); /* AckReq, PSN */
	pkt->ack_req = word >> 31;
	pkt->psn = word & PSN_MASK;
	return true;
}

/* Whether a packet is from the peer that qp is connected to. Without addresses it is from this
 * port. */
static bool address_ok(const struct nic_qp *qp, const struct nic_rx *rx)
{
	const struct nic_path *path = &qp->params.path;

	if (!rx->sgid)
		return qp->peer_is_here;
	if (path->slid != 0)
		return false; /* InfiniBand has no wire to other ports */
	return memcmp(rx->sgid, path->dgid, sizeof(path->dgid)) == 0 &&
	       (!rx->dgid || memcmp(rx->dgid, path->sgid, sizeof(path->sgid)) == 0);
}

static bool pkey_ok(struct nic *nic, const struct nic_pkt *pkt)
{
	if ((be16_load(pkt->header + ROCE_BTH_PKEY_OFF) & ROCE_PKEY_MASK) == ROCE_PKEY_MASK)
		return true;
	nic->counters.rx_drop_pkey++;
	return false;
}

/* No queue pair has that number, or not for that opcode: but a group may. */
static void rx_other(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx)
{
	bool group = be24_load(pkt->header + ROCE_BTH_DQPN_OFF) == ROCE_QPN_MASK;

	if (roce_opcode_transport(pkt->opcode) == ROCE_CNP_CLASS) {
		nic_cnp_rx(nic, pkt, rx);
	} else if (group && pkt->opcode == ROCE_OP_FRAME) {
		nic_raw_rx(nic, pkt, rx);
	} else if (pkt->info->kind == ROCE_KIND_PROBE) {
		nic_probe_rx(nic, pkt, rx);
	} else if (!group || roce_opcode_transport(pkt->opcode) != ROCE_UD) {
		nic->counters.rx_drop_qpn++;
		nic_trace_drop(nic, pkt->header, TRACE_BY_NO_QP);
	} else if (pkey_ok(nic, pkt)) {
		nic_mcast_rx(nic, pkt, rx);
	}
}

static COLD void drop_state(struct nic *nic, const struct nic_pkt *pkt)
{
	nic->counters.rx_drop_state++;
	nic_trace_drop(nic, pkt->header, TRACE_BY_QP_STATE);
}

/* qp does not take this half of what its transport has: not now, or never. Each half of XRC
 * and of DC is only a requester or only a responder. */
static COLD void rx_untaken(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt,
			    const struct nic_rx *rx, bool request)
{
	bool answers = qp->type == NIC_QP_XRC_TGT || qp->type == NIC_QP_DCT;

	if (qp->type >= NIC_QP_XRC_INI && request != answers)
		rx_other(nic, pkt, rx);
	else if (pkey_ok(nic, pkt))
		drop_state(nic, pkt);
}

HOT void rx_connected(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
		      const struct nic_rx *rx, bool request)
{
	if (!address_ok(qp, rx)) {
		nic->counters.rx_drop_address++;
		nic_trace_drop(nic, pkt->header, TRACE_BY_ADDRESS);
		return;
	}
	if (nic->env->packet)
		nic->env->packet(nic->env->ctx, false, &qp->params.path, rx->bth, rx->len_bytes);
	if ((rx->traffic_class & ROCE_ECN_MASK) == ROCE_ECN_CE)
		nic_cnp_marked(nic, qp, pkt);
	qp->counters.rx_packets++;
	qp->counters.rx_payload_bytes += pkt->payload_bytes;
	nic->now_qp = qp;
	nic->now_responds = request;
	if (qp->type == NIC_QP_UC)
		nic_uc_rx(nic, qp, pkt);
	else if (request)
		nic_resp_rx(nic, qp, pkt);
	else
		nic_comp_rx(nic, qp, pkt);
}

void nic_rx(struct nic *nic, const struct nic_rx *rx, uint64_t now_ns)
{
	struct nic_pkt pkt;
	struct nic_qp *qp;
	bool request;

	nic->now_ns = now_ns;
	nic->counters.rx_packets++;
	nic->counters.rx_bytes += rx->len_bytes;
	if (!decode(&pkt, rx)) {
		nic->counters.rx_drop_malformed++;
		return;
	}
	qp = nic_qp_find(nic, be32_load(pkt.header + ROCE_BTH_ECN_OFF) & ROCE_QPN_MASK);
	if (!qp || (pkt.opcode & ROCE_TRANSPORT_MASK) != qp->transport) {
		rx_other(nic, &pkt, rx);
		return;
	}
	request = roce_kind_is_request((enum roce_kind)pkt.info->kind);
	if (!(qp->takes & (request ? NIC_TAKES_REQUESTS_F : NIC_TAKES_ANSWERS_F))) {
		rx_untaken(nic, qp, &pkt, rx, request);
		return;
	}
	if (!pkey_ok(nic, &pkt))
		return;
	if (qp->type == NIC_QP_UD)
		nic_ud_rx(nic, qp, &pkt, rx);
	else if (qp->type == NIC_QP_DCT)
		nic_dct_rx(nic, qp, &pkt, rx);
	else
		rx_connected(nic, qp, &pkt, rx, request);
}
