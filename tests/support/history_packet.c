/* SPDX-License-Identifier: BSD-2-Clause */
/* history_packet.c - the rx and tx lines: packets from and against text. */
#include "tests/support/history_impl.h"

#include "abi/dump.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

static uint8_t opcode_named(const struct history *h, const char *name)
{
	for (int i = 0; i < 256; i++) {
		const char *known = roce_opcode_name((uint8_t)i);

		if (known && (strcmp(known, name) == 0 ||
			      (strncmp(known, "RC_", 3) == 0 && strcmp(known + 3, name) == 0)))
			return (uint8_t)i;
	}
	history_fail(h, "no opcode is called %s", name);
}

/* The AETH syndrome that a line names; ACK where it names none. */
static uint8_t syndrome_of(struct history *h)
{
	static const struct {
		const char *name;
		uint8_t syndrome;
	} naks[] = {{"sequence", 0x60}, {"invalid", 0x61}, {"access", 0x62}, {"operation", 0x63}};
	const char *nak = args_text(&h->args, "nak", NULL);

	for (size_t i = 0; nak && i < sizeof(naks) / sizeof(naks[0]); i++)
		if (strcmp(nak, naks[i].name) == 0)
			return naks[i].syndrome;
	if (nak)
		history_fail(h, "no NAK is called %s", nak);
	if (args_has(&h->args, "rnr"))
		return (uint8_t)(0x20 | args_number(&h->args, "rnr", 0));
	return (uint8_t)args_number(&h->args, "syndrome", 0x1f);
}

/* ---- rx ---- */

static void parse_headers(struct history *h, struct roce_pkt *pkt)
{
	struct history_args *args = &h->args;
	const struct roce_opcode_info *info = &roce_opcodes[pkt->opcode];
	uint64_t va = h->data_va + args_number(args, "va", 0);

	if (info->headers & (ROCE_H_RETH | ROCE_H_ATOMIC)) {
		pkt->reth.va = pkt->atomic.va = va;
		pkt->reth.rkey = pkt->atomic.rkey =
			history_key(h, args_text(args, "key", "data"));
		pkt->reth.len_bytes = (uint32_t)args_number(args, "total", pkt->payload_bytes);
	}
	pkt->atomic.swap_add = args_number(args, "swap", args_number(args, "add", 0));
	pkt->atomic.compare = args_number(args, "cmp", 0);
	if (info->headers & ROCE_H_AETH) {
		pkt->aeth.syndrome = syndrome_of(h);
		pkt->aeth.msn = (uint32_t)args_number(args, "msn", 0);
	}
	pkt->atomic_ack.orig = args_number(args, "orig", 0);
	pkt->imm = (uint32_t)args_number(args, "imm", 0);
}

static void deliver(struct history *h, const uint8_t *bytes, size_t len_bytes)
{
	static const uint8_t other[16] = {[10] = 0xff, 0xff, 10, 0, 0, 9};
	struct nic_rx rx = {
		.len_bytes = len_bytes,
		.sgid = h->params.path.dgid,
		.dgid = h->params.path.sgid,
	};
	/* A copy of its own size, so that a sanitizer sees a read past its end. */
	uint8_t *copy = (uint8_t *)malloc(len_bytes ? len_bytes : 1);

	memcpy(copy, bytes, len_bytes);
	rx.bth = copy;
	if (args_has(&h->args, "other_gid"))
		rx.sgid = other;
	if (args_has(&h->args, "local"))
		rx.sgid = rx.dgid = NULL;
	nic_rx(h->nic, &rx, h->now_ns);
	free(copy);
	nic_check(h->nic);
}

void history_rx(struct history *h)
{
	struct history_args *args = &h->args;
	struct roce_pkt pkt = {.opcode = opcode_named(h, args->noun)};
	uint32_t pattern = (uint32_t)args_number(args, "pat", 0);
	uint64_t offset = args_number(args, "off", 0);
	uint8_t bytes[HISTORY_PACKET_MAX + 4096] = {0};
	size_t at;

	pkt.payload_bytes = (uint32_t)args_number(args, "len", 0);
	pkt.pad_bytes = (uint8_t)args_number(args, "pad", roce_pad_bytes(pkt.payload_bytes));
	pkt.psn = (uint32_t)args_number(args, "psn", 0);
	pkt.ack_req = args_has(args, "a");
	pkt.se = args_has(args, "se");
	pkt.pkey = (uint16_t)args_number(args, "pkey", ROCE_PKEY_DEFAULT);
	pkt.dqpn = (uint32_t)args_number(args, "qp", h->qp.qpn);
	parse_headers(h, &pkt);
	at = roce_pkt_encode_headers(bytes, sizeof(bytes), &pkt);
	assert_true(at != 0 && at + pkt.payload_bytes + 4 <= sizeof(bytes));
	for (uint32_t i = 0; i < pkt.payload_bytes; i++)
		bytes[at + i] = sim_pattern(pattern, offset + i);
	at += pkt.payload_bytes + pkt.pad_bytes;
	if (args_has(args, "opcode"))
		bytes[0] = (uint8_t)args_number(args, "opcode", 0);
	at -= args_number(args, "trunc", 0);
	deliver(h, bytes, at);
}

/* ---- tx ---- */

static void print_packet(char *out, size_t size, const struct history_sent *sent)
{
	enum roce_verdict verdict;
	struct roce_pkt pkt;

	verdict = roce_pkt_decode(&pkt, sent->bth, sent->len_bytes);
	if (verdict == ROCE_OK)
		roce_pkt_dump(out, size, &pkt);
	else
		snprintf(out, size, "opcode 0x%02x, %s", sent->bth[0], roce_verdict_words(verdict));
}

static void check_number(struct history *h, const struct history_sent *sent, const char *key,
			  uint64_t actual)
{
	char text[DUMP_BYTES];
	uint64_t wanted = args_number(&h->args, key, actual);

	if (wanted == actual)
		return;
	print_packet(text, sizeof(text), sent);
	history_fail(h, "%s is 0x%llx, not 0x%llx; sent: %s", key, (unsigned long long)actual,
		     (unsigned long long)wanted, text);
}

/* What is the same in every packet of a queue pair [IBTA1 9.2]. */
static void check_common(struct history *h, const struct history_sent *sent,
			  const struct roce_pkt *pkt)
{
	static const uint8_t zeroes[4];
	uint32_t pad = roce_pad_bytes(pkt->payload_bytes);

	check_number(h, sent, "qp", pkt->dqpn);
	if (pkt->dqpn != HISTORY_PEER_QPN || sent->dqpn != pkt->dqpn)
		history_fail(h, "sent to queue pair 0x%x", pkt->dqpn);
	if (memcmp(sent->path.dgid, h->params.path.dgid, sizeof(sent->path.dgid)) != 0)
		history_fail(h, "sent to another GID");
	if (pkt->pkey != ROCE_PKEY_DEFAULT)
		history_fail(h, "sent with partition key 0x%x", pkt->pkey);
	if (pkt->pad_bytes != pad || memcmp(pkt->payload + pkt->payload_bytes, zeroes, pad) != 0)
		history_fail(h, "%u pad bytes, or not zero", pkt->pad_bytes);
}

static void check_payload(struct history *h, const struct history_sent *sent,
			   const struct roce_pkt *pkt)
{
	struct history_args *args = &h->args;
	uint64_t offset = args_number(args, "off", 0);
	uint32_t pattern = (uint32_t)args_number(args, "pat", 0);

	check_number(h, sent, "len", pkt->payload_bytes);
	if (!args_has(args, "pat"))
		return;
	for (uint32_t i = 0; i < pkt->payload_bytes; i++)
		if (pkt->payload[i] != sim_pattern(pattern, offset + i))
			history_fail(h, "payload byte %u is 0x%02x", i, pkt->payload[i]);
}

static void check_flags(struct history *h, const struct roce_pkt *pkt)
{
	if (args_has(&h->args, "a") && !pkt->ack_req)
		history_fail(h, "no acknowledgement is asked for");
	if (args_has(&h->args, "noack") && pkt->ack_req)
		history_fail(h, "an acknowledgement is asked for");
	if (args_has(&h->args, "se") && !pkt->se)
		history_fail(h, "no solicited event");
}

static void check_headers(struct history *h, const struct history_sent *sent,
			   const struct roce_pkt *pkt)
{
	const struct roce_opcode_info *info = &roce_opcodes[pkt->opcode];
	bool atomic = info->headers & ROCE_H_ATOMIC;

	if (info->headers & ROCE_H_AETH) {
		uint8_t wanted = syndrome_of(h);
		uint8_t mask = wanted == 0x1f ? 0xe0 : 0xff; /* an ACK may carry credits */

		if ((pkt->aeth.syndrome & mask) != (wanted & mask))
			history_fail(h, "psn 0x%x has syndrome 0x%02x", pkt->psn,
				     pkt->aeth.syndrome);
		check_number(h, sent, "msn", pkt->aeth.msn);
	}
	check_number(h, sent, "rva", atomic ? pkt->atomic.va : pkt->reth.va);
	check_number(h, sent, "rkey", atomic ? pkt->atomic.rkey : pkt->reth.rkey);
	check_number(h, sent, "total", pkt->reth.len_bytes);
	check_number(h, sent, "imm", pkt->imm);
	check_number(h, sent, "swap", pkt->atomic.swap_add);
	check_number(h, sent, "add", pkt->atomic.swap_add);
	check_number(h, sent, "cmp", pkt->atomic.compare);
	check_number(h, sent, "orig", pkt->atomic_ack.orig);
}

static void check_none(struct history *h)
{
	char text[DUMP_BYTES];

	if (h->sent_next == h->sent_count)
		return;
	print_packet(text, sizeof(text), &h->sent[h->sent_next]);
	history_fail(h, "sent: %s", text);
}

void history_tx(struct history *h)
{
	const struct history_sent *sent = &h->sent[h->sent_next];
	struct roce_pkt pkt;
	char text[DUMP_BYTES];

	history_run(h);
	if (strcmp(h->args.noun, "none") == 0) {
		check_none(h);
		return;
	}
	if (h->sent_next == h->sent_count)
		history_fail(h, "nothing was sent");
	h->sent_next++;
	print_packet(text, sizeof(text), sent);
	if (roce_pkt_decode(&pkt, sent->bth, sent->len_bytes) != ROCE_OK ||
	    pkt.opcode != opcode_named(h, h->args.noun))
		history_fail(h, "sent: %s", text);
	check_number(h, sent, "psn", pkt.psn);
	check_common(h, sent, &pkt);
	check_payload(h, sent, &pkt);
	check_flags(h, &pkt);
	check_headers(h, sent, &pkt);
}
