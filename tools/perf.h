/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/perf.h - one `rig5 perf` session: a client that measures and a target that answers, with a
 * queue pair of its own for each test. Functions return 0 or -errno with a sentence in perf->why.
 *
 * Each end has one region of two halves: tx, where its data comes from, and rx, where the peer's
 * goes to.
 */
#ifndef TOOLS_PERF_H
#define TOOLS_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/link.h"
#include "tools/net.h"
#include "tools/perf_proto.h"

#define PERF_WHY 512

struct perf {
	struct link link;
	struct net_conn conn;
	const char *peer; /* "client" or "target", for messages */
	bool passive;     /* a target that only waits sleeps: its NIC's own thread answers */
	uint64_t half_bytes;
	uint8_t *tx, *rx;
	struct rig_remote peer_rx;
	uint32_t inline_max; /* longest message that is sent inline */

	/* The test under way. Message i lives at place (i % places) * stride of a half. */
	struct perf_test test;
	uint32_t places, stride_bytes;
	uint32_t window;                      /* messages under way at most */
	uint64_t entries_done, receives_done; /* completions so far */
	uint32_t credits;                     /* of a sender: receives the peer has free */
	uint64_t wrong_bytes;
	uint32_t idle_polls;
	uint64_t idle_ns; /* when it was last found idle with no progress since; 0: not */
	char why[PERF_WHY];
};

/* A measured line: microseconds, or messages and bytes in a time. */
struct perf_row {
	struct perf_test test;
	double min_us, typical_us, p99_us;
	double mib_per_s, messages_per_us;
	uint64_t wrong_bytes;
	uint64_t retransmits; /* packets of this end sent again; 0 if the NIC cannot tell */
};

/* perf_run.c: sessions */
int perf_fail(struct perf *perf, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The client's end of a session over a connection: HELLO, then one call for each test. */
int perf_client_start(struct perf *perf, const char *nic_name, uint64_t half_bytes);
int perf_client_test(struct perf *perf, const struct perf_test *test, struct perf_row *row);
/* The target's end, whole: returns 0 when the client closed the connection after its last test. */
int perf_target_run(struct perf *perf, const char *nic_name);
void perf_end(struct perf *perf);
/* perf_verify_remote - the target's count of wrong bytes in messages that were written to it. */
int perf_verify_remote(struct perf *perf, uint32_t first, uint32_t count);

/* perf_post.c: what the tests are made of */
uint8_t *perf_place(const struct perf *perf, uint8_t *half, uint32_t index);
/* Posts message `index` of the test; perf_ring hands over what was posted. */
int perf_post(struct perf *perf, uint32_t index, bool signal);
int perf_post_credit(struct perf *perf, uint32_t credits);
int perf_ring(struct perf *perf);
/* A receive for message `index`; an empty one, for credit. */
int perf_post_receive(struct perf *perf, uint32_t index);
int perf_post_empty_receive(struct perf *perf);
/*
 * perf_drain - polls once and counts what completed. The number of completions, 0 after a short
 * pause if there are none; an error if one failed, the peer is gone, nothing moved for long, or a
 * signal came.
 */
int perf_drain(struct perf *perf);

/* perf_lat.c: samples has room for test.iterations */
int perf_latency_client(struct perf *perf, uint64_t *samples);
int perf_latency_target(struct perf *perf);
/* perf_bw.c: *ticks is the time from the first post to the last completion */
int perf_bandwidth_client(struct perf *perf, uint64_t *ticks);
int perf_bandwidth_target(struct perf *perf);

/* perf_print.c */
void perf_print_title(const struct perf *perf, const struct perf_test *test);
void perf_print_row(const struct perf_row *row);
void perf_print_json(const struct perf *perf, const struct perf_row *rows, size_t count);

#endif
