/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * garbage_test.c - a flood of garbage, replayed and forged datagrams against a port under load: no
 * byte is wrong, and the load goes on.
 */
#include "tests/support/loop.h"

#include "abi/roce_frame.h"
#include "abi/roce_pkt.h"
#include "host/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	FOREVER = 1000000000,
	REQUESTS = 100,
	DATAGRAMS = 200000, /* two seconds' worth */
	PER_SECOND = 100000,
	BATCH = 50,
	BYTES_MAX = 1500,
	KEPT_MAX = 256,
	IP_UDP_BYTES = ROCE_IPV4_BYTES + ROCE_UDP_BYTES,
};

/* What the attacker knows: everything but the future. */
struct target {
	uint8_t victim[16]; /* the port's GID */
	uint8_t friend[16]; /* its peer's */
	char capture[128];  /* of what a process of the friend's address sent it before */
	uint32_t datagrams;
};

enum { ATTACK_SENT, ATTACK_NS, ATTACK_REPLAYS };
enum {
	COUNT_ICRC,
	COUNT_MALFORMED,
	COUNT_ADDRESS,
	COUNT_PKEY,
	COUNT_DUPLICATE,
	COUNT_NOBODY,
	COUNT_DONE,
};

/* ---- the attacker, a process of its own ------------------------------------------------------ */

static struct {
	struct base_prng prng;
	int own, friend; /* sockets: of an address of its own, of the friend's */
	uint16_t own_port, friend_port;
	uint8_t own_gid[16];
	struct {
		uint8_t bytes[BYTES_MAX];
		size_t len;
	} kept[KEPT_MAX]; /* packets of the friend's, BTH to pad */
	unsigned int kept_count;
	uint32_t qpn; /* of the connection in the capture, which is idle now */
	uint32_t psn; /* of the last request in it: what comes next is not far */
} attack;

static int open_socket(const uint8_t gid[static 16], uint16_t *port)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int discover = IP_PMTUDISC_DO; /* identification 0: as the victim's CRC expects */

	memcpy(&addr.sin_addr, gid + 12, 4);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) != 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)) != 0)
		return -errno;
	*port = ntohs(addr.sin_port);
	return fd;
}

static void keep(const struct roce_frame *frame)
{
	struct roce_pkt pkt;

	memcpy(attack.kept[attack.kept_count].bytes, frame->bth, frame->bth_bytes);
	attack.kept[attack.kept_count++].len = frame->bth_bytes;
	if (roce_pkt_decode(&pkt, frame->bth, frame->bth_bytes) != ROCE_OK ||
	    (pkt.opcode > ROCE_OP_RC_READ_REQ && pkt.opcode < ROCE_OP_RC_CMP_SWAP))
		return; /* not a request */
	attack.qpn = pkt.dqpn;
	attack.psn = pkt.psn;
}

/* The packets of the capture that went to the victim. */
static void read_capture(const struct target *target)
{
	static uint8_t record[16 + 9216];
	FILE *file = fopen(target->capture, "re");
	uint32_t len;

	if (!file || fread(record, 1, 24, file) != 24)
		return;
	while (attack.kept_count < KEPT_MAX && fread(record, 1, 16, file) == 16) {
		struct roce_frame frame;

		memcpy(&len, record + 8, 4);
		if (len > sizeof(record) - 16 || fread(record + 16, 1, len, file) != len)
			break;
		if (roce_frame_decode(&frame, record + 16, len) != ROCE_FRAME_OK ||
		    memcmp(frame.dst, target->victim, 16) != 0 || frame.bth_bytes > BYTES_MAX - 64)
			continue;
		keep(&frame);
	}
	fclose(file);
}

static size_t noise(uint8_t *out)
{
	size_t len = base_prng_below(&attack.prng, BYTES_MAX);

	base_prng_fill(&attack.prng, out, len);
	return len;
}

/* A sealed datagram's payload: BTH to ICRC. */
static size_t sealed(uint8_t *out, const struct target *target, bool as_friend, const uint8_t *bth,
		     size_t len)
{
	static uint8_t frame_bytes[BYTES_MAX + 128];
	struct roce_frame frame = {.ip_version = 4,
				   .hop_limit = 64,
				   .dont_fragment = true,
				   .udp_sport = as_friend ? attack.friend_port : attack.own_port,
				   .bth = bth,
				   .bth_bytes = len};

	memcpy(frame.src, as_friend ? target->friend : attack.own_gid, 16);
	memcpy(frame.dst, target->victim, 16);
	len = roce_frame_encode(frame_bytes, sizeof(frame_bytes), &frame);
	memcpy(out, frame_bytes + IP_UDP_BYTES, len - IP_UDP_BYTES);
	return len - IP_UDP_BYTES;
}

/* A write of 64 bytes with what is random and what is known. One that is taken ends the connection:
 * its key is wrong. */
static size_t forged(uint8_t *bth)
{
	struct roce_pkt pkt = {.opcode = ROCE_OP_RC_WRITE_ONLY,
			       .pkey = 0xffff,
			       .ack_req = true,
			       .dqpn = attack.qpn,
			       .psn = (attack.psn + (uint32_t)base_prng_below(&attack.prng, 64)) &
				      ROCE_PSN_MASK,
			       .reth = {.va = base_prng_u64(&attack.prng),
					.rkey = (uint32_t)base_prng_u64(&attack.prng),
					.len_bytes = 64}};
	size_t head = roce_pkt_encode_headers(bth, BYTES_MAX, &pkt);

	base_prng_fill(&attack.prng, bth + head, 64);
	return head + 64;
}

/* One datagram: returns its bytes, and whether it comes from the friend's address. */
static size_t make(uint8_t *out, const struct target *target, bool *as_friend)
{
	uint8_t bth[BYTES_MAX];
	unsigned int i;
	size_t len;

	*as_friend = true;
	switch (base_prng_below(&attack.prng, 6)) {
	case 0: /* nothing at all */
		*as_friend = base_prng_below(&attack.prng, 2);
		return noise(out);
	case 1: /* good, but from the wrong address */
		*as_friend = false;
		return sealed(out, target, false, bth, forged(bth));
	case 2: /* from the right one, with a bit turned */
		len = sealed(out, target, true, bth, forged(bth));
		i = (unsigned int)base_prng_below(&attack.prng, 8 * (uint32_t)len);
		out[i / 8] ^= (uint8_t)(1u << i % 8);
		/* The masked bits are in nobody's CRC. */
		out[len - 1] ^= i / 8 == ROCE_BTH_ECN_OFF;
		return len;
	case 3: /* to a number that nobody has, or to all members of a group */
		len = forged(bth);
		memset(bth + ROCE_BTH_DQPN_OFF, 0xff, 3);
		bth[ROCE_BTH_DQPN_OFF + 2] -= (uint8_t)base_prng_below(&attack.prng, 2);
		return sealed(out, target, true, bth, len);
	case 4: /* of another partition */
		len = forged(bth);
		bth[ROCE_BTH_PKEY_OFF] = 0x12;
		return sealed(out, target, true, bth, len);
	default: /* once more what was sent before */
		i = (unsigned int)base_prng_below(&attack.prng, attack.kept_count);
		return sealed(out, target, true, attack.kept[i].bytes, attack.kept[i].len);
	}
}

static int send_batch(const struct target *target, struct proc_msg *msg)
{
	static uint8_t bytes[BATCH][BYTES_MAX + 128];
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};

	memcpy(&to.sin_addr, target->victim + 12, 4);
	for (int i = 0; i < BATCH; i++) {
		bool as_friend;
		size_t len = make(bytes[i], target, &as_friend);
		int fd = as_friend ? attack.friend : attack.own;

		if (sendto(fd, bytes[i], len, 0, (struct sockaddr *)&to, sizeof(to)) < 0 &&
		    errno != ENOBUFS && errno != EAGAIN && errno != ECONNREFUSED)
			return proc_fail(-errno, "sendto: %s", strerror(errno));
		msg->v[ATTACK_SENT]++;
	}
	return 0;
}

/* Sends the datagrams, no faster than PER_SECOND. */
static int attack_run(struct proc_msg *msg)
{
	struct target target;
	uint64_t start_ns = proc_now_ns();
	int result = 0;

	memcpy(&target, msg->blob, sizeof(target));
	base_prng_seed(&attack.prng, 20261129);
	memcpy(attack.own_gid, (const uint8_t[16]){[10] = 0xff, 0xff, 127, 9, 8, 7}, 16);
	attack.own = open_socket(attack.own_gid, &attack.own_port);
	attack.friend = open_socket(target.friend, &attack.friend_port);
	PEER_CHECK(attack.own >= 0 && attack.friend >= 0);
	read_capture(&target);
	PEER_CHECK(attack.kept_count > 0 && attack.qpn != 0);
	memset(msg->v, 0, sizeof(msg->v));
	while (result == 0 && msg->v[ATTACK_SENT] < target.datagrams) {
		uint64_t due_ns = start_ns + msg->v[ATTACK_SENT] * (1000000000u / PER_SECOND);

		if (proc_now_ns() < due_ns)
			proc_sleep_ms(1);
		else
			result = send_batch(&target, msg);
	}
	msg->v[ATTACK_NS] = proc_now_ns() - start_ns;
	msg->v[ATTACK_REPLAYS] = attack.kept_count;
	return result;
}

/* ---- the others ------------------------------------------------------------------------------ */

static int counts(struct proc_msg *msg)
{
	const struct host_udp_counters *udp = &loop_port(peer.nic)->udp.counters;

	msg->v[COUNT_ICRC] = udp->rx_drop_icrc;
	msg->v[COUNT_MALFORMED] = udp->rx_drop_malformed;
	msg->v[COUNT_ADDRESS] = loop_counters(peer.nic)->rx_drop_address;
	msg->v[COUNT_PKEY] = loop_counters(peer.nic)->rx_drop_pkey;
	msg->v[COUNT_DUPLICATE] = loop_counters(peer.nic)->rx_duplicate;
	msg->v[COUNT_NOBODY] = udp->rx_drop_nobody;
	msg->v[COUNT_DONE] = peer.links[0].done;
	return 0;
}

static int own_gid(struct proc_msg *msg)
{
	struct rig_endpoint endpoint;

	PEER_TRY(rig_qp_endpoint(peer.links[0].qp, &endpoint));
	memcpy(msg->blob, endpoint.address.gid, 16);
	return 0;
}

static struct proc *start_on(const char *config, const char *capture, uint64_t seed)
{
	struct proc *child;

	setenv("RIG5_SOFT", config, 1);
	if (capture)
		setenv("RIG5_PCAP", capture, 1);
	child = peer_start(seed);
	unsetenv("RIG5_PCAP");
	return child;
}

/*
 * 200,000 datagrams at up to 100,000 a second come to a port that is at work: noise, good packets
 * from a wrong address, wrong CRCs, numbers that nobody has, another partition, and copies of real
 * ones. No byte is wrong, no connection ends, work is done meanwhile and after. By a third process
 * with sockets of its own address and of the peer's, from a capture of an earlier connection that
 * must still work in the end; counters show that each kind came in.
 */
static void test_garbage_under_load(void **state)
{
	char near[64], far[64];
	struct target target = {.datagrams = DATAGRAMS / proc_scale()};
	const char *folder = getenv("TMPDIR");
	struct proc_msg msg = {0}, before = {0}, after = {0};
	struct proc *friend, *old, *victim, *attacker;
	struct peer_pair load, earlier;

	(void)state;
	snprintf(target.capture, sizeof(target.capture), "%s/rig5-garbage-%d.pcap",
		 folder ? folder : "/tmp", getpid());
	(void)proc_new_port();
	snprintf(far, sizeof(far), "%s", getenv("RIG5_SOFT"));
	(void)proc_new_port();
	snprintf(near, sizeof(near), "%s", getenv("RIG5_SOFT"));
	victim = start_on(near, NULL, 1);
	friend = start_on(far, NULL, 2);
	old = start_on(far, target.capture, 3);
	load = peer_pair(victim, friend);
	earlier = peer_pair(victim, old);
	proc_ok(victim, own_gid, &msg);
	memcpy(target.victim, msg.blob, 16);
	proc_ok(friend, own_gid, &msg);
	memcpy(target.friend, msg.blob, 16);
	peer_run_on(old, REQUESTS);
	proc_ok(old, peer_drain, NULL);

	peer_run_on(victim, FOREVER);
	peer_run_on(friend, FOREVER);
	proc_ok(friend, counts, &before);
	attacker = proc_start();
	memcpy(msg.blob, &target, sizeof(target));
	proc_ok(attacker, attack_run, &msg);
	proc_ok(friend, counts, &after);
	unlink(target.capture);
	print_message("%llu datagrams, %llu a second, copies of %llu; %llu requests meanwhile\n",
		      (unsigned long long)msg.v[ATTACK_SENT],
		      (unsigned long long)(msg.v[ATTACK_SENT] * 1000000000u / msg.v[ATTACK_NS]),
		      (unsigned long long)msg.v[ATTACK_REPLAYS],
		      (unsigned long long)(after.v[COUNT_DONE] - before.v[COUNT_DONE]));
	assert_true(after.v[COUNT_DONE] > before.v[COUNT_DONE] + REQUESTS);
	assert_true(peer_progress(friend, load.b, REQUESTS, PEER_PATIENCE_MS));
	proc_ok(victim, peer_halt, NULL);
	proc_ok(friend, peer_halt, NULL);
	peer_run_on(old, REQUESTS);
	proc_ok(old, peer_halt, NULL);
	peer_agree(victim, load.a, friend, load.b);
	peer_agree(victim, earlier.a, old, earlier.b);
	proc_ok(victim, counts, &msg);
	print_message(
	    "dropped: CRC %llu, malformed %llu, address %llu, partition %llu, number %llu; "
	    "duplicates %llu\n",
	    (unsigned long long)msg.v[COUNT_ICRC], (unsigned long long)msg.v[COUNT_MALFORMED],
	    (unsigned long long)msg.v[COUNT_ADDRESS], (unsigned long long)msg.v[COUNT_PKEY],
	    (unsigned long long)msg.v[COUNT_NOBODY], (unsigned long long)msg.v[COUNT_DUPLICATE]);
	assert_true(msg.v[COUNT_ICRC] > 0);
	assert_true(msg.v[COUNT_MALFORMED] > 0);
	assert_true(msg.v[COUNT_ADDRESS] > 0);
	assert_true(msg.v[COUNT_PKEY] > 0);
	assert_true(msg.v[COUNT_NOBODY] > 0);
	assert_true(msg.v[COUNT_DUPLICATE] > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_garbage_under_load),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
