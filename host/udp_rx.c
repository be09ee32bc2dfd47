/* SPDX-License-Identifier: BSD-2-Clause */
/* udp_rx.c - the UDP wire's receiving half: datagrams, their segments, their ICRCs. */
#include "host/udp.h"

#include "abi/roce.h"
#include "base/be.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 4, MESSAGE_BYTES = 65536 };

/* Segment size and traffic class. */
union rx_control {
	struct cmsghdr align;
	char buf[2 * CMSG_SPACE(sizeof(int))];
};

struct udp_rx {
	struct mmsghdr messages[MESSAGES];
	struct iovec pieces[MESSAGES];
	union host_addr addrs[MESSAGES];
	union rx_control controls[MESSAGES];
	struct host_seal_memory memory;
	_Alignas(64) uint8_t bytes[MESSAGES][MESSAGE_BYTES];
};

int host_udp_rx_init(struct host_udp *udp)
{
	struct udp_rx *rx = aligned_alloc(64, sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	memset(rx, 0, offsetof(struct udp_rx, bytes));
	for (int i = 0; i < MESSAGES; i++)
		rx->pieces[i] =
		    (struct iovec){.iov_base = rx->bytes[i], .iov_len = MESSAGE_BYTES};
	udp->rx = rx;
	return 0;
}

/* Where what is being received comes to. */
struct rx_to {
	int fd;
	const uint8_t *ip;  /* the address, as a GID */
	const uint8_t *gid; /* what the NIC calls it: of a group, not always the same */
};

struct rx_run {
	struct host_udp *udp;
	void (*take)(void *ctx, const struct host_udp_packet *packet);
	void *ctx;
	uint32_t packets;
	uint32_t bytes;
};

static void take_segment(struct rx_run *run, struct host_seal *seal,
			 struct host_udp_packet *packet, const uint8_t *bth, size_t bytes,
			 uint16_t guess)
{
	struct host_udp *udp = run->udp;
	size_t len = bytes - ROCE_ICRC_BYTES;

	run->packets++;
	if (bytes < ROCE_BTH_BYTES + ROCE_ICRC_BYTES) {
		udp->counters.rx_drop_malformed++;
		return;
	}
	if (!host_seal_check(seal, &udp->rx->memory, guess, bth, len, le32_load(bth + len),
			     &packet->ip)) {
		udp->counters.rx_drop_icrc++;
		return;
	}
	packet->rx.bth = bth;
	packet->rx.len_bytes = len;
	packet->first = guess == 0;
	udp->counters.rx_packets++;
	udp->counters.rx_bytes += bytes;
	run->take(run->ctx, packet);
}

/* What the kernel says about a message: 0 or the size of its segments; and its traffic class. */
static size_t read_control(struct msghdr *msg, uint8_t *traffic_class)
{
	size_t segment_bytes = 0;

	*traffic_class = 0;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		int value = 0;

		if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_TOS) {
			*traffic_class = *(const uint8_t *)CMSG_DATA(cmsg); /* one byte [ip(7)] */
			continue;
		}
		if (cmsg->cmsg_len < CMSG_LEN(sizeof(value)))
			continue;
		memcpy(&value, CMSG_DATA(cmsg), sizeof(value));
		if (cmsg->cmsg_level == IPPROTO_UDP && cmsg->cmsg_type == UDP_GRO && value > 0)
			segment_bytes = (size_t)value;
		else if (cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_TCLASS)
			*traffic_class = (uint8_t)value;
	}
	return segment_bytes;
}

static uint16_t port_of(const union host_addr *addr)
{
	return ntohs(addr->any.sa_family == AF_INET6 ? addr->v6.sin6_port : addr->v4.sin_port);
}

/*
 * This port's packets to itself take the local wire: what says it is one of them lies. So does an
 * IPv4 address in an IPv6 header, whose ICRC would be checked as if the header were IPv4's; Linux
 * lets such datagrams in.
 */
static bool is_of_others(const struct host_udp *udp, const uint8_t sgid[static 16])
{
	return memcmp(sgid, udp->gid, 16) != 0 && roce_gid_is_ipv4(sgid) == udp->ipv4;
}

static void take_message(struct rx_run *run, const struct rx_to *to, uint32_t i)
{
	struct host_udp *udp = run->udp;
	struct mmsghdr *message = &udp->rx->messages[i];
	const uint8_t *bytes = udp->rx->bytes[i];
	size_t len = message->msg_len;
	struct host_udp_packet packet;
	struct host_seal seal;
	uint8_t traffic_class;
	size_t segment_bytes = read_control(&message->msg_hdr, &traffic_class);

	udp->counters.rx_datagrams++;
	run->bytes += (uint32_t)len;
	host_addr_to_gid(&udp->rx->addrs[i], packet.sgid);
	packet.udp_sport = port_of(&udp->rx->addrs[i]);
	packet.rx = (struct nic_rx){
	    .sgid = packet.sgid, .dgid = to->gid, .traffic_class = traffic_class};
	if (!is_of_others(udp, packet.sgid)) {
		/* What went to a group comes back, too: that is all right. */
		udp->counters.rx_drop_address += to->fd == udp->fds[HOST_UDP_RX];
		return;
	}
	host_seal_init(&seal, packet.sgid, to->ip, packet.udp_sport);
	if (segment_bytes == 0 || segment_bytes > len)
		segment_bytes = len;
	for (size_t at = 0, n = 0; at < len; at += segment_bytes, n++)
		take_segment(run, &seal, &packet, bytes + at,
			     len - at < segment_bytes ? len - at : segment_bytes, (uint16_t)n);
}

static int receive_some(struct host_udp *udp, int fd)
{
	struct udp_rx *rx = udp->rx;

	for (int i = 0; i < MESSAGES; i++)
		rx->messages[i].msg_hdr =
		    (struct msghdr){.msg_name = &rx->addrs[i],
				    .msg_namelen = sizeof(rx->addrs[i]),
				    .msg_iov = &rx->pieces[i],
				    .msg_iovlen = 1,
				    .msg_control = rx->controls[i].buf,
				    .msg_controllen = sizeof(rx->controls[i].buf)};
	udp->counters.rx_calls++;
	return recvmmsg(fd, rx->messages, MESSAGES, MSG_DONTWAIT, NULL);
}

/* true: to's socket is empty. */
static bool receive_from(struct rx_run *run, const struct rx_to *to,
			 const struct host_udp_limit *limit)
{
	int count = MESSAGES;

	while (count == MESSAGES && run->packets < limit->packets && run->bytes < limit->bytes) {
		count = receive_some(run->udp, to->fd);
		for (int i = 0; i < count; i++)
			take_message(run, to, (uint32_t)i);
	}
	return count < MESSAGES;
}

static void receive_groups(struct rx_run *run, const struct host_udp_limit *limit, uint64_t now_ns)
{
	struct host_udp_groups *groups = &run->udp->groups;

	for (uint32_t i = 0; i < groups->count; i++) {
		struct host_udp_group *group = &groups->groups[i];
		struct rx_to to = {.ip = group->ip, .gid = group->gid};

		if (!group->joined)
			continue;
		to.fd = host_udp_group_fd(run->udp, group, now_ns);
		if (to.fd >= 0)
			(void)receive_from(run, &to, limit);
	}
}

uint32_t host_udp_receive(struct host_udp *udp, const struct host_udp_limit *limit, uint64_t now_ns,
			  void (*take)(void *ctx, const struct host_udp_packet *packet), void *ctx)
{
	struct rx_run run = {.udp = udp, .take = take, .ctx = ctx};
	struct rx_to to = {.fd = udp->fds[HOST_UDP_RX], .ip = udp->gid, .gid = udp->gid};

	if (!udp->up || !host_udp_may_use(udp, HOST_UDP_RX, now_ns))
		return 0;
	if (receive_from(&run, &to, limit))
		udp->rx_empties++;
	receive_groups(&run, limit, now_ns);
	if (run.packets)
		udp->busy_ns = now_ns;
	return run.packets;
}
