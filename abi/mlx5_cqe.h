/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5_cqe.h - completion queue entries of mlx5, 64 bytes each.
 *
 * The last byte is op_own: opcode:4 | inline scatter:2 | solicited:1 | owner:1. A completion queue
 * of 2^n entries is written lap by lap; the owner bit of the k-th entry ever written is bit n of k,
 * and op_own is stored last. A fresh ring holds CQE_INVALID with any owner bit.
 *
 * Source: [mlx5dv.h mlx5_cqe64, mlx5_err_cqe]; layouts are checked against it by tests/abi.
 */
#ifndef ABI_MLX5_CQE_H
#define ABI_MLX5_CQE_H

#include "base/be.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	CQE_BYTES = 64,
	CQE_OWNER_MASK = 1,
	CQE_SOLICITED_F = 1 << 1,
	CQE_INLINE_SCATTER_32_F = 1 << 2,
	CQE_INLINE_SCATTER_64_F = 1 << 3,
	CQE_OPCODE_SHIFT = 4,
	CQE_OP_OWN_INIT = 0xf0, /* what a driver fills a fresh ring's op_own with */
};

enum cqe_opcode {
	CQE_REQ = 0, /* a send queue entry is done */
	CQE_RESP_WR_IMM = 1,
	CQE_RESP_SEND = 2,
	CQE_RESP_SEND_IMM = 3,
	CQE_RESP_SEND_INV = 4,
	CQE_RESIZE_CQ = 5,
	CQE_NO_PACKET = 6,
	CQE_SIG_ERR = 12,
	CQE_REQ_ERR = 13,
	CQE_RESP_ERR = 14,
	CQE_INVALID = 15,
};

/* X-macro: every syndrome of an error completion: token, value, words for people. */
#define CQE_SYNDROMES(X)                                                                           \
	X(LOCAL_LENGTH, 0x01, "local length error")                                                \
	X(LOCAL_QP_OP, 0x02, "local queue pair operation error")                                   \
	X(LOCAL_PROT, 0x04, "local protection error")                                              \
	X(WR_FLUSH, 0x05, "flushed")                                                               \
	X(MW_BIND, 0x06, "memory window bind error")                                               \
	X(BAD_RESP, 0x10, "bad response")                                                          \
	X(LOCAL_ACCESS, 0x11, "local access error")                                                \
	X(REMOTE_INVAL_REQ, 0x12, "remote invalid request")                                        \
	X(REMOTE_ACCESS, 0x13, "remote access error")                                              \
	X(REMOTE_OP, 0x14, "remote operation error")                                               \
	X(RETRY_EXC, 0x15, "retry exceeded")                                                       \
	X(RNR_RETRY_EXC, 0x16, "RNR retry exceeded")                                               \
	X(REMOTE_ABORTED, 0x22, "remote aborted")

enum cqe_syndrome {
#define CQE_SYNDROME_ENUM(token, value, words) CQE_SYND_##token = value,
	CQE_SYNDROMES(CQE_SYNDROME_ENUM)
#undef CQE_SYNDROME_ENUM
};

/* Vendor syndromes measured on a ConnectX-6; which event gives which: [cx6-syndromes]. */
enum cqe_vendor_syndrome {
	CQE_VENDOR_NONE = 0x00,
	CQE_VENDOR_LOCAL_WRITE_DENIED = 0x33, /* READ into a region without local write */
	CQE_VENDOR_LKEY_BAD = 0x52,
	CQE_VENDOR_LKEY_RANGE = 0x53, /* the piece runs past its region */
	CQE_VENDOR_RETRY_EXC = 0x81,
	CQE_VENDOR_RNR_RETRY_EXC = 0x87,
	CQE_VENDOR_REMOTE_ACCESS = 0x88,
	CQE_VENDOR_REMOTE_INVAL_REQ = 0x8a,
	CQE_VENDOR_FLUSH = 0xf5,
};

struct cqe64 {
	uint8_t reserved0[2];
	struct be16 wqe_id;
	uint8_t reserved4[13];
	uint8_t ml_path;
	uint8_t reserved18[4];
	struct be16 slid;
	struct be32 flags_rqpn; /* GRH:2 at bit 28 | service level:4 at 24 | remote queue pair:24 */
	uint8_t hds_ip_ext;
	uint8_t l4_hdr_type_etc;
	struct be16 vlan_info;
	struct be32 srqn_uidx; /* CQE version 1: the user index given at creation */
	struct be32 imm_inval_pkey; /* immediate data as on the wire, or the invalidated key */
	uint8_t app;
	uint8_t app_op;
	struct be16 app_info;
	struct be32 byte_cnt;
	struct be64 timestamp;
	struct be32 sop_drop_qpn; /* opcode of the send entry:8 | queue pair:24 */
	struct be16 wqe_counter; /* index of the entry's first block, or of the receive */
	uint8_t signature;
	uint8_t op_own;
};

struct cqe_err64 {
	uint8_t reserved0[32];
	struct be32 srqn_uidx;
	uint8_t reserved36[18];
	uint8_t vendor_syndrome;
	uint8_t syndrome; /* enum cqe_syndrome */
	struct be32 sop_drop_qpn;
	struct be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

/* CQE_SIG_ERR: a signature was wrong; the entry that found it completes beside this. */
struct cqe_sig_err {
	uint8_t reserved0[16];
	struct be32 expected; /* CRC; T10-DIF: guard:16 | application tag:16 */
	struct be32 actual;
	struct be32 expected_ref; /* T10-DIF: reference tag; CRC64: its lower half */
	struct be32 actual_ref;
	struct be16 syndrome; /* CQE_SIG_* */
	uint8_t type; /* 0: of a block */
	uint8_t domain; /* CQE_SIG_WIRE or CQE_SIG_MEMORY */
	struct be32 mkey;
	struct be64 offset; /* of the block, signatures counted */
	uint8_t reserved48[14];
	uint8_t signature;
	uint8_t op_own;
};

enum {
	CQE_SIG_REF_F = 1 << 11,
	CQE_SIG_APP_F = 1 << 12,
	CQE_SIG_GUARD_F = 1 << 13,
	CQE_SIG_WIRE = 0,
	CQE_SIG_MEMORY = 1,
};

_Static_assert(sizeof(struct cqe_sig_err) == CQE_BYTES, "a signature error is 64 bytes");

_Static_assert(sizeof(struct cqe64) == CQE_BYTES, "a completion is 64 bytes");
_Static_assert(sizeof(struct cqe_err64) == CQE_BYTES, "an error completion is 64 bytes");
_Static_assert(offsetof(struct cqe64, op_own) == 63, "op_own is the last byte");
_Static_assert(offsetof(struct cqe_err64, op_own) == 63, "op_own is the last byte");

/* cqe_op_own - the last byte of a completion. */
static inline uint8_t cqe_op_own(enum cqe_opcode opcode, bool solicited, bool owner)
{
	return (uint8_t)((unsigned int)opcode << CQE_OPCODE_SHIFT |
			 (solicited ? CQE_SOLICITED_F : 0u) | (owner ? CQE_OWNER_MASK : 0u));
}

/* cqe_opcode_of - the upper nibble as it stands; it need not be one of enum cqe_opcode. */
static inline uint8_t cqe_opcode_of(uint8_t op_own)
{
	return op_own >> CQE_OPCODE_SHIFT;
}

/* cqe_owner_of - the owner bit. */
static inline bool cqe_owner_of(uint8_t op_own)
{
	return op_own & CQE_OWNER_MASK;
}

/* cqe_is_error - whether the entry has struct cqe_err64's layout. */
static inline bool cqe_is_error(uint8_t op_own)
{
	uint8_t opcode = cqe_opcode_of(op_own);

	return opcode == CQE_REQ_ERR || opcode == CQE_RESP_ERR;
}

static inline uint32_t cqe_qpn(const struct cqe64 *cqe)
{
	return be32_to(cqe->sop_drop_qpn) & 0xffffff;
}

/* cqe_send_opcode - the WQE opcode of the send queue entry that completed. */
static inline uint8_t cqe_send_opcode(const struct cqe64 *cqe)
{
	return (uint8_t)(be32_to(cqe->sop_drop_qpn) >> 24);
}

#endif
