/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - the local wire: sending, receiving and waking through rings in shared memory. */
#include "host/local.h"

#include "base/assert.h"
#include "host/path.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum {
	SLOT_MASK = SHM_SLOT_COUNT - 1,
	PACKET_BYTES_MIN = 12,       /* a BTH */
	POPULATE_BYTES = 256 * 1024, /* of a pool at a time: about 0.2 ms */
	SHARE = 4,                   /* a peer may hold this many times as many cells as are free */
	NO_CELL = 0xffff,
};

/* Our end of the ring to one peer. */
struct local_tx {
	struct shm_ring *ring;
	uint32_t slot;
	uint32_t generation; /* of the peer we asked */
	bool asked;
	bool ready;
	bool dead;
	uint32_t tail;                  /* seq of the next slot to fill */
	uint32_t head;                  /* last known ring->head */
	uint32_t cell_count;            /* cells in slots from head to tail */
	uint16_t cells[SHM_SLOT_COUNT]; /* of each of those slots, or NO_CELL */
	uint64_t full_ns; /* since when a group's packets find no room; 0: they do */
	/* what commit will store */
	uint16_t next_cell;
	uint64_t word;
};

/*
 * Orders a store before a load of another word; both are atomic, and no plain data is ever handed
 * over by a fence alone (that is what the release of a slot's word is for). The thread sanitizer
 * does not see fences, which is what gcc warns of: it then reports races between plain accesses
 * that only a fence orders. There are none of those here, so that nothing is reported falsely, and
 * nothing hidden either. membarrier(2), the other half of the pair, orders the same atomics.
 */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static void full_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

static void bit_set(uint64_t *bitmap, uint32_t bit)
{
	bitmap[bit / 64] |= 1ull << bit % 64;
}

static void bit_set_shared(_Atomic uint64_t *bitmap, uint32_t bit)
{
	atomic_fetch_or(&bitmap[bit / 64], 1ull << bit % 64);
}

static void touch(struct host_local *local, uint32_t slot)
{
	bit_set(local->touched, slot);
	local->any_touched = true;
}

/* The whole ring at once: a fault costs as much as a thousand cached stores. */
static bool ring_populate(struct shm_ring *ring)
{
	return madvise(ring, sizeof(*ring), MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

void host_local_init(struct host_local *local, struct host_registry *registry)
{
	memset(local, 0, sizeof(*local));
	local->registry = registry;
	local->self = host_registry_member(registry, registry->slot);
	local->fences =
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0;
	atomic_store(&local->self->fences, local->fences);
	host_local_listen(local, false);
	local->pool.base = host_registry_pool(registry, registry->slot)->bytes;
	local->pool.free_count = SHM_CELL_COUNT;
	for (uint32_t i = 0; i < SHM_CELL_COUNT; i++)
		local->pool.free[i] = (uint16_t)i;
}

void host_local_free(struct host_local *local)
{
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++) {
		free(local->tx[i]);
		local->tx[i] = NULL;
	}
}

/* ---- sending -------------------------------------------------------------------------------- */

static struct local_tx *tx_of(struct host_local *local, uint32_t slot)
{
	struct local_tx *tx = local->tx[slot];

	if (tx)
		return tx;
	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return NULL;
	tx->slot = slot;
	tx->ring = host_registry_ring(local->registry, local->registry->slot, slot);
	local->tx[slot] = tx;
	return tx;
}

static void tx_start(struct local_tx *tx)
{
	uint32_t start = tx->ring->start_seq;

	tx->ready = ring_populate(tx->ring);
	tx->dead = !tx->ready;
	tx->tail = start;
	tx->head = start;
}

/* The first free cell, which was reserved before. */
static void cell_take(struct local_pool *pool, struct local_tx *tx)
{
	pool->free_count--;
	if (++pool->free_first == SHM_CELL_COUNT)
		pool->free_first = 0;
	tx->cell_count++;
}

static void cell_free(struct local_pool *pool, struct local_tx *tx, uint16_t cell)
{
	uint32_t at = pool->free_first + pool->free_count++;

	pool->free[at < SHM_CELL_COUNT ? at : at - SHM_CELL_COUNT] = cell;
	tx->cell_count--;
}

/* The slots up to head are the peer's no more. */
static void tx_retire(struct host_local *local, struct local_tx *tx, uint32_t head)
{
	for (; tx->head != head; tx->head++)
		if (tx->cells[tx->head & SLOT_MASK] != NO_CELL)
			cell_free(&local->pool, tx, tx->cells[tx->head & SLOT_MASK]);
}

/* The peer is not the one we knew, or has not answered yet. false: nobody to send to. */
static bool tx_open(struct host_local *local, struct local_tx *tx)
{
	struct shm_member *peer = host_registry_member(local->registry, tx->slot);
	uint32_t generation = atomic_load(&peer->generation);
	uint64_t pair = (uint64_t)local->registry->generation << 32 | generation;

	if (atomic_load(&peer->state) != SHM_LIVE)
		return false;
	if (!tx->asked || tx->generation != generation) {
		tx_retire(local, tx, tx->tail);
		tx->generation = generation;
		tx->asked = true;
		tx->ready = false;
		tx->dead = false;
		bit_set_shared(peer->asking, local->registry->slot);
		touch(local, tx->slot);
	}
	if (!tx->dead && !tx->ready && atomic_load(&tx->ring->ready) == pair)
		tx_start(tx);
	return !tx->dead;
}

/* What the receiver gave back since we last looked. A head that cannot be is ignored: only its ring
 * stays full. */
static void tx_refresh(struct host_local *local, struct local_tx *tx)
{
	uint32_t head = atomic_load_explicit(&tx->ring->head, memory_order_acquire);

	if (tx->ready && !tx->dead && tx->tail - head <= tx->tail - tx->head)
		tx_retire(local, tx, head);
}

/* Whether there is a cell for the peer, if `spare` others are taken first. */
static bool tx_may_have_cell(const struct host_local *local, const struct local_tx *tx,
			     uint32_t spare)
{
	uint32_t free_count = local->pool.free_count;

	return free_count > spare && tx->cell_count < SHARE * (free_count - spare);
}

/* Memory for the next piece of the pool, before its first use. */
static bool pool_populate(struct local_pool *pool, uint32_t end)
{
	while (pool->populated < end) {
		uint8_t *piece = pool->base + pool->populated;

		if (madvise(piece, POPULATE_BYTES, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
			return false;
		pool->populated += POPULATE_BYTES;
	}
	return true;
}

static void refresh_all(struct host_local *local)
{
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++)
		if (local->tx[i] && local->tx[i]->cell_count)
			tx_refresh(local, local->tx[i]);
}

static uint8_t *tx_cell(struct host_local *local, struct local_tx *tx)
{
	struct local_pool *pool = &local->pool;
	uint32_t off;

	if (!tx_may_have_cell(local, tx, 0)) {
		refresh_all(local);
		if (!tx_may_have_cell(local, tx, 0))
			return NULL;
	}
	tx->next_cell = pool->free[pool->free_first];
	off = (uint32_t)tx->next_cell * SHM_CELL_BYTES;
	if (off + SHM_CELL_BYTES > pool->populated && !pool_populate(pool, off + SHM_CELL_BYTES))
		return NULL;
	tx->ring->slots[tx->tail & SLOT_MASK].pool_off = off;
	return pool->base + off;
}

static uint8_t *tx_room(struct host_local *local, struct local_tx *tx, uint64_t kind, size_t len)
{
	if (tx->tail - tx->head == SHM_SLOT_COUNT) {
		tx_refresh(local, tx);
		if (tx->tail - tx->head == SHM_SLOT_COUNT)
			return NULL;
	}
	tx->word = kind << 48 | (uint64_t)len << 32 | tx->tail;
	if (kind != SHM_KIND_INLINE)
		return tx_cell(local, tx);
	tx->next_cell = NO_CELL;
	return tx->ring->slots[tx->tail & SLOT_MASK].packet;
}

static uint8_t *local_scratch(struct host_local *local, uint64_t *counter)
{
	++*counter;
	local->open_scratch = true;
	return local->scratch;
}

uint8_t *host_local_void(struct host_local *local)
{
	return local_scratch(local, &local->counters.tx_drop_nobody);
}

/* Whether the ring to the peer may be written to; NULL: there is nobody. */
static struct local_tx *tx_to(struct host_local *local, uint32_t slot)
{
	struct local_tx *tx = tx_of(local, slot);
	const struct shm_member *peer;

	if (!tx)
		return NULL;
	peer = host_registry_member(local->registry, slot);
	if (!tx->ready || tx->dead ||
	    tx->generation != atomic_load_explicit(&peer->generation, memory_order_relaxed)) {
		if (!tx_open(local, tx))
			return NULL;
	}
	return tx;
}

static void set_blocked(struct host_local *local, const struct local_tx *tx)
{
	bit_set(local->blocked, tx->slot);
	local->any_blocked = true;
	local->counters.tx_full++;
}

static uint8_t *reserve_tx(struct host_local *local, struct local_tx *tx, uint64_t kind, size_t len)
{
	uint8_t *room = tx->ready ? tx_room(local, tx, kind, len) : NULL;

	if (!room) {
		set_blocked(local, tx);
		return NULL;
	}
	local->open = tx;
	local->open_len = len;
	return room;
}

static uint8_t *reserve(struct host_local *local, uint32_t dqpn, uint64_t kind, size_t len)
{
	int owner = host_registry_owner(local->registry, dqpn);
	struct local_tx *tx;

	ASSERT(!local->open);
	ASSERT(!local->open_scratch);
	ASSERT(len <= SHM_PACKET_BYTES_MAX);
	if (owner < 0)
		return local_scratch(local, &local->counters.tx_drop_nobody);
	tx = tx_to(local, (uint32_t)owner);
	if (!tx)
		return local_scratch(local, &local->counters.tx_drop_dead);
	return reserve_tx(local, tx, kind, len);
}

/* What precedes a datagram, if it has room of its own; returns where the packet goes. */
static uint8_t *put_path(struct host_local *local, uint8_t *room, const struct nic_path *path)
{
	struct shm_path before = host_path_pack(path);

	if (!room || local->open_scratch)
		return room;
	memcpy(room, &before, sizeof(before));
	return room + sizeof(before);
}

uint8_t *host_local_reserve(struct host_local *local, const struct nic_path *path, uint32_t dqpn,
			    size_t len)
{
	if (path && path->datagram)
		return put_path(local, reserve(local, dqpn, SHM_KIND_PATH, len), path);
	return reserve(local, dqpn, len <= SHM_INLINE_BYTES ? SHM_KIND_INLINE : SHM_KIND_CELL, len);
}

bool host_local_hand_on(struct host_local *local, uint32_t dqpn, const struct shm_foreign *foreign,
			const uint8_t *packet, size_t len)
{
	uint8_t *room;

	if (len + sizeof(*foreign) > SHM_PACKET_BYTES_MAX)
		return false;
	room = reserve(local, dqpn, SHM_KIND_FOREIGN, len);
	if (!room)
		return false;
	if (!local->open_scratch) {
		memcpy(room, foreign, sizeof(*foreign));
		room += sizeof(*foreign);
	}
	memcpy(room, packet, len);
	host_local_commit(local);
	return true;
}

void host_local_commit(struct host_local *local)
{
	struct local_tx *tx = local->open;

	if (local->open_scratch) {
		local->open_scratch = false;
		return;
	}
	ASSERT(tx);
	local->open = NULL;
	tx->cells[tx->tail & SLOT_MASK] = tx->next_cell;
	if (tx->next_cell != NO_CELL)
		cell_take(&local->pool, tx);
	atomic_store_explicit(&tx->ring->slots[tx->tail & SLOT_MASK].word, tx->word,
			      memory_order_release);
	tx->tail++;
	touch(local, tx->slot);
	local->counters.tx_packets++;
	local->counters.tx_bytes += local->open_len;
}

void host_local_cancel(struct host_local *local)
{
	ASSERT(local->open || local->open_scratch);
	local->open = NULL;
	local->open_scratch = false;
}

/* ---- sending to groups ---------------------------------------------------------------------- */

void host_local_listen(struct host_local *local, bool listening)
{
	_Atomic uint64_t *word =
	    &host_registry_port(local->registry)->listening[local->registry->slot / 64];
	uint64_t bit = 1ull << local->registry->slot % 64;

	if (listening)
		atomic_fetch_or(word, bit);
	else
		atomic_fetch_and(word, ~bit);
}

/* Room for one more, with spare cells beside the one that it takes. */
static bool has_room(struct host_local *local, struct local_tx *tx, uint32_t spare)
{
	if (!tx->ready)
		return false;
	if (tx->tail - tx->head == SHM_SLOT_COUNT)
		tx_refresh(local, tx);
	if (!tx_may_have_cell(local, tx, spare))
		refresh_all(local);
	return tx->tail - tx->head != SHM_SLOT_COUNT && tx_may_have_cell(local, tx, spare);
}

/* false: this member has to be waited for. */
static bool add_listener(struct host_local *local, uint32_t slot, uint64_t now_ns)
{
	struct local_tx *tx = tx_to(local, slot);

	if (!tx)
		return true;
	if (has_room(local, tx, local->listener_count)) {
		tx->full_ns = 0;
		local->listeners[local->listener_count++] = (uint16_t)slot;
		return true;
	}
	set_blocked(local, tx);
	if (tx->full_ns == 0)
		tx->full_ns = now_ns;
	return now_ns - tx->full_ns > HOST_GROUP_PATIENCE_NS;
}

bool host_local_group_room(struct host_local *local, uint64_t now_ns)
{
	struct shm_port *port = host_registry_port(local->registry);
	bool room = true;

	local->listener_count = 0;
	for (uint32_t w = 0; w < SHM_WORD_COUNT; w++) {
		uint64_t bits = atomic_load_explicit(&port->listening[w], memory_order_relaxed);

		for (; bits; bits &= bits - 1)
			room &= add_listener(local, w * 64 + (uint32_t)__builtin_ctzll(bits),
					     now_ns);
	}
	return room;
}

void host_local_group_send(struct host_local *local, const struct nic_path *path,
			   const uint8_t *packet, size_t len)
{
	for (uint32_t i = 0; i < local->listener_count; i++) {
		struct local_tx *tx = tx_to(local, local->listeners[i]);
		uint8_t *room = tx ? reserve_tx(local, tx, SHM_KIND_PATH, len) : NULL;

		if (!room) {
			local->counters.tx_drop_group++;
			continue;
		}
		memcpy(put_path(local, room, path), packet, len);
		host_local_commit(local);
		local->counters.tx_group++;
	}
}

bool host_local_untaken(struct host_local *local, uint32_t dqpn)
{
	int owner = host_registry_owner(local->registry, dqpn);
	struct shm_member *peer;
	struct local_tx *tx;

	if (owner < 0 || !local->tx[owner])
		return false;
	tx = local->tx[owner];
	peer = host_registry_member(local->registry, tx->slot);
	if (!tx->asked || tx->dead || atomic_load(&peer->generation) != tx->generation)
		return false;
	if (tx->ready && atomic_load(&tx->ring->head) == tx->tail)
		return false;
	bit_set(local->suspects, tx->slot);
	local->any_suspects = true;
	return true;
}

bool host_local_suspects(struct host_local *local, uint64_t bitmap[static SHM_WORD_COUNT])
{
	bool any = local->any_suspects;

	memcpy(bitmap, local->suspects, sizeof(local->suspects));
	memset(local->suspects, 0, sizeof(local->suspects));
	atomic_store_explicit(&local->any_suspects, false, memory_order_relaxed);
	return any;
}

void host_local_bury(struct host_local *local, uint32_t slot, uint32_t generation)
{
	struct local_tx *tx = local->tx[slot];

	if (!tx || tx->generation != generation || tx->dead)
		return;
	tx->dead = true;
	tx_retire(local, tx, tx->tail);
	/* Its receiver is gone, so nobody but us looks at the ring. */
	madvise(tx->ring, sizeof(*tx->ring), MADV_REMOVE);
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void rx_forget(struct host_local *local, uint32_t slot)
{
	for (uint32_t i = 0; i < local->rx_count; i++) {
		if (local->rx_order[i] != slot)
			continue;
		local->rx_order[i] = local->rx_order[--local->rx_count];
		break;
	}
	local->rx[slot].attached = false;
	atomic_fetch_and(&local->self->reading[slot / 64], ~(1ull << slot % 64));
}

/* A member asks to send to us. It does not write to the ring before it sees ready. */
static void rx_attach(struct host_local *local, uint32_t slot)
{
	struct shm_member *peer = host_registry_member(local->registry, slot);
	uint32_t generation = atomic_load(&peer->generation);
	struct local_rx *rx = &local->rx[slot];
	struct shm_ring *ring = host_registry_ring(local->registry, slot, local->registry->slot);
	uint32_t start;

	if (atomic_load(&peer->state) != SHM_LIVE || (rx->attached && rx->generation == generation))
		return;
	if (!ring_populate(ring) || getrandom(&start, sizeof(start), 0) != sizeof(start))
		return;
	for (uint32_t i = 0; i < SHM_SLOT_COUNT; i++)
		atomic_store_explicit(&ring->slots[i].word, 0, memory_order_relaxed);
	ring->start_seq = start;
	atomic_store(&ring->head, start);
	if (!rx->attached)
		local->rx_order[local->rx_count++] = (uint16_t)slot;
	bit_set_shared(local->self->reading, slot);
	*rx = (struct local_rx){.ring = ring,
				.pool = host_registry_pool(local->registry, slot),
				.generation = generation,
				.head = start,
				.seen = start,
				.attached = true};
	atomic_store(&ring->ready, (uint64_t)generation << 32 | local->registry->generation);
	local->counters.rings_opened++;
	touch(local, slot);
}

static void rx_attach_asking(struct host_local *local)
{
	for (uint32_t w = 0; w < SHM_WORD_COUNT; w++) {
		uint64_t bits;

		if (!atomic_load_explicit(&local->self->asking[w], memory_order_relaxed))
			continue;
		bits = atomic_exchange(&local->self->asking[w], 0);
		for (; bits; bits &= bits - 1)
			rx_attach(local, w * 64 + (uint32_t)__builtin_ctzll(bits));
	}
}

/*
 * Brings the packet's lines over, all at once: the copy that follows would ask for them a few at a
 * time. The pages of a pool are mapped some at a time, too; the sender has given them memory.
 */
static void rx_fetch(struct local_rx *rx, uint32_t off, uint32_t len)
{
	for (uint32_t at = 0; at < len; at += SHM_LINE_BYTES)
		__builtin_prefetch(rx->pool->bytes + off + at);
	while (rx->populated < off + len) {
		madvise(rx->pool->bytes + rx->populated, POPULATE_BYTES, MADV_POPULATE_READ);
		rx->populated += POPULATE_BYTES;
	}
}

/* What may precede a packet. */
union rx_before {
	struct shm_foreign foreign;
	struct shm_path path;
};

/* Where the packet of the slot lies, or NULL if the slot makes no sense. */
static const uint8_t *rx_packet(struct local_rx *rx, uint32_t index, uint64_t word, uint32_t *len,
				union rx_before *info)
{
	const struct shm_slot *slot = &rx->ring->slots[index];
	uint32_t before = 0;
	uint32_t off;

	*len = word >> 32 & 0xffff;
	if (*len < PACKET_BYTES_MIN || *len > SHM_PACKET_BYTES_MAX)
		return NULL;
	switch (word >> 48) {
	case SHM_KIND_INLINE:
		return *len <= SHM_INLINE_BYTES ? slot->packet : NULL;
	case SHM_KIND_FOREIGN:
		before = sizeof(info->foreign);
		/* fallthrough */
	case SHM_KIND_PATH:
		before = before ? before : sizeof(info->path);
		/* fallthrough */
	case SHM_KIND_CELL:
		off = *(const volatile uint32_t *)&slot->pool_off;
		if (off > SHM_POOL_BYTES - *len - before)
			return NULL;
		rx_fetch(rx, off, before + *len);
		memcpy(info, rx->pool->bytes + off, before);
		return rx->pool->bytes + off + before;
	}
	return NULL;
}

struct rx_run {
	uint32_t packets;
	uint32_t bytes;
	const struct host_local_limit *limit;
	void (*take)(void *ctx, const uint8_t *packet, size_t len);
	void *ctx;
};

/* Gives the packet to whom it may concern, with what was before it. */
static void rx_take(struct host_local *local, const struct rx_run *run, uint64_t kind,
		    const union rx_before *before, const uint8_t *packet, uint32_t len)
{
	struct nic_path path;

	if (kind == SHM_KIND_FOREIGN) {
		local->foreign = &before->foreign;
		local->counters.rx_foreign++;
	} else if (kind == SHM_KIND_PATH) {
		path = host_path_unpack(&before->path);
		local->path = &path;
	}
	run->take(run->ctx, packet, len);
	local->foreign = NULL;
	local->path = NULL;
}

static void rx_drain(struct host_local *local, struct local_rx *rx, struct rx_run *run)
{
	while (run->packets < run->limit->packets && run->bytes < run->limit->bytes) {
		uint32_t index = rx->head & SLOT_MASK;
		uint64_t word =
		    atomic_load_explicit(&rx->ring->slots[index].word, memory_order_acquire);
		const uint8_t *packet;
		union rx_before before;
		uint32_t len;

		if ((uint32_t)word != rx->head || word >> 48 == SHM_KIND_NONE)
			return;
		run->packets++;
		rx->head++;
		packet = rx_packet(rx, index, word, &len, &before);
		if (!packet) {
			local->counters.rx_drop_malformed++;
			continue;
		}
		__builtin_prefetch(&rx->ring->slots[rx->head & SLOT_MASK]);
		run->bytes += len;
		local->counters.rx_packets++;
		local->counters.rx_bytes += len;
		if (word >> 48 <= SHM_KIND_CELL)
			run->take(run->ctx, packet, len);
		else
			rx_take(local, run, word >> 48, &before, packet, len);
	}
}

/* Gives the room back, and wakes a sender that sleeps for want of it. It set its bit before it
 * looked at head for the last time, with a membarrier between; so we may read the bit without a
 * fence. */
static void rx_publish(struct host_local *local, struct local_rx *rx, uint32_t slot)
{
	struct shm_member *peer = host_registry_member(local->registry, slot);
	_Atomic uint64_t *waiting = &local->self->waiting[slot / 64];
	uint64_t bit = 1ull << slot % 64;

	atomic_store_explicit(&rx->ring->head, rx->head, memory_order_release);
	rx->seen = rx->head;
	if (local->fences || atomic_load_explicit(&peer->fences, memory_order_relaxed))
		full_fence();
	if (atomic_load_explicit(waiting, memory_order_relaxed) & bit) {
		atomic_fetch_and(waiting, ~bit);
		touch(local, slot);
	}
}

uint32_t host_local_receive(struct host_local *local, const struct host_local_limit *limit,
			    void (*take)(void *ctx, const uint8_t *packet, size_t len), void *ctx)
{
	struct rx_run run = {.limit = limit, .take = take, .ctx = ctx};
	uint32_t count;

	rx_attach_asking(local);
	count = local->rx_count;
	if (local->rx_turn >= count)
		local->rx_turn = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = local->rx_turn + i;
		uint32_t slot = local->rx_order[at < count ? at : at - count];
		struct local_rx *rx = &local->rx[slot];

		rx_drain(local, rx, &run);
		if (rx->head != rx->seen)
			rx_publish(local, rx, slot);
	}
	if (run.packets)
		local->rx_turn++; /* so that a busy peer does not keep the others from the budget */
	local->rx_left = run.packets >= limit->packets || run.bytes >= limit->bytes;
	return run.packets;
}

void host_local_sweep(struct host_local *local)
{
	for (uint32_t i = local->rx_count; i-- > 0;) {
		uint32_t slot = local->rx_order[i];
		struct shm_member *peer = host_registry_member(local->registry, slot);

		if (atomic_load(&peer->generation) == local->rx[slot].generation)
			continue;
		rx_forget(local, slot);
	}
}

/* ---- waking --------------------------------------------------------------------------------- */

static void flush_word(struct host_local *local, uint32_t word)
{
	uint64_t bits = local->touched[word];

	local->touched[word] = 0;
	for (; bits; bits &= bits - 1) {
		uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);
		struct shm_member *peer = host_registry_member(local->registry, slot);

		if (local->fences || atomic_load_explicit(&peer->fences, memory_order_relaxed))
			full_fence();
		if (host_registry_wake(peer))
			local->counters.wakes_sent++;
	}
}

void host_local_flush(struct host_local *local)
{
	if (!local->any_touched)
		return;
	local->any_touched = false;
	atomic_signal_fence(memory_order_seq_cst);
	for (uint32_t w = 0; w < SHM_WORD_COUNT; w++)
		if (local->touched[w])
			flush_word(local, w);
}

/* The missing half of the senders' fence: see local.h. */
static void fence_everybody(struct host_local *local)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0)
		return;
	atomic_store(&local->self->fences, 1);
	full_fence();
}

void host_local_announce(struct host_local *local)
{
	atomic_store(&local->self->wake, SHM_ASLEEP);
	fence_everybody(local);
}

void host_local_await_room(struct host_local *local)
{
	if (!local->any_blocked)
		return;
	local->any_blocked = false;
	for (uint32_t w = 0; w < SHM_WORD_COUNT; w++) {
		uint64_t bits = local->blocked[w];

		local->blocked[w] = 0;
		for (; bits; bits &= bits - 1) {
			uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);

			bit_set_shared(host_registry_member(local->registry, slot)->waiting,
				       local->registry->slot);
		}
	}
	fence_everybody(local);
}
