/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/xfer_proto.c - the messages of `rig5 send` and `rig5 recv`. */
#include <errno.h>
#include <string.h>

#include "tools/frame.h"
#include "tools/xfer_proto.h"

static const uint8_t magic[8] = "rig5xfer";

static int written(const struct frame_writer *writer)
{
	return writer->bad ? -EMSGSIZE : (int)writer->used_bytes;
}

/* A counted text with no NUL in it, of at most max bytes, terminated into text. */
static void read_text(struct frame_reader *reader, char *text, size_t max)
{
	size_t len = frame_read16(reader);
	const uint8_t *bytes = frame_read_bytes(reader, len);

	if (!bytes || len > max || memchr(bytes, 0, len)) {
		reader->bad = true;
		return;
	}
	memcpy(text, bytes, len);
	text[len] = '\0';
}

static void write_text(struct frame_writer *writer, const char *text, size_t len)
{
	frame_write16(writer, (uint16_t)len);
	frame_write_bytes(writer, text, len);
}

int xfer_encode_hello(const struct xfer_hello *hello, uint8_t *payload, size_t size)
{
	struct frame_writer writer = {.start = payload, .size_bytes = size};

	frame_write_bytes(&writer, magic, sizeof(magic));
	frame_write16(&writer, XFER_VERSION);
	frame_write32(&writer, hello->chunk_bytes);
	frame_write32(&writer, hello->slots);
	write_text(&writer, hello->endpoint, strnlen(hello->endpoint, XFER_ENDPOINT_MAX));
	return written(&writer);
}

int xfer_decode_hello(const uint8_t *payload, size_t len_bytes, struct xfer_hello *hello)
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	const uint8_t *bytes = frame_read_bytes(&reader, sizeof(magic));
	struct xfer_hello out = {0};

	if (!bytes || memcmp(bytes, magic, sizeof(magic)))
		return -EPROTO;
	if (frame_read16(&reader) != XFER_VERSION)
		return reader.bad ? -EPROTO : -EPROTONOSUPPORT;
	out.chunk_bytes = frame_read32(&reader);
	out.slots = frame_read32(&reader);
	read_text(&reader, out.endpoint, XFER_ENDPOINT_MAX);
	if (!frame_read_done(&reader) || out.chunk_bytes < XFER_CHUNK_MIN ||
	    out.chunk_bytes > XFER_CHUNK_MAX || out.slots < XFER_SLOTS_MIN ||
	    out.slots > XFER_SLOTS_MAX)
		return -EPROTO;
	*hello = out;
	return 0;
}

const char *xfer_name_problem(const char *name, size_t len_bytes)
{
	if (!len_bytes)
		return "it is empty";
	if (len_bytes > XFER_NAME_MAX)
		return "it is longer than 255 bytes";
	if (name[0] == '.' && (len_bytes == 1 || (len_bytes == 2 && name[1] == '.')))
		return "it is a directory";
	for (size_t i = 0; i < len_bytes; i++) {
		if (name[i] == '/')
			return "it has a '/'";
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return "it has a control character";
	}
	return NULL;
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return hash;
}

int xfer_duplicate_name(const struct xfer_file *files, uint32_t count)
{
	/* Open addressing, at most half full: indices + 1. Names chosen to collide cost 4096^2 / 2.
	 */
	uint16_t table[2 * XFER_FILES_MAX] = {0};
	const uint32_t mask = 2 * XFER_FILES_MAX - 1;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = hash_name(files[i].name) & mask;

		for (; table[at]; at = (at + 1) & mask)
			if (!strcmp(files[table[at] - 1].name, files[i].name))
				return (int)i;
		table[at] = (uint16_t)(i + 1);
	}
	return -1;
}

int xfer_encode_offer(const struct xfer_file *files, uint32_t count, uint8_t *payload, size_t size)
{
	struct frame_writer writer = {.start = payload, .size_bytes = size};

	frame_write32(&writer, count);
	for (uint32_t i = 0; i < count; i++) {
		frame_write64(&writer, files[i].size_bytes);
		frame_write32(&writer, files[i].mode);
		write_text(&writer, files[i].name, strnlen(files[i].name, XFER_NAME_MAX));
	}
	return written(&writer);
}

int xfer_decode_offer(const uint8_t *payload, size_t len_bytes, struct xfer_file *files)
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	uint32_t count = frame_read32(&reader);
	uint64_t total = 0;

	if (reader.bad || !count || count > XFER_FILES_MAX)
		return -EPROTO;
	for (uint32_t i = 0; i < count; i++) {
		struct xfer_file *file = &files[i];

		file->size_bytes = frame_read64(&reader);
		file->mode = frame_read32(&reader);
		file->name[0] = '\0';
		read_text(&reader, file->name, XFER_NAME_MAX);
		if (reader.bad || file->mode > 0777 || file->size_bytes > INT64_MAX - total ||
		    xfer_name_problem(file->name, strlen(file->name)))
			return -EPROTO;
		total += file->size_bytes;
	}
	if (!frame_read_done(&reader) || xfer_duplicate_name(files, count) >= 0)
		return -EPROTO;
	return (int)count;
}

int xfer_encode_digest(uint32_t index, const uint8_t digest[static XFER_DIGEST_BYTES],
		       uint8_t *payload, size_t size)
{
	struct frame_writer writer = {.start = payload, .size_bytes = size};

	frame_write32(&writer, index);
	frame_write_bytes(&writer, digest, XFER_DIGEST_BYTES);
	return written(&writer);
}

int xfer_decode_digest(const uint8_t *payload, size_t len_bytes, uint32_t *index,
		       uint8_t digest[static XFER_DIGEST_BYTES])
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	uint32_t number = frame_read32(&reader);
	const uint8_t *bytes = frame_read_bytes(&reader, XFER_DIGEST_BYTES);

	if (!frame_read_done(&reader) || number >= XFER_FILES_MAX)
		return -EPROTO;
	*index = number;
	memcpy(digest, bytes, XFER_DIGEST_BYTES);
	return 0;
}

int xfer_encode_done(uint32_t count, uint8_t *payload, size_t size)
{
	struct frame_writer writer = {.start = payload, .size_bytes = size};

	frame_write32(&writer, count);
	return written(&writer);
}

int xfer_decode_done(const uint8_t *payload, size_t len_bytes, uint32_t *count)
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	uint32_t number = frame_read32(&reader);

	if (!frame_read_done(&reader))
		return -EPROTO;
	*count = number;
	return 0;
}

int xfer_encode_abort(const char *why, uint8_t *payload, size_t size)
{
	struct frame_writer writer = {.start = payload, .size_bytes = size};

	write_text(&writer, why, strnlen(why, XFER_ABORT_MAX));
	return written(&writer);
}

int xfer_decode_abort(const uint8_t *payload, size_t len_bytes, char why[static XFER_ABORT_MAX + 1])
{
	struct frame_reader reader = {.next = payload, .left_bytes = len_bytes};
	char text[XFER_ABORT_MAX + 1];

	read_text(&reader, text, XFER_ABORT_MAX);
	if (!frame_read_done(&reader))
		return -EPROTO;
	memcpy(why, text, strlen(text) + 1);
	return 0;
}
