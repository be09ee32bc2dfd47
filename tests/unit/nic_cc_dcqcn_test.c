/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the mistakes that other implementations of DCQCN have made are not made here; what pauses,
 * floors and the cards' parameters do. (The curves themselves: tests/sim/sim_cc_recovery_test.c.)
 * How: cc.h's calls, with times that the test makes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/cc/cc_priv.h"

#define GBPS   1000000000ull
#define MBPS   1000000ull
#define US     1000ull
#define MS     1000000ull
#define ONE    (1u << 30)
#define SENT_B 1000u

static struct nic_cc started(const struct nic_cc_params *params, uint64_t line_bps)
{
	struct nic_cc_flow flow = {.line_rate_bps = line_bps, .mtu_bytes = SENT_B};
	struct nic_cc cc;

	nic_cc_init(&cc, NIC_CC_DCQCN, params, &flow, 0);
	return cc;
}

/* ---- mistakes of others -----------------------------------------------------------------------
 */

/* Alpha begins at 1, and a cut takes the alpha from before its notification. */
static void the_first_cut_is_a_half(void **state)
{
	struct nic_cc cc = started(&nic_cc_paper, 40 * GBPS);

	(void)state;
	assert_true(nic_cc_on_cnp(&cc, 7 * US));
	assert_int_equal(cc.rate_bps, 20 * GBPS);
	assert_int_equal(cc.dcqcn.target_bps, 40 * GBPS);
	assert_int_equal(cc.dcqcn.alpha_q30, ONE);
	nic_cc_on_cnp(&cc, 62 * US); /* alpha's period ends first, and counts */
	assert_int_equal(cc.rate_bps, 30 * GBPS - 30 * GBPS * 255 / 512);
}

/* Where the rate has fallen far below its target, the target stays. */
static void the_target_is_not_divided(void **state)
{
	struct nic_cc cc = started(&nic_cc_vendor, 100 * GBPS);

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		nic_cc_on_cnp(&cc, i * 4 * US);
	assert_true(cc.rate_bps < 10 * GBPS);
	nic_cc_expire(&cc, 36 * US + 300 * US);
	assert_int_equal(cc.dcqcn.timer_count, 1);
	assert_int_equal(cc.dcqcn.target_bps, 100 * GBPS);
}

/* The target stops at the line, so that a later cut that keeps it keeps no more than that. */
static void the_target_ends_at_the_line(void **state)
{
	struct nic_cc cc = started(&nic_cc_paper, 40 * GBPS);

	(void)state;
	nic_cc_on_cnp(&cc, 0);
	for (uint64_t ns = 0; ns < 90 * MS; ns += 50 * US) {
		nic_cc_on_send(&cc, 2500000, ns);
		assert_true(cc.dcqcn.target_bps <= 40 * GBPS);
		assert_true(cc.rate_bps <= 40 * GBPS);
	}
	assert_true(cc.dcqcn.byte_count > 5);
}

/* Alpha climbs as high as it began: a state of 10 bits would stop at 820 of 1023. And the weight is
 * that of the old value: one marked period moves alpha by 5 of 1024. */
static void alpha_climbs_all_the_way(void **state)
{
	struct nic_cc cc = started(&nic_cc_vendor, 100 * GBPS);

	(void)state;
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_cnp(&cc, 20 * MS); /* it has recovered: all anew */
	nic_cc_on_cnp(&cc, 20 * MS + 1 * US);
	nic_cc_on_cnp(&cc, 20 * MS + 1 * MS);
	assert_in_range(cc.dcqcn.alpha_q30, 7 * (ONE >> 10), 8 * (ONE >> 10));
	nic_cc_on_cnp(&cc, 21 * MS + 1 * US);
	assert_in_range(cc.dcqcn.alpha_q30, 12 * (ONE >> 10), 13 * (ONE >> 10));
	for (uint32_t i = 2; i < 10000; i++)
		nic_cc_on_cnp(&cc, 21 * MS + i * US);
	assert_true(cc.dcqcn.alpha_q30 > ONE - (ONE >> 10));
}

/* A period shorter than the space between notifications: alpha does not go to 1 although the path
 * is congested all the time. */
static void alpha_settles_below_one(void **state)
{
	static const struct {
		uint32_t spacing_us;
		double alpha;
	} table[] = {{2, 0.499}, {4, 0.248}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct nic_cc cc = started(&nic_cc_vendor, 100 * GBPS);
		double off;

		for (uint32_t k = 0; k < 5000; k++)
			nic_cc_on_cnp(&cc, (uint64_t)k * table[i].spacing_us * US);
		off = cc.dcqcn.alpha_q30 / (double)ONE - table[i].alpha;
		assert_true(off < 0.001 && off > -0.001);
	}
}

/* At most one cut in a period; a notification in between cuts at its end. */
static void one_cut_in_a_period(void **state)
{
	struct nic_cc cc = started(&nic_cc_vendor, 100 * GBPS);

	(void)state;
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_cnp(&cc, 1 * US);
	nic_cc_on_cnp(&cc, 2 * US);
	assert_int_equal(cc.rate_bps, 50 * GBPS);
	assert_int_equal(nic_cc_deadline(&cc), 4 * US);
	nic_cc_expire(&cc, 4 * US - 1);
	assert_int_equal(cc.rate_bps, 50 * GBPS);
	nic_cc_expire(&cc, 4 * US);
	assert_int_equal(cc.dcqcn.cut_count, 2);
	assert_true(cc.rate_bps < 26 * GBPS);
	assert_int_equal(nic_cc_deadline(&cc), 304 * US);
	nic_cc_on_cnp(&cc, 50 * US); /* the period is over: at once */
	assert_int_equal(cc.dcqcn.cut_count, 3);
}

/* A packet that waits goes earlier when the rate rises, and later when it falls. */
static void the_rate_moves_who_waits(void **state)
{
	struct nic_cc_params slow = nic_cc_paper;
	struct nic_cc cc;
	uint64_t first_ns, until_ns, now_ns = 1;

	(void)state;
	slow.dcqcn.rpg_threshold = 0; /* from the first event on by 400 Mb/s */
	slow.dcqcn.rpg_ai_rate_mbps = 400;
	cc = started(&slow, 40 * GBPS);
	for (uint32_t i = 0; i < 40; i++)
		nic_cc_on_cnp(&cc, 0);
	assert_int_equal(cc.rate_bps, 10 * MBPS);
	nic_cc_on_send(&cc, 1000, 0);
	first_ns = cc_next_ns(&cc); /* 8,000 bits at 10 Mb/s */
	assert_int_equal(first_ns, 800 * US);
	for (; (until_ns = nic_cc_may_send(&cc, now_ns)) != 0; now_ns = until_ns)
		assert_true(until_ns > now_ns);
	assert_true(now_ns < 100 * US);
	nic_cc_on_send(&cc, 1000, now_ns);
	until_ns = cc_next_ns(&cc);
	nic_cc_on_cnp(&cc, now_ns + 1);
	assert_true(cc_next_ns(&cc) > until_ns);
}

/* ---- pauses, floors, ends ---------------------------------------------------------------------
 */

/* A long pause of the application raises nothing, a short one does not count. */
static void a_pause_proves_nothing(void **state)
{
	struct nic_cc cc = started(&nic_cc_paper, 40 * GBPS);
	uint64_t rate_bps;

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		nic_cc_on_cnp(&cc, i * 50 * US);
	nic_cc_on_idle(&cc, 470 * US);
	rate_bps = cc.rate_bps;
	assert_true(nic_cc_deadline(&cc) == NIC_CC_NEVER);
	nic_cc_expire(&cc, 1000 * MS);
	nic_cc_on_send(&cc, 1000, 1000 * MS);
	assert_int_equal(cc.rate_bps, rate_bps);
	assert_int_equal(nic_cc_deadline(&cc), 1000 * MS + 35 * US); /* 505 - 470 */
	nic_cc_on_idle(&cc, 1000 * MS);
	nic_cc_on_send(&cc, 1000, 1001 * MS);
	assert_true(cc.rate_bps > rate_bps);
}

/* What a pause leaves as it was: alpha, and the time until the next cut. */
static void a_pause_keeps_the_clocks(void **state)
{
	struct nic_cc cc = started(&nic_cc_paper, 40 * GBPS);

	(void)state;
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_idle(&cc, 10 * US);
	nic_cc_on_send(&cc, 1000, 100 * MS);
	nic_cc_on_cnp(&cc, 100 * MS + 10 * US);
	assert_int_equal(cc.rate_bps, 10 * GBPS);
	cc = started(&nic_cc_vendor, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_idle(&cc, 1 * US);
	nic_cc_on_send(&cc, 1000, 10 * MS);
	nic_cc_on_cnp(&cc, 10 * MS + 1 * US);
	assert_int_equal(cc.dcqcn.cut_count, 1);
	assert_int_equal(nic_cc_deadline(&cc), 10 * MS + 3 * US);
}

/* A notification for the last packets of a flow starts nothing that runs for ever. */
static void a_late_notification_starts_no_clock(void **state)
{
	struct nic_cc cc = started(&nic_cc_paper, 40 * GBPS);
	uint32_t events = 0;
	uint64_t at_ns;

	(void)state;
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_idle(&cc, 10 * US);
	nic_cc_on_cnp(&cc, 20 * US);
	assert_true(nic_cc_deadline(&cc) == NIC_CC_NEVER);
	nic_cc_on_send(&cc, 1000, 30 * US);
	while ((at_ns = nic_cc_deadline(&cc)) != NIC_CC_NEVER && events++ < 3000)
		nic_cc_expire(&cc, at_ns);
	assert_in_range(events, 1000, 2999);
	assert_int_equal(cc.rate_bps, 40 * GBPS);
	assert_int_equal(nic_cc_may_send(&cc, 40 * US), 0); /* and is not paced any more */
}

/* No notification, no pace: packets leave as fast as they come. */
static void not_paced_before_the_first(void **state)
{
	struct nic_cc cc = started(&nic_cc_paper, 40 * GBPS);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(nic_cc_may_send(&cc, 0), 0);
		nic_cc_on_send(&cc, 1000, 0);
	}
	nic_cc_on_cnp(&cc, 0);
	assert_int_equal(nic_cc_may_send(&cc, 0), 0);
	nic_cc_on_send(&cc, 1000, 0);
	assert_int_equal(nic_cc_may_send(&cc, 0), 400); /* 8,000 bits at 20 Gb/s */
}

/* The floor keeps four packets within a quarter of the timeout. */
static void the_floor_knows_the_timeout(void **state)
{
	struct nic_cc_flow flow = {
	    .line_rate_bps = 40 * GBPS, .mtu_bytes = 4096, .ack_timeout_ns = 67108864};
	struct nic_cc cc;

	(void)state;
	nic_cc_init(&cc, NIC_CC_DCQCN, &nic_cc_vendor, &flow, 0);
	for (uint32_t i = 0; i < 100; i++)
		nic_cc_on_cnp(&cc, i * 4 * US);
	assert_int_equal(cc.rate_bps, 7812500); /* 4 * 4 * 8 * 4,096 bits in 67 ms */
	flow.ack_timeout_ns = 0;
	nic_cc_init(&cc, NIC_CC_DCQCN, &nic_cc_vendor, &flow, 0);
	for (uint32_t i = 0; i < 200; i++)
		nic_cc_on_cnp(&cc, i * 4 * US);
	assert_int_equal(cc.rate_bps, 1 * MBPS);
}

/* Bytes that go a second time count, so does each byte once. */
static void bytes_sent_again_count(void **state)
{
	struct nic_cc cc = started(&nic_cc_vendor, 100 * GBPS);

	(void)state;
	nic_cc_on_cnp(&cc, 0);
	for (uint32_t sent = 0; sent < 2 * 32767 * 64; sent += 64)
		nic_cc_on_send(&cc, 64, 1);
	assert_int_equal(cc.dcqcn.byte_count, 2);
	assert_int_equal(cc.dcqcn.sent_bytes, 0);
}

/* ---- the vendor's knobs -----------------------------------------------------------------------
 */

static void first_rate(void **state)
{
	struct nic_cc_params params = nic_cc_vendor;
	struct nic_cc cc;

	(void)state;
	params.dcqcn.rate_to_set_on_first_cnp_mbps = 85000;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	assert_int_equal(cc.rate_bps, 85 * GBPS);
	assert_int_equal(cc.dcqcn.target_bps, 85 * GBPS);
	nic_cc_on_cnp(&cc, 1 * US);
	assert_int_equal(cc.rate_bps, 85 * GBPS); /* not again in this period */
	nic_cc_on_cnp(&cc, 4 * US);
	assert_true(cc.rate_bps < 85 * GBPS);
}

static void other_knobs(void **state)
{
	struct nic_cc_params params = nic_cc_vendor;
	struct nic_cc cc;

	(void)state;
	params.dcqcn.rpg_min_dec_fac = 95;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	assert_int_equal(cc.rate_bps, 95 * GBPS);
	params.dcqcn.rpg_min_dec_fac = 0;
	params.dcqcn.rpg_gd = 10;
	params.dcqcn.rpg_min_rate_mbps = 500;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	assert_int_equal(cc.rate_bps, 500 * MBPS);
	params = nic_cc_vendor;
	params.dcqcn.clamp_tgt_rate = true;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_cnp(&cc, 4 * US);
	assert_int_equal(cc.dcqcn.target_bps, 50 * GBPS);
	params = nic_cc_vendor;
	params.dcqcn.clamp_tgt_rate_after_time_inc = false;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_cnp(&cc, 350 * US); /* one increase, by time */
	assert_int_equal(cc.dcqcn.target_bps, 100 * GBPS);
	params.dcqcn.rpg_max_rate_mbps = 10000;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_send(&cc, 1000, 0);
	assert_int_equal(nic_cc_may_send(&cc, 0), 800); /* 8,000 bits at 10 Gb/s, never faster */
}

/* Bytes since the last cut, too, set the target anew. */
static void target_after_bytes(void **state)
{
	struct nic_cc cc = started(&nic_cc_vendor, 100 * GBPS);

	(void)state;
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_send(&cc, 32767 * 64, 100 * US);
	assert_int_equal(cc.dcqcn.byte_count, 1);
	nic_cc_on_cnp(&cc, 150 * US);
	assert_int_equal(cc.dcqcn.target_bps, 75 * GBPS);
}

/* Without a timer only bytes raise the rate. */
static void no_timer(void **state)
{
	struct nic_cc_params params = nic_cc_vendor;
	struct nic_cc cc;

	(void)state;
	params.dcqcn.rpg_time_reset_us = 0;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	assert_true(nic_cc_deadline(&cc) == NIC_CC_NEVER);
	nic_cc_expire(&cc, 1000 * MS);
	assert_int_equal(cc.rate_bps, 50 * GBPS);
}

/* At full rate the timer's events are counted at once, but none from after a cut that was put off:
 * here one that takes nothing, in a period longer than the timer's. */
static void a_cut_among_the_events(void **state)
{
	struct nic_cc_params params = nic_cc_vendor;
	struct nic_cc cc;

	(void)state;
	params.dcqcn.rpg_gd = 60;
	params.dcqcn.dce_tcp_g = 1024;
	params.dcqcn.rate_reduce_monitor_period_us = 1000;
	cc = started(&params, 100 * GBPS);
	nic_cc_on_cnp(&cc, 0);
	nic_cc_on_cnp(&cc, 1 * US);
	nic_cc_expire(&cc, 1500 * US);
	assert_int_equal(cc.dcqcn.cut_count, 2);
	assert_int_equal(cc.dcqcn.timer_count, 1);
	assert_int_equal(nic_cc_deadline(&cc), 1600 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_cut_is_a_half),
	    cmocka_unit_test(the_target_is_not_divided),
	    cmocka_unit_test(the_target_ends_at_the_line),
	    cmocka_unit_test(alpha_climbs_all_the_way),
	    cmocka_unit_test(alpha_settles_below_one),
	    cmocka_unit_test(one_cut_in_a_period),
	    cmocka_unit_test(the_rate_moves_who_waits),
	    cmocka_unit_test(a_pause_proves_nothing),
	    cmocka_unit_test(a_pause_keeps_the_clocks),
	    cmocka_unit_test(a_late_notification_starts_no_clock),
	    cmocka_unit_test(not_paced_before_the_first),
	    cmocka_unit_test(the_floor_knows_the_timeout),
	    cmocka_unit_test(bytes_sent_again_count),
	    cmocka_unit_test(first_rate),
	    cmocka_unit_test(other_knobs),
	    cmocka_unit_test(target_after_bytes),
	    cmocka_unit_test(no_timer),
	    cmocka_unit_test(a_cut_among_the_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
