/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what `rig5 devices` says of hardware: an adapter on Ethernet and on InfiniBand, a port that
 * is down, one without an address, and one whose verbs file is not for this user. How: on the sysfs
 * and the kernel of a script, by the text on stdout and the exit status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include "tools/devices.c"
#include "tools/report.c"
#include "tools/units.c"

/* The words of one line of the table for the NIC of this name, one space between them. */
static char row[512];

static void take_row(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	size_t len = 0;

	assert_non_null(at);
	for (; *at && *at != '\n' && len + 1 < sizeof(row); at++)
		if (*at != ' ' || (len && row[len - 1] != ' '))
			row[len++] = *at;
	row[len] = '\0';
}

/* ran - what `rig5 devices [option]` writes, until the next call; its exit status. */
static char *text;

static int ran(const char *option)
{
	char *argv[] = {(char[]){"devices"}, option ? strdup(option) : NULL, NULL};
	FILE *terminal = stdout;
	size_t size;
	int status;

	free(text);
	text = NULL;
	optind = 0;
	stdout = open_memstream(&text, &size);
	status = tool_devices(option ? 2 : 1, argv);
	fclose(stdout);
	stdout = terminal;
	free(argv[1]);
	return status;
}

static void an_adapter_on_ethernet(void **state)
{
	(void)state;
	script_reset();
	assert_int_equal(ran(NULL), TOOL_OK);
	take_row(text, "mlx5_0");
	assert_string_equal(row, "mlx5_0 0000:17:00.0 Ethernet active 10.0.0.1 4096");
	take_row(text, "limits:");
	assert_non_null(strstr(row, "messages of 1.0 GiB, send ring 32768, receive ring 32768,"));
	take_row(text, "completion queue");
	assert_non_null(strstr(row, "completion queue 4194304, inline "));
	assert_non_null(strstr(row, ", pieces 30,"));
	assert_non_null(strstr(text, "\n          100.0 Gb/s, firmware 16.35.2000\n"));
}

static void it_comes_before_the_software_nic(void **state)
{
	(void)state;
	script_reset();
	script.software = true;
	assert_int_equal(ran(NULL), TOOL_OK);
	assert_true(strstr(text, "\nmlx5_0 ") < strstr(text, "\nsoft0 "));
}

static void an_adapter_on_infiniband(void **state)
{
	(void)state;
	script_reset();
	script.port.legacy_resp.link_layer = UV_LINK_LAYER_INFINIBAND;
	script.port.legacy_resp.lid = 0x17;
	assert_int_equal(ran(NULL), TOOL_OK);
	take_row(text, "mlx5_0");
	assert_string_equal(row, "mlx5_0 0000:17:00.0 InfiniBand active LID 23 4096");
}

static void a_port_that_is_down_without_an_address(void **state)
{
	(void)state;
	script_reset();
	script.port.legacy_resp.state = UV_PORT_DOWN;
	script.gid_count = 0;
	assert_int_equal(ran(NULL), TOOL_OK);
	take_row(text, "mlx5_0");
	assert_string_equal(row, "mlx5_0 0000:17:00.0 Ethernet down none 4096");
}

static void one_that_is_not_for_this_user(void **state)
{
	(void)state;
	script_reset();
	script.open_err = EACCES;
	assert_int_equal(ran(NULL), TOOL_FAILED);
	take_row(text, "mlx5_0");
	assert_non_null(strstr(row, "mlx5_0 cannot be opened: rig_open: no permission on"
				    " /dev/infiniband/uverbs0"));
	assert_int_equal(ran("--json"), TOOL_FAILED);
	assert_non_null(strstr(text, "\"error\": \"rig_open: no permission on"));
}

static void as_json(void **state)
{
	(void)state;
	script_reset();
	assert_int_equal(ran("--json"), TOOL_OK);
	assert_string_equal(
	    text, "[\n  {\"name\": \"mlx5_0\", \"bus\": \"0000:17:00.0\", \"software\": false, "
		  "\"link\": \"ethernet\", \"state\": \"active\", \"address\": \"10.0.0.1\", "
		  "\"gid_index\": 3, \"mtu_bytes\": 4096, \"message_max_bytes\": 1073741824, "
		  "\"entries_max\": 32768, \"receives_max\": 32768, \"cqe_max\": 4194304, "
		  "\"inline_max_bytes\": 972, \"pieces_max\": 30, \"rate_bps\": 100000000000, "
		  "\"firmware\": \"16.35.2000\"}\n]\n");
}

static void another_makers_adapter_is_none(void **state)
{
	(void)state;
	script_reset();
	script.modalias = "pci:v000014E4d000016D7sv000014E4sd00001402bc02sc00i00";
	assert_int_equal(ran("--json"), TOOL_FAILED);
	assert_string_equal(text, "[]\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_adapter_on_ethernet),
		cmocka_unit_test(it_comes_before_the_software_nic),
		cmocka_unit_test(an_adapter_on_infiniband),
		cmocka_unit_test(a_port_that_is_down_without_an_address),
		cmocka_unit_test(one_that_is_not_for_this_user),
		cmocka_unit_test(as_json),
		cmocka_unit_test(another_makers_adapter_is_none),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	return failed;
}
