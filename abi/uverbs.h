/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uverbs.h - the user verbs ioctl of Linux: framing, and what its uapi headers leave unsaid.
 *
 * A call is ioctl(fd, RDMA_VERBS_IOCTL, struct ib_uverbs_ioctl_hdr *), the header followed by
 * num_attrs struct ib_uverbs_attr. An input attribute of up to UV_INLINE_MAX_BYTES bytes is in
 * attr.data itself, a longer one behind it; an output is always behind it; an object has len 0 and
 * its handle in data; a file descriptor has len 0 and is in data_s64. Commands of the older write()
 * interface travel in UVERBS_METHOD_INVOKE_WRITE with their eight-byte header left out.
 *
 * Source: [uapi rdma_user_ioctl_cmds.h, ib_user_ioctl_cmds.h, ib_user_verbs.h]. Numbers that only
 * libibverbs' header names are checked against <infiniband/verbs.h> by tests/abi.
 */
#ifndef ABI_UVERBS_H
#define ABI_UVERBS_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

enum {
	UV_INLINE_MAX_BYTES = 8, /* an input this short is in attr.data */
	UV_ABI_VERSION = 6,      /* /sys/class/infiniband_verbs/abi_version */
};

/* The number of an extended command, as INVOKE_WRITE's WRITE_CMD attribute holds it. */
#define UV_WRITE_EX(cmd) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (uint32_t)(cmd))

/* uv_hdr_bytes - the length of a header with attr_count attributes. */
static inline size_t uv_hdr_bytes(unsigned int attr_count)
{
	return sizeof(struct ib_uverbs_ioctl_hdr) + attr_count * sizeof(struct ib_uverbs_attr);
}

/*
 * What later kernels have and the headers of Linux 6.1 do not [rdma-core v64.0, its
 * kernel-headers]; in the comments, the release of rdma-core that first asks for it.
 */
enum {
	UV_METHOD_QUERY_PORT_SPEED = 7, /* of UVERBS_OBJECT_DEVICE; 62 */
	UV_ATTR_QUERY_PORT_SPEED_PORT_NUM = 0,
	UV_ATTR_QUERY_PORT_SPEED_RESP = 1,
	UV_ATTR_GET_CONTEXT_FD_ARR = 2, /* 57 */
	UV_METHOD_REG_MR = 5,           /* of UVERBS_OBJECT_MR; 59 */
	UV_ATTR_REG_MR_HANDLE = 0,
	UV_ATTR_REG_MR_PD_HANDLE = 1,
	UV_ATTR_REG_MR_DMA_HANDLE = 2,
	UV_ATTR_REG_MR_IOVA = 3,
	UV_ATTR_REG_MR_ADDR = 4,
	UV_ATTR_REG_MR_LENGTH = 5,
	UV_ATTR_REG_MR_ACCESS_FLAGS = 6,
	UV_ATTR_REG_MR_FD = 7,
	UV_ATTR_REG_MR_FD_OFFSET = 8,
	UV_ATTR_REG_MR_RESP_LKEY = 9,
	UV_ATTR_REG_MR_RESP_RKEY = 10,
};

/* struct ib_uverbs_query_port_resp_ex with what was reserved at first; 49 */
struct uv_query_port_resp_ex {
	struct ib_uverbs_query_port_resp legacy_resp;
	uint16_t port_cap_flags2;
	uint8_t reserved[2];
	uint32_t active_speed_ex;
};
_Static_assert(sizeof(struct uv_query_port_resp_ex) == sizeof(struct ib_uverbs_query_port_resp_ex),
	       "QUERY_PORT answer");

/* Bits of ib_uverbs_modify_qp.attr_mask. */
enum {
	UV_QP_STATE = 1 << 0,
	UV_QP_CUR_STATE = 1 << 1,
	UV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	UV_QP_ACCESS_FLAGS = 1 << 3,
	UV_QP_PKEY_INDEX = 1 << 4,
	UV_QP_PORT = 1 << 5,
	UV_QP_QKEY = 1 << 6,
	UV_QP_AV = 1 << 7,
	UV_QP_PATH_MTU = 1 << 8,
	UV_QP_TIMEOUT = 1 << 9,
	UV_QP_RETRY_CNT = 1 << 10,
	UV_QP_RNR_RETRY = 1 << 11,
	UV_QP_RQ_PSN = 1 << 12,
	UV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	UV_QP_ALT_PATH = 1 << 14,
	UV_QP_MIN_RNR_TIMER = 1 << 15,
	UV_QP_SQ_PSN = 1 << 16,
	UV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	UV_QP_PATH_MIG_STATE = 1 << 18,
	UV_QP_CAP = 1 << 19,
	UV_QP_DEST_QPN = 1 << 20,
	UV_QP_RATE_LIMIT = 1 << 25,
};

/* ib_uverbs_rereg_mr.flags */
enum {
	UV_REREG_TRANSLATION = 1 << 0,
	UV_REREG_PD = 1 << 1,
	UV_REREG_ACCESS = 1 << 2,
	UV_REREG_SUPPORTED = UV_REREG_TRANSLATION | UV_REREG_PD | UV_REREG_ACCESS,
};

/* Rights that there are, and those that device memory may have [linux mlx5 dm.h]. */
enum {
	UV_ACCESS_KNOWN = (IB_UVERBS_ACCESS_HUGETLB << 1) - 1,
	UV_ACCESS_DM = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
		       IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |
		       IB_UVERBS_ACCESS_ZERO_BASED | IB_UVERBS_ACCESS_OPTIONAL_RANGE,
	UV_ACCESS_SUPPORTED = UV_ACCESS_KNOWN | IB_UVERBS_ACCESS_OPTIONAL_RANGE,
};

/* Rules for frames and what they look at: enum ib_flow_attr_type and ib_flow_spec_type of the
 * kernel [verbs.h ibv_flow_attr_type]. */
enum {
	UV_FLOW_NORMAL = 0,
	UV_FLOW_ALL_DEFAULT = 1,
	UV_FLOW_MC_DEFAULT = 2,
	UV_FLOW_SPEC_ETH = 0x20,
	UV_FLOW_SPEC_IPV4 = 0x30,
	UV_FLOW_SPEC_IPV6 = 0x31,
	UV_FLOW_SPEC_TCP = 0x40,
	UV_FLOW_SPEC_UDP = 0x41,
};

/* ib_uverbs_alloc_mw.mw_type */
enum {
	UV_MW_TYPE_1 = 1,
	UV_MW_TYPE_2 = 2,
};

enum uv_qp_state {
	UV_QPS_RESET = 0,
	UV_QPS_INIT = 1,
	UV_QPS_RTR = 2,
	UV_QPS_RTS = 3,
	UV_QPS_SQD = 4,
	UV_QPS_SQE = 5,
	UV_QPS_ERR = 6,
};

/* Bits of ib_uverbs_modify_srq.attr_mask. */
enum {
	UV_SRQ_MAX_WR = 1 << 0,
	UV_SRQ_LIMIT = 1 << 1,
};

/* Bits of ib_uverbs_ex_modify_wq.attr_mask, and its states. */
enum {
	UV_WQ_STATE = 1 << 0,
	UV_WQ_CUR_STATE = 1 << 1,
	UV_WQ_FLAGS = 1 << 2,
	UV_WQ_ATTRS = UV_WQ_STATE | UV_WQ_CUR_STATE | UV_WQ_FLAGS,
};

enum uv_wq_state {
	UV_WQS_RESET = 0,
	UV_WQS_RDY = 1,
	UV_WQS_ERR = 2,
};

enum uv_port_state {
	UV_PORT_NOP = 0,
	UV_PORT_DOWN = 1,
	UV_PORT_INIT = 2,
	UV_PORT_ARMED = 3,
	UV_PORT_ACTIVE = 4,
	UV_PORT_ACTIVE_DEFER = 5,
};

enum {
	UV_PORT_PHYS_DISABLED = 3,
	UV_PORT_PHYS_LINK_UP = 5,
};

enum uv_link_layer {
	UV_LINK_LAYER_UNSPECIFIED = 0,
	UV_LINK_LAYER_INFINIBAND = 1,
	UV_LINK_LAYER_ETHERNET = 2,
};

/* A path MTU of 128 << code bytes. */
enum uv_mtu {
	UV_MTU_256 = 1,
	UV_MTU_512 = 2,
	UV_MTU_1024 = 3,
	UV_MTU_2048 = 4,
	UV_MTU_4096 = 5,
};

/* uv_mtu_bytes - the bytes of an MTU code, 1 to 5; 0 for any other. */
static inline uint32_t uv_mtu_bytes(unsigned int code)
{
	return code >= UV_MTU_256 && code <= UV_MTU_4096 ? 128u << code : 0;
}

/* ib_uverbs_async_event_desc.event_type */
enum uv_event {
	UV_EVENT_CQ_ERR = 0,
	UV_EVENT_QP_FATAL = 1,
	UV_EVENT_QP_REQ_ERR = 2,
	UV_EVENT_QP_ACCESS_ERR = 3,
	UV_EVENT_COMM_EST = 4,
	UV_EVENT_SQ_DRAINED = 5,
	UV_EVENT_PATH_MIG = 6,
	UV_EVENT_PATH_MIG_ERR = 7,
	UV_EVENT_DEVICE_FATAL = 8,
	UV_EVENT_PORT_ACTIVE = 9,
	UV_EVENT_PORT_ERR = 10,
	UV_EVENT_LID_CHANGE = 11,
	UV_EVENT_PKEY_CHANGE = 12,
	UV_EVENT_SM_CHANGE = 13,
	UV_EVENT_SRQ_ERR = 14,
	UV_EVENT_SRQ_LIMIT_REACHED = 15,
	UV_EVENT_QP_LAST_WQE_REACHED = 16,
	UV_EVENT_CLIENT_REREGISTER = 17,
	UV_EVENT_GID_CHANGE = 18,
	UV_EVENT_WQ_FATAL = 19,
};

/* Bits of ib_uverbs_odp_caps: general_caps, and those of a transport. */
enum {
	UV_ODP_F = 1 << 0,
	UV_ODP_IMPLICIT_F = 1 << 1,
	UV_ODP_SEND_F = 1 << 0,
	UV_ODP_RECV_F = 1 << 1,
	UV_ODP_WRITE_F = 1 << 2,
	UV_ODP_READ_F = 1 << 3,
	UV_ODP_ATOMIC_F = 1 << 4,
	UV_ODP_SRQ_RECV_F = 1 << 5,
};

/* Bits of ib_uverbs_query_device_resp.device_cap_flags and of atomic_cap that we use. */
enum {
	UV_DEVICE_SYS_IMAGE_GUID_F = 1 << 11,
	UV_DEVICE_MEM_WINDOW_F = 1 << 17,
	UV_DEVICE_MEM_MGT_EXTENSIONS_F = 1 << 21,
	UV_DEVICE_MEM_WINDOW_TYPE_2B_F = 1 << 24,
	UV_DEVICE_RC_RNR_NAK_GEN_F = 1 << 12,
	UV_DEVICE_XRC_F = 1 << 20,
	UV_ATOMIC_NONE = 0,
	UV_ATOMIC_HCA = 1,
	UV_ATOMIC_GLOB = 2,
};

/* ib_uverbs_query_port_resp.port_cap_flags */
enum {
	UV_PORT_CM_SUP_F = 1 << 16,
	UV_PORT_IP_BASED_GIDS_F = 1 << 26,
};

/* Sizes that travel between two builds: a header update that moves them must not go unseen. */
_Static_assert(sizeof(struct ib_uverbs_ioctl_hdr) == 24, "ioctl header");
_Static_assert(sizeof(struct ib_uverbs_attr) == 16, "attribute");
_Static_assert(offsetof(struct ib_uverbs_ioctl_hdr, attrs) == 24, "attributes follow");
_Static_assert(offsetof(struct ib_uverbs_attr, data) == 8, "attribute data");
_Static_assert(sizeof(struct ib_uverbs_comp_event_desc) == 8, "completion event");
_Static_assert(sizeof(struct ib_uverbs_async_event_desc) == 16, "async event");
_Static_assert(sizeof(struct ib_uverbs_alloc_pd) == 8, "ALLOC_PD");
_Static_assert(sizeof(struct ib_uverbs_alloc_pd_resp) == 4, "ALLOC_PD answer");
_Static_assert(sizeof(struct ib_uverbs_reg_mr) == 40, "REG_MR");
_Static_assert(sizeof(struct ib_uverbs_reg_mr_resp) == 12, "REG_MR answer");
_Static_assert(sizeof(struct ib_uverbs_modify_qp) == 112, "MODIFY_QP");
_Static_assert(sizeof(struct ib_uverbs_qp_attr) == 144, "kernel form of the QP attributes");
_Static_assert(sizeof(struct ib_uverbs_query_qp_resp) == 128, "QUERY_QP answer");
_Static_assert(sizeof(struct ib_uverbs_query_port_resp) == 40, "QUERY_PORT answer");
_Static_assert(sizeof(struct ib_uverbs_query_port_resp_ex) == 48, "QUERY_PORT ioctl answer");
_Static_assert(sizeof(struct ib_uverbs_ex_query_device) == 8, "EX QUERY_DEVICE");
_Static_assert(sizeof(struct ib_uverbs_query_device_resp) == 176, "QUERY_DEVICE answer");
_Static_assert(sizeof(struct ib_uverbs_ex_query_device_resp) == 304, "EX QUERY_DEVICE answer");
_Static_assert(sizeof(struct ib_uverbs_qp_cap) == 20, "QP capabilities");
_Static_assert(sizeof(struct ib_uverbs_create_ah) == 56, "CREATE_AH");
_Static_assert(sizeof(struct ib_uverbs_modify_srq) == 16, "MODIFY_SRQ");
_Static_assert(sizeof(struct ib_uverbs_query_srq_resp) == 16, "QUERY_SRQ answer");
_Static_assert(sizeof(struct ib_uverbs_open_xrcd) == 16, "OPEN_XRCD");
_Static_assert(sizeof(struct ib_uverbs_open_qp) == 32, "OPEN_QP");
_Static_assert(sizeof(struct ib_uverbs_gid_entry) == 32, "GID entry");
_Static_assert(sizeof(struct ib_uverbs_ex_modify_wq) == 24, "MODIFY_WQ");
_Static_assert(sizeof(struct ib_uverbs_ex_create_rwq_ind_table) == 8, "CREATE_RWQ_IND_TBL");
_Static_assert(sizeof(struct ib_uverbs_ex_create_rwq_ind_table_resp) == 16, "its answer");

#endif
