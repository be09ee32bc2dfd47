/* SPDX-License-Identifier: BSD-2-Clause */
/* messages.c - a world of messages: its hosts, and what their programs post. */
#include "sim/messages.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define STALL_NS   1000000000ull
#define SILENCE_NS 20000000ull /* longer than anything is under way */

enum {
	QKEY = 0x1234567,
	SQ_WQEBBS = 64,
	CQ_COUNT_LOG2 = 9, /* more than the rings of an end and its share of a queue */
	OPS = 60,
	BURST_MAX = 4,
	TICK_NS_MAX = 200000,
	LOST_RING_PPM = 100000,
	STRAY_PPM = 50000,
	EVENTS_MAX = 5000000,
};

static struct sim_mailer *peer_of(struct sim_mailer *end)
{
	return &end->post->ends[(end->number + SIM_MAIL_QPS) % SIM_MAIL_ENDS];
}

/* ---- posting ---- */

static void receive_all(struct sim_pool *pool, struct sim_world *world, uint32_t stingy_ppm)
{
	while (pool->posted_count - pool->done_count < SIM_MAIL_RECEIVES - 1 &&
	       !sim_chance(world, stingy_ppm)) {
		int i = pool->qp ? (int)(pool->posted_count % SIM_MAIL_RECEIVES) : pool->srq.head;
		struct sim_piece piece = {
		    .va = pool->va + (uint64_t)i * SIM_MAIL_RECEIVE_BYTES,
		    .len_bytes = SIM_MAIL_RECEIVE_BYTES - SIM_MAIL_GUARD_BYTES,
		    .lkey = pool->key,
		};

		memset(sim_memory_at(&pool->node->memory, piece.va, piece.len_bytes), SIM_MAIL_FILL,
		       piece.len_bytes);
		ASSERT(!pool->posted[i]);
		pool->posted[i] = true;
		if (pool->qp)
			sim_qp_receive(pool->qp, &piece, 1);
		else if (sim_srq_receive(&pool->srq, &piece) != i)
			sim_fail(world, "%s: no entry is free", pool->node->name);
		pool->posted_count++;
	}
}

static void arm_limit(struct sim_pool *pool, struct sim_post *post)
{
	uint32_t limit = (uint32_t)sim_range(&post->world, 1, 4);

	if (pool->qp || pool->limit != 0 || !sim_chance(&post->world, 20000))
		return;
	pool->limit = limit;
	if (nic_srq_arm(pool->node->nic, pool->srq.srqn, limit) != 0)
		sim_fail(&post->world, "a limit of %u is refused", limit);
}

static enum wqe_opcode choose_opcode(struct sim_post *post)
{
	static const enum wqe_opcode opcodes[] = {WQE_OP_SEND, WQE_OP_SEND, WQE_OP_SEND_IMM,
						  WQE_OP_WRITE, WQE_OP_WRITE_IMM};

	return opcodes[sim_below(&post->world, post->type == NIC_QP_UD ? 3 : 5)];
}

static uint32_t choose_len(struct sim_post *post)
{
	uint32_t mtu = post->mtu_bytes;
	uint32_t max = post->type == NIC_QP_UD ? mtu : SIM_MAIL_BYTES_MAX;
	const uint32_t edges[] = {0, 1, 12, mtu - 1, mtu, mtu + 1, 2 * mtu};
	uint32_t len_bytes = (uint32_t)sim_below(&post->world, max + 1);

	if (sim_chance(&post->world, 400000))
		len_bytes = edges[sim_below(&post->world, sizeof(edges) / sizeof(edges[0]))];
	return len_bytes < max ? len_bytes : max;
}

static void address(struct sim_mailer *end, const struct sim_mail *mail, struct wqe_av *av)
{
	struct sim_mailer *to = &end->post->ends[mail->to];
	uint32_t qpn = to->qp.qpn, qkey = QKEY;

	if (mail->stray && mail->imm & 1)
		qpn ^= 0x800;
	else if (mail->stray)
		qkey ^= 1u << mail->imm % 31;
	*av = (struct wqe_av){
	    .ud.qkey = be32_from(qkey),
	    .dqp_dct = be32_from(WQE_AV_EXTENDED_F | qpn),
	    .rlid = be16_from(0xc000),
	    .hop_limit = 64,
	};
	memcpy(av->rgid, to->node->gid, sizeof(av->rgid));
}

static void compose(struct sim_mailer *end, struct sim_mail *mail)
{
	struct sim_post *post = end->post;
	struct sim_world *world = &post->world;

	*mail = (struct sim_mail){
	    .opcode = choose_opcode(post),
	    .len_bytes = choose_len(post),
	    .pattern = (uint32_t)sim_range(world, 1, UINT32_MAX),
	    .imm = (uint32_t)base_prng_u64(&world->prng),
	    .solicited = sim_chance(world, 200000),
	    .slot = (uint8_t)sim_below(world, SIM_MAIL_SLOTS),
	    .to = (uint8_t)peer_of(end)->number,
	};
	if (post->type != NIC_QP_UD)
		return;
	mail->to = (uint8_t)sim_below(world, SIM_MAIL_ENDS);
	mail->stray = sim_chance(world, STRAY_PPM);
}

static void fill(struct sim_mailer *end, const struct sim_mail *mail, struct sim_wqe *wqe)
{
	struct sim_mailer *to = &end->post->ends[mail->to];
	uint64_t va = end->send_va + end->posted % SIM_MAIL_BUFFERS * SIM_MAIL_BYTES_MAX;
	uint8_t *at = sim_memory_at(&end->node->memory, va, SIM_MAIL_BYTES_MAX);

	for (uint32_t i = 0; i < mail->len_bytes; i++)
		at[i] = sim_pattern(mail->pattern, i);
	wqe->opcode = mail->opcode;
	wqe->signal = true;
	wqe->solicited = mail->solicited;
	wqe->imm = mail->imm;
	wqe->remote_va = to->target_va + (uint64_t)mail->slot * SIM_MAIL_BYTES_MAX;
	wqe->rkey = to->target_key;
	wqe->piece_count = mail->len_bytes != 0;
	wqe->pieces[0] = (struct sim_piece){va, mail->len_bytes, end->send_key};
}

/* Posts one message; false: not now. */
static bool post_one(struct sim_mailer *end)
{
	struct sim_post *post = end->post;
	struct sim_mail *mail = &end->mails[end->posted];
	struct sim_wqe wqe = {0};
	struct sim_pool *pool;
	struct wqe_av av;

	if (end->posted - end->completed == SIM_MAIL_BUFFERS || end->blocks_free < 2)
		return false;
	compose(end, mail);
	pool = post->ends[mail->to].pool;
	if (sim_mail_takes_receive(mail) && !mail->stray) {
		/* In a clean world nothing is sent without a receive for it. */
		if (post->clean && pool->promised_count == pool->posted_count)
			return false;
		pool->promised_count++;
	}
	fill(end, mail, &wqe);
	if (post->type == NIC_QP_UD) {
		address(end, mail, &av);
		wqe.to = &av;
	}
	mail->block_count = (uint16_t)wqe_bb_count(sim_qp_units(&wqe));
	mail->index = sim_qp_post(&end->qp, &wqe);
	end->blocks_free -= mail->block_count;
	end->posted++;
	post->result->op_count++;
	sim_note(&post->world, end->name, "post", mail->opcode, mail->len_bytes, mail->imm);
	return true;
}

static void ring(struct sim_mailer *end)
{
	struct sim_world *world = &end->post->world;

	sim_qp_store_record(&end->qp);
	if (sim_chance(world, LOST_RING_PPM)) {
		sim_node_scan_later(end->node);
		return;
	}
	nic_doorbell(end->node->nic, end->qp.register_word, world->now_ns);
	sim_node_kick(end->node, sim_below(world, 2000));
}

static void tick(void *ctx, uint64_t arg)
{
	struct sim_mailer *end = (struct sim_mailer *)ctx;
	struct sim_post *post = end->post;
	uint64_t burst = sim_range(&post->world, 1, BURST_MAX);
	uint32_t before = end->posted;

	(void)arg;
	sim_mail_poll(end);
	receive_all(end->pool, &post->world, post->faults.stingy_ppm);
	arm_limit(end->pool, post);
	while (burst-- != 0 && end->posted < post->op_count && post_one(end))
		;
	if (end->posted != before)
		ring(end);
	if (sim_mail_sabotage(post, SIM_SABOTAGE_WILD_WRITE))
		*sim_memory_at(&end->node->memory,
			       end->pool->va + SIM_MAIL_RECEIVE_BYTES - SIM_MAIL_GUARD_BYTES, 1) ^=
		    1;
	sim_world_at(&post->world, post->world.now_ns + sim_range(&post->world, 1, TICK_NS_MAX),
		     tick, end, 0);
}

/* ---- life ---- */

static void event(void *ctx, struct sim_node *node, const struct nic_event *e)
{
	sim_mail_event((struct sim_post *)ctx, node, e);
}

static void harmed(void *ctx, struct sim_node *node, uint32_t dqpn)
{
	(void)node;
	(void)dqpn;
	((struct sim_post *)ctx)->harm_count++;
}

static void meddle(void *ctx, uint8_t *bth, size_t len_bytes)
{
	struct sim_post *post = (struct sim_post *)ctx;

	if (len_bytes < 200 || post->config->sabotage != SIM_SABOTAGE_FLIP_BYTE)
		return;
	if (!post->result->sabotaged && !sim_mail_sabotage(post, SIM_SABOTAGE_FLIP_BYTE))
		return;
	bth[len_bytes - 60] ^= 0x10;
}

static uint64_t filled(struct sim_node *node, size_t len_bytes)
{
	uint64_t va = sim_memory_take(&node->memory, len_bytes, 8);

	memset(sim_memory_at(&node->memory, va, len_bytes), SIM_MAIL_FILL, len_bytes);
	return va;
}

static uint32_t region(struct sim_post *post, struct sim_node *node, uint64_t va,
		       uint64_t len_bytes)
{
	struct nic_mkey_attr attr = {
	    .pdn = post->pdn[node == &post->nodes[1]],
	    .access = NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F,
	    .va = va,
	    .host_va = va,
	    .len_bytes = len_bytes,
	};
	uint32_t key = 0;

	if (nic_mkey_create(node->nic, &attr, &key) != 0)
		sim_fail(&post->world, "no key");
	return key;
}

static void open_pool(struct sim_post *post, struct sim_pool *pool, struct sim_node *node,
		      struct sim_qp *qp)
{
	size_t len_bytes = SIM_MAIL_RECEIVES * SIM_MAIL_RECEIVE_BYTES;
	struct nic_srq_attr attr = {
	    .pdn = post->pdn[node == &post->nodes[1]],
	    .wqe_count = SIM_MAIL_RECEIVES,
	    .wqe_size_log2 = 5,
	};

	pool->node = node;
	pool->qp = qp;
	pool->va = filled(node, len_bytes);
	pool->key = region(post, node, pool->va, len_bytes);
	if (!qp && sim_srq_create(&pool->srq, node->nic, &node->memory, &attr) != 0)
		sim_fail(&post->world, "no shared receive queue");
}

static void open_node(struct sim_post *post, uint32_t i)
{
	struct sim_node *node = &post->nodes[i];

	sim_node_open(node, &post->world, i, &post->faults.link);
	node->peer = &post->nodes[!i];
	node->ctx = post;
	node->event = event;
	node->harmed = harmed;
	node->meddle = post->config->sabotage == SIM_SABOTAGE_NONE ? NULL : meddle;
	nic_gid_set(node->nic, 0, node->gid);
	if (nic_pd_create(node->nic, &post->pdn[i]) != 0)
		sim_fail(&post->world, "no protection domain");
	if (post->shared)
		open_pool(post, &post->pools[i], node, NULL);
}

static void open_end(struct sim_post *post, uint32_t number)
{
	static const char *const names[SIM_MAIL_ENDS] = {"a0", "a1", "a2", "b0", "b1", "b2"};
	struct sim_mailer *end = &post->ends[number];
	uint32_t host = number / SIM_MAIL_QPS;
	struct nic_qp_attr attr = {
	    .type = post->type,
	    .pdn = post->pdn[host],
	    .sq_wqebb_count = SQ_WQEBBS,
	    .rq_wqe_count = post->shared ? 0 : SIM_MAIL_RECEIVES,
	    .rq_wqe_size_log2 = 5,
	    .srqn = post->pools[host].srq.srqn,
	    .user_index = 100 + number,
	};

	end->post = post;
	end->node = &post->nodes[host];
	end->name = names[number];
	end->number = number;
	end->blocks_free = SQ_WQEBBS;
	end->pool = post->shared ? &post->pools[host] : &end->own;
	if (sim_cq_create(&end->cq, end->node->nic, &end->node->memory, CQ_COUNT_LOG2, 64, false))
		sim_fail(&post->world, "no completion queue");
	attr.cqn_send = attr.cqn_recv = end->cq.cqn;
	if (sim_qp_create(&end->qp, end->node->nic, &end->node->memory, &attr) != 0)
		sim_fail(&post->world, "no queue pair");
	if (!post->shared)
		open_pool(post, &end->own, end->node, &end->qp);
	end->send_va = filled(end->node, SIM_MAIL_BUFFERS * SIM_MAIL_BYTES_MAX);
	end->send_key =
	    region(post, end->node, end->send_va, SIM_MAIL_BUFFERS * SIM_MAIL_BYTES_MAX);
	end->target_va = filled(end->node, SIM_MAIL_SLOTS * SIM_MAIL_BYTES_MAX);
	end->target_key =
	    region(post, end->node, end->target_va, SIM_MAIL_SLOTS * SIM_MAIL_BYTES_MAX);
}

static void move(struct sim_mailer *end, enum nic_qp_state state)
{
	static const uint32_t set[3][NIC_QP_STATE_COUNT] = {
	    [NIC_QP_RC] = {[NIC_QP_INIT] = NIC_QP_SET_ACCESS_F,
			   [NIC_QP_RTR] = NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F |
					  NIC_QP_SET_DEST_QPN_F | NIC_QP_SET_RQ_PSN_F |
					  NIC_QP_SET_DEST_RD_ATOMIC_F | NIC_QP_SET_MIN_RNR_TIMER_F,
			   [NIC_QP_RTS] = NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_RETRY_F |
					  NIC_QP_SET_RNR_RETRY_F | NIC_QP_SET_SQ_PSN_F |
					  NIC_QP_SET_RD_ATOMIC_F},
	    [NIC_QP_UC] = {[NIC_QP_INIT] = NIC_QP_SET_ACCESS_F,
			   [NIC_QP_RTR] = NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F |
					  NIC_QP_SET_DEST_QPN_F | NIC_QP_SET_RQ_PSN_F,
			   [NIC_QP_RTS] = NIC_QP_SET_SQ_PSN_F},
	    [NIC_QP_UD] = {[NIC_QP_INIT] = NIC_QP_SET_QKEY_F, [NIC_QP_RTS] = NIC_QP_SET_SQ_PSN_F},
	};
	struct sim_post *post = end->post;
	struct nic_qp_params params = {
	    .set = set[post->type][state] | NIC_QP_SET_STATE_F,
	    .state = state,
	    .access = NIC_ACCESS_REMOTE_WRITE_F,
	    .mtu_bytes = post->mtu_bytes,
	    .timeout = 12,
	    .retry_count = 7,
	    .rnr_retry = 7,
	    .min_rnr_timer = 4,
	    .rd_atomic = 1,
	    .dest_rd_atomic = 1,
	    .port = 1,
	    .qkey = QKEY,
	    .rq_psn = 0xffffe0 + peer_of(end)->number,
	    .sq_psn = 0xffffe0 + end->number,
	    .dest_qpn = peer_of(end)->qp.qpn,
	    .path = {.hop_limit = 64, .udp_sport = 0xc000},
	};

	if (state == NIC_QP_INIT)
		params.set |= NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F;
	memcpy(params.path.dgid, peer_of(end)->node->gid, sizeof(params.path.dgid));
	memcpy(params.path.sgid, end->node->gid, sizeof(params.path.sgid));
	if (nic_qp_modify(end->node->nic, end->qp.qpn, &params, post->world.now_ns) != 0)
		sim_fail(&post->world, "%s: a move to state %d is refused", end->name, state);
}

static void choose(struct sim_post *post)
{
	static const enum nic_qp_type types[] = {NIC_QP_RC, NIC_QP_UC, NIC_QP_UD};
	struct sim_world *world = &post->world;
	struct fault_config *fault = &post->faults.link.fault;

	sim_faults_choose(world, &post->faults);
	post->type = types[sim_below(world, 3)];
	post->shared = post->type == NIC_QP_RC || sim_chance(world, 500000);
	post->clean = sim_chance(world, 350000);
	if (post->clean)
		*fault = (struct fault_config){0};
	post->orders = fault->ppm[FAULT_REORDER] + fault->ppm[FAULT_DUPLICATE] == 0;
	post->mtu_bytes = 256u << sim_below(world, 5);
	post->op_count = post->config->op_count ? post->config->op_count : OPS;
	if (post->op_count > SIM_MAIL_POSTS_MAX)
		post->op_count = SIM_MAIL_POSTS_MAX;
	post->sabotage_left = post->config->sabotage == SIM_SABOTAGE_NONE ? 0 : 4;
}

static void open(struct sim_post *post)
{
	choose(post);
	for (uint32_t i = 0; i < 2; i++)
		open_node(post, i);
	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		open_end(post, i);
	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		for (enum nic_qp_state state = NIC_QP_INIT; state <= NIC_QP_RTS; state++)
			move(&post->ends[i], state);
	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		sim_world_at(&post->world, post->world.now_ns + sim_below(&post->world, 10000),
			     tick, &post->ends[i], 0);
}

static bool done(const struct sim_post *post)
{
	uint64_t silent_ns = post->world.now_ns - post->progress_ns;

	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		if (post->ends[i].posted < post->op_count ||
		    post->ends[i].completed < post->ends[i].posted)
			return false;
	return silent_ns > SILENCE_NS && sim_mail_all_in(post);
}

static void destroy(struct sim_post *post)
{
	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		if (nic_qp_destroy(post->ends[i].node->nic, post->ends[i].qp.qpn) != 0 ||
		    nic_cq_destroy(post->ends[i].node->nic, post->ends[i].cq.cqn) != 0)
			sim_fail(&post->world, "a queue is in use at the end");
	for (uint32_t i = 0; i < 2; i++) {
		struct nic *nic = post->nodes[i].nic;

		if (post->shared && nic_srq_destroy(nic, post->pools[i].srq.srqn) != 0)
			sim_fail(&post->world, "a shared receive queue is in use at the end");
		if (post->nodes[i].memory.fault_count != 0)
			sim_fail(&post->world, "the NIC touched memory that is not there");
		nic_check(nic);
	}
}

void sim_messages_run(const struct sim_config *config, struct sim_result *result)
{
	struct sim_post *post = (struct sim_post *)calloc(1, sizeof(*post));

	if (!post)
		abort();
	memset(result, 0, sizeof(*result));
	post->config = config;
	post->result = result;
	sim_world_open(&post->world, config->seed, config->trace);
	open(post);
	while (!done(post) && sim_world_step(&post->world))
		if (post->world.now_ns - post->progress_ns > STALL_NS ||
		    post->world.event_count > EVENTS_MAX)
			sim_fail(&post->world, "not everything completes or arrives");
	if (!post->world.failed)
		sim_mail_compare(post);
	if (!post->world.failed)
		destroy(post);
	for (uint32_t i = 0; i < 2; i++)
		sim_count_node(result, &post->nodes[i]);
	sim_finish(result, &post->world);
	for (uint32_t i = 0; i < 2; i++)
		sim_node_close(&post->nodes[i]);
	sim_world_close(&post->world);
	free(post);
}
