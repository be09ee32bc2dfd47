/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ece.c - what this device offers, what a queue pair has agreed on with its peer, and the
 * congestion control that it gets by that.
 */
#include "nic/nic_priv.h"

#include "abi/ece.h"

#include <linux/errno.h>

_Static_assert((int)NIC_CC_NONE == ECE_NONE && (int)NIC_CC_DCQCN == ECE_DCQCN &&
		   (int)NIC_CC_RTT == ECE_RTT,
	       "algorithms have one number");

/* The one place where capabilities are switched on: each bit is what works. */
enum {
	OWN_BITS = ECE_PER_DESTINATION_F | ECE_ECT_F | ECE_PROBE_F | ECE_PROBE_TIMES_F | ECE_CNP_F |
		   ECE_RTT_F | ECE_DCQCN_F,
};

/* A port that was told to do without congestion control does: it names no algorithm. */
void nic_ece_init(struct nic *nic)
{
	uint32_t bits = OWN_BITS;

	if (nic->config.cc_algorithm == NIC_CC_NONE)
		bits &= ~(uint32_t)ECE_ALGORITHMS_MASK;
	nic->ece_offer = ece_offer(bits, (enum ece_algorithm)nic->config.cc_algorithm);
	if (nic->config.ece_plain)
		nic->ece_offer = ECE_VERSION_1;
}

/* Nobody has said anything yet. */
void nic_ece_begin(const struct nic *nic, struct nic_qp *qp)
{
	qp->ece = qp->ece_asked ? nic->ece_offer : 0;
	qp->cc_algorithm = nic->config.cc_algorithm;
}

void nic_ece_create(const struct nic *nic, struct nic_qp *qp, uint32_t asked)
{
	qp->ece_asked = (asked & ECE_VERSION_MASK) == ECE_VERSION_1;
	nic_ece_begin(nic, qp);
}

/* An answer that chose something, even nothing, is kept to; without one it is as if nobody had
 * asked. Once the queue pair sends, the word stands. */
void nic_ece_set(const struct nic *nic, struct nic_qp *qp, uint32_t word)
{
	if (qp->state != NIC_QP_RESET && qp->state != NIC_QP_INIT && qp->state != NIC_QP_RTR)
		return;
	qp->ece = ece_answer(nic->ece_offer, word, nic_qp_acked(qp));
	qp->cc_algorithm = nic->config.cc_algorithm;
	if (ece_is_own(qp->ece))
		qp->cc_algorithm = (uint8_t)ece_algorithm(qp->ece);
}

int nic_qp_algorithm(const struct nic *nic, uint32_t qpn, enum nic_cc_algorithm *algorithm)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	if (!qp)
		return -EINVAL;
	*algorithm = (enum nic_cc_algorithm)qp->cc_algorithm;
	return 0;
}
