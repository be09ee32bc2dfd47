/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ioctl_fuzz.c - the kernel's model over a real NIC: sequences of calls with arbitrary headers,
 * attributes and memory, among good calls and good calls with damage, so that objects live; every
 * method that there is, with attributes as its row in the table wants them; and entries of a queue
 * pair that move bytes between ordinary regions and those of a dma-buf.
 *
 * Beyond no crash: a call returns 0 or an error number; nic_check after each; a created handle is
 * another one than those that live; what is in application memory outside of it is not asked for
 * (the rig faults). Each access to the dma-buf lies between begin and end. At the end every object
 * can be closed, and the dma-buf is mapped no more.
 */
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "kern/methods.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/devx_rig.h"
#include "tests/support/kern_rig.h"

enum {
	STEPS_MAX = 60,
	KNOWN = 4,
	SCRATCH_BYTES = 192 * 1024,
	HEADER_ATTRS_MAX = 16,
	METHODS_MAX = 256,
	REGIONS = 4, /* of each kind */
	PLAIN_BYTES = 8192,
	DMABUF_FD = 5,
	DMABUF_BYTES = 4 * 4096,
	SQ_COUNT = 8,
	RQ_COUNT = 16,
};

enum known { KNOWN_PD, KNOWN_UAR, KNOWN_CQ, KNOWN_QP, KNOWN_MR, KNOWN_KINDS };

/* What entries name: regions that were made, and that may be gone. */
struct region {
	uint32_t key;
	uint64_t va, len;
};

static struct kern_rig rig;
static struct fuzz_in in;
static uint32_t known[KNOWN_KINDS][KNOWN];
static uint32_t known_page;
static struct region regions[2 * REGIONS]; /* ordinary ones, dma-bufs */
static struct rig_qp pair;		   /* its own peer */
static struct rig_cq pair_cq;
static uint32_t posted_sends, posted_receives;
static uint8_t dmabuf_bytes[DMABUF_BYTES];

/* An address in or near application memory, or any number. */
static uint64_t address(void)
{
	uint64_t start = rig_va(rig.memory);
	uint8_t kind = fuzz_u8(&in);

	if (kind < 0x80)
		return start + fuzz_u16(&in);
	if (kind < 0xc0)
		return start + RIG_MEMORY_BYTES - fuzz_u8(&in);
	return fuzz_odd(&in);
}

static void damage_attr(struct ib_uverbs_attr *attr)
{
	switch (fuzz_u8(&in) % 6) {
	case 0:
		attr->attr_id = fuzz_u8(&in) & 0x20 ? (uint16_t)(0x1000 + fuzz_u8(&in) % 8)
						   : fuzz_u8(&in) % 24;
		break;
	case 1:
		attr->len = (uint16_t)fuzz_odd(&in);
		break;
	case 2:
		attr->flags = fuzz_u8(&in) & 3;
		break;
	case 3:
		attr->attr_data.reserved = fuzz_u16(&in);
		break;
	case 4:
		attr->data = address();
		break;
	default:
		attr->data = fuzz_odd(&in);
	}
}

/* Bytes of what an attribute points at. */
static void damage_payload(const struct ib_uverbs_attr *attr)
{
	uint64_t start = rig_va(rig.memory);
	uint64_t value = fuzz_odd(&in);
	uint64_t off = attr->len > 256 ? fuzz_u16(&in) : fuzz_u8(&in);
	uint64_t at = attr->data + (attr->len ? off % attr->len : 0);
	size_t len = 1u << (fuzz_u8(&in) & 3);

	if (attr->len > 8 && at >= start && at < start + RIG_MEMORY_BYTES - 8)
		memcpy((void *)(uintptr_t)at, &value, len);
}

static void damage(struct kern_rig *r)
{
	uint8_t times = fuzz_u8(&in);

	for (times = times & 0x80 ? times & 3 : 0; times; times--) {
		uint8_t kind = fuzz_u8(&in) % 8;
		unsigned int count = r->hdr->num_attrs < RIG_ATTRS ? r->hdr->num_attrs : 0;

		if (kind == 0) {
			((uint8_t *)r->hdr)[fuzz_u8(&in) % 24] = fuzz_u8(&in);
		} else if (kind == 1) {
			r->hdr->num_attrs = fuzz_u8(&in) % RIG_ATTRS;
			r->hdr->length = (uint16_t)uv_hdr_bytes(r->hdr->num_attrs);
		} else if (count && kind < 4) {
			damage_payload(&r->attrs[fuzz_u8(&in) % count]);
		} else if (count) {
			damage_attr(&r->attrs[fuzz_u8(&in) % count]);
		}
	}
}

static uint32_t handle_of(enum known kind)
{
	uint8_t which = fuzz_u8(&in);

	return which & 0x80 ? which & 0x3f : known[kind][which % KNOWN];
}

static int learn(enum known kind, uint32_t handle, int error)
{
	if (!error)
		known[kind][fuzz_u8(&in) % KNOWN] = handle;
	return error;
}

static int create_queues(bool cq_only)
{
	struct rig_cq cq = {.cqe = fuzz_u8(&in) % 64,
			    .user_handle = fuzz_u8(&in),
			    .comp_fd = fuzz_u8(&in) & 1 ? -1 : RIG_FD_FIRST,
			    .uar_page = known_page};
	struct rig_qp qp = {.sq_count = 1u << fuzz_u8(&in) % 5,
			    .rq_count = 1u << fuzz_u8(&in) % 5,
			    .uar_page = known_page};
	int error;

	if (cq_only) {
		error = rig_cq(&rig, &cq);
		return learn(KNOWN_CQ, cq.handle, error);
	}
	qp.pd = handle_of(KNOWN_PD);
	qp.send_cq = handle_of(KNOWN_CQ);
	qp.recv_cq = handle_of(KNOWN_CQ);
	error = rig_qp(&rig, &qp);
	return learn(KNOWN_QP, qp.handle, error);
}

static int step_create(void)
{
	struct ib_uverbs_reg_mr_resp mr = {0};
	uint32_t handle = 0, page = 0;
	int error, fd;

	switch (fuzz_u8(&in) % 7) {
	case 0:
		error = rig_pd(&rig, &handle);
		return learn(KNOWN_PD, handle, error);
	case 1:
		error = rig_uar(&rig, &handle, &page);
		if (!error && page < RIG_PAGES_ALL) /* where a changed call has put it elsewhere */
			known_page = page;
		return learn(KNOWN_UAR, handle, error);
	case 2:
		return create_queues(true);
	case 3:
		return create_queues(false);
	case 4:
		return rig_async(&rig, &fd);
	case 5:
		return rig_comp_channel(&rig, &fd);
	default:
		error = rig_mr(&rig, handle_of(KNOWN_PD), rig.memory, fuzz_u32(&in),
			       fuzz_u8(&in) % 16, &mr);
		return learn(KNOWN_MR, mr.mr_handle, error);
	}
}

static int step_destroy(void)
{
	switch (fuzz_u8(&in) % 5) {
	case 0:
		return rig_destroy_cq(&rig, handle_of(KNOWN_CQ), NULL);
	case 1:
		return rig_destroy_qp(&rig, handle_of(KNOWN_QP), NULL);
	case 2:
		return rig_destroy(&rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				   UVERBS_ATTR_DESTROY_PD_HANDLE, handle_of(KNOWN_PD));
	case 3:
		return rig_destroy(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
				   UVERBS_ATTR_DESTROY_MR_HANDLE, handle_of(KNOWN_MR));
	default:
		return rig_destroy(&rig, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
				   MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle_of(KNOWN_UAR));
	}
}

static int step_use(void)
{
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_modify_qp req = {.qp_handle = handle_of(KNOWN_QP)};
	struct rig_qp qp = {.handle = req.qp_handle};

	switch (fuzz_u8(&in) % 4) {
	case 0:
		return rig_query(&rig, req.qp_handle, &resp);
	case 1:
		fuzz_bytes(&in, &req, sizeof(req));
		req.qp_handle = qp.handle;
		return rig_modify(&rig, &req);
	default:
		return rig_connect(&rig, &qp, 0x1000 + fuzz_u8(&in) % 8);
	}
}

/* A call of nothing but the fuzzer's bytes: any object, any method, any attributes. */
static int step_raw(void)
{
	uint8_t count = fuzz_u8(&in) % HEADER_ATTRS_MAX;
	uint8_t how = fuzz_u8(&in);

	rig_call(&rig, how & 1 ? 0x1000 + fuzz_u8(&in) % 10 : fuzz_u8(&in) % 18,
		 how & 2 ? 0x1000 + fuzz_u8(&in) % 4 : fuzz_u8(&in) % 9);
	for (uint8_t i = 0; i < count; i++) {
		uint8_t kind = fuzz_u8(&in);
		uint16_t id = kind & 1 ? (uint16_t)(0x1000 + fuzz_u8(&in) % 6) : fuzz_u8(&in) % 20;
		uint16_t len = (uint16_t)fuzz_odd(&in);
		uint8_t *room;

		if (kind & 2) {
			rig_attr(&rig, id, fuzz_odd(&in), len);
		} else if (len <= 512) {
			room = rig_out(&rig, id, len);
			fuzz_bytes(&in, room, len < 64 ? len : 64);
		} else {
			rig_attr(&rig, id, address(), len);
		}
	}
	return rig_run(&rig);
}

/* ---- any method, as its row wants it ------------------------------------------------------------
 */

static const struct kern_method *known_methods[METHODS_MAX];
static unsigned int method_count;

/* Asks for every number that there could be, so that methods to come are found, too. */
static void find_methods(void)
{
	if (method_count != 0)
		return;
	for (uint32_t object = 0; object < 128; object++)
		for (uint32_t method = 0; method < 128; method++) {
			const struct kern_method *found = kern_method_find(
			    (uint16_t)(object < 64 ? object : 0x1000 + object - 64),
			    (uint16_t)(method < 64 ? method : 0x1000 + method - 64));

			if (!found)
				continue;
			FUZZ_CHECK(method_count < METHODS_MAX &&
				   found->attr_count + 2 <= KERN_ATTR_MAX);
			known_methods[method_count++] = found;
		}
}

/* The handle of a live object of that type (KERN_FREE: any); or one of nothing. */
static uint32_t handle_of_type(unsigned int type)
{
	struct kern *kern = rig.kern;
	uint8_t which = fuzz_u8(&in);

	for (uint32_t i = 0; i < kern->object_fresh && which < 0xf0; i++) {
		uint32_t handle = (which + i) % kern->object_fresh;
		enum kern_object_type its = kern->objects[handle].type;

		if (type == KERN_FREE || type == KERN_ANY ? its != KERN_FREE : its == type)
			return handle;
	}
	return which;
}

/* What a field may be: nothing, a handle, an address, a number. */
static uint64_t field(void)
{
	uint8_t kind = fuzz_u8(&in);

	if (kind < 0x50)
		return 0;
	if (kind < 0x70)
		return handle_of_type(KERN_FREE);
	if (kind < 0x80)
		return (uint64_t)handle_of_type(KERN_FREE) << 32 | handle_of_type(KERN_FREE);
	if (kind < 0xa0)
		return address();
	if (kind < 0xb0)
		return (uint64_t)fuzz_u8(&in) << 12;
	return fuzz_odd(&in);
}

static void fill(uint8_t *bytes, size_t len)
{
	uint8_t kind = fuzz_u8(&in);

	if (kind & 0x80)
		fuzz_bytes(&in, bytes, len < 32 ? len : 32);
	for (size_t at = kind & 0x80 ? 32 : 0; at < len; at += 8) {
		uint64_t value = field();

		memcpy(bytes + at, &value, len - at < 8 ? len - at : 8);
	}
}

static void attr_of_bytes(const struct kern_attr_spec *spec)
{
	uint16_t len = spec->len_min;
	uint8_t bytes[1024] = {0};
	uint8_t more = fuzz_u8(&in);

	if (spec->len_max > len && more & 1)
		len = (uint16_t)(len + more % (spec->len_max - len + 1u));
	if (spec->type == KERN_ATTR_OUT) {
		(void)rig_out(&rig, spec->id, len);
		return;
	}
	FUZZ_CHECK(len <= sizeof(bytes));
	fill(bytes, len);
	rig_in(&rig, spec->id, bytes, len);
}

static void attr_of(const struct kern_attr_spec *spec)
{
	switch ((enum kern_attr_type)spec->type) {
	case KERN_ATTR_IN:
	case KERN_ATTR_OUT:
		attr_of_bytes(spec);
		return;
	case KERN_ATTR_OBJECT:
		rig_attr(&rig, spec->id, handle_of_type(spec->object), 0);
		return;
	case KERN_ATTR_CHANNEL:
		rig_attr(&rig, spec->id, RIG_FD_FIRST + fuzz_u8(&in) % RIG_CHANNELS, 0);
		return;
	case KERN_ATTR_FD:
		rig_attr(&rig, spec->id, DMABUF_FD, 0);
		return;
	case KERN_ATTR_NEW:
	case KERN_ATTR_NEW_CHANNEL:
		rig_attr(&rig, spec->id, 0, 0);
		return;
	}
	FUZZ_CHECK(!"a type of attributes that is new");
}

static void attrs_of_driver(void)
{
	static const struct kern_attr_spec uhw[] = {
	    {.id = UVERBS_ATTR_UHW_IN, .type = KERN_ATTR_IN, .len_max = 128},
	    {.id = UVERBS_ATTR_UHW_OUT, .type = KERN_ATTR_OUT, .len_max = 128},
	};
	uint8_t which = fuzz_u8(&in);

	for (unsigned int i = 0; i < 2; i++)
		if (which & 1u << i)
			attr_of(&uhw[i]);
}

static int step_method(void)
{
	const struct kern_method *method = known_methods[fuzz_u8(&in) % method_count];
	uint32_t optional = fuzz_u32(&in);

	rig_call(&rig, method->object, method->method);
	for (unsigned int i = 0; i < method->attr_count; i++)
		if (method->attrs[i].flags & KERN_MANDATORY_F || optional & 1u << i)
			attr_of(&method->attrs[i]);
	if (method->udata)
		attrs_of_driver();
	return rig_run(&rig);
}

/* Any command of the older interface. */
static int step_command(void)
{
	uint8_t cmd = fuzz_u8(&in);
	uint16_t len = fuzz_u8(&in);
	uint16_t resp_len = fuzz_u16(&in) % 512;
	uint8_t req[UINT8_MAX + 1] = {0};

	fill(req, len);
	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	rig_in64(&rig, UVERBS_ATTR_WRITE_CMD, cmd & 0x80 ? UV_WRITE_EX(cmd & 0x7fu) : cmd);
	rig_in(&rig, UVERBS_ATTR_CORE_IN, req, len);
	if (resp_len)
		(void)rig_out(&rig, UVERBS_ATTR_CORE_OUT, resp_len);
	attrs_of_driver();
	return rig_run(&rig);
}

/* ---- dma-bufs and entries -----------------------------------------------------------------------
 */

static int step_dmabuf(void)
{
	struct rig_dmabuf *buf = &rig.dmabuf;
	struct region *region = &regions[REGIONS + fuzz_u8(&in) % REGIONS];
	uint64_t offset = fuzz_u16(&in) % (DMABUF_BYTES + 64);
	uint64_t len = fuzz_u8(&in) & 1 ? fuzz_odd(&in) : DMABUF_BYTES - offset;
	uint64_t iova = (uint64_t)(fuzz_u8(&in) + 1) << 12 | (offset & 0xfff);
	uint8_t how = fuzz_u8(&in);
	uint32_t pd = handle_of(KNOWN_PD);
	const uint32_t *key;
	int error;

	buf->map_error = (how & 0xf0) == 0xf0 ? -EOPNOTSUPP : 0;
	buf->unreachable = (how & 0xf0) == 0xe0;
	rig_call(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	rig_attr(&rig, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	rig_attr(&rig, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, how & 0xf ? known[KNOWN_PD][0] : pd, 0);
	rig_in64(&rig, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset);
	rig_in64(&rig, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, len);
	rig_in64(&rig, UVERBS_ATTR_REG_DMABUF_MR_IOVA, iova);
	rig_attr(&rig, UVERBS_ATTR_REG_DMABUF_MR_FD, DMABUF_FD, 0);
	rig_in64(&rig, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, how & 0xf);
	key = rig_out(&rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4);
	(void)rig_out(&rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4);
	error = rig_run(&rig);
	if (!error)
		*region = (struct region){*key, iova, len};
	return learn(KNOWN_MR, (uint32_t)rig_data(&rig, UVERBS_ATTR_REG_DMABUF_MR_HANDLE), error);
}

static int region_create(struct region *region, uint32_t access)
{
	struct ib_uverbs_reg_mr_resp mr = {0};
	void *memory = rig_alloc(&rig, PLAIN_BYTES);
	int error = rig_mr(&rig, known[KNOWN_PD][0], memory, PLAIN_BYTES, access, &mr);

	if (!error)
		*region = (struct region){mr.lkey, rig_va(memory), PLAIN_BYTES};
	return learn(KNOWN_MR, mr.mr_handle, error);
}

/* Bytes of a region that was made, mostly within it. */
static struct region part(void)
{
	uint8_t which = fuzz_u8(&in), kind = fuzz_u8(&in);
	uint64_t len = 1 + fuzz_u16(&in) % 4096;
	struct region region = regions[which % (2 * REGIONS)];
	uint64_t off;

	for (unsigned int i = 1; i < 2 * REGIONS && region.key == 0; i++)
		region = regions[(which + i) % (2 * REGIONS)];
	off = kind & 0x80 ? region.len - (kind & 0x3f) : (uint64_t)(kind & 0x3f) * 64;
	return (struct region){region.key, region.va + off, len};
}

static void post_receive(void)
{
	struct wqe_data_seg *entry = (void *)(pair.ring + 16 * (posted_receives++ % RQ_COUNT));
	struct region to = part();

	entry->byte_count = be32_from((uint32_t)to.len);
	entry->lkey = be32_from(to.key);
	entry->va = be64_from(to.va);
	pair.record[DB_RECV] = be32_from(posted_receives).raw;
}

static void post_send(uint8_t how)
{
	static const uint8_t opcodes[] = {WQE_OP_SEND, WQE_OP_WRITE, WQE_OP_READ, WQE_OP_ATOMIC_FA,
					  WQE_OP_ATOMIC_CS, WQE_OP_WRITE_IMM, WQE_OP_SEND_IMM};
	uint8_t opcode = opcodes[how % sizeof(opcodes)];
	bool is_atomic = opcode == WQE_OP_ATOMIC_FA || opcode == WQE_OP_ATOMIC_CS;
	bool is_send = opcode == WQE_OP_SEND || opcode == WQE_OP_SEND_IMM;
	struct wqe_ctrl_seg *ctrl =
	    (void *)(pair.ring + 16 * RQ_COUNT + 64 * (size_t)(posted_sends % SQ_COUNT));
	struct wqe_raddr_seg *raddr = (void *)(ctrl + 1);
	struct wqe_data_seg *piece = (void *)(ctrl + (is_send ? 1 : is_atomic ? 3 : 2));
	struct region from = part(), to = part();
	uint64_t word;

	memset(ctrl, 0, 64);
	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, (uint16_t)posted_sends++, opcode);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(pair.number, is_send ? 2 : is_atomic ? 4 : 3);
	ctrl->fm_ce_se = WQE_CE_ALWAYS;
	if (!is_send) {
		raddr->va = be64_from(is_atomic ? to.va & ~7ull : to.va);
		raddr->rkey = be32_from(to.key);
	}
	piece->byte_count = be32_from(is_atomic ? 8 : (uint32_t)from.len);
	piece->lkey = be32_from(from.key);
	piece->va = be64_from(from.va);
	pair.record[DB_SEND] = be32_from(posted_sends).raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(rig.pages + 4096 * known_page + DB_UAR_BF0, &word, sizeof(word));
}

/* An event for the next completion, or for one that was. */
static void arm(uint8_t how)
{
	struct be32 words[2] = {db_cq_arm_word(how, DB_CQ_CMD_ANY, 0), be32_from(pair_cq.number)};

	pair_cq.record[DB_CQ_ARM] = words[0].raw;
	memcpy(rig.pages + 4096 * known_page + DB_UAR_CQ, words, sizeof(words));
}

static int step_post(void)
{
	uint8_t how = fuzz_u8(&in);

	if (how & 0x80)
		return region_create(&regions[how % REGIONS], how >> 3 & 0xf);
	if (!pair.ring)
		return 0;
	if (how & 0x40)
		post_receive();
	if (how & 0x20)
		arm(how);
	post_send(how & 0x3f);
	return 0;
}

#include "tests/fuzz/fuzz_devx.h"
#include "tests/fuzz/fuzz_rss.h"

#include "tests/fuzz/fuzz_objects.h"

/* ---- questions, and what is no call -------------------------------------------------------------
 */

/* The calls that only ask: device, port, GIDs. What they are asked with is any. */
static int step_query(void)
{
	static const uint16_t methods[] = {UVERBS_METHOD_QUERY_PORT, UVERBS_METHOD_GET_CONTEXT,
					   UVERBS_METHOD_QUERY_GID_TABLE,
					   UVERBS_METHOD_QUERY_GID_ENTRY};
	uint32_t extended = IB_USER_VERBS_CMD_QUERY_DEVICE | IB_USER_VERBS_CMD_FLAG_EXTENDED;
	uint8_t request[64], count = 1 + fuzz_u8(&in) % 4;
	uint8_t kind = fuzz_u8(&in);

	fuzz_bytes(&in, request, sizeof(request));
	if (kind & 1)
		return rig_write(&rig, kind & 2 ? kind >> 2 : extended, request,
				 fuzz_u8(&in) % sizeof(request), NULL, fuzz_u16(&in) % 1024, NULL,
				 fuzz_u8(&in));
	rig_call(&rig, UVERBS_OBJECT_DEVICE, methods[kind >> 1 & 3]);
	for (uint8_t i = 0; i < count; i++) {
		if (fuzz_u8(&in) & 1)
			rig_in64(&rig, i, fuzz_odd(&in));
		else
			(void)rig_out(&rig, i, fuzz_u16(&in) % 512);
	}
	return rig_run(&rig);
}

/* A path of sysfs: one that there is, or nearly. */
static void step_sysfs(void)
{
	static const char *const starts[] = {"", "class/infiniband/soft0/",
					     "class/infiniband/soft0/ports/1/",
					     "class/infiniband/soft0/ports/1/gid_attrs/",
					     "class/infiniband_verbs/uverbs0/"};
	static const char *const ends[] = {"node_guid", "gids/0", "types/1", "ndevs/0", "state",
					   "rate", "ibdev", "fw_ver", "lid", "pkeys/0"};
	uint8_t which = fuzz_u8(&in);
	char path[128], name[64], end[16] = {0};
	int len;

	fuzz_bytes(&in, end, sizeof(end) - 1);
	snprintf(path, sizeof(path), "%s%s", starts[which % 5],
		 which & 0x80 ? end : ends[which / 5 % 10]);
	memset(name, 'x', sizeof(name));
	len = kern_sysfs_read(rig.kern, path, name, sizeof(name) - 1);
	FUZZ_CHECK(len < (int)sizeof(name) && name[sizeof(name) - 1] == 'x');
	if (kern_sysfs_list(rig.kern, path, fuzz_u8(&in), name, sizeof(name)) == 0)
		FUZZ_CHECK(memchr(name, 0, sizeof(name)));
}

/* Not a call: the request number, registers, rings, mmap, closed channels, sysfs. */
static int step_outside(void)
{
	struct rig_channel *channel = &rig.channels[fuzz_u8(&in) % RIG_CHANNELS];
	uint8_t kind = fuzz_u8(&in) % 6;
	uint32_t page = 0, count = 0;

	if (kind == 0) {
		fuzz_bytes(&in, rig.pages + 4096 * (fuzz_u8(&in) % RIG_PAGES) + 0x800, 8);
	} else if (kind == 1) {
		fuzz_bytes(&in, rig.memory + SCRATCH_BYTES + fuzz_u16(&in), 64);
	} else if (kind == 2) {
		if (kern_mmap(rig.file, fuzz_odd(&in), fuzz_odd(&in), fuzz_u8(&in) & 1, &page,
			      &count) == 0)
			FUZZ_CHECK(page + count <= RIG_PAGES_ALL + KERN_CLOCK_PAGES);
	} else if (kind == 3 && channel->open) {
		kern_channel_release(channel->kern);
		channel->open = false;
	} else if (kind == 4) {
		step_sysfs();
	} else {
		return kern_ioctl(rig.file, fuzz_odd(&in), address(), rig.now_ns);
	}
	return 0;
}

static int step(void)
{
	uint8_t op = fuzz_u8(&in);

	switch (op < 0xa0 ? op % 9 : op < 0xe0 ? op % 4 + 9 : 13 + op / 0xf0) {
	case 13:
		return step_devx();
	case 14:
		return step_object();
	case 9:
		return step_method();
	case 10:
		return step_command();
	case 11:
		return step_dmabuf();
	case 12:
		return step_post();
	case 8:
		return step_query();
	case 0:
	case 1:
	case 2:
		return step_create();
	case 3:
		return step_destroy();
	case 4:
	case 5:
		return step_use();
	case 6:
		return step_raw();
	default:
		return step_outside();
	}
}

/* A queue pair that is its own peer, and regions. */
static void start_pair(void)
{
	pair_cq = (struct rig_cq){.cqe = 15, .uar_page = known_page};
	FUZZ_CHECK(rig_comp_channel(&rig, &pair_cq.comp_fd) == 0);
	FUZZ_CHECK(rig_cq(&rig, &pair_cq) == 0);
	pair = (struct rig_qp){.pd = known[KNOWN_PD][0],
			       .send_cq = pair_cq.handle,
			       .recv_cq = pair_cq.handle,
			       .uar_page = known_page,
			       .sq_count = SQ_COUNT,
			       .rq_count = RQ_COUNT};
	FUZZ_CHECK(rig_qp(&rig, &pair) == 0);
	FUZZ_CHECK(rig_connect(&rig, &pair, pair.number) == 0);
	known[KNOWN_CQ][0] = pair_cq.handle;
	known[KNOWN_QP][0] = pair.handle;
	FUZZ_CHECK(region_create(&regions[0], 0xf) == 0);
}

/* The context of a driver that has a fixed number of registers. */
static int old_context(void)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {.total_num_bfregs = 8,
						    .num_low_latency_bfregs = 2,
						    .flags = MLX5_IB_ALLOC_UCTX_DEVX,
						    .max_cqe_version = 1,
						    .lib_caps = MLX5_LIB_CAP_4K_UAR};

	rig_call(&rig, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	rig_in(&rig, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	(void)rig_out(&rig, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_alloc_ucontext_resp));
	return rig_run(&rig);
}

/* What every program does first, so that the bytes go to what comes after. */
static void start(void)
{
	uint32_t handle = 0;
	uint8_t how = fuzz_u8(&in);
	bool infiniband = (how & 6) == 2;

	find_methods();
	memset(known, 0xff, sizeof(known));
	memset(dmabuf_bytes, 0, sizeof(dmabuf_bytes));
	memset(regions, 0, sizeof(regions));
	pair = (struct rig_qp){0};
	posted_sends = posted_receives = 0;
	if (infiniband)
		kern_rig_open_infiniband(&rig);
	else
		kern_rig_open(&rig);
	rig.dmabuf = (struct rig_dmabuf){
	    .fd = DMABUF_FD, .bytes = dmabuf_bytes, .len_bytes = sizeof(dmabuf_bytes)};
	FUZZ_CHECK(((how & 0x18) == 8 ? old_context() : rig_context(&rig)) == 0);
	FUZZ_CHECK(rig_pd(&rig, &handle) == 0);
	known[KNOWN_PD][0] = handle;
	FUZZ_CHECK(rig_uar(&rig, &handle, &known_page) == 0);
	known[KNOWN_UAR][0] = handle;
	if (how & 1 && !infiniband)
		start_pair();
	rig.before_run = damage;
	rig.loses_records = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return 0;
	in = (struct fuzz_in){data, size};
	start();
	for (unsigned int i = 0; i < STEPS_MAX && in.left; i++) {
		int error;

		/* Rings of queues that were made stay where they are; calls start afresh. */
		if (rig.memory_used > SCRATCH_BYTES * 4)
			rig.memory_used = SCRATCH_BYTES;
		error = step();
		FUZZ_CHECK(error <= 0 && error > -4096);
		rig.now_ns += 1000000;
		rig_pump(&rig);
		for (unsigned int c = 0; c < RIG_CHANNELS; c++)
			rig.channels[c].count = 0;
		nic_check(rig.nic);
		FUZZ_CHECK(!rig.dmabuf.open && rig.dmabuf.stray == 0);
		FUZZ_CHECK(rig.dmabuf.begins + rig.dmabuf.begins_writable == rig.dmabuf.ends);
	}
	kern_rig_close(&rig);
	FUZZ_CHECK(rig.dmabuf.maps == 0);
	return 0;
}
