/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that a responder takes each request once and in order: gaps, duplicates, reordering, wrap.
 * By packet histories [IBTA1 9.7, C9-105]; the NAKs are those of Linux [rxe.md]. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

static void in_order_packets_are_acknowledged(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=5",
		"recv va=0 len=64",
		"rx SEND_ONLY psn=5 a len=10 pat=1",
		"tx ACK psn=5 msn=1",
		"cqe send len=10 idx=0",
		"mem va=0 len=10 pat=1",
		"rx WRITE_ONLY psn=6 a va=100 len=7 pat=2",
		"tx ACK psn=6 msn=2",
		"mem va=100 len=7 pat=2",
		"cqe none");
}

static void gap_gets_one_nak_with_the_expected_psn(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=5",
		"rx WRITE_ONLY psn=7 a va=0 len=4 pat=1",
		"tx ACK psn=5 nak=sequence msn=0",
		"rx WRITE_ONLY psn=8 a va=0 len=4 pat=1",
		"tx none",
		"count tx_nak_sequence=1",
		"rx WRITE_ONLY psn=5 a va=0 len=4 pat=2",
		"tx ACK psn=5 msn=1",
		"mem va=0 len=4 pat=2");
}

static void second_gap_after_progress_gets_a_second_nak(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=1 a",
		"tx ACK psn=0 nak=sequence",
		"rx WRITE_ONLY psn=0 a",
		"tx ACK psn=0 msn=1",
		"rx WRITE_ONLY psn=3 a",
		"tx ACK psn=1 nak=sequence msn=1",
		"count tx_nak_sequence=2");
}

static void duplicate_between_two_gap_packets_brings_no_second_nak(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=0 a",
		"tx ACK psn=0",
		"rx WRITE_ONLY psn=2 a",
		"tx ACK psn=1 nak=sequence",
		"rx WRITE_ONLY psn=0 a",
		"tx ACK psn=0 msn=1",
		"rx WRITE_ONLY psn=3 a",
		"tx none");
}

static void duplicate_send_is_acknowledged_and_not_received_again(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=9",
		"recv va=0 len=64",
		"recv va=64 len=64",
		"rx SEND_ONLY psn=9 a len=5 pat=1",
		"tx ACK psn=9 msn=1",
		"cqe send len=5",
		"mem va=0 len=5 pat=1",
		"rx SEND_ONLY psn=9 a len=5 pat=1",
		"tx ACK psn=9 msn=1",
		"count rx_duplicate=1",
		"cqe none");
}

static void duplicate_write_does_not_write(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=0 a va=8 len=8 pat=1",
		"tx ACK psn=0",
		"mem va=8 len=8 pat=1",
		"fill va=8 len=8 pat=2",
		"rx WRITE_ONLY psn=0 a va=8 len=8 pat=1",
		"tx ACK psn=0 msn=1",
		"mem va=8 len=8 pat=2");
}

static void duplicate_acknowledges_the_newest_psn(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=0 a",
		"rx WRITE_ONLY psn=1 a",
		"rx WRITE_ONLY psn=2 a",
		"tx ACK psn=2 msn=3",
		"tx none",
		"rx WRITE_ONLY psn=0 a",
		"tx ACK psn=2 msn=3");
}

static void duplicate_in_the_middle_of_a_message_does_not_disturb_it(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=0 len=1024",
		"rx SEND_FIRST psn=0 a len=256 pat=1",
		"tx ACK psn=0 msn=0",
		"rx SEND_FIRST psn=0 a len=256 pat=1",
		"tx ACK psn=0 msn=0",
		"rx SEND_LAST psn=1 a len=4 pat=1 off=256",
		"tx ACK psn=1 msn=1",
		"cqe send len=260",
		"mem va=0 len=260 pat=1");
}

static void psn_before_the_first_ever_is_a_duplicate(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=100",
		"rx WRITE_ONLY psn=99 a va=0 len=4 pat=1",
		"tx ACK psn=99 msn=0",
		"cqe none");
}

static void reordered_pair_is_taken_once_each(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=16",
		"recv va=16 len=16",
		"rx SEND_ONLY psn=1 a len=2 pat=2",
		"tx ACK psn=0 nak=sequence",
		"rx SEND_ONLY psn=0 a len=1 pat=1",
		"tx ACK psn=0 msn=1",
		"cqe send len=1 idx=0",
		"rx SEND_ONLY psn=1 a len=2 pat=2",
		"tx ACK psn=1 msn=2",
		"cqe send len=2 idx=1",
		"mem va=0 len=1 pat=1",
		"mem va=16 len=2 pat=2");
}

static void reordered_packets_of_one_message(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"rx WRITE_FIRST psn=0 va=0 len=256 total=600 pat=3",
		"rx WRITE_LAST psn=2 a len=88 pat=3 off=512",
		"tx ACK psn=1 nak=sequence msn=0",
		"rx WRITE_MIDDLE psn=1 len=256 pat=3 off=256",
		"tx none",
		"rx WRITE_LAST psn=2 a len=88 pat=3 off=512",
		"tx ACK psn=2 msn=1",
		"mem va=0 len=600 pat=3");
}

static void psn_wraps(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=0xfffffe",
		"rx WRITE_ONLY psn=0xfffffe a va=0 len=1 pat=1",
		"tx ACK psn=0xfffffe msn=1",
		"rx WRITE_ONLY psn=0xffffff a va=1 len=1 pat=2",
		"tx ACK psn=0xffffff msn=2",
		"rx WRITE_ONLY psn=0 a va=2 len=1 pat=3",
		"tx ACK psn=0 msn=3",
		"mem va=0 len=1 pat=1",
		"mem va=1 len=1 pat=2",
		"mem va=2 len=1 pat=3");
}

static void message_over_the_wrap(void **state)
{
	(void)state;
	HISTORY("setup mtu=256 rq_psn=0xffffff",
		"recv va=0 len=600",
		"rx SEND_FIRST psn=0xffffff len=256 pat=1",
		"rx SEND_MIDDLE psn=0 len=256 pat=1 off=256",
		"rx SEND_LAST psn=1 a len=88 pat=1 off=512",
		"tx ACK psn=1 msn=1",
		"cqe send len=600",
		"mem va=0 len=600 pat=1");
}

static void gap_and_duplicate_over_the_wrap(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=0xffffff",
		"rx WRITE_ONLY psn=1 a",
		"tx ACK psn=0xffffff nak=sequence",
		"rx WRITE_ONLY psn=0xffffff a",
		"rx WRITE_ONLY psn=0 a",
		"rx WRITE_ONLY psn=1 a",
		"tx ACK psn=1 msn=3",
		"rx WRITE_ONLY psn=0xffffff a",
		"tx ACK psn=1 msn=3",
		"tx none");
}

/* Half the number space is the future, half is the past [IBTA1 9.7.2]. */
static void future_and_past_are_half_the_space_each(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=0x7fffff a",
		"tx ACK psn=0 nak=sequence",
		"rx WRITE_ONLY psn=0x800000 a",
		"tx ACK psn=0xffffff msn=0",
		"tx none");
}

static void packet_that_asks_for_nothing_may_stay_unanswered(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"rx WRITE_FIRST psn=0 va=0 len=256 total=512 pat=1",
		"tx none",
		"rx WRITE_LAST psn=1 a len=256 pat=1 off=256",
		"tx ACK psn=1 msn=1",
		"mem va=0 len=512 pat=1");
}

static void middle_packet_that_asks_is_answered_without_counting_the_message(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"rx WRITE_FIRST psn=0 a va=0 len=256 total=512 pat=1",
		"tx ACK psn=0 msn=0",
		"mem va=0 len=256 pat=1");
}

static void reset_starts_psn_and_msn_anew(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=3",
		"rx WRITE_ONLY psn=3 a",
		"tx ACK psn=3 msn=1",
		"modify state=reset",
		"modify state=init",
		"modify state=rtr rq_psn=200",
		"rx WRITE_ONLY psn=4 a",
		"tx ACK psn=199 msn=0",
		"rx WRITE_ONLY psn=200 a",
		"tx ACK psn=200 msn=1");
}

static void full_wire_delays_an_answer_and_loses_none(void **state)
{
	(void)state;
	HISTORY("setup",
		"wire full",
		"rx WRITE_ONLY psn=0 a",
		"tx none",
		"rx WRITE_ONLY psn=1 a",
		"tx none",
		"wire open",
		"tx ACK psn=1 msn=2",
		"tx none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_packets_are_acknowledged),
		cmocka_unit_test(gap_gets_one_nak_with_the_expected_psn),
		cmocka_unit_test(second_gap_after_progress_gets_a_second_nak),
		cmocka_unit_test(duplicate_between_two_gap_packets_brings_no_second_nak),
		cmocka_unit_test(duplicate_send_is_acknowledged_and_not_received_again),
		cmocka_unit_test(duplicate_write_does_not_write),
		cmocka_unit_test(duplicate_acknowledges_the_newest_psn),
		cmocka_unit_test(duplicate_in_the_middle_of_a_message_does_not_disturb_it),
		cmocka_unit_test(psn_before_the_first_ever_is_a_duplicate),
		cmocka_unit_test(reordered_pair_is_taken_once_each),
		cmocka_unit_test(reordered_packets_of_one_message),
		cmocka_unit_test(psn_wraps),
		cmocka_unit_test(message_over_the_wrap),
		cmocka_unit_test(gap_and_duplicate_over_the_wrap),
		cmocka_unit_test(future_and_past_are_half_the_space_each),
		cmocka_unit_test(packet_that_asks_for_nothing_may_stay_unanswered),
		cmocka_unit_test(middle_packet_that_asks_is_answered_without_counting_the_message),
		cmocka_unit_test(reset_starts_psn_and_msn_anew),
		cmocka_unit_test(full_wire_delays_an_answer_and_loses_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
