/* SPDX-License-Identifier: BSD-2-Clause */
/* loop.c - a queue pair that is its own peer. */
#include "tests/support/loop.h"

#include "soft/port.h"

#include <string.h>
#include <sys/mman.h>

int loop_open(struct loop *loop, enum rig_access access)
{
	struct rig_endpoint endpoint;

	loop->mem =
	    mmap(NULL, LOOP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PEER_CHECK(loop->mem != MAP_FAILED);
	PEER_TRY(rig_cq_create(peer.nic, LOOP_CQE, &loop->cq));
	PEER_TRY(rig_region_create(peer.nic, loop->mem, LOOP_BYTES, RIG_REMOTE_ALL, &loop->region));
	PEER_TRY(rig_region_local(loop->region, 0, LOOP_BYTES, &loop->local));
	PEER_TRY(rig_region_remote(loop->region, 0, LOOP_BYTES, &loop->remote));
	PEER_TRY(rig_qp_create(loop->cq, LOOP_ENTRIES, LOOP_RECEIVES, &loop->qp));
	PEER_TRY(rig_qp_endpoint(loop->qp, &endpoint));
	PEER_TRY(rig_qp_connect(loop->qp, access, &endpoint, NULL));
	return 0;
}

int loop_close(struct loop *loop)
{
	PEER_TRY(rig_qp_destroy(loop->qp));
	PEER_TRY(rig_cq_destroy(loop->cq));
	PEER_TRY(rig_region_destroy(loop->region));
	PEER_CHECK(munmap(loop->mem, LOOP_BYTES) == 0);
	return 0;
}

void loop_raw(struct loop *loop, const void *blocks, unsigned int count)
{
	struct rig_qp *qp = loop->qp;
	char *at = qp->sq + (qp->sq_pos & qp->sq_mask);
	struct wqe_ctrl_seg ctrl;

	memcpy(at, blocks, (size_t)count * WQE_BB_BYTES);
	memcpy(&ctrl, at, sizeof(ctrl));
	ctrl.opmod_idx_opcode = wqe_ctrl_op(
	    wqe_ctrl_opmod(&ctrl), (uint16_t)(qp->sq_pos / WQE_BB_BYTES), wqe_ctrl_opcode(&ctrl));
	ctrl.qpn_ds = wqe_ctrl_qpn_ds(qp->number, wqe_ctrl_ds(&ctrl));
	memcpy(at, &ctrl, sizeof(ctrl));
	memcpy(&qp->sq_newest, at, sizeof(qp->sq_newest));
	qp->sq_pos += count * WQE_BB_BYTES;
	rig_qp_ring(qp);
}

int loop_post(struct loop *loop, const struct rig_entry *entry)
{
	PEER_TRY(rig_qp_post(loop->qp, entry));
	PEER_TRY(rig_qp_ring(loop->qp));
	return 0;
}

int loop_write(struct loop *loop, uint32_t to, uint32_t len_bytes)
{
	struct rig_local local = {
	    .addr = loop->local.addr, .len_bytes = len_bytes, .key = loop->local.key};
	struct rig_entry entry = {.op = RIG_WRITE,
				  .flags = RIG_SIGNAL_F,
				  .piece_count = 1,
				  .pieces = &local,
				  .remote_addr = loop->remote.addr + to,
				  .remote_key = loop->remote.key};

	return loop_post(loop, &entry);
}

int loop_next(struct loop *loop, struct rig_wc *wc)
{
	return peer_next(loop->cq, wc, LOOP_WAIT_MS);
}

int loop_works(void)
{
	struct loop loop;
	struct rig_wc wc;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	if (result < 0)
		return result;
	memset(loop.mem, 0x21, 8192);
	result = loop_write(&loop, 8192, 8192);
	if (result == 0)
		result = loop_next(&loop, &wc);
	if (result < 0)
		return result;
	PEER_CHECK(wc.status == RIG_OK);
	PEER_CHECK(memcmp(loop.mem, loop.mem + 8192, 8192) == 0);
	return loop_close(&loop);
}

int loop_event(struct rig_nic *nic, enum rig_event_kind kind, struct rig_event *event)
{
	for (;;) {
		int n = rig_wait(nic, LOOP_WAIT_MS, event, 1);

		PEER_TRY(n);
		if (n == 0)
			return proc_fail(-ETIMEDOUT, "no event of kind %d", kind);
		if (event->kind == kind)
			return 0;
	}
}

/* The head of soft/door.c's private struct, which the table's ctx is. */
struct door_head {
	struct lib_os os;
	struct soft_port *port;
};

const struct nic_counters *loop_counters(const struct rig_nic *nic)
{
	const struct door_head *door = nic->os->ctx;

	return nic_counters(door->port->nic);
}

struct nic_counters loop_counted(const struct rig_nic *nic)
{
	const struct door_head *door = nic->os->ctx;
	struct nic_counters counters;

	soft_port_lock(door->port);
	counters = *nic_counters(door->port->nic);
	soft_port_unlock(door->port);
	return counters;
}

struct host_port *loop_port(const struct rig_nic *nic)
{
	const struct door_head *door = nic->os->ctx;

	return door->port->host;
}
