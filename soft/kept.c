/* SPDX-License-Identifier: BSD-2-Clause */
/* kept.c - a bit for each number; a descriptor with a higher one than there are bits for is kept
 * without one. */
#include "soft/kept.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FIRST = 768, COUNT = SOFT_KEPT_LAST + 1 };

static _Atomic uint64_t bits[COUNT / 64];

static int move_up(int fd)
{
	struct rlimit limit;
	int first = FIRST, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return fd;
	if (limit.rlim_cur < 2 * FIRST)
		first = (int)(limit.rlim_cur / 2);
	high = fcntl(fd, F_DUPFD_CLOEXEC, first);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

int soft_kept_take(int fd)
{
	if (fd < 0)
		return fd;
	fd = move_up(fd);
	if (fd < COUNT)
		atomic_fetch_or(&bits[fd / 64], UINT64_C(1) << fd % 64);
	return fd;
}

void soft_kept_close(int fd)
{
	if (fd >= 0 && fd < COUNT)
		atomic_fetch_and(&bits[fd / 64], ~(UINT64_C(1) << fd % 64));
	close(fd);
}

bool soft_kept_has(int fd)
{
	return fd >= 0 && fd < COUNT &&
	       (atomic_load_explicit(&bits[fd / 64], memory_order_relaxed) >> fd % 64 & 1) != 0;
}
