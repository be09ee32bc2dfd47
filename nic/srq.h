/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srq.h - shared receive queues and XRC domains, as the files of the core share them: part of
 * nic_priv.h. They are in srq.c.
 */
#ifndef NIC_SRQ_H
#define NIC_SRQ_H

#include "nic/nic.h"

struct nic_pd;
struct nic_qp;

struct nic_srq {
	uint64_t buf_va;
	uint64_t db_va;
	uint32_t wqe_count;
	uint16_t pi;    /* the doorbell record's value, as last read */
	uint16_t ci;    /* entries taken */
	uint16_t head;  /* index of the next; from the application, so it may be outside the ring */
	uint16_t limit; /* 0: not armed */
	uint8_t size_log2;
	bool live;
	bool failed; /* reported; gives nothing any more */
	bool cyclic; /* the next entry is the one behind, not the one that an entry names */
	uint32_t number;
	uint32_t pdn;
	uint32_t xrcdn; /* 0: not XRC, and the next two mean nothing */
	uint32_t cqn;
	uint32_t user_index;
	uint32_t users;
	uint64_t cookie;
};

struct nic_srq *nic_srq_find(const struct nic *nic, uint32_t srqn);
struct nic_pd *nic_xrcd_find(const struct nic *nic, uint32_t xrcdn);
/* nic_srq_look - reads the doorbell record if what is known of it is used up; false: it makes no
 * sense, or the queue has failed before. */
bool nic_srq_look(struct nic *nic, struct nic_srq *srq);
static inline bool nic_srq_is_empty(const struct nic_srq *srq)
{
	return srq->pi == srq->ci;
}
/* nic_srq_took - the entry at the head has been copied, and named `next` as the one after it. */
void nic_srq_took(struct nic *nic, struct nic_srq *srq, uint16_t next);
void nic_srq_fail(struct nic *nic, struct nic_srq *srq);
/* nic_srq_fail_of_cq - the same for every XRC queue that completes to cqn. */
void nic_srq_fail_of_cq(struct nic *nic, uint32_t cqn);
/* nic_xrc_bind - srqn is where requests to qp, an XRC target, go from now on; false: it is not an
 * XRC queue of qp's domain, or qp is in the middle of a message to another. */
bool nic_xrc_bind(struct nic *nic, struct nic_qp *qp, uint32_t srqn);

#endif
