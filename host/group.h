/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - which process of a port gets which datagram: the members' receive sockets form one
 * SO_REUSEPORT group, and a classic BPF program picks the socket by the block of the destination
 * queue pair [udp(7), socket(7) SO_ATTACH_REUSEPORT_CBPF].
 *
 * The kernel knows the sockets by index: a new one comes last, and when one is closed the last
 * takes its index. The registry keeps the same list (struct shm_group), which is changed together
 * with the group, under the join lock; and the program is written anew. The list can still be
 * wrong: when processes die it is not told in which order. Then a process gets packets of
 * another's, hands them on over the local wire, and learns from which index it got them; so the
 * list gets right again.
 *
 * [own table] as in host/registry.h.
 */
#ifndef HOST_GROUP_H
#define HOST_GROUP_H

#include "host/registry.h"
#include "host/udp.h"

#include <linux/filter.h>

enum { HOST_GROUP_PROGRAM_MAX = BPF_MAXINSNS };

struct host_group_program {
	uint32_t count;
	struct sock_filter filter[HOST_GROUP_PROGRAM_MAX];
	uint64_t mapped[SHM_BLOCK_COUNT / 64]; /* the blocks that it decides on */
};

/*
 * host_group_program - the program for these owners (slot + 1; 0: nobody's) and this list of slots.
 * A block of nobody's, or of a member without a socket, goes to any index; so do those that are too
 * many for a program.
 */
void host_group_program(struct host_group_program *program,
			const uint16_t owners[static SHM_BLOCK_COUNT],
			const uint16_t *slots, uint32_t count);

/* host_group_join - binds the receive socket, as the group's last. 0 or -errno [own table]. */
int host_group_join(struct host_registry *registry, struct host_udp *udp);

/* host_group_leave - closes the receive socket, in the last table that has it [own table]. */
void host_group_leave(struct host_registry *registry, struct host_udp *udp);

/*
 * host_group_refresh - takes back what dead members left, puts this member where udp->learnt says
 * it is, and writes the program anew. -EAGAIN: another process is in the middle of such; try again
 * [own table].
 */
int host_group_refresh(struct host_registry *registry, struct host_udp *udp);

/* host_group_misplaced - a datagram for a queue pair of owner's came to this member. true: often
 * enough that host_group_refresh should be called. [the port's lock] */
bool host_group_misplaced(struct host_registry *registry, struct host_udp *udp, uint32_t owner,
			  uint32_t dqpn);

#endif
