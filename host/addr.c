/* SPDX-License-Identifier: BSD-2-Clause */
/* addr.c - addresses, GIDs and interfaces. */
#include "host/addr.h"

#include "abi/roce.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

socklen_t host_addr_from_gid(union host_addr *addr, const uint8_t gid[static 16], uint16_t udp_port,
			     uint32_t scope)
{
	memset(addr, 0, sizeof(*addr));
	if (roce_gid_is_ipv4(gid)) {
		addr->v4.sin_family = AF_INET;
		addr->v4.sin_port = htons(udp_port);
		memcpy(&addr->v4.sin_addr, gid + 12, 4);
		return sizeof(addr->v4);
	}
	addr->v6.sin6_family = AF_INET6;
	addr->v6.sin6_port = htons(udp_port);
	memcpy(&addr->v6.sin6_addr, gid, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&addr->v6.sin6_addr) ||
	    IN6_IS_ADDR_MC_LINKLOCAL(&addr->v6.sin6_addr) ||
	    IN6_IS_ADDR_MC_NODELOCAL(&addr->v6.sin6_addr))
		addr->v6.sin6_scope_id = scope;
	return sizeof(addr->v6);
}

void host_addr_to_gid(const union host_addr *addr, uint8_t gid[static 16])
{
	if (addr->any.sa_family == AF_INET6) {
		memcpy(gid, &addr->v6.sin6_addr, 16);
		return;
	}
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &addr->v4.sin_addr, 4);
}

/* How good the address is for a port: 2, 1, or 0 for not at all. */
static int address_rank(const union host_addr *addr)
{
	if (addr->any.sa_family == AF_INET)
		return 2;
	return addr->any.sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&addr->v6.sin6_addr);
}

bool host_addr_from_interface(const char *name, char text[static INET6_ADDRSTRLEN])
{
	struct ifaddrs *list, *at;
	int best = 0;

	if (getifaddrs(&list) != 0)
		return false;
	for (at = list; at; at = at->ifa_next) {
		const union host_addr *addr = (const void *)at->ifa_addr;

		if (!addr || strcmp(at->ifa_name, name) != 0 || address_rank(addr) <= best)
			continue;
		best = address_rank(addr);
		if (addr->any.sa_family == AF_INET)
			inet_ntop(AF_INET, &addr->v4.sin_addr, text, INET6_ADDRSTRLEN);
		else
			inet_ntop(AF_INET6, &addr->v6.sin6_addr, text, INET6_ADDRSTRLEN);
	}
	freeifaddrs(list);
	return best > 0;
}

/* All of 127.0.0.0/8 is the loopback interface's, though it names one address only. */
static bool interface_has(const struct ifaddrs *at, const uint8_t gid[static 16])
{
	const union host_addr *addr = (const void *)at->ifa_addr;
	uint8_t its[16];

	if (!addr || (addr->any.sa_family != AF_INET && addr->any.sa_family != AF_INET6))
		return false;
	if ((at->ifa_flags & IFF_LOOPBACK) && addr->any.sa_family == AF_INET &&
	    roce_gid_is_ipv4(gid) && gid[12] == 127)
		return true;
	host_addr_to_gid(addr, its);
	return memcmp(its, gid, 16) == 0;
}

static uint32_t interface_mtu(const char *name)
{
	struct ifreq request = {.ifr_mtu = 0};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFMTU, &request) != 0)
		request.ifr_mtu = 0;
	close(fd);
	return (uint32_t)request.ifr_mtu;
}

/* What is assumed where nothing can be asked, for want of descriptors. */
static struct host_interface interface_guess(const uint8_t gid[static 16])
{
	static const uint8_t v6[16] = {[15] = 1};
	bool loopback = (roce_gid_is_ipv4(gid) && gid[12] == 127) || memcmp(gid, v6, 16) == 0;

	if (loopback)
		return (struct host_interface){.name = "lo", .mtu_bytes = 65536, .loopback = true};
	return (struct host_interface){.mtu_bytes = 1500};
}

bool host_interface_find(const uint8_t gid[static 16], struct host_interface *interface)
{
	struct ifaddrs *list, *at;
	bool found = false;

	*interface = interface_guess(gid);
	if (getifaddrs(&list) != 0)
		return false;
	for (at = list; at && !found; at = at->ifa_next) {
		uint32_t mtu_bytes;

		if (!interface_has(at, gid))
			continue;
		found = true;
		snprintf(interface->name, sizeof(interface->name), "%s", at->ifa_name);
		interface->index = if_nametoindex(at->ifa_name);
		interface->loopback = (at->ifa_flags & IFF_LOOPBACK) != 0;
		mtu_bytes = interface_mtu(at->ifa_name);
		if (mtu_bytes)
			interface->mtu_bytes = mtu_bytes;
	}
	freeifaddrs(list);
	return found;
}

uint32_t host_interface_mtu(uint32_t mtu_bytes, bool ipv4)
{
	/* The most that goes around a full payload: of DC, a RETH and immediate data. */
	uint32_t around = (ipv4 ? ROCE_IPV4_BYTES : ROCE_IPV6_BYTES) + ROCE_UDP_BYTES +
			  ROCE_BTH_BYTES + ROCE_DCETH_BYTES + ROCE_RETH_BYTES + ROCE_IMM_BYTES +
			  ROCE_ICRC_BYTES;

	for (uint32_t mtu = ROCE_MTU_MAX_BYTES; mtu >= 256; mtu /= 2)
		if (mtu + around <= mtu_bytes)
			return mtu;
	return 0;
}
