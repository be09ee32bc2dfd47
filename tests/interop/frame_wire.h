/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_wire.h - a wire for the core that ends in another machine: whole Ethernet frames, one in
 * each datagram of a socket, as QEMU's `-netdev dgram` takes and gives them.
 *
 * Ours is the station 52:54:00:77:00:01 with the addresses 10.77.0.1 and fd77::1. It answers ARP
 * requests and neighbor solicitations for them, and learns from those where the other station is.
 * What is under the core's BTH (Ethernet, IPv4 or IPv6, UDP, ICRC) is made and checked here; the
 * faults of either direction hit RoCE packets only. Time is the monotonic clock's.
 *
 * The core is NIC 0 of a fake_world; that world's queue is what it wants to send. One thread.
 */
#ifndef TESTS_INTEROP_FRAME_WIRE_H
#define TESTS_INTEROP_FRAME_WIRE_H

#include "abi/roce_frame.h"
#include "fault/fault.h"
#include "tests/support/fake_nic.h"

enum {
	FRAME_BYTES = ROCE_ETH_BYTES + ROCE_IPV6_BYTES + ROCE_UDP_BYTES + ROCE_BTH_BYTES +
		      ROCE_ATOMIC_BYTES + ROCE_MTU_MAX_BYTES + ROCE_ICRC_BYTES + 64,
	FRAME_HELD_MAX = 16,
	FRAME_LOG_LINES = 128,
	FRAME_LOG_BYTES = 330,
};

struct frame_wire;

/* One direction's bad luck. */
struct frame_way {
	const char *name;
	struct fault fault;
	/* Puts a frame on its way for good. */
	void (*forward)(struct frame_wire *wire, const uint8_t *frame, size_t len_bytes);
	struct frame_held {
		size_t len_bytes; /* 0: free */
		uint32_t behind;
		uint64_t until_ns; /* when it goes even if nothing overtakes it */
		uint8_t bytes[FRAME_BYTES];
	} held[FRAME_HELD_MAX];
};

struct frame_wire {
	struct fake_world *world;
	int fd;
	uint8_t station[6]; /* the other one's address */
	uint16_t ip_id;
	struct frame_way out, in;
	uint64_t sent, received; /* RoCE packets, before the faults */
	uint64_t icrc_wrong;     /* of those that were not corrupted here */
	uint64_t broken;         /* frames to us that make no sense */
	uint64_t answered;       /* ARP requests and solicitations */
	uint64_t logged;         /* lines so far; the last of them are here */
	char log[FRAME_LOG_LINES][FRAME_LOG_BYTES];
};

extern const uint8_t frame_wire_gids[2][16]; /* IPv4, IPv6 */

/* frame_wire_open - binds the datagram socket `local` and sends to `remote`, both paths. */
void frame_wire_open(struct frame_wire *wire, struct fake_world *world, const char *local,
		     const char *remote);
void frame_wire_close(struct frame_wire *wire);

/* frame_wire_faults - from now on; NULL: none. What was held back is gone. */
void frame_wire_faults(struct frame_wire *wire, const struct fault_config *out,
		       const struct fault_config *in);

/* frame_wire_print_log - the last packets and what happened to them, a line each, on stdout; and
 * forgets them. */
void frame_wire_print_log(struct frame_wire *wire);

/*
 * frame_wire_until - lets the core and its peer run until fd (-1: none) can be read, stop(ctx)
 * (NULL: never) is true, or timeout_ms has passed.
 */
void frame_wire_until(struct frame_wire *wire, int fd, bool (*stop)(void *ctx), void *ctx,
		      unsigned int timeout_ms);

#endif
