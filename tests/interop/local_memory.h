/* SPDX-License-Identifier: BSD-2-Clause */
/* local_memory.h - the memory of a side that lives in this process, as its side_ops need it. */
#ifndef TESTS_INTEROP_LOCAL_MEMORY_H
#define TESTS_INTEROP_LOCAL_MEMORY_H

#include "tests/interop/memory.h"
#include "tests/interop/side.h"

/* local_memory_open - makes bytes, SIDE_MEMORY_BYTES of them, side's memory. They stay the
 * caller's. */
void local_memory_open(struct side *side, uint8_t *bytes);
void local_memory_close(struct side *side);

void local_clear(struct side *side);
void local_fill(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed);
void local_fill64(struct side *side, uint32_t off, uint64_t value);
void local_expect(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed);
void local_expect64(struct side *side, uint32_t off, uint64_t value);
void local_any(struct side *side, uint32_t off, uint32_t len_bytes);
bool local_verify(struct side *side, char *text, size_t size);
void local_settle(struct side *side);

#define SIDE_LOCAL_MEMORY                                                                         \
	.clear = local_clear, .fill = local_fill, .fill64 = local_fill64, .expect = local_expect, \
	.expect64 = local_expect64, .any = local_any, .verify = local_verify,                     \
	.settle = local_settle

#endif
