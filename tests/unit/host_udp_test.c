/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/udp: what is committed at one end of a loopback comes out at the other, in order and once;
 * packets that may go together do, each sealed as the segment that it is; and what is wrong is
 * counted and dropped. Two wires in one process, with real sockets.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/roce.h"
#include "base/be.h"
#include "base/prng.h"
#include "host/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QPN = 0x123456, GOT_MAX = 4096 };

static struct host_udp a, b;
static uint64_t now_ns = 1000000000;

struct got {
	uint32_t number;
	size_t len;
	uint16_t ip_id;
	uint8_t traffic_class;
	bool first;
};

static struct got got[GOT_MAX];
static uint32_t got_count;

static void gid_of(uint8_t gid[static 16], const char *address)
{
	static const uint8_t prefix[12] = {[10] = 0xff, 0xff};

	memcpy(gid, prefix, 12);
	if (inet_pton(AF_INET, address, gid + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, address, gid), 1);
}

static void wire_up(struct host_udp *udp, const char *address)
{
	uint8_t gid[16];

	gid_of(gid, address);
	host_udp_init(udp);
	assert_int_equal(host_udp_open(udp, address), 0);
	assert_int_equal(host_udp_prepare(udp, gid, false), 0);
	assert_int_equal(host_udp_bind_rx(udp), 0);
}

static void wire_down(struct host_udp *udp)
{
	host_udp_close_app(udp);
	host_udp_close(udp);
}

static int setup(void **state)
{
	char address[32];

	(void)state;
	snprintf(address, sizeof(address), "127.6.%d.1", (int)(getpid() & 255));
	wire_up(&a, address);
	snprintf(address, sizeof(address), "127.6.%d.2", (int)(getpid() & 255));
	wire_up(&b, address);
	got_count = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	wire_down(&a);
	wire_down(&b);
	return 0;
}

/* A packet is a BTH with the number where the PSN is, and bytes that follow from it. */
static void fill(uint8_t *bth, uint32_t number, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bth[i] = (uint8_t)(number + i);
	bth[ROCE_BTH_OPCODE_OFF] = 0x04;
	be24_store(bth + ROCE_BTH_DQPN_OFF, QPN);
	be24_store(bth + ROCE_BTH_PSN_OFF, number);
}

static void take(void *ctx, const struct host_udp_packet *packet)
{
	const struct host_udp *from = (const struct host_udp *)ctx;
	uint32_t number = be24_load(packet->rx.bth + ROCE_BTH_PSN_OFF);
	uint8_t want[ROCE_HEADERS_MAX_BYTES + ROCE_MTU_MAX_BYTES];

	fill(want, number, packet->rx.len_bytes);
	assert_memory_equal(packet->rx.bth, want, packet->rx.len_bytes);
	assert_memory_equal(packet->rx.sgid, from->gid, 16);
	assert_null(packet->rx.path);
	assert_true(packet->ip.dont_fragment || !from->ipv4);
	assert_true(got_count < GOT_MAX);
	got[got_count++] = (struct got){.number = number,
					.len = packet->rx.len_bytes,
					.ip_id = packet->ip.ip_id,
					.traffic_class = packet->rx.traffic_class,
					.first = packet->first};
}

/* What is not set is no zero by chance. */
static __attribute__((noinline)) void dirty_stack(void)
{
	volatile uint8_t bytes[8192];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 1;
}

static void receive(struct host_udp *udp, struct host_udp *from)
{
	static const struct host_udp_limit limit = {64, 256 * 1024};

	dirty_stack();
	while (host_udp_receive(udp, &limit, now_ns, take, from))
		;
}

static struct nic_path path_to(const struct host_udp *udp)
{
	struct nic_path path = {.udp_sport = 0xc001, .hop_limit = 64};

	memcpy(path.dgid, udp->gid, 16);
	return path;
}

static void send_path(const struct nic_path *path, uint32_t number, size_t len, int32_t corrupt)
{
	uint8_t *room = host_udp_reserve(&a, path, QPN, len);

	if (!room) {
		assert_true(host_udp_flush(&a, now_ns));
		room = host_udp_reserve(&a, path, QPN, len);
	}
	assert_non_null(room);
	fill(room, number, len);
	host_udp_commit(&a, corrupt);
}

static void send_one(uint32_t number, size_t len)
{
	struct nic_path path = path_to(&b);

	send_path(&path, number, len, -1);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void test_what_goes_together(void **state)
{
	static const struct {
		const char *name;
		uint32_t lens[6];
		uint32_t batches;
		uint16_t ids[6];
	} cases[] = {
	    {"equal", {100, 100, 100, 100, 100, 100}, 1, {0, 1, 2, 3, 4, 5}},
	    {"a shorter one ends it", {100, 100, 64, 64, 64, 64}, 2, {0, 1, 2, 0, 1, 2}},
	    {"a longer one begins another", {64, 100, 100, 200, 200, 200}, 3, {0, 0, 1, 0, 1, 2}},
	    {"each shorter", {600, 500, 400, 300, 200, 100}, 3, {0, 1, 0, 1, 0, 1}},
	    {"large", {4108, 4108, 4108, 4108, 4108, 4108}, 1, {0, 1, 2, 3, 4, 5}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before = a.counters.tx_batches;

		got_count = 0;
		for (uint32_t n = 0; n < 6; n++)
			send_one(n, cases[i].lens[n]);
		assert_true(host_udp_flush(&a, now_ns));
		receive(&b, &a);
		if (a.counters.tx_batches - before != cases[i].batches || got_count != 6)
			fail_msg("%s: %u batches, %u packets", cases[i].name,
				 (unsigned int)(a.counters.tx_batches - before), got_count);
		for (uint32_t n = 0; n < 6; n++)
			if (got[n].number != n || got[n].len != cases[i].lens[n] ||
			    got[n].ip_id != cases[i].ids[n] ||
			    got[n].first != (cases[i].ids[n] == 0))
				fail_msg("%s: packet %u: id %u", cases[i].name, n, got[n].ip_id);
	}
}

/* Another class, hop limit, flow, process or host is another batch. */
static void test_what_does_not(void **state)
{
	struct nic_path path = path_to(&b);
	uint64_t before = a.counters.tx_batches;

	(void)state;
	send_path(&path, 0, 100, -1);
	path.traffic_class = 0x68 | 3; /* the ECN bits are not the caller's */
	send_path(&path, 1, 100, -1);
	path.hop_limit = 3;
	send_path(&path, 2, 100, -1);
	path.udp_sport = 0xc002;
	send_path(&path, 3, 100, -1);
	assert_true(host_udp_flush(&a, now_ns));
	assert_int_equal(a.counters.tx_batches - before, 4);
	receive(&b, &a);
	assert_int_equal(got_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t number = got[i].number;

		assert_int_equal(got[i].traffic_class, number == 0 ? 0 : 0x68);
		assert_int_equal(got[i].ip_id, 0);
	}
}

/* The DSCP is the caller's, ECN the NIC's [cases 18]; both come out as they went in, also of
 * datagrams that the kernel has joined. An acknowledgement says Not-ECT. */
static void test_ecn(void **state)
{
	enum { EACH = 5, LEN = 200 };
	struct nic_path path = path_to(&b);

	(void)state;
	path.traffic_class = 0xff;
	for (uint32_t i = 0; i < 4 * EACH; i++) {
		path.ecn = (uint8_t)(i / EACH);
		send_path(&path, i, LEN, -1);
	}
	send_path(&path, 4 * EACH, NIC_ACK_BYTES, -1);
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(got_count, 4 * EACH + 1);
	assert_true(b.counters.rx_datagrams < got_count);
	for (uint32_t i = 0; i < 4 * EACH; i++)
		assert_int_equal(got[i].traffic_class, 0xfc | i / EACH);
	assert_int_equal(got[4 * EACH].traffic_class, 0xfc);
}

/*
 * The hop limit on the wire is the caller's, in both families, of one packet and of a batch that
 * the kernel cuts, and 64 where the caller names none. By a socket of somebody else's, which is
 * told it.
 */
static int hop_limit_of(int fd, bool ipv4)
{
	union {
		struct cmsghdr align;
		char buf[64];
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.buf,
			     .msg_controllen = sizeof(control.buf)};
	const struct cmsghdr *cmsg;
	int value = -1;

	assert_int_equal(recvmsg(fd, &msg, 0), 1);
	cmsg = CMSG_FIRSTHDR(&msg);
	assert_non_null(cmsg);
	assert_int_equal(cmsg->cmsg_type, ipv4 ? IP_TTL : IPV6_HOPLIMIT);
	memcpy(&value, CMSG_DATA(cmsg), sizeof(value));
	return value;
}

static void check_hop_limits(struct host_udp *from, int fd, const char *to, bool ipv4)
{
	static const uint8_t limits[] = {7, 64, 0, 1, 255, 255, 3};
	static const struct timeval patience = {.tv_sec = 5};
	struct nic_path path = {.udp_sport = 0xc001};
	const int on = 1;

	gid_of(path.dgid, to);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(ipv4 ? setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on))
			      : setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof(on)),
			 0);
	for (uint32_t i = 0; i < sizeof(limits); i++) {
		uint8_t *room;

		path.hop_limit = limits[i];
		room = host_udp_reserve(from, &path, QPN, 100);
		assert_non_null(room);
		fill(room, i, 100);
		host_udp_commit(from, -1);
	}
	assert_true(host_udp_flush(from, now_ns));
	for (uint32_t i = 0; i < sizeof(limits); i++)
		assert_int_equal(hop_limit_of(fd, ipv4), limits[i] ? limits[i] : 64);
}

static void test_hop_limit(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(ROCE_UDP_PORT),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char address[32];
	uint8_t gid[16];

	(void)state;
	snprintf(address, sizeof(address), "127.6.%d.3", (int)(getpid() & 255));
	assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	check_hop_limits(&a, fd, address, true);
	close(fd);

	/* All of IPv6 that a loopback has is one address, which may be taken just now. */
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to6, sizeof(to6)) != 0) {
		print_message("without IPv6\n");
	} else {
		wire_down(&b);
		host_udp_init(&b);
		gid_of(gid, "::1");
		assert_int_equal(host_udp_open(&b, "::1"), 0);
		assert_int_equal(host_udp_prepare(&b, gid, false), 0);
		check_hop_limits(&b, fd, "::1", false);
	}
	close(fd);
}

/* What was held goes behind what came later, and nothing joins its batch. */
static void test_held(void **state)
{
	static const uint32_t order[] = {2, 3, 0, 1};

	(void)state;
	send_one(0, 100);
	send_one(1, 100);
	host_udp_hold(&a);
	send_one(2, 100);
	send_one(3, 100);
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(got_count, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(got[i].number == order[i] && got[i].ip_id == i % 2);
	host_udp_hold(&a); /* nothing */
	send_one(4, 100);
	host_udp_hold(&a);
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(got_count, 5);
}

/* Flows spread over the source ports, all at or above 0xC000; one flow always has the same. */
static void test_source_ports(void **state)
{
	struct nic_path path = path_to(&b);
	uint32_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		struct host_udp_around first, second;

		path.udp_sport = (uint16_t)(0xc000 + i);
		assert_non_null(host_udp_reserve(&a, &path, QPN, 100));
		first = host_udp_around(&a);
		host_udp_cancel(&a);
		assert_non_null(host_udp_reserve(&a, &path, QPN + 1, 100));
		second = host_udp_around(&a);
		host_udp_cancel(&a);
		assert_int_equal(first.udp_sport, second.udp_sport);
		assert_true(first.udp_sport >= 0xc000);
		for (uint32_t n = 0; n < HOST_UDP_FLOWS; n++)
			if (a.sports[n] == first.udp_sport)
				seen |= 1u << n;
	}
	assert_true(__builtin_popcount(seen) >= 6);
}

/* Thousands of packets of every length, in any mixture, come in order and once. */
static void test_mixture(void **state)
{
	struct base_prng prng;
	uint32_t sent = 0;

	(void)state;
	base_prng_seed(&prng, 5);
	print_message("seed 5\n");
	while (sent < GOT_MAX) {
		uint32_t run = 1 + (uint32_t)base_prng_below(&prng, 70);
		size_t len = 12 + 4 * base_prng_below(&prng, base_prng_below(&prng, 2) ? 20 : 1024);

		for (uint32_t i = 0; i < run && sent < GOT_MAX; i++)
			send_one(sent++, len);
		if (base_prng_below(&prng, 2)) {
			assert_true(host_udp_flush(&a, now_ns));
			receive(&b, &a);
		}
	}
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(got_count, GOT_MAX);
	for (uint32_t i = 0; i < GOT_MAX; i++)
		assert_int_equal(got[i].number, i);
	assert_true(a.counters.tx_batches < GOT_MAX / 4);
	assert_int_equal(a.counters.tx_drop, 0);
}

static void test_without_segmentation(void **state)
{
	(void)state;
	a.segments = false;
	for (uint32_t i = 0; i < 20; i++)
		send_one(i, 100);
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(got_count, 20);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(got[i].number == i && got[i].ip_id == 0);
}

/* The kernel refuses to cut, as it does for sockets without checksums: the packets go one by one,
 * sealed anew, and so do all that follow. */
static void test_segmentation_refused(void **state)
{
	const int on = 1;

	(void)state;
	for (int i = 0; i < HOST_UDP_FLOWS; i++)
		assert_int_equal(
		    setsockopt(a.fds[i], SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 10; i++)
			send_one(10 * round + i, i < 9 ? 100 : 64);
		assert_true(host_udp_flush(&a, now_ns));
		assert_false(a.segments);
	}
	receive(&b, &a);
	assert_int_equal(got_count, 20);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(got[i].number == i && got[i].ip_id == 0);
	assert_int_equal(a.counters.tx_single, 10);
	assert_int_equal(a.counters.tx_drop, 0);
}

/* As many as there is room for, and then no more until they are sent. */
static void test_full(void **state)
{
	struct nic_path path = path_to(&b);
	uint32_t count = 0;

	(void)state;
	while (host_udp_reserve(&a, &path, QPN, 4096)) {
		host_udp_cancel(&a);
		send_path(&path, count++, 4096, -1);
	}
	assert_true(count >= 64);
	assert_int_equal(a.counters.tx_full, 1);
	assert_true(host_udp_flush(&a, now_ns));
	send_path(&path, count, 4096, -1);
	host_udp_cancel((host_udp_reserve(&a, &path, QPN, 12), &a));
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(got_count, count + 1);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void test_damaged(void **state)
{
	struct nic_path path = path_to(&b);

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		send_path(&path, i, 100, i % 3 == 1 ? (int32_t)(12 * 8 + i) : -1);
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(b.counters.rx_drop_icrc, 3);
	assert_int_equal(got_count, 7);
	for (uint32_t i = 0; i < got_count; i++)
		assert_true(got[i].number % 3 != 1);
}

static void send_raw(const char *from, const void *bytes, size_t len)
{
	union host_addr addr;
	uint8_t gid[16];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t addr_len;

	gid_of(gid, from);
	addr_len = host_addr_from_gid(&addr, gid, 0, 0);
	assert_int_equal(bind(fd, &addr.any, addr_len), 0);
	addr_len = host_addr_from_gid(&addr, b.gid, ROCE_UDP_PORT, 0);
	assert_int_equal(sendto(fd, bytes, len, 0, &addr.any, addr_len), len);
	close(fd);
}

static void test_strange_datagrams(void **state)
{
	static uint8_t bytes[60000];
	char own[INET_ADDRSTRLEN];

	(void)state;
	inet_ntop(AF_INET, b.gid + 12, own, sizeof(own));
	send_raw("127.0.0.1", bytes, 0);
	send_raw("127.0.0.1", bytes, 1);
	send_raw("127.0.0.1", bytes, 15);
	send_raw("127.0.0.1", bytes, 16);
	send_raw("127.0.0.1", bytes, sizeof(bytes));
	send_raw(own, bytes, 64);
	receive(&b, &a);
	assert_int_equal(b.counters.rx_datagrams, 6);
	assert_int_equal(b.counters.rx_drop_malformed, 2);
	assert_int_equal(b.counters.rx_drop_icrc, 2);
	assert_int_equal(b.counters.rx_drop_address, 1);
	assert_int_equal(got_count, 0);
}

/* No way leads there: counted, and what goes elsewhere still goes. */
static void test_unreachable(void **state)
{
	struct nic_path nowhere = path_to(&b);

	(void)state;
	gid_of(nowhere.dgid, "203.0.113.7");
	for (uint32_t i = 0; i < 3; i++)
		send_path(&nowhere, i, 100, -1);
	send_one(9, 100);
	assert_true(host_udp_flush(&a, now_ns));
	receive(&b, &a);
	assert_int_equal(a.counters.tx_drop, 3);
	assert_int_equal(got_count, 1);
	assert_true(a.segments);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Who closes all of his descriptors, and opens others, does not find our packets in them. */
static void test_closed_by_the_application(void **state)
{
	int other[2];

	(void)state;
	send_one(0, 100);
	assert_true(host_udp_flush(&a, now_ns));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	for (int i = 0; i < HOST_UDP_FLOWS; i++)
		assert_int_equal(dup2(other[0], a.fds[i]), a.fds[i]);
	now_ns += 1000000000;
	send_one(1, 100);
	assert_false(host_udp_flush(&a, now_ns));
	assert_true(atomic_load(&a.app_lost));
	assert_int_equal(recv(other[1], got, 1, MSG_DONTWAIT), -1);
	host_udp_close_app(&a);
	for (int i = 0; i < HOST_UDP_FLOWS; i++)
		assert_int_equal(close(a.fds[i]), 0); /* ours were not closed for us */
	close(other[0]);
	close(other[1]);
}

/* A child of fork has no socket of the port: it would keep its place in the group. */
static void test_fork(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		char byte;

		for (int i = 0; i <= HOST_UDP_RX; i++)
			if (recv(a.fds[i], &byte, 1, MSG_DONTWAIT) >= 0 || errno != EBADF)
				_exit(1 + i);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The descriptor that says that something has come says it once. */
static void test_hot_and_cold(void **state)
{
	(void)state;
	assert_false(host_udp_woken(&b));
	send_one(0, 100);
	assert_true(host_udp_flush(&a, now_ns));
	assert_true(host_udp_woken(&b));
	assert_false(host_udp_woken(&b));
	assert_true(host_udp_cool(&b, now_ns));
	assert_true(host_udp_woken(&b)); /* it is still there */
	receive(&b, &a);
	assert_true(host_udp_cool(&b, now_ns));
	assert_false(host_udp_woken(&b));
	assert_int_equal(got_count, 1);
}

static void test_ipv6(void **state)
{
	uint8_t gid[16];

	(void)state;
	wire_down(&a);
	wire_down(&b);
	/* One address is all that a loopback has: the sender only borrows another name for it. */
	host_udp_init(&a);
	gid_of(gid, "::1");
	assert_int_equal(host_udp_open(&a, "::1"), 0);
	if (host_udp_prepare(&a, gid, false) != 0)
		skip();
	assert_int_equal(host_udp_bind_rx(&a), 0);
	for (uint32_t i = 0; i < 5; i++) {
		struct nic_path path = path_to(&a);

		path.traffic_class = 0x28;
		path.hop_limit = 7;
		send_path(&path, i, 200, -1);
	}
	assert_true(host_udp_flush(&a, now_ns));
	receive(&a, &a);
	/* What says that it comes from this very address is not let in, which counts all five. */
	assert_int_equal(a.counters.rx_drop_address, 1);
	a.gid[0] = 0x20;
	for (uint32_t i = 0; i < 5; i++) {
		struct nic_path path = {.udp_sport = 1, .traffic_class = 0x28, .hop_limit = 7};

		memcpy(path.dgid, gid, 16);
		send_path(&path, i, 200, -1);
	}
	assert_true(host_udp_flush(&a, now_ns));
	receive(&a, &a);
	/* Sealed for another address than the kernel wrote: the ICRC tells. */
	assert_int_equal(a.counters.rx_drop_icrc, 5);
}

#define WIRES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    WIRES(test_what_goes_together),
	    WIRES(test_what_does_not),
	    WIRES(test_ecn),
	    WIRES(test_hop_limit),
	    WIRES(test_held),
	    WIRES(test_source_ports),
	    WIRES(test_mixture),
	    WIRES(test_without_segmentation),
	    WIRES(test_segmentation_refused),
	    WIRES(test_full),
	    WIRES(test_damaged),
	    WIRES(test_strange_datagrams),
	    WIRES(test_unreachable),
	    WIRES(test_closed_by_the_application),
	    WIRES(test_fork),
	    WIRES(test_hot_and_cold),
	    WIRES(test_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
