/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * import.c - what a second user of a context asks of its first user's objects, by their handles.
 *
 * A context is shared by handing on its descriptor; the other side then has the same handles.
 */
#include "kern/state.h"

int kern_query_pd(struct kern_call *call)
{
	const struct kern_object *pd = kern_call_object(call, MLX5_IB_ATTR_QUERY_PD_HANDLE);

	return kern_call_write(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->number,
			       sizeof(pd->number));
}

int kern_query_mr(struct kern_call *call)
{
	const struct kern_object *mr = kern_call_object(call, UVERBS_ATTR_QUERY_MR_HANDLE);
	int error;

	error =
	    kern_call_write(call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->number, sizeof(mr->number));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->number,
					sizeof(mr->number));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->len_bytes,
					sizeof(mr->len_bytes));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &mr->iova,
					sizeof(mr->iova));
	return error;
}
