/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.c - see rows.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "nic/nic.h"
#include "tests/interop/rows.h"

enum {
	MESSAGES = 8,
	BAD = 1, /* which one is bad, of BAD_MESSAGES */
	BAD_MESSAGES = 3,
	BAD_BYTES = 40,
	FIRST_RECEIVE = 1000, /* ids of receives */
	RECEIVE_EXTRA = 64,   /* a receive has more room than its message */
	GAP = 256,
	ATOMIC_OFF = SIDE_MEMORY_BYTES - 64,
	TIMEOUT = 14, /* 67 ms */
	/* Seven is for ever to Linux, and each NAK of a gap counts [linux rxe_completer]. */
	RETRY_PLAIN = 7,
	RETRY_BAD = 6,  /* where the other side may be dead */
	RNR_TIMER = 12, /* 0.64 ms */
	RNR_WAIT_MS = 20,
	WAIT_MS = 20000,
	QUIET_MS = 0,
};

struct message {
	enum side_op op;
	uint32_t len_bytes;
	uint32_t from, to; /* offsets of the data in its source and in its target */
	uint32_t seed;
	uint32_t imm;
	uint64_t compare; /* of a compare and swap */
	bool bad, flushed;
};

/* A row that runs. */
static struct play {
	const struct row *row;
	struct side *asks, *answers;
	struct message messages[MESSAGES];
	unsigned int count, receives;
	uint64_t counter; /* what the atomics' target must hold next */
	bool loses, given_up, made;
} play;

static const char *const op_names[] = {
    "SEND", "SEND with immediate", "WRITE",        "WRITE with immediate",
    "READ", "compare and swap",    "fetch and add"};

static bool has_imm(enum side_op op)
{
	return op == SIDE_SEND_IMM || op == SIDE_WRITE_IMM;
}

static bool is_send(enum side_op op)
{
	return op == SIDE_SEND || op == SIDE_SEND_IMM;
}

static bool is_atomic(enum side_op op)
{
	return op == SIDE_CAS || op == SIDE_FAA;
}

static bool needs_receive(enum side_op op)
{
	return is_send(op) || has_imm(op);
}

static bool is_datagram(void)
{
	return play.row->service == SIDE_UD;
}

static uint32_t mtu_bytes(void)
{
	return play.row->mtu_bytes ? play.row->mtu_bytes : 1024;
}

static bool linux_answers(void)
{
	return play.answers->ops->counters == NULL;
}

/* ---- the messages ---------------------------------------------------------------------------- */

static uint32_t plain_length(unsigned int i)
{
	uint32_t mtu = mtu_bytes();
	const uint32_t lengths[MESSAGES] = {mtu + 1, 0,       1,           mtu - 1,
					    mtu,     2 * mtu, 3 * mtu + 2, 11 * mtu - 3};
	const uint32_t datagrams[MESSAGES] = {mtu, 0, 1, mtu - 1, 2, mtu / 2, 3, mtu - 3};

	return is_datagram() ? datagrams[i] : lengths[i];
}

static uint32_t bad_length(unsigned int i)
{
	switch (play.row->kind) {
	case ROW_TOO_LONG_PACKETS:
		return 3 * mtu_bytes();
	case ROW_RNR_EXCEEDED:
	case ROW_PLAIN:
	case ROW_RNR:
	case ROW_KEY_UNKNOWN:
	case ROW_KEY_BARE:
	case ROW_RANGE:
	case ROW_TOO_LONG:
		break;
	}
	return BAD_BYTES + i;
}

static void make_messages(void)
{
	bool plain = play.row->kind == ROW_PLAIN || play.row->kind == ROW_RNR;
	unsigned int bad = play.row->kind == ROW_RNR_EXCEEDED ? 0 : BAD;
	uint32_t off = GAP;

	play.count = plain ? MESSAGES : BAD_MESSAGES;
	play.receives = 0;
	for (unsigned int i = 0; i < play.count; i++) {
		struct message *m = &play.messages[i];

		*m = (struct message){.op = play.row->op, .seed = i + 1, .imm = 0xa5000000u + i};
		if (m->op == SIDE_OP_COUNT)
			m->op = (enum side_op)(i % SIDE_OP_COUNT);
		m->len_bytes = plain ? plain_length(i) : bad_length(i);
		m->from = off + i % 4;
		m->to = SIDE_HALF_BYTES + off + (3 - i % 4);
		m->bad = !plain && i == bad;
		m->flushed = !plain && i > bad;
		if (is_atomic(m->op)) {
			m->len_bytes = 8;
			m->to &= ~7u;
		}
		play.receives += needs_receive(m->op);
		off += (m->len_bytes + RECEIVE_EXTRA + GAP) & ~63u;
	}
	assert_true(off < SIDE_HALF_BYTES - GAP);
}

/* Sets up the data, and what must become of it. */
static void place(const struct message *m)
{
	struct side *source = m->op == SIDE_READ ? play.answers : play.asks;
	struct side *target = m->op == SIDE_READ ? play.asks : play.answers;
	bool arrives = !m->bad && !m->flushed;

	source->ops->fill(source, m->from, m->len_bytes, m->seed);
	if (arrives)
		target->ops->expect(target, m->to, m->len_bytes, m->seed);
}

/* The value that an atomic adds or swaps in. */
static uint64_t operand(const struct message *m)
{
	return 0x0123456789abcdefull * m->seed;
}

/* Every third compare and swap compares with what is not there. */
static bool swaps(const struct message *m)
{
	return m->seed % 3 != 0;
}

static void place_atomic(struct message *m)
{
	m->compare = swaps(m) ? play.counter : ~play.counter;
	if (m->bad || m->flushed)
		return;
	play.asks->ops->expect64(play.asks, m->to, play.counter);
	if (m->op == SIDE_FAA)
		play.counter += operand(m);
	else if (swaps(m))
		play.counter = operand(m);
}

static void place_all(void)
{
	play.asks->ops->clear(play.asks);
	play.answers->ops->clear(play.answers);
	play.answers->ops->fill64(play.answers, ATOMIC_OFF, play.counter);
	for (unsigned int i = 0; i < play.count; i++) {
		if (is_atomic(play.messages[i].op))
			place_atomic(&play.messages[i]);
		else
			place(&play.messages[i]);
	}
	play.answers->ops->expect64(play.answers, ATOMIC_OFF, play.counter);
}

static uint64_t target_addr(const struct message *m)
{
	uint64_t va = play.answers->va;

	if (m->bad && play.row->kind == ROW_RANGE)
		return va + SIDE_MEMORY_BYTES - 8 * (is_atomic(m->op) ? 0 : 1);
	if (is_atomic(m->op))
		return va + ATOMIC_OFF;
	return va + (m->op == SIDE_READ ? m->from : m->to);
}

static uint32_t target_key(const struct message *m)
{
	if (m->bad && play.row->kind == ROW_KEY_UNKNOWN)
		return play.answers->key ^ 0x5500;
	if (m->bad && play.row->kind == ROW_KEY_BARE)
		return play.answers->bare_key;
	return play.answers->key;
}

static void post(unsigned int i)
{
	const struct message *m = &play.messages[i];
	struct side_work work = {
	    .op = m->op,
	    .id = i,
	    .off = m->op == SIDE_READ || is_atomic(m->op) ? m->to : m->from,
	    .len_bytes = m->len_bytes,
	    .addr = target_addr(m),
	    .key = target_key(m),
	    .imm = m->imm,
	    .swap_add = operand(m),
	    .compare = m->compare,
	};

	play.asks->ops->post(play.asks, &work);
}

static void post_receive(unsigned int i, uint32_t off, uint32_t room)
{
	struct side *side = play.answers;

	if (is_datagram()) {
		off -= SIDE_GRH_BYTES;
		room += SIDE_GRH_BYTES;
	}
	side->ops->receive(side, FIRST_RECEIVE + i, off, room);
}

static void post_receives(void)
{
	for (unsigned int i = 0; i < play.count; i++) {
		const struct message *m = &play.messages[i];
		uint32_t room = m->len_bytes + RECEIVE_EXTRA;

		if (!needs_receive(m->op) || play.row->kind == ROW_RNR_EXCEEDED)
			continue;
		if (m->bad)
			room = play.row->kind == ROW_TOO_LONG ? m->len_bytes - 1
							      : m->len_bytes - mtu_bytes() / 2;
		/* A write's data goes elsewhere; its receive lies in the other half. */
		post_receive(i, is_send(m->op) ? m->to : GAP, room);
	}
	play.answers->ops->settle(play.answers);
}

/* ---- how they ended -------------------------------------------------------------------------- */

static enum rig_status expected_status(const struct message *m)
{
	const struct row *row = play.row;

	if (m->flushed || play.given_up)
		return RIG_FLUSHED;
	if (m->bad)
		return linux_answers() && row->status_linux ? row->status_linux : row->status;
	return RIG_OK;
}

static enum rig_status expected_receive(const struct message *m)
{
	const struct row *row = play.row;

	if (m->flushed)
		return RIG_FLUSHED;
	if (m->bad)
		return linux_answers() ? row->receive_linux : row->receive;
	return RIG_OK;
}

static void check_status(const struct side *side, unsigned int i, const char *what,
			 enum rig_status got, enum rig_status expected)
{
	if (got != expected)
		fail_msg("message %u, %s of %u bytes: %s completed the %s with \"%s\", expected "
			 "\"%s\"",
			 i, op_names[play.messages[i].op], play.messages[i].len_bytes, side->name,
			 what, rig_status_text(got), rig_status_text(expected));
}

/*
 * A queue pair that has sent a fatal NAK is in the error state and answers nothing any more. If the
 * NAK gets lost, or with it an earlier answer, the asking side cannot know and gives up in the end.
 * A NAK that overtakes the answer to a READ or an atomic counts as lost, too: the asking side asks
 * again from there.
 */
static bool gave_up(const struct message *m, enum rig_status got)
{
	if (!play.loses || got != RIG_RETRY_EXCEEDED || play.given_up || m->flushed ||
	    play.row->kind < ROW_KEY_UNKNOWN)
		return false;
	if (m->op == SIDE_READ || is_atomic(m->op))
		play.asks->ops->any(play.asks, m->to, m->len_bytes);
	play.given_up = true;
	return true;
}

/* The asking side's completions: one each, in order. */
static void check_requests(void)
{
	struct side *side = play.asks;
	struct side_wc wc[MESSAGES];
	int n = side->ops->wait(side, wc, (int)play.count, WAIT_MS);

	for (int i = 0; i < n; i++) {
		const struct message *m = &play.messages[i];

		if (wc[i].receive || wc[i].id != (uint32_t)i)
			fail_msg("%s's completion %d is of %s %u", side->name, i,
				 wc[i].receive ? "receive" : "message", wc[i].id);
		if (!gave_up(m, wc[i].status))
			check_status(side, (unsigned int)i, "request", wc[i].status,
				     expected_status(m));
	}
	if (n != (int)play.count)
		fail_msg("%s completed %d messages of %u: message %d, %s of %u bytes, is missing",
			 side->name, n, play.count, n, op_names[play.messages[n].op],
			 play.messages[n].len_bytes);
}

static void check_received(const struct side_wc *wc, const struct message *m)
{
	unsigned int i = (unsigned int)(m - play.messages);
	uint32_t len_bytes = m->len_bytes + (is_datagram() ? SIDE_GRH_BYTES : 0);
	struct side *side = play.answers;

	if (!wc->receive || wc->id != FIRST_RECEIVE + i)
		fail_msg("%s's completion of receive %u came as %s %u", side->name, i,
			 wc->receive ? "receive" : "message", wc->id % FIRST_RECEIVE);
	check_status(side, i, "receive", wc->status, expected_receive(m));
	if (wc->status != RIG_OK)
		return;
	/* What was around a datagram lies before it, and may be anything. */
	if (is_datagram())
		side->ops->any(side, m->to - SIDE_GRH_BYTES, SIDE_GRH_BYTES);
	if (wc->len_bytes != len_bytes)
		fail_msg("%s received %u bytes of message %u, expected %u", side->name,
			 wc->len_bytes, i, len_bytes);
	if (wc->has_imm != has_imm(m->op) || (wc->has_imm && wc->imm != m->imm))
		fail_msg("%s received message %u with immediate data 0x%x (%s), expected 0x%x (%s)",
			 side->name, i, wc->imm, wc->has_imm ? "present" : "absent", m->imm,
			 has_imm(m->op) ? "present" : "absent");
}

static void check_receives(void)
{
	struct side *side = play.answers;
	struct side_wc wc[MESSAGES + 1];
	unsigned int expected = play.row->kind == ROW_RNR_EXCEEDED ? 0 : play.receives;
	int n = side->ops->wait(side, wc, (int)expected, WAIT_MS), k = 0;

	if (n != (int)expected)
		fail_msg("%s completed %d receives of %u", side->name, n, expected);
	for (unsigned int i = 0; i < play.count && k < n; i++)
		if (needs_receive(play.messages[i].op))
			check_received(&wc[k++], &play.messages[i]);
}

/* Nothing is completed twice. */
static void check_quiet(struct side *side)
{
	struct side_wc wc;

	if (side->ops->wait(side, &wc, 1, QUIET_MS) != 0)
		fail_msg("%s completed %s %u once more", side->name,
			 wc.receive ? "receive" : "message", wc.id % FIRST_RECEIVE);
}

static void check_memory(struct side *side)
{
	char text[128];

	if (!side->ops->verify(side, text, sizeof(text)))
		fail_msg("%s's memory %s", side->name, text);
}

/* ---- the play -------------------------------------------------------------------------------- */

static void link_sides(void)
{
	struct side *asks = play.asks, *answers = play.answers;
	uint32_t psn = play.row->psn;
	struct side_link link = {.family = play.row->family,
				 .mtu_bytes = mtu_bytes(),
				 .sq_psn = psn ? psn : 0x123,
				 .rq_psn = psn ? psn : 0x456,
				 .timeout = TIMEOUT,
				 .retry = play.row->kind > ROW_RNR ? RETRY_BAD : RETRY_PLAIN,
				 .rnr_retry = play.row->kind == ROW_RNR_EXCEEDED ? 2 : 7,
				 .rnr_timer = RNR_TIMER,
				 .dqpn = answers->qpn};
	uint32_t swap;

	if (asks->psn != SIDE_PSN_ANY)
		link.sq_psn = asks->psn;
	if (answers->psn != SIDE_PSN_ANY)
		link.rq_psn = answers->psn;
	memcpy(link.dgid, answers->gids[link.family], 16);
	asks->ops->connect(asks, &link);
	swap = link.sq_psn;
	link.sq_psn = link.rq_psn;
	link.rq_psn = swap;
	link.dqpn = asks->qpn;
	memcpy(link.dgid, asks->gids[link.family], 16);
	answers->ops->connect(answers, &link);
}

static const struct nic_counters *our_counters(void)
{
	struct side *ours = linux_answers() ? play.asks : play.answers;

	return ours->ops->counters(ours);
}

/* How often the receiver was not ready so far, as our side saw it. */
static uint64_t not_ready(void)
{
	return our_counters()->rx_rnr + our_counters()->tx_rnr;
}

static void wait_for_not_ready(uint64_t before)
{
	struct side_wc wc;
	int ms = 0;

	while (not_ready() == before && ms < WAIT_MS) {
		if (play.asks->ops->wait(play.asks, &wc, 1, RNR_WAIT_MS) != 0)
			fail_msg("%s completed message %u without a receive", play.asks->name,
				 wc.id);
		ms += RNR_WAIT_MS;
	}
	if (not_ready() == before)
		fail_msg("no NAK said that the receiver was not ready");
}

/* What a bad message left in its receive is nobody's business. */
static void forgive_bad(void)
{
	const struct message *m = &play.messages[BAD];

	if (play.row->kind >= ROW_TOO_LONG)
		play.answers->ops->any(play.answers, m->to, m->len_bytes);
}

static void make_both(void)
{
	play.answers->shared = play.row->shared;
	play.asks->service = play.answers->service = play.row->service;
	play.asks->ops->make(play.asks);
	play.answers->ops->make(play.answers);
	play.made = true;
	link_sides();
}

static void check_all(void)
{
	check_requests();
	check_receives();
	forgive_bad();
	check_quiet(play.asks);
	check_quiet(play.answers);
	check_memory(play.asks);
	check_memory(play.answers);
}

void row_abandon(void)
{
	if (!play.made)
		return;
	play.made = false;
	play.asks->ops->abandon(play.asks);
	play.answers->ops->abandon(play.answers);
}

void row_play(const struct row_run *run)
{
	uint64_t before;

	play = (struct play){.row = run->row,
			     .asks = run->asks,
			     .answers = run->answers,
			     .loses = run->loses,
			     .counter = 0x1122334455667788ull};
	make_messages();
	place_all();
	make_both();
	before = not_ready();
	if (run->row->kind != ROW_RNR)
		post_receives();
	for (unsigned int i = 0; i < play.count; i++)
		post(i);
	if (run->row->kind == ROW_RNR) {
		wait_for_not_ready(before);
		post_receives();
	}
	check_all();
	play.asks->ops->destroy(play.asks);
	play.answers->ops->destroy(play.answers);
	play.made = false;
}
