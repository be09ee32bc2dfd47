/* SPDX-License-Identifier: BSD-2-Clause */
/* devx_world.c - see devx_world.h. */
#include "tests/support/devx_world.h"

#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct devx_world world;

void devx_world_pd(void)
{
	struct ib_uverbs_alloc_pd req = {.response = 0};
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp uhw;

	assert_int_equal(rig_write(&world.rig, IB_USER_VERBS_CMD_ALLOC_PD, &req, sizeof(req), &resp,
				   sizeof(resp), &uhw, sizeof(uhw)),
			 0);
	world.pd = resp.pd_handle;
	world.pdn = uhw.pdn;
}

static int open_on(bool infiniband)
{
	struct kern_rig *rig = &world.rig;

	memset(&world, 0, sizeof(world));
	if (infiniband)
		kern_rig_open_infiniband(rig);
	else
		kern_rig_open(rig);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	devx_world_pd();
	world.memory = rig_alloc(rig, 8192);
	assert_int_equal(rig_mr(rig, world.pd, world.memory, 8192, DEVX_ACCESS_ALL, &world.mr), 0);
	assert_int_equal(devx_cq(rig, world.page, DEVX_LOG_CQ, &world.cq), 0);
	world.qp = (struct devx_qp){.rq_count = 16, .sq_count = 8};
	assert_int_equal(devx_qp(rig, world.page, world.pdn, world.cq.number, &world.qp), 0);
	return 0;
}

int devx_world_open(void **state)
{
	(void)state;
	return open_on(false);
}

int devx_world_open_infiniband(void **state)
{
	(void)state;
	return open_on(true);
}

int devx_world_close(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	return 0;
}

void devx_world_connect(void)
{
	assert_int_equal(devx_connect(&world.rig, world.qp.handle, world.qp.number, world.qp.number,
				      world.rig.config.gids[0]),
			 0);
}

void devx_world_post(uint8_t opcode, uint32_t index, uint32_t lkey, uint64_t va, uint32_t len)
{
	struct wqe_ctrl_seg *ctrl =
	    (void *)(world.qp.ring + 16 * world.qp.rq_count + 64 * (size_t)(index % 8));
	struct wqe_data_seg *piece = (void *)(ctrl + 1);
	struct be32 record = be32_from(index + 1);
	uint64_t word;

	memset(ctrl, 0, 64);
	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, (uint16_t)index, opcode);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(world.qp.number, 2);
	ctrl->fm_ce_se = WQE_CE_ALWAYS;
	*piece = (struct wqe_data_seg){be32_from(len), be32_from(lkey), be64_from(va)};
	world.qp.record[DB_SEND] = record.raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(world.rig.pages + 4096 * world.page + DB_UAR_BF0, &word, sizeof(word));
}

void devx_world_receive(uint32_t index, uint32_t lkey, uint64_t va, uint32_t len)
{
	struct wqe_data_seg *piece = (void *)(world.qp.ring + 16 * (size_t)(index % 16));

	*piece = (struct wqe_data_seg){be32_from(len), be32_from(lkey), be64_from(va)};
	world.qp.record[DB_RECV] = be32_from(index + 1).raw;
}

void devx_world_refused(int error, enum cmd_status status)
{
	assert_int_equal(error, -EREMOTEIO);
	assert_int_equal(devx_status(&world.devx), status);
	assert_int_not_equal(cmd_get(world.devx.out, CMD_OUT_SYNDROME), 0);
}
