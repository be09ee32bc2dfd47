/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what a requester sends for each kind of entry, and that it arrives and completes.
 * How: two NICs of tests/support/fake_nic.h, packets looked at one by one or all let through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fake_nic.h"

#define LOCAL NIC_ACCESS_LOCAL_WRITE_F
#define REMOTE_ALL                                                                                 \
	(LOCAL | NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F)

struct bed {
	struct fake_world *w;
	struct fake_pair pair;
	struct fake_region src; /* NIC 0 */
	struct fake_region dst; /* NIC 1 */
};

static struct bed bed_open(const struct fake_opts *opts)
{
	struct bed bed = {.w = fake_world_new(NULL)};

	fake_pair_connect(bed.w, &bed.pair, opts);
	bed.src = fake_region(bed.w, 0, 1 << 20, LOCAL);
	bed.dst = fake_region(bed.w, 1, 1 << 20, REMOTE_ALL);
	for (size_t i = 0; i < bed.src.len; i++)
		((uint8_t *)fake_mem(bed.w, bed.src.va))[i] = (uint8_t)(i * 7 + (i >> 8));
	return bed;
}

static void expect_done(struct fake_cq *cq, uint8_t opcode, uint16_t index, uint32_t bytes)
{
	struct fake_cqe cqe;

	assert_int_equal(fake_poll(cq, &cqe), 1);
	assert_int_equal(cqe.opcode, opcode);
	assert_int_equal(cqe.wqe_counter, index);
	assert_int_equal(cqe.byte_cnt, bytes);
}

static void expect_none(struct fake_cq *cq)
{
	struct fake_cqe cqe;

	assert_int_equal(fake_poll(cq, &cqe), 0);
}

/* WRITE, READ and SEND of every length around packet borders move exactly the bytes asked for. */
static void lengths(void **state)
{
	static const uint32_t lens[] = {1, 3, 4, 255, 1023, 1024, 1025, 2048, 4097, 65536, 300001};
	struct bed b = bed_open(NULL);
	uint8_t *src = fake_mem(b.w, b.src.va), *dst = fake_mem(b.w, b.dst.va);

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint32_t len = lens[i];
		struct fake_wr wr = {.opcode = WQE_OP_WRITE, .signal = true, .piece_count = 1,
				     .pieces = {{b.src.va, len, b.src.key}},
				     .remote_va = b.dst.va, .rkey = b.dst.key};
		struct fake_piece receive = {b.dst.va, (uint32_t)b.dst.len, b.dst.key};
		uint16_t index;

		memset(dst, 0xee, b.dst.len);
		index = fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, len);
		assert_memory_equal(dst, src, len);
		assert_int_equal(dst[len], 0xee);

		memset(dst, 0xee, b.dst.len);
		fake_receive(&b.pair.b, &receive, 1);
		wr.opcode = WQE_OP_SEND;
		index = fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, len);
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, (uint16_t)i, len);
		assert_memory_equal(dst, src, len);
		assert_int_equal(dst[len], 0xee);

		wr.opcode = WQE_OP_READ;
		memset(src, 0, len);
		index = fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, len);
		assert_memory_equal(dst, src, len);
	}
	expect_none(&b.pair.a.send_cq);
	fake_world_free(b.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
