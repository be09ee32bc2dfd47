/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what completion queues take and refuse: sizes, flags, RESIZE_CQ, MODIFY_CQ.
 * By building the calls of libmlx5 and completing empty send entries.
 */
#include "tests/support/kern_rig.h"

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct world {
	struct kern_rig rig;
	uint32_t pd;
	uint32_t uar, page;
	struct rig_cq cq;
	struct rig_qp qp;
	uint16_t posted;
};

static int open_world(void **state)
{
	static struct world world;
	struct kern_rig *rig = &world.rig;

	memset(&world, 0, sizeof(world));
	kern_rig_open(rig);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_pd(rig, &world.pd), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	world.cq = (struct rig_cq){.cqe = 7, .comp_fd = -1, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &world.cq), 0);
	assert_int_equal(rig_qp_of(rig, world.pd, &world.cq, &world.qp), 0);
	assert_int_equal(rig_connect(rig, &world.qp, world.qp.number), 0);
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	kern_rig_close(&world->rig);
	return 0;
}

/* One empty send entry, which completes at once. */
static void post_nop(struct world *world)
{
	uint8_t *sq = world->qp.ring + 16 * world->qp.rq_count;
	struct wqe_ctrl_seg *ctrl =
	    (struct wqe_ctrl_seg *)(void *)(sq + 64 * (world->posted % world->qp.sq_count));
	uint64_t word;

	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, world->posted, WQE_OP_NOP);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(world->qp.number, 1);
	ctrl->fm_ce_se = WQE_CE_ALWAYS;
	world->posted++;
	world->qp.record[DB_SEND] = be32_from(world->posted).raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(world->rig.pages + 4096 * world->page + DB_UAR_BF0, &word, sizeof(word));
	rig_pump(&world->rig);
}

static int resize(struct world *world, uint32_t cqe, uint32_t cqe_size, void *ring,
		  uint32_t *cqe_got)
{
	struct ib_uverbs_resize_cq req = {.cq_handle = world->cq.handle, .cqe = cqe};
	struct mlx5_ib_resize_cq driver = {.buf_addr = rig_va(ring),
					   .cqe_size = (uint16_t)cqe_size};
	struct ib_uverbs_resize_cq_resp *resp;
	int error;

	rig_call(&world->rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(&world->rig, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_RESIZE_CQ);
	rig_in(&world->rig, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	resp = rig_out(&world->rig, UVERBS_ATTR_CORE_OUT, sizeof(*resp));
	rig_in(&world->rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	error = rig_run(&world->rig);
	*cqe_got = resp->cqe;
	return error;
}

static void resized(void **state)
{
	struct world *world = *state;
	const struct cqe64 *old = (const struct cqe64 *)(const void *)world->cq.ring;
	struct cqe64 *ring = rig_alloc(&world->rig, 32 * 64);
	uint32_t got;

	memset(ring, CQE_OP_OWN_INIT, 32 * 64);
	for (int i = 0; i < 3; i++)
		post_nop(world);
	/* Fewer than what waits; the size that it has. */
	assert_int_equal(resize(world, 1, 64, ring, &got), -EINVAL);
	assert_int_equal(resize(world, 6, 64, ring, &got), 0);
	assert_int_equal(got, 7);
	assert_int_equal(old[3].op_own, CQE_OP_OWN_INIT);
	assert_int_equal(resize(world, 20, 64, ring, &got), 0);
	assert_int_equal(got, 31);
	assert_int_equal(old[3].op_own, CQE_RESIZE_CQ << 4);
	post_nop(world);
	assert_int_equal(old[4].op_own, CQE_OP_OWN_INIT);
	assert_int_equal(ring[3].op_own, CQE_OP_OWN_INIT);
	assert_int_equal(ring[4].op_own, CQE_REQ << 4);
	assert_int_equal(be16_to(ring[4].wqe_counter), 3);
}

static void resize_refused(void **state)
{
	struct world *world = *state;
	void *ring = rig_alloc(&world->rig, 32 * 64);
	uint32_t got, handle = world->cq.handle;

	assert_int_equal(resize(world, 0, 64, ring, &got), -EINVAL);
	assert_int_equal(resize(world, 1 << 22, 64, ring, &got), -EINVAL);
	assert_int_equal(resize(world, UINT32_MAX, 64, ring, &got), -EINVAL);
	assert_int_equal(resize(world, 31, 128, ring, &got), -EINVAL);
	assert_int_equal(resize(world, 31, 64, (uint8_t *)ring + 8, &got), -EINVAL);
	assert_int_equal(resize(world, 31, 64, (void *)4096, &got), -EFAULT);
	world->cq.handle = world->qp.handle;
	assert_int_equal(resize(world, 31, 64, ring, &got), -EINVAL);
	world->cq.handle = handle;
	assert_int_equal(resize(world, 31, 64, ring, &got), 0);
}

/* Moderation of events is not offered, and is refused as by a kernel without it. */
static void modify_refused(void **state)
{
	struct world *world = *state;
	struct ib_uverbs_ex_modify_cq req = {
	    .cq_handle = world->cq.handle,
	    .attr_mask = 1,
	    .attr = {.cq_count = 4, .cq_period = 10},
	};

	assert_int_equal(rig_write(&world->rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_CQ), &req,
				   sizeof(req), NULL, 0, NULL, 0),
			 -EOPNOTSUPP);
}

/* A completion carries the device's clock, of the pass that wrote it. */
static void timestamps(void **state)
{
	struct world *world = *state;
	const struct cqe64 *cqe = (const struct cqe64 *)(const void *)world->cq.ring;

	for (unsigned int i = 0; i < 3; i++) {
		world->rig.now_ns = (UINT64_C(0x1234) << 32) + i;
		post_nop(world);
		assert_int_equal(be64_to(cqe[i].timestamp), world->rig.now_ns);
	}
}

static int create(struct world *world, const struct mlx5_ib_create_cq *driver, uint32_t flags)
{
	struct kern_rig *rig = &world->rig;

	rig_call(rig, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	rig_in32(rig, UVERBS_ATTR_CREATE_CQ_CQE, 7);
	rig_in64(rig, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 1);
	rig_in32(rig, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	rig_in32(rig, UVERBS_ATTR_CREATE_CQ_FLAGS, flags);
	rig_out(rig, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, driver, sizeof(*driver));
	rig_out(rig, UVERBS_ATTR_UHW_OUT, 8);
	return rig_run(rig);
}

static void flags(void **state)
{
	enum { PAGE = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX };
	static const struct {
		const char *name;
		uint32_t size, compress;
		uint16_t driver;
		uint32_t core;
		int error;
	} rows[] = {
	    {"plain", 64, 0, PAGE, 0, 0},
	    {"wide", 128, 0, PAGE, 0, 0},
	    {"odd size", 100, 0, PAGE, 0, -EINVAL},
	    {"overrun ignored", 64, 0, PAGE, IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN, 0},
	    {"timestamps", 64, 0, PAGE, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION, 0},
	    {"unknown core flag", 64, 0, PAGE, 4, -EINVAL},
	    {"padded", 128, 0, PAGE | MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD, 0, 0},
	    {"padded and narrow", 64, 0, PAGE | MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD, 0,
	     -EOPNOTSUPP},
	    {"time of day", 64, 0, PAGE | MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS, 0, -EOPNOTSUPP},
	    {"compressed", 64, 1, PAGE, 0, -EOPNOTSUPP},
	    {"unknown driver flag", 64, 0, PAGE | 8, 0, -EINVAL},
	};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mlx5_ib_create_cq driver = {
		    .buf_addr = rig_va(rig_alloc(&world->rig, 1024)),
		    .db_addr = rig_va(rig_alloc(&world->rig, 64)),
		    .cqe_size = rows[i].size,
		    .cqe_comp_en = (uint8_t)rows[i].compress,
		    .flags = rows[i].driver,
		    .uar_page_index = (uint16_t)world->page,
		};

		print_message("row: %s\n", rows[i].name);
		assert_int_equal(create(world, &driver, rows[i].core), rows[i].error);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(resized),    TEST(resize_refused), TEST(modify_refused),
	    TEST(timestamps), TEST(flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
