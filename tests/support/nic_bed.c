/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_bed.c - see nic_bed.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/nic_bed.h"

enum { REGION_BYTES = 1 << 20 };

struct bed bed_open(const struct fake_opts *opts)
{
	return bed_with_window(0, opts);
}

struct bed bed_with_window(uint32_t window_bytes, const struct fake_opts *opts)
{
	struct bed b = {.w = fake_world_new(NULL)};

	b.w->window_bytes = window_bytes;
	fake_pair_connect(b.w, &b.pair, opts);
	b.src = fake_region(b.w, 0, REGION_BYTES, BED_LOCAL);
	b.dst = fake_region(b.w, 1, REGION_BYTES, BED_ALL);
	for (uint32_t i = 0; i < REGION_BYTES; i++)
		bed_src(&b)[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	return b;
}

void bed_close(struct bed *b)
{
	fake_world_free(b->w);
}

uint8_t *bed_src(struct bed *b)
{
	return fake_mem(b->w, b->src.va);
}

uint8_t *bed_dst(struct bed *b)
{
	return fake_mem(b->w, b->dst.va);
}

struct fake_wr bed_wr(const struct bed *b, enum wqe_opcode opcode, uint32_t len)
{
	return (struct fake_wr){.opcode = opcode,
				.signal = true,
				.pieces = {{b->src.va, len, b->src.key}},
				.piece_count = len != 0 && opcode != WQE_OP_NOP,
				.remote_va = b->dst.va,
				.rkey = b->dst.key};
}

uint16_t bed_post(struct bed *b, enum wqe_opcode opcode, uint32_t len)
{
	struct fake_wr wr = bed_wr(b, opcode, len);
	uint16_t index = fake_post(&b->pair.a, &wr);

	fake_ring(&b->pair.a);
	return index;
}

void bed_receive(struct bed *b, uint32_t len)
{
	struct fake_piece piece = {b->dst.va, len, b->dst.key};

	fake_receive(&b->pair.b, &piece, 1);
}

uint8_t bed_payload[8192];

struct roce_pkt bed_request(const struct bed *b, uint8_t opcode, uint32_t psn, uint32_t len)
{
	return (struct roce_pkt){.opcode = opcode,
				 .psn = psn,
				 .pkey = 0xffff,
				 .ack_req = true,
				 .dqpn = b->pair.b.qpn,
				 .payload = bed_payload,
				 .payload_bytes = len,
				 .pad_bytes = (uint8_t)roce_pad_bytes(len),
				 .reth = {b->dst.va, b->dst.key, len},
				 .atomic = {.va = b->dst.va, .rkey = b->dst.key, .swap_add = 1}};
}

void bed_send_request(struct bed *b, uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct roce_pkt pkt = bed_request(b, opcode, psn, len);

	fake_send(b->w, 1, &pkt);
}

void expect_done(struct fake_cq *cq, uint8_t opcode, uint16_t index, uint32_t byte_cnt)
{
	struct fake_cqe cqe;

	assert_int_equal(fake_poll(cq, &cqe), 1);
	assert_int_equal(cqe.opcode, opcode);
	assert_int_equal(cqe.wqe_counter, index);
	assert_int_equal(cqe.byte_cnt, byte_cnt);
}

void expect_error(struct fake_cq *cq, uint8_t opcode, uint16_t index, uint8_t syndrome,
		  uint8_t vendor)
{
	struct fake_cqe cqe;

	assert_int_equal(fake_poll(cq, &cqe), 1);
	assert_int_equal(cqe.opcode, opcode);
	assert_int_equal(cqe.wqe_counter, index);
	assert_int_equal(cqe.syndrome, syndrome);
	assert_int_equal(cqe.vendor, vendor);
}

void expect_none(struct fake_cq *cq)
{
	struct fake_cqe cqe;

	assert_int_equal(fake_poll(cq, &cqe), 0);
}

void expect_packet(struct bed *b, uint8_t opcode, uint32_t psn)
{
	struct roce_pkt pkt = fake_pkt(b->w, 0);

	assert_int_equal(pkt.opcode, opcode);
	assert_int_equal(pkt.psn, psn);
}

void expect_answer(struct bed *b, uint8_t syndrome, uint32_t psn)
{
	expect_packet(b, ROCE_OP_RC_ACK, psn);
	assert_int_equal(fake_pkt(b->w, 0).aeth.syndrome, syndrome);
}
