/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_devx.h - a part of ioctl_fuzz.c: firmware commands that are good, or would be but for the
 * damage that befalls every call.
 */
#ifndef TESTS_FUZZ_FUZZ_DEVX_H
#define TESTS_FUZZ_FUZZ_DEVX_H

static struct devx devx;

/* The number of a live object of that type, or one that a command made; or any. */
static uint32_t number_of(enum kern_object_type type, enum cmd_opcode opcode)
{
	struct kern *kern = rig.kern;
	uint8_t which = fuzz_u8(&in);

	for (uint32_t i = 0; i < kern->object_fresh && which < 0xf8; i++) {
		const struct kern_object *object =
		    &kern->objects[(which + i) % kern->object_fresh];

		if (object->type == type ||
		    (object->type == KERN_DEVX_OBJ && object->devx_opcode == opcode))
			return object->number;
	}
	return which;
}

static int devx_make_queue(bool cq)
{
	struct devx_cq queue = {0};
	struct devx_qp qp = {.rq_count = 1u << fuzz_u8(&in) % 5,
			     .sq_count = 1u << fuzz_u8(&in) % 4};
	uint32_t pdn;

	if (cq)
		return devx_cq(&rig, known_page, fuzz_u8(&in) % 6, &queue);
	pdn = number_of(KERN_PD, CMD_ALLOC_PD);
	return devx_qp(&rig, known_page, pdn, number_of(KERN_CQ, CMD_CREATE_CQ), &qp);
}

/* A umem of new memory; 0: there is none. */
static uint32_t devx_memory(uint64_t len)
{
	uint32_t handle, id = 0;

	(void)devx_umem(&rig, rig_alloc(&rig, len), len, fuzz_u8(&in) & 7, &handle, &id);
	return id;
}

static int devx_make_mkey(void)
{
	uint8_t *mkc = devx.in + CMD_MKEY_MKC;
	uint8_t how = fuzz_u8(&in), count = fuzz_u8(&in) % 4;
	uint32_t umem = how & 3 ? 0 : devx_memory(4096);

	devx_in(&devx, CMD_CREATE_MKEY, (uint16_t)(CMD_MKEY_KLMS + 16 * count), 16);
	cmd_set(mkc, CMD_MKC_MODE,
		(how & 3) == 0 ? CMD_MKC_MODE_MTT : how & 1 ? CMD_MKC_MODE_KLM : CMD_MKC_MODE_KSM);
	cmd_set(mkc, CMD_MKC_PD, number_of(KERN_PD, CMD_ALLOC_PD));
	cmd_set(mkc, CMD_MKC_QPN, how & 4 ? 0xffffff : fuzz_u8(&in));
	cmd_set(mkc, CMD_MKC_UMR, how >> 3);
	cmd_set(mkc, CMD_MKC_FREE, how >> 4);
	cmd_set(mkc, CMD_MKC_LW, how >> 5);
	cmd_set(mkc, CMD_MKC_RW, how >> 6);
	cmd_set(mkc, CMD_MKC_RR, how >> 7);
	cmd_set(mkc, CMD_MKC_TAG, how);
	cmd_set(mkc, CMD_MKC_COUNT, fuzz_u8(&in));
	cmd_set(mkc, CMD_MKC_LOG_ENTITY, 12);
	be64_store(mkc + CMD_MKC_LEN, 64 * (1 + count));
	cmd_set(devx.in, CMD_MKEY_UMEM_ID, umem);
	cmd_set(devx.in, CMD_MKEY_ACTUAL_COUNT, count);
	for (uint8_t i = 0; i < count; i++) {
		struct region piece = part();

		be32_store(devx.in + CMD_MKEY_KLMS + 16 * i, 64);
		be32_store(devx.in + CMD_MKEY_KLMS + 16 * i + 4, piece.key);
		be64_store(devx.in + CMD_MKEY_KLMS + 16 * i + 8, piece.va);
	}
	return devx_create(&rig, &devx);
}

static int devx_make_rmp(void)
{
	uint8_t *wq = devx.in + CMD_RMP_WQ;
	uint32_t log_size = fuzz_u8(&in) % 5;
	uint32_t ring = devx_memory((uint64_t)64 << log_size), record = devx_memory(64);

	devx_in(&devx, CMD_CREATE_RMP, CMD_RMP_IN_BYTES, 16);
	cmd_set(wq, CMD_WQ_TYPE, fuzz_u8(&in) & 1);
	cmd_set(wq, CMD_WQ_PD, number_of(KERN_PD, CMD_ALLOC_PD));
	cmd_set(wq, CMD_WQ_LOG_STRIDE, 6);
	cmd_set(wq, CMD_WQ_LOG_SIZE, log_size);
	cmd_set(wq, CMD_WQ_UMEM_ID, ring);
	cmd_set(wq, CMD_WQ_DBR_UMEM_ID, record);
	return devx_create(&rig, &devx);
}

static int devx_make_small(void)
{
	static const uint16_t opcodes[] = {CMD_ALLOC_PD, CMD_ALLOC_TRANSPORT_DOMAIN,
					   CMD_CREATE_GENERAL_OBJECT};
	uint8_t which = fuzz_u8(&in);

	devx_in(&devx, which < 0xc0 ? opcodes[which % 3] : fuzz_u16(&in), 64, 16);
	if (devx.in[1] == (CMD_CREATE_GENERAL_OBJECT & 0xff))
		cmd_set(devx.in, CMD_OBJ_TYPE, which & 0x20 ? which : CMD_OBJ_RESERVED_QPN);
	return devx_create(&rig, &devx);
}

/* What is asked of an object, or done to it. */
static int devx_use(uint8_t how)
{
	static const uint16_t queries[] = {CMD_QUERY_CQ, CMD_QUERY_QP, CMD_QUERY_GENERAL_OBJECT};
	static const uint16_t edges[] = {CMD_RST2INIT_QP, CMD_INIT2INIT_QP, CMD_INIT2RTR_QP,
					 CMD_RTR2RTS_QP,  CMD_RTS2RTS_QP,   CMD_SQERR2RTS_QP,
					 CMD_2ERR_QP,     CMD_2RST_QP};
	bool modify = how & 1;
	uint16_t opcode = modify ? edges[how >> 1 & 7] : queries[(how >> 1) % 3];
	struct kern_object *object;

	devx_in(&devx, opcode, 0x110, 512);
	devx.handle = handle_of_type(how & 0x10 ? KERN_DEVX_OBJ : how & 0x20 ? KERN_QP : KERN_CQ);
	object = devx.handle < rig.kern->object_fresh ? &rig.kern->objects[devx.handle] : NULL;
	cmd_set(devx.in, CMD_NUMBER, object ? object->number : devx.handle);
	if (object && how & 0x80)
		return devx_connect(&rig, devx.handle, object->number, pair.number,
				    rig.config.gids[0]);
	if (how & 0x40)
		return devx_async_query(&rig, &devx, RIG_FD_FIRST + fuzz_u8(&in) % RIG_CHANNELS,
					how);
	return modify ? devx_modify(&rig, &devx) : devx_query(&rig, &devx);
}

static int devx_listen(uint8_t how)
{
	static const uint16_t events[] = {CMD_EVENT_COMP,          CMD_EVENT_COMM_EST,
					  CMD_EVENT_SQ_DRAINED,    CMD_EVENT_CQ_ERROR,
					  CMD_EVENT_WQ_CATAS_ERROR, CMD_EVENT_PORT_CHANGE,
					  CMD_EVENT_SRQ_LIMIT,     CMD_EVENT_LAST_WQE};
	uint32_t handle;
	int fd;

	if (how & 1)
		return how & 2 ? devx_cmd_channel(&rig, &fd)
			       : devx_event_channel(&rig, how >> 2 & 1, &fd);
	fd = RIG_FD_FIRST + fuzz_u8(&in) % RIG_CHANNELS;
	handle = how & 2 ? UINT32_MAX : handle_of_type(how & 0x20 ? KERN_ANY : KERN_DEVX_OBJ);
	return devx_subscribe(&rig, fd, handle, events + (how >> 2) % 5, 1 + (how >> 6), how);
}

static int devx_destroy_any(uint8_t how)
{
	uint32_t handle = handle_of_type(how & 1 ? KERN_UMEM : KERN_DEVX_OBJ);

	return how & 1 ? devx_umem_destroy(&rig, handle) : devx_destroy(&rig, handle);
}

static int step_devx(void)
{
	uint8_t how = fuzz_u8(&in);

	switch (fuzz_u8(&in) % 10) {
	case 0:
	case 1:
		return devx_make_queue(how & 1);
	case 2:
		return devx_make_mkey();
	case 3:
		return devx_make_rmp();
	case 4:
		return devx_make_small();
	case 5:
	case 6:
		return devx_use(how);
	case 7:
		return devx_listen(how);
	case 8:
		return devx_destroy_any(how);
	default:
		devx_in(&devx, how & 0x80 ? 0x100u + how % 8 : fuzz_u16(&in), 64,
			how & 0x40 ? 4096 + 16 : 64);
		cmd_set(devx.in, CMD_OBJ_TYPE, fuzz_u16(&in));
		return devx_other(&rig, &devx);
	}
}

#endif
