/* SPDX-License-Identifier: BSD-2-Clause */
/* fake_entry.c - entries of a send ring as bytes; see fake_nic.h. */
#include "tests/support/fake_nic.h"

#include <string.h>

uint16_t fake_put_blocks(struct fake_qp *qp, const uint8_t *entry, size_t bytes)
{
	uint32_t blocks = wqe_bb_count((uint32_t)bytes / WQE_UNIT_BYTES);
	uint16_t index = qp->sq_pi;

	for (uint32_t i = 0; i < blocks; i++)
		memcpy((uint8_t *)fake_mem(qp->world, qp->sq_va) +
			   ((index + i) & (qp->sq_count - 1)) * WQE_BB_BYTES,
		       entry + i * WQE_BB_BYTES, WQE_BB_BYTES);
	qp->last_index = index;
	qp->sq_pi = (uint16_t)(index + blocks);
	return index;
}

uint16_t fake_post_raw(struct fake_qp *qp, uint32_t opmod_opcode, uint32_t imm,
		       const void *segments, uint32_t bytes)
{
	uint8_t entry[(WQE_DS_MAX + 1) * WQE_UNIT_BYTES] = {0};
	struct wqe_ctrl_seg ctrl = {
	    .opmod_idx_opcode = wqe_ctrl_op((uint8_t)(opmod_opcode >> 8), qp->sq_pi,
					    (enum wqe_opcode)(opmod_opcode & 0xff)),
	    .qpn_ds = wqe_ctrl_qpn_ds(qp->qpn, 1 + bytes / WQE_UNIT_BYTES),
	    .fm_ce_se = WQE_CE_ALWAYS,
	    .imm = be32_from(imm),
	};

	memcpy(entry, &ctrl, sizeof(ctrl));
	memcpy(entry + sizeof(ctrl), segments, bytes);
	return fake_put_blocks(qp, entry, sizeof(ctrl) + bytes);
}
