/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poll.c - the data path from the NIC: completions.
 *
 * A ring starts out with owner bits that no first lap writes, so the owner bit alone says whether a
 * completion is there. The user index in it leads to the queue pair; a queue pair that was
 * destroyed but whose destruction the kernel refused leads to NULL, and what still completes of it
 * is dropped. Nothing else of a dead queue pair is ever in the ring: see lib_cq_purge.
 */
#include "lib/barrier.h"
#include "lib/lib.h"

#include <string.h>

#define COLD __attribute__((noinline, cold))

enum {
	POLL_MAX = 65535,
};

/* The operation of a send queue entry; RIG_OP_UNKNOWN: none that this library posts. */
#define RIG_OP_UNKNOWN 0xff

static uint8_t op_of(uint8_t wqe_opcode)
{
	switch (wqe_opcode) {
	case WQE_OP_WRITE:
	case WQE_OP_WRITE_IMM:
		return RIG_WRITE;
	case WQE_OP_READ:
		return RIG_READ;
	case WQE_OP_SEND:
	case WQE_OP_SEND_IMM:
		return RIG_SEND;
	case WQE_OP_ATOMIC_FA:
		return RIG_FETCH_ADD;
	case WQE_OP_ATOMIC_CS:
		return RIG_COMPARE_SWAP;
	}
	return RIG_OP_UNKNOWN;
}

static uint8_t status_of(uint8_t syndrome)
{
	switch (syndrome) {
	case CQE_SYND_LOCAL_LENGTH:
		return RIG_LOCAL_LENGTH;
	case CQE_SYND_LOCAL_QP_OP:
		return RIG_LOCAL_QP_OPERATION;
	case CQE_SYND_LOCAL_PROT:
		return RIG_LOCAL_PROTECTION;
	case CQE_SYND_WR_FLUSH:
		return RIG_FLUSHED;
	case CQE_SYND_MW_BIND:
		return RIG_MW_BIND;
	case CQE_SYND_BAD_RESP:
		return RIG_BAD_RESPONSE;
	case CQE_SYND_LOCAL_ACCESS:
		return RIG_LOCAL_ACCESS;
	case CQE_SYND_REMOTE_INVAL_REQ:
		return RIG_REMOTE_INVALID_REQUEST;
	case CQE_SYND_REMOTE_ACCESS:
		return RIG_REMOTE_ACCESS;
	case CQE_SYND_REMOTE_OP:
		return RIG_REMOTE_OPERATION;
	case CQE_SYND_RETRY_EXC:
		return RIG_RETRY_EXCEEDED;
	case CQE_SYND_RNR_RETRY_EXC:
		return RIG_RNR_EXCEEDED;
	case CQE_SYND_REMOTE_ABORTED:
		return RIG_REMOTE_ABORTED;
	}
	return RIG_UNEXPECTED;
}

/* qp_of - the queue pair that a completion is of; NULL: gone. Published by qp_make. */
static inline struct rig_qp *qp_of(struct rig_qp *const *table, const struct cqe64 *cqe)
{
	return __atomic_load_n(&table[be32_to(cqe->srqn_uidx) & (LIB_UIDX_COUNT - 1)],
			       __ATOMIC_ACQUIRE);
}

static void take_unknown(const struct cqe64 *cqe, struct rig_wc *wc)
{
	wc->index = be16_to(cqe->wqe_counter);
	wc->kind = RIG_WC_UNKNOWN;
	wc->status = RIG_UNEXPECTED;
}

/*
 * receive_pass - the index of the receive that is done: the oldest, as a queue pair's own complete
 * in order; or the slot of a shared one, which is free again.
 */
static uint16_t receive_pass(struct rig_qp *qp, const struct cqe64 *cqe)
{
	uint32_t tail = atomic_load_explicit(&qp->rq_tail, memory_order_relaxed);

	if (LIB_UNLIKELY(qp->srq)) {
		lib_srq_give(qp->srq, be16_to(cqe->wqe_counter));
		return be16_to(cqe->wqe_counter);
	}
	atomic_store_explicit(&qp->rq_tail, tail + 1, memory_order_release);
	return (uint16_t)tail;
}

/* The length of a good entry's completion: of the CQE under a mask, or fixed. By WQE opcode. */
static const struct {
	uint32_t op;
	uint32_t len_mask;
	uint32_t len_fixed;
	bool known;
} good_entries[WQE_OP_ATOMIC_FA + 1] = {
	[WQE_OP_WRITE] = {RIG_WRITE, 0, 0, true},
	[WQE_OP_WRITE_IMM] = {RIG_WRITE, 0, 0, true},
	[WQE_OP_SEND] = {RIG_SEND, 0, 0, true},
	[WQE_OP_SEND_IMM] = {RIG_SEND, 0, 0, true},
	[WQE_OP_READ] = {RIG_READ, UINT32_MAX, 0, true},
	[WQE_OP_ATOMIC_CS] = {RIG_COMPARE_SWAP, 0, sizeof(uint64_t), true},
	[WQE_OP_ATOMIC_FA] = {RIG_FETCH_ADD, 0, sizeof(uint64_t), true},
};

/* take_good - a good completion of a known kind, in whole words; false: take_any's business. */
static inline bool take_good(struct rig_qp *qp, const struct cqe64 *cqe, struct rig_wc *wc)
{
	uint8_t opcode = cqe_opcode_of(cqe->op_own), wqe_opcode = cqe_send_opcode(cqe);
	uint64_t *words = (uint64_t *)(void *)wc;
	uint32_t index, len = be32_to(cqe->byte_cnt);

	if (opcode == CQE_REQ && wqe_opcode < sizeof(good_entries) / sizeof(good_entries[0]) &&
	    good_entries[wqe_opcode].known) {
		index = be16_to(cqe->wqe_counter);
		len =
		    (len & good_entries[wqe_opcode].len_mask) | good_entries[wqe_opcode].len_fixed;
		words[0] = LIB_WC_WORD0(qp->number, index, RIG_WC_ENTRY);
		words[1] = LIB_WC_WORD1(good_entries[wqe_opcode].op, len);
		atomic_store_explicit(&qp->sq_done, index, memory_order_release);
	} else if (opcode == CQE_RESP_SEND && qp->plain) {
		index = receive_pass(qp, cqe);
		words[0] = LIB_WC_WORD0(qp->number, index, RIG_WC_RECEIVE);
		words[1] = LIB_WC_WORD1(RIG_SEND, len);
	} else {
		return false;
	}
	words[2] = 0;
	words[3] = be64_to(cqe->timestamp);
	return true;
}

/* What flags_rqpn holds [mlx5dv.h], on Ethernet the kind of IP header, too [linux mlx5_ib cq.c]. */
enum {
	FROM_GRH_SHIFT = 28,
	FROM_GRH_MASK = 3,
	FROM_IP_SHIFT = 24,
	FROM_IP_MASK = 3,
	FROM_IPV4 = 2,
	FROM_QPN_MASK = 0xffffff,
};

/* take_source - where a datagram, or a DC initiator's message, came from. */
static void take_source(const struct rig_qp *qp, const struct cqe64 *cqe, struct rig_wc *wc)
{
	uint32_t flags = be32_to(cqe->flags_rqpn);

	wc->source_qp = flags & FROM_QPN_MASK;
	if (!qp->datagram)
		return;
	if (flags >> FROM_GRH_SHIFT & FROM_GRH_MASK)
		wc->flags |= RIG_WC_GRH_F;
	if (qp->infiniband)
		wc->source_lid = be16_to(cqe->slid);
	else if ((flags >> FROM_IP_SHIFT & FROM_IP_MASK) == FROM_IPV4)
		wc->flags |= RIG_WC_IPV4_F;
}

static void take_receive(struct rig_qp *qp, const struct cqe64 *cqe, enum cqe_opcode opcode,
			 struct rig_wc *wc)
{
	wc->index = receive_pass(qp, cqe);
	wc->kind = RIG_WC_RECEIVE;
	wc->status = RIG_OK;
	wc->op = opcode == CQE_RESP_WR_IMM ? RIG_WRITE : RIG_SEND;
	wc->len_bytes = be32_to(cqe->byte_cnt);
	if (opcode != CQE_RESP_SEND) {
		wc->flags = RIG_WC_IMM_F;
		wc->imm = be32_to(cqe->imm_inval_pkey);
	}
	if (qp->has_source)
		take_source(qp, cqe, wc);
}

static void take_error(struct rig_qp *qp, const struct cqe64 *cqe, bool entry, struct rig_wc *wc)
{
	const struct cqe_err64 *error = (const struct cqe_err64 *)(const void *)cqe;
	uint8_t op = op_of(cqe_send_opcode(cqe));

	wc->time_ticks = 0; /* an error completion has none */
	wc->syndrome = error->syndrome;
	wc->vendor_syndrome = error->vendor_syndrome;
	wc->status = status_of(error->syndrome);
	if (wc->status == RIG_UNEXPECTED) {
		take_unknown(cqe, wc);
		return;
	}
	if (!entry) {
		wc->kind = RIG_WC_RECEIVE;
		wc->op = RIG_SEND;
		wc->index = receive_pass(qp, cqe);
		return;
	}
	wc->kind = RIG_WC_ENTRY;
	wc->op = op == RIG_OP_UNKNOWN ? 0 : op;
	wc->index = be16_to(cqe->wqe_counter);
	atomic_store_explicit(&qp->sq_done, wc->index, memory_order_release);
}

/*
 * take_any - what take_good leaves: failures, immediate data, receives that are datagrams or
 * shared, and what is not known.
 */
static __attribute__((noinline)) void take_any(struct rig_qp *qp, const struct cqe64 *cqe,
					       struct rig_wc *wc)
{
	uint8_t opcode = cqe_opcode_of(cqe->op_own);

	memset(wc, 0, sizeof(*wc));
	wc->qp = qp->number;
	wc->time_ticks = be64_to(cqe->timestamp);
	if (opcode == CQE_RESP_SEND || opcode == CQE_RESP_SEND_IMM || opcode == CQE_RESP_WR_IMM)
		take_receive(qp, cqe, (enum cqe_opcode)opcode, wc);
	else if (opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR)
		take_error(qp, cqe, opcode == CQE_REQ_ERR, wc);
	else
		take_unknown(cqe, wc);
}

/*
 * take_write - the completion of a write by qp: take_any's work, in few stores of whole words. A
 * reader of *wc then loads what was stored in one piece.
 */
static inline void take_write(struct rig_qp *qp, const struct cqe64 *cqe, struct rig_wc *wc)
{
	uint32_t index = be16_to(cqe->wqe_counter);
	uint64_t *words = (uint64_t *)(void *)wc;

	atomic_store_explicit(&qp->sq_done, index, memory_order_release);
	words[0] = LIB_WC_WORD0(qp->number, index, RIG_WC_ENTRY);
	words[1] = 0; /* a write, no flags, no syndrome, no length */
	words[2] = 0; /* no immediate data, no source */
	words[3] = be64_to(cqe->timestamp);
}

/*
 * is_write - whether cqe, whose op_own differs from its lap's owner bit by op_own, is a good
 * write's.
 */
static inline bool is_write(const struct cqe64 *cqe, uint8_t op_own)
{
	/* The opcode is the first byte in memory of sop_drop_qpn. */
	return (op_own & (0xf0 | CQE_OWNER_MASK)) == 0 &&
	       *(const uint8_t *)&cqe->sop_drop_qpn == WQE_OP_WRITE;
}

static inline const struct cqe64 *cqe_at(const struct rig_cq *cq, uint32_t position)
{
	return (const struct cqe64 *)(const void *)(cq->ring +
						    (size_t)(position & cq->cqe_mask) * CQE_BYTES);
}

/* lap_of - the owner bit that a completion written at position has. */
static inline uint8_t lap_of(const struct rig_cq *cq, uint32_t position)
{
	return (position & cq->cqe_count) != 0;
}

/* op_own_of - op_own of what is at cqe, its owner bit 0 if the NIC wrote it in this lap. */
static inline uint8_t op_own_of(const struct cqe64 *cqe, uint8_t lap)
{
	return __atomic_load_n(&cqe->op_own, __ATOMIC_RELAXED) ^ lap;
}

static inline void consumer_set(struct rig_cq *cq, uint32_t position)
{
	cq->consumer = position;
	lib_cqe_before_consumer();
	__atomic_store_n(&cq->record[DB_CQ_CONSUMER].raw,
			 be32_from(position & DB_CQ_INDEX_MASK).raw, __ATOMIC_RELAXED);
}

static inline bool poll_enter(struct rig_cq *cq)
{
	atomic_store_explicit(&cq->polling, 1, memory_order_relaxed);
	lib_mark_before_state();
	return atomic_load_explicit(&cq->poll_ready, memory_order_acquire) == LIB_POLL_READY;
}

static inline void poll_leave(struct rig_cq *cq)
{
	atomic_store_explicit(&cq->polling, 0, memory_order_release);
}

/* poll_any - count completions are in wc; up to max of any kind; then leaves. */
static __attribute__((noinline)) int poll_any(struct rig_cq *cq, struct rig_wc *wc, int count,
					      int max)
{
	uint32_t position = cq->consumer;
	struct rig_qp *qp;

	while (count < max) {
		const struct cqe64 *cqe = cqe_at(cq, position);

		if (op_own_of(cqe, lap_of(cq, position)) & CQE_OWNER_MASK)
			break;
		lib_owner_before_cqe();
		qp = qp_of(cq->uidx_table, cqe);
		position++;
		if (LIB_UNLIKELY(!qp))
			continue;
		if (!take_good(qp, cqe, &wc[count]))
			take_any(qp, cqe, &wc[count]);
		count++;
	}
	if (position != cq->consumer)
		consumer_set(cq, position);
	poll_leave(cq);
	return count;
}

/*
 * poll_writes - one completion is in wc; up to max of writes, as long as they are next to each
 * other. What else comes is left to poll_any, so that this loop makes no call and keeps all it
 * needs in registers.
 */
static __attribute__((noinline)) int poll_writes(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	struct rig_qp *const *table = cq->uidx_table;
	uint32_t position = cq->consumer;
	uint32_t ahead = cq->cqe_count - (position & cq->cqe_mask);
	const struct cqe64 *cqe = cqe_at(cq, position);
	uint8_t lap = lap_of(cq, position);
	struct rig_wc *at = wc + 1;
	const struct rig_wc *end = at + ((uint32_t)max - 1 < ahead ? (uint32_t)max - 1 : ahead);
	int count;

	do {
		uint8_t op_own = op_own_of(cqe, lap);
		struct rig_qp *qp;

		lib_owner_before_cqe();
		if (!is_write(cqe, op_own))
			break;
		qp = qp_of(table, cqe);
		if (LIB_UNLIKELY(!qp))
			break;
		take_write(qp, cqe, at);
		cqe++;
		at++;
	} while (at != end);
	count = (int)(at - wc);
	consumer_set(cq, position + (uint32_t)count - 1);
	if (LIB_UNLIKELY(count != max))
		return poll_any(cq, wc, count, max);
	poll_leave(cq);
	return count;
}

static COLD int poll_bad(const struct rig_wc *wc, int max)
{
	return lib_fail(EINVAL, "rig_cq_poll: %d completions to %p; 1 to %d at a time", max,
			(const void *)wc, POLL_MAX);
}

/* poll_slow - the queue is stopped, gone or none. */
static COLD int poll_slow(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	do {
		int err = lib_cq_enter_slow(cq, "rig_cq_poll");

		if (err)
			return err;
	} while (!poll_enter(cq));
	return poll_any(cq, wc, 0, max);
}

/* poll_lent - a poll that found nothing lends its time to the software NIC, and looks again. */
static __attribute__((noinline)) int poll_lent(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	cq->progress(cq->progress_ctx);
	return poll_enter(cq) ? poll_any(cq, wc, 0, max) : poll_slow(cq, wc, max);
}

int rig_cq_poll(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	const struct cqe64 *cqe;
	struct rig_qp *qp;
	uint32_t position;
	uint8_t op_own;

	if (LIB_UNLIKELY((unsigned int)max - 1 >= POLL_MAX))
		return poll_bad(wc, max);
	if (LIB_UNLIKELY(!poll_enter(cq)))
		return poll_slow(cq, wc, max);
	position = cq->consumer;
	cqe = cqe_at(cq, position);
	op_own = op_own_of(cqe, lap_of(cq, position));
	lib_owner_before_cqe();
	if (op_own & CQE_OWNER_MASK) {
		poll_leave(cq);
		return cq->progress ? poll_lent(cq, wc, max) : 0;
	}
	if (LIB_UNLIKELY(!is_write(cqe, op_own)))
		return poll_any(cq, wc, 0, max);
	qp = qp_of(cq->uidx_table, cqe);
	if (LIB_UNLIKELY(!qp))
		return poll_any(cq, wc, 0, max);
	take_write(qp, cqe, wc);
	if (max != 1) {
		cq->consumer = position + 1;
		return poll_writes(cq, wc, max);
	}
	consumer_set(cq, position + 1);
	poll_leave(cq);
	return 1;
}
