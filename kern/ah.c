/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ah.c - address handles and multicast: CREATE_AH, ATTACH_MCAST, DETACH_MCAST.
 *
 * A handle is the driver's: it writes the address into each entry of its send ring. All that it
 * asks for is the MAC address of the destination, which it cannot know.
 */
#include "abi/roce.h"
#include "kern/state.h"

#include <string.h>

/* ---- address handles ---------------------------------------------------------------------------
 */

/*
 * The MAC address behind a GID. Of a group it is what Ethernet makes of its address [RFC 1112,
 * 2464]. Any other is made from the GID, locally administered, so that the same destination always
 * gives the same one: nothing on our wires looks at it.
 */
static void dmac_of(const uint8_t gid[static 16], uint8_t mac[static 6])
{
	if (!roce_gid_is_multicast(gid)) {
		mac[0] = 0x02;
		mac[1] = gid[11];
		memcpy(mac + 2, gid + 12, 4);
	} else if (gid[0] == 0xff) {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, gid + 12, 4);
	} else {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = gid[13] & 0x7f;
		memcpy(mac + 4, gid + 14, 2);
	}
}

/* [linux rdma_check_ah_attr]: on Ethernet every address has a global route. */
static int check_ah(const struct kern *kern, const struct ib_uverbs_ah_attr *attr)
{
	const uint8_t *gid;

	if (attr->port_num != KERN_PORT)
		return -EINVAL;
	if (!attr->is_global)
		return kern->config.link_infiniband ? 0 : -EINVAL;
	return kern_gid(kern, attr->grh.sgid_index, &gid);
}

static int write_dmac(struct kern_call *call, const struct ib_uverbs_ah_attr *attr)
{
	struct mlx5_ib_create_ah_resp resp = {
	    .response_length = offsetof(struct mlx5_ib_create_ah_resp, reserved)};
	size_t out = kern_call_len(call, UVERBS_ATTR_UHW_OUT);

	if (out == 0 || call->kern->config.link_infiniband)
		return 0;
	if (out < resp.response_length)
		return -EINVAL;
	dmac_of(attr->grh.dgid, resp.dmac);
	return kern_call_write(call, UVERBS_ATTR_UHW_OUT, &resp, resp.response_length);
}

int kern_write_create_ah(struct kern_call *call)
{
	struct ib_uverbs_create_ah req;
	struct ib_uverbs_create_ah_resp resp;
	struct kern_object *pd, *ah;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	if (kern_object_find(call->file, req.pd_handle, KERN_PD, &pd))
		return -EINVAL;
	error = check_ah(call->kern, &req.attr);
	if (error)
		return error;
	if (call->kern->ah_count == KERN_AH_COUNT_MAX)
		return -ENOMEM;
	error = write_dmac(call, &req.attr);
	if (error)
		return error;
	ah = kern_object_create(call->file, KERN_AH);
	if (!ah)
		return -ENOMEM;
	call->kern->ah_count++;
	ah->user_handle = req.user_handle;
	kern_object_use(ah, 0, pd);
	call->new_object = ah;
	resp.ah_handle = kern_object_handle(ah);
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- multicast ---------------------------------------------------------------------------------
 */

/* Both requests have the same fields. */
_Static_assert(sizeof(struct ib_uverbs_attach_mcast) == sizeof(struct ib_uverbs_detach_mcast),
	       "one layout");

typedef int mcast_fn(struct nic *nic, uint32_t qpn, const uint8_t gid[static 16], uint16_t lid);

static int change_group(struct kern_call *call, mcast_fn *change)
{
	struct ib_uverbs_attach_mcast req;
	struct kern_object *qp;
	int error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (error)
		return error;
	if (kern_object_find(call->file, req.qp_handle, KERN_QP, &qp))
		return -EINVAL;
	return change(call->kern->nic, qp->number, req.gid, req.mlid);
}

int kern_write_attach_mcast(struct kern_call *call)
{
	return change_group(call, nic_mcast_attach);
}

int kern_write_detach_mcast(struct kern_call *call)
{
	return change_group(call, nic_mcast_detach);
}
