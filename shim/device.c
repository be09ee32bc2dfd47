/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.c - verbs files: opening, finding by inode, answering, ending.
 *
 * Files are found without a lock, so that close(2) of a stranger's descriptor takes none, even in a
 * signal handler. The lock of this file is for opening; a port's own is for everything behind it.
 * Signals are blocked under either, so that no handler waits for the thread that it interrupts.
 */
#include "shim/device.h"

#include "abi/uverbs.h"
#include "host/host.h"
#include "host/last.h"
#include "shim/got.h"
#include "shim/hook.h"
#include "shim/paths.h"
#include "shim/preload.h"
#include "shim/real.h"
#include "shim/trace.h"
#include "soft/alive.h"
#include "soft/kept.h"
#include "soft/port.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILE_MAX = SHIM_NIC_MAX * 64 };

struct device_file {
	_Atomic(struct kern_file *) kern; /* NULL: free; or INHERITED */
	_Atomic dev_t device;
	_Atomic ino_t inode;
	struct soft_port *port;
	unsigned int index;  /* of the NIC */
	atomic_bool context; /* it has one */
};

/* What a file of its parent's has in a child of fork that has not used it. */
static char inherited;
#define INHERITED ((struct kern_file *)(void *)&inherited)

static struct {
	pthread_mutex_t lock;
	struct soft_alive alive;
	pid_t pid;
	struct soft_port *ports[SHIM_NIC_MAX];
	struct device_file files[FILE_MAX];
	atomic_uint file_limit; /* no file from here on was ever open */
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void signals_block(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

static void signals_restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* Whether this thread runs in the process that opened the files; also asked in a child of vfork. */
static bool is_own_process(void)
{
	return !soft_alive_forked(&process.alive) && getpid() == process.pid;
}

/* The main thread may end before another opens a verbs file. */
static __attribute__((constructor)) void main_thread_mark(void)
{
	host_last_mark();
}

/* ---- opening -----------------------------------------------------------------------------------
 */

/* A child starts without ports: its copy of the lock may be held by a thread it does not have. */
static void forget_parent(void)
{
	if (!soft_alive_inherit(&process.alive))
		return;
	pthread_mutex_init(&process.lock, NULL);
	memset(process.ports, 0, sizeof(process.ports));
	for (unsigned int i = 0; i < FILE_MAX; i++)
		if (atomic_load(&process.files[i].kern))
			atomic_store(&process.files[i].kern, INHERITED);
	soft_alive_renew(&process.alive);
}

/* One line a failed open: to who reads what the program says. */
static void say(const char *nic, const char *why)
{
	fprintf(stderr, "rig5 run: %s: %s\n", nic, why);
}

/* [lock] */
static int port_get(unsigned int index, struct soft_port **port)
{
	const struct shim_nics *nics = shim_nics();
	struct soft_port_names names;
	char why[256] = "";
	int error = 0;

	if (!nics)
		return -ENODEV;
	names = (struct soft_port_names){
	    .uverbs = nics->uverbs_first + index, .stores = true, .tracer = shim_tracer()};
	if (!process.ports[index])
		error = soft_port_open(&nics->config.nics[index], &names, &process.ports[index],
				       why, sizeof(why));
	if (error)
		say(nics->config.nics[index].name, why[0] ? why : strerror(-error));
	else
		hook_port(index, process.ports[index]->host);
	*port = process.ports[index];
	return error;
}

/* [lock] */
static struct device_file *file_free(void)
{
	for (unsigned int i = 0; i < FILE_MAX; i++)
		if (!atomic_load(&process.files[i].kern))
			return &process.files[i];
	return NULL;
}

/* [lock] The descriptor of a new file, which is not in the table yet. */
static int memfd_open(struct device_file *file, int flags)
{
	struct stat stat;
	char name[32];
	int fd, error;

	snprintf(name, sizeof(name), "rig5-uverbs%u", file->index);
	fd = memfd_create(name, (flags & O_CLOEXEC ? MFD_CLOEXEC : 0u) | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
	    shim_real()->fstat(fd, &stat) < 0) {
		error = -errno;
		shim_real()->close(fd);
		return error;
	}
	if (flags & O_NONBLOCK)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	atomic_store(&file->device, stat.st_dev);
	atomic_store(&file->inode, stat.st_ino);
	return fd;
}

/* [lock] */
static int file_open(unsigned int index, int flags)
{
	struct device_file *file = file_free();
	struct kern_file *kern = NULL;
	struct soft_port *port;
	unsigned int limit;
	int fd, error;

	if (!file)
		return -EMFILE;
	error = port_get(index, &port);
	if (error)
		return error;
	file->port = port;
	file->index = index;
	atomic_store(&file->context, false);
	fd = memfd_open(file, flags);
	if (fd < 0)
		return fd;
	soft_port_lock(port);
	error = kern_open(port->kern, &kern);
	soft_port_unlock(port);
	if (error) {
		shim_real()->close(fd);
		return error;
	}
	atomic_store(&file->kern, kern);
	limit = (unsigned int)(file - process.files) + 1;
	if (limit > atomic_load(&process.file_limit))
		atomic_store(&process.file_limit, limit);
	return fd;
}

int device_open(unsigned int index, int flags)
{
	sigset_t old;
	int result;

	signals_block(&old);
	got_take((void *)shim_mmap);
	forget_parent();
	pthread_mutex_lock(&process.lock);
	result = soft_alive_mark(&process.alive);
	process.pid = getpid();
	if (result == 0)
		result = file_open(index, flags);
	pthread_mutex_unlock(&process.lock);
	signals_restore(&old);
	return result;
}

/* ---- finding -----------------------------------------------------------------------------------
 */

bool device_any(void)
{
	return atomic_load_explicit(&process.file_limit, memory_order_acquire) != 0;
}

static struct device_file *file_find(dev_t device, ino_t inode)
{
	unsigned int limit = atomic_load_explicit(&process.file_limit, memory_order_acquire);

	for (unsigned int i = 0; i < limit; i++) {
		struct device_file *file = &process.files[i];

		if (atomic_load_explicit(&file->kern, memory_order_acquire) &&
		    atomic_load(&file->inode) == inode && atomic_load(&file->device) == device)
			return file;
	}
	return NULL;
}

struct device_file *device_find(int fd)
{
	struct stat stat;
	int error = errno;

	if (!device_any() || fd < 0)
		return NULL;
	if (shim_real()->fstat(fd, &stat) < 0) {
		errno = error;
		return NULL;
	}
	return S_ISREG(stat.st_mode) ? file_find(stat.st_dev, stat.st_ino) : NULL;
}

int device_number(dev_t device, ino_t inode)
{
	struct device_file *file = device_any() ? file_find(device, inode) : NULL;

	return file ? (int)file->index : -1;
}

/* ---- answering ---------------------------------------------------------------------------------
 */

/* [lock] */
static int file_revive(struct device_file *file)
{
	struct kern_file *kern;
	struct soft_port *port;
	int error;

	if (atomic_load(&file->kern) != INHERITED)
		return 0;
	error = port_get(file->index, &port);
	if (error)
		return error;
	soft_port_lock(port);
	error = kern_open(port->kern, &kern);
	if (!error && atomic_load(&file->context))
		kern_inherit(kern);
	soft_port_unlock(port);
	if (error)
		return error;
	file->port = port;
	atomic_store(&file->kern, kern);
	return 0;
}

/* Makes a file of the parent's one of this process, if it is a child of fork. */
static int file_prepare(struct device_file *file)
{
	sigset_t old;
	int error;

	if (is_own_process() && atomic_load(&file->kern) != INHERITED)
		return 0;
	if (!soft_alive_forked(&process.alive) && !is_own_process())
		return -ENODEV; /* a child of vfork */
	signals_block(&old);
	forget_parent();
	pthread_mutex_lock(&process.lock);
	process.pid = getpid();
	error = file_revive(file);
	pthread_mutex_unlock(&process.lock);
	signals_restore(&old);
	return error;
}

/* The header is the application's, and has just been read by kern. */
static bool is_get_context(const struct ib_uverbs_ioctl_hdr *header)
{
	return header->object_id == UVERBS_OBJECT_DEVICE &&
	       header->method_id == UVERBS_METHOD_GET_CONTEXT;
}

int device_ioctl(struct device_file *file, int fd, unsigned long request, void *arg)
{
	struct soft_port *port;
	struct kern_file *kern;
	sigset_t old;
	int result = file_prepare(file);

	if (result)
		return result;
	port = file->port;
	soft_port_await_takers(port);
	signals_block(&old);
	soft_port_lock(port);
	kern = atomic_load(&file->kern);
	result = kern ? kern_ioctl(kern, request, (uintptr_t)arg, host_now_ns()) : -EBADF;
	soft_port_unlock(port);
	signals_restore(&old);
	if (result == 0 && is_get_context(arg))
		atomic_store(&file->context, true);
	if (result == 0)
		hook_after_ioctl(fd, arg);
	return result;
}

void *device_mmap(struct device_file *file, void *addr, size_t len, int prot, int flags,
		  off_t offset, int *error)
{
	uint32_t page = 0, count = 0;
	struct kern_file *kern;
	struct soft_port *port;
	void *mapped;
	sigset_t old;

	*error = file_prepare(file);
	if (*error)
		return NULL;
	port = file->port;
	*error = -EINVAL;
	if (!(flags & MAP_SHARED) || prot & PROT_EXEC)
		return NULL;
	signals_block(&old);
	soft_port_lock(port);
	kern = atomic_load(&file->kern);
	*error = kern ? kern_mmap(kern, (uint64_t)offset, len, prot & PROT_WRITE, &page, &count)
		      : -EBADF;
	soft_port_unlock(port);
	signals_restore(&old);
	if (*error)
		return NULL;
	mapped = soft_port_map(port, page, count, prot, flags & MAP_FIXED ? addr : NULL);
	if (!mapped)
		*error = -errno;
	return mapped;
}

/* ---- ending ------------------------------------------------------------------------------------
 */

struct linux_dirent64 {
	uint64_t inode;
	int64_t offset;
	unsigned short len;
	unsigned char type;
	char name[];
};

/*
 * Calls each for every open descriptor of the process until it returns true. Without allocation: it
 * may be in a signal handler. Whether one returned true; also true where /proc cannot be read.
 */
static bool descriptors_any(bool (*each)(int fd, void *ctx), void *ctx)
{
	_Alignas(struct linux_dirent64) char buf[2048];
	int dir = shim_real()->open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = dir < 0;
	long got;

	while (!found && (got = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < got && !found;) {
			struct linux_dirent64 *entry = (struct linux_dirent64 *)(void *)(buf + at);
			int fd = entry->name[0] == '.' ? -1 : atoi(entry->name);

			found = fd >= 0 && fd != dir && each(fd, ctx);
			at += entry->len;
		}
	}
	if (dir >= 0)
		shim_real()->close(dir);
	return found;
}

static bool marks_file(int fd, void *ctx)
{
	bool *open = ctx;
	struct device_file *file = device_find(fd);

	if (file)
		open[file - process.files] = true;
	return false;
}

/* The application's last descriptor is gone. */
static void file_end(struct device_file *file)
{
	struct soft_port *port = file->port;
	struct kern_file *kern = INHERITED;

	if (atomic_compare_exchange_strong(&file->kern, &kern, NULL))
		return;
	soft_port_lock(port);
	kern = atomic_exchange(&file->kern, NULL);
	if (kern)
		kern_close(kern, host_now_ns());
	soft_port_unlock(port);
}

void device_closed(void)
{
	bool open[FILE_MAX] = {false};
	int error = errno;
	sigset_t old;

	if (!device_any() || !is_own_process())
		return;
	signals_block(&old);
	pthread_mutex_lock(&process.lock);
	if (!descriptors_any(marks_file, open)) {
		for (unsigned int i = 0; i < FILE_MAX; i++)
			if (!open[i] && atomic_load(&process.files[i].kern))
				file_end(&process.files[i]);
	}
	pthread_mutex_unlock(&process.lock);
	signals_restore(&old);
	errno = error;
}

bool device_keeps(int fd)
{
	return device_any() && soft_kept_has(fd) && is_own_process();
}

struct tally {
	ino_t inode;
	unsigned int count;
};

static bool counts_socket(int fd, void *ctx)
{
	struct tally *tally = ctx;
	struct stat stat;

	if (!soft_kept_has(fd) && shim_real()->fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode) &&
	    stat.st_ino == tally->inode)
		tally->count++;
	return false;
}

/* fd, a socket, is about to be closed: is it the last one of a channel? */
static void channel_closing(int fd, ino_t inode)
{
	struct tally tally = {.inode = inode};
	sigset_t old;

	for (unsigned int i = 0; i < SHIM_NIC_MAX; i++) {
		struct soft_port *port = process.ports[i];

		if (!port || !soft_channels_may_have(&port->channels, inode) || !is_own_process())
			continue;
		if (descriptors_any(counts_socket, &tally) || tally.count > 1)
			return;
		signals_block(&old);
		soft_port_lock(port);
		soft_channel_release(&port->channels, fd);
		soft_port_unlock(port);
		signals_restore(&old);
		return;
	}
}

bool device_closing(int fd)
{
	struct stat stat;
	int error = errno;
	bool is_file = false;

	if (!device_any() || fd < 0)
		return false;
	if (shim_real()->fstat(fd, &stat) == 0) {
		is_file = S_ISREG(stat.st_mode) && file_find(stat.st_dev, stat.st_ino);
		if (S_ISSOCK(stat.st_mode))
			channel_closing(fd, stat.st_ino);
	}
	errno = error;
	return is_file && is_own_process();
}
