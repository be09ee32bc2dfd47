/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/guard: a copy that faults returns false wherever the fault is, every length copies exactly
 * its bytes, and whoever handled faults before still does. Both the assembly and the plain C
 * routines.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct routines {
	const char *name;
	bool (*copy)(void *ctx, void *to, const void *from, size_t len);
	bool (*load32)(void *ctx, uint64_t va, uint32_t *value);
	bool (*store32)(void *ctx, uint64_t va, uint32_t value);
	bool (*cas64)(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old);
};

static const struct routines kinds[] = {
    {"native", host_guard_copy, host_guard_load32, host_guard_store32, host_guard_cas64},
    {"portable", host_guard_portable_copy, host_guard_portable_load32, host_guard_portable_store32,
     host_guard_portable_cas64},
};

/* cmocka installs its own handler before each test. */
static void install(void **state)
{
	(void)state;
	assert_int_equal(host_guard_install(), 0);
}

#define FOR_EACH_KIND(kind) for (const struct routines *kind = kinds; kind < kinds + 2; kind++)

/* Three pages of which the outer two may not be touched. */
static uint8_t *island(size_t *page_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *base = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(base != MAP_FAILED);
	assert_int_equal(mprotect(base + page, page, PROT_READ | PROT_WRITE), 0);
	*page_bytes = page;
	return base + page;
}

/* Every length to 700 and both ends at every alignment copies its bytes and nothing beside them. */
static void test_lengths(void **state)
{
	enum { MAX = 700, EDGE = 64 };
	static uint8_t src[MAX + 2 * EDGE], dst[MAX + 2 * EDGE], want[MAX + 2 * EDGE];

	install(state);
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 7 + 1);
	FOR_EACH_KIND(kind)
	{
		for (size_t n = 0; n < MAX * 4; n++) {
			size_t len = n / 4, from = n * 5 % EDGE, to = n * 11 % EDGE;

			memset(dst, 0xee, sizeof(dst));
			memset(want, 0xee, sizeof(want));
			memcpy(want + to, src + from, len);
			assert_true(kind->copy(NULL, dst + to, src + from, len));
			if (memcmp(dst, want, sizeof(dst)) != 0)
				fail_msg("%s: len %zu from %zu to %zu", kind->name, len, from, to);
		}
	}
}

/* A range that crosses into a page without access fails at either end, as source and target. */
static void test_fault_at_ends(void **state)
{
	static const size_t lens[] = {1,  2,  3,   4,   7,   8,   12,  16,  24,   32,  48,
				      64, 65, 100, 128, 129, 200, 256, 300, 1000, 4000};
	static uint8_t ours[8192];
	size_t page;
	uint8_t *good = island(&page);

	install(state);
	FOR_EACH_KIND(kind)
	{
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			size_t len = lens[i];

			for (size_t over = 1; over <= len; over += 1 + len / 7) {
				uint8_t *end = good + page - len + over;
				uint8_t *start = good - over;

				assert_false(kind->copy(NULL, ours, end, len));
				assert_false(kind->copy(NULL, end, ours, len));
				assert_false(kind->copy(NULL, ours, start, len));
				assert_false(kind->copy(NULL, start, ours, len));
			}
			assert_true(kind->copy(NULL, good + page - len, ours, len));
			assert_true(kind->copy(NULL, ours, good, len));
		}
	}
	munmap(good - page, 3 * page);
}

/* A hole in the middle of a long range: the bytes before it arrive. */
static void test_fault_in_the_middle(void **state)
{
	static uint8_t ours[3 * 4096];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *base =
	    mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	install(state);
	memset(base, 0x5a, 3 * page);
	munmap(base + page, page);
	FOR_EACH_KIND(kind)
	{
		memset(ours, 0, sizeof(ours));
		assert_false(kind->copy(NULL, ours, base, sizeof(ours)));
		assert_int_equal(ours[0], 0x5a);
		assert_int_equal(ours[page - 256], 0x5a);
		assert_int_equal(ours[page + 1], 0);
		assert_false(kind->copy(NULL, base, ours, sizeof(ours)));
	}
	munmap(base, page);
	munmap(base + 2 * page, page);
}

/* Addresses that are no addresses, and the single-word accesses. */
static void test_wild(void **state)
{
	static const uint64_t wild[] = {0,
					8,
					0xffffffffffffff00u,
					0x8000000000000000u,
					0x0000800000000000u,
					0xdeadbeefdeadbee8u};
	uint64_t word = 0x1122334455667788u, old;
	uint32_t value = 7;

	install(state);
	FOR_EACH_KIND(kind)
	{
		for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
			void *at = (void *)(uintptr_t)wild[i];

			assert_false(kind->copy(NULL, &word, at, 8));
			assert_false(kind->copy(NULL, at, &word, 8));
			assert_false(kind->load32(NULL, wild[i], &value));
			assert_false(kind->store32(NULL, wild[i], 1));
			assert_false(kind->cas64(NULL, wild[i], 0, 1, &old));
		}
		assert_true(kind->store32(NULL, (uintptr_t)&word, 5));
		assert_true(kind->load32(NULL, (uintptr_t)&word, &value));
		assert_int_equal(value, 5);
		word = 9;
		assert_true(kind->cas64(NULL, (uintptr_t)&word, 8, 10, &old));
		assert_true(old == 9 && word == 9);
		assert_true(kind->cas64(NULL, (uintptr_t)&word, 9, 10, &old));
		assert_true(old == 9 && word == 10);
	}
}

/* A mapped file that was cut short gives SIGBUS: the same answer. */
static void test_truncated_file(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("guard", MFD_CLOEXEC);
	uint8_t *map, byte;

	install(state);
	assert_int_equal(ftruncate(fd, (off_t)(2 * page)), 0);
	map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_int_equal(ftruncate(fd, (off_t)page), 0);
	FOR_EACH_KIND(kind)
	{
		assert_true(kind->copy(NULL, &byte, map, 1));
		assert_false(kind->copy(NULL, &byte, map + page, 1));
		assert_false(kind->copy(NULL, map + page, &byte, 1));
	}
	assert_true(host_guard_probe((uintptr_t)map, page, true));
	assert_false(host_guard_probe((uintptr_t)map, page + 1, true));
	munmap(map, 2 * page);
	close(fd);
}

static void test_probe(void **state)
{
	size_t page;
	uint8_t *good = island(&page);
	uint64_t va = (uintptr_t)good;

	install(state);
	good[5] = 77;
	assert_true(host_guard_probe(va, page, true));
	assert_true(host_guard_probe(va + page - 1, 1, true));
	assert_true(host_guard_probe(va, 0, true));
	assert_true(host_guard_probe(0, 0, false));
	assert_false(host_guard_probe(va, page + 1, false));
	assert_false(host_guard_probe(va - 1, 2, false));
	assert_false(host_guard_probe(va, UINT64_MAX, false));
	assert_false(host_guard_probe(0x0000800000000000u, 8, false));
	assert_int_equal(good[5], 77);
	mprotect(good, page, PROT_READ);
	assert_true(host_guard_probe(va, page, false));
	assert_false(host_guard_probe(va, page, true));
	munmap(good - page, 3 * page);
}

/* ---- children: what happens to a fault that is not ours ------------------------------------- */

static volatile sig_atomic_t handled;
static sigjmp_buf out;
static volatile uintptr_t nowhere = 16;

static void app_handler(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	handled++;
	siglongjmp(out, 1);
}

static void app_install(void (*handler)(int, siginfo_t *, void *), struct sigaction *old)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &action, old);
}

static void app_fault(void)
{
	if (sigsetjmp(out, 1) == 0)
		*(volatile int *)nowhere = 1;
}

static int in_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool guarded_fault_is_caught(void)
{
	char byte;

	return !host_guard_copy(NULL, &byte, (const void *)nowhere, 1);
}

/* The application's handler was there first: its faults are its, ours are ours, again and again. */
static int child_earlier_handler(void)
{
	app_install(app_handler, NULL);
	host_guard_recheck();
	for (int i = 0; i < 3; i++) {
		app_fault();
		if (handled != i + 1 || !guarded_fault_is_caught())
			return 1;
	}
	return 0;
}

/* It came later and calls nobody: after a recheck both work. */
static int child_later_handler(void)
{
	host_guard_recheck();
	app_install(app_handler, NULL);
	host_guard_recheck();
	app_fault();
	return handled == 1 && guarded_fault_is_caught() ? 0 : 1;
}

static struct sigaction chained;

static void chaining_handler(int signal, siginfo_t *info, void *context)
{
	if (++handled > 10)
		_exit(3);
	if (chained.sa_flags & SA_SIGINFO)
		chained.sa_sigaction(signal, info, context);
	else if (chained.sa_handler == SIG_DFL)
		_exit(42);
}

/* It came later and calls the one before, which is ours, which calls it: no circle; the end of the
 * chain, here a handler that was there before everybody, is reached. */
static int child_circle(void)
{
	app_install(app_handler, NULL);
	host_guard_recheck();
	app_install(chaining_handler, &chained);
	host_guard_recheck();
	app_fault();
	return handled == 2 && guarded_fault_is_caught() ? 0 : 1;
}

/* Puts back what it found, as debuggers' and UCX's handlers do, and then leaves the signal to that:
 * by a signal of its own, which comes when it returns, or by running the instruction again. */
static bool raises;

static void leaving_handler(int signal, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	if (++handled > 1)
		_exit(4);
	sigaction(signal, &chained, NULL);
	if (raises)
		raise(signal);
}

static int child_leaves(void)
{
	host_guard_recheck();
	app_install(leaving_handler, &chained);
	host_guard_recheck();
	*(volatile int *)nowhere = 1;
	return 1;
}

static int child_leaves_and_raises(void)
{
	raises = true;
	return child_leaves();
}

/* What it left behind is the chain of the next fault, too. */
static int child_leaves_to_another(void)
{
	app_install(app_handler, NULL);
	host_guard_recheck();
	app_install(leaving_handler, &chained);
	host_guard_recheck();
	app_fault();
	if (handled != 2)
		return 1;
	host_guard_recheck();
	app_fault();
	return handled == 3 && guarded_fault_is_caught() ? 0 : 2;
}

static int child_default(void)
{
	host_guard_recheck();
	*(volatile int *)nowhere = 1;
	return 1;
}

static int child_sent_signal(void)
{
	host_guard_recheck();
	raise(SIGSEGV);
	return 1;
}

static int child_ignored(void)
{
	signal(SIGSEGV, SIG_IGN);
	host_guard_recheck();
	raise(SIGSEGV);
	return 0;
}

static void test_chaining(void **state)
{
	static const struct {
		const char *name;
		int (*body)(void);
		int want;
	} cases[] = {
	    {"earlier handler", child_earlier_handler, 0},
	    {"later handler", child_later_handler, 0},
	    {"circle", child_circle, 0},
	    {"a handler that goes", child_leaves, 1000 + SIGSEGV},
	    {"a handler that goes and raises", child_leaves_and_raises, 1000 + SIGSEGV},
	    {"a handler that goes, and an older one", child_leaves_to_another, 0},
	    {"default action of a fault", child_default, 1000 + SIGSEGV},
	    {"default action of a sent signal", child_sent_signal, 1000 + SIGSEGV},
	    {"ignored sent signal", child_ignored, 0},
	};

	install(state);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int got = in_child(cases[i].body);

		if (got != cases[i].want)
			fail_msg("%s: %d, wanted %d", cases[i].name, got, cases[i].want);
	}
}

static void *blocking_thread(void *arg)
{
	sigset_t mask;
	bool *ready = (bool *)arg;

	sigfillset(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	*ready = host_guard_thread_ready();
	return NULL;
}

/* A thread that blocks SIGSEGV is recognised. */
static void test_thread_ready(void **state)
{
	bool ready = true;
	pthread_t thread;

	install(state);
	assert_true(host_guard_thread_ready());
	pthread_create(&thread, NULL, blocking_thread, &ready);
	pthread_join(thread, NULL);
	assert_false(ready);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_fault_at_ends),
	    cmocka_unit_test(test_fault_in_the_middle),
	    cmocka_unit_test(test_wild),
	    cmocka_unit_test(test_truncated_file),
	    cmocka_unit_test(test_probe),
	    cmocka_unit_test(test_chaining),
	    cmocka_unit_test(test_thread_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
