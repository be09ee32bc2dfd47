/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * indirect.c - from a key that is made of pieces of other keys to the bytes: windows, KLM and KSM
 * lists, strided lists.
 *
 * The rights of the key that was named are those that count. The keys beneath it are used as this
 * process would: they must be of the same protection domain, have the bytes, and have local write
 * where something is written. They may be made of pieces themselves, NIC_DEPTH_MAX levels deep.
 */
#include "nic/nic_priv.h"

/* The piece with byte off of a list, by its end. */
static uint32_t find_step(const struct nic_step *steps, uint32_t count, uint64_t off)
{
	uint32_t low = 0;

	while (count != 0) {
		uint32_t half = count / 2;

		if (steps[low + half].end <= off) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

/* Byte off of a list key: the address in another key, and how far it goes on there. false: beyond
 * its pieces. */
static bool follow(const struct nic *nic, const struct nic_mkey *mkey, uint64_t off,
		   struct nic_step *step)
{
	const struct nic_mkey_more *more = nic_mkey_more(nic, mkey);
	const struct nic_step *steps = nic_mkey_steps(nic, mkey);
	uint32_t count = more->step_count;
	uint64_t round = 0, in, round_bytes;
	uint32_t i;

	if (mkey->kind == NIC_MKEY_KSM) {
		if (off >> more->entity_log2 >= count)
			return false;
		i = (uint32_t)(off >> more->entity_log2);
		in = off - ((uint64_t)i << more->entity_log2);
		*step = (struct nic_step){.va = steps[i].va + in,
					  .key = steps[i].key,
					  .end = (1ull << more->entity_log2) - in};
		return true;
	}
	round_bytes = count != 0 ? steps[count - 1].end : 0;
	if (more->repeat != 0 && round_bytes != 0) {
		round = off / round_bytes;
		off %= round_bytes;
		if (round >= more->repeat)
			return false;
	}
	i = find_step(steps, count, off);
	if (i == count)
		return false;
	in = off - (steps[i].end - steps[i].len_bytes);
	*step = (struct nic_step){.va = steps[i].va + round * steps[i].stride + in,
				  .key = steps[i].key,
				  .end = steps[i].len_bytes - in};
	return true;
}

/* What a right to the upper key asks of the lower one. */
static uint32_t local_right(uint32_t access)
{
	uint32_t change =
	    NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_ATOMIC_F;

	return access & change ? NIC_ACCESS_LOCAL_WRITE_F : 0;
}

static bool is_list(const struct nic_mkey *mkey)
{
	return mkey->state == NIC_MKEY_OTHER &&
	       (mkey->kind == NIC_MKEY_KLM || mkey->kind == NIC_MKEY_KSM);
}

/* One key beneath another: *len_bytes is cut to what it has from va on. */
static enum nic_mem check_beneath(const struct nic_mkey *mkey, uint32_t pdn, uint32_t key,
				  uint64_t va, uint32_t right, uint64_t *len_bytes)
{
	/* Signatures belong to the key that is named. */
	if ((mkey->state != NIC_MKEY_PLAIN && !is_list(mkey)) || mkey->signature)
		return NIC_MEM_KEY;
	if (mkey->tag != (key & 0xff) || mkey->pdn != pdn)
		return NIC_MEM_KEY;
	if (va < mkey->va || va - mkey->va >= mkey->len_bytes)
		return NIC_MEM_RANGE;
	if (right & ~(uint32_t)mkey->access)
		return NIC_MEM_RIGHTS;
	if (*len_bytes > mkey->len_bytes - (va - mkey->va))
		*len_bytes = mkey->len_bytes - (va - mkey->va);
	return NIC_MEM_OK;
}

enum nic_mem nic_indirect_next(const struct nic *nic, uint32_t index, uint64_t va, uint32_t access,
			       uint64_t *len_bytes, struct nic_place *place)
{
	const struct nic_mkey *mkey = &nic->mkeys[index];
	uint32_t right = local_right(access);

	for (int depth = 0; depth < NIC_DEPTH_MAX; depth++) {
		struct nic_step step;
		enum nic_mem verdict;

		if (!follow(nic, mkey, va - mkey->va, &step))
			return NIC_MEM_RANGE;
		if (*len_bytes > step.end)
			*len_bytes = step.end;
		if (step.key >> 8 >= nic->mkey_slots.fresh)
			return NIC_MEM_KEY;
		va = step.va;
		verdict = check_beneath(&nic->mkeys[step.key >> 8], mkey->pdn, step.key, va, right,
					len_bytes);
		if (verdict != NIC_MEM_OK)
			return verdict;
		mkey = &nic->mkeys[step.key >> 8];
		if (mkey->state != NIC_MKEY_PLAIN)
			continue;
		place->host_va = mkey->host_va + (va - mkey->va);
		place->how = mkey->synced ? NIC_PLACE_SYNCED : NIC_PLACE_PLAIN;
		return NIC_MEM_OK;
	}
	return NIC_MEM_KEY;
}

/* The key that was named: whether it is good for who asks. */
static bool good_for(const struct nic *nic, const struct nic_mkey *mkey, uint64_t who)
{
	uint32_t qpn = (uint32_t)(who >> 32);
	uint32_t only = nic_mkey_more(nic, mkey)->qpn;

	if (mkey->state != NIC_MKEY_OTHER || mkey->pdn != (uint32_t)who)
		return false;
	if (mkey->kind == NIC_MKEY_WINDOW_1)
		return qpn != 0;
	if (mkey->kind == NIC_MKEY_WINDOW_2)
		return qpn != 0 && qpn == only;
	return qpn == 0 || only == NIC_QPN_ANY || qpn == only;
}

/* All pieces of a stretch that is short enough; else its first. */
static enum nic_mem check_pieces(const struct nic *nic, uint32_t index, uint64_t va,
				 uint64_t len_bytes, uint32_t access, struct nic_place *place)
{
	uint64_t part = len_bytes;
	enum nic_mem verdict = nic_indirect_next(nic, index, va, access, &part, place);

	if (verdict != NIC_MEM_OK || part == len_bytes)
		return verdict;
	if (len_bytes <= ROCE_MTU_MAX_BYTES) {
		for (uint64_t done = part; done < len_bytes; done += part) {
			part = len_bytes - done;
			verdict = nic_indirect_next(nic, index, va + done, access, &part, place);
			if (verdict != NIC_MEM_OK)
				return verdict;
		}
	}
	*place = (struct nic_place){
	    .host_va = va, .how = NIC_PLACE_PIECES, .index = index, .access = access};
	return NIC_MEM_OK;
}

/* A key with signatures: its addresses count what is on the wire. Its pieces are looked up when the
 * bytes move. */
static enum nic_mem check_signed(const struct nic *nic, uint32_t index, uint64_t va,
				 uint64_t len_bytes, uint32_t access, struct nic_place *place)
{
	const struct nic_mkey *mkey = &nic->mkeys[index];
	uint64_t all = nic_sig_wire_bytes(nic, index);

	if (va < mkey->va || len_bytes > all || va - mkey->va > all - len_bytes)
		return NIC_MEM_RANGE;
	if (access & ~(uint32_t)mkey->access)
		return NIC_MEM_RIGHTS;
	*place = (struct nic_place){.host_va = va - mkey->va,
				    .how = NIC_PLACE_SIGNED,
				    .index = index,
				    .access = access};
	return NIC_MEM_OK;
}

enum nic_mem nic_indirect_check(const struct nic *nic, uint64_t who, uint32_t key, uint64_t va,
				uint64_t len_bytes, uint32_t access, struct nic_place *place)
{
	const struct nic_mkey *mkey = &nic->mkeys[key >> 8];

	if (mkey->tag != (key & 0xff) || !good_for(nic, mkey, who))
		return NIC_MEM_KEY;
	if (mkey->signature && nic_sig_is_on(nic, key >> 8))
		return check_signed(nic, key >> 8, va, len_bytes, access, place);
	if (va < mkey->va || len_bytes > mkey->len_bytes ||
	    va - mkey->va > mkey->len_bytes - len_bytes)
		return NIC_MEM_RANGE;
	if (access & ~(uint32_t)mkey->access)
		return NIC_MEM_RIGHTS;
	if (mkey->kind != NIC_MKEY_REGION && len_bytes != 0)
		return check_pieces(nic, key >> 8, va, len_bytes, access, place);
	place->host_va = mkey->host_va + (va - mkey->va);
	place->how = mkey->synced ? NIC_PLACE_SYNCED : NIC_PLACE_PLAIN;
	return NIC_MEM_OK;
}
