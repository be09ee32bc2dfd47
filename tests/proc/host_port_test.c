/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/: processes that share a port exchange packets, and die, stop, fork and leave as they
 * please. Each test has its own address; each process a NIC that counts and echoes (host_stub.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host_stub.h"

#include "base/prng.h"
#include "host/guard.h"
#include "tests/support/idle.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { MS = 30000 /* far more than anything here takes */ };

/* A child with a line each way. */
/* at - address n of this run: two runs of this test at once must not share a port. */
static const char *at(unsigned int n)
{
	static char text[32][16];
	static unsigned int run; /* the first process's, whoever asks */

	if (run == 0)
		run = (unsigned int)getpid();
	snprintf(text[n], sizeof(text[n]), "127.%u.%u.%u", 64 | (run >> 8 & 63), run & 255, n);
	return text[n];
}

struct child {
	pid_t pid;
	int to, from;
};

static uint64_t told(int fd)
{
	uint64_t word = 0;

	if (read(fd, &word, sizeof(word)) != sizeof(word))
		return UINT64_MAX;
	return word;
}

static void tell(int fd, uint64_t word)
{
	(void)!write(fd, &word, sizeof(word));
}

/* body(in, out) runs in a child, which ends with what it returns. */
static struct child start(int (*body)(const char *address, int in, int out), const char *address)
{
	int to[2], from[2];
	struct child child;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		close(to[1]);
		close(from[0]);
		signal(SIGPIPE, SIG_DFL);
		_exit(body(address, to[0], from[1]));
	}
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	child.from = from[0];
	return child;
}

static int finish(struct child *child)
{
	int status;

	tell(child->to, 0); /* a later child has this end too, so closing is not enough */
	close(child->to);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->from);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* When it returns, all threads of the child stand still. */
static void stop(const struct child *child)
{
	int status;

	kill(child->pid, SIGSTOP);
	assert_int_equal(waitpid(child->pid, &status, WUNTRACED), child->pid);
	assert_true(WIFSTOPPED(status));
}

static bool name_taken(const char *address)
{
	char line[256], want[64];
	bool found = false;
	FILE *file = fopen("/proc/net/unix", "r");

	snprintf(want, sizeof(want), "rig5.port.%s\n", address);
	while (file && fgets(line, sizeof(line), file))
		found = found || strstr(line, want);
	if (file)
		fclose(file);
	return found;
}

/* ---- what children do ----------------------------------------------------------------------- */

/* A member that lets its engine do everything until it is told to end. */
static int passive(const char *address, int in, int out)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, address, &qpn);

	if (!port)
		return 1;
	tell(out, qpn);
	(void)told(in);
	host_port_leave(port);
	return nic.bad ? 2 : 0;
}

/* A member that polls until it is told to end. */
static int polling(const char *address, int in, int out)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, address, &qpn);

	if (!port)
		return 1;
	fcntl(in, F_SETFL, O_NONBLOCK);
	tell(out, qpn);
	for (uint64_t word; read(in, &word, sizeof(word)) < 0;)
		for (int i = 0; i < 1000; i++)
			host_port_progress(port);
	host_port_leave(port);
	return nic.bad ? 2 : 0;
}

/* A member that neither leaves nor closes anything. */
static int careless(const char *address, int in, int out)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, address, &qpn);

	if (!port)
		return 1;
	tell(out, qpn);
	(void)told(in);
	return 0;
}

/* ---- exchange ------------------------------------------------------------------------------- */

static void exchange(const char *address, int (*peer_body)(const char *, int, int), bool poll)
{
	static const size_t lens[] = {40, 56, 57, 300, 4124};
	struct child child = start(peer_body, address);
	uint32_t peer = (uint32_t)told(child.from), qpn;
	static struct nic nic;
	struct host_port *port = stub_start(&nic, address, &qpn);
	uint64_t goal = 0;

	assert_non_null(port);
	assert_int_not_equal(peer >> 12, qpn >> 12);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		stub_queue(port, &nic, peer, 3000, lens[i], qpn);
		goal += 3000;
		for (int n = 0; poll && nic.received < goal && n < 100000000; n++)
			host_port_progress(port);
		assert_true(stub_wait(&nic.received, goal, MS));
	}
	assert_int_equal(nic.bad, 0);
	assert_int_equal(nic.received, goal);
	host_port_leave(port);
	assert_int_equal(finish(&child), 0);
	assert_false(name_taken(address));
}

/* Nobody polls: two engines, woken by each other. */
static void test_engines_only(void **state)
{
	(void)state;
	exchange(at(1), passive, false);
}

static void test_both_poll(void **state)
{
	(void)state;
	exchange(at(2), polling, true);
}

static void test_one_polls(void **state)
{
	(void)state;
	exchange(at(3), passive, true);
	exchange(at(3), polling, false);
}

/* Three members: the third is reached by both others, numbers do not meet. */
static void test_three(void **state)
{
	struct child a = start(passive, at(4));
	uint32_t qpn_a = (uint32_t)told(a.from);
	struct child b = start(passive, at(4));
	uint32_t qpn_b = (uint32_t)told(b.from), qpn;
	static struct nic nic;
	struct host_port *port = stub_start(&nic, at(4), &qpn);

	(void)state;
	assert_non_null(port);
	assert_true(qpn_a != qpn_b && qpn_a != qpn && qpn_b != qpn);
	assert_true(qpn_a > 0xfff && qpn_a < 0xfff000);
	stub_queue(port, &nic, qpn_a, 500, 100, qpn);
	assert_true(stub_wait(&nic.received, 500, MS));
	nic.received = 0;
	nic.next_number = 0;
	stub_queue(port, &nic, qpn_b, 500, 100, qpn);
	assert_true(stub_wait(&nic.received, 500, MS));
	nic.received = 0;
	nic.next_number = 0;
	stub_queue(port, &nic, qpn, 500, 100, 0);
	assert_true(stub_wait(&nic.received, 500, MS));
	assert_int_equal(nic.bad, 0);
	host_port_leave(port);
	assert_int_equal(finish(&a), 0);
	assert_int_equal(finish(&b), 0);
}

/* ---- death and stopping --------------------------------------------------------------------- */

/* Killed in the middle: we go on, see that it is dead, and a newcomer gets its place and our
 * packets. */
static void test_kill_and_rejoin(void **state)
{
	struct child victim = start(passive, at(5)), heir, second;
	uint32_t dead = (uint32_t)told(victim.from), peer, qpn;
	static struct nic nic;
	struct host_port *port = stub_start(&nic, at(5), &qpn);
	uint64_t left = 1;
	bool untaken;
	int status, slot;

	(void)state;
	assert_non_null(port);
	stub_queue(port, &nic, dead, 100, 1000, qpn);
	assert_true(stub_wait(&nic.received, 100, MS));
	kill(victim.pid, SIGKILL);
	waitpid(victim.pid, &status, 0);
	stub_queue(port, &nic, dead, 100000, 1000, qpn);
	/* The wire fills up and blocks; asking about the peer finds it dead; then packets are
	 * dropped. */
	for (int i = 0; i < MS && left; i++) {
		host_port_lock(port);
		untaken = nic.env.tx_untaken(nic.env.ctx, &nic.path, dead);
		left = nic.to_send;
		host_port_unlock(port);
		usleep(1000);
	}
	assert_int_equal(left, 0);
	assert_false(untaken);
	heir = start(passive, at(5));
	peer = (uint32_t)told(heir.from);
	assert_int_not_equal(peer, dead);
	assert_int_equal(host_registry_owner(&port->registry, dead), -1);
	/* We may have been reading the dead one's packets: until we say that we do not, its slot
	 * (0) is not given away. Then it is: to this newcomer or the next. */
	slot = host_registry_owner(&port->registry, peer);
	assert_true(slot == 0 || slot == 2);
	for (int i = 0; slot && i < MS && port->local->self->reading[0] & 1; i++)
		usleep(1000);
	second = start(passive, at(5));
	assert_int_equal(host_registry_owner(&port->registry, (uint32_t)told(second.from)),
			 2 - slot);
	assert_int_equal(finish(&second), 0);
	nic.received = 0;
	nic.next_number = 0;
	stub_queue(port, &nic, peer, 1000, 1000, qpn);
	assert_true(stub_wait(&nic.received, 1000, MS));
	assert_int_equal(nic.bad, 0);
	host_port_leave(port);
	assert_int_equal(finish(&heir), 0);
}

/* Stopped: its packets stay untaken, it lives, and it takes them all when it goes on. */
static void test_stop(void **state)
{
	struct child child = start(passive, at(6));
	uint32_t peer = (uint32_t)told(child.from), qpn;
	static struct nic nic;
	struct host_port *port = stub_start(&nic, at(6), &qpn);

	(void)state;
	assert_non_null(port);
	stub_queue(port, &nic, peer, 10, 100, qpn);
	assert_true(stub_wait(&nic.received, 10, MS));
	stop(&child);
	stub_queue(port, &nic, peer, 5000, 100, qpn);
	for (int i = 0; i < 50; i++) {
		host_port_lock(port);
		assert_true(nic.env.tx_untaken(nic.env.ctx, &nic.path, peer));
		host_port_unlock(port);
		usleep(1000);
	}
	assert_true(nic.to_send > 0);
	kill(child.pid, SIGCONT);
	assert_true(stub_wait(&nic.received, 5010, MS));
	assert_int_equal(nic.bad, 0);
	host_port_leave(port);
	assert_int_equal(finish(&child), 0);
}

/* All members stopped: a newcomer says so, after two seconds, and joins once they go on. */
static void test_nobody_answers(void **state)
{
	struct host_port_config config = {.name = "soft0", .address = at(7)};
	struct child child = start(passive, at(7));
	uint32_t peer = (uint32_t)told(child.from);
	struct host_port *port;
	char why[256];

	(void)state;
	assert_int_not_equal(peer, UINT32_MAX);
	stop(&child);
	assert_int_equal(host_port_join(&config, &port, why, sizeof(why)), -ETIMEDOUT);
	assert_non_null(strstr(why, "stopped"));
	assert_non_null(strstr(why, at(7)));
	kill(child.pid, SIGCONT);
	assert_int_equal(host_port_join(&config, &port, why, sizeof(why)), 0);
	host_port_leave(port);
	assert_int_equal(finish(&child), 0);
}

/* A member that just ends: nothing is left of it, nor of a port whose only member it was. */
static void test_exit_without_leave(void **state)
{
	struct child child = start(careless, at(8));

	(void)state;
	assert_int_not_equal(told(child.from), UINT64_MAX);
	assert_true(name_taken(at(8)));
	assert_int_equal(finish(&child), 0);
	assert_false(name_taken(at(8)));
}

/* ---- fork ----------------------------------------------------------------------------------- */

/* Joins, forks, and ends; the grandchild uses nothing, harms nothing, and lives on. */
static int forker(const char *address, int in, int out)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, address, &qpn);
	pid_t pid;

	if (!port || host_port_forked(port))
		return 1;
	pid = fork();
	if (pid == 0) {
		bool forked = host_port_forked(port);

		host_port_progress(port);
		host_port_sleeping(port);
		host_port_leave(port);
		tell(out, forked);
		(void)told(in);
		_exit(0);
	}
	/* Our port works on. */
	stub_queue(port, &nic, qpn, 100, 100, 0);
	return pid > 0 && stub_wait(&nic.received, 100, MS) && !nic.bad ? 0 : 1;
}

static void test_fork(void **state)
{
	struct child child = start(forker, at(9));
	int status;

	(void)state;
	assert_int_equal(told(child.from), 1);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	assert_int_equal(status, 0);
	/* The grandchild still waits for us; the port is gone all the same. */
	assert_false(name_taken(at(9)));
	close(child.to);
	close(child.from);
}

/* An application that closes every descriptor it can find keeps its port. */
static int closer(const char *address, int in, int out)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, address, &qpn);

	if (!port)
		return 1;
	for (int fd = 0; fd < 1000; fd++)
		if (fd != in && fd != out)
			close(fd);
	tell(out, qpn);
	(void)told(in);
	return nic.bad ? 2 : 0;
}

static void test_close_all(void **state)
{
	(void)state;
	exchange(at(10), closer, false);
}

/* ---- other users ---------------------------------------------------------------------------- */

/* As another user: the named address (or "LID n") is refused in words, and the default port is at
 * another one. */
static int other_user(const char *address, int in, int out)
{
	bool infiniband = strncmp(address, "LID ", 4) == 0;
	struct host_port_config config = {.name = "soft0", .address = address};
	struct host_port *port;
	char why[256];
	uint8_t gid[16];

	(void)in;
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 1;
	if (infiniband) {
		config.infiniband = true;
		config.lid = (uint16_t)atoi(address + 4);
	}
	if (host_port_join(&config, &port, why, sizeof(why)) != -EADDRINUSE)
		return 2;
	if (!strstr(why, "another user") || !strstr(why, address))
		return 3;
	config.address = NULL;
	config.lid = 0;
	if (host_port_join(&config, &port, why, sizeof(why)) != 0)
		return 4;
	host_port_gid(port, gid);
	tell(out, gid[15]);
	host_port_leave(port);
	return 0;
}

/* The same for LIDs, which are another space of addresses. */
static void test_two_users_of_infiniband(void **state)
{
	struct host_port_config config = {.name = "soft0", .infiniband = true};
	struct host_port *port, *second;
	char why[256], address[32];
	struct child child;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(host_port_join(&config, &port, why, sizeof(why)), 0);
	assert_int_not_equal(host_port_lid(port), 0);
	assert_int_equal(host_port_join(&config, &second, why, sizeof(why)), 0);
	assert_int_equal(host_port_lid(second), host_port_lid(port));
	host_port_leave(second);
	snprintf(address, sizeof(address), "LID %u", host_port_lid(port));
	child = start(other_user, address);
	assert_int_not_equal(told(child.from), host_port_lid(port));
	assert_int_equal(finish(&child), 0);
	host_port_leave(port);
}

static void test_two_users(void **state)
{
	struct host_port_config config = {.name = "soft0"};
	struct host_port *port, *second;
	struct child child;
	uint8_t gid[16], gid2[16];
	char why[256], address[32];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(host_port_join(&config, &port, why, sizeof(why)), 0);
	host_port_gid(port, gid);
	snprintf(address, sizeof(address), "127.0.0.%d", gid[15]);
	/* The same user without an address comes to the same port. */
	assert_int_equal(host_port_join(&config, &second, why, sizeof(why)), 0);
	host_port_gid(second, gid2);
	assert_memory_equal(gid, gid2, 16);
	host_port_leave(second);
	child = start(other_user, address);
	assert_int_not_equal(told(child.from), gid[15]);
	assert_int_equal(finish(&child), 0);
	host_port_leave(port);
}

/* Sentences for addresses that cannot be. */
static void test_bad_addresses(void **state)
{
	static const struct {
		const char *name, *address, *say;
		int result;
	} cases[] = {
	    {"no address", "nonsense", "neither an IP address nor", -EINVAL},
	    {"empty", "", "neither an IP address nor", -EINVAL},
	    {"any", "0.0.0.0", "neither an IP address nor", -EINVAL},
	    {"elsewhere", "192.0.2.77", "not an address of this machine", -EADDRNOTAVAIL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host_port_config config = {.name = "soft0", .address = cases[i].address};
		struct host_port *port;
		char why[256];
		int result = host_port_join(&config, &port, why, sizeof(why));

		if (result != cases[i].result || !strstr(why, cases[i].say))
			fail_msg("%s: %d %s", cases[i].name, result, why);
	}
}

/* Somebody has the RoCE port of the address, as a loaded rdma_rxe would. */
static void test_udp_port_taken(void **state)
{
	struct host_port_config config = {.name = "soft0", .address = at(11)};
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(4791)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct host_port *port;
	char why[256];

	(void)state;
	inet_pton(AF_INET, config.address, &addr.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(host_port_join(&config, &port, why, sizeof(why)), -EADDRINUSE);
	assert_non_null(strstr(why, "rdma_rxe"));
	close(fd);
	assert_int_equal(host_port_join(&config, &port, why, sizeof(why)), 0);
	host_port_leave(port);
}

/* ---- the engine ----------------------------------------------------------------------------- */

/* Polls until the engine leaves the work to this thread; a busy machine may interrupt that. */
static void poll_until_watched(struct host_port *port)
{
	for (int i = 0; i < 100000000 && atomic_load(&port->mode) != HOST_WATCH; i++)
		host_port_progress(port);
	for (int i = 0; i < 1000; i++)
		host_port_progress(port);
}

/* 300 ms with an open port, after traffic and after polling: no pass, no time, no switch of
 * threads. */
static void test_idle_is_free(void **state)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, at(12), &qpn);
	/* Our own sleep, and the calls. */
	const struct idle_cost most = {.cpu_us = 500, .switches = 2};
	struct idle_cost cost = most;
	uint64_t runs = 0;

	(void)state;
	assert_non_null(port);
	stub_queue(port, &nic, qpn, 1000, 100, 0);
	poll_until_watched(port);
	host_port_sleeping(port);
	for (int i = 0; i < MS && atomic_load(&port->local->self->wake) != SHM_ASLEEP; i++)
		usleep(1000);
	usleep(20000);
	assert_int_equal(atomic_load(&port->mode), HOST_IDLE);
	/* The last stretch of several, each too much: see idle.h. */
	for (int i = 0; i < 10; i++) {
		runs = nic.runs;
		cost = idle_stretch(300);
		if (cost.cpu_us <= most.cpu_us && cost.switches <= most.switches &&
		    nic.runs == runs)
			break;
	}
	assert_in_range(cost.cpu_us, 0, most.cpu_us);
	assert_in_range(cost.switches, 0, most.switches);
	assert_int_equal(nic.runs, runs);
	host_port_leave(port);
}

/* Polling that ends without a word is noticed: the engine takes over within a few milliseconds. */
static void test_polling_ends(void **state)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, at(13), &qpn);

	(void)state;
	assert_non_null(port);
	poll_until_watched(port);
	for (int i = 0; i < MS && atomic_load(&port->mode) == HOST_WATCH; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&port->mode), HOST_IDLE);
	stub_queue(port, &nic, qpn, 10, 100, 0);
	assert_true(stub_wait(&nic.received, 10, MS));
	host_port_leave(port);
}

/* A deadline that an application thread's pass makes is kept by the sleeping engine. */
static void test_deadline(void **state)
{
	static struct nic nic;
	uint32_t qpn;
	struct host_port *port = stub_start(&nic, at(14), &qpn);

	(void)state;
	assert_non_null(port);
	usleep(5000); /* asleep */
	for (uint64_t i = 1; i <= 5; i++) {
		uint64_t expired, due_ns; /* expired: before this one can, however late we are */

		host_port_lock(port);
		expired = nic.expired;
		due_ns = host_now_ns() + 3000000;
		nic.deadline_ns = due_ns;
		host_port_unlock(port);
		assert_int_equal(expired, i - 1);
		assert_true(stub_wait(&nic.expired, i, MS));
		assert_true(host_now_ns() >= due_ns);
	}
	host_port_leave(port);
}

/* One way to wait for the reply to one packet. false: it did not come, so a wake-up was lost. */
static bool reply_awaited(struct host_port *port, struct nic *nic, uint64_t goal, uint64_t way)
{
	uint64_t until_ns = host_now_ns() + 30000000000u;

	if (way % 3 == 1)
		host_port_sleeping(port);
	while (nic->received < goal && host_now_ns() < until_ns) {
		if (way % 3 == 0)
			host_port_progress(port);
		else if (way % 3 == 2)
			sched_yield();
		else
			usleep(1);
	}
	return nic->received == goal;
}

/* Packets to and fro, one at a time, while this end polls, sleeps or does nothing, in seeded
 * disorder and after seeded pauses: neither end ever sleeps through one. */
static void test_no_wake_lost(void **state)
{
	struct child child = start(passive, at(16));
	uint32_t peer = (uint32_t)told(child.from), qpn;
	struct base_prng prng;
	static struct nic nic;
	struct host_port *port = stub_start(&nic, at(16), &qpn);

	(void)state;
	print_message("seed 5\n");
	base_prng_seed(&prng, 5);
	assert_non_null(port);
	for (uint64_t i = 1; i <= 4000; i++) {
		uint64_t way = base_prng_u64(&prng);

		for (uint64_t n = base_prng_below(&prng, 2) * base_prng_below(&prng, 60); n > 0;
		     n--)
			host_port_progress(port);
		for (uint64_t n = base_prng_below(&prng, 3000); n > 0; n--)
			__asm__ volatile("" ::: "memory");
		stub_queue(port, &nic, peer, 1, 100, qpn);
		if (!reply_awaited(port, &nic, i, way))
			fail_msg("packet %d, way %d", (int)i, (int)(way % 3));
	}
	assert_int_equal(nic.bad, 0);
	host_port_leave(port);
	assert_int_equal(finish(&child), 0);
}

static void *signal_blocker(void *arg)
{
	struct host_port *port = (struct host_port *)arg;
	sigset_t mask;

	sigfillset(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	host_port_progress(port);
	return NULL;
}

static void noop(void *ctx, uint64_t now_ns)
{
	char byte;

	(void)now_ns;
	atomic_fetch_add((_Atomic int *)ctx, host_guard_copy(NULL, &byte, NULL, 1) ? 100 : 1);
}

/* A thread that blocks SIGSEGV may lend itself: the pass, which touches bad memory, is the
 * engine's. */
static void test_blocked_signals(void **state)
{
	static _Atomic int noticed;
	struct host_port_config config = {
		.name = "soft0", .address = at(15), .notice = noop, .ctx = &noticed};
	static struct nic nic = {.deadline_ns = UINT64_MAX};
	struct host_port *port;
	pthread_t thread;
	char why[256];
	int before;

	(void)state;
	assert_int_equal(host_port_join(&config, &port, why, sizeof(why)), 0);
	host_port_start(port, &nic);
	usleep(5000);
	before = atomic_load(&noticed);
	pthread_create(&thread, NULL, signal_blocker, port);
	pthread_join(thread, NULL);
	for (int i = 0; i < MS && atomic_load(&noticed) == before; i++)
		usleep(1000);
	assert_true(atomic_load(&noticed) > before && atomic_load(&noticed) < 100);
	host_port_leave(port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_engines_only),
	    cmocka_unit_test(test_both_poll),
	    cmocka_unit_test(test_one_polls),
	    cmocka_unit_test(test_three),
	    cmocka_unit_test(test_kill_and_rejoin),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_nobody_answers),
	    cmocka_unit_test(test_exit_without_leave),
	    cmocka_unit_test(test_fork),
	    cmocka_unit_test(test_close_all),
	    cmocka_unit_test(test_two_users),
	    cmocka_unit_test(test_two_users_of_infiniband),
	    cmocka_unit_test(test_bad_addresses),
	    cmocka_unit_test(test_udp_port_taken),
	    cmocka_unit_test(test_idle_is_free),
	    cmocka_unit_test(test_polling_ends),
	    cmocka_unit_test(test_deadline),
	    cmocka_unit_test(test_blocked_signals),
	    cmocka_unit_test(test_no_wake_lost),
	};

	signal(SIGPIPE, SIG_IGN);
	at(0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
