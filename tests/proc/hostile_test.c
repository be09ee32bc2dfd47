/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_test.c - entries, rings and registers that no driver would write: each ends in the right
 * status, an event or a counted drop, and the process and its other queue pairs go on.
 *
 * The API forbids all this, so the tests write into the rings behind its back (lib/lib.h). Each
 * runs in a child, which a crash would take down alone.
 */
#include "tests/support/loop.h"

#include <string.h>
#include <sys/mman.h>

enum { KEEP = 0xee, FUZZ_ROUNDS = 400, FUZZ_BLOCKS = 4 };

/* An entry in the making. */
struct raw {
	uint8_t bytes[WQE_DS_MAX * WQE_UNIT_BYTES + WQE_BB_BYTES];
	unsigned int units;
};

static void raw_ctrl(struct raw *raw, enum wqe_opcode opcode)
{
	struct wqe_ctrl_seg ctrl = {.opmod_idx_opcode = wqe_ctrl_op(0, 0, opcode),
				    .fm_ce_se = WQE_CE_ON_ERROR};

	memset(raw, 0, sizeof(*raw));
	memcpy(raw->bytes, &ctrl, sizeof(ctrl));
	raw->units = 1;
}

static void raw_add(struct raw *raw, const void *segment)
{
	memcpy(raw->bytes + raw->units++ * WQE_UNIT_BYTES, segment, WQE_UNIT_BYTES);
}

static void raw_remote(struct raw *raw, const struct loop *loop)
{
	struct wqe_raddr_seg seg = {.va = be64_from(loop->remote.addr),
				    .rkey = be32_from(loop->remote.key)};

	raw_add(raw, &seg);
}

static void raw_data(struct raw *raw, uint64_t va, uint32_t count, uint32_t key)
{
	struct wqe_data_seg seg = {
	    .byte_count = be32_from(count), .lkey = be32_from(key), .va = be64_from(va)};

	raw_add(raw, &seg);
}

/* Says `units` in the entry, whatever it has, and posts `blocks` of it. */
static void raw_post(struct loop *loop, struct raw *raw, unsigned int units, unsigned int blocks)
{
	struct be32 word = wqe_ctrl_qpn_ds(0, units);

	memcpy(raw->bytes + 4, &word, sizeof(word));
	loop_raw(loop, raw->bytes, blocks);
}

/* ---- entries, by table ----------------------------------------------------------------------- */

/* A write with one data segment. */
static void write_of(struct raw *raw, const struct loop *loop, uint64_t va, uint32_t count,
		     uint32_t key)
{
	raw_ctrl(raw, WQE_OP_WRITE);
	raw_remote(raw, loop);
	raw_data(raw, va, count, key);
}

static void no_units(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, loop->local.addr, 64, loop->local.key);
	raw_post(loop, raw, 0, 1);
}

static void only_ctrl(struct loop *loop, struct raw *raw)
{
	raw_ctrl(raw, WQE_OP_WRITE);
	raw_post(loop, raw, 1, 1);
}

static void more_units_than_posted(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, loop->local.addr, 64, loop->local.key);
	raw_post(loop, raw, WQE_DS_MAX, 1);
}

static void unknown_opcode(struct loop *loop, struct raw *raw)
{
	raw_ctrl(raw, (enum wqe_opcode)0xff);
	raw_post(loop, raw, 1, 1);
}

static void unsupported_opcode(struct loop *loop, struct raw *raw)
{
	raw_ctrl(raw, WQE_OP_TSO);
	raw_post(loop, raw, 4, 1);
}

static void atomic_without_its_segment(struct loop *loop, struct raw *raw)
{
	raw_ctrl(raw, WQE_OP_ATOMIC_FA);
	raw_remote(raw, loop);
	raw_post(loop, raw, 2, 1);
}

static void count_of_zero(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, loop->local.addr, 0, loop->local.key);
	raw_post(loop, raw, 3, 1);
}

static void count_of_all_ones(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, loop->local.addr, WQE_BYTE_COUNT_MASK, loop->local.key);
	raw_post(loop, raw, 3, 1);
}

static void counts_that_overflow(struct loop *loop, struct raw *raw)
{
	raw_ctrl(raw, WQE_OP_WRITE);
	raw_remote(raw, loop);
	for (int i = 0; i < 4; i++)
		raw_data(raw, loop->local.addr, 0x40000001, loop->local.key);
	raw_post(loop, raw, 6, 2);
}

static void past_the_region(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, loop->local.addr, LOOP_BYTES + 1, loop->local.key);
	raw_post(loop, raw, 3, 1);
}

static void wild_pointer(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, 0xdead0000beefu, 64, loop->local.key);
	raw_post(loop, raw, 3, 1);
}

static void pointer_that_wraps(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, ~0ull - 7, 64, loop->local.key);
	raw_post(loop, raw, 3, 1);
}

static void forged_key(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, loop->local.addr, 64, loop->local.key ^ 0x5a);
	raw_post(loop, raw, 3, 1);
}

static void key_of_no_region(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, loop->local.addr, 64, 0xffffff00);
	raw_post(loop, raw, 3, 1);
}

static void inline_past_the_end(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, 0, WQE_INLINE_F | 13, 0);
	raw_post(loop, raw, 3, 1);
}

static void inline_of_all_ones(struct loop *loop, struct raw *raw)
{
	write_of(raw, loop, 0, 0xffffffff, 0);
	raw_post(loop, raw, 3, 1);
}

static void inline_read(struct loop *loop, struct raw *raw)
{
	raw_ctrl(raw, WQE_OP_READ);
	raw_remote(raw, loop);
	raw_data(raw, 0, WQE_INLINE_F | 8, 0);
	raw_post(loop, raw, 3, 1);
}

static void atomic_of_four_bytes(struct loop *loop, struct raw *raw)
{
	struct wqe_atomic_seg seg = {0};

	raw_ctrl(raw, WQE_OP_ATOMIC_FA);
	raw_remote(raw, loop);
	raw_add(raw, &seg);
	raw_data(raw, loop->local.addr, 4, loop->local.key);
	raw_post(loop, raw, 4, 1);
}

/* The region's memory is gone, its key is not. */
static void unmapped_memory(struct loop *loop, struct raw *raw)
{
	mprotect(loop->mem, LOOP_BYTES / 2, PROT_NONE);
	write_of(raw, loop, loop->local.addr, 64, loop->local.key);
	raw_post(loop, raw, 3, 1);
}

/* A read that brings its bytes to memory that is gone. */
static void read_into_unmapped_memory(struct loop *loop, struct raw *raw)
{
	struct wqe_raddr_seg from = {.va = be64_from(loop->remote.addr + LOOP_BYTES / 2),
				     .rkey = be32_from(loop->remote.key)};

	mprotect(loop->mem, LOOP_BYTES / 2, PROT_NONE);
	raw_ctrl(raw, WQE_OP_READ);
	raw_add(raw, &from);
	raw_data(raw, loop->local.addr, 64, loop->local.key);
	raw_post(loop, raw, 3, 1);
}

static const struct {
	const char *name;
	void (*post)(struct loop *loop, struct raw *raw);
	enum rig_status status;
	uint8_t vendor;
} rows[] = {
    {"no units", no_units, RIG_LOCAL_QP_OPERATION, 0},
    {"a write of a ctrl segment", only_ctrl, RIG_LOCAL_QP_OPERATION, 0},
    {"more units than posted", more_units_than_posted, RIG_LOCAL_QP_OPERATION, 0},
    {"unknown opcode", unknown_opcode, RIG_LOCAL_QP_OPERATION, 0},
    {"unsupported opcode", unsupported_opcode, RIG_LOCAL_QP_OPERATION, 0},
    {"atomic without segment", atomic_without_its_segment, RIG_LOCAL_QP_OPERATION, 0},
    {"count 0 means 2^31", count_of_zero, RIG_LOCAL_PROTECTION, 0x53},
    {"count 2^31 - 1", count_of_all_ones, RIG_LOCAL_PROTECTION, 0x53},
    {"counts overflow 32 bits", counts_that_overflow, RIG_LOCAL_LENGTH, 0},
    {"past the region", past_the_region, RIG_LOCAL_PROTECTION, 0x53},
    {"wild pointer", wild_pointer, RIG_LOCAL_PROTECTION, 0x53},
    {"pointer that wraps", pointer_that_wraps, RIG_LOCAL_PROTECTION, 0x53},
    {"forged key", forged_key, RIG_LOCAL_PROTECTION, 0x52},
    {"key of no region", key_of_no_region, RIG_LOCAL_PROTECTION, 0x52},
    {"inline past the end", inline_past_the_end, RIG_LOCAL_QP_OPERATION, 0},
    {"inline of all ones", inline_of_all_ones, RIG_LOCAL_QP_OPERATION, 0},
    {"inline read", inline_read, RIG_LOCAL_QP_OPERATION, 0},
    {"atomic of four bytes", atomic_of_four_bytes, RIG_LOCAL_LENGTH, 0},
    {"unmapped memory", unmapped_memory, RIG_LOCAL_PROTECTION, 0},
    {"read into unmapped memory", read_into_unmapped_memory, RIG_LOCAL_PROTECTION, 0},
};

static bool kept(const uint8_t *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i] != KEEP)
			return false;
	return true;
}

/* Row v[0]: the entry fails as it says, the one behind it is flushed, no byte has moved. */
static int bad_entry(struct proc_msg *msg)
{
	struct loop loop;
	struct rig_wc wc;
	struct raw raw;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	if (result < 0)
		return result;
	memset(loop.mem, KEEP, LOOP_BYTES);
	rows[msg->v[0]].post(&loop, &raw);
	result = loop_next(&loop, &wc);
	if (result < 0)
		return result;
	msg->v[1] = wc.status;
	msg->v[2] = wc.vendor_syndrome;
	PEER_CHECK(wc.kind == RIG_WC_ENTRY && wc.index == 0);
	PEER_CHECK(loop_write(&loop, 0, 64) == 0 && loop_next(&loop, &wc) == 0);
	PEER_CHECK(wc.status == RIG_FLUSHED && wc.vendor_syndrome == 0xf5);
	PEER_CHECK(mprotect(loop.mem, LOOP_BYTES, PROT_READ | PROT_WRITE) == 0);
	PEER_CHECK(kept(loop.mem, LOOP_BYTES));
	result = loop_close(&loop);
	return result < 0 ? result : loop_works();
}

/*
 * Wild pointers, hostile lengths and counts, forged keys and impossible entries in the send ring:
 * the entry completes with the right status and syndrome, entries behind it are flushed, no byte
 * moves, and the next queue pair works. By a table of raw entries.
 */
static void test_bad_entries_end_in_the_right_status(void **state)
{
	struct proc *child = peer_start(1);

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct proc_msg msg = {.v = {i}};

		if (proc_call(child, bad_entry, &msg) < 0)
			fail_msg("%s: %s", rows[i].name, msg.text);
		if (msg.v[1] != rows[i].status || msg.v[2] != rows[i].vendor)
			fail_msg("%s: %s, %#llx", rows[i].name,
				 rig_status_text((enum rig_status)msg.v[1]),
				 (unsigned long long)msg.v[2]);
	}
}

/* ---- receives -------------------------------------------------------------------------------- */

/* A message that lands in memory that is gone. v[1], v[2]: the sender's and receive's status. */
static int receive_into_unmapped(struct proc_msg *msg)
{
	struct rig_local into;
	struct rig_entry entry = {.op = RIG_SEND,
				  .flags = RIG_SIGNAL_F | RIG_INLINE_F,
				  .inline_data = "hello",
				  .inline_len_bytes = 5};
	struct loop loop;
	struct rig_wc wc;
	int result = loop_open(&loop, RIG_LOCAL);

	if (result < 0)
		return result;
	PEER_TRY(rig_region_local(loop.region, 0, 64, &into));
	PEER_TRY(rig_qp_receive(loop.qp, &into));
	PEER_CHECK(mprotect(loop.mem, LOOP_BYTES, PROT_NONE) == 0);
	result = loop_post(&loop, &entry);
	for (int i = 0; i < 2 && result == 0; i++) {
		result = loop_next(&loop, &wc);
		msg->v[wc.kind == RIG_WC_ENTRY ? 1 : 2] = wc.status;
	}
	if (result < 0)
		return result;
	result = loop_close(&loop);
	return result < 0 ? result : loop_works();
}

/*
 * A receive whose memory is gone fails with local protection, and its queue pair with it.
 * By unmapping the pages behind a posted receive. (The queue pair is its own peer, so its send ends
 * in the same failure.)
 */
static void test_a_receive_into_unmapped_memory(void **state)
{
	struct proc *child = peer_start(1);
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(child, receive_into_unmapped, &msg);
	assert_int_equal(msg.v[2], RIG_LOCAL_PROTECTION);
	assert_true(msg.v[1] == RIG_FLUSHED || msg.v[1] == RIG_REMOTE_OPERATION);
}

/* ---- memory freed under the engine ----------------------------------------------------------- */

/* Frees a mapping of the library's, or brings its address back so that nobody else gets it. */
static int unmap(void *at, size_t len)
{
	PEER_CHECK(munmap(at, len) == 0);
	return 0;
}

static int remap(void *at, size_t len)
{
	PEER_CHECK(mmap(at, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == at);
	return 0;
}

/* Rings by hand: the record and the register, as if one more block were posted. */
static void ring_by_hand(struct rig_qp *qp)
{
	qp->sq_pos += WQE_BB_BYTES;
	rig_qp_ring(qp);
}

static int freed_send_ring(struct proc_msg *msg)
{
	struct rig_event event;
	struct loop loop;
	struct rig_wc wc;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	(void)msg;
	if (result < 0)
		return result;
	result = unmap(loop.qp->rings, loop.qp->rings_bytes);
	if (result < 0)
		return result;
	ring_by_hand(loop.qp);
	result = loop_next(&loop, &wc);
	if (result < 0)
		return result;
	PEER_CHECK(wc.status == RIG_LOCAL_QP_OPERATION);
	result = remap(loop.qp->rings, loop.qp->rings_bytes);
	if (result == 0)
		result = loop_close(&loop);
	while (result == 0 && rig_wait(peer.nic, 0, &event, 1) > 0)
		;
	return result < 0 ? result : loop_works();
}

/* The engine meets the hole by itself: nobody calls into the library after the munmap. */
static int freed_record(struct proc_msg *msg)
{
	void *page;
	struct rig_event event;
	struct loop loop;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	(void)msg;
	if (result < 0)
		return result;
	page = (void *)((uintptr_t)loop.qp->record & ~(uintptr_t)(LIB_PAGE_BYTES - 1));
	result = unmap(page, LIB_PAGE_BYTES);
	if (result < 0)
		return result;
	*(volatile uint64_t *)loop.qp->reg = 0x0800000000000000u | loop.qp->number;
	result = loop_event(peer.nic, RIG_EVENT_QP_ERROR, &event);
	if (result < 0)
		return result;
	PEER_CHECK(event.qp == loop.qp->number);
	PEER_CHECK(loop_counters(peer.nic)->db_fault > 0);
	result = remap(page, LIB_PAGE_BYTES);
	if (result == 0)
		result = loop_close(&loop);
	return result < 0 ? result : loop_works();
}

static int freed_completion_ring(struct proc_msg *msg)
{
	struct rig_event event;
	struct loop loop;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	(void)msg;
	if (result < 0)
		return result;
	result = unmap(loop.cq->ring, loop.cq->ring_bytes);
	if (result == 0)
		result = loop_write(&loop, 4096, 64);
	if (result == 0)
		result = loop_event(peer.nic, RIG_EVENT_CQ_ERROR, &event);
	if (result < 0)
		return result;
	PEER_CHECK(event.cq == loop.cq);
	PEER_CHECK(loop_counters(peer.nic)->mem_fault > 0);
	result = remap(loop.cq->ring, loop.cq->ring_bytes);
	if (result == 0)
		result = loop_close(&loop);
	return result < 0 ? result : loop_works();
}

/* Two writers of one NIC go on, while a third's ring goes. */
static void freed(proc_verb verb)
{
	struct proc *child = peer_start(1);
	struct proc *other = peer_start(2);
	struct peer_pair link = peer_pair(child, other);
	struct proc_msg msg = {0};

#ifdef __SANITIZE_THREAD__
	skip(); /* its runtime maps memory of its own where a ring was freed */
#endif
	peer_run_on(child, 300);
	peer_run_on(other, 300);
	proc_ok(child, verb, &msg);
	proc_ok(child, peer_drain, NULL);
	proc_ok(other, peer_drain, NULL);
	peer_agree(child, link.a, other, link.b);
	proc_ok(child, peer_close, NULL);
}

/*
 * A send ring unmapped under the NIC: its entry fails, the process and its other queue pairs go on.
 * By munmap, then a doorbell, under traffic of another link.
 */
static void test_a_send_ring_freed_under_the_engine(void **state)
{
	(void)state;
	freed(freed_send_ring);
}

/*
 * Doorbell records unmapped under the NIC: the queue pair fails with an event, the fault is
 * counted. By munmap and a register write; the link has a NIC of its own (records of one NIC share
 * pages).
 */
static void test_a_record_freed_under_the_engine(void **state)
{
	struct proc *child = peer_start(1);
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(child, freed_record, &msg);
}

/*
 * A completion ring unmapped under the NIC: a completion queue error event, and nothing else is
 * harmed. By munmap, then a write, under traffic of another link.
 */
static void test_a_completion_ring_freed_under_the_engine(void **state)
{
	(void)state;
	freed(freed_completion_ring);
}

/* ---- records and registers ------------------------------------------------------------------- */

static int register_ahead(struct proc_msg *msg)
{
	struct raw raw;
	struct loop loop;
	struct rig_wc wc;
	uint64_t word;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	(void)msg;
	if (result < 0)
		return result;
	memset(loop.mem, KEEP, LOOP_BYTES);
	memset(loop.mem, 1, 64);
	/* A good entry that the record does not tell of, and a register that does. */
	write_of(&raw, &loop, loop.local.addr, 64, loop.local.key);
	((struct wqe_raddr_seg *)(void *)(raw.bytes + 16))->va = be64_from(loop.remote.addr + 4096);
	raw.bytes[11] = WQE_CE_ALWAYS;
	raw.bytes[7] = 3;
	memcpy(loop.qp->sq, raw.bytes, WQE_BB_BYTES);
	((struct wqe_ctrl_seg *)(void *)loop.qp->sq)->qpn_ds = wqe_ctrl_qpn_ds(loop.qp->number, 3);
	memcpy(&word, loop.qp->sq, sizeof(word));
	__atomic_store_n(loop.qp->reg, word, __ATOMIC_RELEASE);
	for (int i = 0; i < 100 && loop_counters(peer.nic)->db_ahead == 0; i++) {
		PEER_CHECK(rig_cq_poll(loop.cq, &wc, 1) == 0);
		proc_sleep_ms(1);
	}
	PEER_CHECK(loop_counters(peer.nic)->db_ahead == 1);
	PEER_CHECK(rig_cq_poll(loop.cq, &wc, 1) == 0);
	PEER_CHECK(kept(loop.mem + 4096, 4096));
	/* The queue pair is as good as before. */
	result = loop_write(&loop, 8192, 64);
	if (result == 0)
		result = loop_next(&loop, &wc);
	if (result < 0)
		return result;
	PEER_CHECK(wc.status == RIG_OK && wc.index == 0);
	PEER_CHECK(memcmp(loop.mem, loop.mem + 8192, 64) == 0 && kept(loop.mem + 4096, 4096));
	return loop_close(&loop);
}

/*
 * A register that runs ahead of its record is counted, not obeyed [cases 6].
 * By a register write for an entry that the record does not tell of.
 */
static void test_a_register_rung_ahead_of_its_record(void **state)
{
	struct proc *child = peer_start(1);
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(child, register_ahead, &msg);
}

/* The record says v[0] entries are posted. */
static int hostile_record(struct proc_msg *msg)
{
	struct rig_event event;
	struct loop loop;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	if (result < 0)
		return result;
	__atomic_store_n(&loop.qp->record[DB_SEND].raw, be32_from((uint32_t)msg->v[0]).raw,
			 __ATOMIC_RELEASE);
	__atomic_store_n(loop.qp->reg, be64_from((uint64_t)loop.qp->number << 8 | 3).raw,
			 __ATOMIC_RELEASE);
	result = loop_event(peer.nic, RIG_EVENT_QP_ERROR, &event);
	if (result < 0)
		return result;
	PEER_CHECK(event.qp == loop.qp->number);
	result = loop_close(&loop);
	return result < 0 ? result : loop_works();
}

/*
 * A doorbell record that tells of more entries than the ring holds fails the queue pair, with an
 * event. By counts just over the ring and near 2^16.
 */
static void test_a_record_that_counts_too_much(void **state)
{
	struct proc *child = peer_start(1);
	static const uint32_t counts[] = {LOOP_ENTRIES + 1, 0x8000, 0xffff};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct proc_msg msg = {.v = {counts[i]}};

		proc_ok(child, hostile_record, &msg);
	}
}

/* Random words in every register of the page. */
static int scribble_registers(struct proc_msg *msg)
{
	struct base_prng prng;

	base_prng_seed(&prng, msg->v[0]);
	for (int round = 0; round < 2000; round++) {
		size_t at = base_prng_below(&prng, peer.nic->uar_bytes / 8);
		uint64_t word = base_prng_u64(&prng);

		if (peer.link_count && round % 2) /* near the truth */
			word = be64_from((uint64_t)rig_qp_number(peer.links[0].qp) << 8 |
					 (word & 0xffffff00000000ffu))
				   .raw;
		__atomic_store_n((uint64_t *)(void *)peer.nic->uar + at, word, __ATOMIC_RELAXED);
		peer_traffic();
	}
	return 0;
}

/*
 * Random words in the register page harm nothing: it is only a hint.
 * By 2,000 of them under traffic, half of them with the number of a living queue pair.
 */
static void test_random_register_writes(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);
	struct proc_msg msg = {.v = {4711}};

	(void)state;
	print_message("seed 4711\n");
	peer_run_on(a, 2000);
	peer_run_on(b, 2000);
	proc_ok(a, scribble_registers, &msg);
	proc_ok(a, peer_drain, NULL);
	proc_ok(b, peer_drain, NULL);
	peer_agree(a, link.a, b, link.b);
}

/* ---- overflow -------------------------------------------------------------------------------- */

static int overflow(struct proc_msg *msg)
{
	struct rig_event event;
	struct loop loop;
	struct rig_wc wc;
	int polled = 0;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	(void)msg;
	if (result < 0)
		return result;
	/* The library promises that this cannot happen; so the ring is told to forget what is full.
	 */
	for (unsigned int i = 0; i <= loop.cq->cqe_mask + 1; i++) {
		loop.qp->sq_limit = loop.qp->sq_pos + loop.qp->sq_mask + 1;
		result = loop_write(&loop, 4096, 8);
		if (result < 0)
			return result;
		/* So that the send ring itself does not overrun. */
		for (int spin = 0; spin < 100; spin++)
			peer.nic->os->progress(peer.nic->os->ctx);
	}
	result = loop_event(peer.nic, RIG_EVENT_CQ_ERROR, &event);
	if (result < 0)
		return result;
	PEER_CHECK(event.cq == loop.cq);
	PEER_CHECK(loop_counters(peer.nic)->cq_overrun == 1);
	while (rig_cq_poll(loop.cq, &wc, 1) == 1) {
		PEER_CHECK(wc.status == RIG_OK);
		polled++;
	}
	PEER_CHECK(polled == (int)loop.cq->cqe_mask + 1);
	result = loop_close(&loop);
	return result < 0 ? result : loop_works();
}

/*
 * An overflowing completion queue gives a completion queue error event, its queue pair fails, what
 * it holds can be polled, nothing hangs, and others go on [cases 8]. By one more completion than it
 * holds.
 */
static void test_completion_queue_overflow(void **state)
{
	(void)state;
	freed(overflow);
}

/* ---- random entries -------------------------------------------------------------------------- */

/* Messages wait for a receive without end, as they should; and a block behind a short entry is an
 * entry too. */
static void no_messages(uint8_t *bytes)
{
	for (unsigned int i = 0; i < FUZZ_BLOCKS; i++) {
		uint8_t *opcode = bytes + i * WQE_BB_BYTES + 3;

		if (*opcode == WQE_OP_SEND || *opcode == WQE_OP_SEND_IMM ||
		    *opcode == WQE_OP_WRITE_IMM)
			*opcode = WQE_OP_WRITE;
	}
}

static void random_entry(struct base_prng *prng, const struct loop *loop, uint8_t *bytes)
{
	static const uint8_t opcodes[] = {WQE_OP_WRITE,     WQE_OP_READ,  WQE_OP_ATOMIC_CS,
					  WQE_OP_ATOMIC_FA, WQE_OP_WRITE, WQE_OP_NOP};

	base_prng_fill(prng, bytes, FUZZ_BLOCKS * WQE_BB_BYTES);
	if (base_prng_below(prng, 8))
		bytes[3] = opcodes[base_prng_below(prng, sizeof(opcodes))];
	bytes[7] = (uint8_t)base_prng_below(prng, FUZZ_BLOCKS * WQE_UNITS_PER_BB + 2);
	for (unsigned int unit = 1; unit < FUZZ_BLOCKS * WQE_UNITS_PER_BB; unit++) {
		struct wqe_data_seg seg = {
		    .byte_count = be32_from((uint32_t)base_prng_below(prng, 2 * LOOP_BYTES)),
		    .lkey = be32_from(loop->local.key),
		    .va = be64_from(loop->local.addr + base_prng_below(prng, LOOP_BYTES)),
		};
		struct wqe_raddr_seg remote = {
		    .va = be64_from(loop->remote.addr + base_prng_below(prng, LOOP_BYTES)),
		    .rkey = be32_from(loop->remote.key),
		};

		if (unit == 1 && base_prng_below(prng, 4))
			memcpy(bytes + WQE_UNIT_BYTES, &remote, sizeof(remote));
		else if (unit > 1 && base_prng_below(prng, 3))
			memcpy(bytes + unit * WQE_UNIT_BYTES, &seg, sizeof(seg));
	}
	no_messages(bytes);
}

/* One random entry and a good one behind it: a completion must come. */
static int random_round(struct base_prng *prng)
{
	uint8_t bytes[FUZZ_BLOCKS * WQE_BB_BYTES];
	struct loop loop;
	struct rig_wc wc;
	int result = loop_open(&loop, RIG_REMOTE_ALL);

	if (result < 0)
		return result;
	random_entry(prng, &loop, bytes);
	loop_raw(&loop, bytes, FUZZ_BLOCKS);
	result = loop_write(&loop, 0, 0);
	if (result == 0)
		result = loop_next(&loop, &wc);
	return result < 0 ? result : loop_close(&loop);
}

static int random_entries(struct proc_msg *msg)
{
	struct base_prng prng;

	base_prng_seed(&prng, msg->v[0]);
	for (int round = 0; round < FUZZ_ROUNDS; round++) {
		int result = random_round(&prng);

		if (result < 0)
			return result;
	}
	return loop_works();
}

/*
 * Random entries never crash or hang the NIC: each is followed by a completion.
 * By 400 seeded ones, near the truth, on a queue pair each.
 */
static void test_random_entries(void **state)
{
	struct proc *child = peer_start(1);
	struct proc_msg msg = {.v = {20260729}};

	(void)state;
	print_message("seed 20260729\n");
	proc_ok(child, random_entries, &msg);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_bad_entries_end_in_the_right_status),
	    PEER_TEST(test_a_receive_into_unmapped_memory),
	    PEER_TEST(test_a_send_ring_freed_under_the_engine),
	    PEER_TEST(test_a_record_freed_under_the_engine),
	    PEER_TEST(test_a_completion_ring_freed_under_the_engine),
	    PEER_TEST(test_a_register_rung_ahead_of_its_record),
	    PEER_TEST(test_a_record_that_counts_too_much),
	    PEER_TEST(test_random_register_writes),
	    PEER_TEST(test_completion_queue_overflow),
	    PEER_TEST(test_random_entries),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
