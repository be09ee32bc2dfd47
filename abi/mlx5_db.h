/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5_db.h - doorbell records in host memory, and the doorbell registers of a UAR page.
 *
 * A record is two big-endian words, in memory that the driver hands over at creation. The send
 * doorbell: store the record, then 8 bytes of the newest entry's ctrl segment to the register at
 * DB_UAR_BF0 (or the whole entry, 64 bytes at a time, into its BlueFlame buffer).
 *
 *   UAR page   0x020  completion queue arm   0x800  BlueFlame 0, two halves   0xa00  BlueFlame 1
 *
 * Source: [mlx5dv.h]; [rdma-core mlx5].
 */
#ifndef ABI_MLX5_DB_H
#define ABI_MLX5_DB_H

#include "base/be.h"

/* Words of the doorbell record of a queue pair and of a shared receive queue (its first only). */
enum {
	DB_RECV = 0, /* receives posted since reset, 16 bits */
	DB_SEND = 1, /* basic blocks posted since reset, 16 bits */
	DB_SRQ = 0,
	DB_RECORD_WORDS = 2,
	DB_RECORD_BYTES = 8,
	DB_RECORD_STRIDE_BYTES = 64, /* how far apart drivers keep them: one cache line */
};

/* Words of the doorbell record of a completion queue. */
enum {
	DB_CQ_CONSUMER = 0, /* completions polled since creation, 24 bits */
	DB_CQ_ARM = 1, /* see db_cq_arm_word */
};

/* Offsets in a UAR page of DB_UAR_BYTES. */
enum {
	DB_UAR_BYTES = 4096,
	DB_UAR_CQ = 0x20,
	DB_UAR_BF0 = 0x800,
	DB_UAR_BF1 = 0xa00,
	DB_UAR_BF_STRIDE_BYTES = 0x200, /* from one BlueFlame register to the next */
	DB_UAR_BF_HALF_BYTES = 0x100, /* used in turn, so that two stores never merge */
	DB_UAR_BF_PER_UAR = 4, /* of which drivers may use the first two */
};

/* Arm word: sequence number:2 at bit 28 | command:1 at 24 | consumer index:24. */
enum {
	DB_CQ_INDEX_MASK = 0xffffff,
	DB_CQ_CMD_ANY = 0 << 24, /* an event for the next completion */
	DB_CQ_CMD_SOLICITED = 1 << 24, /* for the next solicited completion, or error */
	DB_CQ_SN_SHIFT = 28,
	DB_CQ_SN_MASK = 3,
};

/*
 * db_cq_arm_word - what arming writes to the record's DB_CQ_ARM word and, followed by the number
 * of the completion queue, to DB_UAR_CQ. sn counts the events taken so far; cmd is DB_CQ_CMD_*.
 */
static inline struct be32 db_cq_arm_word(uint32_t sn, uint32_t cmd, uint32_t consumer)
{
	return be32_from((sn & DB_CQ_SN_MASK) << DB_CQ_SN_SHIFT | cmd |
			 (consumer & DB_CQ_INDEX_MASK));
}

/* db_cq_arm_sn, db_cq_arm_index - the parts of an arm word, as host integers. */
static inline uint32_t db_cq_arm_sn(struct be32 word)
{
	return be32_to(word) >> DB_CQ_SN_SHIFT & DB_CQ_SN_MASK;
}

static inline uint32_t db_cq_arm_index(struct be32 word)
{
	return be32_to(word) & DB_CQ_INDEX_MASK;
}

#endif
