/* SPDX-License-Identifier: BSD-2-Clause */
/* link.c - a cable with faults. */
#include "sim/link.h"

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

static uint64_t late_ns(struct sim_link *link)
{
	return sim_range(link->world, 1, link->config.late_ns_max);
}

static void launch_copy(struct sim_link *link, const struct sim_packet *packet, uint64_t arrival_ns)
{
	struct sim_packet *copy = (struct sim_packet *)malloc(sizeof(*copy) + packet->len_bytes);

	if (!copy)
		abort();
	memcpy(copy, packet, sizeof(*copy) + packet->len_bytes);
	launch(link, copy, arrival_ns);
}

void sim_link_commit(struct sim_link *link)
{
	const struct sim_link_config *config = &link->config;
	struct sim_world *world = link->world;
	struct sim_packet *packet = link->room;
	uint64_t start_ns, arrival_ns;

	ASSERT(packet);
	link->room = NULL;
	link->sent_count++;
	start_ns = link->busy_until_ns > world->now_ns ? link->busy_until_ns : world->now_ns;
	link->busy_until_ns = start_ns + (packet->len_bytes + WIRE_OVERHEAD_BYTES) * 8000000000ull /
						 config->rate_bps;
	arrival_ns = link->busy_until_ns + config->delay_ns;
	sim_note_packet(world, link->name, "tx", packet->bth, packet->len_bytes);
	if (link->cut || sim_chance(world, config->drop_ppm)) {
		sim_note(world, link->name, "dropped", packet->dqpn, 0, 0);
		link->dropped_count++;
		link->harmed(link->ctx, packet->dqpn);
		free(packet);
		return;
	}
	packet->corrupted = sim_chance(world, config->corrupt_ppm);
	link->corrupted_count += packet->corrupted;
	if (sim_chance(world, config->duplicate_ppm)) {
		link->duplicated_count++;
		launch_copy(link, packet, arrival_ns + late_ns(link));
	}
	if (sim_chance(world, config->reorder_ppm)) {
		link->reordered_count++;
		link->harmed(link->ctx, packet->dqpn);
		arrival_ns += late_ns(link);
	}
	launch(link, packet, arrival_ns);
}

void sim_link_close(struct sim_link *link)
{
	free(link->room);
	while (link->under_way)
		remove_packet(link, link->under_way);
}
