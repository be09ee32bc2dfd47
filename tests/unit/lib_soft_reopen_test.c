/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_soft_reopen_test.c - a program that opens and closes NICs all its life does not use up the
 * process: mappings, heap and descriptors.
 */
#include "tests/support/procs.h"
#include "tests/support/soft_pair.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>

enum { REOPENED = 200, FEW = 8, HEAP_BYTES = 16 * 1024 };

static int count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int lines = 0, c;

	assert_non_null(file);
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A NIC with one of everything, and a second close of it. */
static struct rig_nic *open_and_close(void)
{
	static char memory[4096];
	struct rig_region *region;
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_qp *qp;

	assert_int_equal(rig_open("soft0", &nic), 0);
	assert_int_equal(rig_region_create(nic, memory, sizeof(memory), RIG_LOCAL, &region), 0);
	assert_int_equal(rig_cq_create(nic, 8, &cq), 0);
	assert_int_equal(rig_qp_create(cq, 4, 4, &qp), 0);
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(rig_close(nic), 0);
	return nic;
}

/*
 * A NIC that was closed leaves nothing but its addresses, which stay invalid handles. By counting
 * before and after 200 of them, beside one that stays open.
 */
static void test_a_closed_nic_leaves_nothing(void **state)
{
	struct rig_nic *first = open_and_close();
	struct rig_nic_info info;
	int mappings = count_mappings();
	int descriptors = count_descriptors();
	size_t heap_bytes = mallinfo2().uordblks;

	(void)state;
	for (int i = 0; i < REOPENED; i++)
		assert_ptr_not_equal(open_and_close(), first);
	assert_int_equal(count_descriptors(), descriptors);
	if (proc_scale() == 1) { /* a sanitizer has a heap and mappings of its own */
		assert_in_range(count_mappings(), 0, mappings + FEW);
		assert_in_range(mallinfo2().uordblks, 0, heap_bytes + HEAP_BYTES);
	}
	assert_int_equal(rig_nic_info(first, &info), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {SOFT_TEST(test_a_closed_nic_leaves_nothing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
