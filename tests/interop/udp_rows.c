/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_rows.c - a program on the library here against Linux's Soft-RoCE there, over real UDP
 * sockets: the rows of the table that a program can ask for, in both roles.
 *
 *	udp_rows <folder of the guest's sockets> [part of a name]
 *
 * RIG5_SOFT names the NICs ipv4 and ipv6. What is sent from here is also dropped, doubled,
 * reordered and corrupted; the seeds are in the names.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/interop/agent_side.h"
#include "tests/interop/lib_side.h"
#include "tests/interop/pingpong.h"
#include "tests/interop/rows.h"

enum { RUNS_MAX = 256, NAME_BYTES = 128 };
#define AGENT_VA 0x20000000ull

/* A wire is set up once, for all of its rows. */
static const struct wire {
	const char *words;
	const char *faults; /* RIG5_FAULT */
	bool loses;
} wires[] = {
    {"", "", false},
    {", packets dropped", "drop=8%,seed=1", true},
    {", packets doubled", "duplicate=25%,seed=2", false},
    {", packets reordered", "reorder=15%,seed=3", true}, /* one that nothing overtakes is lost */
    {", packets corrupted", "corrupt=8%,seed=4", true},
};
enum { WIRES = sizeof(wires) / sizeof(wires[0]) };

struct run {
	char name[NAME_BYTES];
	const struct row *row;
	bool linux_asks;
};

static const struct wire *now;
static struct side ours[SIDE_GIDS], linux_side;
static bool have_linux;
static struct run runs[RUNS_MAX];
static unsigned int run_count;

static void play(void **state)
{
	const struct run *run = *state;
	struct side *our_side = &ours[run->row->family];
	struct row_run row = {.row = run->row,
			      .asks = run->linux_asks ? &linux_side : our_side,
			      .answers = run->linux_asks ? our_side : &linux_side,
			      .loses = now->loses};

	row_play(&row);
	assert_in_range(our_side->qpn, 0x10000, 0xffffff);
}

static int after(void **state)
{
	(void)state;
	row_abandon();
	return 0;
}

static void wait_readable(void *ctx, int fd, unsigned int timeout_ms)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	(void)ctx;
	poll(&readable, 1, (int)timeout_ms);
}

static int set_up(void **state)
{
	(void)state;
	setenv("RIG5_FAULT", now->faults, 1);
	lib_side_open(&ours[SIDE_IPV4], "ipv4");
	lib_side_open(&ours[SIDE_IPV6], "ipv6");
	if (!have_linux)
		agent_open(&linux_side, "control", AGENT_VA, (struct pump){.until = wait_readable});
	have_linux = true;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int family = 0; family < SIDE_GIDS; family++)
		lib_side_close(&ours[family]);
	return 0;
}

/* What the library does not let a program choose, and on a bad wire one row of each kind. */
static bool left_out(const struct row *row, bool linux_asks)
{
	if (row->shared || row->service != SIDE_RC ||
	    (!linux_asks && (row->psn != 0 || row->kind == ROW_RNR_EXCEEDED)))
		return true;
	return now != wires && row->op != SIDE_OP_COUNT && row->op != SIDE_CAS;
}

static void add_run(const struct row *row, bool linux_asks, const char *part)
{
	struct run *run = &runs[run_count];

	if (left_out(row, linux_asks))
		return;
	run->row = row;
	run->linux_asks = linux_asks;
	snprintf(run->name, sizeof(run->name), "%s: %s%s",
		 linux_asks ? "Linux to the library" : "the library to Linux", row->name,
		 now->words);
	if (!part || strstr(run->name, part))
		assert_true(++run_count < RUNS_MAX);
}

static int play_wire(const char *part)
{
	static struct CMUnitTest tests[RUNS_MAX];
	unsigned int n = 0;

	run_count = 0;
	for (unsigned int i = 0; i < row_count; i++)
		for (int linux_asks = 0; linux_asks < 2; linux_asks++)
			add_run(&rows[i], linux_asks != 0, part);
	for (; n < run_count; n++)
		tests[n] = (struct CMUnitTest){.name = runs[n].name,
					       .test_func = play,
					       .teardown_func = after,
					       .initial_state = &runs[n]};
	if (n == 0)
		return 0;
	return _cmocka_run_group_tests("udp", tests, n, set_up, tear_down);
}

/* ---- ibv_rc_pingpong ------------------------------------------------------------------------- */

static const struct pingpong game = {.guest = &linux_side,
				     .nic = "ipv4",
				     .host = "10.77.0.1",
				     .there = "10.77.0.2",
				     .count = 200,
				     .len_bytes = 3000,
				     .mtu_bytes = 1024};

static void ibv_rc_pingpong_calls_the_library(void **state)
{
	(void)state;
	pingpong_serve(&game);
}

static void the_library_calls_ibv_rc_pingpong(void **state)
{
	(void)state;
	pingpong_call(&game);
}

static int play_pingpong(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ibv_rc_pingpong_calls_the_library),
	    cmocka_unit_test(the_library_calls_ibv_rc_pingpong),
	};

	now = wires;
	return cmocka_run_group_tests_name("ibv_rc_pingpong", tests, set_up, tear_down);
}

int main(int argc, char **argv)
{
	const char *part = argc > 2 ? argv[2] : NULL;
	int failed = 0;

	if (argc < 2 || chdir(argv[1]) != 0) {
		fprintf(stderr, "usage: udp_rows <folder> [part of a name]\n");
		return 2;
	}
	for (now = wires; now < wires + WIRES; now++)
		failed += play_wire(part);
	if (!part || strcmp(part, "pingpong") == 0)
		failed += play_pingpong();
	return failed != 0;
}
