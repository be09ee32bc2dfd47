/* SPDX-License-Identifier: BSD-2-Clause */
/* faulty.c - carries out fault/'s verdicts on the wires. */
#include "host/faulty.h"

#include "abi/roce.h"
#include "base/assert.h"

#include <errno.h>
#include <string.h>

int host_faulty_init(struct host_faulty *faulty, struct host_wire *wire, const char *text,
		     size_t *wrong)
{
	struct fault_config config;

	memset(faulty, 0, sizeof(*faulty));
	if (!fault_parse(&config, text, wrong))
		return -EINVAL;
	fault_init(&faulty->fault, &config);
	fault_queue_init(&faulty->queue);
	faulty->wire = wire;
	return 0;
}

/* A doubled packet takes two places. */
static bool slow_is_full(const struct host_faulty *faulty)
{
	return faulty->queue.count + 2 > FAULT_QUEUE_MAX;
}

uint8_t *host_faulty_reserve(struct host_faulty *faulty, const struct nic_path *path, uint32_t dqpn,
			     size_t len)
{
	if (slow_is_full(faulty))
		return NULL;
	faulty->path = *path;
	faulty->dqpn = dqpn;
	faulty->len_bytes = len;
	faulty->room = host_wire_reserve(faulty->wire, path, dqpn, len);
	return faulty->room;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void keep(struct host_faulty_held *held, const struct host_faulty *faulty, uint64_t due_ns,
		 int32_t corrupt_bit)
{
	held->path = faulty->path;
	held->dqpn = faulty->dqpn;
	held->len_bytes = (uint32_t)faulty->len_bytes;
	held->corrupt_bit = corrupt_bit;
	held->due_ns = due_ns;
	memcpy(held->bytes, faulty->room, faulty->len_bytes);
}

/* false: there is no room. */
static bool send_held(struct host_faulty *faulty, const struct host_faulty_held *held)
{
	uint8_t *room = host_wire_reserve(faulty->wire, &held->path, held->dqpn, held->len_bytes);

	if (!room)
		return false;
	memcpy(room, held->bytes, held->len_bytes);
	if (held->corrupt_bit >= 0)
		host_wire_corrupt(faulty->wire, (uint32_t)held->corrupt_bit);
	else
		host_wire_commit(faulty->wire);
	return true;
}

void host_faulty_run(struct host_faulty *faulty, uint64_t now_ns)
{
	while (faulty->queue.count != 0 && fault_queue_due_ns(&faulty->queue) <= now_ns &&
	       send_held(faulty, &faulty->slow[faulty->queue.first]))
		fault_queue_take(&faulty->queue);
}

uint64_t host_faulty_due_ns(const struct host_faulty *faulty)
{
	return fault_queue_due_ns(&faulty->queue);
}

/* The packet of the open reservation, onto the slow wire. */
static void send_slowly(struct host_faulty *faulty, uint64_t due_ns, int32_t corrupt_bit)
{
	uint16_t slot = fault_queue_put(&faulty->queue, due_ns);

	ASSERT(slot != FAULT_QUEUE_NONE);
	keep(&faulty->slow[slot], faulty, due_ns, corrupt_bit);
}

/* false: too many are held already, so this one is not. */
static bool hold(struct host_faulty *faulty, uint32_t behind, uint64_t due_ns)
{
	for (int i = 0; i < FAULT_BEHIND_MAX; i++) {
		struct host_faulty_held *held = &faulty->held[i];

		if (held->len_bytes)
			continue;
		keep(held, faulty, due_ns, -1);
		held->behind = behind;
		return true;
	}
	return false;
}

/* On a slow wire it goes behind what is on it. If there is no room it is lost, as on a network. */
static void release(struct host_faulty *faulty, struct host_faulty_held *held, uint64_t now_ns)
{
	uint64_t due_ns = faulty->queue.count ? faulty->queue.due_ns[faulty->queue.last] : now_ns;
	uint16_t slot;

	if (faulty->queue.count == 0 && held->due_ns <= now_ns) {
		(void)send_held(faulty, held);
		return;
	}
	slot = fault_queue_put(&faulty->queue, due_ns > held->due_ns ? due_ns : held->due_ns);
	if (slot != FAULT_QUEUE_NONE)
		faulty->slow[slot] = *held;
}

static void release_held(struct host_faulty *faulty, uint64_t now_ns)
{
	for (int i = 0; i < FAULT_BEHIND_MAX; i++) {
		struct host_faulty_held *held = &faulty->held[i];

		if (!held->len_bytes || --held->behind > 0)
			continue;
		release(faulty, held, now_ns);
		held->len_bytes = 0;
	}
}

/* ---- carrying out a verdict ------------------------------------------------------------------ */

static void commit_slowly(struct host_faulty *faulty, const struct fault_verdict *verdict,
			  uint64_t now_ns)
{
	uint64_t due_ns = now_ns + verdict->delay_ns;

	send_slowly(faulty, due_ns, verdict->corrupt ? (int32_t)verdict->corrupt_bit : -1);
	if (verdict->duplicate && !verdict->corrupt)
		send_slowly(faulty, due_ns, -1);
	host_wire_cancel(faulty->wire);
}

/* The packet of the open reservation gets other bits, if it may; false: it has none to change. */
static bool mark(struct host_faulty *faulty)
{
	uint8_t ecn = nic_traffic_class(&faulty->path, faulty->len_bytes) & ROCE_ECN_MASK;

	if (faulty->wire->open != HOST_WAY_UDP || ecn == ROCE_ECN_NOT_ECT)
		return false;
	faulty->path.ecn = ROCE_ECN_CE;
	return true;
}

/* Made anew: its message has other bits than the one that was begun. */
static void commit_marked(struct host_faulty *faulty, bool twice)
{
	struct host_faulty_held copy;

	keep(&copy, faulty, 0, -1);
	host_wire_cancel(faulty->wire);
	(void)send_held(faulty, &copy);
	if (twice)
		(void)send_held(faulty, &copy);
}

static void commit_at_once(struct host_faulty *faulty, bool twice)
{
	struct host_faulty_held copy;

	if (twice)
		keep(&copy, faulty, 0, -1);
	host_wire_commit(faulty->wire);
	if (twice)
		(void)send_held(faulty, &copy);
}

void host_faulty_commit(struct host_faulty *faulty, uint64_t now_ns)
{
	struct fault_verdict verdict;
	bool marked;

	if (faulty->wire->open == HOST_WAY_NONE) {
		host_wire_commit(faulty->wire);
		return;
	}
	verdict = fault_judge(&faulty->fault, faulty->len_bytes, now_ns);
	marked = verdict.mark && mark(faulty);
	if (verdict.drop || (verdict.behind && !verdict.corrupt &&
			     hold(faulty, verdict.behind, now_ns + verdict.delay_ns))) {
		host_wire_cancel(faulty->wire);
		return;
	}
	if (verdict.delay_ns != 0)
		commit_slowly(faulty, &verdict, now_ns);
	else if (verdict.corrupt)
		host_wire_corrupt(faulty->wire, verdict.corrupt_bit);
	else if (marked)
		commit_marked(faulty, verdict.duplicate);
	else
		commit_at_once(faulty, verdict.duplicate);
	if (!verdict.corrupt)
		release_held(faulty, now_ns);
}
