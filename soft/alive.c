/* SPDX-License-Identifier: BSD-2-Clause */
/* alive.c - one page with MADV_WIPEONFORK. */
#include "soft/alive.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

int soft_alive_mark(struct soft_alive *alive)
{
	void *page;

	if (alive->page)
		return 0;
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) < 0) {
		int error = -errno;

		munmap(page, PAGE_BYTES);
		return error;
	}
	alive->page = page;
	*alive->page = 1;
	return 0;
}

bool soft_alive_forked(const struct soft_alive *alive)
{
	return alive->page && *(volatile char *)alive->page == 0;
}

void soft_alive_renew(struct soft_alive *alive)
{
	*alive->page = 1;
}
