/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that a driver older than register page objects gets its registers: pages to map, a register
 * for each queue pair, dedicated ones first, further pages when it maps them.
 * By the calls of such a libmlx5: the rig's, without the flags that newer ones set.
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

enum { BFREGS = 8, DEDICATED = 2, NC = 3, WC = 2, ALLOC_WC = 6 };

static struct kern_rig rig;
static uint32_t pd;
static struct rig_cq cq;
static uint32_t qp_flags;    /* what before_run puts into the request */
static uint32_t qp_register; /* likewise */

/* The rig's request, as an older driver would have sent it. */
static void make_older(struct kern_rig *built)
{
	void *in = (void *)(uintptr_t)rig_data(built, UVERBS_ATTR_UHW_IN);
	struct mlx5_ib_create_qp *qp = in;
	struct mlx5_ib_create_cq *queue = in;

	if (built->hdr->object_id == UVERBS_OBJECT_CQ &&
	    built->hdr->method_id == UVERBS_METHOD_CQ_CREATE)
		queue->flags = 0;
	if (built->hdr->object_id == UVERBS_OBJECT_QP &&
	    built->hdr->method_id == UVERBS_METHOD_QP_CREATE) {
		qp->flags = qp_flags;
		qp->bfreg_index = qp_register;
	}
}

static int older_context(uint32_t count, uint32_t dedicated,
			 struct mlx5_ib_alloc_ucontext_resp **resp)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {.total_num_bfregs = count,
						    .num_low_latency_bfregs = dedicated,
						    .max_cqe_version = 1,
						    .lib_caps = MLX5_LIB_CAP_4K_UAR};

	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	*resp = rig_out(&rig, UVERBS_ATTR_UHW_OUT, sizeof(**resp));
	return rig_run(&rig);
}

static int open_rig(void **state)
{
	struct mlx5_ib_alloc_ucontext_resp *resp;

	(void)state;
	kern_rig_open(&rig);
	assert_int_equal(older_context(BFREGS, DEDICATED, &resp), 0);
	assert_int_equal(resp->tot_bfregs, BFREGS);
	assert_int_equal(resp->num_dyn_bfregs, 512);
	rig.before_run = make_older;
	qp_flags = qp_register = 0;
	assert_int_equal(rig_pd(&rig, &pd), 0);
	cq = (struct rig_cq){.cqe = 15, .comp_fd = -1};
	assert_int_equal(rig_cq(&rig, &cq), 0);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig.before_run = NULL;
	kern_rig_close(&rig);
	return 0;
}

static int map(uint64_t cmd, uint64_t index, uint32_t *page)
{
	uint64_t offset = uv_mlx5_mmap_offset((unsigned int)cmd, (uint32_t)index);
	uint32_t count = 0;
	int error = kern_mmap(rig.file, offset, 4096, true, page, &count);

	if (!error)
		assert_int_equal(count, 1);
	return error;
}

static void pages(void **state)
{
	uint32_t page, again, seen = 0;

	(void)state;
	for (uint64_t i = 0; i < BFREGS / 2; i++) {
		assert_int_equal(map(0, i, &page), 0);
		assert_false(seen >> page & 1);
		seen |= 1u << page;
		assert_int_equal(map(NC, i, &again), 0);
		assert_int_equal(again, page);
		assert_int_equal(map(WC, i, &again), 0);
		assert_int_equal(again, page);
	}
	assert_int_equal(map(0, BFREGS / 2, &page), -EINVAL);
	assert_int_equal(map(1, 0, &page), -EINVAL);
	assert_int_equal(map(0, 256, &page), -EINVAL);
	/* Four more, each once, wherever in their numbers; then there are no more. */
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(map(ALLOC_WC, 252 + i, &page), 0);
		assert_false(seen >> page & 1);
		seen |= 1u << page;
		assert_int_equal(map(ALLOC_WC, 252 + i, &page), -EINVAL);
	}
	assert_int_equal(map(ALLOC_WC, 256, &page), -EINVAL);
	assert_int_equal(map(ALLOC_WC, 0, &page), -ENOMEM);
}

static int make_qp(struct rig_qp *qp, uint32_t *bfreg)
{
	int error;

	*qp = (struct rig_qp){
	    .pd = pd, .send_cq = cq.handle, .recv_cq = cq.handle, .sq_count = 8, .rq_count = 16};
	error = rig_qp(&rig, qp);
	*bfreg =
	    ((const struct mlx5_ib_create_qp_resp *)(uintptr_t)rig_data(&rig, UVERBS_ATTR_UHW_OUT))
		->bfreg_index;
	return error;
}

/* As the driver counts: four a page. Registers 6 and 7 are dedicated, 1 to 5 shared. */
static void a_register_for_each(void **state)
{
	static const uint32_t expected[] = {12, 13, 1, 4, 5, 8, 9, 1, 4};
	struct rig_qp qps[9];
	uint32_t bfreg;

	(void)state;
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(make_qp(&qps[i], &bfreg), 0);
		assert_int_equal(bfreg, expected[i]);
	}
	/* A dedicated one that is given back is the next one's. */
	assert_int_equal(rig_destroy_qp(&rig, qps[1].handle, NULL), 0);
	assert_int_equal(make_qp(&qps[1], &bfreg), 0);
	assert_int_equal(bfreg, 13);
}

static void registers_of_its_own(void **state)
{
	struct rig_qp qp;
	uint32_t page, bfreg;

	(void)state;
	qp_flags = MLX5_QP_FLAG_BFREG_INDEX;
	qp_register = 2 * 7;
	assert_int_equal(make_qp(&qp, &bfreg), -EINVAL);
	assert_int_equal(map(ALLOC_WC, 7, &page), 0);
	assert_int_equal(make_qp(&qp, &bfreg), 0);
	assert_int_equal(bfreg, 1u << 31);
	qp_register = UINT32_MAX;
	assert_int_equal(make_qp(&qp, &bfreg), -EINVAL);
	qp_flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	qp_register = page;
	assert_int_equal(make_qp(&qp, &bfreg), 0);
}

/* A queue pair is rung through whatever register it was given. */
static void a_register_rings(void **state)
{
	const struct cqe64 *cqe = (const struct cqe64 *)(const void *)cq.ring;
	struct rig_qp qp;
	struct wqe_ctrl_seg *ctrl;
	uint32_t page, bfreg;

	(void)state;
	assert_int_equal(make_qp(&qp, &bfreg), 0);
	assert_int_equal(rig_connect(&rig, &qp, qp.number), 0);
	assert_int_equal(map(0, bfreg / 4, &page), 0);
	ctrl = (struct wqe_ctrl_seg *)(void *)(qp.ring + 16 * qp.rq_count);
	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, 0, WQE_OP_NOP);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(qp.number, 1);
	ctrl->fm_ce_se = WQE_CE_ALWAYS;
	qp.record[DB_SEND] = be32_from(1).raw;
	memcpy(rig.pages + 4096 * page + 0x800 + 0x200 * (bfreg % 4), ctrl, 8);
	rig_pump(&rig);
	assert_int_equal(cqe->op_own, CQE_REQ << 4);
}

/* What a context had is there for the next one. */
static void closed(void **state)
{
	struct mlx5_ib_alloc_ucontext_resp *resp;
	uint32_t page;

	(void)state;
	rig.before_run = NULL;
	assert_int_equal(map(ALLOC_WC, 0, &page), 0);
	kern_close(rig.file, 0);
	assert_int_equal(kern_open(rig.kern, &rig.file), 0);
	assert_int_equal(older_context(2 * RIG_PAGES + 1, 0, &resp), -ENOMEM);
	assert_int_equal(older_context(2 * RIG_PAGES - 1, 0, &resp), 0);
	assert_int_equal(resp->tot_bfregs, 2 * RIG_PAGES);
	assert_int_equal(map(0, RIG_PAGES - 1, &page), 0);
}

/* Where pages are objects there are no others. */
static void newer_driver(void **state)
{
	struct rig_qp qp;
	uint32_t page, bfreg;

	(void)state;
	kern_close(rig.file, 0);
	rig.before_run = NULL;
	assert_int_equal(kern_open(rig.kern, &rig.file), 0);
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(map(0, 0, &page), -EINVAL);
	assert_int_equal(map(ALLOC_WC, 0, &page), -EINVAL);
	rig.before_run = make_older;
	assert_int_equal(rig_pd(&rig, &pd), 0);
	assert_int_equal(rig_cq(&rig, &cq), -EINVAL);
	rig.before_run = NULL;
	assert_int_equal(rig_uar(&rig, &page, &cq.uar_page), 0);
	assert_int_equal(rig_cq(&rig, &cq), 0);
	rig.before_run = make_older;
	assert_int_equal(make_qp(&qp, &bfreg), -EINVAL);
	qp_flags = MLX5_QP_FLAG_BFREG_INDEX;
	assert_int_equal(make_qp(&qp, &bfreg), -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(pages),
	    TEST(a_register_for_each),
	    TEST(registers_of_its_own),
	    TEST(a_register_rings),
	    TEST(closed),
	    TEST(newer_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
