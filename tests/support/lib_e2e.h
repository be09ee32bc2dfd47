/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_e2e.h - the driver library end to end on a NIC, in one process: every kind of entry, what
 * arrives, how things fail, lives and ends. The NIC is a software one, or a ConnectX (tests/hw).
 * Include after <cmocka.h>, from one source file, and run e2e_main(name).
 */
#ifndef TESTS_SUPPORT_LIB_E2E_H
#define TESTS_SUPPORT_LIB_E2E_H

#include "tests/support/lib_e2e_errors.h"
#include "tests/support/lib_e2e_fixture.h"

static const uint32_t e2e_lengths[] = {0,    1,    7,     8,     28,     29,
				       255,  256,  1023,  1024,  1025,   4095,
				       4096, 4097, 12288, 65536, 100001, E2E_BYTES - 8};

#define E2E_LENGTHS (sizeof(e2e_lengths) / sizeof(e2e_lengths[0]))

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
	/* It moves only what access allows. */
	entry.op = RIG_READ;
	entry.flags = RIG_SIGNAL_F;
	assert_ok(rig_qp_post(e2e.a, &entry));
	assert_ok(rig_qp_ring(e2e.a));
	assert_int_not_equal(e2e_next(&e2e).status, RIG_OK);
	e2e_close(&e2e);
}

/* The NIC runs an entry after the next ring, not before. */
static void nothing_runs_before_the_ring(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 100);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 3);
	struct rig_wc wc;

	(void)state;
	memset(e2e.far_, 0xee, 200);
	entry.flags = RIG_SIGNAL_F;
	entry.pieces = &local;
	entry.piece_count = 1;
	for (int i = 0; i < 3; i++)
		assert_ok(rig_qp_post(e2e.a, &entry));
	for (int i = 0; i < 1000; i++)
		assert_int_equal(rig_cq_poll(e2e.cq, &wc, 1), 0);
	assert_int_equal(e2e.far_[3], 0xee);
	assert_ok(rig_qp_ring(e2e.a));
	for (uint16_t i = 0; i < 3; i++)
		assert_int_equal(e2e_next(&e2e).index, i);
	assert_moved(e2e.far_, e2e.near_, 100);
	e2e_close(&e2e);
}

/* Each message takes the oldest receive that no earlier one took. */
static void messages_take_receives_in_order(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_wc wc;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct rig_local to = e2e_local(e2e.far_region, i * 64, 64);

		assert_ok(rig_qp_receive(e2e.b, &to));
	}
	for (uint64_t i = 0; i < 8; i++) {
		const struct rig_entry entry = {
			.op = RIG_SEND,
			.flags = RIG_INLINE_F,
			.inline_data = &i,
			.inline_len_bytes = 8,
		};

		assert_ok(rig_qp_post(e2e.a, &entry));
	}
	assert_ok(rig_qp_ring(e2e.a));
	for (uint64_t i = 0; i < 8; i++) {
		wc = e2e_next(&e2e);
		e2e_expect(&wc, e2e.b, RIG_WC_RECEIVE, RIG_OK);
		assert_int_equal(wc.index, i);
		assert_memory_equal(e2e.far_ + i * 64, &i, 8);
	}
	e2e_close(&e2e);
}

/* A fenced entry starts after earlier reads ended: it sends what the read brought. */
static void a_fence_waits_for_reads(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 60000);
	struct rig_entry read = e2e_remote_entry(&e2e, RIG_READ, 0);
	struct rig_entry write = e2e_remote_entry(&e2e, RIG_WRITE, 100000);
	struct rig_wc wc;

	(void)state;
	e2e_fill(e2e.far_, 60000, 77);
	read.pieces = write.pieces = &local;
	read.piece_count = write.piece_count = 1;
	write.flags = RIG_FENCE_F | RIG_SIGNAL_F;
	for (int round = 0; round < 20; round++) {
		memset(e2e.near_, 0, 60000);
		assert_ok(rig_qp_post(e2e.a, &read));
		assert_ok(rig_qp_post(e2e.a, &write));
		assert_ok(rig_qp_ring(e2e.a));
		wc = e2e_next(&e2e);
		e2e_expect(&wc, e2e.a, RIG_WC_ENTRY, RIG_OK);
		assert_memory_equal(e2e.far_, e2e.far_ + 100000, 60000);
	}
	e2e_close(&e2e);
}

/*
 * A child tries the queue pair, scribbles over the memory it inherited, and goes; nothing is
 * harmed.
 */
static void a_child_after_fork_harms_nothing(void **state)
{
	struct e2e e2e = e2e_open();
	struct rig_local local = e2e_local(e2e.near_region, 0, 50000);
	struct rig_entry entry = e2e_remote_entry(&e2e, RIG_WRITE, 3);
	int status;
	pid_t child;

	(void)state;
	entry.pieces = &local;
	entry.piece_count = 1;
	e2e_run(&e2e, entry);
	child = fork();
	if (child == 0) {
		struct rig_wc wc;
		bool refused = rig_qp_post(e2e.a, &entry) == -EPERM &&
			       rig_qp_ring(e2e.a) == -EPERM &&
			       rig_cq_poll(e2e.cq, &wc, 1) == -EPERM &&
			       rig_close(e2e.nic) == -EPERM;

		memset(e2e.near_, 0xdd, E2E_BYTES);
		memset(e2e.far_, 0xdd, E2E_BYTES);
		_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	memset(e2e.far_, 0xee, 60000);
	e2e_run(&e2e, entry);
	assert_moved(e2e.far_, e2e.near_, 50000);
	e2e_close(&e2e);
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
		cmocka_unit_test(nothing_runs_before_the_ring),
		cmocka_unit_test(messages_take_receives_in_order),
		cmocka_unit_test(a_fence_waits_for_reads),
		cmocka_unit_test(a_child_after_fork_harms_nothing),
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
