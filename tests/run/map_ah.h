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
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NO_QP = 0xfffffe, QKEY = 0x5a, BYTES = 512, BURST = 32, JSON_BYTES = 1 << 16 };

/* What fills the bottleneck that map_ah.sh makes: 1 Gb/s, which marks what waits behind 20 kB. */
enum { FULL_BYTES = 4096, FLOOD_MS = 80, FLOODS_MAX = 20 };

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

/* What `rig5 stats` says of this process, as far as it has come. */
static FILE *stats;
static char json[JSON_BYTES];
static size_t json_bytes;

static void look(const char *rig5)
{
	char text[512];

	snprintf(text, sizeof(text), "%s stats --json %d", rig5, (int)getpid());
	stats = need(popen(text, "r"), "rig5 stats");
	fcntl(fileno(stats), F_SETFL, O_NONBLOCK);
	json_bytes = 0;
}

/* Whether all of it is there. */
static int seen(void)
{
	ssize_t got = read(fileno(stats), json + json_bytes, sizeof(json) - 1 - json_bytes);

	if (got > 0)
		json_bytes += (size_t)got;
	if (got != 0)
		return 0;
	json[json_bytes] = '\0';
	if (pclose(stats))
		need(NULL, "rig5 stats");
	return 1;
}

/* The place in it; "" if it is not. */
static const char *row_of(const struct place *place)
{
	char text[128], *at, *end;

	snprintf(text, sizeof(text), "{\"peer\": \"%s\", \"sl\"", place->address);
	at = strstr(json, text);
	if (!at)
		return "";
	end = strstr(at, "}}");
	if (end)
		*end = '\0';
	return at;
}

static const char *shown(const char *rig5, const struct place *place)
{
	look(rig5);
	while (!seen())
		usleep(1000);
	return row_of(place);
}

/* The destination has this algorithm, and has it of a handle or has it not. */
static void is_so(const char *row, const char *algorithm, int mapped, const char *clause)
{
	char wanted[64];
	int so;

	snprintf(wanted, sizeof(wanted), "\"algorithm\": \"%s\"", algorithm);
	so = strstr(row, wanted) && strstr(row, mapped ? "\"mapped\": true" : "\"mapped\": false");
	expect(clause, so, 1);
	if (!so)
		printf("%s\n", row);
}

static const char *has(const char *rig5, const struct place *place, const char *algorithm,
		       int mapped, const char *clause)
{
	const char *row = shown(rig5, place);

	is_so(row, algorithm, mapped, clause);
	return row;
}

static long count(const char *row, const char *name)
{
	const char *at = strstr(row, name);

	return at ? strtol(at + strlen(name) + 3, NULL, 10) : -1;
}

/* Whether a counter has gone up; one that a place had not yet was 0. */
static int more(const char *before, const char *after, const char *name)
{
	long was = count(before, name);

	return count(after, name) > (was > 0 ? was : 0);
}

/* ---- a bottleneck that marks ----------------------------------------------------------------- */

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Who posts one signalled entry of FULL_BYTES to one place. */
struct sender {
	void (*post)(struct sender *sender);
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	void *to;
};

/* Keeps the send queue full, and looks at what is said of the process meanwhile. */
static void flood(const char *rig5, struct sender *sender)
{
	long look_ms = now_ms() + FLOOD_MS;
	int got, under_way = 0, looking = 0, done = 0;
	struct ibv_wc wc;

	while (!done || under_way > 0) {
		for (; !done && under_way < BURST; under_way++)
			sender->post(sender);
		got = ibv_poll_cq(cq, 1, &wc);
		if (got < 0 || (got > 0 && wc.status != IBV_WC_SUCCESS))
			need(NULL, "a completion");
		under_way -= got;
		if (!looking && now_ms() >= look_ms) {
			look(rig5);
			looking = 1;
		}
		done = done || (looking && seen());
	}
}

/* Who has DCQCN is told of the marks, and held back, sooner or later: when is chance, on a machine
 * that does not always run it. Who has RTT is told of none, and measures. */
static void is_told(const char *rig5, struct place *place, const char *algorithm, int mapped,
		    struct sender *sender)
{
	static char before[JSON_BYTES];
	int dcqcn = strcmp(algorithm, "DCQCN") == 0, held = 0;
	const char *row = "";

	snprintf(before, sizeof(before), "%s", shown(rig5, place));
	for (int i = 0; i < FLOODS_MAX && !held; i++) {
		flood(rig5, sender);
		row = row_of(place);
		held = !dcqcn || more(before, row, "\"waits");
	}
	is_so(row, algorithm, mapped, "behind a bottleneck that marks");
	expect("told of marks", more(before, row, "\"cnps_handled"), dcqcn);
	expect("held back by them", held, 1);
	expect("a round trip", count(row, "\"rtt_ns") > 0, !dcqcn);
}

/* One destination after the other, neither mapped; then mapped to either algorithm; and as at
 * first. */
static void marked(const char *rig5, int usual, struct place *a, struct place *b,
		   struct sender *to_a, struct sender *to_b)
{
	static const char *const names[] = {"none", "DCQCN", "RTT"};
	const char *one = names[usual], *other = names[DCQCN + RTT - usual];
	struct ibv_qp *of_other = agreed((uint32_t)(DCQCN + RTT - usual));

	is_told(rig5, a, one, 0, to_a);
	is_told(rig5, b, one, 0, to_b);
	expect("mapped", mlx5dv_map_ah_to_qp(to_a->ah, of_other->qp_num), 0);
	is_told(rig5, a, other, 1, to_a);
	is_told(rig5, b, one, 0, to_b);
	expect("the queue pair goes", ibv_destroy_qp(of_other), 0);
	is_told(rig5, a, other, 1, to_a);
	expect("the handle goes", ibv_destroy_ah(to_a->ah), 0);
	to_a->ah = handle_to(&a->gid, 1);
	is_told(rig5, a, one, 0, to_a);
	expect("both go", ibv_destroy_ah(to_a->ah) | ibv_destroy_ah(to_b->ah), 0);
}

#endif
