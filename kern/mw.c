/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mw.c - memory windows: alloc and, through kern_simple_destroy, dealloc. Binding is a work
 * request.
 */
#include "kern/state.h"

/* [linux mlx5_ib_alloc_mw]: the driver's part, if there is one. What it may ask for is room for
 * more pieces than a window has, which nothing here could use. */
static int check_driver_part(struct kern_call *call)
{
	struct mlx5_ib_alloc_mw req;
	int error;

	if (kern_call_len(call, UVERBS_ATTR_UHW_IN) == 0)
		return 0;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	if (error)
		return error;
	return req.comp_mask || req.reserved1 || req.reserved2 ? -EOPNOTSUPP : 0;
}

static int make_window(struct kern_call *call, struct kern_object *pd, uint8_t type)
{
	struct nic_mkey_attr attr = {
	    .pdn = pd->number,
	    .kind = type == UV_MW_TYPE_1 ? NIC_MKEY_WINDOW_1 : NIC_MKEY_WINDOW_2,
	};
	struct kern_object *mw = kern_object_create(call->file, KERN_MW);
	int error;

	if (!mw)
		return -ENOMEM;
	error = nic_mkey_create(call->kern->nic, &attr, &mw->number);
	if (error) {
		kern_object_drop(mw);
		return error;
	}
	kern_object_use(mw, 0, pd);
	call->new_object = mw;
	return 0;
}

int kern_write_alloc_mw(struct kern_call *call)
{
	struct ib_uverbs_alloc_mw req;
	struct ib_uverbs_alloc_mw_resp resp;
	struct kern_object *pd;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	if (kern_object_find(call->file, req.pd_handle, KERN_PD, &pd))
		return -EINVAL;
	if (req.mw_type != UV_MW_TYPE_1 && req.mw_type != UV_MW_TYPE_2)
		return -EINVAL;
	error = check_driver_part(call);
	if (!error)
		error = make_window(call, pd, req.mw_type);
	if (error)
		return error;
	resp = (struct ib_uverbs_alloc_mw_resp){
	    .mw_handle = kern_object_handle(call->new_object),
	    .rkey = call->new_object->number,
	};
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}
