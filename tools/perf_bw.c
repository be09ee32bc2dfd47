/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/perf_bw.c - bandwidth: as many messages under way as the depth allows, in one direction.
 * The time ends with the last one's completion, when the target has it all. A sender has credit for
 * the receives that the target has posted, so that it never runs into a missing one.
 */
#include <string.h>

#include "tools/perf.h"
#include "tools/perf_data.h"
#include "tools/ticks.h"

/* Entries that one ring hands over. */
#define BURST_MAX 16

/* A stretch of messages that is sent, and waited for to its end. */
struct stretch {
	uint32_t first, count;
	uint32_t posted, done; /* of count */
	uint32_t signal_every;
	uint64_t entries_before; /* perf->entries_done at its start */
};

static int post_one(struct perf *perf, struct stretch *stretch)
{
	uint32_t index = stretch->first + stretch->posted;
	uint8_t *data = perf_place(perf, perf->tx, index);
	bool last = stretch->posted + 1 == stretch->count;

	if (perf->test.check && perf->test.op == PERF_READ)
		memset(data, 0, perf->test.size_bytes);
	else if (perf->test.check)
		perf_fill(data, perf->test.size_bytes, index);
	stretch->posted++;
	if (perf->test.op == PERF_SEND)
		perf->credits--;
	return perf_post(perf, index, last || stretch->posted % stretch->signal_every == 0);
}

static int post_burst(struct perf *perf, struct stretch *stretch)
{
	int posted = 0, err = 0;

	while (!err && posted < BURST_MAX && stretch->posted < stretch->count &&
	       stretch->posted - stretch->done < perf->window &&
	       (perf->test.op != PERF_SEND || perf->credits)) {
		err = post_one(perf, stretch);
		posted++;
	}
	return !err && posted ? perf_ring(perf) : err;
}

/* Reads: what has just completed, against what the target's memory holds there. */
static void check_reads(struct perf *perf, const struct stretch *stretch, uint32_t from,
			uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t index = stretch->first + i;

		perf->wrong_bytes += perf_wrong_bytes(perf_place(perf, perf->tx, index),
						      perf->test.size_bytes, index % perf->places);
	}
}

static int take_completions(struct perf *perf, struct stretch *stretch)
{
	uint64_t receives = perf->receives_done, done;
	int n = perf_drain(perf);

	if (n <= 0)
		return n;
	done = (perf->entries_done - stretch->entries_before) * stretch->signal_every;
	if (done > stretch->count)
		done = stretch->count;
	if (perf->test.check && perf->test.op == PERF_READ)
		check_reads(perf, stretch, stretch->done, (uint32_t)done);
	stretch->done = (uint32_t)done;
	for (; receives < perf->receives_done; receives++) {
		int err = perf_post_empty_receive(perf);

		if (err)
			return err;
	}
	return 0;
}

static int run_stretch(struct perf *perf, uint32_t first, uint32_t count)
{
	struct stretch stretch = {
	    .first = first,
	    .count = count,
	    .signal_every = perf->window / 4,
	    .entries_before = perf->entries_done,
	};

	if (stretch.signal_every > BURST_MAX)
		stretch.signal_every = BURST_MAX;
	if (!stretch.signal_every)
		stretch.signal_every = 1;
	while (stretch.done < count) {
		int err = post_burst(perf, &stretch);

		if (!err)
			err = take_completions(perf, &stretch);
		if (err)
			return err;
	}
	return 0;
}

/* Writes are checked a window at a time: the target looks before they are overwritten. */
static int run_checked_writes(struct perf *perf, uint32_t count, uint64_t *ticks)
{
	*ticks = 0;
	for (uint32_t first = 0; first < count; first += perf->window) {
		uint32_t some = count - first < perf->window ? count - first : perf->window;
		uint64_t start = ticks_now();
		int err = run_stretch(perf, first, some);

		*ticks += ticks_now() - start;
		if (!err)
			err = perf_verify_remote(perf, first, some);
		if (err)
			return err;
	}
	return 0;
}

int perf_bandwidth_client(struct perf *perf, uint64_t *ticks)
{
	uint64_t start;
	int err = 0;

	if (perf->test.op == PERF_SEND)
		for (int i = 0; i < 4 && !err; i++)
			err = perf_post_empty_receive(perf);
	if (!err && perf->test.check && perf->test.op == PERF_WRITE)
		return run_checked_writes(perf, perf->test.iterations, ticks);
	if (!err && perf->test.warm_up)
		err = run_stretch(perf, 0, perf->test.warm_up);
	start = ticks_now();
	if (!err)
		err = run_stretch(perf, perf->test.warm_up, perf->test.iterations);
	*ticks = ticks_now() - start;
	return err;
}

/* One message was received: it is checked, and its receive is posted again if the test needs it. */
static int take_message(struct perf *perf, uint32_t index, uint32_t total)
{
	const uint8_t *data = perf_place(perf, perf->rx, index);

	if (perf->test.check)
		perf->wrong_bytes += perf_wrong_bytes(data, perf->test.size_bytes, index);
	if (total - index <= perf->window)
		return 0;
	return perf_post_receive(perf, index + perf->window);
}

/* Sends only: for writes and reads the target has nothing to do. */
int perf_bandwidth_target(struct perf *perf)
{
	uint32_t total = perf->test.warm_up + perf->test.iterations;
	uint32_t taken = 0, owed = 0;

	while (taken < total) {
		int err = perf_drain(perf);

		if (err < 0)
			return err;
		for (err = 0; !err && taken < perf->receives_done; taken++, owed++)
			err = take_message(perf, taken, total);
		if (!err && owed && owed >= perf->window / 2) {
			err = perf_post_credit(perf, owed);
			if (!err)
				err = perf_ring(perf);
			owed = 0;
		}
		if (err)
			return err;
	}
	return 0;
}
