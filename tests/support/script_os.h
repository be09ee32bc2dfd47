/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script_os.h - both doors of the driver library, answered from a script: a kernel with one mlx5
 * device whose every answer a test can set, refuse and look at afterwards. The test plays the NIC
 * itself.
 *
 * A program that includes this header (from one source file) gets lib_os_linux and lib_os_soft_*
 * from here; the library's own are then not linked. The device is "mlx5_0" behind the kernel's
 * door, "soft0" behind the software one. Set up with script_reset, then change fields of `script`.
 */
#ifndef TESTS_SUPPORT_SCRIPT_OS_H
#define TESTS_SUPPORT_SCRIPT_OS_H

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_uapi.h"
#include "abi/mlx5_wqe.h"
#include "abi/uverbs.h"
#include "lib/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SCRIPT_FD = 1000, /* the verbs file */
	SCRIPT_LOG_MAX = 512,
	SCRIPT_RULES_MAX = 4,
	SCRIPT_QPN_FIRST = 0x4011,
	SCRIPT_ANY = -1,
};

/* What one command was. write_cmd: of INVOKE_WRITE, else 0. */
struct script_command {
	uint16_t object;
	uint16_t method;
	uint32_t write_cmd;
	uint32_t handle; /* the object that it destroys or modifies */
	uint32_t ece;	 /* of an extended MODIFY_QP */
	union {
		struct ib_uverbs_modify_qp modify;
		struct ib_uverbs_reg_mr reg_mr;
		struct {
			struct ib_uverbs_ah_attr attr;
			uint32_t pd_handle;
		} create_ah;
		struct ib_uverbs_attach_mcast mcast; /* detach, too */
		struct ib_uverbs_modify_srq modify_srq;
	};
};

/* Refuses a command with err: the skip-th and later ones, `times` times (0: always). */
struct script_rule {
	int object;
	int method;
	int64_t write_cmd; /* SCRIPT_ANY */
	int qp_state;	   /* of MODIFY_QP; SCRIPT_ANY */
	int err;	   /* positive; 0: the rule is not in use */
	int skip;
	int times;
};

struct script_qp {
	bool live;
	uint32_t type; /* enum ib_uverbs_qp_type */
	int64_t srq;   /* handle; -1: none */
	uint32_t receive_cq;
	struct mlx5_ib_create_qp in;
	uint64_t user_handle;
	uint32_t number;
	struct ib_uverbs_qp_cap cap;
};

struct script_srq {
	bool live;
	struct mlx5_ib_create_srq in;
	uint64_t user_handle;
	uint32_t max_wr;
	uint32_t max_sge;
};

struct script_cq {
	bool live;
	struct mlx5_ib_create_cq in;
	uint64_t user_handle;
	uint32_t cqe;
	uint32_t producer;
};

struct script {
	bool hardware;
	bool software;
	const char *modalias;
	const char *driver_abi;
	int open_err;
	int soft_err;
	const char *soft_why;
	int mmap_err;
	struct mlx5_ib_alloc_ucontext_resp context;
	struct ib_uverbs_ex_query_device_resp device;
	struct ib_uverbs_query_port_resp_ex port;
	struct ib_uverbs_gid_entry gids[8];
	uint32_t gid_count;
	struct script_rule rules[SCRIPT_RULES_MAX];

	struct script_command log[SCRIPT_LOG_MAX];
	unsigned int log_count;
	unsigned int ioctl_count;
	struct script_qp qps[64];
	unsigned int qp_count;
	struct script_srq srqs[8];
	unsigned int srq_count;
	struct script_cq cqs[64];
	unsigned int cq_count;
	uint32_t mr_count; /* created so far */
	uint32_t ece_offer;  /* of new queue pairs */
	uint32_t ece_answer; /* to any word */
	uint32_t ah_count;
	uint8_t dmac[6];   /* of every destination */
	int live;	   /* kernel objects that were not destroyed, descriptors included */
	char *uar;
	int channel[2];	   /* [0] is the library's end */
	int async[2];
	bool lends;	   /* whether the table has `progress` */
	unsigned int lent;
	int soft_refs;
	bool dmabuf; /* whether the device takes them, and what it got */
	uint64_t dmabuf_offset;
	uint64_t dmabuf_length;
	uint64_t dmabuf_iova;
	int dmabuf_fd;
};

static struct script script;

/* ---- sysfs ---------------------------------------------------------------------------------- */

static inline ssize_t script_sysfs_read(void *ctx, const char *path, char *buf, size_t size)
{
	bool soft = ctx != NULL;
	const char *device = soft ? "soft0" : "mlx5_0";
	char text[256] = "", alias[128];

	if (!(soft ? script.software : script.hardware))
		return -ENOENT;
	snprintf(alias, sizeof(alias), "class/infiniband/%s/device/modalias", device);
	if (!strcmp(path, "class/infiniband_verbs/uverbs0/ibdev"))
		snprintf(text, sizeof(text), "%s\n", device);
	else if (!strcmp(path, "class/infiniband_verbs/uverbs0/abi_version"))
		snprintf(text, sizeof(text), "%s\n", script.driver_abi);
	else if (!strcmp(path, alias))
		snprintf(text, sizeof(text), "%s\n", script.modalias);
	else if (!strcmp(path, "class/infiniband/mlx5_0/device/uevent"))
		snprintf(text, sizeof(text), "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:17:00.0\nX=1\n");
	else
		return -ENOENT;
	snprintf(buf, size, "%s", text);
	return (ssize_t)strlen(text);
}

static inline int script_sysfs_list(void *ctx, const char *path, unsigned int index, char *name,
				    size_t size)
{
	static const char *const entries[] = {"abi_version", "uverbs0"};
	bool there = ctx ? script.software : script.hardware;

	if (strcmp(path, "class/infiniband_verbs") != 0 || !there || index >= 2)
		return -ENOENT;
	snprintf(name, size, "%s", entries[index]);
	return 0;
}

/* ---- ioctl ---------------------------------------------------------------------------------- */

static inline struct ib_uverbs_attr *script_attr(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

static inline void script_out(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, const void *from,
			      size_t len)
{
	struct ib_uverbs_attr *attr = script_attr(hdr, id);

	if (attr)
		memcpy((void *)(uintptr_t)attr->data, from, len < attr->len ? len : attr->len);
}

static inline void script_in(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, void *to, size_t len)
{
	struct ib_uverbs_attr *attr = script_attr(hdr, id);

	memset(to, 0, len);
	if (!attr)
		return;
	if (attr->len <= UV_INLINE_MAX_BYTES)
		memcpy(to, &attr->data, len < attr->len ? len : attr->len);
	else
		memcpy(to, (void *)(uintptr_t)attr->data, len < attr->len ? len : attr->len);
}

static inline bool script_rule_holds(const struct script_rule *rule,
				     const struct script_command *cmd)
{
	return rule->err && (rule->object == SCRIPT_ANY || rule->object == cmd->object) &&
	       (rule->method == SCRIPT_ANY || rule->method == cmd->method) &&
	       (rule->write_cmd == SCRIPT_ANY || rule->write_cmd == cmd->write_cmd) &&
	       (rule->qp_state == SCRIPT_ANY || rule->qp_state == cmd->modify.qp_state);
}

/* script_refusal - what a rule says of cmd: 0 or -errno. */
static inline int script_refusal(const struct script_command *cmd)
{
	for (int i = 0; i < SCRIPT_RULES_MAX; i++) {
		struct script_rule *rule = &script.rules[i];
		int err = rule->err;

		if (!script_rule_holds(rule, cmd))
			continue;
		if (rule->skip-- > 0)
			continue;
		if (rule->times && --rule->times == 0)
			rule->err = 0;
		return -err;
	}
	return 0;
}

/*
 * script_refuse - the commands of write_cmd (or object and method, with SCRIPT_ANY) fail with err.
 */
static inline void script_refuse(int object, int method, int64_t write_cmd, int err)
{
	script.rules[0] = (struct script_rule){object, method, write_cmd, SCRIPT_ANY, err, 0, 0};
}

static inline int script_write(struct ib_uverbs_ioctl_hdr *hdr, const struct script_command *cmd)
{
	struct ib_uverbs_alloc_pd_resp pd = {.pd_handle = 3};
	struct ib_uverbs_reg_mr_resp mr = {0};
	struct ib_uverbs_create_comp_channel_resp channel;
	struct ib_uverbs_create_ah_resp ah = {0};
	struct mlx5_ib_create_ah_resp mac = {.response_length = 10};
	struct mlx5_ib_modify_qp_resp modified = {.ece_options = script.ece_answer};

	switch (cmd->write_cmd) {
	case UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE):
		script_out(hdr, UVERBS_ATTR_CORE_OUT, &script.device, sizeof(script.device));
		return 0;
	case IB_USER_VERBS_CMD_ALLOC_PD:
		script.live++;
		script_out(hdr, UVERBS_ATTR_CORE_OUT, &pd, sizeof(pd));
		return 0;
	case IB_USER_VERBS_CMD_REG_MR:
		script.live++;
		mr.mr_handle = 100 + script.mr_count++;
		mr.lkey = mr.mr_handle << 8;
		mr.rkey = mr.lkey | 1;
		script_out(hdr, UVERBS_ATTR_CORE_OUT, &mr, sizeof(mr));
		return 0;
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		script.live++;
		channel.fd = (uint32_t)script.channel[0];
		script_out(hdr, UVERBS_ATTR_CORE_OUT, &channel, sizeof(channel));
		return 0;
	case UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP):
		script_out(hdr, UVERBS_ATTR_UHW_OUT, &modified, sizeof(modified));
		return 0;
	case IB_USER_VERBS_CMD_MODIFY_QP:
	case IB_USER_VERBS_CMD_MODIFY_SRQ:
	case IB_USER_VERBS_CMD_ATTACH_MCAST:
	case IB_USER_VERBS_CMD_DETACH_MCAST:
		return 0;
	case IB_USER_VERBS_CMD_CREATE_AH:
		script.live++;
		ah.ah_handle = 500 + script.ah_count++;
		memcpy(mac.dmac, script.dmac, sizeof(mac.dmac));
		script_out(hdr, UVERBS_ATTR_CORE_OUT, &ah, sizeof(ah));
		script_out(hdr, UVERBS_ATTR_UHW_OUT, &mac, sizeof(mac));
		return 0;
	}
	return -EPROTONOSUPPORT;
}

static inline int script_device(struct ib_uverbs_ioctl_hdr *hdr)
{
	uint64_t count = script.gid_count;

	switch (hdr->method_id) {
	case UVERBS_METHOD_GET_CONTEXT:
		script_out(hdr, UVERBS_ATTR_UHW_OUT, &script.context, sizeof(script.context));
		return 0;
	case UVERBS_METHOD_QUERY_PORT:
		script_out(hdr, UVERBS_ATTR_QUERY_PORT_RESP, &script.port, sizeof(script.port));
		return 0;
	case UVERBS_METHOD_QUERY_GID_TABLE:
		script_out(hdr, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, script.gids,
			   count * sizeof(script.gids[0]));
		script_out(hdr, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count,
			   sizeof(count));
		return 0;
	}
	return -EPROTONOSUPPORT;
}

static inline int script_cq(struct ib_uverbs_ioctl_hdr *hdr, const struct script_command *cmd)
{
	struct script_cq *cq = &script.cqs[script.cq_count];
	struct mlx5_ib_create_cq_resp out = {0};

	if (hdr->method_id == UVERBS_METHOD_CQ_DESTROY) {
		script.cqs[cmd->handle].live = false;
		script.live--;
		return 0;
	}
	script_in(hdr, UVERBS_ATTR_UHW_IN, &cq->in, sizeof(cq->in));
	script_in(hdr, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &cq->user_handle, 8);
	script_in(hdr, UVERBS_ATTR_CREATE_CQ_CQE, &cq->cqe, 4);
	cq->live = true;
	out.cqn = 0x200 + script.cq_count;
	script_out(hdr, UVERBS_ATTR_UHW_OUT, &out, sizeof(out));
	script_attr(hdr, UVERBS_ATTR_CREATE_CQ_HANDLE)->data = script.cq_count++;
	script.live++;
	return 0;
}

static inline int script_qp(struct ib_uverbs_ioctl_hdr *hdr, const struct script_command *cmd)
{
	struct mlx5_ib_create_qp_resp out = {.ece_options = script.ece_offer};
	struct script_qp *qp = &script.qps[script.qp_count];

	if (hdr->method_id == UVERBS_METHOD_QP_DESTROY) {
		script.qps[cmd->handle].live = false;
		script.live--;
		return 0;
	}
	script_in(hdr, UVERBS_ATTR_UHW_IN, &qp->in, sizeof(qp->in));
	script_in(hdr, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &qp->user_handle, 8);
	script_in(hdr, UVERBS_ATTR_CREATE_QP_CAP, &qp->cap, sizeof(qp->cap));
	script_in(hdr, UVERBS_ATTR_CREATE_QP_TYPE, &qp->type, sizeof(qp->type));
	qp->srq = script_attr(hdr, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) ?
			  (int64_t)script_attr(hdr, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE)->data : -1;
	qp->receive_cq = (uint32_t)script_attr(hdr, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE)->data;
	qp->live = true;
	qp->number = SCRIPT_QPN_FIRST + script.qp_count;
	script_out(hdr, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->number, sizeof(qp->number));
	script_out(hdr, UVERBS_ATTR_UHW_OUT, &out, sizeof(out));
	script_attr(hdr, UVERBS_ATTR_CREATE_QP_HANDLE)->data = script.qp_count++;
	script.live++;
	return 0;
}

static inline int script_srq(struct ib_uverbs_ioctl_hdr *hdr, const struct script_command *cmd)
{
	struct script_srq *srq = &script.srqs[script.srq_count];
	struct mlx5_ib_create_srq_resp out = {.srqn = 0x300 + script.srq_count};

	if (hdr->method_id == UVERBS_METHOD_SRQ_DESTROY) {
		script.srqs[cmd->handle].live = false;
		script.live--;
		return 0;
	}
	script_in(hdr, UVERBS_ATTR_UHW_IN, &srq->in, sizeof(srq->in));
	script_in(hdr, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &srq->user_handle, 8);
	script_in(hdr, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &srq->max_wr, 4);
	script_in(hdr, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &srq->max_sge, 4);
	srq->live = true;
	script_out(hdr, UVERBS_ATTR_UHW_OUT, &out, sizeof(out));
	script_attr(hdr, UVERBS_ATTR_CREATE_SRQ_HANDLE)->data = script.srq_count++;
	script.live++;
	return 0;
}

static inline int script_uar(struct ib_uverbs_ioctl_hdr *hdr)
{
	uint64_t offset = 0x900000;
	uint32_t len = DB_UAR_BYTES, page = 7;

	if (hdr->method_id == MLX5_IB_METHOD_UAR_OBJ_DESTROY) {
		script.live--;
		return 0;
	}
	script_out(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	script_out(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	script_out(hdr, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page, sizeof(page));
	script.live++;
	return 0;
}

static inline int script_dmabuf(struct ib_uverbs_ioctl_hdr *hdr)
{
	uint32_t key = 0x9900;

	script_in(hdr, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &script.dmabuf_offset, 8);
	script_in(hdr, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &script.dmabuf_length, 8);
	script_in(hdr, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &script.dmabuf_iova, 8);
	script.dmabuf_fd = (int)script_attr(hdr, UVERBS_ATTR_REG_DMABUF_MR_FD)->data_s64;
	script_out(hdr, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &key, sizeof(key));
	script_out(hdr, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &key, sizeof(key));
	script_attr(hdr, UVERBS_ATTR_REG_DMABUF_MR_HANDLE)->data = 77;
	script.live++;
	return 0;
}

/* script_answer - a command that no rule refuses. */
static inline int script_answer(struct ib_uverbs_ioctl_hdr *hdr, const struct script_command *cmd)
{
	switch (hdr->object_id) {
	case UVERBS_OBJECT_DEVICE:
		return hdr->method_id == UVERBS_METHOD_INVOKE_WRITE ? script_write(hdr, cmd) :
								      script_device(hdr);
	case UVERBS_OBJECT_CQ:
		return script_cq(hdr, cmd);
	case UVERBS_OBJECT_QP:
		return script_qp(hdr, cmd);
	case UVERBS_OBJECT_SRQ:
		return script_srq(hdr, cmd);
	case MLX5_IB_OBJECT_UAR:
		return script_uar(hdr);
	case UVERBS_OBJECT_ASYNC_EVENT:
		script_attr(hdr, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)->data_s64 =
			script.async[0];
		script.live++;
		return 0;
	case UVERBS_OBJECT_PD:
	case UVERBS_OBJECT_AH:
		script.live--;
		return 0;
	case UVERBS_OBJECT_MR:
		if (hdr->method_id == UVERBS_METHOD_REG_DMABUF_MR && script.dmabuf)
			return script_dmabuf(hdr);
		if (hdr->method_id != UVERBS_METHOD_MR_DESTROY)
			return -EPROTONOSUPPORT;
		script.live--;
		return 0;
	}
	return -EPROTONOSUPPORT;
}

static inline int script_ioctl(void *ctx, int fd, unsigned long request, void *arg)
{
	struct ib_uverbs_ioctl_hdr *hdr = arg;
	struct script_command *cmd = &script.log[script.log_count % SCRIPT_LOG_MAX];
	int err;

	(void)ctx;
	script.ioctl_count++;
	if (fd != SCRIPT_FD || request != RDMA_VERBS_IOCTL)
		return -EBADF;
	memset(cmd, 0, sizeof(*cmd));
	cmd->object = hdr->object_id;
	cmd->method = hdr->method_id;
	if (hdr->num_attrs)
		cmd->handle = (uint32_t)hdr->attrs[0].data;
	if (hdr->object_id == UVERBS_OBJECT_DEVICE &&
	    hdr->method_id == UVERBS_METHOD_INVOKE_WRITE) {
		script_in(hdr, UVERBS_ATTR_WRITE_CMD, &cmd->write_cmd, sizeof(cmd->write_cmd));
		if (cmd->write_cmd == IB_USER_VERBS_CMD_MODIFY_QP)
			script_in(hdr, UVERBS_ATTR_CORE_IN, &cmd->modify, sizeof(cmd->modify));
		if (cmd->write_cmd == UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP)) {
			struct mlx5_ib_modify_qp mlx5;

			script_in(hdr, UVERBS_ATTR_CORE_IN, &cmd->modify, sizeof(cmd->modify));
			script_in(hdr, UVERBS_ATTR_UHW_IN, &mlx5, sizeof(mlx5));
			cmd->ece = mlx5.ece_options;
		}
		if (cmd->write_cmd == IB_USER_VERBS_CMD_REG_MR)
			script_in(hdr, UVERBS_ATTR_CORE_IN, &cmd->reg_mr, sizeof(cmd->reg_mr));
		if (cmd->write_cmd == IB_USER_VERBS_CMD_MODIFY_SRQ)
			script_in(hdr, UVERBS_ATTR_CORE_IN, &cmd->modify_srq,
				  sizeof(cmd->modify_srq));
		if (cmd->write_cmd == IB_USER_VERBS_CMD_ATTACH_MCAST ||
		    cmd->write_cmd == IB_USER_VERBS_CMD_DETACH_MCAST)
			script_in(hdr, UVERBS_ATTR_CORE_IN, &cmd->mcast, sizeof(cmd->mcast));
		if (cmd->write_cmd == IB_USER_VERBS_CMD_CREATE_AH) {
			struct ib_uverbs_create_ah in;

			script_in(hdr, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
			cmd->create_ah.attr = in.attr;
			cmd->create_ah.pd_handle = in.pd_handle;
		}
	}
	script.log_count++;
	err = script_refusal(cmd);
	return err ? err : script_answer(hdr, cmd);
}

/*
 * script_last - the newest command of write_cmd, or of an object and method (write_cmd SCRIPT_ANY).
 */
static inline struct script_command *script_last(int object, int method, int64_t write_cmd)
{
	for (unsigned int i = script.log_count; i-- > 0;) {
		struct script_command *cmd = &script.log[i % SCRIPT_LOG_MAX];

		if ((object == SCRIPT_ANY || cmd->object == object) &&
		    (method == SCRIPT_ANY || cmd->method == method) &&
		    (write_cmd == SCRIPT_ANY || cmd->write_cmd == write_cmd))
			return cmd;
	}
	return NULL;
}

/* ---- the rest of the table ------------------------------------------------------------------ */

static inline int script_open(void *ctx, const char *path, int flags)
{
	(void)ctx;
	(void)flags;
	if (strcmp(path, "/dev/infiniband/uverbs0") != 0)
		return -ENOENT;
	if (script.open_err)
		return -script.open_err;
	script.live++;
	return SCRIPT_FD;
}

static inline int script_close(void *ctx, int fd)
{
	(void)ctx;
	(void)fd;
	script.live--;
	return 0;
}

static inline void *script_mmap(void *ctx, size_t len, int prot, int flags, int fd, off_t offset,
				int *error)
{
	(void)ctx;
	(void)prot;
	(void)flags;
	if (script.mmap_err || fd != SCRIPT_FD || offset != 0x900000) {
		*error = script.mmap_err ? -script.mmap_err : -EINVAL;
		return NULL;
	}
	script.uar = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	script.live++;
	return script.uar;
}

static inline int script_munmap(void *ctx, void *addr, size_t len)
{
	(void)ctx;
	script.live--;
	return munmap(addr, len);
}

static inline ssize_t script_read(void *ctx, int fd, void *buf, size_t len)
{
	ssize_t got = read(fd, buf, len);

	(void)ctx;
	return got < 0 ? -errno : got;
}

static inline int script_poll(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int ret = poll(fds, count, timeout_ms);

	(void)ctx;
	return ret < 0 ? -errno : ret;
}

static inline void script_progress(void *ctx)
{
	(void)ctx;
	script.lent++;
}

#define SCRIPT_TABLE                                                                               \
	.open = script_open, .close = script_close, .ioctl = script_ioctl, .mmap = script_mmap,    \
	.munmap = script_munmap, .read = script_read, .poll = script_poll,                         \
	.sysfs_read = script_sysfs_read, .sysfs_list = script_sysfs_list

const struct lib_os *lib_os_linux(void)
{
	static const struct lib_os table = {SCRIPT_TABLE};
	static const struct lib_os lending = {SCRIPT_TABLE, .progress = script_progress};

	return script.lends ? &lending : &table;
}

int lib_os_soft_open(const char *name, const struct lib_os **os, char *why, size_t why_size)
{
	static const struct lib_os table = {SCRIPT_TABLE, .ctx = &script};

	if (script.soft_err) {
		snprintf(why, why_size, "%s", script.soft_why);
		return -script.soft_err;
	}
	if (!script.software || (name && strcmp(name, "soft0") != 0)) {
		snprintf(why, why_size, "RIG5_SOFT names no software NIC %s", name ? name : "");
		return -ENODEV;
	}
	script.soft_refs++;
	*os = &table;
	return 0;
}

void lib_os_soft_close(const struct lib_os *os)
{
	(void)os;
	script.soft_refs--;
}

int lib_os_soft_name(unsigned int index, char *name, size_t size)
{
	if (index > 0 || !script.software)
		return -ENOENT;
	snprintf(name, size, "soft0");
	return 0;
}

/* ---- set up --------------------------------------------------------------------------------- */

static inline void script_gid_set(uint32_t entry, const uint8_t gid[static 16], uint32_t index,
				  uint32_t type)
{
	memcpy(script.gids[entry].gid, gid, 16);
	script.gids[entry].gid_index = index;
	script.gids[entry].port_num = 1;
	script.gids[entry].gid_type = type;
}

static inline void script_pairs_close(void)
{
	for (int i = 0; i < 2; i++) {
		if (script.channel[1]) {
			close(script.channel[i]);
			close(script.async[i]);
		}
	}
}

static inline void script_device_reset(void)
{
	struct ib_uverbs_query_port_resp *port = &script.port.legacy_resp;

	script.context.cache_line_size = 64;
	script.context.max_sq_desc_sz = 1024;
	script.context.max_rq_desc_sz = 512;
	script.context.max_send_wqebb = 32768;
	script.context.max_recv_wr = 32768;
	script.context.max_srq_recv_wr = 32768;
	script.context.num_ports = 1;
	script.context.cqe_version = 1;
	script.device.base.fw_ver = 16ull << 32 | 35 << 16 | 2000;
	script.device.base.max_sge = 30;
	script.device.base.max_cqe = (1 << 22) - 1;
	script.device.base.max_qp_rd_atom = 16;
	script.device.base.max_qp_init_rd_atom = 16;
	script.device.base.atomic_cap = UV_ATOMIC_HCA;
	port->max_msg_sz = 1u << 30;
	port->gid_tbl_len = 8;
	port->state = UV_PORT_ACTIVE;
	port->max_mtu = UV_MTU_4096;
	port->active_mtu = UV_MTU_4096;
	port->active_width = 2;
	port->active_speed = 32;
	port->link_layer = UV_LINK_LAYER_ETHERNET;
}

/*
 * script_reset - a new script: a ConnectX as it should be, on Ethernet, behind the kernel's door.
 */
static inline void script_reset(void)
{
	static const uint8_t link_local[16] = {0xfe, 0x80, [15] = 1};
	static const uint8_t ipv4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

	script_pairs_close();
	memset(&script, 0, sizeof(script));
	script.hardware = true;
	script.modalias = "pci:v000015B3d0000101Bsv000015B3sd00000007bc02sc00i00";
	script.driver_abi = "1";
	script_device_reset();
	script_gid_set(0, link_local, 0, IB_UVERBS_GID_TYPE_ROCE_V1);
	script_gid_set(1, link_local, 1, IB_UVERBS_GID_TYPE_ROCE_V2);
	script_gid_set(2, ipv4, 2, IB_UVERBS_GID_TYPE_ROCE_V1);
	script_gid_set(3, ipv4, 3, IB_UVERBS_GID_TYPE_ROCE_V2);
	script.gid_count = 4;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, script.channel) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, script.async))
		abort();
}

/* ---- the test as the NIC -------------------------------------------------------------------- */

/* script_slot - block index of the send ring of the queue pair of this index. */
static inline const uint8_t *script_slot(unsigned int qp, uint32_t index)
{
	const struct script_qp *at = &script.qps[qp];
	uint64_t sq = at->in.buf_addr + ((uint64_t)at->in.rq_wqe_count << at->in.rq_wqe_shift);

	return (const uint8_t *)(uintptr_t)(sq +
					    (index & (at->in.sq_wqe_count - 1)) * WQE_BB_BYTES);
}

static inline const struct be32 *script_record(unsigned int qp)
{
	return (const struct be32 *)(uintptr_t)script.qps[qp].in.db_addr;
}

static inline const struct be32 *script_cq_record(unsigned int cq)
{
	return (const struct be32 *)(uintptr_t)script.cqs[cq].in.db_addr;
}

static inline struct cqe64 *script_cqe_at(unsigned int cq, uint32_t position)
{
	const struct script_cq *at = &script.cqs[cq];

	return (struct cqe64 *)(uintptr_t)at->in.buf_addr + (position & at->cqe);
}

/*
 * script_complete - writes a completion of queue pair qp into completion queue cq: fields that the
 * test set in *cqe, then user index, number and owner.
 */
static inline void script_complete(unsigned int cq, unsigned int qp, struct cqe64 cqe,
				   enum cqe_opcode opcode)
{
	struct script_cq *at = &script.cqs[cq];
	bool owner = (at->producer & (at->cqe + 1)) != 0;
	struct cqe64 *slot = script_cqe_at(cq, at->producer++);

	cqe.srqn_uidx = be32_from(script.qps[qp].in.uidx);
	cqe.sop_drop_qpn = be32_from((be32_to(cqe.sop_drop_qpn) & 0xff000000) |
				     script.qps[qp].number);
	cqe.op_own = CQE_OP_OWN_INIT | !owner;
	memcpy(slot, &cqe, sizeof(cqe));
	__atomic_store_n(&slot->op_own, cqe_op_own(opcode, false, owner), __ATOMIC_RELEASE);
}

/* script_done - the entry at index of qp is done. */
static inline void script_done(unsigned int cq, unsigned int qp, uint16_t index)
{
	const struct wqe_ctrl_seg *ctrl = (const void *)script_slot(qp, index);
	struct cqe64 cqe = {0};

	cqe.sop_drop_qpn = be32_from((uint32_t)wqe_ctrl_opcode(ctrl) << 24);
	cqe.wqe_counter = be16_from(index);
	script_complete(cq, qp, cqe, CQE_REQ);
}

/* script_error - the entry (or, opcode CQE_RESP_ERR, the receive) at index of qp failed. */
static inline void script_error(unsigned int cq, unsigned int qp, uint16_t index, uint8_t syndrome,
				uint8_t vendor, enum cqe_opcode opcode)
{
	struct cqe64 cqe = {0};
	struct cqe_err64 *error = (struct cqe_err64 *)&cqe;

	error->syndrome = syndrome;
	error->vendor_syndrome = vendor;
	cqe.sop_drop_qpn = be32_from((uint32_t)WQE_OP_WRITE << 24);
	cqe.wqe_counter = be16_from(index);
	script_complete(cq, qp, cqe, opcode);
}

/* script_received - a message of len bytes took the oldest receive of qp. */
static inline void script_received(unsigned int cq, unsigned int qp, uint32_t len)
{
	struct cqe64 cqe = {0};

	cqe.byte_cnt = be32_from(len);
	script_complete(cq, qp, cqe, CQE_RESP_SEND);
}

#endif
