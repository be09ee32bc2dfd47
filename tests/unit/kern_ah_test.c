/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the sequences of ibv_ud_pingpong and ibv_uc_pingpong, address handles, and multicast, as
 * the kernel answers them. By building the ioctls byte for byte; datagrams go to their own sender.
 */
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { QKEY = 0x11111111 };

struct world {
	struct kern_rig rig;
	uint32_t pd;
	uint32_t page;
	struct rig_cq cq;
	struct rig_qp qp;
};

static struct world world;

static void open_world(bool infiniband)
{
	memset(&world, 0, sizeof(world));
	assert_int_equal(rig_begin(&world.rig, infiniband, &world.pd, &world.page, &world.cq), 0);
}

static int open_ethernet(void **state)
{
	(void)state;
	open_world(false);
	return 0;
}

static int open_infiniband(void **state)
{
	(void)state;
	open_world(true);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	return 0;
}

static struct rig_qp make_qp(uint32_t type)
{
	struct rig_qp qp = {.pd = world.pd,
			    .send_cq = world.cq.handle,
			    .recv_cq = world.cq.handle,
			    .uar_page = world.page,
			    .type = type,
			    .sq_count = 8,
			    .rq_count = 16};

	assert_int_equal(rig_qp(&world.rig, &qp), 0);
	return qp;
}

static int modify(uint32_t handle, uint32_t mask, uint8_t state)
{
	struct ib_uverbs_modify_qp req = {
	    .qp_handle = handle,
	    .attr_mask = mask | UV_QP_STATE,
	    .qp_state = state,
	    .port_num = 1,
	    .qkey = QKEY,
	    .sq_psn = 0x77,
	    .rq_psn = 0x88,
	    .dest_qp_num = 0x1234,
	    .path_mtu = UV_MTU_1024,
	    .qp_access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE,
	    .dest = {.port_num = 1, .is_global = 1},
	};

	memcpy(req.dest.dgid, world.rig.config.gids[0], 16);
	return rig_modify(&world.rig, &req);
}

/* ---- ibv_ud_pingpong ------------------------------------------------------------------------- */

static void ready_ud(const struct rig_qp *qp)
{
	assert_int_equal(
	    modify(qp->handle, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_QKEY, UV_QPS_INIT), 0);
	assert_int_equal(modify(qp->handle, 0, UV_QPS_RTR), 0);
	assert_int_equal(modify(qp->handle, UV_QP_SQ_PSN, UV_QPS_RTS), 0);
}

/* A receive of 100 bytes at data, and a datagram of 8 bytes from data + 512 to the queue pair. */
static void post_to_self(const struct rig_qp *qp, uint8_t *data, uint32_t lkey)
{
	struct wqe_data_seg *receive = (struct wqe_data_seg *)(void *)qp->ring;
	uint8_t *sq = qp->ring + 16 * qp->rq_count;
	struct wqe_ctrl_seg *ctrl = (struct wqe_ctrl_seg *)(void *)sq;
	struct wqe_av *av = (struct wqe_av *)(void *)(sq + 16);
	struct wqe_data_seg *piece = (struct wqe_data_seg *)(void *)(sq + 64);
	uint64_t word;

	*receive = (struct wqe_data_seg){be32_from(100), be32_from(lkey), be64_from(rig_va(data))};
	qp->record[DB_RECV] = be32_from(1).raw;
	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, 0, WQE_OP_SEND);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(qp->number, 5);
	av->ud.qkey = be32_from(QKEY);
	av->dqp_dct = be32_from(WQE_AV_EXTENDED_F | qp->number);
	av->hop_limit = 1;
	memcpy(av->rgid, world.rig.config.gids[0], 16);
	*piece =
	    (struct wqe_data_seg){be32_from(8), be32_from(lkey), be64_from(rig_va(data + 512))};
	qp->record[DB_SEND] = be32_from(2).raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(world.rig.pages + 4096 * world.page + DB_UAR_BF0, &word, sizeof(word));
	rig_pump(&world.rig);
}

static void datagrams(void **state)
{
	struct rig_qp qp = make_qp(IB_UVERBS_QPT_UD);
	const struct cqe64 *cqe = (const struct cqe64 *)(const void *)world.cq.ring;
	uint8_t *data = rig_alloc(&world.rig, 4096);
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_reg_mr_resp mr;
	bool sent_first;

	(void)state;
	assert_int_equal(rig_mr(&world.rig, world.pd, data, 4096, 1, &mr), 0);
	ready_ud(&qp);
	assert_int_equal(rig_query(&world.rig, qp.handle, &resp), 0);
	assert_int_equal(resp.qkey, QKEY);
	assert_int_equal(resp.qp_state, UV_QPS_RTS);
	assert_int_equal(resp.sq_psn, 0x77);
	assert_int_equal(resp.dest_qp_num, 0);
	assert_int_equal(resp.dest.is_global, 0);
	memcpy(data + 512, "datagram", 8);
	post_to_self(&qp, data, mr.lkey);
	assert_memory_equal(data + 40, "datagram", 8);
	assert_int_equal(data[20], 0x45);
	sent_first = cqe_opcode_of(cqe[0].op_own) == CQE_REQ;
	cqe += sent_first;
	assert_int_equal(cqe->op_own, cqe_op_own(CQE_RESP_SEND, false, false));
	assert_int_equal(be32_to(cqe->byte_cnt), 48);
	assert_int_equal(be32_to(cqe->flags_rqpn), 0x1a000000 | qp.number);
	/* Its key can be changed, and bit 31 is as good as any other. */
	assert_int_equal(modify(qp.handle, UV_QP_QKEY, UV_QPS_RTS), 0);
}

struct step {
	const char *name;
	uint32_t type;
	uint32_t mask;
	uint8_t state;
	int error;
};

/* Masks that Linux refuses; each on a fresh queue pair in INIT. */
static void masks(void **state)
{
	const uint32_t path = UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN;
	const struct step rows[] = {
	    {"UD with a path", IB_UVERBS_QPT_UD, UV_QP_AV, UV_QPS_RTR, -EINVAL},
	    {"UD with rights", IB_UVERBS_QPT_UD, UV_QP_ACCESS_FLAGS, UV_QPS_RTR, -EINVAL},
	    {"UD, nothing", IB_UVERBS_QPT_UD, 0, UV_QPS_RTR, 0},
	    {"UC with a key", IB_UVERBS_QPT_UC, path | UV_QP_QKEY, UV_QPS_RTR, -EINVAL},
	    {"UC with READs", IB_UVERBS_QPT_UC, path | UV_QP_MAX_DEST_RD_ATOMIC, UV_QPS_RTR,
	     -EINVAL},
	    {"UC without an MTU", IB_UVERBS_QPT_UC, path & ~(uint32_t)UV_QP_PATH_MTU, UV_QPS_RTR,
	     -EINVAL},
	    {"UC", IB_UVERBS_QPT_UC, path, UV_QPS_RTR, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_qp qp = make_qp(rows[i].type);
		uint32_t init = UV_QP_PKEY_INDEX | UV_QP_PORT;

		print_message("%s\n", rows[i].name);
		assert_int_equal(modify(qp.handle, init, UV_QPS_INIT), -EINVAL);
		init |= rows[i].type == IB_UVERBS_QPT_UD ? UV_QP_QKEY : UV_QP_ACCESS_FLAGS;
		assert_int_equal(modify(qp.handle, init, UV_QPS_INIT), 0);
		assert_int_equal(modify(qp.handle, rows[i].mask, rows[i].state), rows[i].error);
	}
}

/* ibv_uc_pingpong's: no timeout and no retries on the way to RTS. */
static void unconnected(void **state)
{
	struct rig_qp qp = make_qp(IB_UVERBS_QPT_UC);
	struct ib_uverbs_query_qp_resp resp;

	(void)state;
	assert_int_equal(
	    modify(qp.handle, UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS_FLAGS, UV_QPS_INIT), 0);
	assert_int_equal(modify(qp.handle,
				UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN,
				UV_QPS_RTR),
			 0);
	assert_int_equal(modify(qp.handle, UV_QP_SQ_PSN | UV_QP_TIMEOUT, UV_QPS_RTS), -EINVAL);
	assert_int_equal(modify(qp.handle, UV_QP_SQ_PSN, UV_QPS_RTS), 0);
	assert_int_equal(rig_query(&world.rig, qp.handle, &resp), 0);
	assert_int_equal(resp.dest_qp_num, 0x1234);
	assert_int_equal(resp.dest.is_global, 1);
	assert_int_equal(resp.rq_psn, 0x88);
	assert_int_equal(resp.qp_access_flags, IB_UVERBS_ACCESS_REMOTE_WRITE);
}

/* ---- address handles ------------------------------------------------------------------------- */

/* The MAC address of a group is what Ethernet makes of its GID. */
static void addresses_of_groups(void **state)
{
	static const struct {
		uint8_t gid[16];
		uint8_t mac[6];
	} rows[] = {
	    {{[10] = 0xff, 0xff, 239, 0x81, 2, 3}, {1, 0, 0x5e, 1, 2, 3}},
	    {{0xff, 0x0e, [12] = 9, 8, 7, 6}, {0x33, 0x33, 9, 8, 7, 6}},
	    {{[10] = 0xff, 0xff, 240, 0x81, 2, 3}, {2, 0xff, 240, 0x81, 2, 3}},
	};
	struct ib_uverbs_create_ah req = {.pd_handle = world.pd,
					  .attr = {.is_global = 1, .port_num = 1}};
	struct ib_uverbs_create_ah_resp resp;
	struct mlx5_ib_create_ah_resp uhw;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(req.attr.grh.dgid, rows[i].gid, 16);
		assert_int_equal(rig_write(&world.rig, IB_USER_VERBS_CMD_CREATE_AH, &req,
					   sizeof(req), &resp, sizeof(resp), &uhw, 10),
				 0);
		assert_memory_equal(uhw.dmac, rows[i].mac, 6);
	}
}

/* ---- multicast ------------------------------------------------------------------------------- */

static const uint8_t group[16] = {0xff, 0x0e, [15] = 1};
static const uint8_t unicast[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

static int change(uint32_t cmd, uint32_t handle, const uint8_t *gid, uint16_t lid)
{
	struct ib_uverbs_attach_mcast req = {.qp_handle = handle, .mlid = lid};

	memcpy(req.gid, gid, 16);
	return rig_write(&world.rig, cmd, &req, sizeof(req), NULL, 0, NULL, 0);
}

static int attach(uint32_t handle, const uint8_t *gid, uint16_t lid)
{
	return change(IB_USER_VERBS_CMD_ATTACH_MCAST, handle, gid, lid);
}

static int detach(uint32_t handle, const uint8_t *gid, uint16_t lid)
{
	return change(IB_USER_VERBS_CMD_DETACH_MCAST, handle, gid, lid);
}

static void attach_and_detach(void **state)
{
	struct rig_qp ud = make_qp(IB_UVERBS_QPT_UD);
	struct rig_qp uc = make_qp(IB_UVERBS_QPT_UC);

	(void)state;
	assert_int_equal(attach(uc.handle, group, 0), -EINVAL);
	assert_int_equal(attach(ud.handle, unicast, 0), -EINVAL);
	assert_int_equal(attach(world.cq.handle, group, 0), -EINVAL);
	assert_int_equal(attach(0x7fff, group, 0), -EINVAL);
	assert_int_equal(detach(ud.handle, group, 0), -EINVAL);
	assert_int_equal(attach(ud.handle, group, 0), 0);
	assert_int_equal(attach(ud.handle, group, 0), 0);
	assert_int_equal(attach(ud.handle, group, 5), 0);
	/* Not while it is attached. */
	assert_int_equal(rig_destroy_qp(&world.rig, ud.handle, NULL), -EBUSY);
	assert_int_equal(detach(ud.handle, group, 0), 0);
	assert_int_equal(detach(ud.handle, group, 0), -EINVAL);
	assert_int_equal(rig_destroy_qp(&world.rig, ud.handle, NULL), -EBUSY);
	assert_int_equal(detach(ud.handle, group, 5), 0);
	assert_int_equal(rig_destroy_qp(&world.rig, ud.handle, NULL), 0);
}

/* A context that is closed detaches what it had attached. */
static void closing_detaches(void **state)
{
	struct rig_qp ud = make_qp(IB_UVERBS_QPT_UD);

	(void)state;
	assert_int_equal(attach(ud.handle, group, 0), 0);
	kern_close(world.rig.file, world.rig.now_ns);
	assert_int_equal(nic_mcast_count(world.rig.nic, ud.number), 0);
	nic_check(world.rig.nic);
	assert_int_equal(kern_open(world.rig.kern, &world.rig.file), 0);
}

static void infiniband_groups(void **state)
{
	struct rig_qp ud = make_qp(IB_UVERBS_QPT_UD);

	(void)state;
	assert_int_equal(attach(ud.handle, group, 0), -EINVAL);
	assert_int_equal(attach(ud.handle, group, 0xbfff), -EINVAL);
	assert_int_equal(attach(ud.handle, group, 0xffff), -EINVAL);
	assert_int_equal(attach(ud.handle, group, 0xc000), 0);
	assert_int_equal(detach(ud.handle, group, 0xc001), -EINVAL);
	assert_int_equal(detach(ud.handle, group, 0xc000), 0);
}

int main(void)
{
#define TEST(name, open) cmocka_unit_test_setup_teardown(name, open, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(datagrams, open_ethernet),           TEST(masks, open_ethernet),
	    TEST(unconnected, open_ethernet),         TEST(addresses_of_groups, open_ethernet),
	    TEST(attach_and_detach, open_ethernet),   TEST(closing_detaches, open_ethernet),
	    TEST(infiniband_groups, open_infiniband),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
