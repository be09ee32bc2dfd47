/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the window algorithm: how its target depends on the window, what samples, losses, timeouts
 * and silence do to the window, and that it is paced above and below one packet.
 * How: cc.h's calls; flow scaling beside the formula in floating point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/cc/cc_priv.h"

#define GBPS   1000000000ull
#define US     1000ull
#define MS     1000000ull
#define PACKET 65536u /* a window of one */

static const struct nic_cc_flow flow = {
    .line_rate_bps = 40 * GBPS, .mtu_bytes = 1000, .acked = true};

static struct nic_cc started(void)
{
	struct nic_cc cc;

	nic_cc_init(&cc, NIC_CC_RTT, &nic_cc_paper, &flow, 0);
	return cc;
}

static struct nic_cc with_window(uint32_t window_q16)
{
	struct nic_cc cc = started();

	cc.rtt.window_q16 = window_q16;
	return cc;
}

/* ---- the target -------------------------------------------------------------------------------
 */

static void flow_scaling(void **state)
{
	static const struct {
		double window;
		uint32_t ns;
	} table[] = {
	    {0.1, 100000}, {0.25, 62504}, {0.5, 43607},   {1, 30244}, {2, 20795},
	    {4, 14114},    {8, 9389},     {16, 6049},     {32, 3687}, {64, 2016},
	    {128, 835},    {256, 0},      {0.01, 100000}, {512, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t ns =
		    swift_scaling_ns(&nic_cc_paper.rtt, (uint32_t)(table[i].window * PACKET));

		assert_in_range(ns, table[i].ns == 0 ? 0 : table[i].ns - 1, table[i].ns + 1);
	}
}

/* ---- samples ----------------------------------------------------------------------------------
 */

static void below_the_target_it_grows(void **state)
{
	struct nic_cc cc = with_window(16 * PACKET);

	(void)state;
	nic_cc_on_ack(&cc, 20 * US, 1, 0, 100 * US);
	assert_int_equal(cc.rtt.window_q16, 16 * PACKET + PACKET / 16);
	nic_cc_on_ack(&cc, 20 * US, 4, 0, 101 * US); /* four packets, four times as much */
	assert_in_range(cc.rtt.window_q16, 16 * PACKET + 5 * PACKET / 16 - 80,
			16 * PACKET + 5 * PACKET / 16);
	cc = with_window(PACKET / 4);
	nic_cc_on_ack(&cc, 20 * US, 1, 0, 100 * US);
	assert_int_equal(cc.rtt.window_q16, PACKET + PACKET / 4);
	cc = with_window(130 * PACKET); /* one product of line and target delay */
	nic_cc_on_ack(&cc, 20 * US, 1000, 0, 100 * US);
	assert_int_equal(cc.rtt.window_q16, 130 * PACKET);
}

/* The target of 16 packets is 32,049 ns: 0.8 times what is above it, and half at most. */
static void above_the_target_it_shrinks_once(void **state)
{
	struct nic_cc cc = with_window(16 * PACKET);
	uint32_t expected = (uint32_t)(16 * PACKET * (1 - 0.8 * (40000 - 32049) / 40000));

	(void)state;
	nic_cc_on_ack(&cc, 40 * US, 1, 0, 100 * US);
	assert_in_range(cc.rtt.window_q16, expected - 32, expected + 32);
	expected = cc.rtt.window_q16;
	nic_cc_on_ack(&cc, 41 * US, 1, 0, 140 * US);
	assert_int_equal(cc.rtt.window_q16, expected);
	nic_cc_on_ack(&cc, 10 * MS, 1, 0, 10 * MS + 200 * US);
	assert_int_equal(cc.rtt.window_q16, expected - expected / 2);
}

/* The peer's own delay is none of the path's; an answer that claims more than there was is none. */
static void the_turn_is_taken_off(void **state)
{
	struct nic_cc cc = with_window(16 * PACKET);

	(void)state;
	nic_cc_on_ack(&cc, 500 * US, 1, 480 * US, 600 * US);
	assert_int_equal(nic_cc_rtt_ns(&cc), 20 * US);
	assert_true(cc.rtt.window_q16 > 16 * PACKET);
	nic_cc_on_ack(&cc, 500 * US, 1, 501 * US, 700 * US);
	nic_cc_on_ack(&cc, 0, 1, 0, 700 * US);
	assert_int_equal(nic_cc_rtt_ns(&cc), 20 * US);
	nic_cc_on_ack(&cc, 40 * US, 1, 0, 701 * US);
	assert_int_equal(nic_cc_rtt_ns(&cc), 25 * US);
}

/* On a host: one late round is a thread that was not run, two are a queue. */
static void a_pause_is_no_queue(void **state)
{
	struct nic_cc_params params = nic_cc_paper;
	struct nic_cc cc;

	(void)state;
	params.rtt.host_pauses = true;
	nic_cc_init(&cc, NIC_CC_RTT, &params, &flow, 0);
	cc.rtt.window_q16 = 16 * PACKET;
	nic_cc_on_ack(&cc, 20 * US, 0, 0, 1000 * US);
	/* All that was under way in the pause comes at once: left at 1001 us, and at 1010. */
	nic_cc_on_ack(&cc, 4000 * US, 0, 0, 5001 * US);
	nic_cc_on_ack(&cc, 3991 * US, 0, 0, 5001 * US);
	assert_int_equal(cc.rtt.window_q16, 16 * PACKET);
	assert_int_equal(nic_cc_rtt_ns(&cc), 20 * US);
	nic_cc_on_ack(&cc, 20 * US, 0, 0, 5050 * US); /* left after it */
	nic_cc_on_ack(&cc, 80 * US, 0, 0, 5200 * US);
	assert_int_equal(cc.rtt.window_q16, 16 * PACKET);
	nic_cc_on_ack(&cc, 90 * US, 0, 0, 5300 * US); /* the second round: 80 us at least */
	assert_true(cc.rtt.window_q16 < 16 * PACKET);
	assert_int_equal(cc.rtt.rtt_ns, 80 * US);
}

static void absurd_samples_are_harmless(void **state)
{
	struct nic_cc cc = started();

	(void)state;
	nic_cc_on_ack(&cc, UINT64_MAX, UINT32_MAX, 0, 1 * MS);
	nic_cc_on_ack(&cc, UINT64_MAX, UINT32_MAX, 1, UINT64_MAX / 2);
	nic_cc_on_ack(&cc, 1, UINT32_MAX, 0, UINT64_MAX / 2 + 1);
	assert_true(nic_cc_rate_bps(&cc) >= 1);
	assert_true(cc.rtt.window_q16 >= 655);
	assert_true(cc.rtt.window_q16 <= 130 * PACKET);
}

/* ---- losses, timeouts, silence ----------------------------------------------------------------
 */

static void a_loss_halves_once_in_a_round_trip(void **state)
{
	struct nic_cc cc = with_window(16 * PACKET);

	(void)state;
	nic_cc_on_ack(&cc, 20 * US, 0, 0, 100 * US);
	nic_cc_on_loss(&cc, 101 * US);
	assert_int_equal(cc.rtt.window_q16, 8 * PACKET);
	nic_cc_on_loss(&cc, 120 * US);
	assert_int_equal(cc.rtt.window_q16, 8 * PACKET);
	nic_cc_on_loss(&cc, 121 * US);
	assert_int_equal(cc.rtt.window_q16, 4 * PACKET);
}

static void three_timeouts_end_at_the_least(void **state)
{
	struct nic_cc cc = with_window(16 * PACKET);

	(void)state;
	nic_cc_on_timeout(&cc, 1 * MS);
	assert_int_equal(cc.rtt.window_q16, 8 * PACKET);
	nic_cc_on_timeout(&cc, 2 * MS);
	assert_int_equal(cc.rtt.window_q16, 4 * PACKET);
	nic_cc_on_ack(&cc, 20 * US, 0, 0, 3 * MS); /* one answer, and they are no longer in a row */
	nic_cc_on_timeout(&cc, 4 * MS);
	nic_cc_on_timeout(&cc, 5 * MS);
	assert_int_equal(cc.rtt.window_q16, PACKET);
	nic_cc_on_timeout(&cc, 6 * MS);
	assert_int_equal(cc.rtt.window_q16, 655);
}

static void silence_forgets_a_large_window(void **state)
{
	struct nic_cc cc = with_window(100 * PACKET);

	(void)state;
	nic_cc_on_send(&cc, 1000, 1 * MS);
	assert_int_equal(cc.rtt.window_q16, 100 * PACKET);
	nic_cc_on_send(&cc, 1000, 2 * MS + 1);
	assert_int_equal(cc.rtt.window_q16, 40 * PACKET);
	cc.rtt.window_q16 = 3 * PACKET; /* a small one stays */
	nic_cc_on_send(&cc, 1000, 9 * MS);
	assert_int_equal(cc.rtt.window_q16, 3 * PACKET);
}

/* ---- the pace ---------------------------------------------------------------------------------
 */

/* The first window is what the line carries in a base round trip, at the line's rate. */
static void it_starts_with_one_product(void **state)
{
	struct nic_cc cc = started();

	(void)state;
	assert_int_equal(nic_cc_window_packets(&cc), 40);
	for (uint32_t i = 0; i < 40; i++) {
		uint64_t at_ns = nic_cc_may_send(&cc, i * 200);

		assert_int_equal(at_ns, 0);
		nic_cc_on_send(&cc, 1000, i * 200);
		if (i < 39)
			assert_int_equal(nic_cc_may_send(&cc, i * 200 + 199), (i + 1) * 200);
	}
	assert_true(nic_cc_may_send(&cc, 1 * MS) == NIC_CC_NEVER);
	nic_cc_on_ack(&cc, 0, 1, 0, 1 * MS);
	assert_int_equal(nic_cc_may_send(&cc, 1 * MS), 0);
}

static void a_window_is_spread_over_the_round_trip(void **state)
{
	struct nic_cc cc = with_window(10 * PACKET);

	(void)state;
	nic_cc_on_ack(&cc, 34 * US, 0, 0, 100 * US); /* below its target, but of no packet */
	nic_cc_on_send(&cc, 1000, 100 * US);
	assert_in_range(nic_cc_may_send(&cc, 100 * US), 103390, 103410);
	cc = with_window(10 * PACKET);
	nic_cc_on_ack(&cc, 34 * US, 0, 0, 100 * US);
	nic_cc_on_send(&cc, 500, 100 * US); /* half a packet, half the gap */
	assert_in_range(nic_cc_may_send(&cc, 100 * US), 101690, 101710);
}

/* A tenth of a packet: one under way, and ten round trips between two. */
static void below_one_packet(void **state)
{
	struct nic_cc cc = with_window(PACKET / 10);

	(void)state;
	cc.rtt.cut_before = true;
	cc.rtt.cut_at_ns = 999 * US;
	nic_cc_on_ack(&cc, 200 * US, 0, 0, 1 * MS); /* above the target, but just cut */
	nic_cc_on_send(&cc, 1000, 1 * MS);
	assert_true(nic_cc_may_send(&cc, 1 * MS) == NIC_CC_NEVER);
	nic_cc_take_back(&cc, 1);
	assert_in_range(nic_cc_may_send(&cc, 1 * MS), 2999 * US, 3001 * US);
	assert_int_equal(nic_cc_window_packets(&cc), 1);
}

/* A window that is more than the line carries is paced at the line's rate. */
static void never_above_the_line(void **state)
{
	struct nic_cc cc = with_window(100 * PACKET);

	(void)state;
	nic_cc_on_ack(&cc, 10 * US, 1, 0, 100 * US);
	assert_int_equal(nic_cc_rate_bps(&cc), flow.line_rate_bps);
}

/* Samples that are shorter than a way can be are none; on a long way a pause is longer. */
static void long_and_short_ways(void **state)
{
	struct nic_cc_params params = nic_cc_paper;
	struct nic_cc cc;

	(void)state;
	params.rtt.min_valid_ns = 5000;
	nic_cc_init(&cc, NIC_CC_RTT, &params, &flow, 0);
	nic_cc_on_ack(&cc, 4999, 1, 0, 10 * US);
	assert_int_equal(nic_cc_rtt_ns(&cc), 0);
	nic_cc_on_ack(&cc, 5000, 1, 0, 20 * US);
	assert_int_equal(nic_cc_rtt_ns(&cc), 5000);
	cc = with_window(16 * PACKET);
	nic_cc_on_ack(&cc, 2 * MS, 1, 0, 3 * MS);
	nic_cc_on_send(&cc, 1000, 4 * MS);
	cc.rtt.window_q16 = 100 * PACKET;
	nic_cc_on_send(&cc, 1000, 12 * MS); /* not longer than four round trips */
	assert_int_equal(cc.rtt.window_q16, 100 * PACKET);
	nic_cc_on_send(&cc, 1000, 20 * MS + 1);
	assert_int_equal(cc.rtt.window_q16, 40 * PACKET);
}

static void notifications_are_ignored(void **state)
{
	struct nic_cc cc = with_window(10 * PACKET);
	struct nic_cc before = cc;

	(void)state;
	assert_false(nic_cc_on_cnp(&cc, 1 * US));
	assert_memory_equal(&cc, &before, sizeof(cc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(flow_scaling),
	    cmocka_unit_test(below_the_target_it_grows),
	    cmocka_unit_test(above_the_target_it_shrinks_once),
	    cmocka_unit_test(the_turn_is_taken_off),
	    cmocka_unit_test(a_pause_is_no_queue),
	    cmocka_unit_test(absurd_samples_are_harmless),
	    cmocka_unit_test(a_loss_halves_once_in_a_round_trip),
	    cmocka_unit_test(three_timeouts_end_at_the_least),
	    cmocka_unit_test(silence_forgets_a_large_window),
	    cmocka_unit_test(it_starts_with_one_product),
	    cmocka_unit_test(a_window_is_spread_over_the_round_trip),
	    cmocka_unit_test(below_one_packet),
	    cmocka_unit_test(never_above_the_line),
	    cmocka_unit_test(long_and_short_ways),
	    cmocka_unit_test(notifications_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
