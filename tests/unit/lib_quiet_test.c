/* SPDX-License-Identifier: BSD-2-Clause */
/* link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc */
/*
 * lib_quiet_test.c - on hardware post, receive, ring and poll make no system call and allocate
 * nothing. How: a scripted kernel behind the hardware's door, in a child in which the system lets
 * no call through but read, write and exit, and with malloc counted.
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

enum { ROUNDS = 1000, BATCH = 16 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned int allocations;

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	allocations++;
	return __real_realloc(old, size);
}

/* One batch of each kind of entry and of receives; false: a call failed. */
static bool batch(struct script_rig *rig, const struct rig_local *piece)
{
	static const uint64_t data = 7;
	const struct rig_entry entries[2] = {
	    {.op = RIG_WRITE,
	     .flags = RIG_SIGNAL_F | RIG_INLINE_F,
	     .inline_data = &data,
	     .inline_len_bytes = sizeof(data)},
	    {.op = RIG_READ, .flags = RIG_SIGNAL_F, .pieces = piece, .piece_count = 1},
	};
	struct rig_wc wc[4 * BATCH];
	bool good = true;

	for (int i = 0; i < BATCH; i++) {
		uint16_t index = rig_qp_index(rig->qp, RIG_RING_SEND);

		good &= rig_qp_post(rig->qp, &entries[i % 2]) == 0;
		good &= rig_qp_receive(rig->qp, piece) == 0;
		good &= rig_qp_ring(rig->qp) == 0;
		script_done(0, 0, index);
		script_received(0, 0, 8);
	}
	good &= rig_cq_poll(rig->cq, wc, 4 * BATCH) == 2 * BATCH;
	return good && rig_cq_poll(rig->cq, wc, 1) == 0;
}

/* Exit status 0: all was quiet. The system kills what makes a call [seccomp(2)]. */
static void quiet_child(void)
{
	const struct rig_local piece = {.addr = 0x1000, .len_bytes = 64, .key = 1};
	struct script_rig rig = script_rig_open(BATCH, BATCH);
	bool good = batch(&rig, &piece); /* binds what is bound at the first call */
	unsigned int before = allocations;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		_exit(77);
	for (int i = 0; i < ROUNDS; i++)
		good &= batch(&rig, &piece);
	syscall(SYS_exit, good && allocations == before ? 0 : 1);
}

static void data_path_makes_no_system_call_and_allocates_nothing(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		quiet_child();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no seccomp here */
	if (WIFSIGNALED(status))
		fail_msg("a system call was made (signal %d)", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The counter counts: opening allocates. */
static void allocations_are_counted(void **state)
{
	unsigned int before = allocations;
	struct script_rig rig = script_rig_open(4, 4);

	(void)state;
	assert_true(allocations > before);
	script_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(data_path_makes_no_system_call_and_allocates_nothing),
	    cmocka_unit_test(allocations_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
