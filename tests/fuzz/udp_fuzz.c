/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_fuzz.c - the UDP wire's receiving half: datagrams with any addresses, bytes and segment size,
 * as recvmmsg gives them, up to the NIC they are for: this process's, or another member's, to whom
 * they are handed on.
 *
 * Beyond no crash, and with abi/roce_frame.c as a second opinion of what an ICRC is: a packet that
 * was sealed with whatever identification arrives once, in order and whole at the owner of its
 * queue pair, with what was around it; one with one changed bit does not, unless the ICRC does not
 * cover the bit, or (over IPv4) it is right for another identification; whatever arrives has an
 * ICRC that is right for the identification that is said to be its own; each packet is counted.
 */
#include "abi/roce_frame.h"
#include "host/port.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <netinet/udp.h>
#include <sanitizer/asan_interface.h> /* macros that do nothing without it */
#include <stdbool.h>

/* What the engine does with a packet, without a NIC behind it. */
static void took(struct nic *nic, const struct nic_rx *rx, uint64_t now_ns);
#define nic_rx(nic, rx, now_ns) took(nic, rx, now_ns)
#include "host/engine.c"
#undef nic_rx

enum {
	US,
	OTHER,
	MEMBERS,
	NOBODY = MEMBERS,
	CALLS_MAX = 8,
	MESSAGES_MAX = 4, /* of a call; as many as there is room for */
	SEGMENTS_MAX = 64,
	MESSAGE_BYTES_MAX = 65487, /* with IPv6's header as long as an IPv4 packet */
	ICRC_COVERS_NOT = 4,       /* the byte of the BTH with FECN and BECN */
	/* However a message is cut: as many as may be packets. */
	PACKETS_MAX = MESSAGES_MAX * (MESSAGE_BYTES_MAX / (ROCE_BTH_BYTES + ROCE_ICRC_BYTES) + 1),
	EVERYTHING = 1 << 30,
};

/* What has to become of a packet. */
enum fate { MUST_COME, MAY_COME, MUST_NOT_COME };

struct packet {
	size_t off, len; /* in its message; len without the ICRC */
	enum fate fate;
	bool changed; /* after it was sealed, where that counts */
	uint16_t ip_id;
	bool dont_fragment;
};

struct message {
	union host_addr from;
	uint8_t sgid[16];
	uint16_t udp_sport;
	uint8_t traffic_class;
	int segment_bytes; /* as the kernel says; 0: it says nothing */
	size_t len;
	uint32_t count; /* of packets, as sealed */
	struct packet packets[SEGMENTS_MAX];
	bool refused; /* because of where it says it comes from */
	uint8_t bytes[MESSAGE_BYTES_MAX];
};

/* A packet on its way, in the order of sending. */
struct expected {
	const struct message *message;
	struct packet packet;
};

static struct world {
	struct fuzz_in in;
	struct host_port ports[MEMBERS];
	struct host_local locals[MEMBERS];
	bool ipv4;
	bool alone; /* the other member is dead */
	bool given; /* the messages are with the receiver */
	uint32_t next[MEMBERS]; /* the first of expected[] that may still come */
	uint64_t datagrams, refused, packets, taken[MEMBERS];
	uint32_t message_count, expected_count;
	struct message messages[MESSAGES_MAX];
	struct expected expected[PACKETS_MAX];
} world;

static uint32_t qpn_of(uint32_t member)
{
	return (0x111u * (member + 1)) << SHM_BLOCK_LOG2;
}

static uint32_t owner_of(uint32_t qpn)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (qpn >> SHM_BLOCK_LOG2 == qpn_of(i) >> SHM_BLOCK_LOG2)
			return i;
	return NOBODY;
}

/* ---- the second opinion -------------------------------------------------------------------------
 */

/* The ICRC of the packet at bth if it had this identification. */
static uint32_t icrc_of(const struct message *message, uint16_t ip_id, bool dont_fragment,
			const uint8_t *bth, size_t len)
{
	static uint8_t whole[ROCE_IPV6_BYTES + ROCE_UDP_BYTES + MESSAGE_BYTES_MAX];
	struct roce_frame frame = {.ip_version = world.ipv4 ? 4 : 6,
				   .traffic_class = message->traffic_class,
				   .hop_limit = 63,
				   .ip_id = ip_id,
				   .dont_fragment = dont_fragment,
				   .udp_sport = message->udp_sport,
				   .bth = bth,
				   .bth_bytes = len};
	size_t total;

	memcpy(frame.src, message->sgid, 16);
	memcpy(frame.dst, world.ports[US].gid, 16);
	total = roce_frame_encode(whole, sizeof(whole), &frame);
	FUZZ_CHECK(total > ROCE_ICRC_BYTES);
	return le32_load(whole + total - ROCE_ICRC_BYTES);
}

/* Whether it is what came: the same bytes, and their ICRC is right with what is said of them. */
static bool is_it(const struct expected *expected, const struct host_udp_packet *incoming)
{
	const struct message *message = expected->message;
	const struct packet *packet = &expected->packet;
	const uint8_t *bth = message->bytes + packet->off;

	return packet->fate != MUST_NOT_COME && packet->len == incoming->rx.len_bytes &&
	       memcmp(message->sgid, incoming->sgid, 16) == 0 &&
	       memcmp(bth, incoming->rx.bth, packet->len) == 0 &&
	       icrc_of(message, incoming->ip.ip_id, incoming->ip.dont_fragment, bth,
		       packet->len) == le32_load(bth + packet->len);
}

static void check_around(const struct expected *expected, const struct host_udp_packet *incoming)
{
	const struct message *message = expected->message;
	const struct packet *packet = &expected->packet;
	bool same = incoming->ip.ip_id == packet->ip_id &&
		    incoming->ip.dont_fragment == packet->dont_fragment;

	FUZZ_CHECK(incoming->rx.traffic_class == message->traffic_class);
	FUZZ_CHECK(incoming->udp_sport == message->udp_sport);
	FUZZ_CHECK(memcmp(incoming->rx.dgid, world.ports[US].gid, 16) == 0);
	if (world.ipv4 && packet->fate == MUST_COME)
		FUZZ_CHECK(same);
	if (packet->changed)
		FUZZ_CHECK(world.ipv4 && !same);
}

static uint32_t qpn_at(const struct expected *expected)
{
	return be24_load(expected->message->bytes + expected->packet.off + ROCE_BTH_DQPN_OFF);
}

/* Stands for the NIC of a member: the packet is the next one that is expected there. */
static void took(struct nic *nic, const struct nic_rx *rx, uint64_t now_ns)
{
	uint32_t member = nic == world.ports[US].nic ? US : OTHER;
	const struct host_port *port = &world.ports[member];

	FUZZ_CHECK(now_ns == port->clock.now_ns && port->incoming);
	FUZZ_CHECK(&port->incoming->rx == rx && rx->sgid == port->incoming->sgid);
	for (; world.next[member] < world.expected_count; world.next[member]++) {
		const struct expected *expected = &world.expected[world.next[member]];

		if (expected->packet.len < ROCE_BTH_BYTES || owner_of(qpn_at(expected)) != member)
			continue;
		if (is_it(expected, port->incoming)) {
			check_around(expected, port->incoming);
			world.next[member]++;
			world.taken[member]++;
			return;
		}
		FUZZ_CHECK(expected->packet.fate != MUST_COME);
	}
	FUZZ_CHECK(!"a packet came that may not");
}

/* ---- what comes ---------------------------------------------------------------------------------
 */

static void address_of(struct message *message)
{
	static const uint8_t gids[][16] = {{[10] = 0xff, 0xff, 10, 0, 0, 7},
					   {0x20, 0x01, 0x0d, 0xb8, [15] = 7},
					   {0xfe, 0x80, [15] = 7}};
	uint8_t kind = fuzz_u8(&world.in);
	uint8_t *gid = message->sgid;
	bool ipv4;

	message->udp_sport = (uint16_t)(0xc000 + kind);
	memcpy(gid, gids[world.ipv4 ? 0 : 1], 16);
	if (kind >= 0xf8)
		memcpy(gid, world.ports[US].gid, 16);
	else if (kind >= 0xf0)
		memcpy(gid, gids[kind % 3], 16);
	else if (kind >= 0xe0)
		fuzz_bytes(&world.in, gid, 16);
	else if (kind >= 0xc0)
		fuzz_bytes(&world.in, gid + 12, 4);
	if (kind & 1 && kind >= 0xc0)
		message->udp_sport = fuzz_u16(&world.in);
	ipv4 = roce_gid_is_ipv4(gid);
	message->refused =
	    ipv4 != world.ipv4 || memcmp(gid, world.ports[US].gid, 16) == 0;
	memset(&message->from, 0, sizeof(message->from));
	if (ipv4 && !(kind & 2)) {
		(void)host_addr_from_gid(&message->from, gid, message->udp_sport, 0);
		return;
	}
	message->from.v6.sin6_family = AF_INET6;
	message->from.v6.sin6_port = htons(message->udp_sport);
	memcpy(&message->from.v6.sin6_addr, gid, 16);
}

static size_t packet_len(void)
{
	static const uint16_t usual[] = {12, 16, 28, 36, 40, 284, 1040, 4112, 4136, 4200, 4204};
	uint8_t kind = fuzz_u8(&world.in);

	if (kind < 0xe0)
		return usual[kind % (sizeof(usual) / sizeof(usual[0]))];
	return kind < 0xfc ? kind - 0xe0 : fuzz_u16(&world.in) % (MESSAGE_BYTES_MAX - 3);
}

/* A packet of len bytes and its ICRC at the end of the message. */
static void fill(struct message *message, struct packet *packet)
{
	uint8_t *bth = message->bytes + packet->off;
	uint8_t kind = fuzz_u8(&world.in);
	uint32_t qpn = 0x7ff << SHM_BLOCK_LOG2; /* nobody's */

	memset(bth, 0, packet->len);
	for (size_t i = 0; i < packet->len; i += 61)
		bth[i] = (uint8_t)(kind + i + message->count);
	fuzz_bytes(&world.in, bth, packet->len < 4 ? packet->len : 4);
	if (packet->len < ROCE_BTH_BYTES)
		return;
	if (kind % 8 != 0)
		qpn = qpn_of(kind % 8 < 4 ? US : OTHER) | (kind & 0x70);
	be24_store(bth + ROCE_BTH_DQPN_OFF, qpn);
}

/* Sealed as an honest sender's, as that of one with other identifications, or not at all. */
static void seal(struct message *message, struct packet *packet, uint8_t how)
{
	uint8_t *bth = message->bytes + packet->off;

	packet->ip_id = (uint16_t)message->count;
	packet->dont_fragment = true;
	packet->changed = false;
	if (packet->len < ROCE_BTH_BYTES) {
		packet->fate = MUST_NOT_COME;
		le32_store(bth + packet->len, fuzz_u32(&world.in));
		return;
	}
	if (how & 1)
		packet->ip_id = fuzz_u16(&world.in);
	packet->dont_fragment = !(how & 2);
	packet->fate = MUST_COME;
	le32_store(bth + packet->len,
		   icrc_of(message, packet->ip_id, packet->dont_fragment, bth, packet->len));
}

static void change(struct message *message, struct packet *packet, uint8_t how)
{
	size_t all = packet->len + ROCE_ICRC_BYTES;
	uint8_t *bth = message->bytes + packet->off;
	size_t at = fuzz_u16(&world.in) % all;

	if (how & 4) {
		bth[at] ^= (uint8_t)(1u << (how >> 5));
		if (at == ICRC_COVERS_NOT || packet->fate == MUST_NOT_COME)
			return;
		packet->changed = true;
		packet->fate = world.ipv4 ? MAY_COME : MUST_NOT_COME;
	} else {
		size_t len = 1 + fuzz_u8(&world.in) % 8;

		fuzz_bytes(&world.in, bth + at, len < all - at ? len : all - at);
		if (packet->fate != MUST_NOT_COME)
			packet->fate = MAY_COME;
	}
}

/* One more packet, of at most as many bytes as the one before it. */
static bool add_packet(struct message *message, size_t len)
{
	struct packet *packet = &message->packets[message->count];
	uint8_t how = fuzz_u8(&world.in);

	if (message->count == SEGMENTS_MAX ||
	    message->len + len + ROCE_ICRC_BYTES > sizeof(message->bytes))
		return false;
	*packet = (struct packet){.off = message->len, .len = len};
	fill(message, packet);
	seal(message, packet, how);
	if ((how & 0x18) == 0x18)
		change(message, packet, how);
	message->len += len + ROCE_ICRC_BYTES;
	message->count++;
	return true;
}

static void add_message(void)
{
	struct message *message = &world.messages[world.message_count++];
	uint8_t count = fuzz_u8(&world.in);
	uint8_t how = fuzz_u8(&world.in);
	size_t len = packet_len();

	message->len = 0;
	message->count = 0;
	message->traffic_class = fuzz_u8(&world.in);
	address_of(message);
	for (uint8_t i = 0; i < count % (SEGMENTS_MAX + 1); i++)
		if (!add_packet(message, len))
			break;
	if ((how & 0xc0) == 0xc0 && message->count > 0 && len > 0)
		(void)add_packet(message, fuzz_u16(&world.in) % len);
	message->segment_bytes = message->count > 1 || how & 1 ? (int)len + ROCE_ICRC_BYTES : 0;
	if ((how & 0x30) == 0x30)
		message->segment_bytes = (int)fuzz_odd(&world.in);
	if (how == 0x2a && message->len > 0)
		message->len -= 1 + fuzz_u8(&world.in) % message->len;
}

/* ---- what is expected ---------------------------------------------------------------------------
 */

static bool goes_anywhere(const struct expected *expected)
{
	switch (owner_of(qpn_at(expected))) {
	case US:
		return true;
	case OTHER:
		return !world.alone &&
		       expected->packet.len + sizeof(struct shm_foreign) <= SHM_PACKET_BYTES_MAX;
	}
	return false;
}

/* The bytes [at, at + len) of a message, as the receiver has to cut it. */
static void expect(const struct message *message, size_t at, size_t len)
{
	struct expected *expected = &world.expected[world.expected_count];

	world.packets++;
	if (len < ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
		return;
	FUZZ_CHECK(world.expected_count < PACKETS_MAX);
	world.expected_count++;
	*expected = (struct expected){
	    .message = message,
	    .packet = {.off = at, .len = len - ROCE_ICRC_BYTES, .fate = MAY_COME}};
	for (uint32_t i = 0; i < message->count; i++)
		if (message->packets[i].off == at &&
		    message->packets[i].len + ROCE_ICRC_BYTES == len)
			expected->packet = message->packets[i];
	if (!goes_anywhere(expected))
		expected->packet.fate = MUST_NOT_COME;
}

static void expect_message(const struct message *message)
{
	size_t segment_bytes = message->len;

	world.datagrams++;
	if (message->refused) {
		world.refused++;
		return;
	}
	if (message->segment_bytes > 0 && (size_t)message->segment_bytes < segment_bytes)
		segment_bytes = (size_t)message->segment_bytes;
	for (size_t at = 0; at < message->len; at += segment_bytes)
		expect(message, at,
		       message->len - at < segment_bytes ? message->len - at : segment_bytes);
}

/* ---- the kernel ---------------------------------------------------------------------------------
 */

static void *control_add(struct msghdr *msg, size_t *used, int level, int type, size_t len)
{
	struct cmsghdr *cmsg = (void *)((char *)msg->msg_control + *used);

	FUZZ_CHECK(*used + CMSG_SPACE(len) <= msg->msg_controllen);
	*used += CMSG_SPACE(len);
	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	return CMSG_DATA(cmsg);
}

static void give(const struct message *message, struct mmsghdr *to)
{
	struct msghdr *msg = &to->msg_hdr;
	size_t used = 0;
	int tclass = message->traffic_class;

	FUZZ_CHECK(msg->msg_iovlen == 1 && msg->msg_iov->iov_len >= message->len);
	ASAN_UNPOISON_MEMORY_REGION(msg->msg_iov->iov_base, msg->msg_iov->iov_len);
	memcpy(msg->msg_iov->iov_base, message->bytes, message->len);
	ASAN_POISON_MEMORY_REGION((uint8_t *)msg->msg_iov->iov_base + message->len,
				  msg->msg_iov->iov_len - message->len);
	to->msg_len = (unsigned int)message->len;
	FUZZ_CHECK(msg->msg_namelen >= sizeof(message->from));
	memcpy(msg->msg_name, &message->from, sizeof(message->from));
	if (message->segment_bytes)
		memcpy(control_add(msg, &used, IPPROTO_UDP, UDP_GRO, sizeof(int)),
		       &message->segment_bytes, sizeof(int));
	if (tclass && world.ipv4)
		*(uint8_t *)control_add(msg, &used, IPPROTO_IP, IP_TOS, 1) = (uint8_t)tclass;
	else if (tclass)
		memcpy(control_add(msg, &used, IPPROTO_IPV6, IPV6_TCLASS, sizeof(int)), &tclass,
		       sizeof(int));
	msg->msg_controllen = used;
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
	     struct timespec *timeout)
{
	FUZZ_CHECK(fd == -1 && count >= MESSAGES_MAX && (flags & MSG_DONTWAIT) && !timeout);
	if (world.given || world.message_count == 0) {
		errno = EAGAIN;
		return -1;
	}
	world.given = true;
	for (uint32_t i = 0; i < world.message_count; i++)
		give(&world.messages[i], &messages[i]);
	return (int)world.message_count;
}

/* ---- a run --------------------------------------------------------------------------------------
 */

static void world_open(uint8_t how)
{
	static const uint8_t gids[2][16] = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1},
					    {[10] = 0xff, 0xff, 10, 0, 0, 1}};
	struct host_registry *first = &world.ports[US].registry;
	struct host_udp *udp = &world.ports[US].udp;

	world.ipv4 = how & 1;
	world.alone = (how & 0x0e) == 0x0e;
	FUZZ_CHECK(host_registry_found(first, "fuzz", gids[world.ipv4]) == 0);
	FUZZ_CHECK(host_registry_claim(first) == 0);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		struct shm_member *member = host_registry_member(first, i);
		struct host_port *port = &world.ports[i];

		port->registry = *first;
		port->registry.slot = i;
		port->registry.generation = atomic_load(&member->generation);
		atomic_store(&member->state, i == US || !world.alone ? SHM_LIVE : SHM_FREE);
		atomic_store(&member->wake, SHM_KICKED);
		atomic_store(&host_registry_port(first)->owners[qpn_of(i) >> SHM_BLOCK_LOG2],
			     (uint16_t)(i + 1));
		port->local = &world.locals[i];
		host_local_init(port->local, &port->registry);
		port->nic = (void *)&world.locals[i];
		port->clock.now_ns = i + 1;
		memcpy(port->gid, gids[world.ipv4], 16);
	}
	host_udp_init(udp);
	memcpy(udp->gid, gids[world.ipv4], 16);
	udp->ipv4 = world.ipv4;
	udp->up = true;
	FUZZ_CHECK(host_udp_rx_init(udp) == 0);
}

/* The ring between the members: the first packet only asks for it. */
static void world_meet(void)
{
	static const struct host_local_limit limit = {EVERYTHING, EVERYTHING};
	struct host_local *from = &world.locals[US];

	if (host_local_reserve(from, NULL, qpn_of(OTHER), ROCE_BTH_BYTES))
		host_local_cancel(from);
	(void)host_local_receive(&world.locals[OTHER], &limit, pass_take, &world.ports[OTHER]);
}

static void world_close(void)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		host_local_free(&world.locals[i]);
	host_udp_close(&world.ports[US].udp);
	world.ports[US].registry.claimed = false;
	host_registry_close(&world.ports[US].registry);
}

static void run_messages(void)
{
	static const struct host_udp_limit limit = {EVERYTHING, EVERYTHING};
	static const struct host_local_limit local_limit = {EVERYTHING, EVERYTHING};

	for (uint32_t i = 0; i < world.message_count; i++)
		expect_message(&world.messages[i]);
	(void)host_udp_receive(&world.ports[US].udp, &limit, 1, pass_take_udp, &world.ports[US]);
	FUZZ_CHECK(world.given);
	(void)host_local_receive(&world.locals[OTHER], &local_limit, pass_take,
				 &world.ports[OTHER]);
	host_local_flush(&world.locals[US]);
	host_local_flush(&world.locals[OTHER]);
	for (uint32_t member = 0; member < MEMBERS; member++)
		for (; world.next[member] < world.expected_count; world.next[member]++) {
			const struct expected *left = &world.expected[world.next[member]];

			FUZZ_CHECK(left->packet.fate != MUST_COME ||
				   owner_of(qpn_at(left)) != member);
		}
}

static void check_counters(void)
{
	const struct host_udp_counters *c = &world.ports[US].udp.counters;

	FUZZ_CHECK(c->rx_datagrams == world.datagrams);
	FUZZ_CHECK(c->rx_drop_address == world.refused);
	FUZZ_CHECK(c->rx_packets + c->rx_drop_malformed + c->rx_drop_icrc == world.packets);
	FUZZ_CHECK(world.taken[US] + c->rx_handed_on + c->rx_drop_nobody == c->rx_packets);
	FUZZ_CHECK(world.locals[OTHER].counters.rx_foreign == world.taken[OTHER]);
	FUZZ_CHECK(world.alone || c->rx_handed_on == world.taken[OTHER]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return 0;
	memset(&world, 0, offsetof(struct world, messages));
	world.in = (struct fuzz_in){data, size};
	world_open(fuzz_u8(&world.in));
	world_meet();
	for (int i = 0; i < CALLS_MAX && world.in.left; i++) {
		uint8_t count = 1 + fuzz_u8(&world.in) % MESSAGES_MAX;

		world.message_count = 0;
		world.expected_count = 0;
		world.given = false;
		memset(world.next, 0, sizeof(world.next));
		while (world.message_count < count)
			add_message();
		run_messages();
	}
	check_counters();
	world_close();
	return 0;
}
