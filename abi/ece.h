/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ece.h - options of enhanced connection establishment (ECE): the word that two queue pairs agree
 * on, and what follows from it.
 *
 * The verbs carry a vendor, 0x15b3, and 32 bits of options. What a card means by them is not
 * public; one with congestion control by round trip time answers 0x30000002 [cases 24]. The
 * software NIC has a layout of its own:
 *
 *   31:28  version, 1; 0: nothing is offered
 *   27:24  0xa: this layout. Anything else is another device's word: none of its bits means
 *          anything here
 *   23:20  offer: the algorithm liked best. Answer: the one that was chosen
 *   19:16  0
 *   11:0   ECE_*_F, what the device can do; of an answer: what both can do, and of algorithms the
 *          chosen one only
 *   rest   0; ignored
 *
 * Who connects offers its capabilities. The other end answers with ece_answer, and that is what
 * both use. A device takes any word: what it does not know, it drops.
 */
#ifndef ABI_ECE_H
#define ABI_ECE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ECE_VERSION_MASK = 15u << 28,
	ECE_VERSION_1 = 1u << 28, /* what drivers create queue pairs with [rdma-core mlx5] */
	ECE_LAYOUT_MASK = 15u << 24,
	ECE_LAYOUT_OWN = 10u << 24,
	ECE_ALGORITHM_SHIFT = 20,
	ECE_ALGORITHM_MASK = 15u << ECE_ALGORITHM_SHIFT,
	ECE_BITS_MASK = 0xfff,
};

enum {
	ECE_SELECTIVE_REPEAT_F = 1 << 11, /* reserved: not congestion control */
	ECE_PER_DESTINATION_F = 1 << 10,  /* UD, DC: each destination has a state of its own */
	ECE_ECT_F = 1 << 9,               /* its packets may be marked: they say ECT(0) */
	ECE_PROBE_TIMES_F = 1 << 8,       /* answers to probes say when they came and went */
	ECE_PROBE_F = 1 << 7,             /* it answers round trip probes */
	ECE_CNP_F = 1 << 6,               /* it tells the sender of marks */
	/* Algorithms that it can send by. */
	ECE_TIMELY_F = 1 << 2,
	ECE_RTT_F = 1 << 1,
	ECE_DCQCN_F = 1 << 0,
	ECE_ALGORITHMS_MASK = ECE_TIMELY_F | ECE_RTT_F | ECE_DCQCN_F,
};

/* The numbers of algorithms, in bits 23:20. */
enum ece_algorithm {
	ECE_NONE = 0,
	ECE_DCQCN = 1,
	ECE_RTT = 2,
	ECE_TIMELY = 3,
};

/* ece_is_own - whether the word has this layout. */
static inline bool ece_is_own(uint32_t word)
{
	return (word & (ECE_VERSION_MASK | ECE_LAYOUT_MASK)) == (ECE_VERSION_1 | ECE_LAYOUT_OWN);
}

/* ece_algorithm - the algorithm that an answer chose, or an offer prefers. */
static inline enum ece_algorithm ece_algorithm(uint32_t word)
{
	return (enum ece_algorithm)((word & ECE_ALGORITHM_MASK) >> ECE_ALGORITHM_SHIFT);
}

/* ece_offer - the word of a device that can do `bits`; preferred is left out if it cannot. */
uint32_t ece_offer(uint32_t bits, enum ece_algorithm preferred);

/*
 * ece_answer - what a device that offers `own` makes of a peer's word, be it an offer or an answer
 * to its own; 0: nothing is agreed on.
 *
 *   acked  requests of the queue pair are acknowledged: it measures round trips without probes.
 *
 * An answer's answer is the answer. One that claims more than was offered is worth nothing. It is
 * recognized by naming one algorithm and no other; an offer of a device that has but one algorithm
 * looks the same, and is agreed on or not in the same way.
 */
uint32_t ece_answer(uint32_t own, uint32_t word, bool acked);

#endif
