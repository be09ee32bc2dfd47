/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_e2e.h - the driver library end to end on a NIC, in one process: two queue pairs that are each
 * other's peers, every kind of entry, what arrives, and how things fail. The NIC is named by
 * e2e_nic: a software one, or a ConnectX (tests/hw). Include after <cmocka.h>, from one source
 * file, and run e2e_main(name).
 */
#ifndef TESTS_SUPPORT_LIB_E2E_H
#define TESTS_SUPPORT_LIB_E2E_H

#include "include/rig5.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { E2E_BYTES = 1 << 20, E2E_RING = 64, E2E_PATIENCE_S = 20 };

static const char *e2e_nic;

struct e2e {
	struct rig_nic *nic;
	struct rig_nic_info info;
	struct rig_cq *cq;
	struct rig_qp *a;
	struct rig_qp *b;
	uint8_t *near_;		/* memory that a's entries name */
	uint8_t *far_;		/* memory of b's side */
	struct rig_region *near_region;
	struct rig_region *far_region;
};

#define assert_ok(call)                                                                            \
	do {                                                                                       \
		int ret_ = (call);                                                                 \
		if (ret_ < 0)                                                                      \
			fail_msg("%s is %d: %s", #call, ret_, rig_error());                        \
	} while (0)

static inline void e2e_connect(struct rig_qp *qp, enum rig_access access, struct rig_qp *peer)
{
	struct rig_endpoint endpoint;

	assert_ok(rig_qp_endpoint(peer, &endpoint));
	assert_ok(rig_qp_connect(qp, access, &endpoint, NULL));
}

static inline void e2e_fill(uint8_t *memory, size_t len, uint8_t start)
{
	for (size_t i = 0; i < len; i++)
		memory[i] = (uint8_t)(start + i * 13 + (i >> 8));
}

/* e2e_pair - makes the two queue pairs anew, with b's rights and rings. */
static inline void e2e_pair(struct e2e *e2e, enum rig_access access, int receives)
{
	assert_ok(rig_qp_create(e2e->cq, E2E_RING, E2E_RING, &e2e->a));
	assert_ok(rig_qp_create(e2e->cq, E2E_RING, receives, &e2e->b));
	e2e_connect(e2e->a, RIG_REMOTE_ALL, e2e->b);
	e2e_connect(e2e->b, access, e2e->a);
}

static inline struct e2e e2e_open(void)
{
	struct e2e e2e = {0};

	assert_ok(rig_open(e2e_nic, &e2e.nic));
	assert_ok(rig_nic_info(e2e.nic, &e2e.info));
	assert_ok(rig_cq_create(e2e.nic, 1024, &e2e.cq));
	e2e.near_ = aligned_alloc(4096, E2E_BYTES);
	e2e.far_ = aligned_alloc(4096, E2E_BYTES);
	assert_true(e2e.near_ && e2e.far_);
	e2e_fill(e2e.near_, E2E_BYTES, 1);
	memset(e2e.far_, 0, E2E_BYTES);
	assert_ok(rig_region_create(e2e.nic, e2e.near_, E2E_BYTES, RIG_LOCAL, &e2e.near_region));
	assert_ok(rig_region_create(e2e.nic, e2e.far_, E2E_BYTES, RIG_REMOTE_ALL, &e2e.far_region));
	e2e_pair(&e2e, RIG_REMOTE_ALL, E2E_RING);
	return e2e;
}

static inline void e2e_close(struct e2e *e2e)
{
	assert_ok(rig_close(e2e->nic));
	free(e2e->near_);
	free(e2e->far_);
}

static inline struct rig_wc e2e_next(struct e2e *e2e)
{
	time_t end = time(NULL) + E2E_PATIENCE_S;
	struct rig_wc wc;
	int count;

	while ((count = rig_cq_poll(e2e->cq, &wc, 1)) == 0)
		if (time(NULL) > end)
			fail_msg("no completion in %d s", E2E_PATIENCE_S);
	assert_ok(count);
	return wc;
}

static inline void e2e_expect(const struct rig_wc *wc, const struct rig_qp *qp, enum rig_kind kind,
			      enum rig_status status)
{
	char text[200];

	rig_wc_text(wc, text, sizeof(text));
	if (wc->qp != rig_qp_number(qp) || wc->kind != kind || wc->status != status)
		fail_msg("expected queue pair 0x%x, kind %d, %s; got: %s", rig_qp_number(qp), kind,
			 rig_status_text(status), text);
}

/* e2e_run - posts an entry on a and waits for its good completion, which is returned. */
static inline struct rig_wc e2e_run(struct e2e *e2e, struct rig_entry entry)
{
	uint16_t index = rig_qp_index(e2e->a, RIG_RING_SEND);
	struct rig_wc wc;

	entry.flags |= RIG_SIGNAL_F;
	assert_ok(rig_qp_post(e2e->a, &entry));
	assert_ok(rig_qp_ring(e2e->a));
	wc = e2e_next(e2e);
	e2e_expect(&wc, e2e->a, RIG_WC_ENTRY, RIG_OK);
	assert_int_equal(wc.index, index);
	assert_int_equal(wc.op, entry.op);
	return wc;
}

static inline struct rig_local e2e_local(struct rig_region *region, uint64_t offset, uint64_t len)
{
	struct rig_local local;

	assert_ok(rig_region_local(region, offset, len, &local));
	return local;
}

/* e2e_remote_entry - an entry of op at offset of the far region, without data yet. */
static inline struct rig_entry e2e_remote_entry(struct e2e *e2e, enum rig_op op, uint64_t offset)
{
	struct rig_remote remote;

	assert_ok(rig_region_remote(e2e->far_region, offset, 0, &remote));
	return (struct rig_entry){
		.op = (uint8_t)op, .remote_addr = remote.addr, .remote_key = remote.key,
	};
}

static const uint32_t e2e_lengths[] = {0,    1,    7,     8,     28,     29,
				       255,  256,  1023,  1024,  1025,   4095,
				       4096, 4097, 12288, 65536, 100001, E2E_BYTES - 8};

#define E2E_LENGTHS (sizeof(e2e_lengths) / sizeof(e2e_lengths[0]))

/* assert_moved - len bytes at offset 3 of `to` are from's, and the bytes around them 0xee. */
static inline void assert_moved(const uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (memcmp(to + 3, from, len) != 0)
		fail_msg("%u bytes: wrong ones arrived", len);
	if (to[2] != 0xee || to[3 + len] != 0xee)
		fail_msg("%u bytes: written outside", len);
}

static void writes_of_every_length(void **state)
{
	struct e2e e2e = e2e_open();

	(void)state;
	for (size_t i = 0; i < E2E_LENGTHS; i++) {
		uint32_t len = e2e_lengths[i];
		struct rig_local local = e2e_local(e2e.near_region, 1, len);
		struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 3);

		memset(e2e.far_, 0xee, len + 8);
		entry.pieces = &local;
		entry.piece_count = 1;
		e2e_run(&e2e, entry);
		assert_moved(e2e.far_, e2e.near_ + 1, len);
	}
	e2e_close(&e2e);
}

static void inline_writes_up_to_the_maximum(void **state)
{
	struct e2e e2e = e2e_open();

	(void)state;
	for (uint32_t len = 0; len <= e2e.info.inline_max_bytes; len += len < 70 ? 1 : 97) {
		struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 3);

		memset(e2e.far_, 0xee, len + 8);
		entry.flags = RIG_INLINE_F;
		entry.inline_data = e2e.near_ + len;
		entry.inline_len_bytes = len;
		e2e_run(&e2e, entry);
		assert_moved(e2e.far_, e2e.near_ + len, len);
	}
	e2e_close(&e2e);
}

static void reads_of_every_length(void **state)
{
	struct e2e e2e = e2e_open();

	(void)state;
	e2e_fill(e2e.far_, E2E_BYTES, 99);
	for (size_t i = 0; i < E2E_LENGTHS; i++) {
		uint32_t len = e2e_lengths[i];
		struct rig_local local = e2e_local(e2e.near_region, 3, len);
		struct rig_entry entry = e2e_remote_entry(&e2e, RIG_READ, 1);

		memset(e2e.near_, 0xee, len + 8);
		entry.pieces = &local;
		entry.piece_count = 1;
		assert_int_equal(e2e_run(&e2e, entry).len_bytes, len);
		assert_moved(e2e.near_, e2e.far_ + 1, len);
	}
	e2e_close(&e2e);
}

/* e2e_both - the completions of a send and of its receive, which come in any order. */
static inline void e2e_both(struct e2e *e2e, struct rig_wc *sent, struct rig_wc *received)
{
	struct rig_wc first = e2e_next(e2e), second = e2e_next(e2e);

	*sent = first.kind == RIG_WC_ENTRY ? first : second;
	*received = first.kind == RIG_WC_ENTRY ? second : first;
	e2e_expect(sent, e2e->a, RIG_WC_ENTRY, RIG_OK);
	e2e_expect(received, e2e->b, RIG_WC_RECEIVE, RIG_OK);
}

static void sends_gathered_and_scattered(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_wc sent, received;

	(void)state;
	for (size_t i = 0; i < E2E_LENGTHS; i++) {
		uint32_t len = e2e_lengths[i], cut = len / 3, rest = len - cut;
		const struct rig_local from[3] = {
			e2e_local(e2e.near_region, 1, cut), e2e_local(e2e.near_region, 0, 0),
			e2e_local(e2e.near_region, 1 + cut, rest),
		};
		const struct rig_local to[2] = {
		    e2e_local(e2e.far_region, 3, rest),
		    e2e_local(e2e.far_region, 3 + rest, cut),
		};
		struct rig_entry entry = {
			.op = RIG_SEND, .flags = RIG_SIGNAL_F | RIG_IMM_F, .imm = 0x1000 + len,
			.pieces = from, .piece_count = 3,
		};

		memset(e2e.far_, 0xee, len + 8);
		assert_ok(rig_qp_receive_pieces(e2e.b, to, 2));
		assert_ok(rig_qp_post(e2e.a, &entry));
		assert_ok(rig_qp_ring(e2e.a));
		e2e_both(&e2e, &sent, &received);
		assert_int_equal(received.len_bytes, len);
		assert_int_equal(received.flags & RIG_WC_IMM_F, RIG_WC_IMM_F);
		assert_int_equal(received.imm, 0x1000 + len);
		assert_moved(e2e.far_, e2e.near_ + 1, len);
	}
	e2e_close(&e2e);
}

static void inline_send_into_a_larger_receive(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local to = e2e_local(e2e.far_region, 3, 4096);
	const struct rig_entry entry = {
		.op = RIG_SEND, .flags = RIG_SIGNAL_F | RIG_INLINE_F, .inline_data = e2e.near_,
		.inline_len_bytes = 40,
	};
	struct rig_wc sent, received;

	(void)state;
	memset(e2e.far_, 0xee, 100);
	assert_ok(rig_qp_receive(e2e.b, &to));
	assert_ok(rig_qp_post(e2e.a, &entry));
	assert_ok(rig_qp_ring(e2e.a));
	e2e_both(&e2e, &sent, &received);
	assert_int_equal(received.len_bytes, 40);
	assert_int_equal(received.flags, 0);
	assert_moved(e2e.far_, e2e.near_, 40);
	e2e_close(&e2e);
}

static void write_with_immediate_takes_a_receive(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 5000);
	struct rig_local none = e2e_local(e2e.far_region, 0, 0);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 3);
	struct rig_wc sent, received;

	(void)state;
	memset(e2e.far_, 0xee, 5100);
	entry.flags = RIG_SIGNAL_F | RIG_IMM_F;
	entry.imm = 7;
	entry.pieces = &local;
	entry.piece_count = 1;
	assert_ok(rig_qp_receive(e2e.b, &none));
	assert_ok(rig_qp_post(e2e.a, &entry));
	assert_ok(rig_qp_ring(e2e.a));
	e2e_both(&e2e, &sent, &received);
	assert_int_equal(received.op, RIG_WRITE);
	assert_int_equal(received.imm, 7);
	assert_int_equal(received.len_bytes, 5000);
	assert_int_equal(rig_qp_room(e2e.b, RIG_RING_RECEIVE), E2E_RING);
	assert_moved(e2e.far_, e2e.near_, 5000);
	e2e_close(&e2e);
}

static void atomics_in_host_order(void **state)
{
	struct e2e e2e = e2e_open();
	volatile uint64_t *old = (uint64_t *)(void *)e2e.near_;
	volatile uint64_t *value = (uint64_t *)(void *)e2e.far_;
	struct rig_local local = e2e_local(e2e.near_region, 0, 8);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_FETCH_ADD, 0);

	(void)state;
	*value = 0x1122334455667788;
	entry.pieces = &local;
	entry.piece_count = 1;
	entry.add_or_swap = 3;
	assert_int_equal(e2e_run(&e2e, entry).len_bytes, 8);
	assert_true(*old == 0x1122334455667788 && *value == 0x112233445566778b);
	entry.op = RIG_COMPARE_SWAP;
	entry.compare = 5; /* does not match */
	entry.add_or_swap = 9;
	e2e_run(&e2e, entry);
	assert_true(*old == 0x112233445566778b && *value == 0x112233445566778b);
	entry.compare = 0x112233445566778b;
	e2e_run(&e2e, entry);
	assert_true(*old == 0x112233445566778b && *value == 9);
	e2e_close(&e2e);
}

static void own_endpoint_is_loopback(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 100);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 3);

	(void)state;
	assert_ok(rig_qp_create(e2e.cq, 8, 8, &e2e.a));
	e2e_connect(e2e.a, RIG_REMOTE_WRITE, e2e.a);
	memset(e2e.far_, 0xee, 200);
	entry.pieces = &local;
	entry.piece_count = 1;
	e2e_run(&e2e, entry);
	assert_moved(e2e.far_, e2e.near_, 100);
	e2e_close(&e2e);
}

/* e2e_fails - entry, posted on a, fails with this status; the next one is flushed. */
static inline struct rig_wc e2e_fails(struct e2e *e2e, struct rig_entry entry,
				      enum rig_status status)
{
	struct rig_wc wc, flushed;

	entry.flags |= RIG_SIGNAL_F;
	assert_ok(rig_qp_post(e2e->a, &entry));
	assert_ok(rig_qp_post(e2e->a, &entry));
	assert_ok(rig_qp_ring(e2e->a));
	wc = e2e_next(e2e);
	e2e_expect(&wc, e2e->a, RIG_WC_ENTRY, status);
	flushed = e2e_next(e2e);
	e2e_expect(&flushed, e2e->a, RIG_WC_ENTRY, RIG_FLUSHED);
	assert_int_equal(flushed.vendor_syndrome, 0xf5);
	return wc;
}

/* What the peer may do through the queue pair, whatever the region allows beyond. */
static void access_of_the_queue_pair_bounds_the_peer(void **state)
{
	static const struct {
		enum rig_access access;
		enum rig_op op;
	} rows[] = {
		{RIG_LOCAL, RIG_WRITE}, {RIG_LOCAL, RIG_READ}, {RIG_REMOTE_WRITE, RIG_READ},
		{RIG_REMOTE_WRITE, RIG_FETCH_ADD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct e2e e2e = e2e_open();
		struct rig_local local = e2e_local(e2e.near_region, 0, 8);
		struct rig_entry entry = e2e_remote_entry(&e2e, rows[i].op, 0);
		struct rig_wc wc;

		e2e_pair(&e2e, rows[i].access, E2E_RING);
		memset(e2e.far_, 0xee, 8);
		entry.flags = RIG_SIGNAL_F;
		entry.pieces = &local;
		entry.piece_count = 1;
		assert_ok(rig_qp_post(e2e.a, &entry));
		assert_ok(rig_qp_ring(e2e.a));
		wc = e2e_next(&e2e);
		/*
		 * The specification has one NAK for what the queue pair does not allow; cards two.
		 */
		if (wc.status != RIG_REMOTE_ACCESS && wc.status != RIG_REMOTE_INVALID_REQUEST)
			fail_msg("access %d, operation %d: %s", rows[i].access, rows[i].op,
				 rig_status_text((enum rig_status)wc.status));
		assert_int_equal(e2e.far_[0], 0xee);
		e2e_close(&e2e);
	}
}

static void bad_remote_keys_and_ranges(void **state)
{
	struct rig_local local;
	struct rig_entry entry;
	struct e2e e2e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		e2e = e2e_open();
		local = e2e_local(e2e.near_region, 0, 64);
		entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);
		entry.pieces = &local;
		entry.piece_count = 1;
		if (i == 0)
			entry.remote_key ^= 0x55;
		if (i == 1)
			entry.remote_addr += E2E_BYTES - 63;
		if (i == 2) {
			struct rig_remote remote;

			/* A region that no peer may touch. */
			assert_ok(rig_region_remote(e2e.near_region, 0, 64, &remote));
			entry.remote_addr = remote.addr;
			entry.remote_key = remote.key;
		}
		assert_int_equal(e2e_fails(&e2e, entry, RIG_REMOTE_ACCESS).vendor_syndrome, 0x88);
		e2e_close(&e2e);
	}
}

static void bad_local_keys_and_ranges(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 64);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);

	(void)state;
	local.key ^= 0x55;
	entry.pieces = &local;
	entry.piece_count = 1;
	assert_int_equal(e2e_fails(&e2e, entry, RIG_LOCAL_PROTECTION).vendor_syndrome, 0x52);
	e2e_close(&e2e);
	e2e = e2e_open();
	local = e2e_local(e2e.near_region, E2E_BYTES - 64, 64);
	local.len_bytes++;
	entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);
	entry.pieces = &local;
	entry.piece_count = 1;
	assert_int_equal(e2e_fails(&e2e, entry, RIG_LOCAL_PROTECTION).vendor_syndrome, 0x53);
	e2e_close(&e2e);
}

static void a_destroyed_region_is_closed_to_the_peer(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 64);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);

	(void)state;
	entry.pieces = &local;
	entry.piece_count = 1;
	e2e_run(&e2e, entry);
	assert_ok(rig_region_destroy(e2e.far_region));
	e2e_fails(&e2e, entry, RIG_REMOTE_ACCESS);
	e2e_close(&e2e);
}

static void a_message_longer_than_its_receive_fails_both_ends(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local from = e2e_local(e2e.near_region, 0, 5000);
	struct rig_local to = e2e_local(e2e.far_region, 0, 4999);
	const struct rig_entry entry = {
		.op = RIG_SEND, .flags = RIG_SIGNAL_F, .pieces = &from, .piece_count = 1,
	};
	struct rig_wc first, second;

	(void)state;
	assert_ok(rig_qp_receive(e2e.b, &to));
	assert_ok(rig_qp_post(e2e.a, &entry));
	assert_ok(rig_qp_ring(e2e.a));
	first = e2e_next(&e2e);
	second = e2e_next(&e2e);
	if (first.kind == RIG_WC_ENTRY) {
		struct rig_wc swap = first;

		first = second;
		second = swap;
	}
	e2e_expect(&first, e2e.b, RIG_WC_RECEIVE, RIG_LOCAL_LENGTH);
	e2e_expect(&second, e2e.a, RIG_WC_ENTRY, RIG_REMOTE_INVALID_REQUEST);
	e2e_close(&e2e);
}

static void a_send_waits_for_its_receive(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local from = e2e_local(e2e.near_region, 0, 100);
	struct rig_local to = e2e_local(e2e.far_region, 3, 100);
	const struct rig_entry entry = {
		.op = RIG_SEND, .flags = RIG_SIGNAL_F, .pieces = &from, .piece_count = 1,
	};
	struct rig_wc sent, received;
	int count = 0;

	(void)state;
	memset(e2e.far_, 0xee, 200);
	assert_ok(rig_qp_post(e2e.a, &entry));
	assert_ok(rig_qp_ring(e2e.a));
	for (int i = 0; i < 2000 && count == 0; i++)
		count = rig_cq_poll(e2e.cq, &sent, 1);
	assert_int_equal(count, 0);
	assert_ok(rig_qp_receive(e2e.b, &to));
	e2e_both(&e2e, &sent, &received);
	assert_moved(e2e.far_, e2e.near_, 100);
	e2e_close(&e2e);
}

static void no_receive_ring_takes_no_messages(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 8);
	struct rig_entry write = e2e_remote_entry(&e2e, RIG_WRITE, 3);
	const struct rig_entry send = {
		.op = RIG_SEND, .flags = RIG_SIGNAL_F, .pieces = &local, .piece_count = 1,
	};
	struct rig_wc wc;
	int count = 0;

	(void)state;
	e2e_pair(&e2e, RIG_REMOTE_ALL, 0);
	assert_int_equal(rig_qp_receive(e2e.b, &local), -EINVAL);
	write.pieces = &local;
	write.piece_count = 1;
	e2e_run(&e2e, write);
	assert_ok(rig_qp_post(e2e.a, &send));
	assert_ok(rig_qp_ring(e2e.a));
	for (int i = 0; i < 2000 && count == 0; i++)
		count = rig_cq_poll(e2e.cq, &wc, 1);
	if (count)
		assert_int_not_equal(wc.status, RIG_OK);
	e2e_close(&e2e);
}

/* 7 retries of 67 ms each, then the entry fails: nobody has that number. */
static void a_peer_that_is_not_there_is_retry_exceeded(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 8);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);
	struct rig_endpoint nobody;

	(void)state;
	assert_ok(rig_qp_endpoint(e2e.b, &nobody));
	assert_ok(rig_qp_destroy(e2e.b));
	assert_ok(rig_qp_create(e2e.cq, 8, 0, &e2e.a));
	nobody.qp ^= 0xff0;
	assert_ok(rig_qp_connect(e2e.a, RIG_LOCAL, &nobody, NULL));
	entry.pieces = &local;
	entry.piece_count = 1;
	assert_int_equal(e2e_fails(&e2e, entry, RIG_RETRY_EXCEEDED).vendor_syndrome, 0x81);
	e2e_close(&e2e);
}

/* Once the peer's queue pair is destroyed, entries fail after their retries. */
static void a_destroyed_peer_is_retry_exceeded(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 8);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);

	(void)state;
	entry.pieces = &local;
	entry.piece_count = 1;
	e2e_run(&e2e, entry);
	assert_ok(rig_qp_destroy(e2e.b));
	memset(e2e.far_, 0xee, 8);
	e2e_fails(&e2e, entry, RIG_RETRY_EXCEEDED);
	assert_int_equal(e2e.far_[0], 0xee);
	e2e_close(&e2e);
}

/*
 * Once rig_close has returned the NIC touches no memory: it is poisoned, unmapped, and looked at.
 */
static void close_under_load_ends_all_access(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++) {
		struct e2e e2e = e2e_open();
		struct rig_local local = e2e_local(e2e.near_region, 0, 100000);
		struct rig_entry entry =
		    e2e_remote_entry(&e2e, round % 2 ? RIG_WRITE : RIG_READ, 0);

		entry.flags = RIG_SIGNAL_F;
		entry.pieces = &local;
		entry.piece_count = 1;
		for (int i = 0; i < E2E_RING; i++)
			assert_ok(rig_qp_post(e2e.a, &entry));
		assert_ok(rig_qp_ring(e2e.a));
		assert_ok(rig_close(e2e.nic));
		memset(e2e.near_, 0x55, E2E_BYTES);
		memset(e2e.far_, 0xaa, E2E_BYTES);
		for (int i = 0; i < E2E_BYTES; i++)
			if (e2e.near_[i] != 0x55 || e2e.far_[i] != 0xaa)
				fail_msg("round %d: byte %d changed after the close", round, i);
		free(e2e.near_);
		free(e2e.far_);
	}
}

/* The 16-bit counters of both rings wrap, most entries not signalled. */
static void counters_wrap(void **state)
{
	struct e2e e2e = e2e_open();
	uint64_t number = 0;
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);

	(void)state;
	entry.inline_data = &number;
	entry.inline_len_bytes = 8;
	for (uint32_t i = 0; i < 70000; i++) {
		struct rig_wc wc;

		number = i;
		entry.flags = RIG_INLINE_F | (i % 32 == 31 ? RIG_SIGNAL_F : 0);
		assert_ok(rig_qp_post(e2e.a, &entry));
		if (i % 32 != 31)
			continue;
		assert_ok(rig_qp_ring(e2e.a));
		wc = e2e_next(&e2e);
		e2e_expect(&wc, e2e.a, RIG_WC_ENTRY, RIG_OK);
		assert_int_equal(wc.index, (uint16_t)i);
		assert_true(*(volatile uint64_t *)(void *)e2e.far_ == i);
	}
	e2e_close(&e2e);
}

/*
 * Case 10: arm, poll once more, wait: nothing is lost, however the completion falls between them.
 */
static void events_are_never_lost(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);
	uint64_t number = 5;

	(void)state;
	entry.flags = RIG_INLINE_F | RIG_SIGNAL_F;
	entry.inline_data = &number;
	entry.inline_len_bytes = 8;
	for (int i = 0; i < 200; i++) {
		struct rig_event event;
		struct rig_wc wc;

		if (i % 2)
			assert_ok(rig_cq_arm(e2e.cq));
		assert_ok(rig_qp_post(e2e.a, &entry));
		assert_ok(rig_qp_ring(e2e.a));
		if (i % 2 == 0)
			assert_ok(rig_cq_arm(e2e.cq));
		if (rig_wait(e2e.nic, E2E_PATIENCE_S * 1000, &event, 1) != 1)
			fail_msg("round %d: no event: %s", i, rig_error());
		assert_int_equal(event.kind, RIG_EVENT_COMPLETION);
		assert_ptr_equal(event.cq, e2e.cq);
		wc = e2e_next(&e2e);
		e2e_expect(&wc, e2e.a, RIG_WC_ENTRY, RIG_OK);
	}
	e2e_close(&e2e);
}

static void destroy_under_load_and_again(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 60000);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 0);
	struct rig_wc wc;

	(void)state;
	entry.flags = RIG_SIGNAL_F;
	entry.pieces = &local;
	entry.piece_count = 1;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < E2E_RING; i++)
			assert_ok(rig_qp_post(e2e.a, &entry));
		assert_ok(rig_qp_ring(e2e.a));
		assert_ok(rig_qp_destroy(e2e.a));
		assert_ok(rig_qp_destroy(e2e.b));
		assert_int_equal(rig_cq_poll(e2e.cq, &wc, 1), 0);
		e2e_pair(&e2e, RIG_REMOTE_ALL, E2E_RING);
	}
	e2e_run(&e2e, entry);
	e2e_close(&e2e);
}

struct e2e_worker {
	struct e2e *e2e;
	uint64_t offset;
	bool failed;
};

/*
 * e2e_worker_main - its own queues on the shared NIC: many small writes, each one's bytes checked.
 */
static inline void *e2e_worker_main(void *arg)
{
	struct e2e_worker *worker = arg;
	struct e2e mine = *worker->e2e;
	struct rig_entry entry = e2e_remote_entry(&mine, RIG_WRITE, worker->offset);
	uint64_t number = 0;

	if (rig_cq_create(mine.nic, 256, &mine.cq) < 0)
		return NULL;
	e2e_pair(&mine, RIG_REMOTE_ALL, 0);
	entry.flags = RIG_INLINE_F;
	entry.inline_data = &number;
	entry.inline_len_bytes = 8;
	for (uint32_t i = 0; i < 5000; i++) {
		number = worker->offset << 32 | i;
		e2e_run(&mine, entry);
		if (*(volatile uint64_t *)(void *)(mine.far_ + worker->offset) != number)
			worker->failed = true;
	}
	return NULL;
}

/* Case 7: two threads ring two queue pairs on one register page. */
static void two_threads_share_the_register_page(void **state)
{
	struct e2e e2e = e2e_open();
	struct e2e_worker workers[2] = {{&e2e, 64, false}, {&e2e, 128, false}};
	pthread_t threads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, e2e_worker_main, &workers[i]),
				 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_false(workers[0].failed || workers[1].failed);
	e2e_close(&e2e);
}

static inline int e2e_main(const char *name)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_of_every_length),
		cmocka_unit_test(inline_writes_up_to_the_maximum),
		cmocka_unit_test(reads_of_every_length),
		cmocka_unit_test(sends_gathered_and_scattered),
		cmocka_unit_test(inline_send_into_a_larger_receive),
		cmocka_unit_test(write_with_immediate_takes_a_receive),
		cmocka_unit_test(atomics_in_host_order),
		cmocka_unit_test(own_endpoint_is_loopback),
		cmocka_unit_test(access_of_the_queue_pair_bounds_the_peer),
		cmocka_unit_test(bad_remote_keys_and_ranges),
		cmocka_unit_test(bad_local_keys_and_ranges),
		cmocka_unit_test(a_destroyed_region_is_closed_to_the_peer),
		cmocka_unit_test(a_message_longer_than_its_receive_fails_both_ends),
		cmocka_unit_test(a_send_waits_for_its_receive),
		cmocka_unit_test(no_receive_ring_takes_no_messages),
		cmocka_unit_test(a_peer_that_is_not_there_is_retry_exceeded),
		cmocka_unit_test(a_destroyed_peer_is_retry_exceeded),
		cmocka_unit_test(close_under_load_ends_all_access),
		cmocka_unit_test(counters_wrap),
		cmocka_unit_test(events_are_never_lost),
		cmocka_unit_test(destroy_under_load_and_again),
		cmocka_unit_test(two_threads_share_the_register_page),
	};

	e2e_nic = name;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
