/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.h - what an interop test does, as a table: each row is some messages from one side to the
 * other, and how they must end. A row runs in both roles and over each kind of wire.
 */
#ifndef TESTS_INTEROP_ROWS_H
#define TESTS_INTEROP_ROWS_H

#include "tests/interop/side.h"

/* What is special about a row. In all but the first two the second of three messages is the bad
 * one, and those behind it must be flushed. */
enum row_kind {
	ROW_PLAIN,        /* eight messages, of lengths around packet boundaries */
	ROW_RNR,          /* receives come late: the asking side waits and tries again */
	ROW_RNR_EXCEEDED, /* they never come */
	ROW_KEY_UNKNOWN,
	ROW_KEY_BARE,         /* a key without the right */
	ROW_RANGE,            /* runs past the region's end */
	ROW_TOO_LONG,         /* a message longer than its receive */
	ROW_TOO_LONG_PACKETS, /* the same, of several packets, the first of which fits */
};

struct row {
	const char *name;
	enum side_op op; /* SIDE_OP_COUNT: all in turn */
	enum side_service service; /* UC and UD: over a good wire, on the NIC's core only */
	enum row_kind kind;
	uint32_t mtu_bytes; /* 0: 1024 */
	enum side_family family;
	bool shared;  /* rig5 answers, with its receives in an SRQ; runs on the NIC's core only */
	uint32_t psn; /* where both sides start; 0: 0x123 and 0x456 */
	enum rig_status status;       /* of the bad message */
	enum rig_status status_linux; /* the same where Linux answers; RIG_OK: no difference */
	enum rig_status receive;      /* of the bad message's receive, if it has one */
	enum rig_status receive_linux;
};

extern const struct row rows[];
extern const unsigned int row_count;

struct row_run {
	struct side *asks, *answers;
	const struct row *row;
	bool loses; /* packets may get lost on the way, or overtake others */
};

/* row_abandon - after a row that failed: its queue pairs go. */
void row_abandon(void);

/* row_play - runs a row, and fails the running test unless all ended as it must, with every byte
 * in place on both sides. */
void row_play(const struct row_run *run);

#endif
