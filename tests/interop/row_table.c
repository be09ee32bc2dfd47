/* SPDX-License-Identifier: BSD-2-Clause */
/* row_table.c - the rows of the interop tests. */
#include "tests/interop/rows.h"

#define EVERY_MTU(words, which)                                             \
	{.name = words ", MTU 256", .op = (which), .mtu_bytes = 256},       \
	    {.name = words ", MTU 512", .op = (which), .mtu_bytes = 512},   \
	    {.name = words ", MTU 1024", .op = (which), .mtu_bytes = 1024}, \
	    {.name = words ", MTU 2048", .op = (which), .mtu_bytes = 2048}, \
	    {.name = words ", MTU 4096", .op = (which), .mtu_bytes = 4096}, \
	{                                                                   \
		.name = words ", IPv6", .op = (which), .family = SIDE_IPV6  \
	}

/* Eight messages of 25 packets (of all lengths) or 8 packets (atomics) wrap in any case. */
#define PSN_WRAP(words, which)                                              \
	{                                                                   \
		.name = words ", PSN wraps", .op = (which), .psn = 0xfffffc \
	}

/* A request to memory that may not be touched. */
#define DENIED(words, which)                                                                    \
	{.name = words ", unknown key",                                                         \
	 .op = (which),                                                                         \
	 .kind = ROW_KEY_UNKNOWN,                                                               \
	 .status = RIG_REMOTE_ACCESS},                                                          \
	    {.name = words ", key without the right",                                           \
	     .op = (which),                                                                     \
	     .kind = ROW_KEY_BARE,                                                              \
	     .status = RIG_REMOTE_ACCESS},                                                      \
	{                                                                                       \
		.name = words ", past the end of the region", .op = (which), .kind = ROW_RANGE, \
		.status = RIG_REMOTE_ACCESS                                                     \
	}

#define NOT_READY(words, which)                                                                  \
	{.name = words ", receiver not ready", .op = (which), .kind = ROW_RNR},                  \
	{                                                                                        \
		.name = words ", receiver never ready", .op = (which), .kind = ROW_RNR_EXCEEDED, \
		.status = RIG_RNR_EXCEEDED                                                       \
	}

#define SHARED(words, which, special)                                                     \
	{                                                                                 \
		.name = words ", shared receive queue", .op = (which), .kind = (special), \
		.shared = true                                                            \
	}

/* What is not acknowledged. */
#define UNACKED(words, service_, which)                                                          \
	{.name = words, .service = (service_), .op = (which)},                                   \
	    {.name = words ", MTU 256", .service = (service_), .op = (which), .mtu_bytes = 256}, \
	{                                                                                        \
		.name = words ", IPv6", .service = (service_), .op = (which),                    \
		.family = SIDE_IPV6                                                              \
	}

/* Linux answers a message over its receive with "remote operational error" and says that its own
 * queue pair was at fault; a ConnectX and the specification say "invalid request" [rxe]. */
#define TOO_LONG(words, which, special)                                                     \
	{                                                                                   \
		.name = (words), .op = (which), .kind = (special),                          \
		.status = RIG_REMOTE_INVALID_REQUEST, .status_linux = RIG_REMOTE_OPERATION, \
		.receive = RIG_LOCAL_LENGTH, .receive_linux = RIG_LOCAL_QP_OPERATION        \
	}

const struct row rows[] = {
    EVERY_MTU("SEND", SIDE_SEND),
    EVERY_MTU("SEND with immediate", SIDE_SEND_IMM),
    EVERY_MTU("WRITE", SIDE_WRITE),
    EVERY_MTU("WRITE with immediate", SIDE_WRITE_IMM),
    EVERY_MTU("READ", SIDE_READ),
    EVERY_MTU("all in turn", SIDE_OP_COUNT),
    {.name = "compare and swap", .op = SIDE_CAS},
    {.name = "compare and swap, IPv6", .op = SIDE_CAS, .family = SIDE_IPV6},
    {.name = "fetch and add", .op = SIDE_FAA},
    {.name = "fetch and add, IPv6", .op = SIDE_FAA, .family = SIDE_IPV6},
    PSN_WRAP("SEND", SIDE_SEND),
    PSN_WRAP("WRITE with immediate", SIDE_WRITE_IMM),
    PSN_WRAP("READ", SIDE_READ),
    PSN_WRAP("compare and swap", SIDE_CAS),
    PSN_WRAP("fetch and add", SIDE_FAA),
    PSN_WRAP("all in turn", SIDE_OP_COUNT),
    NOT_READY("SEND", SIDE_SEND),
    NOT_READY("WRITE with immediate", SIDE_WRITE_IMM),
    DENIED("WRITE", SIDE_WRITE),
    DENIED("READ", SIDE_READ),
    DENIED("compare and swap", SIDE_CAS),
    DENIED("fetch and add", SIDE_FAA),
    TOO_LONG("SEND longer than its receive", SIDE_SEND, ROW_TOO_LONG),
    TOO_LONG("SEND with immediate longer than its receive", SIDE_SEND_IMM, ROW_TOO_LONG),
    TOO_LONG("SEND of packets, longer than its receive", SIDE_SEND, ROW_TOO_LONG_PACKETS),
    UNACKED("UC SEND", SIDE_UC, SIDE_SEND),
    UNACKED("UC SEND with immediate", SIDE_UC, SIDE_SEND_IMM),
    UNACKED("UC WRITE", SIDE_UC, SIDE_WRITE),
    UNACKED("UC WRITE with immediate", SIDE_UC, SIDE_WRITE_IMM),
    UNACKED("UD SEND", SIDE_UD, SIDE_SEND),
    UNACKED("UD SEND with immediate", SIDE_UD, SIDE_SEND_IMM),
    {.name = "UC SEND, PSN wraps", .service = SIDE_UC, .op = SIDE_SEND, .psn = 0xfffffc},
    SHARED("SEND", SIDE_SEND, ROW_PLAIN),
    SHARED("SEND with immediate", SIDE_SEND_IMM, ROW_PLAIN),
    SHARED("WRITE with immediate", SIDE_WRITE_IMM, ROW_PLAIN),
    SHARED("all in turn", SIDE_OP_COUNT, ROW_PLAIN),
    SHARED("SEND, receiver not ready", SIDE_SEND, ROW_RNR),
};

const unsigned int row_count = sizeof(rows) / sizeof(rows[0]);
