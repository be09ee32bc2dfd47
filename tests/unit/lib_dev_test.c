/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows which NICs rig_names lists, what rig_open does with each refusal of the system, what
 * rig_nic_info tells, and that rig_close leaves nothing behind and no handle that could do harm.
 * How: a scripted kernel behind both doors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

static void names_lists_hardware_first_then_software(void **state)
{
	char names[4][RIG_NAME_MAX];

	(void)state;
	script_reset();
	script.software = true;
	assert_int_equal(rig_names(names, 4), 2);
	assert_string_equal(names[0], "mlx5_0");
	assert_string_equal(names[1], "soft0");
}

static void names_counts_beyond_max(void **state)
{
	char names[2][RIG_NAME_MAX] = {"", "untouched"};

	(void)state;
	script_reset();
	script.software = true;
	assert_int_equal(rig_names(names, 1), 2);
	assert_string_equal(names[0], "mlx5_0");
	assert_string_equal(names[1], "untouched");
	assert_int_equal(rig_names(NULL, 0), 2);
	assert_int_equal(rig_names(NULL, 1), -EINVAL);
}

static void names_leaves_other_adapters_out(void **state)
{
	(void)state;
	script_reset();
	script.modalias = "pci:v00008086d0000159Bsv00008086sd00000001bc02sc00i00";
	assert_int_equal(rig_names(NULL, 0), 0);
	script_reset();
	script.driver_abi = "2";
	assert_int_equal(rig_names(NULL, 0), 0);
}

static void open_by_name_and_first(void **state)
{
	struct rig_nic *nic;
	struct rig_nic_info info;

	(void)state;
	script_reset();
	script.software = true;
	assert_int_equal(rig_open("soft0", &nic), 0);
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_string_equal(info.name, "soft0");
	assert_true(info.software);
	assert_string_equal(info.bus, "software");
	assert_int_equal(script.soft_refs, 1);
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.soft_refs, 0);
	assert_int_equal(rig_open(NULL, &nic), 0);
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_string_equal(info.name, "mlx5_0");
	assert_false(info.software);
	assert_string_equal(info.bus, "0000:17:00.0");
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

static void open_of_an_unknown_name_is_enodev(void **state)
{
	struct rig_nic *nic = (void *)1;

	(void)state;
	script_reset();
	assert_int_equal(rig_open("mlx5_7", &nic), -ENODEV);
	assert_message("mlx5_7");
	assert_ptr_equal(nic, (void *)1);
	script.hardware = false;
	assert_int_equal(rig_open(NULL, &nic), -ENODEV);
}

static void open_without_permission_names_the_file_and_its_group(void **state)
{
	struct rig_nic *nic;

	(void)state;
	script_reset();
	script.open_err = EACCES;
	assert_int_equal(rig_open("mlx5_0", &nic), -EACCES);
	assert_message("/dev/infiniband/uverbs0");
	assert_message("group");
	assert_int_equal(script.live, 0);
}

static void open_passes_on_what_the_software_nic_says(void **state)
{
	struct rig_nic *nic;

	(void)state;
	script_reset();
	script.soft_err = EADDRINUSE;
	script.soft_why = "127.0.0.1 belongs to user 1000";
	assert_int_equal(rig_open("soft0", &nic), -EADDRINUSE);
	assert_message("127.0.0.1 belongs to user 1000");
}

/*
 * Every command of opening, refused in turn: an error that tells the reason, and nothing left open.
 */
static void open_undoes_each_step_the_kernel_refuses(void **state)
{
	static const struct {
		const char *name;
		int object;
		int method;
		int64_t write_cmd;
	} steps[] = {
		{"context", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, SCRIPT_ANY},
		{"limits", SCRIPT_ANY, SCRIPT_ANY, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE)},
		{"port", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, SCRIPT_ANY},
		{"GIDs", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, SCRIPT_ANY},
		{"protection domain", SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_ALLOC_PD},
		{"register page", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, SCRIPT_ANY},
		{"event file", UVERBS_OBJECT_ASYNC_EVENT, SCRIPT_ANY, SCRIPT_ANY},
		{"channel", SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct rig_nic *nic = NULL;

		script_reset();
		script_refuse(steps[i].object, steps[i].method, steps[i].write_cmd, ENOSPC);
		if (rig_open("mlx5_0", &nic) != -ENOSPC || script.live != 0 || nic)
			fail_msg("%s: %s, %d alive", steps[i].name, rig_error(), script.live);
		assert_message(strerror(ENOSPC));
	}
}

static void open_without_a_register_mapping_fails(void **state)
{
	struct rig_nic *nic;

	(void)state;
	script_reset();
	script.mmap_err = ENOMEM;
	assert_int_equal(rig_open("mlx5_0", &nic), -ENOMEM);
	assert_message("register page");
	assert_int_equal(script.live, 0);
}

static void open_wants_completion_version_1_and_dynamic_uars(void **state)
{
	struct rig_nic *nic;

	(void)state;
	script_reset();
	script.context.cqe_version = 0;
	assert_int_equal(rig_open("mlx5_0", &nic), -EOPNOTSUPP);
	script_reset();
	script.context.tot_bfregs = 16;
	assert_int_equal(rig_open("mlx5_0", &nic), -EOPNOTSUPP);
	assert_int_equal(script.live, 0);
}

static void info_tells_limits(void **state)
{
	struct rig_nic *nic;
	struct rig_nic_info info;

	(void)state;
	script_reset();
	nic = script_nic();
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_int_equal(info.link, RIG_LINK_ETHERNET);
	assert_true(info.port_active);
	assert_int_equal(info.mtu_bytes, 4096);
	assert_int_equal(info.message_max_bytes, 1u << 30);
	assert_int_equal(info.entries_max, 32768);
	assert_int_equal(info.receives_max, 32768);
	assert_int_equal(info.cqe_max, 1 << 22);
	assert_int_equal(info.pieces_max, 30);
	assert_int_equal(info.inline_max_bytes, 63 * 16 - 36);
	assert_true(info.rate_bps == 100000000000ull);
	assert_string_equal(info.firmware, "16.35.2000");
	assert_int_equal(rig_nic_info(nic, NULL), -EINVAL);
	assert_int_equal(rig_close(nic), 0);
}

/* Case 20: the first RoCE v2 entry that maps an IPv4 address, else the first RoCE v2. */
static void gid_is_the_first_v2_that_maps_ipv4(void **state)
{
	struct rig_nic *nic;
	struct rig_nic_info info;

	(void)state;
	script_reset();
	nic = script_nic();
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_int_equal(info.gid_index, 3);
	assert_memory_equal(info.address.gid, script.gids[3].gid, 16);
	/* The table comes in any order, with holes; an entry of another port is none of ours. */
	script_gid_set(0, (const uint8_t *)script.gids[3].gid, 5, IB_UVERBS_GID_TYPE_ROCE_V2);
	script_gid_set(1, (const uint8_t *)script.gids[3].gid, 2, IB_UVERBS_GID_TYPE_ROCE_V2);
	script.gids[1].port_num = 2;
	script.gids[3].gid_index = 4;
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_int_equal(info.gid_index, 4);
	assert_int_equal(rig_close(nic), 0);
}

static void gid_without_ipv4_is_the_first_v2(void **state)
{
	struct rig_nic *nic;
	struct rig_nic_info info;

	(void)state;
	script_reset();
	script.gid_count = 2;
	nic = script_nic();
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_int_equal(info.gid_index, 1);
	assert_int_equal(rig_close(nic), 0);
}

static void infiniband_port_goes_by_its_lid(void **state)
{
	struct rig_nic *nic;
	struct rig_nic_info info;

	(void)state;
	script_reset();
	script.port.legacy_resp.link_layer = UV_LINK_LAYER_INFINIBAND;
	script.port.legacy_resp.lid = 0x17;
	nic = script_nic();
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_int_equal(info.link, RIG_LINK_INFINIBAND);
	assert_int_equal(info.address.link, RIG_LINK_INFINIBAND);
	assert_int_equal(info.address.lid, 0x17);
	assert_int_equal(rig_close(nic), 0);
}

static void a_port_that_is_down_opens_and_says_so(void **state)
{
	struct rig_nic *nic;
	struct rig_nic_info info;
	struct rig_endpoint peer;
	struct rig_qp *qp;

	(void)state;
	script_reset();
	script.port.legacy_resp.state = UV_PORT_DOWN;
	nic = script_nic();
	assert_int_equal(rig_nic_info(nic, &info), 0);
	assert_false(info.port_active);
	qp = script_qp_create(script_cq_create(nic, 64), 8, 8);
	assert_int_equal(rig_qp_endpoint(qp, &peer), 0);
	assert_int_equal(rig_qp_connect(qp, RIG_LOCAL, &peer, NULL), -ENETDOWN);
	assert_message("down");
	script.port.legacy_resp.state = UV_PORT_ACTIVE;
	assert_int_equal(rig_qp_connect(qp, RIG_LOCAL, &peer, NULL), 0);
	assert_int_equal(rig_close(nic), 0);
}

static void close_destroys_all_that_was_made(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_region *region;
	static char memory[64];

	(void)state;
	assert_int_equal(rig_region_create(rig.nic, memory, 64, RIG_LOCAL, &region), 0);
	script_qp_create(rig.cq, 8, 0);
	script_rig_close(&rig);
	assert_false(script.qps[0].live || script.qps[1].live || script.cqs[0].live);
}

static void calls_after_close_are_invalid(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_INLINE_F};
	struct rig_local local = {.len_bytes = 8};
	struct rig_region *region, *other;
	struct rig_endpoint endpoint, peer;
	struct rig_remote remote;
	struct rig_nic_info info;
	struct rig_event event;
	struct rig_wc wc;
	static char memory[64];

	(void)state;
	assert_int_equal(rig_qp_endpoint(rig.qp, &peer), 0);
	assert_int_equal(rig_region_create(rig.nic, memory, 64, RIG_LOCAL, &region), 0);
	script_rig_close(&rig);
	assert_int_equal(rig_nic_info(rig.nic, &info), -EINVAL);
	assert_int_equal(rig_region_create(rig.nic, memory, 64, RIG_LOCAL, &other), -EINVAL);
	assert_int_equal(rig_region_create_dmabuf(rig.nic, 5, 0, 8, RIG_LOCAL, &other), -EINVAL);
	assert_int_equal(rig_region_local(region, 0, 8, &local), -EINVAL);
	assert_int_equal(rig_region_remote(region, 0, 8, &remote), -EINVAL);
	assert_int_equal(rig_region_destroy(region), -EINVAL);
	assert_int_equal(rig_cq_create(rig.nic, 8, &rig.cq), -EINVAL);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), -EINVAL);
	assert_int_equal(rig_cq_arm(rig.cq), -EINVAL);
	assert_int_equal(rig_cq_destroy(rig.cq), -EINVAL);
	assert_int_equal(rig_qp_create(rig.cq, 8, 8, &rig.qp), -EINVAL);
	assert_int_equal(rig_qp_number(rig.qp), 0);
	assert_int_equal(rig_qp_endpoint(rig.qp, &endpoint), -EINVAL);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), -EINVAL);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), -EINVAL);
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	assert_int_equal(rig_qp_receive(rig.qp, &local), -EINVAL);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, &local, 1), -EINVAL);
	assert_int_equal(rig_qp_ring(rig.qp), -EINVAL);
	assert_int_equal(rig_qp_destroy(rig.qp), -EINVAL);
	assert_int_equal(rig_wait(rig.nic, 0, &event, 1), -EINVAL);
	assert_int_equal(rig_fd(rig.nic), -EINVAL);
}

static void second_close_does_nothing(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	unsigned int ioctls;

	(void)state;
	script_rig_close(&rig);
	ioctls = script.ioctl_count;
	assert_int_equal(rig_close(rig.nic), 0);
	assert_int_equal(script.ioctl_count, ioctls);
	assert_int_equal(rig_close(NULL), -EINVAL);
	assert_int_equal(rig_close((struct rig_nic *)(void *)&rig), -EINVAL);
}

static void handle_of_a_closed_nic_is_never_reused(void **state)
{
	struct rig_nic *closed, *nic;

	(void)state;
	script_reset();
	closed = script_nic();
	assert_int_equal(rig_close(closed), 0);
	for (int i = 0; i < 100; i++) {
		nic = script_nic();
		assert_ptr_not_equal(nic, closed);
		assert_int_equal(rig_close(nic), 0);
	}
}

static void two_opens_are_independent(void **state)
{
	struct rig_nic *a, *b;
	struct rig_nic_info info;

	(void)state;
	script_reset();
	a = script_nic();
	b = script_nic();
	assert_ptr_not_equal(a, b);
	assert_int_equal(rig_close(a), 0);
	assert_int_equal(rig_nic_info(b, &info), 0);
	assert_int_equal(rig_close(b), 0);
}

/*
 * A kernel that refuses to destroy cannot keep rig_close from closing: its file's close ends it
 * all.
 */
static void close_goes_on_when_destroys_are_refused(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);

	(void)state;
	script.rules[0] = (struct script_rule){UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY,
					       SCRIPT_ANY, SCRIPT_ANY, EIO, 0, 0};
	script.rules[1] = (struct script_rule){UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY,
					       SCRIPT_ANY, SCRIPT_ANY, EBUSY, 0, 0};
	assert_int_equal(rig_close(rig.nic), 0);
	assert_int_equal(rig_qp_ring(rig.qp), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lists_hardware_first_then_software),
		cmocka_unit_test(names_counts_beyond_max),
		cmocka_unit_test(names_leaves_other_adapters_out),
		cmocka_unit_test(open_by_name_and_first),
		cmocka_unit_test(open_of_an_unknown_name_is_enodev),
		cmocka_unit_test(open_without_permission_names_the_file_and_its_group),
		cmocka_unit_test(open_passes_on_what_the_software_nic_says),
		cmocka_unit_test(open_undoes_each_step_the_kernel_refuses),
		cmocka_unit_test(open_without_a_register_mapping_fails),
		cmocka_unit_test(open_wants_completion_version_1_and_dynamic_uars),
		cmocka_unit_test(info_tells_limits),
		cmocka_unit_test(gid_is_the_first_v2_that_maps_ipv4),
		cmocka_unit_test(gid_without_ipv4_is_the_first_v2),
		cmocka_unit_test(infiniband_port_goes_by_its_lid),
		cmocka_unit_test(a_port_that_is_down_opens_and_says_so),
		cmocka_unit_test(close_destroys_all_that_was_made),
		cmocka_unit_test(calls_after_close_are_invalid),
		cmocka_unit_test(second_close_does_nothing),
		cmocka_unit_test(handle_of_a_closed_nic_is_never_reused),
		cmocka_unit_test(two_opens_are_independent),
		cmocka_unit_test(close_goes_on_when_destroys_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
