/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that datagrams without a UDP checksum come in, over IPv6, too, as adapters and Linux's
 * Soft-RoCE send them. By sending one from a plain socket that computes none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/roce.h"
#include "host/udp.h"

static void take_nothing(void *ctx, const struct host_udp_packet *packet)
{
	(void)ctx;
	(void)packet;
}

static void send_without_checksum(const char *bytes, size_t len)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6,
				  .sin6_port = htons(ROCE_UDP_PORT),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)), 0);
	assert_int_equal(sendto(fd, bytes, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
	close(fd);
}

static void ipv6_datagrams_need_no_udp_checksum(void **state)
{
	static const uint8_t gid[16] = {[15] = 1};
	const struct host_udp_limit limit = {.packets = 4, .bytes = 65536};
	struct host_udp udp;
	int result;

	(void)state;
	host_udp_init(&udp);
	assert_int_equal(host_udp_open(&udp, "::1"), 0);
	result = host_udp_prepare(&udp, gid, false);
	if (result == 0)
		result = host_udp_bind_rx(&udp);
	if (result == -EADDRNOTAVAIL || result == -EADDRINUSE) {
		host_udp_close_app(&udp);
		host_udp_close(&udp);
		skip(); /* no IPv6 here, or a port of another program */
	}
	assert_int_equal(result, 0);
	send_without_checksum("no packet", 9);
	host_udp_heat(&udp);
	(void)host_udp_receive(&udp, &limit, 1, take_nothing, NULL);
	assert_int_equal(udp.counters.rx_datagrams, 1);
	host_udp_close_app(&udp);
	host_udp_close(&udp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ipv6_datagrams_need_no_udp_checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
