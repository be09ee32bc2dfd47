/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig5_stats.h - a part of rig5.h, which includes it: the port's counters, and what queue pairs and
 * destinations do right now. What rig5.h says of errors, threads and ownership holds here.
 */
#ifndef RIG5_STATS_H
#define RIG5_STATS_H

#ifndef RIG5_H
#error "include rig5.h: this is a part of it"
#endif

#define RIG_COUNTER_NAME_MAX 40

/* One of the port's: its name as the kernel has it below hw_counters and counters of the port. */
struct rig_counter {
	char name[RIG_COUNTER_NAME_MAX];
	uint64_t value;
};

/*
 * rig_nic_counters - what the NIC's port has counted: on hardware all that the kernel shows, for
 * every program; of the software NIC what it did in this process. Each is read by itself.
 *   counters  array of at least max; [0, n) is written.
 * Returns how many there are, which may be more than max; 0 where the kernel shows none. Cost: a
 * look at a file, or into the NIC, for each: some hundred microseconds in all.
 */
int rig_nic_counters(struct rig_nic *nic, struct rig_counter *counters, int max);

/* A queue pair, or one destination of those that have no single peer, as it is now. */
struct rig_flow {
	uint32_t qp;                /* number; 0: a destination */
	uint32_t remote_qp;         /* of a connected queue pair */
	struct rig_address address; /* of the peer; zero: there is none */
	/* What congestion control does: a rate that it is held to, in bits a second; 0: it is not
	 * held back. The round trip; 0: not measured. */
	enum rig_cc cc;
	bool mapped;                /* an address handle gave this destination its algorithm */
	uint64_t rate_bps;
	uint64_t rtt_ns;
	uint64_t marks;             /* packets that came marked, of congestion, from there */
	uint64_t notices_sent;      /* congestion notifications (CNPs) sent there for them */
	uint64_t notices_handled;   /* that came from there, and slowed it */
	uint64_t retransmits;       /* packets sent again */
	/* Of a queue pair alone. */
	uint64_t sent_packets;
	uint64_t sent_bytes;        /* of data */
	uint64_t received_packets;
	uint64_t received_bytes;
	uint64_t timeouts;          /* nobody acknowledged in time */
};

/*
 * rig_nic_flows - the queue pairs of the NIC in this process, whoever made them, and behind them
 * the destinations that it knows. Parts of up to 64 are of one moment.
 *   flows  array of at least max; [0, n) is written.
 * Returns how many there are, which may be more than max; -EOPNOTSUPP: only the software NIC can
 * tell. Any thread. Cost: the NIC's lock, some microseconds for 64.
 */
int rig_nic_flows(struct rig_nic *nic, struct rig_flow *flows, int max);
/* rig_qp_flow - that of qp alone. 0, -EINVAL or -EOPNOTSUPP. */
int rig_qp_flow(const struct rig_qp *qp, struct rig_flow *flow);

#endif
