/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dci.c - the initiator of dynamically connected queue pairs: what makes it differ from a
 * requester of RC. See dc.h.
 *
 * Streams are executed one after another, as the ring has them. A session belongs to one stream: so
 * what is under way when an operation fails is of its stream, and is flushed with it.
 */
#include "nic/nic_priv.h"

#include <linux/errno.h>

enum { SESSION_TICK_LOG2 = 8 };

/* ---- where an entry leads -------------------------------------------------------------------- */

bool nic_dci_address(const struct nic *nic, struct nic_wqe *wqe, const uint8_t *seg)
{
	if (!nic_ud_address(nic, wqe, seg))
		return false;
	wqe->path.datagram = false;
	wqe->dc_key = be64_load(seg);
	return true;
}

static bool same_path(const struct nic_path *a, const struct nic_path *b)
{
	return memcmp(a->dgid, b->dgid, sizeof(a->dgid)) == 0 &&
	       memcmp(a->sgid, b->sgid, sizeof(a->sgid)) == 0 && a->sgid_index == b->sgid_index &&
	       a->traffic_class == b->traffic_class && a->hop_limit == b->hop_limit &&
	       a->sl == b->sl && a->udp_sport == b->udp_sport && a->dlid == b->dlid &&
	       a->slid == b->slid && a->flow_label == b->flow_label && a->datagram == b->datagram;
}

static bool same_target(const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	return qp->params.dest_qpn == wqe->dqpn && qp->dc.key == wqe->dc_key &&
	       same_path(&qp->params.path, &wqe->path);
}

static uint16_t stream_of(const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	if (qp->dc.failed_max == 0)
		return 0;
	return be16_load(wqe->raw + offsetof(struct wqe_ctrl_seg, dci_stream));
}

/* ---- sessions -------------------------------------------------------------------------------- */

bool nic_dci_waits(const struct nic_qp *qp, const struct nic_wqe *wqe, bool good)
{
	if (qp->op_tail == qp->op_head)
		return false;
	return stream_of(qp, wqe) != qp->dc.stream ||
	       (good && !nic_opcode_local(wqe->opcode) && !same_target(qp, wqe));
}

static void turn_to(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe)
{
	qp->params.path = wqe->path;
	qp->params.dest_qpn = wqe->dqpn;
	qp->dc.key = wqe->dc_key;
	qp->peer_is_here = nic_path_leads_here(&wqe->path);
	nic_rtt_forget(qp);
	nic_flow_begin(nic, qp);
}

/* The clock makes numbers rise from one process with these queue pairs to the next: four of them a
 * microsecond, so that 48 bits last for years. */
static uint64_t new_session(struct nic *nic)
{
	uint64_t tick = nic->now_ns >> SESSION_TICK_LOG2;

	nic->dc_session = nic->dc_session < tick ? tick : nic->dc_session + 1;
	return nic->dc_session & ROCE_DC_SESSION_MASK;
}

void nic_dci_start(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe, bool good)
{
	if (qp->op_tail != qp->op_head)
		return;
	qp->dc.stream = stream_of(qp, wqe);
	if (!good || nic_opcode_local(wqe->opcode))
		return;
	if (!same_target(qp, wqe))
		turn_to(nic, qp, wqe);
	qp->dc.session = new_session(nic);
	qp->dc.first_psn = qp->psn_next;
}

void nic_dci_store(const struct nic_qp *qp, uint8_t *dceth)
{
	be64_store(dceth + ROCE_DCETH_KEY_OFF, qp->dc.key);
	be64_store(dceth + ROCE_DCETH_SESSION_OFF, qp->dc.session << 16);
	be24_store(dceth + ROCE_DCETH_INITIATOR_OFF, qp->number);
	be24_store(dceth + ROCE_DCETH_FIRST_PSN_OFF, qp->dc.first_psn);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Its place among those that have failed; failed_count: it has not. */
static uint8_t failed_at(const struct nic_dc *dc, uint16_t stream)
{
	uint8_t i = 0;

	while (i < dc->failed_count && dc->failed[i] != stream)
		i++;
	return i;
}

bool nic_dci_is_flushed(const struct nic_qp *qp, const struct nic_wqe *wqe)
{
	return failed_at(&qp->dc, stream_of(qp, wqe)) != qp->dc.failed_count;
}

void nic_dci_fail(struct nic *nic, struct nic_qp *qp)
{
	struct nic_dc *dc = &qp->dc;

	if (qp->state == NIC_QP_ERR)
		return;
	nic_qp_error(nic, qp);
	if (dc->failed_max == 0)
		return;
	ASSERT(dc->failed_count < dc->failed_max);
	dc->failed[dc->failed_count++] = dc->stream;
	dc->settling = dc->failed_count < dc->failed_max;
}

/* Nothing of before is awaited any more: what still comes is a ghost. */
void nic_dci_settled(struct nic *nic, struct nic_qp *qp)
{
	ASSERT(qp->dc.settling && qp->op_tail == qp->op_head);
	qp->dc.settling = false;
	qp->op_cur = qp->op_tail;
	qp->psn_una = qp->psn_send = qp->psn_high = qp->psn_next;
	qp->rd_used = 0;
	qp->sq_halted = qp->sq_stalled = qp->went_back = qp->probing = false;
	qp->retry_left = qp->params.retry_count;
	qp->rnr_left = qp->params.rnr_retry;
	nic_rtt_forget(qp);
	nic_flow_begin(nic, qp);
	nic_qp_work(nic, qp);
}

void nic_dci_settle(struct nic *nic, struct nic_qp *qp)
{
	while (qp->dc.settling) {
		nic->left_bytes = NIC_VISIT_FLUSHES * CQE_BYTES;
		nic_qp_flush(nic, qp);
	}
}

int nic_dci_reset_stream(struct nic *nic, uint32_t qpn, uint16_t stream, uint64_t now_ns)
{
	struct nic_qp *qp = nic_qp_find(nic, qpn);
	uint8_t i;

	if (!qp || qp->type != NIC_QP_DCI)
		return -EINVAL;
	nic->now_ns = now_ns;
	nic_dci_settle(nic, qp);
	i = failed_at(&qp->dc, stream);
	if (qp->state != NIC_QP_RTS || i == qp->dc.failed_count)
		return -EINVAL;
	qp->dc.failed[i] = qp->dc.failed[--qp->dc.failed_count];
	return 0;
}
