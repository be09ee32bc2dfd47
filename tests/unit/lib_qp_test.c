/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows the clauses of the contract on making, naming and destroying queue pairs: rounding, bounds,
 * the room in the completion queue, refusals of the kernel. How: a scripted kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/script_rig.h"

#include <sys/resource.h>

static struct script_rig nic_and_cq(int cqe_count)
{
	struct script_rig rig = {0};

	script_reset();
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, cqe_count);
	return rig;
}

static void entries_and_receives_are_rounded_up(void **state)
{
	static const struct {
		int entries;
		int receives;
		uint32_t sq;
		uint32_t rq;
	} rows[] = {
		{1, 0, 1, 0}, {1, 1, 1, 4}, {2, 4, 2, 4}, {3, 5, 4, 8}, {64, 100, 64, 128},
		{1000, 3, 1024, 4},
	};
	struct script_rig rig = nic_and_cq(4096);

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_qp *qp = script_qp_create(rig.cq, rows[i].entries, rows[i].receives);

		assert_int_equal(script.qps[i].in.sq_wqe_count, rows[i].sq);
		assert_int_equal(script.qps[i].in.rq_wqe_count, rows[i].rq);
		assert_int_equal(rig_qp_room(qp, RIG_RING_SEND), rows[i].sq);
		assert_int_equal(rig_qp_room(qp, RIG_RING_RECEIVE), rows[i].rq);
	}
	script_rig_close(&rig);
}

static void rings_and_record_are_where_the_kernel_wants_them(void **state)
{
	struct script_rig rig = nic_and_cq(256);
	const struct mlx5_ib_create_qp *in = &script.qps[0].in;

	(void)state;
	script_qp_create(rig.cq, 8, 8);
	script_qp_create(rig.cq, 8, 8);
	assert_int_equal(in->buf_addr % 4096, 0);
	assert_int_equal(in->db_addr % 64, 0);
	assert_int_equal(in->rq_wqe_shift, 6);
	assert_int_equal(in->flags, MLX5_QP_FLAG_UAR_PAGE_INDEX);
	assert_int_equal(in->bfreg_index, 7);
	assert_int_not_equal(in->uidx, script.qps[1].in.uidx);
	assert_int_equal(script.qps[0].cap.max_send_wr, 8);
	assert_true(script.qps[0].in.db_addr / 64 != script.qps[1].in.db_addr / 64);
	script_rig_close(&rig);
}

static void entries_below_1_and_receives_below_0_are_invalid(void **state)
{
	struct script_rig rig = nic_and_cq(256);
	struct rig_qp *qp = (void *)1;

	(void)state;
	assert_int_equal(rig_qp_create(rig.cq, 0, 8, &qp), -EINVAL);
	assert_int_equal(rig_qp_create(rig.cq, -5, 8, &qp), -EINVAL);
	assert_int_equal(rig_qp_create(rig.cq, 8, -1, &qp), -EINVAL);
	assert_int_equal(rig_qp_create(rig.cq, 8, 8, NULL), -EINVAL);
	assert_int_equal(rig_qp_create(NULL, 8, 8, &qp), -EINVAL);
	assert_ptr_equal(qp, (void *)1);
	assert_int_equal(script.qp_count, 0);
	script_rig_close(&rig);
}

static void over_2_15_names_the_bound(void **state)
{
	struct script_rig rig = nic_and_cq(1 << 17);
	struct rig_qp *qp;

	(void)state;
	assert_int_equal(rig_qp_create(rig.cq, 32769, 0, &qp), -ERANGE);
	assert_message("32768");
	assert_int_equal(rig_qp_create(rig.cq, 1, 32769, &qp), -ERANGE);
	assert_int_equal(rig_qp_create(rig.cq, INT32_MAX, INT32_MAX, &qp), -ERANGE);
	assert_int_equal(rig_qp_create(rig.cq, 32768, 32768, &qp), 0);
	script_rig_close(&rig);
}

static void over_the_nics_bound_names_it(void **state)
{
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_qp *qp;

	(void)state;
	script_reset();
	script.context.max_send_wqebb = 2048;
	script.context.max_recv_wr = 512;
	nic = script_nic();
	cq = script_cq_create(nic, 65536);
	assert_int_equal(rig_qp_create(cq, 2049, 0, &qp), -ERANGE);
	assert_message("2048");
	assert_int_equal(rig_qp_create(cq, 1, 513, &qp), -ERANGE);
	assert_message("512");
	assert_int_equal(rig_qp_create(cq, 2048, 512, &qp), 0);
	assert_int_equal(rig_close(nic), 0);
}

static void queue_pairs_together_fit_the_completion_queue(void **state)
{
	struct script_rig rig = nic_and_cq(64);
	struct rig_qp *qp, *first;

	(void)state;
	assert_int_equal(rig_qp_create(rig.cq, 64, 1, &qp), -EINVAL);
	first = script_qp_create(rig.cq, 30, 10); /* 32 + 16 */
	assert_int_equal(rig_qp_create(rig.cq, 9, 4, &qp), -EINVAL); /* 16 + 4 */
	assert_message("16");
	script_qp_create(rig.cq, 8, 5); /* 8 + 8: full to the last slot */
	assert_int_equal(rig_qp_create(rig.cq, 1, 0, &qp), -EINVAL);
	assert_int_equal(rig_qp_destroy(first), 0);
	script_qp_create(rig.cq, 48 - 16, 16);
	script_rig_close(&rig);
}

static void rings_that_cannot_be_allocated_are_enomem(void **state)
{
	struct rlimit limit, old;
	struct rig_qp *qp = (void *)1;
	struct script_rig rig;

	(void)state;
#if defined(__SANITIZE_ADDRESS__)
	skip(); /* its shadow does not live with RLIMIT_AS */
#endif
	rig = nic_and_cq(1 << 17);
	script_qp_create(rig.cq, 8, 8); /* so that small memory is there already */
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	limit = old;
	limit.rlim_cur = 1 << 20;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	assert_int_equal(rig_qp_create(rig.cq, 32768, 32768, &qp), -ENOMEM);
	setrlimit(RLIMIT_AS, &old);
	assert_message("memory");
	assert_ptr_equal(qp, (void *)1);
	script_qp_create(rig.cq, 32768, 32768);
	script_rig_close(&rig);
}

static void create_that_the_kernel_refuses_gives_all_back(void **state)
{
	struct script_rig rig = nic_and_cq(16);
	struct rig_qp *qp = (void *)1;

	(void)state;
	script_refuse(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, SCRIPT_ANY, ENOSPC);
	for (int i = 0; i < 200; i++)
		assert_int_equal(rig_qp_create(rig.cq, 8, 8, &qp), -ENOSPC);
	assert_message("rig_qp_create");
	assert_message(strerror(ENOSPC));
	assert_ptr_equal(qp, (void *)1);
	script.rules[0].err = 0;
	script_qp_create(rig.cq, 8, 8);
	script_rig_close(&rig);
}

static void rings_that_cannot_be_pinned_name_rlimit_memlock(void **state)
{
	struct script_rig rig = nic_and_cq(64);
	struct rlimit limit, old;
	struct rig_qp *qp;
	struct rig_cq *cq;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	limit = old;
	limit.rlim_cur = 65536;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	script_refuse(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, SCRIPT_ANY, ENOMEM);
	assert_int_equal(rig_qp_create(rig.cq, 8, 8, &qp), -ENOMEM);
	assert_message("RLIMIT_MEMLOCK");
	script.rules[0].object = UVERBS_OBJECT_CQ;
	assert_int_equal(rig_cq_create(rig.nic, 8, &cq), -ENOMEM);
	assert_message("RLIMIT_MEMLOCK");
	assert_message("65536");
	setrlimit(RLIMIT_MEMLOCK, &old);
	script.rules[0].err = 0;
	script_rig_close(&rig);
}

static void number_is_what_the_kernel_gave(void **state)
{
	struct script_rig rig = nic_and_cq(64);

	(void)state;
	assert_int_equal(rig_qp_number(script_qp_create(rig.cq, 8, 8)), SCRIPT_QPN_FIRST);
	assert_int_equal(rig_qp_number(script_qp_create(rig.cq, 8, 8)), SCRIPT_QPN_FIRST + 1);
	assert_int_equal(rig_qp_number(NULL), 0);
	script_rig_close(&rig);
}

static void endpoint_is_what_a_peer_needs(void **state)
{
	struct script_rig rig = nic_and_cq(64);
	struct rig_qp *qp = script_qp_create(rig.cq, 8, 8);
	struct rig_endpoint endpoint;

	(void)state;
	assert_int_equal(rig_qp_endpoint(qp, &endpoint), 0);
	assert_int_equal(endpoint.qp, SCRIPT_QPN_FIRST);
	assert_true(endpoint.psn <= 0xffffff);
	assert_int_equal(endpoint.address.link, RIG_LINK_ETHERNET);
	assert_memory_equal(endpoint.address.gid, script.gids[3].gid, 16);
	assert_int_equal(endpoint.mtu_bytes, 4096);
	assert_int_equal(endpoint.ece, 0);
	assert_int_equal(rig_qp_endpoint(qp, NULL), -EINVAL);
	script_rig_close(&rig);
}

/* 64 random 24-bit numbers that all agree in their upper half would be a wonder. */
static void initial_psn_is_random(void **state)
{
	struct script_rig rig = nic_and_cq(1024);
	struct rig_endpoint endpoint, first;
	bool differ = false;

	(void)state;
	assert_int_equal(rig_qp_endpoint(script_qp_create(rig.cq, 8, 0), &first), 0);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(rig_qp_endpoint(script_qp_create(rig.cq, 8, 0), &endpoint), 0);
		differ |= endpoint.psn >> 12 != first.psn >> 12;
	}
	assert_true(differ);
	script_rig_close(&rig);
}

static void destroy_ends_the_handle(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	struct rig_entry entry = {.op = RIG_WRITE, .flags = RIG_INLINE_F};

	(void)state;
	assert_int_equal(rig_qp_destroy(rig.qp), 0);
	assert_false(script.qps[0].live);
	assert_int_equal(rig_qp_post(rig.qp, &entry), -EINVAL);
	assert_int_equal(rig_qp_ring(rig.qp), -EINVAL);
	assert_int_equal(rig_qp_destroy(rig.qp), -EINVAL);
	assert_int_equal(rig_qp_destroy(NULL), -EINVAL);
	script_rig_close(&rig);
}

static void destroy_frees_the_rings(void **state)
{
	struct script_rig rig = script_rig_open(8, 8);
	void *rings = (void *)(uintptr_t)script.qps[0].in.buf_addr;
	unsigned char resident;

	(void)state;
	assert_int_equal(mincore(rings, 4096, &resident), 0);
	assert_int_equal(rig_qp_destroy(rig.qp), 0);
	assert_int_equal(mincore(rings, 4096, &resident), -1);
	assert_int_equal(errno, ENOMEM);
	script_rig_close(&rig);
}

/* The error is returned, the queue pair counts as destroyed, its ring is freed, its room is not. */
static void destroy_that_the_kernel_refuses_keeps_the_room(void **state)
{
	struct script_rig rig = nic_and_cq(64);
	struct rig_qp *qp = script_qp_create(rig.cq, 32, 16), *other;
	void *rings = (void *)(uintptr_t)script.qps[0].in.buf_addr;
	unsigned char resident;
	struct rig_wc wc;

	(void)state;
	script_connect_self(qp);
	script_refuse(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, SCRIPT_ANY, EIO);
	assert_int_equal(rig_qp_destroy(qp), -EIO);
	assert_message(strerror(EIO));
	assert_int_equal(rig_qp_destroy(qp), -EINVAL);
	assert_int_equal(rig_qp_ring(qp), -EINVAL);
	assert_int_equal(mincore(rings, 4096, &resident), -1);
	assert_int_equal(rig_qp_create(rig.cq, 32, 0, &other), -EINVAL);
	other = script_qp_create(rig.cq, 8, 8);
	/*
	 * It is still alive over there, and completes: nobody hears of it, no other takes its
	 * place.
	 */
	assert_int_not_equal(script.qps[1].in.uidx, script.qps[0].in.uidx);
	assert_true(script.qps[1].in.db_addr != script.qps[0].in.db_addr);
	assert_ptr_not_equal(other, qp);
	script_error(0, 0, 0, CQE_SYND_WR_FLUSH, 0xf5, CQE_REQ_ERR);
	assert_int_equal(rig_cq_poll(rig.cq, &wc, 1), 0);
	assert_int_equal(be32_to(script_cq_record(0)[DB_CQ_CONSUMER]), 1);
	script.rules[0].err = 0;
	assert_int_equal(rig_close(rig.nic), 0);
}

/* Numbers come again: a new queue pair with a dead one's number and index starts from nothing. */
static void many_lives_in_one_nic(void **state)
{
	struct script_rig rig = nic_and_cq(64);

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct rig_qp *qp;

		script.qp_count = 0;
		qp = script_qp_create(rig.cq, 16, 16);
		assert_int_equal(rig_qp_room(qp, RIG_RING_SEND), 16);
		assert_int_equal(rig_qp_index(qp, RIG_RING_SEND), 0);
		assert_int_equal(rig_qp_destroy(qp), 0);
	}
	assert_true(script.qps[0].in.uidx < 4);
	script_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_and_receives_are_rounded_up),
		cmocka_unit_test(rings_and_record_are_where_the_kernel_wants_them),
		cmocka_unit_test(entries_below_1_and_receives_below_0_are_invalid),
		cmocka_unit_test(over_2_15_names_the_bound),
		cmocka_unit_test(over_the_nics_bound_names_it),
		cmocka_unit_test(queue_pairs_together_fit_the_completion_queue),
		cmocka_unit_test(rings_that_cannot_be_allocated_are_enomem),
		cmocka_unit_test(create_that_the_kernel_refuses_gives_all_back),
		cmocka_unit_test(rings_that_cannot_be_pinned_name_rlimit_memlock),
		cmocka_unit_test(number_is_what_the_kernel_gave),
		cmocka_unit_test(endpoint_is_what_a_peer_needs),
		cmocka_unit_test(initial_psn_is_random),
		cmocka_unit_test(destroy_ends_the_handle),
		cmocka_unit_test(destroy_frees_the_rings),
		cmocka_unit_test(destroy_that_the_kernel_refuses_keeps_the_room),
		cmocka_unit_test(many_lives_in_one_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
