/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: receive queues, tables of them and TIRs that firmware commands make bring each frame to
 * the queue of its hash, are moved, queried, changed and destroyed by command, and what each
 * refusal looks like. By mailboxes built field by field, as DPDK builds them.
 */
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "nic/rss.h"
#include "tests/support/devx_world.h"
#include "tests/support/raw_frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { QUEUES = 4, LOG_WQES = 2, LOG_STRIDE = 4, UIDX = 0x40, UMEM_BYTES = 256 };

enum { CHOSEN = RAW_FRAME_HASH % QUEUES };

struct queue {
	uint32_t handle, number, umem, umem_id;
	uint8_t *ring; /* and the doorbell record 128 bytes on, in one umem as DPDK has it */
};

static struct queue queues[QUEUES];
static uint32_t domain, domain_handle;
static struct raw_sender sender;
static struct rig_cq sent; /* its completions */

/* ---- commands -------------------------------------------------------------------------------- */

static void rq_in(const struct queue *queue)
{
	uint8_t *rqc = world.devx.in + CMD_RSS_CONTEXT, *wq = rqc + CMD_RQC_WQ;

	devx_in(&world.devx, CMD_CREATE_RQ, CMD_RSS_CONTEXT + CMD_RQC_BYTES, 16);
	cmd_set(rqc, CMD_RQC_KEEP_VLAN, 1);
	cmd_set(rqc, CMD_RQC_FLUSH, 1);
	cmd_set(rqc, CMD_RQC_USER_INDEX, UIDX + (uint32_t)(queue - queues));
	cmd_set(rqc, CMD_RQC_CQN, world.cq.number);
	cmd_set(wq, CMD_WQ_TYPE, CMD_WQ_CYCLIC);
	cmd_set(wq, CMD_WQ_PD, world.pdn);
	cmd_set(wq, CMD_WQ_LOG_STRIDE, LOG_STRIDE);
	cmd_set(wq, CMD_WQ_LOG_SIZE, LOG_WQES);
	cmd_set(wq, CMD_WQ_UMEM_ID, queue->umem_id);
	be64_store(wq + CMD_WQ_UMEM_OFFSET, 64);
	cmd_set(wq, CMD_WQ_DBR_UMEM_ID, queue->umem_id);
	be64_store(wq + CMD_WQ_DBR_OFFSET, 192);
}

static int create(uint32_t *handle, uint32_t *number)
{
	int error = devx_create(&world.rig, &world.devx);

	*handle = world.devx.handle;
	*number = devx_number(&world.devx);
	return error;
}

static int move(const struct queue *queue, uint32_t from, uint32_t to)
{
	devx_in(&world.devx, CMD_MODIFY_RQ, CMD_RSS_CONTEXT + CMD_RQC_BYTES, 16);
	cmd_set(world.devx.in, CMD_NUMBER, queue->number);
	cmd_set(world.devx.in, CMD_RQ_STATE, from);
	cmd_set(world.devx.in + CMD_RSS_CONTEXT, CMD_RQC_STATE, to);
	world.devx.handle = queue->handle;
	return devx_modify(&world.rig, &world.devx);
}

static void rqt_in(enum cmd_opcode opcode, const uint32_t *numbers, uint32_t count)
{
	uint8_t *rqtc = world.devx.in + CMD_RSS_CONTEXT;

	devx_in(&world.devx, opcode, (uint16_t)(CMD_RSS_CONTEXT + CMD_RQTC_LIST + 4 * count), 16);
	cmd_set(rqtc, CMD_RQTC_MAX_SIZE, QUEUES);
	cmd_set(rqtc, CMD_RQTC_SIZE, count);
	for (uint32_t i = 0; i < count; i++)
		be32_store(rqtc + CMD_RQTC_LIST + 4 * i, numbers[i]);
}

static int make_table(uint32_t *handle, uint32_t *rqtn)
{
	uint32_t numbers[QUEUES];

	for (uint32_t i = 0; i < QUEUES; i++)
		numbers[i] = queues[i].number;
	rqt_in(CMD_CREATE_RQT, numbers, QUEUES);
	return create(handle, rqtn);
}

static int change_table(uint32_t handle, uint32_t rqtn, const uint32_t *numbers, uint32_t count)
{
	rqt_in(CMD_MODIFY_RQT, numbers, count);
	cmd_set(world.devx.in, CMD_NUMBER, rqtn);
	be64_store(world.devx.in + CMD_RSS_MODIFY_MASK, CMD_RQT_CHANGE_LIST);
	world.devx.handle = handle;
	return devx_modify(&world.rig, &world.devx);
}

static void tir_in(uint32_t rqtn)
{
	uint8_t *tirc = world.devx.in + CMD_RSS_CONTEXT;

	devx_in(&world.devx, CMD_CREATE_TIR, CMD_RSS_CONTEXT + CMD_TIRC_BYTES, 16);
	cmd_set(tirc, CMD_TIRC_KIND, CMD_TIRC_INDIRECT);
	cmd_set(tirc, CMD_TIRC_RQTN, rqtn);
	cmd_set(tirc, CMD_TIRC_HASH, CMD_TIRC_HASH_TOEPLITZ);
	cmd_set(tirc, CMD_TIRC_DOMAIN, domain);
	cmd_set(tirc, CMD_TIRC_FIELDS, CMD_TIRC_SRC_IP | CMD_TIRC_DST_IP);
	memcpy(tirc + CMD_TIRC_KEY, raw_frame_key, NIC_HASH_KEY_BYTES);
}

static void direct_tir_in(uint32_t rqn)
{
	uint8_t *tirc = world.devx.in + CMD_RSS_CONTEXT;

	devx_in(&world.devx, CMD_CREATE_TIR, CMD_RSS_CONTEXT + CMD_TIRC_BYTES, 16);
	cmd_set(tirc, CMD_TIRC_KIND, CMD_TIRC_DIRECT);
	cmd_set(tirc, CMD_TIRC_RQN, rqn);
}

/* ---- the world ------------------------------------------------------------------------------- */

static void make_umem(struct queue *queue)
{
	uint8_t *memory = rig_alloc(&world.rig, UMEM_BYTES);

	assert_int_equal(
	    devx_umem(&world.rig, memory, UMEM_BYTES, 1, &queue->umem, &queue->umem_id), 0);
	queue->ring = memory + 64;
}

static int open_rss(void **state)
{
	struct kern_rig *rig = &world.rig;

	assert_int_equal(devx_world_open(state), 0);
	devx_in(&world.devx, CMD_ALLOC_TRANSPORT_DOMAIN, 16, 16);
	assert_int_equal(create(&domain_handle, &domain), 0);
	for (uint32_t i = 0; i < QUEUES; i++) {
		make_umem(&queues[i]);
		rq_in(&queues[i]);
		assert_int_equal(create(&queues[i].handle, &queues[i].number), 0);
	}
	sent = (struct rig_cq){.cqe = 15, .comp_fd = -1, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &sent), 0);
	raw_sender_make(rig, &sender, world.pd, &sent, world.memory + 2048, world.mr.lkey);
	return 0;
}

static int close_rss(void **state)
{
	nic_check(world.rig.nic);
	return devx_world_close(state);
}

/* Rules are made by nobody's command yet: as the kernel makes one. */
static uint32_t lead_to(uint32_t tirn)
{
	struct nic_rule rule = {.tirn = tirn};
	uint32_t number;

	assert_int_equal(nic_rule_create(world.rig.nic, &rule, &number), 0);
	return number;
}

static void post(const struct queue *queue, uint16_t n)
{
	struct wqe_data_seg *receive = (void *)(queue->ring + ((size_t)(n - 1) << LOG_STRIDE));
	uint32_t count = be32_from(n).raw;

	*receive = (struct wqe_data_seg){be32_from(RAW_FRAME_BYTES), be32_from(world.mr.lkey),
					 be64_from(rig_va(world.memory))};
	memcpy(queue->ring + 128 + 4 * DB_RECV, &count, sizeof(count));
}

/* Sends a frame; whose the n-th completion of all is then, or -1. */
static int frame_comes_to(uint32_t n)
{
	const struct cqe64 *cqe = (const void *)(world.cq.ring + (size_t)n * 64);

	memset(world.memory, 0, RAW_FRAME_BYTES);
	raw_sender_send(&world.rig, &sender);
	if (cqe->op_own >> 4 != CQE_RESP_SEND)
		return -1;
	assert_memory_equal(world.memory, world.memory + 2048, RAW_FRAME_BYTES);
	return (int)(be32_to(cqe->srqn_uidx) & 0xffffff) - UIDX;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void frames_come_to_the_queue_of_their_hash(void **state)
{
	uint32_t table, rqtn, tir, tirn, rule;

	(void)state;
	assert_int_equal(make_table(&table, &rqtn), 0);
	tir_in(rqtn);
	assert_int_equal(create(&tir, &tirn), 0);
	rule = lead_to(tirn);
	for (uint32_t i = 0; i < QUEUES; i++)
		post(&queues[i], 1);
	assert_int_equal(frame_comes_to(0), -1); /* no queue is ready */
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(move(&queues[i], CMD_RQC_STATE_RST, CMD_RQC_STATE_RDY), 0);
	assert_int_equal(frame_comes_to(0), CHOSEN);
	/* Another key, another queue: here the first, as of a key of zeroes. */
	nic_rule_destroy(world.rig.nic, rule);
	assert_int_equal(devx_destroy(&world.rig, tir), 0);
	tir_in(rqtn);
	memset(world.devx.in + CMD_RSS_CONTEXT + CMD_TIRC_KEY, 0, NIC_HASH_KEY_BYTES);
	assert_int_equal(create(&tir, &tirn), 0);
	rule = lead_to(tirn);
	assert_int_equal(frame_comes_to(1), 0);
	nic_rule_destroy(world.rig.nic, rule);
	/* Who is named stays. */
	assert_int_equal(devx_destroy(&world.rig, queues[0].handle), -EBUSY);
	assert_int_equal(devx_destroy(&world.rig, table), -EBUSY);
	assert_int_equal(devx_destroy(&world.rig, domain_handle), -EBUSY);
	assert_int_equal(devx_destroy(&world.rig, tir), 0);
	assert_int_equal(devx_destroy(&world.rig, table), 0);
	assert_int_equal(devx_umem_destroy(&world.rig, queues[0].umem), -EBUSY);
	assert_int_equal(devx_destroy(&world.rig, world.cq.handle), -EBUSY);
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(devx_destroy(&world.rig, queues[i].handle), 0);
	assert_int_equal(devx_umem_destroy(&world.rig, queues[0].umem), 0);
}

/* The hash of every choice of fields is that of the verbs' mask. */
static void fields(void **state)
{
	uint32_t table, rqtn;

	(void)state;
	assert_int_equal(make_table(&table, &rqtn), 0);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t ips = NIC_HASH_SRC_IPV4_F | NIC_HASH_DST_IPV4_F, tir, tirn;
		const struct nic_tir_attr *attr;
		bool ipv6 = i & 16, udp = i & 32;

		tir_in(rqtn);
		cmd_set(world.devx.in + CMD_RSS_CONTEXT, CMD_TIRC_FIELDS, i & 15);
		cmd_set(world.devx.in + CMD_RSS_CONTEXT, CMD_TIRC_IPV6, ipv6);
		cmd_set(world.devx.in + CMD_RSS_CONTEXT, CMD_TIRC_UDP, udp);
		assert_int_equal(create(&tir, &tirn), 0);
		attr = &nic_tir_find(world.rig.nic, tirn)->attr;
		assert_int_equal(attr->fields, (i & ips) << (ipv6 ? 2 : 0) | (i >> 2 & 3)
										 << (udp ? 6 : 4));
		assert_memory_equal(attr->key, raw_frame_key, NIC_HASH_KEY_BYTES);
		assert_int_equal(devx_destroy(&world.rig, tir), 0);
	}
}

/* One queue, without a table or a transport domain, as rdma-core's tests ask. */
static void direct(void **state)
{
	uint32_t tir, tirn, rule;

	(void)state;
	direct_tir_in(queues[3].number);
	assert_int_equal(create(&tir, &tirn), 0);
	rule = lead_to(tirn);
	assert_int_equal(move(&queues[3], CMD_RQC_STATE_RST, CMD_RQC_STATE_RDY), 0);
	post(&queues[3], 1);
	assert_int_equal(frame_comes_to(0), 3);
	nic_rule_destroy(world.rig.nic, rule);
	assert_int_equal(devx_destroy(&world.rig, queues[3].handle), -EBUSY);
	/* Its table goes with it: more of them than there are tables. */
	for (uint32_t i = 0; i < 2 * NIC_RQTS_MAX; i++) {
		assert_int_equal(devx_destroy(&world.rig, tir), 0);
		direct_tir_in(queues[3].number);
		assert_int_equal(create(&tir, &tirn), 0);
	}
	assert_int_equal(devx_destroy(&world.rig, tir), 0);
	assert_int_equal(devx_destroy(&world.rig, queues[3].handle), 0);
}

/* A table gets other queues, also newer ones than itself, and is shorter or longer. */
static void tables_that_change(void **state)
{
	uint32_t table, rqtn, tir, tirn, rule, one, mixed[QUEUES], too_many[2 * QUEUES] = {0};
	struct queue newer;

	(void)state;
	assert_int_equal(make_table(&table, &rqtn), 0);
	tir_in(rqtn);
	assert_int_equal(create(&tir, &tirn), 0);
	rule = lead_to(tirn);
	make_umem(&newer);
	rq_in(&queues[1]);
	cmd_set(world.devx.in + CMD_RSS_CONTEXT + CMD_RQC_WQ, CMD_WQ_UMEM_ID, newer.umem_id);
	cmd_set(world.devx.in + CMD_RSS_CONTEXT + CMD_RQC_WQ, CMD_WQ_DBR_UMEM_ID, newer.umem_id);
	assert_int_equal(create(&newer.handle, &newer.number), 0);
	assert_int_equal(move(&newer, CMD_RQC_STATE_RST, CMD_RQC_STATE_RDY), 0);
	post(&newer, 1);
	one = newer.number;
	assert_int_equal(change_table(table, rqtn, &one, 1), 0);
	assert_int_equal(frame_comes_to(0), 1);
	assert_int_equal(devx_destroy(&world.rig, newer.handle), -EBUSY);
	assert_int_equal(devx_destroy(&world.rig, queues[3].handle), 0);
	/* What is refused changes nothing. */
	devx_world_refused(change_table(table, rqtn, &queues[3].number, 1), CMD_BAD_RES);
	for (uint32_t i = 0; i < 2 * QUEUES; i++)
		too_many[i] = newer.number;
	devx_world_refused(change_table(table, rqtn, too_many, 2 * QUEUES), CMD_BAD_PARAM);
	devx_world_refused(change_table(table, rqtn, too_many, 3), CMD_BAD_PARAM);
	rqt_in(CMD_MODIFY_RQT, &one, 1);
	cmd_set(world.devx.in, CMD_NUMBER, rqtn);
	world.devx.handle = table;
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_PARAM);
	for (uint32_t i = 0; i < QUEUES; i++)
		mixed[i] = i % 2 ? newer.number : queues[i].number;
	assert_int_equal(change_table(table, rqtn, mixed, QUEUES), 0);
	nic_check(world.rig.nic);
	nic_rule_destroy(world.rig.nic, rule);
	/* The context closes, with queues that are newer than what holds them. */
	kern_close(world.rig.file, world.rig.now_ns);
	assert_int_equal(kern_open(world.rig.kern, &world.rig.file), 0);
}

static void states_and_queries(void **state)
{
	const uint8_t *rqc = world.devx.out + CMD_RSS_CONTEXT, *wq = rqc + CMD_RQC_WQ;

	(void)state;
	devx_world_refused(move(&queues[0], CMD_RQC_STATE_RDY, CMD_RQC_STATE_RST),
			   CMD_BAD_RES_STATE);
	devx_world_refused(move(&queues[0], CMD_RQC_STATE_RST, 2), CMD_BAD_PARAM);
	devx_world_refused(move(&queues[0], 2, CMD_RQC_STATE_RDY), CMD_BAD_PARAM);
	devx_world_refused(move(&queues[0], 9, CMD_RQC_STATE_RDY), CMD_BAD_PARAM);
	devx_world_refused(move(&queues[0], CMD_RQC_STATE_RST, 9), CMD_BAD_PARAM);
	devx_world_refused(move(&queues[0], CMD_RQC_STATE_RST, CMD_RQC_STATE_ERR), CMD_BAD_PARAM);
	assert_int_equal(move(&queues[0], CMD_RQC_STATE_RST, CMD_RQC_STATE_RDY), 0);
	devx_in(&world.devx, CMD_QUERY_RQ, 16, CMD_RSS_CONTEXT + CMD_RQC_BYTES);
	cmd_set(world.devx.in, CMD_NUMBER, queues[0].number);
	world.devx.handle = queues[0].handle;
	assert_int_equal(devx_query(&world.rig, &world.devx), 0);
	assert_int_equal(cmd_get(rqc, CMD_RQC_STATE), CMD_RQC_STATE_RDY);
	assert_int_equal(cmd_get(rqc, CMD_RQC_USER_INDEX), UIDX);
	assert_int_equal(cmd_get(rqc, CMD_RQC_CQN), world.cq.number);
	assert_int_equal(cmd_get(wq, CMD_WQ_PD), world.pdn);
	assert_int_equal(cmd_get(wq, CMD_WQ_LOG_SIZE), LOG_WQES);
	assert_int_equal(cmd_get(wq, CMD_WQ_LOG_STRIDE), LOG_STRIDE);
	post(&queues[0], 2);
	assert_int_equal(move(&queues[0], CMD_RQC_STATE_RDY, CMD_RQC_STATE_ERR), 0);
	rig_pump(&world.rig);
	assert_int_equal(world.cq.ring[63] >> 4, CQE_RESP_ERR);
	assert_int_equal(move(&queues[0], CMD_RQC_STATE_ERR, CMD_RQC_STATE_RST), 0);
	/* Not what the NIC has. */
	devx_in(&world.devx, CMD_MODIFY_RQ, CMD_RSS_CONTEXT + CMD_RQC_BYTES, 16);
	cmd_set(world.devx.in, CMD_NUMBER, queues[0].number);
	be64_store(world.devx.in + CMD_RSS_MODIFY_MASK, 1);
	world.devx.handle = queues[0].handle;
	devx_world_refused(devx_modify(&world.rig, &world.devx), CMD_BAD_PARAM);
}

struct row {
	const char *name;
	struct cmd_field field;
	uint32_t value;
	enum cmd_status status;
};

static void refused(const struct row *row, uint32_t base)
{
	int error;

	cmd_set(world.devx.in + base, row->field, row->value);
	error = devx_create(&world.rig, &world.devx);
	if (error != -EREMOTEIO || devx_status(&world.devx) != row->status)
		fail_msg("%s: %d, status %d", row->name, error, (int)devx_status(&world.devx));
}

static void queues_that_are_refused(void **state)
{
	static const struct row rows[] = {
	    {"reserved key", {0x00, 31, 1}, 1, CMD_BAD_PARAM},
	    {"delay", {0x00, 30, 1}, 1, CMD_BAD_PARAM},
	    {"check sequence", {0x00, 29, 1}, 1, CMD_BAD_PARAM},
	    {"tags taken out", {0x00, 28, 1}, 0, CMD_BAD_PARAM},
	    {"a pool", {0x00, 24, 4}, 1, CMD_BAD_PARAM},
	    {"ready at once", {0x00, 20, 4}, 1, CMD_BAD_PARAM},
	    {"hairpin", {0x00, 17, 1}, 1, CMD_BAD_PARAM},
	    {"real time", {0x00, 4, 2}, 2, CMD_BAD_PARAM},
	    {"no such CQ", {0x08, 0, 24}, 0xabc, CMD_BAD_RES},
	    {"counters", {0x0c, 24, 8}, 1, CMD_BAD_PARAM},
	    {"list", {0x30, 28, 4}, 0, CMD_BAD_PARAM},
	    {"striding", {0x30, 28, 4}, 3, CMD_BAD_PARAM},
	    {"no such domain", {0x38, 0, 24}, 0xabc, CMD_BAD_RES},
	    {"longer than the umem", {0x50, 0, 5}, 4, CMD_BAD_RES},
	    {"too long", {0x50, 0, 5}, 16, CMD_BAD_PARAM},
	    {"longest", {0x50, 0, 5}, 31, CMD_BAD_PARAM},
	    {"no room for a piece", {0x50, 16, 4}, 3, CMD_BAD_PARAM},
	    {"no umem", {0x5c, 0, 32}, 0, CMD_BAD_RES},
	    {"crooked", {0x64, 0, 32}, 96, CMD_BAD_PARAM},
	    {"outside", {0x64, 0, 32}, 256, CMD_BAD_RES},
	    {"no record", {0x58, 0, 32}, 0, CMD_BAD_RES},
	    {"record outside", {0x44, 0, 32}, 256, CMD_BAD_RES},
	    {"crooked record", {0x44, 0, 32}, 196, CMD_BAD_PARAM},
	};
	struct queue queue;

	(void)state;
	make_umem(&queue);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rq_in(&queues[0]);
		refused(&rows[i], CMD_RSS_CONTEXT);
	}
	rq_in(&queues[0]);
	world.devx.in_len = CMD_RSS_CONTEXT + 16;
	devx_world_refused(devx_create(&world.rig, &world.devx), CMD_BAD_INP_LEN);
	rq_in(&queues[0]);
	assert_int_equal(create(&queue.handle, &queue.number), 0);
}

static void tables_that_are_refused(void **state)
{
	static const struct row rows[] = {
	    {"none", {0x18, 0, 16}, 0, CMD_BAD_PARAM},
	    {"three", {0x18, 0, 16}, 3, CMD_BAD_PARAM},
	    {"more than it may", {0x14, 0, 16}, 2, CMD_BAD_PARAM},
	    {"may be too many", {0x14, 0, 16}, 256, CMD_BAD_PARAM},
	    {"too many", {0x18, 0, 16}, 256, CMD_BAD_PARAM},
	    {"more than are there", {0x18, 0, 16}, 8, CMD_BAD_INP_LEN},
	    {"of another type", {0x14, 24, 3}, 1, CMD_BAD_PARAM},
	    {"no such queue", {0xf8, 0, 24}, 0xabc, CMD_BAD_RES},
	};
	uint32_t numbers[QUEUES];

	(void)state;
	for (uint32_t i = 0; i < QUEUES; i++)
		numbers[i] = queues[i].number;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rqt_in(CMD_CREATE_RQT, numbers, QUEUES);
		refused(&rows[i], CMD_RSS_CONTEXT);
	}
	numbers[2] = world.qp.number; /* of another type */
	rqt_in(CMD_CREATE_RQT, numbers, QUEUES);
	devx_world_refused(devx_create(&world.rig, &world.devx), CMD_BAD_RES);
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(devx_destroy(&world.rig, queues[i].handle), 0);
}

static void tirs_that_are_refused(void **state)
{
	static const struct row rows[] = {
	    {"kind", {0x04, 28, 4}, 2, CMD_BAD_PARAM},
	    {"TLS", {0x04, 27, 1}, 1, CMD_BAD_PARAM},
	    {"merged", {0x10, 8, 4}, 1, CMD_BAD_PARAM},
	    {"symmetric", {0x20, 31, 1}, 1, CMD_BAD_PARAM},
	    {"tunnels", {0x20, 29, 1}, 1, CMD_BAD_PARAM},
	    {"no such table", {0x20, 0, 24}, 77, CMD_BAD_RES},
	    {"no hash", {0x24, 28, 4}, 0, CMD_BAD_PARAM},
	    {"XOR", {0x24, 28, 4}, 1, CMD_BAD_PARAM},
	    {"not its own", {0x24, 24, 2}, 1, CMD_BAD_PARAM},
	    {"no such domain", {0x24, 0, 24}, 0xabc, CMD_BAD_RES},
	    {"IPsec", {0x50, 4, 1}, 1, CMD_BAD_PARAM},
	    {"inner", {0x54, 0, 1}, 1, CMD_BAD_PARAM},
	};
	uint32_t table, rqtn;

	(void)state;
	assert_int_equal(make_table(&table, &rqtn), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tir_in(rqtn);
		refused(&rows[i], CMD_RSS_CONTEXT);
	}
	direct_tir_in(0xabc);
	devx_world_refused(devx_create(&world.rig, &world.devx), CMD_BAD_RES);
	assert_int_equal(devx_destroy(&world.rig, table), 0);
	assert_int_equal(devx_destroy(&world.rig, domain_handle), 0);
}

/* There are no frames on InfiniBand. */
static void infiniband(void **state)
{
	static const uint16_t opcodes[] = {CMD_CREATE_RQ, CMD_CREATE_RQT, CMD_CREATE_TIR};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		devx_in(&world.devx, opcodes[i], 0x120, 16);
		devx_world_refused(devx_create(&world.rig, &world.devx), CMD_BAD_OP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(frames_come_to_the_queue_of_their_hash, open_rss,
					    close_rss),
	    cmocka_unit_test_setup_teardown(fields, open_rss, close_rss),
	    cmocka_unit_test_setup_teardown(direct, open_rss, close_rss),
	    cmocka_unit_test_setup_teardown(tables_that_change, open_rss, close_rss),
	    cmocka_unit_test_setup_teardown(states_and_queries, open_rss, close_rss),
	    cmocka_unit_test_setup_teardown(queues_that_are_refused, open_rss, close_rss),
	    cmocka_unit_test_setup_teardown(tables_that_are_refused, open_rss, close_rss),
	    cmocka_unit_test_setup_teardown(tirs_that_are_refused, open_rss, close_rss),
	    cmocka_unit_test_setup_teardown(infiniband, devx_world_open_infiniband,
					    devx_world_close),
	};

	return cmocka_run_group_tests_name("kern_devx_rss", tests, NULL, NULL);
}
