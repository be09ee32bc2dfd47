/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: who may join a multicast group, and who gets what is sent to it.
 * How: two NICs of tests/support/fake_nic.h, on one port and on two hosts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/errno.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static const struct fake_opts ud = {.type = NIC_QP_UD};
static const uint8_t group[16] = {0xff, 0x0e, [15] = 1};
static const uint8_t group4[16] = {[10] = 0xff, 0xff, 239, 1, 2, 3};
static const uint8_t unicast[16] = {[10] = 0xff, 0xff, 10, 1, 2, 3};

static struct bed open_world(struct fake_world *w, bool alien)
{
	struct bed b = {.w = w};

	w->alien = alien;
	fake_pair_connect(w, &b.pair, &ud);
	b.src = fake_region(w, 0, 4096, BED_LOCAL);
	b.dst = fake_region(w, 1, 4096, BED_LOCAL);
	return b;
}

static struct bed open_ud(void)
{
	return open_world(fake_world_new(NULL), false);
}

static int attach(struct fake_qp *qp, const uint8_t *gid, uint16_t lid)
{
	int err = nic_mcast_attach(qp->world->nics[qp->nic], qp->qpn, gid, lid);

	nic_check(qp->world->nics[qp->nic]);
	return err;
}

static int detach(struct fake_qp *qp, const uint8_t *gid, uint16_t lid)
{
	int err = nic_mcast_detach(qp->world->nics[qp->nic], qp->qpn, gid, lid);

	nic_check(qp->world->nics[qp->nic]);
	return err;
}

/* A queue pair that gets datagrams, and has a receive for one. */
static void member(struct fake_world *w, uint32_t nic, struct fake_qp *qp)
{
	struct fake_region in = fake_region(w, nic, 256, BED_LOCAL);
	struct fake_piece piece = {in.va, 256, in.key};

	fake_qp_make(w, nic, &ud, qp);
	fake_qp_ready(qp, 0, nic == 1, &ud);
	fake_receive(qp, &piece, 1);
	fake_receive(qp, &piece, 1);
}

static void send_to(struct bed *b, struct fake_qp *qp, const uint8_t *gid)
{
	struct fake_address to = {.qkey = FAKE_QKEY, .dqpn = 0xffffff, .hop_limit = 1};
	struct fake_wr wr = bed_wr(b, WQE_OP_SEND, 32);

	memcpy(to.rgid, gid, 16);
	wr.to = &to;
	fake_post(qp, &wr);
	fake_ring(qp);
	fake_settle(b->w);
}

static int count(struct fake_qp *qp)
{
	struct fake_cqe cqe;
	int n = 0;

	while (fake_poll(&qp->recv_cq, &cqe) == 1)
		n++;
	return n;
}

/* ---- attaching ------------------------------------------------------------------------------- */

static void which_gids_are_groups(void **state)
{
	static const uint8_t last[16] = {[10] = 0xff, 0xff, 239, 255, 255, 255};
	static const uint8_t past[16] = {[10] = 0xff, 0xff, 240, 0, 0, 0};
	static const uint8_t link_local[16] = {0xfe, 0x80};

	(void)state;
	assert_true(roce_gid_is_multicast(group));
	assert_true(roce_gid_is_multicast(group4));
	assert_true(roce_gid_is_multicast(last));
	assert_false(roce_gid_is_multicast(past));
	assert_false(roce_gid_is_multicast(unicast));
	assert_false(roce_gid_is_multicast(link_local));
}

static void attach_and_detach(void **state)
{
	struct bed b = open_ud();
	struct fake_qp connected;

	(void)state;
	fake_qp_make(b.w, 0, NULL, &connected);
	assert_int_equal(attach(&connected, group, 0), -EINVAL);
	assert_int_equal(attach(&b.pair.a, unicast, 0), -EINVAL);
	assert_int_equal(nic_mcast_attach(b.w->nics[0], 2, group, 0), -EINVAL);
	assert_int_equal(detach(&b.pair.a, group, 0), -EINVAL);
	assert_int_equal(attach(&b.pair.a, group, 0), 0);
	assert_int_equal(attach(&b.pair.a, group, 0), 0);
	assert_int_equal(nic_mcast_count(b.w->nics[0], b.pair.a.qpn), 1);
	assert_int_equal(attach(&b.pair.a, group4, 0), 0);
	assert_int_equal(attach(&b.pair.a, group, 0xc001), 0);
	assert_int_equal(b.w->groups_joined[0], 2);
	assert_int_equal(nic_mcast_count(b.w->nics[0], b.pair.a.qpn), 3);
	assert_int_equal(detach(&b.pair.a, group, 0), 0);
	assert_int_equal(b.w->groups_joined[0], 2);
	assert_int_equal(detach(&b.pair.a, group, 0), -EINVAL);
	assert_int_equal(detach(&b.pair.a, group, 0xc001), 0);
	assert_int_equal(b.w->groups_joined[0], 1);
	assert_int_equal(nic_qp_destroy(b.w->nics[0], b.pair.a.qpn), 0);
	assert_int_equal(b.w->groups_joined[0], 0);
	nic_check(b.w->nics[0]);
	bed_close(&b);
}

static void limits(void **state)
{
	struct bed b = open_ud();
	uint8_t gid[16] = {0xff, 0x0e};
	struct fake_qp qps[9];

	(void)state;
	b.w->group_error = -EACCES;
	assert_int_equal(attach(&b.pair.a, group, 0), -EACCES);
	assert_int_equal(nic_mcast_count(b.w->nics[0], b.pair.a.qpn), 0);
	b.w->group_error = 0;
	for (uint8_t i = 0; i < 9; i++)
		fake_qp_make(b.w, 0, &ud, &qps[i]);
	for (uint32_t i = 0; i < NIC_GROUPS_MAX; i++) {
		gid[15] = (uint8_t)i;
		for (uint8_t q = 0; q < NIC_ATTACHMENTS_MAX / NIC_GROUPS_MAX; q++)
			assert_int_equal(attach(&qps[q], gid, 0), 0);
	}
	assert_int_equal(attach(&qps[8], gid, 0), -ENOMEM);
	assert_int_equal(detach(&qps[0], gid, 0), 0);
	gid[15] = NIC_GROUPS_MAX;
	assert_int_equal(attach(&qps[8], gid, 0), -ENOMEM);
	bed_close(&b);
}

/* InfiniBand: the LID has to be a group's. */
static void infiniband_lids(void **state)
{
	static const struct nic_config config = {
	    .qp_count_max = 4096,
	    .cq_count_max = 64,
	    .mkey_count_max = 64,
	    .pd_count_max = 4,
	    .mtu_max_bytes = 2048,
	    .rd_atomic_max = 16,
	    .message_max_bytes_log2 = 31,
	    .lid = 5,
	};
	struct bed b = open_world(fake_world_new(&config), false);
	struct fake_address to = {.qkey = FAKE_QKEY,
				  .dqpn = 0xffffff,
				  .rlid = 0xc005,
				  .grh_gid_fl = 1u << WQE_AV_GRH_SHIFT};
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 8);
	struct fake_qp qp;

	(void)state;
	member(b.w, 1, &qp);
	assert_int_equal(attach(&qp, group, 5), -EINVAL);
	assert_int_equal(attach(&qp, group, 0xffff), -EINVAL);
	assert_int_equal(attach(&qp, group, 0xc005), 0);
	memcpy(to.rgid, group, 16);
	wr.to = &to;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	assert_int_equal(count(&qp), 1);
	/* Without a global route nobody knows which group it was for. */
	to.grh_gid_fl = 0;
	fake_post(&b.pair.a, &wr);
	fake_ring(&b.pair.a);
	fake_settle(b.w);
	assert_int_equal(count(&qp), 0);
	bed_close(&b);
}

/* ---- delivery -------------------------------------------------------------------------------- */

/* All that are attached, of both processes, each once; the sender, too, unless it does not want. */
static void everybody_gets_one_copy(void **state)
{
	struct bed b = open_ud();
	struct fake_opts blocked = {.type = NIC_QP_UD, .own_multicast_blocked = true};
	struct fake_qp a[3], c[2], silent;

	(void)state;
	for (int i = 0; i < 3; i++)
		member(b.w, 0, &a[i]);
	for (int i = 0; i < 2; i++)
		member(b.w, 1, &c[i]);
	assert_int_equal(attach(&a[0], group, 0), 0);
	assert_int_equal(attach(&a[1], group, 0), 0);
	assert_int_equal(attach(&a[1], group, 0xc001), 0);
	assert_int_equal(attach(&a[2], group4, 0), 0);
	assert_int_equal(attach(&c[0], group, 0), 0);
	send_to(&b, &a[0], group);
	assert_int_equal(count(&a[0]), 1);
	assert_int_equal(count(&a[1]), 1);
	assert_int_equal(count(&a[2]), 0);
	assert_int_equal(count(&c[0]), 1);
	assert_int_equal(count(&c[1]), 0);
	assert_int_equal(nic_counters(b.w->nics[0])->rx_multicast, 1);
	fake_qp_make(b.w, 0, &blocked, &silent);
	fake_qp_ready(&silent, 0, false, &blocked);
	assert_int_equal(attach(&silent, group, 0), 0);
	send_to(&b, &silent, group);
	assert_int_equal(count(&silent), 0);
	assert_int_equal(nic_counters(b.w->nics[0])->rx_drop_message, 0);
	assert_int_equal(count(&a[0]), 1);
	bed_close(&b);
}

/* What a receiver is shown: the group's GID as the destination. */
static void the_group_is_the_destination(void **state)
{
	struct bed b = open_world(fake_world_new(NULL), true);
	struct fake_region in = fake_region(b.w, 1, 256, BED_LOCAL);
	struct fake_piece piece = {in.va, 256, in.key};
	struct fake_cqe cqe;

	(void)state;
	fake_receive(&b.pair.b, &piece, 1);
	assert_int_equal(attach(&b.pair.b, group4, 0), 0);
	send_to(&b, &b.pair.a, group4);
	assert_int_equal(fake_poll(&b.pair.b.recv_cq, &cqe), 1);
	assert_int_equal(cqe.flags_rqpn, 0x1a000000 | b.pair.a.qpn);
	assert_memory_equal((uint8_t *)fake_mem(b.w, in.va) + 36, group4 + 12, 4);
	bed_close(&b);
}

/* Keys, receives and states count for each by itself. */
static void each_member_has_its_own_rules(void **state)
{
	struct bed b = open_ud();
	struct nic_qp_params p = {.set = NIC_QP_SET_QKEY_F, .qkey = 3};
	struct fake_qp good, other_key, in_error;

	(void)state;
	member(b.w, 1, &other_key);
	member(b.w, 1, &in_error);
	member(b.w, 1, &good);
	assert_int_equal(nic_qp_modify(b.w->nics[1], other_key.qpn, &p, b.w->now_ns), 0);
	assert_int_equal(attach(&other_key, group, 0), 0);
	assert_int_equal(attach(&b.pair.b, group, 0), 0);
	assert_int_equal(attach(&in_error, group, 0), 0);
	assert_int_equal(attach(&good, group, 0), 0);
	assert_int_equal(fake_qp_set_state(&in_error, NIC_QP_ERR), 0);
	send_to(&b, &b.pair.a, group);
	assert_int_equal(count(&other_key), 0);
	assert_int_equal(count(&b.pair.b), 0);
	assert_int_equal(count(&good), 1);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_qkey, 1);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_message, 1);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_state, 1);
	bed_close(&b);
}

/* A packet to number 0xffffff that no group's address is on, or that is no datagram. */
static void what_is_no_groups(void **state)
{
	struct bed b = open_ud();
	struct roce_pkt pkt = {.opcode = ROCE_OP_UD_SEND_ONLY,
			       .pkey = 0xffff,
			       .dqpn = 0xffffff,
			       .payload = bed_src(&b),
			       .payload_bytes = 8,
			       .deth = {FAKE_QKEY, 9}};
	struct fake_qp qp;

	(void)state;
	member(b.w, 1, &qp);
	assert_int_equal(attach(&qp, group, 0), 0);
	fake_send(b.w, 1, &pkt);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_address, 1);
	send_to(&b, &b.pair.a, unicast);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_address, 2);
	pkt.opcode = ROCE_OP_RC_SEND_ONLY;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_drop_qpn, 1);
	assert_int_equal(count(&qp), 0);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(which_gids_are_groups),
	    cmocka_unit_test(attach_and_detach),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(infiniband_lids),
	    cmocka_unit_test(everybody_gets_one_copy),
	    cmocka_unit_test(the_group_is_the_destination),
	    cmocka_unit_test(each_member_has_its_own_rules),
	    cmocka_unit_test(what_is_no_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
