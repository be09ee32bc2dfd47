/* SPDX-License-Identifier: BSD-2-Clause */
/* base_text_test.c - the bounded string builder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

/* Shows the form of each kind of value.
 * By building one line and comparing it. */
static void forms(void **state)
{
	char buf[200];
	struct base_text text;

	(void)state;
	base_text_init(&text, buf, sizeof(buf));
	base_text_str(&text, "a");
	base_text_char(&text, ' ');
	base_text_dec(&text, 0);
	base_text_char(&text, ' ');
	base_text_dec(&text, UINT64_MAX);
	base_text_char(&text, ' ');
	base_text_int(&text, INT64_MIN);
	base_text_char(&text, ' ');
	base_text_hex(&text, 0);
	base_text_char(&text, ' ');
	base_text_hex(&text, 0x1f0);
	base_text_char(&text, ' ');
	base_text_hex(&text, UINT64_MAX);
	base_text_char(&text, ' ');
	base_text_hex_digits(&text, 0xabc, 2);
	base_text_char(&text, ' ');
	base_text_bytes(&text, "\x01\xff", 2);
	base_text_str(&text, NULL);
	assert_string_equal(buf, "a 0 18446744073709551615 -9223372036854775808 0x0 0x1f0 "
				 "0xffffffffffffffff bc 01ff?");
	assert_int_equal(text.len_bytes, strlen(buf));
	assert_false(text.truncated);
	expect_assert_failure(base_text_hex_digits(&text, 0, 0));
	expect_assert_failure(base_text_hex_digits(&text, 0, 17));
}

/* Shows that a text is cut where its buffer ends, ends in a NUL, and says so.
 * By every capacity from none to one that fits. */
static void cut_at_the_end(void **state)
{
	(void)state;
	for (size_t cap = 0; cap <= 6; cap++) {
		char buf[8];
		struct base_text text;

		memset(buf, 0x7f, sizeof(buf));
		base_text_init(&text, buf, cap);
		base_text_str(&text, "12345");
		assert_int_equal(text.truncated, cap < 6);
		assert_int_equal(text.len_bytes, cap == 0 ? 0 : cap - 1);
		assert_int_equal(buf[cap], 0x7f);
		if (cap != 0)
			assert_memory_equal(buf, "12345", cap - 1);
		if (cap != 0)
			assert_int_equal(buf[cap - 1], '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(cut_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
