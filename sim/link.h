/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/link.h - one direction of a cable that has a delay, a speed, a short queue, and faults.
 *
 * A corrupted packet is one whose ICRC would not match: the far end counts and drops it. A
 * reordered one arrives late. A duplicated one arrives twice, the second time late.
 *
 * Ownership: the link owns the packets under way until its sink has seen them.
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "fault/fault.h"
#include "nic/nic.h"
#include "sim/world.h"

struct sim_link_config {
	uint64_t delay_ns;
	uint64_t rate_bps;
	uint64_t queue_ns_max;	 /* what may wait to leave, as the time it takes to */
	uint64_t late_ns_max;	 /* how much later a reordered or doubled packet comes */
	struct fault_config fault; /* its seed comes from the world */
};

struct sim_packet {
	struct sim_packet *next;
	struct sim_packet *prev;
	struct sim_link *link;
	struct nic_path path;
	uint32_t dqpn;
	bool corrupted;
	size_t len_bytes;
	uint8_t bth[];
};

struct sim_link {
	struct sim_world *world;
	const char *name;
	struct sim_link_config config;
	struct fault fault;
	bool cut; /* nothing gets through */
	uint64_t busy_until_ns;
	struct sim_packet *under_way;
	struct sim_packet *room;
	void *ctx;
	void (*sink)(void *ctx, const struct sim_packet *packet);
	/* A packet for dqpn was lost, or came late: whatever may make a requester repeat. */
	void (*harmed)(void *ctx, uint32_t dqpn);
	uint64_t sent_count;
	uint64_t cut_count; /* lost because the cable was cut; fault.counts has the others */
};

/* sim_link_open - the rest of *link, which has its world, name, config, ctx, sink and harmed. */
void sim_link_open(struct sim_link *link);

/* nic_env's reservation; NULL: the queue is full until sim_link_room_ns. */
uint8_t *sim_link_reserve(struct sim_link *link, const struct nic_path *path, uint32_t dqpn,
			  size_t len_bytes);
void sim_link_commit(struct sim_link *link);
void sim_link_cancel(struct sim_link *link);

/* sim_link_room_ns - when there is room again. */
uint64_t sim_link_room_ns(const struct sim_link *link);

/* sim_link_close - frees what is still under way. */
void sim_link_close(struct sim_link *link);

#endif
