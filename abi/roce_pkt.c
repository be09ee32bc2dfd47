/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_pkt.c - BTH and extended headers, both ways. On the path of every packet: the opcode's row
 * gives each header's offset, so that one length check covers them all.
 */
#include "abi/roce_pkt.h"

#include "base/be.h"

const char *roce_verdict_words(enum roce_verdict verdict)
{
	static const char *const words[] = {
#define ROCE_VERDICT_WORDS(token, text) [ROCE_##token] = text,
		ROCE_VERDICTS(ROCE_VERDICT_WORDS)
#undef ROCE_VERDICT_WORDS
	};

	return words[verdict];
}

static void decode_bth(struct roce_pkt *pkt, const uint8_t *bth)
{
	uint8_t flags = bth[ROCE_BTH_FLAGS_OFF];
	uint8_t ecn = bth[ROCE_BTH_ECN_OFF];

	pkt->opcode = bth[ROCE_BTH_OPCODE_OFF];
	pkt->pad_bytes = flags >> ROCE_BTH_PAD_SHIFT & ROCE_BTH_PAD_MASK;
	pkt->se = flags & ROCE_BTH_SE_F;
	pkt->mig_req = flags & ROCE_BTH_MIG_F;
	pkt->ack_req = bth[ROCE_BTH_ACK_OFF] & ROCE_BTH_ACK_F;
	pkt->fecn = ecn & ROCE_BTH_FECN_F;
	pkt->becn = ecn & ROCE_BTH_BECN_F;
	pkt->pkey = be16_load(bth + ROCE_BTH_PKEY_OFF);
	pkt->dqpn = be32_load(bth + ROCE_BTH_DQPN_OFF - 1) & ROCE_QPN_MASK;
	pkt->psn = be32_load(bth + ROCE_BTH_PSN_OFF - 1) & ROCE_PSN_MASK;
}

static void decode_extended(struct roce_pkt *pkt, const uint8_t *bth,
			    const struct roce_opcode_info *info)
{
	const uint8_t *h;

	if (info->headers & ROCE_H_DETH) {
		h = bth + ROCE_BTH_BYTES;
		pkt->deth.qkey = be32_load(h + ROCE_DETH_QKEY_OFF);
		pkt->deth.src_qpn = be24_load(h + ROCE_DETH_SRC_QPN_OFF);
	}
	if (info->headers & ROCE_H_XRCETH)
		pkt->srqn = be24_load(bth + ROCE_BTH_BYTES + ROCE_XRCETH_SRQN_OFF);
	if (info->headers & ROCE_H_DCETH) {
		h = bth + ROCE_BTH_BYTES;
		pkt->dceth.key = be64_load(h + ROCE_DCETH_KEY_OFF);
		pkt->dceth.session = be64_load(h + ROCE_DCETH_SESSION_OFF) >> 16;
		pkt->dceth.initiator = be24_load(h + ROCE_DCETH_INITIATOR_OFF);
		pkt->dceth.first_psn = be24_load(h + ROCE_DCETH_FIRST_PSN_OFF);
	}
	if (info->headers & ROCE_H_RETH) {
		h = bth + info->reth_off;
		pkt->reth.va = be64_load(h + ROCE_RETH_VA_OFF);
		pkt->reth.rkey = be32_load(h + ROCE_RETH_RKEY_OFF);
		pkt->reth.len_bytes = be32_load(h + ROCE_RETH_LEN_OFF);
	}
	if (info->headers & ROCE_H_ATOMIC) {
		h = bth + info->atomic_off;
		pkt->atomic.va = be64_load(h + ROCE_ATOMIC_VA_OFF);
		pkt->atomic.rkey = be32_load(h + ROCE_ATOMIC_RKEY_OFF);
		pkt->atomic.swap_add = be64_load(h + ROCE_ATOMIC_SWAP_ADD_OFF);
		pkt->atomic.compare = be64_load(h + ROCE_ATOMIC_COMPARE_OFF);
	}
	if (info->headers & ROCE_H_AETH) {
		h = bth + info->aeth_off;
		pkt->aeth.syndrome = h[ROCE_AETH_SYNDROME_OFF];
		pkt->aeth.msn = be24_load(h + ROCE_AETH_MSN_OFF);
	}
	if (info->headers & ROCE_H_ATOMIC_ACK)
		pkt->atomic_ack.orig = be64_load(bth + info->atomic_ack_off);
	if (info->headers & ROCE_H_IMM)
		pkt->imm = be32_load(bth + info->imm_off);
	if (info->headers & ROCE_H_IETH)
		pkt->inv_rkey = be32_load(bth + info->ieth_off);
}

enum roce_verdict roce_pkt_decode(struct roce_pkt *pkt, const uint8_t *bth, size_t len_bytes)
{
	const struct roce_opcode_info *info;
	size_t rest_bytes;

	if (len_bytes < ROCE_BTH_BYTES)
		return ROCE_TOO_SHORT;
	if (len_bytes % 4 != 0 || len_bytes > UINT32_MAX)
		return ROCE_BAD_LENGTH;
	if (bth[ROCE_BTH_FLAGS_OFF] & ROCE_BTH_TVER_MASK)
		return ROCE_BAD_VERSION;
	info = &roce_opcodes[bth[ROCE_BTH_OPCODE_OFF]];
	if (info->kind == ROCE_KIND_UNKNOWN)
		return ROCE_BAD_OPCODE;
	if (len_bytes < info->header_bytes)
		return ROCE_TOO_SHORT;

	*pkt = (struct roce_pkt){0};
	decode_bth(pkt, bth);
	if (info->headers)
		decode_extended(pkt, bth, info);

	rest_bytes = len_bytes - info->header_bytes;
	if (rest_bytes < pkt->pad_bytes)
		return ROCE_BAD_PAD;
	if (info->payload == ROCE_PAYLOAD_NONE && rest_bytes != 0)
		return ROCE_BAD_PAYLOAD;
	if (info->payload == ROCE_PAYLOAD_CNP && rest_bytes != ROCE_CNP_PAYLOAD_BYTES)
		return ROCE_BAD_PAYLOAD;
	if (info->payload == ROCE_PAYLOAD_PROBE && rest_bytes != ROCE_PROBE_BYTES)
		return ROCE_BAD_PAYLOAD;
	if (info->payload == ROCE_PAYLOAD_MASKS && rest_bytes != ROCE_MASKS_BYTES)
		return ROCE_BAD_PAYLOAD;
	pkt->payload = bth + info->header_bytes;
	pkt->payload_bytes = (uint32_t)(rest_bytes - pkt->pad_bytes);
	return ROCE_OK;
}

static void encode_bth(uint8_t *dst, const struct roce_pkt *pkt)
{
	unsigned int flags = (pkt->pad_bytes & ROCE_BTH_PAD_MASK) << ROCE_BTH_PAD_SHIFT;
	uint32_t ecn = 0, ack = pkt->ack_req ? (uint32_t)ROCE_BTH_ACK_F << 24 : 0;

	if (pkt->se)
		flags |= ROCE_BTH_SE_F;
	if (pkt->mig_req)
		flags |= ROCE_BTH_MIG_F;
	if (pkt->fecn)
		ecn |= ROCE_BTH_FECN_F;
	if (pkt->becn)
		ecn |= ROCE_BTH_BECN_F;
	dst[ROCE_BTH_OPCODE_OFF] = pkt->opcode;
	dst[ROCE_BTH_FLAGS_OFF] = (uint8_t)flags;
	be16_store(dst + ROCE_BTH_PKEY_OFF, pkt->pkey);
	be32_store(dst + ROCE_BTH_ECN_OFF, ecn << 24 | (pkt->dqpn & ROCE_QPN_MASK));
	be32_store(dst + ROCE_BTH_ACK_OFF, ack | (pkt->psn & ROCE_PSN_MASK));
}

static void encode_extended(uint8_t *dst, const struct roce_pkt *pkt,
			    const struct roce_opcode_info *info)
{
	uint8_t *h;

	if (info->headers & ROCE_H_DETH) {
		h = dst + ROCE_BTH_BYTES;
		be32_store(h + ROCE_DETH_QKEY_OFF, pkt->deth.qkey);
		be32_store(h + ROCE_DETH_SRC_QPN_OFF - 1, pkt->deth.src_qpn & ROCE_QPN_MASK);
	}
	if (info->headers & ROCE_H_XRCETH)
		be32_store(dst + ROCE_BTH_BYTES, pkt->srqn & ROCE_QPN_MASK);
	if (info->headers & ROCE_H_DCETH) {
		h = dst + ROCE_BTH_BYTES;
		be64_store(h + ROCE_DCETH_KEY_OFF, pkt->dceth.key);
		be64_store(h + ROCE_DCETH_SESSION_OFF, pkt->dceth.session << 16);
		be24_store(h + ROCE_DCETH_INITIATOR_OFF, pkt->dceth.initiator);
		be24_store(h + ROCE_DCETH_FIRST_PSN_OFF, pkt->dceth.first_psn);
	}
	if (info->headers & ROCE_H_RETH) {
		h = dst + info->reth_off;
		be64_store(h + ROCE_RETH_VA_OFF, pkt->reth.va);
		be32_store(h + ROCE_RETH_RKEY_OFF, pkt->reth.rkey);
		be32_store(h + ROCE_RETH_LEN_OFF, pkt->reth.len_bytes);
	}
	if (info->headers & ROCE_H_ATOMIC) {
		h = dst + info->atomic_off;
		be64_store(h + ROCE_ATOMIC_VA_OFF, pkt->atomic.va);
		be32_store(h + ROCE_ATOMIC_RKEY_OFF, pkt->atomic.rkey);
		be64_store(h + ROCE_ATOMIC_SWAP_ADD_OFF, pkt->atomic.swap_add);
		be64_store(h + ROCE_ATOMIC_COMPARE_OFF, pkt->atomic.compare);
	}
	if (info->headers & ROCE_H_AETH) {
		h = dst + info->aeth_off;
		be32_store(h, (uint32_t)pkt->aeth.syndrome << 24 | (pkt->aeth.msn & ROCE_MSN_MASK));
	}
	if (info->headers & ROCE_H_ATOMIC_ACK)
		be64_store(dst + info->atomic_ack_off, pkt->atomic_ack.orig);
	if (info->headers & ROCE_H_IMM)
		be32_store(dst + info->imm_off, pkt->imm);
	if (info->headers & ROCE_H_IETH)
		be32_store(dst + info->ieth_off, pkt->inv_rkey);
}

size_t roce_pkt_encode_headers(uint8_t *dst, size_t cap_bytes, const struct roce_pkt *pkt)
{
	const struct roce_opcode_info *info = &roce_opcodes[pkt->opcode];

	if (info->kind == ROCE_KIND_UNKNOWN || cap_bytes < info->header_bytes)
		return 0;
	encode_bth(dst, pkt);
	if (info->headers)
		encode_extended(dst, pkt, info);
	return info->header_bytes;
}
