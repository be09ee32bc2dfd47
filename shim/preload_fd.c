/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * preload_fd.c - libc's functions that take or give descriptors.
 *
 * Each asks first whether any verbs file is open in this process: else it costs one load more than
 * the real one.
 */
#include "shim/device.h"
#include "shim/netlink.h"
#include "shim/paths.h"
#include "shim/preload.h"
#include "shim/real.h"

#include "soft/kept.h"

#include <limits.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

EXPORT int socket(int family, int type, int protocol)
{
	if (family == AF_NETLINK && protocol == NETLINK_RDMA && shim_active())
		return shim_result(netlink_open(type));
	return shim_real()->socket(family, type, protocol);
}

static ssize_t sent(ssize_t result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

EXPORT ssize_t send(int fd, const void *data, size_t len, int flags)
{
	return netlink_is(fd) ? sent(netlink_send(fd, data, len))
			      : shim_real()->send(fd, data, len, flags);
}

EXPORT ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len)
{
	return netlink_is(fd) ? sent(netlink_send(fd, data, len))
			      : shim_real()->sendto(fd, data, len, flags, to, to_len);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return netlink_is(fd) ? sent(netlink_send_pieces(fd, msg->msg_iov, msg->msg_iovlen))
			      : shim_real()->sendmsg(fd, msg, flags);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct device_file *file;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	file = device_any() ? device_find(fd) : NULL;
	if (file)
		return shim_result(device_ioctl(file, fd, request, arg));
	return shim_real()->ioctl(fd, request, arg);
}

void *shim_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct device_file *file =
	    fd >= 0 && !(flags & MAP_ANONYMOUS) && device_any() ? device_find(fd) : NULL;
	void *mapped;
	int error;

	if (!file)
		return shim_real()->mmap(addr, len, prot, flags, fd, offset);
	mapped = device_mmap(file, addr, len, prot, flags, offset, &error);
	if (mapped)
		return mapped;
	errno = -error;
	return MAP_FAILED;
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return shim_mmap(addr, len, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return shim_mmap(addr, len, prot, flags, fd, offset);
}

/* ---- closing -----------------------------------------------------------------------------------
 */

EXPORT int close(int fd)
{
	bool ours = device_any() && device_closing(fd);
	int result;

	if (device_keeps(fd))
		return shim_result(-EBADF);
	netlink_closing(fd);
	result = shim_real()->close(fd);
	if (ours)
		device_closed();
	return result;
}

/* [first, last], but for what the NIC keeps. */
static int close_some(unsigned int first, unsigned int last, int flags)
{
	int result = 0;

	for (unsigned int fd = first; fd <= last && fd <= SOFT_KEPT_LAST && result == 0; fd++) {
		if (!device_keeps((int)fd))
			continue;
		if (fd > first)
			result = shim_real()->close_range(first, fd - 1, flags);
		first = fd + 1;
	}
	if (result == 0 && first <= last)
		result = shim_real()->close_range(first, last, flags);
	return result;
}

/* With CLOSE_RANGE_UNSHARE it is about another table than the one that our threads look at. */
EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	int result;

	if (!device_any() || flags != 0)
		return shim_real()->close_range(first, last, flags);
	result = close_some(first, last, flags);
	device_closed();
	return result;
}

EXPORT void closefrom(int first)
{
	(void)close_range(first < 0 ? 0 : (unsigned int)first, ~0u, 0);
}

/* to is closed first, if it is open. */
static int onto(int from, int to, int flags)
{
	bool ours = device_any() && from != to && device_closing(to);
	int result;

	if (device_keeps(to))
		return shim_result(-EBUSY);
	result = flags < 0 ? shim_real()->dup2(from, to) : shim_real()->dup3(from, to, flags);
	if (ours)
		device_closed();
	return result;
}

EXPORT int dup2(int from, int to)
{
	return onto(from, to, -1);
}

EXPORT int dup3(int from, int to, int flags)
{
	return onto(from, to, flags < 0 ? INT_MAX : flags);
}
