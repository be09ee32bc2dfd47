/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm.h - the layout of a port's registry: one sealed, sparse memfd that its members map.
 *
 *   0          struct shm_port   what the port is, who owns which queue pair numbers
 *   128 KiB    struct shm_member [256]
 *   1 MiB      struct shm_ring   [256][256]  of member [src] to member [dst], 68 KiB each
 *   4.3 GiB    struct shm_pool   [256]       where member [src] puts large packets, 4 MiB each
 *
 * Everybody who maps it runs as the same user, and still may write nonsense into it: whatever is
 * read here is copied once, checked and then used. Nobody trusts a pointer or a length from it.
 *
 * Who writes what: a field's comment names its only writer. Words with several writers are changed
 * with atomic operations. Lines of 64 bytes are kept apart by writer.
 */
#ifndef HOST_SHM_H
#define HOST_SHM_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	SHM_LINE_BYTES = 64,
	SHM_MEMBER_MAX = 256,
	SHM_BLOCK_COUNT = 4096, /* blocks of 4,096 queue pair numbers: 2^24 in all */
	SHM_BLOCK_LOG2 = 12,
	SHM_WORD_COUNT = SHM_MEMBER_MAX / 64, /* of a bitmap of members */
	SHM_SLOT_COUNT_LOG2 = 10,
	SHM_SLOT_COUNT = 1 << SHM_SLOT_COUNT_LOG2,
	SHM_INLINE_BYTES = 56, /* of a packet in a slot */
	SHM_RING_BYTES = 4096 + SHM_SLOT_COUNT * SHM_LINE_BYTES,
	SHM_CELL_BYTES = 66 * SHM_LINE_BYTES, /* the largest MTU and any header */
	SHM_PACKET_BYTES_MAX = SHM_CELL_BYTES,
	/*
	 * A multiple of a core's own cache: a line that the other core still has, dirty, takes 10
	 * ns to come over, one that has gone to the shared cache 2 (measured: 8 GB/s with 512 KiB,
	 * 39 with 4 MiB). A stream that keeps ahead of its reader by more than that cache runs at
	 * memory speed.
	 */
	SHM_POOL_BYTES = 4 << 20,
	SHM_CELL_COUNT = SHM_POOL_BYTES / SHM_CELL_BYTES,
	SHM_LEFT_MAX = 64,
	SHM_VERSION = 6,
};

#define SHM_MAGIC          0x74726f7035676972ull /* "rig5port" */
#define SHM_MEMBERS_OFFSET (128ull << 10)
#define SHM_RINGS_OFFSET   (1ull << 20)
#define SHM_POOLS_OFFSET \
	(SHM_RINGS_OFFSET + (uint64_t)SHM_MEMBER_MAX * SHM_MEMBER_MAX * SHM_RING_BYTES)
#define SHM_BYTES (SHM_POOLS_OFFSET + (uint64_t)SHM_MEMBER_MAX * SHM_POOL_BYTES)

/* Byte locks on the memfd [fcntl(2) F_SETLK]: who holds the join lock, and which members live. */
#define SHM_LOCK_JOIN         0
#define SHM_LOCK_MEMBER(slot) (16 + (slot))

/* The members' UDP sockets, in the kernel's order as far as it is known: host/group.h. Changed
 * under the join lock. */
struct shm_group {
	_Alignas(SHM_LINE_BYTES) _Atomic uint32_t version; /* of the program */
	_Atomic uint32_t count;
	_Atomic uint64_t mapped[SHM_BLOCK_COUNT / 64]; /* bitmap of blocks that it decides on */
	_Atomic uint16_t slots[SHM_MEMBER_MAX];
};

struct shm_port {
	uint64_t magic; /* founder, before anybody else sees the file; so all up to address */
	uint32_t version;
	uint32_t uid;
	uint8_t gid[16];
	uint16_t lid; /* of an InfiniBand port; 0: Ethernet */
	char address[64];
	_Alignas(SHM_LINE_BYTES) _Atomic uint32_t block_next; /* where to look for a free block */
	/* Members that want what is sent to multicast groups; each changes its own bit. */
	_Alignas(SHM_LINE_BYTES) _Atomic uint64_t listening[SHM_WORD_COUNT];
	/*
	 * What members had counted that have left (abi/stats.h). Each adds its own, between one
	 * more of begun and one more of done.
	 */
	_Alignas(SHM_LINE_BYTES) _Atomic uint32_t left_begun;
	_Atomic uint32_t left_done;
	_Atomic uint64_t left[SHM_LEFT_MAX];
	_Alignas(4096) _Atomic uint16_t owners[SHM_BLOCK_COUNT]; /* slot + 1, 0: nobody's */
	struct shm_group group;
};

enum shm_wake {
	SHM_AWAKE = 0,  /* somebody polls; sending needs no system call */
	SHM_ASLEEP = 1, /* the engine waits here: whoever changes it to SHM_KICKED wakes it */
	SHM_KICKED = 2, /* the engine is awake and will look again before it sleeps */
};

enum shm_state { SHM_FREE = 0, SHM_LIVE = 1 };

struct shm_member {
	/* Read by senders for each packet. */
	_Alignas(SHM_LINE_BYTES) _Atomic uint32_t wake; /* enum shm_wake, a futex */
	_Atomic uint32_t generation; /* joiner, under the join lock: changes when the owner does */
	_Atomic uint32_t state;      /* enum shm_state, likewise */
	_Atomic uint32_t fences;     /* member: 1: it cannot membarrier, so senders must fence */
	/* Members that ask to send to this one; each sets its bit, this one clears. */
	_Alignas(SHM_LINE_BYTES) _Atomic uint64_t asking[SHM_WORD_COUNT];
	/* Members asleep until this one has taken something; likewise. */
	_Alignas(SHM_LINE_BYTES) _Atomic uint64_t waiting[SHM_WORD_COUNT];
	/*
	 * Member: whose packets it may be reading. While a live member reads from a slot's rings or
	 * pool, nobody new gets that slot: what it reads must not change.
	 */
	_Alignas(SHM_LINE_BYTES) _Atomic uint64_t reading[SHM_WORD_COUNT];
	uint32_t pid;   /* for people only */
	uint32_t dirty; /* under the join lock: 1: the slot's rings or pool may have memory */
};

/*
 * A slot's word says what is in it; it is stored last, with release order, and is the only thing
 * that makes a packet visible. seq is the free-running position of the slot, so a word of the lap
 * before does not match, and the words of a new ring are zero.
 *
 *   bits 31..0  seq    47..32  packet bytes    63..48  enum shm_kind
 */
enum shm_kind {
	SHM_KIND_NONE = 0,
	SHM_KIND_INLINE = 1, /* the packet is in the slot */
	SHM_KIND_CELL = 2,   /* the packet is in the sender's pool, at pool_off */
	/* 3 is kept for a packet whose payload the receiver pulls from the sender's memory. */
	SHM_KIND_FOREIGN = 4, /* as CELL; came from another host, and goes to the member it is for:
				 struct shm_foreign is at pool_off, the packet behind it */
	SHM_KIND_PATH = 5,    /* likewise; a datagram, behind a struct shm_path */
};

/* The path of a datagram, as its sender named it: struct nic_path. */
struct shm_path {
	uint8_t dgid[16];
	uint8_t sgid[16];
	uint32_t flow_label;
	uint16_t dlid;
	uint16_t slid;
	uint8_t sl;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t zero[5];
};

/* What was around a packet that one member got over UDP and hands on to another. */
struct shm_foreign {
	uint8_t sgid[16];
	uint16_t udp_sport;
	uint16_t ip_id;
	uint8_t dont_fragment;
	uint8_t traffic_class;
	uint8_t zero[2];
};

struct shm_slot {
	_Alignas(SHM_LINE_BYTES) _Atomic uint64_t word;
	union {
		uint8_t packet[SHM_INLINE_BYTES];
		uint32_t pool_off;
	};
};

struct shm_ring {
	/* Receiver. A sender may use the ring when ready names both ends' generations. */
	_Alignas(SHM_LINE_BYTES) _Atomic uint64_t ready; /* src's << 32 | dst's */
	uint32_t start_seq;
	/* Receiver: seq of the oldest slot that it has not taken. */
	_Alignas(SHM_LINE_BYTES) _Atomic uint32_t head;
	/* Sender. */
	_Alignas(4096) struct shm_slot slots[SHM_SLOT_COUNT];
};

/* Owner. Which cells are free only the owner knows; it learns it from the rings' heads. */
struct shm_pool {
	uint8_t bytes[SHM_POOL_BYTES];
};

_Static_assert(sizeof(struct shm_slot) == SHM_LINE_BYTES, "a slot is a cache line");
_Static_assert(sizeof(struct shm_member) == 256, "members keep their lines apart");
_Static_assert(sizeof(struct shm_ring) == SHM_RING_BYTES, "ring");
_Static_assert(sizeof(struct shm_foreign) == 24, "what precedes a packet from elsewhere");
_Static_assert(sizeof(struct shm_path) == 48, "what precedes a datagram");
_Static_assert(sizeof(struct shm_port) <= SHM_MEMBERS_OFFSET, "port");
_Static_assert(SHM_MEMBERS_OFFSET + SHM_MEMBER_MAX * sizeof(struct shm_member) <= SHM_RINGS_OFFSET,
	       "members");
_Static_assert(SHM_CELL_COUNT <= 1024, "cells");
_Static_assert(sizeof(struct shm_path) + 64 + 4096 <= SHM_CELL_BYTES, "the largest packet");
_Static_assert(SHM_POOLS_OFFSET % 4096 == 0, "pools start on a page");

#endif
