/* SPDX-License-Identifier: BSD-2-Clause */
/* abi_roce_test.c - codings inside RoCE fields: syndromes, timers, pads, GIDs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/roce.h"

/* Shows the 32 RNR timers of the specification.
 * By the whole table in hundredths of a millisecond. */
static void rnr_timers(void **state)
{
	static const uint32_t expected[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96,
					      128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
					      4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

	(void)state;
	for (unsigned int code = 0; code < 32; code++)
		assert_int_equal(roce_rnr_timer_ns(code), expected[code] * 10000ull);
	assert_int_equal(roce_rnr_timer_ns(0), 655360000);
	assert_int_equal(roce_rnr_timer_ns(12), 640000);
	assert_int_equal(roce_rnr_timer_ns(28), 163840000);
}

/* Shows the acknowledgement timeout of each code; 0 is never.
 * By the two that the driver library uses and both ends. */
static void ack_timeouts(void **state)
{
	(void)state;
	assert_int_equal(roce_ack_timeout_ns(0), 0);
	assert_int_equal(roce_ack_timeout_ns(1), 8192);
	assert_int_equal(roce_ack_timeout_ns(14), 67108864);
	assert_int_equal(roce_ack_timeout_ns(18), 1073741824);
	assert_true(roce_ack_timeout_ns(31) == 8796093022208);
}

/* Shows the kind of every syndrome byte.
 * By comparing all 256 with the ranges of the specification. */
static void syndrome_kinds(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < 256; s++) {
		enum roce_aeth_kind want = s < 0x20   ? ROCE_AETH_ACK
					   : s < 0x40 ? ROCE_AETH_RNR
					   : s < 0x60 ? ROCE_AETH_RESERVED
					   : s < 0x80 ? ROCE_AETH_NAK
						      : ROCE_AETH_RESERVED;

		assert_int_equal(roce_aeth_kind((uint8_t)s), want);
	}
}

/* Shows the pad of payloads around multiples of four, and which GIDs are IPv4 addresses.
 * By small tables. */
static void pads_and_gids(void **state)
{
	uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};

	(void)state;
	assert_int_equal(roce_pad_bytes(0), 0);
	assert_int_equal(roce_pad_bytes(1), 3);
	assert_int_equal(roce_pad_bytes(2), 2);
	assert_int_equal(roce_pad_bytes(3), 1);
	assert_int_equal(roce_pad_bytes(0x80000000), 0);
	assert_true(roce_gid_is_ipv4(gid));
	gid[9] = 1;
	assert_false(roce_gid_is_ipv4(gid));
	gid[9] = 0;
	gid[11] = 0;
	assert_false(roce_gid_is_ipv4(gid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rnr_timers),
		cmocka_unit_test(ack_timeouts),
		cmocka_unit_test(syndrome_kinds),
		cmocka_unit_test(pads_and_gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
