/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/oracle.h - what must hold between the two ends of a connection, kept as a model beside it.
 *
 * A stream is one direction: the entries that one end posts, and the memory of the other end that
 * only they may change. The model knows nothing of packets or of nic/; it is told what was posted
 * and what completed, and says what is wrong:
 *	one completion for each signalled entry, in order, and for each entry that did not succeed;
 *	bytes where they belong, and no others; READs and atomics bring what was there;
 *	messages arrive once, in order, whole, each in the oldest receive;
 *	after a failure, memory is as after a whole number of packets of the stream.
 *
 * Two copies of the target are kept: as after all that was posted, and as after all that is
 * complete.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim/driver.h"
#include "sim/world.h"

enum {
	SIM_OPS = 512,	     /* entries of a stream that are not complete */
	SIM_MESSAGES = 1024, /* sent and not received */
};

struct sim_op {
	enum wqe_opcode opcode;
	bool signal;
	uint16_t index;	      /* first block */
	uint32_t len_bytes;
	uint32_t pattern;     /* of what it carries */
	uint64_t remote_off;  /* in the target */
	uint64_t swap_add;
	uint64_t compare;
	uint64_t old;	      /* atomic: what it must bring */
	uint64_t new;	      /* and leave */
	uint64_t local_va;    /* READ, atomic: where the result goes */
	int slot;	      /* the caller's: its local buffer */
	uint32_t block_count; /* the caller's */
	uint64_t harm_count;  /* the caller's: of the connection when it was posted */
	uint8_t *expected;    /* READ: its bytes, heap */
	uint8_t must_fail;    /* the syndrome it has to end in; 0: none */
	uint32_t may_fail;    /* those it may end in, as bits 1 << syndrome */
};

struct sim_message {
	enum wqe_opcode opcode;
	uint32_t len_bytes;
	uint32_t pattern;
	uint32_t imm;
	bool solicited;
	bool too_long;
};

struct sim_stream {
	struct sim_world *world;
	const char *name;
	uint8_t *target;      /* the real bytes */
	uint32_t target_bytes;
	uint8_t *posted;      /* as after all entries */
	uint8_t *done;	      /* as after those that are complete */
	struct sim_memory *local;
	struct sim_op ops[SIM_OPS];
	uint32_t op_head;     /* free running: posted, */
	uint32_t op_cqe;      /* next to be accounted for by a completion, */
	uint32_t op_tail;     /* not known to be complete */
	bool failed;	      /* an error completion has come */
	struct sim_message messages[SIM_MESSAGES];
	uint32_t message_head;
	uint32_t message_tail;
};

void sim_stream_open(struct sim_stream *stream, struct sim_world *world, const char *name,
		     uint8_t *target, uint32_t target_bytes, struct sim_memory *local);
void sim_stream_close(struct sim_stream *stream);

/* sim_stream_op - the place for the next entry, zeroed. sim_stream_post tells that it was posted */
struct sim_op *sim_stream_op(struct sim_stream *stream);
void sim_stream_post(struct sim_stream *stream);
/* sim_stream_message - a message that a receive will take was posted. */
void sim_stream_message(struct sim_stream *stream, const struct sim_message *message);

/* sim_stream_reads - whether an entry that is not complete reads any of these bytes. */
bool sim_stream_reads(const struct sim_stream *stream, uint64_t off, uint64_t len_bytes);

/*
 * sim_stream_completed - the next completion of the stream's entries. Returns the entry that it is
 * of, which is complete, and all before it too; NULL if the world has failed. released(ctx, op) is
 * called for each entry that is thereby done with, in order.
 */
const struct sim_op *sim_stream_completed(struct sim_stream *stream, const struct sim_cqe *cqe,
					  void (*released)(void *ctx, const struct sim_op *op),
					  void *ctx);

/* sim_stream_ended - no more completions will come: what asked for none must have succeeded.
 * Returns how many entries should have had one. */
uint32_t sim_stream_ended(struct sim_stream *stream,
			  void (*released)(void *ctx, const struct sim_op *op), void *ctx);

/* sim_stream_received - the next message has arrived, as this completion of a receive says; the
 * receive was the count pieces. */
void sim_stream_received(struct sim_stream *stream, const struct sim_cqe *cqe,
			 struct sim_memory *memory, const struct sim_piece *pieces, uint32_t count);

/* sim_stream_settle - the connection is dead: the target must be as after a whole number of packets
 * of what was not complete; from now on it counts as it is. Forgets entries and messages. */
void sim_stream_settle(struct sim_stream *stream, uint32_t mtu_bytes,
		       void (*released)(void *ctx, const struct sim_op *op), void *ctx);

/* sim_stream_quiet - whether all that was posted is complete and received. */
bool sim_stream_quiet(const struct sim_stream *stream);

/* sim_stream_compare - all is complete: the target must be exactly as posted. */
void sim_stream_compare(struct sim_stream *stream);

#endif
