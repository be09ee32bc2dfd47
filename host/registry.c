/* SPDX-License-Identifier: BSD-2-Clause */
/* registry.c - founding, attaching to and leaving a port's shared memory. */
#include "host/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Blocks 0 and 4095 hold the numbers 0, 1 and 0xffffff, which belong to no process. */
enum { BLOCK_FIRST = 1, BLOCK_LAST = SHM_BLOCK_COUNT - 2, BLOCK_HIGH = 16 };

static uint32_t random_u32(void)
{
	uint32_t value = 0;

	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		value = (uint32_t)getpid() * 2654435761u;
	return value;
}

/* Byte lock [fcntl(2)]. 0, or -EAGAIN if another process has it, or -errno. */
static int byte_lock(int memfd, off_t byte, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	if (fcntl(memfd, F_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int host_registry_lock(struct host_registry *registry, int patience_ms)
{
	const struct timespec step = {.tv_nsec = 1000000};
	int result = byte_lock(registry->memfd, SHM_LOCK_JOIN, F_WRLCK);

	for (int ms = 0; ms < patience_ms && result == -EAGAIN; ms++) {
		nanosleep(&step, NULL);
		result = byte_lock(registry->memfd, SHM_LOCK_JOIN, F_WRLCK);
	}
	return result == -EAGAIN ? -ETIMEDOUT : result;
}

void host_registry_unlock(struct host_registry *registry)
{
	(void)byte_lock(registry->memfd, SHM_LOCK_JOIN, F_UNLCK);
}

static int registry_map(struct host_registry *registry)
{
	void *map = mmap(NULL, SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			 registry->memfd, 0);

	if (map == MAP_FAILED)
		return -errno;
	/* A child has no part in the port, and a core dump no use for it. */
	madvise(map, SHM_BYTES, MADV_DONTFORK);
	madvise(map, SHM_BYTES, MADV_DONTDUMP);
	registry->map = map;
	return 0;
}

static int registry_create(void)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int memfd = memfd_create("rig5-port", flags | MFD_NOEXEC_SEAL);

	if (memfd < 0 && errno == EINVAL) /* Linux before 6.3 */
		memfd = memfd_create("rig5-port", flags);
	if (memfd < 0)
		return -errno;
	if (ftruncate(memfd, (off_t)SHM_BYTES) != 0 || fcntl(memfd, F_ADD_SEALS, SEALS) != 0) {
		int error = errno;

		close(memfd);
		return -error;
	}
	return memfd;
}

int host_registry_found(struct host_registry *registry, const char *address,
			const uint8_t gid[static 16])
{
	struct shm_port *port;
	int result;

	*registry = (struct host_registry){.memfd = registry_create()};
	if (registry->memfd < 0)
		return registry->memfd;
	result = registry_map(registry);
	if (result < 0) {
		close(registry->memfd);
		registry->memfd = -1;
		return result;
	}
	port = host_registry_port(registry);
	port->magic = SHM_MAGIC;
	port->version = SHM_VERSION;
	port->uid = geteuid();
	memcpy(port->gid, gid, 16);
	strncpy(port->address, address, sizeof(port->address) - 1);
	/* A random start, so that those of a port before do not return. Low ones come last: numbers
	 * over 65,535 are the rule. */
	atomic_store(&port->block_next, BLOCK_HIGH + random_u32() % (BLOCK_LAST / 2));
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++)
		atomic_store(&host_registry_member(registry, i)->generation, random_u32());
	return 0;
}

int host_registry_attach(struct host_registry *registry, int memfd)
{
	struct shm_port *port;
	struct stat stat;
	int seals = fcntl(memfd, F_GET_SEALS);
	int result;

	*registry = (struct host_registry){.memfd = memfd};
	/* Sealed, it cannot shrink under us. */
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(memfd, &stat) != 0 ||
	    (uint64_t)stat.st_size != SHM_BYTES)
		return -EPROTO;
	result = registry_map(registry);
	if (result < 0)
		return result;
	port = host_registry_port(registry);
	if (port->magic == SHM_MAGIC && port->version == SHM_VERSION &&
	    memchr(port->address, 0, sizeof(port->address)))
		return 0;
	munmap(registry->map, SHM_BYTES);
	registry->map = NULL;
	return -EPROTO;
}

bool host_registry_alive(const struct host_registry *registry, uint32_t slot)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = SHM_LOCK_MEMBER(slot),
			     .l_len = 1};

	if (registry->claimed && slot == registry->slot)
		return true;
	return fcntl(registry->memfd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void host_registry_forget_socket(struct host_registry *registry, uint32_t slot)
{
	struct shm_group *group = &host_registry_port(registry)->group;
	uint32_t count = atomic_load(&group->count);

	for (uint32_t i = 0; i < count && count <= SHM_MEMBER_MAX; i++) {
		if (atomic_load(&group->slots[i]) != slot)
			continue;
		atomic_store(&group->slots[i], atomic_load(&group->slots[count - 1]));
		atomic_store(&group->count, count - 1);
		return;
	}
}

/* A new generation tells everybody that what they knew of this slot is over. */
static void slot_free(struct host_registry *registry, uint32_t slot)
{
	struct shm_port *port = host_registry_port(registry);
	struct shm_member *member = host_registry_member(registry, slot);

	for (uint32_t i = 0; i < SHM_BLOCK_COUNT; i++) {
		uint16_t owner = (uint16_t)(slot + 1);

		atomic_compare_exchange_strong(&port->owners[i], &owner, 0);
	}
	host_registry_forget_socket(registry, slot);
	atomic_store(&member->state, SHM_FREE);
	atomic_fetch_add(&member->generation, 1);
}

bool host_registry_wake(struct shm_member *member)
{
	uint32_t asleep = SHM_ASLEEP;

	if (atomic_load_explicit(&member->wake, memory_order_relaxed) != SHM_ASLEEP ||
	    !atomic_compare_exchange_strong(&member->wake, &asleep, SHM_KICKED))
		return false;
	syscall(SYS_futex, &member->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
	return true;
}

/* Whether a live member may still be reading what the slot's last member sent. */
static bool slot_is_read(const struct host_registry *registry, uint32_t slot)
{
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++) {
		struct shm_member *member = host_registry_member(registry, i);

		if (atomic_load(&member->state) == SHM_LIVE &&
		    (atomic_load(&member->reading[slot / 64]) & 1ull << slot % 64))
			return true;
	}
	return false;
}

/* Under the join lock, of a free slot that nobody reads: gives its pool and its rings' memory back,
 * except rings that a live member writes (it gives them back itself). */
static void slot_punch(struct host_registry *registry, uint32_t slot)
{
	struct shm_member *member = host_registry_member(registry, slot);

	if (!member->dirty || slot_is_read(registry, slot))
		return;
	member->dirty = 0;
	madvise(host_registry_pool(registry, slot), SHM_POOL_BYTES, MADV_REMOVE);
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++) {
		madvise(host_registry_ring(registry, slot, i), SHM_RING_BYTES, MADV_REMOVE);
		if (atomic_load(&host_registry_member(registry, i)->state) == SHM_FREE)
			madvise(host_registry_ring(registry, i, slot), SHM_RING_BYTES, MADV_REMOVE);
	}
}

/* So that they notice, and stop reading. */
static void wake_everybody(struct host_registry *registry)
{
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++)
		if (atomic_load(&host_registry_member(registry, i)->state) == SHM_LIVE)
			(void)host_registry_wake(host_registry_member(registry, i));
}

/* Under the join lock: a slot that says live and whose lock nobody holds is a dead member's. */
bool host_registry_reclaim(struct host_registry *registry)
{
	bool any = false;

	for (uint32_t slot = 0; slot < SHM_MEMBER_MAX; slot++) {
		if (atomic_load(&host_registry_member(registry, slot)->state) == SHM_FREE ||
		    host_registry_alive(registry, slot))
			continue;
		slot_free(registry, slot);
		any = true;
	}
	if (any)
		wake_everybody(registry);
	for (uint32_t slot = 0; slot < SHM_MEMBER_MAX; slot++)
		if (atomic_load(&host_registry_member(registry, slot)->state) == SHM_FREE)
			slot_punch(registry, slot);
	return any;
}

static int slot_claim(struct host_registry *registry, uint32_t slot)
{
	struct shm_member *member = host_registry_member(registry, slot);

	if (atomic_load(&member->state) != SHM_FREE || slot_is_read(registry, slot) ||
	    byte_lock(registry->memfd, SHM_LOCK_MEMBER(slot), F_WRLCK) != 0)
		return -EBUSY;
	registry->slot = slot;
	registry->claimed = true;
	for (uint32_t i = 0; i < SHM_WORD_COUNT; i++) {
		atomic_store(&member->asking[i], 0);
		atomic_store(&member->waiting[i], 0);
		atomic_store(&member->reading[i], 0);
	}
	member->pid = (uint32_t)getpid();
	member->dirty = 1;
	atomic_store(&member->wake, SHM_KICKED);
	registry->generation = atomic_fetch_add(&member->generation, 1) + 1;
	atomic_store(&member->state, SHM_LIVE);
	return 0;
}

int host_registry_claim(struct host_registry *registry)
{
	int result = host_registry_lock(registry, HOST_PATIENCE_MS);

	if (result < 0)
		return result;
	(void)host_registry_reclaim(registry);
	result = -EUSERS;
	for (uint32_t slot = 0; slot < SHM_MEMBER_MAX && result < 0; slot++)
		if (slot_claim(registry, slot) == 0)
			result = 0;
	host_registry_unlock(registry);
	return result;
}

void host_registry_release(struct host_registry *registry)
{
	int locked;

	if (!registry->claimed)
		return;
	/* If the lock cannot be had the next one to join takes the slot back, as a dead one's. */
	locked = host_registry_lock(registry, HOST_PATIENCE_MS);
	if (locked == 0)
		slot_free(registry, registry->slot);
	registry->claimed = false;
	(void)byte_lock(registry->memfd, SHM_LOCK_MEMBER(registry->slot), F_UNLCK);
	if (locked == 0) {
		slot_punch(registry, registry->slot);
		wake_everybody(registry);
		host_registry_unlock(registry);
	}
}

void host_registry_close(struct host_registry *registry)
{
	if (registry->map)
		munmap(registry->map, SHM_BYTES);
	if (registry->memfd >= 0)
		close(registry->memfd);
	*registry = (struct host_registry){.memfd = -1};
}

int host_registry_block(struct host_registry *registry, uint32_t *block)
{
	struct shm_port *port = host_registry_port(registry);
	uint32_t start = atomic_fetch_add(&port->block_next, 1);

	for (uint32_t i = 0; i < BLOCK_LAST; i++) {
		uint32_t at = BLOCK_FIRST + (start + i) % BLOCK_LAST;
		uint16_t nobody = 0;

		if (!atomic_compare_exchange_strong(&port->owners[at], &nobody,
						    (uint16_t)(registry->slot + 1)))
			continue;
		if (i > 0)
			atomic_store(&port->block_next, start + i + 1);
		*block = at;
		return 0;
	}
	return -ENOSPC;
}
