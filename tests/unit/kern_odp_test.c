/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows regions on demand: what need not be there yet, the region of everything, and advice.
 * By registering memory that is there, that is not, and that is not ours to write.
 */
#include "tests/support/kern_rig.h"

#include "nic/nic_priv.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	ODP = IB_UVERBS_ACCESS_ON_DEMAND,
	WRITE = IB_UVERBS_ACCESS_LOCAL_WRITE,
	READ_ADVICE = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
	WRITE_ADVICE = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
	NO_FAULT_ADVICE = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	FLUSH = IB_UVERBS_ADVISE_MR_FLAG_FLUSH,
};

#define NOWHERE UINT64_C(0x10000) /* outside of the rig's memory */

static struct kern_rig rig;
static uint32_t pd;

static int open_rig(void **state)
{
	(void)state;
	kern_rig_open(&rig);
	assert_int_equal(rig_context(&rig), 0);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	kern_rig_close(&rig);
	return 0;
}

static int reg(uint64_t start, uint64_t length, uint64_t iova, uint32_t access, uint32_t *key)
{
	struct ib_uverbs_reg_mr req = {.start = start,
				       .length = length,
				       .hca_va = iova,
				       .pd_handle = pd,
				       .access_flags = access};
	struct ib_uverbs_reg_mr_resp resp;
	int error = rig_write(&rig, IB_USER_VERBS_CMD_REG_MR, &req, sizeof(req), &resp,
			      sizeof(resp), NULL, 0);

	*key = resp.lkey;
	return error;
}

static void registration(void **state)
{
	static const struct {
		const char *name;
		uint64_t start, length, iova;
		uint32_t access;
		int error;
	} rows[] = {
	    {"not there, pinned", NOWHERE, 4096, NOWHERE, WRITE, -EFAULT},
	    {"not there, on demand", NOWHERE, 4096, NOWHERE, WRITE | ODP, 0},
	    {"remote write alone", NOWHERE, 4096, NOWHERE, ODP | IB_UVERBS_ACCESS_REMOTE_WRITE,
	     -EINVAL},
	    {"nothing", NOWHERE, 0, NOWHERE, WRITE | ODP, -EINVAL},
	    {"wraps", UINT64_MAX - 4095, 8192, UINT64_MAX - 4095, WRITE | ODP, -EINVAL},
	    {"everything", 0, UINT64_MAX, 0, WRITE | ODP, 0},
	    {"everything, elsewhere", 0, UINT64_MAX, 4096, WRITE | ODP, -EINVAL},
	    {"everything, pinned", 0, UINT64_MAX, 0, WRITE, -EINVAL},
	    {"huge pages", NOWHERE, 4096, NOWHERE, WRITE | ODP | IB_UVERBS_ACCESS_HUGETLB, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t key;

		print_message("row: %s\n", rows[i].name);
		assert_int_equal(
		    reg(rows[i].start, rows[i].length, rows[i].iova, rows[i].access, &key),
		    rows[i].error);
	}
}

/* The key of everything reaches whatever is there, and what is not is a fault, no crash. */
static void everything(void **state)
{
	uint32_t key, pdn = 1;
	uint8_t *memory = rig_alloc(&rig, 64);
	struct nic_place place;

	(void)state;
	assert_int_equal(reg(0, UINT64_MAX, 0, WRITE | ODP, &key), 0);
	assert_int_equal(
	    nic_mem_check(rig.nic, pdn, key, rig_va(memory), 64, NIC_ACCESS_LOCAL_WRITE_F, &place),
	    NIC_MEM_OK);
	assert_true(nic_mem_write_at(rig.nic, &place, "abc", 3));
	assert_memory_equal(memory, "abc", 3);
	assert_int_equal(nic_mem_check(rig.nic, pdn, key, NOWHERE, 64, 0, &place), NIC_MEM_OK);
	assert_false(nic_mem_write_at(rig.nic, &place, "abc", 3));
}

static int advise(uint64_t advice, uint32_t flags, const struct ib_uverbs_sge *list, uint16_t len)
{
	rig_call(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	rig_attr(&rig, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd, 0);
	rig_in64(&rig, UVERBS_ATTR_ADVISE_MR_ADVICE, advice);
	rig_in32(&rig, UVERBS_ATTR_ADVISE_MR_FLAGS, flags);
	rig_in(&rig, UVERBS_ATTR_ADVISE_MR_SGE_LIST, list, len);
	return rig_run(&rig);
}

static void advice(void **state)
{
	uint64_t here = rig_va(rig_alloc(&rig, 8192));
	uint32_t there, absent, readable, pinned, other_pd = pd, foreign;
	struct {
		const char *name;
		uint64_t advice;
		uint32_t flags;
		struct ib_uverbs_sge piece;
		int error;
	} rows[] = {
	    {"read, now", READ_ADVICE, FLUSH, {here, 8192, 0}, 0},
	    {"write, now", WRITE_ADVICE, FLUSH, {here, 8192, 0}, 0},
	    {"write, later", WRITE_ADVICE, 0, {here, 8192, 0}, 0},
	    {"no fault", NO_FAULT_ADVICE, FLUSH, {here, 8192, 0}, 0},
	    {"nothing", READ_ADVICE, FLUSH, {here, 0, 0}, 0},
	    {"past the end", READ_ADVICE, FLUSH, {here, 8193, 0}, -EFAULT},
	    {"before the start", READ_ADVICE, FLUSH, {here - 1, 2, 0}, -EFAULT},
	    {"what does not come, now", READ_ADVICE, FLUSH, {NOWHERE, 4096, 1}, -EFAULT},
	    {"what does not come, later", READ_ADVICE, 0, {NOWHERE, 4096, 1}, 0},
	    {"what does not come, no fault", NO_FAULT_ADVICE, FLUSH, {NOWHERE, 4096, 1}, 0},
	    {"to write what is read-only", WRITE_ADVICE, FLUSH, {here, 4096, 2}, -EPERM},
	    {"to read what is read-only", READ_ADVICE, FLUSH, {here, 4096, 2}, 0},
	    {"what is pinned", READ_ADVICE, FLUSH, {here, 4096, 3}, -ENOENT},
	    {"another domain's", READ_ADVICE, FLUSH, {here, 4096, 4}, -EPERM},
	    {"no key", READ_ADVICE, FLUSH, {here, 4096, 5}, -ENOENT},
	    {"unknown advice", 3, FLUSH, {here, 4096, 0}, -EOPNOTSUPP},
	    {"unknown flag", READ_ADVICE, 2, {here, 4096, 0}, -EINVAL},
	};

	(void)state;
	assert_int_equal(reg(here, 8192, here, WRITE | ODP, &there), 0);
	assert_int_equal(reg(NOWHERE, 4096, NOWHERE, WRITE | ODP, &absent), 0);
	assert_int_equal(reg(here, 4096, here, ODP, &readable), 0);
	assert_int_equal(reg(here, 4096, here, WRITE, &pinned), 0);
	assert_int_equal(rig_pd(&rig, &pd), 0);
	assert_int_equal(reg(here, 4096, here, WRITE | ODP, &foreign), 0);
	pd = other_pd;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint32_t keys[] = {there, absent, readable, pinned, foreign, there + 1};

		print_message("row: %s\n", rows[i].name);
		rows[i].piece.lkey = keys[rows[i].piece.lkey];
		assert_int_equal(advise(rows[i].advice, rows[i].flags, &rows[i].piece, 16),
				 rows[i].error);
	}
}

/* Several pieces, part of one, none at all. */
static void lists(void **state)
{
	uint64_t here = rig_va(rig_alloc(&rig, 8192));
	struct ib_uverbs_sge list[3];
	uint32_t key;

	(void)state;
	assert_int_equal(reg(here, 8192, here, WRITE | ODP, &key), 0);
	for (int i = 0; i < 3; i++)
		list[i] = (struct ib_uverbs_sge){here, 4096, key};
	assert_int_equal(advise(READ_ADVICE, FLUSH, list, sizeof(list)), 0);
	list[2].lkey++;
	assert_int_equal(advise(READ_ADVICE, FLUSH, list, sizeof(list)), -ENOENT);
	assert_int_equal(advise(READ_ADVICE, FLUSH, list, 24), -EINVAL);
	assert_int_equal(advise(READ_ADVICE, FLUSH, list, 8), -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(registration),
	    TEST(everything),
	    TEST(advice),
	    TEST(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
