/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xfer_fuzz.c - what `rig5 send`, `rig5 recv` and `rig5 perf` say to each other: a stream of bytes
 * as either role reads it, cut into frames and decoded by their type.
 *
 * Beyond no crash: a frame is found in the whole stream if and only if it is found once its last
 * byte is there; what decodes is within the bounds of the header and encodes to the same bytes; no
 * offered name leads out of a directory, and none comes twice.
 */
#include "tests/fuzz/fuzz.h"
#include "tools/frame.c"
#include "tools/perf_proto.c"
#include "tools/xfer_proto.h"

#include <errno.h>

enum { STREAM_BYTES_MAX = 1 << 15 };

/* Both protocols have a `magic` and helpers of the same names: one in a file of its own scope. */
#define magic         xfer_magic
#define write_text    xfer_write_text
#define read_text     xfer_read_text
#define written       xfer_written
#define writer_of     xfer_writer_of
#define read_endpoint xfer_read_endpoint
#include "tools/xfer_proto.c"
#undef magic
#undef written

static uint8_t out[STREAM_BYTES_MAX];
static struct xfer_file files[XFER_FILES_MAX];

#define SAME(encoded, frame)                                    \
	FUZZ_CHECK((encoded) == (int)(frame)->len_bytes &&      \
		   memcmp(out, (frame)->payload, (frame)->len_bytes) == 0)

static void check_offer(const struct frame *frame)
{
	int count = xfer_decode_offer(frame->payload, frame->len_bytes, files);
	uint64_t total = 0;

	if (count < 0)
		return;
	FUZZ_CHECK(count >= 1 && count <= XFER_FILES_MAX);
	for (int i = 0; i < count; i++) {
		const char *name = files[i].name;

		FUZZ_CHECK(name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 &&
			   strcmp(name, "..") != 0 && files[i].mode <= 0777);
		for (int k = 0; k < i && k < 16; k++)
			FUZZ_CHECK(strcmp(files[k].name, name) != 0);
		total += files[i].size_bytes;
		FUZZ_CHECK(total <= INT64_MAX && files[i].size_bytes <= total);
	}
	SAME(xfer_encode_offer(files, (uint32_t)count, out, sizeof(out)), frame);
}

static void check_xfer(const struct frame *frame)
{
	char why[XFER_ABORT_MAX + 1];
	uint8_t digest[XFER_DIGEST_BYTES];
	struct xfer_hello hello;
	uint32_t number;

	switch (frame->type) {
	case XFER_HELLO:
		if (xfer_decode_hello(frame->payload, frame->len_bytes, &hello) != 0)
			break;
		FUZZ_CHECK(hello.slots >= XFER_SLOTS_MIN && hello.slots <= XFER_SLOTS_MAX);
		FUZZ_CHECK(hello.chunk_bytes >= XFER_CHUNK_MIN &&
			   hello.chunk_bytes <= XFER_CHUNK_MAX);
		SAME(xfer_encode_hello(&hello, out, sizeof(out)), frame);
		break;
	case XFER_OFFER:
		check_offer(frame);
		break;
	case XFER_DIGEST:
		if (xfer_decode_digest(frame->payload, frame->len_bytes, &number, digest) == 0)
			SAME(xfer_encode_digest(number, digest, out, sizeof(out)), frame);
		break;
	case XFER_DONE:
		if (xfer_decode_done(frame->payload, frame->len_bytes, &number) == 0)
			SAME(xfer_encode_done(number, out, sizeof(out)), frame);
		break;
	case XFER_ABORT:
		if (xfer_decode_abort(frame->payload, frame->len_bytes, why) == 0)
			SAME(xfer_encode_abort(why, out, sizeof(out)), frame);
		break;
	}
}

static void check_perf_test(const struct frame *frame)
{
	char endpoint[PERF_ENDPOINT_MAX + 1];
	struct perf_test test;

	if (perf_decode_test(frame->payload, frame->len_bytes, &test, endpoint) != 0)
		return;
	FUZZ_CHECK(test.op < PERF_OP_COUNT && test.kind < PERF_KIND_COUNT);
	FUZZ_CHECK(test.size_bytes <= PERF_SIZE_MAX && test.depth <= PERF_DEPTH_MAX);
	FUZZ_CHECK(test.iterations <= PERF_ITERATIONS_MAX);
	SAME(perf_encode_test(&test, endpoint, out), frame);
}

static void check_perf(const struct frame *frame)
{
	char endpoint[PERF_ENDPOINT_MAX + 1];
	struct perf_hello hello;
	uint32_t first, count;
	uint64_t wrong;

	switch (frame->type) {
	case PERF_HELLO:
		if (perf_decode_hello(frame->payload, frame->len_bytes, &hello) == 0)
			SAME(perf_encode_hello(&hello, out), frame);
		break;
	case PERF_TEST:
		check_perf_test(frame);
		break;
	case PERF_READY:
		if (perf_decode_ready(frame->payload, frame->len_bytes, endpoint) == 0)
			SAME(perf_encode_ready(endpoint, out), frame);
		break;
	case PERF_VERIFY:
		if (perf_decode_verify(frame->payload, frame->len_bytes, &first, &count) == 0)
			SAME(perf_encode_verify(first, count, out), frame);
		break;
	case PERF_RESULT:
		if (perf_decode_result(frame->payload, frame->len_bytes, &wrong) == 0)
			SAME(perf_encode_result(wrong, out), frame);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool perf;
	size_t payload_max;

	if (size == 0 || size > STREAM_BYTES_MAX)
		return 0;
	perf = *data++ & 1;
	size--;
	payload_max = perf ? PERF_BYTES_MAX : XFER_OFFER_BYTES_MAX;
	while (size > 0) {
		struct frame frame, early;
		long used = frame_decode(data, size, payload_max, &frame);

		FUZZ_CHECK(used == 0 || used == -EPROTO || used == -EMSGSIZE ||
			   (used >= FRAME_HEADER_BYTES && (size_t)used <= size));
		if (used <= 0)
			break;
		FUZZ_CHECK(frame_decode(data, (size_t)used - 1, payload_max, &early) == 0);
		FUZZ_CHECK(frame.payload + frame.len_bytes == data + used);
		if (perf)
			check_perf(&frame);
		else
			check_xfer(&frame);
		data += used;
		size -= (size_t)used;
	}
	return 0;
}
