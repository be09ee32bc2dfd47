/* SPDX-License-Identifier: BSD-2-Clause */
/* uioctl.c - builds and sends uverbs commands; the only caller of the door's ioctl. */
#include "lib/uioctl.h"

#include "base/assert.h"

#include <string.h>

#include <rdma/mlx5-abi.h>

static struct ib_uverbs_ioctl_hdr *header(struct lib_cmd *cmd)
{
	return (struct ib_uverbs_ioctl_hdr *)(void *)cmd->bytes;
}

static struct ib_uverbs_attr *attr_add(struct lib_cmd *cmd, uint16_t id, size_t len_bytes)
{
	struct ib_uverbs_attr *attr;

	ASSERT(cmd->count < LIB_CMD_ATTRS_MAX);
	ASSERT(len_bytes <= UINT16_MAX);
	attr = &header(cmd)->attrs[cmd->count++];
	memset(attr, 0, sizeof(*attr));
	attr->attr_id = id;
	attr->len = (uint16_t)len_bytes;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

static const struct ib_uverbs_attr *attr_find(const struct lib_cmd *cmd, uint16_t id)
{
	const struct ib_uverbs_ioctl_hdr *hdr = (const void *)cmd->bytes;

	for (unsigned int i = 0; i < cmd->count; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	UNREACHABLE();
}

void lib_cmd_init(struct lib_cmd *cmd, uint16_t object, uint16_t method)
{
	struct ib_uverbs_ioctl_hdr *hdr = header(cmd);

	cmd->count = 0;
	memset(hdr, 0, sizeof(*hdr));
	hdr->object_id = object;
	hdr->method_id = method;
	hdr->driver_id = RDMA_DRIVER_MLX5;
}

void lib_cmd_init_write(struct lib_cmd *cmd, uint32_t write_cmd, const void *in, size_t in_bytes,
			void *out, size_t out_bytes)
{
	lib_cmd_init(cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	lib_cmd_in_const(cmd, UVERBS_ATTR_WRITE_CMD, write_cmd);
	lib_cmd_in(cmd, UVERBS_ATTR_CORE_IN, in, in_bytes);
	if (out_bytes)
		lib_cmd_out(cmd, UVERBS_ATTR_CORE_OUT, out, out_bytes);
}

void lib_cmd_in(struct lib_cmd *cmd, uint16_t id, const void *in, size_t len_bytes)
{
	struct ib_uverbs_attr *attr = attr_add(cmd, id, len_bytes);

	if (len_bytes <= UV_INLINE_MAX_BYTES)
		memcpy(&attr->data, in, len_bytes);
	else
		attr->data = (uintptr_t)in;
}

void lib_cmd_in_u32(struct lib_cmd *cmd, uint16_t id, uint32_t value)
{
	lib_cmd_in(cmd, id, &value, sizeof(value));
}

void lib_cmd_in_const(struct lib_cmd *cmd, uint16_t id, uint64_t value)
{
	lib_cmd_in(cmd, id, &value, sizeof(value));
}

void lib_cmd_in_handle(struct lib_cmd *cmd, uint16_t id, uint32_t handle)
{
	attr_add(cmd, id, 0)->data = handle;
}

void lib_cmd_in_fd(struct lib_cmd *cmd, uint16_t id, int fd)
{
	if (fd >= 0)
		attr_add(cmd, id, 0)->data_s64 = fd;
}

void lib_cmd_out(struct lib_cmd *cmd, uint16_t id, void *out, size_t len_bytes)
{
	attr_add(cmd, id, len_bytes)->data = (uintptr_t)out;
}

void lib_cmd_out_handle(struct lib_cmd *cmd, uint16_t id)
{
	attr_add(cmd, id, 0);
}

void lib_cmd_out_fd(struct lib_cmd *cmd, uint16_t id)
{
	attr_add(cmd, id, 0);
}

uint32_t lib_cmd_handle(const struct lib_cmd *cmd, uint16_t id)
{
	return (uint32_t)attr_find(cmd, id)->data;
}

int lib_cmd_fd(const struct lib_cmd *cmd, uint16_t id)
{
	return (int)attr_find(cmd, id)->data_s64;
}

int lib_cmd_run(struct lib_cmd *cmd, const struct lib_os *os, int fd)
{
	struct ib_uverbs_ioctl_hdr *hdr = header(cmd);
	int err;

	hdr->num_attrs = (uint16_t)cmd->count;
	hdr->length = (uint16_t)uv_hdr_bytes(cmd->count);
	err = os->ioctl(os->ctx, fd, RDMA_VERBS_IOCTL, hdr);
	return err < 0 ? err : 0;
}

int lib_destroy(const struct lib_os *os, int fd, uint16_t object, uint16_t method, uint16_t id,
		uint32_t handle)
{
	struct lib_cmd cmd;

	lib_cmd_init(&cmd, object, method);
	lib_cmd_in_handle(&cmd, id, handle);
	return lib_cmd_run(&cmd, os, fd);
}
