/* SPDX-License-Identifier: BSD-2-Clause */
/* abi_roce_pkt_test.c - packet decode and encode: every opcode, every verdict, random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/roce_pkt.h"
#include "base/be.h"
#include "base/prng.h"

enum {
	SEED = 1,
	PAYLOAD = 13,
	PAD = 3,
};

static struct roce_pkt random_pkt(struct base_prng *prng, uint8_t opcode)
{
	uint16_t headers = roce_opcodes[opcode].headers;
	struct roce_pkt p = {.opcode = opcode};
	uint64_t flags = base_prng_u64(prng);

	p.se = flags & 1;
	p.mig_req = flags & 2;
	p.ack_req = flags & 4;
	p.fecn = flags & 8;
	p.becn = flags & 16;
	p.pkey = (uint16_t)base_prng_u64(prng);
	p.dqpn = base_prng_u64(prng) & ROCE_QPN_MASK;
	p.psn = base_prng_u64(prng) & ROCE_PSN_MASK;
	if (headers & ROCE_H_DETH) {
		p.deth.qkey = (uint32_t)base_prng_u64(prng);
		p.deth.src_qpn = base_prng_u64(prng) & ROCE_QPN_MASK;
	}
	if (headers & ROCE_H_XRCETH)
		p.srqn = base_prng_u64(prng) & ROCE_QPN_MASK;
	if (headers & ROCE_H_DCETH) {
		p.dceth.key = base_prng_u64(prng);
		p.dceth.session = base_prng_u64(prng) & ROCE_DC_SESSION_MASK;
		p.dceth.initiator = base_prng_u64(prng) & ROCE_QPN_MASK;
		p.dceth.first_psn = base_prng_u64(prng) & ROCE_PSN_MASK;
	}
	if (headers & ROCE_H_RETH) {
		p.reth.va = base_prng_u64(prng);
		p.reth.rkey = (uint32_t)base_prng_u64(prng);
		p.reth.len_bytes = (uint32_t)base_prng_u64(prng);
	}
	if (headers & ROCE_H_ATOMIC) {
		p.atomic.va = base_prng_u64(prng);
		p.atomic.rkey = (uint32_t)base_prng_u64(prng);
		p.atomic.swap_add = base_prng_u64(prng);
		p.atomic.compare = base_prng_u64(prng);
	}
	if (headers & ROCE_H_AETH) {
		p.aeth.syndrome = (uint8_t)base_prng_u64(prng);
		p.aeth.msn = base_prng_u64(prng) & ROCE_MSN_MASK;
	}
	if (headers & ROCE_H_ATOMIC_ACK)
		p.atomic_ack.orig = base_prng_u64(prng);
	if (headers & ROCE_H_IMM)
		p.imm = (uint32_t)base_prng_u64(prng);
	if (headers & ROCE_H_IETH)
		p.inv_rkey = (uint32_t)base_prng_u64(prng);
	return p;
}

static uint32_t payload_of(uint8_t opcode)
{
	if (roce_opcodes[opcode].payload == ROCE_PAYLOAD_NONE)
		return 0;
	if (roce_opcodes[opcode].payload == ROCE_PAYLOAD_PROBE)
		return ROCE_PROBE_BYTES;
	return roce_opcodes[opcode].payload == ROCE_PAYLOAD_CNP ? 16 : PAYLOAD;
}

/* Field by field: structures have holes. */
static void assert_same(const struct roce_pkt *a, const struct roce_pkt *b)
{
	assert_int_equal(a->opcode, b->opcode);
	assert_int_equal(a->pad_bytes, b->pad_bytes);
	assert_int_equal(a->se, b->se);
	assert_int_equal(a->mig_req, b->mig_req);
	assert_int_equal(a->ack_req, b->ack_req);
	assert_int_equal(a->fecn, b->fecn);
	assert_int_equal(a->becn, b->becn);
	assert_int_equal(a->pkey, b->pkey);
	assert_int_equal(a->dqpn, b->dqpn);
	assert_int_equal(a->psn, b->psn);
	assert_memory_equal(&a->reth, &b->reth, sizeof(a->reth));
	assert_int_equal(a->aeth.msn, b->aeth.msn);
	assert_int_equal(a->aeth.syndrome, b->aeth.syndrome);
	assert_true(a->atomic.va == b->atomic.va);
	assert_true(a->atomic.swap_add == b->atomic.swap_add);
	assert_true(a->atomic.compare == b->atomic.compare);
	assert_int_equal(a->atomic.rkey, b->atomic.rkey);
	assert_true(a->atomic_ack.orig == b->atomic_ack.orig);
	assert_memory_equal(&a->deth, &b->deth, sizeof(a->deth));
	assert_int_equal(a->srqn, b->srqn);
	assert_memory_equal(&a->dceth, &b->dceth, sizeof(a->dceth));
	assert_int_equal(a->imm, b->imm);
	assert_int_equal(a->inv_rkey, b->inv_rkey);
	assert_int_equal(a->payload_bytes, b->payload_bytes);
}

/* Shows that every opcode decodes to what was encoded, absent headers zero, payload in place.
 * By random field values (fixed seed) through both, at an odd address. */
static void every_opcode_round_trips(void **state)
{
	struct base_prng prng;
	uint8_t buf[128];

	(void)state;
	print_message("seed %d\n", SEED);
	base_prng_seed(&prng, SEED);
	for (unsigned int op = 0; op < 256; op++) {
		struct roce_pkt in, out;
		uint8_t *bth = buf + 1;
		size_t at, len_bytes;

		if (!roce_opcode_known((uint8_t)op))
			continue;
		in = random_pkt(&prng, (uint8_t)op);
		in.payload_bytes = payload_of((uint8_t)op);
		in.pad_bytes = (uint8_t)roce_pad_bytes(in.payload_bytes);
		memset(buf, 0xa5, sizeof(buf));
		at = roce_pkt_encode_headers(bth, sizeof(buf) - 1, &in);
		assert_int_equal(at, roce_pkt_header_bytes((uint8_t)op));
		assert_int_equal(bth[at], 0xa5);
		len_bytes = at + in.payload_bytes + in.pad_bytes;
		assert_int_equal(roce_pkt_decode(&out, bth, len_bytes), ROCE_OK);
		assert_same(&in, &out);
		assert_ptr_equal(out.payload, bth + at);
	}
}

/* Shows each verdict, and each length at which it turns.
 * By a table of small changes to good packets. */
static void every_verdict(void **state)
{
	static const struct {
		const char *name;
		uint8_t opcode, flags;
		size_t len_bytes;
		enum roce_verdict want;
	} rows[] = {
	    {"no bytes", ROCE_OP_RC_SEND_ONLY, 0, 0, ROCE_TOO_SHORT},
	    {"eleven bytes", ROCE_OP_RC_SEND_ONLY, 0, 11, ROCE_TOO_SHORT},
	    {"empty send", ROCE_OP_RC_SEND_ONLY, 0, 12, ROCE_OK},
	    {"odd length", ROCE_OP_RC_SEND_ONLY, 0, 13, ROCE_BAD_LENGTH},
	    {"unaligned length", ROCE_OP_RC_SEND_ONLY, 0, 14, ROCE_BAD_LENGTH},
	    {"version 1", ROCE_OP_RC_SEND_ONLY, 1, 12, ROCE_BAD_VERSION},
	    {"version 8", ROCE_OP_RC_SEND_ONLY, 8, 12, ROCE_BAD_VERSION},
	    {"hole in RC", 0x15, 0, 64, ROCE_BAD_OPCODE},
	    {"RD", 0x40, 0, 64, ROCE_BAD_OPCODE},
	    {"hole in XRC", 0xb5, 0, 64, ROCE_BAD_OPCODE},
	    {"XRC send without its XRCETH", ROCE_OP_XRC_SEND_ONLY, 0, 12, ROCE_TOO_SHORT},
	    {"XRC send", ROCE_OP_XRC_SEND_ONLY, 0, 16, ROCE_OK},
	    {"write without its RETH", ROCE_OP_RC_WRITE_ONLY, 0, 24, ROCE_TOO_SHORT},
	    {"write without payload", ROCE_OP_RC_WRITE_ONLY, 0, 28, ROCE_OK},
	    {"atomic one word short", ROCE_OP_RC_CMP_SWAP, 0, 36, ROCE_TOO_SHORT},
	    {"atomic", ROCE_OP_RC_CMP_SWAP, 0, 40, ROCE_OK},
	    {"atomic with payload", ROCE_OP_RC_CMP_SWAP, 0, 44, ROCE_BAD_PAYLOAD},
	    {"pad without payload", ROCE_OP_RC_SEND_ONLY, 0x10, 12, ROCE_BAD_PAD},
	    {"all but one byte pad", ROCE_OP_RC_SEND_ONLY, 0x30, 16, ROCE_OK},
	    {"ACK with a pad", ROCE_OP_RC_ACK, 0x30, 16, ROCE_BAD_PAD},
	    {"ACK with payload", ROCE_OP_RC_ACK, 0, 20, ROCE_BAD_PAYLOAD},
	    {"CNP", ROCE_OP_CNP, 0, 28, ROCE_OK},
	    {"probe", ROCE_OP_PROBE, 0, 52, ROCE_OK},
	    {"answer to a probe, too long", ROCE_OP_PROBE_ANSWER, 0, 56, ROCE_BAD_PAYLOAD},
	    {"CNP without its 16 bytes", ROCE_OP_CNP, 0, 12, ROCE_BAD_PAYLOAD},
	};
	uint8_t bth[64] = {0};
	struct roce_pkt pkt;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum roce_verdict got;

		bth[0] = rows[i].opcode;
		bth[1] = rows[i].flags;
		got = roce_pkt_decode(&pkt, bth, rows[i].len_bytes);
		if (got != rows[i].want)
			fail_msg("%s: %s", rows[i].name, roce_verdict_words(got));
	}
}

/* Shows that decode reads no byte beyond the length it is given, whatever the bytes are.
 * By random bytes in heap blocks of exactly that length (ASan in make ci sees a step outside). */
static void random_bytes_stay_in_bounds(void **state)
{
	struct base_prng prng;
	int ok = 0;

	(void)state;
	print_message("seed %d\n", SEED);
	base_prng_seed(&prng, SEED);
	for (int i = 0; i < 20000; i++) {
		size_t len_bytes = base_prng_below(&prng, 16) * 4;
		uint8_t *bth = malloc(len_bytes ? len_bytes : 1);
		struct roce_pkt pkt;

		assert_non_null(bth);
		base_prng_fill(&prng, bth, len_bytes);
		if (len_bytes > 1)
			bth[1] &= (uint8_t)~ROCE_BTH_TVER_MASK;
		if (roce_pkt_decode(&pkt, bth, len_bytes) == ROCE_OK) {
			ok++;
			assert_true(pkt.payload >= bth + ROCE_BTH_BYTES);
			assert_true(pkt.payload + pkt.payload_bytes + pkt.pad_bytes ==
				    bth + len_bytes);
		}
		free(bth);
	}
	assert_true(ok > 100);
}

/* Shows that encode refuses what does not fit and what it does not know, and writes nothing then.
 * By one byte too little for each opcode, and an opcode without a row. */
static void encode_refuses(void **state)
{
	uint8_t buf[ROCE_HEADERS_MAX_BYTES];
	struct roce_pkt pkt = {0};

	(void)state;
	for (unsigned int op = 0; op < 256; op++) {
		size_t cap = roce_opcode_known((uint8_t)op) ? roce_pkt_header_bytes((uint8_t)op) - 1
							    : sizeof(buf);

		memset(buf, 0xa5, sizeof(buf));
		pkt.opcode = (uint8_t)op;
		assert_int_equal(roce_pkt_encode_headers(buf, cap, &pkt), 0);
		for (size_t i = 0; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 0xa5);
	}
}

/* Shows that values wider than their fields are cut and touch no neighbour.
 * By all-ones values in 24-bit fields beside zero ones. */
static void wide_values_are_cut(void **state)
{
	struct roce_pkt pkt = {.opcode = ROCE_OP_UD_SEND_ONLY,
			       .dqpn = 0xffffffff,
			       .psn = 0xffffffff,
			       .pad_bytes = 0xff,
			       .deth.src_qpn = 0xffffffff};
	uint8_t buf[20];

	(void)state;
	assert_int_equal(roce_pkt_encode_headers(buf, sizeof(buf), &pkt), 20);
	assert_int_equal(buf[1], 0x30);
	assert_int_equal(be32_load(buf + 4), 0x00ffffff);
	assert_int_equal(be32_load(buf + 8), 0x00ffffff);
	assert_int_equal(be32_load(buf + 16), 0x00ffffff);
	pkt = (struct roce_pkt){.opcode = ROCE_OP_RC_ACK, .aeth.msn = 0xffffffff};
	assert_int_equal(roce_pkt_encode_headers(buf, sizeof(buf), &pkt), 16);
	assert_int_equal(be32_load(buf + 12), 0x00ffffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_opcode_round_trips),    cmocka_unit_test(every_verdict),
	    cmocka_unit_test(random_bytes_stay_in_bounds), cmocka_unit_test(encode_refuses),
	    cmocka_unit_test(wide_values_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
