/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what a requester sends for each kind of entry: segmentation, limits, fence, local errors.
 * How: two NICs of tests/support/fake_nic.h, packets looked at one by one or all let through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static void check_write(struct bed *b, uint32_t len)
{
	memset(bed_dst(b), 0xee, b->dst.len);
	expect_none(&b->pair.a.send_cq);
	uint16_t index = bed_post(b, WQE_OP_WRITE, len);

	fake_settle(b->w);
	expect_done(&b->pair.a.send_cq, CQE_REQ, index, len);
	assert_memory_equal(bed_dst(b), bed_src(b), len);
	assert_int_equal(bed_dst(b)[len], 0xee);
}

static void check_send(struct bed *b, uint32_t len, uint16_t receive)
{
	memset(bed_dst(b), 0xee, b->dst.len);
	bed_receive(b, len + 1);
	uint16_t index = bed_post(b, WQE_OP_SEND, len);

	fake_settle(b->w);
	expect_done(&b->pair.a.send_cq, CQE_REQ, index, len);
	expect_done(&b->pair.b.recv_cq, CQE_RESP_SEND, receive, len);
	assert_memory_equal(bed_dst(b), bed_src(b), len);
	assert_int_equal(bed_dst(b)[len], 0xee);
}

static void check_read(struct bed *b, uint32_t len)
{
	memcpy(bed_dst(b), bed_src(b), len);
	memset(bed_src(b), 0, len);
	uint16_t index = bed_post(b, WQE_OP_READ, len);

	fake_settle(b->w);
	expect_done(&b->pair.a.send_cq, CQE_REQ, index, len);
	assert_memory_equal(bed_dst(b), bed_src(b), len);
}

/* WRITE, SEND and READ of every length around packet borders move exactly the bytes asked for. */
static void lengths(void **state)
{
	static const uint32_t lens[] = {1, 3, 4, 255, 1023, 1024, 1025, 2048, 4097, 65536, 300001};
	struct bed b = bed_open(NULL);

	(void)state;
	for (uint16_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		check_write(&b, lens[i]);
		check_send(&b, lens[i], i);
		check_read(&b, lens[i]);
	}
	expect_none(&b.pair.a.send_cq);
	bed_close(&b);
}

/* [cases 1] A message without bytes uses one PSN, carries nothing and needs no key. */
static void zero_length_takes_one_psn(void **state)
{
	static const struct {
		const char *name;
		enum wqe_opcode opcode;
		uint8_t packet;
	} rows[] = {
	    {"write", WQE_OP_WRITE, ROCE_OP_RC_WRITE_ONLY},
	    {"read", WQE_OP_READ, ROCE_OP_RC_READ_REQ},
	    {"send", WQE_OP_SEND, ROCE_OP_RC_SEND_ONLY},
	    {"write", WQE_OP_WRITE, ROCE_OP_RC_WRITE_ONLY},
	};
	struct bed b = bed_open(NULL);

	(void)state;
	bed_receive(&b, 64);
	for (uint32_t i = 0; i < 4; i++) {
		struct fake_wr wr = bed_wr(&b, rows[i].opcode, 0);
		uint16_t index;

		wr.rkey = 0xdead;
		index = fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		print_message("row: %s\n", rows[i].name);
		expect_packet(&b, rows[i].packet, 0x100 + i);
		assert_int_equal(fake_pkt(b.w, 0).payload_bytes, 0);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, 0);
	}
	bed_close(&b);
}

/* First, middle, last and only, with and without immediate data; AckReq and SE on the last. */
static void segmentation(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE_IMM, 700);
	struct roce_pkt pkt;

	(void)state;
	wr.imm = 0x11223344;
	wr.solicited = true;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	assert_int_equal(b.w->queue_count, 3);
	pkt = fake_pkt(b.w, 0);
	assert_int_equal(pkt.opcode, ROCE_OP_RC_WRITE_FIRST);
	assert_int_equal(pkt.reth.va, b.dst.va);
	assert_int_equal(pkt.reth.rkey, b.dst.key);
	assert_int_equal(pkt.reth.len_bytes, 700);
	assert_false(pkt.ack_req || pkt.se);
	pkt = fake_pkt(b.w, 1);
	assert_int_equal(pkt.opcode, ROCE_OP_RC_WRITE_MIDDLE);
	assert_int_equal(pkt.payload_bytes, 256);
	pkt = fake_pkt(b.w, 2);
	assert_int_equal(pkt.opcode, ROCE_OP_RC_WRITE_LAST_IMM);
	assert_int_equal(pkt.payload_bytes, 188);
	assert_int_equal(pkt.imm, 0x11223344);
	assert_true(pkt.ack_req && pkt.se);
	assert_int_equal(pkt.dqpn, b.pair.b.qpn);
	bed_close(&b);
}

/* A long message asks for an acknowledgement now and then, so that less is repeated after a loss.
 */
static void long_messages_ask_for_acknowledgements(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 40 * 256);
	assert_int_equal(b.w->queue_count, 40);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(fake_pkt(b.w, i).ack_req, i == 15 || i == 31 || i == 39);
	bed_close(&b);
}

/* Fields of the atomics on the wire: an add has nothing to compare. */
static void atomic_requests(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_ATOMIC_FA, 8);
	struct roce_pkt pkt;

	(void)state;
	wr.swap_add = 0x1112131415161718;
	wr.compare = 0x2122232425262728;
	fake_post(&b.pair.a, &wr);
	wr.opcode = WQE_OP_ATOMIC_CS;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	pkt = fake_pkt(b.w, 0);
	assert_int_equal(pkt.opcode, ROCE_OP_RC_FETCH_ADD);
	assert_int_equal(pkt.atomic.va, b.dst.va);
	assert_int_equal(pkt.atomic.rkey, b.dst.key);
	assert_int_equal(pkt.atomic.swap_add, wr.swap_add);
	assert_int_equal(pkt.atomic.compare, 0);
	assert_true(pkt.ack_req);
	pkt = fake_pkt(b.w, 1);
	assert_int_equal(pkt.opcode, ROCE_OP_RC_CMP_SWAP);
	assert_int_equal(pkt.atomic.swap_add, wr.swap_add);
	assert_int_equal(pkt.atomic.compare, wr.compare);
	bed_close(&b);
}

/* Scatter/gather: pieces of odd lengths, empty inline ones among them, come out as one message. */
static void pieces_are_gathered(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	uint8_t expected[3 + 500 + 257];
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 0);

	(void)state;
	wr.piece_count = 3;
	wr.pieces[0] = (struct fake_piece){b.src.va + 10, 3, b.src.key};
	wr.pieces[1] = (struct fake_piece){b.src.va + 1000, 500, b.src.key};
	wr.pieces[2] = (struct fake_piece){b.src.va + 50, 257, b.src.key};
	memcpy(expected, bed_src(&b) + 10, 3);
	memcpy(expected + 3, bed_src(&b) + 1000, 500);
	memcpy(expected + 503, bed_src(&b) + 50, 257);
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, sizeof(expected));
	assert_memory_equal(bed_dst(&b), expected, sizeof(expected));
	bed_close(&b);
}

/* [cases 3] Inline data of every length up to the largest entry, and across the ring's end. */
static void inline_data_at_every_place_of_the_ring(void **state)
{
	struct bed b = bed_open(NULL);
	uint32_t max =
	    NIC_WQE_BYTES_MAX - 16 - 16 - 16 - 4; /* ds 63: one unit less than 16 blocks */

	(void)state;
	for (uint32_t len = 1; len <= max; len += 31) {
		struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 0);
		uint16_t index;

		memset(bed_dst(&b), 0, 1024);
		wr.inline_data = bed_src(&b) + len;
		wr.inline_bytes = len;
		index = fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, index, len);
		assert_memory_equal(bed_dst(&b), bed_src(&b) + len, len);
		assert_int_equal(bed_dst(&b)[len], 0);
	}
	bed_close(&b);
}

/* [cases 4] The 16-bit counter wraps under entries of changing size, most of them unsignalled. */
static void counter_wraps(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.sq_count = 32});
	uint64_t blocks = 0;

	(void)state;
	for (uint32_t i = 0; blocks < 3 * 65536; i++) {
		struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 0);
		uint16_t before = b.pair.a.sq_pi;
		uint16_t index;

		wr.inline_data = bed_src(&b) + (i & 0xff);
		wr.inline_bytes = 1 + i % 900;
		wr.signal = i % 64 == 63;
		index = fake_post(&b.pair.a, &wr);
		blocks += (uint16_t)(b.pair.a.sq_pi - before);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		assert_memory_equal(bed_dst(&b), wr.inline_data, wr.inline_bytes);
		if (wr.signal)
			expect_done(&b.pair.a.send_cq, CQE_REQ, index, wr.inline_bytes);
		else
			expect_none(&b.pair.a.send_cq);
	}
	bed_close(&b);
}

/* [cases 16] PSNs go from 0xffffff to 0 in the middle of messages, in both directions. */
static void psn_wraps(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256, .psn_a = 0xfffffe});

	(void)state;
	check_write(&b, 5 * 256);
	bed_close(&b);
	b = bed_open(&(struct fake_opts){.mtu_bytes = 256, .psn_a = 0xfffffe});
	check_read(&b, 5 * 256 + 1);
	check_send(&b, 100, 0);
	bed_close(&b);
}

/* [cases 16] Queue pair numbers need all their 24 bits. */
static void numbers_over_16_bits(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	assert_true(b.pair.a.qpn > 0xffff && b.pair.b.qpn > 0xffff);
	bed_close(&b);
}

/* [cases 17] No more READs and atomics are out than the initiator was told. */
static void reads_are_limited(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.rd_atomic = 3});

	(void)state;
	for (int i = 0; i < 8; i++)
		bed_post(&b, WQE_OP_READ, 8);
	assert_int_equal(b.w->queue_count, 3);
	fake_deliver(b.w, 0);
	/* One answered: its response is behind the two others. */
	assert_int_equal(b.w->queue_count, 3);
	fake_deliver(b.w, 2);
	assert_int_equal(b.w->queue_count, 3);
	fake_settle(b.w);
	for (uint16_t i = 0; i < 8; i++)
		expect_done(&b.pair.a.send_cq, CQE_REQ, i, 8);
	bed_close(&b);
}

/* Without any right to READs, one fails; it does not wait for ever. */
static void read_without_resources_fails(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic_qp *qp = nic_qp_find(b.w->nics[0], b.pair.a.qpn);

	(void)state;
	qp->params.rd_atomic = 0;
	bed_post(&b, WQE_OP_READ, 8);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, CQE_SYND_LOCAL_QP_OP, 0);
	bed_close(&b);
}

/* A fenced entry waits for the READ before it, not for the SEND. */
static void fence_waits_for_reads(void **state)
{
	static const uint8_t modes[] = {WQE_FM_SMALL_FENCE, WQE_FM_FENCE, 2 << 5, 3 << 5};

	(void)state;
	for (size_t i = 0; i < sizeof(modes); i++) {
		struct bed b = bed_open(NULL);
		struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

		wr.fence = modes[i];
		bed_post(&b, WQE_OP_WRITE, 8);
		fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		assert_int_equal(b.w->queue_count, 2);
		fake_settle(b.w);
		bed_post(&b, WQE_OP_READ, 8);
		fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		assert_int_equal(b.w->queue_count, 1);
		expect_packet(&b, ROCE_OP_RC_READ_REQ, 0x102);
		fake_deliver(b.w, 0);
		expect_packet(&b, ROCE_OP_RC_READ_RESP_ONLY, 0x102);
		fake_deliver(b.w, 0);
		expect_packet(&b, ROCE_OP_RC_WRITE_ONLY, 0x103);
		bed_close(&b);
	}
}

/* NOPs complete in order, without a packet. */
static void nop_completes_in_order(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	bed_post(&b, WQE_OP_NOP, 0);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 0);
	bed_post(&b, WQE_OP_WRITE, 8);
	bed_post(&b, WQE_OP_NOP, 0);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(b.w->queue_count, 1);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 8);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 2, 0);
	bed_close(&b);
}

/* The window: no more than NIC_OPS operations are out; the rest goes as they complete. */
static void operations_are_bounded(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.sq_count = 256});

	(void)state;
	for (int i = 0; i < NIC_OPS + 10; i++) {
		struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

		fake_post(&b.pair.a, &wr);
	}
	fake_ring(&b.pair.a);
	assert_int_equal(b.w->queue_count, NIC_OPS);
	fake_settle(b.w);
	for (uint16_t i = 0; i < NIC_OPS + 10; i++)
		expect_done(&b.pair.a.send_cq, CQE_REQ, i, 8);
	bed_close(&b);
}

/* A wire without room stops a message between packets; it goes on when there is some. */
static void full_wire(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	b.w->room = 2;
	bed_post(&b, WQE_OP_WRITE, 5000);
	assert_int_equal(b.w->queue_count, 2);
	assert_int_equal(fake_run(b.w, 0), NIC_BLOCKED);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 5000);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 5000);
	bed_close(&b);
}

/* A path with a bound has no more packets under way than it, and the last of them asks for the
 * acknowledgement that opens it again. */
static void window_bounds_what_is_under_way(void **state)
{
	struct bed b = bed_with_window(4096, NULL); /* four packets of 1,024 bytes */

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 10000);
	assert_int_equal(b.w->queue_count, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(be32_load(b.w->queue[i]->bytes + 8) >> 31, i == 3);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 10000);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 10000);
	bed_close(&b);
}

/* What was lost of a full window is sent again within it. */
static void window_and_loss(void **state)
{
	struct bed b = bed_with_window(4096, NULL);

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 10000);
	while (b.w->queue_count)
		fake_drop(b.w, 0);
	fake_advance(b.w, 68000000);
	assert_int_equal(b.w->queue_count, 4);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 10000);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 10000);
	bed_close(&b);
}

/* A READ is asked for by halves of the window, of which two are under way, also after a loss; with
 * a single READ allowed, one. */
static void window_divides_reads(void **state)
{
	static const struct {
		const char *name;
		uint32_t rd_atomic;
		uint32_t requests;
	} rows[] = {{"sixteen READs allowed", 16, 2}, {"one READ allowed", 1, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_with_window(4096, &(struct fake_opts){
							 .rd_atomic = rows[i].rd_atomic,
							 .dest_rd_atomic = rows[i].rd_atomic});

		print_message("%s\n", rows[i].name);
		memcpy(bed_dst(&b), bed_src(&b), 9000);
		memset(bed_src(&b), 0, 9000);
		bed_post(&b, WQE_OP_READ, 9000);
		assert_int_equal(b.w->queue_count, rows[i].requests);
		expect_packet(&b, ROCE_OP_RC_READ_REQ, 0x100);
		assert_int_equal(be32_load(b.w->queue[0]->bytes + 12 + 12), 2048);
		fake_deliver(b.w, 0);
		/* The second half of the first piece is lost. */
		assert_true(b.w->queue_count >= 2);
		fake_drop(b.w, b.w->queue_count - 1);
		fake_settle(b.w);
		fake_advance(b.w, 68000000);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 9000);
		assert_memory_equal(bed_src(&b), bed_dst(&b), 9000);
		bed_close(&b);
	}
}

/* A doorbell record that says more than the ring holds, or that is gone, is fatal to the queue
 * pair. */
static void bad_record(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4 * DB_SEND, 65);
	nic_scan(b.w->nics[0], b.w->now_ns);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_ERR);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_FATAL), 1);
	assert_int_equal(b.w->queue_count, 0);
	bed_close(&b);

	b = bed_open(NULL);
	fake_fault(b.w, b.pair.a.db_va, 8);
	nic_scan(b.w->nics[0], b.w->now_ns);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_ERR);
	nic_scan(b.w->nics[0], b.w->now_ns);
	nic_scan(b.w->nics[0], b.w->now_ns);
	assert_int_equal(fake_events(b.w, 0, NIC_EVENT_QP_FATAL), 1);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lengths),
	    cmocka_unit_test(zero_length_takes_one_psn),
	    cmocka_unit_test(segmentation),
	    cmocka_unit_test(long_messages_ask_for_acknowledgements),
	    cmocka_unit_test(atomic_requests),
	    cmocka_unit_test(pieces_are_gathered),
	    cmocka_unit_test(inline_data_at_every_place_of_the_ring),
	    cmocka_unit_test(counter_wraps),
	    cmocka_unit_test(psn_wraps),
	    cmocka_unit_test(numbers_over_16_bits),
	    cmocka_unit_test(reads_are_limited),
	    cmocka_unit_test(read_without_resources_fails),
	    cmocka_unit_test(fence_waits_for_reads),
	    cmocka_unit_test(nop_completes_in_order),
	    cmocka_unit_test(operations_are_bounded),
	    cmocka_unit_test(full_wire),
	    cmocka_unit_test(window_bounds_what_is_under_way),
	    cmocka_unit_test(window_and_loss),
	    cmocka_unit_test(window_divides_reads),
	    cmocka_unit_test(bad_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
