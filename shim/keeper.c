/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper.c - the process that removes a run's tree.
 *
 * `rig5 run` becomes the program, so that its number, its signals and its exit status are the
 * program's own. The keeper is nobody's child: the program's wait(2) never meets it. It waits for
 * the program's end (a pidfd), and then for that of its descendants: each has the write end of a
 * pipe, unless it closed it, and then it has to do with the program's life.
 */
#include "shim/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the pipe's end goes, out of the way of programs that count on low numbers. */
static int number_wanted(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 64)
		return 3;
	return limit.rlim_cur > 1024 ? 1000 : (int)limit.rlim_cur - 16;
}

static void wait_for(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	while (poll(&poll_fd, 1, -1) < 0 && errno == EINTR)
		;
}

/* Closes all but three descriptors, and its standard ones, whose ends others may wait for. */
static void close_others(int a, int b, int c)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 4096; fd++)
		if (fd != a && fd != b && fd != c)
			close(fd);
}

/* Whether the process was started in this run. */
static bool is_of_run(const char *pid, const char *wanted)
{
	char path[64], *word = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	file = fopen(path, "r");
	while (file && !found && getdelim(&word, &size, '\0', file) > 0)
		found = strcmp(word, wanted) == 0;
	free(word);
	if (file)
		fclose(file);
	return found;
}

/* A descriptor of a process that was started in this run and goes on, or -1. */
static int straggler_open(const char *wanted)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0 && is_of_run(entry->d_name, wanted))
			fd = (int)syscall(SYS_pidfd_open, atoi(entry->d_name), 0);
	if (dir)
		closedir(dir);
	return fd;
}

/* One that ends while we look may have a child that we have passed by: the last look finds none,
 * twice. */
static void wait_for_stragglers(const struct shim_tree *tree)
{
	char wanted[PATH_MAX + sizeof(SHIM_RUN_ENV) + 1];
	int fd;

	snprintf(wanted, sizeof(wanted), SHIM_RUN_ENV "=%s", tree->path);
	for (int empty = 0; empty < 2;) {
		fd = straggler_open(wanted);
		empty = fd < 0 ? empty + 1 : 0;
		if (fd < 0)
			continue;
		wait_for(fd);
		close(fd);
	}
}

static _Noreturn void keep(const struct shim_tree *tree, int program, int descendants)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* what ends the program's group is not for it */
	prctl(PR_SET_NAME, "rig5-keeper");
	close_others(program, descendants, tree->lock);
	if (chdir("/") < 0)
		_exit(1);
	wait_for(program);
	wait_for(descendants);
	wait_for_stragglers(tree);
	shim_tree_remove(tree->path);
	_exit(0);
}

int shim_keeper_start(const struct shim_tree *tree)
{
	int program = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int ends[2], status, error = 0;
	pid_t child;

	if (program < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		pid_t keeper = fork();

		close(ends[1]);
		if (keeper == 0)
			keep(tree, program, ends[0]);
		_exit(keeper < 0 ? errno : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		error = -errno;
	else if (status != 0)
		error = WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
	close(program);
	close(ends[0]);
	/* This one is inherited: it stays open through exec. */
	if (!error && fcntl(ends[1], F_DUPFD, number_wanted()) < 0)
		error = -errno;
	close(ends[1]);
	return error;
}
