/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * preload_fd.c - libc's functions that take or give descriptors.
 *
 * Each asks first whether any verbs file is open in this process: else it costs one load more than
 * the real one.
 */
#include "shim/device.h"
#include "shim/paths.h"
#include "shim/preload.h"
#include "shim/real.h"

#include "abi/uverbs.h"

#include <linux/netlink.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Without a netlink socket libibverbs looks for devices in sysfs; with one that knows of no device
 * it would not [rdma-core libibverbs/init.c]. */
EXPORT int socket(int family, int type, int protocol)
{
	if (family == AF_NETLINK && protocol == NETLINK_RDMA && shim_active()) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return shim_real()->socket(family, type, protocol);
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

static void *map(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
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
	return map(addr, len, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return map(addr, len, prot, flags, fd, offset);
}

EXPORT int close(int fd)
{
	bool ours = device_any() && device_closing(fd);
	int result = shim_real()->close(fd);

	if (ours)
		device_closed();
	return result;
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	int result = shim_real()->close_range(first, last, flags);

	if (device_any())
		device_closed();
	return result;
}

EXPORT int dup2(int from, int to)
{
	bool ours = device_any() && from != to && device_closing(to);
	int result = shim_real()->dup2(from, to);

	if (ours)
		device_closed();
	return result;
}

EXPORT int dup3(int from, int to, int flags)
{
	bool ours = device_any() && from != to && device_closing(to);
	int result = shim_real()->dup3(from, to, flags);

	if (ours)
		device_closed();
	return result;
}
