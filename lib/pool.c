/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.c - shells for handles, whose addresses stay readable for ever, and memory shared with the
 * NIC.
 *
 * A slab is some pages of a chunk, which is one mapping with MADV_WIPEONFORK. Slabs are never
 * unmapped and never used again: closing a NIC gives their pages back with MADV_DONTNEED, after
 * which they read as zero. What a closed NIC leaves is thus its addresses, about 16 KiB of them, of
 * which a process has enough; mappings it has few, so a chunk serves many NICs. A table of chunks,
 * which is not wiped, tells a parent's handle from a closed one: each carries the epoch of the
 * process that made it, and the epoch moves on in a child, where a wiped word shows the fork.
 * pthread_atfork would miss clone(2).
 */
#include "lib/lib.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_BYTES = 1 << 20 };

struct lib_chunk {
	struct lib_chunk *next; /* in the table of all chunks, newest first */
	char *start;
	size_t len_bytes;
	_Atomic size_t used_bytes; /* by slabs; more than there are if one did not fit */
	uint32_t epoch;
};

/* The start of a slab's own pages, a cache line; handles follow. Not on the heap: what leads to it
 * is in pages that a leak checker does not search. */
struct lib_slab {
	struct lib_slab *pool_next;
	size_t len_bytes;
};

enum { SLAB_HEADER_BYTES = 64 };
_Static_assert(sizeof(struct lib_slab) <= SLAB_HEADER_BYTES, "a slab's header fits its line");

static struct lib_chunk *_Atomic chunks_all;
static _Atomic uint32_t epoch_last;
static _Atomic uint32_t *_Atomic epoch_word; /* wiped in a child */

static void *map_wiped(size_t len_bytes)
{
	void *addr =
	    mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (addr == MAP_FAILED)
		return NULL;
	if (madvise(addr, len_bytes, MADV_WIPEONFORK)) {
		munmap(addr, len_bytes);
		return NULL;
	}
	return addr;
}

/* epoch_now - this process's epoch; 0 if there was no memory to keep one. */
static uint32_t epoch_now(void)
{
	_Atomic uint32_t *word = epoch_word;
	_Atomic uint32_t *none = NULL;
	uint32_t zero = 0;

	if (!word) {
		word = map_wiped(LIB_PAGE_BYTES);
		if (!word)
			return 0;
		if (!atomic_compare_exchange_strong(&epoch_word, &none, word)) {
			munmap(word, LIB_PAGE_BYTES);
			word = none;
		}
	}
	if (*word == 0)
		atomic_compare_exchange_strong(word, &zero, atomic_fetch_add(&epoch_last, 1) + 1);
	return *word;
}

static struct lib_chunk *chunk_create(size_t len_bytes, uint32_t epoch)
{
	struct lib_chunk *chunk = malloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->epoch = epoch;
	chunk->used_bytes = 0;
	chunk->len_bytes = len_bytes > CHUNK_BYTES ? len_bytes : CHUNK_BYTES;
	chunk->start = map_wiped(chunk->len_bytes);
	if (!chunk->start) {
		free(chunk);
		return NULL;
	}
	chunk->next = chunks_all;
	while (!atomic_compare_exchange_weak(&chunks_all, &chunk->next, chunk))
		;
	return chunk;
}

/* slab_start - unused pages of the newest chunk, or of a new one; NULL: no memory. */
static char *slab_start(size_t len_bytes)
{
	uint32_t epoch = epoch_now();
	struct lib_chunk *chunk = chunks_all;

	if (!epoch)
		return NULL;
	for (;;) {
		if (chunk && chunk->epoch == epoch) {
			size_t used = atomic_fetch_add(&chunk->used_bytes, len_bytes);

			if (used <= chunk->len_bytes && chunk->len_bytes - used >= len_bytes)
				return chunk->start + used;
		}
		chunk = chunk_create(len_bytes, epoch);
		if (!chunk)
			return NULL;
	}
}

static struct lib_slab *slab_create(size_t len_bytes)
{
	struct lib_slab *slab = (struct lib_slab *)(void *)slab_start(len_bytes);

	if (slab)
		slab->len_bytes = len_bytes;
	return slab;
}

static const struct lib_chunk *chunk_of(const void *addr)
{
	const char *at = addr;

	for (struct lib_chunk *chunk = chunks_all; chunk; chunk = chunk->next)
		if (at >= chunk->start && at < chunk->start + chunk->len_bytes)
			return chunk;
	return NULL;
}

struct lib_shell *lib_pool_take(struct lib_pool *pool)
{
	struct lib_shell *shell = pool->free_first;
	struct lib_slab *slab;
	size_t slab_bytes = LIB_PAGE_BYTES;

	if (shell) {
		pool->free_first = shell->next;
		if (!shell->next)
			pool->free_last = NULL;
		shell->next = NULL;
		return shell;
	}
	if ((size_t)(pool->fresh_end - pool->fresh) < pool->shell_bytes) {
		while (slab_bytes - SLAB_HEADER_BYTES < pool->shell_bytes)
			slab_bytes += LIB_PAGE_BYTES;
		slab = slab_create(slab_bytes);
		if (!slab)
			return NULL;
		slab->pool_next = pool->slabs;
		pool->slabs = slab;
		pool->fresh = (char *)slab + SLAB_HEADER_BYTES;
		pool->fresh_end = (char *)slab + slab_bytes;
	}
	shell = (struct lib_shell *)(void *)pool->fresh;
	pool->fresh += pool->shell_bytes;
	return shell;
}

void lib_pool_give(struct lib_pool *pool, struct lib_shell *shell)
{
	memset(shell, 0, pool->shell_bytes);
	if (pool->free_last)
		pool->free_last->next = shell;
	else
		pool->free_first = shell;
	pool->free_last = shell;
}

void lib_pool_close(struct lib_pool *pool)
{
	struct lib_slab *next;

	for (struct lib_slab *slab = pool->slabs; slab; slab = next) {
		size_t len_bytes = slab->len_bytes;

		next = slab->pool_next;
		/* memset as well: DONTNEED is refused for locked memory (mlockall). */
		memset(slab, 0, len_bytes);
		madvise(slab, len_bytes, MADV_DONTNEED);
	}
}

void lib_list_add(struct lib_shell **list, struct lib_shell *shell)
{
	shell->prev = NULL;
	shell->next = *list;
	if (*list)
		(*list)->prev = shell;
	*list = shell;
}

void lib_list_remove(struct lib_shell **list, struct lib_shell *shell)
{
	if (shell->prev)
		shell->prev->next = shell->next;
	else
		*list = shell->next;
	if (shell->next)
		shell->next->prev = shell->prev;
	shell->next = NULL;
	shell->prev = NULL;
}

bool lib_handle_closed(const void *handle)
{
	const struct lib_chunk *chunk = chunk_of(handle);

	return chunk && chunk->epoch == epoch_now();
}

int lib_handle_error(const void *handle, const char *call)
{
	const struct lib_chunk *chunk = chunk_of(handle);

	if (chunk && chunk->epoch != epoch_now())
		return lib_fail(EPERM, "%s: made by the parent of this process: a child after fork"
				" opens its own NIC", call);
	return lib_fail(EINVAL, "%s: the handle is none, or was closed or destroyed", call);
}

void *lib_ring_alloc(size_t len_bytes)
{
	void *addr = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (addr == MAP_FAILED)
		return NULL;
	if (madvise(addr, len_bytes, MADV_DONTFORK)) {
		munmap(addr, len_bytes);
		return NULL;
	}
	return addr;
}

void lib_ring_free(void *addr, size_t len_bytes)
{
	munmap(addr, len_bytes);
}
