/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/net.c - TCP between two `rig5` commands. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tools/net.h"
#include "tools/tools.h"
#include "tools/units.h"

int net_address_parse(const char *text, uint16_t port_default, uint16_t port_min,
		      struct net_address *address)
{
	const char *host = text, *end, *port = NULL;
	uint64_t number = port_default;

	if (*text == '[') {
		host++;
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		port = end[1] ? end + 2 : NULL;
	} else {
		end = strchr(text, ':');
		/* Two colons without brackets: an IPv6 address and no port. */
		if (end && !strchr(end + 1, ':'))
			port = end + 1;
		else
			end = text + strlen(text);
	}
	if (end == host || (size_t)(end - host) > NET_HOST_MAX)
		return -EINVAL;
	if (port && tool_parse_count(port, port_min, 65535, &number))
		return -EINVAL;
	memcpy(address->host, host, (size_t)(end - host));
	address->host[end - host] = '\0';
	address->port = (uint16_t)number;
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for events on fd until the deadline (-1: without end): 0, -ETIMEDOUT or -EINTR. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
	for (;;) {
		struct pollfd pollfd = {.fd = fd, .events = events};
		int64_t left_ms = deadline_ms < 0 ? 60000 : deadline_ms - now_ms();
		int n;

		if (tool_stop_signal())
			return -EINTR;
		n = poll(&pollfd, 1, left_ms < 0 ? 0 : (int)left_ms);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n && deadline_ms >= 0 && left_ms <= 0)
			return -ETIMEDOUT;
	}
}

/* An established connection: not blocking, small frames leave at once. */
static void set_up(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int resolve(const struct net_address *address, int flags, struct addrinfo **list,
		   char why[static NET_WHY])
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
	char port[8];
	int err;

	snprintf(port, sizeof(port), "%u", address->port);
	err = getaddrinfo(address->host, port, &hints, list);
	if (!err)
		return 0;
	snprintf(why, NET_WHY, "no address for '%s': %s", address->host,
		 err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
	return -EHOSTUNREACH;
}

static void name_peer(const struct sockaddr_storage *sa, socklen_t len, struct net_address *address)
{
	char port[8] = "0";

	snprintf(address->host, sizeof(address->host), "?");
	if (!getnameinfo((const struct sockaddr *)sa, len, address->host, sizeof(address->host),
			 port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		address->port = (uint16_t)atoi(port);
}

int net_listen(struct net_address *address, int *out, char why[static NET_WHY])
{
	struct addrinfo *list;
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	int one = 1, fd, err = resolve(address, AI_PASSIVE, &list, why);

	if (err)
		return err;
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&sa, &len)) {
		err = -errno;
		snprintf(why, NET_WHY, "cannot listen on %s port %u: %s", address->host,
			 address->port, strerror(-err));
		freeaddrinfo(list);
		if (fd >= 0)
			close(fd);
		return err;
	}
	freeaddrinfo(list);
	name_peer(&sa, len, address);
	*out = fd;
	return 0;
}

int net_accept(int listen_fd, int *out, struct net_address *peer)
{
	for (;;) {
		struct sockaddr_storage sa;
		socklen_t len = sizeof(sa);
		int fd, err = wait_for(listen_fd, POLLIN, -1);

		if (err)
			return err;
		fd = accept4(listen_fd, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC);
		if (fd >= 0) {
			set_up(fd);
			name_peer(&sa, len, peer);
			*out = fd;
			return 0;
		}
		/* A connection that died while it waited is nobody's error [accept(2)]. */
		if (errno != ECONNABORTED && errno != EINTR && errno != EAGAIN && errno != EPROTO)
			return -errno;
	}
}

static int connect_one(const struct addrinfo *ai, int64_t deadline_ms, int *out)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = 0;
	socklen_t len = sizeof(err);

	if (fd < 0)
		return -errno;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		if (errno != EINPROGRESS) {
			err = -errno;
		} else {
			err = wait_for(fd, POLLOUT, deadline_ms);
			if (!err && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
				err = -err;
		}
	}
	if (err) {
		close(fd);
		return err;
	}
	set_up(fd);
	*out = fd;
	return 0;
}

int net_connect(const struct net_address *address, int timeout_ms, int *fd,
		char why[static NET_WHY])
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	struct addrinfo *list;
	int err = resolve(address, 0, &list, why);

	if (err)
		return err;
	err = -EHOSTUNREACH;
	for (struct addrinfo *ai = list; ai && err && err != -EINTR; ai = ai->ai_next)
		err = connect_one(ai, deadline_ms, fd);
	freeaddrinfo(list);
	if (err)
		snprintf(why, NET_WHY, "cannot connect to %s port %u: %s%s", address->host,
			 address->port, strerror(-err),
			 err == -ECONNREFUSED ? ": does a receiver listen there?" : "");
	return err;
}

int net_conn_init(struct net_conn *conn, int fd, size_t size_max)
{
	*conn = (struct net_conn){.fd = fd, .size_bytes = FRAME_HEADER_BYTES + size_max};
	conn->payload_max = size_max;
	conn->buf = malloc(conn->size_bytes);
	if (!conn->buf) {
		close(fd);
		conn->fd = -1;
		return -ENOMEM;
	}
	return 0;
}

void net_conn_close(struct net_conn *conn)
{
	if (conn->fd >= 0 && conn->buf)
		close(conn->fd);
	free(conn->buf);
	*conn = (struct net_conn){.fd = -1};
}

int net_send(struct net_conn *conn, uint16_t type, const void *payload, size_t len_bytes,
	     int timeout_ms)
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	uint8_t header[FRAME_HEADER_BYTES];
	size_t total = sizeof(header) + len_bytes, sent = 0;

	frame_encode_header(type, (uint32_t)len_bytes, header);
	while (sent < total) {
		size_t header_left = sent < sizeof(header) ? sizeof(header) - sent : 0;
		size_t skip = sent - (sizeof(header) - header_left);
		struct iovec iov[2] = {
		    {.iov_base = header + sizeof(header) - header_left, .iov_len = header_left},
		    /* sendmsg only reads; iov_base has no const. */
		    {.iov_base = (void *)((uintptr_t)payload + skip), .iov_len = len_bytes - skip},
		};
		struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
		ssize_t n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		int err = n < 0 ? -errno : 0;

		if (err == -EAGAIN)
			err = wait_for(conn->fd, POLLOUT, deadline_ms);
		if (err == -EPIPE)
			err = -ECONNRESET;
		if (err && err != -EINTR)
			return err;
		if (err && tool_stop_signal())
			return -EINTR;
		if (n > 0)
			sent += (size_t)n;
	}
	return 0;
}

/* What the buffer starts with: 0, -EAGAIN if a frame is not whole yet, or the error of the codec.
 */
static int next_frame(struct net_conn *conn, struct frame *frame)
{
	long used = frame_decode(conn->buf + conn->start, conn->end - conn->start,
				 conn->payload_max, frame);

	if (used < 0)
		return (int)used;
	if (!used)
		return -EAGAIN;
	conn->start += (size_t)used;
	return 0;
}

int net_receive(struct net_conn *conn, struct frame *frame, int timeout_ms)
{
	int64_t deadline_ms = now_ms() + timeout_ms;

	for (;;) {
		int err = next_frame(conn, frame);
		ssize_t n;

		if (err != -EAGAIN)
			return err;
		memmove(conn->buf, conn->buf + conn->start, conn->end - conn->start);
		conn->end -= conn->start;
		conn->start = 0;
		n = recv(conn->fd, conn->buf + conn->end, conn->size_bytes - conn->end,
			 MSG_DONTWAIT);
		if (n > 0) {
			conn->end += (size_t)n;
			continue;
		}
		if (!n)
			return -ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!timeout_ms)
			return -EAGAIN;
		err = wait_for(conn->fd, POLLIN, deadline_ms);
		if (err)
			return err;
	}
}

int net_alive(const struct net_conn *conn)
{
	char byte;
	ssize_t n = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : -ECONNRESET;
}

const char *net_error_text(int err)
{
	switch (err) {
	case -ECONNRESET:
		return "it closed the connection";
	case -EPROTO:
		return "it does not speak this protocol";
	case -EPROTONOSUPPORT:
		return "it is another version of rig5";
	case -EMSGSIZE:
		return "a message of it is too long";
	case -ETIMEDOUT:
		return "it did not answer in time";
	default:
		return strerror(-err);
	}
}
