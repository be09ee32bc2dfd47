/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tx.c - packets out: the BTH, the pad, the budget and the counters. The caller writes the extended
 * headers and the payload, straight into what the wire lends.
 */
#include "nic/nic_priv.h"

uint8_t *nic_tx_open(struct nic *nic, const struct nic_qp *qp, uint8_t opcode, uint8_t bits,
		     bool ack_req, uint32_t psn, uint32_t payload_bytes)
{
	uint32_t head = roce_opcodes[opcode].header_bytes;
	uint32_t pad = roce_pad_bytes(payload_bytes);
	uint8_t *bth;

	nic->open_bytes = head + payload_bytes + pad;
	bth = nic->env->tx_reserve(nic->env->ctx, &qp->params.path, qp->params.dest_qpn,
				   nic->open_bytes);
	if (!bth)
		return NULL;
	/* [IBTA1 9.2]: opcode, SE and pad, P_Key; destination; AckReq and PSN. */
	be32_store(bth, (uint32_t)opcode << 24 |
			    (uint32_t)(bits | pad << ROCE_BTH_PAD_SHIFT) << 16 | ROCE_PKEY_DEFAULT);
	be32_store(bth + ROCE_BTH_ECN_OFF, qp->params.dest_qpn);
	be32_store(bth + ROCE_BTH_ACK_OFF, (ack_req ? 1u << 31 : 0) | psn);
	for (uint32_t i = 0; i < pad; i++)
		bth[head + payload_bytes + i] = 0;
	return bth;
}

void nic_tx_close(struct nic *nic, struct nic_qp *qp, const uint8_t *bth, uint32_t payload_bytes)
{
	const struct nic_env *env = nic->env;

	if (env->packet && qp->type != NIC_QP_RAW) /* a capture has RoCE packets */
		env->packet(env->ctx, true, &qp->params.path, bth, nic->open_bytes);
	env->tx_commit(env->ctx);
	nic->counters.tx_packets++;
	nic->counters.tx_bytes += nic->open_bytes;
	qp->counters.tx_packets++;
	qp->counters.tx_payload_bytes += payload_bytes;
	nic->left_packets--;
	nic->left_bytes -= payload_bytes;
}

void nic_tx_drop(struct nic *nic)
{
	nic->env->tx_cancel(nic->env->ctx);
}
