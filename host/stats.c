/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c - the answering half. */
#include "host/stats.h"

#include "abi/stats.h"
#include "host/port.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	REQUESTS_MAX = 64,
	TRIES = 1000,
	PORTS_MAX = 32,
	EXIT_TRIES = 100,
};

_Static_assert((int)STATS_COUNT <= (int)SHM_LEFT_MAX, "the port has room for what is left");

int host_stats_open(void)
{
	const int on = 1;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint64_t unique = 0;
	int len, error;

	if (fd < 0)
		return -errno;
	/* A name that nobody can have taken before. */
	if (getrandom(&unique, sizeof(unique), 0) != sizeof(unique))
		unique = host_now_ns() ^ (uint64_t)getpid() << 32;
	len =
	    snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, STATS_SOCKET_PREFIX "%u.%016llx",
		     (unsigned int)geteuid(), (unsigned long long)unique);
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* Who has sent it, as the kernel says. There is no room for descriptors: none come in. */
static bool sender_may_ask(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	struct ucred cred;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_CREDENTIALS ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(cred)))
		return false;
	memcpy(&cred, CMSG_DATA(cmsg), sizeof(cred));
	return cred.uid == geteuid() || cred.uid == 0;
}

/* A leaving member may be in the middle of adding. */
static void take_left(const struct shm_port *shared, struct stats_reply *reply)
{
	for (int i = 0; i < TRIES; i++) {
		reply->left_count = atomic_load(&shared->left_done);
		for (unsigned int at = 0; at < STATS_COUNT; at++)
			reply->left[at] = atomic_load(&shared->left[at]);
		if (atomic_load(&shared->left_begun) == reply->left_count)
			return;
	}
}

/* false: there is no NIC yet, or its process is about to end. */
static bool fill(struct host_port *port, const struct stats_request *request,
		 struct stats_reply *reply)
{
	uint32_t next = request->from;
	uint64_t now_ns;
	bool there;

	*reply = (struct stats_reply){
	    .magic = STATS_MAGIC, .version = STATS_VERSION, .serial = request->serial};
	host_lock_acquire(&port->lock);
	there = port->nic && !port->stats_left;
	now_ns = host_now_ns();
	if (there) {
		nic_stats(port->nic, reply->counters);
		reply->flow_count =
		    nic_stats_flows(port->nic, &next, reply->flows, STATS_FLOWS_MAX, now_ns);
	}
	host_engine_finish(port);
	reply->bytes = (uint32_t)stats_reply_bytes(reply->flow_count);
	reply->next = next;
	reply->lid = port->lid;
	reply->time_ns = now_ns;
	memcpy(reply->gid, port->gid, sizeof(reply->gid));
	snprintf(reply->nic, sizeof(reply->nic), "%s", port->name);
	take_left(host_registry_port(&port->registry), reply);
	return there;
}

/* One request; false: none has come. */
static bool answer_one(struct host_port *port, int fd)
{
	struct stats_request request;
	struct stats_reply reply;
	struct sockaddr_un from;
	struct iovec iov = {.iov_base = &request, .iov_len = sizeof(request)};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr msg = {.msg_name = &from,
			     .msg_namelen = sizeof(from),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.buf,
			     .msg_controllen = sizeof(control.buf)};
	ssize_t got = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got < 0)
		return false;
	if (!sender_may_ask(&msg) || msg.msg_flags & MSG_TRUNC || msg.msg_namelen == 0 ||
	    !stats_request_check(&request, (size_t)got) || !fill(port, &request, &reply))
		return true;
	/* Whose queue is full asks again. */
	(void)!sendto(fd, &reply, reply.bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&from, msg.msg_namelen);
	return true;
}

void host_stats_answer(struct host_port *port, int fd)
{
	for (int i = 0; i < REQUESTS_MAX && answer_one(port, fd); i++)
		;
}

/* ---- leaving --------------------------------------------------------------------------------- */

/* The ports of this process, for its end; one without a place is only not counted then. */
static _Atomic(struct host_port *) present[PORTS_MAX];

void host_stats_enter(struct host_port *port)
{
	for (unsigned int i = 0; i < PORTS_MAX; i++) {
		struct host_port *nobody = NULL;

		if (atomic_compare_exchange_strong(&present[i], &nobody, port))
			return;
	}
}

/* [lock] */
static void leave(struct host_port *port)
{
	struct shm_port *shared = host_registry_port(&port->registry);
	uint64_t counters[STATS_COUNT];

	if (!port->nic || port->stats_left)
		return;
	port->stats_left = true;
	nic_stats(port->nic, counters);
	atomic_fetch_add(&shared->left_begun, 1);
	for (unsigned int at = 0; at < STATS_COUNT; at++)
		atomic_fetch_add(&shared->left[at], counters[at]);
	atomic_fetch_add(&shared->left_done, 1);
}

void host_stats_leave(struct host_port *port)
{
	for (unsigned int i = 0; i < PORTS_MAX; i++) {
		struct host_port *self = port;

		atomic_compare_exchange_strong(&present[i], &self, NULL);
	}
	host_lock_acquire(&port->lock);
	leave(port);
	(void)host_lock_release(&port->lock);
}

/* exit() without host_port_leave. A thread that was interrupted in a pass may have called it: the
 * lock is not waited for. */
__attribute__((destructor)) static void leave_all(void)
{
	const struct timespec nap = {.tv_nsec = 100000};

	for (unsigned int i = 0; i < PORTS_MAX; i++) {
		struct host_port *port = atomic_exchange(&present[i], NULL);

		for (int try = 0; port && !host_port_forked(port) && try < EXIT_TRIES; try++) {
			if (host_lock_try_or_ask(&port->lock)) {
				leave(port);
				(void)host_lock_release(&port->lock);
				break;
			}
			nanosleep(&nap, NULL);
		}
	}
}
