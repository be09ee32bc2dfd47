/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_world.h - what tests of DevX start from: a context with a register page, a domain, a region,
 * and a completion queue and a queue pair that commands made.
 */
#ifndef TESTS_SUPPORT_DEVX_WORLD_H
#define TESTS_SUPPORT_DEVX_WORLD_H

#include "tests/support/devx_rig.h"

enum { DEVX_ACCESS_ALL = 0xf, DEVX_LOG_CQ = 4 };

struct devx_world {
	struct kern_rig rig;
	struct devx devx;
	uint32_t pd, uar, page, pdn;
	struct devx_cq cq;
	struct devx_qp qp;
	uint8_t *memory; /* 8192 bytes, the region's */
	struct ib_uverbs_reg_mr_resp mr;
};

/* The one that the running test has. */
extern struct devx_world world;

/* For cmocka: around each test. */
int devx_world_open(void **state);
int devx_world_open_infiniband(void **state);
int devx_world_close(void **state);

/* devx_world_pd - a domain of the verbs, and its number as mlx5dv_init_obj tells it: pd, pdn. */
void devx_world_pd(void);

/* devx_world_connect - the queue pair with itself. devx_world_post: its index-th entry, of one
 * piece, signalled, and the bell; devx_world_receive: its index-th receive. */
void devx_world_connect(void);
void devx_world_post(uint8_t opcode, uint32_t index, uint32_t lkey, uint64_t va, uint32_t len);
void devx_world_receive(uint32_t index, uint32_t lkey, uint64_t va, uint32_t len);

/* devx_world_refused - a command failed with this status, and says a syndrome. */
void devx_world_refused(int error, enum cmd_status status);

#endif
