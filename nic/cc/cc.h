/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic/cc/cc.h - congestion control: how fast a flow may send, and how much of it may be under way.
 *
 * A flow is what has one context: a connected queue pair, or one destination of UD and DC. Its
 * owner tells the context what happens to the flow and asks before each packet whether it may go.
 * One file for each algorithm; docs/congestion.md explains them.
 *
 * A context is plain data of fixed size without pointers to itself: it may be copied, and is
 * forgotten by overwriting it. It reads no clock: time is an argument, in nanoseconds, and does not
 * go back.
 *
 * Timers: none has to be armed. What is due is done when the context is asked or told something, as
 * if it had been done in time. Who waits to send asks again at the time that nic_cc_may_send says.
 */
#ifndef NIC_CC_CC_H
#define NIC_CC_CC_H

#include <stdbool.h>
#include <stdint.h>

#define NIC_CC_NEVER UINT64_MAX

/* The numbers stand in ECE options. */
enum nic_cc_algorithm {
	NIC_CC_NONE = 0,
	NIC_CC_DCQCN = 1, /* cuts its rate when told of marks; raises it by time and bytes */
	NIC_CC_RTT = 2,   /* a window that keeps the round trip at a target: Swift, always paced */
	NIC_CC_COUNT,
};

/* DCQCN: the vendor's parameters by the vendor's names, and units. */
struct nic_cc_dcqcn_params {
	/* true: the rules of the paper, where each notification cuts and moves alpha. false: those
	 * of the cards, with a clock for alpha and at most one cut in a period. */
	bool paper_rules;
	bool clamp_tgt_rate;
	bool clamp_tgt_rate_after_time_inc;
	uint8_t rpg_gd;                /* a cut is rate * alpha (0..1023) >> rpg_gd */
	uint8_t rpg_min_dec_fac;       /* percent of the rate that a cut leaves at least */
	uint16_t dce_tcp_g;            /* weight of the old alpha, of 1024 */
	uint16_t initial_alpha_value;  /* of 1023 */
	uint32_t dce_tcp_rtt_us;       /* alpha's period */
	uint32_t rpg_time_reset_us;    /* the rate timer's period */
	uint64_t rpg_byte_reset_bytes; /* the byte counter's */
	uint32_t rpg_threshold;        /* increases that only recover */
	uint32_t rpg_ai_rate_mbps;
	uint32_t rpg_hai_rate_mbps;
	uint32_t rpg_min_rate_mbps;
	uint32_t rpg_max_rate_mbps;             /* 0: the line's */
	uint32_t rate_to_set_on_first_cnp_mbps; /* 0: the first notification cuts like others */
	uint32_t rate_reduce_monitor_period_us;
	uint32_t min_time_between_cnps_us; /* the receiver's: see nic_cnp_limiter */
};

/* Swift. Windows in packets, fractions of 2^16. */
struct nic_cc_rtt_params {
	uint32_t base_target_ns;
	uint32_t hop_target_ns; /* for each of hops */
	uint32_t hops;
	uint32_t fs_range_ns; /* what flow scaling adds at most: fs_a / sqrt(w) - fs_b */
	uint32_t fs_a_ns;
	uint32_t fs_b_ns;
	uint32_t ai_q16; /* packets a round trip */
	uint32_t beta_q16;
	uint32_t max_mdf_q16; /* what one cut takes at most */
	uint32_t min_window_q16;
	uint32_t max_window_q16;
	uint32_t retx_limit;   /* timeouts in a row until the window is the least */
	uint32_t min_valid_ns; /* a shorter round trip is no sample */
	/* For hosts. A sample is what the shortest of this and the last round trip took: a queue
	 * makes all of them longer, a thread that was not run those that waited for it. */
	bool host_pauses;
};

struct nic_cc_params {
	/* Under way are at most the bytes that the line carries in this time, one bandwidth-delay
	 * product, whatever the algorithm (but none); 0: no bound. NIC_CC_RTT takes its target
	 * delay, if that is longer. */
	uint32_t cap_ns;
	/* The token bucket: what may leave at once after a pause. Sent too late is sent all the
	 * same, so a host that wakes late still keeps the rate. 0: packet by packet. */
	uint32_t burst_bytes;
	struct nic_cc_dcqcn_params dcqcn;
	struct nic_cc_rtt_params rtt;
};

/* Named profiles. The first two have the same NIC_CC_RTT. */
extern const struct nic_cc_params nic_cc_paper;  /* DCQCN as published, for 40 Gb/s */
extern const struct nic_cc_params nic_cc_vendor; /* DCQCN with the cards' rules and defaults */
extern const struct nic_cc_params nic_cc_host;   /* for software, whose threads wake late */

/* What does not change in a flow's life. */
struct nic_cc_flow {
	uint64_t line_rate_bps;  /* not 0 */
	uint32_t mtu_bytes;      /* a full packet; not 0 */
	uint64_t ack_timeout_ns; /* 0: nobody waits for acknowledgements. Keeps the rate high enough
				  * that a message of some packets is not taken for lost. */
	bool acked; /* nic_cc_on_ack will come; else nothing is known about what is under way */
};

/* In both of these, and in the context, what each packet looks at comes first. */
struct nic_cc_dcqcn {
	bool active; /* a notification has come and the rate has not recovered */
	bool cut_pending;
	bool marked; /* in this period of alpha */
	uint32_t cut_count;
	uint64_t increase_at_ns; /* the rate timer; NIC_CC_NEVER: off */
	uint64_t idle_from_ns;   /* the application had nothing to send; NIC_CC_NEVER: it has */
	uint64_t sent_bytes;     /* since the byte counter's last event */
	uint64_t target_bps;
	uint64_t max_bps;
	uint64_t min_bps;
	uint64_t cut_allowed_ns; /* no cut before; 0: any time */
	uint64_t alpha_from_ns;  /* alpha is that of this time */
	uint32_t alpha_q30;
	uint32_t timer_count; /* T and BC of the paper */
	uint32_t byte_count;
};

struct nic_cc_rtt {
	uint64_t sent_at_ns;
	uint64_t srtt_ns; /* 0: no sample yet */
	uint32_t window_q16;
	uint32_t first_window_q16;
	uint32_t max_window_q16;
	uint32_t timeout_count; /* in a row */
	uint64_t rtt_ns;
	uint64_t cut_at_ns;
	/* With host_pauses: the shortest of this round, which began then, and of the one before. */
	uint64_t round_at_ns;
	uint64_t least_ns;
	uint64_t last_least_ns; /* 0: there was none */
	bool cut_before;
};

struct nic_cc {
	uint8_t algorithm; /* enum nic_cc_algorithm */
	bool acked;
	bool paced;                /* level is in use */
	uint32_t inflight_packets; /* counted if acked */
	uint32_t window_packets;   /* at least 1; UINT32_MAX: no bound */
	uint32_t mtu_bytes;
	/* The bucket: level drains at rate_bps, and each packet that goes fills it by its length;
	 * one may go while level is no more than the burst. In bits * 10^9, so that a nanosecond
	 * drains rate_bps. */
	uint64_t level;
	uint64_t level_at_ns;
	uint64_t rate_bps; /* of the algorithm: the line's if it sees no reason for less */
	const struct nic_cc_params *params;
	union {
		struct nic_cc_dcqcn dcqcn;
		struct nic_cc_rtt rtt;
	};
	uint64_t floor_bps;
	uint64_t line_rate_bps;
};

/* nic_cc_init - *cc for a new flow, or for one that starts anew under another algorithm.
 * *params stays the caller's and must outlive the context; *flow is copied. */
void nic_cc_init(struct nic_cc *cc, enum nic_cc_algorithm algorithm,
		 const struct nic_cc_params *params, const struct nic_cc_flow *flow,
		 uint64_t now_ns);

/* The rest of these two, for a flow with an algorithm. */
uint64_t nic_cc_wait(struct nic_cc *cc, uint64_t now_ns);
void nic_cc_sent(struct nic_cc *cc, uint32_t bytes, uint64_t now_ns);

/*
 * nic_cc_may_send - whether a packet may go: 0, yes; a later time, ask again then (the rate may
 * change in between, so the answer may be later still); NIC_CC_NEVER, when something that is under
 * way has been acknowledged or given up.
 */
static inline uint64_t nic_cc_may_send(struct nic_cc *cc, uint64_t now_ns)
{
	return cc->algorithm == NIC_CC_NONE ? 0 : nic_cc_wait(cc, now_ns);
}

/* nic_cc_on_send - a packet of so many bytes goes: the first time or again. */
static inline void nic_cc_on_send(struct nic_cc *cc, uint32_t bytes, uint64_t now_ns)
{
	if (cc->algorithm != NIC_CC_NONE)
		nic_cc_sent(cc, bytes, now_ns);
}

/* nic_cc_on_cnp - a congestion notification; false: this algorithm ignores it. */
bool nic_cc_on_cnp(struct nic_cc *cc, uint64_t now_ns);

/*
 * nic_cc_on_ack - packets are no longer under way because they have arrived.
 *
 *   rtt_ns   from a packet's leaving to its answer's coming; 0: no sample. Of packets sent once,
 *            which asked for the answer.
 *   turn_ns  how much of it the answer waited in the peer; 0: not known.
 */
void nic_cc_on_ack(struct nic_cc *cc, uint64_t rtt_ns, uint32_t packets, uint64_t turn_ns,
		   uint64_t now_ns);

/* nic_cc_on_loss - the peer says that something is missing, or a probe went unanswered. */
void nic_cc_on_loss(struct nic_cc *cc, uint64_t now_ns);

/* nic_cc_on_timeout - nothing has come for the whole timeout. */
void nic_cc_on_timeout(struct nic_cc *cc, uint64_t now_ns);

/* nic_cc_take_back - packets are no longer under way, though they have not been acknowledged: they
 * will be sent again, or never will. */
void nic_cc_take_back(struct nic_cc *cc, uint32_t packets);

/* nic_cc_on_idle - the application has nothing more to send for now; the next packet ends it. */
void nic_cc_on_idle(struct nic_cc *cc, uint64_t now_ns);

/* nic_cc_deadline - when the rate will next change by itself; NIC_CC_NEVER: it will not.
 * nic_cc_expire - does what is due. Optional: for who wants to see a rate that is up to date. */
uint64_t nic_cc_deadline(const struct nic_cc *cc);
void nic_cc_expire(struct nic_cc *cc, uint64_t now_ns);

/* What the context has come to. */
static inline uint64_t nic_cc_rate_bps(const struct nic_cc *cc)
{
	return cc->rate_bps;
}

static inline uint32_t nic_cc_window_packets(const struct nic_cc *cc)
{
	return cc->window_packets;
}

/* nic_cc_rtt_ns - the smoothed round trip, without the peer's turn; 0: not measured. */
uint64_t nic_cc_rtt_ns(const struct nic_cc *cc);

/* ---- the receiver's side ----------------------------------------------------------------------
 */

/* How long ago the last notification went out; zeroed: never. */
struct nic_cnp_limiter {
	uint64_t next_ns;
};

/* nic_cnp_due - a marked packet has come: whether a notification goes out. The first at once, then
 * at most one in an interval (min_time_between_cnps_us). */
static inline bool nic_cnp_due(struct nic_cnp_limiter *limiter, uint64_t interval_ns,
			       uint64_t now_ns)
{
	if (now_ns < limiter->next_ns)
		return false;
	limiter->next_ns = now_ns + interval_ns;
	return true;
}

#endif
