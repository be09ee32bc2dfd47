/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that the sequence of ibv_rc_pingpong works: open, register, create, connect, move bytes,
 * destroy. By building its ioctls byte for byte and ringing the register page.
 */
#include "abi/ece.h"
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct world {
	struct kern_rig rig;
	uint32_t pd;
	uint32_t uar, page;
	int async_fd, comp_fd;
	struct rig_cq cq;
	struct rig_qp qp;
};

static int open_world(void **state)
{
	static struct world world;
	struct kern_rig *rig = &world.rig;

	memset(&world, 0, sizeof(world));
	kern_rig_open(rig);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_async(rig, &world.async_fd), 0);
	assert_int_equal(rig_comp_channel(rig, &world.comp_fd), 0);
	assert_int_equal(rig_pd(rig, &world.pd), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	world.cq = (struct rig_cq){
	    .cqe = 15, .user_handle = 0xc0c0, .comp_fd = world.comp_fd, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &world.cq), 0);
	world.qp = (struct rig_qp){.pd = world.pd,
				   .send_cq = world.cq.handle,
				   .recv_cq = world.cq.handle,
				   .uar_page = world.page,
				   .user_handle = 0x9090,
				   .sq_count = 8,
				   .rq_count = 16};
	assert_int_equal(rig_qp(rig, &world.qp), 0);
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	kern_rig_close(&world->rig);
	return 0;
}

static struct rig_channel *channel(struct world *world, int fd)
{
	return &world->rig.channels[fd - RIG_FD_FIRST];
}

/* An 8-byte write of what is at src to dst: the register rings it, the completion says so. */
static void post_write(struct world *world, uint64_t *src, uint64_t *dst, uint32_t lkey,
		       uint32_t rkey)
{
	uint8_t *sq = world->qp.ring + 16 * world->qp.rq_count;
	struct wqe_ctrl_seg *ctrl = (struct wqe_ctrl_seg *)(void *)sq;
	struct wqe_raddr_seg *raddr = (struct wqe_raddr_seg *)(void *)(sq + 16);
	struct wqe_data_seg *data = (struct wqe_data_seg *)(void *)(sq + 32);
	uint64_t word;

	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, 0, WQE_OP_WRITE);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(world->qp.number, 3);
	ctrl->fm_ce_se = WQE_CE_ALWAYS;
	raddr->va = be64_from(rig_va(dst));
	raddr->rkey = be32_from(rkey);
	data->byte_count = be32_from(8);
	data->lkey = be32_from(lkey);
	data->va = be64_from(rig_va(src));
	world->qp.record[DB_SEND] = be32_from(1).raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(world->rig.pages + 4096 * world->page + DB_UAR_BF0, &word, sizeof(word));
}

static void write_through_the_register_page(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_reg_mr_resp mr;
	uint64_t *data = rig_alloc(rig, 4096);
	uint64_t *page_word = (uint64_t *)(void *)(rig->pages + 4096 * world->page + DB_UAR_BF0);
	const struct cqe64 *cqe = (const struct cqe64 *)(const void *)world->cq.ring;

	assert_int_equal(rig_mr(rig, world->pd, data, 4096, 0xf, &mr), 0);
	assert_int_equal(rig_connect(rig, &world->qp, world->qp.number), 0);
	data[0] = 0x1122334455667788;
	post_write(world, &data[0], &data[100], mr.lkey, mr.rkey);
	rig_pump(rig);
	assert_int_equal(data[100], 0x1122334455667788);
	assert_int_equal(*page_word, 0);
	assert_int_equal(cqe->op_own, cqe_op_own(CQE_REQ, false, false));
	assert_int_equal(be32_to(cqe->srqn_uidx), 77);
	assert_int_equal(be32_to(cqe->sop_drop_qpn) & 0xffffff, world->qp.number);
}

/* Everything that a register can say, in each of its places. */
static void each_register_is_read(void **state)
{
	static const uint16_t offsets[] = {0x800, 0x900, 0xa00, 0xb00};
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	uint64_t *words = (uint64_t *)(void *)(rig->pages + 4096 * world->page);

	for (unsigned int i = 0; i < 4; i++) {
		words[offsets[i] / 8] = 1;
		kern_notice(rig->kern, rig->now_ns);
		assert_int_equal(words[offsets[i] / 8], 0);
	}
	words[0x20 / 8] = 1;
	kern_notice(rig->kern, rig->now_ns);
	assert_int_equal(words[0x20 / 8], 0);
	/* A place that is no register stays as it is. */
	words[0x820 / 8] = 1;
	kern_notice(rig->kern, rig->now_ns);
	assert_int_equal(words[0x820 / 8], 1);
}

static void arm(struct world *world)
{
	uint8_t *page = world->rig.pages + 4096 * world->page;
	struct be32 word = db_cq_arm_word(0, DB_CQ_CMD_ANY, 0);
	struct be32 cqn = be32_from(world->cq.number);

	world->cq.record[DB_CQ_ARM] = word.raw;
	memcpy(page + DB_UAR_CQ, &word, 4);
	memcpy(page + DB_UAR_CQ + 4, &cqn, 4);
}

static void completion_event_and_its_count(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct rig_channel *comp = channel(world, world->comp_fd);
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_reg_mr_resp mr;
	uint64_t *data = rig_alloc(rig, 4096);
	uint64_t handle = 0xc0c0;

	assert_int_equal(rig_mr(rig, world->pd, data, 4096, 0xf, &mr), 0);
	assert_int_equal(rig_connect(rig, &world->qp, world->qp.number), 0);
	arm(world);
	rig_pump(rig);
	assert_int_equal(comp->count, 0);
	post_write(world, &data[0], &data[100], mr.lkey, mr.rkey);
	rig_pump(rig);
	assert_int_equal(comp->count, 1);
	assert_int_equal(comp->lens[0], 8);
	assert_memory_equal(comp->records[0], &handle, 8);
	assert_int_equal(rig_destroy_qp(rig, world->qp.handle, NULL), 0);
	/* The application never reads it: a destroy that counted it would wait for ever. */
	assert_int_equal(rig_destroy_cq(rig, world->cq.handle, &resp), 0);
	assert_int_equal(resp.comp_events_reported, 0);
	assert_int_equal(comp->count, 0);
}

static void completion_event_that_was_read_counts(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_reg_mr_resp mr;
	uint64_t *data = rig_alloc(rig, 4096);

	assert_int_equal(rig_mr(rig, world->pd, data, 4096, 0xf, &mr), 0);
	assert_int_equal(rig_connect(rig, &world->qp, world->qp.number), 0);
	arm(world);
	post_write(world, &data[0], &data[100], mr.lkey, mr.rkey);
	rig_pump(rig);
	assert_int_equal(channel(world, world->comp_fd)->count, 1);
	channel(world, world->comp_fd)->count = 0;
	assert_int_equal(rig_destroy_qp(rig, world->qp.handle, NULL), 0);
	assert_int_equal(rig_destroy_cq(rig, world->cq.handle, &resp), 0);
	assert_int_equal(resp.comp_events_reported, 1);
}

/* A write that the peer must refuse: an access error event at the responder, which is ourselves. */
static void async_event_names_the_queue_pair(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct rig_channel *async = channel(world, world->async_fd);
	struct ib_uverbs_async_event_desc record;
	struct ib_uverbs_reg_mr_resp mr;
	uint64_t *data = rig_alloc(rig, 4096);
	uint32_t events;

	assert_int_equal(rig_mr(rig, world->pd, data, 4096, 0xf, &mr), 0);
	assert_int_equal(rig_connect(rig, &world->qp, world->qp.number), 0);
	post_write(world, &data[0], &data[100], mr.lkey, mr.rkey ^ 1);
	rig_pump(rig);
	assert_true(async->count >= 1);
	assert_int_equal(async->lens[0], 16);
	memcpy(&record, async->records[0], sizeof(record));
	assert_int_equal(record.element, 0x9090);
	assert_int_equal(record.event_type, UV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(rig_destroy_qp(rig, world->qp.handle, &events), 0);
	assert_int_equal(events, 0);
	assert_int_equal(async->count, 0);
}

static void query_returns_what_was_set(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_query_qp_resp resp;

	assert_int_equal(rig_query(rig, world->qp.handle, &resp), 0);
	assert_int_equal(resp.qp_state, UV_QPS_RESET);
	assert_int_equal(resp.max_recv_wr, 16);
	assert_int_equal(rig_connect(rig, &world->qp, 0x1234), 0);
	assert_int_equal(rig_query(rig, world->qp.handle, &resp), 0);
	assert_int_equal(resp.qp_state, UV_QPS_RTS);
	assert_int_equal(resp.cur_qp_state, UV_QPS_RTS);
	assert_int_equal(resp.path_mtu, UV_MTU_1024);
	assert_int_equal(resp.dest_qp_num, 0x1234);
	assert_int_equal(resp.rq_psn, 0x123456);
	assert_int_equal(resp.sq_psn, 0x123456);
	assert_int_equal(resp.qp_access_flags, 0xe);
	assert_int_equal(resp.timeout, 14);
	assert_int_equal(resp.retry_cnt, 7);
	assert_int_equal(resp.rnr_retry, 7);
	assert_int_equal(resp.min_rnr_timer, 12);
	assert_int_equal(resp.max_rd_atomic, 1);
	assert_int_equal(resp.max_dest_rd_atomic, 1);
	assert_int_equal(resp.port_num, 1);
	assert_int_equal(resp.max_inline_data, 28);
	assert_memory_equal(resp.dest.dgid, rig->config.gids[0], 16);
	assert_int_equal(resp.dest.is_global, 1);
	/* The ECN bits are the NIC's. */
	assert_int_equal(resp.dest.traffic_class, 0x68);
	assert_int_equal(resp.dest.hop_limit, 1);
}

static void reset_and_again(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_modify_qp reset = {
	    .qp_handle = world->qp.handle, .attr_mask = UV_QP_STATE, .qp_state = UV_QPS_RESET};

	assert_int_equal(rig_modify(rig, &reset), 0);
	assert_int_equal(rig_connect(rig, &world->qp, 0x1234), 0);
	assert_int_equal(rig_modify(rig, &reset), 0);
	assert_int_equal(rig_connect(rig, &world->qp, 0x1234), 0);
}

static void extended_modify(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_ex_modify_qp req = {.base = {.qp_handle = world->qp.handle,
						      .attr_mask = 0x39,
						      .qp_state = UV_QPS_INIT,
						      .port_num = 1}};
	struct ib_uverbs_ex_modify_qp_resp resp;
	uint32_t cmd = UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP);

	assert_int_equal(rig_write(rig, cmd, &req, sizeof(req), &resp, sizeof(resp), NULL, 0), 0);
	assert_int_equal(resp.response_length, sizeof(resp));
	req.base.attr_mask = UV_QP_RATE_LIMIT;
	assert_int_equal(rig_write(rig, cmd, &req, sizeof(req), &resp, sizeof(resp), NULL, 0),
			 -EINVAL);
	req.base.attr_mask = 1 << 22;
	assert_int_equal(rig_write(rig, cmd, &req, sizeof(req), &resp, sizeof(resp), NULL, 0),
			 -EOPNOTSUPP);
}

static void modify_refusals(void **state)
{
	struct world *world = *state;
	const struct {
		const char *name;
		struct ib_uverbs_modify_qp req;
		int error;
	} rows[] = {
	    {"no such handle", {.qp_handle = 99, .attr_mask = 1}, -EINVAL},
	    {"handle of a page", {.qp_handle = world->uar, .attr_mask = 1}, -EINVAL},
	    {"RESET to RTS", {.attr_mask = 1, .qp_state = UV_QPS_RTS}, -EINVAL},
	    {"state 7", {.attr_mask = 1, .qp_state = 7}, -EINVAL},
	    {"current state 7", {.attr_mask = 3, .cur_qp_state = 7}, -EINVAL},
	    {"INIT without port", {.attr_mask = 0x19, .qp_state = UV_QPS_INIT}, -EINVAL},
	    {"port 0", {.attr_mask = 0x39, .qp_state = UV_QPS_INIT}, -EINVAL},
	    {"port 2", {.attr_mask = 0x39, .qp_state = UV_QPS_INIT, .port_num = 2}, -EINVAL},
	    {"pkey 1",
	     {.attr_mask = 0x39, .qp_state = UV_QPS_INIT, .port_num = 1, .pkey_index = 1},
	     -EINVAL},
	    {"bit 21", {.attr_mask = 1 << 21}, -EOPNOTSUPP},
	    {"bit 25", {.attr_mask = UV_QP_RATE_LIMIT}, -EOPNOTSUPP},
	    {"qkey", {.attr_mask = 0x79, .qp_state = UV_QPS_INIT, .port_num = 1}, -EINVAL},
	    {"second path", {.attr_mask = UV_QP_ALT_PATH}, -EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ib_uverbs_modify_qp req = rows[i].req;
		int error;

		if (req.qp_handle == 0)
			req.qp_handle = world->qp.handle;
		error = rig_modify(&world->rig, &req);
		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
	}
}

static void path_refusals(void **state)
{
	struct world *world = *state;
	struct ib_uverbs_modify_qp init = {.qp_handle = world->qp.handle,
					   .attr_mask = 0x39,
					   .qp_state = UV_QPS_INIT,
					   .port_num = 1};
	const struct ib_uverbs_modify_qp good = {
	    .qp_handle = world->qp.handle,
	    .attr_mask = 0x129181,
	    .qp_state = UV_QPS_RTR,
	    .path_mtu = UV_MTU_1024,
	    .dest_qp_num = 5,
	    .dest = {.is_global = 1, .port_num = 1},
	};
	const struct {
		const char *name;
		size_t offset;
		uint8_t value;
		int error;
	} rows[] = {
	    {"no global route", offsetof(struct ib_uverbs_modify_qp, dest.is_global), 0, -EINVAL},
	    {"port 2", offsetof(struct ib_uverbs_modify_qp, dest.port_num), 2, -EINVAL},
	    {"empty GID", offsetof(struct ib_uverbs_modify_qp, dest.sgid_index), 1, -ENODATA},
	    {"no such GID", offsetof(struct ib_uverbs_modify_qp, dest.sgid_index), 200, -EINVAL},
	    {"MTU 0", offsetof(struct ib_uverbs_modify_qp, path_mtu), 0, -EINVAL},
	    {"MTU 6", offsetof(struct ib_uverbs_modify_qp, path_mtu), 6, -EINVAL},
	    {"17 reads", offsetof(struct ib_uverbs_modify_qp, max_dest_rd_atomic), 17, -EINVAL},
	    {"good", offsetof(struct ib_uverbs_modify_qp, reserved), 1, 0},
	};

	assert_int_equal(rig_modify(&world->rig, &init), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ib_uverbs_modify_qp req = good;
		int error;

		((uint8_t *)&req)[rows[i].offset] = rows[i].value;
		error = rig_modify(&world->rig, &req);
		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
	}
}

/*
 * [cases 18] The UDP source port is 0xC000 and up: from the flow label, or without one from both
 * queue pair numbers [linux rdma_get_udp_sport]. The ECN bits of the traffic class are the NIC's.
 */
static void source_port_of_the_path(void **state)
{
	static const struct {
		const char *name;
		uint32_t flow_label;
		uint16_t port;
	} rows[] = {
	    {"lowest bits", 0x00001, 0xc001},
	    {"all of the low half", 0x03fff, 0xffff},
	    {"high half", 0xfc000, 0xc03f},
	    {"both halves", 0xfffff, 0xffc0},
	    {"more than a label", 0xfff00001, 0xc001},
	};
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_modify_qp reset = {
	    .qp_handle = world->qp.handle, .attr_mask = UV_QP_STATE, .qp_state = UV_QPS_RESET};
	struct ib_uverbs_modify_qp init = {.qp_handle = world->qp.handle,
					   .attr_mask = 0x39,
					   .qp_state = UV_QPS_INIT,
					   .port_num = 1};
	struct nic_qp_params params;
	uint16_t first;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ib_uverbs_modify_qp rtr = {
		    .qp_handle = world->qp.handle,
		    .attr_mask = 0x129181,
		    .qp_state = UV_QPS_RTR,
		    .path_mtu = UV_MTU_1024,
		    .dest_qp_num = 5,
		    .dest = {.is_global = 1,
			     .port_num = 1,
			     .traffic_class = 0xff,
			     .flow_label = rows[i].flow_label},
		};

		memcpy(rtr.dest.dgid, rig->config.gids[0], 16);
		assert_int_equal(rig_modify(rig, &init), 0);
		assert_int_equal(rig_modify(rig, &rtr), 0);
		assert_int_equal(nic_qp_query(rig->nic, world->qp.number, &params), 0);
		if (params.path.udp_sport != rows[i].port)
			fail_msg("%s: 0x%x", rows[i].name, params.path.udp_sport);
		assert_int_equal(params.path.traffic_class & 3, 0);
		assert_int_equal(rig_modify(rig, &reset), 0);
	}
	assert_int_equal(rig_connect(rig, &world->qp, 0x1234), 0);
	assert_int_equal(nic_qp_query(rig->nic, world->qp.number, &params), 0);
	first = params.path.udp_sport;
	assert_true(first >= 0xc000);
	assert_int_equal(rig_modify(rig, &reset), 0);
	assert_int_equal(rig_connect(rig, &world->qp, 0x1235), 0);
	assert_int_equal(nic_qp_query(rig->nic, world->qp.number, &params), 0);
	assert_true(params.path.udp_sport >= 0xc000 && params.path.udp_sport != first);
}

static void create_refusals(void **state)
{
	struct world *world = *state;
	const struct {
		const char *name;
		struct rig_qp qp;
		int error;
	} rows[] = {
	    {"XRC target with a PD", {.type = IB_UVERBS_QPT_XRC_TGT}, -EINVAL},
	    {"DC that is neither half", {.type = IB_UVERBS_QPT_DRIVER}, -EINVAL},
	    {"no such type", {.type = 7}, -EINVAL},
	    {"PD is a CQ", {.pd = world->cq.handle}, -EINVAL},
	    {"no such PD", {.pd = 1000}, -ENOENT},
	    {"CQ is a page", {.send_cq = world->uar}, -EINVAL},
	    {"no such CQ", {.recv_cq = 1000}, -ENOENT},
	    {"three blocks", {.sq_count = 3}, -EINVAL},
	    {"65536 blocks", {.sq_count = 65536}, -EINVAL},
	    {"65536 receives", {.rq_count = 65536}, -EINVAL},
	    {"another's register page", {.uar_page = 7}, -EINVAL},
	    {"ring not there", {.ring = (uint8_t *)16}, -EFAULT},
	    {"record not there", {.record = (uint32_t *)16}, -EFAULT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_qp qp = rows[i].qp;
		int error;

		qp.pd = qp.pd ? qp.pd : world->pd;
		qp.send_cq = qp.send_cq ? qp.send_cq : world->cq.handle;
		qp.recv_cq = qp.recv_cq ? qp.recv_cq : world->cq.handle;
		qp.uar_page = qp.uar_page ? qp.uar_page : world->page;
		if (qp.sq_count > 1024 || qp.rq_count > 1024)
			qp.ring = world->rig.memory;
		qp.sq_count = qp.sq_count ? qp.sq_count : 8;
		error = rig_qp(&world->rig, &qp);
		if (error != rows[i].error)
			print_error("row \"%s\"\n", rows[i].name);
		assert_int_equal(error, rows[i].error);
	}
}

/* Who is in use stays until its users are gone, in whatever order one tries. */
static void busy_objects(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_reg_mr_resp mr;
	void *data = rig_alloc(rig, 4096);

	assert_int_equal(rig_mr(rig, world->pd, data, 4096, 0xf, &mr), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rig_destroy_cq(rig, world->cq.handle, NULL), -EBUSY);
		assert_int_equal(rig_destroy(rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
					     UVERBS_ATTR_DESTROY_PD_HANDLE, world->pd),
				 -EBUSY);
	}
	assert_int_equal(rig_destroy_qp(rig, world->qp.handle, NULL), 0);
	assert_int_equal(rig_destroy_qp(rig, world->qp.handle, NULL), -ENOENT);
	assert_int_equal(rig_destroy_cq(rig, world->cq.handle, NULL), 0);
	assert_int_equal(rig_destroy(rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				     UVERBS_ATTR_DESTROY_PD_HANDLE, world->pd),
			 -EBUSY);
	assert_int_equal(rig_destroy(rig, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
				     UVERBS_ATTR_DESTROY_MR_HANDLE, mr.mr_handle),
			 0);
	assert_int_equal(rig_destroy(rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				     UVERBS_ATTR_DESTROY_PD_HANDLE, world->pd),
			 0);
}

/* One edge by MODIFY_QP_EX, with the peer's word; *word is what the answer says. */
static int edge_with_ece(struct world *world, struct ib_uverbs_ex_modify_qp *req, uint32_t *word)
{
	struct kern_rig *rig = &world->rig;
	struct mlx5_ib_modify_qp driver = {.ece_options = *word};
	struct mlx5_ib_modify_qp_resp *resp;
	int error;

	req->base.qp_handle = world->qp.handle;
	rig_call(rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(rig, UVERBS_ATTR_WRITE_CMD, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP));
	rig_in(rig, UVERBS_ATTR_CORE_IN, req, sizeof(*req));
	rig_out(rig, UVERBS_ATTR_CORE_OUT, 8);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	resp = rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(*resp));
	memset(resp, 0xee, sizeof(*resp));
	error = rig_run(rig);
	*word = resp->ece_options;
	if (!error && driver.ece_options != 0)
		assert_int_equal(resp->response_length, 12);
	return error;
}

static struct ib_uverbs_ex_modify_qp to_init(void)
{
	return (struct ib_uverbs_ex_modify_qp){
	    .base = {.attr_mask =
			 UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS_FLAGS,
		     .qp_state = UV_QPS_INIT,
		     .port_num = 1}};
}

/* Enhanced connection establishment: at creation a driver that knows it gets what this device
 * offers, and whenever the peer's word comes, what this device makes of it. */
static void ece(void **state)
{
	static const uint32_t asked[] = {0, 0x10000000, 0x1fffffff, 0x30000002, 0x0000ffff};
	static const uint32_t peers[] = {0x1a1007c3, 0x1a2007c2, 0x30000002, 0xffffffff, 0x0000ffff,
					 0x10000000, 0};
	struct world *world = *state;
	uint32_t own;

	world->qp.ece_options = 0x10000000;
	assert_int_equal(rig_qp(&world->rig, &world->qp), 0);
	own = world->qp.ece_options;
	assert_true(ece_is_own(own));
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		world->qp.ece_options = asked[i];
		assert_int_equal(rig_qp(&world->rig, &world->qp), 0);
		assert_int_equal(world->qp.ece_options, asked[i] >> 28 == 1 ? own : 0);
	}
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		struct ib_uverbs_ex_modify_qp req = to_init();
		uint32_t word = peers[i];

		assert_int_equal(rig_qp(&world->rig, &world->qp), 0);
		assert_int_equal(edge_with_ece(world, &req, &word), 0);
		/* Who says nothing gets no answer: these bytes are the application's still. */
		assert_int_equal(word,
				 peers[i] ? ece_answer(own, peers[i], true) : 0xeeeeeeee);
	}
}

/* A modify that fails changes no word: the next one that says nothing leaves the offer. */
static void ece_of_a_failed_modify(void **state)
{
	struct world *world = *state;
	struct ib_uverbs_ex_modify_qp req = to_init();
	struct nic_qp_params params;
	uint32_t word = 0x1a000000;

	world->qp.ece_options = 0x10000000;
	assert_int_equal(rig_qp(&world->rig, &world->qp), 0);
	req.base.attr_mask &= ~(uint32_t)UV_QP_ACCESS_FLAGS;
	word = 0x30000002;
	assert_int_equal(edge_with_ece(world, &req, &word), -EINVAL);
	assert_int_equal(nic_qp_query(world->rig.nic, world->qp.number, &params), 0);
	assert_int_equal(params.ece, world->qp.ece_options);
	req = to_init();
	word = 0x30000002;
	assert_int_equal(edge_with_ece(world, &req, &word), 0);
	assert_int_equal(word, 0);
	assert_int_equal(nic_qp_query(world->rig.nic, world->qp.number, &params), 0);
	assert_int_equal(params.ece, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(write_through_the_register_page),
	    TEST(each_register_is_read),
	    TEST(completion_event_and_its_count),
	    TEST(completion_event_that_was_read_counts),
	    TEST(async_event_names_the_queue_pair),
	    TEST(query_returns_what_was_set),
	    TEST(reset_and_again),
	    TEST(extended_modify),
	    TEST(modify_refusals),
	    TEST(path_refusals),
	    TEST(source_port_of_the_path),
	    TEST(create_refusals),
	    TEST(busy_objects),
	    TEST(ece),
	    TEST(ece_of_a_failed_modify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
