/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: deadlines fire in order, once, never early, and what is not set never fires.
 * How: queue pairs of nic_priv.h driven at random against a plain array (the seed is printed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

enum { QPS = 40 };

/* Random sets, moves, removals and passages of time. */
static void against_a_model(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];
	struct nic_qp *qps[QPS];
	uint64_t deadlines[QPS];
	struct base_prng prng;

	(void)state;
	print_message("seed 5\n");
	base_prng_seed(&prng, 5);
	for (int i = 0; i < QPS; i++) {
		struct fake_qp qp;

		fake_qp_make(b.w, 0, &(struct fake_opts){.sq_count = 4, .rq_count = 4}, &qp);
		qps[i] = nic_qp_find(nic, qp.qpn);
		deadlines[i] = UINT64_MAX;
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t k = (uint32_t)base_prng_below(&prng, QPS);
		uint64_t earliest = UINT64_MAX;

		switch (base_prng_below(&prng, 4)) {
		case 0:
			deadlines[k] = nic->now_ns + base_prng_range(&prng, 1, 1000);
			nic_timer_set(nic, qps[k], deadlines[k]);
			break;
		case 1:
			deadlines[k] = UINT64_MAX;
			nic_timer_set(nic, qps[k], UINT64_MAX);
			break;
		case 2:
			deadlines[k] = UINT64_MAX;
			nic_timer_remove(nic, qps[k]);
			break;
		case 3:
			nic->now_ns += base_prng_below(&prng, 300);
			nic_timer_expire(nic);
			for (int n = 0; n < QPS; n++)
				if (deadlines[n] <= nic->now_ns)
					deadlines[n] = UINT64_MAX;
			break;
		}
		for (int n = 0; n < QPS; n++) {
			assert_int_equal(qps[n]->deadline_ns, deadlines[n]);
			earliest = deadlines[n] < earliest ? deadlines[n] : earliest;
		}
		assert_true(nic_deadline_ns(nic) <= earliest);
		nic_check(nic);
	}
	bed_close(&b);
}

/* Arming for every message is a store: the heap is touched once for a deadline that only moves
 * away. */
static void moving_away_is_cheap(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];

	(void)state;
	bed_post(&b, WQE_OP_WRITE, 8);
	fake_settle(b.w);
	expect_done(&b.pair.a.send_cq, CQE_REQ, 0, 8);
	uint64_t key = nic_deadline_ns(nic);
	for (int i = 0; i < 1000; i++) {
		b.w->now_ns += 10;
		bed_post(&b, WQE_OP_WRITE, 8);
		bed_post(&b, WQE_OP_NOP, 0);
		fake_settle(b.w);
		expect_done(&b.pair.a.send_cq, CQE_REQ, (uint16_t)(2 * i + 1), 8);
		expect_done(&b.pair.a.send_cq, CQE_REQ, (uint16_t)(2 * i + 2), 0);
		assert_int_equal(nic_deadline_ns(nic), key);
	}
	/* Once it comes up it is gone, as nothing is outstanding. */
	fake_advance(b.w, 4096ull << 14);
	assert_int_equal(nic_deadline_ns(nic), UINT64_MAX);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(against_a_model),
	    cmocka_unit_test(moving_away_is_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
