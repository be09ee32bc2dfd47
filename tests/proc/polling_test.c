/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/: who counts as polling, so that the engine leaves the passes to him: an application thread
 * that comes back at once, however long the passes take, and not one that does other things
 * between. And the engine of a process that does not poll, but is asked again and again: it stays
 * awake.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host_stub.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LONG_NS = 30000, /* more than the pause that ends polling */
	ATTEMPTS = 5,
	SAMPLES = 20,
	ROUND_TRIPS = 100,
	MANY = 500,
	WAIT_MS = 20000,
};

#define POLLS_NS 2000000000u /* who has not become a poller by then does not */
#define WORKS_NS 50000000u   /* what is no poller has been taken for one by then, if ever */

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

/* Two runs of this test at once must not share a port. */
static void address_of_run(char *address, size_t size)
{
	snprintf(address, size, "127.83.%d.%d", getpid() / 200 % 200, getpid() % 200 + 1);
}

static void join(struct bed *bed)
{
	char why[256], address[64];
	struct host_port_config config = {.name = "soft0",
					  .address = address,
					  .mtu_bytes = 1024,
					  .notice = on_notice,
					  .ctx = bed};

	address_of_run(address, sizeof(address));
	memset(bed, 0, sizeof(*bed));
	bed->nic.deadline_ns = UINT64_MAX;
	assert_int_equal(host_port_join(&config, &bed->port, why, sizeof(why)), 0);
	host_port_env(bed->port, &bed->nic.env);
	host_port_start(bed->port, &bed->nic);
}

/* Whether the engine leaves the work to a thread that lends itself for so long, pause_ns apart. Not
 * so often: one that finds the engine at work comes back at once. */
static bool polls(struct bed *bed, uint64_t pause_ns, uint64_t for_ns)
{
	uint64_t until_ns = host_now_ns() + for_ns;

	while (host_now_ns() < until_ns) {
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
	static struct bed bed;

	(void)state;
	join(&bed);
	atomic_store(&bed.pass_ns, LONG_NS);
	assert_true(polls(&bed, 0, POLLS_NS));
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
	uint64_t until_ns = host_now_ns() + POLLS_NS;
	static struct bed bed;

	(void)state;
	join(&bed);
	while (host_now_ns() < until_ns && atomic_load(&bed.port->mode) != HOST_WATCH)
		poll_beside(bed.port);
	assert_int_equal(atomic_load(&bed.port->mode), HOST_WATCH);
	host_port_leave(bed.port);
}

/* One that waits for memory to change between does not poll: the engine has to look. */
static void test_pauses(void **state)
{
	static struct bed bed;

	(void)state;
	join(&bed);
	for (int i = 0; i < ATTEMPTS; i++)
		assert_false(polls(&bed, LONG_NS, WORKS_NS));
	host_port_leave(bed.port);
}

/* ---- the engine of a passive process --------------------------------------------------------- */

/* A process that sleeps, whose engine answers, until the other end of in is closed. */
static int passive(const char *address, int in, int out)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, address, &qpn);
	char byte;

	if (!port || write(out, &qpn, sizeof(qpn)) != sizeof(qpn))
		return 1;
	(void)!read(in, &byte, sizeof(byte));
	host_port_leave(port);
	return nic.bad ? 2 : 0;
}

static pid_t passive_start(const char *address, int *in, uint32_t *qpn)
{
	int to[2], from[2];
	pid_t pid;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		_exit(passive(address, to[0], from[1]));
	}
	close(to[0]);
	close(from[1]);
	assert_int_equal(read(from[0], qpn, sizeof(*qpn)), sizeof(*qpn));
	close(from[0]);
	*in = to[1];
	return pid;
}

static uint64_t wakes_sent(struct host_port *port)
{
	uint64_t wakes;

	host_port_lock(port);
	wakes = port->local->counters.wakes_sent;
	host_port_unlock(port);
	return wakes;
}

/* ROUND_TRIPS packets there and back, one at a time; how often the other end had to be woken. */
static uint64_t wakes_of_round_trips(struct host_port *port, struct nic *nic, uint32_t peer,
				     uint32_t qpn)
{
	uint64_t before = wakes_sent(port);

	for (int i = 0; i < ROUND_TRIPS; i++) {
		uint64_t goal = nic->received + 1;

		stub_queue(port, nic, peer, 1, 100, qpn);
		for (int n = 0; nic->received < goal && n < 100000000; n++)
			host_port_progress(port);
		assert_int_equal(nic->received, goal);
	}
	return wakes_sent(port) - before;
}

/* How many threads of the machine run or want to, this one among them [proc(5) loadavg]. */
static int running(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	int count;

	if (!file)
		return 0;
	if (fscanf(file, "%*s %*s %*s %d", &count) != 1) /* NOLINT(cert-err34-c) */
		count = 0;
	fclose(file);
	return count;
}

/* On processors that others want, the engine sleeps; unless there are many, they leave one. */
static bool machine_is_crowded(void)
{
	int crowded = 0;

	for (int i = 0; i < SAMPLES; i++) {
		crowded += running() >= sysconf(_SC_NPROCESSORS_ONLN);
		usleep(5000);
	}
	return crowded > SAMPLES / 4;
}

static void test_asked_again_and_again(void **state)
{
	uint64_t until_ns = host_now_ns() + 10000000000u, wakes;
	struct host_port *port;
	char address[64];
	static struct nic nic;
	uint32_t peer, qpn;
	bool crowded;
	int in, status;
	pid_t pid;

	(void)state;
	address_of_run(address, sizeof(address));
	pid = passive_start(address, &in, &peer);
	port = stub_start(&nic, address, &qpn);
	assert_non_null(port);
	do
		wakes = wakes_of_round_trips(port, &nic, peer, qpn);
	while (wakes > ROUND_TRIPS / 10 && host_now_ns() < until_ns);
	crowded = wakes > ROUND_TRIPS / 10 && machine_is_crowded();
	host_port_leave(port);
	close(in);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(nic.bad, 0);
	if (crowded)
		skip();
	assert_true(wakes <= ROUND_TRIPS / 10);
}

static uint64_t unsent(struct host_port *port, const struct nic *nic)
{
	uint64_t count;

	host_port_lock(port);
	count = nic->to_send;
	host_port_unlock(port);
	return count;
}

static void child_signal(pid_t pid, int number)
{
	int status;

	kill(pid, number);
	if (number == SIGSTOP)
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
}

/* What came while a control call was at work is more than its one pass takes: the engine, which has
 * been told of it and found the lock taken, takes the rest. */
static void test_more_than_a_pass(void **state)
{
	struct host_port *port;
	char address[64];
	static struct nic nic;
	uint32_t peer, qpn;
	int in, status;
	pid_t pid;

	(void)state;
	address_of_run(address, sizeof(address));
	pid = passive_start(address, &in, &peer);
	port = stub_start(&nic, address, &qpn);
	assert_non_null(port);
	stub_queue(port, &nic, peer, 1, 100, qpn);
	assert_true(stub_wait(&nic.received, 1, WAIT_MS));
	child_signal(pid, SIGSTOP);
	stub_queue(port, &nic, peer, MANY, 100, qpn);
	for (int i = 0; i < WAIT_MS && unsent(port, &nic) != 0; i++)
		usleep(1000);
	host_port_lock(port);
	child_signal(pid, SIGCONT);
	usleep(100000); /* all of them are back */
	host_port_unlock(port);
	assert_true(stub_wait(&nic.received, 1 + MANY, WAIT_MS));
	host_port_leave(port);
	close(in);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_long_passes),      cmocka_unit_test(test_others_at_work),
	    cmocka_unit_test(test_pauses),           cmocka_unit_test(test_asked_again_and_again),
	    cmocka_unit_test(test_more_than_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
