/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that the messages of a file transfer survive encoding, and that no bytes make a decoder
 * read out of bounds or accept what it must not: round trips, every truncation, a table of bad
 * payloads, and random changes of good ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/frame.c"
#include "tools/xfer_proto.c"

static const struct xfer_hello hello_good = {
    .chunk_bytes = 262144,
    .slots = 16,
    .endpoint = "rig5:0x4011",
};

static void test_hello_round_trip(void **state)
{
	uint8_t payload[XFER_SMALL_BYTES_MAX];
	struct xfer_hello hello;
	int len = xfer_encode_hello(&hello_good, payload, sizeof(payload));

	(void)state;
	assert_true(len > 0);
	assert_int_equal(xfer_decode_hello(payload, (size_t)len, &hello), 0);
	assert_int_equal(hello.chunk_bytes, hello_good.chunk_bytes);
	assert_int_equal(hello.slots, hello_good.slots);
	assert_string_equal(hello.endpoint, hello_good.endpoint);
	for (int cut = 0; cut < len; cut++) {
		/* Of that exact size, so that a sanitizer sees a read beyond. */
		uint8_t *copy = malloc((size_t)cut + 1);

		memcpy(copy, payload, (size_t)cut);
		assert_int_equal(xfer_decode_hello(copy, (size_t)cut, &hello), -EPROTO);
		free(copy);
	}
	payload[len] = 0;
	assert_int_equal(xfer_decode_hello(payload, (size_t)len + 1, &hello), -EPROTO);
	payload[9] ^= 1;
	assert_int_equal(xfer_decode_hello(payload, (size_t)len, &hello), -EPROTONOSUPPORT);
	assert_int_equal(xfer_encode_hello(&hello_good, payload, 12), -EMSGSIZE);
}

static void test_hello_bounds(void **state)
{
	static const struct {
		const char *name;
		uint32_t chunk_bytes, slots;
		int result;
	} rows[] = {
	    {"least", 512, 2, 0},
	    {"most", 16 << 20, 256, 0},
	    {"chunk too small", 511, 16, -EPROTO},
	    {"chunk too large", (16 << 20) + 1, 16, -EPROTO},
	    {"one slot", 4096, 1, -EPROTO},
	    {"too many slots", 4096, 257, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct xfer_hello hello = {.chunk_bytes = rows[i].chunk_bytes,
					   .slots = rows[i].slots};
		uint8_t payload[XFER_SMALL_BYTES_MAX];
		int len = xfer_encode_hello(&hello, payload, sizeof(payload));

		if (xfer_decode_hello(payload, (size_t)len, &hello) != rows[i].result)
			fail_msg("%s", rows[i].name);
	}
}

static void test_names(void **state)
{
	static char longest[257];
	static const struct {
		const char *name;
		size_t len;
		bool good;
	} rows[] = {
	    {"a", 1, true},         {"..a", 3, true},
	    {".hidden", 7, true},   {"a b\xc3\xa4", 5, true},
	    {"-f", 2, true},        {"", 0, false},
	    {".", 1, false},        {"..", 2, false},
	    {"/", 1, false},        {"/etc/passwd", 11, false},
	    {"../x", 4, false},     {"a/b", 3, false},
	    {"a/", 2, false},       {"a\nb", 3, false},
	    {"a\x1b[2J", 5, false}, {"a\0b", 3, false},
	    {"\x7f", 1, false},     {longest, 255, true},
	    {longest, 256, false},
	};

	(void)state;
	memset(longest, 'x', 256);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!xfer_name_problem(rows[i].name, rows[i].len) != rows[i].good)
			fail_msg("row %zu: %s", i, rows[i].name);
}

static struct xfer_file *new_files(void)
{
	return calloc(XFER_FILES_MAX, sizeof(struct xfer_file));
}

static void set_file(struct xfer_file *file, const char *name, uint64_t size, uint32_t mode)
{
	*file = (struct xfer_file){.size_bytes = size, .mode = mode};
	snprintf(file->name, sizeof(file->name), "%s", name);
}

static void test_offer_round_trip(void **state)
{
	struct xfer_file *files = new_files(), *back = new_files();
	uint8_t *payload = malloc(XFER_OFFER_BYTES_MAX);
	char name[XFER_NAME_MAX + 1];
	int len;

	(void)state;
	/* The largest offer there is: it must fit the bound exactly. */
	for (uint32_t i = 0; i < XFER_FILES_MAX; i++) {
		memset(name, 'n', XFER_NAME_MAX);
		name[XFER_NAME_MAX] = '\0';
		snprintf(name, 5, "%04x", i);
		name[4] = '_';
		set_file(&files[i], name, (uint64_t)i << 32, i & 0777);
	}
	len = xfer_encode_offer(files, XFER_FILES_MAX, payload, XFER_OFFER_BYTES_MAX);
	assert_int_equal(len, XFER_OFFER_BYTES_MAX);
	assert_int_equal(xfer_decode_offer(payload, (size_t)len, back), XFER_FILES_MAX);
	assert_memory_equal(files, back, XFER_FILES_MAX * sizeof(*files));
	assert_int_equal(xfer_encode_offer(files, XFER_FILES_MAX, payload, (size_t)len - 1),
			 -EMSGSIZE);
	free(files);
	free(back);
	free(payload);
}

static void test_offer_refused(void **state)
{
	static const struct {
		const char *name;
		struct xfer_file files[2];
		uint32_t count;
		int result;
	} rows[] = {
	    {"good", {{1, 0644, "a"}, {2, 0777, "b"}}, 2, 2},
	    {"empty files", {{0, 0, "a"}, {0, 0, "b"}}, 2, 2},
	    {"largest", {{INT64_MAX - 1, 0, "a"}, {1, 0, "b"}}, 2, 2},
	    {"none", {{0}}, 0, -EPROTO},
	    {"up", {{1, 0644, ".."}}, 1, -EPROTO},
	    {"absolute", {{1, 0644, "/tmp/x"}}, 1, -EPROTO},
	    {"below", {{1, 0644, "a/b"}}, 1, -EPROTO},
	    {"no name", {{1, 0644, ""}}, 1, -EPROTO},
	    {"escape", {{1, 0644, "\x1b]0;x"}}, 1, -EPROTO},
	    {"set user", {{1, 04755, "a"}}, 1, -EPROTO},
	    {"twice", {{1, 0644, "a"}, {1, 0644, "a"}}, 2, -EPROTO},
	    {"too large", {{(uint64_t)INT64_MAX + 1, 0, "a"}}, 1, -EPROTO},
	    {"too large together", {{INT64_MAX, 0, "a"}, {1, 0, "b"}}, 2, -EPROTO},
	    {"overflow", {{1, 0, "a"}, {UINT64_MAX, 0, "b"}}, 2, -EPROTO},
	};
	struct xfer_file *back = new_files();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t payload[1024];
		int len = xfer_encode_offer(rows[i].files, rows[i].count, payload, sizeof(payload));

		if (xfer_decode_offer(payload, (size_t)len, back) != rows[i].result)
			fail_msg("%s", rows[i].name);
		/* Cut anywhere, or with a byte too many, none is good. */
		for (int cut = 0; cut < len; cut++)
			assert_int_equal(xfer_decode_offer(payload, (size_t)cut, back), -EPROTO);
		payload[len] = 'x';
		assert_int_equal(xfer_decode_offer(payload, (size_t)len + 1, back), -EPROTO);
	}
	free(back);
}

static void test_offer_counts(void **state)
{
	static const uint32_t counts[] = {XFER_FILES_MAX + 1, 0x7fffffff, 0xffffffff};
	struct xfer_file *back = new_files();

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint8_t payload[64] = {0};

		put(payload, 4, counts[i]);
		assert_int_equal(xfer_decode_offer(payload, sizeof(payload), back), -EPROTO);
	}
	free(back);
}

static void test_small_messages(void **state)
{
	uint8_t payload[XFER_SMALL_BYTES_MAX], digest[XFER_DIGEST_BYTES], back[XFER_DIGEST_BYTES];
	char why[XFER_ABORT_MAX + 1], longer[XFER_ABORT_MAX + 50];
	uint32_t number;
	int len;

	(void)state;
	for (int i = 0; i < XFER_DIGEST_BYTES; i++)
		digest[i] = (uint8_t)(i * 7);
	len = xfer_encode_digest(4095, digest, payload, sizeof(payload));
	assert_int_equal(xfer_decode_digest(payload, (size_t)len, &number, back), 0);
	assert_int_equal(number, 4095);
	assert_memory_equal(digest, back, sizeof(digest));
	assert_int_equal(xfer_decode_digest(payload, (size_t)len - 1, &number, back), -EPROTO);
	put(payload, 4, XFER_FILES_MAX);
	assert_int_equal(xfer_decode_digest(payload, (size_t)len, &number, back), -EPROTO);

	len = xfer_encode_done(7, payload, sizeof(payload));
	assert_int_equal(xfer_decode_done(payload, (size_t)len, &number), 0);
	assert_int_equal(number, 7);
	assert_int_equal(xfer_decode_done(payload, (size_t)len + 1, &number), -EPROTO);

	memset(longer, 'w', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	len = xfer_encode_abort(longer, payload, sizeof(payload));
	assert_int_equal(xfer_decode_abort(payload, (size_t)len, why), 0);
	assert_int_equal(strlen(why), XFER_ABORT_MAX);
	payload[5] = '\0';
	assert_int_equal(xfer_decode_abort(payload, (size_t)len, why), -EPROTO);
}

static void test_frames(void **state)
{
	uint8_t buf[64] = {0};
	struct frame frame;

	(void)state;
	frame_encode_header(3, 5, buf);
	memcpy(buf + 8, "hello", 5);
	for (size_t len = 0; len < 13; len++)
		assert_int_equal(frame_decode(buf, len, 5, &frame), 0);
	assert_int_equal(frame_decode(buf, sizeof(buf), 5, &frame), 13);
	assert_int_equal(frame.type, 3);
	assert_int_equal(frame.len_bytes, 5);
	assert_ptr_equal(frame.payload, buf + 8);
	/* Refused as soon as the header is there, not once the bytes are. */
	assert_int_equal(frame_decode(buf, 8, 4, &frame), -EMSGSIZE);
	frame_encode_header(3, 0xffffffff, buf);
	assert_int_equal(frame_decode(buf, 8, XFER_OFFER_BYTES_MAX, &frame), -EMSGSIZE);
	buf[7] = 1;
	assert_int_equal(frame_decode(buf, 8, 5, &frame), -EPROTO);
}

/* A decoder given random changes of a good payload: it may say yes or no, within its buffer. */
static void test_random_changes(void **state)
{
	const unsigned int seed = 5;
	static const struct xfer_file two[] = {{1, 0644, "first"}, {2, 0600, "second"}};
	struct xfer_file *back = new_files();
	uint8_t good[256];
	int len = xfer_encode_offer(two, 2, good, sizeof(good));

	(void)state;
	print_message("seed %u\n", seed);
	srandom(seed);
	for (int i = 0; i < 20000; i++) {
		uint8_t *copy = malloc((size_t)len);
		int count;

		memcpy(copy, good, (size_t)len);
		for (long n = random() % 4; n >= 0; n--)
			copy[random() % len] = (uint8_t)random();
		count = xfer_decode_offer(copy, (size_t)len, back);
		assert_true(count == -EPROTO || count == 2);
		for (int k = 0; k < count; k++)
			assert_null(xfer_name_problem(back[k].name, strlen(back[k].name)));
		free(copy);
	}
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_hello_round_trip),
	    cmocka_unit_test(test_hello_bounds),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_offer_round_trip),
	    cmocka_unit_test(test_offer_refused),
	    cmocka_unit_test(test_offer_counts),
	    cmocka_unit_test(test_small_messages),
	    cmocka_unit_test(test_frames),
	    cmocka_unit_test(test_random_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
