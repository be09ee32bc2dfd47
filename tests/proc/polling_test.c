/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/: who counts as polling, so that the engine leaves the passes to him: an application thread
 * that comes back at once, however long the passes take, and not one that does other things
 * between.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host_stub.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	LONG_NS = 30000, /* more than the pause that ends polling */
	PASSES = 2000,   /* enough for a poller; on a busy machine, too */
	ATTEMPTS = 5,
};

struct bed {
	struct nic nic;
	struct host_port *port;
	_Atomic uint64_t pass_ns; /* what a pass takes at least */
};

static void spin(uint64_t ns)
{
	uint64_t until_ns = host_now_ns() + ns;

	while (host_now_ns() < until_ns)
		;
}

static void on_notice(void *ctx, uint64_t now_ns)
{
	struct bed *bed = ctx;

	(void)now_ns;
	spin(atomic_load(&bed->pass_ns));
}

static void join(struct bed *bed)
{
	char why[256], address[64];
	struct host_port_config config = {.name = "soft0",
					  .address = address,
					  .mtu_bytes = 1024,
					  .notice = on_notice,
					  .ctx = bed};

	snprintf(address, sizeof(address), "127.83.%d.%d", getpid() / 200 % 200,
		 getpid() % 200 + 1);
	memset(bed, 0, sizeof(*bed));
	bed->nic.deadline_ns = UINT64_MAX;
	assert_int_equal(host_port_join(&config, &bed->port, why, sizeof(why)), 0);
	host_port_env(bed->port, &bed->nic.env);
	host_port_start(bed->port, &bed->nic);
}

/* Whether the engine leaves the work to a thread that lends itself PASSES times, pause_ns apart. */
static bool polls(struct bed *bed, uint64_t pause_ns)
{
	for (int i = 0; i < PASSES; i++) {
		host_port_progress(bed->port);
		if (atomic_load(&bed->port->mode) == HOST_WATCH)
			return true;
		spin(pause_ns);
	}
	return false;
}

/* A pass may take long, as among thousands of queue pairs, or because it wakes somebody. */
static void test_long_passes(void **state)
{
	struct bed bed;

	(void)state;
	join(&bed);
	atomic_store(&bed.pass_ns, LONG_NS);
	assert_true(polls(&bed, 0));
	host_port_leave(bed.port);
}

/* Comes back again and again while somebody else is at work, and once when he is done. */
static void poll_beside(struct host_port *port)
{
	uint64_t until_ns = host_now_ns() + LONG_NS;

	host_lock_acquire(&port->lock);
	while (host_now_ns() < until_ns)
		host_port_progress(port);
	host_lock_release(&port->lock);
	host_port_progress(port);
}

/* Who finds others at work has come back, too. */
static void test_others_at_work(void **state)
{
	struct bed bed;

	(void)state;
	join(&bed);
	for (int i = 0; i < PASSES && atomic_load(&bed.port->mode) != HOST_WATCH; i++)
		poll_beside(bed.port);
	assert_int_equal(atomic_load(&bed.port->mode), HOST_WATCH);
	host_port_leave(bed.port);
}

/* One that waits for memory to change between does not poll: the engine has to look. */
static void test_pauses(void **state)
{
	struct bed bed;

	(void)state;
	join(&bed);
	for (int i = 0; i < ATTEMPTS; i++)
		assert_false(polls(&bed, LONG_NS));
	host_port_leave(bed.port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_long_passes),
	    cmocka_unit_test(test_others_at_work),
	    cmocka_unit_test(test_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
