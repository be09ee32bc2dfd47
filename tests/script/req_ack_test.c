/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows what a requester makes of acknowledgements and responses, lost, repeated or false.
 * By packet histories [IBTA1 9.7.5, 9.7.6]; numbered cases are those of cases.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

/* 4.096 us << 14 */
#define TIMEOUT "67108864ns"

static void one_ack_completes_all_before_it(void **state)
{
	(void)state;
	HISTORY("setup sq_psn=10",
		"post SEND va=0 len=4 signal",
		"post WRITE va=0 len=4 signal",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=10 a",
		"tx WRITE_ONLY psn=11 a",
		"tx SEND_ONLY psn=12 a",
		"rx ACK psn=11 msn=2",
		"cqe done idx=0",
		"cqe done idx=1",
		"cqe none",
		"rx ACK psn=12 msn=3",
		"cqe done idx=2");
}

static void lost_ack_is_made_good_by_the_next(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=1 msn=2",
		"cqe done idx=0",
		"cqe done idx=1");
}

static void lost_ack_ends_in_a_timeout_and_a_repetition(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post WRITE va=0 len=300 pat=1 rva=0x40 rkey=3 signal",
		"post SEND va=0 len=4 signal",
		"tx WRITE_FIRST psn=0",
		"tx WRITE_LAST psn=1",
		"tx SEND_ONLY psn=2",
		"due " TIMEOUT,
		"tx WRITE_FIRST psn=0 len=256 pat=1 total=300 rva=0x40 rkey=3",
		"tx WRITE_LAST psn=1 a len=44 pat=1 off=256",
		"tx SEND_ONLY psn=2 a",
		"tx none",
		"count ack_timeouts=1 retransmits=3",
		"rx ACK psn=2 msn=2",
		"cqe done idx=0",
		"cqe done idx=1");
}

static void timeout_repeats_from_the_first_unacknowledged_packet(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post WRITE va=0 len=600 pat=1 rva=0x40 rkey=3 signal",
		"tx WRITE_FIRST psn=0",
		"tx WRITE_MIDDLE psn=1",
		"tx WRITE_LAST psn=2",
		"rx ACK psn=0 msn=0",
		"cqe none",
		"due " TIMEOUT,
		"tx WRITE_MIDDLE psn=1 pat=1 off=256",
		"tx WRITE_LAST psn=2 a pat=1 off=512",
		"tx none",
		"rx ACK psn=2 msn=1",
		"cqe done idx=0");
}

static void progress_starts_the_timer_anew(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"wait 60ms",
		"rx ACK psn=0 msn=1",
		"cqe done idx=0",
		"due " TIMEOUT,
		"tx SEND_ONLY psn=1",
		"rx ACK psn=1 msn=2",
		"cqe done idx=1");
}

static void no_timer_runs_when_all_is_acknowledged(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=0",
		"cqe done",
		"wait 100s",
		"tx none",
		"count ack_timeouts=0");
}

static void repeated_and_old_acks_change_nothing(void **state)
{
	(void)state;
	HISTORY("setup sq_psn=5",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=5",
		"rx ACK psn=5 msn=1",
		"cqe done idx=0",
		"rx ACK psn=5 msn=1",
		"rx ACK psn=4 msn=0",
		"rx ACK psn=0xfffff0 msn=0",
		"cqe none",
		"tx none",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=6",
		"rx ACK psn=5 msn=1",
		"cqe none",
		"rx ACK psn=6 msn=2",
		"cqe done idx=1",
		"state rts");
}

static void ack_of_a_psn_never_sent_is_ignored(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx ACK psn=0 msn=1",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=1 msn=2",
		"rx ACK psn=1000 msn=2",
		"rx ACK psn=0x7fffff msn=2",
		"cqe none",
		"count rx_drop_ack=4",
		"due " TIMEOUT,
		"tx SEND_ONLY psn=0",
		"rx ACK psn=0 msn=1",
		"cqe done idx=0");
}

static void nak_of_a_psn_never_sent_is_ignored(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=7 nak=access",
		"rx ACK psn=7 nak=sequence",
		"rx ACK psn=7 rnr=1",
		"tx none",
		"cqe none",
		"state rts",
		"rx ACK psn=0",
		"cqe done");
}

static void nak_of_an_acknowledged_psn_is_ignored(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=0",
		"cqe done idx=0",
		"rx ACK psn=0 nak=invalid",
		"rx ACK psn=0 nak=sequence",
		"rx ACK psn=0 rnr=1",
		"tx none",
		"state rts",
		"rx ACK psn=1",
		"cqe done idx=1");
}

static void reserved_syndromes_are_ignored(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=0 syndrome=0x40",
		"rx ACK psn=0 syndrome=0x9f",
		"cqe none",
		"state rts",
		"rx ACK psn=0 syndrome=0x05",
		"cqe done");
}

static void sequence_nak_goes_back_to_its_psn(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"post SEND va=0 len=4 signal",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"tx SEND_ONLY psn=2",
		"rx ACK psn=1 nak=sequence msn=1",
		"cqe done idx=0",
		"cqe none",
		"tx SEND_ONLY psn=1",
		"tx SEND_ONLY psn=2",
		"tx none",
		"count rx_nak=1",
		"rx ACK psn=2 msn=3",
		"cqe done idx=1",
		"cqe done idx=2");
}

static void sequence_nak_inside_a_message(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post WRITE va=0 len=1000 pat=1 signal",
		"tx WRITE_FIRST psn=0",
		"tx WRITE_MIDDLE psn=1",
		"tx WRITE_MIDDLE psn=2",
		"tx WRITE_LAST psn=3",
		"rx ACK psn=2 nak=sequence",
		"cqe none",
		"tx WRITE_MIDDLE psn=2 len=256 pat=1 off=512",
		"tx WRITE_LAST psn=3 len=232 pat=1 off=768",
		"tx none",
		"rx ACK psn=3",
		"cqe done");
}

static void sequence_nak_that_comes_twice_does_no_harm(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=0 nak=sequence",
		"rx ACK psn=0 nak=sequence",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"tx none",
		"rx ACK psn=1",
		"cqe done idx=0",
		"cqe done idx=1");
}

static void response_acknowledges_what_came_before_it(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=64 len=4 signal",
		"post READ va=0 len=8 signal",
		"post WRITE va=64 len=4 signal",
		"post FETCH_ADD va=8 len=8 add=1 signal",
		"tx SEND_ONLY psn=0",
		"tx READ_REQ psn=1",
		"tx WRITE_ONLY psn=2",
		"tx FETCH_ADD psn=3",
		"rx READ_RESP_ONLY psn=1 len=8 pat=1 msn=2",
		"cqe done idx=0",
		"cqe done idx=1",
		"cqe none",
		"mem va=0 len=8 pat=1",
		"rx ATOMIC_ACK psn=3 orig=5 msn=4",
		"cqe done idx=2",
		"cqe done idx=3",
		"mem64 va=8 value=5");
}

/* An ACK behind a READ whose response did not come is an implied NAK of it [IBTA1 9.7.5]. */
static void ack_behind_a_read_asks_for_it_again(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=300 rva=0x100 rkey=9 signal",
		"post WRITE va=4096 len=4 signal",
		"tx READ_REQ psn=0",
		"tx WRITE_ONLY psn=2",
		"rx ACK psn=2 msn=2",
		"cqe none",
		"tx READ_REQ psn=0 total=300 rva=0x100 rkey=9",
		"tx WRITE_ONLY psn=2",
		"tx none",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_LAST psn=1 len=44 pat=1 off=256",
		"cqe done idx=0",
		"mem va=0 len=300 pat=1",
		"rx ACK psn=2 msn=2",
		"cqe done idx=1");
}

static void ack_behind_an_atomic_asks_for_it_again(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=64 len=4 signal",
		"post FETCH_ADD va=0 len=8 rva=0x100 rkey=9 add=5 signal",
		"post WRITE va=64 len=4 signal",
		"tx SEND_ONLY psn=0",
		"tx FETCH_ADD psn=1",
		"tx WRITE_ONLY psn=2",
		"rx ACK psn=2 msn=3",
		"cqe done idx=0",
		"cqe none",
		"tx FETCH_ADD psn=1 rva=0x100 rkey=9 add=5",
		"tx WRITE_ONLY psn=2",
		"rx ATOMIC_ACK psn=1 orig=7",
		"rx ACK psn=2",
		"cqe done idx=1",
		"cqe done idx=2",
		"mem64 va=0 value=7");
}

static void lost_first_read_response(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=600 rva=0x1000 rkey=9 signal",
		"tx READ_REQ psn=0",
		"rx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512",
		"cqe none",
		"tx READ_REQ psn=0 rva=0x1000 rkey=9 total=600",
		"tx none",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512",
		"cqe done idx=0",
		"mem va=0 len=600 pat=1");
}

/* Case 11, from the other side. */
static void lost_middle_read_response(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=600 rva=0x1000 rkey=9 signal",
		"tx READ_REQ psn=0",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512",
		"cqe none",
		"tx READ_REQ psn=1 rva=0x1100 rkey=9 total=344",
		"tx none",
		"rx READ_RESP_FIRST psn=1 len=256 pat=1 off=256",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512",
		"cqe done idx=0",
		"mem va=0 len=600 pat=1");
}

static void lost_last_read_response(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=600 rva=0x1000 rkey=9 signal",
		"tx READ_REQ psn=0",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"tx none",
		"due " TIMEOUT,
		"tx READ_REQ psn=2 rva=0x1200 rkey=9 total=88",
		"tx none",
		"rx READ_RESP_ONLY psn=2 len=88 pat=1 off=512",
		"cqe done idx=0",
		"mem va=0 len=600 pat=1");
}

static void lost_last_read_response_and_a_later_one(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=300 rva=0x1000 rkey=9 signal",
		"post READ va=512 len=4 rva=0x2000 rkey=9 signal",
		"tx READ_REQ psn=0",
		"tx READ_REQ psn=2",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_ONLY psn=2 len=4 pat=2",
		"cqe none",
		"tx READ_REQ psn=1 rva=0x1100 total=44",
		"tx READ_REQ psn=2 rva=0x2000 total=4",
		"tx none",
		"rx READ_RESP_ONLY psn=1 len=44 pat=1 off=256",
		"cqe done idx=0",
		"rx READ_RESP_ONLY psn=2 len=4 pat=2",
		"cqe done idx=1",
		"mem va=0 len=300 pat=1",
		"mem va=512 len=4 pat=2");
}

static void lost_read_request(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=300 rva=0x1000 rkey=9 signal",
		"tx READ_REQ psn=0",
		"due " TIMEOUT,
		"tx READ_REQ psn=0 rva=0x1000 rkey=9 total=300",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_LAST psn=1 len=44 pat=1 off=256",
		"cqe done idx=0",
		"mem va=0 len=300 pat=1");
}

static void repeated_read_response_is_not_placed_twice(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=600 signal",
		"tx READ_REQ psn=0",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_FIRST psn=0 len=256 pat=7",
		"rx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512",
		"cqe done idx=0",
		"mem va=0 len=600 pat=1",
		"fill va=0 len=600 pat=3",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512",
		"rx READ_RESP_ONLY psn=0 len=256 pat=1",
		"cqe none",
		"tx none",
		"mem va=0 len=600 pat=3",
		"state rts");
}

static void lost_atomic_response_repeats_the_request(void **state)
{
	(void)state;
	HISTORY("setup",
		"post CMP_SWAP va=0 len=8 rva=0x100 rkey=9 cmp=1 swap=2 signal",
		"tx CMP_SWAP psn=0",
		"due " TIMEOUT,
		"tx CMP_SWAP psn=0 rva=0x100 rkey=9 cmp=1 swap=2",
		"rx ATOMIC_ACK psn=0 orig=1",
		"cqe done",
		"mem64 va=0 value=1",
		"set64 va=0 value=9",
		"rx ATOMIC_ACK psn=0 orig=1",
		"cqe none",
		"mem64 va=0 value=9");
}

/* The first response of a READ that is asked for again from the middle may be an old one, late. */
static void late_response_after_going_back_is_taken(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=800 rva=0x1000 rkey=9 signal",
		"tx READ_REQ psn=0",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_MIDDLE psn=2 len=256 pat=1 off=512",
		"tx READ_REQ psn=1 rva=0x1100 total=544",
		"rx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"rx READ_RESP_MIDDLE psn=2 len=256 pat=1 off=512",
		"rx READ_RESP_LAST psn=3 len=32 pat=1 off=768",
		"cqe done idx=0",
		"rx READ_RESP_FIRST psn=1 len=256 pat=1 off=256",
		"rx READ_RESP_MIDDLE psn=2 len=256 pat=1 off=512",
		"rx READ_RESP_LAST psn=3 len=32 pat=1 off=768",
		"cqe none",
		"state rts",
		"mem va=0 len=800 pat=1");
}

#define FIRST "READ_RESP_FIRST psn=0 len=256"

struct response_case {
	const char *post;
	const char *good;
	const char *bad;
};

static struct history *contradict(const struct response_case *c)
{
	struct history *h = history_open("setup mtu=256 timeout=10 retry=0");

	history_step(h, "post %s signal", c->post);
	history_step(h, "clear");
	if (c->good)
		history_step(h, "rx %s pat=0", c->good);
	history_step(h, "rx %s pat=1", c->bad);
	return h;
}

/* Responses that contradict the request: bad response [IBTA1 9.7.6]. */
static void responses_of_a_wrong_length_fail_the_entry(void **state)
{
	static const struct response_case cases[] = {
		{"READ va=0 len=600", NULL, "READ_RESP_FIRST psn=0 len=252"},
		{"READ va=0 len=600", NULL, "READ_RESP_ONLY psn=0 len=256"},
		{"READ va=0 len=600", FIRST, "READ_RESP_LAST psn=1 len=88"},
		{"READ va=0 len=300", FIRST, "READ_RESP_LAST psn=1 len=48"},
		{"READ va=0 len=300", FIRST, "READ_RESP_LAST psn=1 len=40"},
		{"READ va=0 len=300", FIRST, "READ_RESP_MIDDLE psn=1 len=256"},
		{"READ va=0 len=8", NULL, "READ_RESP_ONLY psn=0 len=12"},
		{"READ va=0 len=8", NULL, "READ_RESP_ONLY psn=0 len=0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history *h = contradict(&cases[i]);

		history_step(h, "cqe req_err syn=0x10 idx=0");
		history_step(h, "state err");
		history_close(h);
	}
}

/* They may be another connection's: they complete nothing, place nothing, and the timer runs. */
static void responses_of_a_wrong_kind_complete_nothing(void **state)
{
	static const struct response_case cases[] = {
		{"READ va=0 len=8", NULL, "ATOMIC_ACK psn=0 orig=1"},
		{"FETCH_ADD va=0 len=8 add=1", NULL, "READ_RESP_ONLY psn=0 len=8"},
		{"SEND va=0 len=8", NULL, "READ_RESP_ONLY psn=0 len=8"},
		{"WRITE va=0 len=8", NULL, "ATOMIC_ACK psn=0 orig=1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history *h = contradict(&cases[i]);

		history_step(h, "cqe none");
		history_step(h, "due 4194304ns");
		history_step(h, "cqe req_err syn=0x15 idx=0");
		history_close(h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_ack_completes_all_before_it),
		cmocka_unit_test(lost_ack_is_made_good_by_the_next),
		cmocka_unit_test(lost_ack_ends_in_a_timeout_and_a_repetition),
		cmocka_unit_test(timeout_repeats_from_the_first_unacknowledged_packet),
		cmocka_unit_test(progress_starts_the_timer_anew),
		cmocka_unit_test(no_timer_runs_when_all_is_acknowledged),
		cmocka_unit_test(repeated_and_old_acks_change_nothing),
		cmocka_unit_test(ack_of_a_psn_never_sent_is_ignored),
		cmocka_unit_test(nak_of_a_psn_never_sent_is_ignored),
		cmocka_unit_test(nak_of_an_acknowledged_psn_is_ignored),
		cmocka_unit_test(reserved_syndromes_are_ignored),
		cmocka_unit_test(sequence_nak_goes_back_to_its_psn),
		cmocka_unit_test(sequence_nak_inside_a_message),
		cmocka_unit_test(sequence_nak_that_comes_twice_does_no_harm),
		cmocka_unit_test(response_acknowledges_what_came_before_it),
		cmocka_unit_test(ack_behind_a_read_asks_for_it_again),
		cmocka_unit_test(ack_behind_an_atomic_asks_for_it_again),
		cmocka_unit_test(lost_first_read_response),
		cmocka_unit_test(lost_middle_read_response),
		cmocka_unit_test(lost_last_read_response),
		cmocka_unit_test(lost_last_read_response_and_a_later_one),
		cmocka_unit_test(lost_read_request),
		cmocka_unit_test(repeated_read_response_is_not_placed_twice),
		cmocka_unit_test(lost_atomic_response_repeats_the_request),
		cmocka_unit_test(late_response_after_going_back_is_taken),
		cmocka_unit_test(responses_of_a_wrong_length_fail_the_entry),
		cmocka_unit_test(responses_of_a_wrong_kind_complete_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
