/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the NIC does what libmlx5's entries for memory keys ask: windows are bound and
 * invalidated, keys get lists, strides and signatures, memory is copied, and the completion that
 * libmlx5 waits for comes. How: entries that libmlx5 wrote (tests/golden/wqe), posted on NIC 1 with
 * this world's keys in the places of the recorded ones; then NIC 0 reads or writes through the key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "abi/mlx5_umr.h"
#include "nic/nic_priv.h"
#include "nic/sig.h"
#include "tests/support/golden_wqe.h"
#include "tests/support/nic_bed.h"

enum { LOCAL_BYTES = 4 * OP_PIECE_STEP };

static struct golden_wqe *golden;
static size_t golden_count;
static bool *used; /* which of them a test has posted */

static int load(void **state)
{
	(void)state;
	golden = golden_wqes(&golden_count);
	used = calloc(golden_count, sizeof(*used));
	return used == NULL;
}

/* What is posted for each key: the number that was recorded, and this world's. */
struct keys {
	struct bed b;
	struct fake_region local; /* NIC 1, at OP_LOCAL_VA */
	uint32_t window;          /* as it is now */
	uint32_t mkey;
};

static struct keys keys_open(void)
{
	struct keys k = {.b = bed_open(&(struct fake_opts){.sq_count = golden[0].block_count})};
	struct nic_mkey_attr attr = {.pdn = k.b.w->sides[1].pdn,
				     .access = BED_ALL | NIC_ACCESS_BIND_F,
				     .va = OP_LOCAL_VA,
				     .host_va = OP_LOCAL_VA,
				     .len_bytes = LOCAL_BYTES};

	assert_true(FAKE_BASE_VA + k.b.w->mem_used <= OP_LOCAL_VA);
	k.b.w->mem_used = OP_LOCAL_VA - FAKE_BASE_VA;
	k.local = (struct fake_region){.va = fake_alloc(k.b.w, LOCAL_BYTES), .len = LOCAL_BYTES};
	assert_int_equal(k.local.va, OP_LOCAL_VA);
	assert_int_equal(nic_mkey_create(k.b.w->nics[1], &attr, &k.local.key), 0);
	for (uint32_t i = 0; i < LOCAL_BYTES; i++)
		((uint8_t *)fake_mem(k.b.w, OP_LOCAL_VA))[i] = (uint8_t)(i * 11 + (i >> 8));
	return k;
}

static uint8_t *local_at(struct keys *k, uint32_t off)
{
	return fake_mem(k->b.w, OP_LOCAL_VA + off);
}

static void window_make(struct keys *k, enum nic_mkey_kind kind)
{
	struct nic_mkey_attr attr = {.pdn = k->b.w->sides[1].pdn, .kind = kind};

	assert_int_equal(nic_mkey_create(k->b.w->nics[1], &attr, &k->window), 0);
}

static void mkey_make(struct keys *k, bool is_signed)
{
	struct nic_mkey_attr attr = {.pdn = k->b.w->sides[1].pdn,
				     .kind = NIC_MKEY_KLM,
				     .klm_count_max = 8,
				     .free = true,
				     .umr = true,
				     .tag_given = true,
				     .tag = (uint8_t)OP_MKEY,
				     .signature = is_signed};

	assert_int_equal(nic_mkey_create(k->b.w->nics[1], &attr, &k->mkey), 0);
}

static void replace(const struct keys *k, uint8_t *raw, uint32_t bytes)
{
	uint32_t qpn = k->b.pair.b.qpn;

	for (uint32_t i = 0; i < bytes; i += 4) {
		uint32_t word = be32_load(raw + i);

		if (word - OP_LKEY < OP_PIECES_MAX)
			be32_store(raw + i, k->local.key);
		if (word == OP_MKEY)
			be32_store(raw + i, k->mkey);
		if (word - OP_WINDOW_KEY <= 1)
			be32_store(raw + i, k->window);
		if (word >> 8 == OP_QPN)
			be32_store(raw + i, qpn << 8 | (word & 0xff));
	}
}

/* go_to - entries that do nothing, up to block `index`. */
static void go_to(struct fake_qp *qp, uint32_t index)
{
	const struct fake_wr nop = {.opcode = WQE_OP_NOP};

	if (qp->sq_pi >= index)
		return;
	while (qp->sq_pi != index)
		fake_post(qp, &nop);
	fake_ring(qp);
}

/* post - all entries that were recorded for the operation, on NIC 1, and the completions of those
 * that are signalled: so many bytes. */
static void post_bytes(struct keys *k, const char *name, bool is_new, uint32_t len)
{
	struct fake_qp *qp = &k->b.pair.b;
	uint16_t signalled[8];
	size_t count = 0;

	for (size_t i = 0; i < golden_count; i++) {
		uint8_t raw[GOLDEN_BYTES_MAX];

		if (golden[i].transport != OP_RC || golden[i].is_new != is_new ||
		    strcmp(golden[i].name, name) != 0)
			continue;
		go_to(qp, golden[i].index);
		memcpy(raw, golden[i].raw, golden[i].bytes);
		replace(k, raw, golden[i].bytes);
		fake_put_blocks(qp, raw, golden[i].bytes);
		used[i] = true;
		if (raw[11] & WQE_CE_ALWAYS)
			signalled[count++] = qp->last_index;
	}
	if (count == 0)
		fail_msg("nothing is recorded for %s", name);
	fake_ring(qp);
	fake_settle(k->b.w);
	for (size_t i = 0; i < count; i++)
		expect_done(&qp->send_cq, CQE_REQ, signalled[i], len);
	expect_none(&qp->send_cq);
}

static void post(struct keys *k, const char *name, bool is_new)
{
	post_bytes(k, name, is_new, 0);
}

/* NIC 0 moves len bytes between its source region and a key of NIC 1. */
static void remote(struct keys *k, enum wqe_opcode opcode, uint64_t va, uint32_t key, uint32_t len,
		   bool good)
{
	struct fake_wr wr = bed_wr(&k->b, opcode, len);
	uint16_t index;

	wr.remote_va = va;
	wr.rkey = key;
	index = fake_post(&k->b.pair.a, &wr);
	fake_ring(&k->b.pair.a);
	fake_settle(k->b.w);
	if (good)
		expect_done(&k->b.pair.a.send_cq, CQE_REQ, index, len);
	else
		expect_error(&k->b.pair.a.send_cq, CQE_REQ_ERR, index, CQE_SYND_REMOTE_ACCESS,
			     CQE_VENDOR_REMOTE_ACCESS);
}

/* The window's key after the (n)th entry: its tag is what the entry says. */
static uint32_t with_tag(uint32_t key, uint32_t recorded)
{
	return (key & ~0xffu) | (recorded & 0xff);
}

/* ---- windows --------------------------------------------------------------------------------- */

static struct keys bound(const char *name, bool is_new, enum nic_mkey_kind kind)
{
	struct keys k = keys_open();
	uint32_t old;

	window_make(&k, kind);
	fake_receive(&k.b.pair.a, NULL, 0); /* for the send that stands behind a binding */
	old = k.window;
	post(&k, name, is_new);
	k.window = with_tag(old, OP_WINDOW_KEY + 1);
	remote(&k, WQE_OP_WRITE, OP_LOCAL_VA + 100, k.window, OP_BIND_BYTES - 100, true);
	assert_memory_equal(local_at(&k, 100), bed_src(&k.b), OP_BIND_BYTES - 100);
	return k;
}

static void binding_has_the_bounds(void **state)
{
	static const struct {
		const char *name;
		bool is_new;
		enum nic_mkey_kind kind;
	} rows[] = {{"bind_1", false, NIC_MKEY_WINDOW_1},
		    {"bind_2", false, NIC_MKEY_WINDOW_2},
		    {"bind_2", true, NIC_MKEY_WINDOW_2},
		    {"bind_2_ring_end", false, NIC_MKEY_WINDOW_2},
		    {"bind_2_ring_end", true, NIC_MKEY_WINDOW_2},
		    {"bind_2_then_send", false, NIC_MKEY_WINDOW_2},
		    {"bind_2_then_send", true, NIC_MKEY_WINDOW_2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct keys k = bound(rows[i].name, rows[i].is_new, rows[i].kind);

		remote(&k, WQE_OP_READ, OP_LOCAL_VA, k.window, 16, true);
		assert_memory_equal(bed_src(&k.b), local_at(&k, 0), 16);
		remote(&k, WQE_OP_WRITE, OP_LOCAL_VA + 1, k.window, OP_BIND_BYTES, false);
		bed_close(&k.b);
	}
}

/* The right that was not given. */
static void binding_has_the_rights(void **state)
{
	struct keys k = bound("bind_2", true, NIC_MKEY_WINDOW_2);

	(void)state;
	remote(&k, WQE_OP_ATOMIC_FA, OP_LOCAL_VA, k.window, 8, false);
	bed_close(&k.b);
}

static void unbinding_invalidates(void **state)
{
	struct keys k = bound("bind_1", false, NIC_MKEY_WINDOW_1);

	(void)state;
	post(&k, "unbind_1", false);
	remote(&k, WQE_OP_WRITE, OP_LOCAL_VA, with_tag(k.window, OP_WINDOW_KEY + 2), 1, false);
	bed_close(&k.b);
	k = bound("bind_1", false, NIC_MKEY_WINDOW_1);
	post(&k, "unbind_1", false);
	remote(&k, WQE_OP_WRITE, OP_LOCAL_VA, k.window, 1, false);
	bed_close(&k.b);
}

static void local_invalidate(void **state)
{
	(void)state;
	for (int is_new = 0; is_new <= 1; is_new++) {
		struct keys k = bound("bind_2", is_new, NIC_MKEY_WINDOW_2);

		post(&k, "local_inv", is_new);
		remote(&k, WQE_OP_WRITE, OP_LOCAL_VA, k.window, 1, false);
		bed_close(&k.b);
	}
}

/* ---- keys of pieces -------------------------------------------------------------------------- */

/* NIC 0 reads all of the key: those bytes, and no more. Nor may it write: the right was not given.
 */
static void expect_key(struct keys *k, const uint8_t *bytes, uint32_t len)
{
	remote(k, WQE_OP_READ, 0, k->mkey, len, true);
	assert_memory_equal(bed_src(&k->b), bytes, len);
	remote(k, WQE_OP_READ, 1, k->mkey, len, false);
}

static void expect_read_only(const char *name)
{
	struct keys k = keys_open();

	mkey_make(&k, false);
	post(&k, name, true);
	remote(&k, WQE_OP_WRITE, 0, k.mkey, 1, false);
	bed_close(&k.b);
}

static void lists(void **state)
{
	static const struct {
		const char *name;
		uint32_t count;
	} rows[] = {
	    {"mr_list_2", 2}, {"mr_list_4", 4}, {"mr_list_4_ring_end", 4}, {"configure_list", 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct keys k = keys_open();
		uint8_t bytes[4 * (OP_MKEY_PIECE_BYTES + 4)];
		uint32_t len = 0;

		mkey_make(&k, false);
		post(&k, rows[i].name, true);
		for (uint32_t p = 0; p < rows[i].count; p++) {
			memcpy(bytes + len, local_at(&k, p * OP_PIECE_STEP),
			       OP_MKEY_PIECE_BYTES + p);
			len += OP_MKEY_PIECE_BYTES + p;
		}
		expect_key(&k, bytes, len);
		bed_close(&k.b);
		expect_read_only(rows[i].name);
	}
}

static void strides(void **state)
{
	static const char *const names[] = {"mr_interleaved", "mr_interleaved_wraps",
					    "configure_interleaved"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct keys k = keys_open();
		uint8_t bytes[2 * OP_MKEY_ROUNDS * (OP_MKEY_PIECE_BYTES + 1)];
		uint32_t len = 0;

		mkey_make(&k, false);
		post(&k, names[i], true);
		for (uint32_t n = 0; n < 2 * OP_MKEY_ROUNDS; n++) {
			uint32_t p = n % 2, take = OP_MKEY_PIECE_BYTES + p;

			memcpy(
			    bytes + len,
			    local_at(&k, p * OP_PIECE_STEP + n / 2 * (take + OP_MKEY_SKIP_BYTES)),
			    take);
			len += take;
		}
		expect_key(&k, bytes, len);
		bed_close(&k.b);
		expect_read_only(names[i]);
	}
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* A key with the signature numbers that the recorded one had: 1 in memory, 2 on the wire. */
static struct keys signed_open(void)
{
	struct keys k = keys_open();
	uint32_t psv;

	mkey_make(&k, true);
	do
		assert_int_equal(nic_psv_create(k.b.w->nics[1], k.b.w->sides[1].pdn, &psv), 0);
	while (psv < 2);
	return k;
}

/* Made as the data leave: memory has none. */
static void crc32c_is_made(void **state)
{
	struct keys k = signed_open();
	uint8_t bytes[OP_BLOCK_BYTES + 4];
	uint64_t crc;

	(void)state;
	post(&k, "configure_crc32c", true);
	memcpy(bytes, local_at(&k, 0), OP_BLOCK_BYTES);
	crc = nic_crc_end(NIC_SIG_CRC32C,
			  nic_crc_run(NIC_SIG_CRC32C, UINT32_MAX, bytes, OP_BLOCK_BYTES));
	memcpy(bytes + OP_BLOCK_BYTES, &crc, 4);
	expect_key(&k, bytes, sizeof(bytes));
	expect_none(&k.b.pair.b.recv_cq);
	bed_close(&k.b);
}

static void dif_write(struct keys *k)
{
	uint8_t *dif = local_at(k, OP_BLOCK_BYTES);
	uint64_t guard = nic_crc_end(
	    NIC_SIG_T10_CRC, nic_crc_run(NIC_SIG_T10_CRC, 0xffff, local_at(k, 0), OP_BLOCK_BYTES));

	be16_store(dif, (uint16_t)guard);
	be16_store(dif + 2, OP_DIF_APP);
	be32_store(dif + 4, OP_DIF_REF);
}

/* Checked as the data leave: right, and then with each field wrong. */
static void t10dif_is_checked(void **state)
{
	static const uint32_t wrong[] = {UINT32_MAX, 0, OP_BLOCK_BYTES + 3, OP_BLOCK_BYTES + 7};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct keys k = signed_open();
		struct fake_cqe cqe;

		post(&k, i % 2 ? "configure_t10dif_wraps" : "configure_t10dif", true);
		dif_write(&k);
		if (wrong[i] != UINT32_MAX)
			*local_at(&k, wrong[i]) ^= 1;
		remote(&k, WQE_OP_READ, 0, k.mkey, OP_BLOCK_BYTES + OP_DIF_BYTES, true);
		if (wrong[i] == UINT32_MAX)
			assert_memory_equal(bed_src(&k.b), local_at(&k, 0),
					    OP_BLOCK_BYTES + OP_DIF_BYTES);
		assert_int_equal(fake_poll(&k.b.pair.b.recv_cq, &cqe), wrong[i] != UINT32_MAX);
		if (wrong[i] != UINT32_MAX)
			assert_int_equal(cqe.opcode, CQE_SIG_ERR);
		bed_close(&k.b);
	}
}

/* ---- copies, and all of them ----------------------------------------------------------------- */

static void copying(void **state)
{
	struct keys k = keys_open();
	uint8_t after = *local_at(&k, OP_PIECE_STEP + OP_COPY_BYTES);

	(void)state;
	post_bytes(&k, "memcpy", true, OP_COPY_BYTES);
	assert_memory_equal(local_at(&k, OP_PIECE_STEP), local_at(&k, 0), OP_COPY_BYTES);
	assert_int_equal(*local_at(&k, OP_PIECE_STEP + OP_COPY_BYTES), after);
	bed_close(&k.b);
}

/* Every recorded entry that is no common operation has been posted by a test above. */
static void none_is_left_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < golden_count; i++)
		if (golden[i].transport == OP_RC && !golden[i].op && !golden[i].receive && !used[i])
			fail_msg("nobody posts %s", golden[i].name);
	free(golden);
	free(used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(binding_has_the_bounds),
	    cmocka_unit_test(binding_has_the_rights),
	    cmocka_unit_test(unbinding_invalidates),
	    cmocka_unit_test(local_invalidate),
	    cmocka_unit_test(lists),
	    cmocka_unit_test(strides),
	    cmocka_unit_test(crc32c_is_made),
	    cmocka_unit_test(t10dif_is_checked),
	    cmocka_unit_test(copying),
	    cmocka_unit_test(none_is_left_out),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
