/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rule.c - CREATE_FLOW: rules that bring Ethernet frames to raw packet queue pairs, from the list
 * of specifications that verbs describe them by. What is checked, and in which order: [linux
 * uverbs_cmd.c ib_uverbs_ex_create_flow].
 */
#include "kern/state.h"

#include <string.h>

enum {
	SPECS_MAX = 10,
	REQUEST_BYTES_MAX = 1024,   /* more than so many specifications have */
	PRIORITY_DEFAULT = 1 << 16, /* of the rules that take the rest: behind all others */
	PROTO_TCP = 6,
	PROTO_UDP = 17,
};

static void take_eth(const uint8_t *part, struct nic_frame *frame)
{
	struct ib_uverbs_flow_eth_filter eth;

	memcpy(&eth, part, sizeof(eth));
	memcpy(frame->dst_mac, eth.dst_mac, sizeof(frame->dst_mac));
	memcpy(frame->src_mac, eth.src_mac, sizeof(frame->src_mac));
	memcpy(frame->ether_type, &eth.ether_type, sizeof(frame->ether_type));
	memcpy(frame->vlan_tag, &eth.vlan_tag, sizeof(frame->vlan_tag));
}

static void take_ipv4(const uint8_t *part, struct nic_frame *frame)
{
	struct ib_uverbs_flow_ipv4_filter ip;

	memcpy(&ip, part, sizeof(ip));
	memcpy(frame->src_ip, &ip.src_ip, sizeof(ip.src_ip));
	memcpy(frame->dst_ip, &ip.dst_ip, sizeof(ip.dst_ip));
	frame->proto = ip.proto;
	frame->tos = ip.tos;
	frame->ttl = ip.ttl;
	frame->ip_flags = ip.flags;
}

static void take_ipv6(const uint8_t *part, struct nic_frame *frame)
{
	struct ib_uverbs_flow_ipv6_filter ip;

	memcpy(&ip, part, sizeof(ip));
	memcpy(frame->src_ip, ip.src_ip, sizeof(ip.src_ip));
	memcpy(frame->dst_ip, ip.dst_ip, sizeof(ip.dst_ip));
	memcpy(frame->flow_label, &ip.flow_label, sizeof(frame->flow_label));
	frame->proto = ip.next_hdr;
	frame->tos = ip.traffic_class;
	frame->ttl = ip.hop_limit;
}

static void take_ports(const uint8_t *part, struct nic_frame *frame)
{
	struct ib_uverbs_flow_tcp_udp_filter ports;

	memcpy(&ports, part, sizeof(ports));
	memcpy(frame->dst_port, &ports.dst_port, sizeof(frame->dst_port));
	memcpy(frame->src_port, &ports.src_port, sizeof(frame->src_port));
}

static const struct row {
	uint32_t type;
	size_t part_bytes;
	void (*take)(const uint8_t *part, struct nic_frame *frame);
	uint8_t ip_version; /* that it speaks of; 0: of any */
	uint8_t proto;      /* likewise */
} rows[] = {
    {UV_FLOW_SPEC_ETH, sizeof(struct ib_uverbs_flow_eth_filter), take_eth, 0, 0},
    {UV_FLOW_SPEC_IPV4, sizeof(struct ib_uverbs_flow_ipv4_filter), take_ipv4, 4, 0},
    {UV_FLOW_SPEC_IPV6, sizeof(struct ib_uverbs_flow_ipv6_filter), take_ipv6, 6, 0},
    {UV_FLOW_SPEC_TCP, sizeof(struct ib_uverbs_flow_tcp_udp_filter), take_ports, 0, PROTO_TCP},
    {UV_FLOW_SPEC_UDP, sizeof(struct ib_uverbs_flow_tcp_udp_filter), take_ports, 0, PROTO_UDP},
};

static const struct row *row_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

/* The specification at the start of `left` bytes; its length, or -errno. */
static int take_spec(const uint8_t *at, size_t left, struct nic_rule *rule)
{
	struct ib_uverbs_flow_spec_hdr header;
	const struct row *row;

	if (left < sizeof(header))
		return -EINVAL;
	memcpy(&header, at, sizeof(header));
	if (header.reserved || header.size < sizeof(header) || header.size > left)
		return -EINVAL;
	row = row_of(header.type);
	if (!row)
		return -EOPNOTSUPP;
	if (header.size != sizeof(header) + 2 * row->part_bytes)
		return -EINVAL;
	row->take(at + sizeof(header), &rule->value);
	row->take(at + sizeof(header) + row->part_bytes, &rule->mask);
	if (row->ip_version != 0) {
		rule->value.ip_version = row->ip_version;
		rule->mask.ip_version = 0xff;
	}
	if (row->proto != 0) {
		rule->value.proto = row->proto;
		rule->mask.proto = 0xff;
	}
	return header.size;
}

static int take_specs(const uint8_t *at, const struct ib_uverbs_flow_attr *attr,
		      struct nic_rule *rule)
{
	size_t left = attr->size;

	for (unsigned int i = 0; i < attr->num_of_specs; i++) {
		int bytes = take_spec(at, left, rule);

		if (bytes < 0)
			return bytes;
		at += bytes;
		left -= (size_t)bytes;
	}
	return left != 0 ? -EINVAL : 0;
}

/* What kind of rule: the given one, or what takes all frames, or all to groups, that no other
 * takes. */
static int take_type(const struct ib_uverbs_flow_attr *attr, struct nic_rule *rule)
{
	switch (attr->type) {
	case UV_FLOW_NORMAL:
		rule->priority = attr->priority;
		return attr->num_of_specs == 0 ? -EINVAL : 0;
	case UV_FLOW_MC_DEFAULT:
		rule->value.dst_mac[0] = rule->mask.dst_mac[0] = 1;
		rule->priority = PRIORITY_DEFAULT;
		break;
	case UV_FLOW_ALL_DEFAULT:
		rule->priority = PRIORITY_DEFAULT + 1;
		break;
	default:
		return -EOPNOTSUPP;
	}
	return attr->num_of_specs != 0 ? -EINVAL : 0;
}

static int check(const struct ib_uverbs_create_flow *req, size_t len)
{
	const struct ib_uverbs_flow_attr *attr = &req->flow_attr;

	if (req->comp_mask || attr->num_of_specs > SPECS_MAX || attr->reserved[0] ||
	    attr->reserved[1] || attr->size > len - sizeof(*req) || attr->port != KERN_PORT)
		return -EINVAL;
	return attr->flags ? -EOPNOTSUPP : 0;
}

/* mlx5's part: counters, which are not there. */
static int check_driver_part(struct kern_call *call)
{
	struct mlx5_ib_create_flow driver;
	int error;

	if (kern_call_len(call, UVERBS_ATTR_UHW_IN) == 0)
		return 0;
	error = kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, &driver, sizeof(driver));
	if (error)
		return error;
	return driver.ncounters_data || driver.reserved ? -EOPNOTSUPP : 0;
}

static int make_flow(struct kern_call *call, struct kern_object *qp, struct nic_rule *rule)
{
	struct kern_object *flow = kern_object_create(call->file, KERN_FLOW);
	int error;

	if (!flow)
		return -ENOMEM;
	rule->qpn = qp->number;
	rule->tirn = qp->tirn;
	error = nic_rule_create(call->kern->nic, rule, &flow->number);
	if (error) {
		kern_object_drop(flow);
		return error;
	}
	kern_object_use(flow, 0, qp);
	call->new_object = flow;
	return 0;
}

int kern_write_create_flow(struct kern_call *call)
{
	struct nic_rule rule = {.qpn = 0};
	struct ib_uverbs_create_flow_resp resp = {.comp_mask = 0};
	struct ib_uverbs_create_flow req;
	uint8_t bytes[REQUEST_BYTES_MAX];
	size_t len = kern_call_len(call, UVERBS_ATTR_CORE_IN);
	struct kern_object *qp;
	int error;

	if (len > sizeof(bytes))
		return -EINVAL;
	error = kern_call_read(call, UVERBS_ATTR_CORE_IN, bytes, len);
	if (error)
		return error;
	memcpy(&req, bytes, sizeof(req));
	error = check(&req, len);
	if (!error)
		error = check_driver_part(call);
	if (!error && kern_object_find(call->file, req.qp_handle, KERN_QP, &qp))
		error = -EINVAL;
	if (!error && qp->qp_type != NIC_QP_RAW)
		error = qp->qp_type == NIC_QP_UD ? -EOPNOTSUPP : -EINVAL;
	if (!error)
		error = take_type(&req.flow_attr, &rule);
	if (!error)
		error = take_specs(bytes + sizeof(req), &req.flow_attr, &rule);
	if (!error)
		error = make_flow(call, qp, &rule);
	if (error)
		return error;
	resp.flow_handle = kern_object_handle(call->new_object);
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}
