/* SPDX-License-Identifier: BSD-2-Clause */
/* udp_group.c - joining and leaving multicast groups, and handing their sockets over. */
#include "host/udp.h"

#include "abi/roce.h"
#include "host/fd.h"
#include "host/host.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* What is said to the port's own threads: a descriptor comes along, or own_fd is to be closed. */
struct hand_message {
	uint32_t index;
	uint32_t generation;
	int own_fd; /* -1: of the descriptor that comes along */
};

union hand_control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int))];
};

static bool option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* ---- addresses ------------------------------------------------------------------------------- */

void host_udp_group_ip(bool ipv4, const uint8_t gid[static 16], uint8_t ip[static 16])
{
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 239};
	static const uint8_t global[16] = {0xff, 0x0e, [10] = 0xff, 0xff};
	bool is_ipv4 = roce_gid_is_ipv4(gid);

	memcpy(ip, gid, 16);
	if (!ipv4 && is_ipv4)
		memcpy(ip, global, 12);
	if (!ipv4 || is_ipv4)
		return;
	memcpy(ip, mapped, 16);
	for (int i = 1; i < 16; i++)
		ip[13 + (i - 1) % 3] ^= gid[i];
}

/* ---- life ------------------------------------------------------------------------------------ */

void host_udp_groups_init(struct host_udp_groups *groups)
{
	groups->hand[0] = groups->hand[1] = -1;
	for (uint32_t i = 0; i < NIC_GROUPS_MAX; i++)
		groups->groups[i].app_fd = groups->groups[i].own_fd = -1;
}

int host_udp_groups_open(struct host_udp_groups *groups)
{
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, groups->hand) != 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		groups->hand[i] = host_fd_move_up(groups->hand[i]);
	for (int i = 0; i < 2; i++) {
		groups->hand_cookies[i] = host_udp_cookie(groups->hand[i]);
		host_udp_fork_watch(groups->hand[i], groups->hand_cookies[i]);
	}
	groups->opened = true;
	return 0;
}

static void close_app_fd(int fd, uint64_t cookie)
{
	if (fd < 0)
		return;
	host_udp_fork_unwatch(fd);
	if (host_udp_cookie(fd) == cookie)
		close(fd);
}

void host_udp_groups_close_app(struct host_udp *udp)
{
	struct host_udp_groups *groups = &udp->groups;

	for (uint32_t i = 0; i < groups->count; i++) {
		close_app_fd(groups->groups[i].app_fd, groups->groups[i].cookie);
		groups->groups[i].app_fd = -1;
	}
	if (!groups->opened)
		return;
	for (int i = 0; i < 2; i++)
		close_app_fd(groups->hand[i], groups->hand_cookies[i]);
	groups->opened = false;
}

void host_udp_groups_close(struct host_udp *udp)
{
	struct host_udp_groups *groups = &udp->groups;

	if (!host_in_own_table())
		return;
	for (uint32_t i = 0; i < groups->count; i++) {
		if (groups->groups[i].own_fd >= 0)
			close(groups->groups[i].own_fd);
		groups->groups[i].own_fd = -1;
	}
	if (groups->hand[1] >= 0)
		close(groups->hand[1]);
	groups->hand[1] = -1;
}

/* ---- handing over ---------------------------------------------------------------------------- */

/* fd: to go along, or -1. false: the port's own threads do not get it. */
static bool hand_over(struct host_udp *udp, const struct hand_message *message, int fd)
{
	struct host_udp_groups *groups = &udp->groups;
	struct iovec piece = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message)};
	union hand_control control = {.buf = {0}};
	struct msghdr msg = {.msg_iov = &piece, .msg_iovlen = 1};

	if (host_in_own_table() || host_udp_cookie(groups->hand[0]) != groups->hand_cookies[0])
		return false;
	if (fd >= 0) {
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(int));
	}
	return sendmsg(groups->hand[0], &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*message);
}

/* Datagrams of a group wake the port thread, too. */
static void watch(struct host_udp *udp, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};

	(void)epoll_ctl(udp->fds[HOST_UDP_EPOLL], EPOLL_CTL_ADD, fd, &event);
}

static void take_one(struct host_udp *udp, const struct hand_message *message, int fd)
{
	struct host_udp_groups *groups = &udp->groups;
	struct host_udp_group *group = &groups->groups[message->index % NIC_GROUPS_MAX];

	if (fd < 0) {
		if (message->own_fd >= 0)
			close(message->own_fd);
		return;
	}
	if (!group->joined || group->generation != message->generation) {
		close(fd); /* it has been left meanwhile */
		return;
	}
	group->own_fd = host_fd_move_up(fd);
	watch(udp, group->own_fd);
}

void host_udp_groups_take(struct host_udp *udp)
{
	struct hand_message message;
	struct iovec piece = {.iov_base = &message, .iov_len = sizeof(message)};
	union hand_control control;

	for (;;) {
		struct msghdr msg = {.msg_iov = &piece,
				     .msg_iovlen = 1,
				     .msg_control = control.buf,
				     .msg_controllen = sizeof(control.buf)};
		const struct cmsghdr *cmsg;
		int fd = -1;

		if (recvmsg(udp->groups.hand[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) !=
		    sizeof(message))
			return;
		cmsg = CMSG_FIRSTHDR(&msg);
		if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(cmsg), sizeof(int));
		take_one(udp, &message, fd);
	}
}

/* ---- joining and leaving --------------------------------------------------------------------- */

static int make_socket(const struct host_udp *udp)
{
	int fd =
	    socket(udp->ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	fd = host_fd_move_up(fd);
	/* Members of other ports on this machine have sockets of the same address. */
	if (!option(fd, SOL_SOCKET, SO_REUSEADDR, 1) || !host_udp_rx_options(udp, fd)) {
		int error = -errno;

		close(fd);
		return error;
	}
	host_udp_buffer_sizes(fd);
	return fd;
}

static bool add_membership(const struct host_udp *udp, int fd, const uint8_t ip[static 16])
{
	if (udp->ipv4) {
		struct ip_mreqn request = {.imr_ifindex = (int)udp->interface.index};

		memcpy(&request.imr_multiaddr, ip + 12, 4);
		return option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
		       setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)) ==
			   0;
	} else {
		struct ipv6_mreq request = {.ipv6mr_interface = udp->interface.index};

		memcpy(&request.ipv6mr_multiaddr, ip, 16);
		return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request)) ==
		       0;
	}
}

static int bind_group(const struct host_udp *udp, int fd, const uint8_t ip[static 16])
{
	union host_addr addr;
	socklen_t len = host_addr_from_gid(&addr, ip, ROCE_UDP_PORT, udp->interface.index);

	if (bind(fd, &addr.any, len) != 0 || !add_membership(udp, fd, ip))
		return -errno;
	return 0;
}

static int open_group(struct host_udp *udp, struct host_udp_group *group)
{
	int fd = make_socket(udp);
	int result;

	if (fd < 0)
		return fd;
	result = bind_group(udp, fd, group->ip);
	if (result < 0) {
		close(fd);
		return result;
	}
	group->cookie = host_udp_cookie(fd);
	group->checked_ns = 0;
	group->app_fd = host_in_own_table() ? -1 : fd;
	group->own_fd = host_in_own_table() || !udp->own_table ? fd : -1;
	return 0;
}

/* An entry that is not in use. There is one: the NIC has no more groups than the table. */
static struct host_udp_group *free_group(struct host_udp_groups *groups)
{
	uint32_t i = 0;

	while (i < groups->count && groups->groups[i].joined)
		i++;
	if (i == NIC_GROUPS_MAX)
		return NULL;
	if (i == groups->count)
		groups->count++;
	return &groups->groups[i];
}

static void close_group(struct host_udp *udp, struct host_udp_group *group)
{
	struct hand_message message = {.own_fd = group->own_fd};

	group->joined = false;
	if (host_in_own_table()) {
		if (group->own_fd >= 0)
			close(group->own_fd);
	} else {
		close_app_fd(group->app_fd, group->cookie);
		if (udp->own_table && group->own_fd >= 0)
			(void)hand_over(udp, &message, -1);
	}
	group->app_fd = group->own_fd = -1;
}

static int join(struct host_udp *udp, struct host_udp_group *group)
{
	struct hand_message message = {.index = (uint32_t)(group - udp->groups.groups),
				       .generation = ++udp->groups.generation,
				       .own_fd = -1};
	int result = open_group(udp, group);

	if (result < 0)
		return result;
	group->joined = true;
	group->generation = message.generation;
	if (group->app_fd >= 0) {
		host_udp_fork_watch(group->app_fd, group->cookie);
		watch(udp, group->app_fd);
	}
	if (group->own_fd < 0 && !hand_over(udp, &message, group->app_fd)) {
		close_group(udp, group);
		return -ENOMEM;
	}
	host_udp_heat(udp);
	return 0;
}

int host_udp_group_join(struct host_udp *udp, const uint8_t gid[static 16])
{
	struct host_udp_group *group;
	int result;

	if (!udp->up || !udp->groups.opened)
		return 0;
	group = free_group(&udp->groups);
	if (!group)
		return -ENOMEM;
	memcpy(group->gid, gid, 16);
	host_udp_group_ip(udp->ipv4, gid, group->ip);
	result = join(udp, group);
	return result < 0 && udp->interface.loopback ? 0 : result;
}

/* Membership is the socket's, and there may be two of its descriptors: it ends here all the same.
 */
static void drop_membership(const struct host_udp *udp, int fd, const uint8_t ip[static 16])
{
	if (udp->ipv4) {
		struct ip_mreqn request = {.imr_ifindex = (int)udp->interface.index};

		memcpy(&request.imr_multiaddr, ip + 12, 4);
		(void)setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &request, sizeof(request));
	} else {
		struct ipv6_mreq request = {.ipv6mr_interface = udp->interface.index};

		memcpy(&request.ipv6mr_multiaddr, ip, 16);
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_LEAVE_GROUP, &request, sizeof(request));
	}
}

void host_udp_group_leave(struct host_udp *udp, const uint8_t gid[static 16])
{
	for (uint32_t i = 0; i < udp->groups.count; i++) {
		struct host_udp_group *group = &udp->groups.groups[i];
		int fd;

		if (!group->joined || memcmp(group->gid, gid, 16) != 0)
			continue;
		fd = host_udp_group_fd(udp, group, UINT64_MAX);
		if (fd >= 0)
			drop_membership(udp, fd, group->ip);
		close_group(udp, group);
		return;
	}
}

int host_udp_group_fd(struct host_udp *udp, struct host_udp_group *group, uint64_t now_ns)
{
	if (host_in_own_table())
		return group->own_fd;
	if (group->app_fd < 0 ||
	    !host_udp_still_there(udp, group->app_fd, group->cookie, &group->checked_ns, now_ns))
		return -1;
	return group->app_fd;
}
