/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what somebody who was handed a context's descriptor learns of its objects.
 * By the queries of ibv_import_device, ibv_import_pd and ibv_import_mr.
 */
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct kern_rig rig;

static int open_rig(void **state)
{
	(void)state;
	kern_rig_open(&rig);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	kern_rig_close(&rig);
	return 0;
}

static int query_context(struct mlx5_ib_alloc_ucontext_resp **resp, uint16_t len)
{
	uint32_t *vectors;
	uint64_t *support;
	int error;

	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	vectors = rig_out(&rig, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4);
	support = rig_out(&rig, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8);
	*resp = rig_out(&rig, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, len);
	error = rig_run(&rig);
	if (!error) {
		assert_int_equal(*vectors, 1);
		assert_int_equal(*support, 1);
	}
	return error;
}

static void context(void **state)
{
	struct mlx5_ib_alloc_ucontext_resp *resp;

	(void)state;
	assert_int_equal(query_context(&resp, sizeof(*resp)), -EINVAL);
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(query_context(&resp, sizeof(*resp)), 0);
	assert_int_equal(resp->cqe_version, 1);
	assert_int_equal(resp->cache_line_size, 64);
	assert_int_equal(resp->num_ports, 1);
	assert_int_equal(query_context(&resp, 8), -EINVAL);
}

static int query_pd(uint32_t handle, uint32_t **pdn)
{
	rig_call(&rig, UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY);
	rig_attr(&rig, MLX5_IB_ATTR_QUERY_PD_HANDLE, handle, 0);
	*pdn = rig_out(&rig, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, 4);
	return rig_run(&rig);
}

static int query_mr(uint32_t handle, uint32_t **lkey, uint64_t **length, uint64_t **iova)
{
	uint32_t *rkey;
	int error;

	rig_call(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	rig_attr(&rig, UVERBS_ATTR_QUERY_MR_HANDLE, handle, 0);
	*lkey = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4);
	rkey = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4);
	*length = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8);
	*iova = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8);
	error = rig_run(&rig);
	if (!error)
		assert_int_equal(**lkey, *rkey);
	return error;
}

static void objects(void **state)
{
	struct ib_uverbs_reg_mr_resp mr;
	uint32_t pd, *pdn, *lkey;
	uint64_t *length, *iova;
	void *memory;

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	memory = rig_alloc(&rig, 8192);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	assert_int_equal(rig_mr(&rig, pd, memory, 5000, 0xf, &mr), 0);
	assert_int_equal(query_pd(pd, &pdn), 0);
	assert_int_not_equal(*pdn, 0);
	assert_int_equal(query_mr(mr.mr_handle, &lkey, &length, &iova), 0);
	assert_int_equal(*lkey, mr.lkey);
	assert_int_equal(*length, 5000);
	assert_int_equal(*iova, rig_va(memory));
	assert_int_equal(query_pd(mr.mr_handle, &pdn), -EINVAL);
	assert_int_equal(query_pd(1000, &pdn), -ENOENT);
	assert_int_equal(query_mr(pd, &lkey, &length, &iova), -EINVAL);
}

/* A file that came from another process with a context has one, and none of its objects. */
static void inherited(void **state)
{
	struct mlx5_ib_alloc_ucontext_resp *resp;
	struct kern_file *parent = rig.file;
	uint32_t pd, own, *pdn;

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	assert_int_equal(kern_open(rig.kern, &rig.file), 0);
	kern_inherit(rig.file);
	assert_int_equal(query_context(&resp, sizeof(*resp)), 0);
	assert_int_equal(resp->cqe_version, 1);
	assert_int_equal(resp->tot_bfregs, 0);
	assert_int_equal(query_pd(pd, &pdn), -ENOENT);
	assert_int_equal(rig_context(&rig), -EINVAL);
	assert_int_equal(rig_pd(&rig, &own), 0);
	kern_close(rig.file, 0);
	rig.file = parent;
	assert_int_equal(query_pd(pd, &pdn), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(context),
	    TEST(objects),
	    TEST(inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
