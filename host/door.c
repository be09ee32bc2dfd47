/* SPDX-License-Identifier: BSD-2-Clause */
/* door.c - abstract sockets that hand out a port's memfd. */
#include "host/door.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FD_MAX = 1 + HOST_DOOR_COUNT, BACKLOG = 64, ANSWERS_MAX = 64 };

/* What goes with the descriptors: the memfd first, then the doors whose bit is set. */
struct greeting {
	uint32_t magic;
	uint32_t doors;
};

#define GREETING_MAGIC 0x35676972u /* "rig5"; another version, another number */

union control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int) * FD_MAX)];
};

/* As many as such a buffer takes: its size is rounded up, so one more than was asked may come. */
enum { FD_ROOM = (CMSG_SPACE(sizeof(int) * FD_MAX) - CMSG_LEN(0)) / sizeof(int) };

static socklen_t door_name(struct sockaddr_un *addr, const char *name)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "%s", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(addr->sun_path + 1));
}

static bool same_user(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

/* The descriptors of a message; how many. */
static int take_fds(struct msghdr *msg, int fds[static FD_ROOM])
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	int count;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return 0;
	count = (int)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(cmsg), (size_t)count * sizeof(int));
	return count;
}

static int keep_gift(const struct greeting *greeting, const int *fds, int count,
		     struct host_door *door)
{
	int wanted = 1 + __builtin_popcount(greeting->doors);
	int next = 1;

	if (greeting->magic != GREETING_MAGIC || greeting->doors >> HOST_DOOR_COUNT ||
	    count != wanted) {
		close_all(fds, count);
		return -EPROTO;
	}
	for (int i = 0; i < HOST_DOOR_COUNT; i++) {
		if (!(greeting->doors & 1u << i))
			continue;
		if (door->listening[i] < 0)
			door->listening[i] = fds[next++];
		else
			close(fds[next++]);
	}
	return fds[0];
}

static int receive_gift(int fd, struct host_door *door)
{
	struct greeting greeting = {0};
	struct iovec iov = {.iov_base = &greeting, .iov_len = sizeof(greeting)};
	union control control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.buf,
			     .msg_controllen = sizeof(control.buf)};
	int fds[FD_ROOM];
	ssize_t got;

	do {
		got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -EAGAIN;
	if (got == 0)
		return -EAGAIN;
	if (msg.msg_flags & MSG_CTRUNC) {
		/* This process may not have as many descriptors [unix(7)]. */
		close_all(fds, take_fds(&msg, fds));
		return -EMFILE;
	}
	return keep_gift(&greeting, fds, take_fds(&msg, fds), door);
}

int host_door_visit(const char *name, int time_ms, struct host_door *door)
{
	struct timeval patience = {.tv_sec = time_ms / 1000, .tv_usec = time_ms % 1000 * 1000};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr;
	socklen_t len = door_name(&addr, name);
	int result;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr, len) != 0)
		result = errno == EAGAIN ? -ETIMEDOUT : -errno;
	else if (!same_user(fd))
		result = -EACCES;
	else
		result = receive_gift(fd, door);
	close(fd);
	return result;
}

int host_door_open(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr;
	socklen_t len = door_name(&addr, name);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, len) != 0 || listen(fd, BACKLOG) != 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

static void give(int fd, const struct host_door *door, int memfd)
{
	struct greeting greeting = {.magic = GREETING_MAGIC};
	struct iovec iov = {.iov_base = &greeting, .iov_len = sizeof(greeting)};
	union control control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf};
	int fds[FD_MAX] = {memfd};
	size_t count = 1;

	for (int i = 0; i < HOST_DOOR_COUNT; i++) {
		if (door->listening[i] < 0)
			continue;
		greeting.doors |= 1u << i;
		fds[count++] = door->listening[i];
	}
	msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
	CMSG_FIRSTHDR(&msg)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&msg)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&msg)->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), fds, count * sizeof(int));
	/* The newcomer's problem if it is gone: it will not have waited for an answer. */
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void host_door_answer(int listening, const struct host_door *door, int memfd)
{
	for (int i = 0; i < ANSWERS_MAX; i++) {
		int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (same_user(fd))
			give(fd, door, memfd);
		close(fd);
	}
}

void host_door_close(struct host_door *door)
{
	for (int i = 0; i < HOST_DOOR_COUNT; i++) {
		if (door->listening[i] >= 0)
			close(door->listening[i]);
		door->listening[i] = -1;
	}
}
