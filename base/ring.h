/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - arithmetic of power-of-two rings, 16-bit counters and 24-bit sequence numbers.
 *
 * Positions are free-running counters; only ring_index folds them. A difference is signed and is
 * right while the two values are less than half the number space apart [IBTA1 9.7.2].
 */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PSN_BITS = 24,
	PSN_MASK = 0xffffff,
};

/* ring_is_power_of_two - whether count is 1, 2, 4, ... */
static inline bool ring_is_power_of_two(uint64_t count)
{
	return count != 0 && (count & (count - 1)) == 0;
}

/* ring_log2_ceil - the smallest n with 1 << n >= count; count 0 gives 0. */
static inline unsigned int ring_log2_ceil(uint64_t count)
{
	return count <= 1 ? 0 : 64 - (unsigned int)__builtin_clzll(count - 1);
}

/* ring_round_up - the smallest power of two >= count; count at most 1 << 63; 0 gives 1. */
static inline uint64_t ring_round_up(uint64_t count)
{
	return (uint64_t)1 << ring_log2_ceil(count);
}

/* ring_index - the slot of a free-running position in a ring of 1 << count_log2 slots. */
static inline uint32_t ring_index(uint32_t position, unsigned int count_log2)
{
	return position & (((uint32_t)1 << count_log2) - 1);
}

/* ring_lap - whether the position is in an odd lap; what an owner bit of a ring holds. */
static inline bool ring_lap(uint32_t position, unsigned int count_log2)
{
	return (position >> count_log2) & 1;
}

/* ring_used - slots between the consumer's and the producer's free-running positions. */
static inline uint32_t ring_used(uint32_t producer, uint32_t consumer)
{
	return producer - consumer;
}

/* counter16_diff - a - b for 16-bit counters, from -32768 to 32767. */
static inline int32_t counter16_diff(uint16_t a, uint16_t b)
{
	return (int16_t)(uint16_t)(a - b);
}

/* psn_add - psn moved by delta, modulo 2^24. */
static inline uint32_t psn_add(uint32_t psn, int32_t delta)
{
	return (psn + (uint32_t)delta) & PSN_MASK;
}

/* psn_diff - a - b for 24-bit sequence numbers, from -2^23 to 2^23 - 1; bits 31..24 are ignored. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* psn_in - whether psn is one of the count numbers from first on; count at most 2^23. */
static inline bool psn_in(uint32_t psn, uint32_t first, uint32_t count)
{
	return ((psn - first) & PSN_MASK) < count;
}

#endif
