/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.h - completion queues, as the files of the core share them: part of nic_priv.h.
 */
#ifndef NIC_CQ_H
#define NIC_CQ_H

#include "abi/mlx5_cqe.h"
#include "nic/nic.h"

struct nic_qp;
struct nic_fault;
struct nic_sig_error;

struct nic_cq {
	uint64_t buf_va;
	uint64_t db_va;
	uint32_t pi;           /* entries ever written; 24 bits of it are compared */
	uint32_t ci;           /* the application's count, as last read */
	uint32_t solicited_pi; /* pi just after the last entry that wakes a solicited-only arm */
	uint32_t notified_pi;  /* pi when the last event was made */
	uint8_t count_log2;
	uint8_t size_log2;
	bool live;
	bool overrun_ignored;
	bool padded;
	bool failed; /* overrun, or its ring is not writable: nothing is written any more */
	bool armed;
	bool armed_solicited;
	uint32_t users;
	uint32_t watch; /* its place in nic->cq_watch */
	uint64_t cookie;
};

/* An arm word that nic_scan reads, and the value it had. */
struct nic_cq_watch {
	uint64_t db_va;
	uint32_t seen;
	uint32_t cqn;
};

struct nic_cq *nic_cq_find(const struct nic *nic, uint32_t cqn);

/* Who sent a datagram, as its completion says. */
struct nic_from {
	uint32_t flags_rqpn; /* [mlx5_cqe.h] */
	uint16_t slid;
};

/* A completion that went well; byte_cnt and imm as the kind has them. */
struct nic_done {
	enum cqe_opcode opcode;
	uint8_t send_opcode;
	bool solicited; /* wakes a solicited-only arm */
	uint16_t wqe_counter;
	uint32_t byte_cnt;
	uint32_t imm;
	uint32_t user_index;
};
void nic_cq_done(struct nic *nic, const struct nic_qp *qp, uint32_t cqn,
		 const struct nic_done *done);
void nic_cq_done_from(struct nic *nic, const struct nic_qp *qp, uint32_t cqn,
		      const struct nic_done *done, const struct nic_from *from);
void nic_cq_error(struct nic *nic, const struct nic_qp *qp, uint32_t cqn, enum cqe_opcode opcode,
		  uint8_t send_opcode, uint16_t wqe_counter, struct nic_fault fault);
/* nic_cq_sig_error - tells of a wrong signature where the operation that found it completes; one
 * that was found while it was sent may stop its send queue. */
void nic_cq_sig_error(struct nic *nic, const struct nic_sig_error *error);
/* nic_cq_look - reads an arm word; fires if there is something to tell. */
void nic_cq_look(struct nic *nic, struct nic_cq_watch *watch);

#endif
