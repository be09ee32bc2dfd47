/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry.c - entries of every kind: checked, measured and written. post.c has short cuts for the
 * commonest.
 *
 * Layout: ctrl | address vector (datagrams) | raddr (write, read, atomic) | atomic | data segments
 * or one inline segment [mlx5dv.h]. Every segment but the inline one is a 16-byte unit and the ring
 * a multiple of 64 bytes, so only inline data can straddle the ring's end.
 */
#include "lib/entry.h"

#include <string.h>

enum {
	FLAGS_ALL = RIG_SIGNAL_F | RIG_FENCE_F | RIG_SOLICITED_F | RIG_INLINE_F | RIG_IMM_F,
	ATOMIC_BYTES = 8,
};

/* Opcode, without and with immediate data, of each operation; what the operation has. */
static const struct {
	uint8_t opcode;
	uint8_t opcode_imm; /* 0: cannot carry any */
	bool remote;
	bool atomic;
	bool inlines;
} ops[] = {
	[RIG_WRITE] = {WQE_OP_WRITE, WQE_OP_WRITE_IMM, .remote = true, .inlines = true},
	[RIG_READ] = {WQE_OP_READ, 0, .remote = true},
	[RIG_SEND] = {WQE_OP_SEND, WQE_OP_SEND_IMM, .inlines = true},
	[RIG_FETCH_ADD] = {WQE_OP_ATOMIC_FA, 0, .remote = true, .atomic = true},
	[RIG_COMPARE_SWAP] = {WQE_OP_ATOMIC_CS, 0, .remote = true, .atomic = true},
};

/* check_kind - operation and flags go together, and nothing is set that is not supported. */
static int check_kind(const struct rig_entry *entry, const char *call)
{
	if (entry->op >= sizeof(ops) / sizeof(ops[0]))
		return lib_fail(EINVAL, "%s: no operation %u", call, entry->op);
	if (entry->flags & ~FLAGS_ALL)
		return lib_fail(EINVAL, "%s: unknown flags 0x%x", call, entry->flags & ~FLAGS_ALL);
	if (!entry->ah && (entry->remote_qp || entry->remote_qkey || entry->remote_dc_key ||
			   entry->stream))
		return lib_fail(EINVAL,
				"%s: remote_qp, remote_qkey, remote_dc_key and stream go with an"
				" address handle; here is none",
				call);
	if (entry->flags & RIG_INLINE_F && !ops[entry->op].inlines)
		return lib_fail(EINVAL, "%s: only writes and sends carry inline data", call);
	if (entry->flags & RIG_IMM_F && !ops[entry->op].opcode_imm)
		return lib_fail(EINVAL, "%s: only writes and sends carry immediate data", call);
	return 0;
}

static int plan_inline(const struct rig_entry *entry, const char *call,
		       struct lib_entry_plan *plan)
{
	uint32_t len = entry->inline_len_bytes;
	uint32_t most = (WQE_DS_MAX - plan->units) * WQE_UNIT_BYTES -
			(uint32_t)sizeof(struct wqe_inline_seg);

	if (len > most || (len && !entry->inline_data))
		return lib_fail(EINVAL, "%s: %u bytes of inline data at %p; at most %u", call,
				len, entry->inline_data, most);
	if (len)
		plan->units += wqe_inline_units(len);
	plan->data_bytes = len;
	return 0;
}

static int plan_pieces(const struct rig_entry *entry, const char *call,
		       struct lib_entry_plan *plan)
{
	if (entry->piece_count && !entry->pieces)
		return lib_fail(EINVAL, "%s: %u pieces, and no list", call, entry->piece_count);
	for (uint32_t i = 0; i < entry->piece_count; i++) {
		uint32_t len = entry->pieces[i].len_bytes;

		if (len > LIB_MESSAGE_MAX)
			return lib_fail(EINVAL, "%s: piece %u has %u bytes; at most %u", call, i,
					len, LIB_MESSAGE_MAX);
		/* A count of 0 means 2^31 to the NIC (lci#33): an empty piece is left out. */
		plan->piece_count += len != 0;
		plan->data_bytes += len;
	}
	plan->units += plan->piece_count;
	if (plan->units > WQE_DS_MAX)
		return lib_fail(EINVAL, "%s: %u pieces that are not empty; at most %u", call,
				plan->piece_count, WQE_DS_MAX - (plan->units - plan->piece_count));
	if (plan->data_bytes > LIB_MESSAGE_MAX)
		return lib_fail(EINVAL, "%s: a message of %llu bytes; at most %u", call,
				(unsigned long long)plan->data_bytes, LIB_MESSAGE_MAX);
	return 0;
}

int lib_entry_plan(const struct rig_entry *entry, const char *call, struct lib_entry_plan *plan)
{
	int err = check_kind(entry, call);

	if (err)
		return err;
	memset(plan, 0, sizeof(*plan));
	plan->opcode = (enum wqe_opcode)(entry->flags & RIG_IMM_F ? ops[entry->op].opcode_imm :
								    ops[entry->op].opcode);
	plan->units = 1u + (entry->ah ? LIB_AV_UNITS : 0) + ops[entry->op].remote +
		      ops[entry->op].atomic;
	if (entry->flags & RIG_INLINE_F)
		return plan_inline(entry, call, plan);
	err = plan_pieces(entry, call, plan);
	if (!err && ops[entry->op].atomic &&
	    (entry->piece_count != 1 || plan->data_bytes != ATOMIC_BYTES ||
	     entry->remote_addr % ATOMIC_BYTES != 0))
		return lib_fail(EINVAL,
				"%s: an atomic has one piece of 8 bytes, and a remote address"
				" that is a multiple of 8",
				call);
	return err;
}

int rig_entry_slots(const struct rig_entry *entry)
{
	struct lib_entry_plan plan;
	int err;

	if (!entry)
		return lib_fail(EINVAL, "rig_entry_slots: no entry");
	err = lib_entry_plan(entry, "rig_entry_slots", &plan);
	return err ? err : (int)wqe_bb_count(plan.units);
}

/* A place in the send ring that moves on, and around its end. */
struct place {
	char *at;
	char *start;
	char *end;
};

static void *unit_take(struct place *place)
{
	char *unit = place->at;

	place->at += WQE_UNIT_BYTES;
	if (place->at == place->end)
		place->at = place->start;
	return unit;
}

static void write_inline(struct place *place, const void *data, uint32_t len)
{
	struct wqe_inline_seg *seg = (struct wqe_inline_seg *)(void *)place->at;
	char *to = place->at + sizeof(*seg);
	size_t ahead = (size_t)(place->end - to);

	seg->byte_count = be32_from(WQE_INLINE_F | len);
	if (len <= ahead) {
		memcpy(to, data, len);
		return;
	}
	memcpy(to, data, ahead);
	memcpy(place->start, (const char *)data + ahead, len - ahead);
}

static void write_pieces(struct place *place, const struct rig_entry *entry)
{
	for (uint32_t i = 0; i < entry->piece_count; i++) {
		const struct rig_local *piece = &entry->pieces[i];
		struct wqe_data_seg *seg;

		if (!piece->len_bytes)
			continue;
		seg = unit_take(place);
		seg->byte_count = be32_from(piece->len_bytes);
		seg->lkey = be32_from(piece->key);
		seg->va = be64_from(piece->addr);
	}
}

/* write_address - the vector has its place in the entry's first block, and so in one piece. */
static void write_address(const struct rig_qp *qp, struct place *place,
			  const struct rig_entry *entry)
{
	struct wqe_av *av = unit_take(place);

	for (int i = 1; i < LIB_AV_UNITS; i++)
		unit_take(place);
	*av = entry->ah->av;
	if (qp->transport == RIG_UD)
		av->ud.qkey = be32_from(entry->remote_qkey);
	else
		av->dc_key = be64_from(entry->remote_dc_key);
	av->dqp_dct = be32_from(WQE_AV_EXTENDED_F | entry->remote_qp);
}

static void write_remote(struct place *place, const struct rig_entry *entry)
{
	struct wqe_raddr_seg *raddr = unit_take(place);
	struct wqe_atomic_seg *atomic;

	raddr->va = be64_from(entry->remote_addr);
	raddr->rkey = be32_from(entry->remote_key);
	raddr->reserved = be32_from(0);
	if (!ops[entry->op].atomic)
		return;
	atomic = unit_take(place);
	atomic->swap_add = be64_from(entry->add_or_swap);
	atomic->compare = be64_from(entry->op == RIG_COMPARE_SWAP ? entry->compare : 0);
}

uint64_t lib_entry_write(const struct rig_qp *qp, const struct rig_entry *entry,
			 const struct lib_entry_plan *plan, uint32_t pos)
{
	struct place place = {
		.at = qp->sq + (pos & qp->sq_mask),
		.start = qp->sq,
		.end = qp->sq + qp->sq_mask + 1,
	};
	struct wqe_ctrl_seg *ctrl = unit_take(&place);
	uint16_t index = (uint16_t)(pos / WQE_BB_BYTES);
	uint64_t head;

	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, index, plan->opcode);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(qp->number, plan->units);
	ctrl->signature = 0;
	ctrl->dci_stream[0] = (uint8_t)(entry->stream >> 8);
	ctrl->dci_stream[1] = (uint8_t)entry->stream;
	ctrl->fm_ce_se = (uint8_t)LIB_FM_CE_SE(entry->flags);
	ctrl->imm = be32_from(entry->flags & RIG_IMM_F ? entry->imm : 0);
	if (entry->ah)
		write_address(qp, &place, entry);
	if (ops[entry->op].remote)
		write_remote(&place, entry);
	if (!(entry->flags & RIG_INLINE_F))
		write_pieces(&place, entry);
	else if (entry->inline_len_bytes)
		write_inline(&place, entry->inline_data, entry->inline_len_bytes);
	memcpy(&head, ctrl, sizeof(head));
	return head;
}
