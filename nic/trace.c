/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.c - events for nic_env.trace, and what is found out for them: nothing in here changes
 * anything but copies of entries, which are taken anew when they are needed.
 */
#include "nic/nic_trace.h"

#include "abi/dump.h"
#include "nic/request.h"

_Static_assert(TRACE_LOCAL_WRITE_F == NIC_ACCESS_LOCAL_WRITE_F &&
		   TRACE_REMOTE_WRITE_F == NIC_ACCESS_REMOTE_WRITE_F &&
		   TRACE_REMOTE_READ_F == NIC_ACCESS_REMOTE_READ_F &&
		   TRACE_REMOTE_ATOMIC_F == NIC_ACCESS_REMOTE_ATOMIC_F,
	       "rights");

static void tell(const struct nic *nic, const struct trace_event *event)
{
	nic->env->trace(nic->env->ctx, event);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Of a key with the right tag: whether who asks may use it at all. */
static enum trace_key_state state_for(const struct nic *nic, const struct nic_mkey *mkey,
				      uint64_t who, uint32_t *other)
{
	uint32_t qpn = (uint32_t)(who >> 32);
	bool window = mkey->kind == NIC_MKEY_WINDOW_1 || mkey->kind == NIC_MKEY_WINDOW_2;
	uint32_t only = NIC_QPN_ANY;

	if (mkey->state == NIC_MKEY_FREE)
		return TRACE_KEY_FREE;
	if (mkey->pdn != (uint32_t)who) {
		*other = mkey->pdn;
		return TRACE_KEY_PD;
	}
	if (window && qpn == 0)
		return TRACE_KEY_PEERS;
	if (mkey->state == NIC_MKEY_OTHER && mkey->kind != NIC_MKEY_WINDOW_1)
		only = nic_mkey_more(nic, mkey)->qpn;
	if (only == NIC_QPN_ANY || qpn == 0 || only == qpn)
		return TRACE_KEY_THERE;
	*other = only;
	return TRACE_KEY_QP;
}

static uint64_t bytes_of(const struct nic *nic, const struct nic_mkey *mkey)
{
	uint32_t index = (uint32_t)(mkey - nic->mkeys);

	return mkey->signature && nic_sig_is_on(nic, index) ? nic_sig_wire_bytes(nic, index)
							    : mkey->len_bytes;
}

static void look_at_key(const struct nic *nic, const struct nic_ask *ask, struct trace_event *event)
{
	uint32_t index = ask->key >> 8;
	const struct nic_mkey *mkey;

	event->reason = TRACE_BY_KEY;
	event->key = ask->key;
	event->access = ask->access;
	event->va = ask->va;
	event->want_bytes = ask->len_bytes;
	event->key_state = TRACE_KEY_NONE;
	if (index >= nic->mkey_slots.fresh || nic->mkeys[index].state == NIC_MKEY_NONE)
		return;
	mkey = &nic->mkeys[index];
	if (mkey->tag != (ask->key & 0xff)) {
		event->key_state = TRACE_KEY_OLD;
		event->other = index << 8 | mkey->tag;
		return;
	}
	event->key_state = state_for(nic, mkey, ask->who, &event->other);
	event->key_access = mkey->access;
	event->key_va = mkey->va;
	event->key_bytes = bytes_of(nic, mkey);
}

/* ---- entries and completions ----------------------------------------------------------------- */

static void opcode_limit(const struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe,
			 struct trace_event *event)
{
	event->reason = TRACE_BY_LENGTH;
	event->want_bytes = wqe->len_bytes;
	event->limit_bytes = 1ull << nic->config.message_max_bytes_log2;
	if (qp->type == NIC_QP_UD)
		event->limit_bytes = 1ull << qp->mtu_log2;
	if (wqe->opcode >= WQE_OP_ATOMIC_CS && wqe->opcode <= WQE_OP_ATOMIC_MASKED_FA)
		event->limit_bytes = wqe->atomic.len_bytes;
}

/* The first piece that may not be read, as nic_mem_check_list finds it. */
static void look_at_pieces(const struct nic *nic, const struct nic_qp *qp,
			   const struct nic_wqe *wqe, struct trace_event *event)
{
	for (uint32_t i = 0; i < wqe->piece_count; i++) {
		const struct nic_piece *piece = &wqe->pieces[i];
		struct nic_place place;
		struct nic_ask ask = {.who = qp->pdn,
				      .key = piece->lkey,
				      .va = piece->va,
				      .len_bytes = piece->len_bytes};

		if (wqe->inline_mask >> i & 1 ||
		    nic_mem_check(nic, ask.who, ask.key, ask.va, ask.len_bytes, 0, &place) ==
			NIC_MEM_OK)
			continue;
		look_at_key(nic, &ask, event);
		return;
	}
}

static bool opcode_known(const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	bool datagram = qp->type == NIC_QP_UD;

	if (!wqe_opcode_name(wqe->opcode))
		return false;
	return !datagram || wqe->opcode == WQE_OP_SEND || wqe->opcode == WQE_OP_SEND_IMM ||
	       wqe->opcode == WQE_OP_NOP;
}

static enum trace_reason qp_op_reason(const struct nic_qp *qp, const struct nic_wqe *wqe,
				      uint16_t index)
{
	uint32_t units = wqe->raw[7] & WQE_DS_MAX;

	if (units == 0)
		return TRACE_BY_UNREADABLE;
	if (wqe_bb_count(units) > (uint16_t)(qp->sq_pi - index))
		return TRACE_BY_NOT_POSTED;
	if (!opcode_known(qp, wqe))
		return TRACE_BY_OPCODE;
	if (nic_opcode_reads(wqe->opcode) && qp->params.rd_atomic == 0)
		return TRACE_BY_NO_RD_ATOMIC;
	return nic_opcode_local(wqe->opcode) ? TRACE_BY_LOCAL : TRACE_BY_SEGMENTS;
}

/* What is wrong with an entry before anything of it was done. */
static void tell_entry_fault(struct nic *nic, const struct nic_qp *qp, uint16_t index,
			     const struct nic_wqe *wqe, struct nic_fault fault)
{
	struct trace_event event = {.kind = TRACE_FAIL,
				    .number = qp->number,
				    .index = index,
				    .opcode = wqe->opcode,
				    .syndrome = fault.syndrome};

	if (fault.syndrome == CQE_SYND_LOCAL_LENGTH)
		opcode_limit(nic, qp, wqe, &event);
	else if (fault.syndrome == CQE_SYND_LOCAL_QP_OP)
		event.reason = qp_op_reason(qp, wqe, index);
	else if (nic_opcode_local(wqe->opcode))
		event.reason = TRACE_BY_LOCAL;
	else
		look_at_pieces(nic, qp, wqe, &event);
	tell(nic, &event);
}

static uint8_t address_kind(const struct nic_qp *qp)
{
	if (qp->type == NIC_QP_DCI)
		return WQE_ADDRESS_DC;
	return qp->type == NIC_QP_UD ? WQE_ADDRESS_UD : WQE_ADDRESS_NONE;
}

void nic_trace_send(struct nic *nic, const struct nic_qp *qp, uint16_t index,
		    const struct nic_wqe *wqe, struct nic_fault fault)
{
	uint32_t units_bytes = (wqe->raw[7] & WQE_DS_MAX) * WQE_UNIT_BYTES;
	uint32_t there_bytes = wqe->wqebb_count * (uint32_t)WQE_BB_BYTES;
	struct trace_event event = {
	    .kind = TRACE_SEND,
	    .number = qp->number,
	    .index = index,
	    .address = address_kind(qp),
	    .bytes = wqe->raw,
	    .len_bytes = units_bytes,
	};

	/* Longer than what is posted: only its first block was read. */
	if (units_bytes > there_bytes)
		event.len_bytes = WQE_BB_BYTES;
	tell(nic, &event);
	if (fault.syndrome != 0)
		tell_entry_fault(nic, qp, index, wqe, fault);
}

void nic_trace_receive(struct nic *nic, const struct nic_qp *qp, uint16_t index, uint32_t at,
		       uint32_t end)
{
	struct trace_event event = {
	    .kind = TRACE_RECV,
	    .number = qp->number,
	    .index = index,
	    .bytes = nic->rx_wqe.raw + at,
	    .len_bytes = end - at,
	};

	tell(nic, &event);
}

void nic_trace_cqe(struct nic *nic, uint32_t cqn, const struct cqe64 *cqe)
{
	struct trace_event event = {
	    .kind = TRACE_CQE, .number = cqn, .bytes = cqe, .len_bytes = sizeof(*cqe)};

	tell(nic, &event);
}

/* ---- failures -------------------------------------------------------------------------------- */

void nic_trace_deny(struct nic *nic, const struct nic_qp *qp, uint8_t syndrome,
		    enum trace_reason reason)
{
	struct trace_event event = {
	    .kind = TRACE_DENY, .reason = reason, .number = qp->number, .syndrome = syndrome};

	if (nic_tracing(nic))
		tell(nic, &event);
}

void nic_trace_deny_key(struct nic *nic, const struct nic_qp *qp, uint8_t syndrome,
			const struct nic_ask *ask)
{
	struct trace_event event = {.kind = TRACE_DENY, .number = qp->number, .syndrome = syndrome};

	if (!nic_tracing(nic))
		return;
	look_at_key(nic, ask, &event);
	tell(nic, &event);
}

void nic_trace_deny_short(struct nic *nic, const struct nic_qp *qp, uint64_t message_bytes)
{
	struct trace_event event = {.kind = TRACE_DENY,
				    .reason = TRACE_BY_RECEIVE_SHORT,
				    .number = qp->number,
				    .want_bytes = message_bytes,
				    .limit_bytes = nic->rx_wqe.len_bytes};

	if (nic_tracing(nic))
		tell(nic, &event);
}

void nic_trace_drop(struct nic *nic, const uint8_t *bth, enum trace_reason reason)
{
	struct trace_event event = {
	    .kind = TRACE_DENY, .reason = reason, .number = be24_load(bth + ROCE_BTH_DQPN_OFF)};

	if (nic_tracing(nic))
		tell(nic, &event);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static struct nic_ask ask_of(const struct nic_qp *qp, const struct nic_pkt *pkt)
{
	struct nic_ask ask = {.who = nic_peer_of(qp)};

	if (pkt->info->kind == ROCE_KIND_ATOMIC_REQ) {
		ask.key = atomic_rkey(pkt);
		ask.va = atomic_va(pkt);
		ask.len_bytes = atomic_bytes(pkt);
		ask.access = NIC_ACCESS_REMOTE_ATOMIC_F;
	} else if (pkt->info->reth_off) {
		ask.key = reth_rkey(pkt);
		ask.va = reth_va(pkt);
		ask.len_bytes = reth_len(pkt);
		ask.access = pkt->info->kind == ROCE_KIND_READ_REQ ? NIC_ACCESS_REMOTE_READ_F
								   : NIC_ACCESS_REMOTE_WRITE_F;
	}
	return ask;
}

enum trace_reason nic_trace_rights(const struct nic_pkt *pkt)
{
	if (pkt->info->kind == ROCE_KIND_WRITE)
		return TRACE_BY_NO_QP_WRITE;
	return pkt->info->kind == ROCE_KIND_READ_REQ ? TRACE_BY_NO_QP_READ : TRACE_BY_NO_QP_ATOMIC;
}

enum trace_reason nic_trace_region(const struct nic *nic, const struct nic_qp *qp,
				   const struct nic_pkt *pkt)
{
	struct nic_ask ask = ask_of(qp, pkt);
	struct nic_place place;

	if (pkt->info->headers & ROCE_H_IETH)
		return TRACE_BY_INVALIDATE;
	if (pkt->info->kind != ROCE_KIND_ATOMIC_REQ)
		return TRACE_BY_KEY;
	if (atomic_va(pkt) % atomic_bytes(pkt) != 0)
		return TRACE_BY_UNALIGNED;
	if (nic_mem_check(nic, ask.who, ask.key, ask.va, ask.len_bytes, ask.access, &place) !=
	    NIC_MEM_OK)
		return TRACE_BY_KEY;
	if (place.how != NIC_PLACE_PLAIN && place.how != NIC_PLACE_SYNCED)
		return TRACE_BY_SCATTERED;
	return TRACE_BY_UNALIGNED;
}

void nic_trace_request(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt,
		       uint8_t syndrome, enum trace_reason reason)
{
	struct nic_ask ask = ask_of(qp, pkt);

	if (reason == TRACE_BY_KEY)
		nic_trace_deny_key(nic, qp, syndrome, &ask);
	else
		nic_trace_deny(nic, qp, syndrome, reason);
}

/* ---- copies and answers ------------------------------------------------------------------------
 */

/* The stretch at wqe's cursor, where a copy has stopped. */
static void look_at_stretch(const struct nic *nic, uint32_t pdn, const struct nic_wqe *wqe,
			    uint32_t access, uint32_t n_max, struct trace_event *event)
{
	const struct nic_piece *piece = &wqe->pieces[wqe->at_piece];
	uint32_t left = piece->len_bytes - wqe->at_piece_off;
	struct nic_ask ask = {.who = pdn,
			      .key = piece->lkey,
			      .va = piece->va + wqe->at_piece_off,
			      .len_bytes = left < n_max ? left : n_max,
			      .access = access};

	look_at_key(nic, &ask, event);
}

static void tell_copy(struct nic *nic, const struct nic_qp *qp, const struct nic_op *op,
		      const struct nic_wqe *wqe, uint32_t access, uint64_t end,
		      enum nic_mem verdict)
{
	struct trace_event event = {
	    .kind = op ? TRACE_FAIL : TRACE_RECV_FAIL,
	    .number = qp->number,
	    .index = op              ? op->wqe_index
		     : qp->srqn != 0 ? qp->rx_index
				     : qp->rq_ci,
	    .opcode = op ? op->opcode : 0,
	    .syndrome = nic_mem_fault(verdict).syndrome,
	};
	uint32_t pdn = op ? qp->pdn : qp->pdn_recv;

	if (verdict == NIC_MEM_SHORT) {
		event.reason = TRACE_BY_RECEIVE_SHORT;
		event.want_bytes = end;
		event.limit_bytes = wqe->len_bytes;
	} else if (verdict == NIC_MEM_FAULT) {
		event.reason = TRACE_BY_MEMORY;
	} else {
		look_at_stretch(nic, pdn, wqe, access, (uint32_t)(end - wqe->at_off), &event);
	}
	tell(nic, &event);
}

void nic_trace_scatter(struct nic *nic, const struct nic_qp *qp, const struct nic_op *op,
		       struct nic_wqe *wqe, uint64_t off, uint32_t n, enum nic_mem verdict)
{
	if (nic_tracing(nic))
		tell_copy(nic, qp, op, wqe, NIC_ACCESS_LOCAL_WRITE_F, off + n, verdict);
}

void nic_trace_gather(struct nic *nic, const struct nic_qp *qp, const struct nic_op *op,
		      const struct nic_wqe *wqe, enum nic_mem verdict)
{
	if (nic_tracing(nic))
		tell_copy(nic, qp, op, wqe, 0, op->len_bytes, verdict);
}

void nic_trace_fail(struct nic *nic, const struct nic_qp *qp, const struct nic_op *op,
		    struct nic_fault fault, enum trace_reason reason)
{
	struct trace_event event = {
	    .kind = TRACE_FAIL,
	    .reason = reason,
	    .number = qp->number,
	    .index = op->wqe_index,
	    .opcode = op->opcode,
	    .syndrome = fault.syndrome,
	    .want_bytes = op->len_bytes,
	    .tries = 1u + (reason == TRACE_BY_NEVER_RECEIVE ? qp->params.rnr_retry
							    : qp->params.retry_count),
	    .wait_ns = nic_rtt_timeout_ns(qp),
	};
	const struct nic_wqe *wqe;

	if (!nic_tracing(nic))
		return;
	wqe = nic_wqe_again(nic, qp, op, qp->op_tail, &nic->resp_wqe);
	if (wqe && op->opcode != WQE_OP_SEND && op->opcode != WQE_OP_SEND_IMM &&
	    op->opcode != WQE_OP_SEND_INVAL) {
		event.va = wqe->raddr;
		event.key = wqe->rkey;
	}
	tell(nic, &event);
}

void nic_trace_nak(struct nic *nic, const struct nic_qp *qp, bool came, uint8_t syndrome,
		   uint32_t psn)
{
	struct trace_event event = {.kind = came ? TRACE_NAK_CAME : TRACE_NAK_SENT,
				    .number = qp->number,
				    .syndrome = syndrome,
				    .psn = psn};

	if (nic_tracing(nic))
		tell(nic, &event);
}

void nic_trace_retry(struct nic *nic, const struct nic_qp *qp)
{
	struct trace_event event = {.kind = TRACE_RETRY,
				    .number = qp->number,
				    .psn = qp->psn_una,
				    .tries = qp->retry_left,
				    .wait_ns = nic_rtt_timeout_ns(qp)};

	if (nic_tracing(nic))
		tell(nic, &event);
}
