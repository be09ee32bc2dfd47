/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h - one process's membership in a port: the mapped memfd, its slot, its number blocks.
 *
 * Liveness is a byte lock on the memfd per slot, which the kernel drops when the process ends. Such
 * a lock belongs to a table of descriptors and goes when any descriptor of the file in that table
 * is closed; so the port's own threads have a table of their own (host/threads.c), and every
 * function here marked [own table] must be called by one of them.
 *
 * Nothing outlives the members: when the last one is gone the kernel frees the file. A member that
 * died leaves its slot, its blocks and its rings' memory until somebody joins or the other end
 * notices.
 */
#ifndef HOST_REGISTRY_H
#define HOST_REGISTRY_H

#include "host/shm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_registry {
	int memfd; /* in the table of the port's threads; -1: none */
	void *map;
	uint32_t slot;
	uint32_t generation;
	bool claimed;
};

/* How long one may wait for others, who may be stopped. */
enum { HOST_PATIENCE_MS = 2000 };

static inline struct shm_port *host_registry_port(const struct host_registry *registry)
{
	return (struct shm_port *)registry->map;
}

static inline struct shm_member *host_registry_member(const struct host_registry *registry,
						      uint32_t slot)
{
	return (struct shm_member *)((char *)registry->map + SHM_MEMBERS_OFFSET) + slot;
}

static inline struct shm_ring *host_registry_ring(const struct host_registry *registry,
						  uint32_t src, uint32_t dst)
{
	return (struct shm_ring *)((char *)registry->map + SHM_RINGS_OFFSET) +
	       (src * SHM_MEMBER_MAX + dst);
}

static inline struct shm_pool *host_registry_pool(const struct host_registry *registry,
						  uint32_t src)
{
	return (struct shm_pool *)((char *)registry->map + SHM_POOLS_OFFSET) + src;
}

/* host_registry_found - a new, empty registry [own table]. 0 or -errno. address: below 64 bytes. */
int host_registry_found(struct host_registry *registry, const char *address,
			const uint8_t gid[static 16]);

/* host_registry_attach - the registry behind memfd, which host_registry_close closes [own table].
 * -EPROTO: it is not one, or of another version of this library. */
int host_registry_attach(struct host_registry *registry, int memfd);

/*
 * host_registry_claim - takes a slot, after taking back what dead members left [own table].
 * -EUSERS: 256 live members; -ETIMEDOUT: another one is stopped in the middle of joining.
 */
int host_registry_claim(struct host_registry *registry);

/* host_registry_release - gives the slot and its blocks back [own table]. */
void host_registry_release(struct host_registry *registry);

/*
 * host_registry_lock - takes the join lock, waiting for at most patience_ms [own table]. 0,
 * -ETIMEDOUT, or -errno. Not to be held when claim or release is called.
 */
int host_registry_lock(struct host_registry *registry, int patience_ms);
void host_registry_unlock(struct host_registry *registry);

/* host_registry_reclaim - under the join lock: takes back what dead members left; true if there was
 * one [own table]. */
bool host_registry_reclaim(struct host_registry *registry);

/* host_registry_forget_socket - under the join lock: the socket of slot is closed, or about to be:
 * the last one in the list takes its place, as in the kernel's. */
void host_registry_forget_socket(struct host_registry *registry, uint32_t slot);

/* host_registry_close - unmaps and closes the file [own table]. Not in a child of fork, which has
 * neither. */
void host_registry_close(struct host_registry *registry);

/* host_registry_alive - whether the member in slot lives [own table]. */
bool host_registry_alive(const struct host_registry *registry, uint32_t slot);

/* host_registry_block - one more block of numbers for this member: top 12 bits. -ENOSPC. Any
 * thread. */
int host_registry_block(struct host_registry *registry, uint32_t *block);

/* host_registry_wake - wakes the member's engine if it sleeps; true if it did. Any thread. */
bool host_registry_wake(struct shm_member *member);

/* host_registry_owner - slot of the owner of queue pair number qpn, or -1. Any thread. */
static inline int host_registry_owner(const struct host_registry *registry, uint32_t qpn)
{
	uint32_t block = qpn >> SHM_BLOCK_LOG2 & (SHM_BLOCK_COUNT - 1);
	uint32_t owner = atomic_load_explicit(&host_registry_port(registry)->owners[block],
					      memory_order_relaxed);

	return owner <= SHM_MEMBER_MAX ? (int)owner - 1 : -1;
}

#endif
