/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_frame.c - see raw_frame.h. */
#include "tests/support/raw_frame.h"

#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SQ_COUNT = 8 };

static const uint8_t head[38] = {0x01, 0x50, 0x56, 0x19, 0x20, 0xa7, 0x24, 0x8a, 0x07, 0xa5,
				 0x28, 0xc8, 0x08, 0x00, 0x45, 0,    0,    86,   0,    0,
				 0x40, 0,    64,   6,    0,    0,    66,   9,    149,  187,
				 161,  142,  100,  80,   0x0a, 0xea, 0x06, 0xe6};

const uint8_t raw_frame_key[NIC_HASH_KEY_BYTES] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

void raw_sender_make(struct kern_rig *rig, struct raw_sender *sender, uint32_t pd,
		     const struct rig_cq *cq, uint8_t *frame, uint32_t lkey)
{
	static const uint8_t states[] = {UV_QPS_INIT, UV_QPS_RTR, UV_QPS_RTS};

	*sender = (struct raw_sender){.qp = {.pd = pd,
					     .send_cq = cq->handle,
					     .recv_cq = cq->handle,
					     .uar_page = cq->uar_page,
					     .type = IB_UVERBS_QPT_RAW_PACKET,
					     .sq_count = SQ_COUNT},
				      .frame = frame,
				      .lkey = lkey};
	memset(frame, 0, RAW_FRAME_BYTES);
	memcpy(frame, head, sizeof(head));
	assert_int_equal(rig_qp(rig, &sender->qp), 0);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct ib_uverbs_modify_qp req = {.qp_handle = sender->qp.handle,
						  .attr_mask =
						      UV_QP_STATE | (i == 0 ? UV_QP_PORT : 0),
						  .qp_state = states[i],
						  .port_num = 1};

		assert_int_equal(rig_modify(rig, &req), 0);
	}
}

void raw_sender_send(struct kern_rig *rig, struct raw_sender *sender)
{
	uint16_t index = sender->sent++;
	uint8_t *sq = sender->qp.ring + (size_t)(index % SQ_COUNT) * 64;
	struct wqe_ctrl_seg *ctrl = (void *)sq;
	struct wqe_data_seg *piece = (void *)(sq + 32);
	uint64_t word;

	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, index, WQE_OP_SEND);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(sender->qp.number, 3);
	*piece = (struct wqe_data_seg){be32_from(RAW_FRAME_BYTES), be32_from(sender->lkey),
				       be64_from(rig_va(sender->frame))};
	sender->qp.record[DB_SEND] = be32_from(sender->sent).raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(rig->pages + 4096 * sender->qp.uar_page + DB_UAR_BF0, &word, sizeof(word));
	rig_pump(rig);
}
