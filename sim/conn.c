/* SPDX-License-Identifier: BSD-2-Clause */
/* conn.c - connections: how they are made, what their completions mean, how they end. */
#include "sim/load.h"

#include "abi/mlx5_cqe.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum {
	GUARD_BYTES = 256,
	GUARD_BYTE = 0xa5,
	SETTLE_NS = 20000,
	SETTLE_TRIES_MIN = 3,
	SETTLE_TRIES_MAX = 500,
	BURY_NS_MAX = 200000,
};

/* ---- birth ---- */

static uint32_t pd_of(const struct sim_end *end)
{
	return end->conn->load->pdn[end->node == &end->conn->load->nodes[1]];
}

bool sim_conn_local_region(struct sim_end *end)
{
	struct nic_mkey_attr attr = {
		.pdn = pd_of(end),
		.access = NIC_ACCESS_LOCAL_WRITE_F,
		.va = end->local_va,
		.len_bytes = end->shadow_bytes - GUARD_BYTES,
		.host_va = end->local_va,
	};

	return nic_mkey_create(end->node->nic, &attr, &end->local_key) == 0;
}

bool sim_conn_target_region(struct sim_end *end)
{
	struct nic_mkey_attr attr = {
		.pdn = pd_of(end),
		.access = NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F |
			  NIC_ACCESS_REMOTE_READ_F | NIC_ACCESS_REMOTE_ATOMIC_F,
		.va = end->target_va,
		.len_bytes = SIM_TARGET_BYTES,
		.host_va = end->target_va,
	};

	return nic_mkey_create(end->node->nic, &attr, &end->target_key) == 0;
}

static void make_memory(struct sim_end *end)
{
	struct sim_memory *memory = &end->node->memory;
	uint32_t receive_area = end->receive_bytes * SIM_RECEIVES_MAX;
	uint8_t *local;

	end->shadow_bytes = SIM_LOCAL_BYTES + receive_area + GUARD_BYTES;
	end->target_va = sim_memory_take(memory, SIM_TARGET_BYTES, 8);
	end->local_va = sim_memory_take(memory, end->shadow_bytes, 8);
	end->receive_va = end->local_va + SIM_LOCAL_BYTES;
	local = sim_memory_at(memory, end->local_va, end->shadow_bytes);
	end->shadow = (uint8_t *)malloc(end->shadow_bytes);
	ASSERT(local);
	if (!end->shadow)
		abort();
	memset(local, GUARD_BYTE, end->shadow_bytes);
	memset(end->shadow, GUARD_BYTE, end->shadow_bytes);
}

static void start_afresh(struct sim_end *end)
{
	end->receive_posted = end->receive_done = end->receive_good = 0;
	end->sq_wqebb_freed = end->unsignalled_wqebb = 0;
	end->slots_busy = 0;
	end->local_renewed = false;
}

static void make_queue_pair(struct sim_end *end)
{
	struct sim_conn *conn = end->conn;
	struct nic_qp_attr attr = {
		.type = NIC_QP_RC,
		.pdn = pd_of(end),
		.cqn_send = end->queue->cq.cqn,
		.cqn_recv = end->queue->cq.cqn,
		.sq_wqebb_count = conn->sq_wqebb_count,
		.rq_wqe_count = conn->rq_wqe_count,
		.rq_wqe_size_log2 = 5,
		.user_index = end->number,
		.sq_signal_all = conn->signal_all,
	};

	if (sim_qp_create(&end->qp, end->node->nic, &end->node->memory, &attr) != 0)
		sim_fail(conn->load->world, "no queue pair");
	end->live = true;
}

static void move(struct sim_end *end, enum nic_qp_state state, uint32_t psn_rq, uint32_t psn_sq)
{
	static const uint32_t set[NIC_QP_STATE_COUNT] = {
		[NIC_QP_INIT] = NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F | NIC_QP_SET_ACCESS_F,
		[NIC_QP_RTR] = NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F |
			       NIC_QP_SET_RQ_PSN_F | NIC_QP_SET_DEST_RD_ATOMIC_F |
			       NIC_QP_SET_MIN_RNR_TIMER_F,
		[NIC_QP_RTS] = NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_RETRY_F | NIC_QP_SET_RNR_RETRY_F |
			       NIC_QP_SET_SQ_PSN_F | NIC_QP_SET_RD_ATOMIC_F,
	};
	struct nic_qp_params params = end->conn->params;
	struct sim_world *world = end->conn->load->world;
	int got;

	params.set = set[state] | NIC_QP_SET_STATE_F;
	params.state = state;
	params.rq_psn = psn_rq;
	params.sq_psn = psn_sq;
	params.dest_qpn = end->other->qp.qpn;
	memcpy(params.path.dgid, end->other->node->gid, sizeof(params.path.dgid));
	memcpy(params.path.sgid, end->node->gid, sizeof(params.path.sgid));
	got = nic_qp_modify(end->node->nic, end->qp.qpn, &params, world->now_ns);
	sim_note(world, end->name, "modify", end->qp.qpn, state, (uint64_t)(int64_t)got);
	if (got != 0)
		sim_fail(world, "%s: a move to state %d is refused: %d", end->name, state, got);
}

/*
 * Where an end starts to count: the first time often just before the wrap; later far from where it
 * was before. Packets of an earlier life may still be under way to the same number: a start number
 * near theirs would take them for its own, as it would on a real network.
 */
static uint32_t next_psn(struct sim_end *end)
{
	struct sim_world *world = end->conn->load->world;

	if (end->lives++ != 0)
		end->psn += (uint32_t)sim_range(world, 1 << 21, 7 << 21);
	else if (sim_chance(world, 500000))
		end->psn = (uint32_t)sim_range(world, 0xffff00, 0xffffff);
	else
		end->psn = (uint32_t)sim_below(world, 1 << 24);
	end->psn &= 0xffffff;
	return end->psn;
}

void sim_conn_join(struct sim_conn *conn)
{
	uint32_t psn[2] = {next_psn(&conn->ends[0]), next_psn(&conn->ends[1])};

	for (int i = 0; i < 2; i++) {
		if (!conn->ends[i].live)
			make_queue_pair(&conn->ends[i]);
		start_afresh(&conn->ends[i]);
	}
	for (int i = 0; i < 2; i++) {
		move(&conn->ends[i], NIC_QP_INIT, 0, 0);
		move(&conn->ends[i], NIC_QP_RTR, psn[!i], 0);
	}
	for (int i = 0; i < 2; i++)
		move(&conn->ends[i], NIC_QP_RTS, 0, psn[i]);
}

/* The shortest timeout that a cable without faults never exceeds, or a bit more. */
static uint8_t timeout_code(struct sim_load *load)
{
	const struct sim_link_config *link = &load->faults.link;
	uint64_t slow_ns = 4 * (link->delay_ns + link->late_ns_max + link->queue_ns_max) +
			   (2ull << 20) * 8000000000ull / link->rate_bps + 100000;
	uint8_t code = 1;

	while ((4096ull << code) < 2 * slow_ns)
		code++;
	return (uint8_t)(code + sim_below(load->world, 2));
}

/* What both ends let their peers do: all, or not all. */
static uint32_t choose_access(struct sim_load *load)
{
	uint32_t all = NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F |
		       NIC_ACCESS_REMOTE_ATOMIC_F;

	if (!sim_chance(load->world, load->faults.forbid_percent * 10000))
		return all;
	return all & (uint32_t)base_prng_u64(&load->world->prng);
}

static void choose_params(struct sim_conn *conn)
{
	struct sim_world *world = conn->load->world;

	conn->params = (struct nic_qp_params){
		.access = choose_access(conn->load),
		.mtu_bytes = 256u << sim_below(world, 5),
		.timeout = timeout_code(conn->load),
		.retry_count = sim_chance(world, 900000) ? 7 : (uint8_t)sim_below(world, 7),
		.rnr_retry = sim_chance(world, 900000) ? 7 : (uint8_t)sim_below(world, 7),
		.min_rnr_timer = (uint8_t)sim_range(world, 1, 16),
		.rd_atomic = (uint8_t)(1u << sim_below(world, 5)),
		.port = 1,
		.path = {.hop_limit = 64, .udp_sport = 0xc000},
	};
	conn->params.dest_rd_atomic = conn->params.rd_atomic;
	conn->sq_wqebb_count = 16u << 2 * sim_below(world, 3);
	conn->rq_wqe_count = sim_chance(world, 500000) ? SIM_RECEIVES_MAX : 4;
	conn->signal_all = sim_chance(world, 100000);
}

void sim_conn_open(struct sim_conn *conn, struct sim_load *load, uint32_t number)
{
	static const char *const names[SIM_CONNS_MAX][2] = {
		{"a0", "b0"}, {"a1", "b1"}, {"a2", "b2"}};
	bool loops = number == 2; /* the third connects one host with itself */

	conn->load = load;
	choose_params(conn);
	for (int i = 0; i < 2; i++) {
		struct sim_end *end = &conn->ends[i];

		end->conn = conn;
		end->other = &conn->ends[!i];
		end->node = &load->nodes[loops ? 0 : i];
		end->name = names[number][i];
		end->number = 100 + 2 * number + (uint32_t)i;
		end->receive_bytes = 256u << (4 * sim_below(load->world, 3));
		make_memory(end);
		if (!sim_conn_local_region(end) || !sim_conn_target_region(end))
			sim_fail(load->world, "%s: no key", end->name);
	}
	for (int i = 0; i < 2; i++) {
		struct sim_end *end = &conn->ends[i];
		uint8_t *target = sim_memory_at(&end->other->node->memory, end->other->target_va,
						SIM_TARGET_BYTES);

		base_prng_fill(&load->world->prng, target, SIM_TARGET_BYTES);
		sim_stream_open(&end->out, load->world, end->name, target, SIM_TARGET_BYTES,
				&end->node->memory);
	}
}

/* ---- completions ---- */

static void take_over(struct sim_end *end, uint64_t va, uint32_t len_bytes)
{
	const uint8_t *at = sim_memory_at(&end->node->memory, va, len_bytes);

	ASSERT(va >= end->local_va && va + len_bytes <= end->local_va + end->shadow_bytes);
	memcpy(end->shadow + (va - end->local_va), at, len_bytes);
}

/* An entry is done with: its block and its buffer are free. */
static void released(void *ctx, const struct sim_op *op)
{
	struct sim_end *end = (struct sim_end *)ctx;

	end->sq_wqebb_freed += op->block_count;
	if (op->slot < 0)
		return;
	if (op->opcode == WQE_OP_READ)
		take_over(end, op->local_va, op->len_bytes);
	else if (op->opcode == WQE_OP_ATOMIC_CS || op->opcode == WQE_OP_ATOMIC_FA)
		take_over(end, op->local_va, sizeof(uint64_t));
	end->slots_busy &= ~(1u << op->slot);
}

static bool other_end_failed(struct sim_end *end)
{
	sim_queue_poll(end->other->queue);
	return end->conn->doomed;
}

/* Whether the first failure of a stream is one that can happen to op now. */
static bool may_end_in(struct sim_end *end, const struct sim_op *op, uint8_t syndrome)
{
	struct sim_conn *conn = end->conn;
	uint64_t harm = conn->harm_count - op->harm_count;

	if (syndrome == op->must_fail || (op->may_fail >> (syndrome & 31) & 1))
		return true;
	if (syndrome == CQE_SYND_REMOTE_OP)
		return end->other->local_renewed;
	if (syndrome == CQE_SYND_WR_FLUSH)
		return conn->doomed || other_end_failed(end);
	if (syndrome == CQE_SYND_RNR_RETRY_EXC)
		return conn->params.rnr_retry != 7;
	if (syndrome != CQE_SYND_RETRY_EXC)
		return false;
	return conn->doomed || harm > conn->params.retry_count || other_end_failed(end);
}

static bool vendor_fits(const struct sim_cqe *cqe)
{
	static const uint8_t vendors[256] = {
		[CQE_SYND_WR_FLUSH] = CQE_VENDOR_FLUSH,
		[CQE_SYND_LOCAL_PROT] = CQE_VENDOR_LKEY_BAD,
		[CQE_SYND_REMOTE_INVAL_REQ] = CQE_VENDOR_REMOTE_INVAL_REQ,
		[CQE_SYND_REMOTE_ACCESS] = CQE_VENDOR_REMOTE_ACCESS,
		[CQE_SYND_RETRY_EXC] = CQE_VENDOR_RETRY_EXC,
		[CQE_SYND_RNR_RETRY_EXC] = CQE_VENDOR_RNR_RETRY_EXC,
	};

	return cqe->vendor_syndrome == vendors[cqe->syndrome];
}

static void entry_completed(struct sim_end *end, const struct sim_cqe *cqe)
{
	struct sim_world *world = end->conn->load->world;
	bool first = !end->out.failed;
	const struct sim_op *op = sim_stream_completed(&end->out, cqe, released, end);

	if (!op || cqe->syndrome == 0)
		return;
	if (!first && cqe->syndrome != CQE_SYND_WR_FLUSH)
		sim_fail(world, "%s: a second failure, 0x%02x", end->name, cqe->syndrome);
	if (first && !may_end_in(end, op, cqe->syndrome))
		sim_fail(world, "%s: opcode 0x%x fails with 0x%02x, of which nothing is the cause",
			 end->name, op->opcode, cqe->syndrome);
	if (!vendor_fits(cqe))
		sim_fail(world, "%s: status 0x%02x with vendor syndrome 0x%02x", end->name,
			 cqe->syndrome, cqe->vendor_syndrome);
	sim_conn_die(end->conn, NULL, false);
}

static void receive_failed(struct sim_end *end, const struct sim_cqe *cqe)
{
	struct sim_stream *in = &end->other->out;
	struct sim_world *world = end->conn->load->world;
	bool too_long = in->message_tail != in->message_head &&
			in->messages[in->message_tail % SIM_MESSAGES].too_long;

	if (cqe->syndrome == CQE_SYND_LOCAL_LENGTH && too_long)
		in->message_tail++;
	else if (cqe->syndrome == CQE_SYND_LOCAL_PROT && end->local_renewed)
		end->conn->doomed = true;
	else if (cqe->syndrome != CQE_SYND_WR_FLUSH || !vendor_fits(cqe) ||
		 !(end->conn->doomed || other_end_failed(end)))
		sim_fail(world, "%s: a receive fails with 0x%02x, of which nothing is the cause",
			 end->name, cqe->syndrome);
	sim_conn_die(end->conn, NULL, false);
}

static void receive_completed(struct sim_end *end, const struct sim_cqe *cqe)
{
	struct sim_receive *receive = &end->receives[end->receive_done % end->conn->rq_wqe_count];
	uint32_t left = cqe->len_bytes;

	if (end->receive_done == end->receive_posted) {
		sim_fail(end->conn->load->world, "%s: a receive completes that was not posted",
			 end->name);
		return;
	}
	end->receive_done++;
	if (cqe->syndrome != 0) {
		receive_failed(end, cqe);
		return;
	}
	end->receive_good++;
	end->conn->load->result->message_count++;
	sim_stream_received(&end->other->out, cqe, &end->node->memory, receive->pieces,
			    receive->piece_count);
	if (cqe->opcode == CQE_RESP_WR_IMM)
		return;
	for (uint32_t i = 0; i < receive->piece_count && left != 0; i++) {
		uint32_t len_bytes = receive->pieces[i].len_bytes;

		take_over(end, receive->pieces[i].va, left < len_bytes ? left : len_bytes);
		left -= left < len_bytes ? left : len_bytes;
	}
}

static struct sim_end *end_of(struct sim_queue *queue, uint32_t qpn)
{
	struct sim_load *load = queue->load;

	for (uint32_t i = 0; i < load->conn_count * 2; i++) {
		struct sim_end *end = &load->conns[i / 2].ends[i % 2];

		if (end->queue == queue && end->live && end->qp.qpn == qpn)
			return end;
	}
	return NULL;
}

static void completed(struct sim_queue *queue, const struct sim_cqe *cqe)
{
	struct sim_load *load = queue->load;
	struct sim_end *end = end_of(queue, cqe->qpn);
	bool request = cqe->opcode == CQE_REQ || cqe->opcode == CQE_REQ_ERR;

	sim_note(load->world, queue->node->name, "cqe", cqe->opcode,
		 (uint64_t)cqe->qpn << 16 | cqe->wqe_counter,
		 (uint64_t)cqe->syndrome << 32 | cqe->len_bytes);
	load->progress_ns = load->world->now_ns;
	if (!end || cqe->user_index != end->number) {
		sim_fail(load->world, "%s: a completion of queue pair 0x%x, index %u",
			 queue->node->name, cqe->qpn, cqe->user_index);
		return;
	}
	if (request)
		entry_completed(end, cqe);
	else
		receive_completed(end, cqe);
}

bool sim_queue_poll(struct sim_queue *queue)
{
	struct sim_load *load = queue->load;
	struct sim_cqe cqe;
	bool any = false;

	while (!load->world->failed && sim_cq_poll(&queue->cq, &cqe)) {
		any = true;
		sim_cq_consume(&queue->cq);
		if (sim_sabotage_now(load, SIM_SABOTAGE_CQE_LOST))
			continue;
		if (cqe.syndrome == 0 && cqe.len_bytes != 0 && cqe.opcode != CQE_REQ &&
		    sim_sabotage_now(load, SIM_SABOTAGE_CQE_LENGTH))
			cqe.len_bytes++;
		completed(queue, &cqe);
		if (!load->world->failed && sim_sabotage_now(load, SIM_SABOTAGE_CQE_TWICE))
			completed(queue, &cqe);
	}
	return any;
}

/* ---- death ---- */

static void settle(void *ctx, uint64_t arg);

static void destroy(struct sim_end *end)
{
	struct sim_world *world = end->conn->load->world;
	int got;

	sim_queue_poll(end->queue);
	got = nic_qp_destroy(end->node->nic, end->qp.qpn);
	sim_note(world, end->name, "destroy", end->qp.qpn, (uint64_t)(int64_t)got, 0);
	if (got != 0)
		sim_fail(world, "%s: a queue pair cannot be destroyed: %d", end->name, got);
	end->live = false;
}

/* A dead queue pair goes, or starts a new life with its number. */
static void retire(struct sim_end *end)
{
	if (sim_chance(end->conn->load->world, 600000)) {
		destroy(end);
		return;
	}
	sim_queue_poll(end->queue);
	move(end, NIC_QP_RESET, 0, 0);
	sim_qp_restart(&end->qp);
}

static void bury(void *ctx, uint64_t arg)
{
	struct sim_conn *conn = (struct sim_conn *)ctx;

	(void)arg;
	for (int i = 0; i < 2; i++) {
		if (!conn->ends[i].live)
			continue;
		move(&conn->ends[i], NIC_QP_ERR, 0, 0);
		sim_node_kick(conn->ends[i].node, 0);
	}
	sim_world_at(conn->load->world, conn->load->world->now_ns + SETTLE_NS, settle, conn, 0);
}

void sim_conn_die(struct sim_conn *conn, struct sim_end *kill, bool vanish)
{
	struct sim_world *world = conn->load->world;

	if (conn->dying)
		return;
	conn->doomed = conn->dying = true;
	conn->settle_tries = 0;
	conn->load->result->death_count++;
	sim_note(world, conn->ends[0].name, "dies", kill != NULL, vanish, 0);
	if (kill && vanish)
		destroy(kill);
	else if (kill)
		move(kill, NIC_QP_ERR, 0, 0);
	if (kill)
		sim_node_kick(kill->node, 0);
	sim_world_at(world, world->now_ns + sim_below(world, BURY_NS_MAX), bury, conn, 0);
}

/* How many entries and receives of end should have a completion and have none. */
static uint32_t missing(struct sim_end *end)
{
	if (!end->live)
		return 0;
	return end->receive_posted - end->receive_done +
	       sim_stream_ended(&end->out, released, end);
}

/* Of the receives that did not succeed, the oldest may have been begun. */
static void take_over_receive(struct sim_end *end)
{
	struct sim_receive *receive = &end->receives[end->receive_good % end->conn->rq_wqe_count];

	for (uint32_t i = 0; i < receive->piece_count; i++)
		take_over(end, receive->pieces[i].va, receive->pieces[i].len_bytes);
}

static void settle_end(struct sim_end *end)
{
	if (end->receive_good != end->receive_posted)
		take_over_receive(end);
	sim_stream_settle(&end->out, end->conn->params.mtu_bytes, released, end);
}

static void settle(void *ctx, uint64_t arg)
{
	struct sim_conn *conn = (struct sim_conn *)ctx;
	struct sim_world *world = conn->load->world;

	(void)arg;
	for (int i = 0; i < 2; i++)
		sim_queue_poll(conn->ends[i].queue);
	if (world->failed)
		return;
	/* The first times, completions may still be on their way. */
	conn->settle_tries++;
	if (conn->settle_tries <= SETTLE_TRIES_MIN ||
	    missing(&conn->ends[0]) + missing(&conn->ends[1]) != 0) {
		if (conn->settle_tries > SETTLE_TRIES_MAX)
			sim_fail(world, "%s, %s: %u and %u entries or receives are not flushed",
				 conn->ends[0].name, conn->ends[1].name, missing(&conn->ends[0]),
				 missing(&conn->ends[1]));
		sim_world_at(world, world->now_ns + SETTLE_NS, settle, conn, 0);
		return;
	}
	for (int i = 0; i < 2; i++)
		if (conn->ends[i].live)
			retire(&conn->ends[i]);
	for (int i = 0; i < 2; i++)
		settle_end(&conn->ends[i]);
	sim_conn_join(conn);
	conn->doomed = conn->dying = false;
	conn->load->progress_ns = world->now_ns;
}

/* ---- a pause ---- */

static bool state_is(struct sim_end *end, enum nic_qp_state state)
{
	struct nic_qp_params params;

	return end->live && nic_qp_query(end->node->nic, end->qp.qpn, &params) == 0 &&
	       params.state == state;
}

static void set_state(struct sim_end *end, enum nic_qp_state state)
{
	struct nic_qp_params params = {.set = NIC_QP_SET_STATE_F, .state = state};
	struct sim_world *world = end->conn->load->world;
	int got = nic_qp_modify(end->node->nic, end->qp.qpn, &params, world->now_ns);

	sim_note(world, end->name, "modify", end->qp.qpn, state, (uint64_t)(int64_t)got);
	if (got != 0)
		sim_fail(world, "%s: a move to state %d is refused: %d", end->name, state, got);
}

static void resume(void *ctx, uint64_t arg)
{
	struct sim_end *end = (struct sim_end *)ctx;

	(void)arg;
	if (!state_is(end, NIC_QP_SQD))
		return; /* it failed meanwhile */
	set_state(end, NIC_QP_RTS);
	sim_node_scan_later(end->node);
}

void sim_conn_pause(struct sim_end *end)
{
	struct sim_world *world = end->conn->load->world;

	if (!state_is(end, NIC_QP_RTS))
		return;
	set_state(end, NIC_QP_SQD);
	sim_world_at(world, world->now_ns + sim_below(world, 3 * BURY_NS_MAX), resume, end, 0);
}

/* ---- the end ---- */

void sim_conn_compare(struct sim_conn *conn)
{
	for (int i = 0; i < 2; i++) {
		struct sim_end *end = &conn->ends[i];
		const uint8_t *local =
			sim_memory_at(&end->node->memory, end->local_va, end->shadow_bytes);

		sim_stream_compare(&end->out);
		for (uint32_t k = 0; k < end->shadow_bytes; k++) {
			if (local[k] == end->shadow[k])
				continue;
			sim_fail(conn->load->world, "%s: at the end byte 0x%x of %s is wrong",
				 end->name, k,
				 k < SIM_LOCAL_BYTES ? "the buffers" : "the receive buffers");
			break;
		}
	}
}

void sim_conn_destroy(struct sim_conn *conn)
{
	for (int i = 0; i < 2; i++) {
		struct sim_end *end = &conn->ends[i];

		destroy(end);
		if (nic_mkey_destroy(end->node->nic, end->target_key) != 0 ||
		    nic_mkey_destroy(end->node->nic, end->local_key) != 0)
			sim_fail(conn->load->world, "%s: a key cannot be destroyed", end->name);
	}
}

void sim_conn_close(struct sim_conn *conn)
{
	for (int i = 0; i < 2; i++) {
		free(conn->ends[i].shadow);
		sim_stream_close(&conn->ends[i].out);
	}
}
