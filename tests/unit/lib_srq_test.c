/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: shared receive queues, from their creation on: what the kernel is told, how slots are used
 * and come back in any order, whose completion names which, and what is refused. How: a scripted
 * kernel, and the test as the NIC, which follows the list that the entries make.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

static const struct rig_local piece = {.addr = 0x1000, .len_bytes = 64, .key = 5};

struct bed {
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_cq *receive_cq;
	struct rig_srq *srq;
	struct rig_qp *qps[2]; /* reliable, of srq */
	uint16_t next;         /* the slot that the NIC takes next */
};

static struct rig_qp *qp_on(struct rig_cq *cq, struct rig_srq *srq, enum rig_transport transport)
{
	const struct rig_qp_options options = {.transport = transport, .srq = srq};
	struct rig_qp *qp = NULL;

	if (rig_qp_create_with(cq, 4, 0, &options, &qp))
		fail_msg("%s", rig_error());
	return qp;
}

/* bed_open - two connected queue pairs on a queue of `receives`; it completes elsewhere. */
static struct bed bed_open(int receives)
{
	struct bed bed = {0};

	script_reset();
	bed.nic = script_nic();
	bed.cq = script_cq_create(bed.nic, 64);
	bed.receive_cq = script_cq_create(bed.nic, 64);
	assert_int_equal(rig_srq_create(bed.receive_cq, receives, &bed.srq), 0);
	for (int i = 0; i < 2; i++) {
		bed.qps[i] = qp_on(bed.cq, bed.srq, RIG_RC);
		script_connect_self(bed.qps[i]);
	}
	return bed;
}

static void bed_close(struct bed *bed)
{
	assert_int_equal(rig_close(bed->nic), 0);
	assert_int_equal(script.live, 0);
}

static const struct wqe_srq_next_seg *slot_at(uint16_t slot)
{
	return (const void *)(uintptr_t)(script.srqs[0].in.buf_addr + slot * WQE_BB_BYTES);
}

/* take - the NIC takes the next receive of the list: its slot. */
static uint16_t take(struct bed *bed)
{
	uint16_t slot = bed->next;

	bed->next = be16_to(slot_at(slot)->next_wqe_index);
	return slot;
}

static struct cqe64 cqe_of(uint16_t slot)
{
	return (struct cqe64){.wqe_counter = be16_from(slot), .byte_cnt = be32_from(10)};
}

static void done(uint16_t slot, unsigned int qp)
{
	script_complete(1, qp, cqe_of(slot), CQE_RESP_SEND);
}

static struct rig_wc next_of(struct bed *bed)
{
	struct rig_wc wc;

	assert_int_equal(rig_cq_poll(bed->receive_cq, &wc, 1), 1);
	assert_int_equal(wc.kind, RIG_WC_RECEIVE);
	return wc;
}

static uint32_t record(void)
{
	return be32_to(*(const struct be32 *)(uintptr_t)script.srqs[0].in.db_addr);
}

/* ---- creation -------------------------------------------------------------------------------- */

static void sizes_and_what_the_kernel_is_told(void **state)
{
	static const struct {
		int receives, room;
	} rows[] = {{1, 3}, {3, 3}, {4, 7}, {7, 7}, {8, 15}, {15, 15}};
	struct bed bed = bed_open(7);

	(void)state;
	assert_int_equal(script.srqs[0].max_wr, 7);
	assert_int_equal(script.srqs[0].max_sge, RIG_SRQ_PIECES_MAX);
	assert_int_equal(script.srqs[0].in.buf_addr % 4096, 0);
	assert_int_equal(script.srqs[0].in.db_addr % 64, 0);
	assert_true((uintptr_t)bed.srq == script.srqs[0].user_handle);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_srq *srq;

		assert_int_equal(rig_srq_create(bed.cq, rows[i].receives, &srq), 0);
		assert_int_equal(rig_srq_room(srq), rows[i].room);
		assert_int_equal(rig_srq_destroy(srq), 0);
	}
	bed_close(&bed);
}

static void queue_pairs_of_it_have_no_ring_and_complete_where_it_does(void **state)
{
	struct bed bed = bed_open(7);
	struct rig_qp *ud = qp_on(bed.cq, bed.srq, RIG_UD);

	(void)state;
	assert_int_equal(script.qps[2].type, IB_UVERBS_QPT_UD);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(script.qps[i].srq, 0);
		assert_int_equal(script.qps[i].receive_cq, 1);
		assert_int_equal(script.qps[i].in.rq_wqe_count, 0);
		assert_int_equal(script.qps[i].cap.max_recv_wr, 0);
	}
	assert_int_equal(rig_qp_room(bed.qps[0], RIG_RING_RECEIVE), 0);
	assert_int_equal(rig_qp_receive(bed.qps[0], &piece), -EINVAL);
	assert_int_equal(rig_qp_destroy(ud), 0);
	bed_close(&bed);
}

static void what_cannot_be_is_refused(void **state)
{
	struct bed bed = bed_open(7);
	const struct rig_qp_options options = {.srq = bed.srq};
	struct rig_srq *srq = (void *)1;
	struct rig_qp *qp = (void *)1;

	(void)state;
	assert_int_equal(rig_srq_create(bed.cq, 0, &srq), -EINVAL);
	assert_int_equal(rig_srq_create(bed.cq, -1, &srq), -EINVAL);
	assert_int_equal(rig_srq_create(bed.cq, 3, NULL), -EINVAL);
	assert_int_equal(rig_srq_create(NULL, 3, &srq), -EINVAL);
	assert_int_equal(rig_srq_create(bed.cq, 32768, &srq), -ERANGE);
	assert_message("32767");
	assert_int_equal(rig_srq_create(bed.receive_cq, 58, &srq), -EINVAL);
	assert_message("room for 57");
	assert_int_equal(rig_qp_create_with(bed.cq, 4, 4, &options, &qp), -EINVAL);
	assert_message("shared");
	script_refuse(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, SCRIPT_ANY, ENOSPC);
	assert_int_equal(rig_srq_create(bed.cq, 3, &srq), -ENOSPC);
	assert_message("rig_srq_create");
	assert_ptr_equal(srq, (void *)1);
	assert_ptr_equal(qp, (void *)1);
	assert_int_equal(script.srq_count, 1);
	bed_close(&bed);
}

/* ---- posting --------------------------------------------------------------------------------- */

static void each_receive_is_counted_in_the_record(void **state)
{
	struct bed bed = bed_open(3);

	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(rig_srq_index(bed.srq), i - 1);
		assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), 0);
		assert_int_equal(record(), i);
		assert_int_equal(rig_srq_room(bed.srq), 3 - i);
	}
	assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), -EAGAIN);
	assert_message("3 receives");
	assert_int_equal(record(), 3);
	bed_close(&bed);
}

static void bad_pieces_are_refused(void **state)
{
	const struct rig_local many[4] = {piece, piece, piece, piece};
	const struct rig_local huge = {.addr = 1, .len_bytes = 0x80000000u};
	const struct rig_local with_empty[4] = {piece, {0}, piece, piece};
	struct bed bed = bed_open(3);

	(void)state;
	assert_int_equal(rig_srq_receive(bed.srq, many, 4), -EINVAL);
	assert_message("at most 3");
	assert_int_equal(rig_srq_receive(bed.srq, &huge, 1), -EINVAL);
	assert_int_equal(rig_srq_receive(bed.srq, NULL, 1), -EINVAL);
	assert_int_equal(rig_srq_receive(bed.srq, many, -1), -EINVAL);
	assert_int_equal(record(), 0);
	assert_int_equal(rig_srq_receive(bed.srq, with_empty, 4), 0);
	assert_int_equal(rig_srq_receive(bed.srq, NULL, 0), 0);
	assert_int_equal(record(), 2);
	bed_close(&bed);
}

/* Slots that complete in another order than they were taken are used again, each once at a time. */
static void slots_come_back_in_any_order(void **state)
{
	static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}};
	struct bed bed = bed_open(7);
	bool posted[8] = {false};

	(void)state;
	for (int i = 0; i < 7; i++) {
		posted[rig_srq_index(bed.srq)] = true;
		assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), 0);
	}
	for (int round = 0; round < 100; round++) {
		uint16_t slots[3];

		for (int i = 0; i < 3; i++)
			slots[i] = take(&bed);
		for (int i = 0; i < 3; i++) {
			uint16_t slot = slots[orders[round % 5][i]];
			unsigned int qp = (unsigned int)(round + i) % 2;
			struct rig_wc wc;

			assert_true(posted[slot]);
			done(slot, qp);
			wc = next_of(&bed);
			assert_int_equal(wc.index, slot);
			assert_int_equal(wc.qp, rig_qp_number(bed.qps[qp]));
			posted[slot] = false;
		}
		for (int i = 0; i < 3; i++) {
			uint16_t slot = rig_srq_index(bed.srq);

			assert_int_equal(rig_srq_room(bed.srq), 3 - i);
			assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), 0);
			assert_false(posted[slot]);
			posted[slot] = true;
		}
		assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), -EAGAIN);
	}
	assert_int_equal(record(), 7 + 300);
	bed_close(&bed);
}

static void failures_give_their_slot_back(void **state)
{
	struct bed bed = bed_open(3);
	struct rig_wc wc;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), 0);
	take(&bed);
	script_error(1, 1, 0, CQE_SYND_LOCAL_LENGTH, 0x68, CQE_RESP_ERR);
	wc = next_of(&bed);
	assert_int_equal(wc.status, RIG_LOCAL_LENGTH);
	assert_int_equal(wc.index, 0);
	assert_int_equal(rig_srq_room(bed.srq), 1);
	script_complete(1, 0, cqe_of(take(&bed)), CQE_RESP_SEND_IMM);
	assert_int_equal(next_of(&bed).flags, RIG_WC_IMM_F);
	assert_int_equal(rig_srq_room(bed.srq), 2);
	bed_close(&bed);
}

/* A destroyed queue pair's completions are gone, and what they had taken is free again. */
static void destroying_a_queue_pair_gives_its_slots_back(void **state)
{
	struct bed bed = bed_open(7);
	struct rig_wc wc[8];

	(void)state;
	for (int i = 0; i < 7; i++)
		assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), 0);
	for (int i = 0; i < 6; i++)
		done(take(&bed), i % 2);
	script_done(0, 1, 0); /* and of its entries */
	assert_int_equal(rig_qp_destroy(bed.qps[1]), 0);
	assert_int_equal(rig_srq_room(bed.srq), 3);
	assert_int_equal(rig_cq_poll(bed.receive_cq, wc, 8), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wc[i].index, 2 * i);
		assert_int_equal(wc[i].qp, rig_qp_number(bed.qps[0]));
	}
	assert_int_equal(rig_cq_poll(bed.cq, wc, 8), 0);
	assert_int_equal(rig_srq_room(bed.srq), 6);
	bed_close(&bed);
}

/* ---- limit and end --------------------------------------------------------------------------- */

static void the_limit_is_one_event(void **state)
{
	struct bed bed = bed_open(7);
	struct ib_uverbs_async_event_desc desc = {.element = (uintptr_t)bed.srq,
						  .event_type = UV_EVENT_SRQ_LIMIT_REACHED};
	struct rig_event event;
	const struct script_command *cmd;

	(void)state;
	assert_int_equal(rig_srq_limit(bed.srq, 5), 0);
	cmd = script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_SRQ);
	assert_int_equal(cmd->modify_srq.srq_handle, 0);
	assert_int_equal(cmd->modify_srq.attr_mask, UV_SRQ_LIMIT);
	assert_int_equal(cmd->modify_srq.srq_limit, 5);
	assert_int_equal(write(script.async[1], &desc, sizeof(desc)), sizeof(desc));
	assert_int_equal(rig_wait(bed.nic, 1000, &event, 1), 1);
	assert_int_equal(event.kind, RIG_EVENT_SRQ_LIMIT);
	assert_ptr_equal(event.srq, bed.srq);
	assert_null(event.cq);
	desc.event_type = UV_EVENT_SRQ_ERR;
	assert_int_equal(write(script.async[1], &desc, sizeof(desc)), sizeof(desc));
	assert_int_equal(rig_wait(bed.nic, 1000, &event, 1), 1);
	assert_int_equal(event.kind, RIG_EVENT_SRQ_ERROR);
	assert_ptr_equal(event.srq, bed.srq);
	bed_close(&bed);
}

static void impossible_limits_are_refused(void **state)
{
	struct bed bed = bed_open(7);

	(void)state;
	assert_int_equal(rig_srq_limit(bed.srq, -1), -EINVAL);
	assert_int_equal(rig_srq_limit(bed.srq, 8), -EINVAL);
	assert_message("0 to 7");
	assert_int_equal(rig_srq_limit(NULL, 1), -EINVAL);
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_SRQ));
	script_refuse(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_SRQ, EIO);
	assert_int_equal(rig_srq_limit(bed.srq, 1), -EIO);
	assert_message("rig_srq_limit");
	bed_close(&bed);
}

static void destroyed_last_and_once(void **state)
{
	struct bed bed = bed_open(7);

	(void)state;
	assert_int_equal(rig_srq_destroy(bed.srq), -EBUSY);
	assert_message("2 of its queue pairs");
	assert_int_equal(rig_cq_destroy(bed.receive_cq), -EBUSY);
	assert_int_equal(rig_qp_destroy(bed.qps[0]), 0);
	assert_int_equal(rig_qp_destroy(bed.qps[1]), 0);
	assert_int_equal(rig_cq_destroy(bed.receive_cq), -EBUSY);
	assert_message("1 of its shared");
	script_refuse(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, SCRIPT_ANY, EIO);
	assert_int_equal(rig_srq_destroy(bed.srq), -EIO);
	assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), 0);
	script.rules[0].err = 0;
	assert_int_equal(rig_srq_destroy(bed.srq), 0);
	assert_int_equal(rig_srq_destroy(bed.srq), -EINVAL);
	assert_int_equal(rig_srq_receive(bed.srq, &piece, 1), -EINVAL);
	assert_int_equal(rig_srq_room(bed.srq), -EINVAL);
	assert_int_equal(rig_srq_index(bed.srq), 0);
	assert_int_equal(rig_cq_destroy(bed.receive_cq), 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sizes_and_what_the_kernel_is_told),
	    cmocka_unit_test(queue_pairs_of_it_have_no_ring_and_complete_where_it_does),
	    cmocka_unit_test(what_cannot_be_is_refused),
	    cmocka_unit_test(each_receive_is_counted_in_the_record),
	    cmocka_unit_test(bad_pieces_are_refused),
	    cmocka_unit_test(slots_come_back_in_any_order),
	    cmocka_unit_test(failures_give_their_slot_back),
	    cmocka_unit_test(destroying_a_queue_pair_gives_its_slots_back),
	    cmocka_unit_test(the_limit_is_one_event),
	    cmocka_unit_test(impossible_limits_are_refused),
	    cmocka_unit_test(destroyed_last_and_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
