/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_world.h - two NICs with a connected queue pair each (tests/support/fake_nic.h), and memory
 * that nothing may change: what the targets of the core start from.
 *
 * NIC 1 is the victim of packets, NIC 0 of entries. Each has a region `open` that its peer may do
 * everything to; `readable`, which may only be read; and `closed`, which only its own entries may
 * name. The guards lie between all of them and are registered nowhere.
 *
 * nic_check runs on both NICs after every step. world_verdict: readable regions, closed regions of
 * NIC 1 (nobody posts there) and guards are as they were, and the counters add up.
 */
#ifndef TESTS_FUZZ_FUZZ_WORLD_H
#define TESTS_FUZZ_FUZZ_WORLD_H

#include "base/be.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/fake_nic.h"

#include <stdbool.h>

enum {
	WORLD_REGION_BYTES = 8192,
	WORLD_GUARD_BYTES = 256,
	WORLD_GUARDS_MAX = 16,
	WORLD_PATTERN = 0xe7,
	WORLD_STEP_PACKETS = 64,
};

struct fuzz_world {
	struct fake_world *w;
	struct fake_pair pair;
	struct fake_region open[2], readable[2], closed[2];
	uint64_t guards[WORLD_GUARDS_MAX];
	unsigned int guard_count;
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

/* The first bytes of the input say how the pair is set up. */
static inline void world_open(struct fuzz_in *in)
{
	static const struct nic_config config = {.qp_count_max = 4096,
						 .cq_count_max = 16,
						 .mkey_count_max = 16,
						 .pd_count_max = 4,
						 .mtu_max_bytes = 4096,
						 .rd_atomic_max = 16,
						 .message_max_bytes_log2 = 31};
	static const uint32_t psns[] = {0x100, 0xfffffe, 0x7fffff, 0};
	uint8_t how = fuzz_u8(in);
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
		       NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F;

	memset(&world, 0, sizeof(world));
	world.w = fake_world_new(&config);
	world.w->alien = how & 1;
	world_guard();
	fake_pair_connect(world.w, &world.pair, &opts);
	world_guard();
	for (uint32_t nic = 0; nic < 2; nic++) {
		world.open[nic] = world_region(nic, all);
		world.readable[nic] = world_region(nic, NIC_ACCESS_REMOTE_READ_F);
		world.closed[nic] = world_region(nic, NIC_ACCESS_LOCAL_WRITE_F);
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

static inline void world_poll(struct fake_qp *qp)
{
	struct fake_cqe cqe;

	for (int i = 0; i < 64 && fake_poll(&qp->send_cq, &cqe) == 1; i++)
		;
	for (int i = 0; i < 64 && fake_poll(&qp->recv_cq, &cqe) == 1; i++)
		;
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
				.dgid = local ? NULL : gids[nic]};

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
