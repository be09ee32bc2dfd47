/* SPDX-License-Identifier: BSD-2-Clause */
/* host/bell: a store to a protected page stops, is told of, and goes on when the bell is lifted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host/bell.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 3, LATE_MS = 5000 };

struct bed {
	struct host_bell bell;
	char *base;  /* what the NIC sees */
	char *alias; /* what the application stores to */
};

static int setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	bed->base =
	    mmap(NULL, PAGE * PAGES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bed->base, MAP_FAILED);
	bed->alias = mremap(bed->base, 0, PAGE * PAGES, MREMAP_MAYMOVE);
	assert_ptr_not_equal(bed->alias, MAP_FAILED);
	host_bell_init(&bed->bell);
	host_bell_open(&bed->bell);
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	host_bell_close(&bed->bell, false);
	host_bell_free(&bed->bell);
	munmap(bed->base, PAGE * PAGES);
	munmap(bed->alias, PAGE * PAGES);
	free(bed);
	return 0;
}

struct store {
	pthread_t thread;
	_Atomic char *at;
	_Atomic bool done;
};

static void *store_body(void *arg)
{
	struct store *store = arg;

	*store->at = 7;
	atomic_store(&store->done, true);
	return NULL;
}

static void store_start(struct store *store, char *at)
{
	*store = (struct store){.at = (_Atomic char *)at};
	assert_int_equal(pthread_create(&store->thread, NULL, store_body, store), 0);
}

/* Whether the bell rings within so many milliseconds. */
static bool rings(struct bed *bed, int ms)
{
	struct pollfd fd = {.fd = bed->bell.fd, .events = POLLIN};

	return poll(&fd, 1, ms) == 1 && host_bell_rang(&bed->bell);
}

static void skip_if_refused(const struct bed *bed)
{
	if (bed->bell.fd < 0)
		skip();
}

static void a_store_stops_until_the_bell_is_lifted(void **state)
{
	struct bed *bed = *state;
	struct store store;

	skip_if_refused(bed);
	host_bell_add(&bed->bell, bed->alias, PAGE * PAGES);
	assert_true(host_bell_is_lifted(&bed->bell));
	host_bell_hang(&bed->bell);
	assert_false(host_bell_is_lifted(&bed->bell));
	store_start(&store, bed->alias + 2 * PAGE + 0x800);
	assert_true(rings(bed, LATE_MS));
	assert_false(atomic_load(&store.done));
	assert_int_equal(bed->base[2 * PAGE + 0x800], 0);
	host_bell_lift(&bed->bell);
	pthread_join(store.thread, NULL);
	assert_int_equal(bed->base[2 * PAGE + 0x800], 7);
	/* Lifted for all, and until it is hung again. */
	bed->alias[0] = 1;
	assert_false(rings(bed, 0));
	host_bell_hang(&bed->bell);
	store_start(&store, bed->alias);
	assert_true(rings(bed, LATE_MS));
	host_bell_lift(&bed->bell);
	pthread_join(store.thread, NULL);
}

static void the_nic_reads_and_clears_a_protected_page(void **state)
{
	struct bed *bed = *state;

	skip_if_refused(bed);
	bed->alias[0x800] = 5;
	host_bell_add(&bed->bell, bed->alias, PAGE);
	host_bell_hang(&bed->bell);
	assert_int_equal(bed->base[0x800], 5);
	bed->base[0x800] = 0;
	assert_false(rings(bed, 0));
	assert_int_equal(bed->alias[0x800], 0);
}

static void who_makes_ready_does_not_stop(void **state)
{
	struct bed *bed = *state;

	skip_if_refused(bed);
	host_bell_add(&bed->bell, bed->alias, PAGE);
	host_bell_hang(&bed->bell);
	host_bell_ready(&bed->bell);
	bed->alias[0] = 3;
	assert_false(rings(bed, 0));
}

/* And what comes to lie at its address is not ours to protect. */
static void a_page_that_was_unmapped_is_forgotten(void **state)
{
	struct bed *bed = *state;
	char *other;

	skip_if_refused(bed);
	host_bell_add(&bed->bell, bed->alias, PAGE * PAGES);
	munmap(bed->alias + PAGE, PAGE);
	host_bell_hang(&bed->bell);
	assert_int_equal(bed->bell.count, 2);
	host_bell_lift(&bed->bell);
	other = mmap(bed->alias + PAGE, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(other, bed->alias + PAGE);
	host_bell_hang(&bed->bell);
	*other = 1;
	assert_false(rings(bed, 0));
}

static void a_page_is_counted_once(void **state)
{
	struct bed *bed = *state;

	skip_if_refused(bed);
	host_bell_add(&bed->bell, bed->alias, PAGE);
	host_bell_add(&bed->bell, bed->alias, PAGE);
	assert_int_equal(bed->bell.count, 1);
	assert_false(host_bell_deaf(&bed->bell));
}

static void a_store_goes_on_when_the_bell_is_closed(void **state)
{
	struct bed *bed = *state;
	struct store store;

	skip_if_refused(bed);
	host_bell_add(&bed->bell, bed->alias, PAGE);
	host_bell_hang(&bed->bell);
	store_start(&store, bed->alias);
	assert_true(rings(bed, LATE_MS));
	host_bell_close(&bed->bell, false);
	pthread_join(store.thread, NULL);
	host_bell_hang(&bed->bell);
	bed->alias[1] = 1;
	assert_false(rings(bed, 0));
}

static void without_a_descriptor_it_is_deaf(void **state)
{
	struct bed *bed = *state;
	struct host_bell bell;

	host_bell_init(&bell);
	assert_false(host_bell_deaf(&bell));
	host_bell_add(&bell, bed->alias, PAGE);
	assert_true(host_bell_deaf(&bell));
	host_bell_hang(&bell);
	bed->alias[0] = 1;
	host_bell_lift(&bell);
	host_bell_close(&bell, false);
	host_bell_free(&bell);
}

/* The number may be somebody else's by now. */
static void a_strangers_descriptor_stays_open(void **state)
{
	struct bed *bed = *state;
	int pipe_fds[2];

	skip_if_refused(bed);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(dup2(pipe_fds[0], bed->bell.fd), bed->bell.fd);
	close(pipe_fds[0]);
	host_bell_add(&bed->bell, bed->alias, PAGE);
	assert_true(host_bell_deaf(&bed->bell));
	host_bell_free(&bed->bell);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	close(bed->bell.fd);
	close(pipe_fds[1]);
	host_bell_init(&bed->bell);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(a_store_stops_until_the_bell_is_lifted),
	    TEST(the_nic_reads_and_clears_a_protected_page),
	    TEST(who_makes_ready_does_not_stop),
	    TEST(a_page_that_was_unmapped_is_forgotten),
	    TEST(a_page_is_counted_once),
	    TEST(a_store_goes_on_when_the_bell_is_closed),
	    TEST(without_a_descriptor_it_is_deaf),
	    TEST(a_strangers_descriptor_stays_open),
	};

	return cmocka_run_group_tests_name("host/bell", tests, NULL, NULL);
}
