/* SPDX-License-Identifier: BSD-2-Clause */
/* drivers.h - recorded ioctls of two drivers, and their comparison (drivers_compare.h). */
#ifndef TESTS_RUN_DRIVERS_H
#define TESTS_RUN_DRIVERS_H

#include "abi/uverbs.h"

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum driver { LIBMLX5, RIG5 };

enum { CALL_MAX = 128, ATTR_MAX = 20, ATTR_BYTES = 256 };

struct attr {
	uint16_t id, len, flags;
	uint8_t bytes[ATTR_BYTES]; /* of an input, before the call; of an output nothing */
};

struct call {
	uint32_t key; /* CALL or WRITE */
	uint32_t attr_count;
	struct attr attrs[ATTR_MAX];
};

struct recording {
	uint32_t count;
	struct call calls[CALL_MAX];
};

#define CALL(object, method) ((uint32_t)(object) << 16 | (method))
#define WRITE(cmd)           (0x80000000u | (cmd))

/* Whether the attribute is an output, whose bytes mean nothing before the call. */
static bool is_output(uint32_t key, uint16_t id)
{
	if (id == UVERBS_ATTR_UHW_OUT)
		return true;
	if (key & 0x80000000u)
		return id == UVERBS_ATTR_CORE_OUT;
	switch (key) {
	case CALL(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT):
		return id != UVERBS_ATTR_UHW_IN;
	case CALL(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE):
		return id == UVERBS_ATTR_CREATE_CQ_RESP_CQE || id == UVERBS_ATTR_CREATE_CQ_HANDLE;
	case CALL(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE):
		return id == UVERBS_ATTR_CREATE_QP_RESP_CAP ||
		       id == UVERBS_ATTR_CREATE_QP_RESP_QP_NUM ||
		       id == UVERBS_ATTR_CREATE_QP_HANDLE;
	case CALL(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE):
		return id == UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR ||
		       id == UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE ||
		       id == UVERBS_ATTR_CREATE_SRQ_HANDLE;
	case CALL(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC):
		return id != MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE;
	default:
		return false;
	}
}

/* record - notes the call whose header is at arg, unless it is one that only asks. */
static void record(struct recording *into, const struct ib_uverbs_ioctl_hdr *header)
{
	struct call *call = &into->calls[into->count];
	uint32_t key = CALL(header->object_id, header->method_id);

	if (into->count == CALL_MAX || header->num_attrs > ATTR_MAX)
		return;
	for (int i = 0; i < header->num_attrs; i++)
		if (key == CALL(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE) &&
		    header->attrs[i].attr_id == UVERBS_ATTR_WRITE_CMD)
			key = WRITE((uint32_t)header->attrs[i].data);
	*call = (struct call){.key = key};
	for (int i = 0; i < header->num_attrs; i++) {
		const struct ib_uverbs_attr *from = &header->attrs[i];
		struct attr *to = &call->attrs[call->attr_count++];
		size_t len = from->len < ATTR_BYTES ? from->len : ATTR_BYTES;

		*to = (struct attr){from->attr_id, from->len, from->flags, {0}};
		if (from->len <= 8)
			memcpy(to->bytes, &from->data, sizeof(from->data));
		else if (!is_output(key, from->attr_id))
			memcpy(to->bytes, (const void *)(uintptr_t)from->data, len);
	}
	into->count++;
}

int compare(const struct recording recordings[2]);

#include "drivers_compare.h"

#endif
