/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - a bounded string builder for code that may not use stdio.
 *
 * The text in the caller's buffer always ends in a NUL (if it has room for one). What does not fit
 * is cut off and `truncated` is set. One owner at a time.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct base_text {
	char *buf;
	size_t cap_bytes; /* size of buf, the NUL included */
	size_t len_bytes; /* characters so far, the NUL not included */
	bool truncated;
};

/* base_text_init - an empty text in the cap_bytes bytes at buf, which stays the caller's. */
void base_text_init(struct base_text *text, char *buf, size_t cap_bytes);

/* base_text_char, base_text_str - append one character, a NUL-terminated string (NULL: "?"). */
void base_text_char(struct base_text *text, char c);
void base_text_str(struct base_text *text, const char *str);

/* base_text_dec, base_text_int - append a number in decimal, unsigned or signed. */
void base_text_dec(struct base_text *text, uint64_t value);
void base_text_int(struct base_text *text, int64_t value);

/* base_text_hex - appends "0x" and as few lower-case digits as value needs. */
void base_text_hex(struct base_text *text, uint64_t value);

/* base_text_hex_digits - appends exactly `digits` (1 to 16) lower-case digits, no prefix. */
void base_text_hex_digits(struct base_text *text, uint64_t value, unsigned int digits);

/* base_text_bytes - appends two lower-case digits for each of len_bytes bytes. */
void base_text_bytes(struct base_text *text, const void *src, size_t len_bytes);

#endif
