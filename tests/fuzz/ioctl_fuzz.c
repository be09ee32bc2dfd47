/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ioctl_fuzz.c - the kernel's model over a real NIC: sequences of calls with arbitrary headers,
 * attributes and memory, among good calls and good calls with damage, so that objects live.
 *
 * Beyond no crash: a call returns 0 or an error number; nic_check after each; a created handle is
 * another one than those that live; what is in application memory outside of it is not asked for
 * (the rig faults). At the end every object can be closed.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/support/kern_rig.h"

enum { STEPS_MAX = 60, KNOWN = 4, SCRATCH_BYTES = 192 * 1024, HEADER_ATTRS_MAX = 16 };

enum known { KNOWN_PD, KNOWN_UAR, KNOWN_CQ, KNOWN_QP, KNOWN_MR, KNOWN_KINDS };

static struct kern_rig rig;
static struct fuzz_in in;
static uint32_t known[KNOWN_KINDS][KNOWN];
static uint32_t known_page;

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
	uint64_t at = attr->data + (attr->len ? fuzz_u8(&in) % attr->len : 0);
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
	uint32_t handle = 0;
	int error, fd;

	switch (fuzz_u8(&in) % 7) {
	case 0:
		error = rig_pd(&rig, &handle);
		return learn(KNOWN_PD, handle, error);
	case 1:
		error = rig_uar(&rig, &handle, &known_page);
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
			FUZZ_CHECK(page + count <= RIG_PAGES + KERN_CLOCK_PAGES);
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
	switch (fuzz_u8(&in) % 9) {
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

/* What every program does first, so that the bytes go to what comes after. */
static void start(void)
{
	uint32_t handle = 0;

	memset(known, 0xff, sizeof(known));
	kern_rig_open(&rig);
	FUZZ_CHECK(rig_context(&rig) == 0);
	FUZZ_CHECK(rig_pd(&rig, &handle) == 0);
	known[KNOWN_PD][0] = handle;
	FUZZ_CHECK(rig_uar(&rig, &handle, &known_page) == 0);
	known[KNOWN_UAR][0] = handle;
	rig.before_run = damage;
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
	}
	kern_rig_close(&rig);
	return 0;
}
