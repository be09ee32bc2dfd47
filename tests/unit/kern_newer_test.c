/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that what rdma-core's releases after 44 ask first, or ask without another way to get it, is
 * answered as Linux answers it, and that what the device has not is refused so that they go on.
 * By the calls that those releases make, byte for byte, and by calls that differ in one thing.
 */
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	BUF_FD = 5,
	BYTES = 8192,
	ACCESS = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE,
	/* Objects and attributes that there are not [rdma-core v64.0, its kernel-headers]. */
	OBJECT_DMAH = 17,
	OBJECT_DMABUF = 18,
	ATTR_CREATE_CQ_BUF_UMEM = 12,
	DATA_DIRECT = 1,
};

static struct kern_rig rig;
static uint32_t pd;
static uint8_t *memory;

static int open_rig(void **state)
{
	(void)state;
	kern_rig_open(&rig);
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	memory = rig_alloc(&rig, BYTES);
	rig.dmabuf =
	    (struct rig_dmabuf){.fd = BUF_FD, .bytes = rig_alloc(&rig, BYTES), .len_bytes = BYTES};
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	kern_rig_close(&rig);
	assert_int_equal(rig.dmabuf.maps, 0);
	return 0;
}

/* ---- regions ----------------------------------------------------------------------------------
 */

enum {
	HAS_ADDR = 1,
	HAS_FD = 2,
	HAS_OFFSET = 4,
	HAS_HANDLE = 8,
};

struct request {
	unsigned int has;
	uint64_t addr; /* or the offset */
	uint64_t iova, length, access;
};

static uint32_t *lkey, *rkey;

static int reg_mr(const struct request *request)
{
	rig_call(&rig, UVERBS_OBJECT_MR, UV_METHOD_REG_MR);
	if (request->has & HAS_OFFSET)
		rig_in64(&rig, UV_ATTR_REG_MR_FD_OFFSET, request->addr);
	if (request->has & HAS_FD)
		rig_attr(&rig, UV_ATTR_REG_MR_FD, BUF_FD, 0);
	if (request->has & HAS_ADDR)
		rig_in64(&rig, UV_ATTR_REG_MR_ADDR, request->addr);
	rig_in64(&rig, UV_ATTR_REG_MR_IOVA, request->iova);
	rig_attr(&rig, UV_ATTR_REG_MR_HANDLE, 0, 0);
	lkey = rig_out(&rig, UV_ATTR_REG_MR_RESP_LKEY, 4);
	rkey = rig_out(&rig, UV_ATTR_REG_MR_RESP_RKEY, 4);
	rig_attr(&rig, UV_ATTR_REG_MR_PD_HANDLE, pd, 0);
	rig_in64(&rig, UV_ATTR_REG_MR_LENGTH, request->length);
	rig_in32(&rig, UV_ATTR_REG_MR_ACCESS_FLAGS, (uint32_t)request->access);
	if (request->has & HAS_HANDLE)
		rig_attr(&rig, UV_ATTR_REG_MR_DMA_HANDLE, pd, 0);
	return rig_run(&rig);
}

static int query_mr(uint64_t handle, uint32_t key, uint64_t length, uint64_t iova)
{
	uint32_t *l, *r;
	uint64_t *len, *va;
	int error;

	rig_call(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	rig_attr(&rig, UVERBS_ATTR_QUERY_MR_HANDLE, handle, 0);
	l = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4);
	r = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4);
	len = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8);
	va = rig_out(&rig, UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8);
	error = rig_run(&rig);
	return error ? error : *l != key || *r != key || *len != length || *va != iova;
}

static void region_of_memory(void **state)
{
	const uint64_t iova = 0x7000 | (rig_va(memory) & 0xfff);
	struct request request = {HAS_ADDR, rig_va(memory), iova, BYTES, ACCESS};
	uint64_t handle;

	(void)state;
	assert_int_equal(reg_mr(&request), 0);
	handle = rig_data(&rig, UV_ATTR_REG_MR_HANDLE);
	assert_int_equal(*lkey, *rkey);
	assert_true(rig_is_valid(&rig, UV_ATTR_REG_MR_RESP_LKEY));
	assert_int_equal(query_mr(handle, *lkey, BYTES, iova), 0);
	assert_int_equal(rig_destroy(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
				     UVERBS_ATTR_DESTROY_MR_HANDLE, (uint32_t)handle),
			 0);
}

static void region_of_all_memory(void **state)
{
	struct request request = {HAS_ADDR, 0, 0, UINT64_MAX, ACCESS | IB_UVERBS_ACCESS_ON_DEMAND};

	(void)state;
	assert_int_equal(reg_mr(&request), 0);
	request.access = ACCESS;
	assert_int_equal(reg_mr(&request), -EINVAL);
}

static void region_of_a_dmabuf(void **state)
{
	struct request request = {HAS_FD | HAS_OFFSET, 0x1000, 0x5000, 0x1000, ACCESS};
	uint64_t handle;

	(void)state;
	assert_int_equal(reg_mr(&request), 0);
	handle = rig_data(&rig, UV_ATTR_REG_MR_HANDLE);
	assert_int_equal(rig.dmabuf.maps, 1);
	assert_true(rig.dmabuf.map_writable);
	assert_int_equal(query_mr(handle, *rkey, 0x1000, 0x5000), 0);
	assert_int_equal(rig_destroy(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
				     UVERBS_ATTR_DESTROY_MR_HANDLE, (uint32_t)handle),
			 0);
	assert_int_equal(rig.dmabuf.maps, 0);
	/* Rights that only memory of the host can have. */
	request.access |= IB_UVERBS_ACCESS_MW_BIND;
	assert_int_equal(reg_mr(&request), -EINVAL);
}

static void region_refused(void **state)
{
	const uint64_t va = rig_va(memory);
	static const unsigned int places[] = {0,
					      HAS_FD,
					      HAS_OFFSET,
					      HAS_ADDR | HAS_OFFSET,
					      HAS_ADDR | HAS_FD,
					      HAS_ADDR | HAS_FD | HAS_OFFSET};
	const struct request wrong[] = {
	    {HAS_ADDR, va, va + 1, BYTES, ACCESS},
	    {HAS_ADDR, va, va, 0, ACCESS},
	    {HAS_ADDR, va, va, BYTES, IB_UVERBS_ACCESS_REMOTE_WRITE},
	    {HAS_ADDR, va, va, BYTES, 1u << 31},
	    {HAS_ADDR | HAS_HANDLE, va, va, BYTES, ACCESS},
	    {HAS_FD | HAS_OFFSET, 0x1000, 0x5001, 0x1000, ACCESS},
	    {HAS_FD | HAS_OFFSET, 0, 0, BYTES + 1, ACCESS},
	};
	struct request request = {0, 0x1000, 0x1000, 0x1000, ACCESS};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		request.has = places[i];
		assert_int_equal(reg_mr(&request), -EINVAL);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(reg_mr(&wrong[i]), -EINVAL);
	request = (struct request){HAS_ADDR, va + RIG_MEMORY_BYTES, va, BYTES, ACCESS};
	assert_int_equal(reg_mr(&request), -EFAULT);
}

/* What mlx5 adds to dma-bufs: a second way to the memory, which is not there. */
static void dmabuf_data_direct(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= DATA_DIRECT; flags++) {
		rig_call(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
		rig_in32(&rig, UV_MLX5_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, flags);
		rig_attr(&rig, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
		rig_attr(&rig, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd, 0);
		rig_in64(&rig, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 0);
		rig_in64(&rig, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, BYTES);
		rig_in64(&rig, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 0);
		rig_attr(&rig, UVERBS_ATTR_REG_DMABUF_MR_FD, BUF_FD, 0);
		rig_in32(&rig, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, ACCESS);
		rig_out(&rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4);
		rig_out(&rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4);
		assert_int_equal(rig_run(&rig), flags ? -EINVAL : 0);
	}
	assert_int_equal(rig.dmabuf.maps, 1);
}

static void data_direct_path(void **state)
{
	(void)state;
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UV_MLX5_METHOD_DATA_DIRECT_PATH);
	rig_out(&rig, UV_MLX5_ATTR_DATA_DIRECT_PATH, 256);
	assert_int_equal(rig_run(&rig), -ENODEV);
}

/* ---- the port ---------------------------------------------------------------------------------
 */

static void port_speed(void **state)
{
	const struct uv_query_port_resp_ex *port;
	uint64_t *speed;

	(void)state;
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	rig_in64(&rig, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	port = rig_out(&rig, UVERBS_ATTR_QUERY_PORT_RESP, sizeof(*port));
	assert_int_equal(rig_run(&rig), 0);
	assert_int_equal(port->legacy_resp.active_speed, 32);
	assert_int_equal(port->active_speed_ex, 32);
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UV_METHOD_QUERY_PORT_SPEED);
	rig_in64(&rig, UV_ATTR_QUERY_PORT_SPEED_PORT_NUM, 1);
	speed = rig_out(&rig, UV_ATTR_QUERY_PORT_SPEED_RESP, 8);
	assert_int_equal(rig_run(&rig), 0);
	assert_int_equal(*speed, 1000);
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UV_METHOD_QUERY_PORT_SPEED);
	rig_in64(&rig, UV_ATTR_QUERY_PORT_SPEED_PORT_NUM, 2);
	rig_out(&rig, UV_ATTR_QUERY_PORT_SPEED_RESP, 8);
	assert_int_equal(rig_run(&rig), -EINVAL);
}

/* ---- contexts and completion queues -----------------------------------------------------------
 */

/* Descriptors that are no capabilities. Who asks is told, and can ask without. */
static void context_with_descriptors(void **state)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
	    .total_num_bfregs = 16, .max_cqe_version = 1, .lib_caps = 3};
	const int32_t fds[2] = {BUF_FD, BUF_FD};
	struct kern_file *old = rig.file;

	(void)state;
	assert_int_equal(kern_open(rig.kern, &rig.file), 0);
	for (unsigned int count = 1; count <= 2; count++) {
		rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
		rig_out(&rig, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4);
		rig_out(&rig, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8);
		rig_in(&rig, UV_ATTR_GET_CONTEXT_FD_ARR, fds, (uint16_t)(4 * count));
		rig_in(&rig, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
		rig_out(&rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_alloc_ucontext_resp));
		assert_int_equal(rig_run(&rig), -EINVAL);
	}
	assert_int_equal(rig_context(&rig), 0);
	kern_close(rig.file, 0);
	rig.file = old;
}

static int create_cq(uint32_t page, uint16_t extra, uint32_t value)
{
	struct mlx5_ib_create_cq driver = {.cqe_size = 64};

	driver.buf_addr = rig_va(rig_alloc(&rig, 16 * 64));
	driver.db_addr = rig_va(rig_alloc(&rig, 8));
	if (page != 0) {
		driver.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
		driver.uar_page_index = (uint16_t)page;
	}
	rig_call(&rig, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	rig_attr(&rig, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	rig_in64(&rig, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 1);
	rig_in32(&rig, UVERBS_ATTR_CREATE_CQ_CQE, 15);
	rig_in32(&rig, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	if (extra != 0)
		rig_in32(&rig, extra, value);
	rig_out(&rig, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4);
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	rig_out(&rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_cq_resp));
	return rig_run(&rig);
}

/* The page by a number of its own, as for pages behind the 65,536th. */
static void cq_page(void **state)
{
	uint32_t handle, page;

	(void)state;
	assert_int_equal(rig_uar(&rig, &handle, &page), 0);
	assert_int_equal(create_cq(page, 0, 0), 0);
	assert_int_equal(create_cq(0, UV_MLX5_ATTR_CREATE_CQ_UAR_INDEX, page), 0);
	assert_int_equal(create_cq(0, UV_MLX5_ATTR_CREATE_CQ_UAR_INDEX, page + 65536), -EINVAL);
	assert_int_equal(create_cq(page, UV_MLX5_ATTR_CREATE_CQ_UAR_INDEX, page + 1), -EINVAL);
	assert_int_equal(create_cq(0, 0, 0), -EINVAL);
}

/* ---- what is not there ------------------------------------------------------------------------
 */

static void refused(void **state)
{
	uint32_t handle, page;

	(void)state;
	rig_call(&rig, OBJECT_DMAH, 0);
	rig_attr(&rig, 0, 0, 0);
	assert_int_equal(rig_run(&rig), -EPROTONOSUPPORT);
	rig_call(&rig, OBJECT_DMABUF, 0);
	rig_attr(&rig, 0, 0, 0);
	assert_int_equal(rig_run(&rig), -EPROTONOSUPPORT);
	assert_int_equal(rig_uar(&rig, &handle, &page), 0);
	assert_int_equal(create_cq(page, ATTR_CREATE_CQ_BUF_UMEM, 0), -EPROTONOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(region_of_memory, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(region_of_all_memory, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(region_of_a_dmabuf, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(region_refused, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(dmabuf_data_direct, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(data_direct_path, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(port_speed, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(context_with_descriptors, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(cq_page, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(refused, open_rig, close_rig),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
