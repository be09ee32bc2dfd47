/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that the door to libc answers with -errno, closes on exec, and reads and lists sysfs as its
 * header says. How: on files that every Linux has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/os.h"

#include <errno.h>
#include <stdbool.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void calls_return_minus_errno(void **state)
{
	const struct lib_os *os = lib_os_linux();
	struct pollfd one = {.fd = 0};
	struct rlimit files, no_files;
	char byte;
	int ret, error = 0;

	(void)state;
	assert_int_equal(os->open(os->ctx, "/nonexistent", O_RDWR), -ENOENT);
	assert_int_equal(os->close(os->ctx, -1), -EBADF);
	assert_int_equal(os->ioctl(os->ctx, -1, 0, NULL), -EBADF);
	assert_int_equal(os->read(os->ctx, -1, &byte, 1), -EBADF);
	assert_null(os->mmap(os->ctx, 4096, PROT_READ, MAP_SHARED, -1, 0, &error));
	assert_int_equal(error, -EBADF);
	assert_int_equal(os->munmap(os->ctx, (void *)1, 4096), -EINVAL);
	/* More descriptors than the process may have. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	no_files = files;
	no_files.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &no_files), 0);
	ret = os->poll(os->ctx, &one, 1, 0);
	setrlimit(RLIMIT_NOFILE, &files);
	assert_int_equal(ret, -EINVAL);
	assert_null(os->progress);
}

static void open_closes_on_exec(void **state)
{
	const struct lib_os *os = lib_os_linux();
	int fd = os->open(os->ctx, "/dev/zero", O_RDWR);
	int error = 0;
	char *page;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	page = os->mmap(os->ctx, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0, &error);
	assert_non_null(page);
	page[0] = 1;
	assert_int_equal(os->munmap(os->ctx, page, 4096), 0);
	assert_int_equal(os->close(os->ctx, fd), 0);
}

static void sysfs_files_are_read_by_path_below_sys(void **state)
{
	const struct lib_os *os = lib_os_linux();
	char text[64], long_path[600];
	ssize_t got = os->sysfs_read(os->ctx, "devices/system/cpu/possible", text, sizeof(text));

	(void)state;
	assert_true(got > 1);
	assert_int_equal(text[0], '0');
	assert_int_equal(os->sysfs_read(os->ctx, "devices/system/cpu/possible", text, 1), 1);
	assert_int_equal(os->sysfs_read(os->ctx, "no/such/file", text, 1), -ENOENT);
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(os->sysfs_read(os->ctx, long_path, text, 1), -ENAMETOOLONG);
}

static void sysfs_folders_are_listed_without_dots(void **state)
{
	const struct lib_os *os = lib_os_linux();
	bool found = false;
	unsigned int index = 0;
	char name[64];
	int ret;

	(void)state;
	while ((ret = os->sysfs_list(os->ctx, "devices/system", index, name, sizeof(name))) == 0) {
		assert_string_not_equal(name, ".");
		assert_string_not_equal(name, "..");
		found |= strcmp(name, "cpu") == 0;
		index++;
	}
	assert_int_equal(ret, -ENOENT);
	assert_true(found);
	assert_int_equal(os->sysfs_list(os->ctx, "no/such", 0, name, sizeof(name)), -ENOENT);
	assert_int_equal(os->sysfs_list(os->ctx, "devices/system", 0, name, 2), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_return_minus_errno),
		cmocka_unit_test(open_closes_on_exec),
		cmocka_unit_test(sysfs_files_are_read_by_path_below_sys),
		cmocka_unit_test(sysfs_folders_are_listed_without_dots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
