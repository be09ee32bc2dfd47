/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that targets and initiators of dynamically connected queue pairs that firmware commands
 * make carry messages, what QUERY_DCT and DRAIN_DCT say and do, and what each refusal looks like.
 * By mailboxes built field by field, as UCX builds them.
 */
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/devx_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SQ_LOG = 4, RMP_COUNT = 4, RMP_BYTES = 32 };

#define KEY 0x1122334455667788ull

static struct {
	uint32_t rmpn;
	uint8_t *sq;
	uint32_t *record;
	uint32_t dci, dci_handle;
} dc;

static void make_rmp(void)
{
	struct kern_rig *rig = &world.rig;
	uint8_t *ring = rig_alloc(rig, RMP_COUNT * RMP_BYTES), *wq = world.devx.in + CMD_RMP_WQ;
	uint32_t *record = rig_alloc(rig, 64);
	uint32_t ring_umem, ring_id, record_umem, record_id;

	assert_int_equal(devx_umem(rig, ring, RMP_COUNT * RMP_BYTES, 0, &ring_umem, &ring_id), 0);
	assert_int_equal(devx_umem(rig, record, 64, 0, &record_umem, &record_id), 0);
	devx_in(&world.devx, CMD_CREATE_RMP, 272, 16);
	cmd_set(wq, CMD_WQ_TYPE, CMD_WQ_CYCLIC);
	cmd_set(wq, CMD_WQ_PD, world.pdn);
	cmd_set(wq, CMD_WQ_LOG_STRIDE, 5);
	cmd_set(wq, CMD_WQ_LOG_SIZE, 2);
	cmd_set(wq, CMD_WQ_UMEM_ID, ring_id);
	cmd_set(wq, CMD_WQ_DBR_UMEM_ID, record_id);
	assert_int_equal(devx_create(rig, &world.devx), 0);
	dc.rmpn = devx_number(&world.devx);
}

static int open_world(void **state)
{
	assert_int_equal(devx_world_open(state), 0);
	make_rmp();
	return 0;
}

static int close_world(void **state)
{
	nic_check(world.rig.nic);
	return devx_world_close(state);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void dct_in(void)
{
	uint8_t *dctc = world.devx.in + CMD_DCT_DCTC;

	devx_in(&world.devx, CMD_CREATE_DCT, 128, 16);
	cmd_set(dctc, CMD_DCTC_USER_INDEX, 0x77);
	cmd_set(dctc, CMD_DCTC_CQN, world.cq.number);
	cmd_set(dctc, CMD_DCTC_RWE, 1);
	cmd_set(dctc, CMD_DCTC_MIN_RNR_NAK, 12);
	cmd_set(dctc, CMD_DCTC_SRQN, dc.rmpn);
	cmd_set(dctc, CMD_DCTC_PD, world.pdn);
	be64_store(dctc + CMD_DCTC_KEY, KEY);
	cmd_set(dctc, CMD_DCTC_MTU, UV_MTU_1024);
	cmd_set(dctc, CMD_DCTC_PORT, 1);
}

static void dci_in(void)
{
	struct kern_rig *rig = &world.rig;
	uint8_t *qpc = world.devx.in + CMD_QP_QPC;
	uint32_t sq_umem, sq_id, record_umem, record_id;

	dc.sq = rig_alloc(rig, 64 << SQ_LOG);
	dc.record = rig_alloc(rig, 64);
	assert_int_equal(devx_umem(rig, dc.sq, 64 << SQ_LOG, 0, &sq_umem, &sq_id), 0);
	assert_int_equal(devx_umem(rig, dc.record, 64, 0, &record_umem, &record_id), 0);
	devx_in(&world.devx, CMD_CREATE_QP, CMD_QP_CREATE_BYTES, 16);
	cmd_set(qpc, CMD_QPC_TYPE, CMD_QPC_DCI);
	cmd_set(qpc, CMD_QPC_PD, world.pdn);
	cmd_set(qpc, CMD_QPC_LOG_SQ_SIZE, SQ_LOG);
	cmd_set(qpc, CMD_QPC_UAR, world.page);
	cmd_set(qpc, CMD_QPC_RQ_TYPE, CMD_QPC_RQ_NONE);
	cmd_set(qpc, CMD_QPC_USER_INDEX, 0x88);
	cmd_set(qpc, CMD_QPC_CQN_SEND, world.cq.number);
	cmd_set(qpc, CMD_QPC_DBR_UMEM_ID, record_id);
	cmd_set(world.devx.in, CMD_QP_WQ_UMEM_ID, sq_id);
}

static void edge(enum cmd_opcode opcode)
{
	uint8_t *qpc = world.devx.in + CMD_QP_QPC;

	devx_in(&world.devx, opcode, CMD_QP_CREATE_BYTES, 16);
	cmd_set(world.devx.in, CMD_NUMBER, dc.dci);
	cmd_set(qpc + CMD_QPC_PATH, CMD_ADS_PORT, 1);
	cmd_set(qpc + CMD_QPC_PATH, CMD_ADS_ACK_TIMEOUT, 14);
	cmd_set(qpc, CMD_QPC_MTU, UV_MTU_1024);
	cmd_set(qpc, CMD_QPC_RETRY_COUNT, 0);
	cmd_set(qpc, CMD_QPC_RNR_RETRY, 7);
	world.devx.handle = dc.dci_handle;
	assert_int_equal(devx_modify(&world.rig, &world.devx), 0);
}

static void make_dci(uint32_t streams_log2, uint32_t failed_log2)
{
	dci_in();
	cmd_set(world.devx.in + CMD_QP_QPC, CMD_QPC_LOG_STREAMS, streams_log2);
	cmd_set(world.devx.in + CMD_QP_QPC, CMD_QPC_LOG_FAILED, failed_log2);
	assert_int_equal(devx_create(&world.rig, &world.devx), 0);
	dc.dci = devx_number(&world.devx);
	dc.dci_handle = world.devx.handle;
	edge(CMD_RST2INIT_QP);
	edge(CMD_INIT2RTR_QP);
	edge(CMD_RTR2RTS_QP);
}

/* The n-th entry, of two blocks: eight bytes to 64 bytes further on, by the key lkey. */
static void write_by(uint32_t dctn, uint32_t n, uint16_t stream, uint32_t lkey)
{
	struct wqe_av av = {.dc_key = be64_from(KEY),
			    .dqp_dct = be32_from(WQE_AV_EXTENDED_F | dctn),
			    .hop_limit = 1};
	struct wqe_ctrl_seg ctrl = {.opmod_idx_opcode =
					wqe_ctrl_op(0, (uint16_t)(2 * n), WQE_OP_WRITE),
				    .qpn_ds = wqe_ctrl_qpn_ds(dc.dci, 6),
				    .dci_stream = {(uint8_t)(stream >> 8), (uint8_t)stream},
				    .fm_ce_se = WQE_CE_ALWAYS};
	struct wqe_raddr_seg raddr = {.va = be64_from(rig_va(world.memory + 64)),
				      .rkey = be32_from(world.mr.rkey)};
	struct wqe_data_seg data = {.byte_count = be32_from(8),
				    .lkey = be32_from(lkey),
				    .va = be64_from(rig_va(world.memory))};
	uint8_t *at = dc.sq + 128 * (size_t)n;

	memcpy(av.rgid, world.rig.config.gids[0], 16);
	memcpy(at, &ctrl, 16);
	memcpy(at + 16, &av, 48);
	memcpy(at + 64, &raddr, 16);
	memcpy(at + 80, &data, 16);
	dc.record[DB_SEND] = be32_from(2 * (n + 1)).raw;
	nic_scan(world.rig.nic, world.rig.now_ns);
	rig_pump(&world.rig);
}

static void write_to(uint32_t dctn, uint32_t n)
{
	write_by(dctn, n, 0, world.mr.lkey);
}

static struct cqe64 completion(uint32_t n)
{
	struct cqe64 cqe;

	memcpy(&cqe, world.cq.ring + sizeof(cqe) * n, sizeof(cqe));
	return cqe;
}

static uint32_t state_of(uint32_t handle, uint32_t dctn)
{
	devx_in(&world.devx, CMD_QUERY_DCT, 16, 128);
	cmd_set(world.devx.in, CMD_NUMBER, dctn);
	world.devx.handle = handle;
	assert_int_equal(devx_query(&world.rig, &world.devx), 0);
	return cmd_get(world.devx.out + CMD_DCT_DCTC, CMD_DCTC_STATE);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* A target is ready as soon as it is made; drained, it serves nobody; it says what it is. */
static void a_message_and_a_drain(void **state)
{
	const uint8_t *dctc = world.devx.out + CMD_DCT_DCTC;
	uint32_t dct, dctn;
	struct cqe64 cqe;

	(void)state;
	dct_in();
	assert_int_equal(devx_create(&world.rig, &world.devx), 0);
	dct = world.devx.handle;
	dctn = devx_number(&world.devx);
	make_dci(0, 0);
	memcpy(world.memory, "command", 8);
	write_to(dctn, 0);
	cqe = completion(0);
	assert_int_equal(cqe_opcode_of(cqe.op_own), CQE_REQ);
	assert_int_equal(be32_to(cqe.srqn_uidx), 0x88);
	assert_memory_equal(world.memory + 64, "command", 8);

	assert_int_equal(state_of(dct, dctn), CMD_DCTC_STATE_ACTIVE);
	assert_int_equal(cmd_get(dctc, CMD_DCTC_USER_INDEX), 0x77);
	assert_int_equal(cmd_get(dctc, CMD_DCTC_CQN), world.cq.number);
	assert_int_equal(cmd_get(dctc, CMD_DCTC_SRQN), dc.rmpn);
	assert_int_equal(cmd_get(dctc, CMD_DCTC_PD), world.pdn);
	assert_int_equal(cmd_get(dctc, CMD_DCTC_RWE), 1);
	assert_int_equal(cmd_get(dctc, CMD_DCTC_RRE), 0);
	assert_int_equal(cmd_get(dctc, CMD_DCTC_MTU), UV_MTU_1024);
	assert_true(be64_load(dctc + CMD_DCTC_KEY) == KEY);

	devx_in(&world.devx, CMD_DRAIN_DCT, 16, 16);
	cmd_set(world.devx.in, CMD_NUMBER, dctn);
	world.devx.handle = dct;
	assert_int_equal(devx_modify(&world.rig, &world.devx), 0);
	assert_int_equal(state_of(dct, dctn), CMD_DCTC_STATE_DRAINED);
	write_to(dctn, 1);
	world.rig.now_ns += 200000000;
	rig_pump(&world.rig);
	cqe = completion(1);
	assert_int_equal(cqe_opcode_of(cqe.op_own), CQE_REQ_ERR);

	/* It uses its queue until it goes. */
	assert_int_equal(devx_destroy(&world.rig, world.cq.handle), -EBUSY);
	assert_int_equal(devx_destroy(&world.rig, dct), 0);
	assert_int_equal(devx_destroy(&world.rig, dc.dci_handle), 0);
}

/* Each field that is wrong, one at a time. */
static void targets_that_are_refused(void **state)
{
	static const struct {
		const char *name;
		struct cmd_field field;
		uint32_t value;
		enum cmd_status status;
	} rows[] = {
	    {"PD", CMD_DCTC_PD, 0xabc, CMD_BAD_RES},
	    {"CQ", CMD_DCTC_CQN, 0xabc, CMD_BAD_RES},
	    {"SRQ", CMD_DCTC_SRQN, 0xabc, CMD_BAD_RES},
	    {"MTU", CMD_DCTC_MTU, 0, CMD_BAD_PARAM},
	    {"port", CMD_DCTC_PORT, 2, CMD_BAD_PARAM},
	    {"GID", CMD_DCTC_SGID_INDEX, 200, CMD_BAD_PARAM},
	    {"P_Key", CMD_DCTC_PKEY_INDEX, 1, CMD_BAD_PARAM},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row \"%s\"\n", rows[i].name);
		dct_in();
		cmd_set(world.devx.in + CMD_DCT_DCTC, rows[i].field, rows[i].value);
		devx_world_refused(devx_create(&world.rig, &world.devx), rows[i].status);
	}
	dct_in();
	world.devx.in_len = 64;
	devx_world_refused(devx_create(&world.rig, &world.devx), CMD_BAD_INP_LEN);
}

static enum cmd_status reset_stream(uint16_t stream)
{
	int error;

	devx_in(&world.devx, CMD_RTS2RTS_QP, CMD_QP_EXTENDED_BYTES, 16);
	cmd_set(world.devx.in, CMD_NUMBER, dc.dci);
	cmd_set(world.devx.in, CMD_QP_EXTENDED, 1);
	be64_store(world.devx.in + CMD_QP_OPT_MASK_HIGH, CMD_QP_OPT_HIGH_DCI_STREAM);
	be16_store(world.devx.in + CMD_QP_EXT_STREAM, stream);
	world.devx.handle = dc.dci_handle;
	error = devx_modify(&world.rig, &world.devx);
	assert_int_equal(error, devx_status(&world.devx) == CMD_OK ? 0 : -EREMOTEIO);
	return devx_status(&world.devx);
}

static uint32_t dci_state(void)
{
	devx_in(&world.devx, CMD_QUERY_QP, 16, CMD_QP_QPC + CMD_QPC_BYTES);
	cmd_set(world.devx.in, CMD_NUMBER, dc.dci);
	world.devx.handle = dc.dci_handle;
	assert_int_equal(devx_query(&world.rig, &world.devx), 0);
	return cmd_get(world.devx.out + CMD_QP_QPC, CMD_QPC_STATE_NOW);
}

static void entry_ends(uint32_t n, uint8_t opcode, uint8_t syndrome)
{
	struct cqe64 cqe = completion(n);

	assert_int_equal(cqe_opcode_of(cqe.op_own), opcode);
	if (opcode == CQE_REQ_ERR)
		assert_int_equal(((const struct cqe_err64 *)(const void *)&cqe)->syndrome,
				 syndrome);
}

/* Of two streams that may fail one does: the other goes on, and a reset brings the first back. */
static void streams(void **state)
{
	uint32_t dctn, bad = world.mr.lkey + 0x100;

	(void)state;
	dct_in();
	assert_int_equal(devx_create(&world.rig, &world.devx), 0);
	dctn = devx_number(&world.devx);
	make_dci(2, 1);
	assert_int_equal(reset_stream(7), CMD_BAD_PARAM);
	write_by(dctn, 0, 7, bad);
	entry_ends(0, CQE_REQ_ERR, CQE_SYND_LOCAL_PROT);
	assert_int_equal(dci_state(), CMD_QPC_STATE_RTS);
	write_by(dctn, 1, 7, world.mr.lkey);
	entry_ends(1, CQE_REQ_ERR, CQE_SYND_WR_FLUSH);
	write_by(dctn, 2, 8, world.mr.lkey);
	entry_ends(2, CQE_REQ, 0);
	assert_int_equal(reset_stream(7), CMD_OK);
	write_by(dctn, 3, 7, world.mr.lkey);
	entry_ends(3, CQE_REQ, 0);
	write_by(dctn, 4, 7, bad);
	assert_int_equal(dci_state(), CMD_QPC_STATE_RTS);
	write_by(dctn, 5, 9, bad);
	entry_ends(5, CQE_REQ_ERR, CQE_SYND_LOCAL_PROT);
	assert_int_equal(dci_state(), CMD_QPC_STATE_ERR);
}

static void streams_that_are_refused(void **state)
{
	uint8_t *qpc = world.devx.in + CMD_QP_QPC;

	(void)state;
	dci_in();
	cmd_set(qpc, CMD_QPC_LOG_STREAMS, 7);
	devx_world_refused(devx_create(&world.rig, &world.devx), CMD_BAD_PARAM);
	dci_in();
	cmd_set(qpc, CMD_QPC_LOG_FAILED, 5);
	devx_world_refused(devx_create(&world.rig, &world.devx), CMD_BAD_PARAM);
	/* Without streams there is none to reset, and the first failure is the queue pair's. */
	make_dci(0, 0);
	assert_int_equal(reset_stream(0), CMD_BAD_PARAM);
	write_by(0x1234, 0, 0, world.mr.lkey + 0x100);
	assert_int_equal(dci_state(), CMD_QPC_STATE_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_message_and_a_drain, open_world, close_world),
	    cmocka_unit_test_setup_teardown(targets_that_are_refused, open_world, close_world),
	    cmocka_unit_test_setup_teardown(streams, open_world, close_world),
	    cmocka_unit_test_setup_teardown(streams_that_are_refused, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
