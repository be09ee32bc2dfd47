/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * umr.c - entries of send queues that change a memory key: bind a window, give a key its pieces,
 * invalidate it.
 *
 * They are done at once, when their turn in the queue comes. One that changes a key in use waits
 * until all before it are complete: they may still need the key, to be sent again.
 */
#include "nic/nic_priv.h"

#include "abi/mlx5_umr.h"

#define FAULT_NONE ((struct nic_fault){0})
#define FAULT_BIND ((struct nic_fault){CQE_SYND_MW_BIND, CQE_VENDOR_NONE})

enum {
	CTRL_OFF = sizeof(struct wqe_ctrl_seg),
	CONTEXT_OFF = CTRL_OFF + sizeof(struct wqe_umr_ctrl_seg),
	BSF_BYTES = sizeof(struct wqe_bsf_seg),
	PIECES_OFF = CONTEXT_OFF + sizeof(struct wqe_mkey_seg),
};

#define MASK_ACCESS                                                          \
	(UMR_MASK_LOCAL_READ | UMR_MASK_LOCAL_WRITE | UMR_MASK_REMOTE_READ | \
	 UMR_MASK_REMOTE_WRITE | UMR_MASK_REMOTE_ATOMIC)
#define MASK_KNOWN                                                                       \
	(MASK_ACCESS | UMR_MASK_LEN | UMR_MASK_START | UMR_MASK_SIG_ERR | UMR_MASK_BSF | \
	 UMR_MASK_TAG | UMR_MASK_QPN | UMR_MASK_FREE)

struct umr {
	const struct nic_wqe *wqe;
	struct nic_mkey *mkey;
	struct nic_mkey_more *more;
	struct wqe_umr_ctrl_seg ctrl;
	struct wqe_mkey_seg context;
	uint64_t mask;
	uint32_t piece_count;
	uint32_t first; /* in the key's list */
};

static bool parse(struct umr *umr, const struct nic_wqe *wqe)
{
	uint64_t end = PIECES_OFF;

	umr->wqe = wqe;
	if (wqe->raw_bytes < PIECES_OFF)
		return false;
	memcpy(&umr->ctrl, wqe->raw + CTRL_OFF, sizeof(umr->ctrl));
	memcpy(&umr->context, wqe->raw + CONTEXT_OFF, sizeof(umr->context));
	umr->mask = be64_to(umr->ctrl.mask);
	umr->piece_count = be16_to(umr->ctrl.klm_octowords);
	umr->first = umr->ctrl.flags & UMR_OFFSET_F ? be16_to(umr->ctrl.offset_or_bsf) : 0;
	if (umr->ctrl.flags & UMR_INLINE_F)
		end += umr->piece_count * (uint64_t)WQE_UNIT_BYTES;
	else if (umr->piece_count != 0)
		end += sizeof(struct wqe_data_seg);
	return end <= wqe->raw_bytes && !(umr->mask & ~MASK_KNOWN);
}

/* The key that an entry changes, if this queue pair may; NULL else. */
static struct nic_mkey *target(const struct nic *nic, const struct nic_qp *qp,
			       const struct nic_wqe *wqe)
{
	uint32_t index = wqe->imm >> 8;
	struct nic_mkey *mkey;

	if (index >= nic->mkey_slots.fresh)
		return NULL;
	mkey = &nic->mkeys[index];
	if (mkey->state == NIC_MKEY_NONE || !mkey->umr || mkey->pdn != qp->pdn)
		return NULL;
	/* A free key's tag is nobody's: libmlx5 lets a local invalidate make it 0. */
	return mkey->state == NIC_MKEY_FREE || mkey->tag == (wqe->imm & 0xff) ? mkey : NULL;
}

bool nic_umr_waits(const struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	const struct nic_mkey *mkey = target(nic, qp, wqe);

	return mkey && mkey->state != NIC_MKEY_FREE;
}

static bool is_window(const struct nic_mkey *mkey)
{
	return mkey->kind == NIC_MKEY_WINDOW_1 || mkey->kind == NIC_MKEY_WINDOW_2;
}

/* What the entry wants to find. */
static bool expected(const struct nic_qp *qp, const struct umr *umr)
{
	bool is_free = umr->mkey->state == NIC_MKEY_FREE;

	if ((umr->ctrl.flags & UMR_CHECK_FREE_F) && !is_free)
		return false;
	if (!(umr->ctrl.flags & UMR_CHECK_QPN_F))
		return true;
	if (is_window(umr->mkey))
		return !is_free && umr->more->qpn == qp->number;
	return umr->more->qpn == qp->number || umr->more->qpn == NIC_QPN_ANY;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Unit i of the pieces; false: it cannot be read. */
static bool piece(struct nic *nic, const struct nic_qp *qp, const struct umr *umr, uint32_t i,
		  uint8_t unit[static WQE_UNIT_BYTES])
{
	const uint8_t *data = umr->wqe->raw + PIECES_OFF;
	struct nic_place place;

	if (umr->ctrl.flags & UMR_INLINE_F) {
		memcpy(unit, data + (size_t)i * WQE_UNIT_BYTES, WQE_UNIT_BYTES);
		return true;
	}
	/* [mlx5dv.h mlx5_wqe_data_seg] */
	return nic_mem_check(nic, qp->pdn, be32_load(data + 4),
			     be64_load(data + 8) + (uint64_t)i * WQE_UNIT_BYTES, WQE_UNIT_BYTES, 0,
			     &place) == NIC_MEM_OK &&
	       nic_mem_read_at(nic, unit, &place, WQE_UNIT_BYTES);
}

static bool set_strided(struct nic *nic, const struct nic_qp *qp, const struct umr *umr,
			const struct wqe_strided_seg *block)
{
	struct nic_step *steps = nic_mkey_steps(nic, umr->mkey);
	uint32_t count = be16_to(block->entry_count);

	if (count >= umr->piece_count || be32_to(block->repeat) == 0)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct wqe_strided_entry entry;

		if (!piece(nic, qp, umr, i + 1, (uint8_t *)&entry))
			return false;
		steps[i] = (struct nic_step){.va = be64_to(entry.va),
					     .key = be32_to(entry.key),
					     .len_bytes = be16_to(entry.byte_count),
					     .stride = be16_to(entry.stride)};
	}
	nic_steps_sum(steps, count);
	umr->more->step_count = count;
	umr->more->repeat = be32_to(block->repeat);
	return true;
}

static bool set_klms(struct nic *nic, const struct nic_qp *qp, const struct umr *umr)
{
	struct nic_step *steps = nic_mkey_steps(nic, umr->mkey);
	uint32_t end = umr->first + umr->piece_count;

	for (uint32_t i = 0; i < umr->piece_count; i++) {
		struct wqe_klm_seg klm;

		if (!piece(nic, qp, umr, i, (uint8_t *)&klm))
			return false;
		steps[umr->first + i] = (struct nic_step){.va = be64_to(klm.va),
							  .key = be32_to(klm.key),
							  .len_bytes = be32_to(klm.byte_count)};
	}
	/* A list that starts afresh ends with its last piece; a part leaves the rest as it is. */
	if (umr->first == 0 || end > umr->more->step_count)
		umr->more->step_count = end;
	nic_steps_sum(steps, umr->more->step_count);
	umr->more->repeat = 0;
	return true;
}

static bool set_pieces(struct nic *nic, const struct nic_qp *qp, const struct umr *umr)
{
	uint32_t room = nic_mkey_room(umr->mkey, umr->more);
	struct wqe_strided_seg block;

	if (umr->piece_count == 0)
		return true;
	if (umr->first > umr->more->step_count || umr->first + umr->piece_count > room)
		return false;
	if (!piece(nic, qp, umr, 0, (uint8_t *)&block))
		return false;
	if (be32_to(block.op) == UMR_STRIDED && umr->first == 0 && umr->mkey->kind == NIC_MKEY_KLM)
		return set_strided(nic, qp, umr, &block);
	return set_klms(nic, qp, umr);
}

/* ---- the context ----------------------------------------------------------------------------- */

static uint32_t access_bits(uint64_t mask)
{
	return (mask & UMR_MASK_LOCAL_WRITE ? NIC_ACCESS_LOCAL_WRITE_F : 0) |
	       (mask & UMR_MASK_REMOTE_READ ? NIC_ACCESS_REMOTE_READ_F : 0) |
	       (mask & UMR_MASK_REMOTE_WRITE ? NIC_ACCESS_REMOTE_WRITE_F : 0) |
	       (mask & UMR_MASK_REMOTE_ATOMIC ? NIC_ACCESS_REMOTE_ATOMIC_F : 0);
}

static uint32_t access_of(const struct umr *umr)
{
	uint8_t access = umr->context.access;
	uint32_t given = (access & UMR_ACCESS_LOCAL_WRITE_F ? NIC_ACCESS_LOCAL_WRITE_F : 0) |
			 (access & UMR_ACCESS_REMOTE_READ_F ? NIC_ACCESS_REMOTE_READ_F : 0) |
			 (access & UMR_ACCESS_REMOTE_WRITE_F ? NIC_ACCESS_REMOTE_WRITE_F : 0) |
			 (access & UMR_ACCESS_REMOTE_ATOMIC_F ? NIC_ACCESS_REMOTE_ATOMIC_F : 0);
	uint32_t taken = access_bits(umr->mask);

	return (umr->mkey->access & ~taken) | (given & taken);
}

static bool makes_free(const struct umr *umr)
{
	return (umr->mask & UMR_MASK_FREE) && (umr->context.free & UMR_MKEY_FREE_F);
}

static void set_state(const struct umr *umr)
{
	struct nic_mkey *mkey = umr->mkey;

	if (!(umr->mask & UMR_MASK_FREE))
		return;
	if (makes_free(umr))
		mkey->state = NIC_MKEY_FREE;
	else if (mkey->kind == NIC_MKEY_REGION && umr->more->qpn == NIC_QPN_ANY)
		mkey->state = NIC_MKEY_PLAIN;
	else
		mkey->state = NIC_MKEY_OTHER;
}

/* Signature attributes are behind the pieces, if there are new ones. false: we do not know such. */
static bool set_signature(struct nic *nic, const struct umr *umr)
{
	uint32_t index = (uint32_t)(umr->mkey - nic->mkeys);
	uint32_t units = umr->ctrl.flags & UMR_OFFSET_F ? 0 : be16_to(umr->ctrl.offset_or_bsf);
	size_t at = PIECES_OFF + (size_t)umr->piece_count * WQE_UNIT_BYTES;

	if (!(umr->mask & (UMR_MASK_BSF | UMR_MASK_SIG_ERR)))
		return true;
	if (!umr->mkey->signature || umr->mkey->kind == NIC_MKEY_REGION)
		return false;
	nic_sig_rearm(nic, index);
	if (!(umr->mask & UMR_MASK_BSF))
		return true;
	if (!(be32_to(umr->context.flags_pd) & UMR_PD_BSF_F)) {
		nic_sig_off(nic, index);
		return true;
	}
	if (units == 0)
		return true;
	return (umr->ctrl.flags & UMR_INLINE_F) && units * WQE_UNIT_BYTES == BSF_BYTES &&
	       at + BSF_BYTES <= umr->wqe->raw_bytes && nic_sig_set(nic, index, umr->wqe->raw + at);
}

static void set_context(const struct umr *umr)
{
	struct nic_mkey *mkey = umr->mkey;
	uint32_t qpn_tag = be32_to(umr->context.qpn_tag);

	if (umr->mask & UMR_MASK_LEN)
		mkey->len_bytes = be64_to(umr->context.len);
	if (umr->mask & UMR_MASK_START)
		mkey->va = be64_to(umr->context.start);
	if (umr->mask & UMR_MASK_TAG)
		mkey->tag = (uint8_t)qpn_tag;
	if (umr->mask & UMR_MASK_QPN)
		umr->more->qpn = qpn_tag >> 8;
	mkey->access = access_of(umr) & 0x7f;
	set_state(umr);
}

/* Sums of addresses and lengths must not wrap later; a region keeps its place. */
static bool context_ok(const struct umr *umr)
{
	const struct nic_mkey *mkey = umr->mkey;
	uint64_t va = umr->mask & UMR_MASK_START ? be64_to(umr->context.start) : mkey->va;
	uint64_t len = umr->mask & UMR_MASK_LEN ? be64_to(umr->context.len) : mkey->len_bytes;

	if (mkey->kind == NIC_MKEY_REGION && (umr->mask & (UMR_MASK_START | UMR_MASK_LEN)))
		return false;
	return len <= UINT64_MAX - va;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* [IBTA1 10.6.6.2]: a window lies in one region of the same domain, which lets windows be bound to
 * it, and may write only where its region may be written. */
static bool window_ok(const struct nic *nic, const struct nic_qp *qp, const struct umr *umr)
{
	const struct nic_mkey *region;
	uint64_t va, len;
	uint32_t change = NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_ATOMIC_F;
	struct wqe_klm_seg klm;

	if (umr->piece_count == 0 || !(umr->ctrl.flags & UMR_INLINE_F) || umr->first != 0)
		return false;
	memcpy(&klm, umr->wqe->raw + PIECES_OFF, sizeof(klm));
	region = nic_mkey_find(nic, be32_to(klm.key));
	va = be64_to(klm.va);
	len = be32_to(klm.byte_count);
	if (!region || region->state != NIC_MKEY_PLAIN || region->pdn != qp->pdn)
		return false;
	if (va < region->va || len > region->len_bytes || va - region->va > region->len_bytes - len)
		return false;
	if (!(region->access & NIC_ACCESS_BIND_F))
		return false;
	return !(access_of(umr) & change) || (region->access & NIC_ACCESS_LOCAL_WRITE_F);
}

static bool bind_window(const struct nic *nic, const struct nic_qp *qp, const struct umr *umr)
{
	struct nic_step *step = &umr->more->own;
	struct wqe_klm_seg klm;

	if (makes_free(umr))
		return true;
	if (!window_ok(nic, qp, umr))
		return false;
	/* One of type 2 says whose it is. */
	if (umr->mkey->kind == NIC_MKEY_WINDOW_2 &&
	    (!(umr->mask & UMR_MASK_QPN) || be32_to(umr->context.qpn_tag) >> 8 != qp->number))
		return false;
	memcpy(&klm, umr->wqe->raw + PIECES_OFF, sizeof(klm));
	*step = (struct nic_step){
	    .va = be64_to(klm.va), .key = be32_to(klm.key), .len_bytes = be32_to(klm.byte_count)};
	nic_steps_sum(step, 1);
	umr->more->step_count = 1;
	return true;
}

/* ---- the entry ------------------------------------------------------------------------------- */

struct nic_fault nic_umr_run(struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	struct umr umr;

	umr.mkey = target(nic, qp, wqe);
	if (!umr.mkey || !parse(&umr, wqe))
		return FAULT_BIND;
	umr.more = nic_mkey_more(nic, umr.mkey);
	if (!expected(qp, &umr) || !context_ok(&umr))
		return FAULT_BIND;
	if (is_window(umr.mkey)) {
		if (!bind_window(nic, qp, &umr))
			return FAULT_BIND;
	} else if (!set_pieces(nic, qp, &umr) || !set_signature(nic, &umr)) {
		/* Half of a list is no list, also for who makes the key good again. */
		umr.mkey->state = NIC_MKEY_FREE;
		umr.more->step_count = 0;
		return FAULT_BIND;
	}
	set_context(&umr);
	return FAULT_NONE;
}
