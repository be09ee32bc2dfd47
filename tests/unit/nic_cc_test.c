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
	    cmocka_unit_test(one_notification_in_an_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
