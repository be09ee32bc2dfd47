/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cursor.h - a reader and a writer that never leave their bytes.
 *
 * An access that does not fit sets `failed`, reads zeroes or writes nothing, and every later access
 * fails too: the caller reads a whole record, then tests `failed` once. Neither owns its bytes.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include "base/be.h"

#include <stdbool.h>
#include <stddef.h>

struct base_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

struct base_writer {
	uint8_t *at;
	uint8_t *end;
	bool failed;
};

/* base_reader_init - a reader of the len_bytes bytes at src. */
static inline struct base_reader base_reader_init(const void *src, size_t len_bytes)
{
	const uint8_t *at = (const uint8_t *)src;

	return (struct base_reader){.at = at, .end = at + len_bytes};
}

/* base_reader_left - bytes not read yet. */
static inline size_t base_reader_left(const struct base_reader *r)
{
	return (size_t)(r->end - r->at);
}

/* base_reader_take - the next len_bytes bytes, in place, or NULL if they are not there. */
static inline const uint8_t *base_reader_take(struct base_reader *r, size_t len_bytes)
{
	const uint8_t *at = r->at;

	if (r->failed || len_bytes > base_reader_left(r)) {
		r->failed = true;
		return NULL;
	}
	r->at += len_bytes;
	return at;
}

static inline uint8_t base_reader_u8(struct base_reader *r)
{
	const uint8_t *at = base_reader_take(r, 1);

	return at ? *at : 0;
}

static inline uint16_t base_reader_be16(struct base_reader *r)
{
	const uint8_t *at = base_reader_take(r, 2);

	return at ? be16_load(at) : 0;
}

static inline uint32_t base_reader_be24(struct base_reader *r)
{
	const uint8_t *at = base_reader_take(r, 3);

	return at ? be24_load(at) : 0;
}

static inline uint32_t base_reader_be32(struct base_reader *r)
{
	const uint8_t *at = base_reader_take(r, 4);

	return at ? be32_load(at) : 0;
}

static inline uint64_t base_reader_be64(struct base_reader *r)
{
	const uint8_t *at = base_reader_take(r, 8);

	return at ? be64_load(at) : 0;
}

/* base_writer_init - a writer into the cap_bytes bytes at dst. */
static inline struct base_writer base_writer_init(void *dst, size_t cap_bytes)
{
	uint8_t *at = (uint8_t *)dst;

	return (struct base_writer){.at = at, .end = at + cap_bytes};
}

/* base_writer_left - bytes of room. */
static inline size_t base_writer_left(const struct base_writer *w)
{
	return (size_t)(w->end - w->at);
}

/* base_writer_take - room for the next len_bytes bytes, for the caller to fill, or NULL. */
static inline uint8_t *base_writer_take(struct base_writer *w, size_t len_bytes)
{
	uint8_t *at = w->at;

	if (w->failed || len_bytes > base_writer_left(w)) {
		w->failed = true;
		return NULL;
	}
	w->at += len_bytes;
	return at;
}

static inline void base_writer_bytes(struct base_writer *w, const void *src, size_t len_bytes)
{
	uint8_t *at = base_writer_take(w, len_bytes);

	if (at && len_bytes != 0)
		memcpy(at, src, len_bytes);
}

static inline void base_writer_zero(struct base_writer *w, size_t len_bytes)
{
	uint8_t *at = base_writer_take(w, len_bytes);

	if (at && len_bytes != 0)
		memset(at, 0, len_bytes);
}

static inline void base_writer_u8(struct base_writer *w, uint8_t value)
{
	uint8_t *at = base_writer_take(w, 1);

	if (at)
		*at = value;
}

static inline void base_writer_be16(struct base_writer *w, uint16_t value)
{
	uint8_t *at = base_writer_take(w, 2);

	if (at)
		be16_store(at, value);
}

static inline void base_writer_be24(struct base_writer *w, uint32_t value)
{
	uint8_t *at = base_writer_take(w, 3);

	if (at)
		be24_store(at, value);
}

static inline void base_writer_be32(struct base_writer *w, uint32_t value)
{
	uint8_t *at = base_writer_take(w, 4);

	if (at)
		be32_store(at, value);
}

static inline void base_writer_be64(struct base_writer *w, uint64_t value)
{
	uint8_t *at = base_writer_take(w, 8);

	if (at)
		be64_store(at, value);
}

#endif
