/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: datagram queue pairs come up without a peer, take entries with an address and no others,
 * and say where a datagram came from; what is refused changes nothing. How: a scripted kernel, and
 * the test as the NIC. The bytes of entries: lib_golden_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

enum { QKEY = 0x11223344, ENTRIES = 8, RECEIVES = 4, MTU = 4096 };

static const struct rig_address peer = {
    .link = RIG_LINK_ETHERNET,
    .gid = {[10] = 0xff, 0xff, 192, 0, 2, 1},
};
static const struct rig_address group = {
    .link = RIG_LINK_ETHERNET,
    .gid = {[10] = 0xff, 0xff, 239, 1, 2, 3},
};
static const struct rig_start start = {.qkey = QKEY};

struct bed {
	struct script_rig rig;
	struct rig_ah *ah;
};

static struct rig_qp *ud_create(struct rig_cq *cq)
{
	const struct rig_qp_options options = {.transport = RIG_UD};
	struct rig_qp *qp = NULL;

	assert_int_equal(rig_qp_create_with(cq, ENTRIES, RECEIVES, &options, &qp), 0);
	return qp;
}

/* bed_open - a datagram queue pair that was not started. */
static struct bed bed_open(void)
{
	struct bed bed;

	script_reset();
	bed.rig.nic = script_nic();
	bed.rig.cq = script_cq_create(bed.rig.nic, 64);
	bed.rig.qp = ud_create(bed.rig.cq);
	assert_int_equal(rig_ah_create(bed.rig.nic, &peer, NULL, &bed.ah), 0);
	return bed;
}

static struct bed bed_started(void)
{
	struct bed bed = bed_open();

	assert_int_equal(rig_qp_start(bed.rig.qp, &start), 0);
	return bed;
}

static struct rig_entry entry_to(const struct bed *bed)
{
	return (struct rig_entry){.op = RIG_SEND,
				  .flags = RIG_SIGNAL_F,
				  .ah = bed->ah,
				  .remote_qp = 0x77,
				  .remote_qkey = QKEY};
}

/* ---- coming up ------------------------------------------------------------------------------- */

static void three_edges_with_a_qkey_and_no_peer(void **state)
{
	struct bed bed = bed_open();
	const struct ib_uverbs_modify_qp *in;
	struct rig_endpoint endpoint;
	unsigned int first = script.log_count;

	(void)state;
	assert_int_equal(script.qps[0].type, IB_UVERBS_QPT_UD);
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), 0);
	assert_int_equal(rig_qp_endpoint(bed.rig.qp, &endpoint), 0);
	/* Behind the look at the port. */
	while (script.log[first].write_cmd != IB_USER_VERBS_CMD_MODIFY_QP)
		first++;
	in = &script.log[first].modify;
	assert_int_equal(in->qp_state, UV_QPS_INIT);
	assert_int_equal(in->attr_mask, UV_QP_STATE | UV_QP_PKEY_INDEX | UV_QP_PORT | UV_QP_QKEY);
	assert_int_equal(in->qkey, QKEY);
	in = &script.log[first + 1].modify;
	assert_int_equal(in->qp_state, UV_QPS_RTR);
	assert_int_equal(in->attr_mask, UV_QP_STATE);
	in = &script.log[first + 2].modify;
	assert_int_equal(in->qp_state, UV_QPS_RTS);
	assert_int_equal(in->attr_mask, UV_QP_STATE | UV_QP_SQ_PSN);
	assert_int_equal(in->sq_psn, endpoint.psn);
	script_rig_close(&bed.rig);
}

static void start_is_for_datagrams_once_and_on_a_port_that_is_up(void **state)
{
	struct bed bed = bed_open();
	struct rig_qp *rc = script_qp_create(bed.rig.cq, 4, 0);

	(void)state;
	assert_int_equal(rig_qp_start(rc, &start), -EINVAL);
	assert_message("rig_qp_connect");
	assert_int_equal(rig_qp_start(bed.rig.qp, NULL), -EINVAL);
	assert_int_equal(rig_qp_start(NULL, &start), -EINVAL);
	script.port.legacy_resp.state = 1;
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), -ENETDOWN);
	script.port.legacy_resp.state = UV_PORT_ACTIVE;
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_QP));
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), 0);
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), -EINVAL);
	assert_message("already");
	script_rig_close(&bed.rig);
}

static void a_datagram_queue_pair_is_not_connected(void **state)
{
	struct bed bed = bed_open();
	struct rig_endpoint self;

	(void)state;
	assert_int_equal(rig_qp_endpoint(bed.rig.qp, &self), 0);
	assert_int_equal(rig_qp_connect(bed.rig.qp, RIG_LOCAL, &self, NULL), -EINVAL);
	assert_message("rig_qp_start");
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), 0);
	script_rig_close(&bed.rig);
}

static void after_a_refusal_it_may_be_started_again(void **state)
{
	struct bed bed = bed_open();

	(void)state;
	for (int edge = UV_QPS_INIT; edge <= UV_QPS_RTS; edge++) {
		script.rules[0] = (struct script_rule){
		    SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_QP, edge, EPERM, 0, 1};
		assert_int_equal(rig_qp_start(bed.rig.qp, &start), -EPERM);
		assert_message("rig_qp_start");
		assert_int_equal(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_MODIFY_QP)
				     ->modify.qp_state,
				 UV_QPS_RESET);
		assert_int_equal(rig_qp_post(bed.rig.qp, &(struct rig_entry){.op = RIG_SEND}),
				 -EINVAL);
	}
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), 0);
	script_rig_close(&bed.rig);
}

static void no_transport_of_that_number(void **state)
{
	const struct rig_qp_options options = {.transport = (enum rig_transport)77};
	struct bed bed = bed_open();
	struct rig_qp *qp = (void *)1;

	(void)state;
	assert_int_equal(rig_qp_create_with(bed.rig.cq, 4, 0, &options, &qp), -EINVAL);
	assert_message("77");
	assert_ptr_equal(qp, (void *)1);
	assert_int_equal(script.qp_count, 1);
	script_rig_close(&bed.rig);
}

/* ---- posting --------------------------------------------------------------------------------- */

/* refused - the entry is, with nothing changed; and a good one is taken afterwards. */
static void refused(const struct bed *bed, const struct rig_entry *entry, const char *message)
{
	const uint8_t *ring = script_slot(0, 0);
	uint8_t before[ENTRIES * WQE_BB_BYTES];

	memcpy(before, ring, sizeof(before));
	assert_int_equal(rig_qp_post(bed->rig.qp, entry), -EINVAL);
	assert_message("rig_qp_post");
	assert_message(message);
	assert_memory_equal(ring, before, sizeof(before));
	assert_int_equal(rig_qp_index(bed->rig.qp, RIG_RING_SEND), 0);
}

static void what_no_datagram_can_be_is_refused(void **state)
{
	const uint64_t data = 3;
	struct bed bed = bed_started();
	struct rig_local piece = {.addr = 1, .len_bytes = MTU + 1, .key = 1};
	const struct rig_entry good = entry_to(&bed);
	struct rig_entry bad[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].ah = NULL;
	bad[1].remote_qp = 1 << 24;
	bad[2].remote_dc_key = 1;
	bad[3].stream = 1;
	bad[4].op = RIG_READ;
	bad[5].pieces = &piece;
	bad[5].piece_count = 1;
	bad[6].flags = 0x80;
	/* What is a short cut's on a reliable queue pair. */
	bad[7] = (struct rig_entry){
	    .op = RIG_WRITE, .flags = RIG_INLINE_F, .inline_data = &data, .inline_len_bytes = 8};
	refused(&bed, &bad[0], "");
	refused(&bed, &bad[1], "0x1000000");
	refused(&bed, &bad[2], "remote_dc_key");
	refused(&bed, &bad[3], "stream");
	refused(&bed, &bad[4], "sends");
	refused(&bed, &bad[5], "4096");
	refused(&bed, &bad[6], "flags");
	refused(&bed, &bad[7], "sends");
	piece.len_bytes = MTU;
	bad[5].pieces = &piece;
	assert_int_equal(rig_qp_post(bed.rig.qp, &bad[5]), 0);
	assert_int_equal(rig_qp_index(bed.rig.qp, RIG_RING_SEND), 2);
	script_rig_close(&bed.rig);
}

static void a_handle_must_live_and_be_of_this_nic(void **state)
{
	struct bed bed = bed_started();
	struct rig_nic *other = script_nic();
	struct rig_entry entry = entry_to(&bed);
	struct rig_ah *others;

	(void)state;
	assert_int_equal(rig_ah_create(other, &peer, NULL, &others), 0);
	entry.ah = others;
	refused(&bed, &entry, "another NIC");
	assert_int_equal(rig_ah_destroy(bed.ah), 0);
	entry.ah = bed.ah;
	refused(&bed, &entry, "address handle");
	assert_int_equal(rig_close(other), 0);
	script_rig_close(&bed.rig);
}

static void a_reliable_queue_pair_takes_no_address(void **state)
{
	struct bed bed = bed_started();
	struct rig_qp *rc = script_qp_create(bed.rig.cq, 4, 0);
	struct rig_entry entry = entry_to(&bed);

	(void)state;
	script_connect_self(rc);
	assert_int_equal(rig_qp_post(rc, &entry), -EINVAL);
	assert_message("reliable");
	assert_int_equal(rig_qp_index(rc, RIG_RING_SEND), 0);
	script_rig_close(&bed.rig);
}

static void not_started_is_invalid(void **state)
{
	struct bed bed = bed_open();
	struct rig_entry entry = entry_to(&bed);

	(void)state;
	assert_int_equal(rig_qp_post(bed.rig.qp, &entry), -EINVAL);
	assert_int_equal(rig_qp_ring(bed.rig.qp), -EINVAL);
	assert_int_equal(rig_qp_receive(bed.rig.qp, &(struct rig_local){0}), -EINVAL);
	script_rig_close(&bed.rig);
}

/* An empty datagram takes one slot, one with a piece two: at each depth the ring is full, and then
 * takes what is no short cut's no more, either. */
static void a_full_ring_refuses_and_comes_free(void **state)
{
	struct bed bed = bed_started();
	struct rig_local piece = {.addr = 1, .len_bytes = 100, .key = 1};
	struct rig_entry empty = entry_to(&bed), full = entry_to(&bed);
	const uint64_t data = 8;
	const struct rig_entry write8 = {
	    .op = RIG_WRITE, .flags = RIG_INLINE_F, .inline_data = &data, .inline_len_bytes = 8};
	struct rig_wc wc;
	uint16_t index = 0;

	(void)state;
	full.pieces = &piece;
	full.piece_count = 1;
	assert_int_equal(rig_entry_slots(&empty), 1);
	assert_int_equal(rig_entry_slots(&full), 2);
	for (int lap = 0; lap < 5; lap++) {
		uint16_t first = index;

		for (int i = 0; i < 3; i++, index = (uint16_t)(index + 2))
			assert_int_equal(rig_qp_post(bed.rig.qp, &full), 0);
		assert_int_equal(rig_qp_post(bed.rig.qp, &empty), 0);
		index++;
		assert_int_equal(rig_qp_room(bed.rig.qp, RIG_RING_SEND), 1);
		assert_int_equal(rig_qp_post(bed.rig.qp, &full), -EAGAIN);
		assert_int_equal(rig_qp_post(bed.rig.qp, &write8), -EINVAL);
		assert_int_equal(rig_qp_post(bed.rig.qp, &empty), 0);
		index++;
		assert_int_equal(rig_qp_post(bed.rig.qp, &empty), -EAGAIN);
		script_done(0, 0, (uint16_t)(first + 7));
		assert_int_equal(rig_cq_poll(bed.rig.cq, &wc, 1), 1);
		assert_int_equal(rig_qp_room(bed.rig.qp, RIG_RING_SEND), ENTRIES);
		assert_int_equal(rig_qp_index(bed.rig.qp, RIG_RING_SEND), index);
	}
	script_rig_close(&bed.rig);
}

static void the_port_mtu_bounds_inline_data_too(void **state)
{
	struct bed bed;
	struct rig_entry entry;
	uint8_t data[300] = {0};

	(void)state;
	script_reset();
	script.port.legacy_resp.active_mtu = UV_MTU_256;
	bed.rig.nic = script_nic();
	bed.rig.cq = script_cq_create(bed.rig.nic, 64);
	bed.rig.qp = ud_create(bed.rig.cq);
	assert_int_equal(rig_ah_create(bed.rig.nic, &peer, NULL, &bed.ah), 0);
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), 0);
	entry = entry_to(&bed);
	entry.flags = RIG_INLINE_F;
	entry.inline_data = data;
	entry.inline_len_bytes = 257;
	refused(&bed, &entry, "256");
	entry.inline_len_bytes = 256;
	assert_int_equal(rig_qp_post(bed.rig.qp, &entry), 0);
	script_rig_close(&bed.rig);
}

/* ---- completions ----------------------------------------------------------------------------- */

static struct rig_wc received(struct bed *bed, struct cqe64 cqe, enum cqe_opcode opcode)
{
	const struct rig_local local = {.addr = 1, .len_bytes = 140, .key = 1};
	struct rig_wc wc;

	assert_int_equal(rig_qp_receive(bed->rig.qp, &local), 0);
	cqe.byte_cnt = be32_from(140);
	script_complete(0, 0, cqe, opcode);
	assert_int_equal(rig_cq_poll(bed->rig.cq, &wc, 1), 1);
	assert_int_equal(wc.kind, RIG_WC_RECEIVE);
	assert_int_equal(wc.status, RIG_OK);
	assert_int_equal(wc.len_bytes, 140);
	return wc;
}

static void the_source_is_in_the_completion(void **state)
{
	const uint8_t ipv4[40] = {[20] = 0x45, [32] = 192, 0, 2, 9, 10, 0, 0, 1};
	const uint8_t ipv6[40] = {0x60, [8] = 0xfd, [23] = 5};
	struct bed bed = bed_started();
	struct rig_address from;
	struct rig_wc wc;
	char text[128];

	(void)state;
	/* An IPv4 header, and a MAC address where InfiniBand has the LID. */
	wc = received(&bed,
		      (struct cqe64){.flags_rqpn = be32_from(1u << 28 | 2u << 24 | 0xabcde),
				     .slid = be16_from(0x1234)},
		      CQE_RESP_SEND);
	assert_int_equal(wc.flags, RIG_WC_GRH_F | RIG_WC_IPV4_F);
	assert_int_equal(wc.source_qp, 0xabcde);
	assert_int_equal(wc.source_lid, 0);
	assert_int_equal(wc.index, 0);
	rig_wc_text(&wc, text, sizeof(text));
	assert_non_null(strstr(text, "0xabcde"));
	assert_int_equal(rig_wc_source(&wc, ipv4, &from), 0);
	assert_memory_equal(from.gid, ((uint8_t[16]){[10] = 0xff, 0xff, 192, 0, 2, 9}), 16);
	wc = received(&bed,
		      (struct cqe64){.flags_rqpn = be32_from(1u << 28 | 1u << 24 | 7),
				     .imm_inval_pkey = be32_from(99)},
		      CQE_RESP_SEND_IMM);
	assert_int_equal(wc.flags, RIG_WC_GRH_F | RIG_WC_IMM_F);
	assert_int_equal(wc.imm, 99);
	assert_int_equal(wc.index, 1);
	assert_int_equal(rig_wc_source(&wc, ipv6, &from), 0);
	assert_int_equal(from.link, RIG_LINK_ETHERNET);
	assert_memory_equal(from.gid, ipv6 + 8, 16);
	script_rig_close(&bed.rig);
}

static void on_infiniband_the_source_has_a_lid(void **state)
{
	const uint8_t grh[40] = {0x60, [8] = 0xfe, [23] = 5};
	struct rig_address from;
	struct rig_wc wc;
	struct bed bed;

	(void)state;
	script_reset();
	script.port.legacy_resp.link_layer = UV_LINK_LAYER_INFINIBAND;
	script.port.legacy_resp.lid = 7;
	bed.rig.nic = script_nic();
	bed.rig.cq = script_cq_create(bed.rig.nic, 64);
	bed.rig.qp = ud_create(bed.rig.cq);
	assert_int_equal(rig_qp_start(bed.rig.qp, &start), 0);
	/* The service level, 2, is no kind of IP header. */
	wc = received(
	    &bed, (struct cqe64){.flags_rqpn = be32_from(2u << 24 | 0x55), .slid = be16_from(12)},
	    CQE_RESP_SEND);
	assert_int_equal(wc.flags, 0);
	assert_int_equal(wc.source_lid, 12);
	assert_int_equal(rig_wc_source(&wc, grh, &from), 0);
	assert_int_equal(from.link, RIG_LINK_INFINIBAND);
	assert_int_equal(from.lid, 12);
	assert_int_equal(from.gid[0], 0);
	wc = received(
	    &bed, (struct cqe64){.flags_rqpn = be32_from(1u << 28 | 0x55), .slid = be16_from(12)},
	    CQE_RESP_SEND);
	assert_int_equal(wc.flags, RIG_WC_GRH_F);
	assert_int_equal(rig_wc_source(&wc, grh, &from), 0);
	assert_memory_equal(from.gid, grh + 8, 16);
	script_rig_close(&bed.rig);
}

static void no_source_without_a_datagram(void **state)
{
	const uint8_t grh[40] = {0};
	struct rig_address from = {.lid = 3};
	struct rig_wc wc = {.kind = RIG_WC_RECEIVE};

	(void)state;
	assert_int_equal(rig_wc_source(&wc, grh, &from), -EINVAL);
	wc.flags = RIG_WC_GRH_F;
	assert_int_equal(rig_wc_source(NULL, grh, &from), -EINVAL);
	assert_int_equal(rig_wc_source(&wc, NULL, &from), -EINVAL);
	assert_int_equal(rig_wc_source(&wc, grh, NULL), -EINVAL);
	wc.kind = RIG_WC_ENTRY;
	assert_int_equal(rig_wc_source(&wc, grh, &from), -EINVAL);
	wc.kind = RIG_WC_RECEIVE;
	wc.status = RIG_FLUSHED;
	wc.syndrome = 5; /* no LID */
	assert_int_equal(rig_wc_source(&wc, grh, &from), -EINVAL);
	assert_int_equal(from.lid, 3);
}

/* ---- multicast ------------------------------------------------------------------------------- */

static void groups_are_attached_and_detached(void **state)
{
	struct bed bed = bed_started();
	const struct script_command *cmd;

	(void)state;
	assert_int_equal(rig_qp_attach(bed.rig.qp, &group), 0);
	cmd = script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_ATTACH_MCAST);
	assert_non_null(cmd);
	assert_memory_equal(cmd->mcast.gid, group.gid, 16);
	assert_int_equal(cmd->mcast.qp_handle, 0);
	assert_int_equal(rig_qp_detach(bed.rig.qp, &group), 0);
	assert_non_null(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_DETACH_MCAST));
	script_refuse(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_ATTACH_MCAST, ENOMEM);
	assert_int_equal(rig_qp_attach(bed.rig.qp, &group), -ENOMEM);
	assert_message("rig_qp_attach");
	script_rig_close(&bed.rig);
}

static void impossible_groups_are_invalid(void **state)
{
	const struct rig_address lid = {.link = RIG_LINK_INFINIBAND, .lid = 0xc001};
	struct bed bed = bed_started();
	struct rig_qp *rc = script_qp_create(bed.rig.cq, 4, 0);

	(void)state;
	assert_int_equal(rig_qp_attach(bed.rig.qp, &peer), -EINVAL);
	assert_message("multicast");
	assert_int_equal(rig_qp_attach(bed.rig.qp, &lid), -EINVAL);
	assert_int_equal(rig_qp_attach(bed.rig.qp, NULL), -EINVAL);
	assert_int_equal(rig_qp_attach(NULL, &group), -EINVAL);
	assert_int_equal(rig_qp_attach(rc, &group), -EINVAL);
	assert_message("datagrams");
	assert_int_equal(rig_qp_detach(rc, &group), -EINVAL);
	assert_message("rig_qp_detach");
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_ATTACH_MCAST));
	script_rig_close(&bed.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(three_edges_with_a_qkey_and_no_peer),
	    cmocka_unit_test(start_is_for_datagrams_once_and_on_a_port_that_is_up),
	    cmocka_unit_test(a_datagram_queue_pair_is_not_connected),
	    cmocka_unit_test(after_a_refusal_it_may_be_started_again),
	    cmocka_unit_test(no_transport_of_that_number),
	    cmocka_unit_test(what_no_datagram_can_be_is_refused),
	    cmocka_unit_test(a_handle_must_live_and_be_of_this_nic),
	    cmocka_unit_test(a_reliable_queue_pair_takes_no_address),
	    cmocka_unit_test(not_started_is_invalid),
	    cmocka_unit_test(a_full_ring_refuses_and_comes_free),
	    cmocka_unit_test(the_port_mtu_bounds_inline_data_too),
	    cmocka_unit_test(the_source_is_in_the_completion),
	    cmocka_unit_test(on_infiniband_the_source_has_a_lid),
	    cmocka_unit_test(no_source_without_a_datagram),
	    cmocka_unit_test(groups_are_attached_and_detached),
	    cmocka_unit_test(impossible_groups_are_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
