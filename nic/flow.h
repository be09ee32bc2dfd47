/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow.h - flows and destinations, for the files of the core. See nic_cong.h.
 */
#ifndef NIC_FLOW_H
#define NIC_FLOW_H

#include "nic/nic_cong.h"

enum {
	NIC_DEST_NONE = 0xffff,
	NIC_DEST_BUCKETS = 4096, /* a power of two */
};

struct nic_flow {
	struct nic_cc cc;
	uint8_t algorithm; /* that was chosen for it */
	struct nic_cnp_limiter limiter; /* of notifications to the other end */
	struct nic_flow_counters counters;
};

struct nic_dest {
	struct nic_dest_key key;
	bool live;
	uint16_t next; /* in its bucket */
	/* Mappings, oldest first; indices of nic_cong.mappings, 0: none. */
	uint16_t first_mapping;
	uint16_t last_mapping;
	uint64_t used_ns; /* when something was last sent to it, or came */
	struct nic_flow flow;
};

struct nic_mapping {
	bool live;
	uint8_t algorithm;
	uint16_t dest;
	uint16_t next; /* of the same destination; of the free ones */
};

/* What the NIC has of all this. */
struct nic_cong {
	const struct nic_cc_params *params;
	uint64_t line_rate_bps;
	struct nic_dest *dests;
	struct nic_mapping *mappings; /* the first is not used */
	uint32_t dest_fresh;          /* none from here on was ever used */
	uint32_t dest_hand;           /* where the search for an idle one goes on */
	uint32_t mapping_fresh;
	uint16_t mapping_free;
	uint16_t buckets[NIC_DEST_BUCKETS]; /* dest + 1; 0: none */
};

/* nic_flow_start - *flow is new, or starts anew under that algorithm; its counters stay. acked: as
 * nic_cc_flow has it. */
void nic_flow_start(const struct nic *nic, struct nic_flow *flow, enum nic_cc_algorithm algorithm,
		    uint32_t mtu_bytes, uint64_t ack_timeout_ns, bool acked);
/* nic_flow_stats_of - all of *stats but `mapped`. */
void nic_flow_stats_of(struct nic *nic, struct nic_flow *flow, struct nic_flow_stats *stats);

/* nic_dest_find - NULL: there is no such one. nic_dest_get - makes it if need be; NULL: no
 * destination is idle. */
struct nic_dest *nic_dest_find(const struct nic *nic, const struct nic_dest_key *key);
struct nic_dest *nic_dest_get(struct nic *nic, const struct nic_dest_key *key);

#endif
