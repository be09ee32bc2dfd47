/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows that a requester does not wait out its acknowledgement timeout for what a bad wire loses: a
 * NAK, what it sent again, the last packet. By a stream of 64 KiB WRITEs, and 8-byte ones alone, in
 * virtual time, over cables that lose a part of the packets in both directions: how long it takes,
 * and how many timeouts there are. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/mlx5_cqe.h"
#include "sim/driver.h"
#include "sim/node.h"

#include <string.h>

enum {
	MESSAGE_BYTES = 64 << 10,
	DEPTH = 32,
	WINDOW_BYTES = 512 << 10,
	RATE_GBPS = 100,
	TIMEOUT_CODE = 14, /* 67 ms */
};

struct stream {
	struct sim_world world;
	struct sim_node nodes[2];
	struct sim_qp qps[2];
	struct sim_cq cqs[2];
	uint32_t pdns[2];
	uint32_t keys[2];
	uint64_t vas[2];
	uint64_t last_ns; /* of the last completion */
};

struct outcome {
	double gb_per_s;
	uint64_t lost;
	uint64_t timeouts;
	uint64_t retransmits;
	uint64_t packets;
	uint64_t longest_ns; /* between two completions */
};

static void event(void *ctx, struct sim_node *node, const struct nic_event *event)
{
	(void)ctx;
	(void)node;
	fail_msg("event %d", (int)event->kind);
}

static void harmed(void *ctx, struct sim_node *node, uint32_t dqpn)
{
	(void)ctx;
	(void)node;
	(void)dqpn;
}

static void make_end(struct stream *s, int i)
{
	struct sim_node *node = &s->nodes[i];
	struct nic_qp_attr attr = {
		.type = NIC_QP_RC,
		.sq_wqebb_count = 2 * DEPTH,
		.rq_wqe_count = 4,
		.rq_wqe_size_log2 = 5,
	};
	struct nic_mkey_attr mkey = {.access = NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F,
				     .len_bytes = MESSAGE_BYTES};

	assert_int_equal(nic_pd_create(node->nic, &s->pdns[i]), 0);
	assert_int_equal(sim_cq_create(&s->cqs[i], node->nic, &node->memory, 8, 64, false), 0);
	mkey.pdn = s->pdns[i];
	mkey.va = mkey.host_va = s->vas[i] = sim_memory_take(&node->memory, MESSAGE_BYTES, 64);
	assert_int_equal(nic_mkey_create(node->nic, &mkey, &s->keys[i]), 0);
	attr.pdn = s->pdns[i];
	attr.cqn_send = attr.cqn_recv = s->cqs[i].cqn;
	assert_int_equal(sim_qp_create(&s->qps[i], node->nic, &node->memory, &attr), 0);
}

static void move(struct stream *s, int i, enum nic_qp_state state, uint32_t set)
{
	struct nic_qp_params params = {
		.set = set | NIC_QP_SET_STATE_F,
		.state = state,
		.access = NIC_ACCESS_REMOTE_WRITE_F,
		.mtu_bytes = 4096,
		.timeout = TIMEOUT_CODE,
		.retry_count = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.rd_atomic = 1,
		.dest_rd_atomic = 1,
		.port = 1,
		.dest_qpn = s->qps[!i].qpn,
	};

	memcpy(params.path.dgid, s->nodes[!i].gid, 16);
	memcpy(params.path.sgid, s->nodes[i].gid, 16);
	assert_int_equal(nic_qp_modify(s->nodes[i].nic, s->qps[i].qpn, &params, s->world.now_ns),
			 0);
}

static void connect(struct stream *s)
{
	for (int i = 0; i < 2; i++) {
		move(s, i, NIC_QP_INIT,
		     NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F | NIC_QP_SET_ACCESS_F);
		move(s, i, NIC_QP_RTR,
		     NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F |
			     NIC_QP_SET_RQ_PSN_F | NIC_QP_SET_DEST_RD_ATOMIC_F |
			     NIC_QP_SET_MIN_RNR_TIMER_F);
		move(s, i, NIC_QP_RTS,
		     NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_RETRY_F | NIC_QP_SET_RNR_RETRY_F |
			     NIC_QP_SET_SQ_PSN_F | NIC_QP_SET_RD_ATOMIC_F);
	}
}

static void open(struct stream *s, uint32_t drop_ppm, uint64_t delay_ns, uint64_t seed)
{
	struct sim_link_config link = {
		.delay_ns = delay_ns,
		.rate_bps = RATE_GBPS * 1000000000ull,
		.queue_ns_max = 100000,
		.late_ns_max = 1000,
	};

	link.fault.ppm[FAULT_DROP] = drop_ppm;
	memset(s, 0, sizeof(*s));
	sim_world_open(&s->world, seed, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		sim_node_open(&s->nodes[i], &s->world, i, &link);
		s->nodes[i].peer = &s->nodes[!i];
		s->nodes[i].ctx = s;
		s->nodes[i].event = event;
		s->nodes[i].harmed = harmed;
		s->nodes[i].window_bytes = WINDOW_BYTES;
		make_end(s, (int)i);
	}
	connect(s);
}

static void close(struct stream *s)
{
	for (int i = 0; i < 2; i++)
		sim_node_close(&s->nodes[i]);
	sim_world_close(&s->world);
}

static void post(struct stream *s, uint32_t len_bytes)
{
	struct sim_wqe wqe = {
		.opcode = WQE_OP_WRITE,
		.signal = true,
		.remote_va = s->vas[1],
		.rkey = s->keys[1],
		.piece_count = 1,
		.pieces = {{s->vas[0], len_bytes, s->keys[0]}},
	};

	sim_qp_post(&s->qps[0], &wqe);
	sim_qp_store_record(&s->qps[0]);
	nic_doorbell(s->nodes[0].nic, s->qps[0].register_word, s->world.now_ns);
	sim_node_kick(&s->nodes[0], 0);
}

/* Steps until something completes. */
static void await_one(struct stream *s, struct outcome *out)
{
	struct sim_cqe cqe;

	while (!sim_cq_poll(&s->cqs[0], &cqe))
		if (!sim_world_step(&s->world))
			fail_msg("nothing happens any more: %s", s->world.failure);
	sim_cq_consume(&s->cqs[0]);
	assert_int_equal(cqe.opcode, CQE_REQ);
	if (s->world.now_ns - s->last_ns > out->longest_ns)
		out->longest_ns = s->world.now_ns - s->last_ns;
	s->last_ns = s->world.now_ns;
}

static struct outcome run(struct stream *s, uint32_t count, uint32_t len_bytes, uint32_t depth)
{
	const struct nic_counters *counters = nic_counters(s->nodes[0].nic);
	struct outcome out = {0};
	uint64_t start_ns = s->last_ns = s->world.now_ns;

	for (uint32_t i = 0; i < count + depth; i++) {
		if (i >= depth)
			await_one(s, &out);
		if (i < count)
			post(s, len_bytes);
	}
	out.gb_per_s = (double)count * len_bytes / (double)(s->world.now_ns - start_ns);
	out.timeouts = counters->ack_timeouts;
	out.retransmits = counters->retransmits;
	out.packets = counters->tx_packets;
	for (int i = 0; i < 2; i++)
		out.lost += s->nodes[i].out.fault.counts[FAULT_DROP];
	return out;
}

static void print(const char *what, const struct outcome *out)
{
	printf("%s: %.3f GB/s; %llu packets, %llu lost, %llu sent again, %llu timeouts; "
	       "longest wait %.3f ms\n",
	       what, out->gb_per_s, (unsigned long long)out->packets,
	       (unsigned long long)out->lost, (unsigned long long)out->retransmits,
	       (unsigned long long)out->timeouts, (double)out->longest_ns / 1e6);
}

static void a_stream(void **state)
{
	static const struct {
		const char *what;
		uint32_t drop_ppm;
		uint64_t delay_ns;
		uint32_t count;
		double gb_per_s_min;
	} rows[] = {
		{"stream, none lost", 0, 5000, 2000, 12},
		{"stream, 0.1 % lost", 1000, 5000, 4000, 10},
		{"stream, 1 % lost", 10000, 5000, 4000, 4},
		{"stream, 5 % lost", 50000, 5000, 2000, 0.6},
		{"stream, 1 % lost, 100 us away", 10000, 100000, 2000, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stream s;
		struct outcome out;

		open(&s, rows[i].drop_ppm, rows[i].delay_ns, 77 + i);
		out = run(&s, rows[i].count, MESSAGE_BYTES, DEPTH);
		print(rows[i].what, &out);
		assert_true(out.lost >= out.packets * rows[i].drop_ppm / 2000000);
		assert_int_equal(out.timeouts, 0);
		assert_true(out.gb_per_s > rows[i].gb_per_s_min);
		close(&s);
	}
}

/* Nothing follows a message that could show a gap: each loss is silence. Until one has come through
 * nothing is known of the path. */
static void one_at_a_time(void **state)
{
	struct stream s;
	struct outcome out;

	(void)state;
	open(&s, 10000, 5000, 6);
	out = run(&s, 10000, 8, 1);
	print("8 bytes at a time, 1 % lost", &out);
	assert_true(out.lost > 100);
	assert_int_equal(out.timeouts, 0);
	assert_true(out.longest_ns < 5000000);
	close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream),
		cmocka_unit_test(one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
