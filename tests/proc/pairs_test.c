/* SPDX-License-Identifier: BSD-2-Clause */
/* pairs_test.c - processes that share one port: every operation between every two of them. */
#include "tests/support/loop.h"

#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 2000 };

/*
 * Two processes write, read, send and do atomics, and every byte is right.
 * By 2,000 random requests each way (peer.h) and comparing what the two ends saw.
 */
static void test_two_processes_move_every_byte(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);

	(void)state;
	peer_run_on(a, REQUESTS);
	peer_run_on(b, REQUESTS);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
	assert_true(peer_report_of(a, link.a).done >= REQUESTS);
	proc_ok(a, peer_close, NULL);
	proc_ok(b, peer_close, NULL);
}

/*
 * Three processes on one port, every two of them linked, and every byte is right.
 * By random requests on all six ends at once.
 */
static void test_three_processes_all_pairs(void **state)
{
	struct proc *p[3] = {peer_start(3), peer_start(4), peer_start(5)};
	struct peer_pair ab = peer_pair(p[0], p[1]);
	struct peer_pair ac = peer_pair(p[0], p[2]);
	struct peer_pair bc = peer_pair(p[1], p[2]);

	(void)state;
	for (int i = 0; i < 3; i++)
		peer_run_on(p[i], REQUESTS);
	for (int i = 0; i < 3; i++)
		proc_ok(p[i], peer_drain, NULL);
	peer_agree(p[0], ab.a, p[1], ab.b);
	peer_agree(p[0], ac.a, p[2], ac.b);
	peer_agree(p[1], bc.a, p[2], bc.b);
}

/*
 * One process may be at both ends of a link, beside one to another process.
 * By linking two queue pairs of the same process, with random requests.
 */
static void test_a_process_with_itself(void **state)
{
	struct proc *a = peer_start(6);
	struct proc *b = peer_start(7);
	struct peer_pair self = peer_pair(a, a);
	struct peer_pair ab = peer_pair(a, b);

	(void)state;
	peer_run_on(a, REQUESTS);
	proc_ok(a, peer_drain, NULL);
	peer_agree(a, self.a, a, self.b);
	peer_agree(a, ab.a, b, ab.b);
}

/*
 * Two links between the same two processes do not disturb each other.
 * By two queue pairs at each end, with random requests on both.
 */
static void test_two_links_of_two_processes(void **state)
{
	struct proc *a = peer_start(8);
	struct proc *b = peer_start(9);
	struct peer_pair first = peer_pair(a, b);
	struct peer_pair second = peer_pair(b, a);

	(void)state;
	peer_run_on(a, REQUESTS);
	peer_run_on(b, REQUESTS);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, first.a, b, first.b);
	peer_agree(b, second.a, a, second.b);
}

/* ---- a bad wire ------------------------------------------------------------------------------ */

/* v[0]: packets that were sent again; v[1]: that came twice or in the wrong order. */
static int count_repairs(struct proc_msg *msg)
{
	const struct nic_counters *counters = loop_counters(peer.nic);

	msg->v[0] = counters->retransmits;
	msg->v[1] = counters->rx_duplicate + counters->rx_out_of_sequence;
	return 0;
}

/*
 * On a wire that drops, doubles, delays and corrupts packets every byte, value and message is right
 * all the same, and each arrives once. By RIG5_FAULT in both processes, with counters that show
 * that there was something to repair.
 */
static void test_a_bad_wire(void **state)
{
	struct proc_msg repairs = {0};
	struct proc *a, *b;
	struct peer_pair link;

	(void)state;
	if (strcmp(proc_nic(), "soft0") != 0)
		skip(); /* a card's wire is what it is */
	setenv("RIG5_FAULT", "drop=1%,duplicate=2%,reorder=2%,corrupt=1%,seed=11", 1);
	a = peer_start(20);
	b = peer_start(21);
	unsetenv("RIG5_FAULT");
	link = peer_pair(a, b);
	peer_run_on(a, 300);
	peer_run_on(b, 300);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
	proc_ok(a, count_repairs, &repairs);
	assert_true(repairs.v[0] > 0);
	assert_true(repairs.v[1] > 0);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Queue pairs are made and destroyed until the number v[0] comes back: v[0] tries; v[1] its PSN. */
static int reuse_number(struct proc_msg *msg)
{
	struct rig_endpoint endpoint;
	struct rig_qp *qp;

	for (unsigned int tries = 1; tries <= 20000; tries++) {
		PEER_TRY(rig_qp_create(peer.cq, 1, 0, &qp));
		PEER_TRY(rig_qp_endpoint(qp, &endpoint));
		PEER_TRY(rig_qp_destroy(qp));
		if (endpoint.qp != msg->v[0])
			continue;
		msg->v[0] = tries;
		msg->v[1] = endpoint.psn;
		return 0;
	}
	return proc_fail(-1, "number %#llx does not come back", (unsigned long long)msg->v[0]);
}

/*
 * A number may be used again, by a queue pair with another PSN, and the old peer's packets do not
 * reach the new one; new links work [cases 16]. By destroying one end, taking its number again,
 * failing the other end and linking both anew.
 */
static void test_a_reused_number_has_a_fresh_psn(void **state)
{
	struct proc *a = peer_start(10);
	struct proc *b = peer_start(11);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg msg = {.v = {link.b}};
	struct peer_report report = peer_report_of(b, link.b);
	uint64_t psn[2];

	(void)state;
	proc_ok(b, peer_unlink, &msg);
	for (int i = 0; i < 2; i++) {
		msg = (struct proc_msg){.v = {report.qp}};
		proc_ok(b, reuse_number, &msg);
		psn[i] = msg.v[1];
	}
	assert_int_not_equal(psn[0], psn[1]);
	peer_run_on(a, 1);
	report = peer_failure(a, link.a, PEER_PATIENCE_MS);
	assert_int_equal(report.status, RIG_RETRY_EXCEEDED);
	link = peer_pair(a, b);
	peer_run_on(a, 200);
	proc_ok(a, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
}

/*
 * Queue pair numbers over 65,535 work [cases 16]. By ports (which number from a random block) until
 * both ends of a link have such numbers, and random requests on it.
 */
static void test_numbers_over_65535(void **state)
{
	(void)state;
	if (strcmp(proc_nic(), "soft0") != 0)
		skip(); /* a card's numbers are its own */
	for (int tries = 0; tries < 8; tries++) {
		struct proc *a = peer_start(12);
		struct proc *b = peer_start(13);
		struct peer_pair link = peer_pair(a, b);

		if (peer_report_of(a, link.a).qp > 0xffff &&
		    peer_report_of(b, link.b).qp > 0xffff) {
			peer_run_on(a, 500);
			proc_ok(a, peer_drain, NULL);
			peer_agree(a, link.a, b, link.b);
			return;
		}
		proc_kill(a);
		proc_kill(b);
		proc_new_port();
	}
	fail_msg("no number over 65535 on eight ports");
}

/* ---- churn ----------------------------------------------------------------------------------- */

static struct proc *start_any(int i, uint64_t seed)
{
	(void)i;
	return peer_start(seed);
}

/* On one port: no byte of those that stay is wrong. */
static void test_joining_and_leaving_under_load(void **state)
{
	(void)state;
	peer_churn(
	    &(struct peer_churn){.seed = 20260730, .rounds = 30, .run = 60, .start = start_any});
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_two_processes_move_every_byte),
	    PEER_TEST(test_three_processes_all_pairs),
	    PEER_TEST(test_a_process_with_itself),
	    PEER_TEST(test_two_links_of_two_processes),
	    PEER_TEST(test_a_bad_wire),
	    PEER_TEST(test_a_reused_number_has_a_fresh_psn),
	    PEER_TEST(test_numbers_over_65535),
	    PEER_TEST(test_joining_and_leaving_under_load),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
