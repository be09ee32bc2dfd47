/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history_args.h - one line of a history, taken apart: verb, first word, `key=value` pairs and
 * flags.
 */
#ifndef TESTS_SUPPORT_HISTORY_ARGS_H
#define TESTS_SUPPORT_HISTORY_ARGS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HISTORY_LINE_MAX = 512,
	HISTORY_PAIRS_MAX = 24,
};

struct history_args {
	char line[HISTORY_LINE_MAX]; /* as given, for messages */
	char words[HISTORY_LINE_MAX];
	const char *verb;
	const char *noun; /* the second word, if it has no '='; else "" */
	struct {
		const char *key;
		const char *value; /* "" of a flag */
		bool read;
	} pairs[HISTORY_PAIRS_MAX];
	uint32_t pair_count;
};

/* args_parse - takes line apart. Its flags and pairs count as unread. */
void args_parse(struct history_args *args, const char *line);

/* args_text - the value of key, or fallback where the line does not have it. */
const char *args_text(struct history_args *args, const char *key, const char *fallback);
bool args_has(struct history_args *args, const char *key);
uint64_t args_number(struct history_args *args, const char *key, uint64_t fallback);

/* args_sum - the numbers of a value such as 1+2+3 into values; returns how many, 0 without
 * the key. */
uint32_t args_sum(struct history_args *args, const char *key, uint32_t *values, uint32_t max);

/* args_duration_ns - a noun or value such as 655360us in nanoseconds. */
uint64_t args_duration_ns(const char *text);

/* args_unread - the first key that nobody asked for, or a null pointer. */
const char *args_unread(const struct history_args *args);

#endif
