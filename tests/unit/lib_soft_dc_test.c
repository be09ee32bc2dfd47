/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_soft_dc_test.c - dynamically connected queue pairs through the public API on the software
 * NIC, within one process: every operation, several targets of one initiator, keys, rights,
 * streams.
 */
#include "tests/support/procs.h"
#include "tests/support/soft_pair.h"

#include <errno.h>
#include <string.h>

enum { TARGETS = 2, ENTRIES = 16, RECEIVES = 15, BYTES = 1000 };

#define DC_KEY 0x1122334455667788ull

/* a initiates; b's region is what targets give away. */
static struct {
	struct rig_qp *initiator;
	struct rig_srq *srq;
	struct rig_qp *targets[TARGETS];
	struct rig_ah *ah;
} dc;

#define MUST(call)                                                          \
	do {                                                                \
		int ret_ = (call);                                          \
		if (ret_ < 0)                                               \
			fail_msg("%s is %d: %s", #call, ret_, rig_error()); \
	} while (0)

static struct rig_qp *target(enum rig_access access)
{
	const struct rig_qp_options options = {
	    .transport = RIG_DC_TARGET, .srq = dc.srq, .dc_key = DC_KEY};
	struct rig_qp *qp;

	MUST(rig_qp_create_with(soft.b.cq, 0, 0, &options, &qp));
	assert_int_equal(rig_qp_number(qp), 0);
	MUST(rig_qp_start(qp, &(struct rig_start){.access = access}));
	assert_int_not_equal(rig_qp_number(qp), 0);
	return qp;
}

static struct rig_qp *initiator(const struct rig_qp_options *more)
{
	struct rig_qp_options options = {.transport = RIG_DC_INITIATOR};
	struct rig_qp *qp;

	if (more)
		options = *more;
	MUST(rig_qp_create_with(soft.a.cq, ENTRIES, 0, &options, &qp));
	MUST(rig_qp_start(qp, &(struct rig_start){0}));
	return qp;
}

static void dc_open(enum rig_access access)
{
	soft_sides(ENTRIES, 16);
	MUST(rig_srq_create(soft.b.cq, RECEIVES, &dc.srq));
	for (int i = 0; i < TARGETS; i++)
		dc.targets[i] = target(access);
	dc.initiator = initiator(NULL);
	MUST(rig_ah_create(soft.nic, &soft.info.address, NULL, &dc.ah));
	for (size_t i = 0; i < SOFT_BYTES; i++)
		soft.a.mem[i] = (uint8_t)(i * 13 + 1);
}

/* entry_to - an entry of a to the n-th target; its piece stays until the next call. */
static struct rig_entry entry_to(int n, enum rig_op op, uint32_t len, uint32_t to)
{
	struct rig_entry entry = soft_entry(&soft.a, op, 5, len, to);

	entry.ah = dc.ah;
	entry.remote_qp = rig_qp_number(dc.targets[n]);
	entry.remote_dc_key = DC_KEY;
	return entry;
}

static struct rig_wc run(const struct rig_entry *entry)
{
	MUST(rig_qp_post(dc.initiator, entry));
	MUST(rig_qp_ring(dc.initiator));
	return soft_next(&soft.a);
}

static void good(const struct rig_entry *entry)
{
	struct rig_wc wc = run(entry);
	char text[256];

	rig_wc_text(&wc, text, sizeof(text));
	if (wc.status != RIG_OK || wc.qp != rig_qp_number(dc.initiator) || wc.op != entry->op)
		fail_msg("%s", text);
}

/* Writes and reads of lengths around the MTU, to one target after the other; every byte. */
static void test_writes_and_reads(void **state)
{
	static const uint32_t lens[] = {0, 1, 8, 100, 4096, 4097, 30000};

	(void)state;
	dc_open(RIG_REMOTE_ALL);
	for (uint32_t i = 0; i < 4 * sizeof(lens) / sizeof(lens[0]); i++) {
		uint32_t len = lens[i / 4];
		struct rig_entry entry = entry_to((int)i % TARGETS, RIG_WRITE, len, 100);

		memset(soft.b.mem, 0xee, SOFT_BYTES);
		good(&entry);
		assert_memory_equal(soft.b.mem + 100, soft.a.mem + 5, len);
		assert_int_equal(soft.b.mem[100 + len], 0xee);
		entry = entry_to((int)i % TARGETS, RIG_READ, len, 100);
		memset(soft.a.mem + 5, 0, len);
		good(&entry);
		assert_memory_equal(soft.a.mem + 5, soft.b.mem + 100, len);
		for (size_t j = 0; j < SOFT_BYTES; j++)
			soft.a.mem[j] = (uint8_t)(j * 7 + i);
	}
}

static void test_atomics_and_inline(void **state)
{
	uint64_t *value, old;
	struct rig_entry entry;

	(void)state;
	dc_open(RIG_REMOTE_ALL);
	value = (uint64_t *)(void *)(soft.b.mem + 64);
	*value = 40;
	entry = entry_to(0, RIG_FETCH_ADD, 8, 64);
	entry.add_or_swap = 2;
	good(&entry);
	memcpy(&old, soft.a.mem + 5, 8);
	assert_true(old == 40 && *value == 42);
	entry = entry_to(1, RIG_COMPARE_SWAP, 8, 64);
	entry.compare = 42;
	entry.add_or_swap = 7;
	good(&entry);
	assert_true(*value == 7);
	entry = entry_to(0, RIG_WRITE, 0, 0);
	entry.flags |= RIG_INLINE_F;
	entry.inline_data = "inline bytes";
	entry.inline_len_bytes = 12;
	good(&entry);
	assert_memory_equal(soft.b.mem, "inline bytes", 12);
}

/* Messages take shared receives; the completion names the target and the initiator. */
static void test_messages_take_shared_receives(void **state)
{
	(void)state;
	dc_open(RIG_LOCAL);
	for (uint32_t i = 0; i < 100; i++) {
		struct rig_entry entry = entry_to((int)i % TARGETS, RIG_SEND, BYTES, 0);
		struct rig_local local = soft_local(&soft.b, rig_srq_index(dc.srq) * 2048u, 2048);
		uint16_t index = rig_srq_index(dc.srq);
		struct rig_wc wc;

		MUST(rig_srq_receive(dc.srq, &local, 1));
		if (i % 3 == 0) {
			entry.flags |= RIG_IMM_F;
			entry.imm = i;
		}
		soft.a.mem[5] = (uint8_t)i;
		good(&entry);
		wc = soft_done(&soft.b);
		assert_int_equal(wc.qp, rig_qp_number(dc.targets[i % TARGETS]));
		assert_int_equal(wc.index, index);
		assert_int_equal(wc.source_qp, rig_qp_number(dc.initiator));
		assert_int_equal(wc.len_bytes, BYTES);
		assert_int_equal(wc.flags, i % 3 ? 0 : RIG_WC_IMM_F);
		assert_int_equal(wc.imm, i % 3 ? 0 : i);
		assert_memory_equal(soft.b.mem + index * 2048, soft.a.mem + 5, BYTES);
	}
	assert_int_equal(rig_srq_room(dc.srq), RECEIVES);
}

/* A target's access bounds what initiators may do, whatever the region allows. */
static void test_the_targets_access_bounds_it(void **state)
{
	struct rig_entry entry;

	(void)state;
	dc_open(RIG_REMOTE_WRITE);
	entry = entry_to(0, RIG_WRITE, 8, 0);
	good(&entry);
	entry = entry_to(0, RIG_READ, 8, 0);
	assert_int_not_equal(run(&entry).status, RIG_OK);
}

/* Another key fails the entry and the initiator; a new initiator reaches the target. */
static void test_another_key_is_refused(void **state)
{
	struct rig_entry entry;

	(void)state;
	dc_open(RIG_REMOTE_ALL);
	entry = entry_to(0, RIG_WRITE, 8, 0);
	entry.remote_dc_key++;
	memset(soft.b.mem, 0xee, 64);
	assert_int_not_equal(run(&entry).status, RIG_OK);
	assert_int_equal(soft.b.mem[0], 0xee);
	assert_int_equal(run(&entry).status, RIG_FLUSHED);
	MUST(rig_qp_destroy(dc.initiator));
	dc.initiator = initiator(NULL);
	entry.remote_dc_key--;
	good(&entry);
}

/* A failed entry takes its stream with it, and no other, until two have failed. */
static void test_streams_fail_apart(void **state)
{
	const struct rig_qp_options options = {.transport = RIG_DC_INITIATOR,
					       .streams = true,
					       .streams_log2 = 2,
					       .failed_streams_log2 = 1};
	struct rig_entry entry, bad;
	struct rig_local wrong;

	(void)state;
	dc_open(RIG_REMOTE_ALL);
	MUST(rig_qp_destroy(dc.initiator));
	dc.initiator = initiator(&options);
	entry = entry_to(0, RIG_WRITE, 8, 0);
	wrong = *entry.pieces;
	wrong.key ^= 0x100;
	bad = entry;
	bad.pieces = &wrong;
	bad.stream = 3;
	assert_int_equal(run(&bad).status, RIG_LOCAL_PROTECTION);
	entry.stream = 3;
	assert_int_equal(run(&entry).status, RIG_FLUSHED);
	entry.stream = 4;
	good(&entry);
	bad.stream = 4;
	assert_int_equal(run(&bad).status, RIG_LOCAL_PROTECTION);
	entry.stream = 5;
	assert_int_equal(run(&entry).status, RIG_FLUSHED);
}

/* A stream that failed is reset and goes on; one that did not is not. */
static void test_a_stream_is_reset(void **state)
{
	const struct rig_qp_options options = {.transport = RIG_DC_INITIATOR,
					       .streams = true,
					       .streams_log2 = 2,
					       .failed_streams_log2 = 1};
	struct rig_entry entry, bad;
	struct rig_local wrong;

	(void)state;
	dc_open(RIG_REMOTE_ALL);
	soft_refused(rig_qp_reset_stream(NULL, 0), -EINVAL, "rig_qp_reset_stream");
	soft_refused(rig_qp_reset_stream(dc.initiator, 0), -EINVAL, "has no streams");
	MUST(rig_qp_destroy(dc.initiator));
	dc.initiator = initiator(&options);
	soft_refused(rig_qp_reset_stream(dc.initiator, 1 << 16), -EINVAL, "there are 2^16");
	soft_refused(rig_qp_reset_stream(dc.initiator, 3), -EINVAL, "refuses with status 0x3");
	entry = entry_to(0, RIG_WRITE, 8, 0);
	wrong = *entry.pieces;
	wrong.key ^= 0x100;
	bad = entry;
	bad.pieces = &wrong;
	entry.stream = bad.stream = 0xabcd;
	for (uint32_t i = 0; i < 5; i++) { /* more often than may have failed at once */
		assert_int_equal(run(&bad).status, RIG_LOCAL_PROTECTION);
		assert_int_equal(run(&entry).status, RIG_FLUSHED);
		soft_refused(rig_qp_reset_stream(dc.initiator, 0xabce), -EINVAL, "refuses");
		MUST(rig_qp_reset_stream(dc.initiator, 0xabcd));
		good(&entry);
	}
	assert_int_equal(run(&bad).status, RIG_LOCAL_PROTECTION);
	bad.stream = 1;
	assert_int_equal(run(&bad).status, RIG_LOCAL_PROTECTION);
	soft_refused(rig_qp_reset_stream(dc.initiator, 1), -EINVAL, "refuses");
}

static void test_what_dc_cannot_be(void **state)
{
	struct rig_qp_options options = {.transport = RIG_DC_TARGET};
	struct rig_qp *qp = (void *)1;
	struct rig_entry entry;

	(void)state;
	dc_open(RIG_REMOTE_ALL);
	soft_refused(rig_qp_create_with(soft.b.cq, 0, 0, &options, &qp), -EINVAL, "shared");
	options.srq = dc.srq;
	soft_refused(rig_qp_create_with(soft.b.cq, 4, 0, &options, &qp), -EINVAL, "no entries");
	options.transport = RIG_DC_INITIATOR;
	soft_refused(rig_qp_create_with(soft.b.cq, 4, 0, &options, &qp), -EINVAL, "no receives");
	options.srq = NULL;
	soft_refused(rig_qp_create_with(soft.b.cq, 4, 4, &options, &qp), -EINVAL, "no receives");
	options.dc_key = 1;
	soft_refused(rig_qp_create_with(soft.b.cq, 4, 0, &options, &qp), -EINVAL, "dc_key");
	options = (struct rig_qp_options){.transport = RIG_UD, .streams = true};
	soft_refused(rig_qp_create_with(soft.b.cq, 4, 0, &options, &qp), -EINVAL, "streams");
	assert_ptr_equal(qp, (void *)1);
	entry = entry_to(0, RIG_WRITE, 8, 0);
	entry.stream = 1;
	soft_refused(rig_qp_post(dc.initiator, &entry), -EINVAL, "without streams");
	entry.stream = 0;
	entry.remote_qkey = 1;
	soft_refused(rig_qp_post(dc.initiator, &entry), -EINVAL, "remote_qkey");
	entry.remote_qkey = 0;
	entry.ah = NULL;
	soft_refused(rig_qp_post(dc.initiator, &entry), -EINVAL, "address handle");
	entry.ah = dc.ah;
	soft_refused(rig_qp_post(dc.targets[0], &entry), -EINVAL, "no entries");
	soft_refused(rig_qp_receive(dc.targets[0], entry.pieces), -EINVAL, "no receive ring");
	assert_int_equal(rig_qp_ring(dc.targets[0]), 0);
	assert_int_equal(rig_qp_room(dc.targets[0], RIG_RING_SEND), 0);
	good(&entry);
}

/* A destroyed target answers nobody; the others go on with a new initiator. */
static void test_a_destroyed_target_is_gone(void **state)
{
	struct rig_entry entry;

	(void)state;
	dc_open(RIG_REMOTE_ALL);
	entry = entry_to(0, RIG_WRITE, 8, 0);
	good(&entry);
	MUST(rig_qp_destroy(dc.targets[0]));
	assert_int_not_equal(run(&entry).status, RIG_OK);
	MUST(rig_qp_destroy(dc.initiator));
	dc.initiator = initiator(NULL);
	entry = entry_to(1, RIG_WRITE, 8, 0);
	good(&entry);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(test_writes_and_reads),
	    SOFT_TEST(test_atomics_and_inline),
	    SOFT_TEST(test_messages_take_shared_receives),
	    SOFT_TEST(test_the_targets_access_bounds_it),
	    SOFT_TEST(test_another_key_is_refused),
	    SOFT_TEST(test_streams_fail_apart),
	    SOFT_TEST(test_a_stream_is_reset),
	    SOFT_TEST(test_what_dc_cannot_be),
	    SOFT_TEST(test_a_destroyed_target_is_gone),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
