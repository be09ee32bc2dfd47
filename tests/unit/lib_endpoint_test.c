/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that an endpoint survives its text form, and that a mangled text is refused with a message
 * that says what is wrong. How: tables, and random endpoints there and back (the seed is printed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/prng.h"
#include "include/rig5.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct rig_endpoint ipv4 = {
	.qp = 0x4011,
	.psn = 0x12ab34,
	.address.link = RIG_LINK_ETHERNET,
	.address.gid = {[10] = 0xff, 0xff, 127, 0, 0, 1},
	.mtu_bytes = 4096,
};

static void text_is_one_word_that_a_person_can_read(void **state)
{
	struct rig_endpoint lid = ipv4;
	char text[RIG_ENDPOINT_TEXT];
	int len;

	(void)state;
	len = rig_endpoint_print(&ipv4, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, "rig5:qp=0x4011,psn=0x12ab34,gid=::ffff:127.0.0.1,mtu=4096");
	memset(&lid.address, 0, sizeof(lid.address));
	lid.address.link = RIG_LINK_INFINIBAND;
	lid.address.lid = 7;
	lid.ece = 0x10000001;
	len = rig_endpoint_print(&lid, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, "rig5:qp=0x4011,psn=0x12ab34,lid=0x7,mtu=4096,ece=0x10000001");
}

static void text_that_does_not_fit_is_refused(void **state)
{
	char text[RIG_ENDPOINT_TEXT];

	(void)state;
	assert_int_equal(rig_endpoint_print(&ipv4, text, 20), -EINVAL);
	assert_int_equal(rig_endpoint_print(&ipv4, NULL, 0), -EINVAL);
	assert_int_equal(rig_endpoint_print(NULL, text, sizeof(text)), -EINVAL);
}

static void there_and_back(void **state)
{
	static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
	uint64_t seed = 0x5eed0001;
	struct base_prng prng;

	(void)state;
	printf("seed 0x%llx\n", (unsigned long long)seed);
	base_prng_seed(&prng, seed);
	for (int i = 0; i < 2000; i++) {
		struct rig_endpoint endpoint = {0}, parsed;
		char text[RIG_ENDPOINT_TEXT];

		endpoint.qp = (uint32_t)base_prng_below(&prng, 1 << 24);
		endpoint.psn = (uint32_t)base_prng_below(&prng, 1 << 24);
		endpoint.mtu_bytes = mtus[base_prng_below(&prng, 5)];
		endpoint.ece = base_prng_chance(&prng, 500000) ? (uint32_t)base_prng_u64(&prng) : 0;
		if (base_prng_chance(&prng, 300000)) {
			endpoint.address.link = RIG_LINK_INFINIBAND;
			endpoint.address.lid = (uint16_t)base_prng_u64(&prng);
		} else {
			base_prng_fill(&prng, endpoint.address.gid, 16);
		}
		assert_true(rig_endpoint_print(&endpoint, text, sizeof(text)) > 0);
		memset(&parsed, 0xee, sizeof(parsed));
		assert_int_equal(rig_endpoint_parse(text, &parsed), 0);
		assert_memory_equal(&parsed, &endpoint, sizeof(parsed));
	}
}

static void white_space_around_it_and_any_order(void **state)
{
	struct rig_endpoint parsed;

	(void)state;
	assert_int_equal(rig_endpoint_parse(" \t\r\n rig5:mtu=4096,gid=::ffff:127.0.0.1,"
					    "psn=1223476,qp=16401 \n\n", &parsed), 0);
	assert_memory_equal(&parsed, &ipv4, sizeof(parsed));
}

static void mangled_texts_are_refused(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{"", "rig5:"},
		{"qp=0x4011,psn=0x1,gid=::1,mtu=4096", "rig5:"},
		{"RIG5:qp=0x4011,psn=0x1,gid=::1,mtu=4096", "rig5:"},
		{"rig5:", "no field"},
		{"rig5:psn=0x1,gid=::1,mtu=4096", "'qp' is missing"},
		{"rig5:qp=1,gid=::1,mtu=4096", "'psn' is missing"},
		{"rig5:qp=1,psn=1,mtu=4096", "one address"},
		{"rig5:qp=1,psn=1,gid=::1", "'mtu' is missing"},
		{"rig5:qp=1,psn=1,gid=::1,lid=1,mtu=4096", "one address"},
		{"rig5:qp=1,qp=1,psn=1,gid=::1,mtu=4096", "twice"},
		{"rig5:qp=1,psn=1,gid=::1,mtu=4096,colour=red", "colour"},
		{"rig5:qp=1,psn=1,gid=::1,mtu=4096,", "no field"},
		{"rig5:,qp=1,psn=1,gid=::1,mtu=4096", "no field"},
		{"rig5:qp,psn=1,gid=::1,mtu=4096", "'qp' is no field"},
		{"rig5:qp=,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp=0x,psn=1,gid=::1,mtu=4096", "'0x' is no qp"},
		{"rig5:qp=0x1000000,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp=99999999999999999999999,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp=-1,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp=+1,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp= 1,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp=1 ,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp=1a,psn=1,gid=::1,mtu=4096", "is no qp"},
		{"rig5:qp=1,psn=0x1000000,gid=::1,mtu=4096", "is no psn"},
		{"rig5:qp=1,psn=1,gid=127.0.0.1,mtu=4096", "is no gid"},
		{"rig5:qp=1,psn=1,gid=::g,mtu=4096", "is no gid"},
		{"rig5:qp=1,psn=1,gid=,mtu=4096", "is no gid"},
		{"rig5:qp=1,psn=1,lid=0x10000,mtu=4096", "is no lid"},
		{"rig5:qp=1,psn=1,gid=::1,mtu=1500", "is no mtu"},
		{"rig5:qp=1,psn=1,gid=::1,mtu=0", "is no mtu"},
		{"rig5:qp=1,psn=1,gid=::1,mtu=8192", "is no mtu"},
		{"rig5:qp=1,psn=1,gid=::1,mtu=4096,ece=0x100000000", "is no ece"},
		{"rig5:qp=1,psn=1,gid=::1,mtu=4096\nrig5:", "is no mtu"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_endpoint parsed, untouched;

		memset(&parsed, 0xee, sizeof(parsed));
		memset(&untouched, 0xee, sizeof(untouched));
		if (rig_endpoint_parse(rows[i].text, &parsed) != -EINVAL)
			fail_msg("accepted: %s", rows[i].text);
		if (!strstr(rig_error(), rows[i].message))
			fail_msg("%s: \"%s\"", rows[i].text, rig_error());
		assert_memory_equal(&parsed, &untouched, sizeof(parsed));
	}
}

/* Every prefix of a good text, and a text far too long. */
static void cut_and_endless_texts_are_refused(void **state)
{
	static const char text[] = "rig5:qp=0x4011,psn=0x12ab34,gid=::ffff:127.0.0.1,mtu=4096";
	static char endless[100000];
	struct rig_endpoint parsed;

	(void)state;
	for (size_t len = 0; len < strlen(text); len++) {
		char cut[sizeof(text)] = "";

		memcpy(cut, text, len);
		assert_int_equal(rig_endpoint_parse(cut, &parsed), -EINVAL);
	}
	memset(endless, '1', sizeof(endless) - 1);
	memcpy(endless, text, strlen(text));
	assert_int_equal(rig_endpoint_parse(endless, &parsed), -EINVAL);
	assert_int_equal(rig_endpoint_parse(NULL, &parsed), -EINVAL);
	assert_int_equal(rig_endpoint_parse(text, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_one_word_that_a_person_can_read),
		cmocka_unit_test(text_that_does_not_fit_is_refused),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(white_space_around_it_and_any_order),
		cmocka_unit_test(mangled_texts_are_refused),
		cmocka_unit_test(cut_and_endless_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
