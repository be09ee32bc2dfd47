/* SPDX-License-Identifier: BSD-2-Clause */
/* kern_rig.c - see kern_rig.h. */
#include "tests/support/kern_rig.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the world --------------------------------------------------------------------------------
 */

static bool within(uint64_t va, size_t len, const uint8_t *start, size_t bytes)
{
	return va >= rig_va(start) && va - rig_va(start) <= bytes &&
	       len <= bytes - (va - rig_va(start));
}

/* What an application may register: its memory. */
static bool inside(const struct kern_rig *rig, uint64_t va, size_t len)
{
	return within(va, len, rig->memory, RIG_MEMORY_BYTES);
}

/* What can be reached: that, and a dma-buf that lies elsewhere. */
static bool reachable(const struct kern_rig *rig, uint64_t va, size_t len)
{
	const struct rig_dmabuf *buf = &rig->dmabuf;

	return inside(rig, va, len) ||
	       (buf->fd != 0 && within(va, len, buf->bytes, buf->len_bytes));
}

static void *at(uint64_t va)
{
	return (void *)(uintptr_t)va;
}

/* An access of the NIC to the dma-buf has to be between begin and end. */
static void look_at_dmabuf(struct kern_rig *rig, uint64_t va, size_t len, bool writes)
{
	struct rig_dmabuf *buf = &rig->dmabuf;

	if (buf->fd == 0 || va + len <= rig_va(buf->bytes) ||
	    va >= rig_va(buf->bytes) + buf->len_bytes)
		return;
	if (!buf->open || (writes && !buf->open_writable))
		buf->stray++;
}

static bool mem_read(void *ctx, void *dst, uint64_t va, size_t len)
{
	if (!reachable(ctx, va, len))
		return false;
	look_at_dmabuf(ctx, va, len, false);
	memcpy(dst, at(va), len);
	return true;
}

static bool mem_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	const struct kern_rig *rig = ctx;

	if (!reachable(ctx, va, len) || (rig->unwritable != 0 && va - rig->unwritable < 64))
		return false;
	look_at_dmabuf(ctx, va, len, true);
	memcpy(at(va), src, len);
	return true;
}

static bool mem_load32(void *ctx, uint64_t va, uint32_t *value)
{
	return mem_read(ctx, value, va, sizeof(*value));
}

static bool mem_store32(void *ctx, uint64_t va, uint32_t value)
{
	return mem_write(ctx, va, &value, sizeof(value));
}

static bool mem_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	if (!mem_read(ctx, old, va, sizeof(*old)))
		return false;
	return *old != compare || mem_write(ctx, va, &swap, sizeof(swap));
}

static bool user_probe(void *ctx, uint64_t va, uint64_t len, bool writable)
{
	(void)writable;
	return inside(ctx, va, len);
}

static uint8_t *tx_reserve(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len)
{
	struct kern_rig *rig = ctx;

	(void)path;
	(void)dqpn;
	if (rig->packet_len != 0)
		return NULL; /* one at a time: rig_pump delivers it */
	ASSERT(len <= sizeof(rig->packet));
	rig->packet_len = len;
	return rig->packet;
}

static void tx_commit(void *ctx)
{
	(void)ctx;
}

static void tx_cancel(void *ctx)
{
	struct kern_rig *rig = ctx;

	rig->packet_len = 0;
}

static bool tx_untaken(void *ctx, const struct nic_path *path, uint32_t dqpn)
{
	(void)ctx;
	(void)path;
	(void)dqpn;
	return false;
}

static int qpn_block(void *ctx, uint32_t *block)
{
	struct kern_rig *rig = ctx;

	*block = ++rig->blocks;
	return 0;
}

static void event(void *ctx, const struct nic_event *ev)
{
	struct kern_rig *rig = ctx;

	kern_nic_event(rig->kern, ev);
}

static uint64_t random64(void *ctx)
{
	(void)ctx;
	return 4;
}

/* Descriptors 500 to 599 are files; two with the same last digit are the same one. */
static int file_id(void *ctx, int fd, uint64_t *device, uint64_t *inode)
{
	(void)ctx;
	if (fd < 500 || fd > 599)
		return -EBADF;
	*device = 1;
	*inode = (uint64_t)(fd % 10);
	return 0;
}

static int dmabuf_map(void *ctx, int fd, uint64_t offset, uint64_t len, bool writable, uint64_t *va)
{
	struct rig_dmabuf *buf = &((struct kern_rig *)ctx)->dmabuf;

	if (fd != buf->fd || fd <= 0)
		return -EBADF;
	if (buf->map_error)
		return buf->map_error;
	if (offset > buf->len_bytes || len > buf->len_bytes - offset)
		return -EINVAL;
	buf->maps++;
	buf->map_writable = writable;
	*va = rig_va(buf->bytes) + offset;
	return 0;
}

static void dmabuf_unmap(void *ctx, uint64_t va)
{
	struct rig_dmabuf *buf = &((struct kern_rig *)ctx)->dmabuf;

	ASSERT(buf->maps != 0 && va - rig_va(buf->bytes) < buf->len_bytes);
	buf->maps--;
}

static bool sync_begin(void *ctx, uint64_t host_va, bool writable)
{
	struct rig_dmabuf *buf = &((struct kern_rig *)ctx)->dmabuf;

	ASSERT(!buf->open && host_va - rig_va(buf->bytes) < buf->len_bytes);
	if (buf->unreachable)
		return false;
	buf->open = true;
	buf->open_writable = writable;
	if (writable)
		buf->begins_writable++;
	else
		buf->begins++;
	return true;
}

static void sync_end(void *ctx, uint64_t host_va, bool writable)
{
	struct rig_dmabuf *buf = &((struct kern_rig *)ctx)->dmabuf;

	ASSERT(buf->open && buf->open_writable == writable);
	ASSERT(host_va - rig_va(buf->bytes) < buf->len_bytes);
	buf->open = false;
	buf->ends++;
}

static struct rig_channel *channel_at(struct kern_rig *rig, struct kern_channel *channel)
{
	struct rig_channel *found = &rig->channels[kern_channel_slot(channel)];

	ASSERT(found->open && found->kern == channel);
	return found;
}

static int channel_open(void *ctx, struct kern_channel *channel)
{
	struct kern_rig *rig = ctx;
	uint32_t slot = kern_channel_slot(channel);

	if (rig->channel_error)
		return rig->channel_error;
	if (slot >= RIG_CHANNELS)
		return -EMFILE;
	ASSERT(!rig->channels[slot].open);
	rig->channels[slot] = (struct rig_channel){.kern = channel, .open = true};
	return RIG_FD_FIRST + (int)slot;
}

static struct kern_channel *channel_of(void *ctx, int fd)
{
	struct kern_rig *rig = ctx;

	if (fd < RIG_FD_FIRST || fd >= RIG_FD_FIRST + RIG_CHANNELS)
		return NULL;
	return rig->channels[fd - RIG_FD_FIRST].open ? rig->channels[fd - RIG_FD_FIRST].kern : NULL;
}

static void channel_send(void *ctx, struct kern_channel *channel, const void *record, size_t len)
{
	struct rig_channel *to = channel_at(ctx, channel);

	if (to->count == RIG_RECORDS && ((struct kern_rig *)ctx)->loses_records)
		return;
	ASSERT(to->count < RIG_RECORDS && len <= KERN_RECORD_BYTES_MAX);
	if (len > RIG_RECORD_BYTES)
		len = RIG_RECORD_BYTES; /* what a short read would get */
	memcpy(to->records[to->count], record, len);
	to->lens[to->count++] = (uint16_t)len;
}

static uint32_t channel_withdraw(void *ctx, struct kern_channel *channel, uint64_t handle)
{
	struct rig_channel *from = channel_at(ctx, channel);
	unsigned int kept = 0, count = from->count;

	for (unsigned int i = 0; i < count; i++) {
		if (memcmp(from->records[i], &handle, sizeof(handle)) == 0)
			continue;
		memmove(from->records[kept], from->records[i], RIG_RECORD_BYTES);
		from->lens[kept++] = from->lens[i];
	}
	from->count = kept;
	return count - kept;
}

static void channel_close(void *ctx, struct kern_channel *channel)
{
	channel_at(ctx, channel)->open = false;
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT(memory != MAP_FAILED);
	return memory;
}

static const struct nic_config limits = {
    .qp_count_max = 4096,
    .cq_count_max = 64,
    .mkey_count_max = 64,
    .pd_count_max = 64,
    .srq_count_max = 64,
    .xrcd_count_max = 4,
    .dc_responder_count_max = 16,
    .mtu_max_bytes = 4096,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 30,
};

static void rig_open(struct kern_rig *rig, bool infiniband)
{
	static const uint8_t gids[2][16] = {
	    {[10] = 0xff, 0xff, 127, 0, 0, 1},
	    {0xfe, 0x80, [8] = 0x02, 0, 0, 0x5e, 0xfe, 0x7f, 0, 1},
	};

	memset(rig, 0, sizeof(*rig));
	rig->memory = map(RIG_MEMORY_BYTES);
	rig->pages = map((RIG_PAGES_ALL + KERN_CLOCK_PAGES) * 4096);
	rig->nic_env = (struct nic_env){.ctx = rig,
					.mem_read = mem_read,
					.mem_write = mem_write,
					.mem_load32 = mem_load32,
					.mem_store32 = mem_store32,
					.mem_cas64 = mem_cas64,
					.tx_reserve = tx_reserve,
					.tx_commit = tx_commit,
					.tx_cancel = tx_cancel,
					.tx_untaken = tx_untaken,
					.qpn_block = qpn_block,
					.event = event,
					.sync_begin = sync_begin,
					.sync_end = sync_end};
	rig->kern_env = (struct kern_env){.ctx = rig,
					  .user_read = mem_read,
					  .user_write = mem_write,
					  .user_probe = user_probe,
					  .random = random64,
					  .channel_open = channel_open,
					  .channel_of = channel_of,
					  .channel_send = channel_send,
					  .channel_withdraw = channel_withdraw,
					  .channel_close = channel_close,
					  .file_id = file_id,
					  .dmabuf_map = dmabuf_map,
					  .dmabuf_unmap = dmabuf_unmap};
	rig->config = (struct kern_config){.ibdev_name = "soft0",
					   .uverbs_minor = KERN_UVERBS_MINOR,
					   .uverbs_name = "uverbs0",
					   .fw_version = "16.35.2000",
					   .gid_count = 1,
					   .mtu_bytes = 4096,
					   .node_guid = UINT64_C(0x0200005efe7f0001),
					   .netdev = "lo",
					   .message_max_bytes_log2 = 30,
					   .device_pages = rig->pages,
					   .device_page_count = RIG_PAGES_ALL + KERN_CLOCK_PAGES,
					   .wall_clock_ns = RIG_WALL_CLOCK_NS,
					   .limits = limits};
	memcpy(rig->config.gids[0], gids[infiniband], sizeof(gids[0]));
	if (infiniband) {
		rig->config.link_infiniband = true;
		rig->config.lid = rig->config.limits.lid = RIG_LID;
		rig->config.netdev = NULL;
	}
	rig->nic_arena = map(nic_arena_bytes(&limits));
	rig->kern_arena = map(kern_arena_bytes(&rig->config));
	rig->nic = nic_init(rig->nic_arena, &rig->config.limits, &rig->nic_env, 1);
	rig->kern = kern_init(rig->kern_arena, &rig->config, &rig->kern_env, rig->nic);
	rig->now_ns = 1000000;
	ASSERT(kern_open(rig->kern, &rig->file) == 0);
}

void kern_rig_open(struct kern_rig *rig)
{
	rig_open(rig, false);
}

void kern_rig_open_infiniband(struct kern_rig *rig)
{
	rig_open(rig, true);
}

void kern_rig_close(struct kern_rig *rig)
{
	if (rig->file)
		kern_close(rig->file, rig->now_ns);
	nic_check(rig->nic);
	munmap(rig->nic_arena, nic_arena_bytes(&rig->config.limits));
	munmap(rig->kern_arena, kern_arena_bytes(&rig->config));
	munmap(rig->pages, (RIG_PAGES_ALL + KERN_CLOCK_PAGES) * 4096);
	munmap(rig->memory, RIG_MEMORY_BYTES);
}

void kern_rig_over(struct kern_rig *rig, int (*ioctl)(void *ctx, unsigned long request, void *arg),
		   void *ctx)
{
	static const uint8_t gid[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1};

	memset(rig, 0, sizeof(*rig));
	rig->memory = map(RIG_MEMORY_BYTES);
	rig->ioctl = ioctl;
	rig->ioctl_ctx = ctx;
	memcpy(rig->config.gids[0], gid, sizeof(gid));
}

void kern_rig_over_close(struct kern_rig *rig)
{
	munmap(rig->memory, RIG_MEMORY_BYTES);
}

void *rig_alloc(struct kern_rig *rig, size_t size)
{
	void *memory = rig->memory + rig->memory_used;

	rig->memory_used += (size + 63) & ~(size_t)63;
	ASSERT(rig->memory_used <= RIG_MEMORY_BYTES);
	memset(memory, 0, size);
	return memory;
}

uint64_t rig_va(const void *memory)
{
	return (uintptr_t)memory;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

void rig_call(struct kern_rig *rig, uint16_t object, uint16_t method)
{
	rig->hdr = rig_alloc(rig, uv_hdr_bytes(RIG_ATTRS));
	rig->attrs = rig->hdr->attrs;
	rig->hdr->object_id = object;
	rig->hdr->method_id = method;
	rig->hdr->driver_id = RDMA_DRIVER_MLX5;
}

struct ib_uverbs_attr *rig_attr(struct kern_rig *rig, uint16_t id, uint64_t data, uint16_t len)
{
	struct ib_uverbs_attr *attr = &rig->attrs[rig->hdr->num_attrs++];

	ASSERT(rig->hdr->num_attrs <= RIG_ATTRS);
	*attr = (struct ib_uverbs_attr){
	    .attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY, .data = data};
	return attr;
}

void rig_in(struct kern_rig *rig, uint16_t id, const void *src, uint16_t len)
{
	uint64_t data = 0;

	if (len > UV_INLINE_MAX_BYTES) {
		void *copy = rig_alloc(rig, len);

		memcpy(copy, src, len);
		data = rig_va(copy);
	} else {
		memcpy(&data, src, len);
	}
	rig_attr(rig, id, data, len);
}

void rig_in64(struct kern_rig *rig, uint16_t id, uint64_t value)
{
	rig_in(rig, id, &value, sizeof(value));
}

void rig_in32(struct kern_rig *rig, uint16_t id, uint32_t value)
{
	rig_in(rig, id, &value, sizeof(value));
}

void *rig_out(struct kern_rig *rig, uint16_t id, uint16_t len)
{
	void *buf = rig_alloc(rig, len);

	memset(buf, 0xee, len);
	rig_attr(rig, id, rig_va(buf), len);
	return buf;
}

int rig_run(struct kern_rig *rig)
{
	rig->hdr->length = (uint16_t)uv_hdr_bytes(rig->hdr->num_attrs);
	if (rig->before_run)
		rig->before_run(rig);
	if (rig->ioctl)
		return rig->ioctl(rig->ioctl_ctx, RDMA_VERBS_IOCTL, rig->hdr);
	return kern_ioctl(rig->file, RDMA_VERBS_IOCTL, rig_va(rig->hdr), rig->now_ns);
}

static const struct ib_uverbs_attr *find(const struct kern_rig *rig, uint16_t id)
{
	for (unsigned int i = 0; i < rig->hdr->num_attrs; i++)
		if (rig->attrs[i].attr_id == id)
			return &rig->attrs[i];
	return NULL;
}

uint64_t rig_data(const struct kern_rig *rig, uint16_t id)
{
	const struct ib_uverbs_attr *attr = find(rig, id);

	return attr ? attr->data : 0;
}

bool rig_is_valid(const struct kern_rig *rig, uint16_t id)
{
	const struct ib_uverbs_attr *attr = find(rig, id);

	return attr && attr->flags & UVERBS_ATTR_F_VALID_OUTPUT;
}

int rig_write(struct kern_rig *rig, uint32_t cmd, const void *req, uint16_t req_len, void *resp,
	      uint16_t resp_len, void *uhw_out, uint16_t uhw_len)
{
	void *resp_at = NULL, *uhw_at = NULL;
	int error;

	rig_call(rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(rig, UVERBS_ATTR_WRITE_CMD, cmd);
	rig_in(rig, UVERBS_ATTR_CORE_IN, req, req_len);
	if (resp_len != 0)
		resp_at = rig_out(rig, UVERBS_ATTR_CORE_OUT, resp_len);
	if (uhw_len != 0)
		uhw_at = rig_out(rig, UVERBS_ATTR_UHW_OUT, uhw_len);
	error = rig_run(rig);
	if (!error && resp)
		memcpy(resp, resp_at, resp_len);
	if (!error && uhw_out)
		memcpy(uhw_out, uhw_at, uhw_len);
	return error;
}

/* ---- traffic ----------------------------------------------------------------------------------
 */

static void deliver(struct kern_rig *rig)
{
	uint8_t copy[sizeof(rig->packet)];
	struct nic_rx rx = {.bth = copy, .len_bytes = rig->packet_len};

	memcpy(copy, rig->packet, rig->packet_len);
	rig->packet_len = 0;
	nic_rx(rig->nic, &rx, rig->now_ns);
}

void rig_pump(struct kern_rig *rig)
{
	const struct nic_budget budget = {.packets = 64, .bytes = 1 << 18};
	enum nic_more more;

	kern_notice(rig->kern, rig->now_ns);
	do {
		more = nic_run(rig->nic, &budget, rig->now_ns);
		if (rig->packet_len == 0)
			continue;
		deliver(rig);
		more = NIC_BUSY;
	} while (more != NIC_IDLE);
}
