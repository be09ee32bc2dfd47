/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c - the bounded string builder; every append goes through base_text_char. */
#include "base/text.h"

#include "base/assert.h"

void base_text_init(struct base_text *text, char *buf, size_t cap_bytes)
{
	*text = (struct base_text){.buf = buf, .cap_bytes = cap_bytes};
	if (cap_bytes != 0)
		buf[0] = '\0';
}

void base_text_char(struct base_text *text, char c)
{
	if (text->len_bytes + 1 >= text->cap_bytes) {
		text->truncated = true;
		return;
	}
	text->buf[text->len_bytes++] = c;
	text->buf[text->len_bytes] = '\0';
}

void base_text_str(struct base_text *text, const char *str)
{
	if (!str)
		str = "?";
	while (*str)
		base_text_char(text, *str++);
}

void base_text_dec(struct base_text *text, uint64_t value)
{
	char digits[20];
	unsigned int count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	while (count != 0)
		base_text_char(text, digits[--count]);
}

void base_text_int(struct base_text *text, int64_t value)
{
	if (value < 0)
		base_text_char(text, '-');
	base_text_dec(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void base_text_hex_digits(struct base_text *text, uint64_t value, unsigned int digits)
{
	ASSERT(digits >= 1);
	ASSERT(digits <= 16);
	while (digits != 0)
		base_text_char(text, "0123456789abcdef"[value >> (4 * --digits) & 0xf]);
}

void base_text_hex(struct base_text *text, uint64_t value)
{
	unsigned int digits = value ? (64 - (unsigned int)__builtin_clzll(value) + 3) / 4 : 1;

	base_text_str(text, "0x");
	base_text_hex_digits(text, value, digits);
}

void base_text_bytes(struct base_text *text, const void *src, size_t len_bytes)
{
	const uint8_t *byte = (const uint8_t *)src;

	for (size_t i = 0; i < len_bytes; i++)
		base_text_hex_digits(text, byte[i], 2);
}
