/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - verdicts on packets. */
#include "fault/fault.h"

#include "base/assert.h"

enum { BEHIND_DEFAULT = 3 };

void fault_init(struct fault *fault, const struct fault_config *config)
{
	*fault = (struct fault){.config = *config};
	ASSERT(config->rule_count <= FAULT_RULE_MAX);
	if (fault->config.behind_max == 0)
		fault->config.behind_max = BEHIND_DEFAULT;
	if (fault->config.behind_max > FAULT_BEHIND_MAX)
		fault->config.behind_max = FAULT_BEHIND_MAX;
	base_prng_seed(&fault->prng, config->seed);
	base_prng_seed(&fault->jitter_prng, ~config->seed);
}

static bool rule_hits(const struct fault_rule *rule, uint64_t number)
{
	if (number < rule->first)
		return false;
	return number == rule->first || (rule->every && (number - rule->first) % rule->every == 0);
}

static bool ruled(const struct fault *fault, enum fault_kind kind)
{
	for (uint32_t i = 0; i < fault->config.rule_count; i++)
		if (fault->config.rules[i].kind == kind &&
		    rule_hits(&fault->config.rules[i], fault->judged))
			return true;
	return false;
}

static bool in_time(const struct fault *fault, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - fault->start_ns;

	return age_ns >= fault->config.from_ns &&
	       (fault->config.until_ns == 0 || age_ns < fault->config.until_ns);
}

static uint64_t delay_of(struct fault *fault)
{
	if (fault->config.jitter_ns == 0)
		return fault->config.delay_ns;
	return fault->config.delay_ns +
	       base_prng_range(&fault->jitter_prng, 0, fault->config.jitter_ns);
}

/*
 * Every packet draws the same numbers whatever is decided, so that changing one chance does not
 * change which packets another one hits.
 */
struct fault_verdict fault_judge(struct fault *fault, size_t len_bytes, uint64_t now_ns)
{
	struct fault_verdict verdict = {0};
	bool hit[FAULT_KIND_COUNT];
	uint32_t behind, bit;
	uint64_t delay_ns;
	bool active;

	if (fault->judged++ == 0)
		fault->start_ns = now_ns;
	active = in_time(fault, now_ns);
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
		hit[kind] = base_prng_chance(&fault->prng, fault->config.ppm[kind]);
		hit[kind] = active && (hit[kind] || ruled(fault, (enum fault_kind)kind));
	}
	behind = (uint32_t)base_prng_range(&fault->prng, 1, fault->config.behind_max);
	bit = (uint32_t)base_prng_below(&fault->prng, 8 * (uint64_t)len_bytes);
	delay_ns = delay_of(fault);
	if (hit[FAULT_DROP]) {
		fault->counts[FAULT_DROP]++;
		verdict.drop = true;
		return verdict;
	}
	for (int kind = FAULT_DUPLICATE; kind < FAULT_KIND_COUNT; kind++)
		fault->counts[kind] += hit[kind];
	verdict.duplicate = hit[FAULT_DUPLICATE];
	verdict.behind = hit[FAULT_REORDER] ? behind : 0;
	verdict.corrupt = hit[FAULT_CORRUPT];
	verdict.corrupt_bit = hit[FAULT_CORRUPT] ? bit : 0;
	verdict.delay_ns = active ? delay_ns : 0;
	return verdict;
}

const char *fault_kind_name(enum fault_kind kind)
{
	switch (kind) {
	case FAULT_DROP:
		return "drop";
	case FAULT_DUPLICATE:
		return "duplicate";
	case FAULT_REORDER:
		return "reorder";
	case FAULT_CORRUPT:
		return "corrupt";
	case FAULT_KIND_COUNT:
		break;
	}
	UNREACHABLE();
}
