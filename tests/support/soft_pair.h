/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_pair.h - two queue pairs of this process on the software NIC, for tests of the public API's
 * clauses. Everything fails the running test where it does not work.
 *
 * soft_setup, the test's setup, gives each test a port of its own and opens `soft.nic`;
 * soft_teardown closes it.
 */
#ifndef TESTS_SUPPORT_SOFT_PAIR_H
#define TESTS_SUPPORT_SOFT_PAIR_H

#include "include/rig5.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

enum {
	SOFT_BYTES = 64 * 1024, /* of a side's region */
	SOFT_CQE = 256,
	SOFT_WAIT_MS = 5000,
};

/* One end: its completion queue, queue pair, and a region of SOFT_BYTES that allows everything. */
struct soft_side {
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_region *region;
	uint8_t *mem;
	struct rig_remote remote;
};

struct soft_bed {
	struct rig_nic *nic;
	struct rig_nic_info info;
	struct soft_side a, b;
};

extern struct soft_bed soft;

#define SOFT_TEST(test) cmocka_unit_test_setup_teardown(test, soft_setup, soft_teardown)
int soft_setup(void **state);
int soft_teardown(void **state);

/* soft_sides - makes a and b with these rings, not connected. soft_connect - connects them: the
 * peer may do access_a to a's regions, and access_b to b's. soft_pair - both, with 16 entries and
 * receives, and all rights. */
void soft_sides(int entries, int receives);
void soft_connect(enum rig_access access_a, enum rig_access access_b);
void soft_pair(void);

/* soft_local - len_bytes at offset of the side's region. */
struct rig_local soft_local(const struct soft_side *side, uint64_t offset, uint32_t len_bytes);
/* soft_entry - a signalled entry of `from` that names offset `to` of the other side's region; its
 * piece stays valid until the next call. */
struct rig_entry soft_entry(const struct soft_side *from, enum rig_op op, uint32_t offset,
			    uint32_t len_bytes, uint32_t to);
void soft_post(const struct soft_side *side, const struct rig_entry *entry);
void soft_receive(const struct soft_side *side, uint32_t offset, uint32_t len_bytes);
/* soft_next - the next completion. soft_none - shows that none comes within ms. */
struct rig_wc soft_next(const struct soft_side *side);
void soft_none(const struct soft_side *side, unsigned int ms);
/* soft_done - the next completion, which must be good. */
struct rig_wc soft_done(const struct soft_side *side);
/* soft_refused - shows that a call returned error, with a sentence that holds part. */
void soft_refused(int result, int error, const char *part);

#endif
