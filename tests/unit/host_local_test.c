/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/local: every packet arrives once, in order and whole, over many laps of the ring; a full
 * ring, a peer that is gone or replaced, and nonsense in shared memory end as local.h says. Two
 * members in one process: two host_local over one registry, whose second slot is filled in by hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/prng.h"
#include "host/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A_QPN = 0x111000, B_QPN = 0x222000, EVERYTHING = 1 << 30 };

struct pair {
	struct host_registry ra, rb;
	struct host_local a, b;
};

static struct pair pair;

static void member_live(uint32_t slot)
{
	struct shm_member *member = host_registry_member(&pair.ra, slot);

	atomic_store(&member->state, SHM_LIVE);
	atomic_store(&member->wake, SHM_AWAKE);
}

static int setup(void **state)
{
	static const uint8_t gid[16] = {1};

	(void)state;
	memset(&pair, 0, sizeof(pair));
	if (host_registry_found(&pair.ra, "test", gid) != 0 || host_registry_claim(&pair.ra) != 0)
		return 1;
	pair.rb = pair.ra;
	pair.rb.slot = 1;
	pair.rb.generation = host_registry_member(&pair.ra, 1)->generation;
	member_live(0);
	member_live(1);
	atomic_store(&host_registry_port(&pair.ra)->owners[A_QPN >> 12], 1);
	atomic_store(&host_registry_port(&pair.ra)->owners[B_QPN >> 12], 2);
	host_local_init(&pair.a, &pair.ra);
	host_local_init(&pair.b, &pair.rb);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	host_local_free(&pair.a);
	host_local_free(&pair.b);
	host_registry_release(&pair.ra);
	host_registry_close(&pair.ra);
	return 0;
}

struct sink {
	uint32_t count;
	uint64_t next; /* number of the packet to come */
	uint32_t wrong;
};

/* A packet is its number, then bytes that follow from number, length and place. */
static void packet_fill(uint8_t *packet, uint64_t number, size_t len)
{
	memcpy(packet, &number, 8);
	for (size_t i = 8; i < len; i++)
		packet[i] = (uint8_t)(number * 31 + i * 7 + len);
}

static void sink_take(void *ctx, const uint8_t *packet, size_t len)
{
	struct sink *sink = (struct sink *)ctx;
	uint64_t number;

	memcpy(&number, packet, 8);
	sink->count++;
	if (number != sink->next)
		sink->wrong++;
	sink->next = number + 1;
	for (size_t i = 8; i < len; i++)
		if (packet[i] != (uint8_t)(number * 31 + i * 7 + len))
			sink->wrong++;
}

static bool send_one(struct host_local *local, uint32_t qpn, uint64_t number, size_t len)
{
	uint8_t *room = host_local_reserve(local, NULL, qpn, len);

	if (!room)
		return false;
	packet_fill(room, number, len);
	host_local_commit(local);
	return true;
}

static uint32_t receive(struct host_local *local, struct sink *sink, uint32_t packets)
{
	struct host_local_limit limit = {packets, EVERYTHING};

	return host_local_receive(local, &limit, sink_take, sink);
}

/* a asks, b answers. */
static void open_a_to_b(struct sink *sink)
{
	assert_false(send_one(&pair.a, B_QPN, 0, 20));
	assert_int_equal(receive(&pair.b, sink, 1), 0);
}

/* Random lengths in random bursts over some hundred laps: in order, whole, none lost. */
static void test_laps(void **state)
{
	struct base_prng prng;
	struct sink sink = {0};
	uint64_t sent = 0, full = 0;

	(void)state;
	print_message("seed 1\n");
	base_prng_seed(&prng, 1);
	open_a_to_b(&sink);
	while (sent < 100000) {
		uint64_t burst = base_prng_below(&prng, 1500);
		size_t max = base_prng_below(&prng, 2) ? 80 : 4200;

		for (uint64_t i = 0; i < burst; i++) {
			size_t len = 12 + base_prng_below(&prng, max);

			if (!send_one(&pair.a, B_QPN, sent, len)) {
				full++;
				break;
			}
			sent++;
		}
		receive(&pair.b, &sink, (uint32_t)base_prng_below(&prng, 1200));
	}
	receive(&pair.b, &sink, EVERYTHING);
	assert_int_equal(sink.count, sent);
	assert_int_equal(sink.wrong, 0);
	assert_true(full > 10);
	assert_int_equal(pair.b.counters.rx_drop_malformed, 0);
}

/* What fits: all slots of small packets, 32 of the largest MTU; then NULL; then room again. */
static void test_full(void **state)
{
	static const struct {
		const char *name;
		size_t len;
		uint32_t least;
	} cases[] = {{"inline", 20, SHM_SLOT_COUNT},
		     {"just inline", SHM_INLINE_BYTES, SHM_SLOT_COUNT},
		     {"just not inline", SHM_INLINE_BYTES + 1, 700},
		     {"MTU 4096", 4096 + 28, 700},
		     {"largest", SHM_PACKET_BYTES_MAX, 700}};
	struct sink sink = {0};
	uint64_t number = 0;

	(void)state;
	open_a_to_b(&sink);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int lap = 0; lap < 3; lap++) {
			uint64_t first = number;

			while (send_one(&pair.a, B_QPN, number, cases[i].len))
				number++;
			if (number - first < cases[i].least)
				fail_msg("%s: %d fit", cases[i].name, (int)(number - first));
			assert_int_equal(receive(&pair.b, &sink, EVERYTHING), number - first);
		}
	}
	assert_int_equal(sink.wrong, 0);
}

/* A reservation that is cancelled leaves nothing; one that nobody owns is taken and dropped. */
static void test_cancel_and_nobody(void **state)
{
	struct sink sink = {0};

	(void)state;
	open_a_to_b(&sink);
	for (int i = 0; i < 5000; i++) {
		assert_non_null(host_local_reserve(&pair.a, NULL, B_QPN, 4000));
		host_local_cancel(&pair.a);
	}
	assert_int_equal(receive(&pair.b, &sink, 1), 0);
	assert_true(send_one(&pair.a, 0x333000, 0, 4000));
	assert_int_equal(pair.a.counters.tx_drop_nobody, 1);
	assert_true(send_one(&pair.a, B_QPN, 0, 100));
	assert_int_equal(receive(&pair.b, &sink, 9), 1);
	assert_int_equal(sink.wrong, 0);
}

/* A limit in packets and in bytes is kept, and what remains comes later. */
static void test_limits(void **state)
{
	struct host_local_limit bytes = {1000, 1000};
	struct sink sink = {0};

	(void)state;
	open_a_to_b(&sink);
	for (uint64_t i = 0; i < 10; i++)
		assert_true(send_one(&pair.a, B_QPN, i, 400));
	assert_int_equal(receive(&pair.b, &sink, 4), 4);
	assert_int_equal(host_local_receive(&pair.b, &bytes, sink_take, &sink), 3);
	assert_int_equal(receive(&pair.b, &sink, 100), 3);
	assert_int_equal(sink.wrong, 0);
}

/* untaken: while asked and unanswered, while a packet lies there; not after; not of the dead. */
static void test_untaken(void **state)
{
	struct sink sink = {0};
	uint64_t suspects[SHM_WORD_COUNT];

	(void)state;
	assert_false(host_local_untaken(&pair.a, B_QPN));
	assert_false(host_local_untaken(&pair.a, 0x333000));
	assert_false(send_one(&pair.a, B_QPN, 0, 20));
	assert_true(host_local_untaken(&pair.a, B_QPN));
	receive(&pair.b, &sink, 1);
	assert_true(send_one(&pair.a, B_QPN, 0, 20));
	assert_true(host_local_untaken(&pair.a, B_QPN));
	assert_true(host_local_suspects(&pair.a, suspects));
	assert_int_equal(suspects[0], 2);
	assert_false(host_local_suspects(&pair.a, suspects));
	receive(&pair.b, &sink, 1);
	assert_false(host_local_untaken(&pair.a, B_QPN));
	assert_true(send_one(&pair.a, B_QPN, 1, 20));
	host_local_bury(&pair.a, 1, pair.rb.generation + 1); /* another's death */
	assert_true(host_local_untaken(&pair.a, B_QPN));
	host_local_bury(&pair.a, 1, pair.rb.generation);
	assert_false(host_local_untaken(&pair.a, B_QPN));
	assert_true(send_one(&pair.a, B_QPN, 2, 20));
	assert_int_equal(pair.a.counters.tx_drop_dead, 1);
}

static void replace(struct host_registry *registry, struct host_local *local)
{
	struct shm_member *member = host_registry_member(registry, registry->slot);

	registry->generation = atomic_fetch_add(&member->generation, 1) + 1;
	host_local_free(local);
	host_local_init(local, registry);
}

/* A new receiver in the slot: the sender asks again; nothing meant for the old one arrives. */
static void test_receiver_replaced(void **state)
{
	struct sink sink = {0};

	(void)state;
	open_a_to_b(&sink);
	for (uint64_t i = 0; i < 5; i++)
		assert_true(send_one(&pair.a, B_QPN, 100 + i, 300));
	replace(&pair.rb, &pair.b);
	assert_int_equal(receive(&pair.b, &sink, 9), 0);
	assert_false(send_one(&pair.a, B_QPN, 0, 300));
	assert_int_equal(receive(&pair.b, &sink, 9), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_true(send_one(&pair.a, B_QPN, i, 300));
	assert_int_equal(receive(&pair.b, &sink, 9), 5);
	assert_int_equal(sink.wrong, 0);
}

/* A new sender in the slot: it may write only after the receiver has prepared the ring, so a packet
 * of the old one that is being read stays what it was; a sweep forgets a sender that is gone. */
static void test_sender_replaced(void **state)
{
	struct sink sink = {0};

	(void)state;
	open_a_to_b(&sink);
	for (uint64_t i = 0; i < 3; i++)
		assert_true(send_one(&pair.a, B_QPN, i, 300));
	replace(&pair.ra, &pair.a);
	assert_false(send_one(&pair.a, B_QPN, 0, 300));
	assert_int_equal(receive(&pair.b, &sink, 9), 0); /* the answer resets the ring */
	assert_true(send_one(&pair.a, B_QPN, 0, 300));
	assert_int_equal(receive(&pair.b, &sink, 9), 1);
	assert_int_equal(sink.wrong, 0);
	assert_int_equal(pair.b.rx_count, 1);
	replace(&pair.ra, &pair.a);
	host_local_sweep(&pair.b);
	assert_int_equal(pair.b.rx_count, 0);
	assert_int_equal(receive(&pair.b, &sink, 9), 0);
}

/* Slots that lie about kind, length or place are counted and skipped; the next good one arrives. */
static void test_hostile_slots(void **state)
{
	static const struct {
		const char *name;
		uint64_t kind, len;
		uint32_t off;
	} cases[] = {
	    {"unknown kind", 3, 100, 0},
	    {"huge kind", 0xffff, 100, 0},
	    {"empty", SHM_KIND_INLINE, 0, 0},
	    {"below a BTH", SHM_KIND_INLINE, 11, 0},
	    {"inline beyond the slot", SHM_KIND_INLINE, SHM_INLINE_BYTES + 1, 0},
	    {"too long", SHM_KIND_CELL, SHM_PACKET_BYTES_MAX + 1, 0},
	    {"longest number", SHM_KIND_CELL, 0xffff, 0},
	    {"over the end", SHM_KIND_CELL, 100, SHM_POOL_BYTES - 99},
	    {"far away", SHM_KIND_CELL, 100, 0xffffffff},
	    {"foreign, over the end", SHM_KIND_FOREIGN, 100, SHM_POOL_BYTES - 123},
	    {"foreign, too long", SHM_KIND_FOREIGN, SHM_PACKET_BYTES_MAX + 1, 0},
	};
	struct sink sink = {0};
	struct shm_ring *ring;

	(void)state;
	open_a_to_b(&sink);
	ring = host_registry_ring(&pair.ra, 0, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct shm_slot *slot;
		uint64_t word;

		assert_true(send_one(&pair.a, B_QPN, i, 100));
		slot = &ring->slots[(pair.b.rx[0].head) % SHM_SLOT_COUNT];
		word = cases[i].kind << 48 | cases[i].len << 32 | (uint32_t)slot->word;
		slot->pool_off = cases[i].off;
		atomic_store(&slot->word, word);
		receive(&pair.b, &sink, 1);
		if (pair.b.counters.rx_drop_malformed != i + 1 || sink.count != 0)
			fail_msg("%s was taken", cases[i].name);
	}
	assert_true(send_one(&pair.a, B_QPN, 0, 100));
	assert_int_equal(receive(&pair.b, &sink, 1), 1);
	assert_int_equal(sink.wrong, 0);
}

/* A receiver's index that cannot be neither frees room nor hurts. */
static void test_hostile_head(void **state)
{
	static const uint32_t lies[] = {1, 2, SHM_SLOT_COUNT, 0x80000000};
	struct sink sink = {0};
	uint64_t number = 0;
	struct shm_ring *ring;
	uint32_t head;

	(void)state;
	open_a_to_b(&sink);
	ring = host_registry_ring(&pair.ra, 0, 1);
	while (send_one(&pair.a, B_QPN, number, 1000))
		number++;
	head = atomic_load(&ring->head);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		atomic_store(&ring->head, head + (uint32_t)number + lies[i]);
		assert_false(send_one(&pair.a, B_QPN, number, 1000));
	}
	atomic_store(&ring->head, head);
	assert_int_equal(receive(&pair.b, &sink, EVERYTHING), number);
	assert_true(send_one(&pair.a, B_QPN, number, 1000));
}

/* Every word of the shared part random, and then random again between calls: nothing crashes, and
 * every packet handed out lies inside the ring (reading all of it shows that). */
static void test_hostile_noise(void **state)
{
	struct base_prng prng;
	struct sink sink = {0};
	struct shm_ring *ring;

	(void)state;
	print_message("seed 2\n");
	base_prng_seed(&prng, 2);
	open_a_to_b(&sink);
	ring = host_registry_ring(&pair.ra, 0, 1);
	for (int i = 0; i < 3000; i++) {
		struct shm_slot *slot =
		    &ring->slots[(pair.b.rx[0].head + base_prng_below(&prng, 3)) % SHM_SLOT_COUNT];
		uint64_t word = base_prng_u64(&prng);

		if (base_prng_below(&prng, 4))
			word = (word & 0x0007ffff00000000u) | pair.b.rx[0].head;
		slot->pool_off = (uint32_t)base_prng_u64(&prng) >> base_prng_below(&prng, 20);
		atomic_store(&slot->word, word);
		if (base_prng_below(&prng, 8) == 0)
			atomic_store(&ring->head, (uint32_t)base_prng_u64(&prng));
		if (base_prng_below(&prng, 8) == 0)
			atomic_store(&pair.b.self->asking[0], base_prng_u64(&prng));
		if (base_prng_below(&prng, 8) == 0)
			atomic_store(&host_registry_port(&pair.ra)->owners[B_QPN >> 12],
				     (uint16_t)base_prng_u64(&prng));
		send_one(&pair.a, B_QPN, (uint64_t)i, 12 + base_prng_below(&prng, 4000));
		receive(&pair.b, &sink, 4);
		host_local_flush(&pair.a);
		host_local_flush(&pair.b);
	}
	assert_true(pair.b.counters.rx_drop_malformed > 0);
}

/* A sleeping receiver is woken once per announcement, by the flush and not before; a polling one
 * never. */
static void test_wake(void **state)
{
	struct sink sink = {0};

	(void)state;
	open_a_to_b(&sink);
	host_local_flush(&pair.a);
	assert_int_equal(pair.a.counters.wakes_sent, 0);
	host_local_announce(&pair.b);
	assert_true(send_one(&pair.a, B_QPN, 0, 20));
	assert_int_equal(atomic_load(&pair.b.self->wake), SHM_ASLEEP);
	host_local_flush(&pair.a);
	assert_int_equal(atomic_load(&pair.b.self->wake), SHM_KICKED);
	assert_true(send_one(&pair.a, B_QPN, 1, 20));
	host_local_flush(&pair.a);
	assert_int_equal(pair.a.counters.wakes_sent, 1);
}

/* A sender that found no room and sleeps is woken when the receiver has taken something. */
static void test_await_room(void **state)
{
	struct sink sink = {0};
	uint64_t number = 0;

	(void)state;
	open_a_to_b(&sink);
	while (send_one(&pair.a, B_QPN, number, 4000))
		number++;
	host_local_flush(&pair.b); /* it still has to tell that the ring is ready */
	host_local_announce(&pair.a);
	host_local_await_room(&pair.a);
	host_local_flush(&pair.b);
	assert_int_equal(atomic_load(&pair.a.self->wake), SHM_ASLEEP);
	receive(&pair.b, &sink, 3);
	host_local_flush(&pair.b);
	assert_int_equal(atomic_load(&pair.a.self->wake), SHM_KICKED);
	host_local_announce(&pair.a); /* it has room now: no reason to wake it again */
	receive(&pair.b, &sink, 3);
	host_local_flush(&pair.b);
	assert_int_equal(atomic_load(&pair.a.self->wake), SHM_ASLEEP);
}

static struct shm_foreign foreign_seen;
static uint32_t foreign_count;

static void foreign_take(void *ctx, const uint8_t *packet, size_t len)
{
	sink_take(ctx, packet, len);
	if (!pair.b.foreign)
		return;
	foreign_seen = *pair.b.foreign;
	foreign_count++;
}

/* A packet from elsewhere is handed on with what was around it, between others, and at any length
 * that a packet may have. */
static void test_handed_on(void **state)
{
	static const struct host_local_limit all = {EVERYTHING, EVERYTHING};
	static const size_t lens[] = {12, 56, 57, 1000, 4136};
	const struct shm_foreign from = {.sgid = {0x20, 1, [15] = 9},
					 .udp_sport = 0xc777,
					 .ip_id = 12,
					 .dont_fragment = 1,
					 .traffic_class = 0x69};
	static uint8_t packet[SHM_PACKET_BYTES_MAX];
	struct sink sink = {0};

	(void)state;
	open_a_to_b(&sink);
	for (uint64_t i = 0; i < 5; i++) {
		packet_fill(packet, 2 * i, lens[i]);
		assert_true(host_local_hand_on(&pair.a, B_QPN, &from, packet, lens[i]));
		assert_true(send_one(&pair.a, B_QPN, 2 * i + 1, lens[i]));
	}
	assert_int_equal(host_local_receive(&pair.b, &all, foreign_take, &sink), 10);
	assert_int_equal(sink.wrong, 0);
	assert_int_equal(foreign_count, 5);
	assert_memory_equal(&foreign_seen, &from, sizeof(from));
	assert_null(pair.b.foreign);
	assert_false(host_local_hand_on(&pair.a, B_QPN, &from, packet, SHM_PACKET_BYTES_MAX));
	assert_int_equal(pair.b.counters.rx_foreign, 5);
}

/* A member may send to itself. */
static void test_to_oneself(void **state)
{
	struct sink sink = {0};

	(void)state;
	assert_false(send_one(&pair.a, A_QPN, 0, 20));
	receive(&pair.a, &sink, 1);
	for (uint64_t i = 0; i < 3000; i++) {
		assert_true(send_one(&pair.a, A_QPN, i, 20 + i % 2000));
		assert_int_equal(receive(&pair.a, &sink, 9), 1);
	}
	assert_int_equal(sink.wrong, 0);
}

static struct nic_path path_seen;
static uint32_t path_count;

static void path_take(void *ctx, const uint8_t *packet, size_t len)
{
	const struct host_local *local = &pair.b;

	sink_take(ctx, packet, len);
	if (!local->path)
		return;
	path_seen = *local->path;
	path_count++;
}

static const struct nic_path datagram = {.dgid = {1},
					 .sgid = {1, [15] = 2},
					 .traffic_class = 0x48,
					 .hop_limit = 3,
					 .sl = 5,
					 .dlid = 7,
					 .slid = 8,
					 .flow_label = 0xabcde,
					 .datagram = true};

/* A datagram's receiver is shown its path, whatever its length; other packets have none. */
static void test_paths(void **state)
{
	static const struct host_local_limit all = {EVERYTHING, EVERYTHING};
	static const size_t lens[] = {20, 56, 57, 1000, 4140};
	struct nic_path plain = datagram;
	struct sink sink = {0};

	(void)state;
	plain.datagram = false;
	path_count = 0;
	open_a_to_b(&sink);
	for (uint64_t i = 0; i < 5; i++) {
		packet_fill(host_local_reserve(&pair.a, &datagram, B_QPN, lens[i]), 2 * i, lens[i]);
		host_local_commit(&pair.a);
		packet_fill(host_local_reserve(&pair.a, &plain, B_QPN, lens[i]), 2 * i + 1,
			    lens[i]);
		host_local_commit(&pair.a);
	}
	assert_int_equal(host_local_receive(&pair.b, &all, path_take, &sink), 10);
	assert_int_equal(sink.wrong, 0);
	assert_int_equal(path_count, 5);
	assert_memory_equal(path_seen.dgid, datagram.dgid, 16);
	assert_memory_equal(path_seen.sgid, datagram.sgid, 16);
	assert_int_equal(path_seen.traffic_class, 0x48);
	assert_int_equal(path_seen.hop_limit, 3);
	assert_int_equal(path_seen.sl, 5);
	assert_int_equal(path_seen.dlid, 7);
	assert_int_equal(path_seen.slid, 8);
	assert_int_equal(path_seen.flow_label, 0xabcde);
	assert_true(path_seen.datagram);
	assert_null(pair.b.path);
	/* To nobody, there is room all the same. */
	memset(host_local_reserve(&pair.a, &datagram, 0x333000, 4140), 0, 4140);
	host_local_commit(&pair.a);
	assert_int_equal(pair.a.counters.tx_drop_nobody, 1);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool send_group(uint64_t number, size_t len, uint64_t now_ns)
{
	uint8_t packet[SHM_PACKET_BYTES_MAX];

	if (!host_local_group_room(&pair.a, now_ns))
		return false;
	packet_fill(packet, number, len);
	host_local_group_send(&pair.a, &datagram, packet, len);
	return true;
}

/* Who listens gets a copy, the sender too; who does not, does not. */
static void test_group(void **state)
{
	struct sink at_a = {0}, at_b = {0};

	(void)state;
	assert_true(send_group(0, 100, 1));
	assert_int_equal(pair.a.counters.tx_group, 0);
	host_local_listen(&pair.b, true);
	assert_false(send_group(0, 100, 1)); /* the ring is not open yet */
	receive(&pair.b, &at_b, 1);
	assert_true(send_group(0, 100, 1));
	assert_int_equal(receive(&pair.b, &at_b, 9), 1);
	host_local_listen(&pair.a, true);
	assert_false(send_group(1, 4140, 1));
	receive(&pair.a, &at_a, 1);
	at_a.next = 1;
	assert_true(send_group(1, 4140, 1));
	assert_int_equal(receive(&pair.b, &at_b, 9), 1);
	assert_int_equal(receive(&pair.a, &at_a, 9), 1);
	host_local_listen(&pair.b, false);
	assert_true(send_group(2, 20, 1));
	assert_int_equal(receive(&pair.b, &at_b, 9), 0);
	assert_int_equal(receive(&pair.a, &at_a, 9), 1);
	assert_int_equal(at_a.wrong + at_b.wrong, 0);
	assert_int_equal(pair.a.counters.tx_drop_group, 0);
	/* A member that comes anew listens to nothing. */
	host_local_free(&pair.a);
	host_local_init(&pair.a, &pair.ra);
	assert_int_equal(atomic_load(&host_registry_port(&pair.ra)->listening[0]), 0);
}

/* Everybody waits for one who takes nothing; but not for longer than so long, and then only he
 * misses something. When he takes packets again, he gets them again. */
static void test_group_patience(void **state)
{
	struct sink at_a = {0}, at_b = {0};
	uint64_t now_ns = 1000000000, n = 0;

	(void)state;
	host_local_listen(&pair.a, true);
	host_local_listen(&pair.b, true);
	assert_false(send_group(0, 20, now_ns));
	receive(&pair.a, &at_a, 1);
	receive(&pair.b, &at_b, 1);
	for (;; n++) {
		if (!send_group(n, 20, now_ns))
			break;
		assert_int_equal(receive(&pair.a, &at_a, 9), 1);
	}
	assert_in_range(n, SHM_CELL_COUNT / 2, SHM_SLOT_COUNT);
	assert_false(send_group(n, 20, now_ns + HOST_GROUP_PATIENCE_NS));
	assert_true(send_group(n, 20, now_ns + HOST_GROUP_PATIENCE_NS + 1));
	assert_int_equal(receive(&pair.a, &at_a, 9), 1);
	assert_int_equal(receive(&pair.b, &at_b, EVERYTHING), n);
	assert_int_equal(at_a.wrong + at_b.wrong, 0);
	at_b.next = n + 1;
	assert_true(send_group(n + 1, 20, now_ns + HOST_GROUP_PATIENCE_NS + 2));
	assert_int_equal(receive(&pair.a, &at_a, 9), 1);
	assert_int_equal(receive(&pair.b, &at_b, 9), 1);
	assert_int_equal(at_a.wrong + at_b.wrong, 0);
	/* And he is waited for again. */
	now_ns += 10ull * HOST_GROUP_PATIENCE_NS;
	for (n = 0; send_group(n, 20, now_ns); n++)
		receive(&pair.a, &at_a, 9);
	assert_true(n > 100);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_laps),
	    TEST(test_full),
	    TEST(test_cancel_and_nobody),
	    TEST(test_limits),
	    TEST(test_untaken),
	    TEST(test_receiver_replaced),
	    TEST(test_sender_replaced),
	    TEST(test_hostile_slots),
	    TEST(test_hostile_head),
	    TEST(test_hostile_noise),
	    TEST(test_wake),
	    TEST(test_await_room),
	    TEST(test_handed_on),
	    TEST(test_to_oneself),
	    TEST(test_paths),
	    TEST(test_group),
	    TEST(test_group_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
