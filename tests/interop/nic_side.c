/* SPDX-License-Identifier: BSD-2-Clause */
/* nic_side.c - see nic_side.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/interop/local_memory.h"
#include "tests/interop/nic_side.h"
#include "tests/support/fake_srq.h"

enum { ENTRIES = 64 };

static struct nic_side {
	struct frame_wire *wire;
	struct fake_world *world;
	struct fake_qp qp;
	struct fake_srq srq; /* where the side is shared */
	size_t mem_used;     /* of the world, without the queue pair */
	uint32_t send_ids[ENTRIES], receive_ids[SIDE_RECEIVES];
	uint32_t received; /* receives posted */
	struct fake_address to; /* of a datagram queue pair's peer */
} nic;

static uint32_t bare_key(struct fake_world *w, const struct fake_region *region)
{
	struct nic_mkey_attr attr = {.pdn = w->sides[0].pdn,
				     .access = NIC_ACCESS_LOCAL_WRITE_F,
				     .va = region->va,
				     .len_bytes = region->len,
				     .host_va = region->va};
	uint32_t key;

	assert_int_equal(nic_mkey_create(w->nics[0], &attr, &key), 0);
	return key;
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

/* Whose list leads through the ring in steps of five. */
static void make_srq(void)
{
	fake_srq_make(nic.world, 0, SIDE_RECEIVES, 0, NULL, &nic.srq);
	for (uint16_t i = 0; i < SIDE_RECEIVES; i++)
		fake_srq_link(&nic.srq, i, (uint16_t)((i + 5) % SIDE_RECEIVES));
}

static void make(struct side *side)
{
	static const enum nic_qp_type types[] = {NIC_QP_RC, NIC_QP_UC, NIC_QP_UD};
	struct fake_opts opts = {.type = types[side->service],
				 .sq_count = ENTRIES,
				 .rq_count = SIDE_RECEIVES};

	nic.mem_used = nic.world->mem_used;
	nic.received = 0;
	if (side->shared) {
		make_srq();
		opts.srqn_a = nic.srq.srqn;
	}
	fake_qp_make(nic.world, 0, &opts, &nic.qp);
	for (uint32_t i = 0; i < SIDE_GIDS; i++)
		nic_gid_set(nic.world->nics[0], i, side->gids[i]);
	side->qpn = nic.qp.qpn;
}

static void destroy(struct side *side)
{
	struct nic *core = nic.world->nics[0];

	assert_int_equal(nic_qp_destroy(core, nic.qp.qpn), 0);
	if (side->shared)
		assert_int_equal(nic_srq_destroy(core, nic.srq.srqn), 0);
	side->shared = false;
	assert_int_equal(nic_cq_destroy(core, nic.qp.send_cq.cqn), 0);
	assert_int_equal(nic_cq_destroy(core, nic.qp.recv_cq.cqn), 0);
	memset(nic.world->mem + nic.mem_used, 0, nic.world->mem_used - nic.mem_used);
	nic.world->mem_used = nic.mem_used;
	nic.world->event_count = 0;
}

static void modify(const struct nic_qp_params *params)
{
	assert_int_equal(nic_qp_modify(nic.world->nics[0], nic.qp.qpn, params, nic.world->now_ns),
			 0);
}

static void connect_unacked(const struct side *side, const struct side_link *link,
			    struct nic_qp_params *p)
{
	bool ud = side->service == SIDE_UD;
	uint32_t init = NIC_QP_SET_STATE_F | NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F;
	uint32_t peer =
	    NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F | NIC_QP_SET_RQ_PSN_F;

	p->qkey = SIDE_QKEY;
	p->set = init | (ud ? NIC_QP_SET_QKEY_F : NIC_QP_SET_ACCESS_F);
	modify(p);
	p->set = NIC_QP_SET_STATE_F | (ud ? 0 : peer);
	p->state = NIC_QP_RTR;
	modify(p);
	p->set = NIC_QP_SET_STATE_F | NIC_QP_SET_SQ_PSN_F;
	p->state = NIC_QP_RTS;
	modify(p);
	nic.to = (struct fake_address){.qkey = SIDE_QKEY,
				       .dqpn = link->dqpn,
				       .hop_limit = 64,
				       .rlid = 0xc123,
				       .grh_gid_fl = (uint32_t)link->family
						     << WQE_AV_SGID_INDEX_SHIFT};
	memcpy(nic.to.rgid, link->dgid, 16);
}

static void connect_to(struct side *side, const struct side_link *link)
{
	struct nic_qp_params p = {
	    .set = NIC_QP_SET_STATE_F | NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F |
		   NIC_QP_SET_ACCESS_F,
	    .state = NIC_QP_INIT,
	    .port = 1,
	    .access =
		NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F,
	    .path = {.hop_limit = 64, .udp_sport = 0xc123, .sgid_index = (uint8_t)link->family},
	    .mtu_bytes = link->mtu_bytes,
	    .timeout = link->timeout,
	    .retry_count = link->retry,
	    .rnr_retry = link->rnr_retry,
	    .min_rnr_timer = link->rnr_timer,
	    .rd_atomic = 4,
	    .dest_rd_atomic = 4,
	    .rq_psn = link->rq_psn,
	    .sq_psn = link->sq_psn,
	    .dest_qpn = link->dqpn,
	};

	memcpy(p.path.dgid, link->dgid, 16);
	memcpy(p.path.sgid, side->gids[link->family], 16);
	if (side->service != SIDE_RC) {
		connect_unacked(side, link, &p);
		return;
	}
	modify(&p);
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F |
		NIC_QP_SET_RQ_PSN_F | NIC_QP_SET_DEST_RD_ATOMIC_F | NIC_QP_SET_MIN_RNR_TIMER_F;
	p.state = NIC_QP_RTR;
	modify(&p);
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_RETRY_F |
		NIC_QP_SET_RNR_RETRY_F | NIC_QP_SET_SQ_PSN_F | NIC_QP_SET_RD_ATOMIC_F;
	p.state = NIC_QP_RTS;
	modify(&p);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void post(struct side *side, const struct side_work *work)
{
	static const enum wqe_opcode opcodes[] = {
	    WQE_OP_SEND, WQE_OP_SEND_IMM,  WQE_OP_WRITE,    WQE_OP_WRITE_IMM,
	    WQE_OP_READ, WQE_OP_ATOMIC_CS, WQE_OP_ATOMIC_FA};
	struct fake_wr wr = {
	    .to = side->service == SIDE_UD ? &nic.to : NULL,
	    .opcode = opcodes[work->op],
	    .signal = true,
	    .pieces = {{side->va + work->off, work->len_bytes, side->key}},
	    .piece_count = work->len_bytes != 0,
	    .remote_va = work->addr,
	    .rkey = work->key,
	    .imm = work->imm,
	    .swap_add = work->swap_add,
	    .compare = work->compare,
	};

	nic.send_ids[fake_post(&nic.qp, &wr) % ENTRIES] = work->id;
	fake_ring(&nic.qp);
}

static void receive(struct side *side, uint32_t id, uint32_t off, uint32_t len_bytes)
{
	struct fake_piece piece = {side->va + off, len_bytes, side->key};

	if (side->shared) {
		nic.receive_ids[fake_srq_post(&nic.srq, piece)] = id;
		return;
	}
	nic.receive_ids[nic.received++ % SIDE_RECEIVES] = id;
	fake_receive(&nic.qp, &piece, len_bytes != 0);
}

static enum rig_status status_of(const struct fake_cqe *cqe)
{
	static const struct {
		uint8_t syndrome;
		enum rig_status status;
	} map[] = {
	    {CQE_SYND_LOCAL_LENGTH, RIG_LOCAL_LENGTH},
	    {CQE_SYND_LOCAL_QP_OP, RIG_LOCAL_QP_OPERATION},
	    {CQE_SYND_LOCAL_PROT, RIG_LOCAL_PROTECTION},
	    {CQE_SYND_WR_FLUSH, RIG_FLUSHED},
	    {CQE_SYND_BAD_RESP, RIG_BAD_RESPONSE},
	    {CQE_SYND_LOCAL_ACCESS, RIG_LOCAL_ACCESS},
	    {CQE_SYND_REMOTE_INVAL_REQ, RIG_REMOTE_INVALID_REQUEST},
	    {CQE_SYND_REMOTE_ACCESS, RIG_REMOTE_ACCESS},
	    {CQE_SYND_REMOTE_OP, RIG_REMOTE_OPERATION},
	    {CQE_SYND_RETRY_EXC, RIG_RETRY_EXCEEDED},
	    {CQE_SYND_RNR_RETRY_EXC, RIG_RNR_EXCEEDED},
	};

	if (cqe->opcode != CQE_REQ_ERR && cqe->opcode != CQE_RESP_ERR)
		return RIG_OK;
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].syndrome == cqe->syndrome)
			return map[i].status;
	return RIG_UNEXPECTED;
}

static struct side_wc decode(const struct fake_cqe *cqe, bool is_receive)
{
	struct side_wc wc = {.receive = is_receive, .status = status_of(cqe)};

	wc.id = is_receive ? nic.receive_ids[cqe->wqe_counter % SIDE_RECEIVES]
			   : nic.send_ids[cqe->wqe_counter % ENTRIES];
	if (wc.status != RIG_OK || !is_receive)
		return wc;
	wc.len_bytes = cqe->byte_cnt;
	wc.has_imm = cqe->opcode == CQE_RESP_SEND_IMM || cqe->opcode == CQE_RESP_WR_IMM;
	wc.imm = wc.has_imm ? cqe->imm : 0;
	return wc;
}

struct waiting {
	struct side_wc *wc;
	int count, got;
};

/* Takes what has come; whether that is all. */
static bool have_all(void *ctx)
{
	struct waiting *waiting = ctx;
	struct fake_cqe cqe;

	while (waiting->got < waiting->count && fake_poll(&nic.qp.send_cq, &cqe))
		waiting->wc[waiting->got++] = decode(&cqe, false);
	while (waiting->got < waiting->count && fake_poll(&nic.qp.recv_cq, &cqe))
		waiting->wc[waiting->got++] = decode(&cqe, true);
	return waiting->got == waiting->count;
}

static int wait(struct side *side, struct side_wc *wc, int count, unsigned int timeout_ms)
{
	struct waiting waiting = {.wc = wc, .count = count};

	(void)side;
	frame_wire_until(nic.wire, -1, have_all, &waiting, timeout_ms);
	return waiting.got;
}

static const struct nic_counters *counters(struct side *side)
{
	(void)side;
	return nic_counters(nic.world->nics[0]);
}

static const struct side_ops ops = {
    .make = make,
    .connect = connect_to,
    .post = post,
    .receive = receive,
    .wait = wait,
    .destroy = destroy,
    .abandon = destroy,
    .counters = counters,
    SIDE_LOCAL_MEMORY,
};

/* ---- life ------------------------------------------------------------------------------------ */

void nic_side_open(struct side *side, struct frame_wire *wire)
{
	uint32_t access = NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F |
			  NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F;
	struct fake_region region;

	nic = (struct nic_side){.wire = wire, .world = wire->world};
	region = fake_region(nic.world, 0, SIDE_MEMORY_BYTES, access);
	*side = (struct side){.name = "rig5",
			      .va = region.va,
			      .key = region.key,
			      .bare_key = bare_key(nic.world, &region),
			      .psn = SIDE_PSN_ANY,
			      .ops = &ops};
	memcpy(side->gids, frame_wire_gids, sizeof(side->gids));
	local_memory_open(side, fake_mem(nic.world, region.va));
}

void nic_side_close(struct side *side)
{
	local_memory_close(side);
}
