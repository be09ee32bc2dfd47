/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pp.c - packet pacing entries: a table of rates, whose indices a queue's context may name.
 *
 * Entries of the same contents share an index, unless one wants an index of its own [linux mlx5
 * rl.c]. Nothing is paced yet: a queue pair whose context names an index is refused.
 */
#include "kern/state.h"

#include "base/assert.h"

#include <string.h>

/* An index that fits: shared with others, or a free one; index 0 is "no limit". 0: there is none.
 */
static uint32_t find_entry(const struct kern *kern, const uint8_t *context, bool dedicated)
{
	uint32_t free = 0;

	for (uint32_t i = 1; i < KERN_PP_COUNT; i++) {
		const struct kern_pp *pp = &kern->pps[i];

		if (pp->users == 0)
			free = free ? free : i;
		else if (!dedicated && !pp->dedicated &&
			 memcmp(pp->context, context, KERN_PP_CONTEXT_BYTES) == 0)
			return i;
	}
	return free;
}

int kern_pp_alloc(struct kern_call *call)
{
	uint8_t context[KERN_PP_CONTEXT_BYTES];
	struct kern *kern = call->kern;
	struct kern_object *object;
	uint32_t flags, index;
	uint16_t answer;
	bool dedicated;
	int error;

	if (!call->file->devx)
		return -EINVAL;
	error = kern_call_read(call, MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, context, sizeof(context));
	if (!error)
		error = kern_call_flags(call, MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS,
					MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX, &flags);
	if (error)
		return error;
	dedicated = flags & MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX;
	index = find_entry(kern, context, dedicated);
	if (index == 0)
		return -ENOSPC;
	object = kern_object_create(call->file, KERN_PP);
	if (!object)
		return -ENOMEM;
	memcpy(kern->pps[index].context, context, sizeof(context));
	kern->pps[index].dedicated = dedicated;
	kern->pps[index].users++;
	object->number = index;
	call->new_object = object;
	answer = (uint16_t)index;
	return kern_call_write(call, MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, &answer, sizeof(answer));
}

void kern_pp_free(struct kern *kern, uint32_t index)
{
	ASSERT(kern->pps[index].users != 0);
	kern->pps[index].users--;
}
