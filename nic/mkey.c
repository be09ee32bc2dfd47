/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mkey.c - memory keys of every kind: create, modify, destroy, invalidate, and the room for the
 * pieces of those that are made of others.
 *
 * A room holds a power of two of pieces. Rooms are cut from fresh steps, or halved from a larger
 * free one; halves do not grow together again. A key whose pieces were never used touches none.
 */
#include "nic/nic_priv.h"

#include <linux/errno.h>

enum {
	ACCESS_ALL = NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F |
		     NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F | NIC_ACCESS_BIND_F
};

static bool is_window(const struct nic_mkey *mkey)
{
	return mkey->kind == NIC_MKEY_WINDOW_1 || mkey->kind == NIC_MKEY_WINDOW_2;
}

/* ---- rooms ----------------------------------------------------------------------------------- */

static void room_give(struct nic *nic, uint32_t room, uint32_t log2)
{
	nic->steps[room].next_free = nic->room_free[log2];
	nic->room_free[log2] = room + 1;
}

static uint32_t room_pop(struct nic *nic, uint32_t log2)
{
	uint32_t room = nic->room_free[log2] - 1;

	nic->room_free[log2] = nic->steps[room].next_free;
	return room;
}

static bool room_take(struct nic *nic, uint32_t log2, uint32_t *room)
{
	uint32_t larger = log2;

	if (log2 >= NIC_ROOMS)
		return false;
	while (larger < NIC_ROOMS && nic->room_free[larger] == 0)
		larger++;
	if (larger != log2 && nic->step_count - nic->step_fresh >= 1u << log2) {
		*room = nic->step_fresh;
		nic->step_fresh += 1u << log2;
		return true;
	}
	if (larger == NIC_ROOMS)
		return false;
	*room = room_pop(nic, larger);
	while (larger-- > log2)
		room_give(nic, *room + (1u << larger), larger);
	return true;
}

struct nic_step *nic_mkey_steps(const struct nic *nic, const struct nic_mkey *mkey)
{
	struct nic_mkey_more *more = nic_mkey_more(nic, mkey);

	return is_window(mkey) ? &more->own : &nic->steps[more->room];
}

uint32_t nic_mkey_room(const struct nic_mkey *mkey, const struct nic_mkey_more *more)
{
	if (mkey->kind == NIC_MKEY_REGION)
		return 0;
	return is_window(mkey) ? 1 : 1u << more->room_log2;
}

void nic_steps_sum(struct nic_step *steps, uint32_t count)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < count; i++)
		steps[i].end = end += steps[i].len_bytes;
}

/* ---- create ---------------------------------------------------------------------------------- */

static bool region_attr_ok(const struct nic *nic, const struct nic_mkey_attr *attr)
{
	uint32_t remote_change = NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_ATOMIC_F;

	if (attr->synced && !nic->env->sync_begin)
		return false;
	if ((attr->access & remote_change) && !(attr->access & NIC_ACCESS_LOCAL_WRITE_F))
		return false;
	return attr->len_bytes <= UINT64_MAX - attr->va &&
	       attr->len_bytes <= UINT64_MAX - attr->host_va;
}

static bool attr_ok(const struct nic *nic, const struct nic_mkey_attr *attr)
{
	if (attr->access & ~(uint32_t)ACCESS_ALL)
		return false;
	switch (attr->kind) {
	case NIC_MKEY_REGION:
		return region_attr_ok(nic, attr);
	case NIC_MKEY_WINDOW_1:
	case NIC_MKEY_WINDOW_2:
		return attr->access == 0 && attr->klm_count == 0 && !attr->synced;
	case NIC_MKEY_KLM:
	case NIC_MKEY_KSM:
		return attr->len_bytes <= UINT64_MAX - attr->va && attr->entity_log2 < 64 &&
		       !attr->synced;
	}
	return false;
}

/* Room for the pieces, and the pieces that it starts with. */
static bool take_pieces(struct nic *nic, const struct nic_mkey *mkey,
			const struct nic_mkey_attr *attr)
{
	struct nic_mkey_more *more = nic_mkey_more(nic, mkey);
	uint32_t count = attr->klm_count;
	struct nic_step *steps;

	if (attr->klm_count_max > count)
		count = attr->klm_count_max;
	more->room_log2 = (uint8_t)ring_log2_ceil(count ? count : 1);
	if (count > 1u << (NIC_ROOMS - 1) || !room_take(nic, more->room_log2, &more->room))
		return false;
	steps = nic_mkey_steps(nic, mkey);
	for (uint32_t i = 0; i < attr->klm_count; i++)
		steps[i] = (struct nic_step){.va = attr->klms[i].va,
					     .key = attr->klms[i].key,
					     .len_bytes = attr->klms[i].len_bytes};
	nic_steps_sum(steps, attr->klm_count);
	return true;
}

static bool set_more(struct nic *nic, const struct nic_mkey *mkey, const struct nic_mkey_attr *attr)
{
	struct nic_mkey_more *more = nic_mkey_more(nic, mkey);

	*more = (struct nic_mkey_more){
	    .qpn = attr->qpn ? attr->qpn : NIC_QPN_ANY,
	    .step_count = attr->klm_count,
	    .entity_log2 = attr->entity_log2,
	};
	if (mkey->kind != NIC_MKEY_KLM && mkey->kind != NIC_MKEY_KSM)
		return true;
	return take_pieces(nic, mkey, attr);
}

static enum nic_mkey_state state_of(const struct nic_mkey_attr *attr)
{
	if (attr->free || attr->kind == NIC_MKEY_WINDOW_1 || attr->kind == NIC_MKEY_WINDOW_2)
		return NIC_MKEY_FREE;
	if (attr->kind == NIC_MKEY_REGION && (attr->qpn == 0 || attr->qpn == NIC_QPN_ANY))
		return NIC_MKEY_PLAIN;
	return NIC_MKEY_OTHER;
}

static void fill(struct nic_mkey *mkey, const struct nic_mkey_attr *attr, uint8_t tag)
{
	bool window = attr->kind == NIC_MKEY_WINDOW_1 || attr->kind == NIC_MKEY_WINDOW_2;

	*mkey = (struct nic_mkey){
	    .va = attr->va,
	    .len_bytes = attr->len_bytes,
	    .host_va = attr->host_va,
	    .pdn = attr->pdn,
	    .tag = tag,
	    .access = attr->access & 0x7f,
	    .synced = attr->synced,
	    .state = (uint8_t)state_of(attr),
	    .kind = (uint8_t)attr->kind & 7,
	    .umr = attr->umr || window,
	    .remote_invalidate = attr->remote_invalidate || attr->kind == NIC_MKEY_WINDOW_2,
	    .signature = attr->signature,
	};
}

int nic_mkey_create(struct nic *nic, const struct nic_mkey_attr *attr, uint32_t *key)
{
	struct nic_pd *pd = nic_pd_find(nic, attr->pdn);
	struct nic_mkey *mkey;
	uint32_t index;
	uint8_t tag;

	if (!pd || !attr_ok(nic, attr))
		return -EINVAL;
	if (!nic_slot_take(&nic->mkey_slots, 0, &index))
		return -ENOMEM;
	mkey = &nic->mkeys[index];
	nic_sig_off(nic, index);
	/* Never the tag of the key that had this row last: an old key must not fit by chance. */
	tag = (uint8_t)(mkey->tag + 1 + base_prng_below(&nic->prng, 255));
	fill(mkey, attr, attr->tag_given ? attr->tag : tag);
	/* Plain regions never look at what is more. */
	if ((mkey->state != NIC_MKEY_PLAIN || mkey->umr) && !set_more(nic, mkey, attr)) {
		mkey->state = NIC_MKEY_NONE;
		nic_slot_give(&nic->mkey_slots, index);
		return -ENOMEM;
	}
	pd->users++;
	*key = index << 8 | mkey->tag;
	return 0;
}

/* ---- find, modify, destroy ------------------------------------------------------------------- */

static struct nic_mkey *find_index(const struct nic *nic, uint32_t key)
{
	uint32_t index = key >> 8;

	if (index >= nic->mkey_slots.fresh || nic->mkeys[index].state == NIC_MKEY_NONE)
		return NULL;
	return &nic->mkeys[index];
}

struct nic_mkey *nic_mkey_find(const struct nic *nic, uint32_t key)
{
	struct nic_mkey *mkey = find_index(nic, key);

	return mkey && mkey->tag == (key & 0xff) ? mkey : NULL;
}

/* As its owner names it: entries of send queues may have given it another tag. */
static struct nic_mkey *find_own(const struct nic *nic, uint32_t key)
{
	struct nic_mkey *mkey = find_index(nic, key);

	return mkey && (mkey->umr || mkey->tag == (key & 0xff)) ? mkey : NULL;
}

int nic_mkey_modify(struct nic *nic, uint32_t key, const struct nic_mkey_attr *attr, uint32_t set)
{
	struct nic_mkey *mkey = find_own(nic, key);
	struct nic_mkey_attr merged;
	struct nic_pd *pd;

	if (!mkey || mkey->kind != NIC_MKEY_REGION)
		return -EINVAL;
	merged = (struct nic_mkey_attr){.pdn = mkey->pdn,
					.access = mkey->access,
					.va = mkey->va,
					.len_bytes = mkey->len_bytes,
					.host_va = mkey->host_va,
					.synced = mkey->synced};
	if (set & NIC_MKEY_SET_PD_F)
		merged.pdn = attr->pdn;
	if (set & NIC_MKEY_SET_ACCESS_F)
		merged.access = attr->access;
	if (set & NIC_MKEY_SET_PLACE_F) {
		merged.va = attr->va;
		merged.len_bytes = attr->len_bytes;
		merged.host_va = attr->host_va;
		merged.synced = attr->synced;
	}
	pd = nic_pd_find(nic, merged.pdn);
	if (!pd || !attr_ok(nic, &merged))
		return -EINVAL;
	nic->pds[mkey->pdn].users--;
	pd->users++;
	mkey->pdn = merged.pdn;
	mkey->access = merged.access & 0x7f;
	mkey->va = merged.va;
	mkey->len_bytes = merged.len_bytes;
	mkey->host_va = merged.host_va;
	mkey->synced = merged.synced;
	return 0;
}

int nic_mkey_destroy(struct nic *nic, uint32_t key)
{
	struct nic_mkey *mkey = find_own(nic, key);

	if (!mkey)
		return -EINVAL;
	if (mkey->kind == NIC_MKEY_KLM || mkey->kind == NIC_MKEY_KSM) {
		const struct nic_mkey_more *more = nic_mkey_more(nic, mkey);

		room_give(nic, more->room, more->room_log2);
	}
	mkey->state = NIC_MKEY_NONE;
	nic->pds[mkey->pdn].users--;
	nic_slot_give(&nic->mkey_slots, (uint32_t)(mkey - nic->mkeys));
	return 0;
}

/* ---- invalidate ------------------------------------------------------------------------------ */

/* [IBTA1 10.6.7.2]: a window of type 2, by the queue pair that it is bound to; mlx5 lets the maker
 * of any other key say whether peers may. */
bool nic_mkey_invalidates(const struct nic *nic, const struct nic_qp *qp, uint32_t key)
{
	const struct nic_mkey *mkey = nic_mkey_find(nic, key);
	uint32_t qpn;

	if (!mkey || mkey->state == NIC_MKEY_FREE || !mkey->remote_invalidate ||
	    mkey->pdn != qp->pdn_resp)
		return false;
	if (mkey->state == NIC_MKEY_PLAIN)
		return mkey->umr;
	qpn = nic_mkey_more(nic, mkey)->qpn;
	return qpn == qp->number || (qpn == NIC_QPN_ANY && mkey->kind != NIC_MKEY_WINDOW_2);
}

void nic_mkey_invalidate(struct nic *nic, uint32_t key)
{
	struct nic_mkey *mkey = nic_mkey_find(nic, key);

	ASSERT(mkey);
	mkey->state = NIC_MKEY_FREE;
}
