/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seal.h - the ICRC of packets whose IP header the kernel writes and hides: what it will be when
 * sending, and whether it is right when receiving.
 *
 * Sending: a socket that is not connected and may not fragment sends IP identification 0 and DF;
 * under segmentation offload segment i has identification i.
 * Receiving: the identification is unknown. The CRC is linear: the difference between the ICRC
 * received and the one for the identification guessed, taken back over the bytes in between,
 * is the difference of the identification and flags themselves, and only 2 * 2^16 of the 2^32
 * values are possible ones: any identification, with DF or without. So over IPv4 this check lets
 * one damaged packet of 32,768 pass, of those that UDP's own checksum has let pass; over IPv6
 * nothing is hidden and it is as strong as the CRC.
 *
 * Any thread; a struct host_seal is its owner's. Source: [RoCEv2 A17], [RFC 791].
 */
#ifndef HOST_SEAL_H
#define HOST_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The headers of one flow, the fields that do not count already taken as ones. */
struct host_seal {
	uint8_t headers[64];   /* IP, UDP, BTH */
	uint32_t header_bytes; /* up to the BTH */
	bool ipv4;
};

/* host_seal_init - a flow from src, UDP port udp_sport, to dst (GIDs; both IPv4 or neither). */
void host_seal_init(struct host_seal *seal, const uint8_t src[static 16],
		    const uint8_t dst[static 16], uint16_t udp_sport);

/* host_seal_icrc - the ICRC of the packet of len_bytes (at least a BTH) at bth, with this IP
 * identification and DF. */
uint32_t host_seal_icrc(struct host_seal *seal, uint16_t ip_id, const uint8_t *bth,
			size_t len_bytes);

/* What is kept between checks: factors are the same for packets of the same length. */
struct host_seal_memory {
	struct {
		uint32_t len_bytes;
		uint32_t factor;
	} factors[16];
};

struct host_seal_found {
	uint16_t ip_id;
	bool dont_fragment;
};

/*
 * host_seal_check - whether icrc is right for the packet at bth, and with which identification
 * and flags. guess: the identification to try first (that of a segment is its place).
 */
bool host_seal_check(struct host_seal *seal, struct host_seal_memory *memory, uint16_t guess,
		     const uint8_t *bth, size_t len_bytes, uint32_t icrc,
		     struct host_seal_found *found);

#endif
