/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_opcode.c - the opcode table. Offsets are sums, made at compile time, of the headers that
 * stand before: no code counts them again.
 */
#include "abi/roce_opcode.h"

#define HAS(headers, bit) (((headers) & (bit)) != 0)

/* Where a header that comes after the ones of lower bits would start. */
#define AT_DETH(h) ROCE_BTH_BYTES
#define AT_XRCETH(h) (AT_DETH(h) + HAS(h, ROCE_H_DETH) * ROCE_DETH_BYTES)
#define AT_DCETH(h) (AT_XRCETH(h) + HAS(h, ROCE_H_XRCETH) * ROCE_XRCETH_BYTES)
#define AT_RETH(h) (AT_DCETH(h) + HAS(h, ROCE_H_DCETH) * ROCE_DCETH_BYTES)
#define AT_ATOMIC(h) (AT_RETH(h) + HAS(h, ROCE_H_RETH) * ROCE_RETH_BYTES)
#define AT_AETH(h) (AT_ATOMIC(h) + HAS(h, ROCE_H_ATOMIC) * ROCE_ATOMIC_BYTES)
#define AT_ATOMIC_ACK(h) (AT_AETH(h) + HAS(h, ROCE_H_AETH) * ROCE_AETH_BYTES)
#define AT_IMM(h) (AT_ATOMIC_ACK(h) + HAS(h, ROCE_H_ATOMIC_ACK) * ROCE_ATOMIC_ACK_BYTES)
#define AT_IETH(h) (AT_IMM(h) + HAS(h, ROCE_H_IMM) * ROCE_IMM_BYTES)
#define AT_END(h) (AT_IETH(h) + HAS(h, ROCE_H_IETH) * ROCE_IETH_BYTES)

const struct roce_opcode_info roce_opcodes[256] = {
#define ROCE_OPCODE(token, value, kind_, place_, h, payload_)                                      \
	[value] = {                                                                                \
		.kind = ROCE_KIND_##kind_,                                                         \
		.place = ROCE_##place_,                                                            \
		.payload = ROCE_PAYLOAD_##payload_,                                                \
		.header_bytes = AT_END(h),                                                         \
		.headers = (h),                                                                    \
		.reth_off = HAS(h, ROCE_H_RETH) * AT_RETH(h),                                      \
		.atomic_off = HAS(h, ROCE_H_ATOMIC) * AT_ATOMIC(h),                                \
		.aeth_off = HAS(h, ROCE_H_AETH) * AT_AETH(h),                                      \
		.atomic_ack_off = HAS(h, ROCE_H_ATOMIC_ACK) * AT_ATOMIC_ACK(h),                    \
		.imm_off = HAS(h, ROCE_H_IMM) * AT_IMM(h),                                         \
		.ieth_off = HAS(h, ROCE_H_IETH) * AT_IETH(h),                                      \
	},
#include "abi/roce_opcode.def"
#undef ROCE_OPCODE
};

static const char *const names[256] = {
#define ROCE_OPCODE(token, value, kind, place, headers, payload) [value] = #token,
#include "abi/roce_opcode.def"
#undef ROCE_OPCODE
};

#define ROCE_OPCODE(token, value, kind, place, h, payload)                                         \
	_Static_assert(AT_END(h) <= ROCE_HEADERS_MAX_BYTES, "ROCE_HEADERS_MAX_BYTES holds " #token);
#include "abi/roce_opcode.def"
#undef ROCE_OPCODE

const char *roce_opcode_name(uint8_t opcode)
{
	return names[opcode];
}
