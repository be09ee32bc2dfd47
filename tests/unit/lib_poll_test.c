/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows what each kind of completion becomes, which slots it frees, that destroying a queue pair
 * takes away its completions and no other's, also while another thread polls, and the edges of a
 * poll. How: a scripted kernel; the test writes completions as the NIC does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

static void post(struct rig_qp *qp, enum rig_op op, int count)
{
	const struct rig_local eight = {.addr = 0x1000, .len_bytes = 8, .key = 1};
	const struct rig_entry entry = {
		.op = (uint8_t)op, .flags = RIG_SIGNAL_F, .pieces = &eight, .piece_count = 1,
	};

	while (count-- > 0)
		assert_int_equal(rig_qp_post(qp, &entry), 0);
}

static void receive(struct rig_qp *qp, int count)
{
	const struct rig_local piece = {.addr = 0x1000, .len_bytes = 64, .key = 1};

	while (count-- > 0)
		assert_int_equal(rig_qp_receive(qp, &piece), 0);
}

static struct rig_wc poll_one(struct script_rig *rig)
{
	struct rig_wc wc;

	memset(&wc, 0xee, sizeof(wc));
	assert_int_equal(rig_cq_poll(rig->cq, &wc, 1), 1);
	return wc;
}

static void entries_of_each_operation(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);

	(void)state;
	for (uint16_t op = RIG_WRITE; op <= RIG_COMPARE_SWAP; op++) {
		struct cqe64 cqe = {0};
		struct rig_wc wc;

		post(rig.qp, (enum rig_op)op, 1);
		cqe.sop_drop_qpn = be32_from(
			(uint32_t)wqe_ctrl_opcode((const void *)script_slot(0, op)) << 24);
		cqe.wqe_counter = be16_from(op);
		cqe.byte_cnt = be32_from(8);
		cqe.timestamp = be64_from(0x1122334455667788);
		script_complete(0, 0, cqe, CQE_REQ);
		wc = poll_one(&rig);
		assert_int_equal(wc.qp, SCRIPT_QPN_FIRST);
		assert_int_equal(wc.index, op);
		assert_int_equal(wc.kind, RIG_WC_ENTRY);
		assert_int_equal(wc.status, RIG_OK);
		assert_int_equal(wc.op, op);
		assert_int_equal(wc.flags, 0);
		assert_int_equal(wc.syndrome, 0);
		assert_int_equal(wc.vendor_syndrome, 0);
		assert_int_equal(wc.len_bytes, op == RIG_WRITE || op == RIG_SEND ? 0 : 8);
		assert_int_equal(wc.imm, 0);
		assert_int_equal(wc.source_qp, 0);
		assert_true(wc.time_ticks == 0x1122334455667788);
	}
	script_rig_close(&rig);
}

static void receives_tell_length_and_immediate(void **state)
{
	static const struct {
		enum cqe_opcode opcode;
		uint8_t op;
		uint8_t flags;
	} rows[] = {
		{CQE_RESP_SEND, RIG_SEND, 0},
		{CQE_RESP_SEND_IMM, RIG_SEND, RIG_WC_IMM_F},
		{CQE_RESP_WR_IMM, RIG_WRITE, RIG_WC_IMM_F},
	};
	struct script_rig rig = script_rig_open(8, 8);

	(void)state;
	receive(rig.qp, 3);
	for (uint16_t i = 0; i < 3; i++) {
		struct cqe64 cqe = {.byte_cnt = be32_from(40 + i)};
		struct rig_wc wc;

		cqe.imm_inval_pkey = be32_from(0x01020304);
		cqe.wqe_counter =
		    be16_from(0x7777); /* receives complete in order; this is ignored */
		script_complete(0, 0, cqe, rows[i].opcode);
		wc = poll_one(&rig);
		assert_int_equal(wc.qp, SCRIPT_QPN_FIRST);
		assert_int_equal(wc.kind, RIG_WC_RECEIVE);
		assert_int_equal(wc.index, i);
		assert_int_equal(wc.status, RIG_OK);
		assert_int_equal(wc.op, rows[i].op);
		assert_int_equal(wc.flags, rows[i].flags);
		assert_int_equal(wc.len_bytes, 40 + i);
		assert_int_equal(wc.imm, rows[i].flags ? 0x01020304 : 0);
		assert_int_equal(rig_qp_room(rig.qp, RIG_RING_RECEIVE), 8 - 3 + i + 1);
	}
	script_rig_close(&rig);
}

static void failures_tell_status_and_syndromes(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum rig_status status;
	} rows[] = {
		{0x01, RIG_LOCAL_LENGTH}, {0x02, RIG_LOCAL_QP_OPERATION},
		{0x04, RIG_LOCAL_PROTECTION}, {0x05, RIG_FLUSHED}, {0x06, RIG_MW_BIND},
		{0x10, RIG_BAD_RESPONSE}, {0x11, RIG_LOCAL_ACCESS},
		{0x12, RIG_REMOTE_INVALID_REQUEST}, {0x13, RIG_REMOTE_ACCESS},
		{0x14, RIG_REMOTE_OPERATION}, {0x15, RIG_RETRY_EXCEEDED},
		{0x16, RIG_RNR_EXCEEDED}, {0x22, RIG_REMOTE_ABORTED},
	};
	struct script_rig rig = script_rig_open(16, 16);
	struct rig_wc wc;

	(void)state;
	for (uint16_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		post(rig.qp, RIG_WRITE, 1);
		receive(rig.qp, 1);
		script_error(0, 0, i, rows[i].syndrome, 0x88, CQE_REQ_ERR);
		script_error(0, 0, 99, rows[i].syndrome, 0x77, CQE_RESP_ERR);
		wc = poll_one(&rig);
		assert_int_equal(wc.kind, RIG_WC_ENTRY);
		assert_int_equal(wc.status, rows[i].status);
		assert_int_equal(wc.syndrome, rows[i].syndrome);
		assert_int_equal(wc.vendor_syndrome, 0x88);
		assert_int_equal(wc.index, i);
		assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 16);
		wc = poll_one(&rig);
		assert_int_equal(wc.kind, RIG_WC_RECEIVE);
		assert_int_equal(wc.status, rows[i].status);
		assert_int_equal(wc.vendor_syndrome, 0x77);
		assert_int_equal(wc.index, i);
		assert_int_equal(wc.len_bytes, 0);
		assert_int_equal(rig_qp_room(rig.qp, RIG_RING_RECEIVE), 16);
	}
	script_rig_close(&rig);
}

/* A completion of an unexpected kind is reported as such and frees no slot. */
static void unexpected_kinds_free_nothing(void **state)
{
	static const uint8_t kinds[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 15};
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_wc wc;

	(void)state;
	post(rig.qp, RIG_WRITE, 4);
	receive(rig.qp, 4);
	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct cqe64 cqe = {.wqe_counter = be16_from(2)};

		script_complete(0, 0, cqe, (enum cqe_opcode)kinds[i]);
		wc = poll_one(&rig);
		assert_int_equal(wc.kind, RIG_WC_UNKNOWN);
		assert_int_equal(wc.status, RIG_UNEXPECTED);
		assert_int_equal(wc.qp, SCRIPT_QPN_FIRST);
	}
	/* An entry this library never posts, and a syndrome it does not know. */
	script_complete(0, 0, (struct cqe64){.sop_drop_qpn = be32_from((uint32_t)WQE_OP_UMR << 24)},
			CQE_REQ);
	assert_int_equal(poll_one(&rig).status, RIG_UNEXPECTED);
	script_error(0, 0, 1, 0x99, 0, CQE_REQ_ERR);
	wc = poll_one(&rig);
	assert_int_equal(wc.status, RIG_UNEXPECTED);
	assert_int_equal(wc.syndrome, 0x99);
	script_error(0, 0, 1, 0x99, 0, CQE_RESP_ERR);
	assert_int_equal(poll_one(&rig).status, RIG_UNEXPECTED);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 4);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_RECEIVE), 4);
	script_rig_close(&rig);
}

/* A send slot is free once a completion of it or of a later entry was polled. */
static void a_later_completion_frees_earlier_slots(void **state)
{
	struct script_rig rig = script_rig_open(8, 0);

	(void)state;
	post(rig.qp, RIG_WRITE, 6);
	script_done(0, 0, 3);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 2);
	assert_int_equal(poll_one(&rig).index, 3);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 6);
	script_done(0, 0, 5);
	assert_int_equal(poll_one(&rig).index, 5);
	assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 8);
	script_rig_close(&rig);
}

static void many_at_once_in_order_around_the_ring(void **state)
{
	struct script_rig rig;
	struct rig_wc wc[20];
	uint16_t done = 0;

	(void)state;
	script_reset();
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 16);
	rig.qp = script_qp_create(rig.cq, 8, 8);
	script_connect_self(rig.qp);
	for (int round = 0; round < 100; round++) {
		int writes = round % 5, others = round % 3, max = writes + others + round % 2;
		int count;

		post(rig.qp, RIG_WRITE, writes);
		post(rig.qp, RIG_READ, others);
		for (int i = 0; i < writes + others; i++)
			script_done(0, 0, (uint16_t)(done + i));
		memset(wc, 0xee, sizeof(wc));
		count = rig_cq_poll(rig.cq, wc, max ? max : 1);
		assert_int_equal(count, writes + others);
		for (int i = 0; i < count; i++) {
			assert_int_equal(wc[i].index, (uint16_t)(done + i));
			assert_int_equal(wc[i].op, i < writes ? RIG_WRITE : RIG_READ);
		}
		assert_int_equal(wc[count].qp, 0xeeeeeeee);
		done = (uint16_t)(done + count);
		assert_int_equal(be32_to(script_cq_record(0)[DB_CQ_CONSUMER]), done);
		assert_int_equal(rig_qp_room(rig.qp, RIG_RING_SEND), 8);
	}
	script_rig_close(&rig);
}

static void poll_takes_at_most_max(void **state)
{
	struct script_rig rig = script_rig_open(16, 0);
	struct rig_wc wc[8];

	(void)state;
	post(rig.qp, RIG_WRITE, 10);
	for (uint16_t i = 0; i < 10; i++)
		script_done(0, 0, i);
	for (int i = 0; i < 3; i++) {
		memset(wc, 0xee, sizeof(wc));
		assert_int_equal(rig_cq_poll(rig.cq, wc, 3), 3);
		assert_int_equal(wc[0].index, 3 * i);
		assert_int_equal(wc[3].qp, 0xeeeeeeee);
		assert_int_equal(be32_to(script_cq_record(0)[DB_CQ_CONSUMER]), 3 * i + 3);
	}
	assert_int_equal(rig_cq_poll(rig.cq, wc, 3), 1);
	assert_int_equal(rig_cq_poll(rig.cq, wc, 3), 0);
	script_rig_close(&rig);
}

static void max_is_1_to_65535(void **state)
{
	struct script_rig rig = script_rig_open(8, 0);
	struct rig_wc wc;

	(void)state;
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 0), -EINVAL);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, -1), -EINVAL);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 65536), -EINVAL);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 65535), 0);
	script_rig_close(&rig);
}

static void an_empty_poll_lends_time_and_looks_again(void **state)
{
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_wc wc;

	(void)state;
	script_reset();
	script.lends = true;
	nic = script_nic();
	cq = script_cq_create(nic, 8);
	assert_int_equal(rig_cq_poll(cq, &wc, 1), 0);
	assert_int_equal(script.lent, 1);
	assert_int_equal(rig_close(nic), 0);
}

/*
 * Case 9: of two queue pairs' completions, mixed around the ring's end, one's stay and keep their
 * order.
 */
static void destroy_takes_only_its_own_completions(void **state)
{
	for (uint32_t start = 0; start < 64; start += 5) {
		struct script_rig rig;
		struct rig_qp *other;
		struct rig_wc wc[64];

		(void)state;
		script_reset();
		rig.nic = script_nic();
		rig.cq = script_cq_create(rig.nic, 64);
		rig.qp = script_qp_create(rig.cq, 16, 16);
		other = script_qp_create(rig.cq, 16, 16);
		script_connect_self(rig.qp);
		script_connect_self(other);
		for (uint32_t i = 0; i < start; i++) {
			post(other, RIG_WRITE, 1);
			script_done(0, 1, (uint16_t)i);
			assert_int_equal(rig_cq_poll(rig.cq, wc, 1), 1);
		}
		post(rig.qp, RIG_WRITE, 16);
		post(other, RIG_WRITE, 16);
		receive(rig.qp, 8);
		receive(other, 8);
		for (uint16_t i = 0; i < 16; i++) {
			script_done(0, 0, i);
			script_done(0, 1, (uint16_t)(start + i));
			if (i % 2) {
				script_received(0, 1, i);
				script_received(0, 0, 0);
			}
		}
		assert_int_equal(rig_qp_destroy(rig.qp), 0);
		assert_int_equal(rig_cq_poll(rig.cq, wc, 64), 24);
		for (int i = 0, entry = 0, got = 0; i < 24; i++) {
			assert_int_equal(wc[i].qp, SCRIPT_QPN_FIRST + 1);
			if (wc[i].kind == RIG_WC_ENTRY)
				assert_int_equal(wc[i].index, (uint16_t)(start + entry++));
			else
				assert_int_equal(wc[i].len_bytes, 2 * got++ + 1);
		}
		assert_int_equal(be32_to(script_cq_record(0)[DB_CQ_CONSUMER]), start + 48);
		assert_int_equal(rig_cq_poll(rig.cq, wc, 64), 0);
		/* The room is whole again, and a new queue pair's completions arrive. */
		rig.qp = script_qp_create(rig.cq, 16, 16);
		script_connect_self(rig.qp);
		post(rig.qp, RIG_WRITE, 1);
		script_done(0, 2, 0);
		assert_int_equal(rig_cq_poll(rig.cq, wc, 64), 1);
		assert_int_equal(wc[0].qp, SCRIPT_QPN_FIRST + 2);
		script_rig_close(&rig);
	}
}

/*
 * Without the purge a full ring of a dead queue pair's completions would overrun under the next
 * one.
 */
static void destroy_makes_room_at_once(void **state)
{
	struct script_rig rig;
	struct rig_wc wc[16];

	(void)state;
	script_reset();
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 16);
	for (unsigned int round = 0; round < 20; round++) {
		rig.qp = script_qp_create(rig.cq, 16, 0);
		script_connect_self(rig.qp);
		post(rig.qp, RIG_WRITE, 16);
		for (uint16_t i = 0; i < 16; i++)
			script_done(0, round, i);
		assert_int_equal(rig_qp_destroy(rig.qp), 0);
		assert_int_equal(be32_to(script_cq_record(0)[DB_CQ_CONSUMER]), 16 * (round + 1));
		assert_int_equal(rig_cq_poll(rig.cq, wc, 16), 0);
	}
	script_rig_close(&rig);
}

struct poller {
	struct rig_cq *cq;
	_Atomic bool stop;
	_Atomic uint32_t seen;
	_Atomic uint32_t wrong;
};

static void *poller_main(void *arg)
{
	struct poller *poller = arg;
	uint16_t next = 0;
	struct rig_wc wc[4];

	while (!poller->stop) {
		int count = rig_cq_poll(poller->cq, wc, 1 + poller->seen % 4);

		if (count < 0)
			poller->wrong++;
		for (int i = 0; i < count; i++)
			if (wc[i].qp == SCRIPT_QPN_FIRST) {
				poller->wrong += wc[i].index != next++;
				poller->seen++;
			}
	}
	return NULL;
}

/*
 * One thread polls while another makes and destroys queue pairs: no completion of a live one is
 * lost.
 */
static void destroy_while_another_thread_polls(void **state)
{
	enum { ROUNDS = 300 };
	struct poller poller = {0};
	struct script_rig rig;
	pthread_t thread;
	uint32_t posted = 0;

	(void)state;
	script_reset();
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 64);
	rig.qp = script_qp_create(rig.cq, 16, 0);
	script_connect_self(rig.qp);
	poller.cq = rig.cq;
	assert_int_equal(pthread_create(&thread, NULL, poller_main, &poller), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct rig_qp *brief;

		script.qp_count = 1;
		brief = script_qp_create(rig.cq, 16, 0);
		script_connect_self(brief);
		post(brief, RIG_WRITE, 8);
		for (uint16_t j = 0; j < 8; j++) {
			script_done(0, 1, j);
			if (j % 4)
				continue;
			while (!rig_qp_room(rig.qp, RIG_RING_SEND))
				sched_yield();
			post(rig.qp, RIG_WRITE, 1);
			script_done(0, 0, (uint16_t)posted++);
		}
		assert_int_equal(rig_qp_destroy(brief), 0);
	}
	while (poller.seen != posted && !poller.wrong)
		sched_yield();
	poller.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(poller.wrong, 0);
	script_rig_close(&rig);
}

/* What the signal handler, the poller that it stopped and the destroying thread tell each other. */
static _Atomic bool poll_inside, destroy_begun, destroy_over, destroy_waited;
static struct rig_wc *guarded;

static void on_fault(int number)
{
	(void)number;
	poll_inside = true;
	while (!destroy_begun)
		sched_yield();
	for (int i = 0; i < 2000; i++)
		sched_yield();
	destroy_waited = !destroy_over;
	mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

static void *guarded_poll(void *arg)
{
	return (void *)(intptr_t)rig_cq_poll(arg, guarded, 4);
}

/*
 * A poll is stopped in its middle, at its store of a completion: a destroy waits until it has left.
 */
static void destroy_waits_for_a_poll_that_is_inside(void **state)
{
	struct sigaction fault = {.sa_handler = on_fault}, old;
	struct script_rig rig = script_rig_open(8, 0);
	pthread_t thread;
	void *count;

	(void)state;
	post(rig.qp, RIG_WRITE, 2);
	script_done(0, 0, 0);
	script_done(0, 0, 1);
	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(sigaction(SIGSEGV, &fault, &old), 0);
	assert_int_equal(pthread_create(&thread, NULL, guarded_poll, rig.cq), 0);
	while (!poll_inside)
		sched_yield();
	destroy_begun = true;
	assert_int_equal(rig_qp_destroy(rig.qp), 0);
	destroy_over = true;
	pthread_join(thread, &count);
	sigaction(SIGSEGV, &old, NULL);
	assert_true(destroy_waited);
	assert_int_equal((intptr_t)count, 2);
	assert_int_equal(guarded[1].index, 1);
	munmap(guarded, 4096);
	script_rig_close(&rig);
}

static void a_nic_that_is_gone_is_enodev(void **state)
{
	struct ib_uverbs_async_event_desc desc = {.event_type = UV_EVENT_DEVICE_FATAL};
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_event event;
	struct rig_wc wc;

	(void)state;
	assert_int_equal(write(script.async[1], &desc, sizeof(desc)), sizeof(desc));
	assert_int_equal(rig_wait(rig.nic, 0, &event, 1), 1);
	assert_int_equal(event.kind, RIG_EVENT_NIC_ERROR);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), -ENODEV);
	assert_int_equal(rig_cq_arm(rig.cq), -ENODEV);
	/* Nothing but destroy calls works from here on. */
	assert_int_equal(rig_qp_destroy(rig.qp), 0);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), -ENODEV);
	assert_int_equal(rig_cq_destroy(rig.cq), 0);
	script_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_of_each_operation),
		cmocka_unit_test(receives_tell_length_and_immediate),
		cmocka_unit_test(failures_tell_status_and_syndromes),
		cmocka_unit_test(unexpected_kinds_free_nothing),
		cmocka_unit_test(a_later_completion_frees_earlier_slots),
		cmocka_unit_test(many_at_once_in_order_around_the_ring),
		cmocka_unit_test(poll_takes_at_most_max),
		cmocka_unit_test(max_is_1_to_65535),
		cmocka_unit_test(an_empty_poll_lends_time_and_looks_again),
		cmocka_unit_test(destroy_takes_only_its_own_completions),
		cmocka_unit_test(destroy_makes_room_at_once),
		cmocka_unit_test(destroy_while_another_thread_polls),
		cmocka_unit_test(destroy_waits_for_a_poll_that_is_inside),
		cmocka_unit_test(a_nic_that_is_gone_is_enodev),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
