/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that keys and receive memory pools made by firmware commands are where their umems are, and
 * what each refusal looks like.
 * By mailboxes built field by field, and messages over a queue pair that a command made.
 */
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/devx_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- keys ---------------------------------------------------------------------------------------
 */

static void mkey_in(uint32_t mode, uint64_t start, uint64_t len)
{
	uint8_t *mkc = world.devx.in + CMD_MKEY_MKC;

	devx_in(&world.devx, CMD_CREATE_MKEY, CMD_MKEY_KLMS + 64, 16);
	cmd_set(mkc, CMD_MKC_MODE, mode);
	cmd_set(mkc, CMD_MKC_LW, 1);
	cmd_set(mkc, CMD_MKC_RW, 1);
	cmd_set(mkc, CMD_MKC_RR, 1);
	cmd_set(mkc, CMD_MKC_LR, 1);
	cmd_set(mkc, CMD_MKC_QPN, 0xffffff);
	cmd_set(mkc, CMD_MKC_TAG, 0x42);
	cmd_set(mkc, CMD_MKC_PD, world.pdn);
	be64_store(mkc + CMD_MKC_START, start);
	be64_store(mkc + CMD_MKC_LEN, len);
}

/* A key over a umem, at its own addresses; and one of two pieces, the second of which is the first
 * in memory. Both are made with the tag that the command says. */
static void keys(void **state)
{
	struct kern_rig *rig = &world.rig;
	uint8_t *buf = rig_alloc(rig, 3 * 4096);
	uint32_t umem, id, direct, direct_handle, pieces;
	uint64_t start = 0x7700000000000000 + (rig_va(buf) & 0xfff);

	(void)state;
	devx_world_connect();
	assert_int_equal(devx_umem(rig, buf, 3 * 4096, 1, &umem, &id), 0);
	mkey_in(CMD_MKC_MODE_MTT, start + 0x10, 4096);
	cmd_set(world.devx.in, CMD_MKEY_UMEM_ID, id);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	direct = devx_number(&world.devx) << 8 | 0x42;
	direct_handle = world.devx.handle;
	memcpy(world.memory, "abcdefgh", 8);
	devx_world_receive(0, direct, start + 0x20, 8);
	devx_world_post(WQE_OP_SEND, 0, world.mr.lkey, rig_va(world.memory), 8);
	rig_pump(rig);
	assert_memory_equal(buf + 0x20, "abcdefgh", 8);
	assert_int_equal(devx_umem_destroy(rig, umem), -EBUSY);

	mkey_in(CMD_MKC_MODE_KLM, 0, 8);
	cmd_set(world.devx.in + CMD_MKEY_MKC, CMD_MKC_COUNT, 4);
	cmd_set(world.devx.in, CMD_MKEY_ACTUAL_COUNT, 2);
	be32_store(world.devx.in + CMD_MKEY_KLMS, 4);
	be32_store(world.devx.in + CMD_MKEY_KLMS + 4, direct);
	be64_store(world.devx.in + CMD_MKEY_KLMS + 8, start + 0x24);
	be32_store(world.devx.in + CMD_MKEY_KLMS + 16, 4);
	be32_store(world.devx.in + CMD_MKEY_KLMS + 20, direct);
	be64_store(world.devx.in + CMD_MKEY_KLMS + 24, start + 0x20);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	pieces = devx_number(&world.devx) << 8 | 0x42;
	devx_world_receive(1, world.mr.lkey, rig_va(world.memory) + 4096, 8);
	devx_world_post(WQE_OP_SEND, 1, pieces, 0, 8);
	rig_pump(rig);
	assert_memory_equal(world.memory + 4096, "efghabcd", 8);
	assert_int_equal(devx_destroy(rig, world.devx.handle), 0);
	assert_int_equal(devx_destroy(rig, direct_handle), 0);
	assert_int_equal(devx_umem_destroy(rig, umem), 0);
}

static void keys_that_are_refused(void **state)
{
	struct kern_rig *rig = &world.rig;
	uint8_t *buf = rig_alloc(rig, 8192);
	uint32_t umem, id, read_only;

	(void)state;
	assert_int_equal(devx_umem(rig, buf, 8192, 1, &umem, &id), 0);
	assert_int_equal(devx_umem(rig, buf, 8192, 0, &umem, &read_only), 0);
	mkey_in(CMD_MKC_MODE_MTT, rig_va(buf), 8192);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_RES); /* no umem */
	cmd_set(world.devx.in, CMD_MKEY_UMEM_ID, read_only);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_PARAM);
	cmd_set(world.devx.in, CMD_MKEY_UMEM_ID, id);
	be64_store(world.devx.in + CMD_MKEY_MKC + CMD_MKC_LEN, 8193);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_PARAM);
	cmd_set(world.devx.in + CMD_MKEY_MKC, CMD_MKC_LENGTH64, 1);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_PARAM);
	mkey_in(CMD_MKC_MODE_PA, 0, 64);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_PARAM);
	mkey_in(CMD_MKC_MODE_KSM, 0, 64);
	cmd_set(world.devx.in, CMD_MKEY_ACTUAL_COUNT, 5); /* the command has four */
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_INP_LEN);
	cmd_set(world.devx.in, CMD_MKEY_ACTUAL_COUNT, UINT32_MAX);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_INP_LEN);
	mkey_in(CMD_MKC_MODE_KLM, 0, 64);
	cmd_set(world.devx.in + CMD_MKEY_MKC, CMD_MKC_COUNT, UINT32_MAX);
	devx_world_refused(devx_create(rig, &world.devx), CMD_NO_RES);
	mkey_in(CMD_MKC_MODE_KLM, 0, 64);
	cmd_set(world.devx.in + CMD_MKEY_MKC, CMD_MKC_PD, world.pdn + 1);
	devx_world_refused(devx_create(rig, &world.devx), CMD_BAD_RES);
}

/* ---- receive memory pools -----------------------------------------------------------------------
 */

enum { RMP_COUNT = 4, RMP_BYTES = 32 };

static void rmp_in(uint32_t type, uint32_t ring_id, uint32_t record_id)
{
	uint8_t *wq = world.devx.in + CMD_RMP_WQ;

	devx_in(&world.devx, CMD_CREATE_RMP, 272, 16);
	cmd_set(wq, CMD_WQ_TYPE, type);
	cmd_set(wq, CMD_WQ_PD, world.pdn);
	cmd_set(wq, CMD_WQ_LOG_STRIDE, 5);
	cmd_set(wq, CMD_WQ_LOG_SIZE, 2);
	cmd_set(wq, CMD_WQ_UMEM_ID, ring_id);
	cmd_set(wq, CMD_WQ_DBR_UMEM_ID, record_id);
}

/* The traffic helpers post to world.qp: from here on one that has a send ring only, and whose
 * receives are those of a shared queue. */
static int qp_of_shared(uint32_t srqn)
{
	struct kern_rig *rig = &world.rig;
	uint8_t *sq = rig_alloc(rig, 8 * 64), *qpc = world.devx.in + CMD_QP_QPC;
	uint32_t *qp_record = rig_alloc(rig, 64);
	uint32_t sq_umem, sq_id, qp_umem, qp_id;
	int error;

	assert_int_equal(devx_umem(rig, sq, 8 * 64, 0, &sq_umem, &sq_id), 0);
	assert_int_equal(devx_umem(rig, qp_record, 64, 0, &qp_umem, &qp_id), 0);
	devx_in(&world.devx, CMD_CREATE_QP, CMD_QP_CREATE_BYTES, 16);
	cmd_set(qpc, CMD_QPC_PD, world.pdn);
	cmd_set(qpc, CMD_QPC_LOG_SQ_SIZE, 3);
	cmd_set(qpc, CMD_QPC_UAR, world.page);
	cmd_set(qpc, CMD_QPC_RQ_TYPE, CMD_QPC_RQ_SHARED);
	cmd_set(qpc, CMD_QPC_SRQN, srqn);
	cmd_set(qpc, CMD_QPC_CQN_SEND, world.cq.number);
	cmd_set(qpc, CMD_QPC_CQN_RECV, world.cq.number);
	cmd_set(qpc, CMD_QPC_DBR_UMEM_ID, qp_id);
	cmd_set(world.devx.in, CMD_QP_WQ_UMEM_ID, sq_id);
	error = devx_create(rig, &world.devx);
	if (error)
		return error;
	world.qp = (struct devx_qp){.handle = world.devx.handle,
				    .number = devx_number(&world.devx),
				    .ring = sq,
				    .record = qp_record,
				    .sq_count = 8};
	return 0;
}

/* Entries of which each names the one before as the next, posted all. */
static void fill_shared(uint8_t *ring, uint32_t *record)
{
	for (uint32_t i = 0; i < RMP_COUNT; i++) {
		struct wqe_srq_next_seg *next = (void *)(ring + (size_t)i * RMP_BYTES);
		struct wqe_data_seg *piece = (void *)(next + 1);

		next->next_wqe_index = be16_from((uint16_t)((i + RMP_COUNT - 1) % RMP_COUNT));
		*piece = (struct wqe_data_seg){be32_from(64), be32_from(world.mr.lkey),
					       be64_from(rig_va(world.memory) + 4096 + 64 * i)};
	}
	record[DB_SRQ] = be32_from(RMP_COUNT).raw;
}

/* Each message to itself lands in the entry that is its turn. */
static void send_in_order(const uint16_t order[static RMP_COUNT])
{
	devx_world_connect();
	for (uint32_t i = 0; i < RMP_COUNT; i++) {
		uint8_t *to = world.memory + 4096 + 64 * (size_t)order[i];

		memset(world.memory, 'a' + (int)i, 8);
		devx_world_post(WQE_OP_SEND, i, world.mr.lkey, rig_va(world.memory), 8);
		rig_pump(&world.rig);
		assert_memory_equal(to, world.memory, 8);
	}
}

/* A queue pair without receives of its own takes those of a pool: in the order of the list, which
 * here goes backwards, or in that of the ring. */
static void pool_of_type(uint32_t type, const uint16_t order[static RMP_COUNT])
{
	struct kern_rig *rig = &world.rig;
	uint8_t *ring = rig_alloc(rig, RMP_COUNT * RMP_BYTES);
	uint32_t *record = rig_alloc(rig, 64);
	uint32_t ring_umem, ring_id, record_umem, record_id, rmp;

	assert_int_equal(devx_umem(rig, ring, RMP_COUNT * RMP_BYTES, 0, &ring_umem, &ring_id), 0);
	assert_int_equal(devx_umem(rig, record, 64, 0, &record_umem, &record_id), 0);
	fill_shared(ring, record);
	rmp_in(type, ring_id, record_id);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	rmp = world.devx.handle;
	assert_int_equal(qp_of_shared(devx_number(&world.devx)), 0);
	send_in_order(order);
	assert_int_equal(devx_destroy(rig, rmp), -EBUSY);
	assert_int_equal(devx_umem_destroy(rig, ring_umem), -EBUSY);
	assert_int_equal(devx_destroy(rig, world.qp.handle), 0);
	assert_int_equal(devx_destroy(rig, rmp), 0);
	assert_int_equal(devx_umem_destroy(rig, ring_umem), 0);
}

/* The verbs' shared queue does as well. */
static void queue_of_the_verbs(void **state)
{
	static const uint16_t list[] = {0, 3, 2, 1};
	struct kern_rig *rig = &world.rig;
	uint8_t *ring = rig_alloc(rig, RMP_COUNT * RMP_BYTES);
	uint32_t *record = rig_alloc(rig, 64);
	struct mlx5_ib_create_srq driver = {.buf_addr = rig_va(ring), .db_addr = rig_va(record)};
	struct mlx5_ib_create_srq_resp *resp;
	uint32_t srq;

	(void)state;
	fill_shared(ring, record);
	rig_call(rig, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, world.pd, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC);
	rig_in64(rig, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 1);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_MAX_WR, RMP_COUNT - 1);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 1);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4);
	rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	resp = rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(*resp));
	assert_int_equal(rig_run(rig), 0);
	srq = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_SRQ_HANDLE);
	assert_int_equal(qp_of_shared(resp->srqn), 0);
	send_in_order(list);
	rig_call(rig, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_SRQ_HANDLE, srq, 0);
	rig_out(rig, UVERBS_ATTR_DESTROY_SRQ_RESP, sizeof(struct ib_uverbs_destroy_srq_resp));
	assert_int_equal(rig_run(rig), -EBUSY);
	assert_int_equal(qp_of_shared(resp->srqn + 1), -EREMOTEIO);
}

static void receive_pools(void **state)
{
	static const uint16_t list[] = {0, 3, 2, 1}, cyclic[] = {0, 1, 2, 3};

	(void)state;
	pool_of_type(CMD_WQ_LIST, list);
	/* The memory of the first pool's completions is used again. */
	memset(world.memory, 0, 8192);
	pool_of_type(CMD_WQ_CYCLIC, cyclic);
}

static void receive_pools_that_are_refused(void **state)
{
	static const struct {
		const char *name;
		struct cmd_field field;
		uint32_t value;
		enum cmd_status status;
	} rows[] = {
	    {"striding", {0x00, 28, 4}, 2, CMD_BAD_PARAM},
	    {"no such domain", {0x08, 0, 24}, 12345, CMD_BAD_RES},
	    {"longer than the umem", {0x20, 0, 5}, 3, CMD_BAD_RES},
	    {"longest", {0x20, 0, 5}, 31, CMD_BAD_RES},
	    {"no room for a piece", {0x20, 16, 4}, 4, CMD_BAD_PARAM},
	    {"no umem", {0x2c, 0, 32}, 0, CMD_BAD_RES},
	    {"no record", {0x28, 0, 32}, 0, CMD_BAD_RES},
	    {"record outside", {0x14, 0, 32}, 64, CMD_BAD_RES},
	};
	struct kern_rig *rig = &world.rig;
	uint8_t *ring = rig_alloc(rig, RMP_COUNT * RMP_BYTES), *record = rig_alloc(rig, 64);
	uint32_t handle, ring_id, record_id;

	(void)state;
	assert_int_equal(devx_umem(rig, ring, RMP_COUNT * RMP_BYTES, 0, &handle, &ring_id), 0);
	assert_int_equal(devx_umem(rig, record, 64, 0, &handle, &record_id), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error;

		rmp_in(CMD_WQ_LIST, ring_id, record_id);
		cmd_set(world.devx.in + CMD_RMP_WQ, rows[i].field, rows[i].value);
		error = devx_create(rig, &world.devx);
		if (error != -EREMOTEIO || devx_status(&world.devx) != rows[i].status)
			fail_msg("%s: %d, status %d", rows[i].name, error,
				 (int)devx_status(&world.devx));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(keys, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(keys_that_are_refused, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(receive_pools, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(queue_of_the_verbs, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(receive_pools_that_are_refused, devx_world_open,
					    devx_world_close),
	};

	return cmocka_run_group_tests_name("kern_devx_memory", tests, NULL, NULL);
}
