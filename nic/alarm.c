/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alarm.c - a binary heap of the flows whose next packet has to wait for its turn, by when that is:
 * of queue pairs, and of destinations for which some wait. Other deadlines are timer.c's.
 */
#include "nic/nic_priv.h"

/* By an index: those of queue pairs come first, then those of destinations. */
static struct nic_flow *flow_by(const struct nic *nic, uint32_t index)
{
	return index < nic->config.qp_count_max
		   ? &nic->cong.flows[index]
		   : &nic->cong.dests[index - nic->config.qp_count_max].flow;
}

static struct nic_flow *flow_at(const struct nic *nic, uint32_t pos)
{
	return flow_by(nic, nic->cong.alarms[pos]);
}

static uint32_t index_of(const struct nic *nic, const struct nic_dest *dest)
{
	return nic->config.qp_count_max + (uint32_t)(dest - nic->cong.dests);
}

static void place(struct nic *nic, uint32_t pos, uint32_t index)
{
	nic->cong.alarms[pos] = index;
	flow_by(nic, index)->alarm_pos = pos;
}

/* Puts index, whose place is free, where it belongs, from pos upwards or downwards. */
static void sift(struct nic *nic, uint32_t pos, uint32_t index)
{
	uint64_t at_ns = flow_by(nic, index)->alarm_ns;

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

static void set(struct nic *nic, uint32_t index, uint64_t at_ns)
{
	struct nic_flow *flow = flow_by(nic, index);
	uint32_t pos = flow->alarm_pos;

	ASSERT(at_ns != NIC_CC_NEVER);
	if (flow->alarm_ns == NIC_CC_NEVER) {
		pos = nic->cong.alarm_count++;
		nic->cong.work_count++;
	}
	flow->alarm_ns = at_ns;
	sift(nic, pos, index);
}

static void cancel(struct nic *nic, uint32_t index)
{
	struct nic_flow *flow = flow_by(nic, index);
	uint32_t last;

	if (flow->alarm_ns == NIC_CC_NEVER)
		return;
	flow->alarm_ns = NIC_CC_NEVER;
	nic->cong.work_count--;
	last = nic->cong.alarms[--nic->cong.alarm_count];
	if (last != index)
		sift(nic, flow->alarm_pos, last);
}

void nic_alarm_set(struct nic *nic, struct nic_qp *qp, uint64_t at_ns)
{
	set(nic, qp->index, at_ns);
}

void nic_alarm_cancel(struct nic *nic, struct nic_qp *qp)
{
	cancel(nic, qp->index);
}

void nic_alarm_set_dest(struct nic *nic, struct nic_dest *dest, uint64_t at_ns)
{
	set(nic, index_of(nic, dest), at_ns);
}

void nic_alarm_cancel_dest(struct nic *nic, struct nic_dest *dest)
{
	cancel(nic, index_of(nic, dest));
}

void nic_alarm_expire(struct nic *nic)
{
	while (nic_alarm_next(nic) <= nic->now_ns) {
		uint32_t index = nic->cong.alarms[0];

		if (index >= nic->config.qp_count_max) {
			nic_turn_expire(nic, &nic->cong.dests[index - nic->config.qp_count_max]);
			continue;
		}
		cancel(nic, index);
		nic_ready(nic, &nic->qps[index]);
	}
}

uint64_t nic_alarm_next(const struct nic *nic)
{
	return nic->cong.alarm_count == 0 ? NIC_CC_NEVER : flow_at(nic, 0)->alarm_ns;
}
