/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_cong.h - the NIC's interface, continued: congestion control.
 *
 * A flow is what has one state of congestion control (nic/cc/cc.h): a connected queue pair, or a
 * destination. What datagram queue pairs and DC initiators of a NIC send to one destination is one
 * flow, whichever of them sends it.
 *
 * Only paths that are networks have flows: those for which nic_env.tx_window_bytes gives a bound.
 * On others (the local wire) nothing is marked, probed or paced.
 *
 * Threads and errors: as nic.h.
 */
#ifndef NIC_NIC_CONG_H
#define NIC_NIC_CONG_H

#include <string.h>

#include "nic/cc/cc.h"
#include "nic/nic.h"

enum {
	NIC_DESTS_MAX = 4096,    /* destinations at a time; idle ones make room for others */
	NIC_MAPPINGS_MAX = 4096, /* address handles that are mapped */
};

/* A destination, as an address vector names it: by its GID if the path has a global route, as it
 * always has on Ethernet; else by its LID. */
struct nic_dest_key {
	uint8_t dgid[16];
	uint16_t dlid; /* 0 where there is a GID */
	uint8_t sgid_index;
	uint8_t sl;
};

/* nic_dest_key_of - the destination that a path leads to. Inline: a result in memory, written in
 * bytes and copied in words, costs more than all that it is made of. */
static inline struct nic_dest_key nic_dest_key_of(const struct nic_path *path)
{
	struct nic_dest_key key = {.sgid_index = path->sgid_index, .sl = path->sl};
	uint64_t halves[2];

	memcpy(halves, path->dgid, sizeof(halves));
	memcpy(key.dgid, path->dgid, sizeof(key.dgid));
	if ((halves[0] | halves[1]) == 0)
		key.dlid = path->dlid;
	return key;
}

/* nic_qp_algorithm - the algorithm that a queue pair has agreed on with its peer, or the port's
 * default. -EINVAL: no such queue pair. */
int nic_qp_algorithm(const struct nic *nic, uint32_t qpn, enum nic_cc_algorithm *algorithm);

/*
 * nic_dest_map - what is sent to the destination uses that algorithm, until nic_dest_unmap: while
 * an older mapping of it lives, that one's. *mapping names it, and is not 0.
 *   -EINVAL  no such algorithm
 *   -ENOMEM  NIC_MAPPINGS_MAX, or no destination is idle
 */
int nic_dest_map(struct nic *nic, const struct nic_dest_key *key, enum nic_cc_algorithm algorithm,
		 uint64_t now_ns, uint32_t *mapping);
/* nic_dest_unmap - the next oldest mapping rules; if it was the last, the port's default. Where
 * that is another algorithm, the flow starts anew. -EINVAL: no such mapping. */
int nic_dest_unmap(struct nic *nic, uint32_t mapping, uint64_t now_ns);

/* X(name): one uint64_t each, counted in the life of a flow. */
#define NIC_FLOW_COUNTERS(X)                                                                     \
	X(tx_packets)   /* a destination's: if it has an algorithm; else: while it is paced */   \
	X(marks)        /* packets that came marked from the other end */                        \
	X(cnps_sent)    /* notifications that this told it */                                    \
	X(cnps_handled) /* notifications that came, and slowed the flow */                       \
	X(cnps_ignored) /* and that did not */                                                   \
	X(retransmits)                                                                           \
	X(losses)   /* signs of loss: refusals out of sequence, probes that were not answered */ \
	X(timeouts) /* nothing came for the whole timeout */                                     \
	X(waits)    /* times a packet had to wait for its turn */                                \
	X(probes_sent)                                                                           \
	X(probes_answered)

struct nic_flow_counters {
#define X(name) uint64_t name;
	NIC_FLOW_COUNTERS(X)
#undef X
};

/* What a flow looks like now. */
struct nic_flow_stats {
	enum nic_cc_algorithm algorithm;
	bool mapped;             /* a destination that nic_dest_map has given its algorithm */
	bool paced;              /* else what it sends is not held back */
	uint64_t rate_bps;       /* the line's if it is not paced */
	uint64_t rtt_ns;         /* smoothed; 0: not measured */
	uint32_t window_packets; /* that may be under way; UINT32_MAX: no bound */
	struct nic_flow_counters counters;
};

/* nic_qp_flow_stats - of a connected queue pair's flow; -EINVAL: there is no such one. */
int nic_qp_flow_stats(struct nic *nic, uint32_t qpn, uint64_t now_ns, struct nic_flow_stats *stats);

/*
 * nic_dest_next - one destination after the other: *cursor is 0 before the first call. false: there
 * is no more. A destination is there once something was sent to it over a network, a mapping names
 * it, or a marked datagram came from it.
 */
bool nic_dest_next(struct nic *nic, uint32_t *cursor, uint64_t now_ns, struct nic_dest_key *key,
		   struct nic_flow_stats *stats);

#endif
