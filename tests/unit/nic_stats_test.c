/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what each counter that Linux has a name for counts, and what a queue pair's own ones do;
 * that a snapshot of many queue pairs comes in bounded parts, each of them once.
 * How: two NICs of tests/support/fake_nic.h, with packets lost on purpose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/errno.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/fake_net.h"
#include "tests/support/nic_bed.h"

enum { TIMEOUT_NS = 67108864 };

static uint64_t counter(const struct bed *b, uint32_t nic, enum stats_counter which)
{
	uint64_t counters[STATS_COUNT];

	nic_stats(b->w->nics[nic], counters);
	return counters[which];
}

#define A(name) counter(&b, 0, STATS_##name)
#define B(name) counter(&b, 1, STATS_##name)

static struct stats_flow flow(const struct bed *b, uint32_t nic, uint32_t qpn)
{
	struct stats_flow flow;

	assert_int_equal(nic_stats_qp(b->w->nics[nic], qpn, 1, &flow), 0);
	return flow;
}

/* Nothing lost: packets, bytes and requests, and no counter of trouble. */
static void a_good_path(void **state)
{
	struct bed b = bed_open(NULL);
	struct stats_flow at_a, at_b;
	uint64_t counters[STATS_COUNT];

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 5001);
	bed_post(&b, WQE_OP_READ, 2048);
	bed_post(&b, WQE_OP_ATOMIC_FA, 8);
	fake_settle(b.w);
	assert_int_equal(B(rx_write_requests), 1);
	assert_int_equal(B(rx_read_requests), 1);
	assert_int_equal(B(rx_atomic_requests), 1);
	assert_int_equal(A(port_xmit_packets), B(port_rcv_packets));
	assert_int_equal(A(port_rcv_packets), B(port_xmit_packets));
	assert_int_equal(A(port_xmit_data), B(port_rcv_data));
	assert_int_equal(A(port_xmit_data), (5001 + 3 + 7 * 12 + 2 * 16 + 28) / 4);
	assert_int_equal(A(unicast_xmit_packets), 7);
	at_a = flow(&b, 0, b.pair.a.qpn);
	at_b = flow(&b, 1, b.pair.b.qpn);
	assert_int_equal(at_a.qp.tx_packets, 7);
	assert_int_equal(at_a.qp.tx_payload_bytes, 5001);
	assert_int_equal(at_b.qp.rx_packets, 7);
	assert_int_equal(at_b.qp.rx_payload_bytes, 5001);
	assert_int_equal(at_b.qp.tx_payload_bytes, 2048);
	assert_int_equal(at_a.qp.rx_payload_bytes, 2048);
	assert_true(at_a.has_cc && at_a.window_packets == UINT32_MAX && at_a.rate_bps != 0);
	/* To look at it takes no memory. */
	assert_false(nic_qp_find(b.w->nics[0], b.pair.a.qpn)->flow_made);
	assert_int_equal(at_a.type, STATS_TYPE_RC);
	assert_int_equal(at_a.state, STATS_STATE_RTS);
	assert_int_equal(at_a.dest_qpn, b.pair.b.qpn);
	nic_stats(b.w->nics[0], counters);
	for (unsigned int i = STATS_out_of_buffer; i < STATS_HW_COUNT; i++)
		assert_int_equal(counters[i], 0);
	bed_close(&b);
}

/* The second of four packets is lost: a gap there, a NAK here, three packets again. */
static void a_gap(void **state)
{
	struct bed b = bed_open(NULL);
	struct stats_flow at_a;

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 4096);
	assert_int_equal(b.w->queue_count, 4);
	fake_drop(b.w, 1);
	fake_settle(b.w);
	assert_int_equal(B(out_of_sequence), 2);
	assert_int_equal(A(packet_seq_err), 1);
	assert_int_equal(A(local_ack_timeout_err), 0);
	assert_int_equal(B(rx_write_requests), 1);
	at_a = flow(&b, 0, b.pair.a.qpn);
	assert_int_equal(at_a.qp.sequence_naks, 1);
	assert_int_equal(at_a.qp.retransmits, 3);
	assert_int_equal(at_a.qp.tx_packets, 7);
	bed_close(&b);
}

/* The acknowledgement is lost: a timeout here, a duplicate there. */
static void a_silence(void **state)
{
	struct bed b = bed_open(NULL);
	struct stats_flow at_a;

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	fake_deliver(b.w, 0);
	fake_drop(b.w, 0);
	fake_advance(b.w, TIMEOUT_NS);
	fake_settle(b.w);
	assert_int_equal(A(local_ack_timeout_err), 1);
	assert_int_equal(B(duplicate_request), 1);
	assert_int_equal(A(roce_adp_retrans), 0);
	at_a = flow(&b, 0, b.pair.a.qpn);
	assert_int_equal(at_a.qp.ack_timeouts, 1);
	assert_int_equal(at_a.qp.retransmits, 1);
	bed_close(&b);
}

/* No answer at all: the last timeout is not one of those that were survived. */
static void no_answer(void **state)
{
	struct fake_opts opts = {.retry_count = 1};
	struct bed b = bed_open(&opts);
	uint16_t index;

	(void)state;
	index = bed_post(&b, WQE_OP_WRITE, 8);
	fake_drop(b.w, 0);
	fake_advance(b.w, TIMEOUT_NS);
	fake_drop(b.w, 0);
	fake_advance(b.w, TIMEOUT_NS);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, index, CQE_SYND_RETRY_EXC,
		     CQE_VENDOR_RETRY_EXC);
	assert_int_equal(A(local_ack_timeout_err), 1);
	assert_int_equal(A(req_transport_retries_exceeded), 1);
	assert_int_equal(A(req_cqe_error), 1);
	assert_int_equal(A(req_cqe_flush_error), 0);
	assert_int_equal(flow(&b, 0, b.pair.a.qpn).state, STATS_STATE_ERR);
	bed_close(&b);
}

/* No receive: out of buffers there, an RNR NAK here. */
static void no_receive(void **state)
{
	struct fake_opts opts = {.rnr_retry = 1};
	struct bed b = bed_open(&opts);

	(void)state;
	bed_post(&b, WQE_OP_SEND, 8);
	fake_settle(b.w);
	assert_int_equal(B(out_of_buffer), 1);
	assert_int_equal(A(rnr_nak_retry_err), 1);
	assert_int_equal(flow(&b, 0, b.pair.a.qpn).qp.rnr_naks, 1);
	fake_advance(b.w, 1000000);
	fake_settle(b.w);
	assert_int_equal(B(out_of_buffer), 2);
	assert_int_equal(A(rnr_nak_retry_err), 1);
	assert_int_equal(A(req_rnr_retries_exceeded), 1);
	bed_close(&b);
}

static void a_datagram_without_receive(void **state)
{
	struct fake_opts opts = {.type = NIC_QP_UD};
	struct bed b = bed_open(&opts);
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 100);
	struct stats_flow at_a;

	(void)state;
	wr.to = &to;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	assert_int_equal(B(out_of_buffer), 1);
	at_a = flow(&b, 0, b.pair.a.qpn);
	assert_int_equal(at_a.type, STATS_TYPE_UD);
	assert_int_equal(at_a.dest_qpn, 0);
	bed_close(&b);
}

static void a_key_that_is_none(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

	(void)state;
	wr.rkey ^= 1;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	bed_post(&b, WQE_OP_WRITE, 8);
	fake_settle(b.w);
	assert_int_equal(B(resp_remote_access_errors), 1);
	assert_int_equal(A(req_remote_access_errors), 1);
	assert_int_equal(A(req_cqe_error), 2); /* of which one was flushed */
	assert_int_equal(A(req_cqe_flush_error), 1);
	bed_close(&b);
}

/* An answer behind a READ whose own answer is lost. */
static void an_implied_nak(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	bed_post(&b, WQE_OP_READ, 8);
	bed_post(&b, WQE_OP_WRITE, 8);
	assert_int_equal(b.w->queue_count, 2);
	fake_deliver(b.w, 0);
	fake_deliver(b.w, 0);
	fake_drop(b.w, 0);
	fake_settle(b.w);
	assert_int_equal(A(implied_nak_seq_err), 1);
	assert_int_equal(A(packet_seq_err), 0);
	bed_close(&b);
}

/* What the wire counts is asked of the wire. */
static void wire_counters(void *ctx, struct nic_wire_counters *counters)
{
	(void)ctx;
	*counters = (struct nic_wire_counters){.rx_malformed = 2, .rx_icrc = 3, .tx_discards = 5};
}

static void the_wires_own(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	assert_int_equal(A(rx_icrc_encapsulated), 0);
	b.w->envs[0].wire_counters = wire_counters;
	assert_int_equal(A(rx_icrc_encapsulated), 3);
	assert_int_equal(A(port_rcv_errors), 5);
	assert_int_equal(A(port_xmit_discards), 5);
	bed_close(&b);
}

/* To make more queue pairs like this one, on the same rings: nothing is posted. */
static struct nic_qp_attr attr_of(const struct nic *nic, uint32_t qpn)
{
	const struct nic_qp *qp = nic_qp_find(nic, qpn);

	return (struct nic_qp_attr){
	    .type = NIC_QP_RC,
	    .pdn = qp->pdn,
	    .cqn_send = qp->cqn_send,
	    .cqn_recv = qp->cqn_recv,
	    .buf_va = qp->sq_va,
	    .db_va = qp->db_va,
	    .sq_wqebb_count = 4,
	};
}

/* A number that is used again starts with nothing counted. */
static void a_new_queue_pair(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_qp *a = &b.pair.a;
	uint32_t index = nic_qp_find(b.w->nics[0], a->qpn)->index;
	struct nic_qp_attr attr;

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	fake_settle(b.w);
	assert_int_equal(flow(&b, 0, a->qpn).qp.tx_packets, 1);
	attr = attr_of(b.w->nics[0], a->qpn);
	assert_int_equal(nic_qp_destroy(b.w->nics[0], a->qpn), 0);
	assert_int_equal(nic_stats_qp(b.w->nics[0], a->qpn, 1, &(struct stats_flow){0}), -EINVAL);
	for (uint32_t qpn = 0; qpn != a->qpn;)
		assert_int_equal(nic_qp_create(b.w->nics[0], &attr, &qpn), 0);
	assert_int_equal(nic_qp_find(b.w->nics[0], a->qpn)->index, index);
	assert_int_equal(flow(&b, 0, a->qpn).qp.tx_packets, 0);
	bed_close(&b);
}

/* Many queue pairs, with holes: each comes once, in parts no larger than asked for. */
static void parts(void **state)
{
	enum { COUNT = 1500, PART = 64 };
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];
	struct stats_flow flows[PART + 1];
	struct nic_qp_attr attr;
	uint32_t qpns[COUNT], from = 0, seen = 0, calls = 0, last = 0;

	(void)state;
	attr = attr_of(nic, b.pair.a.qpn);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(nic_qp_create(nic, &attr, &qpns[i]), 0);
	for (int i = 0; i < COUNT; i++)
		if (i >= 100 && i < 1300)
			assert_int_equal(nic_qp_destroy(nic, qpns[i]), 0);
	do {
		uint32_t was = from, got;

		flows[PART].qpn = 0xdead;
		got = nic_stats_flows(nic, &from, flows, PART, 1);
		assert_int_equal(flows[PART].qpn, 0xdead);
		assert_true(got <= PART && (from == 0 || from > was));
		for (uint32_t i = 0; i < got; i++) {
			assert_true(flows[i].qpn > last);
			last = flows[i].qpn;
		}
		seen += got;
		calls++;
	} while (from != 0);
	assert_int_equal(seen, 1 + 100 + 200);
	assert_true(calls <= 8);
	/* From beyond the end: none. */
	from = 1u << 30;
	assert_int_equal(nic_stats_flows(nic, &from, flows, PART, 1), 0);
	assert_int_equal(from, 0);
	bed_close(&b);
}

/* Destinations come behind the queue pairs, each once, each with its own algorithm. */
static void destinations(void **state)
{
	enum { COUNT = 150, PART = 64 };
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];
	struct stats_flow flows[PART];
	uint32_t from = 0, mapping, seen = 0, qps = 0, calls = 0;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		struct nic_dest_key key = {.dgid = {[14] = (uint8_t)i, [15] = 1}, .sl = 3};

		assert_int_equal(
		    nic_dest_map(nic, &key, i % 2 ? NIC_CC_RTT : NIC_CC_DCQCN, 1, &mapping), 0);
	}
	do {
		uint32_t got = nic_stats_flows(nic, &from, flows, PART, 1);

		for (uint32_t i = 0; i < got; i++) {
			if (flows[i].qpn != 0) {
				qps++;
				assert_int_equal(seen, 0);
				continue;
			}
			assert_int_equal(flows[i].dgid[14], seen);
			assert_true(flows[i].has_cc && flows[i].mapped);
			assert_int_equal(flows[i].algorithm,
					 seen++ % 2 ? NIC_CC_RTT : NIC_CC_DCQCN);
			assert_int_equal(flows[i].sl, 3);
		}
		calls++;
	} while (from != 0 && calls < 10);
	assert_int_equal(seen, COUNT);
	assert_int_equal(qps, 1);
	bed_close(&b);
}

/* Every second packet is marked. What one end says of them is what the other end was told:
 * np_cnp_sent <= np_ecn_marked_roce_packets, and where no packet is lost the notifications that
 * were sent have come. */
static void marks(void **state)
{
	static const struct nic_config config = {
	    .qp_count_max = 4096,
	    .cq_count_max = 64,
	    .mkey_count_max = 64,
	    .pd_count_max = 4,
	    .mtu_max_bytes = 4096,
	    .rd_atomic_max = 16,
	    .message_max_bytes_log2 = 31,
	    .cc_algorithm = NIC_CC_DCQCN,
	    .line_rate_bps = 40000000000ull,
	};
	struct bed b = {.w = fake_world_new(&config)};
	struct stats_flow at_a, at_b;
	uint32_t marked = 0;
	uint8_t gid[16];

	(void)state;
	b.w->alien = true;
	b.w->window_bytes = 64 * 1024;
	for (uint32_t i = 0; i < 2; i++) {
		fake_gid(b.w, gid, i);
		nic_gid_set(b.w->nics[i], 0, gid);
	}
	fake_pair_connect(b.w, &b.pair, NULL);
	b.src = fake_region(b.w, 0, 1 << 20, BED_LOCAL);
	b.dst = fake_region(b.w, 1, 1 << 20, BED_ALL);
	for (uint32_t step = 0; step < 4000; step++) {
		if (step % 100 == 0)
			bed_post(&b, WQE_OP_WRITE, 8 * 1024);
		fake_advance(b.w, 500);
		if (b.w->queue_count == 0)
			continue;
		if (b.w->queue[0]->from == 0 && b.w->queue[0]->path.ecn == ROCE_ECN_ECT_0 &&
		    step % 2) {
			fake_mark(b.w, 0);
			marked++;
		}
		fake_deliver(b.w, 0);
	}
	fake_settle(b.w);
	assert_true(marked > 20 && B(np_cnp_sent) > 1);
	assert_int_equal(B(np_ecn_marked_roce_packets), marked);
	assert_true(B(np_cnp_sent) < B(np_ecn_marked_roce_packets));
	assert_int_equal(A(rp_cnp_handled) + A(rp_cnp_ignored), B(np_cnp_sent));
	assert_int_equal(A(np_cnp_sent) + B(rp_cnp_handled), 0);
	assert_int_equal(A(port_rcv_packets), B(port_xmit_packets));
	assert_int_equal(A(port_rcv_data), B(port_xmit_data));
	/* And the queue pairs have what the port has. */
	assert_int_equal(nic_stats_qp(b.w->nics[0], b.pair.a.qpn, b.w->now_ns, &at_a), 0);
	assert_int_equal(nic_stats_qp(b.w->nics[1], b.pair.b.qpn, b.w->now_ns, &at_b), 0);
	assert_true(at_a.has_cc && at_b.has_cc);
	assert_int_equal(at_a.algorithm, NIC_CC_DCQCN);
	assert_int_equal(at_b.cc.marks, marked);
	assert_int_equal(at_b.cc.cnps_sent, B(np_cnp_sent));
	assert_int_equal(at_a.cc.cnps_handled, A(rp_cnp_handled));
	assert_true(at_a.paced && at_a.rate_bps < config.line_rate_bps);
	fake_world_free(b.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_good_path),
	    cmocka_unit_test(a_gap),
	    cmocka_unit_test(a_silence),
	    cmocka_unit_test(no_answer),
	    cmocka_unit_test(no_receive),
	    cmocka_unit_test(a_datagram_without_receive),
	    cmocka_unit_test(a_key_that_is_none),
	    cmocka_unit_test(an_implied_nak),
	    cmocka_unit_test(the_wires_own),
	    cmocka_unit_test(a_new_queue_pair),
	    cmocka_unit_test(parts),
	    cmocka_unit_test(destinations),
	    cmocka_unit_test(marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
