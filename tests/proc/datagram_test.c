/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram_test.c - datagram queue pairs and shared receive queues of different processes, on one
 * address (the local wire) and on two (UDP): every byte, who sent it, groups, and who gets nothing.
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

enum { QKEY = 0x1234567, GRH = 40, SLOT_BYTES = 8192, SLOTS = 16, ENTRIES = 16, WAIT_MS = 20000 };

static char hosts[PROC_HOSTS][64];

static int setup(void **state)
{
	(void)state;
	proc_two_hosts(hosts);
	return 0;
}

/* ---- in a child ------------------------------------------------------------------------------ */

static struct {
	struct rig_nic *nic;
	struct rig_cq *cq; /* of entries */
	struct rig_cq *receive_cq;
	struct rig_srq *srq;
	struct rig_qp *qps[2]; /* both take from srq */
	struct rig_region *region;
	uint8_t memory[(SLOTS + 1) * SLOT_BYTES]; /* receives, and what is sent */
} own;

/* Each slot of the ring has its place in memory. */
static int receive_post(void)
{
	uint32_t slot = rig_srq_index(own.srq);
	struct rig_local local;

	PROC_TRY(rig_region_local(own.region, slot * SLOT_BYTES, SLOT_BYTES, &local));
	PROC_TRY(rig_srq_receive(own.srq, &local, 1));
	return 0;
}

/* v[0]: receives to post. Answers: v: numbers of both queue pairs; blob: the address. */
static int start(struct proc_msg *msg)
{
	struct rig_qp_options options = {.transport = RIG_UD};
	struct rig_nic_info info;

	PROC_TRY(rig_open(proc_nic(), &own.nic));
	PROC_TRY(rig_cq_create(own.nic, 64, &own.cq));
	PROC_TRY(rig_cq_create(own.nic, 64, &own.receive_cq));
	PROC_TRY(rig_srq_create(own.receive_cq, SLOTS - 1, &own.srq));
	options.srq = own.srq;
	for (int i = 0; i < 2; i++) {
		PROC_TRY(rig_qp_create_with(own.cq, ENTRIES, 0, &options, &own.qps[i]));
		PROC_TRY(rig_qp_start(own.qps[i], &(struct rig_start){.qkey = QKEY + (uint32_t)i}));
		msg->v[i + 1] = rig_qp_number(own.qps[i]);
	}
	PROC_TRY(
	    rig_region_create(own.nic, own.memory, sizeof(own.memory), RIG_LOCAL, &own.region));
	for (uint32_t i = 0; i < msg->v[0]; i++)
		if (receive_post() < 0)
			return -1;
	PROC_TRY(rig_nic_info(own.nic, &info));
	memcpy(msg->blob, &info.address, sizeof(info.address));
	msg->v[3] = info.mtu_bytes;
	return 0;
}

static uint8_t byte_of(uint64_t seed, uint32_t i)
{
	return (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static int entry_done(void)
{
	uint64_t end_ns = proc_now_ns() + WAIT_MS * 1000000ull * proc_scale();
	char text[256];
	struct rig_wc wc;
	int count;

	while ((count = rig_cq_poll(own.cq, &wc, 1)) == 0)
		if (proc_now_ns() > end_ns)
			return proc_fail(-ETIMEDOUT, "no completion of an entry");
	PROC_TRY(count);
	rig_wc_text(&wc, text, sizeof(text));
	return wc.status == RIG_OK ? 0 : proc_fail(-EIO, "%s", text);
}

/* blob: the address. v: number, qkey, length, seed; v[4]: inline. */
static int send_to(struct proc_msg *msg)
{
	uint8_t *data = own.memory + SLOTS * SLOT_BYTES;
	uint32_t len = (uint32_t)msg->v[2], cut = len / 3;
	struct rig_entry entry = {.op = RIG_SEND, .flags = RIG_SIGNAL_F | RIG_IMM_F};
	struct rig_address to;
	struct rig_local pieces[2];

	memcpy(&to, msg->blob, sizeof(to));
	PROC_TRY(rig_ah_create(own.nic, &to, NULL, &entry.ah));
	for (uint32_t i = 0; i < len; i++)
		data[i] = byte_of(msg->v[3], i);
	entry.remote_qp = (uint32_t)msg->v[0];
	entry.remote_qkey = (uint32_t)msg->v[1];
	entry.imm = (uint32_t)msg->v[3];
	PROC_TRY(rig_region_local(own.region, SLOTS * SLOT_BYTES, cut, &pieces[0]));
	PROC_TRY(rig_region_local(own.region, SLOTS * SLOT_BYTES + cut, len - cut, &pieces[1]));
	entry.pieces = pieces;
	entry.piece_count = 2;
	if (msg->v[4]) {
		entry.flags |= RIG_INLINE_F;
		entry.inline_data = data;
		entry.inline_len_bytes = len;
	}
	PROC_TRY(rig_qp_post(own.qps[0], &entry));
	PROC_TRY(rig_qp_ring(own.qps[0]));
	PROC_TRY(rig_ah_destroy(entry.ah));
	return entry_done();
}

/*
 * v[0]: how long to wait, ms. Answers: v[0]: 1, or 0 if nothing came; v[1]: taken by which queue
 * pair; v[2]: the sender's; v[3]: length; v[4]: the seed. blob: the sender's address.
 */
static int receive(struct proc_msg *msg)
{
	uint64_t end_ns = proc_now_ns() + msg->v[0] * 1000000ull * proc_scale();
	struct rig_address from;
	const uint8_t *slot;
	struct rig_wc wc;
	int count;

	while ((count = rig_cq_poll(own.receive_cq, &wc, 1)) == 0)
		if (proc_now_ns() > end_ns) {
			msg->v[0] = 0;
			return 0;
		}
	PROC_TRY(count);
	if (wc.status != RIG_OK || !(wc.flags & RIG_WC_IMM_F) || wc.index >= SLOTS)
		return proc_fail(-EIO, "%s", rig_status_text((enum rig_status)wc.status));
	slot = own.memory + wc.index * SLOT_BYTES;
	PROC_TRY(rig_wc_source(&wc, slot, &from));
	for (uint32_t i = 0; i < wc.len_bytes - GRH; i++)
		if (slot[GRH + i] != byte_of(wc.imm, i))
			return proc_fail(-EIO, "byte %u of %u is wrong", i, wc.len_bytes - GRH);
	*msg = (struct proc_msg){
	    .v = {1, wc.qp == rig_qp_number(own.qps[1]), wc.source_qp, wc.len_bytes - GRH, wc.imm}};
	memcpy(msg->blob, &from, sizeof(from));
	return receive_post();
}

/* blob: a group; v[0]: which queue pair. */
static int attach(struct proc_msg *msg)
{
	struct rig_address group;

	memcpy(&group, msg->blob, sizeof(group));
	PROC_TRY(rig_qp_attach(own.qps[msg->v[0]], &group));
	return 0;
}

static int detach(struct proc_msg *msg)
{
	struct rig_address group;

	memcpy(&group, msg->blob, sizeof(group));
	PROC_TRY(rig_qp_detach(own.qps[msg->v[0]], &group));
	return 0;
}

static int finish(struct proc_msg *msg)
{
	(void)msg;
	PROC_TRY(rig_close(own.nic));
	return 0;
}

/* ---- the parent ------------------------------------------------------------------------------ */

struct end {
	struct proc *proc;
	uint32_t qps[2];
	uint32_t mtu_bytes;
	struct rig_address address;
};

static struct end end_on(int host)
{
	struct proc_msg msg = {.v = {SLOTS - 1}};
	struct end end;

	setenv("RIG5_SOFT", hosts[host], 1);
	end.proc = proc_start();
	proc_ok(end.proc, start, &msg);
	end.qps[0] = (uint32_t)msg.v[1];
	end.qps[1] = (uint32_t)msg.v[2];
	end.mtu_bytes = (uint32_t)msg.v[3];
	memcpy(&end.address, msg.blob, sizeof(end.address));
	return end;
}

static void send_from(const struct end *from, const struct rig_address *to, uint32_t qp,
		      uint32_t qkey, uint32_t len, uint32_t seed)
{
	struct proc_msg msg = {.v = {qp, qkey, len, seed, len <= 200 && seed % 2}};

	memcpy(msg.blob, to, sizeof(*to));
	proc_ok(from->proc, send_to, &msg);
}

/* arrives - the next datagram at `at` is this one, of from's first queue pair. */
static void arrives(const struct end *at, const struct end *from, int qp, uint32_t len,
		    uint32_t seed)
{
	struct proc_msg msg = {.v = {WAIT_MS}};

	proc_ok(at->proc, receive, &msg);
	assert_int_equal(msg.v[0], 1);
	assert_int_equal(msg.v[1], qp);
	assert_int_equal(msg.v[2], from->qps[0]);
	assert_int_equal(msg.v[3], len);
	assert_int_equal(msg.v[4], seed);
	assert_memory_equal(msg.blob, &from->address, sizeof(from->address));
}

static void nothing_arrives(const struct end *at)
{
	struct proc_msg msg = {.v = {60}};

	proc_ok(at->proc, receive, &msg);
	assert_int_equal(msg.v[0], 0);
}

/* Datagrams of every length, both ways, to both queue pairs of the other's shared receives. */
static void both_ways(int other)
{
	static const uint32_t lens[] = {0, 1, 8, 100, 200, 1000, 1024, 4096};
	const struct end ends[2] = {end_on(0), end_on(other)};

	for (uint32_t i = 0; i < 64; i++) {
		const struct end *from = &ends[i % 2], *to = &ends[1 - i % 2];
		uint32_t len =
		    lens[i / 2 % 8] < from->mtu_bytes ? lens[i / 2 % 8] : from->mtu_bytes;
		int qp = i / 16 % 2;

		send_from(from, &to->address, to->qps[qp], QKEY + (uint32_t)qp, len, i);
		arrives(to, from, qp, len, i);
	}
	for (int i = 0; i < 2; i++)
		proc_ok(ends[i].proc, finish, NULL);
}

static void test_between_processes_of_a_host(void **state)
{
	(void)state;
	both_ways(0);
}

static void test_between_hosts(void **state)
{
	(void)state;
	both_ways(1);
}

/* Another qkey, or a number that nobody has, is lost; what comes next arrives. */
static void lost(int other)
{
	const struct end a = end_on(0), b = end_on(other);

	send_from(&a, &b.address, b.qps[0], QKEY + 1, 64, 1);
	send_from(&a, &b.address, b.qps[1], QKEY, 64, 2);
	send_from(&a, &b.address, b.qps[0] ^ 0x800, QKEY, 64, 3);
	nothing_arrives(&b);
	send_from(&a, &b.address, b.qps[0], QKEY, 64, 4);
	arrives(&b, &a, 0, 64, 4);
}

static void test_lost_on_a_host(void **state)
{
	(void)state;
	lost(0);
}

static void test_lost_between_hosts(void **state)
{
	(void)state;
	lost(1);
}

/* A process that is killed leaves its peers' datagrams lost, and nobody fails. */
static void test_a_dead_peer_fails_nobody(void **state)
{
	const struct end a = end_on(0), b = end_on(0), c = end_on(1);

	(void)state;
	send_from(&a, &b.address, b.qps[0], QKEY, 64, 1);
	proc_kill(b.proc);
	for (uint32_t i = 0; i < 20; i++) {
		send_from(&a, &b.address, b.qps[0], QKEY, 64, i);
		send_from(&c, &b.address, b.qps[0], QKEY, 64, i);
	}
	send_from(&a, &c.address, c.qps[0], QKEY, 64, 2);
	arrives(&c, &a, 0, 64, 2);
}

static void group_change(const struct end *end, proc_verb verb, const struct rig_address *group)
{
	struct proc_msg msg = {.v = {0}};

	memcpy(msg.blob, group, sizeof(*group));
	if (verb == attach)
		proc_ok(end->proc, attach, &msg);
	else
		proc_ok(end->proc, detach, &msg);
}

/* A group's members in three processes, two of one host and one of another, all get what is sent,
 * and no more once they left. */
static void test_a_group_across_processes_and_hosts(void **state)
{
	const struct rig_address group = {.link = RIG_LINK_ETHERNET,
					  .gid = {[10] = 0xff, 0xff, 239, 77, 3, 9}};
	const struct end ends[4] = {end_on(0), end_on(0), end_on(1), end_on(1)};

	(void)state;
	for (int i = 1; i < 4; i++)
		group_change(&ends[i], attach, &group);
	for (uint32_t round = 0; round < 5; round++) {
		send_from(&ends[0], &group, 0xffffff, QKEY, 100 + round, round);
		for (int i = 1; i < 4; i++)
			arrives(&ends[i], &ends[0], 0, 100 + round, round);
	}
	nothing_arrives(&ends[0]);
	group_change(&ends[1], detach, &group);
	group_change(&ends[2], detach, &group);
	send_from(&ends[0], &group, 0xffffff, QKEY, 50, 9);
	arrives(&ends[3], &ends[0], 0, 50, 9);
	nothing_arrives(&ends[1]);
	nothing_arrives(&ends[2]);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, proc_end_all)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_between_processes_of_a_host),
	    TEST(test_between_hosts),
	    TEST(test_lost_on_a_host),
	    TEST(test_lost_between_hosts),
	    TEST(test_a_dead_peer_fails_nobody),
	    TEST(test_a_group_across_processes_and_hosts),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
