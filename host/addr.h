/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * addr.h - a port's address as sockets know it: GIDs turned into socket addresses and back, and the
 * interface that has an address.
 *
 * No state; any thread. Source: [RoCEv2 A17] (an IPv4 address a.b.c.d is the GID ::ffff:a.b.c.d).
 */
#ifndef HOST_ADDR_H
#define HOST_ADDR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

union host_addr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* host_addr_from_gid - the socket address of gid and UDP port udp_port; its bytes. scope is the
 * index of our interface, for link-local addresses. */
socklen_t host_addr_from_gid(union host_addr *addr, const uint8_t gid[static 16], uint16_t udp_port,
			     uint32_t scope);

/* host_addr_to_gid - the GID of a socket address of either family. */
void host_addr_to_gid(const union host_addr *addr, uint8_t gid[static 16]);

/* host_addr_from_interface - text of the first address of the interface name: an IPv4 one, or else
 * an IPv6 one that is not link-local. false: there is no such interface, or it has none. */
bool host_addr_from_interface(const char *name, char text[static INET6_ADDRSTRLEN]);

struct host_interface {
	char name[IFNAMSIZ];
	uint32_t index;
	uint32_t mtu_bytes;
	bool loopback;
};

/* host_interface_find - the interface that has the address gid. false: none is known to; *interface
 * is then a cautious guess, without an index. */
bool host_interface_find(const uint8_t gid[static 16], struct host_interface *interface);

/* host_interface_mtu - the largest RoCE MTU (256 to 4096) whose packets go through an interface
 * of this MTU without fragmenting; 0: not even 256 does. */
uint32_t host_interface_mtu(uint32_t mtu_bytes, bool ipv4);

#endif
