/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/hasher.h - SHA-256 of a sequence of files in a thread of its own, so that it runs beside
 * the transfer: one owner pushes pieces in order, and looks at how many are done before it reuses
 * their memory.
 *
 * Threads: one owner calls all of these.
 */
#ifndef TOOLS_HASHER_H
#define TOOLS_HASHER_H

#include <stddef.h>
#include <stdint.h>

#define HASHER_DIGEST_BYTES 32

struct hasher;

/* 0; -ENOMEM, -EAGAIN (no thread), or -ENOTSUP: the cryptography library has no SHA-256. */
int hasher_create(struct hasher **hasher);
/* Waits for the piece in hand, drops the rest, ends the thread. NULL is allowed. */
void hasher_destroy(struct hasher *hasher);

/* hasher_push - one more piece of the current file; data must stay as it is until hasher_pieces
 * counts it. Waits while 512 jobs are queued. */
void hasher_push(struct hasher *hasher, const void *data, size_t len_bytes);
/* hasher_finish - the file ends here: its digest goes to digest, which hasher_files then counts. */
void hasher_finish(struct hasher *hasher, uint8_t digest[static HASHER_DIGEST_BYTES]);

/* Pieces and files that are done; what was written for them is visible. */
uint64_t hasher_pieces(struct hasher *hasher);
uint64_t hasher_files(struct hasher *hasher);
/* hasher_wait - until more is done than the owner last saw through the two above, or timeout_ms
 * passed. */
void hasher_wait(struct hasher *hasher, int timeout_ms);

#endif
