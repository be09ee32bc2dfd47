/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_pkt.h - a RoCE packet from the BTH up to and including the pad, without the ICRC.
 *
 * What a wire carries to and from the NIC's core. Integers are in host order. Nothing here keeps
 * state; any thread may call it. Source: [IBTA1 9.2, 9.3].
 */
#ifndef ABI_ROCE_PKT_H
#define ABI_ROCE_PKT_H

#include "abi/roce_opcode.h"

struct roce_pkt {
	uint8_t opcode; /* enum roce_opcode */
	uint8_t pad_bytes; /* 0 to 3 zero bytes that follow the payload */
	bool se; /* solicited event */
	bool mig_req;
	bool ack_req;
	bool fecn;
	bool becn;
	uint16_t pkey;
	uint32_t dqpn; /* 24 bits */
	uint32_t psn; /* 24 bits */

	/* The headers that roce_opcodes[opcode] names; all others are zero after a decode. */
	struct {
		uint64_t va;
		uint32_t rkey;
		uint32_t len_bytes; /* of the whole message */
	} reth;
	struct {
		uint32_t msn; /* 24 bits */
		uint8_t syndrome; /* see enum roce_aeth_kind */
	} aeth;
	struct {
		uint64_t va;
		uint64_t swap_add;
		uint64_t compare;
		uint32_t rkey;
	} atomic;
	struct {
		uint64_t orig; /* what was in memory before */
	} atomic_ack;
	struct {
		uint32_t qkey;
		uint32_t src_qpn; /* 24 bits */
	} deth;
	uint32_t srqn; /* 24 bits: of an XRC request */
	struct {
		uint64_t key;
		uint64_t session;   /* 48 bits */
		uint32_t initiator; /* 24 bits */
		uint32_t first_psn; /* 24 bits */
	} dceth;
	uint32_t imm;
	uint32_t inv_rkey;

	const uint8_t *payload; /* into the decoded bytes; encode does not look at it */
	uint32_t payload_bytes; /* pad not counted */
};

/* What decode says of a packet. All but ROCE_OK mean: drop it and count it. */
#define ROCE_VERDICTS(X)                                                                           \
	X(OK, "ok")                                                                                \
	X(TOO_SHORT, "too short for its headers")                                                  \
	X(BAD_LENGTH, "length is not a multiple of four")                                          \
	X(BAD_VERSION, "transport header version is not 0")                                        \
	X(BAD_OPCODE, "unknown opcode")                                                            \
	X(BAD_PAD, "more pad than payload")                                                        \
	X(BAD_PAYLOAD, "payload where the opcode has none")

enum roce_verdict {
#define ROCE_VERDICT_ENUM(token, words) ROCE_##token,
	ROCE_VERDICTS(ROCE_VERDICT_ENUM)
#undef ROCE_VERDICT_ENUM
};

/* roce_verdict_words - a verdict in words. */
const char *roce_verdict_words(enum roce_verdict verdict);

/*
 * roce_pkt_decode - *pkt from the len_bytes bytes at bth, which may be anything.
 *
 * The payload is not copied: pkt->payload points into bth and lives as long. Reserved bits are
 * ignored. Payload lengths that depend on the path MTU (roce_opcodes[].payload) are not checked.
 * On any verdict but ROCE_OK *pkt is unspecified.
 */
enum roce_verdict roce_pkt_decode(struct roce_pkt *pkt, const uint8_t *bth, size_t len_bytes);

/*
 * roce_pkt_encode_headers - writes BTH and extended headers at dst, reserved bits zero, and returns
 * their bytes; 0, and nothing written, if cap_bytes is too small or the opcode unknown. The caller
 * puts payload and pad_bytes zeroes behind. Values wider than their fields are cut.
 */
size_t roce_pkt_encode_headers(uint8_t *dst, size_t cap_bytes, const struct roce_pkt *pkt);

/* roce_pkt_header_bytes - the bytes encode_headers will write for this opcode; 0 if unknown. */
static inline size_t roce_pkt_header_bytes(uint8_t opcode)
{
	return roce_opcodes[opcode].header_bytes;
}

#endif
