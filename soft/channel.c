/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.c - event channels over SOCK_SEQPACKET socket pairs, one record a packet.
 *
 * Three descriptors: the application's end, our duplicate of it (to take unread records back), and the
 * end that we send from. A record that finds the socket full waits in memory, so none is lost.
 */
#include "soft/channel.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	RECORD_BYTES_MAX = 16,
	SEND_BUFFER_BYTES = 1 << 20, /* as far as the system lets us */
};

struct record {
	uint8_t len;
	uint8_t bytes[RECORD_BYTES_MAX];
};

struct soft_channel {
	struct kern_channel *kern;
	int taker;  /* our duplicate of the application's end */
	int sender;
	dev_t device; /* who the application's end is, however it was duplicated */
	ino_t inode;
	struct record *waiting;
	size_t waiting_count;
	size_t waiting_room;
};

static struct soft_channel *channel_at(const struct soft_channels *channels,
				       const struct kern_channel *kern)
{
	struct soft_channel *channel = channels->slots[kern_channel_slot(kern)];

	ASSERT(channel && channel->kern == kern);
	return channel;
}

/* The three descriptors; the application's is returned. */
static int open_descriptors(struct soft_channel *channel)
{
	int room = SEND_BUFFER_BYTES;
	struct stat stat;
	int ends[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	channel->sender = ends[1];
	channel->taker = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
	if (channel->taker < 0 || fstat(ends[0], &stat) < 0) {
		error = -errno;
		if (channel->taker >= 0)
			close(channel->taker);
		close(ends[0]);
		close(ends[1]);
		return error;
	}
	channel->device = stat.st_dev;
	channel->inode = stat.st_ino;
	return ends[0];
}

int soft_channel_open(struct soft_channels *channels, struct kern_channel *kern)
{
	uint32_t slot = kern_channel_slot(kern);
	struct soft_channel *channel = calloc(1, sizeof(*channel));
	int fd;

	ASSERT(!channels->slots[slot]);
	if (!channel)
		return -ENOMEM;
	fd = open_descriptors(channel);
	if (fd < 0) {
		free(channel);
		return fd;
	}
	channel->kern = kern;
	channels->slots[slot] = channel;
	if (slot >= channels->limit)
		channels->limit = slot + 1;
	return fd;
}

struct kern_channel *soft_channel_of(struct soft_channels *channels, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return NULL;
	for (uint32_t slot = 0; slot < channels->limit; slot++) {
		struct soft_channel *channel = channels->slots[slot];

		if (channel && channel->device == stat.st_dev && channel->inode == stat.st_ino)
			return channel->kern;
	}
	return NULL;
}

/* ---- records that wait ------------------------------------------------------------------------ */

static void append(struct soft_channel *channel, const void *bytes, size_t len)
{
	struct record *record;

	if (channel->waiting_count == channel->waiting_room) {
		size_t room = channel->waiting_room ? 2 * channel->waiting_room : 64;
		struct record *grown = realloc(channel->waiting, room * sizeof(*grown));

		if (!grown)
			return; /* Out of memory: this one is lost; the application can still poll. */
		channel->waiting = grown;
		channel->waiting_room = room;
	}
	record = &channel->waiting[channel->waiting_count++];
	record->len = (uint8_t)len;
	memcpy(record->bytes, bytes, len);
}

static bool send_now(const struct soft_channel *channel, const void *bytes, size_t len)
{
	return send(channel->sender, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static void flush(struct soft_channel *channel)
{
	size_t sent = 0;

	while (sent < channel->waiting_count &&
	       send_now(channel, channel->waiting[sent].bytes, channel->waiting[sent].len))
		sent++;
	if (sent == 0)
		return;
	channel->waiting_count -= sent;
	memmove(channel->waiting, channel->waiting + sent,
		channel->waiting_count * sizeof(*channel->waiting));
}

void soft_channels_flush(struct soft_channels *channels)
{
	channels->waiting = 0;
	for (uint32_t slot = 0; slot < channels->limit; slot++) {
		struct soft_channel *channel = channels->slots[slot];

		if (!channel)
			continue;
		flush(channel);
		channels->waiting += (uint32_t)channel->waiting_count;
	}
}

void soft_channel_send(struct soft_channels *channels, struct kern_channel *kern,
		       const void *record, size_t len)
{
	struct soft_channel *channel = channel_at(channels, kern);

	ASSERT(len <= RECORD_BYTES_MAX);
	if (channel->waiting_count != 0)
		flush(channel);
	if (channel->waiting_count == 0 && send_now(channel, record, len))
		return;
	append(channel, record, len);
	channels->waiting = 1; /* counted right by the next flush */
}

/* ---- taking back ------------------------------------------------------------------------------ */

static bool names(const struct record *record, uint64_t handle)
{
	return memcmp(record->bytes, &handle, sizeof(handle)) == 0;
}

/* All records that the application has not read, oldest first, in channel->waiting. */
static void take_all(struct soft_channel *channel)
{
	struct soft_channel unread = {.waiting = NULL};
	struct record record;
	ssize_t len;

	while ((len = recv(channel->taker, record.bytes, sizeof(record.bytes), MSG_DONTWAIT)) > 0)
		append(&unread, record.bytes, (size_t)len);
	for (size_t i = 0; i < channel->waiting_count; i++)
		append(&unread, channel->waiting[i].bytes, channel->waiting[i].len);
	free(channel->waiting);
	channel->waiting = unread.waiting;
	channel->waiting_count = unread.waiting_count;
	channel->waiting_room = unread.waiting_room;
}

uint32_t soft_channel_withdraw(struct soft_channels *channels, struct kern_channel *kern,
			       uint64_t handle)
{
	struct soft_channel *channel = channel_at(channels, kern);
	size_t kept = 0;
	uint32_t withdrawn = 0;

	take_all(channel);
	for (size_t i = 0; i < channel->waiting_count; i++) {
		if (names(&channel->waiting[i], handle))
			withdrawn++;
		else
			channel->waiting[kept++] = channel->waiting[i];
	}
	channel->waiting_count = kept;
	flush(channel);
	channels->waiting += (uint32_t)channel->waiting_count;
	return withdrawn;
}

static void drop(struct soft_channels *channels, uint32_t slot)
{
	struct soft_channel *channel = channels->slots[slot];

	close(channel->sender);
	close(channel->taker);
	free(channel->waiting);
	free(channel);
	channels->slots[slot] = NULL;
}

void soft_channel_close(struct soft_channels *channels, struct kern_channel *kern)
{
	ASSERT(channel_at(channels, kern));
	drop(channels, kern_channel_slot(kern));
}

bool soft_channel_release(struct soft_channels *channels, int fd)
{
	struct kern_channel *kern = soft_channel_of(channels, fd);
	uint32_t slot;

	if (!kern)
		return false;
	slot = kern_channel_slot(kern);
	kern_channel_release(kern); /* takes unread records back: our descriptors are still needed */
	drop(channels, slot);
	return true;
}
