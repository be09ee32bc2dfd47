/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what rig_qp_connect tells the kernel, clause by clause, what it refuses, and that a refusal
 * by the kernel leaves a queue pair that can be connected again. How: a scripted kernel that keeps
 * each command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

static struct script_rig unconnected(void)
{
	struct script_rig rig;

	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 64);
	rig.qp = script_qp_create(rig.cq, 8, 8);
	return rig;
}

static struct rig_endpoint peer_of(struct rig_qp *qp)
{
	struct rig_endpoint peer;

	assert_int_equal(rig_qp_endpoint(qp, &peer), 0);
	peer.qp = 0xabcdef;
	peer.psn = 0x123456;
	peer.mtu_bytes = 1024;
	return peer;
}

/* modify_at - the back-th newest MODIFY_QP, 0 the newest. */
static const struct ib_uverbs_modify_qp *modify_at(unsigned int back)
{
	for (unsigned int i = script.log_count; i-- > 0;)
		if (script.log[i].write_cmd == IB_USER_VERBS_CMD_MODIFY_QP && back-- == 0)
			return &script.log[i].modify;
	fail_msg("no such command");
	return NULL;
}

static void three_edges_carry_what_each_requires(void **state)
{
	struct rig_endpoint peer, own;
	struct script_rig rig;

	(void)state;
	script_reset();
	rig = unconnected();
	peer = peer_of(rig.qp);
	assert_int_equal(rig_qp_endpoint(rig.qp, &own), 0);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_REMOTE_ALL, &peer, NULL), 0);
	assert_int_equal(modify_at(2)->attr_mask, 0x39);
	assert_int_equal(modify_at(2)->qp_state, UV_QPS_INIT);
	assert_int_equal(modify_at(2)->port_num, 1);
	assert_int_equal(modify_at(1)->attr_mask, 0x129181);
	assert_int_equal(modify_at(1)->qp_state, UV_QPS_RTR);
	assert_int_equal(modify_at(1)->dest_qp_num, 0xabcdef);
	assert_int_equal(modify_at(1)->rq_psn, 0x123456);
	assert_int_equal(modify_at(1)->max_dest_rd_atomic, 16);
	assert_memory_equal(modify_at(1)->dest.dgid, peer.address.gid, 16);
	assert_int_equal(modify_at(1)->dest.is_global, 1);
	assert_int_equal(modify_at(1)->dest.sgid_index, 3);
	assert_int_equal(modify_at(1)->dest.port_num, 1);
	assert_int_equal(modify_at(0)->attr_mask, 0x12e01);
	assert_int_equal(modify_at(0)->qp_state, UV_QPS_RTS);
	assert_int_equal(modify_at(0)->sq_psn, own.psn);
	assert_int_equal(modify_at(0)->max_rd_atomic, 16);
	script_rig_close(&rig);
}

static void the_smaller_of_both_mtus(void **state)
{
	static const struct {
		uint8_t own;
		uint32_t peer_bytes;
		uint8_t path;
	} rows[] = {
		{UV_MTU_4096, 1024, UV_MTU_1024},
		{UV_MTU_1024, 4096, UV_MTU_1024},
		{UV_MTU_256, 256, UV_MTU_256},
		{UV_MTU_4096, 4096, UV_MTU_4096},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_endpoint peer;
		struct script_rig rig;

		script_reset();
		script.port.legacy_resp.active_mtu = rows[i].own;
		rig = unconnected();
		peer = peer_of(rig.qp);
		peer.mtu_bytes = rows[i].peer_bytes;
		assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
		assert_int_equal(modify_at(1)->path_mtu, rows[i].path);
		script_rig_close(&rig);
	}
}

static void access_is_what_the_peer_may_do(void **state)
{
	static const struct {
		enum rig_access access;
		uint32_t flags;
	} rows[] = {
		{RIG_LOCAL, 0},
		{RIG_REMOTE_WRITE, IB_UVERBS_ACCESS_REMOTE_WRITE},
		{RIG_REMOTE_ALL, IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
					 IB_UVERBS_ACCESS_REMOTE_ATOMIC},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_endpoint peer;
		struct script_rig rig;

		script_reset();
		rig = unconnected();
		peer = peer_of(rig.qp);
		assert_int_equal(rig_qp_connect(rig.qp, rows[i].access, &peer, NULL), 0);
		assert_int_equal(modify_at(2)->qp_access_flags, rows[i].flags);
		script_rig_close(&rig);
	}
}

static void retries_7_times_of_67_ms_on_ethernet(void **state)
{
	struct rig_endpoint peer;
	struct script_rig rig;

	(void)state;
	script_reset();
	rig = unconnected();
	peer = peer_of(rig.qp);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_int_equal(modify_at(0)->timeout, 14);
	assert_int_equal(modify_at(0)->retry_cnt, 7);
	script_rig_close(&rig);
}

static void infiniband_retries_each_1_07_s_and_goes_by_lid(void **state)
{
	struct rig_endpoint peer;
	struct script_rig rig;

	(void)state;
	script_reset();
	script.port.legacy_resp.link_layer = UV_LINK_LAYER_INFINIBAND;
	script.port.legacy_resp.lid = 0x17;
	rig = unconnected();
	peer = peer_of(rig.qp);
	peer.address.lid = 0x2b;
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_int_equal(modify_at(0)->timeout, 18);
	assert_int_equal(modify_at(1)->dest.dlid, 0x2b);
	assert_int_equal(modify_at(1)->dest.is_global, 0);
	script_rig_close(&rig);
}

static void rnr_without_end_and_0_64_ms_asked_of_the_peer(void **state)
{
	struct rig_endpoint peer;
	struct script_rig rig;

	(void)state;
	script_reset();
	rig = unconnected();
	peer = peer_of(rig.qp);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_int_equal(modify_at(0)->rnr_retry, 7);
	assert_int_equal(modify_at(1)->min_rnr_timer, 12);
	script_rig_close(&rig);
}

static void reads_under_way_are_held_to_the_nics_limits(void **state)
{
	struct rig_endpoint peer;
	struct script_rig rig;

	(void)state;
	script_reset();
	script.device.base.max_qp_rd_atom = 128;
	script.device.base.max_qp_init_rd_atom = 4;
	rig = unconnected();
	peer = peer_of(rig.qp);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_int_equal(modify_at(1)->max_dest_rd_atomic, 16);
	assert_int_equal(modify_at(0)->max_rd_atomic, 4);
	script_rig_close(&rig);
}

static void path_defaults_and_what_it_sets(void **state)
{
	const struct rig_path path = {
	    .gid_index_set = true,
	    .gid_index = 1,
	    .dscp = 46,
	    .hop_limit = 3,
	    .flow_label = 0xabcde,
	};
	struct rig_endpoint peer;
	struct script_rig rig;

	(void)state;
	script_reset();
	rig = unconnected();
	peer = peer_of(rig.qp);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_int_equal(modify_at(1)->dest.hop_limit, 64);
	assert_int_equal(modify_at(1)->dest.traffic_class, 0);
	assert_int_equal(modify_at(1)->dest.flow_label, 0);
	script_rig_close(&rig);
	script_reset();
	rig = unconnected();
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, &path), 0);
	assert_int_equal(modify_at(1)->dest.sgid_index, 1);
	/* Case 18: the ECN bits belong to the NIC. */
	assert_int_equal(modify_at(1)->dest.traffic_class, 46 << 2);
	assert_int_equal(modify_at(1)->dest.hop_limit, 3);
	assert_int_equal(modify_at(1)->dest.flow_label, 0xabcde);
	script_rig_close(&rig);
}

static void impossible_paths_are_invalid(void **state)
{
	static const struct {
		const char *name;
		struct rig_path path;
	} rows[] = {
		{"dscp", {.dscp = 64}},
		{"flow label", {.flow_label = 1 << 20}},
		{"gid index", {.gid_index_set = true, .gid_index = 8}},
	};
	struct rig_endpoint peer;
	struct script_rig rig;

	(void)state;
	script_reset();
	rig = unconnected();
	peer = peer_of(rig.qp);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rig_qp_connect(rig.qp, RIG_LOCAL, &peer, &rows[i].path) != -EINVAL)
			fail_msg("%s", rows[i].name);
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_QP));
	script_rig_close(&rig);
}

static void impossible_endpoints_are_invalid(void **state)
{
	struct rig_endpoint good, bad[11];
	struct script_rig rig;

	(void)state;
	script_reset();
	rig = unconnected();
	good = peer_of(rig.qp);
	for (int i = 0; i < 11; i++)
		bad[i] = good;
	bad[0].qp = 0;
	bad[1].qp = 1;
	bad[2].qp = 0xffffff;
	bad[3].qp = 0x1000000;
	bad[4].psn = 0x1000000;
	bad[5].mtu_bytes = 0;
	bad[6].mtu_bytes = 1500;
	memset(bad[7].address.gid, 0, 16);
	bad[8].address.gid[0] = 0xff;
	bad[9].address.lid = 7; /* not on Ethernet */
	bad[10].address.link = RIG_LINK_INFINIBAND; /* the other link layer */
	for (int i = 0; i < 11; i++)
		if (rig_qp_connect(rig.qp, RIG_LOCAL, &bad[i], NULL) != -EINVAL)
			fail_msg("endpoint %d", i);
	assert_message("link layer");
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, NULL, NULL), -EINVAL);
	assert_int_equal(rig_qp_connect(rig.qp, (enum rig_access)9, &good, NULL), -EINVAL);
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_QP));
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &good, NULL), 0);
	script_rig_close(&rig);
}

static void a_port_without_an_address_says_so(void **state)
{
	const struct rig_path path = {.gid_index_set = true, .gid_index = 1};
	struct rig_endpoint peer;
	struct script_rig rig;

	(void)state;
	script_reset();
	rig = unconnected();
	peer = peer_of(rig.qp);
	script.gid_count = 1; /* a RoCE v1 entry */
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), -EADDRNOTAVAIL);
	assert_message("address");
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, &path), 0);
	script_rig_close(&rig);
}

static void connected_already_is_invalid(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_endpoint peer = peer_of(rig.qp);
	unsigned int log_count = script.log_count;

	(void)state;
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), -EINVAL);
	assert_message("already");
	for (unsigned int i = log_count; i < script.log_count; i++)
		assert_int_not_equal(script.log[i].write_cmd, IB_USER_VERBS_CMD_MODIFY_QP);
	script_rig_close(&rig);
}

static void after_a_refusal_it_is_reset_and_may_be_connected_again(void **state)
{
	static const enum uv_qp_state steps[] = {UV_QPS_INIT, UV_QPS_RTR, UV_QPS_RTS};
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_INLINE_F};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rig_endpoint peer;
		struct script_rig rig;

		script_reset();
		rig = unconnected();
		peer = peer_of(rig.qp);
		script_refuse(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_QP, ENETUNREACH);
		script.rules[0].qp_state = (int)steps[i];
		assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), -ENETUNREACH);
		assert_message(strerror(ENETUNREACH));
		assert_int_equal(modify_at(0)->qp_state, UV_QPS_RESET);
		assert_int_equal(modify_at(0)->attr_mask, UV_QP_STATE);
		assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
		assert_int_equal(rig_qp_ring(rig.qp), -EINVAL);
		script.rules[0].err = 0;
		assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
		assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
		script_rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_edges_carry_what_each_requires),
		cmocka_unit_test(the_smaller_of_both_mtus),
		cmocka_unit_test(access_is_what_the_peer_may_do),
		cmocka_unit_test(retries_7_times_of_67_ms_on_ethernet),
		cmocka_unit_test(infiniband_retries_each_1_07_s_and_goes_by_lid),
		cmocka_unit_test(rnr_without_end_and_0_64_ms_asked_of_the_peer),
		cmocka_unit_test(reads_under_way_are_held_to_the_nics_limits),
		cmocka_unit_test(path_defaults_and_what_it_sets),
		cmocka_unit_test(impossible_paths_are_invalid),
		cmocka_unit_test(impossible_endpoints_are_invalid),
		cmocka_unit_test(a_port_without_an_address_says_so),
		cmocka_unit_test(connected_already_is_invalid),
		cmocka_unit_test(after_a_refusal_it_is_reset_and_may_be_connected_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
