/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: work queues, tables of them and queue pairs with a hash, as libmlx5 asks the kernel for
 * them and as the kernel answers. By building the calls byte for byte; a frame comes to the queue
 * that the hash says.
 */
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/raw_frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	QUEUES = 4,
	WQES = 16,
	WQE_SHIFT = 4,
	UIDX = 0x40, /* of the first queue */
	USER_HANDLE = 0x900,
};

enum { CHOSEN = RAW_FRAME_HASH % QUEUES };

struct wq {
	uint32_t handle;
	uint32_t number;
	uint8_t *ring;
	uint32_t *record;
};

static struct {
	struct kern_rig rig;
	int async;
	uint32_t pd;
	uint32_t page;
	struct rig_cq cq;      /* of the sender */
	struct rig_cq recv_cq; /* of the queues */
	struct wq queues[QUEUES];
	struct ib_uverbs_reg_mr_resp mr;
	uint8_t *data; /* receive, and the frame 2048 bytes on */
	struct raw_sender sender;
} world;

static struct kern_rig *const rig = &world.rig;

/* ---- work queues -------------------------------------------------------------------------------
 */

/* What a request can have wrong. */
struct wq_request {
	uint32_t pd;
	uint32_t cq;
	uint32_t flags;
	uint64_t type;
	uint32_t max_wr;
	uint16_t driver_bytes;
	struct mlx5_ib_create_wq driver;
};

static struct wq_request wq_request(const struct wq *wq)
{
	return (struct wq_request){
	    .pd = world.pd,
	    .cq = world.recv_cq.handle,
	    .type = IB_UVERBS_WQT_RQ,
	    .max_wr = WQES,
	    .driver_bytes = sizeof(struct mlx5_ib_create_wq),
	    .driver = {.buf_addr = rig_va(wq->ring),
		       .db_addr = rig_va(wq->record),
		       .rq_wqe_count = WQES,
		       .rq_wqe_shift = WQE_SHIFT,
		       .user_index = UIDX + (uint32_t)(wq - world.queues)},
	};
}

static int ask_wq(const struct wq_request *request, struct wq *wq)
{
	const uint32_t *number, *max_wr;
	int error;

	rig_call(rig, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_WQ_HANDLE, 0, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, USER_HANDLE);
	rig_attr(rig, UVERBS_ATTR_CREATE_WQ_PD_HANDLE, request->pd, 0);
	if (request->cq)
		rig_attr(rig, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, request->cq, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_WQ_TYPE, request->type);
	rig_in32(rig, UVERBS_ATTR_CREATE_WQ_MAX_WR, request->max_wr);
	rig_in32(rig, UVERBS_ATTR_CREATE_WQ_MAX_SGE, 1);
	rig_attr(rig, UVERBS_ATTR_CREATE_WQ_EVENT_FD, (uint64_t)world.async, 0);
	rig_in32(rig, UVERBS_ATTR_CREATE_WQ_FLAGS, request->flags);
	max_wr = rig_out(rig, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, 4);
	(void)rig_out(rig, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, 4);
	number = rig_out(rig, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &request->driver, request->driver_bytes);
	(void)rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_wq_resp));
	error = rig_run(rig);
	if (error)
		return error;
	assert_int_equal(*max_wr, request->max_wr);
	wq->handle = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_WQ_HANDLE);
	wq->number = *number;
	return 0;
}

static void alloc_wq(struct wq *wq)
{
	wq->ring = rig_alloc(rig, WQES << WQE_SHIFT);
	wq->record = rig_alloc(rig, 8);
}

static int destroy_wq(const struct wq *wq, uint32_t *events)
{
	const uint32_t *resp;
	int error;

	rig_call(rig, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_WQ_HANDLE, wq->handle, 0);
	resp = rig_out(rig, UVERBS_ATTR_DESTROY_WQ_RESP, 4);
	error = rig_run(rig);
	if (!error && events)
		*events = *resp;
	return error;
}

static int ask_modify(const struct ib_uverbs_ex_modify_wq *req, uint64_t driver,
		      uint16_t driver_bytes)
{
	rig_call(rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(rig, UVERBS_ATTR_WRITE_CMD, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ));
	rig_in(rig, UVERBS_ATTR_CORE_IN, req, sizeof(*req));
	if (driver_bytes != 0)
		rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, driver_bytes);
	return rig_run(rig);
}

static int modify_wq(const struct wq *wq, uint32_t state)
{
	struct ib_uverbs_ex_modify_wq req = {
	    .wq_handle = wq->handle, .attr_mask = UV_WQ_STATE, .wq_state = state};

	return ask_modify(&req, 0, sizeof(struct mlx5_ib_modify_wq));
}

/* ---- tables and queue pairs --------------------------------------------------------------------
 */

static int make_table(const uint32_t *handles, uint32_t size_log2, uint16_t bytes, uint32_t *table)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp;
	uint32_t req[2 + (2 << NIC_RQT_LOG2_MAX)] = {0, size_log2};
	int error;

	for (uint32_t i = 0; i < sizeof(req) / sizeof(req[0]) - 2; i++)
		req[2 + i] = handles[i % QUEUES];
	error = rig_write(rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), req, bytes,
			  &resp, sizeof(resp), NULL, 0);
	if (error)
		return error;
	assert_int_equal(resp.response_length, sizeof(resp));
	*table = resp.ind_tbl_handle;
	return 0;
}

static int make_whole_table(uint32_t *table)
{
	uint32_t handles[QUEUES];

	for (uint32_t i = 0; i < QUEUES; i++)
		handles[i] = world.queues[i].handle;
	return make_table(handles, 2, 8 + 4 * QUEUES, table);
}

static int destroy_table(uint32_t table)
{
	return rig_destroy(rig, UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY,
			   UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, table);
}

struct rss_request {
	uint64_t type;
	uint32_t table;
	uint32_t recv_cq;
	struct ib_uverbs_qp_cap cap;
	struct mlx5_ib_create_qp_rss driver;
	uint16_t driver_bytes;
};

static struct rss_request rss_request(uint32_t table)
{
	struct rss_request request = {
	    .type = IB_UVERBS_QPT_RAW_PACKET,
	    .table = table,
	    .driver = {.rx_hash_fields_mask = MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4,
		       .rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ,
		       .rx_key_len = sizeof(raw_frame_key)},
	    .driver_bytes = sizeof(struct mlx5_ib_create_qp_rss),
	};

	memcpy(request.driver.rx_hash_key, raw_frame_key, sizeof(raw_frame_key));
	return request;
}

static int ask_rss(const struct rss_request *request, uint32_t *qp)
{
	const uint32_t *number;
	int error;

	rig_call(rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_PD_HANDLE, world.pd, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, request->table, 0);
	if (request->recv_cq)
		rig_attr(rig, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, request->recv_cq, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 1);
	rig_in(rig, UVERBS_ATTR_CREATE_QP_CAP, &request->cap, sizeof(request->cap));
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_TYPE, request->type);
	(void)rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(request->cap));
	number = rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &request->driver, request->driver_bytes);
	(void)rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_qp_resp));
	error = rig_run(rig);
	if (error)
		return error;
	assert_int_equal(*number, 0);
	*qp = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_QP_HANDLE);
	return 0;
}

/* All frames to the queue pair. */
static int make_rule(uint32_t qp, uint32_t *flow)
{
	struct ib_uverbs_create_flow req = {.qp_handle = qp,
					    .flow_attr = {.type = UV_FLOW_ALL_DEFAULT, .port = 1}};
	struct ib_uverbs_create_flow_resp resp;
	int error = rig_write(rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_FLOW), &req, sizeof(req),
			      &resp, sizeof(resp), NULL, 0);

	*flow = resp.flow_handle;
	return error;
}

static int destroy_rule(uint32_t flow)
{
	return rig_destroy(rig, UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY,
			   UVERBS_ATTR_DESTROY_FLOW_HANDLE, flow);
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	assert_int_equal(rig_begin(rig, false, &world.pd, &world.page, &world.cq), 0);
	assert_int_equal(rig_async(rig, &world.async), 0);
	world.recv_cq = (struct rig_cq){.cqe = 63, .comp_fd = -1, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &world.recv_cq), 0);
	world.data = rig_alloc(rig, 4096);
	assert_int_equal(rig_mr(rig, world.pd, world.data, 4096, 1, &world.mr), 0);
	raw_sender_make(rig, &world.sender, world.pd, &world.cq, world.data + 2048, world.mr.lkey);
	for (uint32_t i = 0; i < QUEUES; i++) {
		struct wq_request request;

		alloc_wq(&world.queues[i]);
		request = wq_request(&world.queues[i]);
		assert_int_equal(ask_wq(&request, &world.queues[i]), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kern_rig_close(rig);
	return 0;
}

/* ---- frames ------------------------------------------------------------------------------------
 */

static void post(const struct wq *wq, uint16_t n, uint32_t lkey)
{
	struct wqe_data_seg *receive = (void *)(wq->ring + ((size_t)(n - 1) << WQE_SHIFT));

	*receive = (struct wqe_data_seg){be32_from(RAW_FRAME_BYTES), be32_from(lkey),
					 be64_from(rig_va(world.data))};
	wq->record[DB_RECV] = be32_from(n).raw;
}

static void send_frame(void)
{
	memset(world.data, 0, RAW_FRAME_BYTES);
	raw_sender_send(rig, &world.sender);
}

/* The n-th completion of the queues: its opcode, or -1; *index is whose. */
static int completion(uint32_t n, uint32_t *index)
{
	const struct cqe64 *cqe = (const void *)(world.recv_cq.ring + (size_t)n * 64);
	uint8_t op_own = world.recv_cq.ring[(size_t)n * 64 + 63];

	*index = (be32_to(cqe->srqn_uidx) & 0xffffff) - UIDX;
	return op_own >> 4 == 0xf ? -1 : op_own >> 4;
}

static void frames_come_to_the_queue_of_their_hash(void **state)
{
	struct rss_request request;
	uint32_t table, qp, flow, index;

	(void)state;
	assert_int_equal(make_whole_table(&table), 0);
	request = rss_request(table);
	assert_int_equal(ask_rss(&request, &qp), 0);
	assert_int_equal(make_rule(qp, &flow), 0);
	for (uint32_t i = 0; i < QUEUES; i++)
		post(&world.queues[i], 1, world.mr.lkey);
	send_frame();
	assert_int_equal(completion(0, &index), -1); /* no queue is ready */
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(modify_wq(&world.queues[i], UV_WQS_RDY), 0);
	send_frame();
	assert_memory_equal(world.data, world.data + 2048, RAW_FRAME_BYTES);
	assert_int_equal(completion(0, &index), CQE_RESP_SEND);
	assert_int_equal(index, CHOSEN);
	assert_int_equal(completion(1, &index), -1);
	/* An ARP frame has no address to hash. */
	world.data[2048 + 13] = 6;
	send_frame();
	assert_int_equal(completion(1, &index), CQE_RESP_SEND);
	assert_int_equal(index, 0);
	/* Who is asked for while it is used stays. */
	assert_int_equal(destroy_wq(&world.queues[3], NULL), -EBUSY);
	assert_int_equal(destroy_table(table), -EBUSY);
	assert_int_equal(rig_destroy_qp(rig, qp, NULL), -EBUSY);
	assert_int_equal(destroy_rule(flow), 0);
	assert_int_equal(rig_destroy_qp(rig, qp, NULL), 0);
	assert_int_equal(destroy_wq(&world.queues[3], NULL), -EBUSY);
	assert_int_equal(destroy_table(table), 0);
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(destroy_wq(&world.queues[i], NULL), 0);
	assert_int_equal(destroy_wq(&world.queues[3], NULL), -ENOENT);
	nic_check(rig->nic);
}

/* A context that is closed takes all of it along. */
static void closing(void **state)
{
	struct rss_request request;
	uint32_t table, qp, flow;

	(void)state;
	assert_int_equal(make_whole_table(&table), 0);
	request = rss_request(table);
	assert_int_equal(ask_rss(&request, &qp), 0);
	assert_int_equal(make_rule(qp, &flow), 0);
	kern_close(rig->file, rig->now_ns);
	nic_check(rig->nic);
	assert_int_equal(kern_open(rig->kern, &rig->file), 0);
}

/* ---- states and events -------------------------------------------------------------------------
 */

static void states(void **state)
{
	const struct wq *wq = &world.queues[0];
	struct ib_uverbs_ex_modify_wq req = {.wq_handle = wq->handle};
	uint32_t index;

	(void)state;
	assert_int_equal(modify_wq(wq, UV_WQS_ERR), -EINVAL);
	assert_int_equal(modify_wq(wq, UV_WQS_RESET), 0);
	assert_int_equal(modify_wq(wq, UV_WQS_RDY), 0);
	assert_int_equal(modify_wq(wq, UV_WQS_RDY), 0);
	post(wq, 2, world.mr.lkey);
	assert_int_equal(modify_wq(wq, UV_WQS_ERR), 0);
	rig_pump(rig);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(completion(i, &index), CQE_RESP_ERR);
		assert_int_equal(index, 0);
	}
	assert_int_equal(modify_wq(wq, UV_WQS_RDY), -EINVAL);
	assert_int_equal(modify_wq(wq, UV_WQS_RESET), 0);
	assert_int_equal(modify_wq(wq, 3), -EINVAL);
	assert_int_equal(ask_modify(&req, 0, 8), -EINVAL); /* nothing to do */
	req.attr_mask = UV_WQ_ATTRS + 1;
	assert_int_equal(ask_modify(&req, 0, 8), -EINVAL);
	req = (struct ib_uverbs_ex_modify_wq){.wq_handle = wq->handle,
					      .attr_mask = UV_WQ_STATE | UV_WQ_CUR_STATE,
					      .wq_state = UV_WQS_RDY,
					      .curr_wq_state = UV_WQS_RDY};
	assert_int_equal(ask_modify(&req, 0, 8), -EINVAL);
	req.curr_wq_state = UV_WQS_RESET;
	assert_int_equal(ask_modify(&req, 0, 4), -EINVAL);
	assert_int_equal(ask_modify(&req, 1, 8), -EOPNOTSUPP);
	assert_int_equal(ask_modify(&req, 0, 8), 0);
	req.attr_mask = UV_WQ_FLAGS;
	req.flags = req.flags_mask = IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING;
	assert_int_equal(ask_modify(&req, 0, 8), -EOPNOTSUPP);
	req.attr_mask = UV_WQ_STATE;
	req.wq_handle = world.cq.handle;
	assert_int_equal(ask_modify(&req, 0, 8), -EINVAL);
}

/* A receive that cannot be written ends the queue, and its owner is told. */
static void failure_is_told(void **state)
{
	struct wq *wq = &world.queues[CHOSEN];
	const struct rig_channel *channel = &rig->channels[world.async - RIG_FD_FIRST];
	struct ib_uverbs_async_event_desc record;
	struct rss_request request;
	uint32_t table, qp, flow, index, events;

	(void)state;
	assert_int_equal(make_whole_table(&table), 0);
	request = rss_request(table);
	assert_int_equal(ask_rss(&request, &qp), 0);
	assert_int_equal(make_rule(qp, &flow), 0);
	assert_int_equal(modify_wq(wq, UV_WQS_RDY), 0);
	post(wq, 1, world.mr.lkey + 0x100);
	send_frame();
	assert_int_equal(completion(0, &index), CQE_RESP_ERR);
	assert_int_equal(index, CHOSEN);
	assert_int_equal(channel->count, 1);
	memcpy(&record, channel->records[0], sizeof(record));
	assert_int_equal(record.element, USER_HANDLE);
	assert_int_equal(record.event_type, UV_EVENT_WQ_FATAL);
	assert_int_equal(destroy_rule(flow), 0);
	assert_int_equal(rig_destroy_qp(rig, qp, NULL), 0);
	assert_int_equal(destroy_table(table), 0);
	assert_int_equal(destroy_wq(wq, &events), 0);
	assert_int_equal(events, 0); /* nobody has read it */
}

/* ---- what is refused ---------------------------------------------------------------------------
 */

static void work_queues_that_are_refused(void **state)
{
	struct wq wq;
	struct wq_request good, request;

	(void)state;
	alloc_wq(&wq);
	good = wq_request(&world.queues[0]);
	good.driver.buf_addr = rig_va(wq.ring);
	good.driver.db_addr = rig_va(wq.record);
#define REFUSED(change, error)                                  \
	do {                                                    \
		request = good;                                 \
		change;                                         \
		assert_int_equal(ask_wq(&request, &wq), error); \
	} while (0)
	REFUSED(request.pd = world.cq.handle, -EINVAL);
	REFUSED(request.pd = 999, -ENOENT);
	REFUSED(request.cq = world.queues[0].handle, -EINVAL);
	REFUSED(request.cq = 999, -ENOENT);
	REFUSED(request.cq = 0, -ENOENT);
	REFUSED(request.type = 1, -EINVAL);
	REFUSED(request.flags = IB_UVERBS_WQ_FLAGS_SCATTER_FCS, -EOPNOTSUPP);
	REFUSED(request.flags = 1 << 4, -EINVAL);
	REFUSED(request.max_wr = 32769, -EINVAL);
	REFUSED(request.driver_bytes = 32, -EINVAL);
	REFUSED(request.driver.comp_mask = MLX5_IB_CREATE_WQ_STRIDING_RQ, -EOPNOTSUPP);
	REFUSED(request.driver.rq_wqe_count = 0, -EINVAL);
	REFUSED(request.driver.rq_wqe_count = 12, -EINVAL);
	REFUSED(request.driver.rq_wqe_count = 65536, -EINVAL);
	REFUSED(request.driver.rq_wqe_shift = 3, -EINVAL);
	REFUSED(request.driver.rq_wqe_shift = 10, -EINVAL);
	REFUSED(request.driver.rq_wqe_shift = UINT32_MAX, -EINVAL);
	REFUSED(request.driver.buf_addr = 4096, -EFAULT);
	REFUSED(request.driver.db_addr = 4096, -EFAULT);
	REFUSED(request.driver.db_addr++, -EINVAL);
	REFUSED((void)request, 0);
#undef REFUSED
	assert_int_equal(destroy_wq(&wq, NULL), 0);
	assert_int_equal(destroy_wq(&(struct wq){.handle = world.pd}, NULL), -EINVAL);
}

static void tables_that_are_refused(void **state)
{
	const uint16_t whole = 8 + (4 << NIC_RQT_LOG2_MAX);
	uint32_t handles[QUEUES], table;

	(void)state;
	for (uint32_t i = 0; i < QUEUES; i++)
		handles[i] = world.queues[i].handle;
	assert_int_equal(make_table(handles, NIC_RQT_LOG2_MAX, whole, &table), 0);
	assert_int_equal(destroy_table(table), 0);
	assert_int_equal(make_table(handles, NIC_RQT_LOG2_MAX, whole - 4, &table), -ENOSPC);
	assert_int_equal(make_table(handles, NIC_RQT_LOG2_MAX + 1, whole, &table), -EINVAL);
	assert_int_equal(make_table(handles, 31, whole, &table), -EINVAL);
	assert_int_equal(make_table(handles, UINT32_MAX, whole, &table), -EINVAL);
	assert_int_equal(make_table(handles, 2, whole, &table), -EOPNOTSUPP); /* more behind it */
	assert_int_equal(make_table(handles, 2, 8, &table), -ENOSPC);
	handles[3] = world.pd;
	assert_int_equal(make_table(handles, 2, 24, &table), -EINVAL);
	handles[3] = 999;
	assert_int_equal(make_table(handles, 2, 24, &table), -EINVAL);
	/* Nothing holds a queue by now. */
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(destroy_wq(&world.queues[i], NULL), 0);
}

static void queue_pairs_that_are_refused(void **state)
{
	struct rss_request good, request;
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_modify_qp modify = {
	    .attr_mask = UV_QP_STATE | UV_QP_PORT, .qp_state = UV_QPS_INIT, .port_num = 1};
	uint32_t table, qp;

	(void)state;
	assert_int_equal(make_whole_table(&table), 0);
	good = rss_request(table);
#define REFUSED(change, error)                                   \
	do {                                                     \
		request = good;                                  \
		change;                                          \
		assert_int_equal(ask_rss(&request, &qp), error); \
	} while (0)
	REFUSED(request.table = 999, -ENOENT);
	REFUSED(request.table = world.pd, -EINVAL);
	REFUSED(request.type = IB_UVERBS_QPT_RC, -EINVAL);
	REFUSED(request.recv_cq = world.cq.handle, -EINVAL);
	REFUSED(request.cap.max_recv_wr = 1, -EINVAL);
	REFUSED(request.cap.max_recv_sge = 1, -EINVAL);
	REFUSED(request.cap.max_send_wr = 1, -EOPNOTSUPP);
	REFUSED(request.driver_bytes -= 8, -EINVAL);
	REFUSED(request.driver.comp_mask = 1, -EOPNOTSUPP);
	REFUSED(request.driver.reserved[5] = 1, -EOPNOTSUPP);
	REFUSED(request.driver.flags = MLX5_QP_FLAG_TUNNEL_OFFLOADS, -EOPNOTSUPP);
	REFUSED(request.driver.rx_hash_function = 2, -EOPNOTSUPP); /* XOR */
	REFUSED(request.driver.rx_key_len = 39, -EINVAL);
	REFUSED(request.driver.rx_key_len = 128, -EINVAL);
	REFUSED(request.driver.rx_hash_fields_mask = 0, -EINVAL);
	REFUSED(request.driver.rx_hash_fields_mask |= MLX5_RX_HASH_SRC_IPV6, -EINVAL);
	REFUSED(request.driver.rx_hash_fields_mask =
		    MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_UDP,
		-EINVAL);
	REFUSED(request.driver.rx_hash_fields_mask |= MLX5_RX_HASH_INNER, -EOPNOTSUPP);
	REFUSED(request.driver.rx_hash_fields_mask |= MLX5_RX_HASH_IPSEC_SPI, -EOPNOTSUPP);
	REFUSED(request.driver.rx_hash_fields_mask |= 1ull << 32, -EOPNOTSUPP);
	REFUSED((void)request, 0);
#undef REFUSED
	/* It has no state that could be set or asked for. */
	modify.qp_handle = qp;
	assert_int_equal(rig_modify(rig, &modify), -ENOSYS);
	assert_int_equal(rig_query(rig, qp, &resp), -ENOSYS);
}

static void infiniband(void **state)
{
	struct wq wq = {0};
	struct wq_request request;
	struct ib_uverbs_ex_query_device_resp resp;
	struct mlx5_ib_query_device_resp uhw;
	uint32_t table;

	(void)state;
	kern_rig_close(rig);
	memset(&world, 0, sizeof(world));
	assert_int_equal(rig_begin(rig, true, &world.pd, &world.page, &world.recv_cq), 0);
	assert_int_equal(rig_async(rig, &world.async), 0);
	alloc_wq(&wq);
	request = wq_request(&world.queues[0]);
	assert_int_equal(ask_wq(&request, &wq), -EOPNOTSUPP);
	assert_int_equal(make_table((const uint32_t[QUEUES]){0}, 0, 16, &table), -EOPNOTSUPP);
	assert_int_equal(rig_write(rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE),
				   &(struct ib_uverbs_ex_query_device){0}, 8, &resp, sizeof(resp),
				   &uhw, sizeof(uhw)),
			 0);
	assert_int_equal(resp.max_wq_type_rq, 0);
	assert_int_equal(resp.rss_caps.supported_qpts, 0);
	assert_int_equal(uhw.rss_caps.rx_hash_function, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(frames_come_to_the_queue_of_their_hash, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(closing, setup, teardown),
	    cmocka_unit_test_setup_teardown(states, setup, teardown),
	    cmocka_unit_test_setup_teardown(failure_is_told, setup, teardown),
	    cmocka_unit_test_setup_teardown(work_queues_that_are_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(tables_that_are_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(queue_pairs_that_are_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(infiniband, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
