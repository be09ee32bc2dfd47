/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what two devices agree on, whatever each of them can do, and that a foreign, wild or
 * forged word is dropped and does no harm.
 * How: rows by hand, and every combination of algorithms, preferences and what they need, beside
 * the rules said once more in another way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/ece.h"

enum {
	ALL = ECE_DCQCN_F | ECE_RTT_F | ECE_PER_DESTINATION_F | ECE_ECT_F | ECE_PROBE_TIMES_F |
	      ECE_PROBE_F | ECE_CNP_F,
};

static void the_layout(void **state)
{
	(void)state;
	assert_int_equal(ece_offer(0, ECE_NONE), 0x1a000000);
	assert_int_equal(ece_offer(ALL, ECE_DCQCN), 0x1a1007c3);
	assert_int_equal(ece_offer(ALL, ECE_RTT), 0x1a2007c3);
	assert_int_equal(ece_offer(ALL, ECE_TIMELY), 0x1a0007c3);
	assert_int_equal(ece_offer(ECE_DCQCN_F, ECE_RTT), 0x1a000001);
	assert_int_equal(ece_offer(ECE_SELECTIVE_REPEAT_F | ECE_TIMELY_F, ECE_TIMELY), 0x1a300804);
	assert_int_equal(ece_algorithm(0x1a2007c3), ECE_RTT);
	assert_true(ece_is_own(0x1a000000));
	assert_false(ece_is_own(0x10000000));
	assert_false(ece_is_own(0x30000002));
	assert_false(ece_is_own(0x2a000000));
	assert_false(ece_is_own(0));
}

static void rows(void **state)
{
	static const struct {
		const char *name;
		uint32_t own, word, acked, unacked;
	} table[] = {
	    {"both can do all, DCQCN is liked", 0x1a1007c3, 0x1a1007c3, 0x1a1007c1, 0x1a1007c1},
	    {"the peer's liking counts", 0x1a1007c3, 0x1a2007c3, 0x1a2007c2, 0x1a2007c2},
	    {"no liking: RTT before DCQCN", 0x1a1007c3, 0x1a0007c3, 0x1a2007c2, 0x1a2007c2},
	    {"a liking that nobody knows", 0x1a1007c3, 0x1af007c3, 0x1a2007c2, 0x1a2007c2},
	    {"DCQCN without CNPs", 0x1a1007c3, 0x1a100783, 0x1a200782, 0x1a200782},
	    {"DCQCN without ECT", 0x1a1007c3, 0x1a1005c3, 0x1a2005c2, 0x1a2005c2},
	    {"RTT without probes", 0x1a1007c3, 0x1a200743, 0x1a200742, 0x1a100741},
	    {"RTT alone without probes", 0x1a1007c3, 0x1a200742, 0x1a200742, 0x1a000740},
	    {"a peer without algorithms", 0x1a1007c3, 0x1a0007c0, 0x1a0007c0, 0x1a0007c0},
	    {"more than we know is dropped", 0x1a1007c3, 0x1a1fffff, 0x1a1007c1, 0x1a1007c1},
	    {"what is liked is not ours", 0x1a1007c3, 0x1a300fff, 0x1a2007c2, 0x1a2007c2},
	    {"an answer of more than was offered", 0x1a1007c1, 0x1a200fc2, 0, 0},
	    {"an answer of none", 0x1a1007c3, 0x1a000fc0, 0, 0},
	    {"every bit", 0x1a1007c3, 0xffffffff, 0, 0},
	    {"a card's word", 0x1a1007c3, 0x30000002, 0, 0},
	    {"a driver's trigger", 0x1a1007c3, 0x10000000, 0, 0},
	    {"nothing", 0x1a1007c3, 0, 0, 0},
	    {"another layout", 0x1a1007c3, 0x1b1007c3, 0, 0},
	    {"another version", 0x1a1007c3, 0x2a1007c3, 0, 0},
	    {"we keep our bits to ourselves", 0x10000000, 0x1a1007c3, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		print_message("%s\n", table[i].name);
		assert_int_equal(ece_answer(table[i].own, table[i].word, true), table[i].acked);
		assert_int_equal(ece_answer(table[i].own, table[i].word, false), table[i].unacked);
	}
}

/* The rules once more: which algorithm there is between two ends. */
static uint32_t expected(uint32_t both, uint32_t liked, bool acked)
{
	bool can[16] = {false};

	can[1] = (both & 0x001) && (both & 0x040) && (both & 0x200);
	can[2] = (both & 0x002) && (acked || (both & 0x080));
	can[3] = (both & 0x004) && (acked || (both & 0x080));
	if (can[liked])
		return liked;
	return can[2] ? 2 : can[1] ? 1 : 0;
}

/* Both ends, with every subset of algorithms and every liking. */
static void one_pair(uint32_t own_bits, uint32_t peer_bits, uint32_t liked, bool acked)
{
	uint32_t own = 0x1a000000 | own_bits;
	uint32_t offer = 0x1a000000 | liked << 20 | peer_bits;
	uint32_t answer = ece_answer(own, offer, acked);
	uint32_t chosen = expected(own_bits & peer_bits, liked, acked);
	bool single = liked < 4 && (peer_bits & 7) == (liked == 0 ? 0 : 1u << (liked - 1));

	if (single && (peer_bits & ~own_bits)) {
		assert_int_equal(answer, 0);
		return;
	}
	assert_int_equal(answer & 0xfffff000, 0x1a000000 | chosen << 20);
	assert_int_equal(answer & 7, chosen == 0 ? 0 : 1u << (chosen - 1));
	assert_int_equal(answer & 0xff8, own_bits & peer_bits & 0xff8);
	/* The end that offered comes to the same, and so does whoever sets it again. */
	assert_int_equal(ece_answer(offer, answer, acked), answer);
	assert_int_equal(ece_answer(own, answer, acked), answer);
}

static void every_pair(void **state)
{
	static const uint32_t needs[] = {0x7c0, 0x740, 0x5c0, 0x780, 0x080, 0x240, 0, 0xfc0};
	enum { NEEDS = sizeof(needs) / sizeof(needs[0]) };

	(void)state;
	for (uint32_t own = 0; own < 8 * NEEDS; own++)
		for (uint32_t peer = 0; peer < 8 * NEEDS; peer++)
			for (uint32_t liked = 0; liked < 16; liked++)
				for (unsigned int acked = 0; acked < 2; acked++)
					one_pair((own & 7) | needs[own >> 3],
						 (peer & 7) | needs[peer >> 3], liked, acked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_layout),
	    cmocka_unit_test(rows),
	    cmocka_unit_test(every_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
