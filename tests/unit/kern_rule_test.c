/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: raw packet queue pairs and rules for frames, as libmlx5 asks the kernel for them and as
 * the kernel answers. By building the ioctls byte for byte; a frame goes to its own sender, or not,
 * as the rule says.
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

enum { FRAME_BYTES = 100 };

static const uint8_t frame_head[38] = {0x01, 0x50, 0x56, 0x19, 0x20, 0xa7, 0x24, 0x8a, 0x07, 0xa5,
				       0x28, 0xc8, 0x08, 0x00, 0x45, 0,    0,    86,   0,    0,
				       0x40, 0,    64,   17,   0,    0,    1,    1,    1,    1,
				       2,    2,    2,    2,    0x04, 0xd2, 0x16, 0x2e};

static struct {
	struct kern_rig rig;
	uint32_t pd;
	uint32_t page;
	struct rig_cq cq;
	struct rig_qp qp;
	struct ib_uverbs_reg_mr_resp mr;
	uint8_t *data; /* receive, and the frame 2048 bytes on */
} world;

static int make_qp(uint32_t type)
{
	world.qp = (struct rig_qp){.pd = world.pd,
				   .send_cq = world.cq.handle,
				   .recv_cq = world.cq.handle,
				   .uar_page = world.page,
				   .type = type,
				   .sq_count = 8,
				   .rq_count = 16};
	return rig_qp(&world.rig, &world.qp);
}

static void open_world(bool infiniband)
{
	memset(&world, 0, sizeof(world));
	assert_int_equal(rig_begin(&world.rig, infiniband, &world.pd, &world.page, &world.cq), 0);
	world.data = rig_alloc(&world.rig, 4096);
	assert_int_equal(rig_mr(&world.rig, world.pd, world.data, 4096, 1, &world.mr), 0);
}

static int setup(void **state)
{
	(void)state;
	open_world(false);
	return make_qp(IB_UVERBS_QPT_RAW_PACKET);
}

static int teardown(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	return 0;
}

static int modify(uint32_t mask, uint8_t qp_state)
{
	struct ib_uverbs_modify_qp req = {.qp_handle = world.qp.handle,
					  .attr_mask = mask | UV_QP_STATE,
					  .qp_state = qp_state,
					  .port_num = 1};

	return rig_modify(&world.rig, &req);
}

static void make_ready(void)
{
	assert_int_equal(modify(0, UV_QPS_INIT), -EINVAL);
	assert_int_equal(modify(UV_QP_PORT | UV_QP_PKEY_INDEX, UV_QPS_INIT), -EINVAL);
	assert_int_equal(modify(UV_QP_PORT, UV_QPS_INIT), 0);
	assert_int_equal(modify(0, UV_QPS_RTR), 0);
	assert_int_equal(modify(0, UV_QPS_RTS), 0);
}

/* A request: its fixed part, and specifications behind. */
struct flow {
	struct ib_uverbs_create_flow req;
	uint8_t specs[900];
	uint16_t len; /* of specs */
};

static struct flow flow_of(uint32_t type)
{
	struct flow flow = {
	    .req = {.qp_handle = world.qp.handle, .flow_attr = {.type = type, .port = 1}}};

	return flow;
}

static void add(struct flow *flow, uint32_t type, const void *value, const void *mask,
		uint16_t part_bytes)
{
	struct ib_uverbs_flow_spec_hdr *header = (void *)(flow->specs + flow->len);

	header->type = type;
	header->size = (uint16_t)(8 + 2 * part_bytes);
	memcpy(flow->specs + flow->len + 8, value, part_bytes);
	memcpy(flow->specs + flow->len + 8 + part_bytes, mask, part_bytes);
	flow->len += header->size;
	flow->req.flow_attr.num_of_specs++;
	flow->req.flow_attr.size = flow->len;
}

static int create(const struct flow *flow, uint32_t *handle)
{
	struct ib_uverbs_create_flow_resp resp;
	uint8_t bytes[sizeof(flow->req) + sizeof(flow->specs)];
	int error;

	memcpy(bytes, &flow->req, sizeof(flow->req));
	memcpy(bytes + sizeof(flow->req), flow->specs, flow->len);
	error = rig_write(&world.rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_FLOW), bytes,
			  (uint16_t)(sizeof(flow->req) + flow->len), &resp, sizeof(resp), NULL, 0);
	*handle = resp.flow_handle;
	return error;
}

static int destroy(uint32_t handle)
{
	return rig_destroy(&world.rig, UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY,
			   UVERBS_ATTR_DESTROY_FLOW_HANDLE, handle);
}

/* Posts a receive and the frame in data; whether it came back. */
static bool comes_back(uint16_t n)
{
	uint8_t *sq = world.qp.ring + 16 * world.qp.rq_count + (size_t)(n - 1) * 64;
	struct wqe_data_seg *receive = (void *)(world.qp.ring + (size_t)(n - 1) * 16);
	struct wqe_ctrl_seg *ctrl = (void *)sq;
	struct wqe_data_seg *piece = (void *)(sq + 32);
	uint64_t word;

	*receive = (struct wqe_data_seg){be32_from(FRAME_BYTES), be32_from(world.mr.lkey),
					 be64_from(rig_va(world.data))};
	world.qp.record[DB_RECV] = be32_from(n).raw;
	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, (uint16_t)(n - 1), WQE_OP_SEND);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(world.qp.number, 3);
	*piece = (struct wqe_data_seg){be32_from(FRAME_BYTES), be32_from(world.mr.lkey),
				       be64_from(rig_va(world.data + 2048))};
	world.qp.record[DB_SEND] = be32_from(n).raw;
	memset(world.data, 0, FRAME_BYTES);
	memcpy(&word, ctrl, sizeof(word));
	memcpy(world.rig.pages + 4096 * world.page + DB_UAR_BF0, &word, sizeof(word));
	rig_pump(&world.rig);
	return memcmp(world.data, world.data + 2048, FRAME_BYTES) == 0;
}

/* ---- rules ------------------------------------------------------------------------------------
 */

static const struct ib_uverbs_flow_eth_filter eth = {
    .dst_mac = {0x01, 0x50, 0x56, 0x19, 0x20, 0xa7}, .ether_type = 0x0008};
static const struct ib_uverbs_flow_ipv4_filter ipv4 = {.src_ip = 0x01010101, .dst_ip = 0x02020202};
static const struct ib_uverbs_flow_tcp_udp_filter ports = {.dst_port = 0x2e16, .src_port = 0xd204};

static void rules_bring_frames(void **state)
{
	uint8_t ones[32];
	struct flow flow = flow_of(UV_FLOW_NORMAL);
	uint32_t handle;
	static const uint32_t at[] = {0, 12, 26, 33, 35, 37};

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	memcpy(world.data + 2048, frame_head, sizeof(frame_head));
	make_ready();
	assert_false(comes_back(1));
	add(&flow, UV_FLOW_SPEC_ETH, &eth, &eth, sizeof(eth));
	add(&flow, UV_FLOW_SPEC_IPV4, &ipv4,
	    (uint8_t[12]){[0] = 255, 255, 255, 255, 255, 255, 255, 255}, sizeof(ipv4));
	add(&flow, UV_FLOW_SPEC_UDP, &ports, ones, sizeof(ports));
	assert_int_equal(create(&flow, &handle), 0);
	assert_true(comes_back(2));
	/* One bit elsewhere and it is another's. */
	for (uint16_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		uint8_t *byte = world.data + 2048 + at[i];
		uint8_t bit = at[i] == 12 ? 8 : 1;

		*byte ^= bit;
		assert_false(comes_back((uint16_t)(3 + i)));
		*byte ^= bit;
	}
	assert_int_equal(rig_destroy_qp(&world.rig, world.qp.handle, NULL), -EBUSY);
	assert_int_equal(destroy(handle), 0);
	assert_int_equal(destroy(handle), -ENOENT);
}

/* What takes the rest: frames to groups, or all. */
static void defaults(void **state)
{
	struct flow flow = flow_of(UV_FLOW_MC_DEFAULT);
	uint32_t handle;

	(void)state;
	memcpy(world.data + 2048, frame_head, sizeof(frame_head));
	make_ready();
	assert_int_equal(create(&flow, &handle), 0);
	assert_true(comes_back(1));
	world.data[2048] = 2;
	assert_false(comes_back(2));
	flow = flow_of(UV_FLOW_ALL_DEFAULT);
	assert_int_equal(create(&flow, &handle), 0);
	assert_true(comes_back(3));
	add(&flow, UV_FLOW_SPEC_ETH, &eth, &eth, sizeof(eth));
	assert_int_equal(create(&flow, &handle), -EINVAL);
}

static void refusals(void **state)
{
	struct flow flow, good = flow_of(UV_FLOW_NORMAL);
	struct ib_uverbs_flow_spec_hdr *header;
	uint32_t handle;

	(void)state;
	flow = good;
	assert_int_equal(create(&flow, &handle), -EINVAL); /* about nothing */
	add(&good, UV_FLOW_SPEC_UDP, &ports, &ports, sizeof(ports));
#define REFUSED(change, error)                                     \
	do {                                                       \
		flow = good;                                       \
		header = (void *)flow.specs;                       \
		change;                                            \
		assert_int_equal(create(&flow, &handle), (error)); \
	} while (0)
	REFUSED(flow.req.comp_mask = 1, -EINVAL);
	REFUSED(flow.req.qp_handle = 999, -EINVAL);
	REFUSED(flow.req.flow_attr.port = 2, -EINVAL);
	REFUSED(flow.req.flow_attr.flags = 1, -EOPNOTSUPP);
	REFUSED(flow.req.flow_attr.type = 3, -EOPNOTSUPP);
	REFUSED(flow.req.flow_attr.reserved[1] = 1, -EINVAL);
	REFUSED(flow.req.flow_attr.size++, -EINVAL);
	REFUSED(flow.req.flow_attr.size--, -EINVAL);
	REFUSED(flow.req.flow_attr.num_of_specs = 2, -EINVAL);
	REFUSED(flow.req.flow_attr.num_of_specs = 11, -EINVAL);
	REFUSED(header->size--, -EINVAL);
	REFUSED(header->size = 0, -EINVAL);
	REFUSED(header->size = 0xffff, -EINVAL);
	REFUSED(header->reserved = 1, -EINVAL);
	REFUSED(header->type = 0x50, -EOPNOTSUPP); /* VXLAN */
	REFUSED((void)header, 0);
#undef REFUSED
	assert_int_equal(make_qp(IB_UVERBS_QPT_RC), 0);
	good.req.qp_handle = world.qp.handle;
	assert_int_equal(create(&good, &handle), -EINVAL);
	assert_int_equal(make_qp(IB_UVERBS_QPT_UD), 0);
	good.req.qp_handle = world.qp.handle;
	assert_int_equal(create(&good, &handle), -EOPNOTSUPP);
}

/* InfiniBand has no Ethernet frames. */
static void infiniband(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	open_world(true);
	assert_int_equal(make_qp(IB_UVERBS_QPT_RAW_PACKET), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(rules_bring_frames, setup, teardown),
	    cmocka_unit_test_setup_teardown(defaults, setup, teardown),
	    cmocka_unit_test_setup_teardown(refusals, setup, teardown),
	    cmocka_unit_test_setup_teardown(infiniband, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
