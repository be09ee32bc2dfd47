/* SPDX-License-Identifier: BSD-2-Clause */
/* parse.c - a fault configuration from the text people write. */
#include "fault/fault.h"

/* The text still to be read. Each taker moves on only if it succeeds. */
struct reader {
	const char *at;
};

static bool take(struct reader *reader, const char *word)
{
	const char *at = reader->at;

	for (; *word; word++, at++)
		if (*at != *word)
			return false;
	reader->at = at;
	return true;
}

static bool at_digit(const struct reader *reader)
{
	return *reader->at >= '0' && *reader->at <= '9';
}

static bool take_number(struct reader *reader, uint64_t *number)
{
	uint64_t value = 0;

	if (!at_digit(reader))
		return false;
	for (; at_digit(reader); reader->at++) {
		unsigned int digit = (unsigned int)(*reader->at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*number = value;
	return true;
}

/* "5%", "0.25%", "300ppm": millionths, at most a million. */
static bool take_chance(struct reader *reader, uint32_t *ppm)
{
	uint64_t whole, part = 0;
	uint32_t scale = 10000;

	if (!take_number(reader, &whole) || whole > 1000000)
		return false;
	if (take(reader, "ppm")) {
		*ppm = (uint32_t)whole;
		return true;
	}
	if (take(reader, "."))
		for (; at_digit(reader); reader->at++) {
			scale /= 10;
			part += scale * (unsigned int)(*reader->at - '0');
		}
	if (!take(reader, "%") || whole * 10000 + part > 1000000)
		return false;
	*ppm = (uint32_t)(whole * 10000 + part);
	return true;
}

static bool take_time(struct reader *reader, uint64_t *ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	uint64_t value;

	if (!take_number(reader, &value))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!take(reader, units[i].unit))
			continue;
		*ns = value * units[i].ns;
		return value <= UINT64_MAX / units[i].ns;
	}
	return false;
}

struct unit {
	const char *name;
	uint64_t value;
};

/* "1.25GB" in bytes, if GB is one of the units; the names that begin alike stand longest first. */
static bool take_quantity(struct reader *reader, const struct unit *units, uint64_t most,
			  uint64_t *value)
{
	uint64_t whole, part = 0, scale = 1;

	if (!take_number(reader, &whole))
		return false;
	if (take(reader, "."))
		for (; at_digit(reader); reader->at++) {
			if (scale == 1000000)
				continue;
			part = part * 10 + (unsigned int)(*reader->at - '0');
			scale *= 10;
		}
	for (; units->name; units++) {
		if (!take(reader, units->name))
			continue;
		if (whole > most / units->value)
			return false;
		*value = whole * units->value + part * units->value / scale;
		return *value != 0 && *value <= most;
	}
	return false;
}

static bool take_size(struct reader *reader, uint64_t *bytes)
{
	static const struct unit units[] = {
	    {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"B", 1}, {NULL, 0}};

	return take_quantity(reader, units, FAULT_RATE_MAX, bytes);
}

static bool take_rate(struct reader *reader, uint64_t *bytes_per_s)
{
	static const struct unit units[] = {{"kB/s", 1000}, {"MB/s", 1000000}, {"GB/s", 1000000000},
					    {"kb/s", 125},  {"Mb/s", 125000},  {"Gb/s", 125000000},
					    {NULL, 0}};

	return take_quantity(reader, units, FAULT_RATE_MAX, bytes_per_s);
}

/* A chance, or a length of the queue. */
static bool take_mark(struct reader *reader, struct fault_config *config)
{
	struct reader again = *reader;

	if (take_chance(reader, &config->mark_ppm))
		return true;
	*reader = again;
	return take_size(reader, &config->mark_above_bytes);
}

/* "3" or "3/10" behind "drop@". */
static bool take_rule(struct reader *reader, struct fault_config *config, enum fault_kind kind)
{
	struct fault_rule rule = {.kind = kind};

	if (!take_number(reader, &rule.first) || rule.first == 0)
		return false;
	if (take(reader, "/") && (!take_number(reader, &rule.every) || rule.every == 0))
		return false;
	if (config->rule_count == FAULT_RULE_MAX)
		return false;
	config->rules[config->rule_count++] = rule;
	return true;
}

static bool take_fault(struct reader *reader, struct fault_config *config)
{
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
		if (!take(reader, fault_kind_name((enum fault_kind)kind)))
			continue;
		if (take(reader, "="))
			return take_chance(reader, &config->ppm[kind]);
		return take(reader, "@") && take_rule(reader, config, (enum fault_kind)kind);
	}
	return false;
}

static bool take_item(struct reader *reader, struct fault_config *config)
{
	uint64_t number;

	if (take(reader, "seed="))
		return take_number(reader, &config->seed);
	if (take(reader, "from="))
		return take_time(reader, &config->from_ns);
	if (take(reader, "until="))
		return take_time(reader, &config->until_ns);
	if (take(reader, "delay="))
		return take_time(reader, &config->delay_ns) &&
		       config->delay_ns <= FAULT_DELAY_MAX_NS;
	if (take(reader, "jitter="))
		return take_time(reader, &config->jitter_ns) &&
		       config->jitter_ns <= FAULT_DELAY_MAX_NS;
	if (take(reader, "rate="))
		return take_rate(reader, &config->rate_bytes_per_s);
	if (take(reader, "queue="))
		return take_size(reader, &config->queue_bytes);
	if (take(reader, "mark="))
		return take_mark(reader, config);
	if (take(reader, "behind=")) {
		if (!take_number(reader, &number) || number == 0 || number > FAULT_BEHIND_MAX)
			return false;
		config->behind_max = (uint32_t)number;
		return true;
	}
	return take_fault(reader, config);
}

bool fault_parse(struct fault_config *config, const char *text, size_t *wrong)
{
	struct reader reader = {text};

	*config = (struct fault_config){.seed = 1};
	while (*reader.at) {
		*wrong = (size_t)(reader.at - text);
		if (!take_item(&reader, config) || (*reader.at && !take(&reader, ",")))
			return false;
	}
	return true;
}
