/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the counters and flows of the public API say what was done, from any thread, and stay
 * within the room they are given; over a network, what congestion control does to a queue pair and
 * to a destination. How: two queue pairs of this process on the software NIC, or on two of them,
 * with faults that mark and lose packets.
 */
#include "tests/support/procs.h"
#include "tests/support/soft_pair.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTERS = 64, FLOWS = 200 };

static void write_some(int count, uint32_t bytes)
{
	for (int i = 0; i < count; i++) {
		struct rig_entry entry = soft_entry(&soft.a, RIG_WRITE, 0, bytes, 0);

		soft_post(&soft.a, &entry);
		soft_done(&soft.a);
	}
}

static uint64_t counter(const char *name)
{
	struct rig_counter counters[COUNTERS];
	int count = rig_nic_counters(soft.nic, counters, COUNTERS);

	assert_true(count > 20 && count <= COUNTERS);
	for (int i = 0; i < count; i++)
		if (strcmp(counters[i].name, name) == 0)
			return counters[i].value;
	fail_msg("there is no counter %s", name);
	return 0;
}

static void test_counters(void **state)
{
	struct rig_counter counters[4] = {{.name = ""}};
	int count;

	(void)state;
	soft_pair();
	write_some(7, 100);
	assert_int_equal(counter("rx_write_requests"), 7);
	assert_int_equal(counter("out_of_sequence"), 0);
	assert_int_equal(counter("np_cnp_sent"), 0);
	assert_true(counter("port_xmit_packets") >= 14);
	/* Less room than there are: the rest is left alone. */
	count = rig_nic_counters(soft.nic, NULL, 0);
	assert_true(count > 20);
	assert_int_equal(rig_nic_counters(soft.nic, counters, 3), count);
	assert_string_not_equal(counters[2].name, "");
	assert_string_equal(counters[3].name, "");
	soft_refused(rig_nic_counters(soft.nic, NULL, 1), -EINVAL, "rig_nic_counters");
	soft_refused(rig_nic_counters(soft.nic, counters, -1), -EINVAL, "rig_nic_counters");
	soft_refused(rig_nic_counters(NULL, counters, 1), -EINVAL, "rig_nic_counters");
}

static void test_flows(void **state)
{
	struct rig_flow flows[FLOWS], flow;
	int count;

	(void)state;
	soft_pair();
	write_some(7, 100);
	count = rig_nic_flows(soft.nic, flows, FLOWS);
	assert_int_equal(count, 2);
	assert_int_equal(rig_nic_flows(soft.nic, flows, 1), 2);
	assert_int_equal(rig_qp_flow(soft.a.qp, &flow), 0);
	assert_int_equal(flow.qp, rig_qp_number(soft.a.qp));
	assert_int_equal(flow.remote_qp, rig_qp_number(soft.b.qp));
	assert_memory_equal(flow.address.gid, soft.info.address.gid, 16);
	assert_int_equal(flow.sent_bytes, 700);
	assert_int_equal(flow.sent_packets, 7);
	assert_int_equal(flow.retransmits + flow.timeouts + flow.marks, 0);
	assert_int_equal(flow.cc, RIG_CC_NONE);
	assert_int_equal(flow.rate_bps, 0);
	assert_int_equal(rig_qp_flow(soft.b.qp, &flow), 0);
	assert_int_equal(flow.received_bytes, 700);
	soft_refused(rig_qp_flow(NULL, &flow), -EINVAL, "rig_qp_flow");
	soft_refused(rig_qp_flow(soft.a.qp, NULL), -EINVAL, "rig_qp_flow");
	soft_refused(rig_nic_flows(soft.nic, NULL, 1), -EINVAL, "rig_nic_flows");
	soft_refused(rig_nic_flows(soft.nic, flows, -1), -EINVAL, "rig_nic_flows");
}

/* More than one part has. */
static void test_many_flows(void **state)
{
	struct rig_flow flows[FLOWS];
	struct rig_qp *qps[150];
	struct rig_cq *cq;

	(void)state;
	assert_int_equal(rig_cq_create(soft.nic, 1024, &cq), 0);
	for (int i = 0; i < 150; i++)
		assert_int_equal(rig_qp_create(cq, 1, 0, &qps[i]), 0);
	assert_int_equal(rig_nic_flows(soft.nic, flows, FLOWS), 150);
	for (int i = 0; i < 150; i++)
		assert_int_equal(flows[i].qp, rig_qp_number(qps[i]));
	memset(flows, 0, sizeof(flows));
	assert_int_equal(rig_nic_flows(soft.nic, flows, 100), 150);
	assert_int_equal(flows[99].qp, rig_qp_number(qps[99]));
	assert_int_equal(flows[100].qp, 0);
}

static void *look(void *arg)
{
	struct rig_flow flows[FLOWS], flow;
	uint64_t before = 0;

	(void)arg;
	for (int i = 0; i < 200; i++) {
		if (rig_nic_flows(soft.nic, flows, FLOWS) != 2 ||
		    rig_qp_flow(soft.a.qp, &flow) != 0 || flow.sent_packets < before)
			return "wrong";
		before = flow.sent_packets;
		/* One moment: each packet of the one has been sent by the other before. */
		if (flows[1].received_bytes > flows[0].sent_bytes)
			return "torn";
	}
	return NULL;
}

/* While the data path runs, without a lock. */
static void test_from_another_thread(void **state)
{
	pthread_t thread;
	void *wrong;

	(void)state;
	soft_pair();
	assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
	write_some(2000, 64);
	pthread_join(thread, &wrong);
	if (wrong)
		fail_msg("%s", (const char *)wrong);
	assert_int_equal(counter("rx_write_requests"), 2000);
}

/* ---- over a network -------------------------------------------------------------------------- */

#define MUST(call) assert_int_equal(call, 0)

enum { QKEY = 7, ROUNDS = 500 };

/* Another NIC, to which soft.nic's packets go over UDP, marked and lost by chance. */
static struct rig_nic *far_nic(void **state)
{
	struct rig_nic *far;
	char text[96];

	MUST(rig_close(soft.nic));
	setenv("RIG5_FAULT", "mark=20%,drop=2%,seed=7", 1);
	soft_setup(state);
	unsetenv("RIG5_FAULT");
	snprintf(text, sizeof(text), "far,addr=%s", proc_new_port());
	setenv("RIG5_SOFT", text, 1);
	MUST(rig_open("far", &far));
	return far;
}

static uint64_t counter_of(struct rig_nic *nic, const char *name)
{
	struct rig_nic *near = soft.nic;
	uint64_t value;

	soft.nic = nic;
	value = counter(name);
	soft.nic = near;
	return value;
}

/* A connected pair, soft.a's here and soft.b's at the far NIC; here one algorithm is asked for. */
static void far_pair(struct rig_nic *far, enum rig_cc algorithm)
{
	struct rig_nic *near = soft.nic;
	struct rig_endpoint here, there;

	soft_sides(16, 16);
	MUST(rig_qp_destroy(soft.b.qp));
	MUST(rig_region_destroy(soft.b.region));
	MUST(rig_cq_destroy(soft.b.cq));
	MUST(rig_cq_create(far, SOFT_CQE, &soft.b.cq));
	MUST(rig_region_create(far, soft.b.mem, SOFT_BYTES, RIG_REMOTE_ALL, &soft.b.region));
	MUST(rig_region_remote(soft.b.region, 0, SOFT_BYTES, &soft.b.remote));
	MUST(rig_qp_create(soft.b.cq, 16, 16, &soft.b.qp));
	MUST(rig_qp_endpoint(soft.a.qp, &here));
	MUST(rig_qp_endpoint(soft.b.qp, &there));
	here.ece = rig_ece_prefer(here.ece, algorithm);
	there.ece = rig_ece_prefer(there.ece, algorithm);
	MUST(rig_qp_connect(soft.a.qp, RIG_REMOTE_ALL, &there, NULL));
	MUST(rig_qp_connect(soft.b.qp, RIG_REMOTE_ALL, &here, NULL));
	soft.nic = near;
}

/* What is sent again, marked and told is counted where it happens, and the rate is there. */
static void test_a_queue_pair_that_is_told(void **state)
{
	struct rig_nic *far = far_nic(state);
	struct rig_flow here, there;
	bool held = false;

	far_pair(far, RIG_CC_DCQCN);
	for (int i = 0; i < ROUNDS; i++) {
		write_some(1, 16384);
		MUST(rig_qp_flow(soft.a.qp, &here));
		held |= here.rate_bps != 0;
		if (held && here.notices_handled > 1 && here.retransmits > 1)
			break;
	}
	MUST(rig_qp_flow(soft.b.qp, &there));
	assert_int_equal(here.cc, RIG_CC_DCQCN);
	assert_true(held);
	assert_true(here.retransmits > 1 && here.notices_handled > 1);
	assert_int_equal(here.marks + here.notices_sent, 0);
	assert_true(there.marks >= there.notices_sent);
	assert_true(there.notices_sent >= here.notices_handled);
	assert_int_equal(there.marks, counter_of(far, "np_ecn_marked_roce_packets"));
	assert_int_equal(there.notices_sent, counter_of(far, "np_cnp_sent"));
	assert_int_equal(here.notices_handled, counter("rp_cnp_handled"));
	MUST(rig_close(far));
}

static void test_a_queue_pair_that_measures(void **state)
{
	struct rig_nic *far = far_nic(state);
	struct rig_flow here = {0};

	far_pair(far, RIG_CC_RTT);
	/* Within a process, and one pass of both NICs, it can be nothing. */
	for (int i = 0; i < ROUNDS && here.rtt_ns < 1000; i++) {
		write_some(1, 16384);
		MUST(rig_qp_flow(soft.a.qp, &here));
	}
	assert_int_equal(here.cc, RIG_CC_RTT);
	assert_true(here.rtt_ns >= 1000 && here.rtt_ns < 10000000000);
	assert_true(here.rate_bps != 0);
	assert_int_equal(here.notices_handled, 0);
	MUST(rig_close(far));
}

static struct rig_qp *datagram_qp(struct rig_cq *cq)
{
	const struct rig_qp_options options = {.transport = RIG_UD};
	struct rig_start with = {.qkey = QKEY};
	struct rig_qp *qp;

	MUST(rig_qp_create_with(cq, 16, 4, &options, &qp));
	MUST(rig_qp_start(qp, &with));
	return qp;
}

/* The destination that the NIC has. */
static bool destination_of(struct rig_nic *nic, struct rig_flow *flow)
{
	struct rig_flow flows[FLOWS];
	int count = rig_nic_flows(nic, flows, FLOWS);

	for (int i = 0; i < count; i++) {
		*flow = flows[i];
		if (flow->qp == 0)
			return true;
	}
	return false;
}

static void test_a_destination_that_is_told(void **state)
{
	struct rig_nic *far = far_nic(state);
	struct rig_flow here = {0}, there = {0};
	struct rig_nic_info info;
	struct rig_entry entry;
	struct rig_qp *qp;
	struct rig_cq *cq;
	uint64_t marks;
	bool held = false;

	soft_sides(16, 16);
	MUST(rig_nic_info(far, &info));
	MUST(rig_cq_create(far, SOFT_CQE, &cq));
	MUST(rig_qp_destroy(soft.a.qp));
	soft.a.qp = datagram_qp(soft.a.cq);
	qp = datagram_qp(cq);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 1000, 0);
	entry.remote_qp = rig_qp_number(qp);
	entry.remote_qkey = QKEY;
	MUST(rig_ah_create(soft.nic, &info.address, NULL, &entry.ah));
	for (int i = 0; i < ROUNDS; i++) {
		soft_post(&soft.a, &entry);
		soft_done(&soft.a);
		assert_true(destination_of(soft.nic, &here));
		held |= here.rate_bps != 0;
		if (held && here.notices_handled > 1)
			break;
	}
	assert_int_equal(here.cc, RIG_CC_DCQCN);
	assert_false(here.mapped);
	assert_memory_equal(here.address.gid, info.address.gid, 16);
	assert_true(held && here.notices_handled > 1);
	/* More may come while we ask. */
	marks = counter_of(far, "np_ecn_marked_roce_packets");
	assert_true(destination_of(far, &there));
	assert_memory_equal(there.address.gid, soft.info.address.gid, 16);
	assert_true(there.notices_sent >= here.notices_handled);
	assert_true(there.marks >= there.notices_sent);
	assert_in_range(there.marks, marks, counter_of(far, "np_ecn_marked_roce_packets"));
	MUST(rig_close(far));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(test_counters),
	    SOFT_TEST(test_flows),
	    SOFT_TEST(test_many_flows),
	    SOFT_TEST(test_from_another_thread),
	    SOFT_TEST(test_a_queue_pair_that_is_told),
	    SOFT_TEST(test_a_queue_pair_that_measures),
	    SOFT_TEST(test_a_destination_that_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
