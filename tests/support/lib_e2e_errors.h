/* SPDX-License-Identifier: BSD-2-Clause */
/* lib_e2e_errors.h - the part of lib_e2e.h that shows how entries fail, and what ends them. */
#ifndef TESTS_SUPPORT_LIB_E2E_ERRORS_H
#define TESTS_SUPPORT_LIB_E2E_ERRORS_H

#include "tests/support/lib_e2e_fixture.h"

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

#endif
