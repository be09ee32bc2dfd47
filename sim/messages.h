/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/messages.h - a world of messages: UC and UD, which lose them, and shared receive queues, of
 * which RC loses none.
 *
 * Each of two hosts has a few queue pairs of one service. Their receives lie in rings of their own
 * or in one shared queue of the host. The model knows every message that was posted:
 *
 *   - each send queue entry completes once, in order, with success;
 *   - what is received was sent to this queue pair, by the one that the completion names, with
 *     every byte, and no more often than the cable may have doubled it; over RC exactly once and
 *     in order; over UC in order if the cable does not reorder;
 *   - a receive completes that was posted, once; bytes beside it, and receives that are not
 *     complete, are untouched (but for those that a broken UC message began to fill);
 *   - not more is lost than packets that were harmed, and messages that a NIC counted as dropped;
 *     on a cable without faults, between programs that only send what there is a receive for,
 *     nothing;
 *   - what UC writes lies where it was sent to, packet by packet; a shared queue's limit is told.
 *
 *	messages.c	who posts what when	messages_check.c	what may come of it
 */
#ifndef SIM_MESSAGES_H
#define SIM_MESSAGES_H

#include "sim/driver.h"
#include "sim/fault.h"
#include "sim/node.h"
#include "sim/sim.h"

enum {
	SIM_MAIL_QPS = 3, /* of each host */
	SIM_MAIL_ENDS = 2 * SIM_MAIL_QPS,
	SIM_MAIL_POSTS_MAX = 512,
	SIM_MAIL_BYTES_MAX = 6000,
	SIM_MAIL_GRH_BYTES = 40,
	SIM_MAIL_BUFFERS = 16,  /* of a sender */
	SIM_MAIL_RECEIVES = 16, /* of a ring, or of a shared queue */
	SIM_MAIL_GUARD_BYTES = 64,
	SIM_MAIL_RECEIVE_BYTES = SIM_MAIL_GRH_BYTES + SIM_MAIL_BYTES_MAX + SIM_MAIL_GUARD_BYTES,
	SIM_MAIL_SLOTS = 8,   /* of a target: where writes lie */
	SIM_MAIL_FILL = 0xa5, /* memory that nothing was written to */
};

/* What was posted. */
struct sim_mail {
	enum wqe_opcode opcode;
	uint32_t len_bytes;
	uint32_t pattern;
	uint32_t imm;
	bool solicited;
	bool stray; /* a datagram that nobody may get: wrong number or key */
	uint8_t to; /* number of an end */
	uint8_t arrivals;
	uint8_t slot; /* of the target, of a write */
	uint16_t index;
	uint16_t block_count;
};

/* Receives that were posted: of a queue pair, or of a host. Entry i has the i-th buffer. */
struct sim_pool {
	struct sim_node *node;
	struct sim_qp *qp; /* its own ring; NULL: shared */
	struct sim_srq srq;
	uint64_t va;
	uint32_t key;
	bool posted[SIM_MAIL_RECEIVES];
	uint32_t posted_count; /* free running */
	uint32_t done_count;
	uint32_t promised_count; /* messages that are on their way to it */
	uint32_t limit;          /* armed; 0: not */
};

struct sim_mailer {
	struct sim_post *post;
	struct sim_node *node;
	struct sim_pool *pool;
	struct sim_pool own;
	const char *name;
	uint32_t number;
	struct sim_qp qp;
	struct sim_cq cq;
	uint64_t send_va;
	uint32_t send_key;
	uint64_t target_va; /* a connected peer writes here */
	uint32_t target_key;
	struct sim_mail mails[SIM_MAIL_POSTS_MAX];
	uint32_t posted;
	uint32_t completed;
	uint32_t blocks_free;
	uint32_t last_arrived; /* over a cable that keeps the order: 1 + number of the mail */
};

struct sim_post {
	struct sim_world world;
	const struct sim_config *config;
	struct sim_result *result;
	struct sim_faults faults;
	enum nic_qp_type type;
	bool shared;
	bool clean;  /* no faults, and a receive for each message */
	bool orders; /* the cable neither reorders nor doubles */
	uint32_t mtu_bytes;
	uint32_t op_count;
	struct sim_node nodes[2];
	uint32_t pdn[2];
	struct sim_pool pools[2];
	struct sim_mailer ends[SIM_MAIL_ENDS];
	uint64_t harm_count;
	uint64_t progress_ns;
	uint32_t sabotage_left;
};

/* sim_messages_run - as sim_run, of this world. */
void sim_messages_run(const struct sim_config *config, struct sim_result *result);

/* messages_check.c */
bool sim_mail_takes_receive(const struct sim_mail *mail);
/* sim_mail_poll - takes all completions of an end; whether there were any. */
bool sim_mail_poll(struct sim_mailer *end);
/* sim_mail_event - an event of a host's NIC. */
void sim_mail_event(struct sim_post *post, struct sim_node *node, const struct nic_event *event);
/* sim_mail_all_in - whether all has arrived that has to. */
bool sim_mail_all_in(const struct sim_post *post);
/* sim_mail_compare - the comparisons of the end. */
void sim_mail_compare(struct sim_post *post);
/* Whether this occasion is the one to sabotage. */
bool sim_mail_sabotage(struct sim_post *post, enum sim_sabotage sabotage);

#endif
