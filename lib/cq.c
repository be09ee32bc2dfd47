/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.c - completion queues: create, arm, destroy, and the biased lock between a poller and a thread
 * that destroys a queue pair.
 *
 * The lock. A poll marks cq->polling, then looks at cq->poll_ready, and clears the mark when it is
 * done: plain stores and loads. lib_cq_stop clears poll_ready, runs membarrier(2), which makes
 * every running thread of the process order its stores before its later loads, and waits for the
 * mark to go. After the membarrier a poller either had marked itself, and is waited for, or sees
 * poll_ready cleared, and waits on nic->lock. The destroying thread then has the ring to itself and
 * can take a queue pair's completions out of it, as rdma-core does under a lock that each poll
 * takes [rdma-core mlx5].
 */
#include "lib/barrier.h"
#include "lib/lib.h"
#include "lib/uioctl.h"

#include "base/ring.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int membarrier(int cmd)
{
	return (int)syscall(SYS_membarrier, cmd, 0, 0);
}

/* A page whose rights are taken away where membarrier is refused; made once, never unmapped. */
static void *_Atomic fence_page;
static pthread_mutex_t fence_lock = PTHREAD_MUTEX_INITIALIZER;

int lib_cq_stop_prepare(void)
{
	void *none = NULL;
	void *page;

	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 || fence_page)
		return 0;
	page = mmap(NULL, LIB_PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return lib_fail(ENOMEM, "rig_open: no memory");
	if (!atomic_compare_exchange_strong(&fence_page, &none, page))
		munmap(page, LIB_PAGE_BYTES);
	return 0;
}

/*
 * fence_all_threads - the heavy half of the asymmetric fence. Where the system refuses membarrier,
 * taking a right away from a touched page interrupts every processor that runs a thread of this
 * process, which orders its stores just as well.
 */
static void fence_all_threads(void)
{
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return;
	pthread_mutex_lock(&fence_lock);
	mprotect(fence_page, LIB_PAGE_BYTES, PROT_READ | PROT_WRITE);
	*(volatile char *)fence_page = 1;
	mprotect(fence_page, LIB_PAGE_BYTES, PROT_READ);
	pthread_mutex_unlock(&fence_lock);
}

void lib_cq_stop(struct rig_cq *cq)
{
	atomic_store(&cq->poll_ready, 0);
	fence_all_threads();
	while (atomic_load_explicit(&cq->polling, memory_order_acquire))
		sched_yield();
}

void lib_cq_go(struct rig_cq *cq)
{
	if (!cq->shell.nic->gone)
		atomic_store_explicit(&cq->poll_ready, LIB_POLL_READY, memory_order_release);
}

/* Apart, so that rig_cq_arm has none of its calls. */
__attribute__((noinline, cold)) int lib_cq_enter_slow(struct rig_cq *cq, const char *call)
{
	struct rig_nic *nic;
	int err;

	atomic_store_explicit(&cq->polling, 0, memory_order_release);
	if (cq->shell.live != LIB_LIVE_CQ)
		return lib_handle_error(cq, call);
	nic = cq->shell.nic;
	err = lib_nic_lock(nic, call); /* waits for lib_cq_go */
	if (err)
		return err;
	if (nic->gone)
		err = lib_fail(ENODEV, "%s: %s is gone", call, nic->name);
	lib_nic_unlock(nic);
	return err;
}

static struct cqe64 *cqe_at(const struct rig_cq *cq, uint32_t position)
{
	return (struct cqe64 *)(void *)(cq->ring + (size_t)(position & cq->cqe_mask) * CQE_BYTES);
}

static bool cqe_written(const struct rig_cq *cq, uint32_t position)
{
	const struct cqe64 *cqe = cqe_at(cq, position);
	uint8_t op_own = *(const volatile uint8_t *)&cqe->op_own;

	return cqe_owner_of(op_own) == ((position & cq->cqe_count) != 0);
}

/* cqe_move - copies a completion to an older position, which keeps its own owner bit. */
static void cqe_move(struct cqe64 *to, const struct cqe64 *from)
{
	uint8_t owner = to->op_own & CQE_OWNER_MASK;

	memcpy(to, from, offsetof(struct cqe64, op_own));
	to->op_own = (uint8_t)((from->op_own & ~CQE_OWNER_MASK) | owner);
}

static bool is_receive(const struct cqe64 *cqe)
{
	uint8_t opcode = cqe_opcode_of(cqe->op_own);

	return opcode != CQE_REQ && opcode != CQE_REQ_ERR;
}

/*
 * The completions that stay move towards the newer end, oldest last, and the consumer index passes
 * the ones that are gone. The NIC may append meanwhile; it never touches what is not consumed.
 */
void lib_cq_purge(struct rig_cq *cq, uint32_t uidx, struct rig_srq *srq)
{
	uint32_t end = cq->consumer;
	uint32_t gone = 0;

	while (end - cq->consumer < cq->cqe_count && cqe_written(cq, end))
		end++;
	lib_owner_before_cqe();
	while (end != cq->consumer) {
		struct cqe64 *cqe = cqe_at(cq, --end);

		if ((be32_to(cqe->srqn_uidx) & 0xffffff) == uidx) {
			gone++;
			if (srq && is_receive(cqe))
				lib_srq_give(srq, be16_to(cqe->wqe_counter));
		} else if (gone) {
			cqe_move(cqe_at(cq, end + gone), cqe);
		}
	}
	cq->consumer += gone;
	lib_cqe_before_consumer();
	cq->record[DB_CQ_CONSUMER] = be32_from(cq->consumer & DB_CQ_INDEX_MASK);
}

static int cq_create_kernel(struct rig_cq *cq)
{
	struct rig_nic *nic = cq->shell.nic;
	struct mlx5_ib_create_cq in = {0};
	struct mlx5_ib_create_cq_resp out = {0};
	uint64_t user_handle = (uintptr_t)cq;
	uint32_t resp_cqe;
	struct lib_cmd cmd;
	int err;

	in.buf_addr = (uintptr_t)cq->ring;
	in.db_addr = (uintptr_t)cq->record;
	in.cqe_size = CQE_BYTES;
	in.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
	in.uar_page_index = (uint16_t)nic->uar_page_id;
	lib_cmd_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	lib_cmd_out_handle(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE);
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_CREATE_CQ_CQE, cq->cqe_mask);
	lib_cmd_in(&cmd, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user_handle, sizeof(user_handle));
	lib_cmd_in_fd(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, nic->channel_fd);
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	lib_cmd_in_u32(&cmd, UVERBS_ATTR_CREATE_CQ_FLAGS, 0);
	lib_cmd_out(&cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &resp_cqe, sizeof(resp_cqe));
	lib_cmd_in_fd(&cmd, UVERBS_ATTR_CREATE_CQ_EVENT_FD, nic->async_fd);
	lib_cmd_in(&cmd, UVERBS_ATTR_UHW_IN, &in, sizeof(in));
	lib_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &out, sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err == -ENOMEM)
		return lib_fail_pin(err, "rig_cq_create", cq->ring_bytes);
	if (err)
		return lib_fail_reason(err, "rig_cq_create: %u completions (%s holds %u)",
				       cq->capacity, nic->name, nic->limits.cqe_max);
	cq->handle = lib_cmd_handle(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE);
	cq->cqn = out.cqn;
	return 0;
}

static void cq_memory_free(struct rig_cq *cq)
{
	if (cq->ring)
		lib_ring_free(cq->ring, cq->ring_bytes);
	if (cq->record)
		lib_record_free(cq->record);
}

static int cq_memory_alloc(struct rig_cq *cq, uint32_t cqe_count)
{
	cq->ring_bytes = (size_t)cqe_count * CQE_BYTES;
	if (cq->ring_bytes < LIB_PAGE_BYTES)
		cq->ring_bytes = LIB_PAGE_BYTES;
	cq->ring = lib_ring_alloc(cq->ring_bytes);
	cq->record = lib_record_alloc(cq->shell.nic);
	if (!cq->ring || !cq->record) {
		cq_memory_free(cq);
		return lib_fail(ENOMEM, "rig_cq_create: no memory for %u completions", cqe_count);
	}
	cq->cqe_count = cqe_count;
	cq->cqe_mask = cqe_count - 1;
	/* The first lap's owner bit is 0: with 1 everywhere, the owner bit alone says "written". */
	for (uint32_t i = 0; i < cqe_count; i++)
		cqe_at(cq, i)->op_own = CQE_OP_OWN_INIT | CQE_OWNER_MASK;
	return 0;
}

/* cq_make - a completion queue of nic, which is locked. */
static int cq_make(struct rig_nic *nic, uint32_t capacity, struct rig_cq **cq)
{
	struct lib_shell *shell = lib_pool_take(&nic->pool_cq);
	struct rig_cq *made;
	int err;

	if (!shell)
		return lib_fail(ENOMEM, "rig_cq_create: no memory");
	made = lib_cq_of(shell);
	shell->nic = nic;
	made->capacity = capacity;
	made->uidx_table = nic->uidx_table;
	made->progress = nic->os->progress;
	made->progress_ctx = nic->os->ctx;
	/*
	 * The kernel's rings have two entries at least: it is told their number less one, and not
	 * 0.
	 */
	err = cq_memory_alloc(made, capacity < 2 ? 2 : capacity);
	if (err)
		goto err_shell;
	err = cq_create_kernel(made);
	if (err)
		goto err_memory;
	lib_list_add(&nic->cqs, shell);
	shell->live = LIB_LIVE_CQ;
	lib_cq_go(made);
	*cq = made;
	return 0;
err_memory:
	cq_memory_free(made);
err_shell:
	lib_pool_give(&nic->pool_cq, shell);
	return err;
}

int rig_cq_create(struct rig_nic *nic, int cqe_count, struct rig_cq **cq)
{
	uint32_t capacity;
	int err;

	if (!cq || cqe_count < 1 || cqe_count > LIB_CQE_MAX)
		return lib_fail(EINVAL, "rig_cq_create: %d completions; 1 to %d are possible",
				cqe_count, LIB_CQE_MAX);
	err = lib_nic_lock(nic, "rig_cq_create");
	if (err)
		return err;
	capacity = (uint32_t)ring_round_up((uint64_t)cqe_count);
	if (capacity > nic->limits.cqe_max)
		err = lib_fail(ERANGE, "rig_cq_create: %d completions; %s holds %u", cqe_count,
			       nic->name, nic->limits.cqe_max);
	else
		err = cq_make(nic, capacity, cq);
	lib_nic_unlock(nic);
	return err;
}

int lib_cq_destroy(struct rig_cq *cq)
{
	struct rig_nic *nic = cq->shell.nic;
	uint32_t counts[2];
	struct lib_cmd cmd;
	int err;

	lib_cq_stop(cq);
	lib_cmd_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	lib_cmd_in_handle(&cmd, UVERBS_ATTR_DESTROY_CQ_HANDLE, cq->handle);
	lib_cmd_out(&cmd, UVERBS_ATTR_DESTROY_CQ_RESP, counts, sizeof(counts));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err && nic->shell.live == LIB_LIVE_NIC) {
		lib_cq_go(cq);
		return lib_fail_reason(err, "rig_cq_destroy");
	}
	lib_list_remove(&nic->cqs, &cq->shell);
	cq_memory_free(cq);
	lib_pool_give(&nic->pool_cq, &cq->shell);
	return 0;
}

int rig_cq_destroy(struct rig_cq *cq)
{
	struct rig_nic *nic;
	int err;

	if (!cq || cq->shell.live != LIB_LIVE_CQ)
		return lib_handle_error(cq, "rig_cq_destroy");
	nic = cq->shell.nic;
	err = lib_nic_lock(nic, "rig_cq_destroy");
	if (err)
		return err;
	if (cq->qp_count || cq->srq_count)
		err = lib_fail(EBUSY,
				"rig_cq_destroy: %u of its queue pairs and %u of its shared receive"
				" queues live",
				cq->qp_count, cq->srq_count);
	else
		err = lib_cq_destroy(cq);
	lib_nic_unlock(nic);
	return err;
}

/*
 * The record is stored before the register; both carry the sequence number, which counts events
 * taken, and the consumer index: a NIC whose producer is already ahead of that index fires at once,
 * so nothing that came after the last poll is lost (brpc#3425).
 */
int rig_cq_arm(struct rig_cq *cq)
{
	struct be32 word;
	uint64_t value;
	int err;

	for (;;) {
		atomic_store_explicit(&cq->polling, 1, memory_order_relaxed);
		lib_mark_before_state();
		if (atomic_load_explicit(&cq->poll_ready, memory_order_acquire) == LIB_POLL_READY)
			break;
		err = lib_cq_enter_slow(cq, "rig_cq_arm");
		if (err)
			return err;
	}
	word = db_cq_arm_word(atomic_load_explicit(&cq->arm_sn, memory_order_relaxed),
			      DB_CQ_CMD_ANY, cq->consumer);
	__atomic_store_n(&cq->record[DB_CQ_ARM].raw, word.raw, __ATOMIC_RELAXED);
	lib_record_before_register();
	value = be64_from((uint64_t)be32_to(word) << 32 | cq->cqn).raw;
	__atomic_store_n((uint64_t *)(void *)(cq->shell.nic->uar + DB_UAR_CQ), value,
			 __ATOMIC_RELAXED);
	atomic_store_explicit(&cq->polling, 0, memory_order_release);
	if (cq->progress)
		cq->progress(cq->progress_ctx);
	return 0;
}
