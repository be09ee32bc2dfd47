/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alarm.c - a binary heap of the queue pairs whose next packet has to wait for its turn, by when
 * that is. Their other deadlines are timer.c's.
 */
#include "nic/nic_priv.h"

static struct nic_flow *flow_at(const struct nic *nic, uint32_t pos)
{
	return &nic->cong.flows[nic->cong.alarms[pos]];
}

static void place(struct nic *nic, uint32_t pos, uint32_t index)
{
	nic->cong.alarms[pos] = index;
	nic->cong.flows[index].alarm_pos = pos;
}

/* Puts index, whose place is free, where it belongs, from pos upwards or downwards. */
static void sift(struct nic *nic, uint32_t pos, uint32_t index)
{
	uint64_t at_ns = nic->cong.flows[index].alarm_ns;

	for (; pos != 0 && flow_at(nic, (pos - 1) / 2)->alarm_ns > at_ns; pos = (pos - 1) / 2)
		place(nic, pos, nic->cong.alarms[(pos - 1) / 2]);
	for (uint32_t child; (child = 2 * pos + 1) < nic->cong.alarm_count; pos = child) {
		if (child + 1 < nic->cong.alarm_count &&
		    flow_at(nic, child + 1)->alarm_ns < flow_at(nic, child)->alarm_ns)
			child++;
		if (flow_at(nic, child)->alarm_ns >= at_ns)
			break;
		place(nic, pos, nic->cong.alarms[child]);
	}
	place(nic, pos, index);
}

void nic_alarm_set(struct nic *nic, struct nic_qp *qp, uint64_t at_ns)
{
	struct nic_flow *flow = &nic->cong.flows[qp->index];
	uint32_t pos = flow->alarm_pos;

	ASSERT(at_ns != NIC_CC_NEVER);
	if (flow->alarm_ns == NIC_CC_NEVER) {
		pos = nic->cong.alarm_count++;
		nic->cong.work_count++;
	}
	flow->alarm_ns = at_ns;
	sift(nic, pos, qp->index);
}

void nic_alarm_cancel(struct nic *nic, struct nic_qp *qp)
{
	struct nic_flow *flow = &nic->cong.flows[qp->index];
	uint32_t last;

	if (flow->alarm_ns == NIC_CC_NEVER)
		return;
	flow->alarm_ns = NIC_CC_NEVER;
	nic->cong.work_count--;
	last = nic->cong.alarms[--nic->cong.alarm_count];
	if (last != qp->index)
		sift(nic, flow->alarm_pos, last);
}

void nic_alarm_expire(struct nic *nic)
{
	while (nic_alarm_next(nic) <= nic->now_ns) {
		struct nic_qp *qp = &nic->qps[nic->cong.alarms[0]];

		nic_alarm_cancel(nic, qp);
		nic_ready(nic, qp);
	}
}

uint64_t nic_alarm_next(const struct nic *nic)
{
	return nic->cong.alarm_count == 0 ? NIC_CC_NEVER : flow_at(nic, 0)->alarm_ns;
}
