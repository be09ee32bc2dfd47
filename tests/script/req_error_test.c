/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows how requests fail: NAKs of the peer, the application's own mistakes, and what is flushed.
 * By packet histories; statuses and vendor syndromes are those measured on a
  * card [cx6-syndromes]. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

static void each_nak_has_its_status(void **state)
{
	static const struct {
		const char *nak;
		const char *cqe;
	} cases[] = {
		{"nak=invalid", "syn=0x12 vendor=0x8a"},
		{"nak=access", "syn=0x13 vendor=0x88"},
		{"nak=operation", "syn=0x14"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history *h = history_open("setup");

		history_step(h, "post SEND va=0 len=4");
		history_step(h, "post WRITE va=0 len=4");
		history_step(h, "post SEND va=0 len=4");
		history_step(h, "clear");
		history_step(h, "rx ACK psn=1 %s", cases[i].nak);
		history_step(h, "cqe req_err %s idx=1", cases[i].cqe);
		history_step(h, "cqe req_err syn=5 vendor=0xf5 idx=2");
		history_step(h, "state err");
		history_step(h, "wait 10s");
		history_close(h);
	}
}

static void nak_completes_what_came_before_it(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=0 len=8",
		"post SEND va=0 len=4 signal",
		"post WRITE va=0 len=600 signal",
		"post SEND va=0 len=4 signal",
		"clear",
		"rx ACK psn=2 nak=access msn=1",
		"cqe done idx=0",
		"cqe req_err syn=0x13 vendor=0x88 idx=1",
		"cqe req_err syn=5 vendor=0xf5 idx=2",
		"cqe resp_err syn=5 vendor=0xf5 idx=0",
		"count req_cqe_error=1 req_cqe_flush=1 resp_cqe_flush=1");
}

static void nak_of_a_read(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=600 signal",
		"tx READ_REQ psn=0",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx ACK psn=1 nak=access",
		"cqe req_err syn=0x13 vendor=0x88 idx=0 op=0x10",
		"mem va=0 len=256 pat=1",
		"state err");
}

/* A NAK behind a READ whose responses are missing: the READ is asked for again first. */
static void nak_behind_an_unanswered_read_waits_for_it(void **state)
{
	(void)state;
	HISTORY("setup",
		"post READ va=0 len=8 rkey=1 signal",
		"post WRITE va=64 len=8 rkey=2 signal",
		"tx READ_REQ psn=0",
		"tx WRITE_ONLY psn=1",
		"rx READ_RESP_ONLY psn=0 len=8 pat=1",
		"rx ACK psn=1 nak=access",
		"cqe done idx=0",
		"cqe req_err syn=0x13 idx=1",
		"mem va=0 len=8 pat=1");
}

static void local_mistakes_stay_off_the_wire(void **state)
{
	static const struct {
		const char *name;
		const char *post;
		const char *cqe;
	} cases[] = {
		{"no such key", "WRITE va=0 len=8 key=absent", "syn=4 vendor=0x52"},
		{"wrong tag", "SEND va=0 len=8 key=forged", "syn=4 vendor=0x52"},
		{"other domain", "SEND va=0 len=8 key=alien", "syn=4 vendor=0x52"},
		{"one byte over", "WRITE va=4089 len=8 key=small", "syn=4 vendor=0x53"},
		{"last piece over", "WRITE va=0 pieces=4000+100 key=small", "syn=4 vendor=0x53"},
		{"unknown opcode", "TAG_MATCHING va=0 len=8", "syn=2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history *h = history_open("setup mtu=256");

		history_step(h, "post %s", cases[i].post);
		history_step(h, "post SEND va=0 len=4");
		history_step(h, "tx none");
		history_step(h, "cqe req_err %s idx=0", cases[i].cqe);
		history_step(h, "cqe req_err syn=5 vendor=0xf5 idx=1");
		history_step(h, "tx none");
		history_step(h, "state err");
		history_close(h);
	}
}

static void local_mistake_waits_for_what_came_before(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"post WRITE va=0 len=8 key=absent signal",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"tx none",
		"cqe none",
		"rx ACK psn=0",
		"cqe done idx=0",
		"cqe req_err syn=4 vendor=0x52 idx=1",
		"cqe req_err syn=5 idx=2",
		"tx none");
}

static void source_whose_memory_is_unmapped(void **state)
{
	(void)state;
	HISTORY("setup",
		"hole va=0 len=4096",
		"post SEND va=0 len=8 signal",
		"tx none",
		"cqe req_err syn=4 idx=0",
		"state err");
}

/* Nothing forbids the request; its answer cannot be placed. */
static void read_into_a_region_without_local_write(void **state)
{
	(void)state;
	HISTORY("setup",
		"post READ va=0 len=8 key=ro rkey=1 signal",
		"tx READ_REQ psn=0",
		"cqe none",
		"rx READ_RESP_ONLY psn=0 len=8 pat=1",
		"cqe req_err syn=4 vendor=0x33 idx=0",
		"state err");
}

static void region_deregistered_before_a_repetition(void **state)
{
	(void)state;
	HISTORY("setup timeout=10",
		"post WRITE va=0 len=8 signal",
		"tx WRITE_ONLY psn=0",
		"dereg data",
		"due 4194304ns",
		"tx none",
		"cqe req_err syn=4 idx=0",
		"state err");
}

static void entries_posted_in_error_are_flushed(void **state)
{
	(void)state;
	HISTORY("setup",
		"modify state=err",
		"post SEND va=0 len=4",
		"cqe req_err syn=5 vendor=0xf5 idx=0",
		"post WRITE va=0 len=4 signal",
		"post READ va=0 len=4 signal",
		"cqe req_err syn=5 vendor=0xf5 idx=1",
		"cqe req_err syn=5 vendor=0xf5 idx=2",
		"tx none");
}

static void receives_posted_in_error_are_flushed(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=4",
		"modify state=err",
		"cqe resp_err syn=5 vendor=0xf5 idx=0",
		"recv va=0 len=4",
		"recv va=0 len=4",
		"scan",
		"cqe resp_err syn=5 vendor=0xf5 idx=1",
		"cqe resp_err syn=5 vendor=0xf5 idx=2");
}

static void flush_stops_at_the_records(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 held",
		"post SEND va=0 len=4 held",
		"record",
		"post SEND va=0 len=4 held",
		"modify state=err",
		"cqe req_err syn=5 idx=0",
		"cqe req_err syn=5 idx=1",
		"cqe none",
		"record",
		"scan",
		"cqe req_err syn=5 idx=2");
}

static void move_to_error_flushes_what_is_outstanding(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=4",
		"post SEND va=0 len=4",
		"post READ va=0 len=4",
		"tx SEND_ONLY psn=0",
		"tx READ_REQ psn=1",
		"modify state=err",
		"cqe req_err syn=5 vendor=0xf5 idx=0",
		"cqe req_err syn=5 vendor=0xf5 idx=1",
		"cqe resp_err syn=5 vendor=0xf5 idx=0",
		"rx ACK psn=0",
		"rx READ_RESP_ONLY psn=1 len=4 pat=1",
		"wait 10s",
		"cqe none");
}

/* Completions need no room on the wire, even if a NAK that is owed does. */
static void flush_does_not_wait_for_the_wire(void **state)
{
	struct history *h = history_open("setup sq=256");

	(void)state;
	history_step(h, "wire full");
	for (int i = 0; i < 200; i++)
		history_step(h, "post SEND va=0 len=4");
	history_step(h, "rx WRITE_LAST psn=0 a len=4");
	history_step(h, "state err"); /* the NIC runs until it is idle or blocked */
	history_step(h, "count req_cqe_flush=200");
	for (int i = 0; i < 200; i++)
		history_step(h, "cqe req_err syn=5 idx=%d", i);
	history_step(h, "tx none");
	history_step(h, "wire open");
	history_step(h, "tx ACK psn=0 nak=invalid");
	history_close(h);
}

/* Case 8. */
static void completion_queue_overrun_puts_its_queue_pair_into_error(void **state)
{
	struct history *h = history_open("setup cq_log2=2");

	(void)state;
	for (int i = 0; i < 5; i++)
		history_step(h, "post SEND va=0 len=4 signal");
	for (int i = 0; i < 5; i++)
		history_step(h, "tx SEND_ONLY psn=%d", i);
	history_step(h, "rx ACK psn=4");
	history_step(h, "tx none");
	history_step(h, "event cq_error");
	history_step(h, "state err");
	history_step(h, "wait 10s");
	history_step(h, "tx none");
	for (int i = 0; i < 4; i++)
		history_step(h, "cqe done idx=%d unconsumed", i);
	history_close(h);
}

static void overrun_that_is_ignored_is_no_error(void **state)
{
	struct history *h = history_open("setup cq_log2=2 overrun_ignored");

	(void)state;
	for (int i = 0; i < 5; i++)
		history_step(h, "post SEND va=0 len=4 signal");
	history_step(h, "clear");
	history_step(h, "state rts");
	history_step(h, "rx ACK psn=4");
	history_step(h, "state rts");
	history_step(h, "noevent cq_error");
	/* The fifth stands on the first: the reader sees a lap that is not its own. */
	history_step(h, "cqe none");
	history_close(h);
}

static void completions_of_128_bytes_are_in_the_second_half(void **state)
{
	(void)state;
	HISTORY("setup cqe_size=128 cq_log2=1",
		"post SEND va=0 len=4 signal",
		"rx ACK psn=0",
		"cqe none",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=0",
		"cqe done idx=0",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=1",
		"cqe done idx=1",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=2",
		"rx ACK psn=2",
		"cqe done idx=2");
}

static void one_event_for_each_arm(void **state)
{
	(void)state;
	HISTORY("setup",
		"arm any",
		"noevent completion",
		"recv va=0 len=4",
		"recv va=0 len=4",
		"rx SEND_ONLY psn=0 a",
		"event completion",
		"noevent completion",
		"rx SEND_ONLY psn=1 a",
		"noevent completion",
		"cqe send",
		"arm any",
		"event completion",
		"cqe send",
		"arm any",
		"noevent completion",
		"clear");
}

static void solicited_arm_waits_for_a_solicited_completion_or_an_error(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=4",
		"recv va=0 len=4",
		"recv va=0 len=4",
		"arm solicited",
		"rx SEND_ONLY psn=0 a",
		"noevent completion",
		"rx SEND_ONLY psn=1 a se",
		"event completion",
		"cqe send",
		"cqe send se=1",
		"arm solicited",
		"noevent completion",
		"modify state=err",
		"event completion",
		"clear");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_nak_has_its_status),
		cmocka_unit_test(nak_completes_what_came_before_it),
		cmocka_unit_test(nak_of_a_read),
		cmocka_unit_test(nak_behind_an_unanswered_read_waits_for_it),
		cmocka_unit_test(local_mistakes_stay_off_the_wire),
		cmocka_unit_test(local_mistake_waits_for_what_came_before),
		cmocka_unit_test(source_whose_memory_is_unmapped),
		cmocka_unit_test(read_into_a_region_without_local_write),
		cmocka_unit_test(region_deregistered_before_a_repetition),
		cmocka_unit_test(entries_posted_in_error_are_flushed),
		cmocka_unit_test(receives_posted_in_error_are_flushed),
		cmocka_unit_test(flush_stops_at_the_records),
		cmocka_unit_test(move_to_error_flushes_what_is_outstanding),
		cmocka_unit_test(flush_does_not_wait_for_the_wire),
		cmocka_unit_test(completion_queue_overrun_puts_its_queue_pair_into_error),
		cmocka_unit_test(overrun_that_is_ignored_is_no_error),
		cmocka_unit_test(completions_of_128_bytes_are_in_the_second_half),
		cmocka_unit_test(one_event_for_each_arm),
		cmocka_unit_test(solicited_arm_waits_for_a_solicited_completion_or_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
