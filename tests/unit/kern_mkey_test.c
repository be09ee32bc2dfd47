/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: memory windows, regions that change, and device memory, as ioctls: what is refused, with
 * which error, and what holds what.
 * By calls built byte for byte; what the device then knows is read from the nic.
 */
#include "tests/support/kern_rig.h"

#include "kern/state.h"
#include "nic/nic_priv.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	WRITE = IB_UVERBS_ACCESS_LOCAL_WRITE,
	ALL = WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ,
	ZERO = IB_UVERBS_ACCESS_ZERO_BASED,
};

static struct kern_rig rig;
static uint32_t pd;

static int open_rig(void **state)
{
	(void)state;
	kern_rig_open(&rig);
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	kern_rig_close(&rig);
	return 0;
}

static int destroy(uint16_t object, uint16_t method, uint16_t attr, uint32_t handle)
{
	rig_call(&rig, object, method);
	rig_attr(&rig, attr, handle, 0);
	return rig_run(&rig);
}

static int destroy_pd(uint32_t handle)
{
	return destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE,
		       handle);
}

/* ---- windows --------------------------------------------------------------------------------- */

static int alloc_mw(uint32_t pd_handle, uint8_t type, struct ib_uverbs_alloc_mw_resp *resp)
{
	struct ib_uverbs_alloc_mw req = {.pd_handle = pd_handle, .mw_type = type};

	return rig_write(&rig, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req), resp, sizeof(*resp),
			 NULL, 0);
}

static void windows(void **state)
{
	struct ib_uverbs_alloc_mw_resp mw;

	(void)state;
	for (uint8_t type = 0; type < 4; type++) {
		bool good = type == 1 || type == 2;

		assert_int_equal(alloc_mw(pd, type, &mw), good ? 0 : -EINVAL);
		if (!good)
			continue;
		assert_int_equal(nic_mkey_find(rig.nic, mw.rkey)->kind,
				 type == 1 ? NIC_MKEY_WINDOW_1 : NIC_MKEY_WINDOW_2);
		assert_int_equal(destroy_pd(pd), -EBUSY);
		assert_int_equal(destroy(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY,
					 UVERBS_ATTR_DESTROY_MW_HANDLE, mw.mw_handle),
				 0);
		assert_null(nic_mkey_find(rig.nic, mw.rkey));
	}
	assert_int_equal(alloc_mw(pd + 77, 1, &mw), -EINVAL);
}

/* ---- regions that change --------------------------------------------------------------------- */

static int rereg(uint32_t mr, uint32_t flags, void *start, uint64_t length, uint32_t access,
		 uint32_t pd_handle)
{
	struct ib_uverbs_rereg_mr req = {.mr_handle = mr,
					 .flags = flags,
					 .start = rig_va(start),
					 .length = length,
					 .hca_va = rig_va(start),
					 .access_flags = access,
					 .pd_handle = pd_handle};
	struct ib_uverbs_rereg_mr_resp resp;

	return rig_write(&rig, IB_USER_VERBS_CMD_REREG_MR, &req, sizeof(req), &resp, sizeof(resp),
			 NULL, 0);
}

static void rereg_errors(void **state)
{
	static const struct {
		const char *name;
		uint32_t flags, access, handle_add, pd_add;
		uint64_t length;
		int error;
	} rows[] = {
	    {"nothing", 0, 0, 0, 0, 0, -EINVAL},
	    {"unknown flag", 8, 0, 0, 0, 0, -EOPNOTSUPP},
	    {"no such region", UV_REREG_ACCESS, 0, 77, 0, 0, -ENOENT},
	    {"no such domain", UV_REREG_PD, 0, 0, 77, 0, -ENOENT},
	    {"remote write alone", UV_REREG_ACCESS, IB_UVERBS_ACCESS_REMOTE_WRITE, 0, 0, 0,
	     -EINVAL},
	    {"no bytes", UV_REREG_TRANSLATION, 0, 0, 0, 0, -EINVAL},
	    {"more than there is", UV_REREG_TRANSLATION, 0, 0, 0, 1 << 30, -EFAULT},
	    {"access", UV_REREG_ACCESS, ALL, 0, 0, 0, 0},
	    {"place", UV_REREG_TRANSLATION, 0, 0, 0, 64, 0},
	    {"all", UV_REREG_SUPPORTED, WRITE, 0, 0, 64, 0},
	};
	struct ib_uverbs_reg_mr_resp mr;
	void *memory = rig_alloc(&rig, 4096);

	(void)state;
	assert_int_equal(rig_mr(&rig, pd, memory, 4096, WRITE, &mr), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row: %s\n", rows[i].name);
		assert_int_equal(rereg(mr.mr_handle + rows[i].handle_add, rows[i].flags, memory,
				       rows[i].length, rows[i].access, pd + rows[i].pd_add),
				 rows[i].error);
	}
}

/* Each flag changes its own, the key stays, and the domain that is left is free to go. */
static void rereg_changes(void **state)
{
	struct ib_uverbs_reg_mr_resp mr;
	uint8_t *memory = rig_alloc(&rig, 8192);
	const struct nic_mkey *mkey;
	uint32_t newer, old_pdn;

	(void)state;
	assert_int_equal(rig_mr(&rig, pd, memory, 4096, WRITE, &mr), 0);
	mkey = nic_mkey_find(rig.nic, mr.lkey);
	old_pdn = mkey->pdn;
	assert_int_equal(rereg(mr.mr_handle, UV_REREG_ACCESS, NULL, 0, ALL, 0), 0);
	assert_int_equal(mkey->access, NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F |
					   NIC_ACCESS_REMOTE_READ_F);
	assert_int_equal(mkey->len_bytes, 4096);
	assert_int_equal(rereg(mr.mr_handle, UV_REREG_TRANSLATION, memory + 64, 100, 0, 0), 0);
	assert_int_equal(mkey->va, rig_va(memory + 64));
	assert_int_equal(mkey->host_va, rig_va(memory + 64));
	assert_int_equal(mkey->len_bytes, 100);
	assert_true(mkey->access & NIC_ACCESS_REMOTE_READ_F);
	assert_int_equal(rig_pd(&rig, &newer), 0);
	assert_int_equal(rereg(mr.mr_handle, UV_REREG_PD, NULL, 0, 0, newer), 0);
	assert_int_not_equal(mkey->pdn, old_pdn);
	assert_int_equal(destroy_pd(newer), -EBUSY);
	assert_int_equal(destroy_pd(pd), 0);
	/* Closing the context ends the region before the domain that is newer than it. */
}

/* ---- device memory --------------------------------------------------------------------------- */

static int dm_alloc(uint64_t length, uint32_t align_log2, uint64_t type, uint32_t *handle,
		    uint16_t *page)
{
	uint64_t *offset;
	uint16_t *index;
	int error;

	rig_call(&rig, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	rig_attr(&rig, UVERBS_ATTR_ALLOC_DM_HANDLE, 0, 0);
	rig_in64(&rig, UVERBS_ATTR_ALLOC_DM_LENGTH, length);
	rig_in32(&rig, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, align_log2);
	offset = rig_out(&rig, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, sizeof(*offset));
	index = rig_out(&rig, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, sizeof(*index));
	if (type != 0)
		rig_in64(&rig, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, type);
	error = rig_run(&rig);
	*handle = (uint32_t)rig_data(&rig, UVERBS_ATTR_ALLOC_DM_HANDLE);
	*page = *index;
	if (!error)
		assert_int_equal(*offset, 0);
	return error;
}

static int dm_free(uint32_t handle)
{
	return destroy(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, UVERBS_ATTR_FREE_DM_HANDLE, handle);
}

static int dm_reg(uint32_t dm, uint64_t offset, uint64_t length, uint32_t access, uint32_t *mr,
		  uint32_t *key)
{
	uint32_t *lkey, *rkey;
	int error;

	rig_call(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	rig_attr(&rig, UVERBS_ATTR_REG_DM_MR_HANDLE, 0, 0);
	rig_in64(&rig, UVERBS_ATTR_REG_DM_MR_OFFSET, offset);
	rig_in64(&rig, UVERBS_ATTR_REG_DM_MR_LENGTH, length);
	rig_attr(&rig, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd, 0);
	rig_in32(&rig, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, access);
	rig_attr(&rig, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm, 0);
	lkey = rig_out(&rig, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, sizeof(*lkey));
	rkey = rig_out(&rig, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, sizeof(*rkey));
	error = rig_run(&rig);
	*mr = (uint32_t)rig_data(&rig, UVERBS_ATTR_REG_DM_MR_HANDLE);
	*key = *lkey;
	assert_int_equal(*lkey, *rkey);
	return error;
}

static void device_memory(void **state)
{
	static const struct {
		const char *name;
		uint64_t length;
		uint32_t align_log2;
		uint64_t type;
		int error;
	} rows[] = {
	    {"nothing", 0, 0, 0, -EINVAL},
	    {"more than there is", 8193, 0, 0, -ENOMEM},
	    {"aligned as a page", 1, 12, 0, 0},
	    {"aligned as two", 1, 13, 0, -EINVAL},
	    {"steering memory", 4096, 0, MLX5_IB_UAPI_DM_TYPE_STEERING_SW_ICM, -EOPNOTSUPP},
	    {"all", 8192, 0, 0, 0},
	};
	uint32_t handle, pages, count;
	uint16_t page;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row: %s\n", rows[i].name);
		assert_int_equal(
		    dm_alloc(rows[i].length, rows[i].align_log2, rows[i].type, &handle, &page),
		    rows[i].error);
		if (rows[i].error == 0)
			assert_int_equal(dm_free(handle), 0);
	}
	/* Mapped as a whole, by who has it, while it has it. */
	assert_int_equal(dm_alloc(5000, 0, 0, &handle, &page), 0);
	assert_int_equal(
	    kern_mmap(rig.file, uv_mlx5_mmap_offset(8, page), 8192, true, &pages, &count), 0);
	assert_int_equal(pages, page);
	assert_int_equal(count, 2);
	assert_int_equal(
	    kern_mmap(rig.file, uv_mlx5_mmap_offset(8, page), 4096, true, &pages, &count), -EINVAL);
	assert_int_equal(
	    kern_mmap(rig.file, uv_mlx5_mmap_offset(8, page + 1u), 4096, true, &pages, &count),
	    -EINVAL);
	/* As a register page it is nothing. */
	assert_false(kern_page_is_of(rig.file, page));
	assert_int_equal(dm_free(handle), 0);
	assert_int_equal(
	    kern_mmap(rig.file, uv_mlx5_mmap_offset(8, page), 8192, true, &pages, &count), -EINVAL);
}

static void device_memory_regions(void **state)
{
	static const struct {
		const char *name;
		uint64_t offset, length;
		uint32_t access;
		int error;
	} rows[] = {
	    {"not zero-based", 0, 64, WRITE, -EINVAL},
	    {"remote write alone", 0, 64, ZERO | IB_UVERBS_ACCESS_REMOTE_WRITE, -EINVAL},
	    {"on demand", 0, 64, ZERO | WRITE | IB_UVERBS_ACCESS_ON_DEMAND, -EINVAL},
	    {"starts behind", 5001, 0, ZERO, -EINVAL},
	    {"ends behind", 4, 4997, ZERO, -EINVAL},
	    {"wraps", 8, UINT64_MAX - 4, ZERO, -EINVAL},
	    {"whole", 0, 5000, ZERO | ALL, 0},
	    {"a part", 4096, 100, ZERO | ALL, 0},
	};
	uint32_t dm, mr, key;
	uint16_t page;

	(void)state;
	assert_int_equal(dm_alloc(5000, 0, 0, &dm, &page), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row: %s\n", rows[i].name);
		assert_int_equal(
		    dm_reg(dm, rows[i].offset, rows[i].length, rows[i].access, &mr, &key),
		    rows[i].error);
		if (rows[i].error != 0)
			continue;
		assert_int_equal(nic_mkey_find(rig.nic, key)->va, 0);
		assert_int_equal(nic_mkey_find(rig.nic, key)->host_va,
				 rig_va(rig.pages) + page * 4096u + rows[i].offset);
		assert_int_equal(dm_free(dm), -EBUSY);
		assert_int_equal(rereg(mr, UV_REREG_ACCESS, NULL, 0, WRITE, 0), -EINVAL);
		assert_int_equal(destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
					 UVERBS_ATTR_DESTROY_MR_HANDLE, mr),
				 0);
	}
	assert_int_equal(dm_free(dm), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(windows, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(rereg_errors, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(rereg_changes, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(device_memory, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(device_memory_regions, open_rig, close_rig),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
