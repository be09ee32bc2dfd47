/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what the core tells a trace: entries, receives, completions, and of each failure why.
 * How: two NICs of tests/support/fake_nic.h whose events become lines, in one list; a test does
 * something wrong and looks for the sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "abi/dump.h"
#include "abi/trace.h"
#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

enum { LINES = 64, NAMES = 256 };

static struct {
	char lines[LINES][TRACE_TEXT_BYTES];
	unsigned int count;
	unsigned int at; /* lines before it were expected */
} trace;

static uint8_t payload[8192];

static void on_trace(void *ctx, const struct trace_event *event)
{
	(void)ctx;
	assert_true(trace.count < LINES);
	trace_text(trace.lines[trace.count++], TRACE_TEXT_BYTES, event);
}

static struct bed open_traced(const struct fake_opts *opts)
{
	struct bed b = bed_open(opts);

	memset(&trace, 0, sizeof(trace));
	for (int i = 0; i < FAKE_NICS; i++) {
		b.w->envs[i].trace = on_trace;
		b.w->nics[i]->tracing = true;
	}
	return b;
}

/* A line with these words comes after those that were expected before. */
static void expect_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void expect_line(const char *format, ...)
{
	char words[NAMES];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	for (; trace.at < trace.count; trace.at++)
		if (strstr(trace.lines[trace.at], words))
			break;
	if (trace.at == trace.count) {
		for (unsigned int i = 0; i < trace.count; i++)
			print_message("%s\n", trace.lines[i]);
		fail_msg("no line with: %s", words);
	}
	trace.at++;
}

static void post(struct bed *b, const struct fake_wr *wr)
{
	fake_post(&b->pair.a, wr);
	fake_ring(&b->pair.a);
	fake_settle(b->w);
}

/* ---- what goes well -------------------------------------------------------------------------- */

static void a_message(void **state)
{
	struct bed b = open_traced(NULL);

	(void)state;
	bed_receive(&b, 100);
	bed_post(&b, WQE_OP_SEND, 64);
	fake_settle(b.w);
	expect_line("wqe  SEND index 0 qpn 0x%x ds 2 signal | 64 bytes lkey 0x%x va 0x%llx",
		    b.pair.a.qpn, b.src.key, (unsigned long long)b.src.va);
	expect_line("recv RECV index 0 qpn 0x%x | 100 bytes lkey 0x%x va 0x%llx", b.pair.b.qpn,
		    b.dst.key, (unsigned long long)b.dst.va);
	expect_line("cqe  cqn 0x%x: RESP_SEND owner 0 qpn 0x%x counter 0 bytes 64",
		    b.pair.b.recv_cq.cqn, b.pair.b.qpn);
	expect_line("cqe  cqn 0x%x: REQ owner 0 qpn 0x%x counter 0 of SEND bytes 64",
		    b.pair.a.send_cq.cqn, b.pair.a.qpn);
	assert_int_equal(trace.count, 4);
	bed_close(&b);
}

/* A message of several packets has one entry and one receive; sent again, still. */
static void once_each(void **state)
{
	struct bed b = open_traced(NULL);

	(void)state;
	bed_receive(&b, 8192);
	bed_post(&b, WQE_OP_SEND, 5000);
	fake_drop(b.w, 0);
	fake_settle(b.w);
	expect_line("wqe  SEND index 0 ");
	expect_line("nak  qpn 0x%x to its peer: PSN sequence error, PSN 0x100", b.pair.b.qpn);
	expect_line("nak  qpn 0x%x from its peer: PSN sequence error, PSN 0x100", b.pair.a.qpn);
	expect_line("recv RECV index 0 ");
	expect_line("RESP_SEND");
	expect_line("REQ owner");
	assert_int_equal(trace.count, 6);
	bed_close(&b);
}

/* ---- keys of requests ------------------------------------------------------------------------ */

/* The responder's sentence, the NAK on both sides, the requester's sentence, its completion. */
static void expect_denied(struct bed *b, const char *words)
{
	expect_line("deny qpn 0x%x: remote access error: %s", b->pair.b.qpn, words);
	expect_line("nak  qpn 0x%x to its peer: remote access error, PSN 0x100", b->pair.b.qpn);
	expect_line("nak  qpn 0x%x from its peer: remote access error", b->pair.a.qpn);
	expect_line("fail qpn 0x%x ", b->pair.a.qpn);
	assert_non_null(strstr(trace.lines[trace.at - 1], "remote access error: the peer said no"));
	expect_line("IBV_WC_REM_ACCESS_ERR");
}

/* A request of 8 bytes off bytes into a region with these rights. names: "" or what the sentence
 * says between the region's range and its end, `end`. */
static void denied(enum wqe_opcode opcode, int64_t off, uint32_t access, const char *right,
		   const char *end)
{
	struct bed b = open_traced(NULL);
	struct fake_region region = fake_region(b.w, 1, 4096, access);
	struct fake_wr wr = bed_wr(&b, opcode, 8);
	char words[NAMES];

	wr.remote_va = region.va + (uint64_t)off;
	wr.rkey = region.key;
	post(&b, &wr);
	snprintf(words, sizeof(words), "key 0x%x names [0x%llx, 0x%llx)%s; the request wanted 8 %s",
		 region.key, (unsigned long long)region.va, (unsigned long long)region.va + 4096,
		 right, end);
	expect_denied(&b, words);
	bed_close(&b);
}

static void out_of_range(void **state)
{
	(void)state;
	denied(WQE_OP_WRITE, 4096 + 8, BED_ALL, "", "bytes at end + 8");
	denied(WQE_OP_READ, 4096, BED_ALL, "", "bytes at end + 0");
	denied(WQE_OP_ATOMIC_FA, -8, BED_ALL, "", "bytes at start - 8");
	denied(WQE_OP_WRITE, 4096 - 4, BED_ALL, "", "bytes at 0x");
	assert_non_null(strstr(trace.lines[1], ", 4 too many"));
}

static void missing_rights(void **state)
{
	uint32_t local = NIC_ACCESS_LOCAL_WRITE_F;

	(void)state;
	denied(WQE_OP_WRITE, 0, local | NIC_ACCESS_REMOTE_READ_F, " without remote write",
	       "bytes at 0x");
	denied(WQE_OP_READ, 0, local | NIC_ACCESS_REMOTE_WRITE_F, " without remote read",
	       "bytes at 0x");
	denied(WQE_OP_ATOMIC_CS, 0, local | NIC_ACCESS_REMOTE_WRITE_F, " without remote atomic",
	       "bytes at 0x");
	denied(WQE_OP_WRITE, 4096 + 8, local, " without remote write", "bytes at end + 8");
}

static void denied_key(struct bed *b, uint32_t key, const char *words)
{
	struct fake_wr wr = bed_wr(b, WQE_OP_WRITE, 8);

	wr.rkey = key;
	post(b, &wr);
	expect_denied(b, words);
	bed_close(b);
}

static void other_keys(void **state)
{
	struct bed b = open_traced(NULL);
	struct nic_mkey_attr attr = {
	    .access = BED_ALL, .va = b.dst.va, .host_va = b.dst.va, .len_bytes = 4096};
	char words[NAMES];
	uint32_t pdn, key;

	(void)state;
	denied_key(&b, 0x7ffff00, "there is no key 0x7ffff00; the request wanted 8 bytes at 0x");

	b = open_traced(NULL);
	snprintf(words, sizeof(words), "key 0x%x is no more, it is 0x%x now", b.dst.key ^ 1,
		 b.dst.key);
	denied_key(&b, b.dst.key ^ 1, words);

	b = open_traced(NULL);
	assert_int_equal(nic_pd_create(b.w->nics[1], &pdn), 0);
	attr.pdn = pdn;
	assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &key), 0);
	snprintf(words, sizeof(words), "key 0x%x is of another protection domain, 0x%x", key, pdn);
	denied_key(&b, key, words);

	b = open_traced(NULL);
	attr.pdn = b.w->sides[1].pdn;
	attr.qpn = b.pair.b.qpn + 1;
	assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &key), 0);
	snprintf(words, sizeof(words), "key 0x%x is for queue pair 0x%x only", key, attr.qpn);
	denied_key(&b, key, words);

	b = open_traced(NULL);
	attr.qpn = 0;
	attr.free = true;
	assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &key), 0);
	snprintf(words, sizeof(words), "key 0x%x is not bound, or was invalidated", key);
	denied_key(&b, key, words);
}

/* A key of pieces whose second piece leads nowhere. */
static void beneath(void **state)
{
	struct bed b = open_traced(NULL);
	struct nic_klm klm = {.va = b.dst.va, .key = 0x7ffff00, .len_bytes = 4096};
	struct nic_mkey_attr attr = {.pdn = b.w->sides[1].pdn,
				     .access = BED_ALL,
				     .kind = NIC_MKEY_KLM,
				     .va = b.dst.va,
				     .len_bytes = 4096,
				     .klms = &klm,
				     .klm_count = 1};
	char words[NAMES];
	uint32_t key;

	(void)state;
	assert_int_equal(nic_mkey_create(b.w->nics[1], &attr, &key), 0);
	snprintf(words, sizeof(words), "key 0x%x names [0x%llx, 0x%llx), but a key beneath it", key,
		 (unsigned long long)attr.va, (unsigned long long)attr.va + 4096);
	denied_key(&b, key, words);
}

/* ---- other requests -------------------------------------------------------------------------- */

static void expect_invalid(struct bed *b, const char *words)
{
	expect_line("deny qpn 0x%x: remote invalid request: %s", b->pair.b.qpn, words);
	expect_line("nak  qpn 0x%x to its peer: remote invalid request", b->pair.b.qpn);
}

static void rights_of_the_queue_pair(void **state)
{
	static const enum wqe_opcode opcodes[] = {WQE_OP_WRITE, WQE_OP_READ, WQE_OP_ATOMIC_FA};
	static const char *const words[] = {"does not let its peer write",
					    "does not let its peer read",
					    "does not let its peer do atomics"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bed b = open_traced(&(struct fake_opts){.access = UINT32_MAX});

		bed_post(&b, opcodes[i], 8);
		fake_settle(b.w);
		expect_line("deny qpn 0x%x: remote invalid request: the queue pair %s",
			    b.pair.b.qpn, words[i]);
		expect_line("fail qpn 0x%x %s index 0: remote invalid request: the peer said no "
			    "to 8 bytes at 0x%llx, key 0x%x",
			    b.pair.a.qpn, wqe_opcode_name((uint8_t)opcodes[i]),
			    (unsigned long long)b.dst.va, b.dst.key);
		bed_close(&b);
	}
}

static void wrong_packet(uint8_t opcode, uint32_t reth_len, uint32_t len, uint64_t va_off,
			 const char *words)
{
	struct bed b = open_traced(&(struct fake_opts){.dest_rd_atomic = UINT32_MAX});
	struct roce_pkt pkt = {.opcode = opcode,
			       .psn = 0x100,
			       .pkey = 0xffff,
			       .dqpn = b.pair.b.qpn,
			       .payload = payload,
			       .payload_bytes = len,
			       .pad_bytes = (uint8_t)roce_pad_bytes(len),
			       .reth = {b.dst.va, b.dst.key, reth_len},
			       .atomic = {.va = b.dst.va + va_off, .rkey = b.dst.key}};

	bed_receive(&b, 100);
	fake_send(b.w, 1, &pkt);
	expect_invalid(&b, words);
	bed_close(&b);
}

static void wrong_packets(void **state)
{
	(void)state;
	wrong_packet(ROCE_OP_RC_SEND_MIDDLE, 0, 1024, 0, "the packet does not go on");
	wrong_packet(ROCE_OP_RC_SEND_FIRST, 0, 100, 0, "the packet's length does not fit");
	wrong_packet(ROCE_OP_RC_WRITE_ONLY, 9, 8, 0, "the message is not as long as announced");
	wrong_packet(ROCE_OP_RC_FETCH_ADD, 0, 0, 4, "the address of an atomic is no multiple");
	wrong_packet(ROCE_OP_RC_READ_REQ, 8, 0, 0, "more READs and atomics at once");
}

static void no_receive(void **state)
{
	struct bed b = open_traced(&(struct fake_opts){.rnr_retry = 1});

	(void)state;
	bed_post(&b, WQE_OP_SEND, 64);
	fake_settle(b.w);
	expect_line("deny qpn 0x%x: receiver not ready: no receive is posted", b.pair.b.qpn);
	expect_line("nak  qpn 0x%x to its peer: receiver not ready", b.pair.b.qpn);
	expect_line("nak  qpn 0x%x from its peer: receiver not ready", b.pair.a.qpn);
	fake_advance(b.w, 10000000);
	fake_settle(b.w);
	expect_line("deny qpn 0x%x: receiver not ready", b.pair.b.qpn);
	expect_line("fail qpn 0x%x SEND index 0: RNR retry exceeded: the peer had no receive "
		    "posted for 64 bytes, tried 2 times",
		    b.pair.a.qpn);
	expect_line("IBV_WC_RNR_RETRY_EXC_ERR");
	bed_close(&b);
}

static void short_receive(void **state)
{
	struct bed b = open_traced(NULL);

	(void)state;
	bed_receive(&b, 1500);
	bed_post(&b, WQE_OP_SEND, 3000);
	fake_settle(b.w);
	expect_line("fail qpn 0x%x RECV index 0: local length error: the message has 2048 bytes or "
		    "more, the receive 1500",
		    b.pair.b.qpn);
	expect_line("IBV_WC_LOC_LEN_ERR");
	expect_line("fail qpn 0x%x SEND index 0: remote invalid request: the peer said no to 3000 "
		    "bytes",
		    b.pair.a.qpn);
	bed_close(&b);
}

/* Memory of the responder's that is gone: its ring, a receive, a region. */
static void gone_memory(void **state)
{
	struct bed b = open_traced(NULL);

	(void)state;
	bed_receive(&b, 100);
	fake_fault(b.w, b.pair.b.rq_va, 64);
	bed_post(&b, WQE_OP_SEND, 64);
	fake_settle(b.w);
	expect_line("deny qpn 0x%x: remote operation error: the receive cannot be read",
		    b.pair.b.qpn);
	bed_close(&b);

	b = open_traced(NULL);
	bed_receive(&b, 100);
	fake_fault(b.w, b.dst.va, 64);
	bed_post(&b, WQE_OP_SEND, 64);
	fake_settle(b.w);
	expect_line("fail qpn 0x%x RECV index 0: local protection error: the memory behind the key "
		    "is not there",
		    b.pair.b.qpn);
	bed_close(&b);

	b = open_traced(NULL);
	fake_fault(b.w, b.dst.va, 64);
	bed_post(&b, WQE_OP_READ, 64);
	fake_settle(b.w);
	expect_line("deny qpn 0x%x: remote operation error: the memory behind the key is not there",
		    b.pair.b.qpn);
	expect_line("IBV_WC_REM_OP_ERR");
	bed_close(&b);
}

static void nobody_answers(void **state)
{
	struct bed b = open_traced(&(struct fake_opts){.retry_count = 1});

	(void)state;
	assert_int_equal(fake_qp_set_state(&b.pair.b, NIC_QP_ERR), 0);
	bed_post(&b, WQE_OP_WRITE, 8);
	fake_settle(b.w);
	expect_line("deny qpn 0x%x: dropped: the queue pair is in no state to take it",
		    b.pair.b.qpn);
	fake_advance(b.w, 100000000);
	fake_settle(b.w);
	expect_line("late qpn 0x%x: no answer for 67 ms; again from PSN 0x100, tries left 1",
		    b.pair.a.qpn);
	fake_advance(b.w, 100000000);
	fake_settle(b.w);
	expect_line("fail qpn 0x%x WRITE index 0: retry exceeded: no answer to 8 bytes at 0x%llx, "
		    "key 0x%x, tried 2 times; the last wait 67 ms",
		    b.pair.a.qpn, (unsigned long long)b.dst.va, b.dst.key);
	bed_close(&b);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void local_keys(void **state)
{
	struct bed b = open_traced(NULL);
	struct fake_region region = fake_region(b.w, 0, 4096, 0);
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

	(void)state;
	wr.pieces[0] = (struct fake_piece){region.va + 4096, 8, region.key};
	post(&b, &wr);
	expect_line("fail qpn 0x%x WRITE index 0: local protection error: key 0x%x names [0x%llx, "
		    "0x%llx); the entry wanted 8 bytes at end + 0",
		    b.pair.a.qpn, region.key, (unsigned long long)region.va,
		    (unsigned long long)region.va + 4096);
	bed_close(&b);

	/* Found only when the response comes. */
	b = open_traced(NULL);
	region = fake_region(b.w, 0, 4096, 0);
	wr = bed_wr(&b, WQE_OP_READ, 8);
	wr.pieces[0] = (struct fake_piece){region.va, 8, region.key};
	post(&b, &wr);
	expect_line("fail qpn 0x%x READ index 0: local protection error: key 0x%x names [0x%llx, "
		    "0x%llx) without local write; the entry wanted 8 bytes at 0x%llx",
		    b.pair.a.qpn, region.key, (unsigned long long)region.va,
		    (unsigned long long)region.va + 4096, (unsigned long long)region.va);
	expect_line("IBV_WC_LOC_PROT_ERR");
	bed_close(&b);
}

static void expect_bad_entry(uint32_t opmod_opcode, uint32_t bytes, const char *words)
{
	struct bed b = open_traced(&(struct fake_opts){0});
	uint8_t segments[256] = {0};

	fake_post_raw(&b.pair.a, opmod_opcode, 0, segments, bytes);
	fake_ring(&b.pair.a);
	expect_line("wqe  ");
	expect_line("local queue pair operation error: %s", words);
	expect_line("IBV_WC_LOC_QP_OP_ERR");
	bed_close(&b);
}

static void bad_entries(void **state)
{
	struct bed b = open_traced(NULL);
	struct fake_wr wr = bed_wr(&b, WQE_OP_ATOMIC_FA, 16);

	(void)state;
	/* Nothing is told of the entry before it. */
	bed_post(&b, WQE_OP_NOP, 0);
	fake_fault(b.w, b.pair.a.sq_va + 64, 64);
	bed_post(&b, WQE_OP_SEND, 8);
	expect_line("index 1 cannot be read, or is empty");
	expect_line("fail qpn 0x%x NOP index 1: local queue pair operation error: the entry cannot "
		    "be read, or is empty",
		    b.pair.a.qpn);
	bed_close(&b);

	b = open_traced(NULL);
	wr.pieces[0] = (struct fake_piece){b.src.va, 16, b.src.key};
	post(&b, &wr);
	expect_line("ATOMIC_FA index 0: local length error: the entry has 16 bytes, the opcode "
		    "takes 8");
	bed_close(&b);

	expect_bad_entry(0x7f, 16, "no such opcode on this queue pair");
	expect_bad_entry(WQE_OP_WRITE, 0, "the segments do not fit the opcode");
}

/* What nobody acknowledges is lost with a word. */
static void datagrams(void **state)
{
	struct bed b = open_traced(&(struct fake_opts){.type = NIC_QP_UD});
	struct fake_address to = fake_to(&b.pair.b);
	struct fake_wr wr = bed_wr(&b, WQE_OP_SEND, 64);

	(void)state;
	wr.to = &to;
	post(&b, &wr);
	expect_line("wqe  SEND index 0 qpn 0x%x ds 5 signal | to qpn 0x%x qkey 0x11111111",
		    b.pair.a.qpn, b.pair.b.qpn);
	expect_line("deny qpn 0x%x: dropped: no receive is posted", b.pair.b.qpn);
	bed_receive(&b, 100);
	post(&b, &wr);
	expect_line("deny qpn 0x%x: dropped: the message has 104 bytes or more, the receive 100",
		    b.pair.b.qpn);
	to.qkey++;
	post(&b, &wr);
	expect_line("deny qpn 0x%x: dropped: the Q_Key is not the queue pair's", b.pair.b.qpn);
	to.dqpn++;
	post(&b, &wr);
	expect_line("deny qpn 0x%x: dropped: there is no such queue pair", to.dqpn);
	bed_close(&b);
}

static void unreliable(void **state)
{
	struct bed b = open_traced(&(struct fake_opts){.type = NIC_QP_UC});
	struct fake_wr wr = bed_wr(&b, WQE_OP_WRITE, 8);

	(void)state;
	wr.remote_va = b.dst.va + b.dst.len;
	post(&b, &wr);
	expect_line("deny qpn 0x%x: dropped: key 0x%x names [", b.pair.b.qpn, b.dst.key);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_message),     cmocka_unit_test(once_each),
	    cmocka_unit_test(out_of_range),  cmocka_unit_test(missing_rights),
	    cmocka_unit_test(other_keys),    cmocka_unit_test(beneath),
	    cmocka_unit_test(wrong_packets), cmocka_unit_test(rights_of_the_queue_pair),
	    cmocka_unit_test(no_receive),    cmocka_unit_test(short_receive),
	    cmocka_unit_test(gone_memory),   cmocka_unit_test(nobody_answers),
	    cmocka_unit_test(local_keys),    cmocka_unit_test(bad_entries),
	    cmocka_unit_test(datagrams),     cmocka_unit_test(unreliable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
