/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault/queue: slots come out by time, those of one time in the order in which they came; as many
 * as there are and no more. By random times against a list that is sorted anew each time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/prng.h"
#include "fault/queue.h"

struct entry {
	uint64_t due_ns;
	uint16_t slot;
};

static struct fault_queue queue;
static struct entry model[FAULT_QUEUE_MAX]; /* in order */
static uint32_t model_count;

static void put(uint64_t due_ns)
{
	uint16_t slot = fault_queue_put(&queue, due_ns);
	uint32_t at = model_count;

	assert_true(slot < FAULT_QUEUE_MAX);
	for (uint32_t i = 0; i < model_count; i++)
		assert_int_not_equal(model[i].slot, slot);
	for (; at > 0 && model[at - 1].due_ns > due_ns; at--)
		model[at] = model[at - 1];
	model[at] = (struct entry){due_ns, slot};
	model_count++;
}

static void take(void)
{
	assert_int_equal(fault_queue_due_ns(&queue), model[0].due_ns);
	assert_int_equal(queue.first, model[0].slot);
	fault_queue_take(&queue);
	model_count--;
	for (uint32_t i = 0; i < model_count; i++)
		model[i] = model[i + 1];
}

static void test_order(void **state)
{
	struct base_prng prng;

	(void)state;
	base_prng_seed(&prng, 11);
	fault_queue_init(&queue);
	model_count = 0;
	assert_int_equal(fault_queue_due_ns(&queue), UINT64_MAX);
	for (int i = 0; i < 20000; i++) {
		/* Grows to about 50, then shrinks to nothing, and again. */
		uint32_t of_100 = i / 500 % 2 == 0 ? 55 : 40;

		if (model_count == 0 || base_prng_below(&prng, 100) < of_100)
			put(base_prng_below(&prng, 40));
		else
			take();
		assert_int_equal(queue.count, model_count);
	}
}

static void test_full(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		fault_queue_init(&queue);
		model_count = 0;
		for (uint32_t i = 0; i < FAULT_QUEUE_MAX; i++)
			put(i % 7);
		assert_int_equal(fault_queue_put(&queue, 3), FAULT_QUEUE_NONE);
		take();
		put(3);
		assert_int_equal(fault_queue_put(&queue, 3), FAULT_QUEUE_NONE);
		while (model_count != 0)
			take();
		assert_int_equal(fault_queue_due_ns(&queue), UINT64_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
