/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * door.h - how a newcomer finds a port: listening sockets with abstract names, shared by its
 * members.
 *
 *   rig5.port.<address>     the port at that address, whoever's it is
 *   rig5.user.<uid>         the port that a user gets who names no address
 *
 * A socket of such a name exists once in a network namespace, and as long as one descriptor of it
 * does. Its members hand it on with the memfd, so that each of them can answer, a stopped one
 * delays nobody, and the name is free when the last member is gone. Binding it is what makes a
 * founder the founder. SO_PEERCRED tells both sides the other's user [unix(7)]; another user gets
 * nothing.
 *
 * Everything here belongs to the port's threads, which have a table of descriptors of their own.
 */
#ifndef HOST_DOOR_H
#define HOST_DOOR_H

#include <stdint.h>

enum { HOST_DOOR_PORT, HOST_DOOR_USER, HOST_DOOR_COUNT };

struct host_door {
	int listening[HOST_DOOR_COUNT]; /* -1: not ours to answer */
};

/*
 * host_door_visit - asks the port behind name for its memfd; fills the doors that *door lacks.
 * The memfd, or
 *   -ECONNREFUSED  nobody has the name     -EACCES     another user has it
 *   -ETIMEDOUT     members, but none of them answered in time_ms
 *   -EAGAIN        the last one left meanwhile: try again     -EPROTO   it speaks another version
 */
int host_door_visit(const char *name, int time_ms, struct host_door *door);

/* host_door_open - takes the name: a listening socket, or -EADDRINUSE, or another -errno. */
int host_door_open(const char *name);

/* host_door_answer - answers every newcomer that waits at the listening socket. Does not block. */
void host_door_answer(int listening, const struct host_door *door, int memfd);

void host_door_close(struct host_door *door);

#endif
