/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ece.c - enhanced connection establishment: the word of options that a queue pair offers, and what
 * it agrees on with its peer.
 *
 * The kernel says what a new queue pair offers. The peer's word goes with the step to ready to
 * receive, whose answer says what holds [rdma-core mlx5]. What a card means by its bits is not
 * known: they are passed on as they are. Of the software NIC's own, see abi/ece.h.
 */
#include "lib/lib.h"

#include "abi/ece.h"

#include <string.h>

_Static_assert((int)RIG_CC_DCQCN == ECE_DCQCN && (int)RIG_CC_RTT == ECE_RTT, "one set of numbers");

uint32_t rig_qp_ece(const struct rig_qp *qp)
{
	return qp && qp->shell.live == LIB_LIVE_QP ? qp->ece : 0;
}

int rig_qp_set_ece(struct rig_qp *qp, uint32_t ece)
{
	struct rig_nic *nic;
	int err;

	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, "rig_qp_set_ece");
	nic = qp->shell.nic;
	err = lib_nic_lock(nic, "rig_qp_set_ece");
	if (err)
		return err;
	if (!nic->ece)
		err =
		    lib_fail(EOPNOTSUPP, "rig_qp_set_ece: the kernel or %s has no ECE", nic->name);
	else if (qp->connected)
		err = lib_fail(EINVAL, "rig_qp_set_ece: queue pair 0x%x is ready to send already",
			       qp->number);
	if (!err) {
		qp->ece_peer = ece;
		qp->ece_set = true;
	}
	lib_nic_unlock(nic);
	return err;
}

uint32_t rig_ece_prefer(uint32_t ece, enum rig_cc algorithm)
{
	static const uint32_t flags[] = {[RIG_CC_DCQCN] = ECE_DCQCN_F, [RIG_CC_RTT] = ECE_RTT_F};

	if (!ece_is_own(ece) || (unsigned int)algorithm >= sizeof(flags) / sizeof(flags[0]))
		return 0;
	ece &= ~(uint32_t)(ECE_ALGORITHM_MASK | ECE_ALGORITHMS_MASK) | flags[algorithm];
	if (flags[algorithm] && !(ece & flags[algorithm]))
		return 0;
	return ece | (uint32_t)algorithm << ECE_ALGORITHM_SHIFT;
}

enum rig_cc rig_ece_cc(uint32_t ece)
{
	enum ece_algorithm algorithm = ece_algorithm(ece);

	return ece_is_own(ece) && algorithm <= ECE_RTT ? (enum rig_cc)algorithm : RIG_CC_NONE;
}

/* comes_first - some order of two ends, the same at both. */
static bool comes_first(const struct rig_endpoint *a, const struct rig_endpoint *b)
{
	int order = memcmp(a->address.gid, b->address.gid, sizeof(a->address.gid));

	if (order == 0)
		order = (int)a->address.lid - (int)b->address.lid;
	return order ? order < 0 : a->qp < b->qp;
}

/*
 * lib_ece_word - two ends that connect have both made an offer, and neither knows the answer. Of
 * the one that comes first it is the answer that counts, and the other one works it out. Where one
 * end has the other's answer already, it is that.
 */
uint32_t lib_ece_word(const struct rig_qp *qp, const struct rig_endpoint *peer)
{
	const struct rig_endpoint self = {.qp = qp->number, .address = qp->shell.nic->port.address};
	bool acked = qp->transport == RIG_RC;

	if (qp->ece_set || !qp->shell.nic->ece)
		return qp->ece_peer;
	if (comes_first(&self, peer) || !ece_is_own(peer->ece) || !ece_is_own(qp->ece))
		return peer->ece;
	return ece_answer(peer->ece, qp->ece, acked);
}
