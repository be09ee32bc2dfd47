/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: on a path that may lose packets, silence is answered after some round trips, by one
 * packet; what that brings back decides what else is sent again; the timeout and its count stay.
 * How: nic.h's calls on the world of tests/support/fake_nic.h, whose time the test moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

enum {
	WINDOW_BYTES = 65536, /* 64 packets of 1,024 bytes */
	TRIP_NS = 1000000,
	WAIT_NS = 3 * TRIP_NS, /* after one trip: it, and four times half of it */
	TIMEOUT_NS = 67108864,
};

static const struct nic_counters *counters(const struct bed *b)
{
	return nic_counters(b->w->nics[0]);
}

/* A message that takes TRIP_NS, there and back. */
static void one_trip(struct bed *b)
{
	uint16_t index = bed_post(b, WQE_OP_WRITE, 8);

	fake_advance(b->w, TRIP_NS);
	fake_settle(b->w);
	expect_done(&b->pair.a.send_cq, CQE_REQ, index, 8);
}

static void drop_all(struct bed *b)
{
	while (b->w->queue_count != 0)
		fake_drop(b->w, 0);
}

static bool asks(const struct fake_packet *packet)
{
	return be32_load(packet->bytes + ROCE_BTH_ACK_OFF) >> 31;
}

/* Silence from now on: one packet that asks for an answer, at wait_ns and no earlier. */
static void expect_probe(struct bed *b, uint64_t wait_ns, uint32_t psn)
{
	fake_advance(b->w, wait_ns - 1);
	assert_int_equal(b->w->queue_count, 0);
	fake_advance(b->w, 1);
	assert_int_equal(b->w->queue_count, 1);
	assert_int_equal(be24_load(b->w->queue[0]->bytes + ROCE_BTH_PSN_OFF), psn);
	assert_true(asks(b->w->queue[0]));
}

/* A NAK that is lost: the responder does not repeat it. The probe fills the gap; that its answer
 * names no more says that all after it is lost. */
static void lost_nak(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);
	uint16_t index;

	(void)state;
	one_trip(&b);
	index = bed_post(&b, WQE_OP_WRITE, 4096);
	assert_int_equal(b.w->queue_count, 4);
	fake_drop(b.w, 0);
	while (b.w->queue_count != 0 && b.w->queue[0]->from == 0)
		fake_deliver(b.w, 0);
	assert_int_equal(b.w->queue_count, 1);
	expect_answer(&b, ROCE_NAK_PSN_SEQUENCE, 0x101);
	fake_drop(b.w, 0);
	expect_probe(&b, WAIT_NS, 0x101);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, index, 4096);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 4096);
	assert_int_equal(counters(&b)->ack_timeouts, 0);
	assert_int_equal(counters(&b)->ack_probes, 1);
	assert_int_equal(counters(&b)->retransmits, 4);
	bed_close(&b);
}

/* What was sent again is lost again, to the last packet: that goes the same way. */
static void lost_repetition(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);
	uint16_t index;

	(void)state;
	one_trip(&b);
	index = bed_post(&b, WQE_OP_WRITE, 2048);
	fake_drop(b.w, 0);
	fake_deliver(b.w, 0); /* the NAK is behind it */
	fake_deliver(b.w, 0);
	assert_int_equal(b.w->queue_count, 2);
	drop_all(&b);
	expect_probe(&b, WAIT_NS, 0x101);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, index, 2048);
	assert_int_equal(counters(&b)->ack_timeouts, 0);
	bed_close(&b);
}

/* A responder that is slow and has lost nothing costs one packet; nothing else is sent again. */
static void slow_responder(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);
	uint16_t index;

	(void)state;
	one_trip(&b);
	index = bed_post(&b, WQE_OP_WRITE, 32768);
	assert_int_equal(b.w->queue_count, 32);
	fake_advance(b.w, WAIT_NS);
	assert_int_equal(b.w->queue_count, 33);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, index, 32768);
	assert_int_equal(counters(&b)->retransmits, 1);
	bed_close(&b);
}

/* What was posted meanwhile goes out when the answer to what came before it is there. */
static void slow_responder_in_the_middle(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);
	uint16_t first, second;

	(void)state;
	one_trip(&b);
	first = bed_post(&b, WQE_OP_WRITE, 20480);
	fake_advance(b.w, WAIT_NS);
	second = bed_post(&b, WQE_OP_WRITE, 2048);
	assert_int_equal(b.w->queue_count, 21); /* nothing new until something is heard */
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, first, 20480);
	expect_done(&b.pair.a.send_cq, CQE_REQ, second, 2048);
	assert_int_equal(counters(&b)->retransmits, 1);
	bed_close(&b);
}

/* Probes come ever later. They are no retries: the timeout is where it was, and so is the end. */
static void silence(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, &(struct fake_opts){.retry_count = 1});
	uint64_t start_ns, wait_ns = WAIT_NS, waited_ns = 0;

	(void)state;
	one_trip(&b);
	start_ns = b.w->now_ns;
	bed_post(&b, WQE_OP_WRITE, 3072);
	drop_all(&b);
	for (; waited_ns + wait_ns < TIMEOUT_NS; wait_ns *= 2) {
		expect_probe(&b, wait_ns, 0x101);
		drop_all(&b);
		waited_ns += wait_ns;
	}
	assert_int_equal(counters(&b)->ack_probes, 4); /* after 3, 9, 21 and 45 ms */
	fake_advance(b.w, start_ns + TIMEOUT_NS - 1 - b.w->now_ns);
	assert_int_equal(b.w->queue_count, 0);
	assert_int_equal(counters(&b)->ack_timeouts, 0);
	fake_advance(b.w, 1);
	assert_int_equal(b.w->queue_count, 3); /* a retry is all of it */
	assert_int_equal(counters(&b)->ack_timeouts, 1);
	drop_all(&b);
	for (uint64_t end_ns = b.w->now_ns + 2 * TIMEOUT_NS; b.w->now_ns < end_ns;) {
		expect_none(&b.pair.a.send_cq);
		fake_advance(b.w, 1000 < end_ns - b.w->now_ns ? 1000 : end_ns - b.w->now_ns);
		drop_all(&b);
	}
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x15, 0x81);
	assert_int_equal(counters(&b)->ack_timeouts, 2);
	bed_close(&b);
}

/* Between hosts the second timeout is twice the first, and all after it four times: one that is
 * busy is not given up for it. Where nothing gets lost all are the same. */
static void timeouts_grow(void **state)
{
	static const uint64_t times[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8},
					     {1, 3, 7, 11, 15, 19, 23, 27}};

	(void)state;
	for (int has_window = 0; has_window < 2; has_window++) {
		struct bed b = bed_with_window(has_window ? WINDOW_BYTES : 0, NULL);
		uint64_t start_ns = b.w->now_ns;

		bed_post(&b, WQE_OP_WRITE, 8);
		for (uint64_t i = 0; i < 8; i++) {
			uint64_t end_ns = start_ns + times[has_window][i] * TIMEOUT_NS;

			while (b.w->now_ns < end_ns) {
				assert_int_equal(counters(&b)->ack_timeouts, i);
				drop_all(&b);
				fake_advance(b.w, TIMEOUT_NS / 8);
			}
			assert_int_equal(counters(&b)->ack_timeouts, i + 1);
		}
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x15, 0x81);
		bed_close(&b);
	}
}

/* A READ, of which the end is lost. */
static void read_response_lost(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);
	uint16_t index;

	(void)state;
	one_trip(&b);
	index = bed_post(&b, WQE_OP_READ, 4096);
	fake_deliver(b.w, 0);
	assert_int_equal(b.w->queue_count, 4);
	fake_deliver(b.w, 0);
	drop_all(&b);
	/* A second trip, of no time: 7/8 of the first, and four times 5/8 of it. */
	expect_probe(&b, 7 * TRIP_NS / 8 + 4 * (5 * TRIP_NS / 8), 0x102);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, index, 4096);
	assert_int_equal(counters(&b)->ack_timeouts, 0);
	bed_close(&b);
}

/* Nothing was measured yet, or the path loses nothing: the timeout, as it was set. */
static void no_probes(void **state)
{
	(void)state;
	for (int has_window = 0; has_window < 2; has_window++) {
		struct bed b = bed_with_window(has_window ? WINDOW_BYTES : 0, NULL);
		uint16_t index;

		if (!has_window)
			one_trip(&b);
		index = bed_post(&b, WQE_OP_WRITE, 2048);
		drop_all(&b);
		fake_advance(b.w, TIMEOUT_NS - 1);
		assert_int_equal(b.w->queue_count, 0);
		fake_advance(b.w, 1);
		assert_int_equal(b.w->queue_count, 2);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, 2048);
		assert_int_equal(counters(&b)->ack_probes, 0);
		bed_close(&b);
	}
}

/* On a path that has become slower no round trip could be told if each message were probed. */
static void slower_than_before(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);

	(void)state;
	one_trip(&b);
	for (int i = 0; i < 8; i++) {
		uint16_t index = bed_post(&b, WQE_OP_WRITE, 8);

		for (int k = 0; k < 5; k++)
			fake_advance(b.w, TRIP_NS);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, 8);
	}
	assert_int_equal(counters(&b)->ack_probes, 1);
	bed_close(&b);
}

/* A NAK says that the first copy is gone: the answer is to the second, and measured. A timeout says
 * no such thing. */
static void lost_for_sure(void **state)
{
	(void)state;
	for (int by_nak = 0; by_nak < 2; by_nak++) {
		struct bed b = bed_with_window(WINDOW_BYTES, NULL);

		bed_post(&b, WQE_OP_WRITE, 2048);
		if (by_nak) {
			fake_drop(b.w, 0);
			fake_deliver(b.w, 0);
			fake_deliver(b.w, 0);
		} else {
			drop_all(&b);
			fake_advance(b.w, TIMEOUT_NS);
		}
		assert_int_equal(b.w->queue_count, 2);
		fake_advance(b.w, TRIP_NS);
		fake_settle(b.w);
		bed_post(&b, WQE_OP_WRITE, 8);
		drop_all(&b);
		fake_advance(b.w, WAIT_NS);
		assert_int_equal(b.w->queue_count, by_nak);
		bed_close(&b);
	}
}

/* Its pace allows the requester nothing for so long. */
static void hold(struct bed *b, uint64_t ns)
{
	struct nic_qp *qp = nic_qp_find(b->w->nics[0], b->pair.a.qpn);

	qp->paced = true;
	nic_alarm_set(b->w->nics[0], qp, b->w->now_ns + ns);
}

/* One that waits for its turn is asked for once. What comes meanwhile is the answer to what went
 * before: the responder was slow, and nothing is sent again. */
static void probe_waits(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);
	uint16_t index;

	(void)state;
	one_trip(&b);
	index = bed_post(&b, WQE_OP_WRITE, 4096);
	hold(&b, 40 * TRIP_NS);
	for (int i = 0; i < 30; i++)
		fake_advance(b.w, TRIP_NS);
	assert_int_equal(b.w->queue_count, 4);
	assert_int_equal(counters(&b)->ack_probes, 1);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, index, 4096);
	assert_int_equal(counters(&b)->retransmits, 0);
	bed_close(&b);
}

/* The answer to a probe comes while the next waits for its turn: it says how far the responder is,
 * and what it lacks goes at once. */
static void second_probe_waits(void **state)
{
	struct bed b = bed_with_window(WINDOW_BYTES, NULL);
	uint16_t index;

	(void)state;
	one_trip(&b);
	index = bed_post(&b, WQE_OP_WRITE, 4096);
	drop_all(&b);
	expect_probe(&b, WAIT_NS, 0x101);
	hold(&b, 40 * TRIP_NS);
	for (int i = 0; i < 10; i++)
		fake_advance(b.w, TRIP_NS);
	assert_int_equal(b.w->queue_count, 1);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, index, 4096);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lost_nak),
	    cmocka_unit_test(lost_repetition),
	    cmocka_unit_test(slow_responder),
	    cmocka_unit_test(slow_responder_in_the_middle),
	    cmocka_unit_test(silence),
	    cmocka_unit_test(read_response_lost),
	    cmocka_unit_test(no_probes),
	    cmocka_unit_test(timeouts_grow),
	    cmocka_unit_test(slower_than_before),
	    cmocka_unit_test(lost_for_sure),
	    cmocka_unit_test(probe_waits),
	    cmocka_unit_test(second_probe_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
