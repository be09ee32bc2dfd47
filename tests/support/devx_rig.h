/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_rig.h - DevX over a kern_rig: umems, firmware commands in mailboxes, and whole queues made
 * by them, as libmlx5's users build them.
 */
#ifndef TESTS_SUPPORT_DEVX_RIG_H
#define TESTS_SUPPORT_DEVX_RIG_H

#include "abi/mlx5_cmd.h"
#include "tests/support/kern_rig.h"

enum { DEVX_BYTES = 8192 }; /* a mailbox, each way */

/* A command and its answer. devx_in starts one: zeroes but for the opcode. */
struct devx {
	uint8_t in[DEVX_BYTES];
	uint8_t out[DEVX_BYTES];
	uint16_t in_len;
	uint16_t out_len;
	uint32_t handle; /* of what it makes, or names */
};
void devx_in(struct devx *devx, enum cmd_opcode opcode, uint16_t in_len, uint16_t out_len);
static inline enum cmd_status devx_status(const struct devx *devx)
{
	return (enum cmd_status)cmd_get(devx->out, CMD_OUT_STATUS);
}
static inline uint32_t devx_number(const struct devx *devx)
{
	return cmd_get(devx->out, CMD_NUMBER);
}

/* The four ways to send one; each returns what the call does. */
int devx_other(struct kern_rig *rig, struct devx *devx);
int devx_create(struct kern_rig *rig, struct devx *devx);
int devx_modify(struct kern_rig *rig, struct devx *devx);
int devx_query(struct kern_rig *rig, struct devx *devx);
int devx_async_query(struct kern_rig *rig, struct devx *devx, int fd, uint64_t wr_id);
int devx_destroy(struct kern_rig *rig, uint32_t handle);

int devx_umem(struct kern_rig *rig, const void *memory, uint64_t len, uint32_t access,
	      uint32_t *handle, uint32_t *id);
int devx_umem_destroy(struct kern_rig *rig, uint32_t handle);
int devx_cmd_channel(struct kern_rig *rig, int *fd);
int devx_event_channel(struct kern_rig *rig, uint32_t flags, int *fd);
/* handle KERN's none: UINT32_MAX, events of the port. */
int devx_subscribe(struct kern_rig *rig, int fd, uint32_t handle, const uint16_t *events,
		   unsigned int count, uint64_t cookie);

/* A completion queue and a queue pair out of memory of the rig, and the umems that they lie in. */
struct devx_cq {
	uint32_t handle, number;
	uint32_t ring_umem, record_umem; /* handles */
	uint8_t *ring;
	uint32_t *record;
};
int devx_cq(struct kern_rig *rig, uint32_t uar_page, uint32_t log_size, struct devx_cq *cq);

struct devx_qp {
	uint32_t handle, number;
	uint32_t ring_umem, record_umem;
	uint8_t *ring; /* receives of 16 bytes first */
	uint32_t *record;
	uint32_t rq_count, sq_count;
	uint32_t ece; /* what the command asks for, and then the answer's */
};
int devx_qp(struct kern_rig *rig, uint32_t uar_page, uint32_t pdn, uint32_t cqn,
	    struct devx_qp *qp);
/* RST2INIT, INIT2RTR, RTR2RTS towards dest_qpn at GID gid; the first that fails. */
int devx_connect(struct kern_rig *rig, uint32_t handle, uint32_t qpn, uint32_t dest_qpn,
		 const uint8_t gid[static 16]);

#endif
