/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cc.c - a congestion control context: what all algorithms share.
 */
#include "nic/cc/cc.h"

#include "base/assert.h"

#include <string.h>

#define RTT_DEFAULTS                                                                              \
	{                                                                                         \
		.base_target_ns = 25000, .hop_target_ns = 1000, .hops = 1, .fs_range_ns = 100000, \
		.fs_a_ns = 32260, .fs_b_ns = 2016, .ai_q16 = 65536, .beta_q16 = 52429,            \
		.max_mdf_q16 = 32768, .min_window_q16 = 655, .max_window_q16 = 256 << 16,         \
		.retx_limit = 3, .min_valid_ns = 1,                                               \
	}

const struct nic_cc_params nic_cc_paper = {
    .cap_ns = 8000,
    .dcqcn =
	{
	    .paper_rules = true,
	    .clamp_tgt_rate = true,
	    .rpg_gd = 11,
	    .dce_tcp_g = 1020,
	    .initial_alpha_value = 1023,
	    .dce_tcp_rtt_us = 55,
	    .rpg_time_reset_us = 55,
	    .rpg_byte_reset_bytes = 10000000,
	    .rpg_threshold = 5,
	    .rpg_ai_rate_mbps = 40,
	    .rpg_hai_rate_mbps = 200,
	    .rpg_min_rate_mbps = 10,
	    .min_time_between_cnps_us = 50,
	},
    .rtt = RTT_DEFAULTS,
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

void nic_cc_init(struct nic_cc *cc, enum nic_cc_algorithm algorithm,
		 const struct nic_cc_params *params, const struct nic_cc_flow *flow,
		 uint64_t now_ns)
{
	ASSERT(flow->line_rate_bps != 0);
	ASSERT(flow->mtu_bytes != 0);
	(void)algorithm;
	memset(cc, 0, sizeof(*cc));
	cc->algorithm = NIC_CC_NONE;
	cc->acked = flow->acked;
	cc->window_packets = UINT32_MAX;
	cc->mtu_bytes = flow->mtu_bytes;
	cc->rate_bps = flow->line_rate_bps;
	cc->line_rate_bps = flow->line_rate_bps;
	cc->level_at_ns = now_ns;
	cc->params = params;
}

uint64_t nic_cc_wait(struct nic_cc *cc, uint64_t now_ns)
{
	(void)cc;
	(void)now_ns;
	return 0;
}

void nic_cc_sent(struct nic_cc *cc, uint32_t bytes, uint64_t now_ns)
{
	(void)cc;
	(void)bytes;
	(void)now_ns;
}

bool nic_cc_on_cnp(struct nic_cc *cc, uint64_t now_ns)
{
	(void)cc;
	(void)now_ns;
	return false;
}

void nic_cc_on_ack(struct nic_cc *cc, uint64_t rtt_ns, uint32_t packets, uint64_t turn_ns,
		   uint64_t now_ns)
{
	(void)cc;
	(void)rtt_ns;
	(void)packets;
	(void)turn_ns;
	(void)now_ns;
}

void nic_cc_on_loss(struct nic_cc *cc, uint64_t now_ns)
{
	(void)cc;
	(void)now_ns;
}

void nic_cc_on_timeout(struct nic_cc *cc, uint64_t now_ns)
{
	(void)cc;
	(void)now_ns;
}

void nic_cc_take_back(struct nic_cc *cc, uint32_t packets)
{
	cc->inflight_packets -= packets < cc->inflight_packets ? packets : cc->inflight_packets;
}

void nic_cc_on_idle(struct nic_cc *cc, uint64_t now_ns)
{
	(void)cc;
	(void)now_ns;
}

uint64_t nic_cc_deadline(const struct nic_cc *cc)
{
	(void)cc;
	return NIC_CC_NEVER;
}

void nic_cc_expire(struct nic_cc *cc, uint64_t now_ns)
{
	(void)cc;
	(void)now_ns;
}

uint64_t nic_cc_rtt_ns(const struct nic_cc *cc)
{
	(void)cc;
	return 0;
}
