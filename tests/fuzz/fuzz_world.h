/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_world.h - two NICs with a connected queue pair each (tests/support/fake_nic.h), of any type,
 * and memory that nothing may change: what the targets of the core start from.
 *
 * NIC 1 is the victim of packets, NIC 0 of entries. Each has a region `open` that its peer may do
 * everything to and that windows may be bound to; `readable`, which may only be read; and `closed`,
 * which only its own entries may name. The guards lie between all of them and are registered
 * nowhere. Each also has keys that entries may make something of: a list, and a window of either
 * type.
 *
 * nic_check runs on both NICs after every step. world_verdict: readable regions, closed regions of
 * NIC 1 (nobody posts there) and guards are as they were, and the counters add up.
 */
#ifndef TESTS_FUZZ_FUZZ_WORLD_H
#define TESTS_FUZZ_FUZZ_WORLD_H

#include "base/be.h"
#include "nic/nic_cong.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/fake_dc.h"
#include "tests/support/fake_nic.h"
#include "tests/support/fake_srq.h"
#include "tests/support/umr.h"

#include <stdbool.h>

enum {
	WORLD_REGION_BYTES = 8192,
	WORLD_GUARD_BYTES = 256,
	WORLD_GUARDS_MAX = 16,
	WORLD_PATTERN = 0xe7,
	WORLD_DATA = 0x3c,
	WORLD_STEP_PACKETS = 64,
	WORLD_LIST = 0, /* of special[] */
	WORLD_WINDOW_1,
	WORLD_WINDOW_2,
	WORLD_SPECIALS,
};

struct fuzz_world {
	struct fake_world *w;
	struct fake_pair pair;
	struct fake_srq srq; /* of pair.b, if it has one */
	struct fake_address to; /* of pair.b, if it is a DC target */
	struct fake_cq xrc_cq;
	struct fake_region open[2], readable[2], closed[2];
	uint32_t special[2][WORLD_SPECIALS]; /* keys */
	uint64_t guards[WORLD_GUARDS_MAX];
	unsigned int guard_count;
	uint32_t mapping; /* of NIC 0; 0: none */
};

static struct fuzz_world world;

static inline void world_guard(void)
{
	uint64_t va = fake_alloc(world.w, WORLD_GUARD_BYTES);

	FUZZ_CHECK(world.guard_count < WORLD_GUARDS_MAX);
	memset(fake_mem(world.w, va), WORLD_PATTERN, WORLD_GUARD_BYTES);
	world.guards[world.guard_count++] = va;
}

static inline struct fake_region world_region(uint32_t nic, uint32_t access)
{
	struct fake_region region = fake_region(world.w, nic, WORLD_REGION_BYTES, access);

	memset(fake_mem(world.w, region.va), WORLD_PATTERN, WORLD_REGION_BYTES);
	world_guard();
	return region;
}

static inline uint32_t world_special(uint32_t nic, enum nic_mkey_kind kind)
{
	bool list = kind == NIC_MKEY_KLM;
	struct nic_mkey_attr attr = {.pdn = world.w->sides[nic].pdn,
				     .kind = kind,
				     .klm_count_max = list ? 4 : 0,
				     .free = list,
				     .umr = list,
				     .remote_invalidate = list,
				     .tag_given = list};
	uint32_t key;

	FUZZ_CHECK(nic_mkey_create(world.w->nics[nic], &attr, &key) == 0);
	return key;
}

/* The pair, of the type that the input says. */
static inline void world_pair(uint8_t kind, struct fake_opts *opts)
{
	static const enum nic_qp_type types[8] = {[4] = NIC_QP_UC, [5] = NIC_QP_UD};
	struct fake_xrc xrc;
	struct fake_dct dct;

	if ((kind & 0x87) == 0x83) {
		opts->stream_failed_max = kind & 0x40 ? 2 : 0;
		fake_dct_make(world.w, opts, &dct);
		fake_dci_make(world.w, opts, &world.pair.a);
		world.pair.b = dct.qp;
		world.srq = dct.srq;
		world.to = dct.to;
		return;
	}
	if (kind % 8 == 7) {
		fake_xrc_connect(world.w, &xrc, opts);
		world.pair = xrc.pair;
		world.srq = xrc.srq;
		world.xrc_cq = xrc.cq;
		return;
	}
	opts->type = types[kind % 8];
	if (kind % 8 == 6 || (kind & 0x18) == 0x18) {
		fake_srq_make(world.w, 1, 8, 0, NULL, &world.srq);
		opts->srqn = world.srq.srqn;
	}
	fake_pair_connect(world.w, &world.pair, opts);
}

/* The wire is a network: what is sent has flows, which marks, notifications and probes speak of. */
static inline void world_network(void)
{
	uint8_t gid[16];

	world.w->alien = true;
	world.w->window_bytes = 8192;
	for (uint32_t nic = 0; nic < 2; nic++) {
		fake_gid(world.w, gid, nic);
		nic_gid_set(world.w->nics[nic], 0, gid);
	}
}

/* The first bytes of the input say how the pair is set up. */
static inline void world_open(struct fuzz_in *in)
{
	struct nic_config config = {.qp_count_max = 4096,
				    .cq_count_max = 16,
				    .mkey_count_max = 16,
				    .pd_count_max = 4,
				    .srq_count_max = 4,
				    .xrcd_count_max = 2,
				    .dc_responder_count_max = 3,
				    .mtu_max_bytes = 4096,
				    .rd_atomic_max = 16,
				    .message_max_bytes_log2 = 31,
				    .line_rate_bps = 1000000000};
	static const uint32_t psns[] = {0x100, 0xfffffe, 0x7fffff, 0};
	uint8_t how = fuzz_u8(in), kind = fuzz_u8(in);
	struct fake_opts opts = {.sq_count = 16,
				 .rq_count = 8,
				 .cq_count_log2 = 5,
				 .mtu_bytes = how & 1 ? 256 : 1024,
				 .psn_a = psns[how >> 1 & 3],
				 .psn_b = psns[how >> 3 & 3],
				 .dest_rd_atomic = how & 0x20 ? 1 : 4,
				 .rd_atomic = how & 0x20 ? 1 : 4,
				 .retry_count = how & 0x40 ? UINT32_MAX : 3,
				 .rnr_retry = how & 0x40 ? 1 : 7,
				 .signal_all = how & 0x80};
	uint32_t all = NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F |
		       NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F | NIC_ACCESS_BIND_F;

	memset(&world, 0, sizeof(world));
	config.cc_algorithm = kind & 0x40 ? NIC_CC_RTT : NIC_CC_DCQCN;
	world.w = fake_world_new(&config);
	world.w->alien = how & 1;
	if (kind & 0x20)
		world_network();
	world_guard();
	world_pair(kind, &opts);
	world_guard();
	for (uint32_t nic = 0; nic < 2; nic++) {
		world.open[nic] = world_region(nic, all);
		/* What is moved is seen where it should not be. */
		memset(fake_mem(world.w, world.open[nic].va), WORLD_DATA, WORLD_REGION_BYTES);
		world.readable[nic] = world_region(nic, NIC_ACCESS_REMOTE_READ_F);
		world.closed[nic] = world_region(nic, NIC_ACCESS_LOCAL_WRITE_F);
		world.special[nic][WORLD_LIST] = world_special(nic, NIC_MKEY_KLM);
		world.special[nic][WORLD_WINDOW_1] = world_special(nic, NIC_MKEY_WINDOW_1);
		world.special[nic][WORLD_WINDOW_2] = world_special(nic, NIC_MKEY_WINDOW_2);
	}
}

static inline struct fake_region world_pick(uint32_t nic, uint8_t which)
{
	switch (which % 4) {
	case 0:
		return world.readable[nic];
	case 1:
		return world.closed[nic];
	default:
		return world.open[nic];
	}
}

/* A key of NIC `nic`, a key of the other one, or a forged one. */
static inline uint32_t world_key(struct fuzz_in *in, uint32_t nic)
{
	uint8_t kind = fuzz_u8(in);
	uint32_t key = world_pick(nic, kind).key;

	if (kind >= 0x90 && kind < 0xc0)
		return world.special[nic][kind % WORLD_SPECIALS];
	if (kind < 0xc0)
		return key;
	if (kind < 0xd0)
		return world_pick(1 - nic, kind).key;
	return kind < 0xf0 ? key ^ fuzz_u8(in) : fuzz_u32(in);
}

/* An address in a region of NIC `nic`, at or near its edges, or any. */
static inline uint64_t world_va(struct fuzz_in *in, uint32_t nic)
{
	uint8_t kind = fuzz_u8(in);
	struct fake_region region = world_pick(nic, kind);

	if (kind >= 0x90 && kind < 0xc0)
		return kind & 0xf; /* a list starts at 0 */
	switch (kind >> 4) {
	case 0xf:
		return fuzz_u64(in);
	case 0xe:
		return region.va - 4 + fuzz_u8(in) % 8;
	case 0xd:
		return region.va + WORLD_REGION_BYTES - fuzz_u8(in) % 16;
	default:
		return region.va + (kind >> 4) * 8;
	}
}

static inline void world_checked(void)
{
	world.w->event_count = 0;
	for (uint32_t nic = 0; nic < 2; nic++)
		nic_check(world.w->nics[nic]);
}

static inline bool same_bytes(uint64_t va, size_t len)
{
	const uint8_t *at = fake_mem(world.w, va);

	for (size_t i = 0; i < len; i++)
		if (at[i] != WORLD_PATTERN)
			return false;
	return true;
}

/* Packets are delivered, and both NICs run, until nothing is left or there were enough of them. */
static inline void world_deliver(unsigned int packets)
{
	for (unsigned int i = 0; i < packets && world.w->queue_count; i++) {
		fake_deliver(world.w, 0);
		world.w->event_count = 0;
	}
}

static inline void world_poll_cq(struct fake_cq *cq)
{
	struct fake_cqe cqe;

	for (int i = 0; i < 64 && cq->world && fake_poll(cq, &cqe) == 1; i++)
		;
}

static inline void world_poll(struct fake_qp *qp)
{
	world_poll_cq(&qp->send_cq);
	world_poll_cq(&qp->recv_cq);
	world_poll_cq(&world.xrc_cq);
}

/* A receive, wherever the queue pair takes its own from. */
static inline void world_receive(struct fake_qp *qp, struct fake_piece piece)
{
	if (qp->rq_count != 0)
		fake_receive(qp, &piece, 1);
	else if (qp->nic == world.srq.nic && world.srq.world)
		(void)fake_srq_post(&world.srq, piece);
}

/* An entry that makes something of a key of its NIC, mostly nearly right. */
static inline void world_umr(struct fuzz_in *in, struct fake_qp *qp)
{
	uint32_t nic = qp->nic;
	uint8_t how = fuzz_u8(in), kind = fuzz_u8(in), access = fuzz_u8(in);
	struct fake_region open = world.open[nic];
	uint32_t key = world.special[nic][how % WORLD_SPECIALS];
	struct fake_piece odd = {.len = (uint32_t)fuzz_odd(in)};
	struct fake_piece pieces[3] = {
	    {open.va, 64, open.key}, {open.va + 512, 32, open.key}, {open.va + 99, 1, open.key}};
	struct umr_wr wr;

	odd.va = world_va(in, nic);
	odd.key = world_key(in, nic);
	/* The rights of a list are its own: it would open what is closed. A window may not. */
	if (how % WORLD_SPECIALS == WORLD_LIST && odd.key >> 8 == world.closed[1].key >> 8 &&
	    nic == 1)
		odd.key = open.key;
	if (kind & 4)
		pieces[0] = odd;
	else if (kind & 8)
		pieces[1] = odd;
	wr = umr_list(key, access, pieces, 1 + (how >> 4 & 3) % 3);

	if (how % WORLD_SPECIALS != WORLD_LIST)
		wr = umr_bind(qp, key, (key & ~0xffu) | (kind & 3), how % WORLD_SPECIALS == 2,
			      pieces[0], access);
	if ((kind & 0x1c) == 0x1c)
		wr = umr_local_inv(key | (kind & 3));
	if (kind & 0x20)
		wr.flags ^= (uint8_t)(1u << (how >> 5));
	if (kind & 0x40)
		wr.mask ^= 1ull << fuzz_u8(in) % 64;
	if ((kind & 0x80) && how % WORLD_SPECIALS == WORLD_LIST) {
		wr.repeat = fuzz_u8(in);
		wr.strides[0] = fuzz_u8(in);
		wr.len = fuzz_odd(in);
	}
	if ((how & 0xc0) == 0xc0) {
		wr.flags &= (uint8_t)~UMR_INLINE_F;
		wr.list_va = open.va + WORLD_REGION_BYTES - (fuzz_u8(in) & 1 ? 256 : 4096);
		wr.list_key = open.key;
	}
	(void)umr_post(qp, &wr);
	/* Tags are the application's; follow those that it may have given. */
	if (how % WORLD_SPECIALS != WORLD_LIST && (kind & 0x1c) != 0x1c)
		world.special[nic][how % WORLD_SPECIALS] = (key & ~0xffu) | (kind & 3);
}

/* Bytes that arrive at NIC `nic` as they are, from its peer's address or (stray) by another way. */
static inline void world_inject(uint32_t nic, const uint8_t *bytes, size_t len, bool stray)
{
	static const uint8_t gids[2][16] = {{[10] = 0xff, [11] = 0xff, 127, 0, 0, 1},
					    {[10] = 0xff, [11] = 0xff, 127, 0, 0, 2}};
	bool local = world.w->alien == stray;
	struct nic_rx packet = {.bth = bytes,
				.len_bytes = len,
				.sgid = local ? NULL : gids[1 - nic],
				.dgid = local ? NULL : gids[nic],
				.traffic_class = world.w->window_bytes ? ROCE_ECN_CE : 0};

	nic_rx(world.w->nics[nic], &packet, world.w->now_ns);
	world_checked();
}

static inline void world_verdict(bool peer_is_ours)
{
	for (uint32_t nic = 0; nic < 2; nic++)
		FUZZ_CHECK(same_bytes(world.readable[nic].va, WORLD_REGION_BYTES));
	if (peer_is_ours)
		FUZZ_CHECK(same_bytes(world.closed[1].va, WORLD_REGION_BYTES));
	for (unsigned int i = 0; i < world.guard_count; i++)
		FUZZ_CHECK(same_bytes(world.guards[i], WORLD_GUARD_BYTES));
	for (uint32_t nic = 0; nic < 2; nic++) {
		const struct nic_counters *c = nic_counters(world.w->nics[nic]);

		FUZZ_CHECK(c->rx_drop_malformed + c->rx_drop_qpn + c->rx_drop_pkey +
			       c->rx_drop_state + c->rx_drop_address <=
			   c->rx_packets);
		FUZZ_CHECK(c->db_fault == 0 && c->mem_fault == 0);
	}
}

static inline void world_close(void)
{
	fake_world_free(world.w);
}

#endif
