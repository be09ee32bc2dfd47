/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: through an interface go full packets of every opcode that a network carries, or the port's
 * MTU is a smaller one. How: with the table of opcodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/roce.h"
#include "abi/roce_opcode.h"
#include "host/addr.h"

/* The longest headers in front of a full payload. */
static uint32_t headers_max(void)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < 256; i++) {
		const struct roce_opcode_info *info = &roce_opcodes[i];
		bool full = info->payload == ROCE_PAYLOAD_MTU ||
			    info->payload == ROCE_PAYLOAD_TAIL ||
			    info->payload == ROCE_PAYLOAD_UP_TO_MTU;

		if (full && i != ROCE_OP_FRAME && info->header_bytes > most)
			most = info->header_bytes;
	}
	return most;
}

static void full_packets_fit(void **state)
{
	(void)state;
	for (int ipv4 = 0; ipv4 < 2; ipv4++) {
		uint32_t around = (ipv4 ? ROCE_IPV4_BYTES : ROCE_IPV6_BYTES) + ROCE_UDP_BYTES +
				  headers_max() + ROCE_ICRC_BYTES;

		for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
			assert_int_equal(host_interface_mtu(mtu + around, ipv4), mtu);
			assert_int_equal(host_interface_mtu(mtu + around - 1, ipv4),
					 mtu == 256 ? 0 : mtu / 2);
		}
		assert_int_equal(host_interface_mtu(65536, ipv4), 4096);
		/* As interfaces are set up for RoCE. */
		assert_int_equal(host_interface_mtu(4200, ipv4), 4096);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(full_packets_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
