/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr.c - memory regions: register, name a piece, destroy.
 *
 * Every region allows local writes: the kernel refuses remote writes and atomics without
 * (ompi#1101), and a region that reads and receives cannot land in would be of no use.
 */
#include "lib/lib.h"
#include "lib/uioctl.h"

#include <string.h>

static int access_flags(enum rig_access access)
{
	switch (access) {
	case RIG_LOCAL:
		return IB_UVERBS_ACCESS_LOCAL_WRITE;
	case RIG_REMOTE_WRITE:
		return IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE;
	case RIG_REMOTE_ALL:
		return IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
		       IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	}
	return -1;
}

/* region_take - a shell for a region of nic, which is locked. */
static struct rig_region *region_take(struct rig_nic *nic, const char *call)
{
	struct lib_shell *shell = lib_pool_take(&nic->pool_region);

	if (!shell) {
		lib_fail(ENOMEM, "%s: no memory", call);
		return NULL;
	}
	shell->nic = nic;
	return lib_region_of(shell);
}

static void region_done(struct rig_region *made, struct rig_region **region)
{
	struct rig_nic *nic = made->shell.nic;

	lib_list_add(&nic->regions, &made->shell);
	made->shell.live = LIB_LIVE_REGION;
	*region = made;
}

static int host_register(struct rig_nic *nic, struct rig_region *region, int flags)
{
	struct ib_uverbs_reg_mr in = {0};
	struct ib_uverbs_reg_mr_resp out = {0};
	struct lib_cmd cmd;
	int err;

	in.response = (uintptr_t)&out;
	in.start = region->addr;
	in.hca_va = region->addr;
	in.length = region->len_bytes;
	in.pd_handle = nic->pd_handle;
	in.access_flags = (uint32_t)flags;
	lib_cmd_init_write(&cmd, IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in), &out, sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	region->handle = out.mr_handle;
	region->lkey = out.lkey;
	region->rkey = out.rkey;
	return err;
}

int rig_region_create(struct rig_nic *nic, void *addr, size_t len_bytes, enum rig_access access,
		      struct rig_region **region)
{
	uint64_t start = (uintptr_t)addr;
	int flags = access_flags(access);
	struct rig_region *made;
	int err;

	if (!region || flags < 0)
		return lib_fail(EINVAL, "rig_region_create: access %d, region %p", (int)access,
				(void *)region);
	if (len_bytes == 0 || start + len_bytes < start)
		return lib_fail(EINVAL, "rig_region_create: %zu bytes at %p", len_bytes, addr);
	err = lib_nic_lock(nic, "rig_region_create");
	if (err)
		return err;
	made = region_take(nic, "rig_region_create");
	if (!made) {
		err = -ENOMEM;
		goto out;
	}
	made->addr = start;
	made->len_bytes = len_bytes;
	err = host_register(nic, made, flags);
	if (err) {
		lib_pool_give(&nic->pool_region, &made->shell);
		err = lib_fail_pin(err, "rig_region_create", len_bytes);
		goto out;
	}
	region_done(made, region);
out:
	lib_nic_unlock(nic);
	return err;
}

static int dmabuf_register(struct rig_nic *nic, struct rig_region *region, int fd, uint64_t offset,
			   int flags)
{
	struct lib_cmd cmd;
	uint64_t iova = 0;
	int err;

	lib_cmd_init(&cmd, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	lib_cmd_out_handle(&cmd, UVERBS_ATTR_REG_DMABUF_MR_HANDLE);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, nic->pd_handle);
	lib_cmd_in(&cmd, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &offset, sizeof(offset));
	lib_cmd_in(&cmd, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &region->len_bytes,
		   sizeof(region->len_bytes));
	/* The kernel wants the same offset in the page as the buffer's: mori#509. */
	iova = offset & (LIB_PAGE_BYTES - 1);
	lib_cmd_in(&cmd, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &iova, sizeof(iova));
	lib_cmd_in_fd(&cmd, UVERBS_ATTR_REG_DMABUF_MR_FD, fd);
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, (uint32_t)flags);
	lib_cmd_out(&cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &region->lkey, sizeof(region->lkey));
	lib_cmd_out(&cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &region->rkey, sizeof(region->rkey));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return err;
	region->addr = iova;
	region->handle = lib_cmd_handle(&cmd, UVERBS_ATTR_REG_DMABUF_MR_HANDLE);
	return 0;
}

/* fail_dmabuf - a kernel that has no such method answers EPROTONOSUPPORT. */
static int fail_dmabuf(int err, const char *name, int fd, uint64_t len_bytes)
{
	if (err == -EPROTONOSUPPORT)
		return lib_fail(EOPNOTSUPP, "rig_region_create_dmabuf: %s cannot use dma-bufs",
				name);
	if (err == -EOPNOTSUPP)
		return lib_fail(EOPNOTSUPP,
				"rig_region_create_dmabuf: %s cannot use the dma-buf of descriptor"
				" %d",
				name, fd);
	if (err == -EINVAL)
		return lib_fail(EINVAL,
				"rig_region_create_dmabuf: descriptor %d is no dma-buf, or of one"
				" that ends before these %llu bytes do",
				fd, (unsigned long long)len_bytes);
	return lib_fail_pin(err, "rig_region_create_dmabuf", len_bytes);
}

int rig_region_create_dmabuf(struct rig_nic *nic, int fd, uint64_t offset_bytes, uint64_t len_bytes,
			     enum rig_access access, struct rig_region **region)
{
	int flags = access_flags(access);
	struct rig_region *made;
	int err;

	if (!region || flags < 0 || fd < 0 || len_bytes == 0 ||
	    offset_bytes + len_bytes < offset_bytes)
		return lib_fail(EINVAL,
				"rig_region_create_dmabuf: fd %d, %llu bytes from %llu, access"
				" %d",
				fd, (unsigned long long)len_bytes, (unsigned long long)offset_bytes,
				(int)access);
	err = lib_nic_lock(nic, "rig_region_create_dmabuf");
	if (err)
		return err;
	made = region_take(nic, "rig_region_create_dmabuf");
	if (!made) {
		err = -ENOMEM;
		goto out;
	}
	made->len_bytes = len_bytes;
	err = dmabuf_register(nic, made, fd, offset_bytes, flags);
	if (err) {
		lib_pool_give(&nic->pool_region, &made->shell);
		err = fail_dmabuf(err, nic->name, fd, len_bytes);
		goto out;
	}
	region_done(made, region);
out:
	lib_nic_unlock(nic);
	return err;
}

int lib_region_destroy(struct rig_region *region)
{
	struct rig_nic *nic = region->shell.nic;
	int err = lib_destroy(nic->os, nic->fd, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
			      UVERBS_ATTR_DESTROY_MR_HANDLE, region->handle);

	if (err && nic->shell.live == LIB_LIVE_NIC)
		return lib_fail_reason(err, "rig_region_destroy");
	lib_list_remove(&nic->regions, &region->shell);
	lib_pool_give(&nic->pool_region, &region->shell);
	return 0;
}

int rig_region_destroy(struct rig_region *region)
{
	struct rig_nic *nic;
	int err;

	if (!region || region->shell.live != LIB_LIVE_REGION)
		return lib_handle_error(region, "rig_region_destroy");
	nic = region->shell.nic;
	err = lib_nic_lock(nic, "rig_region_destroy");
	if (err)
		return err;
	err = lib_region_destroy(region);
	lib_nic_unlock(nic);
	return err;
}

/* piece_check - whether [offset, offset + len) is in region; never adds the two up. */
static int piece_check(const struct rig_region *region, uint64_t offset, uint64_t len,
		       const char *call)
{
	if (!region || region->shell.live != LIB_LIVE_REGION)
		return lib_handle_error(region, call);
	if (offset > region->len_bytes || len > region->len_bytes - offset)
		return lib_fail(EINVAL,
				"%s: %llu bytes from %llu on are not inside a region of %llu", call,
				(unsigned long long)len, (unsigned long long)offset,
				(unsigned long long)region->len_bytes);
	return 0;
}

int rig_region_local(const struct rig_region *region, uint64_t offset_bytes, uint64_t len_bytes,
		     struct rig_local *local)
{
	int err = piece_check(region, offset_bytes, len_bytes, "rig_region_local");

	if (err)
		return err;
	if (!local || len_bytes > LIB_MESSAGE_MAX)
		return lib_fail(EINVAL,
				"rig_region_local: %llu bytes; a local piece has at most %u",
				(unsigned long long)len_bytes, LIB_MESSAGE_MAX);
	*local = (struct rig_local){
		.addr = region->addr + offset_bytes,
		.len_bytes = (uint32_t)len_bytes,
		.key = region->lkey,
	};
	return 0;
}

int rig_region_remote(const struct rig_region *region, uint64_t offset_bytes, uint64_t len_bytes,
		      struct rig_remote *remote)
{
	int err = piece_check(region, offset_bytes, len_bytes, "rig_region_remote");

	if (err)
		return err;
	if (!remote)
		return lib_fail(EINVAL, "rig_region_remote: no place for the piece");
	*remote = (struct rig_remote){
		.addr = region->addr + offset_bytes,
		.len_bytes = len_bytes,
		.key = region->rkey,
	};
	return 0;
}
