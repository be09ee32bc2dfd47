/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that each refusal's sentence names the call that was refused, and the bound or the kernel's
 * reason, and that a call that fails leaves its output as it was. How: every public call is made in
 * every way that it refuses, and the kernel of a script refuses every command that a call makes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

static char memory[4096];
static struct script_rig rig;
static struct rig_region *region;

/* What the calls are given to write to, filled with a pattern before each. */
static union {
	struct rig_nic *nic;
	struct rig_region *region;
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_nic_info info;
	struct rig_endpoint endpoint;
	struct rig_local local;
	struct rig_remote remote;
	struct rig_event event;
	struct rig_wc wc;
	char bytes[1024];
} out;

static void set_up(void)
{
	script_reset();
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 64);
	rig.qp = script_qp_create(rig.cq, 16, 16);
	assert_int_equal(rig_region_create(rig.nic, memory, 4096, RIG_REMOTE_ALL, &region), 0);
	memset(&out, 0xa5, sizeof(out));
}

static void tear_down(void)
{
	memset(script.rules, 0, sizeof(script.rules));
	assert_int_equal(rig_close(rig.nic), 0);
}

static struct rig_endpoint peer(void)
{
	struct rig_endpoint endpoint;

	assert_int_equal(rig_qp_endpoint(rig.qp, &endpoint), 0);
	return endpoint;
}

/* refused - ret is err; the sentence starts with the call and holds text; nothing was written. */
#define refused(ret, err, call, text) refused_at(ret, err, call, text, __LINE__)
static void refused_at(int ret, int err, const char *call, const char *text, int line)
{
	if (ret != err)
		fail_msg("line %d: %s returned %d, not %d", line, call, ret, err);
	if (strncmp(rig_error(), call, strlen(call)) != 0 || rig_error()[strlen(call)] != ':' ||
	    !strstr(rig_error(), text))
		fail_msg("line %d: \"%s\", without %s or %s", line, rig_error(), call, text);
	for (size_t i = 0; i < sizeof(out); i++)
		if (out.bytes[i] != (char)0xa5)
			fail_msg("line %d: %s wrote byte %zu", line, call, i);
}

static void mistakes_with_nics_and_regions(void **state)
{
	(void)state;
	set_up();
	refused(rig_names(NULL, 1), -EINVAL, "rig_names", "1");
	refused(rig_names(NULL, -1), -EINVAL, "rig_names", "-1");
	refused(rig_open("mlx5_7", &out.nic), -ENODEV, "rig_open", "mlx5_7");
	refused(rig_open(NULL, NULL), -EINVAL, "rig_open", "");
	refused(rig_close(NULL), -EINVAL, "rig_close", "");
	refused(rig_nic_info(rig.nic, NULL), -EINVAL, "rig_nic_info", "");
	refused(rig_nic_info(NULL, &out.info), -EINVAL, "rig_nic_info", "");
	refused(rig_region_create(rig.nic, memory, 0, RIG_LOCAL, &out.region), -EINVAL,
		"rig_region_create", "0 bytes");
	refused(rig_region_create(rig.nic, memory, 8, (enum rig_access)7, &out.region), -EINVAL,
		"rig_region_create", "7");
	refused(rig_region_create(NULL, memory, 8, RIG_LOCAL, &out.region), -EINVAL,
		"rig_region_create", "");
	refused(rig_region_create_dmabuf(rig.nic, -1, 0, 8, RIG_LOCAL, &out.region), -EINVAL,
		"rig_region_create_dmabuf", "-1");
	refused(rig_region_create_dmabuf(rig.nic, 5, 0, 8, RIG_LOCAL, &out.region), -EOPNOTSUPP,
		"rig_region_create_dmabuf", "mlx5_0");
	refused(rig_region_local(region, 4000, 97, &out.local), -EINVAL, "rig_region_local",
		"4096");
	refused(rig_region_remote(region, 4000, 97, &out.remote), -EINVAL, "rig_region_remote",
		"4096");
	refused(rig_region_remote(NULL, 0, 8, &out.remote), -EINVAL, "rig_region_remote", "");
	refused(rig_region_destroy(NULL), -EINVAL, "rig_region_destroy", "");
	refused(rig_wait(rig.nic, 0, &out.event, 0), -EINVAL, "rig_wait", "0");
	refused(rig_wait(NULL, 0, &out.event, 1), -EINVAL, "rig_wait", "");
	refused(rig_fd(NULL), -EINVAL, "rig_fd", "");
	tear_down();
}

static void mistakes_with_queues(void **state)
{
	(void)state;
	set_up();
	refused(rig_cq_create(rig.nic, 0, &out.cq), -EINVAL, "rig_cq_create", "1 to 4194304");
	refused(rig_cq_create(NULL, 8, &out.cq), -EINVAL, "rig_cq_create", "");
	refused(rig_cq_poll(rig.cq, &out.wc, 0), -EINVAL, "rig_cq_poll", "65535");
	refused(rig_cq_destroy(rig.cq), -EBUSY, "rig_cq_destroy", "1");
	refused(rig_cq_destroy(NULL), -EINVAL, "rig_cq_destroy", "");
	refused(rig_qp_create(rig.cq, 0, 0, &out.qp), -EINVAL, "rig_qp_create", "0");
	refused(rig_qp_create(rig.cq, 1, -1, &out.qp), -EINVAL, "rig_qp_create", "-1");
	refused(rig_qp_create(rig.cq, 32769, 0, &out.qp), -ERANGE, "rig_qp_create", "32768");
	refused(rig_qp_create(rig.cq, 64, 0, &out.qp), -EINVAL, "rig_qp_create", "64");
	refused(rig_qp_create(NULL, 1, 0, &out.qp), -EINVAL, "rig_qp_create", "");
	refused(rig_qp_endpoint(rig.qp, NULL), -EINVAL, "rig_qp_endpoint", "");
	refused(rig_qp_endpoint(NULL, &out.endpoint), -EINVAL, "rig_qp_endpoint", "");
	refused(rig_qp_room(rig.qp, (enum rig_ring)5), -EINVAL, "rig_qp_room", "5");
	refused(rig_qp_room(NULL, RIG_RING_SEND), -EINVAL, "rig_qp_room", "");
	refused(rig_qp_destroy(NULL), -EINVAL, "rig_qp_destroy", "");
	tear_down();
}

static void mistakes_with_texts(void **state)
{
	struct rig_endpoint self;

	(void)state;
	set_up();
	self = peer();
	refused(rig_endpoint_print(&self, out.bytes, 0), -EINVAL, "rig_endpoint_print", "0");
	refused(rig_endpoint_print(NULL, out.bytes, 128), -EINVAL, "rig_endpoint_print", "");
	refused(rig_endpoint_parse(NULL, &out.endpoint), -EINVAL, "rig_endpoint_parse", "");
	refused(rig_endpoint_parse("word", &out.endpoint), -EINVAL, "rig_endpoint_parse", "word");
	refused(rig_endpoint_parse("rig5:psn=1", &out.endpoint), -EINVAL, "rig_endpoint_parse",
		"qp");
	refused(rig_wc_text(NULL, out.bytes, 128), -EINVAL, "rig_wc_text", "");
	tear_down();
}

static void mistakes_with_connect(void **state)
{
	static const struct rig_path dscp = {.dscp = 64}, flow = {.flow_label = 0x100000};
	static const struct rig_path gid = {.gid_index_set = true, .gid_index = 200};
	struct rig_endpoint good, bad;

	(void)state;
	set_up();
	bad = good = peer();
	refused(rig_qp_connect(NULL, RIG_LOCAL, &good, NULL), -EINVAL, "rig_qp_connect", "");
	refused(rig_qp_connect(rig.qp, (enum rig_access)9, &good, NULL), -EINVAL, "rig_qp_connect",
		"9");
	refused(rig_qp_connect(rig.qp, RIG_LOCAL, &good, &dscp), -EINVAL, "rig_qp_connect", "63");
	refused(rig_qp_connect(rig.qp, RIG_LOCAL, &good, &flow), -EINVAL, "rig_qp_connect",
		"0xfffff");
	refused(rig_qp_connect(rig.qp, RIG_LOCAL, &good, &gid), -EINVAL, "rig_qp_connect", "200");
	bad.mtu_bytes = 1500;
	refused(rig_qp_connect(rig.qp, RIG_LOCAL, &bad, NULL), -EINVAL, "rig_qp_connect", "4096");
	bad = good;
	bad.address.link = RIG_LINK_INFINIBAND;
	refused(rig_qp_connect(rig.qp, RIG_LOCAL, &bad, NULL), -EINVAL, "rig_qp_connect",
		"other link layer");
	assert_int_equal(rig_qp_connect(rig.qp, RIG_LOCAL, &good, NULL), 0);
	refused(rig_qp_connect(rig.qp, RIG_LOCAL, &good, NULL), -EINVAL, "rig_qp_connect",
		"already");
	tear_down();
}

static const struct rig_local piece = {.addr = 0x1000, .len_bytes = 8, .key = 1};
static const struct rig_local long_piece = {.addr = 0x1000, .len_bytes = 1u << 31, .key = 1};

/* Entries that no queue pair takes, and what their refusal names. */
static const struct {
	struct rig_entry entry;
	const char *text;
} entries[] = {
	{{.op = 77}, "77"},
	{{.flags = 0x80}, "0x80"},
	{{.stream = 1}, "stream"},
	{{.op = RIG_READ, .flags = RIG_INLINE_F}, "inline"},
	{{.op = RIG_READ, .flags = RIG_IMM_F}, "immediate"},
	{{.flags = RIG_INLINE_F, .inline_data = memory, .inline_len_bytes = 2000}, "972"},
	{{.piece_count = 3}, "3"},
	{{.pieces = &long_piece, .piece_count = 1}, "2147483647"},
	{{.op = RIG_FETCH_ADD, .pieces = &piece, .piece_count = 1, .remote_addr = 4}, "8"},
};

static void mistakes_with_entries(void **state)
{
	(void)state;
	set_up();
	refused(rig_qp_post(rig.qp, &entries[0].entry), -EINVAL, "rig_qp_post", "not connected");
	refused(rig_qp_receive(rig.qp, &piece), -EINVAL, "rig_qp_receive", "not connected");
	refused(rig_qp_ring(rig.qp), -EINVAL, "rig_qp_ring", "not connected");
	script_connect_self(rig.qp);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		refused(rig_qp_post(rig.qp, &entries[i].entry), -EINVAL, "rig_qp_post",
			entries[i].text);
		refused(rig_entry_slots(&entries[i].entry), -EINVAL, "rig_entry_slots",
			entries[i].text);
	}
	refused(rig_entry_slots(NULL), -EINVAL, "rig_entry_slots", "");
	refused(rig_qp_receive(rig.qp, &long_piece), -EINVAL, "rig_qp_receive", "2147483647");
	refused(rig_qp_receive_pieces(rig.qp, &long_piece, 1), -EINVAL, "rig_qp_receive_pieces",
		"2147483647");
	refused(rig_qp_receive_pieces(rig.qp, NULL, 1), -EINVAL, "rig_qp_receive_pieces", "1");
	while (rig_qp_receive(rig.qp, &piece) == 0)
		;
	refused(rig_qp_receive(rig.qp, &piece), -EAGAIN, "rig_qp_receive", "16");
	refused(rig_qp_receive_pieces(rig.qp, &piece, 1), -EAGAIN, "rig_qp_receive_pieces", "16");
	while (rig_qp_post(rig.qp, &(struct rig_entry){.pieces = &piece, .piece_count = 1}) == 0)
		;
	refused(rig_qp_post(rig.qp, &(struct rig_entry){.op = RIG_SEND}), -EAGAIN, "rig_qp_post",
		"16");
	tear_down();
}

/* Every call that asks the kernel, and the kernel's reason. */
static void refusals_of_the_kernel(void **state)
{
	const char *reason = strerror(ENOSPC);
	struct rig_endpoint self;

	(void)state;
	set_up();
	self = peer();
	script_refuse(SCRIPT_ANY, SCRIPT_ANY, SCRIPT_ANY, ENOSPC);
	refused(rig_open("mlx5_0", &out.nic), -ENOSPC, "rig_open", reason);
	refused(rig_nic_info(rig.nic, &out.info), -ENOSPC, "rig_nic_info", reason);
	refused(rig_region_create(rig.nic, memory, 8, RIG_LOCAL, &out.region), -ENOSPC,
		"rig_region_create", reason);
	refused(rig_cq_create(rig.nic, 8, &out.cq), -ENOSPC, "rig_cq_create", reason);
	refused(rig_qp_create(rig.cq, 8, 8, &out.qp), -ENOSPC, "rig_qp_create", reason);
	refused(rig_qp_endpoint(rig.qp, &out.endpoint), -ENOSPC, "rig_qp_endpoint", reason);
	refused(rig_qp_connect(rig.qp, RIG_LOCAL, &self, NULL), -ENOSPC, "rig_qp_connect", reason);
	refused(rig_region_destroy(region), -ENOSPC, "rig_region_destroy", reason);
	refused(rig_qp_destroy(rig.qp), -ENOSPC, "rig_qp_destroy", reason);
	refused(rig_cq_destroy(rig.cq), -ENOSPC, "rig_cq_destroy", reason);
	script_refuse(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, SCRIPT_ANY, ENOSPC);
	refused(rig_nic_info(rig.nic, &out.info), -ENOSPC, "rig_nic_info", reason);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_with_nics_and_regions),
		cmocka_unit_test(mistakes_with_queues),
		cmocka_unit_test(mistakes_with_texts),
		cmocka_unit_test(mistakes_with_connect),
		cmocka_unit_test(mistakes_with_entries),
		cmocka_unit_test(refusals_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
