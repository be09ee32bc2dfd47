/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * procs.h - tests of several processes: each child is this same program, started again, and does
 * what the test asks of it, one function call at a time.
 *
 * The parent holds no NIC: it starts children (proc_start), calls functions in them (proc_ok), and
 * sends them signals. A function that runs in a child is a proc_verb: it gets a message and changes
 * it into the answer. Between calls a child runs its idle function, if it set one, and else sleeps.
 *
 * Every answer has a deadline; one that does not come fails the test. proc_end_all, the teardown of
 * every test, kills and reaps what is left, by pid. A child dies with its parent.
 *
 * Each test has a port of its own: proc_new_port chooses a loopback address from the pid and a
 * count and sets RIG5_SOFT.
 *
 * Threads: the parent's one thread. In a child: the verb's.
 */
#ifndef TESTS_SUPPORT_PROCS_H
#define TESTS_SUPPORT_PROCS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROC_VALUES = 8,
	PROC_BLOB_BYTES = 256,
	PROC_TEXT_BYTES = 256,
	PROC_MAX = 64,        /* children of one test at a time */
	PROC_STEP_MS = 60000, /* how long an answer may take; under a sanitizer three times that */
};

struct proc_msg {
	uint64_t v[PROC_VALUES];
	uint8_t blob[PROC_BLOB_BYTES];
	char text[PROC_TEXT_BYTES]; /* what went wrong */
};

/* Runs in a child: reads *msg, writes the answer over it. 0 or more, or a negative errno. */
typedef int (*proc_verb)(struct proc_msg *msg);

struct proc {
	pid_t pid;
	int fd;
	bool reaped;
	int status;        /* of waitpid, once reaped */
	const char *doing; /* the verb it is in; NULL: none */
};

/* proc_main - to be called first in main: in a child it serves the parent and never returns. */
void proc_main(int argc, char **argv);

/* proc_new_port - a port that no other test uses, for the children started from here on; its
 * address. Valid until the next call. */
const char *proc_new_port(void);
/* proc_new_infiniband - likewise one of InfiniBand; its LID. */
uint16_t proc_new_infiniband(void);

/* proc_start - a new child. Fails the test if it cannot. */
struct proc *proc_start(void);

/*
 * proc_begin, proc_end - a call in two halves, so that several children can be busy at once.
 * proc_ok - both, and fails the test if the verb failed. proc_call - both; the verb's result.
 * msg may be NULL: an empty one.
 */
#define proc_begin(child, verb, msg) proc_begin_((child), (verb), #verb, (msg))
#define proc_call(child, verb, msg)  proc_call_((child), (verb), #verb, (msg))
#define proc_ok(child, verb, msg)    proc_ok_((child), (verb), #verb, (msg), __FILE__, __LINE__)
void proc_begin_(struct proc *child, proc_verb verb, const char *name, const struct proc_msg *msg);
int proc_end(struct proc *child, struct proc_msg *msg);
int proc_call_(struct proc *child, proc_verb verb, const char *name, struct proc_msg *msg);
int proc_ok_(struct proc *child, proc_verb verb, const char *name, struct proc_msg *msg,
	     const char *file, int line);

/* proc_signal - kill(2). proc_wait - reaps the child; the status of waitpid. Both fail the test if
 * they cannot. proc_kill - SIGKILL and proc_wait. proc_quit - the child returns from main, and must
 * have exit status 0. */
void proc_signal(struct proc *child, int signal);
int proc_wait(struct proc *child);
void proc_kill(struct proc *child);
void proc_quit(struct proc *child);
/* proc_stopped - waits until the kernel says that the child is stopped. */
void proc_stopped(struct proc *child);

/* proc_end_all - cmocka teardown. */
int proc_end_all(void **state);

/* ---- in a child ------------------------------------------------------------------------------ */

/* What a child does between calls; NULL: sleeps. Called over and over. */
void proc_idle(void (*idle)(void));
/* Says in the answer what went wrong; returns err. */
int proc_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* How many children and grandchildren this process left: closes the control channel in a fork. */
void proc_forget_parent(void);

/* ---- both ------------------------------------------------------------------------------------ */

uint64_t proc_now_ns(void);
void proc_sleep_ms(unsigned int ms);
/* proc_nic - the NIC that tests open: "soft0", or what RIG5_TEST_ON names (tests/hw). */
const char *proc_nic(void);
/* proc_scale - 1, or 3 under a sanitizer: for deadlines. */
unsigned int proc_scale(void);

/* PROC_TRY - in a verb: a call of the library, whose error is the verb's. */
#define PROC_TRY(call)                                             \
	do {                                                       \
		int ret_ = (call);                                 \
		if (ret_ < 0)                                      \
			return proc_fail(ret_, "%s", rig_error()); \
	} while (0)

/* proc_two_hosts - two ports, and what RIG5_SOFT is for each; skips the test where there is no
 * software NIC. */
enum { PROC_HOSTS = 2 };
void proc_two_hosts(char hosts[static PROC_HOSTS][64]);

#endif
