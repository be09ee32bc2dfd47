/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork_test.c - a child after fork uses none of its parent's NICs and harms none.
 *
 * The process that forks is itself a child of this program, under traffic all the time; so what is
 * called the child here is the test's grandchild. It tells what it saw by its exit status.
 */
#include "tests/support/peer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FOREVER = 1000000000, CHILD_SECONDS = 10, REFUSED = 40 };

/* Runs work in a child of this process, which goes on with its traffic; the child's wait status. */
static int in_child(void (*work)(void), int *status)
{
	pid_t self = getpid();
	pid_t pid = fork();
	pid_t told;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(1);
		alarm(CHILD_SECONDS);
		proc_forget_parent();
		work();
		_exit(0);
	}
	while ((told = waitpid(pid, status, WNOHANG)) == 0)
		peer_traffic();
	return told == pid ? 0 : -errno;
}

/* Exit status n: the n-th call was not refused as it should be. */
#define REFUSED_OR(n, call)                                                           \
	do {                                                                          \
		if ((call) != -EPERM || !strstr(rig_error(), "fork")) {               \
			fprintf(stderr, "not refused: %s: %s\n", #call, rig_error()); \
			_exit(n);                                                     \
		}                                                                     \
	} while (0)

static void use_data_path(void)
{
	struct peer_link *link = &peer.links[0];
	struct rig_local local = {.addr = (uintptr_t)link->mem, .len_bytes = 8};
	struct rig_entry entry = {.op = RIG_WRITE,
				  .flags = RIG_INLINE_F | RIG_SIGNAL_F,
				  .inline_data = "harm",
				  .inline_len_bytes = 4,
				  .remote_addr = link->remote.addr,
				  .remote_key = link->remote.key};
	struct rig_wc wc[4];

	REFUSED_OR(1, rig_qp_post(link->qp, &entry));
	REFUSED_OR(2, rig_qp_ring(link->qp));
	REFUSED_OR(3, rig_qp_receive(link->qp, &local));
	REFUSED_OR(4, rig_cq_poll(peer.cq, wc, 4));
	REFUSED_OR(5, rig_cq_arm(peer.cq));
	REFUSED_OR(6, rig_qp_room(link->qp, RIG_RING_SEND));
}

static void use_control(void)
{
	struct peer_link *link = &peer.links[0];
	struct rig_endpoint endpoint;
	struct rig_nic_info info;
	struct rig_region *region;
	struct rig_event event;
	struct rig_remote remote;
	struct rig_local local;
	struct rig_cq *cq;
	struct rig_qp *qp;

	REFUSED_OR(10, rig_nic_info(peer.nic, &info));
	REFUSED_OR(11, rig_cq_create(peer.nic, 16, &cq));
	REFUSED_OR(12, rig_qp_create(peer.cq, 16, 16, &qp));
	REFUSED_OR(13, rig_region_create(peer.nic, link->mem, 4096, RIG_LOCAL, &region));
	REFUSED_OR(14, rig_region_local(link->region, 0, 8, &local));
	REFUSED_OR(15, rig_region_remote(link->region, 0, 8, &remote));
	REFUSED_OR(16, rig_qp_endpoint(link->qp, &endpoint));
	REFUSED_OR(17, rig_wait(peer.nic, 0, &event, 1));
	REFUSED_OR(18, rig_qp_destroy(link->qp));
	REFUSED_OR(19, rig_region_destroy(link->region));
	REFUSED_OR(20, rig_cq_destroy(peer.cq));
	REFUSED_OR(21, rig_close(peer.nic));
}

static void use_all(void)
{
	use_data_path();
	use_control();
	exit(REFUSED);
}

static void only_exit(void)
{
	exit(0);
}

static void scribble_and_exit(void)
{
	for (unsigned int round = 0; round < 4; round++)
		for (uint32_t i = 0; i < peer.link_count; i++)
			memset(peer.links[i].mem, (int)(0xc0 + round), sizeof(struct peer_memory));
	exit(0);
}

/* Opens a NIC of the child's own, and moves a message through it. */
static void open_own(void)
{
	static uint8_t bytes[2][64] = {"a message"};
	struct rig_region *region;
	struct rig_endpoint endpoint;
	struct rig_remote remote;
	struct rig_local local;
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_SIGNAL_F, .piece_count = 1};
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_wc wc;

	if (rig_open(proc_nic(), &nic) < 0) {
		fprintf(stderr, "rig_open in a child: %s\n", rig_error());
		_exit(1);
	}
	if (rig_region_create(nic, bytes, sizeof(bytes), RIG_REMOTE_ALL, &region) < 0 ||
	    rig_cq_create(nic, 16, &cq) < 0 || rig_qp_create(cq, 4, 0, &qp) < 0 ||
	    rig_qp_endpoint(qp, &endpoint) < 0 ||
	    rig_qp_connect(qp, RIG_REMOTE_ALL, &endpoint, NULL) < 0 ||
	    rig_region_local(region, 0, 64, &local) < 0 ||
	    rig_region_remote(region, 64, 64, &remote) < 0)
		_exit(2);
	entry.pieces = &local;
	entry.remote_addr = remote.addr;
	entry.remote_key = remote.key;
	if (rig_qp_post(qp, &entry) < 0 || rig_qp_ring(qp) < 0 || peer_next(cq, &wc, 5000) < 0)
		_exit(3);
	if (wc.status != RIG_OK || memcmp(bytes[0], bytes[1], 64) != 0)
		_exit(4);
	if (rig_close(nic) < 0)
		_exit(5);
	exit(0);
}

/* ---- verbs: v[0] is the status that the child must end with ---------------------------------- */

static int fork_with(struct proc_msg *msg, void (*work)(void))
{
	int status = -1;
	int result = in_child(work, &status);

	if (result < 0)
		return result;
	if (WIFSIGNALED(status))
		return proc_fail(-EPROTO, "the child died of signal %d", WTERMSIG(status));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (int)msg->v[0])
		return proc_fail(-EPROTO, "the child ended with status %#x", status);
	return 0;
}

static int fork_use_all(struct proc_msg *msg)
{
	return fork_with(msg, use_all);
}

static int fork_only_exit(struct proc_msg *msg)
{
	return fork_with(msg, only_exit);
}

static int fork_scribble(struct proc_msg *msg)
{
	return fork_with(msg, scribble_and_exit);
}

static int fork_open_own(struct proc_msg *msg)
{
	return fork_with(msg, open_own);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* verb runs in one of two peers under full traffic, which goes on with every byte right. */
static void fork_under_traffic(proc_verb verb, int status)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg msg;

	peer_run_on(a, FOREVER);
	peer_run_on(b, FOREVER);
	assert_true(peer_progress(a, link.a, 100, PEER_PATIENCE_MS));
	for (int i = 0; i < 3; i++) {
		msg = (struct proc_msg){.v = {(uint64_t)status}};
		proc_ok(a, verb, &msg);
		assert_true(peer_progress(a, link.a, 100, PEER_PATIENCE_MS));
		assert_true(peer_progress(b, link.b, 100, PEER_PATIENCE_MS));
	}
	proc_ok(a, peer_halt, NULL);
	proc_ok(b, peer_halt, NULL);
	peer_agree(a, link.a, b, link.b);
	proc_ok(a, peer_close, NULL);
}

/*
 * Every call of a child with its parent's NIC returns -EPERM and names the fork; the parent's
 * traffic is right all the same. By calling them all, three times, under traffic.
 */
static void test_a_childs_use_is_refused(void **state)
{
	(void)state;
	fork_under_traffic(fork_use_all, REFUSED);
}

/*
 * The exit of a child, with all exit handlers, harms nothing of its parent's.
 * By children that only exit, under traffic.
 */
static void test_a_childs_exit_is_harmless(void **state)
{
	(void)state;
	fork_under_traffic(fork_only_exit, 0);
}

/*
 * A child that writes all its copies of registered pages does not change what the parent's NIC
 * reads and writes [cases 22]. By filling them in the child while the NIC moves bytes of the same
 * pages in the parent.
 */
static void test_a_child_writes_its_copies_of_registered_pages(void **state)
{
	(void)state;
	fork_under_traffic(fork_scribble, 0);
}

/*
 * A child may open the NIC anew, and has then one of its own.
 * By a write through it, and a close, while the parent's traffic runs.
 */
static void test_a_child_opens_its_own(void **state)
{
	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its runtime cannot start threads in the child of a process with threads */
#endif
	fork_under_traffic(fork_open_own, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_a_childs_use_is_refused),
	    PEER_TEST(test_a_childs_exit_is_harmless),
	    PEER_TEST(test_a_child_writes_its_copies_of_registered_pages),
	    PEER_TEST(test_a_child_opens_its_own),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
