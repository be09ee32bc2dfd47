/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mmo.c - an entry that copies memory of this process, with no packet [rdma-core mlx5 mmo]: from
 * one piece to another of the same length.
 *
 * Up to 2 GiB are copied as a turn's budget allows; entries behind it wait.
 */
#include "nic/nic_priv.h"

#define FAULT_NONE ((struct nic_fault){0})

enum { FROM, TO, PIECES };

struct nic_fault nic_mmo_start(const struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe)
{
	const struct nic_piece *to = &wqe->pieces[TO];
	struct nic_place place;
	enum nic_mem verdict;

	ASSERT(wqe->piece_count == PIECES);
	verdict = nic_mem_check(nic, qp->pdn, to->lkey, to->va, to->len_bytes,
				NIC_ACCESS_LOCAL_WRITE_F, &place);
	qp->copied_bytes = 0;
	return verdict == NIC_MEM_OK ? FAULT_NONE : nic_mem_fault(verdict);
}

static enum nic_mem copy_part(struct nic *nic, const struct nic_qp *qp, const struct nic_wqe *wqe,
			      uint32_t n)
{
	const struct nic_piece *from = &wqe->pieces[FROM];
	const struct nic_piece *to = &wqe->pieces[TO];
	struct nic_place place;
	enum nic_mem verdict;

	verdict =
	    nic_mem_check(nic, qp->pdn, from->lkey, from->va + qp->copied_bytes, n, 0, &place);
	if (verdict != NIC_MEM_OK)
		return verdict;
	if (!nic_mem_read_at(nic, nic->copy, &place, n))
		return NIC_MEM_FAULT;
	verdict = nic_mem_check(nic, qp->pdn, to->lkey, to->va + qp->copied_bytes, n,
				NIC_ACCESS_LOCAL_WRITE_F, &place);
	if (verdict != NIC_MEM_OK)
		return verdict;
	return nic_mem_write_at(nic, &place, nic->copy, n) ? NIC_MEM_OK : NIC_MEM_FAULT;
}

struct nic_fault nic_mmo_run(struct nic *nic, struct nic_qp *qp, const struct nic_wqe *wqe,
			     bool *done)
{
	uint32_t all = wqe->pieces[FROM].len_bytes;

	while (qp->copied_bytes != all && nic->left_bytes > 0) {
		uint32_t n = all - qp->copied_bytes;
		enum nic_mem verdict;

		if (n > sizeof(nic->copy))
			n = sizeof(nic->copy);
		verdict = copy_part(nic, qp, wqe, n);
		if (verdict != NIC_MEM_OK)
			return nic_mem_fault(verdict);
		qp->copied_bytes += n;
		nic->left_bytes -= n;
	}
	*done = qp->copied_bytes == all;
	return FAULT_NONE;
}
