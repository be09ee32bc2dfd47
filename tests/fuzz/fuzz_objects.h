/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_objects.h - a part of ioctl_fuzz.c: objects of the verbs beyond those of a connected queue
 * pair. Their calls are good, or would be but for the damage that befalls every call.
 */
#ifndef TESTS_FUZZ_FUZZ_OBJECTS_H
#define TESTS_FUZZ_FUZZ_OBJECTS_H

/* A command of the older interface; its answer is not looked at. */
static int command(uint32_t cmd, const void *req, size_t len, uint16_t resp_len)
{
	return rig_write(&rig, cmd, req, (uint16_t)len, NULL, resp_len, NULL, 0);
}

static int make_domain(uint8_t how)
{
	struct ib_uverbs_open_xrcd req = {.fd = how & 1 ? how : UINT32_MAX,
					  .oflags = how & 2 ? 0100 : how & 0300};

	return command(IB_USER_VERBS_CMD_OPEN_XRCD, &req, sizeof(req),
		       sizeof(struct ib_uverbs_open_xrcd_resp));
}

static int make_target(void)
{
	struct ib_uverbs_qp_cap cap = {0};

	rig_call(&rig, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	rig_attr(&rig, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	rig_attr(&rig, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, handle_of_type(KERN_XRCD), 0);
	rig_in64(&rig, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0);
	rig_in(&rig, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	rig_in64(&rig, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_XRC_TGT);
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap));
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, sizeof(uint32_t));
	return rig_run(&rig);
}

static int make_srq(uint8_t how)
{
	struct mlx5_ib_create_srq driver = {.buf_addr = rig_va(rig_alloc(&rig, 32 * 64)),
					    .db_addr = rig_va(rig_alloc(&rig, 64)),
					    .uidx = how};

	rig_call(&rig, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	rig_attr(&rig, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0, 0);
	rig_attr(&rig, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, known[KNOWN_PD][0], 0);
	rig_in64(&rig, UVERBS_ATTR_CREATE_SRQ_TYPE,
		 how & 1 ? IB_UVERBS_SRQT_XRC : IB_UVERBS_SRQT_BASIC);
	rig_in64(&rig, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, how);
	rig_in32(&rig, UVERBS_ATTR_CREATE_SRQ_MAX_WR, how >> 2 & 0x1f);
	rig_in32(&rig, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 1 + (how & 1));
	rig_in32(&rig, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	if (how & 1) {
		rig_attr(&rig, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, handle_of_type(KERN_XRCD), 0);
		rig_attr(&rig, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, handle_of_type(KERN_CQ), 0);
	}
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4);
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4);
	(void)rig_out(&rig, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4);
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	(void)rig_out(&rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_srq_resp));
	return rig_run(&rig);
}

static int make_other_qp(uint8_t how)
{
	static const uint32_t types[] = {IB_UVERBS_QPT_UC, IB_UVERBS_QPT_UD,
					 IB_UVERBS_QPT_XRC_INI, IB_UVERBS_QPT_RC};
	struct rig_qp qp = {.pd = known[KNOWN_PD][0],
			    .send_cq = handle_of_type(KERN_CQ),
			    .uar_page = known_page,
			    .type = types[how & 3],
			    .sq_count = 4,
			    .rq_count = (how & 3) == 2 ? 0 : 4};
	int error;

	qp.recv_cq = qp.send_cq;
	error = rig_qp(&rig, &qp);
	if (!error && how & 4)
		return rig_connect(&rig, &qp, pair.number);
	return learn(KNOWN_QP, qp.handle, error);
}

static int use_group(uint8_t how)
{
	struct ib_uverbs_attach_mcast req = {
	    .gid = {0xff, 0x0e, [15] = how & 3}, .qp_handle = handle_of_type(KERN_QP)};

	return command(how & 0x80 ? IB_USER_VERBS_CMD_DETACH_MCAST : IB_USER_VERBS_CMD_ATTACH_MCAST,
		       &req, sizeof(req), 0);
}

static int make_address(uint8_t how)
{
	struct ib_uverbs_create_ah req = {
	    .pd_handle = known[KNOWN_PD][0],
	    .attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = how & 1}};

	return command(IB_USER_VERBS_CMD_CREATE_AH, &req, sizeof(req),
		       sizeof(struct ib_uverbs_create_ah_resp));
}

static int change_region(uint8_t how)
{
	struct ib_uverbs_rereg_mr req = {.flags = how & 7,
					 .mr_handle = handle_of_type(KERN_MR),
					 .pd_handle = handle_of_type(KERN_PD),
					 .access_flags = how >> 3 & 0xf,
					 .length = 4096};

	req.start = req.hca_va = rig_va(rig_alloc(&rig, 8192)) & ~4095ull;
	return command(IB_USER_VERBS_CMD_REREG_MR, &req, sizeof(req),
		       sizeof(struct ib_uverbs_rereg_mr_resp));
}

static int use_srq(uint8_t how)
{
	struct ib_uverbs_modify_srq modify = {.srq_handle = handle_of_type(KERN_SRQ),
					      .attr_mask = how & 3,
					      .srq_limit = how >> 3};
	struct ib_uverbs_query_srq query = {.srq_handle = modify.srq_handle};

	if (how & 4)
		return command(IB_USER_VERBS_CMD_QUERY_SRQ, &query, sizeof(query),
			       sizeof(struct ib_uverbs_query_srq_resp));
	return command(IB_USER_VERBS_CMD_MODIFY_SRQ, &modify, sizeof(modify), 0);
}

static int make_window(uint8_t how)
{
	struct ib_uverbs_alloc_mw req = {.pd_handle = known[KNOWN_PD][0], .mw_type = 1 + how % 2};

	return command(IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req),
		       sizeof(struct ib_uverbs_alloc_mw_resp));
}

static int open_target(uint8_t how)
{
	uint32_t handle = handle_of_type(KERN_QP);
	struct ib_uverbs_open_qp req = {.pd_handle = handle_of_type(KERN_XRCD),
					.qpn = how,
					.qp_type = IB_UVERBS_QPT_XRC_TGT};

	if (handle < rig.kern->object_fresh)
		req.qpn = rig.kern->objects[handle].number;
	return command(IB_USER_VERBS_CMD_OPEN_QP, &req, sizeof(req),
		       sizeof(struct ib_uverbs_create_qp_resp));
}

static int make_device_memory(uint8_t how)
{
	rig_call(&rig, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	rig_attr(&rig, UVERBS_ATTR_ALLOC_DM_HANDLE, 0, 0);
	rig_in64(&rig, UVERBS_ATTR_ALLOC_DM_LENGTH, (uint64_t)how * 32);
	rig_in32(&rig, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, how & 3);
	(void)rig_out(&rig, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, 8);
	(void)rig_out(&rig, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, 2);
	return rig_run(&rig);
}

static int resize_cq(uint8_t how)
{
	struct ib_uverbs_resize_cq req = {.cq_handle = handle_of_type(KERN_CQ), .cqe = how};
	struct mlx5_ib_resize_cq driver = {.buf_addr = rig_va(rig_alloc(&rig, 256 * 64)),
					   .cqe_size = 64};

	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(&rig, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_RESIZE_CQ);
	rig_in(&rig, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	(void)rig_out(&rig, UVERBS_ATTR_CORE_OUT, sizeof(struct ib_uverbs_resize_cq_resp));
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	return rig_run(&rig);
}

static int step_object(void)
{
	uint8_t how = fuzz_u8(&in), kind = fuzz_u8(&in);

	if (kind >= 0xc0)
		return kind & 1 ? make_device_memory(how) : resize_cq(how);
	if (kind >= 0xa0)
		return use_rss(how, kind);
	switch (kind % 10) {
	case 0:
		return make_domain(how);
	case 1:
		return make_target();
	case 2:
		return make_srq(how);
	case 3:
		return make_other_qp(how);
	case 4:
		return use_group(how);
	case 5:
		return make_address(how);
	case 6:
		return change_region(how);
	case 7:
		return use_srq(how);
	case 8:
		return make_window(how);
	default:
		return open_target(how);
	}
}

#endif
