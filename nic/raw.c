/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw.c - raw packet queue pairs, which send and receive whole Ethernet frames.
 *
 * A frame stays on its port: it goes to every process of it, this one too, as the payload of a
 * packet of our own opcode to a group of our own. To which queue pairs it comes the rules say
 * [rule.c].
 */
#include "nic/nic_trace.h"
#include "nic/rule.h"

enum {
	ETH_BYTES = 14,
	VLAN_BYTES = 4,
};

static const struct nic_path path = {
    .dgid = ROCE_FRAMES_GID,
    .datagram = true,
};

bool nic_raw_length_ok(const struct nic *nic, uint64_t len_bytes)
{
	return len_bytes >= ETH_BYTES &&
	       len_bytes <= nic->config.mtu_max_bytes + ETH_BYTES + 2 * VLAN_BYTES;
}

void nic_raw_address(struct nic_qp *qp)
{
	qp->params.path = path;
	qp->params.dest_qpn = ROCE_QPN_MASK;
}

/* ---- in -------------------------------------------------------------------------------------- */

static void die(struct nic *nic, struct nic_qp *qp)
{
	nic_qp_error(nic, qp);
	nic_qp_event(nic, qp, NIC_EVENT_QP_FATAL);
}

/* Whether there is a receive for it, in nic->rx_wqe, that is long enough. Else it is lost. */
static bool fits(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt)
{
	bool any = nic_resp_has_receive(nic, qp);

	if (any && nic->rx_wqe.len_bytes >= pkt->payload_bytes)
		return true;
	nic->counters.rx_drop_message++;
	if (any) {
		nic_trace_deny_short(nic, qp, pkt->payload_bytes);
		return false;
	}
	nic->counters.rx_no_receive++;
	nic_trace_deny(nic, qp, 0, TRACE_BY_NO_RECEIVE);
	return false;
}

static void deliver(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	static const struct nic_from nobody;
	enum nic_mem verdict;

	if (qp->state != NIC_QP_RTR && qp->state != NIC_QP_RTS && qp->state != NIC_QP_SQD &&
	    qp->state != NIC_QP_SQE) {
		nic->counters.rx_drop_state++;
		return;
	}
	nic->now_qp = qp;
	nic->now_responds = true;
	if (!nic_resp_look(nic, qp, pkt) ||
	    (nic_resp_has_receive(nic, qp) && !nic_wqe_fetch_receive(nic, qp))) {
		die(nic, qp);
		return;
	}
	if (!fits(nic, qp, pkt))
		return;
	verdict =
	    nic_mem_scatter(nic, qp->pdn_recv, &nic->rx_wqe, 0, pkt->payload, pkt->payload_bytes);
	if (verdict != NIC_MEM_OK) {
		nic_resp_complete_error(nic, qp, nic_mem_fault(verdict));
		die(nic, qp);
		return;
	}
	qp->counters.rx_packets++;
	qp->counters.rx_payload_bytes += pkt->payload_bytes;
	qp->rx_off = pkt->payload_bytes;
	nic_resp_complete(nic, qp, pkt, &nobody);
	qp->rx_off = 0;
}

void nic_raw_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx)
{
	/* Frames come from this port alone. */
	if (rx->sgid || !nic_raw_length_ok(nic, pkt->payload_bytes)) {
		nic->counters.rx_drop_address++;
		return;
	}
	nic_rule_bring(nic, pkt, deliver);
}

/* ---- the entry ------------------------------------------------------------------------------- */

uint32_t nic_raw_segment_bytes(const uint8_t *seg)
{
	uint32_t len = be16_load(seg + offsetof(struct wqe_eth_seg, inline_hdr_bytes));
	uint32_t basic = sizeof(struct wqe_eth_seg) - offsetof(struct wqe_eth_seg, inline_hdr);

	if (len <= basic)
		return sizeof(struct wqe_eth_seg);
	len += offsetof(struct wqe_eth_seg, inline_hdr);
	return (len + WQE_UNIT_BYTES - 1) / WQE_UNIT_BYTES * WQE_UNIT_BYTES;
}
