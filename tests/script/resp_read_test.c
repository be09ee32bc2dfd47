/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that a responder answers READs and atomics, and answers them again when asked again.
 * By packet histories [IBTA1 9.4, 9.7.5]; numbered cases are those of cases.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

static void read_of_one_packet(void **state)
{
	(void)state;
	HISTORY("setup mtu=256 rq_psn=7",
		"fill va=40 len=256 pat=1",
		"rx READ_REQ psn=7 a va=40 total=256",
		"tx READ_RESP_ONLY psn=7 len=256 pat=1 msn=1",
		"rx READ_REQ psn=8 a va=40 total=3",
		"tx READ_RESP_ONLY psn=8 len=3 pat=1 msn=2",
		"rx READ_REQ psn=9 a va=40 total=0",
		"tx READ_RESP_ONLY psn=9 len=0 msn=3");
}

static void read_takes_a_psn_for_each_response(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=600 pat=1",
		"rx READ_REQ psn=0 a va=0 total=600",
		"tx READ_RESP_FIRST psn=0 len=256 pat=1 msn=1",
		"tx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"tx READ_RESP_LAST psn=2 len=88 pat=1 off=512 msn=1",
		"tx none",
		"rx WRITE_ONLY psn=3 a",
		"tx ACK psn=3 msn=2");
}

static void read_of_whole_packets(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=512 pat=1",
		"rx READ_REQ psn=0 a va=0 total=512",
		"tx READ_RESP_FIRST psn=0 len=256 pat=1",
		"tx READ_RESP_LAST psn=1 len=256 pat=1 off=256",
		"tx none");
}

static void read_over_the_psn_wrap(void **state)
{
	(void)state;
	HISTORY("setup mtu=256 rq_psn=0xffffff",
		"fill va=0 len=600 pat=1",
		"rx READ_REQ psn=0xffffff a va=0 total=600",
		"tx READ_RESP_FIRST psn=0xffffff pat=1",
		"tx READ_RESP_MIDDLE psn=0 pat=1 off=256",
		"tx READ_RESP_LAST psn=1 pat=1 off=512",
		"rx READ_REQ psn=0 a va=256 total=344",
		"tx READ_RESP_FIRST psn=0 len=256 pat=1 off=256",
		"tx READ_RESP_LAST psn=1 len=88 pat=1 off=512",
		"rx WRITE_ONLY psn=2 a",
		"tx ACK psn=2 msn=2");
}

/* Case 11. */
static void duplicate_read_is_answered_again(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=600 pat=1",
		"rx READ_REQ psn=0 a va=0 total=600",
		"tx READ_RESP_FIRST psn=0 pat=1",
		"tx READ_RESP_MIDDLE psn=1",
		"tx READ_RESP_LAST psn=2",
		"rx READ_REQ psn=0 a va=0 total=600",
		"tx READ_RESP_FIRST psn=0 len=256 pat=1 msn=1",
		"tx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"tx READ_RESP_LAST psn=2 len=88 pat=1 off=512 msn=1",
		"tx none",
		"count rx_duplicate=1");
}

/* Case 11. */
static void read_retried_from_the_middle(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=800 pat=1",
		"rx READ_REQ psn=0 a va=0 total=800",
		"tx READ_RESP_FIRST psn=0",
		"tx READ_RESP_MIDDLE psn=1",
		"tx READ_RESP_MIDDLE psn=2",
		"tx READ_RESP_LAST psn=3",
		"rx READ_REQ psn=1 a va=256 total=544",
		"tx READ_RESP_FIRST psn=1 len=256 pat=1 off=256 msn=1",
		"tx READ_RESP_MIDDLE psn=2 len=256 pat=1 off=512",
		"tx READ_RESP_LAST psn=3 len=32 pat=1 off=768 msn=1",
		"rx READ_REQ psn=3 a va=768 total=32",
		"tx READ_RESP_ONLY psn=3 len=32 pat=1 off=768 msn=1",
		"rx WRITE_ONLY psn=4 a",
		"tx ACK psn=4 msn=2");
}

static void read_retried_after_later_requests(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=300 pat=1",
		"rx READ_REQ psn=0 a va=0 total=300",
		"rx WRITE_ONLY psn=2 a va=1000 len=4 pat=2",
		"rx WRITE_ONLY psn=3 a va=1004 len=4 pat=3",
		"clear",
		"mem va=1000 len=4 pat=2",
		"mem va=1004 len=4 pat=3",
		"rx READ_REQ psn=0 a va=0 total=300",
		"tx READ_RESP_FIRST psn=0 pat=1",
		"tx READ_RESP_LAST psn=1 pat=1 off=256",
		"rx WRITE_ONLY psn=2 a va=1000 len=4 pat=9",
		"tx ACK psn=3 msn=3",
		"tx none");
}

/* A peer that names other bytes in its repetition: nothing of them is sent. */
static void repetition_outside_the_first_read_is_dropped(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=4096 pat=1",
		"rx READ_REQ psn=0 a va=1024 total=600",
		"clear",
		"rx READ_REQ psn=0 a va=0 total=600",
		"tx none",
		"rx READ_REQ psn=0 a va=1024 total=2000",
		"tx none",
		"rx READ_REQ psn=2 a va=2048 total=88",
		"tx none",
		"state rts");
}

/* Case 13. */
static void region_deregistered_between_responses(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=800 pat=1",
		"wire 2",
		"rx READ_REQ psn=0 a va=0 total=800",
		"tx READ_RESP_FIRST psn=0 pat=1",
		"tx READ_RESP_MIDDLE psn=1 pat=1 off=256",
		"tx none",
		"dereg data",
		"wire open",
		"tx ACK psn=2 nak=access",
		"tx none",
		"event access_err",
		"state err");
}

static void region_deregistered_before_the_repetition(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=300 pat=1",
		"rx READ_REQ psn=0 a va=0 total=300",
		"clear",
		"dereg data",
		"rx READ_REQ psn=0 a va=0 total=300",
		"tx ACK psn=0 nak=access",
		"tx none");
}

/* Case 17: the responder serves dest_rd at a time and refuses one more. */
static void one_read_too_many_is_invalid(void **state)
{
	(void)state;
	HISTORY("setup dest_rd=2",
		"fill va=0 len=8 pat=1",
		"rx READ_REQ psn=0 a va=0 total=8",
		"rx READ_REQ psn=1 a va=0 total=8",
		"rx READ_REQ psn=2 a va=0 total=8",
		"tx READ_RESP_ONLY psn=0 pat=1",
		"tx READ_RESP_ONLY psn=1 pat=1",
		"tx ACK psn=2 nak=invalid msn=2",
		"tx none",
		"state err");
}

static void answered_reads_do_not_count_against_the_limit(void **state)
{
	(void)state;
	HISTORY("setup dest_rd=1",
		"fill va=0 len=8 pat=1",
		"rx READ_REQ psn=0 a va=0 total=8",
		"tx READ_RESP_ONLY psn=0 pat=1",
		"rx READ_REQ psn=1 a va=0 total=8",
		"tx READ_RESP_ONLY psn=1 pat=1",
		"rx FETCH_ADD psn=2 a va=8 add=5",
		"tx ATOMIC_ACK psn=2 orig=0",
		"mem64 va=8 value=5");
}

/* An old copy of a request, late on the wire, is none of those that are outstanding. */
static void repetitions_do_not_count_against_the_limit(void **state)
{
	(void)state;
	HISTORY("setup dest_rd=1",
		"fill va=0 len=8 pat=1",
		"rx READ_REQ psn=0 a va=0 total=8",
		"tx READ_RESP_ONLY psn=0 pat=1",
		"rx FETCH_ADD psn=1 a va=8 add=5",
		"tx ATOMIC_ACK psn=1 orig=0",
		"rx READ_REQ psn=0 a va=0 total=8",
		"rx FETCH_ADD psn=1 a va=8 add=5",
		"rx READ_REQ psn=2 a va=0 total=8",
		"tx READ_RESP_ONLY psn=0 pat=1",
		"tx ATOMIC_ACK psn=1 orig=0",
		"tx READ_RESP_ONLY psn=2 pat=1",
		"tx none",
		"rx READ_REQ psn=3 a va=0 total=8",
		"rx READ_REQ psn=4 a va=0 total=8",
		"tx READ_RESP_ONLY psn=3",
		"tx ACK psn=4 nak=invalid",
		"mem64 va=8 value=5");
}

static void responder_that_serves_no_reads_refuses_them(void **state)
{
	(void)state;
	HISTORY("setup dest_rd=0",
		"rx READ_REQ psn=0 a va=0 total=8",
		"tx ACK psn=0 nak=invalid",
		"state err");
}

static void fetch_and_add(void **state)
{
	(void)state;
	HISTORY("setup",
		"set64 va=64 value=0x1020304050607080",
		"rx FETCH_ADD psn=0 a va=64 add=0x10",
		"tx ATOMIC_ACK psn=0 orig=0x1020304050607080 msn=1",
		"mem64 va=64 value=0x1020304050607090",
		"rx FETCH_ADD psn=1 a va=64 add=0xefdfcfbfaf9f8f70",
		"tx ATOMIC_ACK psn=1 orig=0x1020304050607090 msn=2",
		"mem64 va=64 value=0");
}

static void compare_and_swap(void **state)
{
	(void)state;
	HISTORY("setup",
		"set64 va=8 value=0x1111222233334444",
		"rx CMP_SWAP psn=0 a va=8 cmp=1 swap=0x99",
		"tx ATOMIC_ACK psn=0 orig=0x1111222233334444 msn=1",
		"mem64 va=8 value=0x1111222233334444",
		"rx CMP_SWAP psn=1 a va=8 cmp=0x1111222233334444 swap=0x99",
		"tx ATOMIC_ACK psn=1 orig=0x1111222233334444 msn=2",
		"mem64 va=8 value=0x99");
}

/* Case 12. */
static void repeated_atomic_replays_the_old_value(void **state)
{
	(void)state;
	HISTORY("setup",
		"set64 va=0 value=100",
		"rx FETCH_ADD psn=0 a va=0 add=1",
		"tx ATOMIC_ACK psn=0 orig=100 msn=1",
		"mem64 va=0 value=101",
		"rx FETCH_ADD psn=1 a va=0 add=1",
		"tx ATOMIC_ACK psn=1 orig=101 msn=2",
		"mem64 va=0 value=102",
		"rx FETCH_ADD psn=0 a va=0 add=1",
		"tx ATOMIC_ACK psn=0 orig=100",
		"rx FETCH_ADD psn=1 a va=0 add=1",
		"tx ATOMIC_ACK psn=1 orig=101",
		"mem64 va=0 value=102",
		"rx FETCH_ADD psn=2 a va=0 add=1",
		"tx ATOMIC_ACK psn=2 orig=102",
		"mem64 va=0 value=103");
}

static void repeated_swap_replays_although_memory_changed(void **state)
{
	(void)state;
	HISTORY("setup",
		"set64 va=0 value=7",
		"rx CMP_SWAP psn=0 a va=0 cmp=7 swap=8",
		"tx ATOMIC_ACK psn=0 orig=7",
		"set64 va=0 value=7",
		"rx CMP_SWAP psn=0 a va=0 cmp=7 swap=8",
		"tx ATOMIC_ACK psn=0 orig=7",
		"mem64 va=0 value=7");
}

/* What was too long ago to be remembered is dropped, and the value still moves once. */
static void forgotten_atomic_is_never_done_again(void **state)
{
	struct history *h = history_open("setup dest_rd=1");

	(void)state;
	for (int psn = 0; psn < 100; psn++) {
		history_step(h, "rx FETCH_ADD psn=%d a va=0 add=1", psn);
		history_step(h, "tx ATOMIC_ACK psn=%d orig=%d", psn, psn);
	}
	history_step(h, "mem64 va=0 value=100");
	history_step(h, "rx FETCH_ADD psn=3 a va=0 add=1");
	history_step(h, "clear");
	history_step(h, "mem64 va=0 value=100");
	history_step(h, "rx FETCH_ADD psn=99 a va=0 add=1");
	history_step(h, "tx ATOMIC_ACK psn=99 orig=99");
	history_step(h, "mem64 va=0 value=100");
	history_close(h);
}

static void responses_keep_the_order_of_requests(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=300 pat=1",
		"set64 va=512 value=5",
		"rx READ_REQ psn=0 a va=0 total=300",
		"rx FETCH_ADD psn=2 a va=512 add=1",
		"rx READ_REQ psn=3 a va=0 total=4",
		"rx WRITE_ONLY psn=4 a",
		"tx READ_RESP_FIRST psn=0 pat=1",
		"tx READ_RESP_LAST psn=1 pat=1 off=256",
		"tx ATOMIC_ACK psn=2 orig=5",
		"tx READ_RESP_ONLY psn=3 pat=1",
		"tx ACK psn=4 msn=4",
		"tx none",
		"mem64 va=512 value=6");
}

static void full_wire_stops_responses_and_loses_none(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=600 pat=1",
		"wire 1",
		"rx READ_REQ psn=0 a va=0 total=600",
		"tx READ_RESP_FIRST psn=0 pat=1",
		"tx none",
		"wire 1",
		"tx READ_RESP_MIDDLE psn=1 pat=1 off=256",
		"tx none",
		"wire open",
		"tx READ_RESP_LAST psn=2 pat=1 off=512",
		"tx none");
}

/* Linux's requester takes a plain ACK with a READ's or an atomic's PSN for its response, and ends
 * it without the data [linux rxe_completer]. */
static void ack_of_a_send_never_has_the_psn_of_a_read_behind_it(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=5",
		"recv va=0 len=64",
		"fill va=100 len=16 pat=1",
		"rx SEND_ONLY psn=5 a len=4 pat=2",
		"rx READ_REQ psn=6 a va=100 total=16",
		"tx READ_RESP_ONLY psn=6 len=16 pat=1 msn=2",
		"tx none",
		"cqe send len=4 idx=0",
		"rx SEND_ONLY psn=5 a len=4 pat=2",
		"tx ACK psn=5 msn=1",
		"tx none",
		"any va=0 len=4");
}

static void ack_of_a_write_never_has_the_psn_of_an_atomic_behind_it(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=0xfffffe",
		"set64 va=8 value=40",
		"rx WRITE_ONLY psn=0xfffffe a va=100 len=4 pat=1",
		"rx FETCH_ADD psn=0xffffff a va=8 add=2",
		"tx ATOMIC_ACK psn=0xffffff orig=40 msn=2",
		"tx none",
		"rx WRITE_ONLY psn=0xfffffe a va=100 len=4 pat=1",
		"tx ACK psn=0xfffffe msn=1",
		"rx WRITE_ONLY psn=0 a va=100 len=4 pat=1",
		"tx ACK psn=0 msn=3",
		"mem va=100 len=4 pat=1",
		"mem64 va=8 value=42");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_of_one_packet),
		cmocka_unit_test(read_takes_a_psn_for_each_response),
		cmocka_unit_test(read_of_whole_packets),
		cmocka_unit_test(read_over_the_psn_wrap),
		cmocka_unit_test(duplicate_read_is_answered_again),
		cmocka_unit_test(ack_of_a_send_never_has_the_psn_of_a_read_behind_it),
		cmocka_unit_test(ack_of_a_write_never_has_the_psn_of_an_atomic_behind_it),
		cmocka_unit_test(read_retried_from_the_middle),
		cmocka_unit_test(read_retried_after_later_requests),
		cmocka_unit_test(repetition_outside_the_first_read_is_dropped),
		cmocka_unit_test(region_deregistered_between_responses),
		cmocka_unit_test(region_deregistered_before_the_repetition),
		cmocka_unit_test(one_read_too_many_is_invalid),
		cmocka_unit_test(answered_reads_do_not_count_against_the_limit),
		cmocka_unit_test(repetitions_do_not_count_against_the_limit),
		cmocka_unit_test(responder_that_serves_no_reads_refuses_them),
		cmocka_unit_test(fetch_and_add),
		cmocka_unit_test(compare_and_swap),
		cmocka_unit_test(repeated_atomic_replays_the_old_value),
		cmocka_unit_test(repeated_swap_replays_although_memory_changed),
		cmocka_unit_test(forgotten_atomic_is_never_done_again),
		cmocka_unit_test(responses_keep_the_order_of_requests),
		cmocka_unit_test(full_wire_stops_responses_and_loses_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
