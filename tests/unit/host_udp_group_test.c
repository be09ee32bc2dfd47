/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/udp_group: what is sent to a multicast group comes to the ports that have joined it, once,
 * and to no other. Two wires in one process, with real sockets on the loopback interface.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/roce.h"
#include "base/be.h"
#include "host/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t group4[16] = {[10] = 0xff, 0xff, 239, 6, 7, 8};
static const uint8_t other4[16] = {[10] = 0xff, 0xff, 239, 6, 7, 9};
static const uint8_t group6[16] = {0xff, 0x0e, [3] = 0x40, [7] = 5, [15] = 1};

static struct host_udp a, b;
static uint64_t now_ns = 1000000000;
static uint32_t got_count;
static struct host_udp_packet last;
static uint8_t last_dgid[16];

static void wire_up(struct host_udp *udp, int number)
{
	uint8_t gid[16] = {[10] = 0xff, 0xff, 127, 7, (uint8_t)(getpid() & 255), (uint8_t)number};
	char address[INET_ADDRSTRLEN];

	assert_non_null(inet_ntop(AF_INET, gid + 12, address, sizeof(address)));
	host_udp_init(udp);
	assert_int_equal(host_udp_open(udp, address), 0);
	assert_int_equal(host_udp_prepare(udp, gid, false), 0);
	assert_int_equal(host_udp_bind_rx(udp), 0);
}

static int setup(void **state)
{
	(void)state;
	wire_up(&a, 1);
	wire_up(&b, 2);
	got_count = 0;
	return 0;
}

static int teardown(void **state)
{
	struct host_udp *udps[] = {&a, &b};

	(void)state;
	for (int i = 0; i < 2; i++) {
		host_udp_close_app(udps[i]);
		host_udp_close(udps[i]);
	}
	return 0;
}

static void take(void *ctx, const struct host_udp_packet *packet)
{
	(void)ctx;
	got_count++;
	last = *packet;
	memcpy(last_dgid, packet->rx.dgid, 16);
	assert_memory_equal(packet->rx.sgid, a.gid, 16);
	for (size_t i = ROCE_BTH_BYTES; i < packet->rx.len_bytes; i++)
		assert_int_equal(packet->rx.bth[i], (uint8_t)i);
}

static uint32_t receive(struct host_udp *udp)
{
	static const struct host_udp_limit limit = {64, 256 * 1024};

	got_count = 0;
	now_ns += 2000000;
	(void)host_udp_receive(udp, &limit, now_ns, take, NULL);
	return got_count;
}

/* Some packets to a group, as the wire above sends them. */
static void send_to(const uint8_t gid[static 16], uint32_t count, size_t len)
{
	struct nic_path path = {.udp_sport = 0xc001, .hop_limit = 1};

	host_udp_group_ip(a.ipv4, gid, path.dgid);
	for (uint32_t n = 0; n < count; n++) {
		uint8_t *bth = host_udp_reserve(&a, &path, ROCE_QPN_MASK, len);

		assert_non_null(bth);
		for (size_t i = 0; i < len; i++)
			bth[i] = (uint8_t)i;
		host_udp_commit(&a, -1);
	}
	assert_true(host_udp_flush(&a, now_ns));
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void addresses(void **state)
{
	static const uint8_t folded[16] = {[10] = 0xff, 0xff, 239, 0x0e ^ 5, 0, 0x40 ^ 1};
	static const uint8_t global[16] = {0xff, 0x0e, [10] = 0xff, 0xff, 239, 6, 7, 8};
	uint8_t ip[16];

	(void)state;
	host_udp_group_ip(true, group4, ip);
	assert_memory_equal(ip, group4, 16);
	host_udp_group_ip(false, group6, ip);
	assert_memory_equal(ip, group6, 16);
	host_udp_group_ip(true, group6, ip);
	assert_memory_equal(ip, folded, 16);
	host_udp_group_ip(false, group4, ip);
	assert_memory_equal(ip, global, 16);
}

/* ---- delivery -------------------------------------------------------------------------------- */

/* Whole batches, with right ICRCs, under the name that the NIC has for the group. */
static void members_get_what_is_sent(void **state)
{
	const uint8_t *const gids[] = {group4, group6};

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(host_udp_group_join(&b, gids[i]), 0);
		send_to(gids[i], 7, 1000);
		assert_int_equal(receive(&b), 7);
		assert_memory_equal(last_dgid, gids[i], 16);
		host_udp_group_leave(&b, gids[i]);
		send_to(gids[i], 7, 1000);
		assert_int_equal(receive(&b), 0);
	}
	assert_int_equal(b.counters.rx_drop_icrc, 0);
}

/* Another group's packets do not come, nor do one's own. */
static void others_do_not(void **state)
{
	(void)state;
	assert_int_equal(host_udp_group_join(&a, group4), 0);
	assert_int_equal(host_udp_group_join(&b, other4), 0);
	send_to(group4, 3, 100);
	assert_int_equal(receive(&a), 0);
	assert_int_equal(receive(&b), 0);
	assert_int_equal(a.counters.rx_drop_address, 0);
	/* Two ports on one machine may be in the same group. */
	assert_int_equal(host_udp_group_join(&b, group4), 0);
	send_to(group4, 3, 100);
	assert_int_equal(receive(&b), 3);
	assert_int_equal(receive(&a), 0);
}

static int open_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 4096; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

/* Any number of groups, one after the other and at a time; no descriptor is left. */
static void many_groups(void **state)
{
	uint8_t gid[16] = {[10] = 0xff, 0xff, 239, 9};
	int before = open_fds();

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < NIC_GROUPS_MAX; i++) {
			gid[14] = (uint8_t)round;
			gid[15] = (uint8_t)i;
			assert_int_equal(host_udp_group_join(&b, gid), 0);
		}
		assert_int_equal(host_udp_group_join(&b, group4), -ENOMEM);
		send_to(gid, 2, 100);
		assert_int_equal(receive(&b), 2);
		for (uint32_t i = 0; i < NIC_GROUPS_MAX; i++) {
			gid[15] = (uint8_t)i;
			host_udp_group_leave(&b, gid);
		}
		assert_int_equal(open_fds(), before);
	}
}

/* Who sleeps is woken. */
static void a_group_wakes(void **state)
{
	(void)state;
	assert_int_equal(host_udp_group_join(&b, group4), 0);
	assert_true(host_udp_hot(&b));
	assert_true(host_udp_cool(&b, now_ns));
	assert_false(host_udp_woken(&b));
	send_to(group4, 1, 100);
	assert_true(host_udp_woken(&b));
	assert_int_equal(receive(&b), 1);
	assert_true(host_udp_cool(&b, now_ns));
	assert_false(host_udp_woken(&b));
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* A socket that the application closed is not used any more, by anybody of its threads. */
static void closed_by_the_application(void **state)
{
	(void)state;
	assert_int_equal(host_udp_group_join(&b, group4), 0);
	send_to(group4, 1, 100);
	assert_int_equal(receive(&b), 1);
	close(b.groups.groups[0].app_fd);
	send_to(group4, 1, 100);
	assert_int_equal(receive(&b), 0);
	assert_true(b.app_lost);
}

/* A child of fork keeps none of them. */
static void fork_closes(void **state)
{
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(host_udp_group_join(&b, group4), 0);
	child = fork();
	if (child == 0)
		_exit(fcntl(b.groups.groups[0].app_fd, F_GETFD) != -1 ||
		      fcntl(b.groups.hand[0], F_GETFD) != -1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A wire that is down joins nothing and says so to nobody: the local wire is there. */
static void a_wire_that_is_down(void **state)
{
	struct host_udp down;

	(void)state;
	host_udp_init(&down);
	assert_int_equal(host_udp_group_join(&down, group4), 0);
	host_udp_group_leave(&down, group4);
	assert_int_equal(down.groups.count, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses), TEST(members_get_what_is_sent),
	    TEST(others_do_not),         TEST(many_groups),
	    TEST(a_group_wakes),         TEST(closed_by_the_application),
	    TEST(fork_closes),           cmocka_unit_test(a_wire_that_is_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
