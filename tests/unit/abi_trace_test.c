/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abi_trace_test.c - the sentences of a trace: every completion status, every way in which a key
 * does not do, every other reason, and verbs. By comparing whole lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "abi/dump.h"
#include "abi/trace.h"
#include "base/prng.h"

#include <linux/errno.h>

static void expect(const struct trace_event *event, const char *line)
{
	char text[TRACE_TEXT_BYTES];
	size_t len = trace_text(text, sizeof(text), event);

	assert_string_equal(text, line);
	assert_int_equal(len, strlen(line));
}

/* ---- completions ----------------------------------------------------------------------------- */

static void expect_status(uint8_t syndrome, const char *words, const char *name)
{
	struct cqe_err64 err = {.vendor_syndrome = 0x52,
				.syndrome = syndrome,
				.sop_drop_qpn = be32_from(WQE_OP_WRITE << 24 | 0x12),
				.wqe_counter = be16_from(7),
				.op_own = cqe_op_own(CQE_REQ_ERR, false, true)};
	struct trace_event event = {
	    .kind = TRACE_CQE, .number = 3, .bytes = &err, .len_bytes = sizeof(err)};
	char line[TRACE_TEXT_BYTES] = "cqe  cqn 0x3: REQ_ERR owner 1 qpn 0x12 counter 7 of WRITE: ";

	strcat(line, words);
	strcat(line, ", vendor 0x52, ");
	strcat(line, name);
	expect(&event, line);
}

static void every_status(void **state)
{
	(void)state;
	expect_status(0x01, "local length error", "IBV_WC_LOC_LEN_ERR");
	expect_status(0x02, "local queue pair operation error", "IBV_WC_LOC_QP_OP_ERR");
	expect_status(0x04, "local protection error", "IBV_WC_LOC_PROT_ERR");
	expect_status(0x05, "flushed", "IBV_WC_WR_FLUSH_ERR");
	expect_status(0x06, "memory window bind error", "IBV_WC_MW_BIND_ERR");
	expect_status(0x10, "bad response", "IBV_WC_BAD_RESP_ERR");
	expect_status(0x11, "local access error", "IBV_WC_LOC_ACCESS_ERR");
	expect_status(0x12, "remote invalid request", "IBV_WC_REM_INV_REQ_ERR");
	expect_status(0x13, "remote access error", "IBV_WC_REM_ACCESS_ERR");
	expect_status(0x14, "remote operation error", "IBV_WC_REM_OP_ERR");
	expect_status(0x15, "retry exceeded", "IBV_WC_RETRY_EXC_ERR");
	expect_status(0x16, "RNR retry exceeded", "IBV_WC_RNR_RETRY_EXC_ERR");
	expect_status(0x22, "remote aborted", "IBV_WC_REM_ABORT_ERR");
	for (unsigned int i = 0; i < 256; i++)
		assert_int_equal(trace_status_name((uint8_t)i) != NULL,
				 cqe_syndrome_words((uint8_t)i) != NULL);
}

static void good_ones(void **state)
{
	struct cqe64 cqe = {.byte_cnt = be32_from(64),
			    .sop_drop_qpn = be32_from(0x12),
			    .op_own = cqe_op_own(CQE_RESP_SEND, false, false)};
	struct wqe_data_seg data[2] = {{be32_from(64), be32_from(0x30), be64_from(0x40)},
				       {.lkey = be32_from(WQE_LKEY_INVALID)}};
	struct wqe_ctrl_seg ctrl = {.opmod_idx_opcode = wqe_ctrl_op(0, 7, WQE_OP_NOP),
				    .qpn_ds = wqe_ctrl_qpn_ds(0x12, 1)};
	struct trace_event event = {
	    .kind = TRACE_CQE, .number = 3, .bytes = &cqe, .len_bytes = sizeof(cqe)};

	(void)state;
	expect(&event, "cqe  cqn 0x3: RESP_SEND owner 0 qpn 0x12 counter 0 bytes 64");
	event = (struct trace_event){.kind = TRACE_RECV,
				     .number = 0x12,
				     .index = 9,
				     .bytes = data,
				     .len_bytes = sizeof(data)};
	expect(&event, "recv RECV index 9 qpn 0x12 | 64 bytes lkey 0x30 va 0x40");
	event = (struct trace_event){
	    .kind = TRACE_SEND, .number = 0x12, .bytes = &ctrl, .len_bytes = sizeof(ctrl)};
	expect(&event, "wqe  NOP index 7 qpn 0x12 ds 1");
	event.number = 0x13;
	expect(&event, "wqe  of qpn 0x13: NOP index 7 qpn 0x12 ds 1");
	event.len_bytes = 0;
	event.index = 5;
	expect(&event, "wqe  of qpn 0x13: index 5 cannot be read, or is empty");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static struct trace_event denied(void)
{
	return (struct trace_event){.kind = TRACE_DENY,
				    .number = 0x12,
				    .syndrome = ROCE_NAK_REMOTE_ACCESS,
				    .reason = TRACE_BY_KEY,
				    .key = 0x1234,
				    .access = TRACE_REMOTE_WRITE_F,
				    .va = 0x1800,
				    .want_bytes = 8,
				    .key_state = TRACE_KEY_THERE,
				    .key_access = TRACE_REMOTE_WRITE_F,
				    .key_va = 0x1000,
				    .key_bytes = 0x1000};
}

static void expect_key(const struct trace_event *event, const char *words)
{
	char line[TRACE_TEXT_BYTES] = "deny qpn 0x12: remote access error: key 0x1234 ";

	strcat(line, words);
	expect(event, line);
}

static void every_range(void **state)
{
	struct trace_event event = denied();

	(void)state;
	event.va = 0x2008;
	expect_key(&event, "names [0x1000, 0x2000); the request wanted 8 bytes at end + 8");
	event.va = 0x2000;
	expect_key(&event, "names [0x1000, 0x2000); the request wanted 8 bytes at end + 0");
	event.va = 0xff0;
	expect_key(&event, "names [0x1000, 0x2000); the request wanted 8 bytes at start - 16");
	event.va = 0x1ffc;
	expect_key(&event,
		   "names [0x1000, 0x2000); the request wanted 8 bytes at 0x1ffc, 4 too many");
	event.va = UINT64_MAX;
	event.want_bytes = UINT64_MAX;
	expect_key(&event, "names [0x1000, 0x2000); the request wanted 18446744073709551615 bytes "
			   "at end + 18446744073709543423");
}

static void every_right(void **state)
{
	struct trace_event event = denied();

	(void)state;
	event.key_access = 0;
	expect_key(&event, "names [0x1000, 0x2000) without remote write; the request wanted 8 "
			   "bytes at 0x1800");
	event.access = TRACE_REMOTE_READ_F;
	expect_key(&event, "names [0x1000, 0x2000) without remote read; the request wanted 8 "
			   "bytes at 0x1800");
	event.access = TRACE_REMOTE_ATOMIC_F;
	expect_key(&event, "names [0x1000, 0x2000) without remote atomic; the request wanted 8 "
			   "bytes at 0x1800");
	event.va = 0x2008;
	expect_key(&event, "names [0x1000, 0x2000) without remote atomic; the request wanted 8 "
			   "bytes at end + 8");
	event = denied();
	event.kind = TRACE_FAIL;
	event.syndrome = CQE_SYND_LOCAL_PROT;
	event.opcode = WQE_OP_READ;
	event.access = TRACE_LOCAL_WRITE_F;
	expect(&event, "fail qpn 0x12 READ index 0: local protection error: key 0x1234 names "
		       "[0x1000, 0x2000) without local write; the entry wanted 8 bytes at 0x1800");
}

static void every_other_key(void **state)
{
	struct trace_event event = denied();

	(void)state;
	event.other = 0x56;
	expect_key(&event, "names [0x1000, 0x2000), but a key beneath it does not do; the request "
			   "wanted 8 bytes at 0x1800");
	event.key_state = TRACE_KEY_OLD;
	expect_key(&event, "is no more, it is 0x56 now; the request wanted 8 bytes at 0x1800");
	event.key_state = TRACE_KEY_FREE;
	expect_key(&event,
		   "is not bound, or was invalidated; the request wanted 8 bytes at 0x1800");
	event.key_state = TRACE_KEY_PD;
	expect_key(&event,
		   "is of another protection domain, 0x56; the request wanted 8 bytes at 0x1800");
	event.key_state = TRACE_KEY_QP;
	expect_key(&event, "is for queue pair 0x56 only; the request wanted 8 bytes at 0x1800");
	event.key_state = TRACE_KEY_PEERS;
	expect_key(&event, "is a window, which only peers may use; the request wanted 8 bytes at "
			   "0x1800");
	event.key_state = TRACE_KEY_NONE;
	expect(&event, "deny qpn 0x12: remote access error: there is no key 0x1234; the request "
		       "wanted 8 bytes at 0x1800");
}

/* ---- other reasons --------------------------------------------------------------------------- */

static void what_a_requester_knows(void **state)
{
	struct trace_event event = {.kind = TRACE_FAIL,
				    .number = 0x12,
				    .index = 7,
				    .opcode = WQE_OP_WRITE,
				    .syndrome = CQE_SYND_REMOTE_ACCESS,
				    .reason = TRACE_BY_REFUSED,
				    .va = 0x2008,
				    .want_bytes = 8,
				    .key = 0x1234,
				    .tries = 8,
				    .wait_ns = 67108864};

	(void)state;
	expect(&event, "fail qpn 0x12 WRITE index 7: remote access error: the peer said no to 8 "
		       "bytes at 0x2008, key 0x1234");
	event.syndrome = CQE_SYND_RETRY_EXC;
	event.reason = TRACE_BY_NO_ANSWER;
	expect(&event, "fail qpn 0x12 WRITE index 7: retry exceeded: no answer to 8 bytes at "
		       "0x2008, key 0x1234, tried 8 times; the last wait 67 ms");
	event.opcode = WQE_OP_SEND;
	event.key = 0;
	event.syndrome = CQE_SYND_RNR_RETRY_EXC;
	event.reason = TRACE_BY_NEVER_RECEIVE;
	expect(&event, "fail qpn 0x12 SEND index 7: RNR retry exceeded: the peer had no receive "
		       "posted for 8 bytes, tried 8 times");
	event.syndrome = CQE_SYND_LOCAL_LENGTH;
	event.reason = TRACE_BY_LENGTH;
	event.limit_bytes = 4;
	expect(&event, "fail qpn 0x12 SEND index 7: local length error: the entry has 8 bytes, "
		       "the opcode takes 4");
	event.kind = TRACE_RECV_FAIL;
	event.reason = TRACE_BY_RECEIVE_SHORT;
	expect(&event, "fail qpn 0x12 RECV index 7: local length error: the message has 8 bytes or "
		       "more, the receive 4");
}

static void answers(void **state)
{
	struct trace_event event = {
	    .kind = TRACE_NAK_SENT, .number = 0x12, .syndrome = 0x60, .psn = 5};

	(void)state;
	expect(&event, "nak  qpn 0x12 to its peer: PSN sequence error, PSN 0x5");
	event.kind = TRACE_NAK_CAME;
	event.syndrome = 0x61;
	expect(&event, "nak  qpn 0x12 from its peer: remote invalid request, PSN 0x5");
	event.syndrome = 0x62;
	expect(&event, "nak  qpn 0x12 from its peer: remote access error, PSN 0x5");
	event.syndrome = 0x63;
	expect(&event, "nak  qpn 0x12 from its peer: remote operation error, PSN 0x5");
	event.syndrome = 0x7f;
	expect(&event, "nak  qpn 0x12 from its peer: unknown NAK, PSN 0x5");
	event.syndrome = 0x2c;
	expect(&event, "nak  qpn 0x12 from its peer: receiver not ready, PSN 0x5");
	event.kind = TRACE_RETRY;
	event.tries = 6;
	event.wait_ns = 67108864;
	expect(&event, "late qpn 0x12: no answer for 67 ms; again from PSN 0x5, tries left 6");
	event = (struct trace_event){.kind = TRACE_DENY, .number = 0x12, .reason = TRACE_BY_QKEY};
	expect(&event, "deny qpn 0x12: dropped: the Q_Key is not the queue pair's");
}

/* Every reason has words of its own, except one. */
static void every_reason(void **state)
{
	static const char *const tokens[] = {
#define TOKEN(token, words) #token,
	    TRACE_REASONS(TOKEN)
#undef TOKEN
	};
	char texts[sizeof(tokens) / sizeof(tokens[0])][TRACE_TEXT_BYTES];

	(void)state;
	for (unsigned int i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		struct trace_event event = {.kind = TRACE_DENY, .reason = (enum trace_reason)i};

		trace_text(texts[i], sizeof(texts[i]), &event);
		if (i != TRACE_BY_UNKNOWN)
			assert_true(strlen(texts[i]) > strlen("deny qpn 0x0: dropped: ") + 8);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(texts[i], texts[j]);
	}
}

/* What does not fit ends in dots, and bytes may be anything. */
static void bounds(void **state)
{
	struct trace_event event = denied();
	struct base_prng prng;
	uint8_t bytes[256];
	char text[TRACE_TEXT_BYTES + 1];
	size_t len;

	(void)state;
	for (size_t cap = 4; cap < 60; cap++) {
		text[cap] = 'x';
		assert_int_equal(trace_text(text, cap, &event), cap - 1);
		assert_string_equal(text + cap - 4, "...");
		assert_int_equal(text[cap], 'x');
	}
	assert_int_equal(trace_text(text, 0, &event), 0);
	base_prng_seed(&prng, 4);
	for (int i = 0; i < 20000; i++) {
		for (size_t at = 0; at < sizeof(bytes); at++)
			bytes[at] = (uint8_t)base_prng_below(&prng, 256);
		event = (struct trace_event){
		    .kind = (enum trace_kind)base_prng_below(&prng, TRACE_RETRY + 1),
		    .reason = (enum trace_reason)base_prng_below(&prng, TRACE_BY_RESPONSE + 1),
		    .syndrome = bytes[0],
		    .opcode = bytes[1],
		    .bytes = bytes,
		    .len_bytes = base_prng_below(&prng, sizeof(bytes) + 1),
		    .address = bytes[2] % 3,
		    .key_state = (enum trace_key_state)(bytes[3] % (TRACE_KEY_THERE + 1))};
		len = trace_text(text, TRACE_TEXT_BYTES, &event);
		assert_int_equal(len, strlen(text));
	}
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static void verbs(void **state)
{
	struct trace_verb verb = {.name = "CREATE_QP"};
	char text[TRACE_TEXT_BYTES];

	(void)state;
	trace_verb_add(&verb, &(struct trace_field){.name = "type", .word = "RC"});
	trace_verb_add(&verb, &(struct trace_field){.name = "send_cq", .value = 3, .is_hex = true});
	trace_verb_add(&verb, &(struct trace_field){.name = "send_wr", .value = 64});
	verb.asked = verb.count;
	trace_verb_add(&verb, &(struct trace_field){.name = "qpn", .value = 0x12, .is_hex = true});
	trace_verb_text(text, sizeof(text), &verb);
	assert_string_equal(text, "CREATE_QP type RC send_cq 0x3 send_wr 64 -> 0 qpn 0x12");
	verb.result = -EINVAL;
	trace_verb_text(text, sizeof(text), &verb);
	assert_string_equal(text, "CREATE_QP type RC send_cq 0x3 send_wr 64 -> -EINVAL");
	verb.result = -4095;
	trace_verb_text(text, sizeof(text), &verb);
	assert_string_equal(text, "CREATE_QP type RC send_cq 0x3 send_wr 64 -> -4095");
	for (int i = 0; i < 2 * TRACE_FIELDS_MAX; i++)
		trace_verb_add(&verb, &(struct trace_field){.name = "more", .value = 1});
	assert_int_equal(verb.count, TRACE_FIELDS_MAX);
	verb = (struct trace_verb){.object = 0x12, .method = 0x34, .result = -EPROTONOSUPPORT};
	trace_verb_text(text, sizeof(text), &verb);
	assert_string_equal(text, "object 0x12 method 0x34 -> -EPROTONOSUPPORT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_status),    cmocka_unit_test(good_ones),
	    cmocka_unit_test(every_range),     cmocka_unit_test(every_right),
	    cmocka_unit_test(every_other_key), cmocka_unit_test(what_a_requester_knows),
	    cmocka_unit_test(answers),         cmocka_unit_test(every_reason),
	    cmocka_unit_test(bounds),          cmocka_unit_test(verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
