/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.c - completion queues: entries written, owner bit last; overrun; arm and notify.
 *
 * The application's consumer index is read only when the ring looks full. Its arm word is read only
 * in nic_cq_look: an entry that is written between the application's last poll and that look is
 * found then, because the arm word carries the consumer index it was made with. So no event is
 * lost, whichever of poll, write, arm and look comes first [uverbs 6].
 */
#include "nic/nic_trace.h"

#include <linux/errno.h>

enum {
	CQE_TAIL_OFF = 60, /* the last word: wqe_counter, signature, op_own */
	CQE_COUNT_LOG2_MAX = 22,
};

struct nic_cq *nic_cq_find(const struct nic *nic, uint32_t cqn)
{
	if (cqn > nic->config.cq_count_max || !nic->cqs[cqn].live)
		return NULL;
	return &nic->cqs[cqn];
}

/* ---- create, destroy ------------------------------------------------------------------------- */

static bool cq_attr_ok(const struct nic_cq_attr *attr)
{
	return attr->cqe_count_log2 <= CQE_COUNT_LOG2_MAX &&
	       (attr->cqe_size_bytes == 64 || attr->cqe_size_bytes == 128) &&
	       !(attr->padded && attr->cqe_size_bytes == 64) && attr->buf_va % CQE_BYTES == 0 &&
	       attr->db_va % DB_RECORD_BYTES == 0;
}

int nic_cq_create(struct nic *nic, const struct nic_cq_attr *attr, uint32_t *cqn)
{
	uint32_t arm_va_off = DB_CQ_ARM * sizeof(uint32_t);
	uint32_t index;

	if (!cq_attr_ok(attr))
		return -EINVAL;
	/* The first legal arm word is 0, which fresh memory holds too: so it must not be 0 before.
	 */
	if (!nic_mem_store32(nic, attr->db_va + arm_va_off, UINT32_MAX))
		return -EFAULT;
	if (!nic_slot_take(&nic->cq_slots, 0, &index))
		return -ENOMEM;
	nic->cqs[index] = (struct nic_cq){
	    .buf_va = attr->buf_va,
	    .db_va = attr->db_va,
	    .count_log2 = (uint8_t)attr->cqe_count_log2,
	    .size_log2 = attr->cqe_size_bytes == 64 ? 6 : 7,
	    .overrun_ignored = attr->overrun_ignored,
	    .padded = attr->padded,
	    .cookie = attr->cookie,
	    .live = true,
	    .watch = nic->cq_watch_count,
	};
	nic->cq_watch[nic->cq_watch_count++] = (struct nic_cq_watch){
	    .db_va = attr->db_va + arm_va_off,
	    .seen = UINT32_MAX,
	    .cqn = index,
	};
	*cqn = index;
	return 0;
}

int nic_cq_destroy(struct nic *nic, uint32_t cqn)
{
	struct nic_cq *cq = nic_cq_find(nic, cqn);
	struct nic_cq_watch *last;

	if (!cq)
		return -EINVAL;
	if (cq->users != 0)
		return -EBUSY;
	last = &nic->cq_watch[--nic->cq_watch_count];
	nic->cq_watch[cq->watch] = *last;
	nic->cqs[last->cqn].watch = cq->watch;
	cq->live = false;
	nic_slot_give(&nic->cq_slots, cqn);
	return 0;
}

/* ---- arm and notify -------------------------------------------------------------------------- */

static void fire(struct nic *nic, uint32_t cqn)
{
	struct nic_event ev = {
	    .kind = NIC_EVENT_CQ_COMPLETION, .number = cqn, .cookie = nic->cqs[cqn].cookie};

	nic->cqs[cqn].armed = false;
	nic->cqs[cqn].notified_pi = nic->cqs[cqn].pi;
	nic->env->event(nic->env->ctx, &ev);
}

void nic_cq_look(struct nic *nic, struct nic_cq_watch *watch)
{
	struct nic_cq *cq = &nic->cqs[watch->cqn];
	uint32_t word;
	uint32_t upto;

	if (!nic_mem_load_be32(nic, watch->db_va, &word) || word == watch->seen)
		return;
	watch->seen = word;
	cq->armed_solicited = word & DB_CQ_CMD_SOLICITED;
	upto = cq->armed_solicited ? cq->solicited_pi : cq->pi;
	cq->armed = true;
	/* 24-bit counts, like PSNs: what the application has neither polled nor had an event for is
	 * news. A card keeps both counts, too [linux mlx5_ifc.h cqc last_notified_index]. */
	if (psn_diff(upto, word & DB_CQ_INDEX_MASK) > 0 && psn_diff(upto, cq->notified_pi) > 0)
		fire(nic, watch->cqn);
}

void nic_cq_scan(struct nic *nic, uint64_t now_ns)
{
	nic->now_ns = now_ns;
	for (uint32_t i = 0; i < nic->cq_watch_count; i++)
		nic_cq_look(nic, &nic->cq_watch[i]);
}

void nic_cq_arm(struct nic *nic, uint32_t cqn, uint64_t now_ns)
{
	const struct nic_cq *cq = nic_cq_find(nic, cqn);

	nic->now_ns = now_ns;
	if (cq)
		nic_cq_look(nic, &nic->cq_watch[cq->watch]);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The queue is of no use any more, and so are the queue pairs that complete to it [IBTA1 11.6.3].
 */
static COLD void fail(struct nic *nic, uint32_t cqn, bool overrun)
{
	struct nic_event ev = {.kind = NIC_EVENT_CQ_ERROR,
			       .number = cqn,
			       .cookie = nic->cqs[cqn].cookie,
			       .overrun = overrun};

	nic->cqs[cqn].failed = true;
	nic->env->event(nic->env->ctx, &ev);
	nic_qp_error_of_cq(nic, cqn);
	nic_srq_fail_of_cq(nic, cqn);
}

HOT bool has_room(struct nic *nic, struct nic_cq *cq)
{
	uint32_t count = 1u << cq->count_log2;

	if (((cq->pi - cq->ci) & DB_CQ_INDEX_MASK) < count || cq->overrun_ignored)
		return true;
	if (!nic_mem_load_be32(nic, cq->db_va + DB_CQ_CONSUMER * sizeof(uint32_t), &cq->ci))
		return false;
	return ((cq->pi - cq->ci) & DB_CQ_INDEX_MASK) < count;
}

/* Writes the 64 bytes of an entry, its last word last and with release order. */
HOT bool store(struct nic *nic, struct nic_cq *cq, const struct cqe64 *cqe)
{
	static const struct cqe64 none;
	uint64_t va = cq->buf_va + ((uint64_t)ring_index(cq->pi, cq->count_log2) << cq->size_log2) +
		      (1u << cq->size_log2) - CQE_BYTES;
	uint32_t tail;

	if (cq->padded && !nic_mem_write(nic, va - CQE_BYTES, &none, CQE_BYTES))
		return false;
	memcpy(&tail, (const uint8_t *)cqe + CQE_TAIL_OFF, sizeof(tail));
	return nic_mem_write(nic, va, cqe, CQE_TAIL_OFF) &&
	       nic_mem_store32(nic, va + CQE_TAIL_OFF, tail);
}

HOT void put(struct nic *nic, uint32_t cqn, const struct cqe64 *cqe, bool solicited)
{
	struct nic_cq *cq = &nic->cqs[cqn];

	if (cq->failed)
		return;
	if (!has_room(nic, cq)) {
		nic->counters.cq_overrun++;
		fail(nic, cqn, true);
		return;
	}
	if (!store(nic, cq, cqe)) {
		fail(nic, cqn, false);
		return;
	}
	cq->pi++;
	if (nic_tracing(nic))
		nic_trace_cqe(nic, cqn, cqe);
	if (solicited)
		cq->solicited_pi = cq->pi;
	if (cq->armed && (solicited || !cq->armed_solicited))
		fire(nic, cqn);
}

/* The same for what is rare. */
static void push(struct nic *nic, uint32_t cqn, const struct cqe64 *cqe, bool solicited)
{
	put(nic, cqn, cqe, solicited);
}

static bool owner(const struct nic *nic, uint32_t cqn)
{
	return ring_lap(nic->cqs[cqn].pi, nic->cqs[cqn].count_log2);
}

HOT void fill_entry(struct cqe64 *cqe, const struct nic *nic, const struct nic_qp *qp, uint32_t cqn,
		    const struct nic_done *done)
{
	*cqe = (struct cqe64){
	    .flags_rqpn = be32_from(qp->params.dest_qpn),
	    .srqn_uidx = be32_from(done->user_index),
	    .imm_inval_pkey = be32_from(done->imm),
	    .byte_cnt = be32_from(done->byte_cnt),
	    .timestamp = be64_from(nic->now_ns),
	    .sop_drop_qpn = be32_from((uint32_t)done->send_opcode << 24 | qp->number),
	    .wqe_counter = be16_from(done->wqe_counter),
	    .op_own = cqe_op_own(done->opcode, done->solicited, owner(nic, cqn)),
	};
}

void nic_cq_done(struct nic *nic, const struct nic_qp *qp, uint32_t cqn,
		 const struct nic_done *done)
{
	struct cqe64 cqe;

	fill_entry(&cqe, nic, qp, cqn, done);
	put(nic, cqn, &cqe, done->solicited);
}

void nic_cq_done_from(struct nic *nic, const struct nic_qp *qp, uint32_t cqn,
		      const struct nic_done *done, const struct nic_from *from)
{
	struct cqe64 cqe;

	fill_entry(&cqe, nic, qp, cqn, done);
	cqe.flags_rqpn = be32_from(from->flags_rqpn);
	cqe.slid = be16_from(from->slid);
	push(nic, cqn, &cqe, done->solicited);
}

static void count_requester_error(struct nic *nic, uint8_t syndrome)
{
	nic->counters.req_cqe_error++;
	if (syndrome == CQE_SYND_REMOTE_INVAL_REQ)
		nic->counters.req_remote_invalid++;
	else if (syndrome == CQE_SYND_REMOTE_ACCESS)
		nic->counters.req_remote_access++;
	else if (syndrome == CQE_SYND_RETRY_EXC)
		nic->counters.req_retries_exceeded++;
	else if (syndrome == CQE_SYND_RNR_RETRY_EXC)
		nic->counters.req_rnr_exceeded++;
}

static void count_responder_error(struct nic *nic, uint8_t syndrome)
{
	nic->counters.resp_cqe_error++;
	if (syndrome == CQE_SYND_LOCAL_LENGTH)
		nic->counters.resp_local_length++;
}

void nic_cq_error(struct nic *nic, const struct nic_qp *qp, uint32_t cqn, enum cqe_opcode opcode,
		  uint8_t send_opcode, uint16_t wqe_counter, struct nic_fault fault)
{
	union {
		struct cqe_err64 err;
		struct cqe64 cqe;
	} entry = {.err = {
		       .srqn_uidx =
			   be32_from(opcode == CQE_REQ_ERR ? qp->user_index : qp->user_index_recv),
		       .vendor_syndrome = fault.vendor,
		       .syndrome = fault.syndrome,
		       .sop_drop_qpn = be32_from((uint32_t)send_opcode << 24 | qp->number),
		       .wqe_counter = be16_from(wqe_counter),
		       .op_own = cqe_op_own(opcode, false, owner(nic, cqn)),
		   }};
	bool flushed = fault.syndrome == CQE_SYND_WR_FLUSH;

	ASSERT(fault.syndrome != 0);
	if (flushed && opcode == CQE_REQ_ERR)
		nic->counters.req_cqe_flush++;
	else if (flushed)
		nic->counters.resp_cqe_flush++;
	else if (opcode == CQE_REQ_ERR)
		count_requester_error(nic, fault.syndrome);
	else
		count_responder_error(nic, fault.syndrome);
	push(nic, cqn, &entry.cqe, true);
}

void nic_cq_sig_error(struct nic *nic, const struct nic_sig_error *error)
{
	struct nic_qp *qp = nic->now_qp;
	uint32_t cqn = nic->now_responds ? qp->cqn_recv : qp->cqn_send;
	union {
		struct cqe_sig_err sig;
		struct cqe64 cqe;
	} entry = {.sig = {
		       .expected = be32_from((uint32_t)(error->expected >> 32)),
		       .actual = be32_from((uint32_t)(error->actual >> 32)),
		       .expected_ref = be32_from((uint32_t)error->expected),
		       .actual_ref = be32_from((uint32_t)error->actual),
		       .syndrome = be16_from(error->syndrome),
		       .domain = error->domain,
		       .mkey = be32_from(error->key),
		       .offset = be64_from(error->offset),
		       .op_own = cqe_op_own(CQE_SIG_ERR, false, owner(nic, cqn)),
		   }};

	push(nic, cqn, &entry.cqe, true);
	if (!nic->now_responds)
		nic_qp_stop(qp);
}

/* ---- resize ---------------------------------------------------------------------------------- */

static bool resize_ok(const struct nic_cq *cq, uint64_t buf_va, uint32_t count_log2)
{
	uint32_t unpolled = (cq->pi - cq->ci) & DB_CQ_INDEX_MASK;

	if (count_log2 > CQE_COUNT_LOG2_MAX || buf_va % CQE_BYTES != 0)
		return false;
	/* Who ignores overrun need not store what it has polled. */
	return cq->overrun_ignored ||
	       (unpolled < 1u << cq->count_log2 && unpolled <= 1u << count_log2);
}

int nic_cq_resize(struct nic *nic, uint32_t cqn, uint64_t buf_va, uint32_t count_log2)
{
	struct nic_cq *cq = nic_cq_find(nic, cqn);
	struct cqe64 cqe = {.op_own = 0};

	if (!cq || cq->failed)
		return -EINVAL;
	if (!nic_mem_load_be32(nic, cq->db_va + DB_CQ_CONSUMER * sizeof(uint32_t), &cq->ci))
		return -EFAULT;
	if (!resize_ok(cq, buf_va, count_log2))
		return -EINVAL;
	cqe.op_own = cqe_op_own(CQE_RESIZE_CQ, false, owner(nic, cqn));
	if (!store(nic, cq, &cqe))
		return -EFAULT;
	cq->pi++;
	cq->buf_va = buf_va;
	cq->count_log2 = (uint8_t)count_log2;
	return 0;
}
