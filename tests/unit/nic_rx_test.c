/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: which packets get to a queue pair, and which counter names why the others do not.
 * How: forged packets on the world of tests/support/fake_nic.h, and random bytes (the seed is
 * printed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nic/nic_priv.h"
#include "tests/support/nic_bed.h"

static struct roce_pkt write_of(const struct bed *b, uint32_t psn)
{
	return (struct roce_pkt){.opcode = ROCE_OP_RC_WRITE_ONLY,
				 .psn = psn,
				 .pkey = 0xffff,
				 .ack_req = true,
				 .dqpn = b->pair.b.qpn};
}

/* One change to a good packet, and what counts it. */
static void drops(void **state)
{
	struct bed b = bed_open(NULL);
	const struct nic_counters *c = nic_counters(b.w->nics[1]);
	struct roce_pkt pkt = write_of(&b, 0x100);
	struct fake_qp idle;

	(void)state;
	pkt.pkey = 0x1234;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(c->rx_drop_pkey, 1);
	pkt = write_of(&b, 0x100);
	pkt.dqpn ^= 0x800;
	fake_send(b.w, 1, &pkt);
	pkt.dqpn = 0;
	fake_send(b.w, 1, &pkt);
	pkt.dqpn = 0xffffff;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(c->rx_drop_qpn, 3);
	pkt = write_of(&b, 0x100);
	pkt.opcode = ROCE_OP_UC_WRITE_ONLY;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(c->rx_drop_qpn, 4);
	fake_qp_make(b.w, 1, NULL, &idle);
	pkt = write_of(&b, 0x100);
	pkt.dqpn = idle.qpn;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(c->rx_drop_state, 1);
	assert_int_equal(b.w->queue_count, 0);
	/* Membership, migration and congestion bits do not matter. */
	pkt = write_of(&b, 0x100);
	pkt.pkey = 0x7fff;
	pkt.mig_req = pkt.fecn = pkt.becn = true;
	fake_send(b.w, 1, &pkt);
	assert_int_equal(b.w->queue_count, 1);
	bed_close(&b);
}

static void raw(struct bed *b, const uint8_t *bytes, size_t len)
{
	struct nic_rx rx = {.bth = bytes, .len_bytes = len};

	nic_rx(b->w->nics[1], &rx, b->w->now_ns);
	nic_check(b->w->nics[1]);
}

static void malformed(void **state)
{
	struct bed b = bed_open(NULL);
	const struct nic_counters *c = nic_counters(b.w->nics[1]);
	static uint8_t good[ROCE_HEADERS_MAX_BYTES + ROCE_MTU_MAX_BYTES + 4];
	struct roce_pkt pkt = write_of(&b, 0x100);
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(roce_pkt_encode_headers(good, sizeof(good), &pkt), 28);
	for (size_t len = 0; len < 28; len++)
		raw(&b, good, len);
	assert_int_equal(c->rx_drop_malformed, 28);
	raw(&b, good, sizeof(good));
	memcpy(bytes, good, 32);
	bytes[1] |= 1; /* version */
	raw(&b, bytes, 28);
	memcpy(bytes, good, 32);
	bytes[1] |= 3 << 4; /* pad without payload */
	raw(&b, bytes, 28);
	memcpy(bytes, good, 32);
	bytes[0] = 0x15; /* no such opcode */
	raw(&b, bytes, 28);
	memcpy(bytes, good, 32);
	bytes[0] = ROCE_OP_RC_READ_REQ; /* payload where there is none */
	raw(&b, bytes, 32);
	assert_int_equal(c->rx_drop_malformed, 33);
	assert_int_equal(fake_qp_state(&b.pair.b), NIC_QP_RTS);
	bed_close(&b);
}

/* Packets of other hosts need the GIDs of the connection; packets of this port, a peer that is on
 * it. */
static void addresses(void **state)
{
	struct fake_world *w = fake_world_new(NULL);
	struct bed b = {.w = w};
	uint8_t bytes[64], gid_a[16], gid_b[16], gid_c[16] = {1};
	struct roce_pkt pkt;
	struct nic_path path;

	(void)state;
	w->alien = true;
	fake_pair_connect(w, &b.pair, NULL);
	path = nic_qp_find(w->nics[1], b.pair.b.qpn)->params.path;
	memcpy(gid_a, path.dgid, 16);
	memcpy(gid_b, path.sgid, 16);
	pkt = write_of(&b, 0x100);
	roce_pkt_encode_headers(bytes, sizeof(bytes), &pkt);
	const struct {
		const char *name;
		const uint8_t *sgid, *dgid;
		bool taken;
	} rows[] = {
	    {"this port", NULL, NULL, false},
	    {"another host", gid_c, gid_b, false},
	    {"to another of ours", gid_a, gid_c, false},
	    {"both changed over", gid_b, gid_a, false},
	    {"the peer", gid_a, gid_b, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nic_rx rx = {
		    .bth = bytes, .len_bytes = 28, .sgid = rows[i].sgid, .dgid = rows[i].dgid};

		print_message("row: %s\n", rows[i].name);
		nic_rx(w->nics[1], &rx, w->now_ns);
		fake_run(w, 1);
		assert_int_equal(w->queue_count, rows[i].taken);
	}
	assert_int_equal(nic_counters(w->nics[1])->rx_drop_address, 4);
	fake_world_free(w);
}

/* A capture sees every packet that gets to a queue pair, and every packet that is sent. */
static uint32_t seen_in, seen_out;

static void see(void *ctx, bool outgoing, const struct nic_path *path, const uint8_t *bth,
		size_t len)
{
	struct roce_pkt pkt;

	(void)ctx;
	(void)path;
	assert_int_equal(roce_pkt_decode(&pkt, bth, len), ROCE_OK);
	if (outgoing)
		seen_out++;
	else
		seen_in++;
}

static void captures(void **state)
{
	struct bed b = bed_open(NULL);

	(void)state;
	b.w->envs[0].packet = see;
	bed_post(&b, WQE_OP_WRITE, 5001);
	fake_settle(b.w);
	assert_int_equal(seen_out, 5);
	assert_int_equal(seen_in, 1);
	assert_int_equal(nic_counters(b.w->nics[0])->tx_packets, 5);
	/* Five BTHs, a RETH and three bytes of pad. */
	assert_int_equal(nic_counters(b.w->nics[0])->tx_bytes, 5001 + 5 * 12 + 16 + 3);
	assert_int_equal(nic_counters(b.w->nics[1])->rx_bytes, 5001 + 5 * 12 + 16 + 3);
	bed_close(&b);
}

/* Random bytes behind a good destination: whatever they mean, nothing breaks, and silence follows.
 */
static void random_packets(void **state)
{
	struct base_prng prng;

	(void)state;
	print_message("seed 6\n");
	base_prng_seed(&prng, 6);
	for (int i = 0; i < 100; i++) {
		struct bed b = bed_open(&(struct fake_opts){.mtu_bytes = 256});

		bed_receive(&b, 1000);
		bed_post(&b, WQE_OP_READ, 1000);
		bed_post(&b, WQE_OP_WRITE, 1000);
		for (int k = 0; k < 200; k++) {
			uint8_t bytes[400];
			size_t len = 4 * base_prng_range(&prng, 3, 90);
			uint32_t nic = (uint32_t)base_prng_below(&prng, 2);

			base_prng_fill(&prng, bytes, sizeof(bytes));
			bytes[0] &= 0x1f;
			bytes[1] &= 0xb0;
			be16_store(bytes + 2, 0xffff);
			be24_store(bytes + 5, nic ? b.pair.b.qpn : b.pair.a.qpn);
			be24_store(bytes + 9,
				   (nic ? 0x100 : 0x100) + (uint32_t)base_prng_below(&prng, 8));
			if (base_prng_below(&prng, 2)) {
				be64_store(bytes + 12, b.dst.va + base_prng_below(&prng, 100));
				be32_store(bytes + 20, b.dst.key);
				be32_store(bytes + 24, (uint32_t)base_prng_below(&prng, 600));
			}
			struct nic_rx rx = {.bth = bytes, .len_bytes = len};
			nic_rx(b.w->nics[nic], &rx, b.w->now_ns);
			nic_check(b.w->nics[nic]);
			if (base_prng_below(&prng, 8) == 0)
				fake_settle(b.w);
		}
		for (int k = 0; k < 12; k++) {
			fake_settle(b.w);
			fake_advance(b.w, 4096ull << 14);
		}
		assert_int_equal(b.w->queue_count, 0);
		bed_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(drops),          cmocka_unit_test(malformed),
	    cmocka_unit_test(addresses),      cmocka_unit_test(captures),
	    cmocka_unit_test(random_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
