/* SPDX-License-Identifier: BSD-2-Clause */
/* request.h - fields of a request, in the copy of its headers. Which of them are there its opcode
 * says. */
#ifndef NIC_REQUEST_H
#define NIC_REQUEST_H

#include "nic/nic_priv.h"

static inline uint64_t reth_va(const struct nic_pkt *pkt)
{
	return be64_load(pkt->header + pkt->info->reth_off + ROCE_RETH_VA_OFF);
}

static inline uint32_t reth_rkey(const struct nic_pkt *pkt)
{
	return be32_load(pkt->header + pkt->info->reth_off + ROCE_RETH_RKEY_OFF);
}

static inline uint32_t reth_len(const struct nic_pkt *pkt)
{
	return be32_load(pkt->header + pkt->info->reth_off + ROCE_RETH_LEN_OFF);
}

static inline uint64_t atomic_va(const struct nic_pkt *pkt)
{
	return be64_load(pkt->header + pkt->info->atomic_off + ROCE_ATOMIC_VA_OFF);
}

static inline uint32_t atomic_rkey(const struct nic_pkt *pkt)
{
	return be32_load(pkt->header + pkt->info->atomic_off + ROCE_ATOMIC_RKEY_OFF);
}

static inline uint32_t ieth_rkey(const struct nic_pkt *pkt)
{
	return be32_load(pkt->header + pkt->info->ieth_off);
}

static inline uint8_t atomic_bytes(const struct nic_pkt *pkt)
{
	uint8_t operation = pkt->opcode & (uint8_t)~ROCE_TRANSPORT_MASK;

	return operation == ROCE_OP_RC_MASKED_CS_4 || operation == ROCE_OP_RC_MASKED_FA_4 ? 4 : 8;
}

#endif
