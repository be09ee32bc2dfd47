/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_frame.c - what goes around a RoCE v2 packet, both ways. Decode believes no length before
 * it has been compared with the bytes there are.
 */
#include "abi/roce_frame.h"

#include "abi/icrc.h"
#include "base/be.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88a8,
	VLAN_TAG_BYTES = 4,
	VLAN_TAGS_MAX = 2,
	IP_PROTO_UDP = 17,
	IPV4_DF_F = 0x4000,
	IPV4_FRAGMENT_MASK = 0x3fff, /* more fragments, and the offset */
};

const char *roce_frame_verdict_words(enum roce_frame_verdict verdict)
{
	static const char *const words[] = {
#define ROCE_FRAME_WORDS(token, text) [ROCE_FRAME_##token] = text,
		ROCE_FRAME_VERDICTS(ROCE_FRAME_WORDS)
#undef ROCE_FRAME_WORDS
	};

	return words[verdict];
}

uint16_t roce_ip_checksum(const uint8_t *src, size_t len_bytes)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len_bytes; i += 2)
		sum += be16_load(src + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void map_ipv4(uint8_t gid[static 16], const uint8_t *address)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, address, 4);
}

/* udp_bytes is what the IP header leaves for UDP; len_bytes, what there is, is no less. */
static enum roce_frame_verdict decode_udp(struct roce_frame *frame, const uint8_t *udp,
					  size_t udp_bytes)
{
	size_t length;

	if (udp_bytes < ROCE_UDP_BYTES)
		return ROCE_FRAME_BAD_UDP;
	if (be16_load(udp + 2) != ROCE_UDP_PORT)
		return ROCE_FRAME_OTHER;
	length = be16_load(udp + 4);
	if (length > udp_bytes || length < ROCE_UDP_BYTES)
		return ROCE_FRAME_BAD_UDP;
	if (length < ROCE_UDP_BYTES + ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
		return ROCE_FRAME_TOO_SHORT;
	frame->udp_sport = be16_load(udp);
	frame->udp_checksum = be16_load(udp + 6);
	frame->bth = udp + ROCE_UDP_BYTES;
	frame->bth_bytes = length - ROCE_UDP_BYTES - ROCE_ICRC_BYTES;
	frame->icrc = le32_load(frame->bth + frame->bth_bytes);
	return ROCE_FRAME_OK;
}

static enum roce_frame_verdict decode_ipv4(struct roce_frame *frame, const uint8_t *ip,
					   size_t len_bytes)
{
	size_t ip_bytes, total_bytes;
	uint16_t fragment;

	if (len_bytes < ROCE_IPV4_BYTES)
		return ROCE_FRAME_TOO_SHORT;
	ip_bytes = (ip[0] & 0x0fu) * 4;
	total_bytes = be16_load(ip + 2);
	if (ip_bytes < ROCE_IPV4_BYTES || total_bytes < ip_bytes)
		return ROCE_FRAME_BAD_IP;
	if (ip[9] != IP_PROTO_UDP)
		return ROCE_FRAME_OTHER;
	if (total_bytes > len_bytes)
		return ROCE_FRAME_TOO_SHORT;
	if (roce_ip_checksum(ip, ip_bytes) != 0)
		return ROCE_FRAME_BAD_IP_CHECKSUM;
	fragment = be16_load(ip + 6);
	if (fragment & IPV4_FRAGMENT_MASK)
		return ROCE_FRAME_FRAGMENT;
	frame->ip_bytes = ip_bytes;
	frame->traffic_class = ip[1];
	frame->ip_id = be16_load(ip + 4);
	frame->dont_fragment = fragment & IPV4_DF_F;
	frame->hop_limit = ip[8];
	map_ipv4(frame->src, ip + 12);
	map_ipv4(frame->dst, ip + 16);
	return decode_udp(frame, ip + ip_bytes, total_bytes - ip_bytes);
}

/* A packet with extension headers is somebody else's: no RoCE device sends them. */
static enum roce_frame_verdict decode_ipv6(struct roce_frame *frame, const uint8_t *ip,
					   size_t len_bytes)
{
	size_t payload_bytes;
	uint32_t first;

	if (len_bytes < ROCE_IPV6_BYTES)
		return ROCE_FRAME_TOO_SHORT;
	if (ip[6] != IP_PROTO_UDP)
		return ROCE_FRAME_OTHER;
	payload_bytes = be16_load(ip + 4);
	if (payload_bytes > len_bytes - ROCE_IPV6_BYTES)
		return ROCE_FRAME_TOO_SHORT;
	first = be32_load(ip);
	frame->ip_bytes = ROCE_IPV6_BYTES;
	frame->traffic_class = (uint8_t)(first >> 20);
	frame->flow_label = first & 0xfffff;
	frame->hop_limit = ip[7];
	memcpy(frame->src, ip + 8, 16);
	memcpy(frame->dst, ip + 24, 16);
	return decode_udp(frame, ip + ROCE_IPV6_BYTES, payload_bytes);
}

enum roce_frame_verdict roce_frame_decode_ip(struct roce_frame *frame, const uint8_t *ip,
					     size_t len_bytes)
{
	*frame = (struct roce_frame){.ip = ip};
	if (len_bytes == 0)
		return ROCE_FRAME_TOO_SHORT;
	frame->ip_version = ip[0] >> 4;
	if (frame->ip_version == 4)
		return decode_ipv4(frame, ip, len_bytes);
	if (frame->ip_version == 6)
		return decode_ipv6(frame, ip, len_bytes);
	return ROCE_FRAME_OTHER;
}

static bool is_vlan(uint16_t type)
{
	return type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ;
}

enum roce_frame_verdict roce_frame_decode(struct roce_frame *frame, const uint8_t *eth,
					  size_t len_bytes)
{
	enum roce_frame_verdict verdict;
	size_t at = ROCE_ETH_BYTES;
	uint16_t type;

	if (len_bytes < ROCE_ETH_BYTES)
		return ROCE_FRAME_TOO_SHORT;
	type = be16_load(eth + at - 2);
	for (int i = 0; i < VLAN_TAGS_MAX && is_vlan(type); i++) {
		if (len_bytes < at + VLAN_TAG_BYTES)
			return ROCE_FRAME_TOO_SHORT;
		at += VLAN_TAG_BYTES;
		type = be16_load(eth + at - 2);
	}
	if (type != ETHERTYPE_IPV4 && type != ETHERTYPE_IPV6)
		return ROCE_FRAME_OTHER;
	verdict = roce_frame_decode_ip(frame, eth + at, len_bytes - at);
	frame->has_eth = true;
	memcpy(frame->eth_dst, eth, 6);
	memcpy(frame->eth_src, eth + 6, 6);
	return verdict;
}

static size_t eth_bytes(const struct roce_frame *frame)
{
	return frame->has_eth ? ROCE_ETH_BYTES : 0;
}

static size_t ip_header_bytes(const struct roce_frame *frame)
{
	return frame->ip_version == 4 ? ROCE_IPV4_BYTES : ROCE_IPV6_BYTES;
}

size_t roce_frame_bytes(const struct roce_frame *frame)
{
	return eth_bytes(frame) + ip_header_bytes(frame) + ROCE_UDP_BYTES + frame->bth_bytes +
	       ROCE_ICRC_BYTES;
}

static void encode_eth(uint8_t *eth, const struct roce_frame *frame)
{
	memcpy(eth, frame->eth_dst, 6);
	memcpy(eth + 6, frame->eth_src, 6);
	be16_store(eth + 12, frame->ip_version == 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
}

static void encode_ipv4(uint8_t *ip, const struct roce_frame *frame, size_t udp_bytes)
{
	ip[0] = 4 << 4 | ROCE_IPV4_BYTES / 4;
	ip[1] = frame->traffic_class;
	be16_store(ip + 2, (uint16_t)(ROCE_IPV4_BYTES + udp_bytes));
	be16_store(ip + 4, frame->ip_id);
	be16_store(ip + 6, frame->dont_fragment ? IPV4_DF_F : 0);
	ip[8] = frame->hop_limit;
	ip[9] = IP_PROTO_UDP;
	be16_store(ip + 10, 0);
	memcpy(ip + 12, frame->src + 12, 4);
	memcpy(ip + 16, frame->dst + 12, 4);
	be16_store(ip + 10, roce_ip_checksum(ip, ROCE_IPV4_BYTES));
}

static void encode_ipv6(uint8_t *ip, const struct roce_frame *frame, size_t udp_bytes)
{
	be32_store(ip, 6u << 28 | (uint32_t)frame->traffic_class << 20 |
			       (frame->flow_label & 0xfffff));
	be16_store(ip + 4, (uint16_t)udp_bytes);
	ip[6] = IP_PROTO_UDP;
	ip[7] = frame->hop_limit;
	memcpy(ip + 8, frame->src, 16);
	memcpy(ip + 24, frame->dst, 16);
}

size_t roce_frame_encode(uint8_t *dst, size_t cap_bytes, const struct roce_frame *frame)
{
	size_t ip_bytes = ip_header_bytes(frame);
	size_t udp_bytes, sealed_bytes;
	uint8_t *ip, *udp;

	if (frame->ip_version != 4 && frame->ip_version != 6)
		return 0;
	if (frame->bth_bytes < ROCE_BTH_BYTES || frame->bth_bytes > UINT16_MAX)
		return 0;
	udp_bytes = ROCE_UDP_BYTES + frame->bth_bytes + ROCE_ICRC_BYTES;
	if (udp_bytes + ip_bytes > UINT16_MAX || cap_bytes < roce_frame_bytes(frame))
		return 0;

	ip = dst + eth_bytes(frame);
	udp = ip + ip_bytes;
	sealed_bytes = ip_bytes + ROCE_UDP_BYTES + frame->bth_bytes;
	if (frame->bth != udp + ROCE_UDP_BYTES)
		memmove(udp + ROCE_UDP_BYTES, frame->bth, frame->bth_bytes);
	if (frame->has_eth)
		encode_eth(dst, frame);
	if (frame->ip_version == 4)
		encode_ipv4(ip, frame, udp_bytes);
	else
		encode_ipv6(ip, frame, udp_bytes);
	be16_store(udp, frame->udp_sport);
	be16_store(udp + 2, ROCE_UDP_PORT);
	be16_store(udp + 4, (uint16_t)udp_bytes);
	be16_store(udp + 6, frame->udp_checksum);
	le32_store(ip + sealed_bytes, icrc_packet(ip, ip_bytes, sealed_bytes));
	return roce_frame_bytes(frame);
}
