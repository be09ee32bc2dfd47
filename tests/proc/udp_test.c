/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_test.c - processes on two addresses speak over UDP: every operation between every two of
 * them, while others come, go and die, and while the wire or the kernel does what it should not.
 */
#include "tests/support/loop.h"

#include "host/port.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HOSTS = 2, EACH = 3, REQUESTS = 1000 };
enum { MANY = 18 };

/* RIG5_SOFT of each host: an address of the test's own. */
static char hosts[HOSTS][64];

static int udp_setup(void **state)
{
	(void)state;
	if (strcmp(proc_nic(), "soft0") != 0)
		skip(); /* a card has its own ways */
	for (int i = 0; i < HOSTS; i++) {
		(void)proc_new_port();
		snprintf(hosts[i], sizeof(hosts[i]), "%s", getenv("RIG5_SOFT"));
	}
	return 0;
}

static struct proc *peer_on(int host, uint64_t seed)
{
	setenv("RIG5_SOFT", hosts[host], 1);
	return peer_start(seed);
}

enum { SENT, RECEIVED, HANDED_ON, BAD_ICRC, RETRANSMITS, ASTRAY };

/* v: what is counted above. */
static int count(struct proc_msg *msg)
{
	struct host_port *port = loop_port(peer.nic);
	const struct host_udp_counters *udp = &port->udp.counters;
	const struct nic_counters *nic = loop_counters(peer.nic);

	host_port_lock(port);
	msg->v[SENT] = udp->tx_packets;
	msg->v[RECEIVED] = udp->rx_packets;
	msg->v[HANDED_ON] = udp->rx_handed_on;
	msg->v[BAD_ICRC] = udp->rx_drop_icrc;
	msg->v[RETRANSMITS] = nic->retransmits;
	msg->v[ASTRAY] = udp->rx_drop_nobody + udp->rx_drop_address + udp->rx_drop_malformed;
	host_port_unlock(port);
	return 0;
}

static struct proc_msg counts_of(struct proc *child)
{
	struct proc_msg msg = {0};

	proc_ok(child, count, &msg);
	return msg;
}

/* ---- good wires ------------------------------------------------------------------------------ */

/*
 * Two processes on two addresses write, read, send and do atomics, and every byte is right.
 * By random requests each way (peer.h), and counters that show that they went over UDP, sealed.
 */
static void test_two_hosts(void **state)
{
	struct proc *a = peer_on(0, 1);
	struct proc *b = peer_on(1, 2);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg counts;

	(void)state;
	peer_run_on(a, REQUESTS);
	peer_run_on(b, REQUESTS);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
	counts = counts_of(a);
	assert_true(counts.v[SENT] > REQUESTS && counts.v[RECEIVED] > REQUESTS);
	assert_int_equal(counts.v[BAD_ICRC], 0);
	assert_int_equal(counts.v[ASTRAY], 0);
	proc_ok(a, peer_close, NULL);
	proc_ok(b, peer_close, NULL);
}

/*
 * Three processes on each of two addresses, every two of them linked: nine links over UDP, six over
 * the local wire, and every byte is right. By random requests at all ends at once; and when each
 * has its numbers, no datagram comes to the wrong process.
 */
static void test_three_on_each(void **state)
{
	struct proc *p[HOSTS * EACH];
	struct peer_pair links[HOSTS * EACH][HOSTS * EACH];

	(void)state;
	for (int i = 0; i < HOSTS * EACH; i++)
		p[i] = peer_on(i % HOSTS, 10 + (uint64_t)i);
	for (int i = 0; i < HOSTS * EACH; i++)
		for (int j = 0; j < i; j++)
			links[i][j] = peer_pair(p[i], p[j]);
	for (int i = 0; i < HOSTS * EACH; i++)
		peer_run_on(p[i], REQUESTS / 10);
	for (int i = 0; i < HOSTS * EACH; i++)
		proc_ok(p[i], peer_drain, NULL);
	for (int i = 0; i < HOSTS * EACH; i++)
		for (int j = 0; j < i; j++)
			peer_agree(p[i], links[i][j].a, p[j], links[i][j].b);
	for (int i = 0; i < HOSTS * EACH; i++) {
		struct proc_msg counts = counts_of(p[i]);

		assert_int_equal(counts.v[BAD_ICRC], 0);
		assert_int_equal(counts.v[HANDED_ON], 0);
	}
}

/*
 * Many processes on one address, each linked to the same far one: every byte is right. And when a
 * third of them is killed at once, which the kernel tells nobody, the rest go on, and soon get
 * their own datagrams again. By counters of what was handed on.
 */
static void test_many_and_deaths(void **state)
{
	struct proc *p[MANY], *far = peer_on(1, 60);
	struct peer_pair links[MANY];
	uint64_t before, after = 0;
	int rounds = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		p[i] = peer_on(0, 61 + (uint64_t)i);
		links[i] = peer_pair(p[i], far);
	}
	for (int i = 0; i < MANY; i++)
		peer_run_on(p[i], 20);
	for (int i = 0; i < MANY; i++)
		proc_ok(p[i], peer_drain, NULL);
	for (int i = 0; i < MANY; i += 3)
		proc_signal(p[i], SIGKILL);
	for (int i = 0; i < MANY; i += 3)
		(void)proc_wait(p[i]);
	do {
		before = after;
		after = 0;
		for (int i = 0; i < MANY; i++)
			if (i % 3)
				peer_run_on(p[i], 40);
		for (int i = 0; i < MANY; i++) {
			if (i % 3 == 0)
				continue;
			proc_ok(p[i], peer_drain, NULL);
			after += counts_of(p[i]).v[HANDED_ON];
		}
	} while (++rounds < 60 && (after > before || rounds < 2));
	assert_true(after > 0);
	assert_int_equal(after, before);
	for (int i = 0; i < MANY; i++)
		if (i % 3)
			peer_agree(p[i], links[i].a, far, links[i].b);
}

/* ---- bad wires ------------------------------------------------------------------------------- */

/*
 * On a wire that drops, doubles, delays and damages datagrams every byte, value and message is
 * right all the same, and each arrives once. By RIG5_FAULT at both ends, with counters that show
 * damaged ones that were told by their ICRC, and repairs.
 */
static void test_a_bad_wire(void **state)
{
	struct proc *a, *b;
	struct peer_pair link;
	struct proc_msg counts;

	(void)state;
	setenv("RIG5_FAULT", "drop=1%,duplicate=2%,reorder=2%,corrupt=1%,seed=11", 1);
	a = peer_on(0, 20);
	b = peer_on(1, 21);
	unsetenv("RIG5_FAULT");
	link = peer_pair(a, b);
	peer_run_on(a, 300);
	peer_run_on(b, 300);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
	counts = counts_of(a);
	assert_true(counts.v[BAD_ICRC] > 0);
	assert_true(counts.v[RETRANSMITS] > 0);
}

/* v[0]: 1: the list of sockets is as the kernel has it (index i: the i-th that joined); 0: it is
 * made wrong, all of it, and the program written from it. */
static int sockets(struct proc_msg *msg)
{
	struct host_port *port = loop_port(peer.nic);
	struct shm_group *list = &host_registry_port(&port->registry)->group;
	uint16_t first;

	if (msg->v[0]) {
		for (uint16_t i = 0; i < EACH; i++)
			if (atomic_load(&list->slots[i]) != i)
				return 0;
		return 1;
	}
	PEER_CHECK(atomic_load(&list->count) == EACH);
	first = atomic_load(&list->slots[0]);
	for (int i = 0; i + 1 < EACH; i++)
		atomic_store(&list->slots[i], atomic_load(&list->slots[i + 1]));
	atomic_store(&list->slots[EACH - 1], first);
	atomic_store(&port->udp.regroup, true);
	host_engine_kick(port);
	for (int ms = 0; atomic_load(&port->udp.regroup) && ms < 2000; ms++)
		proc_sleep_ms(1);
	PEER_CHECK(!atomic_load(&port->udp.regroup));
	return 0;
}

/*
 * The kernel gives datagrams to the wrong processes: they hand them on, every byte is right, and
 * after a while each gets its own again. By a list of sockets that is wrong in every place, as
 * after deaths whose order nobody saw.
 */
static void test_the_wrong_process(void **state)
{
	struct proc *p[EACH], *far = peer_on(1, 30);
	struct peer_pair links[EACH];
	struct proc_msg right = {.v = {1}};
	uint64_t handed_on = 0;

	(void)state;
	for (int i = 0; i < EACH; i++) {
		p[i] = peer_on(0, 31 + (uint64_t)i);
		links[i] = peer_pair(p[i], far);
	}
	assert_int_equal(proc_call(p[0], sockets, &right), 1);
	proc_ok(p[0], sockets, NULL);
	right.v[0] = 1;
	assert_int_equal(proc_call(p[0], sockets, &right), 0);
	for (int round = 0; round < 40 && proc_call(p[0], sockets, &right) == 0; round++) {
		for (int i = 0; i < EACH; i++)
			peer_run_on(p[i], 100);
		for (int i = 0; i < EACH; i++)
			proc_ok(p[i], peer_drain, NULL);
		right.v[0] = 1;
	}
	for (int i = 0; i < EACH; i++) {
		handed_on += counts_of(p[i]).v[HANDED_ON];
		peer_agree(p[i], links[i].a, far, links[i].b);
	}
	assert_true(handed_on > 0);
	right.v[0] = 1;
	assert_int_equal(proc_call(p[0], sockets, &right), 1);
}

/* ---- what applications do -------------------------------------------------------------------- */

static int close_everything(struct proc_msg *msg)
{
	(void)msg;
	PEER_CHECK(syscall(SYS_close_range, 4, ~0u, 0) == 0); /* 3 is the parent's */
	return 0;
}

/*
 * An application that closes every descriptor it finds harms neither its links nor anybody's file:
 * the port's own threads, which have their own, do the work. By closing all under traffic.
 */
static void test_descriptors_closed(void **state)
{
	struct proc *a = peer_on(0, 40);
	struct proc *b = peer_on(1, 41);
	struct peer_pair link = peer_pair(a, b);

	(void)state;
	peer_run_on(a, 200);
	proc_ok(a, close_everything, NULL);
	peer_run_on(a, 200);
	peer_run_on(b, 200);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
}

static int sleep_ms(struct proc_msg *msg)
{
	proc_sleep_ms((unsigned int)msg->v[0]);
	return 0;
}

/*
 * A process that does not poll answers all the same, and its engine sleeps between. By a peer that
 * sleeps while the other writes, reads and does atomics; sends wait until it wakes.
 */
static void test_a_sleeping_target(void **state)
{
	struct proc *a = peer_on(0, 50);
	struct proc *b = peer_on(1, 51);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg nap = {.v = {1000}};
	uint64_t before, asleep_ns;

	(void)state;
	before = counts_of(b).v[RECEIVED];
	proc_begin(b, sleep_ms, &nap);
	asleep_ns = proc_now_ns();
	peer_run_on(a, 10);
	while (peer_report_of(a, link.a).done < 10)
		assert_true(proc_now_ns() < asleep_ns + 900 * 1000000ull);
	assert_int_equal(proc_end(b, &nap), 0);
	assert_true(counts_of(b).v[RECEIVED] > before + 5);
	proc_ok(a, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
}

/* ---- churn ----------------------------------------------------------------------------------- */

static struct proc *start_on_hosts_in_turn(int i, uint64_t seed)
{
	return peer_on(i % HOSTS, seed);
}

/* On two ports: no byte of those that stay is wrong. */
static void test_joining_and_leaving_under_load(void **state)
{
	(void)state;
	peer_churn(&(struct peer_churn){
	    .seed = 20261129, .rounds = 24, .run = 40, .start = start_on_hosts_in_turn});
}

#define UDP_TEST(test) cmocka_unit_test_setup_teardown(test, udp_setup, proc_end_all)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    UDP_TEST(test_two_hosts),         UDP_TEST(test_three_on_each),
	    UDP_TEST(test_many_and_deaths),   UDP_TEST(test_a_bad_wire),
	    UDP_TEST(test_the_wrong_process), UDP_TEST(test_descriptors_closed),
	    UDP_TEST(test_a_sleeping_target), UDP_TEST(test_joining_and_leaving_under_load),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
