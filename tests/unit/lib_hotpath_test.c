/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that post, receive, ring, poll and arm make no system call and allocate nothing, for every
 * kind of entry and queue pair, on full and empty rings too. How: a child makes a NIC on a scripted
 * kernel, enters strict seccomp, under which any call but read, write and exit kills it, and runs
 * them; malloc and its kin are counted by hooks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAVE_HOOKS 1

static _Atomic unsigned int allocations;

/* glibc's own names for what these hooks stand before. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	allocations++;
	return __libc_realloc(old, size);
}
#else
#define HAVE_HOOKS 0
static unsigned int allocations;
#endif

static const uint8_t data[300];
static const struct rig_local pieces[3] = {
	{.addr = 0x1000, .len_bytes = 8, .key = 1},
	{.addr = 0x2000, .len_bytes = 0, .key = 2},
	{.addr = 0x3000, .len_bytes = 8, .key = 3},
};
static const struct rig_entry entries[] = {
	{.op = RIG_WRITE, .flags = RIG_INLINE_F | RIG_SIGNAL_F, .inline_data = data,
	 .inline_len_bytes = 8},
	{.op = RIG_WRITE, .flags = RIG_INLINE_F | RIG_SIGNAL_F, .inline_data = data,
	 .inline_len_bytes = 28},
	{.op = RIG_SEND, .flags = RIG_INLINE_F | RIG_SIGNAL_F | RIG_IMM_F, .inline_data = data,
	 .inline_len_bytes = 300},
	{.op = RIG_WRITE, .flags = RIG_SIGNAL_F, .pieces = pieces, .piece_count = 1},
	{.op = RIG_READ, .flags = RIG_SIGNAL_F, .pieces = pieces, .piece_count = 3},
	{.op = RIG_FETCH_ADD, .flags = RIG_SIGNAL_F, .pieces = pieces, .piece_count = 1},
	{.op = RIG_SEND, .flags = RIG_SIGNAL_F},
};

enum { KINDS = sizeof(entries) / sizeof(entries[0]) };

/* What has an address: a datagram and a DC queue pair, whose receives are shared. */
struct addressed {
	struct rig_srq *srq;
	struct rig_qp *ud;
	struct rig_qp *initiator;
	struct rig_ah *ah;
};

static struct addressed addressed_open(const struct script_rig *rig)
{
	struct rig_qp_options options = {.transport = RIG_UD};
	const struct rig_start start = {.qkey = 1};
	struct addressed made;
	struct rig_endpoint self;

	assert_int_equal(rig_srq_create(rig->cq, 15, &made.srq), 0);
	options.srq = made.srq;
	assert_int_equal(rig_qp_create_with(rig->cq, 16, 0, &options, &made.ud), 0);
	options = (struct rig_qp_options){.transport = RIG_DC_INITIATOR};
	assert_int_equal(rig_qp_create_with(rig->cq, 16, 0, &options, &made.initiator), 0);
	assert_int_equal(rig_qp_start(made.ud, &start), 0);
	assert_int_equal(rig_qp_start(made.initiator, &start), 0);
	assert_int_equal(rig_qp_endpoint(made.ud, &self), 0);
	assert_int_equal(rig_ah_create(rig->nic, &self.address, NULL, &made.ah), 0);
	return made;
}

static int addressed_path(struct script_rig *rig, struct addressed *with)
{
	struct rig_wc wc[4];

	for (int round = 0; round < 200; round++) {
		struct rig_qp *qp = round % 2 ? with->ud : with->initiator;
		uint16_t index = rig_qp_index(qp, RIG_RING_SEND), slot = rig_srq_index(with->srq);
		struct cqe64 cqe = {.wqe_counter = be16_from(slot)};
		struct rig_entry entry = entries[round / 2 % KINDS];

		entry.ah = with->ah;
		entry.op = qp == with->ud ? RIG_SEND : entry.op;
		if (rig_qp_post(qp, &entry) || rig_qp_ring(qp) ||
		    rig_srq_receive(with->srq, pieces, 3))
			return __LINE__;
		script_done(0, qp == with->ud ? 1 : 2, index);
		script_complete(0, 1, cqe, CQE_RESP_SEND);
		if (rig_cq_poll(rig->cq, wc, 4) != 2 || wc[1].index != slot)
			return __LINE__;
	}
	while (rig_srq_receive(with->srq, pieces, 1) == 0)
		;
	return rig_srq_room(with->srq) == 0 ? 0 : __LINE__;
}

/* data_path - 0 if all went as it should; otherwise the line of what did not. */
static int data_path(struct script_rig *rig)
{
	struct rig_wc wc[8];

	for (int round = 0; round < 200; round++) {
		const struct rig_entry *entry = &entries[round % KINDS];
		uint16_t index = rig_qp_index(rig->qp, RIG_RING_SEND);

		if (rig_qp_post(rig->qp, entry) || rig_qp_ring(rig->qp))
			return __LINE__;
		if (rig_qp_receive(rig->qp, &pieces[0]) ||
		    rig_qp_receive_pieces(rig->qp, pieces, 3))
			return __LINE__;
		script_done(0, 0, index);
		script_received(0, 0, 8);
		script_received(0, 0, 8);
		if (rig_cq_poll(rig->cq, wc, 1) != 1 || rig_cq_poll(rig->cq, wc, 8) != 2 ||
		    rig_cq_poll(rig->cq, wc, 8) != 0 || rig_cq_arm(rig->cq))
			return __LINE__;
	}
	while (rig_qp_post(rig->qp, &entries[0]) == 0)
		;
	while (rig_qp_receive(rig->qp, &pieces[0]) == 0)
		;
	for (int i = 0; i < KINDS; i++)
		if (rig_qp_post(rig->qp, &entries[i]) != -EAGAIN)
			return __LINE__;
	script_error(0, 0, rig_qp_index(rig->qp, RIG_RING_SEND) - 1, CQE_SYND_WR_FLUSH, 0xf5,
		     CQE_REQ_ERR);
	return rig_cq_poll(rig->cq, wc, 8) == 1 ? 0 : __LINE__;
}

static void no_allocation(void **state)
{
	struct script_rig rig = script_rig_open(64, 64);
	struct addressed with = addressed_open(&rig);
	unsigned int before = allocations;

	(void)state;
	assert_int_equal(addressed_path(&rig, &with), 0);
	assert_int_equal(data_path(&rig), 0);
	assert_int_equal(allocations - before, 0);
	script_rig_close(&rig);
	if (HAVE_HOOKS)
		assert_true(allocations > 0);
}

/*
 * A child's life under strict seccomp; exit_group, which exit(3) would call, is forbidden as well.
 */
static void strict_child(bool one_call_too_many)
{
	struct script_rig rig = script_rig_open(64, 64);
	struct addressed with = addressed_open(&rig);
	int line;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(77);
	if (one_call_too_many)
		syscall(SYS_getppid);
	line = addressed_path(&rig, &with);
	line = line ? line : data_path(&rig);
	syscall(SYS_exit, line ? 1 : 0);
}

static int strict_status(bool one_call_too_many)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		strict_child(one_call_too_many);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no seccomp here */
	return status;
}

static void no_system_call(void **state)
{
	int status;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its runtime makes system calls of its own, and waits for those refused */
#endif
	status = strict_status(false);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	status = strict_status(true);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_allocation),
		cmocka_unit_test(no_system_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
