/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srq_post.c - the data path towards shared receive queues: no system call, lock, locked
 * instruction or allocation.
 */
#include "lib/barrier.h"
#include "lib/lib.h"

static struct wqe_srq_next_seg *slot_at(const struct rig_srq *srq, uint32_t slot)
{
	return (struct wqe_srq_next_seg *)(void *)(srq->ring + (size_t)slot * WQE_BB_BYTES);
}

/* take_freed - links the slots that have completed behind the tail. */
static void take_freed(struct rig_srq *srq)
{
	uint32_t put = atomic_load_explicit(&srq->freed_put, memory_order_acquire);

	while (srq->freed_taken != put) {
		uint16_t slot = atomic_load_explicit(
		    &srq->freed[srq->freed_taken++ & srq->slot_mask], memory_order_relaxed);

		slot_at(srq, srq->tail)->next_wqe_index = be16_from(slot);
		srq->tail = slot;
	}
}

/* receive_refused - there is no room: the queue is none, or all of its slots are posted. */
static __attribute__((noinline, cold)) int receive_refused(const struct rig_srq *srq)
{
	if (srq->shell.live != LIB_LIVE_SRQ)
		return lib_handle_error(srq, "rig_srq_receive");
	return lib_fail(EAGAIN, "rig_srq_receive: the ring of %u receives is full", srq->slot_mask);
}

/* pieces_check - 0 if these can be a receive. */
static int pieces_check(const struct rig_local *pieces, int piece_count)
{
	uint64_t total = 0;
	int used = 0;

	if (piece_count < 0 || (piece_count && !pieces))
		return lib_fail(EINVAL, "rig_srq_receive: %d pieces at %p", piece_count,
				(const void *)pieces);
	for (int i = 0; i < piece_count; i++) {
		total += pieces[i].len_bytes;
		used += pieces[i].len_bytes != 0;
	}
	if (LIB_UNLIKELY(used > RIG_SRQ_PIECES_MAX || total > LIB_MESSAGE_MAX))
		return lib_fail(EINVAL,
				"rig_srq_receive: %d pieces of %llu bytes; at most %d of %u", used,
				(unsigned long long)total, RIG_SRQ_PIECES_MAX, LIB_MESSAGE_MAX);
	return 0;
}

static void segment_set(struct wqe_data_seg *seg, uint32_t len, uint32_t key, uint64_t addr)
{
	seg->byte_count = be32_from(len);
	seg->lkey = be32_from(key);
	seg->va = be64_from(addr);
}

int rig_srq_receive(struct rig_srq *srq, const struct rig_local *pieces, int piece_count)
{
	struct wqe_srq_next_seg *next;
	struct wqe_data_seg *seg, *end;
	int err = pieces_check(pieces, piece_count);

	if (LIB_UNLIKELY(err))
		return err;
	if (LIB_UNLIKELY(srq->head == srq->tail)) {
		if (srq->shell.live == LIB_LIVE_SRQ)
			take_freed(srq);
		if (srq->head == srq->tail)
			return receive_refused(srq);
	}
	next = slot_at(srq, srq->head);
	seg = (struct wqe_data_seg *)(void *)(next + 1);
	end = seg + RIG_SRQ_PIECES_MAX;
	for (int i = 0; i < piece_count; i++)
		if (pieces[i].len_bytes) /* a count of 0 would be 2^31 */
			segment_set(seg++, pieces[i].len_bytes, pieces[i].key, pieces[i].addr);
	if (seg != end)
		segment_set(seg, 0, WQE_LKEY_INVALID, 0);
	srq->head = be16_to(next->next_wqe_index) & srq->slot_mask;
	srq->posted++;
	lib_wqe_before_record();
	__atomic_store_n(&srq->record[DB_SRQ].raw, be32_from(srq->posted).raw, __ATOMIC_RELAXED);
	return 0;
}

/* Slots that are posted or have not come back are not free, and one never is. */
int rig_srq_room(const struct rig_srq *srq)
{
	uint32_t put;

	if (!srq || srq->shell.live != LIB_LIVE_SRQ)
		return lib_handle_error(srq, "rig_srq_room");
	put = atomic_load_explicit(&srq->freed_put, memory_order_acquire);
	return (int)(srq->slot_mask - (srq->posted - put));
}

uint16_t rig_srq_index(const struct rig_srq *srq)
{
	return srq && srq->shell.live == LIB_LIVE_SRQ ? (uint16_t)srq->head : 0;
}
