/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/channel.h - event channels as real descriptors: one end of a socket pair is the application's.
 *
 * poll, epoll, read and O_NONBLOCK then work as on the kernel's event files [uverbs.md 4]. All
 * functions are called under the port's lock.
 */
#ifndef SOFT_CHANNEL_H
#define SOFT_CHANNEL_H

#include "kern/kern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct soft_channel;

struct soft_channels {
	struct soft_channel *slots[KERN_CHANNEL_MAX]; /* NULL: none */
	uint32_t limit;	      /* no slot from here on was ever used */
	uint32_t waiting;     /* records that found a socket full, over all channels */
};

/* The channel_* callbacks of struct kern_env, on a struct soft_channels. */
int soft_channel_open(struct soft_channels *channels, struct kern_channel *kern);
struct kern_channel *soft_channel_of(struct soft_channels *channels, int fd);
void soft_channel_send(struct soft_channels *channels, struct kern_channel *kern,
		       const void *record, size_t len);
uint32_t soft_channel_withdraw(struct soft_channels *channels, struct kern_channel *kern,
			       uint64_t handle);
void soft_channel_close(struct soft_channels *channels, struct kern_channel *kern);

/* soft_channel_release - the application is about to close fd: if it is a channel's, the channel is
 * given up and true returned. fd itself stays open. */
bool soft_channel_release(struct soft_channels *channels, int fd);

/* soft_channels_flush - sends what waits, as far as there is room again. */
void soft_channels_flush(struct soft_channels *channels);

#endif
