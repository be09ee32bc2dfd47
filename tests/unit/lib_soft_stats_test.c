/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the counters and flows of the public API say what was done, from any thread, and stay
 * within the room they are given. How: two queue pairs of this process on the software NIC.
 */
#include "tests/support/soft_pair.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(test_counters),
	    SOFT_TEST(test_flows),
	    SOFT_TEST(test_many_flows),
	    SOFT_TEST(test_from_another_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
