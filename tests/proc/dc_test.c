/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dc_test.c - dynamically connected queue pairs of different processes, on one address (the local
 * wire) and on two (UDP): one initiator serves targets in several processes, and one target several
 * initiators, every byte is right, and a dead target fails only what was for it.
 */
#include "include/rig5.h"
#include "tests/support/procs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PEERS = 4, RECEIVES = 63, ENTRIES = 16, PART = 65536, WAIT_MS = 15000 };

#define DC_KEY 0xfedcba9876543210ull

static char hosts[PROC_HOSTS][64];

static int setup(void **state)
{
	(void)state;
	proc_two_hosts(hosts);
	return 0;
}

/* What one process tells the others. */
struct target {
	struct rig_address address;
	struct rig_remote memory; /* PEERS parts, one of each initiator; then its counter */
	uint32_t qp;
};
_Static_assert(sizeof(struct target) <= PROC_BLOB_BYTES, "fits a message");

/* ---- in a child ------------------------------------------------------------------------------ */

static struct {
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_cq *receive_cq;
	struct rig_srq *srq;
	struct rig_qp *target;
	struct rig_qp *initiator;
	struct rig_region *given; /* to peers */
	struct rig_region *own;
	uint64_t sent; /* messages that came in here */
} child;
static uint8_t given[PEERS * PART + 64] __attribute__((aligned(64)));
static uint8_t own[2 * PART];

static int initiator_make(void)
{
	const struct rig_qp_options options = {.transport = RIG_DC_INITIATOR};

	PROC_TRY(rig_qp_create_with(child.cq, ENTRIES, 0, &options, &child.initiator));
	PROC_TRY(rig_qp_start(child.initiator, &(struct rig_start){0}));
	return 0;
}

static int start(struct proc_msg *msg)
{
	struct rig_qp_options options = {.transport = RIG_DC_TARGET, .dc_key = DC_KEY};
	struct target *mine = (struct target *)(void *)msg->blob;
	struct rig_nic_info info;
	struct rig_local local;

	PROC_TRY(rig_open(proc_nic(), &child.nic));
	PROC_TRY(rig_cq_create(child.nic, 64, &child.cq));
	PROC_TRY(rig_cq_create(child.nic, 64, &child.receive_cq));
	PROC_TRY(rig_srq_create(child.receive_cq, RECEIVES, &child.srq));
	PROC_TRY(rig_region_create(child.nic, given, sizeof(given), RIG_REMOTE_ALL, &child.given));
	PROC_TRY(rig_region_create(child.nic, own, sizeof(own), RIG_LOCAL, &child.own));
	options.srq = child.srq;
	PROC_TRY(rig_qp_create_with(child.cq, 0, 0, &options, &child.target));
	PROC_TRY(rig_qp_start(child.target, &(struct rig_start){.access = RIG_REMOTE_ALL}));
	PROC_TRY(rig_region_local(child.own, PART, 64, &local));
	for (int i = 0; i < RECEIVES; i++)
		PROC_TRY(rig_srq_receive(child.srq, &local, 1));
	PROC_TRY(rig_nic_info(child.nic, &info));
	mine->address = info.address;
	mine->qp = rig_qp_number(child.target);
	PROC_TRY(rig_region_remote(child.given, 0, sizeof(given), &mine->memory));
	return initiator_make();
}

/* run - posts entry, and waits for its completion, whose status it returns. */
static int run(const struct rig_entry *entry)
{
	uint64_t end_ns = proc_now_ns() + WAIT_MS * 1000000ull * proc_scale();
	struct rig_wc wc;
	int count;

	PROC_TRY(rig_qp_post(child.initiator, entry));
	PROC_TRY(rig_qp_ring(child.initiator));
	while ((count = rig_cq_poll(child.cq, &wc, 1)) == 0)
		if (proc_now_ns() > end_ns)
			return proc_fail(-ETIMEDOUT, "no completion");
	PROC_TRY(count);
	return wc.status;
}

static int run_well(const struct rig_entry *entry)
{
	int status = run(entry);

	return status > 0 ? proc_fail(-EIO, "operation %u: %s", entry->op,
				      rig_status_text((enum rig_status)status))
			  : status;
}

/* One round to a target: a write, the same bytes read back, a message, and one to its counter. */
static int one_round(struct rig_entry entry, const struct target *to, uint64_t part, uint32_t seed)
{
	uint32_t len = 1 + seed * 977 % PART;
	struct rig_local local;
	int err;

	for (uint32_t i = 0; i < len; i++)
		own[i] = (uint8_t)(seed + i * 7 + (i >> 8));
	PROC_TRY(rig_region_local(child.own, 0, len, &local));
	entry.pieces = &local;
	entry.piece_count = 1;
	entry.remote_addr = to->memory.addr + part * PART;
	entry.remote_key = to->memory.key;
	entry.op = RIG_WRITE;
	err = run_well(&entry);
	memset(own, 0, len);
	entry.op = RIG_READ;
	err = err ? err : run_well(&entry);
	for (uint32_t i = 0; !err && i < len; i++)
		if (own[i] != (uint8_t)(seed + i * 7 + (i >> 8)))
			return proc_fail(-EIO, "byte %u of %u is wrong", i, len);
	entry.op = RIG_SEND;
	local.len_bytes = len < 64 ? len : 64;
	err = err ? err : run_well(&entry);
	entry.op = RIG_FETCH_ADD;
	entry.add_or_swap = 1;
	local.len_bytes = 8;
	entry.remote_addr = to->memory.addr + PEERS * PART;
	return err ? err : run_well(&entry);
}

static int receives_take(void)
{
	struct rig_local local;
	struct rig_wc wc;
	int count;

	PROC_TRY(rig_region_local(child.own, PART, 64, &local));
	while ((count = rig_cq_poll(child.receive_cq, &wc, 1)) > 0) {
		if (wc.status != RIG_OK || wc.source_qp == 0)
			return proc_fail(-EIO, "a receive: %s, from 0x%x",
					 rig_status_text((enum rig_status)wc.status), wc.source_qp);
		child.sent++;
		PROC_TRY(rig_srq_receive(child.srq, &local, 1));
	}
	return count;
}

/* blob: the target; v: which part is this process's, a seed, and how many rounds. */
static int rounds(struct proc_msg *msg)
{
	const struct target *to = (const struct target *)(const void *)msg->blob;
	struct rig_entry entry = {
	    .flags = RIG_SIGNAL_F, .remote_qp = to->qp, .remote_dc_key = DC_KEY};
	int err = 0;

	PROC_TRY(rig_ah_create(child.nic, &to->address, NULL, &entry.ah));
	for (uint64_t i = 0; !err && i < msg->v[2]; i++) {
		err = one_round(entry, to, msg->v[0], (uint32_t)(msg->v[1] + i * 31));
		err = err ? err : receives_take();
	}
	PROC_TRY(rig_ah_destroy(entry.ah));
	return err;
}

/* blob: a target that is gone. A write to it fails, and a new initiator takes over. */
static int fails(struct proc_msg *msg)
{
	const struct target *to = (const struct target *)(const void *)msg->blob;
	struct rig_entry entry = {
	    .op = RIG_WRITE, .flags = RIG_SIGNAL_F, .remote_qp = to->qp, .remote_dc_key = DC_KEY};
	int status;

	PROC_TRY(rig_ah_create(child.nic, &to->address, NULL, &entry.ah));
	status = run(&entry);
	if (status != RIG_RETRY_EXCEEDED)
		return proc_fail(-EIO, "status %d", status);
	PROC_TRY(rig_qp_destroy(child.initiator));
	return initiator_make();
}

/* Answers: v: messages that came, and the counter. */
static int came(struct proc_msg *msg)
{
	int err = receives_take();

	msg->v[0] = child.sent;
	memcpy(&msg->v[1], given + PEERS * PART, 8);
	return err;
}

/* ---- the parent ------------------------------------------------------------------------------ */

struct peer {
	struct proc *proc;
	struct proc_msg target;
};

static struct peer peer_on(int host)
{
	struct peer peer = {0};

	setenv("RIG5_SOFT", hosts[host], 1);
	peer.proc = proc_start();
	proc_ok(peer.proc, start, &peer.target);
	return peer;
}

static void rounds_of(const struct peer *from, const struct peer *to, uint64_t part, uint64_t seed,
		      uint64_t count)
{
	struct proc_msg msg = to->target;

	msg.v[0] = part;
	msg.v[1] = seed;
	msg.v[2] = count;
	proc_ok(from->proc, rounds, &msg);
}

/* Two processes on each of two hosts: every initiator to every target, its own host's and others.
 */
static void test_every_one_to_every_other(void **state)
{
	struct peer peers[PEERS];

	(void)state;
	for (int i = 0; i < PEERS; i++)
		peers[i] = peer_on(i % PROC_HOSTS);
	for (uint64_t round = 0; round < 3; round++)
		for (uint64_t i = 0; i < PEERS; i++)
			for (uint64_t j = 0; j < PEERS; j++)
				rounds_of(&peers[i], &peers[j], i, round * 100 + i * 10 + j, 3);
	for (int i = 0; i < PEERS; i++) {
		struct proc_msg msg = {.v = {0}};

		proc_ok(peers[i].proc, came, &msg);
		assert_int_equal(msg.v[0], 3 * PEERS * 3);
		assert_int_equal(msg.v[1], 3 * PEERS * 3);
	}
}

static void dead_target(int host)
{
	const struct peer a = peer_on(0), b = peer_on(host), c = peer_on(host);
	struct proc_msg msg = b.target;

	rounds_of(&a, &b, 0, 1, 2);
	proc_kill(b.proc);
	proc_ok(a.proc, fails, &msg);
	rounds_of(&a, &c, 0, 5, 2);
}

static void test_a_dead_target_on_this_host(void **state)
{
	(void)state;
	dead_target(0);
}

static void test_a_dead_target_on_another(void **state)
{
	(void)state;
	dead_target(1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, proc_end_all)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_every_one_to_every_other),
	    TEST(test_a_dead_target_on_this_host),
	    TEST(test_a_dead_target_on_another),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
