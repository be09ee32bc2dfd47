/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what rdma-core and iproute2 ask by netlink is answered as the kernel answers it, in well
 * formed messages, whatever the request's bytes are. How: requests as libibverbs 44 and rdma 6.1
 * sent them, recorded by standing before their sendto and sendmsg; answers taken apart by this
 * test's own reader; and requests with random bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

#include "base/prng.h"
#include "kern/nldev.h"

enum { PORTID = 0x4a0012fc, OUT_BYTES = 16384 };

static const struct nldev host = {
    .count = 2,
    .devices = {{.index = 0,
		 .name = "mlx5_0",
		 .fw_version = "0.1.0",
		 .cap_flags = 0x1234567890,
		 .node_guid = 0x020000fffe2c0101,
		 .sys_image_guid = 0x020000fffe2c0102,
		 .node_type = 1,
		 .port_count = 1,
		 .ports = {{.state = 4, .phys_state = 5, .netdev_index = 7, .netdev = "eth0"}},
		 .uverbs = "uverbs0",
		 .uverbs_major = 231,
		 .uverbs_minor = 192,
		 .uverbs_abi = 1,
		 .driver = NLDEV_DRIVER_MLX5},
		{.index = 300,
		 .name = "fast7",
		 .port_count = 1,
		 .ports = {{.state = 4,
			    .infiniband = true,
			    .subnet_prefix = 0xfe80000000000000,
			    .lid = 61,
			    .sm_lid = 62,
			    .lmc = 3}},
		 .uverbs = "uverbs300",
		 .uverbs_major = 511,
		 .uverbs_minor = 0x12345}},
};

struct answers {
	uint8_t bytes[OUT_BYTES];
	size_t len;
	size_t at; /* of the next one */
};

static void ask(struct answers *a, const void *request, size_t len)
{
	a->at = 0;
	a->len = nldev_answer(&host, request, len, PORTID, a->bytes, sizeof(a->bytes));
}

/* The next message, whose type it has to be. */
static struct nlmsghdr *next(struct answers *a, uint16_t type, uint16_t flags, uint32_t seq)
{
	struct nlmsghdr *header = (struct nlmsghdr *)(void *)(a->bytes + a->at);

	assert_true(a->len - a->at >= sizeof(*header));
	assert_true(header->nlmsg_len >= sizeof(*header) && header->nlmsg_len <= a->len - a->at);
	assert_int_equal(header->nlmsg_type, type);
	assert_int_equal(header->nlmsg_flags, flags);
	assert_int_equal(header->nlmsg_seq, seq);
	assert_int_equal(header->nlmsg_pid, PORTID);
	a->at += NLMSG_ALIGN(header->nlmsg_len);
	return header;
}

static void expect_end(const struct answers *a)
{
	assert_int_equal(a->at, a->len);
}

/* The attribute's value, of that many bytes; it has to be there. */
static const void *attr(const struct nlmsghdr *header, uint16_t type, size_t bytes)
{
	const uint8_t *at = (const uint8_t *)header + NLMSG_HDRLEN;
	const uint8_t *end = (const uint8_t *)header + header->nlmsg_len;

	while (at < end) {
		const struct nlattr *here = (const void *)at;

		assert_true(here->nla_len >= NLA_HDRLEN && here->nla_len <= end - at);
		if (here->nla_type == type) {
			assert_int_equal(here->nla_len, NLA_HDRLEN + bytes);
			return at + NLA_HDRLEN;
		}
		at += NLA_ALIGN(here->nla_len);
	}
	return NULL;
}

static void expect_number(const struct nlmsghdr *header, uint16_t type, size_t bytes,
			  uint64_t wanted)
{
	const void *value = attr(header, type, bytes);
	uint64_t number = 0;

	assert_non_null(value);
	memcpy(&number, value, bytes);
	assert_true(number == wanted);
}

static void expect_text(const struct nlmsghdr *header, uint16_t type, const char *wanted)
{
	const char *value = attr(header, type, strlen(wanted) + 1);

	assert_non_null(value);
	assert_string_equal(value, wanted);
}

static uint16_t type_of(uint16_t op)
{
	return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op);
}

static void expect_error(struct answers *a, int error, uint32_t seq, const uint8_t *request)
{
	const struct nlmsghdr *header = next(a, NLMSG_ERROR, error ? 0 : NLM_F_CAPPED, seq);
	const uint8_t *payload = (const uint8_t *)header + NLMSG_HDRLEN;

	assert_memory_equal(payload, &error, sizeof(error));
	assert_memory_equal(payload + sizeof(error), request, NLMSG_HDRLEN);
	expect_end(a);
}

static void expect_done(struct answers *a, int error, uint32_t seq)
{
	const struct nlmsghdr *header = next(a, NLMSG_DONE, NLM_F_MULTI, seq);

	assert_memory_equal((const uint8_t *)header + NLMSG_HDRLEN, &error, sizeof(error));
	expect_end(a);
}

/* ---- what was recorded ------------------------------------------------------------------------
 */

#define SEQ 0x6b0e1692u

/* libibverbs: which devices are there? */
static const uint8_t list_request[] = {0x10, 0,    0,    0,    0x01, 0x14, 0x01, 0x03,
				       0x92, 0x16, 0x0e, 0x6b, 0xfc, 0x12, 0,    0x4a};

static void devices(void **state)
{
	struct answers a;
	const struct nlmsghdr *header;

	(void)state;
	ask(&a, list_request, sizeof(list_request));
	header = next(&a, type_of(RDMA_NLDEV_CMD_GET), NLM_F_MULTI, SEQ);
	expect_number(header, RDMA_NLDEV_ATTR_DEV_INDEX, 4, 0);
	expect_text(header, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	expect_number(header, RDMA_NLDEV_ATTR_PORT_INDEX, 4, 1);
	expect_number(header, RDMA_NLDEV_ATTR_CAP_FLAGS, 8, 0x1234567890);
	expect_text(header, RDMA_NLDEV_ATTR_FW_VERSION, "0.1.0");
	expect_number(header, RDMA_NLDEV_ATTR_NODE_GUID, 8, 0x020000fffe2c0101);
	expect_number(header, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, 8, 0x020000fffe2c0102);
	expect_number(header, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, 1, 1);
	expect_text(header, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
	header = next(&a, type_of(RDMA_NLDEV_CMD_GET), NLM_F_MULTI, SEQ);
	expect_number(header, RDMA_NLDEV_ATTR_DEV_INDEX, 4, 300);
	expect_text(header, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "ib");
	assert_null(attr(header, RDMA_NLDEV_ATTR_FW_VERSION, 1));
	expect_done(&a, 0, SEQ);
}

/* rdma dev: one of them; it wants to hear that this was all. */
static void one_device(void **state)
{
	static const uint8_t request[] = {0x18, 0,    0,    0,    0x01, 0x14, 0x05, 0x00,
					  0x92, 0x16, 0x0e, 0x6b, 0,    0,    0,    0,
					  0x08, 0,    0x01, 0,    0x2c, 0x01, 0,    0};
	struct answers a;
	const struct nlmsghdr *header;

	(void)state;
	ask(&a, request, sizeof(request));
	header = next(&a, type_of(RDMA_NLDEV_CMD_GET), 0, SEQ);
	expect_text(header, RDMA_NLDEV_ATTR_DEV_NAME, "fast7");
	expect_error(&a, 0, SEQ, request);
}

/* rdma link: port 1 of a device. */
static void ports(void **state)
{
	uint8_t request[] = {0x20, 0, 0,    0, 0x05, 0x14, 0x05, 0x00, 0x92, 0x16, 0x0e,
			     0x6b, 0, 0,    0, 0,    0x08, 0,    0x01, 0,    0,    0,
			     0,    0, 0x08, 0, 0x03, 0,    0x01, 0,    0,    0};
	struct answers a;
	const struct nlmsghdr *header;

	(void)state;
	ask(&a, request, sizeof(request));
	header = next(&a, type_of(RDMA_NLDEV_CMD_PORT_GET), 0, SEQ);
	expect_text(header, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	expect_number(header, RDMA_NLDEV_ATTR_PORT_INDEX, 4, 1);
	expect_number(header, RDMA_NLDEV_ATTR_PORT_STATE, 1, 4);
	expect_number(header, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 1, 5);
	expect_number(header, RDMA_NLDEV_ATTR_NDEV_INDEX, 4, 7);
	expect_text(header, RDMA_NLDEV_ATTR_NDEV_NAME, "eth0");
	assert_null(attr(header, RDMA_NLDEV_ATTR_LID, 4));
	expect_error(&a, 0, SEQ, request);
	/* All ports of one on InfiniBand. */
	request[20] = 0x2c;
	request[21] = 0x01;
	request[7] = 0x03;
	ask(&a, request, sizeof(request));
	header = next(&a, type_of(RDMA_NLDEV_CMD_PORT_GET), NLM_F_MULTI, SEQ);
	expect_number(header, RDMA_NLDEV_ATTR_LID, 4, 61);
	expect_number(header, RDMA_NLDEV_ATTR_SM_LID, 4, 62);
	expect_number(header, RDMA_NLDEV_ATTR_LMC, 1, 3);
	expect_number(header, RDMA_NLDEV_ATTR_SUBNET_PREFIX, 8, 0xfe80000000000000);
	assert_null(attr(header, RDMA_NLDEV_ATTR_NDEV_INDEX, 4));
	expect_done(&a, 0, SEQ);
	/* No such port; no such device. */
	request[7] = 0;
	request[28] = 2;
	ask(&a, request, sizeof(request));
	expect_error(&a, -EINVAL, SEQ, request);
	request[20] = 9;
	request[7] = 0x03;
	ask(&a, request, sizeof(request));
	expect_done(&a, -EINVAL, SEQ);
}

/* libibverbs: what is the device's verbs file called? */
static void device_files(void **state)
{
	uint8_t request[] = {0x24, 0,    0,    0,    0x0f, 0x14, 0x01, 0x00, 0x93, 0x16, 0x0e, 0x6b,
			     0xfc, 0x12, 0,    0x4a, 0x08, 0,    0x01, 0,    0,    0,    0,    0,
			     0x0b, 0,    0x45, 0,    'u',  'v',  'e',  'r',  'b',  's',  0,    0};
	struct answers a;
	const struct nlmsghdr *header;

	(void)state;
	ask(&a, request, sizeof(request));
	header = next(&a, type_of(RDMA_NLDEV_CMD_GET_CHARDEV), 0, SEQ + 1);
	expect_number(header, RDMA_NLDEV_ATTR_CHARDEV, 8, 231 << 8 | 192);
	expect_number(header, RDMA_NLDEV_ATTR_CHARDEV_ABI, 8, 1);
	expect_text(header, RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs0");
	expect_number(header, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, 4, NLDEV_DRIVER_MLX5);
	expect_end(&a);
	request[20] = 0x2c;
	request[21] = 0x01;
	ask(&a, request, sizeof(request));
	header = next(&a, type_of(RDMA_NLDEV_CMD_GET_CHARDEV), 0, SEQ + 1);
	expect_number(header, RDMA_NLDEV_ATTR_CHARDEV, 8, 511 << 8 | 0x45 | 0x12300u << 12);
	assert_null(attr(header, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, 4));
	/* There is no other file; the name has to end. */
	request[28] = 'x';
	ask(&a, request, sizeof(request));
	expect_error(&a, -ENOENT, SEQ + 1, request);
	memset(request + 28, 'x', 8);
	request[24] = 12;
	ask(&a, request, sizeof(request));
	expect_error(&a, -EINVAL, SEQ + 1, request);
}

/* rdma system; and what is not answered. */
static void others(void **state)
{
	uint8_t request[] = {0x10, 0,    0,    0,    0x06, 0x14, 0x05, 0x00,
			     0x92, 0x16, 0x0e, 0x6b, 0,    0,    0,    0};
	struct answers a;
	const struct nlmsghdr *header;

	(void)state;
	ask(&a, request, sizeof(request));
	header = next(&a, type_of(RDMA_NLDEV_CMD_SYS_GET), 0, SEQ);
	expect_number(header, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1, 1);
	expect_number(header, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1, 1);
	expect_error(&a, 0, SEQ, request);
	request[4] = RDMA_NLDEV_CMD_RES_GET;
	ask(&a, request, sizeof(request));
	expect_error(&a, -EOPNOTSUPP, SEQ, request);
	request[4] = 0xff; /* no such operation */
	ask(&a, request, sizeof(request));
	expect_error(&a, -EINVAL, SEQ, request);
	request[5] = RDMA_NL_IWCM << 2; /* not of nldev */
	request[4] = 1;
	ask(&a, request, sizeof(request));
	expect_error(&a, -EINVAL, SEQ, request);
	/* Too short for a header, or shorter than it says. */
	ask(&a, request, sizeof(request) - 1);
	assert_int_equal(a.len, 0);
	request[0] = 0x11;
	ask(&a, request, sizeof(request));
	assert_int_equal(a.len, 0);
}

/* ---- hostile ----------------------------------------------------------------------------------
 */

/* Every message of the answer lies in it, and each attribute in its message. */
static void expect_formed(const uint8_t *bytes, size_t len)
{
	while (len != 0) {
		struct nlmsghdr header;

		assert_true(len >= sizeof(header));
		memcpy(&header, bytes, sizeof(header));
		assert_true(header.nlmsg_len >= sizeof(header));
		assert_true(header.nlmsg_len <= NLDEV_MESSAGE_BYTES_MAX);
		assert_true(NLMSG_ALIGN(header.nlmsg_len) <= len);
		if (header.nlmsg_type > NLMSG_MIN_TYPE)
			attr((const struct nlmsghdr *)(const void *)bytes, 0xffff, 0);
		bytes += NLMSG_ALIGN(header.nlmsg_len);
		len -= NLMSG_ALIGN(header.nlmsg_len);
	}
}

static void any_bytes(void **state)
{
	struct base_prng prng;

	(void)state;
	base_prng_seed(&prng, 20);
	for (int i = 0; i < 50000; i++) {
		uint8_t request[256] = {0}, out[3000];
		size_t len = base_prng_below(&prng, sizeof(request) + 1), size, got;

		base_prng_fill(&prng, request, len);
		if (len >= sizeof(list_request) && i % 4 != 0) {
			memcpy(request, list_request, sizeof(list_request));
			request[0] = (uint8_t)base_prng_below(&prng, len + 2);
			request[4] = (uint8_t)base_prng_below(&prng, RDMA_NLDEV_NUM_OPS + 1);
			request[7] = (uint8_t)base_prng_below(&prng, 4);
		}
		for (size_t at = 16; i % 2 && at + 4 <= len; at += 4 + request[at] / 4 * 4) {
			request[at] = (uint8_t)base_prng_below(&prng, 24);
			request[at + 1] = 0;
			request[at + 2] = (uint8_t)base_prng_below(&prng, 0x50);
			request[at + 3] = 0;
		}
		size = base_prng_below(&prng, sizeof(out) + 1);
		memset(out, 0xa5, sizeof(out));
		got = nldev_answer(&host, request, len, PORTID, out, size);
		assert_true(got <= size);
		expect_formed(out, got);
		for (size_t at = size; at < sizeof(out); at++)
			assert_int_equal(out[at], 0xa5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(devices), cmocka_unit_test(one_device),
	    cmocka_unit_test(ports),   cmocka_unit_test(device_files),
	    cmocka_unit_test(others),  cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
