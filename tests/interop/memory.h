/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - the memory of one side of an interop test, and an image of what must be in it.
 *
 * Both the agent in the guest and the test on this side keep one: what a test fills lands in both,
 * what it expects of the NIC only in the image, and at the end the two must be equal, every byte.
 * Offsets and lengths are in bytes and must be inside. Plain functions of their arguments.
 */
#ifndef TESTS_INTEROP_MEMORY_H
#define TESTS_INTEROP_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { INTEROP_BACKGROUND = 0xee };

struct interop_memory {
	uint8_t *bytes; /* what the NIC reads and writes */
	uint8_t *image;
	size_t len_bytes;
};

/* interop_pattern - byte i of the pattern with number seed; no shift of one is like another. */
static inline uint8_t interop_pattern(uint32_t seed, size_t i)
{
	uint32_t x = (uint32_t)i * 0x9e3779b1u + seed * 0x85ebca6bu;

	x ^= x >> 15;
	return (uint8_t)((x * 0x2c1b3c6du) >> 24);
}

static inline void interop_pattern_put(uint8_t *at, size_t len_bytes, uint32_t seed)
{
	for (size_t i = 0; i < len_bytes; i++)
		at[i] = interop_pattern(seed, i);
}

/* All of it is background, and must be. */
static inline void interop_memory_clear(struct interop_memory *m)
{
	memset(m->bytes, INTEROP_BACKGROUND, m->len_bytes);
	memset(m->image, INTEROP_BACKGROUND, m->len_bytes);
}

/* The range must hold a pattern (or a number, host order) in the end. */
static inline void interop_memory_expect(struct interop_memory *m, size_t off, size_t len_bytes,
					 uint32_t seed)
{
	interop_pattern_put(m->image + off, len_bytes, seed);
}

static inline void interop_memory_expect64(struct interop_memory *m, size_t off, uint64_t value)
{
	memcpy(m->image + off, &value, sizeof(value));
}

/* The range holds it now, and must. */
static inline void interop_memory_fill(struct interop_memory *m, size_t off, size_t len_bytes,
				       uint32_t seed)
{
	interop_memory_expect(m, off, len_bytes, seed);
	memcpy(m->bytes + off, m->image + off, len_bytes);
}

static inline void interop_memory_fill64(struct interop_memory *m, size_t off, uint64_t value)
{
	interop_memory_expect64(m, off, value);
	memcpy(m->bytes + off, m->image + off, sizeof(value));
}

/* The range may hold anything. */
static inline void interop_memory_any(struct interop_memory *m, size_t off, size_t len_bytes)
{
	memcpy(m->image + off, m->bytes + off, len_bytes);
}

/* interop_memory_differs - the offset of the first byte that is not as it must be; len_bytes: all
 * are. */
static inline size_t interop_memory_differs(const struct interop_memory *m)
{
	size_t i = 0;

	if (memcmp(m->bytes, m->image, m->len_bytes) == 0)
		return m->len_bytes;
	while (m->bytes[i] == m->image[i])
		i++;
	return i;
}

#endif
