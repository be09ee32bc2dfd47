/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map_ah.h - what the programs about mlx5dv_map_ah_to_qp(3) share: map_ah.c and map_ah_dc.c. Queue
 * pairs that have agreed on an algorithm, handles, and what `rig5 stats` says of a destination.
 */
#ifndef RIG5_RUN_MAP_AH_H
#define RIG5_RUN_MAP_AH_H

#include "expect.h"

#include <infiniband/mlx5dv.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NO_QP = 0xfffffe, QKEY = 0x5a, BYTES = 512, BURST = 32, JSON_BYTES = 1 << 16 };

/* The software NIC's algorithms, and where an offer says which one it prefers: abi/ece.h. */
enum { DCQCN = 1, RTT = 2, PREFERRED_SHIFT = 20 };

/* One of the other devices: a place for datagrams. */
struct place {
	const char *address;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid gid;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static struct ibv_qp *queue_pair_of(struct ibv_pd *its_pd, struct ibv_cq *its_cq,
				    enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
	    .send_cq = its_cq,
	    .recv_cq = its_cq,
	    .cap = {.max_send_wr = BURST, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	    .qp_type = type};

	return need(ibv_create_qp(its_pd, &attr), "ibv_create_qp");
}

static struct ibv_qp *queue_pair(enum ibv_qp_type type)
{
	return queue_pair_of(pd, cq, type);
}

/* Makes a datagram queue pair ready to send. */
static void start(struct ibv_qp *qp)
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

/* One that has agreed on an algorithm. */
static struct ibv_qp *agreed(uint32_t algorithm)
{
	struct ibv_qp *qp = queue_pair(IBV_QPT_UD);
	struct ibv_ece ece;

	if (ibv_query_ece(qp, &ece))
		need(NULL, "ibv_query_ece");
	ece.options = (ece.options & ~(15u << PREFERRED_SHIFT)) | algorithm << PREFERRED_SHIFT;
	if (ibv_set_ece(qp, &ece))
		need(NULL, "ibv_set_ece");
	start(qp);
	return qp;
}

static struct ibv_ah *handle_to(const union ibv_gid *gid, int is_global)
{
	struct ibv_ah_attr attr = {.dlid = 9, .is_global = (uint8_t)is_global, .port_num = 1};

	attr.grh.hop_limit = 64;
	attr.grh.dgid = *gid;
	return need(ibv_create_ah(pd, &attr), "ibv_create_ah");
}

/* What `rig5 stats` says of the place in this process; "" if nothing. */
static const char *shown(const char *rig5, const struct place *place)
{
	static char json[JSON_BYTES];
	char text[512], *at, *end;
	FILE *stats;
	size_t bytes;

	snprintf(text, sizeof(text), "%s stats --json %d", rig5, (int)getpid());
	stats = need(popen(text, "r"), "rig5 stats");
	bytes = fread(json, 1, sizeof(json) - 1, stats);
	json[bytes] = '\0';
	if (pclose(stats))
		need(NULL, "rig5 stats");
	snprintf(text, sizeof(text), "{\"peer\": \"%s\", \"sl\"", place->address);
	at = strstr(json, text);
	if (!at)
		return "";
	end = strstr(at, "}}");
	if (end)
		*end = '\0';
	return at;
}

/* The destination has this algorithm, and has it of a handle or has it not. */
static const char *has(const char *rig5, const struct place *place, const char *algorithm,
		       int mapped, const char *clause)
{
	const char *row = shown(rig5, place);
	char wanted[64];
	int so;

	snprintf(wanted, sizeof(wanted), "\"algorithm\": \"%s\"", algorithm);
	so = strstr(row, wanted) && strstr(row, mapped ? "\"mapped\": true" : "\"mapped\": false");
	expect(clause, so, 1);
	if (!so)
		printf("%s\n", row);
	return row;
}

static long count(const char *row, const char *name)
{
	const char *at = strstr(row, name);

	return at ? strtol(at + strlen(name) + 3, NULL, 10) : -1;
}

#endif
