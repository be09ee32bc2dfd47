/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * death_test.c - a process ends, stops or destroys its end while traffic runs: its peers get
 * retry exceeded, or wait; everyone else goes on; nothing is left behind.
 */
#include "tests/support/peer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FOREVER = 1000000000,
	VENDOR_RETRY_EXCEEDED = 0x81,
	/* 8 timeouts of 4.096 us << 14 are 537 ms. */
	RETRIES_MS_MIN = 400,
	RETRIES_MS_MAX = 4000, /* and a busy machine */
	SLOT_REUSES = 280, /* more members than a port has slots */
};

/* Three processes with all links: a with b, a with c, b with c. */
struct trio {
	struct proc *a, *b, *c;
	struct peer_pair ab, ac, bc;
};

static struct trio trio_start(void)
{
	struct trio trio = {.a = peer_start(1), .b = peer_start(2), .c = peer_start(3)};

	trio.ab = peer_pair(trio.a, trio.b);
	trio.ac = peer_pair(trio.a, trio.c);
	trio.bc = peer_pair(trio.b, trio.c);
	peer_run_on(trio.a, FOREVER);
	peer_run_on(trio.b, FOREVER);
	peer_run_on(trio.c, FOREVER);
	assert_true(peer_progress(trio.a, trio.ab.a, 100, PEER_PATIENCE_MS));
	assert_true(peer_progress(trio.c, trio.bc.b, 100, PEER_PATIENCE_MS));
	return trio;
}

/* b is gone since then_ns: a and c notice as they should, and their own link has never stopped. */
static void trio_lost_b(struct trio *trio, uint64_t then_ns)
{
	struct peer_report at_a, at_c;
	uint64_t ms;

	assert_true(peer_progress(trio->a, trio->ac.a, 100, PEER_PATIENCE_MS));
	at_a = peer_failure(trio->a, trio->ab.a, PEER_PATIENCE_MS);
	at_c = peer_failure(trio->c, trio->bc.b, PEER_PATIENCE_MS);
	assert_int_equal(at_a.status, RIG_RETRY_EXCEEDED);
	assert_int_equal(at_c.status, RIG_RETRY_EXCEEDED);
	assert_int_equal(at_a.vendor, VENDOR_RETRY_EXCEEDED);
	ms = (at_a.failed_ns - then_ns) / 1000000;
	if (ms < RETRIES_MS_MIN || ms > RETRIES_MS_MAX * proc_scale())
		fail_msg("retries took %llu ms", (unsigned long long)ms);
	assert_true(peer_progress(trio->a, trio->ac.a, 100, PEER_PATIENCE_MS));
	proc_ok(trio->a, peer_halt, NULL);
	proc_ok(trio->c, peer_halt, NULL);
	peer_agree(trio->a, trio->ac.a, trio->c, trio->ac.b);
}

/* A newcomer links with child, and both are right. */
static void newcomer_works(struct proc *child)
{
	struct proc *newcomer = peer_start(99);
	struct peer_pair link = peer_pair(newcomer, child);

	peer_run_on(newcomer, 200);
	proc_ok(newcomer, peer_drain, NULL);
	proc_ok(child, peer_drain, NULL);
	peer_agree(newcomer, link.a, child, link.b);
	proc_kill(newcomer);
}

/* ---- what is left behind --------------------------------------------------------------------- */

static unsigned int shm_count(void)
{
	DIR *dir = opendir("/dev/shm");
	unsigned int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static bool socket_named(const char *part)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char line[512];
	bool found = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *name = strchr(line, '@');

		found |= name && strstr(name, part);
	}
	fclose(file);
	return found;
}

/*
 * SIGKILL in the middle of a transfer: the peers get retry exceeded after 8 times 67 ms, the others
 * go on with every byte right, a newcomer works, and when all are gone nothing is left: no socket
 * name, no file. By killing one of three and looking at the system's tables.
 */
static void test_sigkill_mid_transfer(void **state)
{
	unsigned int files = shm_count();
	struct trio trio = trio_start();
	uint64_t then_ns = proc_now_ns();

	(void)state;
	assert_true(socket_named(peer_address));
	proc_kill(trio.b);
	trio_lost_b(&trio, then_ns);
	newcomer_works(trio.a);
	proc_kill(trio.a);
	proc_kill(trio.c);
	assert_false(socket_named(peer_address));
	assert_int_equal(shm_count(), files);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int open_and_die(struct proc_msg *msg)
{
	struct rig_nic *nic;
	pid_t pid = fork();
	int status;

	(void)msg;
	if (pid == 0) {
		proc_forget_parent();
		if (rig_open("soft0", &nic) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	PEER_CHECK(waitpid(pid, &status, 0) == pid);
	PEER_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return 0;
}

/*
 * The slot of a killed process is used again. By more processes that join and are killed than a
 * port has slots, beside one that stays.
 */
static void test_slots_of_the_dead_are_reused(void **state)
{
	struct proc *stays = peer_start(1);
	struct proc *parent = proc_start();

	(void)state;
	for (int i = 0; i < SLOT_REUSES; i++)
		proc_ok(parent, open_and_die, NULL);
	newcomer_works(stays);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/*
 * SIGSTOP for longer than all retries take: the peers of the stopped process wait without an error
 * and go on after SIGCONT; the others never stop. By stopping one of three for 1 s.
 */
static void test_sigstop_pauses_the_peers(void **state)
{
	struct trio trio = trio_start();
	struct peer_report before, after;

	(void)state;
	proc_signal(trio.b, SIGSTOP);
	proc_stopped(trio.b);
	proc_sleep_ms(100);
	before = peer_report_of(trio.a, trio.ab.a);
	proc_sleep_ms(900);
	after = peer_report_of(trio.a, trio.ab.a);
	assert_int_equal(before.done, after.done);
	assert_false(after.failed);
	assert_false(peer_report_of(trio.c, trio.bc.b).failed);
	assert_true(peer_progress(trio.a, trio.ac.a, 100, PEER_PATIENCE_MS));
	proc_signal(trio.b, SIGCONT);
	assert_true(peer_progress(trio.a, trio.ab.a, 100, PEER_PATIENCE_MS));
	proc_ok(trio.a, peer_halt, NULL);
	proc_ok(trio.b, peer_halt, NULL);
	proc_ok(trio.c, peer_halt, NULL);
	peer_agree(trio.a, trio.ab.a, trio.b, trio.ab.b);
	peer_agree(trio.a, trio.ac.a, trio.c, trio.ac.b);
	peer_agree(trio.b, trio.bc.a, trio.c, trio.bc.b);
}

/*
 * Where every member is stopped a newcomer gets -ETIMEDOUT and a sentence that says so, and can
 * join once they go on. By stopping both members and opening a third.
 */
static void test_a_port_whose_members_are_stopped(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct proc *newcomer = proc_start();
	struct proc_msg msg = {0};

	(void)state;
	proc_signal(a, SIGSTOP);
	proc_signal(b, SIGSTOP);
	proc_stopped(a);
	proc_stopped(b);
	assert_int_equal(proc_call(newcomer, peer_open, &msg), -ETIMEDOUT);
	print_message("%s\n", msg.text);
	assert_non_null(strstr(msg.text, "stopped"));
	assert_non_null(strstr(msg.text, "soft0"));
	proc_signal(a, SIGCONT);
	proc_signal(b, SIGCONT);
	proc_ok(newcomer, peer_open, &msg);
	newcomer_works(newcomer);
}

/* ---- leaving without a word ------------------------------------------------------------------ */

static int leave_by_exit(struct proc_msg *msg)
{
	(void)msg;
	exit(7);
}

static int leave_by__exit(struct proc_msg *msg)
{
	(void)msg;
	_exit(7);
}

/*
 * A process may end by exit(), _exit() or a return from main without destroying anything, while its
 * traffic runs: it ends at once with its own status; its peers get retry exceeded and the others go
 * on. By letting one of three end in each way.
 */
static void test_exit_without_destroying(void **state)
{
	static const proc_verb ways[] = {leave_by_exit, leave_by__exit, NULL};

	(void)state;
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct trio trio = trio_start();
		uint64_t then_ns = proc_now_ns();

		if (ways[i]) {
			proc_begin(trio.b, ways[i], NULL);
			assert_int_equal(proc_wait(trio.b), 7 << 8);
		} else {
			proc_quit(trio.b);
		}
		trio_lost_b(&trio, then_ns);
		proc_kill(trio.a);
		proc_kill(trio.c);
		peer_address = proc_new_port();
	}
}

/* ---- destroying under traffic ---------------------------------------------------------------- */

static bool all_bytes(const struct peer_memory *mem, uint8_t value)
{
	const uint8_t *at = (const uint8_t *)mem;

	for (size_t i = 0; i < sizeof(*mem); i++)
		if (at[i] != value)
			return false;
	return true;
}

/* Destroys the queue pair (v[1] 0) or closes the NIC, and shows that no byte changes afterwards. */
static int destroy_and_look(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];
	struct peer_memory *mem = link->mem;

	link->connected = false;
	if (msg->v[1]) {
		PEER_TRY(rig_close(peer.nic));
		proc_idle(NULL);
		peer.link_count = 0;
	} else {
		PEER_TRY(rig_qp_destroy(link->qp));
		link->qp = NULL;
	}
	memset(mem, 0x5a, sizeof(*mem));
	proc_sleep_ms(50);
	PEER_CHECK(all_bytes(mem, 0x5a));
	PEER_CHECK(munmap(mem, sizeof(*mem)) == 0);
	proc_sleep_ms(50);
	return 0;
}

/*
 * Once rig_qp_destroy has returned the NIC touches no memory for the queue pair, whatever the peer
 * sends; the peer's entries fail after their retries; other queue pairs of both go on. By
 * destroying in the middle of traffic, filling the memory, looking, and unmapping it.
 */
static void test_destroy_during_traffic(void **state)
{
	struct trio trio = trio_start();
	struct proc_msg msg = {.v = {trio.ab.b, 0}};
	uint64_t then_ns = proc_now_ns();
	struct peer_report report;

	(void)state;
	proc_ok(trio.b, destroy_and_look, &msg);
	report = peer_failure(trio.a, trio.ab.a, PEER_PATIENCE_MS);
	assert_int_equal(report.status, RIG_RETRY_EXCEEDED);
	assert_true(report.failed_ns - then_ns > RETRIES_MS_MIN * 1000000ull);
	assert_true(peer_progress(trio.b, trio.bc.a, 100, PEER_PATIENCE_MS));
	proc_ok(trio.a, peer_halt, NULL);
	proc_ok(trio.b, peer_halt, NULL);
	proc_ok(trio.c, peer_halt, NULL);
	peer_agree(trio.b, trio.bc.a, trio.c, trio.bc.b);
	peer_agree(trio.a, trio.ac.a, trio.c, trio.ac.b);
}

/*
 * Once rig_close has returned the NIC touches no memory of the process, and the others go on.
 * By closing in the middle of traffic, filling the memory, looking, and unmapping it.
 */
static void test_close_during_traffic(void **state)
{
	struct trio trio = trio_start();
	struct proc_msg msg = {.v = {trio.ab.b, 1}};
	uint64_t then_ns = proc_now_ns();

	(void)state;
	proc_ok(trio.b, destroy_and_look, &msg);
	trio_lost_b(&trio, then_ns);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_sigkill_mid_transfer),
	    PEER_TEST(test_slots_of_the_dead_are_reused),
	    PEER_TEST(test_sigstop_pauses_the_peers),
	    PEER_TEST(test_a_port_whose_members_are_stopped),
	    PEER_TEST(test_exit_without_destroying),
	    PEER_TEST(test_destroy_during_traffic),
	    PEER_TEST(test_close_during_traffic),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
