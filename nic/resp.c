/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resp.c - the responder: a request is classified, without any effect, and then acted on.
 *
 * Classification is a row of checks, in the order of [IBTA1 9.7.4]: sequence, opcode, length,
 * rights, resources. Each gives RESP_NEXT or the verdict. Only the actions change anything.
 *
 * Answers are only noted here; answer.c sends them. READs and atomics are remembered in a ring of
 * struct nic_res: a duplicate request makes its run of packets due again, from where it asks.
 */
#include "nic/nic_trace.h"
#include "nic/request.h"

/* What is to be done with a request. */
enum resp_step {
	RESP_NEXT,      /* go on to the next check */
	RESP_SEND,      /* put the payload into the oldest receive */
	RESP_WRITE,     /* put the payload into a region */
	RESP_READ,      /* answer from a region */
	RESP_ATOMIC,    /* change a value */
	RESP_DUPLICATE, /* it was done before: answer again */
	RESP_GAP,       /* something before it is missing */
	RESP_RNR,       /* no receive is posted */
	RESP_INVALID,   /* not a request that may come here and now */
	RESP_NO_ACCESS, /* the key does not allow it */
};

static uint32_t packets_of(const struct nic_qp *qp, uint32_t len_bytes)
{
	uint64_t mtu_bytes = 1ull << qp->mtu_log2;

	return len_bytes == 0 ? 1 : (uint32_t)((len_bytes + mtu_bytes - 1) >> qp->mtu_log2);
}

/* ---- checks: no effects ---------------------------------------------------------------------- */

static enum resp_step check_psn(const struct nic_qp *qp, const struct nic_pkt *pkt)
{
	int32_t ahead = psn_diff(pkt->psn, qp->epsn);

	if (ahead < 0)
		return RESP_DUPLICATE;
	return ahead > 0 ? RESP_GAP : RESP_NEXT;
}

/* A message is not interrupted, and does not start in the middle [IBTA1 9.7.4]. */
HOT enum resp_step check_place(const struct nic_qp *qp, const struct nic_pkt *pkt)
{
	if (pkt->info->place & ROCE_FIRST)
		return qp->rx_kind == ROCE_KIND_UNKNOWN ? RESP_NEXT : RESP_INVALID;
	return qp->rx_kind == pkt->info->kind ? RESP_NEXT : RESP_INVALID;
}

HOT enum resp_step check_length(const struct nic_qp *qp, const struct nic_pkt *pkt)
{
	uint32_t mtu_bytes = 1u << qp->mtu_log2;
	uint32_t n = pkt->payload_bytes;

	switch ((enum roce_payload_rule)pkt->info->payload) {
	case ROCE_PAYLOAD_NONE:
	case ROCE_PAYLOAD_CNP:
	case ROCE_PAYLOAD_PROBE:
		return RESP_NEXT;
	case ROCE_PAYLOAD_MASKS:
		return n == ROCE_MASKS_BYTES ? RESP_NEXT : RESP_INVALID;
	case ROCE_PAYLOAD_MTU:
		return n == mtu_bytes ? RESP_NEXT : RESP_INVALID;
	case ROCE_PAYLOAD_TAIL:
		return n != 0 && n <= mtu_bytes ? RESP_NEXT : RESP_INVALID;
	case ROCE_PAYLOAD_UP_TO_MTU:
		return n <= mtu_bytes ? RESP_NEXT : RESP_INVALID;
	}
	UNREACHABLE();
}

/* A WRITE brings exactly what its RETH announced; no message is over the limit. */
HOT enum resp_step check_announced(const struct nic *nic, const struct nic_qp *qp,
				   const struct nic_pkt *pkt)
{
	uint64_t limit_bytes = 1ull << nic->config.message_max_bytes_log2;
	uint64_t so_far_bytes = (uint64_t)qp->rx_off + pkt->payload_bytes;
	uint32_t len_bytes;

	if (pkt->info->kind == ROCE_KIND_SEND)
		return so_far_bytes <= limit_bytes ? RESP_NEXT : RESP_INVALID;
	if (pkt->info->kind == ROCE_KIND_ATOMIC_REQ)
		return RESP_NEXT;
	len_bytes = pkt->info->reth_off ? reth_len(pkt) : qp->rx_len - qp->rx_off;
	if (len_bytes > limit_bytes)
		return RESP_INVALID;
	if (pkt->info->kind == ROCE_KIND_READ_REQ)
		return RESP_NEXT;
	if (pkt->info->place & ROCE_LAST)
		return pkt->payload_bytes == len_bytes ? RESP_NEXT : RESP_INVALID;
	return pkt->payload_bytes < len_bytes ? RESP_NEXT : RESP_INVALID;
}

/* What the queue pair lets its peer do [IBTA1 9.7.4]: else NAK invalid request. */
HOT enum resp_step check_rights(const struct nic_qp *qp, const struct nic_pkt *pkt)
{
	uint32_t need = 0;

	if (pkt->info->kind == ROCE_KIND_WRITE)
		need = NIC_ACCESS_REMOTE_WRITE_F;
	else if (pkt->info->kind == ROCE_KIND_READ_REQ)
		need = NIC_ACCESS_REMOTE_READ_F;
	else if (pkt->info->kind == ROCE_KIND_ATOMIC_REQ)
		need = NIC_ACCESS_REMOTE_ATOMIC_F;
	return need & ~qp->params.access ? RESP_INVALID : RESP_NEXT;
}

/* Aligned for the peer, and also where the region puts it in our memory [IBTA1 9.7.4]. */
static enum resp_step check_atomic(const struct nic *nic, const struct nic_qp *qp,
				   const struct nic_pkt *pkt)
{
	uint32_t len_bytes = atomic_bytes(pkt);
	struct nic_place place;

	if (atomic_va(pkt) % len_bytes != 0)
		return RESP_INVALID;
	if (nic_mem_check(nic, nic_peer_of(qp), atomic_rkey(pkt), atomic_va(pkt), len_bytes,
			  NIC_ACCESS_REMOTE_ATOMIC_F, &place) != NIC_MEM_OK)
		return RESP_NO_ACCESS;
	if (place.how != NIC_PLACE_PLAIN && place.how != NIC_PLACE_SYNCED)
		return RESP_NO_ACCESS; /* parts of it lie apart */
	return place.host_va % len_bytes == 0 ? RESP_NEXT : RESP_INVALID;
}

/* What the region lets anyone do; nothing is asked for a message without bytes [IBTA1 C9-88]. */
HOT enum resp_step check_region(const struct nic *nic, const struct nic_qp *qp,
				const struct nic_pkt *pkt)
{
	bool reads = pkt->info->kind == ROCE_KIND_READ_REQ;
	enum nic_mem verdict;
	struct nic_place place;

	if (pkt->info->kind == ROCE_KIND_ATOMIC_REQ)
		return check_atomic(nic, qp, pkt);
	if (pkt->info->headers & ROCE_H_IETH)
		return nic_mkey_invalidates(nic, qp, ieth_rkey(pkt)) ? RESP_NEXT : RESP_NO_ACCESS;
	if (!pkt->info->reth_off || reth_len(pkt) == 0)
		return RESP_NEXT;
	verdict =
	    nic_mem_check(nic, nic_peer_of(qp), reth_rkey(pkt), reth_va(pkt), reth_len(pkt),
			  reads ? NIC_ACCESS_REMOTE_READ_F : NIC_ACCESS_REMOTE_WRITE_F, &place);
	return verdict == NIC_MEM_OK ? RESP_NEXT : RESP_NO_ACCESS;
}

static bool needs_receive(const struct nic_pkt *pkt)
{
	if (pkt->info->kind == ROCE_KIND_SEND)
		return pkt->info->place & ROCE_FIRST;
	return pkt->info->imm_off != 0;
}

/* READs and atomics that wait for their first answer. */
static uint32_t due_count(const struct nic_qp *qp)
{
	uint32_t count = 0;

	for (uint32_t left = qp->res_due & ~(uint32_t)qp->res_again; left != 0; left &= left - 1)
		count++;
	return count;
}

bool nic_resp_has_receive(const struct nic *nic, const struct nic_qp *qp)
{
	return qp->rq_ci != qp->rq_pi || qp->rx_held ||
	       (qp->srqn != 0 && !nic_srq_is_empty(&nic->srqs[qp->srqn]));
}

/* Receives, and places for responses; who asks for more of these than was agreed on is at fault. */
HOT enum resp_step check_resources(const struct nic *nic, const struct nic_qp *qp,
				   const struct nic_pkt *pkt)
{
	switch ((enum roce_kind)pkt->info->kind) {
	case ROCE_KIND_SEND:
		return needs_receive(pkt) && !nic_resp_has_receive(nic, qp) ? RESP_RNR : RESP_SEND;
	case ROCE_KIND_WRITE:
		return needs_receive(pkt) && !nic_resp_has_receive(nic, qp) ? RESP_RNR : RESP_WRITE;
	case ROCE_KIND_READ_REQ:
		return due_count(qp) < qp->params.dest_rd_atomic ? RESP_READ : RESP_INVALID;
	case ROCE_KIND_ATOMIC_REQ:
		return due_count(qp) < qp->params.dest_rd_atomic ? RESP_ATOMIC : RESP_INVALID;
	case ROCE_KIND_READ_RESP:
	case ROCE_KIND_ATOMIC_RESP:
	case ROCE_KIND_ACK:
	case ROCE_KIND_CNP:
	case ROCE_KIND_PROBE:
	case ROCE_KIND_UNKNOWN:
		break;
	}
	UNREACHABLE();
}

/* A request whose turn it is. */
HOT enum resp_step check_request(const struct nic *nic, const struct nic_qp *qp,
				 const struct nic_pkt *pkt)
{
	enum resp_step step = check_length(qp, pkt);

	if (step == RESP_NEXT)
		step = check_announced(nic, qp, pkt);
	if (step == RESP_NEXT)
		step = check_rights(qp, pkt);
	if (step == RESP_NEXT)
		step = check_region(nic, qp, pkt);
	if (step == RESP_NEXT)
		step = check_resources(nic, qp, pkt);
	return step;
}

static enum resp_step classify(const struct nic *nic, const struct nic_qp *qp,
			       const struct nic_pkt *pkt)
{
	enum resp_step step = check_psn(qp, pkt);

	if (step == RESP_NEXT)
		step = check_place(qp, pkt);
	return step == RESP_NEXT ? check_request(nic, qp, pkt) : step;
}

bool nic_resp_allows(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt)
{
	enum resp_step step = check_request(nic, qp, pkt);

	nic->counters.rx_no_receive += step == RESP_RNR;
	return step == RESP_SEND || step == RESP_WRITE;
}

/* ---- why ------------------------------------------------------------------------------------- */

/* The first check that it does not pass. UC has looked at the place itself. */
static enum trace_reason reason_of(const struct nic *nic, const struct nic_qp *qp,
				   const struct nic_pkt *pkt)
{
	if (qp->type != NIC_QP_UC && check_place(qp, pkt) != RESP_NEXT)
		return TRACE_BY_ORDER;
	if (check_length(qp, pkt) != RESP_NEXT)
		return TRACE_BY_PACKET_LENGTH;
	if (check_announced(nic, qp, pkt) != RESP_NEXT)
		return TRACE_BY_ANNOUNCED;
	if (check_rights(qp, pkt) != RESP_NEXT)
		return nic_trace_rights(pkt);
	if (check_region(nic, qp, pkt) != RESP_NEXT)
		return nic_trace_region(nic, qp, pkt);
	return needs_receive(pkt) ? TRACE_BY_NO_RECEIVE : TRACE_BY_RD_ATOMIC;
}

void nic_resp_explain(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt,
		      uint8_t syndrome)
{
	if (nic_tracing(nic))
		nic_trace_request(nic, qp, pkt, syndrome, reason_of(nic, qp, pkt));
}

/* ---- answers that are not data --------------------------------------------------------------- */

static void owe_ack(struct nic *nic, struct nic_qp *qp)
{
	qp->ack_due = true;
	nic_ready(nic, qp);
}

void nic_resp_owe_nak(struct nic *nic, struct nic_qp *qp, uint8_t syndrome, uint32_t psn)
{
	nic_trace_nak(nic, qp, false, syndrome, psn);
	qp->nak_due = syndrome;
	qp->nak_psn = psn;
	qp->nak_sent = true;
	nic_ready(nic, qp);
}

void nic_resp_die(struct nic *nic, struct nic_qp *qp, enum roce_nak syndrome, uint32_t psn)
{
	enum nic_event_kind kind = NIC_EVENT_QP_FATAL;

	if (nic_is_dcr(nic, qp)) {
		nic_dct_die(nic, qp, (uint8_t)syndrome, psn);
		return;
	}
	if (syndrome == ROCE_NAK_INVALID_REQUEST)
		kind = NIC_EVENT_QP_REQ_ERR;
	else if (syndrome == ROCE_NAK_REMOTE_ACCESS)
		kind = NIC_EVENT_QP_ACCESS_ERR;
	nic_resp_owe_nak(nic, qp, (uint8_t)syndrome, psn);
	qp->last_words = true;
	nic_qp_error(nic, qp);
	nic_qp_event(nic, qp, kind);
}

/* Of something that no check of the request has shown. */
static COLD void die_of(struct nic *nic, struct nic_qp *qp, enum roce_nak syndrome,
		   enum trace_reason reason)
{
	nic_trace_deny(nic, qp, (uint8_t)syndrome, reason);
	nic_resp_die(nic, qp, syndrome, qp->epsn);
}

/* The oldest receive is used up; returns what its completion calls it. */
static uint16_t use_receive(struct nic_qp *qp)
{
	if (qp->srqn == 0)
		return qp->rq_ci++;
	ASSERT(qp->rx_held);
	qp->rx_held = false;
	return qp->rx_index;
}

void nic_resp_complete_error(struct nic *nic, struct nic_qp *qp, struct nic_fault fault)
{
	nic_cq_error(nic, qp, qp->cqn_recv, CQE_RESP_ERR, 0, use_receive(qp), fault);
}

/* A receive that fails takes the queue pair with it. */
static COLD void die_of_receive(struct nic *nic, struct nic_qp *qp, uint32_t n,
				enum nic_mem verdict)
{
	struct nic_fault fault = nic_mem_fault(verdict);
	bool too_long = fault.syndrome == CQE_SYND_LOCAL_LENGTH;

	nic_trace_scatter(nic, qp, NULL, &nic->rx_wqe, qp->rx_off, n, verdict);
	nic_resp_complete_error(nic, qp, fault);
	nic_resp_die(nic, qp, too_long ? ROCE_NAK_INVALID_REQUEST : ROCE_NAK_REMOTE_OPERATION,
		     qp->epsn);
}

/* ---- SEND and WRITE -------------------------------------------------------------------------- */

/* Immediate data, or a key to make free: either is the last header. A WRITE that completes a
 * receive has one. */
static void take_imm(struct nic *nic, const struct nic_pkt *pkt, struct nic_done *done)
{
	done->imm = be32_load(pkt->header + pkt->info->header_bytes - ROCE_IMM_BYTES);
	if (pkt->info->kind == ROCE_KIND_WRITE) {
		done->opcode = CQE_RESP_WR_IMM;
	} else if (pkt->info->headers & ROCE_H_IMM) {
		done->opcode = CQE_RESP_SEND_IMM;
	} else {
		done->opcode = CQE_RESP_SEND_INV;
		nic_mkey_invalidate(nic, done->imm);
	}
}

HOT void complete_receive(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
			  const struct nic_from *from)
{
	struct nic_done done = {
	    .opcode = CQE_RESP_SEND,
	    .solicited = pkt->se,
	    .wqe_counter = use_receive(qp),
	    .byte_cnt = qp->rx_off,
	    .user_index = qp->user_index_recv,
	};

	if (pkt->info->headers & (ROCE_H_IMM | ROCE_H_IETH))
		take_imm(nic, pkt, &done);
	if (from)
		nic_cq_done_from(nic, qp, qp->cqn_recv, &done, from);
	else
		nic_cq_done(nic, qp, qp->cqn_recv, &done);
}

void nic_resp_complete(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
		       const struct nic_from *from)
{
	complete_receive(nic, qp, pkt, from);
}

/* On to the next packet. A NAK that asked for this one, and is not sent yet, is out of date. */
static void move_epsn(struct nic_qp *qp, uint32_t count)
{
	qp->epsn = psn_add(qp->epsn, (int32_t)count);
	qp->nak_sent = false;
	qp->nak_due = 0;
}

/* The packet's effect is there. */
static void taken(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	move_epsn(qp, 1);
	if (pkt->info->place & ROCE_LAST) {
		qp->rx_kind = ROCE_KIND_UNKNOWN;
		qp->msn = (qp->msn + 1) & ROCE_MSN_MASK;
		if (pkt->info->kind == ROCE_KIND_SEND || pkt->info->imm_off)
			complete_receive(nic, qp, pkt, NULL);
		qp->rx_off = 0;
	} else {
		qp->rx_kind = pkt->info->kind;
	}
	qp->ack_psn = psn_add(qp->epsn, -1);
	qp->ack_msn = qp->msn;
	if (pkt->ack_req && qp->state != NIC_QP_ERR)
		owe_ack(nic, qp);
}

static void apply_send(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	enum nic_mem verdict;

	if (!nic_wqe_fetch_receive(nic, qp)) {
		die_of(nic, qp, ROCE_NAK_REMOTE_OPERATION, TRACE_BY_RECEIVE_RING);
		return;
	}
	verdict = nic_mem_scatter(nic, qp->pdn_recv, &nic->rx_wqe, qp->rx_off, pkt->payload,
				  pkt->payload_bytes);
	if (verdict != NIC_MEM_OK) {
		die_of_receive(nic, qp, pkt->payload_bytes, verdict);
		return;
	}
	qp->rx_off += pkt->payload_bytes;
	taken(nic, qp, pkt);
}

HOT enum nic_mem write_payload(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	struct nic_place place;
	enum nic_mem verdict;

	if (pkt->info->reth_off) {
		qp->rx_va = reth_va(pkt);
		qp->rx_rkey = reth_rkey(pkt);
		qp->rx_len = reth_len(pkt);
		qp->rx_off = 0;
	}
	if (pkt->payload_bytes != 0) {
		/* Again for each packet: the region may have gone meanwhile. */
		verdict = nic_mem_check(nic, nic_peer_of(qp), qp->rx_rkey, qp->rx_va + qp->rx_off,
					pkt->payload_bytes, NIC_ACCESS_REMOTE_WRITE_F, &place);
		if (verdict != NIC_MEM_OK)
			return verdict;
		if (!nic_mem_write_at(nic, &place, pkt->payload, pkt->payload_bytes))
			return NIC_MEM_FAULT;
	}
	qp->rx_off += pkt->payload_bytes;
	return NIC_MEM_OK;
}

enum nic_mem nic_resp_write(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	return write_payload(nic, qp, pkt);
}

/* The key did for the message's first packet. */
static COLD void die_of_write(struct nic *nic, struct nic_qp *qp, uint32_t n)
{
	struct nic_ask ask = {.who = nic_peer_of(qp),
			      .key = qp->rx_rkey,
			      .va = qp->rx_va + qp->rx_off,
			      .len_bytes = n,
			      .access = NIC_ACCESS_REMOTE_WRITE_F};

	nic_trace_deny_key(nic, qp, ROCE_NAK_REMOTE_ACCESS, &ask);
	nic_resp_die(nic, qp, ROCE_NAK_REMOTE_ACCESS, qp->epsn);
}

static void apply_write(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	enum nic_mem verdict;

	/* Of an SRQ the entry has to be taken; of the queue pair's own ring counting is enough. */
	if (pkt->info->imm_off && qp->srqn != 0 && !nic_wqe_fetch_receive(nic, qp)) {
		die_of(nic, qp, ROCE_NAK_REMOTE_OPERATION, TRACE_BY_RECEIVE_RING);
		return;
	}
	verdict = write_payload(nic, qp, pkt);
	if (verdict == NIC_MEM_OK)
		taken(nic, qp, pkt);
	else if (verdict == NIC_MEM_FAULT)
		die_of(nic, qp, ROCE_NAK_REMOTE_OPERATION, TRACE_BY_MEMORY);
	else
		die_of_write(nic, qp, pkt->payload_bytes);
}

/* ---- READs and atomics ----------------------------------------------------------------------- */

static void make_due(struct nic *nic, struct nic_qp *qp, uint32_t slot)
{
	qp->res_due |= (uint16_t)(1u << slot);
	nic_ready(nic, qp);
}

static struct nic_res *new_res(struct nic_qp *qp, uint32_t psn_count, uint32_t *slot)
{
	struct nic_res *res;

	*slot = qp->res_head++ & (NIC_RES - 1);
	res = &qp->res[*slot];
	qp->res_again &= (uint16_t) ~(1u << *slot);
	qp->msn = (qp->msn + 1) & ROCE_MSN_MASK;
	*res = (struct nic_res){
	    .psn = qp->epsn,
	    .psn_count = psn_count,
	    .run_end = psn_count,
	    .pdn = qp->pdn_resp,
	    .msn = qp->msn,
	};
	move_epsn(qp, psn_count);
	qp->ack_due = false; /* the response acknowledges what is before it */
	return res;
}

static void apply_read(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	uint32_t slot;
	struct nic_res *res = new_res(qp, packets_of(qp, reth_len(pkt)), &slot);

	res->va = reth_va(pkt);
	res->rkey = reth_rkey(pkt);
	res->len_bytes = reth_len(pkt);
	res->run_len_bytes = res->len_bytes;
	make_due(nic, qp, slot);
}

/* The payload is the wire's, which may change under us: it is read once. */
static struct nic_atomic decode_atomic(const struct nic_pkt *pkt)
{
	const uint8_t *eth = pkt->header + pkt->info->atomic_off;
	struct nic_atomic atomic = {
	    .swap_add = be64_load(eth + ROCE_ATOMIC_SWAP_ADD_OFF),
	    .compare = be64_load(eth + ROCE_ATOMIC_COMPARE_OFF),
	    .len_bytes = atomic_bytes(pkt),
	};

	if (pkt->info->payload == ROCE_PAYLOAD_MASKS) {
		atomic.swap_mask = be64_load(pkt->payload);
		atomic.compare_mask = be64_load(pkt->payload + 8);
	}
	switch (pkt->opcode & (uint8_t)~ROCE_TRANSPORT_MASK) {
	case ROCE_OP_RC_CMP_SWAP:
		atomic.opcode = WQE_OP_ATOMIC_CS;
		return atomic;
	case ROCE_OP_RC_FETCH_ADD:
		atomic.opcode = WQE_OP_ATOMIC_FA;
		return atomic;
	case ROCE_OP_RC_MASKED_CS_4:
	case ROCE_OP_RC_MASKED_CS_8:
		atomic.opcode = WQE_OP_ATOMIC_MASKED_CS;
		return atomic;
	case ROCE_OP_RC_MASKED_FA_4:
	case ROCE_OP_RC_MASKED_FA_8:
		atomic.opcode = WQE_OP_ATOMIC_MASKED_FA;
		return atomic;
	}
	UNREACHABLE();
}

static void apply_atomic(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	struct nic_atomic atomic = decode_atomic(pkt);
	struct nic_res *res;
	struct nic_place place;
	uint64_t old;
	uint32_t slot;

	if (nic_mem_check(nic, nic_peer_of(qp), atomic_rkey(pkt), atomic_va(pkt), atomic.len_bytes,
			  NIC_ACCESS_REMOTE_ATOMIC_F, &place) != NIC_MEM_OK)
		UNREACHABLE();
	if (!nic_mem_atomic_at(nic, &atomic, &place, &old)) {
		die_of(nic, qp, ROCE_NAK_REMOTE_OPERATION, TRACE_BY_MEMORY);
		return;
	}
	res = new_res(qp, 1, &slot);
	res->is_atomic = true;
	res->value = old;
	make_due(nic, qp, slot);
}

/* ---- duplicates ------------------------------------------------------------------------------ */

/* The remembered request that psn is part of, and its slot; NULL: too old, or never was. */
static struct nic_res *find_res(struct nic_qp *qp, uint32_t psn, bool is_atomic, uint32_t *slot)
{
	uint32_t count = qp->res_head < NIC_RES ? qp->res_head : NIC_RES;

	for (uint32_t i = 1; i <= count; i++) {
		struct nic_res *res;

		*slot = (qp->res_head - i) & (NIC_RES - 1);
		res = &qp->res[*slot];
		if (psn_in(psn, res->psn, res->psn_count))
			return res->is_atomic == is_atomic ? res : NULL;
	}
	return NULL;
}

/* What was answered before does not count against the peer: the request may be an old copy. */
static void make_due_again(struct nic *nic, struct nic_qp *qp, uint32_t slot)
{
	if (!(qp->res_due >> slot & 1))
		qp->res_again |= (uint16_t)(1u << slot);
	make_due(nic, qp, slot);
}

/* A READ asked for again, whole or from the middle: the same bytes [IBTA1 9.7.5]. */
static void repeat_read(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	uint32_t slot;
	struct nic_res *res = find_res(qp, pkt->psn, false, &slot);
	uint32_t first, off;

	if (!res)
		return;
	first = (pkt->psn - res->psn) & PSN_MASK;
	off = first << qp->mtu_log2;
	if (reth_va(pkt) != res->va + off || reth_rkey(pkt) != res->rkey ||
	    reth_len(pkt) > res->len_bytes - off)
		return;
	/* Still to come, and from no later on: one answer is enough. */
	if ((qp->res_due >> slot & 1) && res->run_next == res->run_start &&
	    res->run_start <= first && res->run_len_bytes == res->len_bytes)
		return;
	res->run_start = res->run_next = first;
	res->run_end = first + packets_of(qp, reth_len(pkt));
	res->run_len_bytes = off + reth_len(pkt);
	make_due_again(nic, qp, slot);
}

static void repeat_atomic(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	uint32_t slot;
	struct nic_res *res = find_res(qp, pkt->psn, true, &slot);

	if (!res)
		return;
	res->run_next = 0;
	make_due_again(nic, qp, slot);
}

static void duplicate(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	nic->counters.rx_duplicate++;
	if (pkt->info->kind == ROCE_KIND_READ_REQ)
		repeat_read(nic, qp, pkt);
	else if (pkt->info->kind == ROCE_KIND_ATOMIC_REQ)
		repeat_atomic(nic, qp, pkt);
	else
		owe_ack(nic, qp);
}

static void gap(struct nic *nic, struct nic_qp *qp)
{
	nic->counters.rx_out_of_sequence++;
	if (!qp->nak_sent)
		nic_resp_owe_nak(nic, qp, ROCE_NAK_PSN_SEQUENCE, qp->epsn);
}

/* ---- a request ------------------------------------------------------------------------------- */

/* The counter of receives is read only when those known are used up. false: it makes no sense. */
HOT bool refresh_receives(struct nic *nic, struct nic_qp *qp)
{
	uint32_t word;

	if (qp->rq_ci != qp->rq_pi)
		return true;
	if (qp->srqn != 0)
		return nic_srq_look(nic, &nic->srqs[qp->srqn]);
	if (qp->rq_count == 0)
		return true;
	if (!nic_mem_load_be32(nic, qp->db_va + 4 * DB_RECV, &word) ||
	    (uint16_t)(word - qp->rq_ci) > qp->rq_count)
		return false;
	qp->rq_pi = (uint16_t)word;
	return true;
}

bool nic_resp_look(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	return !needs_receive(pkt) || refresh_receives(nic, qp);
}

void nic_resp_established(struct nic *nic, struct nic_qp *qp)
{
	qp->comm_est = true;
	if (qp->state == NIC_QP_RTR)
		nic_qp_event(nic, qp, NIC_EVENT_QP_COMM_EST);
}

/* Who may ask again is told when; else it was the last request. */
static COLD void refuse(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
			uint8_t syndrome)
{
	bool rnr = roce_aeth_kind(syndrome) == ROCE_AETH_RNR;

	if (rnr && nic_is_dcr(nic, qp) && nic_dct_find_receive(nic, qp)) {
		nic_resp_rx(nic, qp, pkt);
		return;
	}
	nic_resp_explain(nic, qp, pkt, syndrome);
	if (!rnr) {
		nic_resp_die(nic, qp, (enum roce_nak)syndrome, qp->epsn);
		return;
	}
	nic->counters.rx_no_receive++;
	nic_resp_owe_nak(nic, qp, syndrome, qp->epsn);
}

/* The SRQ that a request to an XRC target names. What is not its turn changes nothing. */
static bool choose_srq(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	if (pkt->psn != qp->epsn)
		return true;
	return nic_xrc_bind(nic, qp,
			    be24_load(pkt->header + ROCE_BTH_BYTES + ROCE_XRCETH_SRQN_OFF));
}

void nic_resp_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	if (!qp->comm_est)
		nic_resp_established(nic, qp);
	if (qp->type == NIC_QP_XRC_TGT && !choose_srq(nic, qp, pkt)) {
		die_of(nic, qp, ROCE_NAK_INVALID_REQUEST, TRACE_BY_XRC_SRQ);
		return;
	}
	if (needs_receive(pkt) && !refresh_receives(nic, qp)) {
		die_of(nic, qp, ROCE_NAK_REMOTE_OPERATION, TRACE_BY_RECEIVE_RECORD);
		return;
	}
	switch (classify(nic, qp, pkt)) {
	case RESP_SEND:
		apply_send(nic, qp, pkt);
		return;
	case RESP_WRITE:
		nic->counters.rx_write_requests += (pkt->info->place & ROCE_FIRST) != 0;
		apply_write(nic, qp, pkt);
		return;
	case RESP_READ:
		nic->counters.rx_read_requests++;
		apply_read(nic, qp, pkt);
		return;
	case RESP_ATOMIC:
		nic->counters.rx_atomic_requests++;
		apply_atomic(nic, qp, pkt);
		return;
	case RESP_DUPLICATE:
		duplicate(nic, qp, pkt);
		return;
	case RESP_GAP:
		gap(nic, qp);
		return;
	case RESP_RNR:
		refuse(nic, qp, pkt, (uint8_t)(ROCE_SYNDROME_RNR | qp->params.min_rnr_timer));
		return;
	case RESP_INVALID:
		refuse(nic, qp, pkt, ROCE_NAK_INVALID_REQUEST);
		return;
	case RESP_NO_ACCESS:
		refuse(nic, qp, pkt, ROCE_NAK_REMOTE_ACCESS);
		return;
	case RESP_NEXT:
		break;
	}
	UNREACHABLE();
}
