/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect.c - a queue pair's endpoint, and its way from reset to ready to send.
 *
 * Three commands, each with the attributes that the transition requires and no other [IBTA1
 * 10.3.1]; the kernel resolves the peer's MAC address. After a refusal the queue pair goes back to
 * reset, from where all of it can be tried again.
 */
#include "lib/path.h"
#include "lib/uioctl.h"

#include "base/ring.h"

#include <string.h>

enum {
	TIMEOUT_ETHERNET = 14,	 /* 4.096 us << 14: 67 ms */
	TIMEOUT_INFINIBAND = 18, /* 1.07 s */
	RETRIES = 7,
	RNR_WITHOUT_END = 7,
	QPN_RESERVED_BELOW = 2,
	QPN_MAX = 0xfffffe,	 /* 0xffffff is the multicast number */
};

int rig_qp_endpoint(const struct rig_qp *qp, struct rig_endpoint *endpoint)
{
	struct rig_nic *nic;
	int err;

	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, "rig_qp_endpoint");
	if (!endpoint)
		return lib_fail(EINVAL, "rig_qp_endpoint: no place for the endpoint");
	nic = qp->shell.nic;
	err = lib_nic_lock(nic, "rig_qp_endpoint");
	if (err)
		return err;
	err = lib_port_refresh(nic, "rig_qp_endpoint");
	if (!err) {
		memset(endpoint, 0, sizeof(*endpoint));
		endpoint->qp = qp->number;
		endpoint->psn = qp->psn;
		endpoint->address = nic->port.address;
		endpoint->mtu_bytes = nic->port.mtu_bytes;
		endpoint->ece = qp->ece;
	}
	lib_nic_unlock(nic);
	return err;
}

/* lib_mtu_code - the code of an MTU in bytes; 0: none has it. */
uint8_t lib_mtu_code(uint32_t mtu_bytes)
{
	for (unsigned int code = UV_MTU_256; code <= UV_MTU_4096; code++)
		if (uv_mtu_bytes(code) == mtu_bytes)
			return (uint8_t)code;
	return 0;
}

static int peer_check(const struct lib_port *port, const struct rig_endpoint *peer)
{
	if (peer->qp < QPN_RESERVED_BELOW || peer->qp > QPN_MAX || peer->psn > PSN_MASK)
		return lib_fail(EINVAL, "rig_qp_connect: no queue pair has number 0x%x, psn 0x%x",
				peer->qp, peer->psn);
	if (!lib_mtu_code(peer->mtu_bytes))
		return lib_fail(EINVAL,
				"rig_qp_connect: an MTU of %u bytes; 256, 512, 1024, 2048 or"
				" 4096 are possible",
				peer->mtu_bytes);
	return lib_address_check(port, &peer->address, false, "rig_qp_connect");
}

int lib_qp_modify(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in, enum uv_qp_state state)
{
	const struct rig_nic *nic = qp->shell.nic;
	struct lib_cmd cmd;

	in->qp_handle = qp->handle;
	in->attr_mask |= UV_QP_STATE;
	in->qp_state = (uint8_t)state;
	lib_cmd_init_write(&cmd, IB_USER_VERBS_CMD_MODIFY_QP, in, sizeof(*in), NULL, 0);
	return lib_cmd_run(&cmd, nic->os, nic->fd);
}

/* modify_ex - the request whose answer has the driver's part. */
static int modify_ex(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in,
		     enum uv_qp_state state, uint32_t *word, uint32_t *number)
{
	const struct rig_nic *nic = qp->shell.nic;
	struct ib_uverbs_ex_modify_qp ex = {0};
	struct ib_uverbs_ex_modify_qp_resp resp = {0};
	struct mlx5_ib_modify_qp mlx5 = {.ece_options = *word};
	struct mlx5_ib_modify_qp_resp answer = {0};
	struct lib_cmd cmd;
	int err;

	in->qp_handle = qp->handle;
	in->attr_mask |= UV_QP_STATE;
	in->qp_state = (uint8_t)state;
	memcpy(&ex.base, in, sizeof(ex.base));
	lib_cmd_init_write(&cmd, UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), &ex, sizeof(ex),
			   &resp, sizeof(resp));
	lib_cmd_in(&cmd, UVERBS_ATTR_UHW_IN, &mlx5, sizeof(mlx5));
	lib_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &answer, sizeof(answer));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	if (err)
		return err;
	*word = answer.ece_options;
	if (number)
		*number = answer.dctn;
	return 0;
}

int lib_qp_modify_ece(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in,
		      enum uv_qp_state state, uint32_t *word)
{
	if (!*word)
		return lib_qp_modify(qp, in, state);
	return modify_ex(qp, in, state, word, NULL);
}

int lib_qp_modify_target(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in,
			 enum uv_qp_state state, uint32_t *word, uint32_t *number)
{
	return modify_ex(qp, in, state, word, number);
}

uint32_t lib_access_flags(enum rig_access access)
{
	switch (access) {
	case RIG_LOCAL:
		return 0;
	case RIG_REMOTE_WRITE:
		return IB_UVERBS_ACCESS_REMOTE_WRITE;
	case RIG_REMOTE_ALL:
		break;
	}
	return IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
	       IB_UVERBS_ACCESS_REMOTE_ATOMIC;
}

static int to_init_from_reset(const struct rig_qp *qp, enum rig_access access)
{
	struct ib_uverbs_modify_qp in = {0};

	in.attr_mask = UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_ACCESS_FLAGS;
	in.port_num = LIB_PORT;
	in.qp_access_flags = lib_access_flags(access);
	return lib_qp_modify(qp, &in, UV_QPS_INIT);
}

static void dest_set(struct ib_uverbs_qp_dest *dest, const struct lib_port *port,
		     const struct rig_endpoint *peer, const struct rig_path *path)
{
	dest->port_num = LIB_PORT;
	dest->dlid = peer->address.lid;
	dest->sl = path->service_level;
	if (port->link == RIG_LINK_INFINIBAND)
		return;
	dest->is_global = 1;
	memcpy(dest->dgid, peer->address.gid, sizeof(dest->dgid));
	dest->sgid_index = lib_path_sgid_index(port, path);
	dest->traffic_class = lib_path_tclass(path);
	dest->hop_limit = lib_path_hop_limit(path);
	dest->flow_label = path->flow_label;
}

static int to_rtr_from_init(const struct rig_qp *qp, const struct rig_endpoint *peer,
			    const struct rig_path *path, uint32_t *ece)
{
	const struct rig_nic *nic = qp->shell.nic;
	struct ib_uverbs_modify_qp in = {0};
	uint32_t mtu =
	    peer->mtu_bytes < nic->port.mtu_bytes ? peer->mtu_bytes : nic->port.mtu_bytes;

	in.attr_mask = UV_QP_AV | UV_QP_PATH_MTU | UV_QP_DEST_QPN | UV_QP_RQ_PSN |
		       UV_QP_MAX_DEST_RD_ATOMIC | UV_QP_MIN_RNR_TIMER;
	dest_set(&in.dest, &nic->port, peer, path);
	in.path_mtu = lib_mtu_code(mtu);
	in.dest_qp_num = peer->qp;
	in.rq_psn = peer->psn;
	in.max_dest_rd_atomic = nic->limits.rd_atomic_resp_max;
	in.min_rnr_timer = LIB_RNR_TIMER;
	return lib_qp_modify_ece(qp, &in, UV_QPS_RTR, ece);
}

void lib_retries_set(const struct rig_qp *qp, struct ib_uverbs_modify_qp *in)
{
	const struct rig_nic *nic = qp->shell.nic;

	in->attr_mask |= UV_QP_TIMEOUT | UV_QP_RETRY_CNT | UV_QP_RNR_RETRY | UV_QP_SQ_PSN |
			 UV_QP_MAX_QP_RD_ATOMIC;
	in->timeout = nic->port.link == RIG_LINK_ETHERNET ? TIMEOUT_ETHERNET : TIMEOUT_INFINIBAND;
	in->retry_cnt = RETRIES;
	in->rnr_retry = RNR_WITHOUT_END;
	in->sq_psn = qp->psn;
	in->max_rd_atomic = nic->limits.rd_atomic_init_max;
}

static int to_rts_from_rtr(const struct rig_qp *qp)
{
	struct ib_uverbs_modify_qp in = {0};

	lib_retries_set(qp, &in);
	return lib_qp_modify(qp, &in, UV_QPS_RTS);
}

void lib_qp_ready(struct rig_qp *qp, uint32_t ece)
{
	qp->connected = true;
	qp->ece = ece;
	/* Whoever posts from another thread was told, and so synchronized, by this one. */
	qp->post_ready = LIB_POST_READY;
	if (qp->transport == RIG_RC)
		qp->sq_limit = qp->sq_count * WQE_BB_BYTES;
	qp->rq_limit = qp->rq_count * WQE_BB_BYTES;
}

/* connect_kernel - walks the three edges; back to reset if one is refused. */
static int connect_kernel(const struct rig_qp *qp, enum rig_access access,
			  const struct rig_endpoint *peer, const struct rig_path *path,
			  uint32_t *ece)
{
	struct ib_uverbs_modify_qp reset = {0};
	const char *step = "init";
	int err = to_init_from_reset(qp, access);

	if (!err) {
		step = "ready to receive";
		err = to_rtr_from_init(qp, peer, path, ece);
	}
	if (!err) {
		step = "ready to send";
		err = to_rts_from_rtr(qp);
	}
	if (!err)
		return 0;
	lib_qp_modify(qp, &reset, UV_QPS_RESET);
	return lib_fail_reason(err, "rig_qp_connect: the kernel refused the step to %s", step);
}

/* connect_checked - the NIC is locked. */
static int connect_checked(struct rig_qp *qp, enum rig_access access,
			   const struct rig_endpoint *peer, const struct rig_path *path)
{
	struct rig_nic *nic = qp->shell.nic;
	uint32_t ece;
	int err;

	if (qp->transport != RIG_RC)
		return lib_fail(EINVAL,
				"rig_qp_connect: queue pair 0x%x has no one peer: rig_qp_start is"
				" for it",
				qp->number);
	if (qp->connected)
		return lib_fail(EINVAL, "rig_qp_connect: queue pair 0x%x is connected already",
				qp->number);
	err = lib_port_refresh(nic, "rig_qp_connect");
	err = err ? err : peer_check(&nic->port, peer);
	err = err ? err : lib_path_check(&nic->port, path, "rig_qp_connect");
	err = err ? err : lib_path_source(nic, path, "rig_qp_connect");
	if (err)
		return err;
	if (!nic->port.active)
		return lib_fail(ENETDOWN, "rig_qp_connect: port %d of %s is down", LIB_PORT,
				nic->name);
	ece = lib_ece_word(qp, peer);
	err = connect_kernel(qp, access, peer, path, &ece);
	if (err)
		return err;
	lib_qp_ready(qp, ece);
	return 0;
}

int rig_qp_connect(struct rig_qp *qp, enum rig_access access, const struct rig_endpoint *peer,
		   const struct rig_path *path)
{
	static const struct rig_path defaults;
	struct rig_nic *nic;
	int err;

	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, "rig_qp_connect");
	if (!peer ||
	    (access != RIG_LOCAL && access != RIG_REMOTE_WRITE && access != RIG_REMOTE_ALL))
		return lib_fail(EINVAL, "rig_qp_connect: access %d, peer %p", (int)access,
				(const void *)peer);
	nic = qp->shell.nic;
	err = lib_nic_lock(nic, "rig_qp_connect");
	if (err)
		return err;
	err = connect_checked(qp, access, peer, path ? path : &defaults);
	lib_nic_unlock(nic);
	return err;
}
