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
	UIDX_MASK = 0xffffff,
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

static void take_unknown(const struct cqe64 *cqe, struct rig_wc *wc)
{
	wc->index = be16_to(cqe->wqe_counter);
	wc->kind = RIG_WC_UNKNOWN;
	wc->status = RIG_UNEXPECTED;
}

static void take_entry(struct rig_qp *qp, const struct cqe64 *cqe, struct rig_wc *wc)
{
	wc->index = be16_to(cqe->wqe_counter);
	wc->op = op_of(cqe_send_opcode(cqe));
	if (wc->op == RIG_OP_UNKNOWN) {
		wc->op = 0;
		take_unknown(cqe, wc);
		return;
	}
	wc->kind = RIG_WC_ENTRY;
	wc->status = RIG_OK;
	if (wc->op == RIG_READ)
		wc->len_bytes = be32_to(cqe->byte_cnt);
	else if (wc->op == RIG_FETCH_ADD || wc->op == RIG_COMPARE_SWAP)
		wc->len_bytes = sizeof(uint64_t);
	atomic_store_explicit(&qp->sq_done, wc->index, memory_order_release);
}

/* receive_pass - the index of the oldest receive, which is done: receives complete in order. */
static uint16_t receive_pass(struct rig_qp *qp)
{
	uint32_t tail = atomic_load_explicit(&qp->rq_tail, memory_order_relaxed);

	atomic_store_explicit(&qp->rq_tail, tail + 1, memory_order_release);
	return (uint16_t)tail;
}

static void take_receive(struct rig_qp *qp, const struct cqe64 *cqe, enum cqe_opcode opcode,
			 struct rig_wc *wc)
{
	wc->index = receive_pass(qp);
	wc->kind = RIG_WC_RECEIVE;
	wc->status = RIG_OK;
	wc->op = opcode == CQE_RESP_WR_IMM ? RIG_WRITE : RIG_SEND;
	wc->len_bytes = be32_to(cqe->byte_cnt);
	if (opcode != CQE_RESP_SEND) {
		wc->flags = RIG_WC_IMM_F;
		wc->imm = be32_to(cqe->imm_inval_pkey);
	}
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
		wc->index = receive_pass(qp);
		return;
	}
	wc->kind = RIG_WC_ENTRY;
	wc->op = op == RIG_OP_UNKNOWN ? 0 : op;
	wc->index = be16_to(cqe->wqe_counter);
	atomic_store_explicit(&qp->sq_done, wc->index, memory_order_release);
}

/*
 * take_any - a completion of any kind into *wc; false: its queue pair is gone, nothing to report.
 */
static __attribute__((noinline)) bool take_any(const struct rig_cq *cq, const struct cqe64 *cqe,
					       struct rig_wc *wc)
{
	struct rig_qp *qp = cq->uidx_table[be32_to(cqe->srqn_uidx) & (LIB_UIDX_COUNT - 1)];
	uint8_t opcode = cqe_opcode_of(cqe->op_own);

	if (!qp)
		return false;
	memset(wc, 0, sizeof(*wc));
	wc->qp = qp->number;
	wc->time_ticks = be64_to(cqe->timestamp);
	if (opcode == CQE_REQ)
		take_entry(qp, cqe, wc);
	else if (opcode == CQE_RESP_SEND || opcode == CQE_RESP_SEND_IMM ||
		 opcode == CQE_RESP_WR_IMM)
		take_receive(qp, cqe, (enum cqe_opcode)opcode, wc);
	else if (opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR)
		take_error(qp, cqe, opcode == CQE_REQ_ERR, wc);
	else
		take_unknown(cqe, wc);
	return true;
}

/* take_write - the completion of a write: take_any's work, in few stores of whole words. */
static inline bool take_write(const struct rig_cq *cq, const struct cqe64 *cqe, struct rig_wc *wc)
{
	struct rig_qp *qp = cq->uidx_table[be32_to(cqe->srqn_uidx) & (LIB_UIDX_COUNT - 1)];
	uint32_t index = be16_to(cqe->wqe_counter);
	uint64_t *words = (uint64_t *)(void *)wc;

	if (LIB_UNLIKELY(!qp))
		return false;
	atomic_store_explicit(&qp->sq_done, index, memory_order_release);
	words[0] = LIB_WC_WORD0(qp->number, index);
	words[1] = 0; /* a write, no flags, no syndrome, no length */
	words[2] = 0; /* no immediate data, no source */
	words[3] = be64_to(cqe->timestamp);
	return true;
}

/* poll_ring - up to max completions; the caller is marked as polling. */
static inline int poll_ring(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	const struct rig_wc *first = wc, *end = wc + max;
	uint32_t position = cq->consumer;
	uint32_t mask = cq->cqe_mask;
	const char *cqe_at = cq->ring + (size_t)(position & mask) * CQE_BYTES;
	uint8_t lap = (position & (mask + 1)) != 0;

	do {
		const struct cqe64 *cqe = (const struct cqe64 *)(const void *)cqe_at;
		uint8_t op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_RELAXED) ^ lap;
		bool taken;

		if (op_own & CQE_OWNER_MASK)
			break;
		lib_owner_before_cqe();
		/* The opcode is the first byte in memory of sop_drop_qpn. */
		if (LIB_LIKELY(op_own >> CQE_OPCODE_SHIFT == CQE_REQ &&
			       *(const uint8_t *)&cqe->sop_drop_qpn == WQE_OP_WRITE))
			taken = take_write(cq, cqe, wc);
		else
			taken = take_any(cq, cqe, wc);
		wc += taken;
		cqe_at += CQE_BYTES;
		if (LIB_UNLIKELY((++position & mask) == 0)) {
			cqe_at = cq->ring;
			lap ^= 1;
		}
	} while (wc != end);
	if (position != cq->consumer) {
		cq->consumer = position;
		lib_cqe_before_consumer();
		__atomic_store_n(&cq->record[DB_CQ_CONSUMER].raw,
				 be32_from(position & DB_CQ_INDEX_MASK).raw, __ATOMIC_RELAXED);
	}
	return (int)(wc - first);
}

static COLD int poll_bad(const struct rig_wc *wc, int max)
{
	return lib_fail(EINVAL, "rig_cq_poll: %d completions to %p; 1 to %d at a time", max,
			(const void *)wc, POLL_MAX);
}

/* poll_lent - a poll that found nothing lends its time to the software NIC, and looks again. */
static COLD int poll_lent(struct rig_cq *cq, struct rig_wc *wc, int max);
static COLD int poll_slow(struct rig_cq *cq, struct rig_wc *wc, int max);

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

int rig_cq_poll(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	int count;

	if (LIB_UNLIKELY((unsigned int)max - 1 >= POLL_MAX || !wc))
		return poll_bad(wc, max);
	if (LIB_UNLIKELY(!cq || !poll_enter(cq)))
		return poll_slow(cq, wc, max);
	count = poll_ring(cq, wc, max);
	poll_leave(cq);
	if (count == 0 && cq->progress)
		return poll_lent(cq, wc, max);
	return count;
}

static COLD int poll_lent(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	int count;

	cq->progress(cq->progress_ctx);
	if (!poll_enter(cq))
		return poll_slow(cq, wc, max);
	count = poll_ring(cq, wc, max);
	poll_leave(cq);
	return count;
}

static COLD int poll_slow(struct rig_cq *cq, struct rig_wc *wc, int max)
{
	int count;

	do {
		int err = lib_cq_enter_slow(cq, "rig_cq_poll");

		if (err)
			return err;
	} while (!poll_enter(cq));
	count = poll_ring(cq, wc, max);
	poll_leave(cq);
	return count;
}
