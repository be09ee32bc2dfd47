/* SPDX-License-Identifier: BSD-2-Clause */
/* group.c - the group of receive sockets, its list and its program. */
#include "host/group.h"

#include "abi/roce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

enum {
	NO_INDEX = 0xffff,
	HEAD_COUNT = 2, /* instructions before the first decision */
	/* n runs take 3 n - 2. */
	RUNS_MAX = (HOST_GROUP_PROGRAM_MAX - HEAD_COUNT + 2) / 3,
	MISPLACED_MIN = 64, /* datagrams in a row that show that the list is wrong */
};

/* ---- the program ----------------------------------------------------------------------------- */

/* Blocks from first on, up to the next run's, go to index. */
struct run {
	uint16_t first;
	uint16_t index;
};

struct runs {
	uint32_t count;
	struct run runs[RUNS_MAX];
};

static void runs_collect(struct runs *runs, struct host_group_program *program,
			 const uint16_t *owners, const uint16_t index_of[static SHM_MEMBER_MAX])
{
	runs->count = 0;
	for (uint32_t block = 0; block < SHM_BLOCK_COUNT; block++) {
		uint16_t owner = owners[block];
		uint16_t index;

		if (owner == 0 || owner > SHM_MEMBER_MAX || index_of[owner - 1] == NO_INDEX)
			continue;
		index = index_of[owner - 1];
		if (runs->count == 0 || runs->runs[runs->count - 1].index != index) {
			if (runs->count == RUNS_MAX)
				return;
			runs->runs[runs->count++] = (struct run){(uint16_t)block, index};
		}
		program->mapped[block / 64] |= 1ull << block % 64;
	}
}

static void emit(struct host_group_program *program, uint16_t code, uint8_t jt, uint8_t jf,
		 uint32_t k)
{
	program->filter[program->count++] = (struct sock_filter){code, jt, jf, k};
}

/*
 * Decides among runs[0 .. count), by halving. A conditional jump reaches 255 instructions, an
 * unconditional one any: so it is "if (block >= middle) goto upper; lower half; upper half".
 * The halves that are still to come wait on a stack; there are at most log2 of them.
 */
static void emit_runs(struct host_group_program *program, const struct run *runs, uint32_t count)
{
	struct {
		uint32_t from, to, jump; /* the jump that leads there; 0: none */
	} stack[16] = {{0, count, 0}};

	for (uint32_t depth = 1; depth > 0;) {
		uint32_t from = stack[--depth].from;
		uint32_t to = stack[depth].to;
		uint32_t jump = stack[depth].jump;
		uint32_t middle = from + (to - from) / 2;

		if (jump)
			program->filter[jump].k = program->count - jump - 1;
		if (to - from == 1) {
			emit(program, BPF_RET | BPF_K, 0, 0, runs[from].index);
			continue;
		}
		emit(program, BPF_JMP | BPF_JGE | BPF_K, 0, 1, runs[middle].first);
		emit(program, BPF_JMP | BPF_JA, 0, 0, 0);
		stack[depth].from = middle;
		stack[depth].to = to;
		stack[depth++].jump = program->count - 1;
		stack[depth].from = from;
		stack[depth].to = middle;
		stack[depth++].jump = 0;
	}
}

void host_group_program(struct host_group_program *program,
			const uint16_t owners[static SHM_BLOCK_COUNT], const uint16_t *slots,
			uint32_t count)
{
	uint16_t index_of[SHM_MEMBER_MAX];
	struct runs runs;

	memset(index_of, 0xff, sizeof(index_of));
	for (uint32_t i = 0; i < count; i++)
		if (slots[i] < SHM_MEMBER_MAX)
			index_of[slots[i]] = (uint16_t)i;
	program->count = 0;
	memset(program->mapped, 0, sizeof(program->mapped));
	runs_collect(&runs, program, owners, index_of);
	if (runs.count == 0) {
		emit(program, BPF_RET | BPF_K, 0, 0, 0);
		return;
	}
	emit(program, BPF_LD | BPF_H | BPF_ABS, 0, 0, ROCE_BTH_DQPN_OFF);
	emit(program, BPF_ALU | BPF_RSH | BPF_K, 0, 0, 16 - (24 - SHM_BLOCK_LOG2));
	emit_runs(program, runs.runs, runs.count);
}

/* ---- the list, under the join lock ----------------------------------------------------------- */

static struct shm_group *group_of(const struct host_registry *registry)
{
	return &host_registry_port(registry)->group;
}

/* A copy of the list. What a hostile member wrote into it only sends datagrams astray. */
static uint32_t list_copy(const struct shm_group *group, uint16_t slots[static SHM_MEMBER_MAX])
{
	uint32_t count = atomic_load_explicit(&group->count, memory_order_relaxed);

	count = count <= SHM_MEMBER_MAX ? count : SHM_MEMBER_MAX;
	for (uint32_t i = 0; i < count; i++)
		slots[i] = atomic_load_explicit(&group->slots[i], memory_order_relaxed);
	return count;
}

static uint32_t list_find(const uint16_t *slots, uint32_t count, uint32_t slot)
{
	uint32_t i = 0;

	while (i < count && slots[i] != slot)
		i++;
	return i;
}

static void list_append(struct shm_group *group, uint32_t slot)
{
	uint32_t count = atomic_load(&group->count);

	if (count >= SHM_MEMBER_MAX)
		return;
	atomic_store(&group->slots[count], (uint16_t)slot);
	atomic_store(&group->count, count + 1);
}

/* This member is at index, so what was thought to be there is where this one was thought to be. */
static void list_learn(struct shm_group *group, uint32_t slot, uint32_t index)
{
	uint16_t slots[SHM_MEMBER_MAX];
	uint32_t count = list_copy(group, slots);
	uint32_t was = list_find(slots, count, slot);

	if (was == count || index >= count)
		return;
	atomic_store(&group->slots[was], slots[index]);
	atomic_store(&group->slots[index], (uint16_t)slot);
}

/* Writes the program anew; a new version, so that nobody learns from what came by an older one. */
static void attach(const struct host_registry *registry, const struct host_udp *udp)
{
	struct shm_port *port = host_registry_port(registry);
	struct shm_group *group = &port->group;
	struct host_group_program *program = malloc(sizeof(*program));
	uint16_t owners[SHM_BLOCK_COUNT], slots[SHM_MEMBER_MAX];
	uint32_t count = list_copy(group, slots);
	struct sock_fprog fprog;

	if (!program)
		return;
	for (uint32_t i = 0; i < SHM_BLOCK_COUNT; i++)
		owners[i] = atomic_load_explicit(&port->owners[i], memory_order_relaxed);
	host_group_program(program, owners, slots, count);
	fprog = (struct sock_fprog){.len = (unsigned short)program->count,
				    .filter = program->filter};
	if (setsockopt(udp->fds[HOST_UDP_RX], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &fprog,
		       sizeof(fprog)) != 0)
		memset(program->mapped, 0, sizeof(program->mapped));
	for (uint32_t i = 0; i < SHM_BLOCK_COUNT / 64; i++)
		atomic_store_explicit(&group->mapped[i], program->mapped[i], memory_order_relaxed);
	atomic_fetch_add(&group->version, 1);
	free(program);
}

/* ---- joining, leaving, putting right --------------------------------------------------------- */

int host_group_join(struct host_registry *registry, struct host_udp *udp)
{
	int result = host_registry_lock(registry, HOST_PATIENCE_MS);

	if (result < 0)
		return result;
	result = host_udp_bind_rx(udp);
	if (result == 0) {
		list_append(group_of(registry), registry->slot);
		attach(registry, udp);
	}
	host_registry_unlock(registry);
	return result;
}

void host_group_leave(struct host_registry *registry, struct host_udp *udp)
{
	bool locked = host_registry_lock(registry, HOST_PATIENCE_MS) == 0;

	if (locked) {
		host_registry_forget_socket(registry, registry->slot);
		attach(registry, udp);
	}
	host_udp_close_rx(udp);
	if (locked)
		host_registry_unlock(registry);
}

int host_group_refresh(struct host_registry *registry, struct host_udp *udp)
{
	struct shm_group *group = group_of(registry);
	int result = host_registry_lock(registry, 0);

	if (result < 0)
		return -EAGAIN;
	if (!host_registry_reclaim(registry) && udp->learnt.count >= MISPLACED_MIN &&
	    udp->learnt.version == atomic_load(&group->version)) {
		list_learn(group, registry->slot, udp->learnt.index);
		udp->learnt.count = 0;
	}
	udp->learnt.total = 0;
	attach(registry, udp);
	host_registry_unlock(registry);
	return 0;
}

/*
 * Datagrams for the member that the list has at index i come to the socket that the kernel has at
 * index i: this one. That holds for what the present list's program sent, so not for what was in
 * the socket when it was written.
 */
static void learn(struct host_udp *udp, uint32_t version, uint32_t index)
{
	struct host_udp_learnt *learnt = &udp->learnt;

	if (learnt->version != version) {
		learnt->version = version;
		learnt->empties = udp->rx_empties;
	}
	if (learnt->empties == udp->rx_empties)
		return;
	if (learnt->index != index)
		learnt->count = 0;
	learnt->index = index;
	learnt->count++;
}

bool host_group_misplaced(struct host_registry *registry, struct host_udp *udp, uint32_t owner,
			  uint32_t dqpn)
{
	struct shm_group *group = group_of(registry);
	uint32_t block = dqpn >> SHM_BLOCK_LOG2 & (SHM_BLOCK_COUNT - 1);
	uint32_t version = atomic_load_explicit(&group->version, memory_order_relaxed);
	uint16_t slots[SHM_MEMBER_MAX];
	uint32_t count, index;

	if (!(atomic_load_explicit(&group->mapped[block / 64], memory_order_relaxed) &
	      1ull << block % 64))
		return true; /* a block that the program does not know yet */
	count = list_copy(group, slots);
	index = list_find(slots, count, owner);
	if (index == count)
		return true;
	learn(udp, version, index);
	/* If they do not agree on an index: some died, and indices that are none go anywhere. */
	return ++udp->learnt.total >= 2 * MISPLACED_MIN || udp->learnt.count >= MISPLACED_MIN;
}
