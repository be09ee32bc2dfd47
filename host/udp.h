/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp.h - the wire to other hosts: RoCE v2 in UDP datagrams, port 4791.
 *
 * Sending: packets to one destination, of one size (the last may be shorter), with the same traffic
 * class and hop limit, make a batch, which the kernel cuts into datagrams (UDP_SEGMENT); batches go
 * out together (sendmmsg). A flow's packets go through one of some sockets, each bound to a source
 * port of its own from 0xC000 up, so that routers see several flows.
 * Receiving: one socket per process, bound to the port's address with SO_REUSEPORT. The kernel may
 * join datagrams of one flow and size again (UDP_GRO).
 *
 * ECN: the two bits are the NIC's (nic_traffic_class), the DSCP is the path's. What the bits of a
 * packet that comes in say, the NIC is told, also if datagrams were joined: only such with the same
 * bits are.
 *
 * Descriptors: each is open under the same number in two tables, the application's and that of the
 * port's own threads (host/port.h). Should the application close or replace its ones, that is
 * noticed before they are used again, and the port's own threads do all the work from then on.
 *
 * Hot: datagrams are expected, so every pass looks into the socket (a system call). Cold: no pass
 * looks; an epoll descriptor becomes readable when there is something (once: EPOLLONESHOT), which
 * wakes the port thread.
 *
 * Threads: one owner at a time (the port's lock), except where a function says otherwise.
 */
#ifndef HOST_UDP_H
#define HOST_UDP_H

#include "host/addr.h"
#include "host/seal.h"
#include "host/udp_group.h"
#include "nic/nic.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HOST_UDP_FLOWS = 8, /* sockets to send from */
	HOST_UDP_RX = HOST_UDP_FLOWS,
	HOST_UDP_EPOLL,
	HOST_UDP_FDS,
	HOST_UDP_BATCHES = 64,
	HOST_UDP_HELD_MAX = 8,
	HOST_UDP_SEGMENTS = 64,   /* of a batch [udp(7): UDP_MAX_SEGMENTS] */
	HOST_UDP_BATCH_BYTES = 65000,
	HOST_UDP_TX_BYTES = 320 * 1024,
	HOST_UDP_WINDOW_BYTES = 512 * 1024,
};

#define HOST_UDP_COUNTERS(X)                                                                    \
	X(tx_packets)                                                                           \
	X(tx_bytes) X(tx_batches) X(tx_calls) X(tx_full) X(tx_drop) X(tx_single) X(rx_packets)  \
	    X(rx_bytes) X(rx_calls) X(rx_datagrams) X(rx_drop_malformed) X(rx_drop_icrc)        \
		X(rx_drop_address) X(rx_handed_on) X(rx_drop_nobody)

struct host_udp_counters {
#define X(name) uint64_t name;
	HOST_UDP_COUNTERS(X)
#undef X
};

/* A packet that came in: what the NIC gets, and what was around it. */
struct host_udp_packet {
	struct nic_rx rx;
	uint8_t sgid[16];
	uint16_t udp_sport;
	struct host_seal_found ip;
	bool first; /* of its message: the one whose queue pair the kernel looked at */
};

struct udp_batch {
	uint32_t off; /* of its first byte */
	uint32_t bytes;
	uint32_t segment_bytes; /* of each but the last, with ICRC */
	uint16_t count;
	uint16_t flow;
	bool closed; /* its last segment is shorter */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t block; /* of the destination queue pairs: the process that they belong to */
	uint8_t dgid[16];
};

struct udp_tx {
	uint8_t *bytes;
	uint32_t used;
	uint32_t first; /* batches before it are sent */
	uint32_t count;
	bool blocked; /* the kernel had no room */
	uint32_t held;  /* batches from the first on that host_udp_hold held */
	bool acks_only; /* nothing but acknowledgements waits */
	bool open;    /* a reservation */
	bool fresh;   /* it begins a batch */
	uint32_t open_bytes;
	struct udp_batch next; /* the batch it begins */
	struct host_seal seal; /* of the last batch */
	struct udp_batch batches[HOST_UDP_BATCHES];
};

/* From which index of the group the wrong datagrams come: host/group.h. */
struct host_udp_learnt {
	uint32_t version; /* of the program that was last seen */
	uint64_t empties; /* rx_empties when it was first seen: what it did comes after the next */
	uint32_t index;
	uint32_t count; /* of datagrams in a row that say so */
	uint32_t total; /* wrong datagrams since the group was last put right */
};

struct udp_rx;
struct udp_messages;

struct host_udp {
	bool opened; /* its descriptors are */
	int open_error; /* why they are not */
	bool up;     /* bound: packets go out and come in */
	bool ipv4;
	bool segments; /* segmentation offload works */
	uint8_t gid[16];
	struct host_interface interface;
	int fds[HOST_UDP_FDS];
	uint64_t cookies[HOST_UDP_FDS]; /* [SO_COOKIE] which socket each is */
	uint64_t checked_ns[HOST_UDP_FDS];
	bool rx_closed;        /* host_udp_close_rx was here */
	bool app_closed;       /* we closed the application's descriptors */
	_Atomic bool app_lost; /* it did, or we */
	bool own_table;
	uint16_t sports[HOST_UDP_FLOWS];
	uint32_t window_bytes; /* of one queue pair that may be under way; see nic_env */
	_Atomic bool hot;
	_Atomic bool regroup; /* the group's program is out of date, or wrong */
	uint64_t regroup_ns;  /* when it was last put right */
	struct host_udp_learnt learnt;
	uint64_t rx_empties; /* how often the receive socket was found empty */
	uint64_t busy_ns; /* when something last came or went */
	struct host_udp_groups groups;
	struct udp_tx tx;
	struct udp_messages *messages; /* for sendmmsg */
	struct udp_rx *rx;
	struct host_udp_counters counters;
};

/* ---- life ------------------------------------------------------------------------------------ */

/* host_udp_init - a wire without descriptors. */
void host_udp_init(struct host_udp *udp);

/*
 * host_udp_open - makes the descriptors, for an address as text (NULL: IPv4). In the application's
 * table. 0 or -errno; then nothing is open, and the wire stays down.
 */
int host_udp_open(struct host_udp *udp, const char *address);

/*
 * host_udp_prepare - takes source ports at the address gid, and all but the RoCE port [port's own
 * table]. 0, or -errno: the wire stays down, as it does if nothing was opened. *interface is known
 * either way.
 * host_udp_bind_rx - takes the RoCE port; the wire is up. 0 or -errno. For host/group.h.
 */
int host_udp_prepare(struct host_udp *udp, const uint8_t gid[static 16], bool own_table);
int host_udp_bind_rx(struct host_udp *udp);

/*
 * host_udp_close_app - closes the application's descriptors, by one of its threads.
 * host_udp_close_rx - closes the receive socket in the table it runs in; the wire is down.
 * host_udp_close - closes all in the port's own table, if it runs in that, and frees the memory.
 */
void host_udp_close_app(struct host_udp *udp);
void host_udp_close_rx(struct host_udp *udp);
void host_udp_close(struct host_udp *udp);

/* ---- packets --------------------------------------------------------------------------------- */

/* As nic_env.tx_reserve; len at most ROCE_HEADERS_MAX_BYTES + ROCE_MTU_MAX_BYTES. */
uint8_t *host_udp_reserve(struct host_udp *udp, const struct nic_path *path, uint32_t dqpn,
			  size_t len);
/* host_udp_commit - seals the packet and puts it on its way. corrupt_bit: -1, or the bit of the
 * packet to turn after it was sealed. */
void host_udp_commit(struct host_udp *udp, int32_t corrupt_bit);
void host_udp_cancel(struct host_udp *udp);

/* What will be around the packet of the open reservation. */
struct host_udp_around {
	uint16_t udp_sport;
	uint16_t ip_id;
};
struct host_udp_around host_udp_around(const struct host_udp *udp);

/*
 * host_udp_flush - sends what was committed. false: something is left, because the kernel has no
 * room now, or because this thread may not send.
 */
bool host_udp_flush(struct host_udp *udp, uint64_t now_ns);

/* host_udp_hold - what was committed goes with the next flush, behind what comes until then. */
void host_udp_hold(struct host_udp *udp);

struct host_udp_limit {
	uint32_t packets;
	uint32_t bytes;
};
/*
 * host_udp_receive - hands about limit->packets packets whose ICRC is right to take, which must be
 * done with them when it returns; how many. 0 if this thread may not receive.
 */
uint32_t host_udp_receive(struct host_udp *udp, const struct host_udp_limit *limit, uint64_t now_ns,
			  void (*take)(void *ctx, const struct host_udp_packet *packet), void *ctx);

/* ---- hot and cold ---------------------------------------------------------------------------- */

static inline bool host_udp_hot(const struct host_udp *udp)
{
	return atomic_load_explicit(&udp->hot, memory_order_relaxed);
}

/* host_udp_heat - every pass looks from now on. Any thread. */
static inline void host_udp_heat(struct host_udp *udp)
{
	atomic_store(&udp->hot, true);
}

/* host_udp_cool - no pass looks; whatever is or comes in the socket makes the epoll descriptor
 * readable. false: this thread may not do that. */
bool host_udp_cool(struct host_udp *udp, uint64_t now_ns);

/* host_udp_woken - takes the event from the epoll descriptor; true if there was one [own table]. */
bool host_udp_woken(struct host_udp *udp);

/* ---- inside ---------------------------------------------------------------------------------- */

/* Which socket a descriptor is; those that a child of fork closes. */
uint64_t host_udp_cookie(int fd);
void host_udp_fork_watch(int fd, uint64_t cookie);
void host_udp_fork_unwatch(int fd);
void host_udp_buffer_sizes(int fd);
/* host_udp_rx_options - what every receiving socket has. */
bool host_udp_rx_options(const struct host_udp *udp, int fd);
/* host_udp_still_there - whether the application still has that socket at fd; looked at once a
 * millisecond. If not, the port's own threads do all the work from now on. */
bool host_udp_still_there(struct host_udp *udp, int fd, uint64_t cookie, uint64_t *checked_ns,
			  uint64_t now_ns);
/* host_udp_may_use - whether fds[which] is still what it was, in the table of this thread. */
bool host_udp_may_use(struct host_udp *udp, int which, uint64_t now_ns);
int host_udp_rx_init(struct host_udp *udp);
int host_udp_tx_init(struct host_udp *udp);

#endif
