/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the header, pad and room that a packet gets on its way out.
 * How: nic_tx_* called directly, decoded again with abi's own decoder.
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

static void headers_and_pad(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];
	struct nic_qp *qp = nic_qp_find(nic, b.pair.a.qpn);

	(void)state;
	for (uint32_t n = 0; n < 9; n++) {
		uint8_t *bth = nic_tx_open(nic, qp, ROCE_OP_RC_SEND_ONLY, n & 1 ? ROCE_BTH_SE_F : 0,
					   n & 2, 0xfffff0 + n, n);
		struct roce_pkt pkt;

		assert_non_null(bth);
		memset(bth + 12, 0x77, n);
		nic_tx_close(nic, qp, bth, n);
		pkt = fake_pkt(b.w, n);
		assert_int_equal(pkt.opcode, ROCE_OP_RC_SEND_ONLY);
		assert_int_equal(pkt.se, n & 1);
		assert_int_equal(pkt.ack_req, n >> 1 & 1);
		assert_int_equal(pkt.psn, 0xfffff0 + n);
		assert_int_equal(pkt.dqpn, b.pair.b.qpn);
		assert_int_equal(pkt.pkey, 0xffff);
		assert_false(pkt.mig_req || pkt.fecn || pkt.becn);
		assert_int_equal(pkt.payload_bytes, n);
		assert_int_equal(b.w->queue[n]->len_bytes % 4, 0);
		for (uint32_t i = 0; i < pkt.pad_bytes; i++)
			assert_int_equal(pkt.payload[n + i], 0);
	}
	assert_int_equal(nic_counters(nic)->tx_packets, 9);
	/* 0 to 8 bytes, each with a BTH of 12 and its pad. */
	assert_int_equal(nic_counters(nic)->tx_bytes, 9 * 12 + 4 * 4 + 4 * 8);
	assert_int_equal(qp->counters.tx_packets, 9);
	assert_int_equal(qp->counters.tx_payload_bytes, 36);
	bed_close(&b);
}

static void no_room(void **state)
{
	struct bed b = bed_open(NULL);
	struct nic *nic = b.w->nics[0];
	struct nic_qp *qp = nic_qp_find(nic, b.pair.a.qpn);

	(void)state;
	b.w->room = 0;
	assert_null(nic_tx_open(nic, qp, ROCE_OP_RC_ACK, 0, false, 1, 0));
	b.w->room = 1;
	assert_non_null(nic_tx_open(nic, qp, ROCE_OP_RC_ACK, 0, false, 1, 0));
	nic_tx_drop(nic);
	assert_int_equal(b.w->queue_count, 0);
	assert_int_equal(nic_counters(nic)->tx_packets, 0);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(headers_and_pad),
	    cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
