/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_trace.h - what the files of the core tell nic_env.trace of. Each function does nothing when
 * nobody wants to know; those on the path of every entry ask nic->tracing first, which is all that
 * a trace costs there. Why something failed is found out anew, by looking at it once more.
 */
#ifndef NIC_NIC_TRACE_H
#define NIC_NIC_TRACE_H

#include "abi/trace.h"
#include "nic/nic_priv.h"

static inline bool nic_tracing(const struct nic *nic)
{
	return __builtin_expect(nic->tracing, false);
}

/* nic_trace_send - the entry in wqe, at block `index`, is begun or fails at once. */
void nic_trace_send(struct nic *nic, const struct nic_qp *qp, uint16_t index,
		    const struct nic_wqe *wqe, struct nic_fault fault);
/* nic_trace_receive - the receive in nic->rx_wqe, whose pieces are bytes [at, end) of it. */
void nic_trace_receive(struct nic *nic, const struct nic_qp *qp, uint16_t index, uint32_t at,
		       uint32_t end);
void nic_trace_cqe(struct nic *nic, uint32_t cqn, const struct cqe64 *cqe);

/* What was wanted of a key, and by whom; see nic_mem_check. */
struct nic_ask {
	uint64_t who;
	uint64_t va;
	uint64_t len_bytes;
	uint32_t key;
	uint32_t access;
};

/* nic_trace_deny - a request is answered with the AETH syndrome; 0: with nothing. reason, or what
 * is wrong with the key that it asked for. */
void nic_trace_deny(struct nic *nic, const struct nic_qp *qp, uint8_t syndrome,
		    enum trace_reason reason);
void nic_trace_deny_key(struct nic *nic, const struct nic_qp *qp, uint8_t syndrome,
			const struct nic_ask *ask);
/* nic_trace_request - the same of a packet that is here. nic_trace_rights, nic_trace_region - which
 * right of the queue pair it needs; what of the region or its address it does not have. */
void nic_trace_request(struct nic *nic, const struct nic_qp *qp, const struct nic_pkt *pkt,
		       uint8_t syndrome, enum trace_reason reason);
enum trace_reason nic_trace_rights(const struct nic_pkt *pkt);
enum trace_reason nic_trace_region(const struct nic *nic, const struct nic_qp *qp,
				   const struct nic_pkt *pkt);
/* nic_trace_deny_short - a message of so many bytes or more, which nobody acknowledges, does not
 * fit into nic->rx_wqe. */
void nic_trace_deny_short(struct nic *nic, const struct nic_qp *qp, uint64_t message_bytes);
/* nic_trace_drop - a packet gets to no queue pair. */
void nic_trace_drop(struct nic *nic, const uint8_t *bth, enum trace_reason reason);
/* nic_trace_scatter - the bytes of a message, n of them from byte off on, do not get into wqe: a
 * receive, or what op reads into. */
void nic_trace_scatter(struct nic *nic, const struct nic_qp *qp, const struct nic_op *op,
		       struct nic_wqe *wqe, uint64_t off, uint32_t n, enum nic_mem verdict);
/* nic_trace_gather - nor out of it: the copy stopped there. */
void nic_trace_gather(struct nic *nic, const struct nic_qp *qp, const struct nic_op *op,
		      const struct nic_wqe *wqe, enum nic_mem verdict);
/* nic_trace_fail - an operation fails. What it asked of the peer is read from its entry. */
void nic_trace_fail(struct nic *nic, const struct nic_qp *qp, const struct nic_op *op,
		    struct nic_fault fault, enum trace_reason reason);

void nic_trace_nak(struct nic *nic, const struct nic_qp *qp, bool came, uint8_t syndrome,
		   uint32_t psn);
void nic_trace_retry(struct nic *nic, const struct nic_qp *qp);

#endif
