/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port.h - the inside of a struct host_port, shared by port.c (its life) and engine.c (who runs
 * when).
 *
 * Threads of a port:
 *   application threads   lend themselves in host_port_progress; hold the lock for control calls
 *   "rig5-port"           joins, answers newcomers, leaves; runs passes when datagrams come and no
 *                         application thread polls; asleep in poll(2) between
 *   "rig5-engine"         runs passes when no application thread does; asleep on member->wake
 * The two of ours block all signals but faults, and have a table of descriptors of their own, so
 * that neither a fork of the application nor a close of all its descriptors touches the port.
 *
 * What is marked [lock] is read and written under the lock only.
 */
#ifndef HOST_PORT_H
#define HOST_PORT_H

#include "host/bell.h"
#include "host/clock.h"
#include "host/faulty.h"
#include "host/host.h"
#include "host/join.h"
#include "host/local.h"
#include "host/lock.h"
#include "host/pcap.h"
#include "host/udp.h"
#include "host/wire.h"
#include "nic/nic.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

/*
 * IDLE: nobody polls. The engine sleeps on member->wake == SHM_ASLEEP until a peer, a deadline or a
 * doorbell; senders wake it.
 * WATCH: an application thread polls. member->wake is SHM_AWAKE, so senders pay nothing; the engine
 * only looks every few milliseconds whether the polling goes on.
 */
enum host_mode { HOST_IDLE, HOST_WATCH };

struct host_port {
	_Alignas(64) struct host_lock lock;
	_Atomic uint32_t app_passes; /* passes that application threads ran */
	_Atomic int mode;            /* enum host_mode */
	_Atomic uint64_t app_left_ns;     /* when an application thread went back, while IDLE */
	_Atomic uint64_t engine_until_ns; /* when the engine wakes by itself; 0: it is awake */
	_Atomic bool stop;

	_Alignas(64) struct nic *nic; /* [lock] */
	struct host_local *local;     /* [lock] */
	struct host_udp udp;          /* [lock] */
	struct host_wire wire;        /* [lock] */
	uint32_t group_count;         /* [lock] multicast groups that the NIC has joined */
	const struct host_udp_packet *incoming; /* [lock] from UDP, while the NIC has it */
	struct host_clock clock;      /* [lock] */
	uint64_t deadline_ns;         /* [lock] of the NIC, after the last pass */
	enum nic_more more;           /* [lock] what the last pass said */
	uint32_t pass_count;          /* [lock] */
	uint64_t cold_look_ns;        /* [lock] when a pass last looked into the socket */
	bool udp_worked;              /* [lock] the last pass sent datagrams */
	uint32_t streak;              /* [lock] application passes in a row while IDLE */
	uint64_t streak_ns;           /* [lock] when it began */
	sigset_t control_mask;        /* [lock] of the thread in host_port_lock */
	bool stats_left;              /* [lock] what the NIC has counted is the port's already */

	struct host_pcap *pcap;     /* [lock] NULL: no capture */
	struct host_faulty *faulty; /* [lock] NULL: a good wire */

	struct host_bell bell;
	uint64_t nap_ns;    /* of the engine, if the bell is deaf: how long the last nap was, */
	uint64_t nap_moved; /* and what packets there had been */

	/* Of the engine. */
	uint32_t short_sleeps;     /* in a row */
	uint64_t crowded_until_ns; /* others want its processor */
	uint64_t crowded_for_ns;   /* since so long before; 0: they did not, last time */

	struct host_port_config config;
	char *name;
	char *address;
	uint8_t gid[16];
	uint16_t lid; /* 0: Ethernet */
	uint32_t mtu_bytes;
	struct host_registry registry;
	struct host_door door;
	uint32_t *alive; /* a page that a child of fork finds wiped */
	pthread_t port_thread;
	pthread_t engine_thread;
	int engine_done; /* eventfd, in the threads' table */
	bool own_table;
	sem_t joined;
	int join_result;
	char *why;
	size_t why_size;
};

/*
 * host_env_init - what the environment asks of the wire: RIG5_PCAP=<file> (host/pcap.h) and
 * RIG5_FAULT=<faults> (host/faulty.h). Before the port's threads start. 0, or -errno with a
 * sentence in port->why. host_env_free undoes it.
 */
int host_env_init(struct host_port *port);
void host_env_free(struct host_port *port);

/* The engine thread's body; arg is the port. */
void *host_engine_main(void *arg);

/* host_engine_kick - makes the engine look again now. Any thread; a system call if it sleeps. */
void host_engine_kick(struct host_port *port);

/* host_engine_datagrams - for the port thread, when datagrams have come: serves them, unless an
 * application thread polls and so will. */
void host_engine_datagrams(struct host_port *port);

/* host_engine_rung - for the port thread, when a store to a register page has stopped: lets it go
 * on, and serves it. */
void host_engine_rung(struct host_port *port);

/* host_engine_finish - [lock held by the caller] runs a pass and those asked for, and releases. */
void host_engine_finish(struct host_port *port);

#endif
