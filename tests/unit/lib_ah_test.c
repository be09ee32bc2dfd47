/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: an address handle holds the address vector that libmlx5 would write, with the MAC address
 * that the kernel resolved; what cannot be is refused with nothing changed; and how handles end.
 * How: a scripted kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/lib.h"
#include "tests/support/script_rig.h"

static const struct rig_address peer = {
    .link = RIG_LINK_ETHERNET,
    .gid = {[10] = 0xff, 0xff, 192, 0, 2, 1},
};

static struct rig_nic *nic_open(void)
{
	static const uint8_t mac[6] = {2, 0x11, 0x22, 0x33, 0x44, 0x55};

	script_reset();
	memcpy(script.dmac, mac, sizeof(mac));
	return script_nic();
}

static struct rig_nic *infiniband_open(void)
{
	script_reset();
	script.port.legacy_resp.link_layer = UV_LINK_LAYER_INFINIBAND;
	script.port.legacy_resp.lid = 7;
	return script_nic();
}

static struct rig_ah *ah_create(struct rig_nic *nic, const struct rig_address *address,
				const struct rig_path *path)
{
	struct rig_ah *ah = NULL;

	if (rig_ah_create(nic, address, path, &ah))
		fail_msg("%s", rig_error());
	return ah;
}

static void nic_close(struct rig_nic *nic)
{
	assert_int_equal(rig_close(nic), 0);
	assert_int_equal(script.live, 0);
}

static void the_kernel_resolves_the_mac(void **state)
{
	struct rig_nic *nic = nic_open();
	struct rig_ah *ah = ah_create(nic, &peer, NULL);
	const struct script_command *cmd =
	    script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_CREATE_AH);

	(void)state;
	assert_memory_equal(ah->av.rmac, script.dmac, 6);
	assert_non_null(cmd);
	assert_int_equal(cmd->create_ah.pd_handle, 3);
	assert_int_equal(cmd->create_ah.attr.port_num, 1);
	assert_int_equal(cmd->create_ah.attr.is_global, 1);
	assert_int_equal(cmd->create_ah.attr.grh.sgid_index, 3);
	assert_int_equal(cmd->create_ah.attr.grh.hop_limit, 64);
	assert_memory_equal(cmd->create_ah.attr.grh.dgid, peer.gid, 16);
	nic_close(nic);
}

static void ethernet_vector_has_path_and_port(void **state)
{
	const struct rig_path path = {.gid_index_set = true,
				      .gid_index = 1,
				      .dscp = 26,
				      .hop_limit = 9,
				      .flow_label = 0x54321,
				      .service_level = 5};
	struct rig_nic *nic = nic_open();
	struct rig_ah *ah = ah_create(nic, &peer, &path);

	(void)state;
	assert_int_equal(be32_to(ah->av.grh_gid_fl), 1 << 20 | 0x54321); /* bit 30 is reserved */
	assert_int_equal(ah->av.tclass, 26 << 2);
	assert_int_equal(ah->av.hop_limit, 9);
	assert_int_equal(ah->av.stat_rate_sl, 5 << 1);
	assert_int_equal(be16_to(ah->av.rlid), 0xc000 | ((0x54321 & 0x3fff) ^ 0x54321 >> 14));
	assert_int_equal(ah->av.fl_mlid, 0);
	assert_memory_equal(ah->av.rgid, peer.gid, 16);
	nic_close(nic);
}

static void without_a_flow_label_ports_are_random(void **state)
{
	struct rig_nic *nic = nic_open();
	uint16_t first = 0;
	int others = 0;

	(void)state;
	for (int i = 0; i < 16; i++) {
		uint16_t port = be16_to(ah_create(nic, &peer, NULL)->av.rlid);

		assert_true(port >= 0xc000);
		first = i ? first : port;
		others += port != first;
	}
	assert_true(others > 8);
	nic_close(nic);
}

static void infiniband_goes_by_lid_and_asks_no_kernel(void **state)
{
	const struct rig_address lid = {.link = RIG_LINK_INFINIBAND, .lid = 12};
	const struct rig_path path = {.service_level = 15};
	struct rig_nic *nic = infiniband_open();
	struct rig_ah *ah = ah_create(nic, &lid, &path);

	(void)state;
	assert_int_equal(be16_to(ah->av.rlid), 12);
	assert_int_equal(ah->av.stat_rate_sl, 15);
	assert_int_equal(be32_to(ah->av.grh_gid_fl), 0);
	assert_null(script_last(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_CREATE_AH));
	assert_int_equal(rig_ah_destroy(ah), 0);
	assert_null(script_last(UVERBS_OBJECT_AH, SCRIPT_ANY, SCRIPT_ANY));
	nic_close(nic);
}

static void infiniband_with_a_gid_has_a_global_route(void **state)
{
	const struct rig_address group = {
	    .link = RIG_LINK_INFINIBAND, .lid = 0xc003, .gid = {0xff, 0x12, [15] = 9}};
	struct rig_nic *nic = infiniband_open();
	struct rig_ah *ah = ah_create(nic, &group, NULL);

	(void)state;
	assert_int_equal(be32_to(ah->av.grh_gid_fl), 1 << 30);
	assert_int_equal(ah->av.hop_limit, 64);
	assert_memory_equal(ah->av.rgid, group.gid, 16);
	nic_close(nic);
}

static void groups_of_both_families(void **state)
{
	static const struct rig_address groups[] = {
	    {.link = RIG_LINK_ETHERNET, .gid = {[10] = 0xff, 0xff, 239, 1, 2, 3}},
	    {.link = RIG_LINK_ETHERNET, .gid = {0xff, 0x0e, [15] = 1}},
	};
	struct rig_nic *nic = nic_open();

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_memory_equal(ah_create(nic, &groups[i], NULL)->av.rgid, groups[i].gid, 16);
	nic_close(nic);
}

static void refused(struct rig_nic *nic, const struct rig_address *address,
		    const struct rig_path *path, const char *message)
{
	struct rig_ah *ah = (void *)1;
	int live = script.live;

	assert_int_equal(rig_ah_create(nic, address, path, &ah), -EINVAL);
	assert_message("rig_ah_create");
	assert_message(message);
	assert_ptr_equal(ah, (void *)1);
	assert_int_equal(script.live, live);
}

static void impossible_addresses_and_paths_are_invalid(void **state)
{
	const struct rig_address lid = {.link = RIG_LINK_INFINIBAND, .lid = 12};
	const struct rig_address none = {.link = RIG_LINK_ETHERNET};
	struct rig_address both = peer;
	struct rig_nic *nic = nic_open();

	(void)state;
	both.lid = 3;
	refused(nic, &lid, NULL, "link layer");
	refused(nic, &none, NULL, "GID");
	refused(nic, &both, NULL, "0x3");
	refused(nic, NULL, NULL, "address");
	refused(nic, &peer, &(struct rig_path){.dscp = 64}, "63");
	refused(nic, &peer, &(struct rig_path){.flow_label = 1 << 20}, "0xfffff");
	refused(nic, &peer, &(struct rig_path){.service_level = 8}, "7");
	refused(nic, &peer, &(struct rig_path){.gid_index_set = true, .gid_index = 8}, "8");
	assert_int_equal(rig_ah_create(nic, &peer, NULL, NULL), -EINVAL);
	assert_int_equal(script.ah_count, 0);
	nic_close(nic);
}

static void impossible_lids_are_invalid(void **state)
{
	struct rig_address address = {.link = RIG_LINK_INFINIBAND};
	struct rig_nic *nic = infiniband_open();

	(void)state;
	refused(nic, &peer, NULL, "link layer");
	refused(nic, &address, NULL, "LID");
	address.lid = 0xffff;
	refused(nic, &address, NULL, "0xffff");
	address.lid = 0xc000;
	refused(nic, &address, NULL, "group");
	address.lid = 1;
	refused(nic, &address, &(struct rig_path){.service_level = 16}, "15");
	nic_close(nic);
}

static void a_port_without_an_address_has_no_handles(void **state)
{
	struct rig_ah *ah = (void *)1;
	struct rig_nic *nic = nic_open();

	(void)state;
	script.gid_count = 0;
	assert_int_equal(rig_ah_create(nic, &peer, NULL, &ah), -EADDRNOTAVAIL);
	assert_message("RoCE v2");
	assert_ptr_equal(ah, (void *)1);
	nic_close(nic);
}

static void what_the_kernel_refuses_leaves_nothing(void **state)
{
	struct rig_ah *ah = (void *)1;
	struct rig_nic *nic = nic_open();

	(void)state;
	script_refuse(SCRIPT_ANY, SCRIPT_ANY, IB_USER_VERBS_CMD_CREATE_AH, EHOSTUNREACH);
	assert_int_equal(rig_ah_create(nic, &peer, NULL, &ah), -EHOSTUNREACH);
	assert_message("rig_ah_create");
	assert_message(strerror(EHOSTUNREACH));
	assert_ptr_equal(ah, (void *)1);
	nic_close(nic);
}

static void destroyed_once_and_with_the_nic(void **state)
{
	struct rig_nic *nic = nic_open();
	struct rig_ah *ah = ah_create(nic, &peer, NULL), *left = ah_create(nic, &peer, NULL);

	(void)state;
	script_refuse(UVERBS_OBJECT_AH, SCRIPT_ANY, SCRIPT_ANY, EBUSY);
	assert_int_equal(rig_ah_destroy(ah), -EBUSY);
	script.rules[0].err = 0;
	assert_int_equal(rig_ah_destroy(ah), 0);
	assert_int_equal(script_last(UVERBS_OBJECT_AH, SCRIPT_ANY, SCRIPT_ANY)->handle, 500);
	assert_int_equal(rig_ah_destroy(ah), -EINVAL);
	assert_int_equal(rig_ah_destroy(NULL), -EINVAL);
	nic_close(nic); /* and left with it */
	assert_int_equal(rig_ah_destroy(left), -EINVAL);
	assert_message("rig_ah_destroy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_kernel_resolves_the_mac),
	    cmocka_unit_test(ethernet_vector_has_path_and_port),
	    cmocka_unit_test(without_a_flow_label_ports_are_random),
	    cmocka_unit_test(infiniband_goes_by_lid_and_asks_no_kernel),
	    cmocka_unit_test(infiniband_with_a_gid_has_a_global_route),
	    cmocka_unit_test(groups_of_both_families),
	    cmocka_unit_test(impossible_addresses_and_paths_are_invalid),
	    cmocka_unit_test(impossible_lids_are_invalid),
	    cmocka_unit_test(a_port_without_an_address_has_no_handles),
	    cmocka_unit_test(what_the_kernel_refuses_leaves_nothing),
	    cmocka_unit_test(destroyed_once_and_with_the_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
