/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/node.h - one simulated host: a NIC, the memory of its program, who runs it when, its cable.
 *
 * The engine is a stand-in for host/: it runs the NIC in small random turns, some time after there
 * is something to do, and looks at the doorbell records now and then and before it sleeps.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include "sim/link.h"
#include "sim/memory.h"

enum {
	SIM_NODE_MEMORY_BYTES = 24 << 20,
};

struct sim_node {
	struct sim_world *world;
	const char *name;
	struct sim_node *peer;
	struct nic *nic;
	void *arena;
	size_t arena_bytes;
	struct nic_env env;
	struct sim_memory memory;
	struct sim_link out;  /* to the peer */
	struct sim_link loop; /* to itself: no faults, and no GIDs */
	struct sim_link *reserved;
	uint8_t gid[16];
	uint32_t window_bytes; /* bound of what is under way; 0: none */
	uint32_t qpn_block;
	uint64_t wake_ns; /* when the engine runs next */
	uint32_t idle_turns;
	void *ctx;
	void (*event)(void *ctx, struct sim_node *node, const struct nic_event *event);
	/* A packet from this node for dqpn was lost or came late. */
	void (*harmed)(void *ctx, struct sim_node *node, uint32_t dqpn);
	/* May change a packet before the NIC sees it (sabotage); NULL: nobody does. */
	void (*meddle)(void *ctx, uint8_t *bth, size_t len_bytes);
};

/* sim_node_open - number is 0 or 1. The caller then sets peer, ctx, event and harmed. */
void sim_node_open(struct sim_node *node, struct sim_world *world, uint32_t number,
		   const struct sim_link_config *link);
void sim_node_close(struct sim_node *node);

/* sim_node_kick - the engine will run at most delay_ns from now. */
void sim_node_kick(struct sim_node *node, uint64_t delay_ns);

/* sim_node_scan_later - something was written to a record and no register: a scan finds it. */
void sim_node_scan_later(struct sim_node *node);

#endif
