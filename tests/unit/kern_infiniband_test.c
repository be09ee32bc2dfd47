/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows an InfiniBand port as the kernel's clients see it: what it says of itself, paths that go by
 * LID with and without a global route, and a peer that never answers at the pace of InfiniBand.
 * By the commands of libmlx5 and ibv_devinfo, and in virtual time.
 */
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { OTHER_LID = 9, TIMEOUT = 18, RETRIES = 7 };

static struct world {
	struct kern_rig rig;
	uint32_t pd, uar, page;
	struct rig_cq cq;
	struct rig_qp qp;
} world;

static int open_world(void **state)
{
	struct kern_rig *rig = &world.rig;

	(void)state;
	memset(&world, 0, sizeof(world));
	kern_rig_open_infiniband(rig);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_pd(rig, &world.pd), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	world.cq = (struct rig_cq){.cqe = 15, .comp_fd = -1, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &world.cq), 0);
	assert_int_equal(rig_qp_of(rig, world.pd, &world.cq, &world.qp), 0);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	return 0;
}

/* ---- what the port says ------------------------------------------------------------------------
 */

static void port(void **state)
{
	struct ib_uverbs_query_port req = {.port_num = 1};
	struct ib_uverbs_query_port_resp resp;

	(void)state;
	assert_int_equal(rig_write(&world.rig, IB_USER_VERBS_CMD_QUERY_PORT, &req, sizeof(req),
				   &resp, sizeof(resp), NULL, 0),
			 0);
	assert_int_equal(resp.link_layer, UV_LINK_LAYER_INFINIBAND);
	assert_int_equal(resp.state, UV_PORT_ACTIVE);
	assert_int_equal(resp.lid, RIG_LID);
	assert_int_equal(resp.lmc, 0);
	assert_int_not_equal(resp.sm_lid, 0);
	assert_int_equal(resp.active_mtu, UV_MTU_4096);
	/* No address needs a global route, and no GID is an IP address. */
	assert_int_equal(resp.flags & IB_UVERBS_QPF_GRH_REQUIRED, 0);
	assert_int_equal(resp.port_cap_flags & UV_PORT_IP_BASED_GIDS_F, 0);
}

static void gids(void **state)
{
	static const uint8_t prefix[8] = {0xfe, 0x80};
	struct ib_uverbs_gid_entry *entry;
	uint8_t guid[8];
	int error;

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		guid[i] = (uint8_t)(world.rig.config.node_guid >> (56 - 8 * i));
	for (uint64_t index = 0; index < 2; index++) {
		rig_call(&world.rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
		rig_in64(&world.rig, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
		rig_in64(&world.rig, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index);
		rig_in32(&world.rig, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
		entry = rig_out(&world.rig, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, sizeof(*entry));
		error = rig_run(&world.rig);
		if (index == 1) {
			assert_int_equal(error, -ENODATA);
			continue;
		}
		assert_int_equal(error, 0);
		assert_int_equal(entry->gid_type, IB_UVERBS_GID_TYPE_IB);
		assert_int_equal(entry->netdev_ifindex, 0);
		assert_memory_equal(entry->gid, prefix, 8);
		assert_memory_equal((uint8_t *)entry->gid + 8, guid, 8);
	}
}

static void files(void **state)
{
	static const struct {
		const char *path;
		const char *text; /* NULL: error */
		int error;
	} rows[] = {
	    {"ports/1/link_layer", "InfiniBand\n", 0},
	    {"ports/1/lid", "0x7\n", 0},
	    {"ports/1/lid_mask_count", "0\n", 0},
	    {"ports/1/sm_lid", "0x7\n", 0},
	    {"ports/1/cap_mask", "0x00000000\n", 0},
	    {"ports/1/gids/0", "fe80:0000:0000:0000:0200:005e:fe7f:0001\n", 0},
	    {"ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n", 0},
	    {"ports/1/gid_attrs/types/0", "IB/RoCE v1\n", 0},
	    {"ports/1/gid_attrs/ndevs/0", NULL, -EINVAL},
	    {"device/net", NULL, -ENOENT},
	};
	char path[128], text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int len;

		snprintf(path, sizeof(path), "class/infiniband/soft0/%s", rows[i].path);
		len = kern_sysfs_read(world.rig.kern, path, text, sizeof(text) - 1);
		if (!rows[i].text) {
			if (len != rows[i].error)
				fail_msg("%s: %d", rows[i].path, len);
			continue;
		}
		assert_true(len >= 0);
		text[len] = '\0';
		if (strcmp(text, rows[i].text) != 0)
			fail_msg("%s: %s", rows[i].path, text);
	}
}

/* An address handle needs no global route either, and has no MAC address. */
static void address_handle(void **state)
{
	struct ib_uverbs_create_ah req = {.pd_handle = world.pd,
					  .attr = {.dlid = OTHER_LID, .port_num = 1}};
	struct ib_uverbs_create_ah_resp resp;

	(void)state;
	assert_int_equal(rig_write(&world.rig, IB_USER_VERBS_CMD_CREATE_AH, &req, sizeof(req),
				   &resp, sizeof(resp), NULL, 0),
			 0);
}

/* ---- paths --------------------------------------------------------------------------------------
 */

/* RESET to RTS, as rig_qp_connect does on InfiniBand. gid: NULL: no global route. */
static int connect_to(uint16_t lid, const uint8_t *gid)
{
	struct ib_uverbs_modify_qp req = {
	    .qp_handle = world.qp.handle,
	    .attr_mask = UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS_FLAGS,
	    .qp_state = UV_QPS_INIT,
	    .port_num = 1,
	    .qp_access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE,
	};
	int error = rig_modify(&world.rig, &req);

	req.attr_mask = UV_QP_STATE | UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN |
			UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER;
	req.qp_state = UV_QPS_RTR;
	req.path_mtu = UV_MTU_4096;
	req.dest_qp_num = world.qp.number;
	req.rq_psn = req.sq_psn = 0x123456;
	req.min_rnr_timer = 12;
	req.dest = (struct ib_uverbs_qp_dest){.dlid = lid, .port_num = 1, .sl = 3};
	if (gid) {
		req.dest.is_global = 1;
		memcpy(req.dest.dgid, gid, 16);
	}
	if (!error)
		error = rig_modify(&world.rig, &req);
	req.attr_mask = UV_QP_STATE | UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY |
			UV_QP_SQ_PSN | UV_QP_MAX_QP_RD_ATOMIC;
	req.qp_state = UV_QPS_RTS;
	req.timeout = TIMEOUT;
	req.retry_cnt = RETRIES;
	req.rnr_retry = 7;
	return error ? error : rig_modify(&world.rig, &req);
}

/* An 8-byte write from one place of memory to another. */
static uint64_t *post_write(void)
{
	uint64_t *data = rig_alloc(&world.rig, 4096);
	struct wqe_ctrl_seg *ctrl = (void *)(world.qp.ring + 16 * world.qp.rq_count);
	struct wqe_raddr_seg *raddr = (void *)(ctrl + 1);
	struct wqe_data_seg *piece = (void *)(raddr + 1);
	struct ib_uverbs_reg_mr_resp mr;
	uint64_t word;

	assert_int_equal(rig_mr(&world.rig, world.pd, data, 4096, 0xf, &mr), 0);
	data[0] = 0x1122334455667788;
	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, 0, WQE_OP_WRITE);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(world.qp.number, 3);
	ctrl->fm_ce_se = WQE_CE_ALWAYS;
	raddr->va = be64_from(rig_va(&data[100]));
	raddr->rkey = be32_from(mr.rkey);
	piece->byte_count = be32_from(8);
	piece->lkey = be32_from(mr.lkey);
	piece->va = be64_from(rig_va(data));
	world.qp.record[DB_SEND] = be32_from(1).raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(world.rig.pages + 4096 * world.page + DB_UAR_BF0, &word, sizeof(word));
	return data;
}

/* What a path to `lid` moves: true, the write arrives. */
static bool arrives(uint16_t lid, const uint8_t *gid)
{
	uint64_t *data;

	assert_int_equal(connect_to(lid, gid), 0);
	data = post_write();
	rig_pump(&world.rig);
	return data[100] == data[0];
}

static void by_lid_alone(void **state)
{
	struct ib_uverbs_query_qp_resp resp;
	static const uint8_t none[16];

	(void)state;
	assert_true(arrives(RIG_LID, NULL));
	assert_int_equal(rig_query(&world.rig, world.qp.handle, &resp), 0);
	assert_int_equal(resp.dest.dlid, RIG_LID);
	assert_int_equal(resp.dest.sl, 3);
	assert_int_equal(resp.dest.is_global, 0);
	assert_memory_equal(resp.dest.dgid, none, 16);
	assert_int_equal(resp.timeout, TIMEOUT);
}

static void by_lid_and_gid(void **state)
{
	struct ib_uverbs_query_qp_resp resp;

	(void)state;
	assert_true(arrives(RIG_LID, world.rig.config.gids[0]));
	assert_int_equal(rig_query(&world.rig, world.qp.handle, &resp), 0);
	assert_int_equal(resp.dest.is_global, 1);
	assert_memory_equal(resp.dest.dgid, world.rig.config.gids[0], 16);
}

/* The wire of this rig gives every packet to the port: it is the queue pair that refuses. */
static void another_lid_is_nobody(void **state)
{
	(void)state;
	assert_false(arrives(OTHER_LID, NULL));
	assert_int_equal(nic_counters(world.rig.nic)->rx_drop_address, 1);
}

static void another_gid_is_nobody(void **state)
{
	static const uint8_t gid[16] = {0xfe, 0x80, [15] = 1};

	(void)state;
	assert_false(arrives(RIG_LID, gid));
	assert_int_equal(nic_counters(world.rig.nic)->rx_drop_address, 1);
}

/* A packet of Ethernet, with GIDs, is not for a queue pair of InfiniBand: not even with zeroes,
 * which are what its path has in their place. */
static void a_packet_with_gids_is_nobodys(void **state)
{
	static const uint8_t none[16];
	/* WRITE ONLY, no payload, to queue pair number (filled in), PSN 0x123456. */
	uint8_t packet[28] = {0x0a, 0, 0xff, 0xff, [8] = 0x80, 0x12, 0x34, 0x56};
	struct nic_rx rx = {.bth = packet, .len_bytes = sizeof(packet), .sgid = none, .dgid = none};

	(void)state;
	assert_int_equal(connect_to(RIG_LID, NULL), 0);
	be24_store(packet + 5, world.qp.number);
	nic_rx(world.rig.nic, &rx, world.rig.now_ns);
	assert_int_equal(nic_counters(world.rig.nic)->rx_drop_address, 1);
	rx.sgid = rx.dgid = NULL;
	nic_rx(world.rig.nic, &rx, world.rig.now_ns);
	assert_int_equal(nic_counters(world.rig.nic)->rx_drop_address, 1);
}

/* ---- the timeout --------------------------------------------------------------------------------
 */

/* Exponent 18: 4.096 us << 18 is 1.0737 s. Eight tries, each that long, and then the entry fails.
 */
static void a_peer_that_is_silent(void **state)
{
	const uint64_t timeout_ns = UINT64_C(4096) << TIMEOUT;
	const struct cqe64 *cqe = (const void *)world.cq.ring;
	const struct cqe_err64 *err = (const void *)cqe;
	const struct nic_counters *counters = nic_counters(world.rig.nic);
	uint64_t start_ns = world.rig.now_ns;

	(void)state;
	assert_int_equal(connect_to(OTHER_LID, NULL), 0);
	post_write();
	rig_pump(&world.rig);
	for (uint32_t tries = 1; tries <= RETRIES + 1; tries++) {
		assert_int_equal(counters->tx_packets, tries);
		/* Just before its time nothing happens. */
		world.rig.now_ns = start_ns + tries * timeout_ns - 1;
		rig_pump(&world.rig);
		assert_int_equal(counters->tx_packets, tries);
		assert_int_equal(cqe->op_own, 0xf0);
		world.rig.now_ns = start_ns + tries * timeout_ns;
		rig_pump(&world.rig);
	}
	assert_int_equal(counters->tx_packets, RETRIES + 1);
	assert_int_equal(cqe->op_own, cqe_op_own(CQE_REQ_ERR, false, false));
	assert_int_equal(err->syndrome, CQE_SYND_RETRY_EXC);
	assert_int_equal(timeout_ns / 1000000, 1073);
}

#define IB_TEST(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    IB_TEST(port),
	    IB_TEST(gids),
	    IB_TEST(files),
	    IB_TEST(address_handle),
	    IB_TEST(by_lid_alone),
	    IB_TEST(by_lid_and_gid),
	    IB_TEST(another_lid_is_nobody),
	    IB_TEST(another_gid_is_nobody),
	    IB_TEST(a_packet_with_gids_is_nobodys),
	    IB_TEST(a_peer_that_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
