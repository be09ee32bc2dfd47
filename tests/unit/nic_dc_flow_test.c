/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: whose flow a DC initiator's is, and when: a mapping that comes late, a stream that fails.
 * How: two NICs of tests/support/fake_nic.h as on two hosts, an initiator on NIC 0 and a target on
 * NIC 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/nic_priv.h"
#include "tests/support/fake_dc.h"
#include "tests/support/nic_bed.h"

enum { MS = 1000000, WINDOW_BYTES = 512 << 10 };

struct dc {
	struct bed b; /* pair.a is the initiator; pair.b is not used */
	struct fake_dct dct;
};

static struct dc dc_open(enum nic_cc_algorithm algorithm, const struct fake_opts *opts)
{
	const struct nic_config config = {
	    .qp_count_max = 4096,
	    .cq_count_max = 64,
	    .mkey_count_max = 64,
	    .pd_count_max = 8,
	    .srq_count_max = 8,
	    .dc_responder_count_max = 8,
	    .mtu_max_bytes = 4096,
	    .rd_atomic_max = 16,
	    .message_max_bytes_log2 = 31,
	    .cc_algorithm = (uint8_t)algorithm,
	    .line_rate_bps = 1000000000,
	};
	struct dc t = {.b.w = fake_world_new(&config)};

	t.b.w->alien = true;
	t.b.w->window_bytes = WINDOW_BYTES;
	fake_dct_make(t.b.w, opts, &t.dct);
	fake_dci_make(t.b.w, opts, &t.b.pair.a);
	t.b.src = fake_region(t.b.w, 0, 4096, BED_LOCAL);
	t.b.dst = fake_region(t.b.w, 1, 4096, BED_ALL);
	return t;
}

static void post(struct dc *t, uint16_t stream, bool bad)
{
	struct fake_wr wr = bed_wr(&t->b, WQE_OP_WRITE, 8);

	wr.to = &t->dct.to;
	wr.stream = stream;
	if (bad)
		wr.pieces[0].key ^= 1u << 31;
	fake_post(&t->b.pair.a, &wr);
	fake_ring(&t->b.pair.a);
}

/* In steps short enough for each timer. */
static void settle(struct dc *t)
{
	for (int i = 0; i < 10; i++) {
		fake_settle(t->b.w);
		fake_advance(t->b.w, MS);
	}
}

/* Of the next packet. */
static uint8_t next_ecn(struct dc *t)
{
	uint8_t ecn;

	post(t, 0, false);
	assert_int_equal(fake_pkt(t->b.w, 0).opcode, ROCE_OP_DC_WRITE_ONLY);
	ecn = t->b.w->queue[0]->path.ecn;
	settle(t);
	return ecn;
}

/* Who has sent nothing has no destination. A mapping that comes, or goes, while an initiator talks
 * to one is obeyed at once. */
static void mapped_in_between(void **state)
{
	struct dc t = dc_open(NIC_CC_NONE, NULL);
	struct nic *nic = t.b.w->nics[0];
	const struct nic_qp *dci = nic_qp_find(nic, t.b.pair.a.qpn);
	struct nic_flow_stats stats;
	struct nic_dest_key key;
	uint32_t mapping, cursor = 0;

	(void)state;
	assert_false(nic_dest_next(nic, &cursor, t.b.w->now_ns, &key, &stats));
	assert_int_equal(next_ecn(&t), ROCE_ECN_NOT_ECT);
	key = nic_dest_key_of(&dci->params.path);
	assert_int_equal(nic_dest_map(nic, &key, NIC_CC_DCQCN, t.b.w->now_ns, &mapping), 0);
	assert_int_equal(next_ecn(&t), ROCE_ECN_ECT_0);
	assert_true(nic_dest_next(nic, &cursor, t.b.w->now_ns, &key, &stats));
	assert_int_equal(stats.counters.tx_packets, 1);
	assert_int_equal(nic_dest_unmap(nic, mapping, t.b.w->now_ns), 0);
	assert_int_equal(next_ecn(&t), ROCE_ECN_NOT_ECT);
	fake_world_free(t.b.w);
}

/* What the algorithm allows is not taken for what the path bears, when a stream has failed. */
static void a_failed_stream_keeps_the_window(void **state)
{
	struct dc t = dc_open(NIC_CC_RTT, &(struct fake_opts){.stream_failed_max = 2});
	struct fake_cq *cq = &t.b.pair.a.send_cq;
	struct nic *nic = t.b.w->nics[0];
	const struct nic_qp *dci = nic_qp_find(nic, t.b.pair.a.qpn);

	(void)state;
	post(&t, 0, false);
	settle(&t);
	expect_done(cq, CQE_REQ, 0, 8);
	assert_in_range(dci->window_psns, 1, (WINDOW_BYTES >> dci->mtu_log2) - 1);
	post(&t, 1, true);
	settle(&t);
	expect_error(cq, CQE_REQ_ERR, 2, CQE_SYND_LOCAL_PROT, CQE_VENDOR_LKEY_BAD);
	assert_int_equal(fake_qp_state(&t.b.pair.a), NIC_QP_RTS);
	assert_int_equal(nic->cong.flows[dci->index].window_psns, WINDOW_BYTES >> dci->mtu_log2);
	fake_world_free(t.b.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mapped_in_between),
	    cmocka_unit_test(a_failed_stream_keeps_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
