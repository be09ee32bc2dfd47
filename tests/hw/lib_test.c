/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows the driver library end to end on a real adapter. How: the suite of tests/support/lib_e2e.h
 * on the NIC that RIG5_TEST_NIC names ("mlx5_0"); without it, or where it names a software NIC,
 * skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/lib_e2e.h"

int main(void)
{
	const char *name = getenv("RIG5_TEST_NIC");
	struct rig_nic_info info;
	struct rig_nic *nic;

	if (!name || !*name) {
		printf("RIG5_TEST_NIC names no adapter\n");
		return 77;
	}
	if (rig_open(name, &nic) < 0 || rig_nic_info(nic, &info) < 0) {
		printf("%s: %s\n", name, rig_error());
		return 1;
	}
	rig_close(nic);
	if (info.software) {
		printf("%s is no hardware\n", name);
		return 77;
	}
	return e2e_main(name);
}
