/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turn.c - who waits for a destination's pace: one queue for each destination, in which queue pairs
 * stand in the order in which they came, and one alarm, which calls the first of them.
 *
 * Who was called sends until the pace stops it, and then stands behind the others. What it sends
 * sets the alarm to when the next may go; should it send nothing, the next is called in the next
 * pass. So a packet wakes one queue pair, however many wait, and nobody overtakes.
 */
#include "nic/nic_priv.h"

static struct nic_dest *dest_at(const struct nic *nic, uint32_t place)
{
	return &nic->cong.dests[place - 1];
}

static struct nic_qp *qp_at(const struct nic *nic, uint32_t place)
{
	return place == 0 ? NULL : &nic->qps[place - 1];
}

static void join(const struct nic *nic, struct nic_qp *qp, struct nic_dest *dest)
{
	struct nic_qp *last = qp_at(nic, dest->turn_last);

	qp->turn.dest = (uint16_t)(dest - nic->cong.dests + 1);
	qp->turn.before = dest->turn_last;
	qp->turn.behind = 0;
	dest->turn_last = qp->index + 1;
	if (last)
		last->turn.behind = dest->turn_last;
	else
		dest->turn_first = dest->turn_last;
	dest->flow.counters.waits++;
}

void nic_turn_leave(struct nic *nic, struct nic_qp *qp)
{
	struct nic_qp *before = qp_at(nic, qp->turn.before);
	struct nic_qp *behind = qp_at(nic, qp->turn.behind);
	struct nic_dest *dest;

	if (qp->turn.dest == 0)
		return;
	dest = dest_at(nic, qp->turn.dest);
	if (before)
		before->turn.behind = qp->turn.behind;
	else
		dest->turn_first = qp->turn.behind;
	if (behind)
		behind->turn.before = qp->turn.before;
	else
		dest->turn_last = qp->turn.before;
	qp->turn.dest = 0;
	if (dest->turn_first == 0)
		nic_alarm_cancel_dest(nic, dest);
}

bool nic_turn_take(struct nic *nic, struct nic_qp *qp, struct nic_dest *dest)
{
	uint64_t at_ns = nic_cc_may_send(&dest->flow.cc, nic->now_ns);
	uint32_t place = qp->index + 1;
	bool open = at_ns <= nic->now_ns;
	bool next = dest->turn_first == 0 || dest->turn_first == place || dest->called == place;

	if (!dest->flow.cc.paced || (open && next)) {
		nic_turn_leave(nic, qp);
		return true;
	}
	if (dest->called == place)
		dest->called = 0;
	if (qp->turn.dest == dest - nic->cong.dests + 1)
		return false;
	nic_turn_leave(nic, qp);
	join(nic, qp, dest);
	if (dest->turn_first == place)
		nic_alarm_set_dest(nic, dest, open ? nic->now_ns + 1 : at_ns);
	return false;
}

void nic_turn_sent(struct nic *nic, struct nic_dest *dest)
{
	uint64_t at_ns;

	if (dest->turn_first == 0)
		return;
	at_ns = nic_cc_may_send(&dest->flow.cc, nic->now_ns);
	nic_alarm_set_dest(nic, dest, at_ns > nic->now_ns ? at_ns : nic->now_ns + 1);
}

static void call(struct nic *nic, struct nic_dest *dest)
{
	struct nic_qp *qp = qp_at(nic, dest->turn_first);

	dest->called = dest->turn_first;
	nic_turn_leave(nic, qp);
	nic_ready(nic, qp);
}

void nic_turn_expire(struct nic *nic, struct nic_dest *dest)
{
	uint64_t at_ns = nic_cc_may_send(&dest->flow.cc, nic->now_ns);

	if (at_ns > nic->now_ns) {
		nic_alarm_set_dest(nic, dest, at_ns);
		return;
	}
	/* It may not be paced any more. */
	do {
		call(nic, dest);
	} while (dest->turn_first != 0 && !dest->flow.cc.paced);
	if (dest->turn_first != 0)
		nic_alarm_set_dest(nic, dest, nic->now_ns + 1);
}

void nic_turn_check(const struct nic *nic, const struct nic_dest *dest)
{
	const struct nic_qp *qp = NULL;
	uint32_t before = 0;

	for (uint32_t place = dest->turn_first; place != 0; place = qp->turn.behind) {
		qp = qp_at(nic, place);
		ASSERT(qp->live && dest_at(nic, qp->turn.dest) == dest);
		ASSERT(qp->turn.before == before);
		before = place;
	}
	ASSERT(dest->turn_last == before);
	ASSERT((before == 0) == (dest->flow.alarm_ns == NIC_CC_NEVER));
}
