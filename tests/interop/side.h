/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side.h - one end of a connection in an interop test: Linux's in the guest, or ours.
 *
 * A side has one memory (memory.h), of which the first half is where requests take their data from
 * and the second where data ends up, and one queue pair at a time. The same rows run with either
 * side asking, because both are told what to do in the same words.
 *
 * What fails for no reason of the test (a dead guest, a refused command) ends the running test
 * through cmocka, with a sentence.
 */
#ifndef TESTS_INTEROP_SIDE_H
#define TESTS_INTEROP_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/rig5.h"

enum {
	SIDE_MEMORY_BYTES = 1 << 20,
	SIDE_HALF_BYTES = SIDE_MEMORY_BYTES / 2,
	SIDE_GIDS = 2, /* SIDE_IPV4, SIDE_IPV6 */
	SIDE_RECEIVES = 16,
};

enum side_family { SIDE_IPV4, SIDE_IPV6 };

enum side_service { SIDE_RC, SIDE_UC, SIDE_UD };

enum { SIDE_GRH_BYTES = 40, SIDE_QKEY = 0x11111111 }; /* of a datagram's receive, and its key */

enum side_op {
	SIDE_SEND,
	SIDE_SEND_IMM,
	SIDE_WRITE,
	SIDE_WRITE_IMM,
	SIDE_READ,
	SIDE_CAS,
	SIDE_FAA,
	SIDE_OP_COUNT,
};

/* How a queue pair is connected. */
struct side_link {
	enum side_family family;
	uint32_t dqpn;
	uint8_t dgid[16];
	uint32_t mtu_bytes;
	uint32_t rq_psn, sq_psn;
	uint8_t timeout, retry, rnr_retry, rnr_timer; /* codes */
};

struct side_work {
	enum side_op op;
	uint32_t id;
	uint32_t off, len_bytes; /* in this side's memory; 8 bytes for atomics */
	uint64_t addr;           /* in the other's */
	uint32_t key;
	uint32_t imm;
	uint64_t swap_add, compare;
};

struct side_wc {
	uint32_t id; /* of the work or of the receive */
	bool receive;
	enum rig_status status;
	uint32_t len_bytes; /* receives that did not fail */
	bool has_imm;
	uint32_t imm;
};

struct interop_memory;
struct nic_counters;

struct side {
	const char *name;
	uint64_t va; /* of its memory, as the other names it */
	uint32_t key;
	uint32_t bare_key; /* of the same memory: no remote rights */
	uint8_t gids[SIDE_GIDS][16];
	enum side_service service; /* of the queue pair that is made next */
	uint32_t qpn; /* of its queue pair */
	bool shared;  /* its receives are to come from an SRQ; only the NIC's core has one */
	uint32_t psn; /* where that one starts if this side decides it; else PSN_ANY */
	const struct side_ops *ops;
	void *ctx;                     /* the ops' own */
	struct interop_memory *memory; /* of a side in this process; NULL: the agent's */
};

#define SIDE_PSN_ANY UINT32_MAX

struct side_ops {
	/* A queue pair: side->qpn. */
	void (*make)(struct side *side);
	void (*connect)(struct side *side, const struct side_link *link);
	void (*post)(struct side *side, const struct side_work *work);
	void (*receive)(struct side *side, uint32_t id, uint32_t off, uint32_t len_bytes);
	/* Up to count completions within timeout_ms, in order; how many. */
	int (*wait)(struct side *side, struct side_wc *wc, int count, unsigned int timeout_ms);
	void (*destroy)(struct side *side);
	/* All that was told is done. */
	void (*settle)(struct side *side);
	/* A test failed in the middle: forgets what is under way, destroys the queue pair. */
	void (*abandon)(struct side *side);
	/* The software NIC's; NULL: this side is none. */
	const struct nic_counters *(*counters)(struct side *side);

	/* The memory, as in memory.h. differs: false, and where it is not as it must be in words.
	 */
	void (*clear)(struct side *side);
	void (*fill)(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed);
	void (*fill64)(struct side *side, uint32_t off, uint64_t value);
	void (*expect)(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed);
	void (*expect64)(struct side *side, uint32_t off, uint64_t value);
	void (*any)(struct side *side, uint32_t off, uint32_t len_bytes);
	bool (*verify)(struct side *side, char *text, size_t size);
};

#endif
