/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that firmware commands make objects which work, that they name nothing of other contexts
 * and nothing outside of their umems, and what each refusal looks like.
 * By mailboxes built field by field, and traffic over queues that they made.
 */
#include "abi/ece.h"
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/devx_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void names_qp(enum cmd_opcode opcode, uint16_t in_len, uint16_t out_len)
{
	devx_in(&world.devx, opcode, in_len, out_len);
	world.devx.handle = world.qp.handle;
	cmd_set(world.devx.in, CMD_NUMBER, world.qp.number);
}

/* ---- traffic ----------------------------------------------------------------------------------
 */

static const struct cqe64 *cqe_at(uint32_t index)
{
	return (const void *)(world.cq.ring + 64 * (size_t)index);
}

/* A queue pair and a completion queue that commands made carry a message, and the completions have
 * the user index and number that such queues have. */
static void a_message(void **state)
{
	(void)state;
	devx_world_connect();
	memcpy(world.memory, "through umems", 14);
	devx_world_receive(0, world.mr.lkey, rig_va(world.memory) + 4096, 64);
	devx_world_post(WQE_OP_SEND, 0, world.mr.lkey, rig_va(world.memory), 14);
	rig_pump(&world.rig);
	assert_string_equal(world.memory + 4096, "through umems");
	for (uint32_t i = 0; i < 2; i++) {
		assert_false(cqe_is_error(cqe_at(i)->op_own));
		assert_int_equal(cqe_at(i)->op_own & 0xc, 0);
		assert_int_equal(be32_to(cqe_at(i)->srqn_uidx), 0xffffff);
		assert_int_equal(be32_to(cqe_at(i)->sop_drop_qpn) & 0xffffff, world.qp.number);
	}
	assert_int_equal(cqe_opcode_of(cqe_at(2)->op_own), CQE_INVALID);
}

/* ---- queue pairs ------------------------------------------------------------------------------
 */

static void query_tells_what_was_set(void **state)
{
	const uint8_t *qpc = world.devx.out + CMD_QP_QPC;
	const uint8_t *ads = qpc + CMD_QPC_PATH;

	(void)state;
	names_qp(CMD_QUERY_QP, 16, 512);
	assert_int_equal(devx_query(&world.rig, &world.devx), 0);
	assert_int_equal(cmd_get(qpc, CMD_QPC_STATE_NOW), CMD_QPC_STATE_RST);
	assert_int_equal(cmd_get(qpc, CMD_QPC_RQ_TYPE), CMD_QPC_RQ_OWN);
	assert_int_equal(1 << cmd_get(qpc, CMD_QPC_LOG_RQ_SIZE), world.qp.rq_count);
	assert_int_equal(cmd_get(qpc, CMD_QPC_LOG_RQ_STRIDE), 0);
	assert_int_equal(cmd_get(qpc, CMD_QPC_NO_SQ), 0);
	assert_int_equal(1 << cmd_get(qpc, CMD_QPC_LOG_SQ_SIZE), world.qp.sq_count);
	assert_int_equal(cmd_get(qpc, CMD_QPC_USER_INDEX), 0xffffff);
	devx_world_connect();
	names_qp(CMD_QUERY_QP, 16, 512);
	assert_int_equal(devx_query(&world.rig, &world.devx), 0);
	assert_int_equal(cmd_get(qpc, CMD_QPC_STATE_NOW), CMD_QPC_STATE_RTS);
	assert_int_equal(cmd_get(qpc, CMD_QPC_REMOTE_QPN), world.qp.number);
	assert_int_equal(cmd_get(qpc, CMD_QPC_PD), world.pdn);
	assert_int_equal(cmd_get(qpc, CMD_QPC_CQN_SEND), world.cq.number);
	assert_int_equal(cmd_get(qpc, CMD_QPC_MTU), UV_MTU_1024);
	assert_int_equal(cmd_get(qpc, CMD_QPC_RWE), 1);
	assert_int_equal(cmd_get(qpc, CMD_QPC_RRE), 1); /* by the mask of INIT2RTR */
	assert_int_equal(cmd_get(qpc, CMD_QPC_RAE), 0);
	assert_int_equal(cmd_get(qpc, CMD_QPC_LOG_SRA_MAX), 2);
	assert_int_equal(cmd_get(ads, CMD_ADS_DSCP), 26);
	assert_int_equal(cmd_get(ads, CMD_ADS_PORT), 1);
	assert_memory_equal(ads + CMD_ADS_DGID, world.rig.config.gids[0], 16);
	assert_true(cmd_get(ads, CMD_ADS_UDP_SPORT) >= 0xc000);
	for (unsigned int i = CMD_QP_QPC + CMD_QPC_BYTES; i < 512; i++)
		assert_int_equal(world.devx.out[i], 0);
}

/* The source port of a connection that is up; the verbs' own queue pair, too, by its handle. */
static void udp_source_port(void **state)
{
	uint8_t *ads = world.devx.in + CMD_QP_QPC + CMD_QPC_PATH;

	(void)state;
	devx_world_connect();
	names_qp(CMD_RTS2RTS_QP, 464, 16);
	be64_store(world.devx.in + 0x108, 4);
	cmd_set(ads, CMD_ADS_UDP_SPORT, 55555);
	assert_int_equal(devx_modify(&world.rig, &world.devx), 0);
	cmd_set(ads, CMD_ADS_UDP_SPORT, 1234);
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_PARAM);
	cmd_set(ads, CMD_ADS_UDP_SPORT, 55556);
	be64_store(world.devx.in + 0x108, 1);
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_PARAM);
	names_qp(CMD_QUERY_QP, 16, 512);
	assert_int_equal(devx_query(&world.rig, &world.devx), 0);
	ads = world.devx.out + CMD_QP_QPC + CMD_QPC_PATH;
	assert_int_equal(cmd_get(ads, CMD_ADS_UDP_SPORT), 55555);
}

static void edges_that_are_none(void **state)
{
	(void)state;
	names_qp(CMD_INIT2RTR_QP, CMD_QP_CREATE_BYTES, 16);
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_QP_STATE);
	names_qp(CMD_RTS2RTS_QP, CMD_QP_CREATE_BYTES, 16);
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_QP_STATE);
	/* Port 0, and a mask bit that this edge does not have. */
	names_qp(CMD_RST2INIT_QP, CMD_QP_CREATE_BYTES, 16);
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_PARAM);
	cmd_set(world.devx.in + CMD_QP_QPC + CMD_QPC_PATH, CMD_ADS_PORT, 1);
	cmd_set(world.devx.in, CMD_QP_OPT_MASK, 1 << 20);
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_PARAM);
	/* Cut short. */
	world.devx.in_len = 64;
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_INP_LEN);
	devx_world_connect();
	names_qp(CMD_2ERR_QP, 16, 16);
	assert_int_equal(devx_modify(&world.rig, &world.devx), 0);
	names_qp(CMD_2RST_QP, 16, 16);
	assert_int_equal(devx_modify(&world.rig, &world.devx), 0);
}

/* One field of a good CREATE_QP made bad. */
static void queue_pairs_that_are_refused(void **state)
{
	static const struct {
		const char *name;
		uint16_t at; /* of the structure that the field is in */
		struct cmd_field field;
		uint32_t value;
		enum cmd_status status;
	} rows[] = {
	    {"type UD", 0x18, {0x00, 16, 8}, CMD_QPC_UD, CMD_BAD_PARAM},
	    {"no such domain", 0x18, {0x04, 0, 24}, 0xffff, CMD_BAD_RES},
	    {"no such send queue", 0x18, {0x7c, 0, 24}, 0, CMD_BAD_RES},
	    {"no such receive queue", 0x18, {0x9c, 0, 24}, 999, CMD_BAD_RES},
	    {"a register of nobody", 0x18, {0x0c, 0, 24}, 7, CMD_BAD_RES},
	    {"page 0", 0x18, {0x0c, 0, 24}, 0, CMD_BAD_RES},
	    {"paced", 0x18, {0x74, 0, 16}, 1, CMD_BAD_PARAM},
	    {"rings longer than the umem", 0x18, {0x08, 11, 4}, 4, CMD_BAD_RES},
	    {"stride", 0x18, {0x08, 16, 3}, 7, CMD_BAD_RES},
	    {"receive type", 0x18, {0xac, 24, 3}, 2, CMD_BAD_PARAM},
	    {"umem 0", 0, {0x108, 0, 32}, 0, CMD_BAD_RES},
	    {"umem of nobody", 0, {0x108, 0, 32}, 0xfffffffe, CMD_BAD_RES},
	    {"offset", 0, {0x104, 0, 32}, 64, CMD_BAD_RES},
	    {"offset wraps", 0, {0x100, 0, 32}, 0xffffffff, CMD_BAD_RES},
	    {"record's umem", 0x18, {0xe4, 0, 32}, 0, CMD_BAD_RES},
	    {"record's offset", 0x18, {0xa4, 0, 32}, 60, CMD_BAD_RES},
	};
	struct kern_rig *rig = &world.rig;
	struct devx good;
	uint8_t *qpc = good.in + CMD_QP_QPC;
	uint8_t *ring = rig_alloc(rig, 16 * 16 + 8 * 64), *record = rig_alloc(rig, 64);
	uint32_t ring_handle, ring_id, record_handle, record_id;

	(void)state;
	assert_int_equal(devx_umem(rig, ring, 16 * 16 + 8 * 64, 0, &ring_handle, &ring_id), 0);
	assert_int_equal(devx_umem(rig, record, 64, 0, &record_handle, &record_id), 0);
	devx_in(&good, CMD_CREATE_QP, CMD_QP_CREATE_BYTES, 16);
	cmd_set(qpc, CMD_QPC_PD, world.pdn);
	cmd_set(qpc, CMD_QPC_LOG_RQ_SIZE, 4);
	cmd_set(qpc, CMD_QPC_LOG_SQ_SIZE, 3);
	cmd_set(qpc, CMD_QPC_UAR, world.page);
	cmd_set(qpc, CMD_QPC_CQN_SEND, world.cq.number);
	cmd_set(qpc, CMD_QPC_CQN_RECV, world.cq.number);
	cmd_set(qpc, CMD_QPC_DBR_UMEM_ID, record_id);
	cmd_set(good.in, CMD_QP_WQ_UMEM_ID, ring_id);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t used = rig->memory_used;
		int error;

		world.devx = good;
		cmd_set(world.devx.in + rows[i].at, rows[i].field, rows[i].value);
		error = devx_create(rig, &world.devx);
		if (error != -EREMOTEIO || devx_status(&world.devx) != rows[i].status)
			fail_msg("%s: %d, status %d", rows[i].name, error,
				 (int)devx_status(&world.devx));
		rig->memory_used = used;
	}
	world.devx = good;
	assert_int_equal(devx_create(rig, &world.devx), 0);
	/* Nothing of what was refused still holds a umem. */
	assert_int_equal(devx_umem_destroy(rig, ring_handle), -EBUSY);
	assert_int_equal(devx_destroy(rig, world.devx.handle), 0);
	assert_int_equal(devx_umem_destroy(rig, ring_handle), 0);
	assert_int_equal(devx_umem_destroy(rig, record_handle), 0);
}

/* ---- completion queues -------------------------------------------------------------------------
 */

static void completion_queues_that_are_refused(void **state)
{
	static const struct {
		const char *name;
		uint16_t at;
		struct cmd_field field;
		uint32_t value;
		enum cmd_status status;
	} rows[] = {
	    {"entries of 256 bytes", 0x10, {0x00, 21, 3}, 2, CMD_BAD_PARAM},
	    {"compressed", 0x10, {0x00, 14, 1}, 1, CMD_BAD_PARAM},
	    {"too many entries", 0x10, {0x0c, 24, 5}, 23, CMD_BAD_PARAM},
	    {"more than the umem has", 0x10, {0x0c, 24, 5}, 5, CMD_BAD_RES},
	    {"another's register", 0x10, {0x0c, 0, 24}, 6, CMD_BAD_RES},
	    {"another event queue", 0x10, {0x14, 0, 8}, 9, CMD_BAD_RES},
	    {"no umem", 0, {0x58, 0, 32}, 0, CMD_BAD_RES},
	    {"offset", 0, {0x54, 0, 32}, 64, CMD_BAD_RES},
	    {"record's umem", 0x10, {0x04, 0, 32}, 77777, CMD_BAD_RES},
	    {"record's place", 0x10, {0x3c, 0, 32}, 4, CMD_BAD_PARAM},
	};
	struct kern_rig *rig = &world.rig;
	uint8_t *ring = rig_alloc(rig, 64 << DEVX_LOG_CQ), *record = rig_alloc(rig, 64);
	uint32_t handle, ring_id, record_id;
	struct devx good;
	uint8_t *cqc = good.in + CMD_CQ_CQC;

	(void)state;
	assert_int_equal(devx_umem(rig, ring, 64 << DEVX_LOG_CQ, 1, &handle, &ring_id), 0);
	assert_int_equal(devx_umem(rig, record, 64, 1, &handle, &record_id), 0);
	devx_in(&good, CMD_CREATE_CQ, CMD_CQ_CREATE_BYTES, 16);
	cmd_set(cqc, CMD_CQC_LOG_SIZE, DEVX_LOG_CQ);
	cmd_set(cqc, CMD_CQC_UAR, world.page);
	cmd_set(cqc, CMD_CQC_EQN, 1);
	cmd_set(cqc, CMD_CQC_DBR_UMEM, record_id);
	cmd_set(good.in, CMD_CQ_UMEM_ID, ring_id);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t used = rig->memory_used;
		int error;

		world.devx = good;
		cmd_set(world.devx.in + rows[i].at, rows[i].field, rows[i].value);
		error = devx_create(rig, &world.devx);
		if (error != -EREMOTEIO || devx_status(&world.devx) != rows[i].status)
			fail_msg("%s: %d, status %d", rows[i].name, error,
				 (int)devx_status(&world.devx));
		rig->memory_used = used;
	}
	world.devx = good;
	assert_int_equal(devx_create(rig, &world.devx), 0);
	cmd_set(world.devx.in, CMD_NUMBER, devx_number(&world.devx));
	cmd_set(world.devx.in, CMD_OPCODE, CMD_QUERY_CQ);
	world.devx.out_len = 80;
	assert_int_equal(devx_query(rig, &world.devx), 0);
	assert_int_equal(cmd_get(world.devx.out + CMD_CQ_CQC, CMD_CQC_LOG_SIZE), DEVX_LOG_CQ);
}

/* ---- who may name what --------------------------------------------------------------------------
 */

/* A queue pair of the verbs that has no protection domain and no completion queues. */
static void xrc_target(uint32_t *handle, uint32_t *qpn)
{
	struct kern_rig *rig = &world.rig;
	struct ib_uverbs_open_xrcd req = {.fd = UINT32_MAX};
	struct ib_uverbs_open_xrcd_resp xrcd;
	struct ib_uverbs_qp_cap cap = {0};
	const uint32_t *number;

	assert_int_equal(rig_write(rig, IB_USER_VERBS_CMD_OPEN_XRCD, &req, sizeof(req), &xrcd,
				   sizeof(xrcd), NULL, 0),
			 0);
	rig_call(rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, xrcd.xrcd_handle, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0);
	rig_in(rig, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_XRC_TGT);
	rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap));
	number = rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, sizeof(*number));
	assert_int_equal(rig_run(rig), 0);
	*handle = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_QP_HANDLE);
	*qpn = *number;
}

/* ECE: in CREATE_QP, in an edge, and in what a query tells. */
static void ece_by_command(void **state)
{
	struct devx *devx = &world.devx;
	uint32_t own;

	(void)state;
	world.qp.ece = 0x10000000;
	assert_int_equal(devx_qp(&world.rig, world.page, world.pdn, world.cq.number, &world.qp), 0);
	own = world.qp.ece;
	assert_true(ece_is_own(own));
	names_qp(CMD_RST2INIT_QP, CMD_QP_CREATE_BYTES, 16);
	cmd_set(devx->in, CMD_QP_ECE, 0x1a2007c2);
	cmd_set(devx->in + CMD_QP_QPC + CMD_QPC_PATH, CMD_ADS_PORT, 1);
	assert_int_equal(devx_modify(&world.rig, devx), 0);
	assert_int_equal(cmd_get(devx->out, CMD_OUT_ECE), ece_answer(own, 0x1a2007c2, true));
	names_qp(CMD_INIT2INIT_QP, CMD_QP_CREATE_BYTES, 16);
	assert_int_equal(devx_modify(&world.rig, devx), 0);
	assert_int_equal(cmd_get(devx->out, CMD_OUT_ECE), ece_answer(own, 0x1a2007c2, true));
	names_qp(CMD_INIT2INIT_QP, CMD_QP_CREATE_BYTES, 16);
	cmd_set(devx->in, CMD_QP_ECE, own);
	assert_int_equal(devx_modify(&world.rig, devx), 0);
	assert_int_equal(cmd_get(devx->out, CMD_OUT_ECE), ece_answer(own, own, true));
	names_qp(CMD_QUERY_QP, 16, 512);
	assert_int_equal(devx_query(&world.rig, devx), 0);
	assert_int_equal(cmd_get(devx->out, CMD_QP_ECE), ece_answer(own, own, true));
	/* Who does not ask has none. */
	world.qp.ece = 0;
	assert_int_equal(devx_qp(&world.rig, world.page, world.pdn, world.cq.number, &world.qp), 0);
	assert_int_equal(world.qp.ece, 0);
}

static void a_queue_pair_without_queues(void **state)
{
	uint32_t handle, qpn;

	(void)state;
	xrc_target(&handle, &qpn);
	devx_in(&world.devx, CMD_QUERY_QP, 16, 512);
	world.devx.handle = handle;
	cmd_set(world.devx.in, CMD_NUMBER, qpn);
	assert_int_equal(devx_query(&world.rig, &world.devx), 0);
	assert_int_equal(cmd_get(world.devx.out + CMD_QP_QPC, CMD_QPC_PD), 0);
	assert_int_equal(cmd_get(world.devx.out + CMD_QP_QPC, CMD_QPC_CQN_SEND), 0);
}

static void the_verbs_objects_too(void **state)
{
	struct kern_rig *rig = &world.rig;
	struct rig_cq cq = {.cqe = 15, .comp_fd = -1, .uar_page = world.page};
	struct rig_qp qp = {.pd = world.pd, .uar_page = world.page, .sq_count = 4, .rq_count = 4};
	struct devx_qp mixed = {.rq_count = 16, .sq_count = 8};

	(void)state;
	assert_int_equal(rig_cq(rig, &cq), 0);
	qp.send_cq = qp.recv_cq = cq.handle;
	assert_int_equal(rig_qp(rig, &qp), 0);
	/* Queried and modified by command, through the handle of the verbs. */
	devx_in(&world.devx, CMD_QUERY_QP, 16, 512);
	world.devx.handle = qp.handle;
	cmd_set(world.devx.in, CMD_NUMBER, qp.number);
	assert_int_equal(devx_query(rig, &world.devx), 0);
	assert_int_equal(cmd_get(world.devx.out + CMD_QP_QPC, CMD_QPC_PD), world.pdn);
	assert_int_equal(devx_connect(rig, qp.handle, qp.number, qp.number, rig->config.gids[0]),
			 0);
	devx_in(&world.devx, CMD_QUERY_CQ, 16, 80);
	world.devx.handle = cq.handle;
	cmd_set(world.devx.in, CMD_NUMBER, cq.number);
	assert_int_equal(devx_query(rig, &world.devx), 0);
	/* A queue pair of DevX that completes to a queue of the verbs keeps it busy. */
	assert_int_equal(devx_qp(rig, world.page, world.pdn, cq.number, &mixed), 0);
	assert_int_equal(rig_destroy_qp(rig, qp.handle, NULL), 0);
	assert_int_equal(rig_destroy_cq(rig, cq.handle, NULL), -EBUSY);
	assert_int_equal(devx_destroy(rig, mixed.handle), 0);
	assert_int_equal(rig_destroy_cq(rig, cq.handle, NULL), 0);
	/* The verbs do not take DevX's handles. */
	assert_int_equal(rig_destroy_qp(rig, world.qp.handle, NULL), -EINVAL);
	assert_int_equal(rig_destroy_cq(rig, world.cq.handle, NULL), -EINVAL);
}

/* The handle and the number in the command have to be of the same object. */
static void names_that_do_not_fit(void **state)
{
	(void)state;
	names_qp(CMD_QUERY_QP, 16, 512);
	cmd_set(world.devx.in, CMD_NUMBER, world.qp.number + 1);
	assert_int_equal(devx_query(&world.rig, &world.devx), -EINVAL);
	names_qp(CMD_QUERY_QP, 16, 512);
	world.devx.handle = world.cq.handle;
	assert_int_equal(devx_query(&world.rig, &world.devx), -EINVAL);
	world.devx.handle = world.pd;
	assert_int_equal(devx_query(&world.rig, &world.devx), -EINVAL);
	world.devx.handle = 4000000;
	assert_int_equal(devx_query(&world.rig, &world.devx), -ENOENT);
	/* Each command has its method. */
	names_qp(CMD_QUERY_QP, 16, 512);
	assert_int_equal(devx_modify(&world.rig, &world.devx), -EINVAL);
	assert_int_equal(devx_other(&world.rig, &world.devx), -EINVAL);
	assert_int_equal(devx_create(&world.rig, &world.devx), -EINVAL);
	names_qp(CMD_2ERR_QP, 16, 16);
	assert_int_equal(devx_query(&world.rig, &world.devx), -EINVAL);
	devx_in(&world.devx, CMD_QUERY_LAG, 16, 16);
	assert_int_equal(devx_create(&world.rig, &world.devx), -EINVAL);
}

static void another_context(void **state)
{
	struct kern_rig *rig = &world.rig;
	struct kern_file *one = rig->file;
	struct devx_qp qp = {.rq_count = 16, .sq_count = 8};
	uint32_t uar, page;

	(void)state;
	assert_int_equal(kern_open(rig->kern, &rig->file), 0);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_uar(rig, &uar, &page), 0);
	assert_int_equal(devx_qp(rig, page, world.pdn, world.cq.number, &qp), -EREMOTEIO);
	names_qp(CMD_QUERY_QP, 16, 512);
	assert_int_equal(devx_query(rig, &world.devx), -ENOENT);
	assert_int_equal(devx_destroy(rig, world.qp.handle), -ENOENT);
	kern_close(rig->file, 0);
	rig->file = one;
}

/* ---- umems --------------------------------------------------------------------------------------
 */

static void umems(void **state)
{
	struct kern_rig *rig = &world.rig;
	uint8_t *memory = rig_alloc(rig, 4096);
	uint32_t handle, id;

	(void)state;
	assert_int_equal(devx_umem(rig, memory, 0, 1, &handle, &id), -EINVAL);
	assert_int_equal(devx_umem(rig, memory, UINT64_MAX, 1, &handle, &id), -EINVAL);
	assert_int_equal(devx_umem(rig, memory, 2 << 20, 1, &handle, &id), -EFAULT);
	assert_int_equal(devx_umem(rig, memory, 64, 8, &handle, &id), -EINVAL);
	assert_int_equal(devx_umem(rig, memory, 64, 2, &handle, &id), -EINVAL);
	assert_int_equal(devx_umem(rig, memory, 64, 3, &handle, &id), 0);
	assert_int_not_equal(id, 0);
	assert_int_equal(devx_umem_destroy(rig, handle), 0);
	assert_int_equal(devx_umem_destroy(rig, handle), -ENOENT);
	/* In use. */
	assert_int_equal(devx_umem_destroy(rig, world.qp.ring_umem), -EBUSY);
	assert_int_equal(devx_umem_destroy(rig, world.cq.record_umem), -EBUSY);
	assert_int_equal(devx_destroy(rig, world.cq.handle), -EBUSY);
	assert_int_equal(devx_destroy(rig, world.qp.handle), 0);
	assert_int_equal(devx_destroy(rig, world.cq.handle), 0);
	assert_int_equal(devx_umem_destroy(rig, world.qp.ring_umem), 0);
}

static void umem_page_sizes(void **state)
{
	static const struct {
		uint64_t bitmap;
		int error;
	} rows[] = {
	    {UINT64_C(1) << 12, 0},       {UINT64_C(1) << 13, 0}, {UINT64_C(1) << 14, -EINVAL},
	    {UINT64_C(1) << 11, -EINVAL}, {0, -EINVAL},
	};
	uint8_t *memory = rig_alloc(&world.rig, 8192);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kern_rig *rig = &world.rig;

		rig_call(rig, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
		rig_attr(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0, 0);
		rig_in64(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, rig_va(memory));
		rig_in64(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, 8192);
		rig_in32(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, 1);
		rig_in64(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, rows[i].bitmap);
		rig_out(rig, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, 4);
		assert_int_equal(rig_run(rig), rows[i].error);
	}
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

static void reserved_numbers(void **state)
{
	struct kern_rig *rig = &world.rig;
	struct devx_qp qp = {.rq_count = 16, .sq_count = 8};
	uint32_t reserved, handle;

	(void)state;
	devx_in(&world.devx, CMD_CREATE_GENERAL_OBJECT, 32, 16);
	cmd_set(world.devx.in, CMD_OBJ_TYPE, CMD_OBJ_RESERVED_QPN);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	reserved = devx_number(&world.devx);
	handle = world.devx.handle;
	assert_int_not_equal(reserved, world.qp.number);
	for (int i = 0; i < 100; i++) {
		size_t used = rig->memory_used;

		assert_int_equal(devx_qp(rig, world.page, world.pdn, world.cq.number, &qp), 0);
		assert_int_not_equal(qp.number, reserved);
		assert_int_equal(devx_destroy(rig, qp.handle), 0);
		assert_int_equal(devx_umem_destroy(rig, qp.ring_umem), 0);
		assert_int_equal(devx_umem_destroy(rig, qp.record_umem), 0);
		rig->memory_used = used;
	}
	assert_int_equal(devx_destroy(rig, handle), 0);
	cmd_set(world.devx.in, CMD_OBJ_LOG_RANGE, 1);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_PARAM);
	devx_in(&world.devx, CMD_CREATE_GENERAL_OBJECT, 32, 16);
	cmd_set(world.devx.in, CMD_OBJ_TYPE, 0xc);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_OP);
}

static void domains_by_command(void **state)
{
	struct kern_rig *rig = &world.rig;
	struct devx_qp qp = {.rq_count = 16, .sq_count = 8};
	uint32_t handle;

	(void)state;
	devx_in(&world.devx, CMD_ALLOC_PD, 16, 16);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	handle = world.devx.handle;
	assert_int_equal(devx_qp(rig, world.page, devx_number(&world.devx), world.cq.number, &qp),
			 0);
	assert_int_equal(devx_destroy(rig, handle), -EBUSY);
	assert_int_equal(devx_destroy(rig, qp.handle), 0);
	assert_int_equal(devx_destroy(rig, handle), 0);
	devx_in(&world.devx, CMD_ALLOC_TRANSPORT_DOMAIN, 16, 16);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	assert_int_equal(devx_destroy(rig, world.devx.handle), 0);
	devx_in(&world.devx, CMD_CREATE_TIS, 256, 16);
	assert_int_equal(devx_create(rig, &world.devx), -EOPNOTSUPP);
	assert_int_equal(devx_status(&world.devx), CMD_BAD_OP);
	devx_in(&world.devx, CMD_ALLOC_FLOW_COUNTER, 16, 16);
	assert_int_equal(devx_create(rig, &world.devx), -EOPNOTSUPP);
	devx_in(&world.devx, 0xdead, 256, 16);
	assert_int_equal(devx_create(rig, &world.devx), -EINVAL);
}

/* Whatever a context leaves behind goes with it; nothing that it used is busy for ever. */
static void close_takes_all(void **state)
{
	struct kern_rig *rig = &world.rig;

	(void)state;
	devx_world_connect();
	devx_in(&world.devx, CMD_CREATE_GENERAL_OBJECT, 32, 16);
	cmd_set(world.devx.in, CMD_OBJ_TYPE, CMD_OBJ_RESERVED_QPN);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	kern_close(rig->file, rig->now_ns);
	nic_check(rig->nic);
	assert_int_equal(kern_open(rig->kern, &rig->file), 0);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	devx_world_pd();
	assert_int_equal(devx_cq(rig, world.page, DEVX_LOG_CQ, &world.cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_message, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(query_tells_what_was_set, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(udp_source_port, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(edges_that_are_none, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(queue_pairs_that_are_refused, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(completion_queues_that_are_refused, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(the_verbs_objects_too, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(ece_by_command, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(a_queue_pair_without_queues, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(names_that_do_not_fit, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(another_context, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(umems, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(umem_page_sizes, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(reserved_numbers, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(domains_by_command, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(close_takes_all, devx_world_open, devx_world_close),
	};

	return cmocka_run_group_tests_name("kern_devx", tests, NULL, NULL);
}
