/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xrcd.c - XRC domains, and handles of XRC targets that another context made.
 *
 * A domain is one context's own, or named by a file: then every context of this device that opens
 * it with the same file has the same domain [linux uverbs_cmd.c]. Each process has a device of its
 * own, so a domain never spans two of them. Linux holds the file while the domain lives; here its
 * numbers are only compared.
 */
#include "kern/state.h"

#include "base/assert.h"

#define FD_NONE UINT32_MAX

enum {
	OFLAG_CREAT = 0100, /* Linux's O_CREAT and O_EXCL */
	OFLAG_EXCL = 0200,
};

/* The domain that this file names, or 0. */
static uint32_t find_named(const struct kern *kern, uint64_t device, uint64_t inode)
{
	for (uint32_t i = 1; i <= kern->config.limits.xrcd_count_max; i++) {
		const struct kern_xrcd *xrcd = &kern->xrcds[i];

		if (xrcd->users != 0 && xrcd->named && xrcd->device == device &&
		    xrcd->inode == inode)
			return i;
	}
	return 0;
}

static int name_of(struct kern_call *call, const struct ib_uverbs_open_xrcd *req,
		   struct kern_xrcd *name, uint32_t *found)
{
	struct kern *kern = call->kern;
	int error;

	*name = (struct kern_xrcd){.named = req->fd != FD_NONE};
	*found = 0;
	if (!name->named)
		return 0;
	error = kern->env.file_id(kern->env.ctx, (int32_t)req->fd, &name->device, &name->inode);
	if (error)
		return error;
	*found = find_named(kern, name->device, name->inode);
	if (*found == 0 && !(req->oflags & OFLAG_CREAT))
		return -EAGAIN;
	return *found != 0 && (req->oflags & OFLAG_EXCL) ? -EINVAL : 0;
}

static int open_domain(struct kern *kern, const struct kern_xrcd *name, uint32_t *number)
{
	int error;

	if (*number == 0) {
		error = nic_xrcd_create(kern->nic, number);
		if (error)
			return error;
		kern->xrcds[*number] = *name;
	}
	kern->xrcds[*number].users++;
	return 0;
}

int kern_write_open_xrcd(struct kern_call *call)
{
	struct ib_uverbs_open_xrcd req;
	struct ib_uverbs_open_xrcd_resp resp;
	struct kern_xrcd name;
	struct kern_object *xrcd;
	uint32_t number;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (!error)
		error = name_of(call, &req, &name, &number);
	if (error)
		return error;
	xrcd = kern_object_create(call->file, KERN_XRCD);
	if (!xrcd)
		return -ENOMEM;
	error = open_domain(call->kern, &name, &number);
	if (error) {
		kern_object_drop(xrcd);
		return error;
	}
	xrcd->number = number;
	call->new_object = xrcd;
	resp.xrcd_handle = kern_object_handle(xrcd);
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

int kern_xrcd_close(struct kern *kern, uint32_t xrcdn)
{
	struct kern_xrcd *xrcd = &kern->xrcds[xrcdn];
	int error = 0;

	ASSERT(xrcd->users != 0);
	if (xrcd->users == 1)
		error = nic_xrcd_destroy(kern->nic, xrcdn);
	if (!error)
		xrcd->users--;
	return error;
}

/* ---- handles of a target ----------------------------------------------------------------------
 */

/* Takes handle `target` out of its ring. Events are told to the ring by way of any handle in it. */
int kern_target_close(struct kern *kern, const struct kern_object *target)
{
	uint32_t own = kern_object_handle(target);
	struct kern_object *before = &kern->objects[target->next_open];

	if (target->next_open == own)
		return nic_qp_destroy(kern->nic, target->number);
	while (before->next_open != own)
		before = &kern->objects[before->next_open];
	before->next_open = target->next_open;
	nic_qp_set_cookie(kern->nic, target->number, target->next_open);
	return 0;
}

/* Some handle of the target with this number, if it is one of the domain; else NULL. */
static struct kern_object *find_target(const struct kern *kern, uint32_t qpn, uint32_t xrcdn)
{
	struct kern_object *object;
	uint64_t cookie;

	if (nic_qp_cookie(kern->nic, qpn, &cookie))
		return NULL;
	ASSERT(cookie < kern->object_fresh);
	object = &kern->objects[cookie];
	if (object->type != KERN_QP || object->qp_type != NIC_QP_XRC_TGT ||
	    object->uses[KERN_USE_XRCD]->number != xrcdn)
		return NULL;
	return object;
}

/* [linux uverbs_cmd.c ib_uverbs_open_qp, verbs.c ib_open_qp] */
int kern_write_open_qp(struct kern_call *call)
{
	struct ib_uverbs_open_qp req;
	struct ib_uverbs_create_qp_resp resp = {0};
	struct kern_object *xrcd, *first, *qp;
	int error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (error)
		return error;
	if (kern_object_find(call->file, req.pd_handle, KERN_XRCD, &xrcd) ||
	    req.qp_type != IB_UVERBS_QPT_XRC_TGT)
		return -EINVAL;
	first = find_target(call->kern, req.qpn, xrcd->number);
	if (!first)
		return -EINVAL;
	qp = kern_object_create(call->file, KERN_QP);
	if (!qp)
		return -ENOMEM;
	qp->number = first->number;
	qp->qp_type = NIC_QP_XRC_TGT;
	qp->user_handle = req.user_handle;
	qp->async = call->file->async_default;
	kern_channel_get(qp->async);
	kern_object_use(qp, KERN_USE_XRCD, xrcd);
	qp->next_open = first->next_open;
	first->next_open = kern_object_handle(qp);
	call->new_object = qp;
	resp.qp_handle = kern_object_handle(qp);
	resp.qpn = qp->number;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}
