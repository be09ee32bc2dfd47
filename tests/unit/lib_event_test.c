/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what rig_wait reports of each record of the kernel, when it returns, and that rig_fd is
 * readable when there is something to report. How: a scripted kernel whose event files are sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static void report(uint32_t event_type, uint64_t element)
{
	struct ib_uverbs_async_event_desc desc = {.element = element, .event_type = event_type};

	assert_int_equal(write(script.async[1], &desc, sizeof(desc)), sizeof(desc));
}

static void complete(unsigned int cq)
{
	struct ib_uverbs_comp_event_desc desc = {.cq_handle = script.cqs[cq].user_handle};

	assert_int_equal(write(script.channel[1], &desc, sizeof(desc)), sizeof(desc));
}

static bool fd_readable(struct rig_nic *nic)
{
	struct pollfd one = {.fd = rig_fd(nic), .events = POLLIN};

	return poll(&one, 1, 0) == 1;
}

static void completion_names_the_queue(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;

	(void)state;
	complete(0);
	memset(&event, 0xee, sizeof(event));
	assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 1);
	assert_int_equal(event.kind, RIG_EVENT_COMPLETION);
	assert_ptr_equal(event.cq, rig.cq);
	assert_int_equal(event.qp, 0);
	assert_int_equal(event.code, 0);
	assert_true(strlen(event.text) > 0);
	assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 0);
	script_rig_close(&rig);
}

static void reports_of_the_kernel(void **state)
{
	static const struct {
		uint32_t type;
		enum rig_event_kind kind;
		char object; /* 'q': queue pair, 'c': completion queue, 0: none */
	} rows[] = {
		{UV_EVENT_CQ_ERR, RIG_EVENT_CQ_ERROR, 'c'},
		{UV_EVENT_QP_FATAL, RIG_EVENT_QP_ERROR, 'q'},
		{UV_EVENT_QP_REQ_ERR, RIG_EVENT_QP_ERROR, 'q'},
		{UV_EVENT_QP_ACCESS_ERR, RIG_EVENT_QP_ERROR, 'q'},
		{UV_EVENT_COMM_EST, RIG_EVENT_OTHER, 'q'},
		{UV_EVENT_PORT_ACTIVE, RIG_EVENT_PORT, 0},
		{UV_EVENT_PORT_ERR, RIG_EVENT_PORT, 0},
		{UV_EVENT_LID_CHANGE, RIG_EVENT_PORT, 0},
		{UV_EVENT_GID_CHANGE, RIG_EVENT_PORT, 0},
		{UV_EVENT_DEVICE_FATAL, RIG_EVENT_NIC_ERROR, 0},
		{77, RIG_EVENT_OTHER, 0},
	};
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t element = rows[i].object == 'q' ? script.qps[0].user_handle :
				   rows[i].object == 'c' ? script.cqs[0].user_handle : 1;

		report(rows[i].type, element);
		assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 1);
		if (event.kind != rows[i].kind || event.code != rows[i].type ||
		    event.qp != (rows[i].object == 'q' ? SCRIPT_QPN_FIRST : 0) ||
		    event.cq != (rows[i].object == 'c' ? rig.cq : NULL) || !event.text[0])
			fail_msg("event %u: kind %d, \"%s\"", rows[i].type, event.kind, event.text);
	}
	script_rig_close(&rig);
}

static void at_most_max_and_reports_first(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event events[4];

	(void)state;
	complete(0);
	complete(0);
	report(UV_EVENT_PORT_ERR, 1);
	memset(events, 0xee, sizeof(events));
	assert_int_equal(rig_wait(rig.nic, 0, events, 2), 2);
	assert_int_equal(events[0].kind, RIG_EVENT_PORT);
	assert_int_equal(events[1].kind, RIG_EVENT_COMPLETION);
	assert_int_equal(events[2].code, 0xeeeeeeee);
	assert_int_equal(rig_wait(rig.nic, 0, events, 4), 1);
	assert_int_equal(rig_wait(rig.nic, 0, events, 0), -EINVAL);
	assert_int_equal(rig_wait(rig.nic, 0, NULL, 1), -EINVAL);
	script_rig_close(&rig);
}

static void time_is_up(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;

	(void)state;
	assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 0);
	assert_int_equal(rig_wait(rig.nic, 5, &event, 1), 0);
	script_rig_close(&rig);
}

static void *complete_later(void *arg)
{
	(void)arg;
	complete(0);
	return NULL;
}

static void without_end_until_something_happens(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, complete_later, NULL), 0);
	assert_int_equal(rig_wait(rig.nic, -1, &event, 1), 1);
	assert_int_equal(event.kind, RIG_EVENT_COMPLETION);
	pthread_join(thread, NULL);
	script_rig_close(&rig);
}

static void on_signal(int number)
{
	(void)number;
}

static void a_signal_ends_the_wait(void **state)
{
	struct sigaction action = {.sa_handler = on_signal}, old;
	struct itimerval soon = {.it_value.tv_usec = 2000};
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(rig_wait(rig.nic, -1, &event, 1), -EINTR);
	sigaction(SIGALRM, &old, NULL);
	script_rig_close(&rig);
}

static void fd_is_readable_when_there_is_something(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;

	(void)state;
	assert_false(fd_readable(rig.nic));
	complete(0);
	assert_true(fd_readable(rig.nic));
	assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 1);
	assert_false(fd_readable(rig.nic));
	report(UV_EVENT_PORT_ERR, 1);
	assert_true(fd_readable(rig.nic));
	assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 1);
	assert_false(fd_readable(rig.nic));
	script_rig_close(&rig);
}

static void a_dead_event_file_is_an_error(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;

	(void)state;
	close(script.async[1]);
	script.async[1] = dup(script.channel[1]);
	assert_true(rig_wait(rig.nic, 0, &event, 1) < 0);
	script_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completion_names_the_queue),
		cmocka_unit_test(reports_of_the_kernel),
		cmocka_unit_test(at_most_max_and_reports_first),
		cmocka_unit_test(time_is_up),
		cmocka_unit_test(without_end_until_something_happens),
		cmocka_unit_test(a_signal_ends_the_wait),
		cmocka_unit_test(fd_is_readable_when_there_is_something),
		cmocka_unit_test(a_dead_event_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
