/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: of many queue pairs that wait for one paced destination each packet wakes one, in turn,
 * and nobody is forgotten: not when one is destroyed, and not when the pace ends.
 * How: a NIC of tests/support/fake_nic.h with many datagram queue pairs, and a destination that was
 * told of congestion; time goes from deadline to deadline.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

enum { SENDERS = 64, EACH = 6, BYTES = 1024 };

struct many {
	struct bed b; /* its pair is not used */
	struct fake_pair pairs[SENDERS];
	struct nic_dest *dest;
	uint32_t order[SENDERS * EACH]; /* who sent, by number in pairs */
	uint32_t sent;
};

static struct many *many_open(void)
{
	static const struct fake_opts ud = {.type = NIC_QP_UD, .sq_count = 16, .mtu_bytes = 1024};
	const struct nic_config config = {
	    .qp_count_max = 4096,
	    .cq_count_max = 512,
	    .mkey_count_max = 64,
	    .pd_count_max = 4,
	    .mtu_max_bytes = 1024,
	    .rd_atomic_max = 16,
	    .message_max_bytes_log2 = 31,
	    .cc_algorithm = NIC_CC_DCQCN,
	    .cc_params = &nic_cc_paper,
	    .line_rate_bps = 1000000000,
	};
	struct many *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->b.w = fake_world_new(&config);
	t->b.w->alien = true;
	t->b.w->window_bytes = 1 << 19;
	for (uint32_t i = 0; i < SENDERS; i++)
		fake_pair_connect(t->b.w, &t->pairs[i], &ud);
	t->b.src = fake_region(t->b.w, 0, 4096, BED_LOCAL);
	return t;
}

static void many_close(struct many *t)
{
	bed_close(&t->b);
	free(t);
}

static void post(struct many *t, uint32_t sender)
{
	struct fake_address to = fake_to(&t->pairs[0].b);
	struct fake_wr wr = bed_wr(&t->b, WQE_OP_SEND, BYTES);

	wr.to = &to;
	fake_post(&t->pairs[sender].a, &wr);
}

/* Takes what was sent off the wire. */
static void collect(struct many *t)
{
	while (t->b.w->queue_count != 0) {
		uint32_t qpn = fake_pkt(t->b.w, 0).deth.src_qpn, i = 0;

		while (i < SENDERS && t->pairs[i].a.qpn != qpn)
			i++;
		assert_in_range(i, 0, SENDERS - 1);
		assert_in_range(t->sent, 0, SENDERS * EACH - 1);
		t->order[t->sent++] = i;
		fake_drop(t->b.w, 0);
	}
}

/* One packet makes the destination known; then it is told of congestion, and all post. */
static void start(struct many *t)
{
	struct nic *nic = t->b.w->nics[0];
	struct nic_dest_key key;
	const struct nic_qp *qp = nic_qp_find(nic, t->pairs[0].a.qpn);
	uint32_t from = STATS_DEST_FIRST;
	struct stats_flow shown;

	post(t, 0);
	fake_ring(&t->pairs[0].a);
	collect(t);
	key = nic_dest_key_of(&qp->params.path);
	t->dest = nic_dest_find(nic, &key);
	assert_non_null(t->dest);
	/* What goes there is counted without a pace, too. */
	assert_false(t->dest->paced);
	assert_int_equal(nic_stats_flows(nic, &from, &shown, 1, t->b.w->now_ns), 1);
	assert_int_equal(shown.qp.tx_packets, 1);
	for (int i = 0; i < 4; i++)
		nic_cc_on_cnp(&t->dest->flow.cc, t->b.w->now_ns);
	t->dest->paced = t->dest->flow.cc.paced;
	assert_true(t->dest->paced);
	t->sent = 0;
	for (uint32_t i = 0; i < SENDERS; i++)
		for (uint32_t k = 0; k < EACH; k++)
			post(t, i);
	for (uint32_t i = 0; i < SENDERS; i++)
		fake_ring(&t->pairs[i].a);
}

/* Until nothing is left to do, or so many packets have gone. */
static void go_on(struct many *t, uint32_t until)
{
	struct nic *nic = t->b.w->nics[0];

	collect(t);
	while (t->sent < until && nic_deadline_ns(nic) != NIC_TIME_NEVER) {
		uint64_t at_ns = nic_deadline_ns(nic);

		fake_advance(t->b.w, at_ns > t->b.w->now_ns ? at_ns - t->b.w->now_ns : 0);
		collect(t);
		nic_check(nic);
	}
}

/* Who waits is counted each time that it must: once for each packet, however many others wait. */
static void one_is_woken(void **state)
{
	struct many *t = many_open();

	(void)state;
	start(t);
	go_on(t, UINT32_MAX);
	assert_int_equal(t->sent, SENDERS * EACH);
	print_message("%u packets of %d waited %llu times\n", t->sent, SENDERS,
		      (unsigned long long)t->dest->flow.counters.waits);
	assert_in_range(t->dest->flow.counters.waits, t->sent / 2, t->sent);
	many_close(t);
}

/* At no time has one sent two packets more than another. */
static void in_turn(void **state)
{
	struct many *t = many_open();
	uint32_t count[SENDERS] = {0};

	(void)state;
	start(t);
	go_on(t, UINT32_MAX);
	for (uint32_t i = 0; i < t->sent; i++) {
		uint32_t least = ++count[t->order[i]];

		for (uint32_t k = 0; k < SENDERS; k++)
			least = count[k] < least ? count[k] : least;
		assert_in_range(count[t->order[i]], least, least + 2);
	}
	many_close(t);
}

/* Whoever goes leaves the others in their order. */
static void one_goes(void **state)
{
	static const uint32_t gone[] = {SENDERS - 1, 3, 4, 20};

	(void)state;
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		struct many *t = many_open();
		struct nic *nic = t->b.w->nics[0];
		uint32_t had = 0;

		start(t);
		go_on(t, 3);
		for (uint32_t k = 0; k < t->sent; k++)
			had += t->order[k] == gone[i];
		assert_int_equal(nic_qp_destroy(nic, t->pairs[gone[i]].a.qpn), 0);
		nic_check(nic);
		go_on(t, UINT32_MAX);
		assert_int_equal(t->sent, (SENDERS - 1) * EACH + had);
		many_close(t);
	}
}

/* A destination that is paced no more lets all go. */
static void the_pace_ends(void **state)
{
	struct many *t = many_open();
	struct nic *nic = t->b.w->nics[0];
	uint32_t mapping;

	(void)state;
	start(t);
	go_on(t, 3);
	assert_int_equal(
	    nic_dest_map(nic, &t->dest->key, NIC_CC_NONE, t->b.w->now_ns, &mapping), 0);
	go_on(t, UINT32_MAX);
	assert_int_equal(t->sent, SENDERS * EACH);
	assert_int_equal(nic->cong.alarm_count, 0);
	many_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_is_woken),
	    cmocka_unit_test(in_turn),
	    cmocka_unit_test(one_goes),
	    cmocka_unit_test(the_pace_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
