/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_group.h - multicast over UDP: a socket for each group that the NIC has joined.
 *
 * A group's GID is an IP address: an IPv6 one, or an IPv4 one mapped into IPv6. Where the port's
 * own address is of the other kind, one is made of it: ff0e::ffff:a.b.c.d, or 239.x.y.z of all its
 * bytes folded. Nothing else defines such groups. Two that fold into one address are both
 * delivered.
 *
 * The socket is bound to the group's address, so that it gets nothing else, and is no obstacle to
 * other programs' sockets. It is made by a thread of the application, whose table of descriptors is
 * not that of the port's own threads: those get it as a message (host_udp_groups_take).
 *
 * What the port sends to a group itself comes back from the kernel; it is dropped, because the
 * local wire has taken it to the port's members already.
 *
 * Threads: the port's lock; host_udp_groups_take in the port's own table.
 */
#ifndef HOST_UDP_GROUP_H
#define HOST_UDP_GROUP_H

#include "nic/nic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_udp;

struct host_udp_group {
	bool joined;
	uint8_t gid[16]; /* as the NIC knows it */
	uint8_t ip[16];  /* its address, mapped if it is IPv4 */
	int app_fd;      /* in the application's table */
	int own_fd;      /* in the port's own; -1: not there yet */
	uint32_t generation; /* of this entry of the table */
	uint64_t cookie;     /* [SO_COOKIE] which socket it is */
	uint64_t checked_ns;
};

struct host_udp_groups {
	uint32_t count; /* entries that are joined are below */
	uint32_t generation;
	bool opened;
	int hand[2]; /* the way to the port's own threads: the application's end, and theirs */
	uint64_t hand_cookies[2];
	struct host_udp_group groups[NIC_GROUPS_MAX];
};

/* host_udp_group_ip - the address that stands for gid, on a port of this kind. */
void host_udp_group_ip(bool ipv4, const uint8_t gid[static 16], uint8_t ip[static 16]);

/* Life, as of host_udp: init; open in the application's table; close_app in it; close in the
 * port's own, if this thread is in that. */
void host_udp_groups_init(struct host_udp_groups *groups);
int host_udp_groups_open(struct host_udp_groups *groups);
void host_udp_groups_close_app(struct host_udp *udp);
void host_udp_groups_close(struct host_udp *udp);

/*
 * host_udp_group_join - 0, or -errno. If the wire is down, or its interface is the loopback one and
 * does not do multicast: 0, and only the port's own members are in the group.
 * host_udp_group_leave - undoes it.
 */
int host_udp_group_join(struct host_udp *udp, const uint8_t gid[static 16]);
void host_udp_group_leave(struct host_udp *udp, const uint8_t gid[static 16]);

/* host_udp_group_fd - the descriptor in this thread's table, or -1: this thread has none. */
int host_udp_group_fd(struct host_udp *udp, struct host_udp_group *group, uint64_t now_ns);

/* host_udp_groups_take - takes the descriptors that were handed over. [lock, own table] */
void host_udp_groups_take(struct host_udp *udp);

#endif
