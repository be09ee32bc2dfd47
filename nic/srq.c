/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srq.c - shared receive queues and XRC domains.
 *
 * The list is the application's: an entry says which comes next, and nothing stops it from saying
 * nonsense. Each entry that is taken counts against the doorbell record, so a list that runs in
 * circles gives no more entries than were posted.
 */
#include "nic/nic_priv.h"

#include <linux/errno.h>

enum {
	WQE_COUNT_MAX = 32768,
	SIZE_LOG2_MIN = 5, /* a next segment and one piece */
	SIZE_LOG2_MAX = 10,
};

struct nic_srq *nic_srq_find(const struct nic *nic, uint32_t srqn)
{
	if (srqn > nic->config.srq_count_max || !nic->srqs[srqn].live)
		return NULL;
	return &nic->srqs[srqn];
}

struct nic_pd *nic_xrcd_find(const struct nic *nic, uint32_t xrcdn)
{
	if (xrcdn > nic->config.xrcd_count_max || !nic->xrcds[xrcdn].live)
		return NULL;
	return &nic->xrcds[xrcdn];
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool attr_ok(const struct nic *nic, const struct nic_srq_attr *attr)
{
	if (!ring_is_power_of_two(attr->wqe_count) || attr->wqe_count > WQE_COUNT_MAX ||
	    attr->wqe_size_log2 < SIZE_LOG2_MIN || attr->wqe_size_log2 > SIZE_LOG2_MAX ||
	    attr->db_va % DB_RECORD_BYTES != 0 || !nic_pd_find(nic, attr->pdn))
		return false;
	if (attr->xrcdn == 0)
		return attr->cqn == 0;
	return nic_xrcd_find(nic, attr->xrcdn) && nic_cq_find(nic, attr->cqn);
}

int nic_srq_create(struct nic *nic, const struct nic_srq_attr *attr, uint32_t *srqn)
{
	uint32_t index;

	if (!attr_ok(nic, attr))
		return -EINVAL;
	if (!nic_slot_take(&nic->srq_slots, 0, &index))
		return -ENOMEM;
	nic->srqs[index] = (struct nic_srq){
	    .buf_va = attr->buf_va,
	    .db_va = attr->db_va,
	    .wqe_count = attr->wqe_count,
	    .size_log2 = (uint8_t)attr->wqe_size_log2,
	    .live = true,
	    .cyclic = attr->cyclic,
	    .number = index,
	    .pdn = attr->pdn,
	    .xrcdn = attr->xrcdn,
	    .cqn = attr->cqn,
	    .user_index = attr->cqe_srqn ? index : attr->user_index,
	    .cookie = attr->cookie,
	};
	nic->pds[attr->pdn].users++;
	if (attr->xrcdn != 0) {
		nic->xrcds[attr->xrcdn].users++;
		nic->cqs[attr->cqn].users++;
	}
	*srqn = index;
	return 0;
}

/* Targets that were last asked for this queue forget it, and the entry of it that they hold. */
static void unbind(struct nic *nic, uint32_t srqn)
{
	for (uint32_t i = 0; i < nic->qp_watch_count; i++) {
		struct nic_qp *qp = &nic->qps[nic->qp_watch[i].index];

		if (qp->srqn != srqn)
			continue;
		ASSERT(qp->type == NIC_QP_XRC_TGT);
		nic_wqe_forget(nic, qp);
		qp->rx_held = false;
		qp->srqn = qp->cqn_recv = qp->pdn_recv = qp->pdn_resp = 0;
	}
}

int nic_srq_destroy(struct nic *nic, uint32_t srqn)
{
	struct nic_srq *srq = nic_srq_find(nic, srqn);

	if (!srq)
		return -EINVAL;
	if (srq->users != 0)
		return -EBUSY;
	if (srq->xrcdn != 0) {
		unbind(nic, srqn);
		nic->xrcds[srq->xrcdn].users--;
		nic->cqs[srq->cqn].users--;
	}
	nic->pds[srq->pdn].users--;
	srq->live = false;
	nic_slot_give(&nic->srq_slots, srqn);
	return 0;
}

int nic_xrcd_create(struct nic *nic, uint32_t *xrcdn)
{
	uint32_t index;

	if (!nic_slot_take(&nic->xrcd_slots, 0, &index))
		return -ENOMEM;
	nic->xrcds[index] = (struct nic_pd){.live = true};
	*xrcdn = index;
	return 0;
}

int nic_xrcd_destroy(struct nic *nic, uint32_t xrcdn)
{
	struct nic_pd *xrcd = nic_xrcd_find(nic, xrcdn);

	if (!xrcd)
		return -EINVAL;
	if (xrcd->users != 0)
		return -EBUSY;
	xrcd->live = false;
	nic_slot_give(&nic->xrcd_slots, xrcdn);
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void event(struct nic *nic, const struct nic_srq *srq, enum nic_event_kind kind)
{
	struct nic_event ev = {.kind = kind, .number = srq->number, .cookie = srq->cookie};

	nic->env->event(nic->env->ctx, &ev);
}

void nic_srq_fail(struct nic *nic, struct nic_srq *srq)
{
	if (srq->failed)
		return;
	srq->failed = true;
	srq->limit = 0;
	event(nic, srq, NIC_EVENT_SRQ_ERROR);
}

void nic_srq_fail_of_cq(struct nic *nic, uint32_t cqn)
{
	for (uint32_t i = 1; i < nic->srq_slots.fresh; i++)
		if (nic->srqs[i].live && nic->srqs[i].xrcdn != 0 && nic->srqs[i].cqn == cqn)
			nic_srq_fail(nic, &nic->srqs[i]);
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool read_posted(struct nic *nic, struct nic_srq *srq)
{
	uint32_t word;

	if (!nic_mem_load_be32(nic, srq->db_va + 4 * DB_SRQ, &word) ||
	    (uint16_t)(word - srq->ci) > srq->wqe_count) {
		nic_srq_fail(nic, srq);
		return false;
	}
	srq->pi = (uint16_t)word;
	return true;
}

bool nic_srq_look(struct nic *nic, struct nic_srq *srq)
{
	if (srq->failed)
		return false;
	if (!nic_srq_is_empty(srq))
		return true;
	return read_posted(nic, srq);
}

/* More may have been posted than was last read: what is there counts. */
static void check_limit(struct nic *nic, struct nic_srq *srq)
{
	if (srq->limit == 0 || (uint16_t)(srq->pi - srq->ci) >= srq->limit)
		return;
	if (!read_posted(nic, srq) || (uint16_t)(srq->pi - srq->ci) >= srq->limit)
		return;
	srq->limit = 0;
	event(nic, srq, NIC_EVENT_SRQ_LIMIT);
}

void nic_srq_took(struct nic *nic, struct nic_srq *srq, uint16_t next)
{
	ASSERT(!nic_srq_is_empty(srq));
	srq->ci++;
	srq->head = srq->cyclic ? (srq->head + 1) & (srq->wqe_count - 1) : next;
	check_limit(nic, srq);
}

int nic_srq_arm(struct nic *nic, uint32_t srqn, uint32_t limit)
{
	struct nic_srq *srq = nic_srq_find(nic, srqn);

	if (!srq || limit > srq->wqe_count)
		return -EINVAL;
	if (srq->failed)
		return 0;
	srq->limit = (uint16_t)limit;
	check_limit(nic, srq);
	return 0;
}

int nic_srq_query(const struct nic *nic, uint32_t srqn, uint32_t *limit)
{
	const struct nic_srq *srq = nic_srq_find(nic, srqn);

	if (!srq)
		return -EINVAL;
	*limit = srq->limit;
	return 0;
}

/* ---- XRC ------------------------------------------------------------------------------------- */

bool nic_xrc_bind(struct nic *nic, struct nic_qp *qp, uint32_t srqn)
{
	const struct nic_srq *srq;

	if (qp->srqn == srqn && srqn != 0)
		return true;
	srq = nic_srq_find(nic, srqn);
	if (!srq || srq->xrcdn == 0 || srq->xrcdn != qp->xrcdn || qp->rx_kind != ROCE_KIND_UNKNOWN)
		return false;
	qp->srqn = srqn;
	qp->cqn_recv = srq->cqn;
	qp->user_index_recv = srq->user_index;
	qp->pdn_recv = qp->pdn_resp = srq->pdn;
	return true;
}
