/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qps_bench [COUNT] - what 1,000 (or COUNT) queue pairs in one process cost: how fast they are set
 * up, the memory of each, and what a busy one loses among idle ones.
 *
 * Each queue pair is connected to itself on the software NIC. Prints a line a figure: name, value,
 * unit. The busy one's time is a median of rounds, before the others are made and after, so that
 * the ratio does not depend on the machine's speed.
 */
#include "include/rig5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	QP_COUNT = 1000, /* if the command line does not say */
	ENTRIES = 16,
	RECEIVES = 16,
	ROUNDS = 21,
	WRITES = 5000,
};

static void need(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "qps_bench: %s: %s\n", what, rig_error());
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double resident_bytes(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*s %ld", &pages) != 1) {
		fprintf(stderr, "qps_bench: cannot read /proc/self/statm\n");
		exit(1);
	}
	fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static struct rig_qp *make(struct rig_cq *cq)
{
	struct rig_endpoint self;
	struct rig_qp *qp;

	need(rig_qp_create(cq, ENTRIES, RECEIVES, &qp), "a queue pair");
	need(rig_qp_endpoint(qp, &self), "its endpoint");
	need(rig_qp_connect(qp, RIG_REMOTE_ALL, &self, NULL), "its connection");
	return qp;
}

static void write_once(struct rig_cq *cq, struct rig_qp *qp, const struct rig_entry *entry)
{
	struct rig_wc wc;
	int n = 0;

	need(rig_qp_post(qp, entry), "a write");
	need(rig_qp_ring(qp), "the doorbell");
	while (n == 0)
		n = rig_cq_poll(cq, &wc, 1);
	need(n, "a completion");
	if (wc.status != RIG_OK) {
		fprintf(stderr, "qps_bench: a write failed: %s\n",
			rig_status_text((enum rig_status)wc.status));
		exit(1);
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nanoseconds of an 8-byte write, from post to completion. */
static double busy_ns(struct rig_cq *cq, struct rig_qp *qp, const struct rig_entry *entry)
{
	double round_ns[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		double start_s = now_s();

		for (int i = 0; i < WRITES; i++)
			write_once(cq, qp, entry);
		round_ns[r] = (now_s() - start_s) * 1e9 / WRITES;
	}
	qsort(round_ns, ROUNDS, sizeof(round_ns[0]), by_size);
	return round_ns[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : QP_COUNT;
	static uint64_t target[8], value = 42;
	double alone_ns, among_ns, start_s, setup_s, before_bytes;
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_SIGNAL_F | RIG_INLINE_F};
	struct rig_region *region;
	struct rig_remote remote;
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_qp *busy;

	need(rig_open("soft0", &nic), "the software NIC");
	need(rig_region_create(nic, target, sizeof(target), RIG_REMOTE_ALL, &region), "a region");
	need(rig_region_remote(region, 0, sizeof(value), &remote), "its piece");
	need(rig_cq_create(nic, (count + 1) * (ENTRIES + RECEIVES), &cq), "a completion queue");
	entry.inline_data = &value;
	entry.inline_len_bytes = sizeof(value);
	entry.remote_addr = remote.addr;
	entry.remote_key = remote.key;
	busy = make(cq);
	alone_ns = busy_ns(cq, busy, &entry);
	before_bytes = resident_bytes();
	start_s = now_s();
	for (int i = 0; i < count; i++)
		make(cq);
	setup_s = now_s() - start_s;
	printf("setup_per_s %.0f queue pairs/s\n", count / setup_s);
	printf("memory_each %.0f bytes\n", (resident_bytes() - before_bytes) / count);
	among_ns = busy_ns(cq, busy, &entry);
	printf("busy_alone %.1f ns\n", alone_ns);
	printf("busy_among %.1f ns\n", among_ns);
	need(rig_close(nic), "close");
	return 0;
}
