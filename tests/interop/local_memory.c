/* SPDX-License-Identifier: BSD-2-Clause */
/* local_memory.c - see local_memory.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/interop/local_memory.h"

void local_memory_open(struct side *side, uint8_t *bytes)
{
	struct interop_memory *m = malloc(sizeof(*m));

	assert_non_null(m);
	*m = (struct interop_memory){
	    .bytes = bytes, .image = malloc(SIDE_MEMORY_BYTES), .len_bytes = SIDE_MEMORY_BYTES};
	assert_non_null(m->image);
	side->memory = m;
	interop_memory_clear(m);
}

void local_memory_close(struct side *side)
{
	free(side->memory->image);
	free(side->memory);
}

void local_clear(struct side *side)
{
	interop_memory_clear(side->memory);
}

void local_fill(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed)
{
	interop_memory_fill(side->memory, off, len_bytes, seed);
}

void local_fill64(struct side *side, uint32_t off, uint64_t value)
{
	interop_memory_fill64(side->memory, off, value);
}

void local_expect(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed)
{
	interop_memory_expect(side->memory, off, len_bytes, seed);
}

void local_expect64(struct side *side, uint32_t off, uint64_t value)
{
	interop_memory_expect64(side->memory, off, value);
}

void local_any(struct side *side, uint32_t off, uint32_t len_bytes)
{
	interop_memory_any(side->memory, off, len_bytes);
}

bool local_verify(struct side *side, char *text, size_t size)
{
	const struct interop_memory *m = side->memory;
	size_t at = interop_memory_differs(m);

	if (at == m->len_bytes)
		return true;
	snprintf(text, size, "differs at=0x%zx: 0x%02x, not 0x%02x", at, m->bytes[at],
		 m->image[at]);
	return false;
}

void local_settle(struct side *side)
{
	(void)side;
}
