/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: whose flow a DC initiator's is, and when: a mapping that comes late, a stream that fails;
 * and that the data of READs which a target answers is its destination's.
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
#include "tests/support/fake_net.h"
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

/* ---- the data of READs ----------------------------------------------------------------------- */

enum { READ_BYTES = 64 << 10 };

static void post_read(struct dc *t)
{
	struct fake_wr wr = bed_wr(&t->b, WQE_OP_READ, READ_BYTES);

	wr.to = &t->dct.to;
	fake_post(&t->b.pair.a, &wr);
	fake_ring(&t->b.pair.a);
}

static struct dc reads_open(enum nic_cc_algorithm algorithm)
{
	struct dc t = dc_open(algorithm, NULL);

	t.b.src = fake_region(t.b.w, 0, READ_BYTES, BED_LOCAL);
	t.b.dst = fake_region(t.b.w, 1, READ_BYTES, BED_ALL);
	return t;
}

/* Where the target's data goes. */
static struct nic_flow_stats answers_of(struct dc *t)
{
	struct nic_flow_stats stats;
	struct nic_dest_key key;
	uint32_t cursor = 0;

	assert_true(nic_dest_next(t->b.w->nics[1], &cursor, t->b.w->now_ns, &key, &stats));
	assert_false(nic_dest_next(t->b.w->nics[1], &cursor, t->b.w->now_ns, &key, &stats));
	return stats;
}

/* From time to time, until the READ is complete; the nanoseconds that it took. */
static uint64_t time_of_read(struct dc *t)
{
	uint64_t from_ns = t->b.w->now_ns;
	struct fake_cqe cqe;

	fake_settle(t->b.w);
	while (fake_poll(&t->b.pair.a.send_cq, &cqe) == 0) {
		assert_in_range(t->b.w->now_ns - from_ns, 0, 1000ull * MS);
		fake_advance(t->b.w, MS / 100);
		fake_settle(t->b.w);
		nic_check(t->b.w->nics[1]);
	}
	assert_int_equal(cqe.opcode, CQE_REQ);
	return t->b.w->now_ns - from_ns;
}

/* Its destination is told of what was marked, and holds it back from then on. */
static void answers_are_marked_and_paced(void **state)
{
	struct dc t = reads_open(NIC_CC_DCQCN);
	uint64_t free_ns, paced_ns;

	(void)state;
	post_read(&t);
	free_ns = time_of_read(&t);
	post_read(&t);
	fake_deliver(t.b.w, 0);
	assert_int_equal(fake_pkt(t.b.w, 0).opcode, ROCE_OP_DC_READ_RESP_FIRST);
	fake_mark(t.b.w, 0);
	time_of_read(&t);
	assert_int_equal(answers_of(&t).counters.cnps_handled, 1);
	assert_true(answers_of(&t).paced);
	post_read(&t);
	paced_ns = time_of_read(&t);
	assert_int_equal(free_ns, 0);
	/* The rate may rise meanwhile, to the line's at most; some go at once. */
	assert_in_range(paced_ns, (READ_BYTES - 16 * 4096) * 8ull, 40ull * MS);
	assert_true(answers_of(&t).counters.waits != 0);
	assert_in_range(answers_of(&t).counters.tx_packets, 3 * READ_BYTES / 4096, 1000);
	fake_world_free(t.b.w);
}

/* Without an algorithm nothing may mark them, and nothing holds them back. */
static void answers_without_algorithm(void **state)
{
	struct dc t = reads_open(NIC_CC_NONE);

	(void)state;
	post_read(&t);
	fake_deliver(t.b.w, 0);
	assert_int_equal(t.b.w->queue[0]->path.ecn, ROCE_ECN_NOT_ECT);
	assert_int_equal(time_of_read(&t), 0);
	fake_world_free(t.b.w);
}

/* Probes measure their way, and are answered to the target. */
static void answers_are_probed(void **state)
{
	struct dc t = reads_open(NIC_CC_RTT);

	(void)state;
	for (int i = 0; i < 3; i++) {
		post_read(&t);
		time_of_read(&t);
		fake_advance(t.b.w, MS);
	}
	assert_in_range(answers_of(&t).counters.probes_answered, 1, 1000);
	assert_int_equal(answers_of(&t).algorithm, NIC_CC_RTT);
	fake_world_free(t.b.w);
}

/* What waits for its turn goes with its target, and with its session. */
static void answers_that_wait_end(void **state)
{
	(void)state;
	for (int drained = 0; drained < 2; drained++) {
		struct dc t = reads_open(NIC_CC_RTT);
		struct nic *nic = t.b.w->nics[1];

		post_read(&t);
		fake_settle(t.b.w);
		nic_check(nic);
		assert_int_equal(nic->cong.alarm_count, 1);
		if (drained)
			assert_int_equal(nic_dct_drain(nic, t.dct.qp.qpn), 0);
		else
			assert_int_equal(nic_qp_destroy(nic, t.dct.qp.qpn), 0);
		nic_check(nic);
		assert_int_equal(nic->cong.alarm_count, 0);
		fake_world_free(t.b.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mapped_in_between),
	    cmocka_unit_test(a_failed_stream_keeps_the_window),
	    cmocka_unit_test(answers_are_marked_and_paced),
	    cmocka_unit_test(answers_without_algorithm),
	    cmocka_unit_test(answers_are_probed),
	    cmocka_unit_test(answers_that_wait_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
