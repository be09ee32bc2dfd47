/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * atomic.c - atomics on memory of this process: of 8 bytes, of 4 bytes, with masks and without.
 *
 * All is done with one compare and swap of 8 aligned bytes. A value of 4 bytes is one half of them;
 * the other half is put back as it was, in the same step.
 */
#include "nic/nic_priv.h"

enum { ATOMIC_TRIES = 1000 }; /* an application that keeps changing the value wins in the end */

static bool cas(struct nic *nic, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	if (nic->env->mem_cas64(nic->env->ctx, va, compare, swap, old))
		return true;
	nic->counters.mem_fault++;
	return false;
}

/* Fields that end at the bits of `boundary` are added each by itself. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t boundary)
{
	return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

static uint64_t next_value(const struct nic_atomic *atomic, uint64_t old)
{
	switch (atomic->opcode) {
	case WQE_OP_ATOMIC_FA:
		return old + atomic->swap_add;
	case WQE_OP_ATOMIC_MASKED_FA:
		return add_fields(old, atomic->swap_add, atomic->swap_mask);
	case WQE_OP_ATOMIC_CS:
		return old == atomic->compare ? atomic->swap_add : old;
	case WQE_OP_ATOMIC_MASKED_CS:
		if ((old ^ atomic->compare) & atomic->compare_mask)
			return old;
		return (old & ~atomic->swap_mask) | (atomic->swap_add & atomic->swap_mask);
	}
	UNREACHABLE();
}

/* The value at va within the 8 bytes around it, as the host orders them. */
static uint64_t value_in(uint64_t word, uint64_t va, uint8_t len_bytes)
{
	uint32_t halves[2];

	if (len_bytes == sizeof(word))
		return word;
	memcpy(halves, &word, sizeof(word));
	return halves[va >> 2 & 1];
}

static uint64_t put_in(uint64_t word, uint64_t va, uint8_t len_bytes, uint64_t value)
{
	uint32_t halves[2];

	if (len_bytes == sizeof(word))
		return value;
	memcpy(halves, &word, sizeof(word));
	halves[va >> 2 & 1] = (uint32_t)value;
	memcpy(&word, halves, sizeof(word));
	return word;
}

bool nic_atomic_at(struct nic *nic, const struct nic_atomic *atomic, uint64_t va, uint64_t *old)
{
	uint64_t around = va & ~(uint64_t)7;
	uint64_t guess = 0, word;

	if (atomic->opcode == WQE_OP_ATOMIC_CS)
		return cas(nic, va, atomic->compare, atomic->swap_add, old);
	/* The first guess is only that; each failed exchange tells the value it met. */
	if (!nic_mem_read(nic, &guess, around, sizeof(guess)))
		return false;
	for (int i = 0; i < ATOMIC_TRIES; i++) {
		*old = value_in(guess, va, atomic->len_bytes);
		if (!cas(nic, around, guess,
			 put_in(guess, va, atomic->len_bytes, next_value(atomic, *old)), &word))
			return false;
		if (word == guess)
			return true;
		guess = word;
	}
	return false;
}
