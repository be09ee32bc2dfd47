/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_rss.h - a part of ioctl_fuzz.c: work queues, tables of them, queue pairs with a hash, and
 * rules that lead to raw packet queue pairs.
 */
#ifndef TESTS_FUZZ_FUZZ_RSS_H
#define TESTS_FUZZ_FUZZ_RSS_H

static int make_wq(uint8_t how)
{
	struct mlx5_ib_create_wq driver = {.buf_addr = rig_va(rig_alloc(&rig, 4 * 64)),
					   .db_addr = rig_va(rig_alloc(&rig, 64)),
					   .rq_wqe_count = 1u << (how & 3),
					   .rq_wqe_shift = 4 + (how >> 2 & 3)};

	rig_call(&rig, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE);
	rig_attr(&rig, UVERBS_ATTR_CREATE_WQ_HANDLE, 0, 0);
	rig_in64(&rig, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, how);
	rig_attr(&rig, UVERBS_ATTR_CREATE_WQ_PD_HANDLE, known[KNOWN_PD][0], 0);
	rig_attr(&rig, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, handle_of_type(KERN_CQ), 0);
	rig_in64(&rig, UVERBS_ATTR_CREATE_WQ_TYPE, IB_UVERBS_WQT_RQ);
	rig_in32(&rig, UVERBS_ATTR_CREATE_WQ_MAX_WR, 1);
	rig_in32(&rig, UVERBS_ATTR_CREATE_WQ_MAX_SGE, 1);
	rig_in32(&rig, UVERBS_ATTR_CREATE_WQ_FLAGS, 0);
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, 4);
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, 4);
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	return rig_run(&rig);
}

static int modify_wq(uint8_t how)
{
	struct ib_uverbs_ex_modify_wq req = {.wq_handle = handle_of_type(KERN_WQ),
					     .attr_mask = 1 + (how >> 2 & 7),
					     .wq_state = how & 3,
					     .curr_wq_state = how >> 5 & 3};
	uint64_t driver = 0;

	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(&rig, UVERBS_ATTR_WRITE_CMD, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ));
	rig_in(&rig, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	return rig_run(&rig);
}

static int make_table(uint8_t how)
{
	uint32_t req[2 + 8] = {0, how & 7};

	for (unsigned int i = 0; i < 8; i++)
		req[2 + i] = handle_of_type(how & 0x80 && i == 0 ? KERN_FREE : KERN_WQ);
	return rig_write(&rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), req,
			 (uint16_t)(8 + (4u << (how & 3))), NULL,
			 sizeof(struct ib_uverbs_ex_create_rwq_ind_table_resp), NULL, 0);
}

static int make_rss(uint8_t how)
{
	struct ib_uverbs_qp_cap cap = {0};
	struct mlx5_ib_create_qp_rss driver = {.rx_hash_fields_mask = how,
					       .rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ,
					       .rx_key_len = 40};

	rig_call(&rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	rig_attr(&rig, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	rig_attr(&rig, UVERBS_ATTR_CREATE_QP_PD_HANDLE, known[KNOWN_PD][0], 0);
	rig_attr(&rig, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, handle_of_type(KERN_RWQ_TABLE), 0);
	rig_in64(&rig, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0);
	rig_in(&rig, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	rig_in64(&rig, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_RAW_PACKET);
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap));
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	return rig_run(&rig);
}

static int make_rule(uint8_t how)
{
	struct ib_uverbs_create_flow req = {
	    .qp_handle = handle_of_type(KERN_QP),
	    .flow_attr = {.type = how & 1 ? UV_FLOW_ALL_DEFAULT : UV_FLOW_MC_DEFAULT, .port = 1}};

	return rig_write(&rig, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_FLOW), &req, sizeof(req),
			 NULL, sizeof(struct ib_uverbs_create_flow_resp), NULL, 0);
}

static int use_rss(uint8_t how, uint8_t kind)
{
	switch (kind & 7) {
	case 0:
	case 1:
		return make_wq(how);
	case 2:
		return modify_wq(how);
	case 3:
	case 4:
		return make_table(how);
	case 5:
	case 6:
		return make_rss(how);
	default:
		return make_rule(how);
	}
}

#endif
