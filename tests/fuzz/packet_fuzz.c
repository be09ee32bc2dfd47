/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packet_fuzz.c - the packet codecs: abi/roce_pkt.h, abi/roce_frame.h and the printer of packets.
 *
 * Beyond no crash: what decodes lies within the input; encoded again it is the same packet, byte
 * for byte but for reserved bits, and decodes to the same fields; a frame made by encode has the
 * ICRC that icrc_packet computes and decodes as it was; a dump ends within its buffer.
 */
#include "abi/dump.h"
#include "abi/icrc.h"
#include "abi/roce_frame.h"
#include "abi/roce_pkt.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

enum { PACKET_BYTES_MAX = 1 << 16 };

static uint8_t copy[PACKET_BYTES_MAX + 256];

static bool same_packet(const struct roce_pkt *a, const struct roce_pkt *b)
{
	return a->opcode == b->opcode && a->pad_bytes == b->pad_bytes && a->se == b->se &&
	       a->mig_req == b->mig_req && a->ack_req == b->ack_req && a->fecn == b->fecn &&
	       a->becn == b->becn && a->pkey == b->pkey && a->dqpn == b->dqpn &&
	       a->psn == b->psn && a->reth.va == b->reth.va && a->reth.rkey == b->reth.rkey &&
	       a->reth.len_bytes == b->reth.len_bytes && a->aeth.msn == b->aeth.msn &&
	       a->aeth.syndrome == b->aeth.syndrome && a->atomic.va == b->atomic.va &&
	       a->atomic.swap_add == b->atomic.swap_add && a->atomic.compare == b->atomic.compare &&
	       a->atomic.rkey == b->atomic.rkey && a->atomic_ack.orig == b->atomic_ack.orig &&
	       a->deth.qkey == b->deth.qkey && a->deth.src_qpn == b->deth.src_qpn &&
	       a->imm == b->imm && a->inv_rkey == b->inv_rkey &&
	       a->payload_bytes == b->payload_bytes;
}

static void check_dump(const struct roce_pkt *pkt, size_t cap)
{
	char text[DUMP_BYTES];
	size_t used;

	cap %= sizeof(text) + 1;
	memset(text, 'x', sizeof(text));
	used = roce_pkt_dump(text, cap, pkt);
	FUZZ_CHECK(cap == 0 || (used < cap && text[used] == '\0' && strlen(text) == used));
	for (size_t i = cap; i < sizeof(text); i++)
		FUZZ_CHECK(text[i] == 'x');
}

static void check_packet(const uint8_t *bth, size_t len)
{
	struct roce_pkt pkt, again;
	size_t head;

	if (roce_pkt_decode(&pkt, bth, len) != ROCE_OK)
		return;
	head = roce_pkt_header_bytes(pkt.opcode);
	FUZZ_CHECK(head >= ROCE_BTH_BYTES && head <= ROCE_HEADERS_MAX_BYTES);
	FUZZ_CHECK(pkt.payload == bth + head);
	FUZZ_CHECK(head + pkt.payload_bytes + pkt.pad_bytes == len);
	FUZZ_CHECK(roce_pkt_encode_headers(copy, head - 1, &pkt) == 0);
	FUZZ_CHECK(roce_pkt_encode_headers(copy, sizeof(copy), &pkt) == head);
	memcpy(copy + head, pkt.payload, len - head);
	FUZZ_CHECK(roce_pkt_decode(&again, copy, len) == ROCE_OK && same_packet(&pkt, &again));
	/* What encode does not write is reserved: opcode, key, numbers are as they were. */
	FUZZ_CHECK(memcmp(copy, bth, 4) == 0 && memcmp(copy + 5, bth + 5, 3) == 0);
	FUZZ_CHECK(memcmp(copy + 9, bth + 9, 3) == 0);
	check_dump(&pkt, len + pkt.psn);
}

static bool same_frame(const struct roce_frame *a, const struct roce_frame *b)
{
	return a->has_eth == b->has_eth && a->ip_version == b->ip_version &&
	       a->traffic_class == b->traffic_class && a->hop_limit == b->hop_limit &&
	       (a->ip_version == 6 ||
		(a->ip_id == b->ip_id && a->dont_fragment == b->dont_fragment)) &&
	       (a->ip_version == 4 || a->flow_label == b->flow_label) &&
	       memcmp(a->src, b->src, 16) == 0 && memcmp(a->dst, b->dst, 16) == 0 &&
	       a->udp_sport == b->udp_sport && a->udp_checksum == b->udp_checksum &&
	       a->bth_bytes == b->bth_bytes && memcmp(a->bth, b->bth, a->bth_bytes) == 0;
}

static void check_frame(const struct roce_frame *frame, const uint8_t *data, size_t size)
{
	size_t len = roce_frame_bytes(frame);
	struct roce_frame again;
	size_t made, ip_len;

	FUZZ_CHECK(frame->bth >= data && frame->bth + frame->bth_bytes + 4 <= data + size);
	FUZZ_CHECK(frame->ip >= data && frame->ip + frame->ip_bytes <= frame->bth);
	FUZZ_CHECK(roce_frame_encode(copy, len - 1, frame) == 0);
	made = roce_frame_encode(copy, sizeof(copy), frame);
	if (made == 0) {
		FUZZ_CHECK(frame->bth_bytes < ROCE_BTH_BYTES);
		return;
	}
	FUZZ_CHECK(made == len);
	FUZZ_CHECK((frame->has_eth ? roce_frame_decode : roce_frame_decode_ip)(&again, copy, len) ==
		   ROCE_FRAME_OK);
	FUZZ_CHECK(same_frame(frame, &again));
	ip_len = (size_t)(again.bth + again.bth_bytes - again.ip);
	FUZZ_CHECK(again.icrc == icrc_packet(again.ip, again.ip_bytes, ip_len));
	check_packet(frame->bth, frame->bth_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct roce_frame frame;
	enum roce_frame_verdict verdict;
	uint8_t kind;

	if (size == 0 || size > PACKET_BYTES_MAX)
		return 0;
	kind = *data++ % 3;
	size--;
	if (kind == 0) {
		check_packet(data, size);
		return 0;
	}
	verdict = (kind == 1 ? roce_frame_decode : roce_frame_decode_ip)(&frame, data, size);
	FUZZ_CHECK(roce_frame_verdict_words(verdict)[0]);
	if (verdict == ROCE_FRAME_OK)
		check_frame(&frame, data, size);
	return 0;
}
