/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows which events reach which channels, in what form, and that subscriptions end with their
 * object or channel; asynchronous answers; capabilities; VAR pages and packet pacing entries.
 * By queues that complete, overrun and fail, and by channels that are closed.
 */
#include "abi/mlx5_db.h"
#include "tests/support/devx_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct rig_channel *channel(int fd)
{
	return &world.rig.channels[fd - RIG_FD_FIRST];
}

static uint64_t cookie_of(const struct rig_channel *from, unsigned int i)
{
	uint64_t cookie;

	memcpy(&cookie, from->records[i], sizeof(cookie));
	return cookie;
}

static const uint8_t *eqe_of(const struct rig_channel *from, unsigned int i)
{
	return from->records[i] + sizeof(uint64_t);
}

/* A NOP completes on the queue pair's queue, which is armed first. */
static void complete_one(uint32_t index)
{
	uint32_t *entry =
	    (void *)(world.qp.ring + 16 * world.qp.rq_count + 64 * (size_t)(index % 8));

	world.cq.record[DB_CQ_ARM] = be32_from((index + 1) << 28 | index).raw;
	nic_cq_scan(world.rig.nic, world.rig.now_ns);
	memset(entry, 0, 64);
	entry[0] = be32_from(index << 8).raw;
	entry[1] = be32_from(world.qp.number << 8 | 1).raw;
	entry[2] = be32_from(8).raw; /* a completion, please */
	world.qp.record[DB_SEND] = be32_from(index + 1).raw;
	nic_scan(world.rig.nic, world.rig.now_ns);
	rig_pump(&world.rig);
}

static void connect_to_itself(void)
{
	assert_int_equal(devx_connect(&world.rig, world.qp.handle, world.qp.number, world.qp.number,
				      world.rig.config.gids[0]),
			 0);
}

/* Both forms of a record: the cookie alone, and with the entry of the event queue. */
static void completions(void **state)
{
	static const uint16_t comp[] = {CMD_EVENT_COMP};
	int brief, full;

	(void)state;
	connect_to_itself();
	assert_int_equal(devx_event_channel(&world.rig, 1, &brief), 0);
	assert_int_equal(devx_event_channel(&world.rig, 0, &full), 0);
	assert_int_equal(devx_subscribe(&world.rig, brief, world.cq.handle, comp, 1, 0x1122), 0);
	assert_int_equal(devx_subscribe(&world.rig, full, world.cq.handle, comp, 1, 0x3344), 0);
	complete_one(0);
	assert_int_equal(channel(brief)->count, 1);
	assert_int_equal(channel(brief)->lens[0], 8);
	assert_int_equal(cookie_of(channel(brief), 0), 0x1122);
	assert_int_equal(channel(full)->count, 1);
	assert_int_equal(channel(full)->lens[0], 8 + CMD_EQE_BYTES);
	assert_int_equal(cookie_of(channel(full), 0), 0x3344);
	assert_int_equal(cmd_get(eqe_of(channel(full), 0), CMD_EQE_TYPE), CMD_EVENT_COMP);
	assert_int_equal(cmd_get(eqe_of(channel(full), 0), CMD_EQE_COMP_CQN), world.cq.number);
	/* Closed by the application: nothing more goes there, the other one still gets its. */
	kern_channel_release(channel(brief)->kern);
	channel(brief)->open = false;
	complete_one(1);
	assert_int_equal(channel(brief)->count, 1);
	assert_int_equal(channel(full)->count, 2);
}

/* A completion queue that is full, or whose memory is gone; with the reason, as a card gives it. */
static void completion_queue_errors(void **state)
{
	static const uint16_t wanted[] = {CMD_EVENT_CQ_ERROR};
	const uint8_t *eqe;
	int fd;

	for (unsigned int gone = 0; gone <= 1; gone++) {
		connect_to_itself();
		assert_int_equal(devx_event_channel(&world.rig, 0, &fd), 0);
		assert_int_equal(devx_subscribe(&world.rig, fd, world.cq.handle, wanted, 1, 9), 0);
		if (gone)
			world.rig.unwritable = rig_va(world.cq.ring);
		for (uint32_t i = 0; i <= 16; i++)
			complete_one(i);
		assert_int_equal(channel(fd)->count, 1);
		eqe = eqe_of(channel(fd), 0);
		assert_int_equal(cmd_get(eqe, CMD_EQE_TYPE), CMD_EVENT_CQ_ERROR);
		assert_int_equal(cmd_get(eqe, CMD_EQE_CQ_ERR_CQN), world.cq.number);
		assert_int_equal(cmd_get(eqe, CMD_EQE_CQ_ERR_SYNDROME),
				 gone ? CMD_EQE_CQ_ERR_ACCESS : CMD_EQE_CQ_ERR_OVERRUN);
		devx_world_close(state);
		devx_world_open(state);
	}
}

/* Only what was subscribed to, and of that object. */
static void queue_pair_events(void **state)
{
	static const uint16_t wanted[] = {CMD_EVENT_SQ_DRAINED, CMD_EVENT_WQ_ACCESS_ERROR};
	struct nic_event event = {.kind = NIC_EVENT_QP_LAST_WQE};
	int fd;

	(void)state;
	event.cookie = world.qp.handle;
	assert_int_equal(devx_event_channel(&world.rig, 0, &fd), 0);
	assert_int_equal(devx_subscribe(&world.rig, fd, world.qp.handle, wanted, 2, 7), 0);
	kern_nic_event(world.rig.kern, &event);
	assert_int_equal(channel(fd)->count, 0);
	event.kind = NIC_EVENT_QP_ACCESS_ERR;
	kern_nic_event(world.rig.kern, &event);
	event.kind = NIC_EVENT_QP_SQ_DRAINED;
	kern_nic_event(world.rig.kern, &event);
	event.kind = NIC_EVENT_DB_AHEAD;
	kern_nic_event(world.rig.kern, &event);
	assert_int_equal(channel(fd)->count, 2);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 0), CMD_EQE_TYPE), CMD_EVENT_WQ_ACCESS_ERROR);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 0), CMD_EQE_QP_SRQ_N), world.qp.number);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 1), CMD_EQE_TYPE), CMD_EVENT_SQ_DRAINED);
	/* The object goes, and its subscriptions; a new object in its place has none. */
	assert_int_equal(devx_destroy(&world.rig, world.qp.handle), 0);
	assert_int_equal(devx_qp(&world.rig, world.page, world.pdn, world.cq.number, &world.qp), 0);
	event.cookie = world.qp.handle;
	kern_nic_event(world.rig.kern, &event);
	assert_int_equal(channel(fd)->count, 2);
}

static void port_events(void **state)
{
	static const uint16_t change[] = {CMD_EVENT_PORT_CHANGE};
	int fd;

	(void)state;
	assert_int_equal(devx_event_channel(&world.rig, 0, &fd), 0);
	assert_int_equal(devx_subscribe(&world.rig, fd, UINT32_MAX, change, 1, 9), 0);
	kern_port_event(world.rig.kern, UV_EVENT_PORT_ERR);
	kern_port_event(world.rig.kern, UV_EVENT_GID_CHANGE);
	kern_port_event(world.rig.kern, UV_EVENT_PORT_ACTIVE);
	assert_int_equal(channel(fd)->count, 2);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 0), CMD_EQE_TYPE), CMD_EVENT_PORT_CHANGE);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 0), CMD_EQE_SUBTYPE), 1);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 1), CMD_EQE_SUBTYPE), 4);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 1), CMD_EQE_PORT), 1);
}

static void subscriptions_that_are_refused(void **state)
{
	static const uint16_t events[17] = {CMD_EVENT_COMP};
	static const uint16_t change[] = {CMD_EVENT_PORT_CHANGE};
	static const uint16_t unknown[] = {CMD_EVENT_COMP, 0x55};
	struct kern_rig *rig = &world.rig;
	int fd, async, cmd;

	(void)state;
	assert_int_equal(devx_event_channel(rig, 0, &fd), 0);
	assert_int_equal(devx_event_channel(rig, 2, &async), -EINVAL);
	assert_int_equal(rig_async(rig, &async), 0);
	assert_int_equal(devx_cmd_channel(rig, &cmd), 0);
	assert_int_equal(devx_subscribe(rig, fd, world.cq.handle, events, 17, 0), -EINVAL);
	assert_int_equal(devx_subscribe(rig, fd, world.cq.handle, change, 1, 0), -EINVAL);
	assert_int_equal(devx_subscribe(rig, fd, world.cq.handle, unknown, 2, 0), -EINVAL);
	assert_int_equal(devx_subscribe(rig, fd, UINT32_MAX, events, 1, 0), -EINVAL);
	assert_int_equal(devx_subscribe(rig, fd, world.pd, events, 1, 0), -EINVAL);
	assert_int_equal(devx_subscribe(rig, async, world.cq.handle, events, 1, 0), -EBADF);
	assert_int_equal(devx_subscribe(rig, cmd, world.cq.handle, events, 1, 0), -EBADF);
	assert_int_equal(devx_subscribe(rig, 3, world.cq.handle, events, 1, 0), -EBADF);
	/* An eventfd in the channel's place is not offered; with a cookie it is a mistake. */
	for (int with_cookie = 0; with_cookie < 2; with_cookie++) {
		rig_call(rig, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
		rig_attr(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, (uint64_t)fd, 0);
		rig_in(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, change, 2);
		rig_in32(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, 4);
		if (with_cookie)
			rig_in64(rig, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, 1);
		assert_int_equal(rig_run(rig), with_cookie ? -EINVAL : -EOPNOTSUPP);
	}
}

static void asynchronous_queries(void **state)
{
	struct kern_rig *rig = &world.rig;
	int fd, event;

	(void)state;
	assert_int_equal(devx_cmd_channel(rig, &fd), 0);
	assert_int_equal(devx_event_channel(rig, 0, &event), 0);
	devx_in(&world.devx, CMD_QUERY_QP, 16, 300);
	world.devx.handle = world.qp.handle;
	cmd_set(world.devx.in, CMD_NUMBER, world.qp.number);
	assert_int_equal(devx_async_query(rig, &world.devx, event, 5), -EBADF);
	assert_int_equal(devx_async_query(rig, &world.devx, fd, 0xabcdef), 0);
	assert_int_equal(channel(fd)->count, 1);
	assert_int_equal(channel(fd)->lens[0], 308);
	assert_int_equal(cookie_of(channel(fd), 0), 0xabcdef);
	assert_int_equal(cmd_get(eqe_of(channel(fd), 0) + CMD_QP_QPC, CMD_QPC_PD), world.pdn);
	/* A refusal is an answer, too. */
	devx_in(&world.devx, CMD_QUERY_GENERAL_OBJECT, 16, 16);
	world.devx.handle = world.qp.handle;
	assert_int_equal(devx_async_query(rig, &world.devx, fd, 1), -EINVAL);
	devx_in(&world.devx, CMD_QUERY_QP, 16, 65535);
	world.devx.handle = world.qp.handle;
	cmd_set(world.devx.in, CMD_NUMBER, world.qp.number);
	assert_int_equal(devx_async_query(rig, &world.devx, fd, 2), 0);
	assert_int_equal(channel(fd)->count, 2);
}

/* ---- what it says of itself --------------------------------------------------------------------
 */

static int query_cap(uint32_t page, uint32_t other)
{
	devx_in(&world.devx, CMD_QUERY_HCA_CAP, 16, 16 + CMD_CAP_BYTES);
	cmd_set(world.devx.in, CMD_OP_MOD, page << 1 | 1);
	cmd_set(world.devx.in, CMD_CAP_OTHER_FUNCTION, other);
	return devx_other(&world.rig, &world.devx);
}

static uint32_t cap(uint16_t word, uint8_t shift, uint8_t bits)
{
	return cmd_get(world.devx.out + CMD_HEADER_BYTES, CMD_FIELD(word, shift, bits));
}

static void capabilities(void **state)
{
	(void)state;
	assert_int_equal(query_cap(CMD_CAP_GENERAL, 0), 0);
	assert_int_equal(cap(0x34, 8, 2), 1); /* Ethernet */
	assert_int_equal(cap(0x34, 0, 8), 1); /* a port */
	assert_int_equal(cap(0x10, 0, 5), 12);
	assert_int_equal(cap(0x44, 0, 1), 1); /* RC */
	assert_int_equal(cap(0x40, 5, 1), 1); /* DC */
	assert_int_equal(cap(0xb0, 16, 5), 6); /* streams of an initiator, and such as may fail */
	assert_int_equal(cap(0xb0, 8, 5), 4);
	assert_int_equal(cap(0x40, 4, 1), 0); /* no pacing that works */
	assert_int_equal(cap(0x80, 0x2c - 32, 1), 1);
	assert_int_equal(cap(0x6c, 24, 5), 12); /* receive queues, TIRs, tables, their length */
	assert_int_equal(cap(0x6c, 8, 5), 8);
	assert_int_equal(cap(0x70, 16, 5), 6);
	assert_int_equal(cap(0x70, 8, 5), 7);
	assert_int_equal(query_cap(CMD_CAP_GENERAL_2, 0), 0);
	assert_int_equal(cap(0x10, 8, 5), 0);
	/* Pages that there are, and say nothing; one that there is not; another function's. */
	assert_int_equal(query_cap(CMD_CAP_ESW, 0), 0);
	for (uint16_t i = 0; i < CMD_CAP_BYTES; i += 4)
		assert_int_equal(cap(i, 0, 32), 0);
	assert_int_equal(query_cap(0x55, 0), -EREMOTEIO);
	assert_int_equal(devx_status(&world.devx), CMD_BAD_PARAM);
	assert_int_equal(query_cap(CMD_CAP_GENERAL, 1), -EREMOTEIO);
	/* A longer answer than there is, and one cut short. */
	devx_in(&world.devx, CMD_QUERY_HCA_CAP, 16, 8000);
	assert_int_equal(devx_other(&world.rig, &world.devx), 0);
	assert_int_equal(world.devx.out[7999], 0);
	devx_in(&world.devx, CMD_QUERY_HCA_CAP, 16, 64);
	assert_int_equal(devx_other(&world.rig, &world.devx), 0);
	devx_in(&world.devx, CMD_QUERY_HCA_CAP, 8, 64);
	assert_int_equal(devx_other(&world.rig, &world.devx), -EINVAL);
}

static void general_commands(void **state)
{
	struct kern_file *devx = world.rig.file;
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
	    .total_num_bfregs = 16, .max_cqe_version = 1, .lib_caps = 3};

	(void)state;
	devx_in(&world.devx, CMD_QUERY_LAG, 16, 32);
	assert_int_equal(devx_other(&world.rig, &world.devx), 0);
	devx_in(&world.devx, CMD_QUERY_HCA_VPORT_CONTEXT, 16, 528);
	assert_int_equal(devx_other(&world.rig, &world.devx), -EREMOTEIO);
	devx_in(&world.devx, 0xb0c, 16, 16);
	assert_int_equal(devx_other(&world.rig, &world.devx), -EREMOTEIO);
	assert_int_equal(devx_status(&world.devx), CMD_BAD_OP);
	devx_in(&world.devx, 0x805, 16, 16); /* registers are not for everybody */
	assert_int_equal(devx_other(&world.rig, &world.devx), -EINVAL);
	/* A context without DevX may ask for capabilities, and nothing else. */
	assert_int_equal(kern_open(world.rig.kern, &world.rig.file), 0);
	rig_call(&world.rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	rig_in(&world.rig, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	rig_out(&world.rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_alloc_ucontext_resp));
	assert_int_equal(rig_run(&world.rig), 0);
	assert_int_equal(query_cap(CMD_CAP_GENERAL, 0), 0);
	devx_in(&world.devx, CMD_QUERY_LAG, 16, 32);
	assert_int_equal(devx_other(&world.rig, &world.devx), -EINVAL);
	devx_in(&world.devx, CMD_ALLOC_PD, 16, 16);
	assert_int_equal(devx_create(&world.rig, &world.devx), -EINVAL);
	kern_close(world.rig.file, 0);
	world.rig.file = devx;
}

static void infiniband_port(void **state)
{
	const uint8_t *context = world.devx.out + CMD_HEADER_BYTES;

	(void)state;
	assert_int_equal(query_cap(CMD_CAP_GENERAL, 0), 0);
	assert_int_equal(cap(0x34, 8, 2), 0);
	devx_in(&world.devx, CMD_QUERY_HCA_VPORT_CONTEXT, 16, 528);
	assert_int_equal(devx_other(&world.rig, &world.devx), 0);
	assert_int_equal(cmd_get(context, CMD_VPORT_LID), RIG_LID);
	assert_int_equal(cmd_get(context, CMD_VPORT_STATE), UV_PORT_ACTIVE);
	assert_int_equal(be64_load(context + CMD_VPORT_NODE_GUID), world.rig.config.node_guid);
	cmd_set(world.devx.in, CMD_VPORT_IN_PORT, 2);
	assert_int_equal(devx_other(&world.rig, &world.devx), -EREMOTEIO);
}

static void event_queue_and_register_numbers(void **state)
{
	uint32_t *out;

	(void)state;
	for (uint32_t vector = 0; vector < 2; vector++) {
		rig_call(&world.rig, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN);
		rig_in32(&world.rig, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, vector);
		out = rig_out(&world.rig, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, 4);
		assert_int_equal(rig_run(&world.rig), vector ? -ENOENT : 0);
		if (vector == 0)
			assert_int_equal(*out, 1);
	}
	rig_call(&world.rig, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR);
	rig_in32(&world.rig, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, 0);
	rig_out(&world.rig, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, 4);
	assert_int_equal(rig_run(&world.rig), -EINVAL);
}

/* ---- VAR, packet pacing -------------------------------------------------------------------------
 */

static void var_pages(void **state)
{
	struct kern_rig *rig = &world.rig;
	uint64_t *offset;
	uint32_t *len, *id, page, count, handle;
	struct devx_cq cq;

	(void)state;
	rig_call(rig, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC);
	rig_attr(rig, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, 0, 0);
	offset = rig_out(rig, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, 8);
	len = rig_out(rig, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, 4);
	id = rig_out(rig, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, 4);
	assert_int_equal(rig_run(rig), 0);
	handle = (uint32_t)rig_data(rig, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE);
	assert_int_equal(*len, 4096);
	assert_int_equal(kern_mmap(rig->file, *offset, *len, true, &page, &count), 0);
	assert_int_equal(page, *id);
	/* It is no register: nothing looks at it, and no queue takes it for one. */
	memset(rig->pages + 4096 * (size_t)page, 0xa5, 4096);
	kern_notice(rig->kern, rig->now_ns);
	assert_int_equal(rig->pages[4096 * (size_t)page + 0x800], 0xa5);
	assert_int_equal(devx_cq(rig, page, 4, &cq), -EREMOTEIO);
	assert_int_equal(rig_destroy(rig, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY,
				     MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, handle),
			 0);
	assert_int_equal(kern_mmap(rig->file, *offset, *len, true, &page, &count), -EINVAL);
}

static int pp_alloc(uint32_t rate, uint32_t flags, uint32_t *handle)
{
	struct kern_rig *rig = &world.rig;
	uint16_t *index;
	int error;

	rig_call(rig, MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC);
	rig_attr(rig, MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, 0, 0);
	rig_in32(rig, MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, rate);
	rig_in64(rig, MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS, flags);
	index = rig_out(rig, MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, 2);
	error = rig_run(rig);
	*handle = (uint32_t)rig_data(rig, MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE);
	return error ? error : *index;
}

static int pp_destroy(uint32_t handle)
{
	return rig_destroy(&world.rig, MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY,
			   MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE, handle);
}

static void packet_pacing(void **state)
{
	uint32_t one, same, own, other, handle;
	int index = pp_alloc(100, 0, &one);

	(void)state;
	assert_true(index > 0);
	assert_int_equal(pp_alloc(100, 0, &same), index);
	assert_int_not_equal(pp_alloc(100, 1, &own), index);
	assert_int_not_equal(pp_alloc(200, 0, &other), index);
	assert_int_equal(pp_alloc(100, 2, &handle), -EINVAL);
	assert_int_equal(pp_destroy(one), 0);
	assert_int_equal(pp_destroy(own), 0);
	assert_int_equal(pp_alloc(100, 0, &one), index); /* `same` still holds it */
	for (int i = 3; i < 127; i++)
		assert_true(pp_alloc(1000 + (uint32_t)i, 1, &handle) > 0);
	assert_true(pp_alloc(7, 1, &handle) > 0);
	assert_int_equal(pp_alloc(8, 0, &handle), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(completions, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(completion_queue_errors, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(queue_pair_events, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(port_events, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(subscriptions_that_are_refused, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(asynchronous_queries, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(capabilities, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(general_commands, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(infiniband_port, devx_world_open_infiniband,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(event_queue_and_register_numbers, devx_world_open,
					    devx_world_close),
	    cmocka_unit_test_setup_teardown(var_pages, devx_world_open, devx_world_close),
	    cmocka_unit_test_setup_teardown(packet_pacing, devx_world_open, devx_world_close),
	};

	return cmocka_run_group_tests_name("kern_devx_event", tests, NULL, NULL);
}
