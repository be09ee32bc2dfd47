/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows the driver library end to end, every kind of entry and failure, on the software NIC.
 * How: tests/support/lib_e2e.h, the same suite that runs on a ConnectX where there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/lib_e2e.h"

int main(void)
{
	return e2e_main("soft0");
}
