/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig5.h - a lean driver for NVIDIA/Mellanox ConnectX (mlx5) network adapters, and for the software
 * NIC that stands in for one where there is none.
 *
 * A program opens a NIC, registers memory regions, makes a completion queue and queue pairs,
 * connects each queue pair to one of a peer, and then moves data with stores to memory:
 *
 *     rig_open("soft0", &nic);                      a NIC: "mlx5_0" is hardware, "soft0" software
 *     rig_region_create(nic, buf, len, RIG_REMOTE_ALL, &region);
 *     rig_cq_create(nic, 256, &cq);
 *     rig_qp_create(cq, 64, 64, &qp);
 *     rig_qp_endpoint(qp, &mine);                   send it to the peer, get the peer's
 *     rig_qp_connect(qp, RIG_REMOTE_ALL, &theirs, NULL);
 *     rig_qp_post(qp, &entry); rig_qp_ring(qp);     a write, read, send or atomic
 *     rig_cq_poll(cq, wc, 16);                      its completion
 *
 * Beside these reliable queue pairs there are datagram ones, which send to any number of others by
 * an address handle: rig_qp_create_with, rig_qp_start, rig_ah_create. And receives that queue pairs
 * share: rig_srq_create.
 *
 * Errors. Every int function returns 0 or a count, or a negative errno: -EINVAL for the caller's
 * mistake (nothing was changed, no byte of a ring was touched), -EAGAIN for a full ring, any other
 * for what the kernel or the machine refused. rig_error() then has a sentence for a person. Outputs
 * come last and are written only on success. A failed work request is not a failed call: it is a
 * completion with a status.
 *
 * Threads. Every function may be called from any thread, but of each of these groups one call runs
 * at a time: post, receive, ring, room and index of one queue pair; receive, room and index of one
 * shared receive queue; poll and arm of one completion queue; wait of one NIC. A queue pair may be
 * posted to, or destroyed, while another thread polls its completion queue. Else no call may be
 * under way on an object that is being destroyed, or on a NIC that is being closed. Nothing here
 * may be called from a signal handler. A child after fork uses none of its parent's NICs: calls on
 * them return -EPERM there and do no harm.
 *
 * Ownership. A NIC owns its regions, queues, queue pairs and address handles: rig_close destroys
 * them all, and each may be destroyed earlier, once. Application memory stays the
 * application's: it must stay mapped while a region names it.
 *
 * Pointers. rig_qp_post, _receive and _ring, rig_srq_receive, rig_cq_poll and _arm, whose cost is
 * counted in instructions, take no NULL; all others answer it with -EINVAL, or with 0 where a
 * number is unsigned.
 *
 * Failures. A request that fails takes its queue pair with it: what was posted behind it, and all
 * receives of its own, complete as RIG_FLUSHED, and nothing more is run. Of a datagram queue pair
 * that is true of entries and receives apart; see struct rig_qp_options for streams. Destroy the
 * queue pair, make another, exchange endpoints and connect again; regions and the completion queue
 * stay good.
 *
 * Cost. On hardware rig_qp_post, _receive, _ring, rig_srq_receive, rig_cq_poll and _arm make no
 * system call, take no lock and allocate nothing. On the software NIC the pass that they lend may
 * wake a peer. Numbers, rooms, pieces and texts are arithmetic on memory; every other call takes
 * the NIC's lock and asks the kernel.
 *
 * Source. What requests, completions and states mean: [IBTA1 10, 11]; their bytes: [mlx5dv.h]; the
 * commands to the kernel: [uapi ib_user_ioctl_verbs.h]. docs/SOURCES.md of the source tree says
 * what these stand for.
 */
#ifndef RIG5_H
#define RIG5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library hides all that is not declared here. */
#pragma GCC visibility push(default)

struct rig_nic;
struct rig_region;
struct rig_cq;
struct rig_qp;
struct rig_srq;
struct rig_ah;

/*
 * rig_error - a sentence about the last call that failed on this thread: what was asked, and the
 * bound or the reason the kernel gave. Never NULL; empty if none failed yet. Valid until this
 * thread's next failing call.
 */
const char *rig_error(void);

/* ==== NICs ==================================================================================== */

#define RIG_NAME_MAX 64

enum rig_link { RIG_LINK_ETHERNET, RIG_LINK_INFINIBAND };

/*
 * A port's address. On Ethernet the 16 bytes of a RoCE v2 GID, network order: an IPv6 address, or
 * an IPv4 one mapped into IPv6 (::ffff:a.b.c.d). On InfiniBand a local identifier.
 */
struct rig_address {
	enum rig_link link;
	uint16_t lid;	 /* InfiniBand; 0 on Ethernet */
	uint8_t gid[16]; /* Ethernet; zero on InfiniBand, but see rig_ah_create */
};

struct rig_nic_info {
	char name[RIG_NAME_MAX];
	char bus[RIG_NAME_MAX];	 /* PCI address, or "software" */
	bool software;
	bool port_active;	 /* false: nothing can be connected until the port comes up */
	enum rig_link link;
	struct rig_address address;  /* what endpoints of this NIC carry */
	uint32_t gid_index;	     /* of that address; 0 on InfiniBand */
	uint32_t mtu_bytes;	     /* the port's active MTU */
	uint64_t message_max_bytes;  /* largest message of one entry */
	uint32_t entries_max;	     /* largest send ring, in slots of 64 bytes */
	uint32_t receives_max;	     /* largest receive ring, in receives */
	uint32_t cqe_max;	     /* largest completion queue, in completions */
	uint32_t inline_max_bytes;   /* most inline data of one write; a send takes 16 more, a
					datagram 32 less */
	uint32_t pieces_max;	     /* most pieces of one entry */
	uint32_t receive_pieces_max; /* most pieces of one receive */
	uint64_t rate_bps;	     /* the port's speed; 0: not known */
	char firmware[32];
};

/*
 * rig_names - the names of the NICs that this machine has, hardware first, then software.
 *   names  array of at least max; [0, n) is written, terminated strings.
 * Returns how many there are, which may be more than max; -EINVAL. No privilege is needed. A
 * RIG5_SOFT that cannot be understood names no software NIC: rig_open says what is wrong with it.
 */
int rig_names(char (*names)[RIG_NAME_MAX], int max);

/*
 * rig_open - a NIC, open.
 *   name  the kernel's name ("mlx5_0") or a software NIC's ("soft0"); NULL: the first of rig_names.
 * Returns 0, or
 *   -ENODEV      no such NIC: see rig_names
 *   -EACCES      no permission on its verbs file: the message names the file and its group
 *   -EADDRINUSE  the software NIC's address belongs to another user
 *   -EPROTO      programs with another version of this library share the software NIC's port
 *   -EUSERS      256 programs share it already
 *   -ETIMEDOUT   programs that share it do not answer, as they are stopped
 *   -EINVAL      RIG5_SOFT, see rig5(7), cannot be understood
 *   -EOPNOTSUPP  the kernel or the adapter is too old: the message says what it lacks
 *   -ENOMEM      memory, or the RLIMIT_MEMLOCK, does not suffice: the message says which
 * Opening the same NIC twice gives two independent NICs. Cost: milliseconds.
 */
int rig_open(const char *name, struct rig_nic **nic);

/*
 * rig_close - closes a NIC and all that was made of it. Once it returns the NIC touches no memory
 * of this process. Later calls with it, or with what was made of it, return -EINVAL; a second close
 * returns 0 and does nothing. The handle itself is never reused for another NIC.
 */
int rig_close(struct rig_nic *nic);

/*
 * rig_nic_info - the NIC's limits, and its port's state and address as they are now. 0 or -errno.
 */
int rig_nic_info(struct rig_nic *nic, struct rig_nic_info *info);

/* ==== Memory regions ========================================================================== */

/* What a peer may do to a region, or through a queue pair. Each includes the ones before it. */
enum rig_access {
	RIG_LOCAL,	  /* nothing: only this process's own entries and receives use it */
	RIG_REMOTE_WRITE, /* write */
	RIG_REMOTE_ALL,	  /* write, read and atomics */
};

/*
 * A piece of a region, as this process's entries and receives name it. Any part of it may be named
 * by a copy with a larger addr and a smaller len_bytes: the NIC checks against the region.
 */
struct rig_local {
	uint64_t addr;
	uint32_t len_bytes;
	uint32_t key;
};

/*
 * A piece of a region, as a peer's entries name it: plain data in this host's byte order, to be
 * sent to the peer. An entry names byte i of the piece as remote_addr = addr + i. len_bytes is for
 * the peer's program: what the NIC checks is the region.
 */
struct rig_remote {
	uint64_t addr;
	uint64_t len_bytes;
	uint32_t key;
};

/*
 * rig_region_create - a region of host memory, [addr, addr + len_bytes), that the NIC may read and
 * write and that a peer may use as `access` says.
 * Returns 0, or
 *   -EINVAL  len_bytes is 0, the range wraps, or access is not one of the enum
 *   -EFAULT  not all of it is mapped (and writable)
 *   -ENOMEM  RLIMIT_MEMLOCK is too low (the message gives it and what is needed), or memory is
 *            short
 * The memory must stay mapped until the region is destroyed.
 */
int rig_region_create(struct rig_nic *nic, void *addr, size_t len_bytes, enum rig_access access,
		      struct rig_region **region);

/*
 * rig_region_create_dmabuf - a region of a dma-buf: len_bytes from offset_bytes of fd. Peers and
 * entries name its bytes by pieces of rig_region_local and _remote only: they have no address here.
 * The fd stays the caller's and may be closed at once. The software NIC maps the buffer, and
 * synchronizes its processor's accesses with it (DMA_BUF_IOCTL_SYNC).
 * -EINVAL: fd is no dma-buf, or the bytes are not all in it; len_bytes is 0; access is not one of
 * the enum. -EBADF: no descriptor. -EOPNOTSUPP: this NIC cannot use it; of the software NIC, a
 * buffer that the processor cannot map, as a GPU's. -ENOMEM: as rig_region_create.
 */
int rig_region_create_dmabuf(struct rig_nic *nic, int fd, uint64_t offset_bytes, uint64_t len_bytes,
			     enum rig_access access, struct rig_region **region);

/*
 * rig_region_destroy - the region's keys are void once it returns 0, and its memory may be
 * unmapped. Entries under way that name it, this process's or a peer's, complete with an error. An
 * error is the kernel's refusal: the region is as it was.
 */
int rig_region_destroy(struct rig_region *region);

/*
 * rig_region_local / rig_region_remote - the piece [offset, offset + len) of a region.
 * -EINVAL: it is not inside the region (also when offset + len overflows), or, for local, len is
 * over 2^31 - 1. An empty piece is allowed anywhere in [0, size].
 */
int rig_region_local(const struct rig_region *region, uint64_t offset_bytes, uint64_t len_bytes,
		     struct rig_local *local);
int rig_region_remote(const struct rig_region *region, uint64_t offset_bytes, uint64_t len_bytes,
		      struct rig_remote *remote);

/* ==== Completion queues ======================================================================= */

enum rig_kind {
	RIG_WC_ENTRY,	/* of what rig_qp_post took */
	RIG_WC_RECEIVE, /* of what rig_qp_receive took: a message, or a write with imm, arrived */
	RIG_WC_UNKNOWN, /* status is RIG_UNEXPECTED */
};

/* Each but RIG_OK and RIG_UNEXPECTED means that the queue pair has failed: see Failures above. */
enum rig_status {
	RIG_OK,
	RIG_LOCAL_LENGTH,	    /* longer than its receive, or than the transport carries */
	RIG_LOCAL_QP_OPERATION,	    /* an entry the NIC cannot execute */
	RIG_LOCAL_PROTECTION,	    /* a local piece's key, range or right is wrong */
	RIG_FLUSHED,		    /* the queue pair failed before the NIC ran it */
	RIG_MW_BIND,		    /* memory windows: this library makes none */
	RIG_BAD_RESPONSE,	    /* the peer's NIC answered what was not asked */
	RIG_LOCAL_ACCESS,	    /* a peer's write with imm hit a protection error here */
	RIG_REMOTE_INVALID_REQUEST, /* the peer cannot execute it (or its receive was too short) */
	RIG_REMOTE_ACCESS,	    /* the remote key, range or right is wrong */
	RIG_REMOTE_OPERATION,	    /* the peer's NIC failed to execute it */
	RIG_RETRY_EXCEEDED,	    /* the peer did not acknowledge: gone, or another address */
	RIG_RNR_EXCEEDED,	    /* the peer had no receive for too long */
	RIG_REMOTE_ABORTED,	    /* the peer's NIC gave it up */
	RIG_UNEXPECTED,		    /* of a kind, operation or syndrome that this library does not
				       know; it frees no slot */
};

enum rig_wc_flags {
	RIG_WC_IMM_F = 1 << 0,	/* imm is valid */
	RIG_WC_GRH_F = 1 << 1,	/* UD: the first 40 bytes of the receive hold the GRH */
	RIG_WC_IPV4_F = 1 << 2, /* UD: and that is an IPv4 header, in the last 20 of them */
};

/* One completion. */
struct rig_wc {
	uint32_t qp;		/* rig_qp_number of the queue pair */
	uint16_t index;		/* the entry's or receive's rig_qp_index, modulo 2^16; of a
				   shared receive its rig_srq_index */
	uint8_t kind;		/* enum rig_kind */
	uint8_t status;		/* enum rig_status */
	uint8_t op;		/* of an entry, its enum rig_op; of a receive: RIG_SEND, or
				   RIG_WRITE with imm */
	uint8_t flags;		/* enum rig_wc_flags */
	union {
		__extension__ struct {
			uint8_t syndrome; /* the NIC's, 0 on success [mlx5dv.h mlx5_err_cqe] */
			uint8_t vendor_syndrome;
		};
		uint16_t source_lid; /* UD on InfiniBand, on success */
	};
	uint32_t len_bytes;	/* receives, reads and atomics: bytes that arrived. UD: with the 40
				   in front, see rig_qp_start */
	uint32_t imm;		/* host order */
	uint32_t source_qp;	/* UD, DC: the sender's */
	uint64_t time_ticks;	/* the NIC's clock, of a rate that is not known here; 0: none */
};

/*
 * rig_cq_create - a completion queue with room for at least cqe_count completions (1 to 2^22,
 * rounded up to a power of two). Returns 0, or
 *   -EINVAL  not 1 to 2^22
 *   -ERANGE  more than this NIC holds: the message names its bound
 *   -ENOMEM  RLIMIT_MEMLOCK is too low, or memory is short; else what the kernel said
 */
int rig_cq_create(struct rig_nic *nic, int cqe_count, struct rig_cq **cq);

/*
 * rig_cq_poll - the completions that have arrived, oldest first.
 *   wc   array of at least max; [0, n) is written, the rest is left alone.
 *   max  1 to 65535.
 * Returns n (0: none yet); -EINVAL: max is not; -ENODEV: the NIC is gone, and nothing but destroy
 * and close will work. Poll to 0 before giving up what completions refer to.
 * A request that fails completes even when it asked for no completion [IBTA1 10.7.3.1].
 * Memory: what the NIC wrote for wc[i] is visible when the call returns.
 * Cost: no system call, lock or allocation; one cache line read when empty.
 */
int rig_cq_poll(struct rig_cq *cq, struct rig_wc *wc, int max);

/*
 * rig_cq_arm - asks for one event (rig_wait) at the next completion. If completions arrived since
 * the last poll the event comes at once: none is lost between a poll that found nothing and the
 * arm. One arm is one event: arm again after each. To sleep: arm; poll, and do not sleep if that
 * finds something; then rig_wait, or rig_fd's order. Returns 0, -EINVAL or -ENODEV.
 */
int rig_cq_arm(struct rig_cq *cq);

/* rig_cq_destroy - 0; -EBUSY: a queue pair or shared receive queue of it lives; -EINVAL; or the
 * kernel's error. */
int rig_cq_destroy(struct rig_cq *cq);

/*
 * rig_wc_text - a completion as one line for people ("queue pair 0x4011 entry 12 (write): remote
 * access error (0x88): ..."). Writes at most size bytes, terminated; returns the line's whole
 * length. 256 bytes hold any.
 * rig_status_text - the status alone, in a few words that stay valid; never NULL.
 */
int rig_wc_text(const struct rig_wc *wc, char *text, size_t size);
const char *rig_status_text(enum rig_status status);

/*
 * rig_wc_source - the address that a datagram came from, for a handle that answers it. grh: the
 * first 40 bytes of its receive. 0; -EINVAL: no datagram's completion, or one of no success.
 */
int rig_wc_source(const struct rig_wc *wc, const void *grh, struct rig_address *source);

/* ==== Queue pairs ============================================================================= */

/*
 * What a peer needs to connect to a queue pair: plain data in this host's byte order, to be sent to
 * it by any means; rig_endpoint_print makes a text of it.
 */
struct rig_endpoint {
	uint32_t qp;		/* its number, 24 bits */
	uint32_t psn;		/* the packet sequence number it starts at, 24 bits */
	struct rig_address address;
	uint32_t mtu_bytes;	/* its port's active MTU */
	uint32_t ece;		/* rig_qp_ece */
};

/*
 * An endpoint as one word that a person can paste into another terminal, and back.
 * rig_endpoint_print needs RIG_ENDPOINT_TEXT bytes and returns the length; rig_endpoint_parse takes
 * surrounding white space and returns 0, or -EINVAL with a message that says what is wrong.
 */
#define RIG_ENDPOINT_TEXT 128
int rig_endpoint_print(const struct rig_endpoint *endpoint, char *text, size_t size);
int rig_endpoint_parse(const char *text, struct rig_endpoint *endpoint);

/*
 * rig_qp_create - an unconnected reliable queue pair of cq's NIC.
 *   entries   room of the send ring in 64-byte slots, >= 1, rounded up to a power of two. An entry
 *             takes one slot, or more if it has much inline data or many pieces (rig_entry_slots).
 *   receives  room of the receive ring, rounded up to a power of two no smaller than 4; 0: no
 *             receive ring, and so no messages: the peer only reads and writes this process's
 *             regions.
 * Completions of both rings go to cq. It starts at a random packet sequence number.
 * Returns 0, or
 *   -EINVAL  entries < 1, receives < 0, or the queue pairs of cq together (rounded) would hold more
 *            than cq does
 *   -ERANGE  more than the NIC holds, or than 2^15: the message names the bound
 *   -ENOSPC  the NIC has no room for another queue pair
 *   -ENOMEM  the rings cannot be allocated; else what the kernel said
 */
int rig_qp_create(struct rig_cq *cq, int entries, int receives, struct rig_qp **qp);

enum rig_transport {
	RIG_RC, /* reliable: connected to one other by rig_qp_connect */
	RIG_UD, /* datagrams: messages of up to the port's MTU to any other, that may be lost */
	/*
	 * Dynamically connected (DC): an initiator's entries are reliable, as RIG_RC's, and each
	 * names the target that it is for. A target takes those of any number of initiators. The
	 * packets between software NICs are of their own making: a card understands none of them.
	 */
	RIG_DC_INITIATOR,
	RIG_DC_TARGET, /* has no send ring: 0 entries. Its receives are shared ones */
};

/* What a queue pair may be beside the default. Clear it, then set what is wanted. */
struct rig_qp_options {
	enum rig_transport transport;
	struct rig_srq *srq; /* takes receives from there: it has none of its own; NULL: does not */
	uint64_t dc_key;     /* DC target: what an entry has to name */
	/*
	 * DC initiator: an entry that fails takes those of its stream with it, and no others, until
	 * 2^failed_streams_log2 of them have failed: then the queue pair has. streams: there are
	 * any; streams_log2: how many run at once. See rig_qp_reset_stream.
	 */
	bool streams;
	uint8_t streams_log2;
	uint8_t failed_streams_log2;
};

/*
 * rig_qp_create_with - rig_qp_create, and a queue pair of these options; NULL: the defaults. Its
 * receives complete to the completion queue of a shared receive queue, if it has one. Returns as
 * rig_qp_create does; -EINVAL also: no such transport, receives beside a shared receive queue, or
 * what the transport does not have. -EOPNOTSUPP: this NIC or kernel has no DC.
 */
int rig_qp_create_with(struct rig_cq *cq, int entries, int receives,
		       const struct rig_qp_options *options, struct rig_qp **qp);

/*
 * rig_qp_number - the number that its completions and events name; 0 if qp is none.
 * rig_qp_endpoint - what its peer needs to connect to it; the address is the port's as it is now. 0
 * or -errno.
 */
uint32_t rig_qp_number(const struct rig_qp *qp);
int rig_qp_endpoint(const struct rig_qp *qp, struct rig_endpoint *endpoint);

/* How to reach the peer, where the defaults do not do. Zero: the default of each. */
struct rig_path {
	bool gid_index_set;
	uint8_t gid_index;	/* source GID */
	uint8_t dscp;		/* 6 bits; the ECN bits belong to the NIC */
	uint8_t hop_limit;	/* 0: 64 */
	uint32_t flow_label;	/* 20 bits; 0: from the queue pair numbers; a handle's: random */
	uint8_t service_level;	/* 0 to 15; Ethernet: the frame's priority, 0 to 7 */
};

/*
 * rig_qp_connect - connects qp to the peer's queue pair, at the smaller of both ports' MTUs, and
 * makes it ready to receive and to send.
 *   access  what the peer may do to this process's regions through qp, whatever they allow beyond.
 *   path    NULL: the defaults.
 * A request that the peer does not acknowledge is retried 7 times, each after 67 ms (Ethernet) or
 * 1.07 s (InfiniBand), and its entry then fails with RIG_RETRY_EXCEEDED. The NIC may wait longer,
 * up to four times [IBTA1 9.7.6.1.3]; the software NIC does between hosts, for 1.8 s in all. A
 * send that finds no receive is retried without end; this side asks its peer to wait 0.64 ms
 * between tries. Both sides connect, in any order; what one side posts before the other has
 * connected is not acknowledged, so that the retries bound how long the other may take. peer may be
 * qp's own endpoint: it is then its own peer, and moves bytes within this process, through the NIC,
 * as access allows. Returns 0, or
 *   -EINVAL    connected already, an address of the other link layer, or an endpoint or path that
 *              cannot be
 *   -ENETDOWN  the port is down
 *   -EADDRNOTAVAIL  the port has no RoCE v2 address, and path names none
 *   or the kernel's error: qp is then reset and may be connected again.
 */
int rig_qp_connect(struct rig_qp *qp, enum rig_access access, const struct rig_endpoint *peer,
		   const struct rig_path *path);

/* How a queue pair comes up that has no one peer. Clear it, then set what its transport needs. */
struct rig_start {
	uint32_t qkey; /* UD: of datagrams that it takes. Above 2^31: for the privileged */
	enum rig_access access; /* DC target: what initiators may do to this process's regions */
	struct rig_path path;   /* DC target: of its answers */
};

/*
 * rig_qp_start - makes a datagram queue pair ready to receive and to send. It takes a datagram that
 * carries its qkey and finds a receive; others are lost without a trace, here and at the sender,
 * and so is one that is longer than its receive, which stays for the next. The first 40 bytes of a
 * receive are for what was around the packet: a GRH, an IPv6 header, or 20 bytes and an IPv4
 * header. The message is behind them, whatever they hold. Returns 0, or
 *   -EINVAL    started already, a queue pair that rig_qp_connect is for, or an access or path
 *              that cannot be
 *   -ENETDOWN  the port is down
 *   or the kernel's error: qp is then reset and may be started again; not so a DC target.
 * A DC target has no number before.
 */
int rig_qp_start(struct rig_qp *qp, const struct rig_start *start);

/*
 * rig_qp_attach, rig_qp_detach - a datagram queue pair gets what is sent to a multicast group (as
 * rig_ah_create has it, queue pair number 0xffffff) and carries its qkey, from itself, too; or no
 * more. It may be a member of several. 0; -EINVAL: no group's address, no datagram queue pair, or,
 * for detach, no member; -ENOMEM: the NIC has no room for another; or the kernel's error.
 */
int rig_qp_attach(struct rig_qp *qp, const struct rig_address *group);
int rig_qp_detach(struct rig_qp *qp, const struct rig_address *group);

/*
 * Enhanced connection establishment (ECE): two ends agree on what both can do; by that a software
 * NIC chooses the congestion control of a queue pair. Endpoints carry an end's word of options, and
 * rig_qp_connect agrees on what both have, whichever connects first. What a card means by its bits
 * is not public, they are passed on as they are.
 *
 * rig_qp_ece - before a queue pair is connected or started, what it offers; afterwards, what was
 * agreed on; 0: nothing, so the port's default holds.
 * rig_qp_set_ece - the word of the other end, for one that does not come in an endpoint: a program
 * on verbs (vendor 0x15b3; it sets rig_qp_ece's after the connection in return), or
 * rig_ece_prefer's for a datagram queue pair. It takes effect with rig_qp_connect, in place of the
 * endpoint's, or rig_qp_start. 0; -EINVAL: connected or started already; -EOPNOTSUPP: this NIC or
 * kernel has none.
 */
uint32_t rig_qp_ece(const struct rig_qp *qp);
int rig_qp_set_ece(struct rig_qp *qp, uint32_t ece);

enum rig_cc {
	RIG_CC_NONE,
	RIG_CC_DCQCN, /* slows down when packets come marked by switches */
	RIG_CC_RTT,   /* slows down when they take longer */
};

/*
 * rig_ece_prefer - of what `ece` offers, an offer of this algorithm alone; 0: it cannot, or is no
 * software NIC's word.
 * rig_ece_cc - the algorithm that was agreed on; RIG_CC_NONE also if that cannot be seen.
 */
uint32_t rig_ece_prefer(uint32_t ece, enum rig_cc algorithm);
enum rig_cc rig_ece_cc(uint32_t ece);

enum rig_ring { RIG_RING_SEND, RIG_RING_RECEIVE };

/*
 * rig_qp_room - slots that a ring takes before it is full; -EINVAL. A send slot is free again once
 * a completion of its entry, or of a later one, was polled; a receive's once its own was. 0 for the
 * receive ring of a queue pair that has none.
 */
int rig_qp_room(const struct rig_qp *qp, enum rig_ring ring);

/*
 * rig_qp_index - the index that the next entry or receive will have: the count of slots used so
 * far, modulo 2^16. Its completion names it. A ring of n slots never has two of the same index
 * modulo n, so an array of n elements, indexed by index & (n - 1), holds what a program keeps per
 * request; n is what rig_qp_room says of a new queue pair. An entry of several slots has the index
 * of its first. 0 if qp is none.
 */
uint16_t rig_qp_index(const struct rig_qp *qp, enum rig_ring ring);

/* Only a send, or a write with RIG_IMM_F, takes a receive of the peer and so shows there. */
enum rig_op {
	RIG_WRITE,	  /* to the peer's region */
	RIG_READ,	  /* from the peer's region */
	RIG_SEND,	  /* a message, into the peer's next receive */
	RIG_FETCH_ADD,	  /* 8 bytes of the peer's region: adds to them */
	RIG_COMPARE_SWAP, /* 8 bytes of the peer's region: replaces them if they equal compare */
};

enum rig_entry_flags {
	/*
	 * A completion when it is done. Without it the entry's slots come free with the next
	 * completion behind it: a ring in which no entry asks for one fills up for good.
	 */
	RIG_SIGNAL_F = 1 << 0,
	RIG_FENCE_F = 1 << 1, /* starts after earlier reads and atomics of this queue pair ended */
	RIG_SOLICITED_F = 1 << 2, /* for peers on verbs that wait for it; rig_cq_arm takes any */
	RIG_INLINE_F = 1 << 3,	  /* the data is inline_data, copied now; write and send only */
	RIG_IMM_F = 1 << 4, /* carries imm; write and send only. Takes a receive of the peer */
};

/*
 * One work request. Clear it, then set what the operation needs. A datagram queue pair sends only,
 * and has ah, remote_qp and remote_qkey in addition; a DC initiator does any operation, and has ah,
 * remote_qp, the target's number, and remote_dc_key.
 *   write, send  inline_data and inline_len_bytes, or pieces (gathered in order)
 *   read         pieces (scattered in order)
 *   atomics      one piece of 8 bytes that gets the old value, remote 8-byte aligned; memory is in
 *                host order at both ends
 * An empty piece, and an entry without any, is allowed: a message of 0 bytes.
 */
struct rig_entry {
	uint8_t op;		/* enum rig_op */
	uint8_t flags;		/* enum rig_entry_flags */
	uint16_t piece_count;
	uint32_t imm;		/* host order */
	union {
		const struct rig_local *pieces;
		const void *inline_data;
	};
	uint32_t inline_len_bytes;
	uint32_t remote_key;
	uint64_t remote_addr;	/* write, read, atomics; see rig_remote */
	uint64_t add_or_swap;	/* fetch-and-add: addend; compare-and-swap: new value */
	uint64_t compare;	/* compare-and-swap */
	struct rig_ah *ah;	/* datagrams, DC; else NULL, and zero what follows */
	uint32_t remote_qp;	/* 24 bits; of a multicast group: 0xffffff */
	uint32_t remote_qkey;	/* UD; bit 31 set: the queue pair's own */
	uint64_t remote_dc_key; /* DC: the target's */
	uint32_t stream;	/* DC, with streams: 16 bits */
};

/* rig_entry_slots - the 64-byte slots of an entry; -EINVAL: no queue pair could take it. */
int rig_entry_slots(const struct rig_entry *entry);

/*
 * rig_qp_post - writes one entry into the send ring. The NIC runs it after the next rig_qp_ring.
 * entry, its pieces and inline data may be reused at once; the memory that pieces name once it
 * completed. Keys, ranges and rights are the NIC's to check: those show as a completion's status.
 * Returns 0; -EAGAIN: the ring has no room for it, so ring, poll and try again; -EINVAL: not
 * connected, over the port's largest message (of a datagram: its MTU) or 2^31 - 1 bytes, over the
 * inline or piece limit, a field set that is not supported, or a handle that is none of this NIC.
 */
int rig_qp_post(struct rig_qp *qp, const struct rig_entry *entry);

/*
 * rig_qp_receive - posts one receive, of up to local->len_bytes, for the peer's next message that
 * no earlier receive took. The NIC may fill it as soon as the call returns. rig_qp_receive_pieces:
 * into several pieces in order. Returns 0; -EAGAIN: full, until a receive's completion was polled;
 * -EINVAL: not connected (a receive is posted after rig_qp_connect), no receive ring, bad pieces.
 */
int rig_qp_receive(struct rig_qp *qp, const struct rig_local *local);
int rig_qp_receive_pieces(struct rig_qp *qp, const struct rig_local *pieces, int piece_count);

/*
 * rig_qp_ring - hands the NIC all entries posted since the last ring; nothing if there are none. 0,
 * or -EINVAL: not connected. Receives need no ring.
 */
int rig_qp_ring(struct rig_qp *qp);

/*
 * rig_qp_reset_stream - lets a stream of a DC initiator that has failed run again: entries that are
 * posted from now on. Poll until the completions of those before have come. Returns 0; -EINVAL: the
 * stream has not failed, or the queue pair has, or it has no streams; -EOPNOTSUPP: this NIC or
 * kernel takes no commands; or what else it refuses with.
 */
int rig_qp_reset_stream(struct rig_qp *qp, uint32_t stream);

/*
 * rig_qp_destroy - destroys qp and frees its rings, also when it returns an error. Once it returns
 * 0 the NIC runs none of its entries and touches no memory for it, and its completions that were
 * not polled are gone. The peer's entries fail after their retries. An error is the kernel's
 * refusal: its completions then keep their room in the completion queue until the NIC closes.
 */
int rig_qp_destroy(struct rig_qp *qp);

/* ==== Shared receive queues =================================================================== */

enum { RIG_SRQ_PIECES_MAX = 3 };

/*
 * rig_srq_create - receives for any number of queue pairs (rig_qp_create_with): each message takes
 * the oldest one. Whoever takes it, it completes to cq, with the number of the queue pair.
 *   receives  room for at least so many, >= 1; rounded up to one less than a power of two.
 * Returns 0, or
 *   -EINVAL  receives < 1, or cq has no room for the completions of so many (rounded)
 *   -ERANGE  more than the NIC holds: the message names the bound
 *   -ENOMEM  the ring cannot be allocated; else what the kernel said
 */
int rig_srq_create(struct rig_cq *cq, int receives, struct rig_srq **srq);

/*
 * rig_srq_receive - posts one receive, into the pieces in order (at most RIG_SRQ_PIECES_MAX that
 * are not empty). The NIC may fill it as soon as the call returns. Queue pairs of it need not be
 * connected yet. 0; -EAGAIN: full, until a receive's completion was polled; -EINVAL: bad pieces.
 */
int rig_srq_receive(struct rig_srq *srq, const struct rig_local *pieces, int piece_count);

/*
 * rig_srq_room - receives that it takes before it is full; -EINVAL.
 * rig_srq_index - the index that the next receive will have, and its completion names: a slot of
 * the ring, less than the power of two it was rounded to. Slots are used again in the order in
 * which they were completed. 0 if srq is none.
 */
int rig_srq_room(const struct rig_srq *srq);
uint16_t rig_srq_index(const struct rig_srq *srq);

/*
 * rig_srq_limit - asks for one RIG_EVENT_SRQ_LIMIT (rig_wait) when fewer than this many receives
 * are left that no message took; at once if it is so already. 0 asks for none. One call is one
 * event. 0; -EINVAL: below 0, or over its room; or the kernel's error.
 */
int rig_srq_limit(struct rig_srq *srq, int receives);

/*
 * rig_srq_destroy - once it returns 0 the NIC touches no memory for its receives. -EBUSY: a queue
 * pair of it lives; -EINVAL; or the kernel's error: it is as it was.
 */
int rig_srq_destroy(struct rig_srq *srq);

/* ==== Address handles ========================================================================= */

/*
 * rig_ah_create - a handle of the port or multicast group at `address`: where an entry of a
 * datagram queue pair goes. Any number of entries and queue pairs of this NIC may use it.
 *   address  Ethernet: a GID; the kernel resolves its MAC address. A group's: ff00::/8, or an IPv4
 *            one of 224.0.0.0/4 mapped into IPv6. InfiniBand: a LID, or a group's; with the GID set
 *            the packets have a global route, too, which a group needs.
 *   path     NULL: the defaults. A flow label of 0 gives the handle a UDP source port at random.
 * Returns 0, or
 *   -EINVAL         an address of the other link layer, or an address or path that cannot be
 *   -EADDRNOTAVAIL  the port has no RoCE v2 address, and path names none
 *   -ENOMEM         memory is short
 *   or the kernel's error: it has no route to the address, or no neighbour answers there.
 */
int rig_ah_create(struct rig_nic *nic, const struct rig_address *address,
		  const struct rig_path *path, struct rig_ah **ah);

/*
 * rig_ah_destroy - 0, also while entries that used it are under way: each has the address in it.
 * -EINVAL; an error of the kernel: the handle is as it was.
 */
int rig_ah_destroy(struct rig_ah *ah);

/*
 * rig_ah_map_to_qp - what datagram and dynamically connected queue pairs send to the handle's place
 * has, from now on, the congestion control that queue pair qp_num has agreed on by ECE; so a queue
 * pair may have another one for each destination.
 *   qp_num  a queue pair of this NIC, in any context of the process. What it agreed on is copied
 *           now: set or exchange ECE before. Afterwards it may be destroyed.
 * The mapping lives until the handle is destroyed. Of several handles to one place (service level,
 * own GID, remote GID) the mapping that was made first rules. A handle that is mapped stays as it
 * is, whatever qp_num. Returns 0, or
 *   -EOPNOTSUPP  the handle has no global route (InfiniBand), or the NIC does not map handles
 *   -EINVAL      there is no such queue pair
 *   -EAGAIN      the NIC has no room for another; or what else it or the kernel refuses with
 */
int rig_ah_map_to_qp(struct rig_ah *ah, uint32_t qp_num);

/* Counters, and what congestion control does. */
#include "rig5_stats.h"

/* ==== Events ================================================================================== */

enum rig_event_kind {
	RIG_EVENT_COMPLETION,	/* an armed completion queue has a completion */
	RIG_EVENT_QP_ERROR,	/* a queue pair failed */
	RIG_EVENT_CQ_ERROR,	/* a completion queue overran; its queue pairs failed */
	RIG_EVENT_SRQ_LIMIT,	/* a shared receive queue runs low: see rig_srq_limit */
	RIG_EVENT_SRQ_ERROR,	/* a shared receive queue failed */
	RIG_EVENT_PORT,		/* the port came up, went down, or changed its address */
	RIG_EVENT_NIC_ERROR,	/* the NIC is gone */
	RIG_EVENT_OTHER,
};

struct rig_event {
	enum rig_event_kind kind;
	struct rig_cq *cq;	/* completion, completion queue error; else NULL */
	struct rig_srq *srq;	/* its limit or error; else NULL */
	uint32_t qp;		/* number; queue pair error */
	uint32_t code;		/* the kernel's IB_EVENT_* number; 0 for a completion */
	char text[96];		/* in words */
};

/*
 * rig_wait - waits until something happened, up to timeout_ms (-1: without end; 0: only look).
 *   events  array of at least max; [0, n) is written.
 * Returns n (0: the time is up), -EINTR: a signal came, -EINVAL: max < 1, or another -errno. Each
 * event is reported once. Cost: system calls.
 */
int rig_wait(struct rig_nic *nic, int timeout_ms, struct rig_event *events, int max);

/*
 * rig_fd - a descriptor for the caller's own poll or epoll: readable when rig_wait has something to
 * report. It stays the NIC's: do not read or close it. Before sleeping on it: rig_wait with 0 until
 * it returns 0; rig_cq_arm for each queue that it reported; rig_cq_poll until it returns 0. What
 * comes after that makes it readable. -errno if nic is none.
 */
int rig_fd(struct rig_nic *nic);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
