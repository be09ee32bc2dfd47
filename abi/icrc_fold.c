/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc_fold.c - the CRC by carry-less multiplication [crc-folding].
 *
 * A register of 128 bits stands for a polynomial; taken d bits further it is the sum of its halves
 * times x^(d+64) and x^d, each modulo the CRC's polynomial: two multiplications, and the next 128
 * bits of the message can be added. Bit-reversed, as the CRC is, a product of two 64-bit values is
 * one bit short of its place; so the constants are x^(d+32) and x^(d-32), bit-reversed and shifted
 * by one. The test computes all of it again, a bit at a time.
 *
 * Loops over the four registers are unrolled by name: GCC leaves them as they are at -O2, and the
 * registers in memory, which costs half the speed.
 */
#include "abi/icrc_fold.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define CLMUL    __attribute__((target("pclmul,sse4.1")))
#define CLMUL512 __attribute__((target("avx512f,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.1")))

/* For a distance d: x^(d+32) for the low half, x^(d-32) for the high one. */
#define FOLD_128_LOW   0x1751997d0ll
#define FOLD_128_HIGH  0x0ccaa009ell
#define FOLD_256_LOW   0x0f1da05aall
#define FOLD_256_HIGH  0x15a546366ll
#define FOLD_384_LOW   0x03db1ecdcll
#define FOLD_384_HIGH  0x174359406ll
#define FOLD_512_LOW   0x154442bd4ll
#define FOLD_512_HIGH  0x1c6e41596ll
#define FOLD_2048_LOW  0x11542778all
#define FOLD_2048_HIGH 0x1322d1430ll
#define X_64           0x163cd6124ll
#define POLYNOMIAL     0x1db710641ll
#define RECIPROCAL     0x1f7011641ll /* of x^64 over the polynomial */

/* ---- what there is --------------------------------------------------------------------------- */

/* What of the wide registers the system saves [SDM 1 XSAVE-managed features]. */
static uint32_t saved_state(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static bool has_clmul(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_PCLMUL) && (c & bit_SSE4_1);
}

static bool has_clmul512(void)
{
	const uint32_t wanted = bit_AVX512F | bit_AVX512VL | bit_AVX512DQ;
	const uint32_t state = 0xe6; /* XMM, YMM, opmask, ZMM */
	uint32_t a, b, c, d;

	if (!has_clmul() || !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) ||
	    (saved_state() & state) != state || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return false;
	return (b & wanted) == wanted && (c & bit_VPCLMULQDQ);
}

bool icrc_way_here(enum icrc_way way)
{
	switch (way) {
	case ICRC_BY_TABLE:
		return true;
	case ICRC_BY_CLMUL:
		return has_clmul();
	case ICRC_BY_CLMUL512:
		return has_clmul512();
	case ICRC_WAY_COUNT:
		break;
	}
	return false;
}

/* ---- 128 bits -------------------------------------------------------------------------------- */

CLMUL static inline __m128i load_128(const uint8_t *src)
{
	return _mm_loadu_si128((const __m128i *)(const void *)src);
}

/* reg, a distance further, and what is there. */
CLMUL static inline __m128i fold_128(__m128i reg, __m128i k, __m128i data)
{
	__m128i low = _mm_clmulepi64_si128(reg, k, 0x00);
	__m128i high = _mm_clmulepi64_si128(reg, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), data);
}

/* The register of 32 bits: down to 64 bits, and Barrett's reduction. */
CLMUL static inline uint32_t reduce_128(__m128i reg)
{
	const __m128i k = _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW);
	const __m128i x64 = _mm_set_epi64x(0, X_64);
	const __m128i barrett = _mm_set_epi64x(RECIPROCAL, POLYNOMIAL);
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
	__m128i q;

	/* The low half by x^96, onto the high one. */
	reg = _mm_xor_si128(_mm_srli_si128(reg, 8), _mm_clmulepi64_si128(reg, k, 0x10));
	reg = _mm_xor_si128(_mm_srli_si128(reg, 4),
			    _mm_clmulepi64_si128(_mm_and_si128(reg, low32), x64, 0x00));
	q = _mm_clmulepi64_si128(_mm_and_si128(reg, low32), barrett, 0x10);
	q = _mm_clmulepi64_si128(_mm_and_si128(q, low32), barrett, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(reg, q), 1);
}

CLMUL static inline __m128i fold_rest(__m128i reg, const uint8_t **src, size_t *left)
{
	const __m128i k = _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW);

	for (; *left >= 16; *left -= 16, *src += 16)
		reg = fold_128(reg, k, load_128(*src));
	return reg;
}

CLMUL uint32_t icrc_fold_128(uint32_t crc, const uint8_t *src, size_t len_bytes, size_t *done)
{
	const __m128i k4 = _mm_set_epi64x(FOLD_512_HIGH, FOLD_512_LOW);
	const __m128i k = _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW);
	const __m128i start = _mm_cvtsi32_si128((int)crc);
	size_t left = len_bytes;
	__m128i reg[4];

	*done = len_bytes & ~(size_t)15;
	reg[0] = _mm_xor_si128(load_128(src), start);
	if (left < 64) {
		src += 16;
		left -= 16;
		return reduce_128(fold_rest(reg[0], &src, &left));
	}
#pragma GCC unroll 4
	for (int i = 1; i < 4; i++)
		reg[i] = load_128(src + 16 * i);
	for (src += 64, left -= 64; left >= 64; src += 64, left -= 64)
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			reg[i] = fold_128(reg[i], k4, load_128(src + 16 * i));
#pragma GCC unroll 4
	for (int i = 1; i < 4; i++)
		reg[i] = fold_128(reg[i - 1], k, reg[i]);
	return reduce_128(fold_rest(reg[3], &src, &left));
}

/* ---- 512 bits -------------------------------------------------------------------------------- */

CLMUL512 static inline __m512i load_512(const uint8_t *src)
{
	return _mm512_loadu_si512((const void *)src);
}

CLMUL512 static inline __m512i fold_512(__m512i reg, __m512i k, __m512i data)
{
	__m512i low = _mm512_clmulepi64_epi128(reg, k, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(reg, k, 0x11);

	return _mm512_ternarylogic_epi64(low, high, data, 0x96); /* exclusive or of the three */
}

/* The four 128-bit parts, the last one's place. */
CLMUL512 static inline __m128i join_512(__m512i reg)
{
	const __m512i k =
	    _mm512_set_epi64(0, 0, FOLD_128_HIGH, FOLD_128_LOW, FOLD_256_HIGH, FOLD_256_LOW,
			     FOLD_384_HIGH, FOLD_384_LOW);
	__m512i parts = _mm512_xor_si512(_mm512_clmulepi64_epi128(reg, k, 0x00),
					 _mm512_clmulepi64_epi128(reg, k, 0x11));
	__m256i two = _mm256_xor_si256(_mm512_castsi512_si256(parts),
				       _mm512_extracti64x4_epi64(parts, 1));

	return _mm_xor_si128(
	    _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1)),
	    _mm512_extracti64x2_epi64(reg, 3));
}

CLMUL512 uint32_t icrc_fold_512(uint32_t crc, const uint8_t *src, size_t len_bytes, size_t *done)
{
	const __m512i k4 = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_2048_HIGH, FOLD_2048_LOW));
	const __m512i k = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_512_HIGH, FOLD_512_LOW));
	size_t left = len_bytes;
	__m512i reg[4];

	*done = len_bytes & ~(size_t)15;
	reg[0] = _mm512_xor_si512(load_512(src),
				  _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
	if (left >= 256) {
#pragma GCC unroll 4
		for (int i = 1; i < 4; i++)
			reg[i] = load_512(src + 64 * i);
		for (src += 256, left -= 256; left >= 256; src += 256, left -= 256)
#pragma GCC unroll 4
			for (int i = 0; i < 4; i++)
				reg[i] = fold_512(reg[i], k4, load_512(src + 64 * i));
#pragma GCC unroll 4
		for (int i = 1; i < 4; i++)
			reg[i] = fold_512(reg[i - 1], k, reg[i]);
		reg[0] = reg[3];
	} else {
		src += 64;
		left -= 64;
	}
	for (; left >= 64; src += 64, left -= 64)
		reg[0] = fold_512(reg[0], k, load_512(src));
	return reduce_128(fold_rest(join_512(reg[0]), &src, &left));
}

#else

bool icrc_way_here(enum icrc_way way)
{
	return way == ICRC_BY_TABLE;
}

uint32_t icrc_fold_128(uint32_t crc, const uint8_t *src, size_t len_bytes, size_t *done)
{
	(void)src;
	(void)len_bytes;
	*done = 0;
	return crc;
}

uint32_t icrc_fold_512(uint32_t crc, const uint8_t *src, size_t len_bytes, size_t *done)
{
	return icrc_fold_128(crc, src, len_bytes, done);
}

#endif
