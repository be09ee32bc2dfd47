/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: destinations are told apart by all of their key; the table is bounded, and idle ones make
 * room; of several mappings of one the oldest living one rules, and without any the port's default.
 * How: nic_cong.h's calls on a NIC of tests/support/fake_nic.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/errno.h>

#include "nic/nic_priv.h"
#include "tests/support/fake_nic.h"

#define SECOND_NS 1000000000ull

static struct nic_dest_key key_of(uint32_t number)
{
	struct nic_dest_key key = {.dgid = {[10] = 0xff, 0xff, 10}};

	key.dgid[14] = (uint8_t)(number >> 8);
	key.dgid[15] = (uint8_t)number;
	return key;
}

static uint32_t count(struct fake_world *w)
{
	struct nic_dest_key key;
	struct nic_flow_stats stats;
	uint32_t cursor = 0, n = 0;

	while (nic_dest_next(w->nics[0], &cursor, w->now_ns, &key, &stats))
		n++;
	return n;
}

/* What the destination's flow looks like. */
static struct nic_flow_stats stats_of(struct fake_world *w, const struct nic_dest_key *key)
{
	struct nic_flow_stats stats;
	struct nic_dest_key found;
	uint32_t cursor = 0;

	while (nic_dest_next(w->nics[0], &cursor, w->now_ns, &found, &stats))
		if (memcmp(&found, key, sizeof(found)) == 0)
			return stats;
	fail_msg("no such destination");
	return stats;
}

static uint32_t map(struct fake_world *w, const struct nic_dest_key *key,
		    enum nic_cc_algorithm algorithm)
{
	uint32_t mapping = 0;

	assert_int_equal(nic_dest_map(w->nics[0], key, algorithm, w->now_ns, &mapping), 0);
	assert_int_not_equal(mapping, 0);
	return mapping;
}

static void unmap(struct fake_world *w, uint32_t mapping)
{
	assert_int_equal(nic_dest_unmap(w->nics[0], mapping, w->now_ns), 0);
}

static void keys(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_dest_key key = key_of(1), other;
	struct nic_dest *dest;

	(void)state;
	assert_null(nic_dest_find(w->nics[0], &key));
	dest = nic_dest_get(w->nics[0], &key);
	assert_ptr_equal(nic_dest_get(w->nics[0], &key), dest);
	assert_ptr_equal(nic_dest_find(w->nics[0], &key), dest);
	other = key, other.sl = 3;
	assert_ptr_not_equal(nic_dest_get(w->nics[0], &other), dest);
	other = key, other.sgid_index = 1;
	assert_ptr_not_equal(nic_dest_get(w->nics[0], &other), dest);
	other = key, other.dlid = 7;
	assert_ptr_not_equal(nic_dest_get(w->nics[0], &other), dest);
	other = key, other.dgid[0] = 1;
	assert_ptr_not_equal(nic_dest_get(w->nics[0], &other), dest);
	assert_int_equal(count(w), 5);
	fake_world_free(w);
}

/* Full: nothing is idle. Later all is, but what is mapped. */
static void bounded(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_dest_key key = key_of(0);
	uint32_t mapping = map(w, &key, NIC_CC_NONE);

	(void)state;
	for (uint32_t i = 1; i < NIC_DESTS_MAX; i++) {
		key = key_of(i);
		assert_non_null(nic_dest_get(w->nics[0], &key));
	}
	key = key_of(NIC_DESTS_MAX);
	assert_null(nic_dest_get(w->nics[0], &key));
	fake_advance(w, SECOND_NS);
	w->nics[0]->now_ns = w->now_ns;
	for (uint32_t i = 0; i < NIC_DESTS_MAX - 1; i++) {
		key = key_of(NIC_DESTS_MAX + i);
		assert_non_null(nic_dest_get(w->nics[0], &key));
	}
	assert_int_equal(count(w), NIC_DESTS_MAX);
	key = key_of(0);
	assert_non_null(nic_dest_find(w->nics[0], &key));
	key = key_of(1);
	assert_null(nic_dest_find(w->nics[0], &key));
	unmap(w, mapping);
	fake_world_free(w);
}

/* All are busy: what one packet costs is bounded, and so is what many cost that come at once. A row
 * that becomes idle is found all the same, and a mapping, which can wait, finds it at once. */
static void full(void **state)
{
	enum { LOOKS_MAX = 64, FREE = NIC_DESTS_MAX - 1 };
	struct fake_world *w = fake_world_new(NULL);
	struct nic *nic = w->nics[0];
	struct nic_dest_key key;
	uint32_t before, tries = 0;

	(void)state;
	for (uint32_t i = 0; i < NIC_DESTS_MAX; i++) {
		key = key_of(i);
		if (i < FREE)
			map(w, &key, NIC_CC_NONE);
		else
			assert_non_null(nic_dest_get(nic, &key));
	}
	fake_advance(w, SECOND_NS);
	nic->now_ns = w->now_ns;
	key = key_of(NIC_DESTS_MAX);
	before = nic->cong.dest_hand;
	assert_null(nic_dest_get(nic, &key));
	assert_in_range((nic->cong.dest_hand - before) % NIC_DESTS_MAX, 1, LOOKS_MAX);
	before = nic->cong.dest_hand;
	assert_null(nic_dest_get(nic, &key));
	assert_int_equal(nic->cong.dest_hand, before);
	while (!nic_dest_get(nic, &key) && tries++ < NIC_DESTS_MAX / LOOKS_MAX)
		nic->now_ns += 1000000;
	assert_non_null(nic_dest_find(nic, &key));
	key = key_of(FREE);
	assert_null(nic_dest_find(nic, &key));
	fake_advance(w, 2 * SECOND_NS);
	key = key_of(NIC_DESTS_MAX + 1);
	nic->cong.dest_hand = 0;
	assert_int_equal(nic_dest_map(nic, &key, NIC_CC_RTT, w->now_ns, &before), 0);
	assert_int_equal(
	    nic_dest_map(nic, &(struct nic_dest_key){.sl = 1}, NIC_CC_RTT, w->now_ns, &before),
	    -ENOMEM);
	fake_world_free(w);
}

static void mappings(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_dest_key key = key_of(1);
	uint32_t first, second, third;

	(void)state;
	first = map(w, &key, NIC_CC_DCQCN);
	second = map(w, &key, NIC_CC_RTT);
	third = map(w, &key, NIC_CC_NONE);
	assert_int_equal(stats_of(w, &key).algorithm, NIC_CC_DCQCN);
	assert_true(stats_of(w, &key).mapped);
	unmap(w, first);
	assert_int_equal(stats_of(w, &key).algorithm, NIC_CC_RTT);
	assert_int_equal(nic_dest_unmap(w->nics[0], first, w->now_ns), -EINVAL);
	unmap(w, third);
	assert_int_equal(stats_of(w, &key).algorithm, NIC_CC_RTT);
	first = map(w, &key, NIC_CC_DCQCN);
	assert_int_equal(stats_of(w, &key).algorithm, NIC_CC_RTT);
	unmap(w, second);
	assert_int_equal(stats_of(w, &key).algorithm, NIC_CC_DCQCN);
	unmap(w, first);
	assert_int_equal(stats_of(w, &key).algorithm, NIC_CC_NONE);
	assert_false(stats_of(w, &key).mapped);
	fake_world_free(w);
}

static void refused(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic_dest_key key = key_of(1);
	uint32_t mapping = 0;

	(void)state;
	assert_int_equal(nic_dest_map(w->nics[0], &key, NIC_CC_COUNT, w->now_ns, &mapping),
			 -EINVAL);
	assert_int_equal(nic_dest_unmap(w->nics[0], 0, w->now_ns), -EINVAL);
	assert_int_equal(nic_dest_unmap(w->nics[0], 1, w->now_ns), -EINVAL);
	assert_int_equal(nic_dest_unmap(w->nics[0], UINT32_MAX, w->now_ns), -EINVAL);
	for (uint32_t i = 0; i < NIC_MAPPINGS_MAX; i++)
		mapping = map(w, &key, NIC_CC_NONE);
	assert_int_equal(nic_dest_map(w->nics[0], &key, NIC_CC_NONE, w->now_ns, &mapping), -ENOMEM);
	unmap(w, mapping);
	assert_int_equal(map(w, &key, NIC_CC_NONE), mapping);
	fake_world_free(w);
}

static uint32_t longest_chain(const struct nic *nic)
{
	uint32_t longest = 0;

	for (uint32_t bucket = 0; bucket < NIC_DEST_BUCKETS; bucket++) {
		uint32_t length = 0;

		for (uint16_t at = nic->cong.buckets[bucket]; at != 0; length++)
			at = nic->cong.dests[at - 1].next;
		longest = length > longest ? length : longest;
	}
	return longest;
}

/* Keys that differ in their last bytes alone, or in a field alone, are spread over the buckets. */
static void spread(void **state)
{
	static const char *const differ[] = {"host", "prefix", "lid", "level"};

	(void)state;
	for (size_t i = 0; i < sizeof(differ) / sizeof(differ[0]); i++) {
		struct fake_world *w = fake_world_new(NULL);

		for (uint32_t n = 0; n < 1000; n++) {
			struct nic_dest_key key = key_of(i == 0 ? n : 0);

			if (i == 1) {
				key.dgid[6] = (uint8_t)(n >> 8);
				key.dgid[7] = (uint8_t)n;
			} else if (i == 2) {
				key.dlid = (uint16_t)n;
			} else if (i == 3) {
				key.sgid_index = (uint8_t)(n >> 4);
				key.sl = n & 15;
			}
			assert_non_null(nic_dest_get(w->nics[0], &key));
		}
		if (longest_chain(w->nics[0]) > 8)
			fail_msg("%s: %u of 1000 in one bucket", differ[i],
				 longest_chain(w->nics[0]));
		fake_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys),
	    cmocka_unit_test(spread),
	    cmocka_unit_test(bounded),
	    cmocka_unit_test(full),
	    cmocka_unit_test(mappings),
	    cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
