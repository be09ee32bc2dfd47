/* SPDX-License-Identifier: BSD-2-Clause */
/* bell.c - write protection of register pages. */
#include "host/bell.h"

#include "host/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

enum { PAGE_BYTES = 4096 };

void host_bell_init(struct host_bell *bell)
{
	memset(bell, 0, sizeof(*bell));
	bell->fd = -1;
	pthread_mutex_init(&bell->mutex, NULL);
}

/* Without privilege only faults of user space can be had, which is what a doorbell is. */
void host_bell_open(struct host_bell *bell)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP |
					     UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return;
	if (ioctl(fd, UFFDIO_API, &api) != 0) {
		close(fd);
		return;
	}
	bell->fd = host_fd_move_up(fd);
}

/* false: the pages are not there any more, or not ours. */
static bool protect(const struct host_bell *bell, uint64_t page, bool on)
{
	struct uffdio_writeprotect range = {.range = {.start = page, .len = PAGE_BYTES},
					    .mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};

	while (ioctl(bell->fd, UFFDIO_WRITEPROTECT, &range) != 0)
		if (errno != EAGAIN)
			return false;
	return true;
}

void host_bell_close(struct host_bell *bell, bool own_table)
{
	pthread_mutex_lock(&bell->mutex);
	for (uint32_t i = 0; i < bell->count && bell->fd >= 0; i++) {
		struct uffdio_range range = {.start = bell->pages[i], .len = PAGE_BYTES};

		(void)protect(bell, bell->pages[i], false);
		(void)ioctl(bell->fd, UFFDIO_UNREGISTER, &range);
	}
	bell->count = 0;
	atomic_store(&bell->hung, false);
	atomic_store(&bell->deaf, false);
	if (bell->fd >= 0 && own_table)
		close(bell->fd);
	pthread_mutex_unlock(&bell->mutex);
}

/* Whether the application still has the descriptor, under this number: it may have closed it. */
static bool is_ours(int fd)
{
	static const char name[] = "anon_inode:[userfaultfd]";
	char path[64], target[sizeof(name)];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, target, sizeof(target));
	return len == (ssize_t)strlen(name) && memcmp(target, name, strlen(name)) == 0;
}

void host_bell_free(struct host_bell *bell)
{
	if (bell->fd >= 0 && is_ours(bell->fd))
		close(bell->fd);
	pthread_mutex_destroy(&bell->mutex);
}

static void add_page(struct host_bell *bell, uint64_t page)
{
	struct uffdio_register range = {.range = {.start = page, .len = PAGE_BYTES},
					.mode = UFFDIO_REGISTER_MODE_WP};

	for (uint32_t i = 0; i < bell->count; i++)
		if (bell->pages[i] == page)
			bell->pages[i--] = bell->pages[--bell->count];
	if (bell->fd < 0 || bell->count == HOST_BELL_PAGES_MAX ||
	    ioctl(bell->fd, UFFDIO_REGISTER, &range) != 0)
		atomic_store(&bell->deaf, true);
	else
		bell->pages[bell->count++] = page;
}

void host_bell_add(struct host_bell *bell, void *va, size_t len_bytes)
{
	pthread_mutex_lock(&bell->mutex);
	for (size_t off = 0; off < len_bytes; off += PAGE_BYTES)
		add_page(bell, (uintptr_t)va + off);
	pthread_mutex_unlock(&bell->mutex);
}

/* It counts as hung from the first page on, so that who is about to store waits and lifts it. */
void host_bell_hang(struct host_bell *bell)
{
	pthread_mutex_lock(&bell->mutex);
	if (!atomic_exchange(&bell->hung, bell->count != 0))
		for (uint32_t i = 0; i < bell->count; i++)
			if (!protect(bell, bell->pages[i], true))
				bell->pages[i--] = bell->pages[--bell->count];
	pthread_mutex_unlock(&bell->mutex);
}

void host_bell_lift(struct host_bell *bell)
{
	pthread_mutex_lock(&bell->mutex);
	atomic_store(&bell->hung, false);
	for (uint32_t i = 0; i < bell->count; i++)
		(void)protect(bell, bell->pages[i], false);
	pthread_mutex_unlock(&bell->mutex);
}

bool host_bell_rang(struct host_bell *bell)
{
	struct uffd_msg messages[16];
	bool rang = false;

	while (read(bell->fd, messages, sizeof(messages)) > 0)
		rang = true;
	return rang;
}
