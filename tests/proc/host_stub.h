/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host_stub.h - a NIC that only counts and echoes, so that the tests of host/ see the port alone.
 *
 * Each packet is STUB_PACKET_BYTES: 12 bytes where a BTH would be, a number, and what to do with
 * it.
 */
#ifndef TESTS_HOST_STUB_H
#define TESTS_HOST_STUB_H

#include "host/host.h"
#include "host/port.h"
#include "nic/nic.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STUB_ECHO = 1 };

struct stub_packet {
	uint8_t bth[12];
	uint32_t reply_qpn; /* where the echo goes; 0: none */
	uint64_t number;
	uint8_t pad[16];
};

struct nic {
	struct nic_env env;
	struct nic_path path;
	/* to send, set under the port's lock */
	uint32_t dqpn;
	uint64_t to_send;
	uint64_t next_number;
	uint32_t reply_qpn;
	size_t len;
	/* echoes owed */
	uint32_t echo_qpn;
	uint64_t echo_first, echo_count;
	/* seen */
	_Atomic uint64_t received;
	_Atomic uint64_t bad;
	_Atomic uint64_t last_number;
	_Atomic uint64_t runs;
	_Atomic uint64_t blocked;
	_Atomic uint64_t deadline_ns;
	_Atomic uint64_t expired;
	struct nic_counters counters; /* stay 0 */
};

const struct nic_counters *nic_counters(const struct nic *nic)
{
	return &nic->counters;
}

void nic_stats(const struct nic *nic, uint64_t counters[static STATS_COUNT])
{
	(void)nic;
	memset(counters, 0, STATS_COUNT * sizeof(*counters));
}

uint32_t nic_stats_flows(struct nic *nic, uint32_t *from, struct stats_flow *flows,
			 uint32_t count_max, uint64_t now_ns)
{
	(void)nic;
	(void)flows;
	(void)count_max;
	(void)now_ns;
	*from = 0;
	return 0;
}

void nic_rx(struct nic *nic, const struct nic_rx *packet, uint64_t now_ns)
{
	struct stub_packet in;

	(void)now_ns;
	if (packet->len_bytes < sizeof(in)) {
		nic->bad++;
		return;
	}
	memcpy(&in, packet->bth, sizeof(in));
	if (nic->received && in.number != nic->last_number + 1)
		nic->bad++;
	for (size_t i = sizeof(in); i < packet->len_bytes; i++)
		if (packet->bth[i] != (uint8_t)(in.number + i))
			nic->bad++;
	nic->last_number = in.number;
	nic->received++;
	if (!in.reply_qpn)
		return;
	if (!nic->echo_count)
		nic->echo_first = in.number;
	nic->echo_qpn = in.reply_qpn;
	nic->echo_count++;
}

static bool stub_send(struct nic *nic, uint32_t dqpn, uint64_t number, uint32_t reply_qpn)
{
	struct stub_packet out = {.reply_qpn = reply_qpn, .number = number};
	size_t len = nic->len > sizeof(out) ? nic->len : sizeof(out);
	uint8_t *room = nic->env.tx_reserve(nic->env.ctx, &nic->path, dqpn, len);

	if (!room)
		return false;
	memcpy(room, &out, sizeof(out));
	for (size_t i = sizeof(out); i < len; i++)
		room[i] = (uint8_t)(number + i);
	nic->env.tx_commit(nic->env.ctx);
	return true;
}

enum nic_more nic_run(struct nic *nic, const struct nic_budget *budget, uint64_t now_ns)
{
	uint32_t sent = 0;

	nic->runs++;
	if (nic->deadline_ns <= now_ns) {
		nic->deadline_ns = UINT64_MAX;
		nic->expired++;
	}
	while (nic->echo_count || nic->to_send) {
		if (sent++ == budget->packets)
			return NIC_BUSY;
		if (nic->echo_count) {
			if (!stub_send(nic, nic->echo_qpn, nic->echo_first, 0))
				break;
			nic->echo_first++;
			nic->echo_count--;
			continue;
		}
		if (!stub_send(nic, nic->dqpn, nic->next_number, nic->reply_qpn))
			break;
		nic->next_number++;
		nic->to_send--;
	}
	if (!nic->echo_count && !nic->to_send)
		return NIC_IDLE;
	nic->blocked++;
	return NIC_BLOCKED;
}

uint64_t nic_deadline_ns(const struct nic *nic)
{
	return nic->deadline_ns;
}

/* A port at address with a stub NIC, and one block of numbers; what fails is printed. */
static inline struct host_port *stub_start(struct nic *nic, const char *address, uint32_t *qpn)
{
	struct host_port_config config = {.name = "soft0", .address = address, .mtu_bytes = 1024};
	struct host_port *port;
	char why[256];
	int result = host_port_join(&config, &port, why, sizeof(why));
	uint32_t block;

	*qpn = 0;
	if (result < 0) {
		fprintf(stderr, "join: %d %s\n", result, why);
		return NULL;
	}
	memset(nic, 0, sizeof(*nic));
	nic->deadline_ns = UINT64_MAX;
	host_port_env(port, &nic->env);
	host_port_gid(port, nic->path.dgid);
	host_port_gid(port, nic->path.sgid);
	if (nic->env.qpn_block(nic->env.ctx, &block) < 0)
		return NULL;
	*qpn = block << 12 | 5;
	host_port_start(port, nic);
	return port;
}

/* Queues count packets of len bytes to dqpn; a progress or the engine sends them. */
static inline void stub_queue(struct host_port *port, struct nic *nic, uint32_t dqpn,
			      uint64_t count, size_t len, uint32_t reply_qpn)
{
	host_port_lock(port);
	nic->dqpn = dqpn;
	nic->to_send += count;
	nic->len = len;
	nic->reply_qpn = reply_qpn;
	host_port_unlock(port);
}

/* Waits (asleep, so that only the engine works) until *value is at least goal; false after ms. */
static inline bool stub_wait(const _Atomic uint64_t *value, uint64_t goal, int ms)
{
	for (int i = 0; i < ms * 5 && *value < goal; i++)
		usleep(200);
	return *value >= goal;
}

#endif
