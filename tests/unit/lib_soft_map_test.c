/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the clauses of mlx5dv_map_ah_to_qp(3) on the library's own handles; what the NIC makes of
 * a mapping is unit.kern_map's.
 * How: the software NIC, with and without the capability, on Ethernet and on InfiniBand.
 */
#include "tests/support/soft_pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rig_ah *handle(struct rig_nic *nic, const struct rig_address *address)
{
	struct rig_ah *ah = NULL;

	if (rig_ah_create(nic, address, NULL, &ah))
		fail_msg("%s", rig_error());
	return ah;
}

static struct rig_ah *own_handle(void)
{
	struct rig_endpoint self;

	assert_int_equal(rig_qp_endpoint(soft.a.qp, &self), 0);
	return handle(soft.nic, &self.address);
}

/* What the NIC says of the one destination of all handles here; false: it has none. */
static bool destination(struct rig_flow *flow)
{
	struct rig_flow flows[16];
	int count = rig_nic_flows(soft.nic, flows, 16);

	for (int i = 0; i < count && i < 16; i++) {
		*flow = flows[i];
		if (flow->qp == 0)
			return true;
	}
	return false;
}

static void expect_mapped_to(enum rig_cc wanted)
{
	struct rig_flow flow;

	assert_true(destination(&flow));
	assert_true(flow.mapped);
	assert_int_equal(flow.cc, wanted);
}

/* It has the port's default. */
static void expect_not_mapped(void)
{
	struct rig_flow flow;

	if (!destination(&flow))
		return;
	assert_false(flow.mapped);
	assert_int_equal(flow.cc, RIG_CC_DCQCN);
}

/* Connects it to itself, and both agree on that algorithm. */
static void agree(const struct soft_side *side, enum rig_cc algorithm)
{
	struct rig_endpoint self;

	assert_int_equal(rig_qp_endpoint(side->qp, &self), 0);
	self.ece = rig_ece_prefer(self.ece, algorithm);
	assert_int_not_equal(self.ece, 0);
	assert_int_equal(rig_qp_set_ece(side->qp, self.ece), 0);
	assert_int_equal(rig_qp_connect(side->qp, RIG_LOCAL, &self, NULL), 0);
	assert_int_equal(rig_ece_cc(rig_qp_ece(side->qp)), algorithm);
}

/* a has agreed on RTT, b on DCQCN. */
static void two_that_agreed(void)
{
	soft_sides(16, 16);
	agree(&soft.a, RIG_CC_RTT);
	agree(&soft.b, RIG_CC_DCQCN);
}

static void mapped_and_again(void **state)
{
	struct rig_ah *ah;

	(void)state;
	two_that_agreed();
	ah = own_handle();
	assert_int_equal(rig_ah_map_to_qp(ah, rig_qp_number(soft.a.qp)), 0);
	/* A duplicate is ignored, whatever the queue pair, even one that does not exist. */
	assert_int_equal(rig_ah_map_to_qp(ah, rig_qp_number(soft.b.qp)), 0);
	expect_mapped_to(RIG_CC_RTT);
	assert_int_equal(rig_ah_map_to_qp(ah, 0xfffffe), 0);
	expect_mapped_to(RIG_CC_RTT);
	assert_int_equal(rig_ah_destroy(ah), 0);
	assert_int_equal(rig_ah_map_to_qp(ah, rig_qp_number(soft.a.qp)), -EINVAL);
	expect_not_mapped();
}

/* The destination has the algorithm that the queue pair's ECE chose, until the handle goes. */
static void the_destination_shows_it(void **state)
{
	(void)state;
	two_that_agreed();
	expect_not_mapped();
	for (int i = 0; i < 2; i++) {
		struct rig_ah *ah = own_handle();

		assert_int_equal(rig_ah_map_to_qp(ah, rig_qp_number(i ? soft.b.qp : soft.a.qp)), 0);
		expect_mapped_to(i ? RIG_CC_DCQCN : RIG_CC_RTT);
		assert_int_equal(rig_ah_destroy(ah), 0);
		expect_not_mapped();
	}
}

/* The mapping dies with its handle: a new one to the same place begins clean. */
static void clean_after_destroy(void **state)
{
	struct rig_ah *ah;

	(void)state;
	two_that_agreed();
	ah = own_handle();
	assert_int_equal(rig_ah_map_to_qp(ah, rig_qp_number(soft.a.qp)), 0);
	assert_int_equal(rig_ah_destroy(ah), 0);
	ah = own_handle();
	expect_not_mapped();
	assert_int_equal(rig_ah_map_to_qp(ah, 0xfffffe), -EINVAL);
	expect_not_mapped();
	assert_int_equal(rig_ah_map_to_qp(ah, rig_qp_number(soft.b.qp)), 0);
	expect_mapped_to(RIG_CC_DCQCN);
}

/* And with nothing else. */
static void queue_pair_destroyed(void **state)
{
	struct rig_ah *ah;
	uint32_t number;

	(void)state;
	two_that_agreed();
	ah = own_handle();
	number = rig_qp_number(soft.b.qp);
	assert_int_equal(rig_ah_map_to_qp(ah, number), 0);
	assert_int_equal(rig_qp_destroy(soft.b.qp), 0);
	soft.b.qp = NULL;
	expect_mapped_to(RIG_CC_DCQCN);
	assert_int_equal(rig_ah_map_to_qp(ah, number), 0);
	expect_mapped_to(RIG_CC_DCQCN);
	assert_int_equal(rig_ah_map_to_qp(own_handle(), number), -EINVAL);
}

static void of_another_context(void **state)
{
	struct rig_nic *other;
	struct rig_endpoint self;
	struct rig_ah *ah;

	(void)state;
	two_that_agreed();
	assert_int_equal(rig_qp_endpoint(soft.a.qp, &self), 0);
	assert_int_equal(rig_open(soft.info.name, &other), 0);
	ah = handle(other, &self.address);
	assert_int_equal(rig_ah_map_to_qp(ah, self.qp), 0);
	expect_mapped_to(RIG_CC_RTT);
	assert_int_equal(rig_close(other), 0);
	expect_not_mapped();
}

static void unknown_queue_pair(void **state)
{
	(void)state;
	soft_pair();
	assert_int_equal(rig_ah_map_to_qp(own_handle(), 0), -EINVAL);
	assert_non_null(strstr(rig_error(), "rig_ah_map_to_qp: queue pair 0x0"));
	assert_non_null(strstr(rig_error(), "status 0x5"));
	assert_int_equal(rig_ah_map_to_qp(own_handle(), UINT32_MAX), -EINVAL);
	assert_int_equal(rig_ah_map_to_qp(NULL, 1), -EINVAL);
}

/* nic - the other NIC that `settings` describe. */
static struct rig_nic *open_with(const char *settings)
{
	struct rig_nic *nic = NULL;

	assert_int_equal(setenv("RIG5_SOFT", settings, 1), 0);
	if (rig_open("other", &nic))
		fail_msg("%s", rig_error());
	return nic;
}

static void without_the_capability(void **state)
{
	const struct rig_address there = {.link = RIG_LINK_ETHERNET,
					  .gid = {[10] = 0xff, 0xff, 127, 78, 200, 1}};
	struct rig_nic *nic = open_with("other,addr=127.78.200.1,ahmap=off");

	(void)state;
	assert_int_equal(rig_ah_map_to_qp(handle(nic, &there), 0), -EOPNOTSUPP);
	assert_int_equal(rig_close(nic), 0);
}

static void without_a_global_route(void **state)
{
	const struct rig_address lid = {.link = RIG_LINK_INFINIBAND, .lid = 0x3a17};
	struct rig_nic *nic = open_with("other,ll=ib,lid=0x3a17");

	(void)state;
	assert_int_equal(rig_ah_map_to_qp(handle(nic, &lid), 0), -EOPNOTSUPP);
	assert_non_null(strstr(rig_error(), "no global route"));
	assert_int_equal(rig_close(nic), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(mapped_and_again),
	    SOFT_TEST(the_destination_shows_it),
	    SOFT_TEST(clean_after_destroy),
	    SOFT_TEST(queue_pair_destroyed),
	    SOFT_TEST(of_another_context),
	    SOFT_TEST(unknown_queue_pair),
	    cmocka_unit_test(without_the_capability),
	    cmocka_unit_test(without_a_global_route),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
