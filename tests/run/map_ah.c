/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs mlx5 */
/*
 * map_ah.c - the clauses of mlx5dv_map_ah_to_qp(3), on the first device, for map_ah.sh. What it
 * includes and calls of it is what the manual page says; it is linked with libmlx5, and once more
 * with librig5_mlx5dv.so. What a destination then has is what `rig5 stats` says of this process.
 *
 * Arguments: rig5, the addresses of two more devices, to which datagrams go, and the port's default
 * algorithm, "dcqcn" or "rtt"; or "off" (the device has no such objects); or "ib" (an InfiniBand
 * port). With RIG5_FAULT, which makes a bottleneck that marks, what the algorithms do there. Exit
 * status 0: every clause holds.
 */
#include <infiniband/mlx5dv.h>

#include "map_ah.h"

static struct ibv_ah *handle(int is_global)
{
	union ibv_gid gid;

	if (ibv_query_gid(context, 1, 0, &gid))
		exit(2);
	return handle_to(&gid, is_global);
}

static struct place open_place(struct ibv_device *device, const char *address)
{
	struct place place = {.address = address};

	place.context = need(device ? ibv_open_device(device) : NULL, "ibv_open_device");
	place.pd = need(ibv_alloc_pd(place.context), "ibv_alloc_pd");
	place.cq = need(ibv_create_cq(place.context, 16, NULL, NULL, 0), "ibv_create_cq");
	place.qp = queue_pair_of(place.pd, place.cq, IBV_QPT_UD);
	start(place.qp);
	if (ibv_query_gid(place.context, 1, 0, &place.gid))
		exit(2);
	return place;
}

static void close_place(struct place *place)
{
	ibv_destroy_qp(place->qp);
	ibv_destroy_cq(place->cq);
	ibv_dealloc_pd(place->pd);
	ibv_close_device(place->context);
}

/* A datagram to the place, which has no receive for it. */
static void post(struct ibv_qp *qp, struct ibv_mr *mr, uint32_t bytes, struct ibv_ah *ah,
		 const struct place *to)
{
	struct ibv_sge piece = {.addr = (uintptr_t)mr->addr, .length = bytes, .lkey = mr->lkey};
	struct ibv_send_wr *bad, wr = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND};

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	if (ibv_post_send(qp, &wr, &bad))
		need(NULL, "ibv_post_send");
}

static void send_some(struct ibv_qp *qp, struct ibv_mr *mr, struct ibv_ah *ah, struct place *to)
{
	struct ibv_wc wc;
	int got;

	for (int i = 0; i < BURST; i++) {
		post(qp, mr, BYTES, ah, to);
		while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
			;
		if (got < 0 || wc.status != IBV_WC_SUCCESS)
			need(NULL, "a datagram");
	}
}

static void returns(void)
{
	struct ibv_qp *qp = agreed(RTT), *other = queue_pair(IBV_QPT_RC);
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

/* How many probes go to the place, which has that algorithm, for some datagrams. */
static long probes(const char *rig5, struct place *place, const char *algorithm, int mapped,
		   struct ibv_qp *qp, struct ibv_mr *mr, struct ibv_ah *ah)
{
	static const char name[] = "\"probes_sent";
	long before = count(has(rig5, place, algorithm, mapped, "before datagrams"), name);

	for (int i = 0; i < 8; i++)
		send_some(qp, mr, ah, place);
	return count(has(rig5, place, algorithm, mapped, "and after them"), name) - before;
}

/* The table of `rig5 stats` says so, too. */
static void tabled(const char *rig5, const struct place *place, const char *algorithm, int mapped)
{
	char command[512];

	snprintf(command, sizeof(command), "%s stats %d | grep -Eq '^  %s +0 %s +%s '", rig5,
		 (int)getpid(), place->address, algorithm, mapped ? "yes" : "no");
	expect("the table", system(command), 0);
}

/*
 * The algorithms that two destinations of one queue pair have. The port's default is `usual`; only
 * RTT sends probes.
 */
static void algorithms(const char *rig5, int usual, struct place *a, struct place *b,
		       struct ibv_mr *mr)
{
	static const char *const names[] = {"none", "DCQCN", "RTT"};
	const char *one = names[usual], *other = names[DCQCN + RTT - usual];
	struct ibv_qp *qp = queue_pair(IBV_QPT_UD), *of_one = agreed((uint32_t)usual);
	struct ibv_qp *of_other = agreed((uint32_t)(DCQCN + RTT - usual));
	struct ibv_ah *to_a = handle_to(&a->gid, 1), *to_b = handle_to(&b->gid, 1);

	start(qp);
	send_some(qp, mr, to_a, a);
	send_some(qp, mr, to_b, b);
	has(rig5, a, one, 0, "not mapped: the default");
	tabled(rig5, a, one, 0);
	expect("probes", probes(rig5, a, one, 0, qp, mr, to_a) > 0, usual == RTT);
	expect("an unknown queue pair", mlx5dv_map_ah_to_qp(to_a, NO_QP), EINVAL);
	has(rig5, a, one, 0, "a mapping that failed: the default");
	expect("mapped", mlx5dv_map_ah_to_qp(to_a, of_other->qp_num), 0);
	has(rig5, a, other, 1, "it has the queue pair's algorithm");
	has(rig5, b, one, 0, "the other destination has the default");
	expect("it is mapped, too", mlx5dv_map_ah_to_qp(to_b, of_one->qp_num), 0);
	has(rig5, b, one, 1, "it has that queue pair's");
	tabled(rig5, a, other, 1);
	tabled(rig5, b, one, 1);
	expect("a duplicate of other ECE", mlx5dv_map_ah_to_qp(to_a, of_one->qp_num), 0);
	expect("another", mlx5dv_map_ah_to_qp(to_b, of_other->qp_num), 0);
	has(rig5, a, other, 1, "a duplicate changes nothing");
	has(rig5, b, one, 1, "nor does the other");
	expect("probes", probes(rig5, a, other, 1, qp, mr, to_a) > 0, usual != RTT);

	expect("the queue pairs go", ibv_destroy_qp(of_one) | ibv_destroy_qp(of_other), 0);
	has(rig5, a, other, 1, "the mapping stays");
	has(rig5, b, one, 1, "the other one, too");
	expect("and works", probes(rig5, a, other, 1, qp, mr, to_a) > 0, usual != RTT);

	expect("a handle goes", ibv_destroy_ah(to_a), 0);
	has(rig5, a, one, 0, "and its mapping");
	has(rig5, b, one, 1, "and no other");
	to_a = handle_to(&a->gid, 1);
	has(rig5, a, one, 0, "a new handle to the place is clean");
	expect("and works so", probes(rig5, a, one, 0, qp, mr, to_a) > 0, usual == RTT);
	of_one = agreed((uint32_t)usual);
	expect("and can be mapped", mlx5dv_map_ah_to_qp(to_a, of_one->qp_num), 0);
	has(rig5, a, one, 1, "anew");
	expect("both go", ibv_destroy_ah(to_a) | ibv_destroy_ah(to_b), 0);
	has(rig5, b, one, 0, "with both mappings");
	ibv_destroy_qp(of_one);
	ibv_destroy_qp(qp);
}

static void post_full(struct sender *sender)
{
	post(sender->qp, sender->mr, FULL_BYTES, sender->ah, (const struct place *)sender->to);
}

static void behind_marks(const char *rig5, int usual, struct place *a, struct place *b,
			 struct ibv_mr *mr)
{
	struct sender to_a = {post_full, queue_pair(IBV_QPT_UD), mr, handle_to(&a->gid, 1), a};
	struct sender to_b = {post_full, to_a.qp, mr, handle_to(&b->gid, 1), b};

	start(to_a.qp);
	marked(rig5, usual, a, b, &to_a, &to_b);
	ibv_destroy_qp(to_a.qp);
}

static void clauses(struct ibv_device **devices, char **argv)
{
	static char memory[FULL_BYTES];
	struct ibv_mr *mr = need(ibv_reg_mr(pd, memory, FULL_BYTES, 0), "ibv_reg_mr");
	struct place a = open_place(devices[1], argv[2]), b = open_place(devices[2], argv[3]);
	int usual = strcmp(argv[4], "rtt") == 0 ? RTT : DCQCN;

	if (getenv("RIG5_FAULT")) {
		behind_marks(argv[1], usual, &a, &b, mr);
	} else {
		returns();
		algorithms(argv[1], usual, &a, &b, mr);
	}
	close_place(&a);
	close_place(&b);
	ibv_dereg_mr(mr);
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
	cq = need(ibv_create_cq(context, 64, NULL, NULL, 0), "ibv_create_cq");
	if (argc == 5)
		clauses(devices, argv);
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
