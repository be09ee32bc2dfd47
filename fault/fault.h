/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault/fault.h - what happens to a packet on a bad wire: dropped, doubled, put behind others,
 * corrupted, marked, by chance from a seed, or by its number; how long the wire is, and how narrow.
 *
 * Pure: a struct fault is a stream of verdicts that depends on its configuration and on the calls
 * only. The wire (the simulator's link, the local wire) carries them out. One owner at a time.
 */
#ifndef FAULT_FAULT_H
#define FAULT_FAULT_H

#include "base/prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind { FAULT_DROP, FAULT_DUPLICATE, FAULT_REORDER, FAULT_CORRUPT, FAULT_KIND_COUNT };

enum { FAULT_RULE_MAX = 16, FAULT_BEHIND_MAX = 16 };
#define FAULT_DELAY_MAX_NS 10000000000ull /* of delay and of jitter */
#define FAULT_RATE_MAX     18000000000ull /* bytes per second */
#define FAULT_QUEUE_BYTES  262144u          /* of a bottleneck, unless it is said */

/* The packet with number `first` (1: the first judged), and then every `every`-th, if not 0. */
struct fault_rule {
	enum fault_kind kind;
	uint64_t first;
	uint64_t every;
};

struct fault_config {
	uint64_t seed;
	uint32_t ppm[FAULT_KIND_COUNT]; /* chance of each in millionths, independent */
	uint32_t behind_max; /* a reordered packet comes behind 1 to this many others; 0 means 3 */
	uint64_t from_ns;    /* faults happen from this long after the first packet ... */
	uint64_t until_ns;   /* ... until this long after it; 0: for ever */
	uint64_t delay_ns;   /* each packet takes so long ... */
	uint64_t jitter_ns;  /* ... and up to this longer, by chance: so one may overtake another */
	/* A bottleneck: packets leave one after another, so many bytes in a second (0: there is
	 * none); what would make more than queue_bytes wait is dropped. */
	uint64_t rate_bytes_per_s;
	uint64_t queue_bytes;
	/* Packets are marked, as a congested switch does: by chance, or those that find more than
	 * so many bytes waiting (0: none). Who carries it out marks only those that say they may
	 * be. */
	uint32_t mark_ppm;
	uint64_t mark_above_bytes;
	uint32_t rule_count;
	struct fault_rule rules[FAULT_RULE_MAX];
};

/* What to do with one packet. If it is dropped, nothing else is said. */
struct fault_verdict {
	bool drop;
	bool duplicate; /* send it twice */
	uint32_t behind; /* hold it back until this many others have gone; <= FAULT_BEHIND_MAX */
	bool corrupt;    /* flip the bit below */
	uint32_t corrupt_bit; /* 0: the lowest bit of the first byte; below 8 * len_bytes */
	bool mark;            /* its header says that it met congestion, if it says that it may */
	uint64_t delay_ns;    /* it arrives so much later; fault/queue.h keeps the order */
};

struct fault {
	struct fault_config config;
	struct base_prng prng;
	struct base_prng jitter_prng; /* its own, so that delays do not change who is hit */
	struct base_prng mark_prng;   /* likewise */
	uint64_t busy_until_ns;       /* the bottleneck */
	uint64_t overflows;           /* packets that its queue had no room for */
	uint64_t marks;
	uint64_t start_ns;
	uint64_t judged;
	uint64_t counts[FAULT_KIND_COUNT]; /* verdicts of each kind so far */
};

/* fault_init - a stream of verdicts. *config is copied. */
void fault_init(struct fault *fault, const struct fault_config *config);

/* fault_judge - the verdict for the next packet of len_bytes (not 0) at now_ns. */
struct fault_verdict fault_judge(struct fault *fault, size_t len_bytes, uint64_t now_ns);

/*
 * fault_parse - *config from text such as
 * "drop=5%,duplicate=0.5%,reorder=1%,corrupt=200ppm,seed=7", "drop@3" (the third packet),
 * "drop@3/10" (and every tenth after), "behind=8", "delay=200us,jitter=50us", "from=5ms,until=2s",
 * "rate=1.25GB/s,queue=200kB,mark=50kB" (or "rate=10Gb/s"), "mark=1%". Units are powers of ten.
 * true; or false and, in *wrong, the offset of the word that is not understood. *config is then
 * unspecified.
 */
bool fault_parse(struct fault_config *config, const char *text, size_t *wrong);

/* fault_kind_name - "drop", "duplicate", "reorder", "corrupt". */
const char *fault_kind_name(enum fault_kind kind);

#endif
