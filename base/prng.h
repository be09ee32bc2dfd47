/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prng.h - the seeded generator, the only source of chance outside host/ (xoshiro256**).
 *
 * Not for secrets. One owner at a time. The same seed gives the same numbers on every machine.
 */
#ifndef BASE_PRNG_H
#define BASE_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct base_prng {
	uint64_t s[4];
};

/* base_prng_seed - starts *prng at seed; every seed, 0 included, is good. */
void base_prng_seed(struct base_prng *prng, uint64_t seed);

/* base_prng_u64 - the next 64 bits. */
uint64_t base_prng_u64(struct base_prng *prng);

/* base_prng_below - uniform in [0, bound), without bias; bound 0 gives 0. */
uint64_t base_prng_below(struct base_prng *prng, uint64_t bound);

/* base_prng_range - uniform in [low, high], both included; low <= high. */
uint64_t base_prng_range(struct base_prng *prng, uint64_t low, uint64_t high);

/* base_prng_chance - true with probability ppm / 1,000,000. */
bool base_prng_chance(struct base_prng *prng, uint32_t ppm);

/* base_prng_fill - writes len_bytes random bytes at dst. */
void base_prng_fill(struct base_prng *prng, void *dst, size_t len_bytes);

#endif
