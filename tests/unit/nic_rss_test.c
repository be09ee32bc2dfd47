/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: the hash is Microsoft's, and frames are spread over queues by it and by nothing else. How:
 * the published vectors, as bytes and as frames that each come to one of four queues.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/errno.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "nic/rss.h"
#include "tests/support/nic_bed.h"

enum {
	QUEUES = 4,
	FRAME_BYTES = 100,
	ROOM_BYTES = 4096,
	TCP = 6,
	UDP = 17,
};

/* [RSS], "Verifying the RSS Hash Calculation" */
static const uint8_t key[NIC_HASH_KEY_BYTES] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

static const struct vector {
	const char *dst, *src;
	uint16_t dst_port, src_port;
	uint32_t hash_ip, hash_ports;
} vectors[] = {
    {"161.142.100.80", "66.9.149.187", 1766, 2794, 0x323e8fc2, 0x51ccc178},
    {"65.69.140.83", "199.92.111.2", 4739, 14230, 0xd718262a, 0xc626b0ea},
    {"12.22.207.184", "24.19.198.95", 38024, 12898, 0xd2d0a5de, 0x5c2b394a},
    {"209.142.163.6", "38.27.205.30", 2217, 48228, 0x82989176, 0xafc7327f},
    {"202.188.127.2", "153.39.163.191", 1303, 44251, 0x5d1809c5, 0x10e828a2},
    {"3ffe:2501:200:3::1", "3ffe:2501:200:1fff::7", 1766, 2794, 0x2cc18cd5, 0x40207d3d},
    {"ff02::1", "3ffe:501:8::260:97ff:fe40:efab", 4739, 14230, 0x0f0c461c, 0xdde51bbf},
    {"fe80::200:f8ff:fe21:67cf", "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 38024, 44251, 0x4b61e985,
     0x02d1feef},
};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

static bool is_ipv6(const struct vector *v)
{
	return strchr(v->dst, ':') != NULL;
}

/* Source, destination, ports; the length without the ports. */
static uint32_t put_vector(const struct vector *v, uint8_t *at)
{
	int family = is_ipv6(v) ? AF_INET6 : AF_INET;
	uint32_t len = is_ipv6(v) ? 16 : 4;

	assert_int_equal(inet_pton(family, v->src, at), 1);
	assert_int_equal(inet_pton(family, v->dst, at + len), 1);
	be16_store(at + 2 * len, v->src_port);
	be16_store(at + 2 * len + 2, v->dst_port);
	return 2 * len;
}

static void hash(void **state)
{
	uint8_t input[NIC_HASH_INPUT_MAX];

	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		uint32_t len = put_vector(&vectors[i], input);

		assert_int_equal(nic_toeplitz(key, input, len), vectors[i].hash_ip);
		assert_int_equal(nic_toeplitz(key, input, len + 4), vectors[i].hash_ports);
	}
	assert_int_equal(nic_toeplitz(key, input, 0), 0);
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct rss {
	struct bed b; /* frames leave from the pair's a, on NIC 0 */
	struct fake_qp queues[QUEUES];
	uint32_t qpns[QUEUES];
	uint16_t got[QUEUES];
	uint32_t rqtn;
};

static int move(struct fake_qp *qp, enum nic_qp_state state, uint32_t set)
{
	struct nic_qp_params p = {.set = NIC_QP_SET_STATE_F | set, .state = state, .port = 1};

	return nic_qp_modify(qp->world->nics[qp->nic], qp->qpn, &p, qp->world->now_ns);
}

static void ready(struct fake_qp *qp)
{
	assert_int_equal(move(qp, NIC_QP_INIT, NIC_QP_SET_PORT_F), 0);
	assert_int_equal(move(qp, NIC_QP_RTR, 0), 0);
}

static struct rss rss_open(void)
{
	const struct fake_opts opts = {.type = NIC_QP_RAW};
	struct rss t = {.b.w = fake_world_new(NULL)};

	fake_qp_make(t.b.w, 0, &opts, &t.b.pair.a);
	ready(&t.b.pair.a);
	assert_int_equal(move(&t.b.pair.a, NIC_QP_RTS, 0), 0);
	t.b.src = fake_region(t.b.w, 0, ROOM_BYTES, BED_LOCAL);
	t.b.dst = fake_region(t.b.w, 1, ROOM_BYTES, BED_LOCAL);
	for (uint32_t i = 0; i < QUEUES; i++) {
		struct fake_piece piece = {t.b.dst.va, ROOM_BYTES, t.b.dst.key};

		fake_qp_make(t.b.w, 1, &opts, &t.queues[i]);
		ready(&t.queues[i]);
		t.qpns[i] = t.queues[i].qpn;
		for (int k = 0; k < 16; k++)
			fake_receive(&t.queues[i], &piece, 1);
	}
	assert_int_equal(nic_rqt_create(t.b.w->nics[1], t.qpns, 2, &t.rqtn), 0);
	return t;
}

static void make_frame(struct rss *t, const struct vector *v, uint8_t proto)
{
	uint8_t *at = bed_src(&t->b);

	memset(at, 0, FRAME_BYTES);
	be16_store(at + 12, is_ipv6(v) ? 0x86dd : 0x0800);
	at += 14;
	if (is_ipv6(v)) {
		at[0] = 0x60;
		at[6] = proto;
		put_vector(v, at + 8);
	} else {
		at[0] = 0x45;
		at[9] = proto;
		put_vector(v, at + 12);
	}
}

/* The queue that got the frame which lies in src; QUEUES: none. */
static uint32_t send_frame(struct rss *t)
{
	uint8_t entry[32] = {0};
	uint32_t found = QUEUES;
	uint16_t index;

	be32_store(entry + 16, FRAME_BYTES);
	be32_store(entry + 20, t->b.src.key);
	be64_store(entry + 24, t->b.src.va);
	index = fake_post_raw(&t->b.pair.a, WQE_OP_SEND, 0, entry, sizeof(entry));
	fake_ring(&t->b.pair.a);
	fake_settle(t->b.w);
	expect_done(&t->b.pair.a.send_cq, CQE_REQ, index, FRAME_BYTES);
	for (uint32_t i = 0; i < QUEUES; i++) {
		uint16_t taken = nic_qp_find(t->b.w->nics[1], t->qpns[i])->rq_ci;

		if (taken == t->got[i])
			continue;
		assert_int_equal(found, QUEUES);
		found = i;
		expect_done(&t->queues[i].recv_cq, CQE_RESP_SEND, t->got[i], FRAME_BYTES);
		assert_memory_equal(bed_dst(&t->b), bed_src(&t->b), FRAME_BYTES);
		t->got[i] = taken;
	}
	nic_check(t->b.w->nics[1]);
	return found;
}

/* The same, as what spreads by these fields has it. */
static uint32_t sent_by(struct rss *t, uint32_t fields)
{
	struct nic_tir_attr attr = {.rqtn = t->rqtn, .fields = fields};
	struct nic_rule rule = {.priority = 1};
	struct nic *nic = t->b.w->nics[1];
	uint32_t number, queue;

	memcpy(attr.key, key, sizeof(key));
	assert_int_equal(nic_tir_create(nic, &attr, &rule.tirn), 0);
	assert_int_equal(nic_rule_create(nic, &rule, &number), 0);
	queue = send_frame(t);
	assert_int_equal(nic_tir_destroy(nic, rule.tirn), -EBUSY);
	assert_int_equal(nic_rule_destroy(nic, number), 0);
	assert_int_equal(nic_tir_destroy(nic, rule.tirn), 0);
	return queue;
}

static void spread(void **state)
{
	struct rss t = rss_open();
	bool used[QUEUES] = {false};

	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		const struct vector *v = &vectors[i];
		uint32_t ip = is_ipv6(v) ? NIC_HASH_IPV6 : NIC_HASH_IPV4;

		make_frame(&t, v, i & 1 ? TCP : UDP);
		assert_int_equal(sent_by(&t, ip), v->hash_ip % QUEUES);
		assert_int_equal(sent_by(&t, ip | (i & 1 ? NIC_HASH_TCP : NIC_HASH_UDP)),
				 v->hash_ports % QUEUES);
		used[v->hash_ip % QUEUES] = used[v->hash_ports % QUEUES] = true;
	}
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_true(used[i]);
	bed_close(&t.b);
}

/* Each field alone. */
static void one_field(void **state)
{
	static const uint32_t fields[] = {NIC_HASH_SRC_IPV4_F, NIC_HASH_DST_IPV4_F,
					  NIC_HASH_SRC_TCP_F, NIC_HASH_DST_TCP_F};
	static const uint8_t at[] = {0, 4, 8, 10}, lens[] = {4, 4, 2, 2};
	struct rss t = rss_open();
	uint8_t input[NIC_HASH_INPUT_MAX];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 4; k++) {
			put_vector(&vectors[k], input);
			make_frame(&t, &vectors[k], TCP);
			assert_int_equal(sent_by(&t, fields[i]),
					 nic_toeplitz(key, input + at[i], lens[i]) % QUEUES);
		}
	}
	bed_close(&t.b);
}

/* What lacks a field is not hashed: it comes to the first queue. */
static void without_the_field(void **state)
{
	static const struct {
		size_t vector;
		uint32_t fields;
		uint8_t proto;
	} rows[] = {
	    {0, NIC_HASH_IPV6, TCP},
	    {7, NIC_HASH_IPV4, TCP},
	    {0, NIC_HASH_IPV4 | NIC_HASH_TCP, UDP},
	    {0, NIC_HASH_IPV4 | NIC_HASH_UDP, TCP},
	    {7, NIC_HASH_UDP, TCP},
	    {0, 0, TCP},
	};
	struct rss t = rss_open();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_frame(&t, &vectors[rows[i].vector], rows[i].proto);
		assert_int_equal(sent_by(&t, rows[i].fields), 0);
	}
	make_frame(&t, &vectors[0], TCP);
	assert_int_not_equal(sent_by(&t, NIC_HASH_IPV4), 0);
	bed_src(&t.b)[14 + 7] = 1; /* a later fragment has no ports */
	assert_int_equal(sent_by(&t, NIC_HASH_IPV4 | NIC_HASH_TCP), 0);
	bed_close(&t.b);
}

/* A queue that is not ready loses its share, and no other queue gets it. */
static void queue_in_reset(void **state)
{
	struct rss t = rss_open();

	(void)state;
	make_frame(&t, &vectors[0], TCP);
	assert_int_equal(sent_by(&t, NIC_HASH_IPV4), 2);
	assert_int_equal(move(&t.queues[2], NIC_QP_RESET, 0), 0);
	t.got[2] = 0;
	assert_int_equal(sent_by(&t, NIC_HASH_IPV4), QUEUES);
	bed_close(&t.b);
}

static void refusals(void **state)
{
	struct rss t = rss_open();
	struct nic *nic = t.b.w->nics[1];
	struct nic_tir_attr attr = {.rqtn = t.rqtn};
	uint32_t qpns[2 << NIC_RQT_LOG2_MAX];
	struct nic_rule rule = {.priority = 1};
	struct fake_qp rc;
	uint32_t number, tirn;

	(void)state;
	for (size_t i = 0; i < sizeof(qpns) / sizeof(qpns[0]); i++)
		qpns[i] = t.qpns[1];
	assert_int_equal(nic_rqt_create(nic, qpns, NIC_RQT_LOG2_MAX + 1, &number), -EINVAL);
	assert_int_equal(nic_rqt_create(nic, qpns, NIC_RQT_LOG2_MAX, &number), 0);
	assert_int_equal(nic_rqt_entry(nic, number, (1 << NIC_RQT_LOG2_MAX) - 1), t.qpns[1]);
	assert_int_equal(nic_rqt_entry(nic, number, 1 << NIC_RQT_LOG2_MAX), 0);
	fake_qp_make(t.b.w, 1, &(struct fake_opts){0}, &rc);
	qpns[1] = rc.qpn;
	assert_int_equal(nic_rqt_create(nic, qpns, 1, &number), -EINVAL);
	qpns[1] = 0;
	assert_int_equal(nic_rqt_create(nic, qpns, 1, &number), -EINVAL);
	/* Whole, whoever uses it. */
	assert_int_equal(nic_qp_destroy(nic, t.qpns[0]), -EBUSY);
	assert_int_equal(nic_tir_create(nic, &attr, &tirn), 0);
	assert_int_equal(nic_rqt_destroy(nic, t.rqtn), -EBUSY);
	assert_int_equal(nic_tir_destroy(nic, tirn), 0);
	assert_int_equal(nic_tir_destroy(nic, tirn), -EINVAL);
	rule.tirn = tirn;
	assert_int_equal(nic_rule_create(nic, &rule, &number), -EINVAL);
	attr.fields = NIC_HASH_SRC_IPV4_F | NIC_HASH_DST_IPV6_F;
	assert_int_equal(nic_tir_create(nic, &attr, &tirn), -EINVAL);
	attr.fields = NIC_HASH_SRC_TCP_F | NIC_HASH_DST_UDP_F;
	assert_int_equal(nic_tir_create(nic, &attr, &tirn), -EINVAL);
	attr.fields = 1 << 8;
	assert_int_equal(nic_tir_create(nic, &attr, &tirn), -EINVAL);
	assert_int_equal(nic_rqt_destroy(nic, t.rqtn), 0);
	assert_int_equal(nic_rqt_destroy(nic, t.rqtn), -EINVAL);
	assert_int_equal(nic_qp_destroy(nic, t.qpns[0]), 0);
	assert_int_equal(nic_tir_create(nic, &attr, &tirn), -EINVAL);
	bed_close(&t.b);
}

static void limits(void **state)
{
	struct rss t = rss_open();
	struct nic *nic = t.b.w->nics[1];
	struct nic_tir_attr attr = {.rqtn = t.rqtn};
	uint32_t number;

	(void)state;
	for (uint32_t i = 0; i < NIC_TIRS_MAX; i++)
		assert_int_equal(nic_tir_create(nic, &attr, &number), 0);
	assert_int_equal(nic_tir_create(nic, &attr, &number), -ENOMEM);
	for (uint32_t i = 1; i < NIC_RQTS_MAX; i++)
		assert_int_equal(nic_rqt_create(nic, t.qpns, 0, &number), 0);
	assert_int_equal(nic_rqt_create(nic, t.qpns, 0, &number), -ENOMEM);
	nic_check(nic);
	bed_close(&t.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hash),           cmocka_unit_test(spread),
	    cmocka_unit_test(one_field),      cmocka_unit_test(without_the_field),
	    cmocka_unit_test(queue_in_reset), cmocka_unit_test(refusals),
	    cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
