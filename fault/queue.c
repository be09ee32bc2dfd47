/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.c - slots in the order of their times. */
#include "fault/queue.h"

#include "base/assert.h"

void fault_queue_init(struct fault_queue *queue)
{
	queue->count = 0;
	queue->first = queue->last = FAULT_QUEUE_NONE;
	queue->free = 0;
	for (uint32_t i = 0; i < FAULT_QUEUE_MAX; i++)
		queue->next[i] = i + 1 < FAULT_QUEUE_MAX ? (uint16_t)(i + 1) : FAULT_QUEUE_NONE;
}

/* Behind slot `before`, which may be none. */
static void link_behind(struct fault_queue *queue, uint16_t before, uint16_t slot)
{
	uint16_t after = before == FAULT_QUEUE_NONE ? queue->first : queue->next[before];

	queue->prev[slot] = before;
	queue->next[slot] = after;
	if (before == FAULT_QUEUE_NONE)
		queue->first = slot;
	else
		queue->next[before] = slot;
	if (after == FAULT_QUEUE_NONE)
		queue->last = slot;
	else
		queue->prev[after] = slot;
}

uint16_t fault_queue_put(struct fault_queue *queue, uint64_t due_ns)
{
	uint16_t slot = queue->free;
	uint16_t before = queue->last;

	if (slot == FAULT_QUEUE_NONE)
		return slot;
	queue->free = queue->next[slot];
	/* From the end: with a fixed delay it belongs there. */
	while (before != FAULT_QUEUE_NONE && queue->due_ns[before] > due_ns)
		before = queue->prev[before];
	queue->due_ns[slot] = due_ns;
	link_behind(queue, before, slot);
	queue->count++;
	return slot;
}

uint64_t fault_queue_due_ns(const struct fault_queue *queue)
{
	return queue->count == 0 ? UINT64_MAX : queue->due_ns[queue->first];
}

void fault_queue_take(struct fault_queue *queue)
{
	uint16_t slot = queue->first;

	ASSERT(queue->count != 0);
	queue->count--;
	queue->first = queue->next[slot];
	if (queue->first == FAULT_QUEUE_NONE)
		queue->last = FAULT_QUEUE_NONE;
	else
		queue->prev[queue->first] = FAULT_QUEUE_NONE;
	queue->next[slot] = queue->free;
	queue->free = slot;
}
