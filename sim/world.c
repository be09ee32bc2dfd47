/* SPDX-License-Identifier: BSD-2-Clause */
/* world.c - virtual time. */
#include "sim/world.h"

#include "abi/dump.h"
#include "base/assert.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sim_world_open(struct sim_world *world, uint64_t seed, FILE *trace)
{
	*world = (struct sim_world){.now_ns = 1, .digest = 0xcbf29ce484222325ull, .trace = trace};
	base_prng_seed(&world->prng, seed);
}

void sim_world_close(struct sim_world *world)
{
	free(world->heap);
	world->heap = NULL;
}

/* ---- the event queue: a binary heap by time, then by order ---- */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void sim_world_at(struct sim_world *world, uint64_t at_ns, sim_handler *handler, void *ctx,
		  uint64_t arg)
{
	struct sim_event event = {at_ns, world->event_count++, handler, ctx, arg};
	uint32_t i = world->heap_count++;

	ASSERT(at_ns >= world->now_ns);
	if (world->heap_count > world->heap_cap) {
		world->heap_cap = world->heap_cap ? world->heap_cap * 2 : 256;
		world->heap = (struct sim_event *)realloc(
			world->heap, world->heap_cap * sizeof(*world->heap));
		if (!world->heap)
			abort();
	}
	for (; i != 0 && before(&event, &world->heap[(i - 1) / 2]); i = (i - 1) / 2)
		world->heap[i] = world->heap[(i - 1) / 2];
	world->heap[i] = event;
}

static struct sim_event take_first(struct sim_world *world)
{
	struct sim_event first = world->heap[0];
	struct sim_event last = world->heap[--world->heap_count];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= world->heap_count)
			break;
		if (child + 1 < world->heap_count &&
		    before(&world->heap[child + 1], &world->heap[child]))
			child++;
		if (!before(&world->heap[child], &last))
			break;
		world->heap[i] = world->heap[child];
		i = child;
	}
	world->heap[i] = last;
	return first;
}

bool sim_world_step(struct sim_world *world)
{
	struct sim_event event;

	if (world->failed || world->heap_count == 0)
		return false;
	event = take_first(world);
	ASSERT(event.at_ns >= world->now_ns);
	world->now_ns = event.at_ns;
	event.handler(event.ctx, event.arg);
	return !world->failed;
}

/* ---- what happened ---- */

void sim_fail(struct sim_world *world, const char *format, ...)
{
	va_list list;

	if (world->failed)
		return;
	world->failed = true;
	va_start(list, format);
	vsnprintf(world->failure, sizeof(world->failure), format, list);
	va_end(list);
	if (world->trace)
		fprintf(world->trace, "%llu FAILED %s\n", (unsigned long long)world->now_ns,
			world->failure);
}

static void mix(struct sim_world *world, uint64_t value)
{
	world->digest = (world->digest ^ value) * 0x100000001b3ull;
	world->digest ^= world->digest >> 29;
}

static void mix_bytes(struct sim_world *world, const void *bytes, size_t len_bytes)
{
	const uint8_t *at = (const uint8_t *)bytes;
	uint64_t word = 0;

	for (; len_bytes >= sizeof(word); len_bytes -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		mix(world, word);
	}
	word = len_bytes;
	for (; len_bytes != 0; len_bytes--)
		word = word << 8 | *at++;
	mix(world, word);
}

void sim_note(struct sim_world *world, const char *who, const char *what, uint64_t a, uint64_t b,
	      uint64_t c)
{
	mix(world, world->now_ns);
	mix_bytes(world, who, strlen(who));
	mix_bytes(world, what, strlen(what));
	mix(world, a);
	mix(world, b);
	mix(world, c);
	if (world->trace)
		fprintf(world->trace, "%llu %s %s 0x%llx 0x%llx 0x%llx\n",
			(unsigned long long)world->now_ns, who, what, (unsigned long long)a,
			(unsigned long long)b, (unsigned long long)c);
}

void sim_note_packet(struct sim_world *world, const char *who, const char *what, const uint8_t *bth,
		     size_t len_bytes)
{
	char text[DUMP_BYTES] = "malformed";
	struct roce_pkt pkt;

	mix(world, world->now_ns);
	mix_bytes(world, who, strlen(who));
	mix_bytes(world, what, strlen(what));
	mix_bytes(world, bth, len_bytes);
	if (!world->trace)
		return;
	if (roce_pkt_decode(&pkt, bth, len_bytes) == ROCE_OK)
		roce_pkt_dump(text, sizeof(text), &pkt);
	fprintf(world->trace, "%llu %s %s %s\n", (unsigned long long)world->now_ns, who, what,
		text);
}
