/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kern/nldev.h - what the kernel answers on a socket of NETLINK_RDMA: which devices and ports there
 * are, and what their device files are called. rdma-core asks it before it looks into sysfs, and
 * iproute2's `rdma` asks nothing else.
 *
 * Pure: a request's bytes and the list of devices in, the answer's bytes out. Requests are hostile:
 * whatever they say, the answer is well formed. Only what tells of devices is answered; what
 * changes them, or lists their objects, is -EOPNOTSUPP.
 */
#ifndef KERN_NLDEV_H
#define KERN_NLDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NLDEV_DEVICES_MAX = 32,
	NLDEV_PORTS_MAX = 2,
	NLDEV_NAME_BYTES = 64,
	NLDEV_REQUEST_BYTES_MAX = 8192,
	NLDEV_MESSAGE_BYTES_MAX = 1024, /* of one message of an answer */
	NLDEV_DRIVER_MLX5 = 1,          /* [uapi ib_user_ioctl_verbs.h] */
};

struct nldev_port {
	uint8_t state;
	uint8_t phys_state;
	bool infiniband; /* it has what follows, up to lmc */
	uint64_t cap_flags;
	uint64_t subnet_prefix;
	uint32_t lid;
	uint32_t sm_lid;
	uint8_t lmc;
	uint32_t netdev_index; /* 0: it has none */
	char netdev[NLDEV_NAME_BYTES];
};

struct nldev_device {
	uint32_t index;
	char name[NLDEV_NAME_BYTES];
	char fw_version[NLDEV_NAME_BYTES]; /* "": not told */
	uint64_t cap_flags;
	uint64_t node_guid; /* as a number, its first byte the highest */
	uint64_t sys_image_guid;
	uint8_t node_type;
	uint32_t port_count;
	struct nldev_port ports[NLDEV_PORTS_MAX];
	/* Its verbs file; no name: there is none. */
	char uverbs[NLDEV_NAME_BYTES];
	uint32_t uverbs_major;
	uint32_t uverbs_minor;
	uint64_t uverbs_abi;
	uint32_t driver; /* 0: not told */
};

struct nldev {
	uint32_t count;
	struct nldev_device devices[NLDEV_DEVICES_MAX];
};

/*
 * nldev_answer - what comes back for request, of len bytes, on the socket portid: netlink messages
 * one after another, each of at most NLDEV_MESSAGE_BYTES_MAX. Returns how many bytes of out they
 * took; what does not fit into size any more is left out.
 */
size_t nldev_answer(const struct nldev *nldev, const uint8_t *request, size_t len, uint32_t portid,
		    uint8_t *out, size_t size);

#endif
