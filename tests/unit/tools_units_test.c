/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows what the command takes for sizes, counts and addresses, and how it prints numbers, progress
 * and text of strangers: tables of input and what becomes of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tools/frame.c"
#include "tools/net.c"
#include "tools/progress.c"
#include "tools/units.c"

int tool_stop_signal(void)
{
	return 0;
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t bytes;
	} rows[] = {
	    {"0", 0, 0},
	    {"17", 0, 17},
	    {"4K", 0, 4096},
	    {"4k", 0, 4096},
	    {"4KB", 0, 4096},
	    {"4KiB", 0, 4096},
	    {"3M", 0, 3 << 20},
	    {"64G", 0, 64ull << 30},
	    {"2T", 0, 2ull << 40},
	    {"18446744073709551615", 0, UINT64_MAX},
	    {"18446744073709551616", -ERANGE, 0},
	    {"16777216T", -ERANGE, 0},
	    {"16777215T", 0, 16777215ull << 40},
	    {"", -EINVAL, 0},
	    {"-1", -EINVAL, 0},
	    {"+1", -EINVAL, 0},
	    {" 1", -EINVAL, 0},
	    {"1 ", -EINVAL, 0},
	    {"1.5G", -EINVAL, 0},
	    {"0x10", -EINVAL, 0},
	    {"K", -EINVAL, 0},
	    {"4Kb", -EINVAL, 0},
	    {"4KiBx", -EINVAL, 0},
	    {"4X", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bytes = 0;

		if (tool_parse_size(rows[i].text, &bytes) != rows[i].result ||
		    bytes != rows[i].bytes)
			fail_msg("'%s' gives %llu", rows[i].text, (unsigned long long)bytes);
	}
}

static void test_counts(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_int_equal(tool_parse_count("1", 1, 10, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(tool_parse_count("10", 1, 10, &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(tool_parse_count("0", 1, 10, &value), -ERANGE);
	assert_int_equal(tool_parse_count("11", 1, 10, &value), -ERANGE);
	assert_int_equal(tool_parse_count("99999999999999999999", 1, 10, &value), -ERANGE);
	assert_int_equal(tool_parse_count("5x", 1, 10, &value), -EINVAL);
	assert_int_equal(tool_parse_count("", 1, 10, &value), -EINVAL);
	assert_int_equal(value, 10);
}

static void test_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
	    {0, "0 B"},
	    {1023, "1023 B"},
	    {1024, "1.0 KiB"},
	    {1536, "1.5 KiB"},
	    {(1 << 20) - 1, "1.0 MiB"},
	    {1 << 20, "1.0 MiB"},
	    {64ull << 30, "64.0 GiB"},
	    {UINT64_MAX, "16.0 EiB"},
	};
	char text[TOOL_UNIT_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(tool_format_bytes(rows[i].bytes, text), rows[i].text);
	assert_string_equal(tool_format_seconds(7, text), "0:07");
	assert_string_equal(tool_format_seconds(3600 + 2 * 60 + 3, text), "1:02:03");
	tool_format_seconds(UINT64_MAX, text);
	assert_true(strlen(text) < TOOL_UNIT_TEXT - 1);
}

static void test_progress_lines(void **state)
{
	char text[256];

	(void)state;
	assert_string_equal(
	    progress_text(512 << 20, 1024 << 20, 1000000000, 79, text, sizeof(text)),
	    " 50% [#############              ] 512.0 MiB of 1.0 GiB  512.0 MiB/s  0:01 left");
	/* A narrow terminal loses the bar, then the end; nothing ever wraps. */
	assert_string_equal(progress_text(1, 2, 1000000000, 50, text, sizeof(text)),
			    " 50% [#######       ] 1 B of 2 B  1 B/s  0:01 left");
	assert_string_equal(progress_text(1, 2, 1000000000, 30, text, sizeof(text)),
			    " 50% 1 B of 2 B  1 B/s  0:01 l");
	for (int columns = 0; columns < 200; columns++) {
		progress_text(3, 7, 12345, columns, text, sizeof(text));
		assert_true((int)strlen(text) <= columns);
	}
	/* Nothing moved yet, and nothing to move. */
	assert_non_null(strstr(progress_text(0, 9, 0, 79, text, sizeof(text)), "-:-- left"));
	assert_non_null(strstr(progress_text(0, 0, 5, 79, text, sizeof(text)), "100% "));
	progress_text(UINT64_MAX, UINT64_MAX, 1, 79, text, sizeof(text));
}

static void test_printable(void **state)
{
	static const struct {
		const char *text, *out;
	} rows[] = {
	    {"plain", "plain"},
	    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
	    {"\x1b[31mred\n", "?[31mred?"},
	    {"c1 \xc2\x9b"
	     "2J",
	     "c1 ?2J"},
	    {"\xff\xc3", "??"},
	    {"\xc0\xaf", "??"},
	    {"\xed\xa0\x80", "???"},
	    {"\xf4\x90\x80\x80", "????"},
	    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};
	char out[32], small[4];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(tool_printable(rows[i].text, out, sizeof(out)), rows[i].out);
	/* No half character at the end. */
	assert_string_equal(tool_printable("ab\xc3\xbc", small, sizeof(small)), "ab");
}

static void test_json_strings(void **state)
{
	char out[64];
	FILE *file = fmemopen(out, sizeof(out), "w");

	(void)state;
	tool_json_string(file, "a\"b\\\n\xc3\xbc\xff");
	fclose(file);
	assert_string_equal(out, "\"a\\\"b\\\\\\u000a\xc3\xbc\\ufffd\"");
}

static void test_addresses(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *host;
		uint16_t port;
	} rows[] = {
	    {"host", 0, "host", 7},
	    {"host:80", 0, "host", 80},
	    {"10.0.0.1:1", 0, "10.0.0.1", 1},
	    {"::1", 0, "::1", 7},
	    {"[::1]", 0, "::1", 7},
	    {"[::1]:9", 0, "::1", 9},
	    {"fe80::1%eth0", 0, "fe80::1%eth0", 7},
	    {"host:0", -EINVAL, NULL, 0},
	    {"host:65536", -EINVAL, NULL, 0},
	    {"host:", -EINVAL, NULL, 0},
	    {"host:x", -EINVAL, NULL, 0},
	    {":80", -EINVAL, NULL, 0},
	    {"", -EINVAL, NULL, 0},
	    {"[::1", -EINVAL, NULL, 0},
	    {"[::1]x", -EINVAL, NULL, 0},
	    {"[]:1", -EINVAL, NULL, 0},
	};
	char longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct net_address address = {.port = 0};

		if (net_address_parse(rows[i].text, 7, 1, &address) != rows[i].result ||
		    (rows[i].host && strcmp(address.host, rows[i].host)) ||
		    address.port != rows[i].port)
			fail_msg("'%s'", rows[i].text);
	}
	memset(longest, 'h', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(net_address_parse(longest, 7, 1, &(struct net_address){0}), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sizes),     cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_bytes),     cmocka_unit_test(test_progress_lines),
	    cmocka_unit_test(test_printable), cmocka_unit_test(test_json_strings),
	    cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
