/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows how a requester turns entries into packets: segments, PSNs, fences, rings, doorbells.
 * By packet histories [IBTA1 9.4, 9.7.2], [mlx5dv.h]; numbered cases are those of cases.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/support/history.h"

static void write_is_cut_at_the_mtu(void **state)
{
	(void)state;
	HISTORY("setup mtu=256 sq_psn=9",
		"post WRITE va=64 len=600 pat=1 rva=0x123456789 rkey=0xabcd signal",
		"tx WRITE_FIRST psn=9 len=256 pat=1 total=600 rva=0x123456789 rkey=0xabcd",
		"tx WRITE_MIDDLE psn=10 len=256 pat=1 off=256",
		"tx WRITE_LAST psn=11 a len=88 pat=1 off=512",
		"tx none",
		"cqe none",
		"rx ACK psn=11 msn=1",
		"cqe done idx=0 op=0x08");
}

static void message_of_exactly_one_or_two_mtu(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post SEND va=0 len=256 pat=1",
		"tx SEND_ONLY psn=0 a len=256 pat=1",
		"post SEND va=0 len=512 pat=1 signal",
		"tx SEND_FIRST psn=1 len=256 pat=1",
		"tx SEND_LAST psn=2 a len=256 pat=1 off=256",
		"post SEND va=0 len=257 pat=1 signal",
		"tx SEND_FIRST psn=3 len=256 pat=1",
		"tx SEND_LAST psn=4 a len=1 pat=1 off=256",
		"rx ACK psn=4 msn=3",
		"cqe done idx=1",
		"cqe done idx=2");
}

static void immediate_data_is_in_the_last_packet(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post SEND_IMM va=0 len=300 pat=1 imm=0x11223344 se",
		"tx SEND_FIRST psn=0 len=256",
		"tx SEND_LAST_IMM psn=1 a se len=44 imm=0x11223344",
		"post SEND_IMM va=0 len=3 imm=5",
		"tx SEND_ONLY_IMM psn=2 a len=3 imm=5",
		"post WRITE_IMM va=0 len=300 imm=6 rva=0x1000 rkey=7",
		"tx WRITE_FIRST psn=3 total=300 rva=0x1000 rkey=7",
		"tx WRITE_LAST_IMM psn=4 a len=44 imm=6",
		"post WRITE_IMM va=0 len=4 imm=8 rva=0x1000 rkey=7",
		"tx WRITE_ONLY_IMM psn=5 a total=4 rva=0x1000 rkey=7 imm=8",
		"rx ACK psn=5 msn=4");
}

/* Case 1. */
static void empty_messages_use_one_psn(void **state)
{
	(void)state;
	HISTORY("setup rd=4",
		"post WRITE rva=0x10 rkey=0x20 signal",
		"tx WRITE_ONLY psn=0 a len=0 total=0 rva=0x10 rkey=0x20",
		"post READ rva=0x10 rkey=0x20 signal",
		"tx READ_REQ psn=1 total=0 rva=0x10 rkey=0x20",
		"post SEND signal",
		"tx SEND_ONLY psn=2 a len=0",
		"rx ACK psn=0 msn=1",
		"cqe done idx=0",
		"rx READ_RESP_ONLY psn=1 msn=2",
		"cqe done idx=1 len=0",
		"rx ACK psn=2 msn=3",
		"cqe done idx=2");
}

static void inline_data_is_taken_from_the_entry(void **state)
{
	(void)state;
	HISTORY("setup",
		"post WRITE inline len=8 pat=1 rva=0x10 rkey=0x20 signal",
		"tx WRITE_ONLY psn=0 a len=8 pat=1 total=8",
		"post SEND inline len=200 pat=2 signal",
		"tx SEND_ONLY psn=1 a len=200 pat=2",
		"rx ACK psn=1 msn=2",
		"cqe done idx=0",
		"cqe done idx=1");
}

static void pieces_are_gathered_in_order(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post SEND va=0 pieces=1+299+100+256 pat=1 signal",
		"tx SEND_FIRST psn=0 len=256 pat=1",
		"tx SEND_MIDDLE psn=1 len=256 pat=1 off=256",
		"tx SEND_LAST psn=2 a len=144 pat=1 off=512",
		"rx ACK psn=2 msn=1",
		"cqe done idx=0");
}

static void psns_and_message_over_the_wrap(void **state)
{
	(void)state;
	HISTORY("setup mtu=256 sq_psn=0xffffff",
		"post WRITE va=0 len=600 pat=1 signal",
		"tx WRITE_FIRST psn=0xffffff pat=1",
		"tx WRITE_MIDDLE psn=0 pat=1 off=256",
		"tx WRITE_LAST psn=1 a pat=1 off=512",
		"rx ACK psn=0xffffff",
		"cqe none",
		"rx ACK psn=1 msn=1",
		"cqe done",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=2 a",
		"rx ACK psn=2 msn=2",
		"cqe done");
}

static void read_uses_a_psn_for_each_response(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 len=600 rva=0x5000 rkey=0x66 signal",
		"tx READ_REQ psn=0 rva=0x5000 rkey=0x66 total=600",
		"post SEND va=4096 len=4 signal",
		"tx SEND_ONLY psn=3 a",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1 msn=1",
		"rx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"cqe none",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512 msn=1",
		"cqe done idx=0 op=0x10",
		"mem va=0 len=600 pat=1",
		"rx ACK psn=3 msn=2",
		"cqe done idx=1");
}

static void read_is_scattered_over_its_pieces(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"post READ va=0 pieces=10+500+90 rva=0 rkey=1 signal",
		"tx READ_REQ psn=0 total=600",
		"rx READ_RESP_FIRST psn=0 len=256 pat=1",
		"rx READ_RESP_MIDDLE psn=1 len=256 pat=1 off=256",
		"rx READ_RESP_LAST psn=2 len=88 pat=1 off=512",
		"cqe done",
		"mem va=0 len=600 pat=1");
}

static void atomics_bring_the_old_value(void **state)
{
	(void)state;
	HISTORY("setup",
		"post FETCH_ADD va=8 len=8 rva=0x40 rkey=5 add=0x1122334455667788 signal",
		"tx FETCH_ADD psn=0 rva=0x40 rkey=5 add=0x1122334455667788",
		"rx ATOMIC_ACK psn=0 orig=0x99aabbccddeeff00 msn=1",
		"cqe done idx=0 op=0x12",
		"mem64 va=8 value=0x99aabbccddeeff00",
		"post CMP_SWAP va=16 len=8 rva=0x48 rkey=5 cmp=3 swap=4 signal",
		"tx CMP_SWAP psn=1 rva=0x48 rkey=5 cmp=3 swap=4",
		"rx ATOMIC_ACK psn=1 orig=3 msn=2",
		"cqe done idx=1 op=0x11",
		"mem64 va=16 value=3");
}

/* Case 17: held at the initiator's own limit. */
static void reads_wait_at_the_initiators_limit(void **state)
{
	(void)state;
	HISTORY("setup rd=2",
		"post READ va=0 len=8 rkey=1 signal",
		"post FETCH_ADD va=8 len=8 rkey=1 signal",
		"post READ va=16 len=8 rkey=1 signal",
		"post SEND va=64 len=8 signal",
		"tx READ_REQ psn=0",
		"tx FETCH_ADD psn=1",
		"tx none",
		"rx READ_RESP_ONLY psn=0 len=8",
		"cqe done idx=0",
		"tx READ_REQ psn=2",
		"tx SEND_ONLY psn=3",
		"rx ATOMIC_ACK psn=1",
		"cqe done idx=1",
		"rx READ_RESP_ONLY psn=2 len=8",
		"rx ACK psn=3",
		"cqe done idx=2",
		"cqe done idx=3");
}

static void fence_waits_for_reads_and_atomics_only(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4",
		"post READ va=64 len=4 rkey=1 signal",
		"post SEND va=0 len=4",
		"post WRITE va=0 len=4 rkey=1 fence signal",
		"post SEND va=0 len=4",
		"tx SEND_ONLY psn=0",
		"tx READ_REQ psn=1",
		"tx SEND_ONLY psn=2",
		"tx none",
		"rx READ_RESP_ONLY psn=1 len=4",
		"cqe done idx=1",
		"tx WRITE_ONLY psn=3",
		"tx SEND_ONLY psn=4",
		"post SEND va=0 len=4 fence",
		"tx SEND_ONLY psn=5",
		"rx ACK psn=5",
		"cqe done idx=3");
}

static void unsignalled_entries_complete_in_silence(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4",
		"post WRITE va=0 len=4",
		"post SEND va=0 len=4 signal",
		"post SEND va=0 len=4",
		"rx ACK psn=3 msn=4",
		"cqe none",
		"tx SEND_ONLY psn=0",
		"tx WRITE_ONLY psn=1",
		"tx SEND_ONLY psn=2",
		"tx SEND_ONLY psn=3",
		"rx ACK psn=3 msn=4",
		"cqe done idx=2");
}

static void signal_all_signals_all(void **state)
{
	(void)state;
	HISTORY("setup signal_all",
		"post SEND va=0 len=4",
		"tx SEND_ONLY psn=0",
		"rx ACK psn=0",
		"cqe done idx=0");
}

static void nop_completes_without_a_packet(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 signal",
		"post NOP signal",
		"post SEND va=0 len=4 signal",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"cqe none",
		"rx ACK psn=0",
		"cqe done idx=0",
		"cqe done idx=1",
		"rx ACK psn=1",
		"cqe done idx=2");
}

static void entry_round_the_rings_end(void **state)
{
	(void)state;
	HISTORY("setup sq=4",
		"post WRITE inline len=100 pat=1 signal",
		"tx WRITE_ONLY psn=0 len=100 pat=1",
		"rx ACK psn=0",
		"cqe done idx=0",
		"post WRITE inline len=200 pat=2 signal",
		"tx WRITE_ONLY psn=1 len=200 pat=2",
		"rx ACK psn=1",
		"cqe done idx=3",
		"post WRITE inline len=100 pat=3 signal",
		"tx WRITE_ONLY psn=2 len=100 pat=3",
		"rx ACK psn=2",
		"cqe done idx=7");
}

/* Case 4. */
static void entry_counter_wraps_under_unsignalled_sends(void **state)
{
	struct history *h = history_open("setup sq=16");

	(void)state;
	for (unsigned int i = 0; i < 66000; i++) {
		history_step(h, "post SEND inline len=4 pat=%u%s", i + 1,
			     i % 16 == 15 ? " signal" : "");
		history_step(h, "tx SEND_ONLY psn=%u len=4 pat=%u", i, i + 1);
		if (i % 16 != 15)
			continue;
		history_step(h, "rx ACK psn=%u msn=%u", i, i + 1);
		history_step(h, "cqe done idx=%u", i & 0xffff);
		history_step(h, "clear");
	}
	history_close(h);
}

static void full_ring_runs(void **state)
{
	struct history *h = history_open("setup sq=8");

	(void)state;
	for (int i = 0; i < 8; i++)
		history_step(h, "post SEND va=0 len=4 signal held");
	history_step(h, "tx none");
	history_step(h, "ring");
	for (int i = 0; i < 8; i++)
		history_step(h, "tx SEND_ONLY psn=%d", i);
	history_step(h, "rx ACK psn=7");
	for (int i = 0; i < 8; i++)
		history_step(h, "cqe done idx=%d", i);
	history_close(h);
}

/* Case 6. */
static void register_ahead_of_its_record_is_reported_and_not_obeyed(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 held",
		"bell",
		"tx none",
		"event db_ahead",
		"bell ahead=5",
		"noevent db_ahead",
		"tx none",
		"record",
		"scan",
		"tx SEND_ONLY psn=0",
		"post SEND va=0 len=4",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=1");
}

/* Of a record that says more than the ring holds nothing is believed. */
static void record_of_more_than_the_ring_is_fatal(void **state)
{
	(void)state;
	HISTORY("setup sq=4",
		"post SEND va=0 len=4 held",
		"record ahead=4",
		"bell",
		"tx none",
		"event fatal",
		"state err",
		"clear");
}

static void record_alone_is_found_by_a_scan(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 held",
		"post SEND va=0 len=4 held",
		"record",
		"scan",
		"tx SEND_ONLY psn=0",
		"tx SEND_ONLY psn=1",
		"rx ACK psn=1",
		"noevent db_ahead");
}

static void register_names_an_older_entry_than_the_record(void **state)
{
	(void)state;
	HISTORY("setup",
		"post SEND va=0 len=4 held",
		"record",
		"bell",
		"bell",
		"tx SEND_ONLY psn=0",
		"post SEND va=0 len=4 held",
		"record",
		"bell",
		"tx SEND_ONLY psn=1",
		"tx none",
		"rx ACK psn=1",
		"noevent db_ahead");
}

static void full_wire_delays_requests_and_loses_none(void **state)
{
	(void)state;
	HISTORY("setup mtu=256",
		"wire 1",
		"post WRITE va=0 len=600 pat=1 signal",
		"post SEND va=0 len=4 signal",
		"tx WRITE_FIRST psn=0 pat=1",
		"tx none",
		"wire 1",
		"tx WRITE_MIDDLE psn=1 pat=1 off=256",
		"tx none",
		"wire open",
		"tx WRITE_LAST psn=2 a",
		"tx SEND_ONLY psn=3 a",
		"tx none",
		"rx ACK psn=3",
		"cqe done idx=0",
		"cqe done idx=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_is_cut_at_the_mtu),
		cmocka_unit_test(message_of_exactly_one_or_two_mtu),
		cmocka_unit_test(immediate_data_is_in_the_last_packet),
		cmocka_unit_test(empty_messages_use_one_psn),
		cmocka_unit_test(inline_data_is_taken_from_the_entry),
		cmocka_unit_test(pieces_are_gathered_in_order),
		cmocka_unit_test(psns_and_message_over_the_wrap),
		cmocka_unit_test(read_uses_a_psn_for_each_response),
		cmocka_unit_test(read_is_scattered_over_its_pieces),
		cmocka_unit_test(atomics_bring_the_old_value),
		cmocka_unit_test(reads_wait_at_the_initiators_limit),
		cmocka_unit_test(fence_waits_for_reads_and_atomics_only),
		cmocka_unit_test(unsignalled_entries_complete_in_silence),
		cmocka_unit_test(signal_all_signals_all),
		cmocka_unit_test(nop_completes_without_a_packet),
		cmocka_unit_test(entry_round_the_rings_end),
		cmocka_unit_test(entry_counter_wraps_under_unsignalled_sends),
		cmocka_unit_test(full_ring_runs),
		cmocka_unit_test(register_ahead_of_its_record_is_reported_and_not_obeyed),
		cmocka_unit_test(record_of_more_than_the_ring_is_fatal),
		cmocka_unit_test(record_alone_is_found_by_a_scan),
		cmocka_unit_test(register_names_an_older_entry_than_the_record),
		cmocka_unit_test(full_wire_delays_requests_and_loses_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
