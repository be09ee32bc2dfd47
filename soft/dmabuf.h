/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/dmabuf.h - the dma-bufs that regions of the software NIC are made of: mapped into this
 * process, and synchronized around each access [linux dma-buf.h DMA_BUF_IOCTL_SYNC].
 *
 * The application's descriptor is duplicated, so that it may be closed at once. The port's threads
 * have a table of descriptors of their own and get another duplicate through soft_channels. An
 * application that closes our duplicate makes the buffer unreachable for its own threads: what they
 * run on it fails.
 *
 * All functions are called under the port's lock.
 */
#ifndef SOFT_DMABUF_H
#define SOFT_DMABUF_H

#include "soft/channel.h"

#include <stdbool.h>
#include <stdint.h>

struct soft_dmabuf;

struct soft_dmabufs {
	struct soft_channels *channels;
	struct soft_dmabuf *first; /* a list: the one used last comes first */
	uint32_t serial;	   /* of the newest */
};

/* soft_dmabufs_init - channels stays the caller's and must outlive it. */
void soft_dmabufs_init(struct soft_dmabufs *bufs, struct soft_channels *channels);
void soft_dmabufs_free(struct soft_dmabufs *bufs);

/* soft_dmabuf_map, soft_dmabuf_unmap - as of struct kern_env. soft_dmabuf_begin, soft_dmabuf_end -
 * as sync_* of struct nic_env; each one system call. */
int soft_dmabuf_map(struct soft_dmabufs *bufs, int fd, uint64_t offset, uint64_t len, bool writable,
		    uint64_t *va);
void soft_dmabuf_unmap(struct soft_dmabufs *bufs, uint64_t va);
bool soft_dmabuf_begin(struct soft_dmabufs *bufs, uint64_t va, bool writable);
void soft_dmabuf_end(struct soft_dmabufs *bufs, uint64_t va, bool writable);

#endif
