/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc.h - the invariant CRC that ends every RoCE v2 packet.
 *
 * CRC-32 (reflected polynomial 0xedb88320, complemented) over eight bytes of ones in place of an
 * InfiniBand local header, then the packet from its IP header up to and including the pad, with the
 * fields that routers change, or that another checksum fills, taken as ones. The result is
 * stored little-endian.
 *
 * A CRC is a value passed from call to call; any thread may call these. Source: [RoCEv2 A17],
 * [rxe.md]: each mask was tried against packets of Linux's rxe.
 */
#ifndef ABI_ICRC_H
#define ABI_ICRC_H

#include "abi/roce.h"

/* The CRC register after the eight bytes of ones. */
#define ICRC_SEED 0xdebb20e3u

/* What is taken as ones. Anything but ICRC_MASK_ALL is wrong on the wire; tests use it. */
enum {
	ICRC_MASK_TOS = 1 << 0, /* IPv4 DSCP and ECN */
	ICRC_MASK_TTL = 1 << 1,
	ICRC_MASK_IP_CHECKSUM = 1 << 2,
	ICRC_MASK_TCLASS_FLOW = 1 << 3, /* IPv6 traffic class and flow label */
	ICRC_MASK_HOP_LIMIT = 1 << 4,
	ICRC_MASK_UDP_CHECKSUM = 1 << 5,
	ICRC_MASK_BTH_ECN = 1 << 6, /* BTH byte 4: FECN, BECN, six reserved bits */
	ICRC_MASK_ALL = (1 << 7) - 1,
};

/* icrc_update - the register after len_bytes more bytes at src, as they stand. */
uint32_t icrc_update(uint32_t crc, const void *src, size_t len_bytes);

/*
 * icrc_headers - the register after the IP, UDP and BTH headers at ip, masked; start of every ICRC.
 *
 *   ip            first byte of an IPv4 or IPv6 header that abi/roce_frame.h accepts
 *   header_bytes  up to the end of the BTH, at most ICRC_HEADERS_MAX_BYTES
 *   mask          ICRC_MASK_ALL
 */
uint32_t icrc_headers(const uint8_t *ip, size_t header_bytes, unsigned int mask);
#define ICRC_HEADERS_MAX_BYTES (60 + ROCE_UDP_BYTES + ROCE_BTH_BYTES)

/* icrc_final - the ICRC of a register, for le32_store behind the pad. */
static inline uint32_t icrc_final(uint32_t crc)
{
	return ~crc;
}

/*
 * icrc_packet - the ICRC of a whole packet.
 *
 *   ip         first byte of the IP header
 *   ip_bytes   bytes of the IP header, IPv4 options included
 *   len_bytes  from ip up to and including the pad, so without the ICRC; at least ip_bytes + 20
 */
uint32_t icrc_packet(const uint8_t *ip, size_t ip_bytes, size_t len_bytes);

/*
 * The CRC is linear: if two packets differ only in four aligned or unaligned bytes with at_bytes
 * bytes from the first of them to the end, the difference (^) of their ICRCs, multiplied by
 * icrc_undo_factor(at_bytes), is the difference of these four bytes as le32_load reads them.
 *
 * icrc_multiply - the product of two polynomials modulo the CRC's, all bit-reversed.
 * icrc_undo_factor - x to the -8 * at_bytes, likewise. About a microsecond.
 */
uint32_t icrc_multiply(uint32_t a, uint32_t b);
uint32_t icrc_undo_factor(size_t at_bytes);

#endif
