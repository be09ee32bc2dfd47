/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/memory.h - the memory of a simulated process: one heap buffer at a made-up address.
 *
 * Every access from outside [base_va, base_va + size_bytes), or that touches the hole, faults, as
 * an access of a real process to an unmapped page does. The functions have the shape of nic_env's.
 *
 * Threads: none. Ownership: sim_memory_open allocates, sim_memory_close frees.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_memory {
	uint8_t *bytes;
	uint64_t base_va;
	size_t size_bytes;
	size_t used_bytes;	/* handed out by sim_memory_take */
	uint64_t hole_va;	/* addresses that fault although they are inside; len 0: none */
	uint64_t hole_len_bytes;
	uint64_t fault_count;
};

/* sim_memory_open - size_bytes zeroed bytes at base_va. Ends the process if there is no memory. */
void sim_memory_open(struct sim_memory *memory, uint64_t base_va, size_t size_bytes);
void sim_memory_close(struct sim_memory *memory);

/* sim_memory_take - the address of len_bytes fresh bytes, aligned to align (a power of two). */
uint64_t sim_memory_take(struct sim_memory *memory, size_t len_bytes, size_t align);

/* sim_memory_at - where [va, va + len_bytes) really is, for the program and its test, which know of
 * no hole; NULL if it is not inside. */
uint8_t *sim_memory_at(struct sim_memory *memory, uint64_t va, size_t len_bytes);

/* The accesses of nic_env; false: it faulted, and the part before the fault was done. */
bool sim_memory_read(struct sim_memory *memory, void *dst, uint64_t va, size_t len_bytes);
bool sim_memory_write(struct sim_memory *memory, uint64_t va, const void *src, size_t len_bytes);
bool sim_memory_load32(struct sim_memory *memory, uint64_t va, uint32_t *value);
bool sim_memory_store32(struct sim_memory *memory, uint64_t va, uint32_t value);
bool sim_memory_cas64(struct sim_memory *memory, uint64_t va, uint64_t compare, uint64_t swap,
		      uint64_t *old);

/* sim_arena_open - len_bytes zeroed bytes for nic_init; what is never touched costs nothing. */
void *sim_arena_open(size_t len_bytes);
void sim_arena_close(void *arena, size_t len_bytes);

/* sim_pattern - byte `offset` of the endless byte sequence number `pattern`; 0 is all zeroes. */
static inline uint8_t sim_pattern(uint32_t pattern, uint64_t offset)
{
	uint64_t mixed = (offset + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)pattern << 17;

	mixed ^= mixed >> 31;
	return pattern == 0 ? 0 : (uint8_t)(mixed * pattern >> 23);
}

#endif
