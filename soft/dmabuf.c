/* SPDX-License-Identifier: BSD-2-Clause */
/* dmabuf.c - maps dma-bufs, and tells their exporter when the processor touches them. */
#include "soft/dmabuf.h"

#include "base/assert.h"
#include "soft/kept.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SYNC_TRIES = 1000 };

struct soft_dmabuf {
	struct soft_dmabuf *next;
	uint8_t *map;
	size_t map_bytes;
	uint64_t va; /* of the region's first byte */
	uint64_t len_bytes;
	int fd;	    /* our duplicate */
	int own_fd; /* in the table of the port's threads; -1: not there yet */
	uint32_t serial;
	dev_t device; /* which buffer fd is: the application could have closed it */
	ino_t inode;
};

/* ---- the list ----------------------------------------------------------------------------------
 */

/* The buffer that va is in, moved to the front. */
static struct soft_dmabuf *find(struct soft_dmabufs *bufs, uint64_t va)
{
	for (struct soft_dmabuf **at = &bufs->first; *at; at = &(*at)->next) {
		struct soft_dmabuf *buf = *at;

		if (va - buf->va >= buf->len_bytes)
			continue;
		*at = buf->next;
		buf->next = bufs->first;
		bufs->first = buf;
		return buf;
	}
	UNREACHABLE(); /* no region names what is not mapped */
}

/* A duplicate that came over to the port's threads. */
static void took(void *ctx, uint32_t serial, int fd)
{
	struct soft_dmabufs *bufs = ctx;

	for (struct soft_dmabuf *buf = bufs->first; buf; buf = buf->next) {
		if (buf->serial != serial)
			continue;
		buf->own_fd = fd;
		return;
	}
	close(fd); /* unmapped meanwhile */
}

void soft_dmabufs_init(struct soft_dmabufs *bufs, struct soft_channels *channels)
{
	*bufs = (struct soft_dmabufs){.channels = channels};
	channels->took = took;
	channels->took_ctx = bufs;
}

/* ---- mapping -----------------------------------------------------------------------------------
 */

static void free_buf(struct soft_dmabufs *bufs, struct soft_dmabuf *buf)
{
	if (buf->map)
		munmap(buf->map, buf->map_bytes);
	if (buf->own_fd >= 0)
		soft_channels_bury(bufs->channels, buf->own_fd);
	if (buf->fd >= 0)
		soft_kept_close(buf->fd);
	free(buf);
}

/* fd is a dma-buf, which has all of [offset, offset + len). */
static int check(int fd, uint64_t offset, uint64_t len)
{
	struct statfs fs;
	off_t size;

	if (fstatfs(fd, &fs) != 0)
		return errno == EBADF ? -EBADF : -EINVAL;
	if (fs.f_type != DMA_BUF_MAGIC)
		return -EINVAL;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0 || offset > (uint64_t)size || len > (uint64_t)size - offset)
		return -EINVAL;
	return 0;
}

/*
 * What its exporter does not let a processor map (a GPU's memory) cannot be used here. From the
 * start of the buffer, which costs no memory: exporters that share their pages with DRM's shmem
 * helper map from there whatever offset is asked for [linux drm_gem_shmem_helper.c
 * drm_gem_shmem_fault; seen with 6.1's vgem].
 */
static int map(struct soft_dmabuf *buf, uint64_t offset, bool writable)
{
	void *at;

	buf->map_bytes = offset + buf->len_bytes;
	at = mmap(NULL, buf->map_bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		  buf->fd, 0);
	if (at == MAP_FAILED)
		return errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP;
	buf->map = at;
	/* A child of fork has no part in the region. */
	madvise(at, buf->map_bytes, MADV_DONTFORK);
	buf->va = (uintptr_t)buf->map + offset;
	return 0;
}

static int open_buf(struct soft_dmabufs *bufs, struct soft_dmabuf *buf, int fd, uint64_t offset,
		    bool writable)
{
	struct stat stat;
	int error;

	buf->fd = soft_kept_take(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	if (buf->fd < 0 || fstat(buf->fd, &stat) != 0)
		return -errno;
	buf->device = stat.st_dev;
	buf->inode = stat.st_ino;
	error = map(buf, offset, writable);
	if (error)
		return error;
	return soft_channels_give(bufs->channels, buf->serial, buf->fd);
}

int soft_dmabuf_map(struct soft_dmabufs *bufs, int fd, uint64_t offset, uint64_t len, bool writable,
		    uint64_t *va)
{
	int error = check(fd, offset, len);
	struct soft_dmabuf *buf;

	if (error)
		return error;
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return -ENOMEM;
	buf->fd = buf->own_fd = -1;
	buf->len_bytes = len;
	buf->serial = ++bufs->serial;
	error = open_buf(bufs, buf, fd, offset, writable);
	if (error) {
		free_buf(bufs, buf);
		return error;
	}
	buf->next = bufs->first;
	bufs->first = buf;
	*va = buf->va;
	return 0;
}

void soft_dmabuf_unmap(struct soft_dmabufs *bufs, uint64_t va)
{
	struct soft_dmabuf *buf = find(bufs, va);

	bufs->first = buf->next;
	free_buf(bufs, buf);
}

void soft_dmabufs_free(struct soft_dmabufs *bufs)
{
	while (bufs->first)
		soft_dmabuf_unmap(bufs, bufs->first->va);
}

/* ---- synchronizing ------------------------------------------------------------------------------
 */

/* The buffer as the calling thread knows it; -1: it does not (any more). */
static int fd_here(struct soft_dmabufs *bufs, struct soft_dmabuf *buf)
{
	struct stat stat;

	if (soft_channels_are_apart(bufs->channels)) {
		if (buf->own_fd < 0)
			soft_channels_take(bufs->channels);
		return buf->own_fd;
	}
	if (fstat(buf->fd, &stat) != 0 || stat.st_dev != buf->device || stat.st_ino != buf->inode)
		return -1;
	return buf->fd;
}

static bool sync_buf(struct soft_dmabufs *bufs, uint64_t va, uint64_t flags)
{
	int fd = fd_here(bufs, find(bufs, va));
	struct dma_buf_sync sync = {.flags = flags};
	int result = -1;

	/* EINTR and EAGAIN: try again [linux dma-buf.h]. */
	for (int i = 0; i < SYNC_TRIES && fd >= 0; i++) {
		result = ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
		if (result == 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	return result == 0;
}

static uint64_t direction(bool writable)
{
	return writable ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ;
}

bool soft_dmabuf_begin(struct soft_dmabufs *bufs, uint64_t va, bool writable)
{
	return sync_buf(bufs, va, DMA_BUF_SYNC_START | direction(writable));
}

void soft_dmabuf_end(struct soft_dmabufs *bufs, uint64_t va, bool writable)
{
	/* What was copied cannot be taken back. */
	(void)sync_buf(bufs, va, DMA_BUF_SYNC_END | direction(writable));
}
