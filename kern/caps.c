/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caps.c - QUERY_HCA_CAP: what the device can do, one line a field, page by page.
 *
 * Truth before features: a line stands here only if the device keeps what it says; everything else
 * is zero. Who makes something work adds its line. Offsets and names are those of [rdma-core mlx5]
 * mlx5_ifc.h; a line's comment says who reads it.
 */
#include "kern/devx.h"

#include "base/ring.h"
#include "nic/nic_rss.h"

#include <string.h>

enum {
	RESERVED_QPN_LOG_GRANULARITY = 0,
	MMO_BYTES_LOG2_MAX = 26, /* the nic does 31, but a program may try the next size */
	KEYS_DEEP = 4,           /* as the nic follows them */
	KLM_COUNT_LOG2_MAX = 12, /* what a command holds */
};

static void set(uint8_t *page, uint16_t word, uint8_t shift, uint8_t bits, uint32_t value)
{
	cmd_set(page, CMD_FIELD(word, shift, bits), value);
}

static uint32_t log2_of(uint32_t count)
{
	return ring_log2_ceil(count);
}

/* clang-format off */
static void general(const struct kern *kern, uint8_t *cap)
{
	const struct kern_config *config = &kern->config;
	const struct nic_config *limits = &config->limits;
	uint32_t reads = log2_of(limits->rd_atomic_max);
	uint32_t rmps = limits->srq_count_max ? log2_of(limits->srq_count_max) : 0;

	set(cap, 0x04, 31, 1, 1);                             /* hca_cap_2: libmlx5 */
	set(cap, 0x10, 16, 8, log2_of(KERN_WQEBB_COUNT_MAX)); /* log_max_qp_sz */
	set(cap, 0x10, 0, 5, log2_of(limits->qp_count_max));  /* log_max_qp */
	set(cap, 0x18, 16, 8, KERN_CQE_COUNT_LOG2_MAX);       /* log_max_cq_sz */
	set(cap, 0x18, 0, 5, log2_of(limits->cq_count_max));  /* log_max_cq */
	set(cap, 0x1c, 16, 6, log2_of(limits->mkey_count_max));/* log_max_mkey */
	set(cap, 0x0c, 16, 5, MMO_BYTES_LOG2_MAX);            /* log_dma_mmo_max_size: libmlx5 */
	set(cap, 0x20, 24, 8, KEYS_DEEP);                     /* max_indirection */
	set(cap, 0x20, 23, 1, 1);                             /* fixed_buffer_size: UCX (KSM) */
	set(cap, 0x20, 0, 6, KLM_COUNT_LOG2_MAX);             /* log_max_klm_list_size */
	set(cap, 0x24, 16, 6, reads);                         /* log_max_ra_req_dc: UCX */
	set(cap, 0x24, 0, 6, reads);                          /* log_max_ra_res_dc */
	set(cap, 0x24, 29, 1, 1);                             /* qpc_extension: DCI streams */
	set(cap, 0x28, 16, 6, reads);                         /* log_max_ra_req_qp */
	set(cap, 0x28, 14, 1, !config->link_infiniband);      /* rts2rts_qp_udp_sport: libmlx5 */
	set(cap, 0x28, 0, 6, reads);                          /* log_max_ra_res_qp */
	set(cap, 0x34, 8, 2, !config->link_infiniband);       /* port_type: test_mlx5_devx */
	set(cap, 0x34, 0, 8, KERN_PORT);                      /* num_ports: the same */
	/* UCX uses DevX where this is 30, and then needs RMPs [ucx-mlx5]. */
	set(cap, 0x38, 24, 5, rmps ? config->message_max_bytes_log2 : 0); /* log_max_msg */
	set(cap, 0x38, 31, 1, 1);                             /* ece_support */
	set(cap, 0x70, 24, 5, rmps);                          /* log_max_rmp */
	set(cap, 0x3c, 0, 4, 1);                              /* cqe_version */
	set(cap, 0x40, 5, 1, limits->dc_responder_count_max != 0); /* dct: UCX */
	set(cap, 0x40, 2, 1, !config->link_infiniband);       /* roce */
	set(cap, 0x40, 1, 1, 1);                              /* atomic: UCX */
	set(cap, 0x44, 14, 1, 1);                             /* imaicl: memory windows */
	set(cap, 0x44, 31, 1, 1);                             /* cq_oi: overrun may be ignored */
	set(cap, 0x44, 2, 1, 1);                              /* ud */
	set(cap, 0x44, 1, 1, 1);                              /* uc */
	set(cap, 0x44, 0, 1, 1);                              /* rc */
	set(cap, 0x48, 31, 1, 1);                             /* uar_4k */
	set(cap, 0x48, 0, 8, UV_MLX5_PAGE_BYTES_LOG2);        /* log_pg_sz */
	set(cap, 0x4c, 31, 1, 1);                             /* bf: BlueFlame */
	set(cap, 0x4c, 16, 5, log2_of(KERN_BLUEFLAME_BYTES)); /* log_bf_reg_size */
	set(cap, 0x50, 0, 16, KERN_WQE_SEND_BYTES_MAX);       /* max_wqe_sz_sq */
	set(cap, 0x54, 0, 16, KERN_WQE_RECV_BYTES_MAX);       /* max_wqe_sz_rq */
	set(cap, 0x64, 16, 5, log2_of(limits->pd_count_max)); /* log_max_pd */
	set(cap, 0x80, CMD_OBJ_RESERVED_QPN - 32, 1, 1);      /* general_obj_types */
	set(cap, 0x80, CMD_OBJ_AV_QP_MAPPING - 32, 1, !config->ah_map_off);
	set(cap, 0xe8, 23, 1, 1);                             /* dma_mmo_qp: libmlx5 */
}

static void general_2(const struct kern *kern, uint8_t *cap)
{
	(void)kern;
	set(cap, 0x10, 8, 5, RESERVED_QPN_LOG_GRANULARITY);   /* log_reserved_qpn_granularity */
}

static void atomics(const struct kern *kern, uint8_t *cap)
{
	(void)kern;
	set(cap, 0x08, 30, 2, 1);     /* atomic_req_8B_endianness_mode: 8 bytes as the host */
	set(cap, 0x10, 0, 16, 0xf);   /* atomic_operations: swap, add, and both with masks */
	set(cap, 0x14, 0, 16, 4 | 8); /* atomic_size_qp */
	set(cap, 0x18, 0, 16, 4 | 8); /* atomic_size_dc */
}

/* Regions on demand; what other transports do with them query_device_ex says. */
static void on_demand(const struct kern *kern, uint8_t *cap)
{
	(void)kern;
	set(cap, 0x20, 26, 6, 0x3f);  /* dc: send, receive, write, read, atomic, SRQ receive */
}

static void device_memory(const struct kern *kern, uint8_t *cap)
{
	uint32_t bytes = (uint32_t)kern_dm_bytes_max(kern);

	set(cap, 0x00, 31, 1, 1);     /* memic */
	set(cap, 0x04, 16, 5, 6);     /* log_min_memic_alloc_size */
	set(cap, 0x04, 0, 8, 6);      /* log_max_memic_addr_alignment, in units of 64 bytes */
	set(cap, 0x10, 0, 32, bytes); /* memic_bar_size */
	set(cap, 0x14, 0, 32, bytes); /* max_memic_size */
}
/* clang-format on */

/* Signatures of blocks, part of the general page: libmlx5. */
static void signatures(uint8_t *cap)
{
	set(cap, 0x28, 24, 1, 1); /* sig_crc64_xp10 */
	set(cap, 0x28, 23, 1, 1); /* sig_crc32c */
	set(cap, 0x3c, 15, 1, 1); /* sig_block_4048 */
	set(cap, 0x40, 16, 1, 1); /* drain_sigerr */
	set(cap, 0x40, 13, 1, 1); /* sigerr_cqe */
	set(cap, 0x40, 8, 1, 1);  /* sho */
	set(cap, 0x90, 31, 1, 1); /* sigerr_domain_and_sig_type */
}

/* Streams of DC initiators, likewise: UCX. */
static void streams(const struct kern *kern, uint8_t *cap)
{
	if (kern->config.limits.dc_responder_count_max == 0)
		return;
	set(cap, 0xb0, 16, 5, KERN_DCI_STREAMS_LOG2_MAX);       /* log_max_dci_stream_channels */
	set(cap, 0xb0, 8, 5, KERN_DCI_STREAMS_FAILED_LOG2_MAX); /* log_max_dci_errored_streams */
}

/* Receive queues, tables and hashes, likewise: DPDK. */
static void spreading(const struct kern *kern, uint8_t *cap)
{
	if (kern->config.link_infiniband)
		return;
	set(cap, 0x6c, 24, 5, log2_of(kern->config.limits.qp_count_max)); /* log_max_rq */
	set(cap, 0x6c, 8, 5, log2_of(NIC_TIRS_MAX));                      /* log_max_tir */
	set(cap, 0x70, 16, 5, log2_of(NIC_RQTS_MAX));                     /* log_max_rqt */
	set(cap, 0x70, 8, 5, NIC_RQT_LOG2_MAX);                           /* log_max_rqt_size */
}

static void general_all(const struct kern *kern, uint8_t *cap)
{
	general(kern, cap);
	signatures(cap);
	streams(kern, cap);
	spreading(kern, cap);
}

/* A page that says nothing: there is none of what it is about. */
static void nothing(const struct kern *kern, uint8_t *cap)
{
	(void)kern;
	(void)cap;
}

static const struct {
	enum cmd_cap_page page;
	void (*fill)(const struct kern *kern, uint8_t *cap);
} pages[] = {
    {CMD_CAP_GENERAL, general_all},
    {CMD_CAP_OFFLOADS, nothing},
    {CMD_CAP_ODP, on_demand},
    {CMD_CAP_ATOMIC, atomics},
    {CMD_CAP_ROCE, nothing},
    {CMD_CAP_NIC_FLOW_TABLE, nothing},
    {CMD_CAP_ESW_FLOW_TABLE, nothing},
    {CMD_CAP_ESW, nothing},
    {CMD_CAP_QOS, nothing},
    {CMD_CAP_DEVICE_MEMORY, device_memory},
    {CMD_CAP_CRYPTO, nothing},
    {CMD_CAP_GENERAL_2, general_2},
};

enum cmd_status kern_cmd_query_hca_cap(struct kern_cmd *cmd)
{
	uint32_t page = cmd_get(cmd->in, CMD_OP_MOD) >> CMD_CAP_SHIFT;

	if (cmd_get(cmd->in, CMD_CAP_OTHER_FUNCTION))
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_CAP_OTHER_FUNCTION.word);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (pages[i].page != page)
			continue;
		pages[i].fill(cmd->call->kern, cmd->out + CMD_HEADER_BYTES);
		return CMD_OK;
	}
	return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_OP_MOD.word);
}
