/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the names of counters, and that no bytes of another process pass for an answer that are
 * not a whole one. How: an answer, and each of its fields damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "abi/stats.h"
#include "base/prng.h"

static void names(void **state)
{
	/* Linux's, of congestion and its neighbours. */
	static const char *const hw[] = {"np_ecn_marked_roce_packets",
					 "np_cnp_sent",
					 "rp_cnp_handled",
					 "rp_cnp_ignored",
					 "out_of_sequence",
					 "packet_seq_err",
					 "local_ack_timeout_err",
					 "rnr_nak_retry_err"};

	(void)state;
	for (size_t i = 0; i < sizeof(hw) / sizeof(hw[0]); i++)
		assert_true(stats_find(hw[i]) < STATS_HW_COUNT);
	for (unsigned int i = 0; i < STATS_COUNT; i++) {
		assert_int_equal(stats_find(stats_names[i]), i);
		assert_true(strlen(stats_names[i]) < 40);
	}
	assert_int_equal(stats_find("port_xmit_data"), STATS_HW_COUNT);
	assert_int_equal(stats_find(""), STATS_COUNT);
	assert_int_equal(stats_find("port_xmit_dat"), STATS_COUNT);
}

static void words(void **state)
{
	(void)state;
	assert_string_equal(stats_type_text(STATS_TYPE_XRC_TGT), "XRC_TGT");
	assert_string_equal(stats_state_text(STATS_STATE_RTS), "RTS");
	assert_string_equal(stats_algorithm_text(1), "DCQCN");
	for (uint32_t number = 1; number < STATS_TYPE_COUNT; number++)
		assert_string_not_equal(stats_type_text(number), "?");
	for (uint32_t number = 1; number < STATS_STATE_COUNT; number++)
		assert_string_not_equal(stats_state_text(number), "?");
	assert_string_equal(stats_type_text(0), "?");
	assert_string_equal(stats_type_text(UINT32_MAX), "?");
	assert_string_equal(stats_state_text(255), "?");
	assert_string_equal(stats_algorithm_text(200), "?");
}

static const struct stats_request request = {STATS_MAGIC, STATS_VERSION, 77, 5};

static struct stats_reply answer(uint32_t flow_count)
{
	return (struct stats_reply){
	    .magic = STATS_MAGIC,
	    .version = STATS_VERSION,
	    .serial = 77,
	    .bytes = (uint32_t)stats_reply_bytes(flow_count),
	    .flow_count = flow_count,
	    .nic = "soft0",
	};
}

static void good_answers(void **state)
{
	static struct stats_reply reply;

	(void)state;
	for (uint32_t count = 0; count <= STATS_FLOWS_MAX; count++) {
		reply = answer(count);
		reply.next = count == 0 ? 0 : 6;
		assert_true(stats_reply_check(&reply, reply.bytes, &request));
	}
	reply = answer(1);
	memset(reply.nic, 'x', sizeof(reply.nic));
	assert_true(stats_reply_check(&reply, reply.bytes, &request));
	assert_int_equal(strlen(reply.nic), STATS_NIC_BYTES - 1);
}

static void bad_answers(void **state)
{
	static struct stats_reply reply;

	(void)state;
#define REFUSED(bytes, damage)                                              \
	do {                                                                \
		reply = answer(2);                                          \
		damage;                                                     \
		assert_false(stats_reply_check(&reply, (bytes), &request)); \
	} while (0)
	REFUSED(reply.bytes, reply.magic ^= 1);
	REFUSED(reply.bytes, reply.version++);
	REFUSED(reply.bytes, reply.serial++);
	REFUSED(reply.bytes, reply.flow_count = 1);
	REFUSED(reply.bytes, reply.flow_count = 3);
	REFUSED(reply.bytes, reply.flow_count = STATS_FLOWS_MAX + 1);
	REFUSED(reply.bytes, reply.flow_count = UINT32_MAX);
	REFUSED(reply.bytes - 1, );
	REFUSED(reply.bytes + 1, );
	REFUSED(reply.bytes, reply.bytes -= 8);
	REFUSED(0, );
	REFUSED(stats_reply_bytes(0) - 1, reply.bytes = (uint32_t)stats_reply_bytes(0) - 1);
	/* Else who asks for the rest would never come to the end. */
	REFUSED(reply.bytes, reply.next = 5);
	REFUSED(reply.bytes, reply.next = 1);
}

/* Whatever passes stays within its bounds. */
static void noise(void **state)
{
	static struct stats_reply reply;
	struct base_prng prng;
	unsigned int passed = 0;

	(void)state;
	base_prng_seed(&prng, 1);
	for (int i = 0; i < 100000; i++) {
		uint32_t at = (uint32_t)(base_prng_u64(&prng) % 24);

		reply = answer((uint32_t)(base_prng_u64(&prng) % 3));
		((uint8_t *)&reply)[at] = (uint8_t)base_prng_u64(&prng);
		if (!stats_reply_check(&reply, stats_reply_bytes(2), &request))
			continue;
		passed++;
		assert_int_equal(reply.flow_count, 2);
		assert_true(reply.next == 0 || reply.next > request.from);
	}
	assert_true(passed > 1000);
}

static void requests(void **state)
{
	struct stats_request wrong = request;

	(void)state;
	assert_true(stats_request_check(&request, sizeof(request)));
	assert_false(stats_request_check(&request, sizeof(request) - 1));
	wrong.magic++;
	assert_false(stats_request_check(&wrong, sizeof(wrong)));
	wrong = request;
	wrong.version = 0;
	assert_false(stats_request_check(&wrong, sizeof(wrong)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names),       cmocka_unit_test(words), cmocka_unit_test(good_answers),
	    cmocka_unit_test(bad_answers), cmocka_unit_test(noise), cmocka_unit_test(requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
