/* SPDX-License-Identifier: BSD-2-Clause */
/* prng.c - xoshiro256** seeded through splitmix64 [xoshiro]. */
#include "base/prng.h"

#include "base/assert.h"

#include <string.h>

static uint64_t rotate_left(uint64_t x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

/* A 64-bit seed is spread over 256 bits of state; splitmix64 never yields four zeroes in a row. */
static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void base_prng_seed(struct base_prng *prng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		prng->s[i] = splitmix64(&seed);
}

uint64_t base_prng_u64(struct base_prng *prng)
{
	uint64_t *s = prng->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

/* Numbers below 2^64 mod bound are thrown away, so that every remainder is equally likely. */
uint64_t base_prng_below(struct base_prng *prng, uint64_t bound)
{
	uint64_t unfair, x;

	if (bound == 0)
		return 0;
	unfair = -bound % bound;
	do {
		x = base_prng_u64(prng);
	} while (x < unfair);
	return x % bound;
}

uint64_t base_prng_range(struct base_prng *prng, uint64_t low, uint64_t high)
{
	ASSERT(low <= high);
	if (low == 0 && high == UINT64_MAX)
		return base_prng_u64(prng);
	return low + base_prng_below(prng, high - low + 1);
}

bool base_prng_chance(struct base_prng *prng, uint32_t ppm)
{
	return base_prng_below(prng, 1000000) < ppm;
}

/* Bytes come out lowest first whatever the machine's order, so that a seed names one stream. */
void base_prng_fill(struct base_prng *prng, void *dst, size_t len_bytes)
{
	uint8_t *at = (uint8_t *)dst;
	uint64_t bits = 0;

	for (size_t i = 0; i < len_bytes; i++) {
		if (i % 8 == 0)
			bits = base_prng_u64(prng);
		at[i] = (uint8_t)bits;
		bits >>= 8;
	}
}
