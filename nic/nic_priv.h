/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_priv.h - what the files of the core share: its objects, and each file's entry points.
 *
 * An entry of a send ring lives through three files. req.c copies it (wqe.c), gives it packet
 * sequence numbers and a record in the queue pair's ring of operations, and sends its packets.
 * comp.c takes what comes back, moves psn_una on, and completes the oldest operations. A record
 * holds only what cannot be read again: a retransmission copies the entry from the ring once more
 * and checks that it is still the same.
 *
 *   operations   op_tail ........... op_cur ........ op_head       free-running counts
 *   PSNs         psn_una ........... psn_send ...... psn_next      psn_high: highest ever sent + 1
 *                oldest not          next packet     first PSN of
 *                acknowledged        to send         the next operation
 *
 * The responder's output has an order too, that of the requests: responses of READs and atomics
 * that are due (res_due), then one NAK or ACK.
 */
#ifndef NIC_NIC_PRIV_H
#define NIC_NIC_PRIV_H

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "abi/roce_opcode.h"
#include "base/assert.h"
#include "base/be.h"
#include "base/hot.h"
#include "base/prng.h"
#include "base/ring.h"
#include "nic/cc/cc.h"
#include "nic/cq.h"
#include "nic/dc.h"
#include "nic/flow.h"
#include "nic/mkey.h"
#include "nic/nic.h"
#include "nic/srq.h"

#define NIC_TIME_NEVER UINT64_MAX

enum {
	NIC_OPS_LOG2 = 7,
	NIC_OPS = 1 << NIC_OPS_LOG2, /* operations of a queue pair that are sent and not complete */
	NIC_RES = 16,                /* responses a responder remembers, to repeat them */
	NIC_PSN_WINDOW = 1 << 23,    /* PSNs between the oldest not acknowledged and the newest
					[IBTA1 9.7.2] */
	NIC_ACK_EVERY = 16,     /* in a long message, every packet whose PSN ends so asks for an
				   acknowledgement; a power of two */
	NIC_VISIT_PACKETS = 16, /* a queue pair's turn: packets as responder, and as requester */
	NIC_VISIT_FLUSHES = 64, /* likewise, completions of a queue pair in error */
	NIC_BLOCK_LOG2 = 12,
	NIC_BLOCK = 1 << NIC_BLOCK_LOG2,
	NIC_BLOCKS_MAX = 16,
	NIC_PIECES_MAX = WQE_DS_MAX,
	NIC_WQE_BYTES_MAX = (WQE_DS_MAX + 1) * WQE_UNIT_BYTES,
	NIC_QPS_SPARE = 64, /* numbers rest in the free list while there are fresh ones */
	NIC_MKEY_FIRST = 8, /* so that no key is 0, WQE_LKEY_INVALID or WQE_UMR_STRIDED, whatever
			       its tag */
	NIC_DEPTH_MAX = 4,  /* keys that lead to one another, the first not counted */
	NIC_STEPS_PER_MKEY = 4,
	NIC_ROOMS = 21, /* sizes of rooms for pieces of keys: 1, 2, 4 ... 2^20 */
};

/* ---- tables (obj.c) -------------------------------------------------------------------------- */

struct nic_pd;

/* Indices of a fixed table: never used ones from `fresh` up, and freed ones, oldest first. */
struct nic_slots {
	uint32_t *next;
	uint32_t limit;
	uint32_t fresh;
	uint32_t free_head;
	uint32_t free_tail;
	uint32_t free_count;
};
bool nic_slot_take(struct nic_slots *slots, uint32_t spare_count, uint32_t *index);
void nic_slot_give(struct nic_slots *slots, uint32_t index);
struct nic_pd *nic_pd_find(const struct nic *nic, uint32_t pdn);

/* A protection domain, or an XRC domain. */
struct nic_pd {
	uint32_t users;
	bool live;
};

/* One record of what nic_scan reads: a doorbell record, and the value it had. */
struct nic_qp_watch {
	uint64_t db_va;
	uint32_t index;
	uint16_t sq_seen;
	uint8_t look; /* enum nic_look */
};

enum nic_look {
	NIC_LOOK_NOT,
	NIC_LOOK_SQ,    /* ready to send: the send counter */
	NIC_LOOK_FLUSH, /* in error: both counters */
};

/* ---- entries (wqe.c) ------------------------------------------------------------------------- */

struct nic_piece {
	uint64_t va; /* inline: offset in raw */
	uint32_t len_bytes;
	uint32_t lkey;
};

/* What an atomic does to a value of 4 or 8 bytes. 4-byte operands are in the lower halves. */
struct nic_atomic {
	uint64_t swap_add;
	uint64_t compare;
	uint64_t swap_mask;    /* of an addition: no carry crosses a bit that is set here */
	uint64_t compare_mask; /* of a swap: the bits that must be equal */
	uint8_t opcode;        /* enum wqe_opcode */
	uint8_t len_bytes;
};

/* A send or receive entry, copied and decoded. The NIC has three: see struct nic. */
struct nic_wqe {
	uint64_t owner; /* which entry this is; 0: none */
	uint64_t raddr;
	struct nic_atomic atomic;
	uint64_t len_bytes;
	uint64_t inline_mask; /* bit i: pieces[i] is inline */
	uint32_t rkey;
	uint32_t imm;
	uint32_t srqn; /* XRC: the queue at the peer that the request is for */
	uint32_t dqpn; /* UD and DC, this one and the next three: where it goes */
	uint32_t qkey;
	uint64_t dc_key;
	struct nic_path path;
	uint32_t piece_count;
	uint32_t raw_bytes; /* of an entry that is no message: all of it */
	uint16_t wqebb_count;
	uint8_t opcode;
	uint8_t fm_ce_se;
	/* Where the last copy stopped: byte `off` of the message is in piece `piece`. */
	uint32_t at_piece;
	uint32_t at_piece_off;
	uint64_t at_off;
	struct nic_piece pieces[NIC_PIECES_MAX];
	uint8_t raw[NIC_WQE_BYTES_MAX];
};

/* Why something local failed: what its completion says. syndrome 0: it did not. */
struct nic_fault {
	uint8_t syndrome; /* enum cqe_syndrome */
	uint8_t vendor;   /* enum cqe_vendor_syndrome */
};

/* ---- queue pairs (qp.c) ---------------------------------------------------------------------- */

enum {
	NIC_OP_SIGNAL_F = 1 << 0,
	NIC_OP_SOLICITED_F = 1 << 1,
	NIC_OP_FAILED_F = 1 << 2, /* fails with `fault` once those before it are complete */
	NIC_OP_BUSY_F = 1 << 3,   /* a local operation that is not done */
	NIC_OP_FLUSHED_F = 1 << 4, /* DC: its stream has failed; it sends nothing */
};

struct nic_op {
	uint32_t psn;       /* the first */
	uint32_t psn_count; /* 0: no packet (local, or failed before it was sent) */
	uint32_t len_bytes;
	uint16_t wqe_index;
	uint16_t wqebb_count;
	uint8_t opcode; /* enum wqe_opcode */
	uint8_t flags;
	struct nic_fault fault;
};

/* A READ or atomic as the responder remembers it. */
struct nic_res {
	uint64_t va;    /* READ */
	uint64_t value; /* atomic: what was in memory */
	uint32_t psn;
	uint32_t psn_count;
	uint32_t len_bytes;
	uint32_t rkey;
	uint32_t pdn;
	uint32_t msn;
	/* The run of packets that is due: the first has the opcode FIRST, `run_end` is not sent. */
	uint32_t run_start;
	uint32_t run_next;
	uint32_t run_end;
	uint32_t run_len_bytes; /* bytes of the message up to the end of the run */
	bool is_atomic;
};

/* Packets that a queue pair may be sent: what a peer asks of it, and what it is answered. */
enum {
	NIC_TAKES_REQUESTS_F = 1 << 0,
	NIC_TAKES_ANSWERS_F = 1 << 1,
};

struct nic_qp {
	/* Scheduling: survives reset and destroy, because the ready list does. */
	uint32_t ready_next;
	bool is_ready;

	bool live;
	uint8_t type;      /* enum nic_qp_type */
	uint8_t transport; /* the upper bits of its opcodes */
	uint8_t state;     /* enum nic_qp_state */
	uint8_t takes;     /* NIC_TAKES_*_F, as its type and state have it */
	uint8_t mtu_log2;
	bool sq_signal_all;
	bool rq_signed;
	bool sq_halted;   /* an operation has failed: start no other */
	bool sq_stalled;  /* the next entry waits until an operation completes */
	bool overdue;     /* UC, UD: what the wire has no room for now is lost */
	bool rnr_waiting; /* deadline_ns is the end of an RNR wait */
	bool went_back;   /* psn_una was sent again since it last moved */
	bool told_lost;   /* what goes again was lost for sure */
	bool rtt_timed;   /* a packet's round trip is being measured */
	bool probing;     /* nothing but psn_una is under way, until something is acknowledged */
	uint8_t backed_off; /* wait_ns is doubled so many times, until a round trip is measured */
	bool networked;   /* its path is a network: it has a flow [flow.h] */
	bool paced;       /* and the flow is asked before each packet; UD: of the entry it sends */
	bool flow_made;   /* its row in nic_cong.flows is its own */
	bool db_ahead;    /* reported */
	bool sqd_event;   /* owed when the send queue has drained */
	bool sig_drain;   /* a wrong signature in what it sends stops the send queue */
	uint8_t retry_left;
	uint8_t rnr_left;
	uint8_t rd_used; /* READs and atomics sent and not complete */

	/* Requester. */
	uint16_t sq_pi;   /* the doorbell record's value, as last read */
	uint16_t sq_next; /* next block to execute */
	uint16_t sq_mask;
	uint32_t op_head;
	uint32_t op_cur;
	uint32_t op_tail;
	uint32_t psn_una;
	uint32_t psn_send;
	uint32_t psn_next;
	uint32_t psn_high;
	uint32_t window_psns; /* PSNs that may be under way; 0: no bound but the wire's */
	uint32_t read_psns;   /* a READ is asked for in pieces of so many packets; 0: whole */
	uint32_t copied_bytes; /* of the MMO that is busy */
	uint64_t deadline_ns;
	uint64_t timeout_ns;
	uint64_t wait_ns;       /* what is waited before something is done; timeout_ns at most */
	uint64_t wait_from_ns;  /* the timeout counts from here */
	uint64_t rtt_from_ns;   /* when the packet that is measured was sent */
	uint32_t rtt_psn;
	uint32_t probe_psn;     /* what is probed with, */
	uint32_t probe_psns;    /* and how many packets of it have gone; 0: none yet */
	uint32_t srtt_ns;       /* round trip, smoothed; 0: never measured */
	uint32_t rttvar_ns;     /* and how much it varies */
	uint64_t sq_va;
	uint64_t db_va;

	/* Responder. */
	uint32_t epsn; /* expected PSN */
	uint32_t msn;
	uint8_t rx_kind; /* ROCE_KIND_SEND or _WRITE: a message is half in; else _UNKNOWN */
	bool nak_sent;   /* no further NAK until epsn moves */
	bool ack_due;
	uint32_t ack_psn; /* of the last packet that an ACK may name: no READ, no atomic */
	uint32_t ack_msn;
	uint8_t nak_due;   /* AETH syndrome; 0: none */
	bool last_words;   /* in error, but the NAK that says so is still to go out */
	bool comm_est;     /* a packet has come */
	bool peer_is_here; /* its address is our own: it is on this port */
	bool rx_held;      /* an entry of an SRQ is taken and not complete */
	bool last_wqe; /* in error, and to be told that it takes nothing from its SRQ any more */
	uint16_t rx_index; /* which entry that is */
	uint16_t rq_pi;
	uint16_t rq_ci;
	uint32_t rx_off; /* bytes of the message that are in */
	uint32_t rx_len; /* WRITE: all it will have */
	uint32_t rx_rkey;
	uint64_t rx_va;
	uint64_t rq_va;
	uint32_t nak_psn;
	uint32_t res_head;  /* free-running count of struct nic_res ever used */
	uint16_t res_due;   /* bit: slot has a run to send */
	uint16_t res_again; /* bit, of a slot that is due: it was answered before */
	uint8_t rq_size_log2;
	uint32_t rq_count;
	uint32_t sq_count;

	/* Identity. */
	uint32_t pdn_resp; /* where keys of requests are looked for; see srqn */
	uint32_t number;   /* just behind it: nic_peer_of is one load */
	uint32_t pdn;
	uint32_t index;
	uint32_t user_index;
	uint32_t cqn_send;
	uint32_t xrcdn; /* of an XRC target */
	/* Where receives come from and go to, and where keys of requests are looked for. Of an XRC
	 * target they are those of the SRQ that the last request named. */
	uint32_t srqn; /* 0: the queue pair's own ring */
	uint32_t cqn_recv;
	uint32_t user_index_recv;
	uint32_t pdn_recv; /* keys of receives */
	uint32_t watch;    /* its place in nic->qp_watch */
	uint32_t heap_pos; /* NIC_HEAP_NONE: not in the timer heap */
	uint64_t heap_ns;
	uint64_t cookie;
	struct stats_qp_counters counters; /* since it was made */
	bool own_multicast_blocked;
	bool ece_asked;       /* its driver knows ECE */
	uint8_t cc_algorithm; /* enum nic_cc_algorithm: agreed on, or the port's default */
	uint32_t ece;
	struct nic_dc dc;
	struct nic_standing turn;
	/* Of datagrams and of a DC initiator path and dest_qpn are those of what it sends. */
	struct nic_qp_params params;
	struct nic_res res[NIC_RES];
};

#define NIC_HEAP_NONE UINT32_MAX

/* nic_qp_acked - whether its requests are acknowledged: not those of UC, UD and raw packets. */
static inline bool nic_qp_acked(const struct nic_qp *qp)
{
	const uint32_t never = 1u << NIC_QP_UC | 1u << NIC_QP_UD | 1u << NIC_QP_RAW;

	return (never >> qp->type & 1) == 0;
}

/* ---- ECE (ece.c) ----------------------------------------------------------------------------- */

/* nic_ece_init - the word of this device's capabilities: nic->ece_offer. */
void nic_ece_init(struct nic *nic);
/* nic_ece_create, nic_ece_begin - the word of a queue pair that was made, or reset. */
void nic_ece_create(const struct nic *nic, struct nic_qp *qp, uint32_t asked);
void nic_ece_begin(const struct nic *nic, struct nic_qp *qp);
/* nic_ece_set - the peer's word has come; qp's state is the one before the modify. */
void nic_ece_set(const struct nic *nic, struct nic_qp *qp, uint32_t word);

/* ---- addresses and multicast (gid.c, mcast.c) ------------------------------------------------ */

struct nic_attachment {
	uint32_t qpn;
	uint16_t lid;
	uint8_t gid[16];
};

/* ---- the NIC --------------------------------------------------------------------------------- */

struct nic {
	const struct nic_env *env;
	uint64_t now_ns; /* of the call that is running */
	bool tracing; /* env->trace is there */
	struct nic_cq *cqs;
	struct nic_qp *qps;
	struct nic_op *ops; /* NIC_OPS for each queue pair */
	struct nic_mkey *mkeys;
	struct nic_mkey_more *mores; /* one for each of mkeys */
	struct nic_step *steps;
	struct nic_sig *sigs; /* one for each of mkeys */
	struct nic_psv *psvs;
	struct nic_pd *pds;
	struct nic_srq *srqs;
	struct nic_pd *xrcds;
	struct nic_dcr *dcrs; /* their responders are qps[config.qp_count_max ...] */
	uint32_t *dcr_buckets; /* hash -> place of the first */
	uint32_t dcr_hand; /* where the search for a silent one goes on */
	uint64_t dc_session;   /* the last one's number */

	uint32_t open_bytes;   /* of the packet that is being made */
	uint32_t left_packets; /* of nic_run's budget */
	int64_t left_bytes;
	uint32_t ready_head; /* queue pair index */
	uint32_t ready_tail;
	uint32_t ready_count;

	uint32_t *heap; /* queue pair indices, by heap_ns */
	uint32_t heap_count;

	struct nic_qp_watch *qp_watch;
	uint32_t qp_watch_count;
	struct nic_cq_watch *cq_watch;
	uint32_t cq_watch_count;
	uint32_t scan_at; /* where nic_scan_some goes on */

	struct nic_slots pd_slots;
	struct nic_slots mkey_slots;
	struct nic_slots cq_slots;
	struct nic_slots psv_slots;
	struct nic_slots srq_slots;
	struct nic_slots xrcd_slots;
	struct nic_slots dcr_slots;
	struct nic_slots qp_slots;
	uint32_t step_count;
	uint32_t step_fresh;           /* none from here on was ever used */
	uint32_t room_free[NIC_ROOMS]; /* first step of a free room of that size, + 1; 0: none */
	uint32_t block_count;
	uint32_t block_of[NIC_BLOCKS_MAX]; /* top 12 bits of the numbers of qps[4096 * i ...] */

	uint8_t gids[NIC_GID_COUNT][16];
	uint32_t gid_live; /* bit: that entry is there */
	uint32_t attachment_count;
	struct nic_attachment *attachments; /* NIC_ATTACHMENTS_MAX */
	struct nic_rule *rules;             /* NIC_RULES_MAX; qpn and tirn 0: free */
	struct nic_rss *rss;                /* [rss.h] */

	uint32_t ece_offer; /* [abi/ece.h] */
	struct nic_config config;
	struct nic_cong cong; /* [flow.h] */
	struct base_prng prng;
	struct nic_counters counters;

	/* The entries in use: being sent; a READ or atomic being answered; a receive being filled.
	 */
	struct nic_wqe tx_wqe;
	struct nic_wqe resp_wqe;
	struct nic_wqe rx_wqe;

	uint8_t copy[ROCE_MTU_MAX_BYTES];      /* a part of an MMO, on its way */
	uint8_t sig_block[ROCE_MTU_MAX_BYTES]; /* a part of a block whose checksum is made */
	struct nic_qp *now_qp;                 /* whose turn it is, or whose packet */
	bool now_responds;                     /* and the packet is a request */
	uint8_t
	    block_slot[1 << (24 - NIC_BLOCK_LOG2)]; /* block -> place in block_of + 1; 0: none */
};

static inline struct nic_qp *nic_qp_find(const struct nic *nic, uint32_t qpn)
{
	uint32_t slot = nic->block_slot[(qpn & ROCE_QPN_MASK) >> NIC_BLOCK_LOG2];
	struct nic_qp *qp;

	if (slot == 0)
		return NULL;
	qp = &nic->qps[(slot - 1) << NIC_BLOCK_LOG2 | (qpn & (NIC_BLOCK - 1))];
	return qp->live ? qp : NULL;
}

static inline struct nic_op *nic_op_at(const struct nic *nic, const struct nic_qp *qp, uint32_t n)
{
	return &nic->ops[(size_t)qp->index << NIC_OPS_LOG2 | (n & (NIC_OPS - 1))];
}

/* nic_is_dcr - whether it is a DC target's responder, of which only its target's owner knows. */
static inline bool nic_is_dcr(const struct nic *nic, const struct nic_qp *qp)
{
	return qp->index >= nic->config.qp_count_max;
}

/* nic_opcode_local - whether nothing is sent for it. */
static inline bool nic_opcode_local(uint8_t opcode)
{
	return opcode == WQE_OP_NOP || opcode > WQE_OP_ATOMIC_MASKED_FA;
}

/* nic_opcode_reads - whether a response brings data: a READ or an atomic. */
static inline bool nic_opcode_reads(uint8_t opcode)
{
	return (uint8_t)(opcode - WQE_OP_READ) <= WQE_OP_ATOMIC_MASKED_FA - WQE_OP_READ;
}

static inline bool nic_op_reads(const struct nic_op *op)
{
	return nic_opcode_reads(op->opcode);
}

/* nic_ready - gives a queue pair a turn in nic_run. */
static inline void nic_ready(struct nic *nic, struct nic_qp *qp)
{
	if (qp->is_ready)
		return;
	qp->is_ready = true;
	if (nic->ready_count++ == 0)
		nic->ready_head = qp->index;
	else
		nic->qps[nic->ready_tail].ready_next = qp->index;
	nic->ready_tail = qp->index;
}

/* What a queue pair's turn came to. */
enum nic_turn {
	NIC_TURN_DONE,
	NIC_TURN_AGAIN,   /* more to do */
	NIC_TURN_BLOCKED, /* the wire had no room */
};

/* ---- mem.c: keys, and the only access to application memory ---------------------------------- */

/* Where the bytes of a stretch of a key are, when its check is done. */
struct nic_place {
	uint64_t host_va; /* NIC_PLACE_PIECES: as the key counts */
	uint8_t how;      /* enum nic_how */
	uint32_t index;   /* NIC_PLACE_PIECES: of the key */
	uint32_t access;  /* NIC_PLACE_PIECES: what was asked for */
};

enum nic_how {
	NIC_PLACE_PLAIN,
	NIC_PLACE_SYNCED, /* plain memory, to be touched between sync_begin and sync_end */
	NIC_PLACE_PIECES, /* several places: looked up anew by each copy */
	NIC_PLACE_SIGNED, /* pieces with signatures: host_va counts from the key's start */
};

/*
 * Who asks: a protection domain, and for a request from a peer the queue pair it came to, above bit
 * 32. Windows are good for peers only, and those of type 2 on their own queue pair only.
 */
static inline uint64_t nic_peer_of(const struct nic_qp *qp)
{
	return (uint64_t)qp->number << 32 | qp->pdn_resp;
}

/*
 * nic_mem_check - whether key allows access (NIC_ACCESS_*_F) to [va, va + len_bytes) for `who`;
 * then *place is where that is. Of a key that is made of pieces of others all those pieces are
 * checked up to the largest packet's length; beyond that its own bounds and rights.
 */
enum nic_mem nic_mem_check(const struct nic *nic, uint64_t who, uint32_t key, uint64_t va,
			   uint64_t len_bytes, uint32_t access, struct nic_place *place);
/* nic_mem_check_list - NIC_MEM_OK if every piece of wqe may be read. */
enum nic_mem nic_mem_check_list(const struct nic *nic, uint32_t pdn, const struct nic_wqe *wqe);
/* Copies n bytes of the message, from byte off on, out of or into wqe's pieces. Keys are looked up
 * now, so that a region that is gone is noticed. */
enum nic_mem nic_mem_gather(struct nic *nic, uint32_t pdn, struct nic_wqe *wqe, uint64_t off,
			    uint8_t *dst, uint32_t n);
enum nic_mem nic_mem_scatter(struct nic *nic, uint32_t pdn, struct nic_wqe *wqe, uint64_t off,
			     const uint8_t *src, uint32_t n);
/* Access to a place that was checked; false: it faulted. nic_mem_atomic_at: the place is one, and
 * aligned; *old is the value that was there. */
bool nic_mem_read_at(struct nic *nic, void *dst, const struct nic_place *place, size_t len_bytes);
bool nic_mem_write_at(struct nic *nic, const struct nic_place *place, const void *src,
		      size_t len_bytes);
bool nic_mem_atomic_at(struct nic *nic, const struct nic_atomic *atomic,
		       const struct nic_place *place, uint64_t *old);
/* nic_atomic_at - the same on memory of this process [atomic.c]. */
bool nic_atomic_at(struct nic *nic, const struct nic_atomic *atomic, uint64_t va, uint64_t *old);
/* Raw access: rings and doorbell records, va as the application gave it. */
bool nic_mem_read(struct nic *nic, void *dst, uint64_t va, size_t len_bytes);
bool nic_mem_write(struct nic *nic, uint64_t va, const void *src, size_t len_bytes);
bool nic_mem_load_be32(struct nic *nic, uint64_t va, uint32_t *value);
bool nic_mem_store32(struct nic *nic, uint64_t va, uint32_t value);

static inline struct nic_mkey_more *nic_mkey_more(const struct nic *nic,
						  const struct nic_mkey *mkey)
{
	return &nic->mores[mkey - nic->mkeys];
}

/* What a requester's completion says of a verdict that is not NIC_MEM_OK. */
struct nic_fault nic_mem_fault(enum nic_mem verdict);

/* ---- wqe.c ----------------------------------------------------------------------------------- */

/* nic_wqe_fetch_send - *wqe is the entry at block `index` of qp's send ring. On a fault wqebb_count
 * says how many blocks it covers all the same, at least 1 and no more than were posted. */
struct nic_fault nic_wqe_fetch_send(struct nic *nic, const struct nic_qp *qp, uint16_t index,
				    struct nic_wqe *wqe);
/* nic_wqe_fetch_receive - *nic->rx_wqe is qp's receive at rq_ci, or the one it holds of an SRQ,
 * taking one if it holds none; false: the ring is not readable. */
bool nic_wqe_fetch_receive(struct nic *nic, struct nic_qp *qp);
/* nic_wqe_owner - what nic_wqe.owner is for the n-th operation of qp. */
static inline uint64_t nic_wqe_owner(const struct nic_qp *qp, uint32_t n)
{
	return (uint64_t)(qp->index + 1) << 32 | n;
}
/* nic_wqe_again - the entry of op, the n-th operation: as it is in *wqe, or copied anew into it.
 * NULL: it cannot be read or is not what it was. */
struct nic_wqe *nic_wqe_copy_again(struct nic *nic, const struct nic_qp *qp,
				   const struct nic_op *op, uint32_t n, struct nic_wqe *wqe);
static inline struct nic_wqe *nic_wqe_again(struct nic *nic, const struct nic_qp *qp,
					    const struct nic_op *op, uint32_t n,
					    struct nic_wqe *wqe)
{
	return wqe->owner == nic_wqe_owner(qp, n) ? wqe
						  : nic_wqe_copy_again(nic, qp, op, n, wqe);
}
/* nic_wqe_forget - no copy of an entry of qp is used again. */
void nic_wqe_forget(struct nic *nic, const struct nic_qp *qp);

/* ---- umr.c, mmo.c: entries that send nothing ------------------------------------------------- */

/* nic_umr_waits - whether the UMR in wqe must wait for all before it. */
bool nic_umr_waits(const struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe);
struct nic_fault nic_umr_run(struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe);
/* nic_mmo_start - whether a copy may begin; it is done by nic_mmo_run, in parts as large as the
 * budget. nic_mmo_run: *done, or a fault. */
struct nic_fault nic_mmo_start(const struct nic *nic, struct nic_qp *qp,
			       const struct nic_wqe *wqe);
struct nic_fault nic_mmo_run(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe,
			     bool *done);

/* ---- tx.c: packets out ----------------------------------------------------------------------- */

/* nic_tx_open - room for a packet, its BTH written; NULL: the wire is full. bits is
 * ROCE_BTH_SE_F, or 0; pad follows from payload_bytes and is zeroed. */
uint8_t *nic_tx_open(struct nic *nic, const struct nic_qp *qp, uint8_t opcode, uint8_t bits,
		     bool ack_req, uint32_t psn, uint32_t payload_bytes);
void nic_tx_close(struct nic *nic, struct nic_qp *qp, const uint8_t *bth, uint32_t payload_bytes);
void nic_tx_drop(struct nic *nic);

/* ---- rx.c: packets in ------------------------------------------------------------------------ */

/* A packet whose form is right: headers are a private copy, payload is where the wire has it. */
struct nic_pkt {
	const struct roce_opcode_info *info;
	const uint8_t *payload;
	uint32_t payload_bytes;
	uint32_t psn;
	uint8_t opcode;
	bool se;
	bool ack_req;
	uint8_t header[ROCE_HEADERS_MAX_BYTES];
};

/* ---- req.c, comp.c, resp.c, answer.c --------------------------------------------------------- */

/* Parts of a requester: the place of an operation's packet, the opcodes of its message as RC has
 * them, by place, the flags of an operation, and the packets of an entry. */
static inline enum roce_place nic_req_place(const struct nic_op *op, uint32_t psn)
{
	uint32_t i = (psn - op->psn) & PSN_MASK;

	return (enum roce_place)((i == 0 ? ROCE_FIRST : 0u) |
				 (i + 1 == op->psn_count ? ROCE_LAST : 0u));
}
extern const uint8_t nic_req_opcodes[WQE_OP_SEND_IMM + 1][4];
uint8_t nic_req_flags(const struct nic_qp *qp, const struct nic_wqe *wqe);
uint32_t nic_req_psn_count(const struct nic_qp *qp, const struct nic_wqe *wqe);
void nic_req_store_reth(uint8_t *bth, const struct roce_opcode_info *info, uint64_t va,
			uint32_t rkey, uint32_t len_bytes);

enum nic_turn nic_req_run(struct nic *nic, struct nic_qp *qp);
/* nic_req_kick - reads the send counter; the queue pair gets a turn if it moved. */
void nic_req_kick(struct nic *nic, struct nic_qp *qp);
/* nic_req_go_back - sends again from psn_una on. */
void nic_req_go_back(struct nic *nic, struct nic_qp *qp);
/* nic_req_has_work - whether a turn would send something. */
bool nic_req_has_work(const struct nic *nic, const struct nic_qp *qp);

void nic_comp_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt);
/* nic_comp_complete - the oldest operation is done. */
void nic_comp_complete(struct nic *nic, struct nic_qp *qp, const struct nic_op *op);
/* nic_comp_advance - completes what is complete at the tail: NOPs, and failed operations. */
void nic_comp_advance(struct nic *nic, struct nic_qp *qp);
/* nic_comp_expire - qp's deadline has passed. */
void nic_comp_expire(struct nic *nic, struct nic_qp *qp);

void nic_resp_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt);
/* nic_resp_owe_nak - notes an AETH syndrome to be sent, with this PSN, after all responses. */
void nic_resp_owe_nak(struct nic *nic, struct nic_qp *qp, uint8_t syndrome, uint32_t psn);
/* nic_resp_die - one NAK for the request at psn, then silence: the queue pair is in error. */
void nic_resp_die(struct nic *nic, struct nic_qp *qp, enum roce_nak syndrome, uint32_t psn);
/* nic_answer_due - whether qp owes its peer something; nic_answer_run: then it is sent. */
static inline bool nic_answer_due(const struct nic_qp *qp)
{
	return qp->ack_due || qp->res_due || qp->nak_due;
}
enum nic_turn nic_answer_run(struct nic *nic, struct nic_qp *qp);

/* Parts of a responder, for requests that nobody acknowledges. */

/* nic_resp_established - a first packet has come. */
void nic_resp_established(struct nic *nic, struct nic_qp *qp);
/* nic_resp_look - reads how many receives there are, if pkt needs one; false: the record makes no
 * sense. */
bool nic_resp_look(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt);
/* nic_resp_allows - whether a request may be carried out, its place in the sequence aside; counts
 * one for which there is no receive. */
bool nic_resp_allows(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt);
/* nic_resp_explain - tells a trace which check it was that pkt, which gets this answer, failed. */
void nic_resp_explain(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt,
		      uint8_t syndrome);
bool nic_resp_has_receive(const struct nic *nic, const struct nic_qp *qp);
/* nic_resp_complete - completes the oldest receive with the rx_off bytes that are in. from: of a
 * datagram; NULL: qp's peer. nic_resp_complete_error - with an error; the caller ends qp. */
struct nic_from;
void nic_resp_complete(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
		       const struct nic_from *from);
void nic_resp_complete_error(struct nic *nic, struct nic_qp *qp, struct nic_fault fault);
/* nic_resp_write - puts the payload where the message's RETH says. */
enum nic_mem nic_resp_write(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt);

/* ---- raw.c: frames --------------------------------------------------------------------------- */

bool nic_raw_length_ok(const struct nic *nic, uint64_t len_bytes);
/* nic_raw_address - where the queue pair's frames go. */
void nic_raw_address(struct nic_qp *qp);
/* nic_raw_segment_bytes - of the Ethernet segment at seg, with the frame's bytes in it. */
uint32_t nic_raw_segment_bytes(const uint8_t *seg);
void nic_raw_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx);

/* ---- unacked.c, uc.c, ud.c, mcast.c: UC and UD ----------------------------------------------- */

enum nic_turn nic_unacked_run(struct nic *nic, struct nic_qp *qp);
/* nic_unacked_expire - qp's deadline has passed: the wire had no room for too long. */
void nic_unacked_expire(struct nic *nic, struct nic_qp *qp);
void nic_uc_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt);
void nic_ud_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
	       const struct nic_rx *rx);
/* nic_ud_address_bytes - of the address vector at seg, in one of its two lengths.
 * nic_ud_address - takes it into wqe; false: it names a GID of ours that is not there, or none
 * where one must be. */
uint32_t nic_ud_address_bytes(const uint8_t *seg);
bool nic_ud_address(const struct nic *nic, struct nic_wqe *wqe, const uint8_t *seg);
void nic_mcast_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx);
/* nic_mcast_forget - detaches qpn from every group. */
void nic_mcast_forget(struct nic *nic, uint32_t qpn);

/* ---- rtt.c: how long to wait on a path that loses packets ------------------------------------ */

/* nic_rtt_start - a packet with this PSN goes out for the first time. */
void nic_rtt_start(struct nic *nic, struct nic_qp *qp, uint32_t psn);
/* nic_rtt_progress - psn_una has moved: wait_ns is what the round trip says. */
void nic_rtt_progress(struct nic *nic, struct nic_qp *qp);
/* nic_rtt_probe - wait_ns went by in silence: psn_una is asked for, and the next wait is longer. */
void nic_rtt_probe(struct nic *nic, struct nic_qp *qp);
/* nic_rtt_wait - goes on waiting, as long as last time; nic_rtt_timeout_ns - till a retry. */
void nic_rtt_wait(struct nic *nic, struct nic_qp *qp);
uint64_t nic_rtt_timeout_ns(const struct nic_qp *qp);
void nic_rtt_forget(struct nic_qp *qp); /* nothing is known of the path */

/* ---- sig.c: signatures of blocks ------------------------------------------------------------- */

struct nic_sig_error {
	uint64_t expected;
	uint64_t actual;
	uint64_t offset;
	uint32_t key;
	uint16_t syndrome; /* CQE_SIG_*_F */
	uint8_t domain;
};

struct nic_fault nic_psv_set(struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe);
/* nic_sig_set - the key has the attributes of a signature segment; false: we do not know such. */
bool nic_sig_set(struct nic *nic, uint32_t index, const uint8_t *segment);
void nic_sig_off(struct nic *nic, uint32_t index);
/* nic_sig_rearm - the next error of the key is told again. */
void nic_sig_rearm(struct nic *nic, uint32_t index);
/* nic_sig_wire_bytes - the key's length on the wire. */
uint64_t nic_sig_wire_bytes(const struct nic *nic, uint32_t index);
/* Copies n bytes from byte off of the wire on, out of or into the key's memory. */
bool nic_sig_read(struct nic *nic, uint8_t *dst, uint32_t index, uint64_t off, uint64_t n);
bool nic_sig_write(struct nic *nic, uint32_t index, uint64_t off, const uint8_t *src, uint64_t n);
bool nic_sig_is_on(const struct nic *nic, uint32_t index);

/* nic_path_leads_here - to this very port. */
bool nic_path_leads_here(const struct nic_path *path);

/* ---- qp.c, run.c ----------------------------------------------------------------------------- */

/* nic_qp_set_state - the state, and what it takes in it. nic_qp_look_at - which of its doorbell
 * records are read from now on. */
void nic_qp_set_state(struct nic_qp *qp, enum nic_qp_state state);
void nic_qp_look_at(struct nic *nic, const struct nic_qp *qp, enum nic_look look);
/* nic_qp_error - moves qp to the error state; its rings are flushed in later turns. */
void nic_qp_error(struct nic *nic, struct nic_qp *qp);
/* nic_qp_sq_error - moves qp, whose oldest operation has failed, to the send queue's error state.
 */
void nic_qp_sq_error(struct nic *nic, struct nic_qp *qp);
/* nic_qp_error_of_cq - the same for every queue pair that uses cqn. */
void nic_qp_error_of_cq(struct nic *nic, uint32_t cqn);
enum nic_turn nic_qp_flush(struct nic *nic, struct nic_qp *qp);
/* nic_qp_flush_op, nic_qp_flush_held - completes, flushed: the oldest operation; the entry of the
 * SRQ that qp holds. */
void nic_qp_flush_op(struct nic *nic, struct nic_qp *qp);
void nic_qp_flush_held(struct nic *nic, struct nic_qp *qp);
/* nic_qp_answer_last - what was done for the peer is acknowledged, if there is room. */
void nic_qp_answer_last(struct nic *nic, struct nic_qp *qp);
/* nic_qp_work - ready to send: entries are begun from now on. */
void nic_qp_work(struct nic *nic, struct nic_qp *qp);
/* nic_qp_drained - tells the owner of a queue pair that is being drained when it is. */
/* nic_qp_stop - no further entry of the send queue is begun, if a wrong signature is to do so. */
void nic_qp_stop(struct nic_qp *qp);
void nic_qp_drained(struct nic *nic, struct nic_qp *qp);
void nic_qp_event(struct nic *nic, const struct nic_qp *qp, enum nic_event_kind kind);
/* nic_qp_edge_ok - whether a modify that sets `set` may take a queue pair of this type from one
 * state to another (edge.c). */
bool nic_qp_edge_ok(enum nic_qp_type type, enum nic_qp_state from, enum nic_qp_state to,
		    uint32_t set);

/* ---- timer.c --------------------------------------------------------------------------------- */

/*
 * A queue pair has one deadline. Its key in the heap is never later than the deadline, and is put
 * right only when it comes up: moving a deadline away, as each message does, is one store.
 */
void nic_timer_pull(struct nic *nic, struct nic_qp *qp);
void nic_timer_remove(struct nic *nic, struct nic_qp *qp);
void nic_timer_expire(struct nic *nic);

static inline void nic_timer_set(struct nic *nic, struct nic_qp *qp, uint64_t deadline_ns)
{
	qp->deadline_ns = deadline_ns;
	if (deadline_ns < qp->heap_ns)
		nic_timer_pull(nic, qp);
}

/* nic_timer_start - an answer is awaited from now on. */
static inline void nic_timer_start(struct nic *nic, struct nic_qp *qp)
{
	qp->wait_from_ns = nic->now_ns;
	nic_timer_set(nic, qp, nic->now_ns + qp->wait_ns);
}

#endif
