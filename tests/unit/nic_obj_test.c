/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the arena, slots of tables, protection domains and keys.
 * How: nic.h's calls; slots driven at random against a model (the seed is printed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

/* The arena is used from its low end: an idle NIC touches few pages. */
static void few_pages_are_touched(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	const uint8_t *arena = w->sides[0].arena;
	size_t touched = 0, pages;
	struct nic_config config = w->nics[0]->config;

	(void)state;
	pages = nic_arena_bytes(&config) / 4096;
	for (size_t i = 0; i < pages; i++) {
		bool zero = true;

		for (size_t k = 0; k < 4096 && zero; k += 8)
			zero = *(const uint64_t *)(const void *)(arena + i * 4096 + k) == 0;
		touched += !zero;
	}
	assert_true(touched <= 8);
	fake_world_free(w);
}

/* Slots: never given twice, all of them given, freed ones rest first. */
static void slots_against_a_model(void **state)
{
	enum { LIMIT = 50, SPARE = 10 };
	uint32_t next[LIMIT];
	struct nic_slots slots = {.next = next, .fresh = 3, .limit = LIMIT};
	bool used[LIMIT] = {false};
	uint32_t count = 0, index;
	struct base_prng prng;

	(void)state;
	print_message("seed 1\n");
	base_prng_seed(&prng, 1);
	for (int i = 0; i < 20000; i++) {
		bool take = base_prng_below(&prng, 100) < (uint64_t)((i / 200) % 2 ? 70 : 30);

		if (take) {
			bool ok = nic_slot_take(&slots, SPARE, &index);

			assert_int_equal(ok, count < LIMIT - 3);
			if (!ok)
				continue;
			assert_true(index >= 3 && index < LIMIT && !used[index]);
			used[index] = true;
			count++;
		} else if (count != 0) {
			do
				index = (uint32_t)base_prng_below(&prng, LIMIT);
			while (!used[index]);
			used[index] = false;
			count--;
			nic_slot_give(&slots, index);
		}
	}
}

static void domains(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct nic *nic = w->nics[0];
	struct nic_mkey_attr attr = {.len_bytes = 1};
	uint32_t pdn, key;

	(void)state;
	for (int i = 0; i < 63; i++)
		assert_int_equal(nic_pd_create(nic, &pdn), 0);
	assert_int_equal(nic_pd_create(nic, &key), -ENOMEM);
	attr.pdn = pdn;
	assert_int_equal(nic_mkey_create(nic, &attr, &key), 0);
	assert_int_equal(nic_pd_destroy(nic, pdn), -EBUSY);
	assert_int_equal(nic_mkey_destroy(nic, key), 0);
	assert_int_equal(nic_pd_destroy(nic, pdn), 0);
	assert_int_equal(nic_pd_destroy(nic, pdn), -EINVAL);
	assert_int_equal(nic_pd_destroy(nic, 0), -EINVAL);
	assert_int_equal(nic_pd_destroy(nic, UINT32_MAX), -EINVAL);
	nic_check(nic);
	fake_world_free(w);
}

/* [cases 21] and every other attribute that a key cannot have. */
static void keys(void **state)
{
	static const struct {
		const char *name;
		uint32_t access;
		uint64_t va, len, host_va;
		int err;
	} rows[] = {
	    {"read only", 0, 0, 1, 0, 0},
	    {"all", BED_ALL, 0, 1, 0, 0},
	    {"remote read only", NIC_ACCESS_REMOTE_READ_F, 0, 1, 0, 0},
	    {"remote write without local", NIC_ACCESS_REMOTE_WRITE_F, 0, 1, 0, -EINVAL},
	    {"atomic without local", NIC_ACCESS_REMOTE_ATOMIC_F, 0, 1, 0, -EINVAL},
	    {"unknown right", 1 << 5, 0, 1, 0, -EINVAL},
	    {"whole address space", 0, 0, UINT64_MAX, 0, 0},
	    {"wraps", 0, 2, UINT64_MAX - 1, 0, -EINVAL},
	    {"wraps in the host", 0, 0, UINT64_MAX - 1, 2, -EINVAL},
	    {"empty", BED_ALL, 5, 0, 5, 0},
	};
	struct fake_world *w = fake_world_new(NULL);
	uint32_t key, old = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nic_mkey_attr attr = {.pdn = w->sides[0].pdn,
					     .access = rows[i].access,
					     .va = rows[i].va,
					     .len_bytes = rows[i].len,
					     .host_va = rows[i].host_va};

		print_message("row: %s\n", rows[i].name);
		assert_int_equal(nic_mkey_create(w->nics[0], &attr, &key), rows[i].err);
		if (rows[i].err)
			continue;
		assert_true(key >= 0x200 && key != old);
		old = key;
		assert_int_equal(nic_mkey_destroy(w->nics[0], key ^ 1), -EINVAL);
		assert_int_equal(nic_mkey_destroy(w->nics[0], key), 0);
		assert_int_equal(nic_mkey_destroy(w->nics[0], key), -EINVAL);
	}
	/* This world cannot synchronize. */
	assert_int_equal(nic_mkey_create(w->nics[0],
					 &(struct nic_mkey_attr){.pdn = w->sides[0].pdn,
								 .len_bytes = 8,
								 .synced = true},
					 &key),
			 -EINVAL);
	assert_int_equal(nic_mkey_destroy(w->nics[0], 0), -EINVAL);
	assert_int_equal(nic_mkey_destroy(w->nics[0], UINT32_MAX), -EINVAL);
	nic_check(w->nics[0]);
	fake_world_free(w);
}

/* A row that is used again never gets the tag that it had last. */
static void tags_change(void **state)
{
	struct nic_config config = {.qp_count_max = 4096,
				    .cq_count_max = 4,
				    .mkey_count_max = 1,
				    .pd_count_max = 4,
				    .mtu_max_bytes = 4096,
				    .rd_atomic_max = 16,
				    .message_max_bytes_log2 = 31};
	struct fake_world *w = fake_world_new(&config);
	struct nic_mkey_attr attr = {.pdn = w->sides[0].pdn, .len_bytes = 1};
	uint32_t key, last = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(nic_mkey_create(w->nics[0], &attr, &key), 0);
		assert_int_not_equal(key, last);
		last = key;
		assert_int_equal(nic_mkey_create(w->nics[0], &attr, &key), -ENOMEM);
		assert_int_equal(nic_mkey_destroy(w->nics[0], last), 0);
	}
	fake_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(few_pages_are_touched),
	    cmocka_unit_test(slots_against_a_model),
	    cmocka_unit_test(domains),
	    cmocka_unit_test(keys),
	    cmocka_unit_test(tags_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
