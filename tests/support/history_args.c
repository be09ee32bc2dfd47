/* SPDX-License-Identifier: BSD-2-Clause */
/* history_args.c - one line of a history, taken apart. */
#include "tests/support/history_args.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

void args_parse(struct history_args *args, const char *line)
{
	char *save = NULL;
	char *word;

	memset(args, 0, sizeof(*args));
	snprintf(args->line, sizeof(args->line), "%s", line);
	snprintf(args->words, sizeof(args->words), "%s", line);
	args->verb = strtok_r(args->words, " ", &save);
	args->noun = "";
	if (!args->verb)
		fail_msg("empty line");
	while ((word = strtok_r(NULL, " ", &save)) != NULL) {
		char *equals = strchr(word, '=');

		bool takes_noun = strcmp(args->verb, "setup") != 0;

		if (takes_noun && !equals && args->pair_count == 0 && args->noun[0] == '\0') {
			args->noun = word;
			continue;
		}
		assert_true(args->pair_count < HISTORY_PAIRS_MAX);
		if (equals)
			*equals = '\0';
		args->pairs[args->pair_count].key = word;
		args->pairs[args->pair_count++].value = equals ? equals + 1 : "";
	}
}

const char *args_text(struct history_args *args, const char *key, const char *fallback)
{
	for (uint32_t i = 0; i < args->pair_count; i++) {
		if (strcmp(args->pairs[i].key, key) == 0) {
			args->pairs[i].read = true;
			return args->pairs[i].value;
		}
	}
	return fallback;
}

bool args_has(struct history_args *args, const char *key)
{
	return args_text(args, key, NULL) != NULL;
}

uint64_t args_number(struct history_args *args, const char *key, uint64_t fallback)
{
	const char *text = args_text(args, key, NULL);
	char *end;
	uint64_t value;

	if (!text)
		return fallback;
	value = strtoull(text, &end, 0);
	if (end == text || *end != '\0')
		fail_msg("'%s': %s is not a number", args->line, text);
	return value;
}

uint32_t args_sum(struct history_args *args, const char *key, uint32_t *values, uint32_t max)
{
	const char *text = args_text(args, key, NULL);
	uint32_t count = 0;
	char *end;

	for (; text && count < max; text = *end == '+' ? end + 1 : NULL)
		values[count++] = (uint32_t)strtoul(text, &end, 0);
	return count;
}

uint64_t args_duration_ns(const char *text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0)
			return value * units[i].ns;
	fail_msg("%s is not a duration", text);
	return 0;
}

const char *args_unread(const struct history_args *args)
{
	for (uint32_t i = 0; i < args->pair_count; i++)
		if (!args->pairs[i].read)
			return args->pairs[i].key;
	return NULL;
}
