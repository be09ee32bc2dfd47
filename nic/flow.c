/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow.c - a flow's beginning, and what it looks like from outside.
 */
#include "nic/nic_priv.h"

void nic_flow_start(const struct nic *nic, struct nic_flow *flow, enum nic_cc_algorithm algorithm,
		    uint32_t mtu_bytes, uint64_t ack_timeout_ns, bool acked)
{
	struct nic_cc_flow made = {
	    .line_rate_bps = nic->cong.line_rate_bps,
	    .mtu_bytes = mtu_bytes,
	    .ack_timeout_ns = ack_timeout_ns,
	    .acked = acked,
	};

	flow->algorithm = (uint8_t)algorithm;
	nic_cc_init(&flow->cc, algorithm, nic->cong.params, &made, nic->now_ns);
}

void nic_flow_stats_of(struct nic *nic, struct nic_flow *flow, struct nic_flow_stats *stats)
{
	nic_cc_expire(&flow->cc, nic->now_ns);
	*stats = (struct nic_flow_stats){
	    .algorithm = (enum nic_cc_algorithm)flow->algorithm,
	    .paced = flow->cc.paced,
	    .rate_bps = nic_cc_rate_bps(&flow->cc),
	    .rtt_ns = nic_cc_rtt_ns(&flow->cc),
	    .window_packets = nic_cc_window_packets(&flow->cc),
	    .counters = flow->counters,
	};
}
