/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/port.h - a running software NIC: a port of host, the nic in it, and the kernel's view of it.
 *
 * The glue and nothing else: what is made of it (a table of system calls, a preloaded library) is
 * its users' business. One struct soft_port per NIC and process.
 *
 * Threads: calls on kern happen between soft_port_lock and soft_port_unlock. In a child of fork the
 * port is its parent's: soft_port_forked is true, and nothing else may be called.
 */
#ifndef SOFT_PORT_H
#define SOFT_PORT_H

#include "kern/kern.h"
#include "nic/cc/cc.h"
#include "soft/channel.h"
#include "soft/config.h"
#include "soft/dmabuf.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_port;

enum {
	SOFT_PAGE_BYTES = 4096,
	SOFT_PAGE_COUNT = 1024, /* register pages, and the clock's */
};

struct soft_port {
	struct host_port *host;
	struct nic *nic;
	struct kern *kern;
	struct soft_channels channels;
	struct soft_dmabufs dmabufs;
	void *arena;
	size_t arena_bytes;
	void *pages;
	char uverbs[16];
	struct nic_env env;
	struct soft_nic config;
	struct nic_config limits;
	const struct soft_tracer *tracer; /* or NULL */
	pthread_t last_thread;            /* who ran the pass before this one */
};

/*
 * Who is told in words what the NIC and the kernel's model do, a line each: from any thread, under
 * the port's lock.
 */
struct soft_tracer {
	void (*tell)(const char *nic, const char *text);
	int fd; /* that tell needs in the port's own threads; 0: none */
};

/* The names that a port's device has for the kernel's clients; they must outlive the port. */
struct soft_port_names {
	const char *ibdev;   /* NULL: as configured */
	unsigned int uverbs; /* 3: "uverbs3" */
	bool stores; /* its user stores to registers without a word: see host_port_registers */
	const struct kern_pci *pci;       /* NULL: sysfs shows no PCI device */
	const struct soft_tracer *tracer; /* NULL: none */
};

/*
 * soft_port_open - joins or founds the port and brings the NIC up.
 * 0 and *port, or -errno with a sentence in why: as host_port_join, or -ENOMEM.
 */
int soft_port_open(const struct soft_nic *nic, const struct soft_port_names *names,
		   struct soft_port **port, char *why, size_t why_size);
/* soft_port_close - the NIC is gone. Its contexts must have been closed. */
void soft_port_close(struct soft_port *port);

bool soft_port_forked(const struct soft_port *port);
void soft_port_lock(struct soft_port *port);
void soft_port_unlock(struct soft_port *port);

/* soft_port_page - where register page number page is mapped. */
void *soft_port_page(const struct soft_port *port, uint32_t page);
/* soft_port_map - maps count register pages once more, for an application, which may unmap them
 * without taking them away from the NIC. As mmap(2) with MAP_SHARED; NULL and errno on failure. */
void *soft_port_map(struct soft_port *port, uint32_t page, uint32_t count, int prot, void *fixed);
/* soft_port_await_takers - before an ioctl that may open a channel. Not under the lock. */
void soft_port_await_takers(struct soft_port *port);

#endif
