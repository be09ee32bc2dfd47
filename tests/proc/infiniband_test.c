/* SPDX-License-Identifier: BSD-2-Clause */
/* infiniband_test.c - the software NIC with an InfiniBand port: processes that share a LID. */
#include "tests/support/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 2000 };

static uint16_t test_lid;

static int infiniband_setup(void **state)
{
	(void)state;
	if (strcmp(proc_nic(), "soft0") == 0)
		test_lid = proc_new_infiniband();
	return 0;
}

/* A card's port is of the link layer that it is of. */
static void skip_on_hardware(void)
{
	if (strcmp(proc_nic(), "soft0") != 0)
		skip();
}

/*
 * Two processes on one LID write, read, send and do atomics, and every byte is right.
 * By 2,000 random requests each way (peer.h) and comparing what the two ends saw.
 */
static void test_two_processes(void **state)
{
	struct proc *a, *b;
	struct peer_pair link, self;

	(void)state;
	skip_on_hardware();
	a = peer_start(1);
	b = peer_start(2);
	link = peer_pair(a, b);
	self = peer_pair(a, a);
	peer_run_on(a, REQUESTS);
	peer_run_on(b, REQUESTS);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
	peer_agree(a, self.a, a, self.b);
	assert_true(peer_report_of(a, link.a).done >= REQUESTS);
	proc_ok(a, peer_close, NULL);
	proc_ok(b, peer_close, NULL);
}

/* Three processes, every two of them linked. By random requests on all six ends at once. */
static void test_three_processes(void **state)
{
	struct proc *p[3];
	struct peer_pair ab, ac, bc;

	(void)state;
	skip_on_hardware();
	for (unsigned int i = 0; i < 3; i++)
		p[i] = peer_start(3 + i);
	ab = peer_pair(p[0], p[1]);
	ac = peer_pair(p[0], p[2]);
	bc = peer_pair(p[1], p[2]);
	for (int i = 0; i < 3; i++)
		peer_run_on(p[i], REQUESTS / 2);
	for (int i = 0; i < 3; i++)
		proc_ok(p[i], peer_drain, NULL);
	peer_agree(p[0], ab.a, p[1], ab.b);
	peer_agree(p[0], ac.a, p[2], ac.b);
	peer_agree(p[1], bc.a, p[2], bc.b);
}

/*
 * On a wire that doubles and delays packets every byte is right. Not one that drops: a repair that
 * waits for the timer takes more than a second on InfiniBand.
 */
static void test_a_bad_wire(void **state)
{
	struct proc *a, *b;
	struct peer_pair link;

	(void)state;
	skip_on_hardware();
	setenv("RIG5_FAULT", "duplicate=5%,seed=11", 1);
	a = peer_start(8);
	b = peer_start(9);
	unsetenv("RIG5_FAULT");
	link = peer_pair(a, b);
	peer_run_on(a, REQUESTS / 4);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
}

/* ---- one process, what it sees --------------------------------------------------------------- */

static struct rig_nic *nic;
static struct rig_qp *qp;
static struct rig_endpoint mine;

/* v[0]: the LID that the NIC must have. */
static int open_nic(struct proc_msg *msg)
{
	struct rig_nic_info info;
	struct rig_cq *cq;
	static const uint8_t none[16];

	PEER_TRY(rig_open(proc_nic(), &nic));
	PEER_TRY(rig_nic_info(nic, &info));
	PEER_CHECK(info.link == RIG_LINK_INFINIBAND && info.address.link == RIG_LINK_INFINIBAND);
	PEER_CHECK(info.address.lid == msg->v[0] && info.gid_index == 0);
	PEER_CHECK(memcmp(info.address.gid, none, sizeof(none)) == 0);
	PEER_CHECK(info.port_active && info.mtu_bytes == 4096 && info.software);
	PEER_TRY(rig_cq_create(nic, 64, &cq));
	PEER_TRY(rig_qp_create(cq, 16, 16, &qp));
	PEER_TRY(rig_qp_endpoint(qp, &mine));
	PEER_CHECK(mine.address.link == RIG_LINK_INFINIBAND && mine.address.lid == msg->v[0]);
	return 0;
}

/* An endpoint's text names the LID, and comes back as it was. */
static int endpoint_text(struct proc_msg *msg)
{
	char text[RIG_ENDPOINT_TEXT], lid[32];
	struct rig_endpoint back;

	snprintf(lid, sizeof(lid), ",lid=0x%x,", (unsigned int)msg->v[0]);
	PEER_TRY(rig_endpoint_print(&mine, text, sizeof(text)));
	PEER_CHECK(strstr(text, lid) && !strstr(text, "gid"));
	PEER_TRY(rig_endpoint_parse(text, &back));
	PEER_CHECK(memcmp(&back, &mine, sizeof(back)) == 0);
	return 0;
}

/* Endpoints that no InfiniBand port can connect to; then its own, which shows that it could. */
static int refusals(struct proc_msg *msg)
{
	struct rig_endpoint other = mine;

	(void)msg;
	other.address = (struct rig_address){.link = RIG_LINK_ETHERNET,
					    .gid = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
	PEER_CHECK(rig_qp_connect(qp, RIG_REMOTE_ALL, &other, NULL) == -EINVAL);
	PEER_CHECK(strstr(rig_error(), "other link layer"));
	other.address = (struct rig_address){.link = RIG_LINK_INFINIBAND, .lid = 0};
	PEER_CHECK(rig_qp_connect(qp, RIG_REMOTE_ALL, &other, NULL) == -EINVAL);
	other.address.lid = 0xc000;
	PEER_CHECK(rig_qp_connect(qp, RIG_REMOTE_ALL, &other, NULL) == -EINVAL);
	PEER_CHECK(strstr(rig_error(), "LID"));
	PEER_TRY(rig_qp_connect(qp, RIG_REMOTE_ALL, &mine, NULL));
	PEER_CHECK(rig_close(nic) == 0);
	return 0;
}

static void test_what_a_process_sees(void **state)
{
	struct proc_msg msg = {.v = {test_lid}};
	struct proc *a;

	(void)state;
	skip_on_hardware();
	a = proc_start();
	proc_ok(a, open_nic, &msg);
	msg.v[0] = test_lid;
	proc_ok(a, endpoint_text, &msg);
	proc_ok(a, refusals, NULL);
}

/* The other way round: an Ethernet queue pair and an endpoint with a LID. */
static int ethernet_refuses(struct proc_msg *msg)
{
	struct rig_endpoint other;
	struct rig_cq *cq;

	(void)msg;
	PEER_TRY(rig_open(proc_nic(), &nic));
	PEER_TRY(rig_cq_create(nic, 64, &cq));
	PEER_TRY(rig_qp_create(cq, 16, 16, &qp));
	PEER_TRY(rig_qp_endpoint(qp, &mine));
	other = mine;
	other.address = (struct rig_address){.link = RIG_LINK_INFINIBAND, .lid = 1};
	PEER_CHECK(rig_qp_connect(qp, RIG_REMOTE_ALL, &other, NULL) == -EINVAL);
	PEER_CHECK(strstr(rig_error(), "other link layer"));
	return 0;
}

static void test_ethernet_refuses_a_lid(void **state)
{
	(void)state;
	skip_on_hardware();
	proc_new_port();
	proc_ok(proc_start(), ethernet_refuses, NULL);
}

/* Two NICs of one process under two LIDs, and a capture, which would not be of RoCE v2. */
static int two_nics(struct proc_msg *msg)
{
	struct rig_nic *first, *second, *third;
	struct rig_nic_info a, b;

	(void)msg;
	PEER_TRY(rig_open("first", &first));
	PEER_TRY(rig_open("second", &second));
	PEER_TRY(rig_nic_info(first, &a));
	PEER_TRY(rig_nic_info(second, &b));
	PEER_CHECK(a.address.lid == msg->v[0] && b.address.lid == msg->v[1]);
	PEER_TRY(rig_close(first));
	PEER_TRY(rig_close(second));
	setenv("RIG5_PCAP", "/nonexistent/capture", 1); /* is not made, whatever happens */
	PEER_CHECK(rig_open("first", &third) == -EOPNOTSUPP);
	PEER_CHECK(strstr(rig_error(), "RIG5_PCAP"));
	return 0;
}

static void test_two_nics(void **state)
{
	struct proc_msg msg = {.v = {test_lid, proc_new_infiniband()}};
	char config[96];

	(void)state;
	skip_on_hardware();
	snprintf(config, sizeof(config), "first,ll=ib,lid=%u;second,ll=ib,lid=%u", test_lid,
		 (unsigned int)msg.v[1]);
	setenv("RIG5_SOFT", config, 1);
	proc_ok(proc_start(), two_nics, &msg);
}

#define INFINIBAND_TEST(test) \
	cmocka_unit_test_setup_teardown(test, infiniband_setup, proc_end_all)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    INFINIBAND_TEST(test_two_processes),
	    INFINIBAND_TEST(test_three_processes),
	    INFINIBAND_TEST(test_a_bad_wire),
	    INFINIBAND_TEST(test_what_a_process_sees),
	    INFINIBAND_TEST(test_ethernet_refuses_a_lid),
	    INFINIBAND_TEST(test_two_nics),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
