/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic/nic.h - the software NIC's core, its whole interface.
 *
 * The core is sans I/O: it has no thread, no socket, no clock and no allocator. Its caller gives it
 * an arena to live in, the time, packets and doorbells; it gives back packets (written straight
 * into buffers that the caller's wire lends), completions (written into application memory through
 * guarded copies), events, and the time at which it next wants to run. The same object file runs
 * under threads and inside the simulator.
 *
 * Threads: none. One call at a time per struct nic; the caller holds a lock where there are several
 * threads. No callback may call back into the same struct nic.
 *
 * Time: now_ns is the caller's monotonic clock in nanoseconds; it never runs backwards between
 * calls.
 *
 * Errors: control calls return 0 or -errno, as Linux's mlx5 driver would. What an application's
 * rings or a peer's packets do wrong never fails a call: it ends in a completion, a NAK or a
 * counted drop.
 */
#ifndef NIC_NIC_H
#define NIC_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/stats.h"

struct nic;
struct nic_cc_params; /* [nic/cc/cc.h] */
struct trace_event;   /* [abi/trace.h] */

/* ---- the way to a peer ----------------------------------------------------------------------- */

/*
 * One destination, as a queue pair's address vector (later an address handle) names it. A wire
 * turns it into addresses; the core only stores and compares them: GIDs on Ethernet, on InfiniBand
 * LIDs and, if the path has a global route, GIDs.
 */
struct nic_path {
	uint8_t dgid[16]; /* peer's GID, network order */
	uint8_t sgid[16]; /* our GID at sgid_index, network order */
	uint8_t sgid_index;
	uint8_t traffic_class; /* DSCP << 2; the ECN bits belong to the NIC */
	uint8_t hop_limit;
	uint8_t sl;
	uint16_t udp_sport; /* 0xC000 and up */
	uint16_t dlid;      /* InfiniBand only: the peer's LID */
	uint16_t slid;      /* InfiniBand only: our own; 0: this path is not InfiniBand */
	uint32_t flow_label;
	bool datagram; /* from one entry's address vector: a receiver on this port is shown it */
	uint8_t ecn;   /* the NIC's: what its packets say, but acknowledgements [abi/roce.h] */
};

enum {
	NIC_ACK_BYTES = 16, /* an acknowledgement: BTH and AETH */
};

/* nic_traffic_class - what the IP header of a packet of len_bytes (from the BTH on) says: the
 * caller's DSCP, and our ECN. Who has nothing to slow down shall not be told to. */
static inline uint8_t nic_traffic_class(const struct nic_path *path, size_t len_bytes)
{
	uint8_t ecn = len_bytes > NIC_ACK_BYTES ? path->ecn : 0;

	return (uint8_t)((path->traffic_class & 0xfc) | ecn);
}

/* ---- what the core asks of the world --------------------------------------------------------- */

enum nic_event_kind {
	NIC_EVENT_CQ_COMPLETION, /* an armed completion queue has a completion; one event per arm */
	NIC_EVENT_CQ_ERROR,      /* completion queue overrun, or its memory gone */
	NIC_EVENT_QP_FATAL,
	NIC_EVENT_QP_REQ_ERR, /* invalid request at the responder (e.g. message over its receive) */
	NIC_EVENT_QP_ACCESS_ERR,
	NIC_EVENT_QP_COMM_EST,
	NIC_EVENT_QP_SQ_DRAINED, /* told for every drain, asked for or not */
	NIC_EVENT_QP_LAST_WQE,
	NIC_EVENT_SRQ_LIMIT,
	NIC_EVENT_SRQ_ERROR,
	NIC_EVENT_DB_AHEAD, /* a register ran ahead of its doorbell record; it was not obeyed */
};

struct nic_event {
	enum nic_event_kind kind;
	uint32_t number; /* CQN, QPN or SRQN */
	uint64_t cookie; /* of that object, as given at create */
	bool overrun;    /* of CQ_ERROR: it was full, and not its memory gone */
};

/* What a wire counts itself, since it was made. */
struct nic_wire_counters {
	uint64_t rx_malformed; /* came and were no packets */
	uint64_t rx_icrc;      /* came with a wrong ICRC */
	uint64_t tx_discards;  /* were committed and could not be sent */
};

struct nic_env {
	void *ctx;
	/*
	 * Guarded access to application memory. false: the access faulted; a prefix may have been
	 * copied. load32/store32 are single, naturally aligned accesses, load with acquire and
	 * store with release order. cas64 is one 8-byte compare and swap on naturally aligned
	 * host-order memory; *old is what was there.
	 */
	bool (*mem_read)(void *ctx, void *dst, uint64_t va, size_t len);
	bool (*mem_write)(void *ctx, uint64_t va, const void *src, size_t len);
	bool (*mem_load32)(void *ctx, uint64_t va, uint32_t *value);
	bool (*mem_store32)(void *ctx, uint64_t va, uint32_t value);
	bool (*mem_cas64)(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old);
	/*
	 * Room for one packet of exactly len bytes (BTH up to and including pad; the wire adds what
	 * goes around it) on the way to queue pair dqpn at path. NULL: the wire is full now; try
	 * again in a later nic_run. At most one reservation is open at a time: commit or cancel it
	 * before the next. Where nobody owns dqpn or nobody is at path, the wire returns room and
	 * drops what is committed. Number 0xffffff is a multicast group's, path->dgid its GID: the
	 * packet goes to every member of this port, this one too, and on Ethernet to other ports.
	 * Any alignment is right. Of long messages nearly all packets have their payload 12 bytes
	 * in: room that starts 52 bytes into a cache line makes the copies of it faster.
	 */
	uint8_t *(*tx_reserve)(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len);
	void (*tx_commit)(void *ctx);
	void (*tx_cancel)(void *ctx);
	/*
	 * true while a live peer has not yet taken packets for dqpn that were committed earlier: an
	 * acknowledgement timeout that fires then is not counted. Asked only when a timeout fires.
	 */
	bool (*tx_untaken)(void *ctx, const struct nic_path *path, uint32_t dqpn);
	/* One more block of 4,096 queue pair numbers: *block is the top 12 bits. -errno: none
	 * left. */
	int (*qpn_block)(void *ctx, uint32_t *block);
	void (*event)(void *ctx, const struct nic_event *event);
	/*
	 * Optional (may be NULL): told of every packet that is sent, before it is committed, and of
	 * every packet that gets to a queue pair; for captures and traces.
	 */
	void (*packet)(void *ctx, bool outgoing, const struct nic_path *path, const uint8_t *bth,
		       size_t len);
	/*
	 * Optional: the bytes of requests, and of responses to READs, that a queue pair may have
	 * under way at once on this path, because what lies on it can overflow. 0 (and NULL): as
	 * many as tx_reserve gives room for. Asked when a queue pair gets its path.
	 */
	uint32_t (*tx_window_bytes)(void *ctx, const struct nic_path *path);
	/*
	 * Around each copy and atomic in a region whose key is `synced`: host_va is the first byte,
	 * writable says whether it is written. false: it cannot be reached now, which is a fault as
	 * of mem_read; then there is no end. NULL where no such key is made.
	 */
	bool (*sync_begin)(void *ctx, uint64_t host_va, bool writable);
	void (*sync_end)(void *ctx, uint64_t host_va, bool writable);
	/*
	 * Optional: packets to the multicast group gid shall come in, and no more. join is called
	 * once for a group until leave; -errno: it cannot be joined. NULL, both: packets of every
	 * group that anybody sends to come in anyway.
	 */
	int (*group_join)(void *ctx, const uint8_t gid[static 16]);
	void (*group_leave)(void *ctx, const uint8_t gid[static 16]);
	/*
	 * Optional: told of each entry that is begun or taken, of each completion, and of what
	 * fails and why, while it happens. event and what it points to are the NIC's.
	 */
	void (*trace)(void *ctx, const struct trace_event *event);
	/* Optional: what the wire has counted, for nic_stats. */
	void (*wire_counters)(void *ctx, struct nic_wire_counters *counters);
};

/* ---- life ------------------------------------------------------------------------------------ */

struct nic_config {
	uint32_t qp_count_max; /* multiple of 4096, at most 65536 */
	uint32_t cq_count_max;
	uint32_t mkey_count_max;
	uint32_t pd_count_max;
	uint32_t srq_count_max;  /* 0: there are none */
	uint32_t xrcd_count_max; /* likewise */
	/* initiators that all DC targets serve at once; 0: there are no targets */
	uint32_t dc_responder_count_max;
	uint32_t mtu_max_bytes;  /* port's active MTU: 256, 512, 1024, 2048 or 4096 */
	/* outstanding READs and atomics per queue pair, each way; at most 16 */
	uint32_t rd_atomic_max;
	uint16_t lid; /* InfiniBand: the port's own; 0: Ethernet */
	uint32_t
	    message_max_bytes_log2; /* what the transport carries: 31; a port may report less */
	/* Congestion control [nic/nic_cong.h]: what flows use that nobody has chosen another for
	 * (enum nic_cc_algorithm; 0: none), its parameters (NULL: nic_cc_vendor; they must outlive
	 * the NIC), and the rate of an idle line (0: 100 Gb/s). */
	uint8_t cc_algorithm;
	const struct nic_cc_params *cc_params;
	uint64_t line_rate_bps;
	bool ece_plain; /* offers nothing of its own in ECE, so that no card sees bits of ours */
};

/* The bytes an arena for this configuration needs, alignment 4096. Untouched parts stay untouched:
 * a caller may give memory that is only committed on first touch. */
size_t nic_arena_bytes(const struct nic_config *config);

/* A NIC in the zeroed arena. The arena and *env stay the caller's and must outlive the NIC; there
 * is no destructor: drop the arena. seed feeds key tags and initial choices. */
struct nic *nic_init(void *arena, const struct nic_config *config, const struct nic_env *env,
		     uint64_t seed);

/* ---- control: addresses and multicast -------------------------------------------------------- */

enum {
	NIC_GID_COUNT = 16,      /* entries of the port's GID table */
	NIC_GROUPS_MAX = 64,     /* multicast groups at a time */
	NIC_ATTACHMENTS_MAX = 512, /* queue pairs attached to them, each counted once per group */
};

/* nic_gid_set - what sgid_index `index` (below NIC_GID_COUNT) of an address vector stands for;
 * NULL: nothing. */
void nic_gid_set(struct nic *nic, uint32_t index, const uint8_t *gid);

/*
 * nic_mcast_attach - datagrams to the group gid come to this queue pair, too, from now on. On
 * InfiniBand lid is the group's, 0xc000 to 0xfffe; elsewhere it is only remembered. Attaching again
 * changes nothing. Destroying the queue pair detaches it.
 *   -EINVAL  no datagram queue pair, no multicast GID, no multicast LID; detach: not attached
 *   -ENOMEM  NIC_GROUPS_MAX or NIC_ATTACHMENTS_MAX; or as nic_env.group_join says
 */
int nic_mcast_attach(struct nic *nic, uint32_t qpn, const uint8_t gid[static 16], uint16_t lid);
int nic_mcast_detach(struct nic *nic, uint32_t qpn, const uint8_t gid[static 16], uint16_t lid);
/* nic_mcast_count - the groups that a queue pair is attached to. */
uint32_t nic_mcast_count(const struct nic *nic, uint32_t qpn);

/* ---- control: protection domains, keys, completion queues, queue pairs ----------------------- */

int nic_pd_create(struct nic *nic, uint32_t *pdn);
/* -EBUSY while a key, queue pair or SRQ uses it. */
int nic_pd_destroy(struct nic *nic, uint32_t pdn);

#define NIC_ACCESS_LOCAL_WRITE_F   (1u << 0)
#define NIC_ACCESS_REMOTE_WRITE_F  (1u << 1)
#define NIC_ACCESS_REMOTE_READ_F   (1u << 2)
#define NIC_ACCESS_REMOTE_ATOMIC_F (1u << 3)
#define NIC_ACCESS_BIND_F          (1u << 4) /* of a region: memory windows may be bound to it */

enum nic_mkey_kind {
	NIC_MKEY_REGION,   /* bytes of this process */
	NIC_MKEY_WINDOW_1, /* a memory window; made free, and bound by an entry of a send queue */
	NIC_MKEY_WINDOW_2, /* likewise, and good on the queue pair alone that bound it */
	NIC_MKEY_KLM,      /* pieces of other keys, one after another, each as long as it says */
	NIC_MKEY_KSM,      /* pieces of other keys, each of 2^entity_log2 bytes */
};

/* One piece of a key of kind KLM or KSM. */
struct nic_klm {
	uint64_t va; /* as `key` counts */
	uint32_t key;
	uint32_t len_bytes; /* KLM: 0 is an empty piece; KSM: not looked at */
};

struct nic_mkey_attr {
	uint32_t pdn;
	uint32_t access; /* NIC_ACCESS_*_F; of a region: remote write or atomic without local
			    write: -EINVAL */
	uint64_t va;     /* first address as the application and its peers name it */
	uint64_t len_bytes;

	/* A region. */
	uint64_t host_va; /* where those bytes are in this process; equal to va for host memory */
	bool synced;      /* they may be touched between sync_begin and sync_end only: a dma-buf */

	enum nic_mkey_kind kind;

	/* KLM and KSM: piece i of a KSM key starts at va + i * 2^entity_log2. */
	const struct nic_klm *klms;
	uint32_t klm_count;
	uint32_t klm_count_max; /* room for later lists; less than klm_count: klm_count */
	uint8_t entity_log2;

	/* What the mlx5 key context calls free, umr_en, en_rinval and qpn; zero for a plain region.
	 */
	bool free;              /* not usable until an entry of a send queue makes it so */
	bool umr;               /* entries of send queues may change it */
	bool remote_invalidate; /* a SEND with invalidate may make it free */
	bool tag_given;         /* the key's lowest 8 bits are `tag`, else they are random */
	uint8_t tag;
	uint32_t qpn;   /* the only queue pair that may use it; 0: any */
	bool signature; /* it may be given signature attributes */
};
/* key = index << 8 | tag. What may be used locally is both lkey and rkey; a window is an rkey.
 * -ENOMEM: no key, or no room for that many pieces. */
int nic_mkey_create(struct nic *nic, const struct nic_mkey_attr *attr, uint32_t *key);
/* key as create gave it: entries of send queues may have changed its tag since. */
int nic_mkey_destroy(struct nic *nic, uint32_t key);

/* Where a signature's seed and tags are kept: entries of send queues store them, keys name it. */
int nic_psv_create(struct nic *nic, uint32_t pdn, uint32_t *psv);
int nic_psv_destroy(struct nic *nic, uint32_t psv);

#define NIC_MKEY_SET_PD_F     (1u << 0)
#define NIC_MKEY_SET_ACCESS_F (1u << 1)
#define NIC_MKEY_SET_PLACE_F  (1u << 2) /* va, len_bytes, host_va, synced */
/* nic_mkey_modify - a region gets the fields of attr that set names; the key stays the same. */
int nic_mkey_modify(struct nic *nic, uint32_t key, const struct nic_mkey_attr *attr, uint32_t set);

struct nic_cq_attr {
	uint64_t buf_va;
	uint64_t db_va; /* doorbell record: [0] consumer index, [1] arm */
	uint32_t cqe_count_log2;
	uint32_t cqe_size_bytes; /* 64, or 128 (then the CQE is the second half) */
	bool overrun_ignored;
	uint64_t cookie;
	bool padded; /* of 128-byte entries the first half is written, too: zeroes */
};
/* Stores 0xffffffff to the record's arm word, so that the first arm is a change. */
int nic_cq_create(struct nic *nic, const struct nic_cq_attr *attr, uint32_t *cqn);
/*
 * nic_cq_resize - entries go to the ring at buf_va from now on. The old one ends with an entry of
 * opcode CQE_RESIZE_CQ, which counts as one; the driver moves those before it, each one place on.
 *   -EINVAL  more unpolled entries than the new ring or, with the one that ends it, the old one
 *            holds; or a bad size or address
 *   -EFAULT  the old ring is not writable
 */
int nic_cq_resize(struct nic *nic, uint32_t cqn, uint64_t buf_va, uint32_t cqe_count_log2);
int nic_cq_destroy(struct nic *nic, uint32_t cqn); /* -EBUSY while a queue pair or SRQ uses it */

/*
 * Shared receive queues. The ring is a list: each entry starts with a next segment, and the NIC
 * takes entries from index 0 on as the segments say, whatever order that is. How many may be taken
 * is what the doorbell record counts. A queue that cannot be used (its ring is not readable, its
 * list leaves the ring, or more is posted than the ring holds) reports NIC_EVENT_SRQ_ERROR once and
 * gives no entry any more; a queue pair that needs one then goes to the error state.
 *
 * An XRC queue belongs to an XRC domain, completes to its own completion queue with its own user
 * index, and is named by each request to an XRC target queue pair of the same domain. Keys of those
 * requests are looked for in its protection domain. One number space for both kinds.
 */
struct nic_srq_attr {
	uint32_t pdn;
	uint64_t buf_va;
	uint64_t db_va;     /* [0] entries posted, 16 bits */
	uint32_t wqe_count; /* power of two, at most 32768 */
	uint32_t wqe_size_log2;
	bool cyclic;         /* entries follow one another, whatever they name as the next */
	uint32_t xrcdn;      /* 0: not XRC */
	uint32_t cqn;        /* XRC only */
	uint32_t user_index; /* XRC: what its CQEs carry */
	bool cqe_srqn;       /* XRC: they carry the queue's number instead (CQE version 0) */
	uint64_t cookie;
};
int nic_srq_create(struct nic *nic, const struct nic_srq_attr *attr, uint32_t *srqn);
/* -EBUSY while a queue pair uses it; XRC targets do not hold one. */
int nic_srq_destroy(struct nic *nic, uint32_t srqn);
/* Arms the limit: one NIC_EVENT_SRQ_LIMIT when fewer than `limit` entries are left, at once if that
 * is so now. 0 disarms. -EINVAL: more than the ring can hold. */
int nic_srq_arm(struct nic *nic, uint32_t srqn, uint32_t limit);
/* *limit: as armed, 0 since it was told. */
int nic_srq_query(const struct nic *nic, uint32_t srqn, uint32_t *limit);

int nic_xrcd_create(struct nic *nic, uint32_t *xrcdn);
/* -EBUSY while an SRQ or a queue pair uses it. */
int nic_xrcd_destroy(struct nic *nic, uint32_t xrcdn);

enum nic_qp_type {
	NIC_QP_RC,
	NIC_QP_UC,
	NIC_QP_UD,
	NIC_QP_XRC_INI, /* sends requests only: no receives */
	NIC_QP_XRC_TGT, /* only answers: no rings, no protection domain, no completion queues */
	NIC_QP_DCI, /* sends requests only, each to the target that its address vector names */
	NIC_QP_DCT, /* only answers, whoever has its access key; receives are an SRQ's */
	NIC_QP_RAW, /* Ethernet frames, to this port; receives what rules bring it */
};

enum nic_qp_state {
	NIC_QP_RESET,
	NIC_QP_INIT,
	NIC_QP_RTR,
	NIC_QP_RTS,
	NIC_QP_SQD,
	NIC_QP_SQE,
	NIC_QP_ERR,
	NIC_QP_STATE_COUNT
};

struct nic_qp_attr {
	enum nic_qp_type type;
	uint32_t pdn;
	uint32_t cqn_send;
	uint32_t cqn_recv;       /* 0: XRC and DC initiators have none */
	uint64_t buf_va;         /* receive ring first, send ring behind it [uverbs.md 3.4] */
	uint64_t db_va;          /* [0] receive counter, [1] send counter */
	uint64_t sq_buf_va;      /* of the send ring, if it is elsewhere; 0: behind the receives */
	uint32_t sq_wqebb_count; /* power of two; 0: no send ring */
	uint32_t rq_wqe_count;   /* power of two; 0: no receive ring */
	uint32_t rq_wqe_size_log2;
	uint32_t srqn;       /* where its receives come from; 0: from its own ring */
	uint32_t xrcdn;      /* of an XRC target */
	uint64_t dc_key;     /* of a DC target; in an address vector, as it stands there */
	/*
	 * A DC initiator with streams: entries name one each, of any number; what fails stops its
	 * stream only, until so many, NIC_STREAMS_FAILED_MAX at most, have failed: then the queue
	 * pair. 0: no streams.
	 */
	uint16_t stream_failed_max;
	uint32_t user_index; /* what its CQEs carry at srqn_uidx */
	bool cqe_srqn; /* those of receives of an SRQ carry its number instead (CQE version 0) */
	bool sq_signal_all;
	bool own_multicast_blocked; /* UD: it does not get what it sends to a group itself */
	bool rq_signed; /* receive entries begin with a signature, which is not looked at */
	uint32_t ece; /* of version 1 [abi/ece.h]: its word is what this NIC offers; else 0 */
	uint64_t cookie;
};
enum { NIC_STREAMS_FAILED_MAX = 16 };

int nic_qp_create(struct nic *nic, const struct nic_qp_attr *attr, uint32_t *qpn);
int nic_qp_destroy(struct nic *nic, uint32_t qpn); /* -EBUSY: an RQT names it [nic/nic_rss.h] */
/* The cookie, as given at create or set since. -EINVAL: no such queue pair. */
int nic_qp_cookie(const struct nic *nic, uint32_t qpn, uint64_t *cookie);
void nic_qp_set_cookie(struct nic *nic, uint32_t qpn, uint64_t cookie);

#define NIC_QP_SET_STATE_F          (1u << 0)
#define NIC_QP_SET_ACCESS_F         (1u << 1)
#define NIC_QP_SET_PATH_F           (1u << 2)
#define NIC_QP_SET_MTU_F            (1u << 3)
#define NIC_QP_SET_TIMEOUT_F        (1u << 4)
#define NIC_QP_SET_RETRY_F          (1u << 5)
#define NIC_QP_SET_RNR_RETRY_F      (1u << 6)
#define NIC_QP_SET_RQ_PSN_F         (1u << 7)
#define NIC_QP_SET_SQ_PSN_F         (1u << 8)
#define NIC_QP_SET_RD_ATOMIC_F      (1u << 9)
#define NIC_QP_SET_DEST_RD_ATOMIC_F (1u << 10)
#define NIC_QP_SET_MIN_RNR_TIMER_F  (1u << 11)
#define NIC_QP_SET_DEST_QPN_F       (1u << 12)
#define NIC_QP_SET_PKEY_INDEX_F     (1u << 13)
#define NIC_QP_SET_PORT_F           (1u << 14)
#define NIC_QP_SET_CUR_STATE_F      (1u << 15)
#define NIC_QP_SET_QKEY_F           (1u << 16)
#define NIC_QP_SET_UDP_SPORT_F      (1u << 17) /* of the path, which is there already */
#define NIC_QP_SET_ECE_F            (1u << 18) /* with any edge; see nic_qp_params.ece */

/* The attributes of a queue pair, for modify (those whose bit is set in `set`) and query (all). */
struct nic_qp_params {
	uint32_t set;
	enum nic_qp_state state;
	enum nic_qp_state cur_state;
	uint32_t access; /* NIC_ACCESS_REMOTE_*_F */
	struct nic_path path;
	uint32_t mtu_bytes;
	uint8_t timeout;        /* 4.096 us << timeout; 0: for ever */
	uint8_t retry_count;    /* 0 to 7 */
	uint8_t rnr_retry;      /* 7: without end */
	uint8_t min_rnr_timer;  /* code [IBTA1 table 45] */
	uint8_t rd_atomic;      /* as initiator */
	uint8_t dest_rd_atomic; /* as responder */
	uint8_t port;
	uint16_t pkey_index;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qpn;
	uint32_t qkey; /* UD */
	/*
	 * Options [abi/ece.h]. Set: the peer's offer, or its answer to ours; whatever it is, the
	 * queue pair's word becomes ours to it, and chooses its congestion control. Once the queue
	 * pair is ready to send, its word stays until a reset. Query: the word.
	 */
	uint32_t ece;
};
/* -EINVAL, nothing changed: an edge that the specification does not have, a missing or wrong
 * attribute. */
int nic_qp_modify(struct nic *nic, uint32_t qpn, const struct nic_qp_params *params,
		  uint64_t now_ns);
/* Whether nothing that was begun is left to complete, and the block that is executed next. */
bool nic_qp_sq_is_drained(const struct nic *nic, uint32_t qpn);
uint16_t nic_qp_sq_index(const struct nic *nic, uint32_t qpn);
/* What it was made with: its rings' sizes and its number in completions. -EINVAL: no such one. */
int nic_qp_made(const struct nic *nic, uint32_t qpn, struct nic_qp_attr *attr);
/* A wrong signature in what the queue pair sends stops its send queue, as a move to NIC_QP_SQD
 * does; a reset ends that. */
int nic_qp_drain_on_sig_error(struct nic *nic, uint32_t qpn, bool drain);
int nic_qp_query(const struct nic *nic, uint32_t qpn, struct nic_qp_params *params);
/* A stream of a DC initiator that has failed works again. -EINVAL: it has not; or the queue pair
 * is not in NIC_QP_RTS. */
int nic_dci_reset_stream(struct nic *nic, uint32_t qpn, uint16_t stream, uint64_t now_ns);
/* A DC target serves nobody any more. */
int nic_dct_drain(struct nic *nic, uint32_t qpn);
bool nic_dct_is_drained(const struct nic *nic, uint32_t qpn);

/* A number that no queue pair gets until it is released; what comes for it is dropped. -ENOMEM, or
 * what env's qpn_block says. */
int nic_qpn_reserve(struct nic *nic, uint32_t *qpn);
void nic_qpn_release(struct nic *nic, uint32_t qpn);

/* ---- control: rules for frames --------------------------------------------------------------- */

/* What rules look at, each field as it stands in a frame; IPv4 addresses are four bytes of sixteen.
 * What a frame does not have is zero. Bytes only: compared as they lie. */
struct nic_frame {
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	uint8_t vlan_tag[2];
	uint8_t ether_type[2]; /* behind the VLAN's */
	uint8_t ip_version;    /* 4, 6 or 0 */
	uint8_t src_ip[16];
	uint8_t dst_ip[16];
	uint8_t flow_label[4];
	uint8_t proto; /* IPv6: of the next header */
	uint8_t tos;
	uint8_t ttl;
	uint8_t ip_flags; /* IPv4's three */
	uint8_t src_port[2]; /* TCP, UDP, and others that have them there */
	uint8_t dst_port[2];
	uint8_t has_ports; /* 1: they are there */
};

struct nic_rule {
	uint32_t qpn;      /* of a raw packet queue pair, */
	uint32_t tirn;     /* or, and qpn is 0, of what spreads frames [nic/nic_rss.h] */
	uint32_t priority; /* the lowest that fits is obeyed, by all of that priority */
	struct nic_frame value;
	struct nic_frame mask; /* the bits that must be as in value */
};

enum { NIC_RULES_MAX = 256 };

/* -EINVAL: no such queue pair or TIR; -ENOMEM. A rule goes with its queue pair. */
int nic_rule_create(struct nic *nic, const struct nic_rule *rule, uint32_t *number);
int nic_rule_destroy(struct nic *nic, uint32_t number);

/* ---- data ------------------------------------------------------------------------------------ */

/*
 * nic_doorbell - a register was written: word is its 8 bytes, the first 8 of a WQE (host order as
 * loaded). The queue pair it names is looked at; what counts is its doorbell record. An index in
 * word that the record has not reached is reported (NIC_EVENT_DB_AHEAD, once per queue pair) and
 * not obeyed.
 */
void nic_doorbell(struct nic *nic, uint64_t word, uint64_t now_ns);

/* nic_scan - looks at every doorbell record: send counters and arms. Cost: linear in live
 * objects. */
void nic_scan(struct nic *nic, uint64_t now_ns);

/*
 * nic_scan_some - a bounded part of nic_scan: goes on where the last call stopped, and around. So
 * any record is looked at within records / record_count calls, rounded up, while none is destroyed;
 * a destroy may put some off for another lap.
 */
void nic_scan_some(struct nic *nic, uint32_t record_count, uint64_t now_ns);

/* nic_cq_scan - looks at the arm words of every completion queue. */
void nic_cq_scan(struct nic *nic, uint64_t now_ns);

/* nic_cq_arm - looks at the arm word of one completion queue (as the arm register names it). */
void nic_cq_arm(struct nic *nic, uint32_t cqn, uint64_t now_ns);

struct nic_rx {
	const uint8_t *bth; /* BTH up to and including pad. May change under us: headers are copied
				   once, payload is copied once. */
	size_t len_bytes;
	const uint8_t *sgid;   /* 16 bytes, who sent it; NULL: this very port (the local wire), and
				  only queue pairs whose peer has our own GID or LID take it */
	const uint8_t *dgid;   /* 16 bytes, NULL likewise */
	uint8_t traffic_class; /* as received, ECN included */
	/* Without sgid: the path that its sender on this port sent a datagram along; else NULL. */
	const struct nic_path *path;
};
void nic_rx(struct nic *nic, const struct nic_rx *packet, uint64_t now_ns);

struct nic_budget {
	uint32_t packets; /* packets to send at most */
	uint32_t bytes;   /* payload bytes to send at most, give or take one packet */
};

enum nic_more {
	NIC_IDLE,    /* nothing to do before nic_deadline_ns */
	NIC_BUSY,    /* the budget ended first: run again */
	NIC_BLOCKED, /* the wire had no room: run again when it may have */
};
/* nic_run - sends what is due (acknowledgements, responses, requests) and runs expired timers. */
enum nic_more nic_run(struct nic *nic, const struct nic_budget *budget, uint64_t now_ns);

/* When nic_run next has a timer to run; UINT64_MAX: never. May be earlier than any real timer. */
uint64_t nic_deadline_ns(const struct nic *nic);

/* ---- seeing it ------------------------------------------------------------------------------- */

/* X(name): one uint64_t each, counted since nic_init. Bytes are those of packets, from the BTH up
 * to and including pad. What one packet counts does not lie side by side: the compiler would make
 * vectors of it. */
#define NIC_COUNTERS(X)                                                                           \
	X(tx_packets)                                                                             \
	X(rx_packets)                                                                             \
	X(tx_bytes)                                                                               \
	X(rx_bytes)                                                                               \
	X(rx_drop_malformed)                                                                      \
	X(rx_drop_qpn) X(rx_drop_state) X(rx_drop_address) X(rx_drop_pkey) X(rx_drop_ack)         \
	    X(rx_duplicate) X(rx_out_of_sequence) X(tx_ack) X(tx_nak_sequence) X(tx_nak_invalid)  \
		X(tx_nak_access) X(tx_nak_operational) X(tx_rnr) X(rx_nak) X(rx_rnr)              \
		    X(ack_timeouts) X(ack_timeouts_untaken) X(retransmits) X(req_cqe_error)       \
			X(req_cqe_flush) X(resp_cqe_error) X(resp_cqe_flush) X(db_ahead)          \
			    X(db_fault) X(cq_overrun) X(mem_fault) X(rx_drop_qkey)                \
				X(rx_drop_message) X(rx_multicast) X(tx_drop_late) X(ack_probes)  \
				    X(tx_multicast) X(rx_write_requests) X(rx_read_requests)      \
					X(rx_atomic_requests) X(rx_no_receive) X(rx_nak_sequence) \
					    X(implied_naks) X(ack_timeouts_last)                  \
						X(req_remote_invalid) X(req_remote_access)        \
						    X(req_retries_exceeded) X(req_rnr_exceeded)   \
							X(resp_local_length) X(rx_drop_dckey)     \
							    X(dc_refused)                         \
	X(np_ecn_marked_roce_packets) X(np_cnp_sent) X(rp_cnp_handled) X(rp_cnp_ignored)

struct nic_counters {
#define X(name) uint64_t name;
	NIC_COUNTERS(X)
#undef X
};
const struct nic_counters *nic_counters(const struct nic *nic);

/*
 * nic_stats - the same, and the wire's, by the names that Linux has for them.
 * nic_stats_flows - some of the NIC's queue pairs and destinations, from number *from on, at most
 * count_max; returns how many. *from is then where to go on, 0: these were the last. A call looks
 * at 1,024 rows of queue pairs at most, so it may find fewer than there are, or none.
 * nic_stats_qp - one queue pair. -EINVAL: no such one.
 */
void nic_stats(const struct nic *nic, uint64_t counters[static STATS_COUNT]);
uint32_t nic_stats_flows(struct nic *nic, uint32_t *from, struct stats_flow *flows,
			 uint32_t count_max, uint64_t now_ns);
int nic_stats_qp(struct nic *nic, uint32_t qpn, uint64_t now_ns, struct stats_flow *flow);

/* Walks every object and ASSERTs the core's own invariants (not what an application wrote). */
void nic_check(const struct nic *nic);

#endif
