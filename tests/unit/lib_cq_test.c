/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows the sizes and lives of completion queues, the bytes that an arm leaves, and that the
 * kernel's refusals are passed on. How: a scripted kernel; the test reads record and register as
 * the NIC does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

static void size_is_rounded_up_to_a_power_of_two(void **state)
{
	static const struct {
		int asked;
		uint32_t ring;
	} rows[] = {{1, 2}, {2, 2}, {3, 4}, {64, 64}, {65, 128}, {1000, 1024}, {65536, 65536}};
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		script_cq_create(nic, rows[i].asked);
		assert_int_equal(script.cqs[i].cqe, rows[i].ring - 1);
		assert_int_equal(script.cqs[i].in.cqe_size, 64);
		assert_int_equal(script.cqs[i].in.buf_addr % 4096, 0);
		assert_int_equal(script.cqs[i].in.db_addr % 64, 0);
	}
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

static void sizes_from_1_to_2_22_are_possible(void **state)
{
	struct rig_cq *cq = (void *)1;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	assert_int_equal(rig_cq_create(nic, 0, &cq), -EINVAL);
	assert_int_equal(rig_cq_create(nic, -1, &cq), -EINVAL);
	assert_int_equal(rig_cq_create(nic, (1 << 22) + 1, &cq), -EINVAL);
	assert_message("4194304");
	assert_int_equal(rig_cq_create(nic, 8, NULL), -EINVAL);
	assert_ptr_equal(cq, (void *)1);
	assert_int_equal(rig_cq_create(nic, 1 << 22, &cq), 0);
	assert_int_equal(rig_cq_destroy(cq), 0);
	assert_int_equal(rig_close(nic), 0);
}

static void more_than_the_nic_holds_names_its_bound(void **state)
{
	struct rig_cq *cq;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	script.device.base.max_cqe = 1023;
	nic = script_nic();
	assert_int_equal(rig_cq_create(nic, 1025, &cq), -ERANGE);
	assert_message("1024");
	assert_int_equal(rig_cq_create(nic, 1024, &cq), 0);
	assert_int_equal(rig_close(nic), 0);
}

static void create_that_the_kernel_refuses_leaves_nothing(void **state)
{
	struct rig_cq *cq = (void *)1;
	struct rig_nic *nic;

	(void)state;
	script_reset();
	nic = script_nic();
	script_refuse(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, SCRIPT_ANY, ENOMEM);
	assert_int_equal(rig_cq_create(nic, 64, &cq), -ENOMEM);
	assert_message("rig_cq_create");
	assert_ptr_equal(cq, (void *)1);
	script.rules[0].err = 0;
	assert_int_equal(rig_cq_create(nic, 64, &cq), 0);
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

static void destroy_is_refused_while_a_queue_pair_lives(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);

	(void)state;
	assert_int_equal(rig_cq_destroy(rig.cq), -EBUSY);
	assert_true(script.cqs[0].live);
	assert_int_equal(rig_qp_destroy(rig.qp), 0);
	assert_int_equal(rig_cq_destroy(rig.cq), 0);
	assert_false(script.cqs[0].live);
	assert_int_equal(rig_cq_destroy(rig.cq), -EINVAL);
	script_rig_close(&rig);
}

static void destroy_that_the_kernel_refuses_leaves_it_usable(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_wc wc;

	(void)state;
	assert_int_equal(rig_qp_destroy(rig.qp), 0);
	script_refuse(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, SCRIPT_ANY, EBUSY);
	assert_int_equal(rig_cq_destroy(rig.cq), -EBUSY);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 0);
	script.rules[0].err = 0;
	script_rig_close(&rig);
}

/* The record's arm word and the register carry sequence number, command and consumer index. */
static void arm_stores_record_and_register(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	const struct be32 *record = script_cq_record(0);
	uint64_t word = 0x200; /* sequence number 0, index 0, number 0x200 */
	struct rig_wc wc;

	(void)state;
	assert_int_equal(rig_cq_arm(rig.cq), 0);
	assert_int_equal(be32_to(record[DB_CQ_ARM]), 0);
	assert_true(be64_load(script.uar + DB_UAR_CQ) == word);
	script_received(0, 0, 8);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 1);
	assert_int_equal(rig_cq_arm(rig.cq), 0);
	assert_int_equal(be32_to(record[DB_CQ_ARM]), 1);
	assert_true(be64_load(script.uar + DB_UAR_CQ) == (1ull << 32 | word));
	script_rig_close(&rig);
}

/* Each event that was taken advances the sequence number, so that the next arm is another one. */
static void arm_counts_events(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct ib_uverbs_comp_event_desc desc = {.cq_handle = script.cqs[0].user_handle};
	struct rig_event event;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(rig_cq_arm(rig.cq), 0);
		assert_int_equal(db_cq_arm_sn(script_cq_record(0)[DB_CQ_ARM]), i % 4);
		assert_int_equal(write(script.channel[1], &desc, sizeof(desc)), sizeof(desc));
		assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 1);
	}
	script_rig_close(&rig);
}

static void arm_lends_time(void **state)
{
	struct rig_nic *nic;
	struct rig_cq *cq;

	(void)state;
	script_reset();
	script.lends = true;
	nic = script_nic();
	cq = script_cq_create(nic, 8);
	assert_int_equal(rig_cq_arm(cq), 0);
	assert_int_equal(script.lent, 1);
	assert_int_equal(rig_close(nic), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_is_rounded_up_to_a_power_of_two),
		cmocka_unit_test(sizes_from_1_to_2_22_are_possible),
		cmocka_unit_test(more_than_the_nic_holds_names_its_bound),
		cmocka_unit_test(create_that_the_kernel_refuses_leaves_nothing),
		cmocka_unit_test(destroy_is_refused_while_a_queue_pair_lives),
		cmocka_unit_test(destroy_that_the_kernel_refuses_leaves_it_usable),
		cmocka_unit_test(arm_stores_record_and_register),
		cmocka_unit_test(arm_counts_events),
		cmocka_unit_test(arm_lends_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
