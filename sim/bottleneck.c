/* SPDX-License-Identifier: BSD-2-Clause */
/* bottleneck.c - a port that marks, and flows that share it. */
#include "sim/bottleneck.h"

#include "base/assert.h"

#include <stdlib.h>

enum {
	RING_FIRST = 256,
	PROBE_BYTES = 64,
	PROBE_PACKETS = 8, /* the next probe after so many packets, at the latest */
	PPB_PER_PPM = 1000,
};

#define PPB   1000000000ull
#define NS_S  1000000000ull
#define NEVER NIC_CC_NEVER

static uint64_t wire_ns(uint64_t bytes, uint64_t rate_bps)
{
	return bytes * 8 * NS_S / rate_bps;
}

/* ---- the queue --------------------------------------------------------------------------------
 */

void sim_bottleneck_open(struct sim_bottleneck *bottleneck)
{
	bottleneck->ring_count = RING_FIRST;
	bottleneck->ring = (struct sim_queued *)calloc(RING_FIRST, sizeof(*bottleneck->ring));
	if (bottleneck->ring == NULL)
		abort();
}

void sim_bottleneck_close(struct sim_bottleneck *bottleneck)
{
	free(bottleneck->ring);
	bottleneck->ring = NULL;
}

static struct sim_queued *slot(struct sim_bottleneck *b, uint32_t index)
{
	return &b->ring[index & (b->ring_count - 1)];
}

static void grow(struct sim_bottleneck *b)
{
	struct sim_queued *ring;
	uint32_t count = b->tail - b->head;

	ring = (struct sim_queued *)calloc(2 * (size_t)b->ring_count, sizeof(*ring));
	if (ring == NULL)
		abort();
	for (uint32_t i = 0; i < count; i++)
		ring[i] = *slot(b, b->head + i);
	free(b->ring);
	b->ring = ring;
	b->ring_count *= 2;
	b->head = 0;
	b->tail = count;
}

static bool is_marked(struct sim_bottleneck *b)
{
	const struct sim_bottleneck_config *c = &b->config;
	uint64_t ramp;

	if (c->kmax_bytes == 0 || b->queued_bytes <= c->kmin_bytes)
		return false;
	if (b->queued_bytes > c->kmax_bytes)
		return true;
	ramp = c->pmax_ppm * PPB_PER_PPM * (b->queued_bytes - c->kmin_bytes) /
	       (c->kmax_bytes - c->kmin_bytes);
	return sim_below(b->world, PPB) < ramp;
}

static void arrive(struct sim_flow *flow, const struct sim_queued *packet, bool marked);

static void leave(void *ctx, uint64_t arg)
{
	struct sim_bottleneck *b = (struct sim_bottleneck *)ctx;
	struct sim_queued packet = *slot(b, b->head++);
	bool marked;

	(void)arg;
	b->queued_bytes -= packet.bytes;
	marked = is_marked(b);
	b->marked_count += marked;
	if (b->head != b->tail)
		sim_world_at(b->world,
			     b->world->now_ns +
				 wire_ns(slot(b, b->head)->bytes, b->config.rate_bps),
			     leave, b, 0);
	arrive(packet.flow, &packet, marked);
}

static void enqueue(struct sim_bottleneck *b, const struct sim_queued *packet)
{
	if (b->tail - b->head == b->ring_count)
		grow(b);
	if (b->tail == b->head)
		sim_world_at(b->world,
			     b->world->now_ns + wire_ns(packet->bytes, b->config.rate_bps), leave,
			     b, 0);
	*slot(b, b->tail++) = *packet;
	b->queued_bytes += packet->bytes;
	if (b->queued_bytes > b->peak_bytes)
		b->peak_bytes = b->queued_bytes;
}

/* ---- a flow -----------------------------------------------------------------------------------
 */

static void try_again(void *ctx, uint64_t arg);

static void wake_at(struct sim_flow *flow, uint64_t at_ns)
{
	if (at_ns >= flow->wake_ns)
		return;
	flow->wake_ns = at_ns;
	sim_world_at(flow->world, at_ns, try_again, flow, 0);
}

static void reach_queue(void *ctx, uint64_t sent_ns)
{
	struct sim_flow *flow = (struct sim_flow *)ctx;

	enqueue(flow->bottleneck, &(struct sim_queued){.flow = flow,
						       .sent_ns = sent_ns,
						       .bytes = flow->config.packet_bytes});
}

static void probe_reaches_queue(void *ctx, uint64_t sent_ns)
{
	struct sim_flow *flow = (struct sim_flow *)ctx;

	enqueue(flow->bottleneck,
		&(struct sim_queued){
		    .flow = flow, .sent_ns = sent_ns, .bytes = PROBE_BYTES, .probe = true});
}

/* One probe is under way at most; the next one comes after some packets or a round trip. */
static void maybe_probe(struct sim_flow *flow)
{
	uint64_t now_ns = flow->world->now_ns, since = flow->sent_count - flow->probe_sent_count;

	if (flow->probe_out || since == 0)
		return;
	if (since < PROBE_PACKETS && now_ns - flow->probe_ns < flow->rtt_last_ns)
		return;
	flow->probe_out = true;
	flow->probe_ns = now_ns;
	flow->probe_unsampled = since;
	flow->probe_sent_count = flow->sent_count;
	sim_world_at(flow->world, now_ns + flow->config.delay_ns, probe_reaches_queue, flow,
		     now_ns);
}

static void send_one(struct sim_flow *flow)
{
	uint64_t now_ns = flow->world->now_ns;
	uint64_t rate_bps = flow->sender->rate_bps;

	if (flow->config.first_rate_bps != 0)
		rate_bps = flow->config.first_rate_bps;
	flow->sender->free_ns = now_ns + wire_ns(flow->config.packet_bytes, rate_bps);
	flow->sent_count++;
	nic_cc_on_send(&flow->cc, flow->config.packet_bytes, now_ns);
	sim_world_at(flow->world, now_ns + flow->config.delay_ns, reach_queue, flow, now_ns);
	if (flow->config.probed)
		maybe_probe(flow);
}

static void send_what_may_go(struct sim_flow *flow)
{
	uint64_t now_ns = flow->world->now_ns, at_ns;

	while ((at_ns = nic_cc_may_send(&flow->cc, now_ns)) == 0) {
		if (flow->sender->free_ns > now_ns) {
			at_ns = flow->sender->free_ns;
			break;
		}
		send_one(flow);
	}
	if (at_ns != NEVER)
		wake_at(flow, at_ns);
}

static void try_again(void *ctx, uint64_t arg)
{
	struct sim_flow *flow = (struct sim_flow *)ctx;

	(void)arg;
	if (flow->wake_ns != flow->world->now_ns)
		return; /* an earlier one came in between */
	flow->wake_ns = NEVER;
	send_what_may_go(flow);
}

static void sample(struct sim_flow *flow, uint64_t rtt_ns, uint64_t packets)
{
	flow->rtt_count++;
	flow->rtt_sum_ns += rtt_ns;
	flow->rtt_last_ns = rtt_ns;
	if (flow->sampled != NULL)
		flow->sampled(flow->ctx, flow, rtt_ns);
	nic_cc_on_ack(&flow->cc, rtt_ns, (uint32_t)packets, 0, flow->world->now_ns);
}

static void acknowledged(void *ctx, uint64_t sent_ns)
{
	struct sim_flow *flow = (struct sim_flow *)ctx;

	sample(flow, flow->world->now_ns - sent_ns, 1);
	send_what_may_go(flow);
}

static void probe_answered(void *ctx, uint64_t sent_ns)
{
	struct sim_flow *flow = (struct sim_flow *)ctx;

	flow->probe_out = false;
	sample(flow, flow->world->now_ns - sent_ns, flow->probe_unsampled);
	maybe_probe(flow);
	send_what_may_go(flow);
}

static void notified(void *ctx, uint64_t arg)
{
	struct sim_flow *flow = (struct sim_flow *)ctx;

	(void)arg;
	if (flow->config.first_rate_bps != 0)
		flow->cc.rate_bps = flow->config.first_rate_bps;
	flow->config.first_rate_bps = 0;
	if (nic_cc_on_cnp(&flow->cc, flow->world->now_ns))
		flow->cnp_count++;
	else
		flow->ignored_cnp_count++;
	send_what_may_go(flow);
}

static void arrive(struct sim_flow *flow, const struct sim_queued *packet, bool marked)
{
	uint64_t now_ns = flow->world->now_ns, back_ns = now_ns + flow->config.delay_ns;
	uint64_t interval_ns = flow->config.params->dcqcn.min_time_between_cnps_us * 1000ull;

	if (marked && nic_cnp_due(&flow->limiter, interval_ns, now_ns))
		sim_world_at(flow->world, back_ns, notified, flow, 0);
	if (packet->probe) {
		sim_world_at(flow->world, back_ns, probe_answered, flow, packet->sent_ns);
		return;
	}
	flow->delivered_bytes += packet->bytes;
	if (flow->config.acked)
		sim_world_at(flow->world, back_ns, acknowledged, flow, packet->sent_ns);
}

static void init_cc(struct sim_flow *flow, enum nic_cc_algorithm algorithm)
{
	struct nic_cc_flow fixed = {.line_rate_bps = flow->sender->rate_bps,
				    .mtu_bytes = flow->config.packet_bytes,
				    .acked = flow->config.acked || flow->config.probed};

	nic_cc_init(&flow->cc, algorithm, flow->config.params, &fixed, flow->world->now_ns);
}

void sim_flow_open(struct sim_flow *flow)
{
	flow->wake_ns = NEVER;
	init_cc(flow, flow->config.algorithm);
	if (flow->config.first_window_packets != 0) {
		flow->cc.window_packets = flow->config.first_window_packets;
		flow->cc.rtt.window_q16 = flow->config.first_window_packets << 16;
	}
	wake_at(flow, flow->world->now_ns + flow->config.start_ns);
}

void sim_flow_remap(struct sim_flow *flow, enum nic_cc_algorithm algorithm)
{
	uint32_t inflight = flow->cc.inflight_packets;

	flow->config.algorithm = algorithm;
	init_cc(flow, algorithm);
	flow->cc.inflight_packets = inflight;
	send_what_may_go(flow);
}
