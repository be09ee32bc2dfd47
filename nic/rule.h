/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rule.h - rules for frames, for the files of the core. They are in rule.c. See nic.h.
 */
#ifndef NIC_RULE_H
#define NIC_RULE_H

#include "nic/nic_priv.h"

/* nic_rule_forget - the queue pair is going: so are the rules that lead to it. */
void nic_rule_forget(struct nic *nic, uint32_t qpn);
/* nic_rule_bring - delivers a frame, which is as long as it must be, to each queue pair that it
 * comes to. */
void nic_rule_bring(struct nic *nic, const struct nic_pkt *pkt,
		    void (*deliver)(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt));

#endif
