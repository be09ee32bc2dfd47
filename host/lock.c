/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.c - the paths of the NIC's lock that wait or wake. */
#include "host/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPIN_COUNT = 200 };

static void lock_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* A waiter may sleep on any value of the word; what woke it is that it may be free now. */
static void lock_wake(struct host_lock *lock)
{
	syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool host_lock_try_release_slow(struct host_lock *lock)
{
	uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);

	do {
		/* A waiting control call runs the pass itself when it is done. */
		if ((word & HOST_LOCK_ASKED) && word < HOST_LOCK_WAITER)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&lock->word, &word, word & ~HOST_LOCK_HELD,
							memory_order_acq_rel,
							memory_order_relaxed));
	if (word >= HOST_LOCK_WAITER)
		lock_wake(lock);
	return true;
}

bool host_lock_release(struct host_lock *lock)
{
	uint32_t word =
	    atomic_fetch_and_explicit(&lock->word, ~(uint32_t)HOST_LOCK_HELD, memory_order_acq_rel);

	if (word >= HOST_LOCK_WAITER)
		lock_wake(lock);
	return (word & HOST_LOCK_ASKED) && word < HOST_LOCK_WAITER;
}

void host_lock_acquire(struct host_lock *lock)
{
	uint32_t word =
	    atomic_fetch_add_explicit(&lock->word, HOST_LOCK_WAITER, memory_order_acq_rel) +
	    HOST_LOCK_WAITER;

	for (unsigned int spins = 0;; spins++) {
		if (!(word & HOST_LOCK_HELD)) {
			if (atomic_compare_exchange_weak_explicit(
				&lock->word, &word, (word | HOST_LOCK_HELD) - HOST_LOCK_WAITER,
				memory_order_acq_rel, memory_order_relaxed))
				return;
			continue;
		}
		if (spins < SPIN_COUNT)
			lock_pause();
		else
			syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, word, NULL, NULL, 0);
		word = atomic_load_explicit(&lock->word, memory_order_relaxed);
	}
}
