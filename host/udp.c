/* SPDX-License-Identifier: BSD-2-Clause */
/* udp.c - the UDP wire's descriptors: opening, binding, telling whether they are still ours. */
#include "host/udp.h"

#include "abi/roce.h"
#include "host/fd.h"
#include "host/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

enum {
	CHECK_NS = 1000000,     /* how long a descriptor is trusted */
	RX_BUFFER_BYTES = 8 << 20,
	TX_BUFFER_BYTES = 4 << 20,
	FORK_FDS = 256,
	BIND_TRIES = 256,
	HOP_LIMIT_DEFAULT = 64, /* as udp_tx.c takes it for granted */
};

/* ---- a child of fork keeps no socket of ours --------------------------------------------------
 */

/* A child that lives on would keep the receive socket in its group, and nobody would read it. */
static _Atomic int fork_fds[FORK_FDS]; /* 0: free; descriptor + 1 */
static _Atomic uint64_t fork_cookies[FORK_FDS];

uint64_t host_udp_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) != 0)
		return 0;
	return cookie;
}

static void fork_close(void)
{
	for (int i = 0; i < FORK_FDS; i++) {
		int fd = atomic_load(&fork_fds[i]) - 1;

		if (fd >= 0 && host_udp_cookie(fd) == atomic_load(&fork_cookies[i]))
			close(fd);
		atomic_store(&fork_fds[i], 0);
	}
}

static void fork_watch_once(void)
{
	pthread_atfork(NULL, NULL, fork_close);
}

void host_udp_fork_watch(int fd, uint64_t cookie)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fork_watch_once);
	for (int i = 0; i < FORK_FDS; i++) {
		int nothing = 0;

		if (!atomic_compare_exchange_strong(&fork_fds[i], &nothing, fd + 1))
			continue;
		atomic_store(&fork_cookies[i], cookie);
		return;
	}
}

void host_udp_fork_unwatch(int fd)
{
	for (int i = 0; i < FORK_FDS; i++) {
		int entry = fd + 1;

		if (atomic_compare_exchange_strong(&fork_fds[i], &entry, 0))
			return;
	}
}

/* ---- opening --------------------------------------------------------------------------------- */

static int fd_open(int which, int family)
{
	int fd = which == HOST_UDP_EPOLL
		     ? epoll_create1(EPOLL_CLOEXEC)
		     : socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : host_fd_move_up(fd);
}

void host_udp_init(struct host_udp *udp)
{
	memset(udp, 0, sizeof(*udp));
	for (int i = 0; i < HOST_UDP_FDS; i++)
		udp->fds[i] = -1;
	host_udp_groups_init(&udp->groups);
}

int host_udp_open(struct host_udp *udp, const char *address)
{
	int family = address && strchr(address, ':') ? AF_INET6 : AF_INET;

	for (int i = 0; i < HOST_UDP_FDS; i++) {
		udp->fds[i] = fd_open(i, family);
		if (udp->fds[i] < 0) {
			int error = udp->fds[i];

			host_udp_close_app(udp);
			udp->open_error = error;
			return error;
		}
		udp->cookies[i] = i == HOST_UDP_EPOLL ? 0 : host_udp_cookie(udp->fds[i]);
		if (i != HOST_UDP_EPOLL)
			host_udp_fork_watch(udp->fds[i], udp->cookies[i]);
	}
	udp->opened = true;
	/* Without, there is no multicast to other ports. */
	(void)host_udp_groups_open(&udp->groups);
	return 0;
}

/* ---- binding --------------------------------------------------------------------------------- */

static bool option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* Beyond what the system allows everybody, where we may. */
void host_udp_buffer_sizes(int fd)
{
	if (!option(fd, SOL_SOCKET, SO_RCVBUFFORCE, RX_BUFFER_BYTES))
		(void)option(fd, SOL_SOCKET, SO_RCVBUF, RX_BUFFER_BYTES);
	if (!option(fd, SOL_SOCKET, SO_SNDBUFFORCE, TX_BUFFER_BYTES))
		(void)option(fd, SOL_SOCKET, SO_SNDBUF, TX_BUFFER_BYTES);
}

/* DF set and identification 0: what the ICRC was made for. */
static bool no_fragments(const struct host_udp *udp, int fd)
{
	return udp->ipv4 ? option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
			 : option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
}

static bool may_try_another(int error)
{
	return error == EADDRINUSE || error == EACCES;
}

/* A source port of 0xC000 and up that nobody has. */
static int bind_flow(struct host_udp *udp, int which)
{
	uint16_t ports = 0x10000 - ROCE_UDP_SPORT_MIN;
	int fd = udp->fds[which];
	uint16_t start;

	if (getrandom(&start, sizeof(start), GRND_NONBLOCK) != sizeof(start))
		start = (uint16_t)(getpid() * 8 + which);
	for (uint16_t i = 0; i < BIND_TRIES; i++) {
		uint16_t sport = ROCE_UDP_SPORT_MIN + (uint16_t)(start + i) % ports;
		union host_addr addr;
		socklen_t len =
		    host_addr_from_gid(&addr, udp->gid, sport, udp->interface.index);

		if (bind(fd, &addr.any, len) == 0) {
			udp->sports[which] = sport;
			return 0;
		}
		if (!may_try_another(errno))
			return -errno;
	}
	return -EADDRINUSE;
}

bool host_udp_rx_options(const struct host_udp *udp, int fd)
{
	(void)option(fd, IPPROTO_UDP, UDP_GRO, 1);
	/* RoCE v2 leaves the UDP checksum out; over IPv6 the kernel drops such datagrams unless
	 * told [rxe]. */
	if (!udp->ipv4 && !option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1))
		return false;
	if (udp->ipv4)
		(void)option(fd, IPPROTO_IP, IP_RECVTOS, 1);
	else
		(void)option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	return true;
}

/*
 * What a queue pair may have under way, until something watches the path: what fits a peer's buffer
 * if that is as large as ours, with what the kernel counts beside the bytes. More than half a
 * megabyte is no faster: the processors' caches are the smaller ones.
 */
static uint32_t window_of(int fd)
{
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) != 0)
		bytes = 0;
	bytes = bytes / 8 * 5;
	return bytes < HOST_UDP_WINDOW_BYTES ? (uint32_t)bytes : HOST_UDP_WINDOW_BYTES;
}

/* Groups are reached through the port's interface, whatever the routes say; one that does no
 * multicast does without. */
static void multicast_out(const struct host_udp *udp, int fd)
{
	struct ip_mreqn out = {.imr_ifindex = (int)udp->interface.index};

	if (udp->ipv4) {
		(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof(out));
		(void)option(fd, IPPROTO_IP, IP_MULTICAST_TTL, HOP_LIMIT_DEFAULT);
	} else {
		(void)option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)udp->interface.index);
		(void)option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOP_LIMIT_DEFAULT);
	}
}

static int prepare_fds(struct host_udp *udp)
{
	struct epoll_event event = {.events = 0};
	int rx = udp->fds[HOST_UDP_RX];
	bool good = option(rx, SOL_SOCKET, SO_REUSEPORT, 1) && host_udp_rx_options(udp, rx);
	int result = good ? 0 : -errno;

	for (int i = 0; i < HOST_UDP_FLOWS && result == 0; i++) {
		if (!no_fragments(udp, udp->fds[i]))
			return -errno;
		multicast_out(udp, udp->fds[i]);
		result = bind_flow(udp, i);
	}
	if (result < 0)
		return result;
	for (int i = 0; i <= HOST_UDP_RX; i++)
		host_udp_buffer_sizes(udp->fds[i]);
	udp->window_bytes = window_of(rx);
	if (epoll_ctl(udp->fds[HOST_UDP_EPOLL], EPOLL_CTL_ADD, rx, &event) != 0)
		return -errno;
	return 0;
}

int host_udp_prepare(struct host_udp *udp, const uint8_t gid[static 16], bool own_table)
{
	int result;

	memcpy(udp->gid, gid, 16);
	udp->own_table = own_table;
	udp->ipv4 = roce_gid_is_ipv4(gid);
	udp->segments = true;
	(void)host_interface_find(gid, &udp->interface);
	if (!udp->opened)
		return udp->open_error ? udp->open_error : -ENODEV;
	result = prepare_fds(udp);
	if (result == 0)
		result = host_udp_rx_init(udp);
	return result == 0 ? host_udp_tx_init(udp) : result;
}

int host_udp_bind_rx(struct host_udp *udp)
{
	union host_addr addr;
	socklen_t len =
	    host_addr_from_gid(&addr, udp->gid, ROCE_UDP_PORT, udp->interface.index);

	if (bind(udp->fds[HOST_UDP_RX], &addr.any, len) != 0)
		return -errno;
	udp->up = true;
	(void)host_udp_cool(udp, 0);
	return 0;
}

/* ---- closing --------------------------------------------------------------------------------- */

void host_udp_close_app(struct host_udp *udp)
{
	if (!udp->app_closed)
		host_udp_groups_close_app(udp);
	for (int i = 0; i < HOST_UDP_EPOLL && !udp->app_closed; i++) {
		if (udp->fds[i] < 0)
			continue;
		host_udp_fork_unwatch(udp->fds[i]);
		if (host_udp_cookie(udp->fds[i]) == udp->cookies[i])
			close(udp->fds[i]);
		else
			atomic_store(&udp->app_lost, true);
	}
	/* It has no cookie; who took the others from us took it, too. */
	if (udp->fds[HOST_UDP_EPOLL] >= 0 && !atomic_load(&udp->app_lost))
		close(udp->fds[HOST_UDP_EPOLL]);
	udp->app_closed = true;
	atomic_store(&udp->app_lost, true);
}

void host_udp_close_rx(struct host_udp *udp)
{
	int fd = udp->fds[HOST_UDP_RX];

	udp->up = false;
	if (!udp->opened || udp->rx_closed)
		return;
	if (host_in_own_table() || host_udp_cookie(fd) == udp->cookies[HOST_UDP_RX])
		close(fd);
	udp->rx_closed = true;
}

void host_udp_close(struct host_udp *udp)
{
	if (udp->opened)
		host_udp_groups_close(udp);
	for (int i = 0; i < HOST_UDP_FDS && udp->opened && host_in_own_table(); i++)
		if (i != HOST_UDP_RX || !udp->rx_closed)
			close(udp->fds[i]);
	udp->opened = false;
	udp->up = false;
	if (udp->tx.bytes)
		munmap(udp->tx.bytes, HOST_UDP_TX_BYTES);
	udp->tx.bytes = NULL;
	free(udp->messages);
	free(udp->rx);
	udp->messages = NULL;
	udp->rx = NULL;
}

bool host_udp_still_there(struct host_udp *udp, int fd, uint64_t cookie, uint64_t *checked_ns,
			  uint64_t now_ns)
{
	if (atomic_load_explicit(&udp->app_lost, memory_order_relaxed))
		return false;
	if (now_ns - *checked_ns < CHECK_NS)
		return true;
	if (host_udp_cookie(fd) != cookie) {
		atomic_store(&udp->app_lost, true);
		return false;
	}
	*checked_ns = now_ns;
	return true;
}

bool host_udp_may_use(struct host_udp *udp, int which, uint64_t now_ns)
{
	return host_in_own_table() ||
	       host_udp_still_there(udp, udp->fds[which], udp->cookies[which],
				    &udp->checked_ns[which], now_ns);
}

/* ---- hot and cold ---------------------------------------------------------------------------- */

bool host_udp_cool(struct host_udp *udp, uint64_t now_ns)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};

	if (!udp->up)
		return true;
	if (!host_udp_may_use(udp, HOST_UDP_RX, now_ns))
		return false;
	atomic_store(&udp->hot, false);
	/* Level triggered: what is in a socket already counts. */
	for (uint32_t i = 0; i < udp->groups.count; i++) {
		int fd = host_udp_group_fd(udp, &udp->groups.groups[i], now_ns);

		if (udp->groups.groups[i].joined && fd >= 0)
			(void)epoll_ctl(udp->fds[HOST_UDP_EPOLL], EPOLL_CTL_MOD, fd, &event);
	}
	if (epoll_ctl(udp->fds[HOST_UDP_EPOLL], EPOLL_CTL_MOD, udp->fds[HOST_UDP_RX], &event) == 0)
		return true;
	atomic_store(&udp->hot, !host_in_own_table());
	return false;
}

bool host_udp_woken(struct host_udp *udp)
{
	struct epoll_event event;

	return udp->up && epoll_wait(udp->fds[HOST_UDP_EPOLL], &event, 1, 0) == 1;
}
