/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/channel.h - event channels as real descriptors: one end of a socket pair is the
 * application's.
 *
 * poll, epoll, read and O_NONBLOCK then work as on the kernel's event files [uverbs.md 4]. All
 * functions but init and free are called under the port's lock.
 *
 * The port's own threads have another table of descriptors than the application: in them a
 * channel's sender has another number. Each new sender is handed over through a socket pair, one
 * end of which those threads kept (struct host_port_config keep_fds). So are descriptors of others
 * (soft_channels_give).
 */
#ifndef SOFT_CHANNEL_H
#define SOFT_CHANNEL_H

#include "kern/kern.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct soft_channel;

struct soft_channels {
	struct soft_channel *slots[KERN_CHANNEL_MAX]; /* NULL: none */
	_Atomic uint32_t limit; /* no slot from here on was ever used */
	_Atomic ino_t inodes[KERN_CHANNEL_MAX]; /* of the application's ends; 0: none */
	uint32_t waiting; /* records that found a socket full, over all channels; may be too high */
	int hand_over;    /* the application's end */
	int take_over;    /* the end that the port's threads keep */
	bool handed;      /* senders are handed over: those threads have their own table */
	uint32_t serial;  /* of the newest channel */
	_Atomic uint32_t handing; /* senders that those threads have not taken over yet */
	int *dead;        /* in that table, to be closed there */
	size_t dead_count;
	size_t dead_room;
	/* Gets the descriptors that soft_channels_give handed over, in that table; keeps them. */
	void (*took)(void *ctx, uint32_t serial, int fd);
	void *took_ctx;
};

/* soft_channels_init - 0 or -errno. take_over is then among the keep_fds of the port. */
int soft_channels_init(struct soft_channels *channels);
/* soft_channels_hand_over - the port's threads run, with a table of their own or not. */
void soft_channels_hand_over(struct soft_channels *channels, bool own_table);
void soft_channels_free(struct soft_channels *channels);

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

/* soft_channels_may_have - whether a socket of that inode is a channel's. Needs no lock; the answer
 * may be old. */
bool soft_channels_may_have(const struct soft_channels *channels, ino_t inode);

/* soft_channels_are_apart - whether the calling thread has the other table. */
bool soft_channels_are_apart(const struct soft_channels *channels);
/* soft_channels_give - hands fd over to the port's threads, if they have a table of their own,
 * where soft_channels_take, called by one of them, passes it to took. 0 or -errno.
 * soft_channels_bury - fd, a number of that table, is closed there soon. */
int soft_channels_give(struct soft_channels *channels, uint32_t serial, int fd);
void soft_channels_take(struct soft_channels *channels);
void soft_channels_bury(struct soft_channels *channels, int fd);

/* soft_channels_tend - sends what waits, as far as there is room again; by a thread of the port,
 * takes over what was handed and closes what is dead. Cost: three loads if there is nothing. */
void soft_channels_tend(struct soft_channels *channels);

/* soft_channels_crowded - whether a thread of the port should run a pass before another channel is
 * opened. Needs no lock. */
bool soft_channels_crowded(struct soft_channels *channels);

#endif
