/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swift.c - a window that holds the round trip at a target: Swift [Swift], but always paced.
 *
 * The window grows by a packet in a round trip while the delay is below its target, and shrinks by
 * how far the delay is above it, once in a round trip. The target is longer for small windows,
 * because the queue of many flows is, and so flows of different windows meet. A window below one
 * packet is a packet now and then: the pace alone holds it.
 */
#include "nic/cc/cc_priv.h"

#define ONE_Q16 (1u << 16)

enum {
	GAP_BITS = 8, /* of a nanosecond, in the gap between packets */
};

#define DELAY_MAX_NS (1ull << 36) /* over a minute */

/* ---- the target -------------------------------------------------------------------------------
 */

/* The integer part of the root, bit by bit. */
static uint32_t root(uint64_t x)
{
	uint64_t result = 0;

	for (uint64_t bit = 1ull << 62; bit != 0; bit >>= 2) {
		if (x >= result + bit) {
			x -= result + bit;
			result = (result >> 1) + bit;
		} else {
			result >>= 1;
		}
	}
	return (uint32_t)result;
}

uint32_t swift_scaling_ns(const struct nic_cc_rtt_params *params, uint32_t window_q16)
{
	uint32_t inverse_q16 = root((1ull << 48) / window_q16);
	int64_t ns = (int64_t)(((uint64_t)params->fs_a_ns * inverse_q16) >> 16) - params->fs_b_ns;

	if (ns < 0)
		return 0;
	return ns < params->fs_range_ns ? (uint32_t)ns : params->fs_range_ns;
}

static uint64_t base_ns(const struct nic_cc_rtt_params *p)
{
	return p->base_target_ns + (uint64_t)p->hops * p->hop_target_ns;
}

/* ---- the window -------------------------------------------------------------------------------
 */

static void set_window(struct nic_cc *cc, uint64_t window_q16, uint64_t now_ns)
{
	const struct nic_cc_rtt_params *p = &cc->params->rtt;
	struct nic_cc_rtt *r = &cc->rtt;
	uint64_t gap, rate_bps;

	if (window_q16 > r->max_window_q16)
		window_q16 = r->max_window_q16;
	if (window_q16 < p->min_window_q16)
		window_q16 = p->min_window_q16;
	r->window_q16 = (uint32_t)window_q16;
	cc->window_packets = window_q16 < ONE_Q16 ? 1 : (uint32_t)(window_q16 >> 16);
	if (r->srtt_ns == 0)
		return;
	gap = (r->srtt_ns << (16 + GAP_BITS)) / window_q16;
	rate_bps = cc->mtu_bytes * (8 * CC_NS_PER_S << GAP_BITS) / (gap != 0 ? gap : 1);
	if (rate_bps < cc->floor_bps || rate_bps == 0)
		rate_bps = cc->floor_bps != 0 ? cc->floor_bps : 1;
	cc_set_rate(cc, rate_bps < cc->line_rate_bps ? rate_bps : cc->line_rate_bps, now_ns);
}

static uint32_t packets_q16(const struct nic_cc *cc, uint64_t delay_ns)
{
	uint32_t packets = cc_packets(cc, delay_ns < UINT32_MAX ? (uint32_t)delay_ns : UINT32_MAX);

	return packets < ONE_Q16 ? packets << 16 : UINT32_MAX;
}

/* Where the cap is shorter than the target no queue could reach it: then the target bounds. */
void swift_init(struct nic_cc *cc, uint64_t now_ns)
{
	const struct nic_cc_params *p = cc->params;
	struct nic_cc_rtt *r = &cc->rtt;
	uint64_t target_ns = base_ns(&p->rtt);
	uint32_t most_q16 = packets_q16(cc, p->cap_ns > target_ns ? p->cap_ns : target_ns);

	r->max_window_q16 = p->rtt.max_window_q16;
	if (p->cap_ns != 0 && most_q16 < r->max_window_q16)
		r->max_window_q16 = most_q16;
	r->first_window_q16 = packets_q16(cc, p->cap_ns != 0 ? p->cap_ns : target_ns);
	r->sent_at_ns = now_ns;
	cc_pace(cc, true, now_ns);
	set_window(cc, r->first_window_q16, now_ns);
}

static bool may_cut(const struct nic_cc_rtt *r, uint64_t wait_ns, uint64_t now_ns)
{
	return !r->cut_before || now_ns - r->cut_at_ns >= wait_ns;
}

static void cut(struct nic_cc *cc, uint64_t part_q16, uint64_t now_ns)
{
	struct nic_cc_rtt *r = &cc->rtt;
	uint64_t most_q16 = cc->params->rtt.max_mdf_q16;

	if (part_q16 > most_q16)
		part_q16 = most_q16;
	r->cut_before = true;
	r->cut_at_ns = now_ns;
	set_window(cc, r->window_q16 - ((r->window_q16 * part_q16) >> 16), now_ns);
}

/* A round ends with the first sample of a packet that left in it. */
static uint64_t shortest(struct nic_cc_rtt *r, uint64_t delay_ns, uint64_t now_ns)
{
	if (r->least_ns == 0 || (now_ns >= delay_ns && now_ns - delay_ns >= r->round_at_ns)) {
		r->last_least_ns = r->least_ns;
		r->least_ns = delay_ns;
		r->round_at_ns = now_ns;
	} else if (delay_ns < r->least_ns) {
		r->least_ns = delay_ns;
	}
	return r->last_least_ns != 0 && r->last_least_ns < r->least_ns ? r->last_least_ns
								       : r->least_ns;
}

void swift_on_sample(struct nic_cc *cc, uint64_t delay_ns, uint32_t packets, uint64_t now_ns)
{
	const struct nic_cc_rtt_params *p = &cc->params->rtt;
	struct nic_cc_rtt *r = &cc->rtt;
	uint64_t window_q16 = r->window_q16, grown_q16, target_ns;

	if (delay_ns < p->min_valid_ns)
		return;
	if (delay_ns > DELAY_MAX_NS)
		delay_ns = DELAY_MAX_NS;
	if (p->host_pauses)
		delay_ns = shortest(r, delay_ns, now_ns);
	r->rtt_ns = delay_ns;
	r->srtt_ns = r->srtt_ns != 0 ? (3 * r->srtt_ns + delay_ns) / 4 : delay_ns;
	r->timeout_count = 0;
	target_ns = base_ns(p) + swift_scaling_ns(p, r->window_q16);
	if (delay_ns >= target_ns && may_cut(r, delay_ns, now_ns)) {
		cut(cc, p->beta_q16 * (delay_ns - target_ns) / delay_ns, now_ns);
		return;
	}
	if (delay_ns < target_ns) {
		grown_q16 = (uint64_t)p->ai_q16 * packets;
		if (window_q16 >= ONE_Q16)
			grown_q16 = (grown_q16 << 16) / window_q16;
		window_q16 += grown_q16;
	}
	set_window(cc, window_q16, now_ns);
}

void swift_on_loss(struct nic_cc *cc, uint64_t now_ns)
{
	if (may_cut(&cc->rtt, cc->rtt.srtt_ns, now_ns))
		cut(cc, UINT32_MAX, now_ns);
}

void swift_on_timeout(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_rtt *r = &cc->rtt;

	if (r->timeout_count < UINT32_MAX)
		r->timeout_count++;
	if (r->timeout_count < cc->params->rtt.retx_limit) {
		swift_on_loss(cc, now_ns);
		return;
	}
	r->cut_before = true;
	r->cut_at_ns = now_ns;
	set_window(cc, 0, now_ns);
}

/* After a silence the window is what a new flow's would be, at most. */
void swift_on_send(struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc_rtt *r = &cc->rtt;
	uint64_t idle_ns = now_ns - r->sent_at_ns;

	r->sent_at_ns = now_ns;
	if (idle_ns > CC_IDLE_NS && idle_ns > 4 * r->srtt_ns && r->window_q16 > r->first_window_q16)
		set_window(cc, r->first_window_q16, now_ns);
}
