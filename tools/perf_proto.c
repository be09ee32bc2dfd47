/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/perf_proto.c - the messages of `rig5 perf`. */
#include <errno.h>
#include <string.h>

#include "tools/frame.h"
#include "tools/perf_proto.h"

static const uint8_t magic[8] = "rig5perf";

static struct frame_writer writer_of(uint8_t payload[static PERF_BYTES_MAX])
{
	return (struct frame_writer){.start = payload, .size_bytes = PERF_BYTES_MAX};
}

static void write_endpoint(struct frame_writer *writer, const char *endpoint)
{
	size_t len = strnlen(endpoint, PERF_ENDPOINT_MAX);

	frame_write16(writer, (uint16_t)len);
	frame_write_bytes(writer, endpoint, len);
}

static void read_endpoint(struct frame_reader *reader, char endpoint[static PERF_ENDPOINT_MAX + 1])
{
	size_t len = frame_read16(reader);
	const uint8_t *bytes = frame_read_bytes(reader, len);

	if (!bytes || len > PERF_ENDPOINT_MAX || memchr(bytes, 0, len)) {
		reader->bad = true;
		return;
	}
	memcpy(endpoint, bytes, len);
	endpoint[len] = '\0';
}

int perf_encode_hello(const struct perf_hello *hello, uint8_t payload[static PERF_BYTES_MAX])
{
	struct frame_writer writer = writer_of(payload);

	frame_write_bytes(&writer, magic, sizeof(magic));
	frame_write16(&writer, PERF_VERSION);
	frame_write64(&writer, hello->half_bytes);
	frame_write64(&writer, hello->addr);
	frame_write32(&writer, hello->key);
	return (int)writer.used_bytes;
}

int perf_decode_hello(const uint8_t *payload, size_t len_bytes, struct perf_hello *hello)
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	const uint8_t *bytes = frame_read_bytes(&reader, sizeof(magic));
	struct perf_hello out;

	if (!bytes || memcmp(bytes, magic, sizeof(magic)))
		return -EPROTO;
	if (frame_read16(&reader) != PERF_VERSION)
		return reader.bad ? -EPROTO : -EPROTONOSUPPORT;
	out.half_bytes = frame_read64(&reader);
	out.addr = frame_read64(&reader);
	out.key = frame_read32(&reader);
	if (!frame_read_done(&reader) || !out.half_bytes || out.half_bytes > PERF_HALF_MAX)
		return -EPROTO;
	*hello = out;
	return 0;
}

int perf_encode_test(const struct perf_test *test, const char *endpoint,
		     uint8_t payload[static PERF_BYTES_MAX])
{
	struct frame_writer writer = writer_of(payload);

	frame_write16(&writer, (uint16_t)test->op);
	frame_write16(&writer, (uint16_t)test->kind);
	frame_write16(&writer, test->check);
	frame_write32(&writer, test->size_bytes);
	frame_write32(&writer, test->iterations);
	frame_write32(&writer, test->warm_up);
	frame_write32(&writer, test->depth);
	write_endpoint(&writer, endpoint);
	return (int)writer.used_bytes;
}

int perf_decode_test(const uint8_t *payload, size_t len_bytes, struct perf_test *test,
		     char endpoint[static PERF_ENDPOINT_MAX + 1])
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	uint16_t op = frame_read16(&reader), kind = frame_read16(&reader);
	uint16_t check = frame_read16(&reader);
	struct perf_test out = {.op = op, .kind = kind, .check = check};

	out.size_bytes = frame_read32(&reader);
	out.iterations = frame_read32(&reader);
	out.warm_up = frame_read32(&reader);
	out.depth = frame_read32(&reader);
	read_endpoint(&reader, endpoint);
	if (!frame_read_done(&reader) || op >= PERF_OP_COUNT || kind >= PERF_KIND_COUNT ||
	    check > 1 || !out.size_bytes || out.size_bytes > PERF_SIZE_MAX || !out.iterations ||
	    out.iterations > PERF_ITERATIONS_MAX || out.warm_up > PERF_ITERATIONS_MAX ||
	    !out.depth || out.depth > PERF_DEPTH_MAX)
		return -EPROTO;
	*test = out;
	return 0;
}

int perf_encode_ready(const char *endpoint, uint8_t payload[static PERF_BYTES_MAX])
{
	struct frame_writer writer = writer_of(payload);

	write_endpoint(&writer, endpoint);
	return (int)writer.used_bytes;
}

int perf_decode_ready(const uint8_t *payload, size_t len_bytes,
		      char endpoint[static PERF_ENDPOINT_MAX + 1])
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};

	read_endpoint(&reader, endpoint);
	return frame_read_done(&reader) ? 0 : -EPROTO;
}

int perf_encode_verify(uint32_t first, uint32_t count, uint8_t payload[static PERF_BYTES_MAX])
{
	struct frame_writer writer = writer_of(payload);

	frame_write32(&writer, first);
	frame_write32(&writer, count);
	return (int)writer.used_bytes;
}

int perf_decode_verify(const uint8_t *payload, size_t len_bytes, uint32_t *first, uint32_t *count)
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	uint32_t a = frame_read32(&reader), b = frame_read32(&reader);

	if (!frame_read_done(&reader) || b > PERF_DEPTH_MAX)
		return -EPROTO;
	*first = a;
	*count = b;
	return 0;
}

int perf_encode_result(uint64_t wrong_bytes, uint8_t payload[static PERF_BYTES_MAX])
{
	struct frame_writer writer = writer_of(payload);

	frame_write64(&writer, wrong_bytes);
	return (int)writer.used_bytes;
}

int perf_decode_result(const uint8_t *payload, size_t len_bytes, uint64_t *wrong_bytes)
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	uint64_t wrong = frame_read64(&reader);

	if (!frame_read_done(&reader))
		return -EPROTO;
	*wrong_bytes = wrong;
	return 0;
}
