/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: one sender of datagrams has two destinations under two algorithms at once. Behind one
 * bottleneck, which marks, it is held by notifications; behind another, which only delays, by the
 * round trip. At both it gets its fair share, and when the algorithms change places, so does what
 * holds it.
 * How: sim/paths.h in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/paths.h"

#define LINE_BPS 40000000000ull
#define US       1000ull
#define MS       1000000ull

enum {
	MARKS = SIM_PATHS_MARKS,
	DELAYS = SIM_PATHS_DELAYS,
	PLACES = SIM_PATHS_PLACES,
	LOOK_NS = 10000,
};

struct figures {
	double gbps;       /* of the sender with two destinations */
	double rtt_us;     /* of its probes */
	double queue_kb;   /* mean */
	double rate_swing; /* the highest rate it paced at, over the lowest */
	uint64_t cnps;
	uint64_t ignored_cnps;
	uint64_t marked;
};

/* From now until until_ns, looking at the queue and the rate now and then. */
static void measure(struct sim_paths *bed, uint64_t until_ns, struct figures figures[PLACES])
{
	struct sim_flow before[PLACES];
	uint64_t from_ns = bed->world.now_ns, marked[PLACES], looks = 0;
	double lowest[PLACES] = {LINE_BPS, LINE_BPS}, highest[PLACES] = {0};

	memset(figures, 0, PLACES * sizeof(figures[0]));
	for (int place = 0; place < PLACES; place++) {
		before[place] = bed->flows[place][0];
		marked[place] = bed->places[place].marked_count;
	}
	for (; bed->world.now_ns < until_ns; looks++) {
		sim_paths_run_to(bed, bed->world.now_ns + LOOK_NS);
		for (int place = 0; place < PLACES; place++) {
			double rate = (double)nic_cc_rate_bps(&bed->flows[place][0].cc);

			figures[place].queue_kb += (double)bed->places[place].queued_bytes / 1000;
			lowest[place] = rate < lowest[place] ? rate : lowest[place];
			highest[place] = rate > highest[place] ? rate : highest[place];
		}
	}
	for (int place = 0; place < PLACES; place++) {
		const struct sim_flow *flow = &bed->flows[place][0], *old = &before[place];
		struct figures *f = &figures[place];
		uint64_t samples = flow->rtt_count - old->rtt_count;

		f->gbps = (double)(flow->delivered_bytes - old->delivered_bytes) * 8 /
			  (double)(bed->world.now_ns - from_ns);
		f->rtt_us = (double)(flow->rtt_sum_ns - old->rtt_sum_ns) / 1000 / (double)samples;
		f->queue_kb /= (double)looks;
		f->rate_swing = highest[place] / lowest[place];
		f->cnps = flow->cnp_count - old->cnp_count;
		f->ignored_cnps = flow->ignored_cnp_count - old->ignored_cnp_count;
		f->marked = bed->places[place].marked_count - marked[place];
		print_message("%s: %.2f Gb/s, %.1f us, queue %.0f KB, swing %.2f, %u CNPs, %u "
			      "ignored\n",
			      place == MARKS ? "marks" : "delays", f->gbps, f->rtt_us, f->queue_kb,
			      f->rate_swing, (unsigned)f->cnps, (unsigned)f->ignored_cnps);
	}
}

/* The model's, of four flows. */
#define MODEL_QUEUE_KB    53.1
#define TARGET_US         29.31
#define FAIR_GBPS         10.0
#define MODEL_CNPS_PER_MS 2.16

static void expect_within(const char *what, double got, double expected, double part)
{
	if (got >= expected * (1 - part) && got <= expected * (1 + part))
		return;
	fail_msg("%s is %g, which is not within %g %% of %g", what, got, part * 100, expected);
}

static void expect_marks_hold(const struct figures *f, double ms)
{
	expect_within("the share", f->gbps, FAIR_GBPS, 0.2);
	expect_within("the queue", f->queue_kb, MODEL_QUEUE_KB, 0.25);
	expect_within("the rate of notifications", (double)f->cnps / ms, MODEL_CNPS_PER_MS, 0.3);
	assert_int_equal(f->ignored_cnps, 0);
	assert_true(f->rate_swing > 1.2); /* cut and raised again */
}

static void expect_delay_holds(const struct figures *f)
{
	expect_within("the share", f->gbps, FAIR_GBPS, 0.1);
	/* What a packet would wait now: of samples there are fewer while they take long. */
	expect_within("the delay", 8 + f->queue_kb / 5, TARGET_US, 0.05);
	assert_int_equal(f->cnps, 0);
}

/* Nothing tells it to slow down: it goes as fast as the cap lets it. */
static void expect_only_cap_holds(const struct sim_paths *bed, const struct figures *f)
{
	const struct sim_flow *flow = &bed->flows[DELAYS][0];

	assert_int_equal(f->cnps, 0);
	assert_int_equal(nic_cc_rate_bps(&flow->cc), flow->sender->rate_bps);
	assert_true(flow->cc.inflight_packets <= nic_cc_window_packets(&flow->cc));
	assert_true(f->queue_kb <=
		    (SIM_PATHS_FLOWS - 1 + 2) * 40); /* its window is that of two lines */
	assert_true(f->gbps > FAIR_GBPS / 2);
}

static void two_destinations(void **state)
{
	struct figures first[PLACES], second[PLACES], third[PLACES];
	struct sim_paths bed;

	(void)state;
	sim_paths_open(&bed, &nic_cc_paper);
	sim_paths_run_to(&bed, 50 * MS);
	measure(&bed, 150 * MS, first);
	expect_marks_hold(&first[MARKS], 100);
	expect_delay_holds(&first[DELAYS]);
	sim_paths_swap(&bed);
	sim_paths_run_to(&bed, 160 * MS);
	measure(&bed, 180 * MS, second);
	expect_delay_holds(&second[MARKS]);
	assert_true(second[MARKS].marked > 0);
	assert_true(second[MARKS].ignored_cnps > 0);
	expect_only_cap_holds(&bed, &second[DELAYS]);
	sim_paths_swap(&bed);
	sim_paths_run_to(&bed, 230 * MS);
	measure(&bed, 330 * MS, third);
	expect_marks_hold(&third[MARKS], 100);
	expect_delay_holds(&third[DELAYS]);
	sim_paths_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_destinations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
