/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.h - a queue pair that is its own peer, in a child: what it posts moves bytes within the
 * process, through the NIC. For tests of one process that do what the API rightly forbids.
 */
#ifndef TESTS_SUPPORT_LOOP_H
#define TESTS_SUPPORT_LOOP_H

#include "lib/lib.h"
#include "nic/nic.h"
#include "tests/support/peer.h"

enum {
	LOOP_ENTRIES = 16,
	LOOP_RECEIVES = 4,
	LOOP_CQE = 64,
	LOOP_BYTES = 4 * 4096, /* of the region: page-aligned */
	LOOP_WAIT_MS = 4000,
};

struct loop {
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_region *region;
	uint8_t *mem;
	struct rig_local local;   /* all of it */
	struct rig_remote remote; /* likewise */
};

/* loop_open - on peer.nic, connected to itself; the peer may do `access`. A verb's result. */
int loop_open(struct loop *loop, enum rig_access access);
/* loop_close - destroys it all and unmaps the memory. */
int loop_close(struct loop *loop);

/* loop_raw - puts blocks 64-byte blocks of an entry into the send ring as they are, except for the
 * index and the number in them, and rings. They must not wrap. */
void loop_raw(struct loop *loop, const void *blocks, unsigned int count);

/* loop_post - posts and rings an entry. loop_write - a signalled write of len_bytes from offset 0
 * to offset `to` of the region. */
int loop_post(struct loop *loop, const struct rig_entry *entry);
int loop_write(struct loop *loop, uint32_t to, uint32_t len_bytes);
/* loop_next - the next completion. */
int loop_next(struct loop *loop, struct rig_wc *wc);

/* loop_works - shows that a new loop moves bytes: nothing else of the process was harmed. */
int loop_works(void);

/* loop_event - waits for an event of kind, others are dropped. */
int loop_event(struct rig_nic *nic, enum rig_event_kind kind, struct rig_event *event);

/* loop_counters - the software NIC's counters, as they go on. loop_counted - as they are now.
 * loop_port - the port that it is on. */
const struct nic_counters *loop_counters(const struct rig_nic *nic);
struct nic_counters loop_counted(const struct rig_nic *nic);
struct host_port;
struct host_port *loop_port(const struct rig_nic *nic);

#endif
