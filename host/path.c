/* SPDX-License-Identifier: BSD-2-Clause */
/* path.c - a path, there and back. */
#include "host/path.h"

#include <string.h>

struct shm_path host_path_pack(const struct nic_path *path)
{
	struct shm_path to = {.flow_label = path->flow_label,
			      .dlid = path->dlid,
			      .slid = path->slid,
			      .sl = path->sl,
			      .traffic_class = path->traffic_class,
			      .hop_limit = path->hop_limit};

	memcpy(to.dgid, path->dgid, sizeof(to.dgid));
	memcpy(to.sgid, path->sgid, sizeof(to.sgid));
	return to;
}

struct nic_path host_path_unpack(const struct shm_path *from)
{
	struct nic_path path = {.traffic_class = from->traffic_class,
				.hop_limit = from->hop_limit,
				.sl = from->sl,
				.dlid = from->dlid,
				.slid = from->slid,
				.flow_label = from->flow_label,
				.datagram = true};

	memcpy(path.dgid, from->dgid, sizeof(path.dgid));
	memcpy(path.sgid, from->sgid, sizeof(path.sgid));
	return path;
}
