/* SPDX-License-Identifier: BSD-2-Clause */
/* history_build.c - the NIC of a history, its objects, and the world it asks for things. */
#include "tests/support/history_impl.h"

#include "abi/roce.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

/* ---- nic_env ---- */

static bool mem_read(void *ctx, void *dst, uint64_t va, size_t len)
{
	return sim_memory_read(&((struct history *)ctx)->memory, dst, va, len);
}

static bool mem_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	return sim_memory_write(&((struct history *)ctx)->memory, va, src, len);
}

static bool mem_load32(void *ctx, uint64_t va, uint32_t *value)
{
	return sim_memory_load32(&((struct history *)ctx)->memory, va, value);
}

static bool mem_store32(void *ctx, uint64_t va, uint32_t value)
{
	return sim_memory_store32(&((struct history *)ctx)->memory, va, value);
}

static bool mem_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	return sim_memory_cas64(&((struct history *)ctx)->memory, va, compare, swap, old);
}

static uint8_t *tx_reserve(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len)
{
	struct history *h = (struct history *)ctx;

	if (h->room)
		history_fail(h, "the NIC reserves twice");
	if (len < ROCE_BTH_BYTES || len > HISTORY_PACKET_MAX)
		history_fail(h, "the NIC reserves %zu bytes", len);
	if (h->wire_room == 0)
		return NULL;
	h->room = (uint8_t *)malloc(len);
	h->reserved = (struct history_sent){h->room, len, dqpn, *path};
	return h->room;
}

static void tx_commit(void *ctx)
{
	struct history *h = (struct history *)ctx;

	if (!h->room || h->sent_count == HISTORY_SENT_MAX)
		history_fail(h, "the NIC commits %s", h->room ? "too much" : "nothing");
	h->sent[h->sent_count++] = h->reserved;
	h->room = NULL;
	h->wire_room--;
}

static void tx_cancel(void *ctx)
{
	struct history *h = (struct history *)ctx;

	if (!h->room)
		history_fail(h, "the NIC cancels nothing");
	free(h->room);
	h->room = NULL;
}

static bool tx_untaken(void *ctx, const struct nic_path *path, uint32_t dqpn)
{
	struct history *h = (struct history *)ctx;

	(void)path;
	if (dqpn != HISTORY_PEER_QPN)
		history_fail(h, "tx_untaken asks for queue pair 0x%x", dqpn);
	return h->untaken;
}

static int qpn_block(void *ctx, uint32_t *block)
{
	(void)ctx;
	*block = HISTORY_QPN_BLOCK;
	return 0;
}

static void event(void *ctx, const struct nic_event *e)
{
	struct history *h = (struct history *)ctx;

	if (h->event_count == HISTORY_EVENTS_MAX)
		history_fail(h, "too many events");
	h->events[h->event_count++] = e->kind;
}

/* ---- objects ---- */

static void add_key(struct history *h, const char *name, uint32_t key)
{
	assert_true(h->key_count < HISTORY_KEYS_MAX);
	h->keys[h->key_count++] = (struct history_key){name, key};
}

static void make_region(struct history *h, const char *name, uint32_t pdn, uint32_t access,
			uint64_t len_bytes)
{
	struct nic_mkey_attr attr = {
		.pdn = pdn,
		.access = access,
		.va = h->data_va,
		.len_bytes = len_bytes,
		.host_va = h->data_va,
	};
	uint32_t key;

	assert_int_equal(nic_mkey_create(h->nic, &attr, &key), 0);
	add_key(h, name, key);
}

static void make_regions(struct history *h)
{
	uint32_t remote = NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F |
			  NIC_ACCESS_REMOTE_ATOMIC_F;
	uint32_t all = NIC_ACCESS_LOCAL_WRITE_F | remote;

	make_region(h, "data", h->pdn, all, HISTORY_DATA_BYTES);
	make_region(h, "local", h->pdn, NIC_ACCESS_LOCAL_WRITE_F, HISTORY_DATA_BYTES);
	make_region(h, "ro", h->pdn, 0, HISTORY_DATA_BYTES);
	make_region(h, "rread", h->pdn, NIC_ACCESS_REMOTE_READ_F, HISTORY_DATA_BYTES);
	make_region(h, "rwrite", h->pdn, NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F,
		    HISTORY_DATA_BYTES);
	make_region(h, "small", h->pdn, all, 4096);
	make_region(h, "alien", h->pdn_alien, all, HISTORY_DATA_BYTES);
}

uint32_t history_key(struct history *h, const char *name)
{
	if (strcmp(name, "forged") == 0)
		return history_key(h, "data") ^ 0x55;
	if (strcmp(name, "absent") == 0)
		return 0x7fff << 8;
	for (uint32_t i = 0; i < h->key_count; i++)
		if (strcmp(h->keys[i].name, name) == 0)
			return h->keys[i].key;
	history_fail(h, "no region is called %s", name);
}

static uint32_t access_bits(const char *text)
{
	uint32_t bits = 0;

	bits |= strchr(text, 'w') ? NIC_ACCESS_REMOTE_WRITE_F : 0;
	bits |= strchr(text, 'r') ? NIC_ACCESS_REMOTE_READ_F : 0;
	return bits | (strchr(text, 'a') ? NIC_ACCESS_REMOTE_ATOMIC_F : 0);
}

uint32_t history_params(struct history *h)
{
	struct nic_qp_params *p = &h->params;
	struct history_args *args = &h->args;
	uint32_t set = 0;

	if (args_has(args, "access")) {
		p->access = access_bits(args_text(args, "access", ""));
		set |= NIC_QP_SET_ACCESS_F;
	}
#define NUMBER(name, field, bit)                                                                   \
	if (args_has(args, name)) {                                                                \
		p->field = (__typeof__(p->field))args_number(args, name, 0);                       \
		set |= (bit);                                                                      \
	}
	NUMBER("mtu", mtu_bytes, NIC_QP_SET_MTU_F)
	NUMBER("timeout", timeout, NIC_QP_SET_TIMEOUT_F)
	NUMBER("retry", retry_count, NIC_QP_SET_RETRY_F)
	NUMBER("rnr_retry", rnr_retry, NIC_QP_SET_RNR_RETRY_F)
	NUMBER("min_rnr", min_rnr_timer, NIC_QP_SET_MIN_RNR_TIMER_F)
	NUMBER("rd", rd_atomic, NIC_QP_SET_RD_ATOMIC_F)
	NUMBER("dest_rd", dest_rd_atomic, NIC_QP_SET_DEST_RD_ATOMIC_F)
	NUMBER("rq_psn", rq_psn, NIC_QP_SET_RQ_PSN_F)
	NUMBER("sq_psn", sq_psn, NIC_QP_SET_SQ_PSN_F)
#undef NUMBER
	return set;
}

void history_modify(struct history *h, enum nic_qp_state state, uint32_t set)
{
	static const uint32_t needed[NIC_QP_STATE_COUNT] = {
		[NIC_QP_INIT] = NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F | NIC_QP_SET_ACCESS_F,
		[NIC_QP_RTR] = NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F |
			       NIC_QP_SET_RQ_PSN_F | NIC_QP_SET_DEST_RD_ATOMIC_F |
			       NIC_QP_SET_MIN_RNR_TIMER_F,
		[NIC_QP_RTS] = NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_RETRY_F | NIC_QP_SET_RNR_RETRY_F |
			       NIC_QP_SET_SQ_PSN_F | NIC_QP_SET_RD_ATOMIC_F,
	};
	enum nic_qp_state from;
	struct nic_qp_params query;
	int fails = (int)args_number(&h->args, "fails", 0);
	int got;

	assert_int_equal(nic_qp_query(h->nic, h->qp.qpn, &query), 0);
	from = query.state;
	/* Attributes that an edge between running states needs are not asked for again. */
	if (state == NIC_QP_INIT || state == NIC_QP_RTR ||
	    (state == NIC_QP_RTS && from == NIC_QP_RTR))
		set |= needed[state];
	h->params.state = state;
	h->params.set = set | NIC_QP_SET_STATE_F;
	got = nic_qp_modify(h->nic, h->qp.qpn, &h->params, h->now_ns);
	if (got != -fails)
		history_fail(h, "nic_qp_modify returns %d", got);
	if (got == 0 && state == NIC_QP_RESET)
		sim_qp_restart(&h->qp);
}

static void make_queues(struct history *h)
{
	struct history_args *args = &h->args;
	struct nic_qp_attr attr = {
		.type = NIC_QP_RC,
		.pdn = h->pdn,
		.sq_wqebb_count = (uint32_t)args_number(args, "sq", 64),
		.rq_wqe_count = (uint32_t)args_number(args, "rq", 16),
		.rq_wqe_size_log2 = (uint32_t)args_number(args, "rq_log2", 5),
		.user_index = 0xc0de,
		.sq_signal_all = args_has(args, "signal_all"),
		.cookie = 77,
	};

	assert_int_equal(sim_cq_create(&h->cq, h->nic, &h->memory,
				       (uint32_t)args_number(args, "cq_log2", 8),
				       (uint32_t)args_number(args, "cqe_size", 64),
				       args_has(args, "overrun_ignored")),
			 0);
	attr.cqn_send = attr.cqn_recv = h->cq.cqn;
	assert_int_equal(sim_qp_create(&h->qp, h->nic, &h->memory, &attr), 0);
	assert_int_equal(h->qp.qpn >> 12, HISTORY_QPN_BLOCK);
}

static void default_params(struct history *h)
{
	/* ::ffff:10.0.0.1 is the test's peer, ::ffff:10.0.0.2 the NIC. */
	static const uint8_t peer[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	static const uint8_t own[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
	struct nic_qp_params *p = &h->params;

	*p = (struct nic_qp_params){
		.access = access_bits("wra"),
		.mtu_bytes = 1024,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.rd_atomic = 4,
		.dest_rd_atomic = 4,
		.port = 1,
		.dest_qpn = HISTORY_PEER_QPN,
	};
	memcpy(p->path.dgid, peer, sizeof(peer));
	memcpy(p->path.sgid, own, sizeof(own));
	p->path.hop_limit = 64;
	p->path.udp_sport = 0xc001;
}

static void connect(struct history *h, const char *wanted)
{
	static const struct {
		const char *name;
		enum nic_qp_state state;
	} steps[] = {{"init", NIC_QP_INIT}, {"rtr", NIC_QP_RTR}, {"rts", NIC_QP_RTS}};

	if (strcmp(wanted, "reset") == 0)
		return;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		history_modify(h, steps[i].state, 0);
		if (strcmp(wanted, steps[i].name) == 0)
			return;
	}
	history_fail(h, "state=%s", wanted);
}

void history_build(struct history *h)
{
	struct history_args *args = &h->args;
	struct nic_config config = {
		.qp_count_max = 4096,
		.cq_count_max = 64,
		.mkey_count_max = 64,
		.pd_count_max = 16,
		.mtu_max_bytes = 4096,
		.rd_atomic_max = 16,
		.message_max_bytes_log2 = (uint32_t)args_number(args, "log2_max", 31),
	};

	h->env = (struct nic_env){
		.ctx = h,
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
	};
	sim_memory_open(&h->memory, 0x7f5500000000, HISTORY_MEMORY_BYTES);
	h->data_va = sim_memory_take(&h->memory, HISTORY_DATA_BYTES, 4096);
	h->shadow = (uint8_t *)calloc(1, HISTORY_DATA_BYTES);
	h->arena_bytes = nic_arena_bytes(&config);
	h->arena = sim_arena_open(h->arena_bytes);
	h->nic = nic_init(h->arena, &config, &h->env, args_number(args, "seed", 1));
	h->now_ns = 1000000;
	h->wire_room = UINT64_MAX;
	assert_int_equal(nic_pd_create(h->nic, &h->pdn), 0);
	assert_int_equal(nic_pd_create(h->nic, &h->pdn_alien), 0);
	make_regions(h);
	make_queues(h);
	default_params(h);
	history_params(h);
	connect(h, args_text(args, "state", "rts"));
}

void history_run(struct history *h)
{
	struct nic_budget budget = {.packets = 1000000, .bytes = UINT32_MAX};
	enum nic_more more = NIC_BUSY;

	for (int i = 0; i < 1000 && more == NIC_BUSY; i++)
		more = nic_run(h->nic, &budget, h->now_ns);
	if (more == NIC_BUSY)
		history_fail(h, "the NIC never gets idle");
	if (h->room)
		history_fail(h, "the NIC left a reservation open");
	nic_check(h->nic);
}
