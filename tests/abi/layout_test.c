/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout_test.c - our layouts and numbers against rdma-core's headers. Most of it fails to compile
 * rather than to run; what runs compares our codecs with the setters and getters of mlx5dv.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_uapi.h"
#include "abi/mlx5_umr.h"
#include "abi/mlx5_wqe.h"
#include "abi/uverbs.h"

#define SAME(ours, theirs) \
	_Static_assert((unsigned long long)(ours) == (unsigned long long)(theirs), #ours)
#define SAME_SIZE(ours, theirs) SAME(sizeof(struct ours), sizeof(struct theirs))
#define SAME_FIELD(ours, field, theirs, their_field)                                               \
	SAME(offsetof(struct ours, field), offsetof(struct theirs, their_field));                  \
	SAME(sizeof(((struct ours *)0)->field), sizeof(((struct theirs *)0)->their_field))

SAME_SIZE(wqe_ctrl_seg, mlx5_wqe_ctrl_seg);
SAME_FIELD(wqe_ctrl_seg, opmod_idx_opcode, mlx5_wqe_ctrl_seg, opmod_idx_opcode);
SAME_FIELD(wqe_ctrl_seg, qpn_ds, mlx5_wqe_ctrl_seg, qpn_ds);
SAME_FIELD(wqe_ctrl_seg, signature, mlx5_wqe_ctrl_seg, signature);
SAME_FIELD(wqe_ctrl_seg, dci_stream, mlx5_wqe_ctrl_seg, dci_stream_channel_id);
SAME_FIELD(wqe_ctrl_seg, fm_ce_se, mlx5_wqe_ctrl_seg, fm_ce_se);
SAME_FIELD(wqe_ctrl_seg, imm, mlx5_wqe_ctrl_seg, imm);

SAME_SIZE(wqe_av, mlx5_wqe_datagram_seg);
SAME_FIELD(wqe_av, ud.qkey, mlx5_wqe_av, key.qkey.qkey);
SAME_FIELD(wqe_av, dc_key, mlx5_wqe_av, key.dc_key);
SAME_FIELD(wqe_av, dqp_dct, mlx5_wqe_av, dqp_dct);
SAME_FIELD(wqe_av, stat_rate_sl, mlx5_wqe_av, stat_rate_sl);
SAME_FIELD(wqe_av, fl_mlid, mlx5_wqe_av, fl_mlid);
SAME_FIELD(wqe_av, rlid, mlx5_wqe_av, rlid);
SAME_FIELD(wqe_av, rmac, mlx5_wqe_av, rmac);
SAME_FIELD(wqe_av, tclass, mlx5_wqe_av, tclass);
SAME_FIELD(wqe_av, hop_limit, mlx5_wqe_av, hop_limit);
SAME_FIELD(wqe_av, grh_gid_fl, mlx5_wqe_av, grh_gid_fl);
SAME_FIELD(wqe_av, rgid, mlx5_wqe_av, rgid);

SAME_SIZE(wqe_raddr_seg, mlx5_wqe_raddr_seg);
SAME_FIELD(wqe_raddr_seg, va, mlx5_wqe_raddr_seg, raddr);
SAME_FIELD(wqe_raddr_seg, rkey, mlx5_wqe_raddr_seg, rkey);
SAME_SIZE(wqe_atomic_seg, mlx5_wqe_atomic_seg);
SAME_FIELD(wqe_atomic_seg, swap_add, mlx5_wqe_atomic_seg, swap_add);
SAME_FIELD(wqe_atomic_seg, compare, mlx5_wqe_atomic_seg, compare);
SAME_SIZE(wqe_umr_ctrl_seg, mlx5_wqe_umr_ctrl_seg);
SAME_FIELD(wqe_umr_ctrl_seg, flags, mlx5_wqe_umr_ctrl_seg, flags);
SAME_FIELD(wqe_umr_ctrl_seg, klm_octowords, mlx5_wqe_umr_ctrl_seg, klm_octowords);
SAME_FIELD(wqe_umr_ctrl_seg, offset_or_bsf, mlx5_wqe_umr_ctrl_seg, translation_offset);
SAME_FIELD(wqe_umr_ctrl_seg, mask, mlx5_wqe_umr_ctrl_seg, mkey_mask);
SAME_SIZE(wqe_mkey_seg, mlx5_wqe_mkey_context_seg);
SAME_FIELD(wqe_mkey_seg, free, mlx5_wqe_mkey_context_seg, free);
SAME_FIELD(wqe_mkey_seg, access, mlx5_wqe_mkey_context_seg, access_flags);
SAME_FIELD(wqe_mkey_seg, qpn_tag, mlx5_wqe_mkey_context_seg, qpn_mkey);
SAME_FIELD(wqe_mkey_seg, flags_pd, mlx5_wqe_mkey_context_seg, flags_pd);
SAME_FIELD(wqe_mkey_seg, start, mlx5_wqe_mkey_context_seg, start_addr);
SAME_FIELD(wqe_mkey_seg, len, mlx5_wqe_mkey_context_seg, len);
SAME_SIZE(wqe_klm_seg, mlx5_wqe_umr_klm_seg);
SAME_FIELD(wqe_klm_seg, byte_count, mlx5_wqe_umr_klm_seg, byte_count);
SAME_FIELD(wqe_klm_seg, key, mlx5_wqe_umr_klm_seg, mkey);
SAME_FIELD(wqe_klm_seg, va, mlx5_wqe_umr_klm_seg, address);
SAME_SIZE(wqe_strided_seg, mlx5_wqe_umr_repeat_block_seg);
SAME_FIELD(wqe_strided_seg, op, mlx5_wqe_umr_repeat_block_seg, op);
SAME_FIELD(wqe_strided_seg, repeat, mlx5_wqe_umr_repeat_block_seg, repeat_count);
SAME_FIELD(wqe_strided_seg, entry_count, mlx5_wqe_umr_repeat_block_seg, num_ent);
SAME_SIZE(wqe_strided_entry, mlx5_wqe_umr_repeat_ent_seg);
SAME_FIELD(wqe_strided_entry, stride, mlx5_wqe_umr_repeat_ent_seg, stride);
SAME_FIELD(wqe_strided_entry, byte_count, mlx5_wqe_umr_repeat_ent_seg, byte_count);
SAME_FIELD(wqe_strided_entry, key, mlx5_wqe_umr_repeat_ent_seg, memkey);
SAME_FIELD(wqe_strided_entry, va, mlx5_wqe_umr_repeat_ent_seg, va);
SAME_SIZE(wqe_data_seg, mlx5_wqe_data_seg);
SAME_FIELD(wqe_data_seg, byte_count, mlx5_wqe_data_seg, byte_count);
SAME_FIELD(wqe_data_seg, lkey, mlx5_wqe_data_seg, lkey);
SAME_FIELD(wqe_data_seg, va, mlx5_wqe_data_seg, addr);
SAME_SIZE(wqe_inline_seg, mlx5_wqe_inl_data_seg);
SAME_SIZE(wqe_srq_next_seg, mlx5_wqe_srq_next_seg);
SAME_FIELD(wqe_srq_next_seg, next_wqe_index, mlx5_wqe_srq_next_seg, next_wqe_index);
SAME_FIELD(wqe_srq_next_seg, signature, mlx5_wqe_srq_next_seg, signature);

SAME(WQE_OP_NOP, MLX5_OPCODE_NOP);
SAME(WQE_OP_SEND_INVAL, MLX5_OPCODE_SEND_INVAL);
SAME(WQE_OP_WRITE, MLX5_OPCODE_RDMA_WRITE);
SAME(WQE_OP_WRITE_IMM, MLX5_OPCODE_RDMA_WRITE_IMM);
SAME(WQE_OP_SEND, MLX5_OPCODE_SEND);
SAME(WQE_OP_SEND_IMM, MLX5_OPCODE_SEND_IMM);
SAME(WQE_OP_TSO, MLX5_OPCODE_TSO);
SAME(WQE_OP_READ, MLX5_OPCODE_RDMA_READ);
SAME(WQE_OP_ATOMIC_CS, MLX5_OPCODE_ATOMIC_CS);
SAME(WQE_OP_ATOMIC_FA, MLX5_OPCODE_ATOMIC_FA);
SAME(WQE_OP_ATOMIC_MASKED_CS, MLX5_OPCODE_ATOMIC_MASKED_CS);
SAME(WQE_OP_ATOMIC_MASKED_FA, MLX5_OPCODE_ATOMIC_MASKED_FA);
SAME(WQE_OP_FMR, MLX5_OPCODE_FMR);
SAME(WQE_OP_LOCAL_INVAL, MLX5_OPCODE_LOCAL_INVAL);
SAME(WQE_OP_CONFIG_CMD, MLX5_OPCODE_CONFIG_CMD);
SAME(WQE_OP_SET_PSV, MLX5_OPCODE_SET_PSV);
SAME(WQE_OP_UMR, MLX5_OPCODE_UMR);
SAME(WQE_OP_TAG_MATCHING, MLX5_OPCODE_TAG_MATCHING);
SAME(WQE_OP_FLOW_TBL_ACCESS, MLX5_OPCODE_FLOW_TBL_ACCESS);
SAME(WQE_OP_MMO, MLX5_OPCODE_MMO);
SAME(WQE_CE_ALWAYS, MLX5_WQE_CTRL_CQ_UPDATE);
SAME(WQE_SOLICITED_F, MLX5_WQE_CTRL_SOLICITED);
SAME(WQE_FM_FENCE, MLX5_WQE_CTRL_FENCE);
SAME(WQE_FM_SMALL_FENCE, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
SAME(WQE_BB_BYTES, MLX5_SEND_WQE_BB);
SAME(WQE_BB_BYTES_LOG2, MLX5_SEND_WQE_SHIFT);
SAME(WQE_LKEY_INVALID, MLX5_INVALID_LKEY);
SAME(WQE_INLINE_F, (uint32_t)MLX5_INLINE_SEG);
SAME(WQE_AV_EXTENDED_F, (uint32_t)MLX5_EXTENDED_UD_AV);

SAME_SIZE(cqe64, mlx5_cqe64);
SAME_FIELD(cqe64, wqe_id, mlx5_cqe64, wqe_id);
SAME_FIELD(cqe64, ml_path, mlx5_cqe64, ml_path);
SAME_FIELD(cqe64, slid, mlx5_cqe64, slid);
SAME_FIELD(cqe64, flags_rqpn, mlx5_cqe64, flags_rqpn);
SAME_FIELD(cqe64, hds_ip_ext, mlx5_cqe64, hds_ip_ext);
SAME_FIELD(cqe64, l4_hdr_type_etc, mlx5_cqe64, l4_hdr_type_etc);
SAME_FIELD(cqe64, vlan_info, mlx5_cqe64, vlan_info);
SAME_FIELD(cqe64, srqn_uidx, mlx5_cqe64, srqn_uidx);
SAME_FIELD(cqe64, imm_inval_pkey, mlx5_cqe64, imm_inval_pkey);
SAME_FIELD(cqe64, app, mlx5_cqe64, app);
SAME_FIELD(cqe64, app_op, mlx5_cqe64, app_op);
SAME_FIELD(cqe64, app_info, mlx5_cqe64, app_info);
SAME_FIELD(cqe64, byte_cnt, mlx5_cqe64, byte_cnt);
SAME_FIELD(cqe64, timestamp, mlx5_cqe64, timestamp);
SAME_FIELD(cqe64, sop_drop_qpn, mlx5_cqe64, sop_drop_qpn);
SAME_FIELD(cqe64, wqe_counter, mlx5_cqe64, wqe_counter);
SAME_FIELD(cqe64, signature, mlx5_cqe64, signature);
SAME_FIELD(cqe64, op_own, mlx5_cqe64, op_own);
SAME_SIZE(cqe_err64, mlx5_err_cqe);
SAME_FIELD(cqe_err64, srqn_uidx, mlx5_err_cqe, srqn);
SAME_FIELD(cqe_err64, vendor_syndrome, mlx5_err_cqe, vendor_err_synd);
SAME_FIELD(cqe_err64, syndrome, mlx5_err_cqe, syndrome);
SAME_FIELD(cqe_err64, sop_drop_qpn, mlx5_err_cqe, s_wqe_opcode_qpn);
SAME_FIELD(cqe_err64, wqe_counter, mlx5_err_cqe, wqe_counter);
SAME_FIELD(cqe_err64, signature, mlx5_err_cqe, signature);
SAME_FIELD(cqe_err64, op_own, mlx5_err_cqe, op_own);

SAME(CQE_REQ, MLX5_CQE_REQ);
SAME(CQE_RESP_WR_IMM, MLX5_CQE_RESP_WR_IMM);
SAME(CQE_RESP_SEND, MLX5_CQE_RESP_SEND);
SAME(CQE_RESP_SEND_IMM, MLX5_CQE_RESP_SEND_IMM);
SAME(CQE_RESP_SEND_INV, MLX5_CQE_RESP_SEND_INV);
SAME(CQE_RESIZE_CQ, MLX5_CQE_RESIZE_CQ);
SAME(CQE_NO_PACKET, MLX5_CQE_NO_PACKET);
SAME(CQE_SIG_ERR, MLX5_CQE_SIG_ERR);
SAME(CQE_REQ_ERR, MLX5_CQE_REQ_ERR);
SAME(CQE_RESP_ERR, MLX5_CQE_RESP_ERR);
SAME(CQE_INVALID, MLX5_CQE_INVALID);
SAME(CQE_OWNER_MASK, MLX5_CQE_OWNER_MASK);
SAME(CQE_INLINE_SCATTER_32_F, MLX5_INLINE_SCATTER_32);
SAME(CQE_INLINE_SCATTER_64_F, MLX5_INLINE_SCATTER_64);
SAME(CQE_SYND_LOCAL_LENGTH, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
SAME(CQE_SYND_LOCAL_QP_OP, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
SAME(CQE_SYND_LOCAL_PROT, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
SAME(CQE_SYND_WR_FLUSH, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
SAME(CQE_SYND_MW_BIND, MLX5_CQE_SYNDROME_MW_BIND_ERR);
SAME(CQE_SYND_BAD_RESP, MLX5_CQE_SYNDROME_BAD_RESP_ERR);
SAME(CQE_SYND_LOCAL_ACCESS, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR);
SAME(CQE_SYND_REMOTE_INVAL_REQ, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
SAME(CQE_SYND_REMOTE_ACCESS, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
SAME(CQE_SYND_REMOTE_OP, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
SAME(CQE_SYND_RETRY_EXC, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
SAME(CQE_SYND_RNR_RETRY_EXC, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
SAME(CQE_SYND_REMOTE_ABORTED, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR);

SAME(DB_RECV, MLX5_RCV_DBR);
SAME(DB_SEND, MLX5_SND_DBR);
SAME(DB_UAR_CQ, MLX5_CQ_DOORBELL);
SAME(DB_CQ_CMD_ANY, MLX5_CQ_DB_REQ_NOT);
SAME(DB_CQ_CMD_SOLICITED, MLX5_CQ_DB_REQ_NOT_SOL);

SAME(UV_QP_STATE, IBV_QP_STATE);
SAME(UV_QP_CUR_STATE, IBV_QP_CUR_STATE);
SAME(UV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(UV_QP_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME(UV_QP_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(UV_QP_PORT, IBV_QP_PORT);
SAME(UV_QP_QKEY, IBV_QP_QKEY);
SAME(UV_QP_AV, IBV_QP_AV);
SAME(UV_QP_PATH_MTU, IBV_QP_PATH_MTU);
SAME(UV_QP_TIMEOUT, IBV_QP_TIMEOUT);
SAME(UV_QP_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME(UV_QP_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(UV_QP_RQ_PSN, IBV_QP_RQ_PSN);
SAME(UV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(UV_QP_ALT_PATH, IBV_QP_ALT_PATH);
SAME(UV_QP_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(UV_QP_SQ_PSN, IBV_QP_SQ_PSN);
SAME(UV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(UV_QP_PATH_MIG_STATE, IBV_QP_PATH_MIG_STATE);
SAME(UV_QP_CAP, IBV_QP_CAP);
SAME(UV_QP_DEST_QPN, IBV_QP_DEST_QPN);
SAME(UV_QP_RATE_LIMIT, IBV_QP_RATE_LIMIT);
SAME(UV_QPS_RESET, IBV_QPS_RESET);
SAME(UV_QPS_INIT, IBV_QPS_INIT);
SAME(UV_QPS_RTR, IBV_QPS_RTR);
SAME(UV_QPS_RTS, IBV_QPS_RTS);
SAME(UV_QPS_SQD, IBV_QPS_SQD);
SAME(UV_QPS_SQE, IBV_QPS_SQE);
SAME(UV_QPS_ERR, IBV_QPS_ERR);
SAME(UV_PORT_NOP, IBV_PORT_NOP);
SAME(UV_PORT_DOWN, IBV_PORT_DOWN);
SAME(UV_PORT_INIT, IBV_PORT_INIT);
SAME(UV_PORT_ARMED, IBV_PORT_ARMED);
SAME(UV_PORT_ACTIVE, IBV_PORT_ACTIVE);
SAME(UV_PORT_ACTIVE_DEFER, IBV_PORT_ACTIVE_DEFER);
SAME(UV_LINK_LAYER_UNSPECIFIED, IBV_LINK_LAYER_UNSPECIFIED);
SAME(UV_LINK_LAYER_INFINIBAND, IBV_LINK_LAYER_INFINIBAND);
SAME(UV_LINK_LAYER_ETHERNET, IBV_LINK_LAYER_ETHERNET);
SAME(UV_MTU_256, IBV_MTU_256);
SAME(UV_MTU_512, IBV_MTU_512);
SAME(UV_MTU_1024, IBV_MTU_1024);
SAME(UV_MTU_2048, IBV_MTU_2048);
SAME(UV_MTU_4096, IBV_MTU_4096);
SAME(UV_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR);
SAME(UV_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL);
SAME(UV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
SAME(UV_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
SAME(UV_EVENT_COMM_EST, IBV_EVENT_COMM_EST);
SAME(UV_EVENT_SQ_DRAINED, IBV_EVENT_SQ_DRAINED);
SAME(UV_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG);
SAME(UV_EVENT_PATH_MIG_ERR, IBV_EVENT_PATH_MIG_ERR);
SAME(UV_EVENT_DEVICE_FATAL, IBV_EVENT_DEVICE_FATAL);
SAME(UV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE);
SAME(UV_EVENT_PORT_ERR, IBV_EVENT_PORT_ERR);
SAME(UV_EVENT_LID_CHANGE, IBV_EVENT_LID_CHANGE);
SAME(UV_EVENT_PKEY_CHANGE, IBV_EVENT_PKEY_CHANGE);
SAME(UV_EVENT_SM_CHANGE, IBV_EVENT_SM_CHANGE);
SAME(UV_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR);
SAME(UV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED);
SAME(UV_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED);
SAME(UV_EVENT_CLIENT_REREGISTER, IBV_EVENT_CLIENT_REREGISTER);
SAME(UV_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE);
SAME(UV_EVENT_WQ_FATAL, IBV_EVENT_WQ_FATAL);
SAME(UV_DEVICE_RC_RNR_NAK_GEN_F, IBV_DEVICE_RC_RNR_NAK_GEN);
SAME(UV_ATOMIC_NONE, IBV_ATOMIC_NONE);
SAME(UV_ATOMIC_HCA, IBV_ATOMIC_HCA);
SAME(UV_ATOMIC_GLOB, IBV_ATOMIC_GLOB);
SAME(UV_PORT_CM_SUP_F, IBV_PORT_CM_SUP);
SAME(UV_PORT_IP_BASED_GIDS_F, IBV_PORT_IP_BASED_GIDS);
SAME(sizeof(struct ib_uverbs_qp_cap), sizeof(struct ibv_qp_cap));

/* Shows that our ctrl words are those of mlx5dv.h.
 * By setting one segment with each and comparing the bytes. */
static void ctrl_segment_equals_mlx5dv(void **state)
{
	struct wqe_ctrl_seg ours = {0};
	struct mlx5_wqe_ctrl_seg theirs = {0};

	(void)state;
	mlx5dv_set_ctrl_seg(&theirs, 0x1234, MLX5_OPCODE_ATOMIC_MASKED_CS, WQE_OPMOD_ATOMIC_64,
			    0xabcdef, MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_FENCE, 5, 0,
			    htobe32(0xdeadbeef));
	ours.opmod_idx_opcode =
		wqe_ctrl_op(WQE_OPMOD_ATOMIC_64, 0x1234, WQE_OP_ATOMIC_MASKED_CS);
	ours.qpn_ds = wqe_ctrl_qpn_ds(0xabcdef, 5);
	ours.fm_ce_se = WQE_CE_ALWAYS | WQE_FM_FENCE;
	ours.imm = be32_from(0xdeadbeef);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
	assert_int_equal(wqe_ctrl_opmod(&ours), WQE_OPMOD_ATOMIC_64);
	assert_int_equal(wqe_ctrl_index(&ours), 0x1234);
	assert_int_equal(wqe_ctrl_opcode(&ours), WQE_OP_ATOMIC_MASKED_CS);
	assert_int_equal(wqe_ctrl_qpn(&ours), 0xabcdef);
	assert_int_equal(wqe_ctrl_ds(&ours), 5);
}

/* Shows that our data and datagram segments are those of mlx5dv.h.
 * By setting each with both and comparing the bytes. */
static void other_segments_equal_mlx5dv(void **state)
{
	struct wqe_data_seg data = {be32_from(64), be32_from(0x1020304),
				    be64_from(0x1122334455667788)};
	struct mlx5_wqe_data_seg their_data = {0};
	struct wqe_av av = {0};
	struct mlx5_wqe_datagram_seg their_av = {0};
	uint8_t rmac[6] = {1, 2, 3, 4, 5, 6}, rgid[16] = {0xfe, 0x80, [15] = 9};

	(void)state;
	mlx5dv_set_data_seg(&their_data, 64, 0x1020304, 0x1122334455667788);
	assert_memory_equal(&data, &their_data, sizeof(data));

	mlx5dv_set_dgram_seg(&their_av, 0x1badcafe00000000, 0x15, 1, 0x32, 7, 0xc123, rmac, 0x20,
			     64, 0x300000, rgid);
	av.dc_key = be64_from(0x1badcafe00000000);
	av.dqp_dct = be32_from(WQE_AV_EXTENDED_F | 0x15);
	av.stat_rate_sl = 3 << 4 | 2;
	av.fl_mlid = 7;
	av.rlid = be16_from(0xc123);
	memcpy(av.rmac, rmac, 6);
	av.tclass = 0x20;
	av.hop_limit = 64;
	av.grh_gid_fl = be32_from(0x300000);
	memcpy(av.rgid, rgid, 16);
	assert_memory_equal(&av, &their_av, sizeof(av));
}

/* Shows that every op_own byte we make reads back through mlx5dv.h, and through our getters.
 * By trying all opcodes with both flags. */
static void op_own_equals_mlx5dv(void **state)
{
	struct mlx5_cqe64 cqe = {0};

	(void)state;
	for (unsigned int i = 0; i < 64; i++) {
		cqe.op_own = cqe_op_own((enum cqe_opcode)(i >> 2), i & 2, i & 1);
		assert_int_equal(mlx5dv_get_cqe_opcode(&cqe), i >> 2);
		assert_int_equal(mlx5dv_get_cqe_se(&cqe), i >> 1 & 1);
		assert_int_equal(mlx5dv_get_cqe_owner(&cqe), i & 1);
		assert_int_equal(mlx5dv_get_cqe_format(&cqe), 0);
		assert_int_equal(cqe_opcode_of(cqe.op_own), i >> 2);
		assert_int_equal(cqe_owner_of(cqe.op_own), i & 1);
		assert_int_equal(cqe_is_error(cqe.op_own), i >> 2 == 13 || i >> 2 == 14);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ctrl_segment_equals_mlx5dv),
		cmocka_unit_test(other_segments_equal_mlx5dv),
		cmocka_unit_test(op_own_equals_mlx5dv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
