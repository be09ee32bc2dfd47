/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h - what the fuzz targets share: a reader of the fuzzer's bytes that never runs out (it goes
 * on with zeroes), and a check that stays in every build.
 *
 * A target is a function of its bytes alone: no clock, no randomness, no state that outlives the
 * call, so that a finding is its input. libFuzzer calls it (RIG5_FUZZ), and so does replay.c, which
 * runs the committed corpus in every build.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                                     \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);   \
			abort();                                                             \
		}                                                                            \
	} while (0)

struct fuzz_in {
	const uint8_t *next;
	size_t left;
};

static inline void fuzz_bytes(struct fuzz_in *in, void *dst, size_t len)
{
	size_t have = len < in->left ? len : in->left;

	memset(dst, 0, len);
	if (have != 0)
		memcpy(dst, in->next, have);
	in->next += have;
	in->left -= have;
}

static inline uint64_t fuzz_u64(struct fuzz_in *in)
{
	uint64_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint16_t fuzz_u16(struct fuzz_in *in)
{
	uint16_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	uint8_t value;

	fuzz_bytes(in, &value, sizeof(value));
	return value;
}

/* A number as hostile callers like them: small, at an edge, or any. */
static inline uint64_t fuzz_odd(struct fuzz_in *in)
{
	static const uint64_t edges[] = {
	    0x7f,       0xff,       0xfff,      0x1000,    0x7fff,    0xffff,     0xffffff,
	    0x7fffffff, 0x80000000, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
	uint8_t kind = fuzz_u8(in);

	if (kind < 0xc0)
		return kind;
	if (kind < 0xe0)
		return edges[kind % (sizeof(edges) / sizeof(edges[0]))];
	return kind < 0xf0 ? fuzz_u16(in) : fuzz_u64(in);
}

#endif
