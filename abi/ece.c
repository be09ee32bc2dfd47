/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ece.c - offers and answers of enhanced connection establishment.
 */
#include "abi/ece.h"

static const uint32_t flag_of[] = {
    [ECE_NONE] = 0,
    [ECE_DCQCN] = ECE_DCQCN_F,
    [ECE_RTT] = ECE_RTT_F,
    [ECE_TIMELY] = ECE_TIMELY_F,
};

enum { ALGORITHM_COUNT = sizeof(flag_of) / sizeof(flag_of[0]) };

static uint32_t make(uint32_t bits, enum ece_algorithm algorithm)
{
	return ECE_VERSION_1 | ECE_LAYOUT_OWN | (uint32_t)algorithm << ECE_ALGORITHM_SHIFT |
	       (bits & ECE_BITS_MASK);
}

uint32_t ece_offer(uint32_t bits, enum ece_algorithm preferred)
{
	return make(bits, bits & flag_of[preferred] ? preferred : ECE_NONE);
}

/* Whether the algorithm works between two devices that have `common`. */
static bool is_candidate(uint32_t common, uint32_t algorithm, bool acked)
{
	uint32_t needed;

	if (algorithm >= ALGORITHM_COUNT || !(common & flag_of[algorithm]))
		return false;
	if (algorithm == ECE_DCQCN)
		needed = ECE_CNP_F | ECE_ECT_F;
	else
		needed = acked ? 0 : ECE_PROBE_F;
	return (common & needed) == needed;
}

static enum ece_algorithm choose(uint32_t common, enum ece_algorithm preferred, bool acked)
{
	if (is_candidate(common, preferred, acked))
		return preferred;
	if (is_candidate(common, ECE_RTT, acked))
		return ECE_RTT;
	return is_candidate(common, ECE_DCQCN, acked) ? ECE_DCQCN : ECE_NONE;
}

/* It names one algorithm, or none, and has the bit of that one only. */
static bool looks_answered(uint32_t word)
{
	uint32_t algorithm = ece_algorithm(word);

	return algorithm < ALGORITHM_COUNT && (word & ECE_ALGORITHMS_MASK) == flag_of[algorithm];
}

uint32_t ece_answer(uint32_t own, uint32_t word, bool acked)
{
	uint32_t common = own & word & ECE_BITS_MASK;
	enum ece_algorithm chosen;

	if (!ece_is_own(own) || !ece_is_own(word))
		return 0;
	if (looks_answered(word) && common != (word & ECE_BITS_MASK))
		return 0;
	chosen = choose(common, ece_algorithm(word), acked);
	return make((common & ~(uint32_t)ECE_ALGORITHMS_MASK) | flag_of[chosen], chosen);
}
