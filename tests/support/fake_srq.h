/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_srq.h - shared receive queues and XRC for fake_nic.h: a ring whose list the test can bend.
 *
 * A fresh ring is linked as drivers do: each entry names the next index, the last one the first.
 * Entries are posted along the list.
 */
#ifndef TESTS_SUPPORT_FAKE_SRQ_H
#define TESTS_SUPPORT_FAKE_SRQ_H

#include "tests/support/fake_nic.h"

struct fake_srq {
	struct fake_world *world;
	uint32_t nic;
	uint32_t srqn;
	uint64_t buf_va;
	uint64_t db_va;
	uint32_t count;
	uint32_t size_log2;
	uint16_t head;   /* the next to post to */
	uint16_t posted; /* the record's value */
};

enum { FAKE_SRQ_USER_INDEX = 0x900 };

/* Of `count` entries for three pieces, in NIC `nic`'s domain. xrcdn 0: basic, and cq is NULL. */
void fake_srq_make(struct fake_world *w, uint32_t nic, uint32_t count, uint32_t xrcdn,
		   const struct fake_cq *cq, struct fake_srq *srq);
/* fake_srq_fill - writes the pieces of entry `index`; it is not posted. */
void fake_srq_fill(struct fake_srq *srq, uint16_t index, const struct fake_piece *pieces,
		   uint32_t count);
/* fake_srq_link - entry `index` names `next`, which may be outside the ring. */
void fake_srq_link(struct fake_srq *srq, uint16_t index, uint16_t next);
/* fake_srq_count - stores the doorbell record. */
void fake_srq_count(struct fake_srq *srq, uint16_t posted);
/* fake_srq_post - fills the entry at the head and posts it; returns its index. A piece of length 0
 * is left out. */
uint16_t fake_srq_post(struct fake_srq *srq, struct fake_piece piece);

/* An XRC initiator on NIC 0 and a target on NIC 1, with a domain of its own, and one queue in it.
 */
struct fake_xrc {
	struct fake_pair pair;
	uint32_t xrcdn;
	struct fake_cq cq;
	struct fake_srq srq;
};
void fake_xrc_connect(struct fake_world *w, struct fake_xrc *xrc, const struct fake_opts *opts);

#endif
