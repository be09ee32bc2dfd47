/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/perf_print.c - the tables of `rig5 perf`, laid out as perftest's, and the same as JSON. */
#include <stdio.h>

#include "tools/perf.h"
#include "tools/units.h"

/* Fits a terminal of 80 columns. */
#define RULE "----------------------------------------------------------------------------"

static const char *const titles[] = {
    [PERF_WRITE] = "RDMA_Write",
    [PERF_READ] = "RDMA_Read",
    [PERF_SEND] = "Send",
};
static const char *const ops[] = {
    [PERF_WRITE] = "write",
    [PERF_READ] = "read",
    [PERF_SEND] = "send",
};

static void print_notes(const struct perf *perf, const struct perf_test *test)
{
	if (test->kind == PERF_BANDWIDTH)
		printf(
		    " %u messages under way. MB = 2^20 bytes, Mpps = million messages a second.\n",
		    test->depth);
	else if (test->op == PERF_READ)
		printf(" Times are whole round trips: a read's data comes back.\n");
	else
		printf(" Times are half of a round trip%s.\n",
		       test->op == PERF_WRITE ? ": each end polls its memory for the last byte"
					      : ": each end polls for its receive");
	if (test->op != PERF_READ)
		printf(" Messages of up to %u bytes are sent inline.\n", perf->inline_max);
	if (test->check)
		printf(" Every byte is checked, which the figures include.\n");
}

void perf_print_title(const struct perf *perf, const struct perf_test *test)
{
	const struct rig_nic_info *info = &perf->link.info;

	printf(RULE "\n%20s%s %s Test\n NIC %s (%s), MTU %u\n", "", titles[test->op],
	       test->kind == PERF_LATENCY ? "Latency" : "BW", info->name,
	       info->software ? "software" : info->bus, info->mtu_bytes);
	print_notes(perf, test);
	printf(RULE "\n");
	if (test->kind == PERF_LATENCY)
		printf(
		    " #bytes     #iterations    t_min[usec]    t_typical[usec]    t_99%%[usec]\n");
	else
		printf(" #bytes     #iterations    BW average[MB/sec]    MsgRate[Mpps]\n");
	fflush(stdout);
}

void perf_print_row(const struct perf_row *row)
{
	if (row->test.kind == PERF_LATENCY)
		printf(" %-10u %-14u %-14.3f %-18.3f %.3f", row->test.size_bytes,
		       row->test.iterations, row->min_us, row->typical_us, row->p99_us);
	else
		printf(" %-10u %-14u %-21.2f %.6f", row->test.size_bytes, row->test.iterations,
		       row->mib_per_s, row->messages_per_us);
	if (row->wrong_bytes)
		printf("  %llu BYTES WRONG", (unsigned long long)row->wrong_bytes);
	else if (row->test.check)
		printf("  ok");
	printf("\n");
	if (row->retransmits)
		printf("%12s%llu packets sent again\n", "", (unsigned long long)row->retransmits);
	fflush(stdout);
}

void perf_print_json(const struct perf *perf, const struct perf_row *rows, size_t count)
{
	printf("[");
	for (size_t i = 0; i < count; i++) {
		const struct perf_row *row = &rows[i];

		printf("%s\n  {\"nic\": ", i ? "," : "");
		tool_json_string(stdout, perf->link.info.name);
		printf(", \"op\": \"%s\", \"kind\": \"%s\", \"bytes\": %u, \"iterations\": %u",
		       ops[row->test.op], row->test.kind == PERF_LATENCY ? "latency" : "bandwidth",
		       row->test.size_bytes, row->test.iterations);
		if (row->test.kind == PERF_LATENCY)
			printf(", \"min_us\": %.4f, \"typical_us\": %.4f, \"p99_us\": %.4f, "
			       "\"round_trip\": %s",
			       row->min_us, row->typical_us, row->p99_us,
			       row->test.op == PERF_READ ? "true" : "false");
		else
			printf(", \"depth\": %u, \"mib_per_s\": %.3f, \"messages_per_us\": %.6f",
			       row->test.depth, row->mib_per_s, row->messages_per_us);
		printf(", \"retransmits\": %llu", (unsigned long long)row->retransmits);
		if (row->test.check)
			printf(", \"wrong_bytes\": %llu", (unsigned long long)row->wrong_bytes);
		printf("}");
	}
	printf("\n]\n");
}
