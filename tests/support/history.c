/* SPDX-License-Identifier: BSD-2-Clause */
/* history.c - plays packet histories: the verbs, but for rx and tx. */
#include "tests/support/history.h"
#include "tests/support/history_impl.h"

#include "abi/mlx5_cqe.h"
#include "base/be.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <setjmp.h>
#include <cmocka.h>

void history_fail(const struct history *h, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	fail_msg("line %u '%s': %s", h->line_number, h->args.line, text);
	abort();
}

/* ---- entries and receives ---- */

static enum wqe_opcode wqe_opcode_named(const struct history *h, const char *name)
{
	static const struct {
		const char *name;
		enum wqe_opcode opcode;
	} names[] = {
		{"WRITE", WQE_OP_WRITE},	   {"WRITE_IMM", WQE_OP_WRITE_IMM},
		{"SEND", WQE_OP_SEND},		   {"SEND_IMM", WQE_OP_SEND_IMM},
		{"READ", WQE_OP_READ},		   {"CMP_SWAP", WQE_OP_ATOMIC_CS},
		{"FETCH_ADD", WQE_OP_ATOMIC_FA},   {"NOP", WQE_OP_NOP},
		{"TAG_MATCHING", WQE_OP_TAG_MATCHING},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].opcode;
	history_fail(h, "no entry is called %s", name);
}

static void fill(struct history *h, uint64_t offset, uint64_t len, uint32_t pattern, uint64_t from)
{
	for (uint64_t i = 0; i < len; i++) {
		h->memory.bytes[h->data_va - h->memory.base_va + offset + i] =
			sim_pattern(pattern, from + i);
		h->shadow[offset + i] = sim_pattern(pattern, from + i);
	}
}

/* The pieces of a line: as many as `pieces` has numbers, one behind the other from `va` on. */
static uint32_t pieces_of(struct history *h, struct sim_piece *pieces)
{
	uint32_t lens[SIM_PIECES_MAX];
	uint32_t key = history_key(h, args_text(&h->args, "key", "data"));
	uint64_t va = h->data_va + args_number(&h->args, "va", 0);
	uint32_t count = args_sum(&h->args, "pieces", lens, SIM_PIECES_MAX);

	if (count == 0 && args_has(&h->args, "len")) {
		lens[0] = (uint32_t)args_number(&h->args, "len", 0);
		count = lens[0] != 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		pieces[i] = (struct sim_piece){va, lens[i], key};
		va += lens[i];
	}
	return count;
}

static void ring(struct history *h)
{
	sim_qp_store_record(&h->qp);
	nic_doorbell(h->nic, h->qp.register_word, h->now_ns);
}

static void post(struct history *h)
{
	struct history_args *args = &h->args;
	uint64_t offset = args_number(args, "va", 0);
	uint32_t pattern = (uint32_t)args_number(args, "pat", 0);
	struct sim_wqe wqe = {
		.opcode = wqe_opcode_named(h, args->noun),
		.signal = args_has(args, "signal"),
		.fence = args_has(args, "fence"),
		.solicited = args_has(args, "se"),
		.is_inline = args_has(args, "inline"),
		.imm = (uint32_t)args_number(args, "imm", 0),
		.remote_va = args_number(args, "rva", 0),
		.rkey = (uint32_t)args_number(args, "rkey", 0),
		.swap_add = args_number(args, "swap", args_number(args, "add", 0)),
		.compare = args_number(args, "cmp", 0),
	};

	wqe.piece_count = pieces_of(h, wqe.pieces);
	for (uint32_t i = 0; pattern != 0 && !wqe.is_inline && i < wqe.piece_count; i++)
		fill(h, wqe.pieces[i].va - h->data_va, wqe.pieces[i].len_bytes, pattern,
		     wqe.pieces[i].va - h->data_va - offset);
	if (wqe.is_inline) {
		wqe.inline_len_bytes = (uint32_t)args_number(args, "len", 0);
		assert_true(wqe.inline_len_bytes <= SIM_INLINE_BYTES_MAX);
		for (uint32_t i = 0; i < wqe.inline_len_bytes; i++)
			wqe.inline_bytes[i] = sim_pattern(pattern, i);
	}
	sim_qp_post(&h->qp, &wqe);
	if (!args_has(args, "held"))
		ring(h);
}

/* The record of what was posted, or of more than that. */
static void record(struct history *h)
{
	uint32_t posted = h->qp.sq_wqebb_posted;

	h->qp.sq_wqebb_posted += (uint32_t)args_number(&h->args, "ahead", 0);
	sim_qp_store_record(&h->qp);
	h->qp.sq_wqebb_posted = posted;
}

static void bell(struct history *h)
{
	uint64_t word = h->qp.register_word;
	uint32_t ahead = (uint32_t)args_number(&h->args, "ahead", 0);
	struct wqe_ctrl_seg ctrl = {0};

	if (ahead != 0) {
		ctrl.opmod_idx_opcode =
			wqe_ctrl_op(0, (uint16_t)(h->qp.sq_wqebb_posted + ahead), WQE_OP_WRITE);
		ctrl.qpn_ds = wqe_ctrl_qpn_ds(h->qp.qpn, 2);
		memcpy(&word, &ctrl, sizeof(word));
	}
	nic_doorbell(h->nic, word, h->now_ns);
}

static void post_receive(struct history *h)
{
	struct sim_piece pieces[SIM_PIECES_MAX];
	uint32_t count = pieces_of(h, pieces);

	sim_qp_receive(&h->qp, pieces, count);
}

/* ---- completions and events ---- */

static const char *const cqe_names[16] = {
	[CQE_REQ] = "done",	      [CQE_RESP_WR_IMM] = "wr_imm",
	[CQE_RESP_SEND] = "send",     [CQE_RESP_SEND_IMM] = "send_imm",
	[CQE_REQ_ERR] = "req_err",    [CQE_RESP_ERR] = "resp_err",
};

static void check_cqe_number(struct history *h, const struct sim_cqe *cqe, const char *key,
			      uint64_t actual)
{
	const char *name = cqe_names[cqe->opcode & 15];

	if (args_number(&h->args, key, actual) != actual)
		history_fail(h, "%s is 0x%llx; got: %s idx=%u len=%u syn=0x%02x vendor=0x%02x", key,
			     (unsigned long long)actual, name ? name : "?", cqe->wqe_counter,
			     cqe->len_bytes, cqe->syndrome, cqe->vendor_syndrome);
}

static void check_cqe(struct history *h)
{
	const char *wanted = h->args.noun;
	struct sim_cqe cqe;
	const char *name;
	bool got;

	history_run(h);
	got = sim_cq_poll(&h->cq, &cqe);
	name = !got ? "none" : cqe_names[cqe.opcode & 15];
	if (got && !args_has(&h->args, "unconsumed"))
		sim_cq_consume(&h->cq);
	if (!name || strcmp(name, wanted) != 0)
		history_fail(h, "completion: %s syn=0x%02x vendor=0x%02x idx=%u", name ? name : "?",
			     got ? cqe.syndrome : 0, got ? cqe.vendor_syndrome : 0,
			     got ? cqe.wqe_counter : 0);
	if (!got)
		return;
	if (cqe.qpn != h->qp.qpn || cqe.user_index != 0xc0de)
		history_fail(h, "completion of queue pair 0x%x, index 0x%x", cqe.qpn,
			     cqe.user_index);
	check_cqe_number(h, &cqe, "idx", cqe.wqe_counter);
	check_cqe_number(h, &cqe, "len", cqe.len_bytes);
	check_cqe_number(h, &cqe, "imm", cqe.imm);
	check_cqe_number(h, &cqe, "syn", cqe.syndrome);
	check_cqe_number(h, &cqe, "vendor", cqe.vendor_syndrome);
	check_cqe_number(h, &cqe, "op", cqe.send_opcode);
	check_cqe_number(h, &cqe, "se", cqe.solicited);
}

static enum nic_event_kind event_named(const struct history *h, const char *name)
{
	static const char *const names[] = {
		[NIC_EVENT_CQ_COMPLETION] = "completion", [NIC_EVENT_CQ_ERROR] = "cq_error",
		[NIC_EVENT_QP_FATAL] = "fatal",		  [NIC_EVENT_QP_REQ_ERR] = "req_err",
		[NIC_EVENT_QP_ACCESS_ERR] = "access_err", [NIC_EVENT_QP_COMM_EST] = "comm_est",
		[NIC_EVENT_QP_SQ_DRAINED] = "sq_drained", [NIC_EVENT_QP_LAST_WQE] = "last_wqe",
		[NIC_EVENT_SRQ_LIMIT] = "srq_limit",	  [NIC_EVENT_SRQ_ERROR] = "srq_error",
		[NIC_EVENT_DB_AHEAD] = "db_ahead",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return (enum nic_event_kind)i;
	history_fail(h, "no event is called %s", name);
}

static void check_event(struct history *h, bool wanted)
{
	enum nic_event_kind kind = event_named(h, h->args.noun);
	bool found = false;

	history_run(h);
	for (uint32_t i = 0; i < h->event_count; i++) {
		if (h->events[i] != kind)
			continue;
		found = true;
		h->events[i] = h->events[--h->event_count];
		break;
	}
	if (found != wanted)
		history_fail(h, wanted ? "no such event" : "there is such an event");
}

/* ---- memory ---- */

static void check_memory(struct history *h)
{
	struct history_args *args = &h->args;
	uint64_t offset = args_number(args, "va", 0);
	uint64_t len = args_number(args, "len", 0);
	uint32_t pattern = (uint32_t)args_number(args, "pat", 0);
	uint64_t from = args_number(args, "off", 0);
	const uint8_t *at = h->memory.bytes + (h->data_va - h->memory.base_va) + offset;

	for (uint64_t i = 0; i < len; i++)
		if (at[i] != sim_pattern(pattern, from + i))
			history_fail(h, "byte %llu is 0x%02x", (unsigned long long)i, at[i]);
	memcpy(h->shadow + offset, at, len);
}

/* What the line covers may be anything from here on. */
static void accept_memory(struct history *h)
{
	uint64_t offset = args_number(&h->args, "va", 0);

	memcpy(h->shadow + offset, h->memory.bytes + (h->data_va - h->memory.base_va) + offset,
	       args_number(&h->args, "len", 0));
}

static void set64(struct history *h)
{
	uint64_t offset = args_number(&h->args, "va", 0);
	uint64_t value = args_number(&h->args, "value", 0);

	memcpy(h->memory.bytes + (h->data_va - h->memory.base_va) + offset, &value, sizeof(value));
	memcpy(h->shadow + offset, &value, sizeof(value));
}

static void check_mem64(struct history *h)
{
	uint64_t offset = args_number(&h->args, "va", 0);
	uint64_t wanted = args_number(&h->args, "value", 0);
	uint64_t value;

	memcpy(&value, h->memory.bytes + (h->data_va - h->memory.base_va) + offset, sizeof(value));
	if (value != wanted)
		history_fail(h, "it is 0x%llx", (unsigned long long)value);
	memcpy(h->shadow + offset, &value, sizeof(value));
}

static void check_untouched(struct history *h)
{
	const uint8_t *data = h->memory.bytes + (h->data_va - h->memory.base_va);

	for (size_t i = 0; i < HISTORY_DATA_BYTES; i++)
		if (data[i] != h->shadow[i])
			history_fail(h, "byte 0x%zx of data changed to 0x%02x, unasked", i,
				     data[i]);
}

/* ---- control, time, counters ---- */

static const char *const state_names[NIC_QP_STATE_COUNT] = {
	[NIC_QP_RESET] = "reset", [NIC_QP_INIT] = "init", [NIC_QP_RTR] = "rtr",
	[NIC_QP_RTS] = "rts",	  [NIC_QP_SQD] = "sqd",	  [NIC_QP_SQE] = "sqe",
	[NIC_QP_ERR] = "err",
};

static void modify(struct history *h)
{
	const char *name = args_text(&h->args, "state", "");
	uint32_t set = history_params(h);

	for (int i = 0; i < NIC_QP_STATE_COUNT; i++) {
		if (strcmp(name, state_names[i]) == 0) {
			history_modify(h, (enum nic_qp_state)i, set);
			return;
		}
	}
	history_fail(h, "no state is called %s", name);
}

static void check_state(struct history *h)
{
	struct nic_qp_params params;

	history_run(h);
	assert_int_equal(nic_qp_query(h->nic, h->qp.qpn, &params), 0);
	if (strcmp(state_names[params.state], h->args.noun) != 0)
		history_fail(h, "it is %s", state_names[params.state]);
}

static void destroy(struct history *h)
{
	int got = nic_qp_destroy(h->nic, h->qp.qpn);

	if (got != -(int)args_number(&h->args, "fails", 0))
		history_fail(h, "nic_qp_destroy returns %d", got);
}

static void deregister(struct history *h)
{
	int got = nic_mkey_destroy(h->nic, history_key(h, h->args.noun));

	if (got != 0)
		history_fail(h, "nic_mkey_destroy returns %d", got);
}

static void check_due(struct history *h)
{
	uint64_t delay_ns = args_duration_ns(h->args.noun);
	uint64_t due_ns = h->now_ns + delay_ns;
	uint64_t step_ns;

	history_run(h);
	/* The NIC may ask to run too early, but not later than when it is due. */
	for (int i = 0; i < 1000; i++) {
		step_ns = nic_deadline_ns(h->nic);
		if (step_ns >= due_ns || h->sent_next != h->sent_count)
			break;
		if (step_ns > h->now_ns)
			h->now_ns = step_ns;
		history_run(h);
	}
	if (h->sent_next != h->sent_count)
		history_fail(h, "sent %llu ns early",
			     (unsigned long long)(due_ns - h->now_ns));
	if (step_ns != due_ns)
		history_fail(h, "the NIC next wants to run %lld ns after it is due",
			     (long long)(step_ns - due_ns));
	h->now_ns = due_ns - 1;
	history_run(h);
	if (h->sent_next != h->sent_count)
		history_fail(h, "sent a nanosecond early");
	h->now_ns = due_ns;
}

static void check_counters(struct history *h)
{
	const struct nic_counters *counters = nic_counters(h->nic);
	static const struct {
		const char *name;
		size_t offset;
	} table[] = {
#define X(name) {#name, offsetof(struct nic_counters, name)},
		NIC_COUNTERS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t value;

		memcpy(&value, (const uint8_t *)counters + table[i].offset, sizeof(value));
		if (args_number(&h->args, table[i].name, value) != value)
			history_fail(h, "%s is %llu", table[i].name, (unsigned long long)value);
	}
}

static void hole(struct history *h)
{
	h->memory.hole_va = h->data_va + args_number(&h->args, "va", 0);
	h->memory.hole_len_bytes = args_number(&h->args, "len", 0);
}

static uint64_t wire_room(const struct history *h)
{
	if (strcmp(h->args.noun, "open") == 0)
		return UINT64_MAX;
	return strcmp(h->args.noun, "full") == 0 ? 0 : strtoull(h->args.noun, NULL, 0);
}

static void arm(struct history *h)
{
	sim_cq_arm(&h->cq, strcmp(h->args.noun, "solicited") == 0);
	nic_cq_arm(h->nic, h->cq.cqn, h->now_ns);
}

static void clear(struct history *h)
{
	struct sim_cqe cqe;

	history_run(h);
	for (uint32_t i = 0; i < h->sent_count; i++)
		free(h->sent[i].bth);
	h->sent_next = h->sent_count = 0;
	while (sim_cq_poll(&h->cq, &cqe))
		sim_cq_consume(&h->cq);
	h->event_count = 0;
}

/* ---- lines ---- */

static bool play_control(struct history *h, const char *verb)
{
	if (strcmp(verb, "modify") == 0)
		modify(h);
	else if (strcmp(verb, "destroy") == 0)
		destroy(h);
	else if (strcmp(verb, "dereg") == 0)
		deregister(h);
	else if (strcmp(verb, "hole") == 0)
		hole(h);
	else if (strcmp(verb, "wire") == 0)
		h->wire_room = wire_room(h);
	else if (strcmp(verb, "untaken") == 0)
		h->untaken = strcmp(h->args.noun, "on") == 0;
	else if (strcmp(verb, "wait") == 0)
		h->now_ns += args_duration_ns(h->args.noun);
	else if (strcmp(verb, "arm") == 0)
		arm(h);
	else if (strcmp(verb, "clear") == 0)
		clear(h);
	else
		return false;
	return true;
}

static bool play_work(struct history *h, const char *verb)
{
	if (strcmp(verb, "post") == 0)
		post(h);
	else if (strcmp(verb, "recv") == 0)
		post_receive(h);
	else if (strcmp(verb, "ring") == 0)
		ring(h);
	else if (strcmp(verb, "bell") == 0)
		bell(h);
	else if (strcmp(verb, "record") == 0)
		record(h);
	else if (strcmp(verb, "scan") == 0)
		nic_scan(h->nic, h->now_ns);
	else if (strcmp(verb, "fill") == 0)
		fill(h, args_number(&h->args, "va", 0), args_number(&h->args, "len", 0),
		     (uint32_t)args_number(&h->args, "pat", 0), 0);
	else if (strcmp(verb, "set64") == 0)
		set64(h);
	else
		return false;
	return true;
}

static bool play_expectation(struct history *h, const char *verb)
{
	if (strcmp(verb, "cqe") == 0)
		check_cqe(h);
	else if (strcmp(verb, "event") == 0 || strcmp(verb, "noevent") == 0)
		check_event(h, strcmp(verb, "event") == 0);
	else if (strcmp(verb, "mem") == 0)
		check_memory(h);
	else if (strcmp(verb, "any") == 0)
		accept_memory(h);
	else if (strcmp(verb, "mem64") == 0)
		check_mem64(h);
	else if (strcmp(verb, "state") == 0)
		check_state(h);
	else if (strcmp(verb, "count") == 0)
		check_counters(h);
	else if (strcmp(verb, "due") == 0)
		check_due(h);
	else
		return false;
	return true;
}

static void play_line(struct history *h, const char *line)
{
	const char *verb;

	args_parse(&h->args, line);
	h->line_number++;
	verb = h->args.verb;
	if (strcmp(verb, "rx") == 0)
		history_rx(h);
	else if (strcmp(verb, "tx") == 0)
		history_tx(h);
	else if (!play_work(h, verb) && !play_control(h, verb) && !play_expectation(h, verb))
		history_fail(h, "no such verb");
	nic_check(h->nic);
	if (args_unread(&h->args))
		history_fail(h, "nobody reads %s", args_unread(&h->args));
}

struct history *history_open(const char *setup)
{
	struct history *h = (struct history *)calloc(1, sizeof(*h));

	assert_non_null(h);
	args_parse(&h->args, setup);
	h->line_number = 1;
	if (strcmp(h->args.verb, "setup") != 0)
		history_fail(h, "a history starts with setup");
	history_build(h);
	if (args_unread(&h->args))
		history_fail(h, "nobody reads %s", args_unread(&h->args));
	return h;
}

void history_step(struct history *h, const char *format, ...)
{
	char line[HISTORY_LINE_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	play_line(h, line);
}

void history_close(struct history *h)
{
	play_line(h, "tx none");
	play_line(h, "cqe none");
	check_untouched(h);
	history_drop(h);
}

void history_drop(struct history *h)
{
	for (uint32_t i = 0; i < h->sent_count; i++)
		free(h->sent[i].bth);
	free(h->room);
	sim_memory_close(&h->memory);
	free(h->shadow);
	sim_arena_close(h->arena, h->arena_bytes);
	free(h);
}

void history_play(const char *const *lines)
{
	struct history *h = history_open(lines[0]);

	for (size_t i = 1; lines[i]; i++)
		play_line(h, lines[i]);
	history_close(h);
}
