/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/driver.h - what a program on libmlx5 does to its NIC's rings, and nothing more.
 *
 * It writes send and receive queue entries and doorbell records as the card expects them, and reads
 * completions back. It shares no code with lib/, so that each checks the other's half, and it
 * checks little: a test may post what a real driver would refuse.
 *
 * Threads: none. Units: bytes, and 64-byte basic blocks where a name ends in wqebb.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include "abi/mlx5_wqe.h"
#include "nic/nic.h"
#include "sim/memory.h"

enum {
	SIM_PIECES_MAX = 8,
	SIM_INLINE_BYTES_MAX = 256,
};

struct sim_cq {
	struct sim_memory *memory;
	uint64_t buf_va;
	uint64_t db_va;
	uint32_t cqn;
	uint32_t cqe_count_log2;
	uint32_t cqe_size_bytes;
	uint32_t consumer; /* completions polled, free running */
	uint32_t arm_sn;
};

/* A completion, taken apart. */
struct sim_cqe {
	uint8_t opcode; /* enum cqe_opcode */
	bool solicited;
	uint32_t qpn;
	uint32_t user_index;
	uint16_t wqe_counter;
	uint8_t send_opcode; /* of a completed send queue entry */
	uint32_t imm;
	uint32_t len_bytes;
	uint32_t peer_qpn;	 /* of a receive: who sent it */
	uint8_t syndrome;	 /* 0 where the opcode is no error */
	uint8_t vendor_syndrome;
};

struct sim_qp {
	struct sim_memory *memory;
	uint64_t rq_va;
	uint64_t sq_va;
	uint64_t db_va;
	uint32_t qpn;
	uint32_t sq_wqebb_count;
	uint32_t rq_wqe_count;
	uint32_t rq_wqe_size_log2;
	uint32_t sq_wqebb_posted;  /* free running */
	uint32_t rq_posted;	   /* free running */
	uint64_t register_word;	   /* first 8 bytes of the newest entry, as a driver stores them */
};

struct sim_piece {
	uint64_t va;
	uint32_t len_bytes;
	uint32_t lkey;
};

/* A shared receive queue: posted along the list of entries that are free. */
struct sim_srq {
	struct sim_memory *memory;
	uint64_t buf_va;
	uint64_t db_va;
	uint32_t srqn;
	uint32_t wqe_count;
	uint32_t wqe_size_log2;
	uint32_t posted; /* free running */
	uint16_t head;   /* the next to post to */
	uint16_t tail;   /* the last free one; it is never posted */
};

struct sim_wqe {
	enum wqe_opcode opcode;
	const struct wqe_av *to; /* of a datagram; else NULL */
	bool signal;
	bool fence;
	bool solicited;
	bool is_inline; /* inline_bytes instead of pieces */
	uint32_t imm;
	uint64_t remote_va;
	uint32_t rkey;
	uint64_t swap_add; /* swap value, or what is added */
	uint64_t compare;
	uint32_t piece_count;
	struct sim_piece pieces[SIM_PIECES_MAX];
	uint32_t inline_len_bytes;
	uint8_t inline_bytes[SIM_INLINE_BYTES_MAX];
};

/* sim_cq_create - a ring and a record in memory, and nic's queue over them; 0 or nic's -errno. */
int sim_cq_create(struct sim_cq *cq, struct nic *nic, struct sim_memory *memory,
		  uint32_t cqe_count_log2, uint32_t cqe_size_bytes, bool overrun_ignored);

/* sim_cq_poll - whether there was a completion, taken into *cqe and from the ring. */
bool sim_cq_poll(struct sim_cq *cq, struct sim_cqe *cqe);

/* sim_cq_consume - tells the NIC how far the program has polled; a driver does it after
 * each poll. */
void sim_cq_consume(struct sim_cq *cq);

/* sim_cq_arm - the record of an arm: an event for the next completion that was not polled yet. */
void sim_cq_arm(struct sim_cq *cq, bool solicited_only);

/* sim_qp_create - rings and a record in memory, and nic's queue pair over them; *attr's buf_va and
 * db_va are filled in here. 0 or nic's -errno. */
int sim_qp_create(struct sim_qp *qp, struct nic *nic, struct sim_memory *memory,
		  struct nic_qp_attr *attr);

/* sim_qp_restart - what a driver does after a move to RESET: empty rings, zero records. */
void sim_qp_restart(struct sim_qp *qp);

/* sim_qp_post - writes one entry behind those posted; returns the index of its first block. The NIC
 * may not run it before sim_qp_store_record. */
uint16_t sim_qp_post(struct sim_qp *qp, const struct sim_wqe *wqe);

/* sim_qp_units - 16-byte units that sim_qp_post would write. */
uint32_t sim_qp_units(const struct sim_wqe *wqe);

/* sim_qp_store_record - hands over what was posted; register_word then goes to nic_doorbell. */
void sim_qp_store_record(struct sim_qp *qp);

/* sim_qp_receive - posts one receive of the pieces and stores its record. */
void sim_qp_receive(struct sim_qp *qp, const struct sim_piece *pieces, uint32_t piece_count);

/* sim_srq_create - a ring, linked, and nic's queue over it; 0 or nic's -errno. *attr's buf_va and
 * db_va are filled in here. */
int sim_srq_create(struct sim_srq *srq, struct nic *nic, struct sim_memory *memory,
		   struct nic_srq_attr *attr);

/* sim_srq_receive - posts one receive and stores the record; the entry's index, -1: all are taken.
 */
int sim_srq_receive(struct sim_srq *srq, const struct sim_piece *piece);

/* sim_srq_free - entry `index` has completed: it is linked behind the last free one. */
void sim_srq_free(struct sim_srq *srq, uint16_t index);

#endif
