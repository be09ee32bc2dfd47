/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs mlx5 */
/*
 * map_ah.c - the clauses of mlx5dv_map_ah_to_qp(3), on the first device, for map_ah.sh. What it
 * includes and calls of it is what the manual page says; it is linked with libmlx5, and once more
 * with librig5_mlx5dv.so.
 *
 * Argument: nothing, "off" (the device has no such objects) or "ib" (an InfiniBand port). Exit
 * status 0: every clause holds.
 */
#include <infiniband/mlx5dv.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_QP = 0xfffffe };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static int failures;

static void expect(const char *clause, int got, int wanted)
{
	printf("%s: %s, %d\n", got == wanted ? "ok" : "FAILED", clause, got);
	failures += got != wanted;
}

static void *need(void *made, const char *what)
{
	if (made)
		return made;
	perror(what);
	exit(2);
}

static struct ibv_qp *queue_pair(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	    .qp_type = type};

	return need(ibv_create_qp(pd, &attr), "ibv_create_qp");
}

static struct ibv_ah *handle(int is_global)
{
	struct ibv_ah_attr attr = {.dlid = 9, .is_global = (uint8_t)is_global, .port_num = 1};

	attr.grh.hop_limit = 64;
	if (ibv_query_gid(context, 1, 0, &attr.grh.dgid))
		exit(2);
	return need(ibv_create_ah(pd, &attr), "ibv_create_ah");
}

static void clauses(void)
{
	struct ibv_qp *qp = queue_pair(IBV_QPT_UD), *other = queue_pair(IBV_QPT_RC);
	struct ibv_ah *ah = handle(1), *second = handle(1);
	uint32_t number = qp->qp_num;

	expect("an unknown queue pair", mlx5dv_map_ah_to_qp(ah, NO_QP), EINVAL);
	expect("mapped", mlx5dv_map_ah_to_qp(ah, number), 0);
	expect("a duplicate", mlx5dv_map_ah_to_qp(ah, number), 0);
	expect("a duplicate with another queue pair", mlx5dv_map_ah_to_qp(ah, other->qp_num), 0);
	expect("a duplicate with no queue pair", mlx5dv_map_ah_to_qp(ah, NO_QP), 0);
	expect("a second handle to the place", mlx5dv_map_ah_to_qp(second, other->qp_num), 0);
	expect("the queue pair goes", ibv_destroy_qp(qp), 0);
	expect("the mapping stays", mlx5dv_map_ah_to_qp(ah, NO_QP), 0);
	expect("the handle goes", ibv_destroy_ah(ah), 0);
	ah = handle(1);
	expect("a new handle is not mapped", mlx5dv_map_ah_to_qp(ah, number), EINVAL);
	expect("and can be", mlx5dv_map_ah_to_qp(ah, other->qp_num), 0);
	expect("both go", ibv_destroy_ah(ah) | ibv_destroy_ah(second), 0);
	ibv_destroy_qp(other);
}

static void on_infiniband(void)
{
	struct ibv_qp *qp = queue_pair(IBV_QPT_UD);
	struct ibv_ah *local = handle(0), *global = handle(1);

	expect("no global route", mlx5dv_map_ah_to_qp(local, qp->qp_num), EOPNOTSUPP);
	expect("a global route", mlx5dv_map_ah_to_qp(global, qp->qp_num), 0);
	expect("both go", ibv_destroy_ah(local) | ibv_destroy_ah(global), 0);
	ibv_destroy_qp(qp);
}

static void switched_off(void)
{
	struct ibv_qp *qp = queue_pair(IBV_QPT_UD);
	struct ibv_ah *ah = handle(1);

	expect("no capability", mlx5dv_map_ah_to_qp(ah, qp->qp_num), EOPNOTSUPP);
	expect("the handle goes", ibv_destroy_ah(ah), 0);
	ibv_destroy_qp(qp);
}

int main(int argc, char **argv)
{
	struct ibv_device **devices = need(ibv_get_device_list(NULL), "ibv_get_device_list");

	context = need(devices[0] ? ibv_open_device(devices[0]) : NULL, "ibv_open_device");
	pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
	cq = need(ibv_create_cq(context, 16, NULL, NULL, 0), "ibv_create_cq");
	if (argc == 1)
		clauses();
	else if (strcmp(argv[1], "ib") == 0)
		on_infiniband();
	else
		switched_off();
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(devices);
	return failures != 0;
}
