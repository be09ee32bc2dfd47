/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/xfer.h - one transfer, as both of its ends see it: the TCP connection, the queue pair, and
 * a buffer of slots of one chunk each, which are used in turn.
 *
 * Functions return 0 (or a count) or -errno. An error leaves a sentence in why; `theirs` says that
 * it came from the peer, which then need not be told.
 */
#ifndef TOOLS_XFER_H
#define TOOLS_XFER_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/link.h"
#include "tools/net.h"
#include "tools/xfer_proto.h"

#define XFER_CHUNK_BYTES (256u << 10)
#define XFER_SLOTS       16u
#define XFER_WHY         640
/* For a step of the handshake. */
#define XFER_ANSWER_MS 10000
/* The longest sleep: what only TCP or a signal tells is noticed this late. */
#define XFER_SLEEP_MS 100

struct xfer {
	struct link *link;
	struct net_conn conn;
	const char *peer; /* "sender" or "receiver": who is at the other end */
	uint32_t chunk_bytes;
	uint32_t slots; /* of this end's buffer */
	uint32_t peer_slots;
	uint32_t timeout_s; /* give up after so long without any progress */
	uint64_t moved_ns;  /* when there last was some */
	bool theirs;
	char why[XFER_WHY];
};

/* xfer_fail - puts the sentence into why and returns err. */
int xfer_fail(struct xfer *xfer, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int xfer_send(struct xfer *xfer, enum xfer_type type, const void *payload, int len_bytes);
/*
 * xfer_receive - the next message. -ECANCELED: the peer said ABORT, why has its sentence;
 * timeout_ms 0 only looks: -EAGAIN.
 */
int xfer_receive(struct xfer *xfer, struct frame *frame, int timeout_ms);
/* xfer_expect - the next message, which has to be of that type. */
int xfer_expect(struct xfer *xfer, enum xfer_type type, int timeout_ms, struct frame *frame);
/* xfer_abort - tells the peer why, if it need be told and can be. */
void xfer_abort(struct xfer *xfer);

/* xfer_hello - makes the queue pair, exchanges HELLO, connects. */
int xfer_hello(struct xfer *xfer);
/* xfer_post - posts and rings one entry. */
int xfer_post(struct xfer *xfer, const struct rig_entry *entry);
int xfer_post_receive(struct xfer *xfer, uint64_t offset_bytes, uint32_t len_bytes);
/* xfer_poll - completions, as link_poll; a failed one is an error with the peer's reason if it gave
 * one. */
int xfer_poll(struct xfer *xfer, struct rig_wc *wc, int max, int timeout_ms);

/* xfer_moved - there was progress. xfer_stalled - -ETIMEDOUT if there was none for too long, -EINTR
 * if a signal wants the end; else 0. */
void xfer_moved(struct xfer *xfer);
int xfer_stalled(struct xfer *xfer);

static inline uint8_t *xfer_slot(const struct xfer *xfer, uint64_t count)
{
	return xfer->link->buf + count % xfer->slots * XFER_CHUNK_BYTES;
}

/* "<64 digits>  <name>", as sha256sum prints it, on stdout. */
void xfer_print_digest(const uint8_t digest[static XFER_DIGEST_BYTES], const char *name);

#endif
