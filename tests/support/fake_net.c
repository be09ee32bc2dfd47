/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_net.c - see fake_net.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/fake_net.h"

void fake_mark(struct fake_world *w, size_t i)
{
	assert_true(i < w->queue_count);
	assert_int_equal(w->queue[i]->path.ecn, ROCE_ECN_ECT_0);
	w->queue[i]->path.ecn = ROCE_ECN_CE;
}

static struct fake_link *link_of(struct fake_net *net, const struct fake_packet *packet)
{
	uint32_t i = packet->from == 0 ? 0 : net->count - 1;

	if (net->link_of)
		i = net->link_of(packet);
	assert_true(i < net->count);
	return &net->links[i];
}

/* The queue behind it is judged when it comes: what waits before it is as long. */
static void depart(struct fake_net *net, struct fake_packet *packet)
{
	struct fake_link *link = link_of(net, packet);
	uint64_t now_ns = net->w->now_ns;
	uint64_t start_ns = link->busy_until_ns > now_ns ? link->busy_until_ns : now_ns;
	uint64_t wait_ns = start_ns - now_ns;
	uint64_t queue_bytes, send_ns = 0;

	if (link->rate_bps != 0)
		send_ns = packet->len_bytes * 8000000000ull / link->rate_bps;
	queue_bytes = wait_ns * (link->rate_bps / 1000) / 8000000;
	if (queue_bytes > link->queue_max_bytes)
		link->queue_max_bytes = queue_bytes;
	link->queue_bytes_ns += queue_bytes * send_ns;
	link->busy_until_ns = start_ns + send_ns;
	packet->due_ns = link->busy_until_ns + link->delay_ns;
	link->packets++;
	link->bytes += packet->len_bytes;
	if (link->mark_above_bytes != 0 && queue_bytes > link->mark_above_bytes &&
	    (nic_traffic_class(&packet->path, packet->len_bytes) & ROCE_ECN_MASK) ==
		ROCE_ECN_ECT_0) {
		packet->path.ecn = ROCE_ECN_CE;
		link->marks++;
	}
}

/* When it is given to whom it is for: who is not run gets it later. */
static uint64_t taken_ns(const struct fake_world *w, const struct fake_packet *packet)
{
	uint64_t from_ns = w->paused_until_ns[1 - packet->from];

	return packet->due_ns > from_ns ? packet->due_ns : from_ns;
}

static bool is_before(const struct fake_world *w, const struct fake_packet *a,
		      const struct fake_packet *b)
{
	uint64_t a_ns = taken_ns(w, a), b_ns = taken_ns(w, b);

	return a_ns != b_ns ? a_ns < b_ns : a->due_ns < b->due_ns;
}

/* The packet that arrives first; queue_count: there is none. */
static size_t next_arrival(struct fake_net *net)
{
	struct fake_world *w = net->w;
	size_t first = w->queue_count;

	for (size_t i = 0; i < w->queue_count; i++) {
		if (w->queue[i]->due_ns == 0)
			depart(net, w->queue[i]);
		if (first == w->queue_count || is_before(w, w->queue[i], w->queue[first]))
			first = i;
	}
	return first;
}

/* When NIC `nic` has something to do by itself. */
static uint64_t wakes_ns(const struct fake_world *w, uint32_t nic)
{
	uint64_t deadline_ns = nic_deadline_ns(w->nics[nic]);

	return deadline_ns > w->paused_until_ns[nic] ? deadline_ns : w->paused_until_ns[nic];
}

void fake_net_run(struct fake_net *net, uint64_t until_ns, void (*app)(void *ctx), void *ctx)
{
	struct fake_world *w = net->w;

	for (;;) {
		size_t i = next_arrival(net);
		uint64_t at_ns = i < w->queue_count ? taken_ns(w, w->queue[i]) : UINT64_MAX;

		for (uint32_t nic = 0; nic < FAKE_NICS; nic++) {
			uint64_t own_ns = wakes_ns(w, nic);

			if (own_ns < at_ns) {
				at_ns = own_ns > w->now_ns ? own_ns : w->now_ns + 1;
				i = SIZE_MAX;
			}
		}
		if (at_ns > until_ns)
			break;
		w->now_ns = at_ns;
		if (i < w->queue_count)
			fake_deliver(w, i);
		else
			fake_advance(w, 0);
		if (app)
			app(ctx);
	}
	w->now_ns = until_ns;
}
