/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp.c - queue pairs: create, destroy, room. Their connection is in connect.c, their data path in
 * post.c.
 *
 * One mapping holds the receive ring, then the send ring, as the kernel expects of a queue pair
 * with both [rdma-core mlx5]. A slot of either is 64 bytes.
 */
#include "lib/lib.h"
#include "lib/uioctl.h"

#include "abi/ece.h"
#include "base/ring.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

/* uidx_take - a user index for completions, or -ENOSPC; the caller holds nic->lock. */
static int64_t uidx_take(struct rig_nic *nic)
{
	if (nic->uidx_free_count)
		return nic->uidx_free[--nic->uidx_free_count];
	if (nic->uidx_fresh == LIB_UIDX_COUNT)
		return -ENOSPC;
	return nic->uidx_fresh++;
}

static void uidx_give(struct rig_nic *nic, uint32_t uidx)
{
	nic->uidx_free[nic->uidx_free_count++] = uidx;
}

static void qp_memory_free(struct rig_qp *qp, bool record_too)
{
	if (qp->rings)
		lib_ring_free(qp->rings, qp->rings_bytes);
	if (qp->record && record_too)
		lib_record_free(qp->record);
}

static int qp_memory_alloc(struct rig_qp *qp)
{
	size_t rq_bytes = (size_t)qp->rq_count * WQE_BB_BYTES;
	size_t sq_bytes = (size_t)qp->sq_count * WQE_BB_BYTES;
	size_t page_mask = LIB_PAGE_BYTES - 1;

	if (qp->transport == RIG_DC_TARGET)
		return 0;
	qp->rings_bytes = (rq_bytes + sq_bytes + page_mask) & ~page_mask;
	qp->rings = lib_ring_alloc(qp->rings_bytes);
	qp->record = lib_record_alloc(qp->shell.nic);
	if (!qp->rings || !qp->record) {
		qp_memory_free(qp, true);
		return lib_fail(ENOMEM, "rig_qp_create: no memory for rings of %zu bytes",
				qp->rings_bytes);
	}
	qp->rq = qp->rings;
	qp->sq = qp->rings + rq_bytes;
	return 0;
}

/* receive_cq - where its receives complete. */
static struct rig_cq *receive_cq(const struct rig_qp *qp)
{
	return qp->srq ? qp->srq->cq : qp->cq;
}

/* kernel_type - the verbs' type of a transport. */
static uint64_t kernel_type(uint8_t transport)
{
	switch (transport) {
	case RIG_UD:
		return IB_UVERBS_QPT_UD;
	case RIG_DC_INITIATOR:
	case RIG_DC_TARGET:
		return IB_UVERBS_QPT_DRIVER;
	}
	return IB_UVERBS_QPT_RC;
}

/* driver_part - what mlx5 is told of a new queue pair; of a DC target neither ring nor register. */
static struct mlx5_ib_create_qp driver_part(const struct rig_qp *qp)
{
	const struct rig_nic *nic = qp->shell.nic;
	struct mlx5_ib_create_qp in = {
		.buf_addr = (uintptr_t)qp->rings,
		.db_addr = (uintptr_t)qp->record,
		.sq_wqe_count = qp->sq_count,
		.rq_wqe_count = qp->rq_count,
		.rq_wqe_shift = qp->rq_count ? WQE_BB_BYTES_LOG2 : 0,
		.uidx = qp->uidx,
		.ece_options = nic->ece ? ECE_VERSION_1 : 0,
	};

	if (qp->transport == RIG_DC_TARGET) {
		in.flags = MLX5_QP_FLAG_TYPE_DCT;
		in.access_key = qp->dc_key;
		return in;
	}
	in.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	in.bfreg_index = nic->uar_page_id;
	if (qp->transport == RIG_DC_INITIATOR)
		in.flags |= MLX5_QP_FLAG_TYPE_DCI;
	if (qp->streams) {
		in.flags |= MLX5_QP_FLAG_DCI_STREAM;
		in.dci_streams.log_num_concurent = qp->streams_log2;
		in.dci_streams.log_num_errored = qp->failed_streams_log2;
	}
	return in;
}

static int qp_create_kernel(struct rig_qp *qp)
{
	const struct rig_cq *cq = qp->cq;
	const struct rig_nic *nic = qp->shell.nic;
	struct ib_uverbs_qp_cap cap = {
		.max_send_wr = qp->sq_count,
		.max_recv_wr = qp->rq_count,
		.max_send_sge = nic->limits.pieces_max,
		.max_recv_sge = qp->rq_count ? LIB_RECEIVE_PIECES : 0,
		.max_inline_data = nic->limits.inline_max_bytes,
	};
	struct mlx5_ib_create_qp in = driver_part(qp);
	uint64_t user_handle = (uintptr_t)qp;
	struct mlx5_ib_create_qp_resp out = {0};
	struct ib_uverbs_qp_cap resp_cap;
	struct lib_cmd cmd;
	int err;

	lib_cmd_init(&cmd, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	lib_cmd_out_handle(&cmd, UVERBS_ATTR_CREATE_QP_HANDLE);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_CREATE_QP_PD_HANDLE, nic->pd_handle);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq->handle);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, receive_cq(qp)->handle);
	if (qp->srq)
		lib_cmd_in_handle(&cmd, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, qp->srq->handle);
	lib_cmd_in(&cmd, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user_handle, sizeof(user_handle));
	lib_cmd_in(&cmd, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	lib_cmd_in_const(&cmd, UVERBS_ATTR_CREATE_QP_TYPE, kernel_type(qp->transport));
	lib_cmd_in_fd(&cmd, UVERBS_ATTR_CREATE_QP_EVENT_FD, nic->async_fd);
	lib_cmd_out(&cmd, UVERBS_ATTR_CREATE_QP_RESP_CAP, &resp_cap, sizeof(resp_cap));
	lib_cmd_out(&cmd, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->number, sizeof(qp->number));
	lib_cmd_in(&cmd, UVERBS_ATTR_UHW_IN, &in, sizeof(in));
	lib_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &out, sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err == -ENOMEM)
		return lib_fail_pin(err, "rig_qp_create", qp->rings_bytes);
	if (err == -EOPNOTSUPP && kernel_type(qp->transport) == IB_UVERBS_QPT_DRIVER)
		return lib_fail(EOPNOTSUPP, "rig_qp_create: the kernel or %s has no DC", nic->name);
	if (err)
		return lib_fail_reason(err, "rig_qp_create: %u entries and %u receives",
				       qp->sq_count, qp->rq_count);
	qp->handle = lib_cmd_handle(&cmd, UVERBS_ATTR_CREATE_QP_HANDLE);
	qp->ece = nic->ece ? out.ece_options : 0;
	return 0;
}

static uint32_t psn_random(void)
{
	uint32_t psn = 0;

	struct timespec now;

	if (getrandom(&psn, sizeof(psn), 0) != sizeof(psn)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		psn = (uint32_t)now.tv_nsec;
	}
	return psn & PSN_MASK;
}

/* qp_ready_path - what the data path needs to know of a queue pair that the kernel made. */
static void qp_ready_path(struct rig_qp *qp)
{
	const struct rig_nic *nic = qp->shell.nic;

	qp->sq_mask = qp->sq_count * WQE_BB_BYTES - 1;
	qp->rq_mask = qp->rq_count * WQE_BB_BYTES - 1;
	qp->sq_base_write8 = (uint64_t)WQE_OP_WRITE << 32 | (uint64_t)qp->number << 8 |
			     LIB_WRITE8_UNITS;
	qp->reg = (uint64_t *)(void *)(nic->uar + DB_UAR_BF0);
	qp->progress = nic->os->progress;
	qp->progress_ctx = nic->os->ctx;
	qp->message_max_bytes = nic->port.message_max_bytes < LIB_MESSAGE_MAX ?
					(uint32_t)nic->port.message_max_bytes : LIB_MESSAGE_MAX;
	qp->wqe_units_max = (uint16_t)nic->limits.wqe_units_max;
	qp->pieces_max = (uint16_t)nic->limits.pieces_max;
	qp->atomics = nic->limits.atomics;
	qp->plain = qp->transport == RIG_RC && !qp->srq;
	qp->datagram = qp->transport == RIG_UD;
	qp->has_source = qp->datagram || qp->transport == RIG_DC_TARGET;
	qp->infiniband = nic->port.link == RIG_LINK_INFINIBAND;
	qp->sq_tail_done = LIB_NONE_DONE;
	atomic_store(&qp->sq_done, LIB_NONE_DONE);
	qp->psn = psn_random();
}

/* qp_make - a queue pair of cq, whose NIC is locked; the counts are rounded. */
static int qp_make(struct rig_cq *cq, uint32_t sq_count, uint32_t rq_count,
		   const struct rig_qp_options *options, struct rig_qp **qp)
{
	struct rig_nic *nic = cq->shell.nic;
	struct lib_shell *shell = lib_pool_take(&nic->pool_qp);
	int64_t uidx = uidx_take(nic);
	struct rig_qp *made;
	int err;

	if (!shell || uidx < 0) {
		err = lib_fail(shell ? ENOSPC : ENOMEM,
			       "rig_qp_create: no room for another queue pair");
		goto err_uidx;
	}
	made = lib_qp_of(shell);
	shell->nic = nic;
	made->cq = cq;
	made->sq_count = sq_count;
	made->rq_count = rq_count;
	made->transport = (uint8_t)options->transport;
	made->srq = options->srq;
	made->dc_key = options->dc_key;
	made->streams = options->streams;
	made->streams_log2 = options->streams_log2;
	made->failed_streams_log2 = options->failed_streams_log2;
	made->uidx = (uint32_t)uidx;
	err = qp_memory_alloc(made);
	if (err)
		goto err_uidx;
	err = qp_create_kernel(made);
	if (err)
		goto err_memory;
	qp_ready_path(made);
	cq->taken += sq_count + rq_count;
	cq->qp_count++;
	if (made->srq)
		made->srq->qp_count++;
	__atomic_store_n(&nic->uidx_table[uidx], made, __ATOMIC_RELEASE);
	lib_list_add(&nic->qps, shell);
	shell->live = LIB_LIVE_QP;
	*qp = made;
	return 0;
err_memory:
	qp_memory_free(made, true);
err_uidx:
	if (uidx >= 0)
		uidx_give(nic, (uint32_t)uidx);
	if (shell)
		lib_pool_give(&nic->pool_qp, shell);
	return err;
}

/*
 * ring_count - the rounded count of a ring in *rounded, or the error that names the bound it is
 * over.
 */
static int ring_count(int asked, uint32_t least, uint32_t nic_max, const char *nic,
		      const char *what, uint32_t *rounded)
{
	uint32_t count = (uint32_t)asked < least ? least : (uint32_t)asked;

	if (count > LIB_RING_MAX)
		return lib_fail(ERANGE, "rig_qp_create: %d %s; a ring holds at most %d", asked,
				what, LIB_RING_MAX);
	count = (uint32_t)ring_round_up(count);
	if (count > nic_max)
		return lib_fail(ERANGE, "rig_qp_create: %d %s; %s holds at most %u", asked, what,
				nic, nic_max);
	*rounded = count;
	return 0;
}

/* dc_check - what an initiator and a target have, and others have not. */
static int dc_check(int entries, int receives, const struct rig_qp_options *options)
{
	bool initiator = options->transport == RIG_DC_INITIATOR;
	bool target = options->transport == RIG_DC_TARGET;

	if (target && (!options->srq || entries))
		return lib_fail(EINVAL,
				"rig_qp_create: a DC target has a shared receive queue and no"
				" entries; here %d",
				entries);
	if (initiator && (options->srq || receives))
		return lib_fail(EINVAL, "rig_qp_create: a DC initiator has no receives");
	if (!target && options->dc_key)
		return lib_fail(EINVAL, "rig_qp_create: dc_key is a DC target's");
	if (!initiator &&
	    (options->streams || options->streams_log2 || options->failed_streams_log2))
		return lib_fail(EINVAL, "rig_qp_create: streams are a DC initiator's");
	return 0;
}

/* options_check - a queue pair of cq that has `receives` receives of its own. */
static int options_check(const struct rig_cq *cq, int entries, int receives,
			 const struct rig_qp_options *options)
{
	const struct rig_srq *srq = options->srq;
	int err = dc_check(entries, receives, options);

	if (err)
		return err;
	if ((unsigned int)options->transport > RIG_DC_TARGET)
		return lib_fail(EINVAL, "rig_qp_create: no transport %d", (int)options->transport);
	if (!srq)
		return 0;
	if (srq->shell.live != LIB_LIVE_SRQ)
		return lib_handle_error(srq, "rig_qp_create: shared receive queue");
	if (srq->shell.nic != cq->shell.nic)
		return lib_fail(EINVAL,
				"rig_qp_create: the shared receive queue is another NIC's");
	if (receives)
		return lib_fail(EINVAL,
				"rig_qp_create: %d receives; with a shared receive queue there are"
				" none besides",
				receives);
	return 0;
}

int rig_qp_create(struct rig_cq *cq, int entries, int receives, struct rig_qp **qp)
{
	return rig_qp_create_with(cq, entries, receives, NULL, qp);
}

int rig_qp_create_with(struct rig_cq *cq, int entries, int receives,
		       const struct rig_qp_options *options, struct rig_qp **qp)
{
	static const struct rig_qp_options defaults;
	uint32_t sq_count = 0, rq_count = 0;
	struct rig_nic *nic;
	int err;

	options = options ? options : &defaults;
	if (!cq || cq->shell.live != LIB_LIVE_CQ)
		return lib_handle_error(cq, "rig_qp_create");
	if (!qp || entries < (options->transport != RIG_DC_TARGET) || receives < 0)
		return lib_fail(EINVAL,
				"rig_qp_create: %d entries and %d receives; 1 and 0 at least",
				entries, receives);
	nic = cq->shell.nic;
	err = lib_nic_lock(nic, "rig_qp_create");
	if (err)
		return err;
	err = options_check(cq, entries, receives, options);
	if (!err && entries)
		err = ring_count(entries, 1, nic->limits.sq_slots_max, nic->name, "entries",
				 &sq_count);
	if (!err && receives)
		err = ring_count(receives, LIB_RECEIVES_MIN, nic->limits.receives_max, nic->name,
				 "receives", &rq_count);
	if (!err && sq_count + rq_count > cq->capacity - cq->taken)
		err = lib_fail(EINVAL, "rig_qp_create: %u entries and %u receives may complete at"
				" once; the completion queue of %u has room for %u more", sq_count,
				rq_count, cq->capacity, cq->capacity - cq->taken);
	if (!err)
		err = qp_make(cq, sq_count, rq_count, options, qp);
	lib_nic_unlock(nic);
	return err;
}

/*
 * release_receives - a receive of its shared receive queue that the NIC has taken for it, and not
 * completed, completes only in the error state. A DC target has no such state.
 */
static void release_receives(const struct rig_qp *qp)
{
	struct ib_uverbs_modify_qp in = {0};

	if (qp->srq && qp->connected && qp->transport != RIG_DC_TARGET)
		lib_qp_modify(qp, &in, UV_QPS_ERR);
}

/*
 * If the kernel refuses, its queue pair lives on: the user index stays taken and leads nowhere, so
 * a poll drops what still completes, and neither the doorbell record, the shell nor the room in the
 * completion queue is given to another.
 */
int lib_qp_destroy(struct rig_qp *qp)
{
	struct rig_nic *nic = qp->shell.nic;
	struct rig_cq *cq = qp->cq, *receives = receive_cq(qp);
	uint32_t events;
	struct lib_cmd cmd;
	int err;

	qp->post_ready = 0;
	release_receives(qp);
	lib_cmd_init(&cmd, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_DESTROY_QP_HANDLE, qp->handle);
	lib_cmd_out(&cmd, UVERBS_ATTR_DESTROY_QP_RESP, &events, sizeof(events));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	lib_cq_stop(cq);
	if (receives != cq)
		lib_cq_stop(receives);
	__atomic_store_n(&nic->uidx_table[qp->uidx], NULL, __ATOMIC_RELAXED);
	if (!err) {
		lib_cq_purge(cq, qp->uidx, qp->srq);
		if (receives != cq)
			lib_cq_purge(receives, qp->uidx, qp->srq);
		cq->taken -= qp->sq_count + qp->rq_count;
		uidx_give(nic, qp->uidx);
	}
	lib_cq_go(cq);
	if (receives != cq)
		lib_cq_go(receives);
	cq->qp_count--;
	if (qp->srq)
		qp->srq->qp_count--;
	qp_memory_free(qp, !err);
	lib_list_remove(&nic->qps, &qp->shell);
	if (err)
		memset(qp, 0, sizeof(*qp)); /* and never used again: the kernel may still name it */
	else
		lib_pool_give(&nic->pool_qp, &qp->shell);
	return err ? lib_fail_reason(err, "rig_qp_destroy: the kernel refused") : 0;
}

int rig_qp_destroy(struct rig_qp *qp)
{
	struct rig_nic *nic;
	int err;

	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, "rig_qp_destroy");
	nic = qp->shell.nic;
	err = lib_nic_lock(nic, "rig_qp_destroy");
	if (err)
		return err;
	err = lib_qp_destroy(qp);
	lib_nic_unlock(nic);
	return err;
}

uint32_t rig_qp_number(const struct rig_qp *qp)
{
	return qp && qp->shell.live == LIB_LIVE_QP ? qp->number : 0;
}

/*
 * The newest completion gives the index of an entry; everything up to the end of that entry is
 * free. How long it is stands in the entry itself, which is still in the ring. Between two looks
 * the poster moves by at most one ring, 2^15 slots, so that a 16-bit index that changed means one
 * position only, and one that did not change means no completion.
 */
uint32_t lib_qp_sq_tail(const struct rig_qp *qp, uint32_t done)
{
	const struct wqe_ctrl_seg *ctrl;
	uint32_t tail_index, position;

	if (done == qp->sq_tail_done)
		return qp->sq_tail;
	tail_index = qp->sq_tail >> WQE_BB_BYTES_LOG2;
	position = qp->sq_tail + ((done - tail_index) & 0xffff) * WQE_BB_BYTES;
	ctrl = (const struct wqe_ctrl_seg *)(const void *)(qp->sq + (position & qp->sq_mask));
	return position + wqe_bb_count(wqe_ctrl_ds(ctrl)) * WQE_BB_BYTES;
}

int rig_qp_room(const struct rig_qp *qp, enum rig_ring ring)
{
	uint32_t posted, done;

	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, "rig_qp_room");
	switch (ring) {
	case RIG_RING_SEND:
		done = atomic_load_explicit(&qp->sq_done, memory_order_acquire);
		posted = (qp->sq_pos - lib_qp_sq_tail(qp, done)) / WQE_BB_BYTES;
		return (int)(qp->sq_count - posted);
	case RIG_RING_RECEIVE:
		posted = qp->rq_pos / WQE_BB_BYTES;
		/* rq_tail is 32 bits of slots, rq_pos 26: compare what both have. */
		posted -= atomic_load_explicit(&qp->rq_tail, memory_order_acquire);
		return (int)(qp->rq_count - (posted & 0xffff));
	}
	return lib_fail(EINVAL, "rig_qp_room: no ring %d", (int)ring);
}

uint16_t rig_qp_index(const struct rig_qp *qp, enum rig_ring ring)
{
	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return 0;
	return (uint16_t)((ring == RIG_RING_SEND ? qp->sq_pos : qp->rq_pos) / WQE_BB_BYTES);
}
