/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_fuzz.c - histories of firmware commands over a real NIC: umems over a field of memory,
 * queues, pools and keys in them, good and with fields damaged; edges, queries, subscriptions,
 * destroys in any order; rings and doorbell records written at will; work that is done.
 *
 * Beyond no crash: a call returns 0 or an error number; nic_check after each; a refused command
 * says why and leaves nothing behind; bytes of the field that no umem ever covered are never
 * touched, so nothing reaches outside of what the application gave. At the end the context closes
 * with all.
 */
#include "abi/mlx5_db.h"
#include "kern/state.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/devx_rig.h"

#include <errno.h>

enum {
	STEPS_MAX = 80,
	FIELD_BYTES = 64 * 1024,
	CELL_BYTES = 256, /* of the field, that umems cover whole */
	CELLS = FIELD_BYTES / CELL_BYTES,
	KEEP = 8, /* of each kind, that later steps name */
	PATTERN = 0xc7,
};

/* What a later command may name. */
struct made {
	uint32_t handle, number;
	enum cmd_opcode opcode;
};

static struct kern_rig rig;
static struct fuzz_in in;
static struct devx devx;
static uint8_t *field;
static bool covered[CELLS]; /* some umem had it once */
static struct {
	uint32_t handle, id, cell, cells;
} umems[KEEP];
static struct made objects[KEEP];
static uint32_t page, pdn;
static size_t memory_mark;

static uint32_t pick_umem(void)
{
	return fuzz_u8(&in) % KEEP;
}

static const struct made *pick(enum cmd_opcode opcode)
{
	uint8_t which = fuzz_u8(&in);

	for (unsigned int i = 0; i < KEEP; i++) {
		const struct made *found = &objects[(which + i) % KEEP];

		if (found->opcode == opcode || opcode == 0)
			return found;
	}
	return &objects[which % KEEP];
}

/* ---- commands ----------------------------------------------------------------------------------
 */

static void fill_cq(void)
{
	uint8_t *cqc = devx.in + CMD_CQ_CQC;

	devx_in(&devx, CMD_CREATE_CQ, CMD_CQ_CREATE_BYTES, 16);
	cmd_set(cqc, CMD_CQC_LOG_SIZE, fuzz_u8(&in) % 8);
	cmd_set(cqc, CMD_CQC_UAR, page);
	cmd_set(cqc, CMD_CQC_EQN, 1);
	cmd_set(cqc, CMD_CQC_OVERRUN, fuzz_u8(&in) & 1);
	cmd_set(cqc, CMD_CQC_DBR_UMEM, umems[pick_umem()].id);
	be64_store(cqc + CMD_CQC_DBR_OFFSET, fuzz_u8(&in) * UINT64_C(8));
	cmd_set(devx.in, CMD_CQ_UMEM_ID, umems[pick_umem()].id);
	be64_store(devx.in + CMD_CQ_UMEM_OFFSET, fuzz_u8(&in) * UINT64_C(64));
}

static void fill_qp(void)
{
	uint8_t *qpc = devx.in + CMD_QP_QPC;

	devx_in(&devx, CMD_CREATE_QP, CMD_QP_CREATE_BYTES, 16);
	cmd_set(qpc, CMD_QPC_PD, pdn);
	cmd_set(qpc, CMD_QPC_LOG_RQ_SIZE, fuzz_u8(&in) % 6);
	cmd_set(qpc, CMD_QPC_LOG_RQ_STRIDE, fuzz_u8(&in) % 3);
	cmd_set(qpc, CMD_QPC_LOG_SQ_SIZE, fuzz_u8(&in) % 6);
	cmd_set(qpc, CMD_QPC_UAR, page);
	cmd_set(qpc, CMD_QPC_CQN_SEND, pick(CMD_CREATE_CQ)->number);
	cmd_set(qpc, CMD_QPC_CQN_RECV, pick(CMD_CREATE_CQ)->number);
	cmd_set(qpc, CMD_QPC_RQ_TYPE, fuzz_u8(&in) & 1);
	cmd_set(qpc, CMD_QPC_SRQN, pick(CMD_CREATE_RMP)->number);
	cmd_set(qpc, CMD_QPC_DBR_UMEM_ID, umems[pick_umem()].id);
	be64_store(qpc + CMD_QPC_DBR_OFFSET, fuzz_u8(&in) * UINT64_C(8));
	cmd_set(devx.in, CMD_QP_WQ_UMEM_ID, umems[pick_umem()].id);
	be64_store(devx.in + CMD_QP_WQ_UMEM_OFFSET, fuzz_u8(&in) * UINT64_C(64));
}

static void fill_rmp(void)
{
	uint8_t *wq = devx.in + CMD_RMP_WQ;

	devx_in(&devx, CMD_CREATE_RMP, 272, 16);
	cmd_set(wq, CMD_WQ_TYPE, fuzz_u8(&in) & 1);
	cmd_set(wq, CMD_WQ_PD, pdn);
	cmd_set(wq, CMD_WQ_LOG_STRIDE, 5 + fuzz_u8(&in) % 3);
	cmd_set(wq, CMD_WQ_LOG_SIZE, fuzz_u8(&in) % 6);
	cmd_set(wq, CMD_WQ_UMEM_ID, umems[pick_umem()].id);
	cmd_set(wq, CMD_WQ_DBR_UMEM_ID, umems[pick_umem()].id);
	be64_store(wq + CMD_WQ_DBR_OFFSET, fuzz_u8(&in) * UINT64_C(8));
}

static void fill_mkey(void)
{
	uint8_t *mkc = devx.in + CMD_MKEY_MKC;
	uint8_t kind = fuzz_u8(&in), count = fuzz_u8(&in) % 5;
	uint32_t umem = pick_umem();

	devx_in(&devx, CMD_CREATE_MKEY, CMD_MKEY_KLMS + 64, 16);
	cmd_set(mkc, CMD_MKC_MODE, kind & 3);
	cmd_set(mkc, CMD_MKC_FREE, kind >> 2 & 1);
	cmd_set(mkc, CMD_MKC_UMR, kind >> 3 & 1);
	cmd_set(mkc, CMD_MKC_LW, 1);
	cmd_set(mkc, CMD_MKC_RW, kind >> 4 & 1);
	cmd_set(mkc, CMD_MKC_RR, kind >> 5 & 1);
	cmd_set(mkc, CMD_MKC_ATOMIC, kind >> 6 & 1);
	cmd_set(mkc, CMD_MKC_QPN, 0xffffff);
	cmd_set(mkc, CMD_MKC_TAG, fuzz_u8(&in));
	cmd_set(mkc, CMD_MKC_PD, pdn);
	be64_store(mkc + CMD_MKC_START, rig_va(field) + umems[umem].cell * CELL_BYTES);
	be64_store(mkc + CMD_MKC_LEN, fuzz_u16(&in));
	cmd_set(devx.in, CMD_MKEY_UMEM_ID, umems[umem].id);
	cmd_set(mkc, CMD_MKC_COUNT, count);
	cmd_set(mkc, CMD_MKC_LOG_ENTITY, fuzz_u8(&in));
	cmd_set(devx.in, CMD_MKEY_ACTUAL_COUNT, count);
	for (uint8_t *klm = devx.in + CMD_MKEY_KLMS; count; count--, klm += 16) {
		be32_store(klm, fuzz_u16(&in));
		be32_store(klm + 4, pick(CMD_CREATE_MKEY)->number << 8 | fuzz_u8(&in));
		be64_store(klm + 8, rig_va(field) + fuzz_u16(&in));
	}
}

static void fill_small(void)
{
	static const enum cmd_opcode opcodes[] = {CMD_ALLOC_PD, CMD_ALLOC_TRANSPORT_DOMAIN,
						  CMD_CREATE_GENERAL_OBJECT, CMD_CREATE_PSV};

	devx_in(&devx, opcodes[fuzz_u8(&in) % 4], 32, 16);
	cmd_set(devx.in, CMD_OBJ_TYPE, fuzz_u8(&in) & 1 ? CMD_OBJ_RESERVED_QPN : 0);
}

static void fill_rq(void)
{
	uint8_t *rqc = devx.in + CMD_RSS_CONTEXT, *wq = rqc + CMD_RQC_WQ;

	devx_in(&devx, CMD_CREATE_RQ, CMD_RSS_CONTEXT + CMD_RQC_BYTES, 16);
	cmd_set(rqc, CMD_RQC_KEEP_VLAN, 1);
	cmd_set(rqc, CMD_RQC_CQN, pick(CMD_CREATE_CQ)->number);
	cmd_set(wq, CMD_WQ_TYPE, CMD_WQ_CYCLIC);
	cmd_set(wq, CMD_WQ_PD, pdn);
	cmd_set(wq, CMD_WQ_LOG_STRIDE, 4 + fuzz_u8(&in) % 3);
	cmd_set(wq, CMD_WQ_LOG_SIZE, fuzz_u8(&in) % 6);
	cmd_set(wq, CMD_WQ_UMEM_ID, umems[pick_umem()].id);
	be64_store(wq + CMD_WQ_UMEM_OFFSET, fuzz_u8(&in) * UINT64_C(64));
	cmd_set(wq, CMD_WQ_DBR_UMEM_ID, umems[pick_umem()].id);
	be64_store(wq + CMD_WQ_DBR_OFFSET, fuzz_u8(&in) * UINT64_C(8));
}

static void fill_rqt(enum cmd_opcode opcode)
{
	uint8_t *rqtc = devx.in + CMD_RSS_CONTEXT;
	uint32_t count = 1u << fuzz_u8(&in) % 4;

	devx_in(&devx, opcode, (uint16_t)(CMD_RSS_CONTEXT + CMD_RQTC_LIST + 4 * count), 16);
	cmd_set(rqtc, CMD_RQTC_MAX_SIZE, 8);
	cmd_set(rqtc, CMD_RQTC_SIZE, count);
	for (uint32_t i = 0; i < count; i++)
		be32_store(rqtc + CMD_RQTC_LIST + 4 * i, pick(CMD_CREATE_RQ)->number);
}

static void fill_tir(void)
{
	uint8_t *tirc = devx.in + CMD_RSS_CONTEXT;

	devx_in(&devx, CMD_CREATE_TIR, CMD_RSS_CONTEXT + CMD_TIRC_BYTES, 16);
	cmd_set(tirc, CMD_TIRC_KIND, fuzz_u8(&in) & 1);
	cmd_set(tirc, CMD_TIRC_RQN, pick(CMD_CREATE_RQ)->number);
	cmd_set(tirc, CMD_TIRC_RQTN, pick(CMD_CREATE_RQT)->number);
	cmd_set(tirc, CMD_TIRC_HASH, cmd_get(tirc, CMD_TIRC_KIND) ? CMD_TIRC_HASH_TOEPLITZ : 0);
	cmd_set(tirc, CMD_TIRC_FIELDS, fuzz_u8(&in) & 0xf);
	cmd_set(tirc, CMD_TIRC_DOMAIN, pick(CMD_ALLOC_TRANSPORT_DOMAIN)->number);
}

static void fill_rss(uint8_t which)
{
	if (which % 4 < 2)
		fill_rq();
	else if (which % 4 == 2)
		fill_rqt(CMD_CREATE_RQT);
	else
		fill_tir();
}

/* Words of the command that are not what they should be, and its length. */
static void damage(void)
{
	uint8_t times = fuzz_u8(&in);

	for (times = times & 0x80 ? times % 4 : 0; times; times--) {
		uint32_t at = fuzz_u16(&in) % (devx.in_len / 4) * 4;

		be32_store(devx.in + at, (uint32_t)fuzz_odd(&in));
	}
	if (fuzz_u8(&in) == 0)
		devx.in_len = (uint16_t)(16 + fuzz_u16(&in) % 512);
}

static int check_answer(int error)
{
	bool refused = cmd_get(devx.out, CMD_OUT_STATUS) != CMD_OK;

	if (error == -EREMOTEIO)
		FUZZ_CHECK(refused && cmd_get(devx.out, CMD_OUT_SYNDROME) != 0);
	else if (error == 0)
		FUZZ_CHECK(!refused);
	return error;
}

static int step_create(void)
{
	static void (*const fills[])(void) = {fill_cq,   fill_qp,   fill_qp,   fill_rmp,
					      fill_mkey, fill_mkey, fill_small};
	struct made *keep = &objects[fuzz_u8(&in) % KEEP];
	uint32_t live_before = rig.kern->object_fresh;
	uint8_t which = fuzz_u8(&in);
	int error;

	if (which >= 0xd0)
		fill_rss(which);
	else
		fills[which % 7]();
	damage();
	error = check_answer(devx_create(&rig, &devx));
	if (!error)
		*keep = (struct made){devx.handle, devx_number(&devx),
				      (enum cmd_opcode)cmd_get(devx.in, CMD_OPCODE)};
	else
		FUZZ_CHECK(rig.kern->object_fresh <= live_before + 1);
	return error;
}

static void fill_edge(uint8_t *qpc)
{
	uint8_t *ads = qpc + CMD_QPC_PATH;

	cmd_set(qpc, CMD_QPC_MTU, 1 + fuzz_u8(&in) % 6);
	cmd_set(qpc, CMD_QPC_REMOTE_QPN, pick(CMD_CREATE_QP)->number);
	cmd_set(qpc, CMD_QPC_RRE, 1);
	cmd_set(qpc, CMD_QPC_RWE, 1);
	cmd_set(qpc, CMD_QPC_RAE, 1);
	cmd_set(qpc, CMD_QPC_MIN_RNR_NAK, 1);
	cmd_set(qpc, CMD_QPC_RETRY_COUNT, 7);
	cmd_set(ads, CMD_ADS_PORT, 1);
	cmd_set(ads, CMD_ADS_ACK_TIMEOUT, 10);
	cmd_set(ads, CMD_ADS_UDP_SPORT, fuzz_u16(&in));
	memcpy(ads + CMD_ADS_DGID, rig.config.gids[0], 16);
}

/* A receive queue's state, or a table's list. */
static int modify_rss(uint8_t which)
{
	const struct made *object = pick(which & 1 ? CMD_CREATE_RQT : CMD_CREATE_RQ);

	if (which & 1) {
		fill_rqt(CMD_MODIFY_RQT);
		be64_store(devx.in + CMD_RSS_MODIFY_MASK, CMD_RQT_CHANGE_LIST);
	} else {
		devx_in(&devx, CMD_MODIFY_RQ, CMD_RSS_CONTEXT + CMD_RQC_BYTES, 16);
		cmd_set(devx.in, CMD_RQ_STATE, which >> 1 & 1);
		cmd_set(devx.in + CMD_RSS_CONTEXT, CMD_RQC_STATE, which >> 2 & 3);
	}
	devx.handle = object->handle;
	cmd_set(devx.in, CMD_NUMBER, object->number);
	damage();
	return check_answer(devx_modify(&rig, &devx));
}

static int step_modify(void)
{
	static const enum cmd_opcode edges[] = {CMD_RST2INIT_QP,  CMD_INIT2RTR_QP,  CMD_RTR2RTS_QP,
						CMD_RTS2RTS_QP,   CMD_INIT2INIT_QP, CMD_2RST_QP,
						CMD_SQERR2RTS_QP, CMD_2ERR_QP,      CMD_MODIFY_CQ};
	const struct made *qp = pick(CMD_CREATE_QP);
	uint8_t which = fuzz_u8(&in);

	if (which >> 4 == 7)
		return modify_rss(which);
	/* Mostly up to RTS, one after the other. */
	for (uint8_t i = 0; i < (which & 0x80 ? 3 : 1); i++) {
		devx_in(&devx, edges[which & 0x80 ? i : which % 9], 464, 16);
		devx.handle = qp->handle;
		cmd_set(devx.in, CMD_NUMBER, qp->number);
		fill_edge(devx.in + CMD_QP_QPC);
		damage();
		(void)check_answer(devx_modify(&rig, &devx));
	}
	return 0;
}

static int step_query(void)
{
	static const enum cmd_opcode opcodes[] = {CMD_QUERY_QP, CMD_QUERY_CQ,
						  CMD_QUERY_GENERAL_OBJECT, CMD_QUERY_RQ};
	static const enum cmd_opcode general[] = {CMD_QUERY_HCA_CAP, CMD_QUERY_LAG, CMD_NOP,
						  CMD_QUERY_HCA_VPORT_CONTEXT};
	uint8_t which = fuzz_u8(&in);
	const struct made *object = pick(which % 4 == 3 ? CMD_CREATE_RQ
					 : which & 4    ? CMD_CREATE_QP
							: CMD_CREATE_CQ);

	if (which & 0x40) {
		devx_in(&devx, general[which % 4], 16, (uint16_t)(16 + fuzz_u16(&in) % 5000));
		cmd_set(devx.in, CMD_OP_MOD, fuzz_u8(&in) % 80);
		damage();
		return check_answer(devx_other(&rig, &devx));
	}
	devx_in(&devx, opcodes[which % 4], 16, (uint16_t)(16 + fuzz_u8(&in) * 2));
	devx.handle = object->handle;
	cmd_set(devx.in, CMD_NUMBER, object->number);
	damage();
	if (which & 0x80)
		return devx_async_query(&rig, &devx, RIG_FD_FIRST + fuzz_u8(&in) % 4, fuzz_u8(&in));
	return check_answer(devx_query(&rig, &devx));
}

/* ---- the rest ----------------------------------------------------------------------------------
 */

static void cover(uint32_t which, uint32_t cell, uint32_t cells)
{
	umems[which].cell = cell;
	umems[which].cells = cells;
	memset(covered + cell, true, cells);
}

static int step_umem(void)
{
	uint32_t which = pick_umem();
	uint32_t cell = fuzz_u8(&in) % CELLS, cells = 1 + fuzz_u8(&in) % 24;
	int error;

	if (cell + cells > CELLS)
		cells = CELLS - cell;
	error = devx_umem(&rig, field + cell * CELL_BYTES, cells * CELL_BYTES, fuzz_u8(&in) % 4,
			  &umems[which].handle, &umems[which].id);
	if (error)
		return error;
	cover(which, cell, cells);
	return 0;
}

static int step_destroy(void)
{
	uint8_t which = fuzz_u8(&in);

	if (which & 0x80)
		return devx_umem_destroy(&rig, umems[which % KEEP].handle);
	return devx_destroy(&rig, objects[which % KEEP].handle);
}

static int step_channel(void)
{
	struct rig_channel *channel = &rig.channels[fuzz_u8(&in) % RIG_CHANNELS];
	uint16_t events[4];
	uint8_t which = fuzz_u8(&in);
	int fd;

	switch (which % 4) {
	case 0:
		return devx_event_channel(&rig, which >> 7, &fd);
	case 1:
		return devx_cmd_channel(&rig, &fd);
	case 2:
		if (!channel->open)
			return 0;
		kern_channel_release(channel->kern);
		channel->open = false;
		return 0;
	default:
		for (unsigned int i = 0; i < 4; i++)
			events[i] = fuzz_u8(&in) % 32;
		return devx_subscribe(&rig, RIG_FD_FIRST + fuzz_u8(&in) % 4,
				      which & 0x40 ? UINT32_MAX : pick(0)->handle, events,
				      1 + which / 4 % 4, which);
	}
}

/* Words into what the application owns: entries, doorbell records, a register. */
static int step_write(void)
{
	uint32_t which = pick_umem();
	uint32_t count = 1 + fuzz_u8(&in) % 16;
	uint64_t word;

	if (umems[which].cells == 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = fuzz_u16(&in) % (umems[which].cells * CELL_BYTES / 4) * 4;
		uint32_t value = fuzz_u8(&in) & 1 ? fuzz_u8(&in) : fuzz_u32(&in);

		be32_store(field + umems[which].cell * CELL_BYTES + at, value);
	}
	be32_store(&word, fuzz_u32(&in));
	be32_store((uint8_t *)&word + 4, pick(CMD_CREATE_QP)->number << 8 | 2);
	memcpy(rig.pages + 4096 * (size_t)page + DB_UAR_BF0, &word, sizeof(word));
	nic_scan(rig.nic, rig.now_ns);
	return 0;
}

static int step(void)
{
	uint8_t op = fuzz_u8(&in);

	if (op < 0x60)
		return step_create();
	switch (op % 8) {
	case 0:
	case 1:
		return step_umem();
	case 2:
		return step_modify();
	case 3:
		return step_query();
	case 4:
		return step_destroy();
	case 5:
		return step_channel();
	default:
		return step_write();
	}
}

/* Umems, and a queue pair that is its own peer, so that histories need not begin at nothing. */
static void start_with_objects(void)
{
	struct devx_cq cq;
	struct devx_qp qp = {.rq_count = 8, .sq_count = 8};

	for (uint32_t i = 0; i < KEEP / 2; i++) {
		cover(i, 40 * i, 32);
		FUZZ_CHECK(devx_umem(&rig, field + 40 * i * CELL_BYTES, 32 * CELL_BYTES, 1,
				     &umems[i].handle, &umems[i].id) == 0);
	}
	FUZZ_CHECK(devx_cq(&rig, page, 4, &cq) == 0);
	objects[0] = (struct made){cq.handle, cq.number, CMD_CREATE_CQ};
	FUZZ_CHECK(devx_qp(&rig, page, pdn, cq.number, &qp) == 0);
	objects[1] = (struct made){qp.handle, qp.number, CMD_CREATE_QP};
	FUZZ_CHECK(devx_connect(&rig, qp.handle, qp.number, qp.number, rig.config.gids[0]) == 0);
}

static void start(void)
{
	uint32_t handle;

	memset(covered, 0, sizeof(covered));
	memset(umems, 0, sizeof(umems));
	memset(objects, 0, sizeof(objects));
	kern_rig_open(&rig);
	FUZZ_CHECK(rig_context(&rig) == 0);
	FUZZ_CHECK(rig_uar(&rig, &handle, &page) == 0);
	devx_in(&devx, CMD_ALLOC_PD, 16, 16);
	FUZZ_CHECK(devx_create(&rig, &devx) == 0);
	pdn = devx_number(&devx);
	field = rig_alloc(&rig, FIELD_BYTES);
	memset(field, PATTERN, FIELD_BYTES);
	if (fuzz_u8(&in) & 1)
		start_with_objects();
	memory_mark = rig.memory_used;
}

static void check_field(void)
{
	for (uint32_t cell = 0; cell < CELLS; cell++)
		for (uint32_t i = 0; i < CELL_BYTES && !covered[cell]; i++)
			FUZZ_CHECK(field[cell * CELL_BYTES + i] == PATTERN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return 0;
	in = (struct fuzz_in){data, size};
	start();
	for (unsigned int i = 0; i < STEPS_MAX && in.left; i++) {
		int error;

		rig.memory_used = memory_mark;
		error = step();
		FUZZ_CHECK(error <= 0 && error > -4096);
		rig.now_ns += 1000000;
		rig_pump(&rig);
		for (unsigned int c = 0; c < RIG_CHANNELS; c++)
			rig.channels[c].count = 0;
		nic_check(rig.nic);
		check_field();
	}
	kern_rig_close(&rig);
	return 0;
}
