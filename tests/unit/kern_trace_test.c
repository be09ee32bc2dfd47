/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what a trace is told of each verb: names, numbers, what was asked, what came of it.
 * By making the calls of a ping-pong program, and wrong ones, and comparing lines.
 */
#include "abi/trace.h"
#include "kern/methods.h"
#include "kern/state.h"
#include "tests/support/kern_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LINES = 64 };

static struct {
	struct kern_rig rig;
	char lines[LINES][TRACE_TEXT_BYTES];
	unsigned int count;
} world;

static void on_trace(void *ctx, const struct trace_verb *verb)
{
	(void)ctx;
	assert_true(world.count < LINES);
	trace_verb_text(world.lines[world.count++], TRACE_TEXT_BYTES, verb);
}

static int open_world(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	kern_rig_open(&world.rig);
	world.rig.kern->env.trace = on_trace;
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	return 0;
}

/* The last line. */
static const char *last(void)
{
	return world.count ? world.lines[world.count - 1] : "";
}

static void a_program(void **state)
{
	struct kern_rig *rig = &world.rig;
	struct ib_uverbs_reg_mr_resp mr;
	struct rig_cq cq = {.cqe = 15, .comp_fd = -1};
	struct rig_qp qp = {.sq_count = 16, .rq_count = 16};
	char line[TRACE_TEXT_BYTES];
	uint32_t pd, uar, events;
	void *memory = rig_alloc(rig, 4096);
	int fd;

	(void)state;
	assert_int_equal(rig_context(rig), 0);
	assert_string_equal(last(), "GET_CONTEXT -> 0");
	assert_int_equal(rig_async(rig, &fd), 0);
	assert_string_equal(last(), "ALLOC_ASYNC_EVENT -> 0");
	assert_int_equal(rig_pd(rig, &pd), 0);
	assert_string_equal(last(), "ALLOC_PD -> 0 pdn 0x1");
	assert_int_equal(rig_mr(rig, pd, memory, 4096, IB_UVERBS_ACCESS_LOCAL_WRITE, &mr), 0);
	snprintf(line, sizeof(line),
		 "REG_MR pdn 0x1 addr 0x%llx len 4096 iova 0x%llx access 0x1 -> 0 key 0x%x",
		 (unsigned long long)rig_va(memory), (unsigned long long)rig_va(memory), mr.lkey);
	assert_string_equal(last(), line);
	assert_int_equal(rig_uar(rig, &uar, &cq.uar_page), 0);
	assert_string_equal(last(), "ALLOC_UAR -> 0 uar 0x1");
	assert_int_equal(rig_cq(rig, &cq), 0);
	assert_string_equal(last(), "CREATE_CQ cqe 15 -> 0 cqn 0x1");
	qp.pd = pd;
	qp.send_cq = qp.recv_cq = cq.handle;
	qp.uar_page = cq.uar_page;
	assert_int_equal(rig_qp(rig, &qp), 0);
	assert_non_null(strstr(last(), "CREATE_QP pdn 0x1 send_cq 0x1 recv_cq 0x1 type RC "));
	snprintf(line, sizeof(line), " -> 0 qpn 0x%x", qp.number);
	assert_non_null(strstr(last(), line));
	assert_int_equal(rig_connect(rig, &qp, qp.number), 0);
	assert_non_null(strstr(last(), " state RTS "));
	assert_int_equal(rig_destroy_qp(rig, qp.handle, &events), 0);
	snprintf(line, sizeof(line), "DESTROY_QP qpn 0x%x -> 0", qp.number);
	assert_string_equal(last(), line);
}

static void refusals(void **state)
{
	struct kern_rig *rig = &world.rig;
	struct ib_uverbs_reg_mr_resp mr;
	struct ib_uverbs_modify_qp modify = {
	    .qp_handle = 12345, .attr_mask = UV_QP_STATE, .qp_state = UV_QPS_ERR};
	void *memory = rig_alloc(rig, 4096);
	uint32_t pd;

	(void)state;
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_pd(rig, &pd), 0);
	assert_int_equal(rig_mr(rig, pd, memory, 0, 0, &mr), -EINVAL);
	assert_non_null(strstr(last(), " len 0 "));
	assert_non_null(strstr(last(), " -> -EINVAL"));
	assert_true(rig_modify(rig, &modify) < 0);
	assert_non_null(strstr(last(), "MODIFY_QP handle 0x3039 state ERR mask 0x1 -> -E"));
	rig_call(rig, 0x77, 0x88);
	assert_int_equal(rig_run(rig), -EPROTONOSUPPORT);
	assert_string_equal(last(), "object 0x77 method 0x88 -> -EPROTONOSUPPORT");
}

/* Whatever the device knows has a name. */
static void every_name(void **state)
{
	static const uint16_t first[] = {0, 1u << UVERBS_ID_NS_SHIFT};
	struct kern_rig *rig = &world.rig;
	unsigned int known = 0;

	(void)state;
	for (unsigned int i = 0; i < 2 * 2 * 64 * 64; i++) {
		uint16_t object = (uint16_t)(first[i & 1] + (i >> 2) % 64);
		uint16_t method = (uint16_t)(first[i >> 1 & 1] + (i >> 8));

		if (!kern_method_find(object, method))
			continue;
		known++;
		world.count = 0;
		rig_call(rig, object, method);
		rig_run(rig);
		assert_int_equal(world.count, 1);
		assert_int_not_equal(strncmp(last(), "object ", 7), 0);
	}
	assert_true(known > 40);
	known = 0;
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t command = i < 128 ? i : UV_WRITE_EX(i - 128);
		uint32_t bytes = 0;

		world.count = 0;
		if (rig_write(rig, command, &bytes, sizeof(bytes), NULL, 0, NULL, 0) == -EOPNOTSUPP)
			continue;
		known++;
		assert_int_not_equal(strncmp(last(), "INVOKE_WRITE", 12), 0);
	}
	assert_true(known > 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_program, open_world, close_world),
	    cmocka_unit_test_setup_teardown(refusals, open_world, close_world),
	    cmocka_unit_test_setup_teardown(every_name, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
