/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: acknowledgement, refusal, loss and silence at the requester; each error completion's
 * status. How: two NICs of tests/support/fake_nic.h; the test drops, doubles and forges packets,
 * and moves time.
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

#define TIMEOUT_NS (4096ull << 14)

/* ---- local errors: nothing of the entry is on the wire --------------------------------------- */

/* [cx6-syndromes] Each thing that is wrong with an entry, and what its completion says. */
static void local_errors(void **state)
{
	static const struct {
		const char *name;
		enum wqe_opcode opcode;
		uint32_t key_change;
		uint64_t va_change;
		uint32_t len;
		uint8_t syndrome;
		uint8_t vendor;
	} rows[] = {
	    {"runs past its region", WQE_OP_WRITE, 0, (1 << 20) - 8, 9, 0x04, 0x53},
	    {"before its region", WQE_OP_SEND, 0, (uint64_t)-64, 4, 0x04, 0x53},
	    {"far away", WQE_OP_WRITE, 0, (uint64_t)-4096 - FAKE_BASE_VA, 16, 0x04, 0x53},
	    {"wrong tag", WQE_OP_WRITE, 1, 0, 8, 0x04, 0x52},
	    {"no such key", WQE_OP_READ, 0x80000, 0, 8, 0x04, 0x52},
	    {"read past its region", WQE_OP_READ, 0, (1 << 20) - 4, 8, 0x04, 0x53},
	    {"atomic of 4 bytes", WQE_OP_ATOMIC_FA, 0, 0, 4, 0x01, 0},
	    {"opcode we do not know", WQE_OP_TSO, 0, 0, 8, 0x02, 0},
	    {"opcode nobody knows", (enum wqe_opcode)0x77, 0, 0, 8, 0x02, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(NULL);
		struct fake_wr wr = bed_wr(&b, rows[i].opcode, rows[i].len);

		print_message("row: %s\n", rows[i].name);
		wr.pieces[0].key ^= rows[i].key_change;
		wr.pieces[0].va += rows[i].va_change;
		fake_post(&b.pair.a, &wr);
		bed_post(&b, WQE_OP_WRITE, 8);
		assert_int_equal(b.w->queue_count, 0);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, rows[i].syndrome, rows[i].vendor);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x05, 0xf5);
		assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_ERR);
		assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
		bed_close(&b);
	}
}

/* An error waits for what was sent before it. */
static void error_completes_in_order(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr bad = bed_wr(&b, WQE_OP_WRITE, 8);

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	bad.pieces[0].key ^= 1;
	fake_post(&b.pair.a, &bad);
	fake_ring(&b.pair.a);
	expect_none(&b.pair.a.send_cq);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x04, 0x52);
	bed_close(&b);
}

/* Every way in which an entry can be misshapen is a local queue pair operation error, not a crash.
 */
static void misshapen_entries(void **state)
{
	static const struct {
		const char *name;
		uint8_t ds;
		uint32_t first_word; /* of the data segment; 0: leave it */
		uint8_t syndrome;
	} rows[] = {
	    {"no length", 0, 0, 0x02},
	    {"longer than posted", 5, 0, 0x02},
	    {"too short for its address", 1, 0, 0x02},
	    {"inline runs out of the entry", 3, 0x80000000u | 13, 0x02},
	    {"inline of 2 GiB", 3, 0xffffffffu, 0x02},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(NULL);
		struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);
		uint8_t *wqe = fake_mem(b.w, b.pair.a.sq_va);

		print_message("row: %s\n", rows[i].name);
		fake_post(&b.pair.a, &wr);
		wqe[7] = rows[i].ds;
		if (rows[i].first_word)
			be32_store(wqe + 32, rows[i].first_word);
		fake_ring(&b.pair.a);
		assert_int_equal(b.w->queue_count, 0);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, rows[i].syndrome, 0);
		bed_close(&b);
	}
}

/* [cases 2, 3] 2^31 bytes go; one more does not, however the sum is made. A count of 0 is 2^31. */
static void message_limit(void **state)
{
	static const struct {
		const char *name;
		uint32_t lens[4];
		uint32_t count;
		bool fits;
	} rows[] = {
	    {"0 is 2^31", {0}, 1, true},
	    {"half and half", {1u << 30, 1u << 30}, 2, true},
	    {"0 and 1", {0, 1}, 2, false},
	    {"half, half and 1", {1u << 30, 1u << 30, 1}, 3, false},
	    {"a sum that is 0 in 32 bits", {0, 0}, 2, false},
	    {"a sum that is 8 in 32 bits", {0x7fffffff, 0x7fffffff, 10}, 3, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(NULL);
		struct nic_mkey_attr attr = {.pdn = b.w->sides[0].pdn,
					     .va = FAKE_VOID_VA,
					     .host_va = FAKE_VOID_VA,
					     .len_bytes = 1ull << 33};
		struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);
		uint32_t key;

		print_message("row: %s\n", rows[i].name);
		assert_int_equal(nic_mkey_create(b.w->nics[0], &attr, &key), 0);
		wr.piece_count = rows[i].count;
		for (uint32_t k = 0; k < rows[i].count; k++)
			wr.pieces[k] = (struct fake_piece){FAKE_VOID_VA, rows[i].lens[k], key};
		fake_post(&b.pair.a, &wr);
		b.w->room = 4;
		fake_ring(&b.pair.a);
		if (rows[i].fits) {
			assert_int_equal(fake_pkt(b.w, 0).reth.len_bytes, 1u << 31);
		} else {
			assert_int_equal(b.w->queue_count, 0);
			expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x01, 0);
		}
		bed_close(&b);
	}
}

/* Memory that is not there, although its region is: a local protection error, also half way. */
static void source_faults(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	fake_fault(b.w, b.src.va + 512, 1);
	bed_post(&b, WQE_OP_WRITE, 1024);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x04, 0);
	fake_settle(b.w);
	/* What was on the wire before is a prefix of whole packets. */
	assert_memory_equal(bed_dst(&b), bed_src(&b), 512);
	assert_int_equal(bed_dst(&b)[512], 0);
	bed_close(&b);
}

/* A ring that is gone when its entry is fetched. */
static void ring_faults(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);
	fake_post(&b.pair.a, &wr);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.db_va) + 4, 1);
	fake_fault(b.w, b.pair.a.sq_va, 64);
	nic_scan(b.w->nics[0], b.w->now_ns);
	fake_run(b.w, 0);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x02, 0);
	bed_close(&b);
}

/* [cx6-syndromes] READ into a region without local write: after the response. */
static void read_into_read_only(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_region ro = fake_region(b.w, 0, 4096, 0);
	struct fake_wr wr = bed_wr(&b, WQE_OP_READ, 8);

	(void)state;
	wr.pieces[0] = (struct fake_piece){ro.va, 8, ro.key};
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	expect_packet(&b, ROCE_OP_RC_READ_REQ, 0x100);
	expect_none(&b.pair.a.send_cq);
	fake_settle(b.w);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x04, 0x33);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
	bed_close(&b);
}

/* An entry that changes between its first transmission and a repetition ends the queue pair. */
static void entry_changes_under_us(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 3000);
	bed_post(&b, WQE_OP_WRITE, 8);
	be32_store((uint8_t *)fake_mem(b.w, b.pair.a.sq_va) + 32, 3001);
	while (b.w->queue_count)
		fake_drop(b.w, 0);
	fake_advance(b.w, TIMEOUT_NS);
	assert_int_equal(b.w->queue_count, 0);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x02, 0);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 1, 0x05, 0xf5);
	bed_close(&b);
}

/* ---- what a peer answers --------------------------------------------------------------------- */

/* [cx6-syndromes] Each refusal, by the right of the region or queue pair that is missing. */
static void remote_errors(void **state)
{
	static const struct {
		const char *name;
		enum wqe_opcode opcode;
		uint32_t region; /* rights of the target */
		uint32_t qp;     /* rights of the queue pair; UINT32_MAX: none */
		uint64_t va_change;
		uint32_t key_change;
		uint8_t syndrome;
		uint8_t vendor;
		enum nic_event_kind event;
	} rows[] = {
	    {"write, region", WQE_OP_WRITE, BED_LOCAL, 0, 0, 0, 0x13, 0x88,
	     NIC_EVENT_QP_ACCESS_ERR},
	    {"read, region", WQE_OP_READ, BED_LOCAL, 0, 0, 0, 0x13, 0x88, NIC_EVENT_QP_ACCESS_ERR},
	    {"atomic, region", WQE_OP_ATOMIC_FA, BED_LOCAL | NIC_ACCESS_REMOTE_WRITE_F, 0, 0, 0,
	     0x13, 0x88, NIC_EVENT_QP_ACCESS_ERR},
	    {"write, key", WQE_OP_WRITE, BED_ALL, 0, 0, 1, 0x13, 0x88, NIC_EVENT_QP_ACCESS_ERR},
	    {"read, range", WQE_OP_READ, BED_ALL, 0, 4089, 0, 0x13, 0x88, NIC_EVENT_QP_ACCESS_ERR},
	    {"write, wraps", WQE_OP_WRITE, BED_ALL, 0, (uint64_t)-FAKE_BASE_VA - 4096, 0, 0x13,
	     0x88, NIC_EVENT_QP_ACCESS_ERR},
	    {"write, queue pair", WQE_OP_WRITE, BED_ALL, UINT32_MAX, 0, 0, 0x12, 0x8a,
	     NIC_EVENT_QP_REQ_ERR},
	    {"read, queue pair", WQE_OP_READ, BED_ALL, NIC_ACCESS_REMOTE_WRITE_F, 0, 0, 0x12, 0x8a,
	     NIC_EVENT_QP_REQ_ERR},
	    {"atomic, queue pair", WQE_OP_ATOMIC_CS, BED_ALL,
	     NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F, 0, 0, 0x12, 0x8a,
	     NIC_EVENT_QP_REQ_ERR},
	    {"atomic, alignment", WQE_OP_ATOMIC_FA, BED_ALL, 0, 4, 0, 0x12, 0x8a,
	     NIC_EVENT_QP_REQ_ERR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(&(struct fake_opts){.access = rows[i].qp});
		struct fake_region target = fake_region(b.w, 1, 4096, rows[i].region);
		struct fake_wr wr = bed_wr(&b, rows[i].opcode, 8);

		print_message("row: %s\n", rows[i].name);
		bed_receive(&b, 64);
		wr.remote_va = target.va + rows[i].va_change;
		wr.rkey = target.key ^ rows[i].key_change;
		fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, rows[i].syndrome, rows[i].vendor);
		assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_ERR);
		assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_ERR);
		assert_int_equal(fake_events(b.w, 1, rows[i].event), 1);
		assert_int_equal(b.w->event_count, 1);
		expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 0, 0x05, 0xf5);
		assert_memory_equal(bed_dst(&b), "\0\0\0\0\0\0\0", 8);
		bed_close(&b);
	}
}

/* Target memory that is not there: remote operation error. */
static void target_faults(void **state)
{
	static const enum wqe_opcode opcodes[] = {WQE_OP_WRITE, WQE_OP_READ, WQE_OP_ATOMIC_FA};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bed b = bed_open(NULL);

		fake_fault(b.w, b.dst.va, 8);
		bed_post(&b, opcodes[i], 8);
		fake_settle(b.w);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x14, 0);
		assert_int_equal(fake_events(b.w, 1, NIC_EVENT_QP_FATAL), 1);
		bed_close(&b);
	}
}

/* A message longer than its receive fails all three. */
static void longer_than_its_receive(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	bed_receive(&b, 600);
	bed_receive(&b, 600);
	bed_post(&b, WQE_OP_SEND, 601);
	fake_settle(b.w);
	expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 0, 0x01, 0);
	expect_error(&b.pair.b.recv_cq, CQE_RESP_ERR, 1, 0x05, 0xf5);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x12, 0x8a);
	assert_int_equal(nic_counters(b.w->nics[1])->tx_nak_invalid, 1);
	bed_close(&b);
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* Whichever single packet of an exchange is lost, it ends well, and nothing is done twice. */
static void any_single_loss(void **state)
{
	static const struct {
		const char *name;
		enum wqe_opcode opcode;
	} rows[] = {{"write", WQE_OP_WRITE}, {"send", WQE_OP_SEND}, {"read", WQE_OP_READ}};

	(void)state;
	for (size_t row = 0; row < 3; row++) {
		for (uint64_t lost = 0;; lost++) {
			struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
			uint64_t seen = 0;

			bed_receive(&b, 4096);
			for (uint16_t i = 0; i < 3; i++)
				bed_post(&b, i == 1 ? rows[row].opcode : WQE_OP_WRITE, 1000);
			memset(bed_dst(&b) + 5000, 1, 1);
			for (int i = 0; i < 20 && nic_deadline_ns(b.w->nics[0]) != UINT64_MAX;
			     i++) {
				while (b.w->queue_count != 0)
					if (seen++ == lost)
						fake_drop(b.w, 0);
					else
						fake_deliver(b.w, 0);
				fake_advance(b.w, TIMEOUT_NS);
			}
			print_message("row: %s, packet %llu lost of %llu\n", rows[row].name,
				      (unsigned long long)lost, (unsigned long long)seen);
			for (uint16_t i = 0; i < 3; i++)
				expect_done(&b.pair.a.send_cq, CQE_REQ, i, 1000);
			expect_none(&b.pair.a.send_cq);
			if (rows[row].opcode == WQE_OP_SEND)
				expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 1000);
			expect_none(&b.pair.b.recv_cq);
			assert_memory_equal(bed_dst(&b), bed_src(&b), 1000);
			bed_close(&b);
			if (lost > seen)
				break;
		}
	}
}

/* [cx6-syndromes] Silence: 1 + retry_count transmissions, each after the timeout, then the error.
 */
static void retries_are_counted(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.retry_count = 3});

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(b.w->queue_count, 1);
		fake_drop(b.w, 0);
		fake_advance(b.w, TIMEOUT_NS - 1);
		assert_int_equal(b.w->queue_count, 0);
		expect_none(&b.pair.a.send_cq);
		fake_advance(b.w, 1);
	}
	assert_int_equal(b.w->queue_count, 0);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x15, 0x81);
	assert_int_equal(nic_counters(b.w->nics[0])->ack_timeouts, 4);
	assert_int_equal(nic_deadline_ns(b.w->nics[0]), UINT64_MAX);
	bed_close(&b);
}

/* A peer that has not taken the packet pauses us: the timeout is not counted, nothing is repeated.
 */
static void untaken_packets_do_not_count(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.retry_count = UINT32_MAX});

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	b.w->untaken = true;
	for (int i = 0; i < 50; i++)
		fake_advance(b.w, TIMEOUT_NS);
	assert_int_equal(b.w->queue_count, 1);
	assert_int_equal(nic_counters(b.w->nics[0])->ack_timeouts_untaken, 50);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	bed_close(&b);
}

/* Progress gives all retries back. */
static void progress_resets_retries(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.retry_count = 1, .mtu_bytes = 256});

	(void)state;
	for (int i = 0; i < 5; i++) {
		bed_post(&b, WQE_OP_WRITE, 8);
		fake_drop(b.w, 0);
		fake_advance(b.w, TIMEOUT_NS);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, (uint16_t)i, 8);
	}
	bed_close(&b);
}

/* [cases 14] RNR: the timer of its code, code 0 the longest; without end for 7, else counted. */
static void rnr(void **state)
{
	static const struct {
		uint32_t code;
		uint64_t ns;
	} rows[] = {{32, 655360000}, {1, 10000}, {12, 640000}, {31, 491520000}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* 32 stands for 0, which means "default" in fake_opts; the NIC gets 5 bits of it.
		 */
		struct bed b = bed_open(&(struct fake_opts){
		    .min_rnr_timer = rows[i].code == 32 ? UINT32_MAX : rows[i].code});

		bed_post(&b, WQE_OP_SEND, 8);
		for (int k = 0; k < 20; k++) {
			expect_packet(&b, ROCE_OP_RC_SEND_ONLY, 0x100);
			fake_deliver(b.w, 0);
			expect_answer(&b, (uint8_t)(0x20 | (rows[i].code & 31)), 0x100);
			fake_deliver(b.w, 0);
			fake_advance(b.w, rows[i].ns - 1);
			assert_int_equal(b.w->queue_count, 0);
			fake_advance(b.w, 1);
		}
		bed_receive(&b, 8);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
		expect_done(&b.pair.b.recv_cq, CQE_RESP_SEND, 0, 8);
		bed_close(&b);
	}
}

static void rnr_exhausted(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.rnr_retry = 2});

	(void)state;
	bed_post(&b, WQE_OP_SEND, 8);
	fake_settle(b.w);
	fake_advance(b.w, 640000);
	fake_settle(b.w);
	expect_none(&b.pair.a.send_cq);
	fake_advance(b.w, 640000);
	fake_settle(b.w);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x16, 0x87);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
	bed_close(&b);
}

/* [cases 12] A response that is lost is replayed: the value moves once. */
static void lost_atomic_response(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_ATOMIC_FA, 8);
	uint64_t value = 1000;

	(void)state;
	memcpy(bed_dst(&b), &value, 8);
	wr.swap_add = 5;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_deliver(b.w, 0);
	expect_packet(&b, ROCE_OP_RC_ATOMIC_ACK, 0x100);
	fake_drop(b.w, 0);
	/* Somebody else changes it meanwhile. */
	value = 7;
	memcpy(bed_dst(&b), &value, 8);
	fake_advance(b.w, TIMEOUT_NS);
	expect_packet(&b, ROCE_OP_RC_FETCH_ADD, 0x100);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	memcpy(&value, bed_src(&b), 8);
	assert_int_equal(value, 1000);
	memcpy(&value, bed_dst(&b), 8);
	assert_int_equal(value, 7);
	bed_close(&b);
}

/* Compare and swap, that fits and that does not; what comes back is host order. */
static void compare_and_swap(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_ATOMIC_CS, 8);
	uint64_t value = 0x1122334455667788, got;

	(void)state;
	memcpy(bed_dst(&b), &value, 8);
	for (int i = 0; i < 2; i++) {
		wr.compare = 0x1122334455667788;
		wr.swap_add = 42;
		fake_post(&b.pair.a, &wr);
		fake_ring(&b.pair.a);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, (uint16_t)(b.pair.a.sq_pi - 1), 8);
		memcpy(&got, bed_src(&b), 8);
		assert_int_equal(got, i == 0 ? value : 42);
	}
	bed_close(&b);
}

/* Many signs of one loss make one repetition; a loss after progress makes another, at once. */
static void one_repetition_for_each_loss(void **state)
{
	struct bed b = bed_open(NULL);
	struct roce_pkt nak = {.opcode = ROCE_OP_RC_ACK,
			       .pkey = 0xffff,
			       .dqpn = b.pair.a.qpn,
			       .aeth = {.syndrome = ROCE_NAK_PSN_SEQUENCE}};

	(void)state;
	for (int i = 0; i < 4; i++)
		bed_post(&b, WQE_OP_WRITE, 8);
	for (uint32_t lost = 0x100; lost < 0x103; lost++) {
		while (b.w->queue_count)
			fake_drop(b.w, 0);
		nak.psn = lost;
		for (int i = 0; i < 5; i++)
			fake_send(b.w, 0, &nak);
		assert_int_equal(b.w->queue_count, 0x104 - lost);
		expect_packet(&b, ROCE_OP_RC_WRITE_ONLY, lost);
	}
	assert_int_equal(nic_counters(b.w->nics[0])->ack_timeouts, 0);
	bed_close(&b);
}

/* What is acknowledged late, while it waits to be sent again, is not sent again. */
static void late_acknowledgement_spares_a_repetition(void **state)
{
	struct bed b = bed_open(NULL);
	struct roce_pkt ack = {.opcode = ROCE_OP_RC_ACK,
			       .pkey = 0xffff,
			       .psn = 0x101,
			       .dqpn = b.pair.a.qpn,
			       .aeth = {.syndrome = ROCE_SYNDROME_ACK}};

	(void)state;
	for (int i = 0; i < 3; i++)
		bed_post(&b, WQE_OP_WRITE, 8);
	while (b.w->queue_count)
		fake_drop(b.w, 0);
	b.w->room = 0;
	fake_advance(b.w, TIMEOUT_NS);
	fake_send(b.w, 0, &ack);
	b.w->room = 10;
	fake_advance(b.w, 1);
	assert_int_equal(b.w->queue_count, 1);
	expect_packet(&b, ROCE_OP_RC_WRITE_ONLY, 0x102);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 1, 8);
	bed_close(&b);
}

/* A READ that is refused half way fails with that, although a response before the NAK was lost. */
static void refusal_behind_a_lost_response(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

	(void)state;
	b.w->room = 3;
	bed_post(&b, WQE_OP_READ, 2000);
	fake_deliver(b.w, 0);
	assert_int_equal(nic_mkey_destroy(b.w->nics[1], b.dst.key), 0);
	fake_drop(b.w, 0);
	b.w->room = 10;
	fake_settle(b.w);
	expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x13, 0x88);
	bed_close(&b);
}

/* A refusal of a later entry says nothing of a READ whose response was lost: that is asked for
 * again. */
static void refusal_of_a_later_entry(void **state)
{
	struct bed b = bed_open(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

	(void)state;
	bed_post(&b, WQE_OP_READ, 8);
	wr.rkey ^= 1;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_deliver(b.w, 0);
	fake_deliver(b.w, 0);
	expect_packet(&b, ROCE_OP_RC_READ_RESP_ONLY, 0x100);
	fake_drop(b.w, 0);
	expect_answer(&b, ROCE_NAK_REMOTE_ACCESS, 0x101);
	fake_deliver(b.w, 0);
	expect_none(&b.pair.a.send_cq);
	expect_packet(&b, ROCE_OP_RC_READ_REQ, 0x100);
	bed_close(&b);
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

/* Acknowledgements and responses of what is not outstanding change nothing. */
static void ghosts(void **state)
{
	struct bed b = bed_open(NULL);
	struct roce_pkt pkt = {.opcode = ROCE_OP_RC_ACK,
			       .pkey = 0xffff,
			       .dqpn = b.pair.a.qpn,
			       .aeth = {.syndrome = 0x1f}};
	static const uint8_t syndromes[] = {0x1f, 0x20, 0x60, 0x61, 0x62,
					    0x63, 0x64, 0x7f, 0x40, 0x9f};

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 3000);
	while (b.w->queue_count)
		fake_drop(b.w, 0);
	for (size_t i = 0; i < sizeof(syndromes); i++) {
		static const uint32_t psns[] = {0xff, 0x103, 0x800100, 0xffffff, 0};

		for (size_t k = 0; k < sizeof(psns) / sizeof(psns[0]); k++) {
			pkt.aeth.syndrome = syndromes[i];
			pkt.psn = psns[k];
			fake_send(b.w, 0, &pkt);
		}
	}
	pkt.opcode = ROCE_OP_RC_READ_RESP_ONLY;
	pkt.psn = 0x103;
	fake_send(b.w, 0, &pkt);
	assert_int_equal(b.w->queue_count, 0);
	expect_none(&b.pair.a.send_cq);
	assert_int_equal(fake_qp_state(&b.pair.a), NIC_QP_RTS);
	assert_int_equal(nic_counters(b.w->nics[0])->rx_drop_ack, 51);
	bed_close(&b);
}

/* A response that is not what was asked for: bad response, and the queue pair is in error. */
static void bad_responses(void **state)
{
	static const struct {
		const char *name;
		uint8_t opcode;
		uint32_t len;
	} rows[] = {
	    {"too short", ROCE_OP_RC_READ_RESP_FIRST, 252},
	    {"too long", ROCE_OP_RC_READ_RESP_FIRST, 260},
	    {"ends too early", ROCE_OP_RC_READ_RESP_ONLY, 256},
	    {"last too early", ROCE_OP_RC_READ_RESP_LAST, 256},
	    {"nothing", ROCE_OP_RC_READ_RESP_FIRST, 0},
	};
	static const uint8_t bytes[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
		struct roce_pkt pkt = {.opcode = rows[i].opcode,
				       .pkey = 0xffff,
				       .psn = 0x100,
				       .dqpn = b.pair.a.qpn,
				       .payload = bytes,
				       .payload_bytes = rows[i].len,
				       .aeth = {.syndrome = 0x1f}};

		print_message("row: %s\n", rows[i].name);
		bed_post(&b, WQE_OP_READ, 600);
		fake_send(b.w, 0, &pkt);
		expect_error(&b.pair.a.send_cq, CQE_REQ_ERR, 0, 0x10, 0);
		bed_close(&b);
	}
}

/* [cases 11] A lost READ response: what is missing is asked for, from the middle. */
static void read_resumes_in_the_middle(void **state)
{
	struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});
	struct roce_pkt pkt;

	(void)state;
	memcpy(bed_dst(&b), bed_src(&b), 1000);
	memset(bed_src(&b), 0, 1000);
	bed_post(&b, WQE_OP_READ, 1000);
	fake_deliver(b.w, 0);
	assert_int_equal(b.w->queue_count, 4);
	fake_deliver(b.w, 0);
	fake_drop(b.w, 0);
	fake_deliver(b.w, 0);
	/* The third shows that the second is lost: no need to wait for the timer. */
	assert_int_equal(b.w->queue_count, 2);
	pkt = fake_pkt(b.w, 1);
	assert_int_equal(pkt.opcode, ROCE_OP_RC_READ_REQ);
	assert_int_equal(pkt.psn, 0x101);
	assert_int_equal(pkt.reth.va, b.dst.va + 256);
	assert_int_equal(pkt.reth.len_bytes, 1000 - 256);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 1000);
	assert_memory_equal(bed_dst(&b), bed_src(&b), 1000);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(local_errors),
	    cmocka_unit_test(error_completes_in_order),
	    cmocka_unit_test(misshapen_entries),
	    cmocka_unit_test(message_limit),
	    cmocka_unit_test(source_faults),
	    cmocka_unit_test(ring_faults),
	    cmocka_unit_test(read_into_read_only),
	    cmocka_unit_test(entry_changes_under_us),
	    cmocka_unit_test(remote_errors),
	    cmocka_unit_test(target_faults),
	    cmocka_unit_test(longer_than_its_receive),
	    cmocka_unit_test(any_single_loss),
	    cmocka_unit_test(retries_are_counted),
	    cmocka_unit_test(untaken_packets_do_not_count),
	    cmocka_unit_test(progress_resets_retries),
	    cmocka_unit_test(rnr),
	    cmocka_unit_test(rnr_exhausted),
	    cmocka_unit_test(lost_atomic_response),
	    cmocka_unit_test(compare_and_swap),
	    cmocka_unit_test(one_repetition_for_each_loss),
	    cmocka_unit_test(late_acknowledgement_spares_a_repetition),
	    cmocka_unit_test(refusal_behind_a_lost_response),
	    cmocka_unit_test(refusal_of_a_later_entry),
	    cmocka_unit_test(ghosts),
	    cmocka_unit_test(bad_responses),
	    cmocka_unit_test(read_resumes_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
