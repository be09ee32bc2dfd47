/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc_bench.c - how fast the ICRC is computed, in GB/s (1e9 bytes), over packets of 4 KiB that
 * were just copied, as the UDP wire has them: each way that this processor has, the copy alone, the
 * copy and the CRC behind it, and both in one pass; beside them zlib and libdeflate, if they are
 * here.
 *
 * One line each: a name, and the median of some stretches. Ours must all come to the same CRC.
 */
#include "abi/icrc_fold.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
	PACKET_BYTES = 4096,
	MESSAGE_BYTES = 64 << 10, /* what is copied from: a message, sent again and again */
	RING_BYTES = 512 << 10,   /* and to: packets that wait for the system call */
	STRETCH_BYTES = 64 << 20,
	STRETCHES = 11,
};

typedef uint32_t zlib_crc32(unsigned long crc, const uint8_t *src, unsigned int len_bytes);
typedef uint32_t libdeflate_crc32(uint32_t crc, const void *src, size_t len_bytes);

static uint8_t message[MESSAGE_BYTES], ring[RING_BYTES];
static zlib_crc32 *zlib;
static libdeflate_crc32 *libdeflate;
static enum icrc_way way;
static volatile uint32_t sink;

/* ---- one packet ------------------------------------------------------------------------------ */

static void by_way(uint8_t *dst, const uint8_t *src)
{
	(void)dst;
	sink = icrc_update_by(way, 0, src, PACKET_BYTES);
}

static void by_zlib(uint8_t *dst, const uint8_t *src)
{
	(void)dst;
	sink = zlib(0, src, PACKET_BYTES);
}

static void by_libdeflate(uint8_t *dst, const uint8_t *src)
{
	(void)dst;
	sink = libdeflate(0, src, PACKET_BYTES);
}

static void copy(uint8_t *dst, const uint8_t *src)
{
	memcpy(dst, src, PACKET_BYTES);
}

static void copy_then_crc(uint8_t *dst, const uint8_t *src)
{
	memcpy(dst, src, PACKET_BYTES);
	sink = icrc_update_by(way, 0, dst, PACKET_BYTES);
}

#if defined(__x86_64__)
#define CLMUL512 __attribute__((target("avx512f,vpclmulqdq")))

/* Both in one pass: four registers are stored and folded as they are loaded, 2,048 bits at a time
 * [crc-folding]. What they hold in the end is a message of 256 bytes that has the same CRC. */
CLMUL512 static void copy_with_crc(uint8_t *dst, const uint8_t *src)
{
	const __m512i k = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a));
	uint8_t rest[256];
	__m512i reg[4] = {0};

	for (size_t at = 0; at < PACKET_BYTES; at += sizeof(rest)) {
#pragma GCC unroll 4
		for (size_t i = 0; i < 4; i++) {
			__m512i low = _mm512_clmulepi64_epi128(reg[i], k, 0x00);
			__m512i high = _mm512_clmulepi64_epi128(reg[i], k, 0x11);
			__m512i data = _mm512_loadu_si512(src + at + 64 * i);

			_mm512_storeu_si512(dst + at + 64 * i, data);
			reg[i] = _mm512_ternarylogic_epi64(low, high, data, 0x96);
		}
	}
	memcpy(rest, reg, sizeof(rest));
	sink = icrc_update_by(way, 0, rest, sizeof(rest));
}
#endif

/* ---- measuring ------------------------------------------------------------------------------- */

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

typedef void packet(uint8_t *dst, const uint8_t *src);

static void measure(const char *name, packet *each)
{
	double gb_per_s[STRETCHES];

	for (int i = 0; i < STRETCHES; i++) {
		double start_s = now_s();

		for (size_t at = 0; at < STRETCH_BYTES; at += PACKET_BYTES)
			each(ring + at % RING_BYTES, message + at % MESSAGE_BYTES);
		gb_per_s[i] = STRETCH_BYTES / (now_s() - start_s) / 1e9;
	}
	qsort(gb_per_s, STRETCHES, sizeof(gb_per_s[0]), compare);
	printf("%s %.2f\n", name, gb_per_s[STRETCHES / 2]);
}

/* One of ours, which all come to the same. */
static void measure_ours(const char *name, packet *each)
{
	each(ring, message);
	if (sink != icrc_update_by(ICRC_BY_TABLE, 0, message, PACKET_BYTES)) {
		fprintf(stderr, "icrc_bench: %s is wrong\n", name);
		exit(1);
	}
	measure(name, each);
}

static void *function(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW);

	return handle ? dlsym(handle, name) : NULL;
}

int main(void)
{
	static const char *const names[ICRC_WAY_COUNT] = {"table", "clmul", "clmul512"};

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)(i * i >> 7);
	memset(ring, 1, sizeof(ring));
	for (int i = 0; i < ICRC_WAY_COUNT; i++) {
		if (!icrc_way_here((enum icrc_way)i))
			continue;
		way = (enum icrc_way)i;
		measure_ours(names[i], by_way);
	}
	measure("copy", copy);
	measure_ours("copy_then_crc", copy_then_crc);
#if defined(__x86_64__)
	if (way == ICRC_BY_CLMUL512)
		measure_ours("copy_with_crc", copy_with_crc);
#endif
	*(void **)&zlib = function("libz.so.1", "crc32");
	*(void **)&libdeflate = function("libdeflate.so.0", "libdeflate_crc32");
	if (zlib)
		measure("zlib", by_zlib);
	if (libdeflate)
		measure("libdeflate", by_libdeflate);
	return 0;
}
