/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hook.c - replaces functions of contexts, completion queues and queue pairs.
 *
 * libmlx5 has several functions of a kind (by CQE version, by locking, by what an extended queue
 * reports). For each that is met there is a stand-in of ours, which knows which one it stands for:
 * nothing is searched when one is called, and nothing has to be undone when an object goes.
 */
#include "shim/hook.h"

#include "abi/uverbs.h"
#include "host/guard.h"
#include "host/host.h"
#include "shim/tree.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- giving time -------------------------------------------------------------------------------
 */

static struct host_port *_Atomic ports[SHIM_NIC_MAX];
static atomic_uint port_limit;

void hook_port(unsigned int index, struct host_port *port)
{
	atomic_store(&ports[index], port);
	if (index >= atomic_load(&port_limit))
		atomic_store(&port_limit, index + 1);
}

/* Out of line: the caller's way that has nothing to give shall be short. */
static __attribute__((noinline)) void each_port(void (*give)(struct host_port *port))
{
	unsigned int limit = atomic_load_explicit(&port_limit, memory_order_relaxed);

	for (unsigned int i = 0; i < limit; i++) {
		struct host_port *port = atomic_load_explicit(&ports[i], memory_order_acquire);

		if (port)
			give(port);
	}
}

void hook_progress(void)
{
	each_port(host_port_progress);
}

bool hook_lends(enum hook_lender lender)
{
	const char *word = getenv("RIG5_LEND");

	if (!word)
		return true;
	return lender == HOOK_VERBS ? strcmp(word, "none") != 0
				    : strcmp(word, "none") != 0 && strcmp(word, "verbs") != 0;
}

/* ---- what the stand-ins do ---------------------------------------------------------------------
 */

typedef int poll_fn(struct ibv_cq *cq, int count, struct ibv_wc *wc);
typedef int start_fn(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
typedef int arm_fn(struct ibv_cq *cq, int solicited_only);
typedef int post_fn(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
typedef void begin_fn(struct ibv_qp_ex *qp);
typedef int complete_fn(struct ibv_qp_ex *qp);
typedef int clock_fn(struct ibv_context *context, struct ibv_values_ex *values);

/* A poll that finds something costs a call more; one that does not looks again after the pass. */
static inline int poll_with(poll_fn *real, struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	int got = real(cq, count, wc);

	if (got != 0)
		return got;
	each_port(host_port_progress);
	return real(cq, count, wc);
}

/* ENOENT: the queue is empty, and no poll has begun [ibv_create_cq_ex(3)]. */
static inline int start_with(start_fn *real, struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	int error = real(cq, attr);

	if (error != ENOENT)
		return error;
	each_port(host_port_progress);
	return real(cq, attr);
}

/* Who arms a queue is about to sleep: the engine thread takes over. */
static inline int arm_with(arm_fn *real, struct ibv_cq *cq, int solicited_only)
{
	int error;

	each_port(host_port_ringing);
	error = real(cq, solicited_only);

	each_port(host_port_sleeping);
	return error;
}

static inline int post_with(post_fn *real, struct ibv_qp *qp, struct ibv_send_wr *wr,
			    struct ibv_send_wr **bad)
{
	int error;

	each_port(host_port_ringing);
	error = real(qp, wr, bad);

	each_port(host_port_progress);
	return error;
}

static inline int complete_with(complete_fn *real, struct ibv_qp_ex *qp)
{
	int error;

	each_port(host_port_ringing);
	error = real(qp);

	each_port(host_port_progress);
	return error;
}

/* The clock's page shows the time of the last pass. */
static inline int clock_with(clock_fn *real, struct ibv_context *context,
			     struct ibv_values_ex *values)
{
	each_port(host_port_progress);
	return real(context, values);
}

/* libmlx5 sets wr_complete anew with each change to RTS, after the ioctl. */
static void complete_again(struct ibv_qp_ex *qp);

static inline void begin_with(begin_fn *real, struct ibv_qp_ex *qp)
{
	complete_again(qp);
	real(qp);
}

/* ---- the stand-ins -----------------------------------------------------------------------------
 */

enum { STAND_COUNT = 32 }; /* of a kind: an extended queue's start_poll has the most functions */

struct hook_kind {
	void **reals; /* the function that the stand-in of the same place stands for, or NULL */
	void *const *stands;
};

#define PLACES(X, kind)                                                                           \
	X(kind, 0)                                                                                \
	X(kind, 1)                                                                                \
	X(kind, 2)                                                                                \
	X(kind, 3)                                                                                \
	X(kind, 4) X(kind, 5) X(kind, 6) X(kind, 7) X(kind, 8) X(kind, 9) X(kind, 10) X(kind, 11) \
	    X(kind, 12) X(kind, 13) X(kind, 14) X(kind, 15) X(kind, 16) X(kind, 17) X(kind, 18)   \
		X(kind, 19) X(kind, 20) X(kind, 21) X(kind, 22) X(kind, 23) X(kind, 24)           \
		    X(kind, 25) X(kind, 26) X(kind, 27) X(kind, 28) X(kind, 29) X(kind, 30)       \
			X(kind, 31)
#define NAME(kind, place) (void *)kind##_##place,
#define STAND(kind, place)                                                              \
	static kind##_RESULT kind##_##place(kind##_PARAMETERS)                          \
	{                                                                               \
		return kind##_with((kind##_fn *)kind##_reals[place], kind##_ARGUMENTS); \
	}
#define KIND(kind)                                                            \
	static void *kind##_reals[STAND_COUNT];                               \
	PLACES(STAND, kind)                                                   \
	static void *const kind##_stands[STAND_COUNT] = {PLACES(NAME, kind)}; \
	static const struct hook_kind kind##_kind = {kind##_reals, kind##_stands};

#define poll_RESULT         int
#define poll_PARAMETERS     struct ibv_cq *cq, int count, struct ibv_wc *wc
#define poll_ARGUMENTS      cq, count, wc
#define start_RESULT        int
#define start_PARAMETERS    struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr
#define start_ARGUMENTS     cq, attr
#define arm_RESULT          int
#define arm_PARAMETERS      struct ibv_cq *cq, int solicited_only
#define arm_ARGUMENTS       cq, solicited_only
#define post_RESULT         int
#define post_PARAMETERS     struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad
#define post_ARGUMENTS      qp, wr, bad
#define complete_RESULT     int
#define complete_PARAMETERS struct ibv_qp_ex *qp
#define complete_ARGUMENTS  qp
#define clock_RESULT        int
#define clock_PARAMETERS    struct ibv_context *context, struct ibv_values_ex *values
#define clock_ARGUMENTS     context, values

#define begin_RESULT     void
#define begin_PARAMETERS struct ibv_qp_ex *qp
#define begin_ARGUMENTS  qp

KIND(poll)
KIND(start)
KIND(arm)
KIND(post)
KIND(begin)
KIND(complete)
KIND(clock)

/* ---- replacing ---------------------------------------------------------------------------------
 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_libmlx5(const void *function)
{
	const char *name;
	Dl_info info;

	if (!function || !dladdr(function, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	return strncmp(name ? name + 1 : info.dli_fname, "libmlx5", strlen("libmlx5")) == 0;
}

/* [lock] The stand-in for a function, or NULL: it has one already, or is none of libmlx5. */
static void *stand_for(const struct hook_kind *kind, void *function)
{
	for (unsigned int i = 0; i < STAND_COUNT; i++)
		if (kind->stands[i] == function)
			return NULL;
	if (!is_libmlx5(function))
		return NULL;
	for (unsigned int i = 0; i < STAND_COUNT; i++) {
		if (!kind->reals[i])
			kind->reals[i] = function;
		if (kind->reals[i] == function)
			return kind->stands[i];
	}
	return NULL;
}

/* The function pointer at slot, which is known to be mapped. */
static void replace(const struct hook_kind *kind, void **slot)
{
	void *stand;

	pthread_mutex_lock(&lock);
	stand = stand_for(kind, __atomic_load_n(slot, __ATOMIC_RELAXED));
	if (stand)
		__atomic_store_n(slot, stand, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static void complete_again(struct ibv_qp_ex *qp)
{
	void *function = (void *)qp->wr_complete;

	if (function != complete_stands[0] && function != complete_stands[1])
		replace(&complete_kind, (void **)&qp->wr_complete);
}

static bool is_mapped(uint64_t va, size_t len)
{
	return host_guard_probe(va, len, true);
}

/* Whether va may be libibverbs' context of this descriptor: then the functions in it are replaced.
 * Our own library, and any program that makes the system calls by itself, may have something else
 * there. */
static bool replace_in_context(uint64_t va, int fd)
{
	struct ibv_context *context = (struct ibv_context *)(uintptr_t)va;

	if (va == 0 || va % _Alignof(struct ibv_context) || !is_mapped(va, sizeof(*context)))
		return false;
	if (context->cmd_fd != fd || context->async_fd < 0)
		return false;
	replace(&poll_kind, (void **)&context->ops.poll_cq);
	replace(&arm_kind, (void **)&context->ops.req_notify_cq);
	replace(&post_kind, (void **)&context->ops.post_send);
	for (unsigned int i = 0; i < STAND_COUNT; i++)
		if ((void *)context->ops.poll_cq == poll_stands[i])
			return true;
	return false;
}

/* The context is known to be libibverbs'; it is of the kind that has more functions in front. */
static void replace_in_front(struct ibv_context *context)
{
	struct verbs_context *front = verbs_get_ctx(context);

	if (front && is_mapped((uintptr_t)front, offsetof(struct verbs_context, context)))
		replace(&clock_kind, (void **)&front->query_rt_values);
}

static bool read_context(uint64_t va, size_t offset, uint64_t *context)
{
	return va != 0 && host_guard_read(NULL, context, va + offset, sizeof(*context));
}

/* An extended queue is a plain one with functions behind it; libmlx5 has room for them in each. */
static void replace_in_cq(uint64_t va, int fd)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)(uintptr_t)va;
	uint64_t context;

	if (!read_context(va, offsetof(struct ibv_cq, context), &context) ||
	    !replace_in_context(context, fd))
		return;
	replace_in_front((struct ibv_context *)(uintptr_t)context);
	if (is_mapped(va, sizeof(*cq)))
		replace(&start_kind, (void **)&cq->start_poll);
}

static void replace_in_qp(uint64_t va, int fd)
{
	struct ibv_qp_ex *qp = (struct ibv_qp_ex *)(uintptr_t)va;
	uint64_t context;

	if (read_context(va, offsetof(struct ibv_qp, context), &context) &&
	    replace_in_context(context, fd) && is_mapped(va, sizeof(*qp)))
		replace(&begin_kind, (void **)&qp->wr_start);
}

/* The attribute called id of an ioctl, whose data is 8 bytes in place; 0: none. */
static uint64_t attr_data(const struct ib_uverbs_ioctl_hdr *header, unsigned int id)
{
	for (unsigned int i = 0; i < header->num_attrs; i++)
		if (header->attrs[i].attr_id == id)
			return header->attrs[i].len == sizeof(uint64_t) ? header->attrs[i].data : 0;
	return 0;
}

/* The header is the application's, and has just been read by kern. */
void hook_after_ioctl(int fd, const void *arg)
{
	const struct ib_uverbs_ioctl_hdr *header = arg;

	if (!hook_lends(HOOK_VERBS))
		return;
	if (header->object_id == UVERBS_OBJECT_CQ && header->method_id == UVERBS_METHOD_CQ_CREATE)
		replace_in_cq(attr_data(header, UVERBS_ATTR_CREATE_CQ_USER_HANDLE), fd);
	else if (header->object_id == UVERBS_OBJECT_QP &&
		 header->method_id == UVERBS_METHOD_QP_CREATE)
		replace_in_qp(attr_data(header, UVERBS_ATTR_CREATE_QP_USER_HANDLE), fd);
}
