/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that each request which breaks a rule gets its NAK, once, and puts the queue pair into
 * error. By a table of histories: packets that are in order, then the bad one [IBTA1 9.7.4.1,
 * 9.9.3]. */
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

/* All rows have mtu 256. The bad packet's PSN is the number of packets before it. */
struct row {
	const char *name;
	const char *before[3];
	const char *bad;
	const char *nak;
	uint32_t written; /* bytes from va 0 on that the packets before wrote, of pattern 1 */
};

#define SEND_FIRST "SEND_FIRST len=256 pat=1"
#define WRITE_FIRST "WRITE_FIRST va=0 len=256 total=600 pat=1"
#define WRITE_MIDDLE "WRITE_MIDDLE len=256 pat=1 off=256"

static const struct row rows[] = {
	/* The order of opcodes inside a message [IBTA1 9.7.4]. */
	{"send middle alone", {0}, "SEND_MIDDLE len=256", "invalid", 0},
	{"send last alone", {0}, "SEND_LAST len=4", "invalid", 0},
	{"send last imm alone", {0}, "SEND_LAST_IMM len=4", "invalid", 0},
	{"write middle alone", {0}, "WRITE_MIDDLE len=256", "invalid", 0},
	{"write last alone", {0}, "WRITE_LAST len=4", "invalid", 0},
	{"write last imm alone", {0}, "WRITE_LAST_IMM len=4", "invalid", 0},
	{"middle after only", {"WRITE_ONLY"}, "WRITE_MIDDLE len=256", "invalid", 0},
	{"send first twice", {SEND_FIRST}, "SEND_FIRST len=256", "invalid", 256},
	{"send only after first", {SEND_FIRST}, "SEND_ONLY len=4", "invalid", 256},
	{"write in a send", {SEND_FIRST}, "WRITE_MIDDLE len=256", "invalid", 256},
	{"write last in a send", {SEND_FIRST}, "WRITE_LAST len=4", "invalid", 256},
	{"write only in a send", {SEND_FIRST}, "WRITE_ONLY", "invalid", 256},
	{"read in a send", {SEND_FIRST}, "READ_REQ total=4", "invalid", 256},
	{"atomic in a send", {SEND_FIRST}, "FETCH_ADD add=1", "invalid", 256},
	{"write first twice", {WRITE_FIRST}, WRITE_FIRST, "invalid", 256},
	{"send in a write", {WRITE_FIRST}, "SEND_MIDDLE len=256", "invalid", 256},
	{"send last in a write", {WRITE_FIRST}, "SEND_LAST len=88", "invalid", 256},
	{"send only in a write", {WRITE_FIRST}, "SEND_ONLY len=88", "invalid", 256},
	{"read in a write", {WRITE_FIRST}, "READ_REQ total=4", "invalid", 256},
	{"atomic in a write", {WRITE_FIRST}, "CMP_SWAP", "invalid", 256},

	/* Payload lengths against the path MTU [IBTA1 9.7.4]. */
	{"send first too short", {0}, "SEND_FIRST len=252", "invalid", 0},
	{"send first with pad", {0}, "SEND_FIRST len=255", "invalid", 0},
	{"send first too long", {0}, "SEND_FIRST len=260", "invalid", 0},
	{"send first empty", {0}, "SEND_FIRST", "invalid", 0},
	{"send middle too short", {SEND_FIRST}, "SEND_MIDDLE len=252", "invalid", 256},
	{"send middle too long", {SEND_FIRST}, "SEND_MIDDLE len=260", "invalid", 256},
	{"send last empty", {SEND_FIRST}, "SEND_LAST", "invalid", 256},
	{"send last too long", {SEND_FIRST}, "SEND_LAST len=260", "invalid", 256},
	{"send only over mtu", {0}, "SEND_ONLY len=257", "invalid", 0},
	{"write only over mtu", {0}, "WRITE_ONLY va=0 len=260", "invalid", 0},
	{"write first too short", {0}, "WRITE_FIRST va=0 len=252 total=600", "invalid", 0},
	{"write first too long", {0}, "WRITE_FIRST va=0 len=260 total=600", "invalid", 0},
	{"write middle too short", {WRITE_FIRST}, "WRITE_MIDDLE len=252", "invalid", 256},
	{"write middle too long", {WRITE_FIRST}, "WRITE_MIDDLE len=260", "invalid", 256},
	{"write last empty", {WRITE_FIRST}, "WRITE_LAST", "invalid", 256},

	/* Lengths against what the RETH announced [IBTA1 9.7.4]. */
	{"write only shorter than said", {0}, "WRITE_ONLY va=0 len=8 total=12", "invalid", 0},
	{"write only longer than said", {0}, "WRITE_ONLY va=0 len=12 total=8", "invalid", 0},
	{"write first longer than said", {0}, "WRITE_FIRST va=0 len=256 total=100", "invalid", 0},
	{"write last too early", {WRITE_FIRST}, "WRITE_LAST len=88", "invalid", 256},
	{"write last short", {WRITE_FIRST, WRITE_MIDDLE}, "WRITE_LAST len=87", "invalid", 512},
	{"write last long", {WRITE_FIRST, WRITE_MIDDLE}, "WRITE_LAST len=92", "invalid", 512},
	{"write runs on", {WRITE_FIRST, WRITE_MIDDLE}, "WRITE_MIDDLE len=256", "invalid", 512},
	{"write over 2 GiB", {0}, "WRITE_FIRST va=0 len=256 total=0x80000001", "invalid", 0},
	{"read over 2 GiB", {0}, "READ_REQ va=0 total=0x80000001", "invalid", 0},

	/* Keys [IBTA1 9.7.4]. */
	{"write, no such key", {0}, "WRITE_ONLY va=0 len=8 key=absent", "access", 0},
	{"write, wrong tag", {0}, "WRITE_ONLY va=0 len=8 key=forged", "access", 0},
	{"write, other domain", {0}, "WRITE_ONLY va=0 len=8 key=alien", "access", 0},
	{"write, read-only", {0}, "WRITE_ONLY va=0 len=8 key=rread", "access", 0},
	{"write, local only", {0}, "WRITE_ONLY va=0 len=8 key=local", "access", 0},
	{"write, one byte over", {0}, "WRITE_ONLY va=4089 len=8 key=small", "access", 0},
	{"write, all beyond", {0}, "WRITE_ONLY va=5000 len=8 key=small", "access", 0},
	{"write, before", {0}, "WRITE_ONLY va=-8 len=8 key=small", "access", 0},
	{"write, wraps", {0}, "WRITE_FIRST va=-0x7f55ffffff00 len=256 total=600", "access", 0},
	{"write, later part over", {0}, "WRITE_FIRST va=3800 len=256 total=512 key=small", "access",
	 0},
	{"read, no such key", {0}, "READ_REQ va=0 total=8 key=absent", "access", 0},
	{"read, wrong tag", {0}, "READ_REQ va=0 total=8 key=forged", "access", 0},
	{"read, other domain", {0}, "READ_REQ va=0 total=8 key=alien", "access", 0},
	{"read, write-only", {0}, "READ_REQ va=0 total=8 key=rwrite", "access", 0},
	{"read, one byte over", {0}, "READ_REQ va=4089 total=8 key=small", "access", 0},
	{"read, up to 2 GiB over", {0}, "READ_REQ va=0 total=0x80000000", "access", 0},
	{"atomic, no such key", {0}, "FETCH_ADD va=0 add=1 key=absent", "access", 0},
	{"atomic, no right", {0}, "FETCH_ADD va=0 add=1 key=rwrite", "access", 0},
	{"atomic, over the end", {0}, "CMP_SWAP va=4096 key=small", "access", 0},
	{"atomic, not aligned", {0}, "FETCH_ADD va=4 add=1", "invalid", 0},
};

static void play(const struct row *row)
{
	struct history *h = history_open("setup mtu=256");
	bool access = row->nak[0] == 'a';
	bool partial = row->before[0] && row->before[0][0] == 'S';
	int psn = 0;

	history_step(h, "recv va=0 len=1024");
	history_step(h, "recv va=1024 len=1024");
	for (; psn < 3 && row->before[psn]; psn++)
		history_step(h, "rx %s psn=%d", row->before[psn], psn);
	history_step(h, "clear");
	history_step(h, "rx %s a psn=%d", row->bad, psn);
	history_step(h, "tx ACK psn=%d nak=%s", psn, row->nak);
	history_step(h, "state err");
	history_step(h, access ? "event access_err" : "event req_err");
	if (row->written != 0)
		history_step(h, "mem va=0 len=%u pat=1", row->written);
	/* Its receives end: the one that was being filled too, whatever it says. */
	history_step(h, partial ? "cqe resp_err idx=0" : "cqe resp_err syn=5 vendor=0xf5 idx=0");
	history_step(h, "cqe resp_err syn=5 vendor=0xf5 idx=1");
	/* And from now on it is silent. */
	history_step(h, "rx %s a psn=%d", row->bad, psn);
	history_step(h, "rx WRITE_ONLY a psn=%d", psn);
	history_step(h, "tx none");
	history_close(h);
}

static void each_rule_has_its_nak(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		printf("row: %s\n", rows[i].name);
		play(&rows[i]);
	}
}

/* What a queue pair does not allow is an invalid request, as measured on a card. */
static void queue_pair_without_the_right_refuses(void **state)
{
	static const struct {
		const char *access;
		const char *request;
	} cases[] = {
		{"ra", "WRITE_ONLY va=0 len=8"}, {"ra", "WRITE_ONLY_IMM va=0 len=8"},
		{"wa", "READ_REQ va=0 total=8"}, {"wr", "FETCH_ADD va=0 add=1"},
		{"wr", "CMP_SWAP va=0"},	 {"-", "READ_REQ va=0 total=8"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history *h = history_open("setup state=init");

		history_step(h, "modify state=rtr access=%s", cases[i].access);
		history_step(h, "recv va=0 len=64");
		history_step(h, "rx %s a psn=0", cases[i].request);
		history_step(h, "tx ACK psn=0 nak=invalid");
		history_step(h, "cqe resp_err syn=5");
		history_close(h);
	}
}

static void queue_pair_without_rights_still_receives(void **state)
{
	(void)state;
	HISTORY("setup access=-",
		"recv va=0 len=64",
		"rx SEND_ONLY psn=0 a len=8 pat=1",
		"tx ACK psn=0 msn=1",
		"cqe send len=8",
		"mem va=0 len=8 pat=1");
}

/* cases.md 15. */
static void larger_mtu_at_the_peer_passes_short_messages(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=0 len=4096",
		"recv va=4096 len=4096",
		"rx SEND_ONLY psn=0 a len=256 pat=1",
		"tx ACK psn=0 msn=1",
		"cqe send len=256",
		"mem va=0 len=256 pat=1",
		"rx SEND_FIRST psn=1 len=1024 pat=1",
		"tx ACK psn=1 nak=invalid msn=1",
		"event req_err",
		"state err",
		"clear");
}

/* A zero-length access names no memory: its key is not looked at [IBTA1 C9-88]. */
static void empty_write_and_read_need_no_key(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=0 a va=0 key=absent",
		"tx ACK psn=0 msn=1",
		"rx READ_REQ psn=1 a va=0 total=0 key=absent",
		"tx READ_RESP_ONLY psn=1 len=0 msn=2",
		"rx WRITE_ONLY psn=2 a va=0 key=absent",
		"tx ACK psn=2 msn=3");
}

static void region_that_is_gone_in_the_middle_of_a_write(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"rx WRITE_FIRST psn=0 va=0 len=256 total=600 pat=1",
		"dereg data",
		"rx WRITE_MIDDLE psn=1 a len=256 pat=1",
		"tx ACK psn=1 nak=access",
		"mem va=0 len=256 pat=1",
		"state err");
}

static void answer_to_earlier_requests_comes_before_the_nak(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"fill va=0 len=300 pat=1",
		"rx READ_REQ psn=0 a va=0 total=300",
		"rx WRITE_ONLY psn=2 a va=0 len=8 key=absent",
		"tx READ_RESP_FIRST psn=0 pat=1 msn=1",
		"tx READ_RESP_LAST psn=1 pat=1 off=256 msn=1",
		"tx ACK psn=2 nak=access msn=1",
		"tx none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_has_its_nak),
		cmocka_unit_test(queue_pair_without_the_right_refuses),
		cmocka_unit_test(queue_pair_without_rights_still_receives),
		cmocka_unit_test(larger_mtu_at_the_peer_passes_short_messages),
		cmocka_unit_test(empty_write_and_read_need_no_key),
		cmocka_unit_test(region_that_is_gone_in_the_middle_of_a_write),
		cmocka_unit_test(answer_to_earlier_requests_comes_before_the_nak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
