/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mcast.c - the port's GIDs, and multicast groups: who is attached to which, and who gets a
 * datagram that was sent to one.
 */
#include "nic/nic_priv.h"

#include <linux/errno.h>

enum {
	LID_MULTICAST_FIRST = 0xc000,
	LID_PERMISSIVE = 0xffff,
};

void nic_gid_set(struct nic *nic, uint32_t index, const uint8_t *gid)
{
	ASSERT(index < NIC_GID_COUNT);
	if (!gid) {
		nic->gid_live &= ~(1u << index);
		return;
	}
	memcpy(nic->gids[index], gid, sizeof(nic->gids[index]));
	nic->gid_live |= 1u << index;
}

/* ---- attachments ----------------------------------------------------------------------------- */

static bool same_group(const struct nic_attachment *at, const uint8_t gid[static 16])
{
	return memcmp(at->gid, gid, sizeof(at->gid)) == 0;
}

static struct nic_attachment *find(struct nic *nic, uint32_t qpn, const uint8_t gid[static 16],
				   uint16_t lid)
{
	for (uint32_t i = 0; i < nic->attachment_count; i++) {
		struct nic_attachment *at = &nic->attachments[i];

		if (at->qpn == qpn && at->lid == lid && same_group(at, gid))
			return at;
	}
	return NULL;
}

/* Whether an attachment before the n-th is to the same group. */
static bool group_seen(const struct nic *nic, uint32_t n, const uint8_t gid[static 16])
{
	for (uint32_t i = 0; i < n; i++)
		if (same_group(&nic->attachments[i], gid))
			return true;
	return false;
}

static uint32_t group_count(const struct nic *nic)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < nic->attachment_count; i++)
		count += !group_seen(nic, i, nic->attachments[i].gid);
	return count;
}

/* [linux ib_attach_mcast, is_valid_mcast_lid] */
static bool attach_ok(const struct nic *nic, uint32_t qpn, const uint8_t gid[static 16],
		      uint16_t lid)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp || qp->type != NIC_QP_UD || !roce_gid_is_multicast(gid))
		return false;
	return nic->config.lid == 0 || (lid >= LID_MULTICAST_FIRST && lid != LID_PERMISSIVE);
}

int nic_mcast_attach(struct nic *nic, uint32_t qpn, const uint8_t gid[static 16], uint16_t lid)
{
	struct nic_attachment *at = &nic->attachments[nic->attachment_count];
	int err = 0;

	if (!attach_ok(nic, qpn, gid, lid))
		return -EINVAL;
	if (find(nic, qpn, gid, lid))
		return 0;
	if (nic->attachment_count == NIC_ATTACHMENTS_MAX)
		return -ENOMEM;
	if (!group_seen(nic, nic->attachment_count, gid)) {
		if (group_count(nic) == NIC_GROUPS_MAX)
			return -ENOMEM;
		if (nic->env->group_join)
			err = nic->env->group_join(nic->env->ctx, gid);
		if (err < 0)
			return err;
	}
	*at = (struct nic_attachment){.qpn = qpn, .lid = lid};
	memcpy(at->gid, gid, sizeof(at->gid));
	nic->attachment_count++;
	return 0;
}

static void remove_attachment(struct nic *nic, struct nic_attachment *at)
{
	struct nic_attachment gone = *at;

	*at = nic->attachments[--nic->attachment_count];
	if (!group_seen(nic, nic->attachment_count, gone.gid) && nic->env->group_leave)
		nic->env->group_leave(nic->env->ctx, gone.gid);
}

int nic_mcast_detach(struct nic *nic, uint32_t qpn, const uint8_t gid[static 16], uint16_t lid)
{
	struct nic_attachment *at = find(nic, qpn, gid, lid);

	if (!at)
		return -EINVAL;
	remove_attachment(nic, at);
	return 0;
}

void nic_mcast_forget(struct nic *nic, uint32_t qpn)
{
	for (uint32_t i = nic->attachment_count; i-- > 0;)
		if (nic->attachments[i].qpn == qpn)
			remove_attachment(nic, &nic->attachments[i]);
}

uint32_t nic_mcast_count(const struct nic *nic, uint32_t qpn)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < nic->attachment_count; i++)
		count += nic->attachments[i].qpn == qpn;
	return count;
}

/* ---- a datagram to a group ------------------------------------------------------------------- */

/* Attached under two LIDs, it still gets one copy. */
static bool served(const struct nic *nic, uint32_t n)
{
	const struct nic_attachment *at = &nic->attachments[n];

	for (uint32_t i = 0; i < n; i++)
		if (nic->attachments[i].qpn == at->qpn && same_group(&nic->attachments[i], at->gid))
			return true;
	return false;
}

static void deliver(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
		    const struct nic_rx *rx)
{
	uint32_t sender = be24_load(pkt->header + ROCE_BTH_BYTES + ROCE_DETH_SRC_QPN_OFF);

	if (qp->state != NIC_QP_RTR && qp->state != NIC_QP_RTS && qp->state != NIC_QP_SQD &&
	    qp->state != NIC_QP_SQE) {
		nic->counters.rx_drop_state++;
		return;
	}
	if (qp->own_multicast_blocked && !rx->sgid && sender == qp->number)
		return;
	nic_ud_rx(nic, qp, pkt, rx);
}

void nic_mcast_rx(struct nic *nic, const struct nic_pkt *pkt, const struct nic_rx *rx)
{
	const uint8_t *gid = rx->path ? rx->path->dgid : rx->dgid;

	if (!gid || !roce_gid_is_multicast(gid)) {
		nic->counters.rx_drop_address++;
		return;
	}
	nic->counters.rx_multicast++;
	for (uint32_t i = 0; i < nic->attachment_count; i++) {
		const struct nic_attachment *at = &nic->attachments[i];

		if (same_group(at, gid) && !served(nic, i))
			deliver(nic, nic_qp_find(nic, at->qpn), pkt, rx);
	}
}
