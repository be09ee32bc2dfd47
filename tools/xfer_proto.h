/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/xfer_proto.h - what `rig5 send` and `rig5 recv` say to each other: messages over TCP
 * (frame.h) in this order, and the files' bytes over a reliable queue pair.
 *
 *   sender                         receiver
 *   HELLO  its endpoint      ->
 *                            <-    HELLO   its endpoint; receives are posted after this
 *   OFFER  names and sizes   ->
 *                            <-    ACCEPT  every receive is posted now
 *   [RDMA: each file in pieces of chunk_bytes, one send each; a file's last one is shorter]
 *                            <-    [RDMA: an empty send whose immediate is the receives posted
 * again] DIGEST of each file      ->            as soon as it is known, in the order of the offer
 *                            <-    DONE    every digest matched and every file has its name
 * Either side may say ABORT with a sentence at any time, and is gone after it.
 *
 * A sender has credit for one send per receive; `slots` in the receiver's HELLO is what it starts
 * with. A chunk is the smaller of both chunk_bytes. Pure: no I/O, and hostile bytes end in -EPROTO.
 */
#ifndef TOOLS_XFER_PROTO_H
#define TOOLS_XFER_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define XFER_VERSION 1

#define XFER_FILES_MAX    4096
#define XFER_NAME_MAX     255 /* bytes; as NAME_MAX */
#define XFER_ENDPOINT_MAX 127
#define XFER_ABORT_MAX    500
#define XFER_DIGEST_BYTES 32 /* SHA-256 */
#define XFER_CHUNK_MIN    512
#define XFER_CHUNK_MAX    (16u << 20)
#define XFER_SLOTS_MIN    2
#define XFER_SLOTS_MAX    256
/* The largest payload of an OFFER, and of any other message. */
#define XFER_OFFER_BYTES_MAX (4 + XFER_FILES_MAX * (8 + 4 + 2 + XFER_NAME_MAX))
#define XFER_SMALL_BYTES_MAX 512

enum xfer_type {
	XFER_HELLO = 1,
	XFER_OFFER,
	XFER_ACCEPT,
	XFER_DIGEST,
	XFER_DONE,
	XFER_ABORT,
};

struct xfer_hello {
	uint32_t chunk_bytes;
	uint32_t slots;
	char endpoint[XFER_ENDPOINT_MAX + 1]; /* rig_endpoint_print's text */
};

struct xfer_file {
	uint64_t size_bytes;
	uint32_t mode; /* permission bits, within 0777 */
	char name[XFER_NAME_MAX + 1];
};

/*
 * The encoders write a payload of at most `size` bytes and return its length, or -EMSGSIZE; the
 * decoders return 0 (the offer's: the count of files, at least 1), or -EPROTO           the payload
 * is malformed, or a value is out of its bounds -EPROTONOSUPPORT  a HELLO of another version
 */
int xfer_encode_hello(const struct xfer_hello *hello, uint8_t *payload, size_t size);
int xfer_decode_hello(const uint8_t *payload, size_t len_bytes, struct xfer_hello *hello);

int xfer_encode_offer(const struct xfer_file *files, uint32_t count, uint8_t *payload, size_t size);
/*
 * files has room for XFER_FILES_MAX. Names are checked as xfer_name_problem does, no two are the
 * same, and the sizes together are below 2^63.
 */
int xfer_decode_offer(const uint8_t *payload, size_t len_bytes, struct xfer_file *files);

int xfer_encode_digest(uint32_t index, const uint8_t digest[static XFER_DIGEST_BYTES],
		       uint8_t *payload, size_t size);
int xfer_decode_digest(const uint8_t *payload, size_t len_bytes, uint32_t *index,
		       uint8_t digest[static XFER_DIGEST_BYTES]);

int xfer_encode_done(uint32_t count, uint8_t *payload, size_t size);
int xfer_decode_done(const uint8_t *payload, size_t len_bytes, uint32_t *count);

/* A longer sentence is cut. */
int xfer_encode_abort(const char *why, uint8_t *payload, size_t size);
int xfer_decode_abort(const uint8_t *payload, size_t len_bytes,
		      char why[static XFER_ABORT_MAX + 1]);

/*
 * xfer_name_problem - NULL if the len bytes at name may name a file in the receiver's directory:
 * one path component, neither "." nor "..", no NUL, no control character; else what is wrong, in
 * words.
 */
const char *xfer_name_problem(const char *name, size_t len_bytes);
/* xfer_duplicate_name - the index of a file that has the name of another one, or -1. Sorts nothing.
 */
int xfer_duplicate_name(const struct xfer_file *files, uint32_t count);

#endif
