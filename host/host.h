/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/host.h - the real world for the software NIC: the port it shares with other processes of
 * this user, the local wire between them, UDP to other hosts, guarded access to application memory,
 * and who runs the NIC when.
 *
 * One struct host_port is this process's membership of one port (user, network namespace, address).
 * It owns the arena's lock, the engine thread, the registry mapping and the rings. The NIC core
 * itself is given to it by its caller, which also decides what a pass does first (notice).
 *
 * Who calls progress after each ring and each empty poll needs nothing else. A program that only
 * stores to its registers is noticed if its register pages are told of (host_port_registers).
 *
 * The environment: RIG5_PCAP=<file> captures every packet (%p in it: the process's number), and
 * RIG5_FAULT="drop=5%,seed=1" makes the wires bad (fault/fault.h has the words).
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nic;
struct nic_env;
struct nic_config;
struct nic_event;
struct trace_event;
struct host_port;

enum { HOST_KEEP_FDS = 2 };

struct host_port_config {
	const char *name;    /* "soft0", for messages */
	/* "127.0.0.1", "2001:db8::1" or "eth0"; NULL: the first free loopback address of this
	 * user. */
	const char *address;
	bool infiniband;     /* the port has a LID, and address is not looked at */
	uint16_t lid;        /* 1 to 0xbfff; 0: the first LID that is free for this user */
	uint32_t mtu_bytes; /* at most; see host_port_mtu */
	/* Called under the lock at the start of each pass: notice doorbells. May be NULL. */
	void (*notice)(void *ctx, uint64_t now_ns);
	/* Looks at every doorbell record (all: always before the engine sleeps), or at the next
	 * some of them, around and around (now and then). */
	void (*scan)(void *ctx, bool all, uint64_t now_ns);
	/* What nic_env.event becomes: called under the lock, during a pass. */
	void (*event)(void *ctx, const struct nic_event *event);
	/* What nic_env.sync_begin and sync_end become; NULL, both: no key is made that needs
	 * them. */
	bool (*sync_begin)(void *ctx, uint64_t host_va, bool writable);
	void (*sync_end)(void *ctx, uint64_t host_va, bool writable);
	/* What nic_env.trace becomes; NULL: nothing is traced. */
	void (*trace)(void *ctx, const struct trace_event *event);
	void *ctx; /* of all of these */
	/* Whether host_port_registers will be called. */
	bool stores;
	/* Descriptors that the port's own threads keep, under the same numbers; 0: none. */
	int keep_fds[HOST_KEEP_FDS];
};

/*
 * host_port_join - joins (or founds) the port of this user and address.
 * 0 and *port, or -errno with a sentence in why that says what to do:
 *   -EADDRINUSE  another user's port, or a loaded rdma_rxe, has the address
 *   -EOPNOTSUPP  RIG5_PCAP with an InfiniBand port: captures are of RoCE v2
 *   -EUSERS      the registry is full;  -ETIMEDOUT  its members are all stopped
 *   -ENOMEM -EMFILE -EPERM ...  as the system said
 */
int host_port_join(const struct host_port_config *config, struct host_port **port, char *why,
		   size_t why_size);
/* Stops the engine thread, gives back the slot and its queue pair numbers, unmaps. */
void host_port_leave(struct host_port *port);

/* The GID of the port (network order), its LID (0 on Ethernet), and the nic_env whose callbacks
 * this port implements: guarded memory, the wires, queue pair number blocks; .event calls
 * config.event with config.ctx. */
void host_port_gid(const struct host_port *port, uint8_t gid[static 16]);
uint16_t host_port_lid(const struct host_port *port);

/* host_port_mtu - the port's MTU: what its interface carries, 256 to config.mtu_bytes.
 * host_port_interface - the interface's name; "": none (InfiniBand). */
uint32_t host_port_mtu(const struct host_port *port);
const char *host_port_interface(const struct host_port *port);

void host_port_env(struct host_port *port, struct nic_env *env);

/* Gives the port its NIC and starts the engine thread. */
int host_port_start(struct host_port *port, struct nic *nic);

/* The NIC's lock, for control calls. Not recursive. unlock runs a pass first if one was asked
 * for. */
void host_port_lock(struct host_port *port);
void host_port_unlock(struct host_port *port);
uint64_t host_now_ns(void);

/*
 * host_port_progress - lends the calling thread to the NIC: one bounded pass if nobody else is in
 * one; else asks the one that is to go round again. Never blocks. Cost when nothing is to do: about
 * 20 ns.
 */
void host_port_progress(struct host_port *port);
/*
 * host_port_registers - the application has mapped len_bytes of register pages at va, and may store
 * to them without a word to us: a store wakes the engine (host/bell.h). Where the system refuses
 * userfaultfd(2), the engine looks at them from time to time instead, up to 10 ms late.
 * host_port_ringing - before a store by a thread that calls progress after it: it need not stop.
 */
void host_port_registers(struct host_port *port, void *va, size_t len_bytes);
void host_port_ringing(struct host_port *port);
/* This thread is about to sleep in poll(2): the engine thread takes over at once. */
void host_port_sleeping(struct host_port *port);
/* The engine thread runs a pass soon, also if others poll. Not under the lock. */
void host_port_wake(struct host_port *port);

/*
 * The port's own threads have a table of descriptors of their own, where the kernel can do that: in
 * them a callback finds no descriptor of the application but keep_fds.
 * host_port_has_own_table: whether this port's threads do. host_in_own_table: whether the calling
 * thread is such a one, of whatever port.
 */
bool host_port_has_own_table(const struct host_port *port);
bool host_in_own_table(void);

/* true in a child of fork: its parent's ports are not its own. */
bool host_port_forked(const struct host_port *port);

#endif
