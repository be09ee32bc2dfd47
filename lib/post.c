/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * post.c - the data path towards the NIC: entries, receives, and the doorbell.
 *
 * No system call, lock, locked instruction or allocation. One compare, of a position with its
 * limit, says that there is room, the handle is live, this is not a child after fork, and the queue
 * pair is connected; what is wrong otherwise is found out of line. An 8-byte inline write into a
 * ring with known room, the commonest entry, has a path of its own, counted in instructions:
 * bench/lib_instructions.sh.
 */
#include "lib/barrier.h"
#include "lib/entry.h"

#include <string.h>

#define COLD __attribute__((noinline, cold))

enum {
	FAST_INLINE_BYTES = 8,
};

static COLD int post_refused(const struct rig_qp *qp, const char *call)
{
	if (qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, call);
	return lib_fail(EINVAL, "%s: queue pair 0x%x is not connected", call, qp->number);
}

/* check_address - where an entry goes that names its destination. */
static int check_address(const struct rig_qp *qp, const struct rig_entry *entry)
{
	const struct rig_ah *ah = entry->ah;

	if (!ah)
		return lib_fail(EINVAL,
				"rig_qp_post: an entry of queue pair 0x%x needs an address handle",
				qp->number);
	if (ah->shell.live != LIB_LIVE_AH)
		return lib_handle_error(ah, "rig_qp_post: address handle");
	if (ah->shell.nic != qp->shell.nic)
		return lib_fail(EINVAL, "rig_qp_post: the address handle is another NIC's");
	if (entry->remote_qp > LIB_QPN_MAX)
		return lib_fail(EINVAL, "rig_qp_post: no queue pair has number 0x%x",
				entry->remote_qp);
	return 0;
}

static int check_datagram(const struct rig_qp *qp, const struct rig_entry *entry)
{
	if (entry->op != RIG_SEND)
		return lib_fail(EINVAL,
				"rig_qp_post: a datagram queue pair sends, and does no other"
				" operation (here: %u)",
				entry->op);
	if (entry->remote_dc_key || entry->stream)
		return lib_fail(EINVAL, "rig_qp_post: remote_dc_key and stream are not supported on"
				" a datagram queue pair");
	return check_address(qp, entry);
}

static int check_initiator(const struct rig_qp *qp, const struct rig_entry *entry)
{
	if (entry->remote_qkey)
		return lib_fail(EINVAL, "rig_qp_post: remote_qkey is not supported on a DC"
				" initiator");
	if (entry->stream > (qp->streams ? UINT16_MAX : 0))
		return lib_fail(EINVAL, "rig_qp_post: stream %u; the queue pair %s", entry->stream,
				qp->streams ? "has 2^16" : "was made without streams");
	return check_address(qp, entry);
}

static int check_transport(const struct rig_qp *qp, const struct rig_entry *entry)
{
	switch (qp->transport) {
	case RIG_UD:
		return check_datagram(qp, entry);
	case RIG_DC_INITIATOR:
		return check_initiator(qp, entry);
	case RIG_DC_TARGET:
		return lib_fail(EINVAL, "rig_qp_post: a DC target has no entries");
	}
	if (entry->ah)
		return lib_fail(EINVAL, "rig_qp_post: address handle, remote_qp, remote_qkey,"
				" remote_dc_key and stream are not supported on a reliable queue"
				" pair");
	return 0;
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

/*
 * sq_has_room - whether need_bytes of the ring are free, after a look at what has completed. The
 * limit is for the short cuts: see struct rig_qp.
 */
static bool sq_has_room(struct rig_qp *qp, uint32_t need_bytes)
{
	uint32_t done, limit;

	if (qp->sq_limit - qp->sq_pos >= need_bytes)
		return true;
	done = atomic_load_explicit(&qp->sq_done, memory_order_acquire);
	qp->sq_tail = lib_qp_sq_tail(qp, done);
	qp->sq_tail_done = done;
	limit = qp->sq_tail + qp->sq_mask + 1;
	qp->sq_limit = qp->transport == RIG_RC ? limit : qp->sq_pos;
	return limit - qp->sq_pos >= need_bytes;
}

/* post_general - any entry, into a ring whose room has to be looked at. */
static __attribute__((noinline)) int post_general(struct rig_qp *qp, const struct rig_entry *entry)
{
	struct lib_entry_plan plan;
	uint32_t need_bytes;
	int err;

	if (qp->post_ready != LIB_POST_READY)
		return post_refused(qp, "rig_qp_post");
	err = check_transport(qp, entry);
	err = err ? err : lib_entry_plan(entry, "rig_qp_post", &plan);
	err = err ? err : check_limits(qp, entry, &plan);
	if (err)
		return err;
	need_bytes = wqe_bb_count(plan.units) * WQE_BB_BYTES;
	if (!sq_has_room(qp, need_bytes))
		return lib_fail(EAGAIN, "rig_qp_post: the ring of %u slots is full", qp->sq_count);
	qp->sq_newest = lib_entry_write(qp, entry, &plan, qp->sq_pos);
	qp->sq_pos += need_bytes;
	if (qp->transport != RIG_RC)
		qp->sq_limit = qp->sq_pos;
	return 0;
}

/*
 * The second 8 bytes of a fast entry's ctrl segment as they are in memory (signature and stream 0,
 * fm_ce_se, no immediate data), by the entry's flags; NOT_FAST for flags that are not an inline
 * entry's with any of signal, fence and solicited. fm_ce_se is the fourth byte.
 */
#define NOT_FAST (~0ull)
#define NOT_FAST_8                                                                                 \
	NOT_FAST, NOT_FAST, NOT_FAST, NOT_FAST, NOT_FAST, NOT_FAST, NOT_FAST, NOT_FAST
#define NOT_FAST_16 NOT_FAST_8, NOT_FAST_8
#define NOT_FAST_48 NOT_FAST_16, NOT_FAST_16, NOT_FAST_16
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FAST(flags) ((uint64_t)LIB_FM_CE_SE(flags) << 24)
#else
#define FAST(flags) ((uint64_t)LIB_FM_CE_SE(flags) << 32)
#endif
static const uint64_t ctrl_tails[256] = {
    /* 0 */ NOT_FAST_8,
    /* 8: RIG_INLINE_F */ FAST(0),
    FAST(1),
    FAST(2),
    FAST(3),
    FAST(4),
    FAST(5),
    FAST(6),
    FAST(7),
    /* 16 */ NOT_FAST_48,
    NOT_FAST_48,
    NOT_FAST_48,
    NOT_FAST_48,
    NOT_FAST_48,
};
_Static_assert(RIG_INLINE_F == 8, "the table's second row is that of inline entries");
_Static_assert(RIG_WRITE == 0, "rig_qp_post takes the operation for a field that must be 0");

/* store_be32_zero - a big-endian word and a zero word behind it, in one store. */
static inline void store_be32_zero(void *to, uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t raw = be32_from(value).raw;
#else
	uint64_t raw = (uint64_t)value << 32;
#endif

	memcpy(to, &raw, sizeof(raw));
}

/* post_fast - an 8-byte inline write that was checked, into a slot that is free. */
static inline void post_fast(struct rig_qp *qp, const struct rig_entry *entry, uint64_t ctrl_tail)
{
	uint32_t pos = qp->sq_pos;
	char *slot = qp->sq + (pos & qp->sq_mask);
	/* Index: bits 21..6 of the position, at bits 55..40 of the ctrl segment's first 8 bytes. */
	uint64_t head = be64_from((uint64_t)pos << 42 >> 8 | qp->sq_base_write8).raw;

	qp->sq_newest = head;
	memcpy(slot, &head, sizeof(head));
	memcpy(slot + 8, &ctrl_tail, sizeof(ctrl_tail));
	be64_store(slot + 16, entry->remote_addr);
	store_be32_zero(slot + 24, entry->remote_key);
	be32_store(slot + 32, WQE_INLINE_F | FAST_INLINE_BYTES);
	memcpy(slot + 36, entry->inline_data, FAST_INLINE_BYTES);
	qp->sq_pos = pos + WQE_BB_BYTES;
}

/* entry_odd - not 0 if the entry has a field set that is not supported, or `other` is not 0. */
static inline uint64_t entry_odd(const struct rig_entry *entry, uint8_t other)
{
	uint64_t remote; /* remote_qp and remote_qkey */

	memcpy(&remote, &entry->remote_qp, sizeof(remote));
	return (other | entry->stream) | (uintptr_t)entry->ah | remote | entry->remote_dc_key;
}

/* copy_short - 1 to 44 bytes; a call of memcpy would cost as much as the rest of the entry. */
static inline void copy_short(char *to, const char *from, uint32_t len)
{
	uint32_t done = 0;

	if (len >= 8) {
		for (; done + 8 <= len; done += 8)
			memcpy(to + done, from + done, 8);
		memcpy(to + len - 8, from + len - 8, 8);
		return;
	}
	if (len >= 4) {
		memcpy(to, from, 4);
		memcpy(to + len - 4, from + len - 4, 4);
		return;
	}
	for (; done < len; done++)
		to[done] = from[done];
}

/* Without and with immediate data; 0: not here. */
static const uint8_t one_slot_opcodes[RIG_SEND + 1][2] = {
	[RIG_WRITE] = {WQE_OP_WRITE, WQE_OP_WRITE_IMM},
	[RIG_READ] = {WQE_OP_READ, 0},
	[RIG_SEND] = {WQE_OP_SEND, WQE_OP_SEND_IMM},
};

/*
 * one_slot_data - the data of a one-slot entry, from `at` bytes into its slot; the units of the
 * whole entry, or 0, with nothing written, if it is none: no or several pieces, no or much inline
 * data.
 */
static inline uint32_t one_slot_data(const struct rig_qp *qp, const struct rig_entry *entry,
				     char *slot, uint32_t at)
{
	uint32_t len;

	if (entry->flags & RIG_INLINE_F) {
		uint32_t word = (uint32_t)sizeof(struct wqe_inline_seg);

		len = entry->inline_len_bytes;
		if (entry->op == RIG_READ || len - 1 >= WQE_BB_BYTES - word - at)
			return 0;
		be32_store(slot + at, WQE_INLINE_F | len);
		copy_short(slot + at + word, entry->inline_data, len);
		return (at + word + len + WQE_UNIT_BYTES - 1) / WQE_UNIT_BYTES;
	}
	if (entry->piece_count != 1)
		return 0;
	len = entry->pieces->len_bytes;
	if (len - 1 >= qp->message_max_bytes)
		return 0;
	be32_store(slot + at, len);
	be32_store(slot + at + 4, entry->pieces->key);
	be64_store(slot + at + 8, entry->pieces->addr);
	return at / WQE_UNIT_BYTES + 1;
}

/*
 * post_one_slot - a write, read or send with one piece or a little inline data, into a slot that is
 * known to be free. false, with nothing posted: post_general says what it is instead.
 */
static inline bool post_one_slot(struct rig_qp *qp, const struct rig_entry *entry)
{
	uint32_t pos = qp->sq_pos;
	char *slot = qp->sq + (pos & qp->sq_mask);
	uint32_t at = (uint32_t)sizeof(struct wqe_ctrl_seg);
	bool imm = entry->flags & RIG_IMM_F;
	uint64_t head;
	uint32_t units;

	if (pos == qp->sq_limit || entry->op > RIG_SEND || entry_odd(entry, entry->flags & 0xe0) ||
	    !one_slot_opcodes[entry->op][imm])
		return false;
	if (entry->op != RIG_SEND)
		at += (uint32_t)sizeof(struct wqe_raddr_seg);
	units = one_slot_data(qp, entry, slot, at);
	if (!units)
		return false;
	head = (uint64_t)pos << 42 >> 8 | (uint64_t)one_slot_opcodes[entry->op][imm] << 32 |
	       (qp->sq_base_write8 & 0xffffff00u) | units;
	qp->sq_newest = be64_from(head).raw;
	memcpy(slot, &qp->sq_newest, sizeof(qp->sq_newest));
	be64_store(slot + 8, (uint64_t)LIB_FM_CE_SE(entry->flags) << 32 | (imm ? entry->imm : 0));
	if (entry->op != RIG_SEND) {
		be64_store(slot + 16, entry->remote_addr);
		store_be32_zero(slot + 24, entry->remote_key);
	}
	qp->sq_pos = pos + WQE_BB_BYTES;
	return true;
}

/* post_other - what is no 8-byte inline write into a slot that is free. */
static __attribute__((noinline)) int post_other(struct rig_qp *qp, const struct rig_entry *entry)
{
	return LIB_LIKELY(post_one_slot(qp, entry)) ? 0 : post_general(qp, entry);
}

int rig_qp_post(struct rig_qp *qp, const struct rig_entry *entry)
{
	uint64_t ctrl_tail;

	ctrl_tail = ctrl_tails[entry->flags];
	if (LIB_UNLIKELY(ctrl_tail == NOT_FAST || entry->inline_len_bytes != FAST_INLINE_BYTES ||
			 entry_odd(entry, entry->op) || qp->sq_pos == qp->sq_limit))
		return post_other(qp, entry);
	post_fast(qp, entry, ctrl_tail);
	return 0;
}

static COLD int ring_nothing(const struct rig_qp *qp)
{
	return qp->post_ready == LIB_POST_READY ? 0 : post_refused(qp, "rig_qp_ring");
}

int rig_qp_ring(struct rig_qp *qp)
{
	uint32_t pos = qp->sq_pos;

	if (LIB_UNLIKELY(pos == qp->sq_rung))
		return ring_nothing(qp);
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

/* ---- receives ------------------------------------------------------------------------------- */

static COLD int receive_full(const struct rig_qp *qp, const char *call)
{
	if (qp->post_ready != LIB_POST_READY)
		return post_refused(qp, call);
	if (!qp->rq_count)
		return lib_fail(EINVAL, "%s: queue pair 0x%x has no receive ring", call,
				qp->number);
	return lib_fail(EAGAIN, "%s: the ring of %u receives is full", call, qp->rq_count);
}

static bool rq_has_room(struct rig_qp *qp)
{
	uint32_t tail;

	if (qp->rq_pos != qp->rq_limit)
		return true;
	if (qp->post_ready != LIB_POST_READY)
		return false;
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

static COLD int piece_refused(const struct rig_local *piece, const char *call)
{
	return lib_fail(EINVAL, "%s: a piece of %u bytes; at most %u", call, piece->len_bytes,
			LIB_MESSAGE_MAX);
}

int rig_qp_receive(struct rig_qp *qp, const struct rig_local *local)
{
	uint32_t used;

	if (LIB_UNLIKELY(local->len_bytes > LIB_MESSAGE_MAX))
		return piece_refused(local, "rig_qp_receive");
	if (LIB_UNLIKELY(!rq_has_room(qp)))
		return receive_full(qp, "rig_qp_receive");
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
			return piece_refused(&pieces[i], "rig_qp_receive_pieces");
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

	used = pieces_check(pieces, piece_count);
	if (used < 0)
		return used;
	if (!rq_has_room(qp))
		return receive_full(qp, "rig_qp_receive_pieces");
	for (int i = 0; i < piece_count; i++)
		if (pieces[i].len_bytes)
			segment_set(rq_segment(qp, index++), pieces[i].len_bytes, pieces[i].key,
				    pieces[i].addr);
	if (index < LIB_RECEIVE_PIECES)
		segment_set(rq_segment(qp, index), 0, WQE_LKEY_INVALID, 0);
	rq_publish(qp);
	return 0;
}
