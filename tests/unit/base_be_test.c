/* SPDX-License-Identifier: BSD-2-Clause */
/* base_be_test.c - byte order types, loads and stores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/be.h"

/* Shows that each type holds its bytes most significant first and reads back.
 * By looking at the bytes of known values. */
static void types_are_big_endian(void **state)
{
	static const uint8_t expected[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	struct be16 a = be16_from(0x0123);
	struct be32 b = be32_from(0x01234567);
	struct be64 c = be64_from(0x0123456789abcdef);

	(void)state;
	assert_memory_equal(&a, expected, 2);
	assert_memory_equal(&b, expected, 4);
	assert_memory_equal(&c, expected, 8);
	assert_int_equal(be16_to(a), 0x0123);
	assert_int_equal(be32_to(b), 0x01234567);
	assert_true(be64_to(c) == 0x0123456789abcdef);
}

/* Shows that loads and stores work at every alignment and touch only their own bytes.
 * By moving each over eight offsets of a marked buffer (under UBSan in make ci). */
static void loads_and_stores_need_no_alignment(void **state)
{
	uint8_t bytes[24];

	(void)state;
	for (size_t at = 1; at < 9; at++) {
		memset(bytes, 0x5a, sizeof(bytes));
		be16_store(bytes + at, 0x0102);
		assert_int_equal(be16_load(bytes + at), 0x0102);
		assert_int_equal(bytes[at], 1);
		assert_int_equal(bytes[at + 2], 0x5a);
		be24_store(bytes + at, 0xff010203);
		assert_int_equal(be24_load(bytes + at), 0x010203);
		assert_int_equal(bytes[at + 3], 0x5a);
		be32_store(bytes + at, 0x01020304);
		assert_int_equal(be32_load(bytes + at), 0x01020304);
		assert_int_equal(bytes[at + 4], 0x5a);
		be64_store(bytes + at, 0x0102030405060708);
		assert_true(be64_load(bytes + at) == 0x0102030405060708);
		assert_int_equal(bytes[at + 7], 8);
		assert_int_equal(bytes[at + 8], 0x5a);
		le32_store(bytes + at, 0x01020304);
		assert_int_equal(le32_load(bytes + at), 0x01020304);
		assert_int_equal(bytes[at], 4);
		assert_int_equal(bytes[at - 1], 0x5a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_are_big_endian),
		cmocka_unit_test(loads_and_stores_need_no_alignment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
