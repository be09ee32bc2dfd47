/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs mlx5 */
/*
 * map_ah_dc.c - the clauses of mlx5dv_map_ah_to_qp(3) for dynamically connected queue pairs, on the
 * first device, for map_ah.sh: what the destination of an initiator has while it writes to a target
 * on each of two more devices, by `rig5 stats`. Linked as map_ah.c is.
 *
 * Arguments: rig5, the addresses of the two others, and the port's default algorithm, "dcqcn" or
 * "rtt". RIG5_FAULT: as map_ah.c. Exit status 0: every clause holds.
 */
#include "map_ah.h"

enum { DC_KEY = 0x77 };

/* A place with a target, and the memory that it lets others write. */
struct target {
	struct place place;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	char memory[FULL_BYTES];
};

static struct ibv_qp *initiator;
static struct ibv_mr *source;

static struct ibv_qp *dc_queue_pair(struct ibv_qp_init_attr_ex *attr, enum mlx5dv_dc_type type)
{
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC};

	dv.dc_init_attr.dc_type = type;
	if (type == MLX5DV_DCTYPE_DCT)
		dv.dc_init_attr.dct_access_key = DC_KEY;
	attr->qp_type = IBV_QPT_DRIVER;
	attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
	return need(mlx5dv_create_qp(attr->pd->context, attr, &dv), "mlx5dv_create_qp");
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state to, int mask)
{
	attr->qp_state = to;
	if (ibv_modify_qp(qp, attr, IBV_QP_STATE | mask))
		need(NULL, "ibv_modify_qp");
}

static void open_target(struct target *to, struct ibv_device *device, const char *address)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_attr attr = {
	    .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE, .path_mtu = IBV_MTU_1024};
	struct ibv_qp_init_attr_ex init = {0};
	struct place *place = &to->place;

	place->address = address;
	place->context = need(device ? ibv_open_device(device) : NULL, "ibv_open_device");
	place->pd = need(ibv_alloc_pd(place->context), "ibv_alloc_pd");
	place->cq = need(ibv_create_cq(place->context, 16, NULL, NULL, 0), "ibv_create_cq");
	to->srq = need(ibv_create_srq(place->pd, &srq), "ibv_create_srq");
	to->mr = need(ibv_reg_mr(place->pd, to->memory, FULL_BYTES,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		      "ibv_reg_mr");
	init.pd = place->pd;
	init.send_cq = init.recv_cq = place->cq;
	init.srq = to->srq;
	place->qp = dc_queue_pair(&init, MLX5DV_DCTYPE_DCT);
	attr.ah_attr.port_num = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.hop_limit = 64;
	modify(place->qp, &attr, IBV_QPS_INIT,
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(place->qp, &attr, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER);
	if (ibv_query_gid(place->context, 1, 0, &place->gid))
		need(NULL, "ibv_query_gid");
}

static void close_target(struct target *to)
{
	ibv_destroy_qp(to->place.qp);
	ibv_destroy_srq(to->srq);
	ibv_dereg_mr(to->mr);
	ibv_destroy_cq(to->place.cq);
	ibv_dealloc_pd(to->place.pd);
	ibv_close_device(to->place.context);
}

static void open_initiator(void)
{
	struct ibv_qp_init_attr_ex init = {.pd = pd, .send_cq = cq, .recv_cq = cq};
	struct ibv_qp_attr attr = {.port_num = 1,
				   .path_mtu = IBV_MTU_1024,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 1};

	init.cap = (struct ibv_qp_cap){.max_send_wr = BURST, .max_send_sge = 1};
	init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	initiator = dc_queue_pair(&init, MLX5DV_DCTYPE_DCI);
	modify(initiator, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	modify(initiator, &attr, IBV_QPS_RTR, IBV_QP_PATH_MTU);
	modify(initiator, &attr, IBV_QPS_RTS,
	       IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		   IBV_QP_MAX_QP_RD_ATOMIC);
}

static void post(struct ibv_ah *ah, const struct target *to, uint32_t bytes)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(initiator);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(qp);

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, to->mr->rkey, (uintptr_t)to->memory);
	mlx5dv_wr_set_dc_addr(dv, ah, to->place.qp->qp_num, DC_KEY);
	ibv_wr_set_sge(qp, source->lkey, (uintptr_t)source->addr, bytes);
	if (ibv_wr_complete(qp))
		need(NULL, "ibv_wr_complete");
}

static void write_some(struct ibv_ah *ah, struct target *to)
{
	struct ibv_wc wc;
	int got;

	for (int i = 0; i < BURST; i++) {
		post(ah, to, BYTES);
		while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
			;
		if (got < 0 || wc.status != IBV_WC_SUCCESS)
			need(NULL, "a write");
	}
}

/* It has that algorithm while it writes, which RTT paces by what it measures; DCQCN has had nothing
 * to slow it down. */
static void uses(const char *rig5, struct target *to, struct ibv_ah *ah, const char *algorithm,
		 int mapped, const char *clause)
{
	int rtt = strcmp(algorithm, "RTT") == 0;
	const char *row;

	write_some(ah, to);
	row = has(rig5, &to->place, algorithm, mapped, clause);
	expect("paced", strstr(row, "\"paced\": true") != NULL, rtt);
	expect("a round trip", count(row, "\"rtt_ns") > 0, rtt);
}

static void clauses(const char *rig5, int usual, struct target *a, struct target *b)
{
	static const char *const names[] = {"none", "DCQCN", "RTT"};
	const char *one = names[usual], *other = names[DCQCN + RTT - usual];
	struct ibv_qp *of_one = agreed((uint32_t)usual);
	struct ibv_qp *of_other = agreed((uint32_t)(DCQCN + RTT - usual));
	struct ibv_ah *to_a = handle_to(&a->place.gid, 1), *to_b = handle_to(&b->place.gid, 1);

	uses(rig5, a, to_a, one, 0, "not mapped: the default");
	uses(rig5, b, to_b, one, 0, "the other place, too");
	expect("mapped", mlx5dv_map_ah_to_qp(to_a, of_other->qp_num), 0);
	expect("the other one", mlx5dv_map_ah_to_qp(to_b, of_one->qp_num), 0);
	uses(rig5, a, to_a, other, 1, "it has the queue pair's algorithm");
	uses(rig5, b, to_b, one, 1, "and the other the other's");
	expect("a duplicate of other ECE", mlx5dv_map_ah_to_qp(to_a, of_one->qp_num), 0);
	uses(rig5, a, to_a, other, 1, "a duplicate changes nothing");
	expect("the queue pairs go", ibv_destroy_qp(of_one) | ibv_destroy_qp(of_other), 0);
	uses(rig5, a, to_a, other, 1, "the mapping stays");
	expect("the handle goes", ibv_destroy_ah(to_a), 0);
	to_a = handle_to(&a->place.gid, 1);
	uses(rig5, a, to_a, one, 0, "a new handle to the place is clean");
	uses(rig5, b, to_b, one, 1, "the other mapping stays");
	of_other = queue_pair(IBV_QPT_UD);
	expect("a queue pair that agreed on nothing", mlx5dv_map_ah_to_qp(to_a, of_other->qp_num),
	       0);
	uses(rig5, a, to_a, one, 1, "has the default");
	ibv_destroy_qp(of_other);
	expect("both go", ibv_destroy_ah(to_a) | ibv_destroy_ah(to_b), 0);
}

static void post_full(struct sender *sender)
{
	post(sender->ah, (const struct target *)sender->to, FULL_BYTES);
}

static void behind_marks(const char *rig5, int usual, struct target *a, struct target *b)
{
	struct sender to_a = {.post = post_full, .ah = handle_to(&a->place.gid, 1), .to = a};
	struct sender to_b = {.post = post_full, .ah = handle_to(&b->place.gid, 1), .to = b};

	marked(rig5, usual, &a->place, &b->place, &to_a, &to_b);
}

int main(int argc, char **argv)
{
	static struct target a, b;
	static char memory[FULL_BYTES];
	struct ibv_device **devices = need(ibv_get_device_list(NULL), "ibv_get_device_list");
	int usual;

	if (argc != 5)
		return 2;
	context = need(devices[0] ? ibv_open_device(devices[0]) : NULL, "ibv_open_device");
	pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
	cq = need(ibv_create_cq(context, 64, NULL, NULL, 0), "ibv_create_cq");
	source = need(ibv_reg_mr(pd, memory, FULL_BYTES, 0), "ibv_reg_mr");
	open_initiator();
	open_target(&a, devices[1], argv[2]);
	open_target(&b, devices[2], argv[3]);
	usual = strcmp(argv[4], "rtt") == 0 ? RTT : DCQCN;
	if (getenv("RIG5_FAULT"))
		behind_marks(argv[1], usual, &a, &b);
	else
		clauses(argv[1], usual, &a, &b);
	ibv_destroy_qp(initiator);
	close_target(&a);
	close_target(&b);
	ibv_dereg_mr(source);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(devices);
	return failures != 0;
}
