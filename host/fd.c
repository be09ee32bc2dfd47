/* SPDX-License-Identifier: BSD-2-Clause */
/* fd.c - descriptors with high numbers. */
#include "host/fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FD_TOP = 960 };

int host_fd_move_up(int fd)
{
	struct rlimit limit;
	int top = FD_TOP;
	int high;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 256)
		return fd;
	if (limit.rlim_cur < FD_TOP + 64)
		top = (int)limit.rlim_cur - 64;
	high = fcntl(fd, F_DUPFD_CLOEXEC, top);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}
