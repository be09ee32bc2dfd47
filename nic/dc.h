/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dc.h - dynamically connected queue pairs, as the files of the core share them: part of
 * nic_priv.h.
 *
 * An initiator is a requester that serves one target at a time: what leads elsewhere waits until
 * all that is under way is answered. Then a new session begins, with a number higher than any
 * before; its packet sequence numbers go on where the last session's have ended. A target keeps a
 * responder for each initiator: a row of nic->qps behind those of queue pairs, which is everything
 * that a queue pair is as a responder, and a struct nic_dcr beside it. Its owner sees none of them.
 *
 * A session's number tells a request from a late copy of one that an earlier session has carried
 * out. So a responder is kept for some time after it was last heard of, and a target that has no
 * more of them refuses initiators that it does not know, for a while.
 */
#ifndef NIC_DC_H
#define NIC_DC_H

#include "nic/nic.h"

struct nic_qp;
struct nic_wqe;
struct nic_pkt;

/* What a queue pair has if it is an initiator or a target. */
struct nic_dc {
	uint64_t key; /* a target's own; of the target that an initiator's session is with */

	/* An initiator. */
	uint64_t session;
	uint32_t first_psn; /* of the session */
	uint16_t stream;    /* the session's */
	uint8_t failed_count;
	uint8_t failed_max; /* with so many the queue pair fails; 0: there are no streams */
	bool settling; /* a stream has failed: in error until what is under way is flushed */
	uint16_t failed[NIC_STREAMS_FAILED_MAX]; /* what is posted to these is flushed */

	/* A target. */
	bool drained;
	uint32_t dcr_count;
	uint32_t newest; /* the initiator whose session began last: its place in nic->dcrs + 1 */
	uint32_t oldest;
};

/* A target's responder for one initiator. Places are those in nic->dcrs + 1; 0: none. */
struct nic_dcr {
	uint64_t session;
	uint64_t used_ns; /* when something of the session came last */
	uint8_t sgid[16]; /* where the initiator is; zero: on this port */
	uint32_t initiator;
	uint32_t target; /* index of its queue pair */
	uint32_t next;   /* of the same hash */
	uint32_t newer;
	uint32_t older;
};

/* ---- dci.c ----------------------------------------------------------------------------------- */

/* nic_dci_address - takes the address vector at seg into wqe; false: it leads nowhere. */
bool nic_dci_address(const struct nic *nic, struct nic_wqe *wqe, const uint8_t *seg);
/* nic_dci_waits - whether the entry in wqe, which is good or bad, may start only when all before it
 * is complete. */
bool nic_dci_waits(const struct nic_qp *qp, const struct nic_wqe *wqe, bool good);
/* nic_dci_start - it starts now. */
void nic_dci_start(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe, bool good);
/* nic_dci_is_flushed - whether the stream of the entry in wqe has failed. */
bool nic_dci_is_flushed(const struct nic_qp *qp, const struct nic_wqe *wqe);
/* nic_dci_fail - an operation has failed: its stream, and perhaps the queue pair. */
void nic_dci_fail(struct nic *nic, struct nic_qp *qp);
/* nic_dci_settled - what the failed stream had under way is flushed: back to work. */
void nic_dci_settled(struct nic *nic, struct nic_qp *qp);
/* nic_dci_settle - the same at once. */
void nic_dci_settle(struct nic *nic, struct nic_qp *qp);
void nic_dci_store(const struct nic_qp *qp, uint8_t *dceth);

/* ---- dct.c ----------------------------------------------------------------------------------- */

/* nic_dc_objects_ok - whether there is what an initiator or a target is made of. */
bool nic_dc_objects_ok(const struct nic *nic, const struct nic_qp_attr *attr);
void nic_dct_rx(struct nic *nic, struct nic_qp *dct, const struct nic_pkt *pkt,
		const struct nic_rx *rx);
/* nic_dct_die - the session ends with a NAK; the target lives on. */
void nic_dct_die(struct nic *nic, struct nic_qp *responder, uint8_t syndrome, uint32_t psn);
/* nic_dct_find_receive - there is none in the SRQ; whether responder has the one now that a message
 * of an initiator, which has been silent for long, has left half full. */
bool nic_dct_find_receive(struct nic *nic, struct nic_qp *responder);
/* nic_dct_answered - what one of its responders has sent is counted as its own. */
void nic_dct_answered(struct nic *nic, struct nic_qp *responder);
/* nic_dct_answer_last - what is owed to initiators is sent, as far as there is room. */
void nic_dct_answer_last(struct nic *nic, struct nic_qp *dct);
/* nic_dct_release - ends all responders. flush: receives that they hold complete, flushed. */
void nic_dct_release(struct nic *nic, struct nic_qp *dct, bool flush);
/* nic_dct_check - asserts what must hold of its responders. */
void nic_dct_check(const struct nic *nic, const struct nic_qp *dct);

#endif
