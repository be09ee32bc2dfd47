/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce.h - RoCE v2 on the wire: sizes, offsets, and the codings inside fields.
 *
 *   Ethernet 14 | IPv4 20 or IPv6 40 | UDP 8 | BTH 12 | extended | payload | pad | ICRC 4
 *
 * Fields are big-endian, except the ICRC, which is little-endian. Packets lie at any address, so
 * fields have offsets here and no structures; abi/roce_pkt.h and abi/roce_frame.h decode them.
 *
 * Source: [IBTA1 9.2 to 9.5], [RoCEv2 A17]; which of it Soft-RoCE does: [rxe.md].
 */
#ifndef ABI_ROCE_H
#define ABI_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ROCE_UDP_PORT = 4791,
	ROCE_UDP_SPORT_MIN = 0xc000,
	ROCE_PKEY_DEFAULT = 0xffff,
	ROCE_PKEY_MASK = 0x7fff, /* what two partition keys must share; bit 15 is membership */
	ROCE_QPN_MASK = 0xffffff,
	ROCE_PSN_MASK = 0xffffff,
	ROCE_MSN_MASK = 0xffffff,
	ROCE_GRH_BYTES = 40, /* what precedes the payload of a UD receive */
	ROCE_MTU_MAX_BYTES = 4096,
};

/* The low two bits of an IP traffic class [RFC 3168]. */
enum {
	ROCE_ECN_NOT_ECT = 0, /* a switch drops it rather than mark it */
	ROCE_ECN_ECT_0 = 2,   /* a switch may mark it */
	ROCE_ECN_CE = 3,      /* a switch has */
	ROCE_ECN_MASK = 3,
};

/* Header and trailer sizes in bytes. */
enum {
	ROCE_ETH_BYTES = 14,
	ROCE_IPV4_BYTES = 20,
	ROCE_IPV6_BYTES = 40,
	ROCE_UDP_BYTES = 8,
	ROCE_BTH_BYTES = 12,
	ROCE_RETH_BYTES = 16,
	ROCE_AETH_BYTES = 4,
	ROCE_ATOMIC_BYTES = 28,
	ROCE_ATOMIC_ACK_BYTES = 8,
	ROCE_IMM_BYTES = 4,
	ROCE_IETH_BYTES = 4,
	ROCE_DETH_BYTES = 8,
	ROCE_XRCETH_BYTES = 4,
	ROCE_DCETH_BYTES = 20,
	ROCE_CNP_PAYLOAD_BYTES = 16, /* reserved bytes after a CNP's BTH */
	ROCE_PROBE_BYTES = 40,       /* the payload of a round trip probe */
	ROCE_MASKS_BYTES = 16, /* the payload of an atomic with masks */
	ROCE_ICRC_BYTES = 4,
	/* the longest of any opcode */
	ROCE_HEADERS_MAX_BYTES = ROCE_BTH_BYTES + ROCE_DCETH_BYTES + ROCE_ATOMIC_BYTES,
};

/*
 * BTH: opcode:8 | SE:1 M:1 pad:2 version:4 | P_Key:16 |
 *      FECN:1 BECN:1 reserved:6 | destination queue pair:24 | AckReq:1 reserved:7 | PSN:24
 */
enum {
	ROCE_BTH_OPCODE_OFF = 0,
	ROCE_BTH_FLAGS_OFF = 1,
	ROCE_BTH_PKEY_OFF = 2,
	ROCE_BTH_ECN_OFF = 4, /* left out of the ICRC */
	ROCE_BTH_DQPN_OFF = 5,
	ROCE_BTH_ACK_OFF = 8,
	ROCE_BTH_PSN_OFF = 9,

	ROCE_BTH_SE_F = 0x80,
	ROCE_BTH_MIG_F = 0x40,
	ROCE_BTH_PAD_SHIFT = 4,
	ROCE_BTH_PAD_MASK = 3,
	ROCE_BTH_TVER_MASK = 0x0f,
	ROCE_BTH_FECN_F = 0x80,
	ROCE_BTH_BECN_F = 0x40,
	ROCE_BTH_ACK_F = 0x80,
};

/* Offsets inside the extended headers. */
enum {
	ROCE_RETH_VA_OFF = 0,
	ROCE_RETH_RKEY_OFF = 8,
	ROCE_RETH_LEN_OFF = 12,
	ROCE_AETH_SYNDROME_OFF = 0,
	ROCE_AETH_MSN_OFF = 1,
	ROCE_ATOMIC_VA_OFF = 0,
	ROCE_ATOMIC_RKEY_OFF = 8,
	ROCE_ATOMIC_SWAP_ADD_OFF = 12,
	ROCE_ATOMIC_COMPARE_OFF = 20,
	ROCE_DETH_QKEY_OFF = 0,
	ROCE_DETH_SRC_QPN_OFF = 5,
	ROCE_XRCETH_SRQN_OFF = 1,
	/* our own, see roce_opcode.def */
	ROCE_DCETH_KEY_OFF = 0,
	ROCE_DCETH_SESSION_OFF = 8,
	ROCE_DCETH_INITIATOR_OFF = 14,
	ROCE_DCETH_FIRST_PSN_OFF = 17,
};

#define ROCE_DC_SESSION_MASK 0xffffffffffffull /* 48 bits; their order is that of serial numbers */

/*
 * The payload of a round trip probe, and of its answer:
 *
 *   version:8 | flags:8 | hop limits, as sent and as seen:16, all 0 | asking queue pair:32 |
 *   number:32 | 0:32 | T1:64, when it left | T2:64, when it came | T3:64, when the answer left
 *
 * Times are nanoseconds of the clock of who wrote them. The answer repeats all but T2 and T3.
 */
enum {
	ROCE_PROBE_VERSION = 1,
	ROCE_PROBE_QPN_OFF = 4,
	ROCE_PROBE_NUMBER_OFF = 8,
	ROCE_PROBE_T1_OFF = 16,
	ROCE_PROBE_T2_OFF = 24,
	ROCE_PROBE_T3_OFF = 32,
};

/* AETH syndrome: kind in bits 6..5 (bit 7 is zero), value in bits 4..0 [IBTA1 table 44]. */
enum roce_aeth_kind {
	ROCE_AETH_ACK = 0, /* value: credit count code, 31 is invalid (none given) */
	ROCE_AETH_RNR = 1, /* value: RNR timer code */
	ROCE_AETH_RESERVED = 2,
	ROCE_AETH_NAK = 3, /* value: enum roce_nak's low bits */
};

enum {
	ROCE_AETH_KIND_SHIFT = 5,
	ROCE_AETH_VALUE_MASK = 0x1f,
	ROCE_SYNDROME_ACK = 0x1f, /* acknowledges, without credits */
	ROCE_SYNDROME_RNR = 0x20, /* | RNR timer code */
};

/* Whole NAK syndromes [IBTA1 table 46]. */
enum roce_nak {
	ROCE_NAK_PSN_SEQUENCE = 0x60,
	ROCE_NAK_INVALID_REQUEST = 0x61,
	ROCE_NAK_REMOTE_ACCESS = 0x62,
	ROCE_NAK_REMOTE_OPERATION = 0x63,
	ROCE_NAK_INVALID_RD_REQUEST = 0x64,
};

/* roce_aeth_kind - the kind of a syndrome; ROCE_AETH_RESERVED if the reserved bit 7 is set. */
static inline enum roce_aeth_kind roce_aeth_kind(uint8_t syndrome)
{
	if (syndrome & 0x80)
		return ROCE_AETH_RESERVED;
	return (enum roce_aeth_kind)(syndrome >> ROCE_AETH_KIND_SHIFT);
}

/* roce_rnr_timer_ns - nanoseconds that an RNR NAK's code asks to wait [IBTA1 table 45]. */
static inline uint64_t roce_rnr_timer_ns(unsigned int code)
{
	/* In units of 10 us. Code 0 is the longest. */
	static const uint32_t timer_10us[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072,
		4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return (uint64_t)timer_10us[code & ROCE_AETH_VALUE_MASK] * 10000;
}

/* roce_ack_timeout_ns - 4.096 us * 2^code, code 1 to 31; code 0: never, 0 [IBTA1 9.7.6.1.3]. */
static inline uint64_t roce_ack_timeout_ns(unsigned int code)
{
	return (code & 31) == 0 ? 0 : (uint64_t)4096 << (code & 31);
}

/* roce_pad_bytes - zero bytes that bring a payload to a multiple of four. */
static inline unsigned int roce_pad_bytes(uint32_t payload_bytes)
{
	return -payload_bytes & 3;
}

/*
 * roce_gid_is_ipv4 - whether a GID is an IPv4 address mapped into IPv6 (::ffff:a.b.c.d), as the
 * GIDs of IPv4 interfaces are; such a destination is reached by IPv4 packets [RoCEv2 A17].
 */
static inline bool roce_gid_is_ipv4(const uint8_t gid[static 16])
{
	for (int i = 0; i < 10; i++)
		if (gid[i] != 0)
			return false;
	return gid[10] == 0xff && gid[11] == 0xff;
}

/* roce_gid_is_multicast - ff00::/8, or a mapped IPv4 address of 224.0.0.0/4 [linux
 * rdma_is_multicast_addr]. */
/* Of our own: the group that Ethernet frames go to, which no network sees. */
#define ROCE_FRAMES_GID {0xff, 0x01, 'r', 'i', 'g', '5', 'f', 'r', 'a', 'm', 'e', 's'}

static inline bool roce_gid_is_frames(const uint8_t gid[static 16])
{
	static const uint8_t frames[16] = ROCE_FRAMES_GID;

	for (int i = 0; i < 16; i++)
		if (gid[i] != frames[i])
			return false;
	return true;
}

static inline bool roce_gid_is_multicast(const uint8_t gid[static 16])
{
	return gid[0] == 0xff || (roce_gid_is_ipv4(gid) && gid[12] >> 4 == 0xe);
}

#endif
