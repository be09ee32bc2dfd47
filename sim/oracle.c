/* SPDX-License-Identifier: BSD-2-Clause */
/* oracle.c - the model of a stream. */
#include "sim/oracle.h"

#include "abi/mlx5_cqe.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static struct sim_op *op_at(struct sim_stream *stream, uint32_t n)
{
	return &stream->ops[n % SIM_OPS];
}

static bool is_write(const struct sim_op *op)
{
	return op->opcode == WQE_OP_WRITE || op->opcode == WQE_OP_WRITE_IMM;
}

static bool is_atomic(const struct sim_op *op)
{
	return op->opcode == WQE_OP_ATOMIC_CS || op->opcode == WQE_OP_ATOMIC_FA;
}

/* The bytes of the target that op reads or changes. */
static uint32_t span(const struct sim_op *op)
{
	if (is_write(op) || op->opcode == WQE_OP_READ)
		return op->len_bytes;
	return is_atomic(op) ? sizeof(uint64_t) : 0;
}

void sim_stream_open(struct sim_stream *stream, struct sim_world *world, const char *name,
		     uint8_t *target, uint32_t target_bytes, struct sim_memory *local)
{
	memset(stream, 0, sizeof(*stream));
	stream->world = world;
	stream->name = name;
	stream->target = target;
	stream->target_bytes = target_bytes;
	stream->local = local;
	stream->posted = (uint8_t *)malloc(target_bytes);
	stream->done = (uint8_t *)malloc(target_bytes);
	if (!stream->posted || !stream->done)
		abort();
	memcpy(stream->posted, target, target_bytes);
	memcpy(stream->done, target, target_bytes);
}

void sim_stream_close(struct sim_stream *stream)
{
	for (uint32_t i = 0; i < SIM_OPS; i++)
		free(stream->ops[i].expected);
	free(stream->posted);
	free(stream->done);
}

/* ---- posting ---- */

struct sim_op *sim_stream_op(struct sim_stream *stream)
{
	struct sim_op *op = op_at(stream, stream->op_head);

	ASSERT(stream->op_head - stream->op_tail < SIM_OPS);
	memset(op, 0, sizeof(*op));
	op->slot = -1;
	return op;
}

static void write_pattern(uint8_t *at, uint32_t pattern, uint32_t from, uint32_t len_bytes)
{
	for (uint32_t i = 0; i < len_bytes; i++)
		at[i] = sim_pattern(pattern, from + i);
}

static void post_atomic(struct sim_stream *stream, struct sim_op *op)
{
	uint8_t *at = stream->posted + op->remote_off;

	memcpy(&op->old, at, sizeof(op->old));
	if (op->opcode == WQE_OP_ATOMIC_FA)
		op->new = op->old + op->swap_add;
	else
		op->new = op->old == op->compare ? op->swap_add : op->old;
	memcpy(at, &op->new, sizeof(op->new));
}

void sim_stream_post(struct sim_stream *stream)
{
	struct sim_op *op = op_at(stream, stream->op_head);

	stream->op_head++;
	if (op->must_fail)
		return;
	ASSERT(op->remote_off + span(op) <= stream->target_bytes);
	if (is_write(op))
		write_pattern(stream->posted + op->remote_off, op->pattern, 0, op->len_bytes);
	if (is_atomic(op))
		post_atomic(stream, op);
	if (op->opcode != WQE_OP_READ || op->len_bytes == 0)
		return;
	op->expected = (uint8_t *)malloc(op->len_bytes);
	if (!op->expected)
		abort();
	memcpy(op->expected, stream->posted + op->remote_off, op->len_bytes);
}

void sim_stream_message(struct sim_stream *stream, const struct sim_message *message)
{
	ASSERT(stream->message_head - stream->message_tail < SIM_MESSAGES);
	stream->messages[stream->message_head++ % SIM_MESSAGES] = *message;
}

static bool overlap(const struct sim_op *op, uint64_t off, uint64_t len_bytes)
{
	return span(op) != 0 && len_bytes != 0 && op->remote_off < off + len_bytes &&
	       off < op->remote_off + span(op);
}

bool sim_stream_reads(const struct sim_stream *stream, uint64_t off, uint64_t len_bytes)
{
	for (uint32_t n = stream->op_tail; n != stream->op_head; n++) {
		const struct sim_op *op = &stream->ops[n % SIM_OPS];

		if (op->opcode == WQE_OP_READ && overlap(op, off, len_bytes))
			return true;
	}
	return false;
}

/* ---- completions ---- */

static void check_written(struct sim_stream *stream, uint32_t n)
{
	const struct sim_op *op = op_at(stream, n);

	/* What a later entry may have changed is compared when that one completes. */
	for (uint32_t later = n + 1; later != stream->op_head; later++)
		if (op_at(stream, later)->opcode != WQE_OP_READ &&
		    overlap(op_at(stream, later), op->remote_off, op->len_bytes))
			return;
	for (uint32_t i = 0; i < op->len_bytes; i++) {
		if (stream->target[op->remote_off + i] == sim_pattern(op->pattern, i))
			continue;
		sim_fail(stream->world, "%s: byte %u of a complete write of %u at 0x%llx is wrong",
			 stream->name, i, op->len_bytes, (unsigned long long)op->remote_off);
		return;
	}
}

static void check_result(struct sim_stream *stream, const struct sim_op *op)
{
	const void *expected = is_atomic(op) ? (const void *)&op->old : op->expected;
	uint32_t len_bytes = span(op);
	const uint8_t *at;

	if (len_bytes == 0)
		return;
	at = sim_memory_at(stream->local, op->local_va, len_bytes);
	ASSERT(at && expected);
	if (memcmp(at, expected, len_bytes) != 0)
		sim_fail(stream->world, "%s: opcode 0x%x of %u bytes at 0x%llx brought wrong bytes",
			 stream->name, op->opcode, len_bytes, (unsigned long long)op->remote_off);
}

/* Entry n has succeeded. */
static void succeed(struct sim_stream *stream, uint32_t n)
{
	struct sim_op *op = op_at(stream, n);

	if (op->must_fail) {
		sim_fail(stream->world, "%s: an entry succeeds that must end in 0x%02x",
			 stream->name, op->must_fail);
		return;
	}
	if (is_write(op)) {
		write_pattern(stream->done + op->remote_off, op->pattern, 0, op->len_bytes);
		check_written(stream, n);
	}
	if (is_atomic(op))
		memcpy(stream->done + op->remote_off, &op->new, sizeof(op->new));
	if (is_atomic(op) || op->opcode == WQE_OP_READ)
		check_result(stream, op);
}

static void forget(struct sim_stream *stream, void (*released)(void *, const struct sim_op *),
		   void *ctx)
{
	struct sim_op *op = op_at(stream, stream->op_tail);

	released(ctx, op);
	free(op->expected);
	op->expected = NULL;
	stream->op_tail++;
}

/* The entry that a completion must be of: the next signalled one, or any if it is an error. */
static bool find(struct sim_stream *stream, const struct sim_cqe *cqe, uint32_t *found)
{
	bool error = cqe->syndrome != 0;

	for (uint32_t n = stream->op_cqe; n != stream->op_head; n++) {
		const struct sim_op *op = op_at(stream, n);

		if (op->index == cqe->wqe_counter && (op->signal || error)) {
			*found = n;
			return true;
		}
		/* After a failure nothing is passed over; before, only what succeeded in silence */
		if (op->signal || stream->failed)
			break;
	}
	sim_fail(stream->world, "%s: completion of index %u (syndrome 0x%02x) is not the next one",
		 stream->name, cqe->wqe_counter, cqe->syndrome);
	return false;
}

static void check_success(struct sim_stream *stream, const struct sim_op *op,
			  const struct sim_cqe *cqe)
{
	bool reads = op->opcode == WQE_OP_READ || is_atomic(op);

	if (stream->failed)
		sim_fail(stream->world, "%s: index %u succeeds after a failure", stream->name,
			 op->index);
	if (cqe->opcode != CQE_REQ || cqe->send_opcode != op->opcode)
		sim_fail(stream->world, "%s: completion of opcode 0x%x for an entry of 0x%x",
			 stream->name, cqe->send_opcode, op->opcode);
	if (reads && cqe->len_bytes != span(op))
		sim_fail(stream->world, "%s: a result of %u bytes completes with %u", stream->name,
			 span(op), cqe->len_bytes);
}

const struct sim_op *sim_stream_completed(struct sim_stream *stream, const struct sim_cqe *cqe,
					  void (*released)(void *ctx, const struct sim_op *op),
					  void *ctx)
{
	bool error = cqe->syndrome != 0;
	const struct sim_op *op;
	uint32_t n, upto;

	if (!find(stream, cqe, &n))
		return NULL;
	op = op_at(stream, n);
	if (!error)
		check_success(stream, op, cqe);
	upto = error ? n : n + 1;
	/* What failed, and all behind it, is uncertain: it is settled when the connection is. */
	for (uint32_t i = stream->op_cqe; i != upto && !stream->failed; i++) {
		succeed(stream, i);
		forget(stream, released, ctx);
	}
	stream->op_cqe = n + 1;
	stream->failed = stream->failed || error;
	return stream->world->failed ? NULL : op;
}

uint32_t sim_stream_ended(struct sim_stream *stream,
			  void (*released)(void *ctx, const struct sim_op *op), void *ctx)
{
	uint32_t missing = 0;

	for (uint32_t n = stream->op_cqe; n != stream->op_head; n++)
		missing += stream->failed || op_at(stream, n)->signal;
	while (missing == 0 && stream->op_cqe != stream->op_head) {
		succeed(stream, stream->op_cqe++);
		forget(stream, released, ctx);
	}
	return missing;
}

/* ---- receives ---- */

static bool same_kind(const struct sim_message *message, const struct sim_cqe *cqe)
{
	switch (cqe->opcode) {
	case CQE_RESP_SEND:
		return message->opcode == WQE_OP_SEND;
	case CQE_RESP_SEND_IMM:
		return message->opcode == WQE_OP_SEND_IMM && message->imm == cqe->imm;
	case CQE_RESP_WR_IMM:
		return message->opcode == WQE_OP_WRITE_IMM && message->imm == cqe->imm;
	}
	return false;
}

static void check_received_bytes(struct sim_stream *stream, const struct sim_message *message,
				 struct sim_memory *memory, const struct sim_piece *pieces,
				 uint32_t count)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < count && at < message->len_bytes; i++) {
		uint32_t left = message->len_bytes - at;
		uint32_t here = left < pieces[i].len_bytes ? left : pieces[i].len_bytes;
		const uint8_t *bytes = sim_memory_at(memory, pieces[i].va, here);

		ASSERT(bytes);
		for (uint32_t k = 0; k < here; k++, at++) {
			if (bytes[k] == sim_pattern(message->pattern, at))
				continue;
			sim_fail(stream->world, "%s: byte %u of a message of %u is wrong",
				 stream->name, at, message->len_bytes);
			return;
		}
	}
	if (at != message->len_bytes)
		sim_fail(stream->world, "%s: a message of %u bytes in a receive of %u",
			 stream->name, message->len_bytes, at);
}

void sim_stream_received(struct sim_stream *stream, const struct sim_cqe *cqe,
			 struct sim_memory *memory, const struct sim_piece *pieces, uint32_t count)
{
	const struct sim_message *message;

	if (stream->message_tail == stream->message_head) {
		sim_fail(stream->world, "%s: a message arrives that nobody sent", stream->name);
		return;
	}
	message = &stream->messages[stream->message_tail++ % SIM_MESSAGES];
	if (!same_kind(message, cqe) || message->len_bytes != cqe->len_bytes ||
	    message->solicited != cqe->solicited || message->too_long) {
		sim_fail(stream->world,
			 "%s: opcode 0x%x of %u bytes arrives, but 0x%x of %u was sent next",
			 stream->name, cqe->opcode, cqe->len_bytes, message->opcode,
			 message->len_bytes);
		return;
	}
	if (message->opcode != WQE_OP_WRITE_IMM)
		check_received_bytes(stream, message, memory, pieces, count);
}

/* ---- the end of a connection, and the end of all ---- */

/* How many bytes of [at, at + len_bytes) differ from the target. */
static uint32_t count_different(const struct sim_stream *stream, uint64_t off, uint32_t len_bytes)
{
	uint32_t different = 0;

	if (memcmp(stream->done + off, stream->target + off, len_bytes) == 0)
		return 0;
	for (uint32_t i = 0; i < len_bytes; i++)
		different += stream->done[off + i] != stream->target[off + i];
	return different;
}

/* Applies the part [from, from + len) of op to `done`; returns what is left of *different. */
static uint32_t apply(struct sim_stream *stream, const struct sim_op *op, uint32_t from,
		      uint32_t len_bytes, uint32_t different)
{
	uint64_t off = op->remote_off + from;

	different -= count_different(stream, off, len_bytes);
	if (is_atomic(op))
		memcpy(stream->done + off, &op->new, sizeof(op->new));
	else
		write_pattern(stream->done + off, op->pattern, from, len_bytes);
	return different + count_different(stream, off, len_bytes);
}

/* Runs the uncertain entries packet by packet until the model is as the target. */
static bool reach(struct sim_stream *stream, uint32_t mtu_bytes)
{
	uint32_t different = count_different(stream, 0, stream->target_bytes);

	for (uint32_t n = stream->op_tail; n != stream->op_head && different != 0; n++) {
		const struct sim_op *op = op_at(stream, n);
		uint32_t len_bytes = op->opcode == WQE_OP_READ ? 0 : span(op);

		if (op->must_fail)
			break; /* it does nothing, and nothing runs after it */
		for (uint32_t at = 0; at < len_bytes && different != 0; at += mtu_bytes) {
			uint32_t left = len_bytes - at;

			different = apply(stream, op, at, left < mtu_bytes ? left : mtu_bytes,
					  different);
		}
	}
	return different == 0;
}

void sim_stream_settle(struct sim_stream *stream, uint32_t mtu_bytes,
		       void (*released)(void *ctx, const struct sim_op *op), void *ctx)
{
	if (!reach(stream, mtu_bytes))
		sim_fail(stream->world,
			 "%s: after a failure memory is not as after a whole number of packets",
			 stream->name);
	while (stream->op_tail != stream->op_head)
		forget(stream, released, ctx);
	memcpy(stream->done, stream->target, stream->target_bytes);
	memcpy(stream->posted, stream->target, stream->target_bytes);
	stream->op_cqe = stream->op_tail;
	stream->message_tail = stream->message_head;
	stream->failed = false;
}

bool sim_stream_quiet(const struct sim_stream *stream)
{
	return stream->op_tail == stream->op_head && stream->message_tail == stream->message_head;
}

void sim_stream_compare(struct sim_stream *stream)
{
	for (uint32_t i = 0; i < stream->target_bytes; i++) {
		if (stream->target[i] == stream->posted[i])
			continue;
		sim_fail(stream->world, "%s: at the end byte 0x%x of the target is wrong",
			 stream->name, i);
		return;
	}
}
