/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_soft_data_test.c - entries, completions, regions and NICs clause by clause, through the
 * public API on the software NIC.
 */
#include "tests/support/loop.h"
#include "tests/support/procs.h"
#include "tests/support/soft_pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEEP = 0xee };

static void fill(uint8_t *dst, size_t len, uint64_t seed)
{
	struct base_prng prng;

	base_prng_seed(&prng, seed);
	base_prng_fill(&prng, dst, len);
}

static void assert_kept(const uint8_t *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i] != KEEP)
			fail_msg("byte %zu was changed", i);
}

/* ---- entries --------------------------------------------------------------------------------- */

/*
 * Write, read and send move exactly their bytes, at any length up to several packets.
 * By each operation at lengths around the MTU, with memory around them that stays.
 */
static void test_write_read_send(void **state)
{
	static const uint32_t lengths[] = {1, 28, 29, 64, 4095, 4096, 4097, 8192, 20000};

	(void)state;
	soft_pair();
	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t len = lengths[i];
		struct rig_entry entry;
		struct rig_wc wc;

		memset(soft.b.mem, KEEP, SOFT_BYTES);
		fill(soft.a.mem, len, i);
		entry = soft_entry(&soft.a, RIG_WRITE, 0, len, 64);
		soft_post(&soft.a, &entry);
		wc = soft_done(&soft.a);
		assert_true(wc.kind == RIG_WC_ENTRY && wc.op == RIG_WRITE && wc.syndrome == 0);
		assert_memory_equal(soft.a.mem, soft.b.mem + 64, len);
		assert_kept(soft.b.mem, 64);
		assert_kept(soft.b.mem + 64 + len, SOFT_BYTES - 64 - len);
		memset(soft.a.mem + 32768, KEEP, 32768);
		entry = soft_entry(&soft.a, RIG_READ, 32768 + 64, len, 64);
		soft_post(&soft.a, &entry);
		wc = soft_done(&soft.a);
		assert_true(wc.op == RIG_READ && wc.len_bytes == len);
		assert_memory_equal(soft.a.mem + 32768 + 64, soft.b.mem + 64, len);
		assert_kept(soft.a.mem + 32768, 64);
		assert_kept(soft.a.mem + 32768 + 64 + len, 32768 - 64 - len);
		memset(soft.b.mem, KEEP, SOFT_BYTES);
		soft_receive(&soft.b, 32, 32768);
		entry = soft_entry(&soft.a, RIG_SEND, 0, len, 0);
		soft_post(&soft.a, &entry);
		assert_int_equal(soft_done(&soft.a).op, RIG_SEND);
		wc = soft_done(&soft.b);
		assert_true(wc.kind == RIG_WC_RECEIVE && wc.op == RIG_SEND && wc.len_bytes == len);
		assert_memory_equal(soft.a.mem, soft.b.mem + 32, len);
		assert_kept(soft.b.mem, 32);
		assert_kept(soft.b.mem + 32 + len, SOFT_BYTES - 32 - len);
	}
}

static int post_inline(enum rig_op op, const uint8_t *data, uint32_t len)
{
	struct rig_entry entry = soft_entry(&soft.a, op, 0, 0, 0);

	entry.flags = RIG_SIGNAL_F | RIG_INLINE_F;
	entry.piece_count = 0;
	entry.inline_data = data;
	entry.inline_len_bytes = len;
	return rig_qp_post(soft.a.qp, &entry);
}

/*
 * Inline data is copied at the post, takes one slot up to 28 bytes of a write and more slots
 * beyond, works at the NIC's limit and at every place of the ring, and is refused one byte over the
 * limit [cases 3]. By writes and sends of every length, the data being changed right after the
 * post.
 */
static void test_inline(void **state)
{
	uint32_t most = soft.info.inline_max_bytes;
	uint8_t *data = malloc(most + 1), *copy = malloc(most + 1);

	(void)state;
	soft_pair();
	assert_true(most >= 28);
	for (uint32_t len = 0; len <= most; len += len < 80 ? 1 : 37) {
		for (int op = RIG_WRITE; op <= RIG_SEND; op += RIG_SEND) {
			int room = rig_qp_room(soft.a.qp, RIG_RING_SEND);

			fill(data, len, len);
			memcpy(copy, data, len);
			memset(soft.b.mem, KEEP, most + 64);
			if (op == RIG_SEND)
				soft_receive(&soft.b, 0, most);
			assert_int_equal(post_inline((enum rig_op)op, data, len), 0);
			if (op == RIG_WRITE)
				assert_int_equal(room - rig_qp_room(soft.a.qp, RIG_RING_SEND) == 1,
						 len <= 28);
			memset(data, 0, len);
			assert_int_equal(rig_qp_ring(soft.a.qp), 0);
			soft_done(&soft.a);
			if (op == RIG_SEND)
				assert_int_equal(soft_done(&soft.b).len_bytes, len);
			assert_memory_equal(soft.b.mem, copy, len);
			assert_kept(soft.b.mem + len, 64);
		}
	}
	fill(data, most, 1);
	assert_int_equal(post_inline(RIG_WRITE, data, most), 0);
	assert_int_equal(rig_qp_ring(soft.a.qp), 0);
	soft_done(&soft.a);
	assert_memory_equal(soft.b.mem, data, most);
	soft_refused(post_inline(RIG_WRITE, data, most + 1), -EINVAL, "inline");
	soft_refused(post_inline(RIG_WRITE, data, 0x80000001u), -EINVAL, "inline");
	soft_refused(post_inline(RIG_WRITE, data, UINT32_MAX), -EINVAL, "inline");
	free(data);
	free(copy);
}

/*
 * Immediate data comes with a send's message and with a write, which then takes a receive; without
 * it a write takes none. By each, and the receive's completion.
 */
static void test_immediate_data(void **state)
{
	struct rig_entry entry;
	struct rig_wc wc;

	(void)state;
	soft_pair();
	fill(soft.a.mem, 128, 3);
	soft_receive(&soft.b, 1024, 64);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 8, 0);
	entry.flags |= RIG_IMM_F;
	entry.imm = 0x01020304;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	wc = soft_done(&soft.b);
	assert_true(wc.flags & RIG_WC_IMM_F);
	assert_int_equal(wc.imm, 0x01020304);
	assert_int_equal(wc.op, RIG_SEND);
	memset(soft.b.mem + 1024, KEEP, 64);
	soft_receive(&soft.b, 1024, 64);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 128, 0);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	soft_none(&soft.b, 5);
	entry.flags |= RIG_IMM_F;
	entry.imm = 0xfffefdfc;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	wc = soft_done(&soft.b);
	assert_true(wc.flags & RIG_WC_IMM_F);
	assert_int_equal(wc.imm, 0xfffefdfc);
	assert_int_equal(wc.op, RIG_WRITE);
	assert_int_equal(wc.len_bytes, 128);
	assert_memory_equal(soft.b.mem, soft.a.mem, 128);
	assert_kept(soft.b.mem + 1024, 64);
}

/*
 * An entry gathers its pieces in order, a read and a receive scatter over theirs, an empty piece
 * counts for nothing, and as many pieces as the NIC says are taken, one more is refused.
 * By pieces in reverse order of their addresses.
 */
static void test_several_pieces(void **state)
{
	unsigned int most = soft.info.pieces_max;
	struct rig_local *pieces = calloc(most + 1, sizeof(*pieces));
	struct rig_local into[2];
	struct rig_entry entry;

	(void)state;
	soft_sides(64, 16);
	soft_connect(RIG_REMOTE_ALL, RIG_REMOTE_ALL);
	fill(soft.a.mem, 4096, 5);
	memset(soft.b.mem, KEEP, 4096);
	for (unsigned int i = 0; i <= most; i++)
		pieces[i] = soft_local(&soft.a, (most - i) * 16, i % 5 ? i % 16 + 1 : 0);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 0, 0);
	entry.pieces = pieces;
	entry.piece_count = (uint16_t)most;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	for (unsigned int i = 0, at = 0; i < most; at += pieces[i++].len_bytes)
		assert_memory_equal(soft.b.mem + at, soft.a.mem + (most - i) * 16,
				    pieces[i].len_bytes);
	for (unsigned int i = 0; i <= most; i++)
		pieces[i] = soft_local(&soft.a, i, 1);
	entry.piece_count = (uint16_t)(most + 1);
	soft_refused(rig_qp_post(soft.a.qp, &entry), -EINVAL, "pieces");
	pieces[0] = soft_local(&soft.a, 8192, 10);
	pieces[1] = soft_local(&soft.a, 8000, 90);
	entry = soft_entry(&soft.a, RIG_READ, 0, 0, 0);
	entry.pieces = pieces;
	entry.piece_count = 2;
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_done(&soft.a).len_bytes, 100);
	assert_memory_equal(soft.a.mem + 8192, soft.b.mem, 10);
	assert_memory_equal(soft.a.mem + 8000, soft.b.mem + 10, 90);
	into[0] = soft_local(&soft.b, 9000, 7);
	into[1] = soft_local(&soft.b, 8000, 100);
	assert_int_equal(rig_qp_receive_pieces(soft.b.qp, into, 2), 0);
	entry = soft_entry(&soft.a, RIG_SEND, 0, 50, 0);
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	assert_int_equal(soft_done(&soft.b).len_bytes, 50);
	assert_memory_equal(soft.b.mem + 9000, soft.a.mem, 7);
	assert_memory_equal(soft.b.mem + 8000, soft.a.mem + 7, 43);
	free(pieces);
}

static uint64_t atomic(enum rig_op op, uint64_t add_or_swap, uint64_t compare)
{
	struct rig_entry entry = soft_entry(&soft.a, op, 64, 8, 128);
	struct rig_wc wc;
	uint64_t old;

	entry.add_or_swap = add_or_swap;
	entry.compare = compare;
	soft_post(&soft.a, &entry);
	wc = soft_done(&soft.a);
	assert_int_equal(wc.op, op);
	memcpy(&old, soft.a.mem + 64, sizeof(old));
	return old;
}

/*
 * Fetch-and-add and compare-and-swap bring the old value and change memory, in host order at both
 * ends; a compare that fails changes nothing; one piece of 8 bytes at an aligned address is needed.
 * By sequences whose values are known, and refusals.
 */
static void test_atomics(void **state)
{
	struct rig_entry entry;
	uint64_t value = 40;

	(void)state;
	soft_pair();
	memcpy(soft.b.mem + 128, &value, 8);
	assert_int_equal(atomic(RIG_FETCH_ADD, 2, 0), 40);
	assert_int_equal(atomic(RIG_FETCH_ADD, ~0ull, 0), 42);
	assert_int_equal(atomic(RIG_COMPARE_SWAP, 7, 40), 41);
	assert_int_equal(atomic(RIG_COMPARE_SWAP, 0x1122334455667788, 41), 41);
	memcpy(&value, soft.b.mem + 128, 8);
	assert_int_equal(value, 0x1122334455667788);
	entry = soft_entry(&soft.a, RIG_FETCH_ADD, 64, 4, 128);
	soft_refused(rig_qp_post(soft.a.qp, &entry), -EINVAL, "atomic");
	entry = soft_entry(&soft.a, RIG_FETCH_ADD, 64, 8, 129);
	soft_refused(rig_qp_post(soft.a.qp, &entry), -EINVAL, "atomic");
}

/*
 * A fenced entry starts after the reads before it ended: what they brought is what it sends.
 * By a read into memory and a fenced write out of the same memory, rung together, many times.
 */
static void test_fence(void **state)
{
	(void)state;
	soft_pair();
	for (int i = 0; i < 200; i++) {
		struct rig_entry entry;

		fill(soft.b.mem, 16384, (uint64_t)i);
		memset(soft.a.mem, 0, 16384);
		entry = soft_entry(&soft.a, RIG_READ, 0, 16384, 0);
		entry.flags = 0;
		assert_int_equal(rig_qp_post(soft.a.qp, &entry), 0);
		entry = soft_entry(&soft.a, RIG_WRITE, 0, 16384, 32768);
		entry.flags = RIG_SIGNAL_F | RIG_FENCE_F;
		soft_post(&soft.a, &entry);
		soft_done(&soft.a);
		assert_memory_equal(soft.b.mem, soft.b.mem + 32768, 16384);
	}
}

/*
 * Only an entry that asks for it, or fails, completes.
 * By three quiet writes and a signalled one, then a quiet one with a wrong key.
 */
static void test_signal(void **state)
{
	struct rig_entry entry;
	struct rig_wc wc;

	(void)state;
	soft_pair();
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 8, 0);
	entry.flags = 0;
	for (int i = 0; i < 3; i++)
		soft_post(&soft.a, &entry);
	soft_none(&soft.a, 5);
	entry.flags = RIG_SIGNAL_F;
	soft_post(&soft.a, &entry);
	assert_int_equal(soft_done(&soft.a).index, 3);
	entry.flags = 0;
	entry.remote_key ^= 0x11;
	soft_post(&soft.a, &entry);
	wc = soft_next(&soft.a);
	assert_int_equal(wc.index, 4);
	assert_int_equal(wc.status, RIG_REMOTE_ACCESS);
}

/* ---- completions ----------------------------------------------------------------------------- */

/*
 * Completions are polled one at a time or many at once, oldest first, and the array beyond what is
 * returned stays as it is. By eight completions polled as 1, 3 and 16.
 */
static void test_poll_one_and_many(void **state)
{
	struct rig_wc wc[16];
	struct rig_entry entry;

	(void)state;
	soft_pair();
	for (uint32_t i = 0; i < 8; i++) {
		entry = soft_entry(&soft.a, RIG_WRITE, 0, 8, i * 8);
		soft_post(&soft.a, &entry);
	}
	soft_none(&soft.b, 20);
	memset(wc, 0x5a, sizeof(wc));
	assert_int_equal(rig_cq_poll(soft.a.cq, wc, 1), 1);
	assert_int_equal(wc[0].index, 0);
	assert_int_equal(wc[1].index, 0x5a5a);
	assert_int_equal(rig_cq_poll(soft.a.cq, wc, 3), 3);
	assert_true(wc[0].index == 1 && wc[1].index == 2 && wc[2].index == 3);
	assert_int_equal(wc[3].index, 0x5a5a);
	assert_int_equal(rig_cq_poll(soft.a.cq, wc, 16), 4);
	assert_true(wc[0].index == 4 && wc[3].index == 7 && wc[4].index == 0x5a5a);
	assert_int_equal(rig_cq_poll(soft.a.cq, wc, 16), 0);
	soft_refused(rig_cq_poll(soft.a.cq, wc, 0), -EINVAL, "");
}

/*
 * A completion has a one-line message for people that names the queue pair, the entry, the status
 * and the vendor's syndrome. By a failure, and a buffer that is too short.
 */
static void test_completion_text(void **state)
{
	struct rig_entry entry;
	char number[16], text[256], cut[8];
	struct rig_wc wc;
	int len;

	(void)state;
	soft_pair();
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 8, 0);
	entry.remote_key ^= 1;
	soft_post(&soft.a, &entry);
	wc = soft_next(&soft.a);
	len = rig_wc_text(&wc, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	snprintf(number, sizeof(number), "0x%x", rig_qp_number(soft.a.qp));
	assert_non_null(strstr(text, number));
	assert_non_null(strstr(text, rig_status_text(RIG_REMOTE_ACCESS)));
	assert_non_null(strstr(text, "0x88"));
	assert_null(strchr(text, '\n'));
	assert_int_equal(rig_wc_text(&wc, cut, sizeof(cut)), len);
	assert_int_equal(strlen(cut), sizeof(cut) - 1);
}

/* ---- the syndrome table ---------------------------------------------------------------------- */

/* Of the failures in the ConnectX-6's table that this API can cause, each with its row's name. */
static void bad_lkey(struct rig_entry *entry, struct rig_local *piece)
{
	piece->key ^= 0x100;
	entry->pieces = piece;
}

static void past_region(struct rig_entry *entry, struct rig_local *piece)
{
	piece->addr += SOFT_BYTES - 4;
	entry->pieces = piece;
}

static void bad_rkey(struct rig_entry *entry, struct rig_local *piece)
{
	(void)piece;
	entry->remote_key ^= 1;
}

static void bad_range(struct rig_entry *entry, struct rig_local *piece)
{
	(void)piece;
	entry->remote_addr += SOFT_BYTES;
}

/*
 * Failures carry the status and vendor syndrome that a ConnectX-6 gives, and what is posted behind
 * them is flushed (0xf5). By a table of mistakes in a write's entry.
 */
static void test_syndromes(void **state)
{
	static const struct {
		const char *name;
		void (*spoil)(struct rig_entry *entry, struct rig_local *piece);
		uint8_t status, vendor;
	} rows[] = {
	    {"piece past its region", past_region, RIG_LOCAL_PROTECTION, 0x53},
	    {"bad lkey", bad_lkey, RIG_LOCAL_PROTECTION, 0x52},
	    {"bad rkey", bad_rkey, RIG_REMOTE_ACCESS, 0x88},
	    {"bad range", bad_range, RIG_REMOTE_ACCESS, 0x88},
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_entry entry, good;
		struct rig_local piece;
		struct rig_wc wc;

		soft.a = soft.b = (struct soft_side){0};
		soft_pair();
		good = entry = soft_entry(&soft.a, RIG_WRITE, 0, 8, 0);
		piece = *entry.pieces;
		rows[i].spoil(&entry, &piece);
		assert_int_equal(rig_qp_post(soft.a.qp, &entry), 0);
		soft_post(&soft.a, &good);
		wc = soft_next(&soft.a);
		if (wc.status != rows[i].status || wc.vendor_syndrome != rows[i].vendor)
			fail_msg("%s: %s, %#x", rows[i].name, rig_status_text(wc.status),
				 wc.vendor_syndrome);
		wc = soft_next(&soft.a);
		assert_true(wc.status == RIG_FLUSHED && wc.vendor_syndrome == 0xf5);
	}
}

/* ---- regions --------------------------------------------------------------------------------- */

static uint8_t status_with(enum rig_access region_access, enum rig_op op)
{
	struct rig_region *region;
	struct rig_remote remote;
	struct rig_entry entry;

	soft.a = soft.b = (struct soft_side){0};
	soft_pair();
	assert_int_equal(rig_region_create(soft.nic, soft.b.mem, 4096, region_access, &region), 0);
	assert_int_equal(rig_region_remote(region, 0, 4096, &remote), 0);
	entry = soft_entry(&soft.a, op, 0, 8, 0);
	entry.remote_addr = remote.addr;
	entry.remote_key = remote.key;
	memset(soft.b.mem, KEEP, 64);
	soft_post(&soft.a, &entry);
	return soft_next(&soft.a).status;
}

/*
 * A region allows its peers nothing, writes, or writes, reads and atomics, as it was made.
 * By each operation on each kind of region, through queue pairs that allow all.
 */
static void test_region_access(void **state)
{
	static const enum rig_op ops[] = {RIG_WRITE, RIG_READ, RIG_FETCH_ADD, RIG_COMPARE_SWAP};

	(void)state;
	for (int access = RIG_LOCAL; access <= RIG_REMOTE_ALL; access++) {
		for (unsigned int i = 0; i < 4; i++) {
			bool allowed =
			    access == RIG_REMOTE_ALL || (access == RIG_REMOTE_WRITE && i == 0);
			uint8_t status = status_with((enum rig_access)access, ops[i]);

			assert_int_equal(status, allowed ? RIG_OK : RIG_REMOTE_ACCESS);
			if (!allowed)
				assert_kept(soft.b.mem, 64);
		}
	}
}

/*
 * Pieces are bounds-checked, also where offset and length overflow; a region of nothing, of
 * unmapped memory or that wraps is refused. By a table of offsets and lengths, and of ranges.
 */
static void test_region_bounds(void **state)
{
	static const struct {
		uint64_t offset, len;
		bool good;
	} rows[] = {
	    {0, SOFT_BYTES, true},  {SOFT_BYTES, 0, true},           {0, 0, true},
	    {100, 200, true},       {0, SOFT_BYTES + 1, false},      {SOFT_BYTES, 1, false},
	    {1, SOFT_BYTES, false}, {SOFT_BYTES + 1, 0, false},      {~0ull, 2, false},
	    {8, ~0ull - 4, false},  {1ull << 63, 1ull << 63, false},
	};
	struct rig_region *region;
	struct rig_remote remote;
	struct rig_local local;

	(void)state;
	soft_sides(4, 4);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int expected = rows[i].good ? 0 : -EINVAL;

		assert_int_equal(
		    rig_region_local(soft.a.region, rows[i].offset, rows[i].len, &local), expected);
		assert_int_equal(
		    rig_region_remote(soft.a.region, rows[i].offset, rows[i].len, &remote),
		    expected);
	}
	soft_refused(rig_region_create(soft.nic, soft.a.mem, 0, RIG_LOCAL, &region), -EINVAL, "");
	soft_refused(rig_region_create(soft.nic, (void *)~4095ull, 8192, RIG_LOCAL, &region),
		     -EINVAL, "");
	soft_refused(rig_region_create(soft.nic, (void *)0x1000, 64, RIG_LOCAL, &region), -EFAULT,
		     "mapped");
	soft_refused(rig_region_create(soft.nic, soft.a.mem, 64, (enum rig_access)9, &region),
		     -EINVAL, "9");
	soft_refused(rig_region_create_dmabuf(soft.nic, 0, 0, 4096, RIG_LOCAL, &region), -EINVAL,
		     "no dma-buf");
}

/* ---- NICs ------------------------------------------------------------------------------------ */

/*
 * The software NIC is listed, opened by name, and described: name, bus, link layer, address,
 * limits. By rig_names and rig_nic_info.
 */
static void test_the_nic_is_described(void **state)
{
	char names[16][RIG_NAME_MAX];
	int n = rig_names(names, 16);
	bool found = false;
	struct rig_nic *nic;

	(void)state;
	if (!soft.info.software)
		skip();
	assert_in_range(n, 1, 16);
	for (int i = 0; i < n; i++)
		found |= strcmp(names[i], "soft0") == 0;
	assert_true(found);
	assert_string_equal(soft.info.name, "soft0");
	assert_string_equal(soft.info.bus, "software");
	assert_true(soft.info.software && soft.info.port_active);
	assert_int_equal(soft.info.link, RIG_LINK_ETHERNET);
	assert_int_equal(soft.info.address.gid[12], 127);
	assert_int_equal(soft.info.address.gid[10], 0xff);
	assert_int_equal(soft.info.message_max_bytes, 1 << 30);
	assert_int_equal(soft.info.mtu_bytes, 4096);
	assert_true(soft.info.entries_max > 0 && soft.info.receives_max > 0);
	assert_true(soft.info.cqe_max > 0 && soft.info.pieces_max > 1);
	soft_refused(rig_open("soft9", &nic), -ENODEV, "soft9");
	soft_refused(rig_open("", &nic), -ENODEV, "");
}

/*
 * A completion queue holds 1 to 2^22, rounded up. By sizes in and around that range.
 */
static void test_completion_queue_sizes(void **state)
{
	struct rig_cq *cq;

	(void)state;
	soft_refused(rig_cq_create(soft.nic, 0, &cq), -EINVAL, "0");
	soft_refused(rig_cq_create(soft.nic, -1, &cq), -EINVAL, "-1");
	soft_refused(rig_cq_create(soft.nic, (1 << 22) + 1, &cq), -EINVAL, "4194304");
	assert_int_equal(rig_cq_create(soft.nic, 1, &cq), 0);
	assert_int_equal(rig_cq_destroy(cq), 0);
	assert_int_equal(rig_cq_create(soft.nic, 1 << 22, &cq), 0);
	assert_int_equal(rig_cq_destroy(cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(test_write_read_send),
	    SOFT_TEST(test_inline),
	    SOFT_TEST(test_immediate_data),
	    SOFT_TEST(test_several_pieces),
	    SOFT_TEST(test_atomics),
	    SOFT_TEST(test_fence),
	    SOFT_TEST(test_signal),
	    SOFT_TEST(test_poll_one_and_many),
	    SOFT_TEST(test_completion_text),
	    SOFT_TEST(test_syndromes),
	    SOFT_TEST(test_region_access),
	    SOFT_TEST(test_region_bounds),
	    SOFT_TEST(test_the_nic_is_described),
	    SOFT_TEST(test_completion_queue_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
