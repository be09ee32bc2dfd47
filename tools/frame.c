/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/frame.c - framing on TCP, and bounded readers and writers of bytes. */
#include <errno.h>
#include <string.h>

#include "tools/frame.h"

static uint64_t get(const uint8_t *p, size_t len_bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len_bytes; i++)
		value = value << 8 | p[i];
	return value;
}

static void put(uint8_t *p, size_t len_bytes, uint64_t value)
{
	for (size_t i = len_bytes; i-- > 0; value >>= 8)
		p[i] = (uint8_t)value;
}

long frame_decode(const uint8_t *buf, size_t len_bytes, size_t payload_max, struct frame *frame)
{
	uint32_t payload_bytes;

	if (len_bytes < FRAME_HEADER_BYTES)
		return 0;
	payload_bytes = (uint32_t)get(buf, 4);
	if (get(buf + 6, 2))
		return -EPROTO;
	if (payload_bytes > payload_max)
		return -EMSGSIZE;
	if (len_bytes - FRAME_HEADER_BYTES < payload_bytes)
		return 0;
	frame->type = (uint16_t)get(buf + 4, 2);
	frame->payload = buf + FRAME_HEADER_BYTES;
	frame->len_bytes = payload_bytes;
	return FRAME_HEADER_BYTES + (long)payload_bytes;
}

void frame_encode_header(uint16_t type, uint32_t payload_bytes,
			 uint8_t header[static FRAME_HEADER_BYTES])
{
	put(header, 4, payload_bytes);
	put(header + 4, 2, type);
	put(header + 6, 2, 0);
}

const uint8_t *frame_read_bytes(struct frame_reader *reader, size_t len_bytes)
{
	const uint8_t *bytes = reader->next;

	if (reader->bad || len_bytes > reader->left_bytes) {
		reader->bad = true;
		return NULL;
	}
	reader->next += len_bytes;
	reader->left_bytes -= len_bytes;
	return bytes;
}

static uint64_t read_number(struct frame_reader *reader, size_t len_bytes)
{
	const uint8_t *bytes = frame_read_bytes(reader, len_bytes);

	return bytes ? get(bytes, len_bytes) : 0;
}

uint16_t frame_read16(struct frame_reader *reader)
{
	return (uint16_t)read_number(reader, 2);
}

uint32_t frame_read32(struct frame_reader *reader)
{
	return (uint32_t)read_number(reader, 4);
}

uint64_t frame_read64(struct frame_reader *reader)
{
	return read_number(reader, 8);
}

bool frame_read_done(const struct frame_reader *reader)
{
	return !reader->bad && !reader->left_bytes;
}

/* Room for len bytes more, or NULL. */
static uint8_t *extend(struct frame_writer *writer, size_t len_bytes)
{
	uint8_t *at = writer->start + writer->used_bytes;

	if (writer->bad || len_bytes > writer->size_bytes - writer->used_bytes) {
		writer->bad = true;
		return NULL;
	}
	writer->used_bytes += len_bytes;
	return at;
}

static void write_number(struct frame_writer *writer, size_t len_bytes, uint64_t value)
{
	uint8_t *at = extend(writer, len_bytes);

	if (at)
		put(at, len_bytes, value);
}

void frame_write16(struct frame_writer *writer, uint16_t value)
{
	write_number(writer, 2, value);
}

void frame_write32(struct frame_writer *writer, uint32_t value)
{
	write_number(writer, 4, value);
}

void frame_write64(struct frame_writer *writer, uint64_t value)
{
	write_number(writer, 8, value);
}

void frame_write_bytes(struct frame_writer *writer, const void *bytes, size_t len_bytes)
{
	uint8_t *at = extend(writer, len_bytes);

	if (at && len_bytes)
		memcpy(at, bytes, len_bytes);
}
