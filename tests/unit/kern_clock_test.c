/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that applications can read the device's clock, and the time of day from it, and nothing
 * else. By reading the pages as libmlx5 does.
 */
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CLOCK_OFFSET 0x500000
#define INFO_OFFSET  0x700000

static struct kern_rig rig;

static int open_rig(void **state)
{
	(void)state;
	kern_rig_open(&rig);
	assert_int_equal(rig_context(&rig), 0);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	kern_rig_close(&rig);
	return 0;
}

static const uint8_t *map(uint64_t offset)
{
	uint32_t page, count;

	assert_int_equal(kern_mmap(rig.file, offset, 4096, false, &page, &count), 0);
	assert_int_equal(count, 1);
	assert_true(page >= RIG_PAGES_ALL && page < RIG_PAGES_ALL + KERN_CLOCK_PAGES);
	return rig.pages + 4096 * page;
}

static void the_time_of_the_last_pass(void **state)
{
	static const uint64_t times[] = {1, 0xffffffff, UINT64_C(0x100000000), INT64_MAX};
	const uint8_t *clock = map(CLOCK_OFFSET);

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		kern_notice(rig.kern, times[i]);
		assert_int_equal(be32_load(clock), times[i] >> 32);
		assert_int_equal(be32_load(clock + 4), times[i] & 0xffffffff);
	}
}

/* The conversion of mlx5dv, on the page: exact a century later. */
static void the_time_of_day(void **state)
{
	const struct mlx5_ib_clock_info *info =
	    (const struct mlx5_ib_clock_info *)(const void *)map(INFO_OFFSET);
	uint64_t century = UINT64_C(3155760000) * 1000000000;
	uint64_t delta = (century - info->cycles) & info->mask;

	(void)state;
	assert_int_equal(info->sign & MLX5_IB_CLOCK_INFO_KERNEL_UPDATING, 0);
	assert_true(delta <= info->mask / 2);
	assert_false(__builtin_mul_overflow(delta, (uint64_t)info->mult, &delta));
	assert_int_equal(info->nsec + ((delta + info->frac) >> info->shift),
			 RIG_WALL_CLOCK_NS + century);
	assert_true(info->overflow_period >= century);
}

static void refused(void **state)
{
	uint32_t page, count;
	struct kern_file *file;

	(void)state;
	assert_int_equal(kern_mmap(rig.file, CLOCK_OFFSET, 4096, true, &page, &count), -EPERM);
	assert_int_equal(kern_mmap(rig.file, INFO_OFFSET, 4096, true, &page, &count), -EPERM);
	assert_int_equal(kern_mmap(rig.file, CLOCK_OFFSET, 8192, false, &page, &count), -EINVAL);
	assert_int_equal(kern_mmap(rig.file, CLOCK_OFFSET + 8, 4096, false, &page, &count),
			 -EINVAL);
	assert_int_equal(kern_mmap(rig.file, INFO_OFFSET + 4096, 4096, false, &page, &count),
			 -EOPNOTSUPP);
	/* A file without a context. */
	assert_int_equal(kern_open(rig.kern, &file), 0);
	assert_int_equal(kern_mmap(file, CLOCK_OFFSET, 4096, false, &page, &count), -EINVAL);
	kern_close(file, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(the_time_of_the_last_pass),
	    TEST(the_time_of_day),
	    TEST(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
