/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/units.c - numbers and text between people, JSON and the program. */
#include <errno.h>
#include <string.h>

#include "tools/units.h"

/* The digits at *text; moves *text past them. */
static int parse_digits(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t sum = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum))
			return -ERANGE;
	*text = p;
	*value = sum;
	return 0;
}

int tool_parse_size(const char *text, uint64_t *bytes)
{
	static const char letters[] = "KMGT";
	unsigned int shift = 0;
	uint64_t value;
	int err = parse_digits(&text, &value);

	if (err)
		return err;
	if (*text) {
		/* Either case; the rest, such as a space, must not turn into the terminator. */
		const char *letter = memchr(letters, *text & ~0x20, sizeof(letters) - 1);

		if (!letter)
			return -EINVAL;
		shift = 10 * (unsigned int)(letter - letters + 1);
		text++;
		if (*text && strcmp(text, "B") && strcmp(text, "iB"))
			return -EINVAL;
	}
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes = value << shift;
	return 0;
}

int tool_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t parsed;
	int err = parse_digits(&text, &parsed);

	if (err)
		return err;
	if (*text)
		return -EINVAL;
	if (parsed < min || parsed > max)
		return -ERANGE;
	*value = parsed;
	return 0;
}

const char *tool_format_bytes(uint64_t bytes, char text[static TOOL_UNIT_TEXT])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double scaled = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(text, TOOL_UNIT_TEXT, "%u B", (unsigned int)bytes);
		return text;
	}
	/* 1023.95 would print as 1024.0. */
	while (scaled >= 1023.95 && i + 1 < sizeof(units) / sizeof(units[0])) {
		scaled /= 1024;
		i++;
	}
	snprintf(text, TOOL_UNIT_TEXT, "%.1f %s", scaled, units[i]);
	return text;
}

const char *tool_format_seconds(uint64_t seconds, char text[static TOOL_UNIT_TEXT])
{
	unsigned long long hours = seconds / 3600;
	unsigned int minutes = seconds / 60 % 60, rest = seconds % 60;

	if (hours)
		snprintf(text, TOOL_UNIT_TEXT, "%llu:%02u:%02u", hours, minutes, rest);
	else
		snprintf(text, TOOL_UNIT_TEXT, "%u:%02u", minutes, rest);
	return text;
}

/*
 * The length of the UTF-8 character at text, 0 if there is none: overlong forms, surrogates and
 * numbers over 0x10ffff are none [RFC3629 4].
 */
static size_t utf8_length(const unsigned char *text)
{
	unsigned char first = text[0], low = 0x80, high = 0xbf;
	size_t len;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return len;
}

/* C0, DEL, and C1, which in UTF-8 is c2 80 to c2 9f. */
static bool is_control(const unsigned char *text)
{
	return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

const char *tool_printable(const char *text, char *out, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t used = 0;

	while (*p) {
		size_t len = utf8_length(p);
		bool good = len && !is_control(p);

		if (used + (good ? len : 1) >= size)
			break;
		if (good)
			memcpy(out + used, p, len);
		else
			out[used] = '?';
		used += good ? len : 1;
		p += len ? len : 1;
	}
	out[used] = '\0';
	return out;
}

void tool_json_string(FILE *file, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	fputc('"', file);
	while (*p) {
		size_t len = utf8_length(p);

		if (!len)
			fputs("\\ufffd", file);
		else if (*p == '"' || *p == '\\')
			fprintf(file, "\\%c", *p);
		else if (*p < 0x20)
			fprintf(file, "\\u%04x", *p);
		else
			fwrite(p, 1, len, file);
		p += len ? len : 1;
	}
	fputc('"', file);
}
