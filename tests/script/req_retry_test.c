/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows when a requester repeats and when it gives up: RNR waits, timeouts, counts, to the
 * nanosecond. By packet histories in virtual time [IBTA1 9.7.5, 9.7.6, table 45]; cases of
 * cases.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

/* Hundredths of a millisecond for each RNR timer code [IBTA1 table 45]. */
static const unsigned int rnr_timer_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

/* Case 14: code 0 is 655.36 ms. */
static void each_rnr_code_waits_its_time(void **state)
{
	(void)state;
	for (unsigned int code = 0; code < 32; code++) {
		struct history *h = history_open("setup sq_psn=5 timeout=1");

		history_step(h, "post SEND va=0 len=4 pat=1 signal");
		history_step(h, "tx SEND_ONLY psn=5");
		history_step(h, "rx ACK psn=5 rnr=%u msn=0", code);
		history_step(h, "due %u0us", rnr_timer_10us[code]);
		history_step(h, "tx SEND_ONLY psn=5 a len=4 pat=1");
		history_step(h, "tx none");
		history_step(h, "rx ACK psn=5 msn=1");
		history_step(h, "cqe done");
		history_step(h, "count ack_timeouts=0 rx_rnr=1");
		history_close(h);
	}
}

static void rnr_completes_what_came_before_it(void **state)
{
	(void)state;
	HISTORY("setup",
		"post WRITE va=0 len=4 signal",
		"post SEND va=0 len=4 signal",
		"post WRITE va=0 len=4 signal",
		"tx WRITE_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"tx WRITE_ONLY psn=2",
		"rx ACK psn=1 rnr=1 msn=1",
		"cqe done idx=0",
		"cqe none",
		"due 10us",
		"tx SEND_ONLY psn=1",
		"tx WRITE_ONLY psn=2",
		"tx none",
		"rx ACK psn=2 msn=3",
		"cqe done idx=1",
		"cqe done idx=2");
}

static void nothing_is_sent_while_an_rnr_waits(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=0 rnr=12",
		"post WRITE va=0 len=4 signal",
		"tx none",
		"wait 100us",
		"rx ACK psn=0 nak=sequence",
		"tx none",
		"due 540us",
		"tx SEND_ONLY psn=0",
		"tx WRITE_ONLY psn=1",
		"rx ACK psn=1",
		"cqe done",
		"cqe done");
}

static void rnr_inside_a_message_repeats_its_packet(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post WRITE_IMM va=0 len=300 pat=1 imm=5 signal",
		"tx WRITE_FIRST psn=0",
		"tx WRITE_LAST_IMM psn=1",
		"rx ACK psn=1 rnr=5 msn=0",
		"due 60us",
		"tx WRITE_LAST_IMM psn=1 a len=44 pat=1 off=256 imm=5",
		"tx none",
		"rx ACK psn=1 msn=1",
		"cqe done");
}

static void rnr_retry_zero_fails_at_once(void **state)
{
	(void)state;
	HISTORY("setup rnr_retry=0",
		"post SEND va=0 len=4 signal",
		"post SEND va=0 len=4",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=0 rnr=1",
		"cqe req_err syn=0x16 vendor=0x87 idx=0",
		"cqe req_err syn=5 vendor=0xf5 idx=1",
		"state err");
}

static void rnr_retries_are_counted(void **state)
{
	(void)state;
	for (unsigned int count = 1; count < 7; count++) {
		char setup[64];
		struct history *h;

		snprintf(setup, sizeof(setup), "setup rnr_retry=%u", count);
		h = history_open(setup);
		history_step(h, "post SEND va=0 len=4 signal");
		history_step(h, "tx SEND_ONLY psn=0");
		for (unsigned int i = 0; i < count; i++) {
			history_step(h, "rx ACK psn=0 rnr=2");
			history_step(h, "due 20us");
			history_step(h, "tx SEND_ONLY psn=0");
			history_step(h, "cqe none");
		}
		history_step(h, "rx ACK psn=0 rnr=2");
		history_step(h, "cqe req_err syn=0x16 vendor=0x87 idx=0");
		history_step(h, "state err");
		history_close(h);
	}
}

/* Case 14. */
static void rnr_retry_seven_is_without_end(void **state)
{
	struct history *h = history_open("setup rnr_retry=7");

	(void)state;
	history_step(h, "post SEND va=0 len=4 signal");
	history_step(h, "tx SEND_ONLY psn=0");
	for (int i = 0; i < 1000; i++) {
		history_step(h, "rx ACK psn=0 rnr=1");
		history_step(h, "due 10us");
		history_step(h, "tx SEND_ONLY psn=0");
	}
	history_step(h, "rx ACK psn=0");
	history_step(h, "cqe done");
	history_close(h);
}

/* Who says that he is not ready answers: what is lost on the way between does not add up, however
 * long it takes him. */
static void an_rnr_renews_the_retries(void **state)
{
	struct history *h = history_open("setup timeout=10 retry=1 rnr_retry=7");

	(void)state;
	history_step(h, "post SEND va=0 len=4 signal");
	history_step(h, "tx SEND_ONLY psn=0");
	for (int i = 0; i < 10; i++) {
		history_step(h, "rx ACK psn=0 rnr=1");
		history_step(h, "due 10us");
		history_step(h, "tx SEND_ONLY psn=0");
		history_step(h, "due %uns", 4096u << 10);
		history_step(h, "tx SEND_ONLY psn=0");
		history_step(h, "cqe none");
	}
	history_step(h, "due %uns", 4096u << 10);
	history_step(h, "cqe req_err syn=0x15");
	history_close(h);
}

static void progress_renews_the_rnr_retries(void **state)
{
	struct history *h = history_open("setup rnr_retry=1");

	(void)state;
	for (int psn = 0; psn < 5; psn++) {
		history_step(h, "post SEND va=0 len=4 signal");
		history_step(h, "tx SEND_ONLY psn=%d", psn);
		history_step(h, "rx ACK psn=%d rnr=1", psn);
		history_step(h, "due 10us");
		history_step(h, "tx SEND_ONLY psn=%d", psn);
		history_step(h, "rx ACK psn=%d", psn);
		history_step(h, "cqe done");
	}
	history_close(h);
}

static void each_timeout_code_waits_its_time(void **state)
{
	(void)state;
	for (unsigned int code = 1; code < 32; code++) {
		char setup[64];
		struct history *h;

		snprintf(setup, sizeof(setup), "setup timeout=%u", code);
		h = history_open(setup);
		history_step(h, "post SEND va=0 len=4 signal");
		history_step(h, "tx SEND_ONLY psn=0");
		history_step(h, "due %lluns", 4096ull << code);
		history_step(h, "tx SEND_ONLY psn=0");
		history_step(h, "rx ACK psn=0");
		history_step(h, "cqe done");
		history_close(h);
	}
}

static void timeout_zero_waits_for_ever(void **state)
{
	(void)state;
	HISTORY("setup timeout=0",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"wait 1000000s",
		"tx none",
		"cqe none",
		"rx ACK psn=0",
		"cqe done");
}

static void exhaust(unsigned int retry, const char *post, const char *tx)
{
	char setup[64];
	struct history *h;

	snprintf(setup, sizeof(setup), "setup timeout=10 retry=%u", retry);
	h = history_open(setup);
	history_step(h, "recv va=0 len=64");
	history_step(h, "post %s", post);
	history_step(h, "post SEND va=0 len=4");
	history_step(h, "tx %s psn=0", tx);
	history_step(h, "tx SEND_ONLY psn=1");
	for (unsigned int i = 0; i < retry; i++) {
		history_step(h, "due %uns", 4096u << 10);
		history_step(h, "tx %s psn=0", tx);
		history_step(h, "tx SEND_ONLY psn=1");
		history_step(h, "tx none");
		history_step(h, "cqe none");
	}
	history_step(h, "due %uns", 4096u << 10);
	history_step(h, "cqe req_err syn=0x15 vendor=0x81 idx=0");
	history_step(h, "cqe req_err syn=5 vendor=0xf5 idx=1");
	history_step(h, "cqe resp_err syn=5 vendor=0xf5 idx=0");
	history_step(h, "count ack_timeouts=%u", retry + 1);
	history_step(h, "state err");
	history_close(h);
}

/* The entry asks for no completion: it gets one all the same [IBTA1 10.7.3.1]. */
static void retries_are_counted_and_then_it_fails(void **state)
{
	(void)state;
	for (unsigned int retry = 0; retry <= 7; retry++) {
		exhaust(retry, "SEND va=0 len=4", "SEND_ONLY");
		exhaust(retry, "READ va=0 len=4", "READ_REQ");
		exhaust(retry, "FETCH_ADD va=0 len=8 add=1", "FETCH_ADD");
	}
}

static void progress_renews_the_retries(void **state)
{
	struct history *h = history_open("setup timeout=10 retry=1 mtu=256");

	(void)state;
	history_step(h, "post WRITE va=0 len=2000 pat=1 signal");
	history_step(h, "clear");
	for (int psn = 0; psn < 7; psn++) {
		history_step(h, "due %uns", 4096u << 10);
		history_step(h, "tx %s psn=%d", psn == 0 ? "WRITE_FIRST" : "WRITE_MIDDLE", psn);
		history_step(h, "clear");
		history_step(h, "rx ACK psn=%d", psn);
		history_step(h, "cqe none");
	}
	history_step(h, "rx ACK psn=7");
	history_step(h, "cqe done");
	history_close(h);
}

static void read_responses_renew_the_retries(void **state)
{
	struct history *h = history_open("setup timeout=10 retry=1 mtu=256");

	(void)state;
	history_step(h, "post READ va=0 len=1536 rva=0 signal");
	history_step(h, "tx READ_REQ psn=0");
	for (int psn = 0; psn < 5; psn++) {
		history_step(h, "rx READ_RESP_FIRST psn=%d len=256 pat=1 off=%d", psn, psn * 256);
		history_step(h, "due %uns", 4096u << 10);
		history_step(h, "tx READ_REQ psn=%d rva=%d total=%d", psn + 1, (psn + 1) * 256,
			     1536 - (psn + 1) * 256);
	}
	history_step(h, "rx READ_RESP_ONLY psn=5 len=256 pat=1 off=1280");
	history_step(h, "cqe done");
	history_step(h, "mem va=0 len=1536 pat=1");
	history_close(h);
}

/* A sequence NAK that is repeated without progress does not keep a dead connection alive. */
static void sequence_naks_without_progress_use_up_the_retries(void **state)
{
	struct history *h = history_open("setup timeout=10 retry=3");

	(void)state;
	history_step(h, "post SEND va=0 len=4 signal");
	history_step(h, "tx SEND_ONLY psn=0");
	history_step(h, "rx ACK psn=0 nak=sequence");
	history_step(h, "tx SEND_ONLY psn=0");
	/* Each comes sooner than the timer would fire: no NAK may put it off for ever. */
	for (int i = 0; i < 20; i++) {
		history_step(h, "rx ACK psn=0 nak=sequence");
		history_step(h, "wait 2100us");
		history_step(h, "clear");
	}
	history_step(h, "state err");
	history_step(h, "count req_cqe_error=1");
	history_close(h);
}

/* A stopped peer on the local wire pauses its peers: such a timeout is not counted. */
static void packets_the_peer_has_not_taken_do_not_count(void **state)
{
	struct history *h = history_open("setup timeout=10 retry=2");

	(void)state;
	history_step(h, "post SEND va=0 len=4 signal");
	history_step(h, "tx SEND_ONLY psn=0");
	history_step(h, "untaken on");
	for (int i = 0; i < 50; i++) {
		history_step(h, "wait 5ms");
		history_step(h, "cqe none");
		history_step(h, "clear");
	}
	history_step(h, "state rts");
	history_step(h, "count ack_timeouts=0");
	history_step(h, "untaken off");
	for (int i = 0; i < 2; i++) {
		history_step(h, "wait 5ms");
		history_step(h, "tx SEND_ONLY psn=0");
		history_step(h, "cqe none");
	}
	history_step(h, "wait 5ms");
	history_step(h, "cqe req_err syn=0x15");
	history_close(h);
}

static void message_that_went_through_late_is_not_repeated(void **state)
{
	(void)state;
	HISTORY("setup timeout=10 retry=2",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"wait 4194303ns",
		"tx none",
		"rx ACK psn=0",
		"cqe done",
		"wait 1s",
		"tx none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rnr_code_waits_its_time),
		cmocka_unit_test(rnr_completes_what_came_before_it),
		cmocka_unit_test(nothing_is_sent_while_an_rnr_waits),
		cmocka_unit_test(rnr_inside_a_message_repeats_its_packet),
		cmocka_unit_test(rnr_retry_zero_fails_at_once),
		cmocka_unit_test(rnr_retries_are_counted),
		cmocka_unit_test(rnr_retry_seven_is_without_end),
		cmocka_unit_test(an_rnr_renews_the_retries),
		cmocka_unit_test(progress_renews_the_rnr_retries),
		cmocka_unit_test(each_timeout_code_waits_its_time),
		cmocka_unit_test(timeout_zero_waits_for_ever),
		cmocka_unit_test(retries_are_counted_and_then_it_fails),
		cmocka_unit_test(progress_renews_the_retries),
		cmocka_unit_test(read_responses_renew_the_retries),
		cmocka_unit_test(sequence_naks_without_progress_use_up_the_retries),
		cmocka_unit_test(packets_the_peer_has_not_taken_do_not_count),
		cmocka_unit_test(message_that_went_through_late_is_not_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
