/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * query.c - what the device says of itself: QUERY_DEVICE, QUERY_PORT, the GID table, capabilities.
 *
 * Truth before features: a limit or bit stands here only if the device keeps it. What is not
 * listed is zero.
 */
#include "kern/state.h"

#include <string.h>

enum {
	PORT_WIDTH_4X = 2,
	PORT_SPEED_EDR = 32, /* 25 Gb/s over a lane */
	PORT_SPEED_GBPS = 100,
};

unsigned int kern_mtu_code(uint32_t mtu_bytes)
{
	for (unsigned int code = UV_MTU_256; code <= UV_MTU_4096; code++)
		if (uv_mtu_bytes(code) == mtu_bytes)
			return code;
	return 0;
}

/* "16.35.2000" as the driver packs it: 16 bits each of major, minor and sub-minor [linux mlx5]. */
static uint64_t firmware_version(const char *text)
{
	uint64_t packed = 0, part = 0;

	for (; *text; text++) {
		if (*text == '.') {
			packed = (packed | part) << 16;
			part = 0;
		} else if (*text >= '0' && *text <= '9') {
			part = (part * 10 + (uint64_t)(*text - '0')) & 0xffff;
		}
	}
	return packed | part;
}

/* Pieces of a work request: what is left of the largest WQE after ctrl and address segment. */
static uint32_t sge_max(void)
{
	uint32_t send = (512 - 2 * 16) / 16;
	uint32_t recv = KERN_WQE_RECV_BYTES_MAX / 16;

	return send < recv ? send : recv;
}

uint32_t kern_device_cap_flags(void)
{
	return UV_DEVICE_RC_RNR_NAK_GEN_F | UV_DEVICE_SYS_IMAGE_GUID_F | UV_DEVICE_MEM_WINDOW_F |
	       UV_DEVICE_MEM_MGT_EXTENSIONS_F | UV_DEVICE_MEM_WINDOW_TYPE_2B_F | UV_DEVICE_XRC_F;
}

static struct ib_uverbs_query_device_resp device_facts(const struct kern *kern)
{
	const struct nic_config *limits = &kern->config.limits;

	return (struct ib_uverbs_query_device_resp){
	    .fw_ver = firmware_version(kern->config.fw_version),
	    .node_guid = be64_from(kern->config.node_guid).raw,
	    .sys_image_guid = be64_from(kern->config.node_guid).raw,
	    .max_mr_size = UINT64_MAX,
	    .page_size_cap = 0xfffff000,
	    .vendor_id = KERN_VENDOR_ID,
	    .vendor_part_id = KERN_PART_ID,
	    .max_qp = limits->qp_count_max,
	    .max_qp_wr = KERN_WQEBB_COUNT_MAX,
	    .device_cap_flags = kern_device_cap_flags(),
	    .max_sge = sge_max(),
	    .max_sge_rd = sge_max(),
	    .max_cq = limits->cq_count_max,
	    .max_cqe = (1u << KERN_CQE_COUNT_LOG2_MAX) - 1,
	    .max_mr = limits->mkey_count_max,
	    .max_mw = limits->mkey_count_max,
	    .max_pd = limits->pd_count_max,
	    .max_qp_rd_atom = limits->rd_atomic_max,
	    .max_res_rd_atom = limits->rd_atomic_max * limits->qp_count_max,
	    .max_qp_init_rd_atom = limits->rd_atomic_max,
	    .atomic_cap = UV_ATOMIC_HCA,
	    .max_srq = limits->srq_count_max,
	    .max_srq_wr = KERN_SRQ_WQE_COUNT_MAX - 1,
	    .max_srq_sge = KERN_WQE_RECV_BYTES_MAX / 16 - 1,
	    .max_mcast_grp = NIC_GROUPS_MAX,
	    .max_mcast_qp_attach = NIC_ATTACHMENTS_MAX,
	    .max_total_mcast_qp_attach = NIC_ATTACHMENTS_MAX,
	    .max_ah = KERN_AH_COUNT_MAX,
	    .max_pkeys = KERN_PKEY_TABLE_COUNT,
	    .phys_port_cnt = 1,
	};
}

int kern_write_query_device(struct kern_call *call)
{
	struct ib_uverbs_query_device req;
	struct ib_uverbs_query_device_resp resp;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	resp = device_facts(call->kern);
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* mlx5's own part. */
static int write_device_uhw(struct kern_call *call)
{
	struct mlx5_ib_query_device_resp resp = {
	    .flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD,
	    .dci_streams_caps = {.max_log_num_concurent = KERN_DCI_STREAMS_LOG2_MAX,
				 .max_log_num_errored = KERN_DCI_STREAMS_FAILED_LOG2_MAX},
	};
	size_t in = kern_call_len(call, UVERBS_ATTR_UHW_IN);
	size_t out = kern_call_len(call, UVERBS_ATTR_UHW_OUT);
	uint8_t none;

	kern_rss_mlx5_caps(call->kern, &resp.rss_caps);
	resp.response_length = (uint32_t)(out < sizeof(resp) ? out : sizeof(resp));
	if (out != 0 && out < offsetof(struct mlx5_ib_query_device_resp, tso_caps))
		return -EINVAL;
	if (in != 0 && kern_call_read_exact(call, UVERBS_ATTR_UHW_IN, &none, 0))
		return -EINVAL;
	return kern_call_write(call, UVERBS_ATTR_UHW_OUT, &resp, resp.response_length);
}

/* Nothing is pinned, so whatever a transport does, it does with regions on demand. */
enum {
	ODP_RELIABLE = UV_ODP_SEND_F | UV_ODP_RECV_F | UV_ODP_WRITE_F | UV_ODP_READ_F |
		       UV_ODP_ATOMIC_F | UV_ODP_SRQ_RECV_F,
};
static const struct ib_uverbs_odp_caps odp_caps = {
    .general_caps = UV_ODP_F | UV_ODP_IMPLICIT_F,
    .per_transport_caps = {.rc_odp_caps = ODP_RELIABLE,
			   .uc_odp_caps = UV_ODP_SEND_F | UV_ODP_RECV_F | UV_ODP_WRITE_F,
			   .ud_odp_caps = UV_ODP_SEND_F | UV_ODP_RECV_F | UV_ODP_SRQ_RECV_F},
};

int kern_write_query_device_ex(struct kern_call *call)
{
	struct ib_uverbs_ex_query_device req;
	struct ib_uverbs_ex_query_device_resp resp = {
	    .base = device_facts(call->kern),
	    .odp_caps = odp_caps,
	    .xrc_odp_caps = ODP_RELIABLE,
	    .max_dm_size = kern_dm_bytes_max(call->kern),
	    .timestamp_mask = INT64_MAX,
	    .hca_core_clock = KERN_CLOCK_KHZ,
	};
	size_t out = kern_call_len(call, UVERBS_ATTR_CORE_OUT);
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	if (req.comp_mask || req.reserved)
		return -EINVAL;
	error = write_device_uhw(call);
	if (error)
		return error;
	resp.response_length = (uint32_t)(out < sizeof(resp) ? out : sizeof(resp));
	kern_rss_caps(call->kern, &resp);
	resp.device_cap_flags_ex = resp.base.device_cap_flags;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- the port ---------------------------------------------------------------------------------
 */

static struct ib_uverbs_query_port_resp port_facts(const struct kern *kern)
{
	const struct nic_counters *counters = nic_counters(kern->nic);
	const struct kern_config *config = &kern->config;
	bool ib = config->link_infiniband;

	return (struct ib_uverbs_query_port_resp){
	    .state = UV_PORT_ACTIVE,
	    .phys_state = UV_PORT_PHYS_LINK_UP,
	    .max_mtu = UV_MTU_4096,
	    .active_mtu = (uint8_t)kern_mtu_code(config->mtu_bytes),
	    .gid_tbl_len = KERN_GID_TABLE_COUNT,
	    .port_cap_flags = ib ? 0 : UV_PORT_IP_BASED_GIDS_F,
	    .max_msg_sz = 1u << config->message_max_bytes_log2,
	    .pkey_tbl_len = KERN_PKEY_TABLE_COUNT,
	    .lid = ib ? config->lid : 0,
	    .sm_lid = ib ? config->lid : 0,
	    .max_vl_num = ib,
	    .active_width = PORT_WIDTH_4X,
	    .active_speed = PORT_SPEED_EDR,
	    .bad_pkey_cntr = (uint32_t)counters->rx_drop_pkey,
	    .qkey_viol_cntr = (uint32_t)counters->rx_drop_qkey,
	    .link_layer = ib ? UV_LINK_LAYER_INFINIBAND : UV_LINK_LAYER_ETHERNET,
	    .flags = ib ? 0 : IB_UVERBS_QPF_GRH_REQUIRED,
	};
}

/* A context asks about the port that there is. */
static int check_port(struct kern_call *call, uint16_t attr, uint64_t most)
{
	uint64_t port;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_const(call, attr, most, &port);
	if (error)
		return error;
	return port == KERN_PORT ? 0 : -EINVAL;
}

int kern_query_port(struct kern_call *call)
{
	struct uv_query_port_resp_ex resp = {.legacy_resp = port_facts(call->kern)};
	int error = check_port(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM, UINT8_MAX);

	if (error)
		return error;
	resp.active_speed_ex = resp.legacy_resp.active_speed;
	return kern_call_write(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}

/* In units of 100 Mb/s. */
int kern_query_port_speed(struct kern_call *call)
{
	uint64_t speed = PORT_SPEED_GBPS * 10;
	int error = check_port(call, UV_ATTR_QUERY_PORT_SPEED_PORT_NUM, UINT32_MAX);

	if (error)
		return error;
	return kern_call_write(call, UV_ATTR_QUERY_PORT_SPEED_RESP, &speed, sizeof(speed));
}

/* The second PCI function by which some cards reach a GPU's memory. There is none. */
int kern_mlx5_data_direct_path(struct kern_call *call)
{
	return call->file->context ? -ENODEV : -EINVAL;
}

/* mlx5's own view of a port: its place in a switch inside the card. There is none: all zero. */
int kern_mlx5_query_port(struct kern_call *call)
{
	struct mlx5_ib_uapi_query_port resp = {.flags = 0};
	uint32_t port;
	int error;

	error = kern_call_read(call, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, &port, sizeof(port));
	if (error)
		return error;
	if (!call->file->context || port != KERN_PORT)
		return -EINVAL;
	return kern_call_write(call, MLX5_IB_ATTR_QUERY_PORT, &resp, sizeof(resp));
}

int kern_write_query_port(struct kern_call *call)
{
	struct ib_uverbs_query_port_resp resp = port_facts(call->kern);
	struct ib_uverbs_query_port req;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_read_exact(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));
	if (error)
		return error;
	if (req.port_num != KERN_PORT)
		return -EINVAL;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- GIDs -------------------------------------------------------------------------------------
 */

int kern_gid(const struct kern *kern, uint64_t index, const uint8_t **gid)
{
	if (index >= KERN_GID_TABLE_COUNT)
		return -EINVAL;
	if (index >= kern->config.gid_count)
		return -ENODATA;
	*gid = kern->config.gids[index];
	return 0;
}

static struct ib_uverbs_gid_entry gid_entry(const struct kern *kern, uint32_t index)
{
	struct ib_uverbs_gid_entry entry = {
	    .gid_index = index,
	    .port_num = KERN_PORT,
	    .gid_type =
		kern->config.link_infiniband ? IB_UVERBS_GID_TYPE_IB : IB_UVERBS_GID_TYPE_ROCE_V2,
	};

	memcpy(entry.gid, kern->config.gids[index], sizeof(entry.gid));
	return entry;
}

int kern_query_gid_entry(struct kern_call *call)
{
	struct ib_uverbs_gid_entry entry;
	const uint8_t *gid;
	uint64_t port, index;
	uint32_t flags;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_const(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, UINT32_MAX, &index);
	if (!error)
		error = kern_call_flags(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0, &flags);
	if (!error)
		error = kern_call_const(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, UINT32_MAX, &port);
	if (error)
		return error;
	if (port != KERN_PORT)
		return -EINVAL;
	error = kern_gid(call->kern, index, &gid);
	if (error)
		return error;
	entry = gid_entry(call->kern, (uint32_t)index);
	return kern_call_write(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
}

/* One entry of a table whose entries the application takes for entry_size bytes long. */
static int write_gid_entry(struct kern_call *call, uint64_t va, uint64_t entry_size, uint32_t index)
{
	struct ib_uverbs_gid_entry entry = gid_entry(call->kern, index);
	size_t len = entry_size < sizeof(entry) ? entry_size : sizeof(entry);
	struct kern *kern = call->kern;

	if (!kern->env.user_write(kern->env.ctx, va, &entry, len))
		return -EFAULT;
	return kern_user_zero(kern, va + len, entry_size - len);
}

int kern_query_gid_table(struct kern_call *call)
{
	struct kern_attr *out = kern_call_attr(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	uint64_t size, count = call->kern->config.gid_count;
	uint32_t flags;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_const(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, UINT32_MAX, &size);
	if (!error)
		error = kern_call_flags(call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0, &flags);
	if (error)
		return error;
	if (size == 0 || out->len % size != 0 || out->len / size < count)
		return -EINVAL;
	for (uint32_t index = 0; index < count; index++) {
		error = write_gid_entry(call, out->data + index * size, size, index);
		if (error)
			return error;
	}
	error = kern_call_write(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, NULL, 0);
	if (error)
		return error;
	return kern_call_write(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count,
			       sizeof(count));
}
