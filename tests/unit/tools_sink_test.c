/* SPDX-License-Identifier: BSD-2-Clause */
/* link: crypto */
/* Shows that a received file has no name before it is committed, whole names never half a file, and
 * that nothing leads out of the directory: by committing and dropping in a directory of its own,
 * with nameless files and without; and that the hasher gives SHA-256 of each file of a sequence. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/hasher.c"
#include "tools/sink.c"
#include "tools/units.c"

static char dir[] = "/tmp/rig5-sink-XXXXXX";
static char why[SINK_WHY];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;

	(void)state;
	while ((entry = readdir(stream)))
		if (entry->d_name[0] != '.' || !strncmp(entry->d_name, ".rig5", 5))
			if (unlinkat(dirfd(stream), entry->d_name, 0))
				unlinkat(dirfd(stream), entry->d_name, AT_REMOVEDIR);
	closedir(stream);
	return rmdir(dir);
}

/* Names in the directory, hidden ones too. */
static int count_names(void)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(stream)))
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(stream);
	return count;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static void assert_content(const struct sink *sink, const char *name, const char *text)
{
	char buf[64] = {0};
	int fd = openat(sink->dir_fd, name, O_RDONLY | O_NOFOLLOW);

	assert_true(fd >= 0);
	assert_true(read(fd, buf, sizeof(buf) - 1) >= 0);
	close(fd);
	assert_string_equal(buf, text);
}

static int put_file(struct sink *sink, const char *name, const char *text, uint32_t mode)
{
	struct xfer_file as = {.size_bytes = strlen(text), .mode = mode};
	struct sink_file file;

	strcpy(as.name, name);
	assert_int_equal(sink_begin(sink, &file, why), 0);
	assert_int_equal(sink_write(&file, text, strlen(text), why), 0);
	return sink_commit(sink, &file, &as, why);
}

/* Both ways to be nameless: O_TMPFILE, and a name that goes away. */
static void test_commit(void **state)
{
	(void)state;
	for (int no_tmpfile = 0; no_tmpfile < 2; no_tmpfile++) {
		struct sink sink = {.no_tmpfile = no_tmpfile, .sync = no_tmpfile};
		char name[] = "file0";
		struct stat st;

		name[4] = (char)('0' + no_tmpfile);
		umask(022);
		assert_int_equal(sink_open(&sink, dir, why), 0);
		assert_int_equal(put_file(&sink, name, "one", 0775), 0);
		assert_content(&sink, name, "one");
		assert_int_equal(fstatat(sink.dir_fd, name, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0755);
		/* Taken: refused, and the old one is untouched. */
		assert_int_equal(put_file(&sink, name, "two", 0644), -EEXIST);
		assert_content(&sink, name, "one");
		assert_int_equal(count_names(), 1 + no_tmpfile);
		sink.force = true;
		assert_int_equal(put_file(&sink, name, "three", 0600), 0);
		assert_content(&sink, name, "three");
		assert_int_equal(count_names(), 1 + no_tmpfile);
		sink_close(&sink);
	}
}

static void test_drop(void **state)
{
	(void)state;
	for (int no_tmpfile = 0; no_tmpfile < 2; no_tmpfile++) {
		struct sink sink = {.no_tmpfile = no_tmpfile};
		struct sink_file file;

		assert_int_equal(sink_open(&sink, dir, why), 0);
		assert_int_equal(sink_begin(&sink, &file, why), 0);
		assert_int_equal(sink_write(&file, "partial", 7, why), 0);
		assert_int_equal(count_names(), no_tmpfile);
		sink_drop(&sink, &file);
		sink_drop(&sink, &file);
		assert_int_equal(count_names(), 0);
		sink_close(&sink);
	}
}

/* A link out of the directory is a name like another: refused, or replaced, never followed. */
static void test_link_out(void **state)
{
	char outside[] = "/tmp/rig5-outside-XXXXXX";
	struct sink sink = {.force = false};
	struct xfer_file offer = {.size_bytes = 3, .name = "link"};
	struct stat st;

	(void)state;
	close(mkstemp(outside));
	write_file(outside, "mine");
	assert_int_equal(sink_open(&sink, dir, why), 0);
	assert_int_equal(symlinkat(outside, sink.dir_fd, "link"), 0);
	assert_int_equal(sink_check(&sink, &offer, 1, 1000, why), -EEXIST);
	assert_int_equal(put_file(&sink, "link", "bad", 0644), -EEXIST);
	sink.force = true;
	assert_int_equal(sink_check(&sink, &offer, 1, 1000, why), 0);
	for (int no_tmpfile = 0; no_tmpfile < 2; no_tmpfile++) {
		sink.no_tmpfile = no_tmpfile;
		assert_int_equal(put_file(&sink, "link", "new", 0644), 0);
		assert_content(&sink, "link", "new");
	}
	assert_int_equal(stat(outside, &st), 0);
	assert_int_equal(st.st_size, 4);
	unlink(outside);
	sink_close(&sink);
}

static void test_check(void **state)
{
	struct sink sink = {.force = false};
	struct xfer_file files[2] = {{600, 0644, "a"}, {500, 0644, "b"}};

	(void)state;
	assert_int_equal(sink_open(&sink, dir, why), 0);
	assert_int_equal(sink_check(&sink, files, 2, 1100, why), 0);
	assert_int_equal(sink_check(&sink, files, 2, 1099, why), -EFBIG);
	files[0].size_bytes = 1ull << 62;
	assert_int_equal(sink_check(&sink, files, 2, UINT64_MAX, why), -ENOSPC);
	files[0].size_bytes = 0;
	assert_int_equal(put_file(&sink, "b", "", 0644), 0);
	assert_int_equal(sink_check(&sink, files, 2, 1100, why), -EEXIST);
	assert_int_equal(mkdirat(sink.dir_fd, "a", 0700), 0);
	sink.force = true;
	assert_int_equal(sink_check(&sink, files, 2, 1100, why), -EISDIR);
	assert_int_equal(put_file(&sink, "a", "x", 0644), -EISDIR);
	assert_int_equal(count_names(), 2);
	sink_close(&sink);
	assert_int_equal(sink_open(&sink, "/nonexistent", why), -ENOENT);
	assert_non_null(strstr(why, "/nonexistent"));
}

static void test_hasher(void **state)
{
	/* [FIPS180-4] examples: "abc", and the empty message. */
	static const uint8_t abc[4] = {0xba, 0x78, 0x16, 0xbf};
	static const uint8_t none[4] = {0xe3, 0xb0, 0xc4, 0x42};
	uint8_t digests[600][HASHER_DIGEST_BYTES];
	struct hasher *hasher;

	(void)state;
	assert_int_equal(hasher_create(&hasher), 0);
	for (int i = 0; i < 600; i++) {
		if (i % 2) {
			hasher_push(hasher, "a", 1);
			hasher_push(hasher, "bc", 2);
		}
		hasher_finish(hasher, digests[i]);
	}
	while (hasher_files(hasher) < 600)
		hasher_wait(hasher, 1000);
	assert_int_equal(hasher_pieces(hasher), 600);
	for (int i = 0; i < 600; i++)
		assert_memory_equal(digests[i], i % 2 ? abc : none, 4);
	/* Destroying drops what is queued. */
	hasher_push(hasher, "x", 1);
	hasher_destroy(hasher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_commit, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_drop, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_link_out, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
	    cmocka_unit_test(test_hasher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
