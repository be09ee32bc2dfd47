/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft/config.h - which software NICs this machine has: the text of RIG5_SOFT.
 *
 *   RIG5_SOFT='soft0;soft1,addr=127.0.0.5;soft2,ll=ib'
 *
 * NICs are separated by ';', each a name and then key=value pairs. Not set: one NIC, "soft0".
 *   addr=A   the port's address: an IPv4 or IPv6 address of this machine, or the name of an
 *            interface, whose first address it then is (IPv4 before IPv6). Without: this user's
 *            first free loopback address, which one NIC may have.
 *   ll=eth   Ethernet (RoCE v2), the default.
 *   ll=ib    InfiniBand: the port has a LID in place of an IP address. Ports of different LIDs do
 *            not reach each other: no wire leads from one to the other.
 *   lid=N    an InfiniBand port's LID, 1 to 49151 (0xbfff). Without: this user's first free one,
 *            which one NIC may have.
 *   numa=N   the NUMA node that sysfs names, one of this machine's. Without: none.
 *   ece=own  connections agree by ECE on what software NICs can do [abi/ece.h], the default.
 *   ece=plain  they do not, and use the port's default: for where cards are, too, to whom those
 *            bits may mean something else.
 *   ahmap=on   address handles can be mapped to queue pairs, the default; ahmap=off: as on cards
 *            whose firmware does not know how.
 *   cc=dcqcn congestion control of what nobody has chosen another for: DCQCN, the default.
 *   cc=rtt   by round trips.   cc=none  none.
 */
#ifndef SOFT_CONFIG_H
#define SOFT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SOFT_NIC_MAX = 16,
	SOFT_NAME_BYTES = 32, /* with its NUL */
	SOFT_ADDRESS_BYTES = 46, /* of an IPv6 address */
};

struct soft_nic {
	char name[SOFT_NAME_BYTES];
	char address[SOFT_ADDRESS_BYTES]; /* "": choose one */
	bool infiniband;
	uint16_t lid; /* of an InfiniBand port; 0: choose one */
	int numa_node; /* -1: none */
	bool ece_plain; /* offers only what any card does */
	bool ah_map_off; /* has no objects that map address handles */
	uint8_t cc_algorithm; /* enum nic_cc_algorithm */
};

struct soft_config {
	struct soft_nic nics[SOFT_NIC_MAX];
	unsigned int count;
};

/*
 * soft_config_parse - the NICs that text (NULL: RIG5_SOFT is not set) names.
 * 0 and *config, or -EINVAL with a sentence in why that says what is wrong and what to write
 * instead.
 */
int soft_config_parse(const char *text, struct soft_config *config, char *why, size_t why_size);

/* soft_config_find - the NIC called name (NULL: the first), or NULL. */
const struct soft_nic *soft_config_find(const struct soft_config *config, const char *name);

#endif
