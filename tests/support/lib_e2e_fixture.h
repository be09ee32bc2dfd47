/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_e2e_fixture.h - what the end-to-end tests of lib_e2e.h stand on: a NIC with two queue pairs
 * that are each other's peers, and memory at both ends. The NIC is named by e2e_nic.
 */
#ifndef TESTS_SUPPORT_LIB_E2E_FIXTURE_H
#define TESTS_SUPPORT_LIB_E2E_FIXTURE_H

#include "include/rig5.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { E2E_BYTES = 1 << 20, E2E_RING = 64, E2E_PATIENCE_S = 20 };

static const char *e2e_nic;

struct e2e {
	struct rig_nic *nic;
	struct rig_nic_info info;
	struct rig_cq *cq;
	struct rig_qp *a;
	struct rig_qp *b;
	uint8_t *near_;		/* memory that a's entries name */
	uint8_t *far_;		/* memory of b's side */
	struct rig_region *near_region;
	struct rig_region *far_region;
};

#define assert_ok(call)                                                                            \
	do {                                                                                       \
		int ret_ = (call);                                                                 \
		if (ret_ < 0)                                                                      \
			fail_msg("%s is %d: %s", #call, ret_, rig_error());                        \
	} while (0)

static inline void e2e_connect(struct rig_qp *qp, enum rig_access access, struct rig_qp *peer)
{
	struct rig_endpoint endpoint;

	assert_ok(rig_qp_endpoint(peer, &endpoint));
	assert_ok(rig_qp_connect(qp, access, &endpoint, NULL));
}

static inline void e2e_fill(uint8_t *memory, size_t len, uint8_t start)
{
	for (size_t i = 0; i < len; i++)
		memory[i] = (uint8_t)(start + i * 13 + (i >> 8));
}

/* e2e_pair - makes the two queue pairs anew, with b's rights and rings. */
static inline void e2e_pair(struct e2e *e2e, enum rig_access access, int receives)
{
	assert_ok(rig_qp_create(e2e->cq, E2E_RING, E2E_RING, &e2e->a));
	assert_ok(rig_qp_create(e2e->cq, E2E_RING, receives, &e2e->b));
	e2e_connect(e2e->a, RIG_REMOTE_ALL, e2e->b);
	e2e_connect(e2e->b, access, e2e->a);
}

static inline struct e2e e2e_open(void)
{
	struct e2e e2e = {0};

	assert_ok(rig_open(e2e_nic, &e2e.nic));
	assert_ok(rig_nic_info(e2e.nic, &e2e.info));
	assert_ok(rig_cq_create(e2e.nic, 1024, &e2e.cq));
	e2e.near_ = aligned_alloc(4096, E2E_BYTES);
	e2e.far_ = aligned_alloc(4096, E2E_BYTES);
	assert_true(e2e.near_ && e2e.far_);
	e2e_fill(e2e.near_, E2E_BYTES, 1);
	memset(e2e.far_, 0, E2E_BYTES);
	assert_ok(rig_region_create(e2e.nic, e2e.near_, E2E_BYTES, RIG_LOCAL, &e2e.near_region));
	assert_ok(rig_region_create(e2e.nic, e2e.far_, E2E_BYTES, RIG_REMOTE_ALL, &e2e.far_region));
	e2e_pair(&e2e, RIG_REMOTE_ALL, E2E_RING);
	return e2e;
}

static inline void e2e_close(struct e2e *e2e)
{
	assert_ok(rig_close(e2e->nic));
	free(e2e->near_);
	free(e2e->far_);
}

static inline struct rig_wc e2e_next(struct e2e *e2e)
{
	time_t end = time(NULL) + E2E_PATIENCE_S;
	struct rig_wc wc;
	int count;

	while ((count = rig_cq_poll(e2e->cq, &wc, 1)) == 0)
		if (time(NULL) > end)
			fail_msg("no completion in %d s", E2E_PATIENCE_S);
	assert_ok(count);
	return wc;
}

static inline void e2e_expect(const struct rig_wc *wc, const struct rig_qp *qp, enum rig_kind kind,
			      enum rig_status status)
{
	char text[200];

	rig_wc_text(wc, text, sizeof(text));
	if (wc->qp != rig_qp_number(qp) || wc->kind != kind || wc->status != status)
		fail_msg("expected queue pair 0x%x, kind %d, %s; got: %s", rig_qp_number(qp), kind,
			 rig_status_text(status), text);
}

/* e2e_run - posts an entry on a and waits for its good completion, which is returned. */
static inline struct rig_wc e2e_run(struct e2e *e2e, struct rig_entry entry)
{
	uint16_t index = rig_qp_index(e2e->a, RIG_RING_SEND);
	struct rig_wc wc;

	entry.flags |= RIG_SIGNAL_F;
	assert_ok(rig_qp_post(e2e->a, &entry));
	assert_ok(rig_qp_ring(e2e->a));
	wc = e2e_next(e2e);
	e2e_expect(&wc, e2e->a, RIG_WC_ENTRY, RIG_OK);
	assert_int_equal(wc.index, index);
	assert_int_equal(wc.op, entry.op);
	return wc;
}

static inline struct rig_local e2e_local(struct rig_region *region, uint64_t offset, uint64_t len)
{
	struct rig_local local;

	assert_ok(rig_region_local(region, offset, len, &local));
	return local;
}

/* e2e_remote_entry - an entry of op at offset of the far region, without data yet. */
static inline struct rig_entry e2e_remote_entry(struct e2e *e2e, enum rig_op op, uint64_t offset)
{
	struct rig_remote remote;

	assert_ok(rig_region_remote(e2e->far_region, offset, 0, &remote));
	return (struct rig_entry){
		.op = (uint8_t)op, .remote_addr = remote.addr, .remote_key = remote.key,
	};
}

/* assert_moved - len bytes at offset 3 of `to` are from's, and the bytes around them 0xee. */
static inline void assert_moved(const uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (memcmp(to + 3, from, len) != 0)
		fail_msg("%u bytes: wrong ones arrived", len);
	if (to[2] != 0xee || to[3 + len] != 0xee)
		fail_msg("%u bytes: written outside", len);
}

/* e2e_both - the completions of a send and of its receive, which come in any order. */
static inline void e2e_both(struct e2e *e2e, struct rig_wc *sent, struct rig_wc *received)
{
	struct rig_wc first = e2e_next(e2e), second = e2e_next(e2e);

	*sent = first.kind == RIG_WC_ENTRY ? first : second;
	*received = first.kind == RIG_WC_ENTRY ? second : first;
	e2e_expect(sent, e2e->a, RIG_WC_ENTRY, RIG_OK);
	e2e_expect(received, e2e->b, RIG_WC_RECEIVE, RIG_OK);
}

#endif
