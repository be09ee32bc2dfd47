/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - verdicts on packets. */
#include "fault/fault.h"

#include "base/assert.h"

enum { BEHIND_DEFAULT = 3 };

#define MARK_SEED 0x9e3779b97f4a7c15ull
#define NS_PER_S  1000000000ull

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
	base_prng_seed(&fault->mark_prng, config->seed ^ MARK_SEED);
	if (fault->config.queue_bytes == 0)
		fault->config.queue_bytes = FAULT_QUEUE_BYTES;
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

/* What leaves in so long; FAULT_RATE_MAX is what a second of it has room for in 64 bits. */
static uint64_t bytes_in(uint64_t rate, uint64_t ns)
{
	return ns / NS_PER_S * rate + ns % NS_PER_S * rate / NS_PER_S;
}

/* The packet joins the queue of the bottleneck, if there is room; *waiting: the bytes before it. */
static bool join_queue(struct fault *fault, size_t len_bytes, uint64_t now_ns, uint64_t *waiting,
		       uint64_t *delay_ns)
{
	uint64_t rate = fault->config.rate_bytes_per_s;
	uint64_t start_ns = fault->busy_until_ns > now_ns ? fault->busy_until_ns : now_ns;

	*waiting = bytes_in(rate, start_ns - now_ns);
	if (*waiting + len_bytes > fault->config.queue_bytes && *waiting != 0) {
		fault->overflows++;
		return false;
	}
	fault->busy_until_ns = start_ns + len_bytes * NS_PER_S / rate;
	*delay_ns += fault->busy_until_ns - now_ns;
	return true;
}

/* The bottleneck's part of the verdict, and the mark. */
static void judge_congestion(struct fault *fault, size_t len_bytes, uint64_t now_ns,
			     struct fault_verdict *verdict)
{
	const struct fault_config *config = &fault->config;
	uint64_t waiting = 0;

	if (config->rate_bytes_per_s != 0 &&
	    !join_queue(fault, len_bytes, now_ns, &waiting, &verdict->delay_ns)) {
		*verdict = (struct fault_verdict){.drop = true};
		return;
	}
	verdict->mark =
	    (config->mark_above_bytes != 0 && waiting > config->mark_above_bytes) ||
	    (config->mark_ppm != 0 && base_prng_chance(&fault->mark_prng, config->mark_ppm));
	fault->marks += verdict->mark;
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
	if (active)
		judge_congestion(fault, len_bytes, now_ns, &verdict);
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
