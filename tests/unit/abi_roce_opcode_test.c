/* SPDX-License-Identifier: BSD-2-Clause */
/* abi_roce_opcode_test.c - the opcode table against the rules that made it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/roce_opcode.h"

/* Shows that only the listed opcodes are known, each with a name and consistent properties.
 * By walking all 256 values. */
static void every_value_is_known_or_not(void **state)
{
	int known = 0;

	(void)state;
	for (unsigned int op = 0; op < 256; op++) {
		const struct roce_opcode_info *info = &roce_opcodes[op];

		assert_int_equal(roce_opcode_known((uint8_t)op),
				 roce_opcode_name((uint8_t)op) != NULL);
		if (!roce_opcode_known((uint8_t)op)) {
			assert_int_equal(info->header_bytes, 0);
			assert_false(roce_opcode_is_request((uint8_t)op));
			assert_false(roce_opcode_is_response((uint8_t)op));
			continue;
		}
		known++;
		assert_in_range(info->header_bytes, ROCE_BTH_BYTES, ROCE_HEADERS_MAX_BYTES);
		assert_int_equal(info->header_bytes % 4, 0);
		if (info->kind != ROCE_KIND_CNP && info->kind != ROCE_KIND_PROBE)
			assert_true(roce_opcode_is_request((uint8_t)op) !=
				    roce_opcode_is_response((uint8_t)op));
	}
	assert_int_equal(known, 27 + 12 + 2 + 1 + 27 + 27 + 1 + 2);
}

/* Shows each kind of packet's headers, where they start, and its place in a message.
 * By a table of one opcode for each set of headers. */
static void rows_have_their_offsets(void **state)
{
	static const struct {
		const char *name;
		uint8_t opcode, place;
		struct roce_opcode_info want; /* offsets and size only */
	} rows[] = {
	    {"RC_SEND_FIRST", 0x00, ROCE_FIRST, {.header_bytes = 12}},
	    {"RC_SEND_MIDDLE", 0x01, ROCE_MIDDLE, {.header_bytes = 12}},
	    {"RC_SEND_LAST_IMM", 0x03, ROCE_LAST, {.header_bytes = 16, .imm_off = 12}},
	    {"RC_WRITE_ONLY_IMM",
	     0x0b,
	     ROCE_ONLY,
	     {.header_bytes = 32, .reth_off = 12, .imm_off = 28}},
	    {"RC_READ_REQ", 0x0c, ROCE_ONLY, {.header_bytes = 28, .reth_off = 12}},
	    {"RC_READ_RESP_MIDDLE", 0x0e, ROCE_MIDDLE, {.header_bytes = 12}},
	    {"RC_READ_RESP_LAST", 0x0f, ROCE_LAST, {.header_bytes = 16, .aeth_off = 12}},
	    {"RC_ACK", 0x11, ROCE_ONLY, {.header_bytes = 16, .aeth_off = 12}},
	    {"RC_ATOMIC_ACK",
	     0x12,
	     ROCE_ONLY,
	     {.header_bytes = 24, .aeth_off = 12, .atomic_ack_off = 16}},
	    {"RC_CMP_SWAP", 0x13, ROCE_ONLY, {.header_bytes = 40, .atomic_off = 12}},
	    {"RC_SEND_ONLY_INV", 0x17, ROCE_ONLY, {.header_bytes = 16, .ieth_off = 12}},
	    {"UC_WRITE_FIRST", 0x26, ROCE_FIRST, {.header_bytes = 28, .reth_off = 12}},
	    {"UD_SEND_ONLY_IMM", 0x65, ROCE_ONLY, {.header_bytes = 24, .imm_off = 20}},
	    {"XRC_SEND_MIDDLE", 0xa1, ROCE_MIDDLE, {.header_bytes = 16}},
	    {"XRC_WRITE_ONLY_IMM",
	     0xab,
	     ROCE_ONLY,
	     {.header_bytes = 36, .reth_off = 16, .imm_off = 32}},
	    {"XRC_READ_RESP_FIRST", 0xad, ROCE_FIRST, {.header_bytes = 16, .aeth_off = 12}},
	    {"XRC_FETCH_ADD", 0xb4, ROCE_ONLY, {.header_bytes = 44, .atomic_off = 16}},
	    {"RC_MASKED_FA_4", 0x1a, ROCE_ONLY, {.header_bytes = 40, .atomic_off = 12}},
	    {"DC_SEND_ONLY", 0xc4, ROCE_ONLY, {.header_bytes = 32}},
	    {"DC_WRITE_ONLY_IMM",
	     0xcb,
	     ROCE_ONLY,
	     {.header_bytes = 52, .reth_off = 32, .imm_off = 48}},
	    {"DC_ACK", 0xd1, ROCE_ONLY, {.header_bytes = 16, .aeth_off = 12}},
	    {"CNP", 0x81, ROCE_ONLY, {.header_bytes = 12}},
	    {"PROBE", 0xe0, ROCE_ONLY, {.header_bytes = 12}},
	    {"PROBE_ANSWER", 0xe1, ROCE_ONLY, {.header_bytes = 12}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct roce_opcode_info *got = &roce_opcodes[rows[i].opcode];

		assert_string_equal(roce_opcode_name(rows[i].opcode), rows[i].name);
		if (got->place != rows[i].place ||
		    got->header_bytes != rows[i].want.header_bytes ||
		    memcmp(&got->reth_off, &rows[i].want.reth_off,
			   sizeof(*got) - offsetof(struct roce_opcode_info, reth_off)) != 0)
			fail_msg("%s", rows[i].name);
		assert_int_equal(roce_opcode_starts(rows[i].opcode), rows[i].place & ROCE_FIRST);
		assert_int_equal(roce_opcode_ends(rows[i].opcode),
				 (rows[i].place & ROCE_LAST) != 0);
	}
}

/* Shows that UC is RC's first twelve rows under another number, and what the top bits name.
 * By comparing the rows. */
static void transports(void **state)
{
	(void)state;
	for (uint8_t op = 0; op < 12; op++) {
		assert_memory_equal(&roce_opcodes[op], &roce_opcodes[0x20 + op],
				    sizeof(roce_opcodes[0]));
		assert_string_equal(roce_opcode_name(op) + 2, roce_opcode_name(0x20 + op) + 2);
	}
	assert_int_equal(roce_opcode_transport(ROCE_OP_RC_ACK), ROCE_RC);
	assert_int_equal(roce_opcode_transport(ROCE_OP_UC_SEND_ONLY), ROCE_UC);
	assert_int_equal(roce_opcode_transport(ROCE_OP_UD_SEND_ONLY), ROCE_UD);
	assert_int_equal(roce_opcode_transport(ROCE_OP_CNP), ROCE_CNP_CLASS);
}

static void rc_with_one_header(unsigned int first, enum roce_transport transport,
			       unsigned int header, unsigned int bytes)
{
	for (unsigned int op = 0; op < 32; op++) {
		const struct roce_opcode_info *rc = &roce_opcodes[op];
		const struct roce_opcode_info *other = &roce_opcodes[first | op];
		bool more = roce_opcode_is_request((uint8_t)op);

		assert_int_equal(other->kind, rc->kind);
		if (!roce_opcode_known((uint8_t)op))
			continue;
		assert_int_equal(other->place, rc->place);
		assert_int_equal(other->payload, rc->payload);
		assert_int_equal(other->header_bytes, rc->header_bytes + (more ? bytes : 0));
		assert_int_equal(other->headers, rc->headers | (more ? header : 0));
		assert_int_equal(roce_opcode_transport((uint8_t)(first | op)), transport);
	}
}

/* Shows that XRC is RC under another number, its requests with an XRCETH and its responses without;
 * and DC likewise, with a DCETH. By comparing the rows. */
static void xrc_and_dc_are_rc_with_one_header(void **state)
{
	(void)state;
	rc_with_one_header(0xa0, ROCE_XRC, ROCE_H_XRCETH, ROCE_XRCETH_BYTES);
	rc_with_one_header(0xc0, ROCE_DC, ROCE_H_DCETH, ROCE_DCETH_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_value_is_known_or_not),
	    cmocka_unit_test(rows_have_their_offsets),
	    cmocka_unit_test(transports),
	    cmocka_unit_test(xrc_and_dc_are_rc_with_one_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
