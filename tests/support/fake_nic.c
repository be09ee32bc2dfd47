/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_nic.c - see fake_nic.h. Failures of the world itself end the test through cmocka.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/mlx5_db.h"
#include "base/ring.h"
#include "tests/support/fake_nic.h"

#define PICK(value, standard) ((value) == UINT32_MAX ? 0 : (value) ? (value) : (standard))

static const struct fake_opts no_opts;

/* ---- environment: memory --------------------------------------------------------------------- */

static bool is_void(uint64_t va, size_t len)
{
	return va >= FAKE_VOID_VA && va + len <= FAKE_VOID_VA + (1ull << 33);
}

static uint8_t *at(struct fake_world *w, uint64_t va, size_t len)
{
	if (va < FAKE_BASE_VA || len > FAKE_MEM_BYTES || va - FAKE_BASE_VA > FAKE_MEM_BYTES - len)
		return NULL;
	for (size_t i = 0; i < w->fault_count; i++)
		if (va < w->faults[i].va + w->faults[i].len && w->faults[i].va < va + len)
			return NULL;
	return w->mem + (va - FAKE_BASE_VA);
}

static bool env_read(void *ctx, void *dst, uint64_t va, size_t len)
{
	struct fake_side *side = ctx;
	const uint8_t *src = at(side->world, va, len);

	if (is_void(va, len)) {
		memset(dst, 0, len);
		return true;
	}
	if (src)
		memcpy(dst, src, len);
	return src != NULL;
}

static bool env_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	struct fake_side *side = ctx;
	uint8_t *dst = at(side->world, va, len);

	if (is_void(va, len)) {
		side->world->void_written_bytes += len;
		return true;
	}
	if (dst)
		memcpy(dst, src, len);
	return dst != NULL;
}

static bool env_load32(void *ctx, uint64_t va, uint32_t *value)
{
	assert_int_equal(va % 4, 0);
	return env_read(ctx, value, va, sizeof(*value));
}

static bool env_store32(void *ctx, uint64_t va, uint32_t value)
{
	assert_int_equal(va % 4, 0);
	return env_write(ctx, va, &value, sizeof(value));
}

static bool env_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	assert_int_equal(va % 8, 0);
	if (!env_read(ctx, old, va, sizeof(*old)))
		return false;
	return *old != compare || env_write(ctx, va, &swap, sizeof(swap));
}

/* ---- environment: the wire ------------------------------------------------------------------- */

static uint8_t *env_reserve(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len)
{
	struct fake_side *side = ctx;
	struct fake_world *w = side->world;

	assert_null(w->reserved);
	assert_in_range(len, ROCE_BTH_BYTES, FAKE_PACKET_BYTES);
	if (w->queue_count >= w->room)
		return NULL;
	w->reserved = calloc(1, sizeof(*w->reserved));
	assert_non_null(w->reserved);
	w->reserved->from = side->index;
	w->reserved->dqpn = dqpn;
	w->reserved->len_bytes = (uint32_t)len;
	w->reserved->path = *path;
	memset(w->reserved->bytes, 0xa5, len);
	return w->reserved->bytes;
}

static void env_commit(void *ctx)
{
	struct fake_side *side = ctx;
	struct fake_world *w = side->world;

	assert_non_null(w->reserved);
	if (w->queue_count == w->queue_cap) {
		w->queue_cap = w->queue_cap ? 2 * w->queue_cap : 64;
		w->queue = realloc(w->queue, w->queue_cap * sizeof(*w->queue));
		assert_non_null(w->queue);
	}
	w->queue[w->queue_count++] = w->reserved;
	w->reserved = NULL;
	w->sent_packets++;
}

static void env_cancel(void *ctx)
{
	struct fake_side *side = ctx;

	assert_non_null(side->world->reserved);
	free(side->world->reserved);
	side->world->reserved = NULL;
}

static uint32_t env_window(void *ctx, const struct nic_path *path)
{
	const struct fake_side *side = (const struct fake_side *)ctx;

	(void)path;
	return side->world->window_bytes;
}

static bool env_untaken(void *ctx, const struct nic_path *path, uint32_t dqpn)
{
	struct fake_side *side = ctx;

	(void)path;
	(void)dqpn;
	return side->world->untaken;
}

/* Blocks 0x100, 0x102, ... for NIC 0, odd ones for NIC 1: owner_of relies on it. */
static int env_block(void *ctx, uint32_t *block)
{
	struct fake_side *side = ctx;

	*block = 0x100u + (side->world->blocks_given++ << 1 | side->index);
	return 0;
}

static int env_join(void *ctx, const uint8_t gid[static 16])
{
	struct fake_side *side = ctx;

	assert_true(roce_gid_is_multicast(gid));
	if (side->world->group_error)
		return side->world->group_error;
	side->world->groups_joined[side->index]++;
	return 0;
}

static void env_leave(void *ctx, const uint8_t gid[static 16])
{
	struct fake_side *side = ctx;

	(void)gid;
	assert_true(side->world->groups_joined[side->index]-- != 0);
}

static void env_event(void *ctx, const struct nic_event *event)
{
	struct fake_side *side = ctx;
	struct fake_world *w = side->world;

	assert_true(w->event_count < FAKE_EVENTS_MAX);
	w->event_nic[w->event_count] = side->index;
	w->events[w->event_count++] = *event;
}

size_t fake_events(const struct fake_world *w, uint32_t nic, enum nic_event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < w->event_count; i++)
		count += w->event_nic[i] == nic && w->events[i].kind == kind;
	return count;
}

/* ---- the world ------------------------------------------------------------------------------- */

static const struct nic_config standard_config = {
    .qp_count_max = 4096,
    .cq_count_max = 1024,
    .mkey_count_max = 1024,
    .pd_count_max = 64,
    .srq_count_max = 64,
    .dc_responder_count_max = 64,
    .xrcd_count_max = 8,
    .mtu_max_bytes = 4096,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
};

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void side_init(struct fake_world *w, uint32_t i, const struct nic_config *config)
{
	struct fake_side *side = &w->sides[i];

	side->world = w;
	side->index = i;
	side->arena = map(nic_arena_bytes(config));
	w->envs[i] = (struct nic_env){
	    .ctx = side,
	    .mem_read = env_read,
	    .mem_write = env_write,
	    .mem_load32 = env_load32,
	    .mem_store32 = env_store32,
	    .mem_cas64 = env_cas64,
	    .tx_reserve = env_reserve,
	    .tx_commit = env_commit,
	    .tx_cancel = env_cancel,
	    .tx_untaken = env_untaken,
	    .qpn_block = env_block,
	    .event = env_event,
	    .tx_window_bytes = env_window,
	    .group_join = env_join,
	    .group_leave = env_leave,
	};
	w->nics[i] = nic_init(side->arena, config, &w->envs[i], i + 1);
	assert_int_equal(nic_pd_create(w->nics[i], &side->pdn), 0);
}

static size_t arena_bytes;

struct fake_world *fake_world_new(const struct nic_config *config)
{
	struct fake_world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	if (!config)
		config = &standard_config;
	arena_bytes = nic_arena_bytes(config);
	w->mem = map(FAKE_MEM_BYTES);
	w->room = SIZE_MAX;
	w->now_ns = 1000000000;
	w->budget = (struct nic_budget){.packets = 64, .bytes = 256 << 10};
	for (uint32_t i = 0; i < FAKE_NICS; i++)
		side_init(w, i, config);
	return w;
}

void fake_world_free(struct fake_world *w)
{
	for (size_t i = 0; i < w->queue_count; i++)
		free(w->queue[i]);
	free(w->queue);
	for (uint32_t i = 0; i < FAKE_NICS; i++)
		munmap(w->sides[i].arena, arena_bytes);
	munmap(w->mem, FAKE_MEM_BYTES);
	free(w);
}

uint64_t fake_alloc(struct fake_world *w, size_t bytes)
{
	uint64_t va = FAKE_BASE_VA + w->mem_used;

	w->mem_used += (bytes + 63) & ~(size_t)63;
	assert_true(w->mem_used <= FAKE_MEM_BYTES);
	return va;
}

void *fake_mem(struct fake_world *w, uint64_t va)
{
	assert_in_range(va, FAKE_BASE_VA, FAKE_BASE_VA + FAKE_MEM_BYTES - 1);
	return w->mem + (va - FAKE_BASE_VA);
}

void fake_fault(struct fake_world *w, uint64_t va, uint64_t len)
{
	assert_true(w->fault_count < FAKE_FAULTS_MAX);
	w->faults[w->fault_count].va = va;
	w->faults[w->fault_count++].len = len;
}

void fake_fault_none(struct fake_world *w)
{
	w->fault_count = 0;
}

struct fake_region fake_region(struct fake_world *w, uint32_t nic, size_t bytes, uint32_t access)
{
	struct fake_region r = {.va = fake_alloc(w, bytes), .len = bytes};
	struct nic_mkey_attr attr = {.pdn = w->sides[nic].pdn,
				     .access = access,
				     .va = r.va,
				     .len_bytes = bytes,
				     .host_va = r.va};

	assert_int_equal(nic_mkey_create(w->nics[nic], &attr, &r.key), 0);
	return r;
}

/* ---- completion queues ----------------------------------------------------------------------- */

void fake_cq_make(struct fake_world *w, uint32_t nic, uint32_t count_log2, struct fake_cq *cq)
{
	struct nic_cq_attr attr = {.cqe_count_log2 = count_log2, .cqe_size_bytes = 64};

	*cq = (struct fake_cq){.world = w, .nic = nic, .count_log2 = count_log2};
	cq->buf_va = attr.buf_va = fake_alloc(w, (size_t)CQE_BYTES << count_log2);
	cq->db_va = attr.db_va = fake_alloc(w, DB_RECORD_BYTES);
	for (uint32_t i = 0; i < 1u << count_log2; i++)
		((struct cqe64 *)fake_mem(w, cq->buf_va))[i].op_own = CQE_OP_OWN_INIT;
	assert_int_equal(nic_cq_create(w->nics[nic], &attr, &cq->cqn), 0);
}

int fake_poll(struct fake_cq *cq, struct fake_cqe *out)
{
	const struct cqe64 *cqe = (const struct cqe64 *)fake_mem(cq->world, cq->buf_va) +
				  ring_index(cq->ci, cq->count_log2);
	const struct cqe_err64 *err = (const struct cqe_err64 *)cqe;

	if (cqe_opcode_of(cqe->op_own) == CQE_INVALID ||
	    cqe_owner_of(cqe->op_own) != ring_lap(cq->ci, cq->count_log2))
		return 0;
	*out = (struct fake_cqe){
	    .opcode = cqe_opcode_of(cqe->op_own),
	    .send_opcode = cqe_send_opcode(cqe),
	    .wqe_counter = be16_to(cqe->wqe_counter),
	    .qpn = cqe_qpn(cqe),
	    .user_index = be32_to(cqe->srqn_uidx),
	};
	if (cqe_is_error(cqe->op_own)) {
		out->syndrome = err->syndrome;
		out->vendor = err->vendor_syndrome;
	} else {
		out->byte_cnt = be32_to(cqe->byte_cnt);
		out->imm = be32_to(cqe->imm_inval_pkey);
		out->flags_rqpn = be32_to(cqe->flags_rqpn);
		out->slid = be16_to(cqe->slid);
	}
	cq->ci++;
	be32_store(fake_mem(cq->world, cq->db_va), cq->ci & DB_CQ_INDEX_MASK);
	return 1;
}

void fake_arm(struct fake_cq *cq, bool solicited)
{
	struct be32 word =
	    db_cq_arm_word(cq->arm_sn, solicited ? DB_CQ_CMD_SOLICITED : DB_CQ_CMD_ANY, cq->ci);

	memcpy((uint8_t *)fake_mem(cq->world, cq->db_va) + 4 * DB_CQ_ARM, &word, sizeof(word));
	cq->arm_sn++;
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

static void make_queues(struct fake_qp *qp, const struct fake_opts *o)
{
	struct fake_world *w = qp->world;

	if (qp->type != NIC_QP_XRC_TGT)
		fake_cq_make(w, qp->nic, PICK(o->cq_count_log2, 8), &qp->send_cq);
	if (qp->type == NIC_QP_XRC_TGT || qp->type == NIC_QP_DCT)
		qp->sq_count = 0;
	if (qp->type == NIC_QP_XRC_TGT || qp->type == NIC_QP_XRC_INI || qp->type == NIC_QP_DCI)
		qp->rq_count = 0;
	else
		fake_cq_make(w, qp->nic, PICK(o->cq_count_log2, 8), &qp->recv_cq);
	qp->rq_va = fake_alloc(w, ((size_t)qp->rq_count << qp->rq_size_log2) +
				      (size_t)qp->sq_count * WQE_BB_BYTES);
	qp->sq_va = qp->rq_va + ((uint64_t)qp->rq_count << qp->rq_size_log2);
	qp->db_va = fake_alloc(w, DB_RECORD_BYTES);
}

void fake_qp_make(struct fake_world *w, uint32_t nic, const struct fake_opts *opts,
		  struct fake_qp *qp)
{
	const struct fake_opts *o = opts ? opts : &no_opts;
	uint32_t srqn = nic == 1 ? o->srqn : o->srqn_a;
	struct nic_qp_attr attr = {0};
	uint8_t gid[16];

	*qp = (struct fake_qp){.world = w, .nic = nic, .type = o->type};
	qp->sq_count = PICK(o->sq_count, 64);
	qp->rq_count = srqn != 0 ? 0 : PICK(o->rq_count, 16);
	qp->rq_size_log2 = PICK(o->rq_size_log2, 6);
	make_queues(qp, o);
	attr = (struct nic_qp_attr){
	    .type = o->type,
	    .own_multicast_blocked = o->own_multicast_blocked,
	    .pdn = o->type == NIC_QP_XRC_TGT ? 0 : w->sides[nic].pdn,
	    .cqn_send = qp->send_cq.cqn,
	    .cqn_recv = qp->recv_cq.cqn,
	    .buf_va = qp->rq_va,
	    .db_va = qp->db_va,
	    .sq_wqebb_count = qp->sq_count,
	    .rq_wqe_count = qp->rq_count,
	    .rq_wqe_size_log2 = qp->rq_size_log2,
	    .srqn = srqn,
	    .xrcdn = o->type == NIC_QP_XRC_TGT ? o->xrcdn : 0,
	    .dc_key = o->dc_key,
	    .stream_failed_max = o->stream_failed_max,
	    .user_index = 0x700 + nic,
	    .sq_signal_all = o->signal_all,
	    .cookie = 0xc00cull + nic,
	};
	assert_int_equal(nic_qp_create(w->nics[nic], &attr, &qp->qpn), 0);
	fake_gid(w, gid, nic);
	nic_gid_set(w->nics[nic], 0, gid);
}

void fake_qp_modify(struct fake_qp *qp, const struct nic_qp_params *p)
{
	struct fake_world *w = qp->world;

	assert_int_equal(nic_qp_modify(w->nics[qp->nic], qp->qpn, p, w->now_ns), 0);
	nic_check(w->nics[qp->nic]);
}

/* One port has one GID, however many NICs (processes) are on it. */
void fake_gid(const struct fake_world *w, uint8_t gid[static 16], uint32_t nic)
{
	static const uint8_t prefix[16] = {[10] = 0xff, [11] = 0xff, [12] = 127};

	memcpy(gid, prefix, 16);
	gid[15] = (uint8_t)(w->alien ? nic + 1 : 1);
}

static void ready_unacked(struct fake_qp *qp, struct nic_qp_params *p, enum nic_qp_type type)
{
	bool ud = type == NIC_QP_UD;
	uint32_t init = NIC_QP_SET_STATE_F | NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F;
	uint32_t peer =
	    NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F | NIC_QP_SET_RQ_PSN_F;

	p->qkey = FAKE_QKEY;
	p->set = init | (ud ? NIC_QP_SET_QKEY_F : NIC_QP_SET_ACCESS_F);
	fake_qp_modify(qp, p);
	p->set = NIC_QP_SET_STATE_F | (ud ? 0 : peer);
	p->state = NIC_QP_RTR;
	fake_qp_modify(qp, p);
	p->set = NIC_QP_SET_STATE_F | NIC_QP_SET_SQ_PSN_F;
	p->state = NIC_QP_RTS;
	fake_qp_modify(qp, p);
}

struct nic_qp_params fake_qp_params(const struct fake_qp *qp, uint32_t dest_qpn, bool is_b,
				    const struct fake_opts *opts)
{
	const struct fake_opts *o = opts ? opts : &no_opts;
	uint32_t rights =
	    NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F;
	uint32_t psn_a = PICK(o->psn_a, 0x100), psn_b = PICK(o->psn_b, 0x200);
	uint32_t mtu_a = PICK(o->mtu_bytes, 1024);
	struct nic_qp_params p = {
	    .set = NIC_QP_SET_STATE_F | NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F |
		   NIC_QP_SET_ACCESS_F,
	    .state = NIC_QP_INIT,
	    .port = 1,
	    .access = PICK(o->access, rights),
	    .mtu_bytes = is_b ? PICK(o->mtu_b_bytes, mtu_a) : mtu_a,
	    .timeout = (uint8_t)PICK(o->timeout, 14),
	    .retry_count = (uint8_t)PICK(o->retry_count, 7),
	    .rnr_retry = (uint8_t)PICK(o->rnr_retry, 7),
	    .min_rnr_timer = (uint8_t)PICK(o->min_rnr_timer, 12),
	    .rd_atomic = (uint8_t)PICK(o->rd_atomic, 16),
	    .dest_rd_atomic = (uint8_t)PICK(o->dest_rd_atomic, 16),
	    .dest_qpn = dest_qpn,
	    .sq_psn = is_b ? psn_b : psn_a,
	    .rq_psn = is_b ? psn_a : psn_b,
	};

	fake_gid(qp->world, p.path.dgid, 1 - qp->nic);
	fake_gid(qp->world, p.path.sgid, qp->nic);
	return p;
}

void fake_qp_ready(struct fake_qp *qp, uint32_t dest_qpn, bool is_b, const struct fake_opts *opts)
{
	struct nic_qp_params p = fake_qp_params(qp, dest_qpn, is_b, opts);

	if (qp->type == NIC_QP_UC || qp->type == NIC_QP_UD) {
		ready_unacked(qp, &p, qp->type);
		return;
	}
	fake_qp_modify(qp, &p);
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F |
		NIC_QP_SET_RQ_PSN_F;
	if (qp->type != NIC_QP_XRC_INI)
		p.set |= NIC_QP_SET_DEST_RD_ATOMIC_F | NIC_QP_SET_MIN_RNR_TIMER_F;
	p.state = NIC_QP_RTR;
	fake_qp_modify(qp, &p);
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_SQ_PSN_F;
	if (qp->type != NIC_QP_XRC_TGT)
		p.set |= NIC_QP_SET_RETRY_F | NIC_QP_SET_RNR_RETRY_F | NIC_QP_SET_RD_ATOMIC_F;
	p.state = NIC_QP_RTS;
	fake_qp_modify(qp, &p);
}

void fake_pair_connect(struct fake_world *w, struct fake_pair *pair, const struct fake_opts *opts)
{
	fake_qp_make(w, 0, opts, &pair->a);
	fake_qp_make(w, 1, opts, &pair->b);
	fake_qp_ready(&pair->a, pair->b.qpn, false, opts);
	fake_qp_ready(&pair->b, pair->a.qpn, true, opts);
}

int fake_qp_state(struct fake_qp *qp)
{
	struct nic_qp_params p;

	assert_int_equal(nic_qp_query(qp->world->nics[qp->nic], qp->qpn, &p), 0);
	return (int)p.state;
}

int fake_qp_set_state(struct fake_qp *qp, enum nic_qp_state state)
{
	struct nic_qp_params p = {.set = NIC_QP_SET_STATE_F, .state = state};
	struct fake_world *w = qp->world;
	int err = nic_qp_modify(w->nics[qp->nic], qp->qpn, &p, w->now_ns);

	nic_check(w->nics[qp->nic]);
	return err;
}

/* ---- posting --------------------------------------------------------------------------------- */

struct builder {
	uint8_t bytes[1024 + 64];
	uint32_t used;
};

static void put_piece(struct builder *b, const struct fake_piece *piece)
{
	be32_store(b->bytes + b->used, piece->len);
	be32_store(b->bytes + b->used + 4, piece->key);
	be64_store(b->bytes + b->used + 8, piece->va);
	b->used += 16;
}

struct fake_address fake_to(const struct fake_qp *qp)
{
	struct fake_address to = {.qkey = FAKE_QKEY, .dqpn = qp->qpn, .hop_limit = 64};

	fake_gid(qp->world, to.rgid, qp->nic);
	return to;
}

/* [ud-av] */
static void put_address(struct builder *b, const struct fake_address *to)
{
	uint8_t *seg = b->bytes + b->used;

	be32_store(seg, to->qkey);
	if (to->dc_key != 0)
		be64_store(seg, to->dc_key);
	be32_store(seg + 8, to->dqpn | (to->compact ? 0 : WQE_AV_EXTENDED_F));
	seg[12] = to->stat_rate_sl;
	be16_store(seg + 14, to->rlid);
	b->used += 16;
	if (to->compact)
		return;
	seg[26] = to->tclass;
	seg[27] = to->hop_limit;
	be32_store(seg + 28, to->grh_gid_fl);
	memcpy(seg + 32, to->rgid, 16);
	b->used += 32;
}

static void put_remote(struct builder *b, const struct fake_wr *wr)
{
	be64_store(b->bytes + b->used, wr->remote_va);
	be32_store(b->bytes + b->used + 8, wr->rkey);
	b->used += 16;
}

static void put_atomic(struct builder *b, const struct fake_wr *wr)
{
	be64_store(b->bytes + b->used, wr->swap_add);
	be64_store(b->bytes + b->used + 8, wr->compare);
	b->used += 16;
}

static void put_inline(struct builder *b, const struct fake_wr *wr)
{
	be32_store(b->bytes + b->used, WQE_INLINE_F | wr->inline_bytes);
	memcpy(b->bytes + b->used + 4, wr->inline_data, wr->inline_bytes);
	b->used += wqe_inline_units(wr->inline_bytes) * WQE_UNIT_BYTES;
}

static void put_ctrl(struct builder *b, const struct fake_qp *qp, const struct fake_wr *wr)
{
	struct wqe_ctrl_seg ctrl = {
	    .opmod_idx_opcode = wqe_ctrl_op(0, qp->sq_pi, wr->opcode),
	    .qpn_ds = wqe_ctrl_qpn_ds(qp->qpn, b->used / WQE_UNIT_BYTES),
	    .fm_ce_se = (uint8_t)((wr->signal ? WQE_CE_ALWAYS : 0) |
				  (wr->solicited ? WQE_SOLICITED_F : 0) | wr->fence),
	    .imm = be32_from(wr->imm),
	};

	be16_store(ctrl.dci_stream, wr->stream);
	memcpy(b->bytes, &ctrl, sizeof(ctrl));
}

uint16_t fake_post(struct fake_qp *qp, const struct fake_wr *wr)
{
	struct builder b = {.used = sizeof(struct wqe_ctrl_seg)};

	if (qp->type == NIC_QP_XRC_INI && wr->opcode != WQE_OP_NOP) {
		be32_store(b.bytes + b.used, wr->srqn);
		b.used += sizeof(struct wqe_xrc_seg);
	}
	if (wr->to)
		put_address(&b, wr->to);
	if (wr->opcode != WQE_OP_SEND && wr->opcode != WQE_OP_SEND_IMM &&
	    wr->opcode != WQE_OP_SEND_INVAL && wr->opcode != WQE_OP_NOP)
		put_remote(&b, wr);
	if (wr->opcode == WQE_OP_ATOMIC_CS || wr->opcode == WQE_OP_ATOMIC_FA)
		put_atomic(&b, wr);
	for (uint32_t i = 0; i < wr->piece_count; i++)
		put_piece(&b, &wr->pieces[i]);
	if (wr->inline_data)
		put_inline(&b, wr);
	put_ctrl(&b, qp, wr);
	return fake_put_blocks(qp, b.bytes, b.used);
}

void fake_ring(struct fake_qp *qp)
{
	struct fake_world *w = qp->world;
	uint64_t word;

	be32_store((uint8_t *)fake_mem(w, qp->db_va) + 4 * DB_SEND, qp->sq_pi);
	memcpy(&word,
	       (uint8_t *)fake_mem(w, qp->sq_va) +
		   (qp->last_index & (qp->sq_count - 1)) * WQE_BB_BYTES,
	       sizeof(word));
	nic_doorbell(w->nics[qp->nic], word, w->now_ns);
	fake_run(w, qp->nic);
}

void fake_receive(struct fake_qp *qp, const struct fake_piece *pieces, uint32_t count)
{
	struct builder b = {0};
	struct fake_piece end = {.key = WQE_LKEY_INVALID};
	uint32_t size_bytes = 1u << qp->rq_size_log2;

	for (uint32_t i = 0; i < count; i++)
		put_piece(&b, &pieces[i]);
	assert_true(b.used <= size_bytes);
	if (b.used < size_bytes)
		put_piece(&b, &end);
	memcpy((uint8_t *)fake_mem(qp->world, qp->rq_va) +
		   ((qp->rq_pi & (qp->rq_count - 1)) << qp->rq_size_log2),
	       b.bytes, size_bytes);
	qp->rq_pi++;
	be32_store((uint8_t *)fake_mem(qp->world, qp->db_va) + 4 * DB_RECV, qp->rq_pi);
}

/* ---- the wire and time ----------------------------------------------------------------------- */

enum nic_more fake_run(struct fake_world *w, uint32_t nic)
{
	enum nic_more more = NIC_BUSY;

	while (more == NIC_BUSY && w->now_ns >= w->paused_until_ns[nic]) {
		more = nic_run(w->nics[nic], &w->budget, w->now_ns);
		nic_check(w->nics[nic]);
	}
	return more;
}

static void run_both(struct fake_world *w)
{
	for (uint32_t i = 0; i < FAKE_NICS; i++)
		fake_run(w, i);
}

static struct fake_packet *take(struct fake_world *w, size_t i)
{
	struct fake_packet *packet;

	assert_true(i < w->queue_count);
	packet = w->queue[i];
	w->queue_count--;
	memmove(&w->queue[i], &w->queue[i + 1], (w->queue_count - i) * sizeof(*w->queue));
	return packet;
}

static void receive(struct fake_world *w, uint32_t nic, const struct fake_packet *packet)
{
	struct nic_rx rx = {.bth = packet->bytes, .len_bytes = packet->len_bytes};

	if (w->alien) {
		rx.sgid = packet->path.sgid;
		rx.dgid = packet->path.dgid;
		rx.traffic_class = nic_traffic_class(&packet->path, packet->len_bytes);
	} else if (packet->path.datagram) {
		rx.path = &packet->path;
	}
	nic_rx(w->nics[nic], &rx, w->now_ns);
	nic_check(w->nics[nic]);
}

/* Whose a queue pair number is; FAKE_NICS: nobody's, and the wire drops it. */
static uint32_t owner_of(uint32_t qpn)
{
	return qpn >> 12 >= 0x100 ? (qpn >> 12) & 1 : FAKE_NICS;
}

void fake_deliver_copy(struct fake_world *w, size_t i)
{
	uint32_t nic = owner_of(w->queue[i]->dqpn);

	if (nic < FAKE_NICS)
		receive(w, nic, w->queue[i]);
	run_both(w);
}

/* To every process of the port; or over a network, to the other. */
static void receive_group(struct fake_world *w, const struct fake_packet *packet)
{
	for (uint32_t nic = 0; nic < FAKE_NICS; nic++)
		if (!w->alien || nic != packet->from)
			receive(w, nic, packet);
}

void fake_deliver(struct fake_world *w, size_t i)
{
	struct fake_packet *packet = take(w, i);
	uint32_t nic = owner_of(packet->dqpn);

	if (packet->dqpn == ROCE_QPN_MASK)
		receive_group(w, packet);
	else if (nic < FAKE_NICS)
		receive(w, nic, packet);
	free(packet);
	run_both(w);
}

void fake_drop(struct fake_world *w, size_t i)
{
	free(take(w, i));
	run_both(w);
}

struct roce_pkt fake_pkt(struct fake_world *w, size_t i)
{
	struct roce_pkt pkt;

	assert_true(i < w->queue_count);
	assert_int_equal(roce_pkt_decode(&pkt, w->queue[i]->bytes, w->queue[i]->len_bytes),
			 ROCE_OK);
	return pkt;
}

void fake_settle(struct fake_world *w)
{
	run_both(w);
	while (w->queue_count != 0)
		fake_deliver(w, 0);
}

void fake_send(struct fake_world *w, uint32_t nic, const struct roce_pkt *pkt)
{
	struct fake_packet packet = {.from = 1 - nic, .dqpn = pkt->dqpn};
	size_t head = roce_pkt_encode_headers(packet.bytes, sizeof(packet.bytes), pkt);

	assert_true(head != 0);
	if (pkt->payload_bytes != 0)
		memcpy(packet.bytes + head, pkt->payload, pkt->payload_bytes);
	packet.len_bytes = (uint32_t)head + pkt->payload_bytes + pkt->pad_bytes;
	receive(w, nic, &packet);
	run_both(w);
}

void fake_advance(struct fake_world *w, uint64_t ns)
{
	w->now_ns += ns;
	run_both(w);
}
