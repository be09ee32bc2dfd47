/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.h - the lock of a NIC: whoever holds it runs the pass that others ask for.
 *
 * One word. bit 0: held. bit 1: a pass is asked for. bits 31..8: how many control calls wait.
 *
 * A thread with work for the NIC calls host_lock_try_or_ask. Either it gets the lock, or its
 * request is recorded in the same atomic operation that found the lock held; and the holder can
 * give the lock up only by an atomic operation that finds no request. So a request is never lost.
 * Its memory (a doorbell record) is ordered before the request, and the request before the pass
 * that answers it.
 *
 * A control call waits (futex). While one waits, passes are asked for and not begun, so that a
 * polling thread does not keep it out; it runs them when it is done.
 */
#ifndef HOST_LOCK_H
#define HOST_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct host_lock {
	_Atomic uint32_t word;
};

enum {
	HOST_LOCK_HELD = 1,
	HOST_LOCK_ASKED = 2,
	HOST_LOCK_WAITER = 256, /* one */
};

/* host_lock_try_or_ask - true: the caller holds the lock, and is about to run a pass, which answers
 * whatever was asked before. false: somebody else will run one. */
static inline bool host_lock_try_or_ask(struct host_lock *lock)
{
	uint32_t word = 0;

	if (atomic_compare_exchange_strong_explicit(&lock->word, &word, HOST_LOCK_HELD,
						    memory_order_acq_rel, memory_order_relaxed))
		return true;
	for (;;) {
		bool free = word == HOST_LOCK_ASKED || word == 0;
		uint32_t next = free ? HOST_LOCK_HELD : (word | HOST_LOCK_ASKED);

		if (atomic_compare_exchange_weak_explicit(
			&lock->word, &word, next, memory_order_acq_rel, memory_order_relaxed))
			return free;
	}
}

/* host_lock_try - true: the caller holds the lock, and is about to run a pass. false: somebody else
 * does, and nothing is asked of him. */
static inline bool host_lock_try(struct host_lock *lock)
{
	uint32_t word = 0;

	return atomic_compare_exchange_strong_explicit(&lock->word, &word, HOST_LOCK_HELD,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* host_lock_asked - for the holder: whether a pass was asked for; takes the request. */
static inline bool host_lock_asked(struct host_lock *lock)
{
	if (!(atomic_load_explicit(&lock->word, memory_order_relaxed) & HOST_LOCK_ASKED))
		return false;
	atomic_fetch_and_explicit(&lock->word, ~(uint32_t)HOST_LOCK_ASKED, memory_order_acq_rel);
	return true;
}

/* host_lock_try_release - true: given up; false: still held, because a pass was asked for. */
bool host_lock_try_release_slow(struct host_lock *lock);

static inline bool host_lock_try_release(struct host_lock *lock)
{
	uint32_t word = HOST_LOCK_HELD;

	return atomic_compare_exchange_strong_explicit(&lock->word, &word, 0, memory_order_acq_rel,
						       memory_order_relaxed) ||
	       host_lock_try_release_slow(lock);
}

/* host_lock_release - gives up the lock even if a pass was asked for; true: one still is, and
 * somebody must be told. */
bool host_lock_release(struct host_lock *lock);

/* host_lock_acquire - waits for the lock. Not recursive. */
void host_lock_acquire(struct host_lock *lock);

#endif
