/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: who marks is never taken for a child, also by threads that look meanwhile; a child is told
 * from its parent, and one of its threads alone takes the parent's place, before the others go on.
 * How: threads that look while one marks, and forks whose threads all ask at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "soft/alive.h"

enum { THREADS = 3, ROUNDS = 200, DEADLINE_S = 60 };

static struct soft_alive alive;
static atomic_int ready, inherited, early, taken;
static atomic_bool marked;

static void *looker(void *arg)
{
	(void)arg;
	ready++;
	do {
		taken += soft_alive_forked(&alive);
		taken += soft_alive_inherit(&alive);
	} while (!marked);
	return NULL;
}

static void who_marks_is_no_child(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		alive = (struct soft_alive){.page = NULL};
		ready = 0;
		marked = false;
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, looker, NULL), 0);
		while (ready != THREADS)
			;
		assert_int_equal(soft_alive_mark(&alive), 0);
		marked = true;
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(taken, 0);
	}
}

static void *heir(void *arg)
{
	static atomic_bool done;

	(void)arg;
	ready++;
	while (ready != THREADS)
		;
	if (soft_alive_inherit(&alive)) {
		inherited++;
		usleep(1000);
		done = true;
		soft_alive_renew(&alive);
	} else if (!done) {
		early++;
	}
	return NULL;
}

/* Its exit status: what went wrong. */
static int child(void)
{
	pthread_t threads[THREADS];

	alarm(DEADLINE_S);
	if (!soft_alive_forked(&alive))
		return 1;
	ready = 0;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, heir, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (inherited != 1)
		return 3;
	if (early != 0)
		return 4;
	return soft_alive_forked(&alive) || soft_alive_inherit(&alive) ? 5 : 0;
}

static void one_thread_of_a_child_inherits(void **state)
{
	(void)state;
	assert_int_equal(soft_alive_mark(&alive), 0);
	for (int round = 0; round < ROUNDS / 10; round++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(child());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_false(soft_alive_forked(&alive));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(who_marks_is_no_child),
	    cmocka_unit_test(one_thread_of_a_child_inherits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
