/* SPDX-License-Identifier: BSD-2-Clause */
/* guard.c - the fault handler behind the guarded accesses, its chaining, and the probe. */
#include "host/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* MADV_POPULATE_* are of Linux 5.14 [madvise(2)]. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum { CHAIN_MAX = 4, SIGNAL_COUNT = 2 };

/* The handlers that stood before ours, oldest first: one, and one more for each time that somebody
 * installed another in front of ours and we went in front of that. The kernel then has a handler of
 * ours by which we know how far that was: who puts back the one that it found takes itself out. */
struct guard_chain {
	int signal;
	unsigned int count; /* [chains_lock] */
	struct sigaction previous[CHAIN_MAX];
};

static struct guard_chain chains[SIGNAL_COUNT] = {{.signal = SIGSEGV}, {.signal = SIGBUS}};
static pthread_mutex_t chains_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * A handler that went in front of ours may call ours for what it does not know, and ours called it.
 * Should that be a circle, the inner call, which has the same context and a deeper stack frame than
 * the outer, passes the signal to an older handler than the outer did.
 */
struct guard_visit {
	const void *context;
	uintptr_t frame;
	int position; /* in the chain */
};
static __thread struct guard_visit visit __attribute__((tls_model("initial-exec")));

#if defined(__x86_64__)
extern const char host_guard_begin[], host_guard_wide_begin[], host_guard_end[];
extern const char host_guard_fixup[], host_guard_wide_fixup[];
extern bool host_guard_wide __attribute__((visibility("hidden")));
bool host_guard_wide;

static bool guard_resume(ucontext_t *uc)
{
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	if (pc < (uintptr_t)host_guard_begin || pc >= (uintptr_t)host_guard_end)
		return false;
	uc->uc_mcontext.gregs[REG_RIP] =
	    (greg_t)(pc < (uintptr_t)host_guard_wide_begin ? (uintptr_t)host_guard_fixup
							   : (uintptr_t)host_guard_wide_fixup);
	return true;
}

static void guard_choose(void)
{
	__builtin_cpu_init();
	host_guard_wide = __builtin_cpu_supports("avx2");
}
#else
static bool guard_resume(ucontext_t *uc)
{
	(void)uc;
	return false;
}

static void guard_choose(void)
{
}
#endif

static struct guard_chain *chain_of(int signal)
{
	return &chains[signal == SIGBUS];
}

/* A fault that nobody handles: run the instruction again, without a handler; a signal that was
 * sent: send it again, with the sender's siginfo. */
static void guard_default(int signal, siginfo_t *info)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	sigaction(signal, &action, NULL);
	if (info->si_code <= 0)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), signal, info);
}

static void guard_call(int signal, siginfo_t *info, void *context, struct sigaction *previous)
{
	struct sigaction action = *previous;
	sigset_t mask = action.sa_mask, old;

	if (action.sa_handler == SIG_DFL || (action.sa_handler == SIG_IGN && info->si_code > 0)) {
		guard_default(signal, info);
		return;
	}
	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_flags & SA_RESETHAND)
		*previous = (struct sigaction){.sa_handler = SIG_DFL};
	if (!(action.sa_flags & SA_NODEFER))
		sigaddset(&mask, signal);
	pthread_sigmask(SIG_BLOCK, &mask, &old);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(signal, info, context);
	else
		action.sa_handler(signal);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* position: of the handler that stood before this one of ours. */
static void guard_take(int position, int signal, siginfo_t *info, void *context)
{
	struct guard_chain *chain = chain_of(signal);
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	struct guard_visit outer = visit;
	int error = errno;

	if (info->si_code > 0) {
		if (guard_resume(context))
			return;
		host_guard_portable_leave();
	}
	if (visit.context == context && frame < visit.frame && position >= visit.position)
		position = visit.position - 1;
	visit = (struct guard_visit){context, frame, position};
	if (position >= 0)
		guard_call(signal, info, context, &chain->previous[position]);
	else
		guard_default(signal, info);
	visit = outer;
	errno = error;
}

#define GUARD_HANDLER(position)                                                          \
	static void guard_handler_##position(int signal, siginfo_t *info, void *context) \
	{                                                                                \
		guard_take(position, signal, info, context);                             \
	}
GUARD_HANDLER(0)
GUARD_HANDLER(1)
GUARD_HANDLER(2)
GUARD_HANDLER(3)
static void (*const guard_handlers[CHAIN_MAX])(int, siginfo_t *, void *) = {
    guard_handler_0, guard_handler_1, guard_handler_2, guard_handler_3};

/* The place in the chain of a handler of ours; -1: it is somebody else's. */
static int guard_position(const struct sigaction *action)
{
	for (int i = 0; i < CHAIN_MAX && (action->sa_flags & SA_SIGINFO); i++)
		if (action->sa_sigaction == guard_handlers[i])
			return i;
	return -1;
}

static bool same_handler(const struct sigaction *a, const struct sigaction *b)
{
	return (a->sa_flags & SA_SIGINFO) == (b->sa_flags & SA_SIGINFO) &&
	       a->sa_handler == b->sa_handler;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	return same_handler(a, b) && a->sa_flags == b->sa_flags &&
	       memcmp(&a->sa_mask, &b->sa_mask, sizeof(a->sa_mask)) == 0;
}

static void chain_push(struct guard_chain *chain, const struct sigaction *now)
{
	unsigned int count = chain->count;

	if (count > 0 && same_handler(&chain->previous[count - 1], now)) {
		/* The same one again. A handler in another thread may be reading its row: it is
		 * written only where something in it changed. */
		if (same_action(&chain->previous[count - 1], now))
			return;
		count--;
	}
	if (count == CHAIN_MAX) {
		/* Somebody keeps installing: all but the first and the last make room. */
		for (unsigned int i = 1; i + 1 < CHAIN_MAX; i++)
			chain->previous[i] = chain->previous[i + 1];
		count--;
	}
	chain->previous[count] = *now;
	chain->count = count + 1;
}

/* Goes in front of whatever handles the signal now, unless that is ours already. */
static int guard_chain_up(struct guard_chain *chain)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	struct sigaction now;
	int position;

	if (sigaction(chain->signal, NULL, &now) != 0)
		return -errno;
	position = guard_position(&now);
	if (position >= 0) {
		chain->count = (unsigned int)position + 1;
		return 0;
	}
	chain_push(chain, &now);
	action.sa_sigaction = guard_handlers[chain->count - 1];
	return sigaction(chain->signal, &action, NULL) == 0 ? 0 : -errno;
}

static int guard_chain_all(void)
{
	int result = 0;

	pthread_mutex_lock(&chains_lock);
	for (int i = 0; i < SIGNAL_COUNT && result == 0; i++)
		result = guard_chain_up(&chains[i]);
	pthread_mutex_unlock(&chains_lock);
	return result;
}

int host_guard_install(void)
{
	guard_choose();
	return guard_chain_all();
}

void host_guard_recheck(void)
{
	(void)guard_chain_all();
}

bool host_guard_thread_ready(void)
{
	static __thread struct {
		uint32_t calls;
		bool ready;
	} thread __attribute__((tls_model("initial-exec")));
	sigset_t mask;

	if (thread.calls++ % 4096 == 0) {
		pthread_sigmask(SIG_BLOCK, NULL, &mask);
		thread.ready = !sigismember(&mask, SIGSEGV) && !sigismember(&mask, SIGBUS);
	}
	return thread.ready;
}

/* One byte of each page: a compare and swap of what is there with itself changes nothing. */
static bool probe_by_access(uint64_t va, uint64_t end, uint64_t page_bytes, bool writable)
{
	for (uint64_t at = va; at < end; at = (at | (page_bytes - 1)) + 1) {
		uint64_t word = 0;
		uint8_t byte;

		if (!host_guard_copy(NULL, &byte, (const void *)(uintptr_t)at, 1))
			return false;
		if (writable && !host_guard_cas64(NULL, at & ~(uint64_t)7, word, word, &word))
			return false;
		if ((at | (page_bytes - 1)) == UINT64_MAX)
			break;
	}
	return true;
}

bool host_guard_probe(uint64_t va, uint64_t len, bool writable)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = va & ~(page_bytes - 1);
	uint64_t end = va + len;
	int advice = writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if (len == 0)
		return true;
	if (end < va)
		return false;
	while (madvise((void *)(uintptr_t)start, end - start, advice) != 0) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		/* EINVAL: an old kernel, or a mapping of a device, which access will judge. */
		if (errno == EINVAL)
			return probe_by_access(va, end, page_bytes, writable);
		return false;
	}
	return true;
}
