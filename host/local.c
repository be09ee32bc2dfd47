/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - the local wire: sending, receiving and waking through rings in shared memory. */
#include "host/local.h"

#include "base/assert.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { SLOT_MASK = SHM_SLOT_COUNT - 1, PACKET_BYTES_MIN = 12 /* a BTH */ };

/* Our end of the ring to one peer. */
struct local_tx {
	struct shm_ring *ring;
	uint32_t slot;
	uint32_t generation; /* of the peer we asked */
	bool asked;
	bool ready;
	bool dead;
	uint32_t tail; /* seq of the next slot to fill */
	uint32_t head; /* last known ring->head */
	uint32_t data_off;  /* where the next large packet goes */
	uint64_t data_tail; /* bytes of the data area ever given out, gaps included */
	uint64_t data_head; /* of those, given back */
	uint64_t data_end[SHM_SLOT_COUNT]; /* data_tail after each slot */
	/* what commit will store */
	uint32_t next_off;
	uint64_t next_tail;
	uint64_t word;
};

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
	local->fences = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0;
	atomic_store(&local->self->fences, local->fences);
}

void host_local_free(struct host_local *local)
{
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++) {
		free(local->tx[i]);
		local->tx[i] = NULL;
	}
}

/* ---- sending ------------------------------------------------------------------------------------ */

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
	tx->data_off = 0;
	tx->data_tail = 0;
	tx->data_head = 0;
	/* data_head comes from here when the first slot is given back. */
	tx->data_end[(start - 1) & SLOT_MASK] = 0;
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
static void tx_refresh(struct local_tx *tx)
{
	uint32_t head = atomic_load_explicit(&tx->ring->head, memory_order_acquire);

	if (tx->tail - head > tx->tail - tx->head)
		return;
	tx->head = head;
	tx->data_head = tx->data_end[(head - 1) & SLOT_MASK];
}

/* A contiguous place for len bytes in the data area: at data_off, or at 0 past a gap. */
static uint8_t *tx_data(struct local_tx *tx, uint32_t len)
{
	uint32_t size = (len + SHM_LINE_BYTES - 1) & ~(uint32_t)(SHM_LINE_BYTES - 1);
	uint32_t off = tx->data_off;
	uint32_t gap = 0;

	if (off + size > SHM_DATA_BYTES) {
		gap = SHM_DATA_BYTES - off;
		off = 0;
	}
	if (tx->data_tail + gap + size - tx->data_head > SHM_DATA_BYTES) {
		tx_refresh(tx);
		if (tx->data_tail + gap + size - tx->data_head > SHM_DATA_BYTES)
			return NULL;
	}
	tx->next_off = off + size;
	tx->next_tail = tx->data_tail + gap + size;
	tx->ring->slots[tx->tail & SLOT_MASK].data_off = off;
	return tx->ring->data + off;
}

static uint8_t *tx_room(struct local_tx *tx, size_t len)
{
	uint64_t kind = len <= SHM_INLINE_BYTES ? SHM_KIND_INLINE : SHM_KIND_DATA;

	if (tx->tail - tx->head == SHM_SLOT_COUNT) {
		tx_refresh(tx);
		if (tx->tail - tx->head == SHM_SLOT_COUNT)
			return NULL;
	}
	tx->word = kind << 48 | (uint64_t)len << 32 | tx->tail;
	if (kind == SHM_KIND_DATA)
		return tx_data(tx, (uint32_t)len);
	tx->next_off = tx->data_off;
	tx->next_tail = tx->data_tail;
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

uint8_t *host_local_reserve(struct host_local *local, uint32_t dqpn, size_t len)
{
	int owner = host_registry_owner(local->registry, dqpn);
	struct shm_member *peer;
	struct local_tx *tx;
	uint8_t *room = NULL;

	ASSERT(!local->open);
	ASSERT(!local->open_scratch);
	ASSERT(len <= SHM_PACKET_BYTES_MAX);
	tx = owner < 0 ? NULL : tx_of(local, (uint32_t)owner);
	if (!tx)
		return local_scratch(local, &local->counters.tx_drop_nobody);
	peer = host_registry_member(local->registry, tx->slot);
	if (!tx->ready || tx->dead ||
	    tx->generation != atomic_load_explicit(&peer->generation, memory_order_relaxed)) {
		if (!tx_open(local, tx))
			return local_scratch(local, &local->counters.tx_drop_dead);
	}
	if (tx->ready)
		room = tx_room(tx, len);
	if (!room) {
		bit_set(local->blocked, tx->slot);
		local->any_blocked = true;
		local->counters.tx_full++;
		return NULL;
	}
	local->open = tx;
	local->open_len = len;
	return room;
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
	tx->data_off = tx->next_off;
	tx->data_tail = tx->next_tail;
	tx->data_end[tx->tail & SLOT_MASK] = tx->next_tail;
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
	/* Its receiver is gone, so nobody but us looks at the ring. */
	madvise(tx->ring, sizeof(*tx->ring), MADV_REMOVE);
}

/* ---- receiving ---------------------------------------------------------------------------------- */

static void rx_forget(struct host_local *local, uint32_t slot)
{
	for (uint32_t i = 0; i < local->rx_count; i++) {
		if (local->rx_order[i] != slot)
			continue;
		local->rx_order[i] = local->rx_order[--local->rx_count];
		break;
	}
	local->rx[slot].attached = false;
}

/* A member asks to send to us. It does not write to the ring before it sees ready. */
static void rx_attach(struct host_local *local, uint32_t slot)
{
	struct shm_member *peer = host_registry_member(local->registry, slot);
	uint32_t generation = atomic_load(&peer->generation);
	struct local_rx *rx = &local->rx[slot];
	struct shm_ring *ring = host_registry_ring(local->registry, slot, local->registry->slot);
	uint32_t start;

	if (atomic_load(&peer->state) != SHM_LIVE ||
	    (rx->attached && rx->generation == generation))
		return;
	if (!ring_populate(ring) || getrandom(&start, sizeof(start), 0) != sizeof(start))
		return;
	for (uint32_t i = 0; i < SHM_SLOT_COUNT; i++)
		atomic_store_explicit(&ring->slots[i].word, 0, memory_order_relaxed);
	ring->start_seq = start;
	atomic_store(&ring->head, start);
	if (!rx->attached)
		local->rx_order[local->rx_count++] = (uint16_t)slot;
	*rx = (struct local_rx){.ring = ring,
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

/* Where the packet of the slot lies, or NULL if the slot makes no sense. */
static const uint8_t *rx_packet(const struct shm_ring *ring, uint32_t index, uint64_t word,
				uint32_t *len)
{
	const struct shm_slot *slot = &ring->slots[index];
	uint32_t off;

	*len = word >> 32 & 0xffff;
	if (*len < PACKET_BYTES_MIN || *len > SHM_PACKET_BYTES_MAX)
		return NULL;
	switch (word >> 48) {
	case SHM_KIND_INLINE:
		return *len <= SHM_INLINE_BYTES ? slot->packet : NULL;
	case SHM_KIND_DATA:
		off = *(const volatile uint32_t *)&slot->data_off;
		return off <= SHM_DATA_BYTES - *len ? ring->data + off : NULL;
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

static void rx_drain(struct host_local *local, struct local_rx *rx, struct rx_run *run)
{
	while (run->packets < run->limit->packets && run->bytes < run->limit->bytes) {
		uint32_t index = rx->head & SLOT_MASK;
		uint64_t word = atomic_load_explicit(&rx->ring->slots[index].word,
						     memory_order_acquire);
		const uint8_t *packet;
		uint32_t len;

		if ((uint32_t)word != rx->head || word >> 48 == SHM_KIND_NONE)
			return;
		run->packets++;
		rx->head++;
		packet = rx_packet(rx->ring, index, word, &len);
		if (!packet) {
			local->counters.rx_drop_malformed++;
			continue;
		}
		__builtin_prefetch(&rx->ring->slots[rx->head & SLOT_MASK]);
		run->bytes += len;
		local->counters.rx_packets++;
		local->counters.rx_bytes += len;
		run->take(run->ctx, packet, len);
	}
}

/* Gives the room back, and wakes a sender that sleeps for want of it. It set its bit before it looked
 * at head for the last time, with a membarrier between; so we may read the bit without a fence. */
static void rx_publish(struct host_local *local, struct local_rx *rx, uint32_t slot)
{
	struct shm_member *peer = host_registry_member(local->registry, slot);
	_Atomic uint64_t *waiting = &local->self->waiting[slot / 64];
	uint64_t bit = 1ull << slot % 64;

	atomic_store_explicit(&rx->ring->head, rx->head, memory_order_release);
	rx->seen = rx->head;
	if (local->fences || atomic_load_explicit(&peer->fences, memory_order_relaxed))
		atomic_thread_fence(memory_order_seq_cst);
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
		/* Its sender is gone; a newer one writes only after we have prepared the ring again. */
		madvise(local->rx[slot].ring, SHM_RING_BYTES, MADV_REMOVE);
	}
}

/* ---- waking ------------------------------------------------------------------------------------- */

bool host_local_wake(struct shm_member *member)
{
	uint32_t asleep = SHM_ASLEEP;

	if (atomic_load_explicit(&member->wake, memory_order_relaxed) != SHM_ASLEEP ||
	    !atomic_compare_exchange_strong(&member->wake, &asleep, SHM_KICKED))
		return false;
	syscall(SYS_futex, &member->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
	return true;
}

static void flush_word(struct host_local *local, uint32_t word)
{
	uint64_t bits = local->touched[word];

	local->touched[word] = 0;
	for (; bits; bits &= bits - 1) {
		uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);
		struct shm_member *peer = host_registry_member(local->registry, slot);

		if (local->fences || atomic_load_explicit(&peer->fences, memory_order_relaxed))
			atomic_thread_fence(memory_order_seq_cst);
		if (host_local_wake(peer))
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
	atomic_thread_fence(memory_order_seq_cst);
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
