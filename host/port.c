/* SPDX-License-Identifier: BSD-2-Clause */
/* port.c - the life of a port's membership, its control lock, and its nic_env. */
#include "host/port.h"

#include "base/assert.h"
#include "host/group.h"
#include "host/guard.h"
#include "host/last.h"
#include "host/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KEEP_STDERR = 1 };
#else
enum { KEEP_STDERR = 0 };
#endif

/* Room for a signal frame of wide registers and for the program's thread-local data. */
enum { STACK_BYTES = 512 * 1024, SLICE_NS = 100000 };

/* ---- the port's own threads ----------------------------------------------------------------- */

/* All signals but faults, which a guarded copy may take. */
static void mask_for_threads(sigset_t *mask)
{
	sigfillset(mask);
	sigdelset(mask, SIGSEGV);
	sigdelset(mask, SIGBUS);
	sigdelset(mask, SIGFPE);
	sigdelset(mask, SIGILL);
	sigdelset(mask, SIGTRAP);
	sigdelset(mask, SIGABRT);
}

static int thread_start(pthread_t *thread, void *(*body)(void *), struct host_port *port)
{
	pthread_attr_t attr;
	sigset_t mask, old;
	int error;

	mask_for_threads(&mask);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	error = pthread_create(thread, &attr, body, port);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -error;
}

/* As linux/sched/types.h has it, which cannot be included beside sched.h. */
struct sched_attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns;
	uint64_t rest[2];
};

/*
 * A thread that asks for a short slice gets a processor sooner, also from a program that spins
 * [sched(7), since Linux 6.12; before, nothing changes]. Ours run for microseconds.
 */
static void slice_shorten(void)
{
	struct sched_attributes attr = {.size = sizeof(attr),
					.policy = SCHED_OTHER,
					.nice = getpriority(PRIO_PROCESS, 0),
					.runtime_ns = SLICE_NS};

	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* A descriptor that somebody may wait to see closed (a pipe, a socket) must not stay open here. */
static bool stderr_may_stay(void)
{
	struct stat stat;

	return KEEP_STDERR ||
	       (fstat(2, &stat) == 0 && (S_ISREG(stat.st_mode) || S_ISCHR(stat.st_mode)));
}

/* In the port's own threads, if they have a table of descriptors of their own. */
static _Thread_local bool in_own_table;

bool host_in_own_table(void)
{
	return in_own_table;
}

bool host_port_has_own_table(const struct host_port *port)
{
	return port->own_table;
}

/* Closes [first, last], which may be empty. */
static bool close_between(int first, int last, unsigned int flags)
{
	return first > last ||
	       syscall(SYS_close_range, (unsigned int)first, (unsigned int)last, flags) == 0;
}

static int fd_order(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Unshares the table and closes all from 3 on but keep[], which is put in order. From above,
 * because the range that unshares must not be empty. */
static bool close_all_but(int *keep, size_t count)
{
	int end = INT_MAX;
	unsigned int flags = CLOSE_RANGE_UNSHARE;

	qsort(keep, count, sizeof(*keep), fd_order);
	for (; count > 0 && keep[count - 1] > 2; count--) {
		if (!close_between(keep[count - 1] + 1, end, flags))
			return false;
		end = keep[count - 1] - 1;
		flags = 0;
	}
	return close_between(3, end, flags);
}

/* Also a capture's and that of the register pages. */
enum { KEEP_MAX = HOST_KEEP_FDS + 2 + HOST_UDP_FDS };

/* The descriptors that the port's threads share with the application; how many. */
static size_t fds_to_keep(const struct host_port *port, int keep[static KEEP_MAX])
{
	size_t count = 0;

	for (int i = 0; i < HOST_KEEP_FDS; i++)
		keep[count++] = port->config.keep_fds[i];
	if (port->pcap)
		keep[count++] = port->pcap->fd;
	if (port->bell.fd >= 0)
		keep[count++] = port->bell.fd;
	for (int i = 0; i < HOST_UDP_FDS && port->udp.opened; i++)
		keep[count++] = port->udp.fds[i];
	if (port->udp.groups.opened)
		keep[count++] = port->udp.groups.hand[1];
	return count;
}

/*
 * A table of descriptors for this thread and those it starts, without the application's. If the
 * kernel has no such call (before Linux 5.9) the port's descriptors live in the application's
 * table: then a child of fork that lives on keeps the port's name taken.
 */
static bool table_unshare(const struct host_port *port)
{
	bool keep_stderr = stderr_may_stay();
	int keep[KEEP_MAX];

	if (!close_all_but(keep, fds_to_keep(port, keep)))
		return false;
	in_own_table = true;
	close(0);
	close(1);
	if (!keep_stderr)
		close(2);
	/* So that a stray write to a standard descriptor does not meet one of ours. */
	for (int fd = 0; fd >= 0 && fd <= 2;) {
		fd = open("/dev/null", O_RDWR);
		if (fd > 2)
			close(fd);
	}
	return true;
}

static int say_no_udp(struct host_port *port, int result)
{
	const char *address = host_registry_port(&port->registry)->address;

	if (result == -EADDRINUSE)
		snprintf(port->why, port->why_size,
			 "UDP port 4791 of %s is taken: unload rdma_rxe (rdma link delete), end "
			 "the program that has it, or choose another address",
			 address);
	else
		snprintf(port->why, port->why_size, "no RoCE v2 at %s: %s", address,
			 strerror(-result));
	return result;
}

/* The largest that every way carries. */
static uint32_t mtu_of(const struct host_port *port)
{
	uint32_t mtu_bytes = port->config.mtu_bytes;
	uint32_t fits = host_interface_mtu(port->udp.interface.mtu_bytes, port->udp.ipv4);

	return port->udp.up && fits < mtu_bytes ? fits : mtu_bytes;
}

/* The ways that packets take. On loopback the local one may do: if there are no descriptors, or if
 * somebody else has UDP port 4791. */
static int port_wire(struct host_port *port)
{
	int result = 0;

	port->wire = (struct host_wire){.local = port->local, .udp = &port->udp, .lid = port->lid};
	memcpy(port->wire.gid, port->gid, 16);
	if (port->faulty)
		port->faulty->wire = &port->wire;
	if (port->lid == 0)
		result = host_udp_prepare(&port->udp, port->gid, port->own_table);
	if (port->lid == 0 && result == 0)
		result = host_group_join(&port->registry, &port->udp);
	port->mtu_bytes = mtu_of(port);
	if (result == 0 && port->udp.up && port->mtu_bytes == 0)
		result = -EMSGSIZE;
	return result < 0 && !port->udp.interface.loopback ? say_no_udp(port, result) : 0;
}

static int port_join(struct host_port *port)
{
	const struct host_join_to to = {.address = port->address,
					.infiniband = port->config.infiniband,
					.lid = port->config.lid};
	int result = host_join(&to, &port->registry, &port->door, port->why, port->why_size);

	if (result < 0)
		return result;
	port->engine_done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	port->local = calloc(1, sizeof(*port->local));
	if (port->engine_done >= 0 && port->local) {
		memcpy(port->gid, host_registry_port(&port->registry)->gid, 16);
		port->lid = host_registry_port(&port->registry)->lid;
		host_local_init(port->local, &port->registry);
		result = port_wire(port);
		if (result == 0)
			return 0;
	} else {
		result = port->local ? -errno : -ENOMEM;
		snprintf(port->why, port->why_size, "%s: %s", port->name, strerror(-result));
	}
	if (port->udp.up)
		host_group_leave(&port->registry, &port->udp);
	host_leave(&port->registry, &port->door);
	return result;
}

/* The application has joined or left multicast groups. */
static void port_take_groups(struct host_port *port)
{
	host_lock_acquire(&port->lock);
	host_udp_groups_take(&port->udp);
	host_engine_finish(port);
}

/* stats: the socket of host_stats_answer; < 0: nobody can ask, and all else works. */
static void port_answer(struct host_port *port, int stats)
{
	enum { DONE = HOST_DOOR_COUNT, UDP, BELL, HAND, STATS, COUNT };
	struct pollfd fds[COUNT];

	for (int i = 0; i < HOST_DOOR_COUNT; i++)
		fds[i] = (struct pollfd){.fd = port->door.listening[i], .events = POLLIN};
	fds[DONE] = (struct pollfd){.fd = port->engine_done, .events = POLLIN};
	fds[UDP] = (struct pollfd){.fd = port->udp.up ? port->udp.fds[HOST_UDP_EPOLL] : -1,
				   .events = POLLIN};
	fds[BELL] = (struct pollfd){.fd = port->bell.fd, .events = POLLIN};
	fds[HAND] = (struct pollfd){.fd = port->own_table ? port->udp.groups.hand[1] : -1,
				    .events = POLLIN};
	fds[STATS] = (struct pollfd){.fd = stats, .events = POLLIN};
	for (;;) {
		if (poll(fds, COUNT, -1) < 0)
			continue;
		if (fds[DONE].revents)
			break;
		if (fds[STATS].revents)
			host_stats_answer(port, stats);
		if (fds[HAND].revents)
			port_take_groups(port);
		if (fds[UDP].revents && host_udp_woken(&port->udp))
			host_engine_datagrams(port);
		if (fds[BELL].revents)
			host_engine_rung(port);
		for (int i = 0; i < HOST_DOOR_COUNT; i++)
			if (fds[i].revents)
				host_door_answer(fds[i].fd, &port->door, port->registry.memfd);
	}
}

static void *engine_body(void *arg)
{
	struct host_port *port = (struct host_port *)arg;

	prctl(PR_SET_NAME, "rig5-engine");
	host_last_began();
	slice_shorten();
	in_own_table = port->own_table;
	host_engine_main(port);
	eventfd_write(port->engine_done, 1);
	host_last_ended();
	return NULL;
}

static void *port_body(void *arg)
{
	struct host_port *port = (struct host_port *)arg;
	int stats, result;

	prctl(PR_SET_NAME, "rig5-port");
	host_last_began();
	slice_shorten();
	port->own_table = table_unshare(port);
	result = port_join(port);
	stats = result == 0 ? host_stats_open() : -1;
	if (result == 0) {
		result = thread_start(&port->engine_thread, engine_body, port);
		if (result < 0)
			snprintf(port->why, port->why_size, "%s: no thread: %s", port->name,
				 strerror(-result));
	}
	port->join_result = result;
	sem_post(&port->joined);
	if (result == 0) {
		port_answer(port, stats);
		pthread_join(port->engine_thread, NULL);
		host_stats_leave(port);
		/* An engine that was awake is gone before the one who leaves has kicked it. */
		while (sem_wait(&port->joined) != 0)
			;
	}
	if (stats >= 0)
		close(stats);
	if (port->local && port->udp.up)
		host_group_leave(&port->registry, &port->udp);
	if (port->own_table)
		host_udp_close(&port->udp); /* else port_free does */
	host_bell_close(&port->bell, port->own_table);
	if (port->local) {
		host_leave(&port->registry, &port->door);
		close(port->engine_done);
	}
	host_last_ended();
	return NULL;
}

/* ---- join and leave ------------------------------------------------------------------------- */

static void port_free(struct host_port *port)
{
	host_udp_close_app(&port->udp);
	host_udp_close(&port->udp);
	if (port->local)
		host_local_free(port->local);
	free(port->local);
	host_bell_free(&port->bell);
	host_env_free(port);
	if (port->alive)
		munmap(port->alive, (size_t)sysconf(_SC_PAGESIZE));
	sem_destroy(&port->joined);
	free(port->name);
	free(port->address);
	free(port);
}

/* A word that reads 1 here and 0 in a child. */
static uint32_t *alive_page(void)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t *page =
	    mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	madvise(page, page_bytes, MADV_WIPEONFORK);
	*page = 1;
	return page;
}

/* Where a port is to be; the name of an interface stands for its address. */
static char *address_of(const char *address)
{
	char text[INET6_ADDRSTRLEN];

	return strdup(host_addr_from_interface(address, text) ? text : address);
}

static struct host_port *port_alloc(const struct host_port_config *config)
{
	struct host_port *port = aligned_alloc(64, sizeof(*port));

	if (!port)
		return NULL;
	memset(port, 0, sizeof(*port));
	port->config = *config;
	port->deadline_ns = UINT64_MAX;
	port->registry.memfd = -1;
	host_udp_init(&port->udp);
	host_bell_init(&port->bell);
	port->name = strdup(config->name ? config->name : "port");
	port->address = config->address ? address_of(config->address) : NULL;
	port->alive = alive_page();
	sem_init(&port->joined, 0, 0);
	if (port->name && port->alive && (port->address || !config->address))
		return port;
	port_free(port);
	return NULL;
}

int host_port_join(const struct host_port_config *config, struct host_port **port, char *why,
		   size_t why_size)
{
	char nowhere[2];
	struct host_port *made = port_alloc(config);
	int result = made ? host_guard_install() : -ENOMEM;

	if (!made)
		return result;
	made->why = why && why_size ? why : nowhere;
	made->why_size = why && why_size ? why_size : sizeof(nowhere);
	made->why[0] = 0;
	if (result == 0)
		result = host_env_init(made);
	if (result == 0 && !config->infiniband)
		(void)host_udp_open(&made->udp, made->address);
	if (result == 0 && config->stores)
		host_bell_open(&made->bell);
	host_last_mark();
	if (result == 0)
		result = thread_start(&made->port_thread, port_body, made);
	if (result < 0) {
		if (!made->why[0])
			snprintf(made->why, made->why_size, "%s: %s", made->name,
				 strerror(-result));
		port_free(made);
		return result;
	}
	while (sem_wait(&made->joined) != 0)
		;
	result = made->join_result;
	if (result == 0) {
		*port = made;
		return 0;
	}
	pthread_join(made->port_thread, NULL);
	port_free(made);
	return result;
}

/* The application's descriptors go first, so that a socket is closed when the port's threads close
 * it. */
static void port_udp_leave(struct host_port *port)
{
	if (!port->own_table)
		return;
	host_lock_acquire(&port->lock);
	host_udp_close_app(&port->udp);
	if (host_lock_release(&port->lock))
		host_engine_kick(port);
}

/* What is on the slow wire of RIG5_FAULT would get through without us. */
static void port_hurry(struct host_port *port)
{
	if (!port->faulty)
		return;
	host_lock_acquire(&port->lock);
	host_faulty_run(port->faulty, UINT64_MAX);
	(void)host_udp_flush(&port->udp, host_now_ns());
	host_local_flush(port->local);
	if (host_lock_release(&port->lock))
		host_engine_kick(port);
}

void host_port_leave(struct host_port *port)
{
	/* A child has neither the threads nor the mappings. */
	if (!host_port_forked(port)) {
		port_hurry(port);
		port_udp_leave(port);
		atomic_store(&port->stop, true);
		host_engine_kick(port);
		sem_post(&port->joined); /* from here on the mapping may go */
		pthread_join(port->port_thread, NULL);
	}
	port_free(port);
}

bool host_port_forked(const struct host_port *port)
{
	return *(volatile uint32_t *)port->alive == 0;
}

void host_port_gid(const struct host_port *port, uint8_t gid[static 16])
{
	memcpy(gid, port->gid, 16);
}

uint32_t host_port_mtu(const struct host_port *port)
{
	return port->mtu_bytes;
}

const char *host_port_interface(const struct host_port *port)
{
	return port->udp.interface.name;
}

uint16_t host_port_lid(const struct host_port *port)
{
	return port->lid;
}

int host_port_start(struct host_port *port, struct nic *nic)
{
	host_port_lock(port);
	port->nic = nic;
	host_port_unlock(port);
	host_stats_enter(port);
	return 0;
}

/* ---- the control lock ----------------------------------------------------------------------- */

/* A thread that blocks faults would die of one in here: it does not block them meanwhile. */
void host_port_lock(struct host_port *port)
{
	sigset_t faults, old;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, &old);
	host_lock_acquire(&port->lock);
	port->control_mask = old;
}

void host_port_unlock(struct host_port *port)
{
	sigset_t old = port->control_mask;

	host_engine_finish(port);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
