/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault/queue.h - which packets are on a slow way, and when each is through.
 *
 * Pure: it holds times and slot numbers; the packets are its owner's, one to a slot. Two with the
 * same time leave in the order in which they came. One owner at a time.
 */
#ifndef FAULT_QUEUE_H
#define FAULT_QUEUE_H

#include <stdint.h>

enum { FAULT_QUEUE_MAX = 1024, FAULT_QUEUE_NONE = 0xffff };

struct fault_queue {
	uint64_t due_ns[FAULT_QUEUE_MAX];
	uint16_t next[FAULT_QUEUE_MAX]; /* of those under way by time; of the free ones */
	uint16_t prev[FAULT_QUEUE_MAX];
	uint16_t first;
	uint16_t last;
	uint16_t free;
	uint32_t count;
};

void fault_queue_init(struct fault_queue *queue);

/* fault_queue_put - a slot for a packet that is through at due_ns; FAULT_QUEUE_NONE: all are
 * taken. */
uint16_t fault_queue_put(struct fault_queue *queue, uint64_t due_ns);

/* fault_queue_due_ns - when the first is through; UINT64_MAX: there is none. */
uint64_t fault_queue_due_ns(const struct fault_queue *queue);

/* fault_queue_take - frees the slot of the first, queue->first, of which there is one. */
void fault_queue_take(struct fault_queue *queue);

#endif
