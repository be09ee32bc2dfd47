/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bell.h - notices a store to a register page while every thread of the port sleeps.
 *
 * A program that calls us after each doorbell needs no bell. One that only stores (a transport that
 * writes work queue entries itself) would not be noticed: so before our threads sleep the bell is
 * hung, which write-protects the pages that the application has mapped; a store then stops until
 * the port thread has read of it and lifted the protection [userfaultfd(2), ioctl_userfaultfd(2)].
 *
 *   hang   protect all pages; then look at every doorbell record once more, and sleep
 *   lift   no store stops; by who is about to store, or when one has stopped
 *
 * A store to a register follows that to its doorbell record, so one that was too early for the
 * protection is found by the look after it.
 *
 * The descriptor is in the application's table and in ours. Should the application close its one,
 * stores stop as if nobody had lifted the protection, and all goes on.
 */
#ifndef HOST_BELL_H
#define HOST_BELL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_BELL_PAGES_MAX = 1024 };

struct host_bell {
	int fd; /* -1: there is none, or the system refuses it */
	_Atomic bool hung;
	pthread_mutex_t mutex; /* of the rest; held for some system calls */
	_Atomic uint32_t count;
	uint64_t pages[HOST_BELL_PAGES_MAX]; /* addresses */
	_Atomic bool deaf;                   /* there are pages that are not protected */
};

/* host_bell_init - a bell without a descriptor. host_bell_open - makes it, in the application's
 * table; the system may refuse, and then the bell is deaf as soon as it has a page. */
void host_bell_init(struct host_bell *bell);
void host_bell_open(struct host_bell *bell);

/* host_bell_close - every page is as it was, for good [a thread of the port, its last act].
 * own_table: closes the descriptor there. host_bell_free - closes the application's; the end. */
void host_bell_close(struct host_bell *bell, bool own_table);
void host_bell_free(struct host_bell *bell);

/* host_bell_add - the application has mapped len_bytes of register pages at va. The bell must be
 * hung anew afterwards. It may unmap them: that needs no call. */
void host_bell_add(struct host_bell *bell, void *va, size_t len_bytes);

void host_bell_hang(struct host_bell *bell);
void host_bell_lift(struct host_bell *bell);

/* host_bell_rang - takes what the descriptor has to say; true: a store has stopped. */
bool host_bell_rang(struct host_bell *bell);

/* host_bell_deaf - whether stores can only be found by looking for them. */
static inline bool host_bell_deaf(const struct host_bell *bell)
{
	return atomic_load_explicit(&bell->deaf, memory_order_relaxed);
}

/* host_bell_is_lifted - whether it has to be hung before all sleep. */
static inline bool host_bell_is_lifted(const struct host_bell *bell)
{
	return atomic_load_explicit(&bell->count, memory_order_relaxed) != 0 &&
	       !atomic_load_explicit(&bell->hung, memory_order_relaxed);
}

/* host_bell_ready - before a store: makes sure that it does not stop. */
static inline void host_bell_ready(struct host_bell *bell)
{
	if (atomic_load_explicit(&bell->hung, memory_order_relaxed))
		host_bell_lift(bell);
}

#endif
