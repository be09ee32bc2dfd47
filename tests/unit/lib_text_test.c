/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that a completion, a status and an error are told in words, within the buffer that there
 * is. How: tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "include/rig5.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static void completions_in_words(void **state)
{
	static const struct {
		struct rig_wc wc;
		const char *text;
	} rows[] = {
	    {{.qp = 0x4011, .index = 12, .op = RIG_WRITE},
	     "queue pair 0x4011 entry 12 (write): done"},
	    {{.qp = 0x4011, .index = 65535, .op = RIG_READ, .len_bytes = 4096},
	     "queue pair 0x4011 entry 65535 (read): done, 4096 bytes"},
	    {{.qp = 1, .kind = RIG_WC_RECEIVE, .op = RIG_SEND},
	     "queue pair 0x1 receive 0 (of a send): done, 0 bytes"},
	    {{.qp = 1, .kind = RIG_WC_RECEIVE, .op = RIG_WRITE, .flags = RIG_WC_IMM_F, .imm = 77},
	     "queue pair 0x1 receive 0 (of a write): done, 0 bytes, immediate 0x4d"},
	    {{.qp = 0x4011,
	      .index = 12,
	      .op = RIG_WRITE,
	      .status = RIG_REMOTE_ACCESS,
	      .vendor_syndrome = 0x88},
	     "queue pair 0x4011 entry 12 (write): remote access error (0x88): the remote key, range"
	     " or right is wrong"},
	    {{.qp = 2, .kind = RIG_WC_UNKNOWN, .status = RIG_UNEXPECTED},
	     "queue pair 0x2: unexpected completion (0x00): of a kind that this library does not"
	     " know"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200];

		assert_int_equal(rig_wc_text(&rows[i].wc, text, sizeof(text)),
				 strlen(rows[i].text));
		assert_string_equal(text, rows[i].text);
	}
}

static void text_is_cut_to_size_and_terminated(void **state)
{
	const struct rig_wc wc = {.qp = 0x4011};
	char text[8];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(rig_wc_text(&wc, text, 6),
			 strlen("queue pair 0x4011 entry 0 (write): done"));
	assert_memory_equal(text, "queue\0xx", 8);
	assert_true(rig_wc_text(&wc, NULL, 0) > 0);
	assert_int_equal(rig_wc_text(NULL, text, 8), -EINVAL);
}

/* Also of values that no completion has. */
static void every_status_has_words(void **state)
{
	(void)state;
	for (int status = 0; status < 256; status++) {
		const struct rig_wc wc = {
			.status = (uint8_t)status, .kind = (uint8_t)status, .op = (uint8_t)status,
		};
		char text[200];

		assert_true(strlen(rig_status_text((enum rig_status)status)) > 3);
		assert_true(rig_wc_text(&wc, text, sizeof(text)) > 0);
	}
	assert_string_equal(rig_status_text(RIG_RETRY_EXCEEDED), "retry exceeded");
}

static void *other_thread(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)(rig_error()[0] == '\0');
}

/* The message is this thread's, never NULL, and empty where nothing has failed. */
static void errors_are_each_threads_own(void **state)
{
	pthread_t thread;
	void *empty;

	(void)state;
	assert_int_equal(rig_close(NULL), -EINVAL);
	assert_true(strstr(rig_error(), "rig_close") != NULL);
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	pthread_join(thread, &empty);
	assert_true(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completions_in_words),
		cmocka_unit_test(text_is_cut_to_size_and_terminated),
		cmocka_unit_test(every_status_has_words),
		cmocka_unit_test(errors_are_each_threads_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
