/* SPDX-License-Identifier: BSD-2-Clause */
/* devx_world.c - see devx_world.h. */
#include "tests/support/devx_world.h"

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

void devx_world_refused(int error, enum cmd_status status)
{
	assert_int_equal(error, -EREMOTEIO);
	assert_int_equal(devx_status(&world.devx), status);
	assert_int_not_equal(cmd_get(world.devx.out, CMD_OUT_SYNDROME), 0);
}
