/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: signatures of blocks are made, stripped, copied and checked, on either side, whatever the
 * packets; what is wrong is told once, by field, and may stop the send queue.
 * How: checksums against published check values; then two NICs, keys configured as libmlx5 does,
 * and a model of the bytes that is made by this test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "nic/sig.h"
#include "tests/support/nic_bed.h"
#include "tests/support/umr.h"

enum {
	BLOCK = 512,
	BLOCKS = 5,
	APP = 0xabcd,
	REF = 0x01234567,
	PSV_MEM = 0,
	PSV_WIRE = 1,
};

/* The values that the nine digits have, as published with each CRC. */
static void checksums(void **state)
{
	static const struct {
		enum nic_sig_type type;
		uint64_t seed, value;
	} rows[] = {
	    {NIC_SIG_CRC32, UINT32_MAX, 0xcbf43926},
	    {NIC_SIG_CRC32C, UINT32_MAX, 0xe3069283},
	    {NIC_SIG_CRC64, UINT64_MAX, 0xae8b14860a799888},
	    {NIC_SIG_T10_CRC, 0, 0xd0db},
	};
	static const uint8_t digits[] = "123456789";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t half = nic_crc_run(rows[i].type, rows[i].seed, digits, 4);

		assert_int_equal(
		    nic_crc_end(rows[i].type, nic_crc_run(rows[i].type, half, digits + 4, 5)),
		    rows[i].value);
	}
	/* The example of [RFC 1071]. */
	assert_int_equal(nic_crc_run(NIC_SIG_T10_CSUM, 0,
				     (const uint8_t[]){0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7}, 8),
			 0xddf2);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint32_t psvs[2][2]; /* of each NIC */

static uint32_t sig_key(struct bed *b, uint32_t nic)
{
	struct nic_mkey_attr attr = {.pdn = b->w->sides[nic].pdn,
				     .kind = NIC_MKEY_KLM,
				     .klm_count_max = 4,
				     .free = true,
				     .umr = true,
				     .tag_given = true,
				     .signature = true};
	uint32_t key;

	assert_int_equal(nic_mkey_create(b->w->nics[nic], &attr, &key), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(nic_psv_create(b->w->nics[nic], attr.pdn, &psvs[nic][i]), 0);
	return key;
}

static uint64_t seed_of(enum nic_sig_type type)
{
	if (type == NIC_SIG_CRC32 || type == NIC_SIG_CRC32C)
		return (uint64_t)UINT32_MAX << 32;
	if (type == NIC_SIG_CRC64)
		return UINT64_MAX;
	return (uint64_t)0xffff << 48 | (uint64_t)APP << 32 | REF;
}

static uint32_t crc_word(enum nic_sig_type type, uint32_t psv)
{
	static const uint8_t selectors[] = {[NIC_SIG_CRC32] = BSF_CRC32,
					    [NIC_SIG_CRC32C] = BSF_CRC32C,
					    [NIC_SIG_CRC64] = BSF_CRC64_XP10};

	return psv | (type == NIC_SIG_NONE || type >= NIC_SIG_T10_CRC
			  ? 0
			  : (uint32_t)(selectors[type] | 2) << BSF_CRC_SHIFT);
}

static struct wqe_bsf_inline dif(enum nic_sig_type type, uint8_t flags)
{
	if (type < NIC_SIG_T10_CRC)
		return (struct wqe_bsf_inline){.type = 0};
	return (struct wqe_bsf_inline){.valid_refresh = be16_from(BSF_INLINE_VALID_F),
				       .app_tag = be16_from(APP),
				       .ref_tag = be32_from(REF),
				       .type = type == NIC_SIG_T10_CRC ? BSF_T10_CRC : BSF_T10_CSUM,
				       .flags = flags};
}

struct sides {
	enum nic_sig_type mem;
	enum nic_sig_type wire;
	uint8_t check_mask;
	uint8_t copy_mask;
	uint8_t flags;
};

static void set_psv(struct fake_qp *qp, uint32_t psv, enum nic_sig_type type)
{
	struct wqe_set_psv_seg seg = {.psv = be32_from(psv), .signature = be64_from(seed_of(type))};
	uint16_t index = fake_post_raw(qp, WQE_OP_SET_PSV, 0, &seg, sizeof(seg));

	fake_ring(qp);
	expect_done(&qp->send_cq, CQE_REQ, index, 0);
}

/* The key over one piece, with these sides. */
static void configure(struct fake_qp *qp, uint32_t nic, uint32_t key, struct fake_piece piece,
		      const struct sides *s)
{
	bool same = s->mem != NIC_SIG_NONE && s->mem == s->wire;
	struct umr_wr wr = umr_list(
	    key, UMR_ACCESS_LOCAL_WRITE_F | UMR_ACCESS_REMOTE_READ_F | UMR_ACCESS_REMOTE_WRITE_F,
	    &piece, 1);
	struct wqe_bsf_seg bsf = {
	    .size_sbs = (uint8_t)(2 << 6 | (same ? BSF_SAME_F : 0)),
	    .check_mask = s->check_mask,
	    .wire = same ? s->copy_mask : 1,
	    .mem = 1,
	    .wire_psv = be32_from(crc_word(s->wire, psvs[nic][PSV_WIRE])),
	    .mem_psv = be32_from(crc_word(s->mem, psvs[nic][PSV_MEM])),
	    .wire_inline = dif(s->wire, s->flags),
	    .mem_inline = dif(s->mem, s->flags),
	};
	uint16_t index;

	wr.mask |= UMR_MASK_BSF;
	wr.flags_pd = UMR_PD_BSF_F;
	wr.bsf = &bsf;
	index = umr_do(qp, &wr);
	expect_done(&qp->send_cq, CQE_REQ, index, 0);
	set_psv(qp, psvs[nic][PSV_MEM], s->mem);
	set_psv(qp, psvs[nic][PSV_WIRE], s->wire);
}

/* ---- the model ------------------------------------------------------------------------------- */

static uint32_t bytes_of(enum nic_sig_type type)
{
	return type == NIC_SIG_NONE ? 0 : type == NIC_SIG_CRC32 || type == NIC_SIG_CRC32C ? 4 : 8;
}

/* BLOCKS blocks of data with their signatures; returns the bytes. */
static uint32_t model(enum nic_sig_type type, bool inc, const uint8_t *data, uint8_t *out)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint64_t seed = seed_of(type), crc;

		memcpy(out + used, data + (size_t)i * BLOCK, BLOCK);
		used += BLOCK;
		if (type == NIC_SIG_NONE)
			continue;
		seed = bytes_of(type) == 4 ? seed >> 32 : type == NIC_SIG_CRC64 ? seed : seed >> 48;
		crc = nic_crc_end(type, nic_crc_run(type, seed, data + (size_t)i * BLOCK, BLOCK));
		if (type >= NIC_SIG_T10_CRC) {
			be16_store(out + used, (uint16_t)crc);
			be16_store(out + used + 2, APP);
			be32_store(out + used + 4, REF + (inc ? i : 0));
		} else {
			memcpy(out + used, &crc, bytes_of(type)); /* little-endian */
		}
		used += bytes_of(type);
	}
	return used;
}

static uint8_t data[BLOCK * BLOCKS];
static uint8_t mem_bytes[BLOCK * BLOCKS + 64], wire_bytes[BLOCK * BLOCKS + 64];

/* NIC 0's memory, as the key has it, goes out; what comes in at NIC 1 is what the wire should be.
 */
static struct bed start(const struct sides *s, uint32_t *key, uint32_t *mem_len, uint32_t *wire_len)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	bool inc = s->flags & BSF_INC_REF_F;

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 13 + (i >> 7));
	*mem_len = model(s->mem, inc, data, mem_bytes);
	*wire_len = model(s->wire, inc, data, wire_bytes);
	*key = sig_key(&b, 0);
	memcpy(bed_src(&b), mem_bytes, *mem_len);
	configure(&b.pair.a, 0, *key, (struct fake_piece){b.src.va, *mem_len, b.src.key}, s);
	return b;
}

static void send_all(struct bed *b, uint32_t key, uint32_t len)
{
	struct fake_wr wr = {
	    .opcode = WQE_OP_SEND, .signal = true, .pieces = {{0, len, key}}, .piece_count = 1};

	bed_receive(b, 8192);
	fake_post(&b->pair.a, &wr);
	fake_ring(&b->pair.a);
	fake_settle(b->w);
}

static const struct sides good[] = {
    {NIC_SIG_NONE, NIC_SIG_CRC32, 0xff, 0, 0},
    {NIC_SIG_CRC32, NIC_SIG_NONE, 0xff, 0, 0},
    {NIC_SIG_CRC32C, NIC_SIG_CRC64, 0xff, 0, 0},
    {NIC_SIG_CRC64, NIC_SIG_T10_CRC, 0xff, 0, BSF_INC_REF_F},
    {NIC_SIG_T10_CRC, NIC_SIG_T10_CRC, 0xff, 0xff, BSF_INC_REF_F},
    {NIC_SIG_T10_CSUM, NIC_SIG_T10_CSUM, 0xff, 0, 0},
    {NIC_SIG_T10_CSUM, NIC_SIG_NONE, 0xff, 0, BSF_INC_REF_F},
};

static void out_of_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint32_t key, mem_len, wire_len;
		struct bed b = start(&good[i], &key, &mem_len, &wire_len);

		print_message("row %zu\n", i);
		send_all(&b, key, wire_len);
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, wire_len);
		assert_memory_equal(bed_dst(&b), wire_bytes, wire_len);
		expect_done(&b.pair.a.send_cq, CQE_REQ, b.pair.a.last_index, wire_len);
		expect_none(&b.pair.a.send_cq);
		bed_close(&b);
	}
}

/* By a READ, whose responses come packet by packet, with one of them lost. */
static void into_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint32_t key, mem_len, wire_len;
		struct bed b = start(&good[i], &key, &mem_len, &wire_len);
		struct fake_wr wr = {.opcode = WQE_OP_READ,
				     .signal = true,
				     .pieces = {{0, wire_len, key}},
				     .piece_count = 1,
				     .remote_va = b.dst.va,
				     .rkey = b.dst.key};

		print_message("row %zu\n", i);
		memcpy(bed_dst(&b), wire_bytes, wire_len);
		memset(bed_src(&b), 0, 8192);
		fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_deliver(b.w, 0);
		fake_drop(b.w, 3);
		fake_settle(b.w);
		fake_advance(b.w, 70000000);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, b.pair.a.last_index, wire_len);
		assert_memory_equal(bed_src(&b), mem_bytes, mem_len);
		assert_int_equal(bed_src(&b)[mem_len], 0);
		expect_none(&b.pair.a.send_cq);
		bed_close(&b);
	}
}

/* A peer reads and writes it: its addresses are those of the wire. */
static void by_a_peer(void **state)
{
	uint32_t key, mem_len, wire_len;
	struct bed b = start(&good[2], &key, &mem_len, &wire_len);
	struct fake_wr wr = {.opcode = WQE_OP_READ,
			     .signal = true,
			     .pieces = {{b.dst.va, 1000, b.dst.key}},
			     .piece_count = 1,
			     .remote_va = 300,
			     .rkey = key};
	uint16_t index = fake_post(&b.pair.b, &wr);

	(void)state;
	fake_ring(&b.pair.b);
	fake_settle(b.w);
	expect_done(&b.pair.b.send_cq, CQE_REQ, index, 1000);
	assert_memory_equal(bed_dst(&b), wire_bytes + 300, 1000);
	wr.remote_va = wire_len - 999;
	index = fake_post(&b.pair.b, &wr);
	fake_ring(&b.pair.b);
	fake_settle(b.w);
	expect_error(&b.pair.b.send_cq, CQE_REQ_ERR, index, CQE_SYND_REMOTE_ACCESS,
		     CQE_VENDOR_REMOTE_ACCESS);
	bed_close(&b);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void expect_sig(struct bed *b, struct fake_cq *cq, uint16_t syndrome, uint8_t domain,
		       uint32_t key, uint64_t offset)
{
	const struct cqe_sig_err *cqe =
	    (const void *)((const uint8_t *)fake_mem(b->w, cq->buf_va) +
			   (cq->ci & ((1u << cq->count_log2) - 1)) * sizeof(*cqe));
	struct fake_cqe ignored;

	assert_int_equal(cqe_opcode_of(cqe->op_own), CQE_SIG_ERR);
	assert_int_equal(be16_to(cqe->syndrome), syndrome);
	assert_int_equal(cqe->domain, domain);
	assert_int_equal(cqe->type, 0);
	assert_int_equal(be32_to(cqe->mkey), key);
	assert_int_equal(be64_to(cqe->offset), offset);
	assert_true(be32_to(cqe->expected.raw ? cqe->expected : cqe->expected_ref) != 0);
	assert_int_equal(fake_poll(cq, &ignored), 1);
}

/* One byte of memory is turned over in the third block: told once, and the message goes on. */
static void wrong_in_memory(void **state)
{
	static const struct {
		const char *name;
		enum nic_sig_type type;
		uint32_t at; /* in the block and what stands behind */
		uint8_t check_mask;
		uint16_t syndrome; /* 0: not told */
	} rows[] = {
	    {"data, CRC32", NIC_SIG_CRC32, 100, 0xf0, CQE_SIG_GUARD_F},
	    {"CRC32", NIC_SIG_CRC32, 513, 0xf0, CQE_SIG_GUARD_F},
	    {"CRC32, that byte is not checked", NIC_SIG_CRC32, 513, 0xd0, 0},
	    {"CRC64", NIC_SIG_CRC64, 519, 0xff, CQE_SIG_GUARD_F},
	    {"guard", NIC_SIG_T10_CRC, 512, 0xff, CQE_SIG_GUARD_F},
	    {"guard is not checked", NIC_SIG_T10_CRC, 512, 0x3f, 0},
	    {"application tag", NIC_SIG_T10_CRC, 515, 0xff, CQE_SIG_APP_F},
	    {"reference tag", NIC_SIG_T10_CSUM, 519, 0xff, CQE_SIG_REF_F},
	    {"only the reference tag is checked", NIC_SIG_T10_CRC, 514, 0x0f, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sides s = {rows[i].type, NIC_SIG_NONE, rows[i].check_mask, 0,
					BSF_INC_REF_F};
		uint32_t key, mem_len, wire_len;
		struct bed b = start(&s, &key, &mem_len, &wire_len);
		uint32_t stride = BLOCK + bytes_of(rows[i].type);

		print_message("row: %s\n", rows[i].name);
		bed_src(&b)[2 * stride + rows[i].at] ^= 0x40;
		bed_src(&b)[4 * stride + rows[i].at] ^= 0x40;
		send_all(&b, key, wire_len);
		if (rows[i].syndrome != 0)
			expect_sig(&b, &b.pair.a.send_cq, rows[i].syndrome, CQE_SIG_MEMORY, key,
				   2 * stride);
		expect_done(&b.pair.a.send_cq, CQE_REQ, b.pair.a.last_index, wire_len);
		expect_none(&b.pair.a.send_cq);
		bed_close(&b);
	}
}

static void wrong_on_the_wire(void **state)
{
	const struct sides s = {NIC_SIG_NONE, NIC_SIG_CRC32C, 0xf0, 0, 0};
	uint32_t key, mem_len, wire_len;
	struct bed b = start(&s, &key, &mem_len, &wire_len);
	struct fake_piece receive = {0, wire_len, key};
	struct fake_wr wr = {
	    .opcode = WQE_OP_SEND, .pieces = {{b.dst.va, wire_len, b.dst.key}}, .piece_count = 1};

	(void)state;
	memcpy(bed_dst(&b), wire_bytes, wire_len);
	bed_dst(&b)[516 + 514] ^= 1;
	fake_receive(&b.pair.a, &receive, 1);
	fake_post(&b.pair.b, &wr);
	fake_ring(&b.pair.b);
	fake_settle(b.w);
	/* Where the receive completes. */
	expect_sig(&b, &b.pair.a.recv_cq, CQE_SIG_GUARD_F, CQE_SIG_WIRE, key, 516);
	expect_done(&b.pair.a.recv_cq, CQE_RESP_SEND, 0, wire_len);
	assert_memory_equal(bed_src(&b), data, sizeof(data));
	bed_close(&b);
}

/* Tags that say "do not check". */
static void escapes(void **state)
{
	(void)state;
	for (int with_ref = 0; with_ref < 2; with_ref++) {
		const struct sides s = {NIC_SIG_T10_CRC, NIC_SIG_NONE, 0xff, 0,
					with_ref ? BSF_APP_REF_ESCAPE_F : BSF_APP_ESCAPE_F};
		uint32_t key, mem_len, wire_len;
		struct bed b = start(&s, &key, &mem_len, &wire_len);

		memset(bed_src(&b) + 512, 0xff, 4);
		memset(bed_src(&b) + 520 + 512, 0xff, 8);
		send_all(&b, key, wire_len);
		if (with_ref)
			expect_sig(&b, &b.pair.a.send_cq, CQE_SIG_GUARD_F, CQE_SIG_MEMORY, key, 0);
		expect_done(&b.pair.a.send_cq, CQE_REQ, b.pair.a.last_index, wire_len);
		bed_close(&b);
	}
}

/* Told again only when an entry of the send queue has said so. */
static void told_once(void **state)
{
	const struct sides s = {NIC_SIG_CRC32, NIC_SIG_NONE, 0xf0, 0, 0};
	uint32_t key, mem_len, wire_len;
	struct bed b = start(&s, &key, &mem_len, &wire_len);
	struct umr_wr rearm = {.key = key,
			       .flags = UMR_INLINE_F,
			       .mask = UMR_MASK_SIG_ERR,
			       .flags_pd = UMR_PD_SIG_ERR_F};

	(void)state;
	bed_src(&b)[0] ^= 1;
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			expect_done(&b.pair.a.send_cq, CQE_REQ, umr_do(&b.pair.a, &rearm), 0);
		send_all(&b, key, wire_len);
		if (i != 1)
			expect_sig(&b, &b.pair.a.send_cq, CQE_SIG_GUARD_F, CQE_SIG_MEMORY, key, 0);
		expect_done(&b.pair.a.send_cq, CQE_REQ, b.pair.a.last_index, wire_len);
	}
	bed_close(&b);
}

/* The queue pair stops behind the entry that found it, tells of it, and goes on when told to. */
static void stops_the_queue(void **state)
{
	const struct sides s = {NIC_SIG_CRC32, NIC_SIG_NONE, 0xf0, 0, 0};
	uint32_t key, mem_len, wire_len;
	struct bed b = start(&s, &key, &mem_len, &wire_len);
	struct fake_wr write = bed_wr(&b, WQE_OP_WRITE, 1);
	struct fake_wr second = bed_wr(&b, WQE_OP_WRITE, 16);
	struct nic *nic = b.w->nics[0];

	(void)state;
	assert_int_equal(nic_qp_drain_on_sig_error(nic, b.pair.a.qpn, true), 0);
	bed_src(&b)[600] ^= 1;
	write.pieces[0] = (struct fake_piece){0, wire_len, key};
	write.signal = false;
	fake_post(&b.pair.a, &write);
	second.remote_va += 8192;
	fake_post(&b.pair.a, &second);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_SQD);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_SQ_DRAINED), 1);
	assert_true(nic_qp_sq_is_drained(nic, b.pair.a.qpn));
	assert_int_equal(nic_qp_sq_index(nic, b.pair.a.qpn), b.pair.a.last_index);
	expect_sig(&b, &b.pair.a.send_cq, CQE_SIG_GUARD_F, CQE_SIG_MEMORY, key, 516);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(fake_qp_set_state(&b.pair.a, NIC_QP_RTS), 0);
	fake_run(b.w, 0);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, b.pair.a.last_index, 16);
	bed_close(&b);
}

/* Entries that the NIC does not know, or that name what is not there. */
static void refused(void **state)
{
	enum { NO_SIGNATURE, BAD_SIZE, BAD_TYPE, CUT, ALIEN_PSV, ROWS };

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		const struct sides s = {NIC_SIG_CRC32, NIC_SIG_NONE, 0xf0, 0, 0};
		uint32_t key, mem_len, wire_len;
		struct bed b = start(&s, &key, &mem_len, &wire_len);
		struct umr_wr wr =
		    umr_list(key, 0, &(struct fake_piece){b.src.va, 516, b.src.key}, 1);
		struct wqe_bsf_seg bsf = {.mem = 1,
					  .mem_psv = be32_from(BSF_CRC32 << BSF_CRC_SHIFT)};
		struct wqe_set_psv_seg psv = {.psv = be32_from(1000)};
		uint8_t syndrome = row == ALIEN_PSV ? CQE_SYND_LOCAL_PROT : CQE_SYND_MW_BIND;
		uint16_t index;

		print_message("row %d\n", row);
		if (row == NO_SIGNATURE) {
			struct nic_mkey_attr attr = {.pdn = b.w->sides[0].pdn,
						     .kind = NIC_MKEY_KLM,
						     .klm_count_max = 4,
						     .free = true,
						     .umr = true,
						     .tag_given = true};

			assert_int_equal(nic_mkey_create(b.w->nics[0], &attr, &wr.key), 0);
		}
		if (row == BAD_SIZE)
			bsf.mem = 5;
		if (row == BAD_TYPE)
			bsf.mem_psv = be32_from(0x70u << BSF_CRC_SHIFT);
		wr.mask |= UMR_MASK_BSF;
		wr.flags_pd = UMR_PD_BSF_F;
		wr.bsf = &bsf;
		if (row == ALIEN_PSV)
			index = fake_post_raw(&b.pair.a, WQE_OP_SET_PSV, 0, &psv, sizeof(psv));
		else
			index = umr_post(&b.pair.a, &wr);
		if (row == CUT)
			((uint8_t *)fake_mem(b.w,
					     b.pair.a.sq_va))[(index & 63) * WQE_BB_BYTES + 7] -= 1;
		fake_ring(&b.pair.a);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, index, syndrome, CQE_VENDOR_NONE);
		bed_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(checksums),       cmocka_unit_test(out_of_memory),
	    cmocka_unit_test(into_memory),     cmocka_unit_test(by_a_peer),
	    cmocka_unit_test(wrong_in_memory), cmocka_unit_test(wrong_on_the_wire),
	    cmocka_unit_test(escapes),         cmocka_unit_test(told_once),
	    cmocka_unit_test(stops_the_queue), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
