/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.c - event channels over SOCK_SEQPACKET socket pairs, one record a packet.
 *
 * Three descriptors: the application's end, our duplicate of it (to take unread records back), and
 * the end that we send from, which the port's threads know by another number. A record that finds
 * the socket full waits in memory, so none is lost.
 */
#include "soft/channel.h"

#include "base/assert.h"
#include "host/host.h"
#include "soft/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SEND_BUFFER_BYTES = 1 << 20, /* as far as the system lets us */
	HANDING_MAX = 64,            /* a socket with default buffers takes more than 200 */
};

struct record {
	size_t len;
	uint8_t bytes[];
};

struct soft_channel {
	struct kern_channel *kern;
	int taker; /* our duplicate of the application's end */
	int sender;
	int own_sender; /* in the table of the port's threads; -1: not taken over yet */
	uint32_t serial;
	dev_t device; /* who the application's end is, however it was duplicated */
	ino_t inode;
	struct record **waiting; /* waiting_count of them, each allocated */
	size_t waiting_count;
	size_t waiting_room;
};

/* ---- handing over ------------------------------------------------------------------------------
 */

enum { SLOT_OTHER = KERN_CHANNEL_MAX }; /* not a channel's: took's */

/* What travels with a descriptor. */
struct label {
	uint32_t slot;
	uint32_t serial;
};

union control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int))];
};

int soft_channels_init(struct soft_channels *channels)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	channels->hand_over = soft_kept_take(ends[0]);
	channels->take_over = soft_kept_take(ends[1]);
	return 0;
}

void soft_channels_hand_over(struct soft_channels *channels, bool own_table)
{
	channels->handed = own_table;
	if (!own_table)
		return;
	/* That end is the other table's now. */
	soft_kept_close(channels->take_over);
}

void soft_channels_free(struct soft_channels *channels)
{
	soft_kept_close(channels->hand_over);
	if (!channels->handed)
		soft_kept_close(channels->take_over);
	free(channels->dead); /* closed with their table */
}

static int hand_over(struct soft_channels *channels, struct label label, int fd)
{
	struct iovec iov = {.iov_base = &label, .iov_len = sizeof(label)};
	union control control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.buf,
			     .msg_controllen = sizeof(control.buf)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	if (!channels->handed)
		return 0;
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	/* Full: the engine took none over although it was waited for. */
	if (sendmsg(channels->hand_over, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EAGAIN ? -EMFILE : -errno;
	atomic_fetch_add(&channels->handing, 1);
	return 0;
}

static void keep(struct soft_channels *channels, struct label label, int fd)
{
	struct soft_channel *channel =
	    label.slot < KERN_CHANNEL_MAX ? channels->slots[label.slot] : NULL;

	if (label.slot == SLOT_OTHER && channels->took)
		channels->took(channels->took_ctx, label.serial, fd);
	else if (channel && channel->serial == label.serial)
		channel->own_sender = fd;
	else
		close(fd); /* closed meanwhile */
}

/* One descriptor of those that wait to be taken over; false: there is none. */
static bool take_one(struct soft_channels *channels)
{
	struct label label;
	struct iovec iov = {.iov_base = &label, .iov_len = sizeof(label)};
	union control control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.buf,
			     .msg_controllen = sizeof(control.buf)};
	int fd;

	if (recvmsg(channels->take_over, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(label))
		return false;
	atomic_fetch_sub(&channels->handing, 1);
	if (!CMSG_FIRSTHDR(&msg))
		return true; /* no room in the table: this one is lost to these threads */
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	keep(channels, label, fd);
	return true;
}

bool soft_channels_are_apart(const struct soft_channels *channels)
{
	return channels->handed && host_in_own_table();
}

int soft_channels_give(struct soft_channels *channels, uint32_t serial, int fd)
{
	return hand_over(channels, (struct label){.slot = SLOT_OTHER, .serial = serial}, fd);
}

void soft_channels_take(struct soft_channels *channels)
{
	while (take_one(channels))
		;
}

/* The sender as the calling thread knows it; -1: it does not. */
static int sender_of(struct soft_channels *channels, const struct soft_channel *channel)
{
	if (!soft_channels_are_apart(channels))
		return channel->sender;
	while (channel->own_sender < 0 && take_one(channels))
		;
	return channel->own_sender;
}

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
	channel->sender = soft_kept_take(ends[1]);
	channel->taker = soft_kept_take(fcntl(ends[0], F_DUPFD_CLOEXEC, 0));
	if (channel->taker < 0 || fstat(ends[0], &stat) < 0) {
		error = -errno;
		if (channel->taker >= 0)
			soft_kept_close(channel->taker);
		close(ends[0]);
		soft_kept_close(channel->sender);
		return error;
	}
	channel->device = stat.st_dev;
	channel->inode = stat.st_ino;
	return ends[0];
}

/* The other table's number is closed by its own threads. */
void soft_channels_bury(struct soft_channels *channels, int fd)
{
	if (channels->dead_count == channels->dead_room) {
		size_t room = channels->dead_room ? 2 * channels->dead_room : 16;
		int *grown = realloc(channels->dead, room * sizeof(*grown));

		if (!grown)
			return; /* stays open until the NIC closes */
		channels->dead = grown;
		channels->dead_room = room;
	}
	channels->dead[channels->dead_count++] = fd;
}

static void drop(struct soft_channels *channels, uint32_t slot)
{
	struct soft_channel *channel = channels->slots[slot];

	/* The application finds the end now, whoever still has a descriptor. */
	shutdown(channel->sender, SHUT_WR);
	if (channel->own_sender >= 0)
		soft_channels_bury(channels, channel->own_sender);
	soft_kept_close(channel->sender);
	soft_kept_close(channel->taker);
	while (channel->waiting_count != 0)
		free(channel->waiting[--channel->waiting_count]);
	free(channel->waiting);
	free(channel);
	channels->slots[slot] = NULL;
	atomic_store(&channels->inodes[slot], 0);
}

int soft_channel_open(struct soft_channels *channels, struct kern_channel *kern)
{
	uint32_t slot = kern_channel_slot(kern);
	struct soft_channel *channel = calloc(1, sizeof(*channel));
	int fd, error;

	ASSERT(!channels->slots[slot]);
	if (!channel)
		return -ENOMEM;
	channel->kern = kern;
	channel->own_sender = -1;
	channel->serial = ++channels->serial;
	fd = open_descriptors(channel);
	if (fd < 0) {
		free(channel);
		return fd;
	}
	channels->slots[slot] = channel;
	atomic_store(&channels->inodes[slot], channel->inode);
	error = hand_over(channels, (struct label){.slot = slot, .serial = channel->serial},
			  channel->sender);
	if (error) {
		close(fd);
		drop(channels, slot);
		return error;
	}
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

bool soft_channels_may_have(const struct soft_channels *channels, ino_t inode)
{
	uint32_t limit = atomic_load_explicit(&channels->limit, memory_order_acquire);

	for (uint32_t slot = 0; slot < limit; slot++)
		if (atomic_load_explicit(&channels->inodes[slot], memory_order_relaxed) == inode)
			return true;
	return false;
}

/* ---- records that wait ------------------------------------------------------------------------
 */

static struct record *record_of(const void *bytes, size_t len)
{
	struct record *record = malloc(sizeof(*record) + len);

	if (!record)
		return NULL;
	record->len = len;
	if (bytes)
		memcpy(record->bytes, bytes, len);
	return record;
}

/* Takes the record, which may be NULL. Out of memory, one is lost; the application can still poll.
 */
static void append(struct soft_channel *channel, struct record *record)
{
	if (record && channel->waiting_count == channel->waiting_room) {
		size_t room = channel->waiting_room ? 2 * channel->waiting_room : 64;
		struct record **grown = realloc(channel->waiting, room * sizeof(*grown));

		if (!grown) {
			free(record);
			return;
		}
		channel->waiting = grown;
		channel->waiting_room = room;
	}
	if (record)
		channel->waiting[channel->waiting_count++] = record;
}

static bool send_now(int sender, const void *bytes, size_t len)
{
	return sender >= 0 && send(sender, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static void flush(struct soft_channels *channels, struct soft_channel *channel)
{
	int sender = sender_of(channels, channel);
	size_t sent = 0;

	while (sent < channel->waiting_count &&
	       send_now(sender, channel->waiting[sent]->bytes, channel->waiting[sent]->len))
		free(channel->waiting[sent++]);
	if (sent == 0)
		return;
	channel->waiting_count -= sent;
	memmove(channel->waiting, channel->waiting + sent,
		channel->waiting_count * sizeof(*channel->waiting));
}

static void flush_all(struct soft_channels *channels)
{
	channels->waiting = 0;
	for (uint32_t slot = 0; slot < channels->limit; slot++) {
		struct soft_channel *channel = channels->slots[slot];

		if (!channel || channel->waiting_count == 0)
			continue;
		flush(channels, channel);
		channels->waiting += (uint32_t)channel->waiting_count;
	}
}

void soft_channels_tend(struct soft_channels *channels)
{
	if (channels->waiting != 0)
		flush_all(channels);
	if ((channels->dead_count == 0 && atomic_load(&channels->handing) == 0) ||
	    !host_in_own_table())
		return;
	while (atomic_load(&channels->handing) != 0 && take_one(channels))
		;
	while (channels->dead_count != 0)
		close(channels->dead[--channels->dead_count]);
}

bool soft_channels_crowded(struct soft_channels *channels)
{
	return atomic_load(&channels->handing) >= HANDING_MAX;
}

void soft_channel_send(struct soft_channels *channels, struct kern_channel *kern,
		       const void *record, size_t len)
{
	struct soft_channel *channel = channel_at(channels, kern);

	if (channel->waiting_count != 0)
		flush(channels, channel);
	if (channel->waiting_count == 0 && send_now(sender_of(channels, channel), record, len))
		return;
	append(channel, record_of(record, len));
	channels->waiting++;
}

/* ---- taking back ------------------------------------------------------------------------------
 */

static bool names(const struct record *record, uint64_t handle)
{
	return record->len >= sizeof(handle) && memcmp(record->bytes, &handle, sizeof(handle)) == 0;
}

/* The oldest record that the application has not read, or NULL. */
static struct record *take(const struct soft_channel *channel)
{
	struct record *record;
	ssize_t len = recv(channel->taker, NULL, 0, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);

	if (len <= 0)
		return NULL;
	record = record_of(NULL, (size_t)len);
	if (!record)
		return NULL;
	/* Another thread of the application may have read it meanwhile. */
	len = recv(channel->taker, record->bytes, record->len, MSG_DONTWAIT);
	if (len > 0 && (size_t)len <= record->len) {
		record->len = (size_t)len;
		return record;
	}
	free(record);
	return NULL;
}

/* All records that the application has not read, oldest first, in channel->waiting. */
static void take_all(struct soft_channel *channel)
{
	struct soft_channel unread = {.waiting = NULL};
	struct record *record;

	while ((record = take(channel)))
		append(&unread, record);
	for (size_t i = 0; i < channel->waiting_count; i++)
		append(&unread, channel->waiting[i]);
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
		if (names(channel->waiting[i], handle)) {
			withdrawn++;
			free(channel->waiting[i]);
		} else {
			channel->waiting[kept++] = channel->waiting[i];
		}
	}
	channel->waiting_count = kept;
	flush(channels, channel);
	channels->waiting += (uint32_t)channel->waiting_count;
	return withdrawn;
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
	kern_channel_release(
	    kern); /* takes unread records back: our descriptors are still needed */
	drop(channels, slot);
	return true;
}
