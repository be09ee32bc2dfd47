/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev.c - a NIC: open, what it is, close.
 *
 * Opening follows the order in which rdma-core opens a device with dynamic UARs [rdma-core mlx5],
 * through ioctl only. Each step of nic_open_file has its inverse in nic_close_file.
 */
#include "lib/lib.h"
#include "lib/uioctl.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int lib_nic_lock(struct rig_nic *nic, const char *call)
{
	if (!nic || nic->shell.live != LIB_LIVE_NIC)
		return lib_handle_error(nic, call);
	pthread_mutex_lock(&nic->lock);
	return 0;
}

void lib_nic_unlock(struct rig_nic *nic)
{
	pthread_mutex_unlock(&nic->lock);
}

/* fail_open - the error of opening path, with what a person can do about it. */
static int fail_open(int err, const char *path)
{
	char text[1024];
	struct group group, *found = NULL;
	struct stat st;

	if (err != -EACCES && err != -EPERM)
		return lib_fail_reason(err, "rig_open: %s", path);
	if (stat(path, &st) == 0)
		getgrgid_r(st.st_gid, &group, text, sizeof(text), &found);
	if (found)
		return lib_fail(EACCES,
				"rig_open: no permission on %s: it belongs to group %s, which"
				" this user must join",
				path, found->gr_name);
	return lib_fail(EACCES, "rig_open: no permission on %s: this user must join the group that"
			" owns it", path);
}

/* context_ask - one request for a context; devx: with commands to the firmware. 0 or -errno. */
static int context_ask(const struct rig_nic *nic, bool devx,
		       struct mlx5_ib_alloc_ucontext_resp *resp)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, /* as rdma-core asks; no static register is used */
		.num_low_latency_bfregs = 4,
		.flags = devx ? MLX5_IB_ALLOC_UCTX_DEVX : 0,
		.max_cqe_version = 1,
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};
	uint32_t vectors;
	uint64_t support;
	struct lib_cmd cmd;

	memset(resp, 0, sizeof(*resp));
	lib_cmd_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	lib_cmd_out(&cmd, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	lib_cmd_out(&cmd, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	lib_cmd_in(&cmd, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	lib_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, resp, sizeof(*resp));
	return lib_cmd_run(&cmd, nic->os, nic->fd);
}

/* context_get - with DevX where the kernel has it: only the mapping of address handles needs it. */
static int context_get(struct rig_nic *nic, struct mlx5_ib_alloc_ucontext_resp *resp)
{
	int err = context_ask(nic, true, resp);

	nic->devx = !err;
	if (err)
		err = context_ask(nic, false, resp);
	if (err)
		return lib_fail_reason(err, "rig_open: %s: the kernel gave no context", nic->name);
	if (resp->cqe_version != 1)
		return lib_fail(EOPNOTSUPP, "rig_open: %s: completions of version %u; 1 is needed",
				nic->name, resp->cqe_version);
	nic->ece = resp->comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE;
	if (resp->tot_bfregs != 0)
		return lib_fail(EOPNOTSUPP, "rig_open: %s: this kernel has no dynamic UARs",
				nic->name);
	return 0;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* floor_power - the largest power of two that is not over count, which is not 0. */
static uint32_t floor_power(uint32_t count)
{
	return 1u << (31 - __builtin_clz(count));
}

/* limits_set - the NIC's bounds within the library's own. */
static void limits_set(struct lib_limits *limits, const struct mlx5_ib_alloc_ucontext_resp *context,
		       const struct ib_uverbs_query_device_resp *device)
{
	uint32_t units = min_u32(context->max_sq_desc_sz / WQE_UNIT_BYTES, WQE_DS_MAX);
	uint32_t head = (uint32_t)(sizeof(struct wqe_ctrl_seg) + sizeof(struct wqe_raddr_seg));
	uint32_t rd = min_u32(16, (uint32_t)device->max_qp_init_rd_atom);

	limits->sq_slots_max = min_u32(floor_power(context->max_send_wqebb | 1), LIB_RING_MAX);
	limits->shared_receives_max =
	    min_u32(floor_power(context->max_srq_recv_wr | 1), LIB_RING_MAX);
	limits->receives_max = min_u32(floor_power(context->max_recv_wr | 1), LIB_RING_MAX);
	/* The kernel's own word is one less than a power of two. */
	limits->cqe_max = floor_power(device->max_cqe + 1);
	limits->wqe_units_max = units;
	limits->pieces_max = min_u32(units - head / WQE_UNIT_BYTES, device->max_sge);
	limits->inline_max_bytes = units * WQE_UNIT_BYTES - head -
				   (uint32_t)sizeof(struct wqe_inline_seg);
	limits->rd_atomic_init_max = (uint8_t)rd;
	limits->rd_atomic_resp_max = (uint8_t)min_u32(16, (uint32_t)device->max_qp_rd_atom);
	limits->atomics = device->atomic_cap != UV_ATOMIC_NONE;
}

static int device_query(struct rig_nic *nic, const struct mlx5_ib_alloc_ucontext_resp *context)
{
	struct ib_uverbs_ex_query_device in = {0};
	struct ib_uverbs_ex_query_device_resp out = {0};
	struct lib_cmd cmd;
	uint64_t fw;
	int err;

	lib_cmd_init_write(&cmd, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), &in, sizeof(in),
			   &out, sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return lib_fail_reason(err, "rig_open: %s: the kernel did not say its limits",
				       nic->name);
	if (context->max_sq_desc_sz < 2 * WQE_BB_BYTES || out.base.max_sge < 1)
		return lib_fail(EOPNOTSUPP, "rig_open: %s: entries of %u bytes and %u pieces",
				nic->name, context->max_sq_desc_sz, out.base.max_sge);
	limits_set(&nic->limits, context, &out.base);
	fw = out.base.fw_ver;
	snprintf(nic->firmware, sizeof(nic->firmware), "%u.%u.%04u", (unsigned int)(fw >> 32),
		 (unsigned int)(fw >> 16) & 0xffff, (unsigned int)fw & 0xffff);
	return 0;
}

static int pd_alloc(struct rig_nic *nic)
{
	struct ib_uverbs_alloc_pd in = {0};
	struct ib_uverbs_alloc_pd_resp out = {0};
	struct mlx5_ib_alloc_pd_resp mlx5;
	struct lib_cmd cmd;
	int err;

	in.response = (uintptr_t)&out;
	lib_cmd_init_write(&cmd, IB_USER_VERBS_CMD_ALLOC_PD, &in, sizeof(in), &out, sizeof(out));
	lib_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return lib_fail_reason(err, "rig_open: %s: no protection domain", nic->name);
	nic->pd_handle = out.pd_handle;
	return 0;
}

static void pd_free(struct rig_nic *nic)
{
	lib_destroy(nic->os, nic->fd, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
		    UVERBS_ATTR_DESTROY_PD_HANDLE, nic->pd_handle);
}

static void uar_free(struct rig_nic *nic)
{
	if (nic->uar)
		nic->os->munmap(nic->os->ctx, nic->uar, nic->uar_bytes);
	lib_destroy(nic->os, nic->fd, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
		    MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, nic->uar_handle);
}

/* uar_alloc - the register page: uncached, shared by all queue pairs, written 8 bytes at a time. */
static int uar_alloc(struct rig_nic *nic)
{
	uint64_t offset = 0;
	uint32_t len = 0;
	struct lib_cmd cmd;
	int err;

	lib_cmd_init(&cmd, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	lib_cmd_out_handle(&cmd, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	lib_cmd_in_const(&cmd, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	lib_cmd_out(&cmd, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	lib_cmd_out(&cmd, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	lib_cmd_out(&cmd, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &nic->uar_page_id,
		    sizeof(nic->uar_page_id));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return lib_fail_reason(err, "rig_open: %s: no register page", nic->name);
	nic->uar_handle = lib_cmd_handle(&cmd, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	nic->uar_bytes = len;
	nic->uar = nic->os->mmap(nic->os->ctx, len, PROT_WRITE, MAP_SHARED, nic->fd, (off_t)offset,
				 &err);
	if (!nic->uar) {
		uar_free(nic);
		return lib_fail_reason(err, "rig_open: %s: the register page cannot be mapped",
				       nic->name);
	}
	/* A child must not ring. Refused where the driver's mapping has it already. */
	madvise(nic->uar, len, MADV_DONTFORK);
	return 0;
}

static int async_open(struct rig_nic *nic)
{
	struct lib_cmd cmd;
	int err;

	lib_cmd_init(&cmd, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	lib_cmd_out_fd(&cmd, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return lib_fail_reason(err, "rig_open: %s: no event file", nic->name);
	nic->async_fd = lib_cmd_fd(&cmd, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	return 0;
}

static int channel_open(struct rig_nic *nic)
{
	struct ib_uverbs_create_comp_channel in = {0};
	struct ib_uverbs_create_comp_channel_resp out = {0};
	struct lib_cmd cmd;
	int err;

	in.response = (uintptr_t)&out;
	lib_cmd_init_write(&cmd, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in, sizeof(in), &out,
			   sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return lib_fail_reason(err, "rig_open: %s: no completion channel", nic->name);
	nic->channel_fd = (int)out.fd;
	return 0;
}

/* epoll_open - one descriptor that is readable when either event file is. */
static int epoll_open(struct rig_nic *nic)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return lib_fail_reason(errno, "rig_open: %s: epoll", nic->name);
	if (epoll_ctl(fd, EPOLL_CTL_ADD, nic->async_fd, &event) ||
	    epoll_ctl(fd, EPOLL_CTL_ADD, nic->channel_fd, &event)) {
		int err = errno;

		close(fd);
		return lib_fail_reason(err, "rig_open: %s: epoll", nic->name);
	}
	nic->epoll_fd = fd;
	return 0;
}

static const size_t tables_bytes =
	LIB_UIDX_COUNT * (sizeof(struct rig_qp *) + sizeof(uint32_t));

/* tables_alloc - room for the most queue pairs; memory is only used where they are. */
static int tables_alloc(struct rig_nic *nic)
{
	void *tables = mmap(NULL, tables_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (tables == MAP_FAILED)
		return lib_fail(ENOMEM, "rig_open: no memory for the table of queue pairs");
	nic->uidx_table = tables;
	nic->uidx_free = (uint32_t *)(void *)(nic->uidx_table + LIB_UIDX_COUNT);
	return 0;
}

static void tables_free(struct rig_nic *nic)
{
	munmap(nic->uidx_table, tables_bytes);
}

/* nic_setup - everything behind an open verbs file. */
static int nic_setup(struct rig_nic *nic)
{
	struct mlx5_ib_alloc_ucontext_resp context;
	int err = context_get(nic, &context);

	err = err ? err : device_query(nic, &context);
	err = err ? err : lib_port_refresh(nic, "rig_open");
	if (err)
		return err;
	err = tables_alloc(nic);
	if (err)
		return err;
	err = pd_alloc(nic);
	if (err)
		goto err_tables;
	err = uar_alloc(nic);
	if (err)
		goto err_pd;
	err = async_open(nic);
	if (err)
		goto err_uar;
	err = channel_open(nic);
	if (err)
		goto err_async;
	err = epoll_open(nic);
	if (err)
		goto err_channel;
	return 0;
err_channel:
	nic->os->close(nic->os->ctx, nic->channel_fd);
err_async:
	nic->os->close(nic->os->ctx, nic->async_fd);
err_uar:
	uar_free(nic);
err_pd:
	pd_free(nic);
err_tables:
	tables_free(nic);
	return err;
}

/* bus_set - the PCI address, from the last part of the line that names the device's slot. */
static void bus_set(struct rig_nic *nic)
{
	char path[128], line[512], *slot;
	ssize_t got;

	snprintf(nic->bus, sizeof(nic->bus), "%s", nic->software ? "software" : "");
	if (nic->software)
		return;
	snprintf(path, sizeof(path), "class/infiniband/%s/device/uevent", nic->name);
	got = nic->os->sysfs_read(nic->os->ctx, path, line, sizeof(line) - 1);
	if (got <= 0)
		return;
	line[got] = '\0';
	slot = strstr(line, "PCI_SLOT_NAME=");
	if (!slot)
		return;
	slot += strlen("PCI_SLOT_NAME=");
	slot[strcspn(slot, "\n")] = '\0';
	snprintf(nic->bus, sizeof(nic->bus), "%.*s", RIG_NAME_MAX - 1, slot);
}

/* nic_start - opens the verbs file called uverbs of nic's door, and all behind it. */
static int nic_start(struct rig_nic *nic, const char *uverbs)
{
	char path[RIG_NAME_MAX + 32];
	int err;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", uverbs);
	nic->fd = nic->os->open(nic->os->ctx, path, O_RDWR);
	if (nic->fd < 0)
		return fail_open(nic->fd, path);
	err = nic_setup(nic);
	if (err)
		nic->os->close(nic->os->ctx, nic->fd);
	else
		bus_set(nic);
	return err;
}

static void pools_init(struct rig_nic *nic)
{
	nic->pool_region.shell_bytes = sizeof(struct rig_region);
	nic->pool_cq.shell_bytes = sizeof(struct rig_cq);
	nic->pool_qp.shell_bytes = sizeof(struct rig_qp);
	nic->pool_ah.shell_bytes = sizeof(struct rig_ah);
	nic->pool_srq.shell_bytes = sizeof(struct rig_srq);
}

/* door_find - the door to the NIC called name, its verbs file and its full name. */
static int door_find(struct rig_nic *nic, const char *name, char uverbs[static RIG_NAME_MAX])
{
	char why[256] = "";
	int err;

	nic->os = lib_os_linux();
	if (lib_hardware_find(nic->os, name, nic->name, uverbs) == 0)
		return 0;
	err = lib_os_soft_open(name, &nic->os, why, sizeof(why));
	if (err == -ENODEV)
		return lib_fail(ENODEV, "rig_open: no mlx5 adapter%s%s here, and %s",
				name ? " called " : "", name ? name : "",
				why[0] ? why : "no software NIC");
	if (err)
		return lib_fail(err, "rig_open: %s: %s", name ? name : "software NIC",
				why[0] ? why : strerror(-err));
	nic->software = true;
	err = lib_hardware_find(nic->os, name, nic->name, uverbs);
	if (err) {
		lib_os_soft_close(nic->os);
		return lib_fail(err, "rig_open: the software NIC %s shows no device",
				name ? name : "");
	}
	return 0;
}

int rig_open(const char *name, struct rig_nic **nic)
{
	struct lib_pool pool = {.shell_bytes = sizeof(struct rig_nic)};
	struct rig_nic *made;
	char uverbs[RIG_NAME_MAX];
	int err;

	if (!nic)
		return lib_fail(EINVAL, "rig_open: no place for the NIC");
	made = (struct rig_nic *)lib_pool_take(&pool);
	if (!made)
		return lib_fail(ENOMEM, "rig_open: no memory");
	pools_init(made);
	pthread_mutex_init(&made->lock, NULL);
	err = lib_cq_stop_prepare();
	if (err)
		goto err_pool;
	err = door_find(made, name, uverbs);
	if (err)
		goto err_pool;
	err = nic_start(made, uverbs);
	if (err)
		goto err_door;
	made->pool_nic = pool;
	made->shell.nic = made;
	made->shell.live = LIB_LIVE_NIC;
	*nic = made;
	return 0;
err_door:
	if (made->software)
		lib_os_soft_close(made->os);
err_pool:
	lib_pool_close(&pool);
	return err;
}

/* nic_stop - destroys all that nic has. The kernel's refusals end with the verbs file's close. */
static void nic_stop(struct rig_nic *nic)
{
	const struct lib_os *os = nic->os;

	while (nic->qps)
		lib_qp_destroy(lib_qp_of(nic->qps));
	while (nic->srqs)
		lib_srq_destroy(lib_srq_of(nic->srqs));
	while (nic->ahs)
		lib_ah_destroy(lib_ah_of(nic->ahs));
	while (nic->cqs)
		lib_cq_destroy(lib_cq_of(nic->cqs));
	while (nic->regions)
		lib_region_destroy(lib_region_of(nic->regions));
	close(nic->epoll_fd);
	os->close(os->ctx, nic->channel_fd);
	os->close(os->ctx, nic->async_fd);
	uar_free(nic);
	pd_free(nic);
	os->close(os->ctx, nic->fd);
	lib_record_free_all(nic);
	tables_free(nic);
	if (nic->software)
		lib_os_soft_close(os);
}

int rig_close(struct rig_nic *nic)
{
	struct lib_pool pool;

	if (!nic || nic->shell.live != LIB_LIVE_NIC)
		return lib_handle_closed(nic) ? 0 : lib_handle_error(nic, "rig_close");
	pthread_mutex_lock(&nic->lock);
	nic->shell.live = 0;
	nic_stop(nic);
	pthread_mutex_unlock(&nic->lock);
	lib_pool_close(&nic->pool_region);
	lib_pool_close(&nic->pool_cq);
	lib_pool_close(&nic->pool_qp);
	lib_pool_close(&nic->pool_ah);
	lib_pool_close(&nic->pool_srq);
	pool = nic->pool_nic;
	lib_pool_close(&pool);
	return 0;
}

int rig_nic_info(struct rig_nic *nic, struct rig_nic_info *info)
{
	int err;

	if (!info)
		return lib_fail(EINVAL, "rig_nic_info: no place for the answer");
	err = lib_nic_lock(nic, "rig_nic_info");
	if (err)
		return err;
	err = lib_port_refresh(nic, "rig_nic_info");
	if (!err) {
		memset(info, 0, sizeof(*info));
		memcpy(info->name, nic->name, sizeof(info->name));
		memcpy(info->bus, nic->bus, sizeof(info->bus));
		memcpy(info->firmware, nic->firmware, sizeof(info->firmware));
		info->software = nic->software;
		info->port_active = nic->port.active;
		info->link = nic->port.link;
		info->address = nic->port.address;
		info->gid_index = nic->port.gid_index;
		info->mtu_bytes = nic->port.mtu_bytes;
		info->message_max_bytes = nic->port.message_max_bytes;
		info->rate_bps = nic->port.rate_bps;
		info->entries_max = nic->limits.sq_slots_max;
		info->receives_max = nic->limits.receives_max;
		info->cqe_max = min_u32(nic->limits.cqe_max, LIB_CQE_MAX);
		info->inline_max_bytes = nic->limits.inline_max_bytes;
		info->pieces_max = nic->limits.pieces_max;
		info->receive_pieces_max = LIB_RECEIVE_PIECES;
	}
	lib_nic_unlock(nic);
	return err;
}
