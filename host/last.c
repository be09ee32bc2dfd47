/* SPDX-License-Identifier: BSD-2-Clause */
/* last.c - counts our threads, and those of the process. */
#include "host/last.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 20000000, LINKS_OF_NONE = 2 };

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

/* Of the process pid; a child of fork has none of its parent's threads. */
static struct {
	_Atomic pid_t pid;
	atomic_uint ours;
	atomic_bool main_ended, watched;
} process;

/* A child that is not the process above begins anew. */
static void process_renew(void)
{
	pid_t pid = getpid(), before = atomic_exchange(&process.pid, pid);

	if (before == pid || before == 0)
		return;
	atomic_store(&process.ours, 0);
	atomic_store(&process.main_ended, false);
	atomic_store(&process.watched, false);
}

/* Threads of the process, the ended main one too; 0: not known. Takes no descriptor. */
static unsigned int thread_count(void)
{
	struct stat stat_of;

	if (stat("/proc/self/task", &stat_of) < 0 || stat_of.st_nlink < LINKS_OF_NONE)
		return 0;
	return (unsigned int)stat_of.st_nlink - LINKS_OF_NONE;
}

static void *watch(void *arg)
{
	static const struct timespec pause = {.tv_nsec = LOOK_NS};
	unsigned int count;

	(void)arg;
	/* Without ours, this one and the main one. */
	do {
		nanosleep(&pause, NULL);
		count = thread_count();
	} while (count == 0 || count > atomic_load(&process.ours) + 2);
	exit(0);
}

static void watch_start(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;

	if (!atomic_load(&process.main_ended) || atomic_load(&process.ours) == 0 ||
	    atomic_exchange(&process.watched, true))
		return;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, &attr, watch, NULL) != 0)
		atomic_store(&process.watched, false);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

/* In the main thread, as it ends. */
static void main_ends(void *mark)
{
	(void)mark;
	if (getpid() != gettid())
		return;
	process_renew();
	atomic_store(&process.main_ended, true);
	watch_start();
}

static void key_make(void)
{
	if (pthread_key_create(&key, main_ends) != 0)
		key = (pthread_key_t)-1;
}

void host_last_mark(void)
{
	(void)pthread_once(&key_once, key_make);
	if (getpid() == gettid())
		(void)pthread_setspecific(key, &process);
}

void host_last_began(void)
{
	process_renew();
	atomic_fetch_add(&process.ours, 1);
	watch_start();
}

void host_last_ended(void)
{
	atomic_fetch_sub(&process.ours, 1);
}
