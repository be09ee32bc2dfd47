/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the order in which a responder answers, and what is in its answers.
 * How: two NICs of tests/support/fake_nic.h; a wire without room holds answers back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

/* Acknowledgements coalesce: many requests before a turn, one ACK, with all of them in its MSN. */
static void acknowledgements_coalesce(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	b.w->room = 0;
	for (uint32_t i = 0; i < 20; i++)
		bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x100 + i, 8);
	b.w->room = 10;
	fake_advance(b.w, 1);
	assert_int_equal(b.w->queue_count, 1);
	expect_answer(&b, 0x1f, 0x113);
	assert_int_equal(fake_pkt(b.w, 0).aeth.msn, 20);
	bed_close(&b);
}

/* [cases 4] The message count wraps at 24 bits. */
static void msn_wraps(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	nic_qp_find(b.w->nics[1], b.pair.b.qpn)->msn = 0xffffff;
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x100, 8);
	assert_int_equal(fake_pkt(b.w, 0).aeth.msn, 0);
	bed_close(&b);
}

/* The order of answers is that of the requests: READs hold back the ACK of a WRITE behind them. */
static void answers_keep_their_order(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct roce_pkt pkt = bed_request(&b, ROCE_OP_RC_READ_REQ, 0x100, 0);

	(void)state;
	pkt.reth.len_bytes = 600;
	b.w->room = 0;
	fake_send(b.w, 1, &pkt);
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x103, 8);
	bed_send_request(&b, ROCE_OP_RC_FETCH_ADD, 0x104, 0);
	bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x105, 8);
	b.w->room = 10;
	fake_advance(b.w, 1);
	assert_int_equal(b.w->queue_count, 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(fake_pkt(b.w, i).psn, 0x100 + i);
	assert_int_equal(fake_pkt(b.w, 0).aeth.msn, 1);
	assert_int_equal(fake_pkt(b.w, 3).opcode, ROCE_OP_RC_ATOMIC_ACK);
	assert_int_equal(fake_pkt(b.w, 3).psn, 0x104);
	assert_int_equal(fake_pkt(b.w, 3).aeth.msn, 3);
	assert_int_equal(fake_pkt(b.w, 4).opcode, ROCE_OP_RC_ACK);
	assert_int_equal(fake_pkt(b.w, 4).psn, 0x105);
	assert_int_equal(fake_pkt(b.w, 4).aeth.msn, 4);
	bed_close(&b);
}

/* [cases 13] A region that goes away between READ responses: remote access error, at that packet.
 */
static void region_goes_between_responses(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	b.w->room = 3;
	bed_post(&b, WQE_OP_READ, 2000);
	fake_deliver(b.w, 0);
	assert_int_equal(b.w->queue_count, 3);
	assert_int_equal(nic_mkey_destroy(b.w->nics[1], b.dst.key), 0);
	fake_settle(b.w);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x13, 0x88);
	assert_int_equal(nic_counters(b.w->nics[1])->tx_nak_access, 1);
	assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_ACCESS_ERR), 1);
	bed_close(&b);
}

/* Two packets that change places, before the answer is made: the NAK is not sent at all. */
static void overtaken_nak_is_not_sent(void **state)
{
	struct bed b = bed_open(NULL);
	struct roce_pkt later = bed_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x101, 8);
	struct roce_pkt sooner = bed_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x100, 8);

	(void)state;
	b.w->room = 0;
	fake_send(b.w, 1, &later);
	fake_send(b.w, 1, &sooner);
	b.w->room = 10;
	fake_advance(b.w, 1);
	assert_int_equal(b.w->queue_count, 1);
	expect_answer(&b, 0x1f, 0x100);
	bed_close(&b);
}

/* An owner who leaves as soon as the message is in does not leave its peer without the ACK. */
static void last_answer_before_it_goes(void **state)
{
	static const char *const rows[] = {"destroy", "reset", "error"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bed b = bed_open(NULL);

		print_message("row: %s\n", rows[i]);
		b.w->room = 0;
		bed_send_request(&b, ROCE_OP_RC_WRITE_ONLY, 0x100, 8);
		b.w->room = 1;
		if (i == 0)
			assert_int_equal(nic_qp_destroy(b.w->nics[1], b.pair.b.qpn), 0);
		else
			assert_int_equal(
			    fake_qp_set_state(&b.pair.b, i == 1 ? NIC_QP_RESET : NIC_QP_ERR), 0);
		assert_int_equal(b.w->queue_count, 1);
		expect_answer(&b, 0x1f, 0x100);
		bed_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(acknowledgements_coalesce),
	    cmocka_unit_test(last_answer_before_it_goes),
	    cmocka_unit_test(msn_wraps),
	    cmocka_unit_test(answers_keep_their_order),
	    cmocka_unit_test(region_goes_between_responses),
	    cmocka_unit_test(overtaken_nak_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
