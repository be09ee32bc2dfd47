/* SPDX-License-Identifier: BSD-2-Clause */
/* abi_icrc_test.c - the CRC against a bit-by-bit one; packets are tests/abi/wire_test.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/icrc.h"
#include "abi/icrc_fold.h"
#include "base/prng.h"

static uint32_t crc_by_bits(uint32_t crc, const uint8_t *src, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++) {
		crc ^= src[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* Shows the check value of CRC-32/ISO-HDLC, and that the seed stands for eight bytes of ones.
 * By the digits 1 to 9, and by the bytes themselves. */
static void known_values(void **state)
{
	static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	(void)state;
	assert_int_equal(icrc_final(icrc_update(0xffffffff, "123456789", 9)), 0xcbf43926);
	assert_int_equal(icrc_update(0xffffffff, ones, sizeof(ones)), ICRC_SEED);
	assert_int_equal(icrc_update(7, ones, 0), 7);
}

/* Shows that every table entry is right, at every length and alignment.
 * By random bytes (fixed seed) of 0 to 64 bytes at eight offsets, against one bit at a time. */
static void equals_bit_by_bit(void **state)
{
	struct base_prng prng;
	uint8_t bytes[80];

	(void)state;
	base_prng_seed(&prng, 1);
	for (int round = 0; round < 40; round++) {
		base_prng_fill(&prng, bytes, sizeof(bytes));
		for (size_t at = 0; at < 8; at++)
			for (size_t len = 0; len <= 64; len++)
				assert_int_equal(icrc_update(ICRC_SEED, bytes + at, len),
						 crc_by_bits(ICRC_SEED, bytes + at, len));
	}
}

/* Shows that every way of computing that this processor has is right.
 * By every length to 600 and some of packets, at random offsets and from random registers, against
 * one bit at a time. */
static void every_way(void **state)
{
	static const size_t more[] = {1024, 1040, 2048, 4095, 4096, 4112, 4128, 8191};
	static uint8_t bytes[8192 + 64];
	struct base_prng prng;

	(void)state;
	base_prng_seed(&prng, 3);
	base_prng_fill(&prng, bytes, sizeof(bytes));
	assert_true(icrc_way_here(ICRC_BY_TABLE));
	for (size_t i = 0; i <= 600 + sizeof(more) / sizeof(more[0]); i++) {
		size_t len = i <= 600 ? i : more[i - 601];
		size_t at = base_prng_below(&prng, 64);
		uint32_t crc = (uint32_t)base_prng_below(&prng, 1ull << 32);
		uint32_t want = crc_by_bits(crc, bytes + at, len);

		for (int way = 0; way < ICRC_WAY_COUNT; way++)
			if (icrc_way_here((enum icrc_way)way) &&
			    icrc_update_by((enum icrc_way)way, crc, bytes + at, len) != want)
				fail_msg("way %d: %zu bytes at %zu", way, len, at);
	}
}

/* Shows that what differs in four bytes is found from the difference of the CRCs.
 * By random packets and differences, at every distance from the end to 300. */
static void differences_are_found(void **state)
{
	struct base_prng prng;
	uint8_t bytes[300];

	(void)state;
	base_prng_seed(&prng, 4);
	for (uint32_t from_end = 4; from_end <= sizeof(bytes); from_end++) {
		uint8_t *at = bytes + sizeof(bytes) - from_end;
		uint8_t before[4];
		uint32_t was, now;

		base_prng_fill(&prng, bytes, sizeof(bytes));
		memcpy(before, at, 4);
		was = icrc_update(ICRC_SEED, bytes, sizeof(bytes));
		base_prng_fill(&prng, at, 4);
		now = icrc_update(ICRC_SEED, bytes, sizeof(bytes));
		now = icrc_multiply(was ^ now, icrc_undo_factor(from_end));
		for (int i = 0; i < 4; i++)
			assert_int_equal((uint8_t)(now >> 8 * i), before[i] ^ at[i]);
	}
}

/* Shows that a CRC may be taken in pieces.
 * By every split of forty bytes. */
static void pieces_add_up(void **state)
{
	uint8_t bytes[40];
	uint32_t whole;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	whole = icrc_update(ICRC_SEED, bytes, sizeof(bytes));
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		uint32_t crc = icrc_update(ICRC_SEED, bytes, cut);

		assert_int_equal(icrc_update(crc, bytes + cut, sizeof(bytes) - cut), whole);
	}
}

/* Shows that a header longer than any IP header allows is our bug, not read.
 * By one byte more and one less than the bounds. */
static void header_bounds(void **state)
{
	static const uint8_t packet[128] = {0x45};

	(void)state;
	expect_assert_failure(icrc_headers(packet, ICRC_HEADERS_MAX_BYTES + 1, ICRC_MASK_ALL));
	expect_assert_failure(icrc_headers(packet, 39, ICRC_MASK_ALL));
	expect_assert_failure(icrc_packet(packet, 20, 39));
	assert_int_equal(icrc_packet(packet, 20, 40),
			 icrc_final(icrc_headers(packet, 40, ICRC_MASK_ALL)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(equals_bit_by_bit),
		cmocka_unit_test(every_way),
		cmocka_unit_test(differences_are_found),
		cmocka_unit_test(pieces_add_up),
		cmocka_unit_test(header_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
