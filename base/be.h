/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * be.h - big-endian integers as types, and loads and stores that need no alignment.
 *
 * A wire or device field is a one-member struct, so assigning it without a byte swap does not
 * compile. Loads and stores take any address; 24-bit fields have only these.
 */
#ifndef BASE_BE_H
#define BASE_BE_H

#include <stdint.h>
#include <string.h>

struct be16 {
	uint16_t raw;
};

struct be32 {
	uint32_t raw;
};

struct be64 {
	uint64_t raw;
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BASE_BE_SWAP16(x) __builtin_bswap16(x)
#define BASE_BE_SWAP32(x) __builtin_bswap32(x)
#define BASE_BE_SWAP64(x) __builtin_bswap64(x)
#define BASE_LE_SWAP32(x) (x)
#elif __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BASE_BE_SWAP16(x) (x)
#define BASE_BE_SWAP32(x) (x)
#define BASE_BE_SWAP64(x) (x)
#define BASE_LE_SWAP32(x) __builtin_bswap32(x)
#else
#error "byte order unknown"
#endif

/* beN_from - the big-endian form of a host integer; beN_to - the host integer of a field. */
static inline struct be16 be16_from(uint16_t host)
{
	return (struct be16){BASE_BE_SWAP16(host)};
}

static inline struct be32 be32_from(uint32_t host)
{
	return (struct be32){BASE_BE_SWAP32(host)};
}

static inline struct be64 be64_from(uint64_t host)
{
	return (struct be64){BASE_BE_SWAP64(host)};
}

static inline uint16_t be16_to(struct be16 field)
{
	return BASE_BE_SWAP16(field.raw);
}

static inline uint32_t be32_to(struct be32 field)
{
	return BASE_BE_SWAP32(field.raw);
}

static inline uint64_t be64_to(struct be64 field)
{
	return BASE_BE_SWAP64(field.raw);
}

/* beN_load - the host integer of the N / 8 bytes at src, whatever src's alignment. */
static inline uint16_t be16_load(const void *src)
{
	uint16_t raw;

	memcpy(&raw, src, sizeof(raw));
	return BASE_BE_SWAP16(raw);
}

static inline uint32_t be24_load(const void *src)
{
	const uint8_t *byte = (const uint8_t *)src;

	return (uint32_t)byte[0] << 16 | (uint32_t)byte[1] << 8 | byte[2];
}

static inline uint32_t be32_load(const void *src)
{
	uint32_t raw;

	memcpy(&raw, src, sizeof(raw));
	return BASE_BE_SWAP32(raw);
}

static inline uint64_t be64_load(const void *src)
{
	uint64_t raw;

	memcpy(&raw, src, sizeof(raw));
	return BASE_BE_SWAP64(raw);
}

/* beN_store - writes host as N / 8 big-endian bytes at dst; be24_store ignores bits 31..24. */
static inline void be16_store(void *dst, uint16_t host)
{
	uint16_t raw = BASE_BE_SWAP16(host);

	memcpy(dst, &raw, sizeof(raw));
}

static inline void be24_store(void *dst, uint32_t host)
{
	uint8_t *byte = (uint8_t *)dst;

	byte[0] = (uint8_t)(host >> 16);
	byte[1] = (uint8_t)(host >> 8);
	byte[2] = (uint8_t)host;
}

static inline void be32_store(void *dst, uint32_t host)
{
	uint32_t raw = BASE_BE_SWAP32(host);

	memcpy(dst, &raw, sizeof(raw));
}

static inline void be64_store(void *dst, uint64_t host)
{
	uint64_t raw = BASE_BE_SWAP64(host);

	memcpy(dst, &raw, sizeof(raw));
}

/* le32_load, le32_store - the same for the one little-endian field of RoCE, the ICRC. */
static inline uint32_t le32_load(const void *src)
{
	uint32_t raw;

	memcpy(&raw, src, sizeof(raw));
	return BASE_LE_SWAP32(raw);
}

static inline void le32_store(void *dst, uint32_t host)
{
	uint32_t raw = BASE_LE_SWAP32(host);

	memcpy(dst, &raw, sizeof(raw));
}

#endif
