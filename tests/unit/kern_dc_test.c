/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what dynamically connected queue pairs look like to a driver: what is created and refused,
 * when a target has its number, and that a message passes. By calls as libmlx5 makes them, on one
 * device.
 */
#include "tests/support/kern_rig.h"

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_wqe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { UIDX_DCI = 77, UIDX_DCT = 78, UIDX_NONE = 0xffffff };

#define KEY 0x1122334455667788ull

struct world {
	struct kern_rig rig;
	uint32_t pd, uar, page, srq;
	uint8_t *srq_ring;
	uint32_t *srq_record;
	struct rig_cq cq;
};

static void make_srq(struct world *world)
{
	struct kern_rig *rig = &world->rig;
	struct mlx5_ib_create_srq driver = {.flags = 0};

	world->srq_ring = rig_alloc(rig, 4096);
	world->srq_record = rig_alloc(rig, 8);
	driver.buf_addr = rig_va(world->srq_ring);
	driver.db_addr = rig_va(world->srq_record);
	rig_call(rig, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, world->pd, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC);
	rig_in64(rig, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 0);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_MAX_WR, 15);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 1);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4);
	rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4);
	rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_srq_resp));
	assert_int_equal(rig_run(rig), 0);
	world->srq = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_SRQ_HANDLE);
}

static int open_world(void **state)
{
	static struct world world;
	struct kern_rig *rig = &world.rig;
	int fd;

	kern_rig_open(rig);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_async(rig, &fd), 0);
	assert_int_equal(rig_pd(rig, &world.pd), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	world.cq = (struct rig_cq){.cqe = 15, .comp_fd = -1, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &world.cq), 0);
	make_srq(&world);
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	nic_check(world->rig.nic);
	kern_rig_close(&world->rig);
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct dc {
	struct mlx5_ib_create_qp driver;
	bool with_srq;
	uint32_t handle, number;
	uint8_t *ring;
	uint32_t *record;
};

static int make_dc(struct world *world, struct dc *qp)
{
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_qp_cap cap = {.max_send_wr = 4, .max_send_sge = 1};
	uint32_t *number;
	int error;

	rig_call(rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_PD_HANDLE, world->pd, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, world->cq.handle, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, world->cq.handle, 0);
	if (qp->with_srq)
		rig_attr(rig, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, world->srq, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 1);
	rig_in(rig, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_DRIVER);
	rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap));
	number = rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &qp->driver, sizeof(qp->driver));
	rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_qp_resp));
	error = rig_run(rig);
	qp->handle = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_QP_HANDLE);
	qp->number = *number;
	return error;
}

static struct dc initiator(struct world *world)
{
	struct dc qp = {.ring = rig_alloc(&world->rig, 4096), .record = rig_alloc(&world->rig, 8)};

	qp.driver = (struct mlx5_ib_create_qp){
	    .buf_addr = rig_va(qp.ring),
	    .db_addr = rig_va(qp.record),
	    .sq_wqe_count = 16,
	    .flags = MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_UAR_PAGE_INDEX,
	    .uidx = UIDX_DCI,
	    .bfreg_index = world->page,
	};
	return qp;
}

static struct dc target(void)
{
	return (struct dc){
	    .driver = {.flags = MLX5_QP_FLAG_TYPE_DCT, .uidx = UIDX_DCT, .access_key = KEY},
	    .with_srq = true};
}

/* MODIFY_QP_EX with room for so much of the driver's answer. */
static int modify_ex(struct world *world, const struct dc *qp, uint32_t state, uint32_t mask,
		     uint16_t room, struct mlx5_ib_modify_qp_resp *resp)
{
	struct ib_uverbs_ex_modify_qp req = {
	    .base = {.qp_handle = qp->handle,
		     .attr_mask = mask | UV_QP_STATE,
		     .qp_state = (uint8_t)state,
		     .port_num = 1,
		     .path_mtu = UV_MTU_512,
		     .min_rnr_timer = 12,
		     .timeout = 14,
		     .retry_cnt = 7,
		     .rnr_retry = 7,
		     .max_rd_atomic = 1,
		     .qp_access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE,
		     .dest = {.is_global = 1, .port_num = 1}}};
	struct ib_uverbs_ex_modify_qp_resp core;

	memset(resp, 0, sizeof(*resp));
	memcpy(req.base.dest.dgid, world->rig.config.gids[0], 16);
	return rig_write(&world->rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), &req,
			 sizeof(req), &core, sizeof(core), room ? resp : NULL, room);
}

enum {
	INIT = UV_QP_PKEY_INDEX | UV_QP_PORT,
	RTR_TARGET = UV_QP_AV | UV_QP_PATH_MTU | UV_QP_MIN_RNR_TIMER,
	RTS = UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY | UV_QP_MAX_QP_RD_ATOMIC |
	      UV_QP_SQ_PSN,
	RESP_BYTES = sizeof(struct mlx5_ib_modify_qp_resp),
};

static uint32_t target_ready(struct world *world, struct dc *dct)
{
	struct mlx5_ib_modify_qp_resp resp;

	assert_int_equal(make_dc(world, dct), 0);
	assert_int_equal(
	    modify_ex(world, dct, UV_QPS_INIT, INIT | UV_QP_ACCESS_FLAGS, RESP_BYTES, &resp), 0);
	assert_int_equal(modify_ex(world, dct, UV_QPS_RTR, RTR_TARGET, RESP_BYTES, &resp), 0);
	return resp.dctn;
}

static void initiator_ready(struct world *world, struct dc *dci)
{
	struct mlx5_ib_modify_qp_resp resp;

	assert_int_equal(make_dc(world, dci), 0);
	assert_int_equal(modify_ex(world, dci, UV_QPS_INIT, INIT, 0, &resp), 0);
	assert_int_equal(modify_ex(world, dci, UV_QPS_RTR, UV_QP_PATH_MTU, 0, &resp), 0);
	assert_int_equal(modify_ex(world, dci, UV_QPS_RTS, RTS, 0, &resp), 0);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* A target's number is 0 until it is ready, and then in the answer, which must have room for it. */
static void number_of_a_target(void **state)
{
	struct world *world = *state;
	struct mlx5_ib_modify_qp_resp resp;
	struct dc dct = target();
	uint16_t shortest = offsetof(struct mlx5_ib_modify_qp_resp, ece_options);

	assert_int_equal(make_dc(world, &dct), 0);
	assert_int_equal(dct.number, 0);
	assert_int_equal(
	    modify_ex(world, &dct, UV_QPS_INIT, INIT | UV_QP_ACCESS_FLAGS, RESP_BYTES, &resp), 0);
	assert_int_equal(
	    modify_ex(world, &dct, UV_QPS_RTR, RTR_TARGET, (uint16_t)(shortest - 1), &resp),
	    -EINVAL);
	assert_int_equal(modify_ex(world, &dct, UV_QPS_RTR, RTR_TARGET, shortest, &resp), 0);
	assert_int_not_equal(resp.dctn, 0);
	assert_int_equal(resp.response_length, shortest);
	/* It goes nowhere from there. */
	assert_int_equal(modify_ex(world, &dct, UV_QPS_RTS, RTS, RESP_BYTES, &resp), -EINVAL);
	assert_int_equal(modify_ex(world, &dct, UV_QPS_ERR, 0, RESP_BYTES, &resp), -EINVAL);
	assert_int_equal(modify_ex(world, &dct, UV_QPS_RESET, 0, RESP_BYTES, &resp), -EINVAL);
	assert_int_equal(rig_destroy_qp(&world->rig, dct.handle, NULL), 0);
}

/* What create refuses, with the kernel's errors. */
static void refusals(void **state)
{
	struct world *world = *state;
	struct {
		const char *name;
		struct dc qp;
		int error;
	} rows[] = {
	    {"no type", initiator(world), -EINVAL},
	    {"both types", initiator(world), -EINVAL},
	    {"too many streams", initiator(world), -EINVAL},
	    {"too many failed streams", initiator(world), -EINVAL},
	    {"no user index", initiator(world), -EINVAL},
	    {"ring not there", initiator(world), -EFAULT},
	    {"target without SRQ", target(), -EINVAL},
	    {"target with a register", target(), -EINVAL},
	    {"target with streams", target(), -EINVAL},
	    {"target without user index", target(), -EINVAL},
	};

	rows[0].qp.driver.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	rows[1].qp.driver.flags |= MLX5_QP_FLAG_TYPE_DCT;
	rows[2].qp.driver.flags |= MLX5_QP_FLAG_DCI_STREAM;
	rows[2].qp.driver.dci_streams.log_num_concurent = 7;
	rows[3].qp.driver.flags |= MLX5_QP_FLAG_DCI_STREAM;
	rows[3].qp.driver.dci_streams.log_num_errored = 5;
	rows[4].qp.driver.uidx = UIDX_NONE;
	rows[5].qp.driver.buf_addr = 16;
	rows[6].qp.with_srq = false;
	rows[7].qp.driver.flags |= MLX5_QP_FLAG_UAR_PAGE_INDEX;
	rows[8].qp.driver.flags |= MLX5_QP_FLAG_DCI_STREAM;
	rows[9].qp.driver.uidx = UIDX_NONE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row \"%s\"\n", rows[i].name);
		assert_int_equal(make_dc(world, &rows[i].qp), rows[i].error);
	}
}

/* Masks as Linux has them for an initiator. */
static void initiator_masks(void **state)
{
	struct world *world = *state;
	struct mlx5_ib_modify_qp_resp resp;
	struct dc dci = initiator(world);

	assert_int_equal(make_dc(world, &dci), 0);
	assert_int_not_equal(dci.number, 0);
	assert_int_equal(modify_ex(world, &dci, UV_QPS_INIT, INIT | UV_QP_ACCESS_FLAGS, 0, &resp),
			 -EINVAL);
	assert_int_equal(modify_ex(world, &dci, UV_QPS_INIT, INIT, 0, &resp), 0);
	assert_int_equal(modify_ex(world, &dci, UV_QPS_RTR, 0, 0, &resp), -EINVAL);
	assert_int_equal(
	    modify_ex(world, &dci, UV_QPS_RTR, UV_QP_PATH_MTU | UV_QP_DEST_QPN, 0, &resp), -EINVAL);
	assert_int_equal(modify_ex(world, &dci, UV_QPS_RTR, UV_QP_PATH_MTU | UV_QP_AV, 0, &resp),
			 0);
	assert_int_equal(
	    modify_ex(world, &dci, UV_QPS_RTS, RTS & ~(uint32_t)UV_QP_SQ_PSN, 0, &resp), -EINVAL);
	assert_int_equal(modify_ex(world, &dci, UV_QPS_RTS, RTS, 0, &resp), 0);
	assert_int_equal(modify_ex(world, &dci, UV_QPS_ERR, 0, 0, &resp), 0);
	assert_int_equal(rig_destroy_qp(&world->rig, dci.handle, NULL), 0);
}

/* A write to a target, whose key is what its driver passed as a number of the host's byte order. */
static void a_message(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct dc dct = target(), dci = initiator(world);
	struct ib_uverbs_reg_mr_resp mr;
	uint8_t *memory = rig_alloc(rig, 4096);
	uint32_t dctn = target_ready(world, &dct);
	struct wqe_av av = {.dc_key = be64_from(KEY),
			    .dqp_dct = be32_from(WQE_AV_EXTENDED_F | dctn),
			    .hop_limit = 1};
	struct wqe_ctrl_seg ctrl;
	struct wqe_raddr_seg raddr;
	struct wqe_data_seg data;
	struct cqe64 cqe;

	initiator_ready(world, &dci);
	assert_int_equal(rig_mr(rig, world->pd, memory, 4096,
				IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE, &mr),
			 0);
	memcpy(memory, "dynamic", 8);
	memcpy(av.rgid, rig->config.gids[0], 16);
	ctrl = (struct wqe_ctrl_seg){.opmod_idx_opcode = wqe_ctrl_op(0, 0, WQE_OP_WRITE),
				     .qpn_ds = wqe_ctrl_qpn_ds(dci.number, 6),
				     .fm_ce_se = WQE_CE_ALWAYS};
	raddr = (struct wqe_raddr_seg){.va = be64_from(rig_va(memory + 64)),
				       .rkey = be32_from(mr.rkey)};
	data = (struct wqe_data_seg){.byte_count = be32_from(8),
				     .lkey = be32_from(mr.lkey),
				     .va = be64_from(rig_va(memory))};
	memcpy(dci.ring, &ctrl, 16);
	memcpy(dci.ring + 16, &av, 48);
	memcpy(dci.ring + 64, &raddr, 16);
	memcpy(dci.ring + 80, &data, 16);
	dci.record[1] = be32_from(2).raw;
	nic_scan(rig->nic, rig->now_ns);
	rig_pump(rig);
	memcpy(&cqe, world->cq.ring, sizeof(cqe));
	assert_int_equal(cqe_opcode_of(cqe.op_own), CQE_REQ);
	assert_int_equal(be32_to(cqe.srqn_uidx), UIDX_DCI);
	assert_memory_equal(memory + 64, "dynamic", 8);
	/* It uses its SRQ and its queues. */
	assert_int_equal(rig_destroy_cq(rig, world->cq.handle, NULL), -EBUSY);
	assert_int_equal(rig_destroy_qp(rig, dci.handle, NULL), 0);
	assert_int_equal(rig_destroy_qp(rig, dct.handle, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(number_of_a_target, open_world, close_world),
	    cmocka_unit_test_setup_teardown(refusals, open_world, close_world),
	    cmocka_unit_test_setup_teardown(initiator_masks, open_world, close_world),
	    cmocka_unit_test_setup_teardown(a_message, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
