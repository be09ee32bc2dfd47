/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctx.c - the device's life and its contexts: init, open, GET_CONTEXT, close.
 */
#include "kern/devx.h"
#include "kern/state.h"

#include "base/assert.h"

#include <string.h>

/* ---- the arena --------------------------------------------------------------------------------
 */

static size_t align_up(size_t size)
{
	return (size + 63) & ~(size_t)63;
}

static uint32_t object_slots(const struct kern_config *config)
{
	const struct nic_config *limits = &config->limits;

	return limits->qp_count_max + limits->cq_count_max + limits->mkey_count_max +
	       limits->pd_count_max + limits->srq_count_max + limits->xrcd_count_max +
	       KERN_AH_COUNT_MAX + config->device_page_count + KERN_DEVX_COUNT_MAX + NIC_RULES_MAX;
}

/* Where each table starts; the last is the total. */
struct layout {
	size_t objects;
	size_t xrcds;
	size_t channels;
	size_t pages;
	size_t page_live;
	size_t subscriptions;
	size_t mailbox_in;
	size_t mailbox_out;
	size_t end;
};

static struct layout layout_of(const struct kern_config *config)
{
	struct layout at;

	at.objects = align_up(sizeof(struct kern));
	at.xrcds = at.objects + align_up(object_slots(config) * sizeof(struct kern_object));
	at.channels =
	    at.xrcds + align_up((config->limits.xrcd_count_max + 1) * sizeof(struct kern_xrcd));
	at.pages = at.channels + align_up(KERN_CHANNEL_MAX * sizeof(struct kern_channel));
	at.page_live = at.pages + align_up(config->device_page_count * sizeof(struct kern_page));
	at.subscriptions = at.page_live + align_up(config->device_page_count * sizeof(uint16_t));
	at.mailbox_in = at.subscriptions + align_up(kern_devx_subscription_bytes());
	at.mailbox_out = at.mailbox_in + align_up(KERN_MAILBOX_BYTES);
	at.end = at.mailbox_out + align_up(KERN_MAILBOX_BYTES);
	return at;
}

size_t kern_arena_bytes(const struct kern_config *config)
{
	return layout_of(config).end;
}

struct kern *kern_init(void *arena, const struct kern_config *config, const struct kern_env *env,
		       struct nic *nic)
{
	struct layout at = layout_of(config);
	struct kern *kern = arena;
	uint8_t *base = arena;

	ASSERT(config->limits.qp_count_max != 0);
	ASSERT(config->device_page_count > KERN_CLOCK_PAGES);
	ASSERT(config->device_page_count <= 65536);
	ASSERT(config->gid_count <= sizeof(config->gids) / sizeof(config->gids[0]));
	ASSERT(kern_mtu_code(config->mtu_bytes) != 0);
	kern->config = *config;
	if (config->pci) {
		kern->pci = *config->pci;
		kern->config.pci = &kern->pci;
	}
	kern->env = *env;
	kern->nic = nic;
	for (uint32_t i = 0; i < config->gid_count; i++)
		nic_gid_set(nic, i, config->gids[i]);
	kern->objects = (struct kern_object *)(void *)(base + at.objects);
	kern->object_count = object_slots(config);
	kern->object_free = KERN_NONE;
	kern->xrcds = (struct kern_xrcd *)(void *)(base + at.xrcds);
	kern->channels = (struct kern_channel *)(void *)(base + at.channels);
	kern->pages = (struct kern_page *)(void *)(base + at.pages);
	kern->page_live = (uint16_t *)(void *)(base + at.page_live);
	kern->register_page_count = config->device_page_count - KERN_CLOCK_PAGES;
	kern_clock_init(kern);
	kern->subscriptions = (struct kern_subscription *)(void *)(base + at.subscriptions);
	kern->subscription_free = KERN_NONE;
	kern->mailbox_in = base + at.mailbox_in;
	kern->mailbox_out = base + at.mailbox_out;
	return kern;
}

/* ---- contexts ---------------------------------------------------------------------------------
 */

int kern_open(struct kern *kern, struct kern_file **file)
{
	for (unsigned int i = 0; i < KERN_FILE_MAX; i++) {
		if (kern->files[i].open)
			continue;
		kern->files[i] = (struct kern_file){
		    .kern = kern, .open = true, .newest = KERN_NONE, .subscriptions = KERN_NONE};
		*file = &kern->files[i];
		return 0;
	}
	return -EMFILE;
}

void kern_close(struct kern_file *file, uint64_t now_ns)
{
	struct kern *kern = file->kern;

	kern->now_ns = now_ns;
	ASSERT(file->open);
	while (file->newest != KERN_NONE) {
		struct kern_object *object = &kern->objects[file->newest];
		int error;

		/* What is used waits: a table may have been given queues newer than itself. */
		while (object->users != 0)
			object = &kern->objects[object->older];
		error = kern_object_destroy(object, NULL);
		ASSERT(!error);
	}
	kern_bfregs_destroy(file);
	for (uint32_t slot = 0; slot < kern->channel_fresh; slot++)
		if (kern->channels[slot].file == file)
			kern_channel_destroy(&kern->channels[slot]);
	*file = (struct kern_file){.open = false};
}

/* The request in either of its two lengths [linux mlx5_ib_alloc_ucontext]. */
static int read_context_request(struct kern_call *call, struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	size_t len = kern_call_len(call, UVERBS_ATTR_UHW_IN);

	if (len != sizeof(struct mlx5_ib_alloc_ucontext_req) &&
	    len < offsetof(struct mlx5_ib_alloc_ucontext_req_v2, max_cqe_version))
		return -EINVAL;
	if (kern_call_read(call, UVERBS_ATTR_UHW_IN, req, sizeof(*req)))
		return -EFAULT;
	if (req->flags & ~(uint32_t)MLX5_IB_ALLOC_UCTX_DEVX)
		return -EOPNOTSUPP;
	if (req->comp_mask || req->reserved0 || req->reserved1 || req->reserved2)
		return -EOPNOTSUPP;
	if (req->total_num_bfregs == 0 || req->num_low_latency_bfregs >= req->total_num_bfregs)
		return -EINVAL;
	return 0;
}

static struct mlx5_ib_alloc_ucontext_resp context_response(const struct kern_file *file)
{
	const struct kern *kern = file->kern;

	return (struct mlx5_ib_alloc_ucontext_resp){
	    .qp_tab_size = kern->config.limits.qp_count_max,
	    .bf_reg_size = KERN_BLUEFLAME_BYTES,
	    .tot_bfregs = file->bfreg_count,
	    .cache_line_size = 64,
	    .max_sq_desc_sz = KERN_WQE_SEND_BYTES_MAX,
	    .max_rq_desc_sz = KERN_WQE_RECV_BYTES_MAX,
	    .max_send_wqebb = KERN_WQEBB_COUNT_MAX,
	    .max_recv_wr = KERN_WQEBB_COUNT_MAX,
	    .max_srq_recv_wr = KERN_SRQ_WQE_COUNT_MAX,
	    .num_ports = 1,
	    .comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET |
			 MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE |
			 MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS |
			 MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG,
	    .hca_core_clock_offset = 0,
	    .clock_info_versions = 1u << MLX5_IB_CLOCK_INFO_V1,
	    .cqe_version = file->cqe_version,
	    .cmds_supp_uhw =
		MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
	    .eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
	    .log_uar_size = UV_MLX5_PAGE_BYTES_LOG2,
	    .num_uars_per_page = 1,
	    .num_dyn_bfregs = KERN_DYNAMIC_BFREGS,
	};
}

void kern_inherit(struct kern_file *file)
{
	ASSERT(file->open && !file->context);
	file->context = true;
	file->devx = true;
	file->cqe_version = 1;
}

/* For who was handed the descriptor of a context that exists. */
int kern_query_context(struct kern_call *call)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	uint32_t vectors = KERN_COMP_VECTOR_COUNT;
	uint64_t core_support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_call_write(call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors,
				sizeof(vectors));
	if (!error)
		error = kern_call_write(call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &core_support,
					sizeof(core_support));
	if (error)
		return error;
	resp = context_response(call->file);
	resp.response_length = sizeof(resp);
	return kern_call_write(call, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &resp, sizeof(resp));
}

int kern_get_context(struct kern_call *call)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	struct mlx5_ib_alloc_ucontext_resp resp;
	size_t out = kern_call_len(call, UVERBS_ATTR_UHW_OUT);
	uint32_t vectors = KERN_COMP_VECTOR_COUNT;
	uint64_t core_support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int error;

	if (kern_call_write(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors,
			    sizeof(vectors)) ||
	    kern_call_write(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &core_support,
			    sizeof(core_support)))
		return -EFAULT;
	if (call->file->context)
		return -EINVAL;
	/* Descriptors of capabilities that the device hands out as files: there are none, so these
	 * are not [linux ib_get_ucaps]. */
	if (kern_call_attr(call, UV_ATTR_GET_CONTEXT_FD_ARR))
		return -EINVAL;
	error = read_context_request(call, &req);
	if (error)
		return error;
	if (!(req.lib_caps & MLX5_LIB_CAP_DYN_UAR))
		error = kern_bfregs_create(call->file, req.total_num_bfregs,
					   req.num_low_latency_bfregs);
	if (error)
		return error;
	call->file->cqe_version = req.max_cqe_version != 0;
	resp = context_response(call->file);
	resp.response_length = (uint32_t)(out < sizeof(resp) ? out : sizeof(resp));
	error = kern_call_write(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	if (error) {
		kern_bfregs_destroy(call->file);
		return error;
	}
	call->file->context = true;
	call->file->devx = req.flags & MLX5_IB_ALLOC_UCTX_DEVX;
	return 0;
}
