/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs */
/*
 * srq_limit.c - the limit of a shared receive queue by rdma-core's calls, on the first device, for
 * srq.sh: a datagram queue pair sends to itself. Exit status 0: the event comes when there are
 * fewer receives than the limit, once, and not again before the limit is set again.
 */
#include "expect.h"

#include <infiniband/verbs.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECEIVES = 4, LIMIT = 3, QKEY = 0x5a, BYTES = 64, SOON_MS = 10000, NEVER_MS = 100 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct ibv_ah *ah;

static void start(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		need(NULL, "INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		need(NULL, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		need(NULL, "RTS");
}

static void open_all(struct ibv_device *device)
{
	static char memory[BYTES];
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = RECEIVES, .max_sge = 1}};
	struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 1, .max_send_sge = 1},
					.qp_type = IBV_QPT_UD};
	struct ibv_ah_attr to = {.port_num = 1, .grh = {.hop_limit = 64}};
	struct ibv_port_attr port;

	context = need(device ? ibv_open_device(device) : NULL, "ibv_open_device");
	pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
	cq = need(ibv_create_cq(context, 16, NULL, NULL, 0), "ibv_create_cq");
	srq = need(ibv_create_srq(pd, &srq_attr), "ibv_create_srq");
	mr = need(ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	attr.send_cq = attr.recv_cq = cq;
	attr.srq = srq;
	qp = need(ibv_create_qp(pd, &attr), "ibv_create_qp");
	start();
	if (ibv_query_gid(context, 1, 0, &to.grh.dgid) || ibv_query_port(context, 1, &port))
		need(NULL, "its own address");
	to.is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	to.dlid = port.lid;
	ah = need(ibv_create_ah(pd, &to), "ibv_create_ah");
}

static void close_all(void)
{
	ibv_destroy_ah(ah);
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	ibv_destroy_srq(srq);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
}

static void receive(void)
{
	struct ibv_sge piece = {.addr = (uintptr_t)mr->addr, .length = BYTES, .lkey = mr->lkey};
	struct ibv_recv_wr *bad, wr = {.sg_list = &piece, .num_sge = 1};

	if (ibv_post_srq_recv(srq, &wr, &bad))
		need(NULL, "ibv_post_srq_recv");
}

/* An empty datagram, until it has been received. */
static void datagram(void)
{
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	if (ibv_post_send(qp, &wr, &bad))
		need(NULL, "ibv_post_send");
	for (int completions = 0; completions < 2;) {
		int got = ibv_poll_cq(cq, 1, &wc);

		if (got < 0 || (got == 1 && wc.status != IBV_WC_SUCCESS))
			need(NULL, "a datagram");
		completions += got;
	}
}

static void set_limit(void)
{
	struct ibv_srq_attr attr = {.srq_limit = LIMIT};

	expect("ibv_modify_srq", ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
}

static unsigned int limit(void)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr) ? ~0u : attr.srq_limit;
}

static int comes(int wait_ms)
{
	struct pollfd fd = {.fd = context->async_fd, .events = POLLIN};

	return poll(&fd, 1, wait_ms);
}

/* Fewer than the limit: once. */
static void once(void)
{
	struct ibv_async_event event;

	set_limit();
	expect("the limit is set", (int)limit(), LIMIT);
	datagram();
	expect("as many as the limit: no event", comes(NEVER_MS), 0);
	datagram();
	expect("fewer: an event", comes(SOON_MS), 1);
	if (failures || ibv_get_async_event(context, &event))
		need(NULL, "ibv_get_async_event");
	expect("which is the limit's", (int)event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	expect("and names the queue", event.element.srq == srq, 1);
	ibv_ack_async_event(&event);
	expect("the limit is off", (int)limit(), 0);
	datagram();
	expect("no second event", comes(NEVER_MS), 0);
	for (int i = 0; i < RECEIVES - 1; i++)
		receive();
}

int main(void)
{
	struct ibv_device **devices = need(ibv_get_device_list(NULL), "ibv_get_device_list");

	open_all(devices[0]);
	for (int i = 0; i < RECEIVES; i++)
		receive();
	once();
	once();
	close_all();
	ibv_free_device_list(devices);
	return failures != 0;
}
