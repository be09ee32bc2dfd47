/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: a queue pair begins with what the NIC offers and the port's default; a peer's word, taken
 * until it is ready to send, chooses its congestion control; a reset forgets it.
 * How: queue pairs of each type, made and modified by nic.h's calls, on a NIC that is told to offer
 * everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "abi/ece.h"
#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

#define SET(name) NIC_QP_SET_##name##_F

enum {
	ALL = 0x1a1007c3,         /* what the NIC offers here */
	CHOSE_DCQCN = 0x1a1007c1, /* answers */
	CHOSE_RTT = 0x1a2007c2,
};

struct world {
	struct bed b;
	struct nic *nic;
	uint32_t qpn;
};

static int open_world(void **state)
{
	static struct world world;

	world.b = bed_open(NULL);
	world.nic = world.b.w->nics[0];
	world.nic->ece_offer = ALL;
	world.nic->config.cc_algorithm = NIC_CC_DCQCN;
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	bed_close(&world->b);
	return 0;
}

static void make(struct world *world, enum nic_qp_type type, uint32_t ece)
{
	struct nic_qp_attr attr = {.type = type,
				   .pdn = world->b.w->sides[0].pdn,
				   .cqn_send = world->b.pair.a.send_cq.cqn,
				   .cqn_recv = world->b.pair.a.recv_cq.cqn,
				   .db_va = FAKE_BASE_VA,
				   .ece = ece};

	if (type == NIC_QP_XRC_INI)
		attr.cqn_recv = 0;
	assert_int_equal(nic_qp_create(world->nic, &attr, &world->qpn), 0);
}

/* One edge, with the attributes that any type may have there. word 0: the peer says nothing. */
static int edge(struct world *world, enum nic_qp_state to, uint32_t word)
{
	const struct nic_qp *qp = nic_qp_find(world->nic, world->qpn);
	bool ud = qp->type == NIC_QP_UD, rc = qp->type == NIC_QP_RC;
	bool acked = rc || qp->type == NIC_QP_XRC_INI;
	struct nic_qp_params params = {.set = SET(STATE),
				       .state = to,
				       .port = 1,
				       .ece = word,
				       .mtu_bytes = 1024,
				       .dest_qpn = 77};

	if (to == NIC_QP_INIT && qp->state == NIC_QP_RESET)
		params.set |= SET(PKEY_INDEX) | SET(PORT) | (ud ? SET(QKEY) : SET(ACCESS));
	if (to == NIC_QP_RTR && !ud)
		params.set |= SET(PATH) | SET(MTU) | SET(DEST_QPN) | SET(RQ_PSN);
	if (to == NIC_QP_RTR && rc)
		params.set |= SET(DEST_RD_ATOMIC) | SET(MIN_RNR_TIMER);
	if (to == NIC_QP_RTS && qp->state == NIC_QP_RTR)
		params.set |= SET(SQ_PSN);
	if (to == NIC_QP_RTS && qp->state == NIC_QP_RTR && acked)
		params.set |= SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(RD_ATOMIC);
	if (word != 0)
		params.set |= SET(ECE);
	return nic_qp_modify(world->nic, world->qpn, &params, 0);
}

static uint32_t word_of(struct world *world)
{
	struct nic_qp_params params;

	assert_int_equal(nic_qp_query(world->nic, world->qpn, &params), 0);
	return params.ece;
}

static int algorithm_of(struct world *world)
{
	return nic_qp_find(world->nic, world->qpn)->cc_algorithm;
}

static void expect(struct world *world, uint32_t word, enum nic_cc_algorithm algorithm)
{
	assert_int_equal(word_of(world), word);
	assert_int_equal(algorithm_of(world), algorithm);
}

static void at_creation(void **state)
{
	struct world *world = *state;

	make(world, NIC_QP_RC, 0x10000000);
	expect(world, ALL, NIC_CC_DCQCN);
	make(world, NIC_QP_RC, 0x1fffffff);
	expect(world, ALL, NIC_CC_DCQCN);
	make(world, NIC_QP_RC, 0);
	expect(world, 0, NIC_CC_DCQCN);
	make(world, NIC_QP_RC, 0x30000002);
	expect(world, 0, NIC_CC_DCQCN);
	world->nic->config.cc_algorithm = NIC_CC_NONE;
	make(world, NIC_QP_RC, 0x10000000);
	expect(world, ALL, NIC_CC_NONE);
}

/* Every type, every edge before sending: the word chooses. */
static void until_ready_to_send(void **state)
{
	static const struct {
		enum nic_qp_type type;
		uint32_t word;
		enum nic_cc_algorithm chosen;
		uint32_t answer;
	} rows[] = {
	    {NIC_QP_RC, 0x1a2007c3, NIC_CC_RTT, CHOSE_RTT},
	    {NIC_QP_RC, 0x1a1007c3, NIC_CC_DCQCN, CHOSE_DCQCN},
	    {NIC_QP_UC, 0x1a2007c3, NIC_CC_RTT, CHOSE_RTT},
	    {NIC_QP_UD, 0x1a2007c3, NIC_CC_RTT, CHOSE_RTT},
	    {NIC_QP_XRC_INI, 0x1a2007c3, NIC_CC_RTT, CHOSE_RTT},
	    /* Round trips without probes: only where there are acknowledgements. */
	    {NIC_QP_RC, 0x1a200643, NIC_CC_RTT, 0x1a200642},
	    {NIC_QP_XRC_INI, 0x1a200643, NIC_CC_RTT, 0x1a200642},
	    {NIC_QP_UC, 0x1a200643, NIC_CC_DCQCN, 0x1a100641},
	    {NIC_QP_UD, 0x1a200643, NIC_CC_DCQCN, 0x1a100641},
	    /* No congestion control is a choice, too. */
	    {NIC_QP_RC, 0x1a0007c0, NIC_CC_NONE, 0x1a0007c0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int at = NIC_QP_INIT; at <= NIC_QP_RTS; at++) {
			struct world *world = *state;

			print_message("row %zu, edge to %d\n", i, at);
			make(world, rows[i].type, 0x10000000);
			for (int to = NIC_QP_INIT; to < at; to++) {
				assert_int_equal(edge(world, (enum nic_qp_state)to, 0), 0);
				expect(world, ALL, NIC_CC_DCQCN);
			}
			assert_int_equal(edge(world, (enum nic_qp_state)at, rows[i].word), 0);
			for (int to = at + 1; to <= NIC_QP_RTS; to++)
				assert_int_equal(edge(world, (enum nic_qp_state)to, 0), 0);
			expect(world, rows[i].answer, rows[i].chosen);
		}
	}
}

/* A word that comes later than another replaces it, also between RTR and RTS. */
static void after_ready_to_receive(void **state)
{
	struct world *world = *state;

	make(world, NIC_QP_RC, 0x10000000);
	assert_int_equal(edge(world, NIC_QP_INIT, 0), 0);
	assert_int_equal(edge(world, NIC_QP_RTR, CHOSE_RTT), 0);
	expect(world, CHOSE_RTT, NIC_CC_RTT);
	assert_int_equal(edge(world, NIC_QP_RTS, CHOSE_DCQCN), 0);
	expect(world, CHOSE_DCQCN, NIC_CC_DCQCN);
}

/* Once it may send, the word stands; the modify itself succeeds. */
static void frozen_while_it_sends(void **state)
{
	static const enum nic_qp_state states[] = {NIC_QP_RTS, NIC_QP_SQD, NIC_QP_SQD, NIC_QP_RTS,
						   NIC_QP_ERR};
	struct world *world = *state;

	make(world, NIC_QP_RC, 0x10000000);
	assert_int_equal(edge(world, NIC_QP_INIT, CHOSE_RTT), 0);
	assert_int_equal(edge(world, NIC_QP_RTR, 0), 0);
	assert_int_equal(edge(world, NIC_QP_RTS, 0), 0);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		assert_int_equal(edge(world, states[i], CHOSE_DCQCN), 0);
		expect(world, CHOSE_RTT, NIC_CC_RTT);
	}
}

static void reset_forgets(void **state)
{
	struct world *world = *state;

	make(world, NIC_QP_RC, 0x10000000);
	assert_int_equal(edge(world, NIC_QP_INIT, CHOSE_RTT), 0);
	assert_int_equal(edge(world, NIC_QP_RESET, CHOSE_RTT), 0);
	expect(world, ALL, NIC_CC_DCQCN);
	assert_int_equal(edge(world, NIC_QP_INIT, CHOSE_RTT), 0);
	expect(world, CHOSE_RTT, NIC_CC_RTT);
	make(world, NIC_QP_UD, 0);
	assert_int_equal(edge(world, NIC_QP_INIT, CHOSE_RTT), 0);
	assert_int_equal(edge(world, NIC_QP_RESET, 0), 0);
	expect(world, 0, NIC_CC_DCQCN);
}

/* Nothing that a peer can say fails; what is not ours is as if nothing had been said. */
static void foreign_words(void **state)
{
	static const uint32_t words[] = {0xffffffff, 0x30000002, 0x10000000,
					 0x1b2007c2, 1,          0x1a200fc2};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		make(world, NIC_QP_RC, 0x10000000);
		assert_int_equal(edge(world, NIC_QP_INIT, CHOSE_RTT), 0);
		assert_int_equal(edge(world, NIC_QP_RTR, words[i]), 0);
		expect(world, 0, NIC_CC_DCQCN);
	}
}

static void a_failed_modify_changes_nothing(void **state)
{
	struct world *world = *state;

	make(world, NIC_QP_RC, 0x10000000);
	assert_int_equal(edge(world, NIC_QP_RTS, CHOSE_RTT), -EINVAL);
	expect(world, ALL, NIC_CC_DCQCN);
}

/* The bits that are ours stay at home: where cards may listen. */
static void plain(void **state)
{
	struct world *world = *state;

	world->nic->config.ece_plain = true;
	nic_ece_init(world->nic);
	make(world, NIC_QP_RC, 0x10000000);
	expect(world, 0x10000000, NIC_CC_DCQCN);
	assert_int_equal(edge(world, NIC_QP_INIT, CHOSE_RTT), 0);
	expect(world, 0, NIC_CC_DCQCN);
}

/* What this NIC offers by itself has the layout's form, and prefers the port's default if it can
 * do that. */
static void offer(void **state)
{
	struct world *world = *state;
	uint32_t bits[NIC_CC_COUNT] = {0, ECE_DCQCN_F, ECE_RTT_F};

	for (uint8_t i = 0; i < NIC_CC_COUNT; i++) {
		world->nic->config.cc_algorithm = i;
		nic_ece_init(world->nic);
		make(world, NIC_QP_RC, 0x10000000);
		assert_true(ece_is_own(word_of(world)));
		assert_int_equal(ece_algorithm(word_of(world)),
				 word_of(world) & bits[i] ? i : NIC_CC_NONE);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(at_creation),
	    TEST(until_ready_to_send),
	    TEST(after_ready_to_receive),
	    TEST(frozen_while_it_sends),
	    TEST(reset_forgets),
	    TEST(foreign_words),
	    TEST(a_failed_modify_changes_nothing),
	    TEST(plain),
	    TEST(offer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
