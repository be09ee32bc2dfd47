/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.c - a line of a trace: the time since the run began, the process, the NIC, the text.
 *
 * The descriptor is in the application's table and in that of the port's threads. In the former it
 * may be closed behind our back and given to something else: so it is looked at before each line.
 * What cannot be written is lost: the program shall not notice.
 */
#include "shim/trace.h"

#include "host/clock.h"
#include "shim/real.h"
#include "shim/tree.h"
#include "soft/kept.h"
#include "soft/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 200 };

static struct {
	struct soft_tracer tracer;
	bool looked;
	uint64_t start_ns;
	dev_t device;
	ino_t inode;
} trace;

static bool is_ours(void)
{
	struct stat stat;

	return shim_real()->fstat(trace.tracer.fd, &stat) == 0 && stat.st_dev == trace.device &&
	       stat.st_ino == trace.inode;
}

/* A pipe without a reader shall not end the program. */
static void write_quietly(const char *line, size_t len)
{
	const struct timespec now = {.tv_sec = 0};
	sigset_t pipe_signal, old, pending;
	bool was_pending;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
	if (write(trace.tracer.fd, line, len) < 0 && errno == EPIPE && !was_pending)
		sigtimedwait(&pipe_signal, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void tell(const char *nic, const char *text)
{
	uint64_t us = (host_now_ns() - trace.start_ns) / 1000;
	char line[LINE_BYTES];
	int error = errno, len;

	len = snprintf(line, sizeof(line), "%4llu.%06llu %d %s %s",
		       (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000),
		       (int)getpid(), nic, text);
	if (len >= LINE_BYTES - 1)
		len = LINE_BYTES - 2;
	line[len++] = '\n';
	if (is_ours())
		write_quietly(line, (size_t)len);
	errno = error;
}

/* -1: there is nothing to write to. */
static int target_open(const char *path)
{
	int fd;

	if (path[0] == '\0')
		return soft_kept_take(fcntl(2, F_DUPFD_CLOEXEC, 3));
	fd = shim_real()->open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		fprintf(stderr, "rig5 run: cannot trace to %s: %s\n", path, strerror(errno));
	return soft_kept_take(fd);
}

static void begin(const char *words)
{
	struct stat stat;
	char *path;
	int fd;

	trace.start_ns = strtoull(words, &path, 10);
	if (*path++ != ' ')
		return;
	fd = target_open(path);
	if (fd < 0 || shim_real()->fstat(fd, &stat) < 0)
		return;
	trace.device = stat.st_dev;
	trace.inode = stat.st_ino;
	trace.tracer = (struct soft_tracer){.tell = tell, .fd = fd};
}

const struct soft_tracer *shim_tracer(void)
{
	const char *words = getenv(SHIM_TRACE_ENV);

	if (words && !trace.looked)
		begin(words);
	trace.looked = true;
	return trace.tracer.tell ? &trace.tracer : NULL;
}
