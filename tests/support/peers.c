/* SPDX-License-Identifier: BSD-2-Clause */
/* peers.c - the parent's side of peer.h. */
#include "tests/support/peer.h"

#include <string.h>

enum { AGREE_MS = 5000 };

const char *peer_address;

int peer_setup(void **state)
{
	(void)state;
	peer_address = proc_new_port();
	return 0;
}

struct proc *peer_start(uint64_t seed)
{
	struct proc *child = proc_start();
	struct proc_msg msg = {.v = {seed}};

	proc_ok(child, peer_open, &msg);
	return child;
}

struct peer_pair peer_pair(struct proc *a, struct proc *b)
{
	struct proc_msg card_a = {0};
	struct proc_msg card_b = {0};
	struct peer_pair pair;

	pair.a = (unsigned int)proc_ok(a, peer_link, &card_a);
	pair.b = (unsigned int)proc_ok(b, peer_link, &card_b);
	card_a.v[0] = pair.b;
	card_b.v[0] = pair.a;
	proc_ok(a, peer_connect, &card_b);
	proc_ok(b, peer_connect, &card_a);
	return pair;
}

struct peer_report peer_report_of(struct proc *child, unsigned int link)
{
	struct proc_msg msg = {.v = {link}};
	struct peer_report report;

	proc_ok(child, peer_report, &msg);
	memcpy(&report, msg.blob, sizeof(report));
	return report;
}

void peer_run_on(struct proc *child, uint64_t count)
{
	struct proc_msg msg = {.v = {count}};

	proc_ok(child, peer_run, &msg);
}

bool peer_progress(struct proc *child, unsigned int link, uint64_t count, unsigned int timeout_ms)
{
	uint64_t end_ns = proc_now_ns() + timeout_ms * 1000000ull;
	uint64_t start = peer_report_of(child, link).done;
	struct peer_report report;

	do {
		report = peer_report_of(child, link);
		if (report.wrong)
			fail_msg("child %d: %s", child->pid, report.what);
		if (report.done >= start + count)
			return true;
		proc_sleep_ms(1);
	} while (proc_now_ns() < end_ns);
	return false;
}

static void all_right(struct proc *child, const struct peer_report *report)
{
	if (report->wrong)
		fail_msg("child %d: %llu wrong, first: %s", child->pid,
			 (unsigned long long)report->wrong, report->what);
	if (report->failed)
		fail_msg("child %d: queue pair failed: %s (%#x)", child->pid,
			 rig_status_text(report->status), report->vendor);
}

void peer_agree(struct proc *a, unsigned int link_a, struct proc *b, unsigned int link_b)
{
	uint64_t end_ns = proc_now_ns() + AGREE_MS * 1000000ull;
	struct peer_report at_a, at_b;

	/* What a sender knows to be there its receiver may have to look for yet. */
	do {
		at_a = peer_report_of(a, link_a);
		at_b = peer_report_of(b, link_b);
	} while ((at_a.received != at_b.sent || at_b.received != at_a.sent) &&
		 proc_now_ns() < end_ns);
	all_right(a, &at_a);
	all_right(b, &at_b);
	assert_int_equal(at_a.received, at_b.sent);
	assert_int_equal(at_b.received, at_a.sent);
	assert_int_equal(at_a.added, at_b.adds);
	assert_int_equal(at_b.added, at_a.adds);
	assert_int_equal(at_a.swapped, at_b.swaps);
	assert_int_equal(at_b.swapped, at_a.swaps);
}

struct peer_report peer_failure(struct proc *child, unsigned int link, unsigned int timeout_ms)
{
	uint64_t end_ns = proc_now_ns() + timeout_ms * 1000000ull;
	struct peer_report report;

	for (;;) {
		report = peer_report_of(child, link);
		if (report.wrong)
			fail_msg("child %d: %s", child->pid, report.what);
		if (report.failed)
			return report;
		if (proc_now_ns() > end_ns)
			fail_msg("child %d: link %u does not fail", child->pid, link);
		proc_sleep_ms(2);
	}
}
