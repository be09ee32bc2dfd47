/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sig.c - keys with signatures: data that pass through one get a signature behind every block, or
 * lose it, and what comes in with one is checked [rdma-core mlx5dv_wr_set_mkey_sig_block].
 *
 * Nothing is remembered between packets but a signature that came half: where a byte of the wire
 * lies in memory follows from its offset, and a block's checksum is made from its bytes in memory
 * when its last one moves. So a packet may be made again, and a message may start at any block.
 *
 * As values, signatures have the form in which SET_PSV holds seeds and CQE_SIG_ERR shows them:
 * CRC32 in the upper half, CRC64, or T10-DIF's guard:16 | application tag:16 | reference tag:32.
 * How a card puts a CRC into memory is not published; here it is little-endian.
 */
#include "nic/sig.h"

#include "abi/mlx5_umr.h"

#include <linux/errno.h>

/* ---- seeds ----------------------------------------------------------------------------------- */

int nic_psv_create(struct nic *nic, uint32_t pdn, uint32_t *psv)
{
	struct nic_pd *pd = nic_pd_find(nic, pdn);

	if (!pd)
		return -EINVAL;
	if (!nic_slot_take(&nic->psv_slots, 0, psv))
		return -ENOMEM;
	nic->psvs[*psv] = (struct nic_psv){.live = true, .pdn = pdn};
	pd->users++;
	return 0;
}

static struct nic_psv *find_psv(const struct nic *nic, uint32_t psv)
{
	if (psv >= nic->psv_slots.fresh || !nic->psvs[psv].live)
		return NULL;
	return &nic->psvs[psv];
}

int nic_psv_destroy(struct nic *nic, uint32_t psv)
{
	struct nic_psv *p = find_psv(nic, psv);

	if (!p)
		return -EINVAL;
	p->live = false;
	nic->pds[p->pdn].users--;
	nic_slot_give(&nic->psv_slots, psv);
	return 0;
}

struct nic_fault nic_psv_set(struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	struct wqe_set_psv_seg seg;
	struct nic_psv *psv;

	if (wqe->raw_bytes < sizeof(struct wqe_ctrl_seg) + sizeof(seg))
		return (struct nic_fault){CQE_SYND_LOCAL_QP_OP, CQE_VENDOR_NONE};
	memcpy(&seg, wqe->raw + sizeof(struct wqe_ctrl_seg), sizeof(seg));
	psv = find_psv(nic, be32_to(seg.psv) & BSF_PSV_MASK);
	if (!psv || psv->pdn != qp->pdn)
		return (struct nic_fault){CQE_SYND_LOCAL_PROT, CQE_VENDOR_NONE};
	psv->signature = be64_to(seg.signature);
	return (struct nic_fault){0};
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool set_crc(struct nic_sig_side *side, uint8_t selector)
{
	switch (selector & BSF_CRC_MASK) {
	case BSF_CRC32:
		side->type = NIC_SIG_CRC32;
		side->bytes = 4;
		return true;
	case BSF_CRC32C:
		side->type = NIC_SIG_CRC32C;
		side->bytes = 4;
		return true;
	case BSF_CRC64_XP10:
		side->type = NIC_SIG_CRC64;
		side->bytes = 8;
		return true;
	case 0:
		return true; /* no signature */
	}
	return false;
}

/* One side of a signature segment; false: what we do not know. */
static bool set_side(struct nic_sig_side *side, uint32_t psv, const struct wqe_bsf_inline *dif,
		     uint8_t size)
{
	static const uint16_t sizes[BSF_BLOCK_SIZES] = {0, 512, 520, 4096, 4160, 0, 4048};

	*side = (struct nic_sig_side){.psv = psv & BSF_PSV_MASK};
	if (be16_to(dif->valid_refresh) & BSF_INLINE_VALID_F) {
		side->type = dif->type == BSF_T10_CRC ? NIC_SIG_T10_CRC : NIC_SIG_T10_CSUM;
		side->bytes = 8;
		side->flags = dif->flags;
		if (dif->type != BSF_T10_CRC && dif->type != BSF_T10_CSUM)
			return false;
	} else if (!set_crc(side, (uint8_t)(psv >> BSF_CRC_SHIFT))) {
		return false;
	}
	if (side->type == NIC_SIG_NONE)
		return true;
	side->block_bytes = size < BSF_BLOCK_SIZES ? sizes[size] : 0;
	return side->block_bytes != 0;
}

bool nic_sig_set(struct nic *nic, uint32_t index, const uint8_t *segment)
{
	struct wqe_bsf_seg seg;
	struct nic_sig sig = {.enabled = true};
	bool same;

	memcpy(&seg, segment, sizeof(seg));
	same = seg.size_sbs & BSF_SAME_F;
	sig.check_mask = seg.check_mask;
	sig.copy_mask = same ? seg.wire : 0;
	if (!set_side(&sig.mem, be32_to(seg.mem_psv), &seg.mem_inline, seg.mem) ||
	    !set_side(&sig.wire, be32_to(seg.wire_psv), &seg.wire_inline,
		      same ? seg.mem : seg.wire))
		return false;
	if (same && (sig.wire.type != sig.mem.type || sig.mem.type == NIC_SIG_NONE))
		return false;
	nic->sigs[index] = sig;
	return true;
}

void nic_sig_off(struct nic *nic, uint32_t index)
{
	nic->sigs[index].enabled = false;
}

bool nic_sig_is_on(const struct nic *nic, uint32_t index)
{
	return nic->sigs[index].enabled;
}

void nic_sig_rearm(struct nic *nic, uint32_t index)
{
	nic->sigs[index].told = false;
}

/* Data bytes of the first `len` bytes of a side, its signatures left out. */
static uint64_t data_of(const struct nic_sig_side *side, uint64_t len)
{
	uint64_t stride = (uint64_t)side->block_bytes + side->bytes, rest;

	if (side->type == NIC_SIG_NONE)
		return len;
	rest = len % stride;
	return len / stride * side->block_bytes +
	       (rest < side->block_bytes ? rest : side->block_bytes);
}

uint64_t nic_sig_wire_bytes(const struct nic *nic, uint32_t index)
{
	const struct nic_sig *sig = &nic->sigs[index];
	uint64_t data = data_of(&sig->mem, nic->mkeys[index].len_bytes);

	if (sig->wire.type == NIC_SIG_NONE)
		return data;
	return data + data / sig->wire.block_bytes * sig->wire.bytes;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A copy that is being made: the key, and which way. */
struct pass {
	struct nic *nic;
	struct nic_sig *sig;
	uint32_t index;
};

/* Bytes of the key's pieces. */
static bool raw_read(const struct pass *p, uint64_t off, uint8_t *dst, uint64_t n)
{
	uint64_t va = p->nic->mkeys[p->index].va + off, part;
	struct nic_place place;

	for (; n != 0; n -= part, va += part, dst += part) {
		part = n;
		if (nic_indirect_next(p->nic, p->index, va, 0, &part, &place) != NIC_MEM_OK ||
		    !nic_mem_read_at(p->nic, dst, &place, part))
			return false;
	}
	return true;
}

static bool raw_write(const struct pass *p, uint64_t off, const uint8_t *src, uint64_t n)
{
	uint64_t va = p->nic->mkeys[p->index].va + off, part;
	struct nic_place place;

	for (; n != 0; n -= part, va += part, src += part) {
		part = n;
		if (nic_indirect_next(p->nic, p->index, va, NIC_ACCESS_LOCAL_WRITE_F, &part,
				      &place) != NIC_MEM_OK ||
		    !nic_mem_write_at(p->nic, &place, src, part))
			return false;
	}
	return true;
}

/* Where data byte off lies among the pieces, and *n cut to the end of its block there. */
static uint64_t mem_off(const struct pass *p, uint64_t off, uint64_t *n)
{
	const struct nic_sig_side *mem = &p->sig->mem;
	uint64_t block, in;

	if (mem->type == NIC_SIG_NONE)
		return off;
	block = off / mem->block_bytes;
	in = off % mem->block_bytes;
	if (*n > mem->block_bytes - in)
		*n = mem->block_bytes - in;
	return off + block * mem->bytes;
}

/* ---- signatures ------------------------------------------------------------------------------ */

static bool is_t10(const struct nic_sig_side *side)
{
	return side->type == NIC_SIG_T10_CRC || side->type == NIC_SIG_T10_CSUM;
}

static void store_value(const struct nic_sig_side *side, uint64_t value, uint8_t *bytes)
{
	if (is_t10(side)) {
		be64_store(bytes, value);
		return;
	}
	if (side->bytes == 4)
		value >>= 32;
	for (uint32_t i = 0; i < side->bytes; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t load_value(const struct nic_sig_side *side, const uint8_t *bytes)
{
	uint64_t value = 0;

	if (is_t10(side))
		return be64_load(bytes);
	for (uint32_t i = 0; i < side->bytes; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return side->bytes == 4 ? value << 32 : value;
}

/* The signature that the block-th block of a side should have, from its data in memory. */
static bool make_value(const struct pass *p, const struct nic_sig_side *side, uint64_t block,
		       uint64_t *value)
{
	const struct nic_psv *psv = find_psv(p->nic, side->psv);
	uint64_t off = block * side->block_bytes, left = side->block_bytes, state, part;
	enum nic_sig_type type = (enum nic_sig_type)side->type;

	if (!psv)
		return false;
	state = psv->signature;
	if (side->bytes == 4)
		state >>= 32;
	if (is_t10(side))
		state >>= 48;
	for (; left != 0; left -= part, off += part) {
		uint64_t at;

		part = left < sizeof(p->nic->sig_block) ? left : sizeof(p->nic->sig_block);
		at = mem_off(p, off, &part);
		if (!raw_read(p, at, p->nic->sig_block, part))
			return false;
		state = nic_crc_run(type, state, p->nic->sig_block, (uint32_t)part);
	}
	*value = nic_crc_end(type, state);
	if (side->bytes == 4)
		*value <<= 32;
	if (is_t10(side)) {
		uint32_t ref = (uint32_t)psv->signature;

		if (side->flags & BSF_INC_REF_F)
			ref += (uint32_t)block;
		*value = *value << 48 | (psv->signature & 0x0000ffff00000000) | ref;
	}
	return true;
}

/* The signature that memory has of a block. */
static bool mem_value(const struct pass *p, uint64_t block, uint64_t *value)
{
	const struct nic_sig_side *mem = &p->sig->mem;
	uint8_t bytes[NIC_SIG_BYTES_MAX];
	uint64_t stride = (uint64_t)mem->block_bytes + mem->bytes;

	if (!raw_read(p, block * stride + mem->block_bytes, bytes, mem->bytes))
		return false;
	*value = load_value(mem, bytes);
	return true;
}

/* A bit of a byte mask is a byte of a value. */
static uint64_t widen(uint8_t mask)
{
	uint64_t wide = 0;

	for (uint32_t i = 0; i < 8; i++)
		if (mask >> i & 1)
			wide |= 0xffull << 8 * i;
	return wide;
}

static bool escapes(const struct nic_sig_side *side, uint64_t value)
{
	bool app = (value >> 32 & 0xffff) == 0xffff;

	if (!is_t10(side) || !app)
		return false;
	return (side->flags & BSF_APP_ESCAPE_F) ||
	       ((side->flags & BSF_APP_REF_ESCAPE_F) && (uint32_t)value == UINT32_MAX);
}

static uint16_t syndrome_of(const struct nic_sig_side *side, uint64_t differs)
{
	if (!is_t10(side) || differs >> 48)
		return CQE_SIG_GUARD_F;
	return differs >> 32 ? CQE_SIG_APP_F : CQE_SIG_REF_F;
}

static void check(const struct pass *p, bool is_mem, uint64_t block, uint64_t expected,
		  uint64_t actual)
{
	const struct nic_sig_side *side = is_mem ? &p->sig->mem : &p->sig->wire;
	uint64_t differs = (expected ^ actual) & widen(p->sig->check_mask);
	struct nic_sig_error error = {
	    .expected = expected,
	    .actual = actual,
	    .offset = block * ((uint64_t)side->block_bytes + side->bytes),
	    .key = p->index << 8 | p->nic->mkeys[p->index].tag,
	    .syndrome = syndrome_of(side, differs),
	    .domain = is_mem ? CQE_SIG_MEMORY : CQE_SIG_WIRE,
	};

	if (differs == 0 || escapes(side, actual) || p->sig->told)
		return;
	p->sig->told = true;
	nic_cq_sig_error(p->nic, &error);
}

static bool check_mem(const struct pass *p, uint64_t block)
{
	uint64_t expected, actual;

	if (!make_value(p, &p->sig->mem, block, &expected) || !mem_value(p, block, &actual))
		return false;
	check(p, true, block, expected, actual);
	return true;
}

/* ---- out of memory --------------------------------------------------------------------------- */

/* Data bytes; a block of memory is checked when its last byte is read. */
static bool read_data(const struct pass *p, uint64_t off, uint8_t *dst, uint64_t n)
{
	const struct nic_sig_side *mem = &p->sig->mem;
	uint64_t part;

	for (; n != 0; n -= part, off += part, dst += part) {
		uint64_t at;

		part = n;
		at = mem_off(p, off, &part);
		if (!raw_read(p, at, dst, part))
			return false;
		if (mem->type != NIC_SIG_NONE && (off + part) % mem->block_bytes == 0 &&
		    !check_mem(p, off / mem->block_bytes))
			return false;
	}
	return true;
}

/* What goes out behind a block: made anew, but for bytes that are copied. */
static bool wire_bytes(const struct pass *p, uint64_t block, uint8_t bytes[NIC_SIG_BYTES_MAX])
{
	uint64_t value, copied = 0, mask = widen(p->sig->copy_mask);

	if (!make_value(p, &p->sig->wire, block, &value) ||
	    (mask != 0 && !mem_value(p, block, &copied)))
		return false;
	store_value(&p->sig->wire, (value & ~mask) | (copied & mask), bytes);
	return true;
}

/* Where byte off of the wire is: in a block's data, or *in bytes into what stands behind. */
static bool in_data(const struct nic_sig *sig, uint64_t off, uint64_t *block, uint64_t *in,
		    uint64_t *n)
{
	uint64_t stride = (uint64_t)sig->wire.block_bytes + sig->wire.bytes;

	*block = off / stride;
	*in = off % stride;
	if (*in < sig->wire.block_bytes) {
		if (*n > sig->wire.block_bytes - *in)
			*n = sig->wire.block_bytes - *in;
		return true;
	}
	*in -= sig->wire.block_bytes;
	if (*n > sig->wire.bytes - *in)
		*n = sig->wire.bytes - *in;
	return false;
}

bool nic_sig_read(struct nic *nic, uint8_t *dst, uint32_t index, uint64_t off, uint64_t n)
{
	const struct pass p = {nic, &nic->sigs[index], index};
	uint8_t bytes[NIC_SIG_BYTES_MAX];
	uint64_t block, in, part;

	if (p.sig->wire.type == NIC_SIG_NONE)
		return read_data(&p, off, dst, n);
	for (; n != 0; n -= part, off += part, dst += part) {
		part = n;
		if (in_data(p.sig, off, &block, &in, &part)) {
			if (!read_data(&p, block * p.sig->wire.block_bytes + in, dst, part))
				return false;
			continue;
		}
		if (!wire_bytes(&p, block, bytes))
			return false;
		memcpy(dst, bytes + in, part);
	}
	return true;
}

/* ---- into memory ----------------------------------------------------------------------------- */

static bool write_mem_value(const struct pass *p, uint64_t block, uint64_t copied, uint64_t mask)
{
	const struct nic_sig_side *mem = &p->sig->mem;
	uint64_t stride = (uint64_t)mem->block_bytes + mem->bytes, value;
	uint8_t bytes[NIC_SIG_BYTES_MAX];

	if (!make_value(p, mem, block, &value))
		return false;
	store_value(mem, (value & ~mask) | (copied & mask), bytes);
	return raw_write(p, block * stride + mem->block_bytes, bytes, mem->bytes);
}

/* Data bytes; a block of memory gets its signature when its last byte is written, unless parts of
 * it are still to come by the wire. */
static bool write_data(const struct pass *p, uint64_t off, const uint8_t *src, uint64_t n)
{
	const struct nic_sig_side *mem = &p->sig->mem;
	bool now = mem->type != NIC_SIG_NONE && p->sig->copy_mask == 0;
	uint64_t part;

	for (; n != 0; n -= part, off += part, src += part) {
		uint64_t at;

		part = n;
		at = mem_off(p, off, &part);
		if (!raw_write(p, at, src, part))
			return false;
		if (now && (off + part) % mem->block_bytes == 0 &&
		    !write_mem_value(p, off / mem->block_bytes, 0, 0))
			return false;
	}
	return true;
}

/* The last byte of a signature has come in. */
static bool take_wire_value(const struct pass *p, uint64_t block)
{
	uint64_t actual = load_value(&p->sig->wire, p->sig->partial), expected;

	if (!make_value(p, &p->sig->wire, block, &expected))
		return false;
	check(p, false, block, expected, actual);
	return p->sig->copy_mask == 0 ||
	       write_mem_value(p, block, actual, widen(p->sig->copy_mask));
}

bool nic_sig_write(struct nic *nic, uint32_t index, uint64_t off, const uint8_t *src, uint64_t n)
{
	const struct pass p = {nic, &nic->sigs[index], index};
	uint64_t block, in, part;

	if (p.sig->wire.type == NIC_SIG_NONE)
		return write_data(&p, off, src, n);
	for (; n != 0; n -= part, off += part, src += part) {
		part = n;
		if (in_data(p.sig, off, &block, &in, &part)) {
			if (!write_data(&p, block * p.sig->wire.block_bytes + in, src, part))
				return false;
			continue;
		}
		memcpy(p.sig->partial + in, src, part);
		if (in + part == p.sig->wire.bytes && !take_wire_value(&p, block))
			return false;
	}
	return true;
}
