/* SPDX-License-Identifier: BSD-2-Clause */
/* dump.c - printers. They never trust a length they print. */
#include "abi/dump.h"

#include "abi/mlx5_umr.h"

#include "base/text.h"

const char *wqe_opcode_name(uint8_t opcode)
{
	static const char *const names[256] = {
		[WQE_OP_NOP] = "NOP",
		[WQE_OP_SEND_INVAL] = "SEND_INVAL",
		[WQE_OP_WRITE] = "WRITE",
		[WQE_OP_WRITE_IMM] = "WRITE_IMM",
		[WQE_OP_SEND] = "SEND",
		[WQE_OP_SEND_IMM] = "SEND_IMM",
		[WQE_OP_TSO] = "TSO",
		[WQE_OP_READ] = "READ",
		[WQE_OP_ATOMIC_CS] = "ATOMIC_CS",
		[WQE_OP_ATOMIC_FA] = "ATOMIC_FA",
		[WQE_OP_ATOMIC_MASKED_CS] = "ATOMIC_MASKED_CS",
		[WQE_OP_ATOMIC_MASKED_FA] = "ATOMIC_MASKED_FA",
		[WQE_OP_FMR] = "FMR",
		[WQE_OP_LOCAL_INVAL] = "LOCAL_INVAL",
		[WQE_OP_CONFIG_CMD] = "CONFIG_CMD",
		[WQE_OP_SET_PSV] = "SET_PSV",
		[WQE_OP_UMR] = "UMR",
		[WQE_OP_TAG_MATCHING] = "TAG_MATCHING",
		[WQE_OP_FLOW_TBL_ACCESS] = "FLOW_TBL_ACCESS",
		[WQE_OP_MMO] = "MMO",
	};

	return names[opcode];
}

const char *cqe_opcode_name(uint8_t opcode)
{
	static const char *const names[16] = {
		[CQE_REQ] = "REQ",
		[CQE_RESP_WR_IMM] = "RESP_WR_IMM",
		[CQE_RESP_SEND] = "RESP_SEND",
		[CQE_RESP_SEND_IMM] = "RESP_SEND_IMM",
		[CQE_RESP_SEND_INV] = "RESP_SEND_INV",
		[CQE_RESIZE_CQ] = "RESIZE_CQ",
		[CQE_NO_PACKET] = "NO_PACKET",
		[CQE_SIG_ERR] = "SIG_ERR",
		[CQE_REQ_ERR] = "REQ_ERR",
		[CQE_RESP_ERR] = "RESP_ERR",
		[CQE_INVALID] = "INVALID",
	};

	return opcode < 16 ? names[opcode] : NULL;
}

const char *cqe_syndrome_words(uint8_t syndrome)
{
	switch (syndrome) {
#define CQE_SYNDROME_WORDS(token, value, words)                                                    \
	case value:                                                                                \
		return words;
		CQE_SYNDROMES(CQE_SYNDROME_WORDS)
#undef CQE_SYNDROME_WORDS
	}
	return NULL;
}

/* A name, or the number where there is none. */
static void put_name(struct base_text *text, const char *name, uint8_t value)
{
	if (name)
		base_text_str(text, name);
	else
		base_text_hex(text, value);
}

static void put_dec(struct base_text *text, const char *label, uint64_t value)
{
	base_text_str(text, label);
	base_text_dec(text, value);
}

static void put_hex(struct base_text *text, const char *label, uint64_t value)
{
	base_text_str(text, label);
	base_text_hex(text, value);
}

static const void *take(const uint8_t **at, const uint8_t *end, size_t len_bytes)
{
	const uint8_t *seg = *at;

	if ((size_t)(end - seg) < len_bytes)
		return NULL;
	*at += len_bytes;
	return seg;
}

/* Segments are copied out: a buffer of bytes has no alignment to rely on. */
#define TAKE(at, end, seg) take_seg((at), (end), (seg), sizeof(*(seg)))

static bool take_seg(const uint8_t **at, const uint8_t *end, void *seg, size_t len_bytes)
{
	const void *src = take(at, end, len_bytes);

	if (src)
		memcpy(seg, src, len_bytes);
	return src != NULL;
}

static void put_av(struct base_text *text, const uint8_t **at, const uint8_t *end,
		   enum wqe_address address)
{
	struct wqe_av av;

	if (!TAKE(at, end, &av))
		return;
	if (address == WQE_ADDRESS_DC) {
		put_hex(text, " | to dct ", be32_to(av.dqp_dct) & 0xffffff);
		put_hex(text, " key ", be64_to(av.dc_key));
	} else {
		put_hex(text, " | to qpn ", be32_to(av.dqp_dct) & 0xffffff);
		put_hex(text, " qkey ", be32_to(av.ud.qkey));
	}
	base_text_str(text, " gid ");
	base_text_bytes(text, av.rgid, sizeof(av.rgid));
}

static void put_raddr(struct base_text *text, const uint8_t **at, const uint8_t *end)
{
	struct wqe_raddr_seg raddr;

	if (!TAKE(at, end, &raddr))
		return;
	put_hex(text, " | va ", be64_to(raddr.va));
	put_hex(text, " rkey ", be32_to(raddr.rkey));
}

static void put_atomic(struct base_text *text, const uint8_t **at, const uint8_t *end,
		       bool two_units)
{
	struct wqe_atomic_seg atomic;

	if (TAKE(at, end, &atomic)) {
		put_hex(text, " | swap_add ", be64_to(atomic.swap_add));
		put_hex(text, " compare ", be64_to(atomic.compare));
	}
	if (two_units && TAKE(at, end, &atomic)) {
		put_hex(text, " masks ", be64_to(atomic.swap_add));
		put_hex(text, " ", be64_to(atomic.compare));
	}
}

static void put_data(struct base_text *text, const uint8_t **at, const uint8_t *end)
{
	struct wqe_data_seg data;
	uint32_t count;

	while ((size_t)(end - *at) >= sizeof(data)) {
		memcpy(&data, *at, sizeof(data));
		count = be32_to(data.byte_count);
		if (count & WQE_INLINE_F) {
			put_dec(text, " | inline ", count & WQE_BYTE_COUNT_MASK);
			base_text_str(text, " bytes");
			return;
		}
		*at += sizeof(data);
		put_dec(text, " | ", count);
		put_hex(text, " bytes lkey ", be32_to(data.lkey));
		put_hex(text, " va ", be64_to(data.va));
	}
}

static bool opcode_has_raddr(uint8_t opcode)
{
	return opcode == WQE_OP_WRITE || opcode == WQE_OP_WRITE_IMM || opcode == WQE_OP_READ ||
	       opcode == WQE_OP_ATOMIC_CS || opcode == WQE_OP_ATOMIC_FA ||
	       opcode == WQE_OP_ATOMIC_MASKED_CS || opcode == WQE_OP_ATOMIC_MASKED_FA;
}

static bool opcode_moves_data(uint8_t opcode)
{
	return opcode_has_raddr(opcode) || opcode == WQE_OP_SEND || opcode == WQE_OP_SEND_IMM ||
	       opcode == WQE_OP_SEND_INVAL;
}

/* What a UMR does to the key that ctrl's imm names. */
static void put_umr(struct base_text *text, const uint8_t *at, const uint8_t *end)
{
	struct wqe_umr_ctrl_seg umr;
	struct wqe_mkey_seg context;

	if (!TAKE(&at, end, &umr) || !TAKE(&at, end, &context))
		return;
	put_hex(text, " | umr flags ", umr.flags);
	put_hex(text, " mask ", be64_to(umr.mask));
	put_dec(text, " pieces ", be16_to(umr.klm_octowords));
	if (context.free & UMR_MKEY_FREE_F) {
		base_text_str(text, " | free");
		return;
	}
	put_hex(text, " | access ", context.access);
	put_hex(text, " qpn ", be32_to(context.qpn_tag) >> 8);
	put_hex(text, " tag ", be32_to(context.qpn_tag) & 0xff);
	put_hex(text, " va ", be64_to(context.start));
	put_dec(text, " len ", be64_to(context.len));
}

static void put_ctrl(struct base_text *text, const struct wqe_ctrl_seg *ctrl)
{
	put_name(text, wqe_opcode_name(wqe_ctrl_opcode(ctrl)), wqe_ctrl_opcode(ctrl));
	if (wqe_ctrl_opmod(ctrl))
		put_hex(text, " opmod ", wqe_ctrl_opmod(ctrl));
	put_dec(text, " index ", wqe_ctrl_index(ctrl));
	put_hex(text, " qpn ", wqe_ctrl_qpn(ctrl));
	put_dec(text, " ds ", wqe_ctrl_ds(ctrl));
	if ((ctrl->fm_ce_se & WQE_CE_MASK) == WQE_CE_ALWAYS)
		base_text_str(text, " signal");
	if (ctrl->fm_ce_se & WQE_SOLICITED_F)
		base_text_str(text, " solicited");
	if ((ctrl->fm_ce_se & WQE_FM_MASK) == WQE_FM_FENCE)
		base_text_str(text, " fence");
	else if (ctrl->fm_ce_se & WQE_FM_MASK)
		put_hex(text, " fm ", ctrl->fm_ce_se & WQE_FM_MASK);
	if (ctrl->imm.raw)
		put_hex(text, " imm ", be32_to(ctrl->imm));
}

size_t wqe_dump(char *buf, size_t cap_bytes, const void *wqe, size_t len_bytes,
		enum wqe_address address)
{
	const uint8_t *at = (const uint8_t *)wqe, *end = at + len_bytes;
	struct wqe_ctrl_seg ctrl;
	struct base_text text;
	uint8_t opcode;

	base_text_init(&text, buf, cap_bytes);
	if (!TAKE(&at, end, &ctrl)) {
		base_text_str(&text, "cut short");
		return text.len_bytes;
	}
	put_ctrl(&text, &ctrl);
	opcode = wqe_ctrl_opcode(&ctrl);
	if (opcode == WQE_OP_UMR)
		put_umr(&text, at, end);
	if (wqe_ctrl_ds(&ctrl) * WQE_UNIT_BYTES < len_bytes)
		end = (const uint8_t *)wqe + wqe_ctrl_ds(&ctrl) * WQE_UNIT_BYTES;
	if (end < at || !opcode_moves_data(opcode))
		return text.len_bytes;
	if (address != WQE_ADDRESS_NONE)
		put_av(&text, &at, end, address);
	if (opcode_has_raddr(opcode))
		put_raddr(&text, &at, end);
	if (opcode >= WQE_OP_ATOMIC_CS && opcode <= WQE_OP_ATOMIC_MASKED_FA)
		put_atomic(&text, &at, end,
			   opcode == WQE_OP_ATOMIC_MASKED_CS &&
				   wqe_ctrl_opmod(&ctrl) == WQE_OPMOD_ATOMIC_64);
	put_data(&text, &at, end);
	return text.len_bytes;
}

size_t wqe_recv_dump(char *buf, size_t cap_bytes, const void *wqe, size_t len_bytes)
{
	const uint8_t *at = (const uint8_t *)wqe, *end = at + len_bytes;
	struct wqe_data_seg data;
	struct base_text text;

	base_text_init(&text, buf, cap_bytes);
	base_text_str(&text, "RECV");
	while (TAKE(&at, end, &data) && be32_to(data.lkey) != WQE_LKEY_INVALID) {
		put_dec(&text, " | ", be32_to(data.byte_count));
		put_hex(&text, " bytes lkey ", be32_to(data.lkey));
		put_hex(&text, " va ", be64_to(data.va));
	}
	return text.len_bytes;
}

static void put_cqe_error(struct base_text *text, const struct cqe64 *cqe)
{
	struct cqe_err64 err;

	memcpy(&err, cqe, sizeof(err));
	base_text_str(text, ": ");
	put_name(text, cqe_syndrome_words(err.syndrome), err.syndrome);
	put_hex(text, ", vendor ", err.vendor_syndrome);
}

size_t cqe_dump(char *buf, size_t cap_bytes, const struct cqe64 *cqe)
{
	uint8_t opcode = cqe_opcode_of(cqe->op_own);
	struct base_text text;

	base_text_init(&text, buf, cap_bytes);
	put_name(&text, cqe_opcode_name(opcode), opcode);
	put_dec(&text, " owner ", cqe_owner_of(cqe->op_own));
	put_hex(&text, " qpn ", cqe_qpn(cqe));
	put_dec(&text, " counter ", be16_to(cqe->wqe_counter));
	if (opcode == CQE_REQ || opcode == CQE_REQ_ERR) {
		base_text_str(&text, " of ");
		put_name(&text, wqe_opcode_name(cqe_send_opcode(cqe)), cqe_send_opcode(cqe));
	}
	if (cqe_is_error(cqe->op_own)) {
		put_cqe_error(&text, cqe);
		return text.len_bytes;
	}
	put_dec(&text, " bytes ", be32_to(cqe->byte_cnt));
	if (cqe->imm_inval_pkey.raw)
		put_hex(&text, " imm ", be32_to(cqe->imm_inval_pkey));
	if (cqe->op_own & CQE_SOLICITED_F)
		base_text_str(&text, " solicited");
	return text.len_bytes;
}

static void put_aeth(struct base_text *text, const struct roce_pkt *pkt)
{
	uint8_t value = pkt->aeth.syndrome & ROCE_AETH_VALUE_MASK;
	static const char *const naks[] = {"PSN sequence", "invalid request", "remote access",
					   "remote operation", "invalid RD request"};

	switch (roce_aeth_kind(pkt->aeth.syndrome)) {
	case ROCE_AETH_ACK:
		put_dec(text, " ack credits ", value);
		break;
	case ROCE_AETH_RNR:
		put_dec(text, " RNR timer ", value);
		break;
	case ROCE_AETH_NAK:
		base_text_str(text, " NAK ");
		put_name(text, value < 5 ? naks[value] : NULL, pkt->aeth.syndrome);
		break;
	case ROCE_AETH_RESERVED:
		put_hex(text, " syndrome ", pkt->aeth.syndrome);
		break;
	}
	put_dec(text, " msn ", pkt->aeth.msn);
}

static void put_extended(struct base_text *text, const struct roce_pkt *pkt, uint16_t headers)
{
	if (headers & ROCE_H_DETH) {
		put_hex(text, " qkey ", pkt->deth.qkey);
		put_hex(text, " from ", pkt->deth.src_qpn);
	}
	if (headers & ROCE_H_XRCETH)
		put_hex(text, " srqn ", pkt->srqn);
	if (headers & ROCE_H_DCETH) {
		put_hex(text, " dckey ", pkt->dceth.key);
		put_hex(text, " from ", pkt->dceth.initiator);
		put_dec(text, " session ", pkt->dceth.session);
		put_hex(text, " first ", pkt->dceth.first_psn);
	}
	if (headers & ROCE_H_RETH) {
		put_hex(text, " va ", pkt->reth.va);
		put_hex(text, " rkey ", pkt->reth.rkey);
		put_dec(text, " dma ", pkt->reth.len_bytes);
	}
	if (headers & ROCE_H_ATOMIC) {
		put_hex(text, " va ", pkt->atomic.va);
		put_hex(text, " rkey ", pkt->atomic.rkey);
		put_hex(text, " swap_add ", pkt->atomic.swap_add);
		put_hex(text, " compare ", pkt->atomic.compare);
	}
	if (headers & ROCE_H_AETH)
		put_aeth(text, pkt);
	if (headers & ROCE_H_ATOMIC_ACK)
		put_hex(text, " orig ", pkt->atomic_ack.orig);
	if (headers & ROCE_H_IMM)
		put_hex(text, " imm ", pkt->imm);
	if (headers & ROCE_H_IETH)
		put_hex(text, " inval ", pkt->inv_rkey);
}

size_t roce_pkt_dump(char *buf, size_t cap_bytes, const struct roce_pkt *pkt)
{
	struct base_text text;

	base_text_init(&text, buf, cap_bytes);
	put_name(&text, roce_opcode_name(pkt->opcode), pkt->opcode);
	put_hex(&text, " qpn ", pkt->dqpn);
	put_hex(&text, " psn ", pkt->psn);
	if (pkt->ack_req)
		base_text_str(&text, " ack_req");
	if (pkt->se)
		base_text_str(&text, " se");
	if (pkt->fecn)
		base_text_str(&text, " fecn");
	if (pkt->becn)
		base_text_str(&text, " becn");
	put_extended(&text, pkt, roce_opcodes[pkt->opcode].headers);
	put_dec(&text, " len ", pkt->payload_bytes);
	if (pkt->pad_bytes)
		put_dec(&text, " pad ", pkt->pad_bytes);
	return text.len_bytes;
}
