/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bottleneck_test.c - Swift as ports have it, over real UDP between two processes: four queue pairs
 * share a bottleneck, whose queue stays short. The same without congestion control is the measure:
 * it fills the queue with all that may be under way.
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

enum {
	FLOWS = 4,
	DEPTH = 16,
	MESSAGE_BYTES = 65536, /* of which 8 are as much as one flow has under way at most */
	WARM_MS = 400,
	MEASURED_MS = 1000,
};

/* ---- in a child ------------------------------------------------------------------------------ */

static struct {
	struct rig_nic *nic;
	struct rig_cq *cqs[FLOWS];
	struct rig_qp *qps[FLOWS];
	struct rig_region *region;
	uint8_t memory[MESSAGE_BYTES];
	struct rig_remote theirs;
} own;

/* Answers: blob: the remote region. */
static int start(struct proc_msg *msg)
{
	struct rig_remote mine;

	PROC_TRY(rig_open(proc_nic(), &own.nic));
	PROC_TRY(rig_region_create(own.nic, own.memory, sizeof(own.memory), RIG_REMOTE_ALL,
				   &own.region));
	for (int i = 0; i < FLOWS; i++) {
		PROC_TRY(rig_cq_create(own.nic, 2 * DEPTH, &own.cqs[i]));
		PROC_TRY(rig_qp_create(own.cqs[i], DEPTH, 1, &own.qps[i]));
	}
	PROC_TRY(rig_region_remote(own.region, 0, sizeof(own.memory), &mine));
	memcpy(msg->blob, &mine, sizeof(mine));
	return 0;
}

/* v[0]: which. Answers: blob: its endpoint. */
static int endpoint(struct proc_msg *msg)
{
	struct rig_endpoint mine;

	PROC_TRY(rig_qp_endpoint(own.qps[msg->v[0]], &mine));
	memcpy(msg->blob, &mine, sizeof(mine));
	return 0;
}

/* v[0]: which; blob: the other's endpoint. */
static int connect_to(struct proc_msg *msg)
{
	struct rig_endpoint other;

	memcpy(&other, msg->blob, sizeof(other));
	PROC_TRY(rig_qp_connect(own.qps[msg->v[0]], RIG_REMOTE_ALL, &other, NULL));
	return 0;
}

static int write_again(int flow)
{
	struct rig_local piece;
	struct rig_entry entry = {.op = RIG_WRITE,
				  .flags = RIG_SIGNAL_F,
				  .pieces = &piece,
				  .piece_count = 1,
				  .remote_addr = own.theirs.addr,
				  .remote_key = own.theirs.key};

	PROC_TRY(rig_region_local(own.region, 0, MESSAGE_BYTES, &piece));
	while (rig_qp_room(own.qps[flow], RIG_RING_SEND) > 0)
		PROC_TRY(rig_qp_post(own.qps[flow], &entry));
	PROC_TRY(rig_qp_ring(own.qps[flow]));
	return 0;
}

/* Keeps all busy for so long; *done: messages of each. */
static int write_for(unsigned int ms, uint64_t done[static FLOWS], uint64_t *rtt_ns)
{
	uint64_t end_ns = proc_now_ns() + ms * 1000000ull, sum_ns = 0, looks = 0;
	struct rig_wc wc[DEPTH];
	struct rig_flow flow;

	while (proc_now_ns() < end_ns) {
		for (int i = 0; i < FLOWS; i++) {
			int count = rig_cq_poll(own.cqs[i], wc, DEPTH);

			PROC_TRY(count);
			for (int k = 0; k < count; k++)
				if (wc[k].status != RIG_OK)
					return proc_fail(-EIO, "a write failed");
			done[i] += (uint64_t)count;
			if (write_again(i) < 0)
				return -EIO;
			if (count == 0)
				continue;
			PROC_TRY(rig_qp_flow(own.qps[i], &flow));
			sum_ns += flow.rtt_ns;
			looks++;
		}
	}
	*rtt_ns = looks != 0 ? sum_ns / looks : 0;
	return 0;
}

/* blob: their region. Answers: v[i]: messages of each flow; v[FLOWS]: the round trip. */
static int contend(struct proc_msg *msg)
{
	uint64_t unused[FLOWS] = {0}, done[FLOWS] = {0}, rtt_ns;

	memcpy(&own.theirs, msg->blob, sizeof(own.theirs));
	if (write_for(WARM_MS, unused, &rtt_ns) < 0 || write_for(MEASURED_MS, done, &rtt_ns) < 0)
		return -EIO;
	memcpy(msg->v, done, sizeof(done));
	msg->v[FLOWS] = rtt_ns;
	return 0;
}

/* ---- the tests ------------------------------------------------------------------------------- */

struct outcome {
	uint64_t messages;
	double jain;
	double rtt_ms;
};

static struct proc *end_with(const char *soft, const char *cc, const char *faults)
{
	char text[128];

	snprintf(text, sizeof(text), "%s,cc=%s", soft, cc);
	setenv("RIG5_SOFT", text, 1);
	if (faults)
		setenv("RIG5_FAULT", faults, 1);
	else
		unsetenv("RIG5_FAULT");
	return proc_start();
}

static struct outcome contest(const char *cc)
{
	char hosts[PROC_HOSTS][64];
	struct proc *sender, *target;
	struct proc_msg msg = {.v = {0}}, remote = {.v = {0}};
	struct outcome out = {0};
	double squares = 0;

	proc_two_hosts(hosts);
	sender = end_with(hosts[0], cc, "rate=400Mb/s,queue=4MB");
	target = end_with(hosts[1], cc, NULL);
	unsetenv("RIG5_FAULT");
	proc_ok(sender, start, &msg);
	proc_ok(target, start, &remote);
	for (uint64_t i = 0; i < FLOWS; i++) {
		struct proc_msg a = {.v = {i}}, b = {.v = {i}};

		proc_ok(sender, endpoint, &a);
		proc_ok(target, endpoint, &b);
		a.v[0] = b.v[0] = i;
		proc_ok(sender, connect_to, &b);
		proc_ok(target, connect_to, &a);
	}
	proc_ok(sender, contend, &remote);
	for (int i = 0; i < FLOWS; i++) {
		out.messages += remote.v[i];
		squares += (double)remote.v[i] * (double)remote.v[i];
	}
	out.jain =
	    squares > 0 ? (double)out.messages * (double)out.messages / (FLOWS * squares) : 0;
	out.rtt_ms = (double)remote.v[FLOWS] / 1e6;
	print_message("cc=%s: %.1f MB/s, Jain's index %.3f, round trip %.2f ms\n", cc,
		      (double)out.messages * MESSAGE_BYTES / 1e3 / MEASURED_MS, out.jain,
		      out.rtt_ms);
	proc_end_all(NULL);
	return out;
}

static void test_swift_shares_a_bottleneck(void **state)
{
	struct outcome without = contest("none"), swift = contest("rtt");

	(void)state;
	assert_true(swift.jain > 0.8);
	assert_true(swift.rtt_ms * 3 < without.rtt_ms);
	/* As much, where the processors have nothing else to do. */
	assert_true(swift.messages * 16 > without.messages);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_swift_shares_a_bottleneck, proc_end_all),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
