/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rule.c - which frames come to which raw packet queue pairs, or TIRs [rss.c]: to those of the
 * rules of the best priority that fit. What no rule fits is dropped, as by a card whose frames are
 * the kernel's.
 */
#include "nic/rule.h"

#include "nic/rss.h"

#include <linux/errno.h>

enum {
	MAC_BYTES = 6,
	ETH_BYTES = 2 * MAC_BYTES + 2,
	VLAN_BYTES = 4,
	IPV4_BYTES_MIN = 20,
	IPV6_BYTES = 40,
	PORTS_BYTES = 4,
	HEAD_BYTES = 128, /* what rules may look at, and more */
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	TYPE_VLAN = 0x8100,
	IPV4_FRAGMENT_MASK = 0x1fff,
};

static const uint8_t frames_group[16] = ROCE_FRAMES_GID;

/* ---- rules ----------------------------------------------------------------------------------- */

static bool is_live(const struct nic_rule *rule)
{
	return rule->qpn != 0 || rule->tirn != 0;
}

static uint32_t rule_count(const struct nic *nic)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NIC_RULES_MAX; i++)
		count += is_live(&nic->rules[i]);
	return count;
}

int nic_rule_create(struct nic *nic, const struct nic_rule *rule, uint32_t *number)
{
	const struct nic_qp *qp = nic_qp_find(nic, rule->qpn);
	struct nic_tir *tir = nic_tir_find(nic, rule->tirn);
	int err = 0;

	if (rule->tirn != 0 ? !tir || rule->qpn != 0 : !qp || qp->type != NIC_QP_RAW)
		return -EINVAL;
	for (uint32_t i = 0; i < NIC_RULES_MAX; i++) {
		if (is_live(&nic->rules[i]))
			continue;
		if (rule_count(nic) == 0 && nic->env->group_join)
			err = nic->env->group_join(nic->env->ctx, frames_group);
		if (err < 0)
			return err;
		nic->rules[i] = *rule;
		if (tir)
			tir->users++;
		*number = i;
		return 0;
	}
	return -ENOMEM;
}

int nic_rule_destroy(struct nic *nic, uint32_t number)
{
	struct nic_rule *rule;

	if (number >= NIC_RULES_MAX || !is_live(&nic->rules[number]))
		return -EINVAL;
	rule = &nic->rules[number];
	if (rule->tirn != 0)
		nic_tir_find(nic, rule->tirn)->users--;
	rule->qpn = rule->tirn = 0;
	if (rule_count(nic) == 0 && nic->env->group_leave)
		nic->env->group_leave(nic->env->ctx, frames_group);
	return 0;
}

void nic_rule_forget(struct nic *nic, uint32_t qpn)
{
	for (uint32_t i = 0; i < NIC_RULES_MAX; i++)
		if (nic->rules[i].qpn == qpn)
			nic_rule_destroy(nic, i);
}

/* ---- what a frame is ------------------------------------------------------------------------- */

static void read_ports(struct nic_frame *frame, const uint8_t *at, uint32_t left)
{
	if (left < PORTS_BYTES)
		return;
	memcpy(frame->src_port, at, sizeof(frame->src_port));
	memcpy(frame->dst_port, at + 2, sizeof(frame->dst_port));
	frame->has_ports = 1;
}

static void read_ipv4(struct nic_frame *frame, const uint8_t *ip, uint32_t left)
{
	uint32_t head;

	if (left < IPV4_BYTES_MIN)
		return;
	head = (ip[0] & 0xf) * 4u;
	if (ip[0] >> 4 != 4 || head < IPV4_BYTES_MIN)
		return;
	frame->ip_version = 4;
	frame->tos = ip[1];
	frame->ip_flags = ip[6] >> 5;
	frame->ttl = ip[8];
	frame->proto = ip[9];
	memcpy(frame->src_ip, ip + 12, 4);
	memcpy(frame->dst_ip, ip + 16, 4);
	/* What is not the first fragment has no ports. */
	if ((be16_load(ip + 6) & IPV4_FRAGMENT_MASK) == 0 && left >= head)
		read_ports(frame, ip + head, left - head);
}

static void read_ipv6(struct nic_frame *frame, const uint8_t *ip, uint32_t left)
{
	uint32_t word;

	if (left < IPV6_BYTES || ip[0] >> 4 != 6)
		return;
	word = be32_load(ip);
	frame->ip_version = 6;
	frame->tos = (uint8_t)(word >> 20);
	be32_store(frame->flow_label, word & 0xfffff);
	frame->proto = ip[6];
	frame->ttl = ip[7];
	memcpy(frame->src_ip, ip + 8, 16);
	memcpy(frame->dst_ip, ip + 24, 16);
	read_ports(frame, ip + IPV6_BYTES, left - IPV6_BYTES);
}

/* The fields of a frame whose first len bytes, at least ETH_BYTES of them, are here. */
static void read_frame(struct nic_frame *frame, const uint8_t *head, uint32_t len)
{
	uint32_t at = 2 * MAC_BYTES;
	uint16_t type = be16_load(head + at);

	*frame = (struct nic_frame){.ip_version = 0};
	memcpy(frame->dst_mac, head, MAC_BYTES);
	memcpy(frame->src_mac, head + MAC_BYTES, MAC_BYTES);
	if (type == TYPE_VLAN && len >= ETH_BYTES + VLAN_BYTES) {
		memcpy(frame->vlan_tag, head + at + 2, sizeof(frame->vlan_tag));
		at += VLAN_BYTES;
		type = be16_load(head + at);
	}
	be16_store(frame->ether_type, type);
	at += 2;
	if (type == TYPE_IPV4)
		read_ipv4(frame, head + at, len - at);
	else if (type == TYPE_IPV6)
		read_ipv6(frame, head + at, len - at);
}

static bool fits(const struct nic_rule *rule, const struct nic_frame *frame)
{
	const uint8_t *is = (const uint8_t *)frame;
	const uint8_t *value = (const uint8_t *)&rule->value;
	const uint8_t *mask = (const uint8_t *)&rule->mask;

	for (size_t i = 0; i < sizeof(*frame); i++)
		if ((is[i] ^ value[i]) & mask[i])
			return false;
	return true;
}

/* The queue pair that the rule brings the frame to. */
static struct nic_qp *receiver(const struct nic *nic, const struct nic_rule *rule,
			       const struct nic_frame *frame)
{
	if (rule->tirn != 0)
		return nic_qp_find(nic, nic_tir_choose(nic, rule->tirn, frame));
	return nic_qp_find(nic, rule->qpn);
}

/* Whether a rule before the n-th, which fits too, brings the frame to the same place. */
static bool served(const struct nic *nic, uint32_t n, const struct nic_frame *frame)
{
	const struct nic_rule *rule = &nic->rules[n];

	for (uint32_t i = 0; i < n; i++)
		if (nic->rules[i].qpn == rule->qpn && nic->rules[i].tirn == rule->tirn &&
		    nic->rules[i].priority == rule->priority && fits(&nic->rules[i], frame))
			return true;
	return false;
}

void nic_rule_bring(struct nic *nic, const struct nic_pkt *pkt,
		    void (*deliver)(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt))
{
	uint8_t head[HEAD_BYTES];
	uint32_t len = pkt->payload_bytes < HEAD_BYTES ? pkt->payload_bytes : HEAD_BYTES;
	uint32_t best = UINT32_MAX;
	struct nic_frame frame;

	memcpy(head, pkt->payload, len);
	read_frame(&frame, head, len);
	for (uint32_t i = 0; i < NIC_RULES_MAX; i++)
		if (is_live(&nic->rules[i]) && nic->rules[i].priority < best &&
		    fits(&nic->rules[i], &frame))
			best = nic->rules[i].priority;
	for (uint32_t i = 0; i < NIC_RULES_MAX && best != UINT32_MAX; i++)
		if (is_live(&nic->rules[i]) && nic->rules[i].priority == best &&
		    fits(&nic->rules[i], &frame) && !served(nic, i, &frame))
			deliver(nic, receiver(nic, &nic->rules[i], &frame), pkt);
}
