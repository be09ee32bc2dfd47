/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/registry: only a sealed memfd of the right kind is attached to; number blocks belong to one
 * member and come back when it leaves or dies; slots run out with a word, and not before 256.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t gid[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1};
static struct host_registry registry;

static int setup(void **state)
{
	(void)state;
	return host_registry_found(&registry, "127.0.0.1", gid) || host_registry_claim(&registry);
}

static int teardown(void **state)
{
	(void)state;
	host_registry_release(&registry);
	host_registry_close(&registry);
	return 0;
}

static int memfd_of(uint64_t bytes, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void test_attach_refuses(void **state)
{
	enum { ALL = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
	static const struct {
		const char *name;
		uint64_t bytes;
		int seals;
	} cases[] = {
	    {"not sealed", SHM_BYTES, 0},
	    {"may shrink", SHM_BYTES, F_SEAL_GROW | F_SEAL_SEAL},
	    {"too short", SHM_BYTES - 4096, ALL},
	    {"too long", SHM_BYTES + 4096, ALL},
	    {"empty", 0, ALL},
	    {"not a port", SHM_BYTES, ALL},
	};
	int pipe_fds[2];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host_registry other;

		if (host_registry_attach(&other, memfd_of(cases[i].bytes, cases[i].seals)) !=
		    -EPROTO)
			fail_msg("%s", cases[i].name);
		host_registry_close(&other);
	}
	assert_int_equal(pipe(pipe_fds), 0);
	{
		struct host_registry other;

		assert_int_equal(host_registry_attach(&other, pipe_fds[0]), -EPROTO);
		host_registry_close(&other);
	}
	close(pipe_fds[1]);
}

static void test_attach_checks_header(void **state)
{
	struct shm_port *port = host_registry_port(&registry);
	struct host_registry other;

	(void)state;
	assert_int_equal(host_registry_attach(&other, dup(registry.memfd)), 0);
	assert_string_equal(host_registry_port(&other)->address, "127.0.0.1");
	host_registry_close(&other);
	port->version++;
	assert_int_equal(host_registry_attach(&other, dup(registry.memfd)), -EPROTO);
	host_registry_close(&other);
	port->version--;
	memset(port->address, 'x', sizeof(port->address));
	assert_int_equal(host_registry_attach(&other, dup(registry.memfd)), -EPROTO);
	host_registry_close(&other);
}

/* All blocks but the first and the last can be had, each once; they come back at release. */
static void test_blocks(void **state)
{
	static bool had[SHM_BLOCK_COUNT];
	uint32_t block, count = 0;

	(void)state;
	memset(had, 0, sizeof(had));
	while (host_registry_block(&registry, &block) == 0) {
		assert_true(block > 0 && block < SHM_BLOCK_COUNT - 1);
		assert_false(had[block]);
		had[block] = true;
		assert_int_equal(host_registry_owner(&registry, block << 12 | 77), registry.slot);
		count++;
	}
	assert_int_equal(count, SHM_BLOCK_COUNT - 2);
	assert_int_equal(host_registry_block(&registry, &block), -ENOSPC);
	assert_int_equal(host_registry_owner(&registry, 0), -1);
	assert_int_equal(host_registry_owner(&registry, 1), -1);
	assert_int_equal(host_registry_owner(&registry, 0xffffff), -1);
	host_registry_release(&registry);
	for (uint32_t i = 0; i < SHM_BLOCK_COUNT; i++)
		assert_int_equal(host_registry_owner(&registry, i << 12), -1);
}

/* Nonsense in the table of owners names no slot beyond the last. */
static void test_hostile_owners(void **state)
{
	(void)state;
	for (uint32_t value = 0; value <= 0xffff; value++) {
		int owner;

		atomic_store(&host_registry_port(&registry)->owners[5], (uint16_t)value);
		owner = host_registry_owner(&registry, 5 << 12);
		assert_true(owner >= -1 && owner < SHM_MEMBER_MAX);
	}
}

/* A child takes locks [first, first + count) on the memfd and lives until told. */
static pid_t holder(off_t first, off_t count, int *line)
{
	int to[2], from[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct flock lock = {.l_type = F_WRLCK, .l_start = first, .l_len = count};

		fcntl(registry.memfd, F_SETLK, &lock);
		(void)!write(from[1], &byte, 1);
		close(to[1]);
		(void)!read(to[0], &byte, 1);
		_exit(0);
	}
	assert_int_equal(read(from[0], &byte, 1), 1);
	close(to[0]);
	close(from[0]);
	close(from[1]);
	*line = to[1];
	return pid;
}

static void holder_end(pid_t pid, int line)
{
	int status;

	(void)!write(line, "", 1);
	close(line);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void everybody_live(void)
{
	for (uint32_t slot = 0; slot < SHM_MEMBER_MAX; slot++)
		atomic_store(&host_registry_member(&registry, slot)->state, SHM_LIVE);
}

/* 256 live members: -EUSERS. When they have died: a slot, and their blocks are free again. */
static void test_full_and_reclaimed(void **state)
{
	pid_t pid;
	int line;

	(void)state;
	host_registry_release(&registry);
	pid = holder(SHM_LOCK_MEMBER(0), SHM_MEMBER_MAX, &line);
	everybody_live();
	atomic_store(&host_registry_port(&registry)->owners[9], 201);
	assert_int_equal(host_registry_claim(&registry), -EUSERS);
	assert_true(host_registry_alive(&registry, 200));
	assert_int_equal(host_registry_owner(&registry, 9 << 12), 200);
	holder_end(pid, line);
	assert_false(host_registry_alive(&registry, 200));
	assert_int_equal(host_registry_claim(&registry), 0);
	assert_int_equal(host_registry_owner(&registry, 9 << 12), -1);
	assert_int_equal(atomic_load(&host_registry_member(&registry, 200)->state), SHM_FREE);
}

/* A slot that a live member still reads from is not given away, and its pool keeps its bytes. */
static void test_slot_being_read(void **state)
{
	uint32_t generation;
	pid_t pid;
	int line;

	(void)state;
	host_registry_release(&registry);
	pid = holder(SHM_LOCK_MEMBER(1), 1, &line);
	atomic_store(&host_registry_member(&registry, 1)->state, SHM_LIVE);
	atomic_store(&host_registry_member(&registry, 1)->reading[0], 1);
	host_registry_member(&registry, 0)->dirty = 1;
	host_registry_pool(&registry, 0)->bytes[7] = 99;
	generation = atomic_load(&host_registry_member(&registry, 0)->generation);
	assert_int_equal(host_registry_claim(&registry), 0);
	assert_int_equal(registry.slot, 2);
	assert_int_equal(host_registry_pool(&registry, 0)->bytes[7], 99);
	assert_int_equal(atomic_load(&host_registry_member(&registry, 0)->generation), generation);
	host_registry_release(&registry);
	atomic_store(&host_registry_member(&registry, 1)->reading[0], 0);
	assert_int_equal(host_registry_claim(&registry), 0);
	assert_int_equal(registry.slot, 0);
	assert_int_equal(host_registry_pool(&registry, 0)->bytes[7], 0);
	holder_end(pid, line);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* The first numbers of a port are over 65,535, wherever its random start is. */
static void test_numbers_start_high(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct host_registry port;
		uint32_t block;

		assert_int_equal(host_registry_found(&port, "127.0.0.1", gid), 0);
		assert_int_equal(host_registry_claim(&port), 0);
		assert_int_equal(host_registry_block(&port, &block), 0);
		assert_in_range(block, 16, 4094);
		host_registry_release(&port);
		host_registry_close(&port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_numbers_start_high),
	    TEST(test_attach_refuses), TEST(test_attach_checks_header), TEST(test_blocks),
	    TEST(test_hostile_owners), TEST(test_full_and_reclaimed),   TEST(test_slot_being_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
