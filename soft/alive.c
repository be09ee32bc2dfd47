/* SPDX-License-Identifier: BSD-2-Clause */
/* alive.c - one page with MADV_WIPEONFORK. */
#include "soft/alive.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

/* What the page says. */
enum { FORKED, INHERITING, ALIVE };

int soft_alive_mark(struct soft_alive *alive)
{
	_Atomic char *page;
	void *made;

	if (alive->page)
		return 0;
	made = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return -errno;
	if (madvise(made, PAGE_BYTES, MADV_WIPEONFORK) < 0) {
		int error = -errno;

		munmap(made, PAGE_BYTES);
		return error;
	}
	page = made;
	*page = ALIVE; /* before anybody can find it empty */
	alive->page = page;
	return 0;
}

bool soft_alive_forked(const struct soft_alive *alive)
{
	const _Atomic char *page = alive->page;

	return page && *page != ALIVE;
}

bool soft_alive_inherit(struct soft_alive *alive)
{
	_Atomic char *page = alive->page;
	char forked = FORKED;

	if (!page || *page == ALIVE)
		return false;
	if (atomic_compare_exchange_strong(page, &forked, INHERITING))
		return true;
	while (*page != ALIVE)
		sched_yield();
	return false;
}

void soft_alive_renew(struct soft_alive *alive)
{
	*alive->page = ALIVE;
}
