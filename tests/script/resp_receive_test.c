/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows what messages do to receives: lengths, pieces, immediate data, RNR NAKs, messages too long.
 * By packet histories [IBTA1 9.7.5, 9.9]; numbered cases are those of cases.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

static void message_fills_pieces_in_order(void **state)
{
	(void)state;
	HISTORY("setup mtu=256 rq_log2=6",
		"recv va=0 pieces=100+300+200",
		"rx SEND_FIRST psn=0 len=256 pat=1",
		"rx SEND_LAST psn=1 a len=200 pat=1 off=256",
		"tx ACK psn=1 msn=1",
		"cqe send len=456 idx=0",
		"mem va=0 len=456 pat=1");
}

static void message_of_exactly_the_receive_fits(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=0 len=300",
		"rx SEND_FIRST psn=0 len=256 pat=1",
		"rx SEND_LAST psn=1 a len=44 pat=1 off=256",
		"tx ACK psn=1",
		"cqe send len=300",
		"mem va=0 len=300 pat=1");
}

static void empty_message_takes_a_receive(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=8",
		"recv",
		"rx SEND_ONLY psn=0 a",
		"tx ACK psn=0 msn=1",
		"cqe send len=0 idx=0",
		"rx SEND_ONLY_IMM psn=1 a imm=0x01020304",
		"tx ACK psn=1 msn=2",
		"cqe send_imm len=0 imm=0x01020304 idx=1");
}

static void message_one_byte_too_long(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=7",
		"recv va=64 len=64",
		"rx SEND_ONLY psn=0 a len=8 pat=1",
		"tx ACK psn=0 nak=invalid msn=0",
		"cqe resp_err syn=1 vendor=0 idx=0",
		"cqe resp_err syn=5 vendor=0xf5 idx=1",
		"event req_err",
		"state err",
		"rx SEND_ONLY psn=0 a len=8 pat=1",
		"tx none",
		"any va=0 len=7");
}

static void message_too_long_in_its_second_packet_leaves_the_first(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=0 len=300",
		"rx SEND_FIRST psn=0 len=256 pat=1",
		"rx SEND_LAST psn=1 a len=45 pat=1 off=256",
		"tx ACK psn=1 nak=invalid msn=0",
		"cqe resp_err syn=1 idx=0",
		"mem va=0 len=256 pat=1",
		"any va=256 len=44");
}

static void immediate_data_of_sends(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=0 len=600",
		"recv va=600 len=600",
		"rx SEND_ONLY_IMM psn=0 a len=4 pat=1 imm=0xdeadbeef",
		"tx ACK psn=0",
		"cqe send_imm len=4 imm=0xdeadbeef",
		"mem va=0 len=4 pat=1",
		"rx SEND_FIRST psn=1 len=256 pat=2",
		"rx SEND_LAST_IMM psn=2 a len=3 pat=2 off=256 imm=7",
		"tx ACK psn=2 msn=2",
		"cqe send_imm len=259 imm=7",
		"mem va=600 len=259 pat=2");
}

static void immediate_data_of_writes(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=4096 len=16",
		"recv",
		"rx WRITE_ONLY_IMM psn=0 a va=0 len=4 pat=1 imm=9",
		"tx ACK psn=0 msn=1",
		"cqe wr_imm len=4 imm=9 idx=0",
		"mem va=0 len=4 pat=1",
		"rx WRITE_FIRST psn=1 va=8 len=256 total=300 pat=2",
		"rx WRITE_LAST_IMM psn=2 a len=44 pat=2 off=256 imm=10",
		"tx ACK psn=2 msn=2",
		"cqe wr_imm len=300 imm=10 idx=1",
		"mem va=8 len=300 pat=2");
}

static void solicited_event_bit_reaches_the_completion(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"recv va=0 len=600",
		"recv va=600 len=600",
		"recv",
		"rx SEND_ONLY psn=0 a len=4 pat=1",
		"cqe send se=0",
		"mem va=0 len=4 pat=1",
		"rx SEND_FIRST psn=1 len=256 pat=2",
		"rx SEND_LAST psn=2 a se len=4 pat=2 off=256",
		"cqe send se=1",
		"mem va=600 len=260 pat=2",
		"rx WRITE_ONLY_IMM psn=3 a se va=0 imm=1",
		"cqe wr_imm se=1",
		"clear");
}

static void send_without_a_receive_gets_rnr(void **state)
{
	(void)state;
	HISTORY("setup rq_psn=4",
		"rx SEND_ONLY psn=4 a len=4 pat=1",
		"tx ACK psn=4 rnr=12 msn=0",
		"count tx_rnr=1",
		"rx SEND_ONLY psn=4 a len=4 pat=1",
		"tx ACK psn=4 rnr=12 msn=0",
		"recv va=0 len=4",
		"rx SEND_ONLY psn=4 a len=4 pat=1",
		"tx ACK psn=4 msn=1",
		"cqe send len=4",
		"mem va=0 len=4 pat=1");
}

static void every_rnr_timer_code_is_sent_as_set(void **state)
{
	char setup[64];

	(void)state;
	for (unsigned int code = 0; code < 32; code++) {
		struct history *h;

		snprintf(setup, sizeof(setup), "setup min_rnr=%u", code);
		h = history_open(setup);
		history_step(h, "rx SEND_ONLY psn=0 a len=4");
		history_step(h, "tx ACK psn=0 rnr=%u msn=0", code);
		history_close(h);
	}
}

static void packets_behind_an_rnr_are_dropped_in_silence(void **state)
{
	(void)state;
	HISTORY("setup",
		"rx SEND_ONLY psn=0 a len=4",
		"tx ACK psn=0 rnr=12",
		"rx SEND_ONLY psn=1 a len=4",
		"rx WRITE_ONLY psn=2 a va=0 len=4 pat=1",
		"tx none",
		"recv va=0 len=4",
		"rx SEND_ONLY psn=0 a len=4 pat=2",
		"tx ACK psn=0 msn=1",
		"cqe send len=4",
		"mem va=0 len=4 pat=2");
}

static void first_packet_of_a_message_needs_the_receive(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"rx SEND_FIRST psn=0 len=256 pat=1",
		"tx ACK psn=0 rnr=12",
		"recv va=0 len=512",
		"rx SEND_FIRST psn=0 len=256 pat=1",
		"rx SEND_LAST psn=1 a len=1 pat=1 off=256",
		"tx ACK psn=1 msn=1",
		"cqe send len=257",
		"mem va=0 len=257 pat=1");
}

static void write_with_immediate_needs_a_receive_and_write_does_not(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1",
		"tx ACK psn=0 msn=1",
		"mem va=0 len=4 pat=1",
		"rx WRITE_ONLY_IMM psn=1 a va=8 len=4 pat=1 imm=5",
		"tx ACK psn=1 rnr=12 msn=1",
		"recv",
		"rx WRITE_ONLY_IMM psn=1 a va=8 len=4 pat=1 imm=5",
		"tx ACK psn=1 msn=2",
		"cqe wr_imm len=4 imm=5",
		"mem va=8 len=4 pat=1",
		"rx WRITE_FIRST psn=2 va=16 len=256 total=260 pat=2",
		"rx WRITE_LAST_IMM psn=3 a len=4 pat=2 off=256 imm=6",
		"tx ACK psn=3 rnr=12 msn=2",
		"recv",
		"rx WRITE_LAST_IMM psn=3 a len=4 pat=2 off=256 imm=6",
		"tx ACK psn=3 msn=3",
		"cqe wr_imm len=260 imm=6",
		"mem va=16 len=260 pat=2");
}

static void queue_pair_without_a_receive_ring(void **state)
{
	(void)state;
	HISTORY("setup rq=0",
		"rx WRITE_ONLY psn=0 a va=0 len=4 pat=1",
		"tx ACK psn=0 msn=1",
		"mem va=0 len=4 pat=1",
		"rx SEND_ONLY psn=1 a len=4",
		"tx ACK psn=1 rnr=12 msn=1");
}

/* The receiver's own mistake is the sender's remote operation error [IBTA1 9.7.5]. */
static void receive_that_may_not_be_written(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=64 key=ro",
		"recv va=64 len=64",
		"rx SEND_ONLY psn=0 a len=8 pat=1",
		"tx ACK psn=0 nak=operation msn=0",
		"cqe resp_err syn=4 idx=0",
		"cqe resp_err syn=5 vendor=0xf5 idx=1",
		"state err");
}

static void receive_with_a_wrong_key(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=64 key=forged",
		"rx SEND_ONLY psn=0 a len=8 pat=1",
		"tx ACK psn=0 nak=operation msn=0",
		"cqe resp_err syn=4 idx=0",
		"state err");
}

static void receive_that_runs_past_its_region(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=4090 len=64 key=small",
		"rx SEND_ONLY psn=0 a len=8 pat=1",
		"tx ACK psn=0 nak=operation msn=0",
		"cqe resp_err syn=4 idx=0",
		"state err");
}

static void receive_whose_memory_is_unmapped(void **state)
{
	(void)state;
	HISTORY("setup",
		"recv va=0 len=64",
		"hole va=0 len=4096",
		"rx SEND_ONLY psn=0 a len=8 pat=1",
		"tx ACK psn=0 nak=operation msn=0",
		"cqe resp_err syn=4 idx=0",
		"state err");
}

/* The 16-bit counter of the record: case 4's other half is in req_segment_test. */
static void receive_ring_goes_round(void **state)
{
	struct history *h = history_open("setup rq=4");

	(void)state;
	for (unsigned int i = 0; i < 66000; i++) {
		history_step(h, "recv va=0 len=4");
		history_step(h, "rx SEND_ONLY psn=%u a len=4 pat=%u", i, i + 1);
		history_step(h, "cqe send len=4 idx=%u", i & 0xffff);
		history_step(h, "mem va=0 len=4 pat=%u", i + 1);
		history_step(h, "clear");
	}
	history_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_fills_pieces_in_order),
		cmocka_unit_test(message_of_exactly_the_receive_fits),
		cmocka_unit_test(empty_message_takes_a_receive),
		cmocka_unit_test(message_one_byte_too_long),
		cmocka_unit_test(message_too_long_in_its_second_packet_leaves_the_first),
		cmocka_unit_test(immediate_data_of_sends),
		cmocka_unit_test(immediate_data_of_writes),
		cmocka_unit_test(solicited_event_bit_reaches_the_completion),
		cmocka_unit_test(send_without_a_receive_gets_rnr),
		cmocka_unit_test(every_rnr_timer_code_is_sent_as_set),
		cmocka_unit_test(packets_behind_an_rnr_are_dropped_in_silence),
		cmocka_unit_test(first_packet_of_a_message_needs_the_receive),
		cmocka_unit_test(write_with_immediate_needs_a_receive_and_write_does_not),
		cmocka_unit_test(queue_pair_without_a_receive_ring),
		cmocka_unit_test(receive_that_may_not_be_written),
		cmocka_unit_test(receive_with_a_wrong_key),
		cmocka_unit_test(receive_that_runs_past_its_region),
		cmocka_unit_test(receive_whose_memory_is_unmapped),
		cmocka_unit_test(receive_ring_goes_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
