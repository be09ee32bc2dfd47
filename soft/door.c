/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * door.c - the software NIC behind lib/os.h: each call of the table is answered by the port's model
 * of the kernel, where libc would have asked the real one.
 *
 * A verbs file is a real descriptor (an eventfd that nobody reads), so that its number is no other
 * file's. Event descriptors are real too and are read and polled by the system itself.
 *
 * A child of fork may hold on to its parent's table: every entry looks first whether it is in one,
 * and then refuses without touching a lock that another thread may have held at the fork.
 */
#include "lib/os.h"

#include "base/assert.h"
#include "host/host.h"
#include "soft/alive.h"
#include "soft/config.h"
#include "soft/port.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define UVERBS_NAME "uverbs0"

struct soft_file {
	int fd; /* -1: free */
	struct kern_file *kern;
};

struct soft_door {
	struct lib_os os;
	struct soft_port *port;
	unsigned int users;
	struct soft_door *next_forgotten;
	struct soft_file files[KERN_FILE_MAX];
};

/* ---- the entries -------------------------------------------------------------------------------
 */

/* Under the lock: the verbs file behind fd, or NULL. */
static struct soft_file *file_of(struct soft_door *door, int fd)
{
	for (unsigned int i = 0; i < KERN_FILE_MAX && fd >= 0; i++)
		if (door->files[i].fd == fd)
			return &door->files[i];
	return NULL;
}

static struct soft_file *file_new(struct soft_door *door)
{
	for (unsigned int i = 0; i < KERN_FILE_MAX; i++)
		if (door->files[i].fd < 0)
			return &door->files[i];
	return NULL;
}

static int door_open(void *ctx, const char *path, int flags)
{
	struct soft_door *door = ctx;
	struct soft_file *file;
	int fd, error;

	if (soft_port_forked(door->port))
		return -ENODEV;
	if (strcmp(path, "/dev/infiniband/" UVERBS_NAME) != 0)
		return -ENOENT;
	fd = eventfd(0, flags & O_CLOEXEC ? EFD_CLOEXEC : 0);
	if (fd < 0)
		return -errno;
	soft_port_lock(door->port);
	file = file_new(door);
	error = file ? kern_open(door->port->kern, &file->kern) : -EMFILE;
	if (!error)
		file->fd = fd;
	soft_port_unlock(door->port);
	if (!error)
		return fd;
	close(fd);
	return error;
}

/* Under the lock. */
static void file_close(struct soft_file *file)
{
	kern_close(file->kern, host_now_ns());
	file->fd = -1;
}

static int door_close(void *ctx, int fd)
{
	struct soft_door *door = ctx;
	struct soft_file *file;

	if (!soft_port_forked(door->port)) {
		soft_port_lock(door->port);
		file = file_of(door, fd);
		if (file)
			file_close(file);
		else
			soft_channel_release(&door->port->channels, fd);
		soft_port_unlock(door->port);
	}
	return close(fd) < 0 ? -errno : 0;
}

static int door_ioctl(void *ctx, int fd, unsigned long request, void *arg)
{
	struct soft_door *door = ctx;
	struct soft_file *file;
	int result;

	if (soft_port_forked(door->port))
		return -ENODEV;
	soft_port_await_takers(door->port);
	soft_port_lock(door->port);
	file = file_of(door, fd);
	result = file ? kern_ioctl(file->kern, request, (uintptr_t)arg, host_now_ns()) : -EBADF;
	soft_port_unlock(door->port);
	return result;
}

static void *door_mmap(void *ctx, size_t len, int prot, int flags, int fd, off_t offset, int *error)
{
	struct soft_door *door = ctx;
	struct soft_file *file;
	uint32_t page = 0, count = 0;

	if (soft_port_forked(door->port)) {
		*error = -ENODEV;
		return NULL;
	}
	soft_port_lock(door->port);
	file = file_of(door, fd);
	if (!file)
		*error = -EBADF;
	else if (!(flags & MAP_SHARED) || prot & PROT_EXEC)
		*error = -EINVAL;
	else
		*error =
		    kern_mmap(file->kern, (uint64_t)offset, len, prot & PROT_WRITE, &page, &count);
	soft_port_unlock(door->port);
	return *error ? NULL : soft_port_page(door->port, page);
}

/* The pages belong to the port and stay. */
static int door_munmap(void *ctx, void *addr, size_t len)
{
	(void)ctx;
	(void)addr;
	(void)len;
	return 0;
}

/* What fd has now; -EAGAIN: nothing. */
static ssize_t read_now(int fd, void *buf, size_t len)
{
	ssize_t got = recv(fd, buf, len, MSG_DONTWAIT);

	if (got >= 0)
		return got;
	return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

static ssize_t door_read(void *ctx, int fd, void *buf, size_t len)
{
	struct soft_door *door = ctx;
	ssize_t got;
	int flags;

	if (soft_port_forked(door->port))
		return -ENODEV;
	got = read_now(fd, buf, len);
	if (got == -ENOTSOCK)
		return -EINVAL; /* a verbs file, which has nothing to read */
	flags = fcntl(fd, F_GETFL);
	if (got != -EAGAIN || (flags >= 0 && flags & O_NONBLOCK))
		return got;
	host_port_sleeping(door->port->host);
	got = recv(fd, buf, len, 0);
	return got < 0 ? -errno : got;
}

static int door_poll(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct soft_door *door = ctx;
	int ready;

	if (soft_port_forked(door->port))
		return -ENODEV;
	ready = poll(fds, count, 0);
	if (ready == 0 && timeout_ms != 0) {
		/* From here on nobody lends time to the NIC: its engine thread takes over. */
		host_port_sleeping(door->port->host);
		ready = poll(fds, count, timeout_ms);
	}
	return ready < 0 ? -errno : ready;
}

static ssize_t door_sysfs_read(void *ctx, const char *path, char *buf, size_t size)
{
	struct soft_door *door = ctx;
	ssize_t got;

	if (soft_port_forked(door->port))
		return -ENODEV;
	soft_port_lock(door->port);
	got = kern_sysfs_read(door->port->kern, path, buf, size);
	soft_port_unlock(door->port);
	return got;
}

static int door_sysfs_list(void *ctx, const char *path, unsigned int index, char *name, size_t size)
{
	struct soft_door *door = ctx;

	if (soft_port_forked(door->port))
		return -ENODEV;
	return kern_sysfs_list(door->port->kern, path, index, name, size);
}

static void door_progress(void *ctx)
{
	struct soft_door *door = ctx;

	if (!soft_port_forked(door->port))
		host_port_progress(door->port->host);
}

static int door_flows(void *ctx, uint32_t *from, struct stats_flow *flows, uint32_t max)
{
	struct soft_door *door = ctx;
	uint32_t count;

	if (soft_port_forked(door->port))
		return -ENODEV;
	soft_port_lock(door->port);
	count = nic_stats_flows(door->port->nic, from, flows, max, host_now_ns());
	soft_port_unlock(door->port);
	return (int)count;
}

static int door_qp_flow(void *ctx, uint32_t qpn, struct stats_flow *flow)
{
	struct soft_door *door = ctx;
	int error;

	if (soft_port_forked(door->port))
		return -ENODEV;
	soft_port_lock(door->port);
	error = nic_stats_qp(door->port->nic, qpn, host_now_ns(), flow);
	soft_port_unlock(door->port);
	return error;
}

/* ---- the doors of this process ------------------------------------------------------------------
 */

static struct {
	pthread_mutex_t lock;
	struct soft_door *doors[SOFT_NIC_MAX];
	/* Of the processes that this one descends from: their tables may still be asked. */
	struct soft_door *forgotten;
	struct soft_alive alive;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child starts without doors: its parent's are not its own, and its copy of the lock may be held
 * by a thread that it does not have. */
static void forget_parent(void)
{
	if (!soft_alive_inherit(&process.alive))
		return;
	pthread_mutex_init(&process.lock, NULL);
	for (unsigned int i = 0; i < SOFT_NIC_MAX; i++) {
		struct soft_door *door = process.doors[i];

		if (!door)
			continue;
		door->next_forgotten = process.forgotten;
		process.forgotten = door;
		process.doors[i] = NULL;
	}
	soft_alive_renew(&process.alive);
}

static int read_config(struct soft_config *config, char *why, size_t why_size)
{
	return soft_config_parse(getenv("RIG5_SOFT"), config, why, why_size);
}

static int door_make(const struct soft_nic *nic, struct soft_door **door, char *why,
		     size_t why_size)
{
	struct soft_door *made = calloc(1, sizeof(*made));
	const struct soft_port_names names = {.uverbs = 0};
	int error;

	if (!made)
		return -ENOMEM;
	error = soft_port_open(nic, &names, &made->port, why, why_size);
	if (error) {
		free(made);
		return error;
	}
	for (unsigned int i = 0; i < KERN_FILE_MAX; i++)
		made->files[i].fd = -1;
	made->users = 1;
	made->os = (struct lib_os){
	    .ctx = made,
	    .open = door_open,
	    .close = door_close,
	    .ioctl = door_ioctl,
	    .mmap = door_mmap,
	    .munmap = door_munmap,
	    .read = door_read,
	    .poll = door_poll,
	    .sysfs_read = door_sysfs_read,
	    .sysfs_list = door_sysfs_list,
	    .progress = door_progress,
	    .flows = door_flows,
	    .qp_flow = door_qp_flow,
	};
	*door = made;
	return 0;
}

/* Under process.lock: a reference to the door of nic, which is opened if it is not yet. */
static int door_get(const struct soft_nic *nic, struct soft_door **door, char *why, size_t why_size)
{
	struct soft_door **room = NULL;
	int error;

	for (unsigned int i = 0; i < SOFT_NIC_MAX; i++) {
		struct soft_door *at = process.doors[i];

		if (!at) {
			room = room ? room : &process.doors[i];
		} else if (strcmp(at->port->config.name, nic->name) == 0) {
			at->users++;
			*door = at;
			return 0;
		}
	}
	if (!room)
		return -EMFILE;
	error = door_make(nic, door, why, why_size);
	if (!error)
		*room = *door;
	return error;
}

/* Why there is no such NIC: behind "..., and ". */
static void say_absent(const char *name, char *why, size_t why_size)
{
	if (why_size == 0)
		return;
	if (!name)
		snprintf(why, why_size, "no software NIC: RIG5_SOFT is set to nothing");
	else
		snprintf(why, why_size, "no software NIC called %s: %s", name,
			 getenv("RIG5_SOFT") ? "RIG5_SOFT does not name it"
					     : "RIG5_SOFT is not set, so there is only soft0");
}

int lib_os_soft_open(const char *name, const struct lib_os **os, char *why, size_t why_size)
{
	struct soft_config config;
	const struct soft_nic *nic;
	struct soft_door *door;
	int error;

	if (why_size != 0)
		why[0] = '\0';
	error = read_config(&config, why, why_size);
	if (error)
		return error;
	nic = soft_config_find(&config, name);
	if (!nic) {
		say_absent(name, why, why_size);
		return -ENODEV;
	}
	forget_parent();
	pthread_mutex_lock(&process.lock);
	error = soft_alive_mark(&process.alive);
	if (!error)
		error = door_get(nic, &door, why, why_size);
	pthread_mutex_unlock(&process.lock);
	if (!error)
		*os = &door->os;
	else if (why_size != 0 && why[0] == '\0')
		snprintf(why, why_size, "cannot open software NIC %s: %s", nic->name,
			 strerror(-error));
	return error;
}

static void door_destroy(struct soft_door *door)
{
	soft_port_lock(door->port);
	for (unsigned int i = 0; i < KERN_FILE_MAX; i++) {
		if (door->files[i].fd < 0)
			continue;
		close(door->files[i].fd);
		file_close(&door->files[i]);
	}
	soft_port_unlock(door->port);
	soft_port_close(door->port);
	free(door);
}

void lib_os_soft_close(const struct lib_os *os)
{
	struct soft_door *door = os->ctx;

	/* A parent's door is not ours to close. */
	if (soft_port_forked(door->port))
		return;
	pthread_mutex_lock(&process.lock);
	ASSERT(door->users != 0);
	if (--door->users == 0) {
		for (unsigned int i = 0; i < SOFT_NIC_MAX; i++)
			if (process.doors[i] == door)
				process.doors[i] = NULL;
		door_destroy(door);
	}
	pthread_mutex_unlock(&process.lock);
}

int lib_os_soft_name(unsigned int index, char *name, size_t size)
{
	struct soft_config config;
	char why[256];

	if (read_config(&config, why, sizeof(why)))
		return -EINVAL;
	if (index >= config.count)
		return -ENOENT;
	if (strlen(config.nics[index].name) >= size)
		return -ENAMETOOLONG;
	memcpy(name, config.nics[index].name, strlen(config.nics[index].name) + 1);
	return 0;
}
