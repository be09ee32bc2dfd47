/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc.c - CRC-32, as fast as the processor allows (abi/icrc_fold.h); on any, eight bytes at a
 * time, with tables that the compiler makes [crc-slicing].
 *
 * table[k][n] is what byte n adds to the register once k more bytes have gone by. It is linear in
 * n, so that the eight powers of two give a table: TABLE takes them from 0x80 down to 0x01. They
 * are one sequence over all tables: x^32, x^33, ... x^95 modulo the polynomial, bit-reversed.
 */
#include "abi/icrc.h"

#include "abi/icrc_fold.h"
#include "base/assert.h"
#include "base/be.h"

#include <stdatomic.h>

#define BIT(n, bit, value) (((n) >> (bit) & 1u) * (value))
#define ENTRY(n, a, b, c, d, e, f, g, h)                                                           \
	(BIT(n, 7, a) ^ BIT(n, 6, b) ^ BIT(n, 5, c) ^ BIT(n, 4, d) ^ BIT(n, 3, e) ^ BIT(n, 2, f) ^ \
	 BIT(n, 1, g) ^ BIT(n, 0, h))
#define ENTRIES4(n, ...)                                                                           \
	ENTRY((n), __VA_ARGS__), ENTRY((n) + 1u, __VA_ARGS__), ENTRY((n) + 2u, __VA_ARGS__),       \
		ENTRY((n) + 3u, __VA_ARGS__)
#define ENTRIES16(n, ...)                                                                          \
	ENTRIES4((n), __VA_ARGS__), ENTRIES4((n) + 4u, __VA_ARGS__),                               \
		ENTRIES4((n) + 8u, __VA_ARGS__), ENTRIES4((n) + 12u, __VA_ARGS__)
#define ENTRIES64(n, ...)                                                                          \
	ENTRIES16((n), __VA_ARGS__), ENTRIES16((n) + 16u, __VA_ARGS__),                            \
		ENTRIES16((n) + 32u, __VA_ARGS__), ENTRIES16((n) + 48u, __VA_ARGS__)
#define TABLE(...)                                                                                 \
	{ENTRIES64(0u, __VA_ARGS__), ENTRIES64(64u, __VA_ARGS__), ENTRIES64(128u, __VA_ARGS__),    \
	 ENTRIES64(192u, __VA_ARGS__)}

static const uint32_t table[8][256] = {
	TABLE(0xedb88320u, 0x76dc4190u, 0x3b6e20c8u, 0x1db71064u,
	      0x0edb8832u, 0x076dc419u, 0xee0e612cu, 0x77073096u),
	TABLE(0x3b83984bu, 0xf0794f05u, 0x958424a2u, 0x4ac21251u,
	      0xc8d98a08u, 0x646cc504u, 0x32366282u, 0x191b3141u),
	TABLE(0xe1351b80u, 0x709a8dc0u, 0x384d46e0u, 0x1c26a370u,
	      0x0e1351b8u, 0x0709a8dcu, 0x0384d46eu, 0x01c26a37u),
	TABLE(0xed59b63bu, 0x9b14583du, 0xa032af3eu, 0x5019579fu,
	      0xc5b428efu, 0x8f629757u, 0xaa09c88bu, 0xb8bc6765u),
	TABLE(0xb1e6b092u, 0x58f35849u, 0xc1c12f04u, 0x60e09782u,
	      0x30704bc1u, 0xf580a6c0u, 0x7ac05360u, 0x3d6029b0u),
	TABLE(0x1eb014d8u, 0x0f580a6cu, 0x07ac0536u, 0x03d6029bu,
	      0xec53826du, 0x9b914216u, 0x4dc8a10bu, 0xcb5cd3a5u),
	TABLE(0x8816eaf2u, 0x440b7579u, 0xcfbd399cu, 0x67de9cceu,
	      0x33ef4e67u, 0xf44f2413u, 0x979f1129u, 0xa6770bb4u),
	TABLE(0x533b85dau, 0x299dc2edu, 0xf9766256u, 0x7cbb312bu,
	      0xd3e51bb5u, 0x844a0efau, 0x4225077du, 0xccaa009eu),
};

static uint32_t update_by_table(uint32_t crc, const uint8_t *at, size_t len_bytes)
{
	for (; len_bytes >= 8; len_bytes -= 8, at += 8) {
		uint32_t a = crc ^ le32_load(at), b = le32_load(at + 4);

		crc = table[7][a & 0xff] ^ table[6][a >> 8 & 0xff] ^ table[5][a >> 16 & 0xff] ^
		      table[4][a >> 24] ^ table[3][b & 0xff] ^ table[2][b >> 8 & 0xff] ^
		      table[1][b >> 16 & 0xff] ^ table[0][b >> 24];
	}
	for (; len_bytes != 0; len_bytes--)
		crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
	return crc;
}

uint32_t icrc_update_by(enum icrc_way way, uint32_t crc, const void *src, size_t len_bytes)
{
	const uint8_t *at = (const uint8_t *)src;
	size_t done = 0;

	/* Below that the tables are as fast. */
	if (way == ICRC_BY_CLMUL512 && len_bytes >= 64)
		crc = icrc_fold_512(crc, at, len_bytes, &done);
	else if (way != ICRC_BY_TABLE && len_bytes >= 32)
		crc = icrc_fold_128(crc, at, len_bytes, &done);
	return update_by_table(crc, at + done, len_bytes - done);
}

uint32_t icrc_update(uint32_t crc, const void *src, size_t len_bytes)
{
	static _Atomic int best; /* enum icrc_way + 1; 0: nobody has looked yet */
	int way = atomic_load_explicit(&best, memory_order_relaxed);

	if (__builtin_expect(way == 0, 0)) {
		way = ICRC_WAY_COUNT;
		while (!icrc_way_here((enum icrc_way)(way - 1)))
			way--;
		atomic_store_explicit(&best, way, memory_order_relaxed);
	}
	return icrc_update_by((enum icrc_way)(way - 1), crc, src, len_bytes);
}

static void mask_ipv4(uint8_t *ip, unsigned int mask)
{
	if (mask & ICRC_MASK_TOS)
		ip[1] = 0xff;
	if (mask & ICRC_MASK_TTL)
		ip[8] = 0xff;
	if (mask & ICRC_MASK_IP_CHECKSUM)
		be16_store(ip + 10, 0xffff);
}

static void mask_ipv6(uint8_t *ip, unsigned int mask)
{
	if (mask & ICRC_MASK_TCLASS_FLOW)
		be32_store(ip, be32_load(ip) | 0x0fffffff);
	if (mask & ICRC_MASK_HOP_LIMIT)
		ip[7] = 0xff;
}

/* The headers are copied: the packet may be in a capture or on its way out, and is not ours. */
uint32_t icrc_headers(const uint8_t *ip, size_t header_bytes, unsigned int mask)
{
	uint8_t copy[ICRC_HEADERS_MAX_BYTES];
	uint8_t *bth, *udp;

	ASSERT(header_bytes <= sizeof(copy));
	ASSERT(header_bytes >= ROCE_IPV4_BYTES + ROCE_UDP_BYTES + ROCE_BTH_BYTES);
	memcpy(copy, ip, header_bytes);
	bth = copy + header_bytes - ROCE_BTH_BYTES;
	udp = bth - ROCE_UDP_BYTES;
	if (copy[0] >> 4 == 4)
		mask_ipv4(copy, mask);
	else
		mask_ipv6(copy, mask);
	if (mask & ICRC_MASK_UDP_CHECKSUM)
		be16_store(udp + 6, 0xffff);
	if (mask & ICRC_MASK_BTH_ECN)
		bth[ROCE_BTH_ECN_OFF] = 0xff;
	return icrc_update(ICRC_SEED, copy, header_bytes);
}

uint32_t icrc_packet(const uint8_t *ip, size_t ip_bytes, size_t len_bytes)
{
	size_t header_bytes = ip_bytes + ROCE_UDP_BYTES + ROCE_BTH_BYTES;
	uint32_t crc;

	ASSERT(len_bytes >= header_bytes);
	crc = icrc_headers(ip, header_bytes, ICRC_MASK_ALL);
	return icrc_final(icrc_update(crc, ip + header_bytes, len_bytes - header_bytes));
}

/* Bit 31 is x^0. */
uint32_t icrc_multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a != 0; a <<= 1) {
		product ^= b & -(a >> 31);
		b = b >> 1 ^ (0xedb88320u & -(b & 1));
	}
	return product;
}

uint32_t icrc_undo_factor(size_t at_bytes)
{
	uint32_t factor = 0x80000000u; /* 1 */
	uint32_t power = 0xdb710641u;  /* 1/x, as x * 0xdb710641 is 1 */

	/* 1/x to the 8 * at_bytes, by squaring. */
	for (size_t left = at_bytes * 8; left != 0; left >>= 1) {
		if (left & 1)
			factor = icrc_multiply(factor, power);
		power = icrc_multiply(power, power);
	}
	return factor;
}
