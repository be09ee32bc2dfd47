/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_frame.h - a RoCE v2 packet with all that goes around it: Ethernet, IPv4 or IPv6, UDP, ICRC.
 *
 * Addresses are 16 bytes, network order, IPv4 ones mapped into IPv6, as GIDs are. Other integers
 * are in host order. No state; any thread. Source: [RFC 791, 768, 8200], [RoCEv2 A17].
 */
#ifndef ABI_ROCE_FRAME_H
#define ABI_ROCE_FRAME_H

#include "abi/roce.h"

struct roce_frame {
	bool has_eth; /* starts with an Ethernet header */
	uint8_t eth_dst[6];
	uint8_t eth_src[6];
	uint8_t ip_version; /* 4 or 6 */
	uint8_t traffic_class; /* IPv4 TOS: DSCP << 2 | ECN */
	uint8_t hop_limit; /* IPv4 TTL */
	uint16_t ip_id; /* IPv4 only */
	bool dont_fragment; /* IPv4 only */
	uint32_t flow_label; /* IPv6 only */
	uint8_t src[16];
	uint8_t dst[16];
	uint16_t udp_sport;
	uint16_t udp_checksum; /* as it stands: 0 is none; neither checked nor computed */

	const uint8_t *bth; /* BTH to pad, for abi/roce_pkt.h */
	size_t bth_bytes; /* without the ICRC */

	/* From decode only. */
	const uint8_t *ip; /* first byte of the IP header */
	size_t ip_bytes; /* of the IP header, options included */
	uint32_t icrc; /* as received; icrc_packet says what it should be */
};

/* What decode says. ROCE_FRAME_OTHER is somebody else's packet, the rest are broken ones. */
#define ROCE_FRAME_VERDICTS(X)                                                                     \
	X(OK, "ok")                                                                                \
	X(OTHER, "not RoCE v2")                                                                    \
	X(TOO_SHORT, "cut short")                                                                  \
	X(BAD_IP, "IP header makes no sense")                                                      \
	X(BAD_IP_CHECKSUM, "IPv4 header checksum is wrong")                                        \
	X(FRAGMENT, "IP fragment")                                                                 \
	X(BAD_UDP, "UDP length makes no sense")

enum roce_frame_verdict {
#define ROCE_FRAME_ENUM(token, words) ROCE_FRAME_##token,
	ROCE_FRAME_VERDICTS(ROCE_FRAME_ENUM)
#undef ROCE_FRAME_ENUM
};

/* roce_frame_verdict_words - a verdict in words. */
const char *roce_frame_verdict_words(enum roce_frame_verdict verdict);

/*
 * roce_frame_decode - *frame from the len_bytes bytes at eth, from the Ethernet header on (up to
 * two VLAN tags are skipped; bytes behind the IP packet are ignored). The bytes may be anything.
 * roce_frame_decode_ip - the same from the IP header on.
 *
 * Nothing is copied but addresses: frame->bth and frame->ip point into the input. The ICRC is
 * taken, not checked. On any verdict but ROCE_FRAME_OK *frame is unspecified.
 */
enum roce_frame_verdict roce_frame_decode(struct roce_frame *frame, const uint8_t *eth,
					  size_t len_bytes);
enum roce_frame_verdict roce_frame_decode_ip(struct roce_frame *frame, const uint8_t *ip,
					     size_t len_bytes);

/* roce_frame_bytes - the bytes of the whole frame that encode makes, ICRC included. */
size_t roce_frame_bytes(const struct roce_frame *frame);

/*
 * roce_frame_encode - writes the whole frame at dst, with the bytes at frame->bth copied, lengths,
 * IPv4 checksum and ICRC computed. frame->bth may already be in its place in dst.
 *
 * Returns its bytes; 0, and nothing written, if cap_bytes is too small, the packet does not fit an
 * IP length, is shorter than a BTH, or ip_version is neither 4 nor 6.
 */
size_t roce_frame_encode(uint8_t *dst, size_t cap_bytes, const struct roce_frame *frame);

/* roce_ip_checksum - the Internet checksum of len_bytes (even) bytes, host order [RFC 1071]. */
uint16_t roce_ip_checksum(const uint8_t *src, size_t len_bytes);

#endif
