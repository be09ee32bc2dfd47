/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5_wqe.h - work queue entries of mlx5 send, receive and shared receive queues.
 *
 * A send queue is a ring of 64-byte basic blocks; an entry starts on one, is made of segments
 * counted in 16-byte units, takes whole blocks, and wraps at the end of the ring:
 *
 *   ctrl 16 | [xrc 16] | [datagram 48] | [raddr 16] | [atomic 16 or 32] | data 16 each, or inline
 *
 * A receive entry is 2^n bytes of data segments; one that is shorter ends in lkey 0x100. An entry
 * of a shared receive queue starts with a next segment.
 *
 * Source: [mlx5dv.h]; layouts are checked against it by tests/abi. Extended atomics: [ucx-mlx5].
 */
#ifndef ABI_MLX5_WQE_H
#define ABI_MLX5_WQE_H

#include "base/be.h"

enum {
	WQE_BB_BYTES = 64, /* basic block: the unit of the send queue's producer index */
	WQE_BB_BYTES_LOG2 = 6,
	WQE_UNIT_BYTES = 16, /* the unit of ctrl.ds */
	WQE_UNITS_PER_BB = 4,
	WQE_DS_MAX = 63, /* the six bits of ctrl.ds, in units */
	WQE_LKEY_INVALID = 0x100, /* ends a receive entry's list of data segments */
	WQE_INLINE_ONE_BB_BYTES = 28, /* most inline data of a write that fits one block */
};

enum wqe_opcode {
	WQE_OP_NOP = 0x00,
	WQE_OP_SEND_INVAL = 0x01,
	WQE_OP_WRITE = 0x08,
	WQE_OP_WRITE_IMM = 0x09,
	WQE_OP_SEND = 0x0a,
	WQE_OP_SEND_IMM = 0x0b,
	WQE_OP_TSO = 0x0e,
	WQE_OP_READ = 0x10,
	WQE_OP_ATOMIC_CS = 0x11,
	WQE_OP_ATOMIC_FA = 0x12,
	WQE_OP_ATOMIC_MASKED_CS = 0x14,
	WQE_OP_ATOMIC_MASKED_FA = 0x15,
	WQE_OP_FMR = 0x19,
	WQE_OP_LOCAL_INVAL = 0x1b,
	WQE_OP_CONFIG_CMD = 0x1f,
	WQE_OP_SET_PSV = 0x20,
	WQE_OP_UMR = 0x25,
	WQE_OP_TAG_MATCHING = 0x28,
	WQE_OP_FLOW_TBL_ACCESS = 0x2c,
	WQE_OP_MMO = 0x2f,
};

/* ctrl.fm_ce_se: fence mode in bits 7..5, completion in bits 3..2, solicited event in bit 1. */
enum {
	WQE_SOLICITED_F = 1 << 1,
	WQE_CE_MASK = 3 << 2,
	WQE_CE_ON_ERROR = 0 << 2, /* a completion only if the entry fails */
	WQE_CE_ALWAYS = 2 << 2,
	WQE_FM_MASK = 7 << 5,
	WQE_FM_NONE = 0 << 5,
	WQE_FM_SMALL_FENCE = 1 << 5, /* after earlier local operations */
	WQE_FM_FENCE = 4 << 5, /* after earlier reads and atomics */
};

/* opmod of the masked atomics: 8 for 4-byte values, 9 for 8-byte ones, in general 8 | log2 - 2. */
enum {
	WQE_OPMOD_ATOMIC_32 = 0x08,
	WQE_OPMOD_ATOMIC_64 = 0x09,
};

struct wqe_ctrl_seg {
	struct be32 opmod_idx_opcode; /* opmod:8 | index of the first block:16 | opcode:8 */
	struct be32 qpn_ds; /* queue pair number:24 | 0:2 | units of the whole entry:6 */
	uint8_t signature;
	uint8_t dci_stream[2];
	uint8_t fm_ce_se;
	struct be32 imm; /* immediate data, or the key that SEND_INVAL and UMR name */
};

struct wqe_xrc_seg {
	struct be32 srqn;
	uint8_t reserved[12];
};

/* The address vector; the whole of a datagram segment. */
struct wqe_av {
	union {
		struct {
			struct be32 qkey; /* bit 31 set: the queue pair's own */
			struct be32 reserved;
		} ud;
		struct be64 dc_key;
	};
	struct be32 dqp_dct; /* WQE_AV_EXTENDED_F | destination queue pair or DC target:24 */
	uint8_t stat_rate_sl; /* static rate:4 | service level:4; Ethernet: priority << 1 */
	uint8_t fl_mlid; /* force loopback:1 | source path bits:7 */
	struct be16 rlid; /* remote LID; Ethernet: UDP source port */
	uint8_t reserved[4];
	uint8_t rmac[6];
	uint8_t tclass;
	uint8_t hop_limit;
	struct be32 grh_gid_fl; /* GRH present:1 at bit 30 | source GID index:8 at 20 | flow:20 */
	uint8_t rgid[16];
};

/* What it begins with: entries do not say it, their queue pairs do. */
enum wqe_address {
	WQE_ADDRESS_NONE, /* there is no address vector */
	WQE_ADDRESS_UD,
	WQE_ADDRESS_DC,
};

enum {
	WQE_AV_GRH_SHIFT = 30,
	WQE_AV_SGID_INDEX_SHIFT = 20,
};
#define WQE_AV_EXTENDED_F 0x80000000u
#define WQE_AV_QKEY_OF_QP_F 0x80000000u

/* Of raw packets: the frame's first bytes may stand here, before those that data segments name.
 * They start in inline_hdr and go on behind it, up to a whole unit. */
struct wqe_eth_seg {
	struct be32 reserved0;
	uint8_t cs_flags;
	uint8_t reserved1;
	struct be16 mss;
	struct be32 reserved2;
	struct be16 inline_hdr_bytes;
	uint8_t inline_hdr[2];
};

struct wqe_raddr_seg {
	struct be64 va;
	struct be32 rkey;
	struct be32 reserved;
};

struct wqe_atomic_seg {
	struct be64 swap_add;
	struct be64 compare;
};

/* Masked compare and swap of 8 bytes: two units. */
struct wqe_masked_cs64_seg {
	struct be64 swap;
	struct be64 compare;
	struct be64 swap_mask;
	struct be64 compare_mask;
};

/* Masked fetch and add of 8 bytes: a carry never crosses a bit set in field_boundary. */
struct wqe_masked_fa64_seg {
	struct be64 add;
	struct be64 field_boundary;
};

struct wqe_masked_cs32_seg {
	struct be32 swap;
	struct be32 compare;
	struct be32 swap_mask;
	struct be32 compare_mask;
};

struct wqe_masked_fa32_seg {
	struct be32 add;
	struct be32 field_boundary;
	struct be32 reserved[2];
};

/* byte_count 0 means 2^31: an empty piece is left out, never written. */
struct wqe_data_seg {
	struct be32 byte_count; /* bit 31: this is an inline segment */
	struct be32 lkey;
	struct be64 va;
};

/* Followed by that many bytes; the whole is padded to the next 16-byte unit, and may wrap. */
struct wqe_inline_seg {
	struct be32 byte_count; /* WQE_INLINE_F | length */
};
#define WQE_INLINE_F 0x80000000u
#define WQE_BYTE_COUNT_MASK 0x7fffffffu

/* What a receive entry of a queue pair with signatures begins with. */
struct wqe_receive_sig_seg {
	uint8_t reserved0[4];
	uint8_t signature;
	uint8_t reserved1[11];
};

struct wqe_srq_next_seg {
	uint8_t reserved0[2];
	struct be16 next_wqe_index;
	uint8_t signature;
	uint8_t reserved1[11];
};

_Static_assert(sizeof(struct wqe_ctrl_seg) == 16, "ctrl is one unit");
_Static_assert(sizeof(struct wqe_xrc_seg) == 16, "xrc is one unit");
_Static_assert(sizeof(struct wqe_av) == 48, "datagram is three units");
_Static_assert(sizeof(struct wqe_eth_seg) == 16, "eth is one unit");
_Static_assert(sizeof(struct wqe_raddr_seg) == 16, "raddr is one unit");
_Static_assert(sizeof(struct wqe_atomic_seg) == 16, "atomic is one unit");
_Static_assert(sizeof(struct wqe_masked_cs64_seg) == 32, "8-byte masked swap is two units");
_Static_assert(sizeof(struct wqe_masked_fa64_seg) == 16, "8-byte masked add is one unit");
_Static_assert(sizeof(struct wqe_masked_cs32_seg) == 16, "4-byte masked swap is one unit");
_Static_assert(sizeof(struct wqe_masked_fa32_seg) == 16, "4-byte masked add is one unit");
_Static_assert(sizeof(struct wqe_data_seg) == 16, "data is one unit");
_Static_assert(sizeof(struct wqe_inline_seg) == 4, "inline starts with one word");
_Static_assert(sizeof(struct wqe_srq_next_seg) == 16, "next is one unit");
_Static_assert(sizeof(struct wqe_receive_sig_seg) == 16, "signature is one unit");

/* wqe_ctrl_op - the ctrl word of an entry whose first block is the index-th since reset. */
static inline struct be32 wqe_ctrl_op(uint8_t opmod, uint16_t index, enum wqe_opcode opcode)
{
	return be32_from((uint32_t)opmod << 24 | (uint32_t)index << 8 | (uint32_t)opcode);
}

/* wqe_ctrl_qpn_ds - the ctrl word of an entry of `units` 16-byte units on queue pair qpn. */
static inline struct be32 wqe_ctrl_qpn_ds(uint32_t qpn, unsigned int units)
{
	return be32_from(qpn << 8 | units);
}

static inline uint8_t wqe_ctrl_opmod(const struct wqe_ctrl_seg *ctrl)
{
	return (uint8_t)(be32_to(ctrl->opmod_idx_opcode) >> 24);
}

static inline uint16_t wqe_ctrl_index(const struct wqe_ctrl_seg *ctrl)
{
	return (uint16_t)(be32_to(ctrl->opmod_idx_opcode) >> 8);
}

/* wqe_ctrl_opcode - the low byte as it stands; it need not be one of enum wqe_opcode. */
static inline uint8_t wqe_ctrl_opcode(const struct wqe_ctrl_seg *ctrl)
{
	return (uint8_t)be32_to(ctrl->opmod_idx_opcode);
}

static inline uint32_t wqe_ctrl_qpn(const struct wqe_ctrl_seg *ctrl)
{
	return be32_to(ctrl->qpn_ds) >> 8;
}

/* wqe_ctrl_ds - 16-byte units of the whole entry, ctrl included, 0 to 63. */
static inline unsigned int wqe_ctrl_ds(const struct wqe_ctrl_seg *ctrl)
{
	return be32_to(ctrl->qpn_ds) & WQE_DS_MAX;
}

/* wqe_bb_count - basic blocks that an entry of `units` 16-byte units takes. */
static inline unsigned int wqe_bb_count(unsigned int units)
{
	return (units + WQE_UNITS_PER_BB - 1) / WQE_UNITS_PER_BB;
}

/* wqe_inline_units - 16-byte units of an inline segment of len_bytes bytes, its word included. */
static inline unsigned int wqe_inline_units(uint32_t len_bytes)
{
	uint32_t word_bytes = (uint32_t)sizeof(struct wqe_inline_seg);

	return (len_bytes + word_bytes + WQE_UNIT_BYTES - 1) / WQE_UNIT_BYTES;
}

#endif
