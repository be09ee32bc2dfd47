/* SPDX-License-Identifier: BSD-2-Clause */
/* base_cursor_test.c - reader and writer inside their bounds and at their ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cursor.h"

/* Shows that a reader gives back what a writer wrote, in order.
 * By one of each width, into a buffer that they fill to the last byte. */
static void reads_what_was_written(void **state)
{
	uint8_t bytes[1 + 2 + 3 + 4 + 8 + 2 + 3];
	struct base_writer w = base_writer_init(bytes, sizeof(bytes));
	struct base_reader r = base_reader_init(bytes, sizeof(bytes));

	(void)state;
	memset(bytes, 0xee, sizeof(bytes));
	base_writer_u8(&w, 0x11);
	base_writer_be16(&w, 0x2233);
	base_writer_be24(&w, 0x445566);
	base_writer_be32(&w, 0x778899aa);
	base_writer_be64(&w, 0xbbccddeeff001122);
	base_writer_bytes(&w, "xy", 2);
	base_writer_zero(&w, 3);
	assert_false(w.failed);
	assert_int_equal(base_writer_left(&w), 0);

	assert_int_equal(base_reader_u8(&r), 0x11);
	assert_int_equal(base_reader_be16(&r), 0x2233);
	assert_int_equal(base_reader_be24(&r), 0x445566);
	assert_int_equal(base_reader_be32(&r), 0x778899aa);
	assert_true(base_reader_be64(&r) == 0xbbccddeeff001122);
	assert_memory_equal(base_reader_take(&r, 2), "xy", 2);
	assert_memory_equal(base_reader_take(&r, 3), "\0\0\0", 3);
	assert_false(r.failed);
	assert_int_equal(base_reader_left(&r), 0);
}

/* Shows that a read past the end gives zero, and that all later ones fail too.
 * By reading four bytes of three, then one that would fit. */
static void reader_stops_at_the_end(void **state)
{
	static const uint8_t bytes[3] = {1, 2, 3};
	struct base_reader r = base_reader_init(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(base_reader_be32(&r), 0);
	assert_true(r.failed);
	assert_int_equal(base_reader_u8(&r), 0);
	assert_null(base_reader_take(&r, 0));
	r = base_reader_init(bytes, sizeof(bytes));
	assert_null(base_reader_take(&r, SIZE_MAX));
	assert_true(r.failed);
}

/* Shows that a write past the end changes no byte, and that all later ones fail too.
 * By each width one byte short, in a marked buffer. */
static void writer_stops_at_the_end(void **state)
{
	uint8_t bytes[8];

	(void)state;
	for (int width = 1; width <= 8; width *= 2) {
		struct base_writer w = base_writer_init(bytes, (size_t)width - 1);

		memset(bytes, 0xee, sizeof(bytes));
		if (width == 1)
			base_writer_u8(&w, 0);
		else if (width == 2)
			base_writer_be16(&w, 0);
		else if (width == 4)
			base_writer_be32(&w, 0);
		else
			base_writer_be64(&w, 0);
		assert_true(w.failed);
		base_writer_zero(&w, 0);
		base_writer_bytes(&w, "z", 1);
		assert_null(base_writer_take(&w, 0));
		for (size_t i = 0; i < sizeof(bytes); i++)
			assert_int_equal(bytes[i], 0xee);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(reader_stops_at_the_end),
		cmocka_unit_test(writer_stops_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
