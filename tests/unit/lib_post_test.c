/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows when the rings are full and that a refusal touches no byte, the bytes of receives, and the
 * order of the doorbell. How: a scripted kernel; the test reads rings, records and register as the
 * NIC does, at the moment of a store where order matters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include <signal.h>

#define REMOTE .remote_addr = 0x1122334455667788, .remote_key = 0xaabbccdd

static struct rig_local piece_a = {.addr = 0x1000, .len_bytes = 100, .key = 0x111};

static const struct wqe_ctrl_seg *ctrl_at(uint32_t index)
{
	return (const struct wqe_ctrl_seg *)(const void *)script_slot(0, index);
}

static void assert_data(const uint8_t *unit, const struct rig_local *piece)
{
	const struct wqe_data_seg *seg = (const void *)unit;

	assert_int_equal(be32_to(seg->byte_count), piece->len_bytes);
	assert_int_equal(be32_to(seg->lkey), piece->key);
	assert_true(be64_to(seg->va) == piece->addr);
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

/* Case 5: a full ring refuses exactly at its depth, and a refusal touches no byte. */
static void a_full_ring_refuses_at_its_depth(void **state)
{
	struct script_rig rig = script_rig_open(8, 0);
	const uint64_t data = 3;
	struct rig_entry entry = {
		.op = RIG_WRITE, .flags = RIG_INLINE_F | RIG_SIGNAL_F, .inline_data = &data,
		.inline_len_bytes = 8, REMOTE,
	};
	uint8_t before[512];
	struct rig_wc wc;

	(void)state;
	for (int i = 0; i < 8; i++) {
		assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 8 - i);
		assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	}
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 0);
	memcpy(before, script_slot(0, 0), sizeof(before));
	entry.remote_addr = 0;
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EAGAIN);
	assert_message("full");
	assert_memory_equal(script_slot(0, 0), before, sizeof(before));
	script_done(0, 0, 2);
	/* Completed but not polled: still full. */
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EAGAIN);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 1);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EAGAIN);
	script_rig_close(&rig);
}

static void an_entry_needs_all_its_slots(void **state)
{
	struct script_rig rig = script_rig_open(4, 0);
	const uint8_t data[300] = {0};
	struct rig_entry entry = {
		.op = RIG_SEND, .flags = RIG_INLINE_F | RIG_SIGNAL_F, .inline_data = data,
		.inline_len_bytes = 100, /* two slots */
	};
	struct rig_wc wc;

	(void)state;
	fill(&rig, 1);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	entry.inline_len_bytes = 170; /* three: two are left */
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 2);
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EAGAIN);
	script_done(0, 0, 1);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 1);
	/* A completion frees all slots of its entry. */
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 4);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	entry.inline_len_bytes = 300; /* five: never */
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	script_rig_close(&rig);
}

/* Case 4: the 16-bit counter wraps under entries that are not signalled. */
static void counter_wraps_under_unsignalled_entries(void **state)
{
	struct script_rig rig = script_rig_open(1024, 0);
	const uint64_t data = 3;
	struct rig_entry entry = {
		.op = RIG_WRITE, .flags = RIG_INLINE_F, .inline_data = &data, .inline_len_bytes = 8,
	};
	struct rig_wc wc;

	(void)state;
	for (uint32_t i = 0; i < 3 * 65536; i++) {
		bool last = i % 700 == 699;

		entry.flags = RIG_INLINE_F | (last ? RIG_SIGNAL_F : 0);
		entry.remote_addr = i;
		assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
		assert_int_equal(wqe_ctrl_index(ctrl_at(i)), i & 0xffff);
		assert_int_equal(wqe_ctrl_opmod(ctrl_at(i)), 0);
		assert_true(be64_load(script_slot(0, i) + 16) == i);
		if (!last)
			continue;
		assert_int_equal(rig_qp_ring(rig.qp), 0);
		assert_int_equal(be32_to(script_record(0)[DB_SEND]), (i + 1) & 0xffff);
		script_done(0, 0, (uint16_t)i);
		assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 1);
		assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 1024);
	}
	script_rig_close(&rig);
}

static void not_connected_is_invalid(void **state)
{
	const uint64_t data = 3;
	const struct rig_entry entry = {
		.op = RIG_WRITE, .flags = RIG_INLINE_F, .inline_data = &data, .inline_len_bytes = 8,
	};
	struct rig_nic *nic;
	struct rig_qp *qp;

	(void)state;
	script_reset();
	nic = script_nic();
	qp = script_qp_create(script_cq_create(nic, 64), 8, 8);
	assert_int_equal(rig_qp_post(qp, &entry), -EINVAL);
	assert_message("not connected");
	assert_int_equal(rig_qp_receive(qp, &piece_a), -EINVAL);
	assert_message("not connected");
	assert_int_equal(rig_qp_receive_pieces(qp, &piece_a, 1), -EINVAL);
	assert_int_equal(rig_qp_ring(qp), -EINVAL);
	assert_int_equal(rig_qp_room(qp, RIG_RING_SEND), 8);
	assert_int_equal(rig_qp_room(qp, RIG_RING_RECEIVE), 8);
	assert_int_equal(rig_close(nic), 0);
}

/* Case 6: the record tells the count, the register then the newest entry. */
static void ring_stores_record_and_register(void **state)
{
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_SIGNAL_F, REMOTE};
	struct script_rig rig = script_rig_open(8, 0);
	uint64_t *reg = (uint64_t *)(void *)(script.uar + DB_UAR_BF0);
	uint8_t data[100] = {0};

	(void)state;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(be32_to(script_record(0)[DB_SEND]), 0);
	assert_true(*reg == 0);
	assert_int_equal(rig_qp_ring(rig.qp), 0);
	assert_int_equal(be32_to(script_record(0)[DB_SEND]), 2);
	assert_memory_equal(reg, script_slot(0, 1), 8);
	/* After an entry of two slots the register names its first. */
	entry.flags = RIG_INLINE_F;
	entry.inline_data = data;
	entry.inline_len_bytes = 64;
	assert_int_equal(rig_qp_post(rig.qp, &entry), 0);
	assert_int_equal(rig_qp_ring(rig.qp), 0);
	assert_int_equal(be32_to(script_record(0)[DB_SEND]), 4);
	assert_memory_equal(reg, script_slot(0, 2), 8);
	script_rig_close(&rig);
}

/* What the NIC would see at the moment of a store to a page that faults. */
static void *faulting_page;
static uint32_t record_seen;
static uint8_t opcode_seen;

static void on_fault(int number)
{
	(void)number;
	record_seen = be32_to(script_record(0)[DB_SEND]);
	opcode_seen = wqe_ctrl_opcode(ctrl_at(0));
	mprotect(faulting_page, 4096, PROT_READ | PROT_WRITE);
}

/* ring_watched - posts and rings once; on_fault looks when page is stored to. */
static void ring_watched(struct script_rig *rig, void *page, int left)
{
	const struct rig_entry entry = {.op = RIG_WRITE, REMOTE};
	struct sigaction fault = {.sa_handler = on_fault}, old;

	faulting_page = page;
	record_seen = 0xeeeeeeee;
	opcode_seen = 0xee;
	assert_int_equal(sigaction(SIGSEGV, &fault, &old), 0);
	assert_int_equal(rig_qp_post(rig->qp, &entry), 0);
	assert_int_equal(mprotect(page, 4096, left), 0);
	assert_int_equal(rig_qp_ring(rig->qp), 0);
	sigaction(SIGSEGV, &old, NULL);
}

/* Case 6: when the register is stored to, the record is there; when the record is, the entry is. */
static void the_record_is_stored_before_the_register(void **state)
{
	struct script_rig rig = script_rig_open(8, 0);

	(void)state;
	ring_watched(&rig, script.uar, PROT_READ);
	assert_int_equal(record_seen, 1);
	script_rig_close(&rig);
}

static void the_entry_is_written_before_the_record(void **state)
{
	struct script_rig rig = script_rig_open(8, 0);
	uintptr_t record = (uintptr_t)script_record(0);

	(void)state;
	ring_watched(&rig, (void *)(record & ~4095ul), PROT_READ);
	assert_int_equal(record_seen, 0);
	assert_int_equal(opcode_seen, WQE_OP_WRITE);
	assert_int_equal(be32_to(script_record(0)[DB_SEND]), 1);
	script_rig_close(&rig);
}

static void ring_of_nothing_does_nothing(void **state)
{
	const struct rig_entry entry = {.op = RIG_WRITE, REMOTE};
	struct rig_nic *nic;
	struct rig_qp *qp;

	(void)state;
	script_reset();
	script.lends = true;
	nic = script_nic();
	qp = script_qp_create(script_cq_create(nic, 64), 8, 8);
	script_connect_self(qp);
	assert_int_equal(rig_qp_ring(qp), 0);
	assert_int_equal(script.lent, 0);
	assert_int_equal(rig_qp_post(qp, &entry), 0);
	assert_int_equal(rig_qp_ring(qp), 0);
	assert_int_equal(script.lent, 1);
	*(uint64_t *)(void *)(script.uar + DB_UAR_BF0) = 0;
	assert_int_equal(rig_qp_ring(qp), 0);
	assert_int_equal(script.lent, 1);
	assert_true(*(uint64_t *)(void *)(script.uar + DB_UAR_BF0) == 0);
	assert_int_equal(rig_close(nic), 0);
}

static void receive_ends_in_the_invalid_key_and_is_published(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	const uint8_t *rq = (const uint8_t *)(uintptr_t)script.qps[0].in.buf_addr;
	const struct rig_local empty = {.addr = 0x1000, .key = 7}, end = {.key = 0x100};

	(void)state;
	assert_int_equal(rig_qp_receive(rig.qp, &piece_a), 0);
	assert_int_equal(be32_to(script_record(0)[DB_RECV]), 1);
	assert_data(rq, &piece_a);
	assert_data(rq + 16, &end);
	assert_int_equal(rig_qp_receive(rig.qp, &empty), 0);
	assert_int_equal(be32_to(script_record(0)[DB_RECV]), 2);
	assert_data(rq + 64, &end);
	assert_int_equal(rig_qp_index(rig.qp, RIG_RING_RECEIVE), 2);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_RECEIVE), 6);
	script_rig_close(&rig);
}

static void receive_into_pieces(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	const uint8_t *rq = (const uint8_t *)(uintptr_t)script.qps[0].in.buf_addr;
	struct rig_local pieces[6] = {piece_a, {.addr = 1}, piece_a, piece_a, piece_a, piece_a};
	const struct rig_local end = {.key = 0x100};

	(void)state;
	assert_int_equal(rig_qp_receive_pieces(rig.qp, pieces, 3), 0);
	assert_data(rq, &piece_a);
	assert_data(rq + 16, &piece_a);
	assert_data(rq + 32, &end);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, pieces, 5), 0); /* four that are not empty */
	assert_data(rq + 64 + 48, &piece_a);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, pieces, 6), -EINVAL);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, pieces, -1), -EINVAL);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, NULL, 1), -EINVAL);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, NULL, 0), 0);
	pieces[0].len_bytes = 0x80000000;
	assert_int_equal(rig_qp_receive_pieces(rig.qp, pieces, 1), -EINVAL);
	assert_int_equal(rig_qp_receive(rig.qp, pieces), -EINVAL);
	pieces[0].len_bytes = 0x7fffffff;
	assert_int_equal(rig_qp_receive_pieces(rig.qp, pieces, 3), -EINVAL);
	assert_int_equal(be32_to(script_record(0)[DB_RECV]), 3);
	script_rig_close(&rig);
}

static void receive_refuses_when_full_and_without_a_ring(void **state)
{
	struct script_rig rig = script_rig_open(8, 4);
	struct rig_wc wc;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(rig_qp_receive(rig.qp, &piece_a), 0);
	assert_int_equal(rig_qp_receive(rig.qp, &piece_a), -EAGAIN);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_RECEIVE), 0);
	script_received(0, 0, 8);
	assert_int_equal(rig_qp_receive(rig.qp, &piece_a), -EAGAIN);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 1);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_RECEIVE), 1);
	assert_int_equal(rig_qp_receive(rig.qp, &piece_a), 0);
	assert_int_equal(rig_qp_receive_pieces(rig.qp, &piece_a, 1), -EAGAIN);
	script_rig_close(&rig);
	rig = script_rig_open(8, 0);
	assert_int_equal(rig_qp_receive(rig.qp, &piece_a), -EINVAL);
	assert_message("no receive ring");
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_RECEIVE), 0);
	script_rig_close(&rig);
}


int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_ring_refuses_at_its_depth),
		cmocka_unit_test(an_entry_needs_all_its_slots),
		cmocka_unit_test(counter_wraps_under_unsignalled_entries),
		cmocka_unit_test(not_connected_is_invalid),
		cmocka_unit_test(ring_stores_record_and_register),
		cmocka_unit_test(the_record_is_stored_before_the_register),
		cmocka_unit_test(the_entry_is_written_before_the_record),
		cmocka_unit_test(ring_of_nothing_does_nothing),
		cmocka_unit_test(receive_ends_in_the_invalid_key_and_is_published),
		cmocka_unit_test(receive_into_pieces),
		cmocka_unit_test(receive_refuses_when_full_and_without_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
