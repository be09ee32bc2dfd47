/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - what a NIC has counted, by the names that Linux gives it, and the messages by which one
 * process asks another for it.
 *
 * A process that has the software NIC open answers on an abstract datagram socket, whose name
 * starts with STATS_SOCKET_PREFIX, its user's number and a dot. One request, one answer: the port's
 * counters, and a bounded number of flows from the place that the request names. Numbers are in the
 * host's byte order, since both ends are on it.
 *
 * What comes out of a socket is another process's: stats_reply_check, and then it may be read.
 */
#ifndef ABI_STATS_H
#define ABI_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What Linux has below ports/1/hw_counters, in its order [linux mlx5 counters.c]. */
#define STATS_HW_COUNTERS(X)              \
	X(rx_write_requests)              \
	X(rx_read_requests)               \
	X(rx_atomic_requests)             \
	X(out_of_buffer)                  \
	X(out_of_sequence)                \
	X(duplicate_request)              \
	X(rnr_nak_retry_err)              \
	X(packet_seq_err)                 \
	X(implied_nak_seq_err)            \
	X(local_ack_timeout_err)          \
	X(resp_local_length_error)        \
	X(resp_cqe_error)                 \
	X(req_cqe_error)                  \
	X(req_remote_invalid_request)     \
	X(req_remote_access_errors)       \
	X(resp_remote_access_errors)      \
	X(resp_cqe_flush_error)           \
	X(req_cqe_flush_error)            \
	X(req_transport_retries_exceeded) \
	X(req_rnr_retries_exceeded)       \
	X(roce_adp_retrans)               \
	X(rp_cnp_ignored)                 \
	X(rp_cnp_handled)                 \
	X(np_ecn_marked_roce_packets)     \
	X(np_cnp_sent)                    \
	X(rx_icrc_encapsulated)

/* And below ports/1/counters [linux infiniband core/sysfs.c]; data in units of 4 bytes. */
#define STATS_PORT_COUNTERS(X)    \
	X(port_xmit_data)         \
	X(port_xmit_packets)      \
	X(port_rcv_data)          \
	X(port_rcv_packets)       \
	X(port_rcv_errors)        \
	X(port_xmit_discards)     \
	X(unicast_xmit_packets)   \
	X(unicast_rcv_packets)    \
	X(multicast_xmit_packets) \
	X(multicast_rcv_packets)

/* Of one queue pair since it was made. */
#define STATS_QP_COUNTERS(X) \
	X(tx_packets)        \
	X(rx_packets)        \
	X(tx_payload_bytes)  \
	X(rx_payload_bytes)  \
	X(retransmits)       \
	X(ack_timeouts)      \
	X(sequence_naks)     \
	X(rnr_naks)

/* Of what congestion control does for a queue pair or a destination [nic/nic_cong.h]. */
#define STATS_CC_COUNTERS(X) \
	X(marks)             \
	X(cnps_sent)         \
	X(cnps_handled)      \
	X(cnps_ignored)      \
	X(retransmits)       \
	X(losses)            \
	X(timeouts)          \
	X(waits)             \
	X(probes_sent)       \
	X(probes_answered)

enum stats_counter {
#define X(name) STATS_##name,
	STATS_HW_COUNTERS(X) STATS_PORT_COUNTERS(X)
#undef X
	    STATS_COUNT,
	STATS_HW_COUNT = STATS_port_xmit_data,
};

extern const char *const stats_names[STATS_COUNT];

/* stats_find - the counter called name, or STATS_COUNT. */
enum stats_counter stats_find(const char *name);

struct stats_qp_counters {
#define X(name) uint64_t name;
	STATS_QP_COUNTERS(X)
#undef X
};

struct stats_cc_counters {
#define X(name) uint64_t name;
	STATS_CC_COUNTERS(X)
#undef X
};

/* The kinds and states of queue pairs that have names here; 0: another. */
enum stats_type {
	STATS_TYPE_OTHER,
	STATS_TYPE_RC,
	STATS_TYPE_UC,
	STATS_TYPE_UD,
	STATS_TYPE_XRC_INI,
	STATS_TYPE_XRC_TGT,
	STATS_TYPE_DCI,
	STATS_TYPE_DCT,
	STATS_TYPE_RAW,
	STATS_TYPE_COUNT,
};
enum stats_state {
	STATS_STATE_OTHER,
	STATS_STATE_RESET,
	STATS_STATE_INIT,
	STATS_STATE_RTR,
	STATS_STATE_RTS,
	STATS_STATE_SQD,
	STATS_STATE_SQE,
	STATS_STATE_ERR,
	STATS_STATE_COUNT,
};
/* Words for them and for the numbers of congestion control; "?" for what has none. */
const char *stats_type_text(uint32_t type);
const char *stats_state_text(uint32_t state);
const char *stats_algorithm_text(uint32_t algorithm);

/* A queue pair, or one destination of those that have no single peer. */
struct stats_flow {
	uint32_t qpn;      /* 0: a destination: no type, no state, and of qp only tx_packets */
	uint32_t dest_qpn; /* of a connected queue pair */
	uint8_t type;      /* enum stats_type */
	uint8_t state;     /* enum stats_state */
	uint8_t sl;
	uint8_t sgid_index;
	uint16_t dlid;    /* of the peer, on InfiniBand */
	uint8_t dgid[16]; /* of the peer, elsewhere; zero: none */
	/* Congestion control; the rest means nothing if there is none. */
	uint8_t has_cc;
	uint8_t algorithm; /* enum nic_cc_algorithm */
	uint8_t mapped;    /* a destination that an address handle has given its algorithm */
	uint8_t paced;     /* else what is sent to it is not held back */
	uint8_t zero[2];
	uint32_t window_packets; /* that may be under way; UINT32_MAX: no bound */
	uint64_t rate_bps;       /* the line's if it is not paced */
	uint64_t rtt_ns;         /* smoothed round trip; 0: not measured */
	struct stats_qp_counters qp;
	struct stats_cc_counters cc;
};

/* ---- messages -------------------------------------------------------------------------------- */

#define STATS_SOCKET_PREFIX "rig5.stats."
#define STATS_MAGIC         0x73353567u

enum {
	STATS_VERSION = 1,
	STATS_FLOWS_MAX = 64, /* of one answer */
	STATS_NIC_BYTES = 64,
	/* Flows are numbered: queue pairs from 0, destinations from here. */
	STATS_DEST_FIRST = 1 << 24,
};

struct stats_request {
	uint32_t magic;
	uint32_t version;
	uint32_t serial; /* comes back in the answer */
	uint32_t from;   /* number of the first flow that is wanted */
};

struct stats_reply {
	uint32_t magic;
	uint32_t version;
	uint32_t serial;
	uint32_t bytes;      /* of this message */
	uint32_t flow_count; /* in it */
	uint32_t next;       /* number to ask for next; 0: there are no more */
	uint8_t gid[16];     /* of the port */
	uint16_t lid;        /* 0: Ethernet */
	uint16_t zero;
	/* How many processes have left the port since it was founded, and what they had counted. */
	uint32_t left_count;
	uint64_t time_ns;          /* CLOCK_MONOTONIC */
	char nic[STATS_NIC_BYTES]; /* its name in this process */
	uint64_t counters[STATS_COUNT];
	uint64_t left[STATS_COUNT];
	struct stats_flow flows[STATS_FLOWS_MAX];
};

static inline size_t stats_reply_bytes(uint32_t flow_count)
{
	return offsetof(struct stats_reply, flows) + flow_count * sizeof(struct stats_flow);
}

/* stats_request_check - whether the bytes that came are a request. */
bool stats_request_check(const struct stats_request *request, size_t bytes);
/* stats_reply_check - whether the bytes that came are a whole answer to request: then flow_count,
 * next and the name can be trusted, the numbers are whatever they are. */
bool stats_reply_check(struct stats_reply *reply, size_t bytes,
		       const struct stats_request *request);

#endif
