/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard_portable.c - the guarded accesses in C: each leaves a sigjmp_buf for the handler to return
 * to.
 *
 * The signal mask is not saved (a system call): the handler runs with SA_NODEFER and an empty mask,
 * so that there is nothing to restore.
 */
#include "host/guard.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>

/* Application memory may be poisoned, freed or raced for: that is the point. */
#define HOSTILE_MEMORY __attribute__((no_sanitize("address", "undefined", "thread")))

/* initial-exec: first touch in a signal handler must not allocate. */
static __thread sigjmp_buf *volatile leave_to __attribute__((tls_model("initial-exec")));

void host_guard_portable_leave(void)
{
	sigjmp_buf *to = leave_to;

	if (!to)
		return;
	leave_to = NULL;
	siglongjmp(*to, 1);
}

/* The thread sanitizer puts a handler with a full mask before ours, so there is one to restore. */
#ifdef __SANITIZE_THREAD__
enum { SAVE_MASK = 1 };
#else
enum { SAVE_MASK = 0 };
#endif

/* What is done between these two may fault. */
#define GUARD_ENTER(jump)                                  \
	do {                                               \
		if (sigsetjmp(jump, SAVE_MASK))            \
			return false;                      \
		leave_to = &(jump);                        \
		atomic_signal_fence(memory_order_seq_cst); \
	} while (0)
#define GUARD_LEAVE()                                      \
	do {                                               \
		atomic_signal_fence(memory_order_seq_cst); \
		leave_to = NULL;                           \
	} while (0)

typedef uint64_t __attribute__((may_alias, aligned(1))) any_u64;

/* Not memcpy: sanitizers replace it, and its stores need not ascend. */
HOSTILE_MEMORY bool host_guard_portable_copy(void *ctx, void *to, const void *from, size_t len)
{
	volatile uint8_t *dst = (volatile uint8_t *)to;
	const volatile uint8_t *src = (const volatile uint8_t *)from;
	sigjmp_buf jump;
	size_t i = 0;

	(void)ctx;
	GUARD_ENTER(jump);
	for (; i + 8 <= len; i += 8)
		*(volatile any_u64 *)(dst + i) = *(const volatile any_u64 *)(src + i);
	for (; i < len; i++)
		dst[i] = src[i];
	GUARD_LEAVE();
	return true;
}

HOSTILE_MEMORY bool host_guard_portable_load32(void *ctx, uint64_t va, uint32_t *value)
{
	sigjmp_buf jump;

	(void)ctx;
	GUARD_ENTER(jump);
	*value = __atomic_load_n((const uint32_t *)(uintptr_t)va, __ATOMIC_ACQUIRE);
	GUARD_LEAVE();
	return true;
}

HOSTILE_MEMORY bool host_guard_portable_store32(void *ctx, uint64_t va, uint32_t value)
{
	sigjmp_buf jump;

	(void)ctx;
	GUARD_ENTER(jump);
	__atomic_store_n((uint32_t *)(uintptr_t)va, value, __ATOMIC_RELEASE);
	GUARD_LEAVE();
	return true;
}

HOSTILE_MEMORY bool host_guard_portable_cas64(void *ctx, uint64_t va, uint64_t compare,
					      uint64_t swap, uint64_t *old)
{
	sigjmp_buf jump;

	(void)ctx;
	GUARD_ENTER(jump);
	*old = compare;
	__atomic_compare_exchange_n((uint64_t *)(uintptr_t)va, old, swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	GUARD_LEAVE();
	return true;
}

#if !defined(__x86_64__)
bool host_guard_copy(void *ctx, void *to, const void *from, size_t len)
{
	return host_guard_portable_copy(ctx, to, from, len);
}

bool host_guard_load32(void *ctx, uint64_t va, uint32_t *value)
{
	return host_guard_portable_load32(ctx, va, value);
}

bool host_guard_store32(void *ctx, uint64_t va, uint32_t value)
{
	return host_guard_portable_store32(ctx, va, value);
}

bool host_guard_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	return host_guard_portable_cas64(ctx, va, compare, swap, old);
}
#endif
