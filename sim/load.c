/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c - what the simulated programs do: random entries, receives, polls and waits. */
#include "sim/load.h"

#include "base/assert.h"
#include "base/ring.h"

#include <string.h>

enum {
	INLINE_BYTES_MAX = 200,
	COUNTERS = 16, /* 8-byte words at the target's start that atomics like */
	BURST_MAX = 8,
	TICK_NS_MIN = 300,
	TICK_NS_MAX = 5000000,
	WAKE_NS_MAX = 20000,
	CQ_COUNT_LOG2 = 11, /* more than the rings of all ends of a node together */
	OPS_FEW = 60,
	OPS_MANY = 400, /* more outstanding than the NIC keeps records of */
};

bool sim_sabotage_now(struct sim_load *load, enum sim_sabotage sabotage)
{
	if (load->config->sabotage != sabotage || load->sabotage_left == 0)
		return false;
	if (--load->sabotage_left != 0)
		return false;
	load->result->sabotaged = true;
	sim_note(load->world, "load", "sabotage", sabotage, 0, 0);
	return true;
}

/* ---- entries ---- */

/* Sizes near the edges more often than not. */
static uint32_t choose_len(struct sim_end *end)
{
	struct sim_world *world = end->conn->load->world;
	uint32_t mtu = end->conn->params.mtu_bytes;
	const uint32_t edges[] = {0, 1, 8, 28, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu - 1};
	uint64_t kind = sim_below(world, 10);

	if (kind < 4)
		return edges[sim_below(world, sizeof(edges) / sizeof(edges[0]))];
	if (kind < 9)
		return (uint32_t)sim_below(world, 1ull << sim_range(world, 1, 13));
	return (uint32_t)sim_range(world, 0, SIM_MESSAGE_BYTES_MAX);
}

static enum wqe_opcode choose_opcode(struct sim_world *world)
{
	static const enum wqe_opcode opcodes[] = {
		WQE_OP_WRITE,	  WQE_OP_WRITE,	    WQE_OP_WRITE,     WQE_OP_WRITE_IMM,
		WQE_OP_READ,	  WQE_OP_READ,	    WQE_OP_READ,      WQE_OP_SEND,
		WQE_OP_SEND,	  WQE_OP_SEND_IMM,  WQE_OP_ATOMIC_CS, WQE_OP_ATOMIC_FA,
		WQE_OP_ATOMIC_FA, WQE_OP_ATOMIC_FA, WQE_OP_NOP,
	};

	return opcodes[sim_below(world, sizeof(opcodes) / sizeof(opcodes[0]))];
}

static bool is_atomic(enum wqe_opcode opcode)
{
	return opcode == WQE_OP_ATOMIC_CS || opcode == WQE_OP_ATOMIC_FA;
}

static bool is_send(enum wqe_opcode opcode)
{
	return opcode == WQE_OP_SEND || opcode == WQE_OP_SEND_IMM;
}

static bool names_target(enum wqe_opcode opcode)
{
	return is_atomic(opcode) || opcode == WQE_OP_READ || opcode == WQE_OP_WRITE ||
	       opcode == WQE_OP_WRITE_IMM;
}

/* Whether the peer's queue pair lets this end do it. */
static bool allowed(const struct sim_end *end, enum wqe_opcode opcode)
{
	uint32_t need = is_atomic(opcode)	  ? NIC_ACCESS_REMOTE_ATOMIC_F
			: opcode == WQE_OP_READ ? NIC_ACCESS_REMOTE_READ_F
						: NIC_ACCESS_REMOTE_WRITE_F;

	return (end->conn->params.access & need) != 0;
}

/* A free local buffer for len_bytes; -1: none. */
static int take_slot(struct sim_end *end, uint32_t len_bytes, uint64_t *va)
{
	int slot = len_bytes > SIM_SLOT_BYTES_SMALL ? 0 : SIM_SLOTS_BIG;
	int limit = len_bytes > SIM_SLOT_BYTES_SMALL ? SIM_SLOTS_BIG : SIM_SLOTS;

	for (; slot < limit; slot++) {
		if (end->slots_busy & 1u << slot)
			continue;
		end->slots_busy |= 1u << slot;
		*va = end->local_va;
		if (slot < SIM_SLOTS_BIG)
			*va += (uint64_t)slot * SIM_MESSAGE_BYTES_MAX;
		else
			*va += (uint64_t)SIM_SLOTS_BIG * SIM_MESSAGE_BYTES_MAX +
			       (uint64_t)(slot - SIM_SLOTS_BIG) * SIM_SLOT_BYTES_SMALL;
		return slot;
	}
	return -1;
}

/* One buffer as up to four pieces, none of them empty. */
static uint32_t cut_up(struct sim_world *world, uint64_t va, uint32_t len_bytes, uint32_t lkey,
		       struct sim_piece *pieces, uint32_t max)
{
	uint32_t count = 0;

	while (len_bytes != 0) {
		bool last = count + 1 == max || sim_chance(world, 500000);
		uint32_t here = last ? len_bytes : (uint32_t)sim_range(world, 1, len_bytes);

		pieces[count++] = (struct sim_piece){va, here, lkey};
		va += here;
		len_bytes -= here;
	}
	return count;
}

/* The source of a message: bytes of the pattern, in the entry or in a buffer. */
static bool fill_source(struct sim_end *end, struct sim_op *op, struct sim_wqe *wqe)
{
	struct sim_world *world = end->conn->load->world;
	uint8_t *at, *shadow;
	uint64_t va;

	if (op->len_bytes <= INLINE_BYTES_MAX && sim_chance(world, 400000)) {
		wqe->is_inline = true;
		wqe->inline_len_bytes = op->len_bytes;
		for (uint32_t i = 0; i < op->len_bytes; i++)
			wqe->inline_bytes[i] = sim_pattern(op->pattern, i);
		return true;
	}
	if (op->len_bytes == 0)
		return true;
	op->slot = take_slot(end, op->len_bytes, &va);
	if (op->slot < 0)
		return false;
	at = sim_memory_at(&end->node->memory, va, op->len_bytes);
	shadow = end->shadow + (va - end->local_va);
	for (uint32_t i = 0; i < op->len_bytes; i++)
		at[i] = shadow[i] = sim_pattern(op->pattern, i);
	wqe->piece_count = cut_up(world, va, op->len_bytes, end->local_key, wqe->pieces, 4);
	return true;
}

static bool place_result(struct sim_end *end, struct sim_op *op, struct sim_wqe *wqe)
{
	struct sim_world *world = end->conn->load->world;
	uint32_t len_bytes = is_atomic(op->opcode) ? 8 : op->len_bytes;

	if (len_bytes == 0)
		return true;
	op->slot = take_slot(end, len_bytes, &op->local_va);
	if (op->slot < 0)
		return false;
	wqe->piece_count = cut_up(world, op->local_va, len_bytes, end->local_key, wqe->pieces,
				  is_atomic(op->opcode) ? 1 : 4);
	return true;
}

static void choose_remote(struct sim_end *end, struct sim_op *op)
{
	struct sim_world *world = end->conn->load->world;
	uint64_t room = SIM_TARGET_BYTES - op->len_bytes;

	if (is_atomic(op->opcode)) {
		op->remote_off = 8 * sim_below(world, sim_chance(world, 700000)
							      ? COUNTERS
							      : SIM_TARGET_BYTES / 8);
		op->swap_add = base_prng_u64(&world->prng);
		/* Half the swaps find what they compare with. */
		memcpy(&op->compare, end->out.posted + op->remote_off, 8);
		op->compare ^= sim_chance(world, 500000);
		return;
	}
	op->remote_off = sim_below(world, 1 + (sim_chance(world, 500000) ? room : room / 16));
}

/* A mistake, if it is time for one: what the entry then has to end in. */
static void make_mistake(struct sim_end *end, struct sim_op *op, struct sim_wqe *wqe)
{
	const struct sim_faults *faults = &end->conn->load->faults;
	struct sim_world *world = end->conn->load->world;
	bool carries = op->len_bytes != 0 || is_atomic(op->opcode);

	if (names_target(op->opcode) && !allowed(end, op->opcode)) {
		op->must_fail = 0x12;
	} else if (names_target(op->opcode) && carries && sim_chance(world, faults->bad_rkey_ppm)) {
		wqe->rkey ^= 1u << sim_below(world, 8);
		op->must_fail = 0x13;
	} else if (wqe->piece_count != 0 && sim_chance(world, faults->bad_lkey_ppm)) {
		wqe->pieces[sim_below(world, wqe->piece_count)].lkey ^= 0x80;
		op->must_fail = 0x04;
	} else if (is_send(op->opcode) && op->len_bytes > end->other->receive_bytes) {
		op->must_fail = 0x12;
	}
	if (op->must_fail)
		end->conn->doomed = true;
}

static uint32_t send_len(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;
	uint32_t max = end->other->receive_bytes;
	uint32_t len_bytes = choose_len(end);

	if (max < SIM_MESSAGE_BYTES_MAX && sim_chance(load->world, load->faults.too_long_ppm))
		return max + (uint32_t)sim_range(load->world, 1, 100);
	return len_bytes <= max ? len_bytes : (uint32_t)sim_below(load->world, max + 1);
}

static bool compose(struct sim_end *end, struct sim_op *op, struct sim_wqe *wqe)
{
	struct sim_world *world = end->conn->load->world;
	bool placed;

	op->opcode = choose_opcode(world);
	/* What the peer forbids is tried once in a while. */
	if (names_target(op->opcode) && !allowed(end, op->opcode) && !sim_chance(world, 20000))
		op->opcode = WQE_OP_SEND;
	wqe->opcode = op->opcode;
	op->pattern = (uint32_t)sim_range(world, 1, UINT32_MAX);
	wqe->imm = (uint32_t)base_prng_u64(&world->prng);
	wqe->solicited = sim_chance(world, 200000);
	wqe->fence = sim_chance(world, 100000);
	if (op->opcode == WQE_OP_NOP)
		return true;
	op->len_bytes = is_atomic(op->opcode) ? 0
			: is_send(op->opcode) ? send_len(end)
					      : choose_len(end);
	if (names_target(op->opcode))
		choose_remote(end, op);
	wqe->remote_va = end->other->target_va + op->remote_off;
	wqe->rkey = end->other->target_key;
	wqe->swap_add = op->swap_add;
	wqe->compare = op->compare;
	placed = is_atomic(op->opcode) || op->opcode == WQE_OP_READ ? place_result(end, op, wqe)
								    : fill_source(end, op, wqe);
	/* A READ that is asked for again reads again: what may change its bytes waits for it. */
	if (op->opcode != WQE_OP_READ && names_target(op->opcode) &&
	    sim_stream_reads(&end->out, op->remote_off,
			     is_atomic(op->opcode) ? 8 : op->len_bytes))
		wqe->fence = true;
	return placed;
}

static void tell_message(struct sim_end *end, const struct sim_op *op, const struct sim_wqe *wqe)
{
	struct sim_message message = {
		.opcode = op->opcode,
		.len_bytes = op->len_bytes,
		.pattern = op->pattern,
		.imm = wqe->imm,
		.solicited = wqe->solicited,
		.too_long = op->must_fail == 0x12,
	};

	if ((is_send(op->opcode) && (op->must_fail == 0 || message.too_long)) ||
	    (op->opcode == WQE_OP_WRITE_IMM && op->must_fail == 0))
		sim_stream_message(&end->out, &message);
}

/* Whether the entry has to be signalled: so that the ring never fills with silent ones, and at the
 * end. */
static bool must_signal(struct sim_end *end, uint32_t block_count)
{
	struct sim_load *load = end->conn->load;

	return end->unsignalled_wqebb + block_count >= end->conn->sq_wqebb_count / 2 ||
	       end->generated + 1 >= load->op_count || end->conn->signal_all;
}

/* Posts one random entry; false: no room for it now. */
static bool post_entry(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;
	struct sim_op *op = sim_stream_op(&end->out);
	struct sim_wqe wqe = {0};
	uint32_t used = end->qp.sq_wqebb_posted - end->sq_wqebb_freed;

	if (!compose(end, op, &wqe))
		return false;
	make_mistake(end, op, &wqe);
	op->block_count = wqe_bb_count(sim_qp_units(&wqe));
	if (used + op->block_count > end->conn->sq_wqebb_count) {
		if (op->slot >= 0)
			end->slots_busy &= ~(1u << op->slot);
		return false;
	}
	op->signal = must_signal(end, op->block_count) || sim_chance(load->world, 400000);
	wqe.signal = op->signal && !end->conn->signal_all;
	end->unsignalled_wqebb = op->signal ? 0 : end->unsignalled_wqebb + op->block_count;
	op->harm_count = end->conn->harm_count;
	op->index = sim_qp_post(&end->qp, &wqe);
	tell_message(end, op, &wqe);
	sim_note(load->world, end->name, "post", (uint64_t)op->index << 8 | op->opcode,
		 op->len_bytes, op->remote_off);
	sim_stream_post(&end->out);
	end->generated++;
	load->result->op_count++;
	return true;
}

static void ring(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;

	sim_qp_store_record(&end->qp);
	if (sim_chance(load->world, load->faults.lost_ring_ppm)) {
		sim_node_scan_later(end->node);
		return;
	}
	nic_doorbell(end->node->nic, end->qp.register_word, load->world->now_ns);
	sim_node_kick(end->node, sim_below(load->world, 1000));
}

/* ---- what goes wrong on purpose ---- */

static void end_cut(void *ctx, uint64_t arg)
{
	struct sim_link *link = (struct sim_link *)ctx;

	(void)arg;
	link->cut = false;
	sim_note(link->world, link->name, "joined", 0, 0, 0);
}

static void cut(struct sim_load *load, struct sim_conn *conn)
{
	struct sim_link *link = &load->nodes[sim_below(load->world, 2)].out;
	uint64_t timeout_ns = 4096ull << conn->params.timeout;

	if (link->cut)
		return;
	link->cut = true;
	sim_note(load->world, link->name, "cut", 0, 0, 0);
	sim_world_at(load->world, load->world->now_ns + sim_below(load->world, 12 * timeout_ns),
		     end_cut, link, 0);
}

/* The region that the entries under way name goes, and comes back with another key. */
static void renew_region(struct sim_end *end)
{
	struct sim_end *owner = end->other;
	struct sim_load *load = end->conn->load;

	if (nic_mkey_destroy(owner->node->nic, owner->target_key) != 0 ||
	    !sim_conn_target_region(owner))
		sim_fail(load->world, "%s: a key cannot be renewed", owner->name);
	sim_note(load->world, owner->name, "rekey", owner->target_key, 0, 0);
	end->conn->doomed = true;
	for (uint32_t n = end->out.op_tail; n != end->out.op_head; n++)
		if (names_target(end->out.ops[n % SIM_OPS].opcode))
			end->out.ops[n % SIM_OPS].may_fail |= 1u << 0x13;
}

/* The same for the region of an end's own buffers: what is posted still names the old key. */
static void renew_local(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;

	if (nic_mkey_destroy(end->node->nic, end->local_key) != 0 || !sim_conn_local_region(end))
		sim_fail(load->world, "%s: a key cannot be renewed", end->name);
	sim_note(load->world, end->name, "rekey", end->local_key, 1, 0);
	end->conn->doomed = end->local_renewed = true;
	for (uint32_t n = end->out.op_tail; n != end->out.op_head; n++)
		end->out.ops[n % SIM_OPS].may_fail |= 1u << 0x04;
}

static void misfortune(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;
	const struct sim_faults *faults = &load->faults;
	struct sim_world *world = load->world;

	if (sim_chance(world, faults->deregister_ppm))
		renew_region(end);
	if (sim_chance(world, faults->local_ppm))
		renew_local(end);
	if (sim_chance(world, faults->pause_ppm))
		sim_conn_pause(end);
	if (sim_chance(world, faults->cut_ppm))
		cut(load, end->conn);
	if (sim_chance(world, faults->kill_ppm))
		sim_conn_die(end->conn, sim_chance(world, 500000) ? end : end->other,
			     sim_chance(world, 500000));
}

static void meddle(void *ctx, uint8_t *bth, size_t len_bytes)
{
	struct sim_load *load = (struct sim_load *)ctx;

	if (len_bytes < 200 || load->config->sabotage != SIM_SABOTAGE_FLIP_BYTE)
		return;
	/* From the first on all, or a repetition would heal it. */
	if (!load->result->sabotaged && !sim_sabotage_now(load, SIM_SABOTAGE_FLIP_BYTE))
		return;
	bth[len_bytes - 60] ^= 0x10;
	sim_note_packet(load->world, "load", "flipped", bth, len_bytes);
}

/* A byte that no entry names is one that a stray access of the NIC would hit. */
static void sabotage_memory(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;
	uint64_t value;
	uint8_t *at;

	if (sim_sabotage_now(load, SIM_SABOTAGE_WILD_WRITE))
		*sim_memory_at(&end->node->memory, end->local_va + end->shadow_bytes - 9, 1) ^= 1;
	if (end->out.target && sim_sabotage_now(load, SIM_SABOTAGE_ATOMIC_AGAIN)) {
		at = end->out.target + 8 * sim_below(load->world, COUNTERS);
		memcpy(&value, at, sizeof(value));
		value++;
		memcpy(at, &value, sizeof(value));
	}
	if (sim_sabotage_now(load, SIM_SABOTAGE_SILENT_CUT))
		load->silent = load->nodes[0].out.cut = true;
}

/* ---- a program's turn ---- */

static bool post_receives(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;
	bool any = false;

	while (end->receive_posted - end->receive_done < end->conn->rq_wqe_count &&
	       !sim_chance(load->world, load->faults.stingy_ppm)) {
		uint32_t slot = end->receive_posted % end->conn->rq_wqe_count;
		struct sim_receive *receive = &end->receives[slot];
		uint64_t va = end->receive_va + (uint64_t)slot * end->receive_bytes;

		receive->piece_count = cut_up(load->world, va, end->receive_bytes, end->local_key,
					      receive->pieces, SIM_RECEIVE_PIECES);
		sim_qp_receive(&end->qp, receive->pieces, receive->piece_count);
		end->receive_posted++;
		any = true;
	}
	return any;
}

static bool post_entries(struct sim_end *end)
{
	struct sim_load *load = end->conn->load;
	uint64_t burst = sim_range(load->world, 1, BURST_MAX);
	uint32_t before = end->qp.sq_wqebb_posted;

	while (burst-- != 0 && end->generated < load->op_count && post_entry(end))
		;
	if (before == end->qp.sq_wqebb_posted)
		return false;
	ring(end);
	misfortune(end);
	sabotage_memory(end);
	return true;
}

static bool quiet(const struct sim_conn *conn)
{
	return sim_stream_quiet(&conn->ends[0].out) && sim_stream_quiet(&conn->ends[1].out);
}

static void tick(void *ctx, uint64_t arg)
{
	struct sim_end *end = (struct sim_end *)ctx;
	struct sim_conn *conn = end->conn;
	struct sim_world *world = conn->load->world;
	bool did = false;

	(void)arg;
	if (!end->queue->waits)
		did = sim_queue_poll(end->queue);
	if (!conn->dying && quiet(conn))
		conn->doomed = false;
	if (!conn->dying && !world->failed) {
		did = post_receives(end) || did;
		did = post_entries(end) || did;
	}
	end->tick_ns = did ? TICK_NS_MIN : end->tick_ns * 2 + 1;
	if (end->tick_ns > TICK_NS_MAX)
		end->tick_ns = TICK_NS_MAX;
	sim_world_at(world, world->now_ns + sim_range(world, 1, end->tick_ns), tick, end, 0);
}

/* ---- events ---- */

static void arm(struct sim_queue *queue)
{
	sim_cq_arm(&queue->cq, false);
	if (sim_chance(queue->load->world, 500000))
		nic_cq_arm(queue->node->nic, queue->cq.cqn, queue->load->world->now_ns);
	else
		sim_node_scan_later(queue->node);
}

/* Poll, arm, poll again, as every program that waits must. */
static void woken(void *ctx, uint64_t arg)
{
	struct sim_queue *queue = (struct sim_queue *)ctx;

	(void)arg;
	queue->poll_due = false;
	sim_queue_poll(queue);
	arm(queue);
	sim_queue_poll(queue);
}

static void completion_event(struct sim_load *load, struct sim_queue *queue)
{
	if (!queue->waits || queue->poll_due) {
		sim_fail(load->world, "%s: an event of a queue that is not armed",
			 queue->node->name);
		return;
	}
	if (sim_sabotage_now(load, SIM_SABOTAGE_EVENT_LOST))
		return;
	queue->poll_due = true;
	sim_world_at(load->world, load->world->now_ns + sim_below(load->world, WAKE_NS_MAX), woken,
		     queue, 0);
}

/* A queue pair dies of its own fault if its receives name a region that has gone. */
static bool fault_is_own(const struct sim_load *load, const struct sim_node *node, uint32_t qpn)
{
	for (uint32_t i = 0; i < load->conn_count * 2; i++) {
		const struct sim_end *end = &load->conns[i / 2].ends[i % 2];

		if (end->node == node && end->live && end->qp.qpn == qpn)
			return end->local_renewed;
	}
	return false;
}

static void event(void *ctx, struct sim_node *node, const struct nic_event *e)
{
	struct sim_load *load = (struct sim_load *)ctx;

	if (e->kind == NIC_EVENT_CQ_ERROR || e->kind == NIC_EVENT_DB_AHEAD ||
	    (e->kind == NIC_EVENT_QP_FATAL && !fault_is_own(load, node, e->number)))
		sim_fail(load->world, "%s: event %d of number 0x%x", node->name, e->kind,
			 e->number);
	for (uint32_t i = 0; i < load->queue_count && e->kind == NIC_EVENT_CQ_COMPLETION; i++)
		if (load->queues[i].node == node && load->queues[i].cq.cqn == e->number)
			completion_event(load, &load->queues[i]);
}

static void harmed(void *ctx, struct sim_node *node, uint32_t dqpn)
{
	struct sim_load *load = (struct sim_load *)ctx;

	for (uint32_t i = 0; i < load->conn_count * 2 && !load->silent; i++) {
		struct sim_end *end = &load->conns[i / 2].ends[i % 2];

		if (end->node == node->peer && end->qp.qpn == dqpn)
			end->conn->harm_count++;
	}
}

/* ---- life ---- */

static struct sim_queue *make_queue(struct sim_load *load, struct sim_node *node)
{
	struct sim_queue *queue = &load->queues[load->queue_count++];
	uint32_t size_bytes = sim_chance(load->world, 200000) ? 128 : 64;

	*queue = (struct sim_queue){.load = load, .node = node};
	queue->waits = sim_chance(load->world, 500000);
	/* Room for all that can be outstanding on it: an overrun is a fault of the NIC's. */
	if (sim_cq_create(&queue->cq, node->nic, &node->memory, CQ_COUNT_LOG2, size_bytes,
			  false) != 0)
		sim_fail(load->world, "%s: no completion queue", node->name);
	return queue;
}

static void give_queues(struct sim_load *load)
{
	bool shared = sim_chance(load->world, 500000);
	struct sim_queue *first[2] = {NULL, NULL};

	for (uint32_t i = 0; i < load->conn_count * 2; i++) {
		struct sim_end *end = &load->conns[i / 2].ends[i % 2];
		bool b = end->node == &load->nodes[1];

		if (!first[b] || !shared)
			first[b] = make_queue(load, end->node);
		end->queue = first[b];
	}
}

static void open_nodes(struct sim_load *load)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_node *node = &load->nodes[i];

		sim_node_open(node, load->world, i, &load->faults.link);
		node->peer = &load->nodes[!i];
		node->ctx = load;
		node->event = event;
		node->harmed = harmed;
		node->meddle = load->config->sabotage == SIM_SABOTAGE_NONE ? NULL : meddle;
		if (nic_pd_create(node->nic, &load->pdn[i]) != 0)
			sim_fail(load->world, "no protection domain");
	}
}

void sim_load_open(struct sim_load *load, struct sim_world *world, const struct sim_config *config,
		   struct sim_result *result)
{
	load->world = world;
	load->config = config;
	load->op_count = config->op_count;
	if (load->op_count == 0)
		load->op_count = sim_chance(world, 80000) ? OPS_MANY : OPS_FEW;
	load->result = result;
	/* Early, so that much has still to happen. */
	load->sabotage_left = config->sabotage == SIM_SABOTAGE_NONE ? 0 : 4;
	sim_faults_choose(world, &load->faults);
	open_nodes(load);
	load->conn_count = (uint32_t)sim_range(world, 1, SIM_CONNS_MAX);
	for (uint32_t i = 0; i < load->conn_count; i++)
		sim_conn_open(&load->conns[i], load, i);
	give_queues(load);
	for (uint32_t i = 0; i < load->conn_count; i++)
		sim_conn_join(&load->conns[i]);
	for (uint32_t i = 0; i < load->queue_count; i++)
		if (load->queues[i].waits)
			woken(&load->queues[i], 0);
	for (uint32_t i = 0; i < load->conn_count * 2; i++)
		sim_world_at(world, world->now_ns + sim_below(world, 10000), tick,
			     &load->conns[i / 2].ends[i % 2], 0);
}

bool sim_load_done(const struct sim_load *load)
{
	for (uint32_t i = 0; i < load->conn_count; i++) {
		const struct sim_conn *conn = &load->conns[i];

		if (conn->dying || !quiet(conn) ||
		    conn->ends[0].generated < load->op_count ||
		    conn->ends[1].generated < load->op_count)
			return false;
	}
	return true;
}

void sim_load_finish(struct sim_load *load)
{
	for (uint32_t i = 0; i < load->conn_count; i++)
		sim_conn_compare(&load->conns[i]);
	for (uint32_t i = 0; i < load->conn_count; i++)
		sim_conn_destroy(&load->conns[i]);
	for (uint32_t i = 0; i < load->queue_count; i++)
		if (nic_cq_destroy(load->queues[i].node->nic, load->queues[i].cq.cqn) != 0)
			sim_fail(load->world, "a completion queue is in use at the end");
	for (uint32_t i = 0; i < 2; i++) {
		if (nic_pd_destroy(load->nodes[i].nic, load->pdn[i]) != 0)
			sim_fail(load->world, "a protection domain is in use at the end");
		if (load->nodes[i].memory.fault_count != 0)
			sim_fail(load->world, "the NIC touched memory that is not there");
		nic_check(load->nodes[i].nic);
	}
}

void sim_load_close(struct sim_load *load)
{
	for (uint32_t i = 0; i < load->conn_count; i++)
		sim_conn_close(&load->conns[i]);
	for (uint32_t i = 0; i < 2; i++)
		sim_node_close(&load->nodes[i]);
}
