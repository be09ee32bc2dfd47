/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - the time for passes: CLOCK_MONOTONIC, read at most about once a microsecond.
 *
 * Reading the clock costs 24 ns, a cycle counter 10 (measured, see docs); an empty pass should cost
 * about 20. So a pass takes the last reading again while the cycle counter says that it is fresh.
 * The counter is never turned into time: if it is wrong (stopped, other core, other rate) a reading
 * is used for a little longer or shorter, and no timer of the NIC is finer than some microseconds.
 *
 * Threads: one owner at a time per struct host_clock (the port's lock).
 */
#ifndef HOST_CLOCK_H
#define HOST_CLOCK_H

#include <stdint.h>

struct host_clock {
	uint64_t ticks;  /* of the cycle counter when now_ns was read */
	uint64_t now_ns; /* 0: none */
};

/* host_now_ns - CLOCK_MONOTONIC now. Any thread. */
uint64_t host_now_ns(void);

/* host_clock_now - CLOCK_MONOTONIC, up to about a microsecond ago. Never runs backwards. */
uint64_t host_clock_now(struct host_clock *clock);

/* host_clock_forget - makes the next host_clock_now read the clock. */
static inline void host_clock_forget(struct host_clock *clock)
{
	clock->now_ns = 0;
}

#endif
