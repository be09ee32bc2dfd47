/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdmacm.c - an event channel for libfabric where there is no connection manager.
 *
 * libfabric's verbs provider opens a channel of librdmacm with each event queue, also for datagram
 * endpoints, which never connect, and gives up without one [ofi-verbs]. So where
 * librdmacm cannot make one, libfabric gets a descriptor on which nothing ever happens. All else
 * that it asks of librdmacm still fails, and it offers no message endpoints; others that look for a
 * connection manager are told that there is none.
 */
#include "shim/device.h"
#include "shim/preload.h"
#include "shim/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

/* librdmacm's, which also frees it: a descriptor in memory of malloc [rdma/rdma_cma.h]. */
struct rdma_event_channel {
	int fd;
};

typedef struct rdma_event_channel *create_fn(void);

create_fn rdma_create_event_channel;

static bool is_of_libfabric(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libfabric");
}

static struct rdma_event_channel *silent_channel(void)
{
	struct rdma_event_channel *channel = malloc(sizeof(*channel));

	if (!channel)
		return NULL;
	channel->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (channel->fd >= 0)
		return channel;
	free(channel);
	return NULL;
}

EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	create_fn *real = (create_fn *)shim_real_of("librdmacm.so.1", "rdma_create_event_channel");
	struct rdma_event_channel *channel;

	if (!real) {
		errno = ENOSYS;
		return NULL;
	}
	channel = real();
	if (channel || !device_any() || !is_of_libfabric(__builtin_return_address(0)))
		return channel;
	return silent_channel();
}
