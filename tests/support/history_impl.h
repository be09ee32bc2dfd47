/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history_impl.h - what the files behind history.h share.
 */
#ifndef TESTS_SUPPORT_HISTORY_IMPL_H
#define TESTS_SUPPORT_HISTORY_IMPL_H

#include "nic/nic.h"
#include "sim/driver.h"
#include "sim/memory.h"
#include "tests/support/history_args.h"

enum {
	HISTORY_DATA_BYTES = 1 << 20,
	HISTORY_MEMORY_BYTES = 4 << 20,
	HISTORY_SENT_MAX = 4096,
	HISTORY_EVENTS_MAX = 64,
	HISTORY_PEER_QPN = 0x123456,
	HISTORY_QPN_BLOCK = 0xabc,
	HISTORY_KEYS_MAX = 8,
	HISTORY_PACKET_MAX = 4096 + 128,
};

/* A packet that the NIC committed to the wire. */
struct history_sent {
	uint8_t *bth;
	size_t len_bytes;
	uint32_t dqpn;
	struct nic_path path;
};

struct history_key {
	const char *name;
	uint32_t key;
};

struct history {
	struct nic *nic;
	void *arena;
	size_t arena_bytes;
	struct nic_env env;
	struct sim_memory memory;
	uint64_t data_va;
	uint8_t *shadow; /* of the data region: what it must hold */
	uint64_t now_ns;

	uint32_t pdn;
	uint32_t pdn_alien;
	struct history_key keys[HISTORY_KEYS_MAX];
	uint32_t key_count;
	struct sim_cq cq;
	struct sim_qp qp;
	struct nic_qp_params params; /* as last set */

	struct history_sent sent[HISTORY_SENT_MAX];
	uint32_t sent_count;
	uint32_t sent_next; /* the first that no line looked at */
	uint8_t *room;	    /* the open reservation */
	struct history_sent reserved;
	uint64_t wire_room; /* packets it still takes */
	bool untaken;

	enum nic_event_kind events[HISTORY_EVENTS_MAX];
	uint32_t event_count;
	struct history_args args; /* the line that is being played */
	uint32_t line_number;
};

/* history_fail - fails the test with the line and the sentence. */
void history_fail(const struct history *h, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* history_build - the NIC and its objects as the setup line in h->args says. */
void history_build(struct history *h);
/* history_params - h->params changed by the names of a setup or modify line; the bits that were
 * set. */
uint32_t history_params(struct history *h);
void history_modify(struct history *h, enum nic_qp_state state, uint32_t set);
uint32_t history_key(struct history *h, const char *name);

/* history_run - lets the NIC send all that is due now. */
void history_run(struct history *h);

/* The rx and tx lines. */
void history_rx(struct history *h);
void history_tx(struct history *h);

#endif
