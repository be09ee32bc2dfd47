/* SPDX-License-Identifier: BSD-2-Clause */
/* messages_check.c - a world of messages: what may come of what was posted. */
#include "sim/messages.h"

#include "abi/mlx5_cqe.h"
#include "base/assert.h"

#include <string.h>

bool sim_mail_takes_receive(const struct sim_mail *mail)
{
	return mail->opcode != WQE_OP_WRITE;
}

bool sim_mail_sabotage(struct sim_post *post, enum sim_sabotage sabotage)
{
	if (post->config->sabotage != sabotage || post->sabotage_left == 0)
		return false;
	if (--post->sabotage_left != 0)
		return false;
	post->result->sabotaged = true;
	sim_note(&post->world, "post", "sabotage", sabotage, 0, 0);
	return true;
}

static bool is_write(const struct sim_mail *mail)
{
	return mail->opcode == WQE_OP_WRITE || mail->opcode == WQE_OP_WRITE_IMM;
}

/* ---- sends ---- */

static void sent(struct sim_mailer *end, const struct sim_cqe *cqe)
{
	struct sim_world *world = &end->post->world;
	const struct sim_mail *mail = &end->mails[end->completed];

	if (end->completed == end->posted || cqe->wqe_counter != mail->index ||
	    cqe->syndrome != 0 || cqe->send_opcode != mail->opcode) {
		sim_fail(world, "%s: completion of index %u, opcode 0x%x, syndrome 0x%02x",
			 end->name, cqe->wqe_counter, cqe->send_opcode, cqe->syndrome);
		return;
	}
	end->blocks_free += mail->block_count;
	end->completed++;
}

/* ---- receives ---- */

static bool same_bytes(const struct sim_mail *mail, const uint8_t *at)
{
	for (uint32_t i = 0; i < mail->len_bytes; i++)
		if (at[i] != sim_pattern(mail->pattern, i))
			return false;
	return true;
}

static bool same_kind(const struct sim_mail *mail, const struct sim_cqe *cqe)
{
	switch (cqe->opcode) {
	case CQE_RESP_SEND:
		return mail->opcode == WQE_OP_SEND;
	case CQE_RESP_SEND_IMM:
		return mail->opcode == WQE_OP_SEND_IMM && mail->imm == cqe->imm;
	case CQE_RESP_WR_IMM:
		return mail->opcode == WQE_OP_WRITE_IMM && mail->imm == cqe->imm;
	}
	return false;
}

/* Whether mail can be what has arrived, at `at` (NULL: a write's data are elsewhere). */
static bool matches(const struct sim_post *post, const struct sim_mail *mail, uint32_t to,
		    const struct sim_cqe *cqe, const uint8_t *at)
{
	uint32_t grh_bytes = post->type == NIC_QP_UD ? SIM_MAIL_GRH_BYTES : 0;

	return mail->to == to && !mail->stray && same_kind(mail, cqe) &&
	       mail->len_bytes + grh_bytes == cqe->len_bytes && mail->solicited == cqe->solicited &&
	       (!at || same_bytes(mail, at + grh_bytes));
}

/* The first mail of `from`, from number `first` on, that it can be; posted: none. */
static uint32_t find(struct sim_mailer *from, uint32_t first, const struct sim_mailer *end,
		     const struct sim_cqe *cqe, const uint8_t *at)
{
	const struct sim_post *post = from->post;
	uint32_t most = post->orders || post->type == NIC_QP_RC ? 1 : 2;

	for (uint32_t n = first; n < from->posted; n++) {
		const struct sim_mail *mail = &from->mails[n];

		if (mail->arrivals < most && matches(post, mail, end->number, cqe, at))
			return n;
		/* Reliable: it is the next one or none. */
		if (post->type == NIC_QP_RC && sim_mail_takes_receive(mail))
			break;
	}
	return from->posted;
}

static void expect_header(struct sim_mailer *end, const struct sim_mailer *from, const uint8_t *at)
{
	if (memcmp(at + 32, from->node->gid + 12, 4) != 0 ||
	    memcmp(at + 36, end->node->gid + 12, 4) != 0)
		sim_fail(&end->post->world, "%s: a datagram's header has other addresses",
			 end->name);
}

static struct sim_mailer *sender_of(struct sim_mailer *end, const struct sim_cqe *cqe)
{
	struct sim_post *post = end->post;

	if (post->type != NIC_QP_UD)
		return &post->ends[(end->number + SIM_MAIL_QPS) % SIM_MAIL_ENDS];
	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		if (post->ends[i].qp.qpn == cqe->peer_qpn)
			return &post->ends[i];
	return NULL;
}

static void arrived(struct sim_mailer *end, const struct sim_cqe *cqe, const uint8_t *at)
{
	struct sim_post *post = end->post;
	struct sim_mailer *from = sender_of(end, cqe);
	bool strict = post->type == NIC_QP_RC || (post->type == NIC_QP_UC && post->orders);
	uint32_t n;

	if (!from) {
		sim_fail(&post->world, "%s: a message from nobody, 0x%x", end->name, cqe->peer_qpn);
		return;
	}
	if (post->type == NIC_QP_UD)
		expect_header(end, from, at);
	n = find(from, strict ? from->last_arrived : 0, end, cqe,
		 cqe->opcode == CQE_RESP_WR_IMM ? NULL : at);
	if (n == from->posted) {
		sim_fail(&post->world, "%s: opcode 0x%x of %u bytes arrives, which %s did not send",
			 end->name, cqe->opcode, cqe->len_bytes, from->name);
		return;
	}
	from->mails[n].arrivals++;
	if (strict)
		from->last_arrived = n + 1;
	post->result->message_count++;
}

static bool untouched(const uint8_t *at, uint32_t len_bytes)
{
	for (uint32_t i = 0; i < len_bytes; i++)
		if (at[i] != SIM_MAIL_FILL)
			return false;
	return true;
}

static void received(struct sim_mailer *end, const struct sim_cqe *cqe)
{
	struct sim_pool *pool = end->pool;
	struct sim_post *post = end->post;
	uint32_t slot = pool->qp ? pool->done_count % SIM_MAIL_RECEIVES : cqe->wqe_counter;
	const uint8_t *at;

	if (cqe->syndrome != 0 || slot >= SIM_MAIL_RECEIVES || !pool->posted[slot]) {
		sim_fail(&post->world, "%s: receive %u completes, syndrome 0x%02x", end->name, slot,
			 cqe->syndrome);
		return;
	}
	at = sim_memory_at(&pool->node->memory, pool->va + slot * SIM_MAIL_RECEIVE_BYTES,
			   SIM_MAIL_RECEIVE_BYTES);
	arrived(end, cqe, at);
	/* A UC message that broke off may have filled more of it. */
	if (post->type != NIC_QP_UC && cqe->opcode != CQE_RESP_WR_IMM &&
	    !untouched(at + cqe->len_bytes, SIM_MAIL_RECEIVE_BYTES - cqe->len_bytes))
		sim_fail(&post->world, "%s: bytes behind a message are changed", end->name);
	pool->posted[slot] = false;
	pool->done_count++;
	if (!pool->qp)
		sim_srq_free(&pool->srq, (uint16_t)slot);
	/* The NIC has taken as many at least as have completed. */
	if (pool->limit > pool->posted_count - pool->done_count)
		sim_fail(&post->world, "%s: a limit of %u receives was not told", end->name,
			 pool->limit);
}

static void completed(struct sim_mailer *end, const struct sim_cqe *cqe)
{
	struct sim_post *post = end->post;

	sim_note(&post->world, end->name, "cqe", cqe->opcode, cqe->wqe_counter, cqe->len_bytes);
	post->progress_ns = post->world.now_ns;
	if (cqe->qpn != end->qp.qpn || cqe->user_index != 100 + end->number)
		sim_fail(&post->world, "%s: a completion of queue pair 0x%x, index %u", end->name,
			 cqe->qpn, cqe->user_index);
	else if (cqe->opcode == CQE_REQ || cqe->opcode == CQE_REQ_ERR)
		sent(end, cqe);
	else
		received(end, cqe);
}

bool sim_mail_poll(struct sim_mailer *end)
{
	struct sim_post *post = end->post;
	struct sim_cqe cqe;
	bool any = false;

	while (!post->world.failed && sim_cq_poll(&end->cq, &cqe)) {
		any = true;
		sim_cq_consume(&end->cq);
		if (sim_mail_sabotage(post, SIM_SABOTAGE_CQE_LOST))
			continue;
		if (cqe.syndrome == 0 && cqe.len_bytes != 0 && cqe.opcode != CQE_REQ &&
		    sim_mail_sabotage(post, SIM_SABOTAGE_CQE_LENGTH))
			cqe.len_bytes++;
		completed(end, &cqe);
		if (!post->world.failed && sim_mail_sabotage(post, SIM_SABOTAGE_CQE_TWICE))
			completed(end, &cqe);
	}
	return any;
}

void sim_mail_event(struct sim_post *post, struct sim_node *node, const struct nic_event *event)
{
	struct sim_pool *pool = &post->pools[node == &post->nodes[1]];

	if (event->kind == NIC_EVENT_QP_COMM_EST)
		return;
	if (event->kind != NIC_EVENT_SRQ_LIMIT || pool->limit == 0)
		sim_fail(&post->world, "%s: event %d of number 0x%x", node->name, event->kind,
			 event->number);
	pool->limit = 0;
}

/* ---- the end ---- */

bool sim_mail_all_in(const struct sim_post *post)
{
	if (post->type != NIC_QP_RC)
		return true;
	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		for (uint32_t n = 0; n < post->ends[i].posted; n++)
			if (sim_mail_takes_receive(&post->ends[i].mails[n]) &&
			    post->ends[i].mails[n].arrivals == 0)
				return false;
	return true;
}

/* What has to be there if nothing may be lost. */
static void compare_lost(struct sim_post *post)
{
	uint64_t lost = 0, reasons = post->harm_count;

	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++)
		for (uint32_t n = 0; n < post->ends[i].posted; n++) {
			const struct sim_mail *mail = &post->ends[i].mails[n];

			lost += sim_mail_takes_receive(mail) && !mail->stray && mail->arrivals == 0;
		}
	for (uint32_t i = 0; i < 2; i++)
		reasons += nic_counters(post->nodes[i].nic)->rx_drop_message;
	if (lost > reasons || (post->clean && lost != 0))
		sim_fail(&post->world, "%llu messages are lost, of which %llu have a cause",
			 (unsigned long long)lost, (unsigned long long)reasons);
}

/* Byte `at` of slot s of what `from` writes to: the last write's, or any that may have been late.
 */
static bool byte_fits(const struct sim_mailer *from, uint32_t s, uint32_t at, uint8_t byte)
{
	bool certain = from->post->type == NIC_QP_RC || from->post->clean;

	for (uint32_t n = from->posted; n-- != 0;) {
		const struct sim_mail *mail = &from->mails[n];

		if (!is_write(mail) || mail->slot != s || at >= mail->len_bytes)
			continue;
		if (byte == sim_pattern(mail->pattern, at))
			return true;
		if (certain)
			return false;
	}
	return byte == SIM_MAIL_FILL;
}

static void compare_target(struct sim_mailer *end)
{
	struct sim_post *post = end->post;
	const struct sim_mailer *from = &post->ends[(end->number + SIM_MAIL_QPS) % SIM_MAIL_ENDS];
	const uint8_t *at =
	    sim_memory_at(&end->node->memory, end->target_va, SIM_MAIL_SLOTS * SIM_MAIL_BYTES_MAX);

	for (uint32_t i = 0; i < SIM_MAIL_SLOTS * SIM_MAIL_BYTES_MAX; i++) {
		if (byte_fits(from, i / SIM_MAIL_BYTES_MAX, i % SIM_MAIL_BYTES_MAX, at[i]))
			continue;
		sim_fail(&post->world, "%s: at the end byte 0x%x of the target is wrong", end->name,
			 i);
		return;
	}
}

static void compare_pool(struct sim_post *post, struct sim_pool *pool)
{
	bool may_fill = post->type == NIC_QP_UC && !post->clean;

	for (uint32_t i = 0; i < SIM_MAIL_RECEIVES; i++) {
		const uint8_t *at =
		    sim_memory_at(&pool->node->memory, pool->va + i * SIM_MAIL_RECEIVE_BYTES,
				  SIM_MAIL_RECEIVE_BYTES);

		if (!untouched(at + SIM_MAIL_RECEIVE_BYTES - SIM_MAIL_GUARD_BYTES,
			       SIM_MAIL_GUARD_BYTES))
			sim_fail(&post->world, "%s: bytes behind a receive are changed",
				 pool->node->name);
		if (pool->posted[i] && !may_fill && !untouched(at, SIM_MAIL_RECEIVE_BYTES))
			sim_fail(&post->world, "%s: receive %u is filled and not complete",
				 pool->node->name, i);
	}
}

void sim_mail_compare(struct sim_post *post)
{
	compare_lost(post);
	for (uint32_t i = 0; i < SIM_MAIL_ENDS; i++) {
		compare_target(&post->ends[i]);
		if (!post->shared)
			compare_pool(post, &post->ends[i].own);
	}
	for (uint32_t i = 0; i < 2 && post->shared; i++)
		compare_pool(post, &post->pools[i]);
}
