/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that no packet, ring, record or order of calls makes the NIC crash, hang or break its
 * invariants. By random nonsense from seeds, near enough to sense to get past the first checks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/mlx5_cqe.h"
#include "abi/roce_pkt.h"
#include "base/assert.h"
#include "base/prng.h"
#include "tests/support/history.h"
#include "tests/support/history_impl.h"

enum {
	SEEDS = 150,
	ACTIONS = 1500,
};

static uint64_t seed;
static struct base_prng prng;
static uint16_t done_wqebb; /* the newest send completion's index */
static uint32_t answer_percent; /* of the packets of this world */

_Noreturn void base_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "seed %llu: %s:%d: broken: %s\n", (unsigned long long)seed, file, line,
		expr);
	abort();
}

static uint64_t below(uint64_t bound)
{
	return base_prng_below(&prng, bound);
}

static bool chance(uint32_t percent)
{
	return base_prng_chance(&prng, percent * 10000);
}

/* Small numbers, edges and anything, in that order of likelihood. */
static uint64_t odd_number(void)
{
	static const uint64_t edges[] = {0,	     1,		 0xffff,     0x10000,	0x7fffffff,
					 0x80000000, 0x80000001, 0xffffffff, 0xffffff,	0x800000};

	if (chance(60))
		return below(2000);
	if (chance(70))
		return edges[below(sizeof(edges) / sizeof(edges[0]))];
	return base_prng_u64(&prng);
}

static uint64_t odd_address(const struct history *h)
{
	if (chance(70))
		return h->data_va + below(HISTORY_DATA_BYTES);
	if (chance(50))
		return h->data_va + HISTORY_DATA_BYTES - below(64);
	return base_prng_u64(&prng);
}

static uint32_t odd_key(const struct history *h)
{
	uint32_t key = h->keys[below(h->key_count)].key;

	return chance(80) ? key : key ^ (uint32_t)odd_number();
}

/* ---- packets ---- */

/* Mostly the expected one of a request, and one that may be outstanding of an answer. */
static uint32_t odd_psn(struct history *h, uint8_t opcode)
{
	struct nic_qp_params params;
	uint64_t psn;

	if (chance(3) || nic_qp_query(h->nic, h->qp.qpn, &params) != 0)
		return (uint32_t)below(1 << 24);
	psn = roce_opcode_is_request(opcode) ? params.rq_psn : params.sq_psn - 1 - below(6);
	if (chance(20))
		psn += below(5) - below(5);
	return (uint32_t)psn & 0xffffff;
}

static uint8_t odd_rc_opcode(void)
{
	if (chance(2))
		return (uint8_t)below(256);
	if (!chance(answer_percent))
		return (uint8_t)(chance(85) ? below(ROCE_OP_RC_READ_RESP_FIRST)
					    : ROCE_OP_RC_CMP_SWAP + below(2));
	return (uint8_t)(chance(60) ? ROCE_OP_RC_ACK
				    : ROCE_OP_RC_READ_RESP_FIRST + below(6));
}

static uint8_t odd_syndrome(void)
{
	if (chance(60))
		return ROCE_SYNDROME_ACK;
	if (chance(40))
		return (uint8_t)(ROCE_SYNDROME_RNR + 1 + below(5));
	return chance(50) ? ROCE_NAK_PSN_SEQUENCE : (uint8_t)below(256);
}

static void odd_packet(struct history *h)
{
	uint8_t bytes[ROCE_HEADERS_MAX_BYTES + 4096 + 8];
	struct roce_pkt pkt = {
		.opcode = odd_rc_opcode(),
		.se = chance(20),
		.ack_req = chance(60),
		.pkey = chance(99) ? 0xffff : (uint16_t)odd_number(),
		.dqpn = chance(97) ? h->qp.qpn : (uint32_t)odd_number(),
		.aeth = {(uint32_t)below(100), odd_syndrome()},
		.atomic = {odd_address(h) & ~(chance(80) ? 7ull : 0), odd_number(), odd_number(),
			   odd_key(h)},
		.imm = (uint32_t)odd_number(),
	};
	struct nic_rx rx = {.bth = bytes};
	size_t at;

	base_prng_fill(&prng, bytes, sizeof(bytes));
	pkt.psn = odd_psn(h, pkt.opcode);
	pkt.payload_bytes = (uint32_t)(chance(50) ? h->params.mtu_bytes : below(4097));
	pkt.pad_bytes = (uint8_t)(chance(95) ? roce_pad_bytes(pkt.payload_bytes) : below(4));
	pkt.reth.va = odd_address(h);
	pkt.reth.rkey = odd_key(h);
	pkt.reth.len_bytes = (uint32_t)(chance(60) ? pkt.payload_bytes : odd_number());
	at = roce_pkt_encode_headers(bytes, sizeof(bytes), &pkt);
	if (at == 0)
		at = ROCE_BTH_BYTES;
	if (chance(4))
		bytes[below(at)] ^= (uint8_t)(1 << below(8));
	rx.len_bytes = at;
	if (roce_opcodes[pkt.opcode].payload != ROCE_PAYLOAD_NONE || chance(5))
		rx.len_bytes += pkt.payload_bytes + pkt.pad_bytes;
	rx.len_bytes -= chance(2) ? below(rx.len_bytes) : 0;
	rx.sgid = chance(98) ? h->params.path.dgid : NULL;
	rx.dgid = chance(98) ? h->params.path.sgid : NULL;
	nic_rx(h->nic, &rx, h->now_ns);
}

/* ---- rings ---- */

static void odd_words(struct history *h, uint64_t va, size_t len_bytes)
{
	uint8_t *at = sim_memory_at(&h->memory, va, len_bytes);

	if (at)
		base_prng_fill(&prng, at, len_bytes);
}

static enum wqe_opcode odd_opcode(void)
{
	static const enum wqe_opcode opcodes[] = {
		WQE_OP_WRITE, WQE_OP_WRITE_IMM, WQE_OP_SEND,   WQE_OP_SEND_IMM, WQE_OP_READ,
		WQE_OP_NOP,   WQE_OP_ATOMIC_CS, WQE_OP_ATOMIC_FA, WQE_OP_UMR,
	};

	return opcodes[below(sizeof(opcodes) / sizeof(opcodes[0]))];
}

/* A piece that is right, more often than not. */
static struct sim_piece odd_piece(const struct history *h)
{
	if (chance(80))
		return (struct sim_piece){h->data_va + below(HISTORY_DATA_BYTES / 2),
					  (uint32_t)below(3000) + 1, h->keys[0].key};
	return (struct sim_piece){odd_address(h), (uint32_t)odd_number(), odd_key(h)};
}

static void odd_entry(struct history *h)
{
	struct sim_wqe wqe = {
		.opcode = odd_opcode(),
		.signal = chance(80),
		.fence = chance(20),
		.is_inline = chance(20),
		.remote_va = odd_address(h),
		.rkey = odd_key(h),
		.piece_count = (uint32_t)(chance(80) ? below(3) : below(SIM_PIECES_MAX)),
		.inline_len_bytes = (uint32_t)below(SIM_INLINE_BYTES_MAX),
	};
	uint64_t slot_va;

	for (uint32_t i = 0; i < wqe.piece_count; i++)
		wqe.pieces[i] = odd_piece(h);
	if (wqe.opcode == WQE_OP_ATOMIC_CS || wqe.opcode == WQE_OP_ATOMIC_FA) {
		wqe.piece_count = 1;
		wqe.pieces[0] = (struct sim_piece){h->data_va, 8, h->keys[0].key};
	}
	/* A ring that is overfilled is a mistake too, but a rare one. */
	if ((uint16_t)(h->qp.sq_wqebb_posted - done_wqebb) + 6u > h->qp.sq_wqebb_count &&
	    !chance(2))
		return;
	slot_va = h->qp.sq_va + (uint64_t)(h->qp.sq_wqebb_posted % h->qp.sq_wqebb_count) * 64;
	sim_qp_post(&h->qp, &wqe);
	if (chance(8))
		odd_words(h, slot_va + below(64), 1);
	if (chance(2))
		odd_words(h, slot_va, 64);
}

static void odd_ring(struct history *h)
{
	uint64_t word = h->qp.register_word;

	sim_qp_store_record(&h->qp);
	if (chance(3))
		odd_words(h, h->qp.db_va + 4, 4);
	if (chance(5))
		word = base_prng_u64(&prng);
	if (chance(70))
		nic_doorbell(h->nic, word, h->now_ns);
	else
		nic_scan(h->nic, h->now_ns);
}

static void odd_receive(struct history *h)
{
	struct sim_piece pieces[2];
	uint32_t count = (uint32_t)below(3);

	for (uint32_t i = 0; i < count; i++)
		pieces[i] = odd_piece(h);
	sim_qp_receive(&h->qp, pieces, count);
	if (chance(3))
		odd_words(h, h->qp.rq_va, 64);
	if (chance(2))
		odd_words(h, h->qp.db_va, 4);
}

/* ---- everything else ---- */

static void odd_completion_queue(struct history *h)
{
	struct sim_cqe cqe;

	if (chance(80)) {
		while (sim_cq_poll(&h->cq, &cqe)) {
			sim_cq_consume(&h->cq);
			if (cqe.opcode == CQE_REQ)
				done_wqebb = cqe.wqe_counter;
		}
		return;
	}
	if (chance(20))
		odd_words(h, h->cq.db_va, 8);
	else
		sim_cq_arm(&h->cq, chance(50));
	if (chance(50))
		nic_cq_arm(h->nic, (uint32_t)(chance(90) ? h->cq.cqn : odd_number()), h->now_ns);
	else
		nic_cq_scan(h->nic, h->now_ns);
}

static void revive(struct history *h)
{
	static const enum nic_qp_state states[] = {NIC_QP_RESET, NIC_QP_INIT, NIC_QP_RTR,
						   NIC_QP_RTS};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct nic_qp_params params = h->params;

		params.state = states[i];
		params.set = i == 0 ? NIC_QP_SET_STATE_F : UINT32_MAX & ~NIC_QP_SET_CUR_STATE_F;
		params.set &= (NIC_QP_SET_CUR_STATE_F << 1) - 1;
		if (nic_qp_modify(h->nic, h->qp.qpn, &params, h->now_ns) != 0)
			history_modify(h, states[i], 0);
		if (i != 0)
			continue;
		sim_qp_restart(&h->qp);
		done_wqebb = 0;
	}
}

static void odd_control(struct history *h)
{
	struct nic_qp_params params = h->params;

	if (chance(40)) {
		revive(h);
		return;
	}
	if (chance(30)) {
		h->memory.hole_va = odd_address(h);
		h->memory.hole_len_bytes = chance(50) ? 0 : below(100000);
		return;
	}
	if (chance(10)) {
		nic_mkey_destroy(h->nic, odd_key(h));
		return;
	}
	params.state = (enum nic_qp_state)below(NIC_QP_STATE_COUNT);
	params.set = (uint32_t)base_prng_u64(&prng) & ((NIC_QP_SET_CUR_STATE_F << 1) - 1);
	params.mtu_bytes = (uint32_t)(chance(50) ? 256u << below(5) : odd_number());
	params.timeout = (uint8_t)below(33);
	params.retry_count = (uint8_t)below(9);
	nic_qp_modify(h->nic, h->qp.qpn, &params, h->now_ns);
}

static void pass(struct history *h)
{
	struct nic_budget budget = {(uint32_t)below(20), (uint32_t)below(10000)};

	h->now_ns += chance(30) ? odd_number() % 100000000 : below(1000);
	h->wire_room = chance(10) ? below(3) : UINT64_MAX;
	h->untaken = chance(10);
	nic_run(h->nic, &budget, h->now_ns);
}

static void act(struct history *h)
{
	uint64_t kind = below(100);
	struct nic_qp_params params;

	/* Most nonsense is deadly: back to life, or the rest would only meet the dead. */
	if (nic_qp_query(h->nic, h->qp.qpn, &params) == 0 && params.state != NIC_QP_RTS &&
	    chance(20))
		revive(h);
	if (kind < 45)
		odd_packet(h);
	else if (kind < 57)
		odd_entry(h);
	else if (kind < 67)
		odd_ring(h);
	else if (kind < 74)
		odd_receive(h);
	else if (kind < 81)
		odd_completion_queue(h);
	else if (kind < 82)
		odd_control(h);
	else
		pass(h);
	nic_check(h->nic);
	h->event_count = 0;
	if (h->sent_count > HISTORY_SENT_MAX / 2)
		history_step(h, "clear");
}

/* What has happened in all worlds together, so that it is known that the nonsense got somewhere. */
static struct nic_counters total;

static void count(const struct history *h)
{
	const struct nic_counters *counters = nic_counters(h->nic);

#define X(name) total.name += counters->name;
	NIC_COUNTERS(X)
#undef X
}

static void check_depth(void)
{
#define X(name) printf(#name " %llu\n", (unsigned long long)total.name);
	NIC_COUNTERS(X)
#undef X
	assert_true(total.tx_ack > SEEDS && total.tx_nak_sequence > SEEDS);
	assert_true(total.tx_nak_invalid > SEEDS && total.tx_nak_access > SEEDS);
	assert_true(total.tx_rnr > SEEDS && total.tx_nak_operational > SEEDS / 4);
	assert_true(total.rx_nak > SEEDS && total.rx_rnr > SEEDS / 2);
	assert_true(total.req_cqe_error > SEEDS && total.resp_cqe_error > SEEDS);
	assert_true(total.cq_overrun > SEEDS / 8 && total.mem_fault > SEEDS / 8);
}

static void nonsense_does_no_harm(void **state)
{
	char setup[96];

	(void)state;
	printf("seeds 1 to %d\n", SEEDS);
	for (seed = 1; seed <= SEEDS; seed++) {
		struct history *h;

		base_prng_seed(&prng, seed);
		answer_percent = (uint32_t)(seed % 3) * 48;
		done_wqebb = 0;
		snprintf(setup, sizeof(setup),
			 "setup mtu=%u sq=%u rq=%u cq_log2=%u rd=%u timeout=4", 256u << below(3),
			 16u << below(3), 4u << below(3), (unsigned int)(3 + below(5)),
			 (unsigned int)(1 + below(16)));
		h = history_open(setup);
		for (int i = 0; i < ACTIONS; i++)
			act(h);
		h->wire_room = UINT64_MAX;
		history_run(h);
		count(h);
		history_drop(h);
	}
	check_depth();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsense_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
