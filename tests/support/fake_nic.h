/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_nic.h - a world for tests of the core: two NICs, an application's memory, and a wire between
 * them that a test holds in its hands.
 *
 * Time stands still until fake_advance moves it. Packets that a NIC sends wait in world->queue, in
 * order, until the test delivers them (fake_deliver), drops them (fake_drop), doubles them, swaps
 * them, or lets all of them through (fake_settle). nic_check() runs on both NICs after every step.
 *
 *   struct fake_world *w = fake_world_new(NULL);
 *   struct fake_pair pair;
 *   fake_pair_connect(w, &pair, NULL);                  two queue pairs, connected, ready to send
 *   struct fake_region src = fake_region(w, 0, 4096, 0), dst = fake_region(w, 1, 4096, ACCESS);
 *   fake_post(&pair.a, &(struct fake_wr){.opcode = WQE_OP_WRITE, .signal = true,
 *             .pieces = {{src.va, 4096, src.key}}, .piece_count = 1,
 *             .remote_va = dst.va, .rkey = dst.key});
 *   fake_ring(&pair.a);
 *   fake_settle(w);
 *   assert_int_equal(fake_poll(&pair.a.send_cq, &cqe), 1);
 *   fake_world_free(w);
 *
 * Memory: one buffer whose addresses start at FAKE_BASE_VA; fake_mem gives the pointer. Any other
 * address faults, as do ranges marked with fake_fault. From FAKE_VOID_VA on, 2^33 bytes may be read
 * (as zeroes) and written (and are gone), for messages too large to hold.
 */
#ifndef TESTS_SUPPORT_FAKE_NIC_H
#define TESTS_SUPPORT_FAKE_NIC_H

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_wqe.h"
#include "abi/roce_pkt.h"
#include "nic/nic.h"

#define FAKE_BASE_VA 0x10000000ull
#define FAKE_VOID_VA 0x4000000000ull

enum {
	FAKE_NICS = 2,
	FAKE_MEM_BYTES = 16 << 20,
	FAKE_PACKET_BYTES = 4200,
	FAKE_EVENTS_MAX = 256,
	FAKE_FAULTS_MAX = 8,
	FAKE_PIECES_MAX = 8,
	FAKE_QKEY = 0x11111111,
};

struct fake_packet {
	uint32_t from; /* index of the NIC that sent it */
	uint32_t dqpn;
	uint32_t len_bytes;
	struct nic_path path;
	uint64_t due_ns; /* fake_net.h: when it arrives; 0: it has not left */
	uint8_t bytes[FAKE_PACKET_BYTES];
};

struct fake_world {
	struct nic *nics[FAKE_NICS];
	struct nic_env envs[FAKE_NICS];
	struct fake_side {
		struct fake_world *world;
		uint32_t index;
		void *arena;
		uint32_t pdn;
	} sides[FAKE_NICS];
	uint64_t now_ns;

	/* The wire: queue[0] is the oldest. room: packets it takes before tx_reserve says NULL. */
	struct fake_packet **queue;
	size_t queue_count;
	size_t queue_cap;
	size_t room;
	bool untaken; /* what tx_untaken answers */
	uint64_t paused_until_ns[FAKE_NICS]; /* a NIC is not run; fake_net.h: nor gets anything */
	uint32_t window_bytes; /* what tx_window_bytes answers; set before connecting */
	bool alien;   /* set before connecting: as on two hosts, with GIDs that differ */
	struct fake_packet *reserved;
	uint64_t sent_packets;
	int group_error; /* what group_join answers */
	size_t groups_joined[FAKE_NICS];

	struct nic_event events[FAKE_EVENTS_MAX];
	uint32_t event_nic[FAKE_EVENTS_MAX];
	size_t event_count;

	uint8_t *mem;
	size_t mem_used;
	struct {
		uint64_t va;
		uint64_t len;
	} faults[FAKE_FAULTS_MAX];
	size_t fault_count;
	uint64_t void_written_bytes;
	uint32_t blocks_given;
	struct nic_budget budget;
};

/* fake_world_new - two NICs of this configuration (NULL: 4,096 queue pairs, MTU 4096, and so on).
 */
struct fake_world *fake_world_new(const struct nic_config *config);
void fake_world_free(struct fake_world *w);

/* ---- memory ---------------------------------------------------------------------------------- */

/* fake_alloc - the address of zeroed memory, 64-byte aligned. */
uint64_t fake_alloc(struct fake_world *w, size_t bytes);
/* fake_mem - where the test finds it. */
void *fake_mem(struct fake_world *w, uint64_t va);
/* From now on accesses that touch [va, va + len) fault. fake_fault_none forgets all such ranges. */
void fake_fault(struct fake_world *w, uint64_t va, uint64_t len);
void fake_fault_none(struct fake_world *w);

struct fake_region {
	uint64_t va;
	uint64_t len;
	uint32_t key;
};
/* fake_region - memory registered with NIC `nic`, in the domain of its queue pairs. */
struct fake_region fake_region(struct fake_world *w, uint32_t nic, size_t bytes, uint32_t access);

/* ---- queues ---------------------------------------------------------------------------------- */

struct fake_cq {
	struct fake_world *world;
	uint32_t nic;
	uint32_t cqn;
	uint64_t buf_va;
	uint64_t db_va;
	uint32_t count_log2;
	uint32_t ci;
	uint32_t arm_sn;
};

/* A completion, decoded. */
struct fake_cqe {
	uint8_t opcode; /* enum cqe_opcode */
	uint8_t send_opcode;
	uint8_t syndrome; /* error completions */
	uint8_t vendor;
	uint16_t wqe_counter;
	uint32_t qpn;
	uint32_t user_index;
	uint32_t byte_cnt;
	uint32_t imm;
	uint32_t flags_rqpn;
	uint16_t slid;
};

void fake_cq_make(struct fake_world *w, uint32_t nic, uint32_t count_log2, struct fake_cq *cq);
/* fake_poll - 1 and *cqe, the next completion; 0: none. Also stores the consumer index. */
int fake_poll(struct fake_cq *cq, struct fake_cqe *cqe);
/* fake_arm - stores the arm word; the NIC has not looked yet. */
void fake_arm(struct fake_cq *cq, bool solicited);

struct fake_qp {
	struct fake_world *world;
	uint32_t nic;
	uint32_t qpn;
	uint64_t rq_va;
	uint64_t sq_va;
	uint64_t db_va;
	enum nic_qp_type type;
	uint32_t sq_count;
	uint32_t rq_count;
	uint32_t rq_size_log2;
	uint16_t sq_pi;
	uint16_t rq_pi;
	uint16_t last_index; /* first block of the entry posted last */
	struct fake_cq send_cq;
	struct fake_cq recv_cq;
};

/* What a pair is made with; zero means: the default that stands behind. */
struct fake_opts {
	uint32_t sq_count;       /* 64 */
	uint32_t rq_count;       /* 16; UINT32_MAX: none */
	uint32_t rq_size_log2;   /* 6 */
	uint32_t cq_count_log2;  /* 8 */
	uint32_t mtu_bytes;      /* 1024; of a */
	uint32_t mtu_b_bytes;    /* like a's */
	uint32_t psn_a;          /* 0x100 */
	uint32_t psn_b;          /* 0x200 */
	uint32_t access;         /* all remote rights; UINT32_MAX: none */
	uint32_t timeout;        /* 14: 67 ms */
	uint32_t retry_count;    /* 7; UINT32_MAX: 0 */
	uint32_t rnr_retry;      /* 7; UINT32_MAX: 0 */
	uint32_t min_rnr_timer;  /* 12: 0.64 ms */
	uint32_t rd_atomic;      /* 16 */
	uint32_t dest_rd_atomic; /* 16; UINT32_MAX: 0 */
	bool signal_all;
	enum nic_qp_type type; /* of both; XRC: see fake_srq.h; UD: fake_to, with FAKE_QKEY */
	bool own_multicast_blocked;
	uint32_t srqn;         /* of b; then it has no ring for receives */
	uint32_t srqn_a;       /* likewise of a */
	uint64_t dc_key;       /* of a DC target */
	uint16_t stream_failed_max; /* of a DC initiator; 0: no streams */
	uint32_t xrcdn;
};

struct fake_pair {
	struct fake_qp a; /* on NIC 0 */
	struct fake_qp b; /* on NIC 1 */
};

void fake_qp_make(struct fake_world *w, uint32_t nic, const struct fake_opts *opts,
		  struct fake_qp *qp);
/* fake_qp_ready - takes qp from reset to ready to send, connected to the pair's other end. is_b:
 * which of the values in opts are its own. Asserts that every step is allowed. */
void fake_qp_ready(struct fake_qp *qp, uint32_t dest_qpn, bool is_b, const struct fake_opts *opts);
/* Its parts: everything that a queue pair may be told, the state and path of INIT set; one step. */
struct nic_qp_params fake_qp_params(const struct fake_qp *qp, uint32_t dest_qpn, bool is_b,
				    const struct fake_opts *opts);
void fake_qp_modify(struct fake_qp *qp, const struct nic_qp_params *p);
void fake_pair_connect(struct fake_world *w, struct fake_pair *pair, const struct fake_opts *opts);
int fake_qp_state(struct fake_qp *qp); /* enum nic_qp_state */
int fake_qp_set_state(struct fake_qp *qp, enum nic_qp_state state);

struct fake_piece {
	uint64_t va;
	uint32_t len; /* written as it is: 0 means 2^31 to the NIC */
	uint32_t key;
};

/* The address vector of a datagram. */
struct fake_address {
	uint32_t qkey;
	uint32_t dqpn;
	uint8_t stat_rate_sl;
	uint8_t tclass;
	uint8_t hop_limit;
	uint16_t rlid;
	uint32_t grh_gid_fl;
	uint8_t rgid[16];
	bool compact; /* the form of 16 bytes */
	uint64_t dc_key; /* of a DC target; then there is no qkey */
};
/* fake_to - that of a queue pair of this world. */
struct fake_address fake_to(const struct fake_qp *qp);
/* fake_gid - the GID of NIC nic. */
void fake_gid(const struct fake_world *w, uint8_t gid[static 16], uint32_t nic);

struct fake_wr {
	const struct fake_address *to; /* UD, DC */
	uint16_t stream;               /* DC */
	enum wqe_opcode opcode;
	bool signal;
	bool solicited;
	uint8_t fence; /* WQE_FM_* */
	struct fake_piece pieces[FAKE_PIECES_MAX];
	uint32_t piece_count;
	const void *inline_data; /* instead of pieces */
	uint32_t inline_bytes;
	uint64_t remote_va;
	uint32_t rkey;
	uint32_t imm;
	uint64_t swap_add;
	uint64_t compare;
	uint32_t srqn; /* XRC */
};

/* fake_post - writes an entry to the send ring and returns its index (of its first block). */
uint16_t fake_post(struct fake_qp *qp, const struct fake_wr *wr);
/* fake_put_blocks - the same of an entry that is ready: bytes, a multiple of 16, of it. */
uint16_t fake_put_blocks(struct fake_qp *qp, const uint8_t *entry, size_t bytes);
/* fake_post_raw - the same of an entry whose segments behind ctrl are given: bytes of them, a
 * multiple of 16. opmod_opcode: opmod << 8 | opcode. */
uint16_t fake_post_raw(struct fake_qp *qp, uint32_t opmod_opcode, uint32_t imm,
		       const void *segments, uint32_t bytes);
/* fake_ring - stores the doorbell record, then writes the register. */
void fake_ring(struct fake_qp *qp);
/* fake_receive - posts a receive (the record too: that is all there is to it). */
void fake_receive(struct fake_qp *qp, const struct fake_piece *pieces, uint32_t count);

/* ---- the wire and time ----------------------------------------------------------------------- */

/* fake_run - lets NIC `nic` run until it is idle or blocked; returns what nic_run said last. */
enum nic_more fake_run(struct fake_world *w, uint32_t nic);
/* Takes packet i out of the queue, and gives it to its receiver or not. Then both NICs run. */
void fake_deliver(struct fake_world *w, size_t i);
void fake_drop(struct fake_world *w, size_t i);
/* fake_deliver_copy - delivers packet i and leaves it in the queue. */
void fake_deliver_copy(struct fake_world *w, size_t i);
/* fake_pkt - packet i of the queue, decoded; asserts that it is well formed. */
struct roce_pkt fake_pkt(struct fake_world *w, size_t i);
/* fake_settle - delivers in order until the queue is empty and both NICs have nothing to do. */
void fake_settle(struct fake_world *w);
/* fake_send - a packet made by the test, delivered to NIC `nic` as it is. pkt->payload is used. */
void fake_send(struct fake_world *w, uint32_t nic, const struct roce_pkt *pkt);
/* fake_advance - moves time on, and runs both NICs. */
void fake_advance(struct fake_world *w, uint64_t ns);
/* fake_events - how many events of this kind, from this NIC, there have been. */
size_t fake_events(const struct fake_world *w, uint32_t nic, enum nic_event_kind kind);

#endif
