/* SPDX-License-Identifier: BSD-2-Clause */
/* seal.c - ICRCs around headers that only the kernel sees. */
#include "host/seal.h"

#include "abi/icrc.h"
#include "base/be.h"

#include <string.h>

enum {
	IP_LEN_OFF = 2,
	IP_ID_OFF = 4,
	IP_FLAGS_OFF = 6,
	IP_FLAG_DF = 0x4000,
	IP6_LEN_OFF = 4,
	UDP_LEN_OFF = 4, /* from the UDP header */
	PROTO_UDP = 17,
};

void host_seal_init(struct host_seal *seal, const uint8_t src[static 16],
		    const uint8_t dst[static 16], uint16_t udp_sport)
{
	uint8_t *ip = seal->headers;
	uint8_t *udp;

	seal->ipv4 = roce_gid_is_ipv4(src);
	seal->header_bytes =
	    (seal->ipv4 ? ROCE_IPV4_BYTES : ROCE_IPV6_BYTES) + ROCE_UDP_BYTES;
	memset(ip, 0xff, sizeof(seal->headers)); /* all that does not count is ones */
	if (seal->ipv4) {
		ip[0] = 4 << 4 | ROCE_IPV4_BYTES / 4;
		be16_store(ip + IP_FLAGS_OFF, IP_FLAG_DF);
		ip[9] = PROTO_UDP;
		memcpy(ip + 12, src + 12, 4);
		memcpy(ip + 16, dst + 12, 4);
	} else {
		ip[0] = 6 << 4 | 0x0f;
		ip[6] = PROTO_UDP;
		memcpy(ip + 8, src, 16);
		memcpy(ip + 24, dst, 16);
	}
	udp = ip + seal->header_bytes - ROCE_UDP_BYTES;
	be16_store(udp, udp_sport);
	be16_store(udp + 2, ROCE_UDP_PORT);
}

uint32_t host_seal_icrc(struct host_seal *seal, uint16_t ip_id, const uint8_t *bth,
			size_t len_bytes)
{
	size_t udp_bytes = ROCE_UDP_BYTES + len_bytes + ROCE_ICRC_BYTES;
	uint8_t *udp = seal->headers + seal->header_bytes - ROCE_UDP_BYTES;
	uint8_t *copy = seal->headers + seal->header_bytes;
	uint32_t crc;

	if (seal->ipv4) {
		be16_store(seal->headers + IP_LEN_OFF, (uint16_t)(ROCE_IPV4_BYTES + udp_bytes));
		be16_store(seal->headers + IP_ID_OFF, ip_id);
	} else {
		be16_store(seal->headers + IP6_LEN_OFF, (uint16_t)udp_bytes);
	}
	be16_store(udp + UDP_LEN_OFF, (uint16_t)udp_bytes);
	memcpy(copy, bth, ROCE_BTH_BYTES);
	copy[ROCE_BTH_ECN_OFF] = 0xff;
	crc = icrc_update(ICRC_SEED, seal->headers, seal->header_bytes + ROCE_BTH_BYTES);
	return icrc_final(icrc_update(crc, bth + ROCE_BTH_BYTES, len_bytes - ROCE_BTH_BYTES));
}

/* What takes a CRC back from the end of a packet of len_bytes to where the flags were read. */
static uint32_t factor_of(struct host_seal_memory *memory, const struct host_seal *seal,
			  uint32_t len_bytes)
{
	uint32_t at = len_bytes / 4 % 16;

	if (memory->factors[at].len_bytes != len_bytes) {
		memory->factors[at].len_bytes = len_bytes;
		memory->factors[at].factor =
		    icrc_undo_factor(seal->header_bytes - IP_ID_OFF + len_bytes);
	}
	return memory->factors[at].factor;
}

bool host_seal_check(struct host_seal *seal, struct host_seal_memory *memory, uint16_t guess,
		     const uint8_t *bth, size_t len_bytes, uint32_t icrc,
		     struct host_seal_found *found)
{
	uint32_t wrong = host_seal_icrc(seal, guess, bth, len_bytes) ^ icrc;
	uint8_t field[4];
	uint16_t flags;

	found->ip_id = guess;
	found->dont_fragment = true;
	if (wrong == 0)
		return true;
	if (!seal->ipv4)
		return false;
	le32_store(field, icrc_multiply(wrong, factor_of(memory, seal, (uint32_t)len_bytes)));
	found->ip_id = guess ^ be16_load(field);
	flags = be16_load(field + 2);
	found->dont_fragment = flags == 0;
	return flags == 0 || flags == IP_FLAG_DF;
}
