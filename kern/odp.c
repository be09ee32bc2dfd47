/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * odp.c - advice about regions on demand: what to page in.
 *
 * The nic touches memory as the application would, so every region is on demand; what advice can do
 * is to have pages there before they are used. It is asked of regions that were registered on
 * demand only, as the kernel has it [linux mlx5 odp.c].
 */
#include "kern/state.h"

static struct kern_object *region_of(struct kern_call *call, uint32_t lkey)
{
	struct kern_object *objects = call->kern->objects;

	for (uint32_t slot = call->file->newest; slot != KERN_NONE; slot = objects[slot].older)
		if (objects[slot].type == KERN_MR && objects[slot].number == lkey)
			return &objects[slot];
	return NULL;
}

/* Whether the advice fits the piece's region: 0, or the error that the kernel has for it. */
static int check_piece(struct kern_call *call, const struct ib_uverbs_sge *piece, uint64_t advice)
{
	const struct kern_object *pd = kern_call_object(call, UVERBS_ATTR_ADVISE_MR_PD_HANDLE);
	const struct kern_object *mr = region_of(call, piece->lkey);

	if (!mr || !(mr->access & IB_UVERBS_ACCESS_ON_DEMAND))
		return -ENOENT;
	if (mr->uses[KERN_USE_PD] != pd)
		return -EPERM;
	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    !(mr->access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return -EPERM;
	if (piece->addr < mr->iova || piece->length > mr->len_bytes ||
	    piece->addr - mr->iova > mr->len_bytes - piece->length)
		return -EFAULT;
	return 0;
}

/* false: the pages are not there and cannot come. A region on demand has its own addresses. */
static bool prefetch(const struct kern *kern, const struct ib_uverbs_sge *piece, uint64_t advice)
{
	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return true;
	return kern->env.user_probe(kern->env.ctx, piece->addr, piece->length,
				    advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE);
}

static int advise(struct kern_call *call, uint64_t advice, bool flush)
{
	const struct kern_attr *list = kern_call_attr(call, UVERBS_ATTR_ADVISE_MR_SGE_LIST);
	struct kern *kern = call->kern;
	struct ib_uverbs_sge piece;

	for (uint32_t off = 0; off < list->len; off += sizeof(piece)) {
		int error;

		if (!kern->env.user_read(kern->env.ctx, &piece, list->data + off, sizeof(piece)))
			return -EFAULT;
		error = check_piece(call, &piece, advice);
		if (error)
			return error;
		/* Who does not wait for the pages is not told either if they do not come. */
		if (!prefetch(kern, &piece, advice) && flush)
			return -EFAULT;
	}
	return 0;
}

int kern_advise_mr(struct kern_call *call)
{
	uint64_t advice;
	uint32_t flags;
	int error;

	error = kern_call_const(call, UVERBS_ATTR_ADVISE_MR_ADVICE, UINT32_MAX, &advice);
	if (!error)
		error = kern_call_flags(call, UVERBS_ATTR_ADVISE_MR_FLAGS,
					IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &flags);
	if (error)
		return error;
	if (kern_call_len(call, UVERBS_ATTR_ADVISE_MR_SGE_LIST) % sizeof(struct ib_uverbs_sge) != 0)
		return -EINVAL;
	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	return advise(call, advice, flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
}
