/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.h - a process that keeps its links to other processes busy and checks every byte.
 *
 * A peer has one NIC, one completion queue and up to PEER_LINKS links. A link is a queue pair, a
 * region that the other end may do everything to, and traffic: PEER_SLOTS requests at a time, each
 * slot in turn writes random bytes to its place at the other end and reads them back, sends a
 * message, adds to a counter, or compares and swaps one. What comes back is compared with what
 * went, messages with their serial number's pattern, in order. A link whose queue pair fails stops,
 * keeps its first error, and the others go on.
 *
 * The functions named peer_* below are verbs (procs.h) unless said otherwise; the peer is the
 * child's only one. Traffic runs between calls.
 */
#ifndef TESTS_SUPPORT_PEER_H
#define TESTS_SUPPORT_PEER_H

#include "base/prng.h"
#include "include/rig5.h"
#include "tests/support/procs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum {
	PEER_LINKS = 40,
	PEER_SLOTS = 8,
	PEER_SLOT_BYTES = 16384,
	PEER_RECEIVES = 16,
	PEER_RING = 32,
	PEER_CQE = 2048,
};

/* What one link shares with its other end; a page multiple of its own. */
struct peer_memory {
	uint8_t in[PEER_SLOTS][PEER_SLOT_BYTES]; /* the other end writes and reads here */
	uint8_t out[PEER_SLOTS][PEER_SLOT_BYTES];
	uint8_t back[PEER_SLOTS][PEER_SLOT_BYTES];
	uint8_t got[PEER_RECEIVES][PEER_SLOT_BYTES];
	uint64_t added;   /* the other end's fetch-and-add */
	uint64_t swapped; /* the other end's compare-and-swap */
	uint64_t old[PEER_SLOTS];
};

struct peer_slot {
	uint8_t step;
	bool busy;
	uint32_t len_bytes;
	uint64_t expected;
};

struct peer_link {
	struct rig_qp *qp;
	struct rig_region *region;
	struct peer_memory *mem;
	struct rig_remote remote; /* the other end's peer_memory */
	uint32_t peer_qp;
	struct peer_slot slots[PEER_SLOTS];
	uint8_t slot_of[PEER_RING]; /* by entry index */
	uint64_t limit;             /* requests to begin in all */
	uint64_t begun, done, sent, received, adds, swaps;
	uint32_t busy;
	bool connected, failed;
	uint8_t status, vendor; /* of the first error */
	uint64_t failed_ns;
	uint64_t wrong; /* bytes, values or messages that were not as they should be */
	char what[128];
};

struct peer {
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct base_prng prng;
	struct peer_link links[PEER_LINKS];
	uint32_t link_count;
};

/* The child's peer, for a test's own verbs. */
extern struct peer peer;

/* Returns from a verb, with rig_error in the answer, if call fails. */
#define PEER_TRY(call)                                                                           \
	do {                                                                                     \
		int try_result = (call);                                                         \
		if (try_result < 0)                                                              \
			return proc_fail(try_result, "%s:%d: %s: %s", __FILE__, __LINE__, #call, \
					 rig_error());                                           \
	} while (0)
/* Returns from a verb with -EPROTO if cond does not hold. */
#define PEER_CHECK(cond)                                                                       \
	do {                                                                                   \
		if (!(cond))                                                                   \
			return proc_fail(-71, "%s:%d: not so: %s", __FILE__, __LINE__, #cond); \
	} while (0)

/* ---- verbs ----------------------------------------------------------------------------------- */

int peer_open(struct proc_msg *msg); /* v[0] seed */
/* A new link, not connected: its number; blob: its struct peer_card. */
int peer_link(struct proc_msg *msg);
int peer_connect(struct proc_msg *msg); /* v[0] link; blob: the other end's card */
int peer_run(struct proc_msg *msg);     /* v[0] requests to begin on each link, from now on */
int peer_drain(struct proc_msg *msg);   /* waits until every request that was begun has ended */
int peer_halt(struct proc_msg *msg);    /* begins nothing new, then peer_drain */
int peer_report(struct proc_msg *msg);  /* v[0] link; fills the struct peer_report in blob */
int peer_unlink(struct proc_msg *msg);  /* v[0] link: destroys its queue pair and its region */
int peer_close(struct proc_msg *msg);

struct peer_card {
	struct rig_endpoint endpoint;
	struct rig_remote remote;
};

struct peer_report {
	uint64_t done, sent, received, adds, swaps, added, swapped, wrong, failed_ns;
	uint32_t qp;
	bool failed;
	uint8_t status, vendor;
	char what[128];
};

/* ---- in the child, no verbs ------------------------------------------------------------------ */

/* One round of traffic on every link: what the child does between calls. */
void peer_traffic(void);
/* The next completion within timeout_ms; -ETIMEDOUT. Polls. */
int peer_next(struct rig_cq *cq, struct rig_wc *wc, unsigned int timeout_ms);

/* ---- in the parent --------------------------------------------------------------------------- */

/* For what is to happen, on a machine that does much else. */
enum { PEER_PATIENCE_MS = 30000 };

/* A child with an open peer. */
struct proc *peer_start(uint64_t seed);
/* Connects one new link of a with one of b: their numbers there. */
struct peer_pair {
	unsigned int a, b;
};
struct peer_pair peer_pair(struct proc *a, struct proc *b);
struct peer_report peer_report_of(struct proc *child, unsigned int link);
/* Runs count requests on each link from now on, or waits for them, or asserts that all was right.
 */
void peer_run_on(struct proc *child, uint64_t count);
/* Waits until child's link has ended count requests more than now; false: timeout_ms passed. */
bool peer_progress(struct proc *child, unsigned int link, uint64_t count, unsigned int timeout_ms);
/* Fails the test if the two ends of a link did not see the same, or saw a wrong byte. Both drained.
 */
void peer_agree(struct proc *a, unsigned int link_a, struct proc *b, unsigned int link_b);
/* Waits until child's link has failed; its report. Fails the test if it does not in time. */
struct peer_report peer_failure(struct proc *child, unsigned int link, unsigned int timeout_ms);

/*
 * Peers join and leave in every way while the others work, and no byte of those that stay is wrong.
 * By a seeded history of joins, kills, exits and closes under random requests.
 */
struct peer_churn {
	uint64_t seed;
	int rounds;
	uint64_t run;                                /* requests on each link, in each round */
	struct proc *(*start)(int i, uint64_t seed); /* the i-th peer, of PEER_CHURNERS */
};
enum { PEER_CHURNERS = 6 };
void peer_churn(const struct peer_churn *churn);

/* A test that has a port of its own and leaves no child behind. */
#define PEER_TEST(test) cmocka_unit_test_setup_teardown(test, peer_setup, proc_end_all)
int peer_setup(void **state);
/* The address of the running test's port. */
extern const char *peer_address;

#endif
