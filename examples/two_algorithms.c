/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * two_algorithms.c - one datagram queue pair, two destinations, two congestion control algorithms.
 * Prints ten times in a second of processor time how fast the NIC sends to each, and why: to .2
 * DCQCN slows down for the notices that marked packets cause, to .3 Swift ("RTT") for round trips
 * that grow. RIG5_FAULT makes the bottleneck that loopback does not have: 1 Gb/s, which marks
 * behind 50 kB of queue.
 */
#include <rig5.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QKEY = 7, BYTES = 4096, ENTRIES = 64, FLOWS = 8 };

static int check(int result)
{
	if (result < 0)
		errx(1, "%s", rig_error());
	return result;
}

/* A queue pair for datagrams that offers its NIC this algorithm. */
static struct rig_qp *datagrams(struct rig_nic *nic, enum rig_cc algorithm, struct rig_cq **cq)
{
	const struct rig_qp_options options = {.transport = RIG_UD};
	struct rig_qp *qp;

	check(rig_cq_create(nic, ENTRIES, cq));
	check(rig_qp_create_with(*cq, ENTRIES, 0, &options, &qp));
	check(rig_qp_set_ece(qp, rig_ece_prefer(rig_qp_ece(qp), algorithm)));
	check(rig_qp_start(qp, &(struct rig_start){.qkey = QKEY}));
	return qp;
}

static void print_flows(struct rig_nic *nic)
{
	struct rig_flow flows[FLOWS], *flow = flows;
	int count = check(rig_nic_flows(nic, flows, FLOWS));

	for (; flow < flows + count && flow < flows + FLOWS; flow++)
		if (flow->qp == 0) /* a destination's, not a queue pair's */
			printf("to .%d  %-5s %6.3f Gb/s  round trip %5.0f us  notices %4llu\n",
			       flow->address.gid[15], flow->cc == RIG_CC_RTT ? "RTT" : "DCQCN",
			       flow->rate_bps / 1e9, flow->rtt_ns / 1e3,
			       (unsigned long long)flow->notices_handled);
}

int main(void)
{
	static char memory[BYTES];
	struct rig_region *region;
	struct rig_nic *nic, *far;
	struct rig_nic_info info;
	struct rig_cq *cq, *unused;
	struct rig_wc wc[ENTRIES];
	struct rig_local piece;
	struct rig_entry to[2];

	setenv("RIG5_SOFT", "near,addr=127.77.0.1;far0,addr=127.77.0.2;far1,addr=127.77.0.3", 1);
	setenv("RIG5_FAULT", "rate=1Gb/s,queue=2MB,mark=50kB", 0);
	check(rig_open("near", &nic));
	check(rig_region_create(nic, memory, BYTES, RIG_LOCAL, &region));
	check(rig_region_local(region, 0, BYTES, &piece));

	struct rig_qp *qp = datagrams(nic, RIG_CC_NONE, &cq);
	for (int i = 0; i < 2; i++) {
		check(rig_open(i ? "far1" : "far0", &far)); /* a process elsewhere, in life */
		check(rig_nic_info(far, &info));
		to[i] = (struct rig_entry){.op = RIG_SEND, .flags = RIG_SIGNAL_F, .pieces = &piece};
		to[i].piece_count = 1;
		to[i].remote_qp = rig_qp_number(datagrams(far, RIG_CC_NONE, &unused));
		to[i].remote_qkey = QKEY;
		check(rig_ah_create(nic, &info.address, NULL, &to[i].ah));

		/* From now on what goes there has the algorithm of this queue pair. */
		struct rig_qp *model = datagrams(nic, i ? RIG_CC_RTT : RIG_CC_DCQCN, &unused);
		check(rig_ah_map_to_qp(to[i].ah, rig_qp_number(model)));
	}
	for (int tenths = 0, posted = 0; tenths < 10; tenths++) {
		for (clock_t start = clock(); clock() - start < CLOCKS_PER_SEC / 10;) {
			while (rig_qp_room(qp, RIG_RING_SEND) > 0)
				check(rig_qp_post(qp, &to[posted++ % 2]));
			check(rig_qp_ring(qp));
			check(rig_cq_poll(cq, wc, ENTRIES));
		}
		print_flows(nic);
	}
	return 0;
}
