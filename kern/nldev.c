/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nldev.c - see nldev.h. Which attributes an answer has, and in which order: [linux infiniband
 * core/nldev.c]; how requests are taken apart and acknowledged: [linux infiniband core/netlink.c].
 */
#include "kern/nldev.h"

#include <linux/errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

enum {
	NETNS_SHARED = 1,
	COPIES_ON_FORK = 1, /* the NIC reads a process's memory as that process sees it */
	TYPES_MAX = RDMA_NLDEV_ATTR_MAX,
};

/* ---- writing ----------------------------------------------------------------------------------
 */

struct writer {
	uint8_t *out;
	size_t size;
	size_t used;
	size_t start; /* of the message that is being written */
	bool full;
	struct nlmsghdr request; /* that is being answered */
	uint32_t portid;
};

static void *room(struct writer *w, size_t bytes)
{
	size_t padded = NLMSG_ALIGN(bytes);
	uint8_t *at = w->out + w->used;

	if (w->full || padded > w->size - w->used) {
		w->full = true;
		return NULL;
	}
	memset(at, 0, padded);
	w->used += padded;
	return at;
}

static void begin(struct writer *w, uint16_t type, uint16_t flags)
{
	struct nlmsghdr header = {.nlmsg_type = type,
				  .nlmsg_flags = flags,
				  .nlmsg_seq = w->request.nlmsg_seq,
				  .nlmsg_pid = w->portid};
	void *at;

	w->start = w->used;
	at = room(w, sizeof(header));
	if (at)
		memcpy(at, &header, sizeof(header));
}

/* The message is whole, or it is none. */
static void end(struct writer *w)
{
	uint32_t len = (uint32_t)(w->used - w->start);

	if (w->full)
		w->used = w->start;
	else
		memcpy(w->out + w->start, &len, sizeof(len));
}

static void put(struct writer *w, uint16_t type, const void *value, size_t bytes)
{
	struct nlattr attr = {.nla_len = (uint16_t)(NLA_HDRLEN + bytes), .nla_type = type};
	uint8_t *at = room(w, NLA_HDRLEN + bytes);

	if (!at)
		return;
	memcpy(at, &attr, sizeof(attr));
	memcpy(at + NLA_HDRLEN, value, bytes);
}

static void put_u8(struct writer *w, uint16_t type, uint8_t value)
{
	put(w, type, &value, sizeof(value));
}

static void put_u32(struct writer *w, uint16_t type, uint32_t value)
{
	put(w, type, &value, sizeof(value));
}

static void put_u64(struct writer *w, uint16_t type, uint64_t value)
{
	put(w, type, &value, sizeof(value));
}

static void put_str(struct writer *w, uint16_t type, const char *text)
{
	char copy[NLDEV_NAME_BYTES] = "";
	size_t len = 0;

	for (; len < sizeof(copy) - 1 && text[len]; len++)
		copy[len] = text[len];
	put(w, type, copy, len + 1);
}

/* The answer's last message: an error, or that all is done. */
static void put_error(struct writer *w, int error, const uint8_t *request)
{
	size_t bytes = error ? w->request.nlmsg_len : sizeof(struct nlmsghdr);
	bool capped = error && bytes > NLDEV_MESSAGE_BYTES_MAX / 2;
	uint8_t *at;

	if (capped)
		bytes = sizeof(struct nlmsghdr);
	begin(w, NLMSG_ERROR, capped || !error ? NLM_F_CAPPED : 0);
	at = room(w, sizeof(error) + bytes);
	if (at) {
		memcpy(at, &error, sizeof(error));
		memcpy(at + sizeof(error), request, bytes);
	}
	end(w);
}

static void put_done(struct writer *w, int error)
{
	void *at;

	begin(w, NLMSG_DONE, NLM_F_MULTI);
	at = room(w, sizeof(error));
	if (at)
		memcpy(at, &error, sizeof(error));
	end(w);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* What a request asks for. */
struct asked {
	bool has_device;
	uint32_t device;
	bool has_port;
	uint32_t port;
	char chardev[NLDEV_NAME_BYTES]; /* "": not said */
};

static int read_u32(const uint8_t *value, size_t bytes, uint32_t *number, bool *has)
{
	if (bytes < sizeof(*number))
		return -ERANGE;
	memcpy(number, value, sizeof(*number));
	*has = true;
	return 0;
}

static int read_str(const uint8_t *value, size_t bytes, char text[static NLDEV_NAME_BYTES])
{
	for (size_t i = 0; i < bytes && i < NLDEV_NAME_BYTES; i++) {
		text[i] = (char)value[i];
		if (value[i] == '\0')
			return 0;
	}
	return bytes < NLDEV_NAME_BYTES ? -EINVAL : -ERANGE;
}

static int read_one(uint16_t type, const uint8_t *value, size_t bytes, struct asked *asked)
{
	switch (type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		return read_u32(value, bytes, &asked->device, &asked->has_device);
	case RDMA_NLDEV_ATTR_PORT_INDEX:
		return read_u32(value, bytes, &asked->port, &asked->has_port);
	case RDMA_NLDEV_ATTR_CHARDEV_TYPE:
		return read_str(value, bytes, asked->chardev);
	}
	return 0;
}

/* What the attributes in these bytes say; one that is cut off ends them, as in the kernel. */
static int read_asked(const uint8_t *at, size_t left, struct asked *asked)
{
	*asked = (struct asked){0};
	while (left >= NLA_HDRLEN) {
		struct nlattr attr;
		size_t step;
		int error;

		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > left)
			return 0;
		error = read_one(attr.nla_type & NLA_TYPE_MASK, at + NLA_HDRLEN,
				 attr.nla_len - NLA_HDRLEN, asked);
		if (error)
			return error;
		step = NLA_ALIGN(attr.nla_len);
		if (step > left)
			return 0;
		at += step;
		left -= step;
	}
	return 0;
}

static const struct nldev_device *find(const struct nldev *nldev, const struct asked *asked)
{
	for (uint32_t i = 0; asked->has_device && i < nldev->count; i++)
		if (nldev->devices[i].index == asked->device)
			return &nldev->devices[i];
	return NULL;
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void put_handle(struct writer *w, const struct nldev_device *device)
{
	put_u32(w, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	put_str(w, RDMA_NLDEV_ATTR_DEV_NAME, device->name);
}

static void put_device(struct writer *w, const struct nldev_device *device, uint16_t flags)
{
	bool infiniband = device->port_count != 0 && device->ports[0].infiniband;

	begin(w, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), flags);
	put_handle(w, device);
	put_u32(w, RDMA_NLDEV_ATTR_PORT_INDEX, device->port_count);
	put_u64(w, RDMA_NLDEV_ATTR_CAP_FLAGS, device->cap_flags);
	if (device->fw_version[0])
		put_str(w, RDMA_NLDEV_ATTR_FW_VERSION, device->fw_version);
	put_u64(w, RDMA_NLDEV_ATTR_NODE_GUID, device->node_guid);
	put_u64(w, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, device->sys_image_guid);
	put_u8(w, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, device->node_type);
	put_u8(w, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	put_str(w, RDMA_NLDEV_ATTR_DEV_PROTOCOL, infiniband ? "ib" : "roce");
	end(w);
}

static void put_port(struct writer *w, const struct nldev_device *device, uint32_t number,
		     uint16_t flags)
{
	const struct nldev_port *port = &device->ports[number - 1];

	begin(w, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET), flags);
	put_handle(w, device);
	put_u32(w, RDMA_NLDEV_ATTR_PORT_INDEX, number);
	if (port->infiniband) {
		put_u64(w, RDMA_NLDEV_ATTR_CAP_FLAGS, port->cap_flags);
		put_u64(w, RDMA_NLDEV_ATTR_SUBNET_PREFIX, port->subnet_prefix);
		put_u32(w, RDMA_NLDEV_ATTR_LID, port->lid);
		put_u32(w, RDMA_NLDEV_ATTR_SM_LID, port->sm_lid);
		put_u8(w, RDMA_NLDEV_ATTR_LMC, port->lmc);
	}
	put_u8(w, RDMA_NLDEV_ATTR_PORT_STATE, port->state);
	put_u8(w, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, port->phys_state);
	if (port->netdev_index != 0) {
		put_u32(w, RDMA_NLDEV_ATTR_NDEV_INDEX, port->netdev_index);
		put_str(w, RDMA_NLDEV_ATTR_NDEV_NAME, port->netdev);
	}
	end(w);
}

static int get_device(struct writer *w, const struct nldev *nldev, const struct asked *asked)
{
	const struct nldev_device *device = find(nldev, asked);

	if (!device)
		return -EINVAL;
	put_device(w, device, 0);
	return 0;
}

static int get_port(struct writer *w, const struct nldev *nldev, const struct asked *asked)
{
	const struct nldev_device *device = find(nldev, asked);

	if (!device || !asked->has_port || asked->port == 0 || asked->port > device->port_count)
		return -EINVAL;
	put_port(w, device, asked->port, 0);
	return 0;
}

static int get_system(struct writer *w, const struct nldev *nldev, const struct asked *asked)
{
	(void)nldev;
	(void)asked;
	begin(w, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET), 0);
	put_u8(w, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_SHARED);
	put_u8(w, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, COPIES_ON_FORK);
	end(w);
	return 0;
}

/* A device number as the kernel packs it into 64 bits. */
static uint64_t packed(uint32_t major, uint32_t minor)
{
	return (minor & 0xff) | (uint64_t)(major & 0xfff) << 8 | (uint64_t)(minor & ~0xffu) << 12;
}

static int get_chardev(struct writer *w, const struct nldev *nldev, const struct asked *asked)
{
	const struct nldev_device *device = find(nldev, asked);

	if (!asked->chardev[0] || (asked->has_device && !device))
		return -EINVAL;
	if (!device || !device->uverbs[0] ||
	    memcmp(asked->chardev, "uverbs", sizeof("uverbs")) != 0)
		return -ENOENT;
	begin(w, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV), 0);
	if (device->driver != 0)
		put_u32(w, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, device->driver);
	put_u64(w, RDMA_NLDEV_ATTR_CHARDEV, packed(device->uverbs_major, device->uverbs_minor));
	put_u64(w, RDMA_NLDEV_ATTR_CHARDEV_ABI, device->uverbs_abi);
	put_str(w, RDMA_NLDEV_ATTR_CHARDEV_NAME, device->uverbs);
	end(w);
	return 0;
}

static int list_devices(struct writer *w, const struct nldev *nldev, const struct asked *asked)
{
	(void)asked;
	for (uint32_t i = 0; i < nldev->count; i++)
		put_device(w, &nldev->devices[i], NLM_F_MULTI);
	return 0;
}

static int list_ports(struct writer *w, const struct nldev *nldev, const struct asked *asked)
{
	const struct nldev_device *device = find(nldev, asked);

	if (!device)
		return -EINVAL;
	for (uint32_t number = 1; number <= device->port_count; number++)
		put_port(w, device, number, NLM_F_MULTI);
	return 0;
}

typedef int answer_fn(struct writer *w, const struct nldev *nldev, const struct asked *asked);

static const struct {
	uint16_t op;
	answer_fn *get;
	answer_fn *list;
} rows[] = {
    {RDMA_NLDEV_CMD_GET, get_device, list_devices},
    {RDMA_NLDEV_CMD_PORT_GET, get_port, list_ports},
    {RDMA_NLDEV_CMD_SYS_GET, get_system, NULL},
    {RDMA_NLDEV_CMD_GET_CHARDEV, get_chardev, NULL},
};

/* One request, whole and of its own length. */
static void answer(struct writer *w, const struct nldev *nldev, const uint8_t *request)
{
	const struct nlmsghdr *header = &w->request;
	uint16_t op = RDMA_NL_GET_OP(header->nlmsg_type);
	int error =
	    RDMA_NL_GET_CLIENT(header->nlmsg_type) == RDMA_NL_NLDEV && op < RDMA_NLDEV_NUM_OPS
		? -EOPNOTSUPP
		: -EINVAL;
	struct asked asked;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool lists = (header->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP && rows[i].list;

		if (error != -EOPNOTSUPP || rows[i].op != op)
			continue;
		error =
		    read_asked(request + NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN, &asked);
		if (!error)
			error =
			    lists ? rows[i].list(w, nldev, &asked) : rows[i].get(w, nldev, &asked);
		if (lists) {
			put_done(w, error);
			return;
		}
		break;
	}
	if (error || header->nlmsg_flags & NLM_F_ACK)
		put_error(w, error, request);
}

size_t nldev_answer(const struct nldev *nldev, const uint8_t *request, size_t len, uint32_t portid,
		    uint8_t *out, size_t size)
{
	struct writer w = {.out = out, .size = size, .portid = portid};

	while (len >= NLMSG_HDRLEN && !w.full) {
		size_t step;

		memcpy(&w.request, request, sizeof(w.request));
		if (w.request.nlmsg_len < NLMSG_HDRLEN || w.request.nlmsg_len > len)
			break;
		/* What is no request, or netlink's own, is only acknowledged. */
		if (!(w.request.nlmsg_flags & NLM_F_REQUEST) ||
		    w.request.nlmsg_type < NLMSG_MIN_TYPE) {
			if (w.request.nlmsg_flags & NLM_F_ACK)
				put_error(&w, 0, request);
		} else {
			answer(&w, nldev, request);
		}
		step = NLMSG_ALIGN(w.request.nlmsg_len);
		if (step > len)
			break;
		request += step;
		len -= step;
	}
	return w.used;
}
