/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the object AV_QP_MAPPING gives a destination the congestion control of a queue pair, for
 * as long as it lives; what it refuses, and with which status.
 * How: mailboxes built field by field, and what the NIC says of its destinations.
 */
#include "abi/mlx5_wqe.h"
#include "kern/state.h"
#include "nic/nic_priv.h"
#include "tests/support/devx_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	OFFER = 0x1a1007c3, /* of a NIC that can do all */
	CHOSE_DCQCN = 0x1a1007c1,
	CHOSE_RTT = 0x1a2007c2,
};

static const uint8_t there[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
static const uint8_t elsewhere[16] = {[10] = 0xff, 0xff, 10, 0, 0, 3};

static struct world {
	struct kern_rig rig;
	struct devx devx;
	uint32_t uar, page, pdn;
	struct devx_cq cq;
	struct devx_qp rtt, dcqcn, plain; /* with what they have agreed on; plain: nothing */
} world;

static uint32_t make_pd(void)
{
	struct ib_uverbs_alloc_pd req = {.response = 0};
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp uhw;

	assert_int_equal(rig_write(&world.rig, IB_USER_VERBS_CMD_ALLOC_PD, &req, sizeof(req), &resp,
				   sizeof(resp), &uhw, sizeof(uhw)),
			 0);
	return uhw.pdn;
}

/* A queue pair whose peer has said `word`. */
static void make_qp(struct devx_qp *qp, uint32_t word)
{
	struct devx *devx = &world.devx;

	*qp = (struct devx_qp){.rq_count = 16, .sq_count = 8, .ece = 0x10000000};
	assert_int_equal(devx_qp(&world.rig, world.page, world.pdn, world.cq.number, qp), 0);
	devx_in(devx, CMD_RST2INIT_QP, CMD_QP_CREATE_BYTES, 16);
	devx->handle = qp->handle;
	cmd_set(devx->in, CMD_NUMBER, qp->number);
	cmd_set(devx->in, CMD_QP_ECE, word);
	cmd_set(devx->in + CMD_QP_QPC + CMD_QPC_PATH, CMD_ADS_PORT, 1);
	assert_int_equal(devx_modify(&world.rig, devx), 0);
	assert_int_equal(cmd_get(devx->out, CMD_OUT_ECE), word ? word : (uint32_t)OFFER);
}

static int start(void)
{
	world.rig.nic->ece_offer = OFFER;
	assert_int_equal(rig_context(&world.rig), 0);
	assert_int_equal(rig_uar(&world.rig, &world.uar, &world.page), 0);
	world.pdn = make_pd();
	assert_int_equal(devx_cq(&world.rig, world.page, 4, &world.cq), 0);
	make_qp(&world.rtt, CHOSE_RTT);
	make_qp(&world.dcqcn, CHOSE_DCQCN);
	make_qp(&world.plain, 0);
	return 0;
}

static int open_world(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	kern_rig_open(&world.rig);
	return start();
}

static int open_infiniband(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	kern_rig_open_infiniband(&world.rig);
	return start();
}

static int close_world(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	return 0;
}

static void fill(uint32_t qpn, uint8_t stat_rate_sl, uint32_t sgid_index, const uint8_t *rgid)
{
	uint8_t *av = world.devx.in + CMD_MAP_AV;

	devx_in(&world.devx, CMD_CREATE_GENERAL_OBJECT, CMD_MAP_IN_BYTES, 16);
	cmd_set(world.devx.in, CMD_OBJ_TYPE, CMD_OBJ_AV_QP_MAPPING);
	cmd_set(world.devx.in, CMD_MAP_QPN, qpn);
	av[offsetof(struct wqe_av, stat_rate_sl)] = stat_rate_sl;
	be32_store(av + offsetof(struct wqe_av, grh_gid_fl), sgid_index << WQE_AV_SGID_INDEX_SHIFT);
	memcpy(av + offsetof(struct wqe_av, rgid), rgid, 16);
}

/* Maps it; the object's handle. */
static uint32_t map(uint32_t qpn, uint8_t sl, const uint8_t *rgid)
{
	fill(qpn, sl, 0, rgid);
	assert_int_equal(devx_create(&world.rig, &world.devx), 0);
	assert_int_not_equal(cmd_get(world.devx.out, CMD_OBJ_ID), 0);
	return world.devx.handle;
}

static void unmap(uint32_t handle)
{
	assert_int_equal(devx_destroy(&world.rig, handle), 0);
}

static void refused(enum cmd_status status)
{
	assert_int_equal(devx_create(&world.rig, &world.devx), -EREMOTEIO);
	assert_int_equal(devx_status(&world.devx), status);
	assert_int_not_equal(cmd_get(world.devx.out, CMD_OUT_SYNDROME), 0);
}

/* What the NIC has for that destination: an algorithm; -1: no mapping. */
static int algorithm_of(uint8_t sl, const uint8_t *rgid)
{
	struct nic_dest_key key;
	struct nic_flow_stats stats;
	uint32_t cursor = 0;

	while (nic_dest_next(world.rig.nic, &cursor, 0, &key, &stats))
		if (key.sl == sl && memcmp(key.dgid, rgid, 16) == 0 && stats.mapped)
			return (int)stats.algorithm;
	return -1;
}

static void the_queue_pairs_algorithm(void **state)
{
	(void)state;
	map(world.rtt.number, 0, there);
	map(world.dcqcn.number, 0, elsewhere);
	assert_int_equal(algorithm_of(0, there), NIC_CC_RTT);
	assert_int_equal(algorithm_of(0, elsewhere), NIC_CC_DCQCN);
}

/* One that has agreed on nothing has the port's default. */
static void the_default_of_a_queue_pair(void **state)
{
	(void)state;
	map(world.plain.number, 0, there);
	assert_int_equal(algorithm_of(0, there), NIC_CC_NONE);
}

static void not_mapped(void **state)
{
	(void)state;
	map(world.rtt.number, 0, there);
	assert_int_equal(algorithm_of(0, elsewhere), -1);
	assert_int_equal(algorithm_of(1, there), -1);
}

/* What happens to the queue pair afterwards changes nothing. */
static void copied_at_the_call(void **state)
{
	(void)state;
	map(world.rtt.number, 0, there);
	assert_int_equal(devx_destroy(&world.rig, world.rtt.handle), 0);
	assert_int_equal(algorithm_of(0, there), NIC_CC_RTT);
	/* And its number is nobody's now. */
	fill(world.rtt.number, 0, 0, elsewhere);
	refused(CMD_BAD_RES);
}

static void of_any_context(void **state)
{
	struct kern_rig *rig = &world.rig;
	struct kern_file *one = rig->file;

	(void)state;
	assert_int_equal(kern_open(rig->kern, &rig->file), 0);
	assert_int_equal(rig_context(rig), 0);
	map(world.rtt.number, 0, there);
	assert_int_equal(algorithm_of(0, there), NIC_CC_RTT);
	/* A context takes its mappings along. */
	kern_close(rig->file, 0);
	rig->file = one;
	assert_int_equal(algorithm_of(0, there), -1);
}

static void ends_with_the_object(void **state)
{
	uint32_t handle;

	(void)state;
	handle = map(world.rtt.number, 0, there);
	unmap(handle);
	assert_int_equal(algorithm_of(0, there), -1);
	handle = map(world.dcqcn.number, 0, there);
	assert_int_equal(algorithm_of(0, there), NIC_CC_DCQCN);
	unmap(handle);
}

static void the_oldest_rules(void **state)
{
	uint32_t first, second, third;

	(void)state;
	first = map(world.rtt.number, 0, there);
	second = map(world.dcqcn.number, 0, there);
	third = map(world.rtt.number, 0, there);
	assert_int_equal(algorithm_of(0, there), NIC_CC_RTT);
	unmap(first);
	assert_int_equal(algorithm_of(0, there), NIC_CC_DCQCN);
	unmap(third);
	assert_int_equal(algorithm_of(0, there), NIC_CC_DCQCN);
	unmap(second);
	assert_int_equal(algorithm_of(0, there), -1);
}

/* The rest of the vector is not looked at; the priority is above a bit that Ethernet has not. */
static void what_names_a_destination(void **state)
{
	uint8_t *av = world.devx.in + CMD_MAP_AV;

	(void)state;
	fill(world.rtt.number, 0xf0 | 3 << 1, 0, there);
	memset(av, 0x5a, offsetof(struct wqe_av, stat_rate_sl));
	memset(av + offsetof(struct wqe_av, fl_mlid), 0x5a,
	       offsetof(struct wqe_av, grh_gid_fl) - offsetof(struct wqe_av, fl_mlid));
	av[offsetof(struct wqe_av, grh_gid_fl) + 3] = 0x77;
	assert_int_equal(devx_create(&world.rig, &world.devx), 0);
	assert_int_equal(algorithm_of(3, there), NIC_CC_RTT);
}

/* There a service level is one, and a path with a global route is named by its GID alone. */
static void infiniband(void **state)
{
	struct nic_path path = {.dlid = 7, .sl = 3};
	struct nic_dest_key key;

	(void)state;
	map(world.rtt.number, 3, there);
	assert_int_equal(algorithm_of(3, there), NIC_CC_RTT);
	memcpy(path.dgid, there, 16);
	key = nic_dest_key_of(&path);
	assert_non_null(nic_dest_find(world.rig.nic, &key));
	memset(path.dgid, 0, 16);
	key = nic_dest_key_of(&path);
	assert_int_equal(key.dlid, 7);
	assert_null(nic_dest_find(world.rig.nic, &key));
}

static void refusals(void **state)
{
	static const uint8_t none[16];

	(void)state;
	fill(0, 0, 0, there);
	refused(CMD_BAD_RES);
	fill(0xffffff, 0, 0, there);
	refused(CMD_BAD_RES);
	fill(world.rtt.number | 1u << 24, 0, 0, there);
	refused(CMD_BAD_RES);
	fill(world.rtt.number, 0, 5, there);
	refused(CMD_BAD_PARAM);
	fill(world.rtt.number, 0, 255, there);
	refused(CMD_BAD_PARAM);
	fill(world.rtt.number, 0, 0, none);
	refused(CMD_BAD_PARAM);
	fill(world.rtt.number, 0, 0, there);
	world.devx.in_len--;
	refused(CMD_BAD_INP_LEN);
	assert_int_equal(algorithm_of(0, there), -1);
}

static void full(void **state)
{
	uint8_t rgid[16];
	uint32_t count = 0;
	size_t used = world.rig.memory_used;

	(void)state;
	memcpy(rgid, there, 16);
	for (;; count++) {
		world.rig.memory_used = used;
		be32_store(rgid + 12, 0x0b000000 + count);
		fill(world.rtt.number, 0, 0, rgid);
		if (devx_create(&world.rig, &world.devx) != 0)
			break;
	}
	assert_int_equal(count, NIC_MAPPINGS_MAX);
	assert_int_equal(devx_status(&world.devx), CMD_NO_RES);
}

static bool is_offered(void)
{
	const uint8_t *cap = world.devx.out + CMD_HEADER_BYTES;

	devx_in(&world.devx, CMD_QUERY_HCA_CAP, 16, CMD_HEADER_BYTES + CMD_CAP_BYTES);
	cmd_set(world.devx.in, CMD_OP_MOD, 1);
	assert_int_equal(devx_other(&world.rig, &world.devx), 0);
	return be64_load(cap + 0x80) >> CMD_OBJ_AV_QP_MAPPING & 1;
}

/* A card whose firmware is too old has neither the bit nor the object. */
static void capability(void **state)
{
	(void)state;
	assert_true(is_offered());
	world.rig.kern->config.ah_map_off = true;
	assert_false(is_offered());
	fill(world.rtt.number, 0, 0, there);
	refused(CMD_BAD_OP);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(the_queue_pairs_algorithm),
	    TEST(the_default_of_a_queue_pair),
	    TEST(not_mapped),
	    TEST(copied_at_the_call),
	    TEST(of_any_context),
	    TEST(ends_with_the_object),
	    TEST(the_oldest_rules),
	    TEST(what_names_a_destination),
	    cmocka_unit_test_setup_teardown(infiniband, open_infiniband, close_world),
	    TEST(refusals),
	    TEST(full),
	    TEST(capability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
