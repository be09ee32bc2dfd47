/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uc.c - the responder of UC queue pairs. Nobody is told of what goes wrong: a message that is
 * broken, or that may not be carried out, is dropped whole, silently, and the next FIRST or ONLY
 * packet starts anew, whatever its PSN [IBTA1 9.8.2]. The receive that such a message was filling
 * is the next one's.
 */
#include "nic/nic_trace.h"

/* The message that is half in ends here; so does any packet that it may still have. */
static void drop_message(struct nic *nic, struct nic_qp *qp)
{
	nic->counters.rx_drop_message++;
	qp->rx_kind = ROCE_KIND_UNKNOWN;
	qp->rx_off = 0;
}

/* Whether pkt is the next packet of a message, or starts one. The message before it is then over.
 */
static bool in_sequence(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	bool expected = pkt->psn == qp->epsn;

	if (!expected)
		nic->counters.rx_out_of_sequence++;
	qp->epsn = psn_add(pkt->psn, 1);
	if (roce_opcode_starts(pkt->opcode)) {
		if (qp->rx_kind != ROCE_KIND_UNKNOWN)
			drop_message(nic, qp);
		return true;
	}
	if (expected && qp->rx_kind == pkt->info->kind)
		return true;
	if (qp->rx_kind != ROCE_KIND_UNKNOWN)
		drop_message(nic, qp);
	return false;
}

/* Something of our own is broken: the ring, or the memory that a receive names. */
static void die(struct nic *nic, struct nic_qp *qp)
{
	nic_qp_error(nic, qp);
	nic_qp_event(nic, qp, NIC_EVENT_QP_FATAL);
}

/* false: the message is over. */
static bool apply_send(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	enum nic_mem verdict;

	if (!nic_wqe_fetch_receive(nic, qp)) {
		die(nic, qp);
		return false;
	}
	if (nic->rx_wqe.len_bytes < (uint64_t)qp->rx_off + pkt->payload_bytes) {
		nic_trace_deny_short(nic, qp, (uint64_t)qp->rx_off + pkt->payload_bytes);
		drop_message(nic, qp);
		return false;
	}
	verdict = nic_mem_scatter(nic, qp->pdn_recv, &nic->rx_wqe, qp->rx_off, pkt->payload,
				  pkt->payload_bytes);
	if (verdict != NIC_MEM_OK) {
		nic_trace_scatter(nic, qp, NULL, &nic->rx_wqe, qp->rx_off, pkt->payload_bytes,
				  verdict);
		nic_resp_complete_error(nic, qp, nic_mem_fault(verdict));
		die(nic, qp);
		return false;
	}
	qp->rx_off += pkt->payload_bytes;
	return true;
}

static bool apply_write(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	/* Of an SRQ the entry has to be taken; of the queue pair's own ring counting is enough. */
	if (pkt->info->imm_off && qp->srqn != 0 && !nic_wqe_fetch_receive(nic, qp)) {
		die(nic, qp);
		return false;
	}
	if (nic_resp_write(nic, qp, pkt) == NIC_MEM_OK)
		return true;
	drop_message(nic, qp);
	return false;
}

void nic_uc_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	bool send = pkt->info->kind == ROCE_KIND_SEND;

	if (!qp->comm_est)
		nic_resp_established(nic, qp);
	if (!in_sequence(nic, qp, pkt))
		return;
	if (!nic_resp_look(nic, qp, pkt)) {
		die(nic, qp);
		return;
	}
	if (!nic_resp_allows(nic, qp, pkt)) {
		nic_resp_explain(nic, qp, pkt, 0);
		drop_message(nic, qp);
		return;
	}
	if (!(send ? apply_send(nic, qp, pkt) : apply_write(nic, qp, pkt)))
		return;
	if (!roce_opcode_ends(pkt->opcode)) {
		qp->rx_kind = pkt->info->kind;
		return;
	}
	qp->rx_kind = ROCE_KIND_UNKNOWN;
	if (send || pkt->info->imm_off)
		nic_resp_complete(nic, qp, pkt, NULL);
	qp->rx_off = 0;
}
