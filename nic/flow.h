/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow.h - flows, destinations, notifications and probes, for the files of the core. See
 * nic_cong.h.
 *
 * Nothing of this is touched by a queue pair whose path is no network, nor by one that was never
 * told of congestion: `paced` in struct nic_qp is all that the way of a packet looks at.
 */
#ifndef NIC_FLOW_H
#define NIC_FLOW_H

#include "abi/roce.h"
#include "nic/nic_cong.h"

struct nic_qp;
struct nic_pkt;

enum {
	NIC_DEST_NONE = 0xffff,
	NIC_DEST_BUCKETS = 4096, /* a power of two */
	NIC_NOTES_MAX = 64,
	NIC_NOTE_BYTES_MAX = ROCE_BTH_BYTES + ROCE_PROBE_BYTES,
	NIC_STAMPS = 64,  /* a power of two */
	NIC_SL_COUNT = 8, /* on Ethernet, which alone has flows */
};

/* When a packet left, to see how long its acknowledgement takes. */
struct nic_stamp {
	uint32_t psn;   /* | NIC_STAMP_F */
	uint32_t at_ns; /* the low 32 bits */
};

#define NIC_STAMP_F (1u << 31)

/* Round trips of who gets no acknowledgements: one probe at a time, while something is sent. */
struct nic_probe {
	bool asked;
	bool late;          /* the last was given up, and may be answered yet */
	bool answered;      /* ever */
	uint8_t misses;     /* in a row */
	uint32_t number;    /* of the last */
	uint32_t packets;   /* sent since the last was */
	uint32_t bytes;     /* likewise */
	uint32_t asked_for; /* packets that its answer will speak for */
	uint64_t asked_ns;
	uint64_t answered_ns;
};

/* A queue pair's place among those that wait for a destination's pace [turn.c]; also a responder's
 * of DC. Places are those in nic->qps + 1; 0: none. */
struct nic_standing {
	uint16_t dest; /* whose queue it stands in: its place in nic_cong.dests + 1; 0: none */
	uint16_t hint; /* likewise, where its last packet went */
	uint32_t before;
	uint32_t behind;
};

struct nic_flow {
	struct nic_cc cc;
	uint8_t algorithm;              /* that was chosen for it */
	uint32_t mtu_bytes;
	uint64_t ack_timeout_ns;        /* 0: nobody waits for acknowledgements */
	struct nic_probe probe;
	struct nic_cnp_limiter limiter; /* of notifications to the other end */
	struct nic_flow_counters counters;

	uint64_t alarm_ns; /* NIC_CC_NEVER: not in the heap of alarms */
	uint32_t alarm_pos;

	/* A queue pair's. */
	uint32_t window_psns; /* the path's bound, whatever the algorithm says */
	uint32_t acked_psn;   /* psn_una, when it was last told */
	uint16_t dest;        /* of an initiator of DC: whose flow is its own now */
	struct nic_stamp stamps[NIC_STAMPS];
};

struct nic_dest {
	struct nic_dest_key key;
	bool live;
	bool paced;
	uint16_t next; /* in its bucket */
	/* Mappings, oldest first; indices of nic_cong.mappings, 0: none. */
	uint16_t first_mapping;
	uint16_t last_mapping;
	uint64_t used_ns; /* when something was last sent to it, or came */
	uint32_t users;   /* initiators of DC whose flow it is now */
	/* Who waits for its pace [turn.c]: places of queue pairs. */
	uint32_t turn_first;
	uint32_t turn_last;
	uint32_t called; /* who was called last, and may send while others wait */
	struct nic_flow flow;
};

struct nic_mapping {
	bool live;
	uint8_t algorithm;
	uint16_t dest;
	uint16_t next; /* of the same destination; of the free ones */
};

/* A packet that belongs to no queue pair's sequence, on its way out: a notification, or a probe. */
struct nic_note {
	struct nic_path path;
	uint32_t dqpn;
	uint32_t len_bytes;
	struct nic_flow *flow; /* whose notification it is */
	uint8_t bytes[NIC_NOTE_BYTES_MAX];
};

/* What the NIC has of all this. */
struct nic_cong {
	/* Alarms and notes: nic_run looks whether there is any of either. */
	uint32_t work_count;
	uint32_t alarm_count;
	uint32_t note_count;
	uint32_t note_first;
	uint32_t *alarms;       /* a heap, by alarm_ns: indices of queue pairs, then of dests */
	struct nic_flow *flows; /* one for each queue pair */
	struct nic_note *notes; /* a ring */
	const struct nic_cc_params *params;
	uint64_t line_rate_bps;
	struct nic_dest *dests;
	struct nic_mapping *mappings; /* the first is not used */
	uint32_t dest_fresh;          /* none from here on was ever used */
	uint32_t dest_hand;           /* where the search for an idle one goes on, */
	uint64_t look_again_ns;       /* and when */
	uint32_t mapping_fresh;
	uint16_t mapping_free;
	uint16_t buckets[NIC_DEST_BUCKETS]; /* dest + 1; 0: none */
};

/* ---- flow.c ---------------------------------------------------------------------------------- */

/* nic_flow_start - *flow is new, or starts anew under that algorithm; its counters stay. */
void nic_flow_start(const struct nic *nic, struct nic_flow *flow, enum nic_cc_algorithm algorithm,
		    uint32_t mtu_bytes, uint64_t ack_timeout_ns);
/* nic_flow_use - it starts anew under another algorithm than was chosen, or again under that. */
void nic_flow_use(const struct nic *nic, struct nic_flow *flow, enum nic_cc_algorithm algorithm);
/* nic_flow_stats_of - all of *stats but `mapped`. */
void nic_flow_stats_of(const struct nic *nic, struct nic_flow *flow, struct nic_flow_stats *stats);

/* nic_flow_of - a queue pair's own. */
struct nic_flow *nic_flow_of(const struct nic *nic, struct nic_qp *qp);
/* nic_flow_begin - qp's path, or what it needs to know of it, has been set: how much may be under
 * way, and a new flow, or, of an initiator of DC, that of where it leads. */
void nic_flow_begin(struct nic *nic, struct nic_qp *qp);
/* nic_flow_follow - the destination has another algorithm: initiators of DC whose flow it is go by
 * that. Cost: linear in live queue pairs. */
void nic_flow_follow(struct nic *nic, uint16_t dest);
/* nic_flow_end - qp is reset, destroyed, or in error. */
void nic_flow_end(struct nic *nic, struct nic_qp *qp);

/*
 * Of a queue pair that is paced:
 * nic_flow_gate - whether its next packet may go; if not, it gets a turn when it may.
 * nic_flow_sent - a packet went.
 */
bool nic_flow_gate(struct nic *nic, struct nic_qp *qp);
void nic_flow_sent(struct nic *nic, struct nic_qp *qp, uint32_t len_bytes);
/* nic_flow_unacked - likewise, one that nobody acknowledges: probes tell how long its way is.
 * nic_flow_probed - a probe was answered. */
void nic_flow_unacked(struct nic *nic, struct nic_qp *qp, uint32_t len_bytes);
void nic_flow_probed(struct nic *nic, struct nic_qp *qp);

/* Of one whose requests are acknowledged, too:
 * nic_flow_waits - whether its turn to send is known, and not yet come.
 * nic_flow_message - nic_flow_sent, of a message's packet that goes for the first time.
 * nic_flow_acked - psn_una has moved. */
bool nic_flow_waits(const struct nic *nic, const struct nic_qp *qp);
void nic_flow_message(struct nic *nic, struct nic_qp *qp, uint32_t psn, uint32_t len_bytes);
void nic_flow_acked(struct nic *nic, struct nic_qp *qp);

/* Of any: a packet goes again; one was lost; nothing came for the whole timeout. */
void nic_flow_resent(struct nic *nic, struct nic_qp *qp, uint32_t psn);
void nic_flow_lost(struct nic *nic, struct nic_qp *qp);
void nic_flow_timed_out(struct nic *nic, struct nic_qp *qp);
/* nic_flow_notified - a notification has come for qp; false: it slows nothing. */
bool nic_flow_notified(struct nic *nic, struct nic_qp *qp);

/* ---- alarm.c: when who waits for its turn gets it -------------------------------------------- */

void nic_alarm_set(struct nic *nic, struct nic_qp *qp, uint64_t at_ns);
void nic_alarm_cancel(struct nic *nic, struct nic_qp *qp);
/* Likewise, of a destination: the first that waits for its pace gets it. */
void nic_alarm_set_dest(struct nic *nic, struct nic_dest *dest, uint64_t at_ns);
void nic_alarm_cancel_dest(struct nic *nic, struct nic_dest *dest);
void nic_alarm_expire(struct nic *nic);
/* nic_alarm_next - when the first is due; NIC_CC_NEVER: there is none. */
uint64_t nic_alarm_next(const struct nic *nic);

/* ---- turn.c: who waits for a destination's pace, and who is next ----------------------------- */

/* nic_turn_take - whether qp's next packet to dest may go; if not, it stands in dest's queue.
 * nic_turn_sent - a packet to dest went. */
bool nic_turn_take(struct nic *nic, struct nic_qp *qp, struct nic_dest *dest);
void nic_turn_sent(struct nic *nic, struct nic_dest *dest);
/* nic_turn_leave - it waits for no destination. */
void nic_turn_leave(struct nic *nic, struct nic_qp *qp);
/* nic_turn_expire - dest's alarm is due. */
void nic_turn_expire(struct nic *nic, struct nic_dest *dest);
/* nic_turn_check - asserts what must hold of dest's queue. */
void nic_turn_check(const struct nic *nic, const struct nic_dest *dest);

/* ---- dest.c ---------------------------------------------------------------------------------- */

/* nic_dest_find - NULL: there is no such one. nic_dest_get - makes it if need be; NULL: none of
 * those that were looked at is idle. */
struct nic_dest *nic_dest_find(const struct nic *nic, const struct nic_dest_key *key);
struct nic_dest *nic_dest_get(struct nic *nic, const struct nic_dest_key *key);
/*
 * nic_dest_gate - whether qp's next packet, whose path and destination are in its params, may go to
 * where that is; if not, it gets a turn when it may. Sets the path's ECN, and qp->paced: then
 * nic_dest_sent shall be told.
 */
bool nic_dest_gate(struct nic *nic, struct nic_qp *qp);
/* nic_dest_gate_answer - the same of the data of a READ, of a responder of DC whose path is a
 * network. It stays paced: another may have been the reason for a notification. */
bool nic_dest_gate_answer(struct nic *nic, struct nic_qp *responder);
void nic_dest_sent(struct nic *nic, struct nic_qp *qp, uint32_t len_bytes);
/* nic_dest_notified - a notification came from there, for a datagram queue pair; false: it slows
 * nothing. */
bool nic_dest_notified(struct nic *nic, const struct nic_rx *rx);

/* ---- probe.c: round trips of what is not acknowledged ---------------------------------------- */

/* nic_probe_sent - qp has sent len_bytes more of flow, whose algorithm lives by round trips.
 * nic_probe_look - whether an answer is overdue. */
void nic_probe_sent(struct nic *nic, const struct nic_qp *qp, struct nic_flow *flow,
		    uint32_t len_bytes);
void nic_probe_look(struct nic *nic, struct nic_flow *flow);
void nic_probe_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx);

/* ---- cnp.c: notifications -------------------------------------------------------------------- */

/* nic_cnp_marked - a packet has come that was marked on its way, to a connected queue pair.
 * nic_cnp_marked_datagram - to another, from that queue pair. */
void nic_cnp_marked(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt);
void nic_cnp_marked_datagram(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
			     const struct nic_rx *rx, uint32_t source_qpn);
void nic_cnp_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx);
/* nic_note_add - room for one; NULL: too many wait, and this one is lost. nic_way_back - where what
 * came to qp over a network came from, for a note of ours. */
struct nic_note *nic_note_add(struct nic *nic);
struct nic_path nic_way_back(const struct nic *nic, const struct nic_qp *qp,
			     const struct nic_rx *rx);
/* nic_notes_run - sends what waits, as far as there is room. */
void nic_notes_run(struct nic *nic);
/* nic_notes_forget - none is flow's any more. */
void nic_notes_forget(struct nic *nic, const struct nic_flow *flow);

#endif
