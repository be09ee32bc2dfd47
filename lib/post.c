/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * post.c - the data path towards the NIC: entries, receives, and the doorbell.
 *
 * No system call, lock, locked instruction or allocation. One compare, of post_ready, says that the
 * handle is live, this is not a child after fork, and the queue pair is connected; what is wrong
 * otherwise is found out of line. An 8-byte inline write into a ring with known room, the commonest
 * entry, has a path of its own, counted in instructions: bench/lib_instructions.sh.
 */
#include "lib/barrier.h"
#include "lib/entry.h"

#include <string.h>

#define COLD __attribute__((noinline, cold))

enum {
	FAST_INLINE_BYTES = 8,
	FAST_FLAGS_FIRST = RIG_INLINE_F, /* with any of signal, fence, solicited */
};

static COLD int post_refused(const struct rig_qp *qp, const char *call)
{
	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, call);
	return lib_fail(EINVAL, "%s: queue pair 0x%x is not connected", call, qp->number);
}

/* check_limits - an entry that some queue pair could run, against this one and its port. */
static int check_limits(const struct rig_qp *qp, const struct rig_entry *entry,
			const struct lib_entry_plan *plan)
{
	if (plan->units > qp->wqe_units_max || plan->piece_count > qp->pieces_max)
		return lib_fail(EINVAL,
				"rig_qp_post: %u pieces, or %u bytes of inline data, are more"
				" than this NIC takes in an entry",
				plan->piece_count, entry->inline_len_bytes);
	if (plan->data_bytes > qp->message_max_bytes)
		return lib_fail(EINVAL, "rig_qp_post: a message of %llu bytes; the port carries %u",
				(unsigned long long)plan->data_bytes, qp->message_max_bytes);
	if (!qp->atomics && (entry->op == RIG_FETCH_ADD || entry->op == RIG_COMPARE_SWAP))
		return lib_fail(EINVAL, "rig_qp_post: this NIC has no atomics");
	if (wqe_bb_count(plan->units) > qp->sq_count)
		return lib_fail(EINVAL, "rig_qp_post: the entry takes %u slots; the ring has %u",
				wqe_bb_count(plan->units), qp->sq_count);
	return 0;
}

/* sq_has_room - whether need_bytes of the ring are free, after a look at what has completed. */
static bool sq_has_room(struct rig_qp *qp, uint32_t need_bytes)
{
	uint32_t done;

	if (qp->sq_limit - qp->sq_pos >= need_bytes)
		return true;
	done = atomic_load_explicit(&qp->sq_done, memory_order_acquire);
	qp->sq_tail = lib_qp_sq_tail(qp, done);
	qp->sq_tail_done = done;
	qp->sq_limit = qp->sq_tail + qp->sq_mask + 1;
	return qp->sq_limit - qp->sq_pos >= need_bytes;
}

/* post_general - any entry, into a ring whose room has to be looked at. */
static __attribute__((noinline)) int post_general(struct rig_qp *qp, const struct rig_entry *entry)
{
	struct lib_entry_plan plan;
	uint32_t need_bytes;
	int err;

	if (!entry)
		return lib_fail(EINVAL, "rig_qp_post: no entry");
	err = lib_entry_plan(entry, &plan);
	err = err ? err : check_limits(qp, entry, &plan);
	if (err)
		return err;
	need_bytes = wqe_bb_count(plan.units) * WQE_BB_BYTES;
	if (!sq_has_room(qp, need_bytes))
		return lib_fail(EAGAIN, "rig_qp_post: the ring of %u slots is full", qp->sq_count);
	qp->sq_newest = lib_entry_write(qp, entry, &plan, qp->sq_pos);
	qp->sq_pos += need_bytes;
	return 0;
}

/* post_fast - an 8-byte inline write whose entry was checked, into a slot that is free. */
static inline void post_fast(struct rig_qp *qp, const struct rig_entry *entry, uint8_t fm_ce_se)
{
	uint32_t pos = qp->sq_pos;
	char *slot = qp->sq + (pos & qp->sq_mask);
	/* Index: bits 21..6 of the position, at bits 55..40 of the ctrl segment's first 8 bytes. */
	uint64_t head = (uint64_t)pos << 42 >> 8 | qp->sq_base_write8;

	head = be64_from(head).raw;
	qp->sq_newest = head;
	memcpy(slot, &head, sizeof(head));
	/* Signature and stream 0, fm_ce_se at byte 11, immediate data 0. */
	*(struct be64 *)(void *)(slot + 8) = be64_from((uint64_t)fm_ce_se << 32);
	*(struct be64 *)(void *)(slot + 16) = be64_from(entry->remote_addr);
	*(struct be64 *)(void *)(slot + 24) = be64_from((uint64_t)entry->remote_key << 32);
	*(struct be32 *)(void *)(slot + 32) = be32_from(WQE_INLINE_F | FAST_INLINE_BYTES);
	memcpy(slot + 36, entry->inline_data, FAST_INLINE_BYTES);
	qp->sq_pos = pos + WQE_BB_BYTES;
}

/* entry_is_fast - one compare for operation and flags, one for the length, one for the rest. */
static inline bool entry_is_fast(const struct rig_entry *entry)
{
	return ((unsigned int)entry->op << 8 | entry->flags) - FAST_FLAGS_FIRST <= 7 &&
	       entry->inline_len_bytes == FAST_INLINE_BYTES &&
	       ((uintptr_t)entry->ah | entry->remote_qp | entry->remote_qkey |
		entry->remote_dc_key | entry->stream) == 0;
}

int rig_qp_post(struct rig_qp *qp, const struct rig_entry *entry)
{
	if (LIB_UNLIKELY(!qp || atomic_load_explicit(&qp->post_ready, memory_order_acquire) !=
					LIB_POST_READY))
		return post_refused(qp, "rig_qp_post");
	if (LIB_UNLIKELY(!entry || !entry_is_fast(entry) || qp->sq_pos == qp->sq_limit ||
			 !entry->inline_data))
		return post_general(qp, entry);
	post_fast(qp, entry, lib_fm_ce_se[entry->flags & 7]);
	return 0;
}

int rig_qp_ring(struct rig_qp *qp)
{
	uint32_t pos;

	if (LIB_UNLIKELY(!qp || atomic_load_explicit(&qp->post_ready, memory_order_acquire) !=
					LIB_POST_READY))
		return post_refused(qp, "rig_qp_ring");
	pos = qp->sq_pos;
	if (pos == qp->sq_rung)
		return 0;
	qp->sq_rung = pos;
	lib_wqe_before_record();
	__atomic_store_n(&qp->record[DB_SEND].raw, be32_from(pos / WQE_BB_BYTES & 0xffff).raw,
			 __ATOMIC_RELAXED);
	lib_record_before_register();
	/* One 8-byte store: queue pairs that share the register never mix theirs (libxlio#123). */
	__atomic_store_n(qp->reg, qp->sq_newest, __ATOMIC_RELAXED);
	if (qp->progress)
		qp->progress(qp->progress_ctx);
	return 0;
}

/*
 * ---- receives
 * ---------------------------------------------------------------------------------------
 */

static COLD int receive_full(struct rig_qp *qp)
{
	if (!qp->rq_count)
		return lib_fail(EINVAL, "rig_qp_receive: queue pair 0x%x has no receive ring",
				qp->number);
	return lib_fail(EAGAIN, "rig_qp_receive: the ring of %u receives is full", qp->rq_count);
}

static bool rq_has_room(struct rig_qp *qp)
{
	uint32_t tail;

	if (qp->rq_pos != qp->rq_limit)
		return true;
	tail = atomic_load_explicit(&qp->rq_tail, memory_order_acquire);
	qp->rq_limit = (tail + qp->rq_count) * WQE_BB_BYTES;
	return qp->rq_pos != qp->rq_limit;
}

/* rq_publish - the receive at the newest slot is written: the NIC may fill it from now on. */
static inline void rq_publish(struct rig_qp *qp)
{
	qp->rq_pos += WQE_BB_BYTES;
	lib_wqe_before_record();
	__atomic_store_n(&qp->record[DB_RECV].raw,
			 be32_from(qp->rq_pos / WQE_BB_BYTES & 0xffff).raw, __ATOMIC_RELAXED);
}

static inline struct wqe_data_seg *rq_segment(const struct rig_qp *qp, uint32_t index)
{
	return (struct wqe_data_seg *)(void *)(qp->rq + (qp->rq_pos & qp->rq_mask)) + index;
}

static inline void segment_set(struct wqe_data_seg *seg, uint32_t len, uint32_t key, uint64_t addr)
{
	seg->byte_count = be32_from(len);
	seg->lkey = be32_from(key);
	seg->va = be64_from(addr);
}

static COLD int piece_refused(const struct rig_local *piece)
{
	if (!piece)
		return lib_fail(EINVAL, "rig_qp_receive: no piece");
	return lib_fail(EINVAL, "rig_qp_receive: a piece of %u bytes; at most %u", piece->len_bytes,
			LIB_MESSAGE_MAX);
}

int rig_qp_receive(struct rig_qp *qp, const struct rig_local *local)
{
	uint32_t used;

	if (LIB_UNLIKELY(!qp || atomic_load_explicit(&qp->post_ready, memory_order_acquire) !=
					LIB_POST_READY))
		return post_refused(qp, "rig_qp_receive");
	if (LIB_UNLIKELY(!local || local->len_bytes > LIB_MESSAGE_MAX))
		return piece_refused(local);
	if (LIB_UNLIKELY(!rq_has_room(qp)))
		return receive_full(qp);
	used = local->len_bytes != 0;
	if (LIB_LIKELY(used))
		segment_set(rq_segment(qp, 0), local->len_bytes, local->key, local->addr);
	segment_set(rq_segment(qp, used), 0, WQE_LKEY_INVALID, 0);
	rq_publish(qp);
	return 0;
}

/* pieces_check - the number of pieces that are not empty, or -EINVAL. */
static int pieces_check(const struct rig_local *pieces, int piece_count)
{
	uint64_t total = 0;
	int used = 0;

	if (piece_count < 0 || (piece_count && !pieces))
		return lib_fail(EINVAL, "rig_qp_receive_pieces: %d pieces at %p", piece_count,
				(const void *)pieces);
	for (int i = 0; i < piece_count; i++) {
		if (pieces[i].len_bytes > LIB_MESSAGE_MAX)
			return piece_refused(&pieces[i]);
		total += pieces[i].len_bytes;
		used += pieces[i].len_bytes != 0;
	}
	if (used > LIB_RECEIVE_PIECES || total > LIB_MESSAGE_MAX)
		return lib_fail(EINVAL,
				"rig_qp_receive_pieces: %d pieces of %llu bytes; at most %d of"
				" %u",
				used, (unsigned long long)total, LIB_RECEIVE_PIECES,
				LIB_MESSAGE_MAX);
	return used;
}

int rig_qp_receive_pieces(struct rig_qp *qp, const struct rig_local *pieces, int piece_count)
{
	uint32_t index = 0;
	int used;

	if (!qp || atomic_load_explicit(&qp->post_ready, memory_order_acquire) != LIB_POST_READY)
		return post_refused(qp, "rig_qp_receive_pieces");
	used = pieces_check(pieces, piece_count);
	if (used < 0)
		return used;
	if (!rq_has_room(qp))
		return receive_full(qp);
	for (int i = 0; i < piece_count; i++)
		if (pieces[i].len_bytes)
			segment_set(rq_segment(qp, index++), pieces[i].len_bytes, pieces[i].key,
				    pieces[i].addr);
	if (index < LIB_RECEIVE_PIECES)
		segment_set(rq_segment(qp, index), 0, WQE_LKEY_INVALID, 0);
	rq_publish(qp);
	return 0;
}
