/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that regions are registered with the rights that were asked for, that their pieces are
 * bounds checked, and that the kernel's refusals say what to do. How: a scripted kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include <sys/resource.h>

static char memory[4096];

static struct rig_region *region_of(struct rig_nic *nic, enum rig_access access)
{
	struct rig_region *region;

	assert_int_equal(rig_region_create(nic, memory, sizeof(memory), access, &region), 0);
	return region;
}

/* Case 21: remote write or atomic needs local write; the library always asks for it. */
static void access_becomes_the_kernels_flags(void **state)
{
	static const struct {
		enum rig_access access;
		uint32_t flags;
	} rows[] = {
		{RIG_LOCAL, IB_UVERBS_ACCESS_LOCAL_WRITE},
		{RIG_REMOTE_WRITE, IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE},
		{RIG_REMOTE_ALL, IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
					 IB_UVERBS_ACCESS_REMOTE_READ |
					 IB_UVERBS_ACCESS_REMOTE_ATOMIC},
	};
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct script_command *cmd;

		region_of(nic, rows[i].access);
		cmd = script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_REG_MR);
		assert_int_equal(cmd->reg_mr.access_flags, rows[i].flags);
		assert_true(cmd->reg_mr.start == (uintptr_t)memory);
		assert_true(cmd->reg_mr.hca_va == (uintptr_t)memory);
		assert_true(cmd->reg_mr.length == sizeof(memory));
		assert_int_equal(cmd->reg_mr.pd_handle, 3);
	}
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

static void mistakes_are_einval_and_reach_no_kernel(void **state)
{
	struct rig_region *region = (void *)1;
	struct rig_nic *nic;
	unsigned int ioctls;

	(void)state;
	script_reset();
	nic = script_nic();
	ioctls = script.ioctl_count;
	assert_int_equal(rig_region_create(nic, memory, 0, RIG_LOCAL, &region), -EINVAL);
	assert_int_equal(rig_region_create(nic, memory, SIZE_MAX, RIG_LOCAL, &region), -EINVAL);
	assert_int_equal(rig_region_create(nic, memory, 8, (enum rig_access)3, &region), -EINVAL);
	assert_int_equal(rig_region_create(nic, memory, 8, RIG_LOCAL, NULL), -EINVAL);
	assert_ptr_equal(region, (void *)1);
	assert_int_equal(script.ioctl_count, ioctls);
	assert_int_equal(rig_close(nic), 0);
}

static void enomem_names_rlimit_memlock(void **state)
{
	struct rig_region *region = (void *)1;
	struct rlimit limit = {.rlim_cur = 65536}, old;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	limit.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	script_refuse(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_REG_MR, ENOMEM);
	assert_int_equal(rig_region_create(nic, memory, 4096, RIG_LOCAL, &region), -ENOMEM);
	assert_message("RLIMIT_MEMLOCK");
	assert_message("65536");
	assert_message("4096");
	assert_ptr_equal(region, (void *)1);
	setrlimit(RLIMIT_MEMLOCK, &old);
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

static void efault_says_that_memory_is_not_mapped(void **state)
{
	struct rig_region *region;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	script_refuse(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_REG_MR, EFAULT);
	assert_int_equal(rig_region_create(nic, memory, 4096, RIG_LOCAL, &region), -EFAULT);
	assert_message("mapped");
	assert_int_equal(rig_close(nic), 0);
}

static void pieces_name_address_length_and_key(void **state)
{
	struct rig_remote remote;
	struct rig_local local;
	struct rig_region *region;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	region = region_of(nic, RIG_REMOTE_ALL);
	assert_int_equal(rig_region_local(region, 16, 32, &local), 0);
	assert_true(local.addr == (uintptr_t)memory + 16);
	assert_int_equal(local.len_bytes, 32);
	assert_int_equal(local.key, 100 << 8);
	assert_int_equal(rig_region_remote(region, 0, 4096, &remote), 0);
	assert_true(remote.addr == (uintptr_t)memory);
	assert_true(remote.len_bytes == 4096);
	assert_int_equal(remote.key, (100 << 8) | 1);
	assert_int_equal(rig_close(nic), 0);
}

static void pieces_are_bounds_checked(void **state)
{
	static const struct {
		const char *name;
		uint64_t offset;
		uint64_t len;
		int ret;
	} rows[] = {
		{"all", 0, 4096, 0},
		{"empty at the end", 4096, 0, 0},
		{"last byte", 4095, 1, 0},
		{"one too long", 0, 4097, -EINVAL},
		{"one too far", 4096, 1, -EINVAL},
		{"empty behind the end", 4097, 0, -EINVAL},
		{"offset + len overflows", 16, UINT64_MAX - 8, -EINVAL},
		{"offset overflows", UINT64_MAX, 2, -EINVAL},
	};
	struct rig_region *region;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	region = region_of(nic, RIG_LOCAL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_remote remote = {.addr = 1};
		struct rig_local local = {.addr = 1};

		if (rig_region_local(region, rows[i].offset, rows[i].len, &local) != rows[i].ret ||
		    rig_region_remote(region, rows[i].offset, rows[i].len, &remote) != rows[i].ret)
			fail_msg("%s", rows[i].name);
		if (rows[i].ret && (local.addr != 1 || remote.addr != 1))
			fail_msg("%s: written on failure", rows[i].name);
	}
	assert_int_equal(rig_close(nic), 0);
}

static void a_local_piece_has_at_most_2_31_less_1_bytes(void **state)
{
	struct rig_region *region;
	struct rig_remote remote;
	struct rig_local local;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	assert_int_equal(rig_region_create(nic, memory, 1ull << 33, RIG_LOCAL, &region), 0);
	assert_int_equal(rig_region_local(region, 0, 0x7fffffff, &local), 0);
	assert_int_equal(rig_region_local(region, 0, 0x80000000, &local), -EINVAL);
	assert_int_equal(rig_region_local(region, 0, 1ull << 32 | 8, &local), -EINVAL);
	assert_int_equal(rig_region_remote(region, 0, 1ull << 33, &remote), 0);
	assert_int_equal(rig_close(nic), 0);
}

static void destroy_is_for_once(void **state)
{
	struct rig_region *region;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	region = region_of(nic, RIG_LOCAL);
	assert_int_equal(rig_region_destroy(region), 0);
	assert_int_equal(script_last(UVERBS_OBJECT_MR, SCRIPT_ANY, SCRIPT_ANY)->handle, 100);
	assert_int_equal(rig_region_destroy(region), -EINVAL);
	assert_int_equal(rig_region_destroy(NULL), -EINVAL);
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

static void destroy_that_the_kernel_refuses_leaves_the_region(void **state)
{
	struct rig_region *region;
	struct rig_local local;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	region = region_of(nic, RIG_LOCAL);
	script_refuse(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, SCRIPT_ANY, EBUSY);
	assert_int_equal(rig_region_destroy(region), -EBUSY);
	assert_int_equal(rig_region_local(region, 0, 8, &local), 0);
	script.rules[0].err = 0;
	assert_int_equal(rig_region_destroy(region), 0);
	assert_int_equal(rig_close(nic), 0);
}

static void dmabuf_that_the_nic_cannot_is_eopnotsupp(void **state)
{
	struct rig_region *region;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	assert_int_equal(rig_region_create_dmabuf(nic, 5, 0, 4096, RIG_LOCAL, &region),
			 -EOPNOTSUPP);
	assert_int_equal(rig_region_create_dmabuf(nic, -1, 0, 4096, RIG_LOCAL, &region), -EINVAL);
	assert_int_equal(rig_region_create_dmabuf(nic, 5, 0, 0, RIG_LOCAL, &region), -EINVAL);
	assert_int_equal(rig_region_create_dmabuf(nic, 5, 8, UINT64_MAX, RIG_LOCAL, &region),
			 -EINVAL);
	assert_int_equal(rig_close(nic), 0);
}

/* Case 23: the offset inside a page is kept. */
static void dmabuf_keeps_the_offset_in_a_page(void **state)
{
	struct rig_region *region;
	struct rig_remote remote;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	script.dmabuf = true;
	nic = script_nic();
	assert_int_equal(rig_region_create_dmabuf(nic, 5, 0x12345, 0x9000, RIG_REMOTE_ALL, &region),
			 0);
	assert_true(script.dmabuf_offset == 0x12345);
	assert_true(script.dmabuf_length == 0x9000);
	assert_int_equal(script.dmabuf_fd, 5);
	assert_int_equal(script.dmabuf_iova & 4095, 0x345);
	assert_int_equal(rig_region_remote(region, 0x10, 8, &remote), 0);
	assert_true(remote.addr == script.dmabuf_iova + 0x10);
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(access_becomes_the_kernels_flags),
		cmocka_unit_test(mistakes_are_einval_and_reach_no_kernel),
		cmocka_unit_test(enomem_names_rlimit_memlock),
		cmocka_unit_test(efault_says_that_memory_is_not_mapped),
		cmocka_unit_test(pieces_name_address_length_and_key),
		cmocka_unit_test(pieces_are_bounds_checked),
		cmocka_unit_test(a_local_piece_has_at_most_2_31_less_1_bytes),
		cmocka_unit_test(destroy_is_for_once),
		cmocka_unit_test(destroy_that_the_kernel_refuses_leaves_the_region),
		cmocka_unit_test(dmabuf_that_the_nic_cannot_is_eopnotsupp),
		cmocka_unit_test(dmabuf_keeps_the_offset_in_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
