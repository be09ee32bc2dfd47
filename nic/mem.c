/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem.c - lists of pieces, bounds, and the only calls of the environment's guarded copies.
 *
 * A key is looked up each time bytes move: nothing remembers a translation, so nothing has to be
 * told when a region goes away.
 */
#include "nic/nic_priv.h"

HOT enum nic_mem check(const struct nic *nic, uint64_t who, uint32_t key, uint64_t va,
		       uint64_t len_bytes, uint32_t access, struct nic_place *place)
{
	uint32_t index = key >> 8;
	const struct nic_mkey *mkey;

	if (index >= nic->mkey_slots.fresh)
		return NIC_MEM_KEY;
	mkey = &nic->mkeys[index];
	if (mkey->state != NIC_MKEY_PLAIN)
		return nic_indirect_check(nic, who, key, va, len_bytes, access, place);
	if (mkey->tag != (key & 0xff) || mkey->pdn != (uint32_t)who)
		return NIC_MEM_KEY;
	/* Written so that no sum can overflow. */
	if (va < mkey->va || len_bytes > mkey->len_bytes ||
	    va - mkey->va > mkey->len_bytes - len_bytes)
		return NIC_MEM_RANGE;
	if (access & ~(uint32_t)mkey->access)
		return NIC_MEM_RIGHTS;
	place->host_va = mkey->host_va + (va - mkey->va);
	place->how = mkey->synced ? NIC_PLACE_SYNCED : NIC_PLACE_PLAIN;
	return NIC_MEM_OK;
}

enum nic_mem nic_mem_check(const struct nic *nic, uint64_t who, uint32_t key, uint64_t va,
			   uint64_t len_bytes, uint32_t access, struct nic_place *place)
{
	return check(nic, who, key, va, len_bytes, access, place);
}

enum nic_mem nic_mem_check_list(const struct nic *nic, uint32_t pdn, const struct nic_wqe *wqe)
{
	for (uint32_t i = 0; i < wqe->piece_count; i++) {
		const struct nic_piece *piece = &wqe->pieces[i];
		enum nic_mem verdict;
		struct nic_place place;

		if (wqe->inline_mask >> i & 1)
			continue;
		verdict = check(nic, pdn, piece->lkey, piece->va, piece->len_bytes, 0, &place);
		if (verdict != NIC_MEM_OK)
			return verdict;
	}
	return NIC_MEM_OK;
}

/* Puts wqe's cursor at byte off of the message. In order, as packets mostly are, it is there. */
static void seek(struct nic_wqe *wqe, uint64_t off)
{
	uint64_t at = 0;
	uint32_t i = 0;

	if (wqe->at_off == off)
		return;
	while (i < wqe->piece_count && off - at >= wqe->pieces[i].len_bytes)
		at += wqe->pieces[i++].len_bytes;
	wqe->at_piece = i;
	wqe->at_piece_off = (uint32_t)(off - at);
	wqe->at_off = off;
}

/* The next stretch of at most n bytes inside one piece; 0: the list has ended. */
static uint32_t stretch(struct nic_wqe *wqe, uint32_t n, const struct nic_piece **piece,
			uint32_t *piece_off)
{
	while (wqe->at_piece < wqe->piece_count) {
		const struct nic_piece *p = &wqe->pieces[wqe->at_piece];
		uint32_t left = p->len_bytes - wqe->at_piece_off;

		if (left == 0) {
			wqe->at_piece++;
			wqe->at_piece_off = 0;
			continue;
		}
		*piece = p;
		*piece_off = wqe->at_piece_off;
		return n < left ? n : left;
	}
	return 0;
}

static void advance(struct nic_wqe *wqe, uint32_t n)
{
	wqe->at_piece_off += n;
	wqe->at_off += n;
}

enum nic_mem nic_mem_gather(struct nic *nic, uint32_t pdn, struct nic_wqe *wqe, uint64_t off,
			    uint8_t *dst, uint32_t n)
{
	seek(wqe, off);
	while (n != 0) {
		const struct nic_piece *piece;
		enum nic_mem verdict;
		uint32_t piece_off;
		uint32_t part = stretch(wqe, n, &piece, &piece_off);
		struct nic_place place;

		if (part == 0)
			return NIC_MEM_SHORT;
		if (wqe->inline_mask >> wqe->at_piece & 1) {
			memcpy(dst, wqe->raw + piece->va + piece_off, part);
		} else {
			verdict =
			    check(nic, pdn, piece->lkey, piece->va + piece_off, part, 0, &place);
			if (verdict != NIC_MEM_OK)
				return verdict;
			if (!nic_mem_read_at(nic, dst, &place, part))
				return NIC_MEM_FAULT;
		}
		advance(wqe, part);
		dst += part;
		n -= part;
	}
	return NIC_MEM_OK;
}

enum nic_mem nic_mem_scatter(struct nic *nic, uint32_t pdn, struct nic_wqe *wqe, uint64_t off,
			     const uint8_t *src, uint32_t n)
{
	seek(wqe, off);
	while (n != 0) {
		const struct nic_piece *piece;
		enum nic_mem verdict;
		uint32_t piece_off;
		uint32_t part = stretch(wqe, n, &piece, &piece_off);
		struct nic_place place;

		if (part == 0)
			return NIC_MEM_SHORT;
		verdict = check(nic, pdn, piece->lkey, piece->va + piece_off, part,
				NIC_ACCESS_LOCAL_WRITE_F, &place);
		if (verdict != NIC_MEM_OK)
			return verdict;
		if (!nic_mem_write_at(nic, &place, src, part))
			return NIC_MEM_FAULT;
		advance(wqe, part);
		src += part;
		n -= part;
	}
	return NIC_MEM_OK;
}

bool nic_mem_read(struct nic *nic, void *dst, uint64_t va, size_t len_bytes)
{
	if (nic->env->mem_read(nic->env->ctx, dst, va, len_bytes))
		return true;
	nic->counters.mem_fault++;
	return false;
}

bool nic_mem_write(struct nic *nic, uint64_t va, const void *src, size_t len_bytes)
{
	if (nic->env->mem_write(nic->env->ctx, va, src, len_bytes))
		return true;
	nic->counters.mem_fault++;
	return false;
}

bool nic_mem_load_be32(struct nic *nic, uint64_t va, uint32_t *value)
{
	struct be32 word;

	if (nic->env->mem_load32(nic->env->ctx, va, &word.raw)) {
		*value = be32_to(word);
		return true;
	}
	nic->counters.db_fault++;
	return false;
}

bool nic_mem_store32(struct nic *nic, uint64_t va, uint32_t value)
{
	if (nic->env->mem_store32(nic->env->ctx, va, value))
		return true;
	nic->counters.mem_fault++;
	return false;
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool begin(struct nic *nic, const struct nic_place *place, bool writable)
{
	if (place->how != NIC_PLACE_SYNCED ||
	    nic->env->sync_begin(nic->env->ctx, place->host_va, writable))
		return true;
	nic->counters.mem_fault++;
	return false;
}

static void end(struct nic *nic, const struct nic_place *place, bool writable)
{
	if (place->how == NIC_PLACE_SYNCED)
		nic->env->sync_end(nic->env->ctx, place->host_va, writable);
}

/* The next of several places, at byte `done` of the whole; false: it is gone. */
static bool next_place(const struct nic *nic, const struct nic_place *all, size_t done,
		       uint64_t *len_bytes, struct nic_place *place)
{
	return nic_indirect_next(nic, all->index, all->host_va + done, all->access, len_bytes,
				 place) == NIC_MEM_OK;
}

static bool read_synced(struct nic *nic, void *dst, const struct nic_place *place, size_t len_bytes)
{
	bool good;

	if (!begin(nic, place, false))
		return false;
	good = nic_mem_read(nic, dst, place->host_va, len_bytes);
	end(nic, place, false);
	return good;
}

static bool write_synced(struct nic *nic, const struct nic_place *place, const void *src,
			 size_t len_bytes)
{
	bool good;

	if (!begin(nic, place, true))
		return false;
	good = nic_mem_write(nic, place->host_va, src, len_bytes);
	end(nic, place, true);
	return good;
}

static COLD bool read_special(struct nic *nic, uint8_t *dst, const struct nic_place *all,
			      size_t len_bytes)
{
	struct nic_place place;
	uint64_t part;

	if (all->how == NIC_PLACE_SYNCED)
		return read_synced(nic, dst, all, len_bytes);
	if (all->how == NIC_PLACE_SIGNED)
		return nic_sig_read(nic, dst, all->index, all->host_va, len_bytes);
	for (size_t done = 0; done < len_bytes; done += part) {
		part = len_bytes - done;
		if (!next_place(nic, all, done, &part, &place) ||
		    !read_synced(nic, dst + done, &place, part))
			return false;
	}
	return true;
}

static COLD bool write_special(struct nic *nic, const struct nic_place *all, const uint8_t *src,
			       size_t len_bytes)
{
	struct nic_place place;
	uint64_t part;

	if (all->how == NIC_PLACE_SYNCED)
		return write_synced(nic, all, src, len_bytes);
	if (all->how == NIC_PLACE_SIGNED)
		return nic_sig_write(nic, all->index, all->host_va, src, len_bytes);
	for (size_t done = 0; done < len_bytes; done += part) {
		part = len_bytes - done;
		if (!next_place(nic, all, done, &part, &place) ||
		    !write_synced(nic, &place, src + done, part))
			return false;
	}
	return true;
}

bool nic_mem_read_at(struct nic *nic, void *dst, const struct nic_place *place, size_t len_bytes)
{
	if (place->how == NIC_PLACE_PLAIN)
		return nic_mem_read(nic, dst, place->host_va, len_bytes);
	return read_special(nic, dst, place, len_bytes);
}

bool nic_mem_write_at(struct nic *nic, const struct nic_place *place, const void *src,
		      size_t len_bytes)
{
	if (place->how == NIC_PLACE_PLAIN)
		return nic_mem_write(nic, place->host_va, src, len_bytes);
	return write_special(nic, place, src, len_bytes);
}

bool nic_mem_atomic_at(struct nic *nic, const struct nic_atomic *atomic,
		       const struct nic_place *place, uint64_t *old)
{
	bool good;

	ASSERT(place->how == NIC_PLACE_PLAIN || place->how == NIC_PLACE_SYNCED);
	if (!begin(nic, place, true))
		return false;
	good = nic_atomic_at(nic, atomic, place->host_va, old);
	end(nic, place, true);
	return good;
}

struct nic_fault nic_mem_fault(enum nic_mem verdict)
{
	switch (verdict) {
	case NIC_MEM_OK:
		break;
	case NIC_MEM_KEY:
		return (struct nic_fault){CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD};
	case NIC_MEM_RANGE:
		return (struct nic_fault){CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_RANGE};
	case NIC_MEM_RIGHTS:
		return (struct nic_fault){CQE_SYND_LOCAL_PROT, CQE_VENDOR_LOCAL_WRITE_DENIED};
	case NIC_MEM_SHORT:
		return (struct nic_fault){CQE_SYND_LOCAL_LENGTH, CQE_VENDOR_NONE};
	case NIC_MEM_FAULT:
		/* No card has this one: its pages are pinned. */
		return (struct nic_fault){CQE_SYND_LOCAL_PROT, CQE_VENDOR_NONE};
	}
	UNREACHABLE();
}
