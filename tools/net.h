/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/net.h - TCP between two `rig5` commands: addresses, connections, frames with time limits.
 *
 * Errors are -errno, with a sentence in the caller's `why` where there is one. A peer is not
 * trusted: what it may send is bounded, and every wait ends. A signal that tool_stop_catch noted
 * ends a wait with -EINTR.
 */
#ifndef TOOLS_NET_H
#define TOOLS_NET_H

#include <stddef.h>
#include <stdint.h>

#include "tools/frame.h"

#define NET_WHY          320
#define NET_HOST_MAX     255
#define NET_PORT_DEFAULT 18515

struct net_address {
	char host[NET_HOST_MAX + 1]; /* a name or a number, no brackets */
	uint16_t port;
};

/*
 * net_address_parse - "HOST", "HOST:PORT", "[IPV6]", "[IPV6]:PORT" or a bare IPv6 address. Pure.
 * Without a port: port_default. port_min: 0 where "any free port" makes sense, else 1. 0 or
 * -EINVAL.
 */
int net_address_parse(const char *text, uint16_t port_default, uint16_t port_min,
		      struct net_address *address);

/* net_listen - a listening socket; *address gets its real numeric address and port. */
int net_listen(struct net_address *address, int *fd, char why[static NET_WHY]);
/* net_accept - the next connection (not blocking, no delay), and who it is. Waits without end. */
int net_accept(int listen_fd, int *fd, struct net_address *peer);
int net_connect(const struct net_address *address, int timeout_ms, int *fd,
		char why[static NET_WHY]);

/* A connection that carries frames. */
struct net_conn {
	int fd;
	size_t payload_max; /* of a frame that may come; the owner changes it as the talk goes on */
	uint8_t *buf;
	size_t size_bytes;
	size_t start, end; /* what was received and not yet given out: buf[start, end) */
};

/* Takes the descriptor. size_max: the largest payload_max it will ever have. */
int net_conn_init(struct net_conn *conn, int fd, size_t size_max);
void net_conn_close(struct net_conn *conn);

/* net_send - one frame, whole. */
int net_send(struct net_conn *conn, uint16_t type, const void *payload, size_t len_bytes,
	     int timeout_ms);
/*
 * net_receive - the next frame; its payload is valid until the next call. timeout_ms 0 only looks.
 * 0; -EAGAIN (0 only) or -ETIMEDOUT: none came; -ECONNRESET: the peer closed the connection or is
 * gone; -EPROTO, -EMSGSIZE: what came is no frame that is allowed here.
 */
int net_receive(struct net_conn *conn, struct frame *frame, int timeout_ms);

/* net_alive - 0, or -ECONNRESET: the peer closed the connection. Takes nothing from it. */
int net_alive(const struct net_conn *conn);

/* An error of the above as words ("the connection was closed"). */
const char *net_error_text(int err);

#endif
