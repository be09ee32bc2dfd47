/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what shared receive queues and XRC look like to a driver: what is created, refused, told
 * and busy, with the errors of Linux. By two contexts on one device, and calls as libibverbs makes
 * them.
 */
#include "tests/support/kern_rig.h"

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { UIDX_SRQ = 0x1234, FD_FILE = 501, FD_SAME_FILE = 511, FD_OTHER_FILE = 502 };

struct world {
	struct kern_rig rig;
	struct kern_file *one, *two;
	uint32_t pd, uar, page;
	int async;
	struct rig_cq cq;
};

static int open_world(void **state)
{
	static struct world world;
	struct kern_rig *rig = &world.rig;

	kern_rig_open(rig);
	world.one = rig->file;
	assert_int_equal(kern_open(rig->kern, &world.two), 0);
	rig->file = world.two;
	assert_int_equal(rig_context(rig), 0);
	rig->file = world.one;
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_async(rig, &world.async), 0);
	assert_int_equal(rig_pd(rig, &world.pd), 0); /* handle 0: below it means "left out" */
	assert_int_equal(rig_pd(rig, &world.pd), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	world.cq = (struct rig_cq){.cqe = 15, .comp_fd = -1, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &world.cq), 0);
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	if (world->two)
		kern_close(world->two, 0);
	world->rig.file = world->one;
	nic_check(world->rig.nic);
	kern_rig_close(&world->rig);
	return 0;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

struct srq {
	uint64_t type;
	uint32_t pd;
	uint32_t cq, xrcd; /* 0: left out */
	uint32_t max_wr, max_sge;
	uint32_t flags, uidx, reserved;
	uint64_t user_handle;
	uint8_t *ring;
	uint32_t *record;
	uint32_t handle, number;
	bool short_driver_part;
};

static int make_srq(struct kern_rig *rig, struct srq *srq)
{
	struct mlx5_ib_create_srq driver = {
	    .flags = srq->flags, .uidx = srq->uidx, .reserved0 = srq->reserved};
	uint32_t *number, *max_wr, *max_sge, *driver_number;
	int error;

	if (!srq->ring)
		srq->ring = rig_alloc(rig, 4096);
	if (!srq->record)
		srq->record = rig_alloc(rig, 8);
	driver.buf_addr = rig_va(srq->ring);
	driver.db_addr = rig_va(srq->record);
	rig_call(rig, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, srq->pd, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_SRQ_TYPE, srq->type);
	rig_in64(rig, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, srq->user_handle);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_MAX_WR, srq->max_wr);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, srq->max_sge);
	rig_in32(rig, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	if (srq->xrcd)
		rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, srq->xrcd, 0);
	if (srq->cq)
		rig_attr(rig, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, srq->cq, 0);
	max_wr = rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4);
	max_sge = rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4);
	number = rig_out(rig, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, srq->short_driver_part ? 16 : sizeof(driver));
	driver_number = rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_srq_resp));
	error = rig_run(rig);
	if (error)
		return error;
	srq->handle = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_SRQ_HANDLE);
	srq->number = *driver_number;
	srq->max_wr = *max_wr;
	srq->max_sge = *max_sge;
	assert_int_equal(*number, srq->type == IB_UVERBS_SRQT_XRC ? srq->number : 0xeeeeeeee);
	return 0;
}

static int destroy_srq(struct kern_rig *rig, uint32_t handle, uint32_t *events)
{
	struct ib_uverbs_destroy_srq_resp *resp;
	int error;

	rig_call(rig, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_SRQ_HANDLE, handle, 0);
	resp = rig_out(rig, UVERBS_ATTR_DESTROY_SRQ_RESP, sizeof(*resp));
	error = rig_run(rig);
	if (events)
		*events = resp->events_reported;
	return error;
}

static int modify_srq(struct kern_rig *rig, uint32_t handle, uint32_t mask, uint32_t limit)
{
	struct ib_uverbs_modify_srq req = {
	    .srq_handle = handle, .attr_mask = mask, .max_wr = 7, .srq_limit = limit};

	return rig_write(rig, IB_USER_VERBS_CMD_MODIFY_SRQ, &req, sizeof(req), NULL, 0, NULL, 0);
}

static int query_srq(struct kern_rig *rig, uint32_t handle, struct ib_uverbs_query_srq_resp *resp)
{
	struct ib_uverbs_query_srq req = {.srq_handle = handle};

	return rig_write(rig, IB_USER_VERBS_CMD_QUERY_SRQ, &req, sizeof(req), resp, sizeof(*resp),
			 NULL, 0);
}

static int open_xrcd(struct kern_rig *rig, int fd, uint32_t oflags, uint32_t *handle)
{
	struct ib_uverbs_open_xrcd req = {.fd = (uint32_t)fd, .oflags = oflags};
	struct ib_uverbs_open_xrcd_resp resp;
	int error = rig_write(rig, IB_USER_VERBS_CMD_OPEN_XRCD, &req, sizeof(req), &resp,
			      sizeof(resp), NULL, 0);

	*handle = resp.xrcd_handle;
	return error;
}

static int close_xrcd(struct kern_rig *rig, uint32_t handle)
{
	return rig_destroy(rig, UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY,
			   UVERBS_ATTR_DESTROY_XRCD_HANDLE, handle);
}

/* What a queue pair of any type is made of; 0: left out. */
struct parts {
	uint64_t type;
	uint32_t pd, send_cq, recv_cq, srq, xrcd;
	uint64_t user_handle;
	uint32_t handle, number;
	struct ib_uverbs_qp_cap cap;
	uint8_t *ring;
	uint32_t *record;
};

static int make_qp(struct world *world, struct parts *qp)
{
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_qp_cap *cap;
	struct mlx5_ib_create_qp driver = {
	    .sq_wqe_count = 4,
	    .flags = MLX5_QP_FLAG_UAR_PAGE_INDEX,
	    .uidx = 77,
	    .bfreg_index = world->page,
	};
	uint32_t *number;
	int error;

	qp->ring = rig_alloc(rig, 4096);
	qp->record = rig_alloc(rig, 8);
	driver.buf_addr = rig_va(qp->ring);
	driver.db_addr = rig_va(qp->record);
	qp->cap = (struct ib_uverbs_qp_cap){
	    .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};
	rig_call(rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	rig_attr(rig, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	if (qp->pd)
		rig_attr(rig, UVERBS_ATTR_CREATE_QP_PD_HANDLE, qp->pd, 0);
	if (qp->send_cq)
		rig_attr(rig, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, qp->send_cq, 0);
	if (qp->recv_cq)
		rig_attr(rig, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, qp->recv_cq, 0);
	if (qp->srq)
		rig_attr(rig, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, qp->srq, 0);
	if (qp->xrcd)
		rig_attr(rig, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, qp->xrcd, 0);
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_USER_HANDLE, qp->user_handle);
	rig_in(rig, UVERBS_ATTR_CREATE_QP_CAP, &qp->cap, sizeof(qp->cap));
	rig_in64(rig, UVERBS_ATTR_CREATE_QP_TYPE, qp->type);
	cap = rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(*cap));
	number = rig_out(rig, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	rig_in(rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	rig_out(rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_qp_resp));
	error = rig_run(rig);
	if (error)
		return error;
	qp->handle = (uint32_t)rig_data(rig, UVERBS_ATTR_CREATE_QP_HANDLE);
	qp->number = *number;
	qp->cap = *cap;
	return 0;
}

static int open_qp(struct kern_rig *rig, uint32_t xrcd, uint32_t qpn, uint8_t type,
		   uint64_t user_handle, uint32_t *handle)
{
	struct ib_uverbs_open_qp req = {
	    .user_handle = user_handle, .pd_handle = xrcd, .qpn = qpn, .qp_type = type};
	struct ib_uverbs_create_qp_resp resp;
	int error = rig_write(rig, IB_USER_VERBS_CMD_OPEN_QP, &req, sizeof(req), &resp,
			      sizeof(resp), NULL, 0);

	*handle = resp.qp_handle;
	assert_true(error || resp.qpn == qpn);
	return error;
}

/* The unread records of a channel that say `event` of the object of this user handle. */
static unsigned int told(struct world *world, int fd, uint64_t user_handle, uint32_t event)
{
	const struct rig_channel *channel = &world->rig.channels[fd - RIG_FD_FIRST];
	unsigned int count = 0;

	for (unsigned int i = 0; i < channel->count; i++) {
		struct ib_uverbs_async_event_desc record;

		memcpy(&record, channel->records[i], sizeof(record));
		count += record.element == user_handle && record.event_type == event;
	}
	return count;
}

/* ---- SRQs -------------------------------------------------------------------------------------
 */

static void srq_create(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct srq srq = {.pd = world->pd, .max_wr = 20, .max_sge = 3};
	struct srq small = {.pd = world->pd, .max_wr = 0, .max_sge = 0};
	struct ib_uverbs_query_srq_resp resp;

	assert_int_equal(make_srq(rig, &srq), 0);
	assert_int_equal(srq.max_wr, 31);
	assert_int_equal(srq.max_sge, 3);
	assert_int_not_equal(srq.number, 0);
	assert_int_equal(query_srq(rig, srq.handle, &resp), 0);
	assert_int_equal(resp.max_wr, 31);
	assert_int_equal(resp.max_sge, 3);
	assert_int_equal(resp.srq_limit, 0);
	assert_int_equal(make_srq(rig, &small), 0);
	assert_int_equal(small.max_wr, 0);
	assert_int_not_equal(small.number, srq.number);
	assert_int_equal(destroy_srq(rig, srq.handle, NULL), 0);
	assert_int_equal(destroy_srq(rig, srq.handle, NULL), -ENOENT);
	assert_int_equal(query_srq(rig, srq.handle, &resp), -EINVAL);
	assert_int_equal(modify_srq(rig, srq.handle, UV_SRQ_LIMIT, 1), -EINVAL);
}

static void srq_refusals(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	uint32_t xrcd;

	assert_int_equal(open_xrcd(rig, -1, O_CREAT, &xrcd), 0);
	{
		struct {
			const char *name;
			struct srq srq;
			int error;
		} rows[] = {
		    {"entries", {.max_wr = 32768}, -EINVAL},
		    {"pieces", {.max_sge = 33}, -EINVAL},
		    {"signatures", {.flags = MLX5_SRQ_FLAG_SIGNATURE}, -EINVAL},
		    {"reserved", {.reserved = 1}, -EINVAL},
		    {"driver's part", {.short_driver_part = true}, -EINVAL},
		    {"ring not there", {.ring = (uint8_t *)16}, -EFAULT},
		    {"record not there", {.record = (uint32_t *)16}, -EFAULT},
		    {"PD is a CQ", {.pd = world->cq.handle}, -EINVAL},
		    {"no such PD", {.pd = 1000}, -ENOENT},
		    {"tag matching", {.type = IB_UVERBS_SRQT_TM, .cq = 1}, -EOPNOTSUPP},
		    {"no such type", {.type = 3}, -EINVAL},
		    {"XRC without CQ", {.type = IB_UVERBS_SRQT_XRC, .xrcd = xrcd}, -ENOENT},
		    {"XRC without domain", {.type = IB_UVERBS_SRQT_XRC, .cq = 1}, -ENOENT},
		    {"no user index",
		     {.type = IB_UVERBS_SRQT_XRC, .cq = 1, .xrcd = xrcd, .uidx = 0xffffff},
		     -EINVAL},
		};

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct srq *srq = &rows[i].srq;

			print_message("row \"%s\"\n", rows[i].name);
			if (!srq->pd)
				srq->pd = world->pd;
			if (srq->cq)
				srq->cq = world->cq.handle;
			assert_int_equal(make_srq(rig, srq), rows[i].error);
		}
	}
	for (int i = 0; i < 2; i++) {
		struct srq srq = {.pd = world->pd, .max_wr = 7, .max_sge = 32};

		assert_int_equal(make_srq(rig, &srq), 0);
	}
}

static void srq_modify(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct srq srq = {.pd = world->pd, .max_wr = 7, .max_sge = 1, .user_handle = 0x50};
	struct ib_uverbs_query_srq_resp resp;
	uint32_t events;

	assert_int_equal(make_srq(rig, &srq), 0);
	srq.record[DB_SRQ] = be32_from(5).raw;
	assert_int_equal(modify_srq(rig, srq.handle, UV_SRQ_MAX_WR, 0), -EINVAL);
	assert_int_equal(modify_srq(rig, srq.handle, UV_SRQ_LIMIT, 8), -EINVAL);
	assert_int_equal(modify_srq(rig, srq.handle, 0, 8), 0);
	assert_int_equal(modify_srq(rig, srq.handle, UV_SRQ_LIMIT, 5), 0);
	assert_int_equal(query_srq(rig, srq.handle, &resp), 0);
	assert_int_equal(resp.srq_limit, 5);
	assert_int_equal(told(world, world->async, 0x50, UV_EVENT_SRQ_LIMIT_REACHED), 0);
	/* More than there are: told at once, and not armed any more. */
	assert_int_equal(modify_srq(rig, srq.handle, UV_SRQ_LIMIT, 6), 0);
	assert_int_equal(told(world, world->async, 0x50, UV_EVENT_SRQ_LIMIT_REACHED), 1);
	assert_int_equal(query_srq(rig, srq.handle, &resp), 0);
	assert_int_equal(resp.srq_limit, 0);
	/* Nobody has read it: it does not count, and is gone. */
	assert_int_equal(destroy_srq(rig, srq.handle, &events), 0);
	assert_int_equal(events, 0);
	assert_int_equal(told(world, world->async, 0x50, UV_EVENT_SRQ_LIMIT_REACHED), 0);
}

/* What the application has read counts at destroy. */
static void srq_events_that_were_read(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct srq srq = {.pd = world->pd, .max_wr = 7, .max_sge = 1, .user_handle = 0x51};
	uint32_t events;

	assert_int_equal(make_srq(rig, &srq), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(modify_srq(rig, srq.handle, UV_SRQ_LIMIT, 1), 0);
	assert_int_equal(told(world, world->async, 0x51, UV_EVENT_SRQ_LIMIT_REACHED), 3);
	rig->channels[world->async - RIG_FD_FIRST].count = 1; /* it reads two */
	assert_int_equal(destroy_srq(rig, srq.handle, &events), 0);
	assert_int_equal(events, 2);
}

/* Who is used is busy; a queue pair with an SRQ has no receives of its own. */
static void srq_is_used(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct srq srq = {.pd = world->pd, .max_wr = 7, .max_sge = 1};
	struct parts qp = {.type = IB_UVERBS_QPT_RC,
			   .pd = world->pd,
			   .send_cq = world->cq.handle,
			   .recv_cq = world->cq.handle};
	struct ib_uverbs_query_qp_resp resp;

	assert_int_equal(make_srq(rig, &srq), 0);
	qp.srq = srq.handle;
	assert_int_equal(make_qp(world, &qp), 0);
	assert_int_equal(qp.cap.max_recv_wr, 0);
	assert_int_equal(qp.cap.max_recv_sge, 0);
	assert_int_equal(rig_query(rig, qp.handle, &resp), 0);
	assert_int_equal(resp.max_recv_wr, 0);
	assert_int_equal(destroy_srq(rig, srq.handle, NULL), -EBUSY);
	assert_int_equal(rig_destroy(rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				     UVERBS_ATTR_DESTROY_PD_HANDLE, world->pd),
			 -EBUSY);
	assert_int_equal(rig_destroy_qp(rig, qp.handle, NULL), 0);
	assert_int_equal(destroy_srq(rig, srq.handle, NULL), 0);
	/* A handle of something else, of nothing. */
	qp.srq = world->pd;
	assert_int_equal(make_qp(world, &qp), -EINVAL);
	qp.srq = 1000;
	assert_int_equal(make_qp(world, &qp), -ENOENT);
}

/* ---- domains ----------------------------------------------------------------------------------
 */

static void domains_without_a_file(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	uint32_t a, b, c[4];

	assert_int_equal(open_xrcd(rig, -1, O_CREAT, &a), 0);
	assert_int_equal(open_xrcd(rig, -1, O_EXCL, &b), 0);
	assert_int_not_equal(a, b);
	/* Each is one of its own: there are four. */
	assert_int_equal(open_xrcd(rig, -1, 0, &c[0]), 0);
	assert_int_equal(open_xrcd(rig, -1, 0, &c[1]), 0);
	assert_int_equal(open_xrcd(rig, -1, 0, &c[2]), -ENOMEM);
	assert_int_equal(close_xrcd(rig, a), 0);
	assert_int_equal(close_xrcd(rig, a), -ENOENT);
	assert_int_equal(open_xrcd(rig, -1, 0, &c[2]), 0);
	assert_int_equal(close_xrcd(rig, world->pd), -EINVAL);
}

static void domains_of_a_file(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	uint32_t a, b, c, other;

	assert_int_equal(open_xrcd(rig, 3, O_CREAT, &a), -EBADF);
	assert_int_equal(open_xrcd(rig, FD_FILE, 0, &a), -EAGAIN);
	assert_int_equal(open_xrcd(rig, FD_FILE, O_CREAT, &a), 0);
	assert_int_equal(open_xrcd(rig, FD_SAME_FILE, O_CREAT | O_EXCL, &b), -EINVAL);
	assert_int_equal(open_xrcd(rig, FD_SAME_FILE, O_CREAT, &b), 0);
	assert_int_equal(open_xrcd(rig, FD_OTHER_FILE, 0, &other), -EAGAIN);
	rig->file = world->two;
	assert_int_equal(open_xrcd(rig, FD_FILE, 0, &c), 0);
	/* It is there until the last of them is gone. */
	rig->file = world->one;
	assert_int_equal(close_xrcd(rig, a), 0);
	assert_int_equal(close_xrcd(rig, b), 0);
	assert_int_equal(open_xrcd(rig, FD_FILE, 0, &a), 0);
	assert_int_equal(close_xrcd(rig, a), 0);
	rig->file = world->two;
	assert_int_equal(close_xrcd(rig, c), 0);
	assert_int_equal(open_xrcd(rig, FD_FILE, 0, &c), -EAGAIN);
	rig->file = world->one;
}

static void domain_is_used(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct srq srq = {.type = IB_UVERBS_SRQT_XRC,
			  .pd = world->pd,
			  .cq = world->cq.handle,
			  .max_wr = 7,
			  .max_sge = 1,
			  .uidx = UIDX_SRQ};
	struct parts tgt = {.type = IB_UVERBS_QPT_XRC_TGT};
	const struct mlx5_ib_create_qp_resp *resp;
	uint32_t same;

	assert_int_equal(open_xrcd(rig, FD_FILE, O_CREAT, &srq.xrcd), 0);
	assert_int_equal(open_xrcd(rig, FD_FILE, 0, &same), 0);
	assert_int_equal(make_srq(rig, &srq), 0);
	tgt.xrcd = same;
	assert_int_equal(make_qp(world, &tgt), 0);
	/* Drivers follow the number of its register, though it has none. */
	resp = (const void *)(uintptr_t)rig_data(rig, UVERBS_ATTR_UHW_OUT);
	assert_int_equal(resp->bfreg_index, 0);
	assert_int_equal(close_xrcd(rig, srq.xrcd), -EBUSY);
	assert_int_equal(close_xrcd(rig, same), -EBUSY);
	assert_int_equal(rig_destroy_cq(rig, world->cq.handle, NULL), -EBUSY);
	assert_int_equal(destroy_srq(rig, srq.handle, NULL), 0);
	assert_int_equal(close_xrcd(rig, srq.xrcd), 0);
	assert_int_equal(rig_destroy_qp(rig, tgt.handle, NULL), 0);
	assert_int_equal(close_xrcd(rig, same), 0);
}

/* ---- XRC queue pairs --------------------------------------------------------------------------
 */

static void xrc_create(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct srq basic = {.pd = world->pd, .max_wr = 7, .max_sge = 1};
	struct srq xrc = {.type = IB_UVERBS_SRQT_XRC,
			  .pd = world->pd,
			  .cq = world->cq.handle,
			  .max_wr = 7,
			  .max_sge = 1};
	enum { RC = IB_UVERBS_QPT_RC, INI = IB_UVERBS_QPT_XRC_INI, TGT = IB_UVERBS_QPT_XRC_TGT };
	uint32_t xrcd, pd = world->pd, cq = world->cq.handle;

	assert_int_equal(open_xrcd(rig, -1, 0, &xrcd), 0);
	xrc.xrcd = xrcd;
	assert_int_equal(make_srq(rig, &basic), 0);
	assert_int_equal(make_srq(rig, &xrc), 0);
	{
		struct {
			const char *name;
			struct parts qp;
			int error;
		} rows[] = {
		    {"initiator", {.type = INI, .pd = pd, .send_cq = cq}, 0},
		    {"initiator's receive queue is left aside",
		     {.type = INI, .pd = pd, .send_cq = cq, .recv_cq = cq},
		     0},
		    {"initiator with SRQ",
		     {.type = INI, .pd = pd, .send_cq = cq, .srq = basic.handle},
		     -EINVAL},
		    {"initiator with domain",
		     {.type = INI, .pd = pd, .send_cq = cq, .xrcd = xrcd},
		     -EINVAL},
		    {"initiator without CQ", {.type = INI, .pd = pd}, -ENOENT},
		    {"target", {.type = TGT, .xrcd = xrcd}, 0},
		    {"target with XRC SRQ", {.type = TGT, .srq = xrc.handle, .xrcd = xrcd}, 0},
		    {"target with basic SRQ",
		     {.type = TGT, .srq = basic.handle, .xrcd = xrcd},
		     -EINVAL},
		    {"target with PD", {.type = TGT, .pd = pd, .xrcd = xrcd}, -EINVAL},
		    {"target with send CQ", {.type = TGT, .send_cq = cq, .xrcd = xrcd}, -EINVAL},
		    {"target with receive CQ", {.type = TGT, .recv_cq = cq, .xrcd = xrcd}, -EINVAL},
		    {"target without domain", {.type = TGT}, -ENOENT},
		    {"target with no domain", {.type = TGT, .xrcd = world->uar}, -EINVAL},
		    {"RC with XRC SRQ",
		     {.type = RC, .pd = pd, .send_cq = cq, .recv_cq = cq, .srq = xrc.handle},
		     -EINVAL},
		    {"RC with domain",
		     {.type = RC, .pd = pd, .send_cq = cq, .recv_cq = cq, .xrcd = xrcd},
		     -EINVAL},
		};

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct parts *qp = &rows[i].qp;
			int error = make_qp(world, qp);

			if (error != rows[i].error)
				fail_msg("%s: %d", rows[i].name, error);
			if (error)
				continue;
			assert_int_equal(qp->cap.max_recv_wr, 0);
			assert_int_equal(rig_destroy_qp(rig, qp->handle, NULL), 0);
		}
	}
}

/* As perftest does, with all attributes for both halves: what is the other half's is left aside. */
static void xrc_connect(struct world *world, const struct parts *qp, uint32_t dest_qpn)
{
	struct ib_uverbs_modify_qp req = {
	    .qp_handle = qp->handle,
	    .attr_mask = UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS_FLAGS,
	    .qp_state = UV_QPS_INIT,
	    .port_num = 1,
	    .qp_access_flags = 0xe,
	    .path_mtu = UV_MTU_1024,
	    .dest_qp_num = dest_qpn,
	    .max_rd_atomic = 1,
	    .max_dest_rd_atomic = 1,
	    .min_rnr_timer = 12,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .dest = {.is_global = 1, .port_num = 1, .dgid = {[10] = 0xff, 0xff, 127, 0, 0, 1}},
	};

	assert_int_equal(rig_modify(&world->rig, &req), 0);
	req.qp_state = UV_QPS_RTR;
	req.attr_mask = UV_QP_STATE | UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN |
			UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER;
	assert_int_equal(rig_modify(&world->rig, &req), 0);
	req.qp_state = UV_QPS_RTS;
	req.attr_mask = UV_QP_STATE | UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY |
			UV_QP_SQ_PSN | UV_QP_MAX_QP_RD_ATOMIC;
	assert_int_equal(rig_modify(&world->rig, &req), 0);
}

static void xrc_modify_and_query(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct parts ini = {
	    .type = IB_UVERBS_QPT_XRC_INI, .pd = world->pd, .send_cq = world->cq.handle};
	struct parts tgt = {.type = IB_UVERBS_QPT_XRC_TGT};
	struct ib_uverbs_query_qp_resp resp;

	assert_int_equal(open_xrcd(rig, -1, 0, &tgt.xrcd), 0);
	assert_int_equal(make_qp(world, &ini), 0);
	assert_int_equal(make_qp(world, &tgt), 0);
	xrc_connect(world, &ini, tgt.number);
	xrc_connect(world, &tgt, ini.number);
	assert_int_equal(rig_query(rig, ini.handle, &resp), 0);
	assert_int_equal(resp.qp_state, UV_QPS_RTS);
	assert_int_equal(resp.dest_qp_num, tgt.number);
	assert_int_equal(resp.max_rd_atomic, 1);
	assert_int_equal(resp.max_dest_rd_atomic, 0);
	assert_int_equal(rig_query(rig, tgt.handle, &resp), 0);
	assert_int_equal(resp.qp_state, UV_QPS_RTS);
	assert_int_equal(resp.max_rd_atomic, 0);
	assert_int_equal(resp.max_dest_rd_atomic, 1);
	assert_int_equal(resp.min_rnr_timer, 12);
}

/* Another context opens the target by its number; it lives as long as one of the handles. */
static void target_is_shared(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct parts tgt = {.type = IB_UVERBS_QPT_XRC_TGT, .user_handle = 0x61};
	struct ib_uverbs_modify_qp to_error = {.attr_mask = UV_QP_STATE, .qp_state = UV_QPS_ERR};
	struct ib_uverbs_query_qp_resp resp;
	uint32_t xrcd, other, second, third, events;
	int async;

	assert_int_equal(open_xrcd(rig, FD_FILE, O_CREAT, &tgt.xrcd), 0);
	assert_int_equal(open_xrcd(rig, FD_OTHER_FILE, O_CREAT, &other), 0);
	assert_int_equal(make_qp(world, &tgt), 0);
	rig->file = world->two;
	assert_int_equal(rig_async(rig, &async), 0);
	assert_int_equal(open_xrcd(rig, FD_FILE, 0, &xrcd), 0);
	assert_int_equal(open_qp(rig, xrcd, tgt.number, IB_UVERBS_QPT_XRC_TGT, 0x62, &second), 0);
	assert_int_equal(open_qp(rig, xrcd, tgt.number, IB_UVERBS_QPT_XRC_TGT, 0x63, &third), 0);
	assert_int_equal(open_qp(rig, xrcd, tgt.number, IB_UVERBS_QPT_RC, 0, &events), -EINVAL);
	assert_int_equal(open_qp(rig, xrcd, tgt.number + 1, IB_UVERBS_QPT_XRC_TGT, 0, &events),
			 -EINVAL);
	assert_int_equal(open_qp(rig, tgt.xrcd, tgt.number, IB_UVERBS_QPT_XRC_TGT, 0, &events),
			 -EINVAL); /* another context's handle */
	assert_int_equal(close_xrcd(rig, xrcd), -EBUSY);
	rig->file = world->one;
	assert_int_equal(open_qp(rig, other, tgt.number, IB_UVERBS_QPT_XRC_TGT, 0, &events),
			 -EINVAL);
	/* The first handle goes; what the others do goes to the same queue pair. */
	assert_int_equal(rig_destroy_qp(rig, tgt.handle, NULL), 0);
	assert_int_equal(close_xrcd(rig, tgt.xrcd), 0);
	rig->file = world->two;
	to_error.qp_handle = second;
	assert_int_equal(rig_modify(rig, &to_error), 0);
	rig_pump(rig);
	assert_int_equal(rig_query(rig, third, &resp), 0);
	assert_int_equal(resp.qp_state, UV_QPS_ERR);
	assert_int_equal(told(world, async, 0x62, UV_EVENT_QP_LAST_WQE_REACHED), 1);
	assert_int_equal(told(world, async, 0x63, UV_EVENT_QP_LAST_WQE_REACHED), 1);
	assert_int_equal(told(world, world->async, 0x61, UV_EVENT_QP_LAST_WQE_REACHED), 0);
	assert_int_equal(rig_destroy_qp(rig, second, &events), 0);
	assert_int_equal(events, 0);
	assert_int_equal(open_qp(rig, xrcd, tgt.number, IB_UVERBS_QPT_XRC_TGT, 0, &second), 0);
	kern_close(world->two, 0);
	world->two = NULL;
	rig->file = world->one;
	assert_int_equal(open_xrcd(rig, FD_FILE, 0, &xrcd), -EAGAIN);
}

/* A message from an initiator through a target to an XRC SRQ: the completion carries its index. */
static void xrc_message(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct srq srq = {.type = IB_UVERBS_SRQT_XRC,
			  .pd = world->pd,
			  .cq = world->cq.handle,
			  .max_wr = 7,
			  .max_sge = 1,
			  .uidx = UIDX_SRQ};
	struct parts ini = {
	    .type = IB_UVERBS_QPT_XRC_INI, .pd = world->pd, .send_cq = world->cq.handle};
	struct parts tgt = {.type = IB_UVERBS_QPT_XRC_TGT};
	const struct cqe64 *cqe = (const struct cqe64 *)(const void *)world->cq.ring;
	struct ib_uverbs_reg_mr_resp mr;
	uint8_t *data = rig_alloc(rig, 4096);
	uint8_t *srq_ring = rig_alloc(rig, 4096);
	struct wqe_data_seg *recv = (struct wqe_data_seg *)(void *)(srq_ring + 16);
	uint8_t *wqe;

	srq.ring = srq_ring;
	assert_int_equal(rig_mr(rig, world->pd, data, 4096, 0xf, &mr), 0);
	assert_int_equal(open_xrcd(rig, -1, 0, &srq.xrcd), 0);
	tgt.xrcd = srq.xrcd;
	assert_int_equal(make_srq(rig, &srq), 0);
	assert_int_equal(make_qp(world, &ini), 0);
	assert_int_equal(make_qp(world, &tgt), 0);
	xrc_connect(world, &ini, tgt.number);
	xrc_connect(world, &tgt, ini.number);
	*recv = (struct wqe_data_seg){be32_from(64), be32_from(mr.lkey),
				      be64_from(rig_va(data + 2048))};
	srq.record[DB_SRQ] = be32_from(1).raw;
	memset(data, 0x5c, 10);
	wqe = ini.ring;
	*(struct wqe_ctrl_seg *)(void *)wqe =
	    (struct wqe_ctrl_seg){.opmod_idx_opcode = wqe_ctrl_op(0, 0, WQE_OP_SEND),
				  .qpn_ds = wqe_ctrl_qpn_ds(ini.number, 3)};
	*(struct wqe_xrc_seg *)(void *)(wqe + 16) =
	    (struct wqe_xrc_seg){.srqn = be32_from(srq.number)};
	*(struct wqe_data_seg *)(void *)(wqe + 32) =
	    (struct wqe_data_seg){be32_from(10), be32_from(mr.lkey), be64_from(rig_va(data))};
	ini.record[DB_SEND] = be32_from(1).raw;
	nic_scan(rig->nic, rig->now_ns);
	rig_pump(rig);
	assert_int_equal(cqe->op_own, cqe_op_own(CQE_RESP_SEND, false, false));
	assert_int_equal(be32_to(cqe->srqn_uidx), UIDX_SRQ);
	assert_int_equal(be32_to(cqe->byte_cnt), 10);
	assert_int_equal(be32_to(cqe->sop_drop_qpn) & 0xffffff, tgt.number);
	assert_int_equal(be16_to(cqe->wqe_counter), 0);
	assert_memory_equal(data + 2048, data, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	    TEST(srq_create),        TEST(srq_refusals),
	    TEST(srq_modify),        TEST(srq_events_that_were_read),
	    TEST(srq_is_used),       TEST(domains_without_a_file),
	    TEST(domains_of_a_file), TEST(domain_is_used),
	    TEST(xrc_create),        TEST(xrc_modify_and_query),
	    TEST(target_is_shared),  TEST(xrc_message),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
