/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - the memory of a simulated process. */
#include "sim/memory.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void sim_memory_open(struct sim_memory *memory, uint64_t base_va, size_t size_bytes)
{
	*memory = (struct sim_memory){.base_va = base_va, .size_bytes = size_bytes};
	memory->bytes = (uint8_t *)calloc(1, size_bytes);
	if (!memory->bytes)
		abort();
}

void *sim_arena_open(size_t len_bytes)
{
	void *arena = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (arena == MAP_FAILED)
		abort();
	return arena;
}

void sim_arena_close(void *arena, size_t len_bytes)
{
	munmap(arena, len_bytes);
}

void sim_memory_close(struct sim_memory *memory)
{
	free(memory->bytes);
	memory->bytes = NULL;
}

uint64_t sim_memory_take(struct sim_memory *memory, size_t len_bytes, size_t align)
{
	size_t start = (memory->used_bytes + align - 1) & ~(align - 1);

	ASSERT(start + len_bytes <= memory->size_bytes);
	memory->used_bytes = start + len_bytes;
	return memory->base_va + start;
}

/* How many of the len_bytes bytes from va on can be touched before the first one that faults. */
static size_t readable(const struct sim_memory *memory, uint64_t va, size_t len_bytes)
{
	uint64_t offset = va - memory->base_va;

	if (va < memory->base_va || offset >= memory->size_bytes)
		return 0;
	if (len_bytes > memory->size_bytes - offset)
		len_bytes = memory->size_bytes - offset;
	if (memory->hole_len_bytes == 0 || va + len_bytes <= memory->hole_va ||
	    va >= memory->hole_va + memory->hole_len_bytes)
		return len_bytes;
	return va >= memory->hole_va ? 0 : (size_t)(memory->hole_va - va);
}

uint8_t *sim_memory_at(struct sim_memory *memory, uint64_t va, size_t len_bytes)
{
	uint64_t offset = va - memory->base_va;

	if (va < memory->base_va || offset > memory->size_bytes ||
	    len_bytes > memory->size_bytes - offset)
		return NULL;
	return memory->bytes + offset;
}

/* The same for the NIC: NULL, and counted, if any of it faults. */
static uint8_t *touch(struct sim_memory *memory, uint64_t va, size_t len_bytes)
{
	if (readable(memory, va, len_bytes) < len_bytes) {
		memory->fault_count++;
		return NULL;
	}
	return memory->bytes + (va - memory->base_va);
}

bool sim_memory_read(struct sim_memory *memory, void *dst, uint64_t va, size_t len_bytes)
{
	size_t count = readable(memory, va, len_bytes);

	if (count != 0)
		memcpy(dst, memory->bytes + (va - memory->base_va), count);
	memory->fault_count += count < len_bytes;
	return count == len_bytes;
}

bool sim_memory_write(struct sim_memory *memory, uint64_t va, const void *src, size_t len_bytes)
{
	size_t count = readable(memory, va, len_bytes);

	if (count != 0)
		memcpy(memory->bytes + (va - memory->base_va), src, count);
	memory->fault_count += count < len_bytes;
	return count == len_bytes;
}

bool sim_memory_load32(struct sim_memory *memory, uint64_t va, uint32_t *value)
{
	const uint8_t *at = touch(memory, va, sizeof(*value));

	ASSERT(va % sizeof(*value) == 0);
	if (at)
		memcpy(value, at, sizeof(*value));
	return at != NULL;
}

bool sim_memory_store32(struct sim_memory *memory, uint64_t va, uint32_t value)
{
	uint8_t *at = touch(memory, va, sizeof(value));

	ASSERT(va % sizeof(value) == 0);
	if (at)
		memcpy(at, &value, sizeof(value));
	return at != NULL;
}

bool sim_memory_cas64(struct sim_memory *memory, uint64_t va, uint64_t compare, uint64_t swap,
		      uint64_t *old)
{
	uint8_t *at = touch(memory, va, sizeof(*old));

	ASSERT(va % sizeof(*old) == 0);
	if (!at)
		return false;
	memcpy(old, at, sizeof(*old));
	if (*old == compare)
		memcpy(at, &swap, sizeof(swap));
	return true;
}
