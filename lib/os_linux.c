/* SPDX-License-Identifier: BSD-2-Clause */
/* os_linux.c - the door to libc, and so to the kernel and its adapters. */
#include "lib/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int linux_open(void *ctx, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	(void)ctx;
	return fd < 0 ? -errno : fd;
}

static int linux_close(void *ctx, int fd)
{
	(void)ctx;
	return close(fd) ? -errno : 0;
}

static int linux_ioctl(void *ctx, int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	(void)ctx;
	return ret < 0 ? -errno : ret;
}

static void *linux_mmap(void *ctx, size_t len, int prot, int flags, int fd, off_t offset,
			int *error)
{
	void *addr = mmap(NULL, len, prot, flags, fd, offset);

	(void)ctx;
	if (addr != MAP_FAILED)
		return addr;
	*error = -errno;
	return NULL;
}

static int linux_munmap(void *ctx, void *addr, size_t len)
{
	(void)ctx;
	return munmap(addr, len) ? -errno : 0;
}

static ssize_t linux_read(void *ctx, int fd, void *buf, size_t len)
{
	ssize_t got = read(fd, buf, len);

	(void)ctx;
	return got < 0 ? -errno : got;
}

static int linux_poll(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int ret = poll(fds, count, timeout_ms);

	(void)ctx;
	return ret < 0 ? -errno : ret;
}

static int sys_path(char *full, size_t size, const char *path)
{
	int len = snprintf(full, size, "/sys/%s", path);

	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

static ssize_t linux_sysfs_read(void *ctx, const char *path, char *buf, size_t size)
{
	char full[512];
	int err = sys_path(full, sizeof(full), path);
	int fd = err ? err : linux_open(ctx, full, O_RDONLY);
	ssize_t got;

	if (fd < 0)
		return fd;
	got = linux_read(ctx, fd, buf, size);
	close(fd);
	return got;
}

/*
 * index counts in readdir's order, which sysfs keeps while nothing comes or goes. An entry that
 * comes meanwhile may be listed twice or not at all; a caller then sees it the next time.
 */
static int linux_sysfs_list(void *ctx, const char *path, unsigned int index, char *name,
			    size_t size)
{
	char full[512];
	int err = sys_path(full, sizeof(full), path);
	struct dirent *entry;
	DIR *dir;

	(void)ctx;
	if (err)
		return err;
	dir = opendir(full);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && index-- == 0)
			break;
	if (entry && (size_t)snprintf(name, size, "%s", entry->d_name) >= size)
		err = -ENAMETOOLONG;
	closedir(dir);
	return entry ? err : -ENOENT;
}

const struct lib_os *lib_os_linux(void)
{
	static const struct lib_os os = {
		.open = linux_open,
		.close = linux_close,
		.ioctl = linux_ioctl,
		.mmap = linux_mmap,
		.munmap = linux_munmap,
		.read = linux_read,
		.poll = linux_poll,
		.sysfs_read = linux_sysfs_read,
		.sysfs_list = linux_sysfs_list,
	};

	return &os;
}
