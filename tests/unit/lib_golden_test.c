/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: rig_qp_post writes the bytes that libmlx5 writes for the same operation, but for the
 * fields that are listed here with the reason, each of which is needed. How: entries that libmlx5
 * wrote (tests/golden/wqe), and a scripted kernel under our library with a ring full of OP_POISON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/golden_wqe.h"
#include "tests/support/script_rig.h"

static bool lacks_imm(const struct golden_wqe *wqe)
{
	return wqe->is_new && !(wqe->op->flags & OP_IMM_F);
}

static bool adds(const struct golden_wqe *wqe)
{
	return wqe->op->kind == OP_FETCH_ADD;
}

/* What differs, and is as it should be: bytes that libmlx5 leaves as they are, and we write 0. */
static struct difference {
	const char *why;
	bool (*holds)(const struct golden_wqe *wqe);
	uint32_t from; /* bytes of the entry */
	uint32_t to;
	unsigned int count; /* of entries that it holds for */
} differences[] = {
    {"ibv_wr_* leaves the immediate of an operation that has none; nobody reads it", lacks_imm, 12,
     16, 0},
    {"a fetch and add has no compare value", adds, 40, 48, 0},
};

enum { DIFFERENCES = sizeof(differences) / sizeof(differences[0]) };

static struct difference *difference_at(const struct golden_wqe *wqe, uint32_t at)
{
	for (size_t i = 0; i < DIFFERENCES; i++)
		if (at >= differences[i].from && at < differences[i].to &&
		    differences[i].holds(wqe))
			return &differences[i];
	return NULL;
}

static uint8_t inline_bytes[OP_INLINE_MAX];

static struct rig_entry entry_of(const struct wqe_op *op, struct rig_ah *ah,
				 struct rig_local *pieces)
{
	static const uint8_t ops[] = {[OP_WRITE] = RIG_WRITE,
				      [OP_SEND] = RIG_SEND,
				      [OP_READ] = RIG_READ,
				      [OP_COMPARE_SWAP] = RIG_COMPARE_SWAP,
				      [OP_FETCH_ADD] = RIG_FETCH_ADD};
	struct rig_entry entry = {.op = ops[op->kind]};

	entry.flags = (uint8_t)((op->flags & OP_SIGNAL_F ? RIG_SIGNAL_F : 0) |
				(op->flags & OP_FENCE_F ? RIG_FENCE_F : 0) |
				(op->flags & OP_SOLICITED_F ? RIG_SOLICITED_F : 0) |
				(op->flags & OP_INLINE_F ? RIG_INLINE_F : 0) |
				(op->flags & OP_IMM_F ? RIG_IMM_F : 0));
	entry.imm = OP_IMM;
	if (op->kind != OP_SEND) {
		entry.remote_addr = OP_REMOTE_VA;
		entry.remote_key = OP_RKEY;
	}
	entry.ah = ah;
	entry.remote_qp = ah ? OP_DQPN : 0;
	entry.remote_qkey = ah ? OP_QKEY : 0;
	entry.add_or_swap = OP_SWAP_ADD;
	entry.compare = OP_COMPARE;
	if (op->flags & OP_INLINE_F) {
		entry.inline_data = inline_bytes;
		entry.inline_len_bytes = op_bytes(op);
		return entry;
	}
	for (uint32_t i = 0; i < op->piece_count; i++)
		pieces[i] = (struct rig_local){.addr = OP_LOCAL_VA + i * OP_PIECE_STEP,
					       .len_bytes = op->len_bytes[i],
					       .key = OP_LKEY + i};
	entry.pieces = pieces;
	entry.piece_count = (uint16_t)op->piece_count;
	return entry;
}

/* go_to - posts entries that complete at once, until `index` is next. */
static void go_to(struct script_rig *rig, struct rig_ah *ah, uint32_t index)
{
	const struct rig_entry entry = {.op = RIG_SEND, .flags = RIG_SIGNAL_F, .ah = ah};
	struct rig_wc wc;

	for (uint16_t i = 0; i < index; i++) {
		assert_int_equal(rig_qp_post(rig->qp, &entry), 0);
		script_done(0, 0, i);
		assert_int_equal(rig_cq_poll(rig->cq, &wc, 1), 1);
	}
}

static void compare(const struct golden_wqe *wqe, const uint8_t *ours)
{
	uint32_t seen[DIFFERENCES] = {0};

	for (uint32_t i = 0; i < wqe->bytes; i++) {
		struct difference *found = difference_at(wqe, i);

		if (ours[i] == wqe->raw[i])
			continue;
		if (!found || wqe->raw[i] != OP_POISON || ours[i] != 0)
			fail_msg("%s %s: byte %u is 0x%02x, libmlx5's 0x%02x", wqe->name,
				 wqe->is_new ? "new" : "old", i, ours[i], wqe->raw[i]);
		seen[found - differences]++;
	}
	for (size_t i = 0; i < DIFFERENCES; i++) {
		if (!differences[i].holds(wqe))
			continue;
		assert_int_equal(seen[i], differences[i].to - differences[i].from);
		differences[i].count++;
	}
}

/* rig_of - a queue pair of the entry's transport; where its datagrams go, in *ah. */
static struct script_rig rig_of(const struct golden_wqe *wqe, struct rig_ah **ah)
{
	static const struct rig_path path = {.gid_index_set = true,
					     .dscp = OP_TCLASS >> 2,
					     .hop_limit = OP_HOP_LIMIT,
					     .flow_label = OP_FLOW,
					     .service_level = OP_SL};
	const struct wqe_av *av = (const void *)(wqe->raw + sizeof(struct wqe_ctrl_seg));
	const struct rig_qp_options options = {.transport = RIG_UD};
	struct rig_address to = {.link = RIG_LINK_ETHERNET};
	struct script_rig rig;

	*ah = NULL;
	if (wqe->transport == OP_RC)
		return script_rig_open((int)wqe->block_count, 0);
	script_reset();
	memcpy(script.dmac, av->rmac, sizeof(script.dmac));
	memcpy(to.gid, av->rgid, sizeof(to.gid));
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 1024);
	assert_int_equal(
	    rig_qp_create_with(rig.cq, (int)wqe->block_count, 0, &options, &rig.qp), 0);
	assert_int_equal(rig_qp_start(rig.qp, &(struct rig_start){.qkey = 1}), 0);
	assert_int_equal(rig_ah_create(rig.nic, &to, &path, ah), 0);
	return rig;
}

static void compare_one(struct golden_wqe *wqe)
{
	struct rig_ah *ah;
	struct script_rig rig = rig_of(wqe, &ah);
	struct rig_local pieces[OP_PIECES_MAX];
	struct rig_entry entry = entry_of(wqe->op, ah, pieces);
	uint8_t *ring = (uint8_t *)(uintptr_t)script.qps[0].in.buf_addr;
	uint32_t ring_bytes = wqe->block_count * WQE_BB_BYTES;
	uint8_t ours[GOLDEN_BYTES_MAX];

	assert_int_equal(be32_load(wqe->raw + 4) >> 8, OP_QPN);
	be32_store(wqe->raw + 4, rig_qp_number(rig.qp) << 8 | wqe->raw[7]);
	go_to(&rig, ah, wqe->index);
	memset(ring, OP_POISON, ring_bytes);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	for (uint32_t i = 0; i < wqe->bytes; i++)
		ours[i] = ring[(wqe->index * WQE_BB_BYTES + i) % ring_bytes];
	compare(wqe, ours);
	script_rig_close(&rig);
}

/* wanted_of - entries of an operation that our library can say: no remote invalidate. */
static size_t wanted_of(const struct wqe_op *op)
{
	if (op->flags & OP_INVAL_F)
		return 0;
	return (op->transports & OP_RC ? 2 : 0) + (op->transports & OP_UD ? 2 : 0);
}

static void bytes_are_those_of_libmlx5(void **state)
{
	size_t count, compared = 0, wanted = 0;
	struct golden_wqe *wqes = golden_wqes(&count);

	(void)state;
	for (uint32_t i = 0; i < OP_INLINE_MAX; i++)
		inline_bytes[i] = op_inline_byte(i);
	for (size_t i = 0; i < WQE_OPS; i++)
		wanted += wanted_of(&wqe_ops[i]);
	for (size_t i = 0; i < count; i++) {
		if (!(wqes[i].transport & (OP_RC | OP_UD)) || !wqes[i].op ||
		    wqes[i].op->flags & OP_INVAL_F)
			continue;
		compare_one(&wqes[i]);
		compared++;
	}
	assert_int_equal(compared, wanted);
	for (size_t i = 0; i < DIFFERENCES; i++)
		if (differences[i].count == 0)
			fail_msg("not needed: %s", differences[i].why);
	free(wqes);
}

static void receive_one(const struct golden_wqe *wqe)
{
	struct script_rig rig = script_rig_open(4, (int)wqe->block_count);
	const struct wqe_receive *r = wqe->receive;
	uint8_t *ring = (uint8_t *)(uintptr_t)script.qps[0].in.buf_addr;
	struct rig_local pieces[OP_PIECES_MAX];

	for (uint32_t i = 0; i < r->piece_count; i++)
		pieces[i] = (struct rig_local){.addr = OP_LOCAL_VA + i * OP_PIECE_STEP,
					       .len_bytes = r->len_bytes[i],
					       .key = OP_LKEY + i};
	memset(ring, OP_POISON, 2 * WQE_BB_BYTES);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, pieces, (int)r->piece_count), 0);
	assert_memory_equal(ring, wqe->raw, wqe->bytes);
	if (r->piece_count == 1) {
		assert_int_equal(rig_qp_receive(rig.qp, pieces), 0);
		assert_memory_equal(ring + WQE_BB_BYTES, wqe->raw, wqe->bytes);
	}
	script_rig_close(&rig);
}

static void receives_are_those_of_libmlx5(void **state)
{
	size_t count, compared = 0, wanted = 0;
	struct golden_wqe *wqes = golden_wqes(&count);

	(void)state;
	for (size_t i = 0; i < WQE_RECEIVES; i++)
		wanted += !wqe_receives[i].shared;
	for (size_t i = 0; i < count; i++) {
		if (!wqes[i].receive || wqes[i].receive->shared)
			continue;
		receive_one(&wqes[i]);
		compared++;
	}
	assert_int_equal(compared, wanted);
	free(wqes);
}

static void shared_one(const struct golden_wqe *wqe)
{
	struct script_rig rig = script_rig_open(4, 0);
	const struct wqe_receive *r = wqe->receive;
	struct rig_local pieces[OP_PIECES_MAX];
	struct rig_srq *srq;
	uint8_t *ring;

	for (uint32_t i = 0; i < r->piece_count; i++)
		pieces[i] = (struct rig_local){.addr = OP_LOCAL_VA + i * OP_PIECE_STEP,
					       .len_bytes = r->len_bytes[i],
					       .key = OP_LKEY + i};
	assert_int_equal(rig_srq_create(rig.cq, (int)wqe->block_count, &srq), 0);
	ring = (uint8_t *)(uintptr_t)script.srqs[0].in.buf_addr;
	memset(ring + sizeof(struct wqe_srq_next_seg), OP_POISON,
	       WQE_BB_BYTES - sizeof(struct wqe_srq_next_seg));
	assert_int_equal(rig_srq_receive(srq, pieces, (int)r->piece_count), 0);
	assert_memory_equal(ring, wqe->raw, wqe->bytes);
	script_rig_close(&rig);
}

static void shared_receives_are_those_of_libmlx5(void **state)
{
	size_t count, compared = 0, wanted = 0;
	struct golden_wqe *wqes = golden_wqes(&count);

	(void)state;
	for (size_t i = 0; i < WQE_RECEIVES; i++)
		wanted += wqe_receives[i].shared;
	for (size_t i = 0; i < count; i++) {
		if (!wqes[i].receive || !wqes[i].receive->shared)
			continue;
		shared_one(&wqes[i]);
		compared++;
	}
	assert_int_equal(compared, wanted);
	free(wqes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_are_those_of_libmlx5),
	    cmocka_unit_test(receives_are_those_of_libmlx5),
	    cmocka_unit_test(shared_receives_are_those_of_libmlx5),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
