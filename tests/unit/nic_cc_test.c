/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what all congestion control contexts share; one without an algorithm never holds anything
 * up; at most one notification goes out in an interval, the first at once.
 * How: cc.h's calls, with times that the test makes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/cc/cc.h"

#define LINE_BPS 40000000000ull

static const struct nic_cc_flow flow = {
    .line_rate_bps = LINE_BPS, .mtu_bytes = 1000, .acked = true};

static void none_never_waits(void **state)
{
	struct nic_cc cc;

	(void)state;
	nic_cc_init(&cc, NIC_CC_NONE, &nic_cc_paper, &flow, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(nic_cc_may_send(&cc, 5), 0);
		nic_cc_on_send(&cc, 4096, 5);
	}
	assert_false(nic_cc_on_cnp(&cc, 6));
	nic_cc_on_loss(&cc, 7);
	nic_cc_on_timeout(&cc, 8);
	assert_int_equal(nic_cc_may_send(&cc, 8), 0);
	assert_true(nic_cc_deadline(&cc) == NIC_CC_NEVER);
	assert_int_equal(nic_cc_rate_bps(&cc), LINE_BPS);
}

/* The cap is what the line carries in cap_ns, rounded up, whatever the packets' size. */
static void the_cap_is_one_product(void **state)
{
	static const struct {
		enum nic_cc_algorithm algorithm;
		uint64_t line_rate_bps;
		uint32_t mtu_bytes;
		uint32_t cap_ns;
		uint32_t packets;
	} table[] = {
	    {NIC_CC_DCQCN, LINE_BPS, 1000, 8000, 40},
	    {NIC_CC_DCQCN, LINE_BPS, 4096, 8000, 10},
	    {NIC_CC_DCQCN, LINE_BPS, 1000, 12000, 60},
	    {NIC_CC_DCQCN, 10000000, 4096, 8000, 1},
	    {NIC_CC_DCQCN, LINE_BPS, 1000, 0, UINT32_MAX},
	    {NIC_CC_RTT, LINE_BPS, 1000, 8000, 40},
	    {NIC_CC_NONE, LINE_BPS, 1000, 8000, UINT32_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct nic_cc_params params = nic_cc_paper;
		struct nic_cc_flow other = {.line_rate_bps = table[i].line_rate_bps,
					    .mtu_bytes = table[i].mtu_bytes,
					    .acked = true};
		struct nic_cc cc;

		params.cap_ns = table[i].cap_ns;
		nic_cc_init(&cc, table[i].algorithm, &params, &other, 0);
		assert_int_equal(nic_cc_window_packets(&cc), table[i].packets);
	}
}

/* What is under way counts where answers tell of its end, and only there. */
static void what_is_under_way(void **state)
{
	struct nic_cc_flow silent = flow;
	struct nic_cc cc;

	(void)state;
	nic_cc_init(&cc, NIC_CC_DCQCN, &nic_cc_paper, &flow, 0);
	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(nic_cc_may_send(&cc, 0), 0);
		nic_cc_on_send(&cc, 1000, 0);
	}
	assert_true(nic_cc_may_send(&cc, 0) == NIC_CC_NEVER);
	nic_cc_on_ack(&cc, 0, 3, 0, 1);
	assert_int_equal(cc.inflight_packets, 37);
	nic_cc_take_back(&cc, 37);
	assert_int_equal(cc.inflight_packets, 0);
	nic_cc_on_ack(&cc, 0, 5, 0, 2); /* of packets that were taken back */
	assert_int_equal(cc.inflight_packets, 0);
	silent.acked = false;
	nic_cc_init(&cc, NIC_CC_DCQCN, &nic_cc_paper, &silent, 0);
	for (uint32_t i = 0; i < 100; i++)
		nic_cc_on_send(&cc, 1000, 0);
	assert_int_equal(nic_cc_may_send(&cc, 0), 0);
}

/* With a burst, who wakes late catches up, no more than by the burst. */
static void the_bucket_lets_a_late_sender_catch_up(void **state)
{
	struct nic_cc_flow silent = flow;
	struct nic_cc_params params = nic_cc_paper;
	struct nic_cc cc;
	uint32_t sent = 0;

	(void)state;
	silent.acked = false;
	params.burst_bytes = 10000;
	nic_cc_init(&cc, NIC_CC_DCQCN, &params, &silent, 0);
	nic_cc_on_cnp(&cc, 0); /* 20 Gb/s: 400 ns a packet */
	while (nic_cc_may_send(&cc, 0) == 0 && sent < 100) {
		nic_cc_on_send(&cc, 1000, 0);
		sent++;
	}
	assert_int_equal(sent, 11);
	assert_int_equal(nic_cc_may_send(&cc, 0), 400);
	for (uint64_t now_ns = 0; now_ns <= 40000; now_ns += 4000)
		for (sent = 0; nic_cc_may_send(&cc, now_ns) == 0; sent++)
			nic_cc_on_send(&cc, 1000, now_ns);
	assert_int_equal(sent, 10); /* as many as in 4,000 ns, each time */
}

/* Who sends without asking owes, but not for ever, and no sum overflows. */
static void who_does_not_ask(void **state)
{
	struct nic_cc_flow silent = flow;
	struct nic_cc cc;

	(void)state;
	silent.acked = false;
	nic_cc_init(&cc, NIC_CC_DCQCN, &nic_cc_paper, &silent, 0);
	nic_cc_on_cnp(&cc, 0);
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t before = cc.level;

		nic_cc_on_send(&cc, 1u << 31, 0);
		assert_true(cc.level >= before);
	}
	assert_true(nic_cc_may_send(&cc, 1) != 0);
	assert_int_equal(nic_cc_may_send(&cc, 1000000000), 0);
}

static void one_notification_in_an_interval(void **state)
{
	struct nic_cnp_limiter limiter = {0};

	(void)state;
	assert_true(nic_cnp_due(&limiter, 50000, 0));
	assert_false(nic_cnp_due(&limiter, 50000, 49999));
	assert_true(nic_cnp_due(&limiter, 50000, 50000));
	assert_false(nic_cnp_due(&limiter, 50000, 99999));
	assert_true(nic_cnp_due(&limiter, 50000, 1000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(none_never_waits),
	    cmocka_unit_test(the_cap_is_one_product),
	    cmocka_unit_test(what_is_under_way),
	    cmocka_unit_test(the_bucket_lets_a_late_sender_catch_up),
	    cmocka_unit_test(who_does_not_ask),
	    cmocka_unit_test(one_notification_in_an_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
