/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/perf_proto.h - what the two ends of `rig5 perf` say to each other over TCP (frame.h):
 *
 *   client                           target
 *   HELLO   its region          ->
 *                               <-   HELLO   its region
 *   TEST    what, its endpoint  ->
 *                               <-   READY   its endpoint; it is connected, its receives are posted
 *   [the test, over a queue pair of its own]
 *   VERIFY  messages            ->           only while writes are checked, as often as needed
 *                               <-   RESULT  wrong bytes in them
 *   FINISH                      ->
 *                               <-   RESULT  wrong bytes in the whole test
 *   ... the next TEST, or the end of the connection
 * Pure: no I/O, and hostile bytes end in -EPROTO.
 */
#ifndef TOOLS_PERF_PROTO_H
#define TOOLS_PERF_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_VERSION        1
#define PERF_BYTES_MAX      512 /* of any payload */
#define PERF_ENDPOINT_MAX   127
#define PERF_SIZE_MAX       (64u << 20)
#define PERF_DEPTH_MAX      2048u
#define PERF_ITERATIONS_MAX 1000000000u
/* Of one half of a region. */
#define PERF_HALF_MAX (256ull << 20)

enum perf_type {
	PERF_HELLO = 1,
	PERF_TEST,
	PERF_READY,
	PERF_VERIFY,
	PERF_FINISH,
	PERF_RESULT,
};

enum perf_op { PERF_WRITE, PERF_READ, PERF_SEND, PERF_OP_COUNT };
enum perf_kind { PERF_LATENCY, PERF_BANDWIDTH, PERF_KIND_COUNT };

/* One region of two halves: the first is where this end's data comes from, the second where the
 * peer's goes to. The peer writes and reads the second. */
struct perf_hello {
	uint64_t half_bytes;
	uint64_t addr; /* of the second half */
	uint32_t key;
};

struct perf_test {
	enum perf_op op;
	enum perf_kind kind;
	bool check;
	uint32_t size_bytes;
	uint32_t iterations; /* that are measured */
	uint32_t warm_up;    /* iterations before them */
	uint32_t depth;      /* messages under way */
};

/*
 * Encoders write at most PERF_BYTES_MAX bytes and return the length. Decoders return 0 or -EPROTO;
 * -EPROTONOSUPPORT: a HELLO of another version. Endpoint texts are those of rig_endpoint_print.
 */
int perf_encode_hello(const struct perf_hello *hello, uint8_t payload[static PERF_BYTES_MAX]);
int perf_decode_hello(const uint8_t *payload, size_t len_bytes, struct perf_hello *hello);
int perf_encode_test(const struct perf_test *test, const char *endpoint,
		     uint8_t payload[static PERF_BYTES_MAX]);
int perf_decode_test(const uint8_t *payload, size_t len_bytes, struct perf_test *test,
		     char endpoint[static PERF_ENDPOINT_MAX + 1]);
int perf_encode_ready(const char *endpoint, uint8_t payload[static PERF_BYTES_MAX]);
int perf_decode_ready(const uint8_t *payload, size_t len_bytes,
		      char endpoint[static PERF_ENDPOINT_MAX + 1]);
/* The messages [first, first + count) of a test. */
int perf_encode_verify(uint32_t first, uint32_t count, uint8_t payload[static PERF_BYTES_MAX]);
int perf_decode_verify(const uint8_t *payload, size_t len_bytes, uint32_t *first, uint32_t *count);
int perf_encode_result(uint64_t wrong_bytes, uint8_t payload[static PERF_BYTES_MAX]);
int perf_decode_result(const uint8_t *payload, size_t len_bytes, uint64_t *wrong_bytes);

#endif
