/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: that messages of DC initiators, each to one of several targets, come in exactly once and
 * in order, whatever the wire loses, doubles and reorders, and also where receives are short; on a
 * network, too, that marks what it carries, while mappings come and go. How: two NICs of
 * tests/support/fake_nic.h in virtual time, and twenty seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/prng.h"
#include "nic/nic_priv.h"
#include "tests/support/fake_dc.h"
#include "tests/support/fake_net.h"

enum { SLOT_BYTES = 4096, MS = 1000000 };
enum { DCIS = 3, DCTS = 3, MESSAGES = 40 };

struct chance {
	struct fake_world *w;
	struct fake_region src;
	struct fake_region dst;
	struct fake_dct dcts[DCTS];
	struct fake_qp dcis[DCIS];
	uint32_t posted[DCIS];
	uint32_t done[DCIS];
	uint8_t target[DCIS][MESSAGES];
	uint32_t seen[DCIS]; /* the next message of that initiator that may come in */
	uint32_t mapping;    /* of the targets' port; 0: none */
	uint32_t marks;
};

static const struct nic_config config = {
    .qp_count_max = 4096,
    .cq_count_max = 64,
    .mkey_count_max = 64,
    .pd_count_max = 8,
    .srq_count_max = 8,
    .dc_responder_count_max = 16,
    .mtu_max_bytes = 4096,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
    .cc_algorithm = NIC_CC_DCQCN,
    .line_rate_bps = 10000000000ull,
};

/* Two hosts, instead of one port. */
static void make_network(struct fake_world *w)
{
	uint8_t gid[16];

	w->alien = true;
	w->window_bytes = 32 << 10;
	for (uint32_t i = 0; i < 2; i++) {
		fake_gid(w, gid, i);
		nic_gid_set(w->nics[i], 0, gid);
	}
}

/* Some packets are marked, and now and then the destination gets another algorithm. */
static void shake_network(struct chance *c, struct base_prng *prng)
{
	struct fake_world *w = c->w;
	struct nic_dest_key key = {.sl = 0};
	size_t i;

	if (w->queue_count != 0 && base_prng_below(prng, 3) == 0) {
		i = base_prng_below(prng, w->queue_count);
		if (w->queue[i]->path.ecn == ROCE_ECN_ECT_0) {
			fake_mark(w, i);
			c->marks++;
		}
	}
	if (base_prng_below(prng, 50) != 0)
		return;
	if (c->mapping != 0) {
		assert_int_equal(nic_dest_unmap(w->nics[0], c->mapping, w->now_ns), 0);
		c->mapping = 0;
		return;
	}
	fake_gid(w, key.dgid, 1);
	assert_int_equal(nic_dest_map(w->nics[0], &key,
				      (enum nic_cc_algorithm)base_prng_below(prng, NIC_CC_COUNT),
				      w->now_ns, &c->mapping),
			 0);
}

static void post_numbered(struct chance *c, struct base_prng *prng, uint32_t i)
{
	uint32_t to = (uint32_t)base_prng_below(prng, DCTS);
	/* Long ones are of several packets, and begin with their number, too. */
	uint32_t len = base_prng_below(prng, 4) == 0 ? 3000 : 8;
	uint64_t off = (i * MESSAGES + c->posted[i]) * SLOT_BYTES;
	struct fake_wr wr = {.to = &c->dcts[to].to,
			     .opcode = WQE_OP_SEND,
			     .signal = true,
			     .pieces = {{c->src.va + off, len, c->src.key}},
			     .piece_count = 1};
	uint32_t number[2] = {i, c->posted[i]};

	memcpy(fake_mem(c->w, c->src.va + off), number, sizeof(number));
	c->target[i][c->posted[i]++] = (uint8_t)to;
	fake_post(&c->dcis[i], &wr);
	fake_ring(&c->dcis[i]);
}

/* A receive, with a place of its own for each index of the ring. */
static void give(struct chance *c, uint32_t to)
{
	uint64_t slot = to * FAKE_DC_SRQ_COUNT + c->dcts[to].srq.head;

	fake_srq_post(&c->dcts[to].srq,
		      (struct fake_piece){c->dst.va + slot * SLOT_BYTES, SLOT_BYTES, c->dst.key});
}

/* What has come in at a target: each initiator's messages to it, in their order. */
static void take(struct chance *c, uint32_t to)
{
	struct fake_cqe cqe;
	uint32_t number[2];

	while (fake_poll(&c->dcts[to].qp.recv_cq, &cqe)) {
		uint64_t off = (to * FAKE_DC_SRQ_COUNT + cqe.wqe_counter) * SLOT_BYTES;

		assert_int_equal(cqe.opcode, CQE_RESP_SEND);
		memcpy(number, fake_mem(c->w, c->dst.va + off), sizeof(number));
		assert_true(number[0] < DCIS);
		assert_int_equal(cqe.flags_rqpn, c->dcis[number[0]].qpn);
		/* Exactly the next one: one session after the other, so over all targets. */
		assert_int_equal(number[1], c->seen[number[0]]);
		assert_int_equal(c->target[number[0]][number[1]], to);
		c->seen[number[0]]++;
		give(c, to);
	}
}

static void shake_wire(struct chance *c, struct base_prng *prng)
{
	struct fake_world *w = c->w;
	size_t i;

	if (w->queue_count == 0) {
		fake_advance(w, 20 * MS);
		return;
	}
	i = base_prng_below(prng, w->queue_count < 4 ? w->queue_count : 4);
	switch (base_prng_below(prng, 10)) {
	case 0:
		fake_drop(w, i);
		break;
	case 1:
	case 2:
		fake_deliver_copy(w, i);
		break;
	default:
		fake_deliver(w, i);
	}
}

/* Three initiators, three targets, and a wire that loses, doubles and reorders: each message comes
 * in exactly once, those of an initiator in their order, and each completes. */
static void exactly_once(uint64_t seed, bool network)
{
	struct fake_opts opts = {.timeout = 12, .cq_count_log2 = 10};
	struct chance c = {.w = fake_world_new(&config)};
	struct base_prng prng;
	uint32_t done = 0;
	int turns = 0;

	base_prng_seed(&prng, seed);
	/* The numbers of sessions begin again under way. */
	c.w->nics[0]->dc_session = ROCE_DC_SESSION_MASK - 20;
	if (network)
		make_network(c.w);
	c.src = fake_region(c.w, 0, 1 << 20, NIC_ACCESS_LOCAL_WRITE_F);
	c.dst = fake_region(c.w, 1, 1 << 20, NIC_ACCESS_LOCAL_WRITE_F);
	for (uint32_t i = 0; i < DCTS; i++) {
		fake_dct_make(c.w, &opts, &c.dcts[i]);
		/* Fewer than are sent: some find none. */
		for (int k = 0; k < 4; k++)
			give(&c, i);
	}
	for (uint32_t i = 0; i < DCIS; i++)
		fake_dci_make(c.w, &opts, &c.dcis[i]);
	while (done < DCIS * MESSAGES && ++turns < 100000) {
		uint32_t i = (uint32_t)base_prng_below(&prng, DCIS);
		struct fake_cqe cqe;

		if (c.posted[i] < MESSAGES && c.posted[i] - c.done[i] < 6)
			post_numbered(&c, &prng, i);
		for (int k = 0; k < 6; k++) {
			if (network)
				shake_network(&c, &prng);
			shake_wire(&c, &prng);
			for (uint32_t to = 0; to < DCTS; to++)
				take(&c, to);
		}
		while (fake_poll(&c.dcis[i].send_cq, &cqe)) {
			assert_int_equal(cqe.opcode, CQE_REQ);
			c.done[i]++;
			done++;
		}
	}
	assert_int_equal(done, DCIS * MESSAGES);
	for (uint32_t i = 0; i < DCIS; i++)
		assert_int_equal(c.seen[i], MESSAGES);
	assert_true(!network || c.marks > 10);
	nic_check(c.w->nics[0]);
	nic_check(c.w->nics[1]);
	fake_world_free(c.w);
}

static void exactly_once_by_chance(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		print_message("seed %llu\n", (unsigned long long)seed);
		exactly_once(seed, false);
	}
}

static void over_a_network_by_chance(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		print_message("seed %llu\n", (unsigned long long)seed);
		exactly_once(seed, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exactly_once_by_chance),
	    cmocka_unit_test(over_a_network_by_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
