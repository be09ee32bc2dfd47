/* SPDX-License-Identifier: BSD-2-Clause */
/* source.c - where a datagram came from, by its completion and what was around the packet. */
#include "lib/lib.h"

#include "abi/roce.h"

#include <string.h>

enum {
	IPV4_AT = ROCE_GRH_BYTES - ROCE_IPV4_BYTES,
	IPV4_SOURCE = IPV4_AT + 12,
	GRH_SOURCE = 8, /* of an IPv6 header, too */
};

int rig_wc_source(const struct rig_wc *wc, const void *grh, struct rig_address *source)
{
	const uint8_t *bytes = grh;
	struct rig_address found = {.link = RIG_LINK_ETHERNET};

	if (!wc || !grh || !source || wc->kind != RIG_WC_RECEIVE || wc->status != RIG_OK)
		return lib_fail(EINVAL, "rig_wc_source: no datagram that arrived, or no place");
	if (wc->source_lid) {
		found.link = RIG_LINK_INFINIBAND;
		found.lid = wc->source_lid;
	} else if (!(wc->flags & RIG_WC_GRH_F)) {
		return lib_fail(EINVAL, "rig_wc_source: this was no datagram");
	}
	if (wc->flags & RIG_WC_IPV4_F) {
		found.gid[10] = found.gid[11] = 0xff;
		memcpy(found.gid + 12, bytes + IPV4_SOURCE, 4);
	} else if (wc->flags & RIG_WC_GRH_F) {
		memcpy(found.gid, bytes + GRH_SOURCE, sizeof(found.gid));
	}
	*source = found;
	return 0;
}
