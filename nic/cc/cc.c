/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cc.c - what all algorithms share: the bound on what is under way, and the bucket.
 */
#include "nic/cc/cc_priv.h"

#include "base/assert.h"

#include <string.h>

/* Swift with its delays times `slower`. */
#define RTT_RULES(slower, least_window, pauses)                                       \
	{                                                                             \
		.base_target_ns = 25000 * (slower), .hop_target_ns = 1000, .hops = 1, \
		.fs_range_ns = 100000 * (slower), .fs_a_ns = 32260 * (slower),        \
		.fs_b_ns = 2016 * (slower), .ai_q16 = 65536, .beta_q16 = 52429,       \
		.max_mdf_q16 = 32768, .min_window_q16 = (least_window),               \
		.max_window_q16 = 256 << 16, .retx_limit = 3, .min_valid_ns = 1,      \
		.host_pauses = (pauses),                                              \
	}
#define RTT_DEFAULTS RTT_RULES(1, 655, false)

#define DCQCN_PAPER(least_mbps)                                                               \
	{                                                                                     \
		.paper_rules = true, .clamp_tgt_rate = true, .rpg_gd = 11, .dce_tcp_g = 1020, \
		.initial_alpha_value = 1023, .dce_tcp_rtt_us = 55, .rpg_time_reset_us = 55,   \
		.rpg_byte_reset_bytes = 10000000, .rpg_threshold = 5, .rpg_ai_rate_mbps = 40, \
		.rpg_hai_rate_mbps = 200, .rpg_min_rate_mbps = (least_mbps),                  \
		.min_time_between_cnps_us = 50,                                               \
	}

const struct nic_cc_params nic_cc_paper = {
    .cap_ns = 8000,
    .dcqcn = DCQCN_PAPER(10),
    .rtt = RTT_DEFAULTS,
};

/*
 * What fits hosts [docs/congestion.md, "On a host"]: the paper's DCQCN, since it waits for 50 us
 * between notifications; Swift with delays that a thread's waking does not reach, and a window that
 * such a thread fills at once; a bucket as deep as what one that wakes late has missed. What may be
 * under way is no more than without (host/udp.h).
 */
const struct nic_cc_params nic_cc_host = {
    .cap_ns = 42000,
    .burst_bytes = 65536,
    .dcqcn = DCQCN_PAPER(100),
    .rtt = RTT_RULES(40, 4 << 16, true),
};

const struct nic_cc_params nic_cc_vendor = {
    .cap_ns = 8000,
    .dcqcn =
	{
	    .clamp_tgt_rate_after_time_inc = true,
	    .rpg_gd = 11,
	    .rpg_min_dec_fac = 50,
	    .dce_tcp_g = 1019,
	    .initial_alpha_value = 1023,
	    .dce_tcp_rtt_us = 1,
	    .rpg_time_reset_us = 300,
	    .rpg_byte_reset_bytes = 32767 * 64,
	    .rpg_threshold = 1,
	    .rpg_ai_rate_mbps = 5,
	    .rpg_hai_rate_mbps = 50,
	    .rpg_min_rate_mbps = 1,
	    .rate_reduce_monitor_period_us = 4,
	    .min_time_between_cnps_us = 4,
	},
    .rtt = RTT_DEFAULTS,
};

/* How many packets may wait for one acknowledgement at the lowest rate, and in which part of the
 * timeout they have to be out. At 1 Mb/s a packet of 4 KiB takes 33 ms, half of the usual timeout:
 * what is only slow would be taken for lost. */
enum {
	FLOOR_PACKETS = 4,
	FLOOR_PART = 4,
};

static uint64_t floor_bps(const struct nic_cc_flow *flow)
{
	uint64_t bits = (uint64_t)FLOOR_PACKETS * FLOOR_PART * 8 * flow->mtu_bytes;

	return flow->ack_timeout_ns != 0 ? bits * CC_NS_PER_S / flow->ack_timeout_ns : 0;
}

uint32_t cc_packets(const struct nic_cc *cc, uint32_t delay_ns)
{
	uint64_t bytes = cc->line_rate_bps / 1000 * delay_ns / 8000000;
	uint64_t packets = (bytes + cc->mtu_bytes - 1) / cc->mtu_bytes;

	if (packets > UINT32_MAX)
		return UINT32_MAX;
	return packets != 0 ? (uint32_t)packets : 1;
}

void nic_cc_init(struct nic_cc *cc, enum nic_cc_algorithm algorithm,
		 const struct nic_cc_params *params, const struct nic_cc_flow *flow,
		 uint64_t now_ns)
{
	ASSERT(flow->line_rate_bps != 0);
	ASSERT(flow->mtu_bytes != 0);
	memset(cc, 0, sizeof(*cc));
	cc->algorithm = (uint8_t)algorithm;
	cc->acked = flow->acked;
	cc->window_packets = UINT32_MAX;
	cc->mtu_bytes = flow->mtu_bytes;
	cc->rate_bps = flow->line_rate_bps;
	cc->line_rate_bps = flow->line_rate_bps;
	cc->floor_bps = floor_bps(flow);
	cc->level_at_ns = now_ns;
	cc->params = params;
	switch (algorithm) {
	case NIC_CC_NONE:
		return;
	case NIC_CC_DCQCN:
		if (params->cap_ns != 0)
			cc->window_packets = cc_packets(cc, params->cap_ns);
		dcqcn_init(cc, now_ns);
		return;
	case NIC_CC_RTT:
		swift_init(cc, now_ns);
		return;
	case NIC_CC_COUNT:
		break;
	}
	UNREACHABLE();
}

/* ---- the bucket -------------------------------------------------------------------------------
 */

/* What is left of the level by now_ns. */
static uint64_t left(const struct nic_cc *cc, uint64_t now_ns)
{
	unsigned __int128 drained;

	if (now_ns <= cc->level_at_ns)
		return cc->level;
	drained = (unsigned __int128)cc->rate_bps * (now_ns - cc->level_at_ns);
	return drained < cc->level ? cc->level - (uint64_t)drained : 0;
}

static void drain(struct nic_cc *cc, uint64_t now_ns)
{
	cc->level = left(cc, now_ns);
	if (now_ns > cc->level_at_ns)
		cc->level_at_ns = now_ns;
}

static uint64_t burst(const struct nic_cc *cc)
{
	return cc->params->burst_bytes * (8 * CC_NS_PER_S);
}

uint64_t cc_next_ns(const struct nic_cc *cc)
{
	if (cc->level <= burst(cc))
		return cc->level_at_ns;
	return cc->level_at_ns + (cc->level - burst(cc) + cc->rate_bps - 1) / cc->rate_bps;
}

void cc_set_rate(struct nic_cc *cc, uint64_t rate_bps, uint64_t now_ns)
{
	if (cc->paced)
		drain(cc, now_ns);
	cc->rate_bps = rate_bps;
}

void cc_pace(struct nic_cc *cc, bool paced, uint64_t now_ns)
{
	cc->paced = paced;
	cc->level = 0;
	cc->level_at_ns = now_ns;
}

/* Who does not ask before it sends fills the bucket no further than this, and no sum overflows. */
#define LEVEL_MAX  (1ull << 62)
#define PACKET_MAX (1u << 28)

static void fill(struct nic_cc *cc, uint32_t bytes, uint64_t now_ns)
{
	drain(cc, now_ns);
	cc->level += (bytes < PACKET_MAX ? bytes : PACKET_MAX) * (8 * CC_NS_PER_S);
	if (cc->level > LEVEL_MAX)
		cc->level = LEVEL_MAX;
}

/* ---- asked and told ---------------------------------------------------------------------------
 */

static bool has_room(const struct nic_cc *cc, uint64_t now_ns)
{
	return !cc->paced || left(cc, now_ns) <= burst(cc);
}

uint64_t nic_cc_wait(struct nic_cc *cc, uint64_t now_ns)
{
	uint64_t deadline_ns, next_ns;

	if (cc->inflight_packets >= cc->window_packets)
		return NIC_CC_NEVER;
	if (has_room(cc, now_ns))
		return 0;
	nic_cc_expire(cc, now_ns);
	if (has_room(cc, now_ns))
		return 0;
	deadline_ns = nic_cc_deadline(cc);
	next_ns = cc_next_ns(cc);
	return deadline_ns < next_ns ? deadline_ns : next_ns;
}

void nic_cc_sent(struct nic_cc *cc, uint32_t bytes, uint64_t now_ns)
{
	cc->inflight_packets += cc->acked;
	if (cc->algorithm == NIC_CC_DCQCN)
		dcqcn_on_send(cc, bytes, now_ns);
	else
		swift_on_send(cc, now_ns);
	if (cc->paced)
		fill(cc, bytes, now_ns);
}

bool nic_cc_on_cnp(struct nic_cc *cc, uint64_t now_ns)
{
	if (cc->algorithm != NIC_CC_DCQCN)
		return false;
	dcqcn_on_cnp(cc, now_ns);
	return true;
}

void nic_cc_take_back(struct nic_cc *cc, uint32_t packets)
{
	cc->inflight_packets -= packets < cc->inflight_packets ? packets : cc->inflight_packets;
}

void nic_cc_on_ack(struct nic_cc *cc, uint64_t rtt_ns, uint32_t packets, uint64_t turn_ns,
		   uint64_t now_ns)
{
	nic_cc_take_back(cc, packets);
	if (cc->algorithm == NIC_CC_RTT && rtt_ns > turn_ns)
		swift_on_sample(cc, rtt_ns - turn_ns, packets, now_ns);
}

void nic_cc_on_loss(struct nic_cc *cc, uint64_t now_ns)
{
	if (cc->algorithm == NIC_CC_RTT)
		swift_on_loss(cc, now_ns);
}

void nic_cc_on_timeout(struct nic_cc *cc, uint64_t now_ns)
{
	if (cc->algorithm == NIC_CC_RTT)
		swift_on_timeout(cc, now_ns);
}

void nic_cc_on_idle(struct nic_cc *cc, uint64_t now_ns)
{
	if (cc->algorithm == NIC_CC_DCQCN)
		dcqcn_on_idle(cc, now_ns);
}

uint64_t nic_cc_deadline(const struct nic_cc *cc)
{
	return cc->algorithm == NIC_CC_DCQCN ? dcqcn_deadline(cc) : NIC_CC_NEVER;
}

void nic_cc_expire(struct nic_cc *cc, uint64_t now_ns)
{
	if (cc->algorithm == NIC_CC_DCQCN)
		dcqcn_advance(cc, now_ns);
}

uint64_t nic_cc_rtt_ns(const struct nic_cc *cc)
{
	return cc->algorithm == NIC_CC_RTT ? cc->rtt.srtt_ns : 0;
}
