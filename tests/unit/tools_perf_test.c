/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that the messages, test data and statistics of `rig5 perf` are right: round trips and bad
 * payloads, data with each single byte changed, percentiles of known samples. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tools/frame.c"
#include "tools/perf_data.c"
#include "tools/perf_proto.c"

static const struct perf_test good = {
    .op = PERF_SEND,
    .kind = PERF_BANDWIDTH,
    .check = true,
    .size_bytes = 4096,
    .iterations = 1000,
    .warm_up = 100,
    .depth = 64,
};

static void test_test_round_trip(void **state)
{
	uint8_t payload[PERF_BYTES_MAX];
	char endpoint[PERF_ENDPOINT_MAX + 1];
	struct perf_test back;
	int len = perf_encode_test(&good, "an endpoint", payload);

	(void)state;
	assert_int_equal(perf_decode_test(payload, (size_t)len, &back, endpoint), 0);
	assert_int_equal(back.op, good.op);
	assert_int_equal(back.kind, good.kind);
	assert_int_equal(back.check, good.check);
	assert_int_equal(back.size_bytes, good.size_bytes);
	assert_int_equal(back.iterations, good.iterations);
	assert_int_equal(back.warm_up, good.warm_up);
	assert_int_equal(back.depth, good.depth);
	assert_string_equal(endpoint, "an endpoint");
	for (int cut = 0; cut < len; cut++)
		assert_int_equal(perf_decode_test(payload, (size_t)cut, &back, endpoint), -EPROTO);
	assert_int_equal(perf_decode_test(payload, (size_t)len + 1, &back, endpoint), -EPROTO);
}

static void test_test_bounds(void **state)
{
	static const struct {
		const char *name;
		size_t offset, bytes;
		uint64_t value;
	} rows[] = {
	    {"operation", 0, 2, 3},
	    {"kind", 2, 2, 2},
	    {"check", 4, 2, 2},
	    {"no size", 6, 4, 0},
	    {"size", 6, 4, PERF_SIZE_MAX + 1},
	    {"no iterations", 10, 4, 0},
	    {"iterations", 10, 4, PERF_ITERATIONS_MAX + 1},
	    {"warm-up", 14, 4, 0xffffffff},
	    {"no depth", 18, 4, 0},
	    {"depth", 18, 4, PERF_DEPTH_MAX + 1},
	    {"endpoint", 22, 2, 200},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t payload[PERF_BYTES_MAX];
		char endpoint[PERF_ENDPOINT_MAX + 1];
		struct perf_test back;
		int len = perf_encode_test(&good, "e", payload);

		put(payload + rows[i].offset, rows[i].bytes, rows[i].value);
		if (perf_decode_test(payload, (size_t)len, &back, endpoint) != -EPROTO)
			fail_msg("%s", rows[i].name);
	}
}

static void test_other_messages(void **state)
{
	struct perf_hello hello = {.half_bytes = 4096, .addr = 1ull << 40, .key = 77}, back;
	uint8_t payload[PERF_BYTES_MAX];
	char endpoint[PERF_ENDPOINT_MAX + 1];
	uint32_t first, count;
	uint64_t wrong;
	int len = perf_encode_hello(&hello, payload);

	(void)state;
	assert_int_equal(perf_decode_hello(payload, (size_t)len, &back), 0);
	assert_true(back.half_bytes == hello.half_bytes && back.addr == hello.addr);
	assert_int_equal(back.key, hello.key);
	payload[9] ^= 1;
	assert_int_equal(perf_decode_hello(payload, (size_t)len, &back), -EPROTONOSUPPORT);
	hello.half_bytes = PERF_HALF_MAX + 1;
	len = perf_encode_hello(&hello, payload);
	assert_int_equal(perf_decode_hello(payload, (size_t)len, &back), -EPROTO);
	len = perf_encode_ready("e", payload);
	assert_int_equal(perf_decode_ready(payload, (size_t)len, endpoint), 0);
	assert_int_equal(perf_decode_ready(payload, (size_t)len - 1, endpoint), -EPROTO);
	len = perf_encode_verify(5, 64, payload);
	assert_int_equal(perf_decode_verify(payload, (size_t)len, &first, &count), 0);
	assert_int_equal(first + count, 69);
	perf_encode_verify(5, PERF_DEPTH_MAX + 1, payload);
	assert_int_equal(perf_decode_verify(payload, (size_t)len, &first, &count), -EPROTO);
	len = perf_encode_result(1ull << 33, payload);
	assert_int_equal(perf_decode_result(payload, (size_t)len, &wrong), 0);
	assert_true(wrong == 1ull << 33);
}

static void test_data(void **state)
{
	uint8_t data[600];

	(void)state;
	for (uint32_t index = 0; index < 600; index += 7) {
		perf_fill(data, sizeof(data), index);
		assert_int_equal(perf_wrong_bytes(data, sizeof(data), index), 0);
		/* The message before, and each single byte. */
		assert_int_equal(perf_wrong_bytes(data, sizeof(data), index + 1), sizeof(data));
		for (size_t i = 0; i < sizeof(data); i += 13) {
			data[i] ^= 0x10;
			assert_int_equal(perf_wrong_bytes(data, sizeof(data), index), 1);
			data[i] ^= 0x10;
		}
		assert_int_not_equal(data[sizeof(data) - 1], 0);
	}
}

static void test_statistics(void **state)
{
	uint64_t samples[1000], one = 5;
	struct perf_stats stats;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		samples[i] = (i * 7 + 3) % 1000 + 1; /* each of 1 to 1000, in no order */
	stats = perf_stats(samples, 1000);
	assert_int_equal(stats.min, 1);
	assert_int_equal(stats.median, 501);
	assert_int_equal(stats.p99, 990);
	stats = perf_stats(&one, 1);
	assert_int_equal(stats.min + stats.median + stats.p99, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_test_round_trip), cmocka_unit_test(test_test_bounds),
	    cmocka_unit_test(test_other_messages),  cmocka_unit_test(test_data),
	    cmocka_unit_test(test_statistics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
