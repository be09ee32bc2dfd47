/* SPDX-License-Identifier: BSD-2-Clause */
/* soft_pair.c - two queue pairs of this process. */
#include "tests/support/soft_pair.h"

#include "tests/support/procs.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

struct soft_bed soft;
static struct rig_local entry_piece;

#define MUST(call)                                              \
	do {                                                    \
		if ((call) < 0)                                 \
			fail_msg("%s: %s", #call, rig_error()); \
	} while (0)

int soft_setup(void **state)
{
	(void)state;
	proc_new_port();
	soft = (struct soft_bed){0};
	MUST(rig_open(proc_nic(), &soft.nic));
	MUST(rig_nic_info(soft.nic, &soft.info));
	return 0;
}

int soft_teardown(void **state)
{
	(void)state;
	MUST(rig_close(soft.nic));
	if (soft.a.mem)
		munmap(soft.a.mem, SOFT_BYTES);
	if (soft.b.mem)
		munmap(soft.b.mem, SOFT_BYTES);
	return 0;
}

static void side_make(struct soft_side *side, int entries, int receives)
{
	side->mem =
	    mmap(NULL, SOFT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(side->mem, MAP_FAILED);
	MUST(rig_cq_create(soft.nic, SOFT_CQE, &side->cq));
	MUST(rig_region_create(soft.nic, side->mem, SOFT_BYTES, RIG_REMOTE_ALL, &side->region));
	MUST(rig_region_remote(side->region, 0, SOFT_BYTES, &side->remote));
	MUST(rig_qp_create(side->cq, entries, receives, &side->qp));
}

void soft_sides(int entries, int receives)
{
	side_make(&soft.a, entries, receives);
	side_make(&soft.b, entries, receives);
}

void soft_connect(enum rig_access access_a, enum rig_access access_b)
{
	struct rig_endpoint a, b;

	MUST(rig_qp_endpoint(soft.a.qp, &a));
	MUST(rig_qp_endpoint(soft.b.qp, &b));
	MUST(rig_qp_connect(soft.a.qp, access_a, &b, NULL));
	MUST(rig_qp_connect(soft.b.qp, access_b, &a, NULL));
}

void soft_pair(void)
{
	soft_sides(16, 16);
	soft_connect(RIG_REMOTE_ALL, RIG_REMOTE_ALL);
}

struct rig_local soft_local(const struct soft_side *side, uint64_t offset, uint32_t len_bytes)
{
	struct rig_local local;

	MUST(rig_region_local(side->region, offset, len_bytes, &local));
	return local;
}

struct rig_entry soft_entry(const struct soft_side *from, enum rig_op op, uint32_t offset,
			    uint32_t len_bytes, uint32_t to)
{
	const struct soft_side *other = from == &soft.a ? &soft.b : &soft.a;

	entry_piece = soft_local(from, offset, len_bytes);
	return (struct rig_entry){
	    .op = (uint8_t)op,
	    .flags = RIG_SIGNAL_F,
	    .piece_count = 1,
	    .pieces = &entry_piece,
	    .remote_addr = op == RIG_SEND ? 0 : other->remote.addr + to,
	    .remote_key = op == RIG_SEND ? 0 : other->remote.key,
	};
}

void soft_post(const struct soft_side *side, const struct rig_entry *entry)
{
	MUST(rig_qp_post(side->qp, entry));
	MUST(rig_qp_ring(side->qp));
}

void soft_receive(const struct soft_side *side, uint32_t offset, uint32_t len_bytes)
{
	struct rig_local local = soft_local(side, offset, len_bytes);

	MUST(rig_qp_receive(side->qp, &local));
}

struct rig_wc soft_next(const struct soft_side *side)
{
	uint64_t end_ns = proc_now_ns() + SOFT_WAIT_MS * 1000000ull;
	struct rig_wc wc;
	int n;

	while ((n = rig_cq_poll(side->cq, &wc, 1)) == 0) {
		if (proc_now_ns() > end_ns)
			fail_msg("no completion");
		sched_yield();
	}
	if (n < 0)
		fail_msg("rig_cq_poll: %s", rig_error());
	return wc;
}

void soft_none(const struct soft_side *side, unsigned int ms)
{
	uint64_t end_ns = proc_now_ns() + ms * 1000000ull;
	struct rig_wc wc;

	while (proc_now_ns() < end_ns) {
		if (rig_cq_poll(side->cq, &wc, 1) != 0)
			fail_msg("a completion: %s", rig_status_text(wc.status));
		sched_yield();
	}
}

struct rig_wc soft_done(const struct soft_side *side)
{
	struct rig_wc wc = soft_next(side);
	char text[256];

	if (wc.status != RIG_OK) {
		rig_wc_text(&wc, text, sizeof(text));
		fail_msg("%s", text);
	}
	return wc;
}

void soft_refused(int result, int error, const char *part)
{
	if (result != error)
		fail_msg("%d instead of %d: %s", result, error, rig_error());
	if (!strstr(rig_error(), part))
		fail_msg("'%s' does not hold '%s'", rig_error(), part);
}
