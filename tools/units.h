/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/units.h - numbers and text between people, JSON and the program. Pure but for
 * tool_json_string. */
#ifndef TOOLS_UNITS_H
#define TOOLS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Room for any text that the format functions below write. */
#define TOOL_UNIT_TEXT 32

/*
 * tool_parse_size - a number of bytes: digits, then nothing, or K, M, G or T (powers of 1024),
 * which may be followed by B or iB. 0, or -EINVAL (not such a text) or -ERANGE (over 2^64 - 1).
 */
int tool_parse_size(const char *text, uint64_t *bytes);
/* tool_parse_count - decimal digits between min and max; 0, -EINVAL or -ERANGE. */
int tool_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* tool_format_bytes - "0 B", "1023 B", "1.5 KiB", "12.3 GiB" ... */
const char *tool_format_bytes(uint64_t bytes, char text[static TOOL_UNIT_TEXT]);
/* tool_format_seconds - "0:07", "1:02:03"; for a time left. */
const char *tool_format_seconds(uint64_t seconds, char text[static TOOL_UNIT_TEXT]);

/*
 * tool_printable - text, with what could command a terminal replaced by '?': control characters,
 * and anything that is not UTF-8. At most size bytes, terminated; size > 0. Returns out.
 */
const char *tool_printable(const char *text, char *out, size_t size);

/* tool_json_string - text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
 */
void tool_json_string(FILE *file, const char *text);

#endif
