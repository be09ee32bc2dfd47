/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what the device says of itself, and that it promises nothing that it does not have.
 * By the queries that libmlx5 makes when it opens a device, and by reading the sysfs files.
 */
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct kern_rig rig;

static int open_rig(void **state)
{
	(void)state;
	kern_rig_open(&rig);
	assert_int_equal(rig_context(&rig), 0);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	kern_rig_close(&rig);
	return 0;
}

static void context(void **state)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
	    .total_num_bfregs = 16, .max_cqe_version = 1, .lib_caps = 3};
	struct mlx5_ib_alloc_ucontext_resp *resp;
	uint32_t *vectors;
	uint64_t *support;
	struct kern_file *old = rig.file;

	(void)state;
	assert_int_equal(kern_open(rig.kern, &rig.file), 0);
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	vectors = rig_out(&rig, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4);
	support = rig_out(&rig, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8);
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	resp = rig_out(&rig, UVERBS_ATTR_UHW_OUT, sizeof(*resp));
	assert_int_equal(rig_run(&rig), 0);
	assert_true(rig_is_valid(&rig, UVERBS_ATTR_UHW_OUT));
	assert_int_equal(*vectors, 1);
	assert_int_equal(*support, 1);
	assert_int_equal(resp->tot_bfregs, 0);
	assert_int_equal(resp->cache_line_size, 64);
	assert_int_equal(resp->num_ports, 1);
	assert_int_equal(resp->cqe_version, 1);
	assert_int_equal(resp->cmds_supp_uhw, 3);
	assert_int_equal(resp->response_length, sizeof(*resp));
	/* A clock and ECE; no dump mkey, no shared receive queues. */
	assert_int_equal(resp->comp_mask, MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET |
					      MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE |
					      MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS |
					      MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG);
	assert_int_equal(resp->clock_info_versions, 1);
	assert_int_equal(resp->max_srq_recv_wr, 32768);
	kern_close(rig.file, 0);
	rig.file = old;
}

static void device(void **state)
{
	struct ib_uverbs_ex_query_device req = {0};
	struct ib_uverbs_ex_query_device_resp resp;
	struct mlx5_ib_query_device_resp uhw;
	uint32_t cmd = UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE);

	(void)state;
	assert_int_equal(
	    rig_write(&rig, cmd, &req, sizeof(req), &resp, sizeof(resp), &uhw, sizeof(uhw)), 0);
	assert_int_equal(resp.response_length, sizeof(resp));
	assert_int_equal(resp.base.fw_ver, UINT64_C(16) << 32 | 35 << 16 | 2000);
	assert_int_equal(resp.base.vendor_id, 0x02c9);
	assert_int_equal(resp.base.max_qp, 4096);
	assert_int_equal(resp.base.max_cq, 64);
	assert_int_equal(resp.base.max_cqe, (1 << 22) - 1);
	assert_int_equal(resp.base.max_qp_rd_atom, 16);
	assert_int_equal(resp.base.atomic_cap, UV_ATOMIC_HCA);
	assert_int_equal(resp.base.phys_port_cnt, 1);
	assert_int_equal(resp.base.max_srq, 64);
	assert_int_equal(resp.base.max_srq_wr, 32767);
	assert_int_equal(resp.base.max_srq_sge, 31);
	assert_int_equal(resp.base.max_mw, 64);
	assert_int_equal(resp.max_dm_size, 2 * 4096);
	assert_int_equal(resp.base.max_mcast_grp, NIC_GROUPS_MAX);
	assert_int_equal(resp.base.max_total_mcast_qp_attach, NIC_ATTACHMENTS_MAX);
	assert_int_equal(resp.rss_caps.supported_qpts, 1 << IB_UVERBS_QPT_RAW_PACKET);
	assert_int_equal(resp.rss_caps.max_rwq_indirection_tables, 64);
	assert_int_equal(resp.rss_caps.max_rwq_indirection_table_size, 128);
	assert_int_equal(resp.max_wq_type_rq, resp.base.max_qp);
	assert_int_equal(resp.odp_caps.general_caps, 3);
	assert_int_equal(resp.odp_caps.per_transport_caps.rc_odp_caps, 0x3f);
	assert_int_equal(resp.odp_caps.per_transport_caps.uc_odp_caps, 0x07);
	assert_int_equal(resp.odp_caps.per_transport_caps.ud_odp_caps, 0x23);
	assert_int_equal(resp.xrc_odp_caps, 0x3f);
	assert_int_equal(resp.timestamp_mask, INT64_MAX);
	assert_int_equal(resp.hca_core_clock, 1000000);
	assert_int_equal(resp.cq_moderation_caps.max_cq_moderation_count, 0);
	assert_int_equal(resp.base.device_cap_flags,
			 1 << 11 | 1 << 12 | 1 << 17 | 1 << 20 | 1 << 21 | 1 << 24);
	assert_int_equal(resp.device_cap_flags_ex, resp.base.device_cap_flags);
	assert_int_equal(uhw.response_length, sizeof(uhw));
	assert_int_equal(uhw.flags, MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD);
	assert_int_equal(uhw.cqe_comp_caps.max_num, 0);
	assert_int_equal(uhw.rss_caps.rx_hash_function, MLX5_RX_HASH_FUNC_TOEPLITZ);
	assert_int_equal(uhw.rss_caps.rx_hash_fields_mask, 0xff);
	/* Shorter answers say how much of them is meant. */
	assert_int_equal(rig_write(&rig, cmd, &req, sizeof(req), &resp, 184, NULL, 0), 0);
	assert_int_equal(resp.response_length, 184);
	assert_int_equal(rig_write(&rig, cmd, &req, sizeof(req), &resp, 183, NULL, 0), -ENOSPC);
	req.comp_mask = 1;
	assert_int_equal(rig_write(&rig, cmd, &req, sizeof(req), &resp, sizeof(resp), NULL, 0),
			 -EINVAL);
}

/* mlx5's own: no switch inside the card. */
static void port_of_the_driver(void **state)
{
	struct mlx5_ib_uapi_query_port *resp;

	(void)state;
	for (uint32_t number = 0; number < 3; number++) {
		rig_call(&rig, UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT);
		rig_in32(&rig, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, number);
		resp = rig_out(&rig, MLX5_IB_ATTR_QUERY_PORT, sizeof(*resp));
		assert_int_equal(rig_run(&rig), number == 1 ? 0 : -EINVAL);
		if (number == 1)
			assert_int_equal(resp->flags, 0);
	}
}

static void port(void **state)
{
	struct ib_uverbs_query_port req = {.port_num = 1};
	struct ib_uverbs_query_port_resp resp;

	(void)state;
	assert_int_equal(rig_write(&rig, IB_USER_VERBS_CMD_QUERY_PORT, &req, sizeof(req), &resp,
				   sizeof(resp), NULL, 0),
			 0);
	assert_int_equal(resp.state, UV_PORT_ACTIVE);
	assert_int_equal(resp.active_mtu, UV_MTU_4096);
	assert_int_equal(resp.gid_tbl_len, 16);
	assert_int_equal(resp.pkey_tbl_len, 1);
	assert_int_equal(resp.max_msg_sz, 1u << 30);
	assert_int_equal(resp.link_layer, UV_LINK_LAYER_ETHERNET);
	assert_int_equal(resp.flags, IB_UVERBS_QPF_GRH_REQUIRED);
	req.port_num = 2;
	assert_int_equal(rig_write(&rig, IB_USER_VERBS_CMD_QUERY_PORT, &req, sizeof(req), &resp,
				   sizeof(resp), NULL, 0),
			 -EINVAL);
}

static int gid_entry(uint64_t port_num, uint64_t index, uint32_t flags,
		     struct ib_uverbs_gid_entry **entry)
{
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	rig_in64(&rig, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, port_num);
	rig_in64(&rig, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index);
	rig_in32(&rig, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, flags);
	*entry = rig_out(&rig, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, sizeof(**entry));
	return rig_run(&rig);
}

static void gid_entries(void **state)
{
	struct ib_uverbs_gid_entry *entry;

	(void)state;
	assert_int_equal(gid_entry(1, 0, 0, &entry), 0);
	assert_memory_equal(entry->gid, rig.config.gids[0], 16);
	assert_int_equal(entry->gid_type, IB_UVERBS_GID_TYPE_ROCE_V2);
	assert_int_equal(entry->port_num, 1);
	assert_int_equal(gid_entry(1, 1, 0, &entry), -ENODATA);
	assert_int_equal(gid_entry(1, 15, 0, &entry), -ENODATA);
	assert_int_equal(gid_entry(1, 16, 0, &entry), -EINVAL);
	assert_int_equal(gid_entry(1, UINT32_MAX, 0, &entry), -EINVAL);
	assert_int_equal(gid_entry(2, 0, 0, &entry), -EINVAL);
	assert_int_equal(gid_entry(1, 0, 1, &entry), -EINVAL);
}

static int gid_table(uint64_t entry_size, uint16_t len, uint8_t **entries, uint64_t **count)
{
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
	rig_in64(&rig, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, entry_size);
	rig_in32(&rig, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0);
	*entries = rig_out(&rig, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, len);
	*count = rig_out(&rig, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8);
	return rig_run(&rig);
}

static void gid_tables(void **state)
{
	uint8_t *entries;
	uint64_t *count;

	(void)state;
	assert_int_equal(gid_table(32, 320, &entries, &count), 0);
	assert_int_equal(*count, 1);
	assert_memory_equal(entries, rig.config.gids[0], 16);
	/* Longer entries are filled up, shorter ones cut. */
	assert_int_equal(gid_table(40, 80, &entries, &count), 0);
	assert_int_equal(entries[39], 0);
	assert_int_equal(entries[40], 0xee);
	assert_int_equal(gid_table(8, 80, &entries, &count), 0);
	assert_memory_equal(entries, rig.config.gids[0], 8);
	assert_int_equal(entries[8], 0xee);
	assert_int_equal(gid_table(0, 80, &entries, &count), -EINVAL);
	assert_int_equal(gid_table(33, 80, &entries, &count), -EINVAL);
	assert_int_equal(gid_table(32, 0, &entries, &count), -EINVAL);
	assert_int_equal(gid_table(UINT64_MAX, 80, &entries, &count), -EINVAL);
}

/* ---- sysfs ------------------------------------------------------------------------------------
 */

static void files(void **state)
{
	static const struct {
		const char *path;
		const char *text; /* NULL: error */
		int error;
	} rows[] = {
	    {"class/infiniband_verbs/abi_version", "6\n", 0},
	    {"class/infiniband_verbs/uverbs0/ibdev", "soft0\n", 0},
	    {"class/infiniband_verbs/uverbs0/dev", "231:192\n", 0},
	    {"class/infiniband_verbs/uverbs0/abi_version", "1\n", 0},
	    {"class/infiniband/soft0/node_guid", "0200:005e:fe7f:0001\n", 0},
	    {"class/infiniband/soft0/fw_ver", "16.35.2000\n", 0},
	    {"class/infiniband/soft0/ports/1/state", "4: ACTIVE\n", 0},
	    {"class/infiniband/soft0/ports/1/link_layer", "Ethernet\n", 0},
	    {"class/infiniband/soft0/ports/1/lid", "0x0\n", 0},
	    {"class/infiniband/soft0/ports/1/cap_mask", "0x04000000\n", 0},
	    {"class/infiniband/soft0/ports/1/pkeys/0", "0xffff\n", 0},
	    {"class/infiniband/soft0/ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:7f00:0001\n",
	     0},
	    {"class/infiniband/soft0/ports/1/gids/15", "0000:0000:0000:0000:0000:0000:0000:0000\n",
	     0},
	    {"class/infiniband/soft0/ports/1/gid_attrs/types/0", "RoCE v2\n", 0},
	    {"class/infiniband/soft0/ports/1/gid_attrs/ndevs/0", "lo\n", 0},
	    {"class/infiniband/soft0/ports/1/gid_attrs/types/1", NULL, -EINVAL},
	    {"class/infiniband/soft0/ports/1/gids/16", NULL, -ENOENT},
	    {"class/infiniband/soft0/ports/2/state", NULL, -ENOENT},
	    {"class/infiniband/soft00/node_guid", NULL, -ENOENT},
	    {"class/infiniband/soft0/node_guid/x", NULL, -ENOENT},
	    {"class/infiniband/soft0/node_gui", NULL, -ENOENT},
	    {"class/infiniband/soft0", NULL, -EISDIR},
	    {"class/infiniband/soft0/", NULL, -EISDIR},
	    {"class/infiniband/soft0/device/net/lo", NULL, -EISDIR},
	    {"class", NULL, -EISDIR},
	    {"", NULL, -ENOENT},
	    {"nothing", NULL, -ENOENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[256] = "";
		int got = kern_sysfs_read(rig.kern, rows[i].path, buf, sizeof(buf));
		int expected = rows[i].text ? (int)strlen(rows[i].text) : rows[i].error;

		if (got != expected)
			print_error("path \"%s\"\n", rows[i].path);
		assert_int_equal(got, expected);
		if (rows[i].text)
			assert_memory_equal(buf, rows[i].text, strlen(rows[i].text));
	}
}

static void a_short_buffer_is_not_overrun(void **state)
{
	char buf[4] = "....";

	(void)state;
	assert_int_equal(kern_sysfs_read(rig.kern, "class/infiniband/soft0/node_guid", buf, 3), 3);
	assert_memory_equal(buf, "020.", 4);
}

static unsigned int list(const char *path, char names[][32])
{
	unsigned int count = 0;

	while (kern_sysfs_list(rig.kern, path, count, names[count], 32) == 0)
		count++;
	return count;
}

static void directories(void **state)
{
	char names[64][32], path[64], text[256];

	(void)state;
	assert_int_equal(list("class/infiniband", names), 1);
	assert_string_equal(names[0], "soft0");
	assert_int_equal(list("class/infiniband_verbs", names), 2);
	assert_string_equal(names[0], "abi_version");
	assert_string_equal(names[1], "uverbs0");
	assert_int_equal(list("class/infiniband/soft0/ports", names), 1);
	assert_int_equal(list("class/infiniband/soft0/ports/1/gids", names), 16);
	assert_string_equal(names[15], "15");
	assert_int_equal(list("class/infiniband/soft0/device/net", names), 1);
	assert_string_equal(names[0], "lo");
	assert_int_equal(list("class/infiniband/soft0/node_guid", names), 0);
	assert_int_equal(list("nothing", names), 0);
	/* No name twice, and each is a file or a directory. */
	for (unsigned int i = 0, count = list("class/infiniband/soft0", names); i < count; i++) {
		int got;

		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(names[i], names[j]);
		snprintf(path, sizeof(path), "class/infiniband/soft0/%.31s", names[i]);
		got = kern_sysfs_read(rig.kern, path, text, sizeof(text));
		assert_true(got > 0 || got == -EISDIR);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(context),
	    TEST(device),
	    TEST(port),
	    TEST(gid_entries),
	    TEST(gid_tables),
	    TEST(files),
	    TEST(a_short_buffer_is_not_overrun),
	    TEST(directories),
	    TEST(port_of_the_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
