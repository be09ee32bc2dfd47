/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_fuzz.c - the local wire's memory when a member writes nonsense: two members in one process
 * send to each other while a third scribbles.
 *
 * Beyond no crash: what is taken lies within the port's memory and has a packet's length. Where the
 * scribbler keeps to its own rings and its own pool (as a process that runs our code and is only
 * fed by a hostile application does), the packets between the other two arrive once, in order and
 * whole; where it writes anywhere, every call still ends.
 */
#include "host/local.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

enum { A, B, HOSTILE, MEMBERS, STEPS_MAX = 200, BURST_MAX = 64, EVERYTHING = 1 << 30 };

struct world {
	struct host_registry registry[MEMBERS];
	struct host_local local[MEMBERS];
	bool anywhere; /* the scribbler writes to more than its own */
	uint64_t sent;
	uint64_t next; /* number of the packet that B has to get next */
	struct fuzz_in in;
};

static struct world world;

static uint32_t qpn_of(uint32_t member)
{
	return (0x111u * (member + 1)) << SHM_BLOCK_LOG2;
}

static void world_open(void)
{
	static const uint8_t gid[16] = {1};
	struct host_registry *first = &world.registry[A];

	FUZZ_CHECK(host_registry_found(first, "fuzz", gid) == 0);
	FUZZ_CHECK(host_registry_claim(first) == 0);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		struct shm_member *member = host_registry_member(first, i);

		world.registry[i] = *first;
		world.registry[i].slot = i;
		world.registry[i].generation = atomic_load(&member->generation);
		atomic_store(&member->state, SHM_LIVE);
		atomic_store(&member->wake, SHM_AWAKE);
		atomic_store(&host_registry_port(first)->owners[qpn_of(i) >> SHM_BLOCK_LOG2],
			     (uint16_t)(i + 1));
		host_local_init(&world.local[i], &world.registry[i]);
	}
}

static void world_close(void)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		host_local_free(&world.local[i]);
	world.registry[A].claimed = false; /* its slot may be anybody's by now */
	host_registry_close(&world.registry[A]);
}

static uint8_t packet_byte(uint64_t number, size_t i)
{
	return (uint8_t)(number * 31 + i * 7);
}

static void take(void *ctx, const uint8_t *packet, size_t len)
{
	uint32_t member = *(const uint32_t *)ctx;
	const uint8_t *map = world.registry[A].map;
	uint64_t number;
	uint32_t from;

	FUZZ_CHECK(packet >= map && packet + len <= map + SHM_BYTES);
	FUZZ_CHECK(len >= 12 && len <= SHM_PACKET_BYTES_MAX);
	memcpy(&number, packet, 8);
	memcpy(&from, packet + 8, 4);
	/* The rings of A lie before those of the others, its pool before theirs. */
	if (world.anywhere || member != B || from != A)
		return;
	if ((packet < map + SHM_POOLS_OFFSET)
		? packet >= (uint8_t *)host_registry_ring(&world.registry[A], 1, 0)
		: packet >= map + SHM_POOLS_OFFSET + SHM_POOL_BYTES)
		return; /* the scribbler's, with A's name in it */
	FUZZ_CHECK(number == world.next++);
	for (size_t i = 12; i < len; i++)
		FUZZ_CHECK(packet[i] == packet_byte(number, i));
}

static void receive(uint32_t member, uint32_t packets)
{
	struct host_local_limit limit = {packets, EVERYTHING};

	(void)host_local_receive(&world.local[member], &limit, take, &member);
	host_local_flush(&world.local[member]);
}

static void send_from(uint32_t member, uint32_t to, size_t len)
{
	uint8_t *room = host_local_reserve(&world.local[member], NULL, qpn_of(to), len);
	bool numbered = member == A && to == B;

	if (!room)
		return;
	memset(room, 0, len);
	memcpy(room, &world.sent, 8);
	memcpy(room + 8, &member, 4);
	for (size_t i = 12; i < len; i++)
		room[i] = packet_byte(world.sent, i);
	host_local_commit(&world.local[member]);
	world.sent += numbered;
}

/* A word that is nearly right, or any. */
static void scribble_slot(struct fuzz_in *in)
{
	uint32_t dst = fuzz_u8(in) % 2;
	struct shm_ring *ring = host_registry_ring(&world.registry[A], HOSTILE, dst);
	uint32_t seq = world.local[dst].rx[HOSTILE].head + (fuzz_u8(in) & 7);
	struct shm_slot *slot = &ring->slots[seq % SHM_SLOT_COUNT];
	uint64_t kind = fuzz_u8(in) & 3;
	uint64_t len = fuzz_u16(in);
	uint32_t off = (uint32_t)fuzz_odd(in);

	if (off & 1)
		off = SHM_POOL_BYTES - off % (2 * SHM_CELL_BYTES);
	memcpy(slot->packet, &off, sizeof(off));
	atomic_store(&slot->word, kind << 48 | len << 32 | seq);
}

static void scribble_anywhere(struct fuzz_in *in)
{
	static const struct {
		uint64_t offset, len;
	} areas[] = {{0, 128 << 10},
		     {SHM_MEMBERS_OFFSET, MEMBERS * sizeof(struct shm_member)},
		     {SHM_RINGS_OFFSET, MEMBERS * sizeof(struct shm_ring)},
		     {SHM_RINGS_OFFSET + 256 * sizeof(struct shm_ring),
		      MEMBERS * sizeof(struct shm_ring)}};
	uint8_t area = fuzz_u8(in) % 4;
	uint64_t at = fuzz_u32(in) % areas[area].len & ~7ull;
	uint64_t value = fuzz_odd(in);
	_Atomic uint64_t *word;

	if (!world.anywhere)
		return;
	/* Mostly where the words are: at the front of a page. */
	if (value & 1)
		at = (at & ~4095ull) | (at & 0x1f8);
	word = (_Atomic uint64_t *)(void *)((uint8_t *)world.registry[A].map + areas[area].offset +
					    at);
	atomic_store(word, value & 2 ? value : atomic_load(word) + value);
}

static void control(struct fuzz_in *in)
{
	struct host_local *local = &world.local[fuzz_u8(in) % 2];
	uint32_t peer = fuzz_u8(in) % MEMBERS;
	uint64_t bitmap[SHM_WORD_COUNT];

	switch (fuzz_u8(in) % 6) {
	case 0:
		(void)host_local_untaken(local, qpn_of(peer));
		break;
	case 1:
		(void)host_local_suspects(local, bitmap);
		break;
	case 2:
		if (world.anywhere || peer == HOSTILE)
			host_local_bury(local, peer, local->registry->generation);
		break;
	case 3:
		host_local_sweep(local);
		break;
	case 4:
		host_local_announce(local);
		break;
	default:
		host_local_await_room(local);
	}
}

static void step(struct fuzz_in *in)
{
	uint8_t op = fuzz_u8(in);
	uint8_t count = fuzz_u8(in) % BURST_MAX;
	size_t len = 12 + fuzz_u16(in) % (SHM_PACKET_BYTES_MAX - 11);

	switch (op % 8) {
	case 0:
		for (uint8_t i = 0; i <= count; i++)
			send_from(A, B, len);
		break;
	case 1:
		for (uint8_t i = 0; i <= count; i++)
			send_from(B, A, 12 + i);
		break;
	case 2:
		send_from(HOSTILE, op & 8 ? A : B, len);
		break;
	case 3:
		receive(A, count);
		break;
	case 4:
		receive(B, count);
		break;
	case 5:
		scribble_slot(in);
		break;
	case 6:
		scribble_anywhere(in);
		break;
	default:
		control(in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return 0;
	memset(&world, 0, sizeof(world));
	world.in = (struct fuzz_in){data, size};
	world.anywhere = fuzz_u8(&world.in) & 1;
	world_open();
	for (int i = 0; i < STEPS_MAX && world.in.left; i++)
		step(&world.in);
	if (!world.anywhere) {
		receive(B, EVERYTHING);
		FUZZ_CHECK(world.next == world.sent);
	}
	world_close();
	return 0;
}
