/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * procs.c - children of a test program.
 *
 * A child is /proc/self/exe with one argument. It talks to the parent over a SOCK_SEQPACKET pair on
 * descriptor CONTROL_FD. A verb travels as its distance from proc_main: both run the same file,
 * each at its own address.
 */
#include "tests/support/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILD_ARG "--child"
enum { CONTROL_FD = 3, IDLE_ROUNDS = 16 };

struct wire {
	int64_t word; /* to the child: the verb; from it: the result */
	struct proc_msg msg;
};

static struct proc children[PROC_MAX];
static unsigned int child_count;
static struct proc_msg *answer; /* in a child: of the verb that runs */
static void (*idle_work)(void);

uint64_t proc_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void proc_sleep_ms(unsigned int ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

const char *proc_nic(void)
{
	const char *name = getenv("RIG5_TEST_ON");

	return name && *name ? name : "soft0";
}

unsigned int proc_scale(void)
{
	const char *sanitize = getenv("RIG5_SANITIZE");

	return sanitize && *sanitize ? 3 : 1;
}

/* ---- the child ------------------------------------------------------------------------------- */

static int64_t distance(proc_verb verb)
{
	return (int64_t)((uintptr_t)verb - (uintptr_t)&proc_main);
}

static proc_verb verb_at(int64_t word)
{
	return (proc_verb)(uintptr_t)((uintptr_t)&proc_main + (uintptr_t)word);
}

void proc_idle(void (*idle)(void))
{
	idle_work = idle;
}

int proc_fail(int err, const char *format, ...)
{
	va_list args;

	if (!answer)
		return err;
	va_start(args, format);
	vsnprintf(answer->text, sizeof(answer->text), format, args);
	va_end(args);
	return err;
}

void proc_forget_parent(void)
{
	close(CONTROL_FD);
	idle_work = NULL;
}

static void serve_one(void)
{
	static struct wire wire;
	ssize_t n = recv(CONTROL_FD, &wire, sizeof(wire), 0);

	if (n != sizeof(wire) || wire.word == 0)
		exit(n == 0 || n == sizeof(wire) ? 0 : 99);
	answer = &wire.msg;
	wire.msg.text[0] = '\0';
	wire.word = verb_at(wire.word)(&wire.msg);
	answer = NULL;
	if (send(CONTROL_FD, &wire, sizeof(wire), MSG_NOSIGNAL) != sizeof(wire))
		_exit(98);
}

void proc_main(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], CHILD_ARG) != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct pollfd control = {.fd = CONTROL_FD, .events = POLLIN};

		if (poll(&control, 1, idle_work ? 0 : -1) > 0)
			serve_one();
		for (int i = 0; i < IDLE_ROUNDS && idle_work; i++)
			idle_work();
	}
}

/* ---- the parent: life ------------------------------------------------------------------------ */

const char *proc_new_port(void)
{
	static char config[64];
	static unsigned int count;
	unsigned int pid = (unsigned int)getpid();

	count++;
	snprintf(config, sizeof(config), "soft0,addr=127.%u.%u.%u", 128 | (pid >> 8 & 127),
		 pid & 255, count % 254 + 1);
	setenv("RIG5_SOFT", config, 1);
	return strchr(config, '=') + 1;
}

uint16_t proc_new_infiniband(void)
{
	static unsigned int count;
	/* Up to 0xbfff, and away from those that are chosen by default. */
	unsigned int lid = 0x1000 + ((unsigned int)getpid() * 16 + count++ % 16) % 0xa000;
	char config[64];

	snprintf(config, sizeof(config), "soft0,ll=ib,lid=%u", lid);
	setenv("RIG5_SOFT", config, 1);
	return (uint16_t)lid;
}

static void child_exec(int fd)
{
	char name[] = "/proc/self/exe";
	char arg[] = CHILD_ARG;
	char *argv[] = {name, arg, NULL};

	if (fd == CONTROL_FD)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, CONTROL_FD);
	execv(name, argv);
	_exit(97);
}

struct proc *proc_start(void)
{
	struct proc *child;
	int pair[2];

	for (child = children; child < children + child_count && !child->reaped; child++)
		;
	assert_true(child < children + PROC_MAX);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	*child = (struct proc){.fd = pair[0], .pid = fork()};
	if (child->pid == 0)
		child_exec(pair[1]);
	if (child == children + child_count)
		child_count++;
	close(pair[1]);
	assert_true(child->pid > 0);
	return child;
}

void proc_signal(struct proc *child, int signal)
{
	assert_false(child->reaped);
	assert_int_equal(kill(child->pid, signal), 0);
}

/* waitpid with a deadline: true if it told something. */
static bool wait_for(struct proc *child, int options, unsigned int timeout_ms)
{
	uint64_t end_ns = proc_now_ns() + timeout_ms * 1000000ull;
	pid_t pid;

	while ((pid = waitpid(child->pid, &child->status, options | WNOHANG)) == 0 &&
	       proc_now_ns() < end_ns)
		proc_sleep_ms(1);
	return pid == child->pid;
}

int proc_wait(struct proc *child)
{
	if (!wait_for(child, 0, PROC_STEP_MS * proc_scale()))
		fail_msg("child %d (%s) does not end", child->pid,
			 child->doing ? child->doing : "idle");
	child->reaped = true;
	close(child->fd);
	return child->status;
}

void proc_kill(struct proc *child)
{
	proc_signal(child, SIGKILL);
	proc_wait(child);
}

void proc_quit(struct proc *child)
{
	int status;

	shutdown(child->fd, SHUT_WR);
	status = proc_wait(child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("child %d ended with status %#x", child->pid, status);
}

void proc_stopped(struct proc *child)
{
	if (!wait_for(child, WUNTRACED, PROC_STEP_MS) || !WIFSTOPPED(child->status))
		fail_msg("child %d does not stop", child->pid);
}

int proc_end_all(void **state)
{
	(void)state;
	for (struct proc *child = children; child < children + child_count; child++) {
		if (child->reaped)
			continue;
		kill(child->pid, SIGKILL);
		while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
			;
		close(child->fd);
	}
	child_count = 0;
	return 0;
}

/* ---- the parent: calls ----------------------------------------------------------------------- */

static void dead(struct proc *child)
{
	bool told = wait_for(child, 0, 1000);
	const char *doing = child->doing ? child->doing : "?";

	child->reaped = told;
	if (told)
		close(child->fd);
	if (told && WIFSIGNALED(child->status))
		fail_msg("child %d died of signal %d in %s", child->pid, WTERMSIG(child->status),
			 doing);
	fail_msg("child %d went away in %s, status %#x", child->pid, doing, child->status);
}

void proc_begin_(struct proc *child, proc_verb verb, const char *name, const struct proc_msg *msg)
{
	struct wire wire = {.word = distance(verb)};

	if (msg)
		wire.msg = *msg;
	assert_false(child->reaped);
	child->doing = name;
	if (send(child->fd, &wire, sizeof(wire), MSG_NOSIGNAL) != sizeof(wire))
		dead(child);
}

int proc_end(struct proc *child, struct proc_msg *msg)
{
	struct pollfd ready = {.fd = child->fd, .events = POLLIN};
	struct wire wire;

	if (poll(&ready, 1, (int)(PROC_STEP_MS * proc_scale())) != 1)
		fail_msg("child %d does not return from %s", child->pid, child->doing);
	if (recv(child->fd, &wire, sizeof(wire), 0) != sizeof(wire))
		dead(child);
	child->doing = NULL;
	if (msg)
		*msg = wire.msg;
	else if (wire.word < 0)
		print_message("child %d: %s\n", child->pid, wire.msg.text);
	return (int)wire.word;
}

int proc_call_(struct proc *child, proc_verb verb, const char *name, struct proc_msg *msg)
{
	proc_begin_(child, verb, name, msg);
	return proc_end(child, msg);
}

int proc_ok_(struct proc *child, proc_verb verb, const char *name, struct proc_msg *msg,
	     const char *file, int line)
{
	int result = proc_call_(child, verb, name, msg);

	if (result < 0) {
		print_error("%s in child %d: %d: %s\n", name, child->pid, result,
			    msg ? msg->text : "");
		_fail(file, line);
	}
	return result;
}

void proc_two_hosts(char hosts[static PROC_HOSTS][64])
{
	if (strcmp(proc_nic(), "soft0") != 0)
		skip();
	for (int i = 0; i < PROC_HOSTS; i++) {
		(void)proc_new_port();
		snprintf(hosts[i], sizeof(hosts[i]), "%s", getenv("RIG5_SOFT"));
	}
}
