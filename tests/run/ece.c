/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs mlx5 */
/*
 * ece.c - enhanced connection establishment on a queue pair of each type, by rdma-core's
 * ibv_query_ece and ibv_set_ece, on the first device, for ece.sh.
 *
 * Argument: "own" (what the device offers has the software NIC's layout) or "plain" (it is version
 * 1 and nothing else). Exit status 0: every clause holds.
 */
#include "expect.h"

#include <infiniband/mlx5dv.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word's layout: abi/ece.h. */
enum {
	VENDOR = 0x15b3,
	PLAIN = 0x10000000,
	OWN = 0x1a000000,
	PREFERRED_SHIFT = 20,
	RTT_F = 2,
	DCQCN_F = 1,
	RTT = 2,
	DCQCN = 1,
	QKEY = 7,
	DC_KEY = 77,
};

enum type { RC, UC, UD, XRC_SEND, XRC_RECV, DCI, DCT, TYPES };
static const char *const names[TYPES] = {"RC",         "UC",           "UD",       "XRC initiator",
					 "XRC target", "DC initiator", "DC target"};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_xrcd *xrcd;
static union ibv_gid gid;

static void expect_of(const char *clause, enum type type, uint32_t got, uint32_t wanted)
{
	printf("%s: %s, %s: 0x%x\n", got == wanted ? "ok" : "FAILED", names[type], clause, got);
	failures += got != wanted;
}

static struct ibv_qp *queue_pair(enum type type)
{
	static const enum ibv_qp_type types[TYPES] = {
	    IBV_QPT_RC,       IBV_QPT_UC,     IBV_QPT_UD,    IBV_QPT_XRC_SEND,
	    IBV_QPT_XRC_RECV, IBV_QPT_DRIVER, IBV_QPT_DRIVER};
	struct ibv_qp_init_attr_ex attr = {.qp_type = types[type], .pd = pd};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC};
	bool sends = type != XRC_RECV && type != DCT;

	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (type == XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = xrcd;
	} else {
		attr.send_cq = attr.recv_cq = cq;
	}
	if (sends)
		attr.cap = (struct ibv_qp_cap){.max_send_wr = 4, .max_send_sge = 1};
	if (type == RC || type == UC || type == UD)
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 1;
	if (type < DCI)
		return need(ibv_create_qp_ex(context, &attr), names[type]);
	dv.dc_init_attr.dc_type = type == DCI ? MLX5DV_DCTYPE_DCI : MLX5DV_DCTYPE_DCT;
	if (type == DCT) {
		dv.dc_init_attr.dct_access_key = DC_KEY;
		attr.srq = srq;
	}
	return need(mlx5dv_create_qp(context, &attr, &dv), names[type]);
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state to, int mask)
{
	attr->qp_state = to;
	if (ibv_modify_qp(qp, attr, IBV_QP_STATE | mask))
		need(NULL, "ibv_modify_qp");
}

/* Goes up to `last`, as its type does; to itself, where it has a peer. */
static void go(struct ibv_qp *qp, enum type type, enum ibv_qp_state last)
{
	struct ibv_qp_attr attr = {.port_num = 1, .qkey = QKEY, .path_mtu = IBV_MTU_1024};
	int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int rts = IBV_QP_SQ_PSN;
	bool acked = type == RC || type == XRC_SEND || type == DCI;

	attr.ah_attr.port_num = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.hop_limit = 64;
	attr.dest_qp_num = qp->qp_num;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = 1;
	if (type == RC || type == XRC_RECV)
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (type == UD)
		rtr = 0;
	if (type == DCI)
		rtr = IBV_QP_PATH_MTU;
	if (type == DCT)
		rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER;
	if (type == XRC_RECV)
		rts |= IBV_QP_TIMEOUT;
	if (acked)
		rts |=
		    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	modify(qp, &attr, IBV_QPS_INIT,
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		   (type == UD    ? IBV_QP_QKEY
		    : type == DCI ? 0
				  : IBV_QP_ACCESS_FLAGS));
	if (last == IBV_QPS_INIT)
		return;
	modify(qp, &attr, IBV_QPS_RTR, rtr);
	if (last == IBV_QPS_RTS && type != DCT)
		modify(qp, &attr, IBV_QPS_RTS, rts);
}

static uint32_t query(struct ibv_qp *qp, enum type type)
{
	struct ibv_ece ece = {.vendor_id = 1};

	expect_of("ibv_query_ece", type, (uint32_t)ibv_query_ece(qp, &ece), 0);
	expect_of("the vendor", type, ece.vendor_id, VENDOR);
	expect_of("the mask", type, ece.comp_mask, 0);
	return ece.options;
}

static int set(struct ibv_qp *qp, uint32_t vendor, uint32_t options, uint32_t comp_mask)
{
	struct ibv_ece ece = {.vendor_id = vendor, .options = options, .comp_mask = comp_mask};

	return ibv_set_ece(qp, &ece);
}

static uint32_t prefer(uint32_t word, uint32_t algorithm)
{
	return (word & ~(15u << PREFERRED_SHIFT)) | algorithm << PREFERRED_SHIFT;
}

/* What one of the type says once it is up, if it was told `word`. */
static uint32_t answer(enum type type, uint32_t word)
{
	struct ibv_qp *qp = queue_pair(type);
	uint32_t got;

	expect_of("ibv_set_ece", type, (uint32_t)set(qp, VENDOR, word, 0), 0);
	go(qp, type, IBV_QPS_RTS);
	got = query(qp, type);
	ibv_destroy_qp(qp);
	return got;
}

static void refusals(enum type type)
{
	struct ibv_qp *qp = queue_pair(type);
	uint32_t before = query(qp, type);

	expect_of("another vendor", type, (uint32_t)set(qp, VENDOR + 1, OWN, 0), EINVAL);
	expect_of("a mask", type, (uint32_t)set(qp, VENDOR, OWN, 1), EINVAL);
	go(qp, type, IBV_QPS_RTS);
	expect_of("which change nothing", type, query(qp, type), before);
	ibv_destroy_qp(qp);
}

/* What the device offers a new one. The kernel makes XRC targets without the driver's words. */
static void offers(enum type type, uint32_t wanted)
{
	struct ibv_qp *qp = queue_pair(type);

	expect_of("what is offered", type, query(qp, type), type == XRC_RECV ? 0 : wanted);
	ibv_destroy_qp(qp);
}

/* Own: what the device offers can all be agreed on, and one algorithm is. */
static void own(enum type type)
{
	struct ibv_qp *qp = queue_pair(RC);
	uint32_t offer = query(qp, RC),
		 chosen = offer & ~(15u << PREFERRED_SHIFT | DCQCN_F | RTT_F);

	ibv_destroy_qp(qp);
	offers(type, offer);
	expect_of("it has our layout", type, offer & 0xff000000, OWN);
	expect_of("and both algorithms", type, offer & (DCQCN_F | RTT_F), DCQCN_F | RTT_F);
	expect_of("DCQCN", type, answer(type, prefer(offer, DCQCN)),
		  chosen | DCQCN << PREFERRED_SHIFT | DCQCN_F);
	expect_of("RTT", type, answer(type, prefer(offer, RTT)),
		  chosen | RTT << PREFERRED_SHIFT | RTT_F);
	expect_of("an answer is kept to", type,
		  answer(type, chosen | RTT << PREFERRED_SHIFT | RTT_F),
		  chosen | RTT << PREFERRED_SHIFT | RTT_F);
	/* Whose bits mean something else: a card, all bits, version 1 alone, another layout. */
	expect_of("a card's word", type, answer(type, 0x30000002), 0);
	expect_of("all bits", type, answer(type, 0xffffffff), 0);
	expect_of("version 1", type, answer(type, PLAIN), 0);
	expect_of("another layout", type, answer(type, offer ^ 0x01000000), 0);
	refusals(type);
}

static void plain(enum type type)
{
	offers(type, PLAIN);
	expect_of("and agrees on nothing", type, answer(type, 0x1a1007c3), 0);
	refusals(type);
}

/*
 * As programs in the field do it: query, the peer sets that and queries what is left, sends it
 * back, and the first one sets it: both have one word.
 */
static void both_ends(void)
{
	struct ibv_qp *one = queue_pair(RC), *two = queue_pair(RC);
	uint32_t word = prefer(query(one, RC), RTT);

	set(two, VENDOR, word, 0);
	go(two, RC, IBV_QPS_RTR);
	word = query(two, RC);
	set(one, VENDOR, word, 0);
	go(one, RC, IBV_QPS_RTS);
	expect_of("the first one's is the other's", RC, query(one, RC), word);
	expect_of("and chose RTT", RC, word >> PREFERRED_SHIFT & 15, RTT);
	ibv_destroy_qp(one);
	ibv_destroy_qp(two);
}

int main(int argc, char **argv)
{
	struct ibv_device **devices = need(ibv_get_device_list(NULL), "ibv_get_device_list");
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_xrcd_init_attr xrcd_attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							    IBV_XRCD_INIT_ATTR_OFLAGS,
					       .fd = -1,
					       .oflags = O_CREAT};

	context = need(devices[0] ? ibv_open_device(devices[0]) : NULL, "ibv_open_device");
	pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
	cq = need(ibv_create_cq(context, 16, NULL, NULL, 0), "ibv_create_cq");
	srq = need(ibv_create_srq(pd, &srq_attr), "ibv_create_srq");
	xrcd = need(ibv_open_xrcd(context, &xrcd_attr), "ibv_open_xrcd");
	if (ibv_query_gid(context, 1, 0, &gid))
		need(NULL, "ibv_query_gid");
	for (enum type type = RC; type < TYPES; type++) {
		if (argc == 2 && strcmp(argv[1], "own") == 0)
			own(type);
		else
			plain(type);
	}
	if (argc == 2 && strcmp(argv[1], "own") == 0)
		both_ends();
	ibv_destroy_srq(srq);
	ibv_close_xrcd(xrcd);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(devices);
	return failures != 0;
}
