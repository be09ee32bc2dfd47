/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the NIC reads in the entries that libmlx5 writes what libmlx5 was asked for, field by
 * field, on every transport and through both of its ways to post; and it does what they say.
 * How: entries that libmlx5 wrote (tests/golden/wqe), put into the rings of
 * tests/support/fake_nic.h as they are, but that keys, the addressee of datagrams and XRC's queues
 * become those of this world when they are executed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/fake_dc.h"
#include "tests/support/fake_srq.h"
#include "tests/support/golden_wqe.h"
#include "tests/support/nic_bed.h"

/* ---- decoded --------------------------------------------------------------------------------- */

static uint8_t opcode_of(const struct wqe_op *op)
{
	bool imm = op->flags & OP_IMM_F;

	switch (op->kind) {
	case OP_WRITE:
		return imm ? WQE_OP_WRITE_IMM : WQE_OP_WRITE;
	case OP_SEND:
		if (op->flags & OP_INVAL_F)
			return WQE_OP_SEND_INVAL;
		return imm ? WQE_OP_SEND_IMM : WQE_OP_SEND;
	case OP_READ:
		return WQE_OP_READ;
	case OP_COMPARE_SWAP:
		return WQE_OP_ATOMIC_CS;
	case OP_FETCH_ADD:
		break;
	}
	return WQE_OP_ATOMIC_FA;
}

static void expect_pieces(const struct wqe_op *op, const struct nic_wqe *wqe)
{
	uint32_t at = 0;

	assert_int_equal(wqe->len_bytes, op_bytes(op));
	if (op->flags & OP_INLINE_F) {
		assert_int_equal(wqe->piece_count, op_bytes(op) != 0);
		assert_int_equal(wqe->inline_mask, wqe->piece_count);
		for (uint32_t i = 0; i < op_bytes(op); i++)
			assert_int_equal(wqe->raw[wqe->pieces[0].va + i], op_inline_byte(i));
		return;
	}
	assert_int_equal(wqe->inline_mask, 0);
	for (uint32_t i = 0; i < op->piece_count; i++) {
		if (op->len_bytes[i] == 0)
			continue;
		assert_int_equal(wqe->pieces[at].va, OP_LOCAL_VA + i * OP_PIECE_STEP);
		assert_int_equal(wqe->pieces[at].len_bytes, op->len_bytes[i]);
		assert_int_equal(wqe->pieces[at++].lkey, OP_LKEY + i);
	}
	assert_int_equal(wqe->piece_count, at);
}

/* The address of a datagram or of a DC target: GID of 127.84.1.1, source port from the flow label
 * [rdma-core: its lower 14 bits, the upper 6 folded in]. */
static void expect_address(const struct nic_wqe *wqe, bool dc)
{
	static const uint8_t dgid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, 84, 1, 1};
	const struct nic_path *path = &wqe->path;

	assert_int_equal(wqe->dqpn, OP_DQPN);
	if (dc)
		assert_true(wqe->dc_key == OP_DC_KEY);
	else
		assert_int_equal(wqe->qkey, OP_QKEY);
	assert_memory_equal(path->dgid, dgid, sizeof(dgid));
	assert_int_equal(path->sgid_index, 0);
	assert_int_equal(path->traffic_class, OP_TCLASS);
	assert_int_equal(path->hop_limit, OP_HOP_LIMIT);
	assert_int_equal(path->sl, OP_SL);
	assert_int_equal(path->flow_label, OP_FLOW);
	assert_int_equal(path->udp_sport, 0xc000 | ((OP_FLOW ^ OP_FLOW >> 14) & 0x3fff));
	assert_int_equal(path->datagram, !dc);
}

static void expect_decoded(const struct golden_wqe *golden, const struct nic_wqe *wqe)
{
	const struct wqe_op *op = golden->op;

	assert_int_equal(wqe->opcode, opcode_of(op));
	assert_int_equal(wqe->wqebb_count, wqe_bb_count(golden->bytes / WQE_UNIT_BYTES));
	assert_int_equal(wqe->fm_ce_se, (op->flags & OP_SIGNAL_F ? WQE_CE_ALWAYS : 0) |
					    (op->flags & OP_FENCE_F ? WQE_FM_FENCE : 0) |
					    (op->flags & OP_SOLICITED_F ? WQE_SOLICITED_F : 0));
	if (op->flags & (OP_IMM_F | OP_INVAL_F))
		assert_int_equal(wqe->imm, op->flags & OP_IMM_F ? OP_IMM : OP_INVAL_KEY);
	if (golden->transport == OP_XRC)
		assert_int_equal(wqe->srqn, OP_SRQN);
	if (golden->transport & (OP_UD | OP_DC))
		expect_address(wqe, golden->transport == OP_DC);
	if (op->kind != OP_SEND) {
		assert_int_equal(wqe->raddr, OP_REMOTE_VA);
		assert_int_equal(wqe->rkey, OP_RKEY);
	}
	if (op->kind == OP_COMPARE_SWAP || op->kind == OP_FETCH_ADD) {
		assert_int_equal(wqe->atomic.opcode, wqe->opcode);
		assert_int_equal(wqe->atomic.len_bytes, 8);
		assert_int_equal(wqe->atomic.swap_add, OP_SWAP_ADD);
	}
	if (op->kind == OP_COMPARE_SWAP)
		assert_int_equal(wqe->atomic.compare, OP_COMPARE);
	expect_pieces(op, wqe);
}

/* An entry for keys is fetched whole, with the key that it names; what is in it, those who execute
 * it read. A copy's pieces, and the send behind a binding, are decoded. */
static void expect_local(const struct golden_wqe *golden, const struct nic_wqe *wqe)
{
	uint8_t opcode = golden->raw[3];

	assert_int_equal(wqe->opcode, opcode);
	assert_int_equal(wqe->fm_ce_se, golden->raw[11]);
	assert_memory_equal(wqe->raw, golden->raw, golden->bytes);
	if (opcode == WQE_OP_SEND) {
		assert_int_equal(wqe->fm_ce_se, WQE_FM_SMALL_FENCE | WQE_CE_ALWAYS);
		assert_int_equal(wqe->piece_count, 0);
		return;
	}
	assert_int_equal(wqe->raw_bytes, golden->bytes);
	if (opcode == WQE_OP_UMR)
		assert_true(wqe->imm == OP_MKEY || wqe->imm == OP_WINDOW_KEY ||
			    !strcmp(golden->name, "unbind_1"));
	if (opcode != WQE_OP_MMO)
		return;
	assert_int_equal(wqe->piece_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(wqe->pieces[i].va, OP_LOCAL_VA + i * OP_PIECE_STEP);
		assert_int_equal(wqe->pieces[i].len_bytes, OP_COPY_BYTES);
		assert_int_equal(wqe->pieces[i].lkey, OP_LKEY + i);
	}
}

static enum nic_qp_type type_of(uint32_t transport)
{
	return transport == OP_RC    ? NIC_QP_RC
	       : transport == OP_UC  ? NIC_QP_UC
	       : transport == OP_UD  ? NIC_QP_UD
	       : transport == OP_DC  ? NIC_QP_DCI
	       : transport == OP_RAW ? NIC_QP_RAW
				     : NIC_QP_XRC_INI;
}

static void name(const struct golden_wqe *golden)
{
	print_message("transport %u %s %s\n", golden->transport, golden->name,
		      golden->is_new ? "new" : "old");
}

static void decode_one(struct fake_world *w, const struct golden_wqe *golden)
{
	struct fake_opts opts = {.type = type_of(golden->transport),
				 .sq_count = golden->block_count};
	struct fake_qp fake;
	struct nic_qp *qp;
	struct nic_wqe wqe;

	fake_qp_make(w, 0, &opts, &fake);
	fake.sq_pi = (uint16_t)golden->index;
	assert_int_equal(fake_put_blocks(&fake, golden->raw, golden->bytes), golden->index);
	qp = nic_qp_find(w->nics[0], fake.qpn);
	qp->sq_pi = fake.sq_pi;
	assert_int_equal(nic_wqe_fetch_send(w->nics[0], qp, (uint16_t)golden->index, &wqe).syndrome,
			 0);
	if (golden->op)
		expect_decoded(golden, &wqe);
	else
		expect_local(golden, &wqe);
	qp->sq_pi = 0;
}

static void every_field_is_read(void **state)
{
	size_t count, decoded = 0, wanted = 0;
	struct golden_wqe *golden = golden_wqes(&count);

	(void)state;
	for (size_t i = 0; i < WQE_OPS; i++)
		wanted += op_recordings(&wqe_ops[i]);
	for (size_t i = 0; i < WQE_FRAMES; i++)
		wanted += op_recordings(&wqe_frames[i]);
	for (size_t i = 0; i < count; i++) {
		struct fake_world *w;

		if (golden[i].receive)
			continue;
		w = fake_world_new(NULL);
		name(&golden[i]);
		decode_one(w, &golden[i]);
		fake_world_free(w);
		decoded += golden[i].op != NULL;
	}
	assert_int_equal(decoded, wanted);
	free(golden);
}

/* ---- executed -------------------------------------------------------------------------------- */

enum { OLD_VALUE = 0x7766, RECEIVE_BYTES = OP_PIECE_STEP, GRH_BYTES = 40 };

/* A pair whose first end may post what was recorded, and the memory that it names. */
struct loop {
	uint32_t transport;
	struct bed b;
	struct fake_xrc x;         /* XRC: its domain's queue */
	struct fake_dct dct;       /* DC: the target */
	struct fake_cq *recv_cq;   /* where NIC 1's receives complete */
	struct fake_region local;  /* NIC 0: four pieces */
	struct fake_region remote; /* NIC 1 */
	uint32_t window;           /* of NIC 1, bound: what is invalidated */
	uint8_t expected[RECEIVE_BYTES];
};

static uint8_t *bytes_at(struct loop *l, uint64_t va)
{
	return fake_mem(l->b.w, va);
}

static struct fake_region region_at(struct bed *b, uint32_t nic, uint64_t va, uint32_t len)
{
	struct fake_region made;

	assert_true(FAKE_BASE_VA + b->w->mem_used <= va);
	b->w->mem_used = va - FAKE_BASE_VA;
	made = fake_region(b->w, nic, len, BED_ALL);
	assert_int_equal(made.va, va);
	return made;
}

/* A window that NIC 1's end may have invalidated: a key in use, of this queue pair. */
static uint32_t window_make(struct bed *b)
{
	struct nic_mkey_attr attr = {.pdn = b->w->sides[1].pdn,
				     .access = BED_ALL,
				     .va = OP_REMOTE_VA,
				     .host_va = OP_REMOTE_VA,
				     .len_bytes = OP_PIECE_STEP,
				     .umr = true,
				     .remote_invalidate = true,
				     .qpn = b->pair.b.qpn};
	uint32_t key;

	assert_int_equal(nic_mkey_create(b->w->nics[1], &attr, &key), 0);
	return key;
}

static void pair_make(struct loop *l, const struct golden_wqe *golden)
{
	struct fake_opts opts = {.sq_count = golden->block_count};

	l->transport = golden->transport;
	l->b.w = fake_world_new(NULL);
	if (l->transport == OP_XRC) {
		fake_xrc_connect(l->b.w, &l->x, &opts);
		l->b.pair = l->x.pair;
		l->recv_cq = &l->x.cq;
		return;
	}
	if (l->transport == OP_DC) {
		fake_dct_make(l->b.w, &opts, &l->dct);
		fake_dci_make(l->b.w, &opts, &l->b.pair.a);
		l->b.pair.b = l->dct.qp;
		l->recv_cq = &l->dct.qp.recv_cq;
		return;
	}
	opts.type = type_of(l->transport);
	fake_pair_connect(l->b.w, &l->b.pair, &opts);
	l->recv_cq = &l->b.pair.b.recv_cq;
}

static void loop_open(struct loop *l, const struct golden_wqe *golden)
{
	const struct fake_wr nop = {.opcode = WQE_OP_NOP};

	*l = (struct loop){0};
	pair_make(l, golden);
	l->b.src = fake_region(l->b.w, 0, 1, BED_LOCAL);
	l->local = region_at(&l->b, 0, OP_LOCAL_VA, OP_PIECES_MAX * OP_PIECE_STEP);
	l->remote = region_at(&l->b, 1, OP_REMOTE_VA, OP_PIECE_STEP);
	l->window = window_make(&l->b);
	for (uint32_t i = 0; i < l->local.len; i++)
		bytes_at(l, OP_LOCAL_VA)[i] = (uint8_t)(i * 13 + (i >> 8));
	for (uint32_t i = 0; i < golden->index; i++)
		fake_post(&l->b.pair.a, &nop);
	if (golden->index != 0)
		fake_ring(&l->b.pair.a);
}

/* The addressee of a datagram or to DC, which was nobody, becomes NIC 1's queue pair; the rest
 * stays. */
static void readdress(struct loop *l, uint8_t *raw)
{
	uint8_t *av = raw + WQE_UNIT_BYTES;

	if (l->transport == OP_DC)
		be64_store(av, FAKE_DC_KEY);
	else
		be32_store(av, FAKE_QKEY);
	be32_store(av + 8, (be32_load(av + 8) & ~ROCE_QPN_MASK) | l->b.pair.b.qpn);
	fake_gid(l->b.w, av + 32, 1);
}

/* The entry with this world's numbers in the places of the recorded ones. */
static void post(struct loop *l, const struct golden_wqe *golden)
{
	uint8_t raw[GOLDEN_BYTES_MAX];

	memcpy(raw, golden->raw, golden->bytes);
	be32_store(raw + 4, l->b.pair.a.qpn << 8 | raw[7]); /* for the register */
	for (uint32_t i = 0; i < golden->bytes; i += 4) {
		uint32_t word = be32_load(raw + i);

		if (word - OP_LKEY < OP_PIECES_MAX)
			be32_store(raw + i, l->local.key);
		if (word == OP_RKEY)
			be32_store(raw + i, l->remote.key);
		if (word == OP_INVAL_KEY)
			be32_store(raw + i, l->window);
	}
	if (l->transport == OP_XRC)
		be32_store(raw + WQE_UNIT_BYTES, l->x.srq.srqn);
	if (l->transport & (OP_UD | OP_DC))
		readdress(l, raw);
	assert_int_equal(fake_put_blocks(&l->b.pair.a, raw, golden->bytes), golden->index);
	fake_ring(&l->b.pair.a);
	fake_settle(l->b.w);
}

/* The message's bytes, as the sender has them, at `into`. */
static uint32_t gather(struct loop *l, const struct wqe_op *op, uint8_t *into)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < op->piece_count; i++) {
		if (op->flags & OP_INLINE_F)
			for (uint32_t k = 0; k < op->len_bytes[i]; k++)
				into[used + k] = op_inline_byte(used + k);
		else
			memcpy(into + used, bytes_at(l, OP_LOCAL_VA + i * OP_PIECE_STEP),
			       op->len_bytes[i]);
		used += op->len_bytes[i];
	}
	return used;
}

static uint8_t receive_opcode(const struct wqe_op *op)
{
	if (op->kind == OP_WRITE)
		return CQE_RESP_WR_IMM;
	if (op->flags & OP_INVAL_F)
		return CQE_RESP_SEND_INV;
	return op->flags & OP_IMM_F ? CQE_RESP_SEND_IMM : CQE_RESP_SEND;
}

static uint32_t grh_bytes(const struct loop *l)
{
	return l->transport == OP_UD ? GRH_BYTES : 0;
}

/* A datagram's header has what its address vector said. */
static void expect_header(struct loop *l)
{
	const uint8_t *ip = bytes_at(l, OP_REMOTE_VA) + 20;
	uint8_t gid[16];

	fake_gid(l->b.w, gid, 1);
	assert_int_equal(ip[1], OP_TCLASS);
	assert_int_equal(ip[8], OP_HOP_LIMIT);
	assert_memory_equal(ip + 16, gid + 12, 4);
	memcpy(l->expected, bytes_at(l, OP_REMOTE_VA), GRH_BYTES);
}

/* At the receiver: completion, immediate data or key, and whether it wakes one that waits for
 * solicited messages. */
static void expect_received(struct loop *l, const struct wqe_op *op)
{
	struct fake_cqe cqe;

	assert_int_equal(fake_poll(l->recv_cq, &cqe), 1);
	assert_int_equal(cqe.opcode, receive_opcode(op));
	assert_int_equal(cqe.byte_cnt, op_bytes(op) + grh_bytes(l));
	if (op->flags & OP_IMM_F)
		assert_int_equal(cqe.imm, OP_IMM);
	if (op->flags & OP_INVAL_F)
		assert_int_equal(cqe.imm, l->window);
	assert_int_equal(fake_events(l->b.w, 1, NIC_EVENT_CQ_COMPLETION),
			 op->flags & OP_SOLICITED_F ? 1 : 0);
}

static void expect_sent(struct loop *l, const struct golden_wqe *golden)
{
	struct fake_cq *cq = &l->b.pair.a.send_cq;

	if (golden->op->flags & OP_SIGNAL_F)
		expect_done(cq, CQE_REQ, (uint16_t)golden->index, op_bytes(golden->op));
	expect_none(cq);
	assert_true(nic_qp_sq_is_drained(l->b.w->nics[0], l->b.pair.a.qpn));
	assert_int_equal(nic_qp_sq_index(l->b.w->nics[0], l->b.pair.a.qpn), l->b.pair.a.sq_pi);
}

/* WRITE and SEND: the bytes arrive, and none behind them changes. */
static void run_out(struct loop *l, const struct golden_wqe *golden)
{
	const struct wqe_op *op = golden->op;
	bool received = op->kind == OP_SEND || op->flags & OP_IMM_F;
	struct fake_piece piece = {OP_REMOTE_VA, RECEIVE_BYTES, l->remote.key};

	memset(bytes_at(l, OP_REMOTE_VA), 0x33, RECEIVE_BYTES);
	memset(l->expected, 0x33, RECEIVE_BYTES);
	gather(l, op, l->expected + grh_bytes(l));
	if (received && l->transport == OP_XRC)
		fake_srq_post(&l->x.srq, piece);
	else if (received && l->transport == OP_DC)
		fake_srq_post(&l->dct.srq, piece);
	else if (received)
		fake_receive(&l->b.pair.b, &piece, 1);
	fake_arm(l->recv_cq, true);
	nic_cq_scan(l->b.w->nics[1], l->b.w->now_ns);
	post(l, golden);
	if (l->transport == OP_UD)
		expect_header(l);
	assert_memory_equal(bytes_at(l, OP_REMOTE_VA), l->expected, RECEIVE_BYTES);
	if (received)
		expect_received(l, op);
	expect_none(l->recv_cq);
}

static void run_read(struct loop *l, const struct golden_wqe *golden)
{
	uint8_t *remote = bytes_at(l, OP_REMOTE_VA);
	uint32_t len;

	for (uint32_t i = 0; i < RECEIVE_BYTES; i++)
		remote[i] = (uint8_t)(i * 5 + 1 + (i >> 8));
	post(l, golden);
	len = gather(l, golden->op, l->expected);
	assert_int_equal(len, op_bytes(golden->op));
	assert_memory_equal(l->expected, remote, len);
}

static void run_atomic(struct loop *l, const struct golden_wqe *golden)
{
	bool adds = golden->op->kind == OP_FETCH_ADD;
	uint64_t old = adds ? OLD_VALUE : OP_COMPARE, now;

	memcpy(bytes_at(l, OP_REMOTE_VA), &old, sizeof(old));
	post(l, golden);
	memcpy(&now, bytes_at(l, OP_REMOTE_VA), sizeof(now));
	assert_int_equal(now, adds ? OLD_VALUE + OP_SWAP_ADD : OP_SWAP_ADD);
	memcpy(&now, bytes_at(l, OP_LOCAL_VA), sizeof(now));
	assert_int_equal(now, old);
}

/* The key that a message named is good for nobody any more. */
static void expect_invalid(struct loop *l)
{
	struct fake_wr wr = bed_wr(&l->b, WQE_OP_WRITE, 1);
	uint16_t index;

	wr.remote_va = OP_REMOTE_VA;
	wr.rkey = l->window;
	wr.srqn = l->x.srq.srqn;
	index = fake_post(&l->b.pair.a, &wr);
	fake_ring(&l->b.pair.a);
	fake_settle(l->b.w);
	expect_error(&l->b.pair.a.send_cq, CQE_REQ_ERR, index, CQE_SYND_REMOTE_ACCESS,
		     CQE_VENDOR_REMOTE_ACCESS);
}

static void run_one(const struct golden_wqe *golden)
{
	struct loop l;

	loop_open(&l, golden);
	switch (golden->op->kind) {
	case OP_WRITE:
	case OP_SEND:
		run_out(&l, golden);
		break;
	case OP_READ:
		run_read(&l, golden);
		break;
	case OP_COMPARE_SWAP:
	case OP_FETCH_ADD:
		run_atomic(&l, golden);
		break;
	}
	expect_sent(&l, golden);
	if (golden->op->flags & OP_INVAL_F)
		expect_invalid(&l);
	bed_close(&l.b);
}

static void every_entry_is_executed(void **state)
{
	size_t count, executed = 0, wanted = 0;
	struct golden_wqe *golden = golden_wqes(&count);

	(void)state;
	for (size_t i = 0; i < WQE_OPS; i++)
		wanted += op_recordings(&wqe_ops[i]);
	for (size_t i = 0; i < count; i++) {
		if (!golden[i].op || golden[i].transport == OP_RAW) /* unit.nic_raw runs these */
			continue;
		name(&golden[i]);
		run_one(&golden[i]);
		executed++;
	}
	assert_int_equal(executed, wanted);
	free(golden);
}

/* ---- receives -------------------------------------------------------------------------------- */

/* The recorded entry becomes the first of NIC 1's ring, own or shared, with this world's key. */
static void receive(struct bed *b, const struct golden_wqe *golden, const struct fake_srq *srq,
		    uint32_t key)
{
	uint64_t db_va = srq ? srq->db_va : b->pair.b.db_va + 4 * DB_RECV;
	uint8_t *at = fake_mem(b->w, srq ? srq->buf_va : b->pair.b.rq_va);

	assert_int_equal(golden->bytes, 64);
	memcpy(at, golden->raw, golden->bytes);
	for (uint32_t i = 0; i < golden->bytes; i += 4)
		if (be32_load(at + i) - OP_LKEY < OP_PIECES_MAX)
			be32_store(at + i, key);
	be32_store(fake_mem(b->w, db_va), 1);
}

/* A message of all the entry's bytes, or of one more, which is too long. */
static void receive_one(const struct golden_wqe *golden, bool is_long)
{
	const struct wqe_receive *r = golden->receive;
	struct bed b = {.w = fake_world_new(NULL)};
	struct fake_opts opts = {.rq_size_log2 = 6};
	struct fake_srq srq;
	struct fake_region into;
	struct fake_wr wr;
	uint32_t len = 0;

	if (r->shared) {
		fake_srq_make(b.w, 1, golden->block_count, 0, NULL, &srq);
		opts.srqn = srq.srqn;
	}
	fake_pair_connect(b.w, &b.pair, &opts);
	b.src = fake_region(b.w, 0, 1 << 16, BED_LOCAL);
	for (uint32_t i = 0; i < b.src.len; i++)
		bed_src(&b)[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	into = region_at(&b, 1, OP_LOCAL_VA, OP_PIECES_MAX * OP_PIECE_STEP);
	receive(&b, golden, r->shared ? &srq : NULL, into.key);
	for (uint32_t i = 0; i < r->piece_count; i++)
		len += r->len_bytes[i];
	wr = bed_wr(&b, WQE_OP_SEND, len + is_long);
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	if (is_long)
		expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 0, CQE_SYND_LOCAL_LENGTH,
			     CQE_VENDOR_NONE);
	else
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, len);
	len = 0;
	for (uint32_t i = 0; i < r->piece_count && !is_long; i++) {
		const uint8_t *at = fake_mem(b.w, OP_LOCAL_VA + i * OP_PIECE_STEP);

		assert_memory_equal(at, bed_src(&b) + len, r->len_bytes[i]);
		assert_int_equal(at[r->len_bytes[i]], 0);
		len += r->len_bytes[i];
	}
	bed_close(&b);
}

static void receives_are_filled(void **state)
{
	size_t count, filled = 0;
	struct golden_wqe *golden = golden_wqes(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (!golden[i].receive)
			continue;
		name(&golden[i]);
		receive_one(&golden[i], false);
		receive_one(&golden[i], true);
		filled++;
	}
	assert_int_equal(filled, WQE_RECEIVES);
	free(golden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_field_is_read),
	    cmocka_unit_test(every_entry_is_executed),
	    cmocka_unit_test(receives_are_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
