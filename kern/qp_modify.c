/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qp_modify.c - MODIFY_QP and QUERY_QP: the verbs' attributes to and from the nic's.
 *
 * Which state may follow which, with what attributes, is the nic's business; here is what the
 * kernel checks before its driver sees the request [linux uverbs_cmd.c modify_qp, verbs.c, mlx5
 * qp.c].
 */
#include "kern/state.h"

#include "base/assert.h"

#include <string.h>

enum {
	MASK_STANDARD = (1 << 21) - 1,
	/* Not offered: a second path, resizing. */
	MASK_REFUSED = UV_QP_ALT_PATH | UV_QP_CAP,
	PATH_MIGRATED = 0,
	HOP_LIMIT_DEFAULT = 64,
	FLOW_LABEL_MASK = 0xfffff,
};

static const struct {
	uint32_t verbs;
	uint32_t nic;
} masks[] = {
    {UV_QP_STATE, NIC_QP_SET_STATE_F},
    {UV_QP_CUR_STATE, NIC_QP_SET_CUR_STATE_F},
    {UV_QP_ACCESS_FLAGS, NIC_QP_SET_ACCESS_F},
    {UV_QP_PKEY_INDEX, NIC_QP_SET_PKEY_INDEX_F},
    {UV_QP_PORT, NIC_QP_SET_PORT_F},
    {UV_QP_AV, NIC_QP_SET_PATH_F},
    {UV_QP_PATH_MTU, NIC_QP_SET_MTU_F},
    {UV_QP_TIMEOUT, NIC_QP_SET_TIMEOUT_F},
    {UV_QP_RETRY_CNT, NIC_QP_SET_RETRY_F},
    {UV_QP_RNR_RETRY, NIC_QP_SET_RNR_RETRY_F},
    {UV_QP_RQ_PSN, NIC_QP_SET_RQ_PSN_F},
    {UV_QP_MAX_QP_RD_ATOMIC, NIC_QP_SET_RD_ATOMIC_F},
    {UV_QP_MIN_RNR_TIMER, NIC_QP_SET_MIN_RNR_TIMER_F},
    {UV_QP_SQ_PSN, NIC_QP_SET_SQ_PSN_F},
    {UV_QP_MAX_DEST_RD_ATOMIC, NIC_QP_SET_DEST_RD_ATOMIC_F},
    {UV_QP_DEST_QPN, NIC_QP_SET_DEST_QPN_F},
    {UV_QP_QKEY, NIC_QP_SET_QKEY_F},
};

enum {
	REMOTE_ACCESS = IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
			IB_UVERBS_ACCESS_REMOTE_ATOMIC,
};

/* enum uv_qp_state and enum nic_qp_state have the same values. */
_Static_assert((int)NIC_QP_RESET == UV_QPS_RESET && (int)NIC_QP_INIT == UV_QPS_INIT &&
		   (int)NIC_QP_RTR == UV_QPS_RTR && (int)NIC_QP_RTS == UV_QPS_RTS &&
		   (int)NIC_QP_SQD == UV_QPS_SQD && (int)NIC_QP_SQE == UV_QPS_SQE &&
		   (int)NIC_QP_ERR == UV_QPS_ERR,
	       "queue pair states");

static uint32_t access_from_nic(uint32_t nic)
{
	uint32_t access = 0;

	if (nic & NIC_ACCESS_REMOTE_WRITE_F)
		access |= IB_UVERBS_ACCESS_REMOTE_WRITE;
	if (nic & NIC_ACCESS_REMOTE_READ_F)
		access |= IB_UVERBS_ACCESS_REMOTE_READ;
	if (nic & NIC_ACCESS_REMOTE_ATOMIC_F)
		access |= IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* [linux uverbs_cmd.c modify_qp]: the port of the address, and where it stands in for the port. */
static int check_ports(struct ib_uverbs_modify_qp *req, uint8_t qp_port)
{
	bool to_rtr = req->attr_mask & UV_QP_STATE && req->qp_state == UV_QPS_RTR;

	if (req->attr_mask & UV_QP_PORT && req->port_num != KERN_PORT)
		return -EINVAL;
	if (!(req->attr_mask & UV_QP_AV))
		return 0;
	if (req->dest.port_num != KERN_PORT)
		return -EINVAL;
	if (to_rtr)
		return req->dest.port_num == qp_port ? 0 : -EINVAL;
	if (!(req->attr_mask & UV_QP_PORT)) {
		req->attr_mask |= UV_QP_PORT;
		req->port_num = req->dest.port_num;
	}
	return 0;
}

static int check_values(const struct kern *kern, const struct ib_uverbs_modify_qp *req)
{
	uint32_t mask = req->attr_mask;

	if ((mask & UV_QP_CUR_STATE && req->cur_qp_state > UV_QPS_ERR) ||
	    (mask & UV_QP_STATE && req->qp_state > UV_QPS_ERR))
		return -EINVAL;
	if (mask & MASK_REFUSED)
		return -EINVAL;
	if (mask & UV_QP_PATH_MIG_STATE && req->path_mig_state != PATH_MIGRATED)
		return -EINVAL;
	if (mask & UV_QP_PKEY_INDEX && req->pkey_index >= KERN_PKEY_TABLE_COUNT)
		return -EINVAL;
	if (mask & UV_QP_PATH_MTU && (uv_mtu_bytes(req->path_mtu) == 0 ||
				      uv_mtu_bytes(req->path_mtu) > kern->config.mtu_bytes))
		return -EINVAL;
	if (mask & UV_QP_MAX_QP_RD_ATOMIC && req->max_rd_atomic > kern->config.limits.rd_atomic_max)
		return -EINVAL;
	if (mask & UV_QP_MAX_DEST_RD_ATOMIC &&
	    req->max_dest_rd_atomic > kern->config.limits.rd_atomic_max)
		return -EINVAL;
	return 0;
}

/* ---- the path ---------------------------------------------------------------------------------
 */

/* [linux rdma_get_udp_sport]: from the flow label, or else from both queue pair numbers. */
uint16_t kern_udp_sport(uint32_t flow_label, uint32_t qpn, uint32_t dest_qpn)
{
	uint32_t label = flow_label & FLOW_LABEL_MASK;
	uint64_t product;

	if (label == 0) {
		product = (uint64_t)qpn * dest_qpn;
		product ^= product >> 20;
		product ^= product >> 40;
		label = product & FLOW_LABEL_MASK;
	}
	return (uint16_t)(((label & 0x3fff) ^ label >> 14) | KERN_UDP_SPORT_FIRST);
}

static int path_from(const struct kern *kern, const struct ib_uverbs_qp_dest *dest,
		     struct nic_path *path)
{
	const uint8_t *sgid;
	int error;

	*path = (struct nic_path){.sl = dest->sl};
	if (kern->config.link_infiniband) {
		path->slid = kern->config.lid;
		path->dlid = dest->dlid;
	}
	if (!dest->is_global)
		return kern->config.link_infiniband ? 0 : -EINVAL;
	error = kern_gid(kern, dest->sgid_index, &sgid);
	if (error)
		return error;
	memcpy(path->sgid, sgid, sizeof(path->sgid));
	memcpy(path->dgid, dest->dgid, sizeof(path->dgid));
	path->sgid_index = dest->sgid_index;
	path->traffic_class = dest->traffic_class & 0xfc;
	path->hop_limit = dest->hop_limit ? dest->hop_limit : HOP_LIMIT_DEFAULT;
	path->flow_label = dest->flow_label & FLOW_LABEL_MASK;
	return 0;
}

static void path_to(const struct nic_qp_params *params, bool infiniband,
		    struct ib_uverbs_qp_dest *dest)
{
	static const uint8_t none[16];
	const struct nic_path *path = &params->path;

	memcpy(dest->dgid, path->dgid, sizeof(dest->dgid));
	dest->flow_label = path->flow_label;
	dest->dlid = path->dlid;
	dest->sgid_index = path->sgid_index;
	dest->hop_limit = path->hop_limit;
	dest->traffic_class = path->traffic_class;
	dest->sl = path->sl;
	/* A port's own GID is never zero, so a path without one has no global route. */
	dest->is_global = !infiniband || memcmp(path->sgid, none, sizeof(none)) != 0;
	dest->port_num = params->port;
}

/* What concerns the other half of XRC is left aside, not refused [linux uverbs_cmd.c]. */
static uint32_t mask_for(const struct kern_object *qp, uint32_t mask)
{
	if (qp->qp_type == NIC_QP_XRC_INI)
		return mask & ~(uint32_t)(UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER);
	if (qp->qp_type == NIC_QP_XRC_TGT)
		return mask &
		       ~(uint32_t)(UV_QP_MAX_QP_RD_ATOMIC | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY);
	return mask;
}

/* A target goes to RTR and no further, and only by the request whose answer has room for its number
 * [linux mlx5_ib_modify_dct]. */
static int check_dct(struct kern_call *call, const struct ib_uverbs_modify_qp *req, bool extended)
{
	if (!(req->attr_mask & UV_QP_STATE) ||
	    (req->qp_state != UV_QPS_INIT && req->qp_state != UV_QPS_RTR))
		return -EINVAL;
	if (req->qp_state == UV_QPS_INIT)
		return 0;
	return extended && kern_call_len(call, UVERBS_ATTR_UHW_OUT) >=
			       offsetof(struct mlx5_ib_modify_qp_resp, ece_options)
		   ? 0
		   : -EINVAL;
}

/* ---- modify -----------------------------------------------------------------------------------
 */

static int params_from(const struct kern *kern, const struct ib_uverbs_modify_qp *req,
		       struct nic_qp_params *params)
{
	*params = (struct nic_qp_params){
	    .state = (enum nic_qp_state)req->qp_state,
	    .cur_state = (enum nic_qp_state)req->cur_qp_state,
	    .access = kern_nic_access(req->qp_access_flags & REMOTE_ACCESS),
	    .mtu_bytes = uv_mtu_bytes(req->path_mtu),
	    .timeout = req->timeout,
	    .retry_count = req->retry_cnt,
	    .rnr_retry = req->rnr_retry,
	    .min_rnr_timer = req->min_rnr_timer,
	    .rd_atomic = req->max_rd_atomic,
	    .dest_rd_atomic = req->max_dest_rd_atomic,
	    .port = req->port_num,
	    .pkey_index = req->pkey_index,
	    .rq_psn = req->rq_psn & 0xffffff,
	    .sq_psn = req->sq_psn & 0xffffff,
	    .dest_qpn = req->dest_qp_num & 0xffffff,
	    .qkey = req->qkey,
	};
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		if (req->attr_mask & masks[i].verbs)
			params->set |= masks[i].nic;
	return req->attr_mask & UV_QP_AV ? path_from(kern, &req->dest, &params->path) : 0;
}

/* What the driver's part of an answer says. */
struct answer {
	uint32_t ece_options; /* what the peer offers or has agreed to, and then what the queue pair
				 has; 0: the peer says nothing */
	uint32_t dctn;        /* of a DC target that is ready */
};

static int modify(struct kern_call *call, struct ib_uverbs_modify_qp *req, bool extended,
		  struct answer *answer)
{
	struct kern *kern = call->kern;
	struct nic_qp_params now, params;
	struct kern_object *qp;
	int error;

	if (kern_object_find(call->file, req->qp_handle, KERN_QP, &qp))
		return -EINVAL;
	if (qp->tirn != 0)
		return -ENOSYS;
	error = nic_qp_query(kern->nic, qp->number, &now);
	ASSERT(!error);
	req->attr_mask = mask_for(qp, req->attr_mask);
	error = check_ports(req, now.port);
	if (!error && qp->qp_type == NIC_QP_DCT)
		error = check_dct(call, req, extended);
	if (!error)
		error = check_values(kern, req);
	if (!error)
		error = params_from(kern, req, &params);
	if (error)
		return error;
	if (params.set & NIC_QP_SET_PATH_F)
		params.path.udp_sport = kern_udp_sport(
		    params.path.flow_label, qp->number,
		    params.set & NIC_QP_SET_DEST_QPN_F ? params.dest_qpn : now.dest_qpn);
	if (answer->ece_options != 0)
		params.set |= NIC_QP_SET_ECE_F;
	params.ece = answer->ece_options;
	error = nic_qp_modify(kern->nic, qp->number, &params, call->now_ns);
	if (!error && answer->ece_options != 0) {
		error = nic_qp_query(kern->nic, qp->number, &now);
		answer->ece_options = now.ece;
	}
	if (!error && qp->qp_type == NIC_QP_DCT && req->qp_state == UV_QPS_RTR)
		answer->dctn = qp->number;
	return error;
}

/* mlx5's own part of the request: ECE, and pacing, which is not offered. */
static int read_driver_part(struct kern_call *call, uint32_t *ece_options)
{
	struct mlx5_ib_modify_qp driver;
	size_t len = kern_call_len(call, UVERBS_ATTR_UHW_IN);
	int error;

	*ece_options = 0;
	if (len == 0)
		return 0;
	if (len < offsetof(struct mlx5_ib_modify_qp, ece_options))
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	if (error)
		return error;
	if (driver.comp_mask || driver.burst_info.max_burst_sz ||
	    driver.burst_info.typical_pkt_sz || driver.burst_info.reserved)
		return -EOPNOTSUPP;
	*ece_options = driver.ece_options;
	return 0;
}

static int write_driver_part(struct kern_call *call, const struct answer *answer)
{
	struct mlx5_ib_modify_qp_resp resp = {
	    .response_length = offsetof(struct mlx5_ib_modify_qp_resp, reserved),
	    .dctn = answer->dctn,
	    .ece_options = answer->ece_options,
	};
	size_t len = kern_call_len(call, UVERBS_ATTR_UHW_OUT);

	if (len < resp.response_length && answer->dctn != 0)
		resp.response_length = offsetof(struct mlx5_ib_modify_qp_resp, ece_options);
	if (len < resp.response_length)
		return 0;
	return kern_call_write(call, UVERBS_ATTR_UHW_OUT, &resp, resp.response_length);
}

int kern_write_modify_qp(struct kern_call *call)
{
	struct ib_uverbs_modify_qp req;
	struct answer answer = {.dctn = 0};
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (!error)
		error = read_driver_part(call, &answer.ece_options);
	if (error)
		return error;
	if (req.attr_mask & ~(uint32_t)MASK_STANDARD)
		return -EOPNOTSUPP;
	return modify(call, &req, false, &answer);
}

int kern_write_modify_qp_ex(struct kern_call *call)
{
	struct ib_uverbs_ex_modify_qp req;
	struct ib_uverbs_ex_modify_qp_resp resp = {.response_length = sizeof(resp)};
	struct answer answer = {.dctn = 0};
	bool ece_asked;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (!error)
		error = read_driver_part(call, &answer.ece_options);
	if (error)
		return error;
	ece_asked = answer.ece_options != 0;
	if (req.base.attr_mask & ~(uint32_t)(MASK_STANDARD | UV_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if (req.base.attr_mask & UV_QP_RATE_LIMIT)
		return -EINVAL; /* mlx5: only raw packet queue pairs have a rate limit */
	error = modify(call, &req.base, true, &answer);
	if (!error && (ece_asked || answer.dctn != 0))
		error = write_driver_part(call, &answer);
	if (error)
		return error;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- query ------------------------------------------------------------------------------------
 */

int kern_write_query_qp(struct kern_call *call)
{
	struct kern *kern = call->kern;
	struct ib_uverbs_query_qp req;
	struct ib_uverbs_query_qp_resp resp;
	struct nic_qp_params params;
	struct kern_object *qp;
	int error;

	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	if (kern_object_find(call->file, req.qp_handle, KERN_QP, &qp))
		return -EINVAL;
	if (qp->tirn != 0)
		return -ENOSYS;
	error = nic_qp_query(kern->nic, qp->number, &params);
	ASSERT(!error);
	resp = (struct ib_uverbs_query_qp_resp){
	    /* The driver knows its send ring better than we do [uverbs.md 3.4]. */
	    .max_recv_wr = qp->rq_wqe_count,
	    .max_recv_sge = qp->cap.max_recv_sge,
	    .max_inline_data = qp->cap.max_inline_data,
	    .qkey = params.qkey,
	    .rq_psn = params.rq_psn,
	    .sq_psn = params.sq_psn,
	    .dest_qp_num = params.dest_qpn,
	    .qp_access_flags = access_from_nic(params.access),
	    .pkey_index = params.pkey_index,
	    .qp_state = (uint8_t)params.state,
	    .cur_qp_state = (uint8_t)params.state,
	    .path_mtu = (uint8_t)kern_mtu_code(params.mtu_bytes),
	    .max_rd_atomic = params.rd_atomic,
	    .max_dest_rd_atomic = params.dest_rd_atomic,
	    .min_rnr_timer = params.min_rnr_timer,
	    .port_num = params.port,
	    .timeout = params.timeout,
	    .retry_cnt = params.retry_count,
	    .rnr_retry = params.rnr_retry,
	    .sq_sig_all = qp->sq_signal_all,
	};
	if (qp->qp_type != NIC_QP_UD && qp->qp_type != NIC_QP_RAW && qp->qp_type != NIC_QP_DCI &&
	    qp->qp_type != NIC_QP_DCT)
		path_to(&params, kern->config.link_infiniband, &resp.dest);
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}
