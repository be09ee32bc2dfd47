/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5_cmd.h - firmware commands: the mailboxes that applications send through DevX.
 *
 * A command is big-endian 32-bit words: opcode:16 uid:16, reserved:16 op_mod:16, then what the
 * opcode asks for. The answer is status:8 at byte 0, syndrome:32 at byte 4, and the rest from byte
 * 8. Whatever an object's number is, it is 24 bits at byte 8 of both.
 *
 * A field is named by the word it lies in and its lowest bit there: CMD_FIELD(bytes, shift, bits).
 * The contexts of objects (QPC, CQC, ...) have offsets from their own start.
 *
 * Source: [rdma-core mlx5] mlx5_ifc.h, tests/mlx5_prm_structs.py; [ucx-mlx5] ib_mlx5_ifc.h;
 * [linux mlx5_ifc.h].
 */
#ifndef ABI_MLX5_CMD_H
#define ABI_MLX5_CMD_H

#include "base/be.h"

#include <stddef.h>
#include <stdint.h>

struct cmd_field {
	uint16_t word; /* byte offset, a multiple of 4 */
	uint8_t shift;
	uint8_t bits;
};

#define CMD_FIELD(word_, shift_, bits_) ((struct cmd_field){(word_), (shift_), (bits_)})

static inline uint32_t cmd_mask(struct cmd_field field)
{
	return field.bits == 32 ? UINT32_MAX : (1u << field.bits) - 1;
}

/* cmd_get, cmd_set - a field of the context or command that starts at base. */
static inline uint32_t cmd_get(const uint8_t *base, struct cmd_field field)
{
	return be32_load(base + field.word) >> field.shift & cmd_mask(field);
}

static inline void cmd_set(uint8_t *base, struct cmd_field field, uint32_t value)
{
	uint32_t mask = cmd_mask(field) << field.shift;
	uint32_t word = be32_load(base + field.word);

	be32_store(base + field.word, (word & ~mask) | (value << field.shift & mask));
}

enum cmd_opcode {
	CMD_QUERY_HCA_CAP = 0x100,
	CMD_QUERY_ADAPTER = 0x101,
	CMD_QUERY_ISSI = 0x10a,
	CMD_CREATE_MKEY = 0x200,
	CMD_QUERY_MKEY = 0x201,
	CMD_CREATE_CQ = 0x400,
	CMD_QUERY_CQ = 0x402,
	CMD_MODIFY_CQ = 0x403,
	CMD_CREATE_QP = 0x500,
	CMD_RST2INIT_QP = 0x502,
	CMD_INIT2RTR_QP = 0x503,
	CMD_RTR2RTS_QP = 0x504,
	CMD_RTS2RTS_QP = 0x505,
	CMD_SQERR2RTS_QP = 0x506,
	CMD_2ERR_QP = 0x507,
	CMD_2RST_QP = 0x50a,
	CMD_QUERY_QP = 0x50b,
	CMD_INIT2INIT_QP = 0x50e,
	CMD_CREATE_PSV = 0x600,
	CMD_CREATE_SRQ = 0x700,
	CMD_CREATE_XRC_SRQ = 0x705,
	CMD_CREATE_DCT = 0x710,
	CMD_DRAIN_DCT = 0x712,
	CMD_QUERY_DCT = 0x713,
	CMD_CREATE_XRQ = 0x717,
	CMD_QUERY_VPORT_STATE = 0x750,
	CMD_QUERY_ESW_VPORT_CONTEXT = 0x752,
	CMD_QUERY_NIC_VPORT_CONTEXT = 0x754,
	CMD_QUERY_ROCE_ADDRESS = 0x760,
	CMD_QUERY_HCA_VPORT_CONTEXT = 0x762,
	CMD_QUERY_VNIC_ENV = 0x76f,
	CMD_QUERY_VPORT_COUNTER = 0x770,
	CMD_ALLOC_Q_COUNTER = 0x771,
	CMD_CREATE_SCHEDULING_ELEMENT = 0x782,
	CMD_ALLOC_PD = 0x800,
	CMD_ATTACH_TO_MCG = 0x806,
	CMD_GET_DROPPED_PACKET_LOG = 0x80a,
	CMD_NOP = 0x80d,
	CMD_ALLOC_XRCD = 0x80e,
	CMD_ALLOC_TRANSPORT_DOMAIN = 0x816,
	CMD_QUERY_CONG_STATUS = 0x822,
	CMD_QUERY_CONG_PARAMS = 0x824,
	CMD_QUERY_CONG_STATISTICS = 0x826,
	CMD_ADD_VXLAN_UDP_DPORT = 0x827,
	CMD_SET_L2_TABLE_ENTRY = 0x829,
	CMD_QUERY_LAG = 0x842,
	CMD_CREATE_TIR = 0x900,
	CMD_MODIFY_TIR = 0x901,
	CMD_QUERY_TIR = 0x903,
	CMD_CREATE_SQ = 0x904,
	CMD_CREATE_RQ = 0x908,
	CMD_MODIFY_RQ = 0x909,
	CMD_QUERY_RQ = 0x90b,
	CMD_CREATE_RMP = 0x90c,
	CMD_MODIFY_RMP = 0x90d,
	CMD_QUERY_RMP = 0x90f,
	CMD_CREATE_TIS = 0x912,
	CMD_CREATE_RQT = 0x916,
	CMD_MODIFY_RQT = 0x917,
	CMD_QUERY_RQT = 0x919,
	CMD_CREATE_FLOW_TABLE = 0x930,
	CMD_CREATE_FLOW_GROUP = 0x933,
	CMD_SET_FLOW_TABLE_ENTRY = 0x936,
	CMD_ALLOC_FLOW_COUNTER = 0x939,
	CMD_ALLOC_PACKET_REFORMAT = 0x93d,
	CMD_ALLOC_MODIFY_HEADER = 0x940,
	CMD_CREATE_GENERAL_OBJECT = 0xa00,
	CMD_MODIFY_GENERAL_OBJECT = 0xa01,
	CMD_QUERY_GENERAL_OBJECT = 0xa02,
	CMD_GENERAL_FIRST = 0xb00, /* all from here to the next are general commands */
	CMD_GENERAL_END = 0xd00,
};

/* What a command came to: byte 0 of its answer. */
enum cmd_status {
	CMD_OK = 0x00,
	CMD_BAD_OP = 0x02,    /* no such command here */
	CMD_BAD_PARAM = 0x03, /* a field's value */
	CMD_BAD_RES = 0x05,   /* names an object that is not there, or not the caller's */
	CMD_RES_BUSY = 0x06,
	CMD_BAD_RES_STATE = 0x09,
	CMD_NO_RES = 0x0f,
	CMD_BAD_QP_STATE = 0x10,
	CMD_BAD_INP_LEN = 0x50,
};

enum {
	CMD_HEADER_BYTES = 16, /* of a command, and of its answer */
	CMD_CAP_BYTES = 4096,  /* a page of capabilities, behind the answer's header */
	CMD_CAP_SHIFT = 1,     /* op_mod of QUERY_HCA_CAP: page << 1, bit 0: as they are now */
	CMD_QPC_BYTES = 232,
	CMD_CQC_BYTES = 64,
};

#define CMD_OPCODE   CMD_FIELD(0, 16, 16)
#define CMD_OP_MOD   CMD_FIELD(4, 0, 16)
#define CMD_OBJ_TYPE CMD_FIELD(4, 0, 16) /* of a general object; bits 16.. : vhca_tunnel_id */
#define CMD_TUNNEL   CMD_FIELD(4, 16, 16)
#define CMD_NUMBER   CMD_FIELD(8, 0, 24)
#define CMD_OBJ_ID   CMD_FIELD(8, 0, 32)

#define CMD_OUT_STATUS   CMD_FIELD(0, 24, 8)
#define CMD_OUT_SYNDROME CMD_FIELD(4, 0, 32)

/* Pages of QUERY_HCA_CAP. */
enum cmd_cap_page {
	CMD_CAP_GENERAL = 0x0,
	CMD_CAP_OFFLOADS = 0x1,
	CMD_CAP_ODP = 0x2,
	CMD_CAP_ATOMIC = 0x3,
	CMD_CAP_ROCE = 0x4,
	CMD_CAP_NIC_FLOW_TABLE = 0x7,
	CMD_CAP_ESW_FLOW_TABLE = 0x8,
	CMD_CAP_ESW = 0x9,
	CMD_CAP_QOS = 0xc,
	CMD_CAP_DEVICE_MEMORY = 0xf,
	CMD_CAP_CRYPTO = 0x1a,
	CMD_CAP_GENERAL_2 = 0x20,
};
#define CMD_CAP_OTHER_FUNCTION CMD_FIELD(8, 31, 1)

/* ---- queue pairs ----------------------------------------------------------------------------- */

enum {
	CMD_QP_QPC = 0x18, /* where the context is, in CREATE_QP, the edges and QUERY_QP's answer */
	CMD_QP_WQ_UMEM_OFFSET = 0x100, /* in CREATE_QP, 64 bits */
	CMD_QP_CREATE_BYTES = 0x110,   /* and the edges are as long */
	/* Of an edge: 64 more bits of the mask, and what follows the context. Names of [rdma-core
	 * mlx5]: opt_param_mask_95_32, dci_stream_channel_id. */
	CMD_QP_OPT_MASK_HIGH = 0x108,
	CMD_QP_OPT_HIGH_DCI_STREAM = 1 << 0,
	CMD_QP_OPT_HIGH_UDP_SPORT = 1 << 2,
	CMD_QP_EXT_STREAM = 0x112,
	CMD_QP_EXTENDED_BYTES = 464,
};
#define CMD_QP_OPT_MASK   CMD_FIELD(0x10, 0, 32) /* of an edge: optional parameters */
#define CMD_QP_EXTENDED   CMD_FIELD(8, 31, 1)    /* of an edge: more follows the context */
#define CMD_QP_WQ_UMEM_ID CMD_FIELD(0x108, 0, 32)
#define CMD_QP_ECE        CMD_FIELD(0x14, 0, 32) /* of CREATE_QP, an edge, QUERY_QP's answer */
#define CMD_OUT_ECE       CMD_FIELD(0x0c, 0, 32) /* of the answers of CREATE_QP and an edge */

/* Bits of CMD_QP_OPT_MASK [linux mlx5/qp.h mlx5_qp_optpar]. */
enum {
	CMD_QP_OPT_RRE = 1 << 1,
	CMD_QP_OPT_RAE = 1 << 2,
	CMD_QP_OPT_RWE = 1 << 3,
	CMD_QP_OPT_PKEY_INDEX = 1 << 4,
	CMD_QP_OPT_RNR_TIMEOUT = 1 << 6,
	CMD_QP_OPT_PM_STATE = 1 << 10,
	CMD_QP_OPT_DRAIN_SIGERR = 1 << 11, /* of INIT2INIT [rdma-core mlx5] */
	CMD_QP_OPT_PORT = 1 << 16,
};

enum cmd_qpc_type {
	CMD_QPC_RC = 0x0,
	CMD_QPC_UC = 0x1,
	CMD_QPC_UD = 0x2,
	CMD_QPC_XRC = 0x3,
	CMD_QPC_DCI = 0x5,
};

enum cmd_qpc_rq {
	CMD_QPC_RQ_OWN = 0,
	CMD_QPC_RQ_SHARED = 1, /* a shared receive queue or RMP, by its number */
	CMD_QPC_RQ_NONE = 3,
};

enum cmd_qpc_state {
	CMD_QPC_STATE_RST = 0,
	CMD_QPC_STATE_INIT = 1,
	CMD_QPC_STATE_RTR = 2,
	CMD_QPC_STATE_RTS = 3,
	CMD_QPC_STATE_SQER = 4,
	CMD_QPC_STATE_SQDRAINED = 5,
	CMD_QPC_STATE_ERR = 6,
	CMD_QPC_STATE_SQD = 7,
};

#define CMD_QPC_STATE_NOW     CMD_FIELD(0x00, 28, 4)
#define CMD_QPC_TYPE          CMD_FIELD(0x00, 16, 8)
#define CMD_QPC_PM_STATE      CMD_FIELD(0x00, 11, 2) /* 3: migrated, no other path */
#define CMD_QPC_DRAIN_SIGERR  CMD_FIELD(0x04, 26, 1)
#define CMD_QPC_PD            CMD_FIELD(0x04, 0, 24)
#define CMD_QPC_MTU           CMD_FIELD(0x08, 29, 3) /* enum uv_mtu */
#define CMD_QPC_LOG_MSG_MAX   CMD_FIELD(0x08, 24, 5)
#define CMD_QPC_LOG_RQ_SIZE   CMD_FIELD(0x08, 19, 4)
#define CMD_QPC_LOG_RQ_STRIDE CMD_FIELD(0x08, 16, 3) /* 16 bytes << it */
#define CMD_QPC_NO_SQ         CMD_FIELD(0x08, 15, 1)
#define CMD_QPC_LOG_SQ_SIZE   CMD_FIELD(0x08, 11, 4) /* in blocks of 64 bytes */
#define CMD_QPC_UAR           CMD_FIELD(0x0c, 0, 24)
#define CMD_QPC_USER_INDEX    CMD_FIELD(0x10, 0, 24)
#define CMD_QPC_REMOTE_QPN    CMD_FIELD(0x14, 0, 24)
#define CMD_QPC_LOG_SRA_MAX   CMD_FIELD(0x70, 21, 3)
#define CMD_QPC_RETRY_COUNT   CMD_FIELD(0x70, 16, 3)
#define CMD_QPC_RNR_RETRY     CMD_FIELD(0x70, 13, 3)
#define CMD_QPC_PACING_INDEX  CMD_FIELD(0x74, 0, 16)
#define CMD_QPC_SEND_PSN      CMD_FIELD(0x78, 0, 24)
#define CMD_QPC_LOG_STREAMS   CMD_FIELD(0x7c, 24, 5) /* DCI: that run at once; 0: one */
#define CMD_QPC_CQN_SEND      CMD_FIELD(0x7c, 0, 24)
#define CMD_QPC_LOG_FAILED    CMD_FIELD(0x80, 24, 5) /* DCI: streams that may fail before it does */
#define CMD_QPC_LOG_RRA_MAX   CMD_FIELD(0x90, 21, 3)
#define CMD_QPC_RRE           CMD_FIELD(0x90, 15, 1)
#define CMD_QPC_RWE           CMD_FIELD(0x90, 14, 1)
#define CMD_QPC_RAE           CMD_FIELD(0x90, 13, 1)
#define CMD_QPC_MIN_RNR_NAK   CMD_FIELD(0x94, 24, 5)
#define CMD_QPC_RECV_PSN      CMD_FIELD(0x94, 0, 24)
#define CMD_QPC_CQN_RECV      CMD_FIELD(0x9c, 0, 24)
#define CMD_QPC_RQ_TYPE       CMD_FIELD(0xac, 24, 3)
#define CMD_QPC_SRQN          CMD_FIELD(0xac, 0, 24)
#define CMD_QPC_SQ_COUNTER    CMD_FIELD(0xb4, 16, 16) /* the next block that is executed */
#define CMD_QPC_DBR_UMEM_ID   CMD_FIELD(0xe4, 0, 32)
enum { CMD_QPC_DBR_OFFSET = 0xa0, CMD_QPC_PATH = 0x18 };

/* The address path, from its own start. */
#define CMD_ADS_PKEY_INDEX  CMD_FIELD(0x00, 0, 16)
#define CMD_ADS_GRH         CMD_FIELD(0x04, 23, 1)
#define CMD_ADS_RLID        CMD_FIELD(0x04, 0, 16)
#define CMD_ADS_ACK_TIMEOUT CMD_FIELD(0x08, 27, 5)
#define CMD_ADS_SGID_INDEX  CMD_FIELD(0x08, 16, 8)
#define CMD_ADS_HOP_LIMIT   CMD_FIELD(0x08, 0, 8)
#define CMD_ADS_TCLASS      CMD_FIELD(0x0c, 20, 8)
#define CMD_ADS_FLOW_LABEL  CMD_FIELD(0x0c, 0, 20)
#define CMD_ADS_DSCP        CMD_FIELD(0x20, 16, 6)
#define CMD_ADS_UDP_SPORT   CMD_FIELD(0x20, 0, 16)
#define CMD_ADS_ETH_PRIO    CMD_FIELD(0x24, 28, 3)
#define CMD_ADS_SL          CMD_FIELD(0x24, 24, 4)
#define CMD_ADS_PORT        CMD_FIELD(0x24, 16, 8)
enum { CMD_ADS_DGID = 0x10 };

/* ---- targets of dynamically connected queue pairs -------------------------------------------- */

enum {
	CMD_DCT_DCTC = 0x10, /* where the context is, in CREATE_DCT and QUERY_DCT's answer */
	CMD_DCTC_KEY = 0x20, /* 64 bits */
	CMD_DCTC_BYTES = 64,
};

enum cmd_dctc_state {
	CMD_DCTC_STATE_ACTIVE = 0,
	CMD_DCTC_STATE_DRAINED = 2,
};

#define CMD_DCTC_STATE       CMD_FIELD(0x00, 24, 4)
#define CMD_DCTC_USER_INDEX  CMD_FIELD(0x04, 0, 24)
#define CMD_DCTC_CQN         CMD_FIELD(0x08, 0, 24)
#define CMD_DCTC_RRE         CMD_FIELD(0x0c, 19, 1)
#define CMD_DCTC_RWE         CMD_FIELD(0x0c, 18, 1)
#define CMD_DCTC_RAE         CMD_FIELD(0x0c, 17, 1)
#define CMD_DCTC_MIN_RNR_NAK CMD_FIELD(0x10, 8, 5)
#define CMD_DCTC_SRQN        CMD_FIELD(0x14, 0, 24)
#define CMD_DCTC_PD          CMD_FIELD(0x18, 0, 24)
#define CMD_DCTC_MTU         CMD_FIELD(0x28, 24, 3) /* enum uv_mtu */
#define CMD_DCTC_PORT        CMD_FIELD(0x28, 16, 8)
#define CMD_DCTC_PKEY_INDEX  CMD_FIELD(0x28, 0, 16)
#define CMD_DCTC_SGID_INDEX  CMD_FIELD(0x2c, 16, 8)

/* ---- completion queues ----------------------------------------------------------------------- */

enum {
	CMD_CQ_CQC = 0x10, /* where the context is */
	CMD_CQ_UMEM_OFFSET = 0x50,
	CMD_CQ_CREATE_BYTES = 0x110,
};
#define CMD_CQ_UMEM_ID     CMD_FIELD(0x58, 0, 32)
#define CMD_CQC_CQE_SIZE   CMD_FIELD(0x00, 21, 3) /* 0: 64 bytes, 1: 128 */
#define CMD_CQC_OVERRUN    CMD_FIELD(0x00, 17, 1) /* ignored */
#define CMD_CQC_COMPRESSED CMD_FIELD(0x00, 14, 1)
#define CMD_CQC_DBR_UMEM   CMD_FIELD(0x04, 0, 32)
#define CMD_CQC_LOG_SIZE   CMD_FIELD(0x0c, 24, 5)
#define CMD_CQC_UAR        CMD_FIELD(0x0c, 0, 24)
#define CMD_CQC_EQN        CMD_FIELD(0x14, 0, 8)
enum { CMD_CQC_DBR_OFFSET = 0x38 };

/* ---- receive memory pools -------------------------------------------------------------------- */

enum {
	CMD_RMP_WQ = 0x50, /* where the work queue's part of the context is */
	CMD_RMP_IN_BYTES = CMD_RMP_WQ + 0x30,
	CMD_WQ_DBR_OFFSET = 0x10,
	CMD_WQ_UMEM_OFFSET = 0x30, /* 64 bits each */
};

enum cmd_wq_type {
	CMD_WQ_LIST = 0, /* each entry names the next */
	CMD_WQ_CYCLIC = 1,
};

#define CMD_WQ_TYPE        CMD_FIELD(0x00, 28, 4)
#define CMD_WQ_SIGNATURE   CMD_FIELD(0x00, 27, 1)
#define CMD_WQ_PD          CMD_FIELD(0x08, 0, 24)
#define CMD_WQ_LOG_STRIDE  CMD_FIELD(0x20, 16, 4) /* of bytes */
#define CMD_WQ_LOG_SIZE    CMD_FIELD(0x20, 0, 5)
#define CMD_WQ_DBR_UMEM_ID CMD_FIELD(0x28, 0, 32)
#define CMD_WQ_UMEM_ID     CMD_FIELD(0x2c, 0, 32)

/* ---- receive queues, tables of them, and what spreads frames over a table -------------------- */

enum {
	CMD_RSS_MODIFY_MASK = 0x10, /* of what changes one, 64 bits */
	CMD_RSS_CONTEXT = 0x20,     /* where the context is, of all three kinds and their answers */
	CMD_RQC_WQ = 0x30,          /* in the context: as that of a receive memory pool */
	CMD_RQC_BYTES = CMD_RQC_WQ + 0xc0,
	CMD_RQTC_LIST = 0xf0, /* in the context: a number a word */
	CMD_TIRC_KEY = 0x28,  /* in the context: 40 bytes */
	CMD_TIRC_BYTES = 0xf0,
};

enum cmd_rqc_state {
	CMD_RQC_STATE_RST = 0,
	CMD_RQC_STATE_RDY = 1,
	CMD_RQC_STATE_ERR = 3,
};

#define CMD_RQ_STATE         CMD_FIELD(0x08, 28, 4) /* of MODIFY_RQ: the one that it is in */
#define CMD_RQC_RESERVED_KEY CMD_FIELD(0x00, 31, 1)
#define CMD_RQC_DELAY_DROP   CMD_FIELD(0x00, 30, 1)
#define CMD_RQC_FCS          CMD_FIELD(0x00, 29, 1) /* frames with their check sequence */
#define CMD_RQC_KEEP_VLAN    CMD_FIELD(0x00, 28, 1) /* tags are not taken out */
#define CMD_RQC_MEMORY       CMD_FIELD(0x00, 24, 4) /* 0: its own ring */
#define CMD_RQC_STATE        CMD_FIELD(0x00, 20, 4)
#define CMD_RQC_FLUSH        CMD_FIELD(0x00, 18, 1)
#define CMD_RQC_HAIRPIN      CMD_FIELD(0x00, 17, 1)
#define CMD_RQC_TIME         CMD_FIELD(0x00, 4, 2) /* format: 0, 1: a free running clock's */
#define CMD_RQC_USER_INDEX   CMD_FIELD(0x04, 0, 24)
#define CMD_RQC_CQN          CMD_FIELD(0x08, 0, 24)
#define CMD_RQC_COUNTERS     CMD_FIELD(0x0c, 24, 8)

enum { CMD_RQT_CHANGE_LIST = 1 };                  /* CMD_RSS_MODIFY_MASK of MODIFY_RQT */
#define CMD_RQTC_QUEUE_TYPE CMD_FIELD(0x14, 24, 3) /* 0: receive queues */
#define CMD_RQTC_MAX_SIZE   CMD_FIELD(0x14, 0, 16)
#define CMD_RQTC_SIZE       CMD_FIELD(0x18, 0, 16)

enum cmd_tirc_kind {
	CMD_TIRC_DIRECT = 0, /* to one queue */
	CMD_TIRC_INDIRECT = 1,
};

enum cmd_tirc_hash {
	CMD_TIRC_HASH_NONE = 0,
	CMD_TIRC_HASH_TOEPLITZ = 2,
};

#define CMD_TIRC_KIND      CMD_FIELD(0x04, 28, 4)
#define CMD_TIRC_TLS       CMD_FIELD(0x04, 27, 1)
#define CMD_TIRC_MERGE     CMD_FIELD(0x10, 8, 4) /* packets into one */
#define CMD_TIRC_RQN       CMD_FIELD(0x1c, 0, 24)
#define CMD_TIRC_SYMMETRIC CMD_FIELD(0x20, 31, 1)
#define CMD_TIRC_TUNNELED  CMD_FIELD(0x20, 29, 1)
#define CMD_TIRC_RQTN      CMD_FIELD(0x20, 0, 24)
#define CMD_TIRC_HASH      CMD_FIELD(0x24, 28, 4)
#define CMD_TIRC_NOT_OWN   CMD_FIELD(0x24, 24, 2) /* what this host sends does not come */
#define CMD_TIRC_DOMAIN    CMD_FIELD(0x24, 0, 24)
#define CMD_TIRC_IPV6      CMD_FIELD(0x50, 31, 1) /* else IPv4 */
#define CMD_TIRC_UDP       CMD_FIELD(0x50, 30, 1) /* else TCP */
#define CMD_TIRC_FIELDS    CMD_FIELD(0x50, 0, 30) /* CMD_TIRC_* */
#define CMD_TIRC_INNER     CMD_FIELD(0x54, 0, 32)
enum {
	CMD_TIRC_SRC_IP = 1 << 0,
	CMD_TIRC_DST_IP = 1 << 1,
	CMD_TIRC_SRC_PORT = 1 << 2,
	CMD_TIRC_DST_PORT = 1 << 3,
};

/* ---- memory keys ----------------------------------------------------------------------------- */

enum {
	CMD_MKEY_MKC = 0x10, /* where the context is */
	CMD_MKEY_UMEM_OFFSET = 0x68,
	CMD_MKEY_KLMS = 0x110, /* the list of pieces: byte_count:32 key:32 address:64 each */
};
#define CMD_MKEY_ACTUAL_COUNT CMD_FIELD(0x60, 0, 32) /* of pieces in the list */
#define CMD_MKEY_UMEM_ID      CMD_FIELD(0x64, 0, 32)

enum cmd_mkc_mode {
	CMD_MKC_MODE_PA = 0,
	CMD_MKC_MODE_MTT = 1, /* pages, here of a umem */
	CMD_MKC_MODE_KLM = 2,
	CMD_MKC_MODE_KSM = 3,
};

#define CMD_MKC_FREE              CMD_FIELD(0x00, 30, 1)
#define CMD_MKC_MODE_HIGH         CMD_FIELD(0x00, 26, 3)
#define CMD_MKC_UMR               CMD_FIELD(0x00, 15, 1)
#define CMD_MKC_ATOMIC            CMD_FIELD(0x00, 14, 1)
#define CMD_MKC_RW                CMD_FIELD(0x00, 13, 1)
#define CMD_MKC_RR                CMD_FIELD(0x00, 12, 1)
#define CMD_MKC_LW                CMD_FIELD(0x00, 11, 1)
#define CMD_MKC_LR                CMD_FIELD(0x00, 10, 1)
#define CMD_MKC_MODE              CMD_FIELD(0x00, 8, 2)
#define CMD_MKC_QPN               CMD_FIELD(0x04, 8, 24)
#define CMD_MKC_TAG               CMD_FIELD(0x04, 0, 8)
#define CMD_MKC_LENGTH64          CMD_FIELD(0x0c, 31, 1)
#define CMD_MKC_BSF               CMD_FIELD(0x0c, 30, 1)
#define CMD_MKC_REMOTE_INVALIDATE CMD_FIELD(0x0c, 24, 1)
#define CMD_MKC_PD                CMD_FIELD(0x0c, 0, 24)
#define CMD_MKC_COUNT             CMD_FIELD(0x34, 0, 32) /* of pieces that there is room for */
#define CMD_MKC_LOG_ENTITY        CMD_FIELD(0x38, 0, 5)
#define CMD_MKC_CRYPTO            CMD_FIELD(0x3c, 27, 2)
enum { CMD_MKC_START = 0x10, CMD_MKC_LEN = 0x18 };

/* ---- the rest -------------------------------------------------------------------------------- */

/* CREATE_PSV; the first one's number in the answer. */
#define CMD_PSV_COUNT CMD_FIELD(0x08, 28, 4)
#define CMD_PSV_PD    CMD_FIELD(0x08, 0, 24)
#define CMD_PSV_FIRST CMD_FIELD(0x10, 0, 24)
enum { CMD_PSV_OUT_BYTES = 0x20 };

enum cmd_general_object {
	CMD_OBJ_RESERVED_QPN = 0x2c,
	CMD_OBJ_AV_QP_MAPPING = 0x3a,
};
#define CMD_OBJ_LOG_RANGE CMD_FIELD(0x0c, 24, 5) /* of CREATE_GENERAL_OBJECT */

/*
 * AV_QP_MAPPING: a destination gets the congestion control of a queue pair. Behind its header are
 * 64 bits of mask, 32 reserved, the queue pair's number, and a struct wqe_av [abi/mlx5_wqe.h]; of
 * that only the service level (on Ethernet the priority << 1), the source GID index and the remote
 * GID are filled in [rdma-core mlx5].
 */
#define CMD_MAP_QPN CMD_FIELD(0x1c, 0, 32)
enum {
	CMD_MAP_AV = 0x20,
	CMD_MAP_IN_BYTES = 0x50,
};

/* QUERY_LAG's answer needs no field: all zero is "no LAG". */

/* QUERY_HCA_VPORT_CONTEXT: the context starts behind the answer's header. */
enum {
	CMD_VPORT_CONTEXT_BYTES = 512,
	CMD_VPORT_SYSTEM_GUID = 0x28, /* 64 bits each */
	CMD_VPORT_PORT_GUID = 0x30,
	CMD_VPORT_NODE_GUID = 0x38,
};
#define CMD_VPORT_IN_OTHER CMD_FIELD(8, 31, 1)
#define CMD_VPORT_IN_PORT  CMD_FIELD(8, 16, 4)
#define CMD_VPORT_PHYSICAL CMD_FIELD(0x20, 12, 4)
#define CMD_VPORT_STATE    CMD_FIELD(0x20, 4, 4)
#define CMD_VPORT_VSTATE   CMD_FIELD(0x20, 0, 4)
#define CMD_VPORT_LID      CMD_FIELD(0x60, 16, 16)
#define CMD_VPORT_SM_LID   CMD_FIELD(0x64, 16, 16)

/* ---- events ---------------------------------------------------------------------------------- */

enum cmd_event {
	CMD_EVENT_COMP = 0x00,
	CMD_EVENT_PATH_MIG = 0x01,
	CMD_EVENT_COMM_EST = 0x02,
	CMD_EVENT_SQ_DRAINED = 0x03,
	CMD_EVENT_CQ_ERROR = 0x04,
	CMD_EVENT_WQ_CATAS_ERROR = 0x05,
	CMD_EVENT_PATH_MIG_FAILED = 0x07,
	CMD_EVENT_PORT_CHANGE = 0x09,
	CMD_EVENT_WQ_INVAL_REQ_ERROR = 0x10,
	CMD_EVENT_WQ_ACCESS_ERROR = 0x11,
	CMD_EVENT_SRQ_CATAS_ERROR = 0x12,
	CMD_EVENT_LAST_WQE = 0x13,
	CMD_EVENT_SRQ_LIMIT = 0x14,
	CMD_EVENT_XRQ_ERROR = 0x18,
	CMD_EVENT_DCT_DRAINED = 0x1c,
	CMD_EVENT_DCT_KEY_VIOLATION = 0x1d,
};

/* An entry of an event queue: what an event channel with data delivers behind the cookie. */
enum {
	CMD_EQE_BYTES = 64,
	CMD_EQE_PORT_ACTIVE = 4, /* subtypes of PORT_CHANGE */
	CMD_EQE_PORT_DOWN = 1,
	CMD_EQE_QUEUE_QP = 0, /* [linux mlx5 device.h] MLX5_EVENT_QUEUE_TYPE_* */
	CMD_EQE_QUEUE_RQ = 1,
	CMD_EQE_CQ_ERR_OVERRUN = 1, /* syndromes of CQ_ERROR [linux mlx5 cq.h mlx5_cq_err] */
	CMD_EQE_CQ_ERR_ACCESS = 2,
};
#define CMD_EQE_TYPE            CMD_FIELD(0x00, 16, 8)
#define CMD_EQE_SUBTYPE         CMD_FIELD(0x00, 0, 8)
#define CMD_EQE_COMP_CQN        CMD_FIELD(0x38, 0, 24)
#define CMD_EQE_CQ_ERR_CQN      CMD_FIELD(0x20, 0, 24)
#define CMD_EQE_CQ_ERR_SYNDROME CMD_FIELD(0x28, 0, 8)
#define CMD_EQE_QP_TYPE         CMD_FIELD(0x34, 24, 8) /* CMD_EQE_QUEUE_* */
#define CMD_EQE_QP_SRQ_N        CMD_FIELD(0x38, 0, 24)
#define CMD_EQE_PORT            CMD_FIELD(0x28, 28, 4)

#endif
