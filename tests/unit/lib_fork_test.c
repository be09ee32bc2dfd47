/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that a child after fork cannot use its parent's NIC, through any call, and does its queues
 * no harm, and that it may open one of its own. How: fork (and clone without atfork handlers) over
 * a scripted kernel; the child reports by its exit status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILD_CHECK(call, wanted)                                                                  \
	do {                                                                                       \
		int ret_ = (call);                                                                 \
		if (ret_ != (wanted)) {                                                            \
			fprintf(stderr, "child: %s is %d: %s\n", #call, ret_, rig_error());        \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static char memory[64];
static struct rig_region *region;

static int child_tries_all(struct script_rig *rig)
{
	const uint64_t data = 1;
	const struct rig_entry entry = {
		.op = RIG_WRITE, .flags = RIG_INLINE_F, .inline_data = &data, .inline_len_bytes = 8,
	};
	unsigned int ioctls = script.ioctl_count;
	struct rig_local local = {.len_bytes = 8};
	struct rig_endpoint endpoint;
	struct rig_nic_info info;
	struct rig_event event;
	struct rig_wc wc;

	CHILD_CHECK(rig_qp_post(rig->qp, &entry), -EPERM);
	CHILD_CHECK(rig_qp_ring(rig->qp), -EPERM);
	CHILD_CHECK(rig_qp_receive(rig->qp, &local), -EPERM);
	CHILD_CHECK(rig_qp_receive_pieces(rig->qp, &local, 1), -EPERM);
	CHILD_CHECK(rig_qp_room(rig->qp, RIG_RING_SEND), -EPERM);
	CHILD_CHECK(rig_qp_endpoint(rig->qp, &endpoint), -EPERM);
	CHILD_CHECK(rig_qp_connect(rig->qp, RIG_LOCAL, &endpoint, NULL), -EPERM);
	CHILD_CHECK(rig_qp_destroy(rig->qp), -EPERM);
	CHILD_CHECK(rig_cq_poll(rig->cq, &wc, 1), -EPERM);
	CHILD_CHECK(rig_cq_arm(rig->cq), -EPERM);
	CHILD_CHECK(rig_cq_destroy(rig->cq), -EPERM);
	CHILD_CHECK(rig_qp_create(rig->cq, 1, 0, &rig->qp), -EPERM);
	CHILD_CHECK(rig_region_local(region, 0, 8, &local), -EPERM);
	CHILD_CHECK(rig_region_destroy(region), -EPERM);
	CHILD_CHECK(rig_region_create(rig->nic, memory, 8, RIG_LOCAL, &region), -EPERM);
	CHILD_CHECK(rig_nic_info(rig->nic, &info), -EPERM);
	CHILD_CHECK(rig_wait(rig->nic, 0, &event, 1), -EPERM);
	CHILD_CHECK(rig_fd(rig->nic), -EPERM);
	CHILD_CHECK(rig_close(rig->nic), -EPERM);
	CHILD_CHECK((int)(script.ioctl_count - ioctls), 0);
	return 0;
}

static void wait_for(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* still_works - the parent posts and polls as if nothing had happened. */
static void still_works(struct script_rig *rig)
{
	const uint64_t data = 1;
	const struct rig_entry entry = {
		.op = RIG_WRITE, .flags = RIG_INLINE_F | RIG_SIGNAL_F, .inline_data = &data,
		.inline_len_bytes = 8,
	};
	uint16_t index = rig_qp_index(rig->qp, RIG_RING_SEND);
	struct rig_wc wc;

	assert_int_equal(rig_qp_post(rig->qp, &entry), 0);
	assert_int_equal(rig_qp_ring(rig->qp), 0);
	script_done(0, 0, index);
	assert_int_equal(rig_cq_poll(rig->cq, &wc, 1), 1);
	assert_int_equal(wc.index, index);
}

static struct script_rig rig_with_a_region(void)
{
	struct script_rig rig = script_rig_open(8, 8);

	assert_int_equal(rig_region_create(rig.nic, memory, 64, RIG_LOCAL, &region), 0);
	return rig;
}

static void a_child_gets_eperm_from_every_call(void **state)
{
	struct script_rig rig = rig_with_a_region();
	pid_t child;

	(void)state;
	still_works(&rig);
	child = fork();
	if (child == 0)
		_exit(child_tries_all(&rig));
	wait_for(child);
	still_works(&rig);
	script_rig_close(&rig);
}

/* A raw clone, of which no pthread_atfork handler hears. */
static void a_child_of_clone_too(void **state)
{
	struct script_rig rig = rig_with_a_region();
	pid_t child;

	(void)state;
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(child_tries_all(&rig));
	wait_for(child);
	still_works(&rig);
	script_rig_close(&rig);
}

static int child_opens_its_own(struct script_rig *rig)
{
	struct rig_nic_info info;
	struct rig_nic *own;

	CHILD_CHECK(rig_open("mlx5_0", &own), 0);
	CHILD_CHECK(rig_nic_info(own, &info), 0);
	CHILD_CHECK(rig_nic_info(rig->nic, &info), -EPERM);
	CHILD_CHECK(rig_close(own), 0);
	CHILD_CHECK(rig_close(own), 0);
	CHILD_CHECK(rig_nic_info(own, &info), -EINVAL);
	return child_tries_all(rig);
}

static void a_child_may_open_its_own(void **state)
{
	struct script_rig rig = rig_with_a_region();
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0)
		_exit(child_opens_its_own(&rig));
	wait_for(child);
	still_works(&rig);
	script_rig_close(&rig);
}

/* Rings and records are not even there: a child that scribbles on them dies alone. */
static void rings_are_not_in_the_child(void **state)
{
	struct script_rig rig = rig_with_a_region();
	uint64_t places[4] = {script.qps[0].in.buf_addr, script.cqs[0].in.buf_addr,
			      script.qps[0].in.db_addr, (uintptr_t)script.uar};
	unsigned char resident;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 4; i++) {
			void *page = (void *)(uintptr_t)(places[i] & ~4095ull);

			if (mincore(page, 4096, &resident) == 0 || errno != ENOMEM)
				_exit(1 + i);
		}
		_exit(0);
	}
	wait_for(child);
	still_works(&rig);
	script_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_gets_eperm_from_every_call),
		cmocka_unit_test(a_child_of_clone_too),
		cmocka_unit_test(a_child_may_open_its_own),
		cmocka_unit_test(rings_are_not_in_the_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
