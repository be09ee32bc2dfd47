/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * local.h - the local wire: packets between the processes of one port, in shared memory.
 *
 * One ring for each ordered pair of members that talk, oneself included; one producer, one
 * consumer. A packet of up to 56 bytes travels in one cache line together with the word that
 * announces it; a larger one lies in a cell of the sender's pool and its slot says where. The
 * receiver reads in place. The pool is shared by all rings of a sender; a peer that takes nothing
 * holds at most a part of it.
 *
 * Opening: the sender asks (a bit in the receiver's member slot), the receiver prepares the ring
 * and answers with both generations in ring->ready. The receiver prepares, because it alone knows
 * that it is not reading there. Until then, and while the ring is full, the wire is "full" for that
 * peer.
 *
 * Sleeping: a sender reads the receiver's wake word after it has stored its packets, without a
 * fence between; the receiver, before it sleeps, stores the word, runs membarrier(2), which acts as
 * the missing fence on every processor, and looks once more [membarrier(2)
 * MEMBARRIER_CMD_GLOBAL_EXPEDITED]. Where that call is refused, `fences` in the member slot says
 * so, and senders do fence.
 *
 * Threads: one owner at a time (the port's lock), except where a function says otherwise.
 * Hostile members: a ring's contents are checked; a packet that makes no sense is dropped and
 * counted.
 */
#ifndef HOST_LOCAL_H
#define HOST_LOCAL_H

#include "host/registry.h"
#include "nic/nic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct local_tx;

/* The sender's cells. Free ones are used in the order they came back, so that all are used. */
struct local_pool {
	uint8_t *base;
	uint32_t populated; /* bytes from base on that have memory */
	uint32_t free_count;
	uint32_t free_first; /* in free[], a ring */
	uint16_t free[SHM_CELL_COUNT];
};

struct local_rx {
	struct shm_ring *ring;
	uint32_t generation; /* of the sender that asked */
	uint32_t head;       /* seq of the next slot to take */
	uint32_t seen;       /* what ring->head says */
	bool attached;
	struct shm_pool *pool;
	uint32_t populated; /* bytes of the pool that we have mapped */
};

#define HOST_LOCAL_COUNTERS(X)                                                             \
	X(tx_packets)                                                                      \
	X(tx_bytes) X(tx_drop_nobody) X(tx_drop_dead) X(tx_full) X(rx_packets) X(rx_bytes) \
	    X(rx_drop_malformed) X(rx_foreign) X(wakes_sent) X(rings_opened) X(tx_group)   \
		X(tx_drop_group)

struct host_local_counters {
#define X(name) uint64_t name;
	HOST_LOCAL_COUNTERS(X)
#undef X
};

struct host_local {
	struct host_registry *registry;
	struct shm_member *self;
	bool fences; /* we cannot register for membarrier: fence for everybody */
	/* receiving */
	uint32_t rx_count;
	uint32_t rx_turn;                  /* where in rx_order the next pass starts */
	bool rx_left; /* the last pass took all that it may: there may be more */
	uint16_t rx_order[SHM_MEMBER_MAX]; /* slots of attached rings */
	struct local_rx rx[SHM_MEMBER_MAX];
	/* sending */
	struct local_tx *tx[SHM_MEMBER_MAX];
	struct local_pool pool;
	struct local_tx *open; /* the reservation; NULL: none, or scratch */
	size_t open_len;
	bool open_scratch;
	uint64_t touched[SHM_WORD_COUNT];  /* peers that may have to be woken */
	uint64_t blocked[SHM_WORD_COUNT];  /* peers that had no room */
	uint64_t suspects[SHM_WORD_COUNT]; /* peers whose life is in doubt */
	bool any_touched;
	bool any_blocked;
	_Atomic bool any_suspects; /* may be read without the lock */
	/* While take has a packet that another member handed on: what was around it. Else NULL. */
	const struct shm_foreign *foreign;
	/* Likewise, of a datagram: the path that its sender sent it along. */
	const struct nic_path *path;
	uint32_t listener_count; /* that the last host_local_group_room found with room */
	uint16_t listeners[SHM_MEMBER_MAX];
	struct host_local_counters counters;
	uint8_t scratch[SHM_PACKET_BYTES_MAX];
};

/* host_local_init - the wire of this claimed member. *registry stays the caller's and must outlive
 * it. */
void host_local_init(struct host_local *local, struct host_registry *registry);
/* host_local_free - frees what init and the peers took. Rings stay; the registry frees them. */
void host_local_free(struct host_local *local);

/*
 * host_local_reserve - room for len bytes (of a packet) to the owner of dqpn, 8-byte aligned; as
 * nic_env.tx_reserve. NULL: full. host_local_commit makes them visible, cancel forgets. path: of
 * a datagram, for its receiver to see; may be NULL.
 */
uint8_t *host_local_reserve(struct host_local *local, const struct nic_path *path, uint32_t dqpn,
			    size_t len);
void host_local_commit(struct host_local *local);
void host_local_cancel(struct host_local *local);
/* host_local_hand_on - sends a packet that came from elsewhere to the owner of dqpn. false: not
 * now, or the packet is too long. */
bool host_local_hand_on(struct host_local *local, uint32_t dqpn, const struct shm_foreign *foreign,
			const uint8_t *packet, size_t len);

/*
 * Multicast: a packet goes to every member that listens, oneself too.
 * host_local_listen - whether this member does.
 * host_local_group_room - whether all that listen have room for a packet now; who has had none for
 * HOST_GROUP_PATIENCE_NS is passed over. host_local_group_send - sends it to those.
 */
#define HOST_GROUP_PATIENCE_NS 400000000u
void host_local_listen(struct host_local *local, bool listening);
bool host_local_group_room(struct host_local *local, uint64_t now_ns);
void host_local_group_send(struct host_local *local, const struct nic_path *path,
			   const uint8_t *packet, size_t len);

/* host_local_void - room for a packet that nobody will get, because no wire leads to its peer. */
uint8_t *host_local_void(struct host_local *local);

/* host_local_untaken - as nic_env.tx_untaken. The peer becomes a suspect: see host_local_bury. */
bool host_local_untaken(struct host_local *local, uint32_t dqpn);

struct host_local_limit {
	uint32_t packets;
	uint32_t bytes;
};

/*
 * host_local_receive - hands at most limit->packets packets (of about limit->bytes) to take, which
 * must be done with the bytes when it returns. They may change while it reads them: copy once, then
 * check. Returns the number of packets. Gives the room back to the senders.
 */
uint32_t host_local_receive(struct host_local *local, const struct host_local_limit *limit,
			    void (*take)(void *ctx, const uint8_t *packet, size_t len), void *ctx);

/* host_local_flush - wakes the sleeping peers that were sent to or given room. Ends each pass. */
void host_local_flush(struct host_local *local);

/* host_local_sweep - forgets the rings of members that are gone. Now and then. */
void host_local_sweep(struct host_local *local);

/* host_local_suspects - takes the bitmap of suspects. host_local_bury - member slot of that
 * generation is dead: what is sent to it is dropped from now on. */
bool host_local_suspects(struct host_local *local, uint64_t bitmap[static SHM_WORD_COUNT]);
void host_local_bury(struct host_local *local, uint32_t slot, uint32_t generation);

/*
 * Before sleeping, in this order, and then one more pass, and then sleep on self->wake:
 * host_local_announce - from here on senders wake us. Any thread.
 * host_local_await_room - so do the peers that had no room for our packets. [lock]
 */
void host_local_announce(struct host_local *local);
void host_local_await_room(struct host_local *local);

#endif
