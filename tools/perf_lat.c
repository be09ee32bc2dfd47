/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/perf_lat.c - latency. A write or send is answered by one of the same size: half the round
 * trip is one way. A write is noticed by its last byte in memory, a send by its completion. A read
 * is a round trip by itself, and is shown whole, as perftest does.
 */
#include "tools/perf.h"
#include "tools/perf_data.h"
#include "tools/progress.h"
#include "tools/ticks.h"

/* One completion frees the ring's slots for this many entries. */
#define SIGNAL_EVERY 16
/* How long the bytes of a write may still be on their way once its last one is there. */
#define STRAGGLE_NS 1000000000ull

static bool signalled(uint32_t index)
{
	return index % SIGNAL_EVERY == SIGNAL_EVERY - 1;
}

static int send_message(struct perf *perf, uint32_t index)
{
	int err;

	if (perf->test.check)
		perf_fill(perf->tx, perf->test.size_bytes, index);
	else
		perf->tx[perf->test.size_bytes - 1] = perf_mark(index);
	err = perf_post(perf, index, signalled(index));
	return err ? err : perf_ring(perf);
}

/* A write's bytes may land in any order: the check waits for all of them, but not without end. */
static void check_written(struct perf *perf, uint32_t index)
{
	uint64_t until_ns = progress_now_ns() + STRAGGLE_NS;
	size_t wrong;

	do {
		wrong = perf_wrong_bytes(perf->rx, perf->test.size_bytes, index);
		__asm__ volatile("" ::: "memory");
	} while (wrong && progress_now_ns() < until_ns);
	perf->wrong_bytes += wrong;
}

static int await_write(struct perf *perf, uint32_t index)
{
	const uint8_t *last = perf->rx + perf->test.size_bytes - 1;
	uint8_t mark = perf_mark(index);

	while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != mark) {
		int n = perf_drain(perf);

		if (n < 0)
			return n;
	}
	/* What came is progress, though no completion tells of it. */
	perf->idle_ns = 0;
	if (perf->test.check)
		check_written(perf, index);
	return 0;
}

static int await_receive(struct perf *perf, uint32_t index)
{
	while (perf->receives_done <= index) {
		int n = perf_drain(perf);

		if (n < 0)
			return n;
	}
	if (perf->test.check)
		perf->wrong_bytes += perf_wrong_bytes(perf->rx, perf->test.size_bytes, index);
	return 0;
}

static int await_message(struct perf *perf, uint32_t index)
{
	return perf->test.op == PERF_SEND ? await_receive(perf, index) : await_write(perf, index);
}

static int read_once(struct perf *perf, uint64_t *ticks)
{
	uint64_t done = perf->entries_done, start;
	int err;

	if (perf->test.check)
		__builtin_memset(perf->tx, 0, perf->test.size_bytes);
	start = ticks_now();
	err = perf_post(perf, 0, true);
	if (!err)
		err = perf_ring(perf);
	while (!err && perf->entries_done == done) {
		int n = perf_drain(perf);

		if (n < 0)
			err = n;
	}
	*ticks = ticks_now() - start;
	if (!err && perf->test.check)
		perf->wrong_bytes += perf_wrong_bytes(perf->tx, perf->test.size_bytes, 0);
	return err;
}

static int ping_once(struct perf *perf, uint32_t index)
{
	int err = send_message(perf, index);

	/* The next answer's receive, while this one is under way. */
	if (!err && perf->test.op == PERF_SEND)
		err = perf_post_receive(perf, index + 1);
	return err ? err : await_message(perf, index);
}

int perf_latency_client(struct perf *perf, uint64_t *samples)
{
	uint32_t total = perf->test.warm_up + perf->test.iterations;
	uint64_t last;
	int err = perf->test.op == PERF_SEND ? perf_post_receive(perf, 0) : 0;

	if (err)
		return err;
	last = ticks_now();
	for (uint32_t i = 0; i < total; i++) {
		uint64_t now, ticks = 0;

		err = perf->test.op == PERF_READ ? read_once(perf, &ticks) : ping_once(perf, i);
		if (err)
			return err;
		if (perf->test.op != PERF_READ) {
			/* From one start to the next, so that nothing is left out. */
			now = ticks_now();
			ticks = (now - last) / 2;
			last = now;
		}
		if (i >= perf->test.warm_up)
			samples[i - perf->test.warm_up] = ticks;
	}
	return 0;
}

int perf_latency_target(struct perf *perf)
{
	uint32_t total = perf->test.warm_up + perf->test.iterations;

	for (uint32_t i = 0; i < total; i++) {
		int err = await_message(perf, i);

		if (!err)
			err = send_message(perf, i);
		/* Two were posted before the first message, and the client waits for answers. */
		if (!err && perf->test.op == PERF_SEND)
			err = perf_post_receive(perf, i + 2);
		if (err)
			return err;
	}
	/* The last answer has arrived once it is acknowledged, if it asked for that. */
	return 0;
}
