/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/: a program that stores to its register pages and never calls anything is served all the
 * same, and costs nothing while it does not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host_stub.h"

#include "tests/support/idle.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, LATE_MS = 5000, ROUNDS = 50 };
/* The thread sanitizer's runtime has a thread that wakes every tenth of a second. */
#ifdef __SANITIZE_THREAD__
enum { RUNTIME_SWITCHES = 15 };
#else
enum { RUNTIME_SWITCHES = 0 };
#endif

struct bed {
	struct nic nic;
	struct host_port *port;
	uint32_t *base;  /* the NIC's view of the page */
	uint32_t *alias; /* the application's */
	_Atomic uint32_t seen;
};

static void on_notice(void *ctx, uint64_t now_ns)
{
	struct bed *bed = ctx;

	(void)now_ns;
	if (bed->base)
		atomic_store(&bed->seen, __atomic_load_n(bed->base, __ATOMIC_ACQUIRE));
}

static void store(struct bed *bed, uint32_t value)
{
	__atomic_store_n(bed->alias, value, __ATOMIC_RELEASE);
}

static void nap_ms(long ms)
{
	const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&nap, NULL);
}

static void join(struct bed *bed, const char *address)
{
	char why[256];
	struct host_port_config config = {.name = "soft0",
					  .address = address,
					  .mtu_bytes = 1024,
					  .notice = on_notice,
					  .ctx = bed,
					  .stores = true};

	memset(bed, 0, sizeof(*bed));
	bed->nic.deadline_ns = UINT64_MAX;
	bed->base = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bed->base, MAP_FAILED);
	bed->alias = mremap(bed->base, 0, PAGE, MREMAP_MAYMOVE);
	assert_ptr_not_equal(bed->alias, MAP_FAILED);
	assert_int_equal(host_port_join(&config, &bed->port, why, sizeof(why)), 0);
	host_port_env(bed->port, &bed->nic.env);
	host_port_start(bed->port, &bed->nic);
}

static void leave(struct bed *bed)
{
	host_port_leave(bed->port);
	munmap(bed->base, PAGE);
	munmap(bed->alias, PAGE);
}

/* Whether a pass sees what was stored. */
static bool noticed(const struct bed *bed, uint32_t value)
{
	for (int ms = 0; ms < LATE_MS; ms++) {
		if (atomic_load(&bed->seen) == value)
			return true;
		nap_ms(1);
	}
	return false;
}

static void stores_are_noticed(struct bed *bed)
{
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		if (i % 10 == 0)
			nap_ms(20); /* all are asleep for sure */
		store(bed, i);
		assert_true(noticed(bed, i));
	}
}

static void a_store_wakes_a_sleeping_engine(void **state)
{
	const struct idle_cost most = {.cpu_us = UINT64_MAX, .switches = 5 + RUNTIME_SWITCHES};
	static struct bed bed;

	(void)state;
	join(&bed, "127.98.3.1");
	if (bed.port->bell.fd < 0) {
		leave(&bed);
		skip();
	}
	host_port_registers(bed.port, bed.alias, PAGE);
	assert_false(host_bell_deaf(&bed.port->bell));
	stores_are_noticed(&bed);
	nap_ms(50);
	assert_in_range(idle_cost(500, most).switches, 0, most.switches); /* nobody looks */
	leave(&bed);
}

/* A thread that says so first is not stopped; one that does not, afterwards, is still noticed. */
static void some_stores_are_told_of_and_some_are_not(void **state)
{
	static struct bed bed;

	(void)state;
	join(&bed, "127.98.3.2");
	host_port_registers(bed.port, bed.alias, PAGE);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		if (i % 2) {
			host_port_ringing(bed.port);
			store(&bed, i);
			host_port_progress(bed.port);
		} else {
			store(&bed, i);
		}
		assert_true(noticed(&bed, i));
	}
	leave(&bed);
}

/* Where the system refuses: found by looking, at least every 10 ms. */
static void without_userfaultfd_the_engine_looks(void **state)
{
	static struct bed bed;

	(void)state;
	join(&bed, "127.98.3.3");
	bed.port->bell.deaf = true;
	host_port_lock(bed.port);
	host_port_unlock(bed.port);
	host_port_wake(bed.port);
	stores_are_noticed(&bed);
	/* And that is seen by what the test above measures. */
	assert_true(idle_stretch(1000).switches > 5);
	leave(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_store_wakes_a_sleeping_engine),
	    cmocka_unit_test(some_stores_are_told_of_and_some_are_not),
	    cmocka_unit_test(without_userfaultfd_the_engine_looks),
	};

	return cmocka_run_group_tests_name("host/bell, processes", tests, NULL, NULL);
}
