/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows the bytes that each kind of entry becomes, at the ring's end too, and which entries are
 * refused. How: a scripted kernel; the test reads the ring as the NIC does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#define REMOTE .remote_addr = 0x1122334455667788, .remote_key = 0xaabbccdd

static struct rig_local piece_a = {.addr = 0x1000, .len_bytes = 100, .key = 0x111};

static const struct wqe_ctrl_seg *ctrl_at(uint32_t index)
{
	return (const struct wqe_ctrl_seg *)(const void *)script_slot(0, index);
}

static void assert_raddr(const uint8_t *unit)
{
	static const uint8_t wanted[16] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
					   0xaa, 0xbb, 0xcc, 0xdd};

	assert_memory_equal(unit, wanted, 16);
}

static void assert_data(const uint8_t *unit, const struct rig_local *piece)
{
	const struct wqe_data_seg *seg = (const void *)unit;

	assert_int_equal(be32_to(seg->byte_count), piece->len_bytes);
	assert_int_equal(be32_to(seg->lkey), piece->key);
	assert_true(be64_to(seg->va) == piece->addr);
}

static void write_of_a_piece(void **state)
{
	const struct rig_entry entry = {
	    .op = RIG_WRITE,
	    .flags = RIG_SIGNAL_F,
	    .pieces = &piece_a,
	    .piece_count = 1,
	    REMOTE,
	};
	struct script_rig rig = script_rig_open(8, 8);

	(void)state;
	assert_int_equal(rig_entry_slots(&entry), 1);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(wqe_ctrl_opcode(ctrl_at(0)), WQE_OP_WRITE);
	assert_int_equal(wqe_ctrl_opmod(ctrl_at(0)), 0);
	assert_int_equal(wqe_ctrl_index(ctrl_at(0)), 0);
	assert_int_equal(wqe_ctrl_qpn(ctrl_at(0)), SCRIPT_QPN_FIRST);
	assert_int_equal(wqe_ctrl_ds(ctrl_at(0)), 3);
	assert_int_equal(ctrl_at(0)->fm_ce_se, WQE_CE_ALWAYS);
	assert_raddr(script_slot(0, 0) + 16);
	assert_data(script_slot(0, 0) + 32, &piece_a);
	script_rig_close(&rig);
}

/*
 * Every length that fits one block and around it: the short cut for 8 bytes and the general way
 * agree.
 */
static void write_inline_of_every_small_length(void **state)
{
	struct script_rig rig = script_rig_open(64, 0);
	uint8_t data[64];

	(void)state;
	for (int i = 0; i < 64; i++)
		data[i] = (uint8_t)(0x80 + i);
	for (uint32_t len = 1; len <= 40; len++) {
		const struct rig_entry entry = {
			.op = RIG_WRITE, .flags = RIG_SIGNAL_F | RIG_INLINE_F | RIG_FENCE_F,
			.inline_data = data, .inline_len_bytes = len, REMOTE,
		};
		uint16_t index = rig_qp_index(rig.qp, RIG_RING_SEND);
		const uint8_t *slot = script_slot(0, index);
		int slots = len <= 28 ? 1 : 2;

		assert_int_equal(rig_entry_slots(&entry), slots);
		assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
		assert_int_equal(rig_qp_index(rig.qp, RIG_RING_SEND), index + slots);
		assert_int_equal(wqe_ctrl_index(ctrl_at(index)), index);
		assert_int_equal(wqe_ctrl_opcode(ctrl_at(index)), WQE_OP_WRITE);
		assert_int_equal(wqe_ctrl_qpn(ctrl_at(index)), SCRIPT_QPN_FIRST);
		assert_int_equal(wqe_ctrl_ds(ctrl_at(index)), 2 + (len + 4 + 15) / 16);
		assert_int_equal(ctrl_at(index)->fm_ce_se, WQE_CE_ALWAYS | WQE_FM_FENCE);
		assert_int_equal(be32_to(ctrl_at(index)->imm), 0);
		assert_int_equal(ctrl_at(index)->signature, 0);
		assert_raddr(slot + 16);
		assert_int_equal(be32_load(slot + 32), 0x80000000 | len);
		assert_memory_equal(slot + 36, data, len);
	}
	script_rig_close(&rig);
}

static void flags_become_completion_fence_and_solicited(void **state)
{
	struct script_rig rig = script_rig_open(64, 0);
	uint64_t data = 1;

	(void)state;
	for (uint16_t i = 0; i < 32; i++) {
		struct rig_entry entry = {
			.op = RIG_WRITE, .flags = RIG_INLINE_F | (i & 7), .inline_data = &data,
			.inline_len_bytes = i & 8 ? 8 : 7, REMOTE,
		};
		uint8_t wanted = 0;

		if (i & 16) { /* the same without inline data */
			entry.flags &= ~RIG_INLINE_F;
			entry.pieces = &piece_a;
			entry.piece_count = 1;
		}
		wanted |= i & RIG_SIGNAL_F ? 0x08 : 0;
		wanted |= i & RIG_FENCE_F ? 0x80 : 0;
		wanted |= i & RIG_SOLICITED_F ? 0x02 : 0;
		assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
		if (ctrl_at(i)->fm_ce_se != wanted)
			fail_msg("entry %u: 0x%x, not 0x%x", i, ctrl_at(i)->fm_ce_se, wanted);
	}
	script_rig_close(&rig);
}

static void read_scatters_and_send_gathers(void **state)
{
	const struct rig_local pieces[] = {
		piece_a, {.addr = 0x2000, .len_bytes = 0, .key = 0x222},
		{.addr = 0x3000, .len_bytes = 7, .key = 0x333},
	};
	const struct rig_entry read = {.op = RIG_READ, .pieces = pieces, .piece_count = 3, REMOTE};
	const struct rig_entry send = {.op = RIG_SEND, .pieces = pieces, .piece_count = 3};
	struct script_rig rig = script_rig_open(8, 0);

	(void)state;
	assert_int_equal(rig_qp_post(rig.qp, &read), 0);
	assert_int_equal(wqe_ctrl_opcode(ctrl_at(0)), WQE_OP_READ);
	assert_int_equal(wqe_ctrl_ds(ctrl_at(0)), 4);
	assert_int_equal(ctrl_at(0)->fm_ce_se, 0);
	assert_raddr(script_slot(0, 0) + 16);
	/* Case 1: an empty piece is dropped, not written. */
	assert_data(script_slot(0, 0) + 32, &pieces[0]);
	assert_data(script_slot(0, 0) + 48, &pieces[2]);
	assert_int_equal(rig_qp_post(rig.qp, &send), 0);
	assert_int_equal(wqe_ctrl_opcode(ctrl_at(1)), WQE_OP_SEND);
	assert_int_equal(wqe_ctrl_ds(ctrl_at(1)), 3);
	assert_data(script_slot(0, 1) + 16, &pieces[0]);
	assert_data(script_slot(0, 1) + 32, &pieces[2]);
	script_rig_close(&rig);
}

static void zero_bytes_carry_no_data_segment(void **state)
{
	const struct rig_local empty = {.addr = 0x2000, .key = 0x222};
	const struct rig_entry entries[] = {
		{.op = RIG_WRITE, REMOTE},
		{.op = RIG_WRITE, .pieces = &empty, .piece_count = 1, REMOTE},
		{.op = RIG_WRITE, .flags = RIG_INLINE_F, REMOTE},
		{.op = RIG_READ, .pieces = &empty, .piece_count = 1, REMOTE},
		{.op = RIG_SEND},
		{.op = RIG_SEND, .flags = RIG_INLINE_F},
	};
	struct script_rig rig = script_rig_open(8, 0);

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(rig_qp_post(rig.qp, &entries[i]), 0);
		assert_int_equal(wqe_ctrl_ds(ctrl_at(i)), entries[i].op == RIG_SEND ? 1 : 2);
	}
	script_rig_close(&rig);
}

static void immediate_data_goes_with_write_and_send(void **state)
{
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_IMM_F, .imm = 0x01020304, REMOTE};
	static const uint8_t wire[4] = {1, 2, 3, 4};
	struct script_rig rig = script_rig_open(8, 0);

	(void)state;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(wqe_ctrl_opcode(ctrl_at(0)), WQE_OP_WRITE_IMM);
	assert_memory_equal(&ctrl_at(0)->imm, wire, 4);
	entry.op = RIG_SEND;
	entry.flags |= RIG_INLINE_F;
	entry.inline_data = wire;
	entry.inline_len_bytes = 4;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(wqe_ctrl_opcode(ctrl_at(1)), WQE_OP_SEND_IMM);
	assert_memory_equal(&ctrl_at(1)->imm, wire, 4);
	assert_int_equal(be32_load(script_slot(0, 1) + 16), 0x80000004);
	entry = (struct rig_entry){.op = RIG_READ, .flags = RIG_IMM_F, REMOTE};
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	script_rig_close(&rig);
}

static void atomics_carry_their_operands(void **state)
{
	const struct rig_local eight = {.addr = 0x4000, .len_bytes = 8, .key = 0x444};
	struct rig_entry entry = {
		.op = RIG_FETCH_ADD, .pieces = &eight, .piece_count = 1, REMOTE,
		.add_or_swap = 0x0102030405060708, .compare = 0x1111,
	};
	struct script_rig rig = script_rig_open(8, 0);

	(void)state;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(wqe_ctrl_opcode(ctrl_at(0)), WQE_OP_ATOMIC_FA);
	assert_int_equal(wqe_ctrl_ds(ctrl_at(0)), 4);
	assert_raddr(script_slot(0, 0) + 16);
	assert_true(be64_load(script_slot(0, 0) + 32) == entry.add_or_swap);
	assert_true(be64_load(script_slot(0, 0) + 40) == 0);
	assert_data(script_slot(0, 0) + 48, &eight);
	entry.op = RIG_COMPARE_SWAP;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(wqe_ctrl_opcode(ctrl_at(1)), WQE_OP_ATOMIC_CS);
	assert_true(be64_load(script_slot(0, 1) + 40) == 0x1111);
	script_rig_close(&rig);
}

static void atomics_of_other_shapes_are_invalid(void **state)
{
	const struct rig_local eight = {.addr = 0x4000, .len_bytes = 8, .key = 0x444};
	const struct rig_local seven = {.addr = 0x4000, .len_bytes = 7, .key = 0x444};
	struct rig_entry entry = {.op = RIG_FETCH_ADD, .pieces = &eight, .piece_count = 1, REMOTE};
	struct script_rig rig = script_rig_open(8, 0);

	(void)state;
	entry.remote_addr += 4;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	entry.remote_addr -= 4;
	entry.pieces = &seven;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	entry.piece_count = 0;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	entry.flags = RIG_INLINE_F;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	script_rig_close(&rig);
	script_reset();
	script.device.base.atomic_cap = UV_ATOMIC_NONE;
	rig.nic = script_nic();
	rig.qp = script_qp_create(script_cq_create(rig.nic, 64), 8, 8);
	script_connect_self(rig.qp);
	entry = (struct rig_entry){
		.op = RIG_FETCH_ADD, .pieces = &eight, .piece_count = 1, REMOTE,
	};
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	assert_message("atomics");
	script_rig_close(&rig);
}

/* Case 3: the maximum works, one more is refused, for both operations. */
static void inline_maximum(void **state)
{
	struct script_rig rig = script_rig_open(64, 0);
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_INLINE_F, REMOTE};
	struct rig_nic_info info;
	uint8_t data[1024];

	(void)state;
	for (int i = 0; i < 1024; i++)
		data[i] = (uint8_t)(i * 7);
	assert_int_equal(rig_nic_info(rig.nic, &info), 0);
	entry.inline_data = data;
	entry.inline_len_bytes = info.inline_max_bytes;
	assert_int_equal(rig_entry_slots(&entry), 16);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(wqe_ctrl_ds(ctrl_at(0)), 63);
	assert_memory_equal(script_slot(0, 0) + 36, data, info.inline_max_bytes);
	assert_int_equal(rig_qp_index(rig.qp, RIG_RING_SEND), 16);
	entry.inline_len_bytes++;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	entry.inline_len_bytes = UINT32_MAX;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	assert_int_equal(rig_qp_index(rig.qp, RIG_RING_SEND), 16);
	entry = (struct rig_entry){
		.op = RIG_SEND, .flags = RIG_INLINE_F, .inline_data = data,
		.inline_len_bytes = info.inline_max_bytes + 16,
	};
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	entry.inline_len_bytes++;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	script_rig_close(&rig);
}

/* fill - posts entries of one slot, completed and polled at once, until the next index is `to`. */
static void fill(struct script_rig *rig, uint16_t to)
{
	const struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_SIGNAL_F, REMOTE};
	struct rig_wc wc;

	while (rig_qp_index(rig->qp, RIG_RING_SEND) != to) {
		uint16_t index = rig_qp_index(rig->qp, RIG_RING_SEND);

		assert_int_equal(rig_qp_post(rig->qp, &entry), 0);
		script_done(0, 0, index);
		assert_int_equal(rig_cq_poll(rig->cq, &wc, 1), 1);
		assert_int_equal(wc.index, index);
	}
}

/* Case 3: inline data across the ring's end, from every slot, of every length. */
static void inline_across_the_rings_end(void **state)
{
	struct script_rig rig = script_rig_open(8, 0);
	uint8_t data[512], got[512];

	(void)state;
	for (int i = 0; i < 512; i++)
		data[i] = (uint8_t)(i * 11 + 1);
	for (uint32_t len = 29; len <= 8 * 64 - 36; len += 13) {
		struct rig_entry entry = {
			.op = RIG_WRITE, .flags = RIG_INLINE_F | RIG_SIGNAL_F, .inline_data = data,
			.inline_len_bytes = len, REMOTE,
		};
		uint16_t index;
		struct rig_wc wc;

		fill(&rig, (uint16_t)((rig_qp_index(rig.qp, RIG_RING_SEND) + 8) / 8 * 8 + 7));
		index = rig_qp_index(rig.qp, RIG_RING_SEND);
		assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
		for (uint32_t i = 0; i < len; i++)
			got[i] = script_slot(0, index + (36 + i) / 64)[(36 + i) % 64];
		assert_memory_equal(got, data, len);
		script_done(0, 0, index);
		assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 1);
		assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 8);
	}
	script_rig_close(&rig);
}

static void pieces_across_the_rings_end(void **state)
{
	struct script_rig rig = script_rig_open(4, 0);
	struct rig_local pieces[8];
	const struct rig_entry entry = {.op = RIG_READ, .pieces = pieces, .piece_count = 8, REMOTE};

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		pieces[i] = (struct rig_local){.addr = i << 12, .len_bytes = i + 1, .key = i};
	fill(&rig, 3);
	assert_int_equal(rig_entry_slots(&entry), 3);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	for (uint32_t i = 0; i < 8; i++)
		assert_data(script_slot(0, 3 + (i + 2) / 4) + (i + 2) % 4 * 16, &pieces[i]);
	script_rig_close(&rig);
}

static void messages_over_the_ports_maximum_are_invalid(void **state)
{
	struct script_rig rig = script_rig_open(8, 0);
	struct rig_local pieces[2] = {{.addr = 0x1000, .len_bytes = 1u << 30, .key = 1}};
	struct rig_entry entry = {.op = RIG_WRITE, .pieces = pieces, .piece_count = 1, REMOTE};

	(void)state;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	pieces[0].len_bytes++;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	assert_message("1073741824");
	pieces[0].len_bytes = 1u << 29;
	pieces[1] = (struct rig_local){.addr = 0x1000, .len_bytes = (1u << 29) + 1, .key = 1};
	entry.piece_count = 2;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	script_rig_close(&rig);
}

/* Case 3: sums are 64 bits wide, so two pieces of 2^31 do not add up to 0. */
static void messages_over_2_31_less_1_are_invalid(void **state)
{
	struct rig_local pieces[5];
	struct rig_entry entry = {.op = RIG_WRITE, .pieces = pieces, .piece_count = 1, REMOTE};
	struct script_rig rig;

	(void)state;
	script_reset();
	script.port.legacy_resp.max_msg_sz = UINT32_MAX;
	rig.nic = script_nic();
	rig.qp = script_qp_create(script_cq_create(rig.nic, 64), 8, 0);
	script_connect_self(rig.qp);
	for (int i = 0; i < 5; i++)
		pieces[i] = (struct rig_local){.addr = 0x1000, .len_bytes = 0x7fffffff, .key = 1};
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	pieces[0].len_bytes = 0x80000000;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	pieces[0].len_bytes = 0x7ffffff0;
	pieces[1].len_bytes = 0x10;
	entry.piece_count = 2;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	pieces[0].len_bytes = 0x7fffffff;
	pieces[1].len_bytes = 0x7fffffff;
	pieces[2].len_bytes = 2; /* the sum is 2^32 */
	entry.piece_count = 3;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	assert_int_equal(rig_qp_index(rig.qp, RIG_RING_SEND), 1);
	script_rig_close(&rig);
}

static void piece_maximum(void **state)
{
	struct script_rig rig = script_rig_open(64, 0);
	struct rig_local pieces[64];
	struct rig_entry entry = {.op = RIG_WRITE, .pieces = pieces, REMOTE};
	struct rig_nic_info info;

	(void)state;
	for (int i = 0; i < 64; i++)
		pieces[i] = piece_a;
	assert_int_equal(rig_nic_info(rig.nic, &info), 0);
	entry.piece_count = (uint16_t)info.pieces_max;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	entry.piece_count++;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	entry.piece_count = 64;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	assert_int_equal(rig_entry_slots(&entry), -EINVAL);
	pieces[0].len_bytes = 0; /* empty pieces do not count */
	entry.piece_count = (uint16_t)(info.pieces_max + 1);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	script_rig_close(&rig);
}

static void fields_that_are_not_supported_are_invalid(void **state)
{
	const uint64_t data = 3;
	const struct rig_entry good = {
		.op = RIG_WRITE, .flags = RIG_INLINE_F, .inline_data = &data, .inline_len_bytes = 8,
		REMOTE,
	};
	struct script_rig rig = script_rig_open(16, 0);

	(void)state;
	for (int inline_len = 7; inline_len <= 8; inline_len++) {
		struct rig_entry bad[9];

		for (int i = 0; i < 9; i++) {
			bad[i] = good;
			bad[i].inline_len_bytes = (uint32_t)inline_len;
		}
		bad[0].ah = (struct rig_ah *)8;
		bad[1].remote_qp = 1;
		bad[2].remote_qkey = 1;
		bad[3].remote_dc_key = 1;
		bad[4].stream = 1;
		bad[5].op = 5;
		bad[6].op = 0xff;
		bad[7].flags |= 1 << 5;
		bad[8].flags |= 1 << 7;
		for (int i = 0; i < 9; i++)
			if (rig_qp_post(rig.qp, &bad[i]) != -EINVAL)
				fail_msg("field %d, %d bytes", i, inline_len);
	}
	assert_int_equal(rig_qp_index(rig.qp, RIG_RING_SEND), 0);
	assert_int_equal(rig_qp_post(rig.qp, &good), 0);
	script_rig_close(&rig);
}

static void slots_of_entries(void **state)
{
	struct rig_entry entry = {.op = RIG_SEND, .flags = RIG_INLINE_F, .inline_len_bytes = 44};
	const uint8_t data[44] = {0};

	(void)state;
	entry.inline_data = data;
	assert_int_equal(rig_entry_slots(&entry), 1);
	entry.inline_len_bytes = 45;
	assert_int_equal(rig_entry_slots(&entry), 2);
	entry.inline_data = NULL;
	assert_int_equal(rig_entry_slots(&entry), -EINVAL);
	assert_int_equal(rig_entry_slots(NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_of_a_piece),
		cmocka_unit_test(write_inline_of_every_small_length),
		cmocka_unit_test(flags_become_completion_fence_and_solicited),
		cmocka_unit_test(read_scatters_and_send_gathers),
		cmocka_unit_test(zero_bytes_carry_no_data_segment),
		cmocka_unit_test(immediate_data_goes_with_write_and_send),
		cmocka_unit_test(atomics_carry_their_operands),
		cmocka_unit_test(atomics_of_other_shapes_are_invalid),
		cmocka_unit_test(inline_maximum),
		cmocka_unit_test(inline_across_the_rings_end),
		cmocka_unit_test(pieces_across_the_rings_end),
		cmocka_unit_test(messages_over_the_ports_maximum_are_invalid),
		cmocka_unit_test(messages_over_2_31_less_1_are_invalid),
		cmocka_unit_test(piece_maximum),
		cmocka_unit_test(fields_that_are_not_supported_are_invalid),
		cmocka_unit_test(slots_of_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
