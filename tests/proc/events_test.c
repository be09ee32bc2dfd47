/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events_test.c - sleeping: an idle process uses no CPU, and a sleeper is woken by every completion
 * it armed for.
 */
#include "tests/support/idle.h"
#include "tests/support/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	IDLE_MS = 500,
	IDLE_CPU_US_MAX = 1000,
	IDLE_SWITCHES_MAX = 10,
	PING_PONGS = 2000,
	WAKE_MS_MAX = 2000,
};

/* v[0]: CPU that all threads used in IDLE_MS of sleep, in us; v[1]: their switches. */
static int sleep_and_count(struct proc_msg *msg)
{
	struct idle_cost cost;

	proc_idle(NULL);
	proc_sleep_ms(50); /* whatever came before has settled */
	cost = idle_cost(IDLE_MS, (struct idle_cost){IDLE_CPU_US_MAX, IDLE_SWITCHES_MAX});
	msg->v[0] = cost.cpu_us;
	msg->v[1] = cost.switches;
	return 0;
}

static void assert_idle(struct proc *a, struct proc *b)
{
	struct proc_msg msg[2] = {{.v = {0}}, {.v = {0}}};

	proc_begin(a, sleep_and_count, &msg[0]);
	proc_begin(b, sleep_and_count, &msg[1]);
	assert_true(proc_end(a, &msg[0]) == 0);
	assert_true(proc_end(b, &msg[1]) == 0);
	for (int i = 0; i < 2; i++) {
		print_message("idle %u ms: %llu us, %llu switches\n", IDLE_MS,
			      (unsigned long long)msg[i].v[0], (unsigned long long)msg[i].v[1]);
		assert_in_range(msg[i].v[0], 0, IDLE_CPU_US_MAX);
		assert_in_range(msg[i].v[1], 0, IDLE_SWITCHES_MAX);
	}
}

/*
 * A process with an open NIC and connected queue pairs that does nothing uses no CPU, before and
 * after it had traffic. By getrusage over 500 ms in two linked processes.
 */
static void test_an_idle_process_uses_no_cpu(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);

	(void)state;
	assert_idle(a, b);
	link = peer_pair(a, b); /* sets them going again */
	peer_run_on(a, 300);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
	assert_idle(a, b);
}

/* ---- a passive target ------------------------------------------------------------------------ */

/* Sleeps in the kernel for v[0] ms, outside any call of the library. */
static int sleep_deaf(struct proc_msg *msg)
{
	proc_idle(NULL);
	proc_sleep_ms((unsigned int)msg->v[0]);
	return 0;
}

/*
 * A process that calls nothing serves its peers' writes, reads and atomics all the same.
 * By random requests, without messages, to one that sleeps.
 */
static void test_a_passive_target_is_served(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg msg = {.v = {1000}};

	(void)state;
	proc_begin(b, sleep_deaf, &msg);
	/* Messages up to its receives land as well; those after would wait for a receive. */
	peer_run_on(a, PEER_RECEIVES);
	proc_ok(a, peer_drain, NULL);
	assert_true(proc_end(b, &msg) == 0);
	assert_true(peer_report_of(a, link.a).done >= PEER_RECEIVES);
	assert_int_equal(peer_report_of(a, link.a).wrong, 0);
}

/* ---- ping-pong ------------------------------------------------------------------------------- */

/* Sleeps until cq has a completion: arm, look once more, wait [rig5.h rig_cq_arm]. */
static int sleep_for(struct rig_cq *cq, struct rig_wc *wc)
{
	struct rig_event event;
	int n;

	for (;;) {
		n = rig_cq_poll(cq, wc, 1);
		if (n != 0)
			return n < 0 ? n : 0;
		PEER_TRY(rig_cq_arm(cq));
		n = rig_cq_poll(cq, wc, 1);
		if (n != 0)
			return n < 0 ? n : 0;
		n = rig_wait(peer.nic, WAKE_MS_MAX, &event, 1);
		PEER_TRY(n);
		if (n == 0)
			return proc_fail(-ETIMEDOUT, "nobody woke us");
		PEER_CHECK(event.kind == RIG_EVENT_COMPLETION && event.cq == cq);
	}
}

static int message_send(struct peer_link *link, uint64_t serial)
{
	struct rig_entry entry = {.op = RIG_SEND,
				  .flags = RIG_INLINE_F | RIG_SIGNAL_F,
				  .inline_data = &serial,
				  .inline_len_bytes = sizeof(serial)};

	PEER_TRY(rig_qp_post(link->qp, &entry));
	PEER_TRY(rig_qp_ring(link->qp));
	return 0;
}

/* The next message; entries' completions on the way are taken. */
static int message_wait(struct peer_link *link, uint64_t serial)
{
	struct rig_local local;
	struct rig_wc wc;
	uint64_t got;

	do {
		int result = sleep_for(peer.cq, &wc);

		if (result < 0)
			return result;
		PEER_CHECK(wc.status == RIG_OK);
	} while (wc.kind != RIG_WC_RECEIVE);
	memcpy(&got, link->mem->got[wc.index % PEER_RECEIVES], sizeof(got));
	PEER_CHECK(wc.len_bytes == sizeof(got) && got == serial);
	PEER_TRY(rig_region_local(
	    link->region,
	    (uint64_t)(link->mem->got[wc.index % PEER_RECEIVES] - (uint8_t *)link->mem),
	    PEER_SLOT_BYTES, &local));
	PEER_TRY(rig_qp_receive(link->qp, &local));
	return 0;
}

/* Nothing polls between calls from here on. */
static int stop_traffic(struct proc_msg *msg)
{
	(void)msg;
	proc_idle(NULL);
	return 0;
}

/* v[0] link, v[1] 1: starts. */
static int ping_pong(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];
	bool first = msg->v[1];

	for (uint64_t i = 0; i < PING_PONGS; i++) {
		int result = first ? message_send(link, i) : message_wait(link, i);

		if (result == 0)
			result = first ? message_wait(link, i) : message_send(link, i);
		if (result < 0)
			return result;
	}
	return 0;
}

/*
 * No completion event is lost between a poll that finds nothing and the arm that follows [cases
 * 10], across processes. By 2,000 messages each way between two processes that sleep for each.
 */
static void test_ping_pong_of_sleepers(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg msg_a = {.v = {link.a, 1}};
	struct proc_msg msg_b = {.v = {link.b, 0}};
	int result_a, result_b;

	(void)state;
	proc_ok(a, stop_traffic, NULL);
	proc_ok(b, stop_traffic, NULL);
	proc_begin(b, ping_pong, &msg_b);
	proc_begin(a, ping_pong, &msg_a);
	result_a = proc_end(a, &msg_a);
	result_b = proc_end(b, &msg_b);
	if (result_a < 0 || result_b < 0)
		fail_msg("%d %s; %d %s", result_a, msg_a.text, result_b, msg_b.text);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static int epoll_wakes(struct proc_msg *msg)
{
	struct epoll_event watched = {.events = EPOLLIN}, got;
	struct peer_link *link = &peer.links[msg->v[0]];
	int fd = rig_fd(peer.nic);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct rig_event event;
	struct rig_wc wc;

	proc_idle(NULL);
	PEER_TRY(fd);
	PEER_CHECK(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &watched) == 0);
	PEER_TRY(rig_cq_arm(peer.cq));
	PEER_CHECK(rig_wait(peer.nic, 0, &event, 1) == 0);
	PEER_CHECK(epoll_wait(epoll, &got, 1, 0) == 0);
	PEER_TRY(message_send(link, 0));
	PEER_CHECK(epoll_wait(epoll, &got, 1, WAKE_MS_MAX) == 1);
	PEER_CHECK(rig_wait(peer.nic, 0, &event, 1) == 1);
	PEER_CHECK(event.kind == RIG_EVENT_COMPLETION && event.cq == peer.cq);
	PEER_CHECK(peer_next(peer.cq, &wc, WAKE_MS_MAX) == 0 && wc.kind == RIG_WC_ENTRY);
	/* One event for each arm, and a descriptor that is quiet again. */
	PEER_TRY(message_send(link, 1));
	PEER_CHECK(peer_next(peer.cq, &wc, WAKE_MS_MAX) == 0);
	PEER_CHECK(rig_wait(peer.nic, 20, &event, 1) == 0);
	PEER_CHECK(epoll_wait(epoll, &got, 1, 0) == 0);
	close(epoll);
	return 0;
}

/*
 * rig_fd can be put into the caller's own epoll: readable when an event is there, and one event
 * comes for each arm. By a message between two processes, the receiver of which sleeps.
 */
static void test_the_descriptor_in_an_epoll_set(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg msg = {.v = {link.a}};

	(void)state;
	proc_ok(a, epoll_wakes, &msg);
	(void)b;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_an_idle_process_uses_no_cpu),
	    PEER_TEST(test_a_passive_target_is_served),
	    PEER_TEST(test_ping_pong_of_sleepers),
	    PEER_TEST(test_the_descriptor_in_an_epoll_set),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
