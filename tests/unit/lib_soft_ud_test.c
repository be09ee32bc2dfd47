/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_soft_ud_test.c - datagrams and shared receive queues through the public API on the software
 * NIC, within one process. Between processes: tests/proc/datagram_test.c.
 */
#include "tests/support/procs.h"
#include "tests/support/soft_pair.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { QKEY = 0x11223344, GRH = 40, ENTRIES = 16, RECEIVES = 16 };

/* Each side's queue pair becomes a datagram one, on srq (NULL: with receives of its own). */
static void side_datagram(struct soft_side *side, struct rig_srq *srq, uint32_t qkey)
{
	const struct rig_qp_options options = {.transport = RIG_UD, .srq = srq};
	struct rig_start with = {.qkey = qkey};

	assert_int_equal(rig_qp_destroy(side->qp), 0);
	if (rig_qp_create_with(side->cq, ENTRIES, srq ? 0 : RECEIVES, &options, &side->qp) ||
	    rig_qp_start(side->qp, &with))
		fail_msg("%s", rig_error());
}

static struct rig_ah *handle_of(const struct rig_address *address)
{
	struct rig_ah *ah = NULL;

	if (rig_ah_create(soft.nic, address, NULL, &ah))
		fail_msg("%s", rig_error());
	return ah;
}

/* datagrams - both sides, and a handle of this port. */
static struct rig_ah *datagrams(void)
{
	soft_sides(ENTRIES, RECEIVES);
	side_datagram(&soft.a, NULL, QKEY);
	side_datagram(&soft.b, NULL, QKEY);
	return handle_of(&soft.info.address);
}

/* to_b - an entry of a, to b. */
static struct rig_entry to_b(struct rig_ah *ah, uint32_t offset, uint32_t len_bytes)
{
	struct rig_entry entry = soft_entry(&soft.a, RIG_SEND, offset, len_bytes, 0);

	entry.ah = ah;
	entry.remote_qp = rig_qp_number(soft.b.qp);
	entry.remote_qkey = QKEY;
	return entry;
}

static void fill(struct soft_side *side, size_t len)
{
	for (size_t i = 0; i < len; i++)
		side->mem[i] = (uint8_t)(i * 13 + 1);
}

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * Datagrams of every length up to the MTU arrive behind the 40 bytes, with immediate data if it was
 * sent; the completion names the sender. By comparing bytes around each.
 */
static void test_every_length_arrives(void **state)
{
	static const uint32_t lens[] = {0, 1, 7, 8, 255, 1024, 4095, 4096};
	struct rig_ah *ah = datagrams();

	(void)state;
	fill(&soft.a, 8192);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint32_t len = lens[i] < soft.info.mtu_bytes ? lens[i] : soft.info.mtu_bytes;
		struct rig_entry entry = to_b(ah, 5, len);
		struct rig_wc wc;

		memset(soft.b.mem, 0xee, 8192);
		soft_receive(&soft.b, 0, GRH + len);
		if (i % 2) {
			entry.flags |= RIG_IMM_F;
			entry.imm = 0x1000 + len;
		}
		soft_post(&soft.a, &entry);
		soft_done(&soft.a);
		wc = soft_done(&soft.b);
		assert_int_equal(wc.kind, RIG_WC_RECEIVE);
		assert_int_equal(wc.len_bytes, GRH + len);
		assert_int_equal(wc.source_qp, rig_qp_number(soft.a.qp));
		assert_true(wc.flags & RIG_WC_GRH_F);
		assert_int_equal(!!(wc.flags & RIG_WC_IMM_F), i % 2);
		assert_int_equal(wc.imm, i % 2 ? 0x1000 + len : 0);
		assert_memory_equal(soft.b.mem + GRH, soft.a.mem + 5, len);
		assert_int_equal(soft.b.mem[GRH + len], 0xee);
	}
}

/* Inline data, and several pieces at both ends, the 40 bytes in a piece of their own. */
static void test_inline_and_pieces(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_entry entry = to_b(ah, 0, 0);
	const struct rig_local from[3] = {soft_local(&soft.a, 10, 100), soft_local(&soft.a, 0, 0),
					  soft_local(&soft.a, 500, 11)};
	const struct rig_local to[3] = {soft_local(&soft.b, 1000, GRH), soft_local(&soft.b, 0, 50),
					soft_local(&soft.b, 64, 61)};

	(void)state;
	fill(&soft.a, 1024);
	assert_int_equal(rig_qp_receive_pieces(soft.b.qp, to, 3), 0);
	soft_receive(&soft.b, 2048, GRH + 200);
	entry.pieces = from;
	entry.piece_count = 3;
	soft_post(&soft.a, &entry);
	entry.flags |= RIG_INLINE_F;
	entry.inline_data = soft.a.mem;
	entry.inline_len_bytes = 200;
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_done(&soft.b).len_bytes, GRH + 111);
	assert_memory_equal(soft.b.mem, soft.a.mem + 10, 50);
	assert_memory_equal(soft.b.mem + 64, soft.a.mem + 60, 50);
	assert_memory_equal(soft.b.mem + 64 + 50, soft.a.mem + 500, 11);
	assert_int_equal(soft_done(&soft.b).len_bytes, GRH + 200);
	assert_memory_equal(soft.b.mem + 2048 + GRH, soft.a.mem, 200);
}

/* A receiver can answer: what rig_wc_source says, and the number in the completion, lead back. */
static void test_an_answer_finds_its_way(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_entry entry = to_b(ah, 0, 8);
	struct rig_address source;
	struct rig_wc wc;

	(void)state;
	soft_receive(&soft.a, 1024, GRH + 8);
	soft_receive(&soft.b, 1024, GRH + 8);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	wc = soft_done(&soft.b);
	assert_int_equal(rig_wc_source(&wc, soft.b.mem + 1024, &source), 0);
	assert_memory_equal(&source, &soft.info.address, sizeof(source));
	entry = soft_entry(&soft.b, RIG_SEND, 0, 8, 0);
	entry.ah = handle_of(&source);
	entry.remote_qp = wc.source_qp;
	entry.remote_qkey = QKEY;
	soft_post(&soft.b, &entry);
	assert_int_equal(soft_done(&soft.a).source_qp, rig_qp_number(soft.b.qp));
}

/* ---- what is lost ---------------------------------------------------------------------------- */

/*
 * Another qkey, no receive, one that is too short, no such queue pair: lost, and done for the
 * sender; the receive is the next one's. By one that arrives after each.
 */
static void test_what_does_not_fit_is_lost(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_entry good = to_b(ah, 0, 64), bad;

	(void)state;
	soft_post(&soft.a, &good); /* no receive */
	soft_done(&soft.a);
	soft_none(&soft.b, 50);
	soft_receive(&soft.b, 0, GRH + 64);
	bad = good;
	bad.remote_qkey = QKEY + 1;
	soft_post(&soft.a, &bad);
	soft_done(&soft.a);
	bad = good;
	bad.remote_qp = rig_qp_number(soft.b.qp) ^ 0x800;
	soft_post(&soft.a, &bad);
	soft_done(&soft.a);
	bad = to_b(ah, 0, 65);
	soft_post(&soft.a, &bad);
	soft_done(&soft.a);
	soft_none(&soft.b, 50);
	good = to_b(ah, 0, 64);
	soft_post(&soft.a, &good);
	soft_done(&soft.a);
	assert_int_equal(soft_done(&soft.b).index, 0);
	soft_none(&soft.b, 20);
}

/* Bit 31 of an entry's qkey stands for the queue pair's own. */
static void test_the_queue_pairs_own_qkey(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_entry entry = to_b(ah, 0, 8);

	(void)state;
	soft_receive(&soft.b, 0, GRH + 8);
	entry.remote_qkey = 0x80000000u;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	soft_done(&soft.b);
}

/* A bad key fails the entry and its queue pair, and no other. */
static void test_a_bad_key_fails_the_sender(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_entry entry = to_b(ah, 0, 8);
	struct rig_local bad = *entry.pieces;

	(void)state;
	soft_receive(&soft.b, 0, GRH + 8);
	bad.key ^= 0x100;
	entry.pieces = &bad;
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_next(&soft.a).status, RIG_LOCAL_PROTECTION);
	assert_int_equal(rig_qp_post(soft.a.qp, &entry), 0);
	assert_int_equal(rig_qp_ring(soft.a.qp), 0);
	assert_int_equal(soft_next(&soft.a).status, RIG_FLUSHED);
	side_datagram(&soft.a, NULL, QKEY);
	entry = to_b(ah, 0, 8);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	soft_done(&soft.b);
}

/* A handle may be destroyed as soon as the entry is posted. */
static void test_a_handle_ends_before_its_entries(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_entry entry = to_b(ah, 0, 8);

	(void)state;
	soft_receive(&soft.b, 0, GRH + 8);
	assert_int_equal(rig_qp_post(soft.a.qp, &entry), 0);
	assert_int_equal(rig_ah_destroy(ah), 0);
	assert_int_equal(rig_qp_post(soft.a.qp, &entry), -EINVAL);
	assert_int_equal(rig_qp_ring(soft.a.qp), 0);
	soft_done(&soft.a);
	soft_done(&soft.b);
}

/* Counters wrap: more datagrams than 16 bits count, in entries of two slots. */
static void test_indices_wrap(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_wc wc;

	(void)state;
	for (uint32_t i = 0; i < 40000; i++) {
		struct rig_entry entry = to_b(ah, 0, 8);

		entry.flags = i % 4 == 3 ? RIG_SIGNAL_F : 0;
		memcpy(soft.a.mem, &i, sizeof(i));
		soft_receive(&soft.b, 0, GRH + 8);
		soft_post(&soft.a, &entry);
		wc = soft_done(&soft.b);
		assert_int_equal(wc.index, (uint16_t)i);
		assert_memory_equal(soft.b.mem + GRH, &i, sizeof(i));
		if (i % 4 == 3)
			assert_int_equal(soft_done(&soft.a).index, (uint16_t)(2 * i));
	}
}

/* ---- multicast ------------------------------------------------------------------------------- */

/* A group's datagrams come to each member, to none that left, and only with the right qkey. */
static void test_a_group_has_members(void **state)
{
	const struct rig_address group = {.link = RIG_LINK_ETHERNET,
					  .gid = {[10] = 0xff, 0xff, 239, 7, 8, 9}};
	struct rig_entry entry;

	(void)state;
	datagrams();
	entry = to_b(handle_of(&group), 0, 32);
	entry.remote_qp = 0xffffff;
	fill(&soft.a, 32);
	for (int i = 0; i < 4; i++) {
		soft_receive(&soft.a, 1024, GRH + 32);
		soft_receive(&soft.b, 1024, GRH + 32);
	}
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	soft_none(&soft.b, 50);
	assert_int_equal(rig_qp_attach(soft.a.qp, &group), 0);
	assert_int_equal(rig_qp_attach(soft.b.qp, &group), 0);
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_done(&soft.b).source_qp, rig_qp_number(soft.a.qp));
	assert_memory_equal(soft.b.mem + 1024 + GRH, soft.a.mem, 32);
	soft_done(&soft.a);
	assert_int_equal(soft_done(&soft.a).len_bytes, GRH + 32);
	assert_int_equal(rig_qp_detach(soft.b.qp, &group), 0);
	soft_refused(rig_qp_detach(soft.b.qp, &group), -EINVAL, "rig_qp_detach");
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	soft_done(&soft.a);
	soft_none(&soft.b, 50);
	entry.remote_qkey++;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	soft_none(&soft.a, 50);
}

/* ---- shared receive queues ------------------------------------------------------------------- */

static struct rig_srq *srq_on(struct rig_cq *cq, int receives)
{
	struct rig_srq *srq = NULL;

	if (rig_srq_create(cq, receives, &srq))
		fail_msg("%s", rig_error());
	return srq;
}

static void shared_receive(struct rig_srq *srq, uint32_t offset, uint32_t len_bytes)
{
	struct rig_local local = soft_local(&soft.b, offset, len_bytes);

	if (rig_srq_receive(srq, &local, 1))
		fail_msg("%s", rig_error());
}

/* Datagram and reliable queue pairs share receives; each completion says whose it was. */
static void test_receives_are_shared(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_srq *srq = srq_on(soft.b.cq, 7);
	const struct rig_qp_options options = {.srq = srq};
	struct rig_endpoint ends[2];
	struct rig_entry datagram, message;
	struct rig_qp *rc[2];

	(void)state;
	side_datagram(&soft.b, srq, QKEY);
	assert_int_equal(rig_qp_create(soft.a.cq, ENTRIES, 0, &rc[0]), 0);
	assert_int_equal(rig_qp_create_with(soft.b.cq, ENTRIES, 0, &options, &rc[1]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig_qp_endpoint(rc[i], &ends[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig_qp_connect(rc[i], RIG_LOCAL, &ends[!i], NULL), 0);
	datagram = to_b(ah, 0, 100);
	message = soft_entry(&soft.a, RIG_SEND, 0, 100, 0);
	fill(&soft.a, 100);
	for (uint32_t i = 0; i < 200; i++) {
		uint16_t index = rig_srq_index(srq);
		bool first = i % 3 == 0;
		struct rig_wc wc;

		memset(soft.b.mem + index * 256, 0, 256);
		shared_receive(srq, index * 256u, 256);
		assert_int_equal(
		    rig_qp_post(first ? soft.a.qp : rc[0], first ? &datagram : &message), 0);
		assert_int_equal(rig_qp_ring(first ? soft.a.qp : rc[0]), 0);
		soft_done(&soft.a);
		wc = soft_done(&soft.b);
		assert_int_equal(wc.qp, rig_qp_number(first ? soft.b.qp : rc[1]));
		assert_int_equal(wc.index, index);
		assert_int_equal(wc.len_bytes, first ? GRH + 100 : 100);
		assert_int_equal(wc.flags & RIG_WC_GRH_F, first ? RIG_WC_GRH_F : 0);
		assert_memory_equal(soft.b.mem + index * 256 + (first ? GRH : 0), soft.a.mem, 100);
	}
	assert_int_equal(rig_srq_room(srq), 7);
}

/* rig_wait reports once that fewer than the limit are left. */
static void test_the_limit_comes_as_an_event(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_srq *srq = srq_on(soft.b.cq, 7);
	struct rig_entry entry;
	struct rig_event event;

	(void)state;
	side_datagram(&soft.b, srq, QKEY);
	entry = to_b(ah, 0, 8);
	for (int i = 0; i < 4; i++)
		shared_receive(srq, 0, GRH + 8);
	assert_int_equal(rig_srq_limit(srq, 3), 0);
	for (int left = 3; left >= 0; left--) {
		int events;

		soft_post(&soft.a, &entry);
		soft_done(&soft.b);
		events = rig_wait(soft.nic, left == 2 ? SOFT_WAIT_MS : 20, &event, 1);
		assert_int_equal(events, left == 2);
		if (events != 1)
			continue;
		assert_int_equal(event.kind, RIG_EVENT_SRQ_LIMIT);
		assert_ptr_equal(event.srq, srq);
	}
}

/* A message longer than its shared receive fails its queue pair; the receive is not lost to others.
 */
static void test_a_failed_queue_pair_leaves_the_rest(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_srq *srq = srq_on(soft.b.cq, 3);
	const struct rig_qp_options options = {.srq = srq};
	struct rig_endpoint ends[2];
	struct rig_entry entry;
	struct rig_qp *rc[2];
	struct rig_wc wc;

	(void)state;
	side_datagram(&soft.b, srq, QKEY);
	assert_int_equal(rig_qp_create(soft.a.cq, ENTRIES, 0, &rc[0]), 0);
	assert_int_equal(rig_qp_create_with(soft.b.cq, ENTRIES, 0, &options, &rc[1]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig_qp_endpoint(rc[i], &ends[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig_qp_connect(rc[i], RIG_LOCAL, &ends[!i], NULL), 0);
	for (int i = 0; i < 3; i++)
		shared_receive(srq, 0, GRH + 8);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 100, 0);
	assert_int_equal(rig_qp_post(rc[0], &entry), 0);
	assert_int_equal(rig_qp_ring(rc[0]), 0);
	assert_int_equal(soft_next(&soft.a).status, RIG_REMOTE_INVALID_REQUEST);
	wc = soft_next(&soft.b);
	assert_int_equal(wc.status, RIG_LOCAL_LENGTH);
	assert_int_equal(wc.index, 0);
	assert_int_equal(rig_srq_room(srq), 1);
	entry = to_b(ah, 0, 8);
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_done(&soft.b).index, 1);
	assert_int_equal(rig_qp_destroy(rc[1]), 0);
	assert_int_equal(rig_srq_room(srq), 2);
}

/* What a queue pair has taken and not used comes back when it goes: here, for a datagram that was
 * too long for it. */
static void test_a_destroyed_queue_pair_keeps_no_receive(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_srq *srq = srq_on(soft.b.cq, 3);
	struct rig_entry entry = to_b(ah, 0, 100);

	(void)state;
	side_datagram(&soft.b, srq, QKEY);
	entry.remote_qp = rig_qp_number(soft.b.qp);
	shared_receive(srq, 0, GRH + 8);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	soft_none(&soft.b, 50);
	assert_int_equal(rig_srq_room(srq), 2);
	assert_int_equal(rig_qp_destroy(soft.b.qp), 0);
	assert_int_equal(rig_srq_room(srq), 3);
	assert_int_equal(rig_srq_destroy(srq), 0);
}

/* ---- InfiniBand ------------------------------------------------------------------------------ */

static int infiniband_setup(void **state)
{
	(void)state;
	if (strcmp(proc_nic(), "soft0") != 0)
		skip();
	(void)proc_new_infiniband();
	soft = (struct soft_bed){0};
	if (rig_open("soft0", &soft.nic) || rig_nic_info(soft.nic, &soft.info))
		fail_msg("%s", rig_error());
	return 0;
}

/* By LID alone there is no GRH: its 40 bytes are left alone, and the source is a LID. */
static void test_infiniband_goes_by_lid(void **state)
{
	struct rig_ah *ah = datagrams();
	struct rig_entry entry = to_b(ah, 0, 100);
	struct rig_address source;
	struct rig_wc wc;

	(void)state;
	fill(&soft.a, 100);
	memset(soft.b.mem, 0xee, 256);
	soft_receive(&soft.b, 0, GRH + 100);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	wc = soft_done(&soft.b);
	assert_int_equal(wc.flags, 0);
	assert_int_equal(wc.len_bytes, GRH + 100);
	assert_int_equal(wc.source_lid, soft.info.address.lid);
	assert_int_equal(soft.b.mem[GRH - 1], 0xee);
	assert_memory_equal(soft.b.mem + GRH, soft.a.mem, 100);
	assert_int_equal(rig_wc_source(&wc, soft.b.mem, &source), 0);
	assert_memory_equal(&source, &soft.info.address, sizeof(source));
}

/* A group has a LID and a GID, and its datagrams a GRH. */
static void test_infiniband_groups(void **state)
{
	const struct rig_address group = {
	    .link = RIG_LINK_INFINIBAND, .lid = 0xc005, .gid = {0xff, 0x12, [15] = 5}};
	struct rig_entry entry;
	struct rig_wc wc;

	(void)state;
	datagrams();
	entry = to_b(handle_of(&group), 0, 8);
	entry.remote_qp = 0xffffff;
	assert_int_equal(rig_qp_attach(soft.b.qp, &group), 0);
	soft_receive(&soft.b, 0, GRH + 8);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	wc = soft_done(&soft.b);
	assert_int_equal(wc.flags, RIG_WC_GRH_F);
	assert_int_equal(wc.source_qp, rig_qp_number(soft.a.qp));
	assert_memory_equal(soft.b.mem + 24, group.gid, 16);
}

enum { MESSAGES = 4000 };

static struct {
	struct rig_srq *srq;
	_Atomic int posted;
	_Atomic int failures;
} posters;

static void *post_receives(void *arg)
{
	struct rig_local local = soft_local(&soft.b, 0, 64);

	(void)arg;
	while (posters.posted < MESSAGES) {
		int err = rig_srq_receive(posters.srq, &local, 1);

		if (err == -EAGAIN)
			sched_yield();
		else if (err)
			posters.failures++;
		else
			posters.posted++;
	}
	return NULL;
}

static void *poll_receives(void *arg)
{
	struct rig_wc wc[8];
	int count, taken = 0;

	(void)arg;
	while (taken < MESSAGES && posters.failures == 0) {
		count = rig_cq_poll(soft.b.cq, wc, 8);
		for (int i = 0; i < count; i++)
			posters.failures += wc[i].status != RIG_OK || wc[i].index > 7;
		posters.failures += count < 0;
		taken += count > 0 ? count : 0;
		if (count == 0)
			sched_yield();
	}
	return NULL;
}

/* One thread posts shared receives, another polls their completions, a third sends. */
static void test_posted_and_polled_by_two_threads(void **state)
{
	const uint64_t data = 1;
	const struct rig_entry entry = {.op = RIG_SEND,
					.flags = RIG_SIGNAL_F | RIG_INLINE_F,
					.inline_data = &data,
					.inline_len_bytes = 8};
	struct rig_qp_options options = {.transport = RIG_RC};
	struct rig_endpoint ends[2];
	pthread_t threads[2];

	(void)state;
	soft_sides(ENTRIES, RECEIVES);
	posters.posted = posters.failures = 0;
	options.srq = posters.srq = srq_on(soft.b.cq, 7);
	assert_int_equal(rig_qp_destroy(soft.b.qp), 0);
	assert_int_equal(rig_qp_create_with(soft.b.cq, ENTRIES, 0, &options, &soft.b.qp), 0);
	assert_int_equal(rig_qp_endpoint(soft.a.qp, &ends[0]), 0);
	assert_int_equal(rig_qp_endpoint(soft.b.qp, &ends[1]), 0);
	assert_int_equal(rig_qp_connect(soft.a.qp, RIG_LOCAL, &ends[1], NULL), 0);
	assert_int_equal(rig_qp_connect(soft.b.qp, RIG_LOCAL, &ends[0], NULL), 0);
	assert_int_equal(pthread_create(&threads[0], NULL, post_receives, NULL), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, poll_receives, NULL), 0);
	for (int i = 0; i < MESSAGES / 8; i++) {
		for (int j = 0; j < 8; j++)
			assert_int_equal(rig_qp_post(soft.a.qp, &entry), 0);
		assert_int_equal(rig_qp_ring(soft.a.qp), 0);
		for (int j = 0; j < 8; j++)
			soft_done(&soft.a);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(posters.failures, 0);
	assert_int_equal(rig_srq_room(posters.srq), 7);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(test_every_length_arrives),
	    SOFT_TEST(test_inline_and_pieces),
	    SOFT_TEST(test_an_answer_finds_its_way),
	    SOFT_TEST(test_what_does_not_fit_is_lost),
	    SOFT_TEST(test_the_queue_pairs_own_qkey),
	    SOFT_TEST(test_a_bad_key_fails_the_sender),
	    SOFT_TEST(test_a_handle_ends_before_its_entries),
	    SOFT_TEST(test_indices_wrap),
	    SOFT_TEST(test_a_group_has_members),
	    SOFT_TEST(test_receives_are_shared),
	    SOFT_TEST(test_the_limit_comes_as_an_event),
	    SOFT_TEST(test_a_failed_queue_pair_leaves_the_rest),
	    SOFT_TEST(test_a_destroyed_queue_pair_keeps_no_receive),
	    SOFT_TEST(test_posted_and_polled_by_two_threads),
	    cmocka_unit_test_setup_teardown(test_infiniband_goes_by_lid, infiniband_setup,
					    soft_teardown),
	    cmocka_unit_test_setup_teardown(test_infiniband_groups, infiniband_setup,
					    soft_teardown),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
