/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_opcode.h - what a BTH opcode means: a table made from abi/roce_opcode.def.
 *
 * A table look-up takes any byte. A value without a row has kind ROCE_KIND_UNKNOWN.
 */
#ifndef ABI_ROCE_OPCODE_H
#define ABI_ROCE_OPCODE_H

#include "abi/roce.h"

enum roce_opcode {
#define ROCE_OPCODE(token, value, kind, place, headers, payload) ROCE_OP_##token = value,
#include "abi/roce_opcode.def"
#undef ROCE_OPCODE
};

/* The upper three bits of an opcode [IBTA1 table 38]. */
enum roce_transport {
	ROCE_RC = 0,
	ROCE_UC = 1,
	ROCE_RD = 2,
	ROCE_UD = 3,
	ROCE_CNP_CLASS = 4,
	ROCE_XRC = 5,
	ROCE_DC = 6, /* a manufacturer's: our own */
	ROCE_FRAME = 7, /* likewise; probes, too */
};

/* An operation has the same lower bits in every transport: an opcode of RC or'ed with another
 * transport's bits is the same operation there, if it has it. */
enum {
	ROCE_TRANSPORT_SHIFT = 5,
	ROCE_TRANSPORT_MASK = 7 << ROCE_TRANSPORT_SHIFT,
};

enum roce_kind {
	ROCE_KIND_UNKNOWN,
	ROCE_KIND_SEND,
	ROCE_KIND_WRITE,
	ROCE_KIND_READ_REQ,
	ROCE_KIND_ATOMIC_REQ,
	ROCE_KIND_READ_RESP,
	ROCE_KIND_ATOMIC_RESP,
	ROCE_KIND_ACK,
	ROCE_KIND_CNP,
	ROCE_KIND_PROBE,
};

/* Where in its message: bit 0 starts one, bit 1 ends one. */
enum roce_place {
	ROCE_MIDDLE = 0,
	ROCE_FIRST = 1,
	ROCE_LAST = 2,
	ROCE_ONLY = 3,
};

/* Extended headers, in the order in which they stand in a packet. */
enum {
	ROCE_H_DETH = 1 << 0,
	ROCE_H_XRCETH = 1 << 1,
	ROCE_H_DCETH = 1 << 2,
	ROCE_H_RETH = 1 << 3,
	ROCE_H_ATOMIC = 1 << 4,
	ROCE_H_AETH = 1 << 5,
	ROCE_H_ATOMIC_ACK = 1 << 6,
	ROCE_H_IMM = 1 << 7,
	ROCE_H_IETH = 1 << 8,
};

/* Payload bytes, pad not counted. The path MTU is the queue pair's, so the core checks it. */
enum roce_payload_rule {
	ROCE_PAYLOAD_NONE, /* 0 */
	ROCE_PAYLOAD_MTU, /* exactly the path MTU */
	ROCE_PAYLOAD_TAIL, /* 1 to the path MTU */
	ROCE_PAYLOAD_UP_TO_MTU, /* 0 to the path MTU */
	ROCE_PAYLOAD_CNP, /* ROCE_CNP_PAYLOAD_BYTES */
	ROCE_PAYLOAD_PROBE, /* ROCE_PROBE_BYTES */
	ROCE_PAYLOAD_MASKS, /* ROCE_MASKS_BYTES */
};

/* Offsets count from the BTH's first byte; 0: the opcode does not have that header. DETH, XRCETH
 * and DCETH are always right after the BTH. Twelve bytes: a row is found by shifts and sums. */
struct roce_opcode_info {
	uint8_t kind; /* enum roce_kind */
	uint8_t place; /* enum roce_place */
	uint8_t payload; /* enum roce_payload_rule */
	uint8_t header_bytes; /* BTH and extended headers: where the payload starts */
	uint16_t headers; /* ROCE_H_* */
	uint8_t reth_off;
	uint8_t atomic_off;
	uint8_t aeth_off;
	uint8_t atomic_ack_off;
	uint8_t imm_off;
	uint8_t ieth_off;
};

_Static_assert(sizeof(struct roce_opcode_info) == 12, "a cheap index");

extern const struct roce_opcode_info roce_opcodes[256];

/* roce_opcode_name - the token of an opcode, such as "RC_SEND_ONLY"; NULL without a row. */
const char *roce_opcode_name(uint8_t opcode);

static inline enum roce_transport roce_opcode_transport(uint8_t opcode)
{
	return (enum roce_transport)(opcode >> ROCE_TRANSPORT_SHIFT);
}

static inline bool roce_opcode_known(uint8_t opcode)
{
	return roce_opcodes[opcode].kind != ROCE_KIND_UNKNOWN;
}

/* roce_opcode_is_request, roce_kind_is_request - whether a requester sends it. */
static inline bool roce_kind_is_request(enum roce_kind kind)
{
	return kind >= ROCE_KIND_SEND && kind <= ROCE_KIND_ATOMIC_REQ;
}

static inline bool roce_opcode_is_request(uint8_t opcode)
{
	return roce_kind_is_request((enum roce_kind)roce_opcodes[opcode].kind);
}

/* roce_opcode_is_response - whether a responder sends it to answer a request. */
static inline bool roce_opcode_is_response(uint8_t opcode)
{
	uint8_t kind = roce_opcodes[opcode].kind;

	return kind >= ROCE_KIND_READ_RESP && kind <= ROCE_KIND_ACK;
}

/* roce_opcode_starts, roce_opcode_ends - whether it is the first or last packet of a message. */
static inline bool roce_opcode_starts(uint8_t opcode)
{
	return roce_opcodes[opcode].place & ROCE_FIRST;
}

static inline bool roce_opcode_ends(uint8_t opcode)
{
	return roce_opcodes[opcode].place & ROCE_LAST;
}

#endif
