/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srq.c - shared receive queues: create, limit, destroy. Their data path is in srq_post.c.
 *
 * One slot of the ring is never posted, so that the ring has a power of two of them, one more than
 * there is room for; the kernel adds that slot to what it is asked for [linux mlx5 srq.c].
 */
#include "lib/lib.h"
#include "lib/uioctl.h"

#include "base/ring.h"

#include <string.h>

_Static_assert(sizeof(struct wqe_srq_next_seg) + RIG_SRQ_PIECES_MAX * sizeof(struct wqe_data_seg) ==
		   WQE_BB_BYTES,
	       "a slot is one block");

static void srq_memory_free(struct rig_srq *srq)
{
	if (srq->ring)
		lib_ring_free(srq->ring, srq->ring_bytes);
	if (srq->record)
		lib_record_free(srq->record);
}

/* srq_memory_alloc - a ring of `slots`, each of which names the next. */
static int srq_memory_alloc(struct rig_srq *srq, uint32_t slots)
{
	size_t bytes = (size_t)slots * WQE_BB_BYTES;

	srq->ring_bytes = bytes + slots * sizeof(srq->freed[0]);
	srq->ring = lib_ring_alloc(srq->ring_bytes);
	srq->record = lib_record_alloc(srq->shell.nic);
	if (!srq->ring || !srq->record) {
		srq_memory_free(srq);
		return lib_fail(ENOMEM, "rig_srq_create: no memory for a ring of %zu bytes",
				srq->ring_bytes);
	}
	srq->freed = (_Atomic uint16_t *)(void *)(srq->ring + bytes);
	srq->slot_mask = slots - 1;
	srq->tail = slots - 1;
	for (uint32_t i = 0; i < slots; i++) {
		struct wqe_srq_next_seg *next = (void *)(srq->ring + i * WQE_BB_BYTES);

		next->next_wqe_index = be16_from((uint16_t)((i + 1) & srq->slot_mask));
	}
	return 0;
}

static int srq_create_kernel(struct rig_srq *srq)
{
	const struct rig_nic *nic = srq->shell.nic;
	struct mlx5_ib_create_srq in = {
	    .buf_addr = (uintptr_t)srq->ring,
	    .db_addr = (uintptr_t)srq->record,
	};
	struct mlx5_ib_create_srq_resp out = {0};
	uint64_t user_handle = (uintptr_t)srq;
	uint32_t max_wr, max_sge;
	struct lib_cmd cmd;
	int err;

	lib_cmd_init(&cmd, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	lib_cmd_out_handle(&cmd, UVERBS_ATTR_CREATE_SRQ_HANDLE);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, nic->pd_handle);
	lib_cmd_in_const(&cmd, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC);
	lib_cmd_in(&cmd, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &user_handle, sizeof(user_handle));
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_CREATE_SRQ_MAX_WR, srq->slot_mask);
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, RIG_SRQ_PIECES_MAX);
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	lib_cmd_in_fd(&cmd, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, nic->async_fd);
	lib_cmd_out(&cmd, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &max_wr, sizeof(max_wr));
	lib_cmd_out(&cmd, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &max_sge, sizeof(max_sge));
	lib_cmd_in(&cmd, UVERBS_ATTR_UHW_IN, &in, sizeof(in));
	lib_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &out, sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err == -ENOMEM)
		return lib_fail_pin(err, "rig_srq_create", srq->ring_bytes);
	if (err)
		return lib_fail_reason(err, "rig_srq_create: %u receives", srq->slot_mask);
	srq->handle = lib_cmd_handle(&cmd, UVERBS_ATTR_CREATE_SRQ_HANDLE);
	return 0;
}

/* srq_make - a shared receive queue whose receives complete to cq; its NIC is locked. */
static int srq_make(struct rig_cq *cq, uint32_t slots, struct rig_srq **srq)
{
	struct rig_nic *nic = cq->shell.nic;
	struct lib_shell *shell = lib_pool_take(&nic->pool_srq);
	struct rig_srq *made;
	int err;

	if (!shell)
		return lib_fail(ENOMEM, "rig_srq_create: no memory");
	made = lib_srq_of(shell);
	shell->nic = nic;
	made->cq = cq;
	err = srq_memory_alloc(made, slots);
	if (err)
		goto err_shell;
	err = srq_create_kernel(made);
	if (err)
		goto err_memory;
	cq->taken += made->slot_mask;
	cq->srq_count++;
	lib_list_add(&nic->srqs, shell);
	shell->live = LIB_LIVE_SRQ;
	*srq = made;
	return 0;
err_memory:
	srq_memory_free(made);
err_shell:
	lib_pool_give(&nic->pool_srq, shell);
	return err;
}

/* slots_of - slots of a ring with room for this many receives, in *slots; or the error. */
static int slots_of(const struct rig_cq *cq, int receives, uint32_t *slots)
{
	const struct rig_nic *nic = cq->shell.nic;
	uint32_t count =
	    (uint32_t)receives < LIB_RECEIVES_MIN ? LIB_RECEIVES_MIN : (uint32_t)receives + 1;

	if (count > nic->limits.shared_receives_max)
		return lib_fail(ERANGE, "rig_srq_create: %d receives; %s holds at most %u",
				receives, nic->name, nic->limits.shared_receives_max - 1);
	count = (uint32_t)ring_round_up(count);
	if (count - 1 > cq->capacity - cq->taken)
		return lib_fail(EINVAL,
				"rig_srq_create: %u receives may complete at once; the completion"
				" queue of %u has room for %u more",
				count - 1, cq->capacity, cq->capacity - cq->taken);
	*slots = count;
	return 0;
}

int rig_srq_create(struct rig_cq *cq, int receives, struct rig_srq **srq)
{
	uint32_t slots = 0;
	struct rig_nic *nic;
	int err;

	if (!cq || cq->shell.live != LIB_LIVE_CQ)
		return lib_handle_error(cq, "rig_srq_create");
	if (!srq || receives < 1)
		return lib_fail(EINVAL, "rig_srq_create: %d receives; 1 at least", receives);
	nic = cq->shell.nic;
	err = lib_nic_lock(nic, "rig_srq_create");
	if (err)
		return err;
	err = slots_of(cq, receives, &slots);
	err = err ? err : srq_make(cq, slots, srq);
	lib_nic_unlock(nic);
	return err;
}

/* srq_lock - locks the NIC of a live srq: 0, or the error of call. */
static int srq_lock(struct rig_srq *srq, const char *call)
{
	if (!srq || srq->shell.live != LIB_LIVE_SRQ)
		return lib_handle_error(srq, call);
	return lib_nic_lock(srq->shell.nic, call);
}

int rig_srq_limit(struct rig_srq *srq, int receives)
{
	struct ib_uverbs_modify_srq in = {0};
	const struct rig_nic *nic;
	struct lib_cmd cmd;
	int err = srq_lock(srq, "rig_srq_limit");

	if (err)
		return err;
	nic = srq->shell.nic;
	if (receives < 0 || (uint32_t)receives > srq->slot_mask) {
		err = lib_fail(EINVAL, "rig_srq_limit: %d receives; 0 to %u", receives,
			       srq->slot_mask);
		goto out;
	}
	in.srq_handle = srq->handle;
	in.attr_mask = UV_SRQ_LIMIT;
	in.srq_limit = (uint32_t)receives;
	lib_cmd_init_write(&cmd, IB_USER_VERBS_CMD_MODIFY_SRQ, &in, sizeof(in), NULL, 0);
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		err = lib_fail_reason(err, "rig_srq_limit: %d receives", receives);
out:
	lib_nic_unlock(srq->shell.nic);
	return err;
}

int lib_srq_destroy(struct rig_srq *srq)
{
	struct rig_nic *nic = srq->shell.nic;
	uint32_t events;
	struct lib_cmd cmd;
	int err;

	lib_cmd_init(&cmd, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_DESTROY_SRQ_HANDLE, srq->handle);
	lib_cmd_out(&cmd, UVERBS_ATTR_DESTROY_SRQ_RESP, &events, sizeof(events));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err && nic->shell.live == LIB_LIVE_NIC)
		return lib_fail_reason(err, "rig_srq_destroy");
	srq->cq->taken -= srq->slot_mask;
	srq->cq->srq_count--;
	lib_list_remove(&nic->srqs, &srq->shell);
	srq_memory_free(srq);
	lib_pool_give(&nic->pool_srq, &srq->shell);
	return 0;
}

int rig_srq_destroy(struct rig_srq *srq)
{
	struct rig_nic *nic;
	int err = srq_lock(srq, "rig_srq_destroy");

	if (err)
		return err;
	nic = srq->shell.nic;
	if (srq->qp_count)
		err = lib_fail(EBUSY, "rig_srq_destroy: %u of its queue pairs live", srq->qp_count);
	else
		err = lib_srq_destroy(srq);
	lib_nic_unlock(nic);
	return err;
}
