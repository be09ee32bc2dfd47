/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - one simulated host. */
#include "sim/node.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS_MAX = 4,
	KICK_NS_MAX = 1500,
	SCAN_NS_MAX = 20000,
	IDLE_TURNS_MAX = 1000, /* turns without a nanosecond between them */
};

/* ---- nic_env ---- */

static struct sim_node *node_of(void *ctx)
{
	return (struct sim_node *)ctx;
}

static bool mem_read(void *ctx, void *dst, uint64_t va, size_t len)
{
	return sim_memory_read(&node_of(ctx)->memory, dst, va, len);
}

static bool mem_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	return sim_memory_write(&node_of(ctx)->memory, va, src, len);
}

static bool mem_load32(void *ctx, uint64_t va, uint32_t *value)
{
	return sim_memory_load32(&node_of(ctx)->memory, va, value);
}

static bool mem_store32(void *ctx, uint64_t va, uint32_t value)
{
	return sim_memory_store32(&node_of(ctx)->memory, va, value);
}

static bool mem_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	return sim_memory_cas64(&node_of(ctx)->memory, va, compare, swap, old);
}

static uint8_t *tx_reserve(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len)
{
	struct sim_node *node = node_of(ctx);
	bool self = memcmp(path->dgid, node->gid, sizeof(node->gid)) == 0;
	struct sim_link *link = self ? &node->loop : &node->out;
	uint8_t *room;

	ASSERT(!node->reserved);
	room = sim_link_reserve(link, path, dqpn, len);
	node->reserved = room ? link : NULL;
	return room;
}

static void tx_commit(void *ctx)
{
	struct sim_node *node = node_of(ctx);

	ASSERT(node->reserved);
	sim_link_commit(node->reserved);
	node->reserved = NULL;
}

static void tx_cancel(void *ctx)
{
	struct sim_node *node = node_of(ctx);

	ASSERT(node->reserved);
	sim_link_cancel(node->reserved);
	node->reserved = NULL;
}

static bool tx_untaken(void *ctx, const struct nic_path *path, uint32_t dqpn)
{
	(void)ctx;
	(void)path;
	(void)dqpn;
	return false;
}

static uint32_t tx_window(void *ctx, const struct nic_path *path)
{
	(void)path;
	return node_of(ctx)->window_bytes;
}

static int qpn_block(void *ctx, uint32_t *block)
{
	*block = node_of(ctx)->qpn_block++;
	return 0;
}

static void event(void *ctx, const struct nic_event *e)
{
	struct sim_node *node = node_of(ctx);

	sim_note(node->world, node->name, "event", e->kind, e->number, e->cookie);
	node->event(node->ctx, node, e);
}

/* ---- packets in ---- */

static void receive(struct sim_node *node, const struct sim_packet *packet, bool looped)
{
	struct nic_rx rx = {
		.len_bytes = packet->len_bytes,
		.sgid = looped ? NULL : packet->path.sgid,
		.dgid = looped ? NULL : packet->path.dgid,
		.traffic_class = nic_traffic_class(&packet->path, packet->len_bytes),
		.path = looped && packet->path.datagram ? &packet->path : NULL,
	};
	uint8_t *copy = (uint8_t *)malloc(packet->len_bytes);

	if (!copy)
		abort();
	memcpy(copy, packet->bth, packet->len_bytes);
	if (node->meddle)
		node->meddle(node->ctx, copy, packet->len_bytes);
	rx.bth = copy;
	nic_rx(node->nic, &rx, node->world->now_ns);
	free(copy);
	sim_node_kick(node, sim_below(node->world, KICK_NS_MAX));
}

static void from_peer(void *ctx, const struct sim_packet *packet)
{
	receive(node_of(ctx)->peer, packet, false);
}

static void from_self(void *ctx, const struct sim_packet *packet)
{
	receive(node_of(ctx), packet, true);
}

static void harmed(void *ctx, uint32_t dqpn)
{
	struct sim_node *node = node_of(ctx);

	node->harmed(node->ctx, node, dqpn);
}

/* ---- the engine ---- */

static void turn(void *ctx, uint64_t at_ns);

static void wake_at(struct sim_node *node, uint64_t at_ns)
{
	if (at_ns >= node->wake_ns)
		return;
	node->wake_ns = at_ns;
	sim_world_at(node->world, at_ns, turn, node, at_ns);
}

void sim_node_kick(struct sim_node *node, uint64_t delay_ns)
{
	wake_at(node, node->world->now_ns + delay_ns);
}

static enum nic_more run(struct sim_node *node)
{
	struct nic_budget budget = {
		.packets = (uint32_t)sim_range(node->world, 1, 64),
		.bytes = (uint32_t)sim_range(node->world, 1, 256 << 10),
	};

	return nic_run(node->nic, &budget, node->world->now_ns);
}

static uint64_t room_ns(const struct sim_node *node)
{
	uint64_t out_ns = sim_link_room_ns(&node->out);
	uint64_t loop_ns = sim_link_room_ns(&node->loop);
	uint64_t at_ns = out_ns > loop_ns ? out_ns : loop_ns;

	return at_ns > node->world->now_ns ? at_ns : node->world->now_ns + 1;
}

static void turn(void *ctx, uint64_t at_ns)
{
	struct sim_node *node = node_of(ctx);
	uint64_t now_ns = node->world->now_ns;
	uint64_t deadline_ns;
	enum nic_more more;

	if (at_ns != node->wake_ns)
		return; /* a later order to run has overtaken this one */
	node->wake_ns = SIM_NEVER;
	if (sim_chance(node->world, 125000))
		nic_scan(node->nic, now_ns);
	more = run(node);
	if (more == NIC_IDLE) {
		nic_scan(node->nic, now_ns);
		nic_cq_scan(node->nic, now_ns);
		more = run(node);
	}
	if (sim_chance(node->world, 20000))
		nic_check(node->nic);
	if (more == NIC_BUSY)
		sim_node_kick(node, sim_below(node->world, KICK_NS_MAX));
	else if (more == NIC_BLOCKED)
		wake_at(node, room_ns(node));
	deadline_ns = nic_deadline_ns(node->nic);
	if (deadline_ns <= now_ns && ++node->idle_turns > IDLE_TURNS_MAX)
		sim_fail(node->world, "%s: a deadline is never met", node->name);
	if (deadline_ns > now_ns)
		node->idle_turns = 0;
	if (deadline_ns != SIM_NEVER)
		wake_at(node, deadline_ns > now_ns ? deadline_ns : now_ns + 1);
}

static void scan(void *ctx, uint64_t arg)
{
	struct sim_node *node = node_of(ctx);

	(void)arg;
	nic_scan(node->nic, node->world->now_ns);
	nic_cq_scan(node->nic, node->world->now_ns);
	sim_node_kick(node, 0);
}

void sim_node_scan_later(struct sim_node *node)
{
	sim_world_at(node->world, node->world->now_ns + sim_below(node->world, SCAN_NS_MAX), scan,
		     node, 0);
}

/* ---- life ---- */

static void open_links(struct sim_node *node, const struct sim_link_config *config)
{
	static const char *const names[2][2] = {{"a->b", "a->a"}, {"b->a", "b->b"}};
	uint32_t number = node->gid[15] - 1u;

	node->out = (struct sim_link){
		.world = node->world,
		.name = names[number][0],
		.config = *config,
		.ctx = node,
		.sink = from_peer,
		.harmed = harmed,
	};
	node->loop = node->out;
	node->loop.name = names[number][1];
	node->loop.sink = from_self;
	node->loop.config.fault = (struct fault_config){0};
	sim_link_open(&node->out);
	sim_link_open(&node->loop);
}

void sim_node_open(struct sim_node *node, struct sim_world *world, uint32_t number,
		   const struct sim_link_config *link)
{
	uint64_t seed;
	struct nic_config config = {
		.qp_count_max = 4096,
		.cq_count_max = 64,
		.mkey_count_max = 4096,
		.pd_count_max = 16,
		.srq_count_max = 16,
		.mtu_max_bytes = 4096,
		.rd_atomic_max = 16,
		.message_max_bytes_log2 = 31,
	};

	*node = (struct sim_node){
		.world = world,
		.name = number == 0 ? "a" : "b",
		.qpn_block = number == 0 ? 1 : 0x800,
		.wake_ns = SIM_NEVER,
		.gid = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(number + 1)},
	};
	open_links(node, link);
	node->env = (struct nic_env){
		.ctx = node,
		.mem_read = mem_read,
		.mem_write = mem_write,
		.mem_load32 = mem_load32,
		.mem_store32 = mem_store32,
		.mem_cas64 = mem_cas64,
		.tx_reserve = tx_reserve,
		.tx_commit = tx_commit,
		.tx_cancel = tx_cancel,
		.tx_untaken = tx_untaken,
		.qpn_block = qpn_block,
		.event = event,
		.tx_window_bytes = tx_window,
	};
	sim_memory_open(&node->memory, 0x7f0000000000ull + ((uint64_t)number << 32),
			SIM_NODE_MEMORY_BYTES);
	node->arena_bytes = nic_arena_bytes(&config);
	node->arena = sim_arena_open(node->arena_bytes);
	seed = base_prng_u64(&world->prng);
	/* In half of the worlds paths have a bound, so tight that it is felt. */
	if (seed >> 63)
		node->window_bytes = 1 + (uint32_t)(seed >> 32 & 0x7fff);
	node->nic = nic_init(node->arena, &config, &node->env, seed);
}

void sim_node_close(struct sim_node *node)
{
	sim_link_close(&node->out);
	sim_link_close(&node->loop);
	sim_memory_close(&node->memory);
	sim_arena_close(node->arena, node->arena_bytes);
}
