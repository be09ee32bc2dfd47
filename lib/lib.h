/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib.h - the driver library's private structures, and what its files offer each other.
 *
 * Handles. A struct rig_nic, rig_cq, rig_qp, rig_srq, rig_ah or rig_region that a caller holds is a
 * shell in type-stable memory (pool.c): its address stays readable for the life of the process. A
 * shell that is not in use reads as zero, so a stale handle shows in one compare. Shells are wiped
 * in a child after fork, so the same compare catches a child; lib_handle_error then finds out which
 * of the two it was.
 *
 * Locks. Control calls hold nic->lock. The data path takes none. Between a poller and a thread that
 * destroys a queue pair stands a biased lock, lib_cq_stop.
 */
#ifndef LIB_LIB_H
#define LIB_LIB_H

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_uapi.h"
#include "abi/mlx5_wqe.h"
#include "abi/uverbs.h"
#include "include/rig5.h"
#include "lib/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LIB_LIKELY(x) __builtin_expect(!!(x), 1)
#define LIB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIB_LINE_BYTES 64
#define LIB_PAGE_BYTES 4096

enum {
	LIB_PORT = 1,			/* the library uses a device's first port */
	LIB_RING_MAX = 1 << 15,		/* slots: 16-bit indices of two laps must differ */
	LIB_CQE_MAX = 1 << 22,
	LIB_RECEIVES_MIN = 4,
	LIB_RECEIVE_PIECES = 4,		/* data segments of a receive: one block */
	LIB_UIDX_COUNT = 1 << 18,	/* queue pairs of one open NIC */
	LIB_AV_UNITS = sizeof(struct wqe_av) / WQE_UNIT_BYTES,
	LIB_QPN_MAX = 0xffffff,		/* the one that a multicast datagram goes to */
	LIB_WRITE8_UNITS = 3,		/* of an 8-byte inline write: ctrl, raddr, inline */
	LIB_MESSAGE_MAX = 0x7fffffff,	/* what a piece's 31 bits of length can say */
};

/* What a live shell's `live` word holds. */
enum lib_live {
	LIB_LIVE_NIC = 0x4e494321,
	LIB_LIVE_REGION = 0x52474e21,
	LIB_LIVE_CQ = 0x43512121,
	LIB_LIVE_QP = 0x51502121,
	LIB_LIVE_AH = 0x41482121,
	LIB_LIVE_SRQ = 0x53525121,
};
/* qp->post_ready, cq->poll_ready: the data path may run. */
#define LIB_POST_READY 0x504f5354u
#define LIB_POLL_READY 0x504f4c4cu

struct lib_shell {
	uint32_t live;		  /* enum lib_live, or 0 */
	struct rig_nic *nic;
	struct lib_shell
	    *next; /* in the NIC's list of its kind, or in the pool's list of free ones */
	struct lib_shell *prev;
};

/* ---- pool.c: shells, and memory that the NIC reads and writes ------------------------------- */

struct lib_pool {
	size_t shell_bytes;
	struct lib_shell *free_first; /* reused oldest first */
	struct lib_shell *free_last;
	char *fresh;		      /* the part of the newest slab that was never used */
	char *fresh_end;
	struct lib_slab *slabs;
};

/*
 * lib_pool_take - a zeroed shell, or NULL: no memory. lib_pool_give - takes one back, and zeroes
 * it.
 */
struct lib_shell *lib_pool_take(struct lib_pool *pool);
void lib_pool_give(struct lib_pool *pool, struct lib_shell *shell);
/* lib_pool_close - gives the memory of all shells back; their addresses read as zero for ever. */
void lib_pool_close(struct lib_pool *pool);

/* lib_list_add, lib_list_remove - a shell in a list of the NIC's; the caller holds nic->lock. */
void lib_list_add(struct lib_shell **list, struct lib_shell *shell);
void lib_list_remove(struct lib_shell **list, struct lib_shell *shell);

/*
 * lib_handle_error - why handle is no live one: -EPERM and a message in a child after fork, else
 * -EINVAL. lib_handle_closed - whether it was one of this process.
 */
int lib_handle_error(const void *handle, const char *call);
bool lib_handle_closed(const void *handle);

/*
 * lib_ring_alloc - zeroed, page-aligned memory for rings and records, touched, and not there in a
 * child after fork; NULL: no memory.
 */
void *lib_ring_alloc(size_t len_bytes);
void lib_ring_free(void *addr, size_t len_bytes);

/* ---- error.c -------------------------------------------------------------------------------- */

/* lib_fail - sets this thread's message and returns -err. err is a positive errno. */
int lib_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* lib_fail_reason - the same with ": <the reason's text>" behind it. err may have either sign. */
int lib_fail_reason(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/*
 * lib_fail_pin - the kernel refused to pin len_bytes of memory for call: a message that says what a
 * person can do about it. err is the kernel's -errno, and returned.
 */
int lib_fail_pin(int err, const char *call, uint64_t len_bytes) __attribute__((cold));

/* ---- doorbell records ----------------------------------------------------------------------- */

struct lib_record_page;

/* lib_record_alloc - a zeroed record, 64 bytes from any other; NULL: no memory. */
struct be32 *lib_record_alloc(struct rig_nic *nic);
void lib_record_free(struct be32 *record);
void lib_record_free_all(struct rig_nic *nic);

/* ---- objects -------------------------------------------------------------------------------- */

struct lib_limits {
	uint32_t sq_slots_max;
	uint32_t receives_max;
	uint32_t shared_receives_max; /* slots of a shared receive queue */
	uint32_t cqe_max;
	uint32_t wqe_units_max;	 /* 16-byte units of an entry */
	uint32_t pieces_max;	 /* of an entry */
	uint32_t inline_max_bytes;
	uint8_t rd_atomic_init_max;
	uint8_t rd_atomic_resp_max;
	bool atomics;
};

struct lib_port {
	bool active;
	enum rig_link link;
	struct rig_address address;
	uint32_t gid_index;
	uint32_t gid_count;
	uint32_t mtu_bytes;
	uint64_t message_max_bytes;
	uint64_t rate_bps;
};

struct rig_nic {
	struct lib_shell shell;
	pthread_mutex_t lock;
	const struct lib_os *os;
	bool software;
	bool ece;		 /* the kernel passes options of connection establishment on */
	bool devx;		 /* and commands to the firmware */
	bool gone;		 /* the kernel reported the device dead */
	int fd;
	int async_fd;
	int channel_fd;
	int epoll_fd;
	uint32_t pd_handle;
	uint32_t uar_handle;
	uint32_t uar_page_id;
	char *uar;		 /* register page */
	size_t uar_bytes;
	struct rig_qp **uidx_table; /* [LIB_UIDX_COUNT], by the user index of completions */
	uint32_t *uidx_free;	    /* [LIB_UIDX_COUNT], a stack of freed indices */
	uint32_t uidx_free_count;
	uint32_t uidx_fresh;	 /* indices from here on were never used */
	struct lib_record_page *records;
	struct lib_pool pool_nic; /* the one that this struct is in */
	struct lib_pool pool_region;
	struct lib_pool pool_cq;
	struct lib_pool pool_qp;
	struct lib_pool pool_ah;
	struct lib_pool pool_srq;
	struct lib_shell *regions;
	struct lib_shell *cqs;
	struct lib_shell *qps;
	struct lib_shell *ahs;
	struct lib_shell *srqs;
	struct lib_limits limits;
	struct lib_port port;
	char name[RIG_NAME_MAX];
	char bus[RIG_NAME_MAX];
	char firmware[32];
};

struct rig_region {
	struct lib_shell shell;
	uint64_t addr;		 /* as entries name its first byte */
	uint64_t len_bytes;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t handle;
};

struct rig_ah {
	struct lib_shell shell;
	struct wqe_av av;	 /* without the queue pair and its key */
	uint32_t handle;	 /* the kernel's; Ethernet only */
	uint32_t mapping;	 /* the kernel's, of what maps it to a queue pair */
	bool mapped;
};

struct rig_cq {
	struct lib_shell shell;

	/* The poller's line. */
	_Alignas(LIB_LINE_BYTES) _Atomic uint32_t poll_ready;
	_Atomic uint32_t polling; /* the poller is inside; see lib_cq_stop */
	uint32_t consumer;	 /* completions taken since creation */
	uint32_t cqe_count;	  /* of the ring, a power of two */
	uint32_t cqe_mask;	  /* less one */
	char *ring;
	struct be32 *record;
	struct rig_qp *const *uidx_table;
	void (*progress)(void *ctx);
	void *progress_ctx;

	/* Control. */
	_Alignas(
	    LIB_LINE_BYTES) uint32_t capacity; /* completions it may have to hold, as promised */
	uint32_t taken;		 /* slots of the rings that complete here */
	uint32_t cqn;
	uint32_t handle;
	uint32_t qp_count;
	uint32_t srq_count;
	_Atomic uint32_t arm_sn; /* events taken so far */
	size_t ring_bytes;
};

struct rig_qp {
	struct lib_shell shell;

	/*
	 * The poster's line of the send ring. Positions are in bytes and free-running: slot number
	 * times 64, modulo 2^32. Until it is connected, when its shell is wiped, and after a fork,
	 * a queue pair has pos equal to limit: the look for room that follows finds out why. So has
	 * one whose entries need an address, always: the short cuts know no such entries.
	 */
	_Alignas(LIB_LINE_BYTES) uint32_t post_ready; /* LIB_POST_READY: connected */
	uint32_t sq_pos;	 /* next slot to fill */
	uint32_t sq_limit;	 /* first position that is known not to be free */
	uint32_t sq_rung;	 /* what the NIC was told */
	uint32_t sq_mask;	 /* ring bytes - 1 */
	uint32_t sq_tail;	 /* first slot in use, as far as sq_done was looked at */
	char *sq;
	uint64_t sq_base_write8; /* ctrl's first 8 bytes of an 8-byte inline write at index 0 */
	uint64_t sq_newest;	 /* first 8 bytes of the newest entry, as the register wants them */
	struct be32 *record;
	uint64_t *reg;

	/* The poster's line of the receive ring; positions likewise. */
	_Alignas(LIB_LINE_BYTES) void (*progress)(void *ctx);
	void *progress_ctx;
	char *rq;
	uint32_t rq_pos;
	uint32_t rq_limit;
	uint32_t rq_mask;
	uint32_t sq_tail_done;	 /* the sq_done that sq_tail follows from */
	uint32_t message_max_bytes;
	uint16_t wqe_units_max;
	uint16_t pieces_max;
	bool atomics;
	uint8_t transport;	 /* enum rig_transport */
	bool streams;		 /* of a DC initiator */

	/* The poller's line. */
	_Alignas(LIB_LINE_BYTES) uint32_t number;
	bool plain;		 /* reliable, with receives of its own, if it has any */
	bool datagram;		 /* receives begin with a GRH */
	bool has_source;	 /* receives are of many senders */
	bool infiniband;
	_Atomic uint32_t
	    sq_done; /* index of the newest entry that completed; LIB_NONE_DONE: none yet */
	_Atomic uint32_t rq_tail; /* receives that completed, modulo 2^32 */
	struct rig_srq *srq;	 /* whose receives it takes; NULL: its own */

	/* Control. */
	_Alignas(LIB_LINE_BYTES) struct rig_cq *cq; /* of its entries; srq->cq is of its receives */
	char *rings;
	size_t rings_bytes;
	uint32_t sq_count;
	uint32_t rq_count;
	uint32_t handle;
	uint32_t uidx;
	uint32_t psn;
	uint32_t ece;		 /* what it offers; once connected, what was agreed on */
	uint32_t ece_peer;	 /* what rig_qp_set_ece said */
	bool ece_set;
	bool connected;
	uint8_t streams_log2;
	uint8_t failed_streams_log2;
	uint64_t dc_key;
};

/*
 * Entries of a shared receive queue are a list, each with the index of the next: the NIC takes them
 * along it. Those from head to tail are free; the tail itself never is posted, so that what comes
 * behind the newest posted one is known when it is. Slots come back in any order: the poller of
 * srq->cq puts them into `freed`, and the poster links them behind the tail.
 */
struct rig_srq {
	struct lib_shell shell;

	/* The poster's line. */
	_Alignas(LIB_LINE_BYTES) char *ring;
	/* [slot_count], a ring of slots. Between the poster's read of an element and the poller's
	 * next write of it lies a receive that the NIC has completed. */
	_Atomic uint16_t *freed;
	uint32_t slot_mask;
	uint32_t head;
	uint32_t tail;
	uint32_t freed_taken;	 /* from `freed`, modulo 2^32 */
	uint32_t posted;	 /* modulo 2^32 */
	struct be32 *record;

	/* The poller's line. */
	_Alignas(LIB_LINE_BYTES) _Atomic uint32_t freed_put; /* into `freed`, modulo 2^32 */

	/* Control. */
	_Alignas(LIB_LINE_BYTES) struct rig_cq *cq;
	size_t ring_bytes;	 /* `freed` included */
	uint32_t handle;
	uint32_t qp_count;
};

/* The first two words of a good completion's rig_wc, each in one store. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LIB_WC_WORD0(number, index, kind)                                                          \
	((uint64_t)(kind) << 48 | (uint64_t)(index) << 32 | (number))
#define LIB_WC_WORD1(op, len) ((uint64_t)(len) << 32 | (op))
#else
#define LIB_WC_WORD0(number, index, kind)                                                          \
	((uint64_t)(number) << 32 | (uint64_t)(index) << 16 | (uint64_t)(kind) << 8)
#define LIB_WC_WORD1(op, len) ((uint64_t)(op) << 56 | (len))
#endif
_Static_assert(offsetof(struct rig_wc, index) == 4, "index follows the number");
_Static_assert(RIG_WC_ENTRY == 0 && RIG_OK == 0 && RIG_WRITE == 0, "a good write is all zeroes");
_Static_assert(sizeof(struct rig_wc) == 32, "four words");

/* sq_done before the first completion; no 16-bit index. */
#define LIB_NONE_DONE 0x10000u

/* ---- dev.c ---------------------------------------------------------------------------------- */

/*
 * lib_nic_lock - checks that nic is open and locks it: 0, or the error of call. lib_nic_unlock.
 * lib_port_refresh - reads the port's state and addresses anew, for call; the caller holds the
 * lock.
 */
/* lib_devx_fail - the error of a command about a queue pair, of which the call returned err: what
 * the firmware said, if it did. out: the command's answer. */
int lib_devx_fail(const struct rig_nic *nic, int err, const uint8_t *out, const char *call,
		  uint32_t qp_num);
int lib_nic_lock(struct rig_nic *nic, const char *call);
void lib_nic_unlock(struct rig_nic *nic);
int lib_port_refresh(struct rig_nic *nic, const char *call);

/*
 * names.c: the verbs file ("uverbs0") of the mlx5 device called name, or of the first (name NULL).
 */
int lib_hardware_find(const struct lib_os *os, const char *name, char ibdev[static RIG_NAME_MAX],
		      char uverbs[static RIG_NAME_MAX]);
/* One line of a sysfs file, without its newline; 0 or -errno. */
int lib_sysfs_line(const struct lib_os *os, const char *path, char *line, size_t size);

/*
 * Destroy without a lock, for rig_close and error paths; the caller holds it. 0 or the kernel's
 * -errno.
 */
int lib_region_destroy(struct rig_region *region);
int lib_cq_destroy(struct rig_cq *cq);
int lib_qp_destroy(struct rig_qp *qp);
int lib_ah_destroy(struct rig_ah *ah);
/* lib_ah_unmap - the destination has the port's congestion control again [map.c]. */
void lib_ah_unmap(struct rig_ah *ah);
int lib_srq_destroy(struct rig_srq *srq);

/*
 * lib_qp_modify - one step of qp, whose NIC is locked: 0, or the kernel's -errno. *in has what it
 * takes. lib_qp_modify_ece: likewise, with the peer's word; then *word is what was agreed on. 0:
 * nothing. lib_qp_modify_target: a DC target's, which answers with its number, once it has one.
 * lib_qp_ready - qp may be posted to; it agreed on ece.
 */
int lib_qp_modify(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in, enum uv_qp_state state);
int lib_qp_modify_ece(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in,
		      enum uv_qp_state state, uint32_t *word);
int lib_qp_modify_target(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in,
			 enum uv_qp_state state, uint32_t *word, uint32_t *number);
void lib_qp_ready(struct rig_qp *qp, uint32_t ece);

/* ece.c: the word that qp is to be told of peer. */
uint32_t lib_ece_word(const struct rig_qp *qp, const struct rig_endpoint *peer);
/* connect.c: what a request is retried by. */
void lib_retries_set(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in);
uint8_t lib_mtu_code(uint32_t mtu_bytes);
uint32_t lib_access_flags(enum rig_access access);
enum { LIB_RNR_TIMER = 12 }; /* 0.64 ms [IBTA1 table 45] */

/*
 * lib_cq_stop - keeps the poller out of cq until lib_cq_go: once it returns, no poll is inside and
 * a new one waits. For the thread that holds nic->lock.
 */
void lib_cq_stop(struct rig_cq *cq);
void lib_cq_go(struct rig_cq *cq);
/*
 * lib_cq_purge - removes the completions of the queue pair at uidx that were not polled; cq is
 * stopped. Receives go back to srq (NULL: they are the queue pair's own).
 */
void lib_cq_purge(struct rig_cq *cq, uint32_t uidx, struct rig_srq *srq);

/* lib_srq_give - slot has completed; for who polls srq's completion queue, or has stopped it. */
static inline void lib_srq_give(struct rig_srq *srq, uint16_t slot)
{
	uint32_t put = atomic_load_explicit(&srq->freed_put, memory_order_relaxed);

	atomic_store_explicit(&srq->freed[put & srq->slot_mask],
			      (uint16_t)(slot & srq->slot_mask), memory_order_relaxed);
	atomic_store_explicit(&srq->freed_put, put + 1, memory_order_release);
}

/* lib_cq_enter_slow - why cq is not ready: waits out a lib_cq_stop and returns 0, or the error. */
int lib_cq_enter_slow(struct rig_cq *cq, const char *call);
/* Before a process's first lib_cq_stop: what that needs of the system. 0 or -errno. */
int lib_cq_stop_prepare(void);

/*
 * lib_qp_sq_tail - the first send slot in use where done is what sq_done holds: for the thread that
 * posts.
 */
uint32_t lib_qp_sq_tail(const struct rig_qp *qp, uint32_t done);

static inline struct rig_qp *lib_qp_of(struct lib_shell *shell)
{
	return (struct rig_qp *)(void *)((char *)shell - offsetof(struct rig_qp, shell));
}

static inline struct rig_cq *lib_cq_of(struct lib_shell *shell)
{
	return (struct rig_cq *)(void *)((char *)shell - offsetof(struct rig_cq, shell));
}

static inline struct rig_srq *lib_srq_of(struct lib_shell *shell)
{
	return (struct rig_srq *)(void *)((char *)shell - offsetof(struct rig_srq, shell));
}

static inline struct rig_ah *lib_ah_of(struct lib_shell *shell)
{
	return (struct rig_ah *)(void *)((char *)shell - offsetof(struct rig_ah, shell));
}

static inline struct rig_region *lib_region_of(struct lib_shell *shell)
{
	return (struct rig_region *)(void *)((char *)shell - offsetof(struct rig_region, shell));
}

#endif
