/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faulty.h - the wires made bad: drops, doubles, delays and corrupts what is sent, as fault/ says.
 *
 * For tests and for trying out what an application does on a bad network:
 * RIG5_FAULT="drop=5%,seed=1". A corrupted packet has a wrong ICRC, and is dropped where it
 * arrives; on the local wire, which has none, it is not delivered. A reordered packet waits until
 * enough others have been sent; if none are, it is as good as lost.
 *
 * A marked packet says that it met congestion, if it says that it may (ECT), which only packets
 * over UDP do: then it goes out with the other ECN bits.
 *
 * A slow wire holds FAULT_QUEUE_MAX packets; with so many under way it has no room for more, and
 * the NIC waits. Each goes out when a pass finds that its time has come, so later by what a thread
 * takes to wake up, if none polls. A bottleneck is such a wire; what its queue has no room for is
 * dropped. What is under way when the port is left goes out early.
 *
 * One owner at a time (the port's lock).
 */
#ifndef HOST_FAULTY_H
#define HOST_FAULTY_H

#include "fault/fault.h"
#include "fault/queue.h"
#include "host/wire.h"

struct host_faulty_held {
	struct nic_path path;
	uint32_t dqpn;
	uint32_t len_bytes; /* 0: none */
	uint32_t behind;    /* packets to go before this one */
	int32_t corrupt_bit; /* to be turned; -1: none */
	uint64_t due_ns;
	uint8_t bytes[SHM_PACKET_BYTES_MAX];
};

struct host_faulty {
	struct host_wire *wire;
	struct fault fault;
	struct nic_path path; /* of the open reservation */
	uint32_t dqpn;
	size_t len_bytes;
	uint8_t *room;
	struct host_faulty_held held[FAULT_BEHIND_MAX];
	struct fault_queue queue; /* of what is in `slow` */
	struct host_faulty_held slow[FAULT_QUEUE_MAX];
};

/* host_faulty_init - faults as text says, for what is sent through *wire. -EINVAL: *wrong is the
 * offset of the word that is not understood. */
int host_faulty_init(struct host_faulty *faulty, struct host_wire *wire, const char *text,
		     size_t *wrong);

/* As host_wire_reserve and _commit; host_wire_cancel stays as it is. What leads nowhere is not
 * judged. */
uint8_t *host_faulty_reserve(struct host_faulty *faulty, const struct nic_path *path, uint32_t dqpn,
			     size_t len);
void host_faulty_commit(struct host_faulty *faulty, uint64_t now_ns);

/* host_faulty_run - sends what is through the slow wire by now_ns, as far as there is room. */
void host_faulty_run(struct host_faulty *faulty, uint64_t now_ns);
/* host_faulty_due_ns - when host_faulty_run has something to send; UINT64_MAX: never. */
uint64_t host_faulty_due_ns(const struct host_faulty *faulty);

#endif
