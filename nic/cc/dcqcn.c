/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dcqcn.c - DCQCN's reaction point [DCQCN], and the variant of the cards [dcqcn-params].
 *
 * A flow starts at the line's rate. Each notification remembers the rate as the target and cuts it,
 * by half of alpha, the share of time in which the path was congested. Then two counters, one of
 * time and one of bytes, raise it: first half way to the target, some times; then the target, too,
 * a little; and when both have counted enough, more. The cards move alpha by a clock of their own,
 * cut once in a period at most, and keep the target if nothing has been raised since the last cut.
 *
 * The order of what falls on one moment: alpha, a cut that was put off, the rate timer, bytes; all
 * of it before a notification at that moment.
 */
#include "nic/cc/cc_priv.h"

#define ALPHA_ONE_Q30 (1u << 30)
#define MBPS          1000000ull

enum {
	NS_PER_US = 1000,
	ALPHA_BITS = 10, /* of the parameters that speak of alpha */
};

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void dcqcn_init(struct nic_cc *cc, uint64_t now_ns)
{
	const struct nic_cc_dcqcn_params *p = &cc->params->dcqcn;
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint64_t min_bps = p->rpg_min_rate_mbps * MBPS;

	d->max_bps = cc->line_rate_bps;
	if (p->rpg_max_rate_mbps != 0)
		d->max_bps = at_most(d->max_bps, p->rpg_max_rate_mbps * MBPS);
	d->min_bps = at_most(min_bps > cc->floor_bps ? min_bps : cc->floor_bps, d->max_bps);
	if (d->min_bps == 0)
		d->min_bps = 1;
	d->target_bps = d->max_bps;
	d->increase_at_ns = NIC_CC_NEVER;
	d->idle_from_ns = NIC_CC_NEVER;
	cc_pace(cc, d->max_bps < cc->line_rate_bps, now_ns);
	cc_set_rate(cc, d->max_bps, now_ns);
}

/* ---- alpha ------------------------------------------------------------------------------------
 */

/* The two differ in how they round. */
static uint32_t decayed(const struct nic_cc_dcqcn_params *p, uint32_t alpha_q30)
{
	uint32_t gain = (1u << ALPHA_BITS) - p->dce_tcp_g;

	if (p->paper_rules)
		return alpha_q30 - (uint32_t)(((uint64_t)alpha_q30 * gain) >> ALPHA_BITS);
	return (uint32_t)(((uint64_t)alpha_q30 * p->dce_tcp_g) >> ALPHA_BITS);
}

static uint32_t after_mark(const struct nic_cc_dcqcn_params *p, uint32_t alpha_q30)
{
	uint64_t gain = (1u << ALPHA_BITS) - p->dce_tcp_g;

	return decayed(p, alpha_q30) + (uint32_t)((ALPHA_ONE_Q30 * gain) >> ALPHA_BITS);
}

/* All periods that have ended by now_ns; only the first of them can have been marked. It ends
 * early, because a decay that changes nothing will not begin to: some thousand steps at most. */
static void bring_alpha_to(struct nic_cc *cc, uint64_t now_ns)
{
	const struct nic_cc_dcqcn_params *p = &cc->params->dcqcn;
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint64_t period_ns = (uint64_t)p->dce_tcp_rtt_us * NS_PER_US;
	uint64_t count;

	if (period_ns == 0 || now_ns - d->alpha_from_ns < period_ns)
		return;
	count = (now_ns - d->alpha_from_ns) / period_ns;
	d->alpha_from_ns += count * period_ns;
	if (d->marked) {
		d->alpha_q30 = after_mark(p, d->alpha_q30);
		d->marked = false;
		count--;
	}
	for (uint32_t next; count != 0; count--) {
		next = decayed(p, d->alpha_q30);
		if (next == d->alpha_q30)
			return;
		d->alpha_q30 = next;
	}
}

/* ---- the rate ---------------------------------------------------------------------------------
 */

/* The rate timer's event after one at now_ns; a period of 0 is none. */
static uint64_t next_increase_ns(const struct nic_cc *cc, uint64_t now_ns)
{
	uint64_t period_us = cc->params->dcqcn.rpg_time_reset_us;

	return period_us != 0 ? now_ns + period_us * NS_PER_US : NIC_CC_NEVER;
}

static void restart_counters(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint64_t monitor_us = cc->params->dcqcn.rate_reduce_monitor_period_us;

	d->timer_count = 0;
	d->byte_count = 0;
	d->sent_bytes = 0;
	d->increase_at_ns = next_increase_ns(cc, now_ns);
	d->cut_allowed_ns = now_ns + monitor_us * NS_PER_US;
	d->cut_pending = false;
	d->cut_count++;
}

static void cut(struct nic_cc *cc, uint64_t now_ns)
{
	const struct nic_cc_dcqcn_params *p = &cc->params->dcqcn;
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint64_t rate_bps = cc->rate_bps;
	uint64_t most_bps = rate_bps * (100 - p->rpg_min_dec_fac) / 100;
	uint64_t less_bps;

	if (p->clamp_tgt_rate || d->byte_count > 0 ||
	    (p->clamp_tgt_rate_after_time_inc && d->timer_count > 0))
		d->target_bps = rate_bps;
	less_bps =
	    (uint64_t)((unsigned __int128)rate_bps * d->alpha_q30 >> (30 - ALPHA_BITS + p->rpg_gd));
	rate_bps -= at_most(less_bps, most_bps);
	cc_set_rate(cc, rate_bps > d->min_bps ? rate_bps : d->min_bps, now_ns);
	restart_counters(cc, now_ns);
}

static void set_first_rate(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint64_t rate_bps = cc->params->dcqcn.rate_to_set_on_first_cnp_mbps * MBPS;

	rate_bps = at_most(rate_bps > d->min_bps ? rate_bps : d->min_bps, d->max_bps);
	d->target_bps = rate_bps;
	cc_set_rate(cc, rate_bps, now_ns);
	restart_counters(cc, now_ns);
}

/* Half way to the line's rate never gets quite there. */
static bool at_full_rate(const struct nic_cc *cc)
{
	return cc->dcqcn.target_bps == cc->dcqcn.max_bps && cc->rate_bps + 1 >= cc->dcqcn.max_bps;
}

/* The rate is back, and the path has long been free: as before the first notification. */
static bool has_recovered(struct nic_cc *cc, uint64_t now_ns)
{
	if (!at_full_rate(cc))
		return false;
	bring_alpha_to(cc, now_ns);
	return cc->dcqcn.alpha_q30 < ALPHA_ONE_Q30 >> ALPHA_BITS;
}

static void deactivate(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_dcqcn *d = &cc->dcqcn;

	d->active = false;
	d->increase_at_ns = NIC_CC_NEVER;
	d->cut_pending = false;
	cc_set_rate(cc, d->max_bps, now_ns);
	if (d->max_bps == cc->line_rate_bps)
		cc_pace(cc, false, now_ns);
}

static void activate(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_dcqcn *d = &cc->dcqcn;

	d->active = true;
	d->marked = false;
	d->cut_pending = false;
	d->cut_count = 0;
	d->cut_allowed_ns = now_ns;
	d->alpha_from_ns = now_ns;
	d->alpha_q30 = (uint32_t)((uint64_t)cc->params->dcqcn.initial_alpha_value * ALPHA_ONE_Q30 /
				  ((1u << ALPHA_BITS) - 1));
	if (!cc->paced)
		cc_pace(cc, true, now_ns);
}

static void increase(struct nic_cc *cc, uint64_t now_ns)
{
	const struct nic_cc_dcqcn_params *p = &cc->params->dcqcn;
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint32_t low = d->timer_count < d->byte_count ? d->timer_count : d->byte_count;
	uint32_t high = d->timer_count > d->byte_count ? d->timer_count : d->byte_count;

	if (low > p->rpg_threshold)
		d->target_bps += p->rpg_hai_rate_mbps * MBPS;
	else if (high > p->rpg_threshold)
		d->target_bps += p->rpg_ai_rate_mbps * MBPS;
	d->target_bps = at_most(d->target_bps, d->max_bps);
	cc_set_rate(cc, (cc->rate_bps + d->target_bps) >> 1, now_ns);
	if (has_recovered(cc, now_ns))
		deactivate(cc, now_ns);
}

/* ---- asked and told ---------------------------------------------------------------------------
 */

uint64_t dcqcn_deadline(const struct nic_cc *cc)
{
	const struct nic_cc_dcqcn *d = &cc->dcqcn;

	if (!d->active || d->idle_from_ns != NIC_CC_NEVER)
		return NIC_CC_NEVER;
	return d->cut_pending ? at_most(d->cut_allowed_ns, d->increase_at_ns) : d->increase_at_ns;
}

/* All of the timer's events until until_ns, of which one is due, where none can raise the rate. */
static void count_on(struct nic_cc *cc, uint64_t until_ns)
{
	uint64_t period_ns = (uint64_t)cc->params->dcqcn.rpg_time_reset_us * NS_PER_US;
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint64_t count = (until_ns - d->increase_at_ns) / period_ns;

	d->increase_at_ns += count * period_ns;
	d->timer_count += (uint32_t)at_most(count + 1, UINT32_MAX - d->timer_count);
	if (has_recovered(cc, d->increase_at_ns))
		deactivate(cc, d->increase_at_ns);
	else
		d->increase_at_ns += period_ns;
}

void dcqcn_advance(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_dcqcn *d = &cc->dcqcn;

	for (uint64_t at_ns; (at_ns = dcqcn_deadline(cc)) <= now_ns && at_ns != NIC_CC_NEVER;) {
		if (d->cut_pending && d->cut_allowed_ns == at_ns) {
			bring_alpha_to(cc, at_ns);
			cut(cc, at_ns);
		} else if (at_full_rate(cc)) {
			count_on(cc,
				 d->cut_pending ? at_most(d->cut_allowed_ns - 1, now_ns) : now_ns);
		} else {
			d->timer_count++;
			d->increase_at_ns = next_increase_ns(cc, at_ns);
			increase(cc, at_ns);
		}
	}
}

/* Nothing was sent, so that nothing went wrong proves nothing. A short pause is one of the path's
 * own making; after a long one the flow goes on as it stood when it began. */
static void end_idle(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	uint64_t idle_ns = now_ns - d->idle_from_ns;

	d->idle_from_ns = NIC_CC_NEVER;
	if (!d->active || idle_ns <= CC_IDLE_NS)
		return;
	d->alpha_from_ns += idle_ns;
	d->increase_at_ns += idle_ns;
	d->cut_allowed_ns += idle_ns;
}

void dcqcn_on_idle(struct nic_cc *cc, uint64_t now_ns)
{
	if (!cc->dcqcn.active || cc->dcqcn.idle_from_ns != NIC_CC_NEVER)
		return;
	dcqcn_advance(cc, now_ns);
	cc->dcqcn.idle_from_ns = now_ns;
}

static void notified(struct nic_cc *cc, uint64_t now_ns)
{
	const struct nic_cc_dcqcn_params *p = &cc->params->dcqcn;
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	bool first = !d->active;

	if (first)
		activate(cc, now_ns);
	bring_alpha_to(cc, now_ns);
	if (first && p->rate_to_set_on_first_cnp_mbps != 0)
		set_first_rate(cc, now_ns);
	else if (now_ns >= d->cut_allowed_ns)
		cut(cc, now_ns);
	else
		d->cut_pending = true;
	if (!p->paper_rules) {
		d->marked = true;
		return;
	}
	d->alpha_q30 = after_mark(p, d->alpha_q30);
	d->alpha_from_ns = now_ns;
}

void dcqcn_on_cnp(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_dcqcn *d = &cc->dcqcn;
	bool idle = d->idle_from_ns != NIC_CC_NEVER;

	if (idle)
		end_idle(cc, now_ns);
	dcqcn_advance(cc, now_ns);
	notified(cc, now_ns);
	if (idle)
		d->idle_from_ns = now_ns;
}

/* Bytes that are sent again are sent, too. */
void dcqcn_on_send(struct nic_cc *cc, uint32_t bytes, uint64_t now_ns)
{
	uint64_t reset_bytes = cc->params->dcqcn.rpg_byte_reset_bytes;
	struct nic_cc_dcqcn *d = &cc->dcqcn;

	if (!d->active)
		return;
	if (d->idle_from_ns != NIC_CC_NEVER)
		end_idle(cc, now_ns);
	if (d->cut_pending || now_ns >= d->increase_at_ns)
		dcqcn_advance(cc, now_ns);
	d->sent_bytes += bytes;
	while (d->active && reset_bytes != 0 && d->sent_bytes >= reset_bytes) {
		d->sent_bytes -= reset_bytes;
		d->byte_count++;
		increase(cc, now_ns);
	}
}
