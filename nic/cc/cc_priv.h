/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic/cc/cc_priv.h - between cc.c and the algorithms.
 */
#ifndef NIC_CC_CC_PRIV_H
#define NIC_CC_CC_PRIV_H

#include "nic/cc/cc.h"

#define CC_NS_PER_S 1000000000ull

enum {
	CC_IDLE_NS = 1000000, /* after longer silence, what was known of the path is old */
};

/* cc_set_rate - from now_ns on the flow is paced at rate_bps; what is in the bucket drains at the
 * new rate, so a packet that waits goes earlier or later than the old rate said. */
void cc_set_rate(struct nic_cc *cc, uint64_t rate_bps, uint64_t now_ns);

/* cc_pace - starts with an empty bucket, or stops. */
void cc_pace(struct nic_cc *cc, bool paced, uint64_t now_ns);

/* cc_next_ns - when the next packet may go at the present rate, cap aside; no time to come: now. */
uint64_t cc_next_ns(const struct nic_cc *cc);

/* cc_packets - how many full packets the line carries in delay_ns, rounded up, at least 1. */
uint32_t cc_packets(const struct nic_cc *cc, uint32_t delay_ns);

/* Each algorithm: what cc.h says of the function of that name. init begins with the line's rate, no
 * bound and no pacing; advance does what is due by now_ns. */
void dcqcn_init(struct nic_cc *cc, uint64_t now_ns);
void dcqcn_advance(struct nic_cc *cc, uint64_t now_ns);
void dcqcn_on_cnp(struct nic_cc *cc, uint64_t now_ns);
void dcqcn_on_send(struct nic_cc *cc, uint32_t bytes, uint64_t now_ns);
void dcqcn_on_idle(struct nic_cc *cc, uint64_t now_ns);
uint64_t dcqcn_deadline(const struct nic_cc *cc);

void swift_init(struct nic_cc *cc, uint64_t now_ns);
void swift_on_send(struct nic_cc *cc, uint64_t now_ns);
void swift_on_sample(struct nic_cc *cc, uint64_t delay_ns, uint32_t packets, uint64_t now_ns);
void swift_on_loss(struct nic_cc *cc, uint64_t now_ns);
void swift_on_timeout(struct nic_cc *cc, uint64_t now_ns);

/* swift_scaling_ns - how much longer the target is for a window of window_q16. */
uint32_t swift_scaling_ns(const struct nic_cc_rtt_params *params, uint32_t window_q16);

#endif
