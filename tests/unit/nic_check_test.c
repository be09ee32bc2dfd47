/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: nic_check notices each kind of broken state: it is a check that can fail.
 * How: one field of a live NIC is spoilt at a time; expect_assert_failure catches base_panic.
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

static const char *const rows[] = {
    "operations over their ring",
    "psn_high behind psn_una",
    "a gap between operations",
    "reads miscounted",
    "work without a turn",
    "a deadline outside the heap",
    "a key later than its deadline",
    "an answer of a dead queue pair",
    "users miscounted",
    "a lost ready entry",
    "a run past its end",
    "receives over their ring",
};

static void spoil(size_t row, struct nic *nic, struct nic_qp *qp)
{
	switch (row) {
	case 0:
		qp->op_tail -= NIC_OPS;
		break;
	case 1:
		qp->psn_high = psn_add(qp->psn_una, -1);
		break;
	case 2:
		nic_op_at(nic, qp, 1)->psn++;
		break;
	case 3:
		qp->rd_used++;
		break;
	case 4:
		qp->ack_due = true;
		break;
	case 5:
		nic->heap_count = 0;
		qp->heap_pos = NIC_HEAP_NONE;
		break;
	case 6:
		qp->heap_ns = qp->deadline_ns + 1;
		break;
	case 7:
		nic_timer_remove(nic, qp);
		qp->state = NIC_QP_ERR;
		qp->nak_due = 0x60;
		break;
	case 8:
		nic->pds[qp->pdn].users++;
		break;
	case 9:
		nic->ready_count++;
		break;
	case 10:
		qp->res_head = 1;
		qp->res_due = 1;
		qp->is_ready = true;
		break;
	case 11:
		qp->rq_pi = (uint16_t)(qp->rq_ci + 17);
		break;
	}
}

static void expect_noticed(size_t row)
{
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];

	print_message("row: %s\n", rows[row]);
	bed_post(&b, WQE_OP_READ, 5000);
	bed_post(&b, WQE_OP_WRITE, 5000);
	nic_check(nic);
	spoil(row, nic, nic_qp_find(nic, b.pair.a.qpn));
	expect_assert_failure(nic_check(nic));
	bed_close(&b);
}

static void notices(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_noticed(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(notices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
