/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.h - access to application memory that survives a fault.
 *
 * The application may free a ring, unmap a buffer or hand in a wild pointer at any time. These
 * routines copy to and from such memory; where the access faults they return false instead of
 * ending the process. They have the shapes of struct nic_env's memory callbacks and ignore ctx.
 *
 * How: a SIGSEGV / SIGBUS handler looks whether the faulting instruction is one of the routines'.
 * If so the thread resumes at their fix-up. Any other fault goes to the handler that was there
 * before, with its mask and flags, or to the default action, so a program behaves as it did without
 * us.
 *
 * Threads: any. A thread that blocks SIGSEGV or SIGBUS dies of a fault, handler or not, as it would
 * without us: ask host_guard_thread_ready before using these in a thread that somebody else made.
 *
 * An application that installs its own handler after host_guard_install takes ours away, unless its
 * handler calls the one before it. host_guard_recheck, which the engine calls when it wakes,
 * notices that and puts ours back in front. In between, a guarded fault reaches the application's
 * handler.
 */
#ifndef HOST_GUARD_H
#define HOST_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* host_guard_install - installs the handlers, once per process however often it is called. They
 * stay until the process ends. 0 or -errno. */
int host_guard_install(void);

/* host_guard_recheck - puts our handlers back in front of any that was installed after them. Two
 * system calls. */
void host_guard_recheck(void);

/* host_guard_thread_ready - false if the calling thread blocks SIGSEGV or SIGBUS. Asks the kernel
 * on a thread's first call and every 4,096th after that; otherwise a thread-local read. */
bool host_guard_thread_ready(void);

/*
 * host_guard_copy - len bytes from `from` to `to`; either may be application memory (mem_read and
 * mem_write). false: the access faulted; a prefix may have been copied. Bytes are stored in
 * ascending order and the last byte never before the others, so that a reader who polls on the last
 * one is right, as with a card.
 */
bool host_guard_copy(void *ctx, void *to, const void *from, size_t len);

/* One naturally aligned access each: acquire, release, and a full-barrier compare and swap. */
bool host_guard_load32(void *ctx, uint64_t va, uint32_t *value);
bool host_guard_store32(void *ctx, uint64_t va, uint32_t value);
bool host_guard_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old);

/* host_guard_read, host_guard_write - host_guard_copy in the shapes of mem_read and mem_write. */
static inline bool host_guard_read(void *ctx, void *dst, uint64_t va, size_t len)
{
	return host_guard_copy(ctx, dst, (const void *)(uintptr_t)va, len);
}

static inline bool host_guard_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	return host_guard_copy(ctx, (void *)(uintptr_t)va, src, len);
}

/*
 * host_guard_probe - true if this process may read (and write, if writable) all of [va, va + len).
 * The bytes stay as they are; the pages are brought in (a private page that will be written becomes
 * this process's own), which is what a card's driver does when it pins them. len 0: true.
 */
bool host_guard_probe(uint64_t va, uint64_t len, bool writable);

/*
 * The same accesses in plain C, for machines without the assembly: sigsetjmp before, siglongjmp
 * from the handler. Always built, so that it is tested everywhere. Slower: about 10 ns more per
 * call.
 */
bool host_guard_portable_copy(void *ctx, void *to, const void *from, size_t len);
bool host_guard_portable_load32(void *ctx, uint64_t va, uint32_t *value);
bool host_guard_portable_store32(void *ctx, uint64_t va, uint32_t value);
bool host_guard_portable_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap,
			       uint64_t *old);
/* For the handler: leaves the guarded access this thread is in; returns if it is in none. */
void host_guard_portable_leave(void);

#endif
