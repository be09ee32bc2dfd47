/* SPDX-License-Identifier: BSD-2-Clause */
/* link.c - a cable with faults. */
#include "sim/link.h"

#include "abi/roce.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum {
	WIRE_OVERHEAD_BYTES = 66, /* Ethernet, IPv4, UDP, ICRC, gap */
};

uint8_t *sim_link_reserve(struct sim_link *link, const struct nic_path *path, uint32_t dqpn,
			  size_t len_bytes)
{
	struct sim_packet *packet;

	ASSERT(!link->room);
	if (link->busy_until_ns > link->world->now_ns + link->config.queue_ns_max)
		return NULL;
	packet = (struct sim_packet *)calloc(1, sizeof(*packet) + len_bytes);
	if (!packet)
		abort();
	packet->link = link;
	packet->path = *path;
	packet->dqpn = dqpn;
	packet->len_bytes = len_bytes;
	link->room = packet;
	return packet->bth;
}

void sim_link_cancel(struct sim_link *link)
{
	ASSERT(link->room);
	free(link->room);
	link->room = NULL;
}

uint64_t sim_link_room_ns(const struct sim_link *link)
{
	uint64_t now_ns = link->world->now_ns;
	uint64_t room_ns = link->busy_until_ns > link->config.queue_ns_max
				   ? link->busy_until_ns - link->config.queue_ns_max
				   : 0;

	return room_ns > now_ns ? room_ns : now_ns;
}

static void remove_packet(struct sim_link *link, struct sim_packet *packet)
{
	if (packet->prev)
		packet->prev->next = packet->next;
	else
		link->under_way = packet->next;
	if (packet->next)
		packet->next->prev = packet->prev;
	free(packet);
}

static void arrive(void *ctx, uint64_t arg)
{
	struct sim_packet *packet = (struct sim_packet *)ctx;
	struct sim_link *link = packet->link;

	(void)arg;
	if (packet->corrupted) {
		sim_note_packet(link->world, link->name, "bad-icrc", packet->bth,
				packet->len_bytes);
		link->harmed(link->ctx, packet->dqpn);
	} else {
		link->sink(link->ctx, packet);
	}
	remove_packet(link, packet);
}

/* Puts packet, or a copy of it, on its way. */
static void launch(struct sim_link *link, struct sim_packet *packet, uint64_t arrival_ns)
{
	packet->prev = NULL;
	packet->next = link->under_way;
	if (packet->next)
		packet->next->prev = packet;
	link->under_way = packet;
	sim_world_at(link->world, arrival_ns, arrive, packet, 0);
}

static void launch_copy(struct sim_link *link, const struct sim_packet *packet, uint64_t arrival_ns)
{
	struct sim_packet *copy = (struct sim_packet *)malloc(sizeof(*copy) + packet->len_bytes);

	if (!copy)
		abort();
	memcpy(copy, packet, sizeof(*copy) + packet->len_bytes);
	launch(link, copy, arrival_ns);
}

/* When the packet that now leaves is through, if nothing delays it. */
static uint64_t depart(struct sim_link *link, size_t len_bytes)
{
	uint64_t now_ns = link->world->now_ns;
	uint64_t start_ns = link->busy_until_ns > now_ns ? link->busy_until_ns : now_ns;

	link->busy_until_ns = start_ns + (len_bytes + WIRE_OVERHEAD_BYTES) * 8000000000ull /
						 link->config.rate_bps;
	return link->busy_until_ns + link->config.delay_ns;
}

static void lose(struct sim_link *link, struct sim_packet *packet)
{
	sim_note(link->world, link->name, "dropped", packet->dqpn, 0, 0);
	link->harmed(link->ctx, packet->dqpn);
	free(packet);
}

void sim_link_commit(struct sim_link *link)
{
	struct sim_world *world = link->world;
	struct sim_packet *packet = link->room;
	uint64_t late_ns_max = link->config.late_ns_max;
	struct fault_verdict verdict;
	uint64_t arrival_ns;

	ASSERT(packet);
	link->room = NULL;
	link->sent_count++;
	arrival_ns = depart(link, packet->len_bytes);
	sim_note_packet(world, link->name, "tx", packet->bth, packet->len_bytes);
	verdict = fault_judge(&link->fault, packet->len_bytes, world->now_ns);
	link->cut_count += link->cut;
	if (link->cut || verdict.drop) {
		lose(link, packet);
		return;
	}
	packet->corrupted = verdict.corrupt;
	if (verdict.mark && packet->path.ecn == ROCE_ECN_ECT_0)
		packet->path.ecn = ROCE_ECN_CE;
	arrival_ns += verdict.delay_ns;
	if (verdict.duplicate)
		launch_copy(link, packet, arrival_ns + sim_range(world, 1, late_ns_max));
	if (verdict.behind != 0) {
		link->harmed(link->ctx, packet->dqpn);
		arrival_ns += 1 + late_ns_max * verdict.behind / FAULT_BEHIND_MAX;
	}
	launch(link, packet, arrival_ns);
}

void sim_link_open(struct sim_link *link)
{
	link->config.fault.seed = base_prng_u64(&link->world->prng);
	fault_init(&link->fault, &link->config.fault);
}

void sim_link_close(struct sim_link *link)
{
	free(link->room);
	while (link->under_way)
		remove_packet(link, link->under_way);
}
