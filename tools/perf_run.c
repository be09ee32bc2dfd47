/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/perf_run.c - sessions of `rig5 perf`: who says what over TCP, and a queue pair for each
 * test. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf.h"
#include "tools/perf_data.h"
#include "tools/ticks.h"
#include "tools/tools.h"

#define ANSWER_MS  10000
#define INLINE_MAX 220 /* perftest's choice for mlx5 */
#define PAGE       4096

int perf_fail(struct perf *perf, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(perf->why, sizeof(perf->why), format, args);
	va_end(args);
	return err;
}

static int fail_net(struct perf *perf, int err)
{
	if (err == -EINTR)
		return perf_fail(perf, err, "interrupted");
	return perf_fail(perf, err, "the %s is lost: %s", perf->peer, net_error_text(err));
}

static int say(struct perf *perf, enum perf_type type, const uint8_t *payload, int len_bytes)
{
	int err = net_send(&perf->conn, (uint16_t)type, payload, (size_t)len_bytes, ANSWER_MS);

	return err ? fail_net(perf, err) : 0;
}

static int hear(struct perf *perf, enum perf_type type, struct frame *frame)
{
	int err = net_receive(&perf->conn, frame, ANSWER_MS);

	if (!err && frame->type != (uint16_t)type)
		err = -EPROTO;
	return err ? fail_net(perf, err) : 0;
}

static int open_nic(struct perf *perf, const char *nic_name, uint64_t half_bytes)
{
	int err;

	half_bytes = (half_bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	err = link_open(&perf->link, nic_name, half_bytes * 2, RIG_REMOTE_ALL);
	if (err)
		return perf_fail(perf, err, "cannot use a NIC: %s", rig_error());
	perf->half_bytes = half_bytes;
	perf->tx = perf->link.buf;
	perf->rx = perf->link.buf + half_bytes;
	perf->inline_max = perf->link.info.inline_max_bytes;
	if (perf->inline_max > INLINE_MAX)
		perf->inline_max = INLINE_MAX;
	ticks_start();
	return 0;
}

static int say_hello(struct perf *perf)
{
	uint8_t payload[PERF_BYTES_MAX];
	struct perf_hello hello = {.half_bytes = perf->half_bytes};
	struct rig_remote remote;
	int err = rig_region_remote(perf->link.region, perf->half_bytes, perf->half_bytes, &remote);

	if (err)
		return perf_fail(perf, err, "%s", rig_error());
	hello.addr = remote.addr;
	hello.key = remote.key;
	return say(perf, PERF_HELLO, payload, perf_encode_hello(&hello, payload));
}

static int hear_hello(struct perf *perf, struct perf_hello *hello)
{
	struct frame frame;
	int err = hear(perf, PERF_HELLO, &frame);

	if (err)
		return err;
	err = perf_decode_hello(frame.payload, frame.len_bytes, hello);
	if (err)
		return fail_net(perf, err);
	perf->peer_rx = (struct rig_remote){
	    .addr = hello->addr,
	    .len_bytes = hello->half_bytes,
	    .key = hello->key,
	};
	return 0;
}

int perf_client_start(struct perf *perf, const char *nic_name, uint64_t half_bytes)
{
	struct perf_hello hello;
	int err = open_nic(perf, nic_name, half_bytes);

	if (!err)
		err = say_hello(perf);
	if (!err)
		err = hear_hello(perf, &hello);
	if (!err && hello.half_bytes < perf->half_bytes)
		err = fail_net(perf, -EPROTO);
	return err;
}

void perf_end(struct perf *perf)
{
	link_unpair(&perf->link);
	link_close(&perf->link);
	net_conn_close(&perf->conn);
}

/* Lays the messages out, and makes the queue pair. */
static int begin_test(struct perf *perf, const struct perf_test *test, char *endpoint_text)
{
	/* An inline message takes up to four slots of 64 bytes, and credits go by the same ring. */
	int entries = (int)(test->depth < 16 ? 16 : test->depth) * 4;
	struct rig_endpoint endpoint;
	int err;

	perf->test = *test;
	perf->stride_bytes = (test->size_bytes + 63) & ~63u;
	perf->window = test->depth;
	perf->places = 1;
	/* Unchecked messages share one place, as in perftest; checked ones must not overwrite each
	 * other. */
	if (test->check && test->kind == PERF_BANDWIDTH) {
		uint64_t places = perf->half_bytes / perf->stride_bytes;

		if (perf->window > places)
			perf->window = places ? (uint32_t)places : 1;
		perf->places = perf->window;
	}
	perf->entries_done = perf->receives_done = perf->wrong_bytes = 0;
	perf->credits = perf->window;
	perf->idle_ns = 0;
	perf->rx[test->size_bytes - 1] = 0; /* no message's mark */
	err = link_pair(&perf->link, entries, (int)test->depth < 8 ? 8 : (int)test->depth);
	if (err)
		return perf_fail(perf, err, "no queue pair: %s", rig_error());
	err = rig_qp_endpoint(perf->link.qp, &endpoint);
	if (!err && rig_endpoint_print(&endpoint, endpoint_text, PERF_ENDPOINT_MAX + 1) < 0)
		err = -EINVAL;
	return err ? perf_fail(perf, err, "no endpoint: %s", rig_error()) : 0;
}

static int connect_to(struct perf *perf, const char *endpoint_text)
{
	struct rig_endpoint endpoint;
	int err = rig_endpoint_parse(endpoint_text, &endpoint);

	if (err)
		return perf_fail(perf, err, "the %s's endpoint: %s", perf->peer, rig_error());
	err = rig_qp_connect(perf->link.qp, RIG_REMOTE_ALL, &endpoint, NULL);
	return err ? perf_fail(perf, err, "cannot connect: %s", rig_error()) : 0;
}

/* ---- the client's end ---- */

static int start_remote(struct perf *perf, const char *mine)
{
	uint8_t payload[PERF_BYTES_MAX];
	char theirs[PERF_ENDPOINT_MAX + 1];
	struct frame frame;
	int err = say(perf, PERF_TEST, payload, perf_encode_test(&perf->test, mine, payload));

	if (!err)
		err = hear(perf, PERF_READY, &frame);
	if (err)
		return err;
	if (perf_decode_ready(frame.payload, frame.len_bytes, theirs))
		return fail_net(perf, -EPROTO);
	return connect_to(perf, theirs);
}

static int ask_result(struct perf *perf, enum perf_type type, const uint8_t *payload, int len_bytes)
{
	struct frame frame;
	uint64_t wrong_bytes;
	int err = say(perf, type, payload, len_bytes);

	if (!err)
		err = hear(perf, PERF_RESULT, &frame);
	if (err)
		return err;
	if (perf_decode_result(frame.payload, frame.len_bytes, &wrong_bytes))
		return fail_net(perf, -EPROTO);
	perf->wrong_bytes += wrong_bytes;
	return 0;
}

int perf_verify_remote(struct perf *perf, uint32_t first, uint32_t count)
{
	uint8_t payload[PERF_BYTES_MAX];

	return ask_result(perf, PERF_VERIFY, payload, perf_encode_verify(first, count, payload));
}

static int measure_latency(struct perf *perf, struct perf_row *row)
{
	uint64_t *samples = calloc(perf->test.iterations, sizeof(*samples));
	struct perf_stats stats;
	int err;

	if (!samples)
		return perf_fail(perf, -ENOMEM, "no memory for %u samples", perf->test.iterations);
	err = perf_latency_client(perf, samples);
	if (!err) {
		stats = perf_stats(samples, perf->test.iterations);
		row->min_us = ticks_to_us(stats.min);
		row->typical_us = ticks_to_us(stats.median);
		row->p99_us = ticks_to_us(stats.p99);
	}
	free(samples);
	return err;
}

static int measure_bandwidth(struct perf *perf, struct perf_row *row)
{
	uint64_t ticks;
	double us;
	int err = perf_bandwidth_client(perf, &ticks);

	if (err)
		return err;
	us = ticks_to_us(ticks);
	row->messages_per_us = perf->test.iterations / us;
	row->mib_per_s = row->messages_per_us * perf->test.size_bytes * 1e6 / (1 << 20);
	return 0;
}

/* Of the test's queue pair, which was made for it. */
static uint64_t retransmits(const struct perf *perf)
{
	struct rig_flow flow;

	return rig_qp_flow(perf->link.qp, &flow) == 0 ? flow.retransmits : 0;
}

int perf_client_test(struct perf *perf, const struct perf_test *test, struct perf_row *row)
{
	char endpoint[PERF_ENDPOINT_MAX + 1];
	int err = begin_test(perf, test, endpoint);

	*row = (struct perf_row){.test = *test};
	if (!err)
		err = start_remote(perf, endpoint);
	if (!err)
		err = test->kind == PERF_LATENCY ? measure_latency(perf, row)
						 : measure_bandwidth(perf, row);
	if (!err)
		err = ask_result(perf, PERF_FINISH, NULL, 0);
	row->wrong_bytes = perf->wrong_bytes;
	row->retransmits = err ? 0 : retransmits(perf);
	link_unpair(&perf->link);
	return err;
}

/* ---- the target's end ---- */

/* The client's next message. A target that is not passive lends its NIC the time until then. */
static int hear_while_serving(struct perf *perf, struct frame *frame)
{
	int err = -EAGAIN;

	while (err == -EAGAIN || err == -ETIMEDOUT) {
		err = net_receive(&perf->conn, frame, perf->passive ? ANSWER_MS : 0);
		for (int i = 0; err == -EAGAIN && i < 256; i++) {
			int n = perf_drain(perf);

			if (n < 0)
				return n;
		}
		/* The client may measure for long: that is no stall. */
		perf->idle_ns = 0;
	}
	return err ? fail_net(perf, err) : 0;
}

static int answer(struct perf *perf, uint64_t wrong_bytes)
{
	uint8_t payload[PERF_BYTES_MAX];

	return say(perf, PERF_RESULT, payload, perf_encode_result(wrong_bytes, payload));
}

static int answer_verify(struct perf *perf, const struct frame *frame)
{
	uint64_t wrong_bytes = 0;
	uint32_t first, count;

	if (perf_decode_verify(frame->payload, frame->len_bytes, &first, &count))
		return fail_net(perf, -EPROTO);
	for (uint32_t i = 0; i < count; i++)
		wrong_bytes += perf_wrong_bytes(perf_place(perf, perf->rx, first + i),
						perf->test.size_bytes, first + i);
	return answer(perf, wrong_bytes);
}

/* Until the client's FINISH: whatever the test needs of this end. */
static int take_part(struct perf *perf)
{
	int err = 0;

	if (perf->test.kind == PERF_LATENCY && perf->test.op != PERF_READ)
		err = perf_latency_target(perf);
	else if (perf->test.kind == PERF_BANDWIDTH && perf->test.op == PERF_SEND)
		err = perf_bandwidth_target(perf);
	while (!err) {
		struct frame frame;

		err = hear_while_serving(perf, &frame);
		if (!err && frame.type == PERF_FINISH)
			return answer(perf, perf->wrong_bytes);
		if (!err)
			err = frame.type == PERF_VERIFY ? answer_verify(perf, &frame)
							: fail_net(perf, -EPROTO);
	}
	return err;
}

/* What must be there before the client's first message. */
static int prepare(struct perf *perf)
{
	uint32_t receives = perf->test.kind == PERF_LATENCY ? 2 : perf->window;
	int err = 0;

	if (perf->test.op == PERF_READ && perf->test.check)
		for (uint32_t i = 0; i < perf->places; i++)
			perf_fill(perf_place(perf, perf->rx, i), perf->test.size_bytes, i);
	if (perf->test.op == PERF_SEND)
		for (uint32_t i = 0; !err && i < receives; i++)
			err = perf_post_receive(perf, i);
	return err;
}

static int serve_test(struct perf *perf, const struct frame *frame)
{
	char mine[PERF_ENDPOINT_MAX + 1], theirs[PERF_ENDPOINT_MAX + 1];
	uint8_t payload[PERF_BYTES_MAX];
	struct perf_test test;
	int err;

	if (frame->type != PERF_TEST ||
	    perf_decode_test(frame->payload, frame->len_bytes, &test, theirs) ||
	    test.size_bytes > perf->half_bytes)
		return fail_net(perf, -EPROTO);
	err = begin_test(perf, &test, mine);
	if (!err)
		err = connect_to(perf, theirs);
	if (!err)
		err = prepare(perf);
	if (!err)
		err = say(perf, PERF_READY, payload, perf_encode_ready(mine, payload));
	if (!err)
		err = take_part(perf);
	link_unpair(&perf->link);
	return err;
}

int perf_target_run(struct perf *perf, const char *nic_name)
{
	struct perf_hello hello;
	int err = hear_hello(perf, &hello);

	if (!err)
		err = open_nic(perf, nic_name, hello.half_bytes);
	if (!err)
		err = say_hello(perf);
	while (!err) {
		struct frame frame;

		/* Between two tests the client may be printing, or at a prompt. */
		do
			err = net_receive(&perf->conn, &frame, ANSWER_MS);
		while (err == -ETIMEDOUT);
		if (err == -ECONNRESET)
			return 0;
		err = err ? fail_net(perf, err) : serve_test(perf, &frame);
	}
	return err;
}
