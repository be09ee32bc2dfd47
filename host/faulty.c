/* SPDX-License-Identifier: BSD-2-Clause */
/* faulty.c - carries out fault/'s verdicts on the wires. */
#include "host/faulty.h"

#include <errno.h>
#include <string.h>

int host_faulty_init(struct host_faulty *faulty, struct host_wire *wire, const char *text,
		     size_t *wrong)
{
	struct fault_config config;

	memset(faulty, 0, sizeof(*faulty));
	if (!fault_parse(&config, text, wrong))
		return -EINVAL;
	fault_init(&faulty->fault, &config);
	faulty->wire = wire;
	return 0;
}

uint8_t *host_faulty_reserve(struct host_faulty *faulty, const struct nic_path *path, uint32_t dqpn,
			     size_t len)
{
	faulty->path = *path;
	faulty->dqpn = dqpn;
	faulty->len_bytes = len;
	faulty->room = host_wire_reserve(faulty->wire, path, dqpn, len);
	return faulty->room;
}

/* A copy goes out if there is room; if not it is lost, as on a network. */
static void send_copy(struct host_faulty *faulty, const struct nic_path *path, uint32_t dqpn,
		      const uint8_t *bytes, size_t len)
{
	uint8_t *room = host_wire_reserve(faulty->wire, path, dqpn, len);

	if (!room)
		return;
	memcpy(room, bytes, len);
	host_wire_commit(faulty->wire);
}

/* false: too many are held already, so this one is not. */
static bool hold(struct host_faulty *faulty, uint32_t behind)
{
	for (int i = 0; i < FAULT_BEHIND_MAX; i++) {
		struct host_faulty_held *held = &faulty->held[i];

		if (held->len_bytes)
			continue;
		held->path = faulty->path;
		held->dqpn = faulty->dqpn;
		held->len_bytes = (uint32_t)faulty->len_bytes;
		held->behind = behind;
		memcpy(held->bytes, faulty->room, faulty->len_bytes);
		return true;
	}
	return false;
}

static void release_held(struct host_faulty *faulty)
{
	for (int i = 0; i < FAULT_BEHIND_MAX; i++) {
		struct host_faulty_held *held = &faulty->held[i];

		if (!held->len_bytes || --held->behind > 0)
			continue;
		send_copy(faulty, &held->path, held->dqpn, held->bytes, held->len_bytes);
		held->len_bytes = 0;
	}
}

void host_faulty_commit(struct host_faulty *faulty, uint64_t now_ns)
{
	struct fault_verdict verdict;
	uint8_t copy[SHM_PACKET_BYTES_MAX];

	if (faulty->wire->open == HOST_WAY_NONE) {
		host_wire_commit(faulty->wire);
		return;
	}
	verdict = fault_judge(&faulty->fault, faulty->len_bytes, now_ns);
	if (verdict.corrupt && !verdict.drop) {
		host_wire_corrupt(faulty->wire, verdict.corrupt_bit);
		return;
	}
	if (verdict.drop || (verdict.behind && hold(faulty, verdict.behind))) {
		host_wire_cancel(faulty->wire);
		return;
	}
	if (verdict.duplicate)
		memcpy(copy, faulty->room, faulty->len_bytes);
	host_wire_commit(faulty->wire);
	if (verdict.duplicate)
		send_copy(faulty, &faulty->path, faulty->dqpn, copy, faulty->len_bytes);
	release_held(faulty);
}
