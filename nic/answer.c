/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer.c - the responder's output, in the order of the requests: the responses that are due,
 * oldest first, and when there is none left, one NAK or ACK.
 *
 * An acknowledgement covers everything before it, so it may not overtake a response
 * [IBTA1 9.7.5]. What names the PSN of a READ or an atomic is its response, never an ACK: Linux
 * takes an ACK for the response and ends the request without its data [linux rxe_completer].
 */
#include "nic/nic_trace.h"

static void store_aeth(uint8_t *aeth, uint8_t syndrome, uint32_t msn)
{
	be32_store(aeth, (uint32_t)syndrome << 24 | msn);
}

HOT void count_answer(struct nic *nic, uint8_t syndrome)
{
	switch (syndrome) {
	case ROCE_SYNDROME_ACK:
		nic->counters.tx_ack++;
		return;
	case ROCE_NAK_PSN_SEQUENCE:
		nic->counters.tx_nak_sequence++;
		return;
	case ROCE_NAK_INVALID_REQUEST:
		nic->counters.tx_nak_invalid++;
		return;
	case ROCE_NAK_REMOTE_ACCESS:
		nic->counters.tx_nak_access++;
		return;
	case ROCE_NAK_REMOTE_OPERATION:
		nic->counters.tx_nak_operational++;
		return;
	}
	nic->counters.tx_rnr++;
}

/* One ACK or NAK; false: no room. */
HOT bool send_answer(struct nic *nic, struct nic_qp *qp, uint8_t syndrome, uint32_t psn,
		     uint32_t msn)
{
	uint8_t opcode = ROCE_OP_RC_ACK | qp->transport;
	uint8_t *bth = nic_tx_open(nic, qp, opcode, 0, false, psn, 0);

	if (!bth)
		return false;
	store_aeth(bth + ROCE_BTH_BYTES, syndrome, msn);
	nic_tx_close(nic, qp, bth, 0);
	count_answer(nic, syndrome);
	return true;
}

static bool send_atomic_response(struct nic *nic, struct nic_qp *qp, const struct nic_res *res)
{
	uint8_t opcode = ROCE_OP_RC_ATOMIC_ACK | qp->transport;
	uint8_t *bth = nic_tx_open(nic, qp, opcode, 0, false, res->psn, 0);

	if (!bth)
		return false;
	store_aeth(bth + ROCE_BTH_BYTES, ROCE_SYNDROME_ACK, res->msn);
	be64_store(bth + roce_opcodes[opcode].atomic_ack_off, res->value);
	nic_tx_close(nic, qp, bth, 0);
	return true;
}

static uint8_t read_opcode(const struct nic_res *res)
{
	bool first = res->run_next == res->run_start;
	bool last = res->run_next + 1 == res->run_end;

	if (first)
		return last ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_READ_RESP_FIRST;
	return last ? ROCE_OP_RC_READ_RESP_LAST : ROCE_OP_RC_READ_RESP_MIDDLE;
}

/* Reads n bytes of the region into the packet; else *syndrome says why not. */
static bool read_region(struct nic *nic, const struct nic_qp *qp, const struct nic_res *res,
			uint32_t off, uint8_t *dst, uint32_t n, enum roce_nak *syndrome)
{
	struct nic_ask ask = {.who = (uint64_t)qp->number << 32 | res->pdn,
			      .key = res->rkey,
			      .va = res->va + off,
			      .len_bytes = n,
			      .access = NIC_ACCESS_REMOTE_READ_F};
	struct nic_place place;
	bool good;

	if (n == 0)
		return true;
	/* Again for each packet: the region may have gone meanwhile. */
	*syndrome = ROCE_NAK_REMOTE_ACCESS;
	if (nic_mem_check(nic, ask.who, ask.key, ask.va, n, ask.access, &place) != NIC_MEM_OK) {
		nic_trace_deny_key(nic, qp, ROCE_NAK_REMOTE_ACCESS, &ask);
		return false;
	}
	*syndrome = ROCE_NAK_REMOTE_OPERATION;
	nic->now_responds = true;
	good = nic_mem_read_at(nic, dst, &place, n);
	nic->now_responds = false;
	if (!good)
		nic_trace_deny(nic, qp, ROCE_NAK_REMOTE_OPERATION, TRACE_BY_MEMORY);
	return good;
}

/* A READ that breaks half way: nothing after it is answered. */
static void break_off(struct nic *nic, struct nic_qp *qp, const struct nic_res *res,
		      enum roce_nak syndrome)
{
	uint32_t psn = psn_add(res->psn, (int32_t)res->run_next);

	qp->res_due = 0;
	if (qp->state == NIC_QP_ERR) {
		/* It was dying of a later request; the earlier one's NAK is the one to send. */
		nic_resp_owe_nak(nic, qp, (uint8_t)syndrome, psn);
		return;
	}
	nic_resp_die(nic, qp, syndrome, psn);
}

/* A responder of DC has no flow of its own: its data is its destination's. */
static COLD void paced_sent(struct nic *nic, struct nic_qp *qp, uint32_t len_bytes)
{
	if (nic_is_dcr(nic, qp))
		nic_dest_sent(nic, qp, len_bytes);
	else
		nic_flow_unacked(nic, qp, len_bytes);
}

static COLD bool may_go(struct nic *nic, struct nic_qp *qp)
{
	return nic_is_dcr(nic, qp) ? nic_dest_gate_answer(nic, qp) : nic_flow_gate(nic, qp);
}

static bool send_read_response(struct nic *nic, struct nic_qp *qp, struct nic_res *res)
{
	uint32_t off = res->run_next << qp->mtu_log2;
	uint32_t left = res->run_len_bytes - off;
	uint32_t n = left < 1u << qp->mtu_log2 ? left : 1u << qp->mtu_log2;
	uint8_t opcode = read_opcode(res) | qp->transport;
	const struct roce_opcode_info *info = &roce_opcodes[opcode];
	enum roce_nak syndrome;
	uint8_t *bth;

	bth = nic_tx_open(nic, qp, opcode, 0, false, psn_add(res->psn, (int32_t)res->run_next), n);
	if (!bth)
		return false;
	if (info->aeth_off)
		store_aeth(bth + info->aeth_off, ROCE_SYNDROME_ACK, res->msn);
	if (!read_region(nic, qp, res, off, bth + info->header_bytes, n, &syndrome)) {
		nic_tx_drop(nic);
		break_off(nic, qp, res, syndrome);
		return true;
	}
	nic_tx_close(nic, qp, bth, n);
	if (qp->paced)
		paced_sent(nic, qp, info->header_bytes + n);
	return true;
}

/* The oldest slot with something due. */
static uint32_t oldest_due(const struct nic_qp *qp)
{
	uint32_t head = qp->res_head & (NIC_RES - 1);
	uint32_t twice = (uint32_t)qp->res_due << NIC_RES | qp->res_due;

	ASSERT(qp->res_due != 0);
	/* Slot head is the oldest of all: look from there upwards, around the ring. */
	return (head + (uint32_t)__builtin_ctz(twice >> head)) & (NIC_RES - 1);
}

/* One packet of the oldest due response; false: no room. */
static bool send_response(struct nic *nic, struct nic_qp *qp)
{
	uint32_t slot = oldest_due(qp);
	struct nic_res *res = &qp->res[slot];
	bool room =
	    res->is_atomic ? send_atomic_response(nic, qp, res) : send_read_response(nic, qp, res);

	if (!room)
		return false;
	if (++res->run_next >= res->run_end)
		qp->res_due &= (uint16_t) ~(1u << slot);
	return true;
}

/* The ACK or NAK that stands after all responses; false: no room. */
static bool send_last(struct nic *nic, struct nic_qp *qp)
{
	if (qp->nak_due) {
		if (!send_answer(nic, qp, qp->nak_due, qp->nak_psn, qp->msn))
			return false;
	} else if (qp->ack_due) {
		if (!send_answer(nic, qp, ROCE_SYNDROME_ACK, qp->ack_psn, qp->ack_msn))
			return false;
	}
	qp->nak_due = 0;
	qp->ack_due = false;
	qp->last_words = false;
	return true;
}

/* A queue pair in error has nothing here but its last words: nic_qp_error saw to that. The data of
 * a READ is paced as that of a WRITE is, and what comes behind it waits. */
HOT enum nic_turn answer_some(struct nic *nic, struct nic_qp *qp)
{
	int i = 0;

	do {
		if (nic->left_packets == 0 || nic->left_bytes <= 0)
			return NIC_TURN_AGAIN;
		if (qp->res_due && qp->paced && !may_go(nic, qp))
			return NIC_TURN_DONE;
		if (!(qp->res_due ? send_response(nic, qp) : send_last(nic, qp)))
			return NIC_TURN_BLOCKED;
		if (!nic_answer_due(qp))
			return NIC_TURN_DONE;
	} while (++i < NIC_VISIT_PACKETS);
	return NIC_TURN_AGAIN;
}

enum nic_turn nic_answer_run(struct nic *nic, struct nic_qp *qp)
{
	enum nic_turn turn = answer_some(nic, qp);

	if (qp->type == NIC_QP_DCT)
		nic_dct_answered(nic, qp);
	return turn;
}
