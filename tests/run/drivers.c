/* SPDX-License-Identifier: BSD-2-Clause */
/* link: rig5_static mlx5 ibverbs dl */
/*
 * drivers.c - the same objects through libmlx5 and through rig5's own driver library, on one NIC:
 * every ioctl of both is recorded and compared field by field. A difference is either in the list
 * of reasons below, or an error; and so is a reason that no difference needs.
 *
 * Run it under `rig5 run`. Its own ioctl stands before the shim's.
 */
#include "include/rig5.h"

#include "drivers.h"

#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { ENTRIES = 64, RECEIVES = 16, CQES = 128, BYTES = 65536, PIECES = 4 };

/* Of the datagram queue pair, its shared receives, and where it sends to. */
enum {
	UD_ENTRIES = 16,
	SHARED = 7,
	LIMIT = 2,
	QKEY = 0x11223344,
	DSCP = 26,
	HOP_LIMIT = 9,
	FLOW_LABEL = 0x12345,
	PRIORITY = 3,
	DC_ENTRIES = 16,
	STREAMS_LOG2 = 2,
	FAILED_STREAMS_LOG2 = 1
};
#define DC_KEY 0x1122334455667788ull
static const struct rig_address group = {.link = RIG_LINK_ETHERNET,
					 .gid = {[10] = 0xff, 0xff, 239, 1, 2, 3}};

/* ---- recording --------------------------------------------------------------------------------
 */

static struct recording recordings[2];
static struct recording *recording; /* NULL: nobody's */

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	if (recording && request == RDMA_VERBS_IOCTL)
		record(recording, arg);
	return next(fd, request, arg);
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "drivers: %s: %s\n", what, rig_error());
	exit(1);
}

/* ---- rig5 --------------------------------------------------------------------------------------
 */

struct ends {
	struct rig_nic *nic;
	struct rig_region *region;
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_endpoint endpoint;
	struct rig_srq *srq;
	struct rig_qp *ud;
	struct rig_ah *ah;
	struct rig_qp *initiator;
	struct rig_qp *target;

	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *verbs_cq;
	struct ibv_qp *verbs_qp;
	struct ibv_srq *verbs_srq;
	struct ibv_qp *verbs_ud;
	struct ibv_ah *verbs_ah;
	struct ibv_qp *verbs_initiator;
	struct ibv_qp *verbs_target;
};

static char memory[BYTES] __attribute__((aligned(4096)));

static void datagrams_rig5(struct ends *ends)
{
	const struct rig_path path = {.dscp = DSCP,
				      .hop_limit = HOP_LIMIT,
				      .flow_label = FLOW_LABEL,
				      .service_level = PRIORITY};
	struct rig_qp_options options = {.transport = RIG_UD};
	const struct rig_start start = {.qkey = QKEY};

	check(rig_srq_create(ends->cq, SHARED, &ends->srq) == 0, "rig_srq_create");
	options.srq = ends->srq;
	check(rig_srq_limit(ends->srq, LIMIT) == 0, "rig_srq_limit");
	check(rig_qp_create_with(ends->cq, UD_ENTRIES, 0, &options, &ends->ud) == 0,
	      "rig_qp_create_with");
	check(rig_qp_start(ends->ud, &start) == 0, "rig_qp_start");
	check(rig_qp_attach(ends->ud, &group) == 0, "rig_qp_attach");
	check(rig_ah_create(ends->nic, &ends->endpoint.address, &path, &ends->ah) == 0,
	      "rig_ah_create");
}

static void dc_rig5(struct ends *ends)
{
	const struct rig_qp_options initiator = {.transport = RIG_DC_INITIATOR,
						 .streams = true,
						 .streams_log2 = STREAMS_LOG2,
						 .failed_streams_log2 = FAILED_STREAMS_LOG2};
	const struct rig_qp_options target = {
	    .transport = RIG_DC_TARGET, .srq = ends->srq, .dc_key = DC_KEY};
	const struct rig_start start = {.access = RIG_REMOTE_ALL,
					.path = {.dscp = DSCP, .hop_limit = HOP_LIMIT}};

	check(rig_qp_create_with(ends->cq, DC_ENTRIES, 0, &initiator, &ends->initiator) == 0,
	      "rig_qp_create_with");
	check(rig_qp_start(ends->initiator, &start) == 0, "rig_qp_start");
	check(rig_qp_create_with(ends->cq, 0, 0, &target, &ends->target) == 0,
	      "rig_qp_create_with");
	check(rig_qp_start(ends->target, &start) == 0, "rig_qp_start");
}

static void open_rig5(struct ends *ends)
{
	recording = &recordings[RIG5];
	check(rig_open("mlx5_0", &ends->nic) == 0, "rig_open");
	check(rig_region_create(ends->nic, memory, BYTES, RIG_REMOTE_ALL, &ends->region) == 0,
	      "rig_region_create");
	check(rig_cq_create(ends->nic, CQES, &ends->cq) == 0, "rig_cq_create");
	check(rig_qp_create(ends->cq, ENTRIES, RECEIVES, &ends->qp) == 0, "rig_qp_create");
	check(rig_qp_endpoint(ends->qp, &ends->endpoint) == 0, "rig_qp_endpoint");
	check(rig_qp_connect(ends->qp, RIG_REMOTE_ALL, &ends->endpoint, NULL) == 0,
	      "rig_qp_connect");
	datagrams_rig5(ends);
	dc_rig5(ends);
	recording = NULL;
}

static void close_rig5(struct ends *ends)
{
	recording = &recordings[RIG5];
	check(rig_qp_destroy(ends->target) == 0, "rig_qp_destroy");
	check(rig_qp_destroy(ends->initiator) == 0, "rig_qp_destroy");
	check(rig_ah_destroy(ends->ah) == 0, "rig_ah_destroy");
	check(rig_qp_detach(ends->ud, &group) == 0, "rig_qp_detach");
	check(rig_qp_destroy(ends->ud) == 0, "rig_qp_destroy");
	check(rig_srq_destroy(ends->srq) == 0, "rig_srq_destroy");
	check(rig_qp_destroy(ends->qp) == 0, "rig_qp_destroy");
	check(rig_cq_destroy(ends->cq) == 0, "rig_cq_destroy");
	check(rig_region_destroy(ends->region) == 0, "rig_region_destroy");
	check(rig_close(ends->nic) == 0, "rig_close");
	recording = NULL;
}

/* ---- libmlx5 ------------------------------------------------------------------------------------
 */

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i] && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), "mlx5_0") == 0)
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	attr->qp_state = state;
	check(ibv_modify_qp(qp, attr, mask | IBV_QP_STATE) == 0, "ibv_modify_qp");
}

/* To itself, with what rig5.h says of rig_qp_connect. */
static void connect_verbs(struct ends *ends)
{
	struct ibv_qp_attr attr = {
	    .port_num = 1,
	    .qp_access_flags =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	    .path_mtu = IBV_MTU_4096,
	    .dest_qp_num = ends->verbs_qp->qp_num,
	    .rq_psn = ends->endpoint.psn,
	    .sq_psn = ends->endpoint.psn,
	    .max_dest_rd_atomic = 16,
	    .max_rd_atomic = 16,
	    .min_rnr_timer = 12,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}}};

	struct ibv_ece ece;

	memcpy(&attr.ah_attr.grh.dgid, ends->endpoint.address.gid, 16);
	modify(ends->verbs_qp, &attr, IBV_QPS_INIT,
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	/* Its own offer, which its endpoint carries. */
	check(ibv_query_ece(ends->verbs_qp, &ece) == 0, "ibv_query_ece");
	check(ibv_set_ece(ends->verbs_qp, &ece) == 0, "ibv_set_ece");
	modify(ends->verbs_qp, &attr, IBV_QPS_RTR,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(ends->verbs_qp, &attr, IBV_QPS_RTS,
	       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		   IBV_QP_MAX_QP_RD_ATOMIC);
}

static void start_verbs(struct ends *ends)
{
	struct ibv_qp_attr attr = {.port_num = 1, .qkey = QKEY};
	struct rig_endpoint endpoint;

	check(rig_qp_endpoint(ends->ud, &endpoint) == 0, "rig_qp_endpoint");
	attr.sq_psn = endpoint.psn;
	modify(ends->verbs_ud, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	modify(ends->verbs_ud, &attr, IBV_QPS_RTR, 0);
	modify(ends->verbs_ud, &attr, IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

static void datagrams_verbs(struct ends *ends)
{
	struct ibv_srq_init_attr shared = {
	    .attr = {.max_wr = SHARED, .max_sge = RIG_SRQ_PIECES_MAX}};
	struct ibv_srq_attr limit = {.srq_limit = LIMIT};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD,
					.send_cq = ends->verbs_cq,
					.recv_cq = ends->verbs_cq,
					.cap = {.max_send_wr = UD_ENTRIES / 2, .max_send_sge = 1}};
	struct ibv_ah_attr to = {.is_global = 1,
				 .port_num = 1,
				 .sl = PRIORITY,
				 .grh = {.hop_limit = HOP_LIMIT,
					 .traffic_class = DSCP << 2,
					 .flow_label = FLOW_LABEL}};
	union ibv_gid gid;

	ends->verbs_srq = ibv_create_srq(ends->pd, &shared);
	check(ends->verbs_srq != NULL, "ibv_create_srq");
	check(ibv_modify_srq(ends->verbs_srq, &limit, IBV_SRQ_LIMIT) == 0, "ibv_modify_srq");
	init.srq = ends->verbs_srq;
	ends->verbs_ud = ibv_create_qp(ends->pd, &init);
	check(ends->verbs_ud != NULL, "ibv_create_qp");
	start_verbs(ends);
	memcpy(&gid, group.gid, sizeof(gid));
	check(ibv_attach_mcast(ends->verbs_ud, &gid, 0) == 0, "ibv_attach_mcast");
	memcpy(&to.grh.dgid, ends->endpoint.address.gid, sizeof(to.grh.dgid));
	ends->verbs_ah = ibv_create_ah(ends->pd, &to);
	check(ends->verbs_ah != NULL, "ibv_create_ah");
	check(ibv_detach_mcast(ends->verbs_ud, &gid, 0) == 0, "ibv_detach_mcast");
}

static void dc_start_verbs(struct ends *ends)
{
	struct ibv_qp_attr attr = {
	    .port_num = 1,
	    .qp_access_flags =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	    .path_mtu = IBV_MTU_4096,
	    .max_rd_atomic = 16,
	    .min_rnr_timer = 12,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.hop_limit = HOP_LIMIT, .traffic_class = DSCP << 2}}};
	struct rig_endpoint endpoint;

	check(rig_qp_endpoint(ends->initiator, &endpoint) == 0, "rig_qp_endpoint");
	attr.sq_psn = endpoint.psn;
	modify(ends->verbs_initiator, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	modify(ends->verbs_initiator, &attr, IBV_QPS_RTR, IBV_QP_PATH_MTU);
	modify(ends->verbs_initiator, &attr, IBV_QPS_RTS,
	       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		   IBV_QP_MAX_QP_RD_ATOMIC);
	modify(ends->verbs_target, &attr, IBV_QPS_INIT,
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(ends->verbs_target, &attr, IBV_QPS_RTR,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER);
}

static void dc_verbs(struct ends *ends)
{
	struct ibv_qp_init_attr_ex init = {
	    .qp_type = IBV_QPT_DRIVER,
	    .send_cq = ends->verbs_cq,
	    .recv_cq = ends->verbs_cq,
	    .pd = ends->pd,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	    .cap = {.max_send_wr = DC_ENTRIES / 2, .max_send_sge = 1}};
	struct mlx5dv_qp_init_attr dc = {
	    .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS,
	    .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI,
			     .dci_streams = {STREAMS_LOG2, FAILED_STREAMS_LOG2}}};

	ends->verbs_initiator = mlx5dv_create_qp(ends->context, &init, &dc);
	check(ends->verbs_initiator != NULL, "mlx5dv_create_qp");
	init.comp_mask = IBV_QP_INIT_ATTR_PD;
	init.send_ops_flags = 0;
	init.cap = (struct ibv_qp_cap){0};
	init.srq = ends->verbs_srq;
	dc = (struct mlx5dv_qp_init_attr){
	    .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
	    .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = DC_KEY}};
	ends->verbs_target = mlx5dv_create_qp(ends->context, &init, &dc);
	check(ends->verbs_target != NULL, "mlx5dv_create_qp");
	dc_start_verbs(ends);
}

static void open_verbs(struct ends *ends)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = ENTRIES / 4,
						.max_recv_wr = RECEIVES,
						.max_send_sge = 1,
						.max_recv_sge = PIECES}};

	recording = &recordings[LIBMLX5];
	ends->context = open_device();
	check(ends->context != NULL, "ibv_open_device");
	ends->pd = ibv_alloc_pd(ends->context);
	check(ends->pd != NULL, "ibv_alloc_pd");
	ends->mr = ibv_reg_mr(ends->pd, memory, BYTES,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	check(ends->mr != NULL, "ibv_reg_mr");
	ends->channel = ibv_create_comp_channel(ends->context);
	check(ends->channel != NULL, "ibv_create_comp_channel");
	ends->verbs_cq = ibv_create_cq(ends->context, CQES - 1, NULL, ends->channel, 0);
	check(ends->verbs_cq != NULL, "ibv_create_cq");
	init.send_cq = init.recv_cq = ends->verbs_cq;
	ends->verbs_qp = ibv_create_qp(ends->pd, &init);
	check(ends->verbs_qp != NULL, "ibv_create_qp");
	connect_verbs(ends);
	datagrams_verbs(ends);
	dc_verbs(ends);
	recording = NULL;
}

static void close_verbs(struct ends *ends)
{
	recording = &recordings[LIBMLX5];
	check(ibv_destroy_qp(ends->verbs_target) == 0, "ibv_destroy_qp");
	check(ibv_destroy_qp(ends->verbs_initiator) == 0, "ibv_destroy_qp");
	check(ibv_destroy_ah(ends->verbs_ah) == 0, "ibv_destroy_ah");
	check(ibv_destroy_qp(ends->verbs_ud) == 0, "ibv_destroy_qp");
	check(ibv_destroy_srq(ends->verbs_srq) == 0, "ibv_destroy_srq");
	check(ibv_destroy_qp(ends->verbs_qp) == 0, "ibv_destroy_qp");
	check(ibv_destroy_cq(ends->verbs_cq) == 0, "ibv_destroy_cq");
	check(ibv_destroy_comp_channel(ends->channel) == 0, "ibv_destroy_comp_channel");
	check(ibv_dereg_mr(ends->mr) == 0, "ibv_dereg_mr");
	check(ibv_dealloc_pd(ends->pd) == 0, "ibv_dealloc_pd");
	check(ibv_close_device(ends->context) == 0, "ibv_close_device");
	recording = NULL;
}

int main(void)
{
	struct ends ends = {0};

	open_rig5(&ends);
	open_verbs(&ends);
	close_verbs(&ends);
	close_rig5(&ends);
	return compare(recordings) ? 1 : 0;
}
