/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.c - frames spread over receive queues: the hash, tables of queues (RQT), and what leads to
 * them by a hash (TIR).
 */
#include "nic/rss.h"

#include "nic/nic_priv.h"

#include <linux/errno.h>

enum {
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	HASH_ALL = NIC_HASH_IPV4 | NIC_HASH_IPV6 | NIC_HASH_TCP | NIC_HASH_UDP,
};

/* ---- the hash -------------------------------------------------------------------------------- */

/* Each bit that is set adds the 32 bits of the key that begin at its place [RSS]. */
uint32_t nic_toeplitz(const uint8_t key[static NIC_HASH_KEY_BYTES], const uint8_t *bytes,
		      size_t len)
{
	uint32_t window = be32_load(key);
	uint32_t hash = 0;

	ASSERT(len <= NIC_HASH_INPUT_MAX);
	for (size_t i = 0; i < len; i++) {
		for (unsigned int bit = 8; bit-- > 0;) {
			if (bytes[i] >> bit & 1)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> bit & 1);
		}
	}
	return hash;
}

static bool has_fields(const struct nic_frame *frame, uint32_t fields)
{
	if ((fields & NIC_HASH_IPV4) && frame->ip_version != 4)
		return false;
	if ((fields & NIC_HASH_IPV6) && frame->ip_version != 6)
		return false;
	if ((fields & NIC_HASH_TCP) && (!frame->has_ports || frame->proto != PROTO_TCP))
		return false;
	return !(fields & NIC_HASH_UDP) || (frame->has_ports && frame->proto == PROTO_UDP);
}

static uint32_t hash_of(const struct nic_tir_attr *attr, const struct nic_frame *frame)
{
	const struct {
		uint32_t fields;
		const uint8_t *at;
		size_t len;
	} parts[] = {
	    {NIC_HASH_SRC_IPV4_F, frame->src_ip, 4},
	    {NIC_HASH_SRC_IPV6_F, frame->src_ip, sizeof(frame->src_ip)},
	    {NIC_HASH_DST_IPV4_F, frame->dst_ip, 4},
	    {NIC_HASH_DST_IPV6_F, frame->dst_ip, sizeof(frame->dst_ip)},
	    {NIC_HASH_SRC_TCP_F | NIC_HASH_SRC_UDP_F, frame->src_port, sizeof(frame->src_port)},
	    {NIC_HASH_DST_TCP_F | NIC_HASH_DST_UDP_F, frame->dst_port, sizeof(frame->dst_port)},
	};
	uint8_t input[NIC_HASH_INPUT_MAX];
	size_t len = 0;

	if (!has_fields(frame, attr->fields))
		return 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!(attr->fields & parts[i].fields))
			continue;
		memcpy(input + len, parts[i].at, parts[i].len);
		len += parts[i].len;
	}
	return nic_toeplitz(attr->key, input, len);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct nic_rqt *find_rqt(const struct nic *nic, uint32_t rqtn)
{
	if (rqtn == 0 || rqtn > NIC_RQTS_MAX || !nic->rss->rqts[rqtn - 1].live)
		return NULL;
	return &nic->rss->rqts[rqtn - 1];
}

static bool is_table(const struct nic *nic, const uint32_t *qpns, uint32_t size_log2)
{
	if (size_log2 > NIC_RQT_LOG2_MAX)
		return false;
	for (uint32_t i = 0; i < 1u << size_log2; i++) {
		const struct nic_qp *qp = nic_qp_find(nic, qpns[i]);

		if (!qp || qp->type != NIC_QP_RAW)
			return false;
	}
	return true;
}

int nic_rqt_create(struct nic *nic, const uint32_t *qpns, uint32_t size_log2, uint32_t *rqtn)
{
	if (!is_table(nic, qpns, size_log2))
		return -EINVAL;
	for (uint32_t i = 0; i < NIC_RQTS_MAX; i++) {
		struct nic_rqt *rqt = &nic->rss->rqts[i];

		if (rqt->live)
			continue;
		rqt->live = true;
		rqt->size_log2 = (uint8_t)size_log2;
		memcpy(rqt->qpns, qpns, sizeof(*qpns) << size_log2);
		*rqtn = i + 1;
		return 0;
	}
	return -ENOMEM;
}

int nic_rqt_set(struct nic *nic, uint32_t rqtn, const uint32_t *qpns, uint32_t size_log2)
{
	struct nic_rqt *rqt = find_rqt(nic, rqtn);

	if (!rqt || !is_table(nic, qpns, size_log2))
		return -EINVAL;
	rqt->size_log2 = (uint8_t)size_log2;
	memcpy(rqt->qpns, qpns, sizeof(*qpns) << size_log2);
	return 0;
}

int nic_rqt_destroy(struct nic *nic, uint32_t rqtn)
{
	struct nic_rqt *rqt = find_rqt(nic, rqtn);

	if (!rqt)
		return -EINVAL;
	if (rqt->users != 0)
		return -EBUSY;
	rqt->live = false;
	return 0;
}

uint32_t nic_rqt_entry(const struct nic *nic, uint32_t rqtn, uint32_t index)
{
	const struct nic_rqt *rqt = find_rqt(nic, rqtn);

	ASSERT(rqt);
	return index < 1u << rqt->size_log2 ? rqt->qpns[index] : 0;
}

uint32_t nic_rqt_size(const struct nic *nic, uint32_t rqtn)
{
	const struct nic_rqt *rqt = find_rqt(nic, rqtn);

	ASSERT(rqt);
	return 1u << rqt->size_log2;
}

bool nic_rss_uses(const struct nic *nic, uint32_t qpn)
{
	for (uint32_t rqtn = 1; rqtn <= NIC_RQTS_MAX; rqtn++) {
		const struct nic_rqt *rqt = find_rqt(nic, rqtn);

		for (uint32_t i = 0; rqt && i < 1u << rqt->size_log2; i++)
			if (rqt->qpns[i] == qpn)
				return true;
	}
	return false;
}

/* ---- what leads to them ---------------------------------------------------------------------- */

struct nic_tir *nic_tir_find(const struct nic *nic, uint32_t tirn)
{
	if (tirn == 0 || tirn > NIC_TIRS_MAX || nic->rss->tirs[tirn - 1].attr.rqtn == 0)
		return NULL;
	return &nic->rss->tirs[tirn - 1];
}

int nic_tir_create(struct nic *nic, const struct nic_tir_attr *attr, uint32_t *tirn)
{
	struct nic_rqt *rqt = find_rqt(nic, attr->rqtn);
	uint32_t fields = attr->fields;

	if (!rqt || (fields & ~(uint32_t)HASH_ALL) ||
	    ((fields & NIC_HASH_IPV4) && (fields & NIC_HASH_IPV6)) ||
	    ((fields & NIC_HASH_TCP) && (fields & NIC_HASH_UDP)))
		return -EINVAL;
	for (uint32_t i = 0; i < NIC_TIRS_MAX; i++) {
		struct nic_tir *tir = &nic->rss->tirs[i];

		if (tir->attr.rqtn != 0)
			continue;
		*tir = (struct nic_tir){.attr = *attr};
		rqt->users++;
		*tirn = i + 1;
		return 0;
	}
	return -ENOMEM;
}

int nic_tir_destroy(struct nic *nic, uint32_t tirn)
{
	struct nic_tir *tir = nic_tir_find(nic, tirn);

	if (!tir)
		return -EINVAL;
	if (tir->users != 0)
		return -EBUSY;
	find_rqt(nic, tir->attr.rqtn)->users--;
	tir->attr.rqtn = 0;
	return 0;
}

uint32_t nic_tir_choose(const struct nic *nic, uint32_t tirn, const struct nic_frame *frame)
{
	const struct nic_tir *tir = nic_tir_find(nic, tirn);
	const struct nic_rqt *rqt;

	ASSERT(tir);
	rqt = find_rqt(nic, tir->attr.rqtn);
	return rqt->qpns[hash_of(&tir->attr, frame) & ((1u << rqt->size_log2) - 1)];
}

void nic_rss_check(const struct nic *nic)
{
	uint32_t tables_used = 0, rules = 0;

	for (uint32_t i = 0; i < NIC_RQTS_MAX; i++) {
		const struct nic_rqt *rqt = &nic->rss->rqts[i];

		tables_used += rqt->users;
		ASSERT(rqt->live || rqt->users == 0);
		for (uint32_t k = 0; rqt->live && k < 1u << rqt->size_log2; k++) {
			const struct nic_qp *qp = nic_qp_find(nic, rqt->qpns[k]);

			ASSERT(qp && qp->type == NIC_QP_RAW);
		}
	}
	for (uint32_t i = 0; i < NIC_TIRS_MAX; i++) {
		const struct nic_tir *tir = &nic->rss->tirs[i];

		rules += tir->users;
		tables_used -= tir->attr.rqtn != 0;
		ASSERT(tir->attr.rqtn == 0 || find_rqt(nic, tir->attr.rqtn));
	}
	for (uint32_t i = 0; i < NIC_RULES_MAX; i++)
		rules -= nic->rules[i].tirn != 0;
	ASSERT(tables_used == 0 && rules == 0);
}
