/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs mlx5 */
/*
 * record_wqes.c - prints the work queue entries that libmlx5 writes for the operations of
 * tests/support/wqe_ops.h and for those that change memory keys, through each of its two ways to
 * post. tests/golden/wqe keeps what it printed; wqes.sh compares.
 *
 * Each operation gets a queue pair of its own, whose ring is full of OP_POISON, so that the entry's
 * index is known and a byte that was not written shows. The queue pair is in error: nothing is
 * executed, and addresses and keys are numbers. While an entry is posted, the numbers and keys
 * that libmlx5 takes from its objects are replaced by known ones.
 *
 *   <transport> <operation> <new: ibv_wr_*, old: any other> <index> <blocks of the ring>
 *   	<16 bytes a line, each a unit of the entry>
 *
 * Of a receive the whole 64 bytes are printed; of a shared one, the first 16 are those of the ring
 * as it was made.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/wqe_ops.h"

enum { UNIT = 16, BLOCK = 64, MR_BYTES = 4096 };

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_mw *window_1;
	struct ibv_mw *window_2;
	struct mlx5dv_mkey *mkey;
	struct mlx5dv_mkey *mkey_signed;
	uint8_t bytes[MR_BYTES];
} own;

/* A queue pair, and its send ring. */
struct queue {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex; /* NULL: the old way */
	struct mlx5dv_qp_ex *dv;
	uint8_t *ring;
	const uint32_t *record; /* big-endian: blocks that were posted */
	uint32_t block_count;
	uint32_t transport;
	uint8_t *receives; /* the ring of receives */
	uint32_t receive_count;
};

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "record_wqes: %s: %s\n", what, strerror(errno));
	exit(3);
}

static void need_0(int err, const char *what)
{
	errno = err;
	need(err == 0, what);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void keys_make(void)
{
	struct mlx5dv_mkey_init_attr attr = {
	    .pd = own.pd, .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 8};

	own.mr = ibv_reg_mr(own.pd, own.bytes, sizeof(own.bytes),
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	need(own.mr, "ibv_reg_mr");
	own.window_1 = ibv_alloc_mw(own.pd, IBV_MW_TYPE_1);
	own.window_2 = ibv_alloc_mw(own.pd, IBV_MW_TYPE_2);
	need(own.window_1 && own.window_2, "ibv_alloc_mw");
	own.mkey = mlx5dv_create_mkey(&attr);
	need(own.mkey, "mlx5dv_create_mkey");
	attr.create_flags |= MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;
	own.mkey_signed = mlx5dv_create_mkey(&attr);
	need(own.mkey_signed, "mlx5dv_create_mkey with signature");
}

static void own_make(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_ah_attr ah = {
	    .is_global = 1,
	    .port_num = 1,
	    .sl = OP_SL,
	    .grh = {.hop_limit = OP_HOP_LIMIT, .traffic_class = OP_TCLASS, .flow_label = OP_FLOW}};

	need(list && list[0], "no device");
	own.context = ibv_open_device(list[0]);
	need(own.context, "ibv_open_device");
	ibv_free_device_list(list);
	own.pd = ibv_alloc_pd(own.context);
	own.cq = ibv_create_cq(own.context, 256, NULL, NULL, 0);
	need(own.pd && own.cq, "ibv_alloc_pd or ibv_create_cq");
	need_0(ibv_query_gid(own.context, 1, 0, &ah.grh.dgid) ? errno : 0, "ibv_query_gid");
	own.ah = ibv_create_ah(own.pd, &ah);
	need(own.ah, "ibv_create_ah");
	for (uint32_t i = 0; i < sizeof(own.bytes); i++)
		own.bytes[i] = op_inline_byte(i);
	keys_make();
}

/* From here on objects have the numbers of wqe_ops.h; nothing is destroyed any more. */
static void own_disguise(void)
{
	own.mr->addr = (void *)(uintptr_t)OP_LOCAL_VA;
	own.mr->length = 1 << 20;
	own.mr->lkey = own.mr->rkey = OP_LKEY;
	own.mkey->lkey = own.mkey->rkey = OP_MKEY;
	own.mkey_signed->lkey = own.mkey_signed->rkey = OP_MKEY;
}

static enum ibv_qp_type qp_type(uint32_t transport)
{
	return transport == OP_RC    ? IBV_QPT_RC
	       : transport == OP_UC  ? IBV_QPT_UC
	       : transport == OP_UD  ? IBV_QPT_UD
	       : transport == OP_DC  ? IBV_QPT_DRIVER
	       : transport == OP_RAW ? IBV_QPT_RAW_PACKET
				     : IBV_QPT_XRC_SEND;
}

static uint64_t send_ops(uint32_t transport)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND;

	if (transport != OP_RAW)
		ops |= IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (transport & OP_CONNECTED)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (transport & OP_RELIABLE)
		ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	if (transport & (OP_RC | OP_XRC))
		ops |= IBV_QP_EX_WITH_SEND_WITH_INV;
	if (transport == OP_RC)
		ops |= IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	return ops;
}

static void qp_step(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	attr->qp_state = state;
	need_0(ibv_modify_qp(qp, attr, mask | IBV_QP_STATE), "ibv_modify_qp");
}

/* qp_fail - to the error state by way of "ready to send", before which libmlx5 takes no entry. Here
 * the NIC flushes entries and runs none. */
static void qp_fail(struct ibv_qp *qp, uint32_t transport)
{
	struct ibv_qp_attr attr = {.port_num = 1,
				   .qkey = OP_QKEY,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = OP_DQPN,
				   .ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 1},
				   .timeout = 14,
				   .max_rd_atomic = 1};
	int reliable = transport & OP_RELIABLE ? ~0 : 0;
	int connected = transport & OP_CONNECTED ? ~0 : 0;
	int responds = transport == OP_RC ? ~0 : 0;
	int has_peer = transport == OP_DC ? 0 : ~0;

	need_0(ibv_query_gid(own.context, 1, 0, &attr.ah_attr.grh.dgid) ? errno : 0, "the GID");
	qp_step(qp, &attr, IBV_QPS_INIT,
		transport == OP_RAW
		    ? IBV_QP_PORT
		    : IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  (has_peer & (connected ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY)));
	qp_step(qp, &attr, IBV_QPS_RTR,
		(connected & IBV_QP_PATH_MTU) |
		    (connected & has_peer & (IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)) |
		    (responds & (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)));
	qp_step(qp, &attr, IBV_QPS_RTS,
		(transport == OP_RAW ? 0 : IBV_QP_SQ_PSN) |
		    (reliable & (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_MAX_QP_RD_ATOMIC)));
	qp_step(qp, &attr, IBV_QPS_ERR, 0);
}

static struct queue queue_make(uint32_t transport, bool is_new)
{
	bool receives = transport != OP_XRC && transport != OP_DC;
	struct ibv_qp_init_attr_ex attr = {.qp_type = qp_type(transport),
					   .send_cq = own.cq,
					   .recv_cq = own.cq,
					   .cap = {.max_send_wr = 8,
						   .max_recv_wr = receives ? 4 : 0,
						   .max_send_sge = OP_PIECES_MAX,
						   .max_recv_sge = receives ? OP_PIECES_MAX : 0,
						   .max_inline_data = OP_INLINE_MAX},
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = own.pd};
	struct mlx5dv_qp_init_attr dv_attr = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS};
	struct queue queue = {.transport = transport};
	struct mlx5dv_qp dv_qp = {0};
	struct mlx5dv_obj obj = {.qp = {.out = &dv_qp}};

	if (is_new) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = send_ops(transport);
	}
	if (transport == OP_RC && is_new)
		dv_attr.send_ops_flags =
		    MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
		    MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_MEMCPY;
	if (transport == OP_DC) {
		dv_attr.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
		dv_attr.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	}
	queue.qp = dv_attr.send_ops_flags || transport == OP_DC
		       ? mlx5dv_create_qp(own.context, &attr, &dv_attr)
		       : ibv_create_qp_ex(own.context, &attr);
	need(queue.qp, "to create a queue pair");
	if (is_new) {
		queue.ex = ibv_qp_to_qp_ex(queue.qp);
		queue.dv = mlx5dv_qp_ex_from_ibv_qp_ex(queue.ex);
	}
	obj.qp.in = queue.qp;
	need_0(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), "mlx5dv_init_obj");
	queue.ring = dv_qp.sq.buf;
	queue.record = (const uint32_t *)dv_qp.dbrec + MLX5_SND_DBR;
	queue.block_count = dv_qp.sq.wqe_cnt;
	queue.receives = dv_qp.rq.buf;
	queue.receive_count = dv_qp.rq.wqe_cnt;
	need(dv_qp.sq.stride == BLOCK, "the stride of a send ring");
	need(!receives || dv_qp.rq.stride == BLOCK, "the stride of a receive ring");
	qp_fail(queue.qp, transport);
	return queue;
}

static uint16_t posted(const struct queue *queue)
{
	return (uint16_t)be32toh(*(const volatile uint32_t *)queue->record);
}

/* ---- the common operations ------------------------------------------------------------------- */

static unsigned int send_flags(const struct wqe_op *op)
{
	return (op->flags & OP_SIGNAL_F ? IBV_SEND_SIGNALED : 0u) |
	       (op->flags & OP_FENCE_F ? IBV_SEND_FENCE : 0u) |
	       (op->flags & OP_SOLICITED_F ? IBV_SEND_SOLICITED : 0u) |
	       (op->flags & OP_INLINE_F ? IBV_SEND_INLINE : 0u);
}

static void pieces_of(const struct wqe_op *op, struct ibv_sge *pieces)
{
	uint64_t at = (uintptr_t)own.bytes;

	for (uint32_t i = 0; i < op->piece_count; i++) {
		pieces[i] = (struct ibv_sge){.addr = OP_LOCAL_VA + i * OP_PIECE_STEP,
					     .length = op->len_bytes[i],
					     .lkey = OP_LKEY + i};
		if (!(op->flags & OP_INLINE_F))
			continue;
		pieces[i].addr = at;
		at += op->len_bytes[i];
	}
}

static enum ibv_wr_opcode old_opcode(const struct wqe_op *op)
{
	bool imm = op->flags & OP_IMM_F;

	switch (op->kind) {
	case OP_WRITE:
		return imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	case OP_SEND:
		return imm                      ? IBV_WR_SEND_WITH_IMM
		       : op->flags & OP_INVAL_F ? IBV_WR_SEND_WITH_INV
						: IBV_WR_SEND;
	case OP_READ:
		return IBV_WR_RDMA_READ;
	case OP_COMPARE_SWAP:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	case OP_FETCH_ADD:
		break;
	}
	return IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static int post_old(const struct queue *queue, const struct wqe_op *op)
{
	struct ibv_sge pieces[OP_PIECES_MAX];
	struct ibv_send_wr wr = {.sg_list = pieces,
				 .num_sge = (int)op->piece_count,
				 .opcode = old_opcode(op),
				 .send_flags = send_flags(op)},
			   *bad;

	pieces_of(op, pieces);
	if (op->flags & OP_IMM_F)
		wr.imm_data = htobe32(OP_IMM);
	if (op->flags & OP_INVAL_F)
		wr.invalidate_rkey = OP_INVAL_KEY;
	if (queue->transport == OP_XRC)
		wr.qp_type.xrc.remote_srqn = OP_SRQN;
	if (queue->transport == OP_UD) {
		wr.wr.ud.ah = own.ah;
		wr.wr.ud.remote_qpn = OP_DQPN;
		wr.wr.ud.remote_qkey = OP_QKEY;
	} else if (op->kind == OP_COMPARE_SWAP || op->kind == OP_FETCH_ADD) {
		wr.wr.atomic.remote_addr = OP_REMOTE_VA;
		wr.wr.atomic.rkey = OP_RKEY;
		wr.wr.atomic.compare_add = op->kind == OP_FETCH_ADD ? OP_SWAP_ADD : OP_COMPARE;
		wr.wr.atomic.swap = OP_SWAP_ADD;
	} else {
		wr.wr.rdma.remote_addr = OP_REMOTE_VA;
		wr.wr.rdma.rkey = OP_RKEY;
	}
	return ibv_post_send(queue->qp, &wr, &bad);
}

static void new_kind(struct ibv_qp_ex *ex, const struct wqe_op *op)
{
	switch (op->kind) {
	case OP_WRITE:
		if (op->flags & OP_IMM_F)
			ibv_wr_rdma_write_imm(ex, OP_RKEY, OP_REMOTE_VA, htobe32(OP_IMM));
		else
			ibv_wr_rdma_write(ex, OP_RKEY, OP_REMOTE_VA);
		break;
	case OP_SEND:
		if (op->flags & OP_IMM_F)
			ibv_wr_send_imm(ex, htobe32(OP_IMM));
		else if (op->flags & OP_INVAL_F)
			ibv_wr_send_inv(ex, OP_INVAL_KEY);
		else
			ibv_wr_send(ex);
		break;
	case OP_READ:
		ibv_wr_rdma_read(ex, OP_RKEY, OP_REMOTE_VA);
		break;
	case OP_COMPARE_SWAP:
		ibv_wr_atomic_cmp_swp(ex, OP_RKEY, OP_REMOTE_VA, OP_COMPARE, OP_SWAP_ADD);
		break;
	case OP_FETCH_ADD:
		ibv_wr_atomic_fetch_add(ex, OP_RKEY, OP_REMOTE_VA, OP_SWAP_ADD);
		break;
	}
}

static void new_data(struct ibv_qp_ex *ex, const struct wqe_op *op)
{
	struct ibv_sge pieces[OP_PIECES_MAX];
	struct ibv_data_buf bufs[OP_PIECES_MAX];

	pieces_of(op, pieces);
	for (uint32_t i = 0; i < op->piece_count; i++)
		bufs[i] =
		    (struct ibv_data_buf){(void *)(uintptr_t)pieces[i].addr, pieces[i].length};
	if (op->flags & OP_INLINE_F && op->piece_count == 1)
		ibv_wr_set_inline_data(ex, bufs[0].addr, bufs[0].length);
	else if (op->flags & OP_INLINE_F)
		ibv_wr_set_inline_data_list(ex, op->piece_count, bufs);
	else if (op->piece_count == 1)
		ibv_wr_set_sge(ex, pieces[0].lkey, pieces[0].addr, pieces[0].length);
	else
		ibv_wr_set_sge_list(ex, op->piece_count, pieces);
}

static int post_new(const struct queue *queue, const struct wqe_op *op)
{
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = send_flags(op);
	new_kind(queue->ex, op);
	if (queue->transport == OP_XRC)
		ibv_wr_set_xrc_srqn(queue->ex, OP_SRQN);
	if (queue->transport == OP_UD)
		ibv_wr_set_ud_addr(queue->ex, own.ah, OP_DQPN, OP_QKEY);
	if (queue->transport == OP_DC)
		mlx5dv_wr_set_dc_addr(queue->dv, own.ah, OP_DQPN, OP_DC_KEY);
	new_data(queue->ex, op);
	return ibv_wr_complete(queue->ex);
}

static int post_op(const struct queue *queue, const struct wqe_op *op)
{
	return queue->ex ? post_new(queue, op) : post_old(queue, op);
}

/* ---- operations on keys ---------------------------------------------------------------------- */

static struct ibv_mw_bind_info bind_info(uint64_t len_bytes)
{
	return (struct ibv_mw_bind_info){.mr = own.mr,
					 .addr = OP_LOCAL_VA,
					 .length = len_bytes,
					 .mw_access_flags =
					     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
}

static int bind_1(const struct queue *queue)
{
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
				   .bind_info = bind_info(OP_BIND_BYTES)};

	return ibv_bind_mw(queue->qp, own.window_1, &bind);
}

static int unbind_1(const struct queue *queue)
{
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED, .bind_info = bind_info(0)};

	bind.bind_info.mw_access_flags = 0;
	return ibv_bind_mw(queue->qp, own.window_1, &bind);
}

static int bind_2(const struct queue *queue)
{
	struct ibv_mw_bind_info info = bind_info(OP_BIND_BYTES);
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
				 .bind_mw = {.mw = own.window_2,
					     .rkey = OP_WINDOW_KEY + 1,
					     .bind_info = info}},
			   *bad;

	if (!queue->ex)
		return ibv_post_send(queue->qp, &wr, &bad);
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = wr.send_flags;
	ibv_wr_bind_mw(queue->ex, own.window_2, OP_WINDOW_KEY + 1, &info);
	return ibv_wr_complete(queue->ex);
}

/* The entry behind waits for the binding, without being told to. */
static int bind_2_then_send(const struct queue *queue)
{
	static const struct wqe_op empty = {.kind = OP_SEND, .flags = OP_SIGNAL_F};
	int err = bind_2(queue);

	return err ? err : post_op(queue, &empty);
}

static int local_inv(const struct queue *queue)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = OP_WINDOW_KEY},
			   *bad;

	if (!queue->ex)
		return ibv_post_send(queue->qp, &wr, &bad);
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = wr.send_flags;
	ibv_wr_local_inv(queue->ex, OP_WINDOW_KEY);
	return ibv_wr_complete(queue->ex);
}

static const uint32_t mkey_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

static void mkey_pieces(struct ibv_sge *pieces, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		pieces[i] = (struct ibv_sge){.addr = OP_LOCAL_VA + i * OP_PIECE_STEP,
					     .length = OP_MKEY_PIECE_BYTES + i,
					     .lkey = OP_LKEY};
}

static int mr_list(const struct queue *queue, uint16_t count)
{
	struct ibv_sge pieces[8];

	mkey_pieces(pieces, count);
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	mlx5dv_wr_mr_list(queue->dv, own.mkey, mkey_access, count, pieces);
	return ibv_wr_complete(queue->ex);
}

static int mr_list_2(const struct queue *queue)
{
	return mr_list(queue, 2);
}

static int mr_list_4(const struct queue *queue)
{
	return mr_list(queue, 4);
}

static void mkey_rounds(struct mlx5dv_mr_interleaved *rounds)
{
	for (uint32_t i = 0; i < 2; i++)
		rounds[i] = (struct mlx5dv_mr_interleaved){.addr = OP_LOCAL_VA + i * OP_PIECE_STEP,
							   .bytes_count = OP_MKEY_PIECE_BYTES + i,
							   .bytes_skip = OP_MKEY_SKIP_BYTES,
							   .lkey = OP_LKEY};
}

static int mr_interleaved(const struct queue *queue)
{
	struct mlx5dv_mr_interleaved rounds[2];

	mkey_rounds(rounds);
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	mlx5dv_wr_mr_interleaved(queue->dv, own.mkey, mkey_access, OP_MKEY_ROUNDS, 2, rounds);
	return ibv_wr_complete(queue->ex);
}

static int configure_list(const struct queue *queue)
{
	struct mlx5dv_mkey_conf_attr attr = {0};
	struct ibv_sge pieces[2];

	mkey_pieces(pieces, 2);
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	mlx5dv_wr_mkey_configure(queue->dv, own.mkey, 2, &attr);
	mlx5dv_wr_set_mkey_access_flags(queue->dv, mkey_access);
	mlx5dv_wr_set_mkey_layout_list(queue->dv, 2, pieces);
	return ibv_wr_complete(queue->ex);
}

static int configure_interleaved(const struct queue *queue)
{
	struct mlx5dv_mkey_conf_attr attr = {0};
	struct mlx5dv_mr_interleaved rounds[2];

	mkey_rounds(rounds);
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	mlx5dv_wr_mkey_configure(queue->dv, own.mkey, 2, &attr);
	mlx5dv_wr_set_mkey_access_flags(queue->dv, mkey_access);
	mlx5dv_wr_set_mkey_layout_interleaved(queue->dv, OP_MKEY_ROUNDS, 2, rounds);
	return ibv_wr_complete(queue->ex);
}

/* A key with signatures: two more entries may set what they start from. */
static int configure_signed(const struct queue *queue, uint32_t len_bytes,
			    const struct mlx5dv_sig_block_attr *sig)
{
	struct ibv_sge piece = {.addr = OP_LOCAL_VA, .length = len_bytes, .lkey = OP_LKEY};
	struct mlx5dv_mkey_conf_attr attr = {0};

	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	mlx5dv_wr_mkey_configure(queue->dv, own.mkey_signed, 3, &attr);
	mlx5dv_wr_set_mkey_access_flags(queue->dv, mkey_access);
	mlx5dv_wr_set_mkey_layout_list(queue->dv, 1, &piece);
	mlx5dv_wr_set_mkey_sig_block(queue->dv, sig);
	return ibv_wr_complete(queue->ex);
}

static int configure_crc32c(const struct queue *queue)
{
	const struct mlx5dv_sig_crc crc = {.type = MLX5DV_SIG_CRC_TYPE_CRC32C, .seed = 0xffffffff};
	const struct mlx5dv_sig_block_domain domain = {
	    .sig_type = MLX5DV_SIG_TYPE_CRC, .sig.crc = &crc, .block_size = MLX5DV_BLOCK_SIZE_512};
	const struct mlx5dv_sig_block_attr sig = {.wire = &domain, .check_mask = 0xf0};

	return configure_signed(queue, OP_BLOCK_BYTES, &sig);
}

static int configure_t10dif(const struct queue *queue)
{
	const struct mlx5dv_sig_t10dif dif = {.bg_type = MLX5DV_SIG_T10DIF_CRC,
					      .bg = 0xffff,
					      .app_tag = OP_DIF_APP,
					      .ref_tag = OP_DIF_REF,
					      .flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP};
	const struct mlx5dv_sig_block_domain domain = {.sig_type = MLX5DV_SIG_TYPE_T10DIF,
						       .sig.dif = &dif,
						       .block_size = MLX5DV_BLOCK_SIZE_512};
	const struct mlx5dv_sig_block_attr sig = {
	    .mem = &domain, .wire = &domain, .check_mask = 0xff};

	return configure_signed(queue, OP_BLOCK_BYTES + OP_DIF_BYTES, &sig);
}

static int copy(const struct queue *queue)
{
	ibv_wr_start(queue->ex);
	queue->ex->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_memcpy(queue->dv, OP_LKEY + 1, OP_LOCAL_VA + OP_PIECE_STEP, OP_LKEY, OP_LOCAL_VA,
			 OP_COPY_BYTES);
	return ibv_wr_complete(queue->ex);
}

enum { OLD = 1, NEW = 2 };

static const struct key_op {
	const char *name;
	uint32_t ways;
	uint32_t transports;
	uint32_t flags; /* OP_RING_END_F, OP_WRAPS_F */
	int (*post)(const struct queue *queue);
} key_ops[] = {
    {"bind_1", OLD, OP_RC, 0, bind_1},
    {"unbind_1", OLD, OP_RC, 0, unbind_1},
    {"bind_2", OLD | NEW, OP_RC, 0, bind_2},
    {"bind_2", OLD, OP_UC | OP_XRC, 0, bind_2},
    {"bind_2_ring_end", OLD | NEW, OP_RC, OP_RING_END_F, bind_2},
    {"bind_2_then_send", OLD | NEW, OP_RC, 0, bind_2_then_send},
    {"local_inv", OLD | NEW, OP_RC, 0, local_inv},
    {"local_inv", OLD, OP_UC | OP_XRC, 0, local_inv},
    {"mr_list_2", NEW, OP_RC, 0, mr_list_2},
    {"mr_list_4", NEW, OP_RC, 0, mr_list_4},
    {"mr_list_4_ring_end", NEW, OP_RC, OP_RING_END_F, mr_list_4},
    {"mr_interleaved", NEW, OP_RC, 0, mr_interleaved},
    {"mr_interleaved_wraps", NEW, OP_RC, OP_WRAPS_F, mr_interleaved},
    {"configure_list", NEW, OP_RC, 0, configure_list},
    {"configure_interleaved", NEW, OP_RC, 0, configure_interleaved},
    {"configure_crc32c", NEW, OP_RC, 0, configure_crc32c},
    {"configure_t10dif", NEW, OP_RC, 0, configure_t10dif},
    {"configure_t10dif_wraps", NEW, OP_RC, OP_WRAPS_F, configure_t10dif},
    {"memcpy", NEW, OP_RC, 0, copy},
};

/* ---- recording ------------------------------------------------------------------------------- */

static const char *transport_name(uint32_t transport)
{
	return transport == OP_RC    ? "rc"
	       : transport == OP_UC  ? "uc"
	       : transport == OP_UD  ? "ud"
	       : transport == OP_DC  ? "dc"
	       : transport == OP_RAW ? "raw"
				     : "xrc";
}

/* hide_opaque - a copy's entry holds key and address of memory that libmlx5 keeps for itself, which
 * differ with each run. */
static void hide_opaque(uint8_t *entry)
{
	const uint32_t words[] = {htobe32(OP_OPAQUE_KEY), htobe32((uint32_t)(OP_OPAQUE_VA >> 32)),
				  htobe32((uint32_t)OP_OPAQUE_VA)};

	if (entry[3] == MLX5_OPCODE_MMO)
		memcpy(entry + UNIT + 4, words, sizeof(words));
}

static void print_bytes(const uint8_t *ring, uint32_t ring_bytes, uint32_t at, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		printf("%s%02x%s", i % UNIT ? (i % 4 ? "" : " ") : "\t",
		       ring[(at + i) % ring_bytes], i % UNIT == UNIT - 1 ? "\n" : "");
}

/* print_entries - those in blocks `from` to `to`. */
static void print_entries(const struct queue *queue, const char *name, uint16_t from, uint16_t to)
{
	need(to != from, name);
	while (from != to) {
		uint32_t at = (from & (queue->block_count - 1)) * BLOCK;
		uint32_t units = queue->ring[at + 7] & 63;

		hide_opaque(queue->ring + at);
		printf("%s %s %s %u %u\n", transport_name(queue->transport), name,
		       queue->ex ? "new" : "old", from, queue->block_count);
		print_bytes(queue->ring, queue->block_count * BLOCK, at, units * UNIT);
		from = (uint16_t)(from + (units + 3) / 4);
		need(units != 0 && (uint16_t)(to - from) < queue->block_count, name);
	}
}

/* go_to - posts empty sends, which are flushed, until block `index` is next. */
static void go_to(const struct queue *queue, uint32_t index)
{
	static const struct wqe_op empty = {.kind = OP_SEND, .flags = OP_SIGNAL_F};
	struct ibv_wc wc;

	while (posted(queue) != index) {
		need_0(post_op(queue, &empty), "an empty send");
		while (ibv_poll_cq(own.cq, 1, &wc) == 0)
			;
	}
}

/* record - what `op`, or else key_op, leaves in a new ring. */
static void record(uint32_t transport, bool is_new, const struct wqe_op *op,
		   const struct key_op *key_op)
{
	struct queue queue = queue_make(transport, is_new);
	uint32_t number = queue.qp->qp_num;
	uint32_t flags = op ? op->flags : key_op->flags;
	const char *name = op ? op->name : key_op->name;
	uint16_t from;

	if (flags & OP_RING_END_F)
		go_to(&queue, queue.block_count - 1);
	if (flags & OP_WRAPS_F)
		go_to(&queue, queue.block_count - 2);
	memset(queue.ring, OP_POISON, (size_t)queue.block_count * BLOCK);
	from = posted(&queue);
	queue.qp->qp_num = OP_QPN;
	own.window_1->rkey = own.window_2->rkey = OP_WINDOW_KEY;
	need_0(op ? post_op(&queue, op) : key_op->post(&queue), name);
	queue.qp->qp_num = number;
	print_entries(&queue, name, from, posted(&queue));
	need_0(ibv_destroy_qp(queue.qp), "ibv_destroy_qp");
}

static void record_ops(uint32_t transport)
{
	for (uint32_t i = 0; i < WQE_OPS; i++)
		for (int is_new = transport == OP_DC; is_new <= 1; is_new++)
			if (wqe_ops[i].transports & transport)
				record(transport, is_new, &wqe_ops[i], NULL);
	for (uint32_t i = 0; i < sizeof(key_ops) / sizeof(key_ops[0]); i++)
		for (int is_new = 0; is_new <= 1; is_new++)
			if (key_ops[i].transports & transport &&
			    key_ops[i].ways & (is_new ? NEW : OLD))
				record(transport, is_new, NULL, &key_ops[i]);
}

/* The shared ring's next segments are left as they were made. */
static uint8_t *shared_ring(struct ibv_srq **srq, uint32_t *count)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 3, .max_sge = OP_PIECES_MAX - 1}};
	struct mlx5dv_srq dv_srq = {0};
	struct mlx5dv_obj obj = {.srq = {.out = &dv_srq}};
	uint8_t *ring;

	*srq = ibv_create_srq(own.pd, &attr);
	need(*srq, "ibv_create_srq");
	obj.srq.in = *srq;
	need_0(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), "mlx5dv_init_obj");
	need(dv_srq.stride == BLOCK && dv_srq.head == 0, "the shape of a shared ring");
	ring = dv_srq.buf;
	*count = dv_srq.tail + 1;
	for (uint32_t i = 0; i < *count; i++)
		memset(ring + i * BLOCK + UNIT, OP_POISON, BLOCK - UNIT);
	return ring;
}

static void record_receive(const struct wqe_receive *receive)
{
	struct queue queue = queue_make(OP_RC, false);
	struct ibv_sge pieces[OP_PIECES_MAX];
	struct ibv_recv_wr wr = {.sg_list = pieces, .num_sge = (int)receive->piece_count}, *bad;
	uint32_t count = queue.receive_count;
	uint8_t *ring = queue.receives;
	struct ibv_srq *srq = NULL;

	for (uint32_t i = 0; i < receive->piece_count; i++)
		pieces[i] = (struct ibv_sge){.addr = OP_LOCAL_VA + i * OP_PIECE_STEP,
					     .length = receive->len_bytes[i],
					     .lkey = OP_LKEY + i};
	if (receive->shared)
		ring = shared_ring(&srq, &count);
	else
		memset(ring, OP_POISON, (size_t)count * BLOCK);
	need_0(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(queue.qp, &wr, &bad),
	       receive->name);
	printf("rc %s old 0 %u\n", receive->name, count);
	print_bytes(ring, count * BLOCK, 0, BLOCK);
	need_0(ibv_destroy_qp(queue.qp), "ibv_destroy_qp");
	need_0(srq ? ibv_destroy_srq(srq) : 0, "ibv_destroy_srq");
}

int main(void)
{
	own_make();
	own_disguise();
	record_ops(OP_RC);
	record_ops(OP_UC);
	record_ops(OP_UD);
	record_ops(OP_XRC);
	record_ops(OP_DC);
	for (uint32_t i = 0; i < 2 * WQE_FRAMES; i++)
		record(OP_RAW, i % 2, &wqe_frames[i / 2], NULL);
	for (uint32_t i = 0; i < WQE_RECEIVES; i++)
		record_receive(&wqe_receives[i]);
	return 0;
}
