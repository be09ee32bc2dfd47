/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rxe_rows.c - the software NIC's core against Linux's Soft-RoCE: every row of the table, in both
 * roles, over a good wire and over bad ones.
 *
 *	rxe_rows <folder of the guest's sockets> [part of a name]
 *
 * A run on a bad wire has a seed of its own, in its name; RIG5_INTEROP_SEED=<number> is added to
 * all of them. The faults hit both directions. Of a row that fails, the last packets are printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/interop/agent_side.h"
#include "tests/interop/nic_side.h"
#include "tests/interop/rows.h"

enum { RUNS_MAX = 1024, NAME_BYTES = 128, SPIN_MS = 60000 };
#define AGENT_VA 0x20000000ull

static const struct {
	const char *words;
	const char *faults;
	bool loses;
	bool large; /* Linux's queue pair numbers take more than 16 bits; ours always do */
} wires[] = {
    {"", "", false, false},
    {", packets dropped", "drop=12%", true, false},
    {", packets doubled", "duplicate=25%", false, false},
    {", packets reordered", "reorder=25%", true, false},
    {", packets corrupted", "corrupt=8%", true, false},
    {", Linux's queue pair over 65535", "", false, true},
    {", Linux's queue pair over 65535, packets dropped", "drop=12%", true, true},
    {", Linux's queue pair over 65535, packets doubled", "duplicate=25%", false, true},
    {", Linux's queue pair over 65535, packets reordered", "reorder=25%", true, true},
};
enum { WIRES = sizeof(wires) / sizeof(wires[0]) };

struct run {
	char name[NAME_BYTES];
	bool linux_asks;
	unsigned int wire;
	uint64_t seed;
	const struct row *row;
};

static struct frame_wire wire;
static struct side ours, linux_side;
static struct run runs[RUNS_MAX];
static unsigned int run_count;
static uint64_t seed_base;
static bool went_well;
static uint64_t faults_done[FAULT_KIND_COUNT];

/* ---- one run --------------------------------------------------------------------------------- */

static void set_faults(const struct run *run)
{
	struct fault_config out = {0}, in;
	size_t wrong;

	if (wires[run->wire].faults[0] != '\0')
		assert_true(fault_parse(&out, wires[run->wire].faults, &wrong));
	in = out;
	out.seed = run->seed;
	in.seed = run->seed + 1000000;
	frame_wire_faults(&wire, &out, &in);
	wire.icrc_wrong = wire.broken = 0;
}

static void count_faults(void)
{
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
		faults_done[kind] += wire.out.fault.counts[kind] + wire.in.fault.counts[kind];
}

static void play(void **state)
{
	const struct run *run = *state;
	struct row_run row = {.row = run->row,
			      .asks = run->linux_asks ? &linux_side : &ours,
			      .answers = run->linux_asks ? &ours : &linux_side,
			      .loses = wires[run->wire].loses};

	went_well = false;
	wire.logged = 0;
	set_faults(run);
	if (wires[run->wire].large)
		agent_ask(&linux_side, SPIN_MS, "spin qpn=65535");
	row_play(&row);
	assert_in_range(ours.qpn, 0x10000, 0xffffff);
	if (wires[run->wire].large)
		assert_in_range(linux_side.qpn, 0x10000, 0xffffff);
	assert_int_equal(wire.broken, 0);
	if (wire.icrc_wrong > wire.in.fault.counts[FAULT_CORRUPT])
		fail_msg("%llu packets of Linux have a wrong ICRC, expected %llu",
			 (unsigned long long)wire.icrc_wrong,
			 (unsigned long long)wire.in.fault.counts[FAULT_CORRUPT]);
	went_well = true;
}

static int after(void **state)
{
	(void)state;
	if (!went_well)
		frame_wire_print_log(&wire);
	count_faults();
	frame_wire_faults(&wire, NULL, NULL);
	row_abandon();
	return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void pump(void *ctx, int fd, unsigned int timeout_ms)
{
	frame_wire_until(ctx, fd, NULL, NULL, timeout_ms);
}

static int set_up(void **state)
{
	(void)state;
	frame_wire_open(&wire, fake_world_new(NULL), "host.eth", "guest.eth");
	nic_side_open(&ours, &wire);
	agent_open(&linux_side, "control", AGENT_VA, (struct pump){.until = pump, .ctx = &wire});
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	agent_close(&linux_side);
	nic_side_close(&ours);
	frame_wire_close(&wire);
	fake_world_free(wire.world);
	return 0;
}

/* Large numbers and broken packets are the same to every MTU. */
static bool left_out(const struct row *row, bool linux_asks, unsigned int w)
{
	if (row->shared && !linux_asks)
		return true;
	/* What gets lost is not sent again. */
	if (row->service != SIDE_RC && (wires[w].faults[0] != '\0' || wires[w].large))
		return true;
	if (wires[w].large)
		return row->op != SIDE_OP_COUNT || row->mtu_bytes != 0 || row->shared;
	return strstr(wires[w].faults, "corrupt") && row->mtu_bytes != 0 && row->mtu_bytes != 4096;
}

static void add_run(const struct row *row, bool linux_asks, unsigned int w, const char *part)
{
	struct run *run = &runs[run_count];

	if (left_out(row, linux_asks, w))
		return;
	run->row = row;
	run->linux_asks = linux_asks;
	run->wire = w;
	run->seed = seed_base + (uint64_t)(row - rows) * 100 + w * 10 + linux_asks;
	snprintf(run->name, sizeof(run->name), "%s: %s%s (seed %llu)",
		 linux_asks ? "Linux to rig5" : "rig5 to Linux", row->name, wires[w].words,
		 (unsigned long long)run->seed);
	if (wires[w].faults[0] == '\0')
		*strstr(run->name, " (seed") = '\0';
	if (part && !strstr(run->name, part))
		return;
	assert_true(++run_count < RUNS_MAX);
}

static void add_runs(const char *part)
{
	for (unsigned int w = 0; w < WIRES; w++)
		for (unsigned int i = 0; i < row_count; i++)
			for (int linux_asks = 0; linux_asks < 2; linux_asks++)
				add_run(&rows[i], linux_asks != 0, w, part);
}

static void print_summary(void)
{
	printf("packets of rig5 %llu, of Linux %llu; on the way", (unsigned long long)wire.sent,
	       (unsigned long long)wire.received);
	for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
		printf(" %s %llu", fault_kind_name((enum fault_kind)kind),
		       (unsigned long long)faults_done[kind]);
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[RUNS_MAX];
	int failed;

	if (argc < 2 || chdir(argv[1]) != 0) {
		fprintf(stderr, "usage: rxe_rows <folder> [part of a name]\n");
		return 2;
	}
	if (getenv("RIG5_INTEROP_SEED"))
		seed_base = strtoull(getenv("RIG5_INTEROP_SEED"), NULL, 0);
	add_runs(argc > 2 ? argv[2] : NULL);
	for (unsigned int i = 0; i < run_count; i++)
		tests[i] = (struct CMUnitTest){.name = runs[i].name,
					       .test_func = play,
					       .teardown_func = after,
					       .initial_state = &runs[i]};
	failed = _cmocka_run_group_tests("rxe", tests, run_count, set_up, tear_down);
	print_summary();
	return failed != 0;
}
