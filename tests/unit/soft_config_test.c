/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows which texts of RIG5_SOFT are good and what each makes, and that every other one is refused
 * with a sentence that names what is wrong. By tables.
 */
#include "nic/cc/cc.h"
#include "soft/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void good(void **state)
{
	static const struct {
		const char *text;
		unsigned int count;
		const char *names[3];
		const char *addresses[3];
	} rows[] = {
	    {NULL, 1, {"soft0"}, {""}},
	    {"", 0, {0}, {0}},
	    {"soft0", 1, {"soft0"}, {""}},
	    {"soft0;", 1, {"soft0"}, {""}},
	    {"soft0,ll=eth", 1, {"soft0"}, {""}},
	    {"soft0,addr=127.0.0.1", 1, {"soft0"}, {"127.0.0.1"}},
	    {"soft0;soft1,addr=127.0.0.5", 2, {"soft0", "soft1"}, {"", "127.0.0.5"}},
	    {"soft0,addr=10.0.0.1", 1, {"soft0"}, {"10.0.0.1"}},
	    {"a,addr=eth0;b,addr=br-0.5", 2, {"a", "b"}, {"eth0", "br-0.5"}},
	    {"a,addr=2001:DB8:0::1", 1, {"a"}, {"2001:db8::1"}},
	    {"a,addr=127.1.2.3,ll=eth;B-2_c,addr=127.255.0.1;z",
	     3,
	     {"a", "B-2_c", "z"},
	     {"127.1.2.3", "127.255.0.1", ""}},
	    {"a23456789012345678901234567890b", 1, {"a23456789012345678901234567890b"}, {""}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct soft_config config;
		char why[256] = "";

		if (soft_config_parse(rows[i].text, &config, why, sizeof(why)))
			print_error("\"%s\": %s\n", rows[i].text, why);
		assert_string_equal(why, "");
		assert_int_equal(config.count, rows[i].count);
		for (unsigned int n = 0; n < rows[i].count; n++) {
			assert_string_equal(config.nics[n].name, rows[i].names[n]);
			assert_string_equal(config.nics[n].address, rows[i].addresses[n]);
		}
	}
}

static void ece(void **state)
{
	struct soft_config config;
	char why[256];

	(void)state;
	assert_int_equal(soft_config_parse("a;b,addr=127.0.0.2,ece=plain;c,ll=ib,ece=own", &config,
					   why, sizeof(why)),
			 0);
	assert_false(config.nics[0].ece_plain);
	assert_true(config.nics[1].ece_plain);
	assert_false(config.nics[2].ece_plain);
}

static void ah_map(void **state)
{
	struct soft_config config;
	char why[256];

	(void)state;
	assert_int_equal(soft_config_parse("a;b,addr=127.0.0.2,ahmap=off;c,ll=ib,ahmap=on", &config,
					   why, sizeof(why)),
			 0);
	assert_false(config.nics[0].ah_map_off);
	assert_true(config.nics[1].ah_map_off);
	assert_false(config.nics[2].ah_map_off);
}

static void congestion_control(void **state)
{
	struct soft_config config;
	char why[256];

	(void)state;
	assert_int_equal(soft_config_parse("a;b,addr=127.0.0.2,cc=none;c,addr=127.0.0.3,cc=rtt;"
					   "d,addr=127.0.0.4,cc=dcqcn",
					   &config, why, sizeof(why)),
			 0);
	assert_int_equal(config.nics[0].cc_algorithm, NIC_CC_DCQCN);
	assert_int_equal(config.nics[1].cc_algorithm, NIC_CC_NONE);
	assert_int_equal(config.nics[2].cc_algorithm, NIC_CC_RTT);
	assert_int_equal(config.nics[3].cc_algorithm, NIC_CC_DCQCN);
}

static void bad(void **state)
{
	/* needle: what the sentence must say. */
	static const struct {
		const char *text;
		const char *needle;
	} rows[] = {
	    {";", "\"\" is not a name"},
	    {"soft0;;soft1,addr=127.0.0.5", "\"\" is not a name"},
	    {",ll=eth", "\"\" is not a name"},
	    {"0soft", "\"0soft\" is not a name"},
	    {"so ft", "\"so ft\" is not a name"},
	    {"soft/0", "is not a name"},
	    {"a23456789012345678901234567890bc", "is not a name"},
	    {"soft0,ll", "\"ll\" is not key=value"},
	    {"soft0,,ll=eth", "\"\" is not key=value"},
	    {"soft0,colour=red", "\"colour\" is unknown"},
	    {"soft0,LL=eth", "\"LL\" is unknown"},
	    {"soft0,=x", "\"\" is unknown"},
	    {"soft0,ll=", "ll="},
	    {"soft0,ll=token-ring", "ll=token-ring is unknown"},
	    {"soft0,ll=ib,lid=,ll=ib", "lid= is not a LID"},
	    {"soft0,ll=ib,lid=", "lid= is not a LID"},
	    {"soft0,ll=ib,lid=0", "lid=0 is not a LID"},
	    {"soft0,ll=ib,lid=0x", "lid=0x is not a LID"},
	    {"soft0,ll=ib,lid=0x1g", "lid=0x1g is not a LID"},
	    {"soft0,ll=ib,lid=1a", "lid=1a is not a LID"},
	    {"soft0,ll=ib,lid=49152", "lid=49152 is not a LID"},
	    {"soft0,ll=ib,lid=0xc000", "lid=0xc000 is not a LID"},
	    {"soft0,ll=ib,lid=4294967297", "is not a LID"},
	    {"soft0,ll=ib,addr=127.0.0.1", "has no IP address"},
	    {"soft0,addr=127.0.0.1,ll=ib", "has no IP address"},
	    {"soft0,lid=1", "an Ethernet port has no LID"},
	    {"soft0,lid=1,ll=eth", "an Ethernet port has no LID"},
	    {"a,ll=ib;b,ll=ib", "both a and b have no lid="},
	    {"a,ll=ib,lid=3;b,lid=0x3,ll=ib", "a and b have the same LID, 3"},
	    {"soft0,ece=", "ece= is unknown"},
	    {"soft0,ahmap=no", "write ahmap=on or ahmap=off"},
	    {"soft0,ece=no", "write ece=own or ece=plain"},
	    {"soft0,cc=", "cc= is unknown"},
	    {"soft0,cc=DCQCN", "write cc=none, cc=dcqcn or cc=rtt"},
	    {"soft0,cc=dcqcnx", "cc=dcqcnx is unknown"},
	    {"soft0,addr=", "addr= is neither an IP address nor"},
	    {"soft0,addr=eth/0", "addr=eth/0 is neither"},
	    {"soft0,addr=a23456789012345g", "is neither"},
	    {"soft0,addr=127.0.0.1.5", "is neither"},
	    {"soft0,addr=127.000.000.001.000.000", "is neither"},
	    {"soft0,addr=fe80::1%eth0", "is neither"},
	    {"soft0,addr=1111:2222:3333:4444:5555:6666:7777:8888:9999:0000", "is neither"},
	    {"a,addr=::1;b,addr=0:0::1", "a and b have the same address, ::1"},
	    {"soft0;soft0,addr=127.0.0.2", "two NICs called soft0"},
	    {"a;b", "both a and b have no addr="},
	    {"a,addr=127.0.0.2;b,addr=127.0.0.2", "a and b have the same address"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct soft_config config = {.count = 7};
		char why[256] = "";
		int error = soft_config_parse(rows[i].text, &config, why, sizeof(why));

		if (error != -EINVAL || !strstr(why, rows[i].needle))
			print_error("\"%s\": %d: %s\n", rows[i].text, error, why);
		assert_int_equal(error, -EINVAL);
		assert_non_null(strstr(why, rows[i].needle));
		assert_non_null(strstr(why, "RIG5_SOFT"));
		assert_int_equal(config.count, 7);
	}
}

static void infiniband(void **state)
{
	static const struct {
		const char *text;
		uint16_t lids[3]; /* 0xffff: Ethernet */
	} rows[] = {
	    {"a,ll=ib", {0}},
	    {"a,ll=ib,lid=1;b,lid=0xbfff,ll=ib;c,ll=ib", {1, 0xbfff, 0}},
	    {"a,ll=ib;b;c,ll=ib,lid=49151", {0, 0xffff, 49151}},
	    {"a,ll=ib,ll=eth;b,ll=ib", {0xffff, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct soft_config config;
		char why[256] = "";

		if (soft_config_parse(rows[i].text, &config, why, sizeof(why)))
			print_error("\"%s\": %s\n", rows[i].text, why);
		assert_string_equal(why, "");
		for (unsigned int n = 0; n < config.count; n++) {
			bool ib = rows[i].lids[n] != 0xffff;

			assert_int_equal(config.nics[n].infiniband, ib);
			assert_int_equal(config.nics[n].lid, ib ? rows[i].lids[n] : 0);
		}
	}
}

static void more_than_fit(void **state)
{
	struct soft_config config;
	char text[SOFT_NIC_MAX * 32 + 32] = "", why[256];
	size_t len = 0;

	(void)state;
	for (int i = 0; i < SOFT_NIC_MAX; i++)
		len +=
		    (size_t)snprintf(text + len, sizeof(text) - len, "n%d,addr=127.0.1.%d;", i, i);
	assert_int_equal(soft_config_parse(text, &config, why, sizeof(why)), 0);
	assert_int_equal(config.count, SOFT_NIC_MAX);
	snprintf(text + len, sizeof(text) - len, "last");
	assert_int_equal(soft_config_parse(text, &config, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "more than 16"));
	/* No room for the sentence is no harm. */
	assert_int_equal(soft_config_parse(text, &config, NULL, 0), -EINVAL);
	assert_int_equal(soft_config_parse(text, &config, why, 1), -EINVAL);
	assert_string_equal(why, "");
}

static void found_by_name(void **state)
{
	struct soft_config config;
	char why[256];

	(void)state;
	assert_int_equal(soft_config_parse("a;b,addr=127.0.0.5", &config, why, sizeof(why)), 0);
	assert_ptr_equal(soft_config_find(&config, NULL), &config.nics[0]);
	assert_ptr_equal(soft_config_find(&config, "b"), &config.nics[1]);
	assert_null(soft_config_find(&config, "c"));
	assert_null(soft_config_find(&config, ""));
	assert_int_equal(soft_config_parse("", &config, why, sizeof(why)), 0);
	assert_null(soft_config_find(&config, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good),
	    cmocka_unit_test(ece),
	    cmocka_unit_test(ah_map),
	    cmocka_unit_test(congestion_control),
	    cmocka_unit_test(bad),
	    cmocka_unit_test(infiniband),
	    cmocka_unit_test(more_than_fit),
	    cmocka_unit_test(found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
