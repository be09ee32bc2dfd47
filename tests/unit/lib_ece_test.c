/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what a queue pair offers is in its endpoint; the peer's word goes to the kernel with the
 * step to ready to receive, and the answer is what rig_qp_ece says then; two ends that both made an
 * offer agree on one answer; words that are not ours are passed on. How: a scripted kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/ece.h"
#include "tests/support/script_rig.h"

#define MODIFY_EX UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP)

enum {
	ALL = ECE_PER_DESTINATION_F | ECE_ECT_F | ECE_PROBE_F | ECE_CNP_F | ECE_RTT_F | ECE_DCQCN_F,
	CARD = 0x30000002, /* a card with congestion control by round trip time answers so */
};

static struct script_rig rig_of(uint32_t offer, enum rig_transport transport)
{
	const struct rig_qp_options options = {.transport = transport};
	struct script_rig rig;

	script_reset();
	script.context.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE;
	script.ece_offer = offer;
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 64);
	assert_int_equal(rig_qp_create_with(rig.cq, 4, 0, &options, &rig.qp), 0);
	return rig;
}

/* peer_of - an endpoint of another NIC that offers this; first: it comes first in the order. */
static struct rig_endpoint peer_of(const struct script_rig *rig, uint32_t offer, bool first)
{
	struct rig_endpoint peer;

	assert_int_equal(rig_qp_endpoint(rig->qp, &peer), 0);
	peer.address.gid[15] = first ? 0 : 200;
	peer.ece = offer;
	return peer;
}

static void what_it_offers_is_in_the_endpoint(void **state)
{
	uint32_t offer = ece_offer(ALL, ECE_RTT);
	struct script_rig rig = rig_of(offer, RIG_RC);
	struct rig_endpoint endpoint, back;
	char text[RIG_ENDPOINT_TEXT];

	(void)state;
	assert_int_equal(script.qps[0].in.ece_options, ECE_VERSION_1);
	assert_int_equal(rig_qp_ece(rig.qp), offer);
	assert_int_equal(rig_qp_endpoint(rig.qp, &endpoint), 0);
	assert_int_equal(endpoint.ece, offer);
	assert_true(rig_endpoint_print(&endpoint, text, sizeof(text)) > 0);
	assert_int_equal(rig_endpoint_parse(text, &back), 0);
	assert_int_equal(back.ece, offer);
	assert_int_equal(rig_qp_ece(NULL), 0);
	script_rig_close(&rig);
}

static void the_word_goes_with_ready_to_receive(void **state)
{
	struct script_rig rig = rig_of(CARD, RIG_RC);
	struct rig_endpoint peer = peer_of(&rig, CARD + 1, true);
	const struct script_command *cmd;

	(void)state;
	script.ece_answer = CARD + 2;
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	cmd = script_last(SCRIPT_ANY, SCRIPT_ANY, MODIFY_EX);
	assert_non_null(cmd);
	assert_int_equal(cmd->ece, CARD + 1);
	assert_int_equal(cmd->modify.qp_state, UV_QPS_RTR);
	assert_int_equal(cmd->modify.dest_qp_num, peer.qp);
	assert_int_equal(rig_qp_ece(rig.qp), CARD + 2);
	script_rig_close(&rig);
}

static void without_a_word_nothing_is_agreed_on(void **state)
{
	struct script_rig rig = rig_of(ece_offer(ALL, ECE_RTT), RIG_RC);
	struct rig_endpoint peer = peer_of(&rig, 0, true);

	(void)state;
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, MODIFY_EX));
	assert_int_equal(rig_qp_ece(rig.qp), 0);
	script_rig_close(&rig);
}

static void a_kernel_without_it_is_not_told(void **state)
{
	struct script_rig rig;
	struct rig_endpoint peer;

	(void)state;
	script_reset();
	script.ece_offer = CARD;
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 64);
	rig.qp = script_qp_create(rig.cq, 4, 0);
	peer = peer_of(&rig, CARD, true);
	assert_int_equal(script.qps[0].in.ece_options, 0);
	assert_int_equal(rig_qp_ece(rig.qp), 0);
	assert_int_equal(rig_qp_set_ece(rig.qp, CARD), -EOPNOTSUPP);
	assert_message("rig_qp_set_ece");
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, MODIFY_EX));
	script_rig_close(&rig);
}

/* told - the word that the kernel gets, 0 if none, of an end that offers `own`, to one that offers
 * `other`. */
static uint32_t told(uint32_t own, uint32_t other, bool peer_first)
{
	struct script_rig rig = rig_of(own, RIG_RC);
	struct rig_endpoint peer = peer_of(&rig, other, peer_first);
	const struct script_command *cmd;

	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	cmd = script_last(SCRIPT_ANY, SCRIPT_ANY, MODIFY_EX);
	script_rig_close(&rig);
	return cmd ? cmd->ece : 0;
}

/*
 * Whatever both ends can do and prefer, both come to the same algorithm, as a device makes of what
 * it is told; also where one has the other's answer already. By all subsets.
 */
static void two_offers_end_in_one_answer(void **state)
{
	uint32_t seen[3] = {0};

	(void)state;
	for (uint32_t i = 0; i < 4 * 4 * 9; i++) {
		uint32_t bits = ALL & ~(uint32_t)ECE_ALGORITHMS_MASK;
		uint32_t a = ece_offer(bits | i % 4, (enum ece_algorithm)(i / 16 % 3));
		uint32_t b = ece_offer(bits | i / 4 % 4, (enum ece_algorithm)(i / 48));
		uint32_t at_a = ece_answer(a, told(a, b, false), true);
		uint32_t at_b = ece_answer(b, told(b, a, true), true);

		if (at_a != at_b)
			fail_msg("0x%x and 0x%x: 0x%x and 0x%x", a, b, at_a, at_b);
		seen[ece_algorithm(at_a)]++;
		assert_int_equal(ece_answer(a, told(a, at_b, false), true), at_a);
		assert_int_equal(ece_answer(b, told(b, at_a, true), true), at_b);
	}
	assert_true(seen[0] && seen[1] && seen[2]);
}

static void set_ece_comes_before_the_endpoint(void **state)
{
	struct script_rig rig = rig_of(CARD, RIG_RC);
	struct rig_endpoint peer = peer_of(&rig, CARD, true);

	(void)state;
	script.ece_answer = 5;
	assert_int_equal(rig_qp_set_ece(rig.qp, 0x10000000), 0);
	assert_int_equal(rig_qp_ece(rig.qp), CARD);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), 0);
	assert_int_equal(script_last(SCRIPT_ANY, SCRIPT_ANY, MODIFY_EX)->ece, 0x10000000);
	assert_int_equal(rig_qp_ece(rig.qp), 5);
	assert_int_equal(rig_qp_set_ece(rig.qp, 1), -EINVAL);
	assert_message("already");
	assert_int_equal(rig_qp_set_ece(NULL, 1), -EINVAL);
	script_rig_close(&rig);
}

static void a_datagram_queue_pair_starts_with_it(void **state)
{
	uint32_t offer = ece_offer(ALL, ECE_NONE), word = rig_ece_prefer(offer, RIG_CC_RTT);
	struct script_rig rig = rig_of(offer, RIG_UD);

	(void)state;
	script.ece_answer = word;
	assert_int_equal(rig_qp_set_ece(rig.qp, word), 0);
	assert_int_equal(rig_qp_start(rig.qp, &(struct rig_start){.qkey = 1}), 0);
	assert_int_equal(script_last(SCRIPT_ANY, SCRIPT_ANY, MODIFY_EX)->ece, word);
	assert_int_equal(rig_ece_cc(rig_qp_ece(rig.qp)), RIG_CC_RTT);
	script_rig_close(&rig);
}

static void one_algorithm_is_preferred(void **state)
{
	uint32_t offer = ece_offer(ALL, ECE_DCQCN);

	(void)state;
	for (int acked = 0; acked < 2; acked++)
		for (enum rig_cc cc = RIG_CC_NONE; cc <= RIG_CC_RTT; cc++)
			assert_int_equal(
			    rig_ece_cc(ece_answer(offer, rig_ece_prefer(offer, cc), acked)), cc);
	assert_int_equal(rig_ece_prefer(ece_offer(ALL & ~ECE_RTT_F, ECE_DCQCN), RIG_CC_RTT), 0);
	assert_int_equal(rig_ece_prefer(CARD, RIG_CC_RTT), 0);
	assert_int_equal(rig_ece_prefer(offer, (enum rig_cc)3), 0);
	assert_int_equal(rig_ece_cc(CARD), RIG_CC_NONE);
	assert_int_equal(rig_ece_cc(0), RIG_CC_NONE);
}

static void a_refused_step_leaves_the_offer(void **state)
{
	uint32_t offer = ece_offer(ALL, ECE_RTT);
	struct script_rig rig = rig_of(offer, RIG_RC);
	struct rig_endpoint peer = peer_of(&rig, offer, true);

	(void)state;
	script_refuse(SCRIPT_ANY, SCRIPT_ANY, MODIFY_EX, EPERM);
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &peer, NULL), -EPERM);
	assert_message("ready to receive");
	assert_int_equal(rig_qp_ece(rig.qp), offer);
	script_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_it_offers_is_in_the_endpoint),
	    cmocka_unit_test(the_word_goes_with_ready_to_receive),
	    cmocka_unit_test(without_a_word_nothing_is_agreed_on),
	    cmocka_unit_test(a_kernel_without_it_is_not_told),
	    cmocka_unit_test(two_offers_end_in_one_answer),
	    cmocka_unit_test(set_ece_comes_before_the_endpoint),
	    cmocka_unit_test(a_datagram_queue_pair_starts_with_it),
	    cmocka_unit_test(one_algorithm_is_preferred),
	    cmocka_unit_test(a_refused_step_leaves_the_offer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
