/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_soft_qp_test.c - the contract of queue pairs clause by clause, through the public API on the
 * software NIC: make, number, endpoint, connect, room, post, receive, ring, destroy.
 */
#include "tests/support/loop.h"
#include "tests/support/procs.h"
#include "tests/support/soft_pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEEP = 0xee };

/* ---- make ------------------------------------------------------------------------------------ */

/*
 * entries and receives are rounded up to powers of two, receives to 4 at least, and 0 makes no
 * ring. By the room of new, connected queue pairs.
 */
static void test_rings_are_rounded_up(void **state)
{
	static const struct {
		int entries, receives, room_send, room_receive;
	} rows[] = {
	    {1, 0, 1, 0},  {1, 1, 1, 4},     {2, 4, 2, 4},     {3, 5, 4, 8},
	    {5, 9, 8, 16}, {16, 16, 16, 16}, {17, 31, 32, 32}, {100, 3, 128, 4},
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_endpoint own;
		struct rig_cq *cq;
		struct rig_qp *qp;

		assert_int_equal(rig_cq_create(soft.nic, 256, &cq), 0);
		assert_int_equal(rig_qp_create(cq, rows[i].entries, rows[i].receives, &qp), 0);
		assert_int_equal(rig_qp_endpoint(qp, &own), 0);
		assert_int_equal(rig_qp_connect(qp, RIG_LOCAL, &own, NULL), 0);
		assert_int_equal(rig_qp_room(qp, RIG_RING_SEND), rows[i].room_send);
		assert_int_equal(rig_qp_room(qp, RIG_RING_RECEIVE), rows[i].room_receive);
		assert_int_equal(rig_qp_destroy(qp), 0);
		assert_int_equal(rig_cq_destroy(cq), 0);
	}
}

/*
 * entries < 1 and receives < 0 are invalid, more than the NIC holds or 2^15 names the bound, and
 * the output is not written. By calls around each bound.
 */
static void test_impossible_rings_are_refused(void **state)
{
	char bound[32];
	struct rig_cq *cq;
	struct rig_qp *qp = (struct rig_qp *)1;
	int most = (int)soft.info.entries_max;

	(void)state;
	assert_int_equal(rig_cq_create(soft.nic, 1 << 17, &cq), 0);
	soft_refused(rig_qp_create(cq, 0, 4, &qp), -EINVAL, "0");
	soft_refused(rig_qp_create(cq, -1, 4, &qp), -EINVAL, "-1");
	soft_refused(rig_qp_create(cq, INT32_MIN, 4, &qp), -EINVAL, "");
	soft_refused(rig_qp_create(cq, 1, -1, &qp), -EINVAL, "-1");
	assert_true(most <= 1 << 15);
	snprintf(bound, sizeof(bound), "%d", most);
	soft_refused(rig_qp_create(cq, most + 1, 0, &qp), -ERANGE, bound);
	soft_refused(rig_qp_create(cq, INT32_MAX, 0, &qp), -ERANGE, bound);
	most = (int)soft.info.receives_max;
	assert_true(most <= 1 << 15);
	snprintf(bound, sizeof(bound), "%d", most);
	soft_refused(rig_qp_create(cq, 1, most + 1, &qp), -ERANGE, bound);
	soft_refused(rig_qp_create(cq, 1, INT32_MAX, &qp), -ERANGE, bound);
	assert_ptr_equal(qp, (struct rig_qp *)1);
	assert_int_equal(rig_qp_create(cq, (int)soft.info.entries_max, most, &qp), 0);
}

/*
 * The queue pairs of a completion queue, each counted at its rounded rings, may not hold more than
 * it does; a destroyed one gives its room back. By filling a queue of 32.
 */
static void test_the_completion_queue_bounds_its_queue_pairs(void **state)
{
	struct rig_cq *cq;
	struct rig_qp *first, *second, *third;

	(void)state;
	assert_int_equal(rig_cq_create(soft.nic, 32, &cq), 0);
	assert_int_equal(rig_qp_create(cq, 9, 3, &first), 0); /* 16 + 4 */
	soft_refused(rig_qp_create(cq, 9, 0, &second), -EINVAL, "32");
	soft_refused(rig_qp_create(cq, 8, 5, &second), -EINVAL, "32");
	assert_int_equal(rig_qp_create(cq, 8, 4, &second), 0); /* 8 + 4: full */
	soft_refused(rig_qp_create(cq, 1, 0, &third), -EINVAL, "32");
	assert_int_equal(rig_qp_destroy(first), 0);
	assert_int_equal(rig_qp_create(cq, 16, 4, &third), 0);
}

/*
 * Completions of both rings go to the queue pair's completion queue and name its number; a queue
 * pair starts at a random PSN. By a message between two, and by the endpoints of sixteen.
 */
static void test_number_and_psn(void **state)
{
	struct rig_entry entry;
	struct rig_endpoint endpoint;
	uint32_t psns[16];
	unsigned int equal = 0;

	(void)state;
	soft_pair();
	soft_receive(&soft.b, 0, 64);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 8, 0);
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_done(&soft.a).qp, rig_qp_number(soft.a.qp));
	assert_int_equal(soft_done(&soft.b).qp, rig_qp_number(soft.b.qp));
	for (unsigned int i = 0; i < 16; i++) {
		struct rig_cq *cq;
		struct rig_qp *qp;

		assert_int_equal(rig_cq_create(soft.nic, 8, &cq), 0);
		assert_int_equal(rig_qp_create(cq, 1, 0, &qp), 0);
		assert_int_equal(rig_qp_endpoint(qp, &endpoint), 0);
		assert_int_equal(endpoint.qp, rig_qp_number(qp));
		assert_true(endpoint.psn <= 0xffffff);
		psns[i] = endpoint.psn;
		for (unsigned int j = 0; j < i; j++)
			equal += psns[i] == psns[j];
	}
	/* Two of sixteen are equal once in 140,000 runs; two such pairs never. */
	assert_true(equal <= 1);
}

/*
 * An endpoint carries the queue pair's number and the port's address and MTU, is plain data, and
 * goes through its text and back. By comparing it with the NIC's description, and connecting to
 * copies.
 */
static void test_endpoint(void **state)
{
	struct rig_endpoint endpoint, parsed;
	char text[RIG_ENDPOINT_TEXT];
	struct rig_entry entry;

	(void)state;
	soft_sides(4, 4);
	assert_int_equal(rig_qp_endpoint(soft.b.qp, &endpoint), 0);
	assert_int_equal(endpoint.mtu_bytes, soft.info.mtu_bytes);
	assert_int_equal(endpoint.address.link, RIG_LINK_ETHERNET);
	assert_memory_equal(endpoint.address.gid, soft.info.address.gid, 16);
	assert_true(rig_endpoint_print(&endpoint, text, sizeof(text)) < (int)sizeof(text));
	memset(&endpoint, 0, sizeof(endpoint));
	assert_int_equal(rig_endpoint_parse(text, &parsed), 0);
	assert_int_equal(rig_qp_connect(soft.a.qp, RIG_LOCAL, &parsed, NULL), 0);
	assert_int_equal(rig_qp_endpoint(soft.a.qp, &parsed), 0);
	assert_int_equal(rig_qp_connect(soft.b.qp, RIG_REMOTE_WRITE, &parsed, NULL), 0);
	soft.a.mem[0] = 7;
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 1, 9);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	assert_int_equal(soft.b.mem[9], 7);
}

/* ---- connect --------------------------------------------------------------------------------- */

/* Packets that a 4,096-byte write of a's takes when the ends say these MTUs of themselves. */
static uint64_t packets_of_write(uint32_t mtu_a, uint32_t mtu_b)
{
	struct rig_endpoint a, b;
	struct rig_entry entry;
	uint64_t before;

	soft.a = soft.b = (struct soft_side){0};
	soft_sides(16, 0);
	assert_int_equal(rig_qp_endpoint(soft.a.qp, &a), 0);
	assert_int_equal(rig_qp_endpoint(soft.b.qp, &b), 0);
	a.mtu_bytes = mtu_a;
	b.mtu_bytes = mtu_b;
	assert_int_equal(rig_qp_connect(soft.a.qp, RIG_REMOTE_ALL, &b, NULL), 0);
	assert_int_equal(rig_qp_connect(soft.b.qp, RIG_REMOTE_ALL, &a, NULL), 0);
	memset(soft.a.mem, 0x3c, 4096);
	before = loop_counted(soft.nic).tx_packets - loop_counted(soft.nic).tx_ack;
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 4096, 8192);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	assert_memory_equal(soft.a.mem, soft.b.mem + 8192, 4096);
	return loop_counted(soft.nic).tx_packets - loop_counted(soft.nic).tx_ack - before;
}

/*
 * A queue pair is connected at the smaller of both ports' MTUs.
 * By the request packets that one write takes, for several MTUs that the peer gives as its own.
 */
static void test_connect_takes_the_smaller_mtu(void **state)
{
	(void)state;
	if (!soft.info.software)
		skip(); /* its packets cannot be counted */
	assert_int_equal(soft.info.mtu_bytes, 4096);
	assert_int_equal(packets_of_write(4096, 4096), 1);
	assert_int_equal(packets_of_write(1024, 1024), 4);
	assert_int_equal(packets_of_write(256, 256), 16);
}

/*
 * A queue pair can be connected once, to an address of its link layer, with a known access.
 * By calls that are not so, each refused with a sentence, and a message afterwards.
 */
static void test_connect_refusals(void **state)
{
	struct rig_endpoint good, other;
	struct rig_entry entry;

	(void)state;
	soft_sides(4, 4);
	assert_int_equal(rig_qp_endpoint(soft.b.qp, &good), 0);
	other = good;
	other.address.link = RIG_LINK_INFINIBAND;
	other.address.lid = 5;
	soft_refused(rig_qp_connect(soft.a.qp, RIG_LOCAL, &other, NULL), -EINVAL, "connect");
	soft_refused(rig_qp_connect(soft.a.qp, (enum rig_access)7, &good, NULL), -EINVAL, "7");
	soft_refused(rig_qp_connect(soft.a.qp, RIG_LOCAL, NULL, NULL), -EINVAL, "connect");
	soft_connect(RIG_LOCAL, RIG_REMOTE_WRITE);
	soft_refused(rig_qp_connect(soft.a.qp, RIG_LOCAL, &good, NULL), -EINVAL, "already");
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 8, 0);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
}

static uint8_t status_of(enum rig_op op, uint8_t *vendor)
{
	struct rig_entry entry = soft_entry(&soft.a, op, 0, 8, 64);
	struct rig_wc wc;

	memset(soft.b.mem, KEEP, 128);
	memset(soft.a.mem, 1, 8);
	soft_post(&soft.a, &entry);
	wc = soft_next(&soft.a);
	*vendor = wc.vendor_syndrome;
	if (wc.status != RIG_OK)
		for (int i = 0; i < 128; i++)
			assert_int_equal(soft.b.mem[i], KEEP);
	return wc.status;
}

/*
 * The peer may do what connect's access says, whatever the region allows beyond: nothing, write, or
 * write, read and atomics. By each operation against each access, with regions that allow all: what
 * is not allowed is an invalid request (0x8a) and changes no byte.
 */
static void test_connect_access(void **state)
{
	static const enum rig_op ops[] = {RIG_WRITE, RIG_READ, RIG_FETCH_ADD, RIG_COMPARE_SWAP};
	static const enum rig_access accesses[] = {RIG_LOCAL, RIG_REMOTE_WRITE, RIG_REMOTE_ALL};

	(void)state;
	for (unsigned int access = 0; access < 3; access++) {
		for (unsigned int op = 0; op < 4; op++) {
			bool allowed = access == 2 || (access == 1 && op == 0);
			uint8_t vendor, status;

			soft.a = soft.b = (struct soft_side){0};
			soft_sides(16, 0);
			soft_connect(RIG_LOCAL, accesses[access]);
			status = status_of(ops[op], &vendor);
			if (allowed) {
				assert_int_equal(status, RIG_OK);
				continue;
			}
			if (status != RIG_REMOTE_INVALID_REQUEST || vendor != 0x8a)
				fail_msg("access %u, operation %u: %s, %#x", access, op,
					 rig_status_text(status), vendor);
		}
	}
}

/*
 * A queue pair may be its own peer: it moves bytes between regions of this process, through the
 * NIC, and only as access allows. By writes with and without the right.
 */
static void test_connect_to_itself(void **state)
{
	struct rig_endpoint own;
	struct rig_entry entry;
	struct rig_wc wc;

	(void)state;
	soft_sides(4, 4);
	assert_int_equal(rig_qp_endpoint(soft.a.qp, &own), 0);
	assert_int_equal(rig_qp_connect(soft.a.qp, RIG_REMOTE_WRITE, &own, NULL), 0);
	assert_int_equal(rig_qp_endpoint(soft.b.qp, &own), 0);
	assert_int_equal(rig_qp_connect(soft.b.qp, RIG_LOCAL, &own, NULL), 0);
	memset(soft.a.mem, 0x11, 4096);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 4096, 128);
	soft_post(&soft.a, &entry); /* b's region, through a to a */
	soft_done(&soft.a);
	assert_memory_equal(soft.a.mem, soft.b.mem + 128, 4096);
	memset(soft.b.mem, 0x77, 64);
	entry = soft_entry(&soft.b, RIG_WRITE, 0, 64, 0);
	soft_post(&soft.b, &entry);
	wc = soft_next(&soft.b);
	/* As responder it fails at once, and its own entry with it, before its NAK comes back. */
	assert_true(wc.status == RIG_REMOTE_INVALID_REQUEST || wc.status == RIG_FLUSHED);
	assert_memory_equal(soft.a.mem, soft.a.mem + 64, 64);
}

/* ---- room, post, ring ------------------------------------------------------------------------ */

/*
 * A send slot is free once a completion of its entry or of a later one was polled, not before.
 * By entries of which only the last asks for a completion.
 */
static void test_room_of_the_send_ring(void **state)
{
	struct rig_entry entry;

	(void)state;
	soft_sides(8, 0);
	soft_connect(RIG_REMOTE_ALL, RIG_REMOTE_ALL);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 64, 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(rig_qp_room(soft.a.qp, RIG_RING_SEND), 8 - i);
		assert_int_equal(rig_qp_index(soft.a.qp, RIG_RING_SEND), i);
		entry.flags = i == 4 ? RIG_SIGNAL_F : 0;
		soft_post(&soft.a, &entry);
	}
	assert_int_equal(rig_qp_room(soft.a.qp, RIG_RING_SEND), 0);
	soft_refused(rig_qp_post(soft.a.qp, &entry), -EAGAIN, "full");
	proc_sleep_ms(20); /* they are all done by now */
	assert_int_equal(rig_qp_room(soft.a.qp, RIG_RING_SEND), 0);
	assert_int_equal(soft_done(&soft.a).index, 4);
	assert_int_equal(rig_qp_room(soft.a.qp, RIG_RING_SEND), 5);
}

/*
 * A receive's slot is free once its own completion was polled.
 * By filling the ring, and messages one by one.
 */
static void test_room_of_the_receive_ring(void **state)
{
	struct rig_local local;
	struct rig_entry entry;

	(void)state;
	soft_sides(8, 4);
	soft_connect(RIG_LOCAL, RIG_LOCAL);
	local = soft_local(&soft.b, 0, 64);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(rig_qp_room(soft.b.qp, RIG_RING_RECEIVE), 4 - i);
		assert_int_equal(rig_qp_receive(soft.b.qp, &local), 0);
	}
	assert_int_equal(rig_qp_room(soft.b.qp, RIG_RING_RECEIVE), 0);
	soft_refused(rig_qp_receive(soft.b.qp, &local), -EAGAIN, "full");
	entry = soft_entry(&soft.a, RIG_SEND, 0, 8, 0);
	for (int i = 0; i < 2; i++) {
		soft_post(&soft.a, &entry);
		soft_done(&soft.a);
		assert_int_equal(rig_qp_room(soft.b.qp, RIG_RING_RECEIVE), i);
		assert_int_equal(soft_done(&soft.b).index, i);
		assert_int_equal(rig_qp_room(soft.b.qp, RIG_RING_RECEIVE), i + 1);
	}
}

/*
 * Posted entries run after the next ring, all of them, and not before; a ring without any does
 * nothing. By posting without a ring, looking, and ringing.
 */
static void test_entries_run_after_the_ring(void **state)
{
	struct rig_entry entry;

	(void)state;
	soft_pair();
	assert_int_equal(rig_qp_ring(soft.a.qp), 0);
	memset(soft.a.mem, 0x42, 64);
	memset(soft.b.mem, KEEP, 1024);
	for (uint32_t i = 0; i < 4; i++) {
		entry = soft_entry(&soft.a, RIG_WRITE, 0, 64, i * 64);
		assert_int_equal(rig_qp_post(soft.a.qp, &entry), 0);
	}
	soft_none(&soft.a, 20);
	for (int i = 0; i < 256; i++)
		assert_int_equal(soft.b.mem[i], KEEP);
	assert_int_equal(rig_qp_ring(soft.a.qp), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(soft_done(&soft.a).index, i);
	for (int i = 0; i < 256; i++)
		assert_int_equal(soft.b.mem[i], 0x42);
	assert_int_equal(rig_qp_ring(soft.a.qp), 0);
	soft_none(&soft.a, 5);
}

/*
 * post and receive on a queue pair that is not connected are invalid, and change nothing.
 * By calls before connect.
 */
static void test_not_connected(void **state)
{
	struct rig_entry entry;
	struct rig_local local;

	(void)state;
	soft_sides(4, 4);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 8, 0);
	local = soft_local(&soft.a, 0, 8);
	soft_refused(rig_qp_post(soft.a.qp, &entry), -EINVAL, "not connected");
	soft_refused(rig_qp_receive(soft.a.qp, &local), -EINVAL, "not connected");
	soft_refused(rig_qp_ring(soft.a.qp), -EINVAL, "not connected");
	assert_int_equal(rig_qp_index(soft.a.qp, RIG_RING_SEND), 0);
	soft_connect(RIG_REMOTE_ALL, RIG_REMOTE_ALL);
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_done(&soft.a).index, 0);
}

/*
 * An entry over the port's largest message or 2^31 - 1 bytes, or with a set field that this version
 * does not support, is refused, and no byte of the ring changes. By a table of such entries, and
 * the ring's bytes before and after.
 */
static void test_post_refusals(void **state)
{
	static uint8_t before[16 * 64];
	struct rig_local pieces[3];
	struct rig_entry good, entry;

	(void)state;
	soft_pair();
	memcpy(before, soft.a.qp->sq, sizeof(before));
	good = soft_entry(&soft.a, RIG_WRITE, 0, 8, 0);
	for (int i = 0; i < 3; i++)
		pieces[i] = (struct rig_local){soft.a.remote.addr, 0x2aaaaaab, good.pieces[0].key};
	assert_true(soft.info.message_max_bytes <= 1u << 31);
	for (int row = 0; row < 9; row++) {
		entry = good;
		entry.pieces = pieces;
		entry.piece_count = 1;
		pieces[0].len_bytes = 8;
		switch (row) {
		case 0:
			pieces[0].len_bytes = (uint32_t)soft.info.message_max_bytes + 1;
			break;
		case 1:
			pieces[0].len_bytes = 1u << 31;
			break;
		case 2:
			pieces[0].len_bytes = 0x2aaaaaab;
			entry.piece_count = 3;
			break;
		case 3:
			entry.remote_qp = 1;
			break;
		case 4:
			entry.remote_qkey = 1;
			break;
		case 5:
			entry.remote_dc_key = 1;
			break;
		case 6:
			entry.stream = 1;
			break;
		case 7:
			entry.ah = (struct rig_ah *)1;
			break;
		case 8:
			entry.op = 77;
			break;
		}
		if (rig_qp_post(soft.a.qp, &entry) != -EINVAL || !rig_error()[0])
			fail_msg("row %d was not refused", row);
	}
	assert_memory_equal(before, soft.a.qp->sq, sizeof(before));
	assert_int_equal(rig_qp_index(soft.a.qp, RIG_RING_SEND), 0);
	soft_post(&soft.a, &good);
	soft_done(&soft.a);
}

/* ---- receive --------------------------------------------------------------------------------- */

/*
 * The NIC fills a receive as soon as it was posted, oldest first, with the next message that no
 * earlier receive took; none needs a ring. By three receives and three messages.
 */
static void test_receives_are_filled_in_order(void **state)
{
	struct rig_entry entry;

	(void)state;
	soft_pair();
	for (uint32_t i = 0; i < 3; i++)
		soft_receive(&soft.b, i * 256, 256);
	for (uint32_t i = 0; i < 3; i++) {
		memset(soft.a.mem + i * 64, (int)i + 1, 64);
		entry = soft_entry(&soft.a, RIG_SEND, i * 64, 64 - i, 0);
		soft_post(&soft.a, &entry);
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct rig_wc wc = soft_done(&soft.b);

		assert_int_equal(wc.kind, RIG_WC_RECEIVE);
		assert_int_equal(wc.index, i);
		assert_int_equal(wc.len_bytes, 64 - i);
		assert_memory_equal(soft.b.mem + i * 256, soft.a.mem + i * 64, 64 - i);
		assert_int_equal(soft.b.mem[i * 256 + 64 - i], 0);
	}
}

/*
 * receive is refused without a receive ring and with a bad piece.
 * By such calls.
 */
static void test_receive_refusals(void **state)
{
	struct rig_local local;

	(void)state;
	soft_sides(4, 0);
	soft_connect(RIG_LOCAL, RIG_LOCAL);
	local = soft_local(&soft.a, 0, 64);
	soft_refused(rig_qp_receive(soft.a.qp, &local), -EINVAL, "no receive ring");
	soft_refused(rig_qp_receive_pieces(soft.a.qp, &local, 1), -EINVAL, "no receive ring");
	soft.a = soft.b = (struct soft_side){0};
	soft_pair();
	local.len_bytes = 1u << 31;
	soft_refused(rig_qp_receive(soft.a.qp, &local), -EINVAL, "2147483648");
	assert_int_equal(rig_qp_room(soft.a.qp, RIG_RING_RECEIVE), 16);
}

/*
 * A send that finds no receive is retried without end, and lands once one is posted: longer than
 * all timeouts. By posting the receive 700 ms after the send.
 */
static void test_a_send_waits_for_a_receive(void **state)
{
	struct rig_entry entry;

	(void)state;
	soft_pair();
	memcpy(soft.a.mem, "late", 4);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 4, 0);
	soft_post(&soft.a, &entry);
	soft_none(&soft.a, 700);
	if (soft.info.software)
		assert_true(loop_counted(soft.nic).tx_rnr > 100);
	soft_receive(&soft.b, 0, 64);
	soft_done(&soft.a);
	assert_int_equal(soft_done(&soft.b).len_bytes, 4);
	assert_memory_equal(soft.b.mem, "late", 4);
}

/*
 * A message longer than its receive fails the receive (local length), the sender's entry (remote
 * invalid request), and both queue pairs. By 65 bytes into 64, and what follows on both.
 */
static void test_a_message_longer_than_its_receive(void **state)
{
	struct rig_entry entry;

	(void)state;
	soft_pair();
	soft_receive(&soft.b, 0, 64);
	soft_receive(&soft.b, 64, 64);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 65, 0);
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_next(&soft.a).status, RIG_REMOTE_INVALID_REQUEST);
	assert_int_equal(soft_next(&soft.b).status, RIG_LOCAL_LENGTH);
	assert_int_equal(soft_next(&soft.b).status, RIG_FLUSHED);
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_next(&soft.a).status, RIG_FLUSHED);
	entry = soft_entry(&soft.b, RIG_SEND, 0, 8, 0);
	soft_post(&soft.b, &entry);
	assert_int_equal(soft_next(&soft.b).status, RIG_FLUSHED);
}

/*
 * A queue pair without a receive ring takes no messages, and its peer writes and reads all the
 * same. By a write and a read, then a send, which is told to wait (RNR) as if no receive were
 * posted.
 */
static void test_no_receive_ring(void **state)
{
	struct rig_entry entry;

	(void)state;
	soft_sides(4, 0);
	soft_connect(RIG_REMOTE_ALL, RIG_REMOTE_ALL);
	memset(soft.a.mem, 9, 64);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 64, 0);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	entry = soft_entry(&soft.a, RIG_READ, 1024, 64, 0);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	assert_memory_equal(soft.a.mem + 1024, soft.a.mem, 64);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 64, 0);
	soft_post(&soft.a, &entry);
	soft_none(&soft.a, 50);
	soft_none(&soft.b, 5);
	if (soft.info.software)
		assert_true(loop_counted(soft.nic).tx_rnr > 5);
}

/*
 * Writes, reads and sends of 0 bytes complete, write nothing and carry no data segment; a send of 0
 * bytes takes a receive. By each kind, with an empty piece and without any, amid memory that stays.
 */
static void test_empty_messages(void **state)
{
	static const enum rig_op ops[] = {RIG_WRITE, RIG_READ, RIG_SEND};
	struct rig_entry entry;
	struct wqe_ctrl_seg ctrl;

	(void)state;
	soft_pair();
	memset(soft.a.mem, KEEP, 4096);
	memset(soft.b.mem, KEEP, 4096);
	for (unsigned int i = 0; i < 6; i++) {
		char *slot = soft.a.qp->sq + (soft.a.qp->sq_pos & soft.a.qp->sq_mask);

		entry = soft_entry(&soft.a, ops[i / 2], 0, 0, 64);
		if (i % 2)
			entry.piece_count = 0;
		if (ops[i / 2] == RIG_SEND)
			soft_receive(&soft.b, 0, 64);
		soft_post(&soft.a, &entry);
		memcpy(&ctrl, slot, sizeof(ctrl));
		assert_int_equal(wqe_ctrl_ds(&ctrl), ops[i / 2] == RIG_SEND ? 1 : 2);
		soft_done(&soft.a);
		if (ops[i / 2] == RIG_SEND)
			assert_int_equal(soft_done(&soft.b).len_bytes, 0);
	}
	for (int i = 0; i < 4096; i++)
		assert_true(soft.a.mem[i] == KEEP && soft.b.mem[i] == KEEP);
}

/* ---- destroy --------------------------------------------------------------------------------- */

/*
 * A destroyed queue pair runs none of its entries, its completions that were not polled are gone,
 * and the handle is invalid; those of another queue pair on the same queue stay [cases 9]. By two
 * queue pairs on one queue with completions of both in it.
 */
static void test_destroy_takes_only_its_own(void **state)
{
	struct rig_endpoint a, second;
	struct rig_entry entry;
	struct rig_qp *qp;
	struct rig_wc wc;

	(void)state;
	soft_pair();
	assert_int_equal(rig_qp_create(soft.a.cq, 16, 0, &qp), 0);
	assert_int_equal(rig_qp_endpoint(qp, &second), 0);
	assert_int_equal(rig_qp_endpoint(soft.a.qp, &a), 0);
	assert_int_equal(rig_qp_connect(qp, RIG_REMOTE_ALL, &second, NULL), 0);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 8, 0);
	for (int i = 0; i < 5; i++) {
		soft_post(&soft.a, &entry);
		assert_int_equal(rig_qp_post(qp, &entry), 0);
		assert_int_equal(rig_qp_ring(qp), 0);
	}
	/* Not rung: never run. */
	memset(soft.b.mem + 512, KEEP, 64);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 64, 512);
	assert_int_equal(rig_qp_post(qp, &entry), 0);
	proc_sleep_ms(20);
	assert_int_equal(rig_qp_destroy(qp), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(soft_done(&soft.a).qp, a.qp);
	assert_int_equal(rig_cq_poll(soft.a.cq, &wc, 1), 0);
	assert_int_equal(soft.b.mem[512], KEEP);
	soft_refused(rig_qp_destroy(qp), -EINVAL, "rig_qp_destroy");
	soft_refused(rig_qp_post(qp, &entry), -EINVAL, "rig_qp_post");
}

/*
 * A completion queue cannot be destroyed while a queue pair of it lives.
 * By trying, and again after its queue pair is gone.
 */
static void test_a_completion_queue_in_use(void **state)
{
	(void)state;
	soft_sides(4, 4);
	soft_refused(rig_cq_destroy(soft.a.cq), -EBUSY, "queue pair");
	assert_int_equal(rig_qp_destroy(soft.a.qp), 0);
	assert_int_equal(rig_cq_destroy(soft.a.cq), 0);
	soft_refused(rig_cq_destroy(soft.a.cq), -EINVAL, "rig_cq_destroy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(test_rings_are_rounded_up),
	    SOFT_TEST(test_impossible_rings_are_refused),
	    SOFT_TEST(test_the_completion_queue_bounds_its_queue_pairs),
	    SOFT_TEST(test_number_and_psn),
	    SOFT_TEST(test_endpoint),
	    SOFT_TEST(test_connect_takes_the_smaller_mtu),
	    SOFT_TEST(test_connect_refusals),
	    SOFT_TEST(test_connect_access),
	    SOFT_TEST(test_connect_to_itself),
	    SOFT_TEST(test_room_of_the_send_ring),
	    SOFT_TEST(test_room_of_the_receive_ring),
	    SOFT_TEST(test_entries_run_after_the_ring),
	    SOFT_TEST(test_not_connected),
	    SOFT_TEST(test_post_refusals),
	    SOFT_TEST(test_receives_are_filled_in_order),
	    SOFT_TEST(test_receive_refusals),
	    SOFT_TEST(test_a_send_waits_for_a_receive),
	    SOFT_TEST(test_a_message_longer_than_its_receive),
	    SOFT_TEST(test_no_receive_ring),
	    SOFT_TEST(test_empty_messages),
	    SOFT_TEST(test_destroy_takes_only_its_own),
	    SOFT_TEST(test_a_completion_queue_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
