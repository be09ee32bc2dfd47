/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * methods.c - the ioctl methods of the device: one row each, with the attributes it takes.
 *
 * Lengths and which attributes are mandatory are those of [linux uverbs_std_types_*.c] and of
 * mlx5's own objects [linux mlx5 devx.c, main.c]. Methods that are not here do not exist:
 * -EPROTONOSUPPORT.
 */
#include "kern/methods.h"

#include "kern/devx.h"

static const struct kern_attr_spec invoke_write[] = {
    KERN_IN_BYTES(UVERBS_ATTR_CORE_IN, 4, 0),
    KERN_OUT_BYTES(UVERBS_ATTR_CORE_OUT, 0, 0),
    KERN_CONST_IN(UVERBS_ATTR_WRITE_CMD),
};

static const struct kern_attr_spec query_port[] = {
    KERN_CONST_IN(UVERBS_ATTR_QUERY_PORT_PORT_NUM),
    KERN_OUT_STRUCT(UVERBS_ATTR_QUERY_PORT_RESP, struct ib_uverbs_query_port_resp_ex),
};

static const struct kern_attr_spec query_port_speed[] = {
    KERN_CONST_IN(UV_ATTR_QUERY_PORT_SPEED_PORT_NUM),
    KERN_OUT(UV_ATTR_QUERY_PORT_SPEED_RESP, uint64_t),
};

static const struct kern_attr_spec get_context[] = {
    KERN_OUT_OPTIONAL(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, uint32_t),
    KERN_OUT_OPTIONAL(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, uint64_t),
    KERN_IN_BYTES(UV_ATTR_GET_CONTEXT_FD_ARR, sizeof(int32_t), 0),
};

static const struct kern_attr_spec query_context[] = {
    KERN_OUT_OPTIONAL(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, uint32_t),
    KERN_OUT_OPTIONAL(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, uint64_t),
    {.id = MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX,
     .type = KERN_ATTR_OUT,
     .flags = KERN_MANDATORY_F | KERN_ZERO_TRAILING_F,
     .len_min = offsetof(struct mlx5_ib_alloc_ucontext_resp, dump_fill_mkey) + sizeof(uint32_t),
     .len_max = sizeof(struct mlx5_ib_alloc_ucontext_resp)},
};

static const struct kern_attr_spec mlx5_query_port[] = {
    KERN_IN(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, uint32_t),
    KERN_OUT_STRUCT(MLX5_IB_ATTR_QUERY_PORT, struct mlx5_ib_uapi_query_port),
};

static const struct kern_attr_spec data_direct_path[] = {
    KERN_OUT_BYTES(UV_MLX5_ATTR_DATA_DIRECT_PATH, 0, KERN_MANDATORY_F),
};

static const struct kern_attr_spec query_pd[] = {
    KERN_OBJECT(MLX5_IB_ATTR_QUERY_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
    KERN_OUT(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, uint32_t),
};

static const struct kern_attr_spec query_mr[] = {
    KERN_OBJECT(UVERBS_ATTR_QUERY_MR_HANDLE, KERN_MR, KERN_MANDATORY_F),
    KERN_OUT(UVERBS_ATTR_QUERY_MR_RESP_LKEY, uint32_t),
    KERN_OUT(UVERBS_ATTR_QUERY_MR_RESP_RKEY, uint32_t),
    KERN_OUT(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, uint64_t),
    KERN_OUT_OPTIONAL(UVERBS_ATTR_QUERY_MR_RESP_IOVA, uint64_t),
};

static const struct kern_attr_spec mw_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_MW_HANDLE, KERN_MW, KERN_MANDATORY_F),
};

static const struct kern_attr_spec dm_alloc[] = {
    KERN_NEW(UVERBS_ATTR_ALLOC_DM_HANDLE),
    KERN_IN(UVERBS_ATTR_ALLOC_DM_LENGTH, uint64_t),
    KERN_IN(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, uint32_t),
    KERN_OUT(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, uint64_t),
    {.id = MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX,
     .type = KERN_ATTR_OUT,
     .len_min = sizeof(uint16_t),
     .len_max = sizeof(uint16_t)},
    {.id = MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE,
     .type = KERN_ATTR_IN,
     .len_min = sizeof(uint64_t),
     .len_max = sizeof(uint64_t)},
};

static const struct kern_attr_spec dm_free[] = {
    KERN_OBJECT(UVERBS_ATTR_FREE_DM_HANDLE, KERN_DM, KERN_MANDATORY_F),
};

static const struct kern_attr_spec dm_query[] = {
    KERN_OBJECT(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, KERN_DM, KERN_MANDATORY_F),
    KERN_OUT(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, uint64_t),
    KERN_OUT(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, uint16_t),
    KERN_OUT(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, uint64_t),
};

static const struct kern_attr_spec reg_dm_mr[] = {
    KERN_NEW(UVERBS_ATTR_REG_DM_MR_HANDLE),
    KERN_IN(UVERBS_ATTR_REG_DM_MR_OFFSET, uint64_t),
    KERN_IN(UVERBS_ATTR_REG_DM_MR_LENGTH, uint64_t),
    KERN_OBJECT(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
    KERN_FLAGS_IN(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS),
    KERN_OBJECT(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, KERN_DM, KERN_MANDATORY_F),
    KERN_OUT(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, uint32_t),
    KERN_OUT(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, uint32_t),
};

static const struct kern_attr_spec advise_mr[] = {
    KERN_OBJECT(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
    KERN_CONST_IN(UVERBS_ATTR_ADVISE_MR_ADVICE),
    {.id = UVERBS_ATTR_ADVISE_MR_FLAGS,
     .type = KERN_ATTR_IN,
     .flags = KERN_MANDATORY_F,
     .len_min = 4,
     .len_max = 8},
    KERN_IN_BYTES(UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(struct ib_uverbs_sge), KERN_MANDATORY_F),
};

static const struct kern_attr_spec query_gid_table[] = {
    KERN_CONST_IN(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE),
    KERN_FLAGS_IN(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS),
    KERN_OUT_BYTES(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 0, KERN_MANDATORY_F),
    KERN_OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, uint64_t),
};

static const struct kern_attr_spec query_gid_entry[] = {
    KERN_CONST_IN(UVERBS_ATTR_QUERY_GID_ENTRY_PORT),
    KERN_CONST_IN(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX),
    KERN_FLAGS_IN(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS),
    KERN_OUT_STRUCT(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, struct ib_uverbs_gid_entry),
};

static const struct kern_attr_spec pd_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
};

static const struct kern_attr_spec mr_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_MR_HANDLE, KERN_MR, KERN_MANDATORY_F),
};

static const struct kern_attr_spec reg_dmabuf_mr[] = {
    KERN_NEW(UVERBS_ATTR_REG_DMABUF_MR_HANDLE),
    KERN_OBJECT(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
    KERN_IN(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, uint64_t),
    KERN_IN(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, uint64_t),
    KERN_IN(UVERBS_ATTR_REG_DMABUF_MR_IOVA, uint64_t),
    KERN_FD(UVERBS_ATTR_REG_DMABUF_MR_FD),
    KERN_FLAGS_IN(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS),
    KERN_OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, uint32_t),
    KERN_OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, uint32_t),
    KERN_FLAGS_IN(UV_MLX5_ATTR_REG_DMABUF_MR_ACCESS_FLAGS),
};

/* There are no DMA handles: KERN_FREE is no object's type. */
static const struct kern_attr_spec reg_mr[] = {
    KERN_NEW(UV_ATTR_REG_MR_HANDLE),
    KERN_OBJECT(UV_ATTR_REG_MR_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
    KERN_OBJECT(UV_ATTR_REG_MR_DMA_HANDLE, KERN_FREE, 0),
    KERN_IN(UV_ATTR_REG_MR_IOVA, uint64_t),
    KERN_IN_OPTIONAL(UV_ATTR_REG_MR_ADDR, uint64_t),
    KERN_IN(UV_ATTR_REG_MR_LENGTH, uint64_t),
    {.id = UV_ATTR_REG_MR_ACCESS_FLAGS,
     .type = KERN_ATTR_IN,
     .flags = KERN_MANDATORY_F,
     .len_min = 4,
     .len_max = 8},
    {.id = UV_ATTR_REG_MR_FD, .type = KERN_ATTR_FD},
    KERN_IN_OPTIONAL(UV_ATTR_REG_MR_FD_OFFSET, uint64_t),
    KERN_OUT(UV_ATTR_REG_MR_RESP_LKEY, uint32_t),
    KERN_OUT(UV_ATTR_REG_MR_RESP_RKEY, uint32_t),
};

static const struct kern_attr_spec ah_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_AH_HANDLE, KERN_AH, KERN_MANDATORY_F),
};

static const struct kern_attr_spec flow_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_FLOW_HANDLE, KERN_FLOW, KERN_MANDATORY_F),
};

static const struct kern_attr_spec cq_create[] = {
    KERN_NEW(UVERBS_ATTR_CREATE_CQ_HANDLE),
    KERN_IN(UVERBS_ATTR_CREATE_CQ_CQE, uint32_t),
    KERN_IN(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, uint64_t),
    KERN_CHANNEL(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0),
    KERN_IN(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, uint32_t),
    KERN_FLAGS_IN(UVERBS_ATTR_CREATE_CQ_FLAGS),
    KERN_OUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE, uint32_t),
    KERN_CHANNEL(UVERBS_ATTR_CREATE_CQ_EVENT_FD, 1),
    KERN_IN_OPTIONAL(UV_MLX5_ATTR_CREATE_CQ_UAR_INDEX, uint32_t),
};

static const struct kern_attr_spec cq_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_CQ_HANDLE, KERN_CQ, KERN_MANDATORY_F),
    KERN_OUT(UVERBS_ATTR_DESTROY_CQ_RESP, struct ib_uverbs_destroy_cq_resp),
};

static const struct kern_attr_spec srq_create[] = {
    KERN_NEW(UVERBS_ATTR_CREATE_SRQ_HANDLE),
    KERN_OBJECT(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
    KERN_CONST_IN(UVERBS_ATTR_CREATE_SRQ_TYPE),
    KERN_IN(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, uint64_t),
    KERN_IN(UVERBS_ATTR_CREATE_SRQ_MAX_WR, uint32_t),
    KERN_IN(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, uint32_t),
    KERN_IN(UVERBS_ATTR_CREATE_SRQ_LIMIT, uint32_t),
    KERN_OBJECT(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, KERN_XRCD, 0),
    KERN_OBJECT(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, KERN_CQ, 0),
    {.id = UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS,
     .type = KERN_ATTR_IN,
     .len_min = sizeof(uint32_t),
     .len_max = sizeof(uint32_t)},
    KERN_CHANNEL(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, 1),
    KERN_OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, uint32_t),
    KERN_OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, uint32_t),
    KERN_OUT_OPTIONAL(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, uint32_t),
};

static const struct kern_attr_spec srq_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_SRQ_HANDLE, KERN_SRQ, KERN_MANDATORY_F),
    KERN_OUT(UVERBS_ATTR_DESTROY_SRQ_RESP, struct ib_uverbs_destroy_srq_resp),
};

static const struct kern_attr_spec xrcd_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_XRCD_HANDLE, KERN_XRCD, KERN_MANDATORY_F),
};

static const struct kern_attr_spec wq_create[] = {
    KERN_NEW(UVERBS_ATTR_CREATE_WQ_HANDLE),
    KERN_OBJECT(UVERBS_ATTR_CREATE_WQ_PD_HANDLE, KERN_PD, KERN_MANDATORY_F),
    KERN_CONST_IN(UVERBS_ATTR_CREATE_WQ_TYPE),
    KERN_IN(UVERBS_ATTR_CREATE_WQ_USER_HANDLE, uint64_t),
    KERN_IN(UVERBS_ATTR_CREATE_WQ_MAX_WR, uint32_t),
    KERN_IN(UVERBS_ATTR_CREATE_WQ_MAX_SGE, uint32_t),
    {.id = UVERBS_ATTR_CREATE_WQ_FLAGS,
     .type = KERN_ATTR_IN,
     .flags = KERN_MANDATORY_F,
     .len_min = 4,
     .len_max = 8},
    KERN_OBJECT(UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, KERN_CQ, 0),
    KERN_CHANNEL(UVERBS_ATTR_CREATE_WQ_EVENT_FD, 1),
    KERN_OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, uint32_t),
    KERN_OUT(UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, uint32_t),
    KERN_OUT_OPTIONAL(UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, uint32_t),
};

static const struct kern_attr_spec wq_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_WQ_HANDLE, KERN_WQ, KERN_MANDATORY_F),
    KERN_OUT(UVERBS_ATTR_DESTROY_WQ_RESP, uint32_t),
};

static const struct kern_attr_spec rwq_table_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, KERN_RWQ_TABLE, KERN_MANDATORY_F),
};

static const struct kern_attr_spec qp_create[] = {
    KERN_NEW(UVERBS_ATTR_CREATE_QP_HANDLE),
    KERN_OBJECT(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, KERN_XRCD, 0),
    KERN_OBJECT(UVERBS_ATTR_CREATE_QP_PD_HANDLE, KERN_PD, 0),
    KERN_OBJECT(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, KERN_SRQ, 0),
    KERN_OBJECT(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, KERN_CQ, 0),
    KERN_OBJECT(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, KERN_CQ, 0),
    KERN_OBJECT(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, KERN_RWQ_TABLE, 0),
    KERN_IN(UVERBS_ATTR_CREATE_QP_USER_HANDLE, uint64_t),
    {.id = UVERBS_ATTR_CREATE_QP_CAP,
     .type = KERN_ATTR_IN,
     .flags = KERN_MANDATORY_F | KERN_ZERO_TRAILING_F,
     .len_min = sizeof(struct ib_uverbs_qp_cap),
     .len_max = sizeof(struct ib_uverbs_qp_cap)},
    KERN_CONST_IN(UVERBS_ATTR_CREATE_QP_TYPE),
    KERN_FLAGS_IN(UVERBS_ATTR_CREATE_QP_FLAGS),
    {.id = UVERBS_ATTR_CREATE_QP_SOURCE_QPN,
     .type = KERN_ATTR_IN,
     .len_min = sizeof(uint32_t),
     .len_max = sizeof(uint32_t)},
    KERN_CHANNEL(UVERBS_ATTR_CREATE_QP_EVENT_FD, 1),
    KERN_OUT_STRUCT(UVERBS_ATTR_CREATE_QP_RESP_CAP, struct ib_uverbs_qp_cap),
    KERN_OUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, uint32_t),
};

static const struct kern_attr_spec qp_destroy[] = {
    KERN_OBJECT(UVERBS_ATTR_DESTROY_QP_HANDLE, KERN_QP, KERN_MANDATORY_F),
    KERN_OUT(UVERBS_ATTR_DESTROY_QP_RESP, struct ib_uverbs_destroy_qp_resp),
};

static const struct kern_attr_spec async_event_alloc[] = {
    {.id = UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
     .type = KERN_ATTR_NEW_CHANNEL,
     .flags = KERN_MANDATORY_F},
};

#define KERN_CMD_IN(id_)  KERN_IN_BYTES(id_, CMD_HEADER_BYTES, KERN_MANDATORY_F)
#define KERN_CMD_OUT(id_) KERN_OUT_BYTES(id_, CMD_HEADER_BYTES, KERN_MANDATORY_F)

static const struct kern_attr_spec devx_other[] = {
    KERN_CMD_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN),
    KERN_CMD_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT),
};

static const struct kern_attr_spec devx_query_uar[] = {
    KERN_IN(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, uint32_t),
    KERN_OUT(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, uint32_t),
};

static const struct kern_attr_spec devx_query_eqn[] = {
    KERN_IN(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, uint32_t),
    KERN_OUT(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, uint32_t),
};

static const struct kern_attr_spec devx_subscribe_event[] = {
    {.id = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE,
     .type = KERN_ATTR_CHANNEL,
     .flags = KERN_MANDATORY_F,
     .object = KERN_CHANNEL_DEVX_EVENT},
    KERN_OBJECT(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, KERN_DEVX_OBJ, 0),
    KERN_IN_BYTES(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, sizeof(uint16_t),
		  KERN_MANDATORY_F),
    {.id = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM,
     .type = KERN_ATTR_IN,
     .len_min = sizeof(uint32_t),
     .len_max = sizeof(uint32_t)},
    {.id = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE,
     .type = KERN_ATTR_IN,
     .len_min = sizeof(uint64_t),
     .len_max = sizeof(uint64_t)},
};

static const struct kern_attr_spec devx_obj_create[] = {
    KERN_NEW(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE),
    KERN_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN),
    KERN_CMD_OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT),
};

static const struct kern_attr_spec devx_obj_destroy[] = {
    KERN_OBJECT(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, KERN_DEVX_OBJ, KERN_MANDATORY_F),
};

static const struct kern_attr_spec devx_obj_modify[] = {
    KERN_OBJECT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, KERN_ANY, KERN_MANDATORY_F),
    KERN_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN),
    KERN_CMD_OUT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT),
};

static const struct kern_attr_spec devx_obj_query[] = {
    KERN_OBJECT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, KERN_ANY, KERN_MANDATORY_F),
    KERN_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN),
    KERN_CMD_OUT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT),
};

static const struct kern_attr_spec devx_obj_async_query[] = {
    KERN_OBJECT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, KERN_ANY, KERN_MANDATORY_F),
    KERN_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN),
    {.id = MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD,
     .type = KERN_ATTR_CHANNEL,
     .flags = KERN_MANDATORY_F,
     .object = KERN_CHANNEL_DEVX_CMD},
    KERN_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, uint64_t),
    KERN_CONST_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN),
};

static const struct kern_attr_spec devx_umem_reg[] = {
    KERN_NEW(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE),
    KERN_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, uint64_t),
    KERN_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, uint64_t),
    KERN_FLAGS_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS),
    KERN_OUT(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, uint32_t),
    {.id = MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP,
     .type = KERN_ATTR_IN,
     .len_min = sizeof(uint64_t),
     .len_max = sizeof(uint64_t)},
};

static const struct kern_attr_spec devx_umem_dereg[] = {
    KERN_OBJECT(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, KERN_UMEM, KERN_MANDATORY_F),
};

static const struct kern_attr_spec devx_async_cmd_fd[] = {
    {.id = MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE,
     .type = KERN_ATTR_NEW_CHANNEL,
     .flags = KERN_MANDATORY_F},
};

static const struct kern_attr_spec devx_async_event_fd[] = {
    {.id = MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
     .type = KERN_ATTR_NEW_CHANNEL,
     .flags = KERN_MANDATORY_F},
    {.id = MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS,
     .type = KERN_ATTR_IN,
     .flags = KERN_MANDATORY_F,
     .len_min = 4,
     .len_max = 8},
};

static const struct kern_attr_spec var_alloc[] = {
    KERN_NEW(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE),
    KERN_OUT(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, uint64_t),
    KERN_OUT(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, uint32_t),
    KERN_OUT(MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, uint32_t),
};

static const struct kern_attr_spec var_destroy[] = {
    KERN_OBJECT(MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, KERN_VAR, KERN_MANDATORY_F),
};

static const struct kern_attr_spec pp_alloc[] = {
    KERN_NEW(MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE),
    {.id = MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX,
     .type = KERN_ATTR_IN,
     .flags = KERN_MANDATORY_F,
     .len_min = 1,
     .len_max = KERN_PP_CONTEXT_BYTES},
    {.id = MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS,
     .type = KERN_ATTR_IN,
     .flags = KERN_MANDATORY_F,
     .len_min = 4,
     .len_max = 8},
    KERN_OUT(MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, uint16_t),
};

static const struct kern_attr_spec pp_destroy[] = {
    KERN_OBJECT(MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE, KERN_PP, KERN_MANDATORY_F),
};

static const struct kern_attr_spec uar_alloc[] = {
    KERN_NEW(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE),
    KERN_CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE),
    KERN_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, uint64_t),
    KERN_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, uint32_t),
    KERN_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, uint32_t),
};

static const struct kern_attr_spec uar_destroy[] = {
    KERN_OBJECT(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, KERN_UAR, KERN_MANDATORY_F),
};

#define ROW(object_, method_, udata_, attrs_, handler_)                                \
	{                                                                              \
		.object = (object_), .method = (method_), .udata = (udata_),           \
		.attr_count = sizeof(attrs_) / sizeof((attrs_)[0]), .attrs = (attrs_), \
		.handler = (handler_)                                                  \
	}

static const struct kern_method methods[] = {
    ROW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, true, invoke_write, kern_invoke_write),
    ROW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, false, query_port, kern_query_port),
    ROW(UVERBS_OBJECT_DEVICE, UV_METHOD_QUERY_PORT_SPEED, false, query_port_speed,
	kern_query_port_speed),
    ROW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, true, get_context, kern_get_context),
    ROW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, false, query_gid_table,
	kern_query_gid_table),
    ROW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, false, query_gid_entry,
	kern_query_gid_entry),
    ROW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, false, query_context,
	kern_query_context),
    ROW(UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, false, mlx5_query_port,
	kern_mlx5_query_port),
    ROW(UVERBS_OBJECT_DEVICE, UV_MLX5_METHOD_DATA_DIRECT_PATH, false, data_direct_path,
	kern_mlx5_data_direct_path),
    ROW(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, false, query_pd, kern_query_pd),
    ROW(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, false, advise_mr, kern_advise_mr),
    ROW(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, false, query_mr, kern_query_mr),
    ROW(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, false, pd_destroy, kern_simple_destroy),
    ROW(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, false, reg_dm_mr, kern_dm_reg_mr),
    ROW(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, false, mw_destroy, kern_simple_destroy),
    ROW(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, false, dm_alloc, kern_dm_alloc),
    ROW(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, false, dm_free, kern_simple_destroy),
    ROW(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, false, dm_query, kern_dm_query),
    ROW(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, false, mr_destroy, kern_simple_destroy),
    ROW(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, false, reg_dmabuf_mr, kern_reg_dmabuf_mr),
    ROW(UVERBS_OBJECT_MR, UV_METHOD_REG_MR, true, reg_mr, kern_reg_mr),
    ROW(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, false, ah_destroy, kern_simple_destroy),
    ROW(UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY, false, flow_destroy, kern_simple_destroy),
    ROW(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, true, cq_create, kern_cq_create),
    ROW(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, false, cq_destroy, kern_cq_destroy),
    ROW(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, true, srq_create, kern_srq_create),
    ROW(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, false, srq_destroy, kern_srq_destroy),
    ROW(UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, false, xrcd_destroy, kern_simple_destroy),
    ROW(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, true, wq_create, kern_wq_create),
    ROW(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, false, wq_destroy, kern_wq_destroy),
    ROW(UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, false, rwq_table_destroy,
	kern_simple_destroy),
    ROW(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, true, qp_create, kern_qp_create),
    ROW(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, false, qp_destroy, kern_qp_destroy),
    ROW(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, false, async_event_alloc,
	kern_async_event_alloc),
    ROW(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, false, devx_other, kern_devx_other),
    ROW(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, false, devx_query_uar,
	kern_devx_query_uar),
    ROW(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, false, devx_query_eqn,
	kern_devx_query_eqn),
    ROW(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, false, devx_subscribe_event,
	kern_devx_subscribe_event),
    ROW(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, false, devx_obj_create,
	kern_devx_obj_create),
    ROW(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, false, devx_obj_destroy,
	kern_simple_destroy),
    ROW(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, false, devx_obj_modify,
	kern_devx_obj_modify),
    ROW(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, false, devx_obj_query,
	kern_devx_obj_query),
    ROW(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, false, devx_obj_async_query,
	kern_devx_obj_async_query),
    ROW(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, false, devx_umem_reg,
	kern_devx_umem_reg),
    ROW(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, false, devx_umem_dereg,
	kern_simple_destroy),
    ROW(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC, false,
	devx_async_cmd_fd, kern_devx_async_cmd_fd_alloc),
    ROW(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC, false,
	devx_async_event_fd, kern_devx_async_event_fd_alloc),
    ROW(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, false, var_alloc, kern_var_alloc),
    ROW(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, false, var_destroy,
	kern_simple_destroy),
    ROW(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, false, pp_alloc, kern_pp_alloc),
    ROW(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY, false, pp_destroy, kern_simple_destroy),
    ROW(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, false, uar_alloc, kern_uar_alloc),
    ROW(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, false, uar_destroy,
	kern_simple_destroy),
};

const struct kern_method *kern_method_find(uint16_t object, uint16_t method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].object == object && methods[i].method == method)
			return &methods[i];
	return NULL;
}
