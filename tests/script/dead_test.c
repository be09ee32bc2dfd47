/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that packets for a dead, unborn or wrong queue pair, and packets that lie, change nothing.
 * By packet histories: a drop, its counter, and silence [IBTA1 9.6, 9.9], [rxe.md]. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

static const char *const packets[] = {
	"SEND_ONLY a len=4",	   "SEND_FIRST a len=256",     "SEND_LAST a len=4",
	"WRITE_ONLY a va=0 len=4", "WRITE_ONLY_IMM a va=0",    "READ_REQ a va=0 total=8",
	"FETCH_ADD a va=0 add=1",  "CMP_SWAP a va=0 swap=1",   "ACK",
	"ACK nak=access",	   "ACK nak=sequence",	       "ACK rnr=1",
	"READ_RESP_ONLY len=8",	   "READ_RESP_FIRST len=256",  "ATOMIC_ACK orig=1",
};

enum {
	PACKETS = sizeof(packets) / sizeof(packets[0]),
};

static void send_all(struct history *h)
{
	for (int i = 0; i < PACKETS; i++) {
		history_step(h, "rx %s psn=0", packets[i]);
		history_step(h, "tx none");
	}
}

static void queue_pair_in_reset_drops_all(void **state)
{
	struct history *h = history_open("setup state=reset mtu=256");

	(void)state;
	send_all(h);
	history_step(h, "count rx_drop_state=%d", PACKETS);
	history_close(h);
}

static void queue_pair_in_init_drops_all_and_keeps_its_receives(void **state)
{
	struct history *h = history_open("setup state=init mtu=256");

	(void)state;
	history_step(h, "recv va=0 len=64");
	send_all(h);
	history_step(h, "count rx_drop_state=%d", PACKETS);
	history_step(h, "cqe none");
	history_step(h, "modify state=rtr");
	history_step(h, "rx SEND_ONLY psn=0 a len=4 pat=1");
	history_step(h, "tx ACK psn=0 msn=1");
	history_step(h, "cqe send len=4 idx=0");
	history_step(h, "mem va=0 len=4 pat=1");
	history_close(h);
}

static void queue_pair_in_error_drops_all_in_silence(void **state)
{
	struct history *h = history_open("setup mtu=256");

	(void)state;
	history_step(h, "modify state=err");
	send_all(h);
	history_step(h, "count rx_drop_state=%d", PACKETS);
	history_close(h);
}

static void destroyed_queue_pair_drops_all(void **state)
{
	struct history *h = history_open("setup mtu=256");

	(void)state;
	history_step(h, "recv va=0 len=64");
	history_step(h, "post SEND va=0 len=4");
	history_step(h, "clear");
	history_step(h, "destroy");
	send_all(h);
	history_step(h, "count rx_drop_qpn=%d", PACKETS);
	history_step(h, "wait 100s");
	history_step(h, "tx none");
	history_close(h);
}

static void numbers_that_nobody_has_drop_all(void **state)
{
	static const char *const numbers[] = {"0", "1", "0xffffff", "0xabdfff", "0xabcfff"};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct history *h = history_open("setup");

		history_step(h, "rx WRITE_ONLY qp=%s psn=0 a va=0 len=4 pat=1", numbers[i]);
		history_step(h, "tx none");
		history_step(h, "count rx_drop_qpn=1");
		history_close(h);
	}
}

static void ready_to_receive_answers_and_does_not_ask(void **state)
{
	(void)state;
	HISTORY("setup state=rtr",
		"post SEND va=0 len=4 held",
		"record",
		"scan",
		"bell",
		"tx none",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1",
		"tx ACK psn=0 msn=1",
		"mem va=0 len=4 pat=1",
		"event comm_est",
		"modify state=rts",
		"scan",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=0");
}

static void draining_queue_pair_answers_and_ends_what_it_began(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"modify state=sqd",
		"post SEND va=0 len=4 signal",
		"tx none",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1",
		"tx ACK psn=0",
		"mem va=0 len=4 pat=1",
		"rx ACK psn=0",
		"cqe done idx=0",
		"tx none",
		"modify state=rts",
		"scan",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=1",
		"cqe done idx=1");
}

/* cases.md 16: a number that lives again, with a fresh PSN. */
static void answers_for_an_earlier_life_are_dropped(void **state)
{
	(void)state;
	HISTORY("setup sq_psn=100 rq_psn=500",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=100",
		"modify state=reset",
		"modify state=init",
		"modify state=rtr rq_psn=0x800",
		"modify state=rts sq_psn=0x900",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0x900",
		"rx ACK psn=100 msn=1",
		"rx ACK psn=100 nak=access",
		"cqe none",
		"rx WRITE_ONLY psn=500 va=0 len=4 pat=1",
		"tx ACK psn=0x7ff",
		"rx ACK psn=0x900 msn=1",
		"cqe done idx=0",
		"state rts");
}

static void wrong_partition_key_is_dropped(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1 pkey=0x1234",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1 pkey=0",
		"tx none",
		"count rx_drop_pkey=2",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1 pkey=0x7fff",
		"tx ACK psn=0",
		"mem va=0 len=4 pat=1");
}

static void another_gid_is_dropped(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1 other_gid",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1 local",
		"rx ACK psn=0 other_gid",
		"rx ACK psn=0 nak=invalid local",
		"tx none",
		"cqe none",
		"count rx_drop_address=4",
		"rx ACK psn=0",
		"cqe done");
}

static void malformed_packets_are_dropped(void **state)
{
	struct history *h = history_open("setup mtu=256");

	(void)state;
	for (int trunc = 1; trunc <= 32; trunc++) {
		history_step(h, "rx WRITE_ONLY psn=0 a va=0 len=4 pat=1 trunc=%d", trunc);
		/* Cut by its payload, it is well-formed, and shorter than its RETH says. */
		if (trunc != 4)
			history_step(h, "tx none");
		else
			history_step(h, "tx ACK nak=invalid");
		if (trunc == 4)
			break;
	}
	history_close(h);
	h = history_open("setup mtu=256");
	for (int trunc = 5; trunc <= 32; trunc++)
		history_step(h, "rx WRITE_ONLY psn=0 a va=0 len=4 pat=1 trunc=%d", trunc);
	history_step(h, "rx READ_REQ psn=0 a va=0 total=4 len=8");
	history_step(h, "rx ACK psn=0 len=4");
	history_step(h, "rx SEND_ONLY psn=0 len=0 pad=3");
	history_step(h, "tx none");
	history_step(h, "count rx_drop_malformed=%d", 28 + 3);
	history_close(h);
}

static void opcodes_of_other_services_are_dropped(void **state)
{
	struct history *h = history_open("setup");

	(void)state;
	for (int opcode = 0; opcode < 256; opcode++) {
		if (opcode < 0x1c && opcode != 0x15)
			continue;
		history_step(h, "rx SEND_ONLY psn=0 a len=64 opcode=%d", opcode);
		history_step(h, "tx none");
		history_step(h, "state rts");
	}
	history_step(h, "cqe none");
	history_close(h);
}

static void extra_bits_of_the_header_do_not_matter(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx WRITE_ONLY psn=0 a se va=0 len=4 pat=1",
		"tx ACK psn=0",
		"mem va=0 len=4 pat=1",
		"cqe none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_pair_in_reset_drops_all),
		cmocka_unit_test(queue_pair_in_init_drops_all_and_keeps_its_receives),
		cmocka_unit_test(queue_pair_in_error_drops_all_in_silence),
		cmocka_unit_test(destroyed_queue_pair_drops_all),
		cmocka_unit_test(numbers_that_nobody_has_drop_all),
		cmocka_unit_test(ready_to_receive_answers_and_does_not_ask),
		cmocka_unit_test(draining_queue_pair_answers_and_ends_what_it_began),
		cmocka_unit_test(answers_for_an_earlier_life_are_dropped),
		cmocka_unit_test(wrong_partition_key_is_dropped),
		cmocka_unit_test(another_gid_is_dropped),
		cmocka_unit_test(malformed_packets_are_dropped),
		cmocka_unit_test(opcodes_of_other_services_are_dropped),
		cmocka_unit_test(extra_bits_of_the_header_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
