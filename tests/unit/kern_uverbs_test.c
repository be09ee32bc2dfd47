/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that a wrong header or attribute gets Linux's error and changes nothing.
 * By tables of one fault each in a call that is otherwise good.
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

/* A QUERY_PORT call that is good as it stands. */
static void good_call(void)
{
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	rig_in64(&rig, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	rig_out(&rig, UVERBS_ATTR_QUERY_PORT_RESP, sizeof(struct ib_uverbs_query_port_resp_ex));
	rig.hdr->length = (uint16_t)uv_hdr_bytes(rig.hdr->num_attrs);
}

static int run_as_it_is(unsigned long request)
{
	return kern_ioctl(rig.file, request, rig_va(rig.hdr), rig.now_ns);
}

static void header_faults(void **state)
{
	static const struct {
		const char *name;
		size_t offset;
		uint32_t value;
		size_t size;
		int error;
	} rows[] = {
	    {"good", 0, 0, 0, 0},
	    {"length too short", offsetof(struct ib_uverbs_ioctl_hdr, length), 24, 2, -EINVAL},
	    {"length too long", offsetof(struct ib_uverbs_ioctl_hdr, length), 4096, 2, -EINVAL},
	    {"length over a page", offsetof(struct ib_uverbs_ioctl_hdr, length), 65535, 2, -EINVAL},
	    {"count too large", offsetof(struct ib_uverbs_ioctl_hdr, num_attrs), 65535, 2, -EINVAL},
	    {"count zero", offsetof(struct ib_uverbs_ioctl_hdr, num_attrs), 0, 2, -EINVAL},
	    {"reserved1", offsetof(struct ib_uverbs_ioctl_hdr, reserved1), 1, 4, -EPROTONOSUPPORT},
	    {"reserved2", offsetof(struct ib_uverbs_ioctl_hdr, reserved2), 1, 4, -EPROTONOSUPPORT},
	    {"another driver", offsetof(struct ib_uverbs_ioctl_hdr, driver_id), 2, 4, -EINVAL},
	    {"no such object", offsetof(struct ib_uverbs_ioctl_hdr, object_id), 99, 2,
	     -EPROTONOSUPPORT},
	    {"no such method", offsetof(struct ib_uverbs_ioctl_hdr, method_id), 99, 2,
	     -EPROTONOSUPPORT},
	    {"no such driver method", offsetof(struct ib_uverbs_ioctl_hdr, method_id), 0x1000, 2,
	     -EPROTONOSUPPORT},
	};

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error;

		good_call();
		memcpy((uint8_t *)rig.hdr + rows[i].offset, &rows[i].value, rows[i].size);
		error = run_as_it_is(RDMA_VERBS_IOCTL);
		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
	}
	good_call();
	assert_int_equal(run_as_it_is(RDMA_VERBS_IOCTL + 1), -ENOTTY);
	assert_int_equal(kern_ioctl(rig.file, RDMA_VERBS_IOCTL, 16, 0), -EFAULT);
}

/* The count is right, but the attributes run out of the application's memory. */
static void attributes_not_there(void **state)
{
	struct ib_uverbs_ioctl_hdr *hdr;

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	hdr = (struct ib_uverbs_ioctl_hdr *)(void *)(rig.memory + RIG_MEMORY_BYTES - sizeof(*hdr));
	*hdr = (struct ib_uverbs_ioctl_hdr){.object_id = UVERBS_OBJECT_DEVICE,
					    .method_id = UVERBS_METHOD_QUERY_PORT,
					    .driver_id = RDMA_DRIVER_MLX5,
					    .num_attrs = 2,
					    .length = (uint16_t)uv_hdr_bytes(2)};
	assert_int_equal(kern_ioctl(rig.file, RDMA_VERBS_IOCTL, rig_va(hdr), 0), -EFAULT);
}

static void attribute_faults(void **state)
{
	/* Each row replaces one attribute of the good call, or adds a third one. */
	static const struct {
		const char *name;
		unsigned int place;
		struct ib_uverbs_attr attr;
		int error;
	} rows[] = {
	    {"same twice",
	     2,
	     {.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM, .len = 8, .data = 1},
	     -EINVAL},
	    {"unknown and mandatory",
	     2,
	     {.attr_id = 50, .flags = UVERBS_ATTR_F_MANDATORY},
	     -EPROTONOSUPPORT},
	    {"unknown and optional", 2, {.attr_id = 50}, 0},
	    {"unknown of the driver", 2, {.attr_id = 0x1000}, 0},
	    {"port left out", 0, {.attr_id = 50}, -EINVAL},
	    {"port in 4 bytes",
	     0,
	     {.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM, .len = 4, .data = 1},
	     -EINVAL},
	    {"port in 9 bytes",
	     0,
	     {.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM, .len = 9, .data = 1},
	     -EINVAL},
	    {"port with reserved",
	     0,
	     {.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM,
	      .len = 8,
	      .attr_data = {.reserved = 1},
	      .data = 1},
	     -EINVAL},
	    {"port 0", 0, {.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM, .len = 8}, -EINVAL},
	    {"port 2",
	     0,
	     {.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM, .len = 8, .data = 2},
	     -EINVAL},
	    {"port 257",
	     0,
	     {.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM, .len = 8, .data = 257},
	     -EINVAL},
	    {"answer too short", 1, {.attr_id = UVERBS_ATTR_QUERY_PORT_RESP, .len = 47}, -EINVAL},
	    {"answer not there",
	     1,
	     {.attr_id = UVERBS_ATTR_QUERY_PORT_RESP, .len = 48, .data = 16},
	     -EFAULT},
	};

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error;

		good_call();
		rig.attrs[rows[i].place] = rows[i].attr;
		if (rows[i].place == 2)
			rig.hdr->num_attrs++;
		error = rig_run(&rig);
		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
	}
}

/* A longer buffer than the kernel knows is filled up with zeroes. */
static void longer_answer_is_zeroed(void **state)
{
	uint8_t *answer;

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	rig_in64(&rig, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	answer = rig_out(&rig, UVERBS_ATTR_QUERY_PORT_RESP, 400);
	assert_int_equal(rig_run(&rig), 0);
	assert_true(rig_is_valid(&rig, UVERBS_ATTR_QUERY_PORT_RESP));
	for (unsigned int i = 48; i < 400; i++)
		assert_int_equal(answer[i], 0);
}

/* A longer request is taken if what is not known is zero. */
static void longer_request(void **state)
{
	uint8_t req[200] = {0};

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(
	    rig_write(&rig, IB_USER_VERBS_CMD_QUERY_DEVICE, req, sizeof(req), NULL, 176, NULL, 0),
	    0);
	req[199] = 1;
	assert_int_equal(
	    rig_write(&rig, IB_USER_VERBS_CMD_QUERY_DEVICE, req, sizeof(req), NULL, 176, NULL, 0),
	    -EOPNOTSUPP);
}

/* What libibverbs tries first: it must neither be ENOTTY nor EPROTONOSUPPORT [uverbs.md 3]. */
static void write_probe(void **state)
{
	(void)state;
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(&rig, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_QUERY_DEVICE);
	assert_int_equal(rig_run(&rig), -ENOSPC);
}

static void write_commands(void **state)
{
	static const struct {
		const char *name;
		uint64_t cmd;
		int error;
	} rows[] = {
	    {"windows' destruction", IB_USER_VERBS_CMD_DEALLOC_MW, -EOPNOTSUPP},
	    {"posting by the kernel", IB_USER_VERBS_CMD_POST_SRQ_RECV, -EOPNOTSUPP},
	    {"no such command", 0x77, -EOPNOTSUPP},
	    {"no such extended command", UV_WRITE_EX(0x77), -EOPNOTSUPP},
	    {"bit 8", 0x101, -EINVAL},
	    {"bit 32", UINT64_C(0x100000001), -EINVAL},
	};
	uint8_t req[64] = {0};

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error;

		rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
		rig_in64(&rig, UVERBS_ATTR_WRITE_CMD, rows[i].cmd);
		rig_in(&rig, UVERBS_ATTR_CORE_IN, req, sizeof(req));
		error = rig_run(&rig);
		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
	}
}

/* Without a context nothing can be made or asked. */
static void context_comes_first(void **state)
{
	uint32_t handle, page;
	int fd;

	(void)state;
	assert_int_equal(rig_pd(&rig, &handle), -EINVAL);
	assert_int_equal(rig_uar(&rig, &handle, &page), -EINVAL);
	assert_int_equal(rig_comp_channel(&rig, &fd), -EINVAL);
	assert_int_equal(rig_async(&rig, &fd), -EINVAL);
	good_call();
	assert_int_equal(rig_run(&rig), -EINVAL);
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_context(&rig), -EINVAL);
	assert_int_equal(rig_pd(&rig, &handle), 0);
}

static void context_faults(void **state)
{
	static const struct {
		const char *name;
		struct mlx5_ib_alloc_ucontext_req_v2 req;
		uint16_t len;
		int error;
	} rows[] = {
	    {"too short", {.total_num_bfregs = 16}, 12, -EINVAL},
	    {"no registers", {.lib_caps = 3}, 32, -EINVAL},
	    {"all low latency",
	     {.total_num_bfregs = 4, .num_low_latency_bfregs = 4, .lib_caps = 3},
	     32,
	     -EINVAL},
	    {"unknown flag", {.total_num_bfregs = 16, .flags = 2, .lib_caps = 3}, 32, -EOPNOTSUPP},
	    {"comp_mask", {.total_num_bfregs = 16, .comp_mask = 1, .lib_caps = 3}, 32, -EOPNOTSUPP},
	    {"reserved", {.total_num_bfregs = 16, .reserved2 = 1, .lib_caps = 3}, 32, -EOPNOTSUPP},
	    {"more registers than there are", {.total_num_bfregs = 513}, 32, -ENOMEM},
	    {"more registers than are left", {.total_num_bfregs = 18}, 32, -ENOMEM},
	    {"good", {.total_num_bfregs = 16, .lib_caps = 2}, 32, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error;

		rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
		rig_in(&rig, UVERBS_ATTR_UHW_IN, &rows[i].req, rows[i].len);
		error = rig_run(&rig);
		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
	}
}

/* The handle cannot be returned: what was made is gone again. */
static void answer_not_writable_undoes(void **state)
{
	struct ib_uverbs_alloc_pd req = {.response = 0};
	uint32_t first, second;

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_pd(&rig, &first), 0);
	assert_int_equal(rig_destroy(&rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				     UVERBS_ATTR_DESTROY_PD_HANDLE, first),
			 0);
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(&rig, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_ALLOC_PD);
	rig_in(&rig, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	rig_attr(&rig, UVERBS_ATTR_CORE_OUT, 16, 4);
	rig_out(&rig, UVERBS_ATTR_UHW_OUT, 4);
	assert_int_equal(rig_run(&rig), -EFAULT);
	assert_int_equal(rig_pd(&rig, &second), 0);
	assert_int_equal(second, first);
}

static void regions(void **state)
{
	static const struct {
		const char *name;
		uint64_t offset, len, iova_shift;
		uint32_t access;
		int error;
	} rows[] = {
	    {"good", 0, 4096, 0, 0xf, 0},
	    {"relaxed ordering", 0, 4096, 0, 0x100003, 0},
	    {"own address", 0, 4096, 4096, 0xf, 0},
	    {"address inside a page differs", 0, 4096, 16, 0xf, -EINVAL},
	    {"nothing", 0, 0, 0, 0xf, -EINVAL},
	    {"not there", RIG_MEMORY_BYTES, 4096, 0, 0xf, -EFAULT},
	    {"end not there", 0, RIG_MEMORY_BYTES + 1, 0, 0xf, -EFAULT},
	    {"wraps", 0, UINT64_MAX, 0, 0xf, -EINVAL},
	    {"remote write alone", 0, 4096, 0, 2, -EINVAL},
	    {"remote atomic alone", 0, 4096, 0, 8, -EINVAL},
	    {"unknown access", 0, 4096, 0, 0x1000, -EINVAL},
	    {"on demand", 0, 4096, 0, 0x41, 0},
	};
	uint32_t pd;

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t start = rig_va(rig.memory) + rows[i].offset;
		struct ib_uverbs_reg_mr req = {.start = start,
					       .length = rows[i].len,
					       .hca_va = start + rows[i].iova_shift,
					       .pd_handle = pd,
					       .access_flags = rows[i].access};
		struct ib_uverbs_reg_mr_resp resp = {0};
		int error = rig_write(&rig, IB_USER_VERBS_CMD_REG_MR, &req, sizeof(req), &resp,
				      sizeof(resp), NULL, 0);

		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
		assert_int_equal(resp.lkey, resp.rkey);
	}
}

static void address_handles(void **state)
{
	struct ib_uverbs_create_ah req = {.attr = {.is_global = 1, .port_num = 1}};
	struct ib_uverbs_create_ah_resp resp;
	struct mlx5_ib_create_ah_resp uhw = {0};
	uint32_t pd;

	(void)state;
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	req.pd_handle = pd;
	memcpy(req.attr.grh.dgid, rig.config.gids[0], 16);
#define CREATE(uhw_len)                                                                            \
	rig_write(&rig, IB_USER_VERBS_CMD_CREATE_AH, &req, sizeof(req), &resp, sizeof(resp), &uhw, \
		  uhw_len)
	assert_int_equal(CREATE(10), 0);
	assert_int_equal(uhw.response_length, 10);
	assert_int_equal(uhw.dmac[0], 0x02);
	assert_int_equal(uhw.dmac[2], 127);
	assert_int_equal(CREATE(9), -EINVAL);
	/* The PD is in use until the handle is gone. */
	assert_int_equal(rig_destroy(&rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				     UVERBS_ATTR_DESTROY_PD_HANDLE, pd),
			 -EBUSY);
	assert_int_equal(rig_destroy(&rig, UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY,
				     UVERBS_ATTR_DESTROY_AH_HANDLE, resp.ah_handle),
			 0);
	req.attr.is_global = 0;
	assert_int_equal(CREATE(10), -EINVAL);
	req.attr.is_global = 1;
	req.attr.port_num = 2;
	assert_int_equal(CREATE(10), -EINVAL);
	req.attr.port_num = 1;
	req.attr.grh.sgid_index = 3;
	assert_int_equal(CREATE(10), -ENODATA);
	req.attr.grh.sgid_index = 0;
	req.pd_handle = 77;
	assert_int_equal(CREATE(10), -EINVAL);
	assert_int_equal(rig_destroy(&rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				     UVERBS_ATTR_DESTROY_PD_HANDLE, pd),
			 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(header_faults),    TEST(attributes_not_there),
	    TEST(attribute_faults), TEST(longer_answer_is_zeroed),
	    TEST(longer_request),   TEST(write_probe),
	    TEST(write_commands),   TEST(context_comes_first),
	    TEST(context_faults),   TEST(answer_not_writable_undoes),
	    TEST(regions),          TEST(address_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
