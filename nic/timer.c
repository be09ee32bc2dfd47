/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.c - a binary heap of queue pairs, by a key that is never later than their deadline.
 */
#include "nic/nic_priv.h"

static struct nic_qp *at(const struct nic *nic, uint32_t pos)
{
	return &nic->qps[nic->heap[pos]];
}

static void place(struct nic *nic, uint32_t pos, struct nic_qp *qp)
{
	nic->heap[pos] = qp->index;
	qp->heap_pos = pos;
}

static void sift_up(struct nic *nic, uint32_t pos, struct nic_qp *qp)
{
	while (pos != 0) {
		uint32_t parent = (pos - 1) / 2;

		if (at(nic, parent)->heap_ns <= qp->heap_ns)
			break;
		place(nic, pos, at(nic, parent));
		pos = parent;
	}
	place(nic, pos, qp);
}

static void sift_down(struct nic *nic, uint32_t pos, struct nic_qp *qp)
{
	for (;;) {
		uint32_t child = 2 * pos + 1;

		if (child >= nic->heap_count)
			break;
		if (child + 1 < nic->heap_count &&
		    at(nic, child + 1)->heap_ns < at(nic, child)->heap_ns)
			child++;
		if (qp->heap_ns <= at(nic, child)->heap_ns)
			break;
		place(nic, pos, at(nic, child));
		pos = child;
	}
	place(nic, pos, qp);
}

/* nic_timer_pull - qp's key becomes its deadline, which is earlier. */
void nic_timer_pull(struct nic *nic, struct nic_qp *qp)
{
	ASSERT(qp->deadline_ns < qp->heap_ns);
	qp->heap_ns = qp->deadline_ns;
	if (qp->heap_pos == NIC_HEAP_NONE)
		sift_up(nic, nic->heap_count++, qp);
	else
		sift_up(nic, qp->heap_pos, qp);
}

void nic_timer_remove(struct nic *nic, struct nic_qp *qp)
{
	uint32_t pos = qp->heap_pos;
	struct nic_qp *last;

	qp->deadline_ns = NIC_TIME_NEVER;
	qp->heap_ns = NIC_TIME_NEVER;
	qp->heap_pos = NIC_HEAP_NONE;
	if (pos == NIC_HEAP_NONE)
		return;
	last = at(nic, --nic->heap_count);
	if (pos == nic->heap_count)
		return;
	/* The last one takes the place; it may belong above or below. */
	if (pos != 0 && last->heap_ns < at(nic, (pos - 1) / 2)->heap_ns)
		sift_up(nic, pos, last);
	else
		sift_down(nic, pos, last);
}

void nic_timer_expire(struct nic *nic)
{
	while (nic->heap_count != 0 && at(nic, 0)->heap_ns <= nic->now_ns) {
		struct nic_qp *qp = at(nic, 0);

		if (qp->deadline_ns <= nic->now_ns) {
			nic_timer_remove(nic, qp);
			nic_comp_expire(nic, qp);
		} else if (qp->deadline_ns == NIC_TIME_NEVER) {
			nic_timer_remove(nic, qp);
		} else {
			qp->heap_ns = qp->deadline_ns;
			sift_down(nic, 0, qp);
		}
	}
}

uint64_t nic_deadline_ns(const struct nic *nic)
{
	uint64_t timer_ns = nic->heap_count == 0 ? NIC_TIME_NEVER : at(nic, 0)->heap_ns;
	uint64_t alarm_ns;

	if (nic->cong.work_count == 0)
		return timer_ns;
	alarm_ns = nic_alarm_next(nic);
	return alarm_ns < timer_ns ? alarm_ns : timer_ns;
}
